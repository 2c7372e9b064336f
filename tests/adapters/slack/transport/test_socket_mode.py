"""The connections to Slack: rotated, cut, frozen and refused while events come; nothing is lost and all is
acknowledged.

Source: reliability.md R1, R4 and R31.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse

from adapters.slack.transport.socket_mode import CONNECTIONS, Connections, DisabledError, ReconnectPace
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_client import Heard, client_of
from tests.fakes.slack_gate import HANG, Fault, error, page, ratelimited, status
from tests.fakes.slack_socket import Delivery, Reason, Timing
from tests.fakes.slack_world import TEAM

QUICK = ReconnectPace(
    ping=0.2, deaf=0.3, opening=2.0, crowded=60.0, closing=0.5, again=0.05, longest=0.2, steady=5.0, watch=0.1
)
CALM = replace(QUICK, ping=3.0, deaf=5.0)  # nothing ends by itself, also on a busy machine
SOON = Timing(ack=0.15, retries=(0.02,) * 40)
PATIENT = Timing(ack=1.5, retries=(0.02,) * 40)


def app_of(slack: FakeSlack, answer: BoltResponse | None = None, when: asyncio.Event | None = None) -> AsyncApp:
    """An app that asks Slack nothing, like the adapter's own. `answer` to everything; None: nothing listens."""

    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=None, team_id=TEAM, bot_user_id=slack.bot_user, bot_token=slack.bot_token)

    async def told(next: Callable[[], Any]) -> BoltResponse | None:
        if when is not None:
            await when.wait()
        return answer or await next()

    app = AsyncApp(name="test", client=client_of(slack), authorize=authorize, request_verification_enabled=False)
    app.use(told)
    return app


class Link:
    """Connections at work; `over` is how they ended."""

    def __init__(self, slack: FakeSlack, heard: Heard, connections: Connections, app: AsyncApp) -> None:
        self.slack, self.heard, self.connections = slack, heard, connections
        self.over = asyncio.create_task(connections.run(app))

    def event(self, number: int) -> Delivery:
        (sent,) = self.slack.event({"type": "of_the_future", "number": number})
        return sent

    @property
    def numbers(self) -> set[int]:
        return {event["number"] for event in self.heard.events}


@asynccontextmanager
async def linked(
    slack: FakeSlack, *, pace: ReconnectPace = CALM, app: AsyncApp | None = None, wait: bool = True
) -> AsyncIterator[Link]:
    heard = Heard(slack)
    opening = client_of(slack, slack.app_token)
    link = Link(slack, heard, Connections(opening, slack.app_token, pace=pace), app or heard.app)
    try:
        if wait:
            await slack.connected(CONNECTIONS)
            await slack.wait_for(lambda: link.connections.connected)
        yield link
    finally:
        link.over.cancel()
        with suppress(asyncio.CancelledError, DisabledError):
            await link.over


async def steadily(link: Link, work: Callable[[], Any]) -> list[Delivery]:
    """Events one after another, before, while and after `work` is done; returns when each was acknowledged."""
    sent = []
    for number in range(40):
        sent.append(link.event(number))
        if number == 10:
            await work()
        await asyncio.sleep(0.005)
    await link.slack.wait_for(lambda: all(each.acked for each in sent))
    return sent


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_a_rotation_of_both_connections_leaves_no_gap(reason: Reason) -> None:
    async with FakeSlack(timing=PATIENT) as slack, linked(slack) as link:
        for _ in range(2):
            old = slack.sockets.of(slack.app)

            async def rotates() -> None:
                await slack.sockets.disconnect(reason)
                # What is on its way while one hangs up comes again: how many that are is the machine's affair.
                await slack.wait_for(lambda: not [each for each in slack.sockets.of(slack.app) if each in old])  # noqa: B023

            sent = await steadily(link, rotates)
            await slack.connected(CONNECTIONS)
            again = [each for each in sent if each.attempts > 1]
            assert len(again) <= (0 if reason == "warning" else 2)  # Slack hangs up on an ack that is under way
        assert link.numbers == set(range(40))


