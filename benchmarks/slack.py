"""How soon a bot answers in Slack, and whether it loses anything: `kotae run` as a process of its own, and Slack's
fake.

    python -m benchmarks.slack [--only burst,alone,crowd,channel,flood] [--model-seconds 5]
    python -m benchmarks.slack --kills 200 [--seed N]       SIGKILL at named moments and at any moment
    python -m benchmarks.slack --chaos 20 [--seed N]        everything goes wrong at once, by seeds that are printed

The sample handbook; the extractive model, or one on loopback that takes `--model-seconds` for a turn. Slack's fake
keeps Slack's limits and answers after 50 ms. Each load has a process of its own. Status 1 when a limit is missed or
something is lost or doubled. Source: reliability.md R1, R28, R50, R51, R54."""

import argparse
import asyncio
import random
import re
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
from aiohttp import web

from benchmarks.homes import SAMPLE, percentile
from bot.cli.remote import Owner, reach
from tests.adapters.terminal.pseudo_terminal import first_start
from tests.bot.program import PROGRAM, ROOT, environment
from tests.fakes.openai import KEY, FakeOpenAI
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import slow

QUESTIONS = (
    "How much is the daily allowance for an overnight business trip?",
    "出張の日当はいくらですか？",
    "How many reviews does a change need before it is merged?",
    "経費はいつまでに登録すればいいですか？",
    "What is the command for a rollback?",
    "夏季休暇は何日ですか？",
)
LATENCY = 0.05  # seconds of each call of Slack's
SHARES = (0.5, 0.4, 0.1)  # of a model's time: choosing the search, the draft, its review
PATIENCE = 240.0
SIGNS = ("assistant.threads.setStatus", "chat.startStream", "chat.postMessage")
FLOOD_SECONDS, ROOM = 0.5, 10  # a turn's, and turns at once, while one channel floods
TAG = re.compile(r"\[(\d+)\]")


class TimedModel(FakeOpenAI):
    """Takes `seconds` for a turn; notes when it was first asked each question, by the question's number."""

    def __init__(self, seconds: float) -> None:
        super().__init__(obedient=True)
        self.began: dict[int, float] = {}
        self._seconds = seconds

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        asked = [tag for message in body["messages"] for tag in TAG.findall(str(message.get("content")))]
        if asked:
            self.began.setdefault(int(asked[-1]), time.monotonic())
        reviews, drafts = "response_format" in body, any(each["role"] == "tool" for each in body["messages"])
        await asyncio.sleep(self._seconds * SHARES[2 if reviews else 1 if drafts else 0])
        return await super()._chat(request)


@dataclass(frozen=True, slots=True)
class Asked:
    number: int
    channel: str
    ts: str
    at: float
    wall: float


