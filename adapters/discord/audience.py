"""Readers of a place in Discord, and the role of a person there: from what Discord says of it, never from a text.
Fails closed.

The team are the members of its servers, but no guests, whom an invitation lets into a voice channel for as long as they
stay in it; within one, the rights of a channel decide. Source: product.md §3;
reliability.md R11, R13 and R14; discord-api-docs, topics/permissions.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Any

import discord

from adapters.discord.events import DIRECT, PLATFORM, VOCAL, name_of, reads
from adapters.discord.transport.api import DiscordApi
from adapters.discord.transport.errors import GoneError
from adapters.discord.transport.message_links import place_at
from adapters.port import PostError
from bot.types import OUTSIDERS, PRIVATE, PUBLIC, UNKNOWN, Actor, Audience, Place, Recipient, Role

log = logging.getLogger(__name__)


MEMBER_SECONDS = 60.0  # for which it is believed that somebody is a member (R14)
_REMEMBERED = 10_000


class Places:
    """`guilds`: whose members are the team; None: of the one server the bot is in, if that is the one it was in first.
    `whole`: set but while only a part of its servers is known."""

    def __init__(
        self,
        client: discord.Client,
        rest: DiscordApi,
        guilds: Collection[str] | None,
        whole: asyncio.Event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._clock = clock
        self._whole = whole
        self._rest = rest
        self._guilds = None if guilds is None else frozenset(map(int, guilds))
        self._first: str | None = None  # as `Homes.team` has it
        self._members: dict[tuple[int, int], tuple[float, discord.Member | None]] = {}

    def team(self) -> list[discord.Guild]:
        """The servers whose members are the team."""
        if self._guilds is None:
            only = self._only()
            return [only] if only is not None and self._first in (None, _named(only)) else []
        return [guild for guild in self._client.guilds if guild.id in self._guilds]

    def _only(self) -> discord.Guild | None:
        """The one server; None: there are others, told of or not, as where there are several shards."""
        here = self._client.guilds
        return here[0] if len(here) == 1 and self._client.shard_count in (None, 1) else None

    async def remember(self, first: Callable[[str | None], Awaitable[str | None]]) -> discord.Guild | None:
        """Keep the `first` server that is the only one as the team's, for good, where none is chosen: whoever else has
        invited the bot is not the team when it is put out of that one. Returned is an only server that is another one.
        Raises what `first` raises."""
        if self._guilds is not None:
            return None
        only = self._only()
        self._first = self._first or await first(None if only is None else _named(only))
        return only if only is not None and not self.team() else None

    async def audience(self, channel: str, author: str | None = None) -> Audience:
        """The readers of a place, by its channel; `author` writes there. Never raises."""
        try:
            found = await place_at(self._rest, self._client, int(channel))
            if isinstance(found, discord.DMChannel):
                person = found.recipient.id if found.recipient else int(author) if author else None
                return UNKNOWN if person is None else await self._of_direct(person)
        except (PostError, discord.ClientException, ValueError) as error:
            log.warning("who reads a channel could not be looked up: %s", type(error).__name__)
            return UNKNOWN
        return self._in_guild(found)

    async def actor(self, who: "discord.Interaction[Any] | discord.Member") -> Actor:
        """Somebody with what they may do where they did something; an outsider where that is not known, or of a place
        that they do not see any more, where a form was still open. Never raises."""
        if isinstance(who, discord.Member):
            role = _role(who, who.guild_permissions) if who.guild in self.team() else "outsider"
            return Actor(PLATFORM, str(who.guild.id), str(who.id), role)
        if who.guild_id is not None:
            ours = reads(who.channel, who.permissions) and any(guild.id == who.guild_id for guild in self.team())
            role = _role(who.user, who.permissions) if ours else "outsider"
            return Actor(PLATFORM, str(who.guild_id), str(who.user.id), role)
        return Actor(PLATFORM, DIRECT, str(who.user.id), await self._direct_role(who.user.id))

    async def actor_at(self, place: Place, user: str) -> Actor:
        """Somebody who wrote at a place. Never raises."""
        if place.workspace == DIRECT:
            return Actor(PLATFORM, DIRECT, user, await self._direct_role(int(user)))
        guild = next((guild for guild in self.team() if str(guild.id) == place.workspace), None)
        channel = guild.get_channel_or_thread(int(place.channel)) if guild else None
        role: Role = "outsider"
        try:
            member = await self._member(guild, int(user)) if guild else None
            if member is not None:
                role = _role(member, channel.permissions_for(member) if channel else discord.Permissions.none())
        except (PostError, discord.ClientException) as error:
            log.warning("who somebody is could not be looked up: %s", type(error).__name__)
        return Actor(PLATFORM, place.workspace, user, role)

    async def recipient(self, user: str) -> Recipient:
        """A member of the team's servers, to be written to alone. Raises LookupError for anybody else, PostError."""
        members = await self._memberships(int(user)) if user.isdecimal() else []
        if not members or members[0].bot:
            raise LookupError(f"{user} is no member")
        return Recipient(Place(PLATFORM, DIRECT, await self._rest.direct(user)), PRIVATE, name_of(members[0]))

    async def name(self, user: str) -> str:
        """A name for people; the id where Discord does not say. Never raises."""
        known = _cached(self._client.guilds, int(user)) or self._client.get_user(int(user))
        if known is None:
            try:
                known = await self._rest.call("user", user, lambda: self._client.fetch_user(int(user)))
            except PostError:
                return user
        return name_of(known)

    def _in_guild(self, channel: object) -> Audience:
        if not isinstance(channel, discord.abc.GuildChannel | discord.Thread):
            return UNKNOWN
        if channel.guild not in self.team():
            return OUTSIDERS
        if isinstance(channel, discord.Thread):
            if channel.is_private():
                return PRIVATE
            if channel.parent is None:
                return UNKNOWN
            channel = channel.parent
        if isinstance(channel, VOCAL) and any(member.flags.guest for member in channel.members):
            return OUTSIDERS
        everyone: discord.Role | None = channel.guild.default_role
        if everyone is None:  # the server itself has not arrived yet
            return UNKNOWN
        return PUBLIC if reads(channel, channel.permissions_for(everyone)) else PRIVATE

    async def _of_direct(self, person: int) -> Audience:
        return PRIVATE if await self._memberships(person) else OUTSIDERS

    async def _direct_role(self, person: int) -> Role:
        try:
            found = await self._memberships(person)
        except PostError as error:
            log.warning("who somebody is could not be looked up: %s", type(error).__name__)
            return "outsider"
        roles = [_role(member, member.guild_permissions) for member in found]
        return "editor" if "editor" in roles else "member" if roles else "outsider"

    async def _memberships(self, person: int) -> list[discord.Member]:
        """Of the team's servers: of all, though direct messages come with the first shard; a guest has none. Raises
        PostError."""
        await self._whole.wait()
        found = await asyncio.gather(*(self._member(guild, person) for guild in self.team()))
        return [member for member in found if member is not None and not member.flags.guest]

    async def _member(self, guild: discord.Guild, person: int) -> discord.Member | None:
        """Without the members' intent Discord tells of nobody who leaves: it is asked again and again."""
        now = self._clock()
        until, known = self._members.get((guild.id, person), (0.0, None))
        if now < until:
            return known
        member: discord.Member | None = None
        try:
            member = await self._rest.call("member", str(guild.id), lambda: guild.fetch_member(person))
        except GoneError as error:
            if error.code not in ("10007", "10013"):
                raise
        if len(self._members) >= _REMEMBERED:
            self._members.clear()
        self._members[guild.id, person] = (now + MEMBER_SECONDS, member)
        return member


def _named(guild: discord.Guild) -> str:
    return f"{PLATFORM}:{guild.id}"


def _role(who: discord.User | discord.Member, permissions: discord.Permissions) -> Role:
    if isinstance(who, discord.Member) and who.flags.guest:
        return "outsider"
    return "editor" if permissions.manage_messages or permissions.administrator else "member"


def _cached(guilds: Iterable[discord.Guild], user: int) -> discord.Member | None:
    return next((member for guild in guilds if (member := guild.get_member(user))), None)
