"""The chat model against an OpenAI-compatible server on loopback: what is sent, and what comes back."""

from typing import Any

import pytest

from agent.events import Cost
from agent.models import openai_stream
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
from tests.agent.models.gemini_calls import ASKED, SEARCH, SYSTEM, VERDICT, last, not_run, tool
from tests.agent.models.openai_calls import MODEL, failure, model, parts
from tests.fakes.openai import FakeOpenAI, Refuse, Reply, call, reasoning, text

YES = Reply(text("Yes."))


def called(*calls: Any, finish: str = "tool_calls", before: str = "") -> Reply:
    deltas = [delta for each in calls for delta in each]
    return Reply((*text(before), *deltas) if before else tuple(deltas), finish)


# -- what is sent ---------------------------------------------------------------------------------------------------


async def test_the_request_holds_system_question_tools_and_a_limit_and_no_temperature() -> None:
    async with FakeOpenAI(Reply(text("はい。"))) as server:
        await parts(server)
    sent = server.journal[0]
    assert sent.headers["Authorization"] == f"Bearer {server.key}"
    assert sent.body["messages"] == [
        {"role": "system", "content": SYSTEM.text},
        {"role": "user", "content": ASKED.text},
    ]
    function = sent.body["tools"][0]["function"]
    assert function["name"] == SEARCH and function["parameters"]["required"] == ["query"]
    assert sent.body["stream"] and sent.body["model"] == MODEL and sent.body["max_tokens"] == 8192
    assert not sent.body.keys() & {"temperature", "top_p", "tool_choice", "response_format"}


async def test_an_address_that_is_whole_needs_no_version() -> None:
    async with FakeOpenAI(YES) as server:
        await parts(server, base_url=server.url.removesuffix("/v1") + "/inference/chat/completions?api-version=1")
    assert [sent.path for sent in server.journal] == ["/inference/chat/completions"]


