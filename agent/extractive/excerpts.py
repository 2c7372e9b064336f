"""Chooses the lines of the found passages that come closest to a question: what somebody would read first.

A line is scored by the question's rare words in it and around it, by having the figure that the question asks for, by
its meaning, and by the place of its passage in the search. Measured on questions that colleagues ask about handbook
pages: answers.md §3.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from statistics import fmean, pstdev
from unicodedata import east_asian_width

from agent.extractive.wanted import has_wanted
from agent.grounding.quantities import facts, figures, with_capital_months
from agent.segmentation import LONGEST_ITEM, Unit, units
from retrieval.i18n import Language
from retrieval.text import language_of
from retrieval.types import Hit

Tokenise = Callable[[str], Sequence[str]]

PASSAGES = 3  # shown at most
COLUMNS = 640  # of all lines shown, a Japanese character being two wide; one longer line is shown alone
READ = 8  # passages that lines are chosen from: what a search gives
LONGEST = LONGEST_ITEM  # characters of a line; of a longer one the beginning is shown

# Measured on one half of the questions, looked at on the other; flat around these values.
_WORDS = 6.0  # of the question's words in a line, as a share by rarity, against one standard deviation of the cosines
_NEWEST = 2.0  # of a word of the question itself, where it leans on an earlier one
_AROUND = 1.5  # of those in its headings and in what it continues
_FIGURE = 1.5  # of a figure in a line, where the question asks for one
_RANK = 0.2  # what one place further down costs
_BESIDE = 0.4  # of the better line beside it: what answers often stands next to what repeats the question
_BELOW = 1.0  # of what an item is in, which the item goes on from
_COLUMN = 0.005  # what a column costs, so that two short lines come before a long one that is hardly better
_NAMED = 2.0  # of a day that the question names, however either writes it
_ROWS_BEHIND = 1.25  # a row of a table that has so much less of the question than the best one of it is another thing's
_SECTION_BEHIND = 2.5  # a section of a passage that is so far behind the best one of it is about something else: of 555
# questions none is told less without those, and short sections side by side are shown by a tenth less
_BEHIND = 4.0  # what is so far behind by its words is not compared in meaning: of the lines that a question in a page's
# own words finds up to nine tenths, of others few, and no fact less in any of five roundings of the vectors
_CELL = re.compile(r" / |, (?=[^,:]{1,60}: )")  # of a row in one line
_LEADS = re.compile(r"[:：]\s*$")  # to the next line, without which it says nothing: "You will need:"
_GAP = " … "
_DAY = "md:"  # a reading of a figure as the day of a month
_PRIOR = 20  # lines without any word, so that a few passages do not make common words look rare


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The lines shown of `hits[hit]`, in reading order, each with its place among the passage's lines."""

    hit: int
    lines: tuple[tuple[int, Unit], ...]


@dataclass(frozen=True, slots=True)
class _Line:
    hit: int
    place: int
    unit: Unit
    document: str = ""

    @property
    def at(self) -> tuple[int, int]:
        return self.hit, self.place

    @property
    def text(self) -> str:
        """The words compared with the question: an answer with the question it answers, anything else alone."""
        return f"{self.unit.lead} {self.unit.text}" if self.unit.kind == "pair" else self.unit.text

    @property
    def table(self) -> Hashable:
        """The same for the rows of one table, also in several passages; None for what is no row."""
        return (self.document, self.unit.headings, self.unit.columns) if self.unit.columns else None


