"""Figures that an answer computes: recomputed from operands that it shows, and that its sources or the question have.

Sums, differences, products and quotients of two values in units that fit; the sum of all the amounts in a sentence; a
date so many days, weeks or months from another; and whatever stands before an equals sign.
"""

import re
import unicodedata
from calendar import isleap
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from itertools import combinations, permutations

from agent.grounding.quantities import MEASURES, Fact, amount, rounds
from agent.routing.calculator import compute

_YEARS = (2023, 2024)  # where no year is said: one of each kind
MOST = 14  # operands
_DAY = Decimal(86400)  # seconds
_MONTH = _DAY * 365 / 12
LENGTHS = ("day", "week", "month", "year")
_THIRDS = {Decimal(33): 1, Decimal(67): 2}  # which a passage's fractions are in hundredths
_AMOUNTS = re.compile(r"[\d.,]+")
_COMPARABLE = frozenset({"md", *(unit for each in MEASURES.values() for unit, _ in each)})


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
    read = amount(fact)
    return Value(read[1], "" if read[0] == "count" else read[0]) if read else None


def restates(fact: Fact, told: Iterable[Fact]) -> bool:
    """Whether the value is one that was told, in another unit or another form: 35 days, after five weeks."""
    exact = {atom for atom in fact.any_of if atom.partition(":")[0] in _COMPARABLE}
    told = list(told)
    near = fact.about and any(_lasts(length, fact, "secs") for length in readings("secs", told))
    return near or any(fact.any_of == each.any_of or not exact.isdisjoint(each.any_of) for each in told)


def derived(fact: Fact, shown: Iterable[Fact]) -> bool:
    """Whether the value follows from others that are `shown`, in one step."""
    seen = list(dict.fromkeys(shown))[:MOST]
    wanted = value(fact)
    operands = [each for each in dict.fromkeys(map(value, seen)) if each is not None]
    if wanted is None:
        years = _away(readings("y", seen), [each.amount for each in operands if each.unit == "year"])
        named = readings("m", seen) | {Decimal(each.day[0]) for each in operands if each.day}
        months = _away(named, [each.amount for each in operands if each.unit == "month"])
        ends = {(month - 1) % 12 + 1 for month in months | {month - 1 for month in months}}
        lengths = [each / 60 for each in readings("secs", seen) if each < _DAY]
        times = {time % (_DAY / 60) for time in _away(readings("t", seen), lengths)}
        return bool(readings("y", [fact]) & years or readings("m", [fact]) & ends or readings("t", [fact]) & times)
    if wanted.day is not None:
        return any(wanted.day in _days_from(one, other) for one, other in permutations(operands, 2))
    lasting = any(_lasts(length, fact, "secs") for length in _seconds_between(seen, operands))
    lasting |= any(_lasts(length, fact, "months") for length in _months_between(seen, operands))
    alike = [each.amount for each in operands if each.unit == wanted.unit and each.day is None]
    counted = [each.amount for each in map(value, filter(partial(_counts_alike, fact), seen)) if each]
    if lasting or any(len(all_of) > 2 and sum(all_of) == wanted.amount for all_of in (alike, counted)):
        return True
    if wanted.unit == "pct" and 100 - wanted.amount in alike:
        return True
    small = in_smallest(wanted)
    return any(
        _gives(one, other, wanted, about=fact.about)
        or _gives(in_smallest(one), in_smallest(other), small, about=fact.about)
        for one, other in permutations(operands, 2)
    )


def _counts_alike(fact: Fact, other: Fact) -> bool:
    """Whether both count the same things: "12人" and "24人", not "3歳"."""
    one, two = (_AMOUNTS.sub("", each.shown) for each in (fact, other))
    return bool(one) and one == two


def in_smallest(each: Value) -> Value:
    """A value in the unit in which others of its kind can be compared with it: seconds, months, grams …"""
    unit, size = MEASURES.get(each.unit, ((each.unit, 1),))[0]
    return Value(each.amount * size, unit, each.day)


def _away(points: Iterable[Decimal], lengths: Collection[Decimal]) -> set[Decimal]:
    """The points that are one of the lengths before or after one of these."""
    return {point + sign * length for point in points for length in lengths for sign in (1, -1)}


def readings(kind: str, facts: Iterable[Fact]) -> set[Decimal]:
    """The amounts of one kind of reading among these facts: years, months, times of day in minutes, seconds."""
    return {Decimal(atom.split(":")[1]) for each in facts for atom in each.any_of if atom.startswith(f"{kind}:")}


def _seconds_between(seen: Sequence[Fact], operands: Iterable[Value]) -> Iterator[Decimal]:
    """The lengths of time between every two of the times of day, also less a break, and between the days, also with
    both of them."""
    breaks = {Decimal(0), *readings("secs", seen)}
    yield from (abs(one - other) * 60 - less for one, other in combinations(readings("t", seen), 2) for less in breaks)
    for start, end in _every_two_days(operands):
        apart = (end - start).days % (366 if isleap(start.year) else 365)
        yield from (apart * _DAY, (apart + 1) * _DAY)


