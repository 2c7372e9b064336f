"""The safeguards of a database on a server that several machines share, for `benchmarks/mutations.py`: the name of
each, its file, the text that is there once with what stands in its place, and the tests that notice, which need a
PostgreSQL server and its driver. Source: machines.md §2."""

TEXTS, CONTENTS = "tests/bot/store/test_contents.py", "bot/store/contents.py"
MACHINES, PROCESSES = "tests/bot/knowledge/test_on_a_server.py", "tests/bot/knowledge/test_processes.py"
OLDER_COPY = "tests/bot/knowledge/test_reindex.py::test_a_store_from_an_older_copy_is_put_right"
MOVED, TRANSFER = "tests/bot/operations/test_server_backup.py", "bot/store/transfer.py"
FORGOTTEN, RETENTION = "tests/bot/operations/test_retention.py", "bot/operations/retention.py"
LINKED, ENGINE = "tests/bot/store/test_link.py", "bot/store/engine.py"
DATASETS, JOBS = "tests/bot/knowledge/test_datasets_on_a_server.py", "bot/store/dataset_jobs.py"
TABLES = f"{MOVED}::test_a_home_moves_to_a_server_and_back_with_every_table"
NUMBERS = f"{MOVED}::test_numbers_that_were_given_are_not_given_again"
WITH_ITS_ROW = f"{TEXTS}::test_a_text_comes_with_its_row_and_goes_when_no_row_needs_it"
BROUGHT_OVER = f"{MACHINES}::test_texts_of_a_version_before_are_brought_over_once_and_any_machine_can_use_them"
EACH_MACHINE = f"{FORGOTTEN}::test_a_person_goes_from_the_chat_log_of_each_machine_once"

WAY, SEVERAL = "bot/store/link.py", f"{LINKED}::test_of_several_servers_the_one_that_can_be_written_to_is_used"

