"""One call of a model, with what may go wrong on the way; and the tool calls it asks for, run and answered in order."""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from agent.events import Thought
from agent.models.base import (
    ChatModel,
    Message,
    ModelBusy,
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
from agent.speech import Speech
from agent.tools import BadCallError, checked, refusal, same_call
from retrieval.text import Language, Said
from retrieval.types import RAGToolError

log = logging.getLogger(__name__)

Pause = Callable[[float], Awaitable[None]]

PROTOCOL_RETRIES = 2
BUSY_RETRIES = 2
DOWN_RETRIES = 1
PATIENCE = 15.0  # seconds; who is asked to wait longer than this gives up

_REPEATED = Said(en="the same call as before", ja="前と同じ呼び出しです")
_AGAIN = "You have made this call before; this is the same result. Search for something else, or answer.\n\n"


async def speak(
    model: ChatModel,
    messages: Sequence[Message],
    tools: Sequence[Tool] = (),
    *,
    schema: Mapping[str, Any] | None = None,
    until: float | None = None,
    pause: Pause = asyncio.sleep,
) -> AsyncGenerator[Thought | ModelMessage, None]:
    """The thoughts of one reply as they come, then its message. `until` is in loop time.

    Unusable replies are asked for again at once, twice; a busy model after the time it asks for or after a growing
    random one. Raises TimeoutError at `until`, and the `ModelError` that no further try has mended.
    """
    unusable = busy = down = 0
    while True:
        try:
            async with aclosing(_reply(model, messages, tools, schema, until)) as said:
                async for part in said:
                    yield part
            return
        except ModelProtocolError:
            unusable += 1
            if unusable > PROTOCOL_RETRIES:
                raise
            log.info("the model's reply was of no use; asking again")
            continue
        except ModelBusy as error:
            busy += 1
            wait = max(error.retry_after or 0.0, random.uniform(0, 2.0 ** (busy - 1)))
            if busy > BUSY_RETRIES or not _worth(wait, until):
                raise
        except ModelUnavailable as error:
            down += 1
            wait = random.uniform(0, 1.0)
            if error.why != "down" or down > DOWN_RETRIES or not _worth(wait, until):
                raise
        await pause(wait)


def _worth(wait: float, until: float | None) -> bool:
    left = None if until is None else until - asyncio.get_running_loop().time()
    return wait <= PATIENCE and (left is None or wait < left / 2)


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
    parts = model.converse(messages, tools, schema=schema)
    while (part := await _next(parts, until)) is not None:
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


async def _next(parts: Any, until: float | None) -> Part | None:
    """The next part, or None at the end. The limit is on the waiting, never on what the caller does between parts."""
    async with asyncio.timeout_at(until):
        part: Part | None = await anext(parts, None)
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