async def test_after_some_hours_the_next_connection_does_not_wait() -> None:
    async with FakeSlack() as slack, linked(slack, pace=ReconnectPace(again=0.5, steady=0.1, watch=0.1)) as link:
        for _ in range(4):
            slack.sockets.cut()
            await slack.wait_for(lambda: not link.connections.connected)
            await slack.connected(CONNECTIONS, timeout=3.0)  # waits that double would be 0.5, 1, 2, 4 s
            await slack.wait_for(lambda: link.connections.connected)


async def test_what_is_being_worked_on_is_acknowledged_though_its_connection_is_told_to_go() -> None:
    go_on = asyncio.Event()
    async with FakeSlack() as slack, linked(slack, app=app_of(slack, BoltResponse(status=200), go_on)) as link:
        sent = link.event(1)
        await slack.wait_for(lambda: sent.attempts)
        await slack.sockets.disconnect("refresh_requested", close=False)
        await slack.connected(CONNECTIONS)
        go_on.set()
        await slack.wait_for(lambda: sent.acked)
        assert sent.attempts == 1


@pytest.mark.parametrize("how", ["cut", "frozen"])
async def test_connections_that_break_without_a_word_are_made_anew_and_nothing_is_lost(how: str) -> None:
    async with FakeSlack(timing=SOON) as slack, linked(slack, pace=QUICK) as link:

        async def breaks() -> None:
            slack.sockets.cut() if how == "cut" else slack.sockets.freeze()

        await steadily(link, breaks)
        assert link.numbers == set(range(40)) and link.connections.connected


async def test_it_says_when_nothing_can_arrive() -> None:
    async with FakeSlack() as slack, linked(slack, pace=QUICK) as link:
        slack.fail("apps.connections.open", status(503))
        slack.sockets.freeze()
        await slack.wait_for(lambda: not link.connections.connected)
        slack.heal()
        await slack.wait_for(lambda: link.connections.connected)


async def test_a_connection_without_a_hello_is_none_and_is_given_up() -> None:
    async with FakeSlack() as slack:
        slack.sockets.hello = False
        async with linked(slack, pace=QUICK, wait=False) as link:
            await slack.wait_for(lambda: slack.sockets.opened >= 2 * CONNECTIONS)
            assert not link.connections.connected and not link.connections.first.is_set()
            slack.sockets.hello = True
            await slack.wait_for(lambda: link.connections.connected)


@pytest.mark.parametrize(
    "fault", [ratelimited(1), status(503), page(502), page(200), error("internal_error"), HANG], ids=lambda f: f.kind
)
async def test_slack_may_give_no_address_for_a_while(fault: Fault) -> None:
    async with FakeSlack() as slack:
        slack.fail("apps.connections.open", fault, calls=[1, 2])
        pace = ReconnectPace(opening=1.0, again=0.05, longest=0.2)
        async with linked(slack, pace=pace, wait=False) as link:
            await slack.wait_for(lambda: link.connections.connected)
            await slack.connected(CONNECTIONS)
            asked = [each.at for each in slack.journal.calls("apps.connections.open")]
            assert len(asked) == 2 * CONNECTIONS
            assert fault.status != 429 or asked[-1] - asked[0] >= 1


@pytest.mark.parametrize("watch", [CALM.watch, 0.0])  # 0: it is looked at in every turn of the loop
async def test_one_connection_too_many_stays_away(watch: float) -> None:
    async with FakeSlack() as slack, linked(slack, pace=replace(CALM, watch=watch)) as link:
        await slack.sockets.disconnect("too_many_websockets")
        sent = await steadily(link, lambda: asyncio.sleep(0.3))
        assert len(slack.sockets.of(slack.app)) == 1 and slack.sockets.opened == CONNECTIONS + 1
        assert all(each.acked for each in sent) and link.connections.connected


@pytest.mark.parametrize("when", ["later", "from the start"])
async def test_an_app_that_was_switched_off_ends_it(when: str) -> None:
    async with FakeSlack() as slack:
        if when == "later":
            async with linked(slack) as link:
                await slack.sockets.disconnect("link_disabled")
                with pytest.raises(DisabledError, match=r"link_disabled|access_denied"):
                    await asyncio.wait_for(link.over, 30)
                assert not link.connections.connected
        else:
            slack.sockets.disabled = True
            async with linked(slack, wait=False) as link:
                with pytest.raises(DisabledError, match="access_denied"):
                    await asyncio.wait_for(link.over, 30)
                assert not link.connections.first.is_set()


