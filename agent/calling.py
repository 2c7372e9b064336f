"""One call of a model, with what may go wrong on the way; and the tool calls it asks for, run and answered in order."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast

from agent.events import Thought
from agent.models.base import (
    ChatModel,
    Message,
    ModelMessage,
    ModelProtocolError,
    ModelUnavailable,
    Part,
    TextPart,
    ThoughtPart,
    Tool,
    ToolCall,
    ToolError,
    ToolResult,
)
from agent.models.capped import SpentError
from agent.models.deadline import due
from agent.speech import Speech
from agent.tools import BadCallError, checked, refusal, same_call
from retrieval.text import Language, Said
from retrieval.types import RAGToolError

log = logging.getLogger(__name__)

PROTOCOL_RETRIES = 2
BROKEN_RETRIES = 1

_REPEATED = Said(en="the same call as before", ja="前と同じ呼び出しです")
_AGAIN = "You have made this call before; this is the same result. Search for something else, or answer.\n\n"


async def speak(
    model: ChatModel,
    messages: Sequence[Message],
    tools: Sequence[Tool] = (),
    *,
    schema: Mapping[str, Any] | None = None,
    until: float | None = None,
) -> AsyncGenerator[Thought | ModelMessage, None]:
    """The thoughts of one reply as they come, then its message. `until` is in loop time.

    A reply of no use is asked for again at once, twice; one that broke off, once: of it people have seen thoughts at
    most, and no thought is shown a second time. Waiting for a busy model is the model's own (`agent.models.patient`).
    Raises TimeoutError at `until`, and the `ModelError` that no further try has mended.
    """
    unusable = broken = 0
    shown: set[str] = set()  # by the tries before
    while True:
        thoughts: set[str] = set()
        try:
            async with aclosing(_reply(model, messages, tools, schema, until)) as said:
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
    until: float | None,
) -> AsyncGenerator[Thought | ModelMessage, None]:
    speech = Speech()
    message: ModelMessage | None = None
    heard = ""
    async with aclosing(cast(AsyncGenerator[Part, None], model.converse(messages, tools, schema=schema))) as parts:
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
    if not message.text.strip() and not message.calls:
        raise ModelProtocolError("the model said nothing")
    yield message


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


class Hands:
    """Runs the calls of one turn. Whatever a model asks for, it gets an answer it can use; bugs surface."""

    def __init__(self, tools: Sequence[Tool], language: Language) -> None:
        self._tools = tools
        self._language = language
        self._made: dict[str, asyncio.Task[ToolResult] | ToolResult] = {}
        self.idle = 0  # calls that brought nothing new: refused or repeated

    async def run(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """The results in the calls' order; the calls run at the same time."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._run(call, group)) for call in calls]
        for key, made in list(self._made.items()):
            if isinstance(made, asyncio.Task):
                self._made[key] = made.result()
        return [task.result() for task in tasks]

    async def _run(self, call: ToolCall, group: asyncio.TaskGroup) -> ToolResult:
        try:
            tool, arguments = checked(self._tools, call.name, call.arguments)
        except BadCallError as error:
            return self._refused(error)
        key = same_call(tool.name, arguments)
        known = self._made.get(key)
        if known is not None:
            result = await known if isinstance(known, asyncio.Task) else known
            self.idle += 1
            summary = f"{result.summary} ({_REPEATED.to(self._language)})"
            return ToolResult(_AGAIN + result.content, summary, result.hits, result.numbers, result.failed)
        work = group.create_task(self._call(tool, arguments))
        self._made[key] = work
        return await work

    async def _call(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
        try:
            return await tool.run(**arguments)
        except BadCallError as error:
            return self._refused(error)
        except ToolError as error:
            self.idle += 1
            return ToolResult(refusal(str(error)), str(error), failed=True)
        except RAGToolError as error:
            log.warning("a tool failed", exc_info=error)
            return ToolResult(refusal(error.text("en")), error.text(self._language), failed=True)

    def _refused(self, error: BadCallError) -> ToolResult:
        self.idle += 1
        return ToolResult(refusal(str(error)), error.text(self._language), failed=True)
