"""The platforms as people use them, all in the same words: what somebody says, edits, deletes and votes in one channel,
and what the bot says there. A world outlives the bot's processes."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from adapters.port import Adapter
from bot.bot import Bot
from bot.database import Database
from tests.adapters import memory_platform
from tests.adapters.acting import Act, Player, process, serving, settings, until
from tests.adapters.discord import service as discord_service
from tests.adapters.memory_platform import MemoryAdapter, MemoryPlatform
from tests.adapters.slack import service as slack_service
from tests.adapters.slack.stage import STATUS
from tests.adapters.web import stage as web_stage
from tests.fakes.discord_fake import ANN, BEN, FakeDiscord
from tests.fakes.discord_fake import GENERAL as DISCORD_GENERAL
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_socket import Timing

LOOK = 0.1  # seconds between two looks for what was left
SOON = Timing(retries=(1.0,) * 60)


class Process:
    """A process of the bot: its services, and what its agent was asked."""

    def __init__(self, bot: Bot, data: Database, player: Player, adapter: Adapter) -> None:
        self.bot, self.data, self.player, self.adapter = bot, data, player, adapter


class World(ABC):
    """Messages are named by what `says` returns; `@kotae` at the beginning of a text mentions the bot."""

    channel: str
    ben = "@ben"  # how he is mentioned

    def __init__(self, home: Path) -> None:
        self.home = home

    @asynccontextmanager
    async def process(self, *acts: Act, look_every: float = LOOK) -> AsyncIterator[Process]:
        """The bot at work, until the end of the block. `look_every`: seconds between two looks for what was left."""
        async with self._serves(*acts, look_every=look_every) as it:
            yield Process(it.bot, it.data, it.player, it.adapter)

    @abstractmethod
    def _serves(self, *acts: Act, look_every: float) -> Any: ...

    @abstractmethod
    async def says(self, text: str, thread: str = "", who: str = "ann") -> str:
        """`thread`: its first message; `who`: ann or ben."""

    @abstractmethod
    async def edits(self, message: str, text: str) -> None: ...

    @abstractmethod
    async def deletes(self, message: str) -> None: ...

    @abstractmethod
    async def votes_down(self, message: str) -> None:
        """On the answer to this message."""

    @abstractmethod
    async def asks_person(self, message: str) -> str:
        """Ann presses the button for it under the answer to this message: what she alone reads then."""

    @abstractmethod
    async def deletes_answer(self, message: str) -> None:
        """Somebody who may deletes the bot's answer to this message."""

    async def closes(self, *, closed: bool = True) -> None:
        """Only some people and the bot read the channel from now on; or everybody does again."""
        raise NotImplementedError

    @abstractmethod
    async def thread(self, message: str) -> list[str]:
        """What the bot says to a message, oldest first."""

    @abstractmethod
    async def cards(self) -> list[str]:
        """What the bot says in the channel itself."""

    def signs(self) -> int:
        """How often the platform was told that the bot is at work, beside what it posts."""
        return 0

    async def answered(self, message: str, text: str) -> list[str]:
        """What stands in the thread once its last message has this text and nothing is at work."""

        async def shown() -> list[str]:
            return await self.thread(message)

        await until(shown, lambda said: bool(said) and text in said[-1])
        await self.quiet()
        return await shown()

    async def quiet(self) -> None:
        """Until nothing that somebody did is still worked on."""

        async def idle() -> bool:
            names = (task.get_name() for task in asyncio.all_tasks() if not task.done())
            return not any(name.startswith(("slack-", "discord-", "web-", "memory-")) and _acts(name) for name in names)

        await self._delivered()
        await until(idle)
        await self._delivered()

    @abstractmethod
    async def _delivered(self) -> None:
        """Until the platform's events have arrived."""


def _acts(name: str) -> bool:
    return name.partition("-")[2].split("-")[0] in ("turn", "edit", "delete", "reaction", "raw_message_edit") or any(
        part in name for part in ("raw_message_delete", "raw_reaction", "discord-message", "cards", "notice")
    )


