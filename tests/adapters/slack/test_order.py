"""Whatever Slack does with a turn's calls, in the end its steps are above its answer, and nothing else is in the
thread.

Source: product.md §1 (the answer is never above its steps); reliability.md R6, R28.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from adapters.shared.rate_limit import CallTicket, Priority
from adapters.slack.transport.api import SlackApi
from agent.events import Answered, Drafted
from bot.types import StepsShown
from tests.adapters.slack.stage import ANSWER, LINES, NAMED, STATUS, STREAMS, TURN, Stage, again, staged
from tests.adapters.slack.test_taken_up import _kill
from tests.fakes.slack_gate import CUT_AFTER, Hold, error, held, ratelimited

SERVERS = {"all": (), "old": (*STREAMS, STATUS)}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for seconds."""
    monkeypatch.setattr("adapters.slack.rendering.steps.WHOLE_SECONDS", 0.02)
    monkeypatch.setattr("adapters.slack.rendering.steps.IN_VIEW_SECONDS", 0.1)
    monkeypatch.setattr("adapters.slack.rendering.step_message.STARTING_SECONDS", 0.1)
    monkeypatch.setattr("adapters.slack.turn_view.SIGN_SECONDS", 0.1)


def is_of(kind: str, given: dict[str, Any]) -> bool:
    return f"'{kind}'" in str(given.get("metadata"))


def in_order(stage: Stage, *, whole: bool) -> None:
    """The steps (`whole`: all of them; else the first ones, or none), then the answer; nothing waits or is at work."""
    *steps, answer = stage.shown
    assert answer.startswith("30 days.") and not any(message.streaming for message in stage.replies), stage.shown
    shown = [line for message in steps for line in message.splitlines()]
    told = NAMED if set(shown) - set(LINES) else LINES
    assert shown == told if whole else all(line in told for line in shown), stage.shown
    assert sorted(shown, key=told.index) == shown or not whole


async def ends(stage: Stage, view: Any, hold: Hold) -> None:
    """The turn's end, with what is held let go on once the answer is there, or waits for it itself."""
    answering = asyncio.create_task(view.answer(ANSWER))
    await stage.fake.wait_for(lambda: answering.done() or is_of("answer", hold.arguments))
    hold.released.set()
    await answering
    await view.close()


def posts(stage: Stage) -> list[dict[str, Any]]:
    return [each.arguments for each in stage.fake.journal.calls("chat.postMessage")]


# -- whatever is late ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("without", "steps", "done"),
    [((), "live", False), ((), "live", True), (SERVERS["old"], "live", False), (SERVERS["old"], "verbose", False)],
    ids=["stream", "stream done", "edits", "verbose"],
)
async def test_one_call_that_takes_long(without: tuple[str, ...], steps: StepsShown, done: bool) -> None:
    for at in range(1, 30, 4 if steps == "verbose" else 1):
        async with staged(without=without) as stage:
            hold, view = Hold(), stage.view(steps)
            stage.fake.fail("*", held(hold, done=done), calls=[at])
            await view.begin()
            for event in TURN:
                await view.step(event)
                if steps == "live":
                    await stage.fake.wait_for_idle(quiet=0.005)
            await ends(stage, view, hold)
            in_order(stage, whole=False)
            if not hold.reached.is_set():
                in_order(stage, whole=True)
                return
    raise AssertionError("a turn of so many requests?")


async def test_what_begins_after_the_bot_has_given_it_up_is_taken_away() -> None:
    for method, without in (("chat.startStream", ()), ("chat.postMessage", STREAMS)):
        async with staged(without=without) as stage:
            hold, view = Hold(), stage.view()
            stage.fake.fail(method, held(hold), calls=[1])
            await view.begin()
            for event in TURN:
                await view.step(event)
            await ends(stage, view, hold)
            in_order(stage, whole=method == "chat.startStream")  # which is tried in another way


async def test_a_sign_that_comes_late_goes() -> None:
    for done in (False, True):
        async with staged(without=SERVERS["old"]) as stage:
            hold, view = Hold(), stage.view()
            stage.fake.fail("chat.postMessage", held(hold, done=done), calls=[1])
            await view.begin()
            await hold.reached.wait()
            await ends(stage, view, hold)
            assert stage.shown == ["30 days."]


