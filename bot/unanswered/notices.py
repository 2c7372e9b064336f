"""Notices this process is to say to askers: each is given to it once, until it was said or a minute has passed.

Source: product.md §4; reliability.md R5 and §5, point 2 (a clock that steps).
"""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bot.access import readers
from bot.store.notifications import Notices
from bot.types import Audience, Notice

LEASE = timedelta(minutes=1)  # for whoever says one; then anybody may try again


class Due:
    """The notices of one process. The minute is one of its own time, which no step of the wall clock shortens."""

    def __init__(
        self,
        rows: Notices,
        *,
        owner: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        """`owner` names this process in the leases; `timer`: seconds."""
        self._rows = rows
        self._owner = owner
        self._clock = clock
        self._timer = timer
        self._saying: dict[int, float] = {}  # until when each is left to whoever was given it
        self._asking = asyncio.Lock()

    async def __call__(self, platform: str) -> list[Notice]:
        """The notices to be said on a platform now. Raises StoreError."""
        async with self._asking:
            at = self._timer()
            self._saying = {notice: until for notice, until in self._saying.items() if until > at}
            now = self._clock()
            found = await self._rows.due(
                platform, owner=self._owner, now=now, until=now + LEASE, saying=tuple(self._saying)
            )
            self._saying |= dict.fromkeys((notice.id for notice in found), at + LEASE.total_seconds())
            return found

    async def readable(self, notice: Notice, audience: Audience) -> bool:
        """Whether all who read its thread by now may read what it says. Raises StoreError."""
        return await self._rows.readable(notice.id, readers(notice.place, audience, notice.thread))

    async def said(self, notice: Notice) -> None:
        """Notes that a notice was said, or never can be. Raises StoreError."""
        await self._rows.said(notice.id)
        self._saying.pop(notice.id, None)
