"""Numbers that are written in words, rewritten in digits: 漢数字, 元号 and English number words.

Whole passages are read, and most have none of a form. So each is looked for by a sign that it does not do without, or
begins with the characters that it may begin with (what must stand before them comes behind): `re` skips to those, but
tries a form that begins with a look behind it, or that has no case, at every character.
"""

import re

_DIGITS = {"〇": 0, "零": 0, "一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_TENS = {"十": 10, "百": 100, "千": 1000}
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867, "R": 2018, "H": 1988, "S": 1925}

_KANJI = "〇零一二三四五六七八九十百千"
_COUNTER = (
    r"年|月|日|時(?!的|期|点|停|代)|分(?!に|な|の[^の一二三四五六七八九十\d])|秒|円|人|名|件|個|回|週|[かヶカヵ箇ケ][月所]|歳|%|パーセント|割|倍|階|条|項|章|号"
    r"|台|本|枚|冊|社|営業日|時間|世紀|段階|桁|文字|種類|万|億|兆|つ|等|級|部屋|席|泊|ドル|ユーロ|メートル|キロ|ギガ"
)
_LONGEST = 30  # digits: nobody states a longer number
_MORE = _LONGEST - 1
_KANJI_NUMBER = re.compile(
    rf"[{_KANJI}](?:(?<=第.)[{_KANJI}]{{0,{_MORE}}}"
    rf"|(?<![\u4e00-\u9fff\d].)(?!(?<=一)[人名件個回台枚本冊社つ])[{_KANJI}]{{0,{_MORE}}}(?={_COUNTER})"
    rf"|(?<=[月年約計各毎週限大小高低均和成正治].)[{_KANJI}]{{0,{_MORE}}}(?={_COUNTER})"
    rf"|(?<![{_KANJI}\d].)[{_KANJI}]{{1,{_MORE}}}(?={_COUNTER}))"
)
_ANY_KANJI_NUMBER = re.compile(
    rf"[{_KANJI}](?:(?<![{_KANJI}\d].)[{_KANJI}]{{0,{_MORE}}}(?={_COUNTER})|[{_KANJI}]{{1,{_MORE}}})"
)
_IDIOM = re.compile(
    r"十(?<![一二三四五六七八九〇]十)分(?!間|前|後|以|程|ほど|おき|ごと|経)|一時(?!間|から|に|まで|半|頃|ごろ)|一人一人|一日中|一本化|一元(?!年)|第三者|第一[線歩印人]|第二新卒|千葉|三重県?|四国|九州|万一|一部|一月当"
)
_ERA = re.compile(
    r"(?P<era>令和|平成|昭和|大正|明治)(?P<n>\d{1,2}|元)年|(?<![A-Za-z0-9])(?P<letter>[RHS])(?P<m>\d{1,2})(?=年|[./]\d)"
)
_OF_ERAS = re.compile(r"年|[RHS](?=\d)")
_FISCAL = re.compile(r"\bFY\s?'?(?P<n>20\d{2}|\d{2})\b", re.I)

_PHRASES = tuple(
    (re.compile(phrase, re.I), digits)
    for phrase, digits in (
        (r"(?<![\d.])半年間?", "6か月"),
        (r"(\d)時間半", r"\1時間30分"),
        (r"(\d)[年歳]半", r"\1年6か月"),
        (r"(\d)[かヶカヵ箇ケ個]月半", r"\1.5か月"),
        (r"\bhalf an hour\b", "30 minutes"),
        (r"\btwice\b", "2 times"),
        (r"(\d)度(\d)分", r"\1.\2°C"),
        (r"\b24/7(?:/365)?\b|24時間365日|\b(?:a?round) the clock\b", "24 hours"),
        (r"\b(?:a\s)?dozen\b", "12"),
    )
)

_OF_PHRASES = ("半", "half", "twice", "dozen", "度", "24", "clock")

