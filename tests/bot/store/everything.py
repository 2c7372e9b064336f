"""A row in every table, made from the schema: a table that nobody has thought of yet is in it, too."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Date,
    Float,
    Integer,
    LargeBinary,
    String,
    Table,
    insert,
    select,
)
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.store.engine import change, read
from bot.store.schema import Moment, metadata

AT = datetime(2026, 11, 1, 9, tzinfo=UTC)
Given = Mapping[str, Mapping[str, Any]]
"""Values by table and column, which the row has instead of made ones."""


async def fill(engine: AsyncEngine, words: str, given: Given) -> None:
    """Put a row into every table that has none. What people write is `words`, also inside of JSON. Raises StoreError."""

    def put(db: Connection) -> None:
        for table in metadata.sorted_tables:
            if db.execute(select(table).limit(1)).first() is None:
                db.execute(insert(table).values(_row(db, table, words) | dict(given.get(table.name, {}))))

    await change(engine, put)


async def rows_of_all(engine: AsyncEngine) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables, by table."""
    async with read(engine) as db:
        return {
            table.name: [dict(row._mapping) for row in await db.execute(select(table).order_by(*table.primary_key))]
            for table in metadata.sorted_tables
        }


def _row(db: Connection, table: Table, words: str) -> dict[str, Any]:
    wanted = (column for column in table.columns if column is not table.autoincrement_column)
    return {column.name: _value(db, column, words) for column in wanted}


def _value(db: Connection, column: Column[Any], words: str) -> Any:
    for key in column.foreign_keys:
        return db.scalar(select(key.column).limit(1))
    match column.type:
        case String(length=None):
            return words
        case String(length=length):
            return f"{column.table.name} {column.name}"[:length]
        case JSON():
            return {"inside": [words]}
        case Boolean():
            return True
        case Integer() | BigInteger():
            return 1
        case Float():
            return 0.5
        case Date():
            return date(2026, 11, 1)
        case Moment():
            return AT
        case LargeBinary():
            return b"\x00\xff"
        case _:
            raise TypeError(f"no value is known for {column.table.name}.{column.name}")
