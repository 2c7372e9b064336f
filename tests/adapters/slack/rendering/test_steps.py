"""A turn's steps: all of them once, whatever becomes of the stream, in messages that Slack takes."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from adapters.slack.rendering.step_message import STEP, TITLE, TaskCard, after, chunk, closed
from adapters.slack.rendering.steps import BYTES, CARDS
from agent.events import Answered, Drafted, Reflected, Step, Thought, ToolCalled, ToolReturned
from tests.adapters.fixed import CARRIED
from tests.adapters.slack.stage import (
    ANSWER,
    FOLDED,
    LINES,
    STREAMS,
    TURN,
    Stage,
    lines,
    staged,
    steps_and_answer,
)
from tests.fakes.slack_gate import CUT_AFTER, CUT_BEFORE, Fault, error, status

# -- a stream that ends ---------------------------------------------------------------------------------------------


def expires(stage: Stage) -> None:
    stage.replies[0].stream.ended = "expired"  # type: ignore[union-attr]


def breaks(fault: Fault) -> Callable[[Stage], None]:
    def arm(stage: Stage) -> None:
        for method in STREAMS[1:]:
            stage.fake.fail(method, fault, calls=[1])

    return arm


ENDS = {
    "expires": expires,
    "done, not answered": breaks(CUT_AFTER),
    "neither done nor answered": breaks(CUT_BEFORE),
    "refused": breaks(error("msg_too_long")),
    "server trouble": breaks(status(500)),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
async def test_whenever_a_stream_ends_all_steps_are_there_once(end: Callable[[Stage], None]) -> None:
    for index in range(len(TURN) + 1):
        async with staged() as stage:
            view = stage.view()
            await view.begin()
            for number, event in enumerate((*TURN, None)):
                if number == index and stage.replies:
                    end(stage)
                if event is not None and not isinstance(event, Drafted):
                    await stage.step(view, event)
                elif event is not None:
                    await view.step(event)
            await view.answer(ANSWER)
            await view.close()
            steps_and_answer(stage)
            assert not any(message.streaming for message in stage.replies)
            if end is expires and index == len(TURN):
                assert len(stage.calls("chat.update")) == 1  # everything was there already, but not folded


async def test_a_streamed_message_that_takes_no_edits_is_replaced() -> None:
    for index in range(1, len(TURN)):
        async with staged() as stage:
            stage.fake.server.chat.rewrites_streams = False
            view = stage.view()
            await view.begin()
            for number, event in enumerate(TURN):
                if number == index:
                    expires(stage)
                await (view.step(event) if isinstance(event, Drafted) else stage.step(view, event))
            await view.answer(ANSWER)
            await view.close()
            steps_and_answer(stage)


async def test_the_cards_say_how_each_step_ended() -> None:
    async with staged() as stage:
        view = stage.view()
        await view.begin()
        await stage.step(view, TURN[0])
        assert [part["status"] for part in _stream(stage)] == ["in_progress"]
        await stage.step(view, TURN[1])
        assert [part["status"] for part in _stream(stage)] == ["complete", "in_progress"]
        for event in TURN[2:]:
            await view.step(event)
        await view.answer(ANSWER)
        await view.close()
        statuses = ["complete", "complete", "complete", "complete", "error", "error", "complete"]
        assert [part["status"] for part in _stream(stage)] == statuses
        started = stage.calls("chat.startStream")[0]
        assert started["task_display_mode"] == "plan" and started["recipient_user_id"] == "U1"


@pytest.mark.parametrize("sessions", [True, False])
async def test_a_reader_who_stops_the_stream_sees_no_more_steps_and_the_answer(sessions: bool) -> None:
    async with staged(sessions=sessions) as stage:
        view = stage.view()
        await view.begin()
        await stage.fake.wait_for(lambda: stage.status or stage.fake.world.processing)
        await stage.step(view, TURN[0])
        await stage.fake.stops_stream(stage.replies[0].ts)
        for event in TURN[1:]:
            await view.step(event)
        await view.answer(ANSWER)
        await view.close()
        assert stage.shown[0] == LINES[0] and len(stage.shown) == 2 and "30 days." in stage.shown[1]
        assert not stage.fake.world.processing


async def test_an_old_stream_is_ended_before_slack_does_it() -> None:
    events = (*TURN[:2], Thought("It takes long."), *TURN[2:])
    told = lines(events)
    async with staged() as stage:
        view = stage.view()
        await view.begin()
        await stage.step(view, events[0])
        await stage.hours.advance(239)
        await stage.step(view, events[1])
        await stage.hours.advance(2)
        await stage.step(view, events[2])
        assert [part["status"] for part in _stream(stage)] == ["complete", "complete"]
        assert [message.streaming for message in stage.replies] == [False, True]
        for event in events[3:]:
            await view.step(event)
        await view.answer(ANSWER)
        await view.close()
        assert stage.shown[:2] == ["\n".join(told[:2]), "\n".join(told[2:])] and len(stage.shown) == 3
        assert not stage.calls("chat.update") and not any(message.streaming for message in stage.replies)


@pytest.mark.parametrize("without", [(), STREAMS], ids=["stream", "edits"])
@pytest.mark.parametrize(
    ("each", "many"),
    [("short", 2 * CARDS + 3), ("長い" * 200, 40), ("&" * 900, 14)],
    ids=["many", "bytes", "escapes"],
)
async def test_steps_that_do_not_fit_go_on_in_the_next_message(each: str, many: int, without: tuple[str, ...]) -> None:
    events = [Thought(f"{number}. {each}") for number in range(many)]
    async with staged(without=without) as stage:
        view = stage.view()
        await view.begin()
        for event in events[: many // 2]:
            await view.step(event)
        await stage.fake.wait_for(lambda: f"{many // 2 - 1}." in stage.text)
        for event in events[many // 2 :]:
            await view.step(event)
        await view.answer(ANSWER)
        await view.close()
        numbers = [int(found) for found in re.findall(r"Thought: (\d+)\.", stage.text)]
        assert numbers == list(range(many)) and len(stage.shown) > 2
        assert all(len(message.encode()) <= BYTES for message in stage.shown)
        assert not [each for each in stage.fake.journal.errors() if "unknown_method" not in each]


# -- without a stream -----------------------------------------------------------------------------------------------


async def test_without_streams_one_message_is_edited_and_not_for_every_step() -> None:
    async with staged(without=STREAMS) as stage:
        waiting = asyncio.Event()

        async def sleep(seconds: float) -> None:
            await waiting.wait()

        view = stage.view(sleep=sleep)
        await view.begin()
        await stage.step(view, TURN[0])
        for event in TURN[1:4]:
            await view.step(event)
        await stage.fake.wait_for_idle()
        assert not stage.calls("chat.update")
        waiting.set()
        await stage.fake.wait_for(lambda: LINES[3] in stage.text)
        assert len(stage.calls("chat.update")) == 1
        for event in TURN[4:]:
            await view.step(event)
        await view.answer(ANSWER)
        await view.close()
        steps_and_answer(stage)
        assert len(stage.calls("chat.postMessage")) == 2


async def test_a_stream_that_was_started_without_our_knowing_is_not_started_again() -> None:
    async with staged() as stage:
        stage.fake.fail("chat.startStream", CUT_AFTER)
        await stage.play((*TURN, ANSWER))
        steps_and_answer(stage)
        assert len(stage.fake.journal.calls("chat.startStream")) == 1 and len(stage.calls("chat.postMessage")) == 1


async def test_nobody_is_streamed_to_who_is_not_known() -> None:
    async with staged() as stage:
        await stage.play((*TURN, ANSWER), streams=False)
        steps_and_answer(stage)
        assert not stage.fake.journal.calls("chat.startStream")


async def test_where_blocks_are_refused_everything_comes_as_text() -> None:
    for without in ((), STREAMS):
        async with staged(without=without) as stage:
            for method in ("chat.postMessage", "chat.update"):
                stage.fake.fail(method, error("invalid_blocks"), where=lambda given: bool(given.get("blocks")))
            view = stage.view()
            await view.begin()
            for event in TURN[:-1]:
                await (view.step(event) if isinstance(event, Drafted) else stage.step(view, event))
            if not without:
                expires(stage)
            long = Thought("word " * 150)
            for event in (*([long] * 9), TURN[-1]):
                await view.step(event)
            await view.answer(Answered("All & <everything>. " * 400, turn="turn-1"))
            await view.close()
            steps = [
                message for message in stage.replies if "Thought" in message.shown or "Reflection" in message.shown
            ]
            answer = "".join(message.shown for message in stage.replies if message not in steps)
            shown = "\n".join(message.shown for message in steps).splitlines()
            assert [line for line in shown if line != FOLDED] == lines((*TURN[:-1], *[long] * 9, TURN[-1]))
            assert answer.count("All & <everything>.") == 400 and len(steps) > 1
            assert all(len(message.text) <= 4_000 for message in stage.replies)


async def test_nothing_that_a_document_says_calls_people_or_becomes_a_link() -> None:
    evil = "<!channel> <@U2> @everyone <https://evil.example|here> https://evil.example/?q=1 *bold* `code` &amp;"
    events = (
        Thought(evil),
        ToolCalled("1", "t", {"query": evil}),
        ToolReturned("1", "t", evil, failed=True),
        Reflected("keep", evil),
    )
    for without in ((), STREAMS):
        for steps in ("live", "verbose"):
            async with staged(without=without) as stage:
                await stage.play((*events, ANSWER), steps)
                for message in stage.replies[:-1]:
                    assert message.mentions == [] and message.urls == []


# -- cards ----------------------------------------------------------------------------------------------------------


def test_a_tool_is_at_work_until_it_returns_whatever_happens_meanwhile() -> None:
    cards: tuple[TaskCard, ...] = ()
    events: tuple[Step, ...] = (
        ToolCalled("a", "t", {}),
        ToolCalled("b", "t", {}),
        Thought("Meanwhile."),
        ToolReturned("b", "t", "x", failed=True),
        ToolReturned("a", "t", "y", (CARRIED, CARRIED)),
    )
    for event in events:
        cards = after(cards, event, "en")
    assert [card.status for card in cards] == ["complete", "error", "complete", "error", "complete"]
    assert CARRIED.passage.url and CARRIED.passage.url not in str(chunk("1", cards[-1], None))  # only an answer links
    assert {card.status for card in closed(after((), events[0], "en"))} == {"complete"}


def test_what_is_sent_once_is_not_sent_again() -> None:
    long = TaskCard("🧠 Thought: " + "x" * 600, "in_progress")
    first = chunk("1", long, None)
    assert first and first["details"] and len(first["title"]) <= TITLE
    assert first["title"].removesuffix("…") + first["details"].removeprefix("…") == long.text
    (done,) = closed([long])
    assert chunk("1", done, long) == {"type": "task_update", "id": "1", "title": first["title"], "status": "complete"}
    assert chunk("1", done, done) is None


def test_a_thought_without_end_is_cut() -> None:
    (card,) = after((), Thought("考え" * 5_000), "ja")
    assert len(card.text) == STEP and card.text.endswith("…")


def _stream(stage: Stage) -> list[dict[str, Any]]:
    stream = stage.replies[0].stream
    assert stream is not None
    return stream.parts
