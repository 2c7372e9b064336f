"""How long the event loop does not run while people ask and documents are added.

    python -m benchmarks.loop [--corpus FOLDER ...] [--files FOLDER] [--chunks 2000] [--seconds 20] [--askers 3]

The whole application in one process: the extractive model, the real embedder, index and database. Files are those of
the sample handbook unless a folder is given; each round adds them anew. A task asks for the loop every 5 ms; a thread
beside it notes what every thread was doing when the loop is more than 100 ms late. A loop is late because it works
itself, because another thread holds the interpreter lock, or because the machine has no processor free for it; the
last is what Linux counts as a thread's run delay, and the second figure of each pair leaves it out.
"""

import argparse
import asyncio
import linecache
import re
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from benchmarks.homes import SAMPLE, Texts, furnish, percentile
from bot.app import Application, running
from bot.config.settings import Settings
from bot.logs import Redactor
from bot.types import Audience, Incoming, Place, Upload
from retrieval.types import TEAM

TICK = 0.005  # seconds
LATE = 0.1  # seconds: then it is noted what was going on
P99, LONGEST, AIM = 50, 250, 30  # ms
DEPTH = 4  # functions of a stack that are shown
SHOWN = 8  # stacks
HERE = str(Path(__file__).parents[1])
SCHEDULED = Path("/proc/thread-self/schedstat")
WAITING = re.compile(r"\.get\(|\.wait\(|waitpid|\.select\(|\.poll\(|\.acquire\(|\.recv\(")


@dataclass(frozen=True, slots=True)
class Tick:
    """How late one was, and of that the loop's own work and its waiting for a processor, in seconds."""

    late: float
    worked: float
    delayed: float

    @property
    def ours(self) -> float:
        return max(0.0, self.late - self.delayed)


@dataclass(slots=True)
class Lag:
    """The ticks, and what was going on when one was very late."""

    ticks: list[Tick] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    last: float = 0.0

    def row(self, what: str) -> str:
        late, ours = [t.late * 1000 for t in self.ticks], [t.ours * 1000 for t in self.ticks]
        worst = max(self.ticks, key=lambda tick: tick.ours)
        many = sum(t.late > LATE for t in self.ticks), sum(t.ours > LATE for t in self.ticks)
        return (
            f"| {what} | {percentile(late, 0.99):.0f} / {percentile(ours, 0.99):.0f} | {max(late):.0f} / {max(ours):.0f} "
            f"| {worst.worked * 1000:.0f} | {many[0]} / {many[1]} |"
        )


@asynccontextmanager
async def watched() -> AsyncIterator[Lag]:
    """Measure the loop inside the block."""
    lag = Lag(last=time.perf_counter())
    over = threading.Event()
    main = threading.get_ident()

    async def ticking() -> None:
        worked, delayed = _processor()
        while True:
            await asyncio.sleep(TICK)
            now = time.perf_counter()
            before, (worked, delayed) = (worked, delayed), _processor()
            lag.ticks.append(Tick(max(0.0, now - lag.last - TICK), worked - before[0], delayed - before[1]))
            lag.last = now

    def watching() -> None:
        noted, before = 0.0, time.perf_counter()
        while not over.wait(TICK):
            now = time.perf_counter()
            if now - before > LATE or (now - lag.last > LATE and lag.last != noted):  # this thread was held up too
                noted = lag.last
                lag.seen.update(_doing(main))
            before = now

    thread = threading.Thread(target=watching, daemon=True)
    ticker = asyncio.create_task(ticking())
    thread.start()
    try:
        yield lag
    finally:
        ticker.cancel()
        over.set()
        await asyncio.to_thread(thread.join)


def _processor() -> tuple[float, float]:
    """Seconds this thread has worked, and has waited for a processor; the latter is 0 where the system does not say."""
    try:
        return time.thread_time(), int(SCHEDULED.read_text().split()[1]) / 1e9
    except OSError:
        return time.thread_time(), 0.0


def _doing(main: int) -> list[str]:
    """What the threads that are not waiting are in."""
    found = [
        f"{'loop' if ident == main else 'thread'}: {_stack(frame)}"
        for ident, frame in sys._current_frames().items()
        if ident != threading.get_ident()
        and frame.f_code.co_filename != __file__
        and not WAITING.search(linecache.getline(frame.f_code.co_filename, frame.f_lineno))
    ]
    return found or ["nothing of ours"]


