"""What an adapter hands to the application. Filled from facts of the platform, never from the text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from retrieval.text import Language

Visibility = Literal["public", "private", "outsiders", "unknown"]


@dataclass(frozen=True, slots=True)
class Audience:
    """Who can read the place where the answer will be posted.

    `private`: a private channel or direct message, read by its members only. `outsiders`: people from outside the
    team can read it. `unknown` is treated like `outsiders`.
    """

    visibility: Visibility


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was said: `place:<platform>:<workspace>:<channel>` is its scope."""

    platform: str
    workspace: str
    channel: str


@dataclass(frozen=True, slots=True)
class Incoming:
    """One question that was put to the bot. `message` identifies what the person did on that platform."""

    place: Place
    thread: str  # the thread's root
    message: str
    author: str
    text: str  # without the mention
    audience: Audience
    language: Language | None = None  # None: by the text
    link: str | None = None
    model: str | None = None  # chosen for this question
    strategy: str | None = None
    collections: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """A document to add. `data` are the file's bytes as they came; the name's ending and the bytes say what it is."""

    name: str
    data: bytes = field(repr=False)
    collection: str
    scope: str
    author: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Feedback:
    """A vote on a turn's answer; one a person and turn, changeable. `None` takes it back."""

    turn: str
    author: str
    vote: Literal["up", "down"] | None
    reason: Literal["wrong", "outdated", "incomplete", "wrong_source"] | None = None
    text: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one upload."""

    name: str
    status: Literal["added", "replaced", "unchanged", "refused"]
    collection: str = ""
    document_id: str | None = None
    chunks: int = 0
    reason: str = ""  # of a refusal, in the interface language

    def as_json(self) -> Mapping[str, Any]:
        shown: dict[str, Any] = {"name": self.name, "status": self.status, "collection": self.collection}
        if self.document_id:
            shown |= {"id": self.document_id, "chunks": self.chunks}
        if self.reason:
            shown["reason"] = self.reason
        return shown
