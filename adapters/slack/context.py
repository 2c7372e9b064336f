"""The context that all gestures in Slack share: the API, the bot's services, who is who, and the tasks that they
start."""

import asyncio
from dataclasses import dataclass, field

from adapters.shared.tasks import Tasks
from adapters.slack.audience import Places
from adapters.slack.events import PLATFORM
from adapters.slack.transport.api import SlackApi
from bot.bot import Bot
from bot.types import Actor, Audience, Place
from retrieval.i18n import Language


@dataclass(frozen=True, slots=True)
class SlackContext:
    slack: SlackApi
    bot: Bot
    places: Places
    language: Language  # of the interface where nobody's own is known
    tasks: Tasks = field(default_factory=Tasks)

    def place(self, channel: str) -> Place:
        return Place(PLATFORM, self.slack.me.team, channel)

    async def language_of(self, user: str) -> Language:
        """A person's own, as Slack knows it. Never raises."""
        return await self.places.language(user) or self.language

    async def author(self, channel: str, user: str) -> tuple[Language, Actor, Audience]:
        """The language, the role and the fellow readers of whoever did something in a channel; looked up together, as
        one wait where Slack does not say. Never raises."""
        return await asyncio.gather(
            self.language_of(user), self.places.actor(user), self.places.audience(channel, user)
        )
