"""The numbers, dates, times and identifiers of a text in one normal form, so that 「百二十円」 and "120 yen" are the same.

A passage is read generously (every reading of it counts), a claim strictly (each of its numbers must be found).
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from agent.grounding.numerals import arabic

Atom = str


@dataclass(frozen=True, slots=True)
class Fact:
    """One number of a claim as it was written, and the readings of which one must occur in the passage."""

    shown: str
    any_of: frozenset[Atom]


@dataclass(frozen=True, slots=True)
class Figures:
    """Every reading of every number in a text; `squeezed` are its letters and digits alone, for identifiers."""

    atoms: frozenset[Atom]
    squeezed: str

    def hold(self, fact: Fact) -> bool:
        return bool(fact.any_of & self.atoms) or any(
            atom.startswith("id:") and atom[3:] in self.squeezed for atom in fact.any_of
        )


def facts(text: str) -> list[Fact]:
    """The numbers that a claim states, each with the readings that would confirm it."""
    return [Fact(shown, frozenset(any_of)) for shown, any_of, _ in _read(_plain(text, claim=True), claim=True)]


@lru_cache(maxsize=2048)
def figures(text: str) -> Figures:
    """What a passage offers to confirm a claim's numbers with."""
    plain = _plain(text, claim=False)
    atoms: set[Atom] = set()
    for _, _, present in _read(plain, claim=False):
        atoms |= present
    atoms |= _implied(plain)
    return Figures(frozenset(atoms), squeeze(text))


