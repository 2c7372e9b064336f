"""A passage's Markdown as what can be quoted from it: sentences, items, table rows, code, each with its context."""

import html
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from retrieval.text import HTML_TAGS, compiled, language_of, sentences

UnitKind = Literal["sentence", "item", "row", "code", "pair"]

_CHAPTER, _SECTION, _BOLD = 7, 8, 9  # the levels of lines that stand for headings: those of Markdown are 1 to 6
LONGEST = 420  # characters; a longer answer of a pair is quoted sentence by sentence
LONGEST_ITEM = 300  # characters; a longer list item is, too: what a quotation shows of one line

parser = compiled(
    MarkdownIt("commonmark").enable("table").disable(["inline", "reference", "code", "html_block", "lheading"])
)

_PROSE = re.compile(r"(?:[^\W\d_][^\n\r\0]*(?:\n+|\Z))+")
"""Paragraphs and nothing else, which needs no parser: every line of another block begins with a sign, a digit or a
space."""

_QUOTE_MARK = re.compile(r"^(?:\s*>)+ ?")
_EMPTY_QUOTE = re.compile(r"(?:\s*>)+\s*")
_FORMS = {  # of lines that stand for themselves in what Markdown takes for one paragraph
    "heading": re.compile(  # of Japanese regulations and mails: 「第3条（試用期間）」, 「■返品」, 「【契約プラン】」
        r"^\s*(?:(?:第\s?[\d〇一二三四五六七八九十百]{1,4}\s?[章節条]|附\s?則|別表(?:第?\s?\d{1,2})?)"
        r"(?:\s*[（(][^（）()。]{1,40}[)）]|[ \u3000][^（()。\d]{1,30})?"
        r"|[■◆□◇▼▽]\s*[^\s。：:\d][^。：:\d]{0,30}|【[^【】。：:\d]{1,30}】)\s*$"
    ),
    "item": re.compile(
        r"^\s*(?:[-*+]\s+|[•・●◦○]\s*|\d{1,3}(?:[.)]\s+|[．、])|[０-９]{1,2}[ \u3000]+(?=\S{8})|[①-⑳]"
        r"|[（(]\d{1,2}[)）])\s*(?=\S)(.*)$"
    ),
    "row": re.compile(r"^\s*\|(.*)\|\s*$"),
    "definition": re.compile(r"^\s*\[[^\]]+\]:\s*\S+.*$"),
}

