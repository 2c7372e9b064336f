"""One of several processes holds a thing; another takes over when it is given back, or its holder's lease has passed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.operations import holding
from bot.operations.holding import LEASE, SURE_SECONDS, TAKEN_OVER_SECONDS, Holding
from bot.store.engine import change, connect, rows
from bot.store.exclusive import Leases
from bot.store.schema import leases
from tests.adapters.acting import until
from tests.bot.conftest import empty

WRONG = datetime(2001, 1, 1, tzinfo=UTC)


@pytest.fixture
def url(postgresql_database: str) -> str:
    empty(postgresql_database)
    return postgresql_database


class Steps:
    """Sleeps that end when a test says so, one at a time."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Event] = []

    async def sleep(self, seconds: float) -> None:
        event = asyncio.Event()
        self._waiting.append(event)
        await event.wait()

    async def go_on(self) -> None:
        """Once somebody sleeps, he sleeps no more."""

        async def asleep() -> bool:
            return bool(self._waiting)

        await until(asleep)
        self._waiting.pop(0).set()


class Process:
    """`clock`: of a machine whose own is wrong by years."""

    def __init__(self, engine: AsyncEngine, owner: str, clock: datetime = WRONG) -> None:
        self.engine, self.steps = engine, Steps()
        self.holding = Holding(Leases(engine), owner=owner, clock=lambda: clock, sleep=self.steps.sleep)
        self.has, self.lost, self.let_go = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.task = asyncio.create_task(self._hold())

    async def _hold(self) -> None:
        async with self.holding.hold("discord") as lost:
            self.has.set()
            waits = [asyncio.create_task(each.wait()) for each in (lost, self.let_go)]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in waits:
                    each.cancel()
            if lost.is_set():
                self.lost.set()


@asynccontextmanager
async def processes(url: str, *clocks: datetime, owner: str = "p") -> AsyncIterator[list[Process]]:
    engines = [connect(url) for _ in clocks]
    made = [
        Process(engine, f"{owner}{n}", clock) for n, (engine, clock) in enumerate(zip(engines, clocks, strict=True))
    ]
    try:
        yield made
    finally:
        for each in made:
            each.task.cancel()
        await asyncio.gather(*(each.task for each in made), return_exceptions=True)
        for engine in engines:
            await engine.dispose()


async def soon(event: asyncio.Event) -> None:
    await asyncio.wait_for(event.wait(), 20)


async def left(engine: AsyncEngine) -> timedelta:
    """Of the lease, by the database's clock."""
    ((seconds,),) = await rows(engine, select(func.extract("epoch", leases.c.until - func.clock_timestamp())))
    return timedelta(seconds=float(seconds))


async def steps_on(engine: AsyncEngine, by: timedelta) -> None:
    """Time passes, as far as the lease is concerned."""
    passed = text("UPDATE leases SET until = until - make_interval(secs => :seconds)")
    await change(engine, lambda db: db.execute(passed, {"seconds": by.total_seconds()}))


async def test_one_holds_and_when_it_dies_another_takes_over(url: str) -> None:
    assert TAKEN_OVER_SECONDS <= 30 and LEASE.total_seconds() > SURE_SECONDS
    async with processes(url, WRONG, datetime(2100, 1, 1, tzinfo=UTC)) as (one, other):
        await asyncio.wait(
            {asyncio.create_task(soon(each.has)) for each in (one, other)}, return_when="FIRST_COMPLETED"
        )
        holder, waiting = (one, other) if one.has.is_set() else (other, one)
        assert timedelta(seconds=13) < await left(one.engine) <= LEASE
        for _ in range(3):  # both look again and again; neither's own clock counts
            await steps_on(one.engine, timedelta(seconds=5))
            await waiting.steps.go_on()
            await holder.steps.go_on()
            await until(lambda: left(one.engine), lambda found: found > timedelta(seconds=13))
        assert not waiting.has.is_set() and not holder.lost.is_set()

        await steps_on(one.engine, LEASE - timedelta(seconds=1))  # it is dead: it renews nothing
        await waiting.steps.go_on()
        await until(lambda: _asleep(waiting))
        assert not waiting.has.is_set()
        await steps_on(one.engine, timedelta(seconds=1))
        await waiting.steps.go_on()
        await soon(waiting.has)
        await holder.steps.go_on()  # it was not dead after all, and sees that another has it
        await soon(holder.lost)
        assert not waiting.lost.is_set()


async def _asleep(process: Process) -> bool:
    return bool(process.steps._waiting)


async def test_what_is_given_back_is_free_at_once(url: str) -> None:
    async with processes(url, WRONG) as (one,):
        await soon(one.has)
        async with processes(url, WRONG, owner="other") as (other,):
            await until(lambda: _asleep(other))
            one.let_go.set()
            await one.task
            await other.steps.go_on()
            await soon(other.has)


async def test_who_cannot_renew_it_stops_before_another_can_begin(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "SURE_SECONDS", 0.2)
    async with processes(url, WRONG) as (one,):
        await soon(one.has)
        await soon(one.lost)  # its database did not answer all that time


async def test_where_nobody_else_can_have_the_database_open_it_is_simply_done(sqlite_url: str) -> None:
    engine = connect(sqlite_url)
    alone = Holding(Leases(engine), owner="me")
    async with alone.hold("discord") as lost, alone.hold("discord"):
        assert not lost.is_set() and not alone.shared
    assert await rows(engine, select(leases)) == []
    await engine.dispose()
