"""Calls that a model writes as text are calls; an answer that speaks of one is an answer."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tool_calls import written_calls
from agent.tools import SEARCH, TOOLS

ARGUMENTS: dict[str, Any] = {"queries": ["refund period", "返金 期間"]}
CALL = json.dumps({"name": SEARCH, "arguments": ARGUMENTS}, ensure_ascii=False)
ANSWER = "Refunds take 30 days. [1]"


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<tool_call>{CALL}",
        f"{{{CALL}}}",  # Qwen2.5-Coder, whose template shows it so
        f"[{SEARCH} {json.dumps(ARGUMENTS)}]",
        f"{SEARCH}\n{json.dumps(ARGUMENTS)}",
        f"```json\n{CALL}\n```",
        f"```tool_code\nprint(default_api.{SEARCH}(queries=['refund period', '返金 期間']))\n```",  # Gemini
        f"<|channel|>commentary to=functions.{SEARCH} <|constrain|>json<|message|>{json.dumps(ARGUMENTS)}<|call|>",
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{SEARCH}:0<|tool_call_argument_begin|>"
        f"{json.dumps(ARGUMENTS)}<|tool_call_end|><|tool_calls_section_end|>",  # Kimi
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{SEARCH}\n```json\n{json.dumps(ARGUMENTS)}\n```"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",  # DeepSeek
        f"[TOOL_CALLS]{SEARCH}[ARGS]{json.dumps(ARGUMENTS)}",  # Mistral since 2025
        f"<tool_call>{SEARCH}\n<arg_key>queries</arg_key>\n<arg_value>{json.dumps(ARGUMENTS['queries'])}</arg_value>\n"
        "</tool_call>",  # GLM
        f'<function_calls><invoke name="{SEARCH}"><parameter name="queries">{json.dumps(ARGUMENTS["queries"])}'
        "</parameter></invoke></function_calls>",  # MiniMax
        f"<minimax:tool_call><function={SEARCH}>{json.dumps(ARGUMENTS)}</function></minimax:tool_call>",
        f'<｜DSML｜tool_calls><｜DSML｜invoke name="{SEARCH}"><｜DSML｜parameter name="queries" string="false">'
        f"{json.dumps(ARGUMENTS['queries'])}</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>",  # DeepSeek since V3.2
        f"<|tool_call_start|>[{SEARCH}(queries={ARGUMENTS['queries']})]<|tool_call_end|>",  # LFM2
        f"<|START_ACTION|>[{CALL}]<|END_ACTION|>",  # Cohere
        f"<TOOLCALL>[{CALL}]</TOOLCALL>",  # Nemotron
        f"[TOOL_CALLS]{SEARCH}[CALL_ID]a1b2c3d4e[ARGS]{json.dumps(ARGUMENTS)}",
        f"<|start|>assistant to=functions.{SEARCH}<|channel|>commentary json<|message|>{json.dumps(ARGUMENTS)}<|call|>",
        f"commentary to=functions.{SEARCH} json{json.dumps(ARGUMENTS)}",
        f"<|python_tag|>{SEARCH}.call(queries={ARGUMENTS['queries']})",
        f"<function={SEARCH}{json.dumps(ARGUMENTS)}</function>",
        f"<|tool_call|>{CALL}</s>",
        f"functools[{CALL}]",  # Phi
        f"<|tool_call|>[{CALL}]",
        f"<tools>{CALL}</tools>",
        f"[TOOL_CALLS] [{CALL}]",
        f"<|python_tag|>{CALL}",
        json.dumps(
            {"tool_calls": [{"type": "function", "function": {"name": SEARCH, "arguments": json.dumps(ARGUMENTS)}}]}
        ),
        json.dumps({"tool": SEARCH, "parameters": ARGUMENTS}),
        json.dumps({"action": SEARCH, "action_input": ARGUMENTS}),
        json.dumps({SEARCH: ARGUMENTS}),
        f"<function={SEARCH}>{json.dumps(ARGUMENTS)}</function>",
        f"<tool_call><function={SEARCH}><parameter=queries>\n{json.dumps(ARGUMENTS['queries'])}\n</parameter></function></tool_call>",
        f"Action: {SEARCH}\nAction Input: {json.dumps(ARGUMENTS)}",
        f'{SEARCH}(queries=["refund period", "返金 期間"])',
        f'{SEARCH}(["refund period",\n "返金 期間"])',
    ],
)
def test_every_form_of_a_call(text: str) -> None:
    rest, calls = written_calls(text, TOOLS)
    assert (rest, calls) == ("", ((SEARCH, ARGUMENTS),))


def test_what_is_said_beside_calls_and_several_of_them() -> None:
    rest, calls = written_calls(f"I look it up.\n<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>", TOOLS)
    assert (rest, len(calls)) == ("I look it up.", 2)
    rest, calls = written_calls(f'{SEARCH}(query="How long (in days)?")\nread_document("a.md", from=3)', TOOLS)
    assert calls[0] == (SEARCH, {"query": "How long (in days)?"})
    assert calls[1][0] == "read_document" and calls[1][1]["from"] == 3


@pytest.mark.parametrize(
    "text",
    [
        ANSWER,
        f'{ANSWER} Kotae looks with `{SEARCH}(query="x")`. [2]',
        f"{ANSWER}\n\n```json\n{CALL}\n```",
        f"The tool is called {SEARCH}.",
        '{"answer": "30 days. [1]"}',
        "Restart it: `restart(service=1)`",
        f"<kbd>Ctrl</kbd> opens it. [1] The tool is called {SEARCH}.",
        "POST /runs/<tool_call_id>/results sends it. [1]",
    ],
)
def test_an_answer_is_no_call(text: str) -> None:
    assert written_calls(text, TOOLS) == (text, ())


@pytest.mark.parametrize(
    "text",
    [
        f"<|channel|>commentary to=functions.{SEARCH}<|message|>{{",
        f"<start_function_call>call:{SEARCH}{{queries:[<escape>refund<escape>]}}<end_function_call>",
        f"<tool_call>{CALL[:-9]}",
        f"<{SEARCH}><queries>refund</queries></{SEARCH}>",
        f"```json\n{CALL[:-9]}",
        "<tool_call></tool_call>",
        f"{ANSWER} <tool_call>",
    ],
)
def test_half_a_call_is_neither(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        written_calls(text, TOOLS)


def test_a_tag_makes_any_name_a_call_so_that_it_can_be_refused() -> None:
    assert written_calls('<tool_call>{"name": "rm_rf", "arguments": {}}</tool_call>', TOOLS) == ("", (("rm_rf", {}),))


@given(st.text(alphabet='{}[]()":,=<>/tool_cal nme1\\\n`', max_size=200))
def test_no_text_breaks_the_reading(text: str) -> None:
    try:
        written_calls(f"{text}{SEARCH}({text}", TOOLS)
    except ValueError as error:
        assert str(error) == "a call that cannot be read"


@pytest.mark.parametrize(
    "text",
    [
        "<function={0}><parameter=queries>{1}</function>",
        '<invoke name="{0}"><parameter name="queries">{1}</invoke>',
        "<tool_call>{0}<arg_key>queries</arg_key><arg_value>{1}<arg_key>x</arg_key></arg_value>",
    ],
)
def test_a_model_that_writes_line_breaks_without_end_costs_no_time(text: str) -> None:
    _, ((name, _),) = written_calls(text.format(SEARCH, "\n" * 8_000), TOOLS)
    assert name == SEARCH


@pytest.mark.parametrize(
    ("arguments", "calls"),
    [
        ('queries={"b", "a"}', ((SEARCH, {"queries": ["a", "b"]}),)),
        ('queries={["a", "b"]}', ()),
        ("queries=1j", ()),
        ("queries=...", ()),
    ],
)
def test_what_no_json_has_is_no_argument(arguments: str, calls: tuple[object, ...]) -> None:
    assert written_calls(f"{SEARCH}({arguments})", TOOLS)[1] == calls
