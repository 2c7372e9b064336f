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
_MOST = 2**31  # tokens of a reply, and none has so many
_DETAILS = "reasoning_details"  # OpenRouter's, with the signatures that a model's own provider wants back
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

    def done(self) -> None:
        """The server has said that this is all. Servers of a few lines give no reason beside that; where nothing has
        come, it was no reply."""
        if self.says_something:
            self.finish = self.finish or "stop"

    def end(self) -> Iterator[Part]:
        """The text held back to see whether a tag would come of it."""
        yield from self._sorted(self._tags.end())

    def _read(self, chunk: Json) -> Iterator[Part]:
        if usage := chunk.get("usage"):
            thinking = _count((usage.get("completion_tokens_details") or {}).get("reasoning_tokens"))
            written = _count(usage.get("completion_tokens"))  # thinking included
            self.cost = Cost(1, _count(usage.get("prompt_tokens")), max(0, written - thinking), thinking)
        choices = chunk.get("choices")
        if not choices or not (choice := choices[0]):
            return
        delta = choice.get("delta") or choice.get("message") or {}
        for name in _REASONING:
            if isinstance(reasoning := delta.get(name), str) and reasoning:
                self._reasoning[name] = self._reasoning.get(name, "") + reasoning
        if thought := next((said for name in _REASONING if isinstance(said := delta.get(name), str) and said), ""):
            yield ThoughtPart(thought)  # once, also from a server that sends it under both names
        if isinstance(details := delta.get(_DETAILS), list):
            self._reasoning[_DETAILS] = [*self._reasoning.get(_DETAILS, ()), *details]
        yield from self._said(delta.get("content"))
        self._refusal += delta.get("refusal") or ""
        pieces = delta.get("tool_calls") or ()
        for piece in (pieces,) if isinstance(pieces, dict) else pieces:
            if piece:
                self._add(piece)
        if (called := delta.get("function_call")) and not delta.get("tool_calls"):  # of servers older than `tools`
            self._add({"function": called})
        if choice.get("finish_reason"):
            self.finish = str(choice["finish_reason"])

    def _said(self, content: str | Mapping[str, Any] | Sequence[Any] | None) -> Iterator[Part]:
        """A text, or a list of parts: strings, `{"type": "text", "text": …}`, Mistral's `thinking`, a `refusal`."""
        if isinstance(content, str):
            yield from self._sorted(self._tags.read(content))
            return
        for part in (content,) if isinstance(content, Mapping) else content or ():
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
        begins another: with a name and an id of its own, another name, or arguments and a name after a call that is
        whole. Some servers number all calls 0, some number none, some give no ids, some repeat id and name in every
        fragment, some (older vLLM) give every fragment a new id."""
        function = piece.get("function") or {}
        id, name, index = piece.get("id") or "", function.get("name") or "", piece.get("index")
        arguments = function.get("arguments") or ""
        if not (id or name or arguments):
            return
        call = next((one for one in reversed(self._calls) if id and one.id == id), None)
        if call is None:
            call = next((one for one in reversed(self._calls) if index is None or one.index == index), None)
            if call and (
                (id and call.id and name)
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

    def find_in_thoughts(self) -> None:
        """A JSON object that was asked for and came as the whole of the thinking, with nothing after it: Ollama and
        vLLM take for thinking what a model that thinks says without having thought."""
        thought = next((self._reasoning[name].strip() for name in _REASONING if name in self._reasoning), "")
        if not self.says_something and thought.startswith("{") and thought.endswith("}"):
            self.text = thought

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
        """Raises ValueError for what is not a JSON object. Small models write line breaks into strings; some servers
        encode the object twice, begin with an empty one, repeat it, or leave a tag of the template behind it."""
        try:
            arguments, rest = _first(self.arguments.strip() or "{}")
            while "{" in rest:
                again, rest = _first(rest)
                if arguments and again != arguments:
                    raise ValueError("two objects")
                arguments = again
            if isinstance(arguments, str):
                arguments = json.loads(arguments, strict=False)
        except RecursionError:
            raise ValueError("too deep") from None
        if arguments is not None and not isinstance(arguments, dict):
            raise ValueError("no object")
        return arguments or {}


def _first(text: str) -> tuple[Any, str]:
    """The JSON value that a text begins with, and what follows it."""
    value, end = json.JSONDecoder(strict=False).raw_decode(text)
    return value, text[end:].strip()


def _count(value: object) -> int:
    """A number of tokens; 0 for what is none, as JSON may say `Infinity`, `NaN` or more than the database keeps."""
    return int(value) if isinstance(value, int | float) and 0 <= value < _MOST else 0


# -- thoughts inside the text ---------------------------------------------------------------------------------------

# Qwen, DeepSeek; Magistral; Gemini; Seed; Kimi; Gemma 4; gpt-oss, whose channels come through where no parser knows
# them.
_PAIRS = (
    *((f"<{tag}>", f"</{tag}>") for tag in ("think", "thinking", "thought", "reasoning", "seed:think")),
    *(("[THINK]", "[/THINK]"), ("◁think▷", "◁/think▷"), ("<|channel>thought", "<channel|>")),
    *((f"<|channel|>{channel}<|message|>", "<|end|>") for channel in ("analysis", "commentary")),
)
_HEADERS = ("<|start|>assistant", "<|channel|>final<|message|>")
_LONE_END = re.compile(
    r"(?:(?:^|[.!?:)。！？」）\n])[ \t]*</think(?:ing)?>|</think(?:ing)?>[ \t]*(?:\n|$)|<channel\|>)[ \t]*\n?"
    r"|(?<=\Aanalysis)(?=[^\s:]).*?assistantfinal",  # of gpt-oss, by a server that leaves its tokens out
    re.DOTALL,
)
_TURN_END = re.compile(  # what a template has written behind the reply, and all after it
    r"(?<!`)<(?:\|(?:im_end|eot_id|eom_id|end|return|endoftext|end_of_text|end_of_turn|im_start)\||end_of_turn"
    r"|｜end▁of▁sentence｜)>(?!`).*\Z|(?<!`)</s>\s*\Z",
    re.DOTALL,
)


def _spoken(text: str) -> str:
    """`text` without the thinking before a lone `</think>` (some templates have put `<think>` into the prompt) or
    before what is left of another mark, and without the mark that ends a turn."""
    end = _LONE_END.search(text)
    if end and "<think" not in text[: end.start()]:
        text = text[end.end() :].lstrip()
    return text if "<s>" in text else _TURN_END.sub("", text)


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
            elif header := next((each for each in _HEADERS if self._held.startswith(each)), None):
                self._held = self._held.removeprefix(header)
            elif any(each.startswith(self._held) for each in (*(opening for opening, _ in _PAIRS), *_HEADERS)):
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
