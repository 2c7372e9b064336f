"""Arithmetic out of a chat message, exact and without `eval`: 「1200円の8%は？」, "what's 15*12+3", "20% off 50"."""

import re
from dataclasses import dataclass
from fractions import Fraction

from retrieval.i18n import Language, Text
from retrieval.text import language_of, normalise

MOST_CHARACTERS = 200
MOST_DIGITS = 30
MOST_POWER = 256
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
        sign = "=" if exact else "≈"
        answer = f"{self.expression} {sign} {before}{number}{after}"
        return _RESULT.to(language).replace("{answer}", answer)


_RESULT = Text(en="{answer}", ja="{answer}です。")
_BY_ZERO = Text(en="That divides by zero, which has no result.", ja="0 で割る計算になるため、答えがありません。")
_TOO_BIG = Text(
    en="That calculation is too large for me. Please try smaller numbers.",
    ja="計算の規模が大きすぎるため、お答えできません。もう少し小さい数でお試しください。",
)

_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
_AMOUNT = rf"(?:[$€£¥]\s?)?(?:{_NUMBER})"
_UNITS = r"円|ドル|ユーロ|ポンド|元|人|個|件|回|台|冊|枚|本|名|日|時間|分|秒|年|か月|ヶ月|月|km|cm|mm|m|kg|g|kb|mb|gb|tb|yen|dollars?|euros?|pounds?|usd|jpy|eur"
_BEGINNING = re.compile(
    r"^(?:(?:え[ーっ]*と|ちなみに|ところで|じゃあ|では|すみません|教えて|計算して|(?:次の|この)?計算(?:を|お願い(?:します)?)?|please|hey|so|ok|and|now|can you|could you|quick"
    r"|(?:(?:do|solve) the )?math|what(?:'s| is| are| does| do)|whats|how much(?: is| are)?|calculate|compute|work out|evaluate|solve|tell me|question|the (?:result|value) of|equals?|[:：、,。?\s])\s*)+"
)
_END = re.compile(
    r"(?:(?:っ?て|とは|は|の(?:答え|結果|値|計算|計算結果)は?|を|計算|答え|いくつ|いくら|何|なに|なん|幾つ|円|でしょうか?|ですか|です|になりますか|になる|になります|なりますか|かな|だっけ|でしたっけ|なの|の|か|と"
    r"|教えて(?:ください|下さい|もらえますか|いただけますか)?|して(?:ください|下さい|もらえますか|いただけますか)?|お願い(?:します|いたします)?|ください|please|equals?|be|come to|make|for me|thanks|[=＝?？!。、.\s])\s*)+$"
)

