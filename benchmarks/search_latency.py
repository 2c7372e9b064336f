"""How long a search takes, how much memory the store holds, and how long the event loop waits.

    python -m benchmarks.search_latency --corpus FOLDER [--corpus FOLDER] [--sizes 1000,20000,50000]

FOLDER is in BEIR's layout; give one of each language. Its paragraphs are repeated with variation (a seventh of the
terms dropped, the vector turned a little) until a size is reached. Each size is measured in a process of its own that
opens the store anew."""

import argparse
import asyncio
import hashlib
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped]
from qdrant_edge import QueryBatchRequest

from retrieval.embeddings.local import LocalEmbedder
from retrieval.index import USING, EdgeIndex
from retrieval.index.base import parts
from retrieval.index.edge import _nearest
from retrieval.search import Search
from retrieval.sparse import SparseEncoder
from retrieval.text import language_of, sentences
from retrieval.types import Passage, Point, Probe, Readers, Reading, SparseVector, View

CACHE = Path.home() / ".cache" / "kotae"
SEEN = View(Readers(frozenset({"team", "everyone"})), 1)
DIMENSIONS = 384
PEER = 1_000  # points: one takes qdrant-client in this mode 10 ms to write
QUERIES = 60
MILLISECONDS = ("p50", "p95", "engine_p50", "engine_p95", "processor", "engine_processor", "eight", "idf", "stall")


class Corpus:
    """Unique passages with their vectors; points and questions made from them."""

    def __init__(self, folders: Sequence[Path], limit: int) -> None:
        self.texts = list(_paragraphs(folders))
        random.Random(1).shuffle(self.texts)
        self.texts = self.texts[:limit]
        sparse = SparseEncoder()
        parts = [text.partition("\n") for text in self.texts]
        self.sparse = [sparse.document(title, *sentences(text)) for title, _, text in parts]
        self.dense = asyncio.run(_embedded(self.texts))

    def points(self, count: int) -> Iterator[Point]:
        for number in range(count):
            chance = random.Random(number)
            source = number % len(self.texts)
            words, ngrams = self.sparse[source].words, self.sparse[source].ngrams
            vector = self.dense[source]
            if number >= len(self.texts):
                words, ngrams = _thinned(words, chance), _thinned(ngrams, chance)
                vector = vector + np.random.default_rng(number).normal(0, 0.01, DIMENSIONS)
            passage = Passage(
                collection=f"c{number % 5}",
                document_id=f"d{number // 20}",
                document=f"page {number // 20}.md",
                chunk=number % 20,
                text=self.texts[source],
                scope="team" if number % 3 else "place:slack:T1:C1",
            )
            key = f"00000000-0000-4000-8000-{number:012x}"
            yield Point(key, passage, self.reading(source), vector.tolist(), words, ngrams, 1)

    def reading(self, source: int) -> Reading:
        heads, *lines = self.sparse[source].parts
        return Reading(language_of(self.texts[source]), heads, tuple(lines))

    def questions(self) -> list[dict[str, Any]]:
        """About eight words of a passage with all their n-grams, and a vector near the passage's."""
        made = []
        for number in range(QUERIES):
            chance = random.Random(-1 - number)
            source = chance.randrange(len(self.texts))
            words, ngrams = self.sparse[source].words, self.sparse[source].ngrams
            made.append(
                {
                    "text": _piece(self.texts[source], chance),
                    "dense": (self.dense[source] + np.random.default_rng(number).normal(0, 0.03, DIMENSIONS)).tolist(),
                    "words": sorted(chance.sample(words.indices, min(8, len(words.indices)))),
                    "ngrams": sorted(chance.sample(ngrams.indices, min(30, len(ngrams.indices)))),
                }
            )
        return made


def _piece(text: str, chance: random.Random) -> str:
    """About as much text as a question."""
    start = chance.randrange(max(1, len(text) - 40))
    return text[start : start + 40]


def _paragraphs(folders: Sequence[Path]) -> Iterator[str]:
    for folder in folders:
        with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                for paragraph in row["text"].split("\n\n"):
                    if len(paragraph) > 100:
                        yield f"{row['title']}\n{paragraph[:1000]}"


