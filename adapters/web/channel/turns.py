"""Questions among what is written in the rooms. A message is written down before it is claimed, so that what the
database did not take, or the process did not live to claim, is claimed later. Source: reliability.md R3, R5 and R10."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from functools import partial

from adapters.shared.follow_ups import is_follow_up
from adapters.shared.turns import RunningTurns
from adapters.web.channel.context import WebContext
from adapters.web.channel.events import addressed, calls_somebody, incoming
from adapters.web.channel.rooms import PLATFORM, WORKSPACE
from adapters.web.channel.thread_context import ThreadContext
from adapters.web.channel.turn_view import WebThread
from bot.errors import StoreError
from bot.records import RoomMessage
from bot.texts import reply_language
from bot.types import Actor, Claimed, Preferences

log = logging.getLogger(__name__)

LOOK = 200  # messages of a thread that are looked at for somebody else's
UNCLAIMED, UNCLAIMED_MOST = timedelta(hours=1), 50  # questions that a process wrote down and did not claim
LOOK_AGAIN = 15.0  # seconds; another process may have died over one


class WebTurns:
    """The questions of the rooms, while the adapter runs."""

    def __init__(self, context: WebContext) -> None:
        self._context = context
        self._questions = RunningTurns(
            PLATFORM,
            context.bot,
            context.tasks,
            partial(_view, context),
            ThreadContext(context),
            language=context.language,
        )
        self._unclaimed: dict[int, RoomMessage] = {}
        self._looked_up: float | None = None

    async def ask(self, message: RoomMessage) -> None:
        """Have it answered, now or once the database takes it."""
        try:
            await self._questions.ask(incoming(message, self._context.address))
            self._unclaimed.pop(message.id, None)
        except StoreError:
            log.error("a question could not be stored; trying again", exc_info=True)
            self._unclaimed[message.id] = message

    async def follow_up(self, message: RoomMessage) -> bool:
        """Have a reply without a mention answered if it goes on with the bot's answer. Raises StoreError."""
        context, asked = self._context, incoming(message, self._context.address)

        async def who() -> Actor:
            return Actor(PLATFORM, WORKSPACE, message.author)  # only members are in the rooms

        async def shared() -> bool:
            thread = await context.board.heard(message.room, message.root, limit=LOOK)
            return any(each.kind == "text" and each.author != message.author for each in thread)

        found = not calls_somebody(message.text) and await is_follow_up(context.bot, asked, actor=who, shared=shared)
        if found:
            await self.ask(message)
        return found

    async def edit(self, before: RoomMessage, after: RoomMessage) -> None:
        """Gives a message new words: it is answered in those, or, if it mentions the bot no longer and has no answer
        yet, not at all. Raises StoreError."""
        self._unclaimed.pop(after.id, None)
        was, named = addressed(before.text), addressed(after.text)
        asked, never = incoming(after, self._context.address), not (was or named)
        if rest := await self._questions.edit(asked, addressed=named or never, known=never):
            await rest
        if was and not named:
            await self._tidy(after)

    async def delete(self, message: RoomMessage) -> None:
        """Takes a message back, and with it what the bot has said to it. Raises StoreError."""
        self._unclaimed.pop(message.id, None)
        if rest := await self._questions.delete(incoming(message, self._context.address)):
            await rest

    async def resume(self) -> None:
        """Take up what this process, or one before it, has left. Raises StoreError."""
        now = asyncio.get_running_loop().time()
        if self._looked_up is None or (self._context.board.shared and now - self._looked_up >= LOOK_AGAIN):
            found = await self._context.board.written_since(datetime.now(UTC) - UNCLAIMED, UNCLAIMED_MOST)
            self._unclaimed.update((each.id, each) for each in found if addressed(each.text))
            self._looked_up = now
        await self._questions.resume()
        for message in list(self._unclaimed.values()):
            await self.ask(message)

    async def _tidy(self, question: RoomMessage) -> None:
        """Nobody waits for it any longer: what an attempt that was given back has shown of it goes."""
        board = self._context.board
        thread = await board.heard(question.room, question.root, limit=100)
        ended = {each.about for each in thread if each.kind == "answer"}
        steps = (each for each in thread if each.kind == "steps" and each.data["asked"] == question.id)
        await board.drop([each for each in steps if each.about not in ended])


def _view(context: WebContext, claimed: Claimed, preferences: Preferences) -> WebThread:
    async def answered() -> None:
        asked = await context.board.written(int(claimed.message.message))
        await context.held.drop(asked.data.get("files", ()) if asked else ())

    return WebThread(
        context.board,
        claimed,
        steps=preferences.steps or "live",
        language=reply_language(claimed.message, context.language),
        answered=answered,
    )
