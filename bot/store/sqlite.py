"""aiosqlite with one visit to its thread a statement, where it makes four (cursor, execute, fetch, close), or a
transaction.

A visit costs as much as a small statement (35 µs each way), and wakes the event loop.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import aiosqlite
from sqlalchemy.util import greenlet_spawn

T = TypeVar("T")


class SqliteConnection(aiosqlite.Connection):
    """The interface SQLAlchemy's aiosqlite dialect asks of a connection, as its `async_creator_fn` makes it."""

    _ending: "asyncio.Future[Any] | None" = None

    async def _connect(self) -> "SqliteConnection":
        try:
            await super()._connect()
        except BaseException:
            if self._ending is not None:
                await self._ending  # or its thread speaks to an event loop that may be closed by then
            raise
        return self

    def stop(self) -> "asyncio.Future[Any] | None":
        self._ending = super().stop()
        return self._ending

    def cursor(self) -> Any:
        return _Cursor(self)

    async def rollback(self) -> None:
        if self.in_transaction:  # a read by itself has none
            await super().rollback()

    async def visit(self, work: Callable[[], T]) -> T:
        """Do `work`, which uses this connection as SQLAlchemy's own code does, as a whole in its thread."""
        return await self._execute(_at_home, work)  # type: ignore[no-any-return]

    async def _execute(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == self._thread.ident:
            return fn(*args, **kwargs)
        return await super()._execute(fn, *args, **kwargs)  # type: ignore[no-untyped-call]

    async def run(self, method: str, sql: str, parameters: Any) -> "_Done":
        return await self._execute(_run, self._conn, method, sql, parameters)  # type: ignore[no-any-return]


def _at_home(work: Callable[[], T]) -> T:
    """No call to this thread's connection waits for anything, so there is nothing that would have to go on later."""
    try:
        greenlet_spawn(work).send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    raise AssertionError("something else was awaited in a transaction")


class _Done:
    """A statement that has run: its rows, and what a cursor tells of it."""

    __slots__ = ("description", "lastrowid", "rowcount", "rows")

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self.description = cursor.description
        self.rows: list[Any] = cursor.fetchall() if cursor.description else []
        self.rowcount = cursor.rowcount  # of INSERT … RETURNING it is right only when all rows are fetched
        self.lastrowid = cursor.lastrowid


def _run(connection: sqlite3.Connection, method: str, sql: str, parameters: Any) -> _Done:
    cursor = connection.cursor()
    try:
        getattr(cursor, method)(sql, parameters)
        return _Done(cursor)
    finally:
        cursor.close()


class _Cursor:
    arraysize = 1
    description: Any = None
    rowcount = -1
    lastrowid: int | None = None

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self._rows: list[Any] = []

    async def __aenter__(self) -> "_Cursor":
        return self

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        self._keep(await self._connection.run("execute", sql, parameters))

    async def executemany(self, sql: str, parameters: Sequence[Any]) -> None:
        self._keep(await self._connection.run("executemany", sql, parameters))

    async def fetchall(self) -> list[Any]:
        return self._rows

    async def close(self) -> None:
        self._rows = []

    def _keep(self, done: _Done) -> None:
        self.description, self.rowcount, self.lastrowid = done.description, done.rowcount, done.lastrowid
        self._rows = done.rows


def connecting(database: str, **options: Any) -> SqliteConnection:
    """A connection to be awaited. Its thread does not keep a process alive that forgot to close it."""
    connection = SqliteConnection(lambda: sqlite3.connect(database, **options), iter_chunk_size=64)
    connection._thread.daemon = True  # as SQLAlchemy does with one that it makes itself
    return connection
