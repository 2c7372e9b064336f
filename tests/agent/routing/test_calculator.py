"""Exact, bounded, and never mistaken for a date or a telephone number."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.routing.calculator import answer, compute, shown


@pytest.mark.parametrize(
    ("message", "value"),
    [
        ("1200円の8%は？", 96),
        ("１２００円の８％は？", 96),
        ("what's 15*12+3", 183),
        ("What is 7 times 8?", 56),
        ("12割る4は？", 3),
        ("100を8で割ると？", Fraction(25, 2)),
        ("3人で12000円を割ると", 4000),
        ("3かける4", 12),
        ("1000円の15%オフは？", 850),
        ("1200円の3割引はいくらですか？", 840),
        ("1200円に8%を足すと？", 1296),
        ("20% off $50", 40),
        ("8% of 1,200", 96),
        ("10 percent of 250", 25),
        ("sum of 3, 4 and 5", 12),
        ("3と4と5の平均は？", 4),
        ("2^10", 1024),
        ("2**100", 2**100),
        ("-2^2", -4),
        ("2^3^2", 512),
        ("(12+8)×3÷4", 15),
        ("0.1+0.2は", Fraction(3, 10)),
        ("3万円の15%っていくら？", 4500),
        ("200 + 10%", 220),
        ("half of 90", 45),
        ("計算して：12*8", 96),
        ("-" * 60 + "1+1", 2),
    ],
)
def test_calculations(message: str, value: Fraction | int) -> None:
    computed = compute(message)
    assert computed is not None
    assert computed.value == value


@pytest.mark.parametrize(
    "message",
    [
        "2024/12/25",
        "2024-01-01",
        "12/25",
        "03-1234-5678",
        "192.168.0.1",
        "3-5",
        "python 3.11",
        "VPNのMTUは1400?",
        "2023年度の予算は？",
        "100",
        "15%オフ",
        "(((((1",
        "1 +",
        "What is the limit of 50 GB for?",
        "エラー 500",
        "__import__('os').system('ls') + 1",
        "1+1 and who approves it?",
        "error 5" + " " * 150 + "x",  # a column of a table that was pasted
        "1" + "とは" * 90 + "x",
    ],
)
def test_what_is_no_calculation(message: str) -> None:
    assert compute(message) is None


@pytest.mark.parametrize("message", ["9^9999999", "9^9^9^9", "1" * 31 + "+1", "((2^256)^256)^256"])
def test_what_is_too_big_is_said(message: str) -> None:
    computed = compute(message)
    assert computed is not None
    assert computed.value is None
    assert "too large" in computed.text("en")


def test_division_by_zero_is_said_in_the_askers_language() -> None:
    computed = compute("3割る0は？")
    assert computed is not None
    assert "答えがありません" in answer(computed, "3割る0は？")


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("1200円の8%は？", "1200 × 8% = 96円です。"),
        ("20% off $50", "50 × (1 - 20 ÷ 100) = $40"),
        ("100を7で割ると？", "100 ÷ 7 ≈ 14.2857142857です。"),
        ("what is 1000 * 1234.5", "1000 × 1234.5 = 1,234,500"),
    ],
)
def test_the_reply_shows_what_was_computed(message: str, text: str) -> None:
    computed = compute(message)
    assert computed is not None
    assert answer(computed, message) == text


@given(st.integers(-(10**9), 10**9), st.integers(1, 10**6), st.sampled_from("+-*/"))
def test_agrees_with_exact_arithmetic(a: int, b: int, operator: str) -> None:
    computed = compute(f"what is ({a}) {operator} {b}")
    assert computed is not None
    expected = {"+": Fraction(a + b), "-": Fraction(a - b), "*": Fraction(a * b), "/": Fraction(a, b)}[operator]
    assert computed.value == expected


@given(st.text(alphabet="0123456789+-*/^%(). 円はのを割x", max_size=60))
def test_any_text_ends_in_a_result_or_none(text: str) -> None:
    computed = compute(text)
    assert computed is None or computed.value is None or isinstance(computed.value, Fraction)


def test_numbers_for_people() -> None:
    assert shown(Fraction(-1, 8)) == ("-0.125", True)
    assert shown(Fraction(1, 3)) == ("0.3333333333", False)
    assert shown(Fraction(12345678)) == ("12,345,678", True)
