"""Parts that embedders behind a network share: batches, patience with a busy server, words for people, and vectors
checked before anybody relies on them."""

import asyncio
import logging
import math
import random
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, Self, cast

import numpy as np
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, stop_before_delay

from retrieval.embeddings.base import prefixes
from retrieval.i18n import Text
from retrieval.providers.errors import HttpRefusal
from retrieval.types import EmbeddingError, Vector, Vectors

log = logging.getLogger(__name__)

Call = Callable[[list[str]], Awaitable[Vectors]]
Kind = Literal["document", "query"]
Pause = Callable[[float], Awaitable[None]]
Why = Literal["busy", "down", "timeout", "key", "model", "refused", "overlong", "reply"]

CALL_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """At most so many tries of one batch, and so many seconds from the first try to the end of the last."""

    tries: int
    seconds: float


FOR_DOCUMENTS = RetryLimits(5, 150.0)
FOR_A_QUERY = RetryLimits(3, 8.0)  # a search has 10, and goes on by words alone when meaning is not to be had

_WORDS: dict[Why, Text] = {
    "busy": Text(
        en="The search model {name} is overloaded or over its quota right now. Please try again later.",
        ja="検索用モデル {name} が混み合っているか、利用枠に達しています。しばらくしてからもう一度お試しください。",
    ),
    "down": Text(
        en="The search model {name} cannot be reached right now. Please try again later; if it stays so, check the "
        "address of its server.",
        ja="検索用モデル {name} に接続できません。しばらくしてからもう一度お試しください。続く場合は、"
        "サーバーのアドレスを確認してください。",
    ),
    "timeout": Text(
        en="The search model {name} took too long to reply. Please try again later.",
        ja="検索用モデル {name} の応答に時間がかかりすぎました。しばらくしてからもう一度お試しください。",
    ),
    "key": Text(
        en="The key for the search model {name} was not accepted. Check the API key in the settings.",
        ja="検索用モデル {name} の API キーが受け付けられませんでした。設定の API キーを確認してください。",
    ),
    "model": Text(
        en="The server does not offer the search model {name}. Check KOTAE_EMBEDDER and the address of the server.",
        ja="検索用モデル {name} はこのサーバーにありません。KOTAE_EMBEDDER とサーバーのアドレスを確認してください。",
    ),
    "refused": Text(
        en="The search model {name} refused the request; the log has the reason.",
        ja="検索用モデル {name} がリクエストを受け付けませんでした。理由はログに記録されています。",
    ),
    "reply": Text(
        en="The search model {name} sent something that is not the vectors it was asked for; the log has the reason.",
        ja="検索用モデル {name} から正しいベクトルが返されませんでした。理由はログに記録されています。",
    ),
}
_WORDS["overlong"] = _WORDS["refused"]  # every text is, however short
_OTHER_SIZE = Text(
    en="The search model {name} makes vectors of {got} numbers, not of {wanted}. Set KOTAE_EMBEDDING_DIM={got}, or a "
    "size that the model offers.",
    ja="検索用モデル {name} のベクトルは {got} 次元で、{wanted} 次元ではありません。KOTAE_EMBEDDING_DIM を {got} か、"
    "このモデルで選べる次元数にしてください。",
)
_TOO_LONG = re.compile(  # Ollama, vLLM; OpenAI, Alibaba; text-embeddings-inference; llama.cpp
    r"context (?:length|size)|input length|less than \d+ (?:tokens|characters)|too large to process", re.IGNORECASE
)
_SHORTEST = 50  # characters that every model reads
_KEPT = 0.75  # of a text that is too long; then of what is left
_MENDS: frozenset[Why] = frozenset({"busy", "down", "timeout"})


class CallError(Exception):
    """One call that brought nothing. The text is for the log and holds no secret; `wait` is what the server asks for,
    in seconds."""

    def __init__(self, why: Why, text: str, wait: float | None = None) -> None:
        super().__init__(text)
        self.why: Why = why
        self.wait = wait


def failed_call(refusal: HttpRefusal, text: str) -> CallError:
    """The error of an error status; `text` is for the log."""
    if refusal.code == 429 or refusal.code == 503:
        return CallError("busy" if refusal.code == 429 else "down", text, refusal.retry_after())
    if refusal.about_the_key:
        return CallError("key", text)
    if refusal.code == 404:
        return CallError("model", text)
    if refusal.code in (408, 504):
        return CallError("timeout", text)
    if refusal.code in (400, 413, 422, 500) and _TOO_LONG.search(refusal.message):
        return CallError("overlong", text)
    return CallError("refused" if 400 <= refusal.code < 500 else "down", text)


