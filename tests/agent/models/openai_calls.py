"""One call of the real client to an OpenAI-compatible server on loopback, as several tests need it."""

from collections.abc import Sequence
from typing import Any

import pytest

from agent.models.base import Message, ModelError, Part, Tool
from agent.models.openai import OpenAIModel
from tests.agent.models.gemini_calls import ASKED, SYSTEM, tool
from tests.fakes.openai import FakeOpenAI, Order

MODEL = "qwen3:8b"


def model(server: FakeOpenAI, **changed: Any) -> OpenAIModel:
    return OpenAIModel(changed.pop("model", MODEL), **{"key": server.key, "base_url": server.url} | changed)


async def parts(
    server: FakeOpenAI, *messages: Message, tools: Sequence[Tool] = (tool(),), schema: Any = None, **changed: Any
) -> list[Part]:
    using = model(server, **changed)
    try:
        return [part async for part in using.converse(messages or (SYSTEM, ASKED), tools, schema=schema)]
    finally:
        await using.close()


async def failure(*orders: Order, **changed: Any) -> ModelError:
    async with FakeOpenAI(*orders) as server:
        with pytest.raises(ModelError) as caught:
            await parts(server, **changed)
        return caught.value
