"""What was looked up lately, kept for a while: one look-up at a time for one key, and failures are not kept."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from adapters.pacing import Clock

V = TypeVar("V")


class Cached(Generic[V]):
    """Values by key, for `seconds`; the oldest go when there are more than `most`. Close it."""

    def __init__(
        self, look_up: Callable[[str], Awaitable[V]], seconds: float, *, clock: Clock, most: int = 5_000
    ) -> None:
        self._look_up = look_up
        self._seconds = seconds
        self._clock = clock
        self._most = most
        self._known: dict[str, tuple[float, V]] = {}
        self._under_way: dict[str, asyncio.Task[V]] = {}

    async def get(self, key: str) -> V:
        """Raises what the look-up raises, to all who waited for it."""
        until, value = self._known.get(key, (0.0, None))
        if value is not None and self._clock() < until:
            return value
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.create_task(self._fetch(key))
            task.add_done_callback(_seen)
        # Whoever gives up waiting does not take the value away from the others.
        return await asyncio.shield(task)

    async def close(self) -> None:
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _fetch(self, key: str) -> V:
        try:
            value = await self._look_up(key)
        finally:
            del self._under_way[key]
        self._known.pop(key, None)
        if len(self._known) >= self._most:
            del self._known[next(iter(self._known))]
        self._known[key] = (self._clock() + self._seconds, value)
        return value


def _seen(task: "asyncio.Task[V]") -> None:
    """A failure that nobody waits for any longer is no news."""
    if not task.cancelled():
        task.exception()
