"""A website on loopback whose pages change, and that is as unkind as sites are."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web


@dataclass
class Site:
    """`pages` by path: their HTML. `answers` overrides a path's answers."""

    pages: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Callable[[web.Request], web.StreamResponse]] = field(default_factory=dict)
    asked: list[tuple[str, int]] = field(default_factory=list)  # path and status
    url: str = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = request.path_qs
        if path in self.answers:
            response = self.answers[path](request)
        elif path not in self.pages:
            response = web.Response(status=404)
        else:
            body = self.pages[path]
            tag = f'"{hashlib.sha256(body.encode()).hexdigest()[:12]}"'
            same = request.headers.get("If-None-Match") == tag
            kind = (
                "application/xml" if path.endswith(".xml") else "text/plain" if path.endswith(".txt") else "text/html"
            )
            headers = {"ETag": tag, "Last-Modified": "Mon, 02 Mar 2026 10:00:00 GMT"}
            response = web.Response(
                status=304 if same else 200, text=None if same else body, content_type=kind, headers=headers
            )
        self.asked.append((path, response.status))
        return response


@asynccontextmanager
async def served() -> AsyncIterator[Site]:
    site = Site()
    app = web.Application()
    app.router.add_get("/{path:.*}", site.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    here = web.TCPSite(runner, "127.0.0.1", 0)
    await here.start()
    port = runner.addresses[0][1]
    site.url = f"http://127.0.0.1:{port}"
    try:
        yield site
    finally:
        await runner.cleanup()
        await asyncio.sleep(0)
