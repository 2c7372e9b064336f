"""What a sentence is about, whom it names and whether it says no: the parts of a claim that are not numbers.

Only texts in one language can be compared like this; across languages the reflection has to judge.
"""

import re
import threading
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from sudachipy import SplitMode, Tokenizer  # type: ignore[import-untyped]

from agent.claims import squeeze
from retrieval.sparse import SparseEncoder, dictionary
from retrieval.text import Language, language_of

# -- content words ------------------------------------------------------------------------------------------------------


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_POLAR_JA = _set(
    """
    無い 不要 不可 禁止 不可能 必要 可能 出来る 為る 有る 居る 成る 因る 御 下さる 致す 頂く 言う 通り 以下 次 事 物 為 場合 対象外 無効 有効 可 否 はい いいえ 資料 記載 者 的 達 等
    内 外 以内 以上 以外 まで から 日 時 分 秒 年 月 週 時間 日間 年間 週間 円 名 件 回 個 間 前 後 毎 毎月 毎日 毎年 約
    """
)
_POLAR_EN = _set(
    """
    not never cannot prohibit forbidden requir need must may can allow permit possibl abl unabl yes no accord
    document state say sourc passag mention follow pleas also howev therefor within insid outsid onli unless
    until befor after day hour minut week month year get take make use
    """
)


_DIGIT = re.compile(r"\d")


@lru_cache(maxsize=1)
def _encoder() -> SparseEncoder:
    return SparseEncoder()


@lru_cache(maxsize=4096)
def content(text: str) -> frozenset[str]:
    """The content words in dictionary form; numbers and words of polarity, modality and reference left out."""
    terms = _encoder().terms(text)
    return frozenset(
        t
        for t in terms
        if not _DIGIT.search(t) and t not in _POLAR_JA and t not in _POLAR_EN and (len(t) > 1 or not _kana(t))
    )


def _kana(text: str) -> bool:
    return all("\u3040" <= c <= "\u30ff" for c in text) or text.isascii()


# -- names --------------------------------------------------------------------------------------------------------------

Kind = Literal["name", "word", "code"]


@dataclass(frozen=True, slots=True)
class Name:
    """Something called by its name. `word` is one that may as well be a common word; `code` was set as code."""

    text: str
    kind: Kind


