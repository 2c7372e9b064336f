"""Limits that all processes of a database keep together: those that platforms set on all calls of a workspace (eight
that knew nothing of each other had 125 of 151 posts to one busy channel refused, and 14 of 40 messages given up), and
how often a token may be guessed.

Source: machines.md §1, row 14, and §2; the generic cell rate algorithm: one moment a limit says how full it is.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, Select, delete, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.store.engine import Store, change, execute, insert
from bot.store.leases import present
from bot.store.schema import rates

_FORGOTTEN = timedelta(hours=1)  # of what has been full for so long nothing need be known


class Rates(Store):
    """Raises StoreError."""

    def __init__(self, engine: AsyncEngine, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        super().__init__(engine)
        self._clock = clock

    async def take(self, name: str, burst: int, a_minute: int) -> float:
        """Takes a call of a limit of so many at once, then so many a minute: 0. Where there is none now, nothing is
        taken: how many seconds until there is one."""
        every = timedelta(minutes=1) / a_minute

        def take(db: Connection) -> tuple[float, datetime | None]:
            now = present(db, self._clock())
            begun = insert(db, rates).values(name=name, full_at=now).on_conflict_do_nothing(index_elements=["name"])
            new = now if db.execute(begun.returning(rates.c.name)).first() is not None else None
            known = db.execute(_full(name).with_for_update()).scalar_one()
            full_at = _believed(known, now, burst * every) + every
            if (missing := full_at - now - burst * every) > timedelta():
                return missing.total_seconds(), new
            db.execute(update(rates).where(rates.c.name == name).values(full_at=full_at))
            return 0.0, new

        seconds, new = await change(self._engine, take, durable=False)
        if new is not None:
            old = delete(rates).where(rates.c.full_at < new - _FORGOTTEN)
            await execute(self._engine, old, durable=False)
        return seconds

    async def wait(self, name: str, burst: int, a_minute: int) -> float:
        """How many seconds until there is a call of such a limit, once those that are being taken are; nothing is
        taken."""
        every = timedelta(minutes=1) / a_minute

        def wait(db: Connection) -> float:
            full_at = db.execute(_full(name).with_for_update(read=True)).scalar()
            now = present(db, self._clock())
            full_at = _believed(now if full_at is None else full_at, now, burst * every)
            return max(0.0, (full_at + every - now - burst * every).total_seconds())

        return await change(self._engine, wait, durable=False)


def _believed(full_at: datetime, now: datetime, longest: timedelta) -> datetime:
    """Never later than a limit that is used up: a clock that ran ahead is no reason to wait until then."""
    return min(max(full_at, now), now + longest)


def _full(name: str) -> Select[datetime]:
    return select(rates.c.full_at).where(rates.c.name == name)
