"""Documents → chunks → vectors → the store, in bounded batches, all or nothing."""

import asyncio
import logging
import re
import uuid
from array import array
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, replace
from types import MappingProxyType

from retrieval.chunking import TARGET, chunks, embedding_text, front
from retrieval.embeddings.base import EmbeddingClient
from retrieval.i18n import Text
from retrieval.index import Index
from retrieval.index.payload import STAGED
from retrieval.relevance import spoken
from retrieval.sparse import Encoded, SparseEncoder, put_down
from retrieval.text import sentences
from retrieval.types import Chunk, Document, Passage, Point, Reading, UnreadableError, Vector, Vectors

log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
Batch = Sequence[tuple["Entry", Chunk]]
Kept = Mapping[str, "array[float]"]
"""Dense vectors by the very text that the embedder was given."""

MAX_CHUNKS = 5_000  # of one file
_BATCH = 64  # chunks embedded and written at once: a second of a small model on two cores
_FIRST = 8  # of many documents: what embeds need not wait until a whole batch is cut
_BETWEEN = 32  # chunks, after which the dictionary's pages are let go of
_AT_ONCE = 2  # batches: what embeds is never without work
_NAMESPACE = uuid.UUID("6e3c1a52-8f0e-5d3b-9b43-0c8b1d1f7a10")

_RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+")  # between the names of a table's columns and its rows

