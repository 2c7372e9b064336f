"""The work that every platform looks for again and again while it runs: what a process or a reply that ended has left
behind, what is due to be said, and cards whose questions were closed elsewhere. Source: product.md §4; reliability.md
R5, R8 and R57."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from adapters.shared.expert_answers import DigestCards
from bot.types import IngestionRequest
from bot.waiting import again_and_again

EVERY_SECONDS = 5.0


async def look_after(
    cards: DigestCards,
    *,
    questions: Callable[[], Awaitable[None]],
    intake: Callable[[IngestionRequest], Coroutine[Any, Any, None]],
    every: float = EVERY_SECONDS,
) -> None:
    """Until cancelled, every so many seconds: take up questions (which may raise StoreError) and intakes, tell askers
    of their answers, and redraw a card whose question is not open any more."""
    platform, bot, tasks = cards.platform, cards.bot, cards.tasks

    async def look() -> None:
        await questions()
        for left in await bot.ingestion.unfinished(platform):
            tasks.start(intake(left), f"{platform}-intake")
        await cards.tell_all()
        for card in await bot.experts.settled(platform):
            tasks.start(cards.renew(card), f"{platform}-cards")

    await again_and_again(look, every, "what was left unfinished could not be looked up")
