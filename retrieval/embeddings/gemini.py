"""Embedding by Gemini through google-genai. The SDK takes a second to load, so this module is imported where the
embedder is chosen."""

import asyncio
import json
from typing import Self

import httpx2
from google import genai
from google.genai import errors, types
from pydantic import SecretStr

from retrieval.embeddings.remote import CALL_SECONDS, CallError, Kind, Pause, RemoteEmbedder, failed_call
from retrieval.providers.errors import HttpRefusal
from retrieval.providers.gemini_http import Versions, client, options, refusal_in
from retrieval.providers.openai_http import secret, sendable, without_key
from retrieval.types import Vectors

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
        self._http = client()
        self._client = genai.Client(
            vertexai=False,
            api_key=given.get_secret_value(),
            http_options=types.HttpOptions(**options(self._http, base_url, self._versions.now, CALL_SECONDS)),
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
                if isinstance(error, errors.APIError) and self._versions.changes(
                    version, refusal_in(error, HttpRefusal)
                ):
                    continue
                raise self._failed(error) from None  # what it quotes may be the key or the texts
        return [list(each.values or ()) for each in reply.embeddings or ()]

    def _failed(self, error: Exception) -> CallError:
        match error:
            case errors.UnknownApiResponseError() | json.JSONDecodeError():
                return CallError("down", "the reply is not JSON: a proxy's page, or cut off")
            case errors.APIError():
                refusal = refusal_in(error, HttpRefusal)
                return failed_call(refusal, without_key(_described(refusal), self._key))
            case TimeoutError() | httpx2.TimeoutException():
                return CallError("timeout", type(error).__name__)
            case httpx2.HTTPError() | httpx2.InvalidURL() | OSError():
                return CallError("down", without_key(f"{type(error).__name__}: {error}", self._key))
        return CallError("reply", f"a reply of unknown shape: {type(error).__name__}")


def _described(refusal: HttpRefusal) -> str:
    message = " ".join(refusal.message.split())[:300]
    return f"{refusal.code} {refusal.status}: {'a page instead of JSON' if message.startswith('<') else message}"
