"""One call of a model: what goes wrong on the way mended, and what it says while it works sorted into thoughts for the
thread and the text that is left for the draft.

Providers without thought summaries write a line `Thought: …` before they act; it never belongs to the answer.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

from agent.events import Thought
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

log = logging.getLogger(__name__)

PROTOCOL_RETRIES = 2
BROKEN_RETRIES = 1

_LONG_ENOUGH = 160  # characters; a shorter paragraph of thought waits for the next one

_THOUGHT = re.compile(
    r"^[\s>*_#\-\[【(（]*(?:🧠\s*)?(?:thoughts?|reasoning|思考(?:プロセス)?|考え)(?:\s*\d+)?[\])】）*_\s]*[:：][*_]*\s*(?P<rest>.*)$",
    re.IGNORECASE,
)
_ACTION = re.compile(
    r"^[\s>*_\-\[【]*(?:🛠️?\s*)?(?:action(?: input)?|tool(?: call)?|observation|行動|ツール(?:呼び出し)?|観察)[\]】*_\s]*[:：]"
    r".*(?:rag|\{|Result \d)",
    re.IGNORECASE,
)
_ANSWER = re.compile(
    r"^[\s>*_#\-\[【]*(?:(?:final|draft)\s+)?(?:answer|response|最終回答|回答案?|答え)[\])】*_\s]*[:：][*_]*[ \t]*(?P<rest>.*)$",
    re.IGNORECASE,
)


async def speak(
    model: ChatModel,
    messages: Sequence[Message],
    tools: Sequence[Tool] = (),
    *,
    schema: Mapping[str, Any] | None = None,
    effort: Effort | None = None,
    until: float | None = None,
) -> AsyncGenerator[Thought | ModelMessage, None]:
    """The thoughts of one reply as they come, then its message. `until` is in loop time.

    A reply of no use is asked for again at once, twice; one that broke off, once: of it people have seen thoughts at
    most, and no thought is shown a second time. Waiting for a busy model is the model's own (`agent.models.retry`).
    Raises TimeoutError at `until`, and the `ModelError` that no further try has mended.
    """
    unusable = broken = 0
    shown: set[str] = set()  # by the tries before
    while True:
        thoughts: set[str] = set()
        try:
            async with aclosing(_reply(model, messages, tools, schema, effort, until)) as said:
                async for part in said:
                    if isinstance(part, Thought):
                        thoughts.add(part.text)
                        if part.text in shown:
                            continue
                    yield part
            return
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
        shown |= thoughts


class _BrokenOffError(ModelUnavailable):
    """It had begun, so the model itself has not asked for it again."""


async def _reply(
    model: ChatModel,
    messages: Sequence[Message],
    tools: Sequence[Tool],
    schema: Mapping[str, Any] | None,
    effort: Effort | None,
    until: float | None,
) -> AsyncGenerator[Thought | ModelMessage, None]:
    speech = Speech()
    message: ModelMessage | None = None
    heard = ""
    said = model.converse(messages, tools, schema=schema, effort=effort)
    async with aclosing(cast(AsyncGenerator[Part, None], said)) as parts:
        begun = False
        while (part := await _next(parts, begun, until)) is not None:
            begun = True
            match part:
                case ThoughtPart(text):
                    for thought in speech.think(text):
                        yield Thought(thought)
                case TextPart(text) if schema is None:
                    heard += text
                    for thought in speech.say(text):
                        yield Thought(thought)
                case ToolCall():
                    for thought in speech.pause():
                        yield Thought(thought)
                case ModelMessage():
                    message = part
    if message is None:
        raise ModelProtocolError("the model's stream had no message at its end")
    if schema is None and not heard:
        for thought in speech.say(message.text):
            yield Thought(thought)
    for thought in speech.end():
        yield Thought(thought)
    if schema is None and not message.calls:
        message = _with_written_calls(message, messages)
    if not message.text.strip() and not message.calls:
        raise ModelProtocolError("the model said nothing")
    yield message


def _with_written_calls(message: ModelMessage, before: Sequence[Message]) -> ModelMessage:
    """The message with the calls that it makes in its text. They are nothing of the provider's own, so neither is it."""
    try:
        text, written = written_calls(message.text, TOOLS)
    except ValueError as error:
        raise ModelProtocolError(str(error)) from error
    if not written:
        return message
    count = sum(len(each.calls) for each in before if isinstance(each, ModelMessage))
    calls = tuple(ToolCall(f"written-{count + at}", *call) for at, call in enumerate(written, 1))
    return replace(message, text=text, calls=calls, raw=None)


async def _next(parts: AsyncGenerator[Part, None], begun: bool, until: float | None) -> Part | None:
    """The next part, or None at the end. The limit is on the waiting, never on what the caller does between parts."""
    try:
        async with asyncio.timeout_at(until):
            with due(until):
                part: Part | None = await anext(parts, None)
    except ModelUnavailable as error:
        if begun and error.why == "down":
            raise _BrokenOffError(str(error)) from error
        raise
    return part


# -- what is said, sorted ----------------------------------------------------------------------------------------------


class Speech:
    """Takes a reply's parts as they stream in and gives thoughts back as readable steps."""

    def __init__(self) -> None:
        self._thought = ""
        self._line = ""
        self._fenced = False

    def think(self, text: str) -> Iterator[str]:
        """A piece of a thought summary. Paragraphs come out whole, short ones together."""
        self._thought += text
        while (end := self._paragraph_end()) is not None:
            whole, self._thought = self._thought[:end].strip(), self._thought[end:].lstrip("\n")
            yield whole

    def say(self, text: str) -> Iterator[str]:
        """A piece of text. What comes out are its finished `Thought:` lines."""
        yield from self.pause()
        self._line += text
        *whole, self._line = self._line.split("\n")
        for line in whole:
            yield from self._read(line)

    def pause(self) -> Iterator[str]:
        """The thought summary ends here, since text or a call follows."""
        thought, self._thought = self._thought.strip(), ""
        if thought:
            yield thought

    def end(self) -> Iterator[str]:
        yield from self.pause()
        line, self._line = self._line, ""
        yield from self._read(line)

    def _paragraph_end(self) -> int | None:
        for gap in re.finditer(r"\n\s*\n", self._thought):
            if gap.start() >= _LONG_ENOUGH and not self._thought[: gap.start()].rstrip().endswith("**"):
                return gap.end()
        return None

    def _read(self, line: str) -> Iterator[str]:
        if re.match(r"\s*(?:```|~~~)", line):
            self._fenced = not self._fenced
        thought = None if self._fenced else _THOUGHT.match(line)
        if thought and thought["rest"].strip(" *_"):
            yield thought["rest"].strip(" *_")


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
