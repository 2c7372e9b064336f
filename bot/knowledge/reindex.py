"""Another embedder or tokenizer: a second vector store is built from the kept Markdown, then swapped in, in one step.

Until the swap every search sees the old store whole, after it the new one whole. A run that was cut off goes on where
it was. Source: architecture.md "Qdrant", "One visible step"; reliability.md R42, R48."""

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bot.errors import ContentLostError
from bot.knowledge.content_store import ContentStore, document_of, stored
from bot.knowledge.snapshots import uncontested
from bot.records import DocumentRow
from bot.store.documents import Documents
from bot.store.vector_stores import IndexRow, VectorStores
from retrieval.durable import make_folder, replacing
from retrieval.folder import Made
from retrieval.i18n import Text
from retrieval.index import Index
from retrieval.index.stores import Stores
from retrieval.ingest import Ingest
from retrieval.types import Chunk, Document, Passage, RAGToolError, Readers, UnreadableError, View

log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
Quiet = Callable[[], AbstractAsyncContextManager[int]]
"""Inside of it nothing becomes visible or is forgotten; it gives the generation. What uses the old store changes over
to the new one before it ends."""

Own = Callable[[Index, bool], Awaitable[None]]
"""Sees that a store is this home's, and has it say so; True: a note of this home names it. Raises SettingsError."""

