"""What the team has taught the bot: documents added, replaced, forgotten, searched and measured.

The only owner of the generation: whatever changes what a search may see becomes visible in one step here.
"""

import asyncio
import hashlib
import logging
import re
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from weakref import WeakValueDictionary

from bot.messages import Upload, Verdict
from bot.store.collections import Collections
from bot.store.documents import DocumentRow, Documents
from bot.store.engine import StoreError, finished
from bot.store.searches import Searches, failure
from retrieval.formats.cleaning import clean_line
from retrieval.index import Index
from retrieval.ingest import Ingest
from retrieval.loaders import Loader
from retrieval.payload import STAGED
from retrieval.search import Search
from retrieval.text import Language, Said, language_of
from retrieval.types import (
    EVERYONE,
    TEAM,
    CollectionInfo,
    Document,
    Found,
    Hit,
    Mode,
    Passage,
    RAGToolError,
    Readers,
    SearchMetrics,
    View,
)

log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]

_NAME = re.compile(
    r"[^\s,\x00-\x1f\x7f\ud800-\udfff](?:[^,\x00-\x1f\x7f\ud800-\udfff]{0,78}[^\s,\x00-\x1f\x7f\ud800-\udfff])?"
)
_BAD_NAME = Said(
    en="A collection's name has 1 to 80 characters, without commas or line breaks.",
    ja="コレクション名は 1～80 文字で、カンマと改行は使えません。",
)
_CLASH = Said(
    en="“{source}” and “{into}” both have a document of these names with different contents: {names}. Forget one of each first.",
    ja="「{source}」と「{into}」の両方に、名前が同じで内容の違う文書があります: {names}。先にどちらかを削除してください。",
)
_PRIVATE = Said(en="(documents of private places)", ja="（非公開の場所の文書）")
_DISK = Said(
    en="The document could not be stored on the disk: {why}.", ja="文書をディスクに保存できませんでした: {why}"
)


