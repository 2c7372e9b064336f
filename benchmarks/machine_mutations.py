"""The safeguards of processes that share a database and an index, for `benchmarks/mutations.py`: the name of each, its
file, the text that is there once with what stands in its place, and the tests that notice. Source: machines.md §2."""

TESTS = "tests/bot/knowledge/test_processes.py"
SNAPSHOTS, SERVER, STORES = "bot/knowledge/snapshots.py", "retrieval/index/server.py", "bot/store/vector_stores.py"
MANY = f"{TESTS}::test_documents_of_many_processes_at_once_are_all_there"
DEAD = f"{TESTS}::test_what_a_dead_process_has_staged_goes"
LOST_LOCK = f"{TESTS}::test_whoever_has_lost_the_lock_commits_nothing_and_starts_again"
TWICE = f"{TESTS}::test_the_same_document_added_twice_at_once_is_there_once"

MUTATIONS: tuple[tuple[str, str, tuple[str, str], tuple[str, ...]], ...] = (
    (
        "Processes: a search asks which generation it is",
        SNAPSHOTS,
        ("            self.current = max(self.current, row.generation)\n", ""),
        (f"{TESTS}::test_a_search_sees_what_another_process_has_just_changed",),
    ),
    (
        "Processes: one commits at a time",
        STORES,
        ("        async with locked(self._engine, _COMMIT):\n", "        if True:\n"),
        (MANY,),
    ),
    (
        "Processes: what another left is taken back",
        SNAPSHOTS,
        ("            self._unsure |= of_another\n", ""),
        (f"{TESTS}::test_what_a_dead_process_published_and_did_not_commit_is_never_seen",),
    ),
    (
        "Processes: who has lost the lock commits nothing",
        STORES,
        (", indexes.c.generation < generation, mine)", ")"),
        (LOST_LOCK,),
    ),
    (
        "Processes: what is shown is one's own",
        SERVER,
        (
            '        mine = equals("document_id", document_id), equals(PROCESS, self._process)\n',
            '        mine = (equals("document_id", document_id),)\n',
        ),
        (f"{TESTS}::test_two_that_stage_one_document_show_one_version",),
    ),
    (
        "Processes: nothing is shown of which a part is lost",
        "bot/knowledge/documents.py",
        (
            "if await self._index.publish(row.id, at=born) != staged:",
            "if not await self._index.publish(row.id, at=born) and False:",
        ),
        (f"{TESTS}::test_what_was_staged_and_lost_is_not_shown_in_part",),
    ),
    (
        "Processes: the place of a document is taken once",
        "bot/knowledge/documents.py",
        ("        return there is None or there.id == row.id\n", "        return True\n"),
        (TWICE,),
    ),
    (
        "Processes: the living keep what they stage",
        SERVER,
        ("must_not=[theirs] if living else None", "must_not=None"),
        (f"{TESTS}::test_a_start_leaves_alone_what_another_process_is_adding",),
    ),
    (
        "Processes: the dead keep nothing",
        "bot/knowledge/upkeep.py",
        ("            await self._index.unstage(living)\n", "            pass\n"),
        (DEAD,),
    ),
    (
        "Processes: a merge is written down before it is carried out",
        "bot/store/collections.py",
        ("            await db.execute(moves.insert().values(source=source, into=into))\n", ""),
        (f"{TESTS}::test_a_merge_that_a_dead_process_began_is_finished",),
    ),
    (
        "Processes: points that another search may see stay",
        "bot/knowledge/upkeep.py",
        ("while self._seen[0][0] <= now - UNSEEN:", "while self._seen[0][0] < now:"),
        (f"{TESTS}::test_points_that_died_are_deleted_once_no_search_can_look_at_them",),
    ),
    (
        "Processes: a swapped index is not searched",
        SNAPSHOTS,
        (
            "if row is None or (row.embedder, row.tokenizer) != (self._row.embedder, self._row.tokenizer):",
            "if row is None:",
        ),
        (f"{TESTS}::test_an_index_that_was_swapped_is_not_searched_any_more",),
    ),
    (
        "Processes: with an index each they do not share a database",
        "bot/knowledge/upkeep.py",
        ("if other.id != process and (other.embedded or embedded) and not died_here(other.id):", "if False:"),
        (f"{TESTS}::test_processes_with_an_index_each_do_not_share_a_database",),
    ),
)
