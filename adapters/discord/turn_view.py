"""One turn on Discord: a sign of life at once, the steps, then the answer as its own messages with its buttons.

Source: product.md §1; reliability.md R6, R10, R35 and R51; field.md #1-#4 and #14.
"""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import discord
from discord.ext import commands

from adapters.discord.context import DiscordContext
from adapters.discord.interactions import Gesture, Interactions, pressable, spot_of
from adapters.discord.rendering.components import STEPS_BUTTON, feedback
from adapters.discord.rendering.markdown import messages
from adapters.discord.rendering.steps import ROOM, Steps
from adapters.discord.transport.api import DiscordApi
from adapters.discord.transport.errors import DiscordError, RefusedError, UnreachableError
from adapters.discord.transport.forum_tags import tag
from adapters.discord.transport.turn_messages import TurnMessages
from adapters.markdown.events import EMPTY, answer_markdown
from adapters.port import ThreadView
from agent.events import Answered, Step
from bot.bot import Bot
from bot.errors import StoreError
from bot.types import Claimed, Post, StepsShown, has_answer, taken_back
from bot.waiting import Sleep, beside, stopped
from retrieval.i18n import Language, Text

log = logging.getLogger(__name__)

SIGN_SECONDS = 0.7  # for the thread and its first sign of life, before there is one in the channel
TYPING_SECONDS = 8.0  # Discord shows it for ten
STILL_SECONDS = 16.0  # between two signs of life in words, where no typing shows
IN_VIEW_SECONDS = 3.0  # that an answer waits for its steps to be there before it
FINISH_SECONDS = 60.0  # for the last edits under load; nobody waits for them
ABANDON_SECONDS = 3.0

_NO_STEPS = Text(en="These steps are not kept any more.", ja="この途中経過はすでに残っていません。")
_REFUSED = Text(
    en="I have an answer, but this server does not accept its words (Discord's code {code}). Ask its moderators, or "
    "ask me in a direct message.",
    ja="回答はできましたが、このサーバーでは本文を投稿できませんでした（Discord のコード {code}）。"
    "モデレーターに確認するか、ダイレクトメッセージで質問してください。",
)


