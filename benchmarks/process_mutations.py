"""The safeguards of several processes on one database, and of Slack over HTTP, for `benchmarks/mutations.py`: what each is
called, its file, the text that is there once with what stands in its place, and the tests that notice."""

SIGNALS = "bot/store/signals.py"
SIGNALS_TEST = "tests/bot/store/test_signals.py"
HTTP = "adapters/slack/transport/http_events.py"
HTTP_TEST = "tests/adapters/slack/transport/test_http_events.py"
STRANGERS = f"{HTTP_TEST}::test_nobody_else_gets_in"
HOLDING = "bot/operations/holding.py"
HOLDING_TEST = "tests/bot/operations/test_holding.py"
AT_ONCE = "tests/bot/store/test_at_once.py"
RATES_TEST = "tests/bot/store/test_rates.py"
POOLS = "tests/bot/store/test_link.py::test_connections_that_share_a_session_are_refused_in_words"
TESTS = "tests/bot/knowledge/test_processes.py"
SNAPSHOTS, SERVER, STORES = "bot/knowledge/snapshots.py", "retrieval/index/server.py", "bot/store/vector_stores.py"
MANY = f"{TESTS}::test_documents_of_many_processes_at_once_are_all_there"
DEAD = f"{TESTS}::test_what_a_dead_process_has_staged_goes"
LOST_LOCK = f"{TESTS}::test_whoever_has_lost_the_lock_commits_nothing_and_starts_again"
LOST_ALL = f"{TESTS}::test_an_index_that_has_lost_all_does_not_say_that_nothing_is_known"
TWICE = f"{TESTS}::test_the_same_document_added_twice_at_once_is_there_once"


