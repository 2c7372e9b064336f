"""Calls wait for their turn so that Slack does not have to refuse them, and what people wait for goes first."""

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from adapters.shared.rate_limit import CallTicket, Limit, Priority
from adapters.slack.transport.idempotency import Mark
from adapters.slack.transport.rate_limits import Pacer
from tests.adapters.slack.clocks import Time, connected
from tests.fakes.slack import FakeSlack


class Night:
    """Virtual time: it passes to the next sleeper's end whenever nothing else can happen."""

    def __init__(self) -> None:
        self.now = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + seconds, next(self._numbers), future))
        await future

    async def of(self, *work: Awaitable[Any] | Coroutine[Any, Any, Any]) -> None:
        """Until all of it is done."""
        done = asyncio.gather(*work)
        while not done.done():
            for _ in range(10):
                await asyncio.sleep(0)
            if not done.done() and self._sleepers:
                until, _, future = heapq.heappop(self._sleepers)
                if not future.done():
                    self.now = max(self.now, until)
                    future.set_result(None)
        await done


@pytest.fixture
def night() -> Night:
    return Night()


@pytest.fixture
def pacer(night: Night) -> Pacer:
    return Pacer(clock=night, sleep=night.sleep)


def noting(night: Night, times: list[float]) -> Callable[[Awaitable[None]], Coroutine[Any, Any, None]]:
    async def noted(turn: Awaitable[None]) -> None:
        await turn
        times.append(round(night.now, 3))

    return noted


async def test_a_burst_then_an_even_pace(night: Night, pacer: Pacer) -> None:
    times: list[float] = []
    noted = noting(night, times)
    await night.of(*(noted(pacer.turn("chat.postMessage", "C1")) for _ in range(6)))
    assert times == [0, 0, 0, 1, 2, 3]


async def test_processes_that_share_a_limit_keep_it_together_and_each_its_own_order(night: Night) -> None:
    buckets: dict[str, float] = {}

    async def shared(name: str, limit: Limit) -> float:
        every = 60 / limit.a_minute
        full_at = max(buckets.get(name, night.now), night.now) + every
        if (missing := full_at - night.now - limit.burst * every) > 1e-6:
            return missing
        buckets[name] = full_at
        return 0.0

    pacers = [Pacer(clock=night, sleep=night.sleep, shared=shared) for _ in range(3)]
    times: list[float] = []
    order: list[list[str]] = [[], [], []]

    async def turn(number: int, worth: Priority, name: str) -> None:
        await pacers[number].turn("chat.postMessage", "C1", worth)
        times.append(round(night.now, 3))
        order[number].append(name)

    works = [turn(n, Priority.STEP, f"step {k}") for n in range(3) for k in range(4)]
    await night.of(*works, *(turn(n, Priority.FINAL, "answer") for n in range(3)))
    assert len(times) == 15 and all(sum(at <= each < at + 1 for each in times) <= 3 for at in times)
    assert times[-1] == 12 and set(buckets) == {"chat.postMessage:C1", "chat.postMessage"}
    assert all(each.index("answer") <= 3 for each in order)  # before what waits with it

    ticket = CallTicket(Priority.STEP)
    ticket.drop()
    buckets["chat.postMessage:C1"] = night.now + 10_000
    await pacers[0].turn("chat.postMessage", "C1", ticket)  # nobody waits for what is not to be said any more


@pytest.mark.parametrize(
    ("method", "a_minute"),
    [("chat.update", 50), ("chat.appendStream", 100), ("chat.startStream", 20), ("users.info", 100), ("made.up", 50)],
)
async def test_no_minute_has_more_than_its_tier(night: Night, pacer: Pacer, method: str, a_minute: int) -> None:
    times: list[float] = []
    noted = noting(night, times)
    await night.of(*(noted(pacer.turn(method)) for _ in range(3 * a_minute)))
    for start in times:
        assert sum(start <= each < start + 60 for each in times) <= a_minute
    assert len(times) / max(times) * 60 > a_minute / 2  # and it is no slower than it has to be


async def test_channels_do_not_wait_for_each_other_but_the_workspace_has_a_limit(night: Night, pacer: Pacer) -> None:
    times: list[float] = []
    noted = noting(night, times)
    await night.of(*(noted(pacer.turn("chat.postMessage", f"C{n}")) for n in range(40)))
    assert set(times) == {0}
    await night.of(*(noted(pacer.turn("chat.postMessage", f"C{n}")) for n in range(40, 300)))
    assert times[-1] == pytest.approx(60, abs=0.01)


