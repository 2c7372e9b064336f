"""An answer from passages that somebody has chosen: nothing is searched, and nothing else is read.

The check in code is the same as after a search. Source: product.md §6 ("answer from these").
"""

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime

from agent.calling import Hands
from agent.conversation import Ask, opening
from agent.events import Event, Events
from agent.models.base import ChatModel, ModelMessage, ModelProtocolError, ModelUnavailable, ToolCall
from agent.rewriting import SCHEMA, Query, fitting, parse_plan
from agent.tools import SEARCH
from agent.turn import RULES, Means, StillReadable, Turn
from retrieval.types import Found, Hit, SearchMetrics

log = logging.getLogger(__name__)

MOST = 10  # passages: what one result has room for


class GivenPassages:
    """Answers from `hits`, the most important first, as if a search had found them. `reviews` and the rest: see `Means`."""

    def __init__(
        self,
        model: ChatModel,
        hits: Sequence[Hit],
        *,
        fallback: ChatModel | None = None,
        reviews: int = 2,
        still_readable: StillReadable | None = None,
    ) -> None:
        self._hits = tuple(hits)[:MOST]
        self._means = Means(
            model,
            self._search,
            fallback=fallback,
            reviews=reviews,
            still_readable=still_readable,
            neighbours=len(self._hits),
        )

    async def run(self, ask: Ask) -> Events:
        """The steps, then exactly one `Answered`, also when the model fails. `ask` has no collections: none is searched."""
        turn = Turn(self._means, ask)

        async def work(until: float | None, end: float | None) -> AsyncGenerator[Event, None]:
            turn.messages = opening(ask)  # the fall-back begins anew: the passages as found with its own queries
            calls = [
                ToolCall(f"given-{number}", SEARCH, query.arguments)
                for number, query in enumerate(await _queries(turn, until), 1)
            ]
            try:
                found = turn.act(ModelMessage(calls=tuple(calls)), Hands(turn.tools, ask.language), until)
                async with aclosing(found) as steps:
                    async for step in steps:
                        yield step
            except TimeoutError as error:
                raise ModelUnavailable("no time was left", "timeout") from error
            async with aclosing(turn.write(turn.finishing(), end)) as thoughts:
                async for thought in thoughts:
                    yield thought

        async with aclosing(turn.events(work)) as events:
            async for event in events:
                yield event

    async def _search(self, query: str, collections: tuple[str, ...] | None) -> Found:
        best = max((hit.relevance for hit in self._hits), default=0.0)
        scores = tuple(hit.relevance for hit in self._hits)
        metrics = SearchMetrics(query, "", 0.0, len(scores), len(scores), best, scores, None, datetime.now(UTC))
        return Found(self._hits, metrics)


async def _queries(turn: Turn, until: float | None) -> tuple[Query, ...]:
    """What the passages are taken to be found with: the question; the model that goes by rules believes a passage only
    where it was found with one of its own queries."""
    whole = Query(fitting(turn.ask.question))
    if turn.model.name != RULES:
        return (whole,)
    try:
        said = await turn.reply(turn.messages, until, schema=SCHEMA)
    except (TimeoutError, ModelProtocolError):
        return (whole,)
    plan = parse_plan(said.text, turn.ask)
    return plan.queries if plan and plan.queries else (whole,)
