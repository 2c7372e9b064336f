"""How soon a bot answers in Discord, and whether it loses anything: `kotae run` as a process of its own, and Discord's
fake.

    python -m benchmarks.discord [--only alone,channel,crowd] [--model-seconds 5]
    python -m benchmarks.discord --kills 200 [--seed N]     SIGKILL at named moments and at any moment

The sample handbook; the extractive model, or one on loopback that takes `--model-seconds` for a turn. Discord's fake
keeps Discord's limits and answers after 50 ms. Each load has a process of its own. Status 1 when a limit is missed or
something is lost or doubled. Source: reliability.md R5, R34, R35, R51 and R54."""

import argparse
import asyncio
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from benchmarks.homes import percentile
from benchmarks.slack import LATENCY, PATIENCE, QUESTIONS, Report, TimedModel
from tests.adapters.discord.program import named
from tests.adapters.terminal.pseudo_terminal import first_start
from tests.bot.program import ROOT, environment
from tests.crash.chat_nursery import Asked as Doomed
from tests.crash.chat_nursery import Nursery, check_database, interrupted, open_turns
from tests.crash.discord_life import POINTS
from tests.crash.discord_nursery import HANGING, ask, check_thread, hang, hangs, nursery, server, thread
from tests.crash.nursery import KILLED
from tests.fakes.discord_fake import FakeDiscord
from tests.fakes.discord_gate import slow
from tests.fakes.discord_server import Entry
from tests.fakes.openai import KEY

POST, TYPING = "POST /channels/{channel}/messages", "POST /channels/{channel}/typing"
TWICE = 2  # deaths of processes with a question, then it is let live: after some more it would be given up
ANY = "any moment"
THREADS = 50  # that Discord lets one channel have in five minutes


@dataclass(frozen=True, slots=True)
class Asked:
    channel: str
    message: str
    at: float
    wall: float


@dataclass
class Bench:
    """A bot at work, and what it was asked. `seconds` is what its model takes; 0: the extractive one."""

    home: Path
    seconds: float
    discord: FakeDiscord
    process: psutil.Process
    asked: list[Asked] = field(default_factory=list)
    first_memory: float = 0.0
    most_memory: float = 0.0

    async def ask(self, channel: str) -> Asked:
        number = len(self.asked)
        message = await self.discord.says(channel, "ann", f"@kotae {QUESTIONS[number % len(QUESTIONS)]} [{number}]")
        made = Asked(channel, message, time.monotonic(), time.time())
        self.asked.append(made)
        return made

    def channel(self, name: str) -> str:
        made = self.discord.world.add_channel(name)
        self.discord.tell.channel(made, "CHANNEL_CREATE")
        return made.id

    # -- what was seen, in seconds from the question -----------------------------------------------------------------

    def signs(self, asked: Sequence[Asked]) -> list[float]:
        """Until the bot says something about the question, or types in its thread or its channel."""
        typed = [each for each in self.discord.journal.entries if each.route == TYPING and each.status == 204]
        said = self._seen(asked, lambda entry: entry.route in (TYPING, POST))
        if len(said) < len(asked):
            return said
        around = [[each.at - one.at for each in typed if each.params["channel"] == one.channel] for one in asked]
        return [min([one, *(at for at in there if at >= 0)]) for one, there in zip(said, around, strict=True)]

    def answers(self, asked: Sequence[Asked]) -> list[float]:
        return self._seen(asked, lambda entry: entry.route == POST and "kotae:vote" in str(entry.body))

    def turns(self, asked: Sequence[Asked]) -> list[float]:
        """Until the answer is stored: what comes after that is Discord's pace."""
        with closing(sqlite3.connect(self.home / "kotae.db")) as db:
            rows = db.execute("SELECT message, finished_at FROM turns WHERE finished_at IS NOT NULL").fetchall()
        ended = {message: datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp() for message, at in rows}
        return [ended[each.message] - each.wall for each in asked if each.message in ended]

    def _seen(self, asked: Sequence[Asked], counts: Callable[[Entry], bool]) -> list[float]:
        first: dict[str, float] = {}
        for entry in self.discord.journal.entries:
            if entry.status in (200, 204) and counts(entry):
                replied = (entry.body.get("message_reference") or {}) if isinstance(entry.body, dict) else {}
                about = str(replied.get("message_id") or entry.params["channel"])
                first[about] = min(entry.at, first.get(about, entry.at))
        return [first[each.message] - each.at for each in asked if each.message in first]

    async def all_answered(self, asked: Sequence[Asked]) -> int:
        """How many are, at last."""
        with suppress(AssertionError):
            await self.discord.wait_for(lambda: len(self.answers(asked)) == len(asked), timeout=PATIENCE)
        return len(self.answers(asked))

    def refused(self) -> float:
        """The share of calls that Discord refused for their rate."""
        entries = self.discord.journal.entries
        return sum(each.status == 429 for each in entries) / max(1, len(entries))

    def doubled(self) -> int:
        """Answers to questions that have another one."""
        found = Counter(
            each.message
            for each in self.asked
            for reply in self.discord.replies(each.message)
            if any(name.startswith("kotae:vote:up") for name in reply.buttons)
        )
        return found.total() - len(found)

    async def watch_memory(self) -> None:
        while True:
            self.most_memory = max(self.most_memory, self.process.memory_info().rss / 2**20)
            await asyncio.sleep(0.2)


