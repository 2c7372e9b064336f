"""One call of a model: what goes wrong on the way mended, and what it says while it works sorted into thoughts for the
thread and the text that is left for the draft.

Providers without thought summaries write a line `Thought: …` before they act; it never belongs to the answer.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

from agent.models.base import (
    ChatModel,
    Effort,
    Message,
    ModelMessage,
    ModelProtocolError,
    ModelUnavailable,
    Part,
    TextPart,
    ThoughtPart,
    Tool,
    ToolCall,
    due,
)
from agent.models.quota import SpentError
from agent.tool_calls import written_calls
from agent.tools import TOOLS
from retrieval.text import encodable

log = logging.getLogger(__name__)

Heard = Callable[[str], None]
"""What a thought is given to."""

PROTOCOL_RETRIES = 2
BROKEN_RETRIES = 1

_LONG_ENOUGH = 160  # characters; a shorter paragraph of thought waits for the next one
_TIMES, _CHARACTERS, _UNITS = 6, 400, range(8, 601)  # of what is said again and again
_LOOK_EVERY = 1_000  # characters

_THOUGHT = re.compile(
    r"^[\s>*_#\-\[【(（]*(?:🧠\s*)?(?:thoughts?|reasoning|思考(?:プロセス)?|考え)(?:\s*\d+)?[\])】）*_\s]*[:：][*_]*\s*(?P<rest>.*)$",
    re.IGNORECASE,
)
_ACTION = re.compile(
    r"^[\s>*_\-\[【]*(?:🛠️?\s*)?(?:action(?: input)?|tool(?: call)?|observation|行動|ツール(?:呼び出し)?|観察)"
    r"[\]】*_\s]*[:：].*(?:rag|\{|Result \d)",
    re.IGNORECASE,
)
_ANSWER = re.compile(
    r"^[\s>*_#\-\[【]*(?:(?:final|draft)\s+)?(?:answer|response|最終回答|回答案?|答え)[\])】*_\s]*[:：]"
    r"[*_]*[ \t]*(?P<rest>.*)$",
    re.IGNORECASE,
)


async def speak(
    model: ChatModel,
    messages: Sequence[Message],
    tools: Sequence[Tool] = (),
    *,
    heard: Heard = lambda _: None,
    schema: Mapping[str, Any] | None = None,
    effort: Effort | None = None,
    until: float | None = None,
) -> ModelMessage:
    """The message of one reply; `heard` gets its thoughts as they come. `until` is in loop time.

    A reply of no use is asked for again at once, twice; one that broke off, once: of it people have seen thoughts at
    most, and no thought is shown a second time. Waiting for a busy model is the model's own (`agent.models.retry`).
    Raises TimeoutError at `until`, and the `ModelError` that no further try has mended.
    """
    unusable = broken = 0
    shown: set[str] = set()

    def once(thought: str) -> None:
        if thought not in shown:
            shown.add(thought)
            heard(thought)

    while True:
        try:
            return await _reply(model, messages, tools, schema, effort, until, once)
        except SpentError:
            raise
        except ModelProtocolError:
            unusable += 1
            if unusable > PROTOCOL_RETRIES:
                raise
            log.info("the model's reply was of no use; asking again")
        except _BrokenOffError:
            broken += 1
            if broken > BROKEN_RETRIES:
                raise
            log.info("the model's reply broke off; asking again")


class _BrokenOffError(ModelUnavailable):
    """The reply broke off after it had begun, so the model itself has not asked for it again."""


async def _reply(
    model: ChatModel,
    messages: Sequence[Message],
    tools: Sequence[Tool],
    schema: Mapping[str, Any] | None,
    effort: Effort | None,
    until: float | None,
    heard: Heard,
) -> ModelMessage:
    speech = Speech(heard)
    message: ModelMessage | None = None
    begun = streamed = False
    loop = Loop()
    said = model.converse(messages, tools, schema=schema, effort=effort)
    try:
        async with asyncio.timeout_at(until), aclosing(cast(AsyncGenerator[Part, None], said)) as parts:
            with due(until):
                async for part in parts:
                    begun = True
                    if isinstance(part, ThoughtPart | TextPart):
                        loop.hear(part.text)
                    match part:
                        case ThoughtPart(text):
                            speech.think(text)
                        case TextPart(text) if schema is None:
                            streamed = True
                            speech.say(text)
                        case ToolCall():
                            speech.pause()
                        case ModelMessage():
                            message = part
    except ModelUnavailable as error:
        if begun and error.why == "down":
            raise _BrokenOffError(str(error)) from error
        raise
    if message is None:
        raise ModelProtocolError("the model's stream had no message at its end")
    if schema is None and not streamed:
        speech.say(message.text)
    speech.end()
    message = replace(message, text=encodable(message.text))
    if schema is None and not message.calls:
        message = _with_written_calls(message, messages)
    if not message.text.strip() and not message.calls:
        raise ModelProtocolError("the model said nothing")
    return message


def _with_written_calls(message: ModelMessage, before: Sequence[Message]) -> ModelMessage:
    """The message with the calls that it makes in its text. They are not the provider's own, so neither is it."""
    try:
        text, written = written_calls(message.text, TOOLS)
    except ValueError as error:
        raise ModelProtocolError(str(error)) from error
    if not written:
        return message
    count = sum(len(each.calls) for each in before if isinstance(each, ModelMessage))
    calls = tuple(ToolCall(f"written-{count + at}", *call) for at, call in enumerate(written, 1))
    return replace(message, text=text, calls=calls, raw=None)


