"""Gemini through google-genai: our conversation as its Contents, its stream as our parts, its failures as ours.
The SDK takes a second to load, so this module is imported where the model is chosen (`bot/config/models.py`)."""

import json
import logging
import re
from asyncio import get_running_loop, timeout
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import httpx2
from google import genai
from google.genai import errors, types
from pydantic import SecretStr

from agent.events import Cost
from agent.models.base import (
    Effort,
    Message,
    ModelBlocked,
    ModelError,
    ModelExhausted,
    ModelMessage,
    ModelProtocolError,
    ModelUnavailable,
    Part,
    Refusal,
    TextPart,
    ThoughtPart,
    Tool,
    ToolCall,
    ToolResult,
)
from agent.models.turns import NOT_MADE, Own, Plain, Results, turns
from retrieval.providers.gemini_http import Versions, client, options, refusal_in

log = logging.getLogger(__name__)

OUTPUT_TOKENS = 8_192  # thinking counts towards it
MORE_OUTPUT_TOKENS = 32_768

# Finish reasons (R22). With any other, also one that nobody knows yet, what came counts if there is any.
_BLOCKED = {
    *("SAFETY", "PROHIBITED_CONTENT", "SPII", "BLOCKLIST", "RECITATION", "LANGUAGE"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
    *("ESCALATION", "PUP_LIMITED_DISABLED", "MODEL_ARMOR"),
}
_CUT = {"MAX_TOKENS", "CONTINUATION"}
_USELESS = {
    *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"),
    *("MALFORMED_RESPONSE", "OTHER", "IMAGE_OTHER", "NO_IMAGE", "FINISH_REASON_UNSPECIFIED"),
}

# Before generation 3 thinking has a budget in tokens instead of a level. Source: ai.google.dev/gemini-api/docs/openai
# (“Thinking”), which maps the one to the other so; what a model of that generation would spend on it may exceed the
# smaller output limit.
_BUDGETS: Mapping[Effort, int] = {"low": 1_024, "medium": 8_192, "high": 24_576}
_BY_BUDGET = re.compile(r"gemini-2\.5\b")


class GeminiModel:
    """A `ChatModel`. `timeout` is the limit in seconds of one call, from its start to the end of its stream.

    Nothing is retried but what the server would refuse or cut again in the same form (see `converse`): waiting and
    trying again is the caller's. `close` it when done.
    """

    def __init__(
        self,
        model: str,
        *,
        key: SecretStr | str,
        base_url: str | None = None,
        api_version: str | None = None,
        effort: Effort | None = None,
        timeout: float = 60,
    ) -> None:
        self._model = model
        self._effort = effort
        self._key = key if isinstance(key, SecretStr) else SecretStr(key)
        if not self._key.get_secret_value().strip():
            raise ValueError("Gemini needs a key")
        self._timeout = timeout
        self._versions = Versions(api_version)
        self._refused: frozenset[str] = frozenset()  # what it does not take, see `_simpler`
        self._thinks = True  # until a reply has come without; once one has come with thoughts, for good
        self._thought = False
        self._http = client()
        self._client = genai.Client(
            vertexai=False,
            api_key=self._key.get_secret_value(),
            http_options=types.HttpOptions(**options(self._http, base_url, self._versions.now, timeout)),
        )

    @property
    def name(self) -> str:
        return f"gemini:{self._model}"

    @property
    def thinks(self) -> bool:
        return self._thinks and "thoughts" not in self._refused

    @property
    def tools(self) -> bool:
        return "tools" not in self._refused

    async def close(self) -> None:
        await self._http.aclose()
        await self._client.aio.aclose()
        self._client.close()

    async def converse(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        schema: Mapping[str, Any] | None = None,
        effort: Effort | None = None,
    ) -> AsyncIterator[Part]:
        """As `ChatModel` says. A call is made again at once where the version of the API does not know the model or a
        word (see `Versions`), where the server refuses a reply schema beside tools, the level of thinking, the request
        for its summaries or tools (then without) or a system instruction (then in the first turn), and where thinking
        used up the whole output (then with a larger limit and less of it)."""
        offered = () if "tools" in self._refused else tools
        system, contents = _conversation(messages, self._model, {tool.name for tool in offered})
        if not contents:
            raise ModelProtocolError("there is nothing to reply to")
        effort = effort or self._effort
        budgeted = bool(_BY_BUDGET.match(self._model)) and effort in ("medium", "high")
        limit = MORE_OUTPUT_TOKENS if budgeted else OUTPUT_TOKENS
        without, spent, again = self._refused, Cost(), False
        while True:
            reply, version = _Reply(), self._versions.now
            thinking = _thinking(self._model, effort, without)
            led = "system" in without
            config = _config("" if led else system, offered, schema, thinking, without, limit)
            config.http_options = types.HttpOptions(api_version=version)
            try:
                async with aclosing(self._stream(_led(system, contents) if led else contents, config)) as chunks:
                    async for chunk in chunks:
                        for part in reply.read(chunk):
                            self._thought = self._thought or isinstance(part, ThoughtPart)
                            yield part
            except errors.APIError as refusal:
                if self._versions.changes(version, refusal_in(refusal, Refusal)):
                    continue
                less = _simpler(refusal, config)
                if less is None:
                    raise self._failed(refusal) from self._cause(refusal)
                without |= {less}
                if less == "tools":
                    log.warning("%s takes no tools; it is asked without from now on", self.name)
                    self._refused |= {less}
                    offered, contents = (), _conversation(messages, self._model, ())[1]
                continue
            self._refused |= without
            self._thinks = self._thought
            spent += reply.cost
            if reply.finish in _CUT and not reply.says_something:
                if again:
                    text = f"nothing was said within {limit} tokens; KOTAE_THINKING=low makes it think less"
                    raise ModelExhausted(text, spent)
                limit, effort, again = MORE_OUTPUT_TOKENS, "low", True
                continue
            yield replace(reply.message(self._model), cost=spent)
            return

    async def _stream(
        self, contents: list[types.Content], config: types.GenerateContentConfig
    ) -> AsyncGenerator[types.GenerateContentResponse, None]:
        """The chunks of one call; its time limit counts the waiting for them, not what the caller does between.
        Raises ModelError, and the SDK's own for status 400 and 404 at the begin: perhaps a simpler form of the request
        will do, or another version of the API."""
        chunks = aiter(
            await self._client.aio.models.generate_content_stream(
                model=self._model,
                contents=contents,
                config=config,
            )
        )
        clock, left, begun = get_running_loop().time, self._timeout, False
        while True:
            started = clock()
            try:
                async with timeout(left):
                    chunk = await anext(chunks)
            except StopAsyncIteration:
                return
            # Beside its own errors the SDK lets through what its HTTP client, `json` and pydantic raise, and the
            # TypeErrors of replies in an unknown shape.
            except Exception as error:
                if isinstance(error, errors.APIError) and error.code in (400, 404) and not begun:
                    raise
                raise self._failed(error) from self._cause(error)
            left -= clock() - started
            begun = True
            yield chunk

    def _failed(self, error: Exception) -> ModelError:
        text = self._without_key(_described(error))
        match error:
            case errors.APIError():
                return refusal_in(error, Refusal).as_error(text)
            case TimeoutError() | httpx2.TimeoutException():
                return ModelUnavailable(text, "timeout")
            case httpx2.LocalProtocolError() | UnicodeEncodeError():  # a header that cannot be sent: the key's
                return ModelUnavailable("the key holds characters that no key has", "key")
            case errors.UnknownApiResponseError() | json.JSONDecodeError():  # a proxy's page, or cut in mid-chunk
                return ModelUnavailable(text, "down")
            case httpx2.HTTPError() | httpx2.InvalidURL() | OSError():
                return ModelUnavailable(text, "down")
        return ModelProtocolError(text)

    def _cause(self, error: Exception) -> Exception | None:
        """The error to chain from, unless its text has the key in it or quotes the reply, which is for no log."""
        unfit = isinstance(error, ValueError | httpx2.LocalProtocolError) or self._without_key(str(error)) != str(error)
        return None if unfit else error

    def _without_key(self, text: str) -> str:
        return text.replace(self._key.get_secret_value().strip(), "[key]")


# -- our conversation as theirs -------------------------------------------------------------------------------------


_NO_CALLS = types.ToolConfig(
    function_calling_config=types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode.NONE)
)


