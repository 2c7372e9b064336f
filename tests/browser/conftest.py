"""The real program and a real Chromium: `make browser-test`. Without a Chromium these tests fail; they never skip."""

import os
import re
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from tests.bot.program import PROGRAM, ROOT, environment

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SHOTS = ROOT / "build" / "screenshots"  # to be looked at
START_SECONDS = 120

OpenPage = Callable[..., Coroutine[Any, Any, Page]]


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`kotae run` with the sample handbook, on a free port; nothing of it may come from elsewhere."""
    home = tmp_path_factory.mktemp("browser") / "home"
    env = environment(home) | {"KOTAE_WEB_PORT": "0", "KOTAE_LANGUAGE": "en", "KOTAE_MODEL": "extractive"}
    program = subprocess.Popen(
        [*PROGRAM, "run", "--sample"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, cwd=ROOT
    )
    assert program.stdout is not None
    guard = threading.Timer(START_SECONDS, program.kill)
    guard.start()
    said: list[str] = []
    try:
        found = None
        while found is None and (line := program.stdout.readline().decode()):
            said.append(line)
            found = re.search(r"Browser: (http://\S+)", line)
        assert found, "".join(said)
        guard.cancel()
        reader = threading.Thread(target=lambda: said.extend(map(bytes.decode, program.stdout or ())), daemon=True)
        reader.start()
        yield found[1]
        program.terminate()
        assert program.wait(30) == 0, "".join(said)
        assert "Traceback" not in "".join(said), "".join(said)
    finally:
        guard.cancel()
        program.kill()
        program.wait()


@pytest.fixture
async def chromium() -> AsyncIterator[Browser]:
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    assert path, f"no Chromium among the programs: {', '.join(NAMES)} (Debian: apt-get install chromium)"
    async with async_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
        browser = await playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        await browser.close()


@pytest.fixture
async def visit(address: str, chromium: Browser) -> AsyncIterator[OpenPage]:
    """`await visit("/search", member="ben", language="ja", dark=True, width=390)`: a page that loads nothing from
    elsewhere and whose console stays free of errors; both are asserted at the end."""
    complaints: list[str] = []
    async with AsyncExitStack() as stack:

        async def come(
            path: str, *, member: str = "aki", language: str = "en", dark: bool = False, width: int = 1200
        ) -> Page:
            context: BrowserContext = await stack.enter_async_context(
                await chromium.new_context(
                    viewport={"width": width, "height": 850},
                    color_scheme="dark" if dark else "light",
                    locale="ja-JP" if language == "ja" else "en-US",
                )
            )
            await context.add_cookies([{"name": "kotae_as", "value": member, "url": f"{address}/app/"}])
            page = await context.new_page()
            page.set_default_timeout(15_000)

            def loaded(url: str) -> None:
                if not url.startswith((address, address.replace("http", "ws", 1), "data:", "blob:")):
                    complaints.append(f"{path} loads {url}")

            page.on("request", lambda request: loaded(request.url))
            page.on("websocket", lambda socket: loaded(socket.url))
            page.on("pageerror", lambda error: complaints.append(f"{path}: {error}"))
            page.on("console", lambda said: complaints.append(f"{path}: {said.text}") if said.type == "error" else None)
            await page.goto(f"{address}/app{path}")
            await page.wait_for_selector("#content", state="attached")
            return page

        yield come
    assert complaints == []


async def shoot(page: Page, name: str) -> Path:
    """Keep a picture of the whole page for people to look at."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    path = SHOTS / f"{name}.png"
    await page.screenshot(path=path, full_page=True)
    return path


def wide(page: Page) -> Coroutine[Any, Any, Any]:
    """How many pixels the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
