"""Nothing of a turn comes twice and nothing is lost, whenever its process dies or a request is not answered."""

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import Any, Literal

import pytest

from agent.events import Answered
from bot.types import StepsShown
from tests.adapters.slack.stage import (
    ANSWER,
    LINES,
    NAMED,
    STATUS,
    STREAMS,
    TURN,
    Stage,
    again,
    staged,
    steps_and_answer,
    votes,
)
from tests.adapters.staging import Rows
from tests.fakes.slack_gate import CUT_AFTER, HANG_AFTER, ratelimited

# -- nothing twice, nothing lost ------------------------------------------------------------------------------------

SERVERS = {
    "all": (),
    "no stream": STREAMS,
    "no status": (STATUS,),
    "old": (*STREAMS, STATUS),
    "no metadata": ("metadata",),
}


@pytest.mark.parametrize("steps", ["live", "verbose"])
@pytest.mark.parametrize("without", SERVERS.values(), ids=SERVERS)
async def test_killed_at_any_request_and_taken_up_again(without: tuple[str, ...], steps: StepsShown) -> None:
    for at in range(1, 20):
        async with staged(without=without) as stage:
            stage.fake.fail("*", HANG_AFTER, calls=[at])
            fell = await _until_killed(stage, steps, stage.fake.wait_for(partial(_hanging, stage)))
            stage.fake.heal()
            before = {message.ts for message in stage.replies}
            async with again(stage) as second:
                await second.play((*TURN, ANSWER), steps)
                _all_once(second, steps)
                assert before <= {message.ts for message in second.replies}
        if not fell:
            return
    raise AssertionError("a turn of so many requests?")