def _thinking(model: str, effort: Effort | None, without: Collection[str]) -> types.ThinkingConfig | None:
    if "thoughts" in without:
        return None
    if effort is None or "effort" in without:
        return types.ThinkingConfig(include_thoughts=True)
    if _BY_BUDGET.match(model):
        return types.ThinkingConfig(include_thoughts=True, thinking_budget=_BUDGETS[effort])
    return types.ThinkingConfig(include_thoughts=True, thinking_level=types.ThinkingLevel(effort.upper()))


def _config(
    system: str,
    tools: Sequence[Tool],
    schema: Mapping[str, Any] | None,
    thinking: types.ThinkingConfig | None,
    without: Collection[str],
    limit: int,
) -> types.GenerateContentConfig:
    reply = _schema(schema) if schema is not None and "schema" not in without else None
    declared = [
        types.FunctionDeclaration(
            name=tool.name,
            description=tool.description,
            parameters=_schema(tool.parameters) if tool.parameters.get("properties") else None,  # never an empty object
        )
        for tool in tools
    ]
    return types.GenerateContentConfig(
        system_instruction=system or None,
        tools=[types.Tool(function_declarations=declared)] if declared else None,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        automatic_continuation=False,
        tool_config=_NO_CALLS if declared and schema is not None else None,
        thinking_config=thinking,
        max_output_tokens=limit,
        response_mime_type="application/json" if reply else None,
        response_schema=reply,
    )


