"""Bots in Slack's fake that are killed: what Slack sends and knows, for `chat_nursery`."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from tests.crash import chat_nursery
from tests.crash.chat_life import Life, question
from tests.crash.chat_nursery import Asked, Nursery, check_database, open_turns, split
from tests.crash.nursery import KILLED
from tests.crash.slack_life import LINES
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import error
from tests.fakes.slack_socket import Timing
from tests.fakes.slack_world import Message

AGAIN = Timing(ack=0.15, retries=(0.0,) * 400)  # what was not acknowledged comes while the next process starts
STREAMS = ("chat.startStream", "agents.sessions.setStatus", "agents.sessions.rename", "assistant.threads.setStatus")


def workspace() -> FakeSlack:
    """Slack sends each event twice, and again when it is not acknowledged at once."""
    return FakeSlack(timing=AGAIN, limits=False, copies=2)


def nursery(slack: FakeSlack, home: Path) -> AbstractAsyncContextManager[Nursery]:
    where = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token, "SLACK_API_URL": slack.api_url}
    return chat_nursery.nursery("tests.crash.slack_life", Life(str(home), where, LINES))


async def ask(slack: FakeSlack, number: int) -> Asked:
    channel = slack.world.add_channel(f"C{number + 100}", members=("U1", slack.bot_user)).id
    return Asked(number, channel, await slack.says(channel, "U1", f"@kotae {question(number)}"))


def modern(slack: FakeSlack, yes: bool) -> None:
    """Whether there are streams, sessions and the status, from the next process on."""
    for method in STREAMS:
        slack.heal(method)
        if not yes:
            slack.fail(method, error("unknown_method"))


def acknowledged(slack: FakeSlack, asked: Asked) -> bool:
    """All events of this message."""
    about = [each for each in slack.journal.deliveries if each.body.get("event", {}).get("ts") == asked.message]
    return bool(about) and all(each.acked for each in about)


def whole(slack: FakeSlack, asked: Asked) -> bool:
    return chat_nursery.whole(_thread(slack, asked), asked, LINES)


def interrupted(slack: FakeSlack, asked: Asked) -> bool:
    return chat_nursery.interrupted(_thread(slack, asked))


def unfinished(slack: FakeSlack, asked: Asked) -> bool:
    """Whether its steps still say that it is at work: its process died after the answer was there, and nobody has
    them."""
    steps, _ = split(_thread(slack, asked))
    return any(each.streaming or "Thinking…" in each.shown for each in steps)


def check_thread(slack: FakeSlack, asked: Asked) -> None:
    chat_nursery.check_thread(_thread(slack, asked), asked, LINES)


def has_steps(slack: FakeSlack, asked: Asked) -> bool:
    return chat_nursery.has_steps(_thread(slack, asked))


def _thread(slack: FakeSlack, asked: Asked) -> list[Message]:
    return slack.thread(asked.channel, asked.message)


__all__ = ["KILLED", "Asked", "Nursery", "check_database", "open_turns"]
