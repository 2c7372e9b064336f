"""Spans in a line of Markdown, by their places in the text: code spans, links, emphasis, graphemes. Pure, linear.

A parser that gives a tree forgets where things stood; cutting and rewriting a text need just that.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["code", "link", "image", "mark", "tag", "auto", "url", "entity", "escape"]

URL = r"https?://(?:\([^\s()<>*|`\"'\[\]\\）」』】、。，＞〉》“”]*\)|[^\s()<>*|`\"'\[\]\\）」』】、。，＞〉》“”])+"
"""A bare address, as agent/links.py takes it; `TRAILING` is no part of it at its end."""

TRAILING = ".,;:!?*_~…"

_TOKEN = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`+)"
    r"|(?P<open>!?\[)"
    r"|(?P<close>\])"
    r"|(?P<auto><(?:[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*|[\w.+-]{1,64}@[a-zA-Z0-9][a-zA-Z0-9.-]{0,253})>)"
    # HTML, and links as Slack has them
    r"|(?P<tag></?[a-zA-Z!?][^<>\n`\[\]]*>|<(?:https?|mailto):[^\s<>|`]*\|[^<>\n`]*>)"
    r"|(?P<entity>&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});)"
    rf"|(?P<url>{URL})"
    r"|(?P<run>\*+|_+|~+)"
)
_TARGET = re.compile(
    r"\([ \t]*\n?[ \t]*(?:<(?P<angled>[^<>\n]{0,4000})>"
    r"|(?P<bare>(?:\\[!-/:-@\[-`{-~]|[^\s()<>\\]|\((?:[^\s()<>]{0,1000})\)){0,4000}))"
    r"(?:\s+(?:\"[^\"]{0,1000}\"|'[^']{0,1000}'|\([^()]{0,1000}\)))?[ \t]*\n?[ \t]*\)"
)
_REFERENCE = re.compile(r"\[[^\[\]\n]{0,200}\]")
_SHORT = 12  # characters in brackets: a citation, [1], is never cut


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text that is not cut: `text[start:end]`. Of a code span, a link and an image, `inner` is what is
    shown; `target` is where a link leads or an image lies, as written."""

    kind: Kind
    start: int
    end: int
    inner: tuple[int, int] = (0, 0)
    target: str = ""


@dataclass(frozen=True, slots=True)
class Emphasis:
    """`text[start:inside]` opens it and `text[close:end]` closes it. `sure`: CommonMark too takes them for emphasis,
    where Japanese stands around them without blanks."""

    start: int
    inside: int
    close: int
    end: int
    opens_surely: bool = True
    closes_surely: bool = True


