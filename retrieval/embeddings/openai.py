"""Embedding by an OpenAI-compatible server (OpenAI, Ollama, vLLM, llama.cpp, text-embeddings-inference).

Spoken over httpx2, which google-genai brings anyway: it is one endpoint, and what needs care is where servers differ.
Source: platform.openai.com/docs/api-reference/embeddings.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Self

import httpx2
from pydantic import SecretStr

from retrieval.embeddings.remote import CALL_SECONDS, CallError, Kind, Pause, RemoteEmbedder, failed_call
from retrieval.providers.openai_http import (
    Complaint,
    client,
    complaint_in,
    encoded,
    endpoint,
    headers,
    refused,
    secret,
    sendable,
    without_key,
)
from retrieval.types import Vectors

BATCH = 32  # the least that servers take by default (text-embeddings-inference); OpenAI takes 2,048

_NATIVE = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_READS = (  # part of the model's name, tokens
    ("text-embedding-", 8191),
    ("bge-m3", 8192),
    ("nomic-embed-text", 2048),
    ("embeddinggemma", 2048),
    ("qwen3-embedding", 4096),  # the window that Ollama gives it
)
_READS_AT_LEAST = 512


class OpenAIEmbedder(RemoteEmbedder):
    """`open` it where the size of its vectors may be unknown. `reduced`: that size is asked for, since it may not be
    the model's own (a server that knows no such wish is not bothered again, and has to send that size). `key` may be
    None."""

    def __init__(
        self,
        model: str,
        dimensions: int,
        *,
        key: SecretStr | str | None = None,
        base_url: str | None = None,
        reduced: bool = False,
        pause: Pause = asyncio.sleep,
    ) -> None:
        reads = next((tokens for part, tokens in _READS if part in model.lower()), _READS_AT_LEAST)
        super().__init__("openai", model, dimensions=dimensions, max_tokens=reads, batch=BATCH, pause=pause)
        self._reduced = reduced
        self._key = secret(key)
        self._url = endpoint(base_url, "embeddings")
        self._http = client(CALL_SECONDS)

    @classmethod
    async def open(
        cls,
        model: str,
        *,
        key: SecretStr | str | None = None,
        base_url: str | None = None,
        dimensions: int | None = None,
        pause: Pause = asyncio.sleep,
    ) -> Self:
        """`dimensions` None: the model's own; the server is asked when we do not know it. Raises EmbeddingError."""
        native = _NATIVE.get(model, 0)
        known = dimensions or native
        made = cls(model, known, key=key, base_url=base_url, reduced=known != native, pause=pause)
        return await made.measured()

    async def close(self) -> None:
        await self._http.aclose()

    async def _call(self, kind: Kind, texts: list[str]) -> Vectors:
        if not sendable(self._key):
            raise CallError("key", "the key holds characters that no key has")
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._reduced:
            body["dimensions"] = self.dimensions
        found = await self._post(body)
        if isinstance(found, Complaint) and "dimensions" in body and _about_dimensions(found):
            del body["dimensions"]
            found = await self._post(body)
            self._reduced = isinstance(found, Complaint)
        if isinstance(found, Complaint):
            raise self._refused(found)
        return _vectors(found)

    async def _post(self, body: Mapping[str, Any]) -> Any:
        """The reply's JSON, or what the server complains of. Raises CallError."""
        try:
            async with self._http.stream(
                "POST", self._url, content=encoded(body), headers=headers(self._key)
            ) as response:
                if not response.is_success:
                    return await refused(response)
                found = json.loads(await response.aread())
        except (httpx2.TimeoutException, TimeoutError) as error:
            raise CallError("timeout", type(error).__name__) from None
        except (ValueError, RecursionError):
            raise CallError("down", "the reply is not JSON: a proxy's page, or cut off") from None
        except (httpx2.HTTPError, OSError) as error:
            raise CallError("down", without_key(f"{type(error).__name__}: {error}", self._key)) from None
        return (complaint_in(found) if isinstance(found, Mapping) else None) or found

    def _refused(self, complaint: Complaint) -> CallError:
        text = without_key(complaint.described(), self._key)
        if complaint.unpaid:
            return CallError("busy", text, complaint.retry_after())
        if "model_not_found" in complaint.words:
            return CallError("model", text)
        return failed_call(complaint.refusal, text)


def _about_dimensions(complaint: Complaint) -> bool:
    """vLLM and others refuse the wish for a size, some even for the model's own."""
    said = complaint.message.lower()
    return complaint.refusal.code in (400, 422) and ("dimension" in said or "matryoshka" in said)


def _vectors(found: Any) -> Vectors:
    """The vectors in the order of the texts, as their `index` says."""
    try:
        numbered = {int(row.get("index", at)): row["embedding"] for at, row in enumerate(found["data"])}
        if sorted(numbered) != list(range(len(found["data"]))):
            raise CallError("reply", "vectors that are not numbered from 0")
        return [[float(value) for value in numbered[at]] for at in range(len(numbered))]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CallError("reply", f"a reply of unknown shape: {type(error).__name__}") from None
