"""The safeguards of sources that documents follow, of answers that follow their pages and of programs that ask, for
`benchmarks/mutations.py`: the name of each, its file, the text that is there once with what stands in its place, and the
tests that notice. Source: sources.md §2, §4 and §5."""

SITE, WEBSITE, REQUEST = "tests/bot/sources/test_website.py", "bot/sources/website.py", "bot/sources/web_request.py"
MCP = "tests/adapters/mcp/test_server.py"
TESTS = "tests/bot/sources/test_sources.py"
SYNC, SOURCES, GIT, FOLDER = (f"bot/sources/{name}.py" for name in ("sync", "sources", "git", "folder"))
GONE = f"{TESTS}::test_many_that_are_gone_at_once_wait_for_a_word"
OTHERS = f"{TESTS}::test_what_somebody_else_added_under_the_same_name_stays"
REPLACED = f"{TESTS}::test_a_document_that_was_uploaded_into_a_source_s_place_is_not_taken_back"
LOCAL = f"{TESTS}::test_what_is_on_this_machine_is_followed_from_the_terminal_only"
ADDRESSES = f"{TESTS}::test_addresses_that_do_more_than_name_a_repository_are_refused"
ALIKE = f"{TESTS}::test_of_names_that_read_alike_each_page_keeps_its_own_document"
TOO_BIG = f"{TESTS}::test_a_repository_that_was_too_big_is_followed_again_once_it_is_small"
TALKS, SETTLED = "tests/adapters/test_channel_sources.py", "tests/bot/sources/test_channel.py"
CHANNEL, FOLLOWED = "bot/sources/channel.py", "bot/store/followed.py"
QUIET = f"{SETTLED}::test_a_thread_is_settled_after_a_quiet_day_up_to_there"
MARKED = f"{SETTLED}::test_a_mark_counts_from_whoever_asked_or_an_editor"
PEOPLE = f"{SETTLED}::test_two_people_speak_that_are_no_bots_outsiders_or_left_out"
OUTAGE = f"{TALKS}::test_after_an_outage_what_was_said_lately_is_compared_and_weekly_all"
WAITING = (
    "tests/adapters/discord/test_shared.py"
    "::test_a_process_that_is_not_connected_adds_a_channel_and_the_connected_one_follows_it"
)
DISCORD_CHANNELS = "adapters/discord/transport/channel_history.py"
PRIVATE_THREADS = f"{TALKS}::test_a_private_thread_is_not_read_archived_or_not"
FROM_FOLDER = (
    "tests/bot/cli/test_commands.py::test_what_is_gone_from_a_folder_is_said_and_forgotten_when_that_is_wanted"
)
INGEST, DOCUMENTS = "tests/retrieval/test_ingest.py", "tests/bot/knowledge/test_documents.py"
LIVING, ROWS = "tests/bot/turns/test_living.py", "bot/store/documents.py"