def _thinned(vector: SparseVector, chance: random.Random) -> SparseVector:
    kept = [pair for pair in zip(vector.indices, vector.values, strict=True) if chance.random() > 1 / 7]
    return SparseVector(tuple(index for index, _ in kept), tuple(value for _, value in kept))


async def _embedded(texts: Sequence[str]) -> Any:
    name = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    path = CACHE / "benchmarks" / f"{name}.npy"
    if not await asyncio.to_thread(path.exists):
        print(f"embedding {len(texts)} passages once …", file=sys.stderr)
        vectors = np.array(await LocalEmbedder(CACHE).embed_documents(texts), dtype="f4")
        await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
        await asyncio.to_thread(np.save, path, vectors)
    return await asyncio.to_thread(np.load, path)


# -- ours -----------------------------------------------------------------------------------------------------------


async def _opened(folder: Path) -> EdgeIndex:
    return await EdgeIndex.open(folder, dimensions=DIMENSIONS, embedder="benchmark", tokenizer="benchmark")


async def build(folder: Path, corpus: Corpus, count: int) -> float:
    """Points a second."""
    index = await _opened(folder)
    spent = 0.0
    waiting: list[Point] = []
    for number, point in enumerate(corpus.points(count), 1):
        waiting.append(point)
        if len(waiting) == 512 or number == count:
            started = time.perf_counter()
            await index.put(waiting)
            spent += time.perf_counter() - started
            waiting = []
    await index.close()
    return count / spent


async def measure(folder: Path, questions: Sequence[dict[str, Any]]) -> dict[str, float]:
    """In a process of its own: what `kotae run` would see after a start."""
    empty = _memory()
    started = time.perf_counter()
    index = await _opened(folder)
    opening = time.perf_counter() - started

    async def hybrid(question: dict[str, Any]) -> None:
        (found,) = await index.query(
            SEEN, Probe(question["dense"], _counted(question["words"]), _counted(question["ngrams"]))
        )
        assert len(found.branches) == 3 and not found.failed

    async def weights(question: dict[str, Any]) -> None:
        await index.query(SEEN, Probe(weigh=question["words"]))

    async def together(question: dict[str, Any]) -> None:
        """As a model's four wordings in two languages are asked: two of them by meaning."""
        first = questions.index(question)
        probes = [
            Probe(one["dense"] if number < 2 else None, _counted(one["words"]), _counted(one["ngrams"]))
            for number, one in enumerate([*questions, *questions][first : first + 4])
        ]
        assert len(await index.query(SEEN, *probes)) == 4

    for question in questions[:10]:
        await hybrid(question)
    spent = [0.0, 0.0]
    for question in questions:
        for number, ask in enumerate((hybrid, together)):
            started = time.process_time()
            await ask(question)
            spent[number] += time.process_time() - started
    whole = await _whole(index, [question["text"] for question in questions])
    alone: list[float] = []
    engine: list[float] = []
    processor = [0.0, 0.0]
    for question in [*questions, *questions]:  # in turns: other work on the machine hits both
        requests = _requests(index, question)
        for number, (times, asking) in enumerate(((alone, hybrid(question)), (engine, _bare(index, requests)))):
            started, clock = time.process_time(), time.perf_counter()
            await asking
            times.append(time.perf_counter() - clock)
            processor[number] += (time.process_time() - started) / (2 * len(questions))
    idf = [await _timed(weights, question) for question in questions]
    memory = _memory() - empty
    started = time.perf_counter()
    await asyncio.gather(*(hybrid(question) for question in questions[:8]))
    eight = time.perf_counter() - started
    stall = await _stall(index, hybrid, questions)
    await index.close()
    return {
        "opening": opening,
        "p50": statistics.median(alone),
        "p95": _p95(alone),
        "processor": processor[0],
        "engine_p50": statistics.median(engine),
        "engine_p95": _p95(engine),
        "engine_processor": processor[1],
        "idf": statistics.median(idf),
        "eight": eight,
        "four": spent[1] / spent[0],
        **whole,
        "stall": stall,
        "memory": memory,
        "process": memory + empty,
    }