@dataclass(frozen=True, slots=True)
class CandidateLines:
    """The lines of the hits of one search, and what speaks for each but its meaning: `words`, in the same order."""

    lines: tuple[_Line, ...]
    words: tuple[float, ...]

    def undecided(self) -> list[str]:
        """The texts that meaning may yet put first, to be compared with the question: not one that is alone in its
        language, which is the mean of it."""
        enough = max(self.words, default=0.0) - _BEHIND
        near = (line.text for line, words in zip(self.lines, self.words, strict=True) if words >= enough)
        languages = {text: language_of(text) for text in dict.fromkeys(near)}
        several = Counter(languages.values())
        return [text for text, language in languages.items() if several[language] > 1]

    def closest(self, cosines: Mapping[str, float], *, of: int = 1) -> list[Excerpt]:
        """The best lines of at most `PASSAGES` hits (best first), the passage with the best line first.

        `cosines`: of the question with the `undecided`; without them words and rank alone decide. `of`: so many
        questions are answered in one message, each with fewer lines.
        """
        ranked = sorted(zip(self._scores(cosines), self.words, self.lines, strict=True), key=lambda one: -one[0])
        leading = {line.at for line in self.lines if _LEADS.search(line.unit.text)}
        while True:
            chosen = _fitting(ranked, of)
            shown = {line.at for line in chain.from_iterable(chosen.values())}
            hanging = {(hit, place) for hit, place in shown & leading if (hit, place + 1) not in shown}
            if not hanging or hanging == shown:
                break
            ranked = [one for one in ranked if one[-1].at not in hanging]
        return [
            Excerpt(hit, tuple((line.place, line.unit) for line in sorted(found, key=lambda line: line.place)))
            for hit, found in chosen.items()
        ]

    def _scores(self, cosines: Mapping[str, float]) -> list[float]:
        meaning = _meaning([line.text for line in self.lines], cosines)
        alone = _led(self.lines, [own + close for own, close in zip(self.words, meaning, strict=True)])
        return [
            score
            + _BESIDE * max(_beside(self.lines, alone, at), default=0.0)
            - _COLUMN * _columns(self.lines[at].unit.text[:LONGEST])
            for at, score in enumerate(alone)
        ]


def _fitting(ranked: Sequence[tuple[float, float, _Line]], of: int) -> dict[int, list[_Line]]:
    """The best lines that may be shown together, by their hits."""
    chosen: dict[int, list[_Line]] = {}
    most, left = math.ceil(PASSAGES / of), COLUMNS * (of + 1) // (2 * of)
    best: dict[Hashable, float] = {}
    sections: dict[Hashable, float] = {}
    for score, words, line in ranked:
        size = _columns(line.unit.text[:LONGEST])
        fits = size <= left and (line.hit in chosen or len(chosen) < most)
        close = not line.table or words > best.setdefault(line.table, words) - _ROWS_BEHIND
        lead = sections.setdefault(line.hit, score) - sections.setdefault((line.hit, line.unit.headings), score)
        near = lead < _SECTION_BEHIND
        if (fits and close and near) or not chosen:
            chosen.setdefault(line.hit, []).append(line)
            left -= size
    return chosen


def candidate_lines(
    question: str, hits: Sequence[Hit], tokenise: Tokenise, *, newest: Collection[str] = ()
) -> CandidateLines:
    """Of the first `READ` hits. `tokenise` gives the terms of a text. `newest`: the terms that
    weigh more than the others, those of a question among what it leans on."""
    lines = _lines(hits)
    asked = frozenset(tokenise(question))
    held = [asked & frozenset(tokenise(line.text)) for line in lines]
    around = [asked & frozenset(tokenise(" ".join((line.unit.lead, *line.unit.headings)))) for line in lines]
    seen = Counter(term for terms in held for term in terms)
    rarity = {term: math.log(1 + (len(lines) + _PRIOR - seen[term]) / (seen[term] + 1)) for term in asked}
    total = sum(rarity.values()) or 1.0

    def share(terms: frozenset[str]) -> float:
        return sum(rarity[term] * (_NEWEST if term in newest else 1) for term in terms) / total

    has = has_wanted(question)
    days = [fact for fact in facts(with_capital_months(question)) if any(atom.startswith(_DAY) for atom in fact.any_of)]

    def names_day(text: str) -> bool:
        return bool(days) and any(map(figures(text).hold, days))

    def told(text: str) -> float:
        return _FIGURE * bool(has and has(text)) + _NAMED * names_day(text)

    def in_cell(cell: str) -> tuple[bool, float]:
        return names_day(cell), share(asked & frozenset(tokenise(cell)))

    words = (
        _WORDS * share(own) + _AROUND * share(near) + told(line.unit.text) - _RANK * line.hit
        for line, own, near in zip(lines, held, around, strict=True)
    )
    return CandidateLines(tuple(_shown(line, in_cell) if line.table else line for line in lines), tuple(words))


