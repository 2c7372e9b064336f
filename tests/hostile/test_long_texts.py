"""LLM06: what anybody may write, and what a model may run on with, is read in a time that grows with its length only:
no other thread runs while a pattern is looked for."""

from collections.abc import Callable
from time import process_time
from timeit import repeat

import pytest

from adapters.discord.rendering.markdown import discord
from adapters.markdown.events import harmless
from agent.citations import lines, marks
from agent.grounding.check import check
from agent.grounding.entities import names
from agent.grounding.quantities import facts, figures
from agent.reflection import parse_draft
from agent.routing.parts import parts
from agent.routing.router import objects, question_in, route
from agent.segmentation import clean
from bot.logs import Redactor
from bot.texts import asker_language, in_words

GROWS = 8  # for four times the text; each grew by sixteen
AT_ONCE = 0.1  # seconds of the processor, for the whole text: too little to be compared


@pytest.mark.parametrize(
    ("read", "sign", "times"),
    [
        (route, "1", 10_000),
        (route, "<@", 20_000),
        (parts.__wrapped__, "and what x ", 4_000),  # what it remembers takes no time
        (lambda asked: parts.__wrapped__("A. " * len(asked) + asked), "is it? ", 1_000),
        (objects, "no ", 10_000),
        (question_in, " \n", 5_000),
        (question_in, "(", 10_000),
        (lambda quotes: discord(f"{quotes}a\n" * 40), "> ", 18),
        (facts, "1", 10_000),
        (facts, "-", 20_000),
        (facts, "1-", 10_000),
        (facts, "1.", 20_000),
        (figures, "１", 10_000),
        (facts, "〇", 20_000),
        (names, "ー", 20_000),
        (marks, " ", 20_000),
        (marks, "`a` [1] ", 8_000),
        (lines, "---\n", 5_000),
        (lines, "[1]。", 5_000),
        (lines, "Q. あ\n", 8_000),
        (lambda sentences: check(sentences, {}, "en"), "1. ", 5_000),
        (clean, "`", 20_000),
        (parse_draft, "```\n", 5_000),
        (lambda lines: parse_draft(f"{lines}end"), " \n", 20_000),
        (lambda colons: parse_draft(f"found{colons}"), ":", 20_000),
        (lambda commas: parse_draft(f"Found: yes{commas}"), ",", 20_000),
        (harmless, "<", 40_000),
        (Redactor(), "xoxb-", 20_000),
        (Redactor(), "eyJ-", 20_000),
        (asker_language, "「", 40_000),
        (asker_language, "“", 40_000),
        (lambda dots: in_words(f"a{dots}b c"), ".", 8_000),
    ],
)
def test_llm06_a_long_text_takes_no_longer_than_it_is(read: Callable[[str], object], sign: str, times: int) -> None:
    read(sign)  # what is made at the first use
    whole = _seconds(read, sign * times)
    assert whole < AT_ONCE or whole < GROWS * _seconds(read, sign * (times // 4))


def _seconds(read: Callable[[str], object], text: str) -> float:
    """Of the processor, without collections of garbage."""
    return min(repeat(lambda: read(text), timer=process_time, number=1, repeat=2))
