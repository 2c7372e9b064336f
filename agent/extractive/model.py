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

from agent.events import EXTRACTIVE
from agent.extractive.excerpts import READ, Tokenise, candidate_lines
from agent.extractive.index import (
    FLOOR,
    HELD,
    Shown,
    asks_the_same,
    certain,
    newer,
    newest_first,
    of_that_name,
    rivals,
    sure,
    telling,
    written,
)
from agent.extractive.phrases import (
    ABOUT_ANSWER,
    COMMENTED,
    FOUND,
    NOTHING,
    OBJECTED,
    REPLIES,
    REVIEWS,
    SEARCHES,
    UNSEARCHED,
    quoted,
)
from agent.extractive.wanted import given, of_each, of_that_row
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
from agent.routing.follow_up import about, leant_on, says_little
from agent.routing.parts import parts
from agent.routing.router import Kind, asked_in, comments, computed, objects, question_in, route
from agent.sentinels import NO_ANSWER
from agent.tool_calls import fitting
from agent.tools import SEARCH
from retrieval.i18n import Language, Text
from retrieval.text import language_of
from retrieval.types import CONFIDENT, EmbeddingError, Hit

log = logging.getLogger(__name__)

Similarity = Callable[[str, Sequence[str]], Awaitable[list[float]]]

MOST = 5  # questions of a message that are looked up one by one
_RRF = 10  # 1 / (10 + place): the searches of one question in one order


@dataclass(frozen=True, slots=True)
class _Turn:
    """The running turn, as the messages tell of it."""

    language: Language
    question: str
    earlier: str  # the questions before it that it leans on, and what was said around it
    leans: bool  # there are such questions
    about_answer: Text | None  # what is said to one that only speaks of the answer before it
    kind: Kind
    done: tuple[tuple[ToolCall, ToolResult], ...]
    calls_before: int  # in the whole conversation, so that ids stay unique

    @property
    def parts(self) -> tuple[str, ...]:
        """Its questions, each to be looked up for itself, or all of it where it leans on an earlier one or asks too
        many."""
        several = parts(self.question)
        return (self.question,) if self.earlier or len(several) > MOST else several


@dataclass(frozen=True, slots=True)
class _Look:
    """Lines of what was found for one question."""

    certainly: bool
    closest: Shown
    beside: Shown | None  # of another page, which may say otherwise


class ExtractiveModel:
    """Searches, shows the closest lines and says how sure it is, without any language model.

    `tokenise` gives the terms the sparse search uses. `similarity(question, texts)` gives cosines, one a text; without
    it, or when it fails, words alone choose the lines. Under the relevance `floor` nothing was found.
    """

    name = EXTRACTIVE
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
            if turn.kind != "team":
                return UNSEARCHED[turn.kind].to(language), _reply(turn), ()
            if turn.about_answer:
                return ABOUT_ANSWER.to(language), turn.about_answer.to(language), ()
            if can_search:
                return _why(turn), "", _calls(turn)
        looks = await self._looks(turn)
        seen = [look for look in looks if look]
        if not seen:
            return NOTHING.to(language), NO_ANSWER, ()
        # What is found by words alone looks as if meaning agreed.
        partly = any(result.partly for _, result in turn.done)
        certainly = len(seen) == len(looks) and all(look.certainly for look in seen) and not partly
        beside = [look.beside for look in seen if look.beside] if certainly else []
        closest = [look.closest for look in seen]
        shown = sum(len(one.excerpts) for one in closest)
        thought = FOUND["sure" if certainly else "near"].to(language, count=shown)
        return thought, written(closest, language, certainly=certainly, partly=partly, beside=beside), ()

    async def _looks(self, turn: _Turn) -> list[_Look | None]:
        """The lines for each of its questions."""
        made = [[result for call, result in turn.done if _query(call) == fitting(part)] for part in turn.parts]
        if len(made) > 1 and all(made):
            several = zip(turn.parts, map(_merged, made), strict=True)
            return [await self._look(part, part, found, of=len(made)) for part, found in several]
        own, others = list[ToolResult](), list[ToolResult]()
        for call, result in turn.done:
            (own if _query(call) == fitting(turn.question) else others).append(result)
        strong = any(hit.relevance >= CONFIDENT for result in own for hit in result.hits)
        # A page that fits the words alone is that of another subject, where the question before it leads elsewhere.
        alone = not others or (strong and _first_page(own) == _first_page(others))
        found = _merged(own if alone else [*own, *others] if strong or not turn.leans else others)
        asked = turn.question if alone else _queries(turn)[0]
        return [await self._look(turn.question, asked, found, alone=alone and len(parts(turn.question)) == 1)]

    async def _look(
        self, question: str, asked: str, found: Sequence[tuple[int, Hit]], *, alone: bool = True, of: int = 1
    ) -> _Look | None:
        """None where nothing found has to do with the question: neither does the search say so, nor has it the words of
        it (in one line among many). How well a passage fits what was `asked` with others, or in the words of a model
        that failed, says nothing of this one: only `alone` is it sure."""
        if not any(hit.relevance >= self._floor or hit.held >= HELD for _, hit in found):
            return None
        # Words agree with many a passage; where the search does not put such a one first, meaning is against it. What
        # is of another company or product is as near as the page of the one that is asked for.
        first = next((hit for _, hit in found if of_that_name(question, hit.passage)), found[0][1])
        certainly = alone and sure(question, first)
        told = telling(question, found) if certainly else []
        closest = await self._shown(asked, told or found, question, of=of)
        answered = asks_the_same(question, first.passage)
        if certainly and not answered and not self._told(question, closest, first):
            certainly, closest = False, await self._shown(asked, found, question, of=of)
        other = rivals(question, found, told)[:1] if certainly else []
        beside = await self._shown(asked, other, question, of=of) if other else None
        if beside and newer(question, other[0][1], first) and self._told(question, beside, other[0][1]):
            closest, beside = beside, closest
        return _Look(certainly, closest, beside)

    @staticmethod
    def _told(question: str, closest: Shown, first: Hit) -> bool:
        place = f"{first.passage.document} {first.passage.title}"
        told = given(question, closest.lines) and of_each(question, closest.lines, place)
        return told and of_that_row(question, closest.lines, place)

    async def _shown(self, asked: str, found: Sequence[tuple[int, Hit]], newest: str, *, of: int) -> Shown:
        hits = [hit for _, hit in found]
        latest = about(newest) if newest != asked else ()
        lines = await asyncio.to_thread(candidate_lines, asked, hits, self._tokenise, newest=latest)
        closest = lines.closest(await self._cosines(asked, lines.undecided()), of=of)
        return Shown(newest_first(newest, closest, found), found)

    async def _cosines(self, question: str, texts: Sequence[str]) -> dict[str, float]:
        if self._similarity is None or not texts:
            return {}
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
    if turn.about_answer or turn.kind != "team":
        return {"search": False, "queries": []}
    return {"search": True, "thought": _why(turn), "queries": [{"query": query} for query in _queries(turn)]}


