"""Claimed once, one at a time in a thread, found again after a crash: with several inboxes on one database."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event, select, text, update
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.events import Answered
from bot.errors import LostError, StoreError
from bot.store.engine import connect, read, write
from bot.store.leases import inherit
from bot.store.schema import answers, turns
from bot.store.turns import TurnStore
from bot.turns.queue import LEASE, QUEUE, TurnQueue
from bot.types import Audience, Claimed, Incoming, Place
from tests.adapters.acting import until
from tests.bot import databases
from tests.bot.broken import without

ROOT = Path(__file__).parents[3]
DONE = Answered("はい。")


class Clock:
    """The wall clock of a test: it moves when it is told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, time: timedelta) -> None:
        self.now += time


def asked(message: str = "1", thread: str = "t", channel: str = "C", platform: str = "slack") -> Incoming:
    return Incoming(
        place=Place(platform, "T", channel),
        thread=thread,
        message=message,
        author="U",
        text=f"質問 {message}",
        audience=Audience("private"),
        language="ja",
        link="https://l",
        model="extractive",
        strategy="react",
        collections=("handbook", "faq"),
    )


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def process(engine: AsyncEngine, clock: Clock) -> AsyncIterator[Callable[[str], TurnQueue]]:
    """Another process, as far as the database can tell."""
    async with AsyncExitStack() as stack:

        def make(owner: str) -> TurnQueue:
            inbox = TurnQueue(TurnStore(engine), owner=owner, clock=clock)
            stack.push_async_callback(inbox.close)
            return inbox

        yield make


Process = Callable[[str], TurnQueue]


async def claimed(inbox: TurnQueue, message: Incoming) -> Claimed:
    found = await inbox.claim(message)
    assert found is not None
    return found


async def answer(inbox: TurnQueue, turn: Claimed) -> None:
    await inbox.start(turn)
    await inbox.finish(turn, DONE, [], ())
    await inbox.shown(turn)


async def states(engine: AsyncEngine) -> list[str]:
    async with read(engine) as db:
        return list(await db.scalars(select(turns.c.state).order_by(turns.c.sequence)))


# -- once -----------------------------------------------------------------------------------------------------------


async def test_a_question_is_claimed_once(process: Process, engine: AsyncEngine) -> None:
    one, two = process("one"), process("two")
    first = await claimed(one, asked())
    assert first.message == asked()
    assert await one.claim(asked()) is None
    assert await two.claim(replace(asked(), text="edited", thread="elsewhere")) is None
    await answer(one, first)
    assert await one.claim(asked()) is None
    assert await two.claim(asked()) is None
    assert await states(engine) == ["done"]


async def test_what_makes_two_questions_different(process: Process) -> None:
    inbox = process("one")
    for message in (
        asked(),
        asked(message="2"),
        asked(channel="C2"),
        asked(platform="discord"),
        replace(asked(), place=Place("slack", "T2", "C")),
    ):
        await claimed(inbox, message)


async def test_50_deliveries_to_five_processes_are_one_turn(process: Process, engine: AsyncEngine) -> None:
    inboxes = [process(str(number)) for number in range(5)]
    found = await asyncio.gather(*(inbox.claim(asked()) for inbox in inboxes for _ in range(10)))
    assert sum(turn is not None for turn in found) == 1
    assert len(await states(engine)) == 1


async def test_a_burst_of_1000_shares_its_commits(process: Process, engine: AsyncEngine) -> None:
    """R1: a commit a question would keep the last of a burst waiting for seconds."""
    commits: list[object] = []
    event.listen(engine.sync_engine, "commit", commits.append)
    inbox = process("one")
    found = await asyncio.gather(*(inbox.claim(asked(str(number % 900), thread=str(number))) for number in range(1000)))
    assert [turn is not None for turn in found] == [True] * 900 + [False] * 100
    assert all(turn.message == asked(str(number), thread=str(number)) for number, turn in enumerate(found) if turn)
    assert len(commits) <= 10


async def test_a_question_that_cannot_be_stored_does_not_take_others_with_it(
    process: Process, engine: AsyncEngine
) -> None:
    if engine.dialect.name == "sqlite":
        pytest.skip("SQLite takes text of any length")
    inbox = process("one")
    good, bad, also_good = await asyncio.gather(
        inbox.claim(asked("1")), inbox.claim(asked("2" * 100)), inbox.claim(asked("3")), return_exceptions=True
    )
    assert isinstance(good, Claimed) and isinstance(also_good, Claimed)
    assert isinstance(bad, StoreError)


