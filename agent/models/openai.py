"""Any OpenAI-compatible server (OpenAI, Ollama, vLLM, llama.cpp): our conversation as chat completions, the streamed
deltas as our parts, its failures as ours.

Spoken over httpx2 with its server-sent events and not through OpenAI's SDK: it is one endpoint, the SDK types what
OpenAI sends while this has to read what the others send (whole calls in one delta, no ids, reasoning under several
names, errors inside the stream), and httpx2 is here anyway. Source: platform.openai.com/docs/api-reference/chat.
"""

import json
import logging
import re
from asyncio import get_running_loop, timeout
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import httpx2
from pydantic import SecretStr

from agent.events import Cost
from agent.models.base import (
    Effort,
    Message,
    ModelBlocked,
    ModelBusy,
    ModelError,
    ModelExhausted,
    ModelProtocolError,
    ModelUnavailable,
    Part,
    Refusal,
    ThoughtPart,
    Tool,
)
from agent.models.openai_stream import Reply
from agent.models.turns import NOT_MADE, Own, Plain, Results, turns
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

log = logging.getLogger(__name__)

Json = dict[str, Any]

OUTPUT_TOKENS = 8_192  # thinking counts towards it
MORE_OUTPUT_TOKENS = 32_768
LINGER_SECONDS = 5.0  # for the usage that follows a reply which is whole

_WHOLE_REPLY_BYTES = 8 * 2**20
_TOKEN_CHARACTERS = 6  # more than any text has on average; half as many of the East Asian scripts


