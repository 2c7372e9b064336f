"""The blocks of a Markdown text by their place in it, read once for all who cut it or rewrite it. Pure."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from retrieval.text import compiled

Kind = Literal["prose", "heading", "fence", "table", "lines", "code"]
"""`prose`: a paragraph or an underlined heading; `lines`: a rule; `code`: indented. HTML is text, as it is in chats."""

_parser = compiled(MarkdownIt("commonmark", {"html": False}).enable("table").disable(["inline", "reference"]))
_BLANK = re.compile(r"[ \t]*")
_LEAD = re.compile(r"(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t]|$)))*[ \t]*")
_NUMBER = re.compile(r"\d{1,9}(?=[.)])")
_KINDS: dict[str, Kind] = {
    "paragraph_open": "prose",
    "heading_open": "heading",
    "fence": "fence",
    "table_open": "table",
    "code_block": "code",
    "hr": "lines",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A block that holds text and no other blocks: whole lines, `text[start:end]` without the last line end.

    `lead` stands before it in its first line: indentation, quote and list marks. Of a fence `inside` and `close` are
    where its code begins and where its closing line begins (`end` if it has none); of a table `inside` is where its
    first row below the header begins. `marker` is a fence's or a heading's (`##`), `info` a fence's words.
    """

    kind: Kind
    start: int
    end: int
    depth: int
    lead: str
    inside: int = 0
    close: int = 0
    marker: str = ""
    info: str = ""

    @property
    def text_start(self) -> int:
        return self.start + len(self.lead)


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list that begins in the line at `start`. Of a numbered one `number` is where its number stands."""

    start: int
    end: int
    list_start: int
    depth: int
    ordinal: int = 0
    number: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Structure:
    """`tops`: where what stands in no list and no quotation begins."""

    blocks: tuple[Block, ...]
    items: tuple[Item, ...]
    tops: frozenset[int]

    def before(self, place: int) -> Block | None:
        """The last block that begins before `place`."""
        found = bisect_left(self.blocks, place, key=lambda block: block.start) - 1
        return self.blocks[found] if found >= 0 else None


def structure(text: str) -> Structure:
    """`text` has only `\\n` for line ends."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    blocks: list[Block] = []
    items: list[Item] = []
    tops: set[int] = set()
    lists: list[list[int]] = []  # of each open list: where it starts, the ordinal of its next item
    depth = 0
    for token in _parser.parse(text):
        if token.map and token.level == 0 and token.nesting >= 0:
            tops.add(starts[token.map[0]])
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                lists.append([starts[(token.map or [0])[0]], int(token.attrGet("start") or 1)])
            case "bullet_list_close" | "ordered_list_close":
                lists.pop()
            case "list_item_open" | "blockquote_open":
                depth += 1
                if token.type == "list_item_open" and token.map:
                    items.append(_item(token, lines, starts, lists[-1], len(lists)))
                    lists[-1][1] += 1
            case "list_item_close" | "blockquote_close":
                depth -= 1
            case kind if kind in _KINDS and token.map:
                blocks += _block(_KINDS[kind], token, lines, starts, depth)
    return Structure(tuple(blocks), tuple(items), frozenset(tops))


def _item(token: Token, lines: Sequence[str], starts: Sequence[int], of: Sequence[int], depth: int) -> Item:
    first, last = token.map or (0, 0)
    start, end = starts[first], starts[last] - 1
    if not token.info:
        return Item(start, end, of[0], depth)
    number = next((each.span() for each in _NUMBER.finditer(lines[first]) if each.group() == token.info), None)
    return Item(start, end, of[0], depth, of[1], (start + number[0], start + number[1]) if number else None)


def _block(kind: Kind, token: Token, lines: Sequence[str], starts: Sequence[int], depth: int) -> Iterator[Block]:
    first, last = token.map or (0, 0)
    while last > first + 1 and not lines[last - 1].strip():
        last -= 1
    start, end = starts[first], starts[last] - 1
    lead = _lead(lines[first], kind, depth)
    match kind:
        case "fence":
            ends = last > first + 1 and _closes(lines[last - 1], token.markup, lead)
            close = starts[last - 1] if ends else end
            inside = min(starts[first + 1], end)
            yield Block(kind, start, end, depth, lead, inside, close, token.markup, token.info.strip())
        case "table":
            inside = starts[first + 2] if last > first + 2 else end
            yield Block(kind, start, end, depth, lead, inside)
        case "heading" if token.markup.startswith("#"):
            yield Block(kind, start, end, depth, lead, marker=token.markup)
        case "heading":
            yield Block("prose", start, end, depth, lead)
        case _:
            yield Block(kind, start, end, depth, lead)


def _lead(line: str, kind: Kind, depth: int) -> str:
    if kind == "code":  # its own four blanks are no lead
        return (_BLANK.match(line) or line)[0][:-4] if depth else ""
    return ((_LEAD if depth else _BLANK).match(line) or [""])[0]


def _closes(line: str, markup: str, lead: str) -> bool:
    shown = line.lstrip("> \t" if lead else " ")
    return len(line) - len(shown) <= len(lead) + 3 and shown.startswith(markup) and not shown.rstrip().strip(markup[0])
