"""Records of the database, as commands and pages show them and ask for them. Loads nothing of the database."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Literal

from agent.events import Cost, PageChange
from bot.types import MissReason
from retrieval.i18n import Language, Text
from retrieval.types import Passage, SearchMetrics

SHORT_ID = 8  # characters of an id that the list of documents shows, and that forget takes

# -- questions -------------------------------------------------------------------------------------------------------

MissState = Literal["open", "closed", "dismissed", "all"]
"""`closed`: somebody answered it; `dismissed`: it was closed without an answer."""


@dataclass(frozen=True, slots=True)
class WantedQuestions:
    """Which misses to list; what is None or empty does not matter. `collection`: one that was searched."""

    state: MissState = "open"
    reason: MissReason | None = None
    collection: str | None = None
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Period:
    """From `since` up to, but not including, `until`."""

    since: datetime
    until: datetime

    @property
    def before(self) -> "Period":
        """As long a time just before it."""
        return Period(self.since - (self.until - self.since), self.since)


# -- documents and their Q/A pairs -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One privileged act. `actor` is `platform:id`; `subject` names what it was done to, with the hash of what came."""

    actor: str
    action: str
    subject: str
    result: str
    at: datetime | None = None  # None: now


DocumentOrder = Literal["name", "newest", "largest"]


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document's current version. Its identity is collection, scope and name; its version the bytes' SHA-256."""

    id: str
    collection: str
    scope: str
    name: str
    title: str
    url: str | None
    hash: str
    markdown: str  # the kept Markdown's address in the documents folder
    chunks: int
    language: Language
    author: str
    born: int  # the generation that shows this version
    added_at: datetime
    updated_at: datetime
    changed_at: str | None = None  # its own date or month, ISO; None: not known
    owner: str | None = None  # platform:id of whoever looks after it; None: who added it
    said_in: str | None = None  # the channel that it was said in; None: it is no talk

    def with_(self, **changes: Any) -> "DocumentRow":
        return replace(self, **changes)

    def about(self) -> Passage:
        """The properties all its passages have in common, as `Ingest` fills in the rest."""
        return Passage(
            collection=self.collection,
            document_id=self.id,
            document=self.name,
            chunk=0,
            text="",
            scope=self.scope,
            title=self.title,
            url=self.url,
            updated=self.changed_at or "",
            said_in=self.said_in or "",
        )


TokenAudience = Literal["team", "everyone"]


@dataclass(frozen=True, slots=True)
class ProgramToken:
    """A program that may ask. `audience`: what it reads; never a private place. The caps are calls."""

    name: str
    audience: TokenAudience
    per_minute: int
    per_day: int
    added_by: str  # platform:id
    added_at: datetime
    used_on: date | None = None
    calls: int = 0  # on that day
    misses: int = 0  # that it reported then


PairState = Literal["pending", "repeated", "approved", "rejected"]


ChunkState = Literal["todo", "done", "blocked", "failed", "stale"]


@dataclass(frozen=True, slots=True)
class ExpertAnswer:
    """An answer in its document. `wordings`: the questions as they were asked; `edited`: the last time, if ever."""

    row: DocumentRow
    wordings: tuple[str, ...]
    answer: str
    edited: AuditRecord | None


@dataclass(frozen=True, slots=True)
class Changed:
    """The outcome of a change: how many threads will be told of it, how many questions are open again, the document's
    version then, or why nothing was done."""

    told: int = 0
    reopened: int = 0
    version: str = field(default="", compare=False)
    refusal: Text | None = None


# -- the browser's rooms ---------------------------------------------------------------------------------------------

MessageKind = Literal["text", "steps", "answer", "card", "notice", "intake", "confirm", "system"]
"""Of a message: `text` is what people write, `system` the head of a digest; the others are as posts on any platform."""
BROWSER = "web"  # whose rooms these are
PROGRAM = "program:"  # before the name of a program, as the author of its questions
BOT = "kotae"  # the author of what the bot says


@dataclass(frozen=True, slots=True)
class RoomMessage:
    """`data` depends on the kind: see whoever writes it. A deleted one keeps its place, and nothing else."""

    id: int
    room: str
    thread: int | None  # the root's id; None: it stands in the room itself
    author: str
    kind: MessageKind
    text: str
    data: Mapping[str, Any]
    about: str | None
    part: int
    created_at: datetime
    edited_at: datetime | None = None
    deleted_at: datetime | None = None

    @property
    def root(self) -> int:
        """Of its thread; a message in the room is the root of its own."""
        return self.thread or self.id


@dataclass(frozen=True, slots=True)
class BotMessage:
    """A message of the bot: once for `about`, `kind` and `part`; said again, it takes the place of what was there."""

    room: str
    thread: int | None
    about: str
    kind: MessageKind
    text: str
    part: int = 0
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RoomReplies:
    """The messages under a root."""

    count: int
    last: datetime
    authors: tuple[str, ...]


# -- figures ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Latency:
    """Nearest-rank percentiles; None of nothing. Seconds of turns, milliseconds of searches."""

    p50: float | None = None
    p95: float | None = None


@dataclass(frozen=True, slots=True)
class SearchTotals:
    """The searches of a time. Latencies in ms, None without any search; shares 0..1."""

    searches: int
    failed: int
    empty: int  # worked, but nothing was relevant enough
    p50_ms: float | None
    p95_ms: float | None


@dataclass(frozen=True, slots=True)
class TurnTotals:
    """The turns of a time, by outcome or `unsure`. Seconds are None without any turn."""

    turns: int
    outcomes: dict[str, int]
    p50_seconds: float | None
    p95_seconds: float | None
    cost: Cost


@dataclass(frozen=True, slots=True)
class Summary:
    """How it goes: searches, answers and votes since the measurements were cleared."""

    searches: SearchTotals
    turns: TurnTotals
    votes: Mapping[str, int]
    recent: tuple[SearchMetrics, ...]


@dataclass(frozen=True, slots=True)
class ChangedPage:
    """A page that changed under answers, as the latest of them says it, and those: the turn and the question of
    each."""

    change: PageChange
    answers: tuple[tuple[str, str], ...]