async def test_an_app_that_was_switched_off_and_on_again_goes_on() -> None:
    """Slack says `link_disabled` when somebody switches Socket Mode off (docs.slack.dev, using Socket Mode); that it is
    on again, it says by giving an address."""
    async with FakeSlack() as slack, linked(slack) as link:

        async def off_and_on() -> None:
            await slack.sockets.disconnect("link_disabled")
            slack.sockets.disabled = False

        sent = await steadily(link, off_and_on)
        await slack.connected(CONNECTIONS)
        assert not link.over.done() and all(each.acked for each in sent)


async def test_an_app_that_gets_addresses_and_is_told_to_go_each_time_is_switched_off() -> None:
    async with FakeSlack() as slack, linked(slack) as link:

        async def tell() -> None:
            while True:
                await slack.connected(1)
                await slack.sockets.disconnect("link_disabled")
                slack.sockets.disabled = False

        telling = asyncio.create_task(tell())
        try:
            with pytest.raises(DisabledError, match="link_disabled"):
                await asyncio.wait_for(link.over, 30)
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)


MALFORMED: list[dict[str, Any]] = [
    {"type": "events_api"},
    {"payload": {"type": "event_callback"}},
    {"type": "events_api", "payload": None},
    {"type": "events_api", "payload": []},
    {"type": "events_api", "payload": 7},
    {"type": "events_api", "payload": "text"},
    {"type": "events_api", "payload": {}},
    {"type": "events_api", "payload": {"type": "event_callback"}},
    {"type": "events_api", "payload": {"type": "event_callback", "event": None}},
    {"type": "events_api", "payload": {"type": "event_callback", "event": [], "team_id": 5}},
    {"type": "interactive", "payload": {"type": "of_the_future", "actions": "none"}},
    {"type": "interactive", "payload": {"type": "block_actions", "actions": [], "user": None}},
    {"type": "slash_commands", "payload": {"command": "/nobodys"}},
    {"type": "of_the_future", "payload": {"type": "of_the_future"}},
    {"type": 5, "payload": {"type": 5}},
]


async def test_whatever_comes_is_acknowledged_once() -> None:
    async with FakeSlack() as slack, linked(slack, app=app_of(slack)) as link:
        for frame in ("no json", "[]", "{broken", "{}", '{"type": "hello"}', '{"type": ["disconnect"]}'):
            slack.sockets.send_raw(slack.app, frame)
        for number, envelope in enumerate(MALFORMED):
            slack.sockets.send_raw(slack.app, json.dumps({**envelope, "envelope_id": f"e{number}"}))
        await slack.wait_for(lambda: len(slack.journal.acks) >= len(MALFORMED))
        sent = link.event(1)
        await slack.wait_for(lambda: sent.acked)
        assert sorted(ack.envelope_id for ack in slack.journal.acks if ack.stray) == sorted(
            f"e{number}" for number in range(len(MALFORMED))
        )


async def test_what_could_not_be_stored_is_not_acknowledged_and_comes_again() -> None:
    async with FakeSlack(timing=PATIENT) as slack, linked(slack) as link:
        link.heard.refuse = 2
        sent = link.event(1)
        await slack.wait_for(lambda: sent.acked)
        assert sent.attempts == 3 and len(sent.acks) == 1 and link.heard.retries == ["2"]


async def test_a_burst_is_acknowledged_while_the_loop_works() -> None:
    over = asyncio.Event()
    async with FakeSlack() as slack, linked(slack, app=app_of(slack, BoltResponse(status=200))) as link:

        async def works() -> None:
            while not over.is_set():
                until = time.monotonic() + 0.005
                while time.monotonic() < until:
                    pass
                await asyncio.sleep(0.001)

        task = asyncio.create_task(works())
        sent = [link.event(number) for number in range(200)]
        await slack.wait_for(lambda: all(each.acked for each in sent), timeout=30)
        over.set()
        await task
        assert slack.journal.acked_within(2.5)