async def test_what_people_wait_for_goes_first(night: Night, pacer: Pacer) -> None:
    order: list[str] = []

    async def call(name: str, priority: Priority) -> None:
        await pacer.turn("chat.update", "", priority)
        order.append(name)

    async def later(name: str, priority: Priority) -> None:
        await night.sleep(1.0)  # while the first of the others watches the clock
        await call(name, priority)

    await night.of(*(pacer.turn("chat.update") for _ in range(10)))
    await night.of(
        call("step 1", Priority.STEP),
        call("step 2", Priority.STEP),
        later("read", Priority.ORDINARY),
        later("answer", Priority.FINAL),
        later("answer 2", Priority.FINAL),
    )
    assert order == ["answer", "answer 2", "read", "step 1", "step 2"]


async def test_a_pause_holds_for_all_calls_of_the_kind_and_no_others(night: Night, pacer: Pacer) -> None:
    times: list[float] = []
    noted = noting(night, times)
    pacer.pause("chat.postMessage", "C1", 30)
    pacer.pause("chat.postMessage", "C1", 10)  # a shorter one does not shorten it
    assert pacer.wait("chat.postMessage", "C1") == 30
    await night.of(pacer.turn("chat.postMessage", "C2"), pacer.turn("chat.update"))
    assert night.now == 0
    await night.of(*(noted(pacer.turn("chat.postMessage", "C1")) for _ in range(3)))
    assert times == [30, 31, 32]  # one, then at the ordinary pace


async def test_a_pause_is_noticed_by_those_who_wait_already(night: Night, pacer: Pacer) -> None:
    times: list[float] = []
    noted = noting(night, times)

    async def refused() -> None:
        await night.sleep(0.5)
        pacer.pause("chat.postMessage", "C1", 20)

    await night.of(*(noted(pacer.turn("chat.postMessage", "C1")) for _ in range(4)), refused())
    assert times == [0, 0, 0, 20.5]


async def test_who_gives_up_holds_nobody_up(night: Night, pacer: Pacer) -> None:
    times: list[float] = []
    noted = noting(night, times)
    await night.of(*(pacer.turn("chat.postMessage", "C1") for _ in range(3)))
    first, second, third = (asyncio.create_task(noted(pacer.turn("chat.postMessage", "C1"))) for _ in range(3))
    await asyncio.sleep(0)
    second.cancel()
    first.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    await night.of(third)
    assert times == [1]


async def test_how_long_a_call_would_wait(night: Night, pacer: Pacer) -> None:
    assert pacer.wait("chat.startStream") == 0
    await night.of(*(pacer.turn("chat.startStream") for _ in range(8)))
    assert pacer.wait("chat.startStream") == 5
    waiting = asyncio.create_task(pacer.turn("chat.startStream"))
    await asyncio.sleep(0)
    assert pacer.wait("chat.startStream") == 10
    waiting.cancel()


async def test_quiet_channels_are_forgotten_and_busy_ones_are_not(night: Night, pacer: Pacer) -> None:
    for n in range(3_000):
        await night.of(pacer.turn("chat.postMessage", f"C{n}"))
        night.now += 0.25
    pacer.pause("chat.postMessage", "C1", 100)
    for n in range(3_000, 5_000):
        await night.of(pacer.turn("chat.postMessage", f"C{n}"))
        night.now += 0.01
    assert len(pacer._buckets) < 1_500
    assert pacer.wait("chat.postMessage", "C1") > 0


async def test_fifty_turns_in_one_channel_are_hardly_ever_refused() -> None:
    async with FakeSlack(scale=0) as fake:
        time = Time(fake)
        async with connected(fake, time) as slack:
            root = await fake.says("C1", "U1", "How long?")

            async def turn(n: int) -> None:
                steps = await slack.post("C1", text="…", thread=root, mark=Mark(f"{n}", "steps", 0))
                for step in range(3):
                    await slack.update("C1", steps, text=f"step {step} of {n}")
                await slack.post("C1", text=f"answer {n}", thread=root, mark=Mark(f"{n}", "answer", 0))
                await slack.update("C1", steps, text=f"done {n}", last=True)

            await asyncio.gather(*(turn(n) for n in range(50)))
        texts = [each.text for each in fake.replies(root)]
        assert sorted(texts) == sorted(f"{what} {n}" for what in ("answer", "done") for n in range(50))
        limited = [entry for entry in fake.journal.entries if entry.status == 429]
        assert len(limited) <= len(fake.journal.entries) / 100
