"""Pairs are read out of a document as they were put in, however it was cut, and one is changed without the others."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.knowledge.pair_documents import read_pairs, with_pair
from retrieval.chunking import chunks
from retrieval.loaders.tables import write_rows
from retrieval.types import Document, Passage, QAPair, RAGToolError

LONG = " ".join(f"Sentence number {n} says what the {n}th rule is about." for n in range(400))
SHEET = [
    ["question", "answer", "team"],
    ["When is lunch?", "At noon.\n\nQ: not a question\nA: nor an answer", "office"],
    ["When is\nlunch?", "At one, on Fridays.", ""],
    ["When is lunch?", "At noon.", "kitchen"],
    ["What are the rules?", LONG, "office"],
    ["What are the rules?", LONG + " There are more.", "office"],
    ["昼食は何時？", "正午です。", "総務"],
]


def cut(document: Document) -> list[Passage]:
    made = chunks(document, max_chars=2048, max_tokens=512, measure=lambda text: len(text.split()))
    return [
        Passage("c", "d", document.name, one.number, one.text, "team", headings=one.headings, question=one.question)
        for one in made
    ]


def document(rows: list[list[str]]) -> Document:
    written = write_rows(rows)
    return Document("faq.csv", written.markdown, "faq", written.pairs)


def line(pair: QAPair) -> tuple[str, str]:
    return " ".join(pair.question.split()), " ".join(pair.answer.split())


def test_every_pair_is_read_as_it_was_put_in() -> None:
    doc = document(SHEET)
    stored = cut(doc)
    assert len(stored) > len(doc.pairs), "no answer is long enough to be cut"
    assert [line(one.pair) for one in read_pairs(doc.markdown, stored)] == [line(pair) for pair in doc.pairs]


@pytest.mark.parametrize("at", range(6))
def test_one_is_changed_and_the_others_stay_with_their_rows(at: int) -> None:
    doc = document(SHEET)
    stored = cut(doc)
    was = read_pairs(doc.markdown, stored)[at]
    new = QAPair("Who cooks?", "Nobody.\n\nQ: really?\nA: really.")
    edited = with_pair(doc, stored, was, new)
    assert edited is not None
    assert [line(one) for one in edited.pairs] == [line(new if n == at else one) for n, one in enumerate(doc.pairs)]
    again = read_pairs(edited.markdown, cut(edited))
    assert [line(one.pair) for one in again] == [line(one) for one in edited.pairs]
    assert edited.markdown.count("team: ") == doc.markdown.count("team: "), "a row's other columns are lost"


@pytest.mark.parametrize("at", range(6))
def test_one_is_taken_out_with_its_row(at: int) -> None:
    doc = document(SHEET)
    stored = cut(doc)
    left = with_pair(doc, stored, read_pairs(doc.markdown, stored)[at], None)
    assert left is not None
    again = read_pairs(left.markdown, cut(left))
    assert [line(one.pair) for one in again] == [line(one) for n, one in enumerate(doc.pairs) if n != at]
    assert left.markdown.count("team: ") == sum(bool(row[2]) for n, row in enumerate(SHEET[1:]) if n != at)


def test_the_last_one_leaves_nothing_and_one_that_has_changed_is_not_touched() -> None:
    doc = document(SHEET[:2])
    stored = cut(doc)
    (only,) = read_pairs(doc.markdown, stored)
    assert with_pair(doc, stored, only, None) is None
    changed = document([SHEET[0], ["When is lunch?", "At two.", ""]])
    with pytest.raises(RAGToolError):
        with_pair(changed, cut(changed), only, None)


def test_a_page_of_text_has_no_pairs() -> None:
    page = Document("page.md", "# Rules\n\nQ: what?\nA: this.", "Rules")
    assert read_pairs(page.markdown, cut(page)) == []


def test_the_pairs_of_a_sheet_beside_others_are_read_and_the_last_one_leaves_the_others() -> None:
    doc = document(SHEET[:2])
    doc = Document("a.xlsx", f"## Staff\n\n- name: Sato\n\n## FAQ\n\n{doc.markdown}", "a", doc.pairs)
    (only,) = read_pairs(doc.markdown, cut(doc))
    assert line(only.pair) == line(doc.pairs[0])
    left = with_pair(doc, cut(doc), only, None)
    assert left is not None
    assert [passage.text for passage in cut(left)] == ["- name: Sato\n\n## FAQ"]
    assert left.pairs == ()


WORDS = st.text(st.sampled_from("ab QA:\n。、はい"), min_size=1, max_size=12).filter(lambda text: bool(text.strip()))


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6))
def test_whatever_the_rows_say_they_are_read_whole_or_not_at_all(rows: list[tuple[str, str]]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out).writerows([("question", "answer"), *rows])
    doc = document([list(row) for row in csv.reader(io.StringIO(out.getvalue(), newline=""))])
    read = read_pairs(doc.markdown, cut(doc))
    assert not read or [line(one.pair) for one in read] == [line(pair) for pair in doc.pairs]
