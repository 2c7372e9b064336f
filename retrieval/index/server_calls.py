"""Calls to a Qdrant server: one client, retries within a bounded time, and every failure in words without a secret.

All that the index asks of a server is idempotent (points by id, payloads by filter), so everything may be tried again.
"""

import asyncio
import json
import logging
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable
from functools import cache
from math import ceil
from ssl import SSLContext
from typing import TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

import httpx
from pydantic import SecretStr, ValidationError
from qdrant_client.async_client_base import AsyncQdrantBase
from qdrant_client.async_qdrant_remote import AsyncQdrantRemote
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
    stop_before_delay,
    wait_random_exponential,
)

from retrieval.i18n import Text
from retrieval.index.base import BROKEN, CLOSED
from retrieval.types import QdrantConnectionError

log = logging.getLogger(__name__)
T = TypeVar("T")

PORT = 6333  # what an address without a port means to every client of Qdrant's, https too
_TRIES = 5
_JITTER = wait_random_exponential(multiplier=0.1, max=2)  # seconds
_SENDABLE = re.compile(r"[\x21-\x7e]+")

_ADDRESS = Text(
    en="QDRANT_URL should be the address of a Qdrant server, like https://host:6333.",
    ja="QDRANT_URL は https://host:6333 のような Qdrant サーバーのアドレスにしてください。",
)
_UNSENDABLE = Text(
    en="QDRANT_API_KEY has characters that no key has: spaces inside, line breaks or letters beyond ASCII.",
    ja="QDRANT_API_KEY に、キーには使えない文字（空白、改行、全角文字など）が含まれています。",
)
_UNREACHABLE = Text(
    en="The Qdrant server at {address} cannot be reached. Check QDRANT_URL and that the server is running.",
    ja="{address} の Qdrant サーバーに接続できません。QDRANT_URL と、サーバーが動いているかを確認してください。",
)
_SLOW = Text(
    en="The Qdrant server at {address} did not answer within {seconds} seconds.",
    ja="{address} の Qdrant サーバーが {seconds} 秒以内に応答しませんでした。",
)
_BUSY = Text(
    en="The Qdrant server at {address} is busy. Please try again in a moment.",
    ja="{address} の Qdrant サーバーが混み合っています。しばらくしてからもう一度お試しください。",
)
_FAILING = Text(
    en="The Qdrant server at {address} fails (status {status}{why}).",
    ja="{address} の Qdrant サーバーでエラーが起きています（ステータス {status}{why}）。",
)
_KEY = Text(
    en="The Qdrant server at {address} does not accept the key (status {status}). Check QDRANT_API_KEY.",
    ja="{address} の Qdrant サーバーがキーを受け付けません（ステータス {status}）。QDRANT_API_KEY を確認してください。",
)
_STRANGER = Text(
    en="What answers at {address} is not Qdrant; perhaps it is a proxy in front of it. Check QDRANT_URL.",
    ja="{address} で応答しているのは Qdrant ではありません（途中のプロキシかもしれません）。"
    "QDRANT_URL を確認してください。",
)


class ServerRefused(Exception):
    """A server's refusal, cleaned of secrets: for the log, and the cause of the failure that people see."""


class _Again(Exception):
    """A failure that may pass."""

    def __init__(self, failure: QdrantConnectionError, after: float | None = None) -> None:
        super().__init__()
        self.failure = failure
        self.after = after  # seconds the server asks us to wait


class Pending(Exception):
    """A write that the server has taken and not yet carried out; the same write again waits for it."""


