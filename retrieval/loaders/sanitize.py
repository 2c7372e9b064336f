"""Takes out of text what people cannot see: control, bidi, zero-width and tag characters, and useless space."""

import re
import unicodedata
from pathlib import PurePath

_BREAKS = re.compile(r"\r\n?|[\v\f\x85\u2028\u2029]")
_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_SPACES = re.compile(r"[\u00a0\u1680\u2000-\u200a\u202f\u205f]")
_UNSEEN = re.compile(
    r"""
    [\x00-\x08\x0e-\x1f\x7f-\x9f]           # control
    | [\u00ad\u034f\u061c\u180b-\u180f]     # soft hyphen, joiners and marks without a shape
    | [\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]  # zero-width, bidi
    | [\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800]  # fillers that look like nothing
    | [\ufe00-\ufe0e\U000e0100-\U000e01ef]  # variation selectors: also a way to smuggle bytes
    | [\U000e0000-\U000e0fff]               # tags
    | [\ufff0-\ufffc\ufdd0-\ufdef]          # specials and noncharacters, but not U+FFFD
    | [\ud800-\udfff]
    | [\ufffe\uffff\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe\U0003ffff\U0010fffe\U0010ffff]
    """,
    re.VERBOSE,
)
_PICTURE = (
    r"[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55"
    r"\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_LOOSE_SELECTOR = re.compile(rf"(?<!{_PICTURE})(?<![0-9#*])\ufe0f")
_LOOSE_JOINER = re.compile(rf"(?<![\ufe0f])(?<!{_PICTURE})\u200d|\u200d(?!{_PICTURE})")
_ACCENTED = re.compile(r"[^\W\d_][\u0300-\u036f\u3099\u309a]+")
_TRAILING = re.compile(r"(?<![ \t\u3000])[ \t\u3000]+$", re.MULTILINE)  # begun once a run: linear
_BLANK = re.compile(r"\n{3,}")


def clean(text: str) -> str:
    """`text` without invisible characters, with `\\n` line ends and at most one blank line in a row.

    Decomposed letters are composed (か + ゛ → が, as macOS writes them). The visible wording is unchanged, apart from
    odd kinds of space, which become plain ones. Cleaning twice is cleaning once.
    """
    text = _BREAKS.sub("\n", text)
    text = _SPACES.sub(" ", _TERMINAL.sub("", text))
    text = _UNSEEN.sub("", text)
    text = _fixed(_LOOSE_SELECTOR, text)
    text = _fixed(_LOOSE_JOINER, text)
    text = _ACCENTED.sub(lambda found: unicodedata.normalize("NFC", found.group()), text)
    return _BLANK.sub("\n\n", _TRAILING.sub("", text)).strip("\n")


def clean_line(text: str, longest: int = 200) -> str:
    """The same for a name or title: one line, at most `longest` characters."""
    return " ".join(clean(text).split())[:longest].rstrip()


def clean_name(name: str, longest: int = 400) -> str:
    """The same for a file: what is too long keeps its ending, which says how the file is read. Never empty."""
    line = clean_line(name, 1_000) or "?"
    suffix = PurePath(line).suffix[:longest]
    return line[: len(line) - len(suffix)][: longest - len(suffix)].rstrip() + suffix


def _fixed(pattern: re.Pattern[str], text: str) -> str:
    """Removing one loose mark can loosen its neighbour: until nothing is left to remove."""
    while True:
        text, removed = pattern.subn("", text)
        if not removed:
            return text
