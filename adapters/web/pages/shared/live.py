"""Lists that stay as things are, while somebody looks at them."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from nicegui import ui

from adapters.web.pages.shared import components
from bot.errors import StoreError
from retrieval.types import RAGToolError

T = TypeVar("T")

log = logging.getLogger(__name__)

EVERY_SECONDS = 5.0


async def live_list(
    state: Callable[[], Awaitable[Sequence[T]]],
    draw: Callable[[T], None],
    none: str,
    *,
    every: float = EVERY_SECONDS,
) -> Callable[[], Awaitable[None]]:
    """The items of `state`, one below the other; `none` where there are none. Returns what shows them anew at once."""
    listed = ui.column().classes("full-width")

    async def fill() -> None:
        found = await state()
        listed.clear()
        with listed:
            if not found:
                components.empty(none)
            for one in found:
                draw(one)

    await fill()
    await kept_live(state, fill, every=every)
    return fill


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