_EMPTY = Text(
    en="There is nothing to read in “{name}”.",
    ja="「{name}」には読み取れる内容がありません。",
)
_TOO_LONG = Text(
    en="“{name}” is too long: it makes {count} passages, and a file may have {most}. Split it and add the parts.",
    ja="「{name}」は長すぎます。{count} 個に分割されますが、1 ファイルの上限は {most} 個です。分けて登録してください。",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A document, what all its passages have in common (`about`; its text and chunk number are filled in), and the
    version of its content: points of two versions never share an id."""

    document: Document
    about: Passage
    version: str


@dataclass
class Ingest:
    """Writes documents for a generation to come; whoever commits the generation makes them visible."""

    embedder: EmbeddingClient
    sparse: SparseEncoder
    index: Index
    _: KW_ONLY
    max_chars: int = 2048
    target: int = TARGET

    async def prepare(self, document: Document) -> list[Chunk]:
        """Cut a document for this embedder.

        Raises UnreadableError when it has no text or makes more than `MAX_CHUNKS` chunks.
        """
        made = await self._chunks(document)
        if not made:
            raise UnreadableError(_EMPTY, name=document.name)
        return made

    async def stage(
        self,
        document: Document,
        about: Passage,
        *,
        version: str,
        progress: Progress | None = None,
        replaces: bool = False,
    ) -> int:
        """Write a document that nobody sees before `Index.publish`. Otherwise as `write`. `replaces`: it is another
        version of one that is there, and chunks that are the same keep their vectors."""
        kept = await self._kept(about.document_id) if replaces else {}
        return await self.write(document, about, born=STAGED, version=version, progress=progress, kept=kept)

    async def write(
        self,
        document: Document,
        about: Passage,
        *,
        born: int,
        version: str,
        progress: Progress | None = None,
        kept: Kept = MappingProxyType({}),
        cut: Sequence[Chunk] | None = None,
    ) -> int:
        """Write a document whose passages are seen from generation `born` on; returns how many chunks.

        `progress(done, total)` counts chunks. What is `kept` is not embedded. `cut`: its chunks, where it was cut
        already. All or nothing: after a failure or a cancellation none of its points is left. Raises UnreadableError,
        EmbeddingError or QdrantConnectionError.
        """
        entry = Entry(document, about, version)
        made = [(entry, chunk) for chunk in (await self.prepare(document) if cut is None else cut)]
        async with self._undoing([about.document_id], born), self._writing(born, kept) as write:
            for start in range(0, len(made), _BATCH):
                await write(made[start : start + _BATCH])
                if progress:
                    progress(max(0, start - _BATCH), len(made))  # the one before it is under way, too
        if progress:
            progress(len(made), len(made))
        return len(made)

    async def write_many(self, entries: Sequence[Entry], *, born: int, progress: Progress | None = None) -> list[int]:
        """Write many small documents of one generation, batches reaching over documents; returns each one's chunks.

        `progress(done, total)` counts documents. A document without text has 0 chunks. All or nothing for the whole.
        """
        counts: list[int] = []
        waiting: list[tuple[Entry, Chunk]] = []
        size = _FIRST
        async with self._undoing([entry.about.document_id for entry in entries], born), self._writing(born) as write:
            for entry in entries:
                if progress:
                    progress(len(counts), len(entries))
                made = await self._chunks(entry.document)
                counts.append(len(made))
                waiting += ((entry, chunk) for chunk in made)
                while len(waiting) >= size:
                    some, waiting, size = waiting[:size], waiting[size:], _BATCH
                    await write(some)
            if waiting:
                await write(waiting)
        if progress:
            progress(len(entries), len(entries))
        return counts

    async def _chunks(self, document: Document) -> list[Chunk]:
        made = await asyncio.to_thread(
            chunks,
            document,
            max_chars=self.max_chars,
            max_tokens=self.embedder.max_tokens,
            measure=self.embedder.count_tokens,
            target=self.target,
        )
        if len(made) > MAX_CHUNKS:
            raise UnreadableError(_TOO_LONG, name=document.name, count=len(made), most=MAX_CHUNKS)
        return made

    async def _kept(self, document_id: str) -> Kept:
        """In single precision: 5,000 chunks of a large embedder take 60 MB so, and eight times as much as lists."""
        return {
            embedding_text(one.title, one.as_chunk()): array("f", vector)
            async for one, vector in self.index.vectors(document_id)
        }

    async def _points(self, some: Batch, born: int, kept: Kept) -> list[Point]:
        """Embedded and encoded side by side: the model runs without the interpreter lock, the tokeniser with it."""
        texts = [embedding_text(entry.document.title, chunk) for entry, chunk in some]
        dense, encoded = await asyncio.gather(self._embedded(texts, kept), asyncio.to_thread(self._encode, some))
        return [
            _point(entry, chunk, vector, sparse, born)
            for (entry, chunk), vector, sparse in zip(some, dense, encoded, strict=True)
        ]

    async def _embedded(self, texts: Sequence[str], kept: Kept) -> Vectors:
        new = [text for text in texts if text not in kept]
        made = dict(zip(new, await self.embedder.embed_documents(new) if new else (), strict=True))
        return [made[text] if text in made else [*kept[text]] for text in texts]

    def _encode(self, some: Batch) -> list[Encoded]:
        encoded = []
        for entry, chunk in some:
            parts = front(entry.document.title, chunk), *filter(None, [chunk.question]), *sentences(chunk.text)
            encoded.append(_with_columns(parts, self.sparse.document(*parts)))
            if len(encoded) % _BETWEEN == 0 or len(encoded) == len(some):
                put_down()
        return encoded

    @asynccontextmanager
    async def _writing(
        self, born: int, kept: Kept = MappingProxyType({})
    ) -> AsyncGenerator[Callable[[Batch], Awaitable[None]], None]:
        """A call that takes a batch while the one before it is embedded and written; all is written at the end."""
        begun: deque[asyncio.Task[None]] = deque()

        async def write(some: Batch) -> None:
            if len(begun) == _AT_ONCE:
                await begun[0]
                begun.popleft()
            begun.append(asyncio.create_task(self._write(some, born, kept)))

        try:
            yield write
            await asyncio.gather(*begun)
        finally:
            for task in begun:
                task.cancel()
            await asyncio.gather(*begun, return_exceptions=True)

    async def _write(self, some: Batch, born: int, kept: Kept) -> None:
        await self.index.put(await self._points(some, born, kept))

    @asynccontextmanager
    async def _undoing(self, document_ids: Sequence[str], born: int) -> AsyncGenerator[None, None]:
        try:
            yield
        except BaseException:
            undone = asyncio.ensure_future(self._undo(document_ids, born))
            while not undone.done():
                try:
                    await asyncio.shield(undone)
                except asyncio.CancelledError:  # cancelled once more: the points still have to go
                    continue
            raise

    async def _undo(self, document_ids: Sequence[str], born: int) -> None:
        try:
            for document_id in document_ids:
                await self.index.undo(document_id, at=born)
        except Exception:
            log.exception("points that nobody sees stay until the next start")


def _with_columns(parts: Sequence[str], encoded: Encoded) -> Encoded:
    """With the names of its columns among the words of each row: a question has some of the names' and of the row's."""
    read: list[frozenset[int]] = []
    names: frozenset[int] = frozenset()
    for at, (part, words) in enumerate(zip(parts, encoded.parts, strict=True)):
        if _RULE.fullmatch(part):
            names = encoded.parts[at - 1]
        elif not part.startswith("|"):
            names = frozenset()
        read.append(words | names)
    return replace(encoded, parts=tuple(read))


def _point(entry: Entry, chunk: Chunk, dense: Vector, sparse: Encoded, born: int) -> Point:
    passage = replace(
        entry.about, chunk=chunk.number, text=chunk.text, headings=chunk.headings, question=chunk.question
    )
    heads, *lines = sparse.parts
    reading = Reading(spoken(passage), heads, tuple(lines))
    return Point(_id(entry, chunk, born), passage, reading, dense, sparse.words, sparse.ngrams, born)


def _id(entry: Entry, chunk: Chunk, born: int) -> str:
    """The same for the same content written again for the same generation; never that of a point already seen."""
    return str(uuid.uuid5(_NAMESPACE, f"{entry.about.document_id}/{entry.version}/{born}/{chunk.number}"))