_IMAGE = re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])")
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\](?:\((?:[^()]|\([^)]*\))*\)|\[[^\]]*\])")
_REFERENCE = re.compile(r"\[\^?(?:(?<=\^)[\w-]+|\d{1,3}|注\s?\d{0,3}|note \d{1,3}|citation needed|要出典)\](?!\()")
_VALUE = re.compile(r"\{\{\s*[\w.]+\s*\}\}")  # that a program fills in
_TEMPLATE = re.compile(r"\{%.{0,2000}?%\}|\{\{.{0,2000}?\}\}|<!--.{0,2000}?-->", re.DOTALL)
_ADDRESS = re.compile(r"<((?:https?|ftp|mailto|tel):[^\s<>]+|[^\s<>@:/]+@[^\s<>@]+\.[A-Za-z]{2,})>")
_TAG = re.compile(
    rf"</?(?:{'|'.join(sorted(HTML_TAGS))})(?:[\s/][^<>]{{0,300}})?>"
    r"|</[A-Za-z][^<>]{0,300}>|<[A-Za-z][^<>]{0,300}(?:/|=[^<>]{0,300})>|<([A-Za-z]\w*)>(?=.*</\1>)",
    re.IGNORECASE | re.DOTALL,
)
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_LOOSE = re.compile(r"\*{2,4}(?=[^*\n]*[^\W\d_])([^*\n]+)\*{2,4}")  # "**Note: **", as editors export it
_EMPHASIS = re.compile(r"(?<![\w*])([*_])(?=[^\s*_])([^*_\n]+?)(?<=[^\s*_])\1(?![\w*])")
_STARS = re.compile(r"(?<![A-Za-z0-9*])\*(?=[^\s*_])([^*_\n]+?)(?<=[^\s*_])\*(?![A-Za-z0-9*])")  # 「右の*青い*ボタン」
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_SIGN = re.compile(r"\\([\\*_])")  # of emphasis, which stands for itself
_BREAK = re.compile(r"\\[ \t]*(?=\n|\Z)|(?<=\s)\\(?=\s)")  # of a line
_CODE_SPAN = re.compile(r"(?<!`)(`++)(.+?)(?<!`)\1(?!`)")
_SPACES = re.compile(r"[ \t\u3000]*\n[ \t]*|[ \t\u3000]{2,}")
_DRAWING = re.compile(
    r"\s*(?:graph\s+(?:LR|RL|TB|TD|BT)\b|flowchart\b|sequenceDiagram|classDiagram|stateDiagram|erDiagram|gantt\b|pie\b|mindmap|timeline\b"
    r"|gitGraph|journey\b|(?:strict\s+)?(?:di)?graph\b[^\n]*\{|@start\w+|%%\{)"
)
_DRAWN_IN = re.compile(r"mermaid|plantuml|puml|dot|graphviz|svg|d2|ditaa|chart", re.IGNORECASE)
_LINKS_ONLY = re.compile(
    r"(?:\s|[-–—|/·•,、>»→*_()（）]|\[(?:[^\[\]]|\[[^\]]*\])*\](?:\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\])|https?://\S++)+"
)
_POINTS_ELSEWHERE = re.compile(
    r"^(?:see also|external links?|related (?:pages?|links?|articles?|documents?)|further reading|references"
    r"|bibliography|footnotes|notes and references|(?:table of )?contents|on this page|in this (?:page|section|article)"
    r"|navigation|links? & policies|quick links|useful links|categories"
    r"|関連(?:リンク|項目|ページ|資料|記事)|外部リンク|参考(?:文献|リンク|資料)?|脚注|出典|目次|もくじ|リンク集?|カテゴリー?)$",
    re.IGNORECASE,
)
_BOLD_LINE = re.compile(r"(\*\*|__)(?![\s*_])(?:(?!\1).){1,60}(?<![.。!！\s])\1[:：]?\s*")  # and no whole sentence
_ENDS = ("heading", "hr")  # of a section
_OPENS = re.compile(r"[:：?？][\s*_]*$")  # over more of its paragraph, which may go on from it otherwise
_COMMAND_LINE = re.compile(r"\s*`[^`\n]*[ $./-][^`\n]*`\s*")
_OF_CHAPTER = re.compile(r"\s*(?:第[^条]*[章節]|[附別])")
_AROUND = ":： \u3000■◆□◇▼▽【】"  # a heading
_BOX = re.compile(r"^\[([ xX])\](?=\s)")
_COLUMNS = re.compile(r"\S(?:[ \u3000]{2,}|\t+)\S")  # set apart by spaces
_WIDE = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
_RECORD = re.compile(r"([^,:：。]{1,60}): [^。]*?, [^,:：。]{1,60}: ")
_LABELLED = re.compile(r"^[^:：。.]{1,24}(?:：|: )\s*\S")
_TIMED = re.compile(r"^\W{0,2}(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}:\d{2})\b")  # of a log, or a chat


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that can be quoted. `text` is clean of Markdown; `group` numbers the paragraph it is in, or the line of
    one whose lines stand for themselves.

    `lead` is what it continues: the line before a list, the item a nested one is in, the sentence before a sentence, a
    pair's question.
    """

    text: str
    kind: UnitKind
    group: int
    headings: tuple[str, ...] = ()
    lead: str = ""
    leads_away: bool = False  # only links, or a list of where else to look: nothing is said here
    depth: int = 0  # of an item in its list, from 1
    names: tuple[str, ...] = ()  # of a row's columns
    heads: bool = False  # a line that stands for a heading: what follows has it among its own

    @property
    def columns(self) -> tuple[str, ...]:
        """Of a row the names of its columns, of a record in one line (`Name: Mori, Shift: late`) that of the first;
        empty for anything else, and where the first row may be the names."""
        record = _RECORD.match(self.text) if self.kind == "item" else None
        return self.names or ((record[1],) if record else ())


def without_mark(line: str) -> str:
    """An item of a list without the mark in front of it; any other line as it is."""
    item = _FORMS["item"].match(line)
    return item[1] if item else line


def clean(text: str) -> str:
    """`text` as a reader sees it: no link targets, images, emphasis, HTML tags or reference marks. Code spans, bare
    addresses (`<mail@example.com>`) and placeholders (`<your name>`) are words of it."""
    if not marked(text):
        return _SPACES.sub(" ", text).strip()
    kept: list[str] = []

    def keep(span: re.Match[str]) -> str:
        kept.append(span[1] if span.re is _SIGN else span.group())
        return f"\x00{len(kept) - 1}\x00"

    text = _SIGN.sub(keep, _CODE_SPAN.sub(keep, _filled(text)))
    text = _LINK.sub(r"\1", _IMAGE.sub("", _BREAK.sub("", text)))
    text = _TAG.sub(" ", _ADDRESS.sub(r"\1", _REFERENCE.sub("", text)))
    text = _STARS.sub(r"\1", _EMPHASIS.sub(r"\2", _LOOSE.sub(r"\1", _STRONG.sub(r"\2", text))))
    text = html.unescape(_ESCAPE.sub(r"\1", text))
    text = re.sub(r"\x00(\d+)\x00", lambda mark: kept[int(mark.group(1))], text)
    return _SPACES.sub(" ", text).strip()


def _filled(text: str) -> str:
    return _TEMPLATE.sub("", _VALUE.sub("…", text))


def marked(text: str) -> bool:
    """Whether a text has any of the signs that Markdown and HTML are written with."""
    return any(sign in text for sign in "`[<*_&\\{")


def link_spans(text: str) -> list[tuple[int, int]]:
    """The begin and end of each link of a text: the places where it may not be cut."""
    return [match.span() for match in _LINK.finditer(text)] if "](" in text or "][" in text else []


@lru_cache(maxsize=256)
def units(markdown: str, headings: tuple[str, ...] = (), question: str | None = None) -> tuple[Unit, ...]:
    """The units of one passage that can be quoted, in reading order. A pair's short answer is one unit, whole, in
    its own lines."""
    if question is not None and len(markdown) <= LONGEST and "```" not in markdown:
        text = "\n".join(filter(None, map(clean, markdown.splitlines())))
        return (Unit(text, "pair", 0, headings, question),) if text else ()
    reader, text = _Reader(headings, question or ""), _filled(markdown)
    prose = _PROSE.fullmatch(text)
    found = reader.read_prose(text) if prose else reader.read(SyntaxTreeNode(parser.parse(text)).children)
    return tuple(unit for unit in found if unit.text and re.search(r"\w", unit.text))


def in_one_line(markdown: str) -> str:
    """A passage as a reader would read it out: no marks of Markdown, each cell of a table behind its column's name."""
    return " ".join(" ".join(unit.text.split()) for unit in units(markdown))


