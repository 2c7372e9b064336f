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
ROUNDS = 2


class Remembered:
    """The embedder's vectors, given at once: what is left is everything else."""

    def __init__(self, embedder: LocalEmbedder, vectors: dict[str, Vector]) -> None:
        self.name, self.dimensions, self.max_tokens = embedder.name, embedder.dimensions, embedder.max_tokens
        self.count_tokens = embedder.count_tokens
        self.embed_query, self.embed_queries = embedder.embed_query, embedder.embed_queries
        self._vectors = vectors

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return [self._vectors[text] for text in texts]


def _entries(folder: Path, count: int) -> list[Entry]:
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for _, line in zip(range(count), lines, strict=False)]
    return [
        Entry(
            Document(row["_id"], row["text"], row["title"]),
            Passage("docs", row["_id"], row["_id"], 0, "", "team", row["title"]),
            "1",
        )
        for row in rows
    ]


async def _rate(ingest: Ingest, entries: Sequence[Entry], generation: int) -> float:
    started = time.perf_counter()
    counts = await ingest.write_many(entries, born=generation)
    return sum(counts) / (time.perf_counter() - started)


async def run(folder: Path, documents: int) -> None:
    embedder, sparse = LocalEmbedder(CACHE), SparseEncoder()
    await embedder.warm()
    sparse.document("温め")
    entries = await asyncio.to_thread(_entries, folder, documents)
    with tempfile.TemporaryDirectory() as home:
        index = await EdgeIndex.open(
            Path(home), dimensions=embedder.dimensions, embedder=embedder.name, tokenizer=TOKENIZER
        )
        ingest = Ingest(embedder, sparse, index)
        cut = [(entry, chunk) for entry in entries for chunk in await ingest.prepare(entry.document)]
        texts = [embedding_text(entry.document.title, chunk) for entry, chunk in cut]
        bare: list[float] = []
        whole: list[float] = []
        vectors: Vectors = []
        for generation in range(1, ROUNDS + 1):  # in turns: other work on the machine hits both
            started = time.perf_counter()
            vectors = await embedder.embed_documents(texts)
            bare.append(len(texts) / (time.perf_counter() - started))
            whole.append(await _rate(ingest, entries, generation))
        rest = Ingest(Remembered(embedder, dict(zip(texts, vectors, strict=True))), sparse, index)
        store = await _rate(rest, entries, ROUNDS + 1)
        await index.close()
    print(f"{len(entries)} documents, {len(texts)} chunks, {sum(map(len, texts)) / len(texts):.0f} characters each.\n")
    print("| what | chunks/s |\n|---|---|")
    print(f"| the bare embedder | {max(bare):.1f} |")
    print(f"| ingest: cut, embed, encode, write | {max(whole):.1f} |")
    print(f"| ratio | {max(whole) / max(bare):.2f} |")
    print(f"| ingest without embedding | {store:.0f} |")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--corpus", type=Path, required=True)
    options.add_argument("--documents", type=int, default=100)
    chosen = options.parse_args()
    asyncio.run(run(chosen.corpus, chosen.documents))


if __name__ == "__main__":
    main()
