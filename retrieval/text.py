"""Small facts about Japanese and English text that every room needs: its normal form, its language,
its sentences, and words that people see in both languages."""

import re
import string
import unicodedata
from dataclasses import dataclass
from typing import Literal

Language = Literal["ja", "en"]

_JAPANESE = re.compile(r"[\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f]")
_KANA = re.compile(r"[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]")
_LETTER = re.compile(r"[^\W\d_]")


class _Counting(string.Formatter):
    def format_field(self, value: object, spec: str) -> str:
        one, several, many = spec.partition("|")
        if several:
            return one if value in (1, "1") else many
        return str(super().format_field(value, spec))


_counting = _Counting()


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class Said:
    """One message to people, in both languages: `Said(en="…{name}…", ja="…{name}…")`.

    `{n:one|many}` is the first when `n` is 1: “{n} file{n:|s}”.
    """

    en: str
    ja: str

    def to(self, language: Language, **values: object) -> str:
        text = self.ja if language == "ja" else self.en
        return _counting.format(text, **values) if values else text


class SaidError(Exception):
    """A failure whose `reason` is fit for people, with `values` for its places; its own text is English, for the log."""

    def __init__(self, reason: Said, **values: object) -> None:
        super().__init__(reason.to("en", **values))
        self.reason = reason
        self.values = values

    def text(self, language: Language) -> str:
        return self.reason.to(language, **self.values)


def date_words(date: str, language: Language) -> str:
    """A day `2026-04-01` or a month `2026-04` as people write it; empty: empty."""
    year, _, rest = date.partition("-")
    month, _, day = rest.partition("-")
    if not month:
        return date
    if language == "ja":
        return f"{year}年{int(month)}月{f'{int(day)}日' if day else ''}"
    return f"{f'{int(day)} ' if day else ''}{_MONTHS[int(month) - 1]} {year}"


def normalise(text: str) -> str:
    """NFKC and case-folded to lower: 全角/半角 and case make no difference to search."""
    return unicodedata.normalize("NFKC", text).lower()


def language_of(text: str) -> Language:
    """`ja` when kana occur or a fifth of the letters are Japanese, else `en`.

    A Japanese question may be mostly Latin (「VPN の MTU は？」), so kana decide alone.
    """
    if _KANA.search(text):
        return "ja"
    letters = len(_LETTER.findall(text))
    return "ja" if letters and len(_JAPANESE.findall(text)) * 5 >= letters else "en"


_BOUNDARY = re.compile(
    r"""
    (?<=[。！？｡])(?![」』）】〕）。！？])      # a Japanese stop, unless the quotation or bracket closes after it
    | (?<=[。！？][」』）】])(?=[^、。，．はがをにでとものへや])
    | (?<=[.!?])(?=\s+["'“‘(\[]?[A-Z0-9\u3040-\u30ff\u4e00-\u9fff])
    | (?<=[.!?]["'”’)])(?=\s+["'“‘(\[]?[A-Z0-9])
    | \n+
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|St|No|Inc|Ltd|Co|Jr|Sr|Fig|approx|U\.S)|\b[A-Z])\.$"
)


def sentences(text: str) -> list[str]:
    """The sentences of `text` in order, stripped; 。！？, line ends and English stops end one, abbreviations do not."""
    found: list[str] = []
    start = 0
    for boundary in _BOUNDARY.finditer(text):
        piece = text[start : boundary.start()]
        if _ABBREVIATION.search(piece) and "\n" not in boundary.group():
            continue
        if piece.strip():
            found.append(piece.strip())
        start = boundary.end()
    if text[start:].strip():
        found.append(text[start:].strip())
    return found