@pytest.mark.parametrize("written", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
async def test_the_address_is_with_or_without_its_version(written: str) -> None:
    async with FakeOpenAI(YES) as server:
        await parts(server, base_url=server.url.removesuffix("/v1") + written)
    assert server.journal[0].path == "/v1/chat/completions"


async def test_a_local_server_needs_no_key() -> None:
    async with FakeOpenAI(YES, YES, key=None) as server:
        await parts(server, key=None)
        await parts(server, key="  ")
    assert all("Authorization" not in sent.headers for sent in server.journal)


async def test_roles_alternate_begin_with_the_user_and_hold_no_empty_text() -> None:
    async with FakeOpenAI(YES) as server:
        await parts(
            server,
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
    assert [(each["role"], each["content"]) for each in server.journal[0].body["messages"]] == [
        ("system", SYSTEM.text),
        ("user", "…"),
        ("assistant", "Earlier answer."),
        ("user", "One.\n\nTwo."),
        ("assistant", "Three.\n\nFour."),
        ("user", ASKED.text),
    ]


async def test_half_a_surrogate_pair_is_no_matter() -> None:
    async with FakeOpenAI(YES) as server:
        await parts(server, UserMessage("broken \ud83d here"))
    assert server.journal[0].body["messages"][0]["content"] == "broken \ufffd here"


async def test_nothing_to_reply_to_is_an_error_of_ours() -> None:
    async with FakeOpenAI() as server:
        with pytest.raises(ModelProtocolError):
            await parts(server, SYSTEM)
    assert server.journal == []


async def test_calls_and_results_from_elsewhere_become_plain_text() -> None:
    asked = ToolCall("x", SEARCH, {"query": "返金"})
    async with FakeOpenAI(Reply(text("30日です。"))) as server:
        await parts(
            server,
            ASKED,
            ModelMessage("調べます。", (asked,), raw={"role": "model"}),
            ToolMessage(((asked, ToolResult("Result 1: 30日", "1")),)),
        )
    said = [each["content"] for each in server.journal[0].body["messages"]]
    assert said[1:] == [f'調べます。\n\n[{SEARCH} {{"query": "返金"}}]', f"[{SEARCH}]\nResult 1: 30日"]


async def test_a_tool_without_arguments_and_none_at_all() -> None:
    empty = Tool("list_rag_collections", "List them.", {"type": "object", "properties": {}}, not_run)
    async with FakeOpenAI(YES, YES) as server:
        await parts(server, tools=(empty,))
        await parts(server, tools=())
    assert server.refused == [] and "tools" not in server.journal[1].body


# -- what comes back ------------------------------------------------------------------------------------------------


async def test_thoughts_text_and_usage_arrive_as_they_are_produced() -> None:
    deltas = (reasoning("考え"), reasoning("る"), *text("30日です。[1]", 3))
    async with FakeOpenAI(Reply(deltas, thoughts=11)) as server:
        found = await parts(server)
    assert [part.text for part in found if isinstance(part, ThoughtPart)] == ["考え", "る"]
    pieces = [part.text for part in found if isinstance(part, TextPart)]
    assert len(pieces) > 1 and "".join(pieces) == "30日です。[1]"
    message = last(found)
    assert message == ModelMessage("30日です。[1]")
    assert message.cost == Cost(1, message.cost.input_tokens, len(deltas), 11) and message.cost.input_tokens > 0


async def test_reasoning_under_both_names_is_one_thought() -> None:
    both = {"reasoning": "Hm.", "reasoning_content": "Hm."}
    async with FakeOpenAI(Reply((both, reasoning(" Right.", "reasoning"), *text("Yes.")))) as server:
        found = await parts(server)
    assert [part.text for part in found if isinstance(part, ThoughtPart)] == ["Hm.", " Right."]


@pytest.mark.parametrize("piece", [0, 1, 3, 7])
@pytest.mark.parametrize(
    ("written", "thought", "said"),
    [
        ("<think>Look <b>.\n</think>\n\n30 days.", "Look <b>.\n", "30 days."),
        ("\n<thinking>Look.</thinking>30 days.", "Look.", "30 days."),
        ("[THINK]Look.[/THINK]30 days.", "Look.", "30 days."),
        ("<think></think>\n30 days.", "", "30 days."),
        ("<thin ice> is 30 days.", "", "<thin ice> is 30 days."),
        ("Write <think>x</think> in\n</think>\nit.", "", "Write <think>x</think> in\n</think>\nit."),
        ("Look it up.\n</think>\n\n30 days.", "", "30 days."),
        ("Look it up.</think>30 days.", "", "30 days."),
        ("The tag `</think>` ends it.", "", "The tag `</think>` ends it."),
        ("A </think> ends it.", "", "A </think> ends it."),
        ("<thought>Look.</thought>30 days.", "Look.", "30 days."),  # Gemini behind OpenAI's wire
        ("<seed:think>Look.</seed:think>30 days.", "Look.", "30 days."),
        (
            "<|channel|>analysis<|message|>Look.<|end|><|start|>assistant<|channel|>final<|message|>30 days.<|return|>",
            "Look.",
            "30 days.",
        ),  # gpt-oss without a parser for its channels
        ("<|channel|>final<|message|>30 days.", "", "30 days."),
        ("analysisLook it up. Then say.assistantfinal30 days.", "", "30 days."),  # the same, its tokens left out
        ("analysis: the assistantfinal is 30 days.", "", "analysis: the assistantfinal is 30 days."),
        ("<|channel>thought\nLook.<channel|>30 days.", "\nLook.", "30 days."),  # Gemma 4
        ("Look.<channel|>30 days.", "", "30 days."),
        ("<reasoning>Look.</reasoning>30 days.", "Look.", "30 days."),
        ("30 days.<|im_end|>\n<|im_start|>user\nThanks", "", "30 days."),
        ("30 days.</s>", "", "30 days."),
        ("<s>20</s> 30 days, <s>40</s>", "", "<s>20</s> 30 days, <s>40</s>"),
        ("ChatML ends a turn with `<|im_end|>`.", "", "ChatML ends a turn with `<|im_end|>`."),
    ],
)
async def test_thinking_inside_the_text_is_no_part_of_it(piece: int, written: str, thought: str, said: str) -> None:
    async with FakeOpenAI(Reply(text(written, piece))) as server:
        found = await parts(server)
    assert "".join(part.text for part in found if isinstance(part, ThoughtPart)) == thought
    assert last(found).text == said


@pytest.mark.parametrize("piece", [0, 1, 5])
async def test_a_call_comes_whole_with_its_id_and_its_result_bears_it(piece: int) -> None:
    reply = called(call(SEARCH, {"query": "返金"}, id="call_7", piece=piece), before="Thought: search.")
    async with FakeOpenAI(reply, Reply(text("30日です。"))) as server:
        found = await parts(server)
        asked = ToolCall("call_7", SEARCH, {"query": "返金"})
        assert found[-2] == asked and last(found).calls == (asked,)
        await parts(server, SYSTEM, ASKED, last(found), ToolMessage(((asked, ToolResult("Result 1", "1")),)))
    assert server.refused == []
    said, answer = server.journal[1].body["messages"][2:]
    assert said["content"] == "Thought: search."
    assert said["tool_calls"][0]["function"] == {"name": SEARCH, "arguments": '{"query": "返金"}'}
    assert answer == {"role": "tool", "tool_call_id": "call_7", "content": "Result 1"}


A, B = {"query": "a"}, {"query": "b"}


@pytest.mark.parametrize(
    "calls",
    [
        (call(SEARCH, A, id="1", index=0, piece=4), call(SEARCH, B, id="2", index=1, piece=4)),
        (call(SEARCH, A, id="1", index=0), call(SEARCH, B, id="2", index=0)),  # Ollama numbered them all 0
        (call(SEARCH, A, id="1", index=0, piece=4), call(SEARCH, B, id="2", index=0, piece=4)),
        (call(SEARCH, A, id="1", index=None), call(SEARCH, B, id="2", index=None)),
        (call(SEARCH, A, id=None, index=0, piece=4), call(SEARCH, B, id=None, index=1, piece=4)),
        (call(SEARCH, A, id=None, index=0), call(SEARCH, B, id=None, index=0)),
        (call(SEARCH, A, id=None, index=None, piece=3), call(SEARCH, B, id=None, index=None)),
    ],
)
async def test_parallel_calls_however_the_server_numbers_them(calls: Any) -> None:
    async with FakeOpenAI(called(*calls), YES) as server:
        message = last(await parts(server))
        assert [each.arguments for each in message.calls] == [A, B]
        first, second = message.calls
        assert first.id and second.id and first.id != second.id
        done = ToolMessage(((second, ToolResult("B", "", failed=True)), (first, ToolResult("A", ""))))
        await parts(server, ASKED, message, done)
    assert server.refused == []
    assert [each["content"] for each in server.journal[1].body["messages"][2:]] == ["A", "B"]


async def test_fragments_that_repeat_id_and_name_are_one_call() -> None:
    def piece(arguments: str) -> dict[str, Any]:
        return {"tool_calls": [{"index": 0, "id": "1", "function": {"name": SEARCH, "arguments": arguments}}]}

    async with FakeOpenAI(Reply((piece('{"query"'), piece(': "a"}'), piece("")), "stop")) as server:
        assert last(await parts(server)).calls == (ToolCall("1", SEARCH, A),)


async def test_fragments_that_each_have_an_id_of_their_own_are_one_call() -> None:
    """As older vLLM sent them: its `DeltaToolCall` made a new id by default."""

    def piece(id: str, index: int, **function: str) -> dict[str, Any]:
        return {"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}

    first = (piece("a", 0, name=SEARCH), piece("b", 0, arguments='{"query"'), piece("c", 0, arguments=': "a"}'))
    second = (piece("d", 1, name=SEARCH), piece("e", 1, arguments='{"query": "b"}'))
    async with FakeOpenAI(Reply((*first, *second), "tool_calls")) as server:
        assert last(await parts(server)).calls == (ToolCall("a", SEARCH, A), ToolCall("d", SEARCH, B))


@pytest.mark.parametrize(
    "arguments",
    [
        '"{\\"query\\": \\"a\\"}"',
        '{}{"query": "a"}',
        '{"query": "a"}{"query": "a"}',
        '{"query": "a"}\n</tool_call>',
    ],
)
async def test_arguments_encoded_twice_repeated_or_with_something_around_them(arguments: str) -> None:
    async with FakeOpenAI(called(call(SEARCH, arguments))) as server:
        assert last(await parts(server)).calls[0].arguments == A


async def test_calls_that_are_none_and_figures_that_are_no_numbers_are_no_matter() -> None:
    none = {"tool_calls": [None, {"index": 0, "id": "", "function": {"name": "", "arguments": ""}}], "reasoning": [7]}
    async with FakeOpenAI(Reply((none, {"tool_calls": None}, *text("Yes.")))) as server:
        assert last(await parts(server)) == ModelMessage("Yes.")
    reply = openai_stream.Reply()
    odd = {"choices": [None], "usage": {"prompt_tokens": 3.0, "completion_tokens": "1"}}
    assert (list(reply.read(odd)), reply.cost) == ([], Cost(1, 3, 0, 0))


@pytest.mark.parametrize("figure", [float("inf"), float("nan"), 1e400, 10**30, -5])
async def test_figures_of_use_that_are_none_cost_no_answer(figure: float) -> None:
    usage = {"prompt_tokens": figure, "completion_tokens": figure}
    async with FakeOpenAI(Reply(text("Yes."), usage=usage)) as server:
        said = last(await parts(server))
    assert (said.text, said.cost) == ("Yes.", Cost(1, 0, 0, 0))


@pytest.mark.parametrize("kind", ["", "text/plain", "application/octet-stream"])
async def test_a_stream_that_is_not_called_one(kind: str) -> None:
    async with FakeOpenAI(Reply(text("Yes."), kind=kind)) as server:
        assert last(await parts(server)).text == "Yes."


async def test_calls_of_two_tools_without_arguments_ids_or_numbers() -> None:
    names = ("list_rag_collections", SEARCH)
    deltas = tuple({"tool_calls": [{"function": {"name": name, "arguments": ""}}]} for name in names)
    async with FakeOpenAI(Reply(deltas, "tool_calls")) as server:
        assert [each.name for each in last(await parts(server)).calls] == list(names)


@pytest.mark.parametrize("arguments", ["", "null", "{}", "  "])
async def test_a_call_without_arguments(arguments: str) -> None:
    async with FakeOpenAI(called(call("list_rag_collections", arguments))) as server:
        assert last(await parts(server)).calls == (ToolCall("call_1", "list_rag_collections", {}),)


async def test_arguments_as_an_object_and_with_bare_line_breaks() -> None:
    objects = {"tool_calls": [{"id": "1", "function": {"name": SEARCH, "arguments": {"query": "a"}}}]}
    async with FakeOpenAI(Reply((objects,), "tool_calls"), called(call(SEARCH, '{"query": "a\nb"}'))) as server:
        assert last(await parts(server)).calls[0].arguments == A
        assert last(await parts(server)).calls[0].arguments == {"query": "a\nb"}


@pytest.mark.parametrize(
    "content",
    [
        ["30 ", "days."],
        {"type": "text", "text": "30 days."},
        [{"type": "text", "text": "30 days."}],
        [{"type": "output_text", "text": "30 "}, {"type": "text", "text": "days."}, {"type": "text", "text": None}],
        [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "30 days."}],
        [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "30 days."}],
    ],
)
@pytest.mark.parametrize("ending", ["end", "whole"])
async def test_content_as_a_list_of_parts(content: Any, ending: Any) -> None:
    async with FakeOpenAI(Reply(({"content": content},), ending=ending)) as server:
        found = await parts(server)
    assert last(found).text == "30 days."
    assert [part for part in found if isinstance(part, ThoughtPart)] == [ThoughtPart("Hm.")] * ("Hm." in str(content))


@pytest.mark.parametrize("cut", [1, 2])
async def test_a_call_in_the_form_that_is_older_than_tools(cut: int) -> None:
    first = {"function_call": {"name": SEARCH, "arguments": '{"query": "a"}'[: 9 if cut == 2 else None]}}
    rest = ({"function_call": {"arguments": '{"query": "a"}'[9:]}},) if cut == 2 else ()
    async with FakeOpenAI(Reply((first, *rest), "function_call")) as server:
        message = last(await parts(server))
        (made,) = message.calls
        assert (made.name, made.arguments) == (SEARCH, {"query": "a"}) and made.id
        server.order(YES)
        results = ToolMessage(((made, ToolResult("30 days.", "")),))
        assert last(await parts(server, SYSTEM, ASKED, message, results)).text == "Yes."


async def test_with_a_finish_reason_nobody_knows_what_is_whole_counts() -> None:
    whole = called(call(SEARCH, {"query": "a"}), finish="end_turn")
    async with FakeOpenAI(Reply(text("Yes."), "solar_flare"), whole) as server:
        assert last(await parts(server)).text == "Yes."
        assert last(await parts(server)).calls[0].arguments == {"query": "a"}


@pytest.mark.parametrize("ending", ["end", "whole"])
async def test_a_server_that_gives_no_finish_reason_has_said_all_when_it_says_so(ending: Any) -> None:
    replies = Reply(text("Yes."), None, ending), Reply((*call(SEARCH, A),), None, ending)
    async with FakeOpenAI(*replies) as server:
        assert last(await parts(server)).text == "Yes."
        assert last(await parts(server)).calls[0].arguments == A


async def test_a_server_that_does_not_stream() -> None:
    reply = Reply((*text("Yes."), *call(SEARCH, A, index=None)), "tool_calls", "whole")
    async with FakeOpenAI(reply) as server:
        message = last(await parts(server))
    assert message.text == "Yes." and message.calls == (ToolCall("call_1", SEARCH, A),)
    assert message.cost.input_tokens > 0


async def test_reasoning_and_what_came_with_a_call_go_back_with_it_and_only_then() -> None:
    signed = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    (made,) = call(SEARCH, A)
    made["tool_calls"][0] |= signed
    details = [{"type": "reasoning.encrypted", "data": each} for each in ("eA==", "eQ==")]  # as OpenRouter sends them
    pieces = tuple({"reasoning_details": [each]} for each in details)
    async with FakeOpenAI(Reply((reasoning("Search."), *pieces, made), "tool_calls"), YES) as server:
        message = last(await parts(server))
        results = ToolMessage(((message.calls[0], ToolResult("Result 1", "1")),))
        await parts(server, ASKED, message, results)
    assert server.refused == []
    said = server.journal[1].body["messages"][1]
    assert said["reasoning_details"] == details
    assert said["reasoning_content"] == "Search." and said["tool_calls"][0]["extra_content"] == signed["extra_content"]
    async with FakeOpenAI(Reply((reasoning("Hm."), *text("Yes."))), YES) as server:
        message = last(await parts(server))
        await parts(server, ASKED, message, UserMessage("Review it."))
    assert server.journal[1].body["messages"][1] == {"role": "assistant", "content": "Yes."}


@pytest.mark.parametrize(
    "said",
    [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",  # DeepSeek
        "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning' is"
        " unsupported)]",  # Groq
    ],
)
async def test_a_call_that_a_server_does_not_take_back_is_told_as_text_and_tools_are_offered_on(said: str) -> None:
    thinking = (reasoning("Look it up.", "reasoning"), *call(SEARCH, {"query": "a"}))
    async with FakeOpenAI(Reply(thinking, "tool_calls"), Refuse(400, said), *[YES] * 2) as server:
        using = model(server, effort="low")
        message = last([part async for part in using.converse((SYSTEM, ASKED), (tool(),))])
        results = ToolMessage(((message.calls[0], ToolResult("30 days.", "")),))
        for _ in range(2):
            told = [part async for part in using.converse((SYSTEM, ASKED, message, results), (tool(),))]
            assert last(told).text == "Yes."
        await using.close()
    assert ["tool_calls" in sent.body["messages"][-2] for sent in server.journal[1:]] == [True, False, False]
    assert all(sent.body["tools"] and sent.body["reasoning_effort"] for sent in server.journal)
    assert "30 days." in server.journal[-1].body["messages"][-1]["content"]


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
async def test_a_form_that_comes_as_thinking_is_the_reply(name: str) -> None:
    async with FakeOpenAI(Reply((reasoning('{"verdict": ', name), reasoning('"keep"}', name)))) as server:
        assert last(await parts(server, tools=(), schema=VERDICT)).text == '{"verdict": "keep"}'
    for thought, schema in (("Keep {it}.", VERDICT), ('{"verdict": "keep"}', None)):
        async with FakeOpenAI(Reply((reasoning(thought, name),))) as server:
            with pytest.raises(ModelProtocolError):
                await parts(server, tools=(), schema=schema)


async def test_a_call_that_was_not_made_is_answered_all_the_same() -> None:
    calls = (call(SEARCH, A, id="1"), call(SEARCH, B, id="2", index=1))
    async with FakeOpenAI(called(*calls), YES, YES) as server:
        message = last(await parts(server))
        await parts(server, ASKED, message, ToolMessage(((message.calls[0], ToolResult("A", "")),)))
        await parts(server, ASKED, message, UserMessage("Answer now."))
    assert server.refused == []
    assert server.journal[1].body["messages"][3]["content"] == "This call was not made."
    assert server.journal[2].body["messages"][-1] == {"role": "user", "content": "Answer now."}


async def test_calls_of_a_tool_that_is_gone_and_of_another_model_are_put_as_text() -> None:
    async with FakeOpenAI(called(call(SEARCH, A)), YES, YES) as server:
        message = last(await parts(server))
        results = ToolMessage(((message.calls[0], ToolResult("Result 1", "1")),))
        await parts(server, ASKED, message, results, UserMessage("No more tools."), tools=())
        await parts(server, ASKED, message, results, model="gpt-5-mini")
    assert server.refused == []
    assert server.journal[1].body["messages"][-1]["content"] == f"[{SEARCH}]\nResult 1\n\nNo more tools."
    assert "tool_calls" not in str(server.journal[2].body["messages"])


# -- limits ---------------------------------------------------------------------------------------------------------


async def test_a_reply_cut_by_the_limit_says_so() -> None:
    async with FakeOpenAI(Reply(text("30 da"), "length")) as server:
        assert last(await parts(server)).cut


@pytest.mark.parametrize(
    "empty",
    [
        Reply((reasoning("…"),), "length"),
        Reply(text("<think>…"), "length"),
        called(call(SEARCH, '{"query": "a'), finish="length", before="I search."),
        called(call(SEARCH, ""), finish="length"),
    ],
)
async def test_a_limit_that_left_nothing_of_use_is_raised_once(empty: Reply) -> None:
    async with FakeOpenAI(empty, Reply(text("30 days."))) as server:
        message = last(await parts(server))
    assert message.text == "30 days." and not message.cut and message.cost.calls == 2
    assert [sent.body["max_tokens"] for sent in server.journal] == [8192, 32768]
    assert [sent.body.get("reasoning_effort") for sent in server.journal] == [None, "low"]
    assert isinstance(await failure(empty, empty), ModelExhausted)


# -- JSON, and what servers do not take -----------------------------------------------------------------------------


async def test_a_schema_asks_for_json_and_leaves_the_tools_declared_but_uncalled() -> None:
    async with FakeOpenAI(Reply(text('{"verdict": "keep"}'))) as server:
        assert last(await parts(server, schema=VERDICT)).text == '{"verdict": "keep"}'
    sent = server.journal[0].body
    assert sent["tool_choice"] == "none" and sent["tools"]
    assert sent["response_format"]["json_schema"]["schema"] == VERDICT


@pytest.mark.parametrize(
    ("refused", "missing", "kept"),
    [
        (("schema",), {"response_format"}, {"stream_options", "max_tokens", "tool_choice"}),
        (("usage",), {"stream_options"}, {"response_format", "max_tokens"}),
        (("stream",), {"stream", "stream_options"}, {"response_format", "tools", "max_tokens"}),
        (("max_tokens",), {"max_tokens"}, {"max_completion_tokens", "response_format"}),
        (("limit",), {"max_tokens", "max_completion_tokens"}, {"stream_options", "response_format"}),
        (("effort",), {"reasoning_effort"}, {"response_format", "tools"}),
        (("system",), set(), {"response_format", "tools"}),
        (("schema", "usage", "max_tokens"), {"response_format", "stream_options", "max_tokens"}, {"tools"}),
    ],
)
async def test_what_a_server_refuses_is_left_out_and_not_asked_again(
    refused: tuple[str, ...], missing: set[str], kept: set[str]
) -> None:
    async with FakeOpenAI(*(Reply(text('{"verdict": "keep"}')),) * 2, without=refused) as server:
        using = model(server, effort="medium")
        for _ in range(2):
            assert last([part async for part in using.converse((SYSTEM, ASKED), (tool(),), schema=VERDICT)]).text
        await using.close()
    assert len(server.journal) == 2 + len(refused)
    for sent in server.journal[-2:]:
        assert not sent.body.keys() & missing and kept <= sent.body.keys()


@pytest.mark.parametrize("effort", [None, "high"])
async def test_a_model_that_takes_tools_only_without_thinking_is_asked_so(effort: Effort | None) -> None:
    async with FakeOpenAI(*[YES] * 3, without=("thinking",)) as server:
        using = model(server, effort=effort)
        for tools in ((tool(),), (tool(),), ()):
            assert last([part async for part in using.converse((SYSTEM, ASKED), tools)]).text
        await using.close()
    efforts = [sent.body.get("reasoning_effort") for sent in server.journal]
    assert efforts == [effort, "none", "none", effort] and using.tools is None


async def test_a_model_that_takes_no_tools_in_any_way_answers_without_them() -> None:
    async with FakeOpenAI(YES, without=("thinking", "none")) as server:
        using = model(server)
        assert last([part async for part in using.converse((SYSTEM, ASKED), (tool(),))]).text
        await using.close()
    assert using.tools is False and not server.journal[-1].body.keys() & {"tools", "reasoning_effort"}


async def test_instructions_that_may_not_be_the_systems_stand_before_the_question() -> None:
    async with FakeOpenAI(YES, without=("system",)) as server:
        assert last(await parts(server)).text == "Yes."
    sent = server.journal[-1].body["messages"]
    assert sent == [{"role": "user", "content": f"{SYSTEM.text}\n\n{ASKED.text}"}]


async def test_calls_that_a_template_has_no_role_for_are_told_as_text_from_then_on() -> None:
    async with FakeOpenAI(called(call(SEARCH, {"query": "返金"})), YES, YES, without=("results",)) as server:
        using = model(server)
        made = last([part async for part in using.converse((SYSTEM, ASKED), (tool(),))])
        told = (SYSTEM, ASKED, made, ToolMessage(((made.calls[0], ToolResult("30 days", "1 passage")),)))
        for _ in range(2):
            assert last([part async for part in using.converse(told, (tool(),))]).text == "Yes."
        await using.close()
    sent = [(len(one.body["messages"]), "tools" in one.body) for one in server.journal]
    assert sent[-1] == sent[-2] and sent[-1][1] and len(server.refused) == 2
    assert [one["role"] for one in server.journal[-1].body["messages"]] == ["user", "assistant", "user"]
    assert "30 days" in server.journal[-1].body["messages"][-1]["content"]


@pytest.mark.parametrize(
    "window",
    [
        "This model's maximum context length is 4096 tokens. However, you requested 8500 tokens (308 in the messages,"
        " 8192 in the completion). Please reduce the length of the messages.",  # vLLM until 2025
        "This model's maximum context length is 4096 tokens. However, you requested 8192 output tokens and your prompt"
        " contains at least 1 input tokens, for a total of at least 8193 tokens.",  # vLLM since
        "Requested token count exceeds the model's maximum context length of 4096 tokens: 308 tokens from the input"
        " messages and 8192 tokens for the completion.",  # SGLang
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096.",  # TGI
    ],
)
async def test_a_window_that_the_limit_does_not_fit_in_is_used_without_a_limit(window: str) -> None:
    """As servers say it that do not name the parameter."""
    async with FakeOpenAI(Refuse(400, window), YES) as server:
        assert last(await parts(server)).text == "Yes."
    assert ["max_tokens" in sent.body for sent in server.journal] == [True, False]


async def test_a_call_has_an_effort_of_its_own_and_reasoning_that_was_shown_is_remembered() -> None:
    async with FakeOpenAI(Reply((reasoning("Hm."), *text("Yes."))), YES) as server:
        using = model(server, effort="high")
        before = using.thinks
        for effort in (None, "low"):
            assert [part async for part in using.converse((SYSTEM, ASKED), effort=effort)]
        assert (before, using.thinks) == (False, True)
        await using.close()
    assert [sent.body["reasoning_effort"] for sent in server.journal] == ["high", "low"]


async def test_a_refusal_that_names_nothing_costs_the_schema_and_then_ends() -> None:
    detail = [{"loc": ["body", "messages"], "msg": "value is not valid", "input": "返金の質問"}]
    wrong = Refuse(422, body={"detail": detail})
    async with FakeOpenAI(*[wrong] * 9) as server:
        with pytest.raises(ModelProtocolError, match=r"body\.messages: value is not valid") as caught:
            await parts(server, schema=VERDICT)
    assert len(server.journal) == 2 and "返金" not in str(caught.value)