def _review(messages: Sequence[Message]) -> dict[str, str]:
    """The passages the draft shows and how sure that is: its lines are copied, so there is nothing in it to
    correct."""
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
    start, said = own[-1] if own else (0, "")
    asked, around = asked_in(said)
    question = question_in(asked)
    before = leant_on(question, [question_in(text) for _, text in own[:-1]])
    return _Turn(
        language=_language(messages),
        question=question,
        earlier=f"{before} {around}".strip(),
        leans=bool(before),
        about_answer=_about_answer(question) if len(own) > 1 else None,
        kind=route(question, opens=len(own) == 1).kind,
        done=_results(messages[start:]),
        calls_before=sum(len(message.calls) for message in messages if isinstance(message, ModelMessage)),
    )


def _about_answer(message: str) -> Text | None:
    return OBJECTED if objects(message) else COMMENTED if comments(message) else None


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


def _merged(results: Sequence[ToolResult]) -> list[tuple[int, Hit]]:
    """The best hits of the searches in one order (reciprocal ranks), each passage once, with their numbers."""
    points: dict[int, float] = {}
    found: dict[int, Hit] = {}
    for result in results:
        for place, (number, hit) in enumerate(zip(result.numbers, result.hits, strict=True)):
            points[number] = points.get(number, 0.0) + 1 / (_RRF + place)
            if number not in found or found[number].relevance < hit.relevance:
                found[number] = hit
    numbers = sorted(points, key=lambda number: -points[number])[:READ]
    return [(number, found[number]) for number in numbers]


def _first_page(results: Sequence[ToolResult]) -> str | None:
    """The id of the document that the searches put first."""
    found = _merged(results)
    return found[0][1].passage.document_id if found else None


# -- saying it ------------------------------------------------------------------------------------------------------


def _queries(turn: _Turn) -> tuple[str, ...]:
    """Each of its questions; where it leans on earlier ones, together with them, and alone only if it says enough for
    that."""
    if not turn.earlier:
        return tuple(map(fitting, turn.parts))
    alone = () if says_little(turn.question) else ("",)
    return tuple(dict.fromkeys(fitting(f"{earlier} {turn.question}") for earlier in (turn.earlier, *alone)))


def _calls(turn: _Turn) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(f"call-{number}", SEARCH, {"query": query})
        for number, query in enumerate(_queries(turn), turn.calls_before + 1)
    )


def _query(call: ToolCall) -> object:
    """The query of a search, as it is made here or by others; None of one with several, or of another tool."""
    queries = call.arguments.get("queries")
    return queries[0] if isinstance(queries, list) and len(queries) == 1 else call.arguments.get("query")


def _why(turn: _Turn) -> str:
    queries = [quoted(fitting(text), turn.language) for text in turn.parts]
    query = ("、" if turn.language == "ja" else ", ").join(queries)
    kind = "followup" if turn.leans else "first" if len(queries) == 1 else "several"
    return SEARCHES[kind].to(turn.language, query=query, earlier=quoted(fitting(turn.earlier), turn.language))


def _reply(turn: _Turn) -> str:
    result = computed(turn.question) if turn.kind == "arithmetic" else None
    return answer(result, turn.question) if result else REPLIES[turn.kind].to(turn.language)