@dataclass
class Bench:
    """A bot at work, and what it was asked. `seconds` is what its model takes; 0: the extractive one."""

    home: Path
    seconds: float
    slack: FakeSlack
    owner: Owner
    process: psutil.Process
    model: TimedModel | None
    asked: list[Asked] = field(default_factory=list)
    first_memory: float = 0.0
    most_memory: float = 0.0

    async def ask(self, channel: str) -> Asked:
        number = len(self.asked)
        text = f"@kotae {QUESTIONS[number % len(QUESTIONS)]} [{number}]"
        ts = await self.slack.says(channel, "U1", text)
        made = Asked(number, channel, ts, time.monotonic(), time.time())
        self.asked.append(made)
        return made

    def channel(self, name: str) -> str:
        return self.slack.world.add_channel(name, members=("U1", "U2", self.slack.bot_user)).id

    # -- what was seen, in seconds from the question -----------------------------------------------------------------

    def signs(self, asked: Sequence[Asked]) -> list[float]:
        """Until the first sign of life."""
        return self._seen(asked, lambda entry: entry.method in SIGNS and entry.arguments.get("status") != "")

    def answers(self, asked: Sequence[Asked]) -> list[float]:
        return self._seen(asked, lambda entry: _kind(entry.arguments) == "answer")

    def turns(self, asked: Sequence[Asked]) -> list[float]:
        """Until the answer is stored: what comes after that is Slack's pace."""
        with closing(sqlite3.connect(self.home / "kotae.db")) as db:
            rows = db.execute("SELECT message, finished_at FROM turns WHERE finished_at IS NOT NULL").fetchall()
        ended = {ts: datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp() for ts, at in rows}
        return [ended[each.ts] - each.wall for each in asked if each.ts in ended]

    def _seen(self, asked: Sequence[Asked], counts: Callable[[Any], bool]) -> list[float]:
        first: dict[str, float] = {}
        for entry in self.slack.journal.entries:
            thread = str(entry.arguments.get("thread_ts") or "")
            if thread and counts(entry) and entry.answer and entry.answer.get("ok"):
                first[thread] = min(entry.at, first.get(thread, entry.at))
        return [first[each.ts] - each.at for each in asked if each.ts in first]

    async def all_answered(self, asked: Sequence[Asked]) -> int:
        """How many are, at last."""
        with suppress(TimeoutError, AssertionError):
            await self.slack.wait_for(lambda: len(self.answers(asked)) == len(asked), timeout=PATIENCE)
        return len(self.answers(asked))

    def refused(self) -> float:
        """The share of calls that Slack refused for their rate."""
        entries = self.slack.journal.entries
        return sum(each.status == 429 for each in entries) / max(1, len(entries))

    def doubled(self) -> int:
        posts = [
            (each.thread, (each.metadata or {}).get("event_payload", {}).get("part"))
            for each in self.slack.world.messages.values()
            if not each.deleted and _kind({"metadata": each.metadata}) == "answer"
        ]
        return len(posts) - len(set(posts))

    async def watch_memory(self) -> None:
        while True:
            self.most_memory = max(self.most_memory, self.process.memory_info().rss / 2**20)
            await asyncio.sleep(0.2)


def _kind(arguments: Any) -> str:
    return str(((arguments.get("metadata") or {}).get("event_payload") or {}).get("kind", ""))