def _requests(index: EdgeIndex, question: dict[str, Any]) -> QueryBatchRequest:
    """What a search asks the engine for, ready to be sent."""
    asked = parts([Probe(question["dense"], _counted(question["words"]), _counted(question["ngrams"]))])
    return QueryBatchRequest([_nearest(part, at, index._sight(SEEN), 50) for part, at in asked.items()])


async def _bare(index: EdgeIndex, requests: QueryBatchRequest) -> None:
    index._shard.query_batch(requests)


async def _whole(index: EdgeIndex, texts: Sequence[str]) -> dict[str, float]:
    """How many times as long a search takes with a model's four queries, two in each language, as with one of them:
    on the processor and by the clock, embedding and relevance included."""
    embedder = LocalEmbedder(CACHE)
    await embedder.warm()
    search = Search(index, embedder, SparseEncoder())
    await search(texts[:1], SEEN)
    japanese, english = ([text for text in texts if language_of(text) == language] for language in ("ja", "en"))
    fours = [[*ja, *en] for ja, en in zip(_pairs(japanese), _pairs(english), strict=False)]
    spent: dict[int, list[tuple[float, float]]] = {1: [], 4: []}
    for number, four in enumerate(fours):
        for count in (1, 4):
            queries = [f"{text} ({count})" for text in (four if count == 4 else four[number % 4 :][:1])]
            processor, clock = time.process_time(), time.perf_counter()
            await search(queries, SEEN, written_by="model")
            spent[count].append((time.process_time() - processor, time.perf_counter() - clock))
    one, several = ([sum(column) for column in zip(*spent[count], strict=True)] for count in (1, 4))
    return {"four_processor": several[0] / one[0], "four_clock": several[1] / one[1]}


def _pairs(texts: Sequence[str]) -> list[Sequence[str]]:
    return [texts[at : at + 2] for at in range(0, len(texts) - 1, 2)]


async def _stall(
    index: EdgeIndex, hybrid: Callable[[dict[str, Any]], Awaitable[None]], questions: Sequence[dict[str, Any]]
) -> float:
    """The longest time the loop did not run, during searches by four and a write of 1,000 points."""
    worst = 0.0

    async def watching() -> None:
        nonlocal worst
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            worst = max(worst, time.perf_counter() - before - 0.001)

    async def asking(start: int) -> None:
        while not writing.done():
            await hybrid(questions[start % len(questions)])
            start += 4

    passages, _ = await index.scroll(SEEN, limit=1000)
    chance = np.random.default_rng(5)
    reading = Reading("en", frozenset(), ())
    terms = SparseVector(tuple(range(1000, 1300)), (1.0,) * 300)
    points = [
        Point(
            f"10000000-0000-4000-8000-{n:012x}",
            passage,
            reading,
            chance.normal(0, 1, DIMENSIONS).tolist(),
            terms,
            terms,
            2,
        )
        for n, passage in enumerate(passages)
    ]
    watcher = asyncio.ensure_future(watching())
    writing = asyncio.ensure_future(index.put(points))
    await asyncio.gather(writing, *(asking(n) for n in range(4)))
    watcher.cancel()
    return worst


def _counted(terms: Sequence[int]) -> SparseVector:
    return SparseVector(tuple(terms), (1.0,) * len(terms))


async def _timed(work: Callable[[dict[str, Any]], Awaitable[None]], question: dict[str, Any]) -> float:
    started = time.perf_counter()
    await work(question)
    return time.perf_counter() - started


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def _memory() -> float:
    return float(psutil.Process().memory_info().rss) / 2**20


# -- the peer -------------------------------------------------------------------------------------------------------


