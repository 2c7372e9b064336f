"""Points at which a text may be cut inside a paragraph or a line, and the marks closed and opened again there.
Pure."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from adapters.markdown.spans import Emphasis, Span, scan, whole

# How good a place for a cut is, and how full a part must be for it; the last two only where nothing else is left.
HEADING, BLOCK, ITEM, INNER, STOP, CLAUSE, WORD, LEADS = range(8)

_LONG = 300  # characters of emphasis that may be cut between sentences
_MARKERS = 24  # characters of emphasis that are closed and opened again at a cut, at most

_CUTS = re.compile(
    r"(?:(?P<stop>(?:[。！？｡]+[」』）】〕]*|(?<![.!?])[.!?]+[\"'”’)*_]*(?=\s|\[))(?:[ \t]*\[\^?\d{1,3}\])*)"
    r"|(?P<clause>[、，；：]|[,;:](?=\s))"
    r"|(?=\s))[ \t\u3000]*(?P<line>\n[ \t]*(?:>[ \t]*)*)?"
)
_OPENS_BLOCK = re.compile(
    r"(?:\#{1,6}|[-+*]|\d{1,9}[.)])(?:\s|$)|>|`{3}|~{3}|\||=+[ \t]*(?:\n|$)|(?:[-*_][ \t]*){3,}(?:\n|$)|</?[a-z!?]|[ "
    r"\t]"
)
LEADING = re.compile(r"(?s:.*)[:：][*_]*[ \t]*|[> \t]*\*\*[^*\n]+\*\*[ \t]*")  # goes with what follows
_NOT_FIRST = "、。，．,.!?！？」』）】〕)]ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々:;：；"
MARGIN = re.compile(r"([ \t]*)((?:> ?)*)([ \t]*)")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_PIPE = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Cut:
    """A part ends at `at` with `after`, and the next begins there with `before`. `margin`: the indentation that what
    follows loses, outside and inside of quotations. `within`: the fence that goes on; `mid_line`: a line does."""

    at: int
    before: str = ""
    after: str = ""
    margin: tuple[int, int] = (0, 0)
    within: str = ""
    mid_line: bool = False


class Area:
    """Text with nothing but inline markup, `text[start:end]`. A part that begins in it begins with `before`, one that
    ends in it ends with `after`."""

    def __init__(self, text: str, start: int, end: int, before: str, after: str, margin: tuple[int, int]) -> None:
        self._text, self._start, self._end = text, start, end
        self._before, self._after, self._margin = before, after, margin
        self._inline = scan(text[start:end])
        self._closed = sorted(
            [(span.start + 1, span.end - 1) for span in self._inline.spans]
            + [(each.start + 1, each.inside) for each in self._inline.emphases]
            + [(each.close, each.end - 1) for each in self._inline.emphases]
        )
        self._short = [
            (each.start, each.end) for each in _outermost(self._inline.emphases) if each.end - each.start < _LONG
        ]
        self.places = self._found()

    def _found(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        line = self._start
        for cut in _CUTS.finditer(self._text, self._start, self._end):
            place = cut.end()
            rank = STOP if cut["stop"] or cut["line"] else CLAUSE if cut["clause"] else WORD
            if cut["line"]:
                rank = WORD if LEADING.fullmatch(self._text, line, cut.start("line")) else rank
                line = place
            if place >= self._end or not whole(self._text, place, place - 1):
                continue
            if self._open(place) and not _OPENS_BLOCK.match(self._text, place):
                found.append((place, max(rank, WORD) if self._kept_whole(place) else rank))
        return found

    def _open(self, place: int) -> bool:
        """Whether nothing is broken there."""
        at = bisect_right(self._closed, (place - self._start, len(self._text))) - 1
        return at < 0 or self._closed[at][1] < place - self._start

    def _kept_whole(self, place: int) -> bool:
        """Whether emphasis that is not long would be cut there."""
        at = bisect_right(self._short, (place - self._start, 0)) - 1
        return at >= 0 and place - self._start < self._short[at][1]

    def cut(self, place: int, opening: str = "", closing: str = "") -> Cut:
        at = place - self._start
        around = [each for each in self._inline.emphases if each.inside < at < each.close]
        around.sort(key=lambda each: each.start)
        markers = [self._text[self._start + each.start : self._start + each.inside] for each in around]
        if sum(map(len, markers)) > _MARKERS:
            markers = []
        before = f"{self._before}{''.join(markers)}{opening}"
        after = f"{closing}{''.join(reversed(markers))}{self._after}"
        return Cut(place, before, after, self._margin, mid_line=True)

    def forced(self, low: int, end: int) -> Iterator[Cut]:
        """Between characters: outside of what is better not cut, then in code and in a link's words, then anywhere."""
        low, end = max(low, self._start), min(end, self._end - 1)
        yield from (self.cut(place) for place in characters(self._text, low, end) if self._open(place))
        spans = [span for span in self._inline.spans if span.kind in ("code", "link")]
        starts = [span.start for span in spans]
        for place in characters(self._text, low, end):
            at = bisect_right(starts, place - self._start) - 1
            if at >= 0 and (around := self._around(spans[at], place - self._start)):
                yield self.cut(place, *around)
        yield from (self.cut(place) for place in characters(self._text, low, end))

    def _around(self, span: Span, at: int) -> tuple[str, str] | None:
        """The text that opens a code span or a link again, and the text that closes it."""
        text = self._text[self._start + span.start : self._start + span.end]
        first, last = span.inner[0] - span.start, span.inner[1] - span.start
        if not span.inner[0] < at < span.inner[1] or "`" in text[at - span.start - 1 : at - span.start + 1]:
            return None
        opening, closing = text[:first], text[last:]
        if span.kind == "link" and (text[at - span.start - 1] in "\\[" or text[at - span.start] in "]("):
            return None
        return (opening, closing) if span.kind == "link" or len(opening) <= _MARKERS else None


