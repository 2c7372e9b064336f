"""Limits on what is asked and what it costs: so many questions a minute from one person and in one channel, and so
much of paid models a day. Over the day's budget answers go on without the model; only a flood is refused.

Source: reliability.md R24; product.md §2 (Models). What holds is in the database; in memory is only what has not been
written yet.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime

from agent.events import Cost
from agent.models.base import ChatModel
from agent.models.quota import TURN_TOKENS, OverBudgetError, QuotaModel
from bot.errors import StoreError
from bot.store.usage import Reason, Usage
from bot.types import Incoming
from retrieval.i18n import Language, Text

log = logging.getLogger(__name__)

LOCAL = frozenset({"terminal", "api", "web"})  # platforms where all that is asked has one author: whoever runs the bot

_USER = Text(
    en="You have asked {n} question{n:|s} within a minute, which is as many as I take from one person. Please wait a "
    "minute and ask again.",
    ja="1 分間に {n} 件のご質問をいただきました。お一人からお受けできるのはここまでです。1 分ほど待ってから、"
    "もう一度ご質問ください。",
)
_CHANNEL = Text(
    en="{n} question{n: has|s have} been asked in this channel within a minute, which is as many as I take. Please "
    "wait a minute and ask again.",
    ja="このチャンネルで 1 分間に {n} 件のご質問をいただきました。お受けできるのはここまでです。1 分ほど待ってから、"
    "もう一度ご質問ください。",
)


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """0: no limit. Tokens are those of prompts, replies and thinking."""

    user_per_minute: int = 10
    channel_per_minute: int = 30
    daily_calls: int = 20_000
    daily_tokens: int = 50_000_000


class Budget:
    """One for the process; `close` it before its database.

    The day's sums are looked up before every turn and counted on in between, so that of several processes each knows of
    the others' spending up to the beginning of its latest turn.
    """

    def __init__(
        self,
        usage: Usage,
        limits: BudgetLimits = BudgetLimits(),
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`now` is aware; its date is the day that the daily limits are for."""
        self._usage = usage
        self._limits = limits
        self._now = now
        self._day = date.min
        self._stored = Cost()  # of the day, by all processes
        self._unstored: dict[tuple[date, str], Cost] = {}
        self._storing: dict[tuple[date, str], Cost] = {}
        self._writer: asyncio.Task[None] | None = None

    # -- around a turn ----------------------------------------------------------------------------------------------

    def model(self, model: ChatModel, *, calls: int, kept: int = 2) -> ChatModel:
        """The model for one turn: see `QuotaModel`."""
        return QuotaModel(model, self, calls=calls, kept=kept, tokens=TURN_TOKENS)

    async def refusal(self, message: Incoming, language: Language) -> str | None:
        """Before a turn: why it is refused, in words, or None. Raises StoreError."""
        await self._look()
        limits = self._limits
        if message.place.platform in LOCAL or not (limits.user_per_minute or limits.channel_per_minute):
            return None
        pace = await self._usage.pace(message, each=limits.user_per_minute)
        checks: tuple[tuple[Reason, int, int, Text], ...] = (
            ("user", pace.by_author, limits.user_per_minute, _USER),
            ("channel", pace.in_channel, limits.channel_per_minute, _CHANNEL),
        )
        for reason, asked, limit, said in checks:
            if limit and asked >= limit:
                await self._usage.refuse(message, reason)
                return said.to(language, n=limit)
        return None

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Around a turn: what it cost is stored after it."""
        try:
            yield
        finally:
            self.settle()

    # -- the ledger -------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Before a call of a model. Raises OverBudgetError."""
        day = self._now().date()
        spent = self._stored if day == self._day else Cost()
        for ours in (self._storing, self._unstored):
            spent = sum((cost for (when, _), cost in ours.items() if when == day), start=spent)
        limits, tokens = self._limits, _tokens(spent)
        if (limits.daily_calls and spent.calls >= limits.daily_calls) or (
            limits.daily_tokens and tokens >= limits.daily_tokens
        ):
            raise OverBudgetError(f"the budget of {day} is used up: {spent.calls} calls, {tokens} tokens")

    def add(self, model: str, cost: Cost) -> None:
        """After a call."""
        key = (self._now().date(), model)
        self._unstored[key] = self._unstored.get(key, Cost()) + cost

    def settle(self) -> None:
        """Store what was spent, soon: turns that end meanwhile share a write, and nobody waits for it."""
        if self._unstored and (self._writer is None or self._writer.done()):
            self._writer = asyncio.create_task(self._store(), name="usage")

    async def close(self) -> None:
        """Stores what was spent, then closes."""
        self.settle()
        if self._writer is not None:
            await asyncio.wait({self._writer})

    async def _store(self) -> None:
        while self._unstored:
            self._storing, self._unstored = self._unstored, {}
            try:
                await self._usage.add(self._storing)
            except StoreError:
                log.warning("what models cost could not be stored; trying again after the next turn", exc_info=True)
                for key, cost in self._unstored.items():
                    self._storing[key] = self._storing.get(key, Cost()) + cost
                self._storing, self._unstored = {}, self._storing
                return
            with suppress(StoreError):
                await self._look()
            self._storing = {}

    async def _look(self) -> None:
        day = self._now().date()
        found = await self._usage.of(day)
        if day != self._day and day == self._now().date():  # another one, also where a clock is set back
            self._day, self._stored = day, found
        elif day == self._day and (found.calls, _tokens(found)) > (self._stored.calls, _tokens(self._stored)):
            self._stored = found  # sums only grow: a smaller one was read earlier


class Unlimited:
    """No limits, and nothing is stored of what is spent."""

    async def refusal(self, message: Incoming, language: Language) -> str | None:
        return None

    @contextmanager
    def spending(self) -> Iterator[None]:
        yield


def _tokens(cost: Cost) -> int:
    return cost.input_tokens + cost.output_tokens + cost.thought_tokens
