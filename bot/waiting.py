"""Waiting that something else may end, and work that nothing may."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, NoReturn, TypeVar

from bot.errors import LostError, StoreError
from retrieval.types import RAGToolError

log = logging.getLogger(__name__)

T = TypeVar("T")

Sleep = Callable[[float], Awaitable[None]]

_LONGEST_WAIT = 5.0  # seconds between tries to store something


async def stopped(*tasks: "asyncio.Future[Any]") -> None:
    """Cancel these, and wait until they have ended; what they raise is theirs."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, T], name: str | None = None) -> AsyncIterator[asyncio.Task[T]]:
    """`work` goes on while the block runs, and is `stopped` at its end."""
    task = asyncio.create_task(work, name=name)
    try:
        yield task
    finally:
        await stopped(task)


async def again_and_again(
    work: Callable[[], Awaitable[object]],
    seconds: float,
    trouble: str,
    *,
    first: float = 0.0,
    sleep: Sleep = asyncio.sleep,
) -> NoReturn:
    """`work`, and again so many seconds after its end, until cancelled; `first`: seconds before the first time.

    Nothing else ends it: what fails is logged as `trouble`, once for as long as it fails in the same way, and tried
    again, also a bug, which would else be noticed when the bot stops.
    """
    if first:
        await sleep(first)
    failed: type[Exception] | None = None
    while True:
        try:
            await work()
            failed = None
        except Exception as error:
            if failed is not type(error):
                expected = isinstance(error, (StoreError, RAGToolError, LostError, OSError))
                level = logging.WARNING if expected else logging.ERROR
                log.log(level, "%s; trying again", trouble, exc_info=True)
            failed = type(error)
        await sleep(seconds)


async def until_stored(work: Callable[[], Awaitable[object]]) -> None:
    """Try until the database takes it, for as long as the process lives: what nobody tells a second time. `work` may
    be begun again after a StoreError."""
    wait = 0.5
    while True:
        try:
            await work()
            return
        except StoreError as error:
            log.error("what is told only once could not be stored; trying again: %s", error)
        await asyncio.sleep(wait)
        wait = min(2 * wait, _LONGEST_WAIT)


async def sleep_unless(event: asyncio.Event, seconds: float, sleep: Sleep = asyncio.sleep) -> None:
    """So many seconds, or until `event` is set."""
    waits = asyncio.ensure_future(sleep(seconds)), asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await stopped(*waits)


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
