"""Standard Markdown in parts that a platform takes, each of them good Markdown of its own. Pure, in linear time."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from adapters.blocks import Block, Item, Structure, structure
from adapters.inline import Emphasis, Span, scan, whole

Measure = Callable[[str], int]

SMALLEST = 40
"""The smallest limit that `split` takes: less leaves no room for a fence or a table's header around a few letters."""

# How good a place for a cut is, and how full a part must be for it; the last two only where nothing else is left.
_HEADING, _BLOCK, _ITEM, _INNER, _STOP, _CLAUSE, _WORD, _LEADS = range(8)
_FULL = (0.4, 0.5, 0.5, 0.5, 0.5, 0.6)
_KEPT_WHOLE = 0.2  # so full a part is closed before a fence or a table that then stays in one piece
_LONG = 300  # characters of emphasis that may be cut between sentences
_MARKERS = 24  # characters of emphasis that are closed and opened again at a cut, at most

_CUTS = re.compile(
    r"(?P<line>[ \t]*\n[ \t]*(?:> ?[ \t]*)*)"
    r"|(?P<stop>(?:[。！？｡]+[」』）】〕]*|[.!?]+[\"'”’)*_]*(?=\s|\[))(?:[ \t]*\[\^?\d{1,3}\])*[ \t\u3000]*)"
    r"|(?P<clause>[、，；：][ \t\u3000]*|[,;:][ \t]+)"
    r"|(?P<word>[ \t\u3000]+)"
)
_OPENS_BLOCK = re.compile(
    r"(?:\#{1,6}|[-+*]|\d{1,9}[.)])(?:\s|$)|>|`{3}|~{3}|\||=+[ \t]*(?:\n|$)|(?:[-*_][ \t]*){3,}(?:\n|$)|</?[a-z!?]|[ \t]"
)
_LEADING = re.compile(r"(?s:.*)[:：][*_]*[ \t]*|[> \t]*\*\*[^*\n]+\*\*[ \t]*")  # goes with what follows
_NOT_FIRST = "、。，．,.!?！？」』）】〕)]ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々:;：；"
_MARGIN = re.compile(r"([ \t]*)((?:> ?)*)([ \t]*)")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_PIPE = re.compile(r"(?<!\\)\|")


def utf8_length(text: str) -> int:
    """Bytes of `text` in UTF-8, a measure for `split`."""
    return len(text.encode("utf-8", "surrogatepass"))


def split(markdown: str, limit: int, *, measure: Measure = len, first: int | None = None) -> list[str]:
    """`markdown` in parts that each measure no more than `limit` (the first no more than `first`), cut at the best
    places: before headings, paragraphs, list items, rows, sentences, words.

    A fence is closed and opened again in the next part, a table's header is repeated, emphasis is closed and opened
    again, a list goes on with its numbers and loses the indentation of what it was in. Code spans, links, rows and
    characters made of several code points are cut only where one alone is over the limit. Nothing else is added, and
    nothing but whitespace is lost; blank text has no parts.

    `measure` may count anything that does not get less as a text gets longer. Raises ValueError for a limit under
    `SMALLEST`.
    """
    first = limit if first is None else min(first, limit)
    if first < SMALLEST:
        raise ValueError(f"a limit of at least {SMALLEST} is needed, not {first}")
    text = markdown.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        return []
    if measure(text) <= first and "```" not in text and "~~~" not in text:
        return [markdown]
    return list(_Splitter(text, limit, first, measure).parts())


@dataclass(frozen=True, slots=True)
class _Cut:
    """A part ends at `at` with `after`, and the next begins there with `before`. `margin`: the indentation that what
    follows loses, outside and inside of quotations. `within`: the fence that goes on; `mid_line`: a line does."""

    at: int
    before: str = ""
    after: str = ""
    margin: tuple[int, int] = (0, 0)
    within: str = ""
    mid_line: bool = False


