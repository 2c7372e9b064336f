"""One turn in a thread of Discord's fake, through the real client without its gateway: what is posted is kept as a desk
keeps it."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, cast

from adapters.discord.gateway import Bot, Identifies
from adapters.discord.rest import Rest
from adapters.discord.steps import EVERY_SECONDS, Shown
from adapters.discord.thread import DiscordThread
from adapters.port import Desk
from agent.events import Event
from bot.types import Audience, Claimed, Incoming, Place
from retrieval.text import Language
from tests.adapters.staging import Hours, Rows, Skipping, play
from tests.fakes.discord_client import pointed_at
from tests.fakes.discord_fake import ANN, GENERAL, GUILD, FakeDiscord
from tests.fakes.discord_world import Message

POST = "POST /channels/{channel}/messages"
EDIT = "PATCH /channels/{channel}/messages/{message}"
THREAD = "POST /channels/{channel}/messages/{message}/threads"
TYPING = "POST /channels/{channel}/typing"


class Stage:
    def __init__(self, fake: FakeDiscord, bot: Bot, rest: Rest, rows: Rows, asked: str, time: Skipping) -> None:
        self.fake, self.bot, self.rest, self.rows, self.asked, self.time = fake, bot, rest, rows, asked, time
        self.hours = Hours(EVERY_SECONDS)
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
        await play(self.view(steps, language), events)

    def calls(self, route: str) -> list[dict[str, Any]]:
        """The bodies of each such request."""
        return [each.body for each in self.fake.journal.calls(route)]

    @property
    def replies(self) -> list[Message]:
        return self.fake.replies(self.asked)

    @property
    def texts(self) -> list[str]:
        return [reply.shown for reply in self.replies]


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
