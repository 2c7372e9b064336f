"""Many turns at once, each with a model that takes five seconds: when they are done, what the event loop had of it.

    python -m benchmarks.load [--corpus FOLDER ...] [--chunks 20000] [--turns 200] [--seconds 5] [--unique 300]
    python -m benchmarks.load --chat [--corpus FOLDER ...] --chunks 94000 --unique 6000

The real stores and the real embedder; the model answers from a script after its time. Three loads: turns that need no
search, turns with one search each, all at the same moment (the limit: what the model takes, and 1.2 times what the turns
cost one after another, on all cores), and one channel that floods while ten others ask a little,
with room for ten turns at once: how long each channel waits, and how even that is (Jain's index of the waits of the
ten).

`--chat`: the whole application without a model, asked all at once by `POST /chat`. Its answerer compares the lines that it
reads by meaning, so the texts have to be many (`--unique`; each takes 40 ms to embed)."""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
import uuid
from asyncio.subprocess import PIPE
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import psutil  # type: ignore[import-untyped]

from agent.events import Answered
from agent.models.base import ToolCall
from agent.tools import SEARCH
from benchmarks.asks import WAIT, answering, post
from benchmarks.homes import Asked, Texts, furnish
from benchmarks.loop import watched
from benchmarks.search_latency import CACHE
from benchmarks.turn import opened
from bot.turns.admission import Admission
from bot.turns.turns import Turns
from bot.types import Audience, Incoming, Place
from retrieval.embeddings.local import LocalEmbedder
from tests.fakes.scripted import Reply, ScriptedModel

LIMIT = 1.0  # seconds beyond the model's, for turns without a search
OVERHEAD = 1.2  # of the turns' own cost, for those with one
ALONE = 40  # turns
CHAT = 10  # seconds
STALL = 250  # ms
GROWTH = 300  # MB
FLOODER, QUIET, ROOM = 100, 10, 10
TALK = "Good morning!"  # for which nothing has to be searched
KEEP = '{"verdict": "keep", "critique": "As stated."}'
SHARES = (0.5, 0.4, 0.1)  # of a model's time: choosing the search, the draft, its review


def after(seconds: float) -> asyncio.Event:
    event = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, event.set)
    return event


