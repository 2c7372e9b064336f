"""Streams, views, answers at a response URL, people and places: what the client offers beside messages."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from adapters.slack.transport.api import SlackApi
from adapters.slack.transport.errors import (
    CredentialsError,
    GoneError,
    RefusedError,
    SlackError,
    StreamOver,
    UnknownOutcome,
)
from tests.adapters.slack.clocks import Time, connected
from tests.adapters.slack.scenes import HOME, MARK, MODAL, Json, said, scene
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import (
    CUT_AFTER,
    HANG,
    SCOPES,
    Hold,
    held,
)


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


# -- streams --------------------------------------------------------------------------------------------------------


async def test_a_stream_grows_and_ends(slack: SlackApi, fake: FakeSlack) -> None:
    at = await scene(slack, fake)
    await slack.append_stream("C1", at.stream, chunks=[said("Refunds ")])
    await slack.append_stream("C1", at.stream, chunks=[said("take 30 days.")])
    await slack.stop_stream("C1", at.stream, mark=MARK)
    message = fake.message(at.stream)
    assert not message.streaming and "Refunds take 30 days." in message.shown
    assert MARK.is_on({"metadata": message.metadata})


async def test_a_stream_that_has_ended_says_so(slack: SlackApi, fake: FakeSlack, time: Time) -> None:
    at = await scene(slack, fake)
    time.passes(301)
    with pytest.raises(StreamOver):
        await slack.append_stream("C1", at.stream, chunks=[said("more")])
    with pytest.raises(StreamOver):
        await slack.stop_stream("C1", at.stream)
    await slack.update("C1", at.stream, text="All of it.")
    assert fake.message(at.stream).shown == "All of it."


async def test_a_stream_that_ended_without_an_answer_has_ended(slack: SlackApi, fake: FakeSlack) -> None:
    at = await scene(slack, fake)
    fake.fail("chat.stopStream", CUT_AFTER, calls=[1])
    with pytest.raises(StreamOver):
        await slack.stop_stream("C1", at.stream, chunks=[said("Done.")])
    assert fake.message(at.stream).shown == "Done."


# -- views, response URLs -------------------------------------------------------------------------------------------


async def test_views_are_opened_changed_and_published(slack: SlackApi, fake: FakeSlack) -> None:
    made = await slack.open_view(fake.world.new_trigger("U1"), MODAL)
    changed = {**MODAL, "title": {"type": "plain_text", "text": "Adding"}}
    await slack.update_view(made["id"], changed)
    assert fake.modal("U1").body["title"]["text"] == "Adding"
    await slack.publish_home("U1", HOME)
    assert fake.home("U1").body["blocks"][0]["type"] == "section"


async def test_a_response_url_is_good_for_five_answers(slack: SlackApi, fake: FakeSlack) -> None:
    url = fake._response_url("U1", "C1")
    for n in range(5):
        await slack.respond(url, text=f"{n}")
    with pytest.raises(GoneError, match="used_url"):
        await slack.respond(url, text="5")
    assert [each.text for each in fake.whispers("U1")] == ["0", "1", "2", "3", "4"] and not fake.posted("C1")
    assert len(fake.journal.calls("response_url")) == 5


async def test_an_old_response_url_is_gone(slack: SlackApi, fake: FakeSlack, time: Time) -> None:
    url = fake._response_url("U1", "C1")
    time.passes(1_801)
    with pytest.raises(GoneError, match="expired_url"):
        await slack.respond(url, text="late")
    with pytest.raises(RefusedError, match="no_text"):
        await slack.respond(fake._response_url("U1", "C1"))


@pytest.mark.parametrize(
    "url", ["https://example.com/hooks/1", "http://hooks.slack.com/1", "https://hooks.slack.com.example.com/1", "hooks"]
)
async def test_answers_go_to_slack_only(slack: SlackApi, url: str) -> None:
    with pytest.raises(GoneError, match="foreign_url"):
        await slack.respond(url, text="secret")


async def test_an_answer_is_repeated_only_where_that_does_no_harm() -> None:
    asked: list[Json] = []
    answers = [429, 200, 500]

    async def hook(request: web.Request) -> web.Response:
        asked.append(await request.json())
        return web.Response(status=answers[len(asked) - 1], text="ok", headers={"Retry-After": "9"})

    app = web.Application()
    app.router.add_post("/hooks/1", hook)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    time = Time()
    try:
        async with SlackApi("xoxb-test", f"{base}/api/", clock=time, sleep=time.sleep, chance=lambda: 1.0) as slack:
            await slack.respond(f"{base}/hooks/1", text="once")
            assert time.waits == [9]
            with pytest.raises(UnknownOutcome):
                await slack.respond(f"{base}/hooks/1", text="twice?")
    finally:
        await runner.cleanup()
    assert [each["text"] for each in asked] == ["once", "once", "twice?"]
    assert asked[0]["unfurl_links"] is False and asked[0]["response_type"] == "ephemeral"


# -- people and places ----------------------------------------------------------------------------------------------


async def test_people_and_places_are_kept_for_a_while(slack: SlackApi, fake: FakeSlack, time: Time) -> None:
    async def look() -> None:
        assert (await slack.user("U1"))["locale"] == "en-US"
        assert (await slack.channel("C1"))["name"] == "general"
        assert {user["id"] for user in await slack.users()} == {"U1", "U2", fake.bot_user}

    def counted() -> list[int]:
        return [len(fake.journal.calls(method)) for method in ("conversations.info", "users.info", "users.list")]

    await asyncio.gather(look(), look(), look())
    assert counted() == [1, 1, 1]
    time.passes(60)
    await look()
    assert counted() == [2, 1, 1]
    time.passes(540)
    await look()
    assert counted() == [3, 2, 2]


async def test_failures_are_not_kept(slack: SlackApi, fake: FakeSlack) -> None:
    for _ in range(2):
        with pytest.raises(GoneError):
            await slack.channel("C9")
    fake.world.add_channel("C9")
    assert (await slack.channel("C9"))["id"] == "C9"
    assert len(fake.journal.calls("conversations.info")) == 3


async def test_who_waits_for_a_look_up_may_stop_waiting(slack: SlackApi, fake: FakeSlack) -> None:
    fake.fail("users.info", HANG, calls=[1])
    impatient = asyncio.create_task(slack.user("U1"))
    patient = asyncio.create_task(slack.user("U1"))
    await fake.wait_for(lambda: fake.journal.calls("users.info"))
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    assert not patient.done()
    patient.cancel()  # and the client ends the look-up when it is closed


async def test_what_is_looked_up_while_it_changes_is_not_believed(slack: SlackApi, fake: FakeSlack) -> None:
    hold = Hold()
    fake.fail("conversations.members", held(hold, done=True), calls=[1])
    before = asyncio.create_task(slack.members("C1"))
    await asyncio.wait_for(hold.reached.wait(), 30)
    fake.world.channels["C1"].members.add("U7")
    slack.ask_anew("C1")
    assert "U7" in await slack.members("C1")
    hold.released.set()
    assert "U7" not in await before
    assert "U7" in await slack.members("C1") and len(fake.journal.calls("conversations.members")) == 2


async def test_members_are_read_to_the_end_or_not_at_all(slack: SlackApi, fake: FakeSlack, time: Time) -> None:
    fake.world.channels["C1"].members |= {f"U{n:04}" for n in range(2_500)}
    assert len(await slack.members("C1")) == 2_503
    fake.world.channels["C1"].members |= {f"UX{n:05}" for n in range(30_000)}
    assert len(await slack.members("C1")) == 2_503  # known for half a minute
    time.passes(30)
    with pytest.raises(SlackError, match="too_many"):
        await slack.members("C1")


async def test_a_thread_is_its_root_and_its_newest_messages(slack: SlackApi, fake: FakeSlack) -> None:
    root = await fake.says("C1", "U1", "root")
    for n in range(250):
        await fake.says("C1", "U2", f"{n}", thread=root)
    found = await slack.replies("C1", root, limit=4)
    assert [message["text"] for message in found] == ["root", "247", "248", "249"]
    assert [message["text"] for message in await slack.replies("C1", root, limit=1)] == ["root"]
    assert len(await slack.replies("C1", root, limit=1_000)) == 251


async def test_permalinks_are_slacks_own(slack: SlackApi, fake: FakeSlack) -> None:
    at = await scene(slack, fake)
    for ts, thread in ((at.root, None), (at.message, at.root), (at.root, at.root)):
        theirs = await slack.call("chat.getPermalink", channel="C1", message_ts=ts)
        assert slack.permalink("C1", ts, thread) == theirs["permalink"]


async def test_who_the_token_is(slack: SlackApi, fake: FakeSlack) -> None:
    assert (slack.me.user, slack.me.bot_id, slack.me.team, slack.me.team_name, slack.me.name) == (
        fake.bot_user,
        fake.app.bot_id,
        "T0TEAM",
        "Loopback",
        "kotae",
    )
    assert slack.me.scopes == SCOPES
    fake.app.revoked = True
    with pytest.raises(CredentialsError):
        await slack.identify()
