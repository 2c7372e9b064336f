"""Messages arrive once and edits in their order, whatever becomes of the answers to our requests."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.slack.transport.api import SlackApi
from adapters.slack.transport.errors import UnknownOutcome
from adapters.slack.transport.idempotency import Mark
from tests.adapters.slack.clocks import IMPATIENT, Time, connected
from tests.adapters.slack.scenes import MARK, SECTION, Json, gone_quiet, named, scene
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import (
    CUT_AFTER,
    CUT_BEFORE,
    HANG,
    HANG_AFTER,
    Fault,
    error,
    ratelimited,
    status,
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


# -- messages, once -------------------------------------------------------------------------------------------------


async def test_a_message_is_bare_and_marked(slack: SlackApi, fake: FakeSlack) -> None:
    at = await scene(slack, fake)
    markdown: Json = {"type": "markdown", "text": "**42**"}
    ts = await slack.post("C1", text="42 <!here>", blocks=[markdown, SECTION], thread=at.root, mark=MARK)
    message = fake.message(ts)
    assert message.thread == at.root and message.text == "42 <!here>"
    assert (message.unfurl_links, message.unfurl_media, message.parse, message.link_names) == (
        False,
        False,
        "none",
        False,
    )
    assert message.metadata == {
        "event_type": "kotae",
        "event_payload": {"about": "turn-1", "kind": "answer", "part": 0},
    }
    assert [block["type"] for block in message.blocks] == ["markdown", "section"]
    assert message.blocks[1]["block_id"] == MARK.block_id != message.blocks[0]["block_id"]
    await slack.update("C1", ts, text="43")
    assert (message.text, message.blocks, message.parse) == ("43", [], "none")
    assert message.metadata is not None


def test_a_block_id_is_never_too_long_nor_taken_twice() -> None:
    long, other = Mark("x" * 300, "digest", 2), Mark("x" * 300, "digest", 3)
    assert len(long.block_id) <= 255 and long.block_id != other.block_id
    named = {**SECTION, "block_id": "mine"}
    assert [block.get("block_id") for block in MARK.on([named, SECTION, SECTION])] == ["mine", MARK.block_id, None]
    assert MARK.on([named]) == [named] and MARK.on([]) == []


@pytest.mark.parametrize("thread", [True, False], ids=["in a thread", "in the channel"])
@pytest.mark.parametrize("without", [(), ("metadata",)], ids=["metadata", "block ids only"])
@pytest.mark.parametrize("fault", [CUT_AFTER, HANG_AFTER, CUT_BEFORE, status(503), error("internal_error")], ids=named)
async def test_a_lost_answer_makes_no_second_message(thread: bool, without: tuple[str, ...], fault: Fault) -> None:
    async with FakeSlack(scale=0, without=without) as fake:
        time = Time(fake)
        root = await fake.says("C1", "U1", "How long?")
        async with connected(fake, time) as slack:
            await slack.post("C1", text="0", blocks=[SECTION], thread=root, mark=Mark("turn-1", "answer", 1))
        async with connected(fake, time, seconds=IMPATIENT if fault == HANG_AFTER else 5.0) as slack:
            time.waits.clear()
            fake.fail("chat.postMessage", fault, calls=[1])
            ts = await slack.post("C1", text="42", blocks=[SECTION], thread=root if thread else None, mark=MARK)
        said = [each for each in (fake.replies(root) if thread else fake.posted("C1")) if each.text == "42"]
        assert [each.ts for each in said] == [ts]
        done = fault in (CUT_AFTER, HANG_AFTER)
        assert len(fake.journal.calls("chat.postMessage", text="42")) == (1 if done else 2)
        assert time.waits == [3]  # it may still be on its way


async def test_posting_is_given_up_after_five_tries(slack: SlackApi, fake: FakeSlack, time: Time) -> None:
    at = await scene(slack, fake)
    gone_quiet(fake, time)
    fake.fail("chat.postMessage", CUT_BEFORE)
    with pytest.raises(UnknownOutcome):
        await slack.post("C1", text="42", blocks=[SECTION], thread=at.root, mark=MARK)
    assert [entry.method for entry in fake.journal.entries] == ["chat.postMessage", "conversations.replies"] * 5
    assert [each for each in time.waits if each > 1.5] == [3, 4, 6, 10, 2]  # and the pace of posts


@pytest.mark.parametrize("trouble", [status(503), error("missing_scope", needed="channels:history")], ids=named)
async def test_nothing_is_posted_blindly_while_nobody_can_look(
    slack: SlackApi, fake: FakeSlack, time: Time, trouble: Fault
) -> None:
    at = await scene(slack, fake)
    fake.fail("chat.postMessage", CUT_AFTER, calls=[1])
    fake.fail("conversations.replies", trouble)
    with pytest.raises(UnknownOutcome):
        await slack.post("C1", text="42", thread=at.root, mark=MARK)
    assert len(fake.journal.calls("chat.postMessage", text="42")) == 1
    fake.heal()
    time.passes(600)  # a scope is asked for again then
    ts = await slack.post("C1", text="42", thread=at.root, mark=MARK, maybe_sent=True)
    assert [each.ts for each in at.of_bot() if each.text == "42"] == [ts]


async def test_looking_is_tried_again_before_posting_is(slack: SlackApi, fake: FakeSlack, time: Time) -> None:
    at = await scene(slack, fake)
    gone_quiet(fake, time)
    fake.fail("chat.postMessage", CUT_AFTER, calls=[1])
    fake.fail("conversations.replies", CUT_BEFORE, calls=[1, 2])
    await slack.post("C1", text="42", thread=at.root, mark=MARK)
    assert [entry.method for entry in fake.journal.entries] == ["chat.postMessage"] + ["conversations.replies"] * 3
    assert time.waits == [3, 1, 2]


@pytest.mark.parametrize("thread", [True, False], ids=["in a thread", "in the channel"])
async def test_after_a_crash_a_message_is_found_or_posted(slack: SlackApi, fake: FakeSlack, thread: bool) -> None:
    at = await scene(slack, fake)
    where = at.root if thread else None
    first = await slack.post("C1", text="42", thread=where, mark=MARK, maybe_sent=True)
    assert await slack.post("C1", text="42", thread=where, mark=MARK, maybe_sent=True) == first
    assert await slack.post("C1", text="6", thread=where, mark=Mark("turn-1", "steps", 0), maybe_sent=True) != first
    assert [each.text for each in at.of_bot(thread=thread) if each.text != "Looking."] == ["42", "6"]


async def test_a_mark_on_somebody_elses_message_is_not_ours(slack: SlackApi, fake: FakeSlack) -> None:
    at = await scene(slack, fake)
    other = fake.install("other")
    fake.world.channels["C1"].members.add(other.bot_user)
    async with connected(fake, token=other.bot_token) as forger:
        forged = await forger.post("C1", text="Pay me.", blocks=[SECTION], thread=at.root, mark=MARK)
    assert await slack.post("C1", text="42", thread=at.root, mark=MARK, maybe_sent=True) != forged


async def test_without_a_mark_nothing_is_posted_twice(slack: SlackApi, fake: FakeSlack) -> None:
    at = await scene(slack, fake)
    fake.fail("chat.postMessage", CUT_AFTER)
    with pytest.raises(UnknownOutcome):
        await slack.post("C1", text="42", thread=at.root)
    assert len(fake.journal.calls("chat.postMessage", text="42")) == 1
    with pytest.raises(ValueError, match="without a mark"):
        await slack.post("C1", text="42", thread=at.root, maybe_sent=True)


async def test_a_message_is_found_on_the_last_page(slack: SlackApi, fake: FakeSlack) -> None:
    at = await scene(slack, fake)
    fake.server.methods.history_page = 3
    for n in range(7):
        await fake.says("C1", "U2", f"me too {n}", thread=at.root)
    ts = await slack.post("C1", text="42", thread=at.root, mark=MARK)
    assert await slack.post("C1", text="42", thread=at.root, mark=MARK, maybe_sent=True) == ts


# -- edits in order -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", [True, False], ids=["the last", "a newer step"])
@pytest.mark.parametrize("fault", [ratelimited(30), HANG, status(503)], ids=named)
async def test_a_steps_edit_never_comes_after_a_newer_one(fake: FakeSlack, fault: Fault, last: bool) -> None:
    time, awake = Time(fake), asyncio.Event()

    async def sleep(seconds: float) -> None:
        time.passes(seconds)
        await awake.wait()

    async with connected(fake, time) as slack:
        at = await scene(slack, fake)
    async with SlackApi(fake.bot_token, fake.api_url, clock=time, sleep=sleep, seconds=IMPATIENT) as slack:
        fake.fail("chat.update", fault, calls=[1])
        older = asyncio.create_task(slack.update("C1", at.message, text="older"))
        await fake.wait_for(lambda: fake.journal.calls("chat.update"))
        if fault != HANG:  # then it is still on its way when the newer one is asked for
            await fake.wait_for(lambda: fake.journal.calls("chat.update")[0].status)
        newer = asyncio.create_task(slack.update("C1", at.message, text="newer", last=last))
        await asyncio.sleep(0)
        awake.set()
        await asyncio.gather(older, newer)
    first, second = fake.journal.calls("chat.update")
    assert (first.arguments["text"], second.arguments["text"]) == ("older", "newer")
    assert fault != HANG or second.at - first.at > 1  # never two at once
    assert fake.message(at.message).text == "newer"


async def test_the_last_edit_overtakes_steps_of_other_messages(fake: FakeSlack) -> None:
    time, turns = Time(fake), asyncio.Semaphore(0)

    async def sleep(seconds: float) -> None:
        await turns.acquire()
        time.passes(seconds)

    async with SlackApi(fake.bot_token, fake.api_url, clock=time, sleep=sleep) as slack:
        messages = [await slack.post("C1", text=f"{n}") for n in range(3)]
        for n in range(10):  # what goes at once
            await slack.update("C1", messages[0], text=f"{n}")
        steps = [asyncio.create_task(slack.update("C1", ts, text="a step")) for ts in messages[:2]]
        await asyncio.sleep(0)
        last = asyncio.create_task(slack.update("C1", messages[2], text="the last", last=True))
        await asyncio.sleep(0)
        turns.release()
        turns.release()  # the step that was first in the queue slept already
        await asyncio.wait_for(last, 30)
        assert not any(step.done() for step in steps)
        for _ in range(4):
            turns.release()
        await asyncio.gather(*steps)
    texts = [entry.arguments["text"] for entry in fake.journal.calls("chat.update")[10:]]
    assert texts == ["the last", "a step", "a step"]


async def test_edits_one_after_the_other_are_all_made(slack: SlackApi, fake: FakeSlack) -> None:
    at = await scene(slack, fake)
    for text, last in (("1", False), ("2", True), ("3", False), ("4", True)):
        await slack.update("C1", at.message, text=text, last=last)
    assert [entry.arguments["text"] for entry in fake.journal.calls("chat.update")] == ["1", "2", "3", "4"]