_PARTS = {"third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "tenth": 10}
_FRACTION = re.compile(  # "a quarter" alone may be three months, and of an hour it is 15 minutes
    r"\b(?:(?P<n>two|three|four)[\s-](?P<of>third|quarter|fourth|fifth|tenth)s|one-(?P<one>third|quarter|fourth|fifth|tenth)"
    r"|(?:an?|one)\s(?P<a>third|quarter|fourth|fifth|tenth)(?=\sof\b))\b(?!\sof\san?\s(?:hour|year|century)\b)"
    r"|(?<!\d)(?P<d>\d{1,2}|[二三四五六七八九十])分の(?P<m>\d{1,2}|[一二三四五六七八九])(?![\d回人名件個本日時分秒])",
    re.I,
)

_SMALL_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_DECADE_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL = {word: n for n, word in enumerate(_SMALL_WORDS.split())}
_DECADES = {word: n * 10 for n, word in enumerate(_DECADE_WORDS.split(), start=2)}
_WORD = "|".join([*_SMALL, *_DECADES, "hundred", "thousand"])
_OF_WORDS = re.compile(rf"\b(?=[efhnostz])(?:{_WORD})")  # in small letters
_WORDS = re.compile(rf"\b(?:a\s(?=hundred|thousand))?(?:{_WORD})(?:(?:[\s-]|\sand\s)(?:{_WORD}))*\b", re.I)
_MEASURED = re.compile(
    r"[\s-](?:(?:business|working|calendar|full)\s)?(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|percent|million|billion|dollars?|yen)\b",
    re.I,
)
_COUNTS = re.compile(
    r"[\s-](?!of\b|or\b|and\b|to\b|is\b|are\b|that\b|who\b|which\b|another\b|by\b|for\b|in\b|on\b|at\b|with\b|can\b|must\b)[a-z]",
    re.I,
)
_LISTED = re.compile(
    r"\s(?:\w+\s)?(?:ways?|options?|steps?|types?|kinds?|things?|parts?|methods?|reasons?|cases?|sources?|documents?|passages?"
    r"|conditions?|requirements?|items?|points?|places?|categories|rules?|examples?|main|different|key|approaches|pages?|policies|articles|entries|versions|of)\b",
    re.I,
)
_THESE = re.compile(r"\b(?:the|these|those) \w+(?=[.,;:)!?]|$)", re.I)  # "the newer of the two"
_LISTED_JA = re.compile(
    r"(?:以下|次|下記)の?(?P<n>[0-9一二三四五六七八九十]+)(?:つ|点|種類|段階|項目|ステップ|パターン|通り)"
)


def arabic(text: str, *, claim: bool) -> str:
    """`text` (already NFKC) with number words in digits and eras in years of our era.

    A claim's own counting ("there are three ways", 「次の2つ」) states nothing about the passage and is left out.
    """
    if claim:
        text = _LISTED_JA.sub("以下", text)
    if any(c in text for c in _KANJI):
        text = _IDIOM.sub(lambda m: "＿" * len(m.group()), text)
        text = _KANJI_NUMBER.sub(lambda m: str(_kanji(m.group())), text)
        if not claim:
            text = _ANY_KANJI_NUMBER.sub(lambda m: str(_kanji(m.group())), text)
    lower = text.lower()
    if _OF_ERAS.search(text):
        text = _ERA.sub(_year, text)
    if "fy" in lower:
        text = _FISCAL.sub(lambda m: f"{m['n'] if len(m['n']) == 4 else '20' + m['n']}年", text)
    if "分の" in text or any(part in lower for part in _PARTS):
        text = _FRACTION.sub(_percent, text)
    if any(sign in lower for sign in _OF_PHRASES):
        for phrase, digits in _PHRASES:
            text = phrase.sub(digits, text)
    return _WORDS.sub(lambda m: _english(m, text, claim), text) if _OF_WORDS.search(text.lower()) else text


def _kanji(numeral: str) -> int:
    if not any(c in _TENS for c in numeral):
        return int("".join(str(_DIGITS[c]) for c in numeral))
    total, digit = 0, 0
    for c in numeral:
        if c in _TENS:
            total += (digit or 1) * _TENS[c]
            digit = 0
        else:
            digit = digit * 10 + _DIGITS[c]
    return total + digit


def _year(match: re.Match[str]) -> str:
    if match["era"]:
        n = 1 if match["n"] == "元" else int(match["n"])
        return f"{_ERAS[match['era']] + n}年"
    return str(_ERAS[match["letter"]] + int(match["m"]))


def _percent(match: re.Match[str]) -> str:
    """A fraction in hundredths, rounded; one of nothing as it stands."""
    if match["d"]:
        whole, part = (int(each) if each.isdigit() else _kanji(each) for each in (match["d"], match["m"]))
    else:
        whole = _PARTS[(match["of"] or match["one"] or match["a"]).lower()]
        part = _SMALL[(match["n"] or "one").lower()]
    return f"{round(100 * part / whole)}%" if whole else match.group()


def _english(match: re.Match[str], text: str, claim: bool) -> str:
    words = re.split(r"[\s-]+", match.group().lower())
    if words == ["one"] and not (_MEASURED if claim else _COUNTS).match(text, match.end()):
        return match.group()  # "one of them", "the new one"
    if (
        claim
        and len(words) == 1
        and (_LISTED.match(text, match.end()) or _THESE.search(text[max(0, match.start() - 6) : match.end() + 1]))
    ):
        return match.group()
    found: list[int] = []
    total = current = 0
    room = 0  # what may follow is less than this: after "twenty" 10, after "one" nothing
    for word in words:
        number = _SMALL.get(word, _DECADES.get(word))
        if number is not None:
            if current and number >= room:  # "one three times" is two numbers
                found.append(total + current)
                total = current = 0
            current, room = current + number, 10 if word in _DECADES else 0
        elif word == "hundred":
            current, room = (current or 1) * 100, 100
        elif word == "thousand":
            total, current = (total + (current or 1)) * 1000, 0
    return " ".join(map(str, [*found, total + current]))
