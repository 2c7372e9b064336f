"""What OpenAI-compatible servers refuse, in their own words."""

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any, Literal

Json = dict[str, Any]
Resizes = Literal["makes", "refuses", "ignores"]

_BODY = {
    *("model", "messages", "stream", "stream_options", "tools", "tool_choice", "response_format", "temperature"),
    *("max_tokens", "max_completion_tokens", "top_p", "parallel_tool_calls", "stop", "seed", "reasoning_effort"),
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True)
class Rules:
    """`wrong` and `wrong_embedding` yield what is wrong with a request; see `FakeOpenAI` for the fields. `reasoning`:
    the fields of its thinking that the server has sent, and so takes back."""

    without: frozenset[str]
    alternates: bool
    resizes: Resizes
    at_once: int = 32

    def wrong(self, body: Json, reasoning: Set[str]) -> Iterator[str]:
        yield from (f"Unrecognized request argument supplied: {name}" for name in body.keys() - _BODY)
        if "stream_options" in body and ("usage" in self.without or not body.get("stream")):
            yield "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options')}]"
        if body.get("stream") and "stream" in self.without:
            yield (
                "Your organization must be verified to stream this model. Please go to:"
                " https://platform.openai.com/settings/organization/general and click on Verify Organization."
            )
        if "max_tokens" in body and "max_completion_tokens" in body:
            yield "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        if "max_tokens" in body and "max_tokens" in self.without:
            yield (
                "Unsupported parameter: 'max_tokens' is not supported with this model."
                " Use 'max_completion_tokens' instead."
            )
        if "limit" in self.without and ("max_tokens" in body or "max_completion_tokens" in body):
            yield (
                "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is"
                " 4096 tokens and your request has 300 input tokens."
            )
        tools = body.get("tools")
        if tools is not None and not tools:
            yield "Invalid 'tools': empty array. Expected an array with minimum length 1."
        if tools and "tools" in self.without:
            yield "registry.ollama.ai/library/gemma:2b does not support tools"
        if "tool_choice" in body and not tools:
            yield "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
        for tool in tools or ():
            made = tool.get("function", {})
            if tool.get("type") != "function" or not _NAME.fullmatch(made.get("name", "")):
                yield "Invalid 'tools[0].function.name': string does not match pattern."
            if made.get("parameters", {"type": "object"}).get("type") != "object":
                yield "Invalid schema for function: schema must be a JSON Schema of 'type: \"object\"'."
            yield from _wrong_schema(made.get("parameters", {"properties": {}}))
        if tools and "thinking" in self.without and body.get("reasoning_effort") != "none":
            yield (
                "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions."
                " To use function tools, use /v1/responses or set reasoning_effort to 'none'."
            )
        if body.get("reasoning_effort") == "none" and "none" in self.without:
            yield "Unsupported value: 'reasoning_effort' does not support 'none' with this model."
        if "reasoning_effort" in body and "effort" in self.without:
            yield "Unsupported parameter: 'reasoning_effort' is not supported with this model."
        form = body.get("response_format")
        if form and "schema" in self.without:
            yield "'response_format' of type 'json_schema' is not supported with this model"
        if form and not (form.get("type") == "json_schema" and _NAME.fullmatch(form["json_schema"].get("name", ""))):
            yield "Missing required parameter: 'response_format.json_schema.name'."
        yield from self._wrong_messages(body.get("messages") or [], reasoning)

    def _wrong_messages(self, messages: list[Json], reasoning: Set[str]) -> Iterator[str]:
        if not messages:
            yield "Invalid 'messages': empty array."
        waiting: list[str] = []
        before = "system"
        for at, message in enumerate(messages):
            role = message.get("role")
            if role == "system" and "system" in self.without:
                yield "System role not supported"
            if role not in ("system", "user", "assistant", "tool"):
                yield f"Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', and 'tool'."
            if (role == "tool" or message.get("tool_calls")) and "results" in self.without:
                yield "Conversation roles must alternate user/assistant/user/assistant/..."
            if role == "system" and at:
                yield "System message must be at the beginning."
            if not isinstance(message.get("content"), str):
                yield f"Invalid value for 'content' of messages[{at}]: expected a string."
            if role == "tool":
                if message.get("tool_call_id") not in waiting:
                    yield "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
                else:
                    waiting.remove(message["tool_call_id"])
            elif waiting:
                yield (
                    "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
                    f" 'tool_call_id'. These did not have response messages: {', '.join(waiting)}"
                )
            if self.alternates and role in ("user", "assistant") and role == before:
                yield "Conversation roles must alternate user/assistant/user/assistant/..."
            if self.alternates and role == "assistant" and before == "system":
                yield "Conversation must start with a user message."
            if role == "assistant":
                if not message.get("content") and not message.get("tool_calls"):
                    yield "Assistant message must have either content or tool_calls, but not none."
                yield from _wrong_calls(message, reasoning)
                waiting = [each["id"] for each in message.get("tool_calls") or ()]
            before = role or ""
        if waiting:
            yield "An assistant message with 'tool_calls' must be followed by tool messages."

    def wrong_embedding(self, body: Json, size: int) -> Iterator[str]:
        known = {"model", "input", "encoding_format", "dimensions", "user"}
        yield from (f"Unrecognized request argument supplied: {name}" for name in body.keys() - known)
        texts = body.get("input")
        if not isinstance(texts, list) or not texts or not all(isinstance(each, str) and each for each in texts):
            yield "'$.input' is invalid. Please check the API reference."
        elif len(texts) > self.at_once:
            yield f"batch size {len(texts)} > maximum allowed batch size {self.at_once}"
        if "dimensions" in body and self.resizes == "refuses":
            yield f'Model "{body["model"]}" does not support matryoshka representation, changing output dimensions will lead to poor results.'
        if body.get("dimensions", size) > size:
            yield f"Invalid value for 'dimensions' = {body['dimensions']}. Must be less than or equal to {size}."


def _wrong_calls(message: Json, reasoning: Set[str]) -> Iterator[str]:
    known = {"role", "content", "tool_calls"} | reasoning
    yield from (f"Additional properties are not allowed ('{name}' was unexpected)" for name in message.keys() - known)
    calls = message.get("tool_calls")
    if calls is not None and not calls:
        yield "Invalid 'tool_calls': empty array."
    ids = [each.get("id") for each in calls or ()]
    if not all(ids) or len(set(ids)) != len(ids):
        yield "Missing or repeated parameter: 'tool_calls[0].id'."
    for each in calls or ():
        made = each.get("function", {})
        if each.get("type") != "function" or not isinstance(made.get("arguments"), str):
            yield "Invalid type for 'tool_calls[0].function.arguments': expected a string."
        if not _NAME.fullmatch(made.get("name", "")):
            yield "Invalid 'tool_calls[0].function.name': string does not match pattern."
        if len(each.get("id") or "") > 40:
            yield "Invalid 'tool_calls[0].id': string too long. Expected a string with maximum length 40."


def _wrong_schema(schema: Json) -> Iterator[str]:
    if schema.get("type") == "object" and "properties" not in schema:
        yield "Invalid schema for function: object schema missing properties."
    if schema.get("type") == "array" and "items" not in schema:
        yield "Invalid schema for function: array schema missing items."
    for inner in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        yield from _wrong_schema(inner)
