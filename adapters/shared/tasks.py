"""Work that goes on after an acknowledgement."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from bot.waiting import stopped

log = logging.getLogger(__name__)


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