@asynccontextmanager
async def running(home: Path, seconds: float, **more: str) -> AsyncIterator[Bench]:
    """`kotae run` on a copy of `home`, connected and warm. `seconds` 0: the extractive model."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "home"
        shutil.copytree(home, copy)
        async with FakeSlack() as slack, TimedModel(seconds) as model:
            slack.fail("*", slow(LATENCY))
            chosen = {"KOTAE_MODEL": "openai:qwen3:8b", "OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": KEY}
            named = {
                "SLACK_BOT_TOKEN": slack.bot_token,
                "SLACK_APP_TOKEN": slack.app_token,
                "SLACK_API_URL": slack.api_url,
                "KOTAE_WEB_PORT": "0",
                "KOTAE_USER_PER_MINUTE": "0",
                "KOTAE_CHANNEL_PER_MINUTE": "0",
                "KOTAE_LOG_LEVEL": "ERROR",
                **(chosen if seconds else {"KOTAE_MODEL": "extractive"}),
                **more,
            }
            process = await asyncio.create_subprocess_exec(
                *PROGRAM, "run", env=environment(copy, **named), cwd=ROOT, stdout=asyncio.subprocess.DEVNULL
            )
            try:
                await slack.connected(2, timeout=60)
                async with reach(copy, "en") as owner:
                    assert owner is not None
                    bench = Bench(copy, seconds, slack, owner, psutil.Process(process.pid), model if seconds else None)
                    await bench.ask(bench.channel("CWARM"))
                    await bench.all_answered(bench.asked)
                    bench.first_memory = bench.process.memory_info().rss / 2**20
                    watching = asyncio.create_task(bench.watch_memory())
                    yield bench
                    watching.cancel()
            finally:
                process.kill()
                await process.wait()


# -- the loads ------------------------------------------------------------------------------------------------------


@dataclass
class Report:
    """A table of what was measured; `missed` counts the limits that were."""

    missed: int = 0

    def row(
        self, what: str, measured: float, unit: str = "", limit: float | None = None, *, least: bool = False
    ) -> None:
        good = limit is None or (measured >= limit if least else measured <= limit)
        self.missed += not good
        bound = "" if limit is None else f"{'≥' if least else '≤'} {limit:g} {unit}"
        print(
            f"| {what} | {measured:.3g} {unit} | {bound} | {'' if limit is None else 'met' if good else 'MISSED'} |",
            flush=True,
        )

    def turns(
        self,
        bench: Bench,
        asked: Sequence[Asked],
        answered: int,
        *,
        sign_limit: float | None = None,
        turn_limit: float | None = None,
    ) -> None:
        signs, turns, answers = bench.signs(asked), bench.turns(asked), bench.answers(asked)
        self.row("questions not answered", len(asked) - answered, "", 0)
        self.row("messages of answers that are there twice", bench.doubled(), "", 0)
        if signs:
            self.row("first visible sign, p50", percentile(signs, 0.5), "s")
            self.row("first visible sign, p95", percentile(signs, 0.95), "s", sign_limit)
        if turns:
            self.row("turn, p50", percentile(turns, 0.5), "s")
            self.row("turn, the last", max(turns), "s", turn_limit)
        if answers:
            self.row("answer in Slack, p50", percentile(answers, 0.5), "s")
            self.row("answer in Slack, p95", percentile(answers, 0.95), "s")
            self.row("answer in Slack, the last", max(answers), "s")
        self.row("calls refused for their rate (429)", 100 * bench.refused(), "%", 1)
        self.row("memory grew by at most", bench.most_memory - bench.first_memory, "MB", 300)
        self.row("memory in all", bench.most_memory, "MB")


async def burst(bench: Bench, report: Report) -> None:
    """900 ordinary messages and 100 mentions at once, while pages are added and searches run (R1)."""
    channels = [bench.channel(f"C{n + 100}") for n in range(20)]
    over = asyncio.Event()
    beside = [asyncio.create_task(_add_pages(bench, over)), asyncio.create_task(_search(bench, over))]
    await asyncio.sleep(1.0)
    sent = len(bench.slack.journal.deliveries)
    for number in range(1000):
        channel = channels[number % len(channels)]
        if number % 10:
            await bench.slack.says(channel, "U2", f"Lunch at {number}?")
        else:
            await bench.ask(channel)
    deliveries = bench.slack.journal.deliveries[sent:]
    await bench.slack.wait_for(lambda: all(each.acked for each in deliveries), timeout=PATIENCE)
    late = [each.acks[0].latency * 1000 for each in deliveries]
    answered = await bench.all_answered(bench.asked)
    over.set()
    pages, searches = await asyncio.gather(*beside)
    report.row(f"acknowledgement of {len(late)} envelopes, p50", percentile(late, 0.5), "ms")
    report.row("acknowledgement, p99", percentile(late, 0.99), "ms", 200)
    report.row("acknowledgement, the last", max(late), "ms", 1000)
    report.row("envelopes that Slack had to send again", sum(each.attempts > 1 for each in deliveries), "", 0)
    report.row("beside it, pages added", pages)
    report.row("beside it, searches", searches)
    report.turns(bench, bench.asked[1:], answered - 1)


async def _add_pages(bench: Bench, over: asyncio.Event) -> int:
    pages, number = sorted(SAMPLE.glob("*/*.md")), 0
    while not over.is_set():
        page = pages[number % len(pages)]
        await bench.owner.ingest(page.name, page.read_bytes(), f"round {number // len(pages)}", "team")
        number += 1
    return number


async def _search(bench: Bench, over: asyncio.Event) -> int:
    number = 0
    while not over.is_set():
        await bench.owner("search", query=QUESTIONS[number % len(QUESTIONS)])
        number += 1
    return number


async def alone(bench: Bench, report: Report) -> None:
    """One question after another (R51)."""
    for number in range(20):
        await bench.ask(bench.channel(f"C{number + 100}"))
        await bench.all_answered(bench.asked)
    report.turns(bench, bench.asked[1:], len(bench.answers(bench.asked[1:])), sign_limit=1.0)


async def crowd(bench: Bench, report: Report) -> None:
    """200 questions at once in 20 channels (R54): a turn may take five seconds more than its model, then Slack's limits
    decide."""
    channels = [bench.channel(f"C{n + 100}") for n in range(20)]
    asked = [await bench.ask(channels[number % 20]) for number in range(200)]
    limit = bench.seconds + 5.0 if bench.seconds else None
    report.turns(bench, asked, await bench.all_answered(asked), turn_limit=limit)


async def channel(bench: Bench, report: Report) -> None:
    """50 questions at once in one channel: Slack takes about one message a second there (R28)."""
    where = bench.channel("C100")
    asked = [await bench.ask(where) for _ in range(50)]
    report.turns(bench, asked, await bench.all_answered(asked), sign_limit=6.0)


async def flood(bench: Bench, report: Report) -> None:
    """100 questions in one channel, then one each in ten others, with room for ten turns at once (R54)."""
    assert bench.model is not None
    loud_channel, quiet_channels = bench.channel("C100"), [bench.channel(f"C{n + 101}") for n in range(10)]
    loud = [await bench.ask(loud_channel) for _ in range(100)]
    quiet = [await bench.ask(each) for each in quiet_channels]
    answered = await bench.all_answered(quiet)
    waits, began = bench.answers(quiet), bench.model.began
    report.row("quiet channels without an answer", len(quiet) - answered, "", 0)
    if waits:
        report.row("quiet channels wait, median", statistics.median(waits), "s")
        report.row("quiet channels wait, longest", max(waits), "s")
        report.row(
            "Jain's index of their waits",
            sum(waits) ** 2 / (len(waits) * sum(w**2 for w in waits)),
            "",
            0.9,
            least=True,
        )
    before = [
        sum(
            each.at < began.get(other.number, 0.0) < began.get(each.number, 0.0) and other.at < each.at
            for other in loud
        )
        for each in quiet
    ]
    report.row("turns of the loud channel that begin before a quiet one's, most", max(before), "turns", 1 + ROOM)
    report.turns(bench, loud, await bench.all_answered(loud))


LOADS: dict[str, Callable[[Bench, Report], Awaitable[None]]] = {
    "burst": burst,
    "alone": alone,
    "crowd": crowd,
    "channel": channel,
    "flood": flood,
}


async def measure(names: Sequence[str], seconds: float) -> int:
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        await asyncio.to_thread(first_start, home)
        for name in names:
            load = LOADS[name]
            more = {"KOTAE_CONCURRENCY": str(ROOM)} if name == "flood" else {}
            model = (seconds or FLOOD_SECONDS) if name == "flood" else seconds
            print(f"\n{name}: {load.__doc__}\n\n| | measured | limit | |\n|---|---|---|---|")
            async with running(home, model, **more) as bench:
                await load(bench, report)
    print(f"\n{report.missed} limits missed" if report.missed else "\nall limits met")
    return int(report.missed > 0)


async def main(given: argparse.Namespace) -> int:
    if given.kills or given.chaos:
        from benchmarks.slack_faults import chaos, kills

        seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
        return await (kills(given.kills, seed) if given.kills else chaos(given.chaos, seed))
    return await measure(given.only.split(",") if given.only else list(LOADS), given.model_seconds)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", help="some of: " + ",".join(LOADS))
    options.add_argument("--model-seconds", type=float, default=0.0, help="0: the extractive model")
    options.add_argument("--kills", type=int, default=0)
    options.add_argument("--chaos", type=int, default=0, help="so many seeds")
    options.add_argument("--seed", type=int)
    sys.exit(asyncio.run(main(options.parse_args())))