class _Splitter:
    def __init__(self, text: str, limit: int, first: int, measure: Measure) -> None:
        self._text = text
        self._limit = limit
        self._first = first
        self._measure = measure
        found = structure(text)
        self._structure = replace(found, blocks=tuple(self._splittable(block) for block in found.blocks))
        self._bounds = _bounds(text, self._structure)
        self._item_starts = [item.start for item in found.items]
        self._areas: dict[int, _Area] = {}

    def _splittable(self, block: Block) -> Block:
        """What takes too much to open again is cut like any lines."""
        text = self._text
        match block.kind:
            case "fence":
                around = text[block.start : block.inside] + block.marker
            case "table":
                around = text[block.start : block.inside]
            case _:
                return block
        return block if self._measure(around) <= self._first // 2 else replace(block, kind="lines")

    def parts(self) -> Iterator[str]:
        last = self._last()
        here = _Cut(0)
        budget = self._first
        while here.at < last.at:
            end = min(self._reach(here, budget), last.at)
            cut = last
            if end < last.at or self._measure(self._part(here, last)) > budget:
                cut = next(
                    (each for each in self._choices(here, end) if self._measure(self._part(here, each)) <= budget),
                    replace(here, at=here.at + 1, after=""),
                )
            if self._text[here.at : cut.at].strip():
                yield self._part(here, cut)
                budget = self._limit
            here = cut

    def _last(self) -> _Cut:
        """The end of the text, where a fence that nothing closes is closed."""
        block = self._structure.blocks[-1] if self._structure.blocks else None
        if block is None or block.kind != "fence" or block.close < block.end:
            return _Cut(len(self._text.rstrip()))
        return _Cut(block.end, after=f"\n{_blanked(block.lead)}{block.marker}", within=block.marker)

    def _reach(self, here: _Cut, budget: int) -> int:
        """The furthest place to which a part can go."""
        size = len(self._text)
        if self._measure is len:
            return max(here.at + budget - len(here.before), here.at + 1)
        low, high = here.at, min(size, here.at + budget)
        while self._measure(here.before + self._text[here.at : high]) <= budget:
            if high == size:
                return size
            low, high = high, min(size, high + budget)
        while high - low > 1:
            middle = (low + high) // 2
            if self._measure(here.before + self._text[here.at : middle]) <= budget:
                low = middle
            else:
                high = middle
        return max(low, here.at + 1)

    def _part(self, here: _Cut, cut: _Cut) -> str:
        body = self._renumbered(here, cut.at)
        if cut.within:
            body = body.rstrip("\n") + cut.after  # the closing line is moved to the left with the others
        if here.margin != (0, 0):
            body = _dedented(body, here)
        if not here.within:
            body = body.lstrip() if here.mid_line else re.sub(r"\A(?:[ \t]*\n)+", "", body)
        if cut.within:
            return here.before + body
        if re.search(r"(?<!\\)(?:\\\\)*\\\n[ \t]*\Z", body):  # a line end that was written as a backslash
            body = body.rstrip()[:-1]
        return here.before + body.rstrip() + cut.after

    def _renumbered(self, here: _Cut, end: int) -> str:
        """The text between. A list that goes on there goes on with its numbers; after one that stood further inside and
        does no more, it goes on with `2)` instead of `2.`, since Markdown would take the two for one."""
        start = here.at
        edits: list[tuple[int, int, str]] = []
        signs: dict[int, str] = {}  # of each list, the sign after its numbers
        before: Item | None = None
        first, stop = (bisect_left(self._item_starts, place) for place in (start, end))
        for item in self._structure.items[first:stop]:
            if item.number is None or item.number[1] >= end:
                continue
            begin, after = item.number
            goes_on = item.list_start < start
            if item.list_start not in signs:
                signs[item.list_start] = sign = self._text[after]
                if before and before.depth > item.depth and here.margin != (0, 0) and signs[before.list_start] == sign:
                    signs[item.list_start] = ")" if sign == "." else "."
                if goes_on and self._text[start : item.start].rpartition("\n")[0].strip():  # a number ends no paragraph
                    edits.append((item.start, item.start, "\n"))
            number = str(item.ordinal) if goes_on else self._text[begin:after]
            if int(number) != int(self._text[begin:after]) or signs[item.list_start] != self._text[after]:
                edits.append((begin, after + 1, number + signs[item.list_start]))
                edits += self._shifted(item, min(item.end, end), len(number) - (after - begin))
            before = item
        pieces: list[str] = []
        done = start
        for begin, after, new in sorted(edits):
            pieces += [self._text[done:begin], new]
            done = after
        return "".join([*pieces, self._text[done:end]])

    def _shifted(self, item: Item, end: int, columns: int) -> Iterator[tuple[int, int, str]]:
        """What follows an item's first line stands as far to the right as its text."""
        place = self._text.find("\n", item.start, end) + 1
        while columns > 0 and 0 < place < end:
            found = _MARGIN.match(self._text, place)
            at = found.end(2) if found and found[2] else place
            if self._text[at : at + 1] not in ("\n", ""):
                yield (at, at, " " * columns)
            place = self._text.find("\n", place, end) + 1

    # -- where to cut -----------------------------------------------------------------------------------------------

    def _choices(self, here: _Cut, end: int) -> Iterator[_Cut]:
        """Places to end a part that may go to `end`, the best first."""
        low, size = here.at, end - here.at
        crossed = self._structure.at(min(end, len(self._text) - 1))
        bounds = self._bounds[bisect_right(self._bounds, (low, _LEADS)) : bisect_right(self._bounds, (end, _LEADS))]
        if crossed and crossed.kind in ("fence", "table") and crossed.start > low:
            place = next((place for place, rank in reversed(bounds) if rank <= _INNER and place <= crossed.start), low)
            whole_block = self._text[place : crossed.end]
            if place - low >= _KEPT_WHOLE * size and self._measure(whole_block) <= self._limit:
                yield self._between(place)
        choices = [(place, rank, False) for place, rank in bounds]
        if crossed:
            choices += [(place, rank, True) for place, rank in self._places(crossed, low, end)]
        choices.sort(reverse=True)
        for wanted, full in enumerate(_FULL):
            for place, rank, inside in choices:
                if place - low < full * size:
                    break
                if rank == wanted:
                    yield self._inside(crossed, place) if crossed and inside else self._between(place)
        for place, _, inside in sorted(choices, key=lambda each: (each[1] == _LEADS, -each[0])):
            yield self._inside(crossed, place) if crossed and inside else self._between(place)
        if crossed:
            yield from self._forced(crossed, low, end)
        for place in _characters(self._text, low, end):
            yield _Cut(place, mid_line=True, margin=here.margin)

    def _between(self, place: int) -> _Cut:
        """Before a block or an item."""
        block = self._structure.at(place)
        if block and block.kind == "code":
            return _Cut(place, margin=_margin(block.lead))
        found = _MARGIN.match(self._text, place)
        return _Cut(place, margin=_margin(found[0] if found else ""))

    def _places(self, block: Block, low: int, end: int) -> list[tuple[int, int]]:
        """Where a block may be cut without breaking anything, each with its rank."""
        match block.kind:
            case "prose" | "heading":
                cuts = self._area_of(block).places
                return cuts[bisect_right(cuts, (low, _LEADS)) : bisect_right(cuts, (end, _LEADS))]
            case "fence":
                low, end = max(low, block.inside), min(end, block.close - 1)
            case "table":
                low, end = max(low, block.inside), min(end, block.end)
            case _:
                low, end = max(low, block.start), min(end, block.end)
        places: list[tuple[int, int]] = []
        place = self._text.find("\n", low, end) + 1
        while 0 < place <= end:
            blank = not self._text[self._text.rfind("\n", 0, place - 1) + 1 : place].strip("> \t\n")
            places.append((place, _INNER if blank or block.kind == "table" else _STOP))
            place = self._text.find("\n", place, end) + 1
        return places

    def _inside(self, block: Block, place: int) -> _Cut:
        """What such a place takes."""
        quotes = _quotes(block.lead)
        match block.kind:
            case "prose" | "heading":
                return self._area_of(block).cut(place)
            case "fence":
                mid_line = self._text[place - 1] != "\n"
                before = f"{quotes}{block.marker}{block.info}\n" + (quotes if mid_line else "")
                after = f"\n{_blanked(block.lead)}{block.marker}"
                return _Cut(place, before, after, _margin(block.lead), block.marker, mid_line)
            case "table":
                return _Cut(place, self._header(block) + "\n", margin=_margin(block.lead))
            case _:
                return _Cut(place, margin=_margin(block.lead) if block.depth else (0, 0))

    def _forced(self, block: Block, low: int, end: int) -> Iterator[_Cut]:
        """Where a block is cut that has no place for it: inside a line, a code span, a link, a table's cell."""
        match block.kind:
            case "prose" | "heading":
                yield from self._area_of(block).forced(low, end)
            case "fence":
                for place in _characters(self._text, max(low, block.inside), min(end, block.close - 1)):
                    yield self._inside(block, place)
            case "table":
                start = max(self._text.rfind("\n", 0, end) + 1, block.inside)
                columns = len(_cells(self._text, block.text_start, block.inside))
                for done, (first, last) in reversed(list(enumerate(_cells(self._text, start, block.end)))):
                    if low < last and first < end:
                        begun = f"{self._header(block)}\n{_quotes(block.lead)}|{' |' * min(done, columns - 1)} "
                        area = self._area(first, last, begun, " |", block.lead)
                        yield from (area.cut(place) for place, _ in reversed(area.places) if low < place <= end)
                        yield from area.forced(low, end)
                        if low < first:
                            yield _Cut(first, begun, "", _margin(block.lead), mid_line=True)
            case _:
                pass

    def _area_of(self, block: Block) -> "_Area":
        before = _quotes(block.lead) + (f"{block.marker} " if block.marker else "")
        return self._area(block.text_start, block.end, before, "", block.lead)

    def _area(self, start: int, end: int, before: str, after: str, lead: str) -> "_Area":
        if start not in self._areas:
            self._areas[start] = _Area(self._text, start, end, before, after, _margin(lead))
        return self._areas[start]

    def _header(self, table: Block) -> str:
        quotes = _quotes(table.lead)
        rows = self._text[table.text_start : table.inside].rstrip("\n").split("\n")
        return "\n".join(quotes + row.lstrip("> \t") for row in rows)


