"""The numbers, dates, times and identifiers of a text in one normal form: 「百二十円」 and "120 yen" are the same.

A passage is read generously (every reading of it counts), a claim strictly (each of its numbers must be found).
"""

import calendar
import re
import unicodedata
from bisect import insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial

from agent.grounding.numerals import arabic
from agent.grounding.vocabulary import by_unit

Atom = str


@dataclass(frozen=True, slots=True)
class Fact:
    """One number of a claim as it was written, and the readings of which one must occur in the passage. `about`: it
    says that it is rounded."""

    shown: str
    any_of: frozenset[Atom]
    about: bool = False

    @property
    def timed(self) -> bool:
        return _timed(self.any_of)

    @property
    def dated(self) -> bool:
        """Whether it is the year that was said of a month or a day."""
        return any(atom.startswith("in:") for atom in self.any_of)


@dataclass(frozen=True, slots=True)
class Dated:
    """A date as it was written beside its weekday (0 is Monday); `year` None: it says none."""

    shown: str
    month: int
    day: int
    year: int | None
    weekday: int


def weekdays(month: int, day: int, years: Iterable[int]) -> set[int]:
    """On which weekdays a day falls in these years."""
    return {calendar.weekday(year, month, day) for year in years if day <= calendar.monthrange(year, month)[1]}


@dataclass(frozen=True, slots=True)
class Figures:
    """Every reading of every number in a text; `squeezed` are its letters and digits alone, for identifiers."""

    atoms: frozenset[Atom]
    squeezed: str

    @property
    def timed(self) -> bool:
        """Whether there is a date, a time of day or a length of time among them."""
        return _timed(self.atoms)

    def hold(self, fact: Fact) -> bool:
        return (
            (not self.atoms.isdisjoint(fact.any_of) and not self._of_another_year(fact))
            or any(atom.startswith("id:") and atom[3:] in self.squeezed for atom in fact.any_of)
            or (fact.about and self._rounded(fact))
        )

    def falls(self, day: Dated) -> bool | None:
        """Whether the date falls on the weekday that is said of it: as it stands here, else by the calendar
        of its year. None where no year is known, and in none of those that are here for something else."""
        here = [atom for atom in self.atoms if atom.startswith(f"on:{day.month}-{day.day}-")]
        if here:
            return f"on:{day.month}-{day.day}-{day.weekday}" in here
        months = (atom for atom in self.atoms if atom.startswith(f"in:{day.month}-"))
        years = {day.year} if day.year else {int(atom.rpartition("-")[2]) for atom in months}
        others = (int(atom.partition(":")[2]) for atom in self.atoms if re.fullmatch(r"(?:y|num):(?:19|20)\d\d", atom))
        return day.weekday in weekdays(day.month, day.day, years or others) or (False if years else None)

    def _of_another_year(self, fact: Fact) -> bool:
        """Whether the fact is the year of a month, or of a day, that is here only with other years."""
        dated = next((atom for atom in fact.any_of if atom.startswith("in:")), "")
        month = dated.partition("-")[0] + "-"
        return bool(dated) and dated not in self.atoms and any(atom.startswith(month) for atom in self.atoms)

    def _rounded(self, fact: Fact) -> bool:
        """Whether one of the figures is the fact's, rounded: 「約2千円」 of 「1,980円」."""
        read = amount(fact)
        if read is None:
            return False
        unit, told = read
        sizes = dict([*MEASURES.get(unit, ((unit or "num", 1),)), *_ROUGHLY.get(unit, ())])
        exact = (atom.split(":", 1) for atom in self.atoms)
        return any(rounds(Decimal(value) / sizes[measure], told) for measure, value in exact if measure in sizes)


def _timed(atoms: Iterable[Atom]) -> bool:
    return any(atom.partition(":")[0] in _OF_TIME for atom in atoms)


def facts(text: str) -> list[Fact]:
    """The numbers that a claim states, each with the readings that would confirm it."""
    plain = _plain(text, claim=True)
    return [Fact(shown, frozenset(any_of), about) for shown, any_of, _, about in _read(plain, claim=True)]


def _recurring(plain: str, of_dates: Sequence[int]) -> Iterable[int]:
    """The weekdays that stand in a text for themselves and not beside a date."""
    named = Counter(_nth(day["en"] or day["ja"] or day["paren"]) for day in _WEEKDAY.finditer(plain))
    return (named - Counter(of_dates)).keys()


def with_capital_months(question: str) -> str:
    """A question with its months written as names; in a chat they are not ("26 may")."""
    return _MONTH_TYPED.sub(lambda month: month.group().capitalize(), question)


def without_sections(text: str) -> str:
    """`text` without the numbers of parts of a document, which say where a thing stands and not how much of it there
    is: 「第40条」, 「18条2項」, "Section 4.2"."""
    return _SECTION.sub(" ", text)


