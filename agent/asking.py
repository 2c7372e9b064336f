"""What a question asks for (a date, an amount, a person, an address, steps, yes or no …) and whether a text offers that."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agent.counting import COUNTED, COUNTED_EN, LASTING, NUMBER_WORDS, counted, same_dimension
from retrieval.text import language_of, normalise

Asks = Literal[
    "when",
    "amount",
    "who",
    "where",
    "how",
    "why",
    "command",
    "email",
    "phone",
    "code",
    "name",
    "what",
    "whether",
    "exists",
    "other",
]

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
        "email",
        re.compile(
            r"メール(?:アドレス|アドレスは|の?宛先|先)|(?:宛先|送り先|連絡先)の?メール|\be-?mail address|\bwho(?:m)? (?:do|should|can|must) (?:i|we|you) e-?mail\b"
            r"|\b(?:what|which) (?:e-?mail|mail|mailbox)\b|\bwhere (?:do|should|can) (?:i|we) e-?mail\b|\be-?mail (?:for|of)\b"
        ),
    ),
    (
        "phone",
        re.compile(
            r"電話番号|内線(?:番号|は|って)|何番に(?:電話|かけ)|\b(?:tele)?phone (?:number|extension)|\bextension (?:number|of|for|do|should)"
            r"|\b(?:what|which) (?:number|extension) (?:do|should|can|must|to)\b|\bnumber (?:to call|do i call)|\bwhat(?:'s| is) the (?:number|hotline|extension) (?:for|of)\b"
        ),
    ),
    (
        "code",
        re.compile(
            r"(?<!バー)(?<!エラー)(?<!ソース)(?<!サンプル)コード(?:は|って|を教|番号)|\b(?:what|which) (?:[\w-]+ ){0,3}(?:code|identifier|id)\b(?! of conduct)|\bwhat(?:'s| is) the (?:[\w-]+ ){0,3}code\b(?! of conduct)"
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
            r"いつ(?!も)|何日まで|何時|何曜|\bday of the week\b|何年|何月|何日|期限|締め?切り?|締切|納期|\bwhen\b|\bwhat (?:time|date|day|year|month|century|decade)\b"
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
        "name",
        re.compile(
            r"(?:何|なに|どれ|どちら|どの[ぁ-んァ-ヶー一-龯]{1,12})を(?:(?:使(?!って[^いまみよ])|利用|選)|入れれば)|どの(?:ツール|ソフト|アプリ|サービス|システム|製品|ブラウザ|形式|プラン)|おすすめ|推奨"
            r"|\b(?:which|what) (?:[\w-]+ ){1,4}?(?:(?:are|is|am|do|does|should|shall|must|can|would|will) (?:we|i|you|one|everybody|everyone|people|it|the)\b(?: \w+)*? ?(?:use|using|pick|choose|install|buy|get|run|supposed|recommended?|allowed|expected)|(?:to use|is recommended|are recommended))"
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

_WHETHER_JA = re.compile(
    r"(?:ます|です|でしょう|ません|いい|よい|良い|可能|必要|大丈夫|ある|ない|る|た|もの|な?の|って)(?:の|ん)?(?:です|でしょう)?か?[？?。\s]*$"
)
_INTERROGATIVE = re.compile(
    r"いつ|どこ|誰|だれ|どなた|何|なに|なぜ|どう|どの|どれ|どちら|どんな|いくら|いくつ|[はを](?:教え|[？?。\s]*$)"
)
_WHETHER_EN = re.compile(
    r"(?:^|[,;:] )(?:is|are|am|was|were|do|does|did|can|could|should|shall|will|would|may|must|has|have)(?:n't)? (?:it|there|i|we|you|they|he|she|the|an?|my|our|your|this|that|these|any\w*|every\w*|\w+s?)\b"
)
_OPENS_ASKING = re.compile(r"\b(?:who|whom|whose|what|when|where|why|which|how)\b")
_WHAT = (
    re.compile(
        r"^(?P<of>.{1,30}?)(?:とは|って(?:いうのは)?|は)(?:そもそも|一体|いったい)?(?:何|なに|なん|どういう(?:意味|もの)|どんな(?:もの|ツール|サービス|仕組み))"
    ),
    re.compile(r"^(?P<of>.{1,30}?)(?:とは|って)[？?。\s]*$"),
    re.compile(r"\bwhat(?:'s| is| are) (?:an? |the |our )?(?P<of>[\w./&+-]+(?: [\w./&+-]+){0,2})[?.!\s]*$"),
    re.compile(r"\bwhat does (?:the )?(?P<of>[\w./&+ -]{1,30}?) (?:mean|stand for|do)[?.!\s]*$"),
)

_ANY_NUMBER = re.compile(
    rf"\d|[一二三四五六七八九十百千](?:つ|人|年|月|日|時|分|回|度|個|件|名|万|億|割|倍|部|台|本|世紀|％)|\b{NUMBER_WORDS}\b"
    r"|半額|半分|半年|半日|無料|無制限|上限なし|なし|毎[日週月年回]|数[日週か年千百十万]|全額|実費"
)
_MOMENT = re.compile(
    r"\d{3,4}年|\d{1,2}月|\d{1,2}日|\d+世紀|\d{1,2}時|\d{1,2}:\d{2}|[一二三四五六七八九十]+(?:年|月|日|世紀|時)|[月火水木金土日]曜|元年|(?:明治|大正|昭和|平成|令和)"
    r"|時代|以内|までに|まで|前日|翌日|当日|月末|月初|年末|年度|期末|毎[日週月年]|営業日|直後|後に|前に|時に|頃"
    r"|\b(?:1\d{3}|20\d{2}|\d{3,4}s|\d{1,2}(?:st|nd|rd|th) century)\b|\b\d{1,2}(?::\d{2})? ?(?:am|pm)\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b|\b(?:within|before|after|until|by the end|prior to|every|each|daily|weekly|monthly|quarterly|annually|days?|weeks?|months?|years?|century|era|period|during)\b"
)
_YES_NO = re.compile(
    r"でき(?:ます|ません|る|ない)|可能|不可|禁止|必要|不要|許可|認め|あり(?:ます|ません)|[一-龯ぁ-ん]ことは(?:ない|ありません)|してください|しないでください|なければなりません|対象|はい|いいえ"
    r"|[ぁ-ん](?:なら|れば)|かまいません|構いません|使え(?:ます|ません)|もらえ|受け取れ|ません|[^ら]れ(?:ます|ません)"
    r"|\b(?:can(?:not|'t)?|may|must(?:n't)?|should(?:n't)?|(?:do|does|is|are|was|were|did)(?: not|n't)|not|never|no|yes|allowed|permitted|forbidden|prohibited|required|eligible|available|optional|only|always|all|any|every|is|are|leave|do)\b"
)
_ASKS_EXISTENCE = re.compile(
    r"^(?!.*(?:いつ|どこ|誰|だれ|どなた|何|なに|なぜ|どう|どの|どれ|どちら|どんな|いくら|いくつ)).*(?:って|は|が|とか)?(?:あり|存在し)ます(?:でしょう)?か?[？?。\s]*$|^(?:is|are) there\b|\bdo (?:we|you) have\b"
)
_EXISTENCE = re.compile(
    r"あり(?:ます|ません)|ない|なし|存在|設け|用意|定め|\b(?:there (?:is|are|was)|no|not|none|have|has|offers?|provides?|available|includes?)\b"
)
_DENIES = re.compile(r"ません|ない|不要|不可|禁止|なし|\b(?:not|never|no|cannot|forbidden|prohibited)\b|n't\b")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(
    r"\(\d{2,4}\)\s*\d{2,4}-\d{3,4}|\b\d{2,4}-\d{2,4}(?:-\d{3,4})?\b|\+\d{1,3}[\s-]\d|(?:内線|ext(?:ension|\.)?|番号)\D{0,8}\d{3,6}"
)
_CODE = re.compile(
    r"(?:コード|番号|\bcode|\bidentifier|\bid\b)[^\w.。(（]{0,4}(?:[:：は=]|\bis\b)\s*[\w`「“\"]|\b[a-z]+[-_]?\d+\b|`[^`]+`"
)
_RECOMMENDS = re.compile(
    r"推奨|お使い|使って(?:くだ|います)|利用してくだ|使用してくだ|使います|採用|指定|標準|おすすめ|\b(?:recommend\w*|preferred|standard is|official|approved|(?:we|please|must|should|always|employees|everybody|everyone|teams?) use\b|use (?:the|our) )|^use\b"
)
_USES = re.compile(
    r"使[うえっいわ]|使用|利用|選[びんぶ択]|\b(?:use[sd]?|using|choose|install\w*|support\w*|comes? with|provide[sd]?|get)\b"
)
_NAMED = re.compile(r"「[^」]{2,20}」|(?<![A-Za-z])[A-Z][A-Za-z]*[A-Z0-9]\w*|[ァ-ヴー]{3,}")
_HOW_LONG = re.compile(
    r"^(?!.*(?:費用|料金|金額|コスト|いくら)).*(?:どれ|どの)(?:くらい|ぐらい|ほど)(?:の(?:時間|期間|日数))?[でがは]?かか|所要時間|\bhow long (?:do|does|did|is it|will|should|must|can|before|after|until|have|has)\b"
)
_SPAN = re.compile(
    r"何[日年時]間?(?:も|くらい|ぐらい|ほど)?(?:[^月]{0,6})(?:もらえ|取れ|取得|休め|かか|保管|保存|残|ある|あり|以内|前|後に|まで(?:に)?(?:借|繰)|続|有効|借り|繰り越|使え|つ[きく]|付)"
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
    """A question's kinds, most telling first, the counter of 何… or "how many …" when it has one, and what "X" is in
    "what is X?"."""

    kinds: tuple[Asks, ...]
    counter: str = ""
    subject: str = ""

    def __contains__(self, kind: Asks) -> bool:
        return kind in self.kinds


def asked(question: str) -> Asked:
    """What `question` asks for; `other` when no word of it says so."""
    text = normalise(question)
    found_counter = COUNTED.search(text) or COUNTED_EN.search(text)
    counter = found_counter.group(1) if found_counter else LASTING if _HOW_LONG.search(text) else ""
    kinds: list[Asks] = [kind for kind, pattern in _ASKED if pattern.search(text)]
    if counter:
        first: Asks = (
            "when"
            if counter.startswith(_WHEN_COUNTERS) and counter not in ("年間", "日間", "時間") and not _SPAN.search(text)
            else "amount"
        )
        kinds = [first, *(kind for kind in kinds if kind != first)]
    if not kinds and exists(text):
        return Asked(("exists",), counter)
    subject = next((found.group("of").strip() for pattern in _WHAT if (found := pattern.search(text))), "")
    if not kinds and subject:
        kinds = ["what"]
    if not kinds and _whether(text):
        kinds = ["whether"]
    return Asked(tuple(kinds) or ("other",), counter, subject if kinds == ["what"] else "")


def _whether(text: str) -> bool:
    if language_of(text) == "ja":
        return bool(_WHETHER_JA.search(text)) and not _INTERROGATIVE.search(text)
    return bool(_WHETHER_EN.search(text)) and not _OPENS_ASKING.match(text)


def offers(text: str, question: Asked) -> float:
    """How far `text` has the form of an answer to `question`: 0 (not at all) to 1; ½ when the question says nothing."""
    plain = normalise(text)
    if question.counter and counted(plain, question.counter):
        return 1.0
    kind = question.kinds[0]
    if kind == "other":
        return 0.5
    if kind == "what":
        return 1.0 if _defines(plain, question.subject) else 0.0
    if not _OFFERED[kind](plain, text):
        return 0.0
    if kind == "name":  # a name that is recommended, that is used, that is only mentioned
        return 1.0 if _RECOMMENDS.search(plain) else 0.5 if _USES.search(plain) else 0.2
    return 1.0


def measures(text: str, question: Asked) -> bool:
    """Whether `text` names an amount of the asked dimension: any length of time for "how many days", else the unit."""
    same = same_dimension(text, question.counter)
    return has_number(text) if same is None else same


def exists(question: str) -> bool:
    """Whether `question` asks if there is something at all."""
    return bool(_ASKS_EXISTENCE.search(normalise(question)))


def states(text: str, question: Asked) -> bool:
    """Whether `text` holds what cannot be put otherwise: the address or the number that was asked for by that name."""
    if question.kinds[0] in ("email", "phone"):
        return bool(_OFFERED[question.kinds[0]](normalise(text), text))
    return True


def denied(text: str) -> bool:
    """Whether `text` says that something is not so."""
    return bool(_DENIES.search(normalise(text)))


def _defines(plain: str, subject: str) -> bool:
    name = re.escape(subject) + r"(?:\s?[(（][^)）]{1,40}[)）])?"
    return bool(
        re.search(rf"{name}\s?(?:とは|は|って)[、]?.*(?:です|である|だ|もの|こと|ます|仕組み|指す|意味)", plain)
        or re.search(rf"\b{name}s? (?:is|are|was|means|refers|stands|provides|lets|allows|helps)\b", plain)
        or re.search(rf"^\W*{name}\W{{0,4}}[:：–—-]", plain)
    )


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
    "email": lambda plain, _: bool(_EMAIL.search(plain)),
    "phone": lambda plain, _: bool(_PHONE.search(plain)),
    "code": lambda plain, _: bool(_CODE.search(plain)),
    "name": lambda plain, text: bool(_CAPITALISED.search(text) or _NAMED.search(text)),
    "exists": lambda plain, _: bool(_EXISTENCE.search(plain)),
    "whether": lambda plain, _: bool(_YES_NO.search(plain)),
}
