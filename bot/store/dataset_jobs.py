"""Datasets that are being added to the knowledge, and those that were. A running one belongs to its owner until the
lease on it passes (`bot.store.leases`). Source: product.md §3; machines.md §1, rows 10 and 12."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, and_, select, update
from sqlalchemy.exc import IntegrityError

from bot.errors import LostError
from bot.records import AuditRecord
from bot.store.audit import add_trace
from bot.store.engine import Store, change, execute, rows
from bot.store.leases import lease, renew, take
from bot.store.schema import dataset_jobs
from bot.types import Verdict
from retrieval.datasets import Columns, Dropped, Ended, Sieve, Split, StreamLimits
from retrieval.i18n import Language

State = Literal["running", "done", "cancelled", "failed"]
Outcome = Literal["added", "replaced", "unchanged", "refused"]


@dataclass(frozen=True, slots=True)
class Upstream:
    """A named dataset: wikipedia_ja, cc_news or livedoor."""

    name: str


@dataclass(frozen=True, slots=True)
class DatasetUpload:
    """A file that was taken. `columns` and `split` None: as its inspection guesses; else as people chose."""

    id: str
    name: str
    columns: Columns | None = None
    split: Split | None = None


Choice = Upstream | DatasetUpload


@dataclass(frozen=True, slots=True)
class Order:
    """An order: what to add, where to, for whom (`slack:U1`, `web:…`), and how much of it."""

    choice: Choice
    collection: str
    scope: str
    author: str
    language: Language
    limits: StreamLimits = field(default_factory=StreamLimits)


@dataclass(frozen=True, slots=True)
class DatasetJob:
    """How far an order is. `counts`: documents by what became of them, and rows left out by reason; of the last pass,
    as all the numbers are: one that goes on after a crash begins again, and finds what is there unchanged."""

    id: str
    order: Order
    started: datetime
    state: State = "running"
    counts: Mapping[Outcome | Dropped, int] = field(default_factory=dict)
    rows: int = 0  # looked at
    characters: int = 0  # of the documents that are in
    fetched: int = 0  # bytes
    refusals: tuple[Verdict, ...] = ()  # the first ones, in words
    finished: datetime | None = None
    ended: Ended | None = None  # of a job that is done: which end it reached
    problem: str = ""  # of one that failed, in words
    tries: int = 0  # passes that were begun since one has added something

    @property
    def name(self) -> str:
        """Of the dataset or file."""
        return self.order.choice.name

    @property
    def documents(self) -> int:
        """That are in the collection through this job, unchanged ones too."""
        return sum(self.counts.get(what, 0) for what in ("added", "replaced", "unchanged"))

    @property
    def taken(self) -> int:
        """Documents that have their verdict."""
        return self.documents + self.counts.get("refused", 0)

    @property
    def share(self) -> float:
        """0..1, of the documents that were ordered."""
        return 1.0 if self.state == "done" else min(1.0, self.taken / max(1, self.order.limits.documents))


class DatasetJobRows(Store):
    """Times are the caller's. All raise StoreError."""

    # -- for people -------------------------------------------------------------------------------------------------

    async def begin(self, job: DatasetJob, *, owner: str, now: datetime, until: datetime) -> bool:
        """A running job of this owner; False when another one adds to its collection."""
        order = job.order
        values = {"collection": order.collection, "scope": order.scope, "author": order.author, "tries": job.tries}
        values |= {"language": order.language, "choice": asdict(order.choice), "limits": asdict(order.limits)}
        values |= _standing(job) | {"id": job.id, "started": job.started, "owner": owner}

        def begin(db: Connection) -> None:
            db.execute(dataset_jobs.insert().values(**values, lease_until=lease(db, now, until)[1]))

        try:
            await change(self._engine, begin)
        except IntegrityError:
            return False
        return True

    async def listed(self, limit: int) -> tuple[DatasetJob, ...]:
        """Newest first."""
        newest = select(dataset_jobs).order_by(dataset_jobs.c.started.desc(), dataset_jobs.c.id).limit(limit)
        return tuple(map(_job, await rows(self._engine, newest)))

    async def get(self, id: str) -> DatasetJob | None:
        found = await rows(self._engine, select(dataset_jobs).where(dataset_jobs.c.id == id))
        return _job(found[0]) if found else None

    async def running(self) -> tuple[DatasetJob, ...]:
        return tuple(map(_job, await rows(self._engine, select(dataset_jobs).where(_RUNNING))))

    async def cancel(self, id: str, *, now: datetime, trace: Callable[[DatasetJob], AuditRecord]) -> bool:
        """Stop it, whoever works on it; False: it was not running."""
        stopped = update(dataset_jobs).where(dataset_jobs.c.id == id, _RUNNING)
        stopped = stopped.values(state="cancelled", finished=now, owner=None, lease_until=None)

        def cancel(db: Connection) -> bool:
            row = db.execute(stopped.returning(dataset_jobs)).first()
            if row is not None:
                add_trace(db, trace(_job(row)))
            return row is not None

        return await change(self._engine, cancel)

    # -- for whoever works on them ----------------------------------------------------------------------------------

    async def claim(
        self, *, owner: str, now: datetime, until: datetime, but: Collection[str] = ()
    ) -> DatasetJob | None:
        """Take the oldest running job that nobody living holds, `but` those."""
        wanted, tries = and_(_RUNNING, dataset_jobs.c.id.not_in(but)), dataset_jobs.c.tries + 1
        oldest = (dataset_jobs.c.started,)
        row = await take(
            self._engine, dataset_jobs, wanted, owner=owner, now=now, until=until, first=oldest, tries=tries
        )
        return None if row is None else _job(row)

    async def renew(self, id: str, *, owner: str, now: datetime, until: datetime) -> bool:
        """The owner is alive and still at it; False when it should stop."""
        return bool(await renew(self._engine, dataset_jobs, _held(id, owner), now, until))

    async def keep(self, job: DatasetJob, *, owner: str, trace: AuditRecord | None = None) -> None:
        """How far it is; with its `trace` when it has ended. Raises LostError."""
        values = _standing(job)
        if job.counts.get("added") or job.counts.get("replaced"):
            values["tries"] = 0
        if job.state != "running":
            values |= {"owner": None, "lease_until": None}
        mine = update(dataset_jobs).where(_held(job.id, owner)).values(**values)

        def keep(db: Connection) -> None:
            if not db.execute(mine).rowcount:
                raise LostError(job.id)
            if trace is not None:
                add_trace(db, trace)

        await change(self._engine, keep)

    async def release(self, *, owner: str) -> None:
        """Give all of this owner's back: whoever looks for work goes on with them at once."""
        given = update(dataset_jobs).where(_RUNNING, dataset_jobs.c.owner == owner)
        await execute(self._engine, given.values(owner=None, lease_until=None, tries=0))


