"""One call of the real google-genai client to Gemini on loopback, as several tests need it."""

from collections.abc import Sequence
from typing import Any

import pytest

from agent.models.base import (
    Message,
    ModelError,
    ModelMessage,
    Part,
    SystemMessage,
    Tool,
    ToolResult,
    UserMessage,
)
from agent.models.gemini import GeminiModel
from tests.fakes.gemini import FakeGemini, Order

SEARCH = "search_rag_knowledge_base"
MODEL = "gemini-3.8-flash"
SYSTEM = SystemMessage("Answer from the documents.")
ASKED = UserMessage("返金は何日かかりますか？")
VERDICT = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string", "enum": ["keep", "revise", "reject"]},
        "text": {"type": "string"},
        "claims": {"type": "array", "items": {"type": "integer", "minimum": 1}},
    },
    "required": ["verdict"],
    "additionalProperties": False,
}


async def not_run(query: str) -> ToolResult:
    raise AssertionError("the model does not run tools")


def tool(name: str = SEARCH) -> Tool:
    return Tool(
        name,
        "Search the team's documents.",
        {
            "type": "object",
            "properties": {"query": {"type": "string"}, "collection_name": {"type": "string"}},
            "required": ["query"],
        },
        not_run,
    )


def model(gemini: FakeGemini, **changed: Any) -> GeminiModel:
    return GeminiModel(changed.pop("model", MODEL), **{"key": gemini.key, "base_url": gemini.url} | changed)


async def parts(
    gemini: FakeGemini, *messages: Message, tools: Sequence[Tool] = (tool(),), schema: Any = None, **changed: Any
) -> list[Part]:
    using = model(gemini, **changed)
    try:
        return [part async for part in using.converse(messages or (SYSTEM, ASKED), tools, schema=schema)]
    finally:
        await using.close()


async def failure(*orders: Order, **changed: Any) -> ModelError:
    async with FakeGemini(*orders) as gemini:
        with pytest.raises(ModelError) as caught:
            await parts(gemini, **changed)
        return caught.value


def last(found: Sequence[Part]) -> ModelMessage:
    assert isinstance(found[-1], ModelMessage)
    assert not any(isinstance(part, ModelMessage) for part in found[:-1])
    return found[-1]
