"""The places in a document of the words that an answer quotes: pages mark them there."""

import re
import unicodedata

_Letters = list[tuple[str, int]]  # each with the place of the sign it comes from
_SENTENCE = re.compile(r"[^\n]*?(?:[。．！？!?][」』）)]*|\.(?=\s)|(?=\n)|$)")


def found(quote: str, text: str) -> tuple[int, int] | None:
    """From where to where `text` has `quote`; None: nowhere.

    Letters and digits count, in any width and case: a quotation has lost the line breaks of its document, and may have
    lost its markup. One that ends in "…" is the beginning of a sentence, which is found whole.
    """
    wanted = _squeezed(quote)
    if not wanted or wanted not in _squeezed(text):  # as most texts are looked at in vain
        return None
    letters = _letters(text)
    at = "".join(letter for letter, _ in letters).find(wanted)
    if at < 0:
        return None
    start, end = letters[at][1], letters[at + len(wanted) - 1][1] + 1
    opening, closing = _edges(quote)
    if closing.endswith("…") and (rest := _SENTENCE.match(text, end)):
        end = rest.end()
    elif text.startswith(closing, end):
        end += len(closing)
    return start - len(opening) if text[:start].endswith(opening) else start, end


def _letters(text: str) -> _Letters:
    return [(letter, at) for at, sign in enumerate(text) for letter in _folded(sign) if letter.isalnum()]


def _squeezed(text: str) -> str:
    return "".join(filter(str.isalnum, _folded(text)))


def _folded(text: str) -> str:
    """Taken apart, so that a voiced kana is the same as one sign and as two: ガ and ｶﾞ."""
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())


def _edges(quote: str) -> tuple[str, str]:
    """The signs before the first letter and after the last: 「 and 。」."""
    letters = _letters(quote)
    return quote[: letters[0][1]], quote[letters[-1][1] + 1 :]
