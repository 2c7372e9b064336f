"""Lives of a bot in a Slack workspace: `python -m tests.crash.slack_life`, see `chat_life`."""

from adapters.slack.adapter import SlackAdapter
from bot.config.settings import Settings
from tests.crash.chat_life import main

POINTS = (
    "claimed",  # and not acknowledged
    "acked",  # and nothing begun
    "steps posted",  # Slack has them, the database does not know which message they are
    "steps placed",
    "tool 1",
    "tool 2",
    "stored",  # the answer, of which Slack has nothing
    "part posted",  # the first of two, which the database does not know
    "part placed",  # and the second is not posted
    "answer posted",
    "answer placed",  # and not marked as shown
    "shown",
)
LINES = 120  # of an answer, which takes two messages


def make_adapter(settings: Settings) -> SlackAdapter:
    assert settings.slack is not None
    return SlackAdapter(settings.slack, language=settings.language)


if __name__ == "__main__":
    main(make_adapter, ("slack_bolt.listener_matcher.async_builtins",))
