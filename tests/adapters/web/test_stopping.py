"""The end of the pages, with browsers that are still there: reliability.md R57."""

import asyncio
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from nicegui import __version__, background_tasks
from nicegui.storage import Storage
from websockets import ConnectionClosed

from adapters.web.server.browser import Browser
from tests.adapters.service import Service
from tests.adapters.web.fresh import fresh_nicegui
from tests.adapters.web.sockets import open_page


def test_open_pages_do_not_hold_the_end_up(tmp_path: Path) -> None:
    with fresh_nicegui(), ExitStack() as browsers:
        with Service(tmp_path / "home", pages=True) as service:
            pages = ("/app/guide", "/app/metrics", "/app/unanswered")
            opened = [browsers.enter_context(open_page(service, path))[0] for path in pages]
            began = time.monotonic()
        assert time.monotonic() - began < 10
        for one in opened:
            with pytest.raises(ConnectionClosed):
                while True:
                    one.recv(10)
        assert not Storage.path.exists()  # NiceGUI keeps nothing in the working directory


async def test_pages_that_are_closed_while_they_load_stay_closed() -> None:
    script = f"/app/_nicegui/{__version__}/static/nicegui.js"
    with fresh_nicegui():
        browser = Browser(cast(Any, None))  # nothing of it is needed for what is not a page
        async with httpx.AsyncClient(transport=httpx.ASGITransport(browser), base_url="http://localhost") as client:
            loading = asyncio.create_task(client.get(script))
            await asyncio.sleep(0)
            await browser.close()
            await loading
            assert (await client.get(script)).status_code == 503
        assert not background_tasks.running_tasks