MUTATIONS: tuple[tuple[str, str, tuple[str, str], tuple[str, ...]], ...] = (
    (
        "what is being added to an embedded index beside a server's database stays",
        "bot/knowledge/upkeep.py",
        ("if not self.embedded and (", "if ("),
        (f"{TESTS}::test_what_a_process_stages_in_an_index_of_its_own_is_its_own",),
    ),
    (
        "Slack over HTTP: the signature counts",
        HTTP,
        ("        return hmac.compare_digest(", "        return True or hmac.compare_digest("),
        (STRANGERS,),
    ),
    (
        "Slack over HTTP: an old request is refused",
        HTTP,
        (" and abs(time.time() - int(made)) <= AGE_SECONDS", ""),
        (STRANGERS,),
    ),
    (
        "Slack over HTTP: a time that is none is refused, and breaks nothing",
        HTTP,
        ("made.isascii() and made.isdigit() and len(made) < 16 and ", ""),
        (STRANGERS,),
    ),
    (
        "Slack over HTTP: no header that nobody signed chooses a listener",
        HTTP,
        ("for name in _PASSED_ON if name in headers", "for name in headers"),
        (f"{HTTP_TEST}::test_headers_that_nobody_signed_choose_no_listener",),
    ),
    (
        "Slack over HTTP: while nobody is at work Slack comes again",
        HTTP,
        ("            return WebhookReply(NOT_STORED)", "            return WebhookReply(200)"),
        (f"{HTTP_TEST}::test_while_nobody_is_at_work_slack_is_asked_to_come_again",),
    ),
    (
        "only the paths of webhooks pass the guard",
        "adapters/web/server/guard.py",
        ('scope["path"] not in self._signed:', 'not scope["path"].startswith("/slack"):'),
        (STRANGERS,),
    ),
    (
        "connections that share the sessions of a server are refused",
        "bot/database.py",
        ("        await require_sessions(engine)\n", ""),
        (POOLS,),
    ),
    (
        "two connections in one session are noticed",
        "bot/store/inspection.py",
        ("    if len(sessions[0] | sessions[1]) != 2 or sessions[0] & sessions[1]:", "    if not sessions[0]:"),
        (POOLS,),
    ),
    (
        "what is taken back was never said",
        SIGNALS,
        (
            'db.execute(select(func.pg_notify(_WIRE, f"{self._process} {channel} {payload}")))',
            'db.execute(select(func.pg_notify(_WIRE, f"{self._process} {channel} {payload}"))); db.commit()',
        ),
        (f"{SIGNALS_TEST}::test_what_is_committed_is_heard_by_the_others_and_what_is_not_by_nobody",),
    ),
    (
        "who may have missed something is told",
        SIGNALS,
        ("            self._pass_on(None, None)\n", ""),
        (SIGNALS_TEST,),
    ),
    (
        "a connection on which nothing comes back is left",
        SIGNALS,
        ("                        await self._came_back.wait()\n", ""),
        (f"{SIGNALS_TEST}::test_who_hears_nothing_is_told_to_look_again_and_again",),
    ),
    (
        "a page hears of what another process changes",
        "bot/store/web_messages.py",
        ("        self._signals.say(db, _CHANNEL, _news(message))\n", ""),
        ("tests/adapters/web/channel/test_messages.py::test_pages_of_another_process_hear_of_every_change",),
    ),
    (
        "of several processes one holds",
        "bot/store/exclusive.py",
        ("free = or_(leases.c.owner == owner, leases.c.until <= at)", "free = leases.c.name == name"),
        (f"{HOLDING_TEST}::test_one_holds_and_when_it_dies_another_takes_over",),
    ),
    (
        "leases go by the database's clock",
        "bot/store/exclusive.py",
        ("at, end = lease(db, now, until)", "at, end = now, until"),
        (f"{HOLDING_TEST}::test_one_holds_and_when_it_dies_another_takes_over",),
    ),
    (
        "who cannot renew a lease stops",
        HOLDING,
        ("        end = loop.call_later(SURE_SECONDS, lost.set)\n        try:", "        end = loop.call_later(9e9, lost.set)\n        try:"),
        (f"{HOLDING_TEST}::test_who_cannot_renew_it_stops_before_another_can_begin",),
    ),
    (
        "one process is connected to Discord",
        HOLDING,
        ("        if not self.shared:\n", "        if True:\n"),
        ("tests/adapters/discord/test_shared.py",),
    ),
    (
        "a limit is taken by one process at a time",
        "bot/store/rates.py",
        (".with_for_update()", ""),
        (f"{RATES_TEST}::test_all_processes_together_take_no_more_than_there_is",),
    ),
    (
        "a limit whose clock ran ahead keeps nobody waiting for hours",
        "bot/store/rates.py",
        ("return min(max(full_at, now), now + longest)", "return max(full_at, now)"),
        (f"{RATES_TEST}::test_a_clock_that_ran_ahead_keeps_nobody_waiting_for_hours",),
    ),
    (
        "an index that has lost all does not say that nothing is known",
        "bot/knowledge/documents.py",
        ("                if not found.metrics.total_results:\n", "                if False:\n"),
        (LOST_ALL,),
    ),
    (
        "nothing is added to an index that has lost all",
        "bot/knowledge/documents.py",
        ("            await self._require_passages()\n            await self._gen", "            await self._gen"),
        (LOST_ALL,),
    ),
    (
        "Slack's limits are kept together",
        "adapters/slack/transport/rate_limits.py",
        ("            while self._shared and not ", "            while False and self._shared and not "),
        ("tests/adapters/slack/transport/test_rate_limits.py",),
    ),
    (
        "Processes: what the dead left in a thread never waits for each other",
        "bot/store/turns.py",
        (
            'row.state == "running" or _order(row) < _order(mine)',
            'row.sequence < mine.sequence or row.state in ("running", "answered")',
        ),
        ("tests/bot/turns/test_queue.py::test_two_that_the_dead_left_in_a_thread_do_not_wait_for_each_other",),
    ),
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
        "Processes: what another or a lost commit left is taken back",
        SNAPSHOTS,
        ("bool(await self._index.after(self.current))", "False"),
        (
            f"{TESTS}::test_what_a_database_that_went_back_has_lost_is_not_shown_by_who_never_saw_it",
            f"{TESTS}::test_what_a_dead_process_published_and_did_not_commit_is_never_seen",
            f"{TESTS}::test_a_database_that_went_back_is_followed",
        ),
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
        ("            await self.index.unstage(living)\n", "            pass\n"),
        (DEAD,),
    ),
    (
        "Processes: a merge is written down before it is carried out",
        "bot/store/collections.py",
        ("            db.execute(moves.insert().values(source=source, into=into))\n", ""),
        (f"{TESTS}::test_a_merge_that_a_dead_process_began_is_finished",),
    ),
    (
        "Processes: points that another search may see stay",
        "bot/knowledge/upkeep.py",
        ("while self._seen[0][0] <= now - UNSEEN:", "while self._seen[0][0] < now:"),
        (f"{TESTS}::test_points_that_died_are_deleted_once_no_search_can_look_at_them",),
    ),
    (
        "Processes: a commit whose answer is lost is not undone",
        "bot/knowledge/collections.py",
        ("        if isinstance(why, StoreError):\n", "        if False:\n"),
        (
            f"{TESTS}::test_a_commit_whose_answer_is_lost_has_taken_effect",
            f"{TESTS}::test_whoever_cannot_ask_the_database_undoes_nothing_of_others",
        ),
    ),
    (
        "Processes: what a commit whose answer is lost has stored is said to be stored",
        "bot/knowledge/documents.py",
        (" and await self._documents.get(row.id) == row):", " and False):"),
        (f"{TESTS}::test_a_commit_whose_answer_is_lost_has_taken_effect",),
    ),
    (
        "Processes: a commit that is still under way is waited for",
        STORES,
        ("            db.execute(select(indexes.c.generation).with_for_update())\n", ""),
        (f"{TESTS}::test_a_commit_that_is_still_under_way_is_waited_for",),
    ),
    (
        "Processes: whoever has lost the lock swaps in no index that lacks a document",
        STORES,
        ("default=row.generation)) > row.generation:", "default=row.generation)) < 0:"),
        ("tests/bot/knowledge/test_reindex.py::test_what_is_committed_once_the_lock_is_lost_is_caught_up",),
    ),
    (
        "Processes: the fewest connections are enough for all locks and their work",
        "bot/store/link.py",
        ("LEAST = 8", "LEAST = 6"),
        (f"{TESTS}::test_whoever_holds_every_lock_of_a_process_can_still_work",),
    ),
    (
        "Processes: a question about a reply is as old as the server's clock says",
        "bot/store/outbox.py",
        ('"at": present(db, self._clock())}', '"at": self._clock()}'),
        ("tests/bot/store/test_outbox.py::test_a_question_of_a_machine_whose_clock_is_wrong_is_gone_on_with",),
    ),
    (
        "Processes: a limit is forgotten by the server's clock",
        "bot/store/rates.py",
        ("rates.c.full_at < new - _FORGOTTEN", "rates.c.full_at < self._clock() - _FORGOTTEN"),
        ("tests/bot/store/test_rates.py::test_a_machine_whose_clock_is_wrong_forgets_nothing_that_counts",),
    ),
    (
        "Processes: a question on the pages that another did not live to claim is answered",
        "adapters/web/channel/turns.py",
        ("self._looked_up is None or (self._context.board.shared and", "self._looked_up is None or (False and"),
        (
            "tests/adapters/web/channel/test_adapter.py"
            "::test_what_another_process_wrote_down_and_did_not_live_to_claim_is_answered",
        ),
    ),
    (
        "a reply that is saved is not declined",
        "bot/unanswered/card_replies.py",
        ("    if is_settled(now):\n        return None\n    before", "    before"),
        (
            "tests/bot/unanswered/test_card_replies.py"
            "::test_what_is_saved_is_not_declined_and_what_is_being_saved_stays_saved",
            "tests/adapters/test_card_replies.py"
            "::test_no_that_comes_after_the_answer_was_saved_declines_nothing",
        ),
    ),
    (
        "a reply that was declined is not saved",
        "adapters/shared/expert_answers.py",
        (" or card_replies.is_settled(confirm.data):", ":"),
        (
            "tests/adapters/test_card_replies.py"
            "::test_what_was_declined_is_not_saved_by_a_press_that_comes_later",
        ),
    ),
    (
        "of two processes that show what became of a reply the later word stands",
        "bot/unanswered/card_replies.py",
        ("    while (now := await _kept(outbox, confirm)) is not None:", "    for now in [await _kept(outbox, confirm)]:"),
        (
            "tests/bot/unanswered/test_card_replies.py"
            "::test_of_two_processes_that_show_it_the_later_word_stands",
        ),
    ),
    (
        "a reply to a card that comes while others are saved is asked about",
        "bot/unanswered/card_replies.py",
        ('    if not more or "discarded" in now:\n', "    if True:\n"),
        (
            "tests/adapters/test_card_replies.py"
            "::test_what_is_written_while_the_answer_is_being_saved_can_be_added_to_it",
        ),
    ),
    (
        "a reply to a card that comes a moment after others were saved is asked about",
        "bot/unanswered/card_replies.py",
        ("    while not new and now is None:", "    for _ in range(1):"),
        (
            "tests/bot/unanswered/test_card_replies.py"
            "::test_a_reply_that_comes_a_moment_after_the_answer_was_saved_is_asked_about_anew",
        ),
    ),
    (
        "Processes: what was cut before its commit is done once more",
        "bot/store/engine.py",
        ("        except _UndoneError:\n", "        except ZeroDivisionError:\n"),
        ("tests/bot/store/test_link.py::test_what_was_cut_before_its_commit_is_done_once_more",),
    ),
    (
        "Processes: what waits for another that waits for it is done once more",
        "bot/store/engine.py",
        (" or _sqlstate(error) == _DEADLOCK", ""),
        (f"{AT_ONCE}::test_what_waits_for_another_that_waits_for_it_is_done_once_more",),
    ),
    (
        "Processes: a database that isolates more than the statements want does not",
        "bot/store/link.py",
        (" **_ISOLATION,", ""),
        (f"{AT_ONCE}::test_a_database_that_isolates_more_is_asked_for_what_the_statements_need",),
    ),
    (
        "Processes: who changes what came of turns holds them first",
        "bot/store/withdrawal.py",
        (".order_by(turns.c.sequence).with_for_update()).all()", ".order_by(turns.c.sequence)).all()"),
        (AT_ONCE,),
    ),
    (
        "Processes: who is forgotten takes nothing back that was written meanwhile",
        "bot/store/erasure.py",
        (".where(which).with_for_update()).all():", ".where(which)).all():"),
        (f"{AT_ONCE}::test_a_person_who_is_forgotten_takes_nothing_back_that_was_said_meanwhile",),
    ),
    (
        "Processes: a file that could not be stored for a moment is not refused",
        "bot/knowledge/ingestion.py",
        ("            if not last:\n", "            if False:\n"),
        ("tests/bot/knowledge/test_ingestion.py::test_a_file_that_could_not_be_stored_for_a_moment_is_not_refused",),
    ),
    (
        "Processes: what was cut in its commit is not done once more",
        "bot/store/engine.py",
        ("            result = work(db)\n", "            result = work(db)\n            db.commit()\n"),
        ("tests/bot/store/test_link.py::test_what_was_cut_in_its_commit_is_not_done_once_more",),
    ),
    (
        "Processes: an answer that its platform did not take for minutes is given later",
        "bot/store/withdrawal.py",
        ("(ended if due else ended.where(posted(turn)))", "ended.where(posted(turn))"),
        ("tests/bot/turns/test_turns_trouble.py::test_an_answer_that_its_platform_takes_again_is_shown",),
    ),
    (
        "Processes: an answer that its platform never takes is given up",
        "bot/store/turns.py",
        ("if stands or waited < PATIENCE:", "if True:"),
        (
            "tests/bot/turns/test_turns_trouble.py::"
            "test_an_answer_that_its_platform_does_not_take_is_given_later_and_at_last_given_up",
        ),
    ),
    (
        "Processes: an answer that was committed unheard is no failure",
        "bot/store/turns.py",
        ("            if not await self._is_kept(ended):\n", "            if True:\n"),
        (
            "tests/bot/turns/test_turns_trouble.py"
            "::test_an_answer_whose_commit_is_not_heard_of_is_given_and_no_apology",
        ),
    ),
    (
        "Processes: a server that falls silent holds up nobody for ever",
        "bot/store/link.py",
        ("self.statement_seconds + SILENT_SECONDS", "self.statement_seconds + 20"),
        ("tests/bot/store/test_link.py::test_a_server_that_falls_silent_holds_up_nobody_for_ever",),
    ),
    (
        "Processes: what is done at leisure has no end",
        "bot/store/engine.py",
        ("connection.execute(statement, timeout=_AT_LEISURE)", "connection.execute(statement)"),
        ("tests/bot/store/test_link.py::test_what_is_done_at_leisure_has_no_end",),
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
        "Processes: a database that has gone back is followed",
        SNAPSHOTS,
        ("            if row.generation < known:\n", "            if False:\n"),
        (f"{TESTS}::test_a_database_that_went_back_is_followed",),
    ),
    (
        "Processes: of a database that has gone back nothing is swept too soon",
        "bot/knowledge/upkeep.py",
        ("            self._seen.clear()", "            pass"),
        (f"{TESTS}::test_a_database_that_went_back_is_followed",),
    ),
    (
        "Processes: whoever adds to a swapped index is told so",
        "bot/knowledge/documents.py",
        ("generation = await self._generations.now()", "generation = self._generations.current"),
        (f"{TESTS}::test_an_index_that_was_swapped_is_not_searched_any_more",),
    ),
    (
        "Processes: with an index each they do not share a database",
        "bot/knowledge/upkeep.py",
        ("if other.id != process and (other.embedded or embedded):", "if False:"),
        (f"{TESTS}::test_processes_with_an_index_each_do_not_share_a_database",),
    ),
    (
        "Processes: who had the home before, and was killed, keeps nobody out",
        "bot/knowledge/upkeep.py",
        ("        await processes.leave(before)\n", "        pass\n"),
        (f"{TESTS}::test_who_had_the_home_before_keeps_nobody_out",),
    ),
    (
        "Processes: who only looks upgrades no database under others",
        "bot/database.py",
        ("        if looks:\n", "        if False:\n"),
        (
            "tests/bot/test_migrations.py"
            "::test_who_only_looks_upgrades_no_database_that_older_processes_have_open",
        ),
    ),
)  # fmt: skip
