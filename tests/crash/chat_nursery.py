"""Starts bots of a chat platform one after another, lets them be killed, and looks at what people see in the threads
and at what is in the database."""

import asyncio
import json
import os
import re
import signal
import sqlite3
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from subprocess import PIPE
from typing import Any, Protocol, TypeVar

from tests.bot.program import Process, talking
from tests.crash.chat_life import Life, lines

START_SECONDS = 60.0

_FOLDED = re.compile(r"(-# )?(Steps|\d+ (?:search|step))")


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
    """Bots one after another. `pattern`: what all their lives have in common."""

    def __init__(self, said: asyncio.StreamReader, told: asyncio.StreamWriter, pattern: Life) -> None:
        self._said, self._told = said, told
        self._pattern = pattern
        self._bot: Bot | None = None

    async def live(self, number: int = 0, point: str = "", seconds: float | None = None) -> Bot:
        """The next process. It has begun when this returns, unless it is to die after some seconds."""
        life = replace(self._pattern, number=number, point=point, seconds=seconds)
        self._bot = Bot(life)
        self._told.write((json.dumps(asdict(life)) + "\n").encode())
        await self._told.drain()
        if seconds is None:
            await self._bot.says("begun")
        return self._bot

    async def hear(self) -> None:
        async for line in self._said:
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
async def nursery(module: str, pattern: Life) -> AsyncIterator[Nursery]:
    """`module`: what forks them, such as `tests.crash.slack_life`."""
    process = Process(env={"PATH": "/usr/bin:/bin", "HOME": pattern.home}, stdin=PIPE, stdout=PIPE, module=module)
    said, told = await talking(process)
    made = Nursery(said, told, pattern)
    hearing = asyncio.create_task(made.hear())
    try:
        yield made
    finally:
        made.close()
        told.close()
        await asyncio.to_thread(process.wait)
        hearing.cancel()
        with suppress(asyncio.CancelledError):
            await hearing


@dataclass(frozen=True, slots=True)
class Asked:
    """A question in a channel of its own."""

    number: int
    channel: str
    message: str


class Said(Protocol):
    """A message of the bot, on any platform."""

    @property
    def shown(self) -> str: ...


M = TypeVar("M", bound=Said)


def whole(thread: Iterable[Said], asked: Asked, count: int) -> bool:
    """Whether the thread has all of the answer, which has `count` lines."""
    return lines(asked.number, count)[-1] in "\n".join(each.shown for each in thread)


def check_thread(thread: Sequence[Said], asked: Asked, count: int) -> None:
    """At most one message with steps, then the answer: every line of it once, in order (R5, R6)."""
    told = [(each.shown[:60], len(each.shown), each.shown[-60:]) for each in thread]
    steps, answer = split(thread)
    assert len(steps) <= 1 and len(answer) == 2 and list(thread) == [*steps, *answer], (asked, told)
    said = _bare("".join(each.shown for each in answer))
    wanted = lines(asked.number, count)
    assert [said.count(_bare(line)) for line in wanted] == [1] * count, (asked, told)
    assert _bare("".join(wanted)) in said, (asked, told)


def interrupted(thread: Iterable[Said]) -> bool:
    """Whether it ends with an apology for that, once and alone: no third process takes a turn up that has ended two."""
    told = [each.shown for each in split(thread)[1]]
    return len(told) == 1 and "interrupted" in told[0]


def has_steps(thread: Iterable[Said]) -> bool:
    return any(_steps(each.shown) and "Thinking…" not in each.shown for each in thread)


def split(thread: Iterable[M]) -> tuple[list[M], list[M]]:
    """The messages with steps, and the others."""
    found = list(thread)
    steps = [each for each in found if _steps(each.shown)]
    return steps, [each for each in found if each not in steps]


def _steps(shown: str) -> bool:
    """Whether these are steps: at work, or folded."""
    return "Looking it up" in shown or "Thinking…" in shown or _FOLDED.match(shown) is not None


def _bare(text: str) -> str:
    return "".join(text.split())


def open_turns(home: Path) -> set[str]:
    """The questions that are claimed and not done, by their messages."""
    if not (home / "kotae.db").exists():
        return set()
    with sqlite3.connect(home / "kotae.db") as db:
        found = {message for (message,) in db.execute("SELECT message FROM turns WHERE state != 'done'")}
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
    wanted = {(each.message, "done", 1) for each in questions}
    assert set(found) == wanted and len(found) == len(wanted), (set(found) ^ wanted, len(found))
