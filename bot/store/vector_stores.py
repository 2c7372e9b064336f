"""Which vector stores there are, the space their vectors are of, and the generation that searches pass in."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.store.engine import Store, change, columns, execute, insert, rows
from bot.store.locks import locked
from bot.store.schema import documents, indexes, moves

_COMMIT = "commit"


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One vector store. `embedder`, `dimensions` and `tokenizer` must be the running ones for it to make sense."""

    embedder: str
    dimensions: int
    tokenizer: str
    generation: int


class OvertakenError(Exception):
    """Another process may commit now, or has committed this generation; nothing was stored."""


@dataclass(frozen=True, slots=True)
class Move:
    """Points of the collection `source` belong to `into`; the index has yet to say so."""

    id: int
    source: str
    into: str


class VectorStores(Store):
    """The vector stores this database knows. Source: architecture.md "One visible step"; machines.md §2.

    `process` names whoever commits generations, where others may as well."""

    def __init__(self, engine: AsyncEngine, process: str = "") -> None:
        super().__init__(engine)
        self._process = process

    async def open(self, embedder: str, dimensions: int, tokenizer: str) -> IndexRow:
        """The store of `embedder` as it is known here; made at generation 0 when it is new.

        The caller compares `dimensions` and `tokenizer`: the row says what the vectors were made with.
        """

        def open_it(db: Connection) -> IndexRow:
            made = insert(db, indexes).values(
                embedder=embedder, dimensions=dimensions, tokenizer=tokenizer, generation=0
            )
            db.execute(made.on_conflict_do_nothing(index_elements=["embedder"]))
            return IndexRow(**db.execute(_ROWS.where(indexes.c.embedder == embedder)).one()._mapping)

        return await change(self._engine, open_it)

    async def listed(self) -> list[IndexRow]:
        """Every vector store there is a record of."""
        return [IndexRow(**row._mapping) for row in await rows(self._engine, _ROWS.order_by(indexes.c.embedder))]

    @asynccontextmanager
    async def committing(self) -> AsyncIterator[None]:
        """Nobody else moves a generation to the end of the block, in no process. Raises StoreError."""
        async with locked(self._engine, _COMMIT):
            if self.shared:
                await self._take_over()
            yield

    async def _take_over(self) -> None:
        others = indexes.c.committer.is_distinct_from(self._process)

        def take(db: Connection) -> None:
            # Waits for a commit that is still under way though its process has lost the lock with its connection.
            db.execute(select(indexes.c.generation).with_for_update())
            db.execute(update(indexes).where(others).values(committer=self._process))

        await change(self._engine, take)

    async def moves(self) -> Sequence[Move]:
        """The merges that the index has yet to carry out, in their order."""
        return [Move(**row._mapping) for row in await rows(self._engine, select(moves).order_by(moves.c.id))]

    async def moved(self, move: Move) -> None:
        """The index has carried it out."""
        await execute(self._engine, delete(moves).where(moves.c.id == move.id))

    async def current(self) -> IndexRow | None:
        """The vector store that searches are to use; None when there never was one."""
        return max(await self.listed(), key=lambda row: row.generation, default=None)

    async def swap(self, row: IndexRow, chunks: Mapping[str, int]) -> None:
        """From now on `row` is the only vector store, and each document has as many chunks as `chunks` says by its id.

        One transaction: whoever reads before it uses the old store whole, whoever reads after it the new one. Raises
        OvertakenError when a later generation was committed: the lock of `committing` went with its connection.
        """
        values = columns(row)
        counted = update(documents).where(documents.c.id == bindparam("document")).values(chunks=bindparam("count"))

        def swap(db: Connection) -> None:
            known = db.execute(delete(indexes).returning(indexes.c.generation)).scalars()
            if (last := max(known, default=row.generation)) > row.generation:
                raise OvertakenError(f"an index of generation {row.generation} comes after {last}")
            db.execute(insert(db, indexes).values(**values))
            if chunks:
                db.execute(counted, [{"document": id, "count": count} for id, count in chunks.items()])

        await change(self._engine, swap)


_ROWS = select(*(indexes.c[name] for name in IndexRow.__dataclass_fields__))


def advance(db: Connection, embedder: str, generation: int, process: str = "") -> None:
    """Make `generation` the one that searches see, inside the transaction of `process`.

    Raises OvertakenError when the store is as far already or another process may commit now, LookupError when it was
    never opened.
    """
    mine = or_(indexes.c.committer.is_(None), indexes.c.committer == process)
    moved = db.execute(
        update(indexes)
        .where(indexes.c.embedder == embedder, indexes.c.generation < generation, mine)
        .values(generation=generation)
    )
    if moved.rowcount:
        return
    known = db.execute(select(indexes).where(indexes.c.embedder == embedder)).first()
    if known is None:
        raise LookupError(f"no vector store of {embedder}")
    raise OvertakenError(
        f"generation {generation} comes after {known.generation} of {known.committer or 'this process'}"
    )