class Knowledge:
    """Documents in, hits out.

    Two locks: one a document while it is read and embedded, and one, held for milliseconds, for whatever becomes
    visible. Neither is taken by a search. Source: architecture.md "One visible step"; seeds/4_agentic_rag_api.md §3, §4.
    """

    def __init__(
        self,
        *,
        documents: Documents,
        collections: Collections,
        searches: Searches,
        index: Index,
        ingest: Ingest,
        search: Search,
        loader: Loader,
        folder: Path,
        generation: int,
    ) -> None:
        self._documents = documents
        self._collections = collections
        self._searches = searches
        self._index = index
        self._ingest = ingest
        self._search = search
        self._loader = loader
        self._folder = folder
        self._generation = generation
        self._pinned: Counter[int] = Counter()  # generations that running searches look at
        self._commit = asyncio.Lock()
        self._measured: list[tuple[SearchMetrics, str]] = []  # and not written yet
        self._measuring: asyncio.Task[None] | None = None
        self._adding: WeakValueDictionary[tuple[str, str, str], asyncio.Lock] = WeakValueDictionary()
        self._merges = 0
        self._owed: list[Callable[[], Awaitable[None]]] = []  # what the index must still do before the next change

    @property
    def generation(self) -> int:
        """What searches see; it has moved by one with every change."""
        return self._generation

    async def recover(self) -> None:
        """After a start: what was never committed goes, what has died is swept, a merge cut in two is finished."""
        await self._index.reconcile(self._generation)
        await self._index.sweep(self._generation)
        rows = await self._documents.listed()
        await self._align(rows)
        await asyncio.to_thread(self._drop_all_but, {row.markdown for row in rows})

    async def _align(self, rows: Sequence[DocumentRow]) -> None:
        """Passages follow their documents into the collection that the database says."""
        everyone = Readers(frozenset(row.scope for row in rows))
        for name, group in groupby(rows, key=lambda row: row.collection):  # `listed` sorts by it
            members = list(group)
            if await self._index.count(View(everyone, self._generation, (name,))) == sum(row.chunks for row in members):
                continue
            for row in members:
                first = await self._index.passages(row.id, range(1), View(everyone, self._generation))
                if first and first[0].collection != name:
                    await self._index.move(first[0].collection, name)

    # -- documents in and out ---------------------------------------------------------------------------------------

    async def add(self, upload: Upload, language: Language, progress: Progress | None = None) -> Verdict:
        """Read, cut, embed and show one document; all or nothing. A refusal is a verdict with its reason in `language`."""
        upload = replace(upload, name=clean_line(upload.name, 400) or "?")
        try:
            return await self._add(upload, progress)
        except (RAGToolError, StoreError) as refusal:
            log.info("refused a document of %d bytes: %s", len(upload.data), type(refusal).__name__, exc_info=True)
            reason = refusal.text(language)
        except OSError as error:
            log.warning("a document of %d bytes could not be stored", len(upload.data), exc_info=True)
            reason = _DISK.to(language, why=error.strerror or type(error).__name__)
        return Verdict(upload.name, "refused", upload.collection, reason=reason)

    async def _add(self, upload: Upload, progress: Progress | None) -> Verdict:
        _check_name(upload.collection)
        key = (upload.collection, upload.scope, upload.name)
        lock = self._adding.setdefault(key, asyncio.Lock())
        async with lock:
            digest = hashlib.sha256(upload.data).hexdigest()
            document: Document | None = None
            while True:
                merges = self._merges
                known = await self._documents.find(*key)
                if known and known.hash == digest:
                    return Verdict(known.name, "unchanged", known.collection, known.id, known.chunks)
                document = document or await self._loader.load(upload.name, upload.data)
                row = await self._stage(upload, digest, document, known, progress)
                if await finished(self._show(row, document.markdown, merges)):
                    break
        await self._tidy(known.markdown if known else row.markdown)
        log.info("added or replaced a document: %d chunks", row.chunks)
        return Verdict(row.name, "replaced" if known else "added", row.collection, row.id, row.chunks)

    async def _stage(
        self, upload: Upload, digest: str, document: Document, known: DocumentRow | None, progress: Progress | None
    ) -> DocumentRow:
        now = datetime.now(UTC)
        row = DocumentRow(
            id=known.id if known else uuid.uuid4().hex,
            collection=upload.collection,
            scope=upload.scope,
            name=upload.name,
            title=document.title,
            url=upload.url,
            hash=digest,
            markdown=hashlib.sha256(document.markdown.encode()).hexdigest(),
            chunks=0,
            language=language_of(document.markdown[:4000]),
            author=upload.author,
            born=0,
            added_at=known.added_at if known else now,
            updated_at=now,
        )
        return row.with_(chunks=await self._ingest.stage(document, row.about(), version=digest, progress=progress))

    async def _show(self, row: DocumentRow, markdown: str, merges: int) -> bool:
        """The one visible step: staged points, row and generation together, or nothing of it.

        False when collections were merged since `merges`: the staged points may have moved, so it has to start again.
        """
        async with self._commit:
            born = self._generation + 1
            try:
                await self._settle()
                if merges != self._merges:
                    await self._take_back(row.id, STAGED)
                    return False
                await asyncio.to_thread(self._keep, row.markdown, markdown)
                await self._index.publish(row.id, at=born)
                await self._documents.commit(row.with_(born=born), generation=born)
            except BaseException:
                await self._take_back(row.id, born, STAGED)
                await self._drop_unneeded(row.markdown)
                raise
            self._generation = born
            return True

    async def _take_back(self, document_id: str, *generations: int) -> None:
        """Undo in the index now, or before anything else becomes visible: the next commit has the same generation."""
        for at in generations:
            undo = partial(self._index.undo, document_id, at=at)
            try:
                await undo()
            except RAGToolError:
                log.warning("the index could not take a change back; it is tried again", exc_info=True)
                self._owed.append(undo)

    async def _settle(self) -> None:
        while self._owed:
            await self._owed[0]()
            del self._owed[0]

    async def forget(self, document_id: str) -> bool:
        """Gone from every search at once; False when there is no such document."""
        row = await finished(self._hide(document_id))
        if row is not None:
            await self._tidy(row.markdown)
        return row is not None

    async def _hide(self, document_id: str) -> DocumentRow | None:
        async with self._commit:
            row = await self._documents.get(document_id)
            if row is not None:
                await self._retire(document_id)
            return row

    async def _retire(self, *document_ids: str) -> None:
        """Under the commit lock: documents and their passages are gone, in one step."""
        await self._settle()
        died = self._generation + 1
        try:
            for document_id in document_ids:
                await self._index.retire(document_id, died=died)
            await self._documents.forget(*document_ids, generation=died)
        except BaseException:
            for document_id in document_ids:
                await self._take_back(document_id, died)
            raise
        self._generation = died

    # -- collections ------------------------------------------------------------------------------------------------

    async def describe(self, name: str, description: str) -> None:
        """Make a collection, or give it another description for the router. Raises RAGToolError for a bad name."""
        _check_name(name)
        await self._collections.describe(name, description)

    async def merge(self, source: str, into: str, readers: Readers, language: Language = "en") -> int:
        """Move every document of `source` into `into`; equal copies become one. Returns how many of those that
        `readers` may read have moved.

        Raises CollectionNotFoundError, RAGToolError when two documents of one name and scope differ.
        """
        _check_name(into)
        await self._collections.require((source,), readers, language)
        if source == into:
            return 0
        moved, twins = await finished(self._merge(source, into, readers, language))
        await self._tidy(*(row.markdown for row in twins))
        return moved

    async def _merge(
        self, source: str, into: str, readers: Readers, language: Language
    ) -> tuple[int, list[DocumentRow]]:
        async with self._commit:
            await self._settle()
            moving = await self._documents.listed(collection=source)
            there = {(row.scope, row.name): row for row in await self._documents.listed(collection=into)}
            twins = [row for row in moving if (row.scope, row.name) in there]
            clashes = [row for row in twins if row.hash != there[row.scope, row.name].hash]
            if clashes:
                named = [row.name for row in clashes if row.scope in readers.scopes]
                names = ", ".join(named + [_PRIVATE.to(language)] * (len(named) < len(clashes)))
                raise RAGToolError(_CLASH, source=source, into=into, names=names)
            if twins:
                await self._retire(*(row.id for row in twins))
            # The database first: what a crash leaves of `source` in the index then has one place to go (`_align`).
            self._merges += 1
            await self._collections.merge(source, into)
            self._owed.append(partial(self._index.move, source, into))
            await self._settle()
        return sum(row.scope in readers.scopes for row in moving), twins

    async def drop_collection(self, name: str, readers: Readers, language: Language = "en") -> int:
        """Forget what `readers` may read of a collection, and the collection once it is empty; returns how many.

        Raises CollectionNotFoundError.
        """
        await self._collections.require((name,), readers, language)
        rows = await self._documents.listed(readers, collection=name)
        for row in rows:
            await self.forget(row.id)
        await self._collections.remove(name)
        return len(rows)

    async def collections(self, readers: Readers) -> tuple[CollectionInfo, ...]:
        """The collections with something these readers may read, and the empty ones people made."""
        return await self._collections.listed(readers)

    async def documents(self, readers: Readers, collection: str | None = None) -> list[DocumentRow]:
        return await self._documents.listed(readers, collection=collection)

    # -- out --------------------------------------------------------------------------------------------------------

    async def search(
        self,
        query: str,
        readers: Readers,
        collections: Sequence[str] | None = None,
        *,
        mode: Mode = "hybrid",
        limit: int | None = None,
    ) -> Found:
        """Search what these readers may read (`collections` None: in all, empty: in none), and keep the measurement.

        A collection they cannot read has nothing for them: `check` names that people chose first. Raises RAGToolError
        when nothing could be searched.
        """
        with self._view(readers, collections) as view:
            try:
                found = await self._search(query, view, mode=mode, limit=limit)
            except RAGToolError as error:
                self._measure(failure(query, collections, type(error).__name__), readers)
                raise
        self._measure(found.metrics, readers)
        return found

    def _measure(self, metrics: SearchMetrics, readers: Readers) -> None:
        """No search waits for it: a commit that is safe from power cuts takes longer than the search."""
        self._measured.append((metrics, _query_scope(readers)))
        if self._measuring is None or self._measuring.done():
            self._measuring = asyncio.create_task(self._keep_measurements())

    async def _keep_measurements(self) -> None:
        """All that has gathered meanwhile at once; what cannot be kept costs a log line, not the answer."""
        while self._measured:
            some, self._measured = self._measured, []
            try:
                await self._searches.add(*some)
            except StoreError:
                log.warning("%d searches could not be measured", len(some), exc_info=True)

    async def close(self) -> None:
        """Wait for the measurements that are still being written."""
        if self._measuring is not None:
            await self._measuring

    async def context(self, hit: Hit, readers: Readers, around: int = 2) -> list[Passage]:
        """The chunks around a hit, as far as these readers may read them (the seed's full_text)."""
        with self._view(readers, None) as view:
            return await self._search.context(hit, view, around=around)

    async def readable(self, hits: Sequence[Hit], readers: Readers) -> frozenset[str]:
        """Of the hits' documents those that are still there and still readable: asked again before an answer is given."""
        return await self._documents.readable({hit.passage.document_id for hit in hits}, readers)

    async def check(self, collections: Sequence[str] | None, readers: Readers, language: Language) -> None:
        """Raises CollectionNotFoundError for a collection these readers cannot read."""
        await self._collections.require(collections or (), readers, language)

    @contextmanager
    def _view(self, readers: Readers, collections: Sequence[str] | None) -> Iterator[View]:
        generation = self._generation
        self._pinned[generation] += 1
        try:
            yield View(readers, generation, None if collections is None else tuple(collections))
        finally:
            self._pinned[generation] -= 1
            if not self._pinned[generation]:
                del self._pinned[generation]

    # -- what nobody needs any longer -------------------------------------------------------------------------------

    async def _tidy(self, *addresses: str) -> None:
        """After a change is visible: delete what no running search can still see. What fails is left to the next start."""
        try:
            await self._index.sweep(min(self._pinned, default=self._generation))
            async with self._commit:
                for address in addresses:
                    await self._drop_unneeded(address)
        except RAGToolError:
            log.warning("the index could not be swept", exc_info=True)

    def _path(self, address: str) -> Path:
        return self._folder / address[:2] / f"{address}.md"

    def _keep(self, address: str, markdown: str) -> None:
        path = self._path(address)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".part")
            unfinished.write_text(markdown, encoding="utf-8", newline="")
            unfinished.replace(path)

    async def _drop_unneeded(self, address: str) -> None:
        """Under the commit lock, so that nobody is about to need it again."""
        try:
            if not await self._documents.keeps(address):
                await asyncio.to_thread(self._path(address).unlink, missing_ok=True)
        except (StoreError, OSError):
            log.warning("kept Markdown that nobody needs stays until the next start", exc_info=True)

    def _drop_all_but(self, addresses: set[str]) -> None:
        for path in self._folder.glob("??/*"):
            if path.suffix != ".md" or path.stem not in addresses:
                path.unlink(missing_ok=True)


def _check_name(collection: str) -> None:
    if not _NAME.fullmatch(collection):
        raise RAGToolError(_BAD_NAME)


def _query_scope(readers: Readers) -> str:
    """Who may see the words of a query: the place it was asked in where that is private, else the team."""
    private = sorted(scope for scope in readers.scopes if scope.startswith("place:"))
    return private[0] if private else TEAM if TEAM in readers.scopes else EVERYONE