class SlackWorld(World):
    channel = "C1"
    ben = "<@U2>"

    def __init__(self, home: Path, fake: FakeSlack) -> None:
        super().__init__(home)
        self.fake = fake

    def _serves(self, *acts: Act, look_every: float) -> Any:
        return slack_service.bot(self.fake, self.home, *acts, look_every=look_every)

    def signs(self) -> int:
        said = (each.arguments.get("status") for each in self.fake.journal.entries if each.method == STATUS)
        return sum(map(bool, said))

    async def says(self, text: str, thread: str = "", who: str = "ann") -> str:
        return await self.fake.says(self.channel, {"ann": "U1", "ben": "U2"}[who], text, thread=thread or None)

    async def edits(self, message: str, text: str) -> None:
        await self.fake.edits(message, text)

    async def deletes(self, message: str) -> None:
        await self.fake.deletes(message)

    async def votes_down(self, message: str) -> None:
        await self.fake.reacts("U2", self.fake.replies(message)[-1].ts, "-1")

    async def asks_person(self, message: str) -> str:
        heard = len(self.fake.whispers("U1"))
        await self.fake.presses("U1", self.fake.replies(message)[-1], "kotae_ask")
        return (await self.fake.wait_for(lambda: self.fake.whispers("U1")[heard:]))[0].shown

    async def deletes_answer(self, message: str) -> None:
        self.fake.replies(message)[-1].deleted = True

    async def closes(self, *, closed: bool = True) -> None:
        await self.fake.converts(self.channel, "private" if closed else "public")
        await self.fake.wait_for_idle()

    async def thread(self, message: str) -> list[str]:
        found = self.fake.thread(self.channel, message)
        return [each.shown for each in found if each.user == self.fake.bot_user and not each.deleted]

    async def cards(self) -> list[str]:
        return [each.shown for each in self.fake.posted(self.channel)]

    async def _delivered(self) -> None:
        await self.fake.wait_for_idle()


class DiscordWorld(World):
    channel = DISCORD_GENERAL
    ben = f"<@{BEN}>"

    def __init__(self, home: Path, fake: FakeDiscord) -> None:
        super().__init__(home)
        self.fake = fake

    def _serves(self, *acts: Act, look_every: float) -> Any:
        return discord_service.bot(self.fake, self.home, *acts, look_every=look_every)

    def signs(self) -> int:
        return sum(each.route == "POST /channels/{channel}/typing" for each in self.fake.journal.entries)

    async def says(self, text: str, thread: str = "", who: str = "ann") -> str:
        if thread and thread not in self.fake.world.channels:
            await self.fake.starts_thread(who, thread, "talk")
        return await self.fake.says(self.channel, who, text, thread=thread)

    async def edits(self, message: str, text: str) -> None:
        await self.fake.edits(message, text)

    async def deletes(self, message: str) -> None:
        await self.fake.deletes(message)

    async def votes_down(self, message: str) -> None:
        await self.fake.reacts("ben", self.fake.replies(message)[-1].id, "👎")

    async def asks_person(self, message: str) -> str:
        heard = len(self.fake.whispers("ann"))
        await self.fake.presses("ann", self.fake.replies(message)[-1].id, "Ask a person")
        return (await self.fake.wait_for(lambda: self.fake.whispers("ann")[heard:]))[0].content

    async def deletes_answer(self, message: str) -> None:
        await self.fake.deletes(self.fake.replies(message)[-1].id)

    async def closes(self, *, closed: bool = True) -> None:
        self.fake.world.allow(self.channel, "view_channel", who=ANN)
        await self.fake.hides(self.channel, hidden=closed)
        await self.fake.heard()

    async def thread(self, message: str) -> list[str]:
        return [each.shown for each in self.fake.thread(message) if each.author == self.fake.bot_user]

    async def cards(self) -> list[str]:
        return [each.shown for each in self.fake.posted(self.channel)]

    async def _delivered(self) -> None:
        await self.fake.wait_for_idle()


