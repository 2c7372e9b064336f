"""The context that all gestures in Slack share: the API, the bot's services, who is who, and the tasks that they
start."""

from dataclasses import dataclass, field

from adapters.shared.tasks import Tasks
from adapters.slack.audience import Places
from adapters.slack.events import PLATFORM
from adapters.slack.transport.api import SlackApi
from bot.bot import Bot
from bot.types import Place
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
