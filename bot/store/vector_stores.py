"""Which vector stores there are, the space their vectors are of, and the generation that searches pass in."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import bindparam, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bot.store.engine import insert, read, write
from bot.store.schema import documents, indexes


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One vector store. `embedder`, `dimensions` and `tokenizer` must be the running ones for it to make sense."""

    embedder: str
    dimensions: int
    tokenizer: str
    generation: int


class OvertakenError(Exception):
    """Another process has committed a later generation of this vector store; nothing was stored."""


class VectorStores:
    """The vector stores this database knows. Source: architecture.md "One visible step"."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def open(self, embedder: str, dimensions: int, tokenizer: str) -> IndexRow:
        """The store of `embedder` as it is known here; made at generation 0 when it is new.

        The caller compares `dimensions` and `tokenizer`: the row says what the vectors were made with.
        """
        async with write(self._engine) as db:
            await db.execute(
                insert(db, indexes)
                .values(embedder=embedder, dimensions=dimensions, tokenizer=tokenizer, generation=0)
                .on_conflict_do_nothing(index_elements=["embedder"])
            )
            row = (await db.execute(select(indexes).where(indexes.c.embedder == embedder))).one()
            return IndexRow(**row._mapping)

    async def listed(self) -> list[IndexRow]:
        """Every vector store there is a record of."""
        async with read(self._engine) as db:
            return [IndexRow(**row._mapping) for row in await db.execute(select(indexes).order_by(indexes.c.embedder))]

    async def current(self) -> IndexRow | None:
        """The vector store that searches are to use; None when there never was one."""
        return max(await self.listed(), key=lambda row: row.generation, default=None)

    async def swap(self, row: IndexRow, chunks: Mapping[str, int]) -> None:
        """From now on `row` is the only vector store, and each document has as many chunks as `chunks` says by its id.

        One transaction: whoever reads before it uses the old store whole, whoever reads after it the new one.
        """
        values = {name: getattr(row, name) for name in row.__dataclass_fields__}
        counted = update(documents).where(documents.c.id == bindparam("document")).values(chunks=bindparam("count"))
        async with write(self._engine) as db:
            await db.execute(delete(indexes))
            await db.execute(insert(db, indexes).values(**values))
            if chunks:
                await db.execute(counted, [{"document": id, "count": count} for id, count in chunks.items()])


async def advance(db: AsyncConnection, embedder: str, generation: int) -> None:
    """Make `generation` the one that searches see, inside the caller's transaction.

    Raises OvertakenError when the store is further already, LookupError when it was never opened.
    """
    moved = await db.execute(
        update(indexes)
        .where(indexes.c.embedder == embedder, indexes.c.generation <= generation)
        .values(generation=generation)
    )
    if moved.rowcount:
        return
    known = await db.scalar(select(indexes.c.generation).where(indexes.c.embedder == embedder))
    if known is None:
        raise LookupError(f"no vector store of {embedder}")
    raise OvertakenError(f"generation {generation} comes after {known}")
