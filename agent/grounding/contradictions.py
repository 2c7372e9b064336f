"""Sources that contradict each other: two passages that say another date, amount or person for the same thing.

A check in code beside what the model says, and a careful one: it speaks only where two whole sentences in one language
have the same words but for one value. Ranges, lists, tables, other years, other cases and what a passage says of both
are no contradiction.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from agent.citations import without_marks
from agent.grounding.claims import pairs
from agent.grounding.entities import content, names
from agent.grounding.numerals import arabic
from agent.grounding.quantities import Fact, facts, figures, squeeze, without_sections
from agent.grounding.vocabulary import pattern, words
from agent.segmentation import units
from retrieval.text import language_of, normalise
from retrieval.types import Hit, Passage

MOST = 2  # contradictions that are said under one answer
_SENTENCE = 300  # characters; a longer one says too much to be compared
_SHARED = 0.75  # of the words of both together
_SELF_CONTAINED = 3  # words in common from which two sentences need no heading to be about the same thing
_ALIKE = 0.5  # of the pairs of letters of the shorter sentence: two with less have other words


@dataclass(frozen=True, slots=True)
class Side:
    """One value, as written, and the passages that give it, each with its sentence."""

    value: str
    sources: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """`kind`: date, amount or owner. The first side is the one that the answer has; there are at least two."""

    kind: str
    sides: tuple[Side, ...]


def contradictions(text: str, cited: Collection[int], hits: Mapping[int, Hit]) -> tuple[Contradiction, ...]:
    """The values that `text` takes from a passage it cites and that another one of `hits` gives differently. Pure."""
    plain = without_marks(text)
    told = frozenset(atom for fact in facts(plain) for atom in fact.any_of)
    squeezed = squeeze(plain)
    mine = [one for n, hit in hits.items() if n in cited for one in _stated(n, hit)]
    bearing = [one for one in mine if one.bears_on(told, squeezed)]
    every = [other for n, hit in hits.items() if _may_differ(hit.passage, bearing) for other in _stated(n, hit)]
    found: dict[tuple[str, str], dict[str, Side]] = {}  # by kind and own value: the sides, the own one first
    for one in bearing:
        alike = [other for other in every if one.like(other)]
        for other in alike:
            differing = _differing(one, other)
            if differing is None or not differing.is_told(told, squeezed):
                continue
            sides = found.setdefault((differing.kind, squeeze(differing.one)), {})
            _add(sides, differing.one, one)
            _add(sides, differing.other, other)
    return _distinct([Contradiction(kind, tuple(sides.values())) for (kind, _), sides in found.items()])[:MOST]


def _may_differ(passage: Passage, bearing: Sequence["_Statement"]) -> bool:
    """Whether another document has half the stems of one of these: without them no sentence of it can be alike."""
    of_others = [_stems(one.said) for one in bearing if one.passage.document_id != passage.document_id]
    text = normalise(f"{passage.question or ''}\n{passage.text}") if of_others else ""
    return any(2 * sum(stem in text for stem in stems) >= len(stems) for stems in of_others)


def _stated(n: int, hit: Hit) -> list["_Statement"]:
    passage = hit.passage
    return [_Statement(n, passage, *read) for read in _read(passage.text, passage.headings, passage.question)]


def _add(sides: dict[str, Side], value: str, statement: "_Statement") -> None:
    key = squeeze(value)
    known = sides.get(key, Side(value, ()))
    sides[key] = replace(known, sources=tuple(dict.fromkeys((*known.sources, (statement.n, statement.text)))))


# -- what a passage states --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Statement:
    """A sentence that may state a figure or who does something. `said`: with the question of a pair.

    Most bear on no answer, so figures and names are read only of those in passages that one cites.
    """

    n: int
    passage: Passage
    text: str
    said: str

    @property
    def facts(self) -> tuple[Fact, ...]:
        return _facts(self.said)

    @property
    def owners(self) -> tuple[str, ...]:
        """The people named, where the sentence is about who does something."""
        return _owners(self.said)

    def like(self, other: "_Statement") -> bool:
        """Whether it is in other words what another document says: one document means other cases by other figures."""
        if self.passage.document_id == other.passage.document_id:
            return False
        mine, theirs = _pairs(self.said), _pairs(other.said)
        least = min(len(mine), len(theirs))
        return bool(least) and len(mine & theirs) >= _ALIKE * least

    def bears_on(self, told: frozenset[str], squeezed: str) -> bool:
        """Whether an answer with these figures and letters may have a value from here."""
        return any(fact.any_of & told for fact in self.facts) or any(squeeze(each) in squeezed for each in self.owners)


_RANGE = re.compile(
    r"\d[\d,.]*\s?\D{0,6}?\s?(?:[〜~～–—]|から|\bto\b|\bthrough\b)\s?\D{0,4}\d"
    r"|(?<![\d-])\d{1,3}\s?-\s?\d{1,3}(?![-\d])|\bbetween\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


@lru_cache(maxsize=256)
def _read(text: str, headings: tuple[str, ...], question: str | None) -> tuple[tuple[str, str], ...]:
    """The whole sentences of a passage that may state a figure or an owner, each with the question of a pair too."""
    found = []
    for unit in units(text, headings, question):
        if unit.kind not in ("sentence", "pair") and not (unit.kind == "item" and unit.text.endswith(("。", "."))):
            continue
        said = f"{unit.lead}\n{unit.text}" if unit.kind == "pair" else unit.text
        if len(said) > _SENTENCE or unit.text.endswith(("?", "？", ":", "：")):
            continue
        if pattern("figure").search(said) or pattern("owns").search(said):
            found.append((unit.text, said))
    return tuple(found)


@lru_cache(maxsize=512)
def _pairs(said: str) -> frozenset[str]:
    """Its letters, every two that stand side by side."""
    return pairs(_NOT_A_LETTER.sub("", said.lower()))


@lru_cache(maxsize=512)
def _facts(said: str) -> tuple[Fact, ...]:
    return tuple(facts(without_sections(said))) if pattern("figure").search(said) else ()


@lru_cache(maxsize=512)
def _stems(said: str) -> frozenset[str]:
    """The beginnings of its words, and every two kanji or katakana that stand side by side."""
    text = normalise(said)
    runs = frozenset(run for found in _RUN.findall(text) for run in pairs(found))
    return runs | frozenset(word[:_STEM] for word in _WORD.findall(text))


_RUN = re.compile(r"[々\u4e00-\u9fff]{2,}|[ァ-ヺー]{2,}")
_WORD = re.compile(r"[a-z]{4,}")
_STEM = 4  # letters
_NOT_A_LETTER = re.compile(r"[\W\d_]+")
_CAPITALISED = re.compile(r"[A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+)*")
_NO_NAME = re.compile(
    r"(?:Contact|Ask|Call|Email|Write|See|Please|The|Our|Your|For|If|Talk|Speak|Send|Mr|Ms|Mrs|Dr)\b\.?\s*"
)


@lru_cache(maxsize=512)
def _owners(said: str) -> tuple[str, ...]:
    """The people named, first and last name together."""
    if not pattern("owns").search(said):
        return ()
    found = [name.text for name in names(said) if name.kind in ("name", "person")]
    runs = [_NO_NAME.sub("", run.group()) for run in _CAPITALISED.finditer(said)]
    whole = [next((run for run in runs if name in run.split()), name) for name in found]
    distinct = dict.fromkeys(whole)
    return tuple(name for name in distinct if not any(name != other and name in other for other in distinct))


# -- whether two of them contradict each other ------------------------------------------------------------------------


@lru_cache(maxsize=3)
def _terms(name: str) -> frozenset[str]:
    """A list's words as they are written and as `content` has each: side by side, Sudachi reads one by another."""
    return words(name).union(*map(content, words(name)))


