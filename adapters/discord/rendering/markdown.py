"""Standard Markdown as Discord's, in messages of at most 2,000 characters. Pure.

Discord knows no tables, rules, images, HTML or small headings, and takes for markup what Markdown leaves alone: `__`,
`||`, `-#`, `<:emoji:1>`, every address up to the next blank. Source: reliability.md R15, R16 and R35; field.md #2.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence

from adapters.markdown.blocks import Block, structure
from adapters.markdown.events import without_pings
from adapters.markdown.spans import Emphasis, Span, scan, wide
from adapters.markdown.split import split

LIMIT = 2_000  # characters of a message. Source: discord-api-docs, resources/message
COLUMNS = 80  # of a table that is set in columns; wider lines would wrap, and nothing stand under anything
TABLE = 1_800  # characters of one block of a table
ADDRESS = 500  # characters; a longer one would have to be cut, and lead elsewhere

_CALL = re.compile(r"<(?=a?:\w+:\d|t:-?\d)")  # custom emoji and points in time; `without_pings` knows the rest
_SIGNS = re.compile(r"[\\`*_~\[\]<>]|\|\||://")
_IN_TEXT = re.compile(r"[`*_~<]|\|\||://")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_FIRST = re.compile(r"(?m)^([ \t]*)(#{1,3}(?=\s)|-#?(?=\s))")
_JOINED = re.compile(r"(?<!\\)(?:<https?://[^\s<>\\]+>|(`+)(?!`)[^`](?:.*?[^`])??\1(?!`))|(?<!\\)://")
_SMALL_PRINT = re.compile(r"(?m)^([ \t]*)-#(?=\s)")
_BREAK = re.compile(r"(?:\\|[ \t]+)(?=\n)")
_HTTP = re.compile(r"https?://[^\s<>\\\u200b]+")
_UNDERLINE = re.compile(r"\n[ \t]*(?:>[ \t]*)*(=+|-+)[ \t]*\Z")
_RULE = re.compile(r"[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_QUOTES = re.compile(r"\A[ \t]*(?:>[ \t]?)+")
_LANGUAGE = re.compile(r"[\w+#.-]{1,20}")
_MARKER = re.compile(r"[*+](?=[ \t]|$)|(?<=\d)\)(?=[ \t]|$)")
_TASK = re.compile(r"\[([ xX])\][ \t]+")
_PIPE = re.compile(r"(?<!\\)\|")
_CITED = re.compile(r"\^?\d{1,3}")


def messages(markdown: str) -> list[str]:
    """The texts of the messages that show it, none longer than `LIMIT`; blank text has none."""
    return split(discord(markdown), LIMIT)


def discord(markdown: str) -> str:
    """The same text in Discord's Markdown. Nobody is called, and only what was a link is one."""
    text = markdown.replace("\r\n", "\n").replace("\r", "\n")
    pieces: list[str] = []
    done = 0
    for block in structure(text).blocks:
        pieces.append(_between(text[done : block.start]))
        pieces.append(_block(text, block))
        done = block.end
    pieces.append(_between(text[done:]))
    return neutral("".join(pieces))


def escaped(text: str) -> str:
    """Plain text that shows as it is: no markup, no link and no call comes out of it."""
    return neutral(_FIRST.sub(r"\1\\\2", _SIGNS.sub(_escape, text)))


def neutral(text: str) -> str:
    """`text` in which nobody and nothing is called, with the same looks."""
    return _CALL.sub("<\u200b", without_pings(text))


def _escape(sign: re.Match[str]) -> str:
    return {"||": r"\|\|", "://": r"\://"}.get(sign[0], "\\" + sign[0])


# -- blocks -----------------------------------------------------------------------------------------------------------


def _between(text: str) -> str:
    """Blank lines, and the marks of items without a text."""
    return "\n".join(_lead(line) for line in text.split("\n"))


