"""How the bot does, for the page of metrics: a time summed up day by day, as far as its readers may see it; and
measured searches as a file for a spreadsheet.

Numbers count all places together; a place that these readers do not see is part of them, and is never named.
Source: product.md §3 and §6; seeds/3_agent_tools.md §4 (export of the metrics).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from agent.events import Cost
from bot.access import default_scope
from bot.store.collections import Collections
from bot.store.metrics import ChannelFigures, CollectionFigures, MetricsStore, Sums
from bot.store.time_spans import TimeSpan
from bot.store.usage import Spent, Usage
from bot.types import Place
from bot.unanswered import spreadsheet
from retrieval.i18n import Language, Text
from retrieval.types import Readers, SearchMetrics

PERIODS = (7, 30, 90)  # days, today among them
LONGEST = 366


@dataclass(frozen=True, slots=True)
class ChannelRow:
    """The turns of a place; `place` None: of all those together that these readers do not see."""

    place: Place | None
    outcomes: Mapping[str, int]
    mean_seconds: float
    last: datetime

    @property
    def turns(self) -> int:
        return sum(self.outcomes.values())


@dataclass(frozen=True, slots=True)
class Metrics:
    """The questions asked, how they ended and what they cost. In `sums` all places count.

    `spent` tells the calls and tokens of each day and paid model. What they cost in money depends on prices that nobody
    has told the bot.
    """

    sums: Sums
    collections: tuple[CollectionFigures, ...]  # that these readers may read
    channels: tuple[ChannelRow, ...]  # the most asked first, the unnamed last
    spent: tuple[Spent, ...]

    @property
    def outcomes(self) -> Mapping[str, int]:
        """How all questions ended, an answer that the bot was not sure of as `unsure`: they add up to the questions."""
        return dict(sum((Counter(one.outcomes) for one in self.sums.turns), start=Counter()))

    @property
    def reasons(self) -> Mapping[str, int]:
        """Of all misses; each question counts once."""
        return dict(sum((Counter[str](one.reasons) for one in self.sums.misses), start=Counter()))

    @property
    def cost(self) -> Cost:
        return sum((one.cost for one in self.spent), start=Cost())


def days(period: int, now: datetime, timezone: tzinfo) -> tuple[TimeSpan, ...]:
    """The last days of a time zone, today among them; one may have 23 or 25 hours."""
    today = now.astimezone(timezone).date()
    dates = [today - timedelta(days=back) for back in reversed(range(period))]
    return tuple(TimeSpan(one, _midnight(one, timezone), _midnight(one + timedelta(days=1), timezone)) for one in dates)


async def metrics(
    period: int,
    readers: Readers,
    *,
    figures: MetricsStore,
    usage: Usage,
    collections: Collections,
    timezone: tzinfo,
    now: datetime,
) -> Metrics:
    """The figures of the last `period` days (1 to 366) as these readers may see them. Raises StoreError, ValueError."""
    if not 1 <= period <= LONGEST:
        raise ValueError(f"a period has 1 to {LONGEST} days")
    span = days(period, now, timezone)
    theirs = {info.name for info in await collections.listed(readers)}
    sums = await figures.sums(span)
    searched = await figures.collections(span, readers.scopes)
    channels = await figures.channels(span)
    return Metrics(
        sums=sums,
        collections=tuple(one for one in searched if one.collection in theirs),
        channels=_rows(channels, readers),
        spent=tuple(one for one in await usage.by_day(span[0].day) if one.day <= span[-1].day),
    )


def _midnight(day: date, timezone: tzinfo) -> datetime:
    return datetime.combine(day, time(), timezone).astimezone(UTC)


def _rows(channels: Sequence[ChannelFigures], readers: Readers) -> tuple[ChannelRow, ...]:
    """A place that was read by the team at one time and by its members only at another has what these readers saw."""
    seen: dict[Place | None, list[ChannelFigures]] = {}
    for one in channels:
        visible = default_scope(one.place, one.audience) in readers.scopes
        seen.setdefault(one.place if visible else None, []).append(one)
    rows = [_row(place, parts) for place, parts in seen.items()]
    return tuple(sorted(rows, key=lambda row: (row.place is None, -row.turns)))


def _row(place: Place | None, parts: Sequence[ChannelFigures]) -> ChannelRow:
    outcomes = sum((Counter(dict(part.outcomes)) for part in parts), start=Counter[str]())
    seconds = sum(part.mean_seconds * sum(part.outcomes.values()) for part in parts)
    return ChannelRow(place, dict(outcomes), seconds / outcomes.total(), max(part.last for part in parts))


_HEADINGS = Text(
    en="time,query,collection,latency ms,found,relevant enough,top relevance,relevances,error",
    ja="日時,検索語,コレクション,応答時間(ms),候補数,十分関連する件数,最高関連度,関連度,エラー",
)


def as_csv(searches: Sequence[SearchMetrics], language: Language, timezone: tzinfo) -> bytes:
    """A search a line."""
    rows = (
        (
            f"{one.timestamp.astimezone(timezone):%Y-%m-%d %H:%M:%S}",
            one.query,
            one.collection_name,
            f"{one.latency_ms:.1f}",
            str(one.total_results),
            str(one.filtered_results),
            f"{one.top_score:.3f}",
            " ".join(f"{score:.3f}" for score in one.scores),
            one.error or "",
        )
        for one in searches
    )
    return spreadsheet.table(_HEADINGS.to(language).split(","), rows)
