"""Waiting for what a page will show by itself."""

from nicegui.testing import User

from tests.adapters.acting import until


async def sees(user: User, text: str) -> None:
    """Raises TimeoutError."""

    async def there() -> bool:
        try:
            await user.should_see(text, retries=1)
        except AssertionError:
            return False
        return True

    await until(there)