MUTATIONS: tuple[tuple[str, str, tuple[str, str], tuple[str, ...]], ...] = (
    (
        "Server: a process that stands still does not hold up the others",
        WAY,
        ('f"{self.idle_seconds}s"', '"0"'),
        (f"{LINKED}::test_a_process_that_stands_still_in_a_transaction_does_not_hold_up_the_others",),
    ),
    (
        "Server: a backup may take its time",
        ENGINE,
        ("                await unhurried(db)\n", ""),
        (f"{LINKED}::test_a_backup_may_take_its_time",),
    ),
    (
        "Server: a restore may take its time",
        TRANSFER,
        ("            await unhurried(db)\n", ""),
        (f"{MOVED}::test_a_restore_may_take_its_time_over_a_text",),
    ),
    (
        "Server: one that is gone is not waited for",
        WAY,
        ("                _watch(made)\n", ""),
        (f"{LINKED}::test_that_a_server_is_gone_is_noticed_in_half_a_minute",),
    ),
    (
        "Server: a machine that is gone is noticed",
        WAY,
        ('{"application_name": "kotae", **_NO_END, **_ISOLATION, **_ALIVE}', '{"application_name": "kotae"}'),
        (f"{LINKED}::test_a_server_notices_in_half_a_minute_that_a_machine_is_gone",),
    ),
    (
        "Server: things are too old by its clock",
        "bot/store/retention_clock.py",
        ("    at = present(db, now)\n", "    at = now\n"),
        (f"{FORGOTTEN}::test_a_wrong_clock_of_a_machine_is_not_asked_where_the_server_has_one",),
    ),
    (
        "Server: a replica that lags is not believed when points are counted",
        "retrieval/index/server.py",
        (", exact=True, consistency=self._consistency)", ", exact=True)"),
        ("tests/retrieval/index/test_server.py::test_a_replica_that_lags_hides_nothing_and_brings_nothing_back",),
    ),
    (
        "Server: a replica that lags is not believed when points are read",
        "retrieval/index/server.py",
        (
            "                with_vectors=vectors,\n                consistency=self._consistency,\n",
            "                with_vectors=vectors,\n",
        ),
        ("tests/retrieval/index/test_server.py::test_a_replica_that_lags_hides_nothing_and_brings_nothing_back",),
    ),
    (
        "Server: what an outage left staged goes before the next attempt",
        "bot/knowledge/documents.py",
        ("            await self._generations.clear(document_id)\n", ""),
        (f"{PROCESSES}::test_what_an_outage_left_staged_does_not_take_the_next_attempt_with_it",),
    ),
    (
        "Server: an index from an older copy shows what the database knows",
        "bot/knowledge/documents.py",
        (
            "theirs = await self.readable((*found.hits, *found.rejected), readers)",
            "theirs = {hit.passage.document_id for hit in (*found.hits, *found.rejected)}",
        ),
        (f"{PROCESSES}::test_an_index_from_an_older_copy_shows_nothing_that_was_forgotten_since",),
    ),
    (
        "Server: an index with documents that the database does not know is not whole",
        "bot/knowledge/reindex.py",
        ("if await index.strangers(generation, {row.id for row in rows}):", "if False:"),
        (OLDER_COPY,),
    ),
    (
        "Server: an index without the last version is not whole",
        "bot/knowledge/reindex.py",
        ("if newest and not await index.after(newest - 1):", "if False:"),
        (OLDER_COPY,),
    ),
    (
        "Server: a version of an older copy is written anew, though it says the same",
        "bot/knowledge/reindex.py",
        (
            "return not earlier and wanted == await stored(copy.target, row)",
            "return wanted == await stored(copy.target, row)",
        ),
        (OLDER_COPY,),
    ),
    (
        "Server: documents that the database does not know leave the index when it is put right",
        "bot/knowledge/reindex.py",
        ("await copy.target.drop_strangers(generation, chunks)", "pass"),
        (OLDER_COPY,),
    ),
    (
        "Server: what Qdrant was sent is not quoted",
        "retrieval/index/server_calls.py",
        (' or "error in" in said:', ":"),
        ("tests/retrieval/index/test_server.py::test_what_does_not_pass_is_said_at_once",),
    ),
    (
        "Server: of several the next one is tried",
        WAY,
        ("                why = error\n", "                raise\n"),
        (SEVERAL,),
    ),
    (
        "Server: of several the one that answered last is tried first",
        WAY,
        ("                self._last = server\n", ""),
        (SEVERAL,),
    ),
    (
        "Server: of several one that can be written to is wanted",
        "bot/config/types.py",
        ("given if wanted else [*given, 'target_session_attrs=read-write']", "given"),
        (SEVERAL,),
    ),
    (
        "Server: a text is not dropped that another machine brings along",
        CONTENTS,
        (".where(contents.c.address == address).with_for_update())", ".where(contents.c.address == address))"),
        (f"{TEXTS}::test_a_text_that_another_machine_is_about_to_need_stays",),
    ),
    (
        "Server: a text that is brought along is held, also where it is there",
        CONTENTS,
        (
            'added.on_conflict_do_update(index_elements=["address"], set_={"data": added.excluded.data})',
            'added.on_conflict_do_nothing(index_elements=["address"])',
        ),
        (f"{TEXTS}::test_a_text_that_another_machine_is_about_to_need_stays",),
    ),
    (
        "Server: a text stays as long as an answer is to be held against it",
        CONTENTS,
        (
            "exists().where(changed_documents.c.before == contents.c.address)",
            "exists().where(documents.c.id.is_(None))",
        ),
        (WITH_ITS_ROW,),
    ),
    (
        "Server: a text comes with the row that names it",
        "bot/store/documents.py",
        ("keep(db, row.markdown, markdown)", "pass"),
        (WITH_ITS_ROW, BROUGHT_OVER),
    ),
    (
        "Server: a text that was changed is not taken for the document",
        CONTENTS,
        ("if not found or hashlib.sha256(found[0].data).hexdigest() != address:", "if not found:"),
        (f"{TEXTS}::test_a_text_that_was_changed_is_lost_until_it_is_added_again",),
    ),
    (
        "Server: texts of a version before are brought over",
        "bot/knowledge/vector_store.py",
        ("await bring_over(data.engine, texts, await data.documents.kept())", "pass"),
        (BROUGHT_OVER,),
    ),
    (
        "Server: no process renews an index that others may renew at the same time",
        "bot/knowledge/vector_store.py",
        ("if renew is None or indexes.shared:", "if renew is None:"),
        (f"{MACHINES}::test_an_index_of_another_version_is_left_to_whoever_stops_the_others",),
    ),
    (
        "Server: a backup is of one moment",
        ENGINE,
        ('isolation_level="REPEATABLE READ"', 'isolation_level="READ COMMITTED"'),
        (f"{MOVED}::test_a_backup_of_a_server_is_of_one_moment",),
    ),
    (
        "Server: no backup is restored beside what is there",
        TRANSFER,
        ("            if await db.run_sync(_filled):\n                raise FilledError\n", ""),
        (f"{MOVED}::test_a_server_that_is_used_is_left_alone",),
    ),
    (
        "Server: a restore that is refused upgrades nobody's database",
        "bot/operations/restore.py",
        (
            "        return await filled(server)\n",
            "        await _upgrade_server(settings)\n        return await filled(server)\n",
        ),
        (f"{MOVED}::test_a_refused_restore_leaves_the_version_of_a_database_that_is_used",),
    ),
    (
        "Server: a restore is brought to its end by its own backup only",
        "bot/operations/restore.py",
        ("if await Homes(server).known() != home:", "if False:"),
        (f"{MOVED}::test_a_restore_cut_off_behind_its_commit_is_brought_to_its_end",),
    ),
    (
        "Server: NULL stays NULL on the way",
        TRANSFER,
        ("JSON(none_as_null=True)", "JSON()"),
        (TABLES,),
    ),
    (
        "Server: a number that was given is not given again on a server",
        TRANSFER,
        ("await db.run_sync(_number_on_server, table, await source.run_sync(_last_in_file, table))", "pass"),
        (NUMBERS,),
    ),
    (
        "Server: a number that was given is not given again in a file",
        TRANSFER,
        ("        await change(file, partial(_number_in_file, table=table, last=last))\n", "        pass\n"),
        (NUMBERS,),
    ),
    (
        "Server: a person goes from the logs of other machines",
        RETENTION,
        ("await ErasedPeople(engine).add(who.platform, who.id, erased.turns)", "pass"),
        (EACH_MACHINE,),
    ),
    (
        "Server: a person who is back is not taken out again",
        RETENTION,
        ("await asyncio.to_thread(_note_applied, note, one.id)", "pass"),
        (EACH_MACHINE,),
    ),
    (
        "Server: whom it erased is not kept longer than the logs",
        RETENTION,
        ("await ErasedPeople(engine).expire(before)", "pass"),
        (EACH_MACHINE,),
    ),
    (
        "Server: files that wait go with their person",
        "bot/store/erasure.py",
        ("    db.execute(delete(held_files).where(held_files.c.key.in_(held)))\n", ""),
        (f"{FORGOTTEN}::test_files_that_wait_go_with_the_person_who_gave_them",),
    ),
    (
        "Server: its certificate is looked at",
        "bot/store/link.py",
        ("ssl.create_default_context(cafile=self.ca)", '"require"'),
        (f"{LINKED}::test_it_is_encrypted_as_the_settings_want_it",),
    ),
    (
        "Server: a statement has an end",
        "bot/store/link.py",
        ('f"{self.statement_seconds}s"', '"0"'),
        (f"{LINKED}::test_a_statement_has_an_end_but_cleaning_up_takes_as_long_as_it_takes",),
    ),
    (
        "Server: one that does not answer is given up",
        "bot/store/link.py",
        ('"timeout": self.connect_seconds', '"timeout": 20'),
        (f"{LINKED}::test_a_server_that_does_not_answer_is_given_up",),
    ),
    (
        "Server: a dataset is not taken from a process that lives",
        "bot/store/leases.py",
        ("return or_(table.c.owner.is_(None), table.c.lease_until <= at, *mine)", "return table.c.id.is_not(None)"),
        (f"{DATASETS}::test_what_a_process_that_is_gone_had_begun_another_goes_on_with",),
    ),
    (
        "Server: a dataset that was stopped elsewhere is stopped",
        JOBS,
        (
            "return and_(dataset_jobs.c.id == id, dataset_jobs.c.owner == owner, _RUNNING)",
            "return dataset_jobs.c.id == id",
        ),
        (f"{DATASETS}::test_a_job_is_seen_refused_and_stopped_from_the_other",),
    ),
    (
        "Server: a dataset's file is where any process finds it",
        "bot/knowledge/dataset_uploads.py",
        ("await self._shared.get(path.name) if self._shared is not None else None", "None"),
        (f"{DATASETS}::test_what_a_process_that_is_gone_had_begun_another_goes_on_with",),
    ),
)
