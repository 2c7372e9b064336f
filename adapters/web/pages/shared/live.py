"""Lists that stay as things are, while somebody looks at them."""

import logging
from collections.abc import Awaitable, Callable

from nicegui import ui

from bot.errors import StoreError
from retrieval.types import RAGToolError

log = logging.getLogger(__name__)

EVERY_SECONDS = 5.0


async def kept_live(
    state: Callable[[], Awaitable[object]], draw: Callable[[], Awaitable[None]], *, every: float = EVERY_SECONDS
) -> None:
    """Call `draw` whenever `state`, which must be cheap, is another one than it was; until the page is gone. What
    fails is tried again silently: nobody has asked for it."""
    known = await state()

    async def look() -> None:
        nonlocal known
        try:
            now = await state()
            if now != known:
                known = now
                await draw()
        except (StoreError, RAGToolError):
            log.warning("a list could not be looked at", exc_info=True)

    ui.timer(every, look, immediate=False)
