"""Standard Markdown in parts that a platform takes, each of them good Markdown of its own. Pure, in linear time."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, islice

from adapters.markdown.blocks import Block, Item, Structure, structure
from adapters.markdown.cut_points import (
    BLOCK,
    HEADING,
    INNER,
    ITEM,
    LEADING,
    LEADS,
    MARGIN,
    STOP,
    WORD,
    Area,
    Cut,
    blanked,
    cells_of,
    characters,
    dedented,
    margin_of,
    quote_marks,
)

Measure = Callable[[str], int]

SMALLEST = 40
"""The smallest limit that `split` takes: less leaves no room for a fence or a table's header around a few letters."""

_FULL = (0.4, 0.5, 0.5, 0.5, 0.5, 0.6)
_KEPT_WHOLE = 0.2  # so full a part is closed before a fence or a table that then stays in one piece
_TRIES = 8  # of cuts, before a shorter part is looked for

_BLANKS = re.compile(r"\s*")


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
    text = _closed(text)
    return [text] if measure(text) <= first else list(_Splitter(text, limit, first, measure).parts())


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
        self._areas: dict[int, Area] = {}

    def _splittable(self, block: Block) -> Block:
        """A block that takes too much to open again is cut like any lines."""
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
        last = Cut(len(self._text.rstrip()))
        here = Cut(0)
        budget = self._first
        while here.at < last.at:
            end = min(self._reach(here, budget), last.at)
            cut = last
            if end < last.at or self._measure(self._part(here, last)) > budget:
                cut = self._best(here, end, budget)
            part = self._part(here, cut)
            if part.strip() and self._text[here.at : cut.at].strip():
                yield part
                budget = self._limit
            here = cut

    def _reach(self, here: Cut, budget: int) -> int:
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

    def _best(self, here: Cut, end: int, budget: int) -> Cut:
        """The best cut whose part is not too long with what is closed and moved in it."""
        while end > here.at:
            sizes = []
            for cut in islice(self._choices(here, end), _TRIES):
                sizes.append(self._measure(self._part(here, cut)))
                if sizes[-1] <= budget:
                    return cut
            size = end - here.at
            end = here.at + min(size - 1 - size // 64, size * budget // min(sizes))
        return replace(here, at=here.at + 1, after="")

    def _part(self, here: Cut, cut: Cut) -> str:
        body, moved = self._renumbered(here, cut.at)
        if cut.within:
            body = body.rstrip("\n") + cut.after.replace("\n", "\n" + moved)  # a line that moves with the others
        if here.margin != (0, 0):
            body = dedented(body, here)
        if not here.within:
            body = body.lstrip() if here.mid_line else re.sub(r"\A(?:[ \t]*\n)+", "", body)
        if cut.within:
            return here.before + body
        if re.search(r"(?<!\\)(?:\\\\)*\\\n[ \t]*\Z", body):  # a line end that was written as a backslash
            body = body.rstrip()[:-1]
        return here.before + body.rstrip() + cut.after

    def _renumbered(self, here: Cut, end: int) -> tuple[str, str]:
        """The text between, and what lines of code that go on after it are moved by.

        A list that goes on there goes on with its numbers; after one that stood further inside and does no more, it
        goes on with `2)` instead of `2.`, since Markdown would take the two for one.
        """
        start = here.at
        edits: list[tuple[int, int, str]] = []
        moved = 0
        signs: dict[int, str] = {}  # of each list, the sign after its numbers
        outer: Item | None = None
        first, stop = (bisect_left(self._item_starts, place) for place in (start, end))
        for item in self._structure.items[first:stop]:
            if item.number is None or item.number[1] >= end:
                continue
            begin, after = item.number
            goes_on = item.list_start < start
            if item.list_start not in signs:
                signs[item.list_start] = sign = self._text[after]
                if outer and outer.depth > item.depth and here.margin != (0, 0) and signs[outer.list_start] == sign:
                    signs[item.list_start] = ")" if sign == "." else "."
                if goes_on and self._text[start : item.start].rpartition("\n")[0].strip():  # a number ends no paragraph
                    edits.append((item.start, item.start, "\n"))
            number = str(item.ordinal) if goes_on else self._text[begin:after]
            if int(number) != int(self._text[begin:after]) or signs[item.list_start] != self._text[after]:
                columns = max(0, len(number) - (after - begin))
                edits.append((begin, after + 1, number + signs[item.list_start]))
                edits += self._shifted(item, min(item.end, end), columns)
                moved += columns if item.end > end else 0
            outer = item if outer is None or item.depth <= outer.depth else outer
        pieces: list[str] = []
        done = start
        for begin, after, new in sorted(edits):
            pieces += [self._text[done:begin], new]
            done = after
        return "".join([*pieces, self._text[done:end]]), " " * moved

    def _shifted(self, item: Item, end: int, columns: int) -> Iterator[tuple[int, int, str]]:
        """The lines after an item's first stand as far to the right as its text."""
        place = self._text.find("\n", item.start, end) + 1
        while columns and 0 < place < end:
            found = MARGIN.match(self._text, place)
            at = found.end(2) if found and found[2] else place
            if self._text[at : at + 1] not in ("\n", ""):
                yield (at, at, " " * columns)
            place = self._text.find("\n", place, end) + 1

    # -- where to cut -----------------------------------------------------------------------------------------------

    def _choices(self, here: Cut, end: int) -> Iterator[Cut]:
        """Places to end a part that may go to `end`, the best first."""
        low, size = here.at, end - here.at
        crossed = self._structure.before(end)
        first, last = (bisect_right(self._bounds, (at, LEADS)) for at in (low, _after_blanks(self._text, end)))
        bounds = self._bounds[first:last]
        if crossed and crossed.kind in ("fence", "table") and low < crossed.start < end < crossed.end:
            place = next((place for place, rank in reversed(bounds) if rank <= INNER and place <= crossed.start), low)
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
        for place, _, inside in sorted(choices, key=lambda each: (each[1] == LEADS, -each[0])):
            yield self._inside(crossed, place) if crossed and inside else self._between(place)
        if crossed:
            yield from self._forced(crossed, low, end)
        for place in chain(characters(self._text, low, end), range(end, low, -1)):
            yield Cut(place, mid_line=True, margin=margin_of(crossed.lead) if crossed else (0, 0))

    def _between(self, place: int) -> Cut:
        """Before a block or an item."""
        block = self._structure.before(place + 1)
        if block and block.start == place and block.kind == "code":
            return Cut(place, margin=margin_of(block.lead))
        found = MARGIN.match(self._text, place)
        return Cut(place, margin=margin_of(found[0] if found else ""))

    def _places(self, block: Block, low: int, end: int) -> list[tuple[int, int]]:
        """The places at which a block may be cut without breaking anything, each with its rank."""
        match block.kind:
            case "prose" | "heading":
                cuts = self._area_of(block).places
                return cuts[bisect_right(cuts, (low, LEADS)) : bisect_right(cuts, (end, LEADS))]
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
            places.append((place, INNER if blank or block.kind == "table" else STOP))
            place = self._text.find("\n", place, end) + 1
        return places

    def _inside(self, block: Block, place: int) -> Cut:
        """The room that such a place takes."""
        quotes = quote_marks(block.lead)
        match block.kind:
            case "prose" | "heading":
                return self._area_of(block).cut(place)
            case "fence":
                mid_line = self._text[place - 1] != "\n"
                before = f"{quotes}{block.marker}{block.info}\n" + (quotes if mid_line else "")
                after = f"\n{blanked(block.lead)}{block.marker}"
                return Cut(place, before, after, margin_of(block.lead), block.marker, mid_line)
            case "table":
                return Cut(place, self._header(block) + "\n", margin=margin_of(block.lead))
            case _:
                return Cut(place, margin=margin_of(block.lead) if block.depth else (0, 0))

    def _forced(self, block: Block, low: int, end: int) -> Iterator[Cut]:
        """A cut through a block that has no place for it: inside a line, a code span, a link, a table's cell."""
        match block.kind:
            case "prose" | "heading":
                yield from self._area_of(block).forced(low, end)
            case "fence":
                for place in characters(self._text, max(low, block.inside), min(end, block.close - 1)):
                    yield self._inside(block, place)
            case "table":
                start = max(self._text.rfind("\n", 0, end) + 1, block.inside)
                columns = len(cells_of(self._text, block.text_start, block.inside))
                for done, (first, last) in reversed(list(enumerate(cells_of(self._text, start, block.end)))):
                    if low < last and first < end:
                        begun = f"{self._header(block)}\n{quote_marks(block.lead)}|{' |' * min(done, columns - 1)} "
                        area = self._area(first, last, begun, " |", block.lead)
                        yield from (area.cut(place) for place, _ in reversed(area.places) if low < place <= end)
                        yield from area.forced(low, end)
                        if low < first:
                            yield Cut(first, begun, "", margin_of(block.lead), mid_line=True)
            case _:
                pass

    def _area_of(self, block: Block) -> Area:
        before = quote_marks(block.lead) + (f"{block.marker} " if block.marker else "")
        return self._area(block.text_start, block.end, before, "", block.lead)

    def _area(self, start: int, end: int, before: str, after: str, lead: str) -> Area:
        if start not in self._areas:
            self._areas[start] = Area(self._text, start, end, before, after, margin_of(lead))
        return self._areas[start]

    def _header(self, table: Block) -> str:
        quotes = quote_marks(table.lead)
        rows = self._text[table.text_start : table.inside].rstrip("\n").split("\n")
        return "\n".join(quotes + row.lstrip("> \t") for row in rows)


def _closed(text: str) -> str:
    """`text` with a closing line for each fence that has none."""
    if "```" not in text and "~~~" not in text:
        return text
    pieces: list[str] = []
    done = 0
    for block in structure(text).blocks:
        if block.kind == "fence" and block.close == block.end:
            pieces += [text[done : block.end], f"\n{blanked(block.lead)}{block.marker}"]
            done = block.end
    return "".join([*pieces, text[done:]])


def _bounds(text: str, found: Structure) -> list[tuple[int, int]]:
    """The places at which blocks and items begin, each with its rank: what leads to something is not parted from
    it."""
    ranks = dict.fromkeys(found.tops, BLOCK)
    for block in found.blocks:
        if block.start not in ranks:
            ranks[block.start] = INNER
        elif block.kind == "heading":
            ranks[block.start] = HEADING
    for item in found.items:
        ranks[item.start] = min(ranks.get(item.start, INNER), ITEM if item.depth == 1 else INNER)
    for before, block in zip(found.blocks, found.blocks[1:], strict=False):
        if before.kind == "heading":
            ranks[block.start] = LEADS
        elif before.kind == "prose" and LEADING.fullmatch(text, text.rfind("\n", 0, before.end) + 1, before.end):
            ranks[block.start] = WORD
    return sorted(ranks.items())


def _after_blanks(text: str, place: int) -> int:
    found = _BLANKS.match(text, place)
    return found.end() if found else place