# Wordings that are more than operators in place; tried in this order on the normalised text. {a}, {b}: amounts.
_WORDED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern.replace("{n}", rf"({_AMOUNT})(?:{_UNITS})?")), form)
    for pattern, form in (
        (r"^{n}\s*の\s*(?:消費税)?({_})\s*割引(?:後|した.*)?$".replace("{_}", _NUMBER), "{0} * (1 - {1} / 10)"),
        (
            r"^{n}\s*(?:の|から|を)\s*({_})\s*(?:%|パーセント)\s*(?:オフ|off|引き?|割引|値引き?)(?:後|した.*|の(?:価格|値段|金額))?$".replace(
                "{_}", _NUMBER
            ),
            "{0} * (1 - {1} / 100)",
        ),
        (
            r"^{n}\s*(?:の|に|を)\s*({_})\s*(?:%|パーセント)\s*(?:増し?|アップ|加算|上乗せ|を?(?:足す|足し|加え)(?:る|と|たら|て|た.*)?と?)$".replace(
                "{_}", _NUMBER
            ),
            "{0} * (1 + {1} / 100)",
        ),
        (r"^{n}\s*の\s*({_})\s*(?:%|パーセント)(?:分)?$".replace("{_}", _NUMBER), "{0} * {1}%"),
        (r"^{n}\s*の\s*({_})\s*割$".replace("{_}", _NUMBER), "{0} * {1} / 10"),
        (r"^{n}\s*の\s*({_})\s*倍$".replace("{_}", _NUMBER), "{0} * {1}"),
        (r"^{n}\s*の\s*半分$", "{0} / 2"),
        (r"^{n}\s*の\s*(?:二|2)乗$", "{0} ^ 2"),
        (r"^{n}\s*の\s*(?:三|3)乗$", "{0} ^ 3"),
        (r"^{n}\s*の\s*(\d+)\s*乗$", "{0} ^ {1}"),
        (r"^{n}\s*(?:を|割る)\s*{n}\s*(?:で割る|で割ると|で割ったら|で割った(?:値|答え|数)?)?$", "{0} / {1}"),
        (r"^{n}\s*で\s*{n}\s*を\s*割(?:る|ると|ったら)$", "{1} / {0}"),
        (
            r"^{n}\s*(?:に|と|へ)\s*{n}\s*(?:を(?:かける|かけると|掛ける|掛けると|乗じる|乗じると|かけたら)|の積)$",
            "{0} * {1}",
        ),
        (
            r"^{n}\s*(?:に|と|へ)\s*{n}\s*(?:を(?:足す|足すと|たす|たすと|加える|加えると|足したら)|の和|の合計)$",
            "{0} + {1}",
        ),
        (r"^{n}\s*(?:から)\s*{n}\s*(?:を(?:引く|引くと|ひく|ひくと|引いたら|減らすと))$", "{0} - {1}"),
        (r"^{n}\s*と\s*{n}\s*の差$", "{0} - {1}"),
        (r"^({_})\s*(?:%|percent|per cent)\s*off\s*(?:of\s*)?{n}$".replace("{_}", _NUMBER), "{1} * (1 - {0} / 100)"),
        (r"^{n}\s*(?:minus|less)\s*({_})\s*(?:%|percent)$".replace("{_}", _NUMBER), "{0} * (1 - {1} / 100)"),
        (r"^{n}\s*(?:plus)\s*({_})\s*(?:%|percent)(?: tax)?$".replace("{_}", _NUMBER), "{0} * (1 + {1} / 100)"),
        (r"^({_})\s*(?:%|percent|per cent)\s*of\s*{n}$".replace("{_}", _NUMBER), "{1} * {0}%"),
        (r"^(?:a )?half of {n}$", "{0} / 2"),
        (r"^(?:double|twice) {n}$", "{0} * 2"),
        (r"^a (?:third) of {n}$", "{0} / 3"),
        (r"^a (?:quarter) of {n}$", "{0} / 4"),
        (r"^{n} squared$", "{0} ^ 2"),
        (r"^{n} cubed$", "{0} ^ 3"),
        (r"^{n} (?:to the power of|to the) {n}(?:st|nd|rd|th)?(?: power)?$", "{0} ^ {1}"),
    )
)
_SERIES = (
    (re.compile(r"^(?:the )?sum of (.+)$"), "+"),
    (re.compile(r"^(?:the )?product of (.+)$"), "*"),
    (re.compile(r"^(?:the )?(?:average|mean) of (.+)$"), "mean"),
    (re.compile(r"^(.+?)の(?:合計|総和|和)$"), "+"),
    (re.compile(r"^(.+?)の(?:積)$"), "*"),
    (re.compile(r"^(.+?)の(?:平均|平均値)$"), "mean"),
)
_OPERATORS = (
    (r"×|✕|✖|⋅|∙|\btimes\b|\bmultiplied by\b|かける|掛ける|(?<=\d)\s*x\s*(?=[\d(.])", " * "),
    (r"÷|\bdivided by\b|\bover\b|割る|わる", " / "),
    (r"\bplus\b|足す|たす|プラス", " + "),
    (r"−|–|—|－|\bminus\b|引く|ひく|マイナス", " - "),
    (r"\*\*", " ^ "),
    (r"パーセント|\bpercent\b|\bper cent\b", "%"),
)
_TOKEN = re.compile(rf"\s*(?:({_NUMBER})|([-+*/^%()]))")
_DATE = re.compile(
    r"^(?:19|20)\d{2}\s*[-/.]\s*(?:0?[1-9]|1[0-2])(?:\s*[-/.]\s*\d{1,2})?$|^(?:0?[1-9]|1[0-2])/(?:0?[1-9]|[12]\d|3[01])(?:/\d{2,4})?$|^0\d+-|^\d{2,4}-\d{2,4}-\d{2,4}$|^\d{1,2}-\d{1,2}$"
)


