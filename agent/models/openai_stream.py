"""One streamed reply of an OpenAI-compatible server, gathered from its deltas, in whatever way the server cuts them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from agent.events import Cost
from agent.models.base import (
    ModelBlocked,
    ModelMessage,
    ModelProtocolError,
    ModelUnavailable,
    Part,
    TextPart,
    ThoughtPart,
    ToolCall,
)
from agent.models.turns import Own

Json = dict[str, Any]

# Finish reasons. With any other, what came counts if it is whole: servers have names of their own for “stop”.
_CUT = {"length", "max_tokens", "model_length"}
_BLOCKED = {"content_filter"}
_BROKEN = {"error", "abort", "aborted", "cancelled", "insufficient_system_resource"}  # vLLM, DeepSeek, OpenRouter
_REASONING = ("reasoning_content", "reasoning")  # vLLM, llama.cpp and DeepSeek; Ollama, OpenRouter and newer vLLM


class Reply:
    """Gathers the chunks of one reply. `finish` is its finish reason, empty until it has come."""

    def __init__(self) -> None:
        self.finish = ""
        self.cost = Cost(calls=1)
        self.text = ""
        self._tags = _Tags()
        self._calls: list[_Call] = []
        self._reasoning: Json = {}  # by the name that the server gave it
        self._refusal = ""

    @property
    def cut(self) -> bool:
        return self.finish in _CUT

    @property
    def says_something(self) -> bool:
        """Text, or calls that are whole: where the limit cut the reply, one without arguments yet is not."""
        if self._calls:
            return all(call.whole and (call.arguments or not self.cut) for call in self._calls)
        return bool(_spoken(self.text).strip())

    def read(self, chunk: Json) -> Iterator[Part]:
        """The parts of one chunk. Raises ModelProtocolError for one of unknown shape."""
        try:
            yield from list(self._read(chunk))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ModelProtocolError(f"a chunk of unknown shape: {type(error).__name__}") from None

    def end(self) -> Iterator[Part]:
        """The text held back to see whether a tag would come of it."""
        yield from self._sorted(self._tags.end())

    def _read(self, chunk: Json) -> Iterator[Part]:
        if usage := chunk.get("usage"):
            thought = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
            written = usage.get("completion_tokens") or 0  # thinking included
            self.cost = Cost(1, usage.get("prompt_tokens") or 0, max(0, written - thought), thought)
        choices = chunk.get("choices")
        if not choices:
            return
        choice = choices[0]
        delta = choice.get("delta") or choice.get("message") or {}
        for name in _REASONING:
            if reasoning := delta.get(name):
                self._reasoning[name] = self._reasoning.get(name, "") + reasoning
        if reasoning := next((delta[name] for name in _REASONING if delta.get(name)), ""):
            yield ThoughtPart(str(reasoning))  # once, also from a server that sends it under both names
        yield from self._said(delta.get("content"))
        self._refusal += delta.get("refusal") or ""
        for piece in delta.get("tool_calls") or ():
            self._add(piece)
        if (called := delta.get("function_call")) and not delta.get("tool_calls"):  # of servers older than `tools`
            self._add({"function": called})
        if choice.get("finish_reason"):
            self.finish = str(choice["finish_reason"])

    def _said(self, content: str | Sequence[Any] | None) -> Iterator[Part]:
        """A text, or a list of parts: strings, `{"type": "text", "text": …}`, Mistral's `thinking`, a `refusal`."""
        if isinstance(content, str):
            yield from self._sorted(self._tags.read(content))
            return
        for part in content or ():
            if isinstance(part, str):
                yield from self._said(part)
            elif thought := part.get("thinking") or part.get("reasoning"):
                inside = (thought,) if isinstance(thought, str) else (each["text"] for each in thought)
                yield ThoughtPart("".join(inside))
            else:
                self._refusal += part.get("refusal") or ""
                yield from self._said(part.get("text") or "")

    def _sorted(self, parts: Iterator[Part]) -> Iterator[Part]:
        for part in parts:
            if isinstance(part, TextPart):
                self.text += part.text
            yield part

    def _add(self, piece: Json) -> None:
        """A fragment of a call. It belongs to the call with its id, or its index, or else to the last one, unless it
        begins another: with an id or a name of its own, or with arguments and a name after a call that is whole. Some
        servers number all calls 0, some number none, some give no ids, some repeat id and name in every fragment."""
        function = piece.get("function") or {}
        id, name, index = piece.get("id") or "", function.get("name") or "", piece.get("index")
        arguments = function.get("arguments") or ""
        call = next((one for one in reversed(self._calls) if id and one.id == id), None)
        if call is None:
            call = next((one for one in reversed(self._calls) if index is None or one.index == index), None)
            if call and (
                (id and call.id)
                or (name and call.name and name != call.name)
                or (name and arguments and call.arguments and call.whole)
            ):
                call = None
        if call is None:
            call = _Call(index)
            self._calls.append(call)
        call.id = call.id or id
        call.name = call.name or name
        call.arguments += arguments if isinstance(arguments, str) else json.dumps(arguments)
        call.more |= {key: value for key, value in piece.items() if key not in ("index", "id", "type", "function")}

    def message(self, model: str) -> ModelMessage:
        """The whole reply, or the `ModelError` that its finish reason stands for."""
        if self.finish in _BLOCKED or (self._refusal and not self.text.strip()):
            raise ModelBlocked(f"the reply was blocked: {self.finish}")
        if not self.finish or self.finish in _BROKEN:
            raise ModelUnavailable(f"the stream ended before the reply did: {self.finish}", "down")
        if not self.says_something:
            broken = sum(not call.whole for call in self._calls)
            raise ModelProtocolError(f"a reply without use: {self.finish}, {broken} of {len(self._calls)} calls broken")
        text = _spoken(self.text)
        calls: list[ToolCall] = []
        for call in self._calls:
            id = call.id if call.id and call.id not in (made.id for made in calls) else uuid4().hex[:9]
            calls.append(ToolCall(id, call.name, call.parsed()))
        # A reasoning model that has called a tool is given its reasoning back with the result, as DeepSeek and Kimi
        # demand; `more` holds what else came with a call (Gemini's thought signatures).
        said: Json = {"role": "assistant", "content": text} | self._reasoning
        said["tool_calls"] = [
            {
                "id": made.id,
                "type": "function",
                "function": {"name": made.name, "arguments": json.dumps(made.arguments, ensure_ascii=False)},
            }
            | call.more
            for call, made in zip(self._calls, calls, strict=True)
        ]
        return ModelMessage(text, tuple(calls), self.cost, cut=self.cut, raw=Own(model, said) if calls else None)


