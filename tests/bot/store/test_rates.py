"""A limit that several processes keep together: none is exceeded, whoever asks, and nobody waits for longer than it
takes."""

import asyncio
from datetime import UTC, datetime, timedelta

from sqlalchemy import func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.store.engine import change, connect, rows, write
from bot.store.rates import Rates
from bot.store.schema import rates


async def test_so_many_at_once_and_then_so_many_a_minute(engine: AsyncEngine) -> None:
    limit = Rates(engine)
    assert [await limit.take("slack:post:C1", 3, 1) for _ in range(3)] == [0, 0, 0]
    for _ in range(3):  # who is refused takes nothing
        assert 55 < await limit.take("slack:post:C1", 3, 1) <= 60
    assert await limit.take("slack:post:C2", 3, 1) == 0
    takes = [
        await limit.take("fast", 1, 600_000) for _ in range(50)
    ]  # a tenth of a millisecond later there is one again
    assert takes.count(0) > 1


async def test_all_processes_together_take_no_more_than_there_is(url: str) -> None:
    """At the same moment, and the first ones too."""
    engines = [connect(url) for _ in range(4)]
    limits = [Rates(engine) for engine in engines]
    assert all(limit.shared == ("postgresql" in url) for limit in limits)
    found = await asyncio.gather(*(limits[n % 4].take("slack:post:C1", 5, 1) for n in range(40)))
    assert found.count(0) == 5 and min(seconds for seconds in found if seconds) > 30
    for engine in engines:
        await engine.dispose()


async def test_who_only_asks_takes_nothing(engine: AsyncEngine) -> None:
    limit = Rates(engine)
    assert await limit.wait("login:a", 2, 1) == 0
    assert [await limit.take("login:a", 2, 1) for _ in range(2)] == [0, 0]
    for _ in range(2):
        assert 55 < await limit.wait("login:a", 2, 1) <= 60
    assert await limit.wait("login:b", 2, 1) == 0
    assert await limit.wait("login:a", 3, 1) == 0


async def test_a_clock_that_ran_ahead_keeps_nobody_waiting_for_hours(engine: AsyncEngine) -> None:
    late = datetime.now(UTC) + timedelta(hours=5)
    await change(engine, lambda db: db.execute(insert(rates).values(name="slack:post:C1", full_at=late)))
    assert 55 < await Rates(engine).wait("slack:post:C1", 3, 1) <= 60
    assert 55 < await Rates(engine).take("slack:post:C1", 3, 1) <= 60


async def test_who_only_asks_waits_for_those_that_take(server_url: str) -> None:
    engine = connect(server_url)
    limit = Rates(engine)
    assert await limit.take("login:a", 1, 1) == 0
    long_ago = update(rates).values(full_at=datetime.now(UTC) - timedelta(hours=1))
    await change(engine, lambda db: db.execute(long_ago))
    async with write(engine) as db:
        await db.execute(update(rates).values(full_at=datetime.now(UTC) + timedelta(minutes=1)))
        asking = asyncio.create_task(limit.wait("login:a", 1, 1))
        waits = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
        async with engine.connect() as other:
            while not asking.done() and (await other.execute(waits)).scalar() == 0:
                await other.rollback()
        assert not asking.done()
    assert await asking > 55
    await engine.dispose()


async def test_what_is_full_again_is_forgotten(engine: AsyncEngine) -> None:
    old = datetime.now(UTC) - timedelta(days=1)
    await change(engine, lambda db: db.execute(insert(rates).values(name="slack:post:D1", full_at=old)))
    await Rates(engine).take("slack:post:C1", 3, 60)
    assert (await rows(engine, select(func.count()).select_from(rates)))[0][0] == 1


async def test_a_machine_whose_clock_is_wrong_forgets_nothing_that_counts(server_url: str) -> None:
    engine = connect(server_url)
    assert await Rates(engine).take("slack:post:C1", 1, 1) == 0
    await Rates(engine, clock=lambda: datetime.now(UTC) + timedelta(days=1)).take("slack:post:C2", 1, 1)
    assert await Rates(engine).take("slack:post:C1", 1, 1) > 0
    await engine.dispose()
