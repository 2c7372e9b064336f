"""The work that every platform looks for again and again while it runs: what a process or a reply that ended has left
behind, what is due to be said, and cards whose questions were closed elsewhere. Source: product.md §4; reliability.md
R5, R8 and R57."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from adapters.shared import digest_cards, expert_answers
from adapters.shared.tasks import Tasks
from bot.bot import Bot
from bot.errors import StoreError
from bot.turns.withdrawal import WITHDRAWN
from bot.types import Audience, IngestionRequest, Notice, Post
from retrieval.i18n import Language

log = logging.getLogger(__name__)

EVERY_SECONDS = 5.0

Work = Coroutine[Any, Any, None]


async def look_after(
    platform: str,
    bot: Bot,
    tasks: Tasks,
    language: Language,
    *,
    questions: Callable[[], Awaitable[None]],
    intake: Callable[[IngestionRequest], Work],
    tell: Callable[[Notice], Work],
    redraw: Callable[[Post, str], Work],
    audience_of: Callable[[Post], Awaitable[Audience]],
    every: float = EVERY_SECONDS,
) -> None:
    """Until cancelled, every so many seconds: take up questions (which may raise StoreError) and intakes, tell askers
    of their answers, and redraw a card whose question is not open any more. `language`: of what everybody reads."""

    async def settle(card: Post) -> None:
        now = await digest_cards.renewed(bot, card, await audience_of(card), language)
        if now is not None and card.data.get("stale"):
            await redraw(now, WITHDRAWN.to(language))
        elif now is not None:
            await redraw(now, expert_answers.status(now, expert_answers.SETTLED, language))

    while True:
        try:
            await questions()
            for left in await bot.ingestion.unfinished(platform):
                tasks.start(intake(left), f"{platform}-intake")
            for notice in await bot.experts.notices(platform):
                tasks.start(tell(notice), f"{platform}-notice")
            for card in await bot.experts.settled(platform):
                tasks.start(settle(card), f"{platform}-cards")
        except StoreError:
            log.warning("what was left unfinished could not be looked up; trying again", exc_info=True)
        await asyncio.sleep(every)
