"""Lists that stay as things are, while somebody looks at them."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from nicegui import ui

from adapters.web.pages.shared import components
from bot.errors import StoreError
from retrieval.types import RAGToolError

T = TypeVar("T")

log = logging.getLogger(__name__)

EVERY_SECONDS = 5.0


class LastAsked:
    """Of lists that are asked for one after the other, only the last one is shown."""

    def __init__(self) -> None:
        self._count = 0

    def ask(self) -> Callable[[], bool]:
        """Returned is what says whether it still is the last."""
        self._count += 1
        mine = self._count
        return lambda: mine == self._count


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

    async with kept_live(state, fill, every=every):
        await fill()
    return fill


@asynccontextmanager
async def kept_live(
    state: Callable[[], Awaitable[object]], draw: Callable[[], Awaitable[None]], *, every: float = EVERY_SECONDS
) -> AsyncIterator[None]:
    """After the block, in which it is drawn first, call `draw` whenever `state`, which must be cheap, is another one
    than before the block; until the page is gone. What fails is tried again silently: nobody has asked for it."""
    known = await state()
    yield

    async def look() -> None:
        nonlocal known
        try:
            now = await state()
            if now != known:
                await draw()
                known = now
        except (StoreError, RAGToolError):
            log.warning("a list could not be looked at", exc_info=True)

    ui.timer(every, look, immediate=False)
