"""What stands before the HTTP API: who may call it, how much they may send, and headers that keep browsers strict.

Source: reliability.md R20. Written against the ASGI interface, so that nothing behind it is reached too early.
"""

import asyncio
import hmac
import logging
import re
from collections.abc import Mapping
from contextlib import nullcontext
from urllib.parse import urlsplit

from pydantic import SecretStr
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adapters.web import problems
from adapters.web.problems import Problem, language_asked
from retrieval.text import Language

log = logging.getLogger(__name__)

MIB = 1024 * 1024
BODY_BYTES = 1 * MIB
UPLOAD_BYTES = 26 * MIB  # a file of 25 MiB, which the loader still takes, and its form
BODY_SECONDS = 60.0
_UPLOADS = 4  # at a time in memory; the next ones wait
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_PORT = re.compile(r":\d{1,5}$")

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

    `hosts`: the names this server answers to, against DNS rebinding; None: any. `token`: what a caller must show.
    `local`: callers come through the home's socket, which only its owner can open: they are who they are.
    `kinds`: for each path that takes a body the media types it takes; those that are not JSON may be long.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        kinds: Mapping[str, tuple[str, ...]],
        language: Language,
        local: bool = False,
        hosts: frozenset[str] | None = None,
        token: SecretStr | None = None,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self._app = app
        self._kinds = kinds
        self._language = language
        self._local = local
        self._hosts = hosts
        self._token = token
        self._body_seconds = body_seconds
        self._uploads = asyncio.Semaphore(_UPLOADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        started = False

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                given = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in _STRICT.items():
                    given.setdefault(name, value)
            await send(message)

        try:
            if not self._local:
                self._let_in(scope["method"], headers)
            limit = self._limit(scope, headers)
            async with self._uploads if limit > BODY_BYTES else nullcontext():
                read = await self._read(receive, headers, limit)
                if read is not None:
                    await self._app(scope, read, answer)
        except Problem as problem:
            language = language_asked(headers.get("accept-language", ""), self._language)
            await problem.response(language)(scope, receive, answer)
        except Exception:
            log.exception("a request failed")
            if not started:
                language = language_asked(headers.get("accept-language", ""), self._language)
                failed = problems.refusal(500, "unexpected", problems.UNEXPECTED.to(language))
                await failed(scope, receive, answer)

    def _let_in(self, method: str, headers: Headers) -> None:
        host = headers.get("host", "")
        if self._hosts is not None and _PORT.sub("", host.lower()) not in self._hosts:
            raise Problem(400, "wrong_host", problems.WRONG_HOST, host=" / ".join(sorted(self._hosts)))
        if method in _WRITES:
            origin = headers.get("origin")
            foreign = origin is not None and urlsplit(origin).netloc.lower() != host.lower()
            if foreign or headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
                raise Problem(403, "foreign_origin", problems.FOREIGN)
        if self._token is not None:
            scheme, _, shown = headers.get("authorization", "").partition(" ")
            right = hmac.compare_digest(shown.strip().encode(), self._token.get_secret_value().encode())
            if scheme.lower() != "bearer" or not right:
                raise Problem(401, "token_needed", problems.NO_TOKEN, {"WWW-Authenticate": "Bearer"})

    def _limit(self, scope: Scope, headers: Headers) -> int:
        """The most bytes this request's body may have. Raises Problem for a body of the wrong kind."""
        path: str = scope["path"]
        kinds = self._kinds.get(path) or self._kinds.get(f"{path.rpartition('/')[0]}/*") or ()
        if scope["method"] != "POST" or not kinds:
            return BODY_BYTES
        given, _, parameters = headers.get("content-type", "").partition(";")
        charset = re.search(r'charset\s*=\s*"?([^";\s]+)', parameters, re.IGNORECASE)
        plain = headers.get("content-encoding", "identity").strip().lower() == "identity"
        utf8 = charset is None or charset[1].lower() in ("utf-8", "utf8")
        kind = given.strip().lower()
        if kind not in kinds or not plain or not (utf8 or kind != "application/json"):
            raise Problem(415, "wrong_content_type", problems.WRONG_KIND, kinds=" / ".join(kinds))
        return BODY_BYTES if kind == "application/json" else UPLOAD_BYTES

    async def _read(self, receive: Receive, headers: Headers, limit: int) -> Receive | None:
        """The whole body, counted while it comes: its announced length is only a hint. None: the caller has left.

        Raises Problem.
        """
        too_large = Problem(413, "too_large", problems.TOO_LARGE, {"Connection": "close"}, limit=limit)
        announced = headers.get("content-length", "")
        if announced.isascii() and announced.isdigit() and int(announced[:20]) > limit:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self._body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    if len(body) > limit:
                        raise too_large
                    if not message.get("more_body", False):
                        break
        except TimeoutError as error:
            seconds = round(self._body_seconds)
            raise Problem(408, "too_slow", problems.TOO_SLOW, {"Connection": "close"}, seconds=seconds) from error
        whole: Message | None = {"type": "http.request", "body": bytes(body), "more_body": False}

        async def again() -> Message:
            nonlocal whole
            first, whole = whole, None
            return first if first is not None else await receive()

        return again
