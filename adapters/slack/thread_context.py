"""Context that a question's event does not carry: who reads its place, what was said in its thread before, the files
that came along.

Source: reliability.md R13 and R30; platforms.md §2 (an app_mention carries no files).
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from adapters.shared.attachments import Attached, fetched
from adapters.slack import files
from adapters.slack.context import SlackContext
from adapters.slack.events import forwarded, mentions, readable
from adapters.slack.transport.errors import SlackError
from agent.conversation import Overheard
from bot.texts import reply_language
from bot.types import Audience, Incoming
from retrieval.loaders.loader import ParsingLimits

log = logging.getLogger(__name__)

HEARD = 30  # messages of a thread that are context
LOOKUP_SECONDS = 8.0  # for the thread; without it the question is answered by itself
TWIN_SECONDS = 0.1  # in which the other event of one mention comes
EVENTS = 1_000  # of which it is remembered whether anything came along
ROOT_SECONDS = 3.0  # for a question that begins one: it has no thread yet, at most what came along


class ThreadContext:
    """Looks around a question, once a turn."""

    def __init__(self, context: SlackContext) -> None:
        self._context = context
        self._came: dict[tuple[str, str], bool] = {}

    async def readers(self, message: Incoming, stranger: bool) -> Audience:
        return await self._context.places.audience(message.place.channel, message.author, stranger=stranger)

    async def __call__(self, message: Incoming, stranger: bool) -> Incoming:
        """The question with all that is known of it now; what Slack does not say stays as it is."""
        context = self._context
        audience, thread = await asyncio.gather(self.readers(message, stranger), self._thread(message))
        heard = [one for one in thread if str(one.get("ts") or "") < message.message and not self._ours(one)][-HEARD:]
        own = [one for one in thread if one.get("ts") == message.message]
        with_it = [each for one in own for each in forwarded({**one, "channel": message.place.channel})]
        came = [file for one in (*own, *with_it) for file in one.get("files") or ()]
        attached = await files.named(context.slack, came)
        texts = [readable(str(one.get("text") or ""), context.slack.me.user) for one in with_it]
        aside = [one for one, text in zip(with_it, texts, strict=True) if text not in message.text]
        text, overheard = await asyncio.gather(
            context.places.named(message.text), asyncio.gather(*map(self._overheard, (*heard, *aside)))
        )
        return replace(
            message,
            text=text,
            direct=message.place.channel.startswith("D") and message.thread == message.message,
            audience=audience,
            link=context.slack.permalink(message.place.channel, message.message, message.thread),
            overheard=tuple(overheard),
            files=await fetched([*map(self._attached, attached)], reply_language(message, context.language)),
        )

    async def shared(self, message: Incoming) -> bool:
        """Whether somebody else than its author has written in its thread, bots aside. Raises SlackError."""
        thread = await self._context.slack.replies(message.place.channel, message.thread, limit=200)
        people = {one.get("user") for one in thread if not one.get("bot_id")} - {self._context.slack.me.user}
        return bool(people - {message.author})

    async def _thread(self, message: Incoming) -> Sequence[Mapping[str, Any]]:
        """The thread with the question itself, whose event carries no files; once a turn (R30)."""
        key = (message.place.channel, message.message)
        if message.thread == message.message:
            if key not in self._came:
                await asyncio.sleep(TWIN_SECONDS)
            if not self._came.get(key, True):  # no thread yet, and no files: one call less, of few a minute
                return ()
        try:
            async with asyncio.timeout(ROOT_SECONDS if message.thread == message.message else LOOKUP_SECONDS):
                return await self._context.slack.replies(message.place.channel, message.thread, limit=200)
        except (SlackError, TimeoutError) as error:
            log.info("a thread could not be read (%s): the question stands by itself", type(error).__name__)
            return ()

    def came(self, event: Mapping[str, Any]) -> None:
        """A `message` event says whether anything came with it; the `app_mention` of the same message does not."""
        channel, ts = event.get("channel"), event.get("ts")
        if event.get("type") == "message" and isinstance(channel, str) and isinstance(ts, str):
            self._came[channel, ts] = bool(event.get("files") or event.get("attachments"))
            if len(self._came) > EVENTS:
                del self._came[next(iter(self._came))]

    def _ours(self, message: Mapping[str, Any]) -> bool:
        """The bot's own words, and what was said to it: those are the conversation already."""
        me = self._context.slack.me
        own = message.get("user") == me.user or (me.bot_id and message.get("bot_id") == me.bot_id)
        return bool(own) or mentions(str(message.get("text") or ""), me.user)

    async def _overheard(self, message: Mapping[str, Any]) -> Overheard:
        author = str(message.get("user") or message.get("author_id") or "")
        name = (
            await self._context.places.name(author)
            if author
            else str(message.get("username") or message.get("author_name") or "bot")
        )
        return Overheard(name, await self._context.places.named(readable(str(message.get("text") or ""))))

    def _attached(self, file: Mapping[str, Any]) -> Attached:
        fetch = partial(files.download, self._context.slack, file, ParsingLimits().file)
        return Attached(_name(file), str(file.get("permalink") or "") or None, fetch)


def _name(file: Mapping[str, Any]) -> str:
    return str(file.get("name") or file.get("title") or file.get("id") or "file")
