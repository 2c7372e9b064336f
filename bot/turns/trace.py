"""How an answer came about ("How I found this"): what is noted of a turn while it runs, and what of it somebody may
see.

Source: product.md §1 and §3. Notes hold no passage's text; it is looked up for whoever looks, and what may be the words
of a document that is gone or not readable there is withheld."""

import hashlib
import json
import logging
import math
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, assert_never, cast

from agent.events import (
    Answered,
    Cost,
    Drafted,
    Event,
    Outcome,
    Reflected,
    Thought,
    ToolCalled,
    ToolReturned,
    Verdict,
)
from bot.access import default_scope
from bot.store.conversations import Conversations
from bot.store.engine import storable
from bot.store.traces import Json, Noted, TraceRow, Traces
from bot.types import Place
from retrieval.types import Hit, Passage, RAGToolError, Readers

log = logging.getLogger(__name__)

MAX_STEPS = 200  # of a turn; one of ten rounds has about fifty
MAX_TEXT = 4_000  # characters of a thought, a draft, a critique
MAX_ARGUMENT = 1_000  # and of one argument of a tool
MAX_ARGUMENTS = 10
MAX_NAME = 80  # and of its name
MAX_HITS = 50  # of one result
MAX_PASSAGES = 60  # whose text is looked up for one trace

Kind = Literal["began", "thought", "tool_call", "tool_result", "draft", "reflection", "answer"]

LookUp = Callable[[Hit, Readers, int], Awaitable[list[Passage]]]
"""`KnowledgeBase.context`: the passages around a hit, as far as these readers may read them."""


# -- while a turn runs ----------------------------------------------------------------------------------------------


class Recording:
    """The notes on one turn. Nothing is stored here: it is stored with the answer, or not at all."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = clock()
        self.found: dict[str, str] = {}  # the names of the documents that were found, by id
        self.steps: list[Noted] = []

    def began(self, strategy: str | None, collections: Sequence[str]) -> None:
        """The agent begins: whatever came before was waiting."""
        self._note("began", {"strategy": strategy, "collections": list(collections[:MAX_HITS])})

    def add(self, event: Event) -> None:
        match event:
            case Thought(text):
                self._note("thought", {"text": text[:MAX_TEXT]})
            case ToolCalled():
                call = {"id": event.id[:MAX_NAME], "name": event.name[:MAX_NAME]}
                self._note("tool_call", call | {"arguments": _bounded(event.arguments)})
            case ToolReturned():
                self._returned(event)
            case Drafted(text):
                self._note("draft", {"text": text[:MAX_TEXT]})
            case Reflected(verdict, text):
                self._note("reflection", {"verdict": verdict, "text": text[:MAX_TEXT]})
            case Answered():
                citations = event.citations[:MAX_HITS]
                cited = [(one.document_id, one.chunk) for one in citations if one.document_id in self.found]
                ended = {"outcome": event.outcome, "unsure": event.unsure, "marked": event.marked, "cited": cited}
                self._note("answer", ended, cited=frozenset(document for document, _ in cited))
            case _:
                assert_never(event)

    def _returned(self, event: ToolReturned) -> None:
        found: dict[str, float] = {}
        hits = []
        for hit in event.hits[:MAX_HITS]:
            passage = hit.passage
            self.found[passage.document_id] = passage.document
            found[passage.document_id] = max(hit.relevance, found.get(passage.document_id, 0.0))
            hits.append(_hit(hit))
        result = {"id": event.id[:MAX_NAME], "name": event.name[:MAX_NAME], "summary": event.summary[:MAX_ARGUMENT]}
        self._note("tool_result", result | {"failed": event.failed, "hits": hits}, found=found)

    def _note(
        self, kind: Kind, event: Json, *, found: Mapping[str, float] | None = None, cited: Collection[str] = ()
    ) -> None:
        if len(self.steps) < MAX_STEPS - 1 or kind == "answer":
            ms = round((self._clock() - self._start) * 1000)
            text = storable(json.dumps(event, ensure_ascii=False))
            self.steps.append(Noted(ms, kind, text, found or {}, cited))


def _hit(hit: Hit) -> Json:
    passage = hit.passage
    return {
        "collection": passage.collection,
        "document_id": passage.document_id,
        "chunk": passage.chunk,
        "relevance": round(hit.relevance, 4),
        "scores": {name: round(score, 4) for name, score in hit.scores.items()},
        "mark": _mark(passage.text),
    }


def _mark(text: str) -> str:
    """By which one can tell later whether a passage still says what it said."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _bounded(arguments: Mapping[str, Any]) -> Json:
    """A model may write anything there."""

    def short(value: Any) -> Any:
        if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
            return value
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return [each[:MAX_ARGUMENT] for each in value[:MAX_ARGUMENTS]]
        return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))[:MAX_ARGUMENT]

    return {str(name)[:MAX_NAME]: short(value) for name, value in list(arguments.items())[:MAX_ARGUMENTS]}