_NAMED = 10  # documents, in a refusal
_UNFIT = Text(
    en="{count} document{count:|s} cannot be re-indexed, so the old index stays in use: {names}. Forget them or add "
    "them again, then start again; what is already done is kept.",
    ja="{count} 件の文書を再インデックスできないため、これまでのインデックスを使い続けます: {names}。"
    "該当の文書を削除するか追加し直してから、もう一度実行してください。完了した分は引き継がれます。",
)
_INCOMPLETE = Text(
    en="The new index holds {found} chunks instead of {wanted}, so the old one stays in use. Start again.",
    ja="新しいインデックスのチャンクは {wanted} 件のはずが {found} 件のため、これまでのインデックスを使い続けます。"
    "もう一度実行してください。",
)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The new store, open, what is in it, and how much of that this run had to write."""

    index: Index
    row: IndexRow
    documents: int
    written: int


class Reindex:
    """Builds the vector store of another embedder beside the current one.

    `ingest` makes an `Ingest` of the new embedder for a store; `kept` holds the Markdown; `note` is a file that says
    what is being built: it must outlive the process and be in this home. No store is read, written or deleted before
    `own` has seen whose it is."""

    def __init__(
        self,
        *,
        documents: Documents,
        indexes: VectorStores,
        stores: Stores,
        ingest: Callable[[Index], Ingest],
        kept: ContentStore,
        note: Path,
        quiet: Quiet,
        own: Own,
    ) -> None:
        self._documents = documents
        self._indexes = indexes
        self._stores = stores
        self._ingest = ingest
        self._kept = kept
        self._note = _Note(note)
        self._quiet = quiet
        self._own = own

    async def run(self, new: Made, *, old: Index | None = None, progress: Progress | None = None) -> Rebuilt:
        """Build the store of `new` and make it the current one. `old` is the store before it where somebody has it
        open.

        With `new` what is current already, it brings back the documents that the store has lost; nobody may have it
        open then. `progress(done, total)` counts documents. The old store stays until `clean_up`. Raises RAGToolError
        when a document cannot be brought over, SettingsError for a store of another home, EmbeddingError,
        QdrantConnectionError, StoreError.
        """
        row = await self._indexes.current()
        current = made_of(row) if row else None
        touched = await self._begin(current, new)
        target = await self._stores.open(new)
        opened: Index | None = None
        try:
            await self._own(target, current != new)
            if old is None and current is not None and current != new:
                old = opened = await self._open_old(current)
            copy = _Copy(target, self._ingest(target), old or target, everything=current == new, touched=touched)
            return await uncontested(lambda: self._build(copy, new, progress))
        except BaseException:
            await target.close()
            raise
        finally:
            if opened is not None:
                await opened.close()

    async def whole(self, index: Index) -> bool:
        """Whether the store has all passages of the documents there are and no others: not when its folder or
        collection was lost, or the text of a document of which nothing was left is there again."""
        async with self._quiet() as generation:
            rows = await self._documents.listed()
            nowhere = {row.markdown for row in rows if not row.chunks}
            if nowhere != await self._kept.lost(nowhere):
                return False
            return await complete(index, rows, generation)

    async def clean_up(self, current: Made) -> None:
        """Delete the stores of finished or abandoned runs, which nobody has open any more. Raises
        QdrantConnectionError."""
        for made in await asyncio.to_thread(self._note.stores):
            if made != current:
                await self._stores.remove(made)
        await asyncio.to_thread(self._note.remove)

    async def _begin(self, current: Made | None, new: Made) -> set[str]:
        """The documents that an earlier run may have left in the new store."""
        stores = await asyncio.to_thread(self._note.stores)
        if stores and stores[0] == new:
            return await asyncio.to_thread(self._note.documents)
        if new != current and new not in stores and await self._stores.there(new):
            left = await self._stores.open(new)
            try:
                await self._own(left, False)
            finally:
                await left.close()
        for made in (*stores, new):
            if made != current:
                await self._stores.remove(made)
        await asyncio.to_thread(self._note.begin, new, current)
        return set()

    async def _open_old(self, made: Made) -> Index | None:
        try:
            old = await self._stores.open(made)
        except RAGToolError:
            log.warning("the old index cannot be read; pairs of questions and answers become text", exc_info=True)
            return None
        try:
            await self._own(old, False)
        except BaseException:
            await old.close()
            raise
        return old

    async def _build(self, copy: "_Copy", new: Made, progress: Progress | None) -> Rebuilt:
        while await self._catch_up(copy, progress):  # documents come and go meanwhile
            _check(copy)
        async with self._quiet() as generation:
            await self._catch_up(copy, None)
            _check(copy)
            chunks = {id: count for id, (_, count) in copy.done.items()}
            everyone = Readers(frozenset(row.scope for row, _ in copy.done.values()))
            if copy.everything:
                await copy.target.drop_strangers(generation, chunks)
            found = await copy.target.count(View(everyone, generation))
            if found != sum(chunks.values()):
                raise RAGToolError(_INCOMPLETE, found=found, wanted=sum(chunks.values()))
            row = IndexRow(new.embedder, new.dimensions, new.tokenizer, generation)
            await self._indexes.swap(row, chunks)
        log.info("built an index of %d documents anew, %d of them now", len(chunks), copy.written)
        return Rebuilt(copy.target, row, len(chunks), copy.written)

    async def _catch_up(self, copy: "_Copy", progress: Progress | None) -> int:
        """Bring the new store to what the database says; returns how many documents had changed."""
        rows = await self._documents.listed()
        gone = (copy.touched | copy.done.keys()) - {row.id for row in rows}
        for document_id in gone:
            await copy.target.discard(document_id)
            copy.touched.discard(document_id)
            copy.done.pop(document_id, None)
        copy.unfit.clear()
        changed = len(gone)
        for number, row in enumerate(rows):
            if progress:
                progress(number, len(rows))
            known = copy.done.get(row.id)
            if known is None or known[0] != row:
                changed += await self._bring(copy, row)
        if progress:
            progress(len(rows), len(rows))
        return changed

    async def _bring(self, copy: "_Copy", row: DocumentRow) -> bool:
        """Write a document where the new store does not have it as it should be; False when it cannot be brought.

        One whose text is lost or too long for now comes over in the passages that the old store has of it: whoever
        upgrades could neither go back to that store nor forget the document, since this version cannot open it. Where
        the store that is current has lost passages of it, too, what is left of them is all there is, and is brought:
        without that store nobody could forget the document or add it again."""
        about = row.about()
        try:
            document = await self._read(copy, row)
            cut = await copy.ingest.prepare(document)
        except (ContentLostError, UnreadableError) as error:
            if await self._documents.get(row.id) != row:
                return True  # replaced or forgotten a moment ago
            log.warning("a document cannot be cut anew: %s", error)
            document = Document(row.name, "", row.title)
            cut = [one.as_chunk() for one in await stored(copy.old, row)]
            nowhere = copy.everything and isinstance(error, ContentLostError)
            if len(cut) != row.chunks and not nowhere:
                copy.unfit[row.id] = row.name
                return False
        if row.id in copy.touched or copy.everything:
            if await _there(copy, cut, about, row):
                copy.done[row.id] = row, len(cut)
                return True
            copy.done.pop(row.id, None)
            await copy.target.discard(row.id)
        else:
            await asyncio.to_thread(self._note.add, row.id)
            copy.touched.add(row.id)
        count = await copy.ingest.write(document, about, born=row.born, version=row.hash, cut=cut)
        copy.done[row.id] = row, count
        copy.written += 1
        return True

    async def _read(self, copy: "_Copy", row: DocumentRow) -> Document:
        """The document as it was cut before. Raises ContentLostError."""
        markdown = await self._kept.read(row.markdown)
        return document_of(row, markdown, await stored(copy.old, row))


@dataclass(slots=True)
class _Copy:
    """The state of one run. `old`: the store before it, or the target where there is none. `touched`: documents that
    may have points in the target. `everything`: all may."""

    target: Index
    ingest: Ingest
    old: Index
    everything: bool
    touched: set[str]
    done: dict[str, tuple[DocumentRow, int]] = field(default_factory=dict)  # as it was brought, its chunks
    unfit: dict[str, str] = field(default_factory=dict)  # id → name
    written: int = 0


async def complete(index: Index, rows: Sequence[DocumentRow], generation: int) -> bool:
    """Whether the index has the passages of these documents, all there are, and of no others: not when it was put back
    from an older copy. Raises QdrantConnectionError."""
    if await index.strangers(generation, {row.id for row in rows}):
        return False
    newest = max((row.born for row in rows if row.chunks), default=0)
    if newest and not await index.after(newest - 1):
        return False
    everyone = Readers(frozenset(row.scope for row in rows))
    return await index.count(View(everyone, generation)) >= sum(row.chunks for row in rows)


def made_of(row: IndexRow) -> Made:
    """The makers of a store's vectors."""
    return Made(row.embedder, row.dimensions, row.tokenizer)


