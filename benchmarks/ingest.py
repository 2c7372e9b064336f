"""How fast documents become searchable, beside the bare embedder on the same texts and the store without it.

    python -m benchmarks.ingest --corpus FOLDER [--documents 100]

FOLDER is in BEIR's layout.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from retrieval.chunking import embedding_text
from retrieval.embeddings.local import LocalEmbedder
from retrieval.index import EdgeIndex
from retrieval.ingest import Entry, Ingest
from retrieval.sparse import TOKENIZER, SparseEncoder
from retrieval.types import Document, Passage, Vector, Vectors

CACHE = Path.home() / ".cache" / "kotae"
ROUNDS = 3
LIMIT = 0.95


class Remembered:
    """The embedder's vectors, given at once: what is left is everything else."""

    def __init__(self, embedder: LocalEmbedder, vectors: dict[str, Vector]) -> None:
        self.name, self.dimensions, self.max_tokens = embedder.name, embedder.dimensions, embedder.max_tokens
        self.count_tokens = embedder.count_tokens
        self.embed_query, self.embed_queries = embedder.embed_query, embedder.embed_queries
        self._vectors = vectors

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return [self._vectors[text] for text in texts]


def _entries(folder: Path, count: int, mark: str) -> list[Entry]:
    """With a mark in each title, so that no text has been seen before."""
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for _, line in zip(range(count), lines, strict=False)]
    return [
        Entry(
            Document(row["_id"], row["text"], f"{row['title']} {mark}"),
            Passage("docs", row["_id"], row["_id"], 0, "", "team", row["title"]),
            "1",
        )
        for row in rows
    ]


async def _cut(ingest: Ingest, entries: Sequence[Entry]) -> list[str]:
    return [
        embedding_text(entry.document.title, chunk)
        for entry in entries
        for chunk in await ingest.prepare(entry.document)
    ]


async def run(folder: Path, documents: int) -> None:
    embedder, sparse = LocalEmbedder(CACHE), SparseEncoder()
    await embedder.warm()
    sparse.document("温め")
    with tempfile.TemporaryDirectory() as home:
        index = await EdgeIndex.open(
            Path(home), dimensions=embedder.dimensions, embedder=embedder.name, tokenizer=TOKENIZER
        )
        ingest = Ingest(embedder, sparse, index)
        seconds = [0.0, 0.0]
        worked = [0.0, 0.0]
        for generation in range(1, ROUNDS + 1):  # in turns: other work on the machine hits both
            texts = await _cut(ingest, _entries(folder, documents, f"b{generation}"))
            started, working = time.perf_counter(), time.process_time()
            await embedder.embed_documents([f"{text}。" for text in texts])  # as new as those of the documents are
            seconds[0] += time.perf_counter() - started
            worked[0] += time.process_time() - working
            entries = _entries(folder, documents, f"i{generation}")
            started, working = time.perf_counter(), time.process_time()
            await ingest.write_many(entries, born=generation)
            seconds[1] += time.perf_counter() - started
            worked[1] += time.process_time() - working
        entries = _entries(folder, documents, "r")
        known = await _cut(ingest, entries)
        vectors = await embedder.embed_documents(known)
        await _cut(ingest, _entries(folder, 6 * documents, "f"))  # so many that the tokenizer has forgotten the others
        rest = Ingest(Remembered(embedder, dict(zip(known, vectors, strict=True))), sparse, index)
        started = time.perf_counter()
        await rest.write_many(entries, born=ROUNDS + 1)
        store = len(known) / (time.perf_counter() - started)
        await index.close()
    print(f"{len(entries)} documents, {len(texts)} chunks, {sum(map(len, texts)) / len(texts):.0f} characters each.\n")
    print("| what | chunks/s |\n|---|---|")
    bare, whole = (ROUNDS * len(texts) / taken for taken in seconds)
    print(f"| the bare embedder | {bare:.1f} |")
    print(f"| ingest: cut, embed, encode, write | {whole:.1f} |")
    print(f"| ratio; limit {LIMIT} | {whole / bare:.2f} |")
    print(f"| ratio of processor time | {worked[0] / worked[1]:.2f} |")
    print(f"| ingest without embedding | {store:.0f} |")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--corpus", type=Path, required=True)
    options.add_argument("--documents", type=int, default=100)
    chosen = options.parse_args()
    asyncio.run(run(chosen.corpus, chosen.documents))


if __name__ == "__main__":
    main()
