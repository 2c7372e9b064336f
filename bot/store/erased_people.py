"""People who were erased from a database on a server: each machine that shares it takes them out of its chat log."""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import delete, select

from bot.store.engine import Store, execute, rows
from bot.store.schema import erasures


@dataclass(frozen=True, slots=True)
class ErasedPerson:
    """`id` names the erasure; `turns` are the ids of the person's questions."""

    id: str
    platform: str
    person: str
    turns: tuple[str, ...]


class ErasedPeople(Store):
    """The erasures that a machine may not have heard of. All raise StoreError."""

    async def add(self, platform: str, person: str, turns: Sequence[str]) -> None:
        values = {"platform": platform, "person": person, "turns": [*turns], "at": datetime.now(UTC)}
        await execute(self._engine, erasures.insert().values(id=uuid.uuid4().hex, **values))

    async def listed(self, without: Collection[str] = ()) -> list[ErasedPerson]:
        """All but those that are known, oldest first."""
        wanted = select(erasures).where(erasures.c.id.not_in(without)).order_by(erasures.c.at, erasures.c.id)
        return [
            ErasedPerson(row.id, row.platform, row.person, tuple(row.turns)) for row in await rows(self._engine, wanted)
        ]

    async def expire(self, before: datetime) -> None:
        """Chat logs have no lines any more from before then."""
        await execute(self._engine, delete(erasures).where(erasures.c.at < before))
