"""How a browser shows the token of KOTAE_WEB_TOKEN: once, in a form; a cookie that does not hold the token follows.

Only where the address can be reached from other machines. Source: product.md §6; reliability.md R20.
"""

import asyncio
import hashlib
import hmac
from html import escape
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope

from retrieval.text import Language, Said

COOKIE = "kotae_session"
FORM_BYTES = 4_096
WEEK = 7 * 24 * 3600
WRONG_SECONDS = 1.0  # until the next try is answered

_TITLE = Said(en="Kotae – log in", ja="Kotae – ログイン")
_ASK = Said(
    en="This server asks for the token that KOTAE_WEB_TOKEN holds.",
    ja="このサーバーを使うには、KOTAE_WEB_TOKEN に設定されたトークンが必要です。",
)
_TOKEN = Said(en="Token", ja="トークン")
_ENTER = Said(en="Log in", ja="ログイン")
_WRONG = Said(en="That is not the token.", ja="トークンが違います。")

_PAGE = """<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>body{{font-family:system-ui,sans-serif;max-width:26rem;margin:15vh auto;padding:0 1rem;line-height:1.6}}
input,button{{font:inherit;padding:.5rem .7rem;width:100%;box-sizing:border-box;margin:.3rem 0}}</style></head>
<body><h1>Kotae 答え</h1><p>{ask}</p>{problem}<form method="post" action="{action}"><label>{token}
<input type="password" name="token" autocomplete="current-password" required autofocus></label>
<button>{enter}</button></form></body></html>"""


def logged_in(headers: Headers, token: SecretStr) -> bool:
    """Whether the browser has shown the token before, and it is still the same."""
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return False
    return cookie is not None and hmac.compare_digest(cookie.value.encode(), _proof(token).encode())


async def respond(scope: Scope, receive: Receive, token: SecretStr, language: Language, *, home: str) -> Response:
    """The form; or what became of it: the cookie and the way to the pages, or the form again."""
    request = Request(scope, receive)
    wrong = False
    if request.method == "POST":
        given = parse_qs((await request.body()).decode("utf-8", "replace")).get("token", [""])[0].strip()
        if hmac.compare_digest(given.encode(), token.get_secret_value().encode()):
            response = RedirectResponse(home, 303)
            response.set_cookie(COOKIE, _proof(token), max_age=WEEK, path="/", httponly=True, samesite="strict")
            return response
        wrong = True
        await asyncio.sleep(WRONG_SECONDS)
    problem = f'<p role="alert"><strong>{_WRONG.to(language)}</strong></p>' if wrong else ""
    page = _PAGE.format(
        language=language,
        title=_TITLE.to(language),
        ask=_ASK.to(language),
        problem=problem,
        action=escape(f"{home}login"),
        token=_TOKEN.to(language),
        enter=_ENTER.to(language),
    )
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
    return HTMLResponse(page, 401, {"Content-Security-Policy": policy})


def _proof(token: SecretStr) -> str:
    return hmac.new(token.get_secret_value().encode(), b"kotae browser session", hashlib.sha256).hexdigest()