@asynccontextmanager
async def running(home: Path, seconds: float) -> AsyncIterator[Bench]:
    """`kotae run` on a copy of `home`, connected and warm. `seconds` 0: the extractive model."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "home"
        shutil.copytree(home, copy)
        async with FakeDiscord() as discord, TimedModel(seconds) as model:
            discord.fail("*", slow(LATENCY))
            chosen = {"KOTAE_MODEL": "openai:qwen3:8b", "OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": KEY}
            given = {
                **named(discord),
                "KOTAE_WEB_PORT": "0",
                "KOTAE_USER_PER_MINUTE": "0",
                "KOTAE_CHANNEL_PER_MINUTE": "0",
                "KOTAE_LOG_LEVEL": "ERROR",
                **(chosen if seconds else {"KOTAE_MODEL": "extractive"}),
            }
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bot", "run"),
                env=environment(copy, **given),
                cwd=ROOT,
                stdout=asyncio.subprocess.DEVNULL,
            )
            try:
                await discord.connected(timeout=60)
                bench = Bench(copy, seconds, discord, psutil.Process(process.pid))
                await bench.ask(bench.channel("warm"))
                await bench.all_answered(bench.asked)
                bench.first_memory = bench.process.memory_info().rss / 2**20
                watching = asyncio.create_task(bench.watch_memory())
                yield bench
                watching.cancel()
            finally:
                if process.returncode is None:
                    process.kill()
                await process.wait()


# -- the loads ------------------------------------------------------------------------------------------------------


def told(report: Report, bench: Bench, asked: Sequence[Asked], answered: int, sign: float | None = None) -> None:
    """`sign`: the limit of the first one that people see, in seconds."""
    signs, turns, answers = bench.signs(asked), bench.turns(asked), bench.answers(asked)
    report.row("questions not answered", len(asked) - answered, "", 0)
    report.row("messages of answers that are there twice", bench.doubled(), "", 0)
    if signs and turns and answers:
        report.row("first visible sign, p50", percentile(signs, 0.5), "s")
        report.row("first visible sign, p95", percentile(signs, 0.95), "s", sign)
        report.row("turn, p50", percentile(turns, 0.5), "s")
        report.row("turn, the last", max(turns), "s")
        report.row("answer in Discord, p50", percentile(answers, 0.5), "s")
        report.row("answer in Discord, p95", percentile(answers, 0.95), "s")
        report.row("answer in Discord, the last", max(answers), "s")
    report.row("calls refused for their rate (429)", 100 * bench.refused(), "%", 1)
    report.row("memory grew by at most", bench.most_memory - bench.first_memory, "MB", 300)
    report.row("memory in all", bench.most_memory, "MB")


async def alone(bench: Bench, report: Report) -> None:
    """One question after another (R51)."""
    for number in range(20):
        await bench.ask(bench.channel(f"alone-{number}"))
        await bench.all_answered(bench.asked)
    told(report, bench, bench.asked[1:], len(bench.answers(bench.asked[1:])), sign=1.0)


async def channel(bench: Bench, report: Report) -> None:
    """50 questions at once in one channel, which can have so many new threads in five minutes (R35)."""
    where = bench.channel("busy")
    asked = [await bench.ask(where) for _ in range(THREADS)]
    told(report, bench, asked, await bench.all_answered(asked), sign=1.0)


async def crowd(bench: Bench, report: Report) -> None:
    """Ten questions more at once than one channel can have new threads (R35): those are answered without one."""
    where = bench.channel("crowded")
    asked = [await bench.ask(where) for _ in range(THREADS + 10)]
    told(report, bench, asked, await bench.all_answered(asked))


LOADS: dict[str, Callable[[Bench, Report], Awaitable[None]]] = {"alone": alone, "channel": channel, "crowd": crowd}


async def measure(names: Sequence[str], seconds: float) -> int:
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        await asyncio.to_thread(first_start, home)
        for name in names:
            print(f"\n{name}: {LOADS[name].__doc__}\n\n| | measured | limit | |\n|---|---|---|---|")
            async with running(home, seconds) as bench:
                await LOADS[name](bench, report)
    print(f"\n{report.missed} limits missed" if report.missed else "\nall limits met")
    return int(report.missed > 0)


# -- kills ------------------------------------------------------------------------------------------------------------


async def kills(count: int, seed: int) -> int:
    """Half of the kills come at a named moment of a turn, half at any moment while up to three questions are asked."""
    chance = random.Random(seed)
    print(f"seed {seed}, {count} kills")
    died: Counter[str] = Counter()
    deaths: Counter[str] = Counter()
    asked: list[Doomed] = []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        async with server() as discord, nursery(discord, home) as lives:
            try:
                for _ in range(count):
                    point = chance.choice(POINTS) if chance.random() < 0.5 else ANY
                    await _die(lives, discord, chance, point, asked)
                    died[point] += 1
                    deaths.update(open_turns(home))
                    if any(deaths[message] >= TWICE for message in open_turns(home)):
                        await _recover(lives, discord, home, asked)
                await _recover(lives, discord, home, asked)
                for each in asked:
                    if not interrupted(thread(discord, each)):
                        check_thread(discord, each)
                check_database(home, asked)
            except AssertionError as broken:
                print(f"seed {seed}, kill {died.total()}: {broken}", file=sys.stderr)
                return 1
    print(f"\n{'killed at':14} {'times':>5}")
    for point, times in sorted(died.items()):
        print(f"{point:14} {times:5}")
    gave_up = sum(interrupted(thread(discord, each)) for each in asked)
    print(f"\n{len(asked)} questions, 0 lost, 0 answered twice; {gave_up} that two kills had hit end with an apology")
    print(f"{time.perf_counter() - began:.0f} s")
    return 0


def _claimed(home: Path) -> set[str]:
    if not (home / "kotae.db").exists():
        return set()
    with closing(sqlite3.connect(home / "kotae.db")) as db, suppress(sqlite3.OperationalError):
        return {message for (message,) in db.execute("SELECT message FROM turns")}
    return set()  # it is only being made


async def _recover(lives: Nursery, discord: FakeDiscord, home: Path, asked: Sequence[Doomed]) -> None:
    """A life in which everything that was left comes to its end."""
    bot = await lives.live()
    wanted = {each.message for each in asked}
    await discord.wait_for(lambda: _claimed(home) >= wanted, 60)
    await discord.wait_for(lambda: not open_turns(home), 60)
    await discord.wait_for_idle(timeout=60)
    await lives.end(bot)


async def _die(lives: Nursery, discord: FakeDiscord, chance: random.Random, point: str, asked: list[Doomed]) -> None:
    """One life, to its end."""
    if point == ANY:
        bot = await lives.live(seconds=chance.uniform(0.2, 1.2))
        for _ in range(chance.randint(0, 3)):
            await asyncio.sleep(chance.uniform(0, 0.1))
            asked.append(await ask(discord, len(asked)))
    else:
        hang(discord, point, len(asked))
        bot = await lives.live(len(asked), point)
        await bot.says("ready")
        asked.append(await ask(discord, len(asked)))
        if point == "begun":
            await bot.says("waits")
            await lives.kill(bot)
        elif point in HANGING:
            await discord.wait_for(lambda: hangs(discord, asked[-1]), 60)
            await lives.kill(bot)
    assert await bot.ended() == KILLED, bot.life
    discord.heal()


async def main(given: argparse.Namespace) -> int:
    if given.kills:
        return await kills(given.kills, random.SystemRandom().randrange(10**6) if given.seed is None else given.seed)
    return await measure(given.only.split(",") if given.only else list(LOADS), given.model_seconds)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", help="some of: " + ",".join(LOADS))
    options.add_argument("--model-seconds", type=float, default=0.0, help="0: the extractive model")
    options.add_argument("--kills", type=int, default=0)
    options.add_argument("--seed", type=int)
    sys.exit(asyncio.run(main(options.parse_args())))