@dataclass(frozen=True, slots=True)
class _Differing:
    kind: str
    one: str
    other: str
    atoms: frozenset[str] = frozenset()  # of the first; none for an owner

    def is_told(self, told: frozenset[str], squeezed: str) -> bool:
        return bool(self.atoms & told) if self.atoms else squeeze(self.one) in squeezed


def _differing(one: _Statement, other: _Statement) -> _Differing | None:
    """The one value in which two sentences about the same thing differ."""
    a, b = one.passage, other.passage
    if language_of(one.said) != language_of(other.said):
        return None
    left, right = _apart(one.facts, other.facts)
    if len(left) == len(right) == 1:
        kind = _kind(left[0])
        if kind is None or kind != _kind(right[0]) or not _comparable(one.said, other.said, kind):
            return None
        if (
            figures(b.text).hold(left[0])
            or figures(a.text).hold(right[0])
            or not _same_thing(one, other, (left[0].shown, right[0].shown))
        ):
            return None
        group = "date" if kind.startswith(("date", "month", "time", "weekday")) else "amount"
        return _Differing(group, left[0].shown.rstrip(" .,"), right[0].shown.rstrip(" .,"), left[0].any_of)
    mine = [owner for owner in one.owners if owner not in other.owners]
    theirs = [owner for owner in other.owners if owner not in one.owners]
    if not len(mine) == len(theirs) == 1 or _has(b, mine[0]) or _has(a, theirs[0]):
        return None
    same = _same_thing(one, other, (mine[0], theirs[0]), owners=True)
    return _Differing("owner", mine[0], theirs[0]) if same else None