@lru_cache(maxsize=2048)
def figures(text: str) -> Figures:
    """The figures that a passage offers to confirm a claim's numbers with."""
    plain = _plain(text, claim=False)
    atoms: set[Atom] = set()
    for _, _, present, _ in _read(plain, claim=False):
        atoms |= present
    if any(atom.startswith("wd:") for atom in atoms):
        days = list(_dated(plain))
        atoms |= {f"on:{each.month}-{each.day}-{each.weekday}" for each in days}
        atoms |= {f"each:{n}" for n in _recurring(plain, [each.weekday for each in days])}
    atoms |= _implied(plain)
    return Figures(frozenset(atoms), squeeze(text))


def dated(text: str) -> list[Dated]:
    """The dates of a text that stand beside their weekday: 「10月31日（金）」, "Friday, 31 October"."""
    return list(_dated(_plain(text, claim=True)))


def _dated(plain: str) -> Iterator[Dated]:
    for form in (_FULL_DATE, _NAMED_DATE, _DAY_NAMED, _MONTH_DAY, _US_DATE):
        for match in form.finditer(plain):
            start, end = match.span()
            beside = _BESIDE.match(plain, end) or _BEFORE.search(plain, max(0, start - _NEAR), start)
            day = next((atom for wanted, _ in _date(match) for atom in wanted if atom.startswith("md:")), "")
            plain = plain[:start] + "\0" * (end - start) + plain[end:]
            part = match.groupdict()
            if beside and day and not part.get("d2"):
                month, nth = map(int, day.removeprefix("md:").split("-"))
                yield Dated(match.group().strip(), month, nth, int(part.get("y") or 0) or None, _nth(beside["day"]))


def amount(fact: Fact) -> tuple[str, Decimal] | None:
    """Its unit, "" where it has none, and how much of it; None for a name, a version, a date, a time or a year."""
    atoms = dict(atom.split(":", 1) for atom in fact.any_of)
    if atoms.keys() & _NO_AMOUNT:
        return None
    unit = next((unit for unit in atoms if unit not in _GENERAL), "")
    number = atoms.get(unit) or atoms.get("num") or atoms.get("bare") or atoms.get("months")
    if unit == "" and "secs" in atoms:
        unit, number = "sec", atoms["secs"]
    return (unit, Decimal(number)) if number else None


def units_of(stated: Iterable[Fact]) -> frozenset[str]:
    """The units that amounts among these have."""
    return frozenset(found[0] for fact in stated if (found := amount(fact)) is not None and found[0])


def rounds(exact: Decimal, told: Decimal) -> bool:
    """Whether a value rounds to one that is told of it with fewer digits."""
    if abs(exact - told) * _ROUGH > abs(told):
        return False
    return exact.quantize(told.normalize()) == told


