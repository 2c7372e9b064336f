"""Arithmetic out of a chat message, exact: 「1200円の8%は？」, "what's 15*12+3", "20% off 50". `simpleeval` evaluates
it; what is read here is how people put it."""

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from simpleeval import InvalidExpression, NumberTooHigh, simple_eval  # type: ignore[import-untyped]

from retrieval.i18n import Language, Text
from retrieval.text import language_of, normalise

MOST_CHARACTERS = 200
MOST_DIGITS = 30
MOST_POWER = 256
MOST_BITS = 700
_PLACES = 10  # decimals shown of what does not end


@dataclass(frozen=True, slots=True)
class Computed:
    """`expression` as it was understood and its exact value; `problem` instead when it has none."""

    expression: str
    value: Fraction | None
    unit: str = ""
    problem: Text | None = None

    def text(self, language: Language) -> str:
        if self.value is None:
            return (self.problem or _TOO_BIG).to(language)
        number, exact = shown(self.value)
        before, after = (self.unit, "") if self.unit in "$€£¥" else ("", self.unit)
        answer = f"{self.expression} {'=' if exact else '≈'} {before}{number}{after}"
        return f"{answer}です。" if language == "ja" else answer


_BY_ZERO = Text(en="That divides by zero, which has no result.", ja="0 で割る計算になるため、答えがありません。")
_TOO_BIG = Text(
    en="That calculation is too large for me. Please try smaller numbers.",
    ja="計算の規模が大きすぎるため、お答えできません。もう少し小さい数でお試しください。",
)

# -- how it is put ----------------------------------------------------------------------------------------------------

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
_UNITS = (
    r"(?:円|ドル|ユーロ|人|個|件|回|台|枚|本|名|日|時間|分|秒|年|[かヶ]月|km|cm|mm|m|kg|g|kb|mb|gb|tb"
    r"|yen|dollars?|euros?|pounds?|usd|jpy|eur)"
)
_N = rf"((?:[$€£¥]\s?)?{_NUMBER}){_UNITS}?\s*"
_P = rf"({_NUMBER})\s*%\s*"
_BEGINNING = re.compile(
    r"^(?:(?:教えて|計算して|(?:次の|この)?計算(?:を|お願い(?:します)?)?|please|can you|could you|what(?:'s| is)|whats"
    r"|how much(?: is)?|calculate|compute|the (?:result|value) of|[:：、,。?\s])\s*)+"
)
_END = re.compile(
    r"(?:(?:っ?て|とは|は|の(?:答え|結果|値)は?|を|計算|答え|いくつ|いくら|何|円|でしょうか?|ですか|です|になりますか"
    r"|かな|だっけ|か|と|教えて(?:ください)?|して(?:ください)?|お願い(?:します)?|ください|please|equals?"
    r"|[=＝?？!。、.\s]))++$"
)
_MYRIADS = re.compile(r"(\d[\d,]*(?:\.\d+)?)\s*(千|万|億)(?!\d)")