async def test_a_turn_that_ends_before_its_first_step_was_posted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("steps.WHOLE_SECONDS", "step_message.STARTING_SECONDS"):  # on a busy machine Slack is slow, too
        monkeypatch.setattr(f"adapters.slack.rendering.{name}", 60.0)
    for steps in ("live", "verbose"):
        for without in SERVERS.values():
            async with staged(without=without) as stage:
                view = stage.view(steps)
                await view.begin()
                for event in TURN:
                    await view.step(event)  # nothing has reached Slack
                await view.answer(ANSWER)
                in_order(stage, whole=True)
                await view.close()
                in_order(stage, whole=True)


# -- Slack's limits --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["chat.postMessage", "chat.startStream", "chat.appendStream", "chat.update"])
async def test_limits_of_one_method_keep_the_order(method: str) -> None:
    for without in SERVERS.values():
        async with staged(without=without) as stage:
            stage.fake.fail(method, ratelimited(20), where=lambda given: given.get("channel") == "C1", calls=[1, 3])
            view = stage.view()
            await view.begin()
            await stage.fake.wait_for(lambda: stage.status or stage.shown)
            for event in TURN[:4]:
                await (view.step(event) if isinstance(event, Drafted) else stage.step(view, event))
            for event in TURN[4:]:
                await view.step(event)
            await view.answer(ANSWER)
            await view.close()
            in_order(stage, whole=True)


class Standing:
    """The client's clock, which stands still until a test lets those sleep out who sleep."""

    def __init__(self) -> None:
        self.now = 0.0
        self._sleepers: list[tuple[float, asyncio.Event]] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        self._sleepers.append((self.now + seconds, woken))
        await woken.wait()

    def go_on(self) -> None:
        sleepers, self._sleepers = self._sleepers, []
        for until, woken in sleepers:
            self.now = max(self.now, until)
            woken.set()


@asynccontextmanager
async def standing(stage: Stage) -> AsyncIterator[Standing]:
    """The stage with a client whose next message in the channel waits."""
    time = Standing()
    async with SlackApi(stage.fake.bot_token, stage.fake.api_url, clock=time, sleep=time.sleep) as stage.slack:
        await stage.slack.identify()
        for number in range(3):
            await stage.slack.post("C1", text=f"Others {number}")
        yield time