class RemoteEmbedder(ABC):
    """An `EmbeddingClient` behind a network, which is sent nothing before the first text. `dimensions` is the size that
    its vectors have; 0 until it is `measured`. `close` it when done."""

    def __init__(
        self, provider: str, model: str, *, dimensions: int, max_tokens: int, batch: int, pause: Pause
    ) -> None:
        """`batch`: texts that one call takes."""
        self._provider = provider
        self._model = model
        self.dimensions = dimensions
        self.max_tokens = max_tokens
        self._batch = batch
        self._before = prefixes(model)
        self._pause = pause

    @property
    def name(self) -> str:
        return f"{self._provider}:{self._model}@{self.dimensions}"

    async def measured(self) -> Self:
        """With the size of its vectors, for which the server is asked where it is not known. Raises EmbeddingError, and
        is closed then."""
        if not self.dimensions:
            try:
                (vector,) = await self._embed(["size"], "query", FOR_DOCUMENTS)
            except BaseException:
                await self.close()
                raise
            self.dimensions = len(vector)
        return self

    def count_tokens(self, text: str) -> int:
        """An estimate that is seldom too low (`estimated_tokens`)."""
        return estimated_tokens(self._before[0] + text)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return await self._embed([self._before[0] + text for text in texts], "document", FOR_DOCUMENTS)

    async def embed_query(self, text: str) -> Vector:
        return (await self.embed_queries([text]))[0]

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self._embed([self._before[1] + text for text in texts], "query", FOR_A_QUERY)

    async def _embed(self, texts: Sequence[str], kind: Kind, patience: RetryLimits) -> Vectors:
        """The unit vectors of `texts` in their order. Raises EmbeddingError."""
        name, wanted = f"{self._provider}:{self._model}", self.dimensions or None
        sender = _Sender(partial(self._call, kind), patience, self._pause)
        vectors: Vectors = []
        for start in range(0, len(texts), self._batch):
            some = [_sendable(text) for text in texts[start : start + self._batch]]
            try:
                found = await sender.send(some)
                vectors += _unit(found, len(some), name, wanted)
            except CallError as error:
                log.warning("embedding with %s failed (%s): %s", name, error.why, error)
                raise EmbeddingError(_WORDS[error.why], name=name) from error
        if sender.cut:
            log.warning(
                "%d of %d texts are longer than %s reads; what follows is left out of search by meaning",
                *(sender.cut, len(texts), name),
            )
        return vectors

    @abstractmethod
    async def _call(self, kind: Kind, texts: list[str]) -> Vectors:
        """One request for the vectors of some texts. Raises `CallError`."""

    @abstractmethod
    async def close(self) -> None: ...


@dataclass
class _Sender:
    """Sends what is refused in halves: servers take fewer texts, or less text, at once. Of a text that is longer than
    the model reads the beginning counts, as where a server cuts it off itself; Ollama no longer does (its issue 14186).
    """

    call: Call
    patience: RetryLimits
    pause: Pause
    cut: int = 0  # texts

    async def send(self, texts: list[str]) -> Vectors:
        try:
            return await _patiently(self.call, texts, self.patience, self.pause)
        except CallError as error:
            if error.why not in ("refused", "overlong"):
                raise
            if half := len(texts) // 2:
                return await self.send(texts[:half]) + await self.send(texts[half:])
            if error.why == "refused":
                raise
        return await self._beginning(texts[0])

    async def _beginning(self, text: str) -> Vectors:
        self.cut += 1
        while True:
            text = text[: int(len(text) * _KEPT)]
            try:
                return await _patiently(self.call, [text], self.patience, self.pause)
            except CallError as error:
                if error.why != "overlong" or len(text) < _SHORTEST:
                    raise


def _sendable(text: str) -> str:
    """Servers refuse an empty text, and half a surrogate pair cannot be sent."""
    return text.encode("utf-8", "replace").decode() if text.strip() else "."


async def _patiently(call: Call, texts: list[str], patience: RetryLimits, pause: Pause) -> Vectors:
    """Busy, broken and silent servers are tried again, after the time they ask for or a growing random one."""
    retrying = AsyncRetrying(
        stop=stop_after_attempt(patience.tries) | stop_before_delay(patience.seconds),
        wait=_wait,
        retry=retry_if_exception(lambda error: isinstance(error, CallError) and error.why in _MENDS),
        sleep=pause,
        reraise=True,
    )
    try:
        async with asyncio.timeout(patience.seconds):
            return await retrying(call, texts)
    except TimeoutError:
        raise CallError("timeout", f"no vectors within {patience.seconds:g} s") from None


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.wait if isinstance(error, CallError) else None
    return max(asked or 0.0, random.uniform(0, 2.0 ** (state.attempt_number - 1)))


def _unit(vectors: Vectors, count: int, name: str, dimensions: int | None) -> Vectors:
    """The vectors with length 1, whatever the server left them at (gemini-embedding-001 at a reduced size)."""
    if len(vectors) != count:
        raise CallError("reply", f"{len(vectors)} vectors for {count} texts")
    sizes = {len(vector) for vector in vectors}
    if len(sizes) != 1 or sizes == {0}:
        raise CallError("reply", f"vectors of the sizes {sorted(sizes)}")
    (size,) = sizes
    if dimensions is not None and size != dimensions:
        raise EmbeddingError(_OTHER_SIZE, name=name, got=size, wanted=dimensions)
    values = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths < 1e-12).any():
        raise CallError("reply", "a vector without direction")
    return cast(Vectors, (values / lengths).astype(np.float32).tolist())


_RUN = re.compile(r"[A-Za-z]+|[^\x00-\x7f]|[^\sA-Za-z]")
_WORD = 12  # letters; longer runs are seldom words


def estimated_tokens(text: str) -> int:
    """At least as many tokens as providers' tokenizers make of nearly all prose: they cannot be asked for each text.

    A word of letters counts a token for every four (for every two where it is too long to be a word), a digit, a sign
    or any other character one, a character outside the basic plane three.
    """
    tokens = 0
    for run in _RUN.findall(text):
        if run[0].isascii():
            tokens += math.ceil(len(run) / (4 if len(run) <= _WORD else 2))
        else:
            tokens += 1 if run <= "\uffff" else 3
    return tokens + 2  # special tokens at both ends
