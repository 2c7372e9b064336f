"""The answerer without a key: a `ChatModel` that searches with the asker's words and shows the closest lines it finds.

It runs in the same loop as any other model: thought, calls, results, draft, review. It reads no prose of the prompts.
Source: answers.md §3, "Without a model".
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from agent.extractive.excerpts import READ, Tokenise, closest, readable
from agent.extractive.index import FLOOR, certain, sure, written
from agent.extractive.phrases import FOUND, NOTHING, REPLIES, REVIEWS, SEARCHES, UNSEARCHED, quoted
from agent.models.base import (
    Effort,
    Message,
    ModelMessage,
    ModelUnavailable,
    Part,
    SystemMessage,
    TextPart,
    ThoughtPart,
    Tool,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from agent.routing.calculator import answer
from agent.routing.router import Kind, computed, route
from agent.sentinels import NO_ANSWER
from agent.tool_calls import fitting
from agent.tools import SEARCH
from retrieval.i18n import Language
from retrieval.text import language_of
from retrieval.types import CONFIDENT, EmbeddingError, Hit

log = logging.getLogger(__name__)

Similarity = Callable[[str, Sequence[str]], Awaitable[list[float]]]

_RRF = 10  # 1 / (10 + place): the searches of one question in one order


@dataclass(frozen=True, slots=True)
class _Turn:
    """What the messages say about the turn that is running."""

    language: Language
    question: str
    earlier: str  # the question before it that was searched for, if any
    done: tuple[tuple[ToolCall, ToolResult], ...]
    calls_before: int  # in the whole conversation, so that ids stay unique


class ExtractiveModel:
    """Searches, shows the closest lines and says how sure it is, without any language model.

    `tokenise` gives the terms the sparse search uses. `similarity(question, texts)` gives cosines, one a text; without
    it, or when it fails, words alone choose the lines. Under the relevance `floor` nothing was found.
    """

    name = "extractive"
    thinks = True
    tools = True

    def __init__(self, similarity: Similarity | None = None, *, tokenise: Tokenise, floor: float | None = None) -> None:
        self._similarity = similarity
        self._floor = FLOOR if floor is None else floor
        self._tokenise = tokenise

    async def converse(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        schema: Mapping[str, Any] | None = None,
        effort: Effort | None = None,
    ) -> AsyncIterator[Part]:
        """See `ChatModel`. A `schema` says what is wanted by its properties: the verdict of a review or the queries of
        a search; `ModelUnavailable` is raised for any other: that takes a real model."""
        if schema is not None:
            text = json.dumps(_structured(messages, schema.get("properties", {})), ensure_ascii=False)
            yield TextPart(text)
            yield ModelMessage(text)
            return
        turn = _read(messages)
        thought, text, calls = await self._step(turn, can_search=any(tool.name == SEARCH for tool in tools))
        yield ThoughtPart(thought)
        for call in calls:
            yield call
        if text:
            yield TextPart(text)
        yield ModelMessage(text, calls)

    async def _step(self, turn: _Turn, *, can_search: bool) -> tuple[str, str, tuple[ToolCall, ...]]:
        language = turn.language
        if not turn.done:
            way = route(turn.question)
            if not way.search:
                return UNSEARCHED[way.kind].to(language), _reply(way.kind, turn), ()
            if can_search:
                return _why(turn), "", _calls(turn)
        hits, numbers = _merged(turn.done)
        if not any(hit.relevance >= self._floor for hit in hits):
            return NOTHING.to(language), NO_ANSWER, ()
        asked = " ".join(_queries(turn))
        own = _own(turn)
        if any(hit.relevance >= CONFIDENT for _, hit in own):  # it needs no question before it
            asked, numbers, hits = turn.question, tuple(n for n, _ in own), tuple(hit for _, hit in own)
        strong = {n for n, hit in own if sure(turn.question, hit)}
        certainly = bool(strong & set(numbers))
        if certainly:
            kept = [(hit, n) for hit, n in zip(hits, numbers, strict=True) if n in strong]
            hits, numbers = tuple(hit for hit, _ in kept), tuple(n for _, n in kept)
        excerpts = await asyncio.to_thread(
            closest, asked, hits, tokenise=self._tokenise, cosines=await self._cosines(asked, hits)
        )
        thought = FOUND["sure" if certainly else "near"].to(language, count=len(excerpts))
        return thought, written(excerpts, hits, numbers, language, certainly=certainly), ()

    async def _cosines(self, question: str, hits: Sequence[Hit]) -> dict[str, float]:
        if self._similarity is None:
            return {}
        texts = await asyncio.to_thread(readable, hits)
        try:
            return dict(zip(texts, await self._similarity(question, texts), strict=True))
        except EmbeddingError as error:
            log.warning("lines are chosen by their words alone: %s", error)
            return {}


# -- structured replies ---------------------------------------------------------------------------------------------


def _structured(messages: Sequence[Message], wanted: Mapping[str, Any]) -> dict[str, Any]:
    if "verdict" in wanted:
        return _review(messages)
    if "queries" in wanted:
        return _plan(_read(messages))
    raise ModelUnavailable("the extractive model can plan and review, and nothing else in JSON", "model")


def _plan(turn: _Turn) -> dict[str, Any]:
    if not route(turn.question).search:
        return {"search": False, "queries": []}
    return {"search": True, "thought": _why(turn), "queries": [{"query": query} for query in _queries(turn)]}


def _review(messages: Sequence[Message]) -> dict[str, str]:
    """What the draft shows and how sure that is: its lines are copied, so there is nothing in it to correct."""
    drafts = [message.text for message in messages if isinstance(message, ModelMessage) and not message.calls]
    said = REVIEWS["sure" if drafts and certain(drafts[-1]) else "near"]
    return {"verdict": "keep", "critique": said.to(_language(messages)), "answer": ""}


# -- reading the conversation ---------------------------------------------------------------------------------------


def _read(messages: Sequence[Message]) -> _Turn:
    """The running turn: its question is the last message of the person's own.

    A message of the loop's (to write the answer now) follows results or the question and is none.
    """
    own = [
        (at, message.text)
        for at, message in enumerate(messages)
        if isinstance(message, UserMessage) and not (at and isinstance(messages[at - 1], ToolMessage | UserMessage))
    ]
    start, question = own[-1] if own else (0, "")
    return _Turn(
        language=_language(messages),
        question=question,
        earlier=next((text for _, text in reversed(own[:-1]) if route(text).search), ""),
        done=_results(messages[start:]),
        calls_before=sum(len(message.calls) for message in messages if isinstance(message, ModelMessage)),
    )


def _language(messages: Sequence[Message]) -> Language:
    """The turn's, which the instructions have; without them that of what was said first."""
    for message in messages:
        if isinstance(message, SystemMessage):
            return message.language
        if isinstance(message, UserMessage):
            return language_of(message.text)
    return "en"