async def until(look: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not look():  # noqa: ASYNC110  # what is looked at tells nobody
            await asyncio.sleep(0)


async def queued(stage: Stage, count: int, priority: Priority = Priority.FINAL) -> None:
    """Until so many messages of this priority or a better one wait."""
    await until(lambda: stage.slack.wait("chat.postMessage", "C1", priority) >= count + 1)


async def goes_on(time: Standing, *tasks: "asyncio.Task[Any]") -> None:
    """Let time pass until they are done."""
    while not all(task.done() for task in tasks):
        time.go_on()
        await asyncio.sleep(0.001)


async def test_steps_that_wait_go_before_their_answer_and_before_others_steps() -> None:
    async with staged(without=STREAMS) as stage, standing(stage) as time:
        ticket = CallTicket(Priority.STEP)
        others = [asyncio.create_task(stage.slack.post("C1", text="Other", ticket=ticket)) for _ in range(5)]
        await asyncio.sleep(0)
        view = stage.view()
        await view.begin()
        for event in TURN:
            await view.step(event)
        answering = asyncio.create_task(view.answer(ANSWER))
        await queued(stage, 1)
        time.go_on()
        await stage.fake.wait_for(lambda: stage.shown)
        assert not any(other.done() for other in others)
        await goes_on(time, answering)
        await view.close()
        in_order(stage, whole=True)
        ticket.drop()
        time.go_on()
        await asyncio.gather(*others, return_exceptions=True)


async def test_where_too_many_are_in_front_the_answer_does_without_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.slack.rendering.steps.IN_VIEW_SECONDS", 600.0)
    async with staged(without=STREAMS) as stage, standing(stage) as time:
        others = [asyncio.create_task(stage.slack.post("C1", text="Another answer")) for _ in range(6)]
        await asyncio.sleep(0)
        view = stage.view()
        await view.begin()
        for event in TURN:
            await view.step(event)
        answering = asyncio.create_task(view.answer(ANSWER))
        await until(lambda: stage.rows.of_kind("answer"))  # it is about to be posted
        await goes_on(time, answering, *others)
        await view.close()
        assert stage.shown == ["30 days."] and not any(is_of("steps", each) for each in posts(stage))
        assert not stage.fake.journal.calls("conversations.replies")  # what was never sent is not looked for


async def test_a_sign_that_still_waits_is_never_posted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.slack.rendering.steps.WHOLE_SECONDS", 600.0)
    async with staged(without=SERVERS["old"]) as stage, standing(stage) as time:
        view = stage.view()
        await view.begin()
        await queued(stage, 1, Priority.STEP)
        answering = asyncio.create_task(view.answer(ANSWER))
        await queued(stage, 1)
        await goes_on(time, answering)
        await view.close()
        assert stage.shown == ["30 days."] and not any(is_of("steps", each) for each in posts(stage))


async def test_an_edit_that_still_waits_is_left_to_the_last_one() -> None:
    async with staged(without=STREAMS) as stage, standing(stage) as time:
        view = stage.view()
        await view.begin()
        await view.step(TURN[0])
        while not stage.shown:
            time.go_on()
            await asyncio.sleep(0.001)
        stage.fake.fail("chat.update", ratelimited(5), calls=[1])
        await view.step(TURN[1])
        await stage.fake.wait_for(lambda: stage.fake.journal.calls("chat.update"))
        for event in TURN[2:]:
            await view.step(event)
        answering = asyncio.create_task(view.answer(ANSWER))
        await until(lambda: stage.rows.of_kind("answer"))  # it is about to be posted
        await goes_on(time, answering)
        await goes_on(time, asyncio.create_task(view.close()))
        in_order(stage, whole=True)
        assert len(stage.calls("chat.update")) == 1


# -- what fails ------------------------------------------------------------------------------------------------------


async def test_a_message_that_nobody_may_delete_waits_for_nothing_any_more() -> None:
    async with staged(without=SERVERS["old"]) as stage:
        stage.fake.fail("chat.delete", error("compliance_exports_prevent_deletion"))
        view = stage.view(language="ja")
        await view.begin()
        await stage.comes_to_show("🧠 考えています…")
        await view.answer(Answered("30 日です。", turn="turn-1"))
        await view.close()
        assert stage.shown == ["完了しました。", "30 日です。"]


async def test_the_last_edit_is_tried_again() -> None:
    async with staged(without=SERVERS["old"]) as stage:
        view = stage.view()
        await view.begin()
        await stage.comes_to_show("🧠 Thinking…")
        stage.fake.fail("chat.update", error("fatal_error"), calls=range(1, 8))  # more than one call's tries
        for event in TURN:
            await view.step(event)
        await view.answer(ANSWER)
        await view.close()
        in_order(stage, whole=True)


async def test_steps_that_take_no_edits_are_not_begun_again_below_the_answer() -> None:
    async with staged(without=STREAMS) as stage:
        hold, view = Hold(), stage.view()
        await view.begin()
        await stage.step(view, TURN[0])
        stage.fake.fail("chat.update", held(hold), calls=[1])
        stage.fake.fail("chat.update", error("edit_window_closed"), calls=[2, 3, 4])
        await view.step(TURN[1])
        await hold.reached.wait()
        for event in TURN[2:]:
            await view.step(event)
        await ends(stage, view, hold)
        in_order(stage, whole=False)
        assert len(stage.shown) == 2


# -- a restart -------------------------------------------------------------------------------------------------------


async def test_nothing_is_begun_under_an_answer_that_is_there() -> None:
    for without in SERVERS.values():
        async with staged(without=(*without, STATUS)) as stage:
            first = stage.view("off")
            await first.begin()
            await first.answer(ANSWER)
            await _kill()
            async with again(stage) as second:
                await second.play((*TURN, ANSWER))
                in_order(second, whole=False)
                assert not [
                    each for each in second.fake.journal.calls("chat.postMessage") if is_of("steps", each.arguments)
                ]


async def test_a_sign_that_a_dead_process_posted_without_noting_it_goes() -> None:
    async with staged(without=SERVERS["old"]) as stage:
        stage.fake.fail("chat.postMessage", CUT_AFTER, where=partial(is_of, "steps"))
        view = stage.view()
        await view.begin()
        await stage.fake.wait_for(lambda: stage.shown)
        await _kill()
        assert stage.rows.of_kind("steps")[0].message is None
        async with again(stage) as second:
            await second.play([ANSWER])
            assert second.shown == ["30 days."]
