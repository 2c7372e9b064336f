"""The promise of a chat model: a conversation in, parts out as they are produced, one message at the end."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agent.events import Cost
from retrieval.i18n import Language
from retrieval.providers import errors
from retrieval.types import Hit

# -- the conversation -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """The instructions, first in every conversation. `language`: of `text`, for a model that reads no prose."""

    text: str
    language: Language = "en"


@dataclass(frozen=True, slots=True)
class UserMessage:
    """`context`: what a model should know beside the text, and that nobody asked of it: others' words in the thread."""

    text: str
    context: str = ""

    @property
    def whole(self) -> str:
        return f"{self.context}\n\n{self.text}" if self.context else self.text


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """A model's reply, whole. `raw` is the provider's own message, returned to it untouched (signatures)."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    cost: Cost = field(default=Cost(), compare=False)
    cut: bool = False  # the output limit ended it
    raw: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """`content` is what the model reads, `summary` what people see, `hits` the passages behind it by their numbers."""

    content: str
    summary: str
    hits: tuple[Hit, ...] = ()
    numbers: tuple[int, ...] = ()  # the n of “Result n”, one a hit; what [n] in an answer refers to
    failed: bool = False
    partly: bool = False  # a part of the search was out of order: there may be better passages


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The results of the calls of the message before it, in their order."""

    results: tuple[tuple[ToolCall, ToolResult], ...]


Message = SystemMessage | UserMessage | ModelMessage | ToolMessage


# -- what comes back ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ThoughtPart:
    text: str


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str


Part = ThoughtPart | TextPart | ToolCall | ModelMessage
"""Thoughts, text and calls as they arrive; then one `ModelMessage` that holds text and calls whole."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A name, a JSON schema and an async function. `run` raises `BadCallError` for what the model may mend."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[..., Awaitable[ToolResult]] = field(compare=False)


Effort = Literal["low", "medium", "high"]
"""How much a model thinks before it speaks. None, wherever one may be given: as its provider does by itself."""


class ChatModel(Protocol):
    """`converse` yields `Part`s; the last one is the `ModelMessage`, to be appended to the conversation as it is.

    `schema` (a JSON schema) asks for one JSON object as the text; tools stay declared but are not called then.
    `effort` is for this call alone, instead of the one that the model was made with; where a provider has no such thing
    it is ignored. Raises only `ModelError`s.
    """

    @property
    def name(self) -> str: ...

    @property
    def thinks(self) -> bool:
        """Whether it shows its thinking as `ThoughtPart`s by itself, as far as is known by now."""

    @property
    def tools(self) -> bool | None:
        """False: its server has said that it cannot call tools, so it answers as if none were offered. None: not
        known yet."""

    def converse(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        schema: Mapping[str, Any] | None = None,
        effort: Effort | None = None,
    ) -> AsyncIterator[Part]: ...


class Wrapped:
    """The attributes by which a `ChatModel` around another one is known: what that one is."""

    _model: ChatModel

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def thinks(self) -> bool:
        return self._model.thinks

    @property
    def tools(self) -> bool | None:
        return self._model.tools


# -- failures -------------------------------------------------------------------------------------------------------


class ModelError(Exception):
    """The model gave no usable reply. Chained from the SDK's error; the text is for the log and holds no secret."""


class ModelBusy(ModelError):
    """Rate limit or overload."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelBlocked(ModelError):
    """The provider refused for safety; a polite refusal, no retry."""


class ModelUnavailable(ModelError):
    """Down, unreachable, timed out, or the key is not accepted."""

    def __init__(self, message: str, why: Literal["down", "timeout", "key", "model"] = "down") -> None:
        super().__init__(message)
        self.why = why


class ModelProtocolError(ModelError):
    """A reply that means nothing: malformed call, no parts, broken stream."""


class ModelOverlong(ModelError):
    """The conversation is longer than what the model can read: asking again would end the same."""


class ModelExhausted(ModelError):
    """Its thinking has used up all that it may write, twice, and nothing was said: asking again would end the same.
    `cost` is that of both tries."""

    def __init__(self, message: str, cost: Cost) -> None:
        super().__init__(message)
        self.cost = cost


# OpenAI, vLLM, llama.cpp, LM Studio, Ollama; Anthropic, Gemini, SGLang, TGI; Groq; xAI; Kimi; vLLM; Alibaba
_OVERLONG = re.compile(
    r"context[ _](?:length|size|window)|\b(?:prompt|inputs?)\b[^.\n]{0,40}(?:too long|exceeds|must have less)"
    r"|reduce the length|maximum prompt length|model token limit|too many tokens"
    r"|longer than the maximum model length|range of input length",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Refusal(errors.HttpRefusal):
    """A provider's HTTP refusal. Plain values, no SDK."""

    @property
    def overlong(self) -> bool:
        return self.code == 413 or bool(_OVERLONG.search(self.message))

    def as_error(self, text: str) -> ModelError:
        """`text` is for the log."""
        if self.code in (429, 529):  # 529: Anthropic's word for an overload, which gateways pass on
            return ModelBusy(text, self.retry_after())
        if self.overlong:
            return ModelOverlong(text)
        if self.about_the_key:
            return ModelUnavailable(text, "key")
        if self.code == 404:
            return ModelUnavailable(text, "model")
        if self.code in (408, 504):
            return ModelUnavailable(text, "timeout")
        if 400 <= self.code < 500:
            return ModelProtocolError(text)
        return ModelUnavailable(text, "down")


# -- deadlines ------------------------------------------------------------------------------------------------------

_due: ContextVar[float | None] = ContextVar("due", default=None)


@contextmanager
def due(moment: float | None) -> Iterator[None]:
    """A deadline: the result awaited in the block is of no use after `moment`, in loop time; whoever is called sees it
    in `deadline`, without its being handed through. It ends nothing by itself.

    Not to be held over a `yield`: it belongs to the task that awaits.
    """
    token = _due.set(moment)
    try:
        yield
    finally:
        _due.reset(token)


def deadline() -> float | None:
    """The moment in loop time; None: nobody has set one."""
    return _due.get()
