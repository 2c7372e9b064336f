"""Embedding by Gemini through google-genai. The SDK takes a second to load, so this module is imported where the
embedder is chosen."""

import asyncio
import json
from collections.abc import Mapping
from typing import Self

import httpx2
from google import genai
from google.genai import errors, types
from pydantic import SecretStr

from retrieval.embeddings.remote import CALL_SECONDS, CallError, Kind, Pause, RemoteEmbedder, failed_call
from retrieval.providers.errors import HttpRefusal
from retrieval.providers.gemini_versions import Versions
from retrieval.providers.openai_http import CONNECT_SECONDS, secret, sendable, tls, without_key
from retrieval.types import Vectors

BASE_URL = "https://generativelanguage.googleapis.com/"
BATCH = 100  # the API's own limit

_NATIVE = {"gemini-embedding-001": 3072, "gemini-embedding-2": 3072}
_READS = {"gemini-embedding-001": 2048, "gemini-embedding-2": 8192}  # tokens; more are cut off in silence
_READS_AT_LEAST = 2048
_TAKES_A_TASK = "gemini-embedding-001"  # later models are told by what stands before the text
_TASKS: dict[Kind, str] = {"document": "RETRIEVAL_DOCUMENT", "query": "RETRIEVAL_QUERY"}


class GeminiEmbedder(RemoteEmbedder):
    """`open` it where the size of its vectors may be unknown. `dimensions` is the size to make; other than the model's
    own, it is asked for, and the vectors are brought to length 1 here."""

    def __init__(
        self,
        model: str,
        dimensions: int,
        *,
        key: SecretStr | str,
        base_url: str | None = None,
        api_version: str | None = None,
        pause: Pause = asyncio.sleep,
    ) -> None:
        model = model.removeprefix("models/")
        reads = _READS.get(model, _READS_AT_LEAST)
        super().__init__("gemini", model, dimensions=dimensions, max_tokens=reads, batch=BATCH, pause=pause)
        self._versions = Versions(api_version)
        given = secret(key)
        if given is None:
            raise ValueError("Gemini needs a key")
        self._key = given
        # As in the chat model: our own HTTP client with a limit on the connect and without redirects, and nothing
        # that the SDK would look for in the environment.
        self._http = httpx2.AsyncClient(
            verify=tls(), event_hooks={"request": [_connect_quickly]}, follow_redirects=False
        )
        self._client = genai.Client(
            vertexai=False,
            api_key=given.get_secret_value(),
            http_options=types.HttpOptions(
                base_url=base_url or BASE_URL,
                api_version=self._versions.now,
                timeout=int(CALL_SECONDS * 1000),
                httpx_async_client=self._http,
                client_args={"verify": tls()},
                async_client_args={"ssl": tls()},
            ),
        )

    @classmethod
    async def open(
        cls,
        model: str,
        *,
        key: SecretStr | str,
        dimensions: int | None = None,
        base_url: str | None = None,
        api_version: str | None = None,
        pause: Pause = asyncio.sleep,
    ) -> Self:
        """`dimensions` None: the model's own; the server is asked when we do not know it. Raises EmbeddingError."""
        known = dimensions or _NATIVE.get(model.removeprefix("models/"), 0)
        made = cls(model, known, key=key, base_url=base_url, api_version=api_version, pause=pause)
        return await made.measured()

    async def close(self) -> None:
        await self._http.aclose()
        await self._client.aio.aclose()
        self._client.close()

    async def _call(self, kind: Kind, texts: list[str]) -> Vectors:
        if not sendable(self._key):
            raise CallError("key", "the key holds characters that no key has")
        config = types.EmbedContentConfig(
            task_type=_TASKS[kind] if self._model.startswith(_TAKES_A_TASK) else None,
            output_dimensionality=None if self.dimensions in (0, _NATIVE.get(self._model)) else self.dimensions,
        )
        # Whole contents: the SDK puts strings together into one for models after 001.
        contents: list[types.ContentUnion] = [types.Content(parts=[types.Part(text=text)]) for text in texts]
        while True:
            version = self._versions.now
            asked = config.model_copy(update={"http_options": types.HttpOptions(api_version=version)})
            try:
                reply = await self._client.aio.models.embed_content(model=self._model, contents=contents, config=asked)
                break
            # Beside its own errors the SDK lets through what its HTTP client, `json` and pydantic raise.
            except Exception as error:
                if isinstance(error, errors.APIError) and self._versions.changes(version, _refusal(error)):
                    continue
                raise self._failed(error) from None  # what it quotes may be the key or the texts
        return [list(each.values or ()) for each in reply.embeddings or ()]

    def _failed(self, error: Exception) -> CallError:
        match error:
            case errors.UnknownApiResponseError() | json.JSONDecodeError():
                return CallError("down", "the reply is not JSON: a proxy's page, or cut off")
            case errors.APIError():
                refusal = _refusal(error)
                return failed_call(refusal, without_key(_described(refusal), self._key))
            case TimeoutError() | httpx2.TimeoutException():
                return CallError("timeout", type(error).__name__)
            case httpx2.HTTPError() | httpx2.InvalidURL() | OSError():
                return CallError("down", without_key(f"{type(error).__name__}: {error}", self._key))
        return CallError("reply", f"a reply of unknown shape: {type(error).__name__}")


def _refusal(error: errors.APIError) -> HttpRefusal:
    body = error.details.get("error", error.details) if isinstance(error.details, Mapping) else {}
    details = body.get("details") if isinstance(body, Mapping) else None
    return HttpRefusal(
        error.code if isinstance(error.code, int) else 500,
        error.status or "",
        error.message or "",
        [detail for detail in details or () if isinstance(detail, Mapping)],
        dict(getattr(error.response, "headers", None) or {}),
    )


def _described(refusal: HttpRefusal) -> str:
    message = " ".join(refusal.message.split())[:300]
    return f"{refusal.code} {refusal.status}: {'a page instead of JSON' if message.startswith('<') else message}"


async def _connect_quickly(request: httpx2.Request) -> None:
    limits = request.extensions["timeout"]
    request.extensions["timeout"] = limits | {"connect": min(CONNECT_SECONDS, limits["connect"] or CONNECT_SECONDS)}
