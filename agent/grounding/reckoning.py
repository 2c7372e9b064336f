"""Whether a number that stands in no passage is one that an answer has computed.

What a sentence shows is recomputed. What would follow from the passages without being shown may be right: it is
doubtful as long as nobody has judged it.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from itertools import chain, islice, permutations

from agent.grounding.arithmetic import (
    AMOUNT,
    LENGTHS,
    MOST,
    UNIT,
    Equation,
    derived,
    in_smallest,
    readings,
    restates,
    value,
)
from agent.grounding.quantities import HALF, MONEY, Fact, Figures, dated, facts, plain_number, rounds, weekdays


@dataclass(frozen=True, slots=True)
class Reckoning:
    """A sentence that has numbers of its own, and what it may have them from.

    `held`: those of its numbers that are accounted for; `asked`: the question's; `before`: those of each sentence
    before it; `computed`: those of them, and of its own, that stand in no passage; `sources`: the passages' figures;
    `sums`: its equations.
    """

    text: str
    facts: Sequence[Fact]
    held: Sequence[Fact]
    asked: Sequence[Fact]
    before: Sequence[Sequence[Fact]]
    computed: Sequence[Fact]
    sources: Sequence[Figures]
    sums: Sequence[Equation]

    @property
    def told(self) -> list[Fact]:
        return [*self.held, *self.asked, *chain.from_iterable(self.before)]

    def operands(self, own: Iterable[Fact]) -> list[Fact]:
        """The values it may compute with: these of its own, the question's, those of the sentence before it, and of
        others before it the days and times of day, or all where it reckons or compares."""
        *others, last = self.before or [()]
        every = [fact for each in others for fact in each]
        timed = (fact for fact in every if any(atom.startswith(("md:", "t:")) for atom in fact.any_of))
        return [*own, *self.asked, *last, *(every if _RECKONS.search(self.text) else timed)]

    def sourced(self, atoms: Iterable[str]) -> bool:
        """Whether a passage has one of these readings."""
        wanted = frozenset(atoms)
        return any(not wanted.isdisjoint(each.atoms) for each in self.sources)


def shown(fact: Fact, sentence: Reckoning) -> bool:
    """Whether the sentence shows how it comes to the number."""
    results = {amount for each in sentence.sums if fact.shown in each.left for amount in _amounts(facts(each.right))}
    own = (each for each in sentence.held if results.isdisjoint(_amounts([each])))  # what comes of it proves nothing
    return (
        restates(fact, [*sentence.held, *sentence.computed])
        or _converts(fact, sentence)
        or derived(fact, sentence.operands(own))
        or _told(fact, sentence)
        or _multiplies(fact, sentence)
        or _adds_up(fact, sentence)
    )


def possible(fact: Fact, missing: Sequence[Fact], sentence: Reckoning) -> bool:
    """Whether the number would follow from the passages in a step that the sentence does not show. `missing`: it, and
    the others of the sentence that are not accounted for."""
    return (
        _compares(fact, sentence)
        or _recurs(fact, sentence)
        or _in_another_zone(fact, sentence)
        or _from_a_passage(fact, sentence)
        or _completes(fact, sentence)
        or _supposes(fact, missing, sentence)
    )


def _amounts(several: Iterable[Fact]) -> list[Decimal]:
    return [each.amount for each in map(value, several) if each and each.day is None]


# -- what a sentence shows --------------------------------------------------------------------------------------------


def _converts(fact: Fact, sentence: Reckoning) -> bool:
    """Whether a number is what comes of a right equation, or stands in it as what a year, a week, a day or an hour has
    of the next smaller, or for a percentage of the passages: 1.2 for 20% more."""
    wanted = value(fact)
    for each in (each for each in sentence.sums if each.holds):
        results = facts(each.right)
        if any(fact.any_of & result.any_of for result in results):
            return True
        if wanted and any(_is_result(fact, wanted.amount, wanted.unit, result) for result in _amounts(results)):
            return True
        if wanted and fact.shown in each.left:
            shares = (wanted.amount, wanted.amount - 1, 1 - wanted.amount)
            if wanted.amount in _CONVERSIONS or sentence.sourced(
                f"pct:{plain_number(share * 100)}" for share in shares if share > 0
            ):
                return True
    return False


def _is_result(fact: Fact, amount: Decimal, unit: str, result: Decimal) -> bool:
    """Whether a number is the result: also in hundredths, rounded where it says so, and of whole things the next."""
    whole = not unit and amount == result.to_integral_value(ROUND_CEILING)  # guests, at 20 to a table
    return (
        amount == result
        or (unit == "pct" and amount / 100 == result)
        or whole
        or (fact.about and rounds(result, amount))
    )


def _told(fact: Fact, sentence: Reckoning) -> bool:
    """Whether a sentence says itself how it comes to a number: it lists as many things, halves or doubles what a
    passage has, says what a monthly amount is in a year or a yearly one in a month, how often twice a year is, or a
    passage's factor (× 1.25) in hundredths (125 %, or 25 % more)."""
    wanted, text = value(fact), sentence.text
    if wanted is None or wanted.day is not None:
        return False
    days = {atom for each in facts(text) for atom in each.any_of if atom.startswith(("wd:", "md:"))}
    listed = [item for item in _ITEMS.split(_LIST.sub("", text, count=1)) if item.strip()] if _LIST.search(text) else []
    if wanted.unit == "" and 2 <= wanted.amount in (len(days), len(listed)):
        return True
    shares = [share for form, share in _SHARES if (wanted.unit in MONEY or share != _YEAR) and form.search(text)]
    shares += [Decimal(times[1]) for times in _TIMES.finditer(text) if Decimal(times[1])]
    shares = [share for share in shares if wanted.unit or share != wanted.amount]  # "twice" itself is no result of it
    atoms = {f"{wanted.unit or 'num'}:{plain_number(wanted.amount / share)}" for share in shares}
    if wanted.unit in MONEY and _MONTHLY.search(text):
        atoms.add(f"{wanted.unit}:{plain_number(wanted.amount * _YEAR)}")
    share = wanted.amount / 100 if wanted.unit == "pct" else Decimal(0)
    atoms |= {f"num:{plain_number(factor)}" for factor in (share, 1 + share) if factor % 1}
    if wanted.amount and not _YEAR % wanted.amount and _OFTEN.search(text):
        often = plain_number(_YEAR / wanted.amount)
        atoms |= {f"num:{often}"} if wanted.unit == "month" else {f"months:{often}"} if not wanted.unit else set()
    return sentence.sourced(atoms)


