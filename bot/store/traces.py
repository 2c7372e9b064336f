"""How answers came about, event by event, and which documents they found: kept with the answer, and emptied of what
may be a document's words once that is forgotten.

No passage's text is kept here: whoever looks at a trace is given the passages that are there and readable then.
Source: product.md §3; reliability.md R61.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, null, select, update

from bot.store.engine import Store, rows
from bot.store.schema import documents, sources, traces
from retrieval.types import Readers

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Noted:
    """An event on its way in. `event` is JSON already: many turns may end at once, and no other one waits for that.

    `found`: the best relevance of each document among its hits; `cited`: of an answer, the documents it cites.
    """

    ms: int  # since work on the turn was taken up
    kind: str
    event: str
    found: Mapping[str, float] = field(default_factory=dict)
    cited: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One event. `event` is None when it was withheld for the sake of a forgotten document."""

    ms: int  # since work on the turn was taken up
    kind: str
    event: Json | None


class Traces(Store):
    """The events of turns that have their answer."""

    async def of(self, turn: str) -> list[TraceRow]:
        """In their order; none of a turn that is not answered, unknown, or older than traces are."""
        wanted = (
            select(traces.c.ms, traces.c.kind, traces.c.event).where(traces.c.turn == turn).order_by(traces.c.ordinal)
        )
        return [
            TraceRow(row.ms, row.kind, None if row.event is None else json.loads(row.event))
            for row in await rows(self._engine, wanted)
        ]

    async def documents(self, turn: str, readers: Readers) -> dict[str, str]:
        """Of the documents that a turn found those that these readers may read now: their names by their ids."""
        wanted = (
            select(documents.c.id, documents.c.name)
            .join(sources, sources.c.document == documents.c.id)
            .where(sources.c.turn == turn, documents.c.scope.in_(readers.scopes))
        )
        return {row.id: row.name for row in await rows(self._engine, wanted)}


def keep_traces(db: Connection, ended: Iterable[tuple[str, Sequence[Noted]]]) -> None:
    """Inside the caller's transaction: of turns what was noted of them (`bot.turns.trace.Recording`)."""
    kept: list[Json] = []
    found: list[Json] = []
    for turn, steps in ended:
        for ordinal, step in enumerate(steps):
            row = {"turn": turn, "ordinal": ordinal, "ms": step.ms, "kind": step.kind, "event": step.event}
            kept.append(row)
        found += _sources(turn, steps)
    if kept:
        db.execute(_KEEP, kept)
    if found:
        db.execute(_FOUND, found)


def scrub(db: Connection, forgotten: Collection[str], asked: Collection[str]) -> None:
    """Inside the transaction that takes these documents away: what was thought and written in these turns after one of
    them had been found goes from the traces, since it may be in their words."""
    theirs = sources.c.document.in_(forgotten) & sources.c.turn.in_(asked)
    first = select(func.min(sources.c.ordinal)).where(theirs, sources.c.turn == traces.c.turn).scalar_subquery()
    db.execute(
        update(traces)
        .where(traces.c.turn.in_(select(sources.c.turn).where(theirs)), traces.c.ordinal > first)
        .values(event=null())
    )


def withheld(db: Connection, some: Collection[str]) -> set[str]:
    """Of these turns those of which something is withheld for the sake of a forgotten document."""
    return {*db.scalars(select(traces.c.turn).where(traces.c.turn.in_(some), traces.c.event.is_(None)).distinct())}


def _sources(turn: str, steps: Sequence[Noted]) -> Iterable[Json]:
    cited = {document for step in steps for document in step.cited}
    found: dict[str, Json] = {}
    for ordinal, step in enumerate(steps):
        for document, relevance in step.found.items():
            if (known := found.get(document)) is not None:
                known["relevance"] = max(known["relevance"], relevance)
            else:
                row = {"turn": turn, "document": document, "ordinal": ordinal, "relevance": relevance}
                found[document] = row | {"cited": document in cited}
    return found.values()


_KEEP = traces.insert()
_FOUND = sources.insert()
