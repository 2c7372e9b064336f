"""Words and character n-grams of Japanese and English text as BM25-weighted sparse vectors.

The encoder puts the document's half of BM25 (term frequency against length) into the vector; the engine multiplies by
inverse document frequency when it searches.
"""

import re
import threading
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

from py_rust_stemmers import SnowballStemmer  # type: ignore[import-untyped]
from sudachipy import Dictionary, PosMatcher, SplitMode, Tokenizer  # type: ignore[import-untyped]

from retrieval.memory import let_go
from retrieval.text import normalise
from retrieval.types import SparseVector

DICTIONARY = "small"
TOKENIZER = f"kotae 3, sudachidict-{DICTIONARY} {metadata.version(f'sudachidict-{DICTIONARY}')}"
"""Names everything that decides which terms a text has. Vectors of two names never meet in one store."""
_FOLDER = Path(str(files(f"sudachidict_{DICTIONARY}")))

K1 = 1.2
B = 0.75

# A run of Latin letters and digits, joined inside by . _ - or an apostrophe: `KOTAE_HOME`, `v2.1`, `foo-bar`, `don't`.
_LATIN = r"[0-9a-z\u00df-\u024f]"
_RUN = re.compile(rf"{_LATIN}+(?:[._'\-]+{_LATIN}+)*(?:(?<![0-9a-z][a-z])(?:\+\+|\#)(?!{_LATIN}))?")
_PARTS = re.compile(r"[._\-]+")
_CAMEL = re.compile(r"(?<![0-9A-Za-z])[A-Za-z]*[a-z][A-Z][A-Za-z]*(?![0-9A-Za-z])")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MEASURE = re.compile(r"(\d+(?:\.\d+)?)([a-z]+)")
_VERSION = re.compile(r"v(\d+(?:\.\d+)+)")
_JAPANESE_RUN = re.compile(
    r"[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_NO_WORDS = re.compile(r"[\s!-/:-@\[-`{-~\u2010-\u2027]*")  # what is left of English text: Sudachi finds no term in it
_HIRAGANA = frozenset(map(chr, range(0x3041, 0x30A0))) | {"ー"}
_LONG_KATAKANA = re.compile(r"^([\u30a1-\u30ff]{3,})ー$")
_SENTENCE_END = re.compile(r"[。！？!?\n]")
_ANALYSED_AT_ONCE = 12_000  # characters; Sudachi refuses more than 49,149 bytes

_STOP = frozenset(
    """a about above after again against all also am an and any are aren't as at be because been before being below
    between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for
    from further had hadn't has hasn't have haven't having he her here hers herself him himself his how i if in into is
    isn't it it's its itself just me more most my myself no nor not now of off on once only or other our ours ourselves
    out over own please same shall she should shouldn't so some such than that that's the their theirs them themselves
    then there these they this those through to too under until up upon us very was wasn't we were weren't what what's
    when where which while who whom whose why will with won't would wouldn't you your yours yourself
    yourselves""".split()  # noqa: SIM905
)
_STEMMER = SnowballStemmer("english")
_STOP_JA = frozenset({"為る", "居る", "有る", "成る"})  # する いる ある なる, as Sudachi writes them
_CONTENT = frozenset({"名詞", "動詞", "形容詞", "形状詞", "副詞", "接頭辞", "接尾辞"})


@dataclass(frozen=True, slots=True)
class Encoded:
    """A passage's words and n-grams, weighted as BM25 weighs term frequency, and the ids of the words in each part."""

    words: SparseVector
    ngrams: SparseVector
    parts: tuple[frozenset[int], ...]


_loading = threading.Lock()


@lru_cache(maxsize=1)
def _loaded() -> Dictionary:
    loaded = Dictionary(dict=DICTIONARY)
    put_down()
    return loaded


def dictionary() -> Dictionary:
    """Sudachi's dictionary, loaded at first use (0.1 s, 30 MB) and shared: any thread may make a tokenizer from it, but
    a tokenizer belongs to one thread."""
    with _loading:
        return _loaded()


def put_down() -> None:
    """Take what has been read of the dictionary out of this process, 60 MB behind a batch of passages; the next text
    finds what it needs in the system's cache (1 ms)."""
    let_go(_FOLDER)


class SparseEncoder:
    """Text → (words, n-grams), 1-2 ms a chunk. Safe in any number of threads; the dictionary loads at first use (0.1
    s).

    `average_words` and `average_ngrams` are the lengths in terms of an average chunk. Constants, because a true average
    would change with every document and with it every weight; those of Japanese paragraphs of 380 characters cost at
    most .002 of nDCG@10 against each set's own averages (117 and 430 terms in such paragraphs, 83 and 81 in English
    ones of 860 characters). Too small a value costs more than too large a one.
    """

    def __init__(self, average_words: float = 120.0, average_ngrams: float = 430.0) -> None:
        self._average_words = average_words
        self._average_ngrams = average_ngrams
        self._local = threading.local()

    def terms(self, text: str) -> list[str]:
        """Content words in one spelling: Japanese by Sudachi, Latin runs stemmed, identifiers whole and by parts.

        Those of Latin runs come first, each part in reading order.
        """
        latin, rest = _split(_CAMEL.sub(_joined, text))
        found = [term for run in latin for term in _latin_terms(run)]
        for piece in _pieces(rest):
            found += self._japanese(piece)
        return found

    def ngrams(self, text: str) -> list[str]:
        """Characters and pairs of characters of Japanese runs, but none of hiragana alone, which is grammar (without
        them this branch is a fifth smaller and ranks better: nDCG@10 .938 against .932); Latin runs as words, not
        stemmed."""
        latin, rest = _split(text)
        found = [
            word
            for run in latin
            for word in ([run] if _NUMBER.fullmatch(run) else _PARTS.split(run))
            if word not in _STOP
        ]
        for run in _JAPANESE_RUN.findall(rest):
            found += (a for a in run if a not in _HIRAGANA)
            found += (a + b for a, b in pairwise(run) if a not in _HIRAGANA or b not in _HIRAGANA)
        return found

    def document(self, *parts: str) -> Encoded:
        """A passage, whole or in parts that are read in this order."""
        terms = [self.terms(part) for part in parts]
        ngrams = [ngram for part in parts for ngram in self.ngrams(part)]
        return Encoded(
            _weighted([term for part in terms for term in part], self._average_words),
            _weighted(ngrams, self._average_ngrams),
            tuple(frozenset(map(term_id, part)) for part in terms),
        )

    def query(self, text: str) -> tuple[SparseVector, SparseVector]:
        """Words and n-grams of a question, counted. Empty when it has none: then leave that branch out."""
        return _counted(self.terms(text)), _counted(self.ngrams(text))

    def _japanese(self, text: str) -> list[str]:
        if _NO_WORDS.fullmatch(text):
            return []
        tokenizer, content = self._sudachi()
        return [term for word in tokenizer.tokenize(text) if content(word) for term in _japanese_terms(word.surface())]

    def _sudachi(self) -> tuple[Tokenizer, PosMatcher]:
        """This thread's tokenizer: one may not be used from two threads. The dictionary is shared."""
        if not hasattr(self._local, "tokenizer"):
            loaded = dictionary()
            self._local.tokenizer = loaded.tokenizer(
                mode=SplitMode.A, fields={"pos", "normalized_form"}, projection="normalized"
            )
            self._local.content = loaded.pos_matcher(lambda pos: pos[0] in _CONTENT)
        return self._local.tokenizer, self._local.content


def term_id(term: str) -> int:
    """A stable number of 32 bits. Two terms rarely share one (30 pairs in half a million); then they count as one."""
    return zlib.crc32(term.encode())


def _split(text: str) -> tuple[list[str], str]:
    """The Latin runs of the normalised text, and the rest with a space in the place of each."""
    text = _THOUSANDS.sub("", normalise(text).replace("\u2019", "'"))
    return _RUN.findall(text), _RUN.sub(" ", text)


def _joined(camel: re.Match[str]) -> str:
    """`DiskAlmostFull` as `Disk_Almost_Full`. Two words are a name of their own (who asks about Java does not mean
    JavaScript), and so is what has a letter by itself (LaTeX)."""
    parts = _HUMP.split(camel.group())
    return "_".join(parts) if len(parts) > 2 and all(len(part) > 1 for part in parts) else camel.group()


def _pieces(text: str) -> Iterator[str]:
    """`text` in pieces short enough for Sudachi, cut behind the last sentence end where there is one."""
    start = 0
    while len(text) - start > _ANALYSED_AT_ONCE:
        limit = start + _ANALYSED_AT_ONCE
        ends = [found.end() for found in _SENTENCE_END.finditer(text, start, limit)]
        end = ends[-1] if ends else limit
        yield text[start:end]
        start = end
    yield text[start:]


@lru_cache(maxsize=1 << 15)
def _latin_terms(run: str) -> tuple[str, ...]:
    """The terms of a Latin run: its stem, or an identifier whole and by parts; none for a stop word."""
    if run in _STOP or run.removesuffix("'s") in _STOP:
        return ()
    parts = _PARTS.split(run)
    if measure := _MEASURE.fullmatch(run):  # 16gb is found by 16 GB too
        return (run, measure[1], _stem(measure[2]))
    if len(parts) == 1 or _NUMBER.fullmatch(run):
        return (_stem(run),)
    whole = _stem(run.replace("-", "").replace("_", ""))  # e-mail, e_mail and email meet
    bare = version.groups() if (version := _VERSION.fullmatch(run)) else ()  # v2.1 is also 2.1
    return (whole, *bare, *(_stem(part) for part in parts if part not in _STOP))


@lru_cache(maxsize=1 << 16)
def _japanese_terms(normalised: str) -> tuple[str, ...]:
    """The term of a word in Sudachi's normalised form, none for a stop word: lower case, and a long katakana word
    without its last ー. What became Latin there (グーグル → Google, 二〇二四 → 2024) is treated as Latin.
    """
    term = normalise(normalised)
    if term in _STOP_JA:
        return ()
    if term.isascii():
        return tuple(found for run in _RUN.findall(term) for found in _latin_terms(run))
    return (_LONG_KATAKANA.sub(r"\1", term),)


def _stem(word: str) -> str:
    return str(_STEMMER.stem_word(word)) if word.replace("'", "").isalpha() else word


def _weighted(terms: Sequence[str], average: float) -> SparseVector:
    """BM25's weight of each term: tf·(k1 + 1) / (tf + k1·(1 − b + b·length / average))."""
    norm = K1 * (1 - B + B * len(terms) / average)
    return _vector({term: count * (K1 + 1) / (count + norm) for term, count in Counter(terms).items()})


def _counted(terms: Sequence[str]) -> SparseVector:
    return _vector({term: float(count) for term, count in Counter(terms).items()})


def _vector(weights: Mapping[str, float]) -> SparseVector:
    summed: dict[int, float] = {}
    for term, weight in weights.items():
        number = term_id(term)
        summed[number] = summed.get(number, 0.0) + weight
    indices = sorted(summed)
    return SparseVector(tuple(indices), tuple(summed[number] for number in indices))
