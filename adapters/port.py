"""The port: a platform provides it; what it is given is `bot.bot.Bot`."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agent.events import Answered, Events, Step
from bot.types import Card, Recipient

if TYPE_CHECKING:  # a terminal that asks over the socket needs no database
    from bot.bot import Bot


@dataclass(frozen=True, slots=True)
class WebhookReply:
    """The answer to what a platform posts to an address of ours."""

    status: int
    body: str = ""
    kind: str = "text/plain"


Webhook = Callable[[Mapping[str, str], bytes], Awaitable[WebhookReply]]
"""Is given the headers, their names in lower case, and the body as it came; sees by itself who calls."""


class Adapter(Protocol):
    """A platform as the application runs it."""

    platform: str  # as `Place.platform` has it; capitalised it is what people call it
    who: str  # whom the bot is there, such as `@kotae in Acme`; known when it is ready
    ready: asyncio.Event  # set when messages can arrive for the first time

    @property
    def connected(self) -> bool:
        """Whether messages can arrive now."""
        ...

    async def run(self, bot: "Bot") -> None:
        """Serve until cancelled; then take nothing new in and let what runs end, for at most 20 seconds.

        Raises `bot.config.settings.SettingsError` when the platform refuses the settings for good, ConnectionError when
        it cannot be reached."""
        ...

    async def find(self, recipient: str) -> Recipient:
        """A channel by its id, or by a name of its own; or a member of the team by `@` and the id, to be written to
        alone. Raises LookupError when the bot cannot post there, or a name does not say which channel; of people, for
        who is unknown, deactivated, a bot or no member."""
        ...

    async def announce(self, channel: str, card: Card, *, about: str) -> None:
        """Post a card outside any turn, to a channel's id. `about` names it: what was posted of it before is not posted
        again. Raises LookupError where it is not taken, for good; ConnectionError when not all of it could be posted:
        the same call goes on."""
        ...


class PostError(Exception):
    """A platform did not take what was said to it. `code` is its own word for the reason; it holds no secret."""

    code: str


class GoneError(PostError):
    """The channel, thread or message is not there, or not for the bot. It stays so: never tried again (R10)."""


class BarredError(GoneError):
    """The place is there, and the bot may not write in it: whoever asked there hears so elsewhere."""


@contextmanager
def as_lookup(*gone: type[PostError]) -> Iterator[None]:
    """A refusal, as `Adapter.find` and `announce` tell it. `gone`: what is for good besides GoneError."""
    try:
        yield
    except PostError as error:
        lasting = isinstance(error, (GoneError, *gone))
        raise (LookupError if lasting else ConnectionError)(error.code) from None


class ThreadView(Protocol):
    """A thread on a platform, as far as a turn writes to it."""

    async def step(self, event: Step) -> None: ...

    async def answer(self, answered: Answered) -> None: ...


class TurnView(ThreadView, Protocol):
    """A turn as a platform shows it, from its claim to its end.

    Steps and signs of life never raise. A turn may have its answer already, since it was interrupted or its question
    edited: then `answer` puts the new one in its place. It raises GoneError when there is nowhere to answer any more,
    another PostError when it is to be tried again: what was posted by then is not posted twice."""

    async def begin(self) -> None:
        """Show within a second that the question has arrived; a turn that is taken up again goes on where it was."""
        ...

    async def close(self) -> None:
        """Nothing of the turn goes on after this, whatever became of it."""
        ...

    async def remove(self) -> None:
        """The question was taken back: take away what was posted of its turn, by this view or an earlier one, steps and
        answer. After `close`, or without `begin`. Raises PostError when it is to be tried again."""
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
