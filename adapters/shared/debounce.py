"""Frequent changes written now and then: what happens meanwhile goes in one write, and the last one does not wait.

The same on every platform that shows a turn's steps by edits. Source: reliability.md R28; field.md #11.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from bot.waiting import Sleep, sleep_unless

log = logging.getLogger(__name__)


class Writer:
    """A task of its own calls `write(last)` after each `wake`, at most every `seconds`. Nothing here raises."""

    def __init__(
        self, write: Callable[[bool], Awaitable[None]], *, seconds: float, name: str, sleep: Sleep = asyncio.sleep
    ) -> None:
        """`write` is called with True once: there is nothing after it. `seconds` 0: each change is written at once."""
        self._write = write
        self._seconds = seconds
        self._name = name
        self._sleep = sleep
        self._news, self._ending = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """There is something to write."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=self._name)
        self._news.set()

    def end(self) -> None:
        """Write for the last time, without waiting."""
        self._ending.set()
        self._news.set()

    async def until(self, event: asyncio.Event, seconds: float) -> bool:
        """Until this has happened or nothing is written any more, but no longer than `seconds`: whether it is so."""
        if self._task is None:
            return True
        seen = asyncio.create_task(event.wait())
        done, _ = await asyncio.wait({seen, self._task}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        seen.cancel()
        return bool(done)

    async def stopped(self, seconds: float) -> None:
        """`end`, and until it is done; what takes longer is cut off."""
        if self._task is None:
            return
        self.end()
        try:
            await asyncio.wait({self._task}, timeout=seconds)
        finally:
            self._task.cancel()
            (ended,) = await asyncio.gather(self._task, return_exceptions=True)
        if isinstance(ended, Exception):
            log.error("%s broke off", self._name, exc_info=ended)

    async def _run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            last = self._ending.is_set()
            await self._write(last)
            if last:
                return
            if self._seconds:
                await sleep_unless(self._ending, self._seconds, self._sleep)
