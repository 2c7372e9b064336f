"""The client against Slack's fake: what is repeated and how often, what is refused, and what is never said."""

import logging
import socket
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from adapters.slack.transport.api import SlackApi
from adapters.slack.transport.errors import (
    CredentialsError,
    GoneError,
    RefusedError,
    SlackError,
    StreamOver,
    UnknownOutcome,
    UnreachableError,
    UnsupportedError,
)
from tests.adapters.slack.clocks import IMPATIENT, Time, connected
from tests.adapters.slack.scenes import HOME, MARK, MODAL, Scene, gone_quiet, named, said, scene
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import (
    CUT_AFTER,
    CUT_BEFORE,
    HANG,
    HANG_AFTER,
    SCOPES,
    Fault,
    error,
    page,
    ratelimited,
    status,
)

Do = Callable[[SlackApi, Scene], Awaitable[object]]


@pytest.fixture
async def fake() -> AsyncIterator[FakeSlack]:
    async with FakeSlack(scale=0) as fake:
        yield fake


@pytest.fixture
def time(fake: FakeSlack) -> Time:
    return Time(fake)


@pytest.fixture
async def slack(fake: FakeSlack, time: Time) -> AsyncIterator[SlackApi]:
    async with connected(fake, time) as slack:
        yield slack


SAFE: dict[str, Do] = {
    "chat.update": lambda slack, at: slack.update("C1", at.message, text="Found."),
    "chat.delete": lambda slack, at: slack.delete("C1", at.message),
    "conversations.replies": lambda slack, at: slack.replies("C1", at.root, limit=50),
    "chat.stopStream": lambda slack, at: slack.stop_stream("C1", at.stream, chunks=[said("Done.")]),
    "views.publish": lambda slack, at: slack.publish_home("U1", HOME),
    "users.info": lambda slack, at: slack.user("U1"),
    "users.list": lambda slack, at: slack.users(),
    "conversations.info": lambda slack, at: slack.channel("C1"),
    "conversations.members": lambda slack, at: slack.members("C1"),
    "reactions.add": lambda slack, at: slack.call("reactions.add", channel="C1", timestamp=at.root, name="eyes"),
    "auth.test": lambda slack, at: slack.identify(),
}
SAFE_TWICE: dict[str, Do] = {  # worth less, or nothing, when it comes late
    "assistant.threads.setStatus": lambda slack, at: slack.set_status("C1", at.root, "thinks…"),
    "agents.sessions.setStatus": lambda slack, at: slack.begin_session("C1", at.root, "1", title="Refunds", asker="U1"),
    "agents.sessions.rename": lambda slack, at: slack.set_title("C1", at.root, "Refunds"),
    "views.open": lambda slack, at: slack.open_view(at.trigger, MODAL),
}
ONCE: dict[str, Do] = {
    "chat.postMessage": lambda slack, at: slack.post("C1", text="42", thread=at.root),
    "chat.postEphemeral": lambda slack, at: slack.ephemeral("C1", "U1", "Only you."),
    "chat.startStream": lambda slack, at: slack.start_stream("C1", at.root, recipient="U1", recipient_team="T0TEAM"),
    "chat.appendStream": lambda slack, at: slack.append_stream("C1", at.stream, chunks=[said("more")]),
}
ALL = SAFE | SAFE_TWICE | ONCE


# -- what is repeated -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ALL)
async def test_a_rate_limit_is_waited_for_exactly(slack: SlackApi, fake: FakeSlack, time: Time, method: str) -> None:
    at = await scene(slack, fake)
    gone_quiet(fake, time)
    fake.world.trigger_seconds = 60  # else it is too late for a modal
    fake.fail(method, ratelimited(7), calls=[1])
    await ALL[method](slack, at)
    assert [entry.status for entry in fake.journal.calls(method)] == [429, 200]
    assert time.waits == [pytest.approx(7)]


@pytest.mark.parametrize("method", SAFE)
@pytest.mark.parametrize("fault", [status(500), status(503), error("internal_error"), CUT_BEFORE], ids=named)
async def test_what_may_be_repeated_is_with_growing_waits(
    slack: SlackApi, fake: FakeSlack, time: Time, method: str, fault: Fault
) -> None:
    at = await scene(slack, fake)
    gone_quiet(fake, time)
    fake.fail(method, fault, calls=[1, 2])
    await SAFE[method](slack, at)
    assert len(fake.journal.calls(method)) == 3
    assert time.waits == [1, 2]


@pytest.mark.parametrize("method", ["chat.update", "chat.delete", "reactions.add", "views.publish"])
async def test_what_was_done_without_an_answer_is_done_once(
    slack: SlackApi, fake: FakeSlack, time: Time, method: str
) -> None:
    at = await scene(slack, fake)
    gone_quiet(fake, time)
    fake.fail(method, CUT_AFTER, calls=[1])
    await SAFE[method](slack, at)
    assert len(fake.journal.calls(method)) == 2


