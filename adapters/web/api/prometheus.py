"""`/metrics` in Prometheus' text form, from the same sums that `kotae metrics` shows. Labels are bounded.

The sums are of what is kept, and fall as days pass `KOTAE_KEEP_DAYS`, so they are gauges: a counter that falls would be
taken for one that began anew, and all it says for new.

Source: reliability.md R50 and R59.
"""

import asyncio
from collections.abc import Iterator, Mapping

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from bot.records import Summary

CONTENT_TYPE = CONTENT_TYPE_LATEST
_OUTCOMES = ("answered", "unsure", "unknown", "declined", "failed")
_TICK_SECONDS = 0.5


class Lag:
    """How late the event loop comes to what is due: the worst since it was last looked at, in seconds."""

    def __init__(self) -> None:
        self._worst = 0.0

    async def watch(self) -> None:
        """Until cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            due = clock() + _TICK_SECONDS
            await asyncio.sleep(_TICK_SECONDS)
            self._worst = max(self._worst, clock() - due)

    def take(self) -> float:
        worst, self._worst = self._worst, 0.0
        return worst


class _Once(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families


def prometheus(parts: Mapping[str, bool], lag: float, summary: Summary | None) -> bytes:
    """The text of one scrape. `parts`: whether each works; `summary` None: the database cannot be read."""
    works = GaugeMetricFamily("kotae_part_up", "Whether a part works, as /readyz names them.", labels=["part"])
    for part, there in parts.items():
        works.add_metric([part], there)
    late = GaugeMetricFamily("kotae_loop_lag_seconds", "The worst delay of the event loop since the last look.", lag)
    registry = CollectorRegistry()
    registry.register(_Once([works, late, *(_sums(summary) if summary is not None else ())]))
    return generate_latest(registry)


def _sums(summary: Summary) -> Iterator[Metric]:
    turns, searches, cost = summary.turns, summary.searches, summary.turns.cost
    ended = {outcome: turns.outcomes.get(outcome, 0) for outcome in _OUTCOMES}
    yield _by("kotae_turns", "Questions kept that have their answer, by outcome or unsure.", "outcome", ended)
    yield _quantiles("kotae_turn_seconds", "Seconds to the answer.", turns.p50_seconds, turns.p95_seconds)
    found = searches.searches - searches.failed - searches.empty
    results = {"found": found, "empty": searches.empty, "failed": searches.failed}
    yield _by("kotae_searches", "Searches kept, by what came of them.", "result", results)
    yield _quantiles("kotae_search_milliseconds", "Milliseconds of a search.", searches.p50_ms, searches.p95_ms)
    yield GaugeMetricFamily("kotae_model_calls", "Calls of paid models for the questions kept.", cost.calls)
    tokens = {"input": cost.input_tokens, "output": cost.output_tokens, "thought": cost.thought_tokens}
    yield _by("kotae_model_tokens", "Tokens of paid models for the questions kept, by kind.", "kind", tokens)
    votes = {vote: summary.votes.get(vote, 0) for vote in ("up", "down")}
    yield _by("kotae_votes", "Votes on the answers kept.", "vote", votes)


def _by(name: str, what: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, what, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _quantiles(name: str, what: str, p50: float | None, p95: float | None) -> Metric:
    family = GaugeMetricFamily(name, what, labels=["quantile"])
    for quantile, value in (("0.5", p50), ("0.95", p95)):
        if value is not None:
            family.add_metric([quantile], value)
    return family