def _months_between(seen: Sequence[Fact], operands: Iterable[Value]) -> Iterator[Decimal]:
    """The months from one to another, also with both of them, from one day to another, and the years."""
    yield from (abs(one - other) * 12 for one, other in combinations(readings("y", seen), 2))
    for start, end in _every_two_days(operands):
        ends = (end, end + timedelta(1))
        yield from (Decimal((each.month - start.month) % 12) for each in ends if each.day == start.day)
    for first, last in _in_order("m", seen):
        yield from ((last - first) % 12, (last - first) % 12 + 1)


def _every_two_days(operands: Iterable[Value]) -> Iterator[tuple[date, date]]:
    """Every two of the days, each as the first, in years of both kinds."""
    days = [each for day in dict.fromkeys(each.day for each in operands if each.day) for each in _dates(day)]
    return ((one, other) for one, other in permutations(days, 2) if one.year == other.year)


def _lasts(length: Decimal, fact: Fact, kind: str) -> bool:
    """Whether a length of time in seconds or months is the fact's, or near it where it says so."""
    lengths = readings(kind, [fact])
    if fact.about and kind == "secs":
        lengths |= {months * _MONTH for months in readings("months", [fact])}
    return any(length == told or (fact.about and abs(length - told) * 10 < told) for told in lengths)


def _in_order(kind: str, facts: Sequence[Fact]) -> Iterator[tuple[Decimal, Decimal]]:
    """The amounts of one kind of every two facts, as they stand in the text."""
    return combinations((amount for each in facts for amount in readings(kind, [each])), 2)


def _gives(one: Value, other: Value, wanted: Value, *, about: bool) -> bool:
    a, b, result = one.amount, other.amount, wanted.amount
    if one.day or other.day:
        return False
    quotient = a / b if b else None
    found: list[Decimal | None] = [quotient] if one.unit == other.unit and not wanted.unit else []
    if quotient is not None and wanted.unit == "pct" and len({one.unit, other.unit} - {""}) <= 1:
        return rounds(quotient * 100, result)
    if one.unit == other.unit == "secs" and wanted.unit == "months":
        return result * 30 * _DAY in (a + b, a - b)
    if len({one.unit, other.unit, wanted.unit} - {""}) <= 1:
        found += [a + b, a - b]
    if wanted.unit in ("", one.unit):
        if other.unit == "pct":
            share = a * _THIRDS[b] / 3 if b in _THIRDS else a * b / 100
            found += [share, a - share, a + share]
        elif not other.unit or other.unit != one.unit:
            found += [a * b, quotient]
    return result in found or (about and any(each is not None and rounds(each, result) for each in found))


def _dates(day: tuple[int, int]) -> list[date]:
    found = []
    for year in _YEARS:
        try:
            found.append(date(year, *day))
        except ValueError:
            continue  # 29 February
    return found


def _days_from(start: Value, length: Value) -> set[tuple[int, int]]:
    if start.day is None or length.day is not None or length.unit not in LENGTHS:
        return set()
    count = int(length.amount) if 0 < length.amount <= 400 else 0
    found: set[tuple[int, int]] = set()
    for begin in _dates(start.day) if count else ():
        if length.unit in ("month", "year"):
            months = {(begin.month - 1 + sign * count * (length.unit == "month")) % 12 + 1 for sign in (1, -1)}
            ends = [each for month in months for each in _dates((month, begin.day))]
            found |= {(each.month, each.day) for end in ends for each in (end, end - timedelta(1))}
            continue
        days = count * (7 if length.unit == "week" else 1)
        for end in (begin + timedelta(days), begin - timedelta(days)):
            found.add((end.month, end.day))
    return found


# Nothing here is given back once it is read, and a chain has an end: any text is read in linear time.
AMOUNT = r"[$€£¥]?+\s?+\d++(?:,\d{3})*+(?:\.\d++)?+\s?+[千万億]?+\s?+%?+"
UNIT = r"\s?+(?:/?+(?!x(?![^\W\d_]))[^\W\d_]{1,12}+){0,2}+\s?+"
_EQUATION = re.compile(
    rf"(?<![\d,.])(?P<left>{AMOUNT}{UNIT}(?:[-+−–×✕*/÷x]\s?+{AMOUNT}{UNIT}){{1,{MOST}}}+)[=＝≒≈]\s?+(?P<right>{AMOUNT})"
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
    for match in _EQUATION.finditer(unicodedata.normalize("NFKC", text.replace("**", ""))):
        left, right = compute(_WORDS.sub("", match["left"])), compute(_WORDS.sub("", match["right"]) + "+0")
        if left and right and left.value is not None and right.value is not None:
            exact, said = (Decimal(each.numerator) / each.denominator for each in (left.value, right.value))
            rounded = left.value.denominator != 1 and (abs(exact - said) * 200 <= abs(exact) or rounds(exact, said))
            amount = left.text("en").rpartition(" ")[2]
            holds = left.value == right.value or rounded
            found.append(Equation(match.group().strip(), match["left"], match["right"], amount, holds))
    return found