class DiscordThread(ThreadView):
    """A turn's view: see `adapters.port.TurnView`."""

    def __init__(
        self,
        client: discord.Client,
        rest: DiscordApi,
        bot: Bot,
        claimed: Claimed,
        *,
        steps: StepsShown,
        language: Language,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._client = client
        self._thread = claimed.message.thread
        self._rest = rest
        self._bot = bot
        self._turn = claimed.id
        self._edited = claimed.edits > 0
        self._perhaps_reworded = claimed.retaken and not claimed.answered
        self._language = language
        self._clock = clock
        self._sleep = sleep
        self._saying = TurnMessages(client, rest, bot, claimed, language)
        self._steps = Steps(self._saying, steps=steps, language=language, turn=claimed.id, sleep=sleep)
        self._alive: asyncio.Task[None] | None = None
        self._answered = False

    async def begin(self) -> None:
        """Show that the question has arrived, unless its answer is only shown again; returns before that has reached
        Discord."""
        earlier: list[Post] = []
        try:
            earlier = await self._bot.outbox.of(self._turn)
        except StoreError as error:
            log.warning("what turn %s has posted is not known: %s", self._turn, error)
        self._saying.resume(earlier)
        self._steps.resume(earlier)
        if self._edited or not has_answer(earlier):
            self._alive = asyncio.create_task(self._live(), name="discord-typing")

    async def step(self, event: Step) -> None:
        self._steps.add(event)

    async def answer(self, answered: Answered) -> None:
        """Post the answer under the steps, or put it in the place of what an earlier attempt has posted."""
        await self._quiet()
        texts = answer_texts(answered, self._language)
        await self._steps.make_way(len(texts), IN_VIEW_SECONDS, took=answered.seconds)
        count = len(texts)
        for number, text in enumerate(texts):
            last = number == len(texts) - 1 and answered.outcome in ("answered", "unknown")
            turn = answered.turn or self._turn
            buttons = feedback(turn, self._language, person=answered.person) if last else ()
            try:
                await self._saying.put("answer", number, text, buttons=buttons)
            except RefusedError as error:  # such as by a server's own rules for what may be said there
                log.warning("the words of an answer are refused in the thread of turn %s: %s", self._turn, error)
                await self._saying.put("answer", number, _REFUSED.to(self._language, code=error.code))
                count = number + 1
                break
        for post in self._saying.parts("answer")[count:]:
            try:
                await self._saying.delete(post)
            except DiscordError as error:
                log.info("a part too many of an answer stays: %s", error)
        await self._delete(taken_back(self._saying.parts("notice")))
        self._answered = True
        if answered.outcome in ("answered", "unknown"):
            sure = answered.outcome == "answered" and not answered.unsure
            await tag(self._client, self._rest, self._thread, answered=sure)

    async def close(self) -> None:
        """Nothing of this turn goes on after this. Without an answer the steps stay for whoever takes the turn up."""
        await self._quiet()
        await (self._steps.finish(FINISH_SECONDS) if self._answered else self._steps.abandon(ABANDON_SECONDS))
        if self._answered and self._perhaps_reworded:
            with suppress(UnreachableError):
                await self._unname(unless_asked=True)

    async def remove(self) -> None:
        """See `adapters.port.TurnView.remove`. A thread stays, as others may have written there, but not its name.
        Raises StoreError."""
        self._saying.resume(await self._bot.outbox.of(self._turn))
        await self._delete([post for kind in ("steps", "answer", "notice") for post in self._saying.parts(kind)])
        await self._unname()

    async def _unname(self, *, unless_asked: bool = False) -> None:
        try:
            await self._saying.unname(unless_asked=unless_asked)
        except UnreachableError:
            raise
        except DiscordError as error:
            log.warning("the thread of turn %s keeps its name: %s", self._turn, error)

    async def _delete(self, posts: Sequence[Post]) -> None:
        for post in posts:
            try:
                await self._saying.delete(post)
            except UnreachableError:
                raise
            except DiscordError as error:
                log.warning("a message of turn %s stays: %s", self._turn, error)

    # -- signs of life -----------------------------------------------------------------------------------------------

    async def _live(self) -> None:
        since = self._clock()
        async with beside(self._typing()) as first:
            done, _ = await asyncio.wait({first}, timeout=0 if self._rest.busy else SIGN_SECONDS)
            if not done:  # the thread is not there yet
                await self._typing_in(self._saying.parent)
            if not await first:
                self._steps.wait(0)
        said = since
        while True:
            await self._sleep(TYPING_SECONDS)
            if not await self._typing() and self._clock() - said >= STILL_SECONDS:
                said = self._clock()
                self._steps.wait(round(said - since))

    async def _typing(self) -> bool:
        try:
            await self._saying.typing()
        except (DiscordError, StoreError) as error:
            log.info("no typing shows for turn %s: %s", self._turn, error)
            return False
        return True

    async def _typing_in(self, channel: str) -> None:
        try:
            await self._rest.typing(channel, first=True)
        except DiscordError as error:
            log.info("no typing shows for turn %s: %s", self._turn, error)

    async def _quiet(self) -> None:
        if self._alive is not None:
            await stopped(self._alive)
            self._alive = None


def register(client: commands.Bot, context: DiscordContext) -> None:
    """The button behind which the steps of every answer that was ever posted are."""
    gestures = Interactions(context)

    def pressed(gesture: Gesture, found: re.Match[str]) -> None:
        gestures.do(gesture, partial(_steps_of, context, gesture))

    client.add_dynamic_items(pressable(STEPS_BUTTON, pressed))


async def _steps_of(context: DiscordContext, gesture: Gesture) -> Sequence[str]:
    """The steps behind the line under which the button was pressed."""
    message = str(gesture.message.id) if gesture.message else ""
    post = await context.bot.outbox.find(spot_of(gesture).place, message)
    if post is None or not post.data.get("lines"):
        return (_NO_STEPS.to(context.language_of(gesture.locale)),)
    return packed(post.data["lines"], ROOM)


def packed(lines: Sequence[str], room: int) -> list[str]:
    """Lines in as few texts of at most `room` characters as they take in their order."""
    texts = [""]
    for line in lines:
        if texts[-1] and len(texts[-1]) + 1 + len(line) > room:
            texts.append("")
        texts[-1] += f"\n{line}" if texts[-1] else line
    return texts


def answer_texts(answered: Answered, language: Language) -> list[str]:
    """The answer with its sources as the texts of Discord's messages, at least one."""
    return messages(answer_markdown(answered, language)) or [EMPTY.to(language)]
