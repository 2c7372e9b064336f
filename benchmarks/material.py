"""What the search is measured on: question sets in BEIR's layout, handbooks, and questions that colleagues would ask.

The texts are not part of this repository: the benchmarks are given their folder by `--data`.
`questions.tsv` (gold page or `off`/`near`, question) asks about the handbooks, `translated.tsv` (query id, question)
asks some of the sets' questions in the other language; both were written for this project.
"""

import json
import random
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bot.operations.beir import BeirDocument, BeirQuery, read
from retrieval.embeddings.base import EmbeddingClient
from retrieval.index import EdgeIndex
from retrieval.ingest import Entry, Ingest
from retrieval.search import Search
from retrieval.sparse import TOKENIZER, SparseEncoder
from retrieval.types import TEAM, Document, Passage, Readers, Vector, Vectors, View

HERE = Path(__file__).parent
VIEW = View(Readers(frozenset({TEAM})), generation=1)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A corpus and what is asked of it."""

    name: str
    corpus: tuple[BeirDocument, ...]
    queries: tuple[BeirQuery, ...]


class Remembering:
    """An embedder that keeps its vectors in a file, so that a second run is quick."""

    def __init__(self, embedder: EmbeddingClient, file: Path) -> None:
        self._embedder = embedder
        self._file = file
        self._known: dict[str, Vector] = {}
        if file.exists():
            with np.load(file, allow_pickle=False) as kept:
                self._known = dict(zip(map(str, kept["texts"]), kept["vectors"].tolist(), strict=True))
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.max_tokens = embedder.max_tokens

    def count_tokens(self, text: str) -> int:
        return self._embedder.count_tokens(text)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        fresh = [text for text in dict.fromkeys(texts) if f"d{text}" not in self._known]
        for text, vector in zip(fresh, await self._embedder.embed_documents(fresh), strict=True):
            self._known[f"d{text}"] = vector
        return [self._known[f"d{text}"] for text in texts]

    async def embed_query(self, text: str) -> Vector:
        return (await self.embed_queries([text]))[0]

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        fresh = [text for text in dict.fromkeys(texts) if f"q{text}" not in self._known]
        for text, vector in zip(fresh, await self._embedder.embed_queries(fresh) if fresh else (), strict=True):
            self._known[f"q{text}"] = vector
        return [self._known[f"q{text}"] for text in texts]

    def keep(self) -> None:
        np.savez(
            self._file,
            texts=np.array(list(self._known)),
            vectors=np.array(list(self._known.values()), dtype=np.float32),
        )


def sets(data: Path) -> dict[str, Scenario]:
    """The sets in BEIR's layout below `data`, by name."""
    folders = sorted(path.parent for path in data.glob("*/queries.jsonl"))
    found = {folder.name: read(folder) for folder in folders}
    return {name: Scenario(name, made.corpus, made.queries) for name, made in found.items()}


def handbooks(data: Path) -> Scenario:
    """Both handbooks in one corpus; a page's id is its path. Questions about them in either language."""
    pages = _pages(data / "docs")
    queries = []
    for number, (gold, text) in enumerate(_rows(HERE / "questions.tsv")):
        kind = "answerable" if "/" in gold else gold
        queries.append(BeirQuery(f"q{number}", text, kind, relevant={gold: 1} if kind == "answerable" else {}))
    return Scenario("handbooks", pages, tuple(queries))


def asks(data: Path) -> Scenario:
    """Questions as colleagues ask them in chat, over `asks/pages` (asks/README.md); those whose page is not there are
    left out. The answers are the forms of all facts. Questions that follow up on another one are not asked."""
    pages = _pages(data / "asks" / "pages")
    there = {page.id for page in pages}
    queries = []
    for language in ("ja", "en"):
        file = data / "asks" / f"{language}.jsonl"
        for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
            case = json.loads(line)
            named = [case["file"]] if isinstance(case["file"], str) else case["file"] or []
            relevant = {f"{language}/{name}": 1 for name in (*named, *case.get("also", ()))}
            if case["kind"] == "unanswerable":
                queries.append(BeirQuery(case["id"], case["question"], "near"))
            elif case["kind"] != "follow_up" and relevant.keys() <= there:
                forms = tuple(form for forms in case["facts"] for form in forms)
                queries.append(BeirQuery(case["id"], case["question"], "answerable", forms, relevant))
    return Scenario("asks", pages, tuple(queries))


