"""Q/A pairs: what the model wrote, what people made of it, and in which documents the approved ones are found.

Who may read a pair follows from its document, as it is now; a pair of an earlier version of it is stale.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.records import AuditRecord, PairState
from bot.store.audit import add_trace, traced
from bot.store.engine import change, columns, execute, holds, insert, rows, storable
from bot.store.locks import Mutex
from bot.store.schema import documents, pair_documents, pairs
from retrieval.types import QAPair, Readers

_SLICE = 500  # ids in one statement
PART = 50  # chunks whose approved pairs are one document: what an approval embeds again stays small


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair with where it comes from. `marked`: only a reader can tell whether its chunk says it; `stale`: its
    document has been replaced since; `repeats`: the pair that says the same. `name`, `collection` and `scope` are its
    document's."""

    id: int
    document: str
    name: str
    collection: str
    scope: str
    chunk: int
    question: str
    answer: str
    state: PairState
    marked: bool
    edited: bool
    repeats: int | None
    stale: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of pairs, and how many there are altogether."""

    pairs: tuple[Pair, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Known:
    """A pair as it is compared with others of its collection and scope."""

    id: int
    group: tuple[str, str]  # collection and scope
    pair: QAPair
    state: PairState


@dataclass(frozen=True, slots=True)
class Wanted:
    """A document that should be found: the approved pairs of some chunks of a source."""

    source: str
    part: int
    collection: str
    scope: str
    name: str  # the source's
    url: str | None
    changed_at: str | None
    said_in: str | None
    pairs: tuple[QAPair, ...]


@dataclass(frozen=True, slots=True)
class Tracked:
    """A document that approved pairs are found in. `document` None: it is not known whether it was added."""

    source: str
    part: int
    collection: str
    scope: str
    name: str
    document: str | None = None


class PairRows:
    """The pairs. All raise StoreError."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self.following = Mutex(engine, "pair-documents")  # one at a time makes documents of pairs

    # -- review -----------------------------------------------------------------------------------------------------

    async def listed(
        self, readers: Readers, *, job: str | None = None, document: str | None = None,
        states: Collection[PairState] = (), containing: str = "", limit: int = 50, offset: int = 0,
    ) -> Listed:  # fmt: skip
        """Pairs that these readers may read, in reading order; no `states`: all. `containing`: in the question, the
        answer or the document's name, whatever their width or case."""
        which = _which(readers, job, document)
        if states:
            which = and_(which, pairs.c.state.in_(states))
        if containing:
            texts = (pairs.c.question, pairs.c.answer, documents.c.name)
            which = and_(which, or_(*(holds(each, containing) for each in texts)))
        page = _PAIRS.where(which).order_by(pairs.c.made_at, pairs.c.job, pairs.c.place, pairs.c.position)
        count = select(func.count()).select_from(_JOINED).where(which)
        found = await rows(self._engine, page.limit(limit).offset(offset))
        ((total,),) = await rows(self._engine, count)
        return Listed(tuple(Pair(**row._mapping) for row in found), total)

    async def counts(self, readers: Readers, *, job: str | None = None, document: str | None = None) -> dict[str, int]:
        """How many pairs these readers may read, by state."""
        sums = select(pairs.c.state, func.count().label("n")).select_from(_JOINED).where(_which(readers, job, document))
        return {row.state: row.n for row in await rows(self._engine, sums.group_by(pairs.c.state))}

    async def get(self, ids: Sequence[int], readers: Readers) -> list[Pair]:
        """Of these pairs those that are there and readable."""
        found: list[Pair] = []
        for at in range(0, len(ids), _SLICE):
            some = and_(pairs.c.id.in_(ids[at : at + _SLICE]), documents.c.scope.in_(readers.scopes))
            found += [Pair(**row._mapping) for row in await rows(self._engine, _PAIRS.where(some).order_by(pairs.c.id))]
        return found

    async def decide(self, ids: Sequence[int], state: PairState, *, now: datetime, trace: AuditRecord) -> int:
        """Approve, reject or reopen; returns how many have changed."""

        def decide(db: Connection) -> int:
            changed = 0
            for at in range(0, len(ids), _SLICE):
                some = pairs.c.id.in_(ids[at : at + _SLICE]) & (pairs.c.state != state)
                values = {"state": state, "repeats": None, "decided_at": None if state == "pending" else now}
                changed += db.execute(update(pairs).where(some).values(**values)).rowcount
            if changed:
                add_trace(db, trace)
            return changed

        return await change(self._engine, decide)

    async def edit(self, pair: int, words: QAPair, *, marked: bool, trace: AuditRecord) -> None:
        """Other words for a pair; one that repeated another may be a new one now."""
        state = case((pairs.c.state == "repeated", "pending"), else_=pairs.c.state)
        values = {"question": storable(words.question), "answer": storable(words.answer), "marked": marked}
        changed = update(pairs).where(pairs.c.id == pair).values(**values, edited=True, state=state, repeats=None)
        await traced(self._engine, trace, changed)

    # -- each question once -----------------------------------------------------------------------------------------

    async def beside(self, job: str) -> list[Known]:
        """All pairs in the collections and scopes that a job has made some in: what people have decided first, then in
        the order in which they were made."""
        own = select(documents.c.collection, documents.c.scope).join(pairs, pairs.c.document == documents.c.id)
        places = await rows(self._engine, own.where(pairs.c.job == job).distinct())
        decided = case((pairs.c.state.in_(("approved", "rejected")), 0), (pairs.c.edited.is_(True), 1), else_=2)
        columns = (pairs.c.id, pairs.c.question, pairs.c.answer, pairs.c.state)
        found: list[Known] = []
        for place in places:
            here = and_(documents.c.collection == place.collection, documents.c.scope == place.scope)
            wanted = select(*columns, documents.c.name).select_from(_JOINED).where(here)
            order = (decided, pairs.c.made_at, documents.c.name, pairs.c.place, pairs.c.position, pairs.c.id)
            found += [
                Known(row.id, (place.collection, place.scope), QAPair(row.question, row.answer), row.state)
                for row in await rows(self._engine, wanted.order_by(*order))
            ]
        return found

    async def repeat(self, repeated: Mapping[int, int]) -> None:
        """Undecided pairs that say what another one says."""

        def repeat(db: Connection) -> None:
            for pair, first in repeated.items():
                its = and_(pairs.c.id == pair, pairs.c.state == "pending")
                db.execute(update(pairs).where(its).values(state="repeated", repeats=first))

        if repeated:
            await change(self._engine, repeat)

    # -- where approved pairs are found -----------------------------------------------------------------------------

    async def wanted(self, source: str | None = None) -> dict[tuple[str, int], Wanted]:
        """The documents that there should be now, of one source or of all. What people have taken back in a channel is
        in no pair either: of its threads only pairs of what is said there now."""
        said_now = or_(documents.c.said_in.is_(None), pairs.c.version == documents.c.hash)
        of_source = () if source is None else (pairs.c.document == source,)
        which = and_(pairs.c.state == "approved", said_now, *of_source)
        columns = (pairs.c.document, pairs.c.chunk, pairs.c.question, pairs.c.answer)
        order = (pairs.c.document, pairs.c.chunk, pairs.c.place, pairs.c.position, pairs.c.id)
        about = [documents.c[name] for name in ("collection", "scope", "name", "url", "changed_at", "said_in")]
        found: dict[tuple[str, int], list[Any]] = {}
        for row in await rows(
            self._engine, select(*columns, *about).select_from(_JOINED).where(which).order_by(*order)
        ):
            found.setdefault((row.document, row.chunk // PART), []).append(row)
        return {
            key: Wanted(
                *key, some[0].collection, some[0].scope, some[0].name, some[0].url, some[0].changed_at, some[0].said_in,
                tuple(QAPair(row.question, row.answer) for row in some),
            )
            for key, some in found.items()
        }  # fmt: skip

    async def tracked(self, source: str | None = None) -> list[Tracked]:
        """The documents that there are, or may be."""
        wanted = select(pair_documents).order_by(pair_documents.c.source, pair_documents.c.part)
        if source is not None:
            wanted = wanted.where(pair_documents.c.source == source)
        return [Tracked(**row._mapping) for row in await rows(self._engine, wanted)]

    async def found_as(self, document: str, words: QAPair) -> int | None:
        """The approved pair with these words, up to spaces, that is found in a document of pairs; None: none."""
        its = and_(pair_documents.c.document == document, pair_documents.c.source == pairs.c.document)
        columns = (pairs.c.id, pairs.c.question, pairs.c.answer)
        wanted = select(*columns).select_from(pairs.join(pair_documents, its)).where(pairs.c.state == "approved")
        for row in await rows(self._engine, wanted.order_by(pairs.c.id)):
            if (row.question.split(), row.answer.split()) == (words.question.split(), words.answer.split()):
                return int(row.id)
        return None

    async def track(self, one: Tracked) -> None:
        """Before it is added, and after."""
        values = columns(one)
        change_of = {name: value for name, value in values.items() if name not in ("source", "part")}
        added = insert(self._engine, pair_documents).values(**values)
        await execute(self._engine, added.on_conflict_do_update(index_elements=["source", "part"], set_=change_of))

    async def untrack(self, one: Tracked, *, now: datetime | None = None) -> None:
        """Notes that a document is gone; with `now`, because somebody has taken it out: then its pairs are
        rejected."""
        its = and_(pair_documents.c.source == one.source, pair_documents.c.part == one.part)
        theirs = and_(
            pairs.c.document == one.source,
            pairs.c.state == "approved",
            pairs.c.chunk.between(one.part * PART, one.part * PART + PART - 1),
        )

        def untrack(db: Connection) -> None:
            db.execute(delete(pair_documents).where(its))
            if now is not None:
                db.execute(update(pairs).where(theirs).values(state="rejected", decided_at=now))

        await change(self._engine, untrack)


_JOINED = pairs.join(documents, documents.c.id == pairs.c.document)
_PAIRS = select(
    *(pairs.c[name] for name in ("id", "document", "chunk", "question", "answer", "state")),
    *(pairs.c[name] for name in ("marked", "edited", "repeats")),
    *(documents.c[name] for name in ("name", "collection", "scope")),
    (pairs.c.version != documents.c.hash).label("stale"),
).select_from(_JOINED)


def _which(readers: Readers, job: str | None, document: str | None) -> ColumnElement[bool]:
    return and_(
        documents.c.scope.in_(readers.scopes),
        *(() if job is None else (pairs.c.job == job,)),
        *(() if document is None else (pairs.c.document == document,)),
    )
