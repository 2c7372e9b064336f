"""Figures that an answer computes: recomputed from operands that it shows, and that its sources or the question have.

Sums, differences, products and quotients of two values in units that fit; the sum of all the amounts in a sentence; a
date so many days, weeks or months from another; and whatever stands before an equals sign.
"""

import re
import unicodedata
from calendar import isleap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import combinations, permutations, product

from agent.grounding.quantities import HALF, Fact, Figures, amount, facts, plain_number, rounds
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
    read = amount(fact)
    return Value(read[1], "" if read[0] == "count" else read[0]) if read else None


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
    lasting |= {(end - start) % 12 + 1 for start, end in _in_order("m", seen)} & _of("months", [fact])
    alike = [each.amount for each in operands if each.unit == wanted.unit and each.day is None]
    if lasting or (len(alike) > 2 and sum(alike) == wanted.amount):
        return True
    return any(_gives(one, other, wanted, about=fact.about) for one, other in permutations(operands, 2))


def _lasting(operands: Iterable[Value], unit: str) -> list[Decimal]:
    return [each.amount for each in operands if each.unit == unit]


def _of(kind: str, facts: Iterable[Fact]) -> set[Decimal]:
    """The amounts of one kind of reading among these facts: years, months, times of day in minutes, seconds."""
    return {Decimal(atom.split(":")[1]) for each in facts for atom in each.any_of if atom.startswith(f"{kind}:")}


def _in_order(kind: str, facts: Sequence[Fact]) -> Iterator[tuple[Decimal, Decimal]]:
    """The amounts of one kind of every two facts, as they stand in the text."""
    return combinations((amount for each in facts for amount in _of(kind, [each])), 2)


def _gives(one: Value, other: Value, wanted: Value, *, about: bool) -> bool:
    a, b, result = one.amount, other.amount, wanted.amount
    if one.day and other.day:
        apart = {
            (end - start).days % (366 if isleap(start.year) else 365)
            for start, end in product(_dates(one.day), _dates(other.day))
            if start.year == end.year
        }
        return wanted.unit == "day" and any(result in (days, days + 1) for days in apart)
    if one.day or other.day:
        return False
    quotient = a / b if b else None
    found: list[Decimal | None] = [quotient] if one.unit == other.unit and not wanted.unit else []
    if len({one.unit, other.unit, wanted.unit} - {""}) <= 1:
        found += [a + b, a - b]
    if wanted.unit in ("", one.unit):
        if other.unit == "pct":
            share = a * b / 100
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
_PRODUCT = re.compile(rf"(?<![\d,.×✕*/÷x]){_AMOUNT}{_UNIT}(?:(?P<times>[×✕*x])|[÷/])\s?+{_AMOUNT}", re.IGNORECASE)
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


def told(fact: Fact, text: str, sources: Iterable[Figures]) -> bool:
    """Whether a sentence says itself how it comes to a number: it lists as many things, halves or doubles what a
    passage has, says what a monthly amount is in a year, or a passage's factor (× 1.25) in hundredths (125 %, or 25 %
    more)."""
    wanted = value(fact)
    if wanted is None or wanted.day is not None:
        return False
    days = {atom for each in facts(text) for atom in each.any_of if atom.startswith(("wd:", "md:"))}
    listed = [item for item in _ITEMS.split(_LIST.sub("", text, count=1)) if item.strip()] if _LIST.search(text) else []
    if wanted.unit == "" and 2 <= wanted.amount in (len(days), len(listed)):
        return True
    money = wanted.unit in ("yen", "usd", "eur", "gbp")
    shares = [share for form, share in _SHARES if (money or share != _YEAR) and form.search(text)]
    shares += [Decimal(times[1]) for times in _TIMES.finditer(text) if Decimal(times[1])]
    shares = [share for share in shares if wanted.unit or share != wanted.amount]  # "twice" itself is no result of it
    atoms = {f"{wanted.unit or 'num'}:{plain_number(wanted.amount / share)}" for share in shares}
    share = wanted.amount / 100 if wanted.unit == "pct" else Decimal(0)
    atoms |= {f"num:{plain_number(factor)}" for factor in (share, 1 + share) if factor % 1}
    return any(atoms & each.atoms for each in sources)


