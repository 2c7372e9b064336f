"""`/metrics` in Prometheus' text form, from the same sums that `kotae metrics` shows. Labels are bounded.

Source: reliability.md R50 and R59.
"""

import asyncio
from collections.abc import Iterator

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
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


def prometheus(summary: Summary, lag: float) -> bytes:
    """The text of one scrape."""
    turns, searches, cost = summary.turns, summary.searches, summary.turns.cost
    ended = CounterMetricFamily(
        "kotae_turns", "Questions that have their answer, by outcome or unsure.", labels=["outcome"]
    )
    for outcome in _OUTCOMES:
        ended.add_metric([outcome], turns.outcomes.get(outcome, 0))
    looked = CounterMetricFamily("kotae_searches", "Searches, by what came of them.", labels=["result"])
    found = searches.searches - searches.failed - searches.empty
    for result, count in (("found", found), ("empty", searches.empty), ("failed", searches.failed)):
        looked.add_metric([result], count)
    tokens = CounterMetricFamily("kotae_model_tokens", "Tokens of paid models, by kind.", labels=["kind"])
    for kind, count in (
        ("input", cost.input_tokens),
        ("output", cost.output_tokens),
        ("thought", cost.thought_tokens),
    ):
        tokens.add_metric([kind], count)
    votes = CounterMetricFamily("kotae_votes", "Votes on answers.", labels=["vote"])
    for vote in ("up", "down"):
        votes.add_metric([vote], summary.votes.get(vote, 0))
    families: list[Metric] = [
        ended,
        _quantiles("kotae_turn_seconds", "Seconds to the answer.", turns.p50_seconds, turns.p95_seconds),
        looked,
        _quantiles("kotae_search_milliseconds", "Milliseconds of a search.", searches.p50_ms, searches.p95_ms),
        CounterMetricFamily("kotae_model_calls", "Calls of paid models.", value=cost.calls),
        tokens,
        votes,
        GaugeMetricFamily("kotae_loop_lag_seconds", "The worst delay of the event loop since the last look.", lag),
    ]
    registry = CollectorRegistry()
    registry.register(_Once(families))
    return generate_latest(registry)


def _quantiles(name: str, what: str, p50: float | None, p95: float | None) -> Metric:
    family = GaugeMetricFamily(name, what, labels=["quantile"])
    for quantile, value in (("0.5", p50), ("0.95", p95)):
        if value is not None:
            family.add_metric([quantile], value)
    return family