class _Area:
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
            rank = {"line": _STOP, "stop": _STOP, "clause": _CLAUSE}.get(cut.lastgroup or "", _WORD)
            if cut.lastgroup == "line":
                rank = _WORD if _LEADING.fullmatch(self._text, line, cut.start()) else rank
                line = place
            if place < self._end and self._open(place) and not _OPENS_BLOCK.match(self._text, place):
                found.append((place, max(rank, _WORD) if self._kept_whole(place) else rank))
        return found

    def _open(self, place: int) -> bool:
        """Whether nothing is broken there."""
        at = bisect_right(self._closed, (place - self._start, len(self._text))) - 1
        return (at < 0 or self._closed[at][1] < place - self._start) and whole(self._text, place, self._start)

    def _kept_whole(self, place: int) -> bool:
        """Whether emphasis that is not long would be cut there."""
        at = bisect_right(self._short, (place - self._start, 0)) - 1
        return at >= 0 and place - self._start < self._short[at][1]

    def cut(self, place: int, opening: str = "", closing: str = "") -> _Cut:
        at = place - self._start
        around = [each for each in self._inline.emphases if each.inside < at < each.close]
        around.sort(key=lambda each: each.start)
        markers = [self._text[self._start + each.start : self._start + each.inside] for each in around]
        if sum(map(len, markers)) > _MARKERS:
            markers = []
        before = f"{self._before}{''.join(markers)}{opening}"
        after = f"{closing}{''.join(reversed(markers))}{self._after}"
        return _Cut(place, before, after, self._margin, mid_line=True)

    def forced(self, low: int, end: int) -> Iterator[_Cut]:
        """Between characters: outside of what is better not cut, then in code and in a link's words, then anywhere."""
        low, end = max(low, self._start), min(end, self._end - 1)
        places = list(_characters(self._text, low, end))
        yield from (self.cut(place) for place in places if self._open(place))
        spans = [span for span in self._inline.spans if span.kind in ("code", "link")]
        starts = [span.start for span in spans]
        for place in places:
            at = bisect_right(starts, place - self._start) - 1
            if at >= 0 and (around := self._around(spans[at], place - self._start)):
                yield self.cut(place, *around)
        yield from (self.cut(place) for place in places)

    def _around(self, span: Span, at: int) -> tuple[str, str] | None:
        """What opens a code span or a link again, and what closes it."""
        text = self._text[self._start + span.start : self._start + span.end]
        first, last = span.inner[0] - span.start, span.inner[1] - span.start
        if not span.inner[0] < at < span.inner[1] or "`" in text[at - span.start - 1 : at - span.start + 1]:
            return None
        opening, closing = text[:first], text[last:]
        if span.kind == "link" and (text[at - span.start - 1] in "\\[" or text[at - span.start] in "]("):
            return None
        return (opening, closing) if span.kind == "link" or len(opening) <= _MARKERS else None