def _multiplies(fact: Fact, sentence: Reckoning) -> bool:
    """Whether a number is an example that another one is multiplied or divided by: "three months are 3 × 1,980円". The
    other has to be held, and the sentence to have the result, and to say beside the product what the number is; or it
    is one in a right equation whose others are held."""
    wanted = value(fact)
    if wanted is None or wanted.day is not None or not _PRODUCT.search(sentence.text):
        return False
    said, known = _amounts(sentence.facts), _amounts(sentence.held)
    if said.count(wanted.amount) < 2:
        return False
    for each in (facts(each.left) for each in sentence.sums if each.holds):
        others = [one for one in each if not one.any_of & fact.any_of]
        if len(others) < len(each) and all(any(one.any_of & held.any_of for held in sentence.held) for one in others):
            return True
    for written in _PRODUCT.finditer(unicodedata.normalize("NFKC", sentence.text)):
        sides = [each.amount for each in map(value, facts(written.group())) if each is not None]
        if len(sides) == 2 and wanted.amount in sides and all(sides):
            one, other = sides
            results = {one * other} if written["times"] else {one / other}
            if not results.isdisjoint(said) and {*sides} - {wanted.amount} <= {*known}:
                return True
    return False


def _adds_up(fact: Fact, sentence: Reckoning) -> bool:
    """Whether a total is that of one amount of each of the sentences or lines before it, from any of them on."""
    wanted = value(fact)
    if wanted is None or wanted.day is not None or not _TOTAL.search(sentence.text):
        return False
    told = ([each for each in map(value, line) if each and each.unit == wanted.unit] for line in sentence.before)
    amounts = [{each.amount for each in line} for line in told if line][-MOST:]
    totals = amounts.pop() if amounts else set()
    for line in reversed(amounts):
        totals = {*islice((total + more for total in totals for more in line if total + more <= wanted.amount), _SUMS)}
        if wanted.amount in totals:
            return True
    return False