MUTATIONS: tuple[tuple[str, str, tuple[str, str], tuple[str, ...]], ...] = (
    (
        "Sources: answers say when a source that fails was last checked",
        SOURCES,
        ('stopped = source.failures or source.state != "on"', "stopped = False"),
        (f"{TESTS}::test_documents_of_a_source_that_fails_say_when_it_was_last_checked",),
    ),
    (
        "Sources: an answer asks when its sources were last checked",
        "bot/turns/turns.py",
        ("days = await self._last_checked(ids) if ids else {}", "days: dict[str, str] = {}"),
        ("tests/bot/test_app.py::test_an_answer_says_when_a_source_that_fails_was_last_checked",),
    ),
    (
        "Sources: many that are gone wait for a word",
        SYNC,
        ('if many and self.gone != "forget":', "if False:"),
        (GONE,),
    ),
    (
        "Sources: an emptied source waits for a word",
        SYNC,
        (" or (len(had) == all_of_them > 1)", ""),
        (f"{TESTS}::test_many_that_are_gone_can_be_kept_and_are_then_nobody_s",),
    ),
    (
        "Sources: what was refused does not count among what is still there of an emptied source",
        SYNC,
        ("sum(page.document is not None for page in known.values())", "len(known)"),
        (f"{TESTS}::test_an_emptied_source_waits_for_a_word_though_some_of_it_was_refused",),
    ),
    (
        "Sources: who has lost a source to another process stops",
        SOURCES,
        ("                    self._end(source.id)\n", "                    pass\n"),
        (f"{TESTS}::test_who_has_lost_a_source_to_another_process_stops",),
    ),
    (
        "Sources: another process ends its sync of what is paused or removed",
        SOURCES,
        ("            await self._signals.say_now(_STOP, source.id)\n", "            pass\n"),
        (f"{TESTS}::test_a_source_is_paused_or_removed_in_the_middle_of_its_sync_by_another_process",),
    ),
    (
        "Sources: who removes one waits until another process has let it go",
        SOURCES,
        (
            "            while not await self._take(source):\n                if loop",
            "            while not await self._take(source):\n                if ending or loop",
        ),
        (f"{TESTS}::test_a_source_is_removed_once_another_process_has_let_it_go",),
    ),
    (
        "Sources: what is removed is not synced to its end first",
        SOURCES,
        ("keep=keep)\n        await self._stop(source)\n", "keep=keep)\n"),
        (f"{TESTS}::test_a_source_is_paused_or_removed_in_the_middle_of_its_sync[remove]",),
    ),
    (
        "Sources: a host is sent its token at the port that is followed",
        GIT,
        ("http.https://{host}:{port}/", "http.https://{host}/"),
        (f"{TESTS}::test_a_host_is_sent_its_token_at_any_port",),
    ),
    (
        "Sources: a folder whose disk is taken away while it is looked through is not empty",
        "retrieval/loaders/local_files.py",
        (" and (root.st_dev, root.st_ino) in self._seen", ""),
        (
            "tests/retrieval/loaders/test_local_files.py::test_a_folder_that_goes_while_it_is_looked_through_is_not_seen",
        ),
    ),
    (
        "Sources: a folder that is away is no empty one",
        FOLDER,
        ("if not there:", "if False:"),
        (f"{TESTS}::test_a_source_that_is_away_keeps_what_it_had_and_is_tried_later_and_later",),
    ),
    (
        "Sources: what somebody else added is not replaced",
        SYNC,
        ("if there is not None and there.author != author_of(source):", "if False:"),
        (OTHERS,),
    ),
    (
        "Sources: what somebody else put in its place is not removed",
        SYNC,
        (
            "        return row if row is not None and row.author == author_of(self.source) else None\n",
            "        return row\n",
        ),
        (REPLACED,),
    ),
    (
        "Sources: a thread that somebody has narrowed stays one document",
        SYNC,
        ("own.scope if fewer or not self._by_page", "own.scope if not self._by_page"),
        (
            "tests/adapters/test_channel_sources.py::test_a_thread_whose_readers_somebody_has_changed_stays_one_document",
        ),
    ),
    (
        "Sources: a thread that somebody has widened stays one document",
        SYNC,
        ("            if own is not None and own.scope != scope:\n", "            if own is None:\n"),
        (
            "tests/adapters/test_channel_sources.py::test_a_thread_whose_readers_somebody_has_changed_stays_one_document",
        ),
    ),
    (
        "Sources: a document keeps the readers that somebody gave it",
        SYNC,
        ("own.scope if fewer or not self._by_page else self.source.scope", "self.source.scope"),
        (f"{TESTS}::test_a_document_stays_where_somebody_has_put_it_and_for_whom",),
    ),
    (
        "Sources: an address that has changed is also that of a document that was put elsewhere",
        SYNC,
        (
            "self.documents.listed(author=author_of(self.source))",
            "self.documents.listed(author=author_of(self.source), collection=self.source.collection)",
        ),
        (f"{TESTS}::test_an_address_that_has_changed_is_the_document_s_without_a_new_version",),
    ),
    (
        "Sources: what was paused while it was synced stays so",
        "bot/store/followed.py",
        ('followed.c.state != "paused")', "literal(True))"),
        ("tests/bot/store/test_followed.py::test_what_was_paused_meanwhile_stays_paused_whatever_a_sync_has_found",),
    ),
    (
        "Sources: what is followed into a collection goes where that goes",
        "bot/store/collections.py",
        ("db.execute(update(followed).where(followed.c.collection == source).values(collection=into))", "pass"),
        (f"{TESTS}::test_documents_whose_collection_is_renamed_or_merged_are_their_source_s_there",),
    ),
    (
        "Sources: what is refused is not read again",
        SYNC,
        (
            "return before.version == page.version",
            "return before.refusal is None and before.version == page.version",
        ),
        (f"{TESTS}::test_a_refused_page_is_not_read_again_until_it_changes",),
    ),
    (
        "Sources: a rename keeps the document",
        SYNC,
        ("            await self._renamed(listing, known)\n", ""),
        (f"{TESTS}::test_a_rename_keeps_the_document",),
    ),
    (
        "Sources: a rename that was cut short keeps the document",
        SYNC,
        (" and document not in kept}", "}"),
        (f"{TESTS}::test_a_rename_that_was_cut_short_keeps_the_document",),
    ),
    (
        "Sources: a repository's renames are known also where git does not know from what",
        GIT,
        ("            follow_renames(pages, known)", "            pass"),
        (f"{TESTS}::test_pages_that_are_gone_for_a_while_and_come_back_renamed_keep_their_documents",),
    ),
    (
        "Sources: a repository's renames are known also while it waits for a word",
        GIT,
        ("if cursor else await self._git.commit(_FOLLOWED)", "if cursor else None"),
        (f"{TESTS}::test_a_page_that_is_renamed_and_changed_while_its_source_waits_for_a_word_keeps_its_document",),
    ),
    (
        "Sources: a page that fails does not stop the others",
        SYNC,
        ("        except PageError as error:\n", "        except PageError as error:\n            raise\n"),
        (f"{TESTS}::test_a_page_that_fails_does_not_stop_the_others_and_is_tried_again",),
    ),
    (
        "Sources: a page that failed is looked for again",
        SYNC,
        (
            "            elif self.report.failed or self.report.gone:\n                return None",
            "            elif False:\n                return None",
        ),
        (f"{TESTS}::test_a_page_that_fails_does_not_stop_the_others_and_is_tried_again",),
    ),
    (
        "Sources: one that fails backs off",
        SOURCES,
        ("BACKOFF * 2 ** min(failures - 1, 12)", "BACKOFF"),
        (f"{TESTS}::test_a_source_that_is_away_keeps_what_it_had_and_is_tried_later_and_later",),
    ),
    (
        "Sources: no local repository but from the terminal",
        GIT,
        ("        if not local:\n", "        if False:\n"),
        (LOCAL,),
    ),
    (
        "Sources: no folder but from the terminal",
        SOURCES,
        ("                if not local:\n                    raise SourceError(LOCAL)\n", ""),
        (LOCAL,),
    ),
    (
        "Sources: a repository with its latest commits alone is followed",
        GIT,
        ('            "--update-shallow",\n', ""),
        ("tests/bot/sources/test_sources.py::test_a_repository_that_has_only_its_latest_commits_is_followed",),
    ),
    (
        "Sources: a branch that is pushed anew meanwhile is read as it is",
        GIT,
        ("head = await self._git.commit(_FOLLOWED) or head", "head = head"),
        (
            "tests/bot/sources/test_sources.py::test_a_branch_that_is_pushed_anew_while_it_is_fetched_is_read_as_it_is_then",
        ),
    ),
    ("Sources: no option for an address", GIT, ('location.startswith("-") or ', ""), (ADDRESSES,)),
    (
        "Sources: no secret in an address",
        GIT,
        ('if parts.password or (parts.username and parts.scheme == "https"):', "if False:"),
        (ADDRESSES,),
    ),
    (
        "Sources: no address of the own network",
        "bot/sources/addresses.py",
        ("not all(public(address) for address in addresses)", "False"),
        (f"{TESTS}::test_addresses_of_the_own_network_are_not_reached",),
    ),
    (
        "Websites: a folder without its slash is not what lies beside it",
        WEBSITE,
        ('                self.below = f"{path}/"\n', "                pass\n"),
        (f"{SITE}::test_a_folder_whose_slash_is_left_out_is_that_folder",),
    ),
    (
        "Websites: a page of any ending is no folder by itself",
        WEBSITE,
        ("not parent and not suffix_of(name)", "not parent"),
        (f"{SITE}::test_a_page_of_any_ending_is_no_folder_unless_its_server_says_so",),
    ),
    (
        "Websites: a sitemap that names no page any more takes none with it",
        WEBSITE,
        ("if not found and (only or emptied):", "if not found and only:"),
        (f"{SITE}::test_a_sitemap_that_is_emptied_all_at_once_takes_no_page_with_it",),
    ),
    (
        "Sources: a name has nothing that is not seen",
        SYNC,
        ("plain = clean_name(page.name)", "plain = page.name"),
        (f"{TESTS}::test_a_name_does_nothing_to_a_terminal_or_a_reader",),
    ),
    (
        "Sources: nor has a page that is no document",
        "bot/sources/base.py",
        ("return clean_line(ref, 1_000)", "return ref"),
        (f"{TESTS}::test_a_name_does_nothing_to_a_terminal_or_a_reader",),
    ),
    (
        "Sources: a page with another name keeps its document",
        SYNC,
        ("if there is None and own is not None:", "if False:"),
        (f"{TESTS}::test_a_page_with_another_name_keeps_its_document",),
    ),
    (
        "Sources: of two names that read alike the page that has it keeps it",
        SYNC,
        ("self.holders.get(there.id) not in listed:", "True:"),
        (ALIKE,),
    ),
    (
        "Sources: of two names that are no UTF-8 each is one of its own",
        "bot/sources/base.py",
        ('.decode(errors="backslashreplace")', '.decode(errors="replace")'),
        (f"{TESTS}::test_names_that_are_no_utf8_are_followed_each_as_one_of_its_own",),
    ),
    (
        "Sources: a page that has a document takes no other for its name",
        SYNC,
        ("if before.document is None and self.holders", "if self.holders"),
        (ALIKE,),
    ),
    (
        "Sources: pages that have come to share a document get one each",
        SYNC,
        ("page.document is None or having[page.document] == 1 else UNREAD", "True else UNREAD"),
        (f"{TESTS}::test_pages_that_share_a_document_get_one_each",),
    ),
    (
        "Sources: what is no date is none",
        WEBSITE,
        ('iso_date((self.listed or {}).get(page.ref, ""))', '(self.listed or {}).get(page.ref, "")'),
        (f"{SITE}::test_what_is_no_date_is_none",),
    ),
    (
        "Sources: what no header can hold is not sent back",
        WEBSITE,
        ("if value and value.isascii() else {}", "if value else {}"),
        (f"{SITE}::test_what_no_header_can_hold_is_not_sent_back",),
    ),
    (
        "Sources: a host is asked for by its name in ASCII",
        WEBSITE,
        ('parts.netloc.encode("idna").decode()', "parts.netloc"),
        (f"{SITE}::test_a_host_is_asked_for_by_the_name_that_it_has_in_ascii",),
    ),
    (
        "Sources: a repository lists so much",
        GIT,
        ("            if len(said) > most:\n", "            if False:\n"),
        (f"{TESTS}::test_a_repository_lists_no_more_than_can_be_borne",),
    ),
    (
        "Sources: git takes so much memory",
        GIT,
        ('            "GIT_ALLOC_LIMIT": str(self.bounds.memory),', '            "GIT_ALLOC": "",'),
        (f"{TESTS}::test_git_takes_no_more_memory_than_it_may",),
    ),
    (
        "Sources: what is too long in a repository is not read",
        GIT,
        ("if page.version in too_long:", "if False:"),
        (f"{TESTS}::test_a_file_that_is_too_long_is_refused_unread_and_the_others_are_followed",),
    ),
    (
        "Sources: a page is unpacked as far as a page may be long",
        REQUEST,
        ("self._most + 1 - len(self.said))", "0)"),
        (f"{SITE}::test_what_is_too_long_is_not_unpacked_first",),
    ),
    (
        "Sources: nothing is unpacked twice",
        REQUEST,
        ('case "gzip" | "x-gzip":', 'case given if given.startswith("gzip"):'),
        (f"{SITE}::test_what_is_packed_as_nobody_asked_is_not_unpacked",),
    ),
    (
        "Sources: an answer has an end",
        REQUEST,
        ("asyncio.timeout(self.seconds)", "asyncio.timeout(None)"),
        (f"{SITE}::test_an_answer_that_trickles_costs_only_itself",),
    ),
    (
        "Sources: a page leads to so many",
        WEBSITE,
        ("            self._bound(len(page.links), LINKS)\n", ""),
        (f"{SITE}::test_a_page_and_all_pages_lead_to_no_more_addresses_than_a_site_may_have",),
    ),
    (
        "Sources: all pages lead to so many",
        WEBSITE,
        ("                self._bound(len(met), ADDRESSES)\n", ""),
        (f"{SITE}::test_a_page_and_all_pages_lead_to_no_more_addresses_than_a_site_may_have",),
    ),
    (
        "Sources: a sitemap names so many",
        WEBSITE,
        ("            self._bound(len(found), ADDRESSES)\n", ""),
        (f"{SITE}::test_a_sitemap_names_no_more_than_a_site_may_have",),
    ),
    (
        "Sources: all pages take so much room",
        WEBSITE,
        ("if self.on_disk > self.source.most_bytes:", "if False:"),
        (f"{SITE}::test_all_pages_take_no_more_room_than_they_may",),
    ),
    (
        "Sources: of robots.txt so much",
        WEBSITE,
        ("[:ROBOTS_BYTES]", ""),
        (f"{SITE}::test_of_robots_txt_the_beginning_counts",),
    ),
    (
        "Sources: robots.txt with a mark in front",
        WEBSITE,
        ('.decode("utf-8-sig", errors="replace"))\n        if not', '.decode(errors="replace"))\n        if not'),
        (f"{SITE}::test_robots_txt_is_obeyed_with_a_mark_in_front_of_it",),
    ),
    (
        "Websites: a site that is one page all of a sudden is not gone",
        WEBSITE,
        (
            "        await self._set_apart([url for url in self.known if url not in met] if self.listed is None else None)\n",
            "",
        ),
        (f"{SITE}::test_a_site_that_is_one_page_all_of_a_sudden_keeps_what_it_had",),
    ),
    (
        "Websites: nor where nothing leads to its pages any more",
        WEBSITE,
        ("if unmet is not None and len(unmet) > len(self.known) / 2:", "if False:"),
        (f"{SITE}::test_a_site_that_is_one_page_all_of_a_sudden_keeps_what_it_had",),
    ),
    (
        "Websites: what a page says is told by its words",
        WEBSITE,
        ('if said := " ".join("".join(found.said).split()):', "if False:"),
        (f"{SITE}::test_a_site_that_is_one_page_all_of_a_sudden_keeps_what_it_had",),
    ),
    (
        "Websites: a site that is shut says so",
        WEBSITE,
        ("            if self.failed.get(self.start) is _ONE_PAGE:", "            if False:"),
        (f"{SITE}::test_a_site_that_is_one_page_all_of_a_sudden_keeps_what_it_had",),
    ),
    (
        "Websites: a page that is kept is remembered as it was",
        WEBSITE,
        ("                    self.seen[url] = self.remembered[url]", "                    pass"),
        (f"{SITE}::test_pages_that_are_one_all_of_a_sudden_stay_as_long_as_their_site_names_them",),
    ),
    (
        "Websites: what a page that is kept led to is kept",
        WEBSITE,
        ("self.blind = self.blind or unmet is not None", "pass"),
        (f"{SITE}::test_pages_that_are_one_all_of_a_sudden_stay_as_long_as_their_site_names_them",),
    ),
    (
        "Websites: a page that is kept is told",
        WEBSITE,
        ("if before is not None and url not in self.failed else", "if before is not None else"),
        (f"{SITE}::test_pages_that_are_one_all_of_a_sudden_stay_as_long_as_their_site_names_them",),
    ),
    (
        "Websites: a page that has moved into another for good is gone",
        WEBSITE,
        ("if anew and (into == url or not self._has_moved(url)):", "if anew:"),
        (f"{SITE}::test_pages_that_have_moved_into_another_for_good_go_though_it_has_changed",),
    ),
    (
        "Websites: a page that others have moved into stays",
        WEBSITE,
        ("(url not in self.known, self._has_moved(url))", "url not in self.known"),
        (f"{SITE}::test_pages_that_have_moved_into_another_for_good_go_though_it_has_changed",),
    ),
    (
        "Websites: a page that others are sent to may change",
        WEBSITE,
        ('(page.said, into if sent else "")', '(page.said, "")'),
        (f"{SITE}::test_a_page_that_others_are_sent_to_may_change",),
    ),
    (
        "Websites: versions of a page may come to say one thing",
        WEBSITE,
        ("len({_last_name(url, query=True) for url in urls})", "len(urls)"),
        (f"{SITE}::test_a_page_in_several_versions_may_come_to_say_one_thing",),
    ),
    (
        "Websites: pages that always said one thing may change",
        WEBSITE,
        ("len({*map(self._said_before, urls)})", "2"),
        (f"{SITE}::test_pages_that_say_the_same_in_other_markup_may_change",),
    ),
    (
        "Websites: a page is read by the charset that its server names",
        WEBSITE,
        ("(text := decode_named(body, charset[1])) is not None", "False"),
        (f"{SITE}::test_a_page_is_read_by_the_charset_that_its_server_names",),
    ),
    (
        "Websites: which goes before the page's own",
        WEBSITE,
        ("body = codecs.BOM_UTF8 + text.encode()", "body = text.encode()"),
        (f"{SITE}::test_a_page_is_read_by_the_charset_that_its_server_names",),
    ),
    (
        "Websites: a byte order mark goes before any charset",
        "retrieval/loaders/encodings.py",
        (" and not data.startswith(tuple(mark for mark, _ in _BOMS)):", ":"),
        (f"{SITE}::test_a_mark_goes_before_the_charset_that_a_server_names_and_one_that_is_wrong_does_not_count",),
    ),
    (
        "Websites: robots.txt and a sitemap that are refused are not there",
        WEBSITE,
        ("(beside and answer.status < 500 and answer.status != 429)", "False"),
        (f"{SITE}::test_what_lies_beside_the_pages_and_is_refused_is_not_there",),
    ),
    (
        "Websites: robots.txt that is busy is not to be gone without",
        WEBSITE,
        (" and answer.status != 429)", ")"),
        (f"{SITE}::test_what_lies_beside_the_pages_and_is_refused_is_not_there",),
    ),
    (
        "Sources: each in a task of its own",
        SOURCES,
        (
            'syncing[source.id] = asyncio.create_task(self._due(source), name=f"sync {source.name}")',
            "await self._due(source)",
        ),
        (f"{TESTS}::test_a_site_that_does_not_answer_holds_up_no_other_source",),
    ),
    (
        "Sources: nor one in a form of IPv6",
        "bot/sources/addresses.py",
        ("own = ip.is_site_local or", "own = False or"),
        (f"{TESTS}::test_no_form_of_ipv6_hides_an_address_of_the_own_network",),
    ),
    (
        "Sources: no address that only machines use",
        "bot/sources/addresses.py",
        ("    if any(ip in network for network in _OF_MACHINES):\n        return False\n", ""),
        (f"{TESTS}::test_no_address_that_only_machines_use_is_public",),
    ),
    (
        "Sources: nor one of theirs in a form of IPv6",
        "bot/sources/addresses.py",
        ("or public(str(inner)))", "or inner.is_global)"),
        (f"{TESTS}::test_no_address_that_only_machines_use_is_public",),
    ),
    (
        "Sources: two processes never sync one at once",
        "bot/store/leases.py",
        ("its = and_(which, free(table, at, owner if again else None))", "its = which"),
        (f"{TESTS}::test_two_processes_never_sync_one_source_at_once",),
    ),
    (
        "Sources: an editor changes them",
        SOURCES,
        ('        if role(actor, self._settings) != "editor":\n', "        if False:\n"),
        (f"{TESTS}::test_changing_sources_takes_an_editor_and_leaves_a_trace",),
    ),
    (
        "Sources: links are not followed out of a repository",
        GIT,
        ('mode in ("100644", "100755")', "mode"),
        (f"{TESTS}::test_only_what_was_asked_for_is_followed",),
    ),
    (
        "Sources: half a sitemap is none",
        WEBSITE,
        (
            "                raise SourceError(_SITEMAP, url=url, why=why) from error\n",
            "                continue\n",
        ),
        (f"{SITE}::test_the_sitemap_says_which_pages_there_are",),
    ),
    (
        "Sources: robots.txt",
        WEBSITE,
        ("return self._ours(url) == url and self.robots.can_fetch(url, AGENT)", "return self._ours(url) == url"),
        (f"{SITE}::test_robots_txt_is_obeyed",),
    ),
    (
        "Sources: pages behind one that is away stay",
        WEBSITE,
        ("self.known.keys() - self.pages.keys() if self.blind else set()", "set()"),
        (f"{SITE}::test_a_page_that_is_away_and_those_behind_it_stay",),
    ),
    (
        "Sources: a site with more pages than are read",
        WEBSITE,
        ("            self._bound(len(self.pages) + len(self.failed))\n", ""),
        (f"{SITE}::test_more_pages_than_are_read_are_said_and_nothing_seems_to_be_gone",),
    ),
    (
        "Sources: a site's redirects stay on its host",
        WEBSITE,
        (
            "            if not _same_host(url, self.start):\n                if asked",
            "            if False:\n                if asked",
        ),
        (f"{SITE}::test_redirects_are_followed_on_the_host_and_never_without_end",),
    ),
    (
        "Sources: no site of the own network for others",
        REQUEST,
        ("host if self.private else await resolved(host, port)", "host"),
        (f"{SITE}::test_a_site_of_the_own_network_is_not_reached_for_others",),
    ),
    (
        "Channels: a thread is quiet for a day first",
        CHANNEL,
        ("if after - people[end - 1].at >= QUIET:", "if True:"),
        (QUIET,),
    ),
    (
        "Channels: not everybody's mark counts",
        CHANNEL,
        ("(is_editor(check) or (root is not None and check.id == root.id))", "True"),
        (MARKED,),
    ),
    ("Channels: no outsider's mark counts", CHANNEL, ('check.role != "outsider" and ', ""), (MARKED,)),
    ("Channels: two people speak", CHANNEL, (">= PEOPLE else []", ">= 1 else []"), (PEOPLE,)),
    (
        "Channels: what outsiders say is left out",
        CHANNEL,
        (' and one.author.role != "outsider" and one.author.full_id', " and one.author.full_id"),
        (PEOPLE,),
    ),
    (
        "Channels: who does not want to be found is left out",
        CHANNEL,
        (" and one.author.full_id not in left_out", ""),
        (PEOPLE,),
    ),
    (
        "Channels: what somebody said before goes at once",
        FOLLOWED,
        (
            "update(followed_pages).where(theirs)",
            "update(followed_pages).where(theirs, followed_pages.c.ref.is_(None))",
        ),
        (f"{TALKS}::test_who_does_not_want_to_be_found_is_left_out_at_once",),
    ),
    (
        "Channels: secrets are masked",
        CHANNEL,
        ("{hidden(one.text)}", "{one.text}"),
        (f"{SETTLED}::test_a_thread_reads_by_who_said_what_and_without_secrets",),
    ),
    (
        "Channels: what changes while a thread is read is read again",
        FOLLOWED,
        ("its.due_at.is_not_distinct_from(seen)", "followed_pages.c.source == id"),
        (f"{TALKS}::test_what_changes_while_a_thread_is_read_is_read_again",),
    ),
    (
        "Channels: edits are heard",
        "adapters/slack/adapter.py",
        ("                await _stir(context, event, us)\n", ""),
        (f"{TALKS}::test_what_is_edited_and_deleted_changes_its_document",),
    ),
    (
        "Channels: an edited first message is heard, though no event says that it has a thread",
        "adapters/slack/events.py",
        ('(about is event and not event.get("thread_ts"))', 'not about.get("thread_ts")'),
        (f"{TALKS}::test_what_is_edited_and_deleted_changes_its_document",),
    ),
    (
        "Channels: edits are heard on Discord",
        "adapters/discord/adapter.py",
        (
            "            await self._stir(told.channel_id, told.message_id)\n        where = spot(message.channel)\n",
            "            pass\n        where = spot(message.channel)\n",
        ),
        (f"{TALKS}::test_what_is_edited_and_deleted_changes_its_document",),
    ),
    (
        "Channels: the past is compared after an outage",
        CHANNEL,
        ('not self._listing and heard not in ("", *known.heard)', "False"),
        (OUTAGE,),
    ),
    (
        "Channels: whoever is not told of changes does not compare the past",
        CHANNEL,
        ('heard not in ("", *known.heard)', "heard not in known.heard"),
        (WAITING,),
    ),
    (
        "Channels: followed by the process that is told of changes",
        CHANNEL,
        (" and self._histories[platform][1].is_set()", ""),
        (WAITING,),
    ),
    ("Channels: all is compared weekly", CHANNEL, ("now - known.whole >= WHOLE", "False"), (OUTAGE,)),
    (
        "Channels: a listing goes on where it was",
        CHANNEL,
        ("now, cursor=str(self._pass), since=since)", "now, since=since)"),
        (f"{TALKS}::test_half_a_listing_removes_nothing_and_goes_on",),
    ),
    (
        "Channels: all that is gone is looked at together",
        CHANNEL,
        ("        if self._listing or due:", "        if False:"),
        (f"{TALKS}::test_many_threads_that_are_gone_wait_for_a_word",),
    ),
    (
        "Channels: one that was narrowed is withheld before the next answer",
        CHANNEL,
        ("scope is not None and scope not in allowed.scopes", "False"),
        (f"{TALKS}::test_a_channel_that_becomes_private_narrows_before_the_next_answer",),
    ),
    (
        "Channels: one that is paused has its readers all the same",
        SOURCES,
        (' or one.kind == "channel"}', "}"),
        (f"{TALKS}::test_a_paused_channel_that_becomes_private_is_the_team_s_no_more",),
    ),
    (
        "Channels: pairs of a thread are withheld with it",
        FOLLOWED,
        ("union_all(own, of_pairs.where(made.document.in_(documents))).subquery()", "own.subquery()"),
        (f"{TALKS}::test_pairs_of_a_thread_are_for_its_readers_of_now",),
    ),
    (
        "Channels: no pair keeps what was taken back in its thread",
        "bot/store/qa_pairs.py",
        ('and_(pairs.c.state == "approved", said_now, *of_source)', 'and_(pairs.c.state == "approved", *of_source)'),
        ("tests/bot/qa_pairs/test_pairs.py::test_pairs_of_a_thread_go_with_what_was_taken_back_in_it",),
    ),
    (
        "Channels: a private one with a guest in it is not the team's",
        "adapters/slack/transport/channel_history.py",
        ("if audience == OUTSIDERS and not await self._context.places.is_open(channel):", "if False:"),
        (f"{TALKS}::test_a_channel_with_a_guest_that_becomes_private_is_the_team_s_no_more",),
    ),
    *(
        (
            f"Channels: {platform} tells of other readers at once",
            f"adapters/{platform.lower()}/adapter.py",
            change,
            (f"{TALKS}::test_a_channel_that_becomes_private_is_the_team_s_no_more_at_once",),
        )
        for platform, change in (
            ("Slack", ('.startswith("channel_convert"):', '.startswith("never"):')),
            (
                "Discord",
                ("        await until_stored(partial(self._context.bot.sources.channels.look_again, PLATFORM))\n", ""),
            ),
        )
    ),
    (
        "Sources: a folder's change that could not be noted at once is noted later",
        "bot/sources/sources.py",
        (
            "await until_stored(lambda: self._store.hurry(source.id, self._clock()))",
            "await self._store.hurry(source.id, self._clock())",
        ),
        (f"{TESTS}::test_a_change_that_could_not_be_noted_at_once_is_followed_all_the_same",),
    ),
    (
        "Sources: a folder is looked at by the machine that has it",
        "bot/sources/sources.py",
        ("not (local and self._store.shared)", "True"),
        ("tests/bot/sources/test_sources.py::test_a_folder_is_looked_at_by_the_machine_that_has_it",),
    ),
    (
        "Channels: one that the platform does not tell of is nobody's",
        CHANNEL,
        (
            '            case "unknown":\n                return ""\n',
            '            case "unknown":\n                return None\n',
        ),
        (f"{TALKS}::test_a_channel_that_becomes_private_without_the_bot_is_the_team_s_no_more",),
    ),
    (
        "Channels: what was said in one that becomes private without the bot is the team's no more, whoever asks",
        CHANNEL,
        ("            await self._narrow(source, move)\n", ""),
        (f"{TALKS}::test_a_channel_that_becomes_private_without_the_bot_is_the_team_s_no_more",),
    ),
    (
        "Channels: several processes that hear all do not compare by turns",
        CHANNEL,
        ('not in ("", *known.heard)', 'not in ("", *known.heard[-1:])'),
        (f"{TALKS}::test_each_of_several_processes_that_hear_all_compares_once",),
    ),
    (
        "Channels: documents follow who reads it",
        CHANNEL,
        ("            await move(scope)\n", ""),
        (f"{TALKS}::test_a_channel_that_becomes_private_narrows_before_the_next_answer",),
    ),
    (
        "Channels: one that people from outside read pauses",
        CHANNEL,
        ('            case "outsiders":\n', '            case "nobody":\n'),
        (f"{TALKS}::test_outsiders_are_left_out_and_pause_the_source",),
    ),
    (
        "Channels: one without the bot pauses",
        SOURCES,
        ('{"state": "paused"} if isinstance(error, PausedError) else {}', "{}"),
        (f"{TALKS}::test_a_channel_that_the_bot_was_removed_from_pauses_and_keeps_what_it_had",),
    ),
    (
        "Channels: who is erased stays out",
        "bot/store/erasure.py",
        ("lambda db: leave_out(db, who, datetime.now(UTC))", "lambda db: 0"),
        (f"{TALKS}::test_a_person_who_is_erased_is_gone_from_there_and_stays_out",),
    ),
    (
        "Channels: talk never takes a document's place",
        "retrieval/search.py",
        ("return longer if talk == was_talk else was_talk", "return longer"),
        (f"{SETTLED}::test_what_was_said_never_takes_a_document_s_place",),
    ),
    (
        "Channels: a document holds against newer talk",
        "agent/grounding/disclosure.py",
        ("    if written:\n", "    if False:\n"),
        (f"{SETTLED}::test_a_document_holds_against_newer_talk",),
    ),
    (
        "Programs: /mcp asks for a token",
        "adapters/mcp/endpoint.py",
        (
            '        if token is None:\n            raise Problem(401, "token_needed", _NO_TOKEN, {"WWW-Authenticate": "Bearer"})\n',
            "",
        ),
        (f"{MCP}::test_over_http_a_token_is_needed_and_good_for_nothing_else",),
    ),
    (
        "Programs: their tokens are good for nothing else",
        "adapters/web/server/guard.py",
        ('if scope["path"] != self._own_tokens and _of_program(headers):', "if False:"),
        (f"{MCP}::test_over_http_a_token_is_needed_and_good_for_nothing_else",),
    ),
    (
        "Programs: over standard input a refusal has its reason",
        "bot/cli/programs.py",
        ("            raise RAGToolError(_SAID, said=error.text) from error\n", "            raise\n"),
        (f"{MCP}::test_over_standard_input_and_output_beside_a_running_bot",),
    ),
    (
        "Programs: one for everyone reads what is for everyone",
        "bot/programs/programs.py",
        ('"everyone": Audience("outsiders")', '"everyone": Audience("public")'),
        (f"{MCP}::test_a_program_never_sees_a_private_place_and_an_outside_one_only_what_is_for_everyone",),
    ),
    (
        "Programs: one reads and judges for itself what is shown",
        "bot/programs/programs.py",
        (", min_relevance=0.0\n", "\n"),
        (f"{MCP}::test_a_program_is_shown_the_closest_passages_and_judges_for_itself",),
    ),
    (
        "Programs: passages are read whole",
        "bot/programs/programs.py",
        ('"text": _whole(one)}', '"text": _excerpt(_whole(one))}'),
        (f"{MCP}::test_what_a_search_shows_a_part_of_is_read_whole",),
    ),
    (
        "Programs: calls a minute",
        "bot/programs/programs.py",
        ("if len(lately) >= who.per_minute:", "if False:"),
        (f"{MCP}::test_a_token_has_its_caps",),
    ),
    (
        "Programs: also of many calls at once",
        "bot/programs/programs.py",
        ("        lately.append(now)  #", "        await self._tokens.listed()\n        lately.append(now)  #"),
        (f"{MCP}::test_a_token_has_its_caps",),
    ),
    (
        "Programs: no stream that never says anything",
        "adapters/mcp/endpoint.py",
        ('        if scope["method"] != "POST":', "        if False:"),
        (f"{MCP}::test_over_http_a_token_is_needed_and_good_for_nothing_else",),
    ),
    (
        "Programs: calls a day and misses",
        "bot/store/tokens.py",
        ("where(its, within).values", "where(its).values"),
        (f"{MCP}::test_a_token_has_its_caps",),
    ),
    (
        "Programs: tokens are kept by their hash",
        "bot/programs/programs.py",
        ("    return hashlib.sha256(secret.encode()).hexdigest()\n", "    return secret\n"),
        (f"{MCP}::test_a_token_is_kept_by_its_hash_and_can_be_taken_away",),
    ),
    (
        "Programs: an editor gives out tokens",
        "bot/programs/programs.py",
        ('        if role(actor, self._settings) != "editor":\n', "        if False:\n"),
        (f"{MCP}::test_a_token_is_kept_by_its_hash_and_can_be_taken_away",),
    ),
    (
        "Living: a changed document is noted",
        ROWS,
        ("before.markdown != row.markdown and self._living:", "False:"),
        (f"{LIVING}::test_a_figure_that_changed_is_said_on_top_and_to_the_asker_once",),
    ),
    (
        "Living: what waits to be checked is forgotten too",
        ROWS,
        (
            "db.execute(delete(changed_documents).where(changed_documents.c.document.in_(document_ids)))",
            "pass",
        ),
        (f"{LIVING}::test_a_forgotten_document_takes_along_what_waits_to_be_checked",),
    ),
    (
        "Living: what people forget is withdrawn",
        ROWS,
        ("                if not at_source:\n", "                if False:\n"),
        (f"{LIVING}::test_a_page_gone_from_its_source_is_said_and_a_forgotten_one_is_withdrawn",),
    ),
    (
        "Living: what is gone from its source is not withdrawn",
        "bot/sources/sync.py",
        ("forget(document, at_source=True)", "forget(document)"),
        (f"{LIVING}::test_a_page_that_goes_from_a_followed_folder_is_said_to_be_removed",),
    ),
    (
        "Living: citations follow a document's name",
        ROWS,
        ("if before is not None and before.name != row.name:", "if False:"),
        (f"{LIVING}::test_a_renamed_document_is_still_withdrawn_and_still_compared",),
    ),
    (
        "Living: what was cited is kept until it was compared",
        ROWS,
        ("select(or_(*needed))", "select(needed[0])"),
        (f"{LIVING}::test_what_was_cited_is_kept_until_it_was_compared_and_over_a_restart",),
    ),
    (
        "Living: only the last answer of a thread",
        "bot/store/changed_documents.py",
        (".where(_last(), posted(turns.c.id))", ".where(posted(turns.c.id))"),
        (f"{LIVING}::test_only_the_last_answer_of_a_thread_is_checked_and_no_old_one",),
    ),
    (
        "Living: a page that changed meanwhile is compared again",
        "bot/store/changed_documents.py",
        ("if current != markdown or not", "if not"),
        (f"{LIVING}::test_a_page_that_changes_while_it_is_compared_is_compared_again",),
    ),
    (
        "Living: the closest pages are no answer",
        "bot/turns/living.py",
        ("if not cited or (answer.unsure and answer.verbatim):", "if not cited:"),
        (f"{LIVING}::test_the_closest_pages_are_no_answer_that_rests_on_them",),
    ),
    (
        "Living: an edit that is not taken waits",
        "bot/turns/turns.py",
        ("await self._inbox.show_later(claimed)", "pass"),
        (f"{LIVING}::test_an_edit_that_a_platform_does_not_take_waits_and_is_made_later",),
    ),
    (
        "Withdrawn: an answer that could not be put in order is, later",
        "bot/turns/queue.py",
        ("        await self._rows.show_due(now)\n", ""),
        (f"{LIVING}::test_what_is_forgotten_leaves_an_answer_later_also_where_answers_stay_as_they_are",),
    ),
    (
        "Withdrawn: words of a page in what is said of its change",
        "bot/turns/withdrawal.py",
        ("if len(changes) < len(answered.changes):", "if False:"),
        (f"{LIVING}::test_a_renamed_document_is_still_withdrawn_and_still_compared",),
    ),
    (
        "Discord: a private thread is not read, whoever says that it has changed",
        DISCORD_CHANNELS,
        (" or thread.is_private():", ":"),
        (PRIVATE_THREADS,),
    ),
    (
        "Discord: a forum is told once",
        "adapters/discord/transport/outbox.py",
        ("if (one.parent_id, one.owner_id, one.name) == (forum.id, context.me, title):", "if False:"),
        (f"{TALKS}::test_a_forum_is_told_by_one_post_with_a_tag_where_it_takes_one",),
    ),
    (
        "Sources: the title of a post is left out with whoever gave it",
        CHANNEL,
        ('thread.title if said[0].id == thread.root else ""', "thread.title"),
        (f"{SETTLED}::test_a_given_title_counts_while_whoever_gave_it_does",),
    ),
    (
        "Discord: edits of old messages that are refused silence nothing else",
        "adapters/discord/transport/api.py",
        (" and cause.code != OLD_EDITS", ""),
        (
            "tests/adapters/discord/test_turn_view.py"
            "::test_an_edit_of_an_old_answer_that_is_refused_is_not_posted_elsewhere_and_nothing_else_waits",
        ),
    ),
    (
        "Vectors: what is the same is not embedded again",
        "retrieval/ingest.py",
        ("new = [text for text in texts if text not in kept]", "new = [*texts]"),
        (f"{INGEST}::test_a_new_version_embeds_only_what_has_changed",),
    ),
    (
        "Vectors: another heading is another text",
        "retrieval/ingest.py",
        (
            "embedding_text(one.title, one.as_chunk()): array",
            "embedding_text(one.title, Chunk(one.chunk, one.text, ('Ambulance',))): array",
        ),
        (f"{INGEST}::test_the_same_text_under_another_heading_is_embedded_anew",),
    ),
    (
        "Vectors: a replaced document takes those of the version before",
        "bot/knowledge/documents.py",
        ("replaces=known is not None", "replaces=False"),
        (f"{DOCUMENTS}::test_a_replaced_document_embeds_what_has_changed_and_a_reindexed_one_all_of_it",),
    ),
    (
        "Vectors: those of what is alive only",
        "retrieval/index/edge.py",
        (
            "        which, offset = _living(document_id, before=STAGED), None\n",
            "        which, offset = _filter(_is('document_id', document_id)), None\n",
        ),
        ("tests/retrieval/index/test_index.py::test_the_dense_vectors_of_a_document_are_those_of_its_living_passages",),
    ),
    (
        "Ingest: only what an ingest of that very folder wrote is gone from it",
        "bot/cli/operations.py",
        ("theirs = [row for row in rows if row.author == _author(folder)]", "theirs = [*rows]"),
        (FROM_FOLDER,),
    ),
    (
        "Ingest: only that is forgotten",
        "bot/cli/operations.py",
        ("if row is not None and row.author == _author(folder):", "if row is not None:"),
        ("tests/bot/cli/test_remote.py::test_only_what_is_a_folder_s_own_is_pruned",),
    ),
    (
        "Ingest: a folder without a file may be away",
        "bot/cli/ingesting.py",
        ("if not found or any(", "if any("),
        (FROM_FOLDER,),
    ),
    (
        "Ingest: nothing is forgotten unasked",
        "bot/cli/ingesting.py",
        ("len(gone) if prune else 0", "len(gone)"),
        (FROM_FOLDER,),
    ),
    (
        "Website: a page that is sent elsewhere for now stays",
        WEBSITE,
        ("if asked in self.known and answer.status not in (301, 308):", "if False:"),
        (f"{SITE}::test_a_page_that_is_sent_to_a_log_in_for_now_stays_and_one_that_has_moved_away_goes",),
    ),
    (
        "Website: a redirect obeys robots.txt",
        WEBSITE,
        ("            if not self.robots.can_fetch(url, AGENT):\n                return Answer(asked, 404)\n", ""),
        (f"{SITE}::test_a_redirect_leads_nowhere_that_robots_txt_forbids",),
    ),
    (
        "Websites: a page in the place of a sitemap does not keep its site from being followed",
        WEBSITE,
        ("answer.status < 400 and _A_PAGE.match(answer.body)", "False"),
        (f"{SITE}::test_a_page_in_the_place_of_a_sitemap_is_none",),
    ),
    (
        "Website: a sitemap that was there is not done without",
        WEBSITE,
        ("if only or url in self.remembered or (", "if only or ("),
        (f"{SITE}::test_a_sitemap_that_is_missing_all_at_once_takes_no_page_with_it",),
    ),
    (
        "Git: a damaged mirror is made anew",
        GIT,
        ("            await self._git.drop_if_damaged()\n", ""),
        (f"{TESTS}::test_a_damaged_mirror_is_made_anew",),
    ),
    (
        "Git: nothing but git finds a mirror damaged",
        GIT,
        (
            "        with suppress(SourceError):\n            status",
            "        with suppress(OSError):\n            status",
        ),
        (f"{TESTS}::test_only_git_itself_finds_a_mirror_damaged",),
    ),
    (
        "Git: what speaks with no host needs none",
        GIT,
        ("_host(self.location) if remote else (None, 0)", "_host(self.location)"),
        (f"{TESTS}::test_only_git_itself_finds_a_mirror_damaged",),
    ),
    (
        "Git: what ended commands have left goes",
        GIT,
        ("        await asyncio.to_thread(_tidy, self.mirror)\n", ""),
        (f"{TESTS}::test_what_ended_commands_have_left_in_a_mirror_holds_up_no_other",),
    ),
    (
        "Git: a mirror is no larger than it may be",
        GIT,
        ("if not done or await asyncio.to_thread(_size, self.mirror) > MOST_BYTES:", "if False:"),
        (TOO_BIG,),
    ),
    (
        "Git: one that is too big is made anew",
        GIT,
        ("            await self._drop()  # it also", "            # it also"),
        (TOO_BIG,),
    ),
    (
        "Git: a branch that was pushed back has the days of its commits",
        GIT,
        (" and await self._git.is_ancestor(before, head)", ""),
        (f"{TESTS}::test_a_page_of_a_branch_that_was_pushed_back_has_the_day_of_the_commit_that_is_there",),
    ),
    (
        "Git: by ssh, too, what was looked at is what is reached",
        GIT,
        (" -o HostName={quoted(address)}", ""),
        (f"{TESTS}::test_what_is_reached_by_ssh_is_the_address_that_was_looked_at",),
    ),
    (
        "Git: a branch with another name is looked at",
        GIT,
        ('if f"{head} {ref}" == cursor:', 'if (cursor or "").startswith(head):'),
        (f"{TESTS}::test_pages_of_a_branch_with_another_name_are_looked_at_again",),
    ),
    (
        "Sources: an address that has changed is the document's",
        SYNC,
        ("                await self._readdressed(listing, known)\n", "                pass\n"),
        (f"{TESTS}::test_an_address_that_has_changed_is_the_document_s_without_a_new_version",),
    ),
    (
        "Sources: what was kept is the source's no more",
        SYNC,
        ("                    await self.documents.sign(document, KEPT)\n", "                    pass\n"),
        (f"{TESTS}::test_what_was_kept_is_no_source_s_any_more_and_is_neither_replaced_nor_removed",),
    ),
    (
        "Channels: words are not kept without the channel that they follow",
        SOURCES,
        ('        if keep and source.kind == "channel":\n', "        if False:\n"),
        (f"{TALKS}::test_words_are_not_kept_without_the_channel_that_they_follow",),
    ),
    (
        "Sources: a clock that is put right makes none wait for years",
        SOURCES,
        (" or wait > timedelta(seconds=max(source.every, LONGEST_BACKOFF))", ""),
        (f"{TESTS}::test_a_clock_that_is_put_right_makes_no_source_wait_for_years",),
    ),
    (
        "Sources: what is there again needs no word",
        SOURCES,
        ('if report.gone or source.state == "asks":', "if report.gone:"),
        (f"{TESTS}::test_what_is_there_again_needs_no_word",),
    ),
    (
        "Programs: an answer names documents as they are read",
        "bot/programs/programs.py",
        ('"document": ids.get((one.collection, one.document)),', '"document": one.document,'),
        (f"{MCP}::test_a_program_searches_reads_asks_and_reports",),
    ),
    (
        "Sources: what changes during a look is looked at again",
        "bot/store/followed.py",
        ('dict.fromkeys(("due_at", "cursor") if seen is not None else (), ', "dict.fromkeys((), "),
        (f"{TESTS}::test_what_changes_during_a_look_is_looked_at_again",),
    ),
    (
        "Channels: who wants out while they are read is silenced",
        "bot/store/followed.py",
        (
            'values: dict[str, Any] = {"version": SILENCED if silenced else page.version',
            'values: dict[str, Any] = {"version": page.version',
        ),
        ("tests/bot/store/test_followed.py",),
    ),
    (
        "Channels: a look that began before does not hide it",
        "bot/store/followed.py",
        ('"version": case((still, SILENCED), else_=values["version"]),', '"version": values["version"],'),
        ("tests/bot/store/test_followed.py",),
    ),
    (
        "Folder: what Kotae keeps in its home is no page of a folder around it",
        "bot/config/own_files.py",
        ("file.inside is None or not _is_kept(given.joinpath(*file.inside), real)", "True"),
        (f"{TESTS}::test_a_folder_around_the_home_has_none_of_its_texts",),
    ),
    (
        "Folder: what changes between two calls is told",
        FOLDER,
        ("self._events = self._events or awatch(", "self._events = awatch("),
        (f"{TESTS}::test_a_folder_tells_of_what_changes_between_two_calls",),
    ),
    (
        "Sources: a sitemap that names no page of the site does not empty it",
        WEBSITE,
        ("        return found or None\n", "        return found\n"),
        (f"{SITE}::test_a_sitemap_without_pages_of_the_site_is_none",),
    ),
    (
        "Sources: a packed sitemap is unpacked as far as it may be long",
        WEBSITE,
        ('packed = Body("gzip", ParsingLimits().file)', 'packed = Body("gzip", 2**40)'),
        (f"{SITE}::test_a_packed_sitemap_is_read_as_far_as_it_may_be_long",),
    ),
    (
        "Sources: a page at several addresses stays at the one that is known",
        WEBSITE,
        ("sorted(self.pages, key=lambda url: (url not in self.known, self._has_moved(url)))", "self.pages"),
        (f"{SITE}::test_a_page_at_several_addresses_is_one",),
    ),
    (
        "Sources: a page at several addresses is one document",
        WEBSITE,
        (" if at[page.version] == url}", "}"),
        (f"{SITE}::test_a_page_at_several_addresses_is_one",),
    ),
    (
        "Sources: a site that is built anew says what it said",
        "bot/knowledge/documents.py",
        ("if known and _says_the_same(row, known, document.date) and await self._whole(known):", "if False:"),
        (f"{SITE}::test_a_site_that_is_built_anew_says_what_it_said",),
    ),
    (
        "Sources: a page that states another date has changed",
        "bot/knowledge/documents.py",
        (' and date in (\n        "",\n        known.changed_at,\n    )', ""),
        (f"{SITE}::test_a_site_that_is_built_anew_says_what_it_said",),
    ),
    (
        "Sources: a page of a website at another place keeps its document",
        SYNC,
        ("        if not gone:\n            return\n        pages", "        return\n        pages"),
        (f"{SITE}::test_a_page_at_another_place_keeps_its_document",),
    ),
    (
        "Sources: until a page has moved its new place counts as not read",
        SYNC,
        ('page.ref, FollowedPage("", copy.id))', "page.ref, FollowedPage(page.version, copy.id))"),
        (f"{SITE}::test_a_move_that_is_cut_short_is_done_by_the_next_look",),
    ),
    (
        "Sources: a page whose reading was stopped is read again",
        SYNC,
        (" and not self._stopped(before)", ""),
        (f"{TESTS}::test_a_page_whose_reading_was_stopped_is_read_again_the_next_day",),
    ),
    (
        "Sources: a repository is looked through for it, though it has not moved",
        SYNC,
        (" or any(map(self._stopped, known.values()))", ""),
        (f"{TESTS}::test_a_page_whose_reading_was_stopped_is_read_again_the_next_day",),
    ),
    (
        "Sources: a page whose reading was stopped is not read at every look",
        SYNC,
        ("page.due_at is not None and page.due_at <= self.now", "page.due_at is not None"),
        (f"{TESTS}::test_a_page_whose_reading_was_stopped_is_read_again_the_next_day",),
    ),
    (
        "Website: a page whose reading was stopped is had whole",
        WEBSITE,
        (" or known.due_at is not None", ""),
        (f"{SITE}::test_a_page_whose_reading_was_stopped_is_had_whole_though_it_has_not_changed",),
    ),
    (
        "Git: a mirror is packed",
        GIT,
        ("        await self._pack()\n", ""),
        (f"{TESTS}::test_a_mirror_of_many_small_files_is_packed",),
    ),
    (
        "Website: a copy stays one while its original is away",
        WEBSITE,
        ("(original in pages or stays)", "original in pages"),
        (f"{SITE}::test_of_a_page_and_its_copies_the_original_is_read",),
    ),
    (
        "Website: a wrong original takes no page with it",
        WEBSITE,
        ("            and _last_name(original) == _last_name(url)\n", ""),
        (f"{SITE}::test_of_a_page_and_its_copies_the_original_is_read",),
    ),
)
