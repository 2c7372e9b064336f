"""A platform's rate limit, kept before the platform has to refuse: calls wait here for their turn, the important ones
first.

Source: reliability.md R28 and R35.
"""

import asyncio
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

from bot.waiting import Sleep, sleep_unless

Clock = Callable[[], float]


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


class CallTicket:
    """The priority of a call that waits for its turn, which may change meanwhile."""

    def __init__(self, priority: Priority) -> None:
        self.priority = priority
        self.dropped = False
        self.waiting: set[asyncio.Event] = set()

    def hurry(self) -> None:
        """Somebody waits for the call now."""
        self.priority = Priority.FINAL
        self._changed()

    def drop(self) -> None:
        """The call is not to be made any more."""
        self.dropped = True
        self._changed()

    def _changed(self) -> None:
        for event in self.waiting:
            event.set()


@dataclass(eq=False, slots=True)
class _Place:
    ticket: CallTicket
    number: int
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def rank(self) -> tuple[int, int]:
        return self.ticket.priority, self.number


class Bucket:
    """Tokens that come back with time. Only the first in the queue watches the clock; the others wait for it."""

    def __init__(self, limit: Limit, clock: Clock, sleep: Sleep) -> None:
        self._limit = limit
        self._clock = clock
        self._sleep = sleep
        self._level = float(limit.burst)
        self._at = clock()  # when the level was so; in the future during a pause
        self._queue: list[_Place] = []
        self._numbers = itertools.count()

    async def take(self, worth: Priority | CallTicket) -> None:
        """Returns when the call may be made; whoever has a better priority, or came earlier, went before. A dropped
        ticket is let out at once."""
        ticket = worth if isinstance(worth, CallTicket) else CallTicket(worth)
        me = _Place(ticket, next(self._numbers))
        self._queue.append(me)
        ticket.waiting.add(me.changed)
        try:
            while not ticket.dropped:
                if (first := self._first()) is not me:
                    first.changed.set()
                    me.changed.clear()
                    await me.changed.wait()
                elif (seconds := self._missing(1)) > 0:
                    await self._wait_for(me, seconds)
                else:
                    self._level -= 1
                    return
        finally:
            ticket.waiting.discard(me.changed)
            self._queue.remove(me)
            if self._queue:
                self._first().changed.set()

    def pause(self, seconds: float) -> None:
        """The platform said when to come back: until then nobody calls."""
        until = self._clock() + seconds
        if until > self._at:
            self._level, self._at = 1.0, until  # one call, then at the ordinary speed

    def wait(self, worth: Priority | CallTicket = Priority.STEP) -> float:
        """How many seconds a call would wait now, about; or the one that waits with this ticket still has to."""
        ticket = worth if isinstance(worth, CallTicket) else CallTicket(worth)
        mine = min((place.rank for place in self._queue if place.ticket is ticket), default=(ticket.priority, math.inf))
        return max(0.0, self._missing(1 + sum(place.rank < mine for place in self._queue)))

    @property
    def idle(self) -> bool:
        """Whether a new bucket would be just like this one."""
        return not self._queue and self._missing(self._limit.burst) <= 0

    async def _wait_for(self, place: _Place, seconds: float) -> None:
        """So long, or until something about this place has changed."""
        place.changed.clear()
        await sleep_unless(place.changed, seconds, self._sleep)

    def _first(self) -> _Place:
        return min(self._queue, key=lambda place: place.rank)

    def _missing(self, tokens: int) -> float:
        """Seconds until there are so many; what rounding leaves over counts as nothing."""
        now = self._clock()
        speed = self._limit.a_minute / 60
        if now >= self._at:
            self._level = min(self._level + (now - self._at) * speed, float(self._limit.burst))
            self._at = now
        seconds = self._at - now + max(0.0, tokens - self._level) / speed
        return seconds if seconds > 1e-6 else 0.0
