"""The brain without a key: a `ChatModel` that plans by rules and answers only with sentences it quotes from passages.

It runs in the same loop as any other model: thought, calls, results, draft, review. It reads no prose of the prompts.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any

from agent.arithmetic import answer, compute
from agent.extraction import compose, crosses, quotable, reader
from agent.followups import Part as Question
from agent.models.base import (
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
from agent.models.phrases import (
    ALONE,
    ANSWERS,
    BOTH,
    FOUND,
    GIVES_UP,
    KEPT,
    NO_SEARCH,
    NOT_ANSWERING,
    NOT_QUOTED,
    NOTHING_ABOUT,
    REPLIES,
    RETRIES,
    SEARCHES_FIRST,
    UNCLEAR,
    UNCLEAR_THOUGHT,
    quoted,
)
from agent.models.quotations import quotations, verified
from agent.planning import SEARCHES, Wording, parts, wordings
from agent.queries import stripped
from agent.routing import Route, opened, route
from agent.sentinels import DECLINED, NO_ANSWER
from agent.support import Quote, addresses
from retrieval.text import Language, language_of, normalise
from retrieval.types import CollectionInfo, Hit

SEARCH = "search_rag_knowledge_base"
QUOTES, QUOTES_OF_SEVERAL = 2, 3

Similarity = Callable[[str, Sequence[str]], Awaitable[list[float]]]
Tokenise = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class _Turn:
    """What the messages say about the turn that is running."""

    language: Language
    collections: tuple[CollectionInfo, ...]
    question: str
    earlier: tuple[str, ...]
    done: tuple[tuple[ToolCall, ToolResult], ...]
    draft: str
    calls_before: int  # in the whole conversation, so that ids stay unique


@dataclass(frozen=True, slots=True)
class _Progress:
    """One of the questions, what was found for it and what may still be tried."""

    part: Question
    hits: tuple[Hit, ...]
    numbers: tuple[int, ...]
    quotes: tuple[Quote, ...]
    tried: int
    left: tuple[Wording, ...]

    @property
    def next(self) -> Wording | None:
        return self.left[0] if self.left else None


class ExtractiveModel:
    """Plans searches, chooses quotations and reviews them without any language model.

    `tokenise` gives the terms the sparse search uses. `similarity(question, texts)` gives cosines, one a text; it is
    asked only where question and passage differ in script.
    """

    name = "extractive"

    def __init__(self, similarity: Similarity | None = None, *, tokenise: Tokenise) -> None:
        self._similarity = similarity
        self._tokenise = tokenise

    async def converse(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), *, schema: Mapping[str, Any] | None = None
    ) -> AsyncIterator[Part]:
        """See `ChatModel`. A `schema` says what is wanted by its properties: the verdict of a review or the queries of
        a search; `ModelUnavailable` is raised for any other: that takes a real model."""
        if schema is not None:
            wanted = schema.get("properties", {})
            reply: Mapping[str, Any]
            if "verdict" in wanted:
                reply = await asyncio.to_thread(self._review, _read(messages, reviewing=True))
            elif "queries" in wanted:
                reply = await self._plan(_read(messages))
            else:
                raise ModelUnavailable("the extractive model can plan and review, and nothing else in JSON", "model")
            text = json.dumps(reply, ensure_ascii=False)
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
        way = route(turn.question, turn.collections)
        if not way.search and not turn.done and not (way.kind == "empty" and turn.earlier):
            return NO_SEARCH[way.kind].to(turn.language), _reply(way, turn), ()
        questions = parts(turn.question, turn.earlier, tokenise=self._tokenise)
        if not questions and not turn.done:
            return UNCLEAR_THOUGHT.to(turn.language), UNCLEAR.to(turn.language), ()
        progress = [await self._progress(question, turn) for question in questions]
        open_ = [one for one in progress if not one.quotes and one.next and can_search]
        if open_:
            calls = _calls(open_, turn)
            if calls:
                return _why(open_, turn), "", calls
        if any(one.quotes for one in progress):
            cited = _cited_numbers(progress)
            thought = ANSWERS.to(turn.language, numbers="".join(f"[{n}]" for n in cited))
            return thought, _draft(progress, turn.language), ()
        return GIVES_UP.to(turn.language, count=len(turn.done)), NO_ANSWER, ()

    async def _plan(self, turn: _Turn) -> dict[str, Any]:
        """What to search for: the first wording of each question, or all that is left to try of those without answer."""
        way = route(turn.question, turn.collections)
        questions = parts(turn.question, turn.earlier, tokenise=self._tokenise)
        if not questions or (not way.search and not (way.kind == "empty" and turn.earlier)):
            return {"search": False, "queries": []}
        progress = [await self._progress(question, turn) for question in questions]
        open_ = [one for one in progress if not one.quotes and one.next]
        rounds = zip_longest(*(one.left if one.tried else one.left[:1] for one in open_))
        queries = [
            {"query": each.query} | ({"collection_name": each.collection} if each.collection else {})
            for each in chain.from_iterable(rounds)
            if each
        ]
        return {"search": True, "thought": _why(open_, turn) if open_ else "", "queries": queries}

    async def _progress(self, part: Question, turn: _Turn) -> _Progress:
        every = wordings(part, turn.collections)
        queries = {normalise(wording.query): wording.faith for wording in reversed(every)}
        mine = [
            (call, _believed(result, queries[normalise(_query(call))]))
            for call, result in turn.done
            if normalise(_query(call)) in queries
        ]
        hits, numbers = _merged(mine)
        found_in = list(dict.fromkeys(hit.passage.collection for hit in hits))
        made = {(normalise(_query(call)), call.arguments.get("collection_name")) for call, _ in turn.done}
        left = [w for w in wordings(part, turn.collections, found_in) if (normalise(w.query), w.collection) not in made]
        return _Progress(
            part,
            hits,
            numbers,
            tuple(await self._quotes(part.query, hits)),
            len(mine),
            tuple(left[: max(0, SEARCHES - len(mine))]),
        )

    async def _quotes(self, question: str, hits: Sequence[Hit]) -> list[Quote]:
        if not hits:
            return []
        similarities: dict[str, float] = {}
        if self._similarity and crosses(question, hits):
            texts = quotable(hits)
            similarities = dict(zip(texts, await self._similarity(question, texts), strict=True))
        return await asyncio.to_thread(
            compose, question, hits, tokenise=self._tokenise, similarities=similarities, limit=QUOTES
        )

    # -- the review -------------------------------------------------------------------------------------------------

    def _review(self, turn: _Turn) -> dict[str, str]:
        """Checks the draft: each quotation stands in the passage it cites, and together they answer what was asked."""
        if not turn.done or turn.draft.strip() == NO_ANSWER or turn.draft.startswith(DECLINED):
            return {"verdict": "keep", "critique": KEPT["none"].to(turn.language), "answer": ""}
        hits, numbers = _merged(turn.done)
        passages = dict(zip(numbers, hits, strict=True))
        kept, dropped, cited = verified(turn.draft, passages)
        if not cited:
            return {"verdict": "reject", "critique": NOT_QUOTED.to(turn.language), "answer": ""}
        questions = parts(turn.question, turn.earlier, tokenise=self._tokenise) or [
            Question(turn.question, turn.question)
        ]
        evidence = [passages[n] for n in cited]
        quotes = [
            Quote(text, evidence.index(passages[n]), 0.0, "sentence") for text, n in quotations(kept) if n in passages
        ]
        if not any(addresses(one.query, evidence, quotes, tokenise=reader(self._tokenise)) for one in questions):
            return {"verdict": "reject", "critique": NOT_ANSWERING.to(turn.language), "answer": ""}
        if dropped:
            return {"verdict": "revise", "critique": NOT_QUOTED.to(turn.language), "answer": kept}
        return {"verdict": "keep", "critique": KEPT["quoted"].to(turn.language, count=len(cited)), "answer": ""}


# -- reading the conversation ---------------------------------------------------------------------------------------


def _read(messages: Sequence[Message], *, reviewing: bool = False) -> _Turn:
    """The running turn: its question is the last message of the person's own.

    A message of the loop's (to review, to write the answer now) follows a draft, results or the question and is none.
    """
    system = next((message for message in messages if isinstance(message, SystemMessage)), None)
    asked = [at for at, message in enumerate(messages) if isinstance(message, UserMessage)]
    own = [at for at in asked if not (at and isinstance(messages[at - 1], ToolMessage | UserMessage))]
    draft = ""
    if reviewing:
        drafts = [
            at
            for at, message in enumerate(messages)
            if isinstance(message, ModelMessage) and message.text and not message.calls and at > (own[0] if own else 0)
        ]
        reviews = [at for at in drafts if _as_json(messages[at])]
        plain = [at for at in drafts if at not in reviews]
        if plain:
            revised = [_as_json(messages[at]).get("answer") for at in reviews if at > plain[-1]]
            written = messages[plain[-1]]
            draft = next(
                (text for text in reversed(revised) if text), written.text if isinstance(written, ModelMessage) else ""
            )
            own = [at for at in own if at < plain[-1]] or own
    start = own[-1] if own else 0
    question = messages[start]
    earlier = tuple(m.text for m in (messages[at] for at in own[:-1]) if isinstance(m, UserMessage))
    done = tuple(chain.from_iterable(m.results for m in messages[start:] if isinstance(m, ToolMessage)))
    text = question.text if isinstance(question, UserMessage) else ""
    return _Turn(
        language=system.language if system else language_of(text),
        collections=system.collections if system else (),
        question=text,
        earlier=earlier,
        done=tuple((call, result) for call, result in done if call.name == SEARCH),
        draft=draft,
        calls_before=sum(len(message.calls) for message in messages if isinstance(message, ModelMessage)),
    )


def _as_json(message: Message) -> dict[str, Any]:
    if not isinstance(message, ModelMessage) or not message.text.lstrip().startswith("{"):
        return {}
    try:
        read = json.loads(message.text)
    except ValueError:
        return {}
    return read if isinstance(read, dict) and "verdict" in read else {}


def _query(call: ToolCall) -> str:
    return str(call.arguments.get("query", ""))


def _believed(result: ToolResult, faith: float) -> ToolResult:
    """The result with its hits as relevant to the question as their query was faithful to it."""
    return replace(result, hits=tuple(replace(hit, relevance=hit.relevance * faith) for hit in result.hits))


def _merged(done: Sequence[tuple[ToolCall, ToolResult]]) -> tuple[tuple[Hit, ...], tuple[int, ...]]:
    """The hits of several searches with their numbers, each passage once, the most relevant first."""
    found: dict[tuple[str, str, int], tuple[Hit, int]] = {}
    for _, result in done:
        for hit, number in zip(result.hits, result.numbers or range(1, len(result.hits) + 1), strict=False):
            key = (hit.passage.collection, hit.passage.document_id, hit.passage.chunk)
            if key not in found or found[key][0].relevance < hit.relevance:
                found[key] = (hit, found[key][1] if key in found else number)
    ranked = sorted(found.values(), key=lambda pair: -pair[0].relevance)
    return tuple(hit for hit, _ in ranked), tuple(number for _, number in ranked)


# -- saying it ------------------------------------------------------------------------------------------------------


def _reply(way: Route, turn: _Turn) -> str:
    if way.kind == "arithmetic":
        computed = compute(opened(turn.question)) or compute(turn.question)
        return answer(computed, turn.question) if computed else NO_ANSWER
    text = REPLIES[way.kind].to(turn.language)
    return f"{DECLINED}{text}" if way.kind in ("injection", "programming", "world", "creative", "now") else text


def _calls(progress: Sequence[_Progress], turn: _Turn) -> tuple[ToolCall, ...]:
    calls: dict[tuple[str, str | None], ToolCall] = {}
    for one in progress:
        if one.next:
            key = (normalise(one.next.query), one.next.collection)
            arguments = {"query": one.next.query}
            if one.next.collection:
                arguments["collection_name"] = one.next.collection
            calls.setdefault(key, ToolCall(f"call-{turn.calls_before + len(calls) + 1}", SEARCH, arguments))
    return tuple(calls.values())


def _why(progress: Sequence[_Progress], turn: _Turn) -> str:
    """Why this search, where, and with which query."""
    language = turn.language
    said: list[str] = []
    fresh = [one for one in progress if not one.tried and one.next]
    if len(fresh) > 1:
        listed = ("、" if language == "ja" else ", ").join(
            quoted(one.next.query, language) for one in fresh if one.next
        )
        said.append(BOTH.to(language, count=len(fresh), queries=listed))
        progress = [one for one in progress if one.tried]
    for one in progress:
        if one.next is None:
            continue
        where = ALONE.to(language, name=one.next.collection) if one.next.collection else FOUND["all"].to(language)
        values = {"query": quoted(one.next.query, language), "where": where, "topic": quoted(one.part.topic, language)}
        if not one.tried:
            kind = "followup" if one.part.topic else "first"
            said.append(SEARCHES_FIRST[kind].to(language, **values))
        else:
            after = FOUND["irrelevant"] if one.hits else FOUND["nothing"]
            said.append(after.to(language) + RETRIES[one.next.why].to(language, **values))
    return ("" if language == "ja" else " ").join(said)


def _shared_out(progress: Sequence[_Progress]) -> list[list[Quote]]:
    """Which quotations each question gets: two of one question; one each of several, and one more for the best."""
    if len(progress) == 1:
        return [list(progress[0].quotes)]
    firsts = [one.quotes[0].text for one in progress if one.quotes]
    given = [list(one.quotes[:1]) for one in progress]
    spare = sorted(
        (
            (quote.score, at, quote)
            for at, one in enumerate(progress)
            for quote in one.quotes[1:]
            if quote.text not in firsts
        ),
        key=lambda each: (-each[0], each[1]),
    )
    for _, at, quote in spare[: max(0, QUOTES_OF_SEVERAL - len(firsts))]:
        given[at].append(quote)
    return given


def _cited_numbers(progress: Sequence[_Progress]) -> list[int]:
    given = _shared_out(progress)
    return sorted({one.numbers[quote.hit] for one, quotes in zip(progress, given, strict=True) for quote in quotes})


def _draft(progress: Sequence[_Progress], language: Language) -> str:
    given = _shared_out(progress)
    blocks: list[str] = []
    missing: list[str] = []
    said: set[str] = set()
    for one, quotes in zip(progress, given, strict=True):
        lines = [_written(quote, one.numbers[quote.hit]) for quote in quotes if quote.text not in said]
        said.update(quote.text for quote in quotes)
        asked = stripped(one.part.said)
        label = asked[:1].upper() + asked[1:] + ("：" if language == "ja" else ":")
        if not quotes:
            missing.append(NOTHING_ABOUT.to(language, query=quoted(stripped(one.part.said), language)))
        elif lines:
            named = len(progress) > 1 and not re.search(r"\d", label)
            blocks.append("\n".join(([label] if named else []) + lines))
    return "\n\n".join([FOUND["frame"].to(language), *blocks, *missing])


def _written(quote: Quote, number: int) -> str:
    """One quotation as a list item, in the marks of its own language, with where it stands if that is needed."""
    ja = language_of(quote.text) == "ja"
    context = (f"（{quote.context}）" if ja else f" ({quote.context})") if quote.context else ""
    mark = f" [{number}]"
    if quote.kind in ("list", "code"):
        first, *rest = quote.text.split("\n")
        if first.startswith("```"):
            return f"- {quote.context or ('コマンド' if ja else 'Command')}{'：' if ja else ':'}{mark}\n{quote.text}"
        if quote.kind == "list" and rest and not re.match(r"^(?:・|\d|[①-⑳（(])", first):
            return "\n".join([f"- {_in_marks(first, ja)}{mark}", *_cited_lines(rest, mark)])
        if quote.kind == "list":
            head = [f"- {quote.context}{'：' if ja else ':'}"] if quote.context else []
            return "\n".join(head + _cited_lines([first, *rest], mark))
        return "\n".join([f"- {_in_marks(first, ja)}{mark}", *rest])
    return f"- {_in_marks(quote.text, ja)}{context}{mark}"


def _cited_lines(lines: Sequence[str], mark: str) -> list[str]:
    """A list's lines, each with its citation; code in between stays as it is."""
    written: list[str] = []
    inside = False
    for line in lines:
        fence = line.startswith("```")
        written.append(f"  {line}" if fence or inside else f"  {line}{mark}")
        inside = inside != fence
    return written


def _in_marks(text: str, ja: bool) -> str:
    return f"「{text}」" if ja else f"“{text}”"
