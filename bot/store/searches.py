"""Every search, measured: to list, export, sum up and clear."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, false, or_, select, true, update

from bot.records import SearchTotals
from bot.store.engine import Store, change, execute, rows, storable
from bot.store.schema import searches
from retrieval.types import EVERYONE, SearchMetrics

_AROUND = timedelta(seconds=2)  # a search is measured a moment after its turn has asked for it
_AT_ONCE = 500  # ids: a statement takes no more


def failure(query: str, collections: Sequence[str] | None, error: str) -> SearchMetrics:
    """The measurement of a search that gave nothing because of `error` (a kind of failure, no internals)."""
    return SearchMetrics(query, ", ".join(collections or ()), 0.0, 0, 0, 0.0, (), error, datetime.now(UTC))


class Searches(Store):
    """SearchMetrics and who may see their queries. Source: seeds/3_agent_tools.md §4."""

    async def add(self, *measured: tuple[SearchMetrics, str]) -> None:
        """Keep measurements, in one transaction; the scope beside each may see the query's words.

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
                "at": metrics.timestamp,
            }
            for metrics, scope in measured
        ]
        await change(self._engine, lambda db: db.execute(_ADD, values), durable=False)

    async def listed(
        self, scopes: Collection[str], *, since: datetime | None = None, limit: int | None = None
    ) -> list[SearchMetrics]:
        """The measurements whose queries `scopes` may see, newest first; all of them for an export. What outsiders
        could find as well was asked before them, in private places too: it is nobody else's, and only counts; so are
        those without words any more (`withdraw_queries`)."""
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
    """A search does not know who asked; those made while one of these turns (rows) ran go, whoever else asked
    meanwhile. How many they were."""
    return db.execute(delete(searches).where(_during(asked))).rowcount


def withdraw_queries(db: Connection, asked: Sequence[Any]) -> None:
    """Of the searches made while one of these turns (rows) ran the words go, but for those of the questions: a model
    may search for what it has read."""
    made = db.execute(select(searches.c.id, searches.c.query).where(_during(asked), searches.c.query != "")).all()
    read = [row.id for row in made if not any(row.query in one.text for one in asked)]
    for at in range(0, len(read), _AT_ONCE):
        db.execute(update(searches).where(searches.c.id.in_(read[at : at + _AT_ONCE])).values(query=""))


def _during(asked: Sequence[Any]) -> ColumnElement[bool]:
    return or_(
        false(),
        *(
            searches.c.at.between(row.claimed_at - _AROUND, (row.finished_at or row.claimed_at) + _AROUND)
            for row in asked
        ),
    )


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