@pytest.mark.parametrize("method", ["chat.update", "users.info"])
@pytest.mark.parametrize("fault", [status(502), page(), page(503), CUT_AFTER], ids=named)
async def test_five_tries_are_all(slack: SlackApi, fake: FakeSlack, time: Time, method: str, fault: Fault) -> None:
    at = await scene(slack, fake)
    gone_quiet(fake, time)
    fake.fail(method, fault)
    with pytest.raises(UnreachableError) as raised:
        await SAFE[method](slack, at)
    assert not isinstance(raised.value, UnknownOutcome)
    assert len(fake.journal.calls(method)) == 5
    assert time.waits == [1, 2, 4, 8]


async def test_the_waits_are_random_up_to_their_longest(fake: FakeSlack, time: Time) -> None:
    fake.fail("users.info", status(500))
    async with connected(fake, time, chance=0.25) as slack:
        with pytest.raises(UnreachableError):
            await slack.user("U1")
    assert time.waits == [0.25, 0.5, 1, 2]


@pytest.mark.parametrize("method", SAFE_TWICE)
async def test_what_is_soon_too_late_is_tried_twice(slack: SlackApi, fake: FakeSlack, time: Time, method: str) -> None:
    at = await scene(slack, fake)
    gone_quiet(fake, time)
    fake.fail(method, status(500))
    with pytest.raises(UnreachableError):
        await SAFE_TWICE[method](slack, at)
    assert len(fake.journal.calls(method)) == 2


async def test_rate_limits_without_end_are_given_up(slack: SlackApi, fake: FakeSlack, time: Time) -> None:
    gone_quiet(fake, time)
    fake.fail("users.info", ratelimited(3))
    with pytest.raises(UnreachableError, match="ratelimited"):
        await slack.user("U1")
    assert len(fake.journal.calls("users.info")) == 5
    assert time.waits == [pytest.approx(3)] * 4


@pytest.mark.parametrize("method", ["chat.update", "users.info", "views.publish"])
async def test_silence_ends_a_try(slack: SlackApi, fake: FakeSlack, time: Time, method: str) -> None:
    at = await scene(slack, fake)
    async with connected(fake, time, seconds=IMPATIENT) as impatient:
        gone_quiet(fake, time)
        fake.fail(method, HANG, calls=[1])
        await SAFE[method](impatient, at)
    assert len(fake.journal.calls(method)) == 2
    assert time.waits == [1]


@pytest.mark.parametrize("method", [method for method in ONCE if method != "chat.postMessage"])
@pytest.mark.parametrize("fault", [status(500), error("fatal_error"), CUT_BEFORE, CUT_AFTER, HANG_AFTER], ids=named)
async def test_what_must_not_be_done_twice_is_sent_once(
    slack: SlackApi, fake: FakeSlack, time: Time, method: str, fault: Fault
) -> None:
    at = await scene(slack, fake)
    async with connected(fake, time, seconds=IMPATIENT) as impatient:
        gone_quiet(fake, time)
        fake.fail(method, fault)
        with pytest.raises(UnknownOutcome):
            await ONCE[method](impatient if fault == HANG_AFTER else slack, at)
    assert len(fake.journal.calls(method)) == 1
    assert time.waits == []


