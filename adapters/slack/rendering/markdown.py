"""Standard Markdown as what Slack takes: `markdown` blocks where they are known, mrkdwn where they are not. Pure.

An answer comes with allowed addresses alone (agent/links.py). What is added here: whatever its text holds, Slack finds
no mention, no link but Markdown's and bare addresses, and no image in it.
Source: reliability.md R15, R16 and R29; docs.slack.dev markdown block; field.md #2 for what was measured.
"""

import html
import re
from dataclasses import dataclass
from typing import Any

from adapters.markdown.blocks import Block, structure
from adapters.markdown.events import without_pings
from adapters.markdown.spans import Span, scan, wide
from adapters.markdown.split import split
from adapters.slack.rendering.mrkdwn import (
    APART,
    HIDDEN,
    address,
    cleaned,
    joinless,
    mrkdwn,
    settled,
    table_text,
)
from agent.links import visible

LIMIT = 10_000
"""Characters of `markdown` blocks in a message: Slack takes 12,000, about 13,200 with all other blocks, and 10,000 in
the cells of tables. Source: docs.slack.dev markdown and table block; bolt-js #2509; metabase #79908."""

FIRST = 3_000
"""Characters of a long answer's first message: the gist, and no wall of text."""

PLAIN = 3_900
"""Characters of a message's text. Source: chat.postMessage, 4,000."""

_BLOCKS = 44  # of the 50 of a message: what Slack makes of one `markdown` block, and room for buttons
_ROWS = 90  # of the 100 of a table
_COLUMNS = 20
_HEADING = 150  # characters of a header block
_ROUNDED = 1.2  # times `FIRST`: what is no longer is one message