class WebWorld(World):
    channel = "general"
    stage: web_stage.Stage

    @asynccontextmanager
    async def _serves(self, *acts: Act, look_every: float) -> AsyncIterator[web_stage.Stage]:
        async with web_stage.channel(self.home, *acts, look_every=look_every) as self.stage:
            yield self.stage

    async def says(self, text: str, thread: str = "", who: str = "ann") -> str:
        member = {"ann": web_stage.AKI, "ben": web_stage.BEN}[who]
        return str((await self.stage.said(text, member, thread=int(thread) if thread else None)).id)

    async def edits(self, message: str, text: str) -> None:
        await self.stage.adapter.edit(web_stage.AKI, int(message), text)

    async def deletes(self, message: str) -> None:
        await self.stage.adapter.delete(web_stage.AKI, int(message))

    async def votes_down(self, message: str) -> None:
        await self.stage.adapter.vote(web_stage.BEN, await self._answer(message), "down")

    async def asks_person(self, message: str) -> str:
        found = await self._answer(message)
        shown = await self.stage.data.messages.get(found)
        assert shown is not None and shown.data["person"]
        return (await self.stage.adapter.ask_person(web_stage.AKI, found)).text.en

    async def deletes_answer(self, message: str) -> None:
        await self.stage.data.messages.drop([await self._answer(message)])

    async def thread(self, message: str) -> list[str]:
        found = await self.stage.data.messages.listed(self.channel, int(message), before=None, limit=50)
        return [each.data.get("summary") or each.text for each in found if each.author == "kotae"]

    async def cards(self) -> list[str]:
        found = await self.stage.board.messages(web_stage.GENERAL, web_stage.AKI)
        return [f"{each.text} {each.data}" for each in found if each.author == "kotae"]

    async def _delivered(self) -> None:
        """They are calls."""

    async def _answer(self, message: str) -> int:
        found = await self.stage.data.messages.listed(self.channel, int(message), before=None, limit=50)
        return next(each.id for each in found if each.kind == "answer")


class MemoryWorld(World):
    channel = memory_platform.CHANNEL.channel
    adapter: MemoryAdapter

    def __init__(self, home: Path, platform: MemoryPlatform) -> None:
        super().__init__(home)
        self.platform = platform

    @asynccontextmanager
    async def _serves(self, *acts: Act, look_every: float) -> AsyncIterator[Process]:
        player, self.adapter = Player(*acts), MemoryAdapter(self.platform, look_every=look_every)
        async with process(settings(self.home), player.make) as (data, bot), serving(self.adapter, bot):
            yield Process(bot, data, player, self.adapter)

    async def says(self, text: str, thread: str = "", who: str = "ann") -> str:
        return await self.adapter.says(who, text, thread)

    async def edits(self, message: str, text: str) -> None:
        await self.adapter.edits(message, text)

    async def deletes(self, message: str) -> None:
        await self.adapter.deletes(message)

    async def votes_down(self, message: str) -> None:
        await self.adapter.reacts("ben", self.platform.thread(message)[-1].id, "down")

    async def asks_person(self, message: str) -> str:
        return await self.adapter.asks_person("ann", self.platform.thread(message)[-1].id)

    async def deletes_answer(self, message: str) -> None:
        del self.platform.messages[self.platform.thread(message)[-1].id]

    async def thread(self, message: str) -> list[str]:
        return [each.text for each in self.platform.thread(message)]

    async def cards(self) -> list[str]:
        return [
            each.text for each in self.platform.messages.values() if each.id == each.thread and each.author == "kotae"
        ]

    async def _delivered(self) -> None:
        """They are calls."""


@asynccontextmanager
async def world(platform: str, home: Path) -> AsyncIterator[World]:
    """A platform without its pace: how fast it takes messages is its own tests' matter."""
    match platform:
        case "slack":
            async with FakeSlack(limits=False, timing=SOON) as slack:
                yield SlackWorld(home, slack)
        case "slack over HTTP":
            async with FakeSlack(limits=False, timing=SOON) as slack:
                slack.posts.url = "http://127.0.0.1:9/slack/events"  # nobody is there until a process is
                slack.posts.pauses = SOON.retries
                yield SlackWorld(home, slack)
        case "discord":
            async with FakeDiscord(limits=False) as discord:
                yield DiscordWorld(home, discord)
        case "web":
            yield WebWorld(home)
        case _:
            yield MemoryWorld(home, MemoryPlatform())