def _shown(row: _Line, closeness: Callable[[str], tuple[bool, float]]) -> _Line:
    """A row of a table that is too long to be shown: its first cell, and of the others the closest."""
    first, *others = cells = _CELL.split(row.unit.text)
    if len(row.unit.text) <= LONGEST or not others:
        return row
    kept, left = [0], LONGEST - len(first)
    for at in sorted(range(1, len(cells)), key=lambda at: closeness(cells[at]), reverse=True):
        left -= len(cells[at]) + len(_GAP)
        if left < 0:
            break
        kept.append(at)
    kept.sort()
    joints = (" / " if at == before + 1 else _GAP for before, at in pairwise(kept))
    text = first + "".join(joint + cells[at] for joint, at in zip(joints, kept[1:], strict=True))
    return replace(row, unit=replace(row.unit, text=text))


def _columns(text: str) -> int:
    return len(text) if text.isascii() else sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def _lines(hits: Sequence[Hit]) -> list[_Line]:
    found = [
        _Line(number, place, unit, hit.passage.document_id)
        for number, hit in enumerate(hits[:READ])
        for place, unit in enumerate(units(hit.passage.text, hit.passage.headings, hit.passage.question))
    ]
    telling = [line for line in found if not (line.unit.leads_away or line.unit.heads)]
    return [line for line in telling if line.text != hits[line.hit].passage.title] or telling or found


def _meaning(texts: Sequence[str], cosines: Mapping[str, float]) -> list[float]:
    """How near each text is to the question, in standard deviations from the mean of its language: the texts of one
    language lie together."""
    known: dict[Language, list[float]] = {}
    languages = [language_of(text) for text in texts]
    for text, language in zip(texts, languages, strict=True):
        if text in cosines:
            known.setdefault(language, []).append(cosines[text])
    means = {language: fmean(some) for language, some in known.items()}
    leads = {
        text: cosines[text] - means[language]
        for text, language in zip(texts, languages, strict=True)
        if text in cosines
    }
    deviation = (pstdev(leads.values()) if leads else 0.0) or 1.0
    return [leads.get(text, 0.0) / deviation for text in texts]


def _led(lines: Sequence[_Line], scores: Sequence[float]) -> list[float]:
    """The scores, of an item no less than that of the line it goes on from but for `_BELOW`: what is asked in the
    words of 「次のとおりの日数を与える。」 the items below it answer in none of them."""
    found: list[float] = []
    over: dict[tuple[int, int], int] = {}  # by a passage and a depth, the last line that is not as deep
    for at, (line, score) in enumerate(zip(lines, scores, strict=True)):
        lead = over.get((line.hit, line.unit.depth))
        goes_on = lead is not None and lines[lead].unit.text == line.unit.lead
        found.append(max(score, found[lead] - _BELOW) if lead is not None and goes_on else score)
        over[line.hit, line.unit.depth + 1] = at
    return found


def _beside(lines: Sequence[_Line], scores: Sequence[float], at: int) -> list[float]:
    """The scores of the lines before and after one, as far as they are of its passage; a row stands alone."""
    around = (other for other in (at - 1, at + 1) if 0 <= other < len(lines))
    return [scores[other] for other in around if lines[other].hit == lines[at].hit and not lines[at].table]
