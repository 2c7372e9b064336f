"""Interactions in Discord are answered in time: within a second with what came of it, or deferred; and when its token
is over, by a direct message. However often Discord sends a gesture, it is done once.

Source: reliability.md R3 and R34; discord.com/developers/docs/interactions/receiving-and-responding (3 s for the first
answer, 15 min for the token).
"""

import asyncio
import logging
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import aiohttp
import discord

from adapters.discord.context import DiscordContext
from adapters.discord.events import DIRECT, PLATFORM, Spot, spot
from adapters.discord.rendering.components import Button
from adapters.discord.rendering.markdown import escaped
from adapters.discord.transport.errors import NETWORK
from adapters.discord.transport.outbox import say_alone
from adapters.port import PostError
from bot.errors import StoreError
from bot.types import Place
from bot.waiting import beside
from retrieval.i18n import Language, Text
from retrieval.types import RAGToolError

log = logging.getLogger(__name__)

ANSWER_SECONDS = 0.8  # after that it is deferred
MODAL_SECONDS = 1.5  # for what goes into a modal, which cannot be deferred
GESTURES = 2_000  # that are remembered

NOBODY = discord.AllowedMentions.none()

_ALREADY_ANSWERED = 40060
_FAILED = Text(
    en="Sorry, something went wrong on my side. Please try again.",
    ja="申し訳ありません。こちらの問題で処理できませんでした。もう一度お試しください。",
)

Gesture = discord.Interaction[Any]
Told = str | tuple[str, discord.ui.View]
Work = Callable[[], Awaitable[Sequence[Told]]]
"""What a gesture asks for; what its author is told about it, each at most 2,000 characters, harmless already, and maybe
with something to press under it. Nothing is said only of a button that was pressed."""
Form = Callable[[], Awaitable[discord.ui.Modal | str]]
"""A modal, or why there is none."""


class Interactions:
    """Does what gestures ask for, in tasks of the context. `matters`: as `tell` has it."""

    def __init__(self, context: DiscordContext, *, matters: bool = True) -> None:
        self._context = context
        self._matters = matters
        self._seen: OrderedDict[int, None] = OrderedDict()

    def do(self, gesture: Gesture, work: Work) -> None:
        """Do it, and tell whoever did it, and nobody else. A gesture that comes again is left alone."""
        if self.first(gesture):
            self._context.tasks.start(self._answer(gesture, work), "discord-gesture")

    def first(self, gesture: Gesture) -> bool:
        """Whether this is the first time that it comes."""
        if gesture.id in self._seen:
            return False
        if len(self._seen) >= GESTURES:
            self._seen.popitem(last=False)
        self._seen[gesture.id] = None
        return True

    def ask(self, gesture: Gesture, form: Form) -> None:
        """Open a modal, or say why there is none. Past MODAL_SECONDS nothing can be asked any more, only said."""
        if self.first(gesture):
            self._context.tasks.start(self._open(gesture, form), "discord-modal")

    async def _open(self, gesture: Gesture, form: Form) -> None:
        language = self._context.language_of(gesture.locale)
        try:
            async with asyncio.timeout(MODAL_SECONDS):
                found = await form()
        except TimeoutError:
            found = _FAILED.to(language)
        except (StoreError, RAGToolError) as error:
            found = escaped(error.text(language))
        except Exception:
            log.exception("a gesture failed")
            found = _FAILED.to(language)
        if isinstance(found, str):
            await tell(self._context, gesture, (found,), matters=self._matters)
            return
        found.stop()  # what comes of it is known by its id, also after a restart: discord.py need not wait for it
        try:
            await gesture.response.send_modal(found)
        except NETWORK as error:
            log.warning("a modal could not be opened: %s", _code(error))

    async def _answer(self, gesture: Gesture, work: Work) -> None:
        async with beside(_said(work, self._context.language_of(gesture.locale)), "discord-work") as made:
            await asyncio.wait({made}, timeout=ANSWER_SECONDS)
            if not made.done():
                await _defer(gesture)
            texts = await made
            if not texts and not gesture.response.is_done():
                await _defer(gesture)
            await tell(self._context, gesture, texts, matters=self._matters)


