"""The real program and a real Chromium: `make browser-test`. Without a Chromium these tests fail; they never skip."""

import os
import re
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Protocol

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Dialog, Page, async_playwright

from tests.bot.program import PROGRAM, ROOT, environment

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SHOTS = ROOT / "build" / "screenshots"  # to be looked at
START_SECONDS = 120
PATIENCE_MS = 20_000

# A script that must not run says so by setting this: then the console has an error.
_TRAP = "Object.defineProperty(window, '__pwned', {set(value) { console.error(`a foreign script ran: ${value}`); }});"


class Visit(Protocol):
    """`await visit("/search", member="ben", language="ja", dark=True, width=390)`: a page in a browser of its own."""

    def __call__(
        self, path: str, *, member: str = "aki", language: str = "en", dark: bool = False, width: int = 1200
    ) -> Awaitable[Page]: ...


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`kotae run` with the sample handbook, on a free port, for the tests of a module."""
    home = tmp_path_factory.mktemp("browser") / "home"
    env = environment(home) | {"KOTAE_WEB_PORT": "0", "KOTAE_LANGUAGE": "en", "KOTAE_MODEL": "extractive"}
    with subprocess.Popen(
        [*PROGRAM, "run", "--sample"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=env,
        cwd=ROOT,
    ) as program:
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
            status = program.wait(30)
            reader.join(10)
            assert status == 0, "".join(said)
            assert "Traceback" not in "".join(said), "".join(said)
        finally:
            guard.cancel()
            program.kill()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Browser]:
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    assert path, f"no Chromium among the programs: {', '.join(NAMES)} (Debian: apt-get install chromium)"
    async with async_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
        browser = await playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="module")
async def visit(address: str, chromium: Browser) -> AsyncIterator[Visit]:
    """Pages that load nothing from elsewhere, whose console stays free of errors, which includes what their policy
    refuses, which run no foreign script, and which open no dialog of the browser: all asserted at the end."""
    complaints: list[str] = []
    async with AsyncExitStack() as stack:

        async def come(
            path: str, *, member: str = "aki", language: str = "en", dark: bool = False, width: int = 1200
        ) -> Page:
            context = await chromium.new_context(
                viewport={"width": width, "height": 850},
                color_scheme="dark" if dark else "light",
                locale="ja-JP" if language == "ja" else "en-US",
                timezone_id="Asia/Tokyo",
            )
            stack.push_async_callback(context.close)
            await context.add_cookies([{"name": "kotae_as", "value": member, "url": f"{address}/app/"}])
            await context.add_init_script(_TRAP)
            page = await context.new_page()
            page.set_default_timeout(PATIENCE_MS)

            def loaded(url: str) -> None:
                if not url.startswith((address, address.replace("http", "ws", 1), "data:", "blob:")):
                    complaints.append(f"{path} loads {url}")

            async def asked(dialog: Dialog) -> None:
                complaints.append(f"{path} opens a dialog: {dialog.message}")
                await dialog.dismiss()

            context.on("request", lambda request: loaded(request.url))
            context.on("dialog", asked)
            page.on("websocket", lambda socket: loaded(socket.url))
            page.on("pageerror", lambda error: complaints.append(f"{path}: {error}"))
            page.on("console", lambda said: complaints.append(f"{path}: {said.text}") if said.type == "error" else None)
            await page.goto(f"{address}/app{path}")
            await ready(page)
            return page

        yield come
    assert complaints == []


async def ready(page: Page) -> None:
    """The page is drawn and its server listens to it; the same after a reload and a link."""
    await page.wait_for_selector("#content", state="attached")
    await page.wait_for_function("window.did_handshake === true")


async def shoot(page: Page, name: str) -> Path:
    """Keep a picture of the whole page for people to look at."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    path = SHOTS / f"{name}.png"
    await page.evaluate("window.scrollTo(0, 0)")
    await page.screenshot(path=path, full_page=True, animations="disabled")
    return path


async def too_wide(page: Page) -> int:
    """How many pixels the page is wider than its window."""
    wide = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return max(0, int(wide))
