"""Collections of documents: what each is about, and how much of it somebody may read."""

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.store.documents import make_collection
from bot.store.engine import insert, read, write
from bot.store.schema import collections, documents
from retrieval.text import Language, Said
from retrieval.types import CollectionInfo, CollectionNotFoundError, Readers

_UNKNOWN = Said(
    en="There is no collection “{name}” that can be read here. There are: {names}.",
    ja="ここで読めるコレクション「{name}」はありません。あるのは次のとおりです: {names}",
)
_NONE = Said(en="none", ja="なし")


class Collections:
    """Names and descriptions; the counts come from the documents."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def listed(self, readers: Readers) -> tuple[CollectionInfo, ...]:
        """Those with a document that these readers may read, and the empty ones, by name; others are not named."""
        counted = (
            select(
                documents.c.collection,
                documents.c.language,
                func.count().label("documents"),
                func.sum(documents.c.chunks).label("chunks"),
            )
            .where(documents.c.scope.in_(readers.scopes))
            .group_by(documents.c.collection, documents.c.language)
            .order_by(documents.c.language)
        )
        filled = select(documents.c.collection).distinct()
        async with read(self._engine) as db:
            known = (await db.execute(select(collections).order_by(collections.c.name))).all()
            counts = (await db.execute(counted)).all()
            occupied = set(await db.scalars(filled))
        found = []
        for row in known:
            parts = [part for part in counts if part.collection == row.name]
            if parts or row.name not in occupied:
                found.append(
                    CollectionInfo(
                        name=row.name,
                        description=row.description,
                        languages=tuple(part.language for part in parts),
                        documents=sum(part.documents for part in parts),
                        chunks=sum(part.chunks for part in parts),
                    )
                )
        return tuple(found)

    async def require(self, names: Sequence[str], readers: Readers, language: Language) -> None:
        """Raises CollectionNotFoundError for a name that `listed` does not show these readers."""
        if not names:
            return
        known = {info.name for info in await self.listed(readers)}
        for name in names:
            if name not in known:
                there = ", ".join(sorted(known)) or _NONE.to(language)
                raise CollectionNotFoundError(_UNKNOWN, name=name, names=there)

    async def describe(self, name: str, description: str) -> None:
        """Make a collection, or give it another description."""
        async with write(self._engine) as db:
            await db.execute(
                insert(db, collections)
                .values(name=name, description=description, created_at=datetime.now(UTC))
                .on_conflict_do_update(index_elements=["name"], set_={"description": description})
            )

    async def merge(self, source: str, into: str) -> int:
        """Move every document of `source` into `into` and drop `source`; returns how many moved.

        Raises IntegrityError, and changes nothing, when both hold a document of one scope and name.
        """
        if source == into:
            return 0
        async with write(self._engine) as db:
            await make_collection(db, into)
            moved = await db.execute(update(documents).where(documents.c.collection == source).values(collection=into))
            await db.execute(delete(collections).where(collections.c.name == source))
            return moved.rowcount

    async def remove(self, name: str) -> bool:
        """Drop a collection that has no documents; False when there is none of that name or it is not empty."""
        used = select(documents.c.id).where(documents.c.collection == name).exists()
        async with write(self._engine) as db:
            return bool((await db.execute(delete(collections).where(collections.c.name == name, ~used))).rowcount)
