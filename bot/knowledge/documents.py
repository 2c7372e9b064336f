"""The documents the team has taught the bot: documents added, replaced, forgotten, searched and measured.

The only owner of the generation: whatever changes what a search may see becomes visible in one step here.
"""

import asyncio
import hashlib
import logging
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from weakref import WeakValueDictionary

from bot.access import Withheld, valid_scope
from bot.errors import ContentLostError, StoreError
from bot.knowledge.collections import StoredDocuments, check_name
from bot.knowledge.content_store import ContentStore, document_of, stored
from bot.knowledge.pair_documents import WrittenPair, read_pairs, with_pair
from bot.knowledge.snapshots import INDEX_LOST, Snapshots
from bot.records import SHORT_ID, DocumentRow
from bot.store.collections import Collections
from bot.store.contents import address_of
from bot.store.documents import Documents
from bot.store.searches import Measured, Searches, failure
from bot.store.vector_stores import OvertakenError
from bot.types import Upload, Verdict
from bot.waiting import finished
from retrieval.i18n import Language, Text, os_reason
from retrieval.index import Index
from retrieval.index.payload import STAGED
from retrieval.ingest import Ingest
from retrieval.loaders.loader import Loader
from retrieval.loaders.sanitize import clean_name
from retrieval.search import Search, WrittenBy
from retrieval.text import language_of, normalise
from retrieval.types import (
    EVERYONE,
    TEAM,
    CollectionInfo,
    Document,
    Found,
    Hit,
    Mode,
    Passage,
    QAPair,
    QdrantConnectionError,
    RAGToolError,
    Readers,
    SearchMetrics,
)

log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]

_AT_ONCE = 200  # chunks looked through for words
_DISK = Text(
    en="The document could not be stored on the disk: {why}.", ja="文書をディスクに保存できませんでした: {why}"
)
_LOST = Text(
    en="The kept text of “{name}” is not there any more. Add the file again.",
    ja="「{name}」の保存済みテキストが見つかりません。ファイルをもう一度登録してください。",
)
_UNSTAGED = Text(
    en="The search index has lost a part of “{name}” before it could be shown. Add it again.",
    ja="「{name}」を登録する途中で、検索インデックスから一部が失われました。もう一度登録してください。",
)
_OTHERS = Text(
    en="Somebody else has added a document “{name}” for these readers to “{collection}”. Give yours another name, or "
    "have it replaced by whoever added it or by an editor.",
    ja="「{collection}」には、ほかの人が登録した、同じ公開範囲の文書「{name}」があります。別の名前で登録するか、"
    "登録した本人か編集者に置き換えを依頼してください。",
)
_TAKEN = Text(
    en="There is a document “{name}” for these readers in “{collection}” already. Forget one of the two first.",
    ja="「{collection}」には、同じ公開範囲の文書「{name}」がすでにあります。先にどちらかを削除してください。",
)


