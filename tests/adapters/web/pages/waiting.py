"""Waiting for what a page will show by itself."""

import asyncio
from collections.abc import Awaitable, Callable

from nicegui.testing import User

SECONDS = 30.0


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    """Raises TimeoutError."""
    async with asyncio.timeout(SECONDS):
        while True:
            if await true():
                return
            await asyncio.sleep(0.02)


async def sees(user: User, text: str) -> None:
    """Raises TimeoutError."""

    async def there() -> bool:
        try:
            await user.should_see(text, retries=1)
        except AssertionError:
            return False
        return True

    await until(there)
