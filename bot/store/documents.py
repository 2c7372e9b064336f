"""The documents that are there now; a change and the generation that shows it are one transaction."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import delete, exists, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bot.store.engine import insert, read, rows, write
from bot.store.indexes import advance
from bot.store.schema import collections, documents
from retrieval.text import Language
from retrieval.types import Passage, Readers


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document's current version. Its identity is collection, scope and name; its version the bytes' SHA-256."""

    id: str
    collection: str
    scope: str
    name: str
    title: str
    url: str | None
    hash: str
    markdown: str  # the kept Markdown's address in the documents folder
    chunks: int
    language: Language
    author: str
    born: int  # the generation that shows this version
    added_at: datetime
    updated_at: datetime

    def with_(self, **changes: Any) -> "DocumentRow":
        return replace(self, **changes)

    def about(self) -> Passage:
        """What all its passages have in common, as `Ingest` fills in the rest."""
        return Passage(
            collection=self.collection,
            document_id=self.id,
            document=self.name,
            chunk=0,
            text="",
            scope=self.scope,
            title=self.title,
            url=self.url,
            updated=self.updated_at.date().isoformat(),
        )


class Documents:
    """What the team has taught the bot. `embedder` names the vector store whose generation its changes move."""

    def __init__(self, engine: AsyncEngine, embedder: str) -> None:
        self._engine = engine
        self._embedder = embedder

    async def find(self, collection: str, scope: str, name: str) -> DocumentRow | None:
        return await self._one(
            (documents.c.collection == collection) & (documents.c.scope == scope) & (documents.c.name == name)
        )

    async def get(self, document_id: str) -> DocumentRow | None:
        return await self._one(documents.c.id == document_id)

    async def listed(
        self, readers: Readers | None = None, *, collection: str | None = None, name: str | None = None
    ) -> list[DocumentRow]:
        """The documents these readers may read (None: all, for maintenance), by collection and name."""
        wanted = select(documents).order_by(documents.c.collection, documents.c.name, documents.c.scope)
        if readers is not None:
            wanted = wanted.where(documents.c.scope.in_(readers.scopes))
        if collection is not None:
            wanted = wanted.where(documents.c.collection == collection)
        if name is not None:
            wanted = wanted.where(documents.c.name == name)
        async with read(self._engine) as db:
            return [DocumentRow(**row._mapping) for row in await db.execute(wanted)]

    async def readable(self, ids: Collection[str], readers: Readers) -> frozenset[str]:
        """Of `ids` the documents that are there now and readable."""
        wanted = select(documents.c.id).where(documents.c.id.in_(ids), documents.c.scope.in_(readers.scopes))
        return frozenset(row.id for row in await rows(self._engine, wanted))

    async def keeps(self, markdown: str) -> bool:
        """Whether some document still needs the kept Markdown at this address."""
        async with read(self._engine) as db:
            return bool(await db.scalar(select(exists().where(documents.c.markdown == markdown))))

    async def commit(self, row: DocumentRow, *, generation: int) -> None:
        """Show a document's version: the row and the generation in one transaction.

        Raises OvertakenError, IntegrityError when another document has this collection, scope and name.
        """
        values = {name: getattr(row, name) for name in row.__dataclass_fields__}
        async with write(self._engine) as db:
            await make_collection(db, row.collection)
            await db.execute(
                insert(db, documents)
                .values(**values)
                .on_conflict_do_update(
                    index_elements=["id"], set_={name: value for name, value in values.items() if name != "id"}
                )
            )
            await advance(db, self._embedder, generation)

    async def forget(self, *document_ids: str, generation: int) -> int:
        """Take documents out and move the generation, in one transaction; returns how many were there."""
        async with write(self._engine) as db:
            gone = await db.execute(delete(documents).where(documents.c.id.in_(document_ids)))
            await advance(db, self._embedder, generation)
            return gone.rowcount

    async def rescope(self, document_id: str, scope: str) -> bool:
        """Change who may read a document; False when it is not there. IntegrityError: that scope has one of its name."""
        changed = (
            update(documents).where(documents.c.id == document_id).values(scope=scope, updated_at=datetime.now(UTC))
        )
        async with write(self._engine) as db:
            return bool((await db.execute(changed)).rowcount)

    async def _one(self, condition: Any) -> DocumentRow | None:
        found = await rows(self._engine, select(documents).where(condition))
        return DocumentRow(**found[0]._mapping) if found else None


async def make_collection(db: AsyncConnection, name: str) -> None:
    """Inside the caller's transaction: a collection exists from its first document on."""
    await db.execute(
        insert(db, collections)
        .values(name=name, description="", created_at=datetime.now(UTC))
        .on_conflict_do_nothing(index_elements=["name"])
    )
