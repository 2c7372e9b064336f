"""The pages as an ASGI application: NiceGUI, loaded with the first page that is asked for, behind a strict policy.

Everything is served from this address: NiceGUI brings its own scripts, styles and fonts, and the policy lets a browser
load nothing else. Source: reliability.md R20; product.md §6.
"""

import asyncio
import base64
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adapters.web.paths import ROOT
from adapters.web.server.login import log_out
from adapters.web.visitor import Site, choose

OWN = (f"{ROOT}/_nicegui", f"{ROOT}/choose", f"{ROOT}/logout")
"""Beginnings of paths that only our own pages ask for: no other site's page leads there."""

_FORM = "application/x-www-form-urlencoded"
_CODE = re.compile(rf"{ROOT}/_nicegui/[\d.]+/(static|esm|components|libraries)/")  # of NiceGUI's release
_INLINE = re.compile(rb"<script(?P<attributes>[^>]*)>(?P<text>.*?)</script>", re.DOTALL)
_STYLES = files("adapters.web").joinpath("static/kotae.css").read_bytes()


def policy(page: bytes, host: str) -> str:
    """The Content-Security-Policy of one page: its own inline scripts by their hashes, and nothing from elsewhere.

    NiceGUI evaluates the handlers and messages its server sends, so `unsafe-eval` stays; styles are set inline by Vue.
    """
    hashes = sorted(
        {
            "'sha256-" + base64.b64encode(hashlib.sha256(found["text"]).digest()).decode() + "'"
            for found in _INLINE.finditer(page)
            if b"src=" not in found["attributes"]
        }
    )
    sockets = f" ws://{host} wss://{host}" if re.fullmatch(r"[\w.\-\[\]:]+", host) else ""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' 'unsafe-eval' {' '.join(hashes)}".rstrip(),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data:",
            "font-src 'self' data:",
            f"connect-src 'self'{sockets}",
            "worker-src 'self' blob:",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


class Browser:
    """The pages of one application. Nothing of NiceGUI is loaded, nor takes memory, until somebody opens one."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._lock = asyncio.Lock()
        self._shell: FastAPI | None = None
        self._life: AbstractAsyncContextManager[Any] | None = None
        self._closed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] in _PLAIN:
            response = await _PLAIN[scope["path"]](Request(scope, receive))
            await response(scope, receive, send)
            return
        if scope["type"] == "http" and _shows_the_token(scope):  # to who has logged in meanwhile
            await RedirectResponse(str(Request(scope).url.replace(scheme="", netloc="")), 303)(scope, receive, send)
            return
        shell = None if self._closed else self._shell or await self._load()
        if shell is None and scope["type"] == "http":
            await Response(status_code=503, headers={"Retry-After": "5"})(scope, receive, send)
        elif shell is None:
            await send({"type": "websocket.close", "code": 1012})
        elif scope["type"] == "http":
            await _strict(shell, scope, receive, send)
        else:
            await shell(scope, receive, send)

    async def close(self) -> None:
        """Let the open pages end; none is opened any more."""
        self._closed = True
        async with self._lock:
            if self._life is not None:
                life, self._life = self._life, None
                await life.__aexit__(None, None, None)

    async def _load(self) -> FastAPI | None:
        async with self._lock:
            if self._shell is None and not self._closed:
                pages = await asyncio.to_thread(import_module, "adapters.web.pages")
                shell = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
                pages.mount(shell, self._site)
                life = shell.router.lifespan_context(shell)
                await life.__aenter__()
                self._shell, self._life = shell, life
            return self._shell


class Front:
    """One address for browsers and programs: what is under `/app` is the pages', the rest the API's."""

    def __init__(self, api: ASGIApp, browser: Browser) -> None:
        self._api = api
        self._browser = browser

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path.startswith(f"{ROOT}/"):
            await self._browser(scope, receive, send)
        elif path in ("/", ROOT) and scope["type"] == "http":
            await RedirectResponse(f"{ROOT}/", 307)(scope, receive, send)
        elif scope["type"] == "http":
            await self._api(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})


async def _css(request: Request) -> Response:
    return Response(_STYLES, media_type="text/css", headers={"Cache-Control": "no-cache"})


async def _home(request: Request) -> Response:
    return RedirectResponse(f"{ROOT}/", 303)


_PLAIN: Mapping[str, Callable[[Request], Awaitable[Response]]] = {
    f"{ROOT}/choose": choose,
    f"{ROOT}/login": _home,
    f"{ROOT}/logout": log_out,
    f"{ROOT}/kotae.css": _css,
}
"""What needs nothing of NiceGUI."""


async def _strict(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Sends a page with the policy that fits its scripts: whole, since the policy stands before it. Code, which is a
    megabyte and the same for all, is sent small and kept by the browser."""
    begun: Message | None = None
    code = _CODE.match(scope["path"])
    body = bytearray()

    async def answer(message: Message) -> None:
        nonlocal begun
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message["headers"])
            if headers.get("content-type", "").startswith("text/html"):
                begun = message
                return
            if code and message["status"] == 200:
                headers.setdefault("Cache-Control", "public, max-age=3600")
        elif begun is not None and message["type"] == "http.response.body":
            body.extend(message.get("body", b""))
            if message.get("more_body", False):
                return
            headers = MutableHeaders(raw=begun["headers"])
            headers["Content-Security-Policy"] = policy(bytes(body), dict(scope["headers"]).get(b"host", b"").decode())
            await send(begun)
            await send({"type": "http.response.body", "body": bytes(body)})
            return
        await send(message)

    if code:
        await GZipMiddleware(app, compresslevel=5)(scope, receive, answer)
        return
    # A compressed page has no scripts to be seen: what is read here is what the browser gets.
    plain = {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]}
    await app(scope if "/_nicegui" in scope["path"] else plain, receive, answer)


def _shows_the_token(scope: Scope) -> bool:
    """NiceGUI has no such forms."""
    return scope["method"] == "POST" and Headers(scope=scope).get("content-type", "").startswith(_FORM)
