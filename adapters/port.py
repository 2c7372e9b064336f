"""What a platform provides and may ask for, nothing more."""

from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol

from agent.events import Answered, Events, Step
from bot.messages import Audience, Feedback, Incoming, Place, Upload, Verdict

if TYPE_CHECKING:  # a platform needs no database to be loaded
    from bot.store.questions import OpenQuestions


class ThreadView(Protocol):
    """A thread on a platform, as far as a turn writes to it."""

    async def step(self, event: Step) -> None: ...

    async def answer(self, answered: Answered) -> None: ...


class Desk(Protocol):
    """What the application offers a platform."""

    def reply(self, message: Incoming) -> Events:
        """Answer a question: steps, then exactly one `Answered`; nothing for a message that was taken already."""
        ...

    async def unfinished(self, platform: str) -> list[Incoming]:
        """Questions that a process or a reply left open when it ended: to be put to `reply` again, or withdrawn."""
        ...

    async def withdraw(self, message: Incoming) -> None:
        """Nobody waits for this question's answer any longer: it is closed and never answered."""
        ...

    async def ingest(self, upload: Upload) -> Verdict:
        """Add a document. A refusal is a verdict with its reason in the interface language, not an error."""
        ...

    async def vote(self, feedback: Feedback) -> bool:
        """Keep, change or take back a vote on `Answered.turn`. False: there is no such turn."""
        ...

    async def unanswered(self, place: Place, audience: Audience) -> "OpenQuestions":
        """The misses that everyone who sees `place` may read, newest first, and how many more there are."""
        ...


async def relay(events: Events, view: ThreadView) -> None:
    """Post a turn as it happens. A post that fails ends the turn too."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Answered):
                await view.answer(event)
            else:
                await view.step(event)
