"""Questions on their way through a thread: claimed, looked up, answered; edited and deleted meanwhile; taken up again.

The same on every platform, which brings how it looks things up and how it shows a turn.
Source: product.md §1; reliability.md R2, R5 and R10.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from adapters.port import GoneError, PostError, TurnView, relay
from adapters.shared.tasks import Tasks
from bot.bot import Bot
from bot.types import Claimed, Incoming, Preferences

log = logging.getLogger(__name__)

OpenView = Callable[[Claimed, Preferences], TurnView]
"""A turn's view, with what holds at its place; nothing is posted yet."""

LookUp = Callable[[Incoming, bool], Awaitable[Incoming]]
"""A question with what its event did not say: who reads the place, its link, what was overheard, its files. The flag: the
event itself says that its author is a stranger. Never raises for want of an answer: what is not known stays unknown."""

_Key = tuple[str, str]  # channel, message


@dataclass(slots=True)
class _Running:
    text: str
    task: "asyncio.Task[None] | None" = None
    view: TurnView | None = None

    async def stop(self) -> None:
        """End the turn, which goes back to the queue."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait({self.task})

    async def remove(self) -> None:
        """Nobody waits for it any longer: what was shown of it goes."""
        if self.view is not None:
            await self.view.remove()


class RunningTurns:
    """The questions of one platform that this process works on."""

    def __init__(self, platform: str, bot: Bot, tasks: Tasks, open_view: OpenView, look_up: LookUp) -> None:
        self._platform = platform
        self._bot = bot
        self._tasks = tasks
        self._open_view = open_view
        self._look_up = look_up
        self._running: dict[_Key, _Running] = {}

    async def ask(self, message: Incoming, *, stranger: bool = False) -> None:
        """Claim a question, then answer it in a task. However often it comes, it is one claim. Raises StoreError."""
        claimed = await self._bot.turns.claim(message)
        if claimed is not None:
            self._begin(claimed, stranger)

    async def edit(self, message: Incoming, *, addressed: bool = True, stranger: bool = False) -> None:
        """A message has new words: what is not answered yet is answered in those. Not `addressed`: it is no longer for
        the bot. Raises StoreError."""
        running = self._running.get(_key(message))
        if running is not None:
            if addressed and running.text == message.text:
                return
            await running.stop()
        if addressed:
            await self._bot.turns.amend(message)
            await self.ask(message, stranger=stranger)
        else:
            await self._take_back(message, running)

    async def delete(self, message: Incoming) -> None:
        """The asker took the question back: nothing is answered any more, and the steps go too. Raises StoreError."""
        running = self._running.get(_key(message))
        if running is not None:
            await running.stop()
        await self._take_back(message, running)

    async def resume(self) -> None:
        """Take up what was claimed and left by a process or a reply that ended. Raises StoreError."""
        for message in await self._bot.turns.unfinished(self._platform):
            await self.ask(message)  # whether its author is a stranger is looked up again

    async def _take_back(self, message: Incoming, running: _Running | None) -> None:
        await self._bot.turns.withdraw(message)
        if running is not None:
            await running.remove()

    def _begin(self, claimed: Claimed, stranger: bool) -> None:
        running = _Running(claimed.message.text)
        self._running[_key(claimed.message)] = running
        running.task = self._tasks.start(self._serve(claimed, stranger, running), f"{self._platform}-turn")

    async def _serve(self, claimed: Claimed, stranger: bool, running: _Running) -> None:
        try:
            await self._answer(claimed, stranger, running)
        except GoneError as error:
            log.info("a thread is gone (%s): its question is closed", error.code)
            await self._bot.turns.withdraw(claimed.message)
        except PostError as error:
            log.warning("an answer could not be posted (%s); trying again later", error.code)
        finally:
            if self._running.get(_key(claimed.message)) is running:
                del self._running[_key(claimed.message)]

    async def _answer(self, claimed: Claimed, stranger: bool, running: _Running) -> None:
        """Raises PostError when the answer could not be posted, StoreError when it could not be begun."""
        begun = False
        try:
            preferences = await self._bot.channels.preferences(claimed.message.place)
            running.view = view = self._open_view(claimed, preferences)
            try:
                _, message = await asyncio.gather(view.begin(), self._look_up(claimed.message, stranger))
                claimed = await self._bot.turns.enrich(claimed, message)
                begun = True
                await relay(self._bot.turns.run(claimed), view)
            finally:
                await view.close()
        finally:
            if not begun:
                await self._bot.turns.release(claimed)


def _key(message: Incoming) -> _Key:
    return message.place.channel, message.message
