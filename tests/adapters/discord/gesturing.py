"""The gestures of Discord at work in a test: the real client against Discord's fake, a real database and knowledge."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import discord

from adapters.discord.audience import Places
from adapters.discord.commands import register
from adapters.discord.context import DiscordContext
from adapters.discord.transport.api import DiscordApi
from adapters.discord.transport.registration import publish
from bot.bot import Bot
from bot.knowledge.ingestion import Ingestion
from bot.slash_commands import SlashCommands
from bot.types import Audience, Card, Command, Incoming, Place, Question
from tests.adapters.acting import Player, like, misses, process, settings
from tests.bot.library import Library, opened
from tests.fakes.discord_client import Heard, running
from tests.fakes.discord_fake import GUILD, FakeDiscord
from tests.fakes.discord_payloads import CONTENT_INTENT


class Gesturing(Heard):
    """A bot with our commands and nothing else."""

    context: DiscordContext

    async def setup_hook(self) -> None:
        register(self, self.context)
        await publish(self)


class Gate:
    """Commands and the names of collections wait at it, as for a slow database, until a test lets them go on."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self.go_on()

    def hold(self) -> None:
        self._open.clear()

    def go_on(self) -> None:
        self._open.set()

    async def passed(self) -> None:
        await self._open.wait()

    def before(self, bot: Bot) -> Bot:
        commands = like(WaitingCommands, bot.commands, gate=self)
        return replace(bot, commands=commands, ingestion=like(WaitingIngestion, bot.ingestion, gate=self))


class WaitingCommands(SlashCommands):
    gate: Gate

    async def __call__(self, command: Command) -> Card:
        await self.gate.passed()
        return await super().__call__(command)


class WaitingIngestion(Ingestion):
    gate: Gate

    async def collections(self, place: Place, audience: Audience) -> tuple[str, ...]:
        await self.gate.passed()
        return await super().collections(place, audience)


@dataclass
class Here:
    discord: FakeDiscord
    context: DiscordContext
    bot: Bot
    gate: Gate
    library: Library

    async def misses(self, text: str, channel: str = "general", user: str = "ann") -> Question:
        """Somebody has asked in a thread of its own what nobody can answer."""
        message = await self.discord.says(channel, user, f"<@BOT> {text}")
        await self.discord.starts_thread(user, message, text[:90])
        place = Place("discord", GUILD, self.discord.place(channel).id)
        audience = await self.context.places.audience(place.channel)
        author = self.discord.person(user).id
        link = f"https://discord.com/channels/{GUILD}/{place.channel}/{message}"
        asked = Incoming(place, message, message, author, text, audience, link=link)
        assert [event async for event in self.bot.turns.reply(asked)]
        found = (await self.bot.experts.open(place, audience)).questions
        return next(one for one in found if one.link == link)


@asynccontextmanager
async def gesturing(
    fake: FakeDiscord, home: Path, *, guilds: Sequence[str] | None = None, **more: Any
) -> AsyncIterator[Here]:
    """One process that takes gestures, connected; its embedder only counts, and what it is asked it does not know."""
    given, gate = settings(home, **more), Gate()
    async with (
        opened(home) as library,
        process(given, Player(misses).make, library.knowledge, change=gate.before) as (_, bot),
    ):
        content = bool(fake.app.intents & CONTENT_INTENT)
        client = Gesturing(intents=discord.Intents(guilds=True, messages=True, message_content=content))
        rest = DiscordApi(client)
        whole = asyncio.Event()
        whole.set()
        context = DiscordContext(client, rest, bot, Places(client, rest, guilds, whole), given.language)
        client.context = context
        async with running(fake, client):
            try:
                yield Here(fake, context, bot, gate, library)
            finally:
                await context.tasks.drain(5)
