"""Starts bots one after another in Slack's fake, lets them be killed, and looks at what people see in the threads."""

import asyncio
import json
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.nursery import KILLED, ROOT
from tests.crash.slack_life import LINES, Life, lines, question
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import error
from tests.fakes.slack_socket import Timing
from tests.fakes.slack_world import Message

AGAIN = Timing(ack=0.15, retries=(0.0,) * 400)  # what was not acknowledged comes while the next process starts
STREAMS = ("chat.startStream", "assistant.threads.setStatus")
START_SECONDS = 20.0


def workspace() -> FakeSlack:
    """Slack sends each event twice, and again when it is not acknowledged at once."""
    return FakeSlack(timing=AGAIN, limits=False, copies=2)


@dataclass
class Bot:
    """One life as it goes."""

    life: Life
    said: list[dict[str, Any]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def says(self, name: str) -> Any:
        """What it says by this name, first.

        Raises:
            AssertionError: it has ended without.
            TimeoutError: it says nothing of the kind.
        """
        async with asyncio.timeout(START_SECONDS):
            while True:
                self.news.clear()
                if (found := next((line[name] for line in self.said if name in line), None)) is not None:
                    return found
                assert not any("ended" in line for line in self.said), (self.life, name, self.said)
                await self.news.wait()

    def hears(self, line: dict[str, Any]) -> None:
        self.said.append(line)
        self.news.set()

    async def ended(self) -> int:
        """Its status; -9: it was killed."""
        return int(await self.says("ended"))

    def shown(self) -> list[str]:
        return [line["shown"] for line in self.said if "shown" in line]


class Nursery:
    def __init__(self, process: asyncio.subprocess.Process, slack: FakeSlack, home: Path) -> None:
        self._process = process
        self._slack = slack
        self._home = home
        self._bot: Bot | None = None

    async def live(self, number: int = 0, point: str = "", seconds: float | None = None) -> Bot:
        """The next process. It has begun when this returns, unless it is to die after some seconds."""
        slack = self._slack
        life = Life(str(self._home), slack.api_url, slack.bot_token, slack.app_token, number, point, seconds)
        self._bot = Bot(life)
        assert self._process.stdin
        self._process.stdin.write((json.dumps(asdict(life)) + "\n").encode())
        await self._process.stdin.drain()
        if seconds is None:
            await self._bot.says("begun")
        return self._bot

    async def hear(self) -> None:
        assert self._process.stdout
        async for line in self._process.stdout:
            if self._bot is not None:
                self._bot.hears(json.loads(line))
        if self._bot is not None:
            self._bot.hears({"ended": None})  # with whoever forks them

    async def end(self, bot: Bot) -> None:
        """In order."""
        os.kill(await bot.says("begun"), signal.SIGTERM)
        assert await bot.ended() == 0

    async def kill(self, bot: Bot) -> None:
        os.kill(await bot.says("begun"), signal.SIGKILL)

    def close(self) -> None:
        """No process of the last bot is left, also when its test has failed."""
        said = {name: value for line in (self._bot.said if self._bot else ()) for name, value in line.items()}
        if "begun" in said and "ended" not in said:
            os.kill(said["begun"], signal.SIGKILL)


@asynccontextmanager
async def nursery(slack: FakeSlack, home: Path) -> AsyncIterator[Nursery]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.crash.slack_life"),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home)},
        limit=2**20,
    )
    made = Nursery(process, slack, home)
    hearing = asyncio.create_task(made.hear())
    try:
        yield made
    finally:
        assert process.stdin
        made.close()
        process.stdin.close()
        await process.wait()
        hearing.cancel()
        with suppress(asyncio.CancelledError):
            await hearing


@dataclass(frozen=True, slots=True)
class Asked:
    """A question in a channel of its own."""

    number: int
    channel: str
    ts: str


async def ask(slack: FakeSlack, number: int) -> Asked:
    channel = slack.world.add_channel(f"C{number + 100}", members=("U1", slack.bot_user)).id
    return Asked(number, channel, await slack.says(channel, "U1", f"@kotae {question(number)}"))


def modern(slack: FakeSlack, yes: bool) -> None:
    """Whether there are streams and the status, from the next process on."""
    for method in STREAMS:
        slack.heal(method)
        if not yes:
            slack.fail(method, error("unknown_method"))


def acknowledged(slack: FakeSlack, asked: Asked) -> bool:
    """All events of this message."""
    about = [each for each in slack.journal.deliveries if each.body.get("event", {}).get("ts") == asked.ts]
    return bool(about) and all(each.acked for each in about)


def whole(slack: FakeSlack, asked: Asked) -> bool:
    """Whether the thread has all of the answer."""
    seen = "\n".join(each.shown for each in slack.thread(asked.channel, asked.ts))
    return lines(asked.number)[-1] in seen


def interrupted(slack: FakeSlack, asked: Asked) -> bool:
    """Whether it ends with an apology for that, once and alone: no third process takes a turn up that has ended two."""
    told = [each.shown for each in _split(slack, asked)[1]]
    return len(told) == 1 and "interrupted" in told[0]


def unfinished(slack: FakeSlack, asked: Asked) -> bool:
    """Whether its steps still say that it is at work: its process died after the answer was there, and nobody has them."""
    steps, _ = _split(slack, asked)
    return any(each.streaming or "Thinking…" in each.shown for each in steps)


def check_thread(slack: FakeSlack, asked: Asked) -> None:
    """At most one message with steps, then the answer: every line of it once, in order (R5, R6)."""
    thread = slack.thread(asked.channel, asked.ts)
    told = [(each.ts, each.shown[:60], len(each.shown), each.shown[-60:]) for each in thread]
    steps, answer = _split(slack, asked)
    assert len(steps) <= 1 and len(answer) == 2 and thread == [*steps, *answer], (asked, told)
    said = _bare("".join(each.shown for each in answer))
    assert [said.count(_bare(line)) for line in lines(asked.number)] == [1] * LINES, (asked, told)
    assert _bare("".join(lines(asked.number))) in said, (asked, told)


def _split(slack: FakeSlack, asked: Asked) -> tuple[list[Message], list[Message]]:
    """The messages with steps, and the others."""
    thread = slack.thread(asked.channel, asked.ts)
    steps = [each for each in thread if "Looking it up" in each.shown or "Thinking…" in each.shown]
    return steps, [each for each in thread if each not in steps]


def _bare(text: str) -> str:
    return "".join(text.split())


def has_steps(slack: FakeSlack, asked: Asked) -> bool:
    return any("Looking it up" in each.shown for each in slack.thread(asked.channel, asked.ts))


def open_turns(home: Path) -> set[str]:
    """The questions that are claimed and not done, by their ts."""
    if not (home / "kotae.db").exists():
        return set()
    with sqlite3.connect(home / "kotae.db") as db:
        found = {ts for (ts,) in db.execute("SELECT message FROM turns WHERE state != 'done'")}
    db.close()
    return found


def check_database(home: Path, questions: Iterable[Asked]) -> None:
    """Every question is there once, with one answer, and done; the database is whole (R5)."""
    with sqlite3.connect(home / "kotae.db") as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        found = db.execute(
            "SELECT t.message, t.state, count(a.turn) FROM turns t LEFT JOIN answers a ON a.turn = t.id GROUP BY t.id"
        ).fetchall()
    db.close()
    wanted = {(each.ts, "done", 1) for each in questions}
    assert set(found) == wanted and len(found) == len(wanted), (set(found) ^ wanted, len(found))


__all__ = ["KILLED"]
