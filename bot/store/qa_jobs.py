"""Q/A pairs being generated: which chunks are still to do, who works on them, and what came of each, so that a job goes
on where a process has left it.

A running job belongs to its owner until the lease on it passes (`bot.store.leases`). Source: reliability.md R44 and
R45."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, and_, exists, func, or_, select, update
from sqlalchemy.exc import IntegrityError

from agent.events import Cost
from agent.qa_generation import Proposed
from bot.errors import LostError
from bot.records import AuditRecord, ChunkState
from bot.store.audit import add_trace, traced
from bot.store.engine import Store, change, execute, look, rows, storable
from bot.store.leases import lease, present, take
from bot.store.schema import documents, pair_chunks, pair_jobs, pairs
from retrieval.types import Readers

JobState = Literal["running", "paused", "done", "cancelled"]
Reason = Literal["", "asked", "budget", "busy", "refused"]

_COSTS = tuple(Cost.__dataclass_fields__)
_NOTHING = Cost()
_source = documents.alias("source")


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """A chunk of a document's version."""

    document: str
    version: str
    chunk: int


@dataclass(frozen=True, slots=True)
class Task:
    """A chunk that a job has still to do. `scope`: who may read its document; `current`: it is still of that
    version."""

    place: int
    spot: ChunkPlace
    scope: str
    current: bool


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job that this process works on."""

    id: str
    model: str


@dataclass(frozen=True, slots=True)
class QaJob:
    """A job as people see it. `name` is its document's, None where it is for a whole collection. `chunks` counts its
    chunks by what came of them, `pairs` its pairs by their state; `dropped` were not supported by their chunk.

    `reason` says why a paused one pauses: somebody `asked`, the day's `budget` is used up, the provider is `busy` or
    down, or it has `refused` the key or the model. `working`: a process is at it now.
    """

    id: str
    collection: str
    name: str | None
    model: str
    state: JobState
    reason: Reason
    cost: Cost
    working: bool
    made_at: datetime
    chunks: Mapping[str, int] = field(default_factory=dict)
    pairs: Mapping[str, int] = field(default_factory=dict)
    dropped: int = 0

    @property
    def total(self) -> int:
        return sum(self.chunks.values())

    @property
    def finished(self) -> int:
        """How many chunks need no more work."""
        return self.total - self.chunks.get("todo", 0)


class PairJobs(Store):
    """The jobs. Times are the caller's. All raise StoreError."""

    # -- for people -------------------------------------------------------------------------------------------------

    async def create(
        self,
        job: str,
        *,
        document: str | None,
        collection: str,
        model: str,
        spots: Sequence[ChunkPlace],
        now: datetime,
        trace: AuditRecord,
    ) -> bool:
        """A job that whoever looks for work finds; False when one of the documents has just been forgotten."""

        def create(db: Connection) -> None:
            row = {"id": job, "document": document, "collection": collection, "model": model}
            db.execute(pair_jobs.insert().values(**row, state="running", made_at=now, changed_at=now))
            db.execute(
                pair_chunks.insert(),
                [{"job": job, "place": at, "state": "todo"} | asdict(spot) for at, spot in enumerate(spots)],
            )
            add_trace(db, trace)

        try:
            await change(self._engine, create)
        except IntegrityError:
            return False
        return True

    async def taken(self, ids: Collection[str]) -> frozenset[ChunkPlace]:
        """Of these documents the chunks that pairs were made from, or that a job is about to."""
        open_ = and_(pair_chunks.c.state == "todo", pair_jobs.c.state.in_(("running", "paused")))
        wanted = (
            select(pair_chunks.c.document, pair_chunks.c.version, pair_chunks.c.chunk)
            .join(pair_jobs, pair_jobs.c.id == pair_chunks.c.job)
            .join(documents, documents.c.id == pair_chunks.c.document)
            .where(pair_chunks.c.version == documents.c.hash, or_(open_, pair_chunks.c.state == "done"))
        )
        if len(ids) < 500:
            wanted = wanted.where(pair_chunks.c.document.in_(ids))
        found = await rows(self._engine, wanted)
        return frozenset(ChunkPlace(row.document, row.version, row.chunk) for row in found if row.document in ids)

    async def listed(self, readers: Readers, *, now: datetime, job: str | None = None, limit: int = 100) -> list[QaJob]:
        """The jobs all of whose documents these readers may read, newest first."""
        wanted = (
            select(pair_jobs, documents.c.name)
            .outerjoin(documents, documents.c.id == pair_jobs.c.document)
            .where(_visible(readers))
            .order_by(pair_jobs.c.made_at.desc(), pair_jobs.c.id)
            .limit(limit)
        )
        if job is not None:
            wanted = wanted.where(pair_jobs.c.id == job)
        found, at = await look(self._engine, lambda db: (db.execute(wanted).all(), present(db, now)))
        ids = [row.id for row in found]
        chunks, dropped = await self._chunks(ids)
        made = await self._pairs(ids)
        return [_job(row, at, chunks[row.id], made.get(row.id, {}), dropped[row.id]) for row in found]

    async def _chunks(self, ids: Sequence[str]) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
        key = (pair_chunks.c.job, pair_chunks.c.state)
        sums = select(*key, func.count().label("n"), func.sum(pair_chunks.c.dropped).label("dropped"))
        counts: dict[str, dict[str, int]] = {job: {} for job in ids}
        dropped = dict.fromkeys(ids, 0)
        for row in await rows(self._engine, sums.where(pair_chunks.c.job.in_(ids)).group_by(*key)):
            counts[row.job][row.state] = row.n
            dropped[row.job] += int(row.dropped)
        return counts, dropped

    async def _pairs(self, ids: Sequence[str]) -> dict[str, dict[str, int]]:
        key = (pairs.c.job, pairs.c.state)
        sums = select(*key, func.count().label("n")).where(pairs.c.job.in_(ids)).group_by(*key)
        counts: dict[str, dict[str, int]] = {}
        for row in await rows(self._engine, sums):
            counts.setdefault(row.job, {})[row.state] = row.n
        return counts

    async def spent(self, model: str) -> Cost:
        """The cost of all jobs with a model: how much a call of it takes."""
        sums = (func.coalesce(func.sum(pair_jobs.c[name]), 0) for name in _COSTS)
        (row,) = await rows(self._engine, select(*sums).where(pair_jobs.c.model == model))
        return Cost(*map(int, row))

    async def turn(
        self,
        job: str,
        readers: Readers,
        state: JobState,
        *,
        since: Collection[JobState],
        now: datetime,
        trace: AuditRecord,
        reason: Reason = "",
        model: str | None = None,
    ) -> bool:
        """Put a job that is in one of the states `since` into another; False when there is none. One that is to run
        does its failed chunks again, with `model`. Whoever works on one that is paused learns it with the next
        chunk."""
        values: dict[str, Any] = {"state": state, "reason": reason, "changed_at": now}
        if model is not None:
            values["model"] = model
        if state == "cancelled":
            values |= {"owner": None, "lease_until": None}
        changed = update(pair_jobs).where(pair_jobs.c.id == job, pair_jobs.c.state.in_(since), _visible(readers))
        failed = update(pair_chunks).where(pair_chunks.c.job == job, pair_chunks.c.state == "failed")
        again = (failed.values(state="todo"),) if state == "running" else ()
        return await traced(self._engine, trace, changed.values(**values), *again)

    # -- for whoever works on them ----------------------------------------------------------------------------------

    async def claim(self, *, owner: str, now: datetime, until: datetime) -> HeldJob | None:
        """Take the oldest running job that is this owner's, or nobody's any more."""
        running, oldest = pair_jobs.c.state == "running", (pair_jobs.c.made_at, pair_jobs.c.id)
        row = await take(self._engine, pair_jobs, running, owner=owner, now=now, until=until, first=oldest, again=True)
        return None if row is None else HeldJob(row.id, row.model)

    async def renew(self, job: str, *, owner: str, now: datetime, until: datetime) -> bool:
        """The owner is alive and still at it; False when it should stop."""
        mine = update(pair_jobs).where(_held(job, owner)).returning(pair_jobs.c.state)

        def renew(db: Connection) -> bool:
            return bool(db.scalar(mine.values(lease_until=lease(db, now, until)[1])) == "running")

        return await change(self._engine, renew)

    async def todo(self, job: str) -> list[Task]:
        """The chunks that are left, in order."""
        wanted = (
            select(pair_chunks, documents.c.scope, documents.c.hash)
            .join(documents, documents.c.id == pair_chunks.c.document)
            .where(pair_chunks.c.job == job, pair_chunks.c.state == "todo")
            .order_by(pair_chunks.c.place)
        )
        return [
            Task(row.place, ChunkPlace(row.document, row.version, row.chunk), row.scope, row.version == row.hash)
            for row in await rows(self._engine, wanted)
        ]

    async def store(
        self, job: str, task: Task, state: ChunkState, *, owner: str, now: datetime, made: Sequence[Proposed] = (),
        dropped: int = 0, cost: Cost = _NOTHING,
    ) -> bool:  # fmt: skip
        """Stores the pairs of a chunk, in one transaction and once; whether the job still runs. Raises LostError.

        What was under way when a job was paused is stored too.
        """
        mine = select(pair_jobs.c.state).where(_held(job, owner)).with_for_update()
        about = {"job": job, "place": task.place} | asdict(task.spot)
        its = and_(pair_chunks.c.job == job, pair_chunks.c.place == task.place, pair_chunks.c.state == "todo")
        values = [
            about
            | {"position": at, "question": storable(one.question), "answer": storable(one.answer)}
            | {"state": "pending", "marked": one.marked, "edited": False, "made_at": now}
            for at, one in enumerate(made)
        ]

        def store(db: Connection) -> bool:
            running = db.scalar(mine)
            if running is None:
                raise LostError(job)
            db.execute(update(pair_jobs).where(pair_jobs.c.id == job).values(**_more(cost), changed_at=now))
            if db.execute(update(pair_chunks).where(its).values(state=state, dropped=dropped)).rowcount and values:
                db.execute(pairs.insert(), values)
            return bool(running == "running")

        return await change(self._engine, store)

    async def charge(self, job: str, cost: Cost, *, owner: str) -> None:
        """Stores the cost of a chunk of which no pair has come yet."""
        mine = update(pair_jobs).where(_held(job, owner)).values(**_more(cost))
        await execute(self._engine, mine)

    async def leave(self, job: str, *, owner: str, now: datetime, reason: Reason = "") -> bool:
        """Give a job back: done when nothing is left to do, paused for a `reason`; else whoever looks for work goes on.
        Whether it is done."""

        def leave(db: Connection) -> bool:
            left = exists().where(pair_chunks.c.job == job, pair_chunks.c.state == "todo")
            mine = update(pair_jobs).where(_held(job, owner))
            if not db.scalar(select(left)):
                ended = mine.where(pair_jobs.c.state.in_(("running", "paused")))
                done = db.execute(ended.values(state="done", reason="", changed_at=now)).rowcount
            else:
                done = 0
                if reason:
                    paused = mine.where(pair_jobs.c.state == "running")
                    db.execute(paused.values(state="paused", reason=reason, changed_at=now))
            db.execute(mine.values(owner=None, lease_until=None))
            return bool(done)

        return await change(self._engine, leave)


def _held(job: str, owner: str) -> ColumnElement[bool]:
    return and_(pair_jobs.c.id == job, pair_jobs.c.owner == owner, pair_jobs.c.state != "cancelled")


def _visible(readers: Readers) -> ColumnElement[bool]:
    """Of `pair_jobs`, whatever else a statement selects from."""
    its = and_(pair_chunks.c.job == pair_jobs.c.id, pair_chunks.c.document == _source.c.id)
    hidden = and_(its, _source.c.scope.not_in(readers.scopes))
    some, none = (select(pair_chunks.c.place).where(which).correlate(pair_jobs).exists() for which in (its, hidden))
    return and_(some, ~none)


def _more(cost: Cost) -> dict[str, Any]:
    return {name: pair_jobs.c[name] + getattr(cost, name) for name in _COSTS}


def _job(row: Any, now: datetime, chunks: Mapping[str, int], made: Mapping[str, int], dropped: int) -> QaJob:
    held = row.owner is not None and row.lease_until is not None and row.lease_until > now
    cost = Cost(*(getattr(row, name) for name in _COSTS))
    about = (row.id, row.collection, row.name, row.model, row.state, row.reason)
    return QaJob(*about, cost, held, row.made_at, chunks, made, dropped)
