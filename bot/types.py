"""The values that cross between platforms and the application. What a platform hands over is filled from its facts,
never from the text."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any, Literal

from agent.conversation import Overheard
from retrieval.i18n import Language, Text

Visibility = Literal["public", "private", "outsiders", "unknown"]


@dataclass(frozen=True, slots=True)
class Audience:
    """The readers of the place where the answer will be posted.

    `private`: a private channel or direct message, read by its members only. `outsiders`: people from outside the
    team can read it. `unknown` is treated like `outsiders`.
    """

    visibility: Visibility


PUBLIC, PRIVATE = Audience("public"), Audience("private")
OUTSIDERS, UNKNOWN = Audience("outsiders"), Audience("unknown")


@dataclass(frozen=True, slots=True)
class Place:
    """The place where something was said: `place:<platform>:<workspace>:<channel>` is its scope."""

    platform: str
    workspace: str
    channel: str


Role = Literal["outsider", "member", "editor"]


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody who did something, and what the platform says they are: a guest or stranger, a full member, or one who
    may change what everybody reads (a workspace admin; on Discord, Manage Messages)."""

    platform: str
    workspace: str
    id: str
    role: Role = "member"

    @property
    def full_id(self) -> str:
        """As records name people: `platform:id`."""
        return f"{self.platform}:{self.id}"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a question. It can be searched in that thread, and nowhere else."""

    name: str
    data: bytes = field(repr=False)
    url: str | None = None
    problem: str = ""  # why it could not be fetched, in words; then `data` is empty


@dataclass(frozen=True, slots=True)
class Incoming:
    """One question that was put to the bot. `message` identifies what the person did on that platform.

    What is looked up after the claim (`overheard`, `files`) is not stored: whoever resumes a turn looks again.
    """

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
    direct: bool = False  # written to the bot alone, outside of any thread: what was said there just before goes on
    overheard: tuple[Overheard, ...] = ()  # oldest first
    files: tuple[Attachment, ...] = ()


Follow = Literal["thread", "mentions", "posts"]
"""Whether the bot answers without a mention in its own threads: `mentions` not; `posts`: it does, and each new post of
this forum on Discord is a question, too."""


StepsShown = Literal["live", "verbose", "off"]


@dataclass(frozen=True, slots=True)
class Preferences:
    """The settings chosen for a channel. None: as the settings say."""

    model: str | None = None
    strategy: str | None = None
    steps: StepsShown | None = None
    collections: tuple[str, ...] | None = None
    follow: Follow | None = None  # None: thread


@dataclass(frozen=True, slots=True)
class Command:
    """`/kotae <name> <text>`, or the platform's own form of it, typed at a place."""

    actor: Actor
    place: Place
    audience: Audience
    name: str  # of `bot.slash_commands`
    text: str
    language: Language
    person: str = ""  # somebody who was mentioned, by the platform's id


@dataclass(frozen=True, slots=True)
class AnswerGiven:
    """An expert's answer to open questions, by their ids; given at a place that `audience` sees. It answers `reference`
    (None: the one that speaks for them) and closes of the others those that say the same, but for what was chosen by
    hand: it closes those in `closes`, too, and not those in `leaves`."""

    actor: Actor
    place: Place
    audience: Audience
    questions: tuple[int, ...]
    answer: str
    question: str = ""  # better words for it; empty: as it was asked
    url: str | None = None  # where the answer was given
    reference: int | None = None
    author: str = ""  # who wrote it, on the actor's platform, where that is somebody else
    closes: Collection[int] = ()
    leaves: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class AnswerTaken:
    """The outcome of an expert's answer. `refusal` says in words why nothing was learnt; `documents` are where it is
    kept, by id, and their versions."""

    closed: tuple[int, ...] = ()  # the questions that were open until now
    told: int = 0  # threads that will be told
    left: int = 0  # questions of the lesson that are still open: they ask something else
    refusal: Text | None = None
    documents: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file to add, by what its platform needs to fetch it (`ref`: an id or an address; never a secret)."""

    name: str
    ref: Mapping[str, str]
    verdict: "Verdict | None" = None  # once it was read
    over: bool = False  # it may take the place of what somebody else has added


Fetch = Callable[[FileRef], Awaitable[bytes]]
"""The bytes of a file on a platform. Raises UnreadableError with the reason in words."""


@dataclass(frozen=True, slots=True)
class IngestionRequest:
    """Files that somebody gives to the knowledge: kept until the last one has its verdict."""

    id: str
    place: Place
    thread: str | None  # where its progress shows; None: the channel
    author: str
    collection: str
    scope: str
    language: Language
    files: tuple[FileRef, ...]

    @property
    def done(self) -> bool:
        return all(file.verdict is not None for file in self.files)


PostKind = Literal["steps", "answer", "card", "digest", "notice", "intake", "confirm"]


@dataclass(frozen=True, slots=True)
class Post:
    """Something the bot says on a platform, from before it is sent: after a crash it is found again, not said twice.

    `about` is what it belongs to (a turn's id, an intake's, `digest:<due>`); with `kind` and `part` it is unique.
    `message` is the platform's id of it; None: it is not known whether it was sent.
    """

    about: str
    kind: PostKind
    part: int
    place: Place
    thread: str | None = None
    message: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


def has_answer(posts: Iterable[Post]) -> bool:
    """Whether an answer, or its beginning, stands among what was posted of a turn."""
    return any(post.kind == "answer" and post.message for post in posts)


def taken_back(posts: Iterable[Post]) -> list[Post]:
    """The notices that say what was withdrawn since, and are to be taken away."""
    return [post for post in posts if post.kind == "notice" and post.data.get("placeholder") and post.message]


def is_wordless(card: Mapping[str, Any]) -> bool:
    """Whether a card, by its data, waits to be drawn anew: its words were somebody's who is forgotten."""
    return bool(card["row"].get("text") == "")


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to be said in a thread outside of any turn: a question asked there has an answer now, or `corrects`
    what was said to be its answer, or it is `of_page`: what became of a page that the answer rests on. It quotes the
    question, so what is posted of it belongs to that turn."""

    id: int
    turn: str
    place: Place
    thread: str
    author: str  # who asked
    language: Language
    question: str
    answer: str
    by: str | None  # who answered or corrected, on this very platform; None: somebody elsewhere
    corrects: bool = False
    of_page: bool = False


@dataclass(frozen=True, slots=True)
class Upload:
    """A document to add. `data` are the file's bytes as they came; the name's ending and the bytes say what it is.

    `changed_at`: the date that is known of it, ISO, for what states none itself; never that on which it is added.
    `over`: it may take the place of a document of its name that another author has added.
    """

    name: str
    data: bytes = field(repr=False)
    collection: str
    scope: str
    author: str
    url: str | None = None
    changed_at: str | None = None
    said_in: str | None = None  # the channel that it was said in
    over: bool = True


Complaint = Literal["wrong", "outdated", "incomplete", "wrong_source"]


@dataclass(frozen=True, slots=True)
class Feedback:
    """A vote on a turn's answer; one a person and turn, changeable. `None` takes it back."""

    turn: str
    author: str
    vote: Literal["up", "down"] | None
    reason: Complaint | None = None
    text: str = ""
    at: datetime | None = None
    only: Literal["up", "down"] | None = None  # take it back only if it is this one


