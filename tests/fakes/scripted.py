"""A chat model that says what it was told to say, for tests of everything around a model."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.events import Cost
from agent.models.base import Effort, Message, ModelMessage, Part, TextPart, ThoughtPart, Tool, ToolCall

_PIECE = 5  # characters; small, so that whatever is parsed from the stream is split in awkward places


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of the model. `hold`: it arrives only once that event is set."""

    thought: str = ""
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    cut: bool = False
    cost: Cost = field(default=Cost(calls=1))
    hold: asyncio.Event | None = None


class ScriptedModel:
    """A `ChatModel` that gives its replies in order and raises those that are exceptions.

    `conversations`, `offered`, `schemas` and `efforts` record what each call was given. Asked once too often it raises
    AssertionError: that is a mistake in the test, which no fall-back may hide.
    """

    def __init__(
        self, *replies: Reply | Exception, name: str = "scripted", thinks: bool = False, tools: bool | None = None
    ) -> None:
        self._replies = list(replies)
        self._name = name
        self.conversations: list[tuple[Message, ...]] = []
        self.offered: list[tuple[str, ...]] = []
        self.schemas: list[Mapping[str, Any] | None] = []
        self.efforts: list[Effort | None] = []
        self.thinks = thinks
        self.tools = tools

    @property
    def name(self) -> str:
        return self._name

    @property
    def finished(self) -> bool:
        """Whether every reply was given."""
        return not self._replies

    async def converse(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        schema: Mapping[str, Any] | None = None,
        effort: Effort | None = None,
    ) -> AsyncIterator[Part]:
        self.conversations.append(tuple(messages))
        self.offered.append(tuple(tool.name for tool in tools))
        self.schemas.append(schema)
        self.efforts.append(effort)
        if not self._replies:
            raise AssertionError("the script has no reply left")
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        if reply.hold is not None:
            await reply.hold.wait()
        for piece in _pieces(reply.thought):
            yield ThoughtPart(piece)
        for piece in _pieces(reply.text):
            yield TextPart(piece)
        for call in reply.calls:
            yield call
        yield ModelMessage(reply.text, reply.calls, reply.cost, reply.cut)


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
