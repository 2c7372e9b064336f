"""The servers as REST tells of them, for a process that posts while another is connected to the gateway; and those
that the gateway tells of no more.

Source: discord-api-docs, resources/guild; machines.md §2.
"""

import asyncio
import time
from collections.abc import Collection
from typing import Any

from adapters.discord.transport.api import DiscordApi
from adapters.discord.transport.errors import UnreachableError
from adapters.discord.transport.gateway import Client

SECONDS = 60.0  # for which what was looked up is believed


class Servers:
    """`client` is logged in, and knows them as if it were connected once `look` has returned: of those that are
    `chosen`, if not all. There may be thousands, each of three calls."""

    def __init__(self, client: Client, rest: DiscordApi, chosen: Collection[str] | None) -> None:
        self._client = client
        self._chosen = chosen
        self._rest = rest
        self._until = 0.0
        self._looking = asyncio.Lock()
        client.add_listener(self._left, "on_shard_connect")

    async def _left(self, shard_id: int) -> None:
        """Forget the servers that the bot is not in any more: READY has named the others anew."""
        for guild in self._client.before[shard_id]:
            if self._client.get_guild(guild.id) is guild:
                self._client._connection._remove_guild(guild)

    async def look(self) -> None:
        """Look them up; where the gateway has told of them, nothing is done. Raises PostError."""
        async with self._looking:
            now = time.monotonic()
            if now < self._until or self._told:
                return
            found = await self._rest.call("servers", "", self._read)
            if not self._told:  # all at once: of two servers one alone would be the team
                state = self._client._connection
                for guild in self._client.guilds:
                    state._remove_guild(guild)
                for one in found:
                    state._add_guild_from_data(one)
                self._until = now + SECONDS

    async def add(self, id: int) -> None:
        """Look up one that is not chosen. Raises PostError, also where it is for the gateway to tell of it."""
        if self._told:
            raise UnreachableError("servers", "unavailable")
        found: Any = await self._rest.call("servers", str(id), lambda: self._whole(id))
        self._client._connection._add_guild_from_data(found)

    @property
    def _told(self) -> bool:
        return self._client.first.is_set() or not self._client.whole.is_set()

    async def _read(self) -> list[Any]:
        """Each as an event GUILD_CREATE has it, without threads: nobody tells of their new titles here."""
        here = [guild.id async for guild in self._client.fetch_guilds(limit=None, with_counts=False)]
        return [await self._whole(id) for id in here if self._chosen is None or str(id) in self._chosen]

    async def _whole(self, id: int) -> dict[str, Any]:
        http, me = self._client.http, self._client.user
        assert me is not None  # it is logged in
        return {
            **await http.get_guild(id, with_counts=False),
            "channels": await http.get_all_guild_channels(id),
            "members": [await http.get_member(id, me.id)],
        }
