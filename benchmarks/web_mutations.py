"""The safeguards of the web channel and its pages, for `benchmarks/mutations.py`: what each is called, its file, the
text that is there once with what stands in its place, and the tests that notice."""

WEB = "tests/adapters/web"
PAGES = f"{WEB}/pages"
BROWSERS = f"{WEB}/server/test_browser.py"
GUARD = "tests/adapters/web/server/test_guard.py"
MARKDOWN = f"{WEB}/test_markdown.py"
PATIENCE = "tests/adapters/web/server/test_patience.py"
BOARD = f"{WEB}/channel/test_messages.py"
PRIVATE_ROOM = f"{BOARD}::test_a_private_room_is_not_there_for_who_is_not_in_it"
OWN_WORDS = f"{BOARD}::test_people_change_their_own_messages_and_nobody_elses"
ONLY_MINE = f"{BOARD}::test_an_answer_keeps_no_quotation_of_what_may_not_be_read_any_more"
SOCKETS = f"{BROWSERS}::test_a_socket_opens_for_our_own_pages_only"
SESSIONS = f"{BROWSERS}::test_a_session_ends_by_itself"
HOSTILE = f"{BROWSERS}::test_what_a_document_says_does_nothing"
POLICY = f"{BROWSERS}::test_a_page_runs_its_own_scripts_and_no_others"
CHOICES = f"{BROWSERS}::test_a_choice_is_kept_and_leads_back_only_to_our_pages"
SAID = f"{PAGES}/test_layout.py::test_what_goes_wrong_is_said_in_words_and_its_own_words_are_in_the_log"
PRIVATE_PAIRS = "tests/bot/qa_pairs/test_pairs.py::test_a_private_places_pairs_are_its_members_alone"
PRIVATE_DATASET = f"{PAGES}/test_datasets_page.py::test_a_file_of_one_s_own_with_its_columns_for_a_private_room"
CSV = "tests/bot/unanswered/test_questions.py"
PAST = f"{PAGES}/test_search_page.py::test_past_searches_as_a_file_and_cleared"
RESCOPED = "tests/bot/knowledge/test_curation.py::test_no_pair_is_ever_read_by_more_than_read_its_document"
TIMES = f"{PAGES}/test_times.py"
DOCUMENTS = f"{PAGES}/test_documents_page.py"
CHANNEL = f"{PAGES}/test_channel_page.py"
RACES = f"{PAGES}/test_channel_races.py"
ADD_UP = "tests/bot/operations/test_metrics.py::test_the_ways_questions_ended_add_up_to_the_questions"
HOSTILE_NAME = f"{DOCUMENTS}::test_a_hostile_file_name_is_words_everywhere"
SENTENCE = f"{DOCUMENTS}::test_a_document_opens_at_the_sentence_that_is_quoted"
TRACED = "tests/bot/turns/test_trace.py::test_only_who_sees_the_place_sees_the_trace"

ALL_PAIRS = f"{PAGES}/test_answers_page.py"

