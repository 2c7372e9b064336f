"""Sums of a time, made by the database: what was asked, how it ended, how long it took, what was found and missed.

Each question counts once, on the day of its answer: as `unsure` rather than `answered` where the bot was not sure of
it, so that the ways questions ended add up to the questions. The statements read indexes that hold no texts
(`ix_answers_figures`, `ix_searches_figures`)."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from typing import Any

from sqlalchemy import CTE, ColumnElement, Text, case, cast, exists, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.records import Latency
from bot.store.conversations import how_ended
from bot.store.engine import Store, read
from bot.store.schema import Moment, answers, documents, feedback, questions, searches, sources, turns
from bot.store.time_spans import TimeSpan, count, of, table, within
from bot.types import Audience, MissReason, Place

BUCKETS = 10  # of relevance, each a tenth


@dataclass(frozen=True, slots=True)
class TurnDay:
    """The answers that were given on one day, by outcome or `unsure`."""

    day: date
    outcomes: Mapping[str, int]
    seconds: Latency


@dataclass(frozen=True, slots=True)
class SearchDay:
    day: date
    searches: int
    failed: int
    ms: Latency  # of those that worked


@dataclass(frozen=True, slots=True)
class MissDay:
    """The questions of one day that were missed, each by one reason: `reported` only what was not found wanting
    before."""

    day: date
    reasons: Mapping[MissReason, int]


@dataclass(frozen=True, slots=True)
class FeedbackFigures:
    """Votes, and the reasons of those down (empty: without one)."""

    up: int
    down: int
    reasons: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CollectionFigures:
    """Turns: that searched a collection and how they ended; that found something in it; that cite it."""

    collection: str
    searched: int
    answered: int
    unsure: int
    unknown: int
    found: int
    cited: int

    @property
    def otherwise(self) -> int:
        """Declined, or an outage."""
        return self.searched - self.answered - self.unsure - self.unknown


@dataclass(frozen=True, slots=True)
class ChannelFigures:
    """The turns of one place, as it was read then; to be shown by name only to who sees it."""

    place: Place
    audience: Audience
    outcomes: Mapping[str, int]
    mean_seconds: float
    last: datetime


@dataclass(frozen=True, slots=True)
class Sums:
    """A time summed up. `relevance`: how many answers had their best passage in each tenth 0.0–0.1, … 0.9–1.0;
    `unmeasured` answers searched for nothing."""

    turns: tuple[TurnDay, ...]
    seconds: Latency
    searches: tuple[SearchDay, ...]
    ms: Latency
    relevance: tuple[int, ...]
    unmeasured: int
    feedback: FeedbackFigures
    misses: tuple[MissDay, ...]


class MetricsStore(Store):
    """Reads only; what is asked for at once is of one moment. All raise StoreError."""

    async def sums(self, days: Sequence[TimeSpan]) -> Sums:
        """Of days in a row, all places together."""
        spans = table(days)
        async with read(self._engine) as db:
            seconds, by_day = await _turns(db, days, spans)
            ms, searched = await _searches(db, days, spans)
            relevance, unmeasured = await _relevance(db, days)
            return Sums(
                turns=by_day,
                seconds=seconds,
                searches=searched,
                ms=ms,
                relevance=relevance,
                unmeasured=unmeasured,
                feedback=await _feedback(db, days),
                misses=await _misses(db, days, spans),
            )

    async def collections(self, days: Sequence[TimeSpan], scopes: Collection[str]) -> tuple[CollectionFigures, ...]:
        """By name, whoever may read them; what was found in them only in documents of `scopes`."""
        async with read(self._engine) as db:
            return await _collections(db, days, scopes)

    async def channels(self, days: Sequence[TimeSpan]) -> tuple[ChannelFigures, ...]:
        """All places, the most asked first."""
        async with read(self._engine) as db:
            return await _channels(db, days)


async def _turns(db: AsyncConnection, days: Sequence[TimeSpan], spans: CTE) -> tuple[Latency, tuple[TurnDay, ...]]:
    at = answers.c.answered_at
    ended = select(spans.c.day, how_ended(), func.count().label("n")).join(answers, of(spans, at))
    outcomes: dict[date, dict[str, int]] = {}
    for row in await db.execute(ended.group_by(spans.c.day, "ended")):
        outcomes.setdefault(row.day, {})[row.ended] = row.n
    took = select(spans.c.day, answers.c.seconds.label("value")).join(answers, of(spans, at))
    each = await _latencies(db, took)
    whole = await _latency(db, select(answers.c.seconds.label("value")).where(within(at, days)))
    return whole, tuple(TurnDay(one.day, outcomes.get(one.day, {}), each.get(one.day, Latency())) for one in days)


async def _searches(db: AsyncConnection, days: Sequence[TimeSpan], spans: CTE) -> tuple[Latency, tuple[SearchDay, ...]]:
    at, worked = searches.c.at, searches.c.error.is_(None)
    counted = (
        select(
            spans.c.day,
            func.count().label("searches"),
            count(~worked).label("failed"),
        )
        .join(searches, of(spans, at))
        .group_by(spans.c.day)
    )
    counts = {row.day: (row.searches, row.failed) for row in await db.execute(counted)}
    took = select(spans.c.day, searches.c.latency_ms.label("value")).join(searches, of(spans, at) & worked)
    each = await _latencies(db, took)
    whole = await _latency(db, select(searches.c.latency_ms.label("value")).where(within(at, days), worked))
    found = []
    for one in days:
        asked, failed = counts.get(one.day, (0, 0))
        found.append(SearchDay(one.day, asked, failed, each.get(one.day, Latency())))
    return whole, tuple(found)


async def _relevance(db: AsyncConnection, days: Sequence[TimeSpan]) -> tuple[tuple[int, ...], int]:
    best = answers.c.confidence
    wanted = select(*_tenths(best), count(best.is_(None))).where(within(answers.c.answered_at, days))
    *tenths, unmeasured = (await db.execute(wanted)).one()
    return tuple(tenths), unmeasured


async def _feedback(db: AsyncConnection, days: Sequence[TimeSpan]) -> FeedbackFigures:
    wanted = (
        select(feedback.c.vote, feedback.c.reason, func.count().label("n"))
        .where(within(feedback.c.at, days))
        .group_by(feedback.c.vote, feedback.c.reason)
    )
    found = (await db.execute(wanted)).all()
    downs = {row.reason or "": row.n for row in found if row.vote == "down"}
    return FeedbackFigures(sum(row.n for row in found if row.vote == "up"), sum(downs.values()), downs)


async def _misses(db: AsyncConnection, days: Sequence[TimeSpan], spans: CTE) -> tuple[MissDay, ...]:
    of_turn = questions.c.turn == answers.c.turn
    doubted = exists().where(of_turn, questions.c.reason == "low_confidence")
    unknown = answers.c.outcome == "unknown"
    reason = case((unknown, "unknown"), (doubted, "low_confidence"), else_="reported").label("reason")
    wanted = (
        select(spans.c.day, reason, func.count().label("n"))
        .join(answers, of(spans, answers.c.answered_at))
        .where(exists().where(of_turn))
        .group_by(spans.c.day, "reason")
    )
    reasons: dict[date, dict[MissReason, int]] = {}
    for row in await db.execute(wanted):
        reasons.setdefault(row.day, {})[row.reason] = row.n
    return tuple(MissDay(one.day, reasons.get(one.day, {})) for one in days)


async def _collections(
    db: AsyncConnection, days: Sequence[TimeSpan], scopes: Collection[str]
) -> tuple[CollectionFigures, ...]:
    asked = within(answers.c.answered_at, days)
    lists = cast(answers.c.searched, Text).label("names")  # few different ones
    grouped = select(lists, how_ended(), func.count().label("n")).where(asked).group_by(lists, "ended")
    searched: Counter[tuple[str, str]] = Counter()
    for row in await db.execute(grouped):
        for name in json.loads(row.names):
            searched[name, row.ended] += row.n
    cited = case((sources.c.cited, sources.c.turn))
    good = (
        select(
            documents.c.collection,
            func.count(sources.c.turn.distinct()).label("found"),
            func.count(cited.distinct()).label("cited"),
        )
        .select_from(answers)
        .join(sources, sources.c.turn == answers.c.turn)
        .join(documents, documents.c.id == sources.c.document)
        .where(asked, documents.c.scope.in_(scopes))
        .group_by(documents.c.collection)
    )
    found = {row.collection: row for row in await db.execute(good)}
    return tuple(
        CollectionFigures(
            collection=name,
            searched=sum(n for (collection, _), n in searched.items() if collection == name),
            answered=searched[name, "answered"],
            unsure=searched[name, "unsure"],
            unknown=searched[name, "unknown"],
            found=found[name].found if name in found else 0,
            cited=found[name].cited if name in found else 0,
        )
        for name in sorted({name for name, _ in searched} | set(found))
    )


async def _channels(db: AsyncConnection, days: Sequence[TimeSpan]) -> tuple[ChannelFigures, ...]:
    where = (turns.c.platform, turns.c.workspace, turns.c.channel, turns.c.audience)
    wanted = (
        select(
            *where,
            how_ended(),
            func.count().label("n"),
            func.sum(answers.c.seconds).label("seconds"),
            func.max(answers.c.answered_at, type_=Moment).label("last"),
        )
        .join(turns, turns.c.id == answers.c.turn)
        .where(within(answers.c.answered_at, days))
        .group_by(*where, "ended")
    )
    found: dict[tuple[str, str, str, Any], list[Any]] = {}
    for row in await db.execute(wanted):
        found.setdefault((row.platform, row.workspace, row.channel, row.audience), []).append(row)
    channels = [
        ChannelFigures(
            place=Place(platform, workspace, channel),
            audience=Audience(audience),
            outcomes={row.ended: row.n for row in rows},
            mean_seconds=sum(row.seconds for row in rows) / sum(row.n for row in rows),
            last=max(row.last for row in rows),
        )
        for (platform, workspace, channel, audience), rows in found.items()
    ]
    return tuple(sorted(channels, key=lambda one: (-sum(one.outcomes.values()), one.place.channel)))


# -- parts of statements --------------------------------------------------------------------------------------------


def _tenths(value: ColumnElement[float]) -> list[ColumnElement[int]]:
    edges = [bucket / BUCKETS for bucket in range(BUCKETS + 1)]
    first, last = count(value < edges[1]), count(value >= edges[-2])
    between = [count((value >= low) & (value < high)) for low, high in pairwise(edges[1:-1])]
    return [first, *between, last]


async def _latencies(db: AsyncConnection, took: Any) -> dict[date, Latency]:
    """Of `took` (day, value)."""
    took = took.subquery()
    place = func.row_number().over(partition_by=took.c.day, order_by=took.c.value).label("place")
    many = func.count().over(partition_by=took.c.day).label("many")
    ranked = select(took.c.day, took.c.value, place, many).subquery()
    wanted = select(ranked.c.day, *(_at(ranked, percent) for percent in (50, 95))).group_by(ranked.c.day)
    return {row[0]: Latency(*row[1:]) for row in await db.execute(wanted)}


async def _latency(db: AsyncConnection, took: Any) -> Latency:
    took = took.subquery()
    place = func.row_number().over(order_by=took.c.value).label("place")
    ranked = select(
        took.c.value, place, select(func.count()).select_from(took).scalar_subquery().label("many")
    ).subquery()
    p50, p95 = (await db.execute(select(_at(ranked, 50), _at(ranked, 95)))).one()
    return Latency(p50, p95)


def _at(ranked: Any, percent: int) -> ColumnElement[float]:
    return func.max(case((ranked.c.place == (ranked.c.many * percent + 99) // 100, ranked.c.value)))