def _outermost(emphases: Iterable[Emphasis]) -> Iterator[Emphasis]:
    end = 0
    for each in sorted(emphases, key=lambda each: each.start):
        if each.start >= end:
            yield each
            end = each.end


def characters(text: str, low: int, end: int) -> Iterator[int]:
    """Places between characters in `text[low:end]` from the last, those first that break no rule of typesetting."""
    near = [place for place in range(end, max(low, end - 8), -1) if whole(text, place, low)]
    yield from sorted(near, key=lambda place: text[place : place + 1] in _NOT_FIRST)
    yield from (place for place in range(max(low, end - 8), low, -1) if whole(text, place, low))


def cells_of(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The positions of the cells of the row at `start`."""
    end = end if (stop := text.find("\n", start, end)) < 0 else stop
    first = start + len(text[start:end]) - len(text[start:end].lstrip("> \t"))
    pipes = [found.start() for found in _PIPE.finditer(text, first, end)]
    if not pipes or pipes[0] != first:
        pipes.insert(0, first - 1)
    if not text[pipes[-1] + 1 : end].strip():
        end = pipes.pop()
    return [(begin + 1, stop) for begin, stop in zip(pipes, [*pipes[1:], end], strict=True)]


def quote_marks(lead: str) -> str:
    return "> " * lead.count(">")


def blanked(lead: str) -> str:
    """A lead as it is before the lines after the first."""
    return re.sub(r"[^>]", " ", lead)


def margin_of(lead: str) -> tuple[int, int]:
    if ">" not in lead:
        return len(lead), 0
    return lead.index(">"), len(re.sub(r"^ ", "", lead[lead.rindex(">") + 1 :]))


def dedented(body: str, here: Cut) -> str:
    """`body` without the indentation of what it was in, line by line up to where it leaves that."""
    outer, inner = here.margin
    fence = here.within
    lines = body.split("\n")
    for at, line in enumerate(lines):
        found = MARGIN.match(line)
        if (at == 0 and here.mid_line) or found is None or not line.strip():
            continue
        blanks, quotes, more = found.groups()
        if not fence:
            outer = min(outer, len(blanks))
            inner = min(inner, len(more)) if quotes else inner
        lines[at] = blanks[outer:] + quotes + (more[inner:] if quotes else more) + line[found.end() :]
        if mark := _FENCE.match(line, found.end()):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
    return "\n".join(lines)
