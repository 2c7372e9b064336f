"""The generation that searches see, and the one place where it moves: what becomes visible does so in one step.

Source: architecture.md "One visible step".
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from retrieval.index import Index
from retrieval.types import RAGToolError, Readers, View

log = logging.getLogger(__name__)


class Snapshots:
    """One committer at a time: whoever changes what searches see holds `commit` for those milliseconds.

    `merges` counts the moves of whole collections: points that were staged before one are perhaps somewhere else.
    """

    def __init__(self, index: Index, generation: int) -> None:
        self._index = index
        self.current = generation
        self.commit = asyncio.Lock()
        self.merges = 0
        self._pinned: Counter[int] = Counter()  # generations that running searches look at
        self._owed: list[Callable[[], Awaitable[None]]] = []  # what the index must still do before the next change

    @contextmanager
    def view(self, readers: Readers, collections: Sequence[str] | None = None) -> Iterator[View]:
        """The view of these readers now, unchanged until the block ends."""
        generation = self.current
        self._pinned[generation] += 1
        try:
            yield View(readers, generation, None if collections is None else tuple(collections))
        finally:
            self._pinned[generation] -= 1
            if not self._pinned[generation]:
                del self._pinned[generation]

    @property
    def oldest(self) -> int:
        """The oldest generation that somebody still looks at."""
        return min(self._pinned, default=self.current)

    # -- under `commit` ---------------------------------------------------------------------------------------------

    async def settle(self) -> None:
        """Do what is owed. Raises QdrantConnectionError: then nothing may become visible yet."""
        while self._owed:
            await self._owed[0]()
            del self._owed[0]

    def owe(self, work: Callable[[], Awaitable[None]]) -> None:
        self._owed.append(work)

    async def take_back(self, document_id: str, *generations: int) -> None:
        """Undo in the index now, or before anything else becomes visible: the next commit has the same generation."""
        for at in generations:
            undo = partial(self._index.undo, document_id, at=at)
            try:
                await undo()
            except RAGToolError:
                log.warning("the index could not take a change back; it is tried again", exc_info=True)
                self.owe(undo)