@pytest.mark.parametrize("steps", ["live", "verbose"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_at_any_write_of_what_was_posted(when: Literal["before", "after"], steps: StepsShown) -> None:
    for at in range(1, 40):
        rows = Mortal(at, when)
        async with staged(rows=rows) as stage:
            fell = await _until_killed(stage, steps, rows.dead.wait())
            rows.at = -1
            rows.dead.clear()
            async with again(stage) as second:
                await second.play((*TURN, ANSWER), steps)
                _all_once(second, steps)
        if not fell:
            return
    raise AssertionError("a turn of so many writes?")


class Mortal(Rows):
    """Its process dies at the write of this number: before it is done, or after."""

    def __init__(self, at: int, when: Literal["before", "after"]) -> None:
        super().__init__()
        self.at, self.when, self.dead = at, when, asyncio.Event()

    async def reserve(self, post: Any) -> Any:
        await self._die("before")
        made = await super().reserve(post)
        await self._die("after")
        return made

    async def confirm(self, post: Any) -> None:
        await self._die("before")
        await super().confirm(post)
        await self._die("after")

    async def _die(self, when: str) -> None:
        self.at -= when == "before"
        if self.dead.is_set() or (self.at == 0 and when == self.when):
            self.at = -1
            self.dead.set()
            await asyncio.Event().wait()


async def _until_killed(stage: Stage, steps: StepsShown, death: Coroutine[Any, Any, Any]) -> bool:
    """Plays a turn until the process dies, if it does."""
    view = stage.view(steps)

    async def play() -> None:
        await view.begin()
        await stage.fake.wait_for(lambda: stage.status or stage.shown)
        for event in TURN[:3]:
            await stage.step(view, event)
        for event in TURN[3:]:
            await view.step(event)
        await view.answer(ANSWER)
        await view.close()

    task, dead = asyncio.create_task(play()), asyncio.create_task(death)
    await asyncio.wait({task, dead}, return_when=asyncio.FIRST_COMPLETED)
    died = not task.done()
    await _kill(task, dead)
    return died


async def _kill(*tasks: "asyncio.Task[Any]") -> None:
    """Nothing of a view runs any more, and nothing was put in order."""
    ours = {*tasks, *(task for task in asyncio.all_tasks() if task.get_name() in ("slack-status", "slack-steps"))}
    for task in ours:
        task.cancel()
    await asyncio.gather(*ours, return_exceptions=True)


def _hanging(stage: Stage) -> bool:
    return any(entry.fault == "hang_after" and entry.answer for entry in stage.fake.journal.entries)


def _all_once(stage: Stage, steps: StepsShown) -> None:
    expected = NAMED if steps == "verbose" else ["\n".join(LINES)]
    assert sorted(stage.shown[:]) == sorted([*expected, *(said for said in stage.shown if said.startswith("30 days."))])
    assert sum(said.startswith("30 days.") for said in stage.shown) == 1, stage.shown
    assert not any(message.streaming for message in stage.replies)


async def test_a_message_that_arrived_without_our_knowing_is_not_sent_again() -> None:
    for without in (STREAMS, ("metadata", *STREAMS)):
        async with staged(without=without) as stage:
            stage.fake.fail("chat.postMessage", CUT_AFTER)
            await stage.play((*TURN, ANSWER))
            steps_and_answer(stage)
            assert len(stage.calls("chat.postMessage")) == 2


async def test_everything_is_rate_limited_and_everything_arrives() -> None:
    for steps in ("live", "verbose", "off"):
        async with staged() as stage:
            for method in (*STREAMS, STATUS, "chat.postMessage", "chat.update", "chat.delete"):
                stage.fake.fail(method, ratelimited(1), calls=range(1, 20, 2))
            await stage.play((*TURN, ANSWER), steps)
            shown = {"live": ["\n".join(LINES)], "verbose": NAMED, "off": []}[steps]
            assert stage.shown[:-1] == shown and stage.shown[-1].startswith("30 days.")


async def test_few_streams_may_be_started_a_minute_then_there_are_edits() -> None:
    async with staged() as stage:
        for _ in range(8):
            started = await stage.fake.says("C1", "U1", "?")
            await stage.slack.start_stream("C1", started, recipient="U1", recipient_team="T0TEAM")
        before = len(stage.fake.journal.calls("chat.startStream"))
        await stage.play((*TURN, ANSWER))
        steps_and_answer(stage)
        assert len(stage.fake.journal.calls("chat.startStream")) == before


async def test_an_answer_that_was_stored_and_not_shown_leaves_the_steps_as_they_are() -> None:
    async with staged() as stage:
        first = stage.view()
        await first.begin()
        for event in TURN[:3]:
            await first.step(event)
        await stage.fake.wait_for(lambda: LINES[2] in stage.text)
        await first.close()
        await stage.play([ANSWER])
        assert (
            stage.shown[0] == "\n".join(LINES[:3]) and stage.shown[1].startswith("30 days.") and len(stage.shown) == 2
        )
        assert not any(message.streaming for message in stage.replies)


@pytest.mark.parametrize("without", [(), (STATUS,), STREAMS, (STATUS, *STREAMS)])
async def test_steps_of_a_dead_process_stay_when_only_the_answer_is_left(without: tuple[str, ...]) -> None:
    async with staged(without=without) as stage:
        first = stage.view()
        await first.begin()
        await stage.fake.wait_for(lambda: stage.status or stage.shown)
        await stage.step(first, TURN[0])
        for event in TURN[1:4]:
            await first.step(event)
        await stage.fake.wait_for(lambda: LINES[3] in stage.text)
        await stage.fake.wait_for_idle()
        await _kill()
        async with again(stage) as second:
            view = second.view()
            await view.begin()
            await second.fake.wait_for_idle()
            await view.answer(ANSWER)
            await view.close()
            assert second.shown[0].startswith("\n".join(LINES[:4])) and len(second.shown) == 2
            assert second.shown[1].startswith("30 days.") and not second.replies[0].streaming


async def test_a_placeholder_of_a_dead_process_goes_when_only_the_answer_is_left() -> None:
    for without in ((STATUS,), (STATUS, *STREAMS)):
        async with staged(without=without) as stage:
            await stage.view().begin()
            await stage.fake.wait_for(lambda: stage.shown)
            await stage.fake.wait_for_idle()
            await _kill()
            async with again(stage) as second:
                await second.play([ANSWER])
                assert len(second.shown) == 1 and second.shown[0].startswith("30 days.")


async def test_steps_that_somebody_deleted_meanwhile_are_posted_anew() -> None:
    async with staged() as stage:
        first = stage.view()
        await first.begin()
        await stage.step(first, TURN[0])
        await first.close()
        stage.replies[0].deleted = True
        await stage.play((*TURN, ANSWER))
        steps_and_answer(stage)


async def test_another_answer_takes_the_place_of_the_first() -> None:
    async with staged() as stage:
        long = "\n\n".join(f"{n}. Another answer." for n in range(2_000))
        await stage.play([Answered(long, turn="turn-1")])
        assert len(stage.replies) > 1
        await stage.play([ANSWER])
        assert stage.shown == ["30 days."] and votes(stage.replies[0].blocks)


async def test_a_second_attempt_with_fewer_steps_leaves_none_of_the_first() -> None:
    async with staged() as stage:
        first = stage.view("verbose")
        await first.begin()
        for event in TURN:
            await first.step(event)
        await stage.fake.wait_for(lambda: NAMED[-1] in stage.text)
        await first.close()
        await stage.play((*TURN[-1:], ANSWER), "verbose")
        assert stage.shown[:-1] == NAMED[-1:] and stage.shown[-1].startswith("30 days.")


async def test_a_turn_that_goes_on_elsewhere_keeps_its_message() -> None:
    async with staged(without=(STATUS,)) as stage:
        first = stage.view()
        await first.begin()
        await stage.fake.wait_for(lambda: "🧠 Thinking…" in stage.text)
        await stage.fake.wait_for_idle()
        await first.close()
        assert stage.shown == ["🧠 Thinking…"] and not stage.replies[0].streaming
        await stage.play((*TURN, ANSWER))
        steps_and_answer(stage)


async def test_a_question_that_is_taken_back_takes_its_steps_with_it() -> None:
    for without in ((), STREAMS):
        async with staged(without=without) as stage:
            view = stage.view()
            await view.begin()
            await stage.step(view, TURN[0])
            await view.close()
            await view.remove()
            assert stage.shown == []