def compute(message: str) -> Computed | None:
    """The result when the whole message is one calculation, else None (also for dates, phone numbers, versions)."""
    text = _MYRIADS.sub(_in_digits, normalise(message).strip())
    if len(text) > MOST_CHARACTERS or not re.search(r"\d", text):
        return None
    core = _END.sub("", _BEGINNING.sub("", text, count=1)).strip() or text
    explicit = core != text
    found = _expression(core)
    if found is None:
        return None
    expression, operators = found
    if not operators or (_DATE.match(core) and not re.search(r"[=＝]|計算|calculate|compute", text)):
        return None
    if re.fullmatch(r"\d[\d-]*\d", core) and core.count("-") > 1 and not explicit:
        return None
    unit = _unit(core)
    try:
        value = _Parser(expression).value()
    except _TooBig:
        return Computed(expression, None, problem=_TOO_BIG)
    except ZeroDivisionError:
        return Computed(expression, None, problem=_BY_ZERO)
    except _NoExpression:
        return None
    return Computed(_pretty(expression), value, unit)


_MYRIADS = re.compile(r"(\d[\d,]*(?:\.\d+)?)\s*(千|万|億)(?!\d)")


def _in_digits(number: re.Match[str]) -> str:
    value = Fraction(number.group(1).replace(",", "")) * {"千": 10**3, "万": 10**4, "億": 10**8}[number.group(2)]
    return str(value) if value.denominator == 1 else number.group()


def shown(value: Fraction) -> tuple[str, bool]:
    """A number for people, thousands divided, and whether it is exact."""
    scaled = value * 10**_PLACES
    exact = scaled.denominator == 1
    whole = round(scaled)
    sign, digits = ("-" if whole < 0 else ""), str(abs(whole)).rjust(_PLACES + 1, "0")
    decimals = digits[-_PLACES:].rstrip("0")
    return f"{sign}{int(digits[:-_PLACES]):,}" + (f".{decimals}" if decimals else ""), exact


def _expression(core: str) -> tuple[str, bool] | None:
    """Plain operators and digits for `core`, and whether anything is to be computed; None: it says something else."""
    for pattern, form in _WORDED:
        match = pattern.match(core)
        if match:
            return form.format(*(_plain(group) for group in match.groups())), True
    for pattern, operator in _SERIES:
        match = pattern.match(core)
        parts = (
            [part for part in re.split(r"\s*(?:,\s+and\b|,\s|、|と|\band\b|\+)\s*", match.group(1)) if part]
            if match
            else []
        )
        if len(parts) > 1 and all(re.fullmatch(rf"{_AMOUNT}(?:{_UNITS})?", part) for part in parts):
            joined = f" {'+' if operator == 'mean' else operator} ".join(_plain(part) for part in parts)
            return (f"({joined}) / {len(parts)}" if operator == "mean" else joined), True
    text = core
    for words, operator in _OPERATORS:
        text = re.sub(words, operator, text)
    text = re.sub(rf"(?<=\d)\s*(?:{_UNITS})(?![a-z])", "", re.sub(r"[$€£¥]\s?(?=\d)", "", text))
    text = re.sub(r"\s+", " ", text).strip()
    if not re.fullmatch(r"[\d,.+\-*/^%() ]+", text) or re.search(r"\d\s+\d", text):
        return None
    return text, bool(re.search(r"\d\s*%?\)*\s*[-+*/^]|\(.*[-+*/^].*\)", text))