# Wordings that are more than operators in place. {0}, {1}: their amounts.
_WORDED = tuple(
    (re.compile(pattern), form)
    for pattern, form in (
        (rf"{_N}の\s*({_NUMBER})\s*割引(?:後|した.*)?", "{0} * (1 - {1} / 10)"),
        (
            rf"{_N}(?:の|から|を)\s*{_P}(?:オフ|off|引き?|割引|値引き?)(?:後|した.*|の(?:価格|値段|金額))?",
            "{0} * (1 - {1} / 100)",
        ),
        (rf"{_N}[のにを]\s*{_P}(?:増し?|アップ|加算|上乗せ|を(?:足す|加える))", "{0} * (1 + {1} / 100)"),
        (rf"{_N}の\s*{_P}分?", "{0} * {1}%"),
        (rf"{_N}の\s*({_NUMBER})\s*割", "{0} * {1} / 10"),
        (rf"{_N}の\s*({_NUMBER})\s*倍", "{0} * {1}"),
        (rf"(?:half of )?{_N}(?:の\s*半分)?", "{0} / 2"),
        (rf"{_N}を\s*{_N}で割(?:る|った|ったら)", "{0} / {1}"),
        (rf"{_N}で\s*{_N}を\s*割(?:る|った|ったら)", "{1} / {0}"),
        (rf"{_N}[にと]\s*{_N}を(?:かける|掛ける)", "{0} * {1}"),
        (rf"{_N}[にと]\s*{_N}を(?:足す|たす|加える)", "{0} + {1}"),
        (rf"{_N}から\s*{_N}を(?:引く|ひく)", "{0} - {1}"),
        (rf"{_P}off\s*(?:of\s*)?{_N}", "{1} * (1 - {0} / 100)"),
        (rf"{_P}of\s*{_N}", "{1} * {0}%"),
    )
)
_SERIES = re.compile(r"(?:the )?(sum|product|average|mean) of (.+)|(.+?)の(合計|和|積|平均)")
_BETWEEN = re.compile(r"\s*(?:,\s+and\b|,\s|、|と|\band\b|\+)\s*")
_OPERATORS = (
    (r"[×✕✖]|\btimes\b|\bmultiplied by\b|かける|掛ける|(?<=\d)\s*x\s*(?=[\d(.])", " * "),
    (r"÷|\bdivided by\b|割る|わる", " / "),
    (r"\bplus\b|足す|たす|プラス", " + "),
    (r"[−–—]|\bminus\b|引く|ひく|マイナス", " - "),
    (r"\*\*", " ^ "),
)
_DATE = re.compile(
    r"(?:19|20)\d{2}\s*[-/.]\s*(?:0?[1-9]|1[0-2])(?:\s*[-/.]\s*\d{1,2})?"
    r"|(?:0?[1-9]|1[0-2])/(?:0?[1-9]|[12]\d|3[01])(?:/\d{2,4})?|0\d+-.*|\d{2,4}-\d{2,4}-\d{2,4}|\d{1,2}-\d{1,2}"
)


def compute(message: str) -> Computed | None:
    """The result when the whole message is one calculation, else None (also for dates, phone numbers, versions)."""
    text = normalise(message).strip()
    if len(text) <= MOST_CHARACTERS:
        text = _MYRIADS.sub(_in_digits, re.sub(r"パーセント|per ?cent\b", "%", text))
    if len(text) > MOST_CHARACTERS or not re.search(r"\d", text):
        return None
    core = _END.sub("", _BEGINNING.sub("", text, count=1)).strip() or text
    expression = _expression(core)
    if expression is None or (_DATE.fullmatch(core) and not re.search(r"[=＝]|計算|calculate|compute", text)):
        return None
    if core == text and re.fullmatch(r"\d[\d-]*-[\d-]*-\d+", core):
        return None
    try:
        return Computed(_pretty(expression), _evaluated(expression), _unit(core))
    except NumberTooHigh:
        return Computed(expression, None, problem=_TOO_BIG)
    except ZeroDivisionError:
        return Computed(expression, None, problem=_BY_ZERO)
    except (InvalidExpression, SyntaxError):
        return None


def _in_digits(number: re.Match[str]) -> str:
    value = Fraction(number[1].replace(",", "")) * {"千": 10**3, "万": 10**4, "億": 10**8}[number[2]]
    return str(value) if value.denominator == 1 else number[0]


def shown(value: Fraction) -> tuple[str, bool]:
    """A number for people, thousands divided, and whether it is exact."""
    scaled = value * 10**_PLACES
    whole = round(scaled)
    sign, digits = ("-" if whole < 0 else ""), str(abs(whole)).rjust(_PLACES + 1, "0")
    decimals = digits[-_PLACES:].rstrip("0")
    return f"{sign}{int(digits[:-_PLACES]):,}" + (f".{decimals}" if decimals else ""), scaled.denominator == 1


