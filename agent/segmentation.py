"""A passage's Markdown as what can be quoted from it: sentences, list items, table rows, code, each with its context."""

import html
import re
import textwrap
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from retrieval.text import language_of, sentences

UnitKind = Literal["sentence", "item", "row", "code", "pair"]

LONGEST = 420  # characters; a longer list item or answer is quoted sentence by sentence

_FENCE = re.compile(r"^\s*(```+|~~~+)\s*(\S*)")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*$")
_ITEM = re.compile(r"^(\s*)(?:[-*+•・●◦○]\s*(?<=[\s・●○•◦])|(\d{1,3}[.)．、]|[①-⑳]|[（(]\d{1,2}[)）])\s*)(?=\S)(.*)$")
_QUOTE_MARK = re.compile(r"^(?:\s*>)+ ?")
_TABLE_ROW = re.compile(r"^\s*\|.*\|\s*$")
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$")

_IMAGE = re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])")
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\](?:\((?:[^()]|\([^)]*\))*\)|\[[^\]]*\])")
_REFERENCE = re.compile(r"\[\^?(?:\d{1,3}|注\s?\d{0,3}|note \d{1,3}|citation needed|要出典)\](?!\()")
_TEMPLATE = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|<!--.*?-->", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,300}>")
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?:(?<![\w*])|(?<=\\\*))([*_])(?=[^\s*_])([^*_\n]+?)(?<=[^\s*_])\1(?![\w*])")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~])")
_CODE_SPAN = re.compile(r"(`+)(.+?)\1")
_SPACES = re.compile(r"[ \t\u3000]*\n[ \t]*|[ \t\u3000]{2,}")
_DEFINITION = re.compile(r"^\s*\[[^\]]+\]:\s*\S+.*$")
_DRAWING = re.compile(
    r"\s*(?:graph\s+(?:LR|RL|TB|TD|BT)\b|flowchart\b|sequenceDiagram|classDiagram|stateDiagram|erDiagram|gantt\b|pie\b|mindmap|timeline\b"
    r"|gitGraph|journey\b|(?:strict\s+)?(?:di)?graph\b[^\n]*\{|@start\w+|%%\{)"
)
_DRAWN_IN = re.compile(r"mermaid|plantuml|puml|dot|graphviz|svg|d2|ditaa|chart", re.IGNORECASE)
_LINKS_ONLY = re.compile(
    r"(?:\s|[-–—|/·•,、>»→*_()（）]|\[(?:[^\[\]]|\[[^\]]*\])*\](?:\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\])|https?://\S+)+"
)
_POINTS_ELSEWHERE = re.compile(
    r"^(?:see also|external links?|related (?:pages?|links?|articles?|documents?)|further reading|references|bibliography|footnotes|notes and references"
    r"|(?:table of )?contents|on this page|in this (?:page|section|article)|navigation|links? & policies|quick links|useful links|categories"
    r"|関連(?:リンク|項目|ページ|資料|記事)|外部リンク|参考(?:文献|リンク|資料)?|脚注|出典|目次|もくじ|リンク集?|カテゴリー?)$",
    re.IGNORECASE,
)
_COMMAND_LINE = re.compile(r"\s*`[^`\n]*[ $./-][^`\n]*`\s*")
_WIDE = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
_LABELLED = re.compile(r"^[^:：。.]{1,24}(?:：|: )\s*\S")


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that can be quoted. `text` is clean of Markdown; `group` numbers the list, table or paragraph it is in.

    `lead` is what it continues: the line before a list, the item a nested one is in, the sentence before a sentence, a
    pair's question.
    """

    text: str
    kind: UnitKind
    group: int
    headings: tuple[str, ...] = ()
    lead: str = ""
    number: str = ""  # of a numbered item, as written
    leads_away: bool = False  # only links, or a list of where else to look: nothing is said here


def clean(text: str) -> str:
    """`text` as a reader sees it: link targets, images, emphasis, HTML tags and reference marks gone; code spans kept."""
    if not marked(text):
        return _SPACES.sub(" ", text).strip()
    kept: list[str] = []

    def keep(span: re.Match[str]) -> str:
        kept.append(span.group())
        return f"\x00{len(kept) - 1}\x00"

    text = _CODE_SPAN.sub(keep, _TEMPLATE.sub("", text))
    text = _LINK.sub(r"\1", _IMAGE.sub("", text))
    text = _TAG.sub(" ", _REFERENCE.sub("", text))
    text = _EMPHASIS.sub(r"\2", _STRONG.sub(r"\2", text))
    text = html.unescape(_ESCAPE.sub(r"\1", text))
    text = re.sub(r"\x00(\d+)\x00", lambda mark: kept[int(mark.group(1))], text)
    return _SPACES.sub(" ", text).strip()


def marked(text: str) -> bool:
    """Whether a text has any of the signs that Markdown and HTML are written with."""
    return any(sign in text for sign in "`[<*_&\\{")


def link_spans(text: str) -> list[tuple[int, int]]:
    """Where each link of a text begins and ends: the places where it may not be cut."""
    return [match.span() for match in _LINK.finditer(text)] if "](" in text or "][" in text else []


@lru_cache(maxsize=256)
def units(markdown: str, headings: tuple[str, ...] = (), question: str | None = None) -> tuple[Unit, ...]:
    """What can be quoted from one passage, in reading order. A pair's short answer is one unit, whole."""
    if question is not None and len(markdown) <= LONGEST and "```" not in markdown:
        return (Unit(clean(markdown), "pair", 0, headings, question),) if markdown.strip() else ()
    found = _Reader(headings, question or "").read(markdown)
    return tuple(unit for unit in found if unit.text and re.search(r"\w", unit.text))


