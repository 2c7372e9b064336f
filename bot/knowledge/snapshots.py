"""The generation that searches see, and the one place where it moves: what becomes visible does so in one step.

The database says which generation that is, and who may move it. Where processes share one, a search asks it first, and
whoever commits holds its lock; what a process that died left beyond the generation is taken back by the next one that
commits. Source: architecture.md "One visible step"; machines.md §2.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from bot.errors import StoreError
from bot.store.vector_stores import IndexRow, OvertakenError, VectorStores
from retrieval.i18n import Text
from retrieval.index import Index
from retrieval.index.payload import STAGED
from retrieval.types import QdrantConnectionError, RAGToolError, Readers, View

log = logging.getLogger(__name__)
T = TypeVar("T")

INDEX_LOST = Text(
    en="The search index has lost passages of documents that are here, or is an older copy. Build it anew with `kotae "
    "reindex`.",
    ja="検索インデックスから一部の文書が失われているか、インデックスが古いコピーです。"
    "`kotae reindex` で作り直してください。",
)
_SWAPPED = Text(
    en="The documents were re-indexed with {embedder} meanwhile. Start this process again, with the same "
    "KOTAE_EMBEDDER and the same version of Kotae.",
    ja="文書は別のプロセスによって {embedder} で再インデックスされました。KOTAE_EMBEDDER と Kotae のバージョンを"
    "そろえて、このプロセスを再起動してください。",
)


class Snapshots:
    """One committer at a time: whoever changes what searches see holds `commit` for those milliseconds."""

    def __init__(self, index: Index, stores: VectorStores, row: IndexRow) -> None:
        """`row`: the vector store that `index` is."""
        self._index = index
        self._stores = stores
        self._row = row
        self.current = row.generation
        self._lock = asyncio.Lock()
        self._pinned: Counter[int] = Counter()  # generations that running searches look at
        self._unsure = True  # whether the index holds nothing beyond the generation
        self._left: set[str] = set()  # documents whose staged points could not be taken back

    @asynccontextmanager
    async def view(self, readers: Readers, collections: Sequence[str] | None = None) -> AsyncIterator[View]:
        """The view of these readers now, unchanged until the block ends. Raises QdrantConnectionError when nobody can
        say which that is, and for an index that is no longer the one to search."""
        try:
            generation = await self.now()
        except StoreError as error:
            raise QdrantConnectionError(error.said) from error
        self._pinned[generation] += 1
        try:
            yield View(readers, generation, None if collections is None else tuple(collections))
        finally:
            self._pinned[generation] -= 1
            if not self._pinned[generation]:
                del self._pinned[generation]

    async def now(self) -> int:
        """The generation that whoever asks now is to see: the last of the database, also where that has gone back, as
        by a server that takes over and had not heard of the last commits. Raises StoreError, QdrantConnectionError as
        `view`."""
        if self._stores.shared:
            known = self.current
            row = await self._stores.current()
            if row is None or (row.embedder, row.tokenizer) != (self._row.embedder, self._row.tokenizer):
                raise QdrantConnectionError(_SWAPPED, embedder=row.embedder if row else "?")
            if row.generation < known:
                log.warning(
                    "the database has gone back from generation %d to %d: its last changes are lost",
                    known,
                    row.generation,
                )
                self.current = row.generation
            self.current = max(self.current, row.generation)
        return self.current

    @asynccontextmanager
    async def commit(self) -> AsyncIterator[None]:
        """Nobody else changes what searches see, and the index holds nothing beyond `current`. Raises StoreError,
        QdrantConnectionError: then nothing may become visible yet."""
        async with self._lock, self._stores.committing():
            await self.now()
            if self._stores.shared and not self._unsure:
                # Left by a process that died, or of commits that the database has lost: it tells of neither.
                self._unsure = bool(await self._index.after(self.current))
            await self.settle()
            yield

    async def settle(self) -> None:
        """Under `commit`: the index does what it is behind with."""
        if self._unsure:
            await self._index.roll_back(self.current)
            self._unsure = False
        for document_id in [*self._left]:
            await self.clear(document_id)
        for move in await self._stores.moves():
            await self._index.move(move.source, move.into)
            await self._stores.moved(move)

    async def clear(self, document_id: str) -> None:
        """Take back what is left staged of a document: before anything of it is staged again, which would go with it.
        Raises QdrantConnectionError."""
        if document_id in self._left:
            await self._index.undo(document_id, at=STAGED)
            self._left.discard(document_id)

    def doubt(self) -> None:
        """Nobody knows whether a change was committed: whoever commits next asks the database, under its lock, and
        takes back what it does not know."""
        self._unsure = True

    async def take_back(self, document_id: str, at: int, *, revive: bool = True) -> None:
        """Undo in the index what was not committed: now, or before anything else becomes visible, since the next commit
        has the same generation. See `Index.undo`."""
        try:
            await self._index.undo(document_id, at=at, revive=revive)
        except RAGToolError:
            log.warning("the index could not take a change back; it is tried again", exc_info=True)
            if at == STAGED:
                self._left.add(document_id)
            else:
                self.doubt()

    async def sweep(self) -> None:
        """Delete what no running search can still see. Where processes share the index, `Upkeep` does that later: their
        searches pin nothing here. Raises QdrantConnectionError."""
        if not self._stores.shared:
            await self._index.sweep(min(self._pinned, default=self.current))

    async def recover(self) -> None:
        """After a start: what was never committed goes, what has died is swept, a merge cut in two is finished. Raises
        StoreError, QdrantConnectionError."""
        async with self.commit():
            if not self._stores.shared:
                await self._index.unstage()
        await self.sweep()


async def uncontested(change: Callable[[], Awaitable[T]]) -> T:
    """Make a change again, from its start, as long as another process has made one instead."""
    while True:
        try:
            return await change()
        except OvertakenError as error:
            log.warning("a change starts again: %s", error)
