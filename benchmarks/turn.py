"""What a turn costs beside the model and the embedder: claim, searches, grounding and storing, in the real stores.

    python -m benchmarks.turn [--corpus FOLDER ...] [--chunks 20000] [--turns 300]

The model answers at once from a script: three searches, one after the other, a draft of three cited sentences and a
review. A question's vector is looked up instead of computed; what the embedder would add is measured apart.
"""

import argparse
import asyncio
import gc
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import TypeVar

from agent.conversation import Ask
from agent.events import Answered, Events, Reflected, ToolCalled, ToolReturned
from agent.models.base import ChatModel, ToolCall
from agent.strategies.react import Agent
from agent.tools import SEARCH
from benchmarks.homes import Asked, Texts, database_url, furnish, open_index, percentile
from benchmarks.search_latency import CACHE
from bot.knowledge.content_store import content_store
from bot.knowledge.documents import KnowledgeBase
from bot.knowledge.snapshots import Snapshots
from bot.logs import ChatLog, Redactor
from bot.store.collections import Collections
from bot.store.conversations import Conversations
from bot.store.documents import Documents
from bot.store.engine import connect
from bot.store.feedback import Votes
from bot.store.searches import Searches
from bot.store.turns import TurnStore
from bot.store.vector_stores import VectorStores
from bot.turns.admission import Admission
from bot.turns.queue import TurnQueue
from bot.turns.turns import Turns
from bot.types import Audience, Claimed, Incoming, Place
from retrieval.embeddings.base import EmbeddingClient
from retrieval.embeddings.local import LocalEmbedder
from retrieval.ingest import Ingest
from retrieval.loaders.loader import Loader
from retrieval.search import Search
from retrieval.sparse import TOKENIZER, SparseEncoder
from retrieval.types import CONFIDENT, CollectionInfo, Found, Hit, Readers, Vector, Vectors
from tests.fakes.scripted import Reply, ScriptedModel

T = TypeVar("T")
P50, P95 = 30, 60  # ms: the limits for three calls at 20,000 chunks
THREAD = 5  # turns
WARM_UP = 10
PLACE = Place("terminal", "local", "benchmark")
PARTS = (
    "claimed and started",
    "three searches",
    "of which search",
    "checked",
    "stored",
    "processor, all threads",
)

Spent = dict[str, float]


class LookedUp:
    """An embedder that knows the vectors of the questions already."""

    def __init__(self, embedder: LocalEmbedder, vectors: Mapping[str, Vector]) -> None:
        self.name, self.dimensions, self.max_tokens = embedder.name, embedder.dimensions, embedder.max_tokens
        self.count_tokens = embedder.count_tokens
        self._vectors = vectors

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        raise AssertionError("nothing is added in this benchmark")

    async def embed_query(self, text: str) -> Vector:
        return self._vectors[text]

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return [self._vectors[text] for text in texts]


class Watched:
    """An agent, and the time each of its parts takes."""

    def __init__(self, agent: Agent, spent: Spent) -> None:
        self._agent = agent
        self._spent = spent

    async def run(self, ask: Ask) -> Events:
        before = time.perf_counter()
        self._spent["claimed and started"] += before
        async with aclosing(self._agent.run(ask)) as events:
            async for event in events:
                now = time.perf_counter()
                match event:
                    case ToolReturned():
                        self._spent["three searches"] += now - before
                    case Answered():
                        self._spent["checked"] += now - before
                        self._spent["stored"] -= now
                    case ToolCalled() | Reflected():
                        before = now
                yield event