def peer(folder: Path, corpus: Corpus, count: int, questions: Sequence[dict[str, Any]]) -> tuple[float, float, float]:
    """qdrant-client's path= mode, the same points, questions and filter: points a second, p50, p95."""
    from qdrant_client import QdrantClient, models

    warnings.simplefilter("ignore")
    client = QdrantClient(path=str(folder))
    client.create_collection(
        "peer",
        vectors_config={"default": models.VectorParams(size=DIMENSIONS, distance=models.Distance.COSINE)},
        sparse_vectors_config={
            name: models.SparseVectorParams(modifier=models.Modifier.IDF) for name in ("text-sparse", "text-ngram")
        },
    )

    def sparse(vector: SparseVector) -> models.SparseVector:
        return models.SparseVector(indices=[*vector.indices], values=[*vector.values])

    points = [
        models.PointStruct(
            id=point.id,
            vector={
                USING["dense"]: point.dense,
                USING["words"]: sparse(point.words),
                USING["ngrams"]: sparse(point.ngrams),
            },
            payload={"scope": point.passage.scope, "text": point.passage.text, "born": 1, "died": 10**9},
        )
        for point in corpus.points(count)
    ]
    started = time.perf_counter()
    client.upsert("peer", points)
    rate = count / (time.perf_counter() - started)
    seen = models.Filter(
        must=[
            models.FieldCondition(key="scope", match=models.MatchAny(any=["team", "everyone"])),
            models.FieldCondition(key="born", range=models.Range(lte=1)),
            models.FieldCondition(key="died", range=models.Range(gt=1)),
        ]
    )
    spent = []
    for question in questions[:15]:
        asked = {
            USING["dense"]: question["dense"],
            USING["words"]: sparse(_counted(question["words"])),
            USING["ngrams"]: sparse(_counted(question["ngrams"])),
        }
        requests = [
            models.QueryRequest(query=query, using=using, filter=seen, limit=50, with_payload=True)
            for using, query in asked.items()
        ]
        started = time.perf_counter()
        client.query_batch_points("peer", requests)
        spent.append(time.perf_counter() - started)
    client.close()
    return rate, statistics.median(spent), _p95(spent)


# -- the table ------------------------------------------------------------------------------------------------------


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--corpus", type=Path, action="append", default=[])
    options.add_argument("--sizes", default="1000,20000,50000")
    options.add_argument("--unique", type=int, default=1500, help="passages embedded once; the rest are variations")
    options.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.measure:
        questions = json.loads((chosen.measure / "questions.json").read_text())
        print(json.dumps(asyncio.run(measure(chosen.measure / "index", questions))))
        return
    if not chosen.corpus:
        options.error("--corpus FOLDER is needed")
    corpus = Corpus(chosen.corpus, chosen.unique)
    questions = corpus.questions()
    print("Hybrid search: three branches of 50, filter on access and generation, passages and terms included.\n")
    print(
        "| store | points | written /s | p50 ms | p95 ms | the bare engine, p50 / p95 ms | p95 × engine; limit 1.4 ",
        end="",
    )
    print("| processor ms | engine's | 8 at once ms | idf, 8 words, ms ", end="")
    print("| 4 queries in one batch, × | 4 queries, whole search, processor × / clock × ", end="")
    print("| longest stall ms | opening s | store MB | process MB |")
    print("|---" * 17 + "|")
    for size in map(int, chosen.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            rate = asyncio.run(build(Path(folder) / "index", corpus, size))
            (Path(folder) / "questions.json").write_text(json.dumps(questions))
            command = [sys.executable, "-m", "benchmarks.search_latency", "--measure", folder]
            ran = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        ms = {name: f"{ran[name] * 1000:.1f}" for name in MILLISECONDS}
        print(
            f"| embedded | {size:,} | {rate:,.0f} | {ms['p50']} | {ms['p95']} | {ms['engine_p50']} / {ms['engine_p95']} "
            f"| {ran['p95'] / ran['engine_p95']:.2f} | {ms['processor']} | {ms['engine_processor']} | {ms['eight']} | {ms['idf']} ",
            end="",
        )
        print(f"| {ran['four']:.2f} | {ran['four_processor']:.2f} / {ran['four_clock']:.2f} ", end="")
        print(f"| {ms['stall']} | {ran['opening']:.1f} | {ran['memory']:,.0f} | {ran['process']:,.0f} |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        rate, p50, p95 = peer(Path(folder), corpus, PEER, questions)
    print(
        f"| qdrant-client path= | {PEER:,} | {rate:,.0f} | {p50 * 1000:.1f} | {p95 * 1000:.1f} | | | | | | | | | | | | |"
    )


if __name__ == "__main__":
    main()
