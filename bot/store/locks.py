"""Locks that all processes of a database's server share. An SQLite file has one process, which needs none of them.

They are PostgreSQL's advisory locks of a session: a process that dies, or loses its connection, lets go of them.
Source: PostgreSQL 15, "Explicit Locking", 13.3.5; machines.md §2.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256

from sqlalchemy import BigInteger, func, literal, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bot.store.engine import alone, in_words, on_server
from bot.waiting import finished

PATIENCE = 30_000  # milliseconds


@asynccontextmanager
async def locked(engine: AsyncEngine, name: str) -> AsyncIterator[None]:
    """Hold the lock of this name to the end of the block. It takes a connection of the pool for as long: of one process
    only one task may wait for it. Raises StoreError when somebody else has held it for `PATIENCE`."""
    async with _session(engine) as db:
        if db is not None:
            with in_words():
                await db.execute(text(f"SET lock_timeout = {PATIENCE}"))
                await finished(db.execute(select(func.pg_advisory_lock(_key(name)))))
        yield


@asynccontextmanager
async def free(engine: AsyncEngine, name: str) -> AsyncIterator[bool]:
    """As `locked`, but nobody waits: False when somebody else holds it. Raises StoreError."""
    async with _session(engine) as db:
        if db is None:
            yield True
        else:
            with in_words():
                taken = await finished(db.scalar(select(func.pg_try_advisory_lock(_key(name)))))
            yield bool(taken)


class Mutex:
    """One at a time, in this process and in all that share its database: `async with mutex.held():`."""

    def __init__(self, engine: AsyncEngine, name: str) -> None:
        self._engine = engine
        self._name = name
        self._here = asyncio.Lock()

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Raises StoreError when another process has held it for `PATIENCE`."""
        async with self._here, locked(self._engine, self._name):
            yield

    @asynccontextmanager
    async def free(self) -> AsyncIterator[bool]:
        """False, without waiting for it, when another process holds it. Raises StoreError."""
        async with self._here, free(self._engine, self._name) as mine:
            yield mine


@asynccontextmanager
async def _session(engine: AsyncEngine) -> AsyncIterator[AsyncConnection | None]:
    """A connection that has its locks until the end of the block and none afterwards; None where there are none."""
    if not on_server(engine):
        yield None
        return
    async with alone(engine, isolation_level="AUTOCOMMIT") as db:
        try:
            yield db
        finally:
            await finished(_let_go(db))


async def _let_go(db: AsyncConnection) -> None:
    try:
        await db.execute(text("SELECT pg_advisory_unlock_all()"))
        await db.execute(text("RESET lock_timeout"))
    except (SQLAlchemyError, OSError):  # with the connection go its locks
        await db.invalidate()


def _key(name: str) -> object:
    number = int.from_bytes(sha256(f"kotae {name}".encode()).digest()[:8], signed=True)
    return literal(number, BigInteger)
