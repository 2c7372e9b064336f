"""What a question asks for (a date, an amount, a person, steps …) and whether a text offers that."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from retrieval.text import normalise

Asks = Literal["when", "amount", "who", "where", "how", "why", "command", "other"]

# Counters that may follow 何; what is asked is a number with the same counter.
_COUNTED = re.compile(
    r"何(?:箇)?(年間|年度|年代|年目|か月|ヶ月|カ月|月間|日間|週間|時間|分間|秒間|世紀|年|月|日|曜日|時|分|秒|人|名|個|件|回|台|冊|枚|本|社|校"
    r"|国|州|階|円|万円|億円|ドル|％|%|パーセント|割|倍|歳|才|km|キロ|メートル|センチ|ミリ|m|cm|mm|グラム|kg|トン|gb|mb|文字|種類|機|隻|館|店|駅"
    r"|試合|勝|敗|位|番|点|号|条|章|巻|代|度|桁|拍|曲|作品|部屋|ページ|営業日|泊|食|株|票|戸|棟|基|両|頭|匹|羽|か所|ヶ所|カ所|箇所)"
)
_WHEN_COUNTERS = ("年", "月", "日", "曜", "時", "世紀")

_ASKED: tuple[tuple[Asks, re.Pattern[str]], ...] = (
    (
        "command",
        re.compile(
            r"コマンド(?:は|を|って|教え)|(?:what|which)(?:'s| is)? (?:the )?command|command (?:to|for|do)|コード例"
            r"|サンプルコード|code (?:sample|example)"
        ),
    ),
    (
        "amount",
        re.compile(
            r"いくら|幾ら|いくつ|どれ(?:くらい|ぐらい|だけ|ほど)|どの(?:くらい|ぐらい|程度)|何(?:割|%|％|パーセント)|(?:上限|限度)額"
            r"|(?:金額|料金|費用|値段|価格|人数|件数|日数|回数|個数|割合|面積|高さ|長さ|重さ|身長|体重|距離|人口|速度)(?:は|って|を教)"
            r"|\bhow (?:much|many|long|often|far|tall|old|large|big|high|deep|fast|heavy)\b|\bwhat (?:percent|percentage|number|amount|fraction)\b"
            r"|\bwhat(?:'s| is| was| are) the (?:\w+ )?(?:cost|price|limit|rate|fee|population|height|length|size|number|amount|maximum|minimum)\b"
        ),
    ),
    (
        "when",
        re.compile(
            r"いつ(?!も)|何日まで|何時|何曜|何年|何月|何日|期限|締め?切り?|締切|納期|\bwhen\b|\bwhat (?:time|date|day|year|month|century|decade)\b"
            r"|\b(?:in|on|by|during|of|which|what) (?:what|which) (?:year|month|day|date|century|decade|period|season)\b|\b(?:which|what) year\b|\bdeadline\b|\bdue date\b|\bhow soon\b|\bhow late\b"
        ),
    ),
    (
        "who",
        re.compile(
            r"誰|だれ|どなた|何者|どの(?:人|人物|部署|部門|チーム|担当|会社|団体)|どこの(?:部署|部門|チーム)|担当(?:者|は|って|部署)|承認者|責任者"
            r"|窓口|何という(?:人|人物)|\bwho(?:m|se)?\b|\b(?:which|what) (?:person|team|department|group|people|company|organi[sz]ation)\b"
        ),
    ),
    (
        "where",
        re.compile(
            r"どこ|何処|どちら(?:に|で|へ)|どの(?:場所|部屋|フロア|国|都市|県|ページ|フォルダ|リポジトリ)|(?:場所|申請先|提出先|連絡先|問い?合わ?せ先|送付先|保管先|置き場)"
            r"|\bwhere\b|\b(?:which|what) (?:city|country|place|state|room|location|building|channel|page|folder|url|address|region|continent)\b"
        ),
    ),
    (
        "why",
        re.compile(
            r"なぜ|何故|どうして|なんで|理由|原因|何のため|\bwhy\b|\b(?:what|which) (?:reason|caused?|purpose)\b|\bhow come\b"
        ),
    ),
    (
        "how",
        re.compile(
            r"どう(?:やって|すれ|したら|する|やる|すべ|いう手順|いうふう)|どのように|どんな(?:手順|方法|流れ)|方法|手順|やり方|仕方|申請の?流れ|進め方|使い方"
            r"|\bhow (?:do|does|can|should|could|would|to|is|are|did|was|were|might|must)\b|\bwhat(?:'s| is| are) the (?:\w+ )?(?:steps?|process|procedure|way)\b|\bsteps (?:to|for)\b"
        ),
    ),
)

_KANJI_NUMBER = r"[〇一二三四五六七八九十百千万億兆]+"
_NUMBER = rf"(?:\d[\d,.]*|{_KANJI_NUMBER}|数|半)"
_NUMBER_WORDS = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
    r"|hundreds?|thousands?|millions?|billions?|half|third|quarter|dozens?|once|twice|single|double|daily|weekly|monthly|annually|yearly|several|many|no limit|unlimited|free)"
)
_ANY_NUMBER = re.compile(
    rf"\d|[一二三四五六七八九十百千](?:つ|人|年|月|日|時|分|回|度|個|件|名|万|億|割|倍|部|台|本|世紀|％)|\b{_NUMBER_WORDS}\b"
    r"|半額|半分|半年|半日|無料|無制限|上限なし|なし|毎[日週月年回]|数[日週か年千百十万]|全額|実費"
)
_MOMENT = re.compile(
    r"\d{3,4}年|\d{1,2}月|\d{1,2}日|\d+世紀|\d{1,2}時|\d{1,2}:\d{2}|[一二三四五六七八九十]+(?:年|月|日|世紀|時)|[月火水木金土日]曜|元年|(?:明治|大正|昭和|平成|令和)"
    r"|時代|以内|までに|まで|前日|翌日|当日|月末|月初|年末|年度|期末|毎[日週月年]|営業日|直後|後に|前に|時に|頃"
    r"|\b(?:1\d{3}|20\d{2}|\d{3,4}s|\d{1,2}(?:st|nd|rd|th) century)\b|\b\d{1,2}(?::\d{2})? ?(?:am|pm)\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b|\b(?:within|before|after|until|by the end|prior to|every|each|daily|weekly|monthly|quarterly|annually|days?|weeks?|months?|years?|century|era|period|during)\b"
)
_PERSON = re.compile(
    r"さん|氏|様|[部課係室](?:が|は|に|の|へ|で|、|。|$)|チーム|担当|窓口|責任者|管理者|マネージャ|上長|上司|人事|総務|経理|法務|情シス|ヘルプデスク|委員会|会社|協会|[一-龯]{2,4}(?:は|が|により|によって)|[ァ-ヴー]{3,}・[ァ-ヴー]{2,}|@"
)
_PLACE = re.compile(
    r"[都道府県市区町村州国島駅港山川湖寺社城館](?:に|で|の|へ|から|を|、|。|$)|ページ|フォーム|ポータル|サイト|フォルダ|チャンネル|リポジトリ|ドライブ|[0-9一二三四五六七八九十]+階|会議室|フロア|https?:|@|#|北|南|東|西|付近"
)
_STEPS = re.compile(
    r"してください|します|ください|から申請|を開|クリック|選択|入力|送信|提出|連絡|により|によって|ことで|方法|手順|まず|次に|を使|を用い"
    r"|\b(?:click|select|open|go to|submit|fill|send|ask|contact|use|run|install|enter|request|by \w+ing|first|then|next|steps?|must|should|need to|through|via|using)\b"
)
_REASON = re.compile(
    r"ため|ので|から|理由|原因|により|によって|によ(?:る|り)|おかげ|せい|背景|契機|\b(?:because|since|due to|as a result|so that|in order to|reasons?|caused?|led to|therefore|thus|owing to|to (?:avoid|ensure|prevent|protect|keep|make))\b"
)
_CAPITALISED = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'’-]+")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's kinds, most telling first, and the counter of 何… when it has one."""

    kinds: tuple[Asks, ...]
    counter: str = ""

    def __contains__(self, kind: Asks) -> bool:
        return kind in self.kinds


