"""The identity of the home that a database belongs to; `bot/knowledge/identity.py` says what it is for."""

import uuid
from datetime import UTC, datetime

from sqlalchemy import select

from bot.store.engine import Store, insert, rows, write
from bot.store.schema import home

_PLACE = 1


class Homes(Store):
    """The one row that names the home."""

    async def known(self) -> str | None:
        """The identity; None before the first start that needed one. Raises StoreError."""
        found = await rows(self._engine, select(home.c.id))
        return str(found[0].id) if found else None

    async def identity(self, new: str | None = None) -> str:
        """The identity: 32 characters, made here where there is none (`new`, or a random one). Of several processes one
        makes it. Raises StoreError."""
        if (known := await self.known()) is not None:
            return known
        async with write(self._engine) as db:
            await db.execute(
                insert(db, home)
                .values(place=_PLACE, id=new or uuid.uuid4().hex, made_at=datetime.now(UTC))
                .on_conflict_do_nothing(index_elements=["place"])
            )
            return str((await db.execute(select(home.c.id))).scalar_one())
