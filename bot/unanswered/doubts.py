"""Answers made without a model that the bot was not sure of become misses when several people ask alike.

Offline nearly every paraphrase is doubted, and a digest of all of them would hide what matters. Source: product.md §4.
"""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.store.unanswered import Doubted, UnansweredQuestions
from bot.unanswered.closing import says_all
from bot.unanswered.clustering import Clustering
from bot.waiting import again_and_again

ALIKE = 3  # people who asked the same
WITHIN = timedelta(days=30)
READ = 1_000  # doubted questions that are compared, the newest
EVERY_SECONDS = 300.0


class Doubts:
    """One for the process: it knows which questions it has compared."""

    def __init__(self, questions: UnansweredQuestions, grouping: Clustering) -> None:
        self._questions = questions
        self.grouping = grouping
        self._compared: frozenset[str] = frozenset()

    async def gather(self, now: datetime | None = None) -> int:
        """Make misses, as of `now`, of doubted questions that ALIKE people asked, as far as the same people may read
        them; returns how many there are more. Nothing is compared while nothing was asked. Raises StoreError."""
        now = now or datetime.now(UTC)
        doubted = await self._questions.doubted(now - WITHIN, limit=READ)
        turns = frozenset(one.miss.turn for one in doubted if not one.kept)
        if turns <= self._compared:
            return 0
        asked: dict[str, list[Doubted]] = {}
        for one in await asyncio.to_thread(_alone, doubted):
            asked.setdefault(one.miss.scope, []).append(one)
        found = [one for some in asked.values() for one in await self._alike(some)]
        await self._questions.add(*(replace(one.miss, reopened_at=max(now, one.miss.asked_at)) for one in found))
        self._compared = turns
        return len(found)

    async def _alike(self, asked: list[Doubted]) -> list[Doubted]:
        if len({one.asker for one in asked}) < ALIKE:
            return []
        groups = [[asked[at] for at in places] for places in await self.grouping([one.miss.question for one in asked])]
        many = (group for group in groups if len({one.asker for one in group}) >= ALIKE)
        return [one for group in many for one in group if not one.kept]

    async def watch(self) -> None:
        """Until cancelled: `gather` every few minutes, for the lists that people look at between two digests."""
        every = EVERY_SECONDS
        await again_and_again(self.gather, every, "doubted questions could not be compared", first=every)


def _alone(doubted: list[Doubted]) -> list[Doubted]:
    return [one for one in doubted if says_all(one.miss.question, follows=one.follows)]