def _conversation(
    messages: Sequence[Message], model: str, declared: Collection[str]
) -> tuple[str, list[types.Content]]:
    """The system instruction, and the rest as contents that alternate between user and model."""
    system, said = turns(messages, model, declared)
    contents: list[types.Content] = []
    ids: list[str | None] = []  # of the calls that wait for their results, where the API gave one
    for turn in said:
        role = "user"
        match turn:
            case Plain():
                role = "user" if turn.role == "user" else "model"
                parts = [types.Part(text=turn.text)]
            case Own():
                role, parts = "model", turn.message.parts or []
                ids = [part.function_call.id for part in parts if part.function_call]
            case Results():
                parts = [_result(call, id, result) for (call, result), id in zip(turn.results, ids, strict=True)]
        if contents and contents[-1].role == role:
            parts = [*(contents.pop().parts or ()), *parts]
        contents.append(types.Content(role=role, parts=parts))
    return system, contents


def _led(system: str, contents: Sequence[types.Content]) -> list[types.Content]:
    """The contents with the system instruction in front of their first turn, which is the user's."""
    first, *rest = contents
    return [types.Content(role=first.role, parts=[types.Part(text=system), *(first.parts or ())]), *rest]


def _result(call: ToolCall, id: str | None, result: ToolResult | None) -> types.Part:
    """The message that answers a call: every one is answered, in the calls' order, since the API counts them."""
    kind = "error" if result is None or result.failed else "output"
    response = {kind: result.content if result else NOT_MADE}
    return types.Part(function_response=types.FunctionResponse(id=id, name=call.name, response=dict(response)))


_COPIED = {
    *("description", "enum", "format", "pattern", "required", "title", "default"),
    *("minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength"),
}


def _schema(source: Mapping[str, Any]) -> types.Schema:
    """A JSON schema in the API's own dialect, which every stand-in reads; words the dialect lacks are left out."""
    shown: dict[str, Any] = {word: source[word] for word in source if word in _COPIED}
    shown["type"] = types.Type(source["type"].upper())
    if source.get("properties"):
        shown["properties"] = {name: _schema(inner) for name, inner in source["properties"].items()}
    if source.get("items"):
        shown["items"] = _schema(source["items"])
    return types.Schema.model_validate(shown)


# -- their stream as our parts --------------------------------------------------------------------------------------

_EMPTY = [types.Part(text=text, thought=thought) for text in (None, "") for thought in (None, False, True)]