class KnowledgeBase:
    """Documents in, hits out.

    Two locks: one a document while it is read and embedded, and one, held for milliseconds, for whatever becomes
    visible. Neither is taken by a search. Source: architecture.md "One visible step"; seeds/4_agentic_rag_api.md §3,
    §4."""

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
        kept: ContentStore,
        snapshots: Snapshots,
    ) -> None:
        self._documents = documents
        self._collections = collections
        self._searches = searches
        self._index = index
        self._ingest = ingest
        self._search = search
        self._loader = loader
        self._kept = kept
        self._generations = snapshots
        self.stored = StoredDocuments(documents, collections, index, self._kept, self._generations)
        self._measured: list[Measured] = []  # and not written yet
        self._measuring: asyncio.Task[None] | None = None
        self._changing: WeakValueDictionary[tuple[str, ...], asyncio.Lock] = WeakValueDictionary()
        self.withheld: Withheld | None = None  # what knows the channels sets it

    async def generation(self) -> int:
        """The snapshot that searches see; it has moved by one with every change. Raises StoreError,
        QdrantConnectionError."""
        return await self._generations.now()

    # -- documents in and out ---------------------------------------------------------------------------------------

    async def add(self, upload: Upload, language: Language, progress: Progress | None = None) -> Verdict:
        """Read, cut, embed and show one document; all or nothing. A refusal is a verdict with its reason in
        `language`."""
        upload = replace(upload, name=clean_name(upload.name))
        try:
            return await self.take(upload, progress)
        except (RAGToolError, StoreError) as refusal:
            log.info("refused a document of %d bytes: %s", len(upload.data), type(refusal).__name__, exc_info=True)
            return Verdict(upload.name, "refused", upload.collection, reason=refusal.text(language))

    async def take(self, upload: Upload, progress: Progress | None = None) -> Verdict:
        """As `add`, for a program that has to know what went wrong. Raises UnreadableError for what can never be read,
        other RAGToolErrors, StoreError."""
        try:
            return await self._add(upload, progress)
        except OSError as error:
            raise StoreError(_DISK, why=os_reason(error)) from error

    async def _add(self, upload: Upload, progress: Progress | None) -> Verdict:
        check_name(upload.collection)
        key = (upload.collection, upload.scope, upload.name)
        async with self._alone(*key):
            digest = hashlib.sha256(upload.data).hexdigest()
            document: Document | None = None
            while True:
                known = await self._documents.find(*key)
                if known and known.hash == digest and await self._whole(known):
                    return Verdict(known.name, "unchanged", known.collection, known.id, known.chunks)
                if known and not _may_replace(upload, known):
                    raise RAGToolError(_OTHERS, name=known.name, collection=known.collection)
                document = document or await self._loader.load(upload.name, upload.data)
                row = _row(upload, digest, document, known)
                if known and _says_the_same(row, known, document.date) and await self._whole(known):
                    return Verdict(known.name, "unchanged", known.collection, known.id, known.chunks)
                async with self._staging(row.id):
                    row = await self._staged(row, document, progress, replaces=known is not None)
                    if await finished(self._show(row, known, row.chunks, document.markdown)):
                        break
        await self.stored.tidy(known.markdown if known else row.markdown)
        log.info("added or replaced a document: %d chunks", row.chunks)
        return Verdict(row.name, "replaced" if known else "added", row.collection, row.id, row.chunks)

    async def reindex(self, document_id: str, readers: Readers, progress: Progress | None = None) -> DocumentRow | None:
        """Cut and embed a document anew from its kept Markdown, and show that in one step; None when there is none that
        these readers may read. `progress(done, total)` counts chunks.

        Whatever ends it early leaves the document as it was. Raises RAGToolError, StoreError.
        """
        while True:
            known = await self.document(document_id, readers)
            if known is None:
                return None
            async with self._staging(document_id):
                row = await self._staged(known, await self._as_it_was(known), progress)
                shown = await finished(self._show(row, known, row.chunks))
            if shown:
                await self.stored.tidy()
                log.info("indexed a document anew: %d chunks", shown.chunks)
                return shown

    async def rescope(self, document_id: str, scope: str, readers: Readers) -> DocumentRow | None:
        """Change who may read a document, in one step; None when there is none that these readers may read.

        Raises ValueError for a scope that is none, RAGToolError when a document of its name is there for those readers,
        StoreError.
        """
        if not valid_scope(scope):
            raise ValueError(f"not a scope: {scope}")
        return await self._placed(document_id, readers, scope=scope)

    async def move(self, document_id: str, collection: str, readers: Readers) -> DocumentRow | None:
        """Put a document into another collection, which may be new, in one step; None when there is none that these
        readers may read.

        Raises RAGToolError for a bad name, or when a document of its name is there for its readers; StoreError.
        """
        check_name(collection)
        return await self._placed(document_id, readers, collection=collection)

    async def rename_document(
        self, document_id: str, name: str, url: str | None, readers: Readers
    ) -> DocumentRow | None:
        """Let a document have another name and address, in one step; otherwise as `move`."""
        return await self._placed(document_id, readers, name=clean_name(name), url=url)

    async def _placed(self, document_id: str, readers: Readers, **changes: str | None) -> DocumentRow | None:
        """The same document, with another scope, collection or name."""
        while True:
            known = await self.document(document_id, readers)
            if known is None:
                return None
            row = known.with_(**changes)
            if row == known:
                return known
            async with self._alone(row.collection, row.scope, row.name), self._staging(document_id):
                there = await self._documents.find(row.collection, row.scope, row.name)
                if there is not None and there.id != document_id:
                    raise RAGToolError(_TAKEN, name=row.name, collection=row.collection)
                about = {"scope": row.scope, "collection": row.collection, "document": row.name, "url": row.url}
                copied = await self._index.copy(document_id, **about)
                shown = await finished(self._show(row, known, copied))
            if shown:
                await self.stored.tidy()
                return shown

    async def pairs(self, row: DocumentRow) -> list[WrittenPair]:
        """The Q/A pairs that a document consists of, in order; none for any other document. Raises RAGToolError."""
        return read_pairs(await self.markdown(row), await stored(self._index, row, await self.generation()))

    async def edit_pair(
        self, document_id: str, was: WrittenPair, pair: QAPair | None, readers: Readers
    ) -> DocumentRow | None:
        """Put a pair into other words, or take it out (None), in one step; the document goes with its last pair.

        None when there is no document that these readers may read. Raises RAGToolError where the pair is not there any
        more as it `was`; StoreError.
        """
        while True:
            known = await self.document(document_id, readers)
            if known is None:
                return None
            async with self._staging(document_id):
                passages = await stored(self._index, known, await self.generation())
                edited = with_pair(document_of(known, await self.markdown(known), passages), passages, was, pair)
                if edited is not None:
                    digest = hashlib.sha256(edited.markdown.encode()).hexdigest()
                    address = address_of(edited.markdown)
                    row = known.with_(hash=digest, markdown=address, updated_at=datetime.now(UTC))
                    row = await self._staged(row, edited, None, replaces=True)
                    shown = await finished(self._show(row, known, row.chunks, edited.markdown))
            if edited is None:
                return known if await self.forget(document_id) else None
            if shown:
                await self.stored.tidy(known.markdown)
                return shown

    async def made_from(self, document_id: str) -> list[str]:
        """The documents that hold Q/A pairs of this one. Raises StoreError."""
        return await self._documents.made_from([document_id])

    async def forget(self, document_id: str, *, at_source: bool = False) -> bool:
        """Gone from every search at once; False when there is no such document. Its words go from what was said, too,
        unless it went `at_source`: then answers that rest on it say so."""
        return bool(await self.stored.forget(document_id, at_source=at_source))

    async def _whole(self, row: DocumentRow) -> bool:
        """Whether its kept text is there as it was kept, and something of it is found."""
        return bool(row.chunks) and not await self._kept.lost({row.markdown})

    async def as_cited(self, address: str) -> str | None:
        """A document as it was when it was cited, by the address that was noted; None: that is lost."""
        try:
            return await self._kept.read(address)
        except ContentLostError:
            return None

    # -- staged, then shown -----------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _alone(self, *key: str) -> AsyncIterator[None]:
        """One at a time by collection, scope and name, or by a document's id: for as long as it is read and
        embedded."""
        lock = self._changing.setdefault(key, asyncio.Lock())
        async with lock:
            yield

    @asynccontextmanager
    async def _staging(self, document_id: str) -> AsyncIterator[None]:
        """Nobody else in this process stages this document meanwhile: what is staged is shown together. What is left
        staged after a failure is taken back."""
        async with self._alone(document_id):
            await self._require_passages()
            await self._generations.clear(document_id)
            try:
                yield
            except BaseException:
                await finished(self._generations.take_back(document_id, STAGED))
                raise

    async def _staged(
        self, row: DocumentRow, document: Document, progress: Progress | None, *, replaces: bool = False
    ) -> DocumentRow:
        # Never the ids of points that somebody sees: the same content may be staged again.
        version = f"{row.hash}@{uuid.uuid4().hex}"
        chunks = await self._ingest.stage(document, row.about(), version=version, progress=progress, replaces=replaces)
        return row.with_(chunks=chunks)

    async def _as_it_was(self, row: DocumentRow) -> Document:
        return document_of(row, await self.markdown(row), await stored(self._index, row))

    async def _show(
        self, row: DocumentRow, known: DocumentRow | None, staged: int, markdown: str | None = None
    ) -> DocumentRow | None:
        """The one visible step: so many `staged` points, row and generation together, or nothing of it.

        None when the document is not as it was `known`, or its place is taken: it has to start again. Raises
        QdrantConnectionError when the index does not have all that was staged.
        """
        generations = self._generations
        async with generations.commit():
            born = generations.current + 1
            try:
                if not await self._unchanged(row, known):
                    await generations.take_back(row.id, STAGED)
                    return None
                if markdown is not None:
                    await self._kept.put(markdown)
                if await self._index.publish(row.id, at=born) != staged:
                    raise QdrantConnectionError(_UNSTAGED, name=row.name)
                row = row.with_(born=born)
                await self._documents.commit(row, generation=born, markdown=markdown)
            except BaseException as error:
                await self.stored.take_back(row.id, born, error)
                await self.stored.drop_unneeded(row.markdown)
                if isinstance(error, OvertakenError):
                    return None
                if not (isinstance(error, StoreError) and await self._documents.get(row.id) == row):
                    raise
            generations.current = born
            return row

    async def _unchanged(self, row: DocumentRow, known: DocumentRow | None) -> bool:
        if known is not None and await self._documents.get(row.id) != known:
            return False
        there = await self._documents.find(row.collection, row.scope, row.name)
        return there is None or there.id == row.id

    # -- collections ------------------------------------------------------------------------------------------------

    async def own(self, thing: CollectionInfo | DocumentRow, owner: str | None) -> None:
        """From now on `owner` (`platform:id`; None: nobody in particular) looks after a document or collection."""
        if isinstance(thing, DocumentRow):
            await self._documents.own(thing.id, owner)
        else:
            await self._collections.own(thing.name, owner)

    async def collections(self, readers: Readers) -> tuple[CollectionInfo, ...]:
        """The collections with something these readers may read, and for the team the empty ones people made."""
        return await self._collections.listed(readers)

    async def documents(self, readers: Readers, collection: str | None = None) -> list[DocumentRow]:
        return await self._documents.listed(readers, collection=collection)

    async def named(self, wanted: str, readers: Readers, collection: str | None = None) -> list[DocumentRow]:
        """The documents of this name or id; without any, those whose id begins so, as lists show it."""
        rows = await self.documents(readers, collection)
        begins = [row for row in rows if row.id.startswith(wanted)] if len(wanted) >= SHORT_ID else []
        return [row for row in rows if wanted in (row.id, row.name)] or begins

    async def document(self, document_id: str, readers: Readers) -> DocumentRow | None:
        """None also for one that these readers may not read."""
        row = await self._documents.get(document_id)
        return row if row is not None and row.scope in readers.scopes else None

    async def markdown(self, row: DocumentRow) -> str:
        """The text of a document, as it was kept. Raises RAGToolError when that is lost."""
        try:
            return await self._kept.read(row.markdown)
        except ContentLostError as error:
            raise RAGToolError(_LOST, name=row.name) from error

    # -- out --------------------------------------------------------------------------------------------------------

    async def chunks(
        self, document_id: str, readers: Readers, *, start: int = 0, limit: int = 20, containing: str = ""
    ) -> tuple[list[Passage], int | None]:
        """A page of a document's chunks from number `start` on, and the number where the next page begins.
        `containing`: only those with these words in them, whatever their width or case. LookupError when it is not
        there for them."""
        row = await self.document(document_id, readers)
        if row is None or (row.said_in and await self._withheld([row.id], readers)):
            raise LookupError(document_id)
        wanted = normalise(containing).strip()
        found: list[Passage] = []
        async with self._generations.view(readers) as view:
            while start < row.chunks:
                numbers = range(start, min(row.chunks, start + (_AT_ONCE if wanted else limit)))
                for passage in await self._index.passages(document_id, numbers, view):
                    if wanted in normalise("\n".join((*passage.headings, passage.question or "", passage.text))):
                        if len(found) == limit:
                            return found, passage.chunk
                        found.append(passage)
                start = numbers.stop
                if not wanted:
                    break
        return found, start if start < row.chunks else None

    async def search(
        self,
        query: str | Sequence[str],
        readers: Readers,
        collections: Sequence[str] | None = None,
        *,
        written_by: WrittenBy = "asker",
        mode: Mode = "hybrid",
        limit: int | None = None,
        min_relevance: float | None = None,
        measured: bool = True,
        turn: str | None = None,
    ) -> Found:
        """Search what these readers may read (`collections` None: in all, empty: in none) with one query or up to four
        wordings of it, and keep the measurement, unless nobody asked for the search (`measured`), as one of `turn`.

        A collection they cannot read has nothing for them: `check` names that people chose first. Raises RAGToolError
        when nothing could be searched.
        """
        queries = [query] if isinstance(query, str) else [*query]
        async with self._generations.view(readers, collections) as view:
            try:
                found = await self._search(
                    queries, view, written_by=written_by, mode=mode, limit=limit, min_relevance=min_relevance
                )
                if not found.metrics.total_results:
                    await self._require_passages()
            except RAGToolError as error:
                if measured:
                    self._measure(failure(" / ".join(queries), collections, type(error).__name__), readers, turn)
                raise
        if measured:
            self._measure(found.metrics, readers, turn)
        try:  # the index may be older than the database, as one that was put back from a copy
            theirs = await self.readable((*found.hits, *found.rejected), readers)
        except StoreError as error:
            raise QdrantConnectionError(error.said) from error
        hits, rejected = (
            tuple(hit for hit in some if hit.passage.document_id in theirs) for some in (found.hits, found.rejected)
        )
        return replace(found, hits=hits, rejected=rejected)

    async def emptied(self) -> bool:
        """Whether the index shows none of the documents there are, as that of a server which has lost its disk, and was
        given the collection anew by another process. Raises QdrantConnectionError, StoreError."""
        generation = await self._generations.now()
        if await self._index.sample(generation, 1):
            return False
        return any(row.chunks and row.born <= generation for row in await self._documents.listed())

    async def _require_passages(self) -> None:
        """Raises QdrantConnectionError for an index that was lost, where nothing that is found says anything about the
        documents, and what is added would hide that; and for one that was swapped."""
        try:
            emptied = await self.emptied()
        except StoreError as error:
            raise QdrantConnectionError(error.said) from error
        if emptied:
            raise QdrantConnectionError(INDEX_LOST)

    async def nearest(self, query: str, readers: Readers, collection: str, *, limit: int) -> list[Passage]:
        """The passages of a collection that come first for a query, however little they have to do with it, also those
        that repeat others. Raises RAGToolError when nothing could be searched."""
        async with self._generations.view(readers, [collection]) as view:
            return await self._search.ranking(query, view, mode="hybrid", limit=limit)

    async def _withheld(self, said: Collection[str], readers: Readers) -> frozenset[str]:
        return await self.withheld(said, readers) if said and self.withheld is not None else frozenset()

    def _measure(self, metrics: SearchMetrics, readers: Readers, turn: str | None) -> None:
        """No search waits for it: a commit that is safe from power cuts takes longer than the search."""
        self._measured.append(Measured(metrics, _query_scope(readers), turn))
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
        async with self._generations.view(readers) as view:
            return await self._search.context(hit, view, around=around)

    async def readable(self, hits: Sequence[Hit], readers: Readers) -> frozenset[str]:
        """Of the hits' documents those that are still there and still readable: asked again before an answer is
        given."""
        said = {hit.passage.document_id for hit in hits if hit.passage.said_in}
        theirs = {hit.passage.document_id for hit in hits} - await self._withheld(said, readers)
        return await self._documents.readable(theirs, readers) if theirs else frozenset()

    async def check(self, collections: Sequence[str] | None, readers: Readers, language: Language) -> None:
        """Raises CollectionNotFoundError for a collection these readers cannot read."""
        await self._collections.require(collections or (), readers, language)


