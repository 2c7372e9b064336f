"""One turn in a thread of Discord's fake, through the real client without its gateway: what is posted is kept as the
outbox keeps it."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from adapters.discord.rendering.steps import EVERY_SECONDS
from adapters.discord.transport.api import PATIENCE, DiscordApi
from adapters.discord.transport.gateway import Client, Identifies
from adapters.discord.turn_view import DiscordThread
from agent.events import Event
from bot.types import Audience, Claimed, Incoming, Place, StepsShown
from retrieval.i18n import Language
from tests.adapters.staging import Hours, Rows, Skipping, play
from tests.fakes.discord_client import pointed_at
from tests.fakes.discord_fake import ANN, GENERAL, GUILD, FakeDiscord
from tests.fakes.discord_world import Message

POST = "POST /channels/{channel}/messages"
EDIT = "PATCH /channels/{channel}/messages/{message}"
THREAD = "POST /channels/{channel}/messages/{message}/threads"
TYPING = "POST /channels/{channel}/typing"


class Stage:
    def __init__(
        self, fake: FakeDiscord, client: Client, rest: DiscordApi, rows: Rows, asked: str, time: Skipping
    ) -> None:
        self.fake, self.client, self.rest, self.rows, self.asked, self.time = fake, client, rest, rows, asked, time
        self.hours = Hours(EVERY_SECONDS)
        self.turn = "turn-1"

    def view(self, steps: StepsShown = "live", language: Language = "en") -> DiscordThread:
        place = Place("discord", GUILD, GENERAL)
        link = f"https://discord.com/channels/{GUILD}/{GENERAL}/{self.asked}"
        text = "How long do refunds take?" if language == "en" else "返金には何日かかりますか？"
        message = Incoming(place, self.asked, self.asked, ANN, text, Audience("public"), language, link)
        claimed = Claimed(self.turn, message, 1, 0)
        return DiscordThread(
            self.client,
            self.rest,
            self.rows.bot,
            claimed,
            steps=steps,
            language=language,
            clock=self.hours,
            sleep=self.hours.sleep,
        )

    async def play(self, events: Iterable[Event], steps: StepsShown = "live", language: Language = "en") -> None:
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
        """The replies; of steps that are folded what is behind their line."""
        behind = {post.message: post.data["lines"] for post in self.rows.of_kind("steps") if post.data.get("lines")}
        return ["\n".join(behind.get(reply.id, [reply.shown])) for reply in self.replies]


@asynccontextmanager
async def staged(*, seconds: float = 5.0, patience: float = PATIENCE, **how: Any) -> AsyncIterator[Stage]:
    """A question in #general, and the bot logged in; `how`: of the fake."""
    async with FakeDiscord(**({"limits": False} | how)) as fake:
        asked = await fake.says("general", "ann", "@kotae How long do refunds take?")
        with pointed_at(fake):
            async with Client(Identifies(), content=False) as client:
                await client.login(fake.token)
                time = Skipping()
                rest = DiscordApi(client, clock=time, sleep=time.sleep, seconds=seconds, patience=patience)
                try:
                    yield Stage(fake, client, rest, Rows(), asked, time)
                finally:
                    await rest.close()