def _check(copy: _Copy) -> None:
    if copy.unfit:
        names = sorted(copy.unfit.values())
        raise RAGToolError(
            _UNFIT, count=len(names), names=", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")
        )


async def _there(copy: _Copy, cut: Sequence[Chunk], about: Passage, row: DocumentRow) -> bool:
    """Whether the new store has the document as it should be."""
    wanted = [
        replace(about, chunk=one.number, text=one.text, headings=one.headings, question=one.question) for one in cut
    ]
    earlier = await stored(copy.target, row, row.born - 1)  # of an older copy, though it may say the same
    return not earlier and wanted == await stored(copy.target, row)


class _Note:
    """A note on the store that is being built, in lines of JSON: the new store, then the one it replaces, then the
    documents that were begun.

    A line is on the disk before the first point it speaks of.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self, new: Made, current: Made | None) -> None:
        lines = [json.dumps({"store": asdict(made)}) + "\n" for made in (new, current) if made]
        make_folder(self._path.parent)
        with replacing(self._path) as file:
            file.write("".join(lines).encode())

    def add(self, document_id: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            # The line before it may have been cut off by a crash.
            file.write("\n" + json.dumps({"document": document_id}) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def stores(self) -> list[Made]:
        """The new store, then the others that the note names; empty without a note."""
        return [Made(**line["store"]) for line in self._lines() if "store" in line]

    def documents(self) -> set[str]:
        return {line["document"] for line in self._lines() if "document" in line}

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)

    def _lines(self) -> list[dict[str, Any]]:
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        lines = []
        for line in text.splitlines():
            with suppress(ValueError):  # empty, or cut off: then nothing of what it says was begun
                lines.append(json.loads(line))
        return lines