MUTATIONS: tuple[tuple[str, str, tuple[str, str], tuple[str, ...]], ...] = (
    (
        "a new collection takes no other's description",
        "bot/store/collections.py",
        (
            'made.on_conflict_do_nothing(index_elements=["name"])',
            'made.on_conflict_do_update(index_elements=["name"], set_={"description": description})',
        ),
        (f"{DOCUMENTS}::test_collections_are_made_and_merged_and_what_cannot_be_is_said",),
    ),
    (
        "a message is deleted only when that is confirmed",
        "adapters/web/pages/channel/forms.py",
        ("            if await confirmed(_SURE.to(language), DELETE.to(language), language):\n", "            if True:\n"),
        (f"{CHANNEL}::test_one_s_own_words_are_edited_and_deleted",),
    ),
    (
        "a question about a file that came with it is suggested to nobody",
        "bot/store/conversations.py",
        (", documents.c.scope.in_((EVERYONE, TEAM)))", ")"),
        (
            "tests/bot/turns/test_suggestions.py"
            "::test_only_public_questions_with_a_sure_answer_from_the_team_s_documents_are_suggested",
        ),
    ),
    (
        "a pair that has changed meanwhile is not overwritten",
        "bot/knowledge/pair_documents.py",
        ("    if was not in pairs:\n        raise RAGToolError(_CHANGED)\n", ""),
        (f"{ALL_PAIRS}::test_a_pair_that_has_changed_meanwhile_is_not_overwritten",),
    ),
    (
        "pairs are listed for their readers",
        "bot/qa_pairs/listing.py",
        ("await self._documents.listed(readers) if", "await self._documents.listed() if"),
        (f"{ALL_PAIRS}::test_all_kinds_are_in_one_list_for_their_readers_and_as_a_file",),
    ),
    (
        "the list of pairs as a file has every wording",
        "bot/qa_pairs/listing.py",
        ("for question in (one.pair.question, *one.also):", "for question in (one.pair.question,):"),
        (f"{ALL_PAIRS}::test_the_file_has_every_wording_and_the_lines_of_an_answer_as_they_stand",),
    ),
    (
        "the list of pairs as a file has no formula",
        "bot/qa_pairs/listing.py",
        (", cell=spreadsheet.harmless_lines)", ", cell=str)"),
        (f"{ALL_PAIRS}::test_all_kinds_are_in_one_list_for_their_readers_and_as_a_file",),
    ),
    # Web: who sees what
    (
        "Web: a room is its members'",
        "adapters/web/channel/rooms.py",
        ("    if room not in ROOMS or member.id not in room.members:\n", "    if room not in ROOMS:\n"),
        (PRIVATE_ROOM,),
    ),
    (
        "Web: a message is its room's members'",
        "adapters/web/channel/messages.py",
        ("            where = room(message.room)\n            enter(where, member)\n", "            where = room(message.room)\n"),
        (PRIVATE_ROOM,),
    ),
    (
        "Web: news of a room are its members'",
        "adapters/web/channel/messages.py",
        ("[each.id for each in (rooms_of(member) if room is None else (room,))]", '["general", "leads"]'),
        (f"{BOARD}::test_every_page_hears_of_what_changes_in_its_rooms_once",),
    ),
    (
        "Web: a private room is not public",
        "adapters/web/channel/rooms.py",
        ('Audience("private" if room.private else "public")', 'Audience("public")'),
        (f"{WEB}/channel/test_adapter.py::test_a_private_room_stays_private",),
    ),
    (
        "Web: a member reads their own rooms",
        "adapters/web/channel/rooms.py",
        ("for room in rooms_of(member) if room.private)", "for room in ROOMS if room.private)"),
        (PRIVATE_ROOM,),
    ),
    (
        "Web: a page's readers are its member's",
        "adapters/web/visitor.py",
        ("        return readers_of(self.member)\n", "        return readers_of(MEMBERS[0])\n"),
        (f"{WEB}/test_privacy.py::test_no_page_shows_ben_a_word_of_it",),
    ),
    (
        "Web: quotations of what is gone",
        "adapters/web/channel/messages.py",
        (
            '{**one, "quote": "", "url": None, "date": None, "checked": None, "gone": True, "document_id": None}',
            '{**one, "gone": True, "document_id": None}',
        ),
        (ONLY_MINE,),
    ),
    (
        "Web: a passage behind an answer is the room's",
        "adapters/web/channel/messages.py",
        (
            "        allowed = readers(place(where), audience(where), str(answer.root))\n",
            "        from adapters.web.channel.rooms import readers_of\n        allowed = readers_of(member)\n",
        ),
        (ONLY_MINE,),
    ),
    (
        "Web: a trace is its place's",
        "bot/turns/trace.py",
        ("    if default_scope(asked.place, asked.audience) not in readers.scopes:\n        return None\n", ""),
        (TRACED, f"{PAGES}/test_unanswered_page.py::test_a_trace_of_a_private_room_is_not_for_others"),
    ),
    (
        "Web: a trace without what is gone",
        "bot/turns/trace.py",
        ("        answer=answered.text if clean else None,\n", "        answer=answered.text,\n"),
        ("tests/bot/turns/test_trace.py",),
    ),
    (
        "Web: misses in the file are its reader's",
        "bot/store/unanswered.py",
        ("        theirs = alike & questions.c.scope.in_(scopes) & _about(wanted)\n", "        theirs = alike & _about(wanted)\n"),
        (f"{CSV}::test_a_file_has_what_its_readers_may_see",),
    ),
    (
        "Web: Q/A pairs are their document's readers'",
        "bot/store/qa_pairs.py",
        ("    return and_(\n        documents.c.scope.in_(readers.scopes),\n        *(() if job", "    return and_(\n        *(() if job"),
        (PRIVATE_PAIRS,),
    ),
    (
        "Web: a pair that one may not read is none",
        "bot/store/qa_pairs.py",
        ("pairs.c.id.in_(ids[at : at + _SLICE]), documents.c.scope.in_(readers.scopes))", "pairs.c.id.in_(ids[at : at + _SLICE]))"),
        ("tests/bot/qa_pairs/test_pairs.py::test_a_pair_that_one_may_not_read_is_as_if_there_were_none",),
    ),
    (
        "Web: a pair is decided by who may add there",
        "bot/qa_pairs/pairs.py",
        ("        mine = [one for one in found if one.scope in allowed]\n", "        mine = found\n"),
        (PRIVATE_PAIRS,),
    ),
    (
        "Web: a job of pairs is its readers'",
        "bot/store/qa_jobs.py",
        ("    return and_(some, ~none)\n", "    return and_(some)\n"),
        (PRIVATE_PAIRS,),
    ),
    (
        "Web: pairs are written from what one reads",
        "bot/qa_pairs/pairs.py",
        ("if row is not None and row.scope in readers.scopes else []", "if row is not None else []"),
        (PRIVATE_PAIRS,),
    ),
    (
        "Web: a dataset's job is its readers'",
        "adapters/web/pages/datasets/jobs.py",
        ("for job in known if job.order.scope in self.who.readers.scopes]", "for job in known]"),
        (PRIVATE_DATASET,),
    ),
    (
        "Web: a dataset's job is stopped by who may add",
        "adapters/web/pages/datasets/jobs.py",
        ("        return job.order.scope in self._scopes\n", "        return True\n"),
        (f"{PAGES}/test_datasets_page.py::test_a_job_is_gone_on_with_by_who_may_add_for_its_readers",),
    ),
    (
        "Web: narrowed pairs go first",
        "bot/knowledge/curation.py",
        ("        for each in () if wider else made:\n", "        for each in ():\n"),
        (RESCOPED,),
    ),
    (
        "Web: widened pairs follow",
        "bot/knowledge/curation.py",
        ("        for each in () if wider else made:\n", "        for each in made:\n"),
        (RESCOPED,),
    ),
    (
        "Web: a document is changed by who may",
        "bot/knowledge/curation.py",
        ("        if not self.may_change(person, row):\n            await", "        if False:\n            await"),
        ("tests/bot/knowledge/test_curation.py::test_who_may_do_what",),
    ),
    (
        "Web: a merge asks",
        "adapters/web/pages/documents/collections.py",
        (
            "                    if not await confirmed(await self._merging(chosen, target), _DO_MERGE.to(language), language):\n"
            "                        return\n",
            "",
        ),
        (f"{DOCUMENTS}::test_collections_are_made_and_merged_and_what_cannot_be_is_said",),
    ),
    (
        "Web: a file of one thread opens nowhere else",
        "adapters/web/channel/messages.py",
        ('"document_id": everywhere.get((one["collection"], one["document"]))}', '"document_id": "any"}'),
        (f"{CHANNEL}::test_a_file_for_one_thread_is_quoted_there_and_opens_nowhere_else",),
    ),
    # Web: said once, and by oneself
    (
        "Web: what is said again takes its place",
        "bot/store/web_messages.py",
        (
            '            upserted = added.on_conflict_do_update(index_elements=["about", "kind", "part"], set_=anew)\n',
            '            added = insert(db, messages).values(values | {"about": f"{said.about} {anew}"})\n            upserted = added\n',
        ),
        (f"{WEB}/channel/test_adapter.py::test_a_process_killed_between_answer_and_commit_leaves_one_answer", BOARD),
    ),
    (
        "Web: what a process left is taken up",
        "adapters/shared/recovery.py",
        ("        await questions()\n", ""),
        (f"{WEB}/channel/test_adapter.py::test_what_a_process_left_goes_on_when_it_is_back",),
    ),
    (
        "Web: one edits and deletes one's own",
        "adapters/web/channel/messages.py",
        ('        if found.author != member.id or found.kind != "text":\n', '        if found.kind != "text":\n'),
        (OWN_WORDS,),
    ),
    (
        "Web: nobody edits what the bot said",
        "adapters/web/channel/messages.py",
        ('        if found.author != member.id or found.kind != "text":\n', "        if found.author not in (member.id, \"kotae\"):\n"),
        (OWN_WORDS,),
    ),
    # Web: the way in
    (
        "Web: the Host of a request",
        "adapters/web/server/guard.py",
        ("                self._of_this_host(headers)\n                self._from_here", "                self._from_here"),
        (f"{GUARD}::test_another_host_is_refused",),
    ),
    (
        "Web: the Host of a socket",
        "adapters/web/server/guard.py",
        ("            self._of_this_host(headers)\n            self._from_here(headers)\n", "            self._from_here(headers)\n"),
        (f"{BROWSERS}::test_a_name_that_was_made_to_lead_here_opens_no_socket",),
    ),
    (
        "Web: the Origin of a request",
        "adapters/web/server/guard.py",
        ("        foreign = origin is not None and urlsplit", "        foreign = False and urlsplit"),
        (f"{GUARD}::test_pages_of_other_sites_change_nothing",),
    ),
    (
        "Web: an address of a proxy needs a token",
        "adapters/web/server/sockets.py",
        ("    if front is not None and not _is_loopback(", "    if False and not _is_loopback("),
        (f"{GUARD}::test_a_proxy_that_gives_it_a_name_needs_a_token_too",),
    ),
    (
        "Web: the Host of a request behind a proxy",
        "adapters/web/server/sockets.py",
        ("        if self.host in _ANY:\n            return None\n", "        if self.host in _ANY or self.front:\n            return None\n"),
        (f"{GUARD}::test_its_own_pages_are_known_by_the_name_that_a_proxy_gives_them",),
    ),
    (
        "Web: no link to this machine for others",
        "adapters/web/server/sockets.py",
        ('return "" if self.host in _ANY or (shared and _is_loopback(self.host)) else self.url', "return self.url"),
        (f"{GUARD}::test_links_lead_to_where_people_reach_it_or_nowhere",),
    ),
    (
        "Web: a page behind TLS is not led out of it",
        "adapters/web/server/guard.py",
        ("                    given[\"location\"] = to[len(here) - 1 :]\n", "                    pass\n"),
        (f"{BROWSERS}::test_a_page_with_a_slash_too_many_leads_to_the_page_by_the_same_way_it_was_reached",),
    ),
    (
        "Web: the Origin of a socket",
        "adapters/web/server/guard.py",
        ("            self._of_this_host(headers)\n            self._from_here(headers)\n", "            self._of_this_host(headers)\n"),
        (SOCKETS,),
    ),
    (
        "Web: where a browser says a request is from",
        "adapters/web/server/guard.py",
        ('if foreign or headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):', "if foreign:"),
        (f"{GUARD}::test_pages_of_other_sites_change_nothing", f"{GUARD}::test_pages_of_other_sites_lead_here_and_fetch_nothing"),
    ),
    (
        "Web: no other site makes a choice",
        "adapters/web/server/guard.py",
        ('not in _WRITES and not scope["path"].startswith(self._own))', "not in _WRITES)"),
        (f"{BROWSERS}::test_no_other_site_makes_a_choice",),
    ),
    (
        "Web: NiceGUI lets no other site read",
        "adapters/web/pages/__init__.py",
        ("    core.sio.eio.cors_allowed_origins = []", '    core.sio.eio.cors_allowed_origins = "*"'),
        (f"{BROWSERS}::test_no_other_site_reads_from_a_socket",),
    ),
    (
        "Web: a choice leads to our pages only",
        "adapters/web/visitor.py",
        ("RedirectResponse(back if ours else", "RedirectResponse(back if back else"),
        (CHOICES,),
    ),
    (
        "Web: a choice is one of those there are",
        "adapters/web/visitor.py",
        ("        if (value := request.query_params.get(name)) in known:\n", "        if value := request.query_params.get(name):\n"),
        (CHOICES,),
    ),
    (
        "Web: the token of a request",
        "adapters/web/server/guard.py",
        ("                if door is not None and not await door.knows(scope, headers):\n", "                if False:\n"),
        (f"{BROWSERS}::test_without_the_token_a_browser_gets_a_form_and_nothing_else",),
    ),
    (
        "Web: a word about how it is needs no token",
        "adapters/web/server/guard.py",
        ('scope["path"] not in self._open_to_all', "True"),
        (f"{GUARD}::test_other_machines_need_a_token",),
    ),
    (
        "Web: and no more than a word",
        "adapters/web/server/guard.py",
        ("                    scope[STRANGER] = True\n", ""),
        (f"{GUARD}::test_other_machines_need_a_token",),
    ),
    (
        "Web: a program adds nothing to a private place",
        "adapters/web/api/schemas.py",
        ('OpenScope = Literal["team", "everyone"]', "OpenScope = Scope"),
        ("tests/adapters/web/api/test_routes.py::test_a_private_document_is_neither_replaced_nor_added",),
    ),
    (
        "Web: what fails inside is told as JSON",
        "adapters/web/api/routes.py",
        ("    api.add_exception_handler(Exception, unexpected)\n", ""),
        (f"{GUARD}::test_what_fails_inside_the_api_is_told_by_a_number_that_the_log_has",),
    ),
    (
        "Web: the number of a failure is in the log",
        "adapters/web/server/guard.py",
        ('log.exception("a request failed", extra={"id": id})', 'log.exception("a request failed")'),
        (f"{GUARD}::test_what_fails_inside_the_api_is_told_by_a_number_that_the_log_has",),
    ),
    (
        "Web: a head has its time",
        "adapters/web/server/patience.py",
        ("        if timed and self._timer is None:\n", "        if False:\n"),
        (f"{PATIENCE}::test_who_says_nothing_is_told_nothing_and_let_go",),
    ),
    (
        "Web: a head that trickles has no more",
        "adapters/web/server/patience.py",
        ("        if timed and self._timer is None:\n", "        self._stop()\n        if timed:\n"),
        (f"{PATIENCE}::test_a_head_that_comes_byte_by_byte_gets_no_more_time",),
    ),
    (
        "Web: so many half requests at a time",
        "adapters/web/server/patience.py",
        ("        if len(waiting) > self.patience.unfinished:\n", "        if False:\n"),
        (f"{PATIENCE}::test_who_sends_goes_on_and_who_stands_still_longest_goes",),
    ),
    (
        "Web: who sends goes on",
        "adapters/web/server/patience.py",
        ("            self.patience.waiting.move_to_end(self)\n", "            pass\n"),
        (f"{PATIENCE}::test_who_sends_goes_on_and_who_stands_still_longest_goes",),
    ),
    (
        "Web: a body that stands still",
        "adapters/web/server/guard.py",
        ("asyncio.timeout(min(left, self._still_seconds))", "asyncio.timeout(left)"),
        (f"{GUARD}::test_a_body_that_stands_still_is_given_up_before_its_time",),
    ),
    (
        "Web: what has not come takes no place",
        "adapters/web/server/guard.py",
        ("            if len(body) > BODY_BYTES and not has_place:\n", "            if not has_place:\n"),
        (f"{GUARD}::test_uploads_that_do_not_come_keep_nobody_else_waiting",),
    ),
    (
        "Web: the token of a socket",
        "adapters/web/server/guard.py",
        (
            "            if self._door is not None and not await self._door.knows(scope, headers):\n                raise Problem(401",
            "            if False:\n                raise Problem(401",
        ),
        (SOCKETS,),
    ),
    (
        "Web: a cookie is proven",
        "adapters/web/server/login.py",
        ("        return hmac.compare_digest(shown.encode(), self._proof(int(until)).encode())\n", "        return True\n"),
        (SESSIONS,),
    ),
    (
        "Web: a cookie ends",
        "adapters/web/server/login.py",
        (" and len(until) < 16 and time.time() < int(until)):", " and len(until) < 16):"),
        (SESSIONS,),
    ),
    (
        "Web: a token is not guessed",
        "adapters/web/server/login.py",
        ("        if tries >= TRIES or await", "        if await"),
        (f"{GUARD}::test_a_token_cannot_be_guessed_for_long",),
    ),
    (
        "Web: a short token is not guessed, and a long one not kept out",
        "adapters/web/server/login.py",
        ("        if right and not self._guessable:\n", "        if right:\n"),
        (f"{GUARD}::test_a_token_cannot_be_guessed_for_long",),
    ),
    (
        "Web: a token is not guessed at one process after the other",
        "adapters/web/server/server.py",
        ("        shared=rates if rates.shared else None,\n", ""),
        (f"{GUARD}::test_a_token_cannot_be_guessed_at_one_process_after_the_other",),
    ),
    (
        "Web: who was wrong too often anywhere is not let in with the right token",
        "adapters/web/server/login.py",
        ("        ask = self._shared.wait if right else self._shared.take\n", "        if right:\n            return False\n        ask = self._shared.take\n"),
        (f"{GUARD}::test_a_token_cannot_be_guessed_at_one_process_after_the_other",),
    ),
    (
        "Web: of guesses at the same moment none is looked at beyond the limit",
        "bot/store/rates.py",
        (".with_for_update(read=True)", ""),
        ("tests/bot/store/test_rates.py::test_who_only_asks_waits_for_those_that_take",),
    ),
    # Web: what is shown
    (
        "Web: times are on the browser's clock",
        "adapters/web/pages/shared/components.py",
        ("        theirs = at.astimezone(self._who.zone)\n", "        theirs = at.astimezone(UTC)\n"),
        (f"{TIMES}::test_times_are_on_the_clock_of_the_browser",),
    ),
    (
        "Web: a browser's zone is one that is known",
        "adapters/web/visitor.py",
        ("    except (OSError, ValueError, LookupError):  # a folder", "    except LookupError:  # a folder"),
        (f"{TIMES}::test_a_browser_that_says_no_zone_has_that_of_the_settings",),
    ),
    (
        "Web: the message field has the focus",
        "adapters/web/pages/channel/page.py",
        ('                    field.props("autofocus")\n', "                    pass\n"),
        (f"{CHANNEL}::test_the_field_to_write_in_has_the_focus_and_a_link_leads_to_it",),
    ),
    (
        "Web: a vote or a reply does not draw a message anew",
        "adapters/web/pages/channel/message_list.py",
        ("        if found == box.message and box.follow is not None:\n", "        if False and box.follow is not None:\n"),
        (f"{RACES}::test_a_reply_leaves_what_it_stands_under_as_it_is",),
    ),
    (
        "Web: a message that is known late stands in its place",
        "adapters/web/pages/channel/message_list.py",
        ("                    box.move(target_index=before + _AHEAD)\n", ""),
        (f"{RACES}::test_what_comes_late_stands_in_its_place",),
    ),
    (
        "Web: files of a double click are added once",
        "adapters/web/pages/channel/forms.py",
        ("on_click=once(keep)", "on_click=keep"),
        (f"{RACES}::test_files_of_a_double_click_are_added_once",),
    ),
    (
        "Web: what could not be drawn is drawn later",
        "adapters/web/pages/shared/live.py",
        ("                await draw()\n                known = now\n", "                known = now\n                await draw()\n"),
        (f"{PAGES}/test_live.py::test_a_change_while_it_is_drawn_and_one_that_could_not_be_shown_are_shown",),
    ),
    (
        "Web: of two lists the one that was asked for last is shown",
        "adapters/web/pages/unanswered.py",
        ("        if not is_last():\n            return\n", ""),
        (f"{PAGES}/test_unanswered_page.py::test_what_was_looked_for_last_is_shown",),
    ),
    (
        "Web: a page's socket takes what its script sends",
        "adapters/web/server/server.py",
        ("ws_max_size=SOCKET_BYTES", "ws_max_size=1_000_000"),
        ("tests/adapters/web/server/test_browser.py::test_a_long_japanese_text_goes_through_a_page_s_socket",),
    ),
    (
        "Web: a document is called by its name",
        "adapters/web/pages/documents/detail.py",
        ("        titled(row.name)\n", ""),
        (HOSTILE_NAME,),
    ),
    (
        "Web: a file's name is clean while it is read",
        "bot/knowledge/curation.py",
        ("        name, language = clean_name(name), person.language\n", "        language = person.language\n"),
        (HOSTILE_NAME,),
    ),
    (
        "Web: a long file name keeps its ending",
        "retrieval/loaders/sanitize.py",
        ("    return line[: len(line) - len(suffix)][: longest - len(suffix)].rstrip() + suffix\n", "    return line[:longest]\n"),
        ("tests/retrieval/loaders/test_sanitize.py::test_a_long_file_name_keeps_its_ending",),
    ),
    (
        "Web: the quoted sentence is marked",
        "adapters/web/pages/documents/detail.py",
        ("found(self._quote, passage.text) if passage.chunk == self._chunk else None", "None"),
        (SENTENCE,),
    ),
    (
        "Web: a quotation is looked for where it stands by now",
        "adapters/web/pages/documents/detail.py",
        ("            *((at, _LOOKED_THROUGH) for at in range(0, row.chunks, _LOOKED_THROUGH)),\n", ""),
        (SENTENCE,),
    ),
    (
        "Web: an unsure answer is one question",
        "bot/store/conversations.py",
        ('    return case((unsure, "unsure"), else_=answers.c.outcome).label("ended")\n', '    return answers.c.outcome.label("ended")\n'),
        (ADD_UP,),
    ),
    (
        "Web: only what was missed is a miss",
        "bot/store/metrics.py",
        ("        .where(exists().where(of_turn))\n", ""),
        (ADD_UP,),
    ),
    (
        "Web: /metrics says which part does not work",
        "adapters/web/api/routes.py",
        ('state in ("ok", "low") for', "True for"),
        ("tests/adapters/web/api/test_streaming.py::test_readiness_names_what_does_not_work",),
    ),
    (
        "Web: HTML of a text is text",
        "adapters/web/markdown.py",
        ('{"html": False, ', '{"html": True, '),
        (HOSTILE,),
    ),
    (
        "Web: links lead to the web",
        "adapters/web/markdown.py",
        ("lambda url: url.strip().lower().startswith(_SCHEMES)", "lambda url: True"),
        (HOSTILE,),
    ),
    (
        "Web: pictures are words",
        "adapters/web/markdown.py",
        ('    parser.add_render_rule("image", _image)\n', ""),
        (HOSTILE,),
    ),
    (
        "Web: a text of very many marks holds up nobody",
        "adapters/web/markdown.py",
        (" > MARKS:", " > 10 * MARKS:"),
        (f"{MARKDOWN}::test_of_too_many_marks_the_text_is_shown_whole",),
    ),
    (
        "Web: marks in marks in marks hold up nobody",
        "adapters/web/markdown.py",
        (', "maxNesting": 20', ""),
        (f"{MARKDOWN}::test_marks_in_marks_are_read_to_a_depth",),
    ),
    (
        "Web: an address that goes on is no link to where it was cut",
        "adapters/web/markdown.py",
        ("    if following == \"(\" or (following.isalnum() and found[0][-1] in \"/#$&+=%~\"):\n        return False\n", ""),
        (f"{MARKDOWN}::test_an_address_that_stands_for_itself_is_a_link_to_what_it_says",),
    ),
    (
        "Web: a session that began with TLS is sent with TLS only",
        "adapters/web/server/login.py",
        ("path=\"/\", secure=secure, ", "path=\"/\", "),
        (f"{BROWSERS}::test_a_session_that_began_with_tls_is_sent_with_tls_only",),
    ),
    (
        "Web: a page's scripts by their hashes",
        "adapters/web/server/browser.py",
        ("""f"script-src 'self' 'unsafe-eval' {' '.join(hashes)}".rstrip(),""", """"script-src 'self' 'unsafe-eval' 'unsafe-inline'","""),
        (POLICY,),
    ),
    (
        "Web: a page is framed by nobody",
        "adapters/web/server/browser.py",
        ("""            "frame-ancestors 'none'",\n""", ""),
        (POLICY,),
    ),
    (
        "Web: no Host in the policy but a Host",
        "adapters/web/server/browser.py",
        (r'''if re.fullmatch(r"[\w.\-\[\]:]+", host) else ""''', 'if host else ""'),
        (f"{BROWSERS}::test_the_policy_takes_no_word_of_a_strange_host",),
    ),
    (
        "Web: no formula in the file of misses",
        "bot/unanswered/spreadsheet.py",
        ("writer.writerows([cell(each) for each in row] for row in rows)", "writer.writerows(rows)"),
        (f"{CSV}::test_a_file_opens_with_every_cell_in_its_place",),
    ),
    (
        "Web: no formula in the file of searches",
        "bot/unanswered/spreadsheet.py",
        ("writer.writerows([cell(each) for each in row] for row in rows)", "writer.writerows(rows)"),
        (PAST,),
    ),
    (
        "Web: no formula behind what is not seen",
        "bot/unanswered/spreadsheet.py",
        ("    seen = next((sign for sign in line if unicodedata.category(sign)[0] not in _UNSEEN), \"\")\n", "    seen = line[:1]\n"),
        (f"{CSV}::test_what_begins_like_a_formula_is_text",),
    ),
    (
        "Web: what nobody foresaw is not shown",
        "adapters/web/pages/shared/layout.py",
        (
            "        except Exception:\n            number = uuid.uuid4().hex[:8]\n",
            "        except Exception as error:\n            number = uuid.uuid4().hex[:8] + str(error)\n",
        ),
        (SAID,),
    ),
    (
        "Web: what breaks before a page is not shown",
        "adapters/web/pages/__init__.py",
        ("        raise error  # `Guard` says so", "        return Response(repr(error), 500)  # `Guard` says so"),
        (f"{BROWSERS}::test_what_breaks_before_a_page_is_not_shown",),
    ),
    (
        "Web: browsers write nothing into the log",
        "adapters/web/pages/__init__.py",
        ('    @core.sio.on("log")', '    @core.sio.on("nothing")'),
        (f"{BROWSERS}::test_a_browser_writes_nothing_into_the_log",),
    ),
    (
        "Web: of an answer that was taken back it is known",
        "adapters/web/channel/digest.py",
        ("await context.board.amend(confirm.id, taken_back)", "await context.board.drop([confirm])"),
        (
            "tests/adapters/test_card_replies.py::"
            "test_what_is_written_after_an_answer_was_taken_back_is_not_added_to_it",
        ),
    ),
)  # fmt: skip
