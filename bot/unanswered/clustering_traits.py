"""Traits that keep two questions together or apart besides their meaning: what is asked, what is done to what, names,
numbers.

Near misses differ in one word, which hardly moves a vector: another floor, another product, to join and to leave.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from agent.grounding.numerals import arabic
from bot.unanswered.clustering_lexicon import FAMILIES, named, opposite, trouble
from retrieval.sparse import SparseEncoder
from retrieval.text import language_of, normalise

SIGNALS = (
    "across", "asked_same", "asked_other", "done_same", "done_other", "done_one", "about_same", "about_other",
    "about_one", "trouble", "names", "numbers", "opposite", "apart", "shared", "swapped",
)  # fmt: skip
"""The places of `signals`."""

_HELP = frozenset({"help"})  # a wish, "how do I" and "can I" are said of one thing
_VAGUE = frozenset({"way", "permission"})
_NONE: frozenset[str] = frozenset()

_CODE = re.compile(r"(?<![a-z0-9])[a-z]+[-_]?\d[a-z0-9._-]*")
_FISCAL = re.compile(r"(?<![a-z])fy\s?'?(?:20)?(\d\d)(?!\d)")
_FLOOR = re.compile(r"(?<![a-z0-9])(\d{1,2})f(?![a-z0-9])")
_TENTHS = re.compile(r"(\d)割")
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()  # noqa: SIM905
_ORDINAL = re.compile(rf"(?<![a-z])({'|'.join(_ORDINALS)})(?= floor)")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9+#.-]*[A-Za-z0-9+#]|[A-Z]")
_OPENING = re.compile(r"(?:^|[.!?\n]\s*)[\"'(]*[A-Za-z]+")
_COMMON = frozenset(
    """i i'm i'd i've ok pc id it hr faq url wifi wi-fi f os ssl tls http https english japanese
    monday tuesday wednesday thursday friday saturday sunday""".split()  # noqa: SIM905
)
_SAID = frozenset("何 教える 下さる 知る 良い 方法 願う 御 事 物 場合 時 出来る 分かる 欲しい 言う 必要".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class Traits:
    """The traits of one question without its meaning.

    `latin`: all its Latin words, `names`: those that name something, `terms`: the words that search finds it by.
    """

    kind: Literal["ja", "en"]
    latin: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    families: Mapping[str, frozenset[str]]
    asked: frozenset[str]
    trouble: bool
    terms: frozenset[str]


def traits_of(text: str, encoder: SparseEncoder) -> Traits:
    """The traits that keep one question together with or apart from others."""
    counted = _FISCAL.sub(r"20\1 ", normalise(arabic(normalise(text), claim=False)))
    counted = _TENTHS.sub(r"\g<1>0 ", counted)
    counted = _ORDINAL.sub(lambda found: str(_ORDINALS.index(found[1]) + 1), _FLOOR.sub(r"\1 ", counted))
    codes = frozenset(_CODE.findall(counted))
    opening = {match.end() for match in _OPENING.finditer(text)}
    kind = language_of(text)
    latin = [match for match in _LATIN.finditer(text) if normalise(match.group()) not in _COMMON]
    names = (
        match.group()
        for match in latin
        if match.group() != match.group().lower() and (kind == "ja" or _stands_out(match, opening))
    )
    families = named(text)
    return Traits(
        kind=kind,
        latin=frozenset(normalise(match.group()) for match in latin),
        names=frozenset(name for name in map(normalise, names) if not _FISCAL.fullmatch(name)) - codes,
        numbers=frozenset(_NUMBER.findall(_CODE.sub(" ", counted))) | codes,
        families=families,
        asked=families.get("asked", _NONE) - _VAGUE or _HELP,
        trouble=trouble(text),
        terms=frozenset(encoder.terms(text)) - _SAID,
    )


def signals(a: Traits, b: Traits) -> tuple[float, ...]:
    """The signals of two questions, in the order of SIGNALS. Each is 0..1, only `apart` counts."""
    across = a.kind != b.kind
    same = len(a.asked & b.asked) / len(a.asked | b.asked)
    shared, swapped = (0.0, 0.0) if across else _words(a.terms, b.terms)
    return (
        float(across),
        0.0 if a.asked == b.asked == _HELP else same,
        1 - same,
        *_agreement(a.families, b.families, "done"),
        *_agreement(a.families, b.families, "about"),
        float(a.trouble != b.trouble),
        _strangers(a, b),
        float(bool(a.numbers - b.numbers and b.numbers - a.numbers)),
        float(opposite(a.families.get("done", _NONE), b.families.get("done", _NONE))),
        sum(_agreement(a.families, b.families, family)[1] for family in FAMILIES[3:]),
        shared,
        swapped,
    )


def _agreement(a: Mapping[str, frozenset[str]], b: Mapping[str, frozenset[str]], family: str) -> tuple[float, ...]:
    """How much two questions name the same and other members of a family, and whether only one of them names any."""
    ours, theirs = a.get(family), b.get(family)
    if not ours or not theirs:
        return 0.0, 0.0, float(bool(ours or theirs))
    same = len(ours & theirs) / len(ours | theirs)
    return same, 1 - same, 0.0


def _words(ours: frozenset[str], theirs: frozenset[str]) -> tuple[float, float]:
    """The share of the shorter question's words that the other has too; and again where both have words of their own,
    as near misses do that put one thing in the place of another."""
    share = len(ours & theirs) / max(1, min(len(ours), len(theirs)))
    return share, share if ours - theirs and theirs - ours else 0.0


def _strangers(a: Traits, b: Traits) -> float:
    """Whether each names something that the other does not: 1, or ½ where they name something together as well."""
    if not (a.names - b.latin and b.names - a.latin):
        return 0.0
    return 0.5 if a.names & b.latin or b.names & a.latin else 1.0


def _stands_out(match: re.Match[str], opening: set[int]) -> bool:
    """Whether an English word with a capital is a name, and not only the first of its sentence."""
    word = match.group()
    return match.end() not in opening or any(letter.isupper() or letter.isdigit() for letter in word[1:])
