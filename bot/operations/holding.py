"""Something that one process of a database does at a time: it is held by a lease, and another takes over within
`TAKEN_OVER_SECONDS` of its holder's death. Where nobody else can have the database open it is simply done.

Source: machines.md §1, row 15, and §2.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

from bot.errors import StoreError
from bot.store.exclusive import Leases
from bot.waiting import Sleep, beside

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=15)
LOOK_SECONDS = 5.0  # between two looks, of its holder and of who waits for it
SURE_SECONDS = 10.0  # after which a holder that cannot renew its lease stops: before anybody else begins
TAKEN_OVER_SECONDS = LEASE.total_seconds() + LOOK_SECONDS


class Holding:
    """`owner` names this process in the leases."""

    def __init__(
        self,
        leases: Leases,
        *,
        owner: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._leases = leases
        self._owner = owner
        self._clock = clock
        self._sleep = sleep

    @property
    def shared(self) -> bool:
        """Whether another process may hold it."""
        return self._leases.shared

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[asyncio.Event]:
        """Waits until nobody else holds it, and holds it while the block runs; the event says that it is held no more:
        then whatever it is for has to end at once."""
        lost = asyncio.Event()
        if not self.shared:
            yield lost
            return
        if not await self._taken(name):
            log.info("%s is held by another process; this one waits", name)
            await self._sleep(LOOK_SECONDS)
            while not await self._taken(name):
                await self._sleep(LOOK_SECONDS)
        try:
            async with beside(self._keep(name, lost), f"holding-{name}"):
                yield lost
        finally:
            with suppress(StoreError):  # it passes by itself
                await self._leases.give_back(name, self._owner)

    async def _taken(self, name: str) -> bool:
        try:
            return await self._take(name)
        except StoreError:
            log.warning("whether %s is held could not be looked up; trying again", name, exc_info=True)
            return False

    async def _keep(self, name: str, lost: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        end = loop.call_later(SURE_SECONDS, lost.set)
        try:
            while not lost.is_set():
                await self._sleep(LOOK_SECONDS)
                began = time.monotonic()
                try:
                    if not await self._take(name):
                        lost.set()
                except StoreError:
                    log.warning("%s could not be kept; trying again", name, exc_info=True)
                else:
                    end.cancel()
                    end = loop.call_later(SURE_SECONDS - (time.monotonic() - began), lost.set)
        finally:
            end.cancel()

    async def _take(self, name: str) -> bool:
        now = self._clock()
        return await self._leases.take(name, self._owner, now=now, until=now + LEASE)
