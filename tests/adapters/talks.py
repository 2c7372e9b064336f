"""People who talk in a channel that documents follow: the same gestures in memory, on Slack's fake, and in a text channel
and a forum of Discord's, each behind the real client."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from adapters.slack.transport.api import SlackApi
from bot.bot import Bot
from bot.sources.sync import SyncReport
from bot.store.followed import FollowedPage, FollowedSource, FollowedSources
from bot.types import Actor
from retrieval.types import EVERYONE, TEAM, Readers
from tests.adapters.acting import Player, process, serving, settings, until
from tests.adapters.discord import service as discord_service
from tests.adapters.memory_platform import PRIVATE, MemoryAdapter, MemoryPlatform
from tests.adapters.slack import service as slack_service
from tests.adapters.staging import Skipping
from tests.adapters.worlds import SOON
from tests.bot.library import Library, opened
from tests.fakes.discord_fake import GENERAL, GUILD, FakeDiscord
from tests.fakes.discord_world import FORUM
from tests.fakes.slack import FakeSlack

EDITOR = Actor("terminal", "", "terminal", "editor")
PUBLIC = Readers(frozenset({TEAM, EVERYONE}))
PLATFORMS = ("slack", "discord", "forum", "memory")
_TOLD = ("discord-raw_", "discord-message", "discord-thread_update")  # the tasks of events


@dataclass
class Now:
    """The time of a fake's world, which passes at our side by `later`."""

    fake: Any
    ahead: timedelta = timedelta()

    def __call__(self) -> datetime:
        if isinstance(self.fake, FakeSlack):
            return datetime.fromtimestamp(1_790_000_000 + self.fake.clock.now(), UTC) + self.ahead
        wall = self.fake.world.wall() if isinstance(self.fake, FakeDiscord) else datetime.now(UTC).timestamp()
        return datetime.fromtimestamp(wall, UTC) + self.ahead

    def later(self, **more: float) -> None:
        self.ahead += timedelta(**more)