def _results(messages: Sequence[Message]) -> tuple[tuple[ToolCall, ToolResult], ...]:
    made = chain.from_iterable(message.results for message in messages if isinstance(message, ToolMessage))
    return tuple((call, result) for call, result in made if call.name == SEARCH)


def _own(turn: _Turn) -> list[tuple[int, Hit]]:
    """What the question's own words found, with its numbers. How well a passage fits the question before it, or the
    words of a model that failed, says nothing of this one."""
    own = [result for call, result in turn.done if call.arguments.get("query") == fitting(turn.question)]
    return [pair for result in own for pair in zip(result.numbers, result.hits, strict=True)]


def _merged(done: Sequence[tuple[ToolCall, ToolResult]]) -> tuple[tuple[Hit, ...], tuple[int, ...]]:
    """The best hits of the searches in one order (reciprocal ranks), each passage once, with their numbers."""
    points: dict[int, float] = {}
    found: dict[int, Hit] = {}
    for _, result in done:
        for place, (number, hit) in enumerate(zip(result.numbers, result.hits, strict=True)):
            points[number] = points.get(number, 0.0) + 1 / (_RRF + place)
            if number not in found or found[number].relevance < hit.relevance:
                found[number] = hit
    numbers = sorted(points, key=lambda number: -points[number])[:READ]
    return tuple(found[number] for number in numbers), tuple(numbers)


# -- saying it ------------------------------------------------------------------------------------------------------


def _queries(turn: _Turn) -> tuple[str, ...]:
    """The question, and before it the one that it may refer to: what was asked last in the thread."""
    return tuple(dict.fromkeys(fitting(text) for text in (turn.earlier, turn.question) if text))


def _calls(turn: _Turn) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(f"call-{number}", SEARCH, {"query": query})
        for number, query in enumerate(_queries(turn), turn.calls_before + 1)
    )


def _why(turn: _Turn) -> str:
    queries = [quoted(query, turn.language) for query in _queries(turn)]
    said = SEARCHES["first" if len(queries) == 1 else "followup"]
    return said.to(turn.language, query=queries[-1], earlier=queries[0])


def _reply(kind: Kind, turn: _Turn) -> str:
    result = computed(turn.question) if kind == "arithmetic" else None
    return answer(result, turn.question) if result else REPLIES[kind].to(turn.language)
