"""Writes what was found as an index: pages under a heading that says how sure it is, with the lines that fit best."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, groupby

from agent.extractive.excerpts import LONGEST, Excerpt
from agent.grounding.entities import Name, mentions, names
from agent.grounding.quantities import facts, figures, squeeze
from agent.routing.patterns import words
from agent.segmentation import Unit
from retrieval.i18n import Language, Text
from retrieval.text import beginning, language_of, normalise
from retrieval.types import STRONG as STRONG_MATCH
from retrieval.types import Hit, Passage

STRONG = 0.65
"""Relevance from which words and meaning agree, where the passage also holds `HELD` of what the question is about."""

HELD = 0.6
"""Share of what a question is about, by rarity, that has to stand in the passage. Relevance looks for the best lines,
so it may be high where a passage has a part of the question. Of 90 questions that share their page's words 67 reach
both and are told, of 155 paraphrases none, of 50 that no page answers 3; with relevance alone, at 0.75, it was 57, none
and 4."""

MOST = 0.7
"""Share of it under which the passage has to be a strong match besides: a third of a question that is missing is often
the very thing that is asked for (days of paid leave, where being on call is paid with half a day). Of the sure answers
to 940 questions in five sets 3 of 20 wrong ones go by it, and 1 of 180 right ones."""

RIVAL = 0.25
"""Relevance from which another page that holds `HELD` as well is shown beside one that is sure: it may say otherwise,
as an older and a newer rule do. Of 73 questions whose answer is sure none has such a page."""

FLOOR = 0.05
"""Without KOTAE_MIN_RELEVANCE: relevance under which a passage has nothing to do with the question. Of 155 questions
that share no word with the sentence that answers them one is below it; below 0.1 there are 46."""

SECTIONS = 2  # headings of a line's path that are shown: "Added" alone does not say in which version

_SAYS = Text(en="The documents say:", ja="資料にはこうあります：")
# that the bot is not sure of it stands in front of every unsure answer (`adapters/markdown/events.py`)
_NEAR = Text(
    en="The closest pages are:",
    ja="近いページはこちらです：",
)
_PARTLY = Text(
    en="Part of the search was out of order, so there may be better ones; the closest pages found are:",
    ja="検索の一部が使えない中で見つかった、近いページはこちらです（ほかにもあるかもしれません）：",
)
_BESIDE = Text(  # in one sentence that leads to what follows: the check would cite one that states something
    en="Another page says something about it, too; check which one applies:",
    ja="ほかのページにも関連する記載があるため、どちらが有効かご確認ください：",
)
_MARKS = "Found: {found}\nSure: {sure}"

_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_DIGITS, _YEAR = re.compile(r"\d+"), re.compile(r"(?:19|20)\d\d")
_COUNTED = r"[\d.,:]*\s?(?:[%日人時分円月週回件名台個枚歳]|(?:day|week|month|year|hour|min|people|time|[ap]m))"
_NUMBERED = re.compile(  # a version, a year, or a thing by its number (SEV-1, Node.js 26); not how many of something
    r"(?<![\w.])v?(\d+(?:\.\d+)+)|(?<!\d)((?:19|20)\d\d)(?!\d)"
    rf"|\b[A-Z][A-Za-z.+#]*[ -]?(\d+(?:\.\d+)*)(?!{_COUNTED})"
)
_PART = r"(?:floor|chapter|section|article|clause|edition)\b|[階号条章版期]"
_ORDINAL = re.compile(  # one of its kind: what is on the 6th floor is nothing of six people
    rf"(?<![\d.])(\d+)(?:(?:st|nd|rd|th) )?({_PART})|第\s?(\d+)\s?([^\W\d])|\b({_PART}) (\d+)", re.IGNORECASE
)

_SOUNDED = re.compile(r"[ァ-ヶーA-Za-z0-9&.+#'_-]+")  # a name that is written alike, or at least sounds so, anywhere
_KATAKANA = re.compile(r"[ァ-ヶー]{3,}")  # what no dictionary has is a name, too (デンキヤギ); any other is as telling


def sure(question: str, hit: Hit) -> bool:
    """Whether words and meaning agree so strongly that the passage may be said to answer, all of the question and not
    one part of it, nor the same of another year, version or name. What it asks of each of several things is told where
    all stand. Across languages there are no common words to agree."""
    if words("asks_each").search(normalise(question)):
        return hit.relevance >= STRONG and hit.held > 1 - 1e-9 and _holds(question, hit)
    return hit.relevance >= (STRONG if hit.held >= MOST else STRONG_MATCH) and _holds(question, hit)


def telling(question: str, hits: Sequence[tuple[int, Hit]]) -> list[tuple[int, Hit]]:
    """Of the numbered `hits` the sure ones, and what holds as much of the question in their pages: its lines may be the
    ones that answer."""
    fits = [hit for _, hit in hits if sure(question, hit)]

    def as_fit(hit: Hit) -> bool:
        return any(hit.passage.document_id == one.passage.document_id and hit.held >= one.held for one in fits)

    return [(number, hit) for number, hit in hits if as_fit(hit) and _holds(question, hit)]


def rivals(question: str, hits: Sequence[tuple[int, Hit]], shown: Sequence[tuple[int, Hit]]) -> list[tuple[int, Hit]]:
    """Of the numbered `hits` those of other pages than what is `shown`, which may say otherwise: relevant ones, and
    what holds more of the question than all of it."""
    pages = {hit.passage.document_id for _, hit in shown}
    most = max((hit.held for _, hit in shown), default=1.0)
    others = ((number, hit) for number, hit in hits if hit.passage.document_id not in pages)
    near = ((number, hit) for number, hit in others if hit.relevance >= RIVAL or hit.held > most)
    return [(number, hit) for number, hit in near if _holds(question, hit)]


def asks_the_same(question: str, passage: Passage) -> bool:
    """Whether the passage is the answer to this very question, whatever it says."""
    return passage.question is not None and _letters(passage.question) == _letters(question)


def _letters(text: str) -> str:
    return re.sub(r"\W", "", normalise(text))


def _holds(question: str, hit: Hit) -> bool:
    said = filter(None, (hit.passage.question, hit.passage.text))  # an answer may be a name, a code or a link
    same = language_of(question) in map(language_of, said)
    fits = hit.held >= HELD and same and _of_that_number(question, hit.passage)
    return fits and of_that_name(question, hit.passage)


def of_that_name(question: str, passage: Passage) -> bool:
    """Whether each product, company and the like that the question names stands in the passage or over it: the rule of
    another one is often the same but for its name. Of 128 questions that no page answers 3 were sure by such a rule and
    none is; of 112 right answers that were sure one is lost."""
    named = _names_in(question)
    if not named:
        return True
    told = "\n".join((passage.document, passage.title, *passage.headings, passage.question or "", passage.text))
    squeezed = squeeze(told)
    return all(mentions(told, squeezed, name) for name in named)


@lru_cache(maxsize=64)  # each passage that was found is asked for them
def _names_in(question: str) -> tuple[Name, ...]:
    asked = unicodedata.normalize("NFKC", question)
    found = (name for name in names(asked) if name.kind in ("name", "person") and _SOUNDED.fullmatch(name.text))
    return (*found, *(Name(name, "name") for name in _KATAKANA.findall(asked)))


def _of_that_number(question: str, passage: Passage) -> bool:
    """Whether each year, version, code (P-17) and number of a thing that the question names stands in the passage. What
    answers another question answers none of another day or amount either: there any number has to."""
    parts = (passage.document, passage.title, *passage.headings, passage.question or "", passage.text)
    told, asked = (unicodedata.normalize("NFKC", text) for text in ("\n".join(parts), question))
    codes = [fact for fact in facts(asked) if any(atom.startswith("id:") for atom in fact.any_of)]
    if codes and not all(map(figures(told).hold, codes)):
        return False
    named = _NUMBER.findall(asked) if passage.question else chain.from_iterable(_NUMBERED.findall(asked))
    return set(_NUMBER.findall(told)).issuperset(filter(None, named)) and _ordinals(told) >= _ordinals(asked)


def _ordinals(text: str) -> set[tuple[str, str]]:
    """The floors, chapters and the like that it names: 「6階」, "the 6th floor", "floor 6"; what has a 第 is one."""
    found = _ORDINAL.findall(text)
    return {(number or nth or after, (of or kind or before).lower()) for number, of, nth, kind, before, after in found}


@dataclass(frozen=True, slots=True)
class Shown:
    """Excerpts of numbered hits."""

    excerpts: Sequence[Excerpt]
    hits: Sequence[tuple[int, Hit]]

    @property
    def lines(self) -> list[Unit]:
        """As they are shown: what is cut from a long one tells nothing."""
        units = (unit for excerpt in self.excerpts for _, unit in excerpt.lines)
        return [replace(unit, text="\n".join(_texts(unit))) for unit in units]


def newest_first(question: str, excerpts: Sequence[Excerpt], hits: Sequence[tuple[int, Hit]]) -> list[Excerpt]:
    """Of editions of a page, whose titles differ in a year or date alone, the one that the question names in front of
    the others, then the newest."""
    editions = [_edition(question, hits[excerpt.hit][1]) for excerpt in excerpts]
    ranked = sorted(range(len(excerpts)), key=lambda at: editions[at][1], reverse=True)
    of_page = {name: [at for at in ranked if editions[at][0] == name] for name, _ in editions}
    return [excerpts[of_page[name].pop(0)] for name, _ in editions]


def newer(question: str, one: Hit, other: Hit) -> bool:
    """Whether one is of the edition of the other's page that goes before it."""
    (name, rank), (of, than) = _edition(question, one), _edition(question, other)
    return name == of and rank > than


