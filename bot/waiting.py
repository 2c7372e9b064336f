"""Waiting that something else may end, and work that nothing may."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

Sleep = Callable[[float], Awaitable[None]]


async def sleep_unless(event: asyncio.Event, seconds: float, sleep: Sleep = asyncio.sleep) -> None:
    """So many seconds, or until `event` is set."""
    waits = asyncio.ensure_future(sleep(seconds)), asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


async def finished(work: Coroutine[Any, Any, T]) -> T:
    """Do `work` to its end even when the caller is cancelled; the cancellation comes after it."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.cancelled() or task.exception()  # seen
        raise cancelled
    return task.result()
