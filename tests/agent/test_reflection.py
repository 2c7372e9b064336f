"""Reviews are read whatever a model writes around them; speech is sorted into thoughts and text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model_call import Loop, Speech, spoken
from agent.models.base import ModelProtocolError
from agent.reflection import Draft, Review, parse_draft, parse_review


@pytest.mark.parametrize(
    ("text", "review"),
    [
        ('{"verdict": "keep", "critique": "Fine."}', Review("keep", "Fine.")),
        ('```json\n{"verdict": "keep", "critique": "Fine."}\n```', Review("keep", "Fine.")),
        ('Here it is: {"verdict": "KEEP", "critique": "Fine."} Bye.', Review("keep", "Fine.")),
        ('{"a": 1} {"verdict": "reject", "critique": "No."}', Review("reject", "No.")),
        ('{"verdict": "revise", "critique": "C", "answer": "New. [1]"}', Review("revise", "C", "New. [1]")),
        ('{"verdict": "revise", "critique": "C", "answer": "a\nb"}', Review("revise", "C", "a\nb")),
        ('{"verdict": "revise", "critique": "C", "answer": "```markdown\\nNew.\\n```"}', Review("revise", "C", "New.")),
        ('{"verdict": "revise", "critique": "nothing to show"}', Review("keep", "nothing to show")),
        ('{"verdict": "keep", "critique": "C", "answer": "ignored"}', Review("keep", "C")),
        ('{"verdict": "ok", "critique": null}', Review("keep")),
        (
            '{"verdict": "keep", "critique": "C", "found": "Partly", "sure": "no"}',
            Review("keep", "C", "", "partly", False),
        ),
        ('{"verdict": "keep", "found": true, "sure": true}', Review("keep", "", "", "yes", True)),
        ('{"verdict": "revise", "critique": "C", "answer": "", "found": "no"}', Review("revise", "C", "", "no")),
        (
            '{"verdict": "revise", "answer": "New. [1]\\nFound: yes\\nSure: no"}',
            Review("revise", "", "New. [1]", "yes", False),
        ),
        ('{"verdict": "needs_revision", "answer": "New. [1]"}', Review("revise", "", "New. [1]")),
        ('{"verdict": "Revise: the date", "answer": "New. [1]"}', Review("revise", "", "New. [1]")),
        ('{"answer": "New. [1]", "found": "yes"}', Review("revise", "", "New. [1]", "yes")),
        ('{"answer": "", "found": "yes"}', None),
        ('{"verdict": "perhaps"}', None),
        ('{"review": {"verdict": "却下", "critique": "C"}}', Review("reject", "C")),
        ('{"verdict": "keep", "critique": ', None),
        ("The draft is fine.", None),
        ("", None),
        ("[1, 2]", None),
        ('{"verdict": ["reject"]}', None),
    ],
)
def test_a_review_in_any_wrapping(text: str, review: Review | None) -> None:
    assert parse_review(text) == review


@pytest.mark.parametrize(
    ("text", "draft"),
    [
        ("30 days. [1]", Draft("30 days. [1]")),
        ("30 days. [1]\n\nFound: yes\nSure: yes", Draft("30 days. [1]", "yes", True)),
        ("30日です。[1]\n**Found:** partly\n**Sure:** NO.", Draft("30日です。[1]", "partly", False)),
        ("30日です。[1]\n- sure：no\n- found：yes\n", Draft("30日です。[1]", "yes", False)),
        ("30 days. [1]\nFound: yes, Sure: no", Draft("30 days. [1]", "yes", False)),
        ("Found: no", Draft("", "no")),
        ("Found: yes\nSure: yes\n\n30 days. [1]", Draft("30 days. [1]", "yes", True)),
        (
            "30 days. [1]\nFound: yes\nSure: no\n\nDoes that help?",
            Draft("30 days. [1]\n\nDoes that help?", "yes", False),
        ),
        ("30 days. [1] Found: yes Sure: no", Draft("30 days. [1]", "yes", False)),
        ("30 days. [1] Found: yes. Sure: no.", Draft("30 days. [1]", "yes", False)),
        ("30日です。[1]\nFound: yes。Sure: no。", Draft("30日です。[1]", "yes", False)),
        ("30 days. [1]\nFound: yes (Result 1)\nSure: yes, it is stated.", Draft("30 days. [1]", "yes", True)),
        ("30日です。[1]\n（Found: yes、Sure: no）", Draft("30日です。[1]", "yes", False)),
        ("30日です。[1]\n見つかりました：部分的\n確信：いいえ", Draft("30日です。[1]", "partly", False)),
        ("30 days. [1]\n```\nFound: yes\n```\nSure: yes", Draft("30 days. [1]\n```\nFound: yes\n```", None, True)),
        ("```markdown\n30 days. [1]\n\nFound: yes\n```\nSure: no", Draft("30 days. [1]", "yes", False)),
        ("```\nmake run\n```\nFound: yes", Draft("```\nmake run\n```", "yes")),
        ("```\nmake run\n```\nIt starts the bot. [1]", Draft("```\nmake run\n```\nIt starts the bot. [1]")),
        ("<answer>30 days. [1]</answer>\nSure: yes", Draft("30 days. [1]", None, True)),
        ('30 days. [1]\n```json\n{"found": "yes", "sure": "no"}\n```', Draft("30 days. [1]", "yes", False)),
        ('Set it to {"found": 1}', Draft('Set it to {"found": 1}')),
        ("Found: 3 errors\nfix them. [1]", Draft("Found: 3 errors\nfix them. [1]")),
        ("They found: gold. [1]\nFound: gold", Draft("They found: gold. [1]\nFound: gold")),
        ('{"answer": "30 days. [1]", "found": "yes", "sure": false}', Draft("30 days. [1]", "yes", False)),
        ('{"response": "30 days. [1]", "found": "yes"}', Draft("30 days. [1]", "yes")),
        ('{"answer": "30 \\"days\\". [1]", "fou', Draft('30 "days". [1]')),
        ('{"found": "no", "sure": true}', Draft("", "no", True)),
        ('```json\n{"answer": "30 days. [1]\\nSure: no"}\n```', Draft("30 days. [1]", None, False)),
    ],
)
def test_what_a_draft_says_of_itself(text: str, draft: Draft) -> None:
    assert parse_draft(text) == draft


@given(st.text(alphabet='{}[]":,verdictkp 1\\\n', max_size=300))
def test_no_reply_breaks_the_reading(text: str) -> None:
    parse_review(text)
    parse_draft(text)


def test_deep_nesting_is_survived() -> None:
    assert parse_review("{" * 100_000) is None
    assert parse_review('{"a":' * 50_000) is None


def sort(*pieces: tuple[str, str]) -> list[str]:
    thoughts: list[str] = []
    speech = Speech(thoughts.append)
    for kind, piece in pieces:
        (speech.think if kind == "think" else speech.say)(piece)
    speech.end()
    return thoughts


def test_a_thought_summary_comes_out_in_readable_steps() -> None:
    long = "**Looking**\n\n" + "I look at the handbook. " * 8
    assert sort(*[("think", c) for c in long + "\n\nThen I answer."]) == [long.strip(), "Then I answer."]
    assert sort(("think", "a\n\nb"), ("say", "x")) == ["a\n\nb"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_thought_lines_are_found_however_the_stream_is_cut(size: int) -> None:
    text = "Thought: first.\nthe answer\n思考：二つ目。\n```\nThought: code\n```\n**Thought：** third"
    assert sort(*[("say", text[at : at + size]) for at in range(0, len(text), size)]) == ["first.", "二つ目。", "third"]


def hear(text: str, size: int) -> None:
    loop = Loop()
    for at in range(0, len(text), size):
        loop.hear(text[at : at + size])


@pytest.mark.parametrize("size", [1, 9, 400, 5_000])
@pytest.mark.parametrize(
    "words", ['"refunds of a company", ', "払い戻しの期間を調べます。\n", "The same answer. " * 10]
)
def test_a_reply_without_end_is_given_up_however_it_is_cut(words: str, size: int) -> None:
    with pytest.raises(ModelProtocolError):
        hear("I look it up. " + words * 120, size)


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n|" + "-" * 500 + "|\n",
        "The same answer. " * 20,
        "".join(f"{n}. Refunds of group {n} take {n} days. [{n}]\n" for n in range(200)),
        " " * 3_000,
    ],
)
def test_a_long_reply_is_none_without_end(text: str) -> None:
    hear(text, 7)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain", "plain"),
        ("Thought: a\nplain", "plain"),
        ("plain\nThought: a", "plain"),
        ("Thought: a\nb\nAnswer: plain", "plain"),
        ("回答: plain", "plain"),
        ("Action: restart it", "Action: restart it"),
        ("My answer: yes", "My answer: yes"),
        ("yes\nAnswer: no", "yes\nAnswer: no"),
        ("```\nThought: code\n```", "```\nThought: code\n```"),
        ("Thoughtful: yes", "Thoughtful: yes"),
        ("考え方は次のとおりです。", "考え方は次のとおりです。"),
    ],
)
def test_what_is_left_for_the_draft(text: str, left: str) -> None:
    assert spoken(text) == left


def test_a_form_to_be_filled_in_costs_no_time() -> None:
    draft = f"Write it down. [1]\nSure: {'_' * 4_000}x y"
    assert parse_draft(draft).text == draft