def _block(text: str, block: Block) -> str:
    match block.kind:
        case "heading":
            words = text[block.text_start : block.end].lstrip("#").strip()
            return _heading(block, re.sub(r"(?:^|[ \t])#+$", "", words), len(block.marker))
        case "prose" if underline := _UNDERLINE.search(text[block.text_start : block.end]):
            words = text[block.text_start : block.text_start + underline.start()]
            return _heading(block, " ".join(words.split()), 1 if underline[1][0] == "=" else 2)
        case "prose":
            return _prose(block, text[block.text_start : block.end])
        case "lines":
            shown = text[block.text_start : block.end]
            return _lead(block.lead) + "─" * 10 if _RULE.fullmatch(shown) else _prose(block, shown)
        case "code":
            lines = _inside(text[block.text_start : block.end], block)
            return _code([line.removeprefix("    ") for line in lines], "", block)
        case "fence":
            language = _LANGUAGE.match(block.info)
            lines = _inside(text[block.inside : max(block.inside, block.close)].removesuffix("\n"), block)
            return _code(lines, language[0] if language else "", block)
        case "table":
            return _table(text, block)


def _heading(block: Block, words: str, level: int) -> str:
    shown = _inline(words)
    if level <= 3 and not block.depth and shown:
        return f"{'#' * level} {shown}"
    bold = shown.startswith("**") and shown.endswith("**")
    return _lead(block.lead) + (shown if bold or not shown else f"**{shown}**")


def _prose(block: Block, words: str) -> str:
    mark = ""
    if block.lead.strip(" \t>") and (task := _TASK.match(words)):
        mark, words = ("☐ " if task[1] == " " else "☑ "), words[task.end() :]
    shown = _SMALL_PRINT.sub(r"\1\\-#", _BREAK.sub("", _inline(words)))
    first, *rest = shown.split("\n")
    if ">" in block.lead:
        rest = ["> " + _QUOTES.sub("", line) for line in rest]
    return "\n".join([_lead(block.lead) + mark + first, *rest])


def _lead(lead: str) -> str:
    """Indentation, quote and list marks as Discord has them: one level of quotation, and bullets that it knows."""
    marks = _MARKER.sub(lambda found: "." if found[0] == ")" else "-", lead)
    if ">" not in marks:
        return marks
    return "> " + marks.replace(">", "").lstrip(" ")


def _inside(text: str, block: Block) -> list[str]:
    """The lines of code without the margin that the block has."""
    lines = text.split("\n")
    if ">" in block.lead:
        return [_QUOTES.sub("", line) for line in lines]
    width = len(block.lead) if block.depth or not block.lead.strip() else 0
    return [line[min(width, len(line) - len(line.lstrip(" "))) :] for line in lines]


def _code(lines: Sequence[str], language: str, block: Block) -> str:
    """Discord closes a block at the next three ticks, wherever they stand."""
    if not any(line.strip() for line in lines):
        return ""
    lead = _lead(block.lead)
    margin = "> " if lead.startswith(">") else ""
    shown = [f"```{language}", *(line.replace("```", "`\u200b``") for line in lines), "```"]
    begun = lead + "\n" if lead.strip(" >") else ""  # the mark of the item that begins with it
    return begun + "\n".join(margin + line for line in shown)


# -- tables -----------------------------------------------------------------------------------------------------------


def _table(text: str, block: Block) -> str:
    header, rule, *rows = ([_cell(cell) for cell in _cells(line)] for line in text[block.start : block.end].split("\n"))
    rows = [(row + [""] * len(header))[: len(header)] for row in rows]
    table = [[_plain(cell) for cell in row] for row in (header, *rows)]
    widths = [max(3, *map(columns, column)) for column in zip(*table, strict=True)]
    linked = any(span.kind in ("link", "url", "auto") for row in rows for cell in row for span in scan(cell).spans)
    if linked or sum(widths) + 3 * len(widths) > COLUMNS:
        margin = "> " if ">" in block.lead else ""
        return "\n".join(margin + line for row in rows for line in _listed(header, row))
    right = [cell.endswith(":") and not cell.startswith(":") for cell in rule]
    lines = [" | ".join(map(_padded, row, widths, right)).rstrip() for row in table]
    head = [lines[0], "-+-".join("-" * width for width in widths)]
    quoted = Block("lines", 0, 0, block.depth, ">" if ">" in block.lead else "")
    return "\n".join(_code([*head, *some], "", quoted) for some in _batches(lines[1:], sum(map(len, head))))


def _batches(lines: Sequence[str], head: int) -> Iterator[list[str]]:
    batch: list[str] = []
    size = head
    for line in lines:
        if batch and size + len(line) > TABLE:
            yield batch
            batch, size = [], head
        batch.append(line)
        size += len(line) + 3  # its end, and the margin of a quotation
    yield batch


