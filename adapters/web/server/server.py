"""uvicorn inside our event loop: the API on the home's socket, and where an address was taken there too, with the
pages.

Source: reliability.md R49 (one owner), R57 (shutdown).
"""

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from types import MappingProxyType

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from adapters.mcp.endpoint import PATH, McpEndpoint
from adapters.port import Webhook
from adapters.terminal.channel import PASSING
from adapters.web.api import routes, rpc
from adapters.web.api.routes import ApiContext, make_api
from adapters.web.api.rpc import make_orders
from adapters.web.api.streaming import Replies
from adapters.web.channel.adapter import WebAdapter
from adapters.web.paths import ROOT
from adapters.web.server.browser import OWN, Browser, Front
from adapters.web.server.guard import Guard
from adapters.web.server.patience import Patience, patient
from adapters.web.server.sockets import Address, listen_in
from adapters.web.visitor import Site
from bot.app import Application
from bot.cli.remote import SOCKET
from bot.programs.programs import PLACE as MCP_PLACE
from bot.turns.turns import Turns
from bot.waiting import again_and_again

log = logging.getLogger(__name__)

DRAIN_SECONDS = 20
ABANDONED_SECONDS = 15.0
SOCKET_BYTES = 3_000_000  # what NiceGUI's pages send at most: a million signs, each of three bytes in Japanese


@asynccontextmanager
async def serving(
    app: Application,
    address: Address | None = None,
    *,
    web: WebAdapter | None = None,
    webhooks: Mapping[str, Webhook] = MappingProxyType({}),
    platforms: Callable[[], Mapping[str, bool]] = dict,
    patience: Patience | None = None,
) -> AsyncIterator[None]:
    """Serve the API while the block runs, for the owner of its home, and with `web` the pages at its address, and there
    the `webhooks` by their paths; then take nothing new in, and let what runs end for at most 20 seconds. A home whose
    file system has no sockets is served without one. `patience`: with who sends half a request to the address.
    """
    language = app.settings.language
    context = ApiContext(app, Replies(app.bot.turns), platforms=platforms)
    servers: list[_Server] = []
    browser, mcp = None, McpEndpoint(app.programs)
    close = partial(_close_abandoned, app.bot.turns)
    closing = again_and_again(close, ABANDONED_SECONDS, "abandoned questions could not be closed")
    helpers = [asyncio.create_task(context.lag.watch()), asyncio.create_task(closing)]
    path = app.settings.home / SOCKET
    try:
        try:
            ours = listen_in(app.settings.home)
        except OSError as error:
            log.warning("the commands cannot use this process: no socket in the home (%s)", error.strerror)
        else:
            servers.append(_Server(_for_commands(context), [ours], Patience(language)))
        if address is not None:
            if web is not None:
                browser = Browser(Site(app, web, platforms))
            programs = _for_programs(context, address, browser, mcp, webhooks)
            servers.append(_Server(programs, list(address.sockets), patience or Patience(language)))
        for server in servers:
            await server.begin()
        yield
    finally:
        path.unlink(missing_ok=True)
        for helper in helpers:
            helper.cancel()
        if browser is not None:
            await browser.close()
        await asyncio.gather(*(server.end() for server in servers))
        await mcp.close()
        await context.replies.close()


def _for_commands(context: ApiContext) -> ASGIApp:
    inside = make_api(context, make_orders(context))
    return Guard(inside, kinds={**routes.KINDS, **rpc.KINDS}, language=context.app.settings.language, local=True)


def _for_programs(
    context: ApiContext,
    address: Address,
    browser: Browser | None,
    mcp: ASGIApp,
    webhooks: Mapping[str, Webhook],
) -> ASGIApp:
    programs = make_api(context)
    inside = programs if browser is None else Front(programs, browser)
    rates = context.app.bot.rates
    own = {PATH: mcp, **{path: _posted(webhook) for path, webhook in webhooks.items()}}

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        await (own.get(scope["path"], inside) if scope["type"] == "http" else inside)(scope, receive, send)

    return Guard(
        either,
        kinds={**routes.KINDS, PATH: (routes.JSON,)},
        own_tokens=PATH,
        language=context.app.settings.language,
        hosts=address.hosts,
        front=address.front,
        token=address.token,
        shared=rates if rates.shared else None,
        pages=None if browser is None else ROOT,
        own=OWN,
        open_to_all=routes.OPEN,
        signed=webhooks,
    )


def _posted(webhook: Webhook) -> ASGIApp:
    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.method == "POST":
            told = await webhook(request.headers, await request.body())
            response = Response(told.body, told.status, media_type=told.kind)
        else:
            response = Response(status_code=405, headers={"Allow": "POST"})
        await response(scope, receive, send)

    return answered


class _Server(uvicorn.Server):
    """One of several in a process whose signals and loop are not its own."""

    def __init__(self, app: ASGIApp, sockets: list[socket.socket], patience: Patience) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=patient(patience),
                ws="websockets-sansio",
                ws_max_size=SOCKET_BYTES,
                lifespan="off",
                log_config=None,
                log_level="critical",  # the guard logs what fails; the rest is what strangers send
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=DRAIN_SECONDS,
            )
        )
        self._sockets = sockets

    async def begin(self) -> None:
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup(sockets=self._sockets)

    async def end(self) -> None:
        if self.started:
            await self.shutdown(sockets=self._sockets)
        for one in self._sockets:
            one.close()


async def _close_abandoned(turns: Turns) -> None:
    """Questions whose asker is gone with the process, or the connection, that brought them: closed, and not
    answered."""
    for message in [*await turns.unfinished(routes.PLACE.platform), *await turns.unfinished(PASSING.platform)]:
        if message.place in (routes.PLACE, PASSING, MCP_PLACE):
            await turns.withdraw(message)


@asynccontextmanager
async def until_stopped() -> AsyncIterator[asyncio.Event]:
    """An event that the first SIGTERM, SIGINT or SIGHUP (the terminal closes; not under nohup) sets; a second SIGTERM
    or SIGINT ends the process at once."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    signals = (signal.SIGTERM, signal.SIGINT, *(() if ignored else (signal.SIGHUP,)))
    before = {each: signal.getsignal(each) for each in signals}

    def stop() -> None:
        stopped.set()
        for each in signals:
            loop.remove_signal_handler(each)
            # Whatever is cut short is put right at the next start. A terminal that closes sends SIGHUP twice.
            signal.signal(each, signal.SIG_IGN if each is signal.SIGHUP else signal.SIG_DFL)

    for each in signals:
        loop.add_signal_handler(each, stop)
    try:
        yield stopped
    finally:
        for each in signals:
            with suppress(ValueError):
                loop.remove_signal_handler(each)
            signal.signal(each, before[each])
