"""Questions that were brought to a person at once, or wait until it is that person's morning; and who does not want to
be asked. Source: product.md §4."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.store.engine import change, columns, execute, insert, rows
from bot.store.locks import Mutex
from bot.store.schema import asks, opt_outs
from bot.types import Place

Reason = Literal["owner", "answered", "channel"]
"""Why somebody is asked: they look after what lies closest, they answered most like it, or it is the digest's
channel."""


@dataclass(frozen=True, slots=True)
class PersonAsk:
    """A question on its way to somebody. People are `platform:id`; a channel as `recipient` is `platform:#id`. `place`
    is where its card stands or will."""

    turn: str
    question: int
    by: str
    recipient: str
    reason: Reason
    place: Place
    asked_at: datetime
    due_at: datetime
    sent_at: datetime | None = None


class Asks:
    """One a turn, however often it is wanted. All raise StoreError."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self.asking = Mutex(engine, "asks")  # one at a time brings questions to people

    async def add(self, ask: PersonAsk, instead: PersonAsk | None = None) -> bool:
        """Keep one before it is sent, `instead` of an earlier one. False: this turn's question has been brought to
        somebody already."""
        added = insert(self._engine, asks).values(columns(ask)).on_conflict_do_nothing(index_elements=["turn"])

        def add(db: Connection) -> bool:
            if instead is not None:
                db.execute(delete(asks).where(asks.c.turn == instead.turn, asks.c.asked_at == instead.asked_at))
            return bool(db.execute(added).rowcount)

        return await change(self._engine, add)

    async def get(self, turn: str) -> PersonAsk | None:
        found = await rows(self._engine, select(asks).where(asks.c.turn == turn))
        return _ask(found[0]) if found else None

    async def due(self, now: datetime) -> list[PersonAsk]:
        """Those that are not sent and whose time has come, the oldest first."""
        waiting = asks.c.sent_at.is_(None) & (asks.c.due_at <= now)
        return [_ask(row) for row in await rows(self._engine, select(asks).where(waiting).order_by(asks.c.due_at))]

    async def sent(self, turn: str, now: datetime) -> None:
        await execute(self._engine, update(asks).where(asks.c.turn == turn).values(sent_at=now))

    async def hurry(self, turn: str, now: datetime) -> None:
        """Let a question that is to be sent not wait for the morning."""
        unsent = (asks.c.turn == turn) & asks.c.sent_at.is_(None)
        await execute(self._engine, update(asks).where(unsent).values(due_at=now))

    async def drop(self, turn: str) -> None:
        """Forget one that could not be sent: the question may be brought to somebody else."""
        unsent = (asks.c.turn == turn) & asks.c.sent_at.is_(None)
        await execute(self._engine, delete(asks).where(unsent))

    async def count(self, person: str, since: datetime) -> tuple[int, int]:
        """How many questions this person has had brought to others, and how many to themselves, since a moment."""
        wanted = [
            select(func.count()).where(column == person, asks.c.asked_at >= since)
            for column in (asks.c.by, asks.c.recipient)
        ]
        by, to = [int((await rows(self._engine, one))[0][0]) for one in wanted]
        return by, to

    async def opted_out(self, people: Collection[str]) -> frozenset[str]:
        """Of these people those who do not want to be asked."""
        found = await rows(self._engine, select(opt_outs.c.person).where(opt_outs.c.person.in_(people)))
        return frozenset(row.person for row in found)

    async def opt_out(self, person: str, now: datetime) -> None:
        added = insert(self._engine, opt_outs).values(person=person, at=now)
        await execute(self._engine, added.on_conflict_do_nothing(index_elements=["person"]))

    async def opt_in(self, person: str) -> None:
        await execute(self._engine, delete(opt_outs).where(opt_outs.c.person == person))


def _ask(row: Any) -> PersonAsk:
    values = dict(row._mapping)
    place = Place(values.pop("platform"), values.pop("workspace"), values.pop("channel"))
    return PersonAsk(place=place, **values)
