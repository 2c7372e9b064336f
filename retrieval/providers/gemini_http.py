"""Parts that chat and embeddings share of Gemini: its address, the HTTP client under its SDK, how it words a refusal,
and which version of its API is asked. Plain values, no SDK."""

import logging
from collections.abc import Mapping
from typing import Any, TypeVar

import httpx2

from retrieval.providers.errors import HttpRefusal
from retrieval.providers.openai_http import CONNECT_SECONDS, tls

log = logging.getLogger(__name__)

R = TypeVar("R", bound=HttpRefusal)

BASE_URL = "https://generativelanguage.googleapis.com/"
STABLE, BETA = "v1", "v1beta"


def client() -> httpx2.AsyncClient:
    """Our own, or the SDK uses aiohttp where a platform's SDK has brought it: without a limit on the connect, and with
    a second try after up to ten seconds that nobody asked for. Redirects would carry the key."""
    return httpx2.AsyncClient(verify=tls(), event_hooks={"request": [_connect_quickly]}, follow_redirects=False)


async def _connect_quickly(request: httpx2.Request) -> None:
    limits = request.extensions["timeout"]
    request.extensions["timeout"] = limits | {"connect": min(CONNECT_SECONDS, limits["connect"] or CONNECT_SECONDS)}


def options(http: httpx2.AsyncClient, base_url: str | None, version: str, seconds: float) -> dict[str, Any]:
    """The SDK's `HttpOptions`: each is named, so that it asks no environment variable for it. `seconds`: for a call."""
    own = {"httpx_async_client": http, "client_args": {"verify": tls()}, "async_client_args": {"ssl": tls()}}
    return {"base_url": base_url or BASE_URL, "api_version": version, "timeout": int(seconds * 1000), **own}


def refusal_in(error: Any, kind: type[R]) -> R:
    """`error`: the SDK's APIError."""
    body = error.details.get("error", error.details) if isinstance(error.details, Mapping) else {}
    details = body.get("details") if isinstance(body, Mapping) else None
    return kind(
        error.code if isinstance(error.code, int) else 500,
        error.status or "",
        error.message or "",
        [detail for detail in details or () if isinstance(detail, Mapping)],
        dict(getattr(error.response, "headers", None) or {}),
    )


class Versions:
    """`now` is the version to ask: the one that is wished for, else the stable one as long as it will do.

    Models that are new, and at times words of the API, are to be had in the other one only, and a stand-in may know no
    version but that. Source: ai.google.dev/gemini-api/docs/api-versions.
    """

    def __init__(self, wished: str | None) -> None:
        self.now = wished or STABLE
        self._others = [] if wished else [STABLE, BETA]  # the last is the next; the first, if that was no better

    def changes(self, used: str, refusal: HttpRefusal) -> bool:
        """Whether what was refused at version `used` may be had at `now`, which this may change."""
        if refusal.code != 404 and "unknown name" not in refusal.message.lower():
            return False
        if used == self.now:
            if not self._others:
                return False
            self.now = self._others.pop()
            log.info("the Gemini API is asked at %s from now on", self.now)
        return True
