"""Lives of a bot on a chat platform, each ended by SIGKILL at a chosen moment: what `slack_life` and `discord_life`
run.

They read one life a line (JSON) from standard input, fork, and say how it went, as JSON lines. The real adapter,
client, bot, turns and database; the agent plays. Everything is loaded once, before the forks."""

import asyncio
import importlib
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from adapters.port import Adapter
from agent.conversation import Ask
from agent.events import Answered, Drafted, Events, Reflected, Thought, ToolCalled, ToolReturned
from bot.bot import Bot
from bot.channel_settings import Channels
from bot.config.settings import Settings
from bot.store.outbox import Outbox
from bot.store.turns import TurnStore
from bot.turns.queue import TurnQueue
from bot.turns.turns import Turns
from bot.types import Claimed, Incoming, Place, Post, Preferences
from retrieval.types import CollectionInfo, Readers
from tests.adapters.acting import like, process, settings
from tests.crash.life import die, say

SEARCH = "search_rag_knowledge_base"


MakeAdapter = Callable[[Settings], Adapter]


@dataclass(frozen=True, slots=True)
class Life:
    """`where`: the settings of its platform. `number` is that of the question during which it dies at `point`;
    `seconds` after which it dies anyhow; `lines`: of each answer, so that it takes two messages."""

    home: str
    where: dict[str, str] = field(repr=False)
    lines: int
    number: int = 0
    point: str = ""
    seconds: float | None = None


def question(number: int) -> str:
    return f"What does rule {number} say?"


def lines(number: int, count: int) -> list[str]:
    """What the answer to a question has, each line once."""
    return [f"Rule {number}, line {line}: goods that are sent back are paid for." for line in range(count)]


class Doom:
    """The turn during which this process dies, and when."""

    def __init__(self, life: Life) -> None:
        self.point = life.point
        self.lines = life.lines
        self._text = question(life.number)
        self._place: Place | None = None
        self._turn = ""
        self.steps_there = asyncio.Event()

    def claimed(self, claimed: Claimed) -> None:
        if claimed.message.text == self._text:
            self._turn, self._place = claimed.id, claimed.message.place
            self.at("claimed", claimed.id)

    def is_at(self, place: Place) -> bool:
        return place == self._place

    def is_about(self, text: str) -> bool:
        return text == self._text

    def steps_are_there(self, turn: str) -> None:
        if turn == self._turn:
            self.steps_there.set()

    def at(self, point: str, turn: str) -> None:
        if turn == self._turn and point == self.point:
            die()


class DoomedTurns(Turns):
    _doom: Doom

    async def claim(self, message: Incoming) -> Claimed | None:
        claimed = await super().claim(message)
        if claimed is not None:
            self._doom.claimed(claimed)
        return claimed


class DoomedChannels(Channels):
    _doom: Doom

    async def preferences(self, place: Place) -> Preferences:
        if self._doom.point in ("acked", "begun") and self._doom.is_at(place):
            say(waits=True)  # to be killed when the acknowledgement has arrived
            await asyncio.Event().wait()
        return await super().preferences(place)


class DoomedOutbox(Outbox):
    _doom: Doom

    async def reserve(self, post: Post) -> Post | None:
        if post.kind == "answer":
            self._doom.at("stored" if post.part == 0 else "part placed", post.about)
        return await super().reserve(post)

    async def confirm(self, post: Post) -> None:
        if post.kind == "steps":
            self._doom.at("steps posted", post.about)
        else:
            self._doom.at("part posted" if post.part == 0 else "answer posted", post.about)
        await super().confirm(post)
        if post.kind == "steps":
            self._doom.at("steps placed", post.about)
            self._doom.steps_are_there(post.about)


def doomed(doom: Doom, bot: Bot) -> Bot:
    return replace(
        bot,
        turns=like(DoomedTurns, bot.turns, _doom=doom),
        channels=like(DoomedChannels, bot.channels, _doom=doom),
        outbox=like(DoomedOutbox, bot.outbox, _doom=doom),
    )


class DoomedInbox(TurnQueue):
    def __init__(self, doom: Doom, rows: TurnStore) -> None:
        super().__init__(rows)
        self._doom = doom

    async def shown(self, claimed: Claimed) -> None:
        self._doom.at("answer placed", claimed.id)
        await super().shown(claimed)
        say(shown=claimed.message.message)
        self._doom.at("shown", claimed.id)


class Agent:
    """Two searches, then an answer of two messages."""

    def __init__(self, doom: Doom, message: Incoming) -> None:
        self._doom = doom
        self._text = message.text

    async def run(self, ask: Ask) -> Events:
        yield Thought("Looking it up.")
        for number in ("1", "2"):
            yield ToolCalled(number, SEARCH, {"query": f"rule {number}"})
            if self._doom.is_about(self._text) and self._doom.point.startswith(("tool", "steps", "thread")):
                await self._doom.steps_there.wait()
            yield ToolReturned(number, SEARCH, f"{number} passages")
            if self._doom.is_about(self._text) and self._doom.point == f"tool {number}":
                die()
        yield Drafted("It is said there.")
        yield Reflected("keep", "As stated.")
        rule = int(self._text.removesuffix(" say?").rpartition(" ")[2])
        yield Answered("\n".join(lines(rule, self._doom.lines)), confidence=0.9, searched=("rules",), model="scripted")


async def live(life: Life, make_adapter: MakeAdapter) -> None:
    """Until SIGKILL; or until SIGTERM, by which it ends in order."""
    if life.seconds is not None:
        threading.Thread(target=_end_after, args=(life.seconds,), daemon=True).start()
    doom = Doom(life)
    given = settings(Path(life.home), **life.where)

    def make_agent(claimed: Claimed, allowed: Readers, infos: tuple[CollectionInfo, ...]) -> Agent:
        return Agent(doom, claimed.message)

    async with process(given, make_agent, make_inbox=partial(DoomedInbox, doom), change=partial(doomed, doom)) as (
        _,
        bot,
    ):
        adapter = make_adapter(given)
        serving = asyncio.create_task(adapter.run(bot))
        ready = asyncio.create_task(_tell(adapter))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
        say(begun=os.getpid())
        with suppress(asyncio.CancelledError):
            await serving
        ready.cancel()


async def _tell(adapter: Adapter) -> None:
    await adapter.ready.wait()
    say(ready=adapter.who)


def _end_after(seconds: float) -> None:
    time.sleep(seconds)
    die()


def main(make_adapter: MakeAdapter, late: Iterable[str]) -> None:
    """`late`: modules that are else loaded by each life."""
    logging.disable(logging.WARNING)  # what its platform does not have is said by every life
    for each in ("aiosqlite", "anyio._backends._asyncio", *late):
        importlib.import_module(each)
    for line in sys.stdin:
        life = Life(**json.loads(line))
        child = os.fork()
        if not child:
            status = 1
            try:
                asyncio.run(live(life, make_adapter))
                status = 0
            finally:
                sys.stderr.flush()
                os._exit(status)
        _, ended = os.waitpid(child, 0)
        say(ended=os.waitstatus_to_exitcode(ended), life=asdict(life))
