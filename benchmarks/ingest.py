"""How fast documents become searchable, beside the bare embedder on the same texts and the store without it; and how
fast a page of 100 chunks is replaced of which one line was edited.

    python -m benchmarks.ingest --corpus FOLDER [--documents 100]

FOLDER is in BEIR's layout.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from retrieval.chunking import embedding_text
from retrieval.embeddings.local import LocalEmbedder
from retrieval.index import EdgeIndex
from retrieval.index.payload import STAGED
from retrieval.ingest import Entry, Ingest
from retrieval.sparse import TOKENIZER, SparseEncoder
from retrieval.types import Document, Passage, Vector, Vectors

CACHE = Path.home() / ".cache" / "kotae"
ROUNDS = 3
LIMIT = 0.95
LONG = 100  # chunks of the page that is edited


class Counting:
    """The embedder, and how many texts it was given."""

    def __init__(self, embedder: LocalEmbedder) -> None:
        self.name, self.dimensions, self.max_tokens = embedder.name, embedder.dimensions, embedder.max_tokens
        self.count_tokens = embedder.count_tokens
        self.embed_query, self.embed_queries = embedder.embed_query, embedder.embed_queries
        self._embedder = embedder
        self.texts = 0

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.texts += len(texts)
        return await self._embedder.embed_documents(texts)


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


async def _forget(ingest: Ingest, folder: Path, documents: int) -> None:
    """Let the tokenizer read so much else that it has forgotten these documents."""
    await _cut(ingest, _entries(folder, 6 * documents, "f"))


async def _edited(embedder: Counting, index: EdgeIndex, sparse: SparseEncoder, entries: Sequence[Entry]) -> None:
    """Replace a page of which one line was edited, as if each chunk were new, and as it is done."""
    ingest, page = Ingest(embedder, sparse, index), Document("page.md", "", "Page")
    for entry in entries:
        page = replace(page, markdown=_section(page, entry))
        if len(await ingest.prepare(page)) >= LONG:
            break
    about = Passage("docs", "page", page.name, 0, "", "team", page.title)
    chunks = await ingest.write(page, about, born=ROUNDS + 2, version="1")
    middle = len(page.markdown) // 2
    at = page.markdown.index(" ", middle) if " " in page.markdown[middle:] else middle
    edited = replace(page, markdown=f"{page.markdown[:at]} (edited){page.markdown[at:]}")
    print(f"\n| one line edited in a page of {chunks} chunks | embedded | seconds |\n|---|---|---|")
    for name, replaces in (("as if all were new", False), ("unchanged chunks keep their vectors", True)):
        embedder.texts, started = 0, time.perf_counter()
        await ingest.stage(edited, about, version=name, replaces=replaces)
        print(f"| {name} | {embedder.texts} | {time.perf_counter() - started:.2f} |")
        await index.undo("page", at=STAGED)


def _section(page: Document, entry: Entry) -> str:
    return f"{page.markdown}\n\n# {entry.document.title}\n\n{entry.document.markdown}"


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
            await _forget(ingest, folder, documents)
            started, working = time.perf_counter(), time.process_time()
            await embedder.embed_documents([f"{text}。" for text in texts])  # as new as those of the documents are
            seconds[0] += time.perf_counter() - started
            worked[0] += time.process_time() - working
            entries = _entries(folder, documents, f"i{generation}")
            await _forget(ingest, folder, documents)
            started, working = time.perf_counter(), time.process_time()
            await ingest.write_many(entries, born=generation)
            seconds[1] += time.perf_counter() - started
            worked[1] += time.process_time() - working
        entries = _entries(folder, documents, "r")
        known = await _cut(ingest, entries)
        vectors = await embedder.embed_documents(known)
        await _forget(ingest, folder, documents)
        rest = Ingest(Remembered(embedder, dict(zip(known, vectors, strict=True))), sparse, index)
        started = time.perf_counter()
        await rest.write_many(entries, born=ROUNDS + 1)
        store = len(known) / (time.perf_counter() - started)
        print(
            f"{len(entries)} documents, {len(texts)} chunks, {sum(map(len, texts)) / len(texts):.0f} characters each.\n"
        )
        print("| what | chunks/s |\n|---|---|")
        bare, whole = (ROUNDS * len(texts) / taken for taken in seconds)
        print(f"| the bare embedder | {bare:.1f} |")
        print(f"| ingest: cut, embed, encode, write | {whole:.1f} |")
        print(f"| ratio; limit {LIMIT} | {whole / bare:.2f} |")
        print(f"| ratio of processor time | {worked[0] / worked[1]:.2f} |")
        print(f"| ingest without embedding | {store:.0f} |")
        await _edited(Counting(embedder), index, sparse, entries)
        await index.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--corpus", type=Path, required=True)
    options.add_argument("--documents", type=int, default=100)
    chosen = options.parse_args()
    asyncio.run(run(chosen.corpus, chosen.documents))


if __name__ == "__main__":
    main()
