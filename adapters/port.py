"""What a platform provides and may ask for, nothing more."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import aclosing
from typing import Protocol

from agent.events import Answered, Events, Step
from bot.types import (
    Actor,
    Audience,
    Card,
    Claimed,
    Command,
    Feedback,
    FileRef,
    Incoming,
    Intake,
    Lesson,
    Notice,
    OpenQuestions,
    Place,
    Post,
    PostKind,
    Preferences,
    Question,
    Taught,
    Upload,
    Verdict,
)
from retrieval.text import Language


class Adapter(Protocol):
    """A platform as the application runs it."""

    name: str  # as people write it
    platform: str  # as `Place.platform` has it
    who: str  # whom the bot is there, such as `@kotae in Acme`; known when it is ready
    ready: asyncio.Event  # set when messages can arrive for the first time

    @property
    def connected(self) -> bool:
        """Whether messages can arrive now."""
        ...

    async def run(self, desk: "Desk") -> None:
        """Serve until cancelled; then take nothing new in and let what runs end, for at most 20 seconds.

        Raises `bot.settings.SettingsError` when the platform refuses the settings for good, ConnectionError when it
        cannot be reached.
        """
        ...

    async def place(self, channel: str) -> tuple[Place, Audience]:
        """A channel by its id, or by a name of its own, and who reads it. Raises LookupError when the bot cannot post there,
        or a name does not say which channel."""
        ...

    async def announce(self, channel: str, card: Card, *, about: str) -> None:
        """Post a card outside any turn. `about` names it: what was posted of it before is not posted again."""
        ...


class PostError(Exception):
    """A platform did not take what was said to it. `code` is its own word for the reason; it holds no secret."""

    code: str


class GoneError(PostError):
    """The channel, thread or message is not there, or not for the bot. It stays so: never tried again (R10)."""


class ThreadView(Protocol):
    """A thread on a platform, as far as a turn writes to it."""

    async def step(self, event: Step) -> None: ...

    async def answer(self, answered: Answered) -> None: ...


class TurnView(ThreadView, Protocol):
    """A turn as a platform shows it, from its claim to its end.

    Steps and signs of life never raise. `answer` raises GoneError when there is nowhere to answer any more, another
    PostError when it is to be tried again: what was posted by then is not posted twice.
    """

    async def begin(self) -> None:
        """Show within a second that the question has arrived; a turn that is taken up again goes on where it was."""
        ...

    async def close(self) -> None:
        """Nothing of the turn goes on after this, whatever became of it."""
        ...

    async def remove(self) -> None:
        """The question was taken back: what was shown of its steps goes. After `close`."""
        ...


Fetch = Callable[[FileRef], Awaitable[bytes]]
"""The bytes of a file on a platform. Raises UnreadableError with the reason in words."""


class Asking(Protocol):
    """What the application offers whoever only asks."""

    def reply(self, message: Incoming) -> Events:
        """Answer a question: steps, then exactly one `Answered`; nothing for a message that was taken already."""
        ...


class Talking(Asking, Protocol):
    """What it offers whoever talks for one person: a terminal, a program. All raise StoreError."""

    async def unfinished(self, platform: str) -> list[Incoming]:
        """Questions that a process or a reply left open when it ended: to be put to `reply` again, or withdrawn."""
        ...

    async def withdraw(self, message: Incoming) -> None:
        """Nobody waits for this question's answer any longer: it is closed and never answered, whoever works on it."""
        ...

    async def ingest(self, upload: Upload) -> Verdict:
        """Add a document. A refusal is a verdict with its reason in the interface language, not an error."""
        ...

    async def vote(self, feedback: Feedback) -> bool:
        """Keep, change or take back a vote on `Answered.turn`. False: there is no such turn."""
        ...

    async def unanswered(self, place: Place, audience: Audience) -> OpenQuestions:
        """The misses that everyone who sees `place` may read, newest first, and how many more there are."""
        ...