class OpenAIModel:
    """A `ChatModel`. `timeout` is the limit in seconds of one call, from its start to the end of its stream.

    `key` may be None; `base_url` is with or without `/v1`. `effort` goes out as `reasoning_effort`. Nothing is retried
    but what the server would refuse or cut again in the same form (see `converse`): waiting and trying again is the
    caller's. `close` it when done.
    """

    def __init__(
        self,
        model: str,
        *,
        key: SecretStr | str | None = None,
        base_url: str | None = None,
        effort: Effort | None = None,
        timeout: float = 60,
    ) -> None:
        self._model = model
        self._effort = effort
        self._key = secret(key)
        self._url = endpoint(base_url, "chat/completions")
        self._timeout = timeout
        self._http = client(timeout)
        self._refused: frozenset[str] = frozenset()  # what this server does not take, see `_simpler`
        self._thinks = False  # until a reply has shown its reasoning
        self._called = False
        self._cuts = False  # its server has been seen to

    @property
    def name(self) -> str:
        return f"openai:{self._model}"

    @property
    def thinks(self) -> bool:
        return self._thinks

    @property
    def tools(self) -> bool | None:
        return False if "tools" in self._refused else self._called or None

    async def close(self) -> None:
        await self._http.aclose()

    async def converse(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        schema: Mapping[str, Any] | None = None,
        effort: Effort | None = None,
    ) -> AsyncIterator[Part]:
        """As `ChatModel` says. A call is made again at once when the server refuses a part of it that it can do
        without (see `_simpler`), and once with a larger limit and less thinking when that used up the whole output.

        Calls come whole, at the end of the stream. Text before a lone `</think>` is no part of the message.
        """
        effort = effort or self._effort
        offered = () if "tools" in self._refused else tools
        declared = () if "own" in self._refused else {tool.name for tool in offered}
        conversation = _conversation(messages, self._model, declared)
        if not any(message["role"] != "system" for message in conversation):
            raise ModelProtocolError("there is nothing to reply to")
        if not sendable(self._key):
            raise ModelUnavailable("the key holds characters that no key has", "key")
        without, limit, spent, again = self._refused, OUTPUT_TOKENS, Cost(), False
        while True:
            reply, begun = Reply(), False
            body = _body(self._model, conversation, offered, schema, effort, without, limit)
            sent = encoded(body)
            try:
                async with aclosing(self._stream(sent, reply)) as chunks:
                    async for chunk in chunks:
                        for part in reply.read(chunk):
                            begun = True
                            self._thinks = self._thinks or isinstance(part, ThoughtPart)
                            yield part
            except _RefusedError as refusal:
                less = None if begun else _simpler(refusal.complaint, body, without)
                if less is None:
                    raise self._declined(refusal.complaint) from None
                without |= {less}
                if less == "thinking":
                    log.warning("%s takes tools only where it does not think before it speaks", self.name)
                if less == "own":
                    conversation = _conversation(messages, self._model, ())
                if less == "tools":
                    log.warning("%s takes no tools; it is asked without from now on", self.name)
                    self._refused |= {less}
                    offered, conversation = (), _conversation(messages, self._model, ())
                continue
            for part in reply.end():
                yield part
            self._refused |= without
            self._look_at(reply.cost.input_tokens, sent)
            spent += reply.cost
            if reply.cut and not reply.says_something:
                if again:
                    text = f"nothing was said within {limit} tokens; KOTAE_THINKING=low makes it think less"
                    raise ModelExhausted(text, spent)
                limit, effort, again = MORE_OUTPUT_TOKENS, "low", True
                continue
            if schema is not None:
                reply.find_in_thoughts()
            message = replace(reply.message(self._model), cost=spent)
            self._called = self._called or bool(message.calls)
            for call in message.calls:
                yield call
            yield message
            return

    def _look_at(self, read: int, sent: bytes) -> None:
        """Ollama answers a conversation that is longer than its context as if nothing were left out (its PR 17944).
        `read`: tokens; 0: it does not say."""
        if self._cuts or not read:
            return
        tokens = _fewest_tokens(sent)
        if read < tokens:
            self._cuts = True
            log.warning(
                "%s was sent some %d tokens and says that it has read %d: its context is too small, and something is"
                " left out. Give it 16,000 at least (Ollama: OLLAMA_CONTEXT_LENGTH)",
                *(self.name, tokens, read),
            )

    async def _stream(self, sent: bytes, reply: Reply) -> AsyncGenerator[Json, None]:
        """The chunks of one call; its time limit counts the waiting for them, not what the caller does between.

        Once `reply` is whole, whatever goes wrong with the rest of the stream is no matter.
        """
        clock, left = get_running_loop().time, self._timeout
        async with aclosing(self._chunks(sent, reply)) as chunks:
            while True:
                started = clock()
                try:
                    async with timeout(min(left, LINGER_SECONDS) if reply.finish else left):
                        chunk = await anext(chunks)
                except (StopAsyncIteration, _RefusedError) as end:
                    if isinstance(end, _RefusedError) and not reply.finish:
                        raise
                    return
                except Exception as error:
                    if reply.finish:
                        return
                    raise self._failed(error) from self._cause(error)
                left -= clock() - started
                yield chunk

    async def _chunks(self, sent: bytes, reply: Reply) -> AsyncGenerator[Json, None]:
        async with self._http.sse(self._url, method="POST", content=sent, headers=headers(self._key)) as source:
            response = source.response
            if not response.is_success:
                complaint = await refused(response)
                raise _RefusedError(complaint) if _mendable(complaint) else self._declined(complaint)
            kind = response.headers.get("content-type", "")
            if kind.startswith("application/json"):
                yield self._chunk(await _whole(response))  # from a server that does not stream
                reply.done()
                return
            if not kind.startswith("text/html"):  # servers of a few lines name their stream as they like
                response.headers["content-type"] = "text/event-stream"
            async with aclosing(aiter(source)) as events:  # type: ignore[type-var]  # a generator, typed as an iterator
                async for event in events:
                    if event.data.strip() == "[DONE]":
                        reply.done()
                        return
                    if event.data.strip():
                        yield self._chunk(event.data)

    def _chunk(self, data: str | bytes) -> Json:
        chunk = json.loads(data)
        if not isinstance(chunk, dict):
            raise ModelProtocolError("a chunk that is no object")
        if complaint := complaint_in(chunk):
            raise _RefusedError(complaint) if _mendable(complaint) else self._declined(complaint)
        return chunk

    # -- failures ---------------------------------------------------------------------------------------------------

    def _declined(self, complaint: Complaint) -> ModelError:
        text = without_key(complaint.described(), self._key)
        if complaint.words & _BLOCKED or (complaint.refusal.code == 403 and _FLAGGED.search(complaint.message)):
            return ModelBlocked(text)
        if complaint.unpaid:
            return ModelBusy(text, complaint.retry_after())
        if _not_there(complaint):
            return ModelUnavailable(text, "model")
        return _refusal(complaint).as_error(text)

    def _failed(self, error: Exception) -> ModelError:
        described = without_key(f"{type(error).__name__}: {error}", self._key)
        match error:
            case ModelError():
                return error
            case TimeoutError() | httpx2.TimeoutException():
                return ModelUnavailable(described, "timeout")
            case json.JSONDecodeError() | UnicodeDecodeError():
                return ModelUnavailable("the reply is not JSON: a proxy's page, or cut off", "down")
            case httpx2.HTTPError() | OSError():
                return ModelUnavailable(described, "down")
        return ModelProtocolError(f"a reply of unknown shape: {type(error).__name__}")

    def _cause(self, error: Exception) -> BaseException | None:
        """The error to chain from, unless its text has the key in it or quotes the reply, which is for no log."""
        if isinstance(error, ModelError):
            return error.__cause__
        unfit = isinstance(error, ValueError) or without_key(str(error), self._key) != str(error)
        return None if unfit else error


