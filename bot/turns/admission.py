"""The order of turns when more is asked than is worked on at once: channels take turns, so that a busy one delays no
other.

Source: reliability.md R54. It is about fairness only, so memory is enough; what must hold across processes and restarts
is a row (`bot/turns/queue.py`).
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bot.types import Place

AT_ONCE = 200  # turns: mostly they wait for a model
WAITING = 400  # more than that would be answered too late for anybody


class CrowdedError(Exception):
    """Too many wait already."""


@dataclass(eq=False, slots=True)
class AdmissionTicket:
    """A turn's place in the queue. `ahead`: how many go before it, as the queue stood when it came."""

    channel: Place
    ahead: int
    _called: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    async def called(self) -> None:
        """Wait until it is this turn's turn."""
        await asyncio.shield(self._called)

    @property
    def is_called(self) -> bool:
        return self._called.done()

    def call(self) -> None:
        self._called.set_result(None)


class Admission:
    """`at_once` turns are worked on at the same time; of those that wait the channels take turns (with turns that cost
    the same, this is deficit round robin)."""

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._free = at_once
        self._most = waiting
        self._waiting: dict[Place, deque[AdmissionTicket]] = {}  # the channel whose turn is next comes first

    @contextmanager
    def join(self, channel: Place) -> Iterator[AdmissionTicket]:
        """Stand in line; leave it, or the place that was given, with the block. Raises CrowdedError."""
        ticket = AdmissionTicket(channel, self._ahead(channel))
        if self._free:
            self._free -= 1
            ticket.call()
        elif sum(map(len, self._waiting.values())) >= self._most:
            raise CrowdedError
        else:
            self._waiting.setdefault(channel, deque()).append(ticket)
        try:
            yield ticket
        finally:
            if ticket.is_called:
                self._call_next()
            else:
                self._waiting[channel].remove(ticket)
                if not self._waiting[channel]:
                    del self._waiting[channel]

    def _ahead(self, channel: Place) -> int:
        if self._free:
            return 0
        mine = len(self._waiting.get(channel, ())) + 1
        others = sum(min(len(tickets), mine) for place, tickets in self._waiting.items() if place != channel)
        return mine - 1 + others + 1  # the one that has to end first

    def _call_next(self) -> None:
        channel = next(iter(self._waiting), None)
        if channel is None:
            self._free += 1
            return
        tickets = self._waiting.pop(channel)
        tickets.popleft().call()
        if tickets:
            self._waiting[channel] = tickets  # behind the others
