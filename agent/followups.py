"""What "it" is: makes a follow-up question stand on its own by what was asked before it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.queries import INTERROGATIVE_EN, INTERROGATIVE_JA, QUESTION_EN, QUESTION_JA, keywords, stripped
from retrieval.text import language_of, normalise

Tokenise = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Part:
    """One question to answer: `said` as it was put, `query` standing on its own and without courtesy.

    `topic` is what of it came from before.
    """

    said: str
    query: str
    topic: str = ""


_POINTS_JA = re.compile(
    r"(?:^|[、。\s]|は|が|を|に|で|と|も|って|では|じゃあ?|また|なお)(?:それ(?!では|ぞれ|で、|なら、|と、|とも|から、|以外)|その(?!他)|これ(?!から|まで)|この|あれ|あの(?![うー、])|そこ|そちら|こちら|同じ(?:く|もの)|前者|後者|上記|先ほど|さっき)"
)
_POINTS_EN = re.compile(
    r"\b(?:it|its|it's|that(?! (?:is|are|we|the|i|you|they|a|can|was|need|have|has|should|must)\b)|this(?! (?:year|month|week|quarter|morning|afternoon|friday|monday|tuesday|wednesday|thursday|summer|winter)\b)|they|them|their|those|these|he|she|him|her|the same|the former|the latter|that one)\b"
    r"|\bthere\b(?! (?:is|are|was|were|a|an|any|be|will)\b)(?<!is there)(?<!are there)"
)
_INSTEAD_JA = re.compile(
    r"^(?:(?:では|じゃあ?|それなら|なら|それじゃ|で)[、,\s]*)?(.{1,24}?)(?:の(?:場合|とき|時|ほう|方)(?:は|だと)?|(?:だと|だったら|なら)(?:どう)?|については|に関しては|は(?:どう|いかが)?)(?:(?:です|でしょう|なり|なります|なの|かな)か?)?[?？。\s]*$"
)
_INSTEAD_EN = re.compile(
    r"^(?:and |but |ok(?:ay)?,? |so |then )*(?:what about|how about|and for|and what about|what of|same for|and|or|what if it(?:'s| is))\s+(.{1,60}?)(?: then| instead| too)?[?.!\s]*$",
    re.IGNORECASE,
)
_OPENS_LIKE_MORE = re.compile(
    r"^(?:and|also|then|but|what else|anything else|more|how so|why(?: is that| not)?\?*$|since when|until when|by when|他に|ほかに|もっと|詳しく|具体的|なぜ(?:です|でしょう)?か?[?？]?$|例えば|じゃあ|では|あと|また)",
    re.IGNORECASE,
)
# What a question may be about of something else: alone they name no topic. Ja forms are matched at the end of a phrase.
ASPECT_JA = r"(?:期限|締め?切り?|締切|期日|納期|期間|日程|時期|時間|営業時間|開始日|終了日|申請先|提出先|連絡先|問い?合わ?せ先|送付先|送り先|返却先|窓口|担当(?:者|部署)?|責任者|承認者|管理者|申請(?:方法|期限|手順|書|フォーム)?|手続き?|手順|方法|やり方|仕方|流れ|ルール|条件|対象(?:者|外)?|資格|例外|上限(?:額)?|限度額|下限|金額|費用|料金|価格|値段|単価|日数|人数|回数|件数|個数|割合|場所|住所|置き場|保管場所|保管期間|番号|内線|電話番号|メールアドレス|url|リンク|ページ|フォーム|書式|必要(?:書類|なもの)|持ち物|理由|目的|原因|対処法?|対応(?:方法)?|解決策|設定(?:方法|値)?|使い方|名前|名称|種類|一覧|内容|詳細|違い|頻度|注意点|罰則|支払日|支給日|締め日|サイズ|容量|バージョン|更新(?:方法|頻度)?|変更方法|解約方法|返却方法|交換方法|予約方法|登録方法|確認方法|[一-龯ァ-ヴー]{1,4}(?:先|額|方法|期限|手順|場所|期間))"
ASPECT_EN = r"(?:deadline|due date|limit|maximum|minimum|cap|cost|price|fee|rate|amount|budget|contact|owner|address|location|place|phone(?: number)?|number|email|link|url|form|process|procedure|steps?|policy|rules?|requirements?|eligibility|exceptions?|reason|schedule|date|time|hours|duration|period|frequency|approver|manager|name|size|length|password|version|status|format|template|penalty|contact person|person in charge)"


# "a change … before it is merged": the pronoun stands for what its own sentence has named.
_BOUND_EN = re.compile(
    rf"(\b(?:an?|the|my|our|your|each|every|any)\s+(?!(?:\w+\s+){{0,2}}{ASPECT_EN}s?\b)\w[^.?!\n]{{0,120}}?"
    r"(?:,|\b(?:before|after|when|until|once|if|because|while|as|unless|and|but|or|so)\b)[^.?!\n]{0,60}?)\b(?:it|its|it's|they|them|their)\b"
)


@dataclass(frozen=True, slots=True)
class Context:
    """What the conversation is about, and the last question as a query."""

    topic: str
    query: str


def resolved(text: str, context: Context | None, tokenise: Tokenise, *, within: bool) -> Part | None:
    """`text` as a question that stands on its own; None when it points at something that `context` does not name.

    `within`: the context is the same message's question before it.
    """
    query = stripped(text)
    content = _content(query, tokenise)
    points = points_back(text)
    if context:
        instead = _instead(text)
        own = instead or _without_pointers(query)
        if instead and not _overlaps(own, context.topic, tokenise):
            # "What about contractors?" asks the same question again, of something else.
            asked = f"{own} {context.query}"
            return Part(text, asked, context.topic)
        continues = bool(_OPENS_LIKE_MORE.match(normalise(text).strip())) and len(content) <= 3
        if points or not content or _names_no_topic(query) or continues or (within and len(content) <= 1):
            if _overlaps(own, context.topic, tokenise):
                return Part(text, own)
            return Part(text, f"{context.topic} {own}".strip(), context.topic)
    if points and not _content(_without_pointers(query), tokenise):
        return None
    return Part(text, query) if content else None


def points_back(text: str) -> bool:
    """Whether a word of `text` stands for something named earlier."""
    plain = normalise(text)
    if language_of(text) == "ja":
        return bool(_POINTS_JA.search(plain))
    inner = re.sub(
        r"\b(?:is|does|will|if|whether|when|how long does|what does|was|can|could|so|make|makes|think)\s+it\s+(?:possible|okay|ok|allowed|true|take|mean|necessary|required|safe|rain|likely|important|worth)\b",
        "",
        plain,
    )
    return bool(_POINTS_EN.search(_BOUND_EN.sub(r"\1", inner)))


def _instead(text: str) -> str:
    """What is put in the place of the earlier topic: "what about contractors?" → contractors."""
    plain = text.strip()
    if language_of(plain) != "ja":
        match = _INSTEAD_EN.match(plain)
        return match.group(1).strip() if match and not INTERROGATIVE_EN.match(match.group(1)) else ""
    match = _INSTEAD_JA.match(plain)
    if not match or _POINTS_JA.search(normalise(match.group(1))) or INTERROGATIVE_JA.search(match.group(1)):
        return ""
    marked = re.match(r"^(?:では|じゃあ?|それなら|なら|それじゃ|で)[、,\s]*", plain) or re.search(
        r"の(?:場合|とき|時)|だと|だったら|はどう|はいかが", plain
    )
    return match.group(1).strip() if marked else ""


def topic_of(part: Part, text: str, tokenise: Tokenise) -> str:
    """What a part is about without what it asks of it; a follow-up about an aspect stays with its topic."""
    if part.topic and (_names_no_topic(stripped(text)) or not _content(stripped(text), tokenise)):
        return part.topic
    if part.topic:
        own = _subject(_without_pointers(stripped(text)))
        return f"{part.topic} {own}" if _content(own, tokenise) and not _names_no_topic(own) else part.topic
    return _subject(part.query)


def _subject(query: str) -> str:
    """The topic that a query names: before は or in its nouns, without the aspect (の申請期限, "deadline for")."""
    plain = query.strip()
    if language_of(plain) == "ja":
        named = re.sub(rf"の(?:{ASPECT_JA})$", "", plain)
        if named != plain and not re.search(r"[はがを]", named):
            return named
        marked = re.match(r"^(.{2,40}?)(?:って|とは|は|が|を)(?![\u3040-\u309f]{0,1}(?:ん|じ))", plain)
        phrase = marked.group(1) if marked and keywords(marked.group(1)) else keywords(plain) or plain
        phrase = phrase.split("。")[-1]
        return re.sub(rf"の(?:{ASPECT_JA})$", "", phrase).strip(" 、。") or plain
    text = re.sub(r"\s+", " ", re.sub(QUESTION_EN.pattern, " ", plain, flags=re.IGNORECASE)).strip(" ,.")
    return re.sub(rf"^{ASPECT_EN}s?\s+(?=\S)", "", text, flags=re.IGNORECASE) or plain


def _names_no_topic(query: str) -> bool:
    """Whether a query only asks for an aspect ("the deadline?") or whom to ask, and not of what."""
    plain = normalise(query).strip(" 、。?？")
    if language_of(plain) == "ja":
        rest = re.sub(QUESTION_JA, " ", re.sub(r"^(?:その|この)", "", plain))
        return bool(
            re.fullmatch(rf"(?:(?:{ASPECT_JA})|申請|提出|連絡|相談|承認|確認|[はがをにのもでしてす\s、])*", rest)
        )
    rest = QUESTION_EN.sub(" ", plain)
    return bool(
        re.fullmatch(
            rf"(?:{ASPECT_EN}s?|asks?|contact|talk|tell|approves?|find|go|happens?|and|also|then|[\s,])*", rest
        )
    )


def _without_pointers(query: str) -> str:
    if language_of(query) == "ja":
        return re.sub(
            r"(?:それ|これ|あれ|そこ|そちら|こちら|同じもの|上記|前者|後者|先ほど|さっき)(?:は|が|を|に|で|の|も|って|について|と)?|(?:その|この|あの)",
            "",
            query,
        ).strip(" 、")
    text = re.sub(_POINTS_EN.pattern, " ", query, flags=re.IGNORECASE)
    return re.sub(r"\s+", " ", re.sub(r"^(?:and|also|then|but)\b", " ", text, flags=re.IGNORECASE)).strip(" ,")


def _overlaps(own: str, context: str, tokenise: Tokenise) -> bool:
    """Whether the follow-up already names most of the topic itself."""
    topic = set(tokenise(context))
    return bool(topic) and len(topic & set(tokenise(own))) * 2 > len(topic)


def _content(query: str, tokenise: Tokenise) -> list[str]:
    """The terms that say what a question is about: no interrogatives, no pointers."""
    if language_of(query) == "ja":
        return list(tokenise(re.sub(QUESTION_JA, " ", _without_pointers(query))))
    return list(tokenise(QUESTION_EN.sub(" ", normalise(_without_pointers(query)))))