async def test_a_claim_whose_asker_is_cancelled_is_not_kept(process: Process) -> None:
    inbox = process("one")
    asking = asyncio.create_task(inbox.claim(asked()))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await claimed(inbox, asked("later", thread="other"))  # stored after it
    assert await process("two").unfinished("slack") == [asked()]


async def test_text_that_databases_do_not_take_is_taken(process: Process) -> None:
    turn = await claimed(process("one"), replace(asked(), text="a\0b\udcffc"))
    assert turn.message.text == "ab\ufffdc"


@settings(max_examples=15)
@given(
    events=st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=25),
    restart_after=st.integers(0, 25),
)
def test_any_interleaving_of_duplicates_and_a_restart_answers_each_once(
    events: list[tuple[int, bool]], restart_after: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """R2, R3. `True`: the process answers at once; `False`: it is still working when the next event comes."""
    url = databases.made(tmp_path_factory.mktemp("inbox") / "x.db")

    async def play() -> None:
        engine, clock, answered = connect(url), Clock(), Counter[str]()
        rows = TurnStore(engine)
        inboxes = [TurnQueue(rows, owner="one", clock=clock), TurnQueue(rows, owner="two", clock=clock)]

        async def take(message: Incoming, at_once: bool, inbox: TurnQueue) -> None:
            turn = await inbox.claim(message)
            if turn is not None and at_once:
                await answer(inbox, turn)
                answered[message.message] += 1

        for number, (message, at_once) in enumerate(events):
            if number == restart_after:
                clock.pass_(LEASE)
                inboxes = [TurnQueue(rows, owner="three", clock=clock), *inboxes[1:]]
            await take(asked(message=str(message), thread=str(message)), at_once, inboxes[number % 2])
        clock.pass_(LEASE)
        last = TurnQueue(rows, owner="last", clock=clock)
        for left in await last.unfinished("slack"):
            await take(left, True, last)
        assert await last.unfinished("slack") == []
        assert answered == Counter({str(message): 1 for message, _ in events})
        await asyncio.gather(*(inbox.close() for inbox in (*inboxes, last)))
        await engine.dispose()

    asyncio.run(play())


async def test_a_cancelled_claim_in_a_batch_does_not_take_others_with_it(process: Process) -> None:
    """Two claims of one thread gather while a first is stored; whoever asked for the earlier one goes meanwhile."""
    inbox = process("one")
    asking = [
        asyncio.create_task(inbox.claim(asked(str(number), thread=thread))) for number, thread in enumerate("axx")
    ]
    await asyncio.sleep(0)
    asking[1].cancel()
    first, gone, stays = await asyncio.gather(*asking, return_exceptions=True)
    assert isinstance(first, Claimed) and isinstance(gone, asyncio.CancelledError) and isinstance(stays, Claimed)
    await answer(inbox, stays)  # what was given back does not hold it up
    assert await process("two").unfinished("slack") == [asked("1", thread="x")]


# -- stopped --------------------------------------------------------------------------------------------------------


async def test_a_stop_takes_a_persons_questions_of_a_thread_from_whoever_works_on_them(
    process: Process, engine: AsyncEngine
) -> None:
    def note(message: Incoming) -> Answered:
        return Answered(f"中止: {message.text}", outcome="declined")

    working, other = process("working"), process("other")
    running = await claimed(working, asked("1"))
    await working.start(running)
    await claimed(working, asked("2"))
    await claimed(working, replace(asked("3"), author="V"))
    await claimed(working, asked("10"))
    for elsewhere in (asked("4", thread="u"), asked("5", channel="C2")):
        await claimed(working, elsewhere)
    stopped = await other.stop(asked().place, "t", "U", until="9", note=note)
    assert [each.message.message for each in stopped.ended] == ["1", "2"]
    assert [each.message.message for each in stopped.left] == ["3", "10"]
    again = await other.stop(asked().place, "t", "U", until="9", note=note)
    assert not again.ended and len(again.left) == 2
    with pytest.raises(LostError):
        await working.finish(running, DONE, [], ())
    await working.release(running)
    (first, second) = await other.unfinished("slack")
    for message in (first, second):
        taken = await claimed(other, message)
        assert taken.answered and taken.retaken
        started = await other.start(taken)
        assert started.answer is not None and started.answer.text == f"中止: {message.text}"
        assert started.answer.outcome == "declined"
        await other.shown(taken)
    assert (await states(engine))[:2] == ["done", "done"] and not await other.unfinished("slack")


# -- one at a time --------------------------------------------------------------------------------------------------


async def test_a_thread_is_answered_in_its_order_and_others_beside_it(process: Process) -> None:
    inbox = process("one")
    first, second = await claimed(inbox, asked("1")), await claimed(inbox, asked("2"))
    other = await claimed(inbox, asked("3", thread="other"))
    await inbox.start(first)
    waiting = asyncio.create_task(inbox.start(second))
    await answer(inbox, other)
    assert not waiting.done()
    await inbox.finish(first, DONE, [], ())
    await inbox.shown(first)
    assert (await waiting).attempt == 1


async def test_the_order_holds_across_processes(process: Process) -> None:
    one, two = process("one"), process("two")
    first, second = await claimed(one, asked("1")), await claimed(two, asked("2"))
    waiting = asyncio.create_task(two.start(second))
    await inbox_idle(waiting)
    await answer(one, first)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await waiting
    assert loop.time() - began < LEASE.total_seconds() / 2


async def inbox_idle(task: asyncio.Task[object]) -> None:
    """Until the task waits for something that is not coming soon."""
    done, _ = await asyncio.wait({task}, timeout=0.2)
    assert not done


async def test_an_answer_that_could_not_be_marked_as_shown_is_marked_later(engine: AsyncEngine) -> None:
    inbox = TurnQueue(TurnStore(engine), lease=timedelta(seconds=6))  # it is looked at after two
    turn = await claimed(inbox, asked())
    await inbox.start(turn)
    await inbox.finish(turn, DONE, [], ())
    async with without(engine, "turns"):
        await inbox.shown(turn)
    assert await states(engine) == ["answered"]
    await until(lambda: states(engine), lambda found: found == ["done"])
    await inbox.close()


async def test_200_questions_in_50_threads_to_three_processes(process: Process, engine: AsyncEngine) -> None:
    """R9: never two of a thread at once, each thread in the order of its claims."""
    inboxes = [process(str(number)) for number in range(3)]
    chance = random.Random(9)
    running: Counter[str] = Counter()
    order: dict[str, list[int]] = {}

    async def work(inbox: TurnQueue, turn: Claimed) -> None:
        thread = turn.message.thread
        await inbox.start(turn)
        running[thread] += 1
        assert running[thread] == 1
        order.setdefault(thread, []).append(turn.sequence)
        await inbox.finish(turn, DONE, [], ())
        running[thread] -= 1
        await inbox.shown(turn)

    held = []
    count = 200 if engine.dialect.name == "sqlite" else 40
    for number in range(count):
        inbox = inboxes[(number // 4) % 3] if number % 20 else chance.choice(inboxes)
        held.append((inbox, await claimed(inbox, asked(str(number), thread=str(number // 4)))))
    chance.shuffle(held)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for inbox, turn in held:
            group.create_task(work(inbox, turn))
    assert len(order) == count // 4 and all(found == sorted(found) and len(found) == 4 for found in order.values())
    assert set(await states(engine)) == {"done"}


async def test_a_claim_in_a_free_thread_starts_with_it(process: Process, engine: AsyncEngine) -> None:
    """A commit less between the question and the first thought."""
    if engine.dialect.name != "sqlite":
        pytest.skip("elsewhere the claims of others show only once they are committed")
    commits: list[object] = []
    event.listen(engine.sync_engine, "commit", commits.append)
    inbox = process("one")
    turn = await claimed(inbox, asked())
    assert (await inbox.start(turn)).attempt == 1
    assert len(commits) == 1
    assert await attempts(engine) == [("running", 1)]


async def attempts(engine: AsyncEngine) -> list[tuple[str, int]]:
    async with read(engine) as db:
        return [
            tuple(row) for row in await db.execute(select(turns.c.state, turns.c.attempts).order_by(turns.c.sequence))
        ]


async def test_of_two_claims_of_a_thread_in_one_batch_the_first_runs(process: Process) -> None:
    inbox = process("one")
    gathered = await asyncio.gather(
        inbox.claim(asked("0", thread="other")),  # the others arrive while this one is stored
        *(inbox.claim(asked(str(number))) for number in (1, 2, 2, 3)),
    )
    _, first, second, again, third = gathered
    assert first is not None and second is not None and again is None and third is not None
    assert first.sequence < second.sequence < third.sequence
    waiting = [asyncio.create_task(inbox.start(turn)) for turn in (third, second)]
    await inbox_idle(waiting[1])
    await answer(inbox, first)
    assert (await waiting[1]).attempt == 1
    assert not waiting[0].done()
    await inbox.finish(second, DONE, [], ())
    await inbox.shown(second)
    assert (await waiting[0]).attempt == 1


@pytest.mark.parametrize("state", ["waiting", "running", "answered"])
async def test_another_process_holds_the_thread_at_the_claim(process: Process, clock: Clock, state: str) -> None:
    other, inbox = process("other"), process("one")
    theirs = await claimed(other, asked("1"))
    if state != "waiting":
        await other.start(theirs)
    if state == "answered":
        await other.finish(theirs, DONE, [], ())
    second = await claimed(inbox, asked("2"))
    starting = asyncio.create_task(inbox.start(second))
    await inbox_idle(starting)
    clock.pass_(LEASE)  # it is dead; its turn does not hold up the thread
    assert (await starting).attempt == 1


async def test_a_thread_that_was_left_behind_does_not_hold_up_a_claim(
    process: Process, clock: Clock, engine: AsyncEngine
) -> None:
    dead, one, two = process("dead"), process("one"), process("two")
    left = await claimed(dead, asked("1"))
    clock.pass_(LEASE)
    second = await claimed(one, asked("2"))
    assert (await one.start(second)).attempt == 1
    taken = await claimed(two, left.message)
    taking_over = asyncio.create_task(two.start(taken))
    await inbox_idle(taking_over)  # one at a time, also when the order is lost
    await one.finish(second, DONE, [], ())
    await one.shown(second)
    began_with_its_claim = engine.dialect.name == "sqlite"
    assert (await taking_over).attempt == (2 if began_with_its_claim else 1)


async def test_two_that_the_dead_left_in_a_thread_do_not_wait_for_each_other(
    process: Process, clock: Clock, engine: AsyncEngine
) -> None:
    dead, late, one = process("dead"), process("late"), process("one")
    earlier = await claimed(dead, asked("1"))
    await dead.start(earlier)
    clock.pass_(LEASE)  # it runs no more, and nobody has taken it yet
    later = await claimed(late, asked("2"))
    await late.start(later)
    await late.finish(later, DONE, [], ())
    clock.pass_(LEASE)  # its answer was never shown
    first, second = await claimed(one, asked("1")), await claimed(one, asked("2"))
    waits = asyncio.create_task(one.start(first))
    shown = await asyncio.wait_for(one.start(second), 10)
    assert shown.answer is not None  # it has only to be shown
    await inbox_idle(waits)
    await one.shown(second)
    assert (await waits).answer is None
    assert await states(engine) == ["running", "done"]


async def test_the_queue_of_a_thread_is_bounded(process: Process) -> None:
    one, two = process("one"), process("two")
    running = await claimed(one, asked("running"))
    await one.start(running)
    waiting = [await claimed(one if number % 2 else two, asked(str(number))) for number in range(QUEUE)]
    assert not any(one.busy(turn) for turn in waiting)
    assert one.busy(await claimed(one, asked("one too many")))
    assert not one.busy(await claimed(one, asked("elsewhere", thread="other")))


async def test_a_cancelled_wait_leaves_the_others_in_order(process: Process) -> None:
    inbox = process("one")
    first, second, third = [await claimed(inbox, asked(str(number))) for number in range(3)]
    await inbox.start(first)
    gone, stays = asyncio.create_task(inbox.start(second)), asyncio.create_task(inbox.start(third))
    await inbox_idle(gone)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    await inbox.release(second)
    await inbox.finish(first, DONE, [], ())
    await inbox.shown(first)
    assert (await stays).attempt == 1
    assert await inbox.unfinished("slack") == [second.message]


# -- after a crash --------------------------------------------------------------------------------------------------


async def test_the_turns_of_a_dead_process_are_found_when_its_lease_has_passed(process: Process, clock: Clock) -> None:
    dead, alive = process("dead"), process("alive")
    waiting, running = await claimed(dead, asked("1")), await claimed(dead, asked("2", thread="other"))
    await dead.start(running)
    other = await claimed(dead, asked("3", platform="discord"))
    assert await alive.unfinished("slack") == []
    clock.pass_(LEASE)
    assert await alive.unfinished("slack") == [waiting.message, running.message]
    assert await alive.unfinished("discord") == [other.message]
    taken = await claimed(alive, running.message)
    assert (taken.id, taken.sequence) == (running.id, running.sequence)
    assert (await alive.start(taken)).attempt == 2
    with pytest.raises(LostError):
        await dead.finish(running, DONE, [], ())
    await alive.finish(taken, DONE, [], ())
    await dead.shown(running)  # no longer its to say
    assert await alive.claim(running.message) is None
    await alive.shown(taken)
    clock.pass_(LEASE)
    assert await alive.unfinished("slack") == [waiting.message]


async def test_a_process_that_dies_right_after_its_claim_has_used_an_attempt(
    process: Process, clock: Clock, engine: AsyncEngine
) -> None:
    dead, alive = process("dead"), process("alive")
    await claimed(dead, asked())
    clock.pass_(LEASE)
    (message,) = await alive.unfinished("slack")
    taken = await claimed(alive, message)
    began_with_its_claim = engine.dialect.name == "sqlite"
    assert (await alive.start(taken)).attempt == (2 if began_with_its_claim else 1)
    await alive.finish(taken, DONE, [], ())
    await alive.shown(taken)
    assert await states(engine) == ["done"]


async def test_a_dead_turn_does_not_hold_up_its_thread(process: Process, clock: Clock) -> None:
    dead, alive = process("dead"), process("alive")
    await dead.start(await claimed(dead, asked("1")))
    second = await claimed(alive, asked("2"))
    waiting = asyncio.create_task(alive.start(second))
    await inbox_idle(waiting)
    clock.pass_(LEASE)
    await waiting


async def test_only_one_process_takes_over(process: Process, clock: Clock) -> None:
    await claimed(process("dead"), asked())
    clock.pass_(LEASE)
    found = await asyncio.gather(*(process(str(number)).claim(asked()) for number in range(8)))
    assert sum(turn is not None for turn in found) == 1


async def test_an_answer_that_was_stored_but_not_shown_is_kept_for_showing(process: Process, clock: Clock) -> None:
    dead, alive = process("dead"), process("alive")
    turn = await claimed(dead, asked())
    await dead.start(turn)
    given_answer = replace(DONE, model="m", seconds=1.5, searched=("handbook",), confidence=0.7, marked=True)
    await dead.finish(turn, given_answer, [], ())
    clock.pass_(LEASE)
    taken = await claimed(alive, (await alive.unfinished("slack"))[0])
    started = await alive.start(taken)
    assert started.answer == DONE and started.answer is not None
    assert (started.answer.model, started.answer.confidence, started.answer.turn) == ("m", 0.7, turn.id)
    await alive.shown(taken)
    clock.pass_(LEASE)
    assert await alive.unfinished("slack") == []


async def test_a_released_turn_is_found_at_once(process: Process) -> None:
    inbox = process("one")
    turn = await claimed(inbox, asked())
    await inbox.release(turn)
    assert await process("two").unfinished("slack") == [turn.message]


STEPS = [timedelta(minutes=10), timedelta(minutes=-10)]


@pytest.mark.parametrize("step", STEPS, ids=["forward", "back"])
async def test_no_step_of_the_clock_takes_a_turn_from_the_process_that_has_it(
    process: Process, clock: Clock, engine: AsyncEngine, step: timedelta
) -> None:
    inbox = process("one")
    running, waiting = await claimed(inbox, asked("1")), await claimed(inbox, asked("2"))
    await inbox.start(running)
    clock.pass_(step)  # as when a laptop wakes up, before its heartbeat has renewed anything
    assert await inbox.unfinished("slack") == []
    assert await inbox.claim(running.message) is None
    third = await claimed(inbox, asked("3"))
    assert not third.started and third.waiting == 1
    order = [asyncio.create_task(inbox.start(turn)) for turn in (waiting, third)]
    await inbox_idle(order[0])
    await inbox.finish(running, DONE, [], ())
    assert await inbox.unfinished("slack") == []  # its answer is on its way
    await inbox.shown(running)
    assert (await order[0]).attempt == 1 and not order[1].done()
    await inbox.finish(waiting, DONE, [], ())
    await inbox.shown(waiting)
    await order[1]
    await inbox.release(third)
    assert await inbox.unfinished("slack") == [third.message]  # given back, it is anybody's at once
    again = await claimed(inbox, third.message)
    await answer(inbox, again)
    assert await states(engine) == ["done"] * 3


@pytest.mark.parametrize("step", STEPS, ids=["forward", "back"])
async def test_the_next_process_of_a_home_takes_over_at_once_whatever_the_clock_says(
    engine: AsyncEngine, process: Process, clock: Clock, step: timedelta
) -> None:
    dead, alive = process("dead"), process("alive")
    running, other = await claimed(dead, asked("1")), await claimed(dead, asked("2", thread="other"))
    await dead.start(running)
    clock.pass_(step)
    await inherit(engine, clock())
    clock.pass_(-2 * step)
    assert await alive.unfinished("slack") == [running.message, other.message]
    assert (await alive.start(await claimed(alive, asked("3")))).attempt == 1  # the dead hold up nobody
    assert (await claimed(alive, running.message)).id == running.id


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
async def test_between_processes_the_clock_of_the_server_counts(url: str, clock: Clock) -> None:
    """Their own is far from the server's, and steps."""
    engine = connect(url)
    one, two = (TurnQueue(TurnStore(engine), owner=owner, clock=clock) for owner in ("one", "two"))
    turn = await claimed(one, asked())
    await one.start(turn)
    for number, step in enumerate((*STEPS, *reversed(STEPS))):
        clock.pass_(step)
        assert await two.unfinished("slack") == [] and await two.claim(turn.message) is None
        waiting = await claimed(two, asked(f"after {number}"))
        starting = asyncio.create_task(two.start(waiting))
        await inbox_idle(starting)
        starting.cancel()
        await asyncio.wait({starting})
        await two.cancel(waiting.message)
        await two.release(waiting)
        await TurnStore(engine).renew((turn.id,), owner="one", now=clock(), until=clock() + LEASE)
    async with write(engine) as db:
        await db.execute(update(turns).values(lease_until=text("clock_timestamp()")))
    assert await two.unfinished("slack") == [turn.message]
    assert (await claimed(two, turn.message)).id == turn.id
    await one.close()
    await two.close()
    await engine.dispose()


async def test_the_heartbeat_keeps_a_lease(engine: AsyncEngine, clock: Clock) -> None:
    lease = timedelta(seconds=0.3)  # a beat each 0.1 s of real time
    inbox, other = (TurnQueue(TurnStore(engine), owner=owner, lease=lease, clock=clock) for owner in ("one", "two"))
    turn = await claimed(inbox, asked())

    async def renewed() -> None:
        while True:
            async with read(engine) as db:
                if await db.scalar(select(turns.c.lease_until)) == clock.now + lease:
                    return

    for _ in range(5):
        clock.pass_(lease * 0.9)
        async with asyncio.timeout(30):
            await renewed()
        assert await other.claim(turn.message) is None
    await answer(inbox, turn)
    await inbox.close()
    await other.close()


async def test_killed_processes_lose_nothing_and_answer_nothing_twice(sqlite_url: str) -> None:
    """R5, with real processes: killed in the middle of claiming and answering."""
    acknowledged: list[str] = []
    for name, enough in (("a", 4), ("b", 11), ("c", 18)):
        worker = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.bot.turns.queue_worker", sqlite_url, name, cwd=ROOT, stdout=subprocess.PIPE
        )
        assert worker.stdout is not None
        acknowledged += [(await worker.stdout.readline()).decode().strip() for _ in range(enough)]
        os.kill(worker.pid, signal.SIGKILL)
        acknowledged += (await worker.stdout.read()).decode().split()
        await worker.wait()
    engine = connect(sqlite_url)
    inbox = TurnQueue(TurnStore(engine), clock=lambda: datetime.now(UTC) + LEASE)
    for message in await inbox.unfinished("slack"):
        turn = await claimed(inbox, message)
        if (await inbox.start(turn)).answer is None:  # else its process ended between the answer and showing it
            await inbox.finish(turn, DONE, [], ())
        await inbox.shown(turn)
    await inbox.close()
    async with read(engine) as db:
        assert await db.scalar(text("PRAGMA integrity_check")) == "ok"
        kept = list((await db.execute(select(turns.c.message, turns.c.state))).all())
        assert len(list(await db.scalars(select(answers.c.turn)))) == len(kept)
    assert {state for _, state in kept} == {"done"}
    assert all(acknowledged)
    assert set(acknowledged) <= {message for message, _ in kept}
    await engine.dispose()


# -- ending together --


async def test_turns_that_end_together_share_their_commits(process: Process, engine: AsyncEngine) -> None:
    inbox = process("one")
    held = [await claimed(inbox, asked(str(number), thread=str(number))) for number in range(20)]
    for turn in held:
        await inbox.start(turn)
    commits: list[object] = []
    event.listen(engine.sync_engine, "commit", commits.append)
    answers_given = [replace(DONE, text=f"{turn.message.message} はい。") for turn in held]
    await asyncio.gather(*(inbox.finish(*each, [], ()) for each in zip(held, answers_given, strict=True)))
    await asyncio.gather(*(inbox.shown(turn) for turn in held))
    assert len(commits) <= 4  # the first of each kind comes alone
    async with read(engine) as db:
        stored = {row.turn: row.text for row in await db.execute(select(answers.c.turn, answers.c.text))}
    assert stored == {turn.id: given.text for turn, given in zip(held, answers_given, strict=True)}
    assert set(await states(engine)) == {"done"}


async def test_a_turn_that_was_lost_does_not_take_those_with_it_that_end_together(
    process: Process, clock: Clock, engine: AsyncEngine
) -> None:
    inbox, other = process("one"), process("other")
    held = [await claimed(inbox, asked(str(number), thread=str(number))) for number in range(4)]
    for turn in held:
        await inbox.start(turn)
    clock.pass_(LEASE)
    await claimed(other, held[2].message)
    ended = await asyncio.gather(*(inbox.finish(turn, DONE, [], ()) for turn in held), return_exceptions=True)
    assert [type(result) for result in ended] == [type(None), type(None), LostError, type(None)]
    async with read(engine) as db:
        assert set(await db.scalars(select(answers.c.turn))) == {held[number].id for number in (0, 1, 3)}


async def test_an_answer_that_cannot_be_stored_does_not_take_those_with_it_that_end_together(
    process: Process, engine: AsyncEngine
) -> None:
    inbox = process("one")
    held = [await claimed(inbox, asked(str(number), thread=str(number))) for number in range(3)]
    for turn in held:
        await inbox.start(turn)
    given_answers = [DONE, DONE, replace(DONE, confidence=object())]  # type: ignore[arg-type]
    ended = await asyncio.gather(
        *(inbox.finish(turn, given, [], ()) for turn, given in zip(held, given_answers, strict=True)),
        return_exceptions=True,
    )
    assert ended[:2] == [None, None] and isinstance(ended[2], Exception)
    assert await states(engine) == ["answered", "answered", "running"]


async def test_cancelling_one_of_those_that_end_together_stores_them_all(process: Process, engine: AsyncEngine) -> None:
    inbox = process("one")
    held = [await claimed(inbox, asked(str(number), thread=str(number))) for number in range(3)]
    for turn in held:
        await inbox.start(turn)
    ending = [asyncio.create_task(inbox.finish(turn, DONE, [], ())) for turn in held]
    await asyncio.sleep(0)
    ending[1].cancel()
    results = await asyncio.gather(*ending, return_exceptions=True)
    assert [type(result) for result in results] == [type(None), asyncio.CancelledError, type(None)]
    assert await states(engine) == ["answered"] * 3


# -- a database that cannot store -----------------------------------------------------------------------------------


@pytest.fixture
async def locked(sqlite_url: str, tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    engine = connect(f"sqlite+aiosqlite:///file:{tmp_path / 'kotae.db'}?mode=ro&uri=true")
    yield engine
    await engine.dispose()


async def test_nothing_is_claimed_that_is_not_stored(locked: AsyncEngine) -> None:
    inbox = TurnQueue(TurnStore(locked))
    with pytest.raises(StoreError):
        await inbox.claim(asked())
    await inbox.close()
