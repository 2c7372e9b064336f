"""The identity of the home that a database belongs to; `bot/knowledge/identity.py` says what it is for."""

import uuid
from datetime import UTC, datetime

from sqlalchemy import select, update

from bot.store.engine import Store, execute, insert, rows
from bot.store.schema import home

_PLACE = 1


class Homes(Store):
    """The one row that names the home."""

    async def known(self) -> str | None:
        """The identity; None before the first start that needed one. Raises StoreError."""
        found = await rows(self._engine, select(home.c.id))
        return str(found[0].id) if found else None

    async def team(self, only: str | None = None) -> str | None:
        """The `platform:workspace` whose members are the team where nobody has chosen any: the first that was the
        `only` one. Raises StoreError."""
        if only is not None:
            await self.identity()
            await execute(self._engine, update(home).where(home.c.team.is_(None)).values(team=only))
        found = await rows(self._engine, select(home.c.team))
        return found[0].team if found else None

    async def become(self, new: str) -> None:
        """Another home from now on. Raises StoreError."""
        put = insert(self._engine, home).values(place=_PLACE, id=new, made_at=datetime.now(UTC))
        await execute(self._engine, put.on_conflict_do_update(index_elements=["place"], set_={"id": new}))

    async def identity(self, new: str | None = None) -> str:
        """The identity: 32 characters, made here where there is none (`new`, or a random one). Of several processes one
        makes it. Raises StoreError."""
        if (known := await self.known()) is not None:
            return known
        made = insert(self._engine, home).values(place=_PLACE, id=new or uuid.uuid4().hex, made_at=datetime.now(UTC))
        await execute(self._engine, made.on_conflict_do_nothing(index_elements=["place"]))
        return str((await rows(self._engine, select(home.c.id)))[0].id)
