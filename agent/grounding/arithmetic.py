"""Figures that an answer computes: recomputed from operands that it shows, and that its sources or the question have.

Sums, differences, products and quotients of two values in units that fit; the sum of all the amounts in a sentence; a
date so many days, weeks or months from another; and whatever stands before an equals sign.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import permutations

from agent.grounding.quantities import Fact, Figures, facts
from agent.routing.calculator import compute

_YEARS = (2023, 2024)  # where no year is said: one of each kind
_MOST = 14  # operands


@dataclass(frozen=True, slots=True)
class Value:
    """A number with its unit ("" where it has none), or a day of the year as month and day."""

    amount: Decimal
    unit: str
    day: tuple[int, int] | None = None


def value(fact: Fact) -> Value | None:
    """The amount of a fact; None for a name, a version, a time of day or a year."""
    atoms = dict(atom.split(":", 1) for atom in fact.any_of)
    if "md" in atoms:
        month, day = atoms["md"].split("-")
        return Value(Decimal(0), "date", (int(month), int(day)))
    if atoms.keys() & {"id", "ver", "y", "t", "wd", "m"}:
        return None
    unit = next((unit for unit in atoms if unit not in ("num", "bare", "secs", "months", "d")), "")
    number = atoms.get(unit) or atoms.get("num") or atoms.get("bare") or atoms.get("months")
    if unit == "" and "secs" in atoms:
        unit, number = "sec", atoms["secs"]
    return Value(Decimal(number), "" if unit == "count" else unit) if number else None


def derived(fact: Fact, shown: Iterable[Fact]) -> bool:
    """Whether the value follows from others that are `shown`, in one step."""
    seen = list(dict.fromkeys(shown))[:_MOST]
    wanted = value(fact)
    operands = [each for each in dict.fromkeys(map(value, seen)) if each is not None]
    if wanted is None:
        years = {year + step * n for year in _of("y", seen) for n in _lasting(operands, "year") for step in (1, -1)}
        months = {month + step * n for month in _of("m", seen) for n in _lasting(operands, "month") for step in (1, -1)}
        ends = {(month - 1) % 12 + 1 for month in months | {month - 1 for month in months}}
        return bool(_of("y", [fact]) & years or _of("m", [fact]) & ends)
    if wanted.day is not None:
        return any(wanted.day in _days_from(one, other) for one, other in permutations(operands, 2))
    lasting = {abs(one - other) * 60 for one, other in permutations(_of("t", seen), 2)} & _of("secs", [fact])
    alike = [each.amount for each in operands if each.unit == wanted.unit and each.day is None]
    if lasting or (len(alike) > 2 and sum(alike) == wanted.amount):
        return True
    return any(_gives(one, other, wanted) for one, other in permutations(operands, 2))


def _lasting(operands: Iterable[Value], unit: str) -> list[Decimal]:
    return [each.amount for each in operands if each.unit == unit]


def _of(kind: str, facts: Iterable[Fact]) -> set[Decimal]:
    """The amounts of one kind of reading among these facts: years, months, times of day in minutes, seconds."""
    return {Decimal(atom.split(":")[1]) for each in facts for atom in each.any_of if atom.startswith(f"{kind}:")}


def _gives(one: Value, other: Value, wanted: Value) -> bool:
    a, b, result = one.amount, other.amount, wanted.amount
    if one.day and other.day:
        apart = {(end - start).days for start in _dates(one.day) for end in _dates(other.day) if start.year == end.year}
        return wanted.unit == "day" and any(result in (days, days + 1) for days in apart if days > 0)
    if one.day or other.day:
        return False
    quotient = a / b if b else None
    found: list[Decimal | None] = [quotient] if one.unit == other.unit and not wanted.unit else []
    if wanted.unit in ("", one.unit):
        if other.unit in ("", one.unit):
            found += [a + b, a - b]
        if other.unit == "pct":
            share = a * b / 100
            found += [share, a - share, a + share]
        elif not other.unit or other.unit != one.unit:
            found += [a * b, quotient]
    return result in found


def _dates(day: tuple[int, int]) -> list[date]:
    found = []
    for year in _YEARS:
        try:
            found.append(date(year, *day))
        except ValueError:
            continue  # 29 February
    return found


def _days_from(start: Value, length: Value) -> set[tuple[int, int]]:
    if start.day is None or length.day is not None or length.unit not in ("day", "week", "month"):
        return set()
    count = int(length.amount) if 0 < length.amount <= 400 else 0
    found: set[tuple[int, int]] = set()
    for begin in _dates(start.day) if count else ():
        if length.unit == "month":
            found |= {((begin.month - 1 + sign * count) % 12 + 1, begin.day) for sign in (1, -1)}
            continue
        days = count * (7 if length.unit == "week" else 1)
        for end in (begin + timedelta(days), begin - timedelta(days)):
            found.add((end.month, end.day))
    return found


# Nothing here is given back once it is read, and a chain has an end: any text is read in linear time.
_AMOUNT = r"[$€£¥]?+\s?+\d[\d,]*+(?:\.\d++)?+\s?+[千万億]?+\s?+%?+"
_UNIT = r"\s?+(?:/?+(?!x(?![^\W\d_]))[^\W\d_]{1,12}+){0,2}+\s?+"
_EQUATION = re.compile(
    rf"(?<![\d,.])(?P<left>{_AMOUNT}{_UNIT}(?:[-+−–×✕*/÷x]\s?+{_AMOUNT}{_UNIT}){{1,{_MOST}}}+)[=＝]\s?+(?P<right>{_AMOUNT})"
)
_WORDS = re.compile(r"(?<=[\d%千万億])\s?+(?:/?+[^\W\d_千万億x]++){1,2}+(?:\s[^\W\d_x]+)?|[$€£¥]")


@dataclass(frozen=True, slots=True)
class Equation:
    """`text` as written, `left` and `right` of its sign, and what the left side amounts to. `holds`: as it says."""

    text: str
    left: str
    right: str
    amount: str
    holds: bool


def equations(text: str) -> list[Equation]:
    """The equations in a text: those whose sides can be computed."""
    found = []
    for match in _EQUATION.finditer(unicodedata.normalize("NFKC", text)):
        left, right = compute(_WORDS.sub("", match["left"])), compute(_WORDS.sub("", match["right"]) + "+0")
        if left and right and left.value is not None and right.value is not None:
            rounded = left.value.denominator != 1 and abs(left.value - right.value) * 200 <= abs(left.value)
            amount = left.text("en").rpartition(" ")[2]
            holds = left.value == right.value or rounded
            found.append(Equation(match.group().strip(), match["left"], match["right"], amount, holds))
    return found


def results(fact: Fact, sums: Iterable[Equation]) -> bool:
    """Whether a number stands on the right of an equation, with or without its unit."""
    shown = fact.shown.strip("$€£¥ ")
    return any(
        shown in each.right or re.match(rf"{re.escape(each.right.strip('$€£¥ '))}(?![\d.,])", shown) for each in sums
    )


def told(fact: Fact, text: str, sources: Sequence[Figures]) -> bool:
    """Whether a sentence says itself how it comes to a number: it lists as many things, halves or doubles what a
    passage has, says a passage's factor (× 1.25) in hundredths (125 %, or 25 % more), or its days in about as many
    months."""
    wanted = value(fact)
    if wanted is None or wanted.day is not None:
        return False
    days = {atom for each in facts(text) for atom in each.any_of if atom.startswith("wd:")}
    listed = [item for item in _ITEMS.split(_LIST.sub("", text, count=1)) if item.strip()] if _LIST.search(text) else []
    if wanted.unit == "" and 2 <= wanted.amount in (len(days), len(listed)):
        return True
    share = wanted.amount / 100 if wanted.unit == "pct" else Decimal(0)
    factors = {f"num:{format(each.normalize(), 'f')}" for each in (share, 1 + share) if each % 1}
    if _ABOUT.search(text):
        factors |= {f"day:{months * 30}" for months in _of("months", [fact])}
    if any(factors & each.atoms for each in sources):
        return True
    factor = 2 if _HALF.search(text) else Decimal("0.5") if _DOUBLE.search(text) else 0
    atom = f"{wanted.unit or 'num'}:{format((wanted.amount * factor).normalize(), 'f')}"
    return bool(factor) and any(atom in each.atoms for each in sources)


def converts(fact: Fact, sums: Iterable[Equation]) -> bool:
    """Whether a number stands in a right equation as what a year, a week, a day or an hour has of the next smaller."""
    wanted = value(fact)
    return (
        wanted is not None
        and wanted.amount in _CONVERSIONS
        and any(each.holds and fact.shown in each.left for each in sums)
    )


_CONVERSIONS = (4, 5, 7, 12, 24, 52, 60, 100, 365)
_HALF = re.compile(r"半[額分]|\bhalf\b|\bhalves\b", re.IGNORECASE)
_DOUBLE = re.compile(r"[2２二]?倍|\bdouble\b|\btwice\b", re.IGNORECASE)
_ABOUT = re.compile(r"約|およそ|ほど|くらい|ぐらい|\b(?:about|around|roughly|approximately|some)\b", re.IGNORECASE)
_LIST = re.compile(r"^.*?[:：—]\s*")
_ITEMS = re.compile(r"、|,|;|\band\b|および|(?<=[一-龠ァ-ヶー])と")


_TOTAL = re.compile(  # of what the sentences before it say
    r"合計|合わせ|計算|総額|全部で|差額|差し引|残り"
    r"|\b(?:total|altogether|in all|sum|makes?|comes? to|adds? up|left|remain\w*|difference)\b",
    re.IGNORECASE,
)


def operands(own: Sequence[Fact], before: Sequence[Fact], asked: Sequence[Fact], text: str) -> list[Fact]:
    """The values a sentence may compute with: its own figures, the question's, and those before it where it sums
    up."""
    return [*own, *asked, *(before if _TOTAL.search(text) else ())]