def pressable(template: str, pressed: Callable[[Gesture, re.Match[str]], None]) -> type[discord.ui.DynamicItem[Button]]:
    """The buttons whose ids are of this form, under all messages that were ever posted."""

    class Pressable(discord.ui.DynamicItem[Button], template=template):
        def __init__(self, item: Button, found: re.Match[str]) -> None:
            super().__init__(item)
            self.found = found

        @classmethod
        async def from_custom_id(cls, gesture: Gesture, item: Any, match: re.Match[str], /) -> "Pressable":
            return cls(item, match)

        async def callback(self, gesture: Gesture) -> None:
            pressed(gesture, self.found)

    return Pressable


async def _said(work: Work, language: Language) -> Sequence[Told]:
    try:
        return await work()
    except (StoreError, RAGToolError) as error:
        return (escaped(error.text(language)),)
    except Exception:
        log.exception("a gesture failed")
        return (_FAILED.to(language),)


async def _defer(gesture: Gesture) -> None:
    """Say that it was heard. Too late or answered already: the work goes on, and is told as far as it can be."""
    button = gesture.type is discord.InteractionType.component  # of which nothing needs to be said
    try:
        await gesture.response.defer(ephemeral=not button, thinking=not button)
    except NETWORK as error:
        log.warning("a gesture could not be deferred: %s", _code(error))


def spot_of(gesture: Gesture) -> Spot:
    """The spot where an interaction was made."""
    workspace = DIRECT if gesture.guild_id is None else str(gesture.guild_id)
    return spot(gesture.channel) or Spot(Place(PLATFORM, workspace, str(gesture.channel_id)), None)


async def tell(context: DiscordContext, gesture: Gesture, said: Sequence[Told], *, matters: bool = True) -> None:
    """Say something to whoever did this, and nobody else; if it `matters`, in a direct message where it cannot be said
    at its place any more. Never raises."""
    for number, one in enumerate(said):
        text, view = (one, discord.utils.MISSING) if isinstance(one, str) else one
        if view:
            view.stop()  # what comes of it is known by its id, as with a modal
        try:
            await _whisper(gesture, text, view)
        except NETWORK as error:
            log.info("a gesture cannot be answered where it was made: %s", _code(error))
            if matters:
                await _say(context, gesture, number, text)


async def _whisper(gesture: Gesture, text: str, view: discord.ui.View) -> None:
    """Raises what is in NETWORK."""
    if not gesture.response.is_done() and await _respond(gesture, text, view):
        return
    await gesture.followup.send(
        text, view=view, ephemeral=True, suppress_embeds=True, allowed_mentions=NOBODY, wait=True
    )


async def _respond(gesture: Gesture, text: str, view: discord.ui.View) -> bool:
    """The first answer; False: there is one already. An answer that got lost on its way is given once more, as it is
    then refused if it had arrived. Raises what is in NETWORK."""
    for lost in (False, True):
        try:
            await gesture.response.send_message(
                text, view=view, ephemeral=True, suppress_embeds=True, allowed_mentions=NOBODY
            )
            return True
        except discord.HTTPException as error:
            if error.code != _ALREADY_ANSWERED:
                raise
            return lost
        except (aiohttp.ClientError, OSError):
            if lost:
                raise
    raise AssertionError("the second try returns or raises")


async def _say(context: DiscordContext, gesture: Gesture, number: int, text: str) -> None:
    try:
        await say_alone(context, f"gesture:{gesture.id}", str(gesture.user.id), text, part=number)
    except (PostError, StoreError):
        log.warning("somebody could not be told what came of a gesture", exc_info=True)


def _code(error: Exception) -> str:
    return str(error.code) if isinstance(error, discord.HTTPException) else type(error).__name__