@dataclass
class Talk(ABC):
    """A channel with ann and ben, olga who is an editor, and a bot of another kind."""

    fake: Any
    now: Now
    home: Path
    library: Library
    location: str
    scope: str
    name: str = "#general"
    bot: Bot | None = None

    @abstractmethod
    def person(self, who: str) -> str:
        """`platform:id`."""

    # -- what people do -----------------------------------------------------------------------------------------------

    async def asks(self, who: str, text: str, *answers: tuple[str, str]) -> str:
        """Somebody begins a thread, and others answer in it; the first message's id."""
        root = await self.begins(who, text)
        if answers:
            await self.opens(root)
        for author, answer in answers:
            await self.says(author, answer, root)
        return root

    @abstractmethod
    async def begins(self, who: str, text: str) -> str: ...

    @abstractmethod
    async def opens(self, root: str) -> None:
        """The thread of a message, where there is none by itself."""

    @abstractmethod
    async def says(self, who: str, text: str, root: str) -> str: ...

    @abstractmethod
    async def checks(self, who: str, message: str) -> None: ...

    async def edits(self, message: str, text: str) -> None:
        await self.fake.edits(message, text)

    async def deletes(self, message: str) -> None:
        await self.fake.deletes(message)

    async def retitles(self, root: str, text: str) -> None:
        """A thread begins with other words."""
        await self.edits(root, text)

    @abstractmethod
    async def archives(self, root: str) -> None:
        """Close a thread, where that can be."""

    @abstractmethod
    async def becomes_private(self) -> None: ...

    @abstractmethod
    async def removes_the_bot(self) -> None: ...

    async def shuts_the_bot_out(self) -> None:
        """Of a private channel."""
        await self.becomes_private()
        await self.removes_the_bot()

    # -- what becomes of it -------------------------------------------------------------------------------------------

    @abstractmethod
    def announced(self) -> list[str]:
        """What the bot says in the channel itself."""

    @abstractmethod
    def _serving(self, given: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        """A process that serves the platform, as something with its `bot`."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Bot]:
        async with self._serving({"knowledge": self.library.knowledge, "clock": self.now}) as here:
            self.bot = here.bot
            channels = here.bot.sources.channels

            async def served() -> bool:
                return bool(channels.serves(self.location))

            await until(served)
            yield here.bot

    async def follow(self) -> SyncReport:
        assert self.bot is not None
        place = (await self.bot.sources.channels.find(self.location)).place
        await self.bot.sources.follow(EDITOR, place, "talk")
        return await self.sync()

    async def sync(self) -> SyncReport:
        assert self.bot is not None
        return await self.bot.sources.sync(EDITOR, "talk", Readers(PUBLIC.scopes | {self.scope}))

    async def heard(self) -> None:
        """All that people did has come to the bot, and the moment in which more may come is over."""
        await self.fake.wait_for_idle()
        self.now.later(seconds=10)

    async def source(self) -> FollowedSource:
        (source,) = await FollowedSources(self.library.engine).listed()
        return source

    async def pages(self) -> dict[str, FollowedPage]:
        return await FollowedSources(self.library.engine).pages((await self.source()).id)

    async def documents(self) -> dict[str, str]:
        """By title, what they say beneath it."""
        found = {}
        for row in await self.library.documents.listed():
            found[row.title] = (await self.library.knowledge.markdown(row)).partition("\n\n")[2]
        return found


SLACK = {"ann": "U1", "ben": "U2", "olga": "U3", "robot": "U9", "guest": "U4", "stranger": "U5"}


class SlackTalk(Talk):
    def person(self, who: str) -> str:
        return f"slack:{SLACK[who]}"

    async def opens(self, root: str) -> None:
        """It is there with its first reply."""

    async def archives(self, root: str) -> None:
        """There is no such thing."""

    async def begins(self, who: str, text: str) -> str:
        return str(await self.fake.says("C1", SLACK[who], text))

    async def says(self, who: str, text: str, root: str) -> str:
        return str(await self.fake.says("C1", SLACK[who], text, thread=root))

    async def checks(self, who: str, message: str) -> None:
        await self.fake.reacts(SLACK[who], message, "white_check_mark")

    async def becomes_private(self) -> None:
        await self.fake.converts("C1", "private")

    async def removes_the_bot(self) -> None:
        self.fake.world.channels["C1"].members.discard(self.fake.bot_user)

    def announced(self) -> list[str]:
        return [each.shown for each in self.fake.posted("C1")]

    def _serving(self, given: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        time = Skipping()  # Slack's limits are waited for, and no test waits
        api = partial(SlackApi, clock=time, sleep=time.sleep, chance=lambda: 0.0)
        return slack_service.bot(self.fake, self.home, api=api, **given)


async def noted(discord: FakeDiscord) -> None:
    """All that people did has come to the bot."""
    await discord.heard()
    noting = [task for task in asyncio.all_tasks() if task.get_name().startswith(_TOLD)]
    await asyncio.gather(*noting)  # Discord is not told when an event was written down


class DiscordTalk(Talk):
    @property
    def channel(self) -> str:
        return self.location.partition(":")[2]

    def person(self, who: str) -> str:
        return f"discord:{self.fake.person(who).id}"

    async def begins(self, who: str, text: str) -> str:
        return str(await self.fake.says(self.channel, who, text))

    async def opens(self, root: str) -> None:
        await self.fake.starts_thread("ann", root, "a thread")

    async def says(self, who: str, text: str, root: str) -> str:
        return str(await self.fake.says(self.channel, who, text, thread=root))

    async def checks(self, who: str, message: str) -> None:
        await self.fake.reacts(who, message, "✅")

    async def archives(self, root: str) -> None:
        await self.fake.archives(root)

    async def becomes_private(self) -> None:
        await self.fake.allows(self.channel, "view_channel", who=self.fake.bot_user)
        await self.fake.denies(self.channel, "view_channel", who=GUILD)

    async def removes_the_bot(self) -> None:
        await self.fake.denies(self.channel, "view_channel", "send_messages", who=self.fake.bot_user)

    async def shuts_the_bot_out(self) -> None:
        """What the switch of a private channel does, where nobody is let in."""
        await self.fake.denies(self.channel, "view_channel", who=GUILD)

    def announced(self) -> list[str]:
        return [each.shown for each in self.fake.posted(self.channel)]

    def _serving(self, given: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        return discord_service.bot(self.fake, self.home, look_every=60.0, **given)

    async def heard(self) -> None:
        await noted(self.fake)
        await super().heard()


class ForumTalk(DiscordTalk):
    """Its posts have titles, and are threads by themselves."""

    async def begins(self, who: str, text: str) -> str:
        return str(await self.fake.posts(self.channel, who, text, text))

    async def opens(self, root: str) -> None:
        """It is one."""

    async def retitles(self, root: str, text: str) -> None:
        await self.fake.renames(root, text)

    def announced(self) -> list[str]:
        posts = [each for each in self.fake.world.channels.values() if each.parent == self.channel]
        return [text.shown for each in posts for text in self.fake.posted(each.id)]


class MemoryTalk(Talk):
    adapter: MemoryAdapter | None = None  # while a process runs

    def person(self, who: str) -> str:
        return f"memory:{who}"

    async def begins(self, who: str, text: str) -> str:
        return await self.says(who, text, "")

    async def opens(self, root: str) -> None:
        """It is there with its first reply."""

    async def archives(self, root: str) -> None:
        """There is no such thing."""

    async def says(self, who: str, text: str, root: str) -> str:
        assert self.adapter is not None
        return await self.adapter.says(who, text, root)

    async def checks(self, who: str, message: str) -> None:
        assert self.adapter is not None
        await self.adapter.checks(who, message)

    async def edits(self, message: str, text: str) -> None:
        if self.adapter is not None:
            await self.adapter.edits(message, text)
        else:
            self.fake.messages[message].text = text

    async def deletes(self, message: str) -> None:
        assert self.adapter is not None
        await self.adapter.deletes(message)

    async def becomes_private(self) -> None:
        self.fake.audience = PRIVATE

    async def removes_the_bot(self) -> None:
        self.fake.invited = False

    async def heard(self) -> None:
        self.now.later(seconds=10)  # what people do are calls

    def announced(self) -> list[str]:
        return [each.text for each in self.fake.messages.values() if each.author == "kotae"]

    @asynccontextmanager
    async def _serving(self, given: dict[str, Any]) -> AsyncIterator[Any]:
        async with process(settings(self.home), Player().make, **given) as (_, bot):
            self.adapter = MemoryAdapter(self.fake)
            async with serving(self.adapter, bot):
                yield Served(bot)
            self.adapter = None


@dataclass
class Served:
    bot: Bot


@asynccontextmanager
async def talk(platform: str, home: Path, **how: Any) -> AsyncIterator[Talk]:
    """The channel, and a home; no bot runs yet."""
    async with opened(home) as library:
        match platform:
            case "slack":
                async with FakeSlack(**{"timing": SOON, **how}) as slack:
                    for name, kind in (("olga", "admin"), ("robot", "bot")):
                        slack.world.add_user(SLACK[name], name, kind=kind)
                        slack.world.channels["C1"].members.add(SLACK[name])
                    yield SlackTalk(slack, Now(slack), home, library, "slack:C1", "place:slack:T0TEAM:C1")
            case "memory":
                memory = MemoryPlatform()
                yield MemoryTalk(memory, Now(memory), home, library, "memory:general", "place:memory:here:general")
            case _:
                async with FakeDiscord(**how) as discord:
                    discord.world.add_user("olga")
                    discord.world.add_role("mods", "manage_messages", members=[discord.person("olga").id])
                    discord.world.add_user("robot", bot=True)
                    made, place = DiscordTalk, GENERAL
                    if platform == "forum":
                        made, place = ForumTalk, discord.world.add_channel("help", kind=FORUM).id
                    where = f"discord:{place}", f"place:discord:{GUILD}:{place}"
                    yield made(discord, Now(discord), home, library, *where, f"#{discord.world.channels[place].name}")