def _bounds(text: str, found: Structure) -> list[tuple[int, int]]:
    """Where blocks and items begin, each with its rank: what leads to something is not parted from it."""
    ranks = dict.fromkeys(found.tops, _BLOCK)
    for block in found.blocks:
        if block.start not in ranks:
            ranks[block.start] = _INNER
        elif block.kind == "heading":
            ranks[block.start] = _HEADING
    for item in found.items:
        ranks[item.start] = min(ranks.get(item.start, _INNER), _ITEM if item.depth == 1 else _INNER)
    for before, block in zip(found.blocks, found.blocks[1:], strict=False):
        if before.kind == "heading":
            ranks[block.start] = _LEADS
        elif before.kind == "prose" and _LEADING.fullmatch(text, text.rfind("\n", 0, before.end) + 1, before.end):
            ranks[block.start] = _WORD
    return sorted(ranks.items())


def _outermost(emphases: Iterable[Emphasis]) -> Iterator[Emphasis]:
    end = 0
    for each in sorted(emphases, key=lambda each: each.start):
        if each.start >= end:
            yield each
            end = each.end


def _characters(text: str, low: int, end: int) -> Iterator[int]:
    """Places between characters in `text[low:end]` from the last, those first that break no rule of typesetting."""
    near = [place for place in range(end, max(low, end - 8), -1) if whole(text, place, low)]
    yield from sorted(near, key=lambda place: text[place : place + 1] in _NOT_FIRST)
    yield from (place for place in range(max(low, end - 8), low, -1) if whole(text, place, low))