def asked(question: str) -> Asked:
    """What `question` asks for; `other` when no word of it says so."""
    text = normalise(question)
    counted = _COUNTED.search(text)
    counter = counted.group(1) if counted else ""
    kinds: list[Asks] = [kind for kind, pattern in _ASKED if pattern.search(text)]
    if counter:
        first: Asks = (
            "when" if counter.startswith(_WHEN_COUNTERS) and counter not in ("年間", "日間", "時間") else "amount"
        )
        kinds = [first, *(kind for kind in kinds if kind != first)]
    return Asked(tuple(kinds) or ("other",), counter)


def offers(text: str, question: Asked) -> float:
    """How far `text` has the form of an answer to `question`: 0 (not at all) to 1; ½ when the question says nothing."""
    plain = normalise(text)
    if question.counter:
        unit = re.escape(question.counter.removesuffix("間")) if question.counter != "曜日" else "曜"
        if re.search(rf"{_NUMBER}\s*(?:{unit})" if unit != "曜" else r"[月火水木金土日]曜", plain):
            return 1.0
    kind = question.kinds[0]
    if kind == "other":
        return 0.5
    return 1.0 if _OFFERED[kind](plain, text) else 0.0


def has_number(text: str) -> bool:
    """Whether any amount at all is named, in digits or words of either language."""
    return bool(_ANY_NUMBER.search(normalise(text)))


_OFFERED: dict[Asks, Callable[[str, str], bool]] = {
    "when": lambda plain, _: bool(_MOMENT.search(plain)),
    "amount": lambda plain, _: bool(_ANY_NUMBER.search(plain)),
    "who": lambda plain, text: bool(_PERSON.search(plain) or _CAPITALISED.search(text)),
    "where": lambda plain, text: bool(_PLACE.search(plain) or _CAPITALISED.search(text)),
    "why": lambda plain, _: bool(_REASON.search(plain)),
    "how": lambda plain, _: bool(_STEPS.search(plain)),
    "command": lambda plain, text: "`" in text,
}
