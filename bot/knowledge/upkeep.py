"""Processes on one database look after each other: they say that they are alive, and one of them takes back what the
dead have staged and deletes what no search can still see.

Source: machines.md §2.
"""

import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import partial

from bot.errors import SettingsError, StoreError
from bot.knowledge.snapshots import Snapshots
from bot.store.engine import Engine
from bot.store.locks import free
from bot.store.processes import LEASE, Processes
from bot.waiting import again_and_again, beside
from retrieval.i18n import Text, filled
from retrieval.index import Index

BEAT = LEASE.total_seconds() / 6
UNSEEN = 120.0  # seconds after which no search looks at an earlier generation: more than any of them may take

_EMBEDDED = Text(
    en="Another process ({other}) has this database open. More than one need a Qdrant server that all of them use: set "
    "QDRANT_URL in each.",
    ja="別のプロセス（{other}）がこのデータベースを使用中です。複数のプロセスで使うには、すべてのプロセスで共通の "
    "Qdrant サーバーを QDRANT_URL に設定してください。",
)


@asynccontextmanager
async def attending(engine: Engine, process: str, *, embedded: bool, before: str = "") -> AsyncIterator[None]:
    """To the end of the block the other processes of a shared database know that this one lives. `embedded`: its index
    is its own machine's, so that no other may share the database. `before`: the process that had this home last, and
    is dead before its lease says so. Raises SettingsError when another shares it, StoreError."""
    processes = Processes(engine)
    if before.partition(":")[0] == process.partition(":")[0]:  # else it runs where this home was copied from, perhaps
        await processes.leave(before)
    await processes.alive(process, embedded=embedded)
    try:
        for other in await processes.listed():
            if other.id != process and (other.embedded or embedded):
                raise SettingsError(filled(_EMBEDDED, other=other.id.rpartition(":")[0]))
        alive = partial(processes.alive, process, embedded=embedded)
        async with beside(again_and_again(alive, BEAT, "that it lives could not be stored", first=BEAT), "alive"):
            yield
    finally:
        with suppress(StoreError):
            await processes.leave(process)


@dataclass
class Upkeep:
    """The work that any process on a shared database and index does for all of them, one at a time. `embedded`: the
    index is this process's alone, which is at work in it; `clock` in seconds."""

    engine: Engine
    index: Index
    snapshots: Snapshots
    _: KW_ONLY
    embedded: bool = False
    clock: Callable[[], float] = time.monotonic
    _living: frozenset[str] | None = field(init=False, default=None)  # when it was last looked; None: never yet
    _seen: deque[tuple[float, int]] = field(init=False, default_factory=deque)  # when a generation was the last one

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with beside(again_and_again(self.put_right, BEAT, "no upkeep for now", first=BEAT), "upkeep"):
            yield

    async def put_right(self) -> None:
        """Take back what the dead have left, unless another process is at it. Raises StoreError,
        QdrantConnectionError."""
        async with free(self.engine, "upkeep") as mine:
            if mine:
                await self._unstage()
                await self._sweep()

    async def _unstage(self) -> None:
        living = frozenset(await Processes(self.engine).bury())
        if not self.embedded and (self._living is None or not self._living <= living):
            await self.index.unstage(living)
        self._living = living

    async def _sweep(self) -> None:
        now, last = self.clock(), await self.snapshots.now()
        if self._seen and last < self._seen[-1][1]:
            self._seen.clear()  # the database has gone back: what died since in the index may be alive
        self._seen.append((now, last))
        old: int | None = None
        while self._seen[0][0] <= now - UNSEEN:
            old = self._seen.popleft()[1]
        if old is not None:
            await self.index.sweep(old)
