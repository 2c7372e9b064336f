"""Japanese questions for `bot.unanswered.paraphrases.paraphrases`, word by word as Sudachi cuts them; it also makes
numbers digits."""

import re
import threading
from dataclasses import dataclass, replace
from functools import lru_cache

from sudachipy import Tokenizer  # type: ignore[import-untyped]

from bot.unanswered.paraphrases.english import words as latin_words
from bot.unanswered.paraphrases.lexicon import RELATIONS, Lexicon
from bot.unanswered.paraphrases.parts import ParsedQuestion, Part, settled
from retrieval.sparse import dictionary
from retrieval.text import normalise

_POLITE = re.compile(
    r"^(?:すみません(?:が)?|お疲れ(?:様|さま)です|こんにちは|おはようございます|質問です(?:が)?|質問なのですが|ちなみに"
    r"|(?:いつも)?お世話になって(?:い|おり)ます|こんばんは|失礼します|教えて(?:ください|下さい)(?=[、,。!\s]))[、,。!\s]*"
    r"|(?:について|に関して|を|か)?(?:詳しく)?教えて(?:ください|下さい|(?:もら|頂|いただ)(?:え|い|け)\w*|ほしい\w*|欲しい\w*|くれ\w*|)[。!?、\s]*$"
    r"|(?:について|に関して|を|か)?(?:知りたい|お聞きしたい|伺いたい|聞きたい)(?:です|のですが|んですが|と思います)?[。!?、\s]*$"
    r"|(?:か)?(?:ご存[知じ]|お分かり|おわかり|分かり|わかり)(?:の方)?(?:です|ます|いますか|いらっしゃいますか)か?[。!?、\s]*$"
    r"|(?:よろしく)?お願い(?:し|いたし|致し)ます[。!?\s]*$"
)
_TOPIC = re.compile(
    r"(?<=[\u4e00-\u9fffァ-ヶー])って(?=いつ|どこ|誰|だれ|何|なに|なん|どう|いくら|いくつ|なぜ|[?？]|$)"
)
_SIGNS = {"<": "未満", "≤": "以下", "≦": "以下", ">": "超", "≥": "以上", "≧": "以上"}
_KATAKANA = re.compile(r"[ァ-ヶー]+|[a-z0-9+#]+")
_ROLES = {"は": "topic", "も": "topic", "って": "topic", "が": "subject", "に": "to", "へ": "to", "を": "object"}
_ROLES |= {"の": "of", "で": "in", "と": "with"}
_WHOSE = {"に": "?who to", "へ": "?who to", "を": "?who to", "から": "?who from", "の": "?who of", "と": "?who with"}
_LIGHT = frozenset(
    {"為る", "居る", "成る", "下さる", "行う", "行なう", "様", "事", "物", "もの", "為", "ため", "用", "中"}
)
_LIGHT |= frozenset(
    {"さん", "氏", "達", "私", "僕", "俺", "我々", "此の", "其の", "この", "その", "御", "方々", "詳しい", "こと"}
)
_AFTER_TE = frozenset(
    {"貰う", "頂く", "呉れる", "上げる", "居る", "有る", "見る", "置く", "仕舞う", "行く", "来る", "良い", "欲しい"}
)
_SERVED = frozenset({"貰う", "頂く", "呉れる", "上げる"})
# Whoever asks does not do it.
_OFFERED = frozenset({"invite", "add", "approve", "create", "get", "発行", "付与", "request"})
_SUFFIXES = {"先": "+place", "日": "+day", "者": "+er", "方": "+way"}  # 連絡先, 支給日, 申請者, 使い方
_CASES = frozenset({"時", "際", "場合", "とき", "折"})
_COUNTERS = {"分": "minute", "時間": "hour", "日": "day", "回": "times", "人": "people"}
# What ends a question of yes or no without a か.
_SAID_OF = frozenset({"+need", "+may", "-unneeded", "-forbidden", "+exist"})


@dataclass(frozen=True, slots=True)
class _Word:
    """`kind` and `sub`: its part of speech; `can`: 使える, of 使う."""

    lemma: str
    surface: str
    kind: str
    sub: str = ""
    can: bool = False


_local = threading.local()