class _Reader:
    """Walks the blocks of one passage."""

    def __init__(self, headings: tuple[str, ...], lead: str) -> None:
        self._passage_headings = headings
        self._own: dict[int, str] = {}
        self._first_lead = lead
        self._last = lead  # the last line of prose, which a list, a table or code continues
        self._group = 0
        self._depth = 0

    def read(self, blocks: Sequence[SyntaxTreeNode]) -> Iterator[Unit]:
        for at, block in enumerate(blocks):
            match block.type:
                case "heading":
                    self._head(int(block.tag[1]), clean(_content(block)))
                case "fence":
                    if not _DRAWN_IN.fullmatch(block.info) and not _DRAWING.match(block.content):
                        yield self._unit(textwrap.dedent(block.content).strip("\n"), "code")
                case "table":
                    header, *rows = ([clean(_content(cell)) for cell in row.children] for row in _rows(block))
                    names = tuple(header) if any(header) else ()
                    yield from (replace(self._unit(_row(header, cells), "row"), names=names) for cells in rows)
                case "paragraph":
                    below = blocks[at + 1].type if at + 1 < len(blocks) else "hr"
                    yield from self._paragraph(_content(block), over=below not in _ENDS)
                case "list_item":
                    self._depth += 1
                    yield from self._item(block.children)
                    self._depth -= 1
                case _:
                    yield from self.read(block.children)

    def read_prose(self, text: str) -> Iterator[Unit]:
        for start, end in _paragraphs(rows := text.split("\n")):
            yield from self._paragraph("\n".join(rows[start:end]).strip())

    def _head(self, level: int, heading: str) -> None:
        self._own = {depth: text for depth, text in self._own.items() if depth < level} | {level: heading}
        self._last = self._first_lead

    def _heading(self, level: int, line: str) -> Iterator[Unit]:
        """A line that stands for a heading, below those that are over it."""
        text = clean(line)
        self._own = {depth: own for depth, own in self._own.items() if depth < level}
        yield replace(self._unit(text, "sentence"), heads=True)
        self._head(level, text.strip(_AROUND))

    def _unit(self, text: str, kind: UnitKind, *, links: bool = False) -> Unit:
        own = (text for text in self._own.values() if text not in self._passage_headings)
        headings = (*self._passage_headings, *own)
        away = links or bool(headings and _POINTS_ELSEWHERE.match(headings[-1].strip()))
        depth = max(self._depth, 1) if kind == "item" else 0
        return Unit(text, kind, self._group, headings, self._last, away, depth)

    def _item(self, blocks: Sequence[SyntaxTreeNode]) -> Iterator[Unit]:
        """An item's own lines, and as what continues it all else that stands in it."""
        lead = self._last
        if blocks and blocks[0].type == "paragraph":
            own, *others = _stretches(_content(blocks[0]).split("\n"))
            yield from self._listed(own[1])
            for form, lines in others:
                yield from self._lines(form, lines)
            self._last = clean(_unwrapped(own[1]))
            blocks = blocks[1:]
        yield from self.read(blocks)
        self._last = lead

    def _paragraph(self, text: str, *, over: bool = True) -> Iterator[Unit]:
        """`over`: whether something follows that a line in bold may be the heading of."""
        self._group += 1
        first, _, rest = text.partition("\n")
        if not self._depth and _BOLD_LINE.fullmatch(first) and (_OPENS.search(first) if rest else over):
            yield from self._heading(_BOLD, first)
            text = rest
        for form, lines in _stretches(text.split("\n")) if text else ():
            yield from self._lines(form, lines)

    def _lines(self, form: str, lines: list[str]) -> Iterator[Unit]:
        found = _FORMS[form].match(lines[0]) if form else None
        match form:
            case "heading" if not self._depth:
                yield from self._heading(_CHAPTER if _OF_CHAPTER.match(lines[0]) else _SECTION, lines[0])
            case "item" if found:
                yield from self._listed([found[1], *lines[1:]])
            case "row" if found:
                yield self._unit(_row([], [clean(cell) for cell in re.split(r"(?<!\\)\|", found[1])]), "row")
            case "" | "heading":
                yield from self._prose(lines)

    def _listed(self, lines: list[str]) -> Iterator[Unit]:
        raw = _BOX.sub(lambda box: "☐" if box[1] == " " else "☑", _unwrapped(lines))
        whole, lead = clean(raw), self._last
        if len(whole) <= LONGEST_ITEM:
            yield self._unit(whole, "item", links=not lead and _only_links(raw))
            return
        for sentence in sentences(whole):
            yield self._unit(sentence, "item")
            self._last = sentence
        self._last = lead

    def _prose(self, lines: list[str]) -> Iterator[Unit]:
        for text in _joined(lines):
            if _COMMAND_LINE.fullmatch(text):
                yield self._unit(text.strip().strip("`"), "code")
                continue
            whole = clean(text)
            said = bool(_TIMED.match(whole)) and len(whole) <= LONGEST_ITEM  # a message is shown whole, as an item is
            for sentence in [whole] if said else sentences(whole):
                yield self._unit(sentence, "sentence", links=_only_links(text))
                self._last = sentence
            self._group += 1


