"""A home as the bot has it after long use, at any size: real texts, recombined, in the real database and store.

The texts come from folders in BEIR's layout, or from the sample handbook when there are none. They are cut into pieces
of a few sentences, each embedded and encoded once; a passage is three pieces of one language, so that any number of
passages differ in their text, their words and their vector.
"""

import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.search_latency import DIMENSIONS, Corpus
from bot.config.types import sqlite_url
from bot.operations.beir import read
from bot.records import DocumentRow
from bot.store.documents import Documents
from bot.store.engine import connect
from bot.store.vector_stores import VectorStores
from migrations import upgrade
from retrieval.embeddings.local import E5_SMALL
from retrieval.i18n import Language
from retrieval.index import EdgeIndex
from retrieval.sparse import TOKENIZER
from retrieval.text import language_of, sentences
from retrieval.types import Passage, Point, Reading, SparseVector, Vector

SAMPLE = Path(__file__).parents[1] / "bot" / "sample"
PIECES = 3  # of a passage
CHUNKS = 20  # of a document
PIECE = range(110, 260)  # characters


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a piece, with a vector near the piece's, and the sentence that answers it."""

    text: str
    vector: Vector
    answer: str


class Texts:
    """Pieces of text and what is made of them: passages for the store, and questions about them."""

    def __init__(self, folders: Sequence[Path], unique: int) -> None:
        with TemporaryDirectory() as folder:
            rows = list(_pieces(folders))
            random.Random(7).shuffle(rows)
            lines = (json.dumps({"title": title, "text": text}) + "\n" for title, text in rows[:unique])
            (Path(folder) / "corpus.jsonl").write_text("".join(lines), encoding="utf-8")
            self._pieces = Corpus([Path(folder)], unique)
        self._alike: dict[Language, list[int]] = defaultdict(list)
        for number, text in enumerate(self._pieces.texts):
            self._alike[language_of(text)].append(number)

    def __len__(self) -> int:
        return len(self._pieces.texts)

    def points(self, count: int) -> Iterator[Point]:
        """Passages of generation 1 in five collections; every third document may be read in one private place only."""
        for number in range(count):
            document = number // CHUNKS
            chosen = self._chosen(number)
            texts = [self._pieces.texts[piece].partition("\n") for piece in chosen]
            dense = np.sum([self._pieces.dense[piece] for piece in chosen], axis=0)
            dense = dense / np.linalg.norm(dense) + np.random.default_rng(number).normal(0, 0.002, DIMENSIONS)
            yield Point(
                f"00000000-0000-4000-8000-{number:012x}",
                Passage(
                    collection=f"c{document % 5}",
                    document_id=f"d{document}",
                    document=f"page {document}.md",
                    chunk=number % CHUNKS,
                    text="\n\n".join(text for _, _, text in texts),
                    scope=_scope(document),
                    title=texts[0][0],
                ),
                Reading(
                    language_of(texts[0][2]),
                    self._pieces.reading(chosen[0]).heads,
                    tuple(line for piece in chosen for line in self._pieces.reading(piece).lines),
                ),
                dense.tolist(),
                _joined([self._pieces.sparse[piece].words for piece in chosen]),
                _joined([self._pieces.sparse[piece].ngrams for piece in chosen]),
                1,
            )

    def questions(self, number: int, chunks: int) -> list[Asked]:
        """One question for each piece of one of the store's passages."""
        made = []
        for piece in self._chosen(random.Random(f"question {number}").randrange(chunks)):
            _, _, text = self._pieces.texts[piece].partition("\n")
            answer = max(sentences(text), key=len).strip()
            start = " ".join(answer.split()[:12]) if language_of(text) == "en" else answer[:30]
            near = self._pieces.dense[piece] + np.random.default_rng(number).normal(0, 0.01, DIMENSIONS)
            made.append(Asked(start.strip("。.、, "), (near / np.linalg.norm(near)).tolist(), answer))
        return made

    def _chosen(self, number: int) -> list[int]:
        """Three pieces of one language, the same for the same number."""
        first = number % len(self)
        group = self._alike[language_of(self._pieces.texts[first])]
        return [first, *random.Random(number).choices(group, k=PIECES - 1)]


async def furnish(home: Path, texts: Texts, count: int) -> None:
    """Fill the folder `home` with `count` chunks, as the bot itself would have left it."""
    url = database_url(home)
    await asyncio.to_thread(upgrade, url)
    engine = connect(url)
    documents = Documents(engine, E5_SMALL)
    await VectorStores(engine).open(E5_SMALL, DIMENSIONS, TOKENIZER)
    index = await open_index(home)
    waiting: list[Point] = []
    generation = 0
    for number, point in enumerate(texts.points(count), 1):
        waiting.append(point)
        if len(waiting) == 25 * CHUNKS or number == count:
            await index.put(waiting)
            for row in _rows(waiting):
                generation += 1
                await documents.commit(row, generation=generation)
            waiting = []
    await index.close()
    await engine.dispose()


async def open_index(home: Path) -> EdgeIndex:
    """The vector store where the bot looks for it."""
    return await EdgeIndex.open(
        home / "vectors" / E5_SMALL, dimensions=DIMENSIONS, embedder=E5_SMALL, tokenizer=TOKENIZER
    )


def database_url(home: Path) -> str:
    return sqlite_url(home / "kotae.db")


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest rank: of 20 values the 19th is p95."""
    return sorted(values)[max(0, -(-len(values) * round(share * 100) // 100) - 1)]


def _rows(points: Sequence[Point]) -> Iterator[DocumentRow]:
    now = datetime.now(UTC)
    counts = Counter(point.passage.document_id for point in points)
    first = {point.passage.document_id: point.passage for point in reversed(points)}
    for id, passage in first.items():
        yield DocumentRow(
            id=id,
            collection=passage.collection,
            scope=passage.scope,
            name=passage.document,
            title=passage.title,
            url=None,
            hash=id,
            markdown=id,
            chunks=counts[id],
            language=language_of(passage.text),
            author="benchmark",
            born=1,
            added_at=now,
            updated_at=now,
        )


def _scope(document: int) -> str:
    return "place:slack:T1:C1" if document % 3 == 0 else "team"


def _joined(vectors: Sequence[SparseVector]) -> SparseVector:
    weights: dict[int, float] = {}
    for vector in vectors:
        for index, value in zip(vector.indices, vector.values, strict=True):
            weights[index] = max(value, weights.get(index, 0.0))
    return SparseVector(tuple(sorted(weights)), tuple(weights[index] for index in sorted(weights)))


def _pieces(folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Title and a few sentences, of some hundred characters."""
    for title, text in _documents(folders):
        piece = ""
        for sentence in sentences(text):
            piece = f"{piece} {sentence}".strip()
            if len(piece) >= PIECE.start:
                yield title, piece[: PIECE.stop]
                piece = ""


def _documents(folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    for folder in folders:
        for text in read(folder).corpus:
            yield text.title, text.text
    if not folders:
        for page in sorted(SAMPLE.glob("*/*.md")):
            heading, _, rest = page.read_text(encoding="utf-8").partition("\n")
            yield heading.lstrip("# "), rest