def _tokenizer() -> Tokenizer:
    """This thread's: one may not be used from two."""
    found: Tokenizer | None = getattr(_local, "tokenizer", None)
    if found is None:
        made = dictionary().tokenizer(mode="A", fields={"pos", "normalized_form", "dictionary_form"})
        found = _local.tokenizer = made
    return found


def _words(text: str) -> list[_Word]:
    found: list[_Word] = []
    for one in _tokenizer().tokenize("".join(_SIGNS.get(sign, sign) for sign in text)):
        kind, sub = one.part_of_speech()[:2]
        lemma, form, surface = normalise(one.normalized_form()), one.dictionary_form(), one.surface()
        if surface.isascii() and any(map(str.isalpha, surface)):
            found += (_Word(word, word, "名詞", "latin") for word in latin_words(surface))
        elif not surface.isspace():
            found.append(_Word(lemma, surface, kind, sub, kind == "動詞" and _can(form, lemma)))
    return found


def _can(form: str, lemma: str) -> bool:
    """使える is what 使う is where it can be done; Sudachi keeps 取れる as it is."""
    potential = (
        form != lemma and form[-1:] == "る" and form[-2:-1] in tuple("えけせてねべめれげ") and lemma[-1:] != "る"
    )
    return potential or form in ("取れる", "入れる", "もらえる", "やれる", "入れる", "借りられる")


@lru_cache(maxsize=1)
def _lexicon() -> Lexicon:
    return Lexicon("ja", lambda form: [word.lemma for word in _words(normalise(form))], lambda form: (form,))


def reading(text: str) -> ParsedQuestion:
    """The reading of a Japanese question."""
    plain = normalise(text).strip()
    asked = plain
    while (shorter := _POLITE.sub("", asked).strip()) not in ("", asked):
        asked = shorter
    return _Reader(_words(_TOPIC.sub("は", asked))).read(told=asked[-1:] != plain[-1:])


