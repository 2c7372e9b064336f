"""The form of an answer: what is a citation in it, and what only looks like one."""

import pytest

from agent.citations import mark_numbers, marks, with_square_marks, without_marks


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("30 days (sources: 1, 12).", [1, 12]),
        ("30 日です（参照：【1】、【2】）。", [1, 2]),
        ("(source 1) 30 days", [1]),
    ],
)
def test_sources_in_round_brackets_are_cited(text: str, cited: list[int]) -> None:
    assert [n for mark in marks(text) for n in mark_numbers(mark)] == cited


@pytest.mark.parametrize(
    "text",
    [
        "Name the case (ref 48213) in your mail.",
        "受付番号（参照：20251104）をお伝えください。",
        "Sizes (参考: 110, 120, 130, 140, 150, 160, 170, 180, 190, 200, 210, 220 cm) run small.",
        f"(ref {'1' * 60}x)",
        f"a [{' ' * 20_000}x] b",
    ],
)
def test_a_number_of_something_else_is_no_citation_and_costs_no_time(text: str) -> None:
    assert marks(text) == []
    assert without_marks(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "`[1], [2]` are its fields. [1]",
        "```\nf[1], f[2] (#1)\n```",
        "Mended in [#12]. [1]",
        "変更は（#12）にあります。[1]",
        "Ticket [#1](https://tracker.example/1) is open.",
    ],
)
def test_what_is_code_or_a_ticket_stays_as_it_is(text: str) -> None:
    assert with_square_marks(text) == text
