"""Whether a Latin name is one that a Japanese text writes in its own script: Kuroda and 黒田, Slack and スラック.

Both are reduced to their consonants, as Japanese hears them: katakana knows no l, v, th or r before a consonant.
"""

import re
import threading
import unicodedata
from functools import lru_cache

from sudachipy import SplitMode, Tokenizer  # type: ignore[import-untyped]

from retrieval.sparse import dictionary

_ROWS = {
    "k": "カキクケコヵヶ", "g": "ガギグゲゴ", "s": "サシスセソ", "z": "ザジズゼゾヂヅ", "t": "タチツテト",
    "d": "ダデド",
    "n": "ナニヌネノンマミムメモ", "h": "ハヒフヘホ", "b": "バビブベボヴ", "p": "パピプペポ", "r": "ラリルレロ",
}  # fmt: skip
_CONSONANT = {kana: consonant for consonant, row in _ROWS.items() for kana in row}
_HEARD = (
    ("[^a-z]", ""),
    ("ch|ts", "t"), ("sh|th|c(?=[eiy])", "s"), ("ph|f", "h"), ("dge|j|g(?=[ei])", "z"), ("ck|c|q", "k"), ("x", "ks"),
    ("v", "b"),
    ("(?<=[^aeiou])h", ""), ("r(?![aeiouy])", ""), ("l", "r"), ("m", "n"), ("[aeiouwy]", ""),
)  # fmt: skip
_JAPANESE = re.compile(r"[\u3005-\U0010ffff]")  # nothing before these is
_KATAKANA = re.compile(r"[ァ-ヴー]{2,}")
_LATIN = re.compile(r"[A-Za-z]{3,}")
_PART = re.compile(r"[A-Z][a-z]+|[A-Z]+(?![a-z])")
_ENOUGH = 3  # consonants that may stand inside a longer name


_local = threading.local()


def tokenizer() -> Tokenizer:
    """This thread's: one may not be used from two."""
    found: Tokenizer | None = getattr(_local, "tokenizer", None)
    if found is None:
        found = _local.tokenizer = dictionary().tokenizer(mode=SplitMode.C, fields={"pos", "reading_form"})
    return found


@lru_cache(maxsize=256)
def _spoken(text: str) -> frozenset[str]:
    """The consonants of a text's katakana and of its proper nouns."""
    text = unicodedata.normalize("NFKC", text)[:10_000]
    found = {_japanese(word) for word in _KATAKANA.findall(text)}
    for morpheme in tokenizer().tokenize(text):
        sound = _japanese(morpheme.reading_form())
        if morpheme.part_of_speech()[1] == "固有名詞" or (len(morpheme.surface()) == 1 and len(sound) > 1):
            found.add(sound)
    return frozenset(found - {""})


def _japanese(kana: str) -> str:
    return _once("".join(_CONSONANT.get(each, "") for each in kana))


def _latin(word: str) -> str:
    word = word.lower()
    for form, heard in _HEARD:
        word = re.sub(form, heard, word)
    return _once(word)


def _once(consonants: str) -> str:
    return re.sub(r"(.)\1+", r"\1", consonants)


def heard(name: str, text: str) -> bool:
    """Whether `text` has a name that sounds like `name` and is written in the other script, in whole or each part:
    SmartHR and スマートHR."""
    parts = _PART.findall(name) if name.isascii() else []
    if len(parts) > 1 and all(part in text or heard(part, text) for part in parts):
        return True
    if name.isascii():
        wanted, there = frozenset({_latin(name)} - {""}), _spoken(text) if _JAPANESE.search(text) else frozenset()
    else:
        wanted, there = _spoken(name), frozenset(map(_latin, _LATIN.findall(text)))
    return any(one in there or (len(one) >= _ENOUGH and any(one in other for other in there)) for one in wanted)
