"""A turn's parts for tests: searches with known answers, and its events in one list."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from agent.events import Answered, Event
from agent.models.base import Effort, Message, ModelMessage, Part, Tool, ToolCall
from agent.strategies.react import Agent, Ask, Exchange
from agent.strategies.synthesis import Synthesis
from retrieval.i18n import Language
from retrieval.text import language_of
from retrieval.types import Branch, CollectionInfo, Found, Hit, SearchMetrics
from tests.fakes.scripted import Reply, ScriptedModel

COLLECTIONS = (
    CollectionInfo("handbook", "Rules of the company", ("en", "ja"), 3, 12),
    CollectionInfo("faq", "よくある質問", ("ja",), 1, 4),
)
KEEP = Reply(text='{"verdict": "keep", "critique": "Fine."}')


def found(hits: Sequence[Hit] = (), rejected: Sequence[Hit] = (), failed: tuple[Branch, ...] = ()) -> Found:
    scores = tuple(hit.relevance for hit in hits)
    metrics = SearchMetrics("", "", 1.0, len(scores), 0, max(scores, default=0.0), scores, None, datetime.now(UTC))
    return Found(tuple(hits), metrics, tuple(rejected), failed)


class Searches:
    """A search function that answers by the first of its queries, or with `hits`, and records what it was asked,
    several queries as one text with bars between."""

    def __init__(self, *hits: Hit, by_query: Mapping[str, Found | Exception] | None = None) -> None:
        self._answers = dict(by_query or {})
        self._otherwise = found(hits)
        self.asked: list[tuple[str, tuple[str, ...] | None]] = []

    async def __call__(self, queries: Sequence[str], collections: tuple[str, ...] | None) -> Found:
        self.asked.append((" | ".join(queries), collections))
        answer = self._answers.get(queries[0], self._otherwise)
        if isinstance(answer, Exception):
            raise answer
        return answer


def asking(
    question: str,
    *,
    language: Language | None = None,
    history: tuple[Exchange, ...] = (),
    collections: tuple[CollectionInfo, ...] = COLLECTIONS,
    deadline: float | None = None,
) -> Ask:
    return Ask(question, language or language_of(question), history, collections, deadline)


class Entailing:
    """A judge that finds that every claim follows from its passage."""

    name = "judge"
    thinks = False
    tools = None

    async def converse(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        schema: Mapping[str, Any] | None = None,
        effort: Effort | None = None,
    ) -> AsyncIterator[Part]:
        yield ModelMessage(json.dumps({"verdicts": [{"claim": n, "verdict": "entailed"} for n in range(1, 25)]}))


async def events(
    model: ScriptedModel,
    question: str | Ask,
    search: Searches,
    *,
    strategy: type[Agent] | type[Synthesis] = Agent,
    **options: Any,
) -> list[Event]:
    agent = strategy(model, search, **{"judge": Entailing(), **options})
    ask = question if isinstance(question, Ask) else asking(question)
    return [event async for event in agent.run(ask)]


def answer_of(steps: Sequence[Event]) -> Answered:
    """The last event, after checking that it is the only answer."""
    answers = [step for step in steps if isinstance(step, Answered)]
    assert len(answers) == 1
    assert steps[-1] is answers[0]
    return answers[0]


def look(query: str, *, id: str = "1", collection: str | None = None, thought: str = "", text: str = "") -> Reply:
    """A reply that searches."""
    arguments = {"query": query} | ({"collection_name": collection} if collection else {})
    return Reply(thought=thought, text=text, calls=(ToolCall(id, "search_rag_knowledge_base", arguments),))