def _edition(question: str, hit: Hit) -> tuple[str, tuple[int, list[int]]]:
    """The name that all editions of its page have, and what they are ranked by: how much of its date is asked for, and
    the date."""
    title = unicodedata.normalize("NFKC", hit.passage.title)
    numbers = _DIGITS.findall(title)
    if not any(map(_YEAR.fullmatch, numbers)):
        return title, (0, [])
    date = [*map(int, numbers)]
    asked = {*map(int, _DIGITS.findall(unicodedata.normalize("NFKC", question)))}
    return _DIGITS.sub("0", title), (len(asked & {*date}), date)


def written(
    closest: Sequence[Shown],
    language: Language,
    *,
    certainly: bool,
    partly: bool = False,
    beside: Sequence[Shown] = (),
) -> str:
    """The draft: a heading, for each question each passage's lines quoted under the page and section they are from, and
    what the loop reads of its certainty; after what is sure also what `beside` it may say otherwise. `partly`: only a
    part of the search has found it."""
    told, more = (dict.fromkeys(chain.from_iterable(map(_blocks, looks))) for looks in (closest, beside))
    blocks = [(_SAYS if certainly else _PARTLY if partly else _NEAR).to(language), *_named(told)]
    if other := [block for block in more if block not in told]:
        blocks += [_BESIDE.to(language), *_named(other)]
    found, surely = ("yes", "yes") if certainly else ("partly", "no")
    return "\n\n".join([*blocks, _MARKS.format(found=found, sure=surely)])