def _expression(core: str) -> str | None:
    """Operators, numbers and brackets for `core`; None: it says something else, or there is nothing to compute."""
    for pattern, form in _WORDED:
        if (match := pattern.fullmatch(core)) and match[0] != match[1]:
            return form.format(*(_plain(group) for group in match.groups()))
    if series := _SERIES.fullmatch(core):
        parts = [part for part in _BETWEEN.split(series[2] or series[3]) if part]
        if len(parts) > 1 and all(re.fullmatch(_N, part) for part in parts):
            kind = series[1] or series[4]
            joined = f" {'*' if kind in ('product', '積') else '+'} ".join(map(_plain, parts))
            return f"({joined}) / {len(parts)}" if kind in ("average", "mean", "平均") else joined
    text = core
    for words, sign in _OPERATORS:
        text = re.sub(words, sign, text)
    text = re.sub(rf"(?<=\d)\s*{_UNITS}(?![a-z])", "", re.sub(r"[$€£¥]\s?(?=\d)", "", text))
    text = " ".join(text.split())
    told = re.fullmatch(r"[\d,.+\-*/^%() ]+", text) and not re.search(r"\d\s+\d", text)
    return text if told and re.search(r"\d\s*%?\)*\s*[-+*/^]|\(.*[-+*/^].*\)", text) else None


def _plain(amount: str) -> str:
    number = re.search(_NUMBER, amount)
    return number.group().replace(",", "") if number else amount


def _unit(core: str) -> str:
    """The unit of the result when only one is named and the calculation keeps it (price × share, sums of yen)."""
    named = re.findall(r"[$€£¥](?=\s?\d)", core) + re.findall(rf"(?<=\d)\s*({_UNITS})(?![a-z])", core)
    if len(set(named)) != 1 or (len(named) > 1 and re.search(r"[*×/÷^]|かけ|掛け|割|times|divided", core)):
        return ""
    unit = str(named[0])
    return f" {unit}" if unit.isascii() and unit.isalpha() and len(unit) > 2 else unit


def _pretty(expression: str) -> str:
    text = re.sub(r"\s*([-+*/^])\s*", r" \1 ", expression).replace("*", "×").replace("/", "÷")
    return re.sub(r"(^|[(×÷+^]) - ", r"\1-", text).strip()


# -- what it amounts to -----------------------------------------------------------------------------------------------


class _Percent(Fraction):
    """`50%` is 0.5, and `200 + 10%` adds a tenth."""


def _evaluated(expression: str) -> Fraction:
    """Raises NumberTooHigh, ZeroDivisionError, and InvalidExpression or SyntaxError for what is no calculation."""
    numbers: dict[str, Fraction] = {}

    def named(match: re.Match[str]) -> str:
        digits = match[1].replace(",", "")
        if len(digits) > MOST_DIGITS:
            raise NumberTooHigh
        name = f"n{len(numbers)}"
        numbers[name] = _Percent(Fraction(digits) / 100) if match[2] else Fraction(digits)
        return f" {name} "

    text = re.sub(rf"({_NUMBER})\s*(%)?", named, expression).replace("^", "**").strip()
    found = simple_eval(text, operators=_OPERATIONS, names=numbers)
    return Fraction(found)


def _bounded(work: Callable[[Fraction, Fraction], Fraction]) -> Callable[[Fraction, Fraction], Fraction]:
    def bounded(one: Fraction, other: Fraction) -> Fraction:
        value = work(one, other)
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS:
            raise NumberTooHigh
        return value

    return bounded


def _share(one: Fraction, other: Fraction) -> Fraction:
    return one * other if isinstance(other, _Percent) else other


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        raise InvalidExpression
    if abs(exponent) > MOST_POWER:
        raise NumberTooHigh
    return Fraction(base ** int(exponent))


_OPERATIONS = {
    ast.Add: _bounded(lambda one, other: one + _share(one, other)),
    ast.Sub: _bounded(lambda one, other: one - _share(one, other)),
    ast.Mult: _bounded(operator.mul),
    ast.Div: _bounded(operator.truediv),
    ast.Pow: _bounded(_power),
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def answer(computed: Computed, message: str) -> str:
    """The reply in the message's language."""
    return computed.text(language_of(message))