@dataclass(slots=True)
class _Call:
    """One call, as far as it has come."""

    index: int | None
    id: str = ""
    name: str = ""
    arguments: str = ""
    more: Json = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        try:
            self.parsed()
        except ValueError:
            return False
        return bool(self.name)

    def parsed(self) -> Mapping[str, Any]:
        """Raises ValueError for what is not a JSON object. Small models write line breaks into strings."""
        try:
            arguments = json.loads(self.arguments.strip() or "{}", strict=False)
        except RecursionError:
            raise ValueError("too deep") from None
        if arguments is not None and not isinstance(arguments, dict):
            raise ValueError("no object")
        return arguments or {}


# -- thoughts inside the text ---------------------------------------------------------------------------------------

_PAIRS = (("<think>", "</think>"), ("<thinking>", "</thinking>"), ("[THINK]", "[/THINK]"))
_LONE_END = re.compile(r"(?:^|\n)[ \t]*</think(?:ing)?>[ \t]*(?:\n|$)")


def _spoken(text: str) -> str:
    """`text` without the thinking before a lone `</think>`: some templates have put `<think>` into the prompt."""
    end = _LONE_END.search(text)
    return text[end.end() :].lstrip() if end and "<think" not in text[: end.start()] else text


class _Tags:
    """Sorts content into thoughts and text where a server leaves a reasoning model's tags in it. They count at the
    beginning of a reply only: an answer may speak of them."""

    def __init__(self) -> None:
        self._held = ""
        self._close = ""  # the tag that ends the thought we are in
        self._speaking = False

    def read(self, content: str) -> Iterator[Part]:
        self._held += content
        while self._held and not self._speaking:
            if self._close:
                at = self._held.find(self._close)
                if at < 0:
                    keep = _beginning_of(self._close, self._held)
                    thought, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
                    if thought:
                        yield ThoughtPart(thought)
                    return
                if at:
                    yield ThoughtPart(self._held[:at])
                self._held, self._close = self._held[at + len(self._close) :], ""
                continue
            self._held = self._held.lstrip()
            opened = next((pair for pair in _PAIRS if self._held.startswith(pair[0])), None)
            if opened:
                self._held, self._close = self._held[len(opened[0]) :], opened[1]
            elif any(opening.startswith(self._held) for opening, _ in _PAIRS):
                return
            else:
                self._speaking = True
        text, self._held = self._held, ""
        if text:
            yield TextPart(text)

    def end(self) -> Iterator[Part]:
        if self._held:
            yield ThoughtPart(self._held) if self._close else TextPart(self._held)
        self._held = ""


def _beginning_of(tag: str, text: str) -> int:
    """How many characters at the end of `text` may be the beginning of `tag`."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), 0)
