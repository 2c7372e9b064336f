"""Parts that chat and embeddings share of an OpenAI-compatible server: its address, its headers, how it words a
refusal.

The shapes are those of OpenAI, Ollama, vLLM, llama.cpp, FastAPI's validation and a proxy's page; each server's own
documentation shows its form.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from ssl import SSLContext
from typing import Any

import httpx2
from pydantic import SecretStr

from retrieval.providers.errors import A_DAY_IS_OVER, HttpRefusal
from retrieval.text import encodable

BASE_URL = "https://api.openai.com/v1"
CONNECT_SECONDS = 5.0

_READ_OF_AN_ERROR = 65_536  # bytes
_SENDABLE = re.compile(r"[\x21-\x7e]+")
_NO_MONEY = frozenset(
    {
        *("insufficient_quota", "billing_hard_limit_reached", "billing_not_active"),
        *("exceeded_current_quota_error", "arrearage"),  # Kimi; Alibaba
    }
)


def client(timeout: float) -> httpx2.AsyncClient:
    """`timeout` in seconds is for each wait of a call; the connect may take 5 of them. Redirects would carry the
    key."""
    limits = httpx2.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout))
    return httpx2.AsyncClient(verify=tls(), timeout=limits, follow_redirects=False)


@cache
def tls() -> SSLContext:
    """The certificates of this machine, read once: an HTTP library would read them for every client it makes (30
    ms)."""
    return httpx2.create_ssl_context()


def endpoint(base_url: str | None, path: str) -> httpx2.URL:
    """The address of `path` on a server that is named with or without its version (`/v1`); one that ends in `path` is
    it, since some servers have no version. Raises httpx2.InvalidURL."""
    base = httpx2.URL(base_url or BASE_URL)
    folders = [folder for folder in base.path.split("/") if folder]
    called = path.split("/")
    if folders[-len(called) :] == called:
        return base.copy_with(path="/" + "/".join(folders))
    if not any(re.fullmatch(r"v\d+\w*", folder) for folder in folders):
        folders.append("v1")
    return base.copy_with(path="/" + "/".join([*folders, *called]))


def secret(key: SecretStr | str | None) -> SecretStr | None:
    """The key without spaces around it; None when there is none, as for most local servers."""
    plain = (key.get_secret_value() if isinstance(key, SecretStr) else key or "").strip()
    return SecretStr(plain) if plain else None


def sendable(key: SecretStr | None) -> bool:
    """Whether a header can hold the key; an HTTP library would quote it in its error."""
    return key is None or bool(_SENDABLE.fullmatch(key.get_secret_value()))


def headers(key: SecretStr | None) -> dict[str, str]:
    """Of a request whose body is `encoded`."""
    kind = {"Content-Type": "application/json"}
    return kind | {"Authorization": f"Bearer {key.get_secret_value()}"} if key else kind


def encoded(body: Mapping[str, Any]) -> bytes:
    """JSON in UTF-8."""
    return encodable(json.dumps(body, ensure_ascii=False, default=str)).encode()


def without_key(text: str, key: SecretStr | None) -> str:
    return text.replace(key.get_secret_value(), "[key]") if key else text


# -- refusals -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error in the server's words: its message, and its `type` and `code` as `words` in lower case."""

    refusal: HttpRefusal
    words: frozenset[str] = frozenset()

    @property
    def message(self) -> str:
        return self.refusal.message

    @property
    def unpaid(self) -> bool:
        """Nothing goes until somebody pays: for us a quota that does not come back soon."""
        return self.refusal.code == 402 or bool(self.words & _NO_MONEY)

    def retry_after(self) -> float | None:
        return A_DAY_IS_OVER if self.unpaid else self.refusal.retry_after()

    def described(self) -> str:
        """For the log: status, kind and message, cut; never a body that may quote the conversation."""
        message = " ".join(self.message.split())[:300]
        return " ".join([str(self.refusal.code), *sorted(self.words)]) + f": {message}"


async def refused(response: httpx2.Response) -> Complaint:
    """The error for an answer with an error status; reads the beginning of its body."""
    read = bytearray()
    async for piece in response.aiter_bytes():
        read += piece
        if len(read) >= _READ_OF_AN_ERROR:
            break
    return complaint(response.status_code, bytes(read).decode("utf-8", "replace"), response.headers)


def complaint(code: int, body: str, sent: Mapping[str, str] | None = None) -> Complaint:
    """`code` is the HTTP status, `body` the answer's, `sent` its headers."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        page = body.lstrip().startswith("<")
        return Complaint(HttpRefusal(code, "", "a page instead of JSON" if page else body, (), dict(sent or {})))
    return _worded(code, found, sent or {})


def complaint_in(chunk: Mapping[str, Any]) -> Complaint | None:
    """An error that comes inside an answer with status 200, in the middle of its stream."""
    error = chunk.get("error")
    if not error and chunk.get("object") != "error":
        return None
    known = _worded(500, chunk, {})
    code = error.get("code") if isinstance(error, Mapping) else chunk.get("code")
    if isinstance(code, int | str) and re.fullmatch(r"[45]\d\d", str(code)):
        return _worded(int(code), chunk, {})
    return _worded(429, chunk, {}) if any("rate_limit" in word for word in known.words) else known


def _worded(code: int, found: Any, sent: Mapping[str, str]) -> Complaint:
    if isinstance(found, list) and found:  # Gemini's compatible endpoint wraps it so
        found = found[0]
    error = found.get("error", found) if isinstance(found, Mapping) else found
    if not isinstance(error, Mapping):
        return Complaint(HttpRefusal(code, "", error if isinstance(error, str) else "", (), dict(sent)))
    message = error.get("message") or error.get("detail") or ""
    if isinstance(message, Mapping):  # Mistral's
        message = message.get("detail") or ""
    if isinstance(message, list):  # FastAPI's: where it is wrong and why; the rest of it repeats what was sent
        message = "; ".join(
            f"{'.'.join(str(step) for step in one.get('loc', ()))}: {one.get('msg', '')}"
            for one in message
            if isinstance(one, Mapping)
        )
    if isinstance(metadata := error.get("metadata"), Mapping) and metadata.get("raw"):  # OpenRouter's, of a provider
        message = f"{message}: {metadata['raw']}"
    words = frozenset(str(error[name]).lower() for name in ("type", "code") if isinstance(error.get(name), str))
    listed = error.get("details")
    details = [detail for detail in listed if isinstance(detail, Mapping)] if isinstance(listed, list) else ()
    return Complaint(HttpRefusal(code, str(error.get("status") or ""), str(message), details, dict(sent)), words)
