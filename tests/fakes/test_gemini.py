"""The stand-in for Gemini behaves as the tests that use it believe."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from agent.events import Answered
from agent.models.base import (
    Message,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from agent.strategies.react import Agent, Ask
from retrieval.types import CollectionInfo, Found, Hit, Passage, SearchMetrics
from tests.agent.models.gemini_calls import ASKED, MODEL, SEARCH, SYSTEM, VERDICT, last, model, parts
from tests.fakes.gemini import FakeGemini, Reply, text

# -- the stand-in itself --------------------------------------------------------------------------------------------


async def test_the_obedient_model_searches_quotes_and_keeps() -> None:
    async with FakeGemini(obedient=True) as gemini:
        message = last(await parts(gemini))
        asked = message.calls[0]
        assert asked.arguments == {"query": ASKED.text}
        result = ToolResult(
            "Result 1 (Score: 0.91):\nSection: 返金は何日\n経費は月末に締めます。\nSource: keihi.md\n"
            "\nResult 2 (Score: 0.88):\n返金には30日かかります。振込で行います。\nContext after: 返金は何日？\nSource: a.md",
            "2",
        )
        found: list[Message] = [SYSTEM, ASKED, message, ToolMessage(((asked, result),))]
        draft = last(await parts(gemini, *found))
        assert draft.text == "返金には30日かかります。 [2] 振込で行います。 [2]"
        review = last(await parts(gemini, *found, draft, UserMessage("Review it."), schema=VERDICT))
        assert '"verdict": "keep"' in review.text and draft.text in review.text
        final = last(await parts(gemini, *found, UserMessage("No more tools can be used."), tools=()))
        assert final.text == draft.text
    assert gemini.refused == []


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

    async with FakeGemini(obedient=True, schema_beside_tools=False) as gemini:
        using = model(gemini)
        agent = Agent(using, search)
        ask = Ask(question, "ja", collections=(CollectionInfo("faq", "Questions", ("ja",), 1, 1),))
        found = [event async for event in agent.run(ask)]
        await using.close()
    kinds = [type(event).__name__ for event in found if type(event).__name__ != "Thought"]
    answered = found[-1]
    assert isinstance(answered, Answered) and answered.outcome == outcome and said in answered.text
    assert kinds[:2] == ["ToolCalled", "ToolReturned"] and answered.model == f"gemini:{MODEL}"
    assert (answered.cost.calls >= 3) and answered.cost.output_tokens > 0
    assert [each for each in gemini.refused if "response mime type" not in each] == []


async def test_the_obedient_model_rephrases_once_and_then_admits_it() -> None:
    conversation: list[Message] = [SYSTEM, UserMessage("How long do refunds take?")]
    queries = []
    async with FakeGemini(obedient=True) as gemini:
        while (message := last(await parts(gemini, *conversation))).calls:
            queries.append(message.calls[0].arguments["query"])
            nothing = ToolResult("[[NO_RAG_RESULT]]", "nothing")
            conversation += [message, ToolMessage(((message.calls[0], nothing),))]
    assert queries == ["How long do refunds take?", "long refunds take"]
    assert message.text.startswith("I found nothing")
    assert gemini.refused == []


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"contents": []}, 400),
        ({"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]}, 400),
        ({"contents": [{"role": "model", "parts": [{"text": "x"}]}]}, 400),
        ({"contents": [{"role": "user", "parts": [{"text": ""}]}]}, 400),
        ({"contents": [{"role": "user", "parts": [{"functionResponse": {"name": SEARCH, "response": {}}}]}]}, 400),
        (
            {
                "contents": [
                    {"role": "user", "parts": [{"text": "x"}]},
                    {"role": "model", "parts": [{"functionCall": {"name": SEARCH, "args": {}}}]},
                ]
            },
            400,
        ),
        ({"question": "x"}, 400),
        ({"generation_config": {"response_schema": {"type": "OBJECT"}}}, 400),
        ({"generation_config": {"max_output_tokens": 70_000}}, 400),
        ({"generation_config": {"thinking_config": {"thinking_level": "LOW", "thinking_budget": 0}}}, 400),
        ({"generation_config": {"reasoning": 1}}, 400),
        ({"tools": [], "tool_config": {"function_calling_config": {"mode": "NONE"}}}, 400),
        *(
            ({"tools": [{"function_declarations": [{"name": SEARCH, "parameters": {"type": "OBJECT", **wrong}}]}]}, 400)
            for wrong in (
                {},
                {"additionalProperties": False, "properties": {"a": {"type": "STRING"}}},
                {"properties": {"a": {"type": "ARRAY"}}},
                {"properties": {"a": {"type": "INTEGER", "enum": ["1"]}}},
                {"properties": {"a": {"type": "STRING", "format": "uri"}}},
                {"properties": {"a": {"type": "STRING"}}, "required": ["b"]},
            )
        ),
        ({}, 200),
    ],
)
async def test_the_stand_in_refuses_what_gemini_refuses(changed: dict[str, Any], status: int) -> None:
    body = {
        "contents": [{"parts": [{"text": "x"}]}],
        "tools": [{"function_declarations": [{"name": SEARCH}]}],
    } | changed
    async with FakeGemini(Reply((text("Yes."),))) as gemini, aiohttp.ClientSession() as http:
        url = f"{gemini.url}/v1beta/models/{MODEL}:generateContent"
        async with http.post(url, json=body, headers={"x-goog-api-key": gemini.key}) as response:
            assert response.status == status
            if status == 200:
                reply = await response.json()
                assert reply["candidates"][0]["content"]["parts"] == [{"text": "Yes."}]


async def test_the_stand_in_embeds_at_most_a_hundred_texts_and_none_empty() -> None:
    def body(*texts: str) -> dict[str, Any]:
        return {"requests": [{"content": {"parts": [{"text": each}]}, "output_dimensionality": 16} for each in texts]}

    async with FakeGemini() as gemini, aiohttp.ClientSession(headers={"x-goog-api-key": gemini.key}) as http:
        url = f"{gemini.url}/v1/models/gemini-embedding-001:batchEmbedContents"
        for texts, status in ((("a", "a"), 200), (("a",) * 101, 400), (("a", " "), 400)):
            async with http.post(url, json=body(*texts)) as response:
                assert response.status == status
                if status == 200:
                    one, other = (await response.json())["embeddings"]
                    assert one == other and len(one["values"]) == 16