_CODE = re.compile(r"`([^`\n]+)`")
_LABEL = re.compile(r"\*\*[^*\n]{1,60}(?:[:：]\*\*|\*\*\s*[:：])")  # in Title Case, as models write them
_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9&]*(?:['’.+#/_-][A-Za-z0-9]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\"“‘(\[「『|—–•]|[*_-]{1,3})\s*$")
_GENERIC = _set(
    """
    i ok faq url urls id ids pdf pc it api app apps web email e-mail mail q&a usb tv html csv json xml sql http
    https wifi wi-fi sms mr mrs ms dr inc ltd co vs am pm a.m p.m english japanese yes no note please however
    also monday tuesday wednesday thursday friday saturday sunday january february march april may june july
    august september october november december mon tue wed thu fri sat sun jan feb mar apr jun jul aug sep sept
    oct nov dec result results source sources step we you they he she if in on the a an for to at by with and or
    but when then this that these those there here what who
    """
)
_TITLED_JA = re.compile(r"([\u4e00-\u9fffァ-ヶー々A-Za-z]{1,12}?)(?:さん|氏(?!名)|(?:株式|有限)会社)")
_COMPANY_JA = re.compile(r"(?:株式|有限)会社([\u4e00-\u9fffァ-ヶーA-Za-z]{1,12})")
_GENERIC_JA = _set(
    """
    日本 国内 海外 東西 南北 西暦 英語 日本語 和 皆 お客 各社 当社 弊社 御社 会社
    """
)
_KATAKANA = re.compile(r"[ァ-ヶー]{3,}")
_OF_JAPANESE_ONLY = re.compile(r"[\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff]+")  # katakana may be a Latin name: グーグル


_local = threading.local()


def _tokenizer() -> Tokenizer:
    """This thread's: one may not be used from two."""
    tokenizer: Tokenizer | None = getattr(_local, "tokenizer", None)
    if tokenizer is None:
        tokenizer = _local.tokenizer = dictionary().tokenizer(mode=SplitMode.C, fields={"pos"})
    return tokenizer


def names(sentence: str) -> list[Name]:
    """People, organisations, products, places, acronyms and code in a sentence, each once, in order."""
    found = [Name(code.strip(), "code") for code in _CODE.findall(sentence)]
    text = unicodedata.normalize("NFKC", _LABEL.sub(" ", _CODE.sub(" ", sentence)))
    japanese = language_of(text) == "ja"
    found += _latin(text, japanese)
    if japanese:
        found += _japanese(text)
    return list({name.text.casefold(): name for name in reversed(found)}.values())[::-1]


def _latin(text: str, japanese: bool) -> list[Name]:
    found = []
    for match in _TOKEN.finditer(text):
        word = re.sub(r"['’]s?$", "", match.group())
        if len(word) < 2 or word.casefold() in _GENERIC or any(c.isdigit() for c in word):
            continue  # with digits it is an identifier, which agent/claims.py compares
        marked = any(c.isupper() for c in word[1:])
        if japanese:
            found.append(Name(word, "name" if word[0].isupper() or marked else "word"))
        elif marked or (word[0].isupper() and not _SENTENCE_START.search(text[: match.start()])):
            found.append(Name(word, "name"))
    return found


def _japanese(text: str) -> list[Name]:
    found = [Name(match, "name") for match in _TITLED_JA.findall(text) + _COMPANY_JA.findall(text)]
    for morpheme in _tokenizer().tokenize(text[:10_000]):
        surface, pos = morpheme.surface(), morpheme.part_of_speech()
        if surface.isascii() or surface in _GENERIC_JA:
            continue
        if pos[1] == "固有名詞" and len(surface) > 1:
            found.append(Name(surface, "name"))
        elif morpheme.is_oov() and _KATAKANA.fullmatch(surface):
            found.append(Name(surface, "word"))
    return [name for name in found if name.text not in _GENERIC_JA and not re.fullmatch(r"[\u3040-\u309f]+", name.text)]


def is_strong(name: Name) -> bool:
    """Whether another language would write it the same: code, acronyms, CamelCase."""
    latin = name.text.isascii()
    return name.kind == "code" or (latin and name.kind == "name" and any(c.isupper() for c in name.text[1:]))


def mentions(evidence: str, squeezed: str, name: Name) -> bool:
    """Whether a text has the name: as it is, in another case, width or spacing, inflected, or spelled out/abbreviated."""
    wanted = squeeze(name.text)
    if not wanted or wanted in squeezed:
        return True
    if name.kind == "code":
        return False
    if any(
        wanted.endswith(end) and len(wanted) > len(end) + 2 and wanted[: -len(end)] in squeezed for end in ("s", "es")
    ):
        return True
    if (
        name.text.isascii()
        and content(name.text)
        and content(name.text) <= content(_OF_JAPANESE_ONLY.sub(" ", evidence))
    ):
        return True
    letters = [c.lower() for c in name.text if c.isalpha()]
    if name.text.isupper() and 2 <= len(letters) <= 6:
        initials = "".join(
            word[0] for word in re.findall(r"[a-z]+", evidence.lower()) if word not in ("of", "and", "the")
        )
        return "".join(letters) in initials
    return False


# -- yes and no ---------------------------------------------------------------------------------------------------------

_NOT_A_NO_JA = re.compile(
    r"(?:なければ|なくては|なくちゃ|ないと|ないわけには)(?:な[らり]|い[けか])(?:ません|ない|ず|ん)?|かもしれ(?:ない|ません)|すみません|だけで(?:は)?なく"
    r"|のみならず|に限らず|にかかわらず|問わず|間違い(?:ない|ありません)|差し支え(?:ない|ありません)|問題(?:は)?(?:ない|ありません)"
    r"|かまいません|構いません|構わない|ではないでしょうか|少な(?:い|くとも)|やむを得ず|必ず|まず(?=[、はい])|いえ、|いいえ、|ませんか|未満|未来|まずは|漏れなく|速やか|きたない"
)
_NO_JA = re.compile(
    r"ない(?!よう|で(?:くだ|済))|ないで(?:くだ|済)|ないよう|なく(?:なり|て)|ません|せず|ずに|(?<=[かさたなまらわがばえけせてねべめれ])ず(?=[、。に]|$)"
    r"|不可|不要|禁止|対象外|できかね|お断り|無効|対象とならな|除(?:く|き|いて|外)|控えて|未(?:対応|提供|実装)|非(?:対応|公開)"
)
_NOT_A_NO_EN = re.compile(
    r"\b(?:not only|no (?:later|more|less|fewer|sooner) than|not (?:later|more|less) than|if not|whether or not|no problem|without delay|not just|no matter)\b"
    r"|^\s*no,",
    re.I,
)
_NO_EN = re.compile(
    r"\b(?:not|never|cannot|no|none|nobody|nothing|neither|nor|without|prohibit\w*|forbid\w*|forbidden|disallow\w*|ban(?:s|ned)?"
    r"|unable|unavailable|ineligible|unsupported|exclud\w+|except\w*|den(?:y|ies|ied)|invalid|unnecessary|disabled|refus\w+)\b|n['’]t\b",
    re.I,
)
_TURNS = re.compile(
    r"のみ|だけ|限(?:り|る|ら)|しか|以外|場合を除|超え|過ぎ|経過|以降|まで|以内|前に|後に|未満|(?:が|で)な(?:い|ければ)"
    r"|\b(?:only|unless|until|after|before|beyond|exceed\w*|within|over|above|more than|past|other than|except|outside|expire\w*|without)\b",
    re.I,
)


def denies(sentence: str, language: Language) -> bool:
    """Whether a sentence says no: prohibition, impossibility, absence. Two noes make a yes."""
    if language == "ja":
        return len(_NO_JA.findall(_NOT_A_NO_JA.sub("", sentence))) % 2 == 1
    return len(_NO_EN.findall(_NOT_A_NO_EN.sub("", sentence))) % 2 == 1


def turns(sentence: str) -> bool:
    """Whether it has a word that can turn a yes into a no for the rest: "only", "after", 「以外」."""
    return bool(_TURNS.search(sentence))
