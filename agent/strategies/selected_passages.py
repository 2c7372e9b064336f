"""An answer from passages that somebody has chosen: nothing is searched, and nothing else is read.

The check in code is the same as after a search. Source: product.md §6 ("answer from these").
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from agent.conversation import Ask
from agent.events import EXTRACTIVE, Events
from agent.models.base import ChatModel, ModelMessage, ModelProtocolError, ModelUnavailable, ToolCall
from agent.query_rewriting import SCHEMA, Query, parse_plan
from agent.run import Run, RunConfig
from agent.tool_calls import fitting
from agent.tools import SEARCH
from retrieval.types import Found, Hit, SearchMetrics

MOST = 10  # passages: what one result has room for


class GivenPassages:
    """Answers from `hits`, the most important first, as if a search had found them. `options`: see `RunConfig`."""

    def __init__(self, model: ChatModel, hits: Sequence[Hit], **options: Any) -> None:
        self._hits = tuple(hits)[:MOST]
        self._config = RunConfig(model, self._search, **options)

    def run(self, ask: Ask) -> Events:
        """The steps, then exactly one `Answered`, also when the model fails. `ask` has no collections."""
        run = Run(self._config, ask)
        return run.events(partial(self._answer, run))

    async def _answer(self, run: Run, until: float | None, end: float | None) -> None:
        run.begin()  # the fall-back begins anew: the passages as found with its own queries
        queries = enumerate(await _queries(run, until), 1)
        calls = tuple(ToolCall(f"given-{number}", SEARCH, query.arguments) for number, query in queries)
        try:
            await run.act(ModelMessage(calls=calls), until)
        except TimeoutError as error:
            raise ModelUnavailable("no time was left", "timeout") from error
        await run.finish(end)

    async def _search(self, queries: Sequence[str], collections: tuple[str, ...] | None) -> Found:
        best = max((hit.relevance for hit in self._hits), default=0.0)
        scores = tuple(hit.relevance for hit in self._hits)
        count = len(scores)
        metrics = SearchMetrics(queries[0], "", 0.0, count, count, best, scores, None, datetime.now(UTC))
        return Found(self._hits, metrics)


async def _queries(run: Run, until: float | None) -> tuple[Query, ...]:
    """The queries the passages are taken to be found with: the question; the model that goes by rules believes a
    passage only where it was found with one of its own queries."""
    whole = Query((fitting(run.ask.question),))
    if run.model.name != EXTRACTIVE:
        return (whole,)
    try:
        said = await run.reply(run.messages, until, schema=SCHEMA)
    except (TimeoutError, ModelProtocolError):
        return (whole,)
    plan = parse_plan(said.text, run.ask)
    return plan.queries if plan and plan.queries else (whole,)
