"""The guard before the HTTP API and the pages: who may call them, how much they may send, and headers that keep
browsers strict.

Source: reliability.md R20. Written against the ASGI interface, so that nothing behind it is reached too early.
"""

import asyncio
import logging
import re
import time
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

from pydantic import SecretStr
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adapters.web.api import errors
from adapters.web.api.errors import Problem, language_asked
from adapters.web.server import login
from adapters.web.server.sockets import without_port
from bot.programs.programs import PREFIX
from retrieval.i18n import Language

log = logging.getLogger(__name__)

MIB = 1024 * 1024
BODY_BYTES = 1 * MIB
UPLOAD_BYTES = 26 * MIB  # a file of 25 MiB, which the loader still takes, and its form
BODY_SECONDS = 60.0
STILL_SECONDS = 10.0  # without a byte of a body
STRANGER = "kotae.stranger"  # in the scope: the token was not shown where it need not be
_UPLOADS = 4  # of more than BODY_BYTES at a time in memory; the rest of the next ones waits
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})

_STRICT = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """An ASGI application around another one.

    `hosts`: the names this server answers to, against DNS rebinding; None: any. `front`: the address that its own pages
    are at in a browser, where a proxy gives it another name.
    `token`: what a caller must show, a program with each request, also from this machine; None: whoever reaches this
    address may read and write, but no other site's page in their browser, which may only lead here.
    `shared`: with which the processes that have this token count who guesses it.
    `local`: callers come through the home's socket, which only its owner can open: they are who they are.
    `kinds`: for each path that takes a body the media types it takes; those that are not JSON may be long.
    `pages`: below this path is what browsers use: forms may be long there, and a browser shows the token once, to log
    in.
    `own`: what paths begin with that only our own pages ask for.
    `own_tokens`: a path that asks for tokens of its own, which are good for nothing else.
    `signed`: paths that platforms post to, by whatever name this server has there; what they serve sees who calls.
    `open_to_all`: paths that need no token, and are told by `STRANGER` that it was not shown.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        kinds: Mapping[str, tuple[str, ...]],
        language: Language,
        local: bool = False,
        hosts: frozenset[str] | None = None,
        front: str | None = None,
        token: SecretStr | None = None,
        shared: login.Shared | None = None,
        body_seconds: float = BODY_SECONDS,
        still_seconds: float = STILL_SECONDS,
        pages: str | None = None,
        own: Collection[str] = (),
        open_to_all: Collection[str] = (),
        own_tokens: str | None = None,
        signed: Collection[str] = (),
    ) -> None:
        self._app = app
        self._kinds = kinds
        self._language = language
        self._local = local
        self._hosts = hosts
        self._front = None if front is None else urlsplit(front).netloc
        self._door = None if token is None else login.Door(token, shared)
        self._body_seconds = body_seconds
        self._still_seconds = still_seconds
        self._pages = pages
        self._own = tuple(own)
        self._open_to_all = frozenset(open_to_all)
        self._own_tokens = own_tokens
        self._signed = frozenset(signed)
        self._uploads = asyncio.Semaphore(_UPLOADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if scope["type"] == "websocket":
            await self._connect(scope, receive, send, headers)
            return
        if scope["type"] != "http":
            return
        started = False

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                given = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in _STRICT.items():
                    given.setdefault(name, value)
                here = f"http://{headers.get('host')}/"
                if (to := given.get("location", "")).startswith(here):  # before TLS of a proxy it is https
                    given["location"] = to[len(here) - 1 :]
            await send(message)

        try:
            if not self._local and scope["path"] not in self._signed:
                self._of_this_host(headers)
                self._from_here(headers, led=scope["method"] not in _WRITES and not scope["path"].startswith(self._own))
                if scope["path"] != self._own_tokens and _of_program(headers):
                    raise Problem(401, "token_needed", errors.PROGRAM_TOKEN)
                door = None if scope["path"] == self._own_tokens else self._door
                if door is not None and not await door.knows(scope, headers):
                    if self._of_pages(scope):
                        await self._log_in(door, scope, receive, answer, headers)
                        return
                    if scope["path"] not in self._open_to_all:
                        raise Problem(401, "token_needed", errors.NO_TOKEN, {"WWW-Authenticate": "Bearer"})
                    scope[STRANGER] = True
            async with AsyncExitStack() as held:
                read = await self._read(receive, headers, self._limit(scope, headers), held)
                if read is not None:
                    await self._app(scope, read, answer)
        except Problem as problem:
            language = language_asked(headers.get("accept-language", ""), self._language)
            await problem.response(language)(scope, receive, answer)
        except Exception:
            id = errors.new_id()
            log.exception("a request failed", extra={"id": id})
            if not started:
                language = language_asked(headers.get("accept-language", ""), self._language)
                failed = errors.refusal(500, "unexpected", errors.UNEXPECTED.to(language, id=id), id=id)
                await failed(scope, receive, answer)

    async def _connect(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        """A page's socket: opened only by our own pages, by whoever is logged in."""
        try:
            if self._local or not self._of_pages(scope):
                raise Problem(404, "not_found", errors.NOT_FOUND)
            self._of_this_host(headers)
            self._from_here(headers)
            if self._door is not None and not await self._door.knows(scope, headers):
                raise Problem(401, "token_needed", errors.NO_TOKEN)
        except Problem:
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        await self._app(scope, receive, send)

    def _of_this_host(self, headers: Headers) -> None:
        host = headers.get("host", "")
        if self._hosts is not None and without_port(host.lower()) not in self._hosts:
            raise Problem(400, "wrong_host", errors.WRONG_HOST, host=" / ".join(sorted(self._hosts)))

    def _from_here(self, headers: Headers, *, led: bool = False) -> None:
        """Raises Problem for what another site's page asks. `led`: it may lead a reader here, but not fetch or frame.

        Source: web.dev/articles/fetch-metadata. Browsers tell an http address other than loopback only the Origin.
        """
        host, origin = headers.get("host", ""), headers.get("origin")
        foreign = origin is not None and urlsplit(origin).netloc.lower() not in (host.lower(), self._front)
        if foreign or headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            way = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
            if foreign or not led or way != ("navigate", "document"):
                raise Problem(403, "foreign_origin", errors.FOREIGN)

    def _of_pages(self, scope: Scope) -> bool:
        path: str = scope["path"]
        return self._pages is not None and (path in ("/", self._pages) or path.startswith(f"{self._pages}/"))

    async def _log_in(self, door: login.Door, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        async with AsyncExitStack() as held:
            read = await self._read(receive, headers, login.FORM_BYTES, held)
        if read is not None:
            language = language_asked(headers.get("accept-language", ""), self._language)
            response = await door.respond(scope, read, language, home=f"{self._pages}/")
            await response(scope, read, send)

    def _limit(self, scope: Scope, headers: Headers) -> int:
        """The most bytes this request's body may have. Raises Problem for a body of the wrong kind."""
        path: str = scope["path"]
        if self._of_pages(scope):
            form = headers.get("content-type", "").lower().startswith("multipart/form-data")
            return UPLOAD_BYTES if form and scope["method"] == "POST" else BODY_BYTES
        kinds = self._kinds.get(path) or self._kinds.get(f"{path.rpartition('/')[0]}/*") or ()
        if scope["method"] != "POST" or not kinds:
            return BODY_BYTES
        given, _, parameters = headers.get("content-type", "").partition(";")
        charset = re.search(r'charset\s*=\s*"?([^";\s]+)', parameters, re.IGNORECASE)
        plain = headers.get("content-encoding", "identity").strip().lower() == "identity"
        utf8 = charset is None or charset[1].lower() in ("utf-8", "utf8")
        kind = given.strip().lower()
        if kind not in kinds or not plain or not (utf8 or kind != "application/json"):
            raise Problem(415, "wrong_content_type", errors.WRONG_KIND, kinds=" / ".join(kinds))
        return BODY_BYTES if kind == "application/json" else UPLOAD_BYTES

    async def _read(self, receive: Receive, headers: Headers, limit: int, held: AsyncExitStack) -> Receive | None:
        """The whole body, counted while it comes: its announced length is only a hint. None: the caller has left.

        What is long waits for its place in memory, which `held` gives back; what has not come so far takes none. Raises
        Problem.
        """
        too_large = Problem(413, "too_large", errors.TOO_LARGE, {"Connection": "close"}, limit=limit)
        announced = headers.get("content-length", "")
        if announced.isascii() and announced.isdigit() and int(announced[:20]) > limit:
            raise too_large
        body = bytearray()
        has_place = False
        left = self._body_seconds
        while True:
            if len(body) > BODY_BYTES and not has_place:
                await held.enter_async_context(self._uploads)
                has_place = True
            began = time.monotonic()
            message = await self._next(receive, left)
            left -= time.monotonic() - began
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > limit:
                raise too_large
            if not message.get("more_body", False):
                break
        whole: Message | None = {"type": "http.request", "body": bytes(body), "more_body": False}

        async def again() -> Message:
            nonlocal whole
            first, whole = whole, None
            return first if first is not None else await receive()

        return again

    async def _next(self, receive: Receive, left: float) -> Message:
        """More of a body, which has so many seconds left. Raises Problem."""
        try:
            async with asyncio.timeout(min(left, self._still_seconds)):
                return await receive()
        except TimeoutError as error:
            still = left > self._still_seconds
            said = errors.STOOD_STILL if still else errors.TOO_SLOW
            seconds = round(self._still_seconds if still else self._body_seconds)
            raise Problem(408, "too_slow", said, {"Connection": "close"}, seconds=seconds) from error


def _of_program(headers: Headers) -> bool:
    """Whether a program shows the token that it has for its own path."""
    kind, _, secret = headers.get("authorization", "").partition(" ")
    return kind.lower() == "bearer" and secret.strip().startswith(PREFIX)