# -- what the passages alone show -------------------------------------------------------------------------------------


def _compares(fact: Fact, sentence: Reckoning) -> bool:
    """Whether a sentence that sums up or compares may leave out what it reckons with: the number is the sum or the
    difference of a value of the passages and another or one that is held, or the sum of one of theirs and all those."""
    wanted = value(fact)
    if wanted is None or not wanted.unit or wanted.day is not None or not _COMPARES.search(sentence.text):
        return False
    told = [each for each in map(value, sentence.held) if each]
    if in_smallest(wanted).unit not in ("secs", "months"):  # of these a passage has too many
        wanted, told = in_smallest(wanted), [in_smallest(each) for each in told]
    start = f"{wanted.unit}:"
    atoms = (atom for each in sentence.sources for atom in each.atoms)
    theirs = {Decimal(atom.removeprefix(start)) for atom in atoms if atom.startswith(start)}
    alike = [each.amount for each in told if each.unit == wanted.unit]
    return wanted.amount - sum(alike) in theirs or any(abs(one - wanted.amount) in {*theirs, *alike} for one in theirs)


def _recurs(fact: Fact, sentence: Reckoning) -> bool:
    """Whether a date is on a day of the month or of the week that a passage names without one: by what the sentence
    says of it, or by the calendar, where a weekday and a year were told. Or it is the year of a computed one."""
    wanted = value(fact)
    if wanted is None or wanted.day is None:
        return fact.dated and any(each.shown == fact.shown for each in sentence.computed)
    told = [*sentence.facts, *sentence.told]
    said = {each.weekday for each in dated(sentence.text) if (each.month, each.day) == wanted.day}
    days = said or weekdays(*wanted.day, map(int, readings("y", told))) & set(map(int, readings("wd", told)))
    return sentence.sourced([f"nth:{wanted.day[1]}", *(f"each:{n}" for n in days)])


def _in_another_zone(fact: Fact, sentence: Reckoning) -> bool:
    """Whether a time of day is one that is told, in another of the zones that are named."""
    zones = {hours for zone, hours in _ZONES.items() if zone in sentence.text}
    told = readings("t", sentence.told)
    return any(
        (time + 60 * (there - here)) % 1440 in readings("t", [fact])
        for here, there in permutations(zones, 2)
        for time in told
    )


def _from_a_passage(fact: Fact, sentence: Reckoning) -> bool:
    """Whether a date comes of one that is told and a length of time of the passages, or a length of time lies between
    one that is told and one of theirs."""
    wanted = value(fact)
    if wanted is None or (wanted.day is None and wanted.unit not in LENGTHS):
        return False
    kinds = tuple(f"{unit}:" for unit in LENGTHS) if wanted.day else ("md:",)
    theirs = {atom for each in sentence.sources for atom in each.atoms if atom.startswith(kinds)}
    told = [each for each in sentence.told if each.timed][:MOST]
    exact = replace(fact, about=False)
    return any(derived(exact, [each, Fact(atom, frozenset({atom}))]) for atom in theirs for each in told)


