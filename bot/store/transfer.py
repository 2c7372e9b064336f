"""All rows of a database on a server into an SQLite file, and back: a backup, and the way from one machine to several.

Both ends are at this version's schema. Left out is what belongs to the server alone: texts of documents, which a backup
has as files, files that wait to be read, the processes that run, and erasures of persons on other machines.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any

from sqlalchemy import (
    JSON,
    Column,
    Connection,
    Row,
    Table,
    Text,
    bindparam,
    cast,
    exists,
    func,
    insert,
    inspect,
    literal,
    select,
    text,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bot.store.contents import keep
from bot.store.engine import change, look, read, snapshot, storable, unhurried, write
from bot.store.schema import changed_documents, contents, documents, erasures, held_files, metadata, processes

_ROWS = 500  # at a time
_PAGE = 5_000  # of a file, which is gone through anew for each
_TEXTS = 10
_TABLES = [table for table in metadata.sorted_tables if table not in (contents, held_files, erasures, processes)]


class FilledError(Exception):
    """There is something in the database that was to be filled."""


async def filled(engine: AsyncEngine) -> bool:
    """Whether any table of ours has a row, whatever version they are of. Raises StoreError."""
    return await look(engine, _filled)


async def dump(server: AsyncEngine, file: AsyncEngine, text_of: Callable[[str, bytes], Awaitable[None]]) -> None:
    """Copy one moment of the server's database into the empty SQLite `file`; `text_of` is given each text of a document
    with its address. Raises StoreError, and what `text_of` raises."""
    async with snapshot(server) as db:
        texts = await db.stream(select(contents).execution_options(yield_per=_TEXTS))
        async for row in texts:
            await text_of(row.address, bytes(row.data))
        for table in _TABLES:
            found = await db.stream(select(*_read(table)).execution_options(yield_per=_ROWS))
            async for some in found.partitions():
                await change(file, partial(_put, table=table, found=some))
        numbers = [(table, await db.run_sync(_last_on_server, table)) for table in _numbered()]
    for table, last in numbers:
        await change(file, partial(_number_in_file, table=table, last=last))


async def load(file: AsyncEngine, server: AsyncEngine, text_of: Callable[[str], Awaitable[str | None]]) -> None:
    """Copy all of the SQLite `file` into the server's empty database, in one transaction; `text_of` gives a text by its
    address, None where there is none. Raises FilledError, StoreError, and what `text_of` raises."""
    try:
        async with write(server) as db, read(file) as source:
            await unhurried(db)
            if await db.run_sync(_filled):
                raise FilledError
            for table in _TABLES:
                async for some in _pages(source, table):
                    await db.run_sync(_put, table, some)
            await _texts(db, source, text_of)
            for table in _numbered():
                await db.run_sync(_number_on_server, table, await source.run_sync(_last_in_file, table))
    except IntegrityError as error:  # somebody has begun with it meanwhile
        raise FilledError from error


async def _pages(source: AsyncConnection, table: Table) -> AsyncIterator[Sequence[Row[Any]]]:
    wanted, start = select(*_read(table)).order_by(*table.primary_key).limit(_PAGE), 0
    while found := (await source.execute(wanted.offset(start))).all():
        yield found
        start += len(found)


async def _texts(db: AsyncConnection, source: AsyncConnection, text_of: Callable[[str], Awaitable[str | None]]) -> None:
    now, earlier = select(documents.c.markdown), select(changed_documents.c.before)
    for (address,) in await source.execute(now.union(earlier)):
        if address is not None and (markdown := await text_of(address)) is not None:
            await db.run_sync(keep, address, markdown)


def _filled(db: Connection) -> bool:
    there = {*inspect(db).get_table_names()}  # an older version has other tables, and other columns in them
    ours = (table for table in metadata.sorted_tables if table.name in there)
    return any(db.scalar(select(exists(select(literal(1)).select_from(table)))) for table in ours)


# -- rows -----------------------------------------------------------------------------------------------------------


def _read(table: Table) -> list[Any]:
    """JSON as it is written, which tells NULL from null."""
    return [cast(each, Text).label(each.name) if _is_json(each) else each for each in table.columns]


def _put(db: Connection, table: Table, found: Sequence[Row[Any]]) -> None:
    kinds = {each.name: JSON(none_as_null=True) if _is_json(each) else each.type for each in table.columns}
    into = insert(table).values({name: bindparam(f"v_{name}", type_=kind) for name, kind in kinds.items()})
    db.execute(into, [dict(_values(table, row)) for row in found])


def _values(table: Table, row: Row[Any]) -> Iterator[tuple[str, Any]]:
    for column, value in zip(table.columns, row, strict=True):
        match value:
            case str() if _is_json(column):
                read = json.loads(value)
                yield f"v_{column.name}", JSON.NULL if read is None else read
            case str():
                yield f"v_{column.name}", storable(value)
            case _:
                yield f"v_{column.name}", value


def _is_json(column: Column[Any]) -> bool:
    return isinstance(column.type, JSON)


# -- the numbers that rows are given --------------------------------------------------------------------------------


def _numbered() -> list[Table]:
    return [table for table in _TABLES if table.autoincrement_column is not None]


def _last_on_server(db: Connection, table: Table) -> int:
    """The last number that was given, also to a row that is gone: it is never another's."""
    name = db.scalar(select(_sequence(table)))
    return int(db.scalar(text(f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {name}")) or 0)


def _number_on_server(db: Connection, table: Table, last: int) -> None:
    if last:
        db.execute(select(func.setval(_sequence(table), last)))


def _last_in_file(db: Connection, table: Table) -> int:
    given = text("SELECT max(seq) FROM sqlite_sequence WHERE name = :name")
    last = db.scalar(given, {"name": table.name}) or 0
    return max(last, db.scalar(select(func.max(table.autoincrement_column))) or 0)


def _number_in_file(db: Connection, table: Table, last: int) -> None:
    if last and table.dialect_options["sqlite"]["autoincrement"]:
        name = {"name": table.name}
        db.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), name)
        db.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), name | {"last": last})


def _sequence(table: Table) -> Any:
    column = table.autoincrement_column
    assert column is not None
    return func.pg_get_serial_sequence(table.name, column.name)
