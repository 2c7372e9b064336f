"""The vector store of a home: opened as the settings have it, or built anew from the kept Markdown.

Source: architecture.md "Qdrant"; reliability.md R48.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from bot.database import Database
from bot.reindex import Reindex, made_of
from bot.settings import Settings, SettingsError, filled
from bot.store.indexes import Indexes, IndexRow
from retrieval.embeddings.base import EmbeddingClient
from retrieval.folder import Made
from retrieval.index import Index
from retrieval.index.stores import EdgeStores, ServerStores, Stores
from retrieval.ingest import Ingest
from retrieval.sparse import TOKENIZER
from retrieval.text import Said
from retrieval.types import QdrantConnectionError

Progress = Callable[[int, int], None]

_OTHER = Said(
    en="The documents of this home were indexed with {was}, and {wanted} cannot search them. Re-index them "
    "with `kotae reindex`, or set KOTAE_EMBEDDER back.",
    ja="このホームの文書のインデックスは {was} で作られているため、{wanted} では検索できません。`kotae reindex` で再インデックスするか、KOTAE_EMBEDDER "
    "を元に戻してください。",
)
_LOST = Said(
    en="The search index has lost passages of documents that are here. Build it anew with `kotae reindex`.",
    ja="検索インデックスから一部の文書が失われています。`kotae reindex` で作り直してください。",
)


def make_stores(settings: Settings) -> Stores:
    """A Qdrant server's collections when there is an address, else folders of the home."""
    if settings.qdrant_url is None:
        return EdgeStores(settings.home / "vectors")
    return ServerStores(
        settings.qdrant_url,
        settings.qdrant_key,
        settings.qdrant_prefix,
        settings.qdrant_shards,
        settings.qdrant_replicas,
        settings.qdrant_write_consistency,
    )


async def open_vectors(
    settings: Settings,
    data: Database,
    embedder: EmbeddingClient,
    ingest: Callable[[Index], Ingest],
    rebuild: Progress | None = None,
) -> tuple[Index, IndexRow]:
    """The store, open, and its record; with `rebuild` it is made fit for the embedder first, telling documents done and
    all. Nobody else may have the home open.

    Raises SettingsError for a store of another embedder that holds documents, QdrantConnectionError, EmbeddingError,
    StoreError, RAGToolError when a document cannot be brought over.
    """
    wanted = Made(embedder.name, embedder.dimensions, TOKENIZER)
    indexes, stores = Indexes(data.engine), make_stores(settings)
    row = await indexes.current() or await indexes.open(wanted.embedder, wanted.dimensions, wanted.tokenizer)

    @asynccontextmanager
    async def quiet() -> AsyncIterator[int]:
        yield row.generation

    reindex = Reindex(
        documents=data.documents,
        indexes=indexes,
        stores=stores,
        ingest=ingest,
        kept=settings.home / "documents",
        note=settings.home / "vectors" / "reindex.jsonl",
        quiet=quiet,
    )
    fits = made_of(row) == wanted
    if not fits and rebuild is None and await data.documents.listed():
        raise SettingsError(filled(_OTHER, was=row.embedder, wanted=embedder.name))
    index = await stores.open(wanted) if fits else None
    if index is None or not await reindex.whole(index, row.generation):
        if index is not None:
            await index.close()
        if fits and rebuild is None:
            raise QdrantConnectionError(_LOST)
        built = await reindex.run(wanted, progress=rebuild)
        index, row = built.index, built.row
    await reindex.clean_up(wanted)
    return index, row
