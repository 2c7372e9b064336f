"""The real google-genai client against Gemini on loopback: what is sent, and what comes back."""

import base64

import pytest

from agent.models.base import (
    Effort,
    ModelExhausted,
    ModelMessage,
    ModelProtocolError,
    TextPart,
    ThoughtPart,
    Tool,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from tests.agent.models.gemini_calls import (
    ASKED,
    MODEL,
    SEARCH,
    SYSTEM,
    VERDICT,
    failure,
    last,
    model,
    not_run,
    parts,
    tool,
)
from tests.fakes.gemini import FakeGemini, Refuse, Reply, call, text, thought

# -- what is sent ---------------------------------------------------------------------------------------------------


async def test_the_request_holds_system_question_and_tools_and_no_temperature() -> None:
    async with FakeGemini(Reply((text("はい。"),))) as gemini:
        await parts(gemini)
    sent = gemini.journal[0]
    assert (sent.version, sent.model, sent.action) == ("v1", MODEL, "streamGenerateContent")
    assert sent.body["systemInstruction"]["parts"] == [{"text": SYSTEM.text}]
    assert sent.body["contents"] == [{"role": "user", "parts": [{"text": ASKED.text}]}]
    declared = sent.raw["tools"][0]["functionDeclarations"][0]
    assert declared["parameters"]["properties"]["query"] == {"type": "STRING"}
    assert declared["parameters"]["required"] == ["query"]
    assert sent.body["generationConfig"]["thinkingConfig"] == {"includeThoughts": True}
    assert not sent.body["generationConfig"].keys() & {"temperature", "topP", "topK"}


async def test_it_also_speaks_v1beta() -> None:
    async with FakeGemini(Reply((text("Yes."),))) as gemini:
        await parts(gemini, api_version="v1beta")
    assert gemini.journal[0].version == "v1beta"


async def test_roles_alternate_begin_with_the_user_and_hold_no_empty_text() -> None:
    async with FakeGemini(Reply((text("Yes."),))) as gemini:
        await parts(
            gemini,
            SYSTEM,
            ModelMessage("Earlier answer."),
            UserMessage("One."),
            UserMessage("  "),
            UserMessage("Two."),
            ModelMessage(""),
            ModelMessage("Three."),
            ModelMessage("Four."),
            ASKED,
        )
    assert [
        (each["role"], [part["text"] for part in each["parts"]]) for each in gemini.journal[0].body["contents"]
    ] == [
        ("user", ["…"]),
        ("model", ["Earlier answer."]),
        ("user", ["One.", "Two."]),
        ("model", ["Three.", "Four."]),
        ("user", [ASKED.text]),
    ]


async def test_nothing_to_reply_to_is_an_error_of_ours() -> None:
    async with FakeGemini() as gemini:
        with pytest.raises(ModelProtocolError):
            await parts(gemini, SYSTEM)
    assert gemini.journal == []


async def test_calls_and_results_from_elsewhere_become_plain_text() -> None:
    asked = ToolCall("x", SEARCH, {"query": "返金"})
    async with FakeGemini(Reply((text("30日です。"),))) as gemini:
        await parts(
            gemini,
            ASKED,
            ModelMessage("調べます。", (asked,), raw={"role": "assistant"}),
            ToolMessage(((asked, ToolResult("Result 1: 30日", "1")),)),
        )
    said = [each["parts"][0]["text"] for each in gemini.journal[0].body["contents"]]
    assert said[1] == f'調べます。\n\n[{SEARCH} {{"query": "返金"}}]'
    assert said[2] == f"[{SEARCH}]\nResult 1: 30日"


# -- what comes back ------------------------------------------------------------------------------------------------


async def test_thoughts_text_and_usage_arrive_as_they_are_produced() -> None:
    async with FakeGemini(Reply((thought("**考える**"), text("30日です。[1]")), piece=3, thoughts=11)) as gemini:
        found = await parts(gemini)
    assert "".join(part.text for part in found if isinstance(part, ThoughtPart)) == "**考える**"
    pieces = [part.text for part in found if isinstance(part, TextPart)]
    assert len(pieces) > 1 and "".join(pieces) == "30日です。[1]"
    message = last(found)
    assert message == ModelMessage("30日です。[1]")
    assert message.cost.calls == 1 and message.cost.thought_tokens == 11
    assert message.cost.input_tokens > 0 and message.cost.output_tokens > 0


async def test_a_call_comes_with_the_apis_id_and_the_response_bears_it() -> None:
    async with FakeGemini(
        Reply((thought("Search."), call(SEARCH, {"query": "返金"}, id="fc-7"))), Reply((text("30日です。"),))
    ) as gemini:
        found = await parts(gemini)
        asked = ToolCall("fc-7", SEARCH, {"query": "返金"})
        assert found[1] == asked and last(found).calls == (asked,)
        await parts(gemini, SYSTEM, ASKED, last(found), ToolMessage(((asked, ToolResult("Result 1", "1")),)))
    assert gemini.refused == []
    response = gemini.journal[1].body["contents"][2]["parts"][0]["functionResponse"]
    assert response == {"id": "fc-7", "name": SEARCH, "response": {"output": "Result 1"}}


async def test_parallel_calls_without_ids_are_answered_in_their_order_with_the_signature_on_the_first() -> None:
    calls = (call(SEARCH, {"query": "a"}), call(SEARCH, {"query": "b"}, signature=None))
    async with FakeGemini(Reply(calls), Reply((text("Done."),))) as gemini:
        message = last(await parts(gemini))
        first, second = message.calls
        assert first.id != second.id and first.id and second.id
        done = ToolMessage(((second, ToolResult("B", "", failed=True)), (first, ToolResult("A", ""))))
        await parts(gemini, ASKED, message, done)
    assert gemini.refused == []
    answers = [part["functionResponse"] for part in gemini.journal[1].body["contents"][2]["parts"]]
    assert answers == [
        {"name": SEARCH, "response": {"output": "A"}},
        {"name": SEARCH, "response": {"error": "B"}},
    ]


async def test_a_call_that_was_not_made_is_answered_all_the_same() -> None:
    calls = (call(SEARCH, {"query": "a"}), call(SEARCH, {"query": "b"}, signature=None))
    async with FakeGemini(Reply(calls), Reply((text("Done."),)), Reply((text("Done."),))) as gemini:
        message = last(await parts(gemini))
        await parts(gemini, ASKED, message, ToolMessage(((message.calls[0], ToolResult("A", "")),)))
        await parts(gemini, ASKED, message, UserMessage("Answer now."))
    assert gemini.refused == []
    assert "error" in gemini.journal[1].body["contents"][2]["parts"][1]["functionResponse"]["response"]
    assert gemini.journal[2].body["contents"][2]["parts"][2] == {"text": "Answer now."}


async def test_signatures_go_back_byte_for_byte_also_on_an_empty_last_text() -> None:
    signature = bytes(range(256))
    said = (thought("Hm."), text("30 days."), text("", signature))
    async with FakeGemini(Reply(said, piece=2), Reply((text("Kept."),))) as gemini:
        message = last(await parts(gemini))
        assert message.text == "30 days."
        await parts(gemini, ASKED, message, UserMessage("Review it."))
    assert gemini.refused == []
    returned = gemini.journal[1].body["contents"][1]["parts"][-1]
    assert returned["text"] == "" and base64.urlsafe_b64decode(returned["thoughtSignature"]) == signature


@pytest.mark.parametrize("empty", [{}, {"text": ""}, {"thought": True}, {"text": "", "thought": True}])
async def test_a_part_without_anything_in_it_does_not_go_back(empty: dict[str, object]) -> None:
    async with FakeGemini(Reply((empty, call(SEARCH, {"query": "a"}))), Reply((text("30 days."),))) as gemini:
        message = last(await parts(gemini))
        found = ToolResult("30 days.", "1 passage")
        await parts(gemini, ASKED, message, ToolMessage(((message.calls[0], found),)))
    assert gemini.refused == [] and len(gemini.journal[1].body["contents"][1]["parts"]) == 1


@pytest.mark.parametrize("spoilt", ["dropped", "changed", "moved", "another call's"])
async def test_the_server_refuses_calls_without_their_own_signatures(spoilt: str) -> None:
    """That the tests above would notice: the fake is no kinder than Gemini 3, also with parallel calls."""
    calls = (call(SEARCH, {"query": "a"}), call(SEARCH, {"query": "b"}, signature=None))
    async with FakeGemini(Reply(calls), Reply((call(SEARCH, {"query": "c"}),))) as gemini:
        message, other = last(await parts(gemini)), last(await parts(gemini))
        first, second = message.raw.message.parts
        signature = first.thought_signature
        match spoilt:
            case "dropped":
                first.thought_signature = None
            case "changed":
                first.thought_signature = signature[:-1] + bytes([signature[-1] ^ 1])
            case "moved":
                first.thought_signature, second.thought_signature = None, signature
            case _:
                first.thought_signature = other.raw.message.parts[0].thought_signature
        done = ToolMessage(tuple((each, ToolResult("A", "")) for each in message.calls))
        with pytest.raises(ModelProtocolError):
            await parts(gemini, ASKED, message, done)
    assert "thought_signature" in gemini.refused[0]


async def test_calls_of_a_tool_that_is_gone_are_put_as_text() -> None:
    async with FakeGemini(Reply((call(SEARCH, {"query": "a"}),)), Reply((text("Done."),))) as gemini:
        message = last(await parts(gemini))
        results = ToolMessage(((message.calls[0], ToolResult("Result 1", "1")),))
        await parts(gemini, ASKED, message, results, UserMessage("No more tools."), tools=())
    assert gemini.refused == []
    assert [part["text"] for part in gemini.journal[1].body["contents"][2]["parts"]] == [
        f"[{SEARCH}]\nResult 1",
        "No more tools.",
    ]


async def test_a_tool_without_arguments_declares_none() -> None:
    empty = Tool("list_rag_collections", "List them.", {"type": "object", "properties": {}}, not_run)
    async with FakeGemini(Reply((text("Yes."),))) as gemini:
        await parts(gemini, tools=(empty,))
    assert "parameters" not in gemini.journal[0].body["tools"][0]["functionDeclarations"][0]


async def test_another_models_signatures_are_not_sent() -> None:
    async with FakeGemini(
        Reply((call(SEARCH, {"query": "a"}),)), Reply((text("Done."),)), models=(MODEL, "gemini-3.7-flash")
    ) as gemini:
        message = last(await parts(gemini))
        results = ToolMessage(((message.calls[0], ToolResult("A", "")),))
        await parts(gemini, ASKED, message, results, model="gemini-3.7-flash")
    assert "functionCall" not in str(gemini.journal[1].body["contents"])


async def test_a_reply_cut_by_the_limit_says_so() -> None:
    async with FakeGemini(Reply((text("30 da"),), finish="MAX_TOKENS")) as gemini:
        assert last(await parts(gemini)).cut


async def test_thinking_that_used_up_the_output_gets_a_larger_limit_once() -> None:
    empty = Reply((thought("…"),), finish="MAX_TOKENS")
    async with FakeGemini(empty, Reply((text("30 days."),))) as gemini:
        message = last(await parts(gemini))
    assert message.text == "30 days." and not message.cut and message.cost.calls == 2
    limits = [sent.body["generationConfig"]["maxOutputTokens"] for sent in gemini.journal]
    assert limits[0] < limits[1]
    assert gemini.journal[1].body["generationConfig"]["thinkingConfig"]["thinkingLevel"] == "LOW"
    assert isinstance(await failure(empty, empty), ModelExhausted)


# -- JSON -----------------------------------------------------------------------------------------------------------


async def test_a_schema_asks_for_json_and_leaves_the_tools_declared_but_uncalled() -> None:
    async with FakeGemini(Reply((text('{"verdict": "keep"}'),))) as gemini:
        assert last(await parts(gemini, schema=VERDICT)).text == '{"verdict": "keep"}'
    sent = gemini.journal[0].body
    assert sent["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}} and sent["tools"]
    assert sent["generationConfig"]["responseMimeType"] == "application/json"
    schema = sent["generationConfig"]["responseSchema"]
    assert schema["properties"]["verdict"] == {"type": "STRING", "enum": ["keep", "revise", "reject"]}
    assert schema["properties"]["text"] == {"type": "STRING"}
    assert schema["properties"]["claims"]["items"] == {"type": "INTEGER", "minimum": 1}
    assert "additionalProperties" not in schema


async def test_a_server_that_refuses_a_schema_beside_tools_is_asked_without_and_not_bothered_again() -> None:
    replies = (Reply((text('{"verdict": "keep"}'),)),) * 2
    async with FakeGemini(*replies, schema_beside_tools=False) as gemini:
        using = model(gemini)
        for _ in range(2):
            assert last([part async for part in using.converse((SYSTEM, ASKED), (tool(),), schema=VERDICT)]).text
        await using.close()
    assert ["responseSchema" in sent.body["generationConfig"] for sent in gemini.journal] == [True, False, False]
    assert gemini.journal[-1].body["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}}
    assert all("thinkingConfig" in sent.body["generationConfig"] for sent in gemini.journal)


async def test_a_model_that_refuses_thinking_is_asked_without() -> None:
    async with FakeGemini(Reply((text("Yes."),)), thinks=False) as gemini:
        assert last(await parts(gemini)).text == "Yes."
    assert ["thinkingConfig" in sent.body["generationConfig"] for sent in gemini.journal] == [True, False]


async def test_it_is_known_whether_thoughts_are_shown() -> None:
    yes = Reply((text("Yes."),))
    async with FakeGemini(yes, Reply((thought("Hm."), text("Yes."))), yes) as gemini:
        using = model(gemini)
        known = [using.thinks]
        for _ in range(3):
            assert [part async for part in using.converse((SYSTEM, ASKED))]
            known.append(using.thinks)
        assert known == [True, False, True, True] and using.tools
        await using.close()


@pytest.mark.parametrize(
    ("name", "effort", "asked"),
    [
        (MODEL, None, {}),
        (MODEL, "low", {"thinkingLevel": "LOW"}),
        ("gemini-flash-latest", "high", {"thinkingLevel": "HIGH"}),
        ("gemini-2.5-flash", None, {}),
        ("gemini-2.5-flash", "low", {"thinkingBudget": 1_024}),
        ("gemini-2.5-pro", "high", {"thinkingBudget": 24_576}),
    ],
)
async def test_thinking_is_asked_for_as_the_generation_takes_it(
    name: str, effort: Effort | None, asked: dict[str, object]
) -> None:
    async with FakeGemini(Reply((text("Yes."),)), models=[name]) as gemini:
        assert last(await parts(gemini, model=name, effort=effort)).text == "Yes."
    config = gemini.journal[0].body["generationConfig"]
    assert config["thinkingConfig"] == {"includeThoughts": True} | asked
    assert config["maxOutputTokens"] > asked.get("thinkingBudget", 0)


async def test_a_call_has_an_effort_of_its_own_and_a_model_that_takes_none_is_not_asked_again() -> None:
    async with FakeGemini(*[Reply((text("Yes."),))] * 3, levels=False) as gemini:
        using = model(gemini)
        for effort in (None, "low", "low"):
            assert last([part async for part in using.converse((SYSTEM, ASKED), effort=effort)]).text
        await using.close()
    asked = [sent.body["generationConfig"]["thinkingConfig"] for sent in gemini.journal]
    plain = {"includeThoughts": True}
    assert asked == [plain, {**plain, "thinkingLevel": "LOW"}, plain, plain]


async def test_a_model_without_instructions_and_tools_is_asked_in_its_first_turn_and_without() -> None:
    refused = (
        "Developer instruction is not enabled for models/gemma",
        "Function calling is not enabled for models/gemma",
    )
    async with FakeGemini(*(Refuse(400, said) for said in refused), *[Reply((text("Yes."),))] * 2) as gemini:
        using = model(gemini)
        for _ in range(2):
            assert last([part async for part in using.converse((SYSTEM, ASKED), (tool(),))]).text == "Yes."
        assert using.tools is False
        await using.close()
    assert [("systemInstruction" in sent.body, "tools" in sent.body) for sent in gemini.journal] == [
        *((True, True), (False, True)),
        *[(False, False)] * 2,
    ]
    for sent in gemini.journal[1:]:
        (turn,) = sent.body["contents"]
        assert (turn["role"], [part["text"] for part in turn["parts"]]) == ("user", [SYSTEM.text, ASKED.text])


async def test_a_request_that_is_wrong_in_every_form_ends() -> None:
    wrong = Refuse(400, "Request contains an invalid argument.")
    async with FakeGemini(*[wrong] * 9) as gemini:
        with pytest.raises(ModelProtocolError):
            await parts(gemini, schema=VERDICT)
    assert len(gemini.journal) == 3
