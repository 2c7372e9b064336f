"""A channel of Discord as it is read back: the threads in it, each with the message that it was begun on.

Source: discord.com/developers/docs/resources/channel (active and archived threads); sources.md §1.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar

import discord

from adapters.discord.context import DiscordContext
from adapters.discord.events import CHECKS, PLATFORM, by_a_person, link, readable
from adapters.discord.transport.errors import GoneError
from adapters.discord.transport.message_links import channel_at, root_of, thread_at
from adapters.port import Adapter, PostError
from bot.sources.base import SourceError
from bot.sources.channel import Said, Thread
from bot.types import Actor, Card, Place, Recipient
from retrieval.i18n import Text

PAGE = 50  # archived threads a call
T = TypeVar("T")

_NO_CONTENT = Text(
    en="Discord shows me only messages that mention me, so I cannot read this channel. Turn on the Message Content "
    "Intent of the application (Developer Portal › Bot) and restart me.",
    ja="Discord の設定により、メンションのないメッセージを読めません。Developer Portal の Bot ページで "
    "Message Content Intent を有効にして再起動してください。",
)
_NO_THREADS = Text(
    en="Only text channels can be followed on Discord.", ja="Discord で同期できるのはテキストチャンネルだけです。"
)


class DiscordHistory:
    """See `bot.sources.channel.ChannelHistory`. `heard`: as there."""

    def __init__(self, adapter: Adapter, context: DiscordContext, heard: Callable[[], str]) -> None:
        self._adapter = adapter
        self._context = context
        self._heard = heard

    @property
    def heard(self) -> str:
        return self._heard()

    async def find(self, recipient: str) -> Recipient:
        if not self._context.client.intents.message_content:
            raise SourceError(_NO_CONTENT)
        found = await self._adapter.find(recipient)
        if not isinstance(self._context.client.get_channel(int(found.place.channel)), discord.TextChannel):
            raise SourceError(_NO_THREADS)
        return found

    async def announce(self, channel: str, card: Card, *, about: str) -> None:
        await self._adapter.announce(channel, card, about=about)

    def link(self, place: Place, root: str) -> str:
        return link(place.workspace, root, root)

    async def listed(self, channel: str, since: datetime | None, at: str | None) -> tuple[Sequence[str], str | None]:
        """Archived threads come the latest first, after those that are not archived."""
        try:
            return await self._listed(channel, since, at)
        except GoneError as error:
            raise LookupError(error.code) from None

    async def _listed(self, channel: str, since: datetime | None, at: str | None) -> tuple[Sequence[str], str | None]:
        rest, client = self._context.rest, self._context.client
        place = await self._told(channel_at(rest, client, int(channel)))
        if not isinstance(place, discord.TextChannel):
            raise SourceError(_NO_THREADS)
        if at is None:
            active = await self._told(rest.call("read", channel, place.guild.active_threads))
            ours = (one for one in active if one.parent_id == place.id and not one.is_private())
            return [str(one.id) for one in ours], _NOW
        before = None if at == _NOW else datetime.fromisoformat(at)

        async def read() -> list[discord.Thread]:
            return [one async for one in place.archived_threads(limit=PAGE, before=before)]

        found = await self._told(rest.call("read", channel, read))
        fresh = [one for one in found if since is None or one.archive_timestamp >= since]
        more = len(found) == PAGE and len(fresh) == PAGE
        return [str(one.id) for one in fresh], found[-1].archive_timestamp.isoformat() if more else None

    async def thread(self, place: Place, root: str) -> Thread | None:
        rest, client = self._context.rest, self._context.client
        try:
            thread = await self._told(channel_at(rest, client, int(root)))
            if not isinstance(thread, discord.Thread) or str(thread.parent_id) != place.channel or thread.is_private():
                return None
            begun = await self._told(root_of(rest, thread))
            found = await self._told(thread_at(rest, thread))
        except GoneError as error:
            if error.code in _THREAD_GONE:
                return None
            raise ConnectionError(error.code) from None
        first = [begun] if begun is not None else []
        return Thread(root, tuple([await self._said(place, one) for one in (*first, *found)]))

    async def _said(self, place: Place, one: discord.Message) -> Said:
        marked: dict[str, None] = {}
        for reaction in one.reactions:
            if str(reaction.emoji) in CHECKS:

                async def users(reaction: discord.Reaction = reaction) -> list[str]:
                    return [str(user.id) async for user in reaction.users() if not user.bot]

                marked |= dict.fromkeys(await self._told(self._context.rest.call("read", str(one.channel.id), users)))
        checks = tuple([await self._context.places.actor_at(place, who) for who in marked])
        if not by_a_person(one):
            return Said(str(one.id), one.created_at, one.author.display_name, "", None, checks)
        author = Actor(PLATFORM, place.workspace, str(one.author.id))  # whoever writes in a server was a member of it
        text = readable(one, self._context.me)
        return Said(str(one.id), one.created_at, one.author.display_name, text, author, checks)

    @staticmethod
    async def _told(call: Awaitable[T]) -> T:
        """Raises GoneError, ConnectionError."""
        try:
            return await call
        except GoneError:
            raise
        except PostError as error:
            raise ConnectionError(error.code) from None


_NOW = "archived"  # where the listing goes on once the active ones are told
_THREAD_GONE = ("10003", "type")  # unknown channel; a message without a thread