_OWN_BLOCK = re.compile(
    r"^[ \t>]*(?:#{1,6}[ \t]|(?:\|[ \t]*)?:?-+:?[ \t]*(?:\||$)|(?:[-*_=][ \t]*){3,}$)", re.MULTILINE
)
_ROW = re.compile(r"^[ \t>]*\|", re.MULTILINE)
_CODE_LINK = re.compile(r"<(?=(?:https?|mailto|tel|ftp|slack|file|data|javascript):|//)", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_INERT = re.compile(r"</?(?:b|strong|i|em|u|s|del|ins|sup|sub|small|kbd|mark)>", re.IGNORECASE)
_DEFINITION = re.compile(rf"^([ \t>{APART}]*\[[^\]\n]+\]):", re.MULTILINE)
_INFO = re.compile(r"[\w+#.-]{1,30}")
_PIPE = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Rendered:
    """One message: `blocks` and `text` of chat.postMessage. `text` is for notifications, and shortened if need be."""

    blocks: list[dict[str, Any]]
    text: str


def messages(markdown: str, *, first_limit: int = FIRST, tail: str = "") -> list[Rendered]:
    """An answer as one message or several, none if it shows nothing. Of a long one the first has no more than
    `first_limit` characters. `tail`, its sources, stays in one piece: with the last part, or alone where it does not
    fit there."""
    text, end = slack_markdown(markdown).strip(), slack_markdown(tail).strip()
    long = _weight(text) > first_limit * _ROUNDED
    parts = split(text, LIMIT, measure=_weight, first=first_limit if long else None)
    if end and parts and _weight(f"{parts[-1]}\n\n{end}") <= LIMIT:
        parts[-1] += f"\n\n{end}"
    else:
        parts += split(end, LIMIT, measure=_weight)
    shown = [part for part in parts if part.replace(HIDDEN, "").strip()]
    return [Rendered([{"type": "markdown", "text": part}], _notification(part)) for part in shown]


def plain_messages(markdown: str, *, tail: str = "") -> list[str]:
    """The same as texts in mrkdwn, for where `markdown` blocks are refused (`invalid_blocks`); none for nothing."""
    made = [
        text
        for part in [*split(markdown, FIRST), *split(tail, FIRST)]
        for text in split(mrkdwn(part), PLAIN)
        if text.replace(HIDDEN, "").strip()
    ]
    if tail and len(made) > 1 and len(made[-2]) + len(made[-1]) + 2 <= PLAIN:
        made[-2:] = [f"{made[-2]}\n\n{made[-1]}"]
    return made


def _notification(part: str) -> str:
    first, *more = split(mrkdwn(part), PLAIN - 2) or ["…"]
    return f"{first} …" if more else first


def _weight(text: str) -> int:
    """Characters, or what the blocks and rows that Slack will make of them come to at this limit."""
    blocks = 1 + 2 * sum(1 for _ in _OWN_BLOCK.finditer(text))
    rows = sum(1 for _ in _ROW.finditer(text))
    return max(len(text), -(-blocks * LIMIT // _BLOCKS), rows * LIMIT // _ROWS)


# -- Markdown as Slack reads it -------------------------------------------------------------------------------------


def slack_markdown(markdown: str) -> str:
    """Markdown that says the same and that Slack reads as nothing else.

    `<` is an entity outside of code, where Slack shows it and reads no token (measured: posthog #95054); in code an
    invisible letter stands behind it where a token would begin. Around emphasis beside Japanese stands another one,
    without which Slack shows the asterisks.
    """
    text = cleaned(markdown)
    pieces: list[str] = []
    done = 0
    for block in structure(text).blocks:
        pieces += [text[done : block.text_start], _block(text, block)]
        done = block.end
    return settled("".join([*pieces, text[done:]]))


def _block(text: str, block: Block) -> str:
    shown = text[block.text_start : block.end]
    match block.kind:
        case "fence":
            info = _INFO.match(block.info)
            _, line_end, code = shown.partition("\n")
            return f"{block.marker}{info[0] if info else ''}{line_end}{_code(code)}"
        case "code":
            return _code(shown)
        case "table":
            rows = shown.split("\n")
            if len(_PIPE.findall(rows[0])) > _COLUMNS:
                cells = [[cell.strip() for cell in _PIPE.split(row.strip(" \t>|"))] for row in (rows[0], *rows[2:])]
                return f"```\n{_code(table_text(cells))}\n```"
            return _prose(shown, line_end=" ")
        case "heading":
            return _prose(shown[len(block.marker) :].strip() if len(shown) > _HEADING else shown, line_end=" ")
        case _:
            return _prose(shown, line_end=" " if ">" in block.lead else "\n")


def _code(text: str) -> str:
    return _CODE_LINK.sub(f"<{HIDDEN}", without_pings(text))


def _prose(text: str, line_end: str) -> str:
    """`line_end`: what stands for `<br>`."""
    found = scan(text)
    hidden = {each.start for each in found.emphases if each.start and wide(text[each.start - 1])}
    hidden |= {each.end for each in found.emphases if each.end < len(text) and wide(text[each.end])}
    places = iter(sorted(hidden))
    place = next(places, len(text))
    pieces = [""]
    done = 0
    for span in (*found.spans, None):
        start = span.start if span else len(text)
        while place < start:
            pieces += [_inert(text[done:place], pieces[-1]), HIDDEN]
            done, place = place, next(places, len(text))
        pieces.append(_inert(text[done:start], pieces[-1]))
        if span:
            if pieces[-1].endswith("\\"):  # it would take away the meaning of what follows
                pieces.append(HIDDEN)
            pieces.append(_span(text, span, line_end))
            done = span.end
    return _DEFINITION.sub(rf"\1{HIDDEN}:", "".join(pieces))  # a line that Slack would take for a link's address


def _inert(text: str, before: str = "") -> str:
    """Text in which nothing is a link or an image, whatever brackets it has."""
    shown = without_pings(text).replace("<", "&lt;").replace("![", f"!{HIDDEN}[").replace("](", f"]{HIDDEN}(")
    return HIDDEN + shown if before.endswith("]") and shown.startswith("(") else shown


def _span(text: str, span: Span, line_end: str) -> str:
    shown, inner = text[span.start : span.end], text[slice(*span.inner)]
    match span.kind:
        case "code":
            return _code(shown)
        case "image":
            return f"{APART}{_prose(inner, line_end)}{APART}"
        case "link":
            url, words = address(span.target), _prose(inner, " ")
            return f"{APART}{words}{APART}" if url is None else f"[{words if words.strip() else url}]({url})"
        case "auto":
            if "|" in shown:  # Slack's own form of a link, which Markdown does not know
                return _inert(shown)
            url = address(shown[1:-1])
            return f"{APART}{_inert(shown[1:-1])}{APART}" if url is None else f"<{url}>"
        case "url":
            url = address(shown)
            return f"{APART}{_inert(shown)}{APART}" if url is None else f"<{url}>"
        case "tag":
            return line_end + APART if _BREAK.fullmatch(shown) else APART if _INERT.fullmatch(shown) else _inert(shown)
        case "entity":
            return _entity(shown)
        case "escape":
            return "&lt;" if shown == "\\<" else joinless(shown[1]) if shown[1] in ".:/@" else shown
        case "mark":
            return _inert(shown)


def _entity(shown: str) -> str:
    told = html.unescape(shown)
    if told in ("<", ">", "&", "\u00a0", '"', "'") or len(told) != 1:
        return shown
    if told in "*_~`[]()\\|#!" or told.isspace() or visible(told) != told:
        return " " if told.isspace() else f"\\{told}" if told == visible(told) else ""
    return joinless(told)