class Wire:
    """A client with its address and its secrets.

    `timeout` is in seconds: for one try, and for how long tries are started; a call ends within twice that.
    """

    def __init__(
        self, client: AsyncQdrantBase, *, address: str = "", secrets: tuple[str, ...] = (), timeout: float = 10.0
    ) -> None:
        self.client = client
        self.address = address
        self._secrets = tuple(sorted(filter(None, secrets), key=len, reverse=True))
        self._timeout = timeout
        self._closed = False
        self._calls = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @classmethod
    def to(cls, url: str, api_key: SecretStr | str | None, *, timeout: float = 10.0) -> "Wire":
        """Connects when it is first used. Raises QdrantConnectionError for what cannot be an address or a key."""
        key = _plain(api_key)
        at = _split(url)
        if at is None or at.hostname is None or at.scheme not in ("http", "https"):
            raise QdrantConnectionError(_ADDRESS)
        if key and not _SENDABLE.fullmatch(key):
            raise QdrantConnectionError(_UNSENDABLE)
        user, password = unquote(at.username or ""), unquote(at.password or "")
        host = f"[{at.hostname}]" if ":" in at.hostname else at.hostname
        address = f"{at.scheme}://{host}:{at.port or PORT}{at.path.rstrip('/')}"
        client = _client(address, key, httpx.BasicAuth(user, password) if user or password else None, timeout)
        if client is None:
            raise QdrantConnectionError(_ADDRESS)
        basic = b64encode(f"{user}:{password}".encode()).decode() if password else ""
        return cls(client, address=address, secrets=(key, password, at.password or "", basic), timeout=timeout)

    async def __call__(self, ask: Callable[[AsyncQdrantBase], Awaitable[T]], *, retry: bool = True) -> T:
        """The server's answer to `ask`. Raises QdrantConnectionError; its cause says what the server answered."""
        if self._closed:
            raise QdrantConnectionError(CLOSED)
        tries = AsyncRetrying(
            stop=stop_after_attempt(_TRIES if retry else 1) | stop_before_delay(self._timeout),
            wait=_wait,
            retry=retry_if_exception_type(_Again),
            before_sleep=_tell,
            reraise=True,
        )
        self._calls += 1
        self._idle.clear()
        try:
            return await tries(self._once, ask)
        except _Again as again:
            failure = again.failure
        except QdrantConnectionError as final:
            failure = final
        finally:
            self._calls -= 1
            if not self._calls:
                self._idle.set()
        raise failure  # outside of the handlers: what they caught may quote a secret

    async def close(self) -> None:
        """Calls under way end first."""
        if self._closed:
            return
        self._closed = True
        await self._idle.wait()
        await self.client.close()

    async def _once(self, ask: Callable[[AsyncQdrantBase], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(self._timeout):
                return await ask(self.client)
        except Exception as error:  # the client raises its own, pydantic's, json's and httpx's
            failure = self._judged(error)
        raise failure

    def _judged(self, error: Exception) -> _Again | QdrantConnectionError:
        source = error.source if isinstance(error, ResponseHandlingException) else error
        match source:
            case UnexpectedResponse():
                return self._answered(source)
            case ResourceExhaustedResponse():
                return _Again(self._said(_BUSY, source), after=float(source.retry_after_s))
            case QdrantException():  # a 429 whose Retry-After is a date
                return _Again(self._said(_BUSY, source))
            case Pending() | TimeoutError() | httpx.TimeoutException():
                return _Again(self._said(_SLOW, source, seconds=f"{self._timeout:g}"))
            case httpx.UnsupportedProtocol() | httpx.InvalidURL() | httpx.LocalProtocolError():
                return self._said(_ADDRESS, source)
            case httpx.TransportError():
                return _Again(self._said(_UNREACHABLE, source))
            case json.JSONDecodeError():
                return self._said(_STRANGER, source)
            case _ if isinstance(error, ResponseHandlingException):  # JSON, but of another shape
                return self._said(_STRANGER, source)
            case _:
                return self._said(BROKEN, source)

    def _answered(self, answer: UnexpectedResponse) -> _Again | QdrantConnectionError:
        status = answer.status_code or 0
        page = answer.content.lstrip()[:1] == b"<"
        match status:
            case 429:
                return _Again(self._said(_BUSY, answer))
            case 408 | 500 | 502 | 503 | 504:
                return _Again(self._said(_FAILING, answer, status=status, why=self._why(answer)))
            case 413:  # also in the words of a proxy
                return self._said(_FAILING, answer, status=status, why=self._why(answer))
            case _ if page or status in (301, 302, 303, 307, 308, 405):
                return self._said(_STRANGER, answer)
            case 401 | 403:
                return self._said(_KEY, answer, status=status)
            case _:
                return self._said(_FAILING, answer, status=status, why=self._why(answer))

    def _why(self, answer: UnexpectedResponse) -> str:
        """In the server's own words, such as that its disk is full; not where it may quote what it was sent."""
        try:
            said = json.loads(answer.content)["status"]["error"]
        except (ValueError, TypeError, KeyError):
            return ""
        if not isinstance(said, str) or "error in" in said:  # "Format error in JSON body: …", "Validation error in …"
            return ""
        return ": " + self._clean(" ".join(said.split()))[:200]

    def _said(self, words: Text, error: Exception, **values: object) -> QdrantConnectionError:
        failure = QdrantConnectionError(words, address=self.address or "memory", **values)
        # A validation error would quote the passages that it could not read.
        what = f"{error.error_count()} errors" if isinstance(error, ValidationError) else str(error)
        failure.__cause__ = ServerRefused(self._clean(f"{type(error).__name__}: {what}"))
        return failure

    def _clean(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "[secret]")
        return text[:500]


def _client(address: str, key: str, auth: httpx.BasicAuth | None, timeout: float) -> AsyncQdrantRemote | None:
    """None when the address is none. `timeout` in seconds."""
    try:
        return AsyncQdrantRemote(
            url=address,
            timeout=ceil(timeout) + 1,  # whole seconds; `Wire._once` is the one that counts
            check_compatibility=False,  # it asks in a thread of its own, before anything is known to answer
            # As a plain header: the client's own `api_key` warns about every http:// address, also on this machine.
            headers={"api-key": key} if key else None,
            auth=auth,
            # The client keeps no connection to this machine open, and would make one for every call.
            limits=httpx.Limits(max_connections=32, max_keepalive_connections=16),
            verify=_tls(),
        )
    except ValueError:
        return None


def of_one(failure: QdrantConnectionError) -> bool:
    """Whether one request of a batch may have caused it, so that the others would be answered without it."""
    return failure.reason in (_FAILING, BROKEN)


@cache
def _tls() -> SSLContext:
    """The certificates of this machine, read once and not for every client (30 ms)."""
    return httpx.create_ssl_context()


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.after if isinstance(error, _Again) else None
    return _JITTER(state) if asked is None else asked


def _tell(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, _Again):
        log.info("a call to Qdrant is tried again: %s (%s)", error.failure, error.failure.__cause__)


def _plain(key: SecretStr | str | None) -> str:
    return (key.get_secret_value() if isinstance(key, SecretStr) else key or "").strip()


def _split(url: str) -> SplitResult | None:
    try:
        at = urlsplit(url.strip())
        _ = at.port  # a port that is none raises only when it is looked at
    except ValueError:
        return None
    return at