class Late(ScriptedModel):
    """Each reply takes its time from the moment it is asked for."""

    def __init__(self, *timed: tuple[float, Reply]) -> None:
        super().__init__(*(reply for _, reply in timed))
        self._seconds = [seconds for seconds, _ in timed]

    async def converse(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        await after(self._seconds.pop(0)).wait()
        async for part in super().converse(*args, **kwargs):
            yield part


def talking(seconds: float) -> Late:
    return Late((seconds, Reply(text="Good morning to you!")))


def searching(one: Asked, seconds: float) -> Late:
    search = Reply(thought="Look it up.", calls=(ToolCall("1", SEARCH, {"query": one.text}),))
    replies = (search, Reply(text=f"{one.answer} [1]"), Reply(text=KEEP))
    return Late(*((share * seconds, reply) for share, reply in zip(SHARES, replies, strict=True)))


async def ask(bot: Turns, text: str, channel: str) -> tuple[float, str]:
    """Seconds to the answer, and how it ended."""
    began = time.perf_counter()
    id = uuid.uuid4().hex
    message = Incoming(Place("terminal", "local", channel), id, id, "U1", text, Audience("public"))
    outcome = ""
    async for event in bot.reply(message):
        if isinstance(event, Answered):
            outcome = event.outcome
    return time.perf_counter() - began, outcome


async def burst(bot: Turns, texts: Sequence[str], title: str) -> None:
    """All at once, each in a thread of its own, in ten channels."""
    before = psutil.Process().memory_info().rss / 2**20
    async with watched() as lag:
        began = time.perf_counter()
        ended = await asyncio.gather(*(ask(bot, text, f"c{n % 10}") for n, text in enumerate(texts)))
        whole = time.perf_counter() - began
    grown = psutil.Process().memory_info().rss / 2**20 - before
    good = sum(outcome == "answered" for _, outcome in ended)
    stall = max(tick.late for tick in lag.ticks) * 1000
    print(f"| {title} | {good} of {len(texts)} | {whole:.2f} | {stall:.0f} | {grown:.0f} |", flush=True)


async def flood(bot: Turns, seconds: float) -> None:
    """One channel asks a hundred questions, then ten others one each."""
    crowd = [asyncio.ensure_future(ask(bot, TALK, "loud")) for _ in range(FLOODER)]
    await asyncio.sleep(0)
    others = await asyncio.gather(*(ask(bot, TALK, f"quiet {n}") for n in range(QUIET)))
    loud = [taken for taken, _ in await asyncio.gather(*crowd)]
    waits = [taken for taken, _ in others]
    even = sum(waits) ** 2 / (len(waits) * sum(wait**2 for wait in waits))
    print(
        f"\nroom for {ROOM}, model {seconds:g} s, one channel with {FLOODER} questions: the others wait "
        f"{statistics.median(waits):.2f} s (longest {max(waits):.2f}), the loud one {statistics.median(loud):.2f} s; "
        f"Jain's index of the others {even:.3f} (limit 0.9)"
    )


async def alone(bot: Turns, texts: Sequence[str]) -> float:
    """Seconds that a turn costs beside the model, at the median of some that come one after another."""
    return statistics.median([(await ask(bot, text, "alone"))[0] for text in texts])


async def measure(home: Path, texts: Texts, chunks: int, turns: int, seconds: float) -> None:
    asked = {f"question {n}": texts.questions(n, chunks)[0] for n in range(turns + ALONE)}
    singles, together = [*asked][turns:], [*asked][:turns]
    cores = len(os.sched_getaffinity(0))
    embedder = LocalEmbedder(CACHE)
    await embedder.warm()

    def model(text: str) -> Late:
        if text in asked:
            return searching(asked[text], seconds if text in together else 0.0)
        return talking(seconds)

    print(f"| {turns} turns at once, model {seconds:g} s | answered | all done s | longest stall ms | memory MB |")
    print("|---|---|---|---|---|")
    async with opened(home, embedder, model, defaultdict(float)) as bot:
        own = await alone(bot, singles)
        await burst(bot, [TALK] * turns, "without a search")
        print(f"| limit | | {seconds + LIMIT:g} | {STALL} | {GROWTH} |")
        await burst(bot, together, "with one search each")
        limit = seconds + OVERHEAD * turns * own / cores
        print(f"| limit, at {own * 1000:.0f} ms a turn on {cores} cores | | {limit:.1f} | {STALL} | {GROWTH} |")
    async with AsyncExitStack() as stack:
        crowded = await stack.enter_async_context(
            opened(home, embedder, lambda text: talking(0.2), defaultdict(float), Admission(ROOM))
        )
        await flood(crowded, 0.2)


async def chat(home: Path, texts: Texts, chunks: int, turns: int) -> None:
    """Questions that share their words with a passage, all at once; who asks them has a process of its own."""
    questions = [texts.questions(n, chunks)[0].text for n in range(turns + 1)]
    async with answering(home) as (_, http):
        command = (sys.executable, "-m", "benchmarks.load", "--asker", str(http.base_url))
        asker = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
        worked = time.process_time()
        told, _ = await asker.communicate(json.dumps(questions).encode())
        work = time.process_time() - worked
    whole, good = json.loads(told)
    print(
        f"{turns} POST /chat at once without a model, {chunks:,} chunks: {good} answered, all done after {whole:.1f} s "
        f"(limit {CHAT}), {work:.1f} s of processor time, with the first question of all"
    )


async def ask_all(url: str, questions: Sequence[str]) -> tuple[float, int]:
    """Seconds until all have their reply but the last, which is asked before them, and how many are answered."""
    async with httpx.AsyncClient(base_url=url, timeout=WAIT) as http:
        await post(http, questions[-1])
        began = time.perf_counter()
        replies = await asyncio.gather(*(post(http, question) for question in questions[:-1]))
        return time.perf_counter() - began, sum(reply["outcome"] == "answered" for reply in replies)


async def run(folders: Sequence[Path], chunks: int, turns: int, seconds: float, unique: int, *, chats: bool) -> None:
    texts = await asyncio.to_thread(Texts, folders, unique)
    with tempfile.TemporaryDirectory() as folder:
        await furnish(Path(folder), texts, chunks)
        if chats:
            await chat(Path(folder), texts, chunks, turns)
            return
        await measure(Path(folder), texts, chunks, turns, seconds)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--corpus", type=Path, action="append", default=[], help="a folder in BEIR's layout")
    options.add_argument("--chunks", type=int, default=20_000)
    options.add_argument("--turns", type=int, default=200)
    options.add_argument("--seconds", type=float, default=5.0)
    options.add_argument("--unique", type=int, default=300, help="pieces of text embedded once")
    options.add_argument("--chat", action="store_true", help="questions to the whole application instead")
    options.add_argument("--asker", metavar="URL", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.asker:
        print(json.dumps(asyncio.run(ask_all(chosen.asker, json.load(sys.stdin)))))
        return
    asyncio.run(run(chosen.corpus, chosen.chunks, chosen.turns, chosen.seconds, chosen.unique, chats=chosen.chat))


if __name__ == "__main__":
    main()