def timed(spent: Spent, part: str, work: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    async def run(*args: object, **kwargs: object) -> T:
        before = time.perf_counter()
        try:
            return await work(*args, **kwargs)
        finally:
            spent[part] += time.perf_counter() - before

    return run


def script(asked: Sequence[Asked]) -> ScriptedModel:
    searching = [
        Reply(thought=f"Look it up: {one.text}", calls=(ToolCall(str(n), SEARCH, {"query": one.text}),))
        for n, one in enumerate(asked)
    ]
    draft = " ".join(f"{one.answer} [{n}]" for n, one in enumerate(asked, 1))
    judging = Reply(text='{"verdicts": []}')  # where the check leaves a claim open
    review = Reply(text='{"verdict": "keep", "critique": "As stated."}')
    return ScriptedModel(*searching, Reply(text=draft), review, judging)


@asynccontextmanager
async def opened(
    home: Path,
    embedder: EmbeddingClient,
    make_model: Callable[[str], ChatModel],
    spent: Spent,
    admission: Admission | None = None,
) -> AsyncIterator[Turns]:
    """The application's parts; `make_model` gives the model for a question."""
    async with AsyncExitStack() as stack:
        engine = connect(database_url(home))
        stack.push_async_callback(engine.dispose)
        index = await open_index(home)
        stack.push_async_callback(index.close)
        sparse = SparseEncoder()
        stores = VectorStores(engine)
        row = await stores.open(embedder.name, embedder.dimensions, TOKENIZER)
        knowledge = KnowledgeBase(
            documents=Documents(engine, embedder.name),
            collections=Collections(engine),
            searches=Searches(engine),
            index=index,
            ingest=Ingest(embedder, sparse, index),
            search=Search(index, embedder, sparse),
            loader=await stack.enter_async_context(Loader()),
            kept=content_store(engine, home / "documents"),
            snapshots=Snapshots(index, stores, row),
        )
        await knowledge.stored.recover()
        inbox = TurnQueue(TurnStore(engine))
        stack.push_async_callback(inbox.close)

        def make_agent(claimed: Claimed, allowed: Readers, infos: tuple[CollectionInfo, ...]) -> Watched:
            async def search(queries: Sequence[str], chosen: tuple[str, ...] | None) -> Found:
                return await knowledge.search(queries, allowed, chosen, min_relevance=0.0)

            async def still_readable(hits: Sequence[Hit]) -> frozenset[str]:
                return await knowledge.readable(hits, allowed)

            agent = Agent(
                make_model(claimed.message.text),
                timed(spent, "of which search", search),
                still_readable=still_readable,
                confident=CONFIDENT,
            )
            return Watched(agent, spent)

        async def list_collections(message: Incoming, allowed: Readers) -> tuple[CollectionInfo, ...]:
            return await knowledge.collections(allowed)

        yield Turns(
            inbox,
            Conversations(engine),
            Votes(engine),
            make_agent=make_agent,
            list_collections=list_collections,
            chat_log=ChatLog(home / "logs" / "agent_chat.log", Redactor()),
            admission=admission,
        )


async def measure(home: Path, texts: Texts, chunks: int, count: int) -> tuple[list[Spent], list[Answered]]:
    """What each turn spent, in seconds a part, and how it ended."""
    asked = {f"question {n}": texts.questions(n, chunks) for n in range(count + WARM_UP)}
    spent: Spent = defaultdict(float)
    turns: list[Spent] = []
    answers: list[Answered] = []
    embedder = LookedUp(LocalEmbedder(CACHE), {one.text: one.vector for group in asked.values() for one in group})
    async with opened(home, embedder, lambda text: script(asked[text]), spent) as bot:
        gc.collect()
        gc.freeze()  # as a bot does that runs for long
        for number, text in enumerate(asked):
            spent.clear()
            message = Incoming(PLACE, f"thread {number // THREAD}", text, "U1", text, Audience("public"), "en")
            began, worked = time.perf_counter(), time.process_time()
            spent["claimed and started"] -= began
            last = None
            async for event in bot.reply(message):
                last = event
            ended = time.perf_counter()
            spent["stored"] += ended
            spent["whole turn"] = ended - began
            spent["processor, all threads"] = time.process_time() - worked
            if isinstance(last, Answered) and number >= WARM_UP:
                answers.append(last)
                turns.append(dict(spent))
    return turns, answers


async def embedding(asked: Sequence[Asked]) -> float:
    """Seconds the real embedder takes for a question, at the median."""
    embedder = LocalEmbedder(CACHE)
    await embedder.warm()
    spent: Spent = defaultdict(float)
    taken = []
    for one in asked:
        spent.clear()
        await timed(spent, "embedded", embedder.embed_query)(one.text)
        taken.append(spent["embedded"])
    return statistics.median(taken)


async def run(folders: Sequence[Path], chunks: int, count: int, unique: int) -> None:
    texts = await asyncio.to_thread(Texts, folders, unique)
    with tempfile.TemporaryDirectory() as folder:
        await furnish(Path(folder), texts, chunks)
        turns, answers = await measure(Path(folder), texts, chunks, count)
    embedded = await embedding([one for n in range(20) for one in texts.questions(n, chunks)])
    good = sum(answer.outcome == "answered" for answer in answers)
    cited = statistics.mean(len(answer.citations) for answer in answers)
    print(f"{len(turns)} turns of three searches over {chunks:,} chunks, model and embedder at no cost; ", end="")
    print(f"{good} answered, with {cited:.1f} citations each.\n")
    print("| part | p50 ms | limit | p95 ms | limit |\n|---|---|---|---|---|")
    for part in ("whole turn", *PARTS):
        values = [turn.get(part, 0.0) * 1000 for turn in turns]
        limits = (P50, P95) if part == "whole turn" else ("", "")
        print(
            f"| {part} | {percentile(values, 0.5):.1f} | {limits[0]} | {percentile(values, 0.95):.1f} | {limits[1]} |"
        )
    print(f"| apart: three questions embedded | {3 * embedded * 1000:.1f} | | | |")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--corpus", type=Path, action="append", default=[], help="a folder in BEIR's layout")
    options.add_argument("--chunks", type=int, default=20_000)
    options.add_argument("--turns", type=int, default=300)
    options.add_argument("--unique", type=int, default=600, help="pieces of text embedded once")
    chosen = options.parse_args()
    asyncio.run(run(chosen.corpus, chosen.chunks, chosen.turns, chosen.unique))


if __name__ == "__main__":
    main()