class _Reader:
    """Walks the lines of one passage."""

    def __init__(self, headings: tuple[str, ...], lead: str) -> None:
        self._passage_headings = headings
        self._own: dict[int, str] = {}
        self._first_lead = lead
        self._last = lead  # the last line of prose, which a list, a table or code continues
        self._group = 1
        self._steps = 0  # the group of the list that was read last, while nothing but its code came after it

    def read(self, markdown: str) -> Iterator[Unit]:
        paragraph: list[str] = []
        lines = _TEMPLATE.sub("", markdown).splitlines()
        at = 0
        while at < len(lines):
            line = lines[at]
            fence, heading = _FENCE.match(line), _HEADING.match(line)
            item, table = _ITEM.match(line), _TABLE_ROW.match(line)
            if not line.strip() or _DEFINITION.match(line):
                yield from self._prose(paragraph)
                at += 1
            elif fence:
                yield from self._prose(paragraph)
                end = at + 1
                while end < len(lines) and not lines[end].strip().startswith(fence.group(1)):
                    end += 1
                code = textwrap.dedent("\n".join(lines[at + 1 : end])).strip("\n")
                if not _DRAWN_IN.fullmatch(fence.group(2)) and not _DRAWING.match(code):
                    # Indented, it belongs to the step before it.
                    inside = self._steps and line[:1] in (" ", "\t")
                    yield self._unit(code, "code", group=self._steps if inside else 0)
                at = end + 1
            elif heading:
                yield from self._prose(paragraph)
                level = len(heading.group(1))
                self._own = {depth: text for depth, text in self._own.items() if depth < level}
                self._own[level] = clean(heading.group(2))
                self._last = self._first_lead
                at += 1
            elif item:
                yield from self._prose(paragraph)
                at = yield from self._list(lines, at)
            elif table:
                yield from self._prose(paragraph)
                at = yield from self._table(lines, at)
            else:
                paragraph.append(line)
                at += 1
        yield from self._prose(paragraph)

    def _headings(self) -> tuple[str, ...]:
        own = tuple(self._own[level] for level in sorted(self._own))
        return self._passage_headings + tuple(text for text in own if text not in self._passage_headings)

    def _unit(self, text: str, kind: UnitKind, number: str = "", *, group: int = 0, links: bool = False) -> Unit:
        headings = self._headings()
        away = links or bool(headings and _POINTS_ELSEWHERE.match(headings[-1].strip()))
        return Unit(text, kind, group or self._group, headings, self._last, number, away)

    def _prose(self, lines: list[str]) -> Iterator[Unit]:
        for text in _joined([_QUOTE_MARK.sub("", line) for line in lines]):
            links = "](" in text and bool(_LINKS_ONLY.fullmatch(text))
            if _COMMAND_LINE.fullmatch(text):
                yield self._unit(text.strip().strip("`"), "code", group=self._steps)
                lines.clear()
                return
            for sentence in sentences(clean(text)):
                yield self._unit(sentence, "sentence", links=links)
                self._last = sentence
        if lines:
            self._group += 1
            self._steps = 0
        lines.clear()

    def _list(self, lines: list[str], at: int) -> Generator[Unit, None, int]:
        self._group += 1
        lead = self._last
        above: list[tuple[int, str]] = []  # indentation and text of the items that a nested one is in
        first = _ITEM.match(lines[at])
        goes_on = self._steps and first and (first.group(1) or not re.match(r"[(（]?1\D|①", first.group(2) or "1."))
        group = self._steps if goes_on else self._group
        self._steps = group
        while at < len(lines):
            item = _ITEM.match(lines[at])
            if not item:
                if lines[at].strip() or at + 1 >= len(lines) or not _ITEM.match(lines[at + 1]):
                    break
                at += 1
                continue
            text = [item.group(3)]
            at += 1
            while at < len(lines) and lines[at].strip() and not _ends_item(lines[at]):
                text.append(lines[at])
                at += 1
            raw = " ".join(_joined(text, always=True))
            links = "](" in raw and bool(_LINKS_ONLY.fullmatch(raw))
            whole = clean(raw)
            indent = len(item.group(1).expandtabs(4))
            above = [(depth, text_above) for depth, text_above in above if depth < indent]
            self._last = above[-1][1] if above else lead
            above.append((indent, whole))
            if len(whole) <= LONGEST:
                yield self._unit(whole, "item", item.group(2) or "", group=group, links=links)
            else:
                for sentence in sentences(whole):
                    yield self._unit(sentence, "item", item.group(2) or "", group=group)
                    self._last = sentence
        self._last = lead
        self._group += 1
        return at

    def _table(self, lines: list[str], at: int) -> Generator[Unit, None, int]:
        self._group += 1
        header: list[str] = []
        if at + 1 < len(lines) and _TABLE_RULE.match(lines[at + 1]):
            header = _cells(lines[at])
            at += 2
        while at < len(lines) and _TABLE_ROW.match(lines[at]):
            if not _TABLE_RULE.match(lines[at]):
                yield self._unit(_row(header, _cells(lines[at])), "row")
            at += 1
        self._group += 1
        return at


