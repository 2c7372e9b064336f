"""Pages without a browser: NiceGUI's simulated user in front of the whole application, with the sample handbook in
it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from nicegui.testing import User

from adapters.runner import connected
from adapters.web.channel.adapter import web_adapter
from adapters.web.server.browser import Browser
from adapters.web.visitor import AS, LANGUAGE, ZONE, Site
from bot.app import running
from bot.logs import Redactor
from tests.adapters.web.fresh import fresh_nicegui
from tests.bot.sample_turns import settings
from tests.copies import copy_folder

Visit = Callable[..., User]
"""A browser of its own: `visit("ben", language="ja", zone="Asia/Tokyo")`. Open pages with their whole path: `await
user.open("/app/search")`."""


class _Patient(User):
    """Waits for what it should see, or should not see any more, 30 s and not NiceGUI's .3 s."""

    async def should_see(self, *about: Any, **more: Any) -> None:
        await super().should_see(*about, **{"retries": 300} | more)

    async def should_not_see(self, *about: Any, **more: Any) -> None:
        await super().should_not_see(*about, **{"retries": 600} | more)


@pytest.fixture
def options() -> dict[str, Any]:
    """Settings of the site; a test that needs others has its own fixture of this name."""
    return {}


@pytest.fixture
def address() -> str:
    """What links to the pages begin with."""
    return "http://localhost"


@pytest.fixture
async def site(sample_made: Path, tmp_path: Path, options: dict[str, Any], address: str) -> AsyncIterator[Site]:
    home = copy_folder(sample_made, tmp_path / "home")
    given = settings(home, **{"KOTAE_MIN_RELEVANCE": 0.1} | options)  # so few pages are like anything
    async with running(given, Redactor()) as app:
        web = web_adapter(app, address)
        async with connected([web], app.bot) as platforms:
            await asyncio.wait_for(web.ready.wait(), 30)
            yield Site(app, web, lambda: platforms.connected)


@pytest.fixture
async def visit(site: Site, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Visit]:
    monkeypatch.setenv("NICEGUI_USER_SIMULATION", "true")
    clients: list[httpx.AsyncClient] = []
    with fresh_nicegui():
        browser = Browser(site)

        def come(member: str = "aki", language: str = "en", zone: str = "") -> User:
            client = httpx.AsyncClient(
                transport=httpx.ASGITransport(browser),
                base_url="http://localhost",
                cookies={AS: member, LANGUAGE: language} | ({ZONE: zone} if zone else {}),
            )
            clients.append(client)
            return _Patient(client)

        try:
            yield come
        finally:
            for client in clients:
                await client.aclose()
            await browser.close()
