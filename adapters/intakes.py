"""Working an intake off on any platform: how far it is shows now and then, and what became of it at the end.

Source: product.md §5; reliability.md R28, R34 and R44.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from adapters.port import PostError
from bot.bot import Bot
from bot.types import Fetch, Intake

log = logging.getLogger(__name__)


async def process(
    bot: Bot,
    intake: Intake,
    fetch: Fetch,
    show: Callable[[Intake], Awaitable[None]],
    tell: Callable[[Intake], Awaitable[None]],
    *,
    seconds: float,
    unreachable: type[PostError],
) -> None:
    """Read its files and `show` how far it is, at most every `seconds`; the end is not waited with. Where it cannot be
    shown, its end is for `tell`. Raises StoreError.

    `show` raises PostError; what it could not show for a reason that passes (`unreachable`) is left for the next look. No
    file is read twice.
    """
    clock = asyncio.get_running_loop().time
    possible, due = True, 0.0
    async with aclosing(bot.ingestion.process(intake, fetch)) as states:
        async for intake in states:
            now = clock()
            if possible and (intake.done or now >= due):
                try:
                    await show(intake)
                    due = now + seconds
                except unreachable as error:
                    log.warning("the progress of an intake could not be shown: %s", error.code)
                    if intake.done:
                        return
                except PostError as error:
                    log.info("the progress of an intake cannot be shown: %s", error.code)
                    possible = False
            if intake.done and not possible:
                await tell(intake)
