"""A turn as a stream of values: any number of steps, then exactly one `Answered`."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from retrieval.types import Hit

Outcome = Literal["answered", "unknown", "declined", "failed"]
Verdict = Literal["keep", "revise", "reject"]


@dataclass(frozen=True, slots=True)
class Thought:
    text: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolReturned:
    id: str
    name: str
    summary: str  # what people see
    hits: tuple[Hit, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Drafted:
    text: str


@dataclass(frozen=True, slots=True)
class Reflected:
    verdict: Verdict
    text: str


@dataclass(frozen=True, slots=True)
class Citation:
    """`[n]` in the answer's text, and the passage it stands for."""

    n: int
    document: str
    collection: str
    chunk: int
    quote: str
    url: str | None = None
    date: str | None = None  # of the document itself, ISO; None: not known
    title: str = ""  # what people call the page, or a pair's question; empty: as the document
    checked: str | None = None  # ISO day on which its source was last seen; None: it is followed, or has no source
    said_in: str = ""  # the channel (#general) where people said it; empty: it stands in a document
    document_id: str = ""  # empty in what was kept before it was noted

    @property
    def name(self) -> str:
        """The name that people are shown."""
        return self.title or self.document


@dataclass(frozen=True, slots=True)
class PageChange:
    """A page after an answer that cites it: it is gone from its source (`removed`), or does not bear out a statement
    any more. `was` and `now` are the figures that differ; without `was`, `now` is what it says of that, and without
    both it says nothing of `said`, the statement."""

    document: str
    title: str  # what people call the page
    on: str  # ISO day on which it was noticed
    said: str = ""
    was: str = ""
    now: str = ""
    url: str | None = None
    removed: bool = False
    rested: str = ""  # the sentence that the statement rested on; not shown
    document_id: str = ""  # as of a `Citation`


def of_documents(one: Citation | PageChange, documents: Mapping[str, str]) -> bool:
    """Whether it is of one of these documents (names by id)."""
    return one.document_id in documents if one.document_id else one.document in documents.values()


@dataclass(frozen=True, slots=True)
class Cost:
    """The use of a paid model in a turn, over all its calls."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    thought_tokens: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.thought_tokens + other.thought_tokens,
        )


EXTRACTIVE = "extractive"
"""The name of the model that quotes the documents by rules, without any other model."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The end of a turn. `unknown` is an unanswered question; `failed` is an outage and is not.

    The fields that do not compare say how the answer came about; the store and the renderers use them.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    outcome: Outcome = "answered"
    unsure: bool = False  # said to people in front of the answer
    person: bool = False  # a person can be asked, which is offered under the answer
    changes: tuple[PageChange, ...] = ()  # since it was given; said to people on top of it
    model: str = field(default="", compare=False)
    seconds: float = field(default=0.0, compare=False)
    cost: Cost = field(default=Cost(), compare=False)
    searched: tuple[str, ...] = field(default=(), compare=False)  # collections that were searched; empty: no search
    confidence: float | None = field(default=None, compare=False)  # best relevance; None: nothing was searched
    marked: bool = field(default=False, compare=False)  # a claim could not be confirmed and says so
    turn: str = field(default="", compare=False)  # the turn's id, filled in by the application; what a vote names

    @property
    def verbatim(self) -> bool:
        """Whether its text has what it cites whole, in the documents' own words."""
        return self.model == EXTRACTIVE


Step = Thought | ToolCalled | ToolReturned | Drafted | Reflected
Event = Step | Answered
Events = AsyncGenerator[Event, None]