def _stack(frame: FrameType | None) -> str:
    names: list[str] = []
    while frame is not None:
        path = frame.f_code.co_filename
        own = path.startswith(HERE) and "site-packages" not in path
        if (own and path != __file__) or not names:  # the innermost, then ours
            names.append(f"{Path(path).stem}.{frame.f_code.co_name}:{frame.f_lineno}")
        frame = frame.f_back
    return " ← ".join(names[:DEPTH])


# -- the load -------------------------------------------------------------------------------------------------------


async def one(app: Application, text: str, channel: str) -> None:
    place = Place("terminal", "local", channel)
    message = Incoming(place, uuid.uuid4().hex, uuid.uuid4().hex, "U1", text, Audience("public"))
    async for _ in app.bot.turns.reply(message):
        pass


async def asking(app: Application, questions: Sequence[str], first: int, until: float) -> int:
    """One question after another; returns how many were answered."""
    number = first
    while time.monotonic() < until:
        await one(app, questions[number % len(questions)], f"c{first}")
        number += 1
    return number - first


async def adding(app: Application, files: Sequence[Path], until: float) -> tuple[int, int]:
    """Files and chunks that were added. Every round writes them anew in a collection of its own."""
    added = chunks = number = 0
    while time.monotonic() < until:
        path = files[number % len(files)]
        data = await asyncio.to_thread(path.read_bytes)
        verdict = await app.knowledge.add(Upload(path.name, data, f"round {number // len(files)}", TEAM, "U1"), "en")
        added += verdict.status == "added"
        chunks += verdict.chunks
        number += 1
    return added, chunks


async def measure(home: Path, questions: Sequence[str], files: Sequence[Path], seconds: float, askers: int) -> str:
    settings = Settings(KOTAE_HOME=home, KOTAE_MODEL="extractive")  # type: ignore[call-arg]  # by their outside names
    async with running(settings, Redactor()) as app:
        async with watched() as idle:
            await asyncio.sleep(min(3.0, seconds))
        async with watched() as first:
            await one(app, questions[-1], "first")  # loads tokenizers and weights
        until = time.monotonic() + seconds
        async with watched() as busy:
            writing = asyncio.create_task(adding(app, files, until))
            answered = await asyncio.gather(*(asking(app, questions, 7 * n, until) for n in range(askers)))
            added, chunks = await writing
    seen = "\n".join(
        f"- {what}, {times} × {stack}"
        for what, lag in (("first question", first), ("mixed", busy))
        for stack, times in lag.seen.most_common(SHOWN)
    )
    return "\n".join(
        (
            f"{askers} askers at once, {sum(answered)} answers, {added} files added ({chunks} chunks), {seconds:g} s.\n",
            "| lag of the event loop | p99 ms | longest ms | of that its own work ms | over 100 ms |\n|---|---|---|---|---|",
            idle.row("nothing to do"),
            first.row("the first question, which loads everything"),
            busy.row("questions and ingest"),
            f"| limit | {P99} | {LONGEST} (aim {AIM}) | | |",
            "\nThe second of two figures leaves out the time in which the machine had no processor free for the loop.",
            f"\nWhat went on when it was over 100 ms late:\n\n{seen}" if seen else "",
        )
    )


async def run(folders: Sequence[Path], files: Path, chunks: int, seconds: float, askers: int, unique: int) -> None:
    texts = await asyncio.to_thread(Texts, folders, unique)
    found = await asyncio.to_thread(lambda: sorted(path for path in files.rglob("*") if path.is_file()))
    with tempfile.TemporaryDirectory() as folder:
        await furnish(Path(folder), texts, chunks)
        questions = [one.text for n in range(100) for one in texts.questions(n, chunks)]
        print(await measure(Path(folder), questions, found, seconds, askers))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--corpus", type=Path, action="append", default=[], help="a folder in BEIR's layout")
    options.add_argument("--files", type=Path, default=SAMPLE, help="a folder of files to add")
    options.add_argument("--chunks", type=int, default=2_000)
    options.add_argument("--seconds", type=float, default=20.0)
    options.add_argument("--askers", type=int, default=3)
    options.add_argument("--unique", type=int, default=600, help="pieces of text embedded once")
    chosen = options.parse_args()
    asyncio.run(run(chosen.corpus, chosen.files, chosen.chunks, chosen.seconds, chosen.askers, chosen.unique))


if __name__ == "__main__":
    main()