def _row(upload: Upload, digest: str, document: Document, known: DocumentRow | None) -> DocumentRow:
    now = datetime.now(UTC)
    return DocumentRow(
        id=known.id if known else uuid.uuid4().hex,
        collection=upload.collection,
        scope=upload.scope,
        name=upload.name,
        title=document.title,
        url=upload.url,
        hash=digest,
        markdown=address_of(document.markdown),
        chunks=0,
        language=language_of(document.markdown[:4000]),
        author=upload.author,
        born=0,
        added_at=known.added_at if known else now,
        updated_at=now,
        changed_at=document.date or upload.changed_at,
        owner=known.owner if known else None,
        said_in=upload.said_in,
    )


def _may_replace(upload: Upload, known: DocumentRow) -> bool:
    """Whether it may take the place of what is there: its author's own, or a message or thread that is read anew."""
    return upload.over or known.author == upload.author or known.url == upload.url is not None


def _says_the_same(row: DocumentRow, known: DocumentRow, date: str) -> bool:
    """Whether other bytes say what the document says, such as those of a page of a site that was built anew. Then the
    date, too, is that of what it says, unless the page states another (`date`)."""
    same = (row.markdown, row.title, row.url, row.author, row.said_in)
    return same == (known.markdown, known.title, known.url, known.author, known.said_in) and date in (
        "",
        known.changed_at,
    )


def _query_scope(readers: Readers) -> str:
    """The readers of a query's words: the place it was asked in where that is private, else the team; where outsiders
    read along `EVERYONE`, which `Searches.listed` shows to nobody."""
    private = sorted(scope for scope in readers.scopes if scope.startswith("place:"))
    return private[0] if private else TEAM if TEAM in readers.scopes else EVERYONE
