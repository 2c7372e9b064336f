"""Answers without what they quote of documents that were taken back."""

from dataclasses import replace

import pytest

from agent.events import Answered, Citation
from bot.turns.withdrawal import WITHDRAWN, without
from retrieval.i18n import Language

A, B = (Citation(n, f"{id}.md", "docs", 0, "q", document_id=id) for n, id in ((1, "a"), (2, "b")))
QUOTED = "The documents say:\n\n**Secret plan**\n> It starts in May. [1]\n> It costs a lot. [1]\n\n**Open page**\n> Ships moor. [2]"


@pytest.mark.parametrize("language", ["en", "ja"])
def test_what_cites_it_goes_with_its_heading_and_its_source(language: Language) -> None:
    left = without(Answered(QUOTED, (A, B)), {"a": "a.md"}, language)
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
    assert without(Answered(text, (A,)), {"a": "a.md"}, "en").text == f"*{WITHDRAWN.en}*"


def test_paragraphs_beside_each_other_are_one_gap() -> None:
    text = "First. [1]\n\nSecond. [1][2]\n\n \nThird. [2]\n\nFourth. [1]"
    said = f"*{WITHDRAWN.en}*"
    assert without(Answered(text, (A, B)), {"a": "a.md"}, "en").text == f"{said}\n\nThird. [2]\n\n{said}"


def test_other_answers_stay_as_they_are() -> None:
    answered = Answered(QUOTED, (A, B))
    assert without(answered, {"c": "c.md"}, "en") is answered
    assert without(answered, {}, "en") is answered
    plain = Answered("Hello [1]!")
    assert without(plain, {"a": "a.md"}, "en") is plain


def test_another_document_of_its_name_stays() -> None:
    other = replace(B, document="a.md", collection="faq")
    left = without(Answered(QUOTED, (A, other)), {"a": "a.md"}, "en")
    assert left.citations == (other,) and "Ships moor. [2]" in left.text


def test_what_was_cited_before_ids_were_noted_is_known_by_its_name() -> None:
    earlier = replace(A, document_id="")
    assert without(Answered(QUOTED, (earlier, B)), {"a": "a.md"}, "en").citations == (B,)
