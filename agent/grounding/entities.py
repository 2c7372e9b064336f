"""The subject of a sentence, the names in it and whether it says no: the parts of a claim that are not numbers.

Only texts in one language can be compared like this; across languages the reflection has to judge.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal

from agent.grounding.quantities import squeeze
from agent.grounding.transliteration import heard, tokenizer
from agent.grounding.vocabulary import pattern, words
from retrieval.i18n import Language
from retrieval.sparse import SparseEncoder
from retrieval.text import language_of

# -- content words ----------------------------------------------------------------------------------------------------


_DIGIT = re.compile(r"\d")


@lru_cache(maxsize=1)
def _encoder() -> SparseEncoder:
    return SparseEncoder()


@lru_cache(maxsize=4096)
def content(text: str) -> frozenset[str]:
    """The content words in dictionary form; numbers and words of polarity, modality and reference left out."""
    terms = _encoder().terms(text)
    return frozenset(
        t for t in terms if not _DIGIT.search(t) and t not in words("polar") and (len(t) > 1 or not _kana(t))
    )


def _kana(text: str) -> bool:
    return all("\u3040" <= c <= "\u30ff" for c in text) or text.isascii()


# -- names ------------------------------------------------------------------------------------------------------------

Kind = Literal["name", "person", "code", "tool", "loose"]


@dataclass(frozen=True, slots=True)
class Name:
    """Something called by its name, a `person` by a title too. `code` was set as code; `tool` is katakana where the
    means of doing something stands: 「コンカーで精算」; `loose` a department or what is quoted, which may be called
    otherwise."""

    text: str
    kind: Kind


_CODE = re.compile(r"`([^`\n]+)`")
BLANKS = r"<[^<>\n]*>|\{[^{}\n]*\}|\$\w+|\b(?:YOUR|MY)_\w+|\b[A-Z_]*NAME\b"  # in code, for the reader to fill in
_BLANK = re.compile(BLANKS)
_CODED = re.compile(r"(?<![\w/&#-])(?:#(?=[^\W\d])|--(?=[a-z]))[\w-]+")  # a channel, an option, as people write them
_ACRONYMS = re.compile(r"(?<=[A-Z])s$")  # more than one: APIs
_LABEL = re.compile(r"\*\*[^*\n]{1,60}(?:[:：]\*\*|\*\*\s*[:：])")  # in Title Case, as models write them
_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9&]*(?:['’.+#/_-][A-Za-z0-9]+)*")
_FULL = re.compile(r"(?:[A-Z][a-z]+ ){1,5}[A-Z][a-z]+")
_TITLE = re.compile(r"\b(Mr|Mrs|Ms|Dr|Prof|St)\.(?=\s)")  # whose stop ends no sentence
_TITLED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof)\s$")
_AFFIX = re.compile(r"^(?:non|pre|post|ex|mid)-|['’](?:s|m|d|ve|ll|re)?$")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\"“‘(\[「『|—–•]|[*_-]{1,3})\s*$")
_NEAR = 20  # characters before a word, which tell whether a sentence begins with it
_TITLED_JA = re.compile(
    r"(?<=株式会社)[\u4e00-\u9fffァ-ヶーA-Za-z]{1,12}"
    r"|[\u4e00-\u9fffァ-ヶー々A-Za-z]{1,12}?(?=さん|氏(?!名)|(?:株式|有限)会社)"
)
_DEPARTMENT = re.compile(r"(?<![\u4e00-\u9fff])[\u4e00-\u9fff]{2,8}(?:[部課]|委員会)(?![\u4e00-\u9fff])")
_QUOTED = re.compile(r"[「『]([^「『』」。、(（]{2,20})(?=[」』(（])")
_OF_JAPANESE_ONLY = re.compile(r"[\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff]+")  # katakana may be a Latin name: グーグル


def without_code(text: str) -> str:
    """As names are read: what stands before a code and what stands behind it may be one."""
    return _CODED.sub(" ", _CODE.sub(" ", text))


def names(sentence: str) -> list[Name]:
    """People, organisations, products, places, acronyms and code in a sentence, each once, in order."""
    codes = (*_CODE.findall(sentence), *_CODED.findall(_CODE.sub(" ", sentence)))
    found = [Name(code, "code") for each in codes if (code := _BLANK.sub("", each).strip())]
    text = unicodedata.normalize("NFKC", _TITLE.sub(r"\1", _LABEL.sub(" ", without_code(sentence))))
    japanese = language_of(text) == "ja"
    found += _latin(text, japanese)
    if japanese:
        found += _japanese(text)
    return list({name.text.casefold(): name for name in reversed(found)}.values())[::-1]


def _latin(text: str, japanese: bool) -> list[Name]:
    found = []
    for match in _TOKEN.finditer(text):
        word = _AFFIX.sub("", match.group())
        if len(word) < 2 or word.casefold() in words("no_name") or any(c.isdigit() for c in word):
            continue  # with digits it is an identifier, which agent/grounding/quantities.py compares
        before = text[max(0, match.start() - _NEAR) : match.start()]
        if not japanese and (_TITLED.search(before) or word.endswith("-san")):
            found.append(Name(word.removesuffix("-san"), "person"))
        elif any(c.isupper() for c in word[1:]) or (
            word[0].isupper() and (japanese or not _SENTENCE_START.search(before))
        ):
            found.append(Name(word, "name"))
    return found


def _japanese(text: str) -> list[Name]:
    found = [Name(tool, "tool") for tool in tools(text) if not tool.isascii()]
    found += [Name(match, "person") for match in _TITLED_JA.findall(text)]
    found += [Name(match, "loose") for form in (_DEPARTMENT, _QUOTED) for match in form.findall(text)]
    found += [
        Name(morpheme.surface(), "name")
        for morpheme in tokenizer().tokenize(text[:10_000])
        if morpheme.part_of_speech()[1] == "固有名詞" and len(morpheme.surface()) > 1
        if not morpheme.surface().isascii()
    ]
    return [n for n in found if n.text not in words("no_name") and not re.fullmatch(r"[\u3040-\u309f]+", n.text)]


_SLOT = (
    r"(?:で(?=[^すはもきあのなし、。])|を(?:使|利用|用い)|に(?:登録|ログイン|保存|申請|入力)"
    r"|から(?:予約|申請|登録|行|手続)|上で|経由で|[がも](?:使|利用(?:で|可)))"
)
_TOOL = re.compile(rf"((?:[ァ-ヶー]|[A-Z])[ァ-ヶーA-Za-z0-9 .]{{2,40}})(?={_SLOT})")


def tools(text: str) -> list[str]:
    """Tools, in katakana or Latin, that a Japanese text names as the means of doing something."""
    return [tool for tool in _TOOL.findall(text) if len(tool) > 3 and not pattern("means").fullmatch(tool)]


def is_strong(name: Name, language: Language) -> bool:
    """Whether a passage in another language than the claim's would have it, too: code, people, CamelCase, and in a
    Japanese sentence whatever has a capital and is no acronym."""
    latin = name.kind == "name" and name.text.isascii() and any(c.islower() for c in name.text)
    return name.kind in ("code", "person") or (latin and (language == "ja" or any(c.isupper() for c in name.text[1:])))


def mentions(evidence: str, squeezed: str, name: Name) -> bool:
    """Whether a text has the name: as it is, in another case, width, spacing or script, inflected, spelled out."""
    wanted = squeeze(_ACRONYMS.sub("", name.text))
    if not wanted or wanted in squeezed:
        return True
    if name.kind == "code":  # a command and its options may stand apart
        command, _, options = name.text.partition(" -")
        return bool(options) and f"-{options}" in evidence and squeeze(command) in squeezed
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
        if "".join(letters) in initials:
            return True
    return name.text.isascii() != evidence.isascii() and heard(name.text, evidence)


def spelled_out(sentence: str, evidence: str) -> frozenset[str]:
    """The words of those names of a sentence that are an abbreviation's in full: "British Summer Time" of BST."""
    found: set[str] = set()
    for full in _FULL.findall(sentence):
        parts = full.split()
        for first, end in combinations(range(len(parts) + 1), 2):
            initials = "".join(part[0] for part in parts[first:end])
            if end - first > 1 and re.search(rf"\b{initials}\b", evidence):
                found |= {*parts[first:end]}
    return frozenset(found)


# -- yes and no -------------------------------------------------------------------------------------------------------


def denies(sentence: str) -> bool:
    """Whether a sentence says no: prohibition, impossibility, absence. Two noes make a yes."""
    return len(pattern("denial").findall(pattern("no_denial").sub("", sentence))) % 2 == 1


def turns(sentence: str) -> frozenset[str]:
    """Its words that can turn a yes into a no for the rest: "only", "after", 「以外」."""
    return frozenset(match.lower() for match in pattern("turning").findall(sentence))