class _RefusedError(Exception):
    """Perhaps the same request in a simpler form will do."""

    def __init__(self, complaint: Complaint) -> None:
        super().__init__()
        self.complaint = complaint


_BLOCKED = frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation"})
_FLAGGED = re.compile(r"flagged|moderation", re.IGNORECASE)  # OpenRouter's 403, which is not about the key
_NO_MODEL = frozenset({"model_not_found", "model_not_active", "invalid_model"})
_NOT_THERE = re.compile(  # with status 400: DeepSeek; OpenRouter; LiteLLM and Mistral; LM Studio
    r"model (?:does )?not exist|not a valid model|invalid model(?: name|:)|no models? loaded", re.IGNORECASE
)
# Ollama, Groq, DeepSeek and LiteLLM; OpenAI; who knows no such field; OpenRouter (404); vLLM; llama.cpp (500 in some
# versions).
_NO_TOOLS = re.compile(
    r"(?:not|n't) support (?:parameters: \[')?(?:tool|function.?call)"
    r"|(?:tool|function).?call(?:s|ing)?\W+(?:is|are) not supported"
    r"|^tools is not supported|supplied: tools|^body\.tools: "
    r"|found that support tool use|enable-auto-tool-choice|requires --jinja|function tools with reasoning_effort",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(r"system role not supported|roles must alternate", re.IGNORECASE)  # templates of Gemma, Mistral

# What a request can do without: the fields that are it, and how refusals name it. `max_tokens` is that name for the
# limit (OpenAI's newer models have another), `limit` any; the form of a `schema` is asked for by the prompt as well.
# `own`: calls with the reasoning before them, which some servers send and do not take back, and others miss where they
# have sent none, or which a template has no role for (Gemma's); they are told as text then.
# OpenAI streams some models to organisations only that have shown who they are (openai/codex issue 1982); its models
# that think by themselves take tools here with an effort of "none" at most (LiteLLM PR 34569).
_SPARE: Mapping[str, tuple[frozenset[str], re.Pattern[str]]] = {
    "thinking": (frozenset({"tools"}), re.compile(r"function tools with reasoning_effort")),
    "tools": (frozenset({"tools"}), _NO_TOOLS),
    "system": (frozenset({"system"}), _NO_SYSTEM),
    "own": (
        frozenset({"own"}),
        re.compile(r"reasoning_content|propert(?:y|ies)\b.*\breasoning\b|roles must alternate"),
    ),
    "usage": (frozenset({"stream_options"}), re.compile(r"stream_options|include_usage")),
    "stream": (frozenset({"stream"}), re.compile(r"verified to stream|stream\w* (?:is|are) not|not support stream")),
    "max_tokens": (frozenset({"max_tokens"}), re.compile(r"use\W+max_completion_tokens")),
    "limit": (
        frozenset({"max_tokens", "max_completion_tokens"}),
        re.compile(
            r"max_(?:completion_|new_)?tokens|output tokens|(?:in|for|or) (?:the )?(?:completion|output)"
            r"|request too large"
        ),
    ),
    "effort": (frozenset({"reasoning_effort"}), re.compile(r"reasoning|effort|think")),
    "schema": (frozenset({"response_format"}), re.compile(r"response_format|json_schema|grammar|structured")),
}
_UNNAMED = ("schema", "effort")  # what a refusal that names nothing may be about


def _mendable(complaint: Complaint) -> bool:
    return complaint.refusal.code in (400, 413, 422) or any(
        words.search(complaint.message) for words in (_NO_TOOLS, _NO_SYSTEM)
    )


def _simpler(complaint: Complaint, body: Json, without: frozenset[str]) -> str | None:
    """The part of this request to leave out of the next try; None: it would be refused all the same."""
    if complaint.refusal.about_the_key or complaint.words & _BLOCKED or _not_there(complaint):
        return None
    said = complaint.message.lower()
    named: Sequence[str] = [part for part, (_, words) in _SPARE.items() if words.search(said)]
    if not named and not _refusal(complaint).overlong:
        named = _UNNAMED
    said_before = body["messages"]
    there = {*body, *(["system"] if said_before[0]["role"] == "system" else [])}
    there |= {"own" for message in said_before if "tool_calls" in message}
    return next((part for part in named if part not in without and there & _SPARE[part][0]), None)


def _not_there(complaint: Complaint) -> bool:
    return bool(complaint.words & _NO_MODEL or _NOT_THERE.search(complaint.message))


def _refusal(complaint: Complaint) -> Refusal:
    said = complaint.refusal
    return Refusal(said.code, said.status, said.message, said.details, said.headers)


async def _whole(response: httpx2.Response) -> bytes:
    read = bytearray()
    async for piece in response.aiter_bytes():
        read += piece
        if len(read) > _WHOLE_REPLY_BYTES:
            raise ModelProtocolError("a reply without end")
    return bytes(read)


# -- our conversation as theirs -------------------------------------------------------------------------------------


def _fewest_tokens(sent: bytes) -> int:
    """That a request in UTF-8 can have; a character of the East Asian scripts is three bytes, and counts twice."""
    characters = len(sent.decode())
    return (characters + (len(sent) - characters) // 2) // _TOKEN_CHARACTERS


def _body(
    model: str,
    conversation: list[Json],
    tools: Sequence[Tool],
    schema: Mapping[str, Any] | None,
    effort: Effort | None,
    without: frozenset[str],
    limit: int,
) -> Json:
    body: Json = {"model": model, "messages": conversation}
    if "system" in without and conversation[0]["role"] == "system":
        system, first, *rest = conversation  # the first turn is always the user's
        body["messages"] = [{**first, "content": f"{system['content']}\n\n{first['content']}"}, *rest]
    if "stream" not in without:
        body |= {"stream": True} | ({"stream_options": {"include_usage": True}} if "usage" not in without else {})
    if "limit" not in without:
        body["max_completion_tokens" if "max_tokens" in without else "max_tokens"] = limit
    asked = "none" if tools and "thinking" in without else effort
    if asked and "effort" not in without:
        body["reasoning_effort"] = asked
    if tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
            }
            for tool in tools
        ]
    if tools and schema is not None:
        body["tool_choice"] = "none"
    if schema is not None and "schema" not in without:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(schema)}}
    return body


def _conversation(messages: Sequence[Message], model: str, declared: Collection[str]) -> list[Json]:
    system, said = turns(messages, model, declared)
    conversation: list[Json] = [{"role": "system", "content": system}] if system.strip() else []
    for turn in said:
        match turn:
            case Plain(role, text) if (
                conversation and conversation[-1].keys() == {"role", "content"} and (conversation[-1]["role"] == role)
            ):  # many chat templates refuse two in a row
                conversation[-1]["content"] += f"\n\n{text}"
            case Plain(role, text):
                conversation.append({"role": role, "content": text})
            case Own():
                conversation.append(dict(turn.message))
            case Results(results):
                conversation += [
                    {"role": "tool", "tool_call_id": call.id, "content": result.content if result else NOT_MADE}
                    for call, result in results
                ]
    return conversation
