"""`/mcp` for whoever shows a token of a program, also from this machine. Source: sources.md §5."""

import asyncio
from contextlib import AsyncExitStack
from contextvars import ContextVar
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from adapters.web.api.errors import WRONG_METHOD, Problem
from bot.programs.programs import Programs
from bot.records import ProgramToken
from retrieval.i18n import Text

PATH = "/mcp"

_NO_TOKEN = Text(
    en="Send a token from `kotae token add` as “Authorization: Bearer …”.",
    ja="`kotae token add` で発行したトークンを「Authorization: Bearer …」で送ってください。",
)
_asking: ContextVar[ProgramToken] = ContextVar("asking")


class McpEndpoint:
    """An ASGI application. Stateless: each request stands alone, so that any process may have it. Hosts, origins and
    sizes are looked at before (`adapters.web.server.guard`). The SDK is loaded for the first request (1 s, 50 MB)."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._app: ASGIApp | None = None
        self._loading = asyncio.Lock()
        self._over = asyncio.Event()
        self._held: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = await self._token(Headers(scope=scope))
        if token is None:
            raise Problem(401, "token_needed", _NO_TOKEN, {"WWW-Authenticate": "Bearer"})
        if scope["method"] != "POST":  # the stream that a GET opens would never say anything, and hold up the end
            raise Problem(405, "wrong_method", WRONG_METHOD, {"Allow": "POST"}, method=scope["method"][:20])
        app = await self._loaded()
        held = _asking.set(token)
        try:
            await app(scope, receive, send)
        finally:
            _asking.reset(held)

    async def close(self) -> None:
        self._over.set()
        if self._held is not None:
            await asyncio.gather(self._held, return_exceptions=True)

    async def _token(self, headers: Headers) -> ProgramToken | None:
        kind, _, secret = headers.get("authorization", "").partition(" ")
        return await self._programs.known(secret.strip()) if kind.lower() == "bearer" else None

    async def _loaded(self) -> ASGIApp:
        async with self._loading:
            if self._app is None:
                made = await asyncio.to_thread(_load)
                app, sessions = made(self._call, PATH)
                begun = asyncio.Event()
                self._held = asyncio.create_task(self._hold(sessions, begun), name="mcp")
                await begun.wait()
                self._app = app
            return self._app

    async def _hold(self, sessions: Any, begun: asyncio.Event) -> None:
        """The SDK's scope, in a task of its own: it may not end among others'."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(sessions.run())
            begun.set()
            await self._over.wait()

    async def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return await getattr(self._programs, tool)(_asking.get(), **arguments)  # type: ignore[no-any-return]


def _load() -> Any:
    from adapters.mcp.server import make_app

    return make_app
