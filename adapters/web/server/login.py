"""How the token of KOTAE_WEB_TOKEN is shown: by programs with each request, by a browser once, in a form.

The browser keeps a cookie that does not hold the token and ends by itself; another token ends all of them at once.
Wrong tokens are counted by this process and, where a database has several, by all of them together; a short token,
which could be guessed, is then not taken for a while even from who knows it. Source: product.md §6; reliability.md R20;
machines.md §1, row 14.
"""

import hashlib
import hmac
import ipaddress
import logging
import time
from collections.abc import Callable
from typing import Protocol
from urllib.parse import parse_qs

from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope

from adapters.web.api.errors import Problem
from bot.errors import StoreError
from retrieval.i18n import Language, Text

log = logging.getLogger(__name__)

COOKIE = "kotae_session"
FORM_BYTES = 4_096
WEEK = 7 * 24 * 3600
TRIES, TRY_SECONDS = 20, 60  # wrong tokens from one network in that time; then it has to wait
A_MINUTE = TRIES * 60 // TRY_SECONDS
_NETWORKS = 10_000  # whose tries are counted
BEYOND_GUESSING = 32  # characters, as of `openssl rand -hex 16`: 128 bits

_TITLE = Text(en="Kotae – log in", ja="Kotae – ログイン")
_ASK = Text(
    en="This server needs the token that is set in KOTAE_WEB_TOKEN, and a browser that keeps cookies.",
    ja="このサーバーを使うには、KOTAE_WEB_TOKEN に設定されたトークンと、Cookie を保存するブラウザーが必要です。",
)
_TOKEN = Text(en="Token", ja="トークン")
_ENTER = Text(en="Log in", ja="ログイン")
_WRONG = Text(en="That token is wrong.", ja="トークンが違います。")
_TOO_OFTEN = Text(
    en="Too many wrong tokens came from this address. Try again in a minute.",
    ja="このアドレスから誤ったトークンが何度も送られました。1 分ほど待ってからもう一度お試しください。",
)

_PAGE = """<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>body{{font-family:system-ui,sans-serif;max-width:26rem;margin:15vh auto;padding:0 1rem;line-height:1.6}}
input,button{{font:inherit;padding:.5rem .7rem;width:100%;box-sizing:border-box;margin:.3rem 0}}</style></head>
<body><h1>Kotae 答え</h1><p>{ask}</p>{problem}<form method="post"><label>{token}
<input type="password" name="token" autocomplete="current-password" required autofocus></label>
<button>{enter}</button></form></body></html>"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"


class Shared(Protocol):
    """See `bot.store.rates.Rates`."""

    async def take(self, name: str, burst: int, a_minute: int) -> float: ...

    async def wait(self, name: str, burst: int, a_minute: int) -> float: ...


class Door:
    """One for an address: it knows the token, and how often each network was wrong."""

    def __init__(
        self, token: SecretStr, shared: Shared | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`shared`: with which other processes that have the token count."""
        self._token = token.get_secret_value().encode()
        self._guessable = len(token.get_secret_value()) < BEYOND_GUESSING
        self._shared = shared
        self._clock = clock
        self._wrong: dict[str, tuple[int, float]] = {}  # how often, and until when that counts

    async def knows(self, scope: Scope, headers: Headers) -> bool:
        """Whether this request shows the token, or the cookie of a browser that has. Raises Problem after too many
        tries."""
        if self._logged_in(headers):
            return True
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and await self._opens(scope, shown.strip().encode("latin-1"))

    async def respond(self, scope: Scope, receive: Receive, language: Language, *, home: str) -> Response:
        """The form; or what became of it: the cookie and the way to the page that was asked for, or the form again."""
        request = Request(scope, receive)
        form = parse_qs((await request.body()).decode("utf-8", "replace")) if request.method == "POST" else {}
        if "token" not in form:
            return _form(language)
        try:
            opened = await self._opens(scope, form["token"][0].strip().encode())
        except Problem as problem:
            return _form(language, problem.said, problem.status)
        if not opened:
            return _form(language, _WRONG)
        asked = str(request.url.replace(scheme="", netloc=""))
        there = request.url.path not in (f"{home}login", f"{home}logout")
        response = RedirectResponse(asked if there else home, 303)
        value = self._proof(int(time.time()) + WEEK)
        secure = request.headers.get("origin", "").startswith("https:")  # a proxy has the certificate
        response.set_cookie(COOKIE, value, max_age=WEEK, path="/", secure=secure, httponly=True, samesite="lax")
        return response

    def _logged_in(self, headers: Headers) -> bool:
        shown = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        until = shown.partition(".")[0]
        if not (until.isascii() and until.isdigit() and len(until) < 16 and time.time() < int(until)):
            return False
        return hmac.compare_digest(shown.encode(), self._proof(int(until)).encode())

    def _proof(self, until: int) -> str:
        signed = hmac.new(self._token, b"kotae browser session until %d" % until, hashlib.sha256)
        return f"{until}.{signed.hexdigest()}"

    async def _opens(self, scope: Scope, shown: bytes) -> bool:
        """Raises Problem for a network that was wrong too often; also when it is right, with a token that can be
        guessed: else it could go on guessing. Behind a proxy all are one network."""
        right = hmac.compare_digest(shown, self._token)
        if right and not self._guessable:
            return True
        network = _network(scope)
        tries, until = self._wrong.get(network, (0, 0.0))
        if (now := self._clock()) >= until:
            tries, until = 0, now + TRY_SECONDS
        if not right:  # counted before anything is waited for: many at once are not more
            self._wrong.pop(network, None)
            self._wrong[network] = (tries + 1, until)
            if len(self._wrong) > _NETWORKS:
                del self._wrong[next(iter(self._wrong))]
        if tries >= TRIES or await self._too_often(network, right):
            raise Problem(429, "too_many_tries", _TOO_OFTEN, {"Retry-After": str(TRY_SECONDS)})
        return right

    async def _too_often(self, network: str, right: bool) -> bool:
        """Whether all processes together were wrong too often, and this one now."""
        if self._shared is None:
            return False
        ask = self._shared.wait if right else self._shared.take
        name = hmac.new(self._token, b"kotae login from %s" % network.encode(), hashlib.sha256).hexdigest()
        try:
            return await ask(f"login:{name}", TRIES, A_MINUTE) > 0
        except StoreError:
            log.warning("this process counts wrong tokens alone for now", exc_info=True)
            return False


async def log_out(request: Request) -> Response:
    """`GET /app/logout`: this browser has to show the token again."""
    response = RedirectResponse("/", 303)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax")
    return response


def _form(language: Language, problem: Text | None = None, status: int = 401) -> HTMLResponse:
    page = _PAGE.format(
        language=language,
        title=_TITLE.to(language),
        ask=_ASK.to(language),
        problem=f'<p role="alert"><strong>{problem.to(language)}</strong></p>' if problem is not None else "",
        token=_TOKEN.to(language),
        enter=_ENTER.to(language),
    )
    # Without a referrer browsers would send the form with the origin “null”, as from elsewhere.
    return HTMLResponse(page, status, {"Content-Security-Policy": _POLICY, "Referrer-Policy": "same-origin"})


def _network(scope: Scope) -> str:
    """The network a request comes from: an address, of IPv6 the network in which one machine has as many as it
    likes."""
    host: str = (scope.get("client") or ("",))[0]
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    return host if address.version == 4 else str(ipaddress.ip_network((address, 64), strict=False))
