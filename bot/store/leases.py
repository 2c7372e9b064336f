"""Rows that a process holds: they are their `owner`'s until `lease_until`.

Whose time leases go by: processes that share a database's server have clocks of their own, and one that is wrong would
take from the living what they hold, so there the server's clock counts. An SQLite file has one process: its clock does.

Source: reliability.md §5, point 2 (a clock that steps by ±10 minutes).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, and_, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.store.engine import change, rows
from bot.store.schema import dataset_jobs, digests, followed, intakes, notices, pair_jobs, turns

_SERVER_TIME = select(func.clock_timestamp())


def present(db: Connection, now: datetime) -> datetime:
    """The time by which leases in this database pass; `now`: by the caller's clock."""
    if db.get_execution_options().get("clock") != "server":
        return now
    there: datetime = db.scalars(_SERVER_TIME).one()
    return there


def lease(db: Connection, now: datetime, until: datetime) -> tuple[datetime, datetime]:
    """`present`, and the end of a lease that is given then and is as long as from `now` to `until`."""
    there = present(db, now)
    return there, there + (until - now)


def free(table: Table, at: datetime, owner: str | None = None) -> ColumnElement[bool]:
    """Rows that nobody living holds: given back, or left by an owner whose lease has passed; and those of `owner`."""
    mine = () if owner is None else (table.c.owner == owner,)
    return or_(table.c.owner.is_(None), table.c.lease_until <= at, *mine)


async def take(
    engine: AsyncEngine, table: Table, which: ColumnElement[bool], *, owner: str, now: datetime, until: datetime,
    first: Sequence[ColumnElement[Any]] = (), again: bool = False, **values: Any,
) -> Row[Any] | None:  # fmt: skip
    """Take a row that nobody living holds (`again`: or this owner), with these `values`: the only one, or the `first`
    in this order. None: there is none. Raises StoreError."""
    if first and not await rows(engine, select(table.c.id).where(which).limit(1)):
        return None  # mostly: nobody has to wait for a writer to learn it

    def work(db: Connection) -> Row[Any] | None:
        at, end = lease(db, now, until)
        its = and_(which, free(table, at, owner if again else None))
        if first:
            its = and_(its, table.c.id == select(table.c.id).where(its).order_by(*first).limit(1).scalar_subquery())
        taken = update(table).where(its).values(owner=owner, lease_until=end, **values)
        return db.execute(taken.returning(table)).first()

    return await change(engine, work)


async def renew(engine: AsyncEngine, table: Table, held: ColumnElement[bool], now: datetime, until: datetime) -> int:
    """The owner of what is held is alive; returns how much of it is there still. Raises StoreError."""
    its = update(table).where(held)
    return await change(engine, lambda db: db.execute(its.values(lease_until=lease(db, now, until)[1])).rowcount)


async def inherit(engine: AsyncEngine, now: datetime) -> None:
    """At the start of the only process of a database: whoever held something there is dead, whatever its lease says.
    Raises StoreError."""

    def work(db: Connection) -> None:
        for table in (intakes, dataset_jobs, pair_jobs, followed, notices, digests, turns):
            # Of open turns that nobody takes up it is known since when (`bot.store.erasure`).
            passed = now if table is turns else None
            db.execute(update(table).where(table.c.owner.is_not(None)).values(owner=None, lease_until=passed))

    await change(engine, work)
