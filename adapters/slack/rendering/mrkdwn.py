"""Markdown as Slack's own mark-up, mrkdwn: for notifications, for texts in other blocks, and where blocks are refused.

Source: docs.slack.dev "Formatting message text"; it knows no headings, lists, tables or escapes but of `& < >`.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.cells import cell_len

from adapters.markdown.blocks import structure
from adapters.markdown.events import without_pings
from adapters.markdown.spans import TRAILING, URL, scan, wide
from agent.links import visible
from retrieval.text import compiled

HIDDEN = "\u200b"
"""A blank without width, which keeps apart what Slack would read as one."""

APART = "\ue001"
"""Stands where mark-up was dropped, until `settled`."""

_INSIDE = "\ue000"  # stands in delimiters that only Japanese readers take for emphasis, while Markdown is parsed
_WIDEST = 100  # columns of a table that is set in columns
_RULE = "———"
_MARKERS = {"strong": "*", "em": "_", "s": "~"}
_BULLETS = ("•", "◦", "▪")
_URL = re.compile(URL, re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_INERT = re.compile(r"</?(?:b|strong|i|em|u|s|del|ins|sup|sub|small|kbd|mark)>", re.IGNORECASE)
_LINK = re.compile(r"<[^<>]+>")
_TASK = re.compile(r"\[([ xX])\] ")
_JOINING = re.compile(r"[A-Za-z0-9.:/@]")
_BEGIN = re.compile(rf"^([ \t>]*){APART}+(?=[!-@\[-`{{-~])", re.MULTILINE)
_JOINT = re.compile(f"(?<=[!-~])[{APART}{HIDDEN}]+(?=[!-~])")

_parser = compiled(
    MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["text_join", "reference"])
)
_parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
_parser.validateLink = lambda url: True  # type: ignore[method-assign]


def escaped(text: str) -> str:
    """`text` as mrkdwn that shows it: `&`, `<` and `>` as entities. What people or documents named goes through
    `adapters.markdown.events.harmless` first."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def mrkdwn(markdown: str) -> str:
    """Markdown as mrkdwn. Nobody is called; links lead where Markdown's links and bare addresses lead, if that is the
    web or a mailbox; of images the description stays; a table is set in columns in a code block."""
    made = _blocks(iter(_parser.parse(_marked(cleaned(markdown)))))
    return settled("\n\n".join(block for block in made if block.strip())).strip()


def cleaned(markdown: str) -> str:
    """A text with plain line ends, and without the letters that have a meaning here."""
    return re.sub(f"[{_INSIDE}{APART}]", "", markdown.replace("\r\n", "\n").replace("\r", "\n"))


def settled(text: str) -> str:
    """The text around dropped mark-up makes no address and no other mark-up together, at a line's begin neither."""
    text = _BEGIN.sub(rf"\1{HIDDEN}", _JOINT.sub(HIDDEN, text))
    return re.sub(f"[{_INSIDE}{APART}]", "", text)


def address(target: str) -> str | None:
    """The target of a link, as it can stand in Markdown and in mrkdwn alike; None for what is no web or mail
    address."""
    url = html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", target)).strip()
    if visible(url) != url or not re.fullmatch(r"https?://[^\s<>]+|mailto:[^\s<>]+@[^\s<>]+", url, re.IGNORECASE):
        return None
    url = re.sub(r"@(?=everyone|here|channel)", "%40", url, flags=re.IGNORECASE)
    return re.sub(r"[|\"`\\()*\[\]]", lambda found: f"%{ord(found[0]):02X}", url)


def joinless(char: str) -> str:
    """Text written as an entity or with a backslash, so that it makes no address together with the text that
    follows."""
    return char + HIDDEN if _JOINING.fullmatch(char) else "" if char != visible(char) else char


