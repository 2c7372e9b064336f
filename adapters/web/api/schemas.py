"""Bodies of the HTTP API, named as in its description (`/openapi.json`). Source: product.md §6 and §7."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from agent.events import Outcome
from retrieval.i18n import Language

_PLAIN = r"^[^\x00]*$"  # a database takes no NUL

QUERY_CHARACTERS = 8_000
Query = Annotated[str, Field(min_length=1, max_length=QUERY_CHARACTERS, pattern=r"^[^\x00]*[^\x00\s][^\x00]*$")]
Collection = Annotated[str, Field(min_length=1, max_length=80, pattern=_PLAIN)]
Scope = Annotated[str, Field(max_length=400, pattern=r"^(team|everyone|place:[^:\s\x00]+:[^:\s\x00]+:[^:\s\x00]+)$")]
OpenScope = Literal["team", "everyone"]  # what a caller reads, who is seen by the team; product.md §3
Session = Annotated[str, Field(min_length=1, max_length=80, pattern=_PLAIN)]  # a thread's name in the database
DocumentName = Annotated[str, Field(min_length=1, max_length=400, pattern=r"^[^\x00]*[^\x00\s][^\x00]*$")]


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ChatQuestion(_In):
    """A question; with the `session_id` of an earlier answer it follows on from there (that of the header
    `X-Session-Id` is percent-decoded first)."""

    query: Query
    session_id: Session | None = None
    strategy: Literal["react", "synthesis"] | None = None
    collections: Annotated[list[Collection], Field(min_length=1, max_length=50)] | None = None


class TextDocument(_In):
    """A document as text. The name's ending says what it is; with none that files have, or without one, it is
    Markdown. Without a name its first line is it."""

    name: DocumentName | None = None
    text: str
    collection: Collection | None = None
    scope: OpenScope | None = None


class FileForm(_In):
    """The fields that go with a file in a form."""

    collection: Collection | None = None
    scope: OpenScope | None = None


class CommandAsk(_In):
    """`kotae ask` on its way to the process that owns the home."""

    question: str
    model: str | None = None
    strategy: str | None = None
    collections: tuple[str, ...] | None = None


class Source(BaseModel):
    """`excerpt`: the words that are cited; only their beginning where `answer` has them whole. `date`: the document's
    own, a day or a month; None: it has none."""

    n: int
    document: str
    collection: str
    excerpt: str
    url: str | None
    date: str | None


class ChatAnswer(BaseModel):
    """`unsure`: it may not be what was asked for; `answer` itself does not say so."""

    answer: str
    outcome: Outcome
    unsure: bool
    session_id: str
    sources: list[Source]


class SearchHit(BaseModel):
    collection: str
    document: str
    document_id: str
    chunk: int
    title: str
    headings: list[str]
    text: str
    question: str | None
    url: str | None
    relevance: float
    scores: dict[str, float]


class SearchResults(BaseModel):
    """`rejected`: found, and not relevant enough; `failed`: parts of the search that did not work."""

    results: list[SearchHit]
    rejected: list[SearchHit]
    failed: list[str]
    latency_ms: float


class AddedDocument(BaseModel):
    id: str
    name: str
    collection: str
    chunks: int
    status: Literal["added", "replaced", "unchanged"]


class DocumentEntry(BaseModel):
    """`updated_at`: when its version was added here; `date`: the document's own, a day or a month; None: it has
    none."""

    id: str
    name: str
    title: str
    collection: str
    scope: str
    chunks: int
    language: Language
    url: str | None
    hash: str
    added_at: str
    updated_at: str
    date: str | None


class DocumentList(BaseModel):
    documents: list[DocumentEntry]


class CollectionEntry(BaseModel):
    name: str
    description: str
    languages: list[Language]
    documents: int
    chunks: int


class CollectionList(BaseModel):
    collections: list[CollectionEntry]


class UnansweredQuestion(BaseModel):
    id: int
    turn: str
    question: str
    reason: Literal["unknown", "low_confidence", "reported"]
    detail: str
    searched: list[str]
    confidence: float | None
    link: str | None
    asked_at: str


class UnansweredList(BaseModel):
    """`hidden`: asked in private places; they only count here."""

    questions: list[UnansweredQuestion]
    total: int
    hidden: int


class Alive(BaseModel):
    status: Literal["ok"]


class Readiness(BaseModel):
    """`degraded`: it answers, but a platform is not connected, the disk has no room for documents, or search goes by
    words alone; `unready`: it cannot answer. Each part by its name, and `why` in words for those that fail, for who
    shows the token where there is one."""

    status: Literal["ready", "degraded", "unready"]
    parts: dict[str, Literal["ok", "low", "failed", "disconnected"]] = {}
    why: dict[str, str] = {}


class Arguments(RootModel[dict[str, Any]]):
    """The arguments a command is called with."""
