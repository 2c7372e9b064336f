"""The context that all gestures in Discord share: the client, the bot's services, who is who, and the tasks that they
start."""

from dataclasses import dataclass, field

import discord
from discord.ext import commands

from adapters.discord.audience import Places
from adapters.discord.transport.api import DiscordApi
from adapters.shared.tasks import Tasks
from bot.bot import Bot
from retrieval.i18n import Language


@dataclass(frozen=True, slots=True)
class DiscordContext:
    client: commands.Bot
    rest: DiscordApi
    bot: Bot
    places: Places
    language: Language  # of the interface where nobody's own is known
    tasks: Tasks = field(default_factory=Tasks)

    @property
    def me(self) -> int:
        """The bot's own id, once it is logged in."""
        return self.rest.me

    def language_of(self, locale: discord.Locale) -> Language:
        """A person's own, as they have set it in Discord."""
        return "ja" if locale is discord.Locale.japanese else "en"
