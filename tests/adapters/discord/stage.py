"""One turn in a thread of Discord's fake, through the real client without its gateway: what is posted is kept as a desk
keeps it."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

from adapters.discord.gateway import Bot, Identifies
from adapters.discord.rest import Rest
from adapters.discord.steps import EVERY_SECONDS, Shown
from adapters.discord.thread import DiscordThread
from adapters.port import Desk, relay
from agent.events import Event, Events
from bot.messages import Audience, Incoming, Place, Post
from bot.store.inbox import Claimed
from retrieval.text import Language
from tests.fakes.discord_client import pointed_at
from tests.fakes.discord_fake import ANN, GENERAL, GUILD, FakeDiscord
from tests.fakes.discord_world import Message

POST = "POST /channels/{channel}/messages"
EDIT = "PATCH /channels/{channel}/messages/{message}"
THREAD = "POST /channels/{channel}/messages/{message}/threads"
TYPING = "POST /channels/{channel}/typing"


class Rows:
    """What was posted, with the meaning that `Desk` gives it; it outlives the process, as a database does."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str, int], Post] = {}

    async def intend(self, post: Post) -> Post | None:
        key = (post.about, post.kind, post.part)
        before = self.kept.get(key)
        self.kept.setdefault(key, replace(post, message=None))
        return before

    async def placed(self, post: Post) -> None:
        self.kept[post.about, post.kind, post.part] = post

    async def posts(self, about: str) -> list[Post]:
        return [self.kept[key] for key in sorted(self.kept) if key[0] == about]

    async def post_at(self, place: Place, message: str) -> Post | None:
        return next((post for post in self.kept.values() if post.message == message), None)

    def forget_ids(self, kind: str) -> None:
        """As if the process had died between posting and writing that down."""
        self.kept = {key: replace(post, message=None) if key[1] == kind else post for key, post in self.kept.items()}


class Hours:
    """A clock whose sleepers wake when a test says so; the pause between edits is over at once."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self._sleepers: list[tuple[float, asyncio.Event]] = []
        self._asleep = asyncio.Event()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        if seconds <= EVERY_SECONDS:
            return
        woken = asyncio.Event()
        self._sleepers.append((self.now + seconds, woken))
        self._asleep.set()
        await woken.wait()

    async def advance(self, seconds: float) -> None:
        """Once somebody sleeps."""
        async with asyncio.timeout(30):
            await self._asleep.wait()
        self.now += seconds
        for due, woken in self._sleepers:
            if due <= self.now:
                woken.set()
        self._sleepers = [(due, woken) for due, woken in self._sleepers if due > self.now]
        if not self._sleepers:
            self._asleep.clear()


class Skipping:
    """The client's clock: it waits for nothing, and yet time passes."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waits.append(seconds)
        await asyncio.sleep(0)


class Stage:
    def __init__(self, fake: FakeDiscord, bot: Bot, rest: Rest, rows: Rows, asked: str, time: Skipping) -> None:
        self.fake, self.bot, self.rest, self.rows, self.asked, self.time = fake, bot, rest, rows, asked, time
        self.hours = Hours()
        self.turn = "turn-1"

    def view(self, steps: Shown = "live", language: Language = "en") -> DiscordThread:
        place = Place("discord", GUILD, GENERAL)
        link = f"https://discord.com/channels/{GUILD}/{GENERAL}/{self.asked}"
        text = "How long do refunds take?" if language == "en" else "返金には何日かかりますか？"
        message = Incoming(place, self.asked, self.asked, ANN, text, Audience("public"), language, link)
        claimed = Claimed(self.turn, message, 1, 0)
        return DiscordThread(
            self.bot,
            self.rest,
            cast(Desk, self.rows),
            claimed,
            steps=steps,
            language=language,
            clock=self.hours,
            sleep=self.hours.sleep,
        )

    async def play(self, events: Iterable[Event], steps: Shown = "live", language: Language = "en") -> None:
        """A whole turn, at once."""
        view = self.view(steps, language)
        await view.begin()
        try:
            await relay(_stream(events), view)
        finally:
            await view.close()

    def calls(self, route: str) -> list[dict[str, Any]]:
        """The bodies of each such request."""
        return [each.body for each in self.fake.journal.calls(route)]

    @property
    def replies(self) -> list[Message]:
        return self.fake.replies(self.asked)

    @property
    def texts(self) -> list[str]:
        return [reply.shown for reply in self.replies]


async def _stream(events: Iterable[Event]) -> Events:
    for event in events:
        yield event


@asynccontextmanager
async def staged(*, seconds: float = 5.0, **how: Any) -> AsyncIterator[Stage]:
    """A question in #general, and the bot logged in; `how`: of the fake."""
    async with FakeDiscord(**({"limits": False} | how)) as fake:
        asked = await fake.says("general", "ann", "@kotae How long do refunds take?")
        with pointed_at(fake):
            async with Bot(Identifies(), content=False) as bot:
                await bot.login(fake.token)
                time = Skipping()
                rest = Rest(bot, clock=time, sleep=time.sleep, seconds=seconds)
                try:
                    yield Stage(fake, bot, rest, Rows(), asked, time)
                finally:
                    await rest.close()