class Loop:
    """Notices a model that has lost its way and says the same words over and over, which it would do until its output
    or the turn's time is used up."""

    def __init__(self) -> None:
        self._tail = ""
        self._fresh = 0

    def hear(self, text: str) -> None:
        """Raises ModelProtocolError when what was heard ends in the same words 6 times, and 400 characters of them."""
        self._tail = (self._tail + text)[-_TIMES * _UNITS.stop :]
        self._fresh += len(text)
        if self._fresh < _LOOK_EVERY:
            return
        self._fresh = 0
        for length in _UNITS:
            unit = self._tail[-length:]
            times = max(_TIMES, -(-_CHARACTERS // length))
            if (
                unit == self._tail[-2 * length : -length]
                and self._tail.endswith(unit * times)
                and re.search(r"\w", unit)
            ):
                raise ModelProtocolError("the reply repeats itself without end")


# -- what is said, sorted ---------------------------------------------------------------------------------------------


class Speech:
    """Takes a reply's parts as they stream in and gives thoughts on as readable steps: paragraphs of its thinking,
    short ones together, and the `Thought:` lines of its text."""

    def __init__(self, heard: Heard) -> None:
        self._heard = heard
        self._thought = ""
        self._line = ""
        self._fenced = False

    def think(self, text: str) -> None:
        self._thought += text
        while (end := self._paragraph_end()) is not None:
            whole, self._thought = self._thought[:end].strip(), self._thought[end:].lstrip("\n")
            self._heard(whole)

    def say(self, text: str) -> None:
        self.pause()
        self._line += text
        *whole, self._line = self._line.split("\n")
        for line in whole:
            self._read(line)

    def pause(self) -> None:
        """The thinking ends here, since text or a call follows."""
        thought, self._thought = self._thought.strip(), ""
        if thought:
            self._heard(thought)

    def end(self) -> None:
        self.say("\n")

    def _paragraph_end(self) -> int | None:
        for gap in re.finditer(r"\n\s*\n", self._thought):
            if gap.start() >= _LONG_ENOUGH and not self._thought[: gap.start()].rstrip().endswith("**"):
                return gap.end()
        return None

    def _read(self, line: str) -> None:
        if re.match(r"\s*(?:```|~~~)", line):
            self._fenced = not self._fenced
        thought = None if self._fenced else _THOUGHT.match(line)
        if thought and thought["rest"].strip(" *_"):
            self._heard(thought["rest"].strip(" *_"))


def spoken(text: str) -> str:
    """`text` without its `Thought:` and `Action:` lines, and without a word like `Answer:` before the answer."""
    kept: list[str] = []
    fenced = False
    skipping = False
    for line in text.split("\n"):
        if re.match(r"\s*(?:```|~~~)", line):
            fenced = not fenced
        if not fenced and (_THOUGHT.match(line) or _ACTION.match(line)):
            skipping = True
            continue
        answer = None if fenced else _ANSWER.match(line)
        if answer and (skipping or not any(each.strip() for each in kept)):
            kept = [answer["rest"]] if answer["rest"].strip() else []
            skipping = False
            continue
        kept.append(line)
    return "\n".join(kept).strip()
