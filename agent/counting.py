"""Numbers with their units in both languages: "how many days" is answered by 三日 as well as by "three weeks"."""

import re

from retrieval.text import normalise

# Counters that may follow 何; what is asked is a number with the same counter.
COUNTED = re.compile(
    r"何(?:箇)?(年間|年度|年代|年目|か月|ヶ月|カ月|月間|日間|週間|時間|分間|秒間|世紀|年|月|日|曜日|時|分|秒|人|名|個|件|回|台|冊|枚|本|社|校"
    r"|国|州|階|円|万円|億円|ドル|％|%|パーセント|割|倍|歳|才|km|キロ|メートル|センチ|ミリ|m|cm|mm|グラム|kg|トン|gb|mb|文字|種類|機|隻|館|店|駅"
    r"|試合|勝|敗|位|番|点|号|条|章|巻|代|度|桁|拍|曲|作品|部屋|ページ|営業日|泊|食|株|票|戸|棟|基|両|頭|匹|羽|か所|ヶ所|カ所|箇所)"
)
_KANJI_NUMBER = r"[〇一二三四五六七八九十百千万億兆]+"
_NUMBER = rf"(?:\d[\d,.]*|{_KANJI_NUMBER}|数|半)"
NUMBER_WORDS = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
    r"|hundreds?|thousands?|millions?|billions?|half|third|quarter|dozens?|once(?! (?:you|the|it|your|we|they|a|an|is|are|this|that|i|he|she|all|on)\b)|twice|single|double|daily|weekly|monthly|annually|yearly|several|many|no limit|unlimited|free)"
)
_UNITS: dict[str, str] = {
    "秒": "seconds?", "分": "minutes?|mins?", "時": "hours?|hrs?|o'clock", "時間": "hours?|hrs?", "日": "(?:calendar |business |working )?days?",
    "営業日": "(?:business |working )?days?", "週": "weeks?", "月": "months?", "か月": "months?", "ヶ月": "months?", "カ月": "months?",
    "年": "years?", "円": "yen|jpy", "ドル": "dollars?|usd", "%": "%|percent", "パーセント": "%|percent", "割": "%|percent",
    "人": "people|persons?|employees|members|participants", "名": "people|persons?|employees|members|participants", "回": "times?|once|twice",
    "文字": "characters?", "歳": "years? old|years? of age", "ページ": "pages?", "台": "units?|devices?|machines?",
}  # fmt: skip
_LASTING = frozenset(["秒", "分", "時", "時間", "日", "営業日", "週", "月", "か月", "ヶ月", "カ月", "年"])
COUNTED_EN = re.compile(
    r"\bhow many (?:\w+ )??(seconds|minutes|hours|(?:calendar |business |working )?days|weeks|months|years|characters|times|people|dollars|yen|percent)\b"
)
LASTING = "lasting"  # the counter of "how long": any unit of time


def counted(plain: str, counter: str) -> bool:
    """Whether a number stands with the counter, in either language."""
    if counter == LASTING:
        return any(counted(plain, each) for each in _LASTING)
    if counter == "曜日":
        return bool(re.search(r"[月火水木金土日]曜|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b", plain))
    if (counter.isascii() and counter.isalpha()) or " " in counter:
        unit = re.escape(counter.rsplit(" ", 1)[-1].removesuffix("s"))
        japanese = [ja for ja, english in _UNITS.items() if re.fullmatch(english, counter)]
    else:
        short = counter.removesuffix("間") if counter != "時間" else counter
        japanese = [short]
        unit = _UNITS.get(short, "")
    if any(re.search(rf"{_NUMBER}\s*(?:か|ヶ|カ)?{re.escape(each)}", plain) for each in japanese):
        return True
    return bool(unit) and bool(re.search(rf"(?:\d[\d,.]*|\b{NUMBER_WORDS})[\s-]*(?:{unit})", plain))


def same_dimension(text: str, counter: str) -> bool | None:
    """Whether `text` names an amount in the counter's dimension: any length of time for days. None: unknown counter."""
    short = counter.removesuffix("間") if counter != "時間" else counter
    plain = normalise(text)
    if short == LASTING:
        return counted(plain, short)
    if not short or (short not in _UNITS and not short.isascii()):
        return None
    lasting = short in _LASTING or any(short in ja or re.fullmatch(_UNITS[ja], short) for ja in _LASTING)
    return any(counted(plain, each) for each in (_LASTING if lasting else (short,)))
