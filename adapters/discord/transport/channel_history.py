"""A channel of Discord as it is read back: the threads in it, each with the message that it was begun on; of a forum,
its posts.

Source: discord.com/developers/docs/resources/channel (active and archived threads); sources.md §1.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

import discord

from adapters.discord.context import DiscordContext
from adapters.discord.events import CHECKS, PLATFORM, by_a_person, link, name_of, readable, spot
from adapters.discord.transport.message_links import channel_at, place_at, root_of, thread_at
from adapters.discord.transport.outbox import post_once
from adapters.port import Adapter, as_lookup
from adapters.shared.channel_history import PlatformHistory
from bot.sources.base import SourceError
from bot.sources.channel import Said, Thread
from bot.types import Actor, Audience, Card, Place, Recipient
from retrieval.i18n import Text

PAGE = 50  # archived threads a call
WithThreads = discord.TextChannel | discord.ForumChannel
Find = Callable[[str], Awaitable[Recipient]]

_NO_CONTENT = Text(
    en="Discord shows me only messages that mention me, so I cannot read this channel. Turn on the Message Content "
    "Intent of the application (Developer Portal › Bot) and restart me.",
    ja="Discord の設定により、メンションのないメッセージを読めません。Developer Portal の Bot ページで "
    "Message Content Intent を有効にして再起動してください。",
)
_NO_THREADS = Text(
    en="Only text channels and forums can be followed on Discord.",
    ja="Discord で同期できるのは、テキストチャンネルとフォーラムだけです。",
)


class DiscordHistory(PlatformHistory):
    """Of text channels and forums, whose posts are threads without a message in the channel."""

    gone = ("10003", "type")  # unknown channel; a message without a thread

    def __init__(self, adapter: Adapter, find: Find, context: DiscordContext, heard: Callable[[], str]) -> None:
        """`find`: as the adapter's, but of forums, too."""
        super().__init__(adapter, heard)
        self._find = find
        self._context = context

    async def find(self, recipient: str) -> Recipient:
        if not self._context.client.intents.message_content:
            raise SourceError(_NO_CONTENT)
        found = await self._find(recipient)
        if not isinstance(self._context.client.get_channel(int(found.place.channel)), WithThreads):
            raise SourceError(_NO_THREADS)
        return found

    async def readers(self, channel: str) -> tuple[Place, Audience]:
        audience = await self._context.places.audience(channel)
        where = spot(self._context.client.get_channel(int(channel)))
        return where.place if where else Place(PLATFORM, _NOWHERE, channel), audience

    async def announce(self, channel: str, card: Card, *, about: str) -> None:
        """In a forum by a post of its own."""
        forum = self._context.client.get_channel(int(channel))
        if not isinstance(forum, discord.ForumChannel):
            await super().announce(channel, card, about=about)
            return
        with as_lookup():
            await post_once(self._context, forum, card, about)

    def link(self, place: Place, root: str) -> str:
        return link(place.workspace, root, root)

    async def _listed(self, channel: str, since: datetime | None, at: str | None) -> tuple[Sequence[str], str | None]:
        """Archived threads come the latest first, after those that are not archived."""
        rest = self._context.rest
        place = await place_at(rest, self._context.client, int(channel))
        if not isinstance(place, WithThreads):
            raise SourceError(_NO_THREADS)
        if at is None:
            active = await rest.call("read", channel, place.guild.active_threads)
            ours = (one for one in active if one.parent_id == place.id and not one.is_private())
            return [str(one.id) for one in ours], _NOW
        before = None if at == _NOW else datetime.fromisoformat(at)

        async def read() -> list[discord.Thread]:
            return [one async for one in place.archived_threads(limit=PAGE, before=before)]

        found = await rest.call("read", channel, read)
        fresh = [one for one in found if since is None or one.archive_timestamp >= since]
        more = len(found) == PAGE and len(fresh) == PAGE
        return [str(one.id) for one in fresh], found[-1].archive_timestamp.isoformat() if more else None

    async def _thread(self, place: Place, root: str) -> Thread | None:
        rest = self._context.rest
        thread = await channel_at(rest, self._context.client, int(root))
        if not isinstance(thread, discord.Thread) or str(thread.parent_id) != place.channel or thread.is_private():
            return None
        begun = await root_of(rest, thread)
        found = await thread_at(rest, thread)
        said = [await self._said(place, one) for one in ([begun] if begun is not None else []) + found]
        return Thread(root, tuple(said), thread.name if isinstance(thread.parent, discord.ForumChannel) else "")

    async def _said(self, place: Place, one: discord.Message) -> Said:
        marked: dict[str, None] = {}
        for reaction in one.reactions:
            if str(reaction.emoji) in CHECKS:

                async def users(reaction: discord.Reaction = reaction) -> list[str]:
                    return [str(user.id) async for user in reaction.users() if not user.bot]

                marked |= dict.fromkeys(await self._context.rest.call("read", str(one.channel.id), users))
        checks = tuple([await self._context.places.actor_at(place, who) for who in marked])
        if not by_a_person(one):
            return Said(str(one.id), one.created_at, name_of(one.author), "", None, checks)
        author = Actor(PLATFORM, place.workspace, str(one.author.id))  # whoever writes in a server was a member of it
        text = readable(one, self._context.me)
        return Said(str(one.id), one.created_at, name_of(one.author), text, author, checks)


_NOWHERE = "unknown"  # the workspace of a channel that is not there
_NOW = "archived"  # where the listing goes on once the active ones are told
