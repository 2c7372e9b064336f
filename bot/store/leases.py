"""Whose time leases go by. Processes that share a database's server have clocks of their own, and one that is wrong
would take from the living what they hold: there the server's clock counts. An SQLite file has one process: its clock
does.

Source: reliability.md §5, point 2 (a clock that steps by ±10 minutes).
"""

from datetime import datetime

from sqlalchemy import Connection, func, select

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