@lru_cache(maxsize=2048)
def squeeze(text: str) -> str:
    """Letters and digits only, width and case folded; the long-vowel mark is dropped (サーバー is サーバ)."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _SIGNS.sub("", folded)


_SIGNS = re.compile(r"[\W_ー]+")
_ROUGH = 10  # one part in so many is what a rounded figure may be off

# -- reading ----------------------------------------------------------------------------------------------------------

_LATIN = re.I | re.A  # a word ends before kana, too: 「2TBまで」, 「2.13.8に」
_CIRCLED = re.compile(r"[\u2460-\u24ff\u2776-\u2793]")
_ADDRESS = re.compile(r"(?:https?://|www\.)[!-~]+|(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]+", re.ASCII)
_NO_AMOUNT_FROM = 10**24  # what is written so is a number of something, and no decimal is exact to its last digit
_NO_FIGURE = re.compile(r"\d{60,}|[A-Za-z0-9_#.-]{200,}")  # a key, a dump, a rule: no number that anybody states
_APART = re.compile(
    r"[ \t](?:(?<=\d.)(?=[\u3040-\u30ff\u4e00-\u9fff])"
    r"|(?:(?<=\d[年月].)|(?<=\d[ \t][年月].))(?=\d))"  # 「9 時から 17 時」, 「4 月 1 日」
)
_ADDRESS_SIGNS = ("://", "www.", "@")
_LETTERED = re.compile(r"(?<=\d)\(([A-Za-z])\)")  # 401(k) is 401k
_EMPHASIS = re.compile(r"(?<![A-Za-z0-9])_+|_+(?![A-Za-z0-9])")  # "_two_"; an identifier keeps its own
_ENUMERATOR = re.compile(
    r"^\s*\(?\d{1,2}[.)](?=[^\d\n])|\b(?:step|section|chapter|item|手順|ステップ|項目)\s*\d+(?:\.\d+)*", re.I
)
_ZONE = re.compile(r"(?<=UTC|GMT)\s?[+-]\s?\d{1,2}(?::\d{2})?")
_NTH = r"[\d０-９一二三四五六七八九十百]+"
_SECTION = re.compile(
    rf"第\s?{_NTH}\s?[条項号章節款編](?:の?第?{_NTH}[項号]|の{_NTH})*"
    rf"|(?<![\d.]){_NTH}条(?:の?第?{_NTH}[項号]|の{_NTH})*(?![\u4e00-\u9fff])"
    r"|\b(?:section|article|clause|chapter)s?\s\d+(?:\.\d+)*|§+\s?\d+(?:\.\d+)*",
    re.I,
)
_MARKER = re.compile(  # of a list item or a numbered heading, which counts and states nothing; 2.8.0 is a version
    r"^[ \t>]*(?:[-*+][ \t]+)?\(?\d{1,2}(?:\.\d{1,2})*[.)](?=[^\d\n])"
    r"|^[ \t]*#{1,6}[ \t]+\d{1,2}(?:(?=\s)|\.\d{1,2}(?=[ \t]+[^\W\d_]))",
    re.M,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<mon>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_MONTH_TYPED = re.compile(rf"\b(?:{'|'.join(_MONTHS)})[a-z]*\b")
_DAY_JA = "月火水木金土日"
_DAY_EN = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAY_EN = (
    r"(Mon(?:day)?|Tue(?:s(?:day)?)?|Wed(?:nesday)?|Thu(?:rs(?:day)?)?|Fri(?:day)?|Sat(?:urday)?|Sun(?:day)?)s?\b"
)

_CODES = "USD|EUR|GBP|JPY|CHF|CNY|KRW|INR|AUD|CAD|SGD"
_CURRENCIES = {code: code.lower() for code in _CODES.split("|")}
_CURRENCIES |= {"$": "usd", "€": "eur", "£": "gbp", "¥": "yen", "JPY": "yen"}
MONEY = frozenset(_CURRENCIES.values())

_FULL_DATE = re.compile(
    r"(?<![\d.])(?P<y>\d{4})(?:[-/.]|年\s?)(?P<m>\d{1,2})(?:[-/.]|月\s?)(?P<d>\d{1,2})(?!\d|\.\d)日?"
    r"(?:\s?(?:から|[〜~～–])\s?(?P<d2>\d{1,2})日)?"
)
_YEAR_MONTH = re.compile(r"(?<!\d)(?P<y>\d{4})(?:年\s?(?P<m>\d{1,2})月|[-/](?P<m2>0?[1-9]|1[0-2])(?![\d/-]))")
_MONTH_DAY = re.compile(r"(?<!\d)(?P<m>\d{1,2})月(?P<d>\d{1,2})日?(?:\s?(?:から|[〜~～–-])\s?(?P<d2>\d{1,2})日)?")
_MONTH_JA = re.compile(r"(?<![\dかヶカヵ箇ケ個])(?P<m>1[0-2]|0?[1-9])月(?![間曜])")
_US_DATE = re.compile(r"(?<![\d/.])(?P<m>\d{1,2})/(?P<d>\d{1,2})(?:/(?P<y>\d{4}))?(?![\d/])")
_NAMED_DATE = re.compile(  # not in "by 31 March. 2.3 Days"
    rf"(?<![^:\d]\d )(?<![^:\d]\d\d )\b{_MONTH}\s?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?!\d|:|\.\d)"
    r"(?:\s?[–~-]\s?(?P<d2>\d{1,2})(?!\d))?(?:,?\s(?P<y>\d{4}))?"
)
_DAY_NAMED = re.compile(rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}(?:,?\s(?P<y>\d{{4}}))?")
_NAMED_MONTH = re.compile(rf"\b{_MONTH}(?:,?\s(?P<y>\d{{4}}))?")
_IN_MONTH = re.compile(
    rf"(?:\b(?:in|since|until|till|by|of|from|to|every|each|early|late|mid|through|and|during|before|after|next|last)[\s-])"
    rf"{_MONTH}(?:,?\s(?P<y>\d{{4}}))?"
)

_TIME_JA = re.compile(r"(?P<half>午前|午後|朝|夜|夕方)?\s?(?P<h>\d{1,2})時(?!間)(?:(?P<min>\d{1,2})分|(?P<han>半))?")
_TIME_COLON = re.compile(
    r"(?P<half>午前|午後)?\s?(?<![\d:])(?P<h>\d{1,2}):(?P<min>\d{2})(?::\d{2})?(?![\d:])(?:\s?(?P<ap>[ap])\.?m\b\.?)?",
    _LATIN,
)
_TIME_FIRST = re.compile(  # "between 2 and 4 a.m."
    r"(?<![\d:.])(?P<h>\d{1,2})(?::(?P<min>\d{2}))?"
    r"(?=\s?(?:[–—~-]|to|and|until)\s?(?P<end>\d{1,2})(?::\d{2})?\s?(?P<ap>[ap])\.?m\b)",
    _LATIN,
)
_TIME_AP = re.compile(r"(?<![\d:.])(?P<h>\d{1,2})\s?(?P<ap>[ap])\.?m\b\.?", _LATIN)
_WEEKDAY = re.compile(rf"(?P<ja>[{_DAY_JA}])曜|\((?P<paren>[{_DAY_JA}])\)|\b(?P<en>{_WEEKDAY_EN})", re.I)
_BESIDE = re.compile(rf"\s?[(,・]?\s?(?P<day>[{_DAY_JA}](?=曜|\))|\b{_WEEKDAY_EN})", re.I)
_BEFORE = re.compile(rf"\b(?P<day>{_WEEKDAY_EN}),?\s(?:the\s)?\Z", re.I)
_NOON = re.compile(r"\b(?P<noon>noon|midday)\b|(?P<noon2>正午)|\b(?P<zero>midnight)\b", re.I)

_PHONE = re.compile(r"(?<![\w-])\+?\d{1,5}-\d{1,4}-\d{3,4}(?![\w-])", _LATIN)
_DOTTED = re.compile(r"(?<![\w.])v?(?P<v>\d+(?:\.\d+){2,})(?![\w])", _LATIN)
_VERSION = re.compile(
    rf"(?:\b(?:[Vv]|[Vv]er\.?|[Vv]ersion)\s?|バージョン\s?|\b(?!(?:{_CODES}) )[A-Z][A-Za-z]+ )"
    r"(?P<v>\d+\.\d+)(?![A-Za-z0-9_]|\.\d|\s?-?(?:%|[年月日時分秒週円倍割か]"
    r"|million|billion|thousand|hours?\b|days?\b|weeks?\b|months?\b|years?\b|minutes?\b|seconds?\b|percent\b|times\b))"
)
_IDENTIFIER = re.compile(
    r"(?<![A-Za-z0-9])(?=[A-Za-z0-9_#-]*[A-Za-z])(?=[A-Za-z0-9_#-]*\d)[A-Za-z0-9][A-Za-z0-9_#-]*[A-Za-z0-9]"
)
_COUNTED = re.compile(
    r"(?:under|over)-\d+s?"
    r"|\d+(?:-[a-z]{2,}(?:-[a-z]+)*|(?:s|secs?|mins?|h|hrs?|d|k|m|b|bn|st|nd|rd|th|x|[kmgt]i?b(?:ps)?|mm|cm|km|mg|kg|g|ml|l|db|yen|usd|jpy|am|pm))",
    re.IGNORECASE,
)
_SCALES = {"百": 100, "千": 1000, "万": 10**4, "億": 10**8, "兆": 10**12}
_SCALES_EN = {
    "k": 10**3,
    "thousand": 10**3,
    "m": 10**6,
    "mm": 10**6,
    "million": 10**6,
    "bn": 10**9,
    "b": 10**9,
    "billion": 10**9,
}
_NUMBER = re.compile(
    rf"(?<![A-Za-z0-9_.])(?P<cur>(?:[$€£¥]|\b(?:{_CODES}))\s?)?"
    r"(?P<n>(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?[百千]?[万億兆]?)+)"
    r"(?:\s?(?P<scale>k|K|bn|(?<=\d)[MB](?![A-Za-z])|(?:thousand|million|billion)\b)(?![A-Za-z]))?"
)
_PART = re.compile(r"(?P<d>\d{1,3}(?:,\d{3})+|\d+)(?P<f>\.\d+)?(?P<s>[百千]?[万億兆]?)")

_UNITS = re.compile(rf"\s?-?(?:{by_unit('units')})", _LATIN)
_COUNTED_THING = re.compile(r"\s?-?(?:[\u4e00-\u9fff]|[a-z]{3,})", re.I)
_WORKING = re.compile(r"営業日|business|\bwork(?:ing)?\b", re.I)
_WEEK = 604800
MEASURES: dict[str, tuple[tuple[str, int], ...]] = {  # what a unit is in one that others can be compared in
    **{unit: (("secs", n),) for unit, n in {"sec": 1, "min": 60, "hour": 3600, "day": 86400, "week": _WEEK}.items()},
    **{unit: (("months", n),) for unit, n in {"month": 1, "year": 12}.items()},
    **{unit: (("length", n),) for unit, n in {"mm": 1, "cm": 10, "metre": 1000, "km": 10**6}.items()},
    **{unit: (("weight", n),) for unit, n in {"mg": 1, "gram": 1000, "kg": 10**6, "ton": 10**9}.items()},
    **{unit: (("volume", n),) for unit, n in {"ul": 1, "ml": 1000, "litre": 10**6}.items()},
    **{unit: (("bytes", 1000**n), ("binary", 1024**n)) for n, unit in enumerate(("kb", "mb", "gb", "tb"), 1)},
}
_ROUGHLY = {"month": (("secs", 30 * 86400),), "year": (("secs", 365 * 86400),)}  # only of what is said to be rounded
_GENERAL = frozenset({"num", "bare", "d", *(measure for each in MEASURES.values() for measure, _ in each)})
_OF_TIME = frozenset({"secs", "months", "y", "m", "md", "wd", "t"})
_NO_AMOUNT = frozenset({"id", "ver", "y", "t", "wd", "m", "md"})
_CONNECTIVES = re.compile(
    r"\s(?:and|or|to|per|in|of|for|from|by|at|the|with|on|are|is|was|if|as|than|but|after|before|until|via|through|plus|between|during|within|when)\b",
    re.I,
)
_ADJECTIVE = re.compile(
    r"(?:\s(?!(?:an?|per|for|on|in|of|the|each|every|times|days?|weeks?|months?|years?|hours?|minutes?|seconds?)\b)[a-z]+){1,2}(?=\s(?:days?|nights?|weeks?|months?|years?|hours?|minutes?)\b)"
)
_COMPOUND = re.compile(
    r"(?P<h>\d+)\s?(?:時間|hours?|hrs?|h)\s?(?:and\s)?(?P<m>\d{1,2})\s?(?:分間?|minutes?|mins?|m)(?![A-Za-z])"
    r"|(?P<y>\d+)\s?(?:年間?|歳|years?)\s?(?:と|and\s)?(?P<mo>\d{1,2})\s?(?:[かヶカヵ箇ケ]月|months?)",
    re.I,
)
_RANGE_UNIT = re.compile(r"\s?(?:[〜~～–—×-]|から|to)\s?(?=\d)")
_ORDINAL = re.compile(r"(?<![\w.])(?P<n>\d{1,3})(?:st|nd|rd|th)\b", _LATIN)
_ABOUT = re.compile(
    r"(?:\b(?:about|around|approximately|approx\.?|roughly|nearly|almost|just (?:under|over))|[約~≈]|およそ|ほぼ)\s?$",
    re.I,
)
_NEAR = 20  # characters, more than the longest of these
_OR_SO = re.compile(r"\s?(?:ほど|程度|[くぐ]らい|前後|弱|強|or so\b)")

_Found = list[tuple[set[Atom], set[Atom]]]  # what confirms a number in a claim, and what it offers in a passage
_Reading = tuple[str, set[Atom], set[Atom], bool]  # the same, with what is written, and whether it is rounded
_Form = tuple[re.Pattern[str], Callable[[re.Match[str]], _Found]]
_DATES = (_FULL_DATE, _NAMED_DATE, _DAY_NAMED, _MONTH_DAY, _YEAR_MONTH, _US_DATE, _MONTH_JA)


def _plain(text: str, *, claim: bool) -> str:
    text = _CIRCLED.sub(" ", text)
    if any(sign in text for sign in _ADDRESS_SIGNS):
        text = _ADDRESS.sub(" ", text)
    text = unicodedata.normalize("NFKC", text)
    if "(" in text:
        text = _LETTERED.sub(r"\1", text)
    if "_" in text:
        text = _EMPHASIS.sub("", text)
    text = _NO_FIGURE.sub(" ", arabic(_APART.sub("", text), claim=claim))
    return _ZONE.sub(" ", (_ENUMERATOR if claim else _MARKER).sub(" ", text))


def _read(text: str, *, claim: bool) -> Iterator[_Reading]:
    """Longest and most particular forms first; what one of them has read is blanked for those after it."""
    lower, numbers = text.lower(), _begins(_NUMBER_BEGINS, text)
    absent = {signs for signs in _FORM_SIGNS if not any(sign in lower for sign in signs)}
    forms: tuple[_Form, ...] = (
        (_IN_MONTH if claim else _NAMED_MONTH, _date),
        (_WEEKDAY, partial(_weekday, claim=claim)),
        (_NOON, _noon),
    )
    if numbers:  # all others have one
        hours = (match for form in (_TIME_JA, _TIME_COLON) for match in _matches(form, text, absent, numbers))
        late = any(int(match["h"]) >= 13 for match in hours)
        forms = (
            *((form, _date) for form in _DATES),
            *forms,
            *((form, partial(_time, late=late)) for form in (_TIME_FIRST, _TIME_COLON, _TIME_JA, _TIME_AP)),
            (_PHONE, _identifier),
            *((form, _version) for form in (_DOTTED, _VERSION)),
            (_IDENTIFIER, _identifier),
            (_COMPOUND, _lasting),
            (_ORDINAL, _ordinal),
        )
    for form, reading in forms:
        for match in list(_matches(form, text, absent, numbers)):
            if found := reading(match):
                yield from ((match.group().strip(), wanted, present, False) for wanted, present in found)
                start, end = match.span()
                text = text[:start] + "\0" * (end - start) + text[end:]
                insort(numbers, end)  # what is left of a number that it has begun
    yield from _numbers(text)


# To try a form at every character of a passage is dear, and most passages have none of it.

_NUMBER_BEGINS = re.compile(r"\d(?<![0-9]\d)")
_AMOUNT_BEGINS = re.compile(r"[$€£¥UEGJCKIAS\d](?<![A-Za-z0-9_.].)")
_WITH_NUMBERS = frozenset((*_DATES, _TIME_FIRST, _TIME_AP, _COMPOUND, _ORDINAL)) - {_NAMED_DATE}  # they begin with one
_SIGNS_OF = {  # what a form does not do without, in small letters
    **dict.fromkeys((_MONTH_DAY, _MONTH_JA), ("月",)),
    **dict.fromkeys((_NAMED_DATE, _NAMED_MONTH, _IN_MONTH, _DAY_NAMED), _MONTHS),
    _WEEKDAY: ("曜", *(f"({day})" for day in _DAY_JA), *_DAY_EN),
    _NOON: ("noon", "midday", "midnight", "正午"),
    _TIME_JA: ("時",),
}
_FORM_SIGNS = frozenset(_SIGNS_OF.values())
_SIGN_OF = {  # the same, as a pattern that begins with a character
    **dict.fromkeys((_DOTTED, _VERSION), re.compile(r"\d\.\d")),
    _TIME_COLON: re.compile(r"\d:\d"),
    _PHONE: re.compile(r"\d-\d"),
    _US_DATE: re.compile(r"\d/\d"),
    _IDENTIFIER: re.compile(r"\d(?:(?<=[A-Za-z_#-].)|(?=[A-Za-z_#-]))"),
}


def _matches(
    form: re.Pattern[str], text: str, absent: Collection[tuple[str, ...]], numbers: Iterable[int]
) -> Iterable[re.Match[str]]:
    """As `form.finditer`; `absent`: signs of which the text has none, `numbers`: where one begins in it."""
    if _SIGNS_OF.get(form) in absent:
        return ()
    if (sign := _SIGN_OF.get(form)) and not sign.search(text):
        return ()
    return _at(numbers, form, text) if form in _WITH_NUMBERS else form.finditer(text)


def _at(places: Iterable[int], form: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """As `form.finditer`, where all that it finds begins at one of these places."""
    end = 0
    for place in places:
        if place >= end and (match := form.match(text, place)):
            end = match.end()
            yield match


def _begins(form: re.Pattern[str], text: str) -> list[int]:
    return [match.start() for match in form.finditer(text)]


def _alike(*atoms: Atom) -> _Found:
    return [({*atoms}, {*atoms})]


def _noon(match: re.Match[str]) -> _Found:
    return _alike("t:0" if match["zero"] else "t:720")


def _identifier(match: re.Match[str]) -> _Found:
    return [] if _COUNTED.fullmatch(match.group()) else [({"id:" + squeeze(match.group())}, set())]


def _version(match: re.Match[str]) -> _Found:
    parts = match["v"].split(".")
    present = {"ver:" + ".".join(parts[:i]) for i in range(1, len(parts) + 1)}
    if len(parts) == 2:
        value = plain_number(Decimal(match["v"]))
        present |= {f"num:{value}", f"bare:{value}"}
    return [({"ver:" + match["v"]}, present)]


def _lasting(match: re.Match[str]) -> _Found:
    """Hours and minutes, or years and months, as one length; a passage has each of the two as well."""
    if match["h"]:
        whole, parts = f"secs:{int(match['h']) * 3600 + int(match['m']) * 60}", (("hour", "h"), ("min", "m"))
    else:
        whole, parts = f"months:{int(match['y']) * 12 + int(match['mo'])}", (("year", "y"), ("month", "mo"))
    present = {atom for unit, name in parts for atom in _quantity(Decimal(match[name]), unit)[1]}
    return [({whole}, present | {whole})]


def _ordinal(match: re.Match[str]) -> _Found:
    n = match["n"]
    return [({f"num:{n}", f"d:{n}"}, {f"num:{n}", f"bare:{n}", f"d:{n}"})]


def _numbers(text: str) -> Iterator[_Reading]:
    found = list(_at(_begins(_AMOUNT_BEGINS, text), _NUMBER, text))
    unit_after = ""
    readings: list[_Reading] = []
    for match in reversed(found):  # from the right: in 「10〜20日」 the first number takes the unit of the second
        value = _value(match)
        if value >= _NO_AMOUNT_FROM:
            readings.append((match.group().strip(), {"id:" + squeeze(match.group())}, set(), False))
            continue
        unit, end = _unit(text, match)
        if not unit and unit_after and _RANGE_UNIT.match(text, match.end()):
            unit = unit_after
        unit_after = unit
        of_month = unit == "day" and text[match.end() : end].strip() == "日"
        wanted, present = _quantity(value, unit, of_month=of_month)
        if unit == "day" and value % 5 == 0 and _WORKING.search(text, match.end(), end):
            weeks = {f"secs:{plain_number(value / 5 * _WEEK)}"}  # ten working days are two weeks
            wanted, present = wanted | weeks, present | weeks
        if "," in match["n"]:  # 2,000 is no year
            wanted, present = ({atom for atom in atoms if not atom.startswith("y:")} for atoms in (wanted, present))
        if not unit and "." in match["n"]:
            present.add(f"ver:{match['n']}")
        about = bool(_ABOUT.search(text[max(0, match.start() - _NEAR) : match.start()]) or _OR_SO.match(text, end))
        readings.append((text[match.start() : end].strip(), wanted, present, about))
    yield from reversed(readings)


def _value(match: re.Match[str]) -> Decimal:
    total = Decimal(0)
    for part in _PART.finditer(match.group("n")):
        value = Decimal(part["d"].replace(",", "") + (part["f"] or ""))
        for scale in part["s"] or "":
            value *= _SCALES[scale]
        total += value
    return total * _SCALES_EN.get((match.group("scale") or "").lower(), 1)


def _unit(text: str, match: re.Match[str]) -> tuple[str, int]:
    if match.group("cur"):
        return _CURRENCIES[match.group("cur").strip()], match.end()
    if _CONNECTIVES.match(text, match.end()):
        return "", match.end()
    start = match.end()
    adjective = _ADJECTIVE.match(text, start)  # "one extra week"
    unit = _UNITS.match(text, adjective.end() if adjective else start)
    if unit:
        return str(unit.lastgroup), unit.end()
    counted = _COUNTED_THING.match(text, adjective.end() if adjective else start)
    return ("count", counted.end()) if counted else ("", start)


def _quantity(value: Decimal, unit: str, *, of_month: bool = False) -> tuple[set[Atom], set[Atom]]:
    if unit == "tenth":
        value, unit = value * 10, "pct"
    n = plain_number(value)
    if unit == "year" and value >= 1000:
        return {f"y:{n}", f"bare:{n}"}, {f"y:{n}", f"num:{n}"}
    both = {f"{unit}:{n}"} if unit else set()
    both |= {f"{measure}:{plain_number(value * size)}" for measure, size in MEASURES.get(unit, ())}
    if unit in ("", "count"):
        wanted = both | {f"num:{n}"}
    else:
        wanted = both | {f"bare:{n}"} | ({f"d:{n}"} if of_month else set())
    present = both | {f"num:{n}"} | (set() if unit else {f"bare:{n}"})
    if not unit and 1900 <= value <= 2100 and value == value.to_integral_value():
        present.add(f"y:{n}")
        wanted.add(f"y:{n}")
    return wanted, present


def plain_number(value: Decimal) -> str:
    """As atoms have it: no exponent, no zeros behind the point."""
    return format(value.normalize(), "f")


# -- dates, weekdays, times -------------------------------------------------------------------------------------------


def _date(match: re.Match[str]) -> _Found:
    part = match.groupdict()
    named = part.get("mon")
    month = _MONTHS.index(named[:3].lower()) + 1 if named else int(part.get("m") or part.get("m2") or 0)
    day, year = int(part.get("d") or 0), int(part.get("y") or 0)
    if not 1 <= month <= 12 or day > 31:
        return []
    found: _Found = []
    share = {f"pct:{round(100 * month / day)}"} if match.re is _US_DATE and not year and month < day <= 10 else set()
    for d in {day, int(part.get("d2") or 0)} - {0}:
        found.append(({f"md:{month}-{d}"} | share, {f"md:{month}-{d}", f"m:{month}", f"d:{d}"} | share))
    if not day:
        found.append(({f"m:{month}", f"bare:{month}"}, {f"m:{month}"}))
    if year:
        dated = f"in:{month}-{year}"
        found.append(({f"y:{year}", f"bare:{year}", dated}, {f"y:{year}", f"num:{year}", dated}))
    return found


_EVERY_WEEKDAY = re.compile(r"平日|\bweekdays?\b", re.I)
_WEEKEND = re.compile(r"土日|週末|\bweekends?\b", re.I)
_SPANS = (
    re.compile(rf"(?P<a>[{_DAY_JA}](?<!\d.))曜?日?\s?(?:[〜~～–-]|から)\s?(?P<b>[{_DAY_JA}])(?:曜|\b|の|は|、)"),
    re.compile(rf"\b(?P<a>{_WEEKDAY_EN})\s?(?:[–—-]|to|through)\s?(?P<b>{_WEEKDAY_EN})", re.I),
)


def _weekday(match: re.Match[str], *, claim: bool) -> _Found:
    if claim and (match["en"] or "").lower() in ("sun", "sat", "wed", "mon"):
        return []  # words of their own
    return _alike(f"wd:{_nth(match['en'] or match['ja'] or match['paren'])}")


def _nth(weekday: str) -> int:
    return _DAY_JA.index(weekday) if weekday in _DAY_JA else _DAY_EN.index(weekday[:3].lower())


def _weekdays_of(text: str, lower: str) -> set[Atom]:
    """The days that a passage does not name one by one: weekdays, the weekend, from one to another."""
    days: set[int] = set()
    if ("weekday" in lower or "平日" in text) and _EVERY_WEEKDAY.search(text):
        days.update(range(5))
    if ("weekend" in lower or "土日" in text or "週末" in text) and _WEEKEND.search(text):
        days.update((5, 6))
    spans = _SPANS if any(day in lower for day in _DAY_EN) else _SPANS[:1]
    for match in (match for form in spans for match in form.finditer(text)):
        first, last = _nth(match["a"]), _nth(match["b"])
        days |= {n % 7 for n in range(first, (last if last >= first else last + 7) + 1)}
    return {f"wd:{n}" for n in days}


def _time(match: re.Match[str], *, late: bool) -> _Found:
    part = match.groupdict()
    hour, minute = int(part["h"]), 30 if part.get("han") else int(part.get("min") or 0)
    if hour > 30 or minute > 59:
        return []
    half, ap = part.get("half"), (part.get("ap") or "").lower()
    if part.get("end") and hour % 12 > int(part["end"]) % 12:
        ap = "p" if ap == "a" else "a"  # 10 to 4 p.m. begins in the morning
    strict = bool(half or ap) or hour >= 13 or hour == 0 or part["h"].startswith("0")
    if ap == "p" or half in ("午後", "夜", "夕方"):
        hour = hour % 12 + 12
    elif ap == "a" or half in ("午前", "朝"):
        hour %= 12
    at = hour * 60 + minute
    wanted = {f"t:{at}", f"either:{at % 720}", *([] if minute else [f"bare:{int(part['h'])}"])}
    if strict:
        return [(wanted, {f"t:{at}"})]
    return [(wanted | {f"t:{at + 720}"}, {f"t:{at}", *([] if late else [f"either:{at % 720}"])})]


_OF_EACH = (
    r"\b(?:an?|one|each|per|every|next|following|previous)\s(?:(?:full|business|working|calendar|single)\s)?(?:{})\b"
)
_EACH = re.compile(_OF_EACH.format(by_unit("each")), re.I)
_ADVERBS = re.compile(by_unit("adverbs"), re.I)
_ADVERBS_BEGIN = re.compile(r"[時毎日前翌当週月年各人]")
_ADVERBS_JA = re.compile(by_unit("adverbs_ja"))
_EVERY_OTHER = re.compile(by_unit("every_other"), re.I)
_ADVERBS_EN = ("hourly", "daily", "nightly", "day ", "weekly", "monthly", "yearly", "annual")
_OTHERS = ("every other", "every second", "weekly", "fortnight", "隔")

HALF = re.compile(r"半[額分]|\bhal(?:f|v(?:es|ed|ing))\b", re.I)


_NTH_DAY = re.compile(  # the 27th of each month
    r"\bthe (?P<en>\d{1,2})(?:st|nd|rd|th)\b(?=\sof\s(?:the|each|every)|\W*$|[.,;:)])"
    r"|[毎前翌当各]月の?(?P<ja>\d{1,2})日",
    re.M,
)
_MONTH_END = re.compile(rf"(?P<m>\d{{1,2}})月末|\bend of {_MONTH}", re.I)


def _end_of_month(match: re.Match[str]) -> Atom:
    month = _MONTHS.index(match["mon"][:3].lower()) + 1 if match["mon"] else int(match["m"])
    return f"md:{month}-{calendar.monthrange(2025, month)[1] if 1 <= month <= 12 else 0}"


def _implied(text: str) -> set[Atom]:
    """The figures that a passage implies without a number: "within a week", 「翌営業日」, 隔週, on weekdays."""
    lower = text.lower()
    said = {(1, str(match.lastgroup)) for match in _EACH.finditer(text)}
    said |= {(1, str(match.lastgroup)) for match in _at(_begins(_ADVERBS_BEGIN, text), _ADVERBS_JA, text)}
    if any(word in lower for word in _ADVERBS_EN):
        said |= {(1, str(match.lastgroup)) for match in _ADVERBS.finditer(text)}
    if any(sign in lower for sign in _OTHERS):
        said |= {(2, str(match.lastgroup)) for match in _EVERY_OTHER.finditer(text)}
    if ("hal" in lower or "半" in text) and HALF.search(text):
        said.add((50, "pct"))
    days = {f"nth:{match['en'] or match['ja']}" for match in _NTH_DAY.finditer(text)} | _weekdays_of(text, lower)
    if "月末" in text or "end of" in lower:
        days |= {_end_of_month(match) for match in _MONTH_END.finditer(text)}
    return days | {atom for n, unit in said for atom in _quantity(Decimal(n), unit)[1]}
