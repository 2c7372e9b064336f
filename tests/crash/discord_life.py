"""Lives of a bot in a Discord server: `python -m tests.crash.discord_life`, see `chat_life`."""

from adapters.discord.adapter import DiscordAdapter
from bot.config.settings import Settings
from tests.crash.chat_life import main

POINTS = (
    "claimed",
    "begun",  # and nothing is there
    "thread made",  # of which nobody was told
    "steps posted",  # Discord has them, the database does not know which message they are
    "steps placed",
    "tool 1",
    "tool 2",
    "stored",  # the answer, of which Discord has nothing
    "part sent",  # the first of two, and Discord's answer has not arrived
    "part posted",  # which the database does not know
    "part placed",  # and the second is not posted
    "answer posted",
    "answer placed",  # and not marked as shown
    "shown",
)
LINES = 50  # of an answer, which takes two messages


def make_adapter(settings: Settings) -> DiscordAdapter:
    assert settings.discord is not None
    return DiscordAdapter(settings.discord, language=settings.language)


if __name__ == "__main__":
    main(make_adapter, ())
