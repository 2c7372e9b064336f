"""The inbox's rows: every question from its claim to its shown answer, so that nothing of it rests on memory.

An open turn belongs to the owner whose lease on it has not passed. Times are the caller's.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, and_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from agent.events import Answered
from bot.messages import Incoming
from bot.store.conversations import answered, incoming, keep_answer
from bot.store.engine import insert, read, storable, write
from bot.store.questions import Miss, add_misses
from bot.store.schema import answers, turns

State = Literal["waiting", "running", "answered", "done"]


@dataclass(frozen=True, slots=True)
class Claimed:
    """A turn that this owner now holds. `waiting` others stand before it in its thread."""

    id: str
    message: Incoming
    sequence: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Started:
    """A turn's place has come. `answer` is there already when an earlier try stored but never showed it."""

    attempt: int
    answer: Answered | None


@dataclass(frozen=True, slots=True)
class Blocked:
    """Others come first; `owners` hold them."""

    owners: frozenset[str]


class Lost(Exception):
    """The turn is no longer this owner's: its lease passed and another took it, or it is done."""


class TurnRows:
    """The claims. Source: reliability.md R3, R5 and R9."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def claim(
        self, messages: Mapping[str, Incoming], *, owner: str, now: datetime, until: datetime
    ) -> dict[str, Claimed]:
        """Take questions, each by a fresh turn id, in one transaction.

        A question is taken that is new, or open and abandoned (it keeps its id). Those in the result are now this
        owner's, under the ids they were given here; the rest are somebody's, or done.
        """
        new = [_new(turn, message, owner, now, until) for turn, message in messages.items()]
        async with write(self._engine) as db:
            added = set(
                await db.scalars(
                    insert(db, turns).values(new).on_conflict_do_nothing(index_elements=["claim"]).returning(turns.c.id)
                )
            )
            known = {values["claim"]: values["id"] for values in reversed(new) if values["id"] not in added}
            taken = await db.scalars(
                update(turns)
                .where(turns.c.claim.in_(known), turns.c.state != "done", turns.c.lease_until <= now)
                .values(owner=owner, lease_until=until)
                .returning(turns.c.id)
            )
            held = select(turns).where(turns.c.id.in_([*added, *taken])).order_by(turns.c.sequence)
            rows = (await db.execute(held)).all()
            before = await _waiting(db, rows, now)
        return {
            row.id if row.id in added else known[row.claim]: Claimed(
                id=row.id,
                message=incoming(row),
                sequence=row.sequence,
                waiting=sum(other < row.sequence for other in before[_thread(row)]) if row.id in added else 0,
            )
            for row in rows
        }

    async def start(self, claimed: Claimed, *, owner: str, now: datetime) -> Started | Blocked:
        """Start a turn if nothing of its thread runs and nothing that came before it is held by a living owner.

        Raises Lost.
        """
        async with write(self._engine) as db:
            # The open turns of the thread are locked together, so that on PostgreSQL too only one starter decides.
            rows = (await db.execute(_open_in_thread(claimed.message))).all()
            mine = next((row for row in rows if row.id == claimed.id and row.owner == owner), None)
            if mine is None:
                raise Lost(claimed.id)
            blocking = [
                row.owner
                for row in rows
                if row.id != mine.id
                and row.lease_until > now
                and (row.sequence < mine.sequence or row.state in ("running", "answered"))
            ]
            if blocking:
                return Blocked(frozenset(blocking))
            state: State = "answered" if mine.state == "answered" else "running"
            await db.execute(update(turns).where(turns.c.id == mine.id).values(state=state, attempts=mine.attempts + 1))
            answer = None
            if state == "answered":
                answer = answered((await db.execute(select(answers).where(answers.c.turn == mine.id))).one())
        return Started(mine.attempts + 1, answer)

    async def finish(
        self,
        claimed: Claimed,
        answer: Answered,
        *,
        owner: str,
        steps: list[dict[str, Any]],
        misses: Sequence[Miss],
        now: datetime,
    ) -> None:
        """Store a turn's answer, what it cost and what it missed, in one transaction. Raises Lost."""
        async with write(self._engine) as db:
            mine = _mine(claimed.id, owner) & turns.c.state.in_(("waiting", "running"))
            if not (await db.execute(update(turns).where(mine).values(state="answered", finished_at=now))).rowcount:
                raise Lost(claimed.id)
            await keep_answer(db, claimed.id, answer, steps, now)
            await add_misses(db, misses)

    async def shown(self, turn: str, *, owner: str) -> None:
        """The answer has reached its thread: the turn is done."""
        done = update(turns).where(_mine(turn, owner), turns.c.state == "answered")
        async with write(self._engine) as db:
            await db.execute(done.values(state="done", owner=None, lease_until=None))

    async def release(self, turn: str, *, owner: str, now: datetime) -> None:
        """Give an open turn back, so that whoever looks for abandoned ones finds it at once."""
        given = update(turns).where(_mine(turn, owner), turns.c.state != "done")
        async with write(self._engine) as db:
            await db.execute(given.values(lease_until=now))

    async def renew(self, held: Collection[str], *, owner: str, until: datetime) -> None:
        """The owner is alive and still holds these turns."""
        kept = update(turns).where(turns.c.id.in_(held), turns.c.owner == owner, turns.c.state != "done")
        async with write(self._engine) as db:
            await db.execute(kept.values(lease_until=until))

    async def expire(self, *, now: datetime) -> None:
        """Nobody holds an open turn any longer."""
        async with write(self._engine) as db:
            await db.execute(
                update(turns).where(turns.c.state != "done", turns.c.lease_until > now).values(lease_until=now)
            )

    async def unfinished(self, platform: str, *, now: datetime) -> list[Incoming]:
        """The open questions of a platform that nobody living holds, oldest first."""
        wanted = (
            select(turns)
            .where(turns.c.platform == platform, turns.c.state != "done", turns.c.lease_until <= now)
            .order_by(turns.c.sequence)
        )
        async with read(self._engine) as db:
            return [incoming(row) for row in await db.execute(wanted)]


