"""The use of models, by day and model; and the pace at which people ask."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from typing import Literal

from sqlalchemy import Connection, bindparam, case, func, literal, select

from agent.events import Cost
from bot.store.engine import Store, change, execute, insert, rows
from bot.store.schema import refusals, turns, usage
from bot.store.turns import claim_key
from bot.types import Incoming

MINUTE = timedelta(seconds=60)

Reason = Literal["user", "channel"]


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of one model on one day."""

    day: date
    model: str
    cost: Cost


@dataclass(frozen=True, slots=True)
class AskingPace:
    """How many questions came in the minute before one, without those that were refused for their pace."""

    by_author: int
    in_channel: int


class Usage(Store):
    """Sums, and counts over the inbox' own rows: nothing is kept in memory, so they hold for all processes."""

    async def add(self, spent: Mapping[tuple[date, str], Cost]) -> None:
        """Add to the sums of days and models, all or none. Not fsynced: a power cut may cost the last second's."""
        values = [
            {"day": day, "model": model, **asdict(cost)}
            for (day, model), cost in sorted(spent.items())  # in one order, so that two processes cannot deadlock
        ]

        def store(db: Connection) -> None:
            added = insert(db, usage)
            sums = {name: usage.c[name] + added.excluded[name] for name in _SUMS}
            db.execute(added.on_conflict_do_update(index_elements=["day", "model"], set_=sums), values)

        if values:
            await change(self._engine, store, durable=False)

    async def of(self, day: date) -> Cost:
        """The cost of all models on a day."""
        (row,) = await rows(self._engine, _DAY, {"day": day})
        return Cost(*row)

    async def by_day(self, since: date) -> list[Spent]:
        """From a day on, a row for each day and model, in that order."""
        found = await rows(self._engine, _BY_DAY, {"since": since})
        return [Spent(row.day, row.model, Cost(*(getattr(row, name) for name in _SUMS))) for row in found]

    async def pace(self, message: Incoming, *, each: int = 0) -> AskingPace:
        """Of a claimed question: by the moments of the claims, however long it has waited since.

        Of one person at most `each` count in the channel (0: all), as others of theirs are about to be refused.
        """
        claimed = await rows(self._engine, _CLAIMED, {"claim": claim_key(message)})
        if not claimed:
            return AskingPace(0, 0)
        at = claimed[0].claimed_at
        # Machines' clocks differ a little; what was claimed by one that ran ahead for hours counts no more.
        values = {"since": at - MINUTE, "until": at + MINUTE, "before": claimed[0].sequence, **asdict(message.place)}
        found = await rows(self._engine, _PACE, values)
        return AskingPace(
            by_author=sum(row.anywhere for row in found if row.author == message.author),
            in_channel=sum(min(row.here, each or row.here) for row in found),
        )

    async def refuse(self, message: Incoming, reason: Reason) -> None:
        """A claimed question is refused for its pace: it slows nobody's next one."""
        turn = select(turns.c.id, literal(reason)).where(turns.c.claim == claim_key(message))
        refused = insert(self._engine, refusals).from_select(["turn", "reason"], turn)
        await execute(self._engine, refused.on_conflict_do_nothing(index_elements=["turn"]), durable=False)


_SUMS = tuple(Cost.__dataclass_fields__)

# What every turn runs is put together once.

_DAY = select(*(func.coalesce(func.sum(usage.c[name]), 0) for name in _SUMS)).where(usage.c.day == bindparam("day"))
_BY_DAY = select(usage).where(usage.c.day >= bindparam("since")).order_by(usage.c.day, usage.c.model)
_CLAIMED = select(turns.c.sequence, turns.c.claimed_at).where(turns.c.claim == bindparam("claim"))
_PACE = (
    select(
        turns.c.author,
        func.count().label("anywhere"),
        func.sum(case((turns.c.channel == bindparam("channel"), 1), else_=0)).label("here"),
    )
    .select_from(turns.outerjoin(refusals, refusals.c.turn == turns.c.id))
    .where(
        turns.c.claimed_at > bindparam("since"),
        turns.c.claimed_at < bindparam("until"),
        turns.c.sequence < bindparam("before"),
        turns.c.platform == bindparam("platform"),
        turns.c.workspace == bindparam("workspace"),
        refusals.c.turn.is_(None),
    )
    .group_by(turns.c.author)
)