def squeeze(text: str) -> str:
    """Letters and digits only, width and case folded; the long-vowel mark is dropped (サーバー is サーバ)."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _SIGNS.sub("", folded)


_SIGNS = re.compile(r"[\W_ー]+")

# -- reading ----------------------------------------------------------------------------------------------------------

_CIRCLED = re.compile(r"[\u2460-\u24ff\u2776-\u2793]")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|[\w.+-]+@[\w-]+\.[\w.-]+")
_APART = re.compile(
    r"(?<=\d)[ \t](?=[\u3040-\u30ff\u4e00-\u9fff])"
    r"|(?:(?<=\d[年月])|(?<=\d[ \t][年月]))[ \t](?=\d)"  # 「9 時から 17 時」, 「4 月 1 日」
)
_EMPHASIS = re.compile(r"(?<![A-Za-z0-9])_+|_+(?![A-Za-z0-9])")  # "_two_"; an identifier keeps its own
_ENUMERATOR = re.compile(
    r"^\s*\(?\d{1,2}[.)](?=\s)|\b(?:step|section|chapter|item|手順|ステップ|項目)\s*\d+(?:\.\d+)*", re.I
)
_MARKER = re.compile(  # of a list item or a numbered heading: it counts, and states nothing
    r"^[ \t>]*(?:[-*+][ \t]+)?\(?\d{1,2}(?:\.\d{1,2})*[.)](?=[^\d\n])|^[ \t]*#{1,6}[ \t]+\d{1,2}(?:\.\d{1,2})*(?=\s)",
    re.M,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<mon>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_DAY_JA = "月火水木金土日"
_DAY_EN = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAY_EN = (
    r"(Mon(?:day)?|Tue(?:s(?:day)?)?|Wed(?:nesday)?|Thu(?:rs(?:day)?)?|Fri(?:day)?|Sat(?:urday)?|Sun(?:day)?)s?\b"
)

_FULL_DATE = re.compile(
    r"(?<![\d.])(?P<y>\d{4})(?:[-/.]|年\s?)(?P<m>\d{1,2})(?:[-/.]|月\s?)(?P<d>\d{1,2})(?!\d|\.\d)日?"
    r"(?:\s?(?:から|[〜~～–])\s?(?P<d2>\d{1,2})日)?"
)
_YEAR_MONTH = re.compile(r"(?<!\d)(?P<y>\d{4})(?:年\s?(?P<m>\d{1,2})月|[-/](?P<m2>0?[1-9]|1[0-2])(?![\d/-]))")
_MONTH_DAY = re.compile(r"(?<!\d)(?P<m>\d{1,2})月(?P<d>\d{1,2})日?(?:\s?(?:から|[〜~～–-])\s?(?P<d2>\d{1,2})日)?")
_MONTH_JA = re.compile(r"(?<![\dかヶカヵ箇ケ個])(?P<m>1[0-2]|0?[1-9])月(?!間)")
_US_DATE = re.compile(r"(?<![\d/.])(?P<m>\d{1,2})/(?P<d>\d{1,2})(?:/(?P<y>\d{4}))?(?![\d/])")
_NAMED_DATE = re.compile(
    rf"\b{_MONTH}\s?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?!\d|:)(?:\s?[–~-]\s?(?P<d2>\d{{1,2}})(?!\d))?(?:,?\s(?P<y>\d{{4}}))?"
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
    re.I,
)
_TIME_AP = re.compile(r"(?<![\d:.])(?P<h>\d{1,2})\s?(?P<ap>[ap])\.?m\b\.?", re.I)
_NOON = re.compile(r"\b(?P<noon>noon|midday)\b|(?P<noon2>正午)|\b(?P<zero>midnight)\b", re.I)

_PHONE = re.compile(r"(?<![\w-])\+?\d{1,5}-\d{1,4}-\d{3,4}(?![\w-])")
_DOTTED = re.compile(r"(?<![\w.])v?\d+(?:\.\d+){2,}(?![\w])", re.I)
_VERSION = re.compile(
    r"(?:\b(?:[Vv]|[Vv]er\.?|[Vv]ersion)\s?|バージョン\s?|\b(?!(?:USD|EUR|GBP|JPY) )[A-Z][A-Za-z]+ )(?P<v>\d+\.\d+)(?![A-Za-z0-9_]|\.\d|\s?-?(?:%|[年月日時分秒週円倍割か]"
    r"|million|billion|thousand|hours?\b|days?\b|weeks?\b|months?\b|years?\b|minutes?\b|seconds?\b|percent\b|times\b))"
)
_IDENTIFIER = re.compile(
    r"(?<![A-Za-z0-9])(?=[A-Za-z0-9_#-]*[A-Za-z])(?=[A-Za-z0-9_#-]*\d)[A-Za-z0-9][A-Za-z0-9_#-]*[A-Za-z0-9]"
)
_COUNTED = re.compile(
    r"\d+(?:-[a-z]{2,}(?:-[a-z]+)*|(?:s|secs?|mins?|h|hrs?|d|k|m|b|bn|st|nd|rd|th|x|[kmgt]i?b(?:ps)?|mm|cm|km|kg|g|yen|usd|jpy|am|pm))",
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
    r"(?<![A-Za-z0-9_.])(?P<cur>(?:[$€£¥]|\b(?:USD|EUR|GBP|JPY))\s?)?"
    r"(?P<n>(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?[百千]?[万億兆]?)+)"
    r"(?:\s?(?P<scale>k|K|bn|(?<=\d)[MB](?![A-Za-z])|(?:thousand|million|billion)\b)(?![A-Za-z]))?"
)
_PART = re.compile(r"(?P<d>\d{1,3}(?:,\d{3})+|\d+)(?P<f>\.\d+)?(?P<s>[百千]?[万億兆]?)")

_UNITS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(rf"\s?-?(?:{pattern})", re.I))
    for name, pattern in (
        ("sec", r"秒間?|seconds?\b|secs?\b|s\b"),
        ("min", r"分間?(?!の\d)|minutes?\b|mins?\b"),
        ("hour", r"時間|hours?\b|hrs?\b|h\b"),
        (
            "day",
            r"営業日|暦日|日間|日(?!本)|(?:(?:business|working|calendar|consecutive|full)[\s-])?days?\b|nights?\b|泊",
        ),
        ("week", r"週間?|(?:full\s)?weeks?\b"),
        ("month", r"[かヶカヵ箇ケ個][月]|(?:calendar\s)?months?\b"),
        ("year", r"年間|年度|年|years?\b|yrs?\b|fiscal years?\b"),
        ("tenth", r"割"),
        ("pct", r"%|パーセント|percent\b|per cent\b"),
        ("yen", r"円|yen\b|jpy\b"),
        ("usd", r"米?ドル|(?:us )?dollars?\b|usd\b|bucks?\b"),
        ("eur", r"ユーロ|euros?\b|eur\b"),
        ("gbp", r"ポンド|pounds? sterling\b|gbp\b"),
        ("kb", r"k(?:i?b|ilobytes?)\b|キロバイト"),
        ("mb", r"m(?:i?b|egabytes?)\b|メガバイト"),
        ("gb", r"g(?:i?b|igabytes?)\b|ギガバイト|ギガ"),
        ("tb", r"t(?:i?b|erabytes?)\b|テラバイト"),
        ("mm", r"mm\b|ミリメートル|ミリ"),
        ("cm", r"cm\b|センチメートル|センチ"),
        ("km", r"km\b|キロメートル|kilomet(?:er|re)s?\b"),
        ("metre", r"m(?![A-Za-z])|メートル|met(?:er|re)s?\b"),
        ("kg", r"kg\b|キログラム|kilograms?\b"),
        ("deg", r"℃|°c?\b|degrees?\b"),
        (
            "count",
            r"人|名|件|個|回|度(?!目)|台|枚|本|冊|社|つ|点|種類?|[か箇ヶカ]所|people\b|persons?\b|employees?\b|members?\b|times\b|items?\b",
        ),
        ("count", r"[\u4e00-\u9fff]|[a-z]{3,}"),  # some other counted thing
    )
)
_CURRENCIES = dict(zip(("$", "€", "£", "¥", "USD", "EUR", "GBP", "JPY"), ("usd", "eur", "gbp", "yen") * 2, strict=True))
_WORKING = re.compile(r"営業日|business|working", re.I)
_SECONDS = {"sec": 1, "min": 60, "hour": 3600, "day": 86400, "week": 604800}
_MONTHS_IN = {"month": 1, "year": 12}
_CONNECTIVES = re.compile(
    r"\s(?:and|or|to|per|in|of|for|from|by|at|the|with|on|are|is|was|if|as|than|but|after|before|until|via|through|plus|between|during|within|when)\b",
    re.I,
)
_ADJECTIVE = re.compile(
    r"\s(?!(?:an?|per|the|each|every|times|days?|weeks?|months?|years?|hours?|minutes?|seconds?)\b)[a-z]+(?=\s(?:days?|nights?|weeks?|months?|years?|hours?|minutes?)\b)"
)
_HALF_HOUR = re.compile(r"(?P<h>\d+)時間半|(?P<y>\d+)年半")
_COMPOUND = re.compile(
    r"(?P<h>\d+)\s?(?:時間|hours?|hrs?|h)\s?(?:and\s)?(?P<m>\d{1,2})\s?(?:分間?|minutes?|mins?|m)(?![A-Za-z])"
    r"|(?P<y>\d+)\s?(?:年間?|years?)\s?(?:と|and\s)?(?P<mo>\d{1,2})\s?(?:[かヶカヵ箇ケ]月|months?)",
    re.I,
)
_RANGE_UNIT = re.compile(r"\s?(?:[〜~～–—-]|から|to)\s?(?=\d)")
_ORDINAL = re.compile(r"(?<![\w.])(?P<n>\d{1,3})(?:st|nd|rd|th)\b")

_DIGIT = re.compile(r"\d")

_Reading = tuple[str, set[Atom], set[Atom]]  # as written, what confirms it in a claim, what it offers in a passage


def _plain(text: str, *, claim: bool) -> str:
    text = _CIRCLED.sub(" ", text)
    if "://" in text or "www." in text or "@" in text:
        text = _ADDRESS.sub(" ", text)
    text = unicodedata.normalize("NFKC", text).replace("ー", "ー")
    text = arabic(_APART.sub("", _EMPHASIS.sub("", text)), claim=claim)
    return (_ENUMERATOR if claim else _MARKER).sub(" ", text)


def _read(text: str, *, claim: bool) -> Iterator[_Reading]:
    """Longest and most particular forms first; what one of them has read is blanked for those after it."""
    buffer = text

    def take(match: re.Match[str]) -> str:
        nonlocal buffer
        start, end = match.span()
        buffer = buffer[:start] + "\0" * (end - start) + buffer[end:]
        return match.group().strip()

    def found(pattern: re.Pattern[str]) -> list[re.Match[str]]:
        """Read at once, since `take` changes the buffer."""
        return list(pattern.finditer(buffer))

    digits = bool(_DIGIT.search(buffer))
    dates = (_FULL_DATE, _NAMED_DATE, _DAY_NAMED, _MONTH_DAY, _YEAR_MONTH, _US_DATE, _MONTH_JA)
    for pattern in dates if digits else ():
        for match in found(pattern):
            reading = _date(match)
            if reading is not None:
                shown = take(match)
                yield from ((shown, wanted, present) for wanted, present in reading)
    for match in found(_IN_MONTH if claim else _NAMED_MONTH):
        shown = take(match)
        yield from ((shown, wanted, present) for wanted, present in _date(match) or ())
    yield from _weekdays(buffer, claim=claim)
    for match in found(_NOON):
        atom = "t:0" if match["zero"] else "t:720"
        yield take(match), {atom}, {atom}
    if not digits:
        return

    late = any(int(m.group("h")) >= 13 for p in (_TIME_JA, _TIME_COLON) for m in found(p))
    for pattern in (_TIME_COLON, _TIME_JA, _TIME_AP):
        for match in found(pattern):
            reading_of_time = _time(match, late)
            if reading_of_time is not None:
                yield take(match), *reading_of_time

    for match in found(_PHONE):
        shown = take(match)
        yield shown, {"id:" + squeeze(shown)}, set()
    for match in found(_DOTTED):
        shown = take(match)
        bare = shown.lower().lstrip("v")
        parts = bare.split(".")
        yield shown, {"ver:" + bare}, {"ver:" + ".".join(parts[:i]) for i in range(1, len(parts) + 1)}
    for match in found(_VERSION):
        shown = take(match)
        bare = match.group("v")
        value = _text(Decimal(bare))
        yield shown, {"ver:" + bare}, {"ver:" + bare, "ver:" + bare.split(".")[0], "num:" + value, "bare:" + value}
    for match in found(_IDENTIFIER):
        if not _COUNTED.fullmatch(match.group()):
            shown = take(match)
            yield shown, {"id:" + squeeze(shown)}, set()

    for match in found(_COMPOUND):
        sum_of = _sum(match)
        if claim:
            yield take(match), {sum_of}, set()
        else:
            yield match.group(), set(), {sum_of}
    for match in found(_HALF_HOUR):
        atom = f"secs:{int(match['h']) * 3600 + 1800}" if match["h"] else f"months:{int(match['y']) * 12 + 6}"
        yield take(match), {atom}, {atom}
    for match in found(_ORDINAL):
        shown, n = take(match), match.group("n")
        yield shown, {f"num:{n}", f"d:{n}"}, {f"num:{n}", f"bare:{n}", f"d:{n}"}
    yield from _numbers(buffer)


def _numbers(text: str) -> Iterator[_Reading]:
    found = list(_NUMBER.finditer(text))
    unit_after = ""
    readings: list[_Reading] = []
    for match in reversed(found):  # from the right: in 「10〜20日」 the first number takes the unit of the second
        value = _value(match)
        unit, end = _unit(text, match)
        if not unit and unit_after and _RANGE_UNIT.match(text, match.end()):
            unit = unit_after
        unit_after = unit
        of_month = unit == "day" and text[match.end() : end].strip() == "日"
        wanted, present = _quantity(value, unit, of_month=of_month)
        if unit == "day" and value % 5 == 0 and _WORKING.search(text, match.end(), end):
            weeks = {f"secs:{_text(value / 5 * _SECONDS['week'])}"}  # ten working days are two weeks
            wanted, present = wanted | weeks, present | weeks
        readings.append((text[match.start() : end].strip(), wanted, present))
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
    for name, pattern in _UNITS:
        unit = pattern.match(text, adjective.end() if adjective else start)
        if unit:
            return name, unit.end()
    return "", start


def _quantity(value: Decimal, unit: str, *, of_month: bool = False) -> tuple[set[Atom], set[Atom]]:
    if unit == "tenth":
        value, unit = value * 10, "pct"
    n = _text(value)
    if unit == "year" and value >= 1000:
        return {f"y:{n}", f"bare:{n}"}, {f"y:{n}", f"num:{n}"}
    both = {f"{unit}:{n}"} if unit else set()
    if unit in _SECONDS:
        both.add(f"secs:{_text(value * _SECONDS[unit])}")
    elif unit in _MONTHS_IN:
        both.add(f"months:{_text(value * _MONTHS_IN[unit])}")
    if unit in ("", "count"):
        wanted = both | {f"num:{n}"}
    else:
        wanted = both | {f"bare:{n}"} | ({f"d:{n}"} if of_month else set())
    present = both | {f"num:{n}"} | (set() if unit else {f"bare:{n}"})
    if not unit and 1900 <= value <= 2100 and value == value.to_integral_value():
        present.add(f"y:{n}")
        wanted.add(f"y:{n}")
    return wanted, present


def _sum(match: re.Match[str]) -> Atom:
    if match["h"]:
        return f"secs:{int(match['h']) * 3600 + int(match['m']) * 60}"
    return f"months:{int(match['y']) * 12 + int(match['mo'])}"


def _text(value: Decimal) -> str:
    return format(value.normalize(), "f")


# -- dates, weekdays, times ----------------------------------------------------------------------------------------------


def _date(match: re.Match[str]) -> list[tuple[set[Atom], set[Atom]]] | None:
    part = match.groupdict()
    named = part.get("mon")
    month = _MONTHS.index(named[:3].lower()) + 1 if named else int(part.get("m") or part.get("m2") or 0)
    day, year = int(part.get("d") or 0), int(part.get("y") or 0)
    if not 1 <= month <= 12 or day > 31:
        return None
    found: list[tuple[set[Atom], set[Atom]]] = []
    for d in {day, int(part.get("d2") or 0)} - {0}:
        found.append(({f"md:{month}-{d}"}, {f"md:{month}-{d}", f"m:{month}", f"d:{d}"}))
    if not day:
        found.append(({f"m:{month}", f"bare:{month}"}, {f"m:{month}"}))
    if year:
        found.append(({f"y:{year}", f"bare:{year}"}, {f"y:{year}", f"num:{year}"}))
    return found


_WEEKDAY = re.compile(rf"(?P<ja>[{_DAY_JA}])曜|\((?P<paren>[{_DAY_JA}])\)|\b(?P<en>{_WEEKDAY_EN})", re.I)
_EVERY_WEEKDAY = re.compile(r"平日|\bweekdays?\b", re.I)
_WEEKEND = re.compile(r"土日|週末|\bweekends?\b", re.I)
_SPAN_JA = re.compile(rf"(?<!\d)(?P<a>[{_DAY_JA}])曜?日?\s?(?:[〜~～–-]|から)\s?(?P<b>[{_DAY_JA}])(?:曜|\b|の|は|、)")
_SPAN_EN = re.compile(rf"\b(?P<a>{_WEEKDAY_EN})\s?(?:[–—-]|to|through)\s?(?P<b>{_WEEKDAY_EN})", re.I)


def _weekdays(text: str, *, claim: bool) -> Iterator[_Reading]:
    for match in _WEEKDAY.finditer(text):
        if match["en"] and claim and match["en"].lower() in ("sun", "sat", "wed", "mon"):
            continue  # words of their own
        number = _weekday(match["en"] or match["ja"] or match["paren"])
        yield match.group(), {f"wd:{number}"}, {f"wd:{number}"}
    if claim:
        return
    if _EVERY_WEEKDAY.search(text):
        yield "", set(), {f"wd:{n}" for n in range(5)}
    if _WEEKEND.search(text):
        yield "", set(), {"wd:5", "wd:6"}
    for pattern in (_SPAN_JA, _SPAN_EN):
        for match in pattern.finditer(text):
            first, last = _weekday(match["a"]), _weekday(match["b"])
            yield "", set(), {f"wd:{n % 7}" for n in range(first, (last if last >= first else last + 7) + 1)}


def _weekday(name: str) -> int:
    return _DAY_JA.index(name) if name in _DAY_JA else _DAY_EN.index(name[:3].lower())


def _time(match: re.Match[str], late: bool) -> tuple[set[Atom], set[Atom]] | None:
    part = match.groupdict()
    hour, minute = int(part["h"]), 30 if part.get("han") else int(part.get("min") or 0)
    if hour > 30 or minute > 59:
        return None
    half, ap = part.get("half"), (part.get("ap") or "").lower()
    strict = bool(half or ap) or hour >= 13 or hour == 0 or part["h"].startswith("0")
    if ap == "p" or half in ("午後", "夜", "夕方"):
        hour = hour % 12 + 12
    elif ap == "a" or half in ("午前", "朝"):
        hour %= 12
    at = hour * 60 + minute
    whole = {f"bare:{int(part['h'])}"} if not minute else set()
    if strict:
        return {f"t:{at}", f"either:{at % 720}"} | whole, {f"t:{at}"}
    return {f"t:{at}", f"t:{at + 720}", f"either:{at % 720}"} | whole, {f"t:{at}"} | (
        set() if late else {f"either:{at % 720}"}
    )


_EACH = (  # ones that a passage says without a number
    ("sec", r"\b(?:an?|each|per|every|next) second\b"),
    ("min", r"\b(?:an?|each|per|every|next) minute\b"),
    ("hour", r"\b(?:an?|each|per|every|next) (?:full )?hour\b|\bhourly\b|時給"),
    (
        "day",
        r"\b(?:an?|each|per|one|every|next|following)\s(?:(?:full|business|working|calendar|single)\s)?(?:day|night)\b"
        r"|\b(?:daily|nightly)\b|毎日|日[額当]|(?<!\d)日(?:あたり|当たり|ごと)|翌(?:営業)?日|当日から1",
    ),
    (
        "week",
        r"\b(?:an?|each|per|every|next|following)\s(?:full\s)?week\b|\bweekly\b|毎週|週(?=\d)|(?<!\d)週(?:間?あたり|ごと)",
    ),
    (
        "month",
        r"\b(?:an?|each|per|every|next|following)\s(?:calendar\s)?month\b|\bmonthly\b|毎月|月額|(?<!\d)月(?=\d|間|あたり|ごと)",
    ),
    (
        "year",
        r"\b(?:an?|each|per|every|next|following)\s(?:calendar\s)?year\b|\b(?:yearly|annual(?:ly)?)\b|毎年|年額|(?<!\d)年(?=\d|間|あたり|ごと)",
    ),
    ("count", r"\b(?:each|per|every) (?:person|head|employee|user|item|trip|order)\b|各人|人ごと"),
)
_EVERY_OTHER = (
    (
        "week",
        re.compile(rf"\b(?:every (?:other|second) (?:week|{_WEEKDAY_EN})|bi-?weekly|fortnight(?:ly)?)\b|隔週", re.I),
    ),
    ("month", re.compile(r"\bevery (?:other|second) month\b|隔月", re.I)),
    ("day", re.compile(r"\bevery (?:other|second) day\b|隔日", re.I)),
)
_IMPLIED = tuple((unit, re.compile(form, re.I)) for unit, form in _EACH)


def _implied(text: str) -> set[Atom]:
    """Ones that a passage says without a number: "within a week", 「翌営業日」."""
    said = [(1, unit) for unit, form in _IMPLIED if form.search(text)]
    said += [(2, unit) for unit, form in _EVERY_OTHER if form.search(text)]
    return {atom for n, unit in said for atom in _quantity(Decimal(n), unit)[1]}