def _content(block: SyntaxTreeNode) -> str:
    return block.children[0].content if block.children else ""


def _rows(table: SyntaxTreeNode) -> Iterator[SyntaxTreeNode]:
    return (row for part in table.children for row in part.children)


def _row(header: list[str], cells: list[str]) -> str:
    named = zip(header if any(header) else [""] * len(cells), cells, strict=True)
    return " / ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)


def _only_links(text: str) -> bool:
    return "](" in text and bool(_LINKS_ONLY.fullmatch(text))


def _stretches(lines: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The lines of a paragraph in stretches, each with its form; "" is prose. A line below an item is more of it where
    it is indented or the item's sentence goes on."""
    found: list[tuple[str, list[str]]] = []
    margin = max((len(line.rstrip()) for line in lines), default=0)
    for number, line in enumerate(lines):
        form = next((form for form, pattern in _FORMS.items() if pattern.match(line)), "")
        ended = bool(found) and found[-1][0] in ("heading", "row", "definition")
        if found and found[-1][0] == "item" and not line[:1].isspace():
            ended = not _runs_on(lines[number - 1].rstrip(), line.strip(), margin)
        if form or not found or ended:
            found.append((form, [line]))
        else:
            found[-1][1].append(line)
    return found


def unwrapped(markdown: str) -> str:
    """`markdown` with the lines that were wrapped at a margin joined again: nothing between two Japanese characters, a
    space elsewhere, links over two lines in one piece. Headings, list items, rows and code stay lines of their own.
    """
    if "\n" not in markdown:
        return markdown
    rows = markdown.rstrip("\n").split("\n")
    for start, end in reversed(_paragraphs(rows) if _PROSE.fullmatch(markdown) else _parsed_paragraphs(markdown)):
        stretches = _stretches([_QUOTE_MARK.sub("", row) for row in rows[start:end]])
        rows[start:end] = [row for form, lines in stretches for row in _joined(lines, always=form == "item")]
    return "\n".join("" if _EMPTY_QUOTE.fullmatch(row) else row for row in rows)


def _parsed_paragraphs(markdown: str) -> list[tuple[int, int]]:
    tokens = parser.parse(markdown)
    return [(token.map[0], token.map[1]) for token in tokens if token.type == "paragraph_open" and token.map]


def _paragraphs(rows: Sequence[str]) -> list[tuple[int, int]]:
    """The paragraphs of prose, from which row to which."""
    ends = [at for at, row in enumerate(rows) if not row]
    return [(start + 1, end) for start, end in pairwise((-1, *ends, len(rows))) if end - start > 1]


def _unwrapped(lines: list[str]) -> str:
    return " ".join(_joined(lines, always=True))


def _joined(lines: list[str], *, always: bool = False) -> list[str]:
    """Lines that were wrapped at a margin joined again; lines that stand alone (「定休日：日曜」) left as they are."""
    joined: list[str] = []
    margin = max((len(line.rstrip()) for line in lines), default=0)
    for number, line in enumerate(lines):
        before = lines[number - 1].rstrip() if number else ""
        after = line.strip()
        broken = (
            after.startswith("<br") or lines[number - 1].endswith(("\\", "<br>", "<br/>", "  ")) if number else False
        )
        if joined and not broken and (always or _open(joined[-1]) or _runs_on(before, after, margin)):
            apart = not (after.startswith(":") or (_WIDE.match(before[-1:]) and _WIDE.match(after)))
            joined[-1] = joined[-1].rstrip() + (" " if apart else "") + after
        else:
            joined.append(after)
    return joined


def _open(text: str) -> bool:
    """Whether a link or a bracket of `text` closes on a later line."""
    return text.count("[") > text.count("]") or bool(re.search(r"\]\([^()]*$", text))


def _runs_on(before: str, after: str, margin: int) -> bool:
    """Whether a sentence goes on: lines are as long as a margin allows, or the next one cannot begin a sentence."""
    if after.startswith(": "):  # what the term before it means
        return True
    if sentences(f"{before} A")[-1] == "A":  # it has ended, and not with an abbreviation
        return False
    if _TIMED.match(before) and _TIMED.match(after):
        return False
    if re.match(r"[a-z\[]", after) and not before.endswith((":", "：")):
        return True
    if any(form.search(before) and form.search(after) for form in (_LABELLED, _COLUMNS)):
        return False
    if margin >= 15 and re.search(r"[、てにをはがのでともや]$", before):
        return True
    if language_of(before) == "ja":
        return margin >= 30 and len(before) >= 0.6 * margin
    next_word = after.split(maxsplit=1)[0] if after else ""
    return margin >= 60 and len(before) + 1 + len(next_word) >= 0.8 * margin  # it had hardly found room
