"""The Discord adapter at work in a test: the real client against Discord's fake, a real database, and an agent that plays."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import SecretStr

from adapters.discord.adapter import DiscordAdapter
from bot.admission import Admission
from bot.database import Database, database
from bot.desk import FrontDesk
from bot.inbox import Inbox
from bot.knowledge import Knowledge
from bot.logs import ChatLog, Redactor
from bot.messages import Incoming
from bot.settings import DiscordSettings, Settings
from bot.store.inbox import TurnRows
from bot.turns import Turns
from retrieval.types import CollectionInfo, Readers
from tests.adapters.discord.acting import Act, Player, answers
from tests.fakes.discord_fake import FakeDiscord

T = TypeVar("T")


async def until(look: Callable[[], Awaitable[T]], wanted: Callable[[T], bool]) -> T:
    """Ask the database again and again."""
    async with asyncio.timeout(30):
        while True:
            if wanted(found := await look()):
                return found
            await asyncio.sleep(0.02)


@dataclass
class Service:
    discord: FakeDiscord
    player: Player
    desk: FrontDesk
    data: Database
    adapter: DiscordAdapter
    inbox: Inbox
    task: asyncio.Task[None]  # the adapter's run


@asynccontextmanager
async def bot(
    discord: FakeDiscord,
    home: Path,
    *acts: Act,
    at_once: int = 200,
    guilds: tuple[str, ...] | None = None,
    knowledge: Knowledge | None = None,
    look_every: float = 0.1,
    **more: Any,
) -> AsyncIterator[Service]:
    """One process that serves the application, connected."""
    given = {"KOTAE_HOME": str(home), "KOTAE_MODEL": "extractive", "KOTAE_LANGUAGE": "en", "_env_file": None}
    settings = Settings(**(given | more))
    where = DiscordSettings(SecretStr(discord.token), guilds, discord.api_url, discord.gateway_url, discord.cdn_url)
    player = Player(*(acts or (answers(),)))
    async with database(settings) as data:
        inbox = Inbox(TurnRows(data.engine))
        await inbox.inherit()

        async def collections(message: Incoming, allowed: Readers) -> tuple[CollectionInfo, ...]:
            return (CollectionInfo("handbook", "Rules", ("en",), 1, 3),)

        turns = Turns(
            inbox,
            data.conversations,
            data.votes,
            make_agent=player.make,
            list_collections=collections,
            chat_log=ChatLog(home / "chat.log", Redactor()),
            confident=0.5,
            admission=Admission(at_once),
        )

        async def no_digest(allowed: Readers) -> Any:
            raise NotImplementedError

        desk = FrontDesk(
            settings,
            data,
            cast(Knowledge, knowledge),
            turns,
            models=lambda name: None,
            make_digest=no_digest,
            owner=inbox.owner,
        )
        adapter = DiscordAdapter(where, language="en", look_every=look_every)
        task = asyncio.create_task(adapter.run(desk))
        ready = asyncio.create_task(adapter.ready.wait())
        try:
            await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                await task
            yield Service(discord, player, desk, data, adapter, inbox, task)
        finally:
            ready.cancel()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await inbox.close()
