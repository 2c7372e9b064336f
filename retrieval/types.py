"""The values retrieval hands to the rest, and the ways it can fail."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from retrieval.i18n import Language, TextError

Vector = list[float]
Vectors = list[Vector]
Branch = Literal["dense", "words", "ngrams"]
Mode = Literal["hybrid", "dense", "sparse"]
Fusion = Literal["dbsf", "rrf"]

EVERYONE = "everyone"
TEAM = "team"

MIN_RELEVANCE = 0.25
"""The default of KOTAE_MIN_RELEVANCE: what is less relevant is as good as not found."""

CONFIDENT = 0.5
"""The default of KOTAE_CONFIDENT: from it on a match is called fair, under it weak."""

STRONG = 0.8
"""From here on a match is strong: words and meaning agree."""


# -- failures: the names of the design document on the agent's tools ------------------------------------------------


class RAGToolError(TextError):
    """Something in retrieval failed. `reason` is fit for people; the cause is chained and belongs in the log.

    Source: seeds/3_agent_tools.md §3.
    """


class QdrantConnectionError(RAGToolError):
    """The vector store cannot be opened or reached (also: another process owns it)."""


class CollectionNotFoundError(RAGToolError):
    """No collection of that name that the asker may read."""


class EmbeddingError(RAGToolError):
    """The embedder failed, or its vectors do not fit the store."""


class UnreadableError(RAGToolError):
    """A file that cannot become a document; `reason` says why, in words."""


class StoppedError(UnreadableError):
    """A file whose reading took too long or broke off, which a busy machine may be the reason of, too."""


# -- who may read ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Readers:
    """The scopes that everyone who will see a reply may read. Empty reads nothing."""

    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class View:
    """The part of the store that one search may see; part of every query that the store gets, before ranking."""

    readers: Readers
    generation: int
    collections: tuple[str, ...] | None = None  # None: all


# -- a document on its way in ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QAPair:
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Document:
    """A file as Markdown, clean of control and hidden characters."""

    name: str
    markdown: str
    title: str = ""
    pairs: tuple[QAPair, ...] = ()  # rows with question and answer columns; then `markdown` shows them as text
    date: str = ""  # that it states of itself: ISO day or month


@dataclass(frozen=True, slots=True)
class Chunk:
    """One stretch of a document. `number` (the seed's chunk_id) counts from 0 in reading order."""

    number: int
    text: str
    headings: tuple[str, ...] = ()
    question: str | None = None  # of a Q/A pair; `text` is then the answer


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk with what the store knows about it (a point's payload).

    seeds/4_agentic_rag_api.md: `document_id` is file_id, `chunk` chunk_id, `document` filename, `text` content;
    full_text is read on demand from the neighbours.
    """

    collection: str
    document_id: str
    document: str
    chunk: int
    text: str
    scope: str
    title: str = ""
    headings: tuple[str, ...] = ()
    question: str | None = None
    url: str | None = None
    updated: str = ""  # the document's own date, ISO day or month; empty: it has none
    said_in: str = ""  # the channel (#general) where people said it; empty: it stands in a document

    @property
    def name(self) -> str:
        """The name by which people call it: a pair by its question, a page by its title."""
        return self.question or self.title

    def as_chunk(self) -> Chunk:
        """As it was cut from its document."""
        return Chunk(self.chunk, self.text, self.headings, self.question)


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Term ids, strictly ascending, and their weights."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """The facts relevance needs of a passage's text, found out once, when it is stored.

    `heads`: term ids of title and headings together; `lines`: those of a pair's question and of each line of the text.
    """

    language: Language
    heads: frozenset[int]
    lines: tuple[frozenset[int], ...]


@dataclass(frozen=True, slots=True)
class Point:
    """A passage with its vectors. It is seen by generations `born` ≤ G < `died`."""

    id: str
    passage: Passage
    reading: Reading
    dense: Vector
    words: SparseVector
    ngrams: SparseVector
    born: int


# -- what a search found --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found. `scores` holds the raw score of each branch it came from and `fused`."""

    passage: Passage
    scores: Mapping[str, float]
    relevance: float  # 0..1, calibrated: how likely the passage answers the query
    held: float = 1.0  # share, by rarity, of the query's subject that stands in the passage; 1 where nobody looked


@dataclass(frozen=True, slots=True)
class SearchMetrics:
    """One search, measured. Source: seeds/3_agent_tools.md §4."""

    query: str
    collection_name: str
    latency_ms: float
    total_results: int
    filtered_results: int
    top_score: float
    scores: tuple[float, ...]
    error: str | None
    timestamp: datetime


@dataclass(frozen=True, slots=True)
class Found:
    """The hits that are relevant enough, best first; how many were not; which branches failed."""

    hits: tuple[Hit, ...]
    metrics: SearchMetrics
    rejected: tuple[Hit, ...] = ()  # under the threshold: never shown to a model, kept for the miss's record
    failed: tuple[Branch, ...] = ()


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection as the router and people see it; the counts are what these readers may read."""

    name: str
    description: str = ""
    languages: tuple[Language, ...] = ()
    documents: int = 0
    chunks: int = 0
    owner: str | None = None  # platform:id of whoever looks after it


@dataclass(frozen=True, slots=True)
class Probe:
    """The vectors and terms by which one query asks the store; a sparse vector without terms leaves its branch out."""

    dense: Vector | None = None  # of any length: only its direction counts
    words: SparseVector | None = None
    ngrams: SparseVector | None = None
    weigh: Sequence[int] = ()  # word terms whose rarity is asked for


@dataclass(frozen=True, slots=True)
class Candidates:
    """The store's answer to one probe: each branch's list (best first) or the failure of that branch.

    The dense list holds the nearest passages of each language; `weights` is the idf of the terms to weigh.
    """

    branches: Mapping[Branch, Sequence["Scored"]]
    failed: Mapping[Branch, Exception] = field(default_factory=dict)
    weights: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scored:
    """A point with the raw score that one branch gave it; its language where the branch goes by meaning."""

    id: str
    score: float
    language: Language | None = None


@dataclass(frozen=True, slots=True)
class Indexed:
    """A passage as the store keeps it."""

    passage: Passage
    reading: Reading
