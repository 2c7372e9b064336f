"""Context that a question's event does not carry: who reads its place, what was said around it before, the files that
came along.

Source: reliability.md R13, R33 and R41. Without the Message Content Intent what others said is not there.
"""

import asyncio
import logging
from dataclasses import replace
from functools import partial

import discord

from adapters.discord import files
from adapters.discord.context import DiscordContext
from adapters.discord.events import DIRECT, SPOKEN, Spot, addressed, name_of, readable, written_in
from adapters.discord.transport.forum_tags import post_of
from adapters.port import PostError
from adapters.shared.attachments import Attached, fetched
from agent.conversation import Overheard
from bot.texts import reply_language
from bot.types import Audience, Incoming
from retrieval.loaders.loader import ParsingLimits

log = logging.getLogger(__name__)

HEARD = 30  # messages of a thread that are context
LOOKUP_SECONDS = 8.0  # for the thread; without it the question is answered by itself


class ThreadContext:
    """Looks around a question, once a turn."""

    def __init__(self, context: DiscordContext) -> None:
        self._context = context

    async def readers(self, message: Incoming, stranger: bool) -> Audience:
        return await self._context.places.audience(message.place.channel, message.author)

    async def __call__(self, message: Incoming, stranger: bool) -> Incoming:
        """The question with all that is known of it now; what Discord does not say stays as it is."""
        context = self._context
        audience, (own, heard) = await asyncio.gather(self.readers(message, stranger), self._around(message))
        attached = own.attachments if own else []
        if own and message.place.workspace == DIRECT:  # elsewhere others read, who may not read where it comes from
            attached = [*attached, *(file for one in own.message_snapshots for file in one.attachments)]
        return replace(
            message,
            direct=message.place.workspace == DIRECT,
            audience=audience,
            overheard=(
                *self._title(message, own),
                *(
                    Overheard(name_of(one.author), text)
                    for one in heard[-HEARD:]
                    if (text := readable(one, context.me)) and not self._ours(one, message)
                ),
            ),
            files=await fetched(
                [_attached(one, message.link) for one in attached], reply_language(message, context.language)
            ),
        )

    def _title(self, message: Incoming, own: discord.Message | None) -> tuple[Overheard, ...]:
        """The title of a forum's post, which whoever wrote it has said first."""
        post = post_of(self._context.client, message.thread)
        if post is None:
            return ()
        author = name_of(own.author) if own is not None and message.message == message.thread else ""
        return (Overheard(author or (name_of(post.owner) if post.owner else ""), post.name),)

    async def shared(self, message: Incoming) -> bool:
        """Whether somebody else than its author has written in its thread, bots aside. Raises PostError."""
        channel = self._channel(message.thread, message.place.workspace)
        before = discord.Object(int(message.message))
        found = await self._context.rest.call("read", message.thread, lambda: _newest(channel, before))
        spoken = (one for one in found if one.type in SPOKEN and not one.author.bot)
        return any(str(one.author.id) != message.author for one in spoken)

    async def _around(self, message: Incoming) -> tuple[discord.Message | None, list[discord.Message]]:
        """The question itself, whose files are not in what was claimed, and what stands before it."""
        channel = self._channel(written_in(message), message.place.workspace)
        own = next((one for one in self._context.client.cached_messages if str(one.id) == message.message), None)
        heard: list[discord.Message] = []
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                if own is None:
                    own = await self._read(channel, message.message)
                if message.place.workspace != DIRECT:
                    heard = await self._before(channel, message, own)
        except (PostError, TimeoutError) as error:
            log.info("what stands around a question could not be read (%s)", type(error).__name__)
        return own, heard

    async def _before(
        self, channel: discord.PartialMessageable, message: Incoming, own: discord.Message
    ) -> list[discord.Message]:
        """The thread so far, and the message that the question replies to."""
        found: list[discord.Message] = []
        if str(channel.id) == message.thread:
            before = discord.Object(int(message.message))
            found = await self._context.rest.call("read", str(channel.id), lambda: _newest(channel, before))
        resolved = own.reference.resolved if own.reference else None
        if isinstance(resolved, discord.Message) and all(one.id != resolved.id for one in found):
            found = [*found, resolved]
        begun = (
            one.reference.resolved if one.type is discord.MessageType.thread_starter_message and one.reference else one
            for one in found
        )
        return [one for one in begun if isinstance(one, discord.Message) and one.type in SPOKEN]

    def _channel(self, channel: str, workspace: str) -> discord.PartialMessageable:
        guild = None if workspace == DIRECT else int(workspace)
        return self._context.client.get_partial_messageable(int(channel), guild_id=guild)

    async def _read(self, channel: discord.PartialMessageable, message: str) -> discord.Message:
        return await self._context.rest.call("read", str(channel.id), lambda: channel.fetch_message(int(message)))

    def _ours(self, one: discord.Message, message: Incoming) -> bool:
        """The bot's own words, and what was said to it: those are the conversation already."""
        me = self._context.me
        return one.author.id == me or addressed(one, Spot(message.place, message.thread), me)


async def _newest(channel: discord.PartialMessageable, before: discord.Object) -> list[discord.Message]:
    """Oldest first."""
    return [one async for one in channel.history(limit=2 * HEARD, before=before)][::-1]


def _attached(one: discord.Attachment, link: str | None) -> Attached:
    return Attached(one.filename, link, partial(files.download, one.url, ParsingLimits().file))