def table_text(rows: Sequence[Sequence[str]]) -> str:
    """A table in columns of equal width, Japanese taking two; one that would be too wide, with bars alone."""
    count = max(map(len, rows))
    widths = [max((cell_len(row[at]) for row in rows if at < len(row)), default=0) for at in range(count)]
    if sum(widths) + 3 * count > _WIDEST:
        return "\n".join(" | ".join(row) for row in rows)
    lines = [
        " | ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(lines)


def _marked(text: str) -> str:
    """`text` with a letter inside of the delimiters that CommonMark would not take, such as of `**「有給」**は`."""
    pieces: list[str] = []
    done = 0
    for block in structure(text).blocks:
        if block.kind in ("fence", "code"):
            continue
        start = block.text_start
        places = [
            start + place
            for each in scan(text[start : block.end]).emphases
            for place, sure in ((each.inside, each.opens_surely), (each.close, each.closes_surely))
            if not sure
        ]
        for place in sorted(places):
            pieces += [text[done:place], _INSIDE]
            done = place
    return "".join([*pieces, text[done:]])


# -- blocks ---------------------------------------------------------------------------------------------------------


def _blocks(tokens: Iterator[Token], close: str = "", depth: int = 0) -> list[str]:
    made: list[str] = []
    for token in tokens:
        match token.type:
            case kind if kind == close:
                break
            case "inline":
                made.append(_inline(token.children or []))
            case "heading_open":
                lines = _inline(next(tokens).children or [], ["*"]).split("\n")
                made += [f"*{line}*" for line in lines if line.strip()]
            case "fence" | "code_block":
                made.append(_fence(token.content))
            case "hr":
                made.append(_RULE)
            case "blockquote_open":
                inner = "\n\n".join(_blocks(tokens, "blockquote_close", depth))
                made.append("\n".join(f"> {line.removeprefix('> ')}".rstrip() for line in inner.split("\n")))
            case "bullet_list_open" | "ordered_list_open":
                number = int(token.attrGet("start") or 1) if token.type.startswith("ordered") else None
                made.append(_list(tokens, number, depth))
            case "table_open":
                made += _table(tokens)
    return made


def _list(tokens: Iterator[Token], number: int | None, depth: int) -> str:
    lines: list[str] = []
    for token in tokens:
        if token.type in ("bullet_list_close", "ordered_list_close"):
            break
        mark = _BULLETS[min(depth, 2)] if number is None else f"{number}."
        number = None if number is None else number + 1
        first, *rest = _blocks(tokens, "list_item_close", depth + 1) or [""]
        if task := _TASK.match(first):
            mark, first = "☐" if task[1] == " " else "☑", first[task.end() :]
        blanks = "" if first.startswith("```") else "    " * depth
        lines.append(f"{blanks}{mark} {first}".rstrip())
        lines += rest
    return "\n".join(lines)


def _table(tokens: Iterator[Token]) -> Iterator[str]:
    """The table, and its links beneath it: a code block has none."""
    rows: list[list[str]] = []
    links: dict[str, str] = {}
    for token in tokens:
        match token.type:
            case "table_close":
                break
            case "tr_open":
                rows.append([])
            case "inline":
                children = token.children or []
                rows[-1].append(" ".join(html.unescape(settled(_words(children).strip(APART))).split()))
                links |= dict.fromkeys(_LINK.findall(settled(_inline(children))), "")
    yield _fence(table_text(rows))
    if links:
        yield "\n".join(links)


def _fence(code: str) -> str:
    shown = escaped(without_pings(code.rstrip("\n"))).replace("```", f"`{HIDDEN}`{HIDDEN}`")
    return f"```\n{shown}\n```"


# -- inline ---------------------------------------------------------------------------------------------------------


def _words(tokens: Iterable[Token]) -> str:
    """As mrkdwn without any mark-up."""
    return "".join(_said(tokens))


def _said(tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        match token.type:
            case "text":
                yield _escaped(token.content)
            case "text_special":
                yield _escaped(joinless(token.content))
            case "code_inline":
                yield escaped(without_pings(token.content))
            case "softbreak" | "hardbreak":
                yield "\n"
            case "image":
                yield f"{APART}{_words(token.children or [])}{APART}"
            case _:
                yield APART


def _inline(tokens: Sequence[Token], around: Sequence[str] = ()) -> str:
    """`around`: the markers it will stand between."""
    pieces: list[tuple[str, bool]] = []  # and whether it is a marker of emphasis
    styles = [*around]
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        match token.type:
            case "text_special" if len(token.content) > 1 and at < len(tokens) and tokens[at].type == "text":
                tokens[at].content = token.content + tokens[at].content  # a backslash that escapes nothing
            case "text":
                pieces += [(piece, False) for piece in _linked(token.content)]
            case "code_inline":
                pieces.append((f"`{_words([token]).replace('`', 'ˋ')}`", False))
            case "softbreak" | "hardbreak":
                pieces.append(("\n", False))
            case "link_open":
                end = next(i for i in range(at, len(tokens)) if tokens[i].type == "link_close")
                target, auto = str(token.attrGet("href") or ""), token.markup == "autolink"
                shown = _words(tokens[at:end])
                if auto and "|" in target:  # Slack's own form of a link, which Markdown does not know
                    pieces.append((f"&lt;{shown}&gt;", False))
                else:
                    pieces.append((_link(target, "" if auto else shown), False))
                at = end + 1
            case "strong_open" | "em_open" | "s_open":
                marker = _MARKERS[token.tag]
                pieces.append((APART, False) if marker in styles else (marker, True))
                styles.append(marker)
            case "strong_close" | "em_close" | "s_close":
                marker = styles.pop()
                pieces.append((APART, False) if marker in styles else (marker, True))
            case _:
                pieces.append((_words([token]), False))
    return _joined(pieces)


def _joined(pieces: Iterable[tuple[str, bool]]) -> str:
    """Emphasis ends with its line and begins again in the next; beside Japanese it stands behind a blank, since Slack
    takes it for emphasis only between words."""
    made: list[str] = []
    open_: list[str] = []
    last, closed = " ", False
    for text, marker in pieces:
        if marker and text in open_:
            open_.remove(text)
            made.append(text)
            closed = True
        elif marker and text:
            made.append(f" {text}" if wide(last) else text)
            open_.append(text)
            last, closed = text, False
        elif text:
            first, *more = text.split("\n")
            made.append(f" {first}" if closed and wide(_seen(first)[:1] or " ") else first)
            for line in more:
                made += [*reversed(open_), "\n", *open_, line]
            last, closed = _seen(text)[-1:] or last, False
    return "".join(made)


def _seen(text: str) -> str:
    return text.strip(HIDDEN + APART + _INSIDE)


def _linked(text: str) -> Iterator[str]:
    """Text whose bare addresses say where they end."""
    for piece in re.split(f"([{APART}{_INSIDE}])", _INERT.sub(APART, _BREAK.sub("\n", text))):
        done = 0
        for found in _URL.finditer(piece):
            url = found.group().rstrip(TRAILING)
            if target := address(url):
                yield _escaped(piece[done : found.start()])
                yield f"<{escaped(target)}>"
                done = found.start() + len(url)
        yield _escaped(piece[done:])


def _link(target: str, words: str) -> str:
    words = " ".join(words.split())
    url = address(target)
    if url is None:
        return f"{APART}{words}{APART}"
    return f"<{escaped(url)}|{words.replace('|', '¦')}>" if words and words != escaped(url) else f"<{escaped(url)}>"


def _escaped(text: str) -> str:
    return escaped(without_pings(_INERT.sub(APART, _BREAK.sub("\n", text))))