def _pages(folder: Path) -> tuple[BeirDocument, ...]:
    pages = []
    for path in sorted(folder.glob("??/*.md")):
        source = path.read_text(encoding="utf-8")
        title = re.search(r"^title: *[\"']?(.*?)[\"']?$", source, re.MULTILINE)
        text = re.sub(r"\A---\n.*?\n---\n", "", source, flags=re.DOTALL)
        pages.append(BeirDocument(f"{path.parent.name}/{path.name}", title.group(1) if title else path.stem, text))
    return tuple(pages)


def translated(scenarios: Iterable[Scenario]) -> tuple[BeirQuery, ...]:
    """The sets' questions that are asked in the other language."""
    known = {query.id: query for scenario in scenarios for query in scenario.queries}
    return tuple(
        replace(known[id], id=f"{id}-x", text=text) for id, text in _rows(HERE / "translated.tsv") if id in known
    )


def excerpt(scenario: Scenario, passages: int, queries: int, seed: int) -> Scenario:
    """A small corpus: some documents with what they answer, and as many questions that they do not answer."""
    dice = random.Random(f"{scenario.name} {passages} {seed}")
    asked = [query for query in scenario.queries if query.relevant]
    dice.shuffle(asked)
    kept: set[str] = set()
    answerable: list[BeirQuery] = []
    for query in asked:
        needed = kept | query.relevant.keys()
        if len(needed) <= passages and len(answerable) < queries:
            kept = needed
            answerable.append(query)
    others = [text.id for text in scenario.corpus if text.id not in kept]
    kept |= set(dice.sample(others, max(0, passages - len(kept))))
    foreign = [query for query in scenario.queries if not query.relevant.keys() & kept]
    dice.shuffle(foreign)
    poor = [replace(query, relevant={}, kind="missing_article") for query in foreign[: len(answerable)]]
    corpus = tuple(text for text in scenario.corpus if text.id in kept)
    return Scenario(f"{scenario.name}/{passages}", corpus, (*answerable, *poor))


def among(books: Scenario, others: Sequence[Scenario], pages: int, paragraphs: int, seed: int) -> Scenario:
    """Some pages of the handbooks among paragraphs about anything; what the left out pages answer is not answered."""
    dice = random.Random(f"{pages} {paragraphs} {seed}")
    kept = dice.sample(books.corpus, min(pages, len(books.corpus)))
    ids = {page.id for page in kept}
    strangers = [text for one in others for text in dice.sample(one.corpus, min(paragraphs, len(one.corpus)))]
    queries = [
        query if query.relevant.keys() <= ids else replace(query, relevant={}, kind="near") for query in books.queries
    ]
    return Scenario(f"{books.name}/{pages} among {paragraphs}, {seed}", (*kept, *strangers), tuple(queries))


@asynccontextmanager
async def searchable(
    corpus: Sequence[BeirDocument], embedder: EmbeddingClient, sparse: SparseEncoder
) -> AsyncIterator[tuple[Search, EdgeIndex]]:
    """The corpus in a store of its own, through the product's own chunking and ingest."""
    with TemporaryDirectory() as folder:
        index = await EdgeIndex.open(
            Path(folder), dimensions=embedder.dimensions, embedder=embedder.name, tokenizer=TOKENIZER
        )
        try:
            await Ingest(embedder, sparse, index).write_many([_entry(text) for text in corpus], born=1)
            yield Search(index, embedder, sparse), index
        finally:
            await index.close()


def _entry(text: BeirDocument) -> Entry:
    about = Passage("set", text.id, text.id, 0, "", TEAM, text.title)
    return Entry(Document(text.id, text.text, text.title), about, version="1")


def _rows(path: Path) -> list[tuple[str, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(first, second) for first, second in (line.split("\t") for line in lines)]