def _apart(ones: Sequence[Fact], others: Sequence[Fact]) -> tuple[list[Fact], list[Fact]]:
    """The facts that have no equal on the other side."""
    left = [fact for fact in ones if not any(fact.any_of & each.any_of for each in others)]
    right = [fact for fact in others if not any(fact.any_of & each.any_of for each in ones)]
    return left, right


_UNITS = ("yen", "usd", "eur", "gbp", "pct", "kb", "mb", "gb", "tb", "mm", "cm", "km", "metre", "kg", "deg")


def _kind(fact: Fact) -> str | None:
    """The property that two values must have in common to be compared. None: a year, a version, an identifier."""
    kinds = {atom.split(":")[0] for atom in fact.any_of}
    if kinds & {"id", "ver", "y"}:
        return None
    unit = re.sub(r"[\d.,\s０-９]+", "", fact.shown).casefold()
    if "md" in kinds:
        return "date"
    for kind, name in (("t", "time"), ("wd", "weekday"), ("m", "month")):
        if kind in kinds:
            return name
    if "secs" in kinds:
        return "duration of working days" if re.search(r"営業|business|working", unit) else "duration"
    for name in _UNITS:
        if name in kinds:
            return name
    return f"count of {unit.rstrip('s')}" if kinds & {"count", "num"} else None


def _comparable(one: str, other: str, kind: str) -> bool:
    """Whether both limit what they say in the same way: "up to 5" and "at least 10" are both true."""
    if kind not in ("time", "weekday") and (_RANGE.search(one) or _RANGE.search(other)):
        return False
    return all(
        bool(bound.search(one)) == bool(bound.search(other)) for bound in map(pattern, ("lower", "upper", "around"))
    )


def _same_thing(one: _Statement, other: _Statement, values: tuple[str, str], *, owners: bool = False) -> bool:
    """Whether two sentences have the same words but for their values, on pages that are not about different things."""
    a, b = one.passage, other.passage
    if _years(one) and _years(other) and not _years(one) & _years(other):
        return False
    left_out = _terms("weak") | (content(" ".join(values)) if owners else frozenset())
    mine, theirs = _words(one.said) - left_out, _words(other.said) - left_out
    shared, only = mine & theirs, mine ^ theirs
    if len(shared) < _SHARED * len(shared | only):
        return False
    if len(shared) < _SELF_CONTAINED and _heads(a, b) and _heads(b, a):
        return False
    return not ((only | _head_terms(a) ^ _head_terms(b)) & _terms("cases"))


def _words(said: str) -> frozenset[str]:
    """Content words; a number that is written as a word is none."""
    return content(_in_digits(said))


def _in_digits(said: str) -> str:
    return arabic(unicodedata.normalize("NFKC", said), claim=True)


def _years(statement: _Statement) -> frozenset[str]:
    passage = statement.passage
    text = " ".join((passage.document, passage.title, *passage.headings, statement.said))
    told = (atom[2:] for fact in facts(text) for atom in fact.any_of if atom.startswith("y:"))
    return frozenset(_YEAR.findall(text)) | frozenset(told)


def _head_terms(passage: Passage) -> frozenset[str]:
    return content(" ".join((passage.title, *passage.headings))) - _terms("generic")


def _heads(passage: Passage, other: Passage) -> bool:
    """Whether title and headings have a word that the other passage does not have."""
    return any(not _has(other, term) for term in _head_terms(passage))


def _has(passage: Passage, term: str) -> bool:
    text = "\n".join((passage.title, *passage.headings, passage.question or "", passage.text))
    return squeeze(term) in squeeze(text)


def _distinct(found: Sequence[Contradiction]) -> tuple[Contradiction, ...]:
    """Each once: where both sides are cited it is found from both."""
    kept: dict[tuple[str, frozenset[str]], Contradiction] = {}
    for each in found:
        kept.setdefault((each.kind, frozenset(squeeze(side.value) for side in each.sides)), each)
    return tuple(kept.values())
