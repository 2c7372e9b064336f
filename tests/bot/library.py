"""A `KnowledgeBase` on real parts in one folder: for its tests, and as a program that dies at a chosen moment:
`python -m tests.bot.library FOLDER staged|published|committed|merged`."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncEngine

from bot.knowledge.content_store import content_store
from bot.knowledge.documents import KnowledgeBase
from bot.knowledge.snapshots import Snapshots
from bot.records import DocumentRow
from bot.store.collections import Collections
from bot.store.documents import Documents
from bot.store.engine import connect
from bot.store.searches import Searches
from bot.store.vector_stores import VectorStores
from bot.types import Upload, Verdict
from retrieval import disk
from retrieval.disk import Free
from retrieval.embeddings.base import EmbeddingClient
from retrieval.index import EdgeIndex
from retrieval.ingest import Ingest
from retrieval.loaders.loader import Loader
from retrieval.search import Search
from retrieval.sparse import TOKENIZER, SparseEncoder
from retrieval.types import TEAM, Mode, Readers, View
from tests.bot import databases, indexes
from tests.retrieval.test_ingest import HashEmbedder

SPARSE = SparseEncoder()
READERS = Readers(frozenset({TEAM}))


@dataclass
class Library:
    knowledge: KnowledgeBase
    documents: Documents
    collections: Collections
    index: EdgeIndex
    engine: AsyncEngine
    folder: Path

    async def add(self, name: str, text: str, *, collection: str = "docs", scope: str = TEAM) -> Verdict:
        return await self.knowledge.add(Upload(name, text.encode(), collection, scope, "U1"), "en")

    async def found(
        self,
        query: str,
        *,
        readers: Readers = READERS,
        mode: Mode = "sparse",
        collections: Sequence[str] | None = None,
    ) -> list[str]:
        """The texts a search brings, relevant or not, in collections that somebody named."""
        await self.knowledge.check(collections, readers, "en")
        found = await self.knowledge.search(query, readers, collections, mode=mode, limit=50)
        return sorted(hit.passage.text for hit in (*found.hits, *found.rejected))

    async def points(self) -> int:
        """All there is in the index, seen by nobody or not."""
        rows = await self.documents.listed()
        scopes = Readers(frozenset({TEAM, "everyone", "place:slack:T:C", *(row.scope for row in rows)}))
        await self.index.sweep(await self.knowledge.generation())
        return await self.index.count(View(scopes, 2**53 - 2))

    def kept(self) -> list[str]:
        """The kept Markdown, by content."""
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        return sorted(path.read_text(encoding="utf-8") for path in files)


@asynccontextmanager
async def opened(
    folder: Path,
    *,
    embedder: EmbeddingClient | None = None,
    documents: Callable[[AsyncEngine, str], Documents] = Documents,
    searches: Callable[[AsyncEngine], Searches] = Searches,
    index_class: type[EdgeIndex] = EdgeIndex,
    loader: Loader | None = None,
    free: Free = disk.free,
) -> AsyncIterator[Library]:
    """Everything of one home, recovered as at a start."""
    embedder = embedder or HashEmbedder()
    engine = connect(await asyncio.to_thread(databases.made, folder / "kotae.db"))
    row = await VectorStores(engine).open(embedder.name, embedder.dimensions, TOKENIZER)
    vectors = await asyncio.to_thread(indexes.made, folder / "vectors", embedder.name, embedder.dimensions)
    index = await index_class.open(
        vectors, dimensions=embedder.dimensions, embedder=embedder.name, tokenizer=TOKENIZER, free=free
    )
    own_loader = loader or Loader()
    try:
        rows, collections = documents(engine, embedder.name), Collections(engine)
        knowledge = KnowledgeBase(
            documents=rows,
            collections=collections,
            searches=searches(engine),
            index=index,
            ingest=Ingest(embedder, SPARSE, index),
            search=Search(index, embedder, SPARSE),
            loader=own_loader,
            kept=content_store(engine, folder / "documents"),
            snapshots=Snapshots(index, VectorStores(engine), row),
        )
        await knowledge.stored.recover()
        yield Library(knowledge, rows, collections, index, engine, folder / "documents")
        await knowledge.close()
    finally:
        if loader is None:
            await own_loader.close()
        await index.close()
        await engine.dispose()


# -- a process that dies --------------------------------------------------------------------------------------------

OLD, NEW = "# Plan\n\nThe old harbour plan.\n", "# Plan\n\nThe new harbour plan.\n"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying_index(moment: str) -> type[EdgeIndex]:
    class Dying(EdgeIndex):
        doomed = False

        async def publish(self, document_id: str, *, at: int) -> int:
            if self.doomed and moment == "staged":
                die()
            published = await super().publish(document_id, at=at)
            if self.doomed and moment == "published":
                die()
            return published

        async def move(self, collection: str, into: str) -> None:
            if moment == "merged":
                die()
            await super().move(collection, into)

    return Dying


class DyingDocuments(Documents):
    doomed = False

    async def commit(self, row: DocumentRow, *, generation: int, markdown: str | None = None) -> None:
        await super().commit(row, generation=generation, markdown=markdown)
        if self.doomed:
            die()


async def main(folder: Path, moment: str) -> None:
    async with opened(folder, index_class=dying_index(moment), documents=DyingDocuments) as library:
        await library.add("plan.md", OLD)
        await library.add("other.md", "# Other\n\nThe harbour café.\n", collection="more")
        vars(library.index)["doomed"] = True
        vars(library.documents)["doomed"] = moment == "committed"
        if moment == "merged":
            await library.knowledge.stored.merge("docs", "more", READERS)
        await library.add("plan.md", NEW)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
