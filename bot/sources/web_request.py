"""One request to a website that may be hostile: to the address that was looked at, and bounded in bytes and time
whatever its server sends.

Source: reliability.md R40; RFC 9110 §8.4 (Content-Encoding); httpx decodes whatever is named there, as often as it is
named and without a limit: a kilobyte becomes a gigabyte."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

import httpx

from bot.sources.addresses import resolved
from retrieval.i18n import Text
from retrieval.loaders.limits import ParsingLimits

AGENT = "Kotae (knowledge bot; reads what its robots.txt allows)"
SILENT, WHOLE = 30.0, 180.0  # seconds without a byte; for all of an answer

_NO_CONNECTION = Text(en="no connection", ja="接続できません")
_NO_ANSWER = Text(en="no whole answer in time", ja="時間内に応答が完了しません")
_CUT_SHORT = Text(en="its answer is cut short or cannot be read", ja="応答が途中で切れたか、読み取れません")


class AwayError(Exception):
    """A page cannot be had now: its reason, which is no secret, as it is `said`; its own text is English."""

    def __init__(self, reason: Text | str) -> None:
        self.said = Text(en=reason, ja=reason) if isinstance(reason, str) else reason
        super().__init__(self.said.en)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and the address that gave it."""

    url: str
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)  # by names in any case
    body: bytes = b""

    @property
    def gone(self) -> bool:
        return self.status in (404, 410)


@dataclass(frozen=True, slots=True)
class WebClient:
    """Requests of one look. `private`: addresses of the own network, too; `seconds`: for all of an answer."""

    http: httpx.AsyncClient
    private: bool
    seconds: float

    async def get(self, url: str, headers: Mapping[str, str]) -> Answer:
        """The answer, which may be a redirect. Host and headers are ASCII. Raises AwayError; SourceError for an address
        that may not be reached."""
        parts = urlsplit(url)
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError as error:
            raise AwayError("no such port") from error
        host = parts.hostname or ""
        address = host if self.private else await resolved(host, port)
        there = f"[{address}]" if ":" in address else address
        target = urlunsplit((parts.scheme, f"{there}:{port}", parts.path or "/", parts.query, ""))
        asked = self.http.stream(
            "GET", target, headers={"Host": parts.netloc, **headers}, extensions={"sni_hostname": host}
        )
        try:
            async with asyncio.timeout(self.seconds), asked as response:
                body = Body(response.headers.get("content-encoding", ""), ParsingLimits().file)
                async for part in response.aiter_raw():
                    body.add(part)
                return Answer(url, response.status_code, response.headers, bytes(body.said))
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise AwayError(_NO_CONNECTION) from error
        except (httpx.TimeoutException, TimeoutError) as error:
            raise AwayError(_NO_ANSWER) from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError, zlib.error) as error:
            raise AwayError(_CUT_SHORT) from error


@asynccontextmanager
async def web_client(*, private: bool, seconds: float) -> AsyncIterator[WebClient]:
    headers = {"User-Agent": AGENT, "Accept-Encoding": "gzip"}
    async with httpx.AsyncClient(headers=headers, timeout=SILENT, trust_env=False, follow_redirects=False) as client:
        yield WebClient(client, private, seconds)


class Body:
    """A body as far as it has come, unpacked, of at most so many bytes. Raises AwayError."""

    def __init__(self, encoding: str, most: int) -> None:
        """`encoding`: its Content-Encoding."""
        self.said = bytearray()
        self._most = most
        match encoding.strip().lower():
            case "" | "identity":
                self._unpack: Callable[[bytes, int], bytes] = lambda part, most: part
            case "gzip" | "x-gzip":
                self._unpack = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress
            case _:
                raise AwayError("packed in a way that was not asked for")

    def add(self, part: bytes) -> None:
        self.said += self._unpack(part, self._most + 1 - len(self.said))
        if len(self.said) > self._most:
            raise AwayError("too long")