@dataclass(slots=True)
class _Run:
    """A row of equal delimiters, of which `start:end` are not used yet."""

    char: str
    start: int
    end: int
    opens: bool
    closes: bool
    sure: tuple[bool, bool]
    length: int

    @property
    def left(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Inline:
    """`spans` in their order, none inside another; `emphases` by where they end, none inside a span."""

    spans: tuple[Span, ...]
    emphases: tuple[Emphasis, ...]


def scan(text: str) -> Inline:
    """The inside of one block: a paragraph, a heading, a table's cell."""
    spans: list[Span] = []
    runs: list[_Run] = []
    brackets: list[tuple[int, bool, int, int]] = []  # where, image, how many spans and runs were there before
    ticks = _tick_runs(text)
    at = 0
    while found := _TOKEN.search(text, at):
        start, at = found.span()
        match found.lastgroup:
            case "escape" | "tag" | "auto" | "entity" as kind:
                spans.append(Span(kind, start, at))
            case "ticks":
                if (closing := _closing(ticks, at - start, at)) is not None:
                    spans.append(Span("code", start, closing + at - start, (at, closing)))
                    at = closing + at - start
            case "url":
                at = start + len(found.group().rstrip(TRAILING))
                spans.append(Span("url", start, at))
            case "open":
                brackets.append((start, found.group() == "![", len(spans), len(runs)))
            case "close" if brackets:
                where, image, spans_before, runs_before = brackets.pop()
                if span := _bracketed(text, where, image, at):
                    del spans[spans_before:], runs[runs_before:]
                    spans.append(span)
                    at = span.end
            case "run":
                runs.append(_run(text, start, at))
    return Inline(tuple(spans), tuple(_emphases(runs)))


def _tick_runs(text: str) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    if "`" in text:
        for run in re.finditer(r"`+", text):
            found.setdefault(run.end() - run.start(), []).append(run.start())
    return found


def _closing(ticks: dict[int, list[int]], length: int, after: int) -> int | None:
    places = ticks.get(length, [])
    at = bisect_right(places, after)
    return places[at] if at < len(places) else None


def _bracketed(text: str, start: int, image: bool, after: int) -> Span | None:
    """The link, image or short text in brackets that begins at `start` and whose bracket closes before `after`."""
    inner = (start + 1 + image, after - 1)
    if found := _TARGET.match(text, after):
        target = found["angled"] if found["angled"] is not None else found["bare"]
        return Span("image" if image else "link", start, found.end(), inner, target)
    if found := _REFERENCE.match(text, after):
        return Span("mark", start, found.end(), inner)
    return Span("mark", start, after, inner) if after - start - 2 <= _SHORT else None


def _run(text: str, start: int, end: int) -> _Run:
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    strict = _flanks(text[start], before, after, friendly=False)
    opens, closes = _flanks(text[start], before, after, friendly=True)
    return _Run(text[start], start, end, opens, closes, strict, end - start)


def _flanks(char: str, before: str, after: str, *, friendly: bool) -> tuple[bool, bool]:
    """Whether delimiters may open and close emphasis. CommonMark's rule, and (`friendly`) the one that people who write
    without blanks mean: beside a wide character a sign is a letter. Source: spec.commonmark.org, commonmark-spec
    #650."""
    blank_before, blank_after = before.isspace(), after.isspace()
    sign_before, sign_after = _sign(before), _sign(after)
    left = not blank_after and (not sign_after or blank_before or sign_before)
    right = not blank_before and (not sign_before or blank_after or sign_after)
    if char == "_":
        return left and (not right or sign_before), right and (not left or sign_after)
    if friendly:
        left = left or (not blank_after and (wide(after) or wide(before)))
        right = right or (not blank_before and (wide(before) or wide(after)))
    return left, right


def _sign(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"


def wide(char: str) -> bool:
    """Whether a character takes two columns, as Japanese ones and their punctuation do."""
    return char > "\u10ff" and unicodedata.east_asian_width(char) in "WF"


def _emphases(runs: list[_Run]) -> Iterator[Emphasis]:
    """CommonMark's algorithm: each closing run looks back for the nearest opening one."""
    stack: list[_Run] = []
    bottom: dict[tuple[str, bool, int], int] = {}  # below which no opening run is left for such a closing one
    for run in runs:
        if run.char == "~" and run.length > 2:
            continue
        if run.closes:
            key = (run.char, run.opens, run.length if run.char == "~" else run.length % 3)
            while run.left:
                at = next((i for i in range(len(stack) - 1, bottom.get(key, 0) - 1, -1) if _pair(stack[i], run)), None)
                if at is None:
                    bottom[key] = len(stack)
                    break
                opening = stack[at]
                used = min(2, opening.left, run.left)
                yield Emphasis(
                    opening.end - used, opening.end, run.start, run.start + used, opening.sure[0], run.sure[1]
                )
                opening.end -= used
                run.start += used
                del stack[at + bool(opening.left) :]
                bottom = {each: min(height, len(stack)) for each, height in bottom.items()}
        if run.opens and run.left:
            stack.append(run)


def _pair(opening: _Run, closing: _Run) -> bool:
    if opening.char != closing.char:
        return False
    if opening.char == "~":
        return opening.length == closing.length
    either = opening.closes or closing.opens
    thirds = (opening.length + closing.length) % 3 or (opening.length % 3 == 0 and closing.length % 3 == 0)
    return not either or bool(thirds)


def whole(text: str, at: int, start: int = 0) -> bool:
    """Whether `text` may be cut at `at` without cutting what people see as one character (a flag, an emoji made of
    several, a letter with its marks). `start`: a place before `at` that is known to be such.

    Source: Unicode UAX #29, without the rules for Indic conjuncts.
    """
    if not start < at < len(text):
        return True
    before, after = text[at - 1], text[at]
    if after < "\u0300" and before < "\u0300":
        return not (before == "\r" and after == "\n")
    if _extends(after) or before == "\u200d" or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"):
        return False
    if _flag(after) and _flag(before):
        first = at - 1
        while first > start and _flag(text[first - 1]):
            first -= 1
        return (at - first) % 2 == 0
    return not _hangul_goes_on(before, after)


def _extends(char: str) -> bool:
    return (
        unicodedata.category(char) in ("Mn", "Me", "Mc")
        or char in "\u200c\u200d\uff9e\uff9f"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
    )


def _flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _hangul_goes_on(before: str, after: str) -> bool:
    """Hangul written by its parts: leading consonant, vowel, trailing consonant; or a syllable and what follows it."""
    if not "\u1100" <= after <= "\u11ff":
        return "\u1100" <= before <= "\u115f" and "\uac00" <= after <= "\ud7a3"
    if "\u1100" <= before <= "\u115f":
        return after <= "\u11a7"
    syllable = "\uac00" <= before <= "\ud7a3"
    ends = syllable and (ord(before) - 0xAC00) % 28 != 0
    if "\u1160" <= after <= "\u11a7":
        return "\u1160" <= before <= "\u11a7" or (syllable and not ends)
    return after >= "\u11a8" and ("\u1160" <= before <= "\u11ff" or syllable)
