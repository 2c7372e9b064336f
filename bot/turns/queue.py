"""Claimed once, one at a time in a thread, found again after a crash: a question's place in the queue.

All of it is rows (`bot/store/turns.py`); what is kept in memory here only makes waiting shorter.
Source: reliability.md R1, R3, R5 and R9.
"""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from agent.events import Answered
from bot.errors import LostError, StoreError
from bot.store.batching import WriteBatcher
from bot.store.processes import this_process
from bot.store.traces import Noted
from bot.store.turns import Blocked, Started, TurnStore
from bot.store.unanswered import MissedQuestion
from bot.types import Claimed, Incoming, Place, Stopped
from bot.waiting import finished, stopped

log = logging.getLogger(__name__)

QUEUE = 5
LEASE = timedelta(seconds=15)
POLL_SECONDS = 0.5

Clock = Callable[[], datetime]


class TurnQueue:
    """The questions put to this process, and those another one left behind.

    A turn is held from its claim until it is `shown` or `release`d; a heartbeat keeps the lease meanwhile. What this
    process holds it never takes a second time, whatever the clock says."""

    def __init__(
        self,
        rows: TurnStore,
        *,
        owner: str | None = None,
        lease: timedelta = LEASE,
        clock: Clock = lambda: datetime.now(UTC),
    ) -> None:
        self._rows = rows
        self.owner = owner or this_process()
        self._lease = lease
        self._clock = clock
        self._held: set[str] = set()
        self._owed: dict[str, Callable[[], Awaitable[None]]] = {}  # what could not be stored and is tried again
        self._changed: dict[tuple[str, ...], asyncio.Event] = {}  # a thread's queue has moved
        self._heart: asyncio.Task[None] | None = None
        self._claims = WriteBatcher(self._claim, name="inbox-claims", unwanted=self._give_back)

    async def claim(self, message: Incoming) -> Claimed | None:
        """Take a question durably, before anything is acknowledged. None: it is taken or answered already.

        Raises StoreError; then nothing was stored and nothing may be acknowledged.
        """
        return await self._claims(message)

    async def _claim(self, messages: Sequence[Incoming]) -> list[Claimed | None]:
        arrived = {uuid.uuid4().hex: message for message in messages}
        now = self._clock()
        found = await self._rows.claim(arrived, owner=self.owner, now=now, until=now + self._lease, held=self._held)
        for claimed in found.values():
            self._hold(claimed.id)
        return [found.get(turn) for turn in arrived]

    async def _give_back(self, claimed: Claimed | None) -> None:
        """Whoever asked was cancelled while the claim was stored."""
        if claimed is not None:
            await self.release(claimed)

    async def describe(self, claimed: Claimed, message: Incoming) -> None:
        """Keep what was looked up of a question after its claim. Raises StoreError."""
        await self._rows.describe(claimed, message, owner=self.owner)

    async def knows(self, message: Incoming) -> bool:
        """Whether this question was claimed and is not done. Raises StoreError."""
        return await self._rows.knows(message)

    async def cancel(self, message: Incoming) -> bool:
        """Close a question that has no answer yet, whoever works on it. Raises StoreError."""
        return await self._rows.cancel(message)

    async def stop(
        self, place: Place, thread: str, author: str, *, until: str, note: Callable[[Incoming], Answered]
    ) -> Stopped:
        """Answer somebody's open questions in a thread with a note, whoever works on them. Raises StoreError."""
        return await self._rows.stop(place, thread, author, until=until, note=note, now=self._clock())

    async def amend(self, message: Incoming) -> bool:
        """New words for a question; whoever works on it has lost it. False: it stays as it is. Raises
        StoreError."""
        return await self._rows.amend(message, now=self._clock())

    async def delete(self, message: Incoming) -> Claimed | None:
        """Keep nothing of a question that was taken back; whoever works on it has lost it. Raises StoreError."""
        return await self._rows.delete(message, now=self._clock())

    async def deleted(self, platform: str) -> list[Claimed]:
        """Those of which something is still posted. Raises StoreError."""
        return await self._rows.deleted(platform)

    def busy(self, claimed: Claimed) -> bool:
        """Too many wait in its thread already: it is answered with that instead of queueing."""
        return claimed.waiting >= QUEUE

    async def start(self, claimed: Claimed) -> Started:
        """Wait until the turns before it in its thread have ended. Raises LostError, StoreError."""
        thread = _thread(claimed)
        while True:
            changed = self._changed.setdefault(thread, asyncio.Event())
            match await self._rows.start(claimed, owner=self.owner, now=self._clock(), held=self._held):
                case Started() as started:
                    return started
                case Blocked(owners):
                    ours = owners == {self.owner}  # then the event tells; a lease must still be able to pass
                    patience = self._lease.total_seconds() if ours else POLL_SECONDS
                    with suppress(TimeoutError):
                        async with asyncio.timeout(patience):
                            await changed.wait()

    async def finish(
        self, claimed: Claimed, answer: Answered, steps: Sequence[Noted], misses: Sequence[MissedQuestion]
    ) -> None:
        """Store the answer, its cost and its misses at once. Raises LostError, StoreError."""
        await self._rows.finish(claimed, answer, owner=self.owner, steps=steps, misses=misses, now=self._clock())

    async def withdraw(self, claimed: Claimed, documents: Mapping[str, str]) -> None:
        """Take documents (names by id) out of its answer, its trace and its steps. Raises StoreError."""
        await self._rows.withdraw(claimed.id, documents, self._clock())

    def finish_later(
        self, claimed: Claimed, answer: Answered, steps: Sequence[Noted], misses: Sequence[MissedQuestion]
    ) -> None:
        """The answer is shown although it could not be stored: keep the turn, and store it once that works again."""

        async def store() -> None:
            await self.finish(claimed, answer, steps, misses)
            self._owed.pop(claimed.id, None)
            await self.shown(claimed)

        self._owed[claimed.id] = store

    async def shown(self, claimed: Claimed) -> None:
        """The answer has reached its thread. Never raises for want of a database: it is tried again."""
        if claimed.id in self._owed:
            return
        try:
            await self._mark_shown(claimed)
        except StoreError:
            log.warning("a shown answer could not be marked; trying again", extra={"turn": claimed.id}, exc_info=True)
            self._owed[claimed.id] = lambda: self._mark_shown(claimed)

    async def _mark_shown(self, claimed: Claimed) -> None:
        await self._rows.shown(claimed.id, owner=self.owner, now=self._clock())
        self._let_go(claimed)

    async def show_later(self, claimed: Claimed) -> None:
        """Its platform does not take an answer now, or what is to be changed of it: it waits, and nothing is posted in
        its place. Raises StoreError."""
        await self._rows.show_later(claimed.id, now=self._clock())

    async def release(self, claimed: Claimed) -> None:
        """Give a turn back without its answer having been shown; `unfinished` finds it. Never raises."""
        if claimed.id in self._owed:
            return
        self._held.discard(claimed.id)
        try:
            await self._rows.release(claimed.id, owner=self.owner, now=self._clock())
        except StoreError:
            log.warning("a turn could not be given back; its lease passes soon", extra={"turn": claimed.id})
        self._let_go(claimed)

    async def unfinished(self, platform: str) -> list[Incoming]:
        """Questions of a platform that were claimed and never answered, because a process or a reply ended, and those
        whose answer is to be shown or put in order by now (`show_later`).

        To be handed to `Turns.reply` at start and every few seconds: a dead process's lease passes only after 15 s.
        """
        now = self._clock()
        await self._rows.show_due(now)
        return await self._rows.unfinished(platform, now=now, held=self._held)

    async def close(self) -> None:
        """Stop the heartbeat. What is still held is found by others when its lease passes."""
        await self._claims.close()
        heart, self._heart = self._heart, None
        if heart is not None:
            await stopped(heart)

    # -- the heartbeat ----------------------------------------------------------------------------------------------

    def _hold(self, turn: str) -> None:
        self._held.add(turn)
        if self._heart is None or self._heart.done():
            self._heart = asyncio.create_task(self._beat(), name="inbox-heartbeat")

    def _let_go(self, claimed: Claimed) -> None:
        self._held.discard(claimed.id)
        self._owed.pop(claimed.id, None)
        if changed := self._changed.pop(_thread(claimed), None):
            changed.set()
        if not self._held and self._heart is not None:
            self._heart.cancel()
            self._heart = None

    async def _beat(self) -> None:
        while self._held:
            await asyncio.sleep(self._lease.total_seconds() / 3)
            await finished(self._once())

    async def _once(self) -> None:
        try:
            now = self._clock()
            await self._rows.renew(tuple(self._held), owner=self.owner, now=now, until=now + self._lease)
        except StoreError:
            log.warning("the leases of %d turns could not be renewed", len(self._held), exc_info=True)
        for turn, store in list(self._owed.items()):
            try:
                await store()
            except StoreError:
                log.warning("still nothing can be stored", extra={"turn": turn})
            except LostError:
                log.warning("another process has taken over a turn", extra={"turn": turn})
                self._owed.pop(turn, None)
                self._held.discard(turn)


def _thread(claimed: Claimed) -> tuple[str, ...]:
    place = claimed.message.place
    return (place.platform, place.workspace, place.channel, claimed.message.thread)
