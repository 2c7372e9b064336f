"""The Discord adapter at work in a test: the real client against Discord's fake, a real database, and an agent that
plays."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from adapters.discord.adapter import DiscordAdapter
from bot.bot import Bot
from bot.config.settings import DiscordSettings
from bot.database import Database
from bot.knowledge.documents import KnowledgeBase
from bot.turns.admission import AT_ONCE
from tests.adapters.acting import Act, Player, process, serving, settings
from tests.fakes.discord_fake import FakeDiscord


@dataclass
class Service:
    discord: FakeDiscord
    player: Player
    bot: Bot
    data: Database
    adapter: DiscordAdapter
    task: asyncio.Task[None]  # the adapter's run


@asynccontextmanager
async def bot(
    discord: FakeDiscord,
    home: Path,
    *acts: Act,
    at_once: int = AT_ONCE,
    guilds: tuple[str, ...] | None = None,
    knowledge: KnowledgeBase | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    look_every: float = 0.1,
    **more: Any,
) -> AsyncIterator[Service]:
    """One process that serves the application, connected."""
    where = DiscordSettings(SecretStr(discord.token), guilds, discord.api_url, discord.gateway_url, discord.cdn_url)
    player, adapter = Player(*acts), DiscordAdapter(where, language="en", look_every=look_every)
    async with (
        process(settings(home, **more), player.make, knowledge, at_once=at_once, clock=clock) as (data, bot),
        serving(adapter, bot) as task,
    ):
        yield Service(discord, player, bot, data, adapter, task)
