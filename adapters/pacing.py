"""A platform's rate limit, kept before the platform has to refuse: calls wait here for their turn, the important ones first.

Source: reliability.md R28 and R35.
"""

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import IntEnum

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


class Priority(IntEnum):
    """The smaller goes first."""

    FINAL = 0  # what somebody waits for
    ORDINARY = 1
    STEP = 2  # what the next one makes obsolete


@dataclass(frozen=True, slots=True)
class Limit:
    """`burst` calls at once, then `a_minute` evenly. No minute has more than the sum of both."""

    burst: int
    a_minute: int


class Bucket:
    """Tokens that come back with time. Only the first in the queue watches the clock; the others wait for it."""

    def __init__(self, limit: Limit, clock: Clock, sleep: Sleep) -> None:
        self._limit = limit
        self._clock = clock
        self._sleep = sleep
        self._level = float(limit.burst)
        self._at = clock()  # when the level was so; in the future during a pause
        self._queue: list[tuple[int, int, asyncio.Event]] = []
        self._numbers = itertools.count()

    async def take(self, priority: Priority) -> None:
        """Returns when the call may be made; whoever has a better priority, or came earlier, went before."""
        me = (int(priority), next(self._numbers), asyncio.Event())
        heapq.heappush(self._queue, me)
        try:
            while True:
                if self._queue[0] is not me:
                    me[2].clear()
                    await me[2].wait()
                elif (seconds := self._missing(1)) > 0:
                    await self._sleep(seconds)
                else:
                    self._level -= 1
                    return
        finally:
            self._queue.remove(me)
            heapq.heapify(self._queue)
            if self._queue:
                self._queue[0][2].set()

    def pause(self, seconds: float) -> None:
        """The platform said when to come back: until then nobody calls."""
        until = self._clock() + seconds
        if until > self._at:
            self._level, self._at = 1.0, until  # one call, then at the ordinary speed

    def wait(self) -> float:
        """How many seconds an ordinary call would wait now, about."""
        return max(0.0, self._missing(1 + len(self._queue)))

    @property
    def idle(self) -> bool:
        """Whether a new bucket would be just like this one."""
        return not self._queue and self._missing(self._limit.burst) <= 0

    def _missing(self, tokens: int) -> float:
        """Seconds until there are so many; what rounding leaves over counts as nothing."""
        now = self._clock()
        speed = self._limit.a_minute / 60
        if now >= self._at:
            self._level = min(self._level + (now - self._at) * speed, float(self._limit.burst))
            self._at = now
        seconds = self._at - now + max(0.0, tokens - self._level) / speed
        return seconds if seconds > 1e-6 else 0.0