def _cells(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where the cells of the row at `start` are."""
    end = end if (stop := text.find("\n", start, end)) < 0 else stop
    first = start + len(text[start:end]) - len(text[start:end].lstrip("> \t"))
    pipes = [found.start() for found in _PIPE.finditer(text, first, end)]
    if not pipes or pipes[0] != first:
        pipes.insert(0, first - 1)
    if not text[pipes[-1] + 1 : end].strip():
        end = pipes.pop()
    return [(begin + 1, stop) for begin, stop in zip(pipes, [*pipes[1:], end], strict=True)]


def _quotes(lead: str) -> str:
    return "> " * lead.count(">")


def _blanked(lead: str) -> str:
    """A lead as it is before the lines after the first."""
    return re.sub(r"[^>]", " ", lead)


def _margin(lead: str) -> tuple[int, int]:
    if ">" not in lead:
        return len(lead), 0
    return lead.index(">"), len(re.sub(r"^ ", "", lead[lead.rindex(">") + 1 :]))


def _dedented(body: str, here: _Cut) -> str:
    """`body` without the indentation of what it was in, line by line up to where it leaves that."""
    outer, inner = here.margin
    fence = here.within
    lines = body.split("\n")
    for at, line in enumerate(lines):
        found = _MARGIN.match(line)
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