_Block = tuple[int, str, tuple[str, ...], str]
"""The number of a passage, its page, the path to a section, and its lines."""


def _blocks(shown: Shown) -> Iterator[_Block]:
    """Lines of another section of the same passage stand under its heading, and a pair's answer under its question:
    alone it says nothing."""
    for excerpt in shown.excerpts:
        number, hit = shown.hits[excerpt.hit]
        passage = hit.passage
        page = passage.title or passage.document
        asked = (_shortened(passage.question),) if passage.question else ()
        if passage.question and passage.question in page:  # what an expert has answered is called after it
            page = ""
        for headings, lines in groupby(excerpt.lines, key=lambda line: line[1].headings):
            yield number, page, (*headings, *asked), _quotation(_rows(list(lines)), number)


def _named(blocks: Iterable[_Block]) -> Iterator[str]:
    """Each under its page and section; of one passage only the first block says what page it is."""
    last = 0
    for number, page, path, lines in blocks:
        yield f"**{_place('' if path and number == last else page, path)}**\n{lines}"
        last = number


def certain(draft: str) -> bool:
    """Whether a draft of `written` says that the documents say it."""
    return draft.startswith((_SAYS.en, _SAYS.ja))


def _place(page: str, headings: Sequence[str]) -> str:
    """The page, where it is to be said, and the section with the one it is in, free of what would end the emphasis."""
    path = [part for part in (page, *headings[-SECTIONS:]) if part.strip()]
    return " › ".join(dict.fromkeys(" ".join(part.replace("*", "").split()) for part in path))


def _rows(lines: Sequence[tuple[int, Unit]]) -> list[tuple[str, str]]:
    """Each with its mark as an item of a list, or none. Sentences that follow each other are one row; items, table rows
    and code rows of their own; "…" where lines of the passage lie between. Several items stay a list, as deep as it
    is."""
    rows: list[tuple[str, str]] = []
    top = min((unit.depth for _, unit in lines if unit.depth), default=0)
    last: tuple[int, Unit] | None = None
    for place, unit in lines:
        text, *more = _texts(unit)
        follows = last is not None and place == last[0] + 1
        if rows and follows and last and unit.kind == last[1].kind == "sentence" and unit.group == last[1].group:
            rows[-1] = "", rows[-1][1] + ("" if language_of(text) == "ja" else " ") + text
        else:
            mark = "  " * (unit.depth - top) + "- " if unit.depth and len(lines) > 1 else ""
            rows.append((mark, text if follows or last is None else f"… {text}"))
        rows += [("", line) for line in more]
        last = place, unit
    return rows


def _quotation(rows: Sequence[tuple[str, str]], number: int) -> str:
    """In Markdown, cited at its end; a list is apart from what follows it, which would be its last item's otherwise."""
    written: list[str] = []
    for at, (mark, text) in enumerate(rows):
        last = at + 1 == len(rows)
        ends = last or bool(mark and not rows[at + 1][0])
        written.append(f"> {mark}{text} [{number}]" if ends else f"> {mark}{text}")
        if ends and not last:
            written.append(">")
    return "\n".join(written)


def _texts(unit: Unit) -> list[str]:
    """A unit's text on one line; each line of code on its own, as it is to be typed, and each of a pair's answer."""
    if unit.kind == "code" and "`" not in unit.text:
        lines = [line for line in _shortened(unit.text).splitlines() if line.strip()]
        return [f"`{line}`" for line in lines]
    lines = unit.text.splitlines() if unit.kind == "pair" else [unit.text]
    return [_shortened(" ".join(line.split())) for line in lines]


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else beginning(text, LONGEST - 2) + " …"
