"""Small facts about Japanese and English text that every room needs: its normal form, its language and its sentences;
and how Markdown is read by several threads.
"""

import re
import unicodedata
from typing import TYPE_CHECKING

from retrieval.i18n import Language

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LIST_MARK = re.compile(r"^\s*(?:(?:[-*+>•]|\d{1,3}[.)])\s+)+")
_CELL = re.compile(r"\s*(?<!\\)\|\s*")
_JAPANESE = re.compile(r"[\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f]")
_KANA = re.compile(r"[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]")
_LETTER = re.compile(r"[^\W\d_]")

_HTML_INLINE = frozenset(
    re.findall(
        r"\w+",
        "a abbr acronym b bdi bdo big cite code data del dfn em embed font i iframe img input ins kbd"
        " label map mark meta object param picture q rp rt ruby s samp small source span strike strong sub"
        " sup svg time tt u var video wbr audio button canvas link select option textarea path g use",
    )
)
HTML_BLOCKS = frozenset(
    re.findall(
        r"\w+",
        "address article aside blockquote body br caption center col colgroup dd details dialog div dl dt"
        " fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html li main menu"
        " nav ol p pre section summary table tbody td tfoot th thead title tr ul",
    )
)
HTML_TAGS = _HTML_INLINE | HTML_BLOCKS


def normalise(text: str) -> str:
    """NFKC and case-folded to lower: 全角/半角 and case make no difference to search."""
    return unicodedata.normalize("NFKC", text).lower()


def encodable(text: str) -> str:
    """With U+FFFD for half a surrogate pair, which people and models do send and no encoding takes; two halves that
    stand together are the character that they mean."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def language_of(text: str) -> Language:
    """`ja` when kana occur or a fifth of the letters are Japanese, else `en`.

    A Japanese question may be mostly Latin (「VPN の MTU は？」), so kana decide alone.
    """
    if not _JAPANESE.search(text):
        return "en"
    if _KANA.search(text):
        return "ja"
    letters = len(_LETTER.findall(text))
    return "ja" if letters and len(_JAPANESE.findall(text)) * 5 >= letters else "en"


_BOUNDARY = re.compile(
    r"""
    (?<=[。！？｡])(?![」』）】〕）。！？])      # a Japanese stop, unless the quotation or bracket closes after it
    | (?<=[。！？][」』）】])(?=[^、。，．はがをにでとものへや])
    | (?<=[.!?])(?<![ap]\.m\.(?=\s[A-Z]{2,4}\b))(?=\s+["'“‘(\[]?[A-Z0-9\u3040-\u30ff\u4e00-\u9fff])
    | (?<=[.!?]["'”’)])(?=\s+["'“‘(\[]?[A-Z0-9])
    | \n+
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|St|No|Inc|Ltd|Co|Jr|Sr|Fig|approx|U\.S|[A-Z])\.$")
_LONGEST = len("approx.")  # of them: only the end of a text has to be looked at
_ENUMERATED = re.compile(r"\W*[A-Za-z]{0,3}\d{1,3}\.")


def beginning(text: str, length: int) -> str:
    """At most so many characters of a text; no word of Latin letters and no number is cut in two."""
    cut = text[:length]
    cut = cut[: cut.rindex(" ")] if " " in cut[length // 2 :] else cut
    return re.sub(r"[\d.,:/]+$", "", cut).rstrip()


def sentences(text: str) -> list[str]:
    """The sentences of `text` in order, stripped; 。！？, line ends and English stops end one, abbreviations do not."""
    found: list[str] = []
    start = 0
    for boundary in _BOUNDARY.finditer(text):
        piece = text[start : boundary.start()]
        goes_on = _ABBREVIATION.search(piece, len(piece) - _LONGEST) or _ENUMERATED.fullmatch(piece)
        if goes_on and "\n" not in boundary.group():
            continue
        if piece.strip():
            found.append(piece.strip())
        start = boundary.end()
    if text[start:].strip():
        found.append(text[start:].strip())
    return found


def compiled(parser: "MarkdownIt") -> "MarkdownIt":
    """A Markdown parser, with its rules compiled. Call it when they are chosen, and choose none after it.

    markdown-it-py compiles them at the first text. Another thread that comes meanwhile reads its own text with some of
    the rules, or with none, and finds no blocks in it. Source: markdown_it/ruler.py, `Ruler.getRules`.
    """
    for ruler in (parser.core.ruler, parser.block.ruler, parser.inline.ruler, parser.inline.ruler2):
        ruler.getRules("")
    return parser


def unmarked(quotation: str) -> str:
    """Lines of Markdown without the marks of lists, quotations and tables, which say nothing once they stand in one
    line."""
    lines = (_LIST_MARK.sub("", line) for line in quotation.splitlines())
    return "\n".join(
        _CELL.sub(" / ", line.strip().strip("|").strip()).replace(r"\|", "|") if "|" in line else line for line in lines
    )
