"""Bots in Discord's fake that are killed: what Discord sends and knows, for `chat_nursery`."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from tests.adapters.discord.program import named
from tests.crash import chat_nursery
from tests.crash.chat_life import Life, question
from tests.crash.chat_nursery import Asked, Nursery
from tests.crash.discord_life import LINES
from tests.fakes.discord_fake import FakeDiscord
from tests.fakes.discord_gate import HANG_AFTER
from tests.fakes.discord_world import Message

HANGING = {  # where a request is answered by nothing, though Discord has done it
    "thread made": "POST /channels/{channel}/messages/{message}/threads",
    "part sent": "POST /channels/{channel}/messages",
}


def server() -> FakeDiscord:
    """Discord sends each event twice."""
    return FakeDiscord(limits=False, copies=2)


def nursery(discord: FakeDiscord, home: Path) -> AbstractAsyncContextManager[Nursery]:
    return chat_nursery.nursery("tests.crash.discord_life", Life(str(home), named(discord), LINES))


async def ask(discord: FakeDiscord, number: int) -> Asked:
    channel = discord.place("general").id
    return Asked(number, channel, await discord.says(channel, "ann", f"@kotae {question(number)}"))


def hang(discord: FakeDiscord, point: str, number: int) -> None:
    """The bot is left waiting there, if that is one of these points."""
    if route := HANGING.get(point):
        discord.fail(
            route, HANG_AFTER, where=lambda body: _begins(str(body.get("content") or body.get("name")), number)
        )


def _begins(text: str, number: int) -> bool:
    return text.startswith((question(number), f"Rule {number}, line 0:"))


def hangs(discord: FakeDiscord, asked: Asked) -> bool:
    """Whether it is left waiting, over something of this question."""
    return any(
        entry.fault == "hang_after"
        and entry.answer
        and asked.message in (entry.params.get("message"), entry.params["channel"])
        for entry in discord.journal.entries
    )


def thread(discord: FakeDiscord, asked: Asked) -> list[Message]:
    """What the bot has said of it, in its thread and outside."""
    return discord.replies(asked.message)


def whole(discord: FakeDiscord, asked: Asked) -> bool:
    return chat_nursery.whole(thread(discord, asked), asked, LINES)


def check_thread(discord: FakeDiscord, asked: Asked) -> None:
    chat_nursery.check_thread(thread(discord, asked), asked, LINES)
    steps, _ = chat_nursery.split(thread(discord, asked))
    assert not any("Thinking…" in each.shown for each in steps), (asked, steps)