def _listed(header: Sequence[str], row: Sequence[str]) -> Iterator[str]:
    """A row that does not fit into columns, or has links: its first cell, and the others under it by their names."""
    yield f"- **{_inline(row[0]) or '–'}**" if _plain(row[0]) else "- –"
    for name, cell in zip(header[1:], row[1:], strict=True):
        if cell:
            yield f"  - {_inline(name)}: {_inline(cell)}" if name else f"  - {_inline(cell)}"


def _cells(line: str) -> list[str]:
    line = _QUOTES.sub("", line).strip()
    inner = line.removeprefix("|")
    ends = inner.endswith("|") and not inner.endswith("\\|")
    return _PIPE.split(inner[:-1] if ends else inner)


def _cell(text: str) -> str:
    return text.strip().replace("\\|", "|")


def _padded(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - columns(text))
    return blanks + text if right else text + blanks


def columns(text: str) -> int:
    """How wide a text is where every letter has the same width, and a Japanese one twice that."""
    return sum(2 if wide(char) else 0 if char == "\u200b" else 1 for char in text)


# -- what stands in a line --------------------------------------------------------------------------------------------


def _inline(text: str) -> str:
    found = scan(text)
    pieces: list[str] = []
    done = 0
    marks = ((start, end, _mark(text[start:end])) for start, end in _marks(found.emphases))
    for start, end, shown in sorted([*marks, *((s.start, s.end, _span(text, s)) for s in found.spans)]):
        pieces += [_literal(text[done:start]), shown]
        done = end
    joined = "".join([*pieces, _literal(text[done:])])
    # "http:" and "//" met only now.
    return _JOINED.sub(lambda found: r"\://" if found[0] == "://" else found[0], joined)


def _marks(emphases: Iterable[Emphasis]) -> Iterator[tuple[int, int]]:
    for each in emphases:
        yield each.start, each.inside
        yield each.close, each.end


def _mark(written: str) -> str:
    return "~~" if written[0] == "~" else "*" * len(written)


def _span(text: str, span: Span) -> str:
    shown = text[span.start : span.end]
    match span.kind:
        case "code":
            return _ticked(text[slice(*span.inner)])
        case "link":
            return _link(text[slice(*span.inner)], span.target.strip("<>"))
        case "image":
            return _inline(text[slice(*span.inner)])
        case "auto":
            inner = shown[1:-1]
            return f"<{inner}>" if _address(inner) else _SIGNS.sub(_escape, inner)
        case "url":
            return f"<{shown}>" if _address(shown) else _SIGNS.sub(_escape, shown)
        case "entity":
            return _PUNCTUATION.sub(r"\\\g<0>", html.unescape(shown))
        case "escape":
            return shown
        case _:
            return _literal(shown)


def _link(words: str, target: str) -> str:
    if not _address(target):
        return rf"\[{words}\]" if _CITED.fullmatch(words) else _inline(words)
    if "://" in words or not words.strip():  # Discord does not hide one address behind another
        return f"<{target}>"
    return f"[{_inline(words)}](<{target}>)"


def _address(text: str) -> bool:
    return len(text) <= ADDRESS and _HTTP.fullmatch(text) is not None and neutral(text) == text


def _ticked(code: str) -> str:
    code = " ".join(code.split("\n"))
    if "``" in code:
        code = code.replace("`", "ˋ")
    if "`" in code:
        return f"`` {code.strip()} ``"
    return f"`{code}`" if code.strip() else ""


def _literal(text: str) -> str:
    return _IN_TEXT.sub(_escape, text)


def _plain(text: str) -> str:
    """The text without any mark-up, for where nothing is markup."""
    found = scan(text)
    pieces: list[str] = []
    done = 0
    gone = ((start, end, "") for start, end in _marks(found.emphases))
    for start, end, shown in sorted([*gone, *((span.start, span.end, _read(text, span)) for span in found.spans)]):
        pieces += [text[done:start], shown]
        done = end
    return " ".join("".join([*pieces, text[done:]]).split())


def _read(text: str, span: Span) -> str:
    match span.kind:
        case "code" | "link" | "image":
            inner = text[slice(*span.inner)]
            return inner if span.kind == "code" else _plain(inner)
        case "escape":
            return text[span.start + 1 : span.end]
        case "entity":
            return html.unescape(text[span.start : span.end])
        case "auto":
            return text[span.start + 1 : span.end - 1]
        case _:
            return text[span.start : span.end]