def _ends_item(line: str) -> bool:
    return any(pattern.match(line) for pattern in (_ITEM, _HEADING, _FENCE, _TABLE_ROW))


def _cells(line: str) -> list[str]:
    return [clean(cell) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _row(header: list[str], cells: list[str]) -> str:
    if len(header) == len(cells) and any(header):
        return " / ".join(f"{name}: {cell}" if name else cell for name, cell in zip(header, cells, strict=True) if cell)
    return " / ".join(cell for cell in cells if cell)


def unwrapped(markdown: str) -> str:
    """`markdown` with the lines that were wrapped at a margin joined again: nothing between two Japanese characters, a
    space elsewhere, links over two lines in one piece. Headings, list items, rows and code stay lines of their own.
    """
    if "\n" not in markdown:
        return markdown
    written: list[str] = []
    paragraph: list[str] = []
    fence = ""

    def close() -> None:
        written.extend(_joined(paragraph, always=bool(paragraph and _ITEM.match(paragraph[0]))))
        paragraph.clear()

    for line in markdown.splitlines():
        mark = _FENCE.match(line)
        if fence or mark or not line.strip() or any(form.match(line) for form in (_HEADING, _TABLE_ROW, _DEFINITION)):
            close()
            written.append(line)
            if mark and not fence:
                fence = mark[1]
            elif line.strip().startswith(fence):
                fence = ""
            continue
        if _ITEM.match(line):
            close()
        paragraph.append(_QUOTE_MARK.sub("", line))
    close()
    return "\n".join(written)


def _joined(lines: list[str], *, always: bool = False) -> list[str]:
    """Lines that were wrapped at a margin joined again; lines that stand for themselves (「定休日：日曜」) left alone."""
    joined: list[str] = []
    margin = max((len(line.rstrip()) for line in lines), default=0)
    for number, line in enumerate(lines):
        before = lines[number - 1].rstrip() if number else ""
        after = line.strip()
        broken = (
            after.startswith("<br") or lines[number - 1].endswith(("\\", "<br>", "<br/>", "  ")) if number else False
        )
        if joined and not broken and (always or _open(joined[-1]) or _runs_on(before, after, margin)):
            apart = not (_WIDE.match(before[-1:]) and _WIDE.match(after))
            joined[-1] = joined[-1].rstrip() + (" " if apart else "") + after
        else:
            joined.append(after)
    return joined


def _open(text: str) -> bool:
    """Whether a link or a bracket of `text` closes on a later line."""
    return text.count("[") > text.count("]") or bool(re.search(r"\]\([^()]*$", text))


def _runs_on(before: str, after: str, margin: int) -> bool:
    """Whether a sentence goes from one line to the next: lines are as long as a margin allows, or the next cannot begin one."""
    if re.match(r"[a-z\[]", after) and not before.endswith((".", "!", "?", ":", "：", "。")):
        return True
    if _LABELLED.match(before) and _LABELLED.match(after):
        return False
    if margin >= 15 and re.search(r"[、てにをはがのでともや]$", before):
        return True
    wide = 30 if language_of(before) == "ja" else 60
    return margin >= wide and (wide == 60 or len(before) >= 0.6 * margin)
