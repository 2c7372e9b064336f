"""The safeguards of several processes on one database, and of Slack over HTTP, for `benchmarks/mutations.py`: what each is
called, its file, the text that is there once with what stands in its place, and the tests that notice."""

SIGNALS = "bot/store/signals.py"
SIGNALS_TEST = "tests/bot/store/test_signals.py"
HTTP = "adapters/slack/transport/http_events.py"
HTTP_TEST = "tests/adapters/slack/transport/test_http_events.py"
STRANGERS = f"{HTTP_TEST}::test_nobody_else_gets_in"
HOLDING = "bot/operations/holding.py"
HOLDING_TEST = "tests/bot/operations/test_holding.py"
RATES_TEST = "tests/bot/store/test_rates.py"

MUTATIONS: tuple[tuple[str, str, tuple[str, str], tuple[str, ...]], ...] = (
    (
        "Slack over HTTP: the signature counts",
        HTTP,
        ("        return hmac.compare_digest(", "        return True or hmac.compare_digest("),
        (STRANGERS,),
    ),
    (
        "Slack over HTTP: an old request is refused",
        HTTP,
        (" and abs(self._clock() - int(made)) <= AGE_SECONDS", ""),
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
        "Slack's limits are kept together",
        "adapters/slack/transport/rate_limits.py",
        ("            while self._shared and not ", "            while False and self._shared and not "),
        ("tests/adapters/slack/transport/test_rate_limits.py",),
    ),
)  # fmt: skip
