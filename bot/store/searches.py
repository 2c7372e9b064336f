"""Every search, measured: to list, export, sum up and clear."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, select, true, update

from bot.records import SearchTotals
from bot.store.engine import Store, change, execute, rows, storable
from bot.store.schema import searches, turns
from retrieval.types import EVERYONE, SearchMetrics

_AT_ONCE = 500  # ids: a statement takes no more


class Measured(NamedTuple):
    """A measurement, the scope that may see its query's words, and the turn that searched; None: somebody did, by
    hand."""

    metrics: SearchMetrics
    scope: str
    turn: str | None = None


def failure(query: str, collections: Sequence[str] | None, error: str) -> SearchMetrics:
    """The measurement of a search that gave nothing because of `error` (a kind of failure, no internals)."""
    return SearchMetrics(query, ", ".join(collections or ()), 0.0, 0, 0, 0.0, (), error, datetime.now(UTC))


class Searches(Store):
    """SearchMetrics and who may see their queries. Source: seeds/3_agent_tools.md §4."""

    async def add(self, *measured: Measured) -> None:
        """Keep measurements, in one transaction; without their words those of questions that were taken back meanwhile.

        A power cut may cost the last of them: no answer waits for the disk because of a statistic.
        """
        values = [
            {
                "query": storable(metrics.query),
                "collection": metrics.collection_name[:400],
                "latency_ms": metrics.latency_ms,
                "total_results": metrics.total_results,
                "filtered_results": metrics.filtered_results,
                "top_score": metrics.top_score,
                "scores": list(metrics.scores),
                "error": metrics.error,
                "scope": scope,
                "turn": turn,
                "at": metrics.timestamp,
            }
            for metrics, scope, turn in measured
        ]
        asked = {one.turn for one in measured if one.turn is not None}

        def add(db: Connection) -> None:
            there = select(turns.c.id).where(turns.c.id.in_(asked), turns.c.deleted_at.is_(None))
            held = there.order_by(turns.c.sequence).with_for_update(read=True)
            gone = asked.difference(db.scalars(held)) if asked else ()
            db.execute(_ADD, [row | {"query": ""} if row["turn"] in gone else row for row in values])

        await change(self._engine, add, durable=False)

    async def listed(
        self, scopes: Collection[str], *, since: datetime | None = None, limit: int | None = None
    ) -> list[SearchMetrics]:
        """The measurements whose queries `scopes` may see, newest first; all of them for an export. What outsiders
        could find as well was asked before them, in private places too: it is nobody else's, and only counts; so are
        those without words any more (`empty_queries`, `withdraw_queries`)."""
        theirs = searches.c.scope.in_([scope for scope in scopes if scope != EVERYONE]) & (searches.c.query != "")
        wanted = (
            select(searches)
            .where(theirs, searches.c.at >= since if since else true())
            .order_by(searches.c.at.desc(), searches.c.id.desc())
            .limit(limit)
        )
        return [_metrics(row) for row in await rows(self._engine, wanted)]

    async def totals(self) -> SearchTotals:
        """All searches summed up, whoever asked."""
        wanted = select(searches.c.latency_ms, searches.c.error, searches.c.filtered_results)
        found = await rows(self._engine, wanted)
        worked = sorted(row.latency_ms for row in found if row.error is None)
        return SearchTotals(
            searches=len(found),
            failed=sum(row.error is not None for row in found),
            empty=sum(row.error is None and not row.filtered_results for row in found),
            p50_ms=percentile(worked, 0.50),
            p95_ms=percentile(worked, 0.95),
        )

    async def clear(self) -> int:
        """Forget all measurements; returns how many there were."""
        return await execute(self._engine, delete(searches))


def forget_searches(db: Connection, asked: Sequence[Any]) -> int:
    """The searches of these turns (rows) go; how many they were."""
    return db.execute(delete(searches).where(searches.c.turn.in_([row.id for row in asked]))).rowcount


def empty_queries(db: Connection, turn: str) -> None:
    """The words of a turn's searches go: its question has other words."""
    db.execute(update(searches).where(searches.c.turn == turn).values(query=""))


def withdraw_queries(db: Connection, asked: Sequence[Any]) -> None:
    """The words of these turns' (rows) searches go, but for those of their questions: a model may search for what it
    has read."""
    texts = {row.id: row.text for row in asked}
    theirs = select(searches.c.id, searches.c.turn, searches.c.query).where(searches.c.turn.in_(texts))
    read = [row.id for row in db.execute(theirs.where(searches.c.query != "")) if row.query not in texts[row.turn]]
    for at in range(0, len(read), _AT_ONCE):
        db.execute(update(searches).where(searches.c.id.in_(read[at : at + _AT_ONCE])).values(query=""))


def percentile(ascending: Sequence[float], share: float) -> float | None:
    """The nearest-rank percentile of sorted values; None of nothing."""
    return ascending[max(0, -(-len(ascending) * int(share * 100) // 100) - 1)] if ascending else None


def _metrics(row: Any) -> SearchMetrics:
    return SearchMetrics(
        query=row.query,
        collection_name=row.collection,
        latency_ms=row.latency_ms,
        total_results=row.total_results,
        filtered_results=row.filtered_results,
        top_score=row.top_score,
        scores=tuple(row.scores),
        error=row.error,
        timestamp=row.at,
    )


_ADD = searches.insert()  # put together once: every search runs it