def _plain(amount: str) -> str:
    number = re.search(_NUMBER, amount)
    return number.group().replace(",", "") if number else amount


def _unit(core: str) -> str:
    """The unit of the result when only one is named and the calculation keeps it (price × share, sums of yen)."""
    signs = re.findall(r"[$€£¥](?=\s?\d)", core)
    words = re.findall(rf"(?<=\d)\s*({_UNITS})(?![a-z])", core)
    named = signs + words
    if len(set(named)) != 1:
        return ""
    unit = named[0]
    if len(named) > 1 and re.search(r"[*×/÷^]|かけ|掛け|割|times|divided", core):
        return ""
    return f" {unit}" if unit.isascii() and unit.isalpha() and len(unit) > 2 else unit


def _pretty(expression: str) -> str:
    text = re.sub(r"\s*([-+*/^])\s*", r" \1 ", expression).replace("*", "×").replace("/", "÷")
    return re.sub(r"(^|[(×÷+^]) - ", r"\1-", text).strip()


class _NoExpression(Exception):
    pass


class _TooBig(Exception):
    pass


class _Parser:
    """Recursive descent over + - * / ^ % and parentheses; `50%` is 0.5, and `200 + 10%` adds a tenth."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        at = 0
        while at < len(text.rstrip()):
            match = _TOKEN.match(text, at)
            if not match:
                raise _NoExpression(text)
            self._tokens.append(match.group(1) or match.group(2))
            at = match.end()
        self._at = 0
        self._depth = 0

    def value(self) -> Fraction:
        value = self._sum()
        if self._at != len(self._tokens):
            raise _NoExpression
        return value

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _sum(self) -> Fraction:
        value = self._product()
        while self._peek() in ("+", "-"):
            sign = 1 if self._take() == "+" else -1
            start = self._at
            right = self._product()
            if self._tokens[self._at - 1] == "%" and self._at - start == 2:  # only "+ 10%" itself
                right *= value
            value = _bounded(value + sign * right)
        return value

    def _product(self) -> Fraction:
        value = self._signed()
        while self._peek() in ("*", "/"):
            value = _bounded(value * self._signed() if self._take() == "*" else value / self._signed())
        return value

    def _signed(self) -> Fraction:
        if self._peek() in ("+", "-"):
            sign = 1 if self._take() == "+" else -1
            self._depth += 1
            if self._depth > 40:
                raise _TooBig
            return sign * self._signed()
        return self._power()

    def _power(self) -> Fraction:
        base = self._atom()
        if self._peek() != "^":
            return base
        self._take()
        exponent = self._signed()
        if exponent.denominator != 1:
            raise _NoExpression
        if abs(exponent) > MOST_POWER:
            raise _TooBig
        return _bounded(base ** int(exponent))

    def _atom(self) -> Fraction:
        token = self._take()
        if token == "(":
            self._depth += 1
            if self._depth > 40:
                raise _TooBig
            value = self._sum()
            if self._take() != ")":
                raise _NoExpression
        elif token and (token[0].isdigit() or token[0] == "."):
            digits = token.replace(",", "")
            if len(digits) > MOST_DIGITS:
                raise _TooBig
            value = Fraction(digits)
        else:
            raise _NoExpression
        if self._peek() == "%":
            self._take()
            value /= 100
        return value


def _bounded(value: Fraction) -> Fraction:
    if value.numerator.bit_length() > 700 or value.denominator.bit_length() > 700:
        raise _TooBig
    return value


def answer(computed: Computed, message: str) -> str:
    """The reply in the message's language."""
    return computed.text(language_of(message))