@pytest.mark.parametrize("method", ["chat.appendStream", "chat.postMessage", "chat.update"])
async def test_where_nothing_listens_nothing_can_have_been_done(fake: FakeSlack, method: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/api/"
        time = Time()
        async with SlackApi("xoxb-test", address, clock=time, sleep=time.sleep, chance=lambda: 1.0) as slack:
            with pytest.raises(UnreachableError, match="no connection") as raised:
                await ALL[method](slack, Scene(fake, "1.000001", "1.000002", "1.000003"))
    assert not isinstance(raised.value, UnknownOutcome)
    assert time.waits == [1, 2, 4, 8]


async def test_methods_that_are_not_safe_to_repeat_cannot_be_called(slack: SlackApi) -> None:
    with pytest.raises(ValueError, match="not safe"):
        await slack.call("chat.postMessage", channel="C1", text="twice")


# -- refusals -------------------------------------------------------------------------------------------------------

GONE = ["channel_not_found", "not_in_channel", "is_archived", "thread_not_found", "message_not_found"]


@pytest.mark.parametrize("code", [*GONE, "restricted_action", "user_not_found"])
async def test_what_is_gone_is_asked_for_once(slack: SlackApi, fake: FakeSlack, time: Time, code: str) -> None:
    at = await scene(slack, fake)
    gone_quiet(fake, time)
    fake.fail("*", error(code))
    for method in ("chat.postMessage", "chat.update", "conversations.replies", "users.info", "chat.appendStream"):
        with pytest.raises(GoneError) as raised:
            await ALL[method](slack, at)
        assert raised.value.code == code
    assert len(fake.journal.entries) == 5
    assert time.waits == []


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("invalid_blocks", RefusedError),
        ("msg_blocks_too_long", RefusedError),
        ("msg_too_long", RefusedError),
        ("no_text", RefusedError),
        ("invalid_arguments", RefusedError),
        ("message_not_in_streaming_state", StreamOver),
        ("token_revoked", CredentialsError),
        ("streaming_state_conflict", RefusedError),
        ("something_new", RefusedError),
    ],
)
async def test_every_other_refusal_has_its_kind(
    slack: SlackApi, fake: FakeSlack, time: Time, code: str, kind: type[SlackError]
) -> None:
    at = await scene(slack, fake)
    gone_quiet(fake, time)
    fake.fail("chat.update", error(code))
    with pytest.raises(SlackError) as raised:
        await SAFE["chat.update"](slack, at)
    assert type(raised.value) is kind and raised.value.code == code
    assert len(fake.journal.entries) == 1


async def test_slack_says_which_block_it_does_not_like(slack: SlackApi) -> None:
    with pytest.raises(RefusedError) as raised:
        await slack.post("C1", text="42", blocks=[{"type": "section"}], mark=MARK)
    assert any("/blocks/0" in line for line in raised.value.detail)


async def test_a_method_that_is_not_there_is_asked_for_once(caplog: pytest.LogCaptureFixture) -> None:
    async with FakeSlack(scale=0, without=("assistant.threads.setStatus", "chat.startStream")) as fake:
        time = Time(fake)
        async with connected(fake, time) as slack:
            root = await fake.says("C1", "U1", "How long?")
            for _ in range(2):
                with pytest.raises(UnsupportedError):
                    await slack.set_status("C1", root, "thinks…")
                with pytest.raises(UnsupportedError):
                    await slack.start_stream("C1", root, recipient="U1", recipient_team="T0TEAM")
                time.passes(100_000)
        assert len(fake.journal.calls("assistant.threads.setStatus")) == 1
        assert len(fake.journal.calls("chat.startStream")) == 1
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 2 and "assistant.threads.setStatus: unknown_method" in warnings[0]


async def test_a_missing_scope_is_asked_for_again_after_ten_minutes(caplog: pytest.LogCaptureFixture) -> None:
    async with FakeSlack(scale=0, scopes=SCOPES - {"groups:history"}) as fake:
        time = Time(fake)
        fake.world.add_channel("C2", kind="private", members=("U1", fake.bot_user))
        asked = await fake.says("C2", "U1", "psst")
        public = await fake.says("C1", "U1", "hello")
        async with connected(fake, time) as slack:
            for _ in range(2):
                for _ in range(2):
                    with pytest.raises(UnsupportedError, match="groups:history"):
                        await slack.replies("C2", asked, limit=5)
                time.passes(600)
            assert len(fake.journal.calls("conversations.replies")) == 2
            assert await slack.replies("C1", public, limit=5)  # other places are not affected
            with pytest.raises(UnsupportedError):
                await slack.replies("C2", asked, limit=5)
            fake.app.scopes.add("groups:history")
            time.passes(600)
            assert await slack.replies("C2", asked, limit=5)
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 1


# -- the token stays inside -----------------------------------------------------------------------------------------


async def test_nothing_that_is_logged_or_raised_holds_the_token(
    fake: FakeSlack, time: Time, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    faults = [status(500), ratelimited(1), error("channel_not_found"), error("missing_scope"), page(), CUT_AFTER]
    async with connected(fake, time) as slack, connected(fake, time, seconds=0.2) as impatient:
        at = await scene(slack, fake)
        told += [repr(slack), str(slack), repr(slack.me)]
        for fault in [*faults, page(404), error("invalid_blocks"), HANG]:
            fake.fail("*", fault)
            for method in ("chat.postMessage", "chat.update", "users.info"):
                try:
                    await ALL[method](impatient if fault == HANG else slack, at)
                except SlackError as failed:
                    told += [repr(failed), str(failed.__dict__), "".join(traceback.format_exception(failed))]
            fake.heal()
    with pytest.raises(RuntimeError, match="not open") as closed:
        await slack.call("auth.test")
    told += [repr(closed.value), caplog.text]
    assert len(told) > 30 and not [text for text in told if fake.bot_token in text]
    assert "Hello" not in caplog.text and "Found." not in caplog.text
