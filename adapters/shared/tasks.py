"""Work that goes on after an acknowledgement."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from bot.errors import StoreError
from bot.waiting import stopped

log = logging.getLogger(__name__)

LONGEST_WAIT = 5.0  # seconds between tries to store something


class Tasks:
    """Background tasks whose failures are logged; at the end all are waited for, or cut off."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(self._guarded(work, name), name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def _guarded(self, work: Coroutine[Any, Any, None], name: str) -> None:
        try:
            await work
        except Exception:
            log.exception("%s failed", name)

    async def drain(self, seconds: float) -> None:
        """Let it end by itself; what has not ended after `seconds` is cancelled."""
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)
        await stopped(*self._running)


async def until_stored(work: Callable[[], Awaitable[object]]) -> None:
    """Try until the database takes it, for as long as the process lives: what a platform tells us only once. `work` may
    be begun again after a StoreError."""
    wait = 0.5
    while True:
        try:
            await work()
            return
        except StoreError as error:
            log.error("what a platform told us could not be stored; trying again: %s", error)
        await asyncio.sleep(wait)
        wait = min(2 * wait, LONGEST_WAIT)
