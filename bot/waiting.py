"""Waiting for a time that something else may end."""

import asyncio
from collections.abc import Awaitable, Callable

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
