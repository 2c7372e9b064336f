"""Small things for tests against Discord's fake: the real client pointed at it, one that runs, and what it refuses."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

import aiohttp
import discord
import pytest
import yarl
from discord.ext import commands

from tests.fakes.discord_fake import FakeDiscord

Json = dict[str, Any]


@contextmanager
def pointed_at(fake: FakeDiscord) -> Iterator[None]:
    """discord.py talks to the fake, and to Discord again afterwards. There is no other way to tell it."""
    gateway = discord.gateway.DiscordWebSocket
    before = discord.http.Route.BASE, gateway.DEFAULT_GATEWAY, discord.asset.Asset.BASE
    discord.http.Route.BASE = fake.api_url
    gateway.DEFAULT_GATEWAY = yarl.URL(fake.gateway_url)
    discord.asset.Asset.BASE = fake.cdn_url
    try:
        yield
    finally:
        discord.http.Route.BASE, gateway.DEFAULT_GATEWAY, discord.asset.Asset.BASE = before


class Heard(commands.Bot):
    """A bot that writes down what it hears. It comes back at once, where discord.py waits five seconds."""

    def __init__(self, *, intents: discord.Intents | None = None, **options: Any) -> None:
        self.messages: list[discord.Message] = []
        self.raw: list[Any] = []  # edits, deletions and reactions, whether of messages it knows or not
        self.names: list[str] = []  # of all events
        wanted = intents or discord.Intents(guilds=True, messages=True, reactions=True, message_content=True)
        defaults: Json = {"guild_ready_timeout": 0.01, "enable_debug_events": True, "max_messages": None}
        super().__init__(command_prefix="!", intents=wanted, help_command=None, **(defaults | options))

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        return

    async def on_message(self, message: discord.Message) -> None:
        self.messages.append(message)

    async def on_socket_event_type(self, name: str) -> None:
        self.names.append(name)

    async def on_raw_message_edit(self, event: discord.RawMessageUpdateEvent) -> None:
        self.raw.append(event)

    async def on_raw_message_delete(self, event: discord.RawMessageDeleteEvent) -> None:
        self.raw.append(event)

    async def on_raw_reaction_add(self, event: discord.RawReactionActionEvent) -> None:
        self.raw.append(event)

    async def on_raw_reaction_remove(self, event: discord.RawReactionActionEvent) -> None:
        self.raw.append(event)


@asynccontextmanager
async def running(fake: FakeDiscord, client: discord.Client, token: str = "") -> AsyncIterator[None]:
    """The client from its login to its end. What ends it early is raised here."""
    with pointed_at(fake):
        sessions = len(fake.gateway.live())
        life = asyncio.create_task(client.start(token or fake.token))
        try:
            ready = asyncio.create_task(fake.connected(sessions + 1))
            await asyncio.wait([life, ready], return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
            if life.done():
                life.result()
            if isinstance(client, Heard):
                await client.wait_until_ready()
            yield
        finally:
            await client.close()
            await asyncio.gather(life, return_exceptions=True)


async def refused(call: Awaitable[Any]) -> tuple[int, int]:
    """The HTTP status and Discord's code of what a call raises."""
    with pytest.raises(discord.HTTPException) as caught:
        await call
    return caught.value.status, caught.value.code


async def call(fake: FakeDiscord, method: str, path: str, body: Any = None, token: str = "") -> tuple[int, Any, Any]:
    """One request as it is, without discord.py: status, body, headers."""
    headers = {"Authorization": f"Bot {token or fake.token}"}
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, fake.api_url + path, json=body, headers=headers) as answer,
    ):
        text = await answer.text()
        told = json.loads(text) if answer.headers.get("Content-Type") == "application/json" else text
        return answer.status, told, answer.headers


class Wire:
    """A gateway connection without discord.py, after HELLO."""

    def __init__(self, fake: FakeDiscord, ws: aiohttp.ClientWebSocketResponse, hello: Json) -> None:
        self.hello = hello
        self._fake = fake
        self._ws = ws

    async def send(self, op: int, data: Any = None) -> None:
        await self._ws.send_json({"op": op, "d": data})

    async def send_text(self, text: str) -> None:
        await self._ws.send_str(text)

    async def identify(self, **more: Any) -> None:
        await self.send(2, {"token": self._fake.token, "intents": 1 << 9 | 1 << 12 | 1, "properties": {}} | more)

    async def next(self) -> Json:
        return cast(Json, await self._ws.receive_json(timeout=30))

    async def event(self, name: str) -> Json:
        """The next event of this name; what comes before is skipped."""
        while True:
            frame = await self.next()
            if frame["t"] == name:
                return cast(Json, frame["d"])

    async def end(self) -> int | None:
        """The code the gateway closes with."""
        while not self._ws.closed:
            await self._ws.receive(timeout=30)
        return self._ws.close_code


@asynccontextmanager
async def wired(fake: FakeDiscord, query: str = "v=10&encoding=json") -> AsyncIterator[Wire]:
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{fake.gateway_url}/?{query}") as ws:
        hello = await ws.receive_json(timeout=30) if query.startswith("v=10") else {}
        yield Wire(fake, ws, hello)
