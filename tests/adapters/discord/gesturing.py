"""The gestures of Discord at work in a test: the real client against Discord's fake, a real database and knowledge."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import discord

from adapters.discord.audience import Places
from adapters.discord.commands import register
from adapters.discord.office import Office
from adapters.discord.registering import publish
from adapters.discord.rest import Rest
from bot.desk import FrontDesk
from bot.types import Audience, Card, Command, Incoming, Place, Question
from tests.adapters.acting import Player, front_desk, misses, settings
from tests.bot.library import Library, opened
from tests.fakes.discord_client import Heard, running
from tests.fakes.discord_fake import GUILD, FakeDiscord
from tests.fakes.discord_payloads import CONTENT_INTENT


class Gesturing(Heard):
    """A bot with our commands and nothing else."""

    office: Office

    async def setup_hook(self) -> None:
        register(self, self.office)
        await publish(self)


class Waiting(FrontDesk):
    """A desk whose database takes its time until a test lets it go on."""

    def hold(self) -> None:
        self._gate = asyncio.Event()

    def go_on(self) -> None:
        self._gate.set()

    async def command(self, command: Command) -> Card:
        await self._waited()
        return await super().command(command)

    async def collections(self, place: Place, audience: Audience) -> tuple[str, ...]:
        await self._waited()
        return await super().collections(place, audience)

    async def _waited(self) -> None:
        if hasattr(self, "_gate"):
            await self._gate.wait()


@dataclass
class Here:
    discord: FakeDiscord
    office: Office
    desk: Waiting
    library: Library

    async def misses(self, text: str, channel: str = "general", user: str = "ann") -> Question:
        """Somebody has asked in a thread of its own what nobody can answer."""
        message = await self.discord.says(channel, user, f"<@BOT> {text}")
        await self.discord.starts_thread(user, message, text[:90])
        place = Place("discord", GUILD, self.discord.place(channel).id)
        audience = await self.office.places.audience(place.channel)
        author = self.discord.person(user).id
        link = f"https://discord.com/channels/{GUILD}/{place.channel}/{message}"
        asked = Incoming(place, message, message, author, text, audience, link=link)
        assert [event async for event in self.desk.reply(asked)]
        found = (await self.desk.unanswered(place, audience)).questions
        return next(one for one in found if one.link == link)


@asynccontextmanager
async def gesturing(
    fake: FakeDiscord, home: Path, *, guilds: Sequence[str] | None = None, **more: Any
) -> AsyncIterator[Here]:
    """One process that takes gestures, connected; its embedder only counts, and what it is asked it does not know."""
    given = settings(home, **more)
    async with (
        opened(home) as library,
        front_desk(given, Player(misses).make, library.knowledge, make_desk=Waiting) as (_, desk),
    ):
        assert isinstance(desk, Waiting)
        content = bool(fake.app.intents & CONTENT_INTENT)
        bot = Gesturing(intents=discord.Intents(guilds=True, messages=True, message_content=content))
        rest = Rest(bot)
        office = Office(bot, rest, desk, Places(bot, rest, guilds), given.language)
        bot.office = office
        async with running(fake, bot):
            try:
                yield Here(fake, office, desk, library)
            finally:
                await office.tasks.drain(5)