# -- afterwards -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TracedHit:
    """A passage that was found. `document` and `text` are as they are now, for these readers.

    `state`: `shown`; `changed`: the document has another version, so the text is not the one that was found; `gone`:
    the document is forgotten or not readable here, and has no name either; `unknown`: the text could not be looked up.
    """

    collection: str
    document_id: str
    document: str | None
    chunk: int
    relevance: float  # 0..1
    scores: Mapping[str, float]  # of each branch, and `fused`
    cited: bool
    state: Literal["shown", "changed", "gone", "unknown"]
    text: str | None = None
    headings: tuple[str, ...] = ()
    url: str | None = None


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One event; the fields that its kind does not have are empty.

    `withheld`: its words may be those of a document that is forgotten or not readable here, so they are left out.
    """

    kind: Kind
    at: float  # seconds since work on the turn was taken up
    seconds: float  # since what it came of: of a result since its call, of anything else since the step before
    text: str = ""  # of a thought, a draft, a critique; of a result its summary
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    hits: tuple[TracedHit, ...] = ()
    failed: bool = False
    verdict: Verdict | None = None
    withheld: bool = False

    @property
    def query(self) -> str:
        """Of a call of the search; several of them with a slash between."""
        said = self.arguments.get("queries", self.arguments.get("query", ""))
        return " / ".join(map(str, said)) if isinstance(said, list) else str(said)


@dataclass(frozen=True, slots=True)
class Trace:
    """A turn as its readers may see it. `answer` is None where something it was made from is not readable (any
    more)."""

    turn: str
    question: str
    place: Place
    link: str | None
    answered_at: datetime
    answer: str | None
    outcome: Outcome
    unsure: bool  # the bot was not sure of what it answered
    strategy: str  # empty: the agent never began
    model: str
    seconds: float
    waited: float  # seconds of them before the agent began
    cost: Cost
    searched: tuple[str, ...]  # collections
    confidence: float | None  # best relevance 0..1
    marked: bool  # a claim could not be confirmed, and the answer says so
    steps: tuple[TracedStep, ...]


async def trace(
    turn: str, readers: Readers, *, conversations: Conversations, traces: Traces, look_up: LookUp
) -> Trace | None:
    """How a turn was answered; None when it is not answered, not there any more, or was asked where these readers do
    not see. Files that came with the question need the readers of its thread. Raises StoreError."""
    conversation = await conversations.get(turn)
    if conversation is None:
        return None
    asked, answered = conversation.asked, conversation.answered
    if default_scope(asked.place, asked.audience) not in readers.scopes:
        return None
    rows = await traces.of(turn)
    names = await traces.documents(turn, readers)
    steps, clean = await _steps(rows, names, readers, look_up)
    began = next((row for row in rows if row.kind == "began"), None)
    return Trace(
        turn=turn,
        question=asked.text,
        place=asked.place,
        link=asked.link,
        answered_at=conversation.answered_at,
        answer=answered.text if clean else None,
        outcome=answered.outcome,
        unsure=answered.unsure,
        strategy=str((began.event or {}).get("strategy") or "") if began else "",
        model=answered.model,
        seconds=answered.seconds,
        waited=began.ms / 1000 if began else 0.0,
        cost=answered.cost,
        searched=answered.searched,
        confidence=answered.confidence,
        marked=answered.marked,
        steps=steps,
    )


async def _steps(
    rows: Sequence[TraceRow], names: Mapping[str, str], readers: Readers, look_up: LookUp
) -> tuple[tuple[TracedStep, ...], bool]:
    """The steps, and whether all that they came of is readable."""
    cited = {(document, chunk) for row in rows for document, chunk in (row.event or {}).get("cited", ())}
    passages = await _passages(rows, names, readers, look_up)
    called: dict[str, int] = {}
    before = 0
    clean = True
    steps: list[TracedStep] = []
    for row in rows:
        event = row.event or {}
        name = str(event.get("id", ""))
        since = called.get(name, before) if row.kind == "tool_result" else before
        withheld = row.event is None or not clean
        hits = tuple(_traced(hit, names, passages, cited) for hit in event.get("hits", ()))
        step = TracedStep(kind=cast(Kind, row.kind), at=row.ms / 1000, seconds=(row.ms - since) / 1000, hits=hits)
        if withheld and row.kind not in ("began", "answer"):
            steps.append(replace(step, tool=str(event.get("name", "")), withheld=True))
        else:
            steps.append(_told(step, event))
        if row.kind == "tool_call":
            called[name] = row.ms
        before = row.ms
        clean = clean and row.event is not None and all(hit.state != "gone" for hit in hits)
    return tuple(steps), clean


def _told(step: TracedStep, event: Json) -> TracedStep:
    return replace(
        step,
        text=str(event.get("text") or event.get("summary") or ""),
        tool=str(event.get("name", "")),
        arguments=event.get("arguments", {}),
        failed=bool(event.get("failed", False)),
        verdict=event.get("verdict"),
    )


def _traced(
    hit: Json,
    names: Mapping[str, str],
    passages: Mapping[tuple[str, int], Passage | None],
    cited: Collection[tuple[str, int]],
) -> TracedHit:
    document, chunk = hit.get("document_id", ""), hit["chunk"]
    found = TracedHit(
        collection=hit["collection"],
        document_id=document,
        document=names.get(document),
        chunk=chunk,
        relevance=hit["relevance"],
        scores=hit.get("scores", {}),
        cited=(document, chunk) in cited,
        state="gone",
    )
    if found.document is None:
        return found
    if (document, chunk) not in passages:
        return replace(found, state="unknown")
    passage = passages[document, chunk]
    if passage is None or _mark(passage.text) != hit.get("mark"):
        return replace(found, state="changed")
    return replace(found, state="shown", text=passage.text, headings=passage.headings, url=passage.url)


async def _passages(
    rows: Sequence[TraceRow], names: Mapping[str, str], readers: Readers, look_up: LookUp
) -> dict[tuple[str, int], Passage | None]:
    """The words now of the passages that were found, the first MAX_PASSAGES; None: there is none of that number."""
    wanted = dict.fromkeys(
        (hit["collection"], hit["document_id"], hit["chunk"])
        for row in rows
        for hit in (row.event or {}).get("hits", ())
        if hit.get("document_id") in names
    )
    found: dict[tuple[str, int], Passage | None] = {}
    for collection, document, chunk in list(wanted)[:MAX_PASSAGES]:
        about = Hit(Passage(collection, document, "", chunk, "", ""), {}, 0.0)
        try:
            found[document, chunk] = next(iter(await look_up(about, readers, 0)), None)
        except RAGToolError:
            log.warning("the passages of a trace could not be looked up", exc_info=True)
            break
    return found
