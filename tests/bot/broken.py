"""A database of which a part does not work, for as long as a block runs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine


@asynccontextmanager
async def without(engine: AsyncEngine, table: str) -> AsyncIterator[None]:
    """Whatever needs this table raises StoreError, as the statement itself fails."""
    async with engine.begin() as db:
        await db.execute(text(f"ALTER TABLE {table} RENAME TO {table}_away"))
    try:
        yield
    finally:
        async with engine.begin() as db:
            await db.execute(text(f"ALTER TABLE {table}_away RENAME TO {table}"))