_RUNNING = dataset_jobs.c.state == "running"


def _held(id: str, owner: str) -> ColumnElement[bool]:
    return and_(dataset_jobs.c.id == id, dataset_jobs.c.owner == owner, _RUNNING)


def _standing(job: DatasetJob) -> dict[str, Any]:
    progress = {
        "counts": dict(job.counts),
        "rows": job.rows,
        "characters": job.characters,
        "fetched": job.fetched,
        "refusals": [asdict(verdict) for verdict in job.refusals],
    }
    ended = {"ended": job.ended, "problem": job.problem, "finished": job.finished}
    return {"state": job.state, "progress": progress, **ended}


def _job(row: Any) -> DatasetJob:
    sieve = Sieve(**row.limits["sieve"])
    limits = StreamLimits(**row.limits | {"sieve": sieve})
    order = Order(_choice(row.choice), row.collection, row.scope, row.author, row.language, limits)
    progress = row.progress | {"refusals": tuple(Verdict(**verdict) for verdict in row.progress["refusals"])}
    return DatasetJob(
        id=row.id,
        order=order,
        started=row.started,
        state=row.state,
        finished=row.finished,
        ended=row.ended,
        problem=row.problem,
        tries=row.tries,
        **progress,
    )


def _choice(kept: Mapping[str, Any]) -> Choice:
    if "id" not in kept:
        return Upstream(**kept)
    columns = kept["columns"]
    chosen = None if columns is None else Columns(**columns | {"text": tuple(columns["text"])})
    return DatasetUpload(kept["id"], kept["name"], chosen, kept["split"])