def claim_key(message: Incoming) -> str:
    """What a person did, once: platform, workspace, channel and message (R3)."""
    place = message.place
    return "\x1f".join((place.platform, place.workspace, place.channel, message.message))


def _mine(turn: str, owner: str) -> ColumnElement[bool]:
    return and_(turns.c.id == turn, turns.c.owner == owner)


def _in_thread(message: Incoming) -> ColumnElement[bool]:
    place = message.place
    return and_(
        turns.c.platform == place.platform,
        turns.c.workspace == place.workspace,
        turns.c.channel == place.channel,
        turns.c.thread == message.thread,
    )


def _open_in_thread(message: Incoming) -> Select[Any]:
    return (
        select(turns).where(_in_thread(message), turns.c.state != "done").order_by(turns.c.sequence).with_for_update()
    )


def _new(turn: str, message: Incoming, owner: str, now: datetime, until: datetime) -> dict[str, Any]:
    place = message.place
    return {
        "id": turn,
        "claim": claim_key(message),
        "platform": place.platform,
        "workspace": place.workspace,
        "channel": place.channel,
        "thread": message.thread,
        "message": message.message,
        "author": message.author,
        "text": storable(message.text),
        "audience": message.audience.visibility,
        "language": message.language,
        "link": message.link,
        "model": message.model,
        "strategy": message.strategy,
        "collections": list(message.collections) if message.collections is not None else None,
        "state": "waiting",
        "attempts": 0,
        "owner": owner,
        "lease_until": until,
        "claimed_at": now,
    }


def _thread(row: Any) -> tuple[str, str, str, str]:
    return (row.platform, row.workspace, row.channel, row.thread)


async def _waiting(db: AsyncConnection, rows: Sequence[Any], now: datetime) -> dict[tuple[str, ...], list[int]]:
    """The sequences that wait in the threads of `rows`."""
    columns = (turns.c.platform, turns.c.workspace, turns.c.channel, turns.c.thread)
    wanted = select(*columns, turns.c.sequence).where(
        tuple_(*columns).in_(sorted({_thread(row) for row in rows})),
        turns.c.state == "waiting",
        turns.c.lease_until > now,
    )
    found: dict[tuple[str, ...], list[int]] = {_thread(row): [] for row in rows}
    for row in await db.execute(wanted):
        found[_thread(row)].append(row.sequence)
    return found