Kept = Literal["changed", "unchanged"]  # a vote: the second where the same one stood


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one upload."""

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


# -- what is shown outside of a turn ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Link:
    """`url` is http or https."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Action:
    """A button on open questions. A platform keeps their ids with it; the application asks again who may read them.
    `reference`: the one that is answered."""

    text: str
    questions: tuple[int, ...]
    kind: Literal["answer", "dismiss"] = "answer"
    reference: int | None = None


@dataclass(frozen=True, slots=True)
class CardRow:
    """`sources`: of the first details, the ids of the documents that they quote or name, or of the turns whose words
    they are, with blanks between; empty: none."""

    text: str
    details: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    actions: tuple[Action, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def web_links(self) -> tuple[Link, ...]:
        """Those that lead there from anywhere, not only from our own pages."""
        return tuple(link for link in self.links if not link.url.startswith("/"))


@dataclass(frozen=True, slots=True)
class Card:
    """A title, lines under it, rows, and lines at the foot; all plain text, each one line. Without a title its rows
    stand alone."""

    title: str
    lines: tuple[str, ...] = ()
    rows: tuple[CardRow, ...] = ()
    foot: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recipient:
    """A channel that a card can be posted to, or somebody by direct message. `name`: as people call them there,
    `called`: the same in both languages, where it differs; `timezone` and `language`: the person's own, as far as the
    platform knows them."""

    place: Place
    audience: Audience
    name: str
    timezone: tzinfo | None = None
    language: Language | None = None
    called: Text | None = None


# -- questions -------------------------------------------------------------------------------------------------------


EDITS = 3  # of an answered question's words that are followed


@dataclass(frozen=True, slots=True)
class Claimed:
    """A turn that this owner now holds. `waiting` others stand before it in its thread."""

    id: str
    message: Incoming
    sequence: int
    waiting: int
    started: bool = False  # its first attempt has begun with the claim
    edits: int = 0  # of its words, after each of which it was answered again
    retaken: bool = False  # somebody had it before
    answered: bool = False  # it has its answer, which is only to be shown


@dataclass(frozen=True, slots=True)
class Stopped:
    """The outcome of somebody's wish that nothing more be said to what they asked in a thread: the questions that it
    `ended`, and those that are still open there, `left`: other people's, and what they asked since."""

    ended: tuple[Claimed, ...] = ()
    left: tuple[Claimed, ...] = ()


MissReason = Literal["unknown", "low_confidence", "reported"]
Resolution = Literal["answered", "dismissed"]


def after(before: str, question: str) -> str:
    """A question together with those in front of it that it leans on, if there are any."""
    return f"{before} → {question}" if before else question


@dataclass(frozen=True, slots=True)
class Question:
    """A miss as it is kept."""

    id: int
    turn: str
    question: str
    reason: MissReason
    detail: str
    searched: tuple[str, ...]
    confidence: float | None
    scope: str
    link: str | None
    asked_at: datetime
    resolved_at: datetime | None
    resolution: Resolution | None = None  # None: it is open, or was closed before this was kept
    answer: str | None = None  # the document that answers it
    reopened_at: datetime | None = None  # its answer was taken back or complained of, or it became a miss only then
    follows: bool = False  # something was asked in its thread before
    before: str = ""  # of that what it leans on, as it is now: kept nowhere, so that it goes when its asker deletes it
    earlier: tuple[str, ...] = ()  # the turns that `before` may have words of

    @property
    def whole(self) -> str:
        """The question after what it leans on: to search for, and to be understood without its thread."""
        return after(self.before, self.question)


@dataclass(frozen=True, slots=True)
class OpenQuestions:
    """The open questions these readers may see, newest first; `shown` of `total` are theirs to read."""

    questions: tuple[Question, ...]
    shown: int  # all that these readers may see, also beyond the limit
    hidden: int  # asked in places that these readers do not see

    @property
    def total(self) -> int:
        return self.shown + self.hidden
