"""Reads from a question what it wants to be told, apart from its words: a time, an amount, another figure, or what is
not so.

A line that has the figure comes before one that only shares the question's words, and lines without anything of the
kind do not answer it. Of 30 answers that were sure and wrong, on four sets of questions, 9 had nothing of it; of 159
that were sure and right none.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

from agent.grounding.entities import denies
from agent.grounding.quantities import amount, facts, figures, with_capital_months, without_sections
from agent.routing.follow_up import about, reading
from agent.routing.parts import asking
from agent.routing.patterns import words
from agent.segmentation import Unit
from retrieval.text import normalise

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_HOUR = re.compile(r"何時(?!間)|(?:what|which) time")
_HOW_MANY = re.compile(r"\Ahow many(?! times)|\A何(?![回度])")  # not how often, which 「毎月」 tells, nor how hot
_MAIL = re.compile(r"[\w.+-]+@[\w-]+")
_PHONE = re.compile(r"\d[\d() -]{4,}\d|(?:内線|extension|ext\.?)\D{0,3}\d{2,}", re.IGNORECASE)
_SOME = 0.4  # of the words that a question is about

Has = Callable[[str], object]

_CLAUSE = re.compile(r"[,.;:!?、。\n]|\b(?:if|when|because|since|but|so|and|while|although)\b|けど|けれど|ので|のに")


def has_wanted(question: str) -> Has | None:
    """Tells a text with the figure that the question asks for: a time where it asks when or names the unit (何年, how
    many days), one on the clock where it asks at what hour, an amount that is no time where it asks what something
    costs, a number of the same where it asks how many (何台 are no 3,500 yen), any figure where it asks for another.
    None where it asks for none."""
    asked = normalise(question)
    return _required(asked) or (_timed if words("asks_when").search(asked) else None)


def given(question: str, lines: Sequence[Unit]) -> bool:
    """Whether the lines have the figure that the question asks for, and a no, be it in a heading, where it asks what is
    not so. When something is to be done an occasion may tell, too: "before you leave"."""
    asked = normalise(question)
    has = _required(asked)
    if has and not any(has(line.text) for line in lines):
        return False
    return not _asks_what_is_not(asked) or any(map(denies, chain.from_iterable(map(_said, lines))))


def of_each(question: str, lines: Sequence[Unit], place: str) -> bool:
    """Whether the lines, with their headings and the `place` they are at, have some words of each question in a message
    of several, also of one that only goes on from another ("And how do I apply?"). Of four sure answers that told one
    of two questions none has as many of the other's words, of the right ones all."""
    asked = asking(question)
    if len(asked) < 2:
        return True
    encoder, _ = reading()
    there = frozenset(encoder.terms(" ".join((place, *chain.from_iterable(map(_said, lines))))))
    return all(len(words & there) >= _SOME * len(words) for words in map(about, asked))


def _said(line: Unit) -> tuple[str, ...]:
    return (line.text, line.lead, *line.headings)


def of_that_row(question: str, lines: Sequence[Unit], place: str) -> bool:
    """Whether one row of a table that is shown has all that the question is about, together with its headings, the
    `place` it is at and the prose of its section; or no row is shown.

    Rows are alike: one word that is missing asks of another row or column (Italy, a fax number), and so does a figure
    that is there as another thing's (the 3rd week, 3 March). Of 42 questions about rows and columns that are not there
    11 were sure without this and one is with it; of 79 about those that are, 54 and 41.
    """
    rows = [line for line in lines if line.columns]
    encoder, subject = reading()
    asked = with_capital_months(question)
    named = facts(asked)
    for fact in named:  # compared as a figure: "26 may" is 2025-05-26, and 「1人」 stands in 「1人あたり」
        asked = asked.replace(fact.shown, " ", 1)
    subjects = frozenset(subject(encoder.query(asked)[0].indices))
    prose = [line for line in lines if not line.columns]

    def around(row: Unit) -> Iterator[str]:
        """Prose of its section: what another one says is of another table, though its rows may be called the same."""
        return (line.text for line in prose if row.headings[: len(line.headings)] == line.headings)

    years = {*_YEAR.findall(place)}
    another = bool(years) and years.isdisjoint(_YEAR.findall(question))  # the page's

    def told(row: Unit) -> bool:
        own = " ".join((place, *row.headings, row.text))
        text = " ".join((*around(row), own))
        there = own if another else text
        return subjects.issubset(encoder.query(text)[0].indices) and all(map(figures(there).hold, named))

    return not rows or any(map(told, rows))


def _asks_what_is_not(asked: str) -> bool:
    """Whether it asks which are not so ("which are not covered", 「対象外は」), and does not tell of what does not work
    (「繋がらないんですけど、どこに…」, "where do I go if I cannot …") nor ask whether something is not so."""
    return any(words("asks_which").search(clause) and denies(clause) for clause in _CLAUSE.split(asked.rstrip(" ?。")))


def _required(asked: str) -> Has | None:
    if words("asks_mail").search(asked):
        return _MAIL.search
    if words("asks_phone").search(asked):
        return _PHONE.search
    if words("asks_time").search(asked):
        return _clocked if _HOUR.search(asked) else _timed
    if not (figure := words("asks_figure").search(asked)):
        return None
    if words("asks_amount").search(asked):
        return _sized
    one = _HOW_MANY.sub("1", asked[figure.start() :])  # 「何台」 asks for what 「1台」 is one of
    counted = next((fact for fact in facts(one) if one.startswith(fact.shown)), None)
    return partial(_measured, units=_kinds(counted.any_of) - {"num"} | {"bare"}) if counted else _counted


def _timed(text: str) -> bool:
    return figures(text).timed


def _clocked(text: str) -> bool:
    return "t" in _kinds(figures(text).atoms)


def _sized(text: str) -> bool:
    return any(not fact.timed and amount(fact) for fact in facts(without_sections(text)))


def _measured(text: str, units: Collection[str]) -> bool:
    return not _kinds(figures(without_sections(text)).atoms).isdisjoint(units)


def _kinds(atoms: Iterable[str]) -> frozenset[str]:
    return frozenset(atom.partition(":")[0] for atom in atoms)


def _counted(text: str) -> bool:
    return bool(figures(without_sections(text)).atoms)
