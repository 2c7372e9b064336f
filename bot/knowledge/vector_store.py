"""The vector store of a home: opened as the settings have it, or built anew from the kept Markdown.

Source: architecture.md "Qdrant"; reliability.md R48.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from bot.config.settings import Settings
from bot.database import Database
from bot.errors import SettingsError
from bot.knowledge.content_store import bring_over, content_store
from bot.knowledge.identity import Identity, Known, own
from bot.knowledge.reindex import Reindex, made_of
from bot.knowledge.set_aside import set_aside, was_here
from bot.knowledge.snapshots import INDEX_LOST
from bot.records import DocumentRow
from bot.store.engine import on_server
from bot.store.homes import Homes
from bot.store.processes import Processes
from bot.store.vector_stores import IndexRow, VectorStores
from retrieval.embeddings.base import EmbeddingClient
from retrieval.folder import Made
from retrieval.i18n import Text, filled
from retrieval.index import Index
from retrieval.index.stores import EdgeStores, ServerStores, Stores
from retrieval.ingest import Ingest
from retrieval.sparse import TOKENIZER
from retrieval.types import QdrantConnectionError, RAGToolError

Progress = Callable[[int, int], None]

_OTHER = Text(
    en="The documents of this home were indexed with {was}, and {wanted} cannot search them. Re-index them "
    "with `kotae reindex`, or set KOTAE_EMBEDDER back.",
    ja="このホームの文書のインデックスは {was} で作られているため、{wanted} では検索できません。`kotae reindex` "
    "で再インデックスするか、KOTAE_EMBEDDER "
    "を元に戻してください。",
)
EARLIER = Text(
    en="The search index of this home was made by another version of Kotae. Build it anew with `kotae reindex`.",
    ja="このホームの検索インデックスは別のバージョンの Kotae で作られています。`kotae reindex` で作り直してください。",
)
_RENEWED = Text(
    en="The search index of this home was made by another version of Kotae. It is built anew from the kept documents "
    "before anything else, which takes about as long as adding them did.",
    ja="このホームの検索インデックスは別のバージョンの Kotae で作られています。先に保存済みの文書から作り直します。"
    "文書を追加したときと同じくらいの時間がかかります。",
)
_IN_USE = Text(
    en="The search index has lost passages, and other processes use it. Stop them, then run `kotae reindex`.",
    ja="検索インデックスから一部の文書が失われていますが、ほかのプロセスが使用中です。"
    "すべて停止してから `kotae reindex` を実行してください。",
)


def make_stores(settings: Settings, home: str | None = None, process: str = "") -> Stores:
    """A Qdrant server's collections when there is an address, else folders of the home. `home`: the identity of whoever
    makes and deletes stores; `process`: of whoever writes into them. Raises QdrantConnectionError where the server's
    client is not installed."""
    if settings.qdrant_url is None:
        return EdgeStores(settings.home / "vectors", home)
    return ServerStores(
        settings.qdrant_url,
        settings.qdrant_key,
        settings.qdrant_prefix,
        settings.qdrant_shards,
        settings.qdrant_replicas,
        settings.qdrant_write_consistency,
        home=home,
        process=process,
    )


async def open_vectors(
    settings: Settings,
    data: Database,
    embedder: EmbeddingClient,
    ingest: Callable[[Index], Ingest],
    rebuild: Progress | None = None,
    *,
    renew: Callable[[Text], None] | None = None,
    aside: Callable[[Path], None] | None = None,
    tidy: bool = True,
    process: str = "",
) -> tuple[Index, IndexRow]:
    """The store, open, and its record; with `rebuild` it is made fit for the embedder first, telling documents done and
    all. With `renew`, which is told so, this is done where only the version of Kotae has changed and no other process
    may be about to do the same. With `aside` too, what the database does not know or nobody can read is moved away
    before; it is told where to. Not `tidy`: stores that are no longer needed stay. Nobody else may have the home open;
    on a shared database and server other processes, which `process` tells from this one, may be at work.

    Raises SettingsError for a store of another embedder that holds documents, and for a database that does not know the
    index or the kept Markdown (`bot.knowledge.identity`); QdrantConnectionError, EmbeddingError, StoreError,
    RAGToolError when a document cannot be brought over, OSError."""
    wanted = Made(embedder.name, embedder.dimensions, TOKENIZER)
    indexes = VectorStores(data.engine, process)
    row = await indexes.current() or await indexes.open(wanted.embedder, wanted.dimensions, wanted.tokenizer)
    listed: dict[int, list[DocumentRow]] = {}  # by generation: thousands of them are listed once

    async def known() -> Identity:
        now = await indexes.current()
        generation = now.generation if now else 0
        if generation not in listed:
            listed[generation] = await data.documents.listed()
        return Identity.of(settings, await Homes(data.engine).known(), generation, listed[generation])

    if (home := (await known()).home) is None:  # the database has it before anything else does
        home = await Homes(data.engine).identity(await _theirs(make_stores(settings), made_of(row), known))
    stores = make_stores(settings, home, process)
    texts = settings.home / "documents"
    if on_server(data.engine):
        await bring_over(data.engine, texts, await data.documents.kept())
    kept = content_store(data.engine, texts)
    moved = await set_aside(settings.home, stores, (made_of(row), wanted), known, kept) if aside else None
    if moved is not None and aside:
        aside(moved)
    if (trouble := await asyncio.to_thread((await known()).trouble_with_texts)) is not None:
        raise trouble

    @asynccontextmanager
    async def quiet() -> AsyncIterator[int]:
        async with indexes.committing():
            now = await indexes.current()
            yield now.generation if now else row.generation

    reindex = Reindex(
        documents=data.documents,
        indexes=indexes,
        stores=stores,
        ingest=ingest,
        kept=kept,
        note=settings.home / "vectors" / "reindex.jsonl",
        quiet=quiet,
        own=lambda index, noted: own(index, known, noted=noted),
    )
    fits = made_of(row) == wanted
    if not fits and rebuild is None and await data.documents.listed():
        if not made_of(row).same_embedder(wanted):
            raise SettingsError(filled(_OTHER, was=row.embedder, wanted=embedder.name))
        if renew is None or indexes.shared:
            raise SettingsError(EARLIER)
        renew(_RENEWED)
    async with AsyncExitStack() as stack:
        index = await stores.open(wanted) if fits else None
        if index is not None:
            stack.push_async_callback(index.close)
            await own(index, known)
        if index is None or not await reindex.whole(index):
            await stack.aclose()
            if fits and rebuild is None:
                raise QdrantConnectionError(INDEX_LOST)
            if fits and indexes.shared and len(await Processes(data.engine).listed()) > 1:
                raise SettingsError(_IN_USE)
            async with was_here(moved, made_of(row)) as old:
                built = await reindex.run(wanted, old=old, progress=rebuild)
            index, row = built.index, built.row
            stack.push_async_callback(index.close)
        await asyncio.to_thread((await known()).own_texts)
        if tidy:
            await reindex.clean_up(wanted)
        stack.pop_all()
    return index, row


async def _theirs(stores: Stores, made: Made, known: Known) -> str | None:
    """The identity of the index, for a database without one that knows what is in it: a copy from before there were
    identities, put back."""
    with suppress(RAGToolError):  # what is wrong with the index is said when it is opened for good
        if await stores.there(made):
            index = await stores.open(made)
            try:
                if index.home is not None and await index.after(0) and await (await known()).knows(index):
                    return index.home
            finally:
                await index.close()
    return None
