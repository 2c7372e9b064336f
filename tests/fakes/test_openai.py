"""The stand-in for OpenAI-compatible servers, and what Gemini's makes of embeddings, behave as the tests believe."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from agent.events import Answered
from agent.models.base import Message, ToolMessage, ToolResult, UserMessage
from agent.strategies.react import Agent, Ask
from retrieval.types import CollectionInfo, Found, Hit, Passage, SearchMetrics
from tests.agent.models.gemini_calls import ASKED, SEARCH, SYSTEM, VERDICT, last
from tests.agent.models.openai_calls import MODEL, model, parts
from tests.fakes.gemini import FakeGemini
from tests.fakes.openai import FakeOpenAI, Reply, text

# -- the obedient model ---------------------------------------------------------------------------------------------


async def test_the_obedient_model_searches_quotes_and_keeps() -> None:
    async with FakeOpenAI(obedient=True) as server:
        message = last(await parts(server))
        assert message.calls[0].arguments == {"query": ASKED.text}
        result = ToolResult("Result 1 (Score: 0.88):\n返金には30日かかります。\nSource: a.md", "1")
        found: list[Message] = [SYSTEM, ASKED, message, ToolMessage(((message.calls[0], result),))]
        draft = last(await parts(server, *found))
        assert draft.text == "返金には30日かかります。 [1]"
        review = last(await parts(server, *found, draft, UserMessage("Review it."), schema=VERDICT))
        assert '"verdict": "keep"' in review.text and draft.text in review.text
        final = last(await parts(server, *found, UserMessage("No more tools can be used."), tools=()))
        assert final.text == draft.text
    assert server.refused == []


@pytest.mark.parametrize(
    ("question", "outcome", "said"),
    [
        ("返金は何日かかりますか？", "answered", "返金には30日かかります。"),
        ("駐車場はどこですか？", "unknown", "見つかりませんでした"),
    ],
)
async def test_a_whole_turn_goes_through_the_loop(question: str, outcome: str, said: str) -> None:
    passage = Passage("faq", "id", "refunds.md", 0, "返金には30日かかります。銀行振込で行います。", "team")
    metrics = SearchMetrics("", "faq", 1.0, 1, 1, 0.9, (0.9,), None, datetime.now(UTC))

    async def search(queries: Sequence[str], collections: tuple[str, ...] | None) -> Found:
        return Found((Hit(passage, {"fused": 1.0}, 0.9),), metrics)

    async with FakeOpenAI(obedient=True, without=("schema", "usage")) as server:
        using = model(server)
        ask = Ask(question, "ja", collections=(CollectionInfo("faq", "Questions", ("ja",), 1, 1),))
        found = [event async for event in Agent(using, search).run(ask)]
        await using.close()
    kinds = [type(event).__name__ for event in found if type(event).__name__ != "Thought"]
    answered = found[-1]
    assert isinstance(answered, Answered) and answered.outcome == outcome and said in answered.text
    assert kinds[:2] == ["ToolCalled", "ToolReturned"] and answered.model == f"openai:{MODEL}"
    assert answered.cost.calls >= 3
    assert [each for each in server.refused if "stream_options" not in each and "response_format" not in each] == []


# -- what it refuses ------------------------------------------------------------------------------------------------

USER = {"role": "user", "content": "x"}
SEARCHED = {"id": "1", "type": "function", "function": {"name": SEARCH, "arguments": "{}"}}
LISTLESS = {"type": "object", "properties": {"queries": {"type": "array"}}}
CALLED = {"role": "assistant", "content": "", "tool_calls": [SEARCHED]}
TOOL = {"type": "function", "function": {"name": SEARCH, "parameters": {"type": "object", "properties": {}}}}


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, 200),
        ({"messages": []}, 400),
        ({"messages": [{"role": "model", "content": "x"}]}, 400),
        ({"messages": [{"role": "assistant", "content": "x"}]}, 400),
        ({"messages": [USER, USER]}, 400),
        ({"messages": [USER, {"role": "system", "content": "x"}]}, 400),
        ({"messages": [{"role": "user", "content": None}]}, 400),
        ({"messages": [USER, {"role": "assistant", "content": ""}, USER]}, 400),
        ({"messages": [USER, {"role": "assistant", "content": "x", "thoughts": "y"}, USER]}, 400),
        ({"messages": [USER, CALLED]}, 400),
        ({"messages": [USER, CALLED, USER]}, 400),
        ({"messages": [USER, CALLED, {"role": "tool", "tool_call_id": "2", "content": "x"}]}, 400),
        ({"messages": [USER, CALLED, {"role": "tool", "tool_call_id": "1", "content": "x"}]}, 200),
        ({"messages": [USER, {"role": "tool", "tool_call_id": "1", "content": "x"}]}, 400),
        ({"question": "x"}, 400),
        ({"tools": []}, 400),
        ({"tool_choice": "none"}, 400),
        ({"tool_choice": "none", "tools": [TOOL]}, 200),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, 400),
        ({"tools": [{"type": "function", "function": {"name": SEARCH, "parameters": {"type": "object"}}}]}, 400),
        ({"tools": [{"type": "function", "function": {"name": SEARCH, "parameters": LISTLESS}}]}, 400),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}}, 400),
        ({"stream": False, "stream_options": {"include_usage": True}}, 400),
        ({"max_tokens": 1, "max_completion_tokens": 1}, 400),
        ({"model": "gpt-9"}, 404),
    ],
)
async def test_the_stand_in_refuses_what_servers_refuse(changed: dict[str, Any], status: int) -> None:
    body = {"model": MODEL, "messages": [USER], "stream": True} | changed
    headers = {"Authorization": "Bearer k"}
    async with FakeOpenAI(Reply(text("Yes.")), key="k") as server, aiohttp.ClientSession(headers=headers) as http:
        async with http.post(f"{server.url}/chat/completions", json=body) as response:
            assert response.status == status
            said = await response.text()
        assert ("[DONE]" in said) == (status == 200)


async def test_the_stand_in_knows_its_key() -> None:
    async with FakeOpenAI() as server, aiohttp.ClientSession() as http:
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            for path in ("chat/completions", "embeddings"):
                async with http.post(f"{server.url}/{path}", json={}, headers=headers) as response:
                    assert response.status == 401


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, 200),
        ({"input": []}, 400),
        ({"input": [""]}, 400),
        ({"input": ["a"] * 33}, 400),
        ({"dimensions": 1025}, 400),
        ({"task": "x"}, 400),
        ({"model": "x"}, 404),
    ],
)
async def test_the_stand_in_embeds(changed: dict[str, Any], status: int) -> None:
    body = {"model": "bge-m3", "input": ["a", "b", "a"], "dimensions": 16} | changed
    async with (
        FakeOpenAI(key=None) as server,
        aiohttp.ClientSession() as http,
        http.post(f"{server.url}/embeddings", json=body) as response,
    ):
        assert response.status == status
        if status == 200:
            rows = {row["index"]: row["embedding"] for row in (await response.json())["data"]}
            assert rows[0] == rows[2] != rows[1] and len(rows[0]) == 16


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, 200),
        ({"taskType": "SEARCH"}, 400),
        ({"outputDimensionality": 4000}, 400),
        ({"model": "models/gemini-embedding-2"}, 400),
        ({"prompt": "x"}, 400),
    ],
)
async def test_gemini_embeds_one_text_and_leaves_a_reduced_size_unscaled(changed: dict[str, Any], status: int) -> None:
    body = {"content": {"parts": [{"text": "a"}]}, "outputDimensionality": 16} | changed
    async with FakeGemini() as gemini, aiohttp.ClientSession(headers={"x-goog-api-key": gemini.key}) as http:
        url = f"{gemini.url}/v1/models/gemini-embedding-001:embedContent"
        async with http.post(url, json=body) as response:
            assert response.status == status
            if status == 200:
                values = (await response.json())["embedding"]["values"]
                assert len(values) == 16 and sum(value * value for value in values) < 0.9