def compares(fact: Fact, told: Iterable[Fact], text: str, sources: Iterable[Figures]) -> bool:
    """Whether a sentence that sums up or compares may leave out what it reckons with: the number is the sum or the
    difference of a value of the passages and another or one `told`, or the sum of one of theirs and all those."""
    wanted = value(fact)
    if wanted is None or not wanted.unit or wanted.day is not None or not _COMPARES.search(text):
        return False
    start = f"{wanted.unit}:"
    theirs = {Decimal(atom.removeprefix(start)) for each in sources for atom in each.atoms if atom.startswith(start)}
    alike = [each.amount for each in map(value, told) if each and each.unit == wanted.unit]
    return wanted.amount - sum(alike) in theirs or any(abs(one - wanted.amount) in {*theirs, *alike} for one in theirs)


def converts(fact: Fact, sums: Iterable[Equation], sources: Iterable[Figures]) -> bool:
    """Whether a number is what comes of a right equation, or stands in it as what a year, a week, a day or an hour has
    of the next smaller, or for a percentage of the sources: 1.2 for 20% more."""
    wanted = value(fact)
    for each in (each for each in sums if each.holds):
        results = facts(each.right)
        if any(fact.any_of & result.any_of for result in results):
            return True
        if wanted and (
            wanted.amount in [result.amount for result in map(value, results) if result]
            or (fact.shown in each.left and (wanted.amount in _CONVERSIONS or _a_percentage(wanted.amount, sources)))
        ):
            return True
    return False


def _a_percentage(factor: Decimal, sources: Iterable[Figures]) -> bool:
    shares = (factor, factor - 1, 1 - factor)
    atoms = {f"pct:{plain_number(share * 100)}" for share in shares if share > 0}
    return any(not atoms.isdisjoint(each.atoms) for each in sources)


def multiplies(fact: Fact, claim: Iterable[Fact], held: Iterable[Fact], text: str) -> bool:
    """Whether a number is an example that another one is multiplied or divided by: "three months are 3 × 1,980円". The
    other has to be `held`, and the `claim` to have the result, and to say beside the product what the number is."""
    wanted = value(fact)
    if wanted is None or wanted.day is not None or not _PRODUCT.search(text):
        return False
    said, known = ([each.amount for each in map(value, every) if each is not None] for every in (claim, held))
    if said.count(wanted.amount) < 2:
        return False
    for written in _PRODUCT.finditer(unicodedata.normalize("NFKC", text)):
        sides = [each.amount for each in map(value, facts(written.group())) if each is not None]
        if len(sides) == 2 and wanted.amount in sides and all(sides):
            one, other = sides
            results = {one * other} if written["times"] else {one / other}
            if not results.isdisjoint(said) and {*sides} - {wanted.amount} <= {*known}:
                return True
    return False


_CONVERSIONS = (4, 5, 7, 12, 24, 52, 60, 100, 365)
_YEAR = Decimal(12)
_SHARES = (  # what the sentence's figure is of the passage's
    (HALF, Decimal("0.5")),
    (re.compile(r"(?<![\d.])[2２二]?倍|\bdouble\b|\btwice\b", re.IGNORECASE), Decimal(2)),
    (re.compile(r"年間|年額|1年|\b(?:an?|per|each|every)\syear\b|/\s?year|\bannual|\byearly\b", re.IGNORECASE), _YEAR),
)
_TIMES = re.compile(r"(\d+(?:\.\d+)?)(?:倍| times (?:the|as)\b)")
_LIST = re.compile(r"^.*?[:：—]\s*")
_ITEMS = re.compile(r"、|,|;|\band\b|および|(?<=[一-龠ァ-ヶー])と")


_TOTAL = re.compile(  # of what the sentences before it say
    r"合計|合わせ|計算|総額|全部で|差額|差し引|残り"
    r"|\b(?:total|altogether|in all|sum|makes?|comes? to|adds? up|left|remain\w*|difference)\b",
    re.IGNORECASE,
)


_COMPARES = re.compile(
    rf"{_TOTAL.pattern}|差|増|減|延び|上が|下が|[多長高安短早遅少]く?(?:い|な|て|、|。|$)"
    r"|\b(?:more|less|longer|shorter|higher|lower|cheaper|fewer|earlier|later|faster|slower|up by|down by"
    r"|increased?|rose|grew|decreased?|dropped|fell)\b",
    re.IGNORECASE,
)


def operands(own: Sequence[Fact], before: Sequence[Fact], asked: Sequence[Fact], text: str) -> list[Fact]:
    """The values a sentence may compute with: its own figures, the question's, and those before it where it sums
    up."""
    return [*own, *asked, *(before if _TOTAL.search(text) else ())]
