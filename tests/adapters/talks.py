"""People who talk in a channel that documents follow: the same gestures on Slack's and Discord's fake, each behind the
real client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
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
from tests.adapters.discord import service as discord_service
from tests.adapters.slack import service as slack_service
from tests.adapters.staging import Skipping
from tests.bot.library import Library, opened
from tests.fakes.discord_fake import ANN, BEN, GENERAL, GUILD, FakeDiscord
from tests.fakes.slack import FakeSlack

EDITOR = Actor("terminal", "", "terminal", "editor")
PUBLIC = Readers(frozenset({TEAM, EVERYONE}))
PLATFORMS = ("slack", "discord")
_TOLD = ("discord-raw_", "discord-message")  # the tasks of events


@dataclass
class Now:
    """The time of a fake's world, which passes at our side by `later`."""

    fake: FakeSlack | FakeDiscord
    ahead: timedelta = timedelta()

    def __call__(self) -> datetime:
        if isinstance(self.fake, FakeSlack):
            return datetime.fromtimestamp(1_790_000_000 + self.fake.clock.now(), UTC) + self.ahead
        return datetime.fromtimestamp(self.fake.world.wall(), UTC) + self.ahead

    def later(self, **more: float) -> None:
        self.ahead += timedelta(**more)


@dataclass
class Talk:
    """A channel with ann and ben, olga who is an editor, and a bot of another kind."""

    fake: Any
    now: Now
    home: Path
    library: Library
    bot: Bot | None = None
    threads: dict[str, str] = field(default_factory=dict)

    @property
    def on_slack(self) -> bool:
        return isinstance(self.fake, FakeSlack)

    @property
    def location(self) -> str:
        return "slack:C1" if self.on_slack else f"discord:{GENERAL}"

    @property
    def scope(self) -> str:
        return "place:slack:T0TEAM:C1" if self.on_slack else f"place:discord:{GUILD}:{GENERAL}"

    def person(self, who: str) -> str:
        return (
            {"ann": "slack:U1", "ben": "slack:U2"}[who] if self.on_slack else f"discord:{ANN if who == 'ann' else BEN}"
        )

    # -- what people do -----------------------------------------------------------------------------------------------

    async def asks(self, who: str, text: str, *answers: tuple[str, str]) -> str:
        """Somebody begins a thread, and others answer in it; the first message's id."""
        if self.on_slack:
            root = await self.fake.says("C1", SLACK[who], text)
        else:
            root = await self.fake.says("general", who, text)
            if answers:
                await self.fake.starts_thread(who, root, text[:90])
        for author, answer in answers:
            await self.says(author, answer, root)
        return str(root)

    async def says(self, who: str, text: str, root: str) -> str:
        if self.on_slack:
            return str(await self.fake.says("C1", SLACK[who], text, thread=root))
        return str(await self.fake.says("general", who, text, thread=root))

    async def checks(self, who: str, message: str) -> None:
        name = "white_check_mark" if self.on_slack else "✅"
        await self.fake.reacts(SLACK[who] if self.on_slack else who, message, name)

    async def becomes_private(self) -> None:
        if self.on_slack:
            self.fake.world.channels["C1"].kind = "private"
        else:
            await self.fake.allows("general", "view_channel", who=self.fake.bot_user)
            await self.fake.denies("general", "view_channel", who=GUILD)

    async def removes_the_bot(self) -> None:
        if self.on_slack:
            self.fake.world.channels["C1"].members.discard(self.fake.bot_user)
        else:
            await self.fake.denies("general", "view_channel", "send_messages", who=self.fake.bot_user)

    # -- what becomes of it -------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Bot]:
        """A process that serves the platform."""
        service: Any = slack_service if self.on_slack else discord_service
        time = Skipping()  # Slack's limits are waited for, and no test waits
        api = partial(SlackApi, clock=time, sleep=time.sleep, chance=lambda: 0.0)
        more: dict[str, Any] = {"api": api} if self.on_slack else {"look_every": 60.0}
        given = {"knowledge": self.library.knowledge, "clock": self.now, **more}
        async with service.bot(self.fake, self.home, **given) as here:
            self.bot = here.bot
            channels = here.bot.sources.channels
            await self.fake.wait_for(lambda: channels.serves(self.location))
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
        noting = [task for task in asyncio.all_tasks() if task.get_name().startswith(_TOLD)]
        await asyncio.gather(*noting)  # Discord is not told when an event was written down
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


@asynccontextmanager
async def talk(platform: str, home: Path, **how: Any) -> AsyncIterator[Talk]:
    """The channel, and a home; no bot runs yet."""
    made: Any = FakeSlack(**how) if platform == "slack" else FakeDiscord(**how)
    async with made as fake, opened(home) as library:
        if platform == "slack":
            for name, kind in (("olga", "admin"), ("robot", "bot")):
                fake.world.add_user(SLACK[name], name, kind=kind)
                fake.world.channels["C1"].members.add(SLACK[name])
        else:
            fake.world.add_user("olga")
            fake.world.add_role("mods", "manage_messages", members=[fake.person("olga").id])
            fake.world.add_user("robot", bot=True)
        yield Talk(fake, Now(fake), home, library)
