"""Answers without what they quote of documents that were taken back."""

import pytest

from agent.events import Answered, Citation
from bot.turns.withdrawal import WITHDRAWN, without
from retrieval.i18n import Language

A, B = Citation(1, "a.md", "docs", 0, "q"), Citation(2, "b.md", "docs", 0, "q")
QUOTED = "The documents say:\n\n**Secret plan**\n> It starts in May. [1]\n> It costs a lot. [1]\n\n**Open page**\n> Ships moor. [2]"


@pytest.mark.parametrize("language", ["en", "ja"])
def test_what_cites_it_goes_with_its_heading_and_its_source(language: Language) -> None:
    left = without(Answered(QUOTED, (A, B)), {"a.md"}, language)
    said = f"*{WITHDRAWN.to(language)}*"
    assert left.text == f"The documents say:\n\n{said}\n\n**Open page**\n> Ships moor. [2]"
    assert left.citations == (B,)


@pytest.mark.parametrize(
    "text",
    [
        "It starts in May. [1]",
        "It starts.\n\nIn May. [1]",
        "Uncited words from the page.\n\nIn May. [1]",
        "No mark at all.",
    ],
)
def test_nothing_is_left_of_an_answer_that_cites_nothing_else(text: str) -> None:
    assert without(Answered(text, (A,)), {"a.md"}, "en").text == f"*{WITHDRAWN.en}*"


def test_paragraphs_beside_each_other_are_one_gap() -> None:
    text = "First. [1]\n\nSecond. [1][2]\n\n \nThird. [2]\n\nFourth. [1]"
    said = f"*{WITHDRAWN.en}*"
    assert without(Answered(text, (A, B)), {"a.md"}, "en").text == f"{said}\n\nThird. [2]\n\n{said}"


def test_other_answers_stay_as_they_are() -> None:
    answered = Answered(QUOTED, (A, B))
    assert without(answered, {"c.md"}, "en") is answered
    assert without(answered, (), "en") is answered
    plain = Answered("Hello [1]!")
    assert without(plain, {"a.md"}, "en") is plain