@dataclass(slots=True)
class _Reply:
    """One streamed reply, gathered. `parts` are the provider's, as they came."""

    parts: list[types.Part] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    finish: str = ""
    refused: str = ""  # why the prompt was
    cost: Cost = field(default_factory=lambda: Cost(calls=1))

    @property
    def says_something(self) -> bool:
        return bool(self.calls or self.text.strip())

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if part.text and not part.thought)

    def read(self, chunk: types.GenerateContentResponse) -> Iterator[Part]:
        """The parts of one chunk."""
        if usage := chunk.usage_metadata:  # each chunk's figures include those before
            self.cost = Cost(
                1,
                (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0),
                usage.candidates_token_count or 0,
                usage.thoughts_token_count or 0,
            )
        if chunk.prompt_feedback and chunk.prompt_feedback.block_reason:
            self.refused = chunk.prompt_feedback.block_reason.value
        if not chunk.candidates:
            return
        candidate = chunk.candidates[0]
        for part in (candidate.content and candidate.content.parts) or ():
            if not part.text and part in _EMPTY:
                continue  # would be refused when sent back
            self.parts.append(part)
            if part.function_call:
                call = part.function_call
                self.calls.append(ToolCall(call.id or f"call-{uuid4().hex[:12]}", call.name or "", call.args or {}))
                yield self.calls[-1]
            elif part.text:
                yield ThoughtPart(part.text) if part.thought else TextPart(part.text)
        if candidate.finish_reason:
            self.finish = candidate.finish_reason.value

    def message(self, model: str) -> ModelMessage:
        """The whole reply, or the `ModelError` that its finish reason stands for. For after the end of the stream: the
        SDK logs an error for one that is left before."""
        if self.refused:
            raise ModelBlocked(f"the prompt was blocked: {self.refused}")
        if self.finish in _BLOCKED:
            raise ModelBlocked(f"the reply was blocked: {self.finish}")
        if not self.finish:
            raise ModelUnavailable("the stream ended before the reply did", "down")
        if self.finish in _USELESS or not self.says_something:
            raise ModelProtocolError(f"a reply without use: {self.finish}, {len(self.parts)} parts")
        said = Own(model, types.Content(role="model", parts=self.parts))
        return ModelMessage(self.text, tuple(self.calls), self.cost, cut=self.finish in _CUT, raw=said)


# -- their failures as ours -----------------------------------------------------------------------------------------


_NAMED: Mapping[str, Sequence[str]] = {  # the first two: Gemma
    r"(?:developer|system) instruction is not": ("system",),
    r"function calling is not": ("tools",),
    r"think|thought": ("effort", "thoughts"),
}
_UNNAMED = ("schema", "effort", "thoughts")


def _simpler(error: errors.APIError, config: types.GenerateContentConfig) -> str | None:
    """The part to leave out of the next try, by the name in the refusal; if it names nothing, the rarer thing
    first."""
    said = refusal_in(error, Refusal)
    message = said.message.lower()
    if (
        said.code != 400
        or said.about_the_key
        or said.overlong
        or said.status not in ("INVALID_ARGUMENT", "")
        or "signature" in message
    ):
        return None
    thinking = config.thinking_config
    levelled = thinking is not None and (thinking.thinking_level or thinking.thinking_budget) is not None
    there = {
        "system": config.system_instruction is not None,
        "tools": bool(config.tools),
        "schema": config.response_schema is not None,
        "effort": levelled,
        "thoughts": thinking is not None,
    }
    about = next((parts for words, parts in _NAMED.items() if re.search(words, message)), _UNNAMED)
    return next((part for part in about if there[part]), None)


def _described(error: Exception) -> str:
    """For the log: kind, status and the server's words; never a body that may quote the conversation."""
    if isinstance(error, errors.APIError):
        message = " ".join(str(error.message or "").split())[:300]
        page = message.startswith("<")  # some proxy's
        return f"{error.code} {error.status or ''}: {'a page instead of JSON' if page else message}"
    if isinstance(error, errors.UnknownApiResponseError | json.JSONDecodeError):
        return "the reply is not JSON: a proxy's page, or cut off"
    return (
        type(error).__name__ if isinstance(error, ValueError) or not str(error) else f"{type(error).__name__}: {error}"
    )