def _completes(fact: Fact, sentence: Reckoning) -> bool:
    """Whether a number in a right equation is what a year, a week, a day or an hour has without what is told, or a
    length of time in hours."""
    wanted = value(fact)
    if wanted is None or not any(each.holds and fact.shown in each.left for each in sentence.sums):
        return False
    spent = {each.amount for each in map(value, sentence.told) if each and each.unit in ("", *LENGTHS)}
    hours = wanted.amount * 3600 in readings("secs", sentence.told)
    return hours or any(whole - wanted.amount in spent for whole in _CONVERSIONS)


def _supposes(fact: Fact, missing: Sequence[Fact], sentence: Reckoning) -> bool:
    """Whether an amount is what an example begins with, so that another one that is missing comes of it."""
    if fact.timed or not _SUPPOSES.search(sentence.text):
        return False
    results = (each for each in missing if each != fact and not restates(each, [fact]))
    return any(derived(each, [fact, *sentence.operands(sentence.held)]) for each in results)


# -- words ------------------------------------------------------------------------------------------------------------

_PRODUCT = re.compile(rf"(?<![\d,.×✕*/÷x]){AMOUNT}{UNIT}(?:(?P<times>[×✕*x])|[÷/])\s?+{AMOUNT}", re.IGNORECASE)
_SUMS = 1000  # totals that are tried
_CONVERSIONS = (4, 5, 7, 12, 24, 52, 60, 100, 365)
_YEAR = Decimal(12)
_ZONES = {"UTC": 0, "GMT": 0, "JST": 9, "日本時間": 9, "Japan": 9, "CET": 1, "CEST": 2, "BST": 1}
_ZONES |= {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "PST": -8, "PDT": -7}
_SHARES = (  # what the sentence's figure is of the passage's
    (HALF, Decimal("0.5")),
    (re.compile(r"(?<![\d.])[2２二]?倍|\bdouble\b|\btwice\b", re.IGNORECASE), Decimal(2)),
    (re.compile(r"年間|年額|1年|\b(?:an?|per|each|every)\syear\b|/\s?year|\bannual|\byearly\b", re.IGNORECASE), _YEAR),
)
_MONTHLY = re.compile(r"月あたり|月当たり|月額|1[かヶ]月|\b(?:an?|per|each|every)\smonth\b|\bmonthly", re.IGNORECASE)
_OFTEN = re.compile(r"\bevery\b|ごと|おき|年に|年間?\d|\b(?:a|per|each) year\b", re.IGNORECASE)
_TIMES = re.compile(r"(\d+(?:\.\d+)?)(?:倍| times (?:the|as)\b)")
_LIST = re.compile(r"^.*?[:：—]\s*")
_ITEMS = re.compile(r"、|,|;|\band\b|および|(?<=[一-龠ァ-ヶー])と")
_SUPPOSES = re.compile(
    r"(?:たと|例)えば|なら|場合|\b(?:for example|for instance|e\.g\.|suppose|if you|say)\b", re.IGNORECASE
)
_TOTAL = re.compile(  # of what the sentences before it say
    r"合計|合わせ|計算|総額|全部で|差額|差し引|残り"
    r"|\b(?:total|altogether|in all|sum|makes?|comes? to|adds? up|left|remain\w*|difference)\b",
    re.IGNORECASE,
)
_COMPARES = re.compile(
    rf"{_TOTAL.pattern}|差|増|減|延び|上が|下が|[多長高安短早遅少重軽大小広狭明暗]く?(?:い|な|て|、|。|$)"
    r"|\b(?:more|less|longer|shorter|higher|lower|cheaper|fewer|earlier|later|faster|slower|lighter|heavier|larger"
    r"|smaller|up by|down by|increased?|rose|grew|decreased?|dropped|fell)\b",
    re.IGNORECASE,
)
_RECKONS = re.compile(
    rf"{_COMPARES.pattern}|上げ|下げ|[=＝]|換算|場合|つまり|なので|したがって"
    r"|\bi\.e\.|\b(?:so|that is|thus|therefore)\b",
    re.IGNORECASE,
)