class _Reader:
    """One question, read from its first word to its last."""

    def __init__(self, found: list[_Word]) -> None:
        self._words = found
        self._lemmas = [word.lemma for word in found]
        self._parts: list[Part] = []
        self._modifies: set[tuple[int, int]] = set()
        self._asked: set[str] = set()
        self._after = ""  # what stands behind the last part: nothing, "of", or something that ends its phrase
        self._run: list[int] = []  # the places of parts each of which says which one the next is
        self._clause = 0  # where it began, in parts

    def read(self, *, told: bool) -> ParsedQuestion:
        """`told`: it ended in a wish to be told."""
        at = 0
        while at < len(self._words):
            at += self._step(at)
        self._end(told)
        return settled("ja", self._asked, self._parts, self._modifies)

    def _step(self, at: int) -> int:
        """Read what stands at a place; how many words it was."""
        word = self._words[at]
        if word.sub == "数詞" and word.lemma[0].isdigit():
            return self._number(at)
        if word.lemma[0] == "何" and (length := self._counted(at)):
            return length
        if at and self._words[at - 1].sub == "接続助詞" and word.lemma in _AFTER_TE:
            self._helping(word)
            return 1
        known = _lexicon().at(self._lemmas, at)
        if known == ("day", 1) and self._parts and not self._after:
            known = None
        if known is not None and (word.kind != "助詞" or known[1] > 1 or known[0] in RELATIONS):
            return self._known(at, *known)
        self._other(at, word)
        return 1

    def _before(self, at: int) -> str:
        return self._lemmas[at - 1] if at else ""

    # -- numbers ------------------------------------------------------------------------------------------------------

    def _number(self, at: int) -> int:
        end = at + 1
        while end < len(self._words) and (self._words[end].sub == "数詞" or self._lemmas[end] in (":", "/")):
            end += 1
        digits = "".join(self._lemmas[at:end]).rstrip(":/")
        unit, length = self._unit(end)
        end += length
        ordinal = self._before(at) == "第" and unit not in ("floor", "quarter")
        if self._lemmas[end : end + 1] == ["目"]:
            ordinal, end = True, end + 1
        self._part(f"{digits}{'th' if ordinal else ''} {unit}".strip())
        return end - at

    def _unit(self, at: int) -> tuple[str, int]:
        """The unit counted right here: something known, or a word."""
        if at >= len(self._words) or self._words[at].kind in ("助詞", "助動詞", "補助記号", "記号"):
            return "", 0
        known = _lexicon().counted(self._lemmas, at)
        return known or ((self._lemmas[at], 1) if self._lemmas[at] not in RELATIONS else ("", 0))

    def _counted(self, at: int) -> int:
        """何日, 何人, 何営業日: how many; 0 where it is not."""
        word = self._words[at]
        known = _lexicon().at(self._lemmas, at)
        if known is not None and known[0][0] == "?":
            return 0
        if word.lemma == "何":
            unit, length = self._unit(at + 1)
            if not unit or self._words[at + 1].sub not in ("普通名詞", "名詞的"):
                self._asked.add("?what")
                self._after = "asked"
                return 1
        else:
            unit, length = _COUNTERS.get(word.lemma[1:], word.lemma[1:]), 0
        if unit == "時":
            return self._question(at, "?time", 1 + length)
        self._asked.add("?number")
        self._part(unit)
        after = self._lemmas[at + 1 + length : at + 3 + length]
        if after[:1] == ["まで"] and after[1:] != ["に"]:
            self._part("limit", joins=False)
            length += 1
        return 1 + length

    # -- words of the tables ------------------------------------------------------------------------------------------

    def _known(self, at: int, meaning: str, length: int) -> int:
        read = self._words[at : at + length]
        if meaning in RELATIONS:
            self._relation(at, meaning)
        elif meaning[0] == "?":
            return self._question(at, meaning, length)
        elif meaning[0] in "+-":
            self._part(meaning, joins=False)
        else:
            self._part(meaning, verb=read[-1].kind == "動詞")
            if any(word.can for word in read):
                self._part("+may", joins=False)
        return length

    def _question(self, at: int, meaning: str, length: int) -> int:
        following = "".join(self._lemmas[at + length : at + length + 1])
        if meaning == "?who" and following in _WHOSE:
            meaning, length = _WHOSE[following], length + 1
        elif meaning == "?amount" and following == "まで":
            self._part("limit", joins=False)
            length += 1
        elif following in ("から", "まで"):
            self._part("from" if following == "から" else "until", joins=False)
            length += 1
        self._asked.add(meaning)
        self._after = "asked"
        return length

    def _relation(self, at: int, meaning: str) -> None:
        word = self._words[at]
        if word.lemma == "から" and (word.sub == "接続助詞" or self._before(at) == "て"):
            if self._before(at) != "て":
                return  # because
            meaning = "after"
        last = self._parts[-1] if self._parts else None
        if meaning != "only" and last is not None and self._after != "asked" and not last.bound:
            self._parts[-1] = replace(last, bound=meaning)
        else:
            self._part(meaning, joins=False)
        self._after = "relation"

    # -- other words --------------------------------------------------------------------------------------------------

    def _helping(self, word: _Word) -> None:
        """A verb behind て: to have somebody do it is not to do it, unless only others can."""
        doing = next((part.meaning for part in reversed(self._parts) if part.meaning not in ("+may", "-not")), "")
        if word.lemma in _SERVED and doing not in _OFFERED:
            self._part(f"て{word.lemma}", joins=False)
        elif word.lemma in ("貰う", "頂く") and word.surface.startswith(("もらえ", "いただけ", "頂け")):
            self._part("+may", joins=False)

    def _other(self, at: int, word: _Word) -> None:
        if word.kind == "助詞":
            self._particle(at, word)
        elif word.lemma in _CASES or word.surface in ("たら", "だら", "なら"):
            self._case()
        elif word.kind == "助動詞":
            self._auxiliary(at, word)
        elif word.lemma in _SUFFIXES and self._parts and (not self._after or self._words[at - 1].kind == "動詞"):
            self._part(_SUFFIXES[word.lemma], joins=False)
        elif word.lemma in ("又は", "若しくは", "或いは"):
            self._part("or", joins=False)
        elif word.kind in ("補助記号", "記号", "接続詞", "感動詞"):
            if word.surface in ("。", "\n", "!", ".") and at + 1 < len(self._words):
                self._case()
            self._after = "stop"
        elif word.lemma in _LIGHT or word.lemma == "第":
            if word.lemma == "為る" and self._parts and not self._after:
                self._parts[-1] = replace(self._parts[-1], verb=True)
                self._after = "verb"
        else:
            self._part(word.lemma, verb=word.kind == "動詞", name=bool(_KATAKANA.fullmatch(word.lemma)))
            if word.can:
                self._part("+may", joins=False)

    def _particle(self, at: int, word: _Word) -> None:
        following = self._words[at + 1].kind if at + 1 < len(self._words) else ""
        if word.lemma == "か" and following in ("名詞", "接頭辞", "代名詞"):
            self._part("or", joins=False)
        role = _ROLES.get(word.lemma, "")
        if role and word.sub in ("格助詞", "係助詞", "副助詞") and self._parts and self._after in ("", "relation"):
            self._parts[-1] = replace(self._parts[-1], role=role)
        good = at + 1 < len(self._words) and self._lemmas[at + 1] == "良い"  # すればいい
        if word.sub == "接続助詞" and word.lemma in ("ば", "が", "けど", "けれど", "と") and not good:
            self._case()
        self._after = role or "particle"

    def _auxiliary(self, at: int, word: _Word) -> None:
        following = self._words[at + 1] if at + 1 < len(self._words) else None
        names = following is not None and following.kind == "名詞" and following.lemma not in _CASES
        if word.lemma in ("ない", "ず", "ぬ", "まい"):
            self._part("-not", joins=False)
        elif word.lemma in ("せる", "させる"):
            self._part("+causative", joins=False)
        elif word.lemma in ("れる", "られる"):
            done = any(part.person and part.role in ("to", "from") for part in self._parts[self._clause :])
            noun = self._words[at + 2].kind if at + 2 < len(self._words) else ""
            if done or names or (following is not None and following.lemma == "た" and noun == "名詞"):
                self._part("+passive", joins=False)
            elif word.lemma == "られる":
                self._part("+may", joins=False)
        elif word.lemma == "た" and names and following is not None and following.lemma not in RELATIONS:
            self._part("+past", joins=False)
        self._after = "verb"

    def _case(self) -> None:
        """Takes the clause up to here as the case that is asked about."""
        if not self._parts[self._clause :]:
            return
        self._part("+case", joins=False)
        self._parts[self._clause :] = [replace(part, case=True) for part in self._parts[self._clause :]]
        self._clause = len(self._parts)

    def _part(self, meaning: str, *, joins: bool = True, verb: bool = False, name: bool = False) -> None:
        place = len(self._parts)
        if joins and self._parts and self._after in ("", "of", "relation"):
            self._modifies |= {(one, place) for one in self._run}
        else:
            self._run = []
        self._run = [*self._run, place] if joins else []
        self._parts.append(Part(meaning, place=place, verb=verb, name=name))
        self._after = "verb" if verb else "" if joins else "stop"

    def _end(self, told: bool) -> None:
        """Whether it is of yes or no, of a matter as such, or a statement; and whether it is past."""
        rest = [word for word in self._words if word.kind not in ("補助記号", "記号")]
        while rest and rest[-1].kind == "助詞" and rest[-1].sub in ("終助詞", "準体助詞"):
            rest.pop()
        tail = [word.lemma for word in rest if word.lemma not in ("です", "ます", "だ", "の", "が", "けど")]
        if tail[-1:] == ["た"] and self._words[-1].lemma != "っけ" and "っけ" not in self._lemmas[-2:]:
            self._part("+past", joins=False)
        if tail[-1:] == ["たい"] and not self._asked:
            self._asked.add("?how")
        if not self._parts or self._asked or told:
            return
        if [word.surface for word in rest[-2:]] == ["に", "は"]:
            self._asked.add("?how")
        elif rest[-1].surface not in ("は", "って", "を"):
            said = rest[-1].kind in ("動詞", "助動詞", "形容詞", "形状詞") or self._parts[-1].meaning in _SAID_OF
            if said or any(word.surface in ("は", "が", "も") for word in rest):
                asks = any(word.surface in ("?", "か") for word in self._words[-2:])
                self._asked.add("yes or no" if asks or self._parts[-1].meaning in _SAID_OF else "statement")