class Desk(Talking, Protocol):
    """What it offers a platform. All raise StoreError when the database does not work."""

    # -- questions --------------------------------------------------------------------------------------------------

    async def claim(self, message: Incoming) -> Claimed | None:
        """Take a question durably, before it is acknowledged. None: it is taken or answered already."""
        ...

    async def known(self, claimed: Claimed, message: Incoming) -> Claimed:
        """The claimed question with what was looked up since: audience, link, what was overheard, files."""
        ...

    async def release(self, claimed: Claimed) -> None:
        """Give back a claimed question whose `run` was never begun: `unfinished` finds it. Never raises."""
        ...

    def run(self, claimed: Claimed) -> Events:
        """Answer a claimed question: steps, then one `Answered`. No `Answered`: somebody else has the turn, or it was
        withdrawn. Exhaust it: the turn counts as shown when the next event after the `Answered` is asked for.
        """
        ...

    async def amend(self, message: Incoming) -> bool:
        """The question was edited before it was answered: it is open again, in its new words, for `claim`. False: it is
        answered or not known, and nothing happens."""
        ...

    def language(self, message: Incoming) -> Language:
        """Of what is said to the asker around an answer: the question's own, else that of the interface."""
        ...

    # -- what was posted ----------------------------------------------------------------------------------------------

    async def intend(self, post: Post) -> Post | None:
        """Write down that this is about to be posted. What is there already is returned, and stays as it is."""
        ...

    async def placed(self, post: Post) -> None:
        """It was posted: `post.message` (and `data`) are known now."""
        ...

    async def posts(self, about: str) -> list[Post]:
        """All that was posted, or was about to be, in the order of kind and part."""
        ...

    async def post_at(self, place: Place, message: str) -> Post | None:
        """What the bot posted as this message."""
        ...

    async def spoken_in(self, platform: str, workspace: str, *, limit: int) -> list[str]:
        """The channels of a workspace that the bot has posted in, where it did so last first."""
        ...

    # -- knowledge ----------------------------------------------------------------------------------------------------

    async def take_in(self, claim: str, intake: Intake) -> Intake | None:
        """Take files durably, before it is acknowledged; `claim` is what the person did. None: taken already."""
        ...

    def work_off(self, intake: Intake, fetch: Fetch) -> AsyncGenerator[Intake]:
        """Read the files one by one: the intake as it stands, first and after each. Nothing when another has it."""
        ...

    async def intakes(self, platform: str) -> list[Intake]:
        """Intakes that a process left unfinished: for `work_off`."""
        ...

    async def scopes(self, actor: Actor, place: Place, audience: Audience) -> tuple[str, ...]:
        """Who may be allowed to read what this person adds at this place, the default first; empty: nobody adds here."""
        ...

    async def collections(self, place: Place, audience: Audience) -> tuple[str, ...]:
        """The collections to choose from when something is added, the default first."""
        ...

    # -- misses -------------------------------------------------------------------------------------------------------

    async def questions(self, ids: Collection[int], place: Place, audience: Audience) -> list[Question]:
        """Of these misses those that everyone who sees `place` may read."""
        ...

    async def teach(self, lesson: Lesson) -> Taught:
        """Learn an answer: it becomes a Q/A pair, the questions are closed, their askers will be told."""
        ...

    async def dismiss(self, actor: Actor, ids: Collection[int], place: Place, audience: Audience) -> Taught:
        """Close questions without an answer."""
        ...

    async def cards(self, ids: Collection[int]) -> list[Post]:
        """The cards on any platform that still offer these questions."""
        ...

    async def settled(self, platform: str) -> list[Post]:
        """The cards of a platform whose question was closed elsewhere; `closed` where none of theirs is open any more."""
        ...

    async def notices(self, platform: str) -> list[Notice]:
        """What is to be said now in threads of this platform; nobody else is given it for a minute."""
        ...

    async def said(self, notice: Notice) -> None:
        """The notice was posted, or never can be."""
        ...

    # -- the rest -----------------------------------------------------------------------------------------------------

    async def command(self, command: Command) -> Card:
        """Do what `/kotae …` asks for. A refusal and wrong use are cards too."""
        ...

    async def preferences(self, place: Place) -> Preferences:
        """What holds at this place: what was chosen there over the settings; `steps` is never None."""
        ...

    async def prefer(self, actor: Actor, place: Place, chosen: Preferences) -> None:
        """Choose for a place. Raises SettingsError for what does not exist or is not this person's to choose."""
        ...


async def relay(events: Events, view: ThreadView) -> bool:
    """Post a turn as it happens; whether it had an answer. A post that fails ends the turn too."""
    answered = False
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Answered):
                await view.answer(event)
                answered = True
            else:
                await view.step(event)
    return answered


__all__ = [
    "Adapter",
    "Asking",
    "Card",
    "Desk",
    "Fetch",
    "GoneError",
    "PostError",
    "PostKind",
    "Talking",
    "ThreadView",
    "TurnView",
    "relay",
]
