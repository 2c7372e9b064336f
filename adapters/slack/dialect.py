"""Standard Markdown as Slack takes it: in `markdown` blocks, and as mrkdwn for where those are refused. Pure.

Source: docs.slack.dev markdown block (12,000 characters in a message) and formatting (escaping); reliability.md R15, R29;
field.md #2.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.cells import cell_len

from adapters.blocks import structure
from adapters.markdown import without_pings
from adapters.splitting import split

FIRST = 3_000  # characters of a long answer's first message: what it says, before how
LIMIT = 9_000  # of each other; Slack takes 12,000 of Markdown, and less when it makes many blocks of it
PLAIN = 3_500  # of a text without blocks
EXPANSIONS = 40  # blocks that Slack may make of one message's Markdown, of 50
NOTIFICATION = 3_000  # characters beside the blocks, for notifications and readers aloud

Json = dict[str, Any]

_IMAGE = re.compile(r"!\[([^\[\]\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\)")
_AUTOLINK = re.compile(r"<(?=(?:https?|mailto|slack|tel|ftp):[^>\n]*\|)", re.IGNORECASE)
_parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])


@dataclass(frozen=True, slots=True)
class Rendered:
    """A message: `blocks`, and `text` for where those are not shown."""

    blocks: tuple[Json, ...]
    text: str


def messages(markdown: str, *, first: int = FIRST) -> list[Rendered]:
    """A text as messages of one `markdown` block each. A long one begins with a short message; each holds at most one
    table and not more than Slack makes 50 blocks of. Blank text has none."""
    safe = harmless_markdown(markdown)
    parts = split(safe, LIMIT) if len(safe) <= LIMIT else split(safe, LIMIT, first=first)
    return [_rendered(piece) for part in parts for piece in _simple(part)]


def plain_messages(markdown: str) -> list[str]:
    """The same as texts in mrkdwn."""
    limit = PLAIN
    while True:
        texts = [mrkdwn(part) for part in split(markdown, limit)]
        if limit < 400 or all(len(text) <= PLAIN + 400 for text in texts):  # escaping makes a text longer
            return [text for text in texts if text]
        limit //= 2


def escaped(text: str) -> str:
    """Text in which mrkdwn sees no mention and no link."""
    return without_pings(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def harmless_markdown(markdown: str) -> str:
    """Markdown in which Slack's own forms (`<!here>`, `<@U1>`, `<url|label>`) are nothing, and images are their words."""
    return _AUTOLINK.sub("<\u200b", without_pings(_IMAGE.sub(r"\1", markdown)))


def mrkdwn(markdown: str) -> str:
    """Slack's own markup: `*bold*`, `_italic_`, `<url|label>`, and tables as text in columns."""
    return "\n\n".join(filter(None, _blocks(_parser.parse(markdown)))).strip()


def _rendered(markdown: str) -> Rendered:
    text = mrkdwn(markdown)
    return Rendered(({"type": "markdown", "text": markdown},), text[:NOTIFICATION])


def _simple(part: str) -> Iterator[str]:
    """Cut where a second table begins, or after many blocks."""
    found = structure(part)
    begin, tables, blocks = 0, 0, 0
    for block in found.blocks:
        here = block.start in found.tops or block.depth == 0
        full = blocks >= EXPANSIONS or (block.kind == "table" and tables)
        if full and here and part[begin : block.start].strip():
            yield part[begin : block.start].strip("\n")
            begin, tables, blocks = block.start, 0, 0
        tables += block.kind == "table"
        blocks += 1
    if part[begin:].strip():
        yield part[begin:].strip("\n")


# -- mrkdwn -----------------------------------------------------------------------------------------------------------


def _blocks(tokens: Sequence[Token]) -> Iterator[str]:
    """One text a block of the top level."""
    at = 0
    while at < len(tokens):
        end = _end(tokens, at)
        yield _block(tokens[at], tokens[at + 1 : end])
        at = end + 1


def _end(tokens: Sequence[Token], at: int) -> int:
    """Where what opens at `at` closes."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += tokens[place].nesting
        if depth <= 0:
            return place
    return len(tokens) - 1


def _block(token: Token, inside: Sequence[Token]) -> str:
    match token.type:
        case "heading_open":
            title = "".join(_inline(inside)).strip()
            return f"*{title}*" if title and "*" not in title else title
        case "paragraph_open":
            return "".join(_inline(inside))
        case "fence" | "code_block":
            return f"```\n{escaped(token.content.rstrip())}\n```"
        case "blockquote_open":
            quoted = "\n\n".join(filter(None, _blocks(inside)))
            return "\n".join(f"> {line}" for line in quoted.splitlines())
        case "bullet_list_open" | "ordered_list_open":
            return "\n".join(_items(token, inside))
        case "table_open":
            return f"```\n{escaped(_table(inside))}\n```"
        case "hr":
            return "———"
        case _:
            return escaped(token.content.strip())


def _items(token: Token, inside: Sequence[Token]) -> Iterator[str]:
    number = int(token.attrGet("start") or 1) if token.type == "ordered_list_open" else None
    at = 0
    while at < len(inside):
        end = _end(inside, at)
        mark = "•" if number is None else f"{number}."
        said = "\n".join(filter(None, _blocks(inside[at + 1 : end])))
        first, *rest = said.splitlines() or [""]
        yield "\n".join([f"{mark} {first}", *(f"    {line}" for line in rest)])
        number = None if number is None else number + 1
        at = end + 1


def _inline(tokens: Sequence[Token]) -> Iterator[str]:
    marks = {"strong": "*", "em": "_", "s": "~"}
    target = ""
    for token in tokens:
        match token.type:
            case "inline":
                yield from _inline(token.children or [])
            case "text" | "text_special" | "html_inline":
                yield escaped(token.content)
            case "code_inline":
                yield f"`{escaped(token.content)}`"
            case "softbreak" | "hardbreak":
                yield "\n"
            case "link_open":
                target = str(token.attrGet("href") or "")
                yield f"<{_address(target)}|" if target else ""
            case "link_close":
                yield ">" if target else ""
                target = ""
            case "image":
                yield escaped(token.content)
            case kind if kind.removesuffix("_open").removesuffix("_close") in marks:
                yield marks[kind.removesuffix("_open").removesuffix("_close")]


def _address(url: str) -> str:
    return url.replace("&", "&amp;").replace("<", "%3C").replace(">", "%3E").replace("|", "%7C")


def _table(inside: Sequence[Token]) -> str:
    """Columns by the width that characters have on a screen: a kanji is as wide as two letters."""
    rows: list[list[str]] = []
    for token in inside:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            rows[-1].append("".join(each.content for each in token.children or [] if each.content) or token.content)
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=False)]
    lines = [
        "  ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=False))
        for row in rows
    ]
    if lines:
        lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)
