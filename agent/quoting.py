"""A passage's Markdown as what can be quoted from it: sentences, list items, table rows, code, each with its context."""

import html
import re
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
_TABLE_ROW = re.compile(r"^\s*\|.*\|\s*$")
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$")

_IMAGE = re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])")
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\](?:\((?:[^()]|\([^)]*\))*\)|\[[^\]]*\])")
_REFERENCE = re.compile(r"\[\^?(?:\d{1,3}|注\s?\d{0,3}|note \d{1,3}|citation needed|要出典)\](?!\()")
_TEMPLATE = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|<!--.*?-->", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,300}>")
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<![\w*])([*_])(?=[^\s*_])([^*_\n]+?)(?<=[^\s*_])\1(?![\w*])")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~])")
_CODE_SPAN = re.compile(r"(`+)(.+?)\1")
_DEFINITION = re.compile(r"^\s*\[[^\]]+\]:\s*\S+.*$")


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that can be quoted. `text` is clean of Markdown; `group` numbers the list, table or paragraph it is in.

    `lead` is what it continues: the line before a list, the sentence before a sentence, a pair's question.
    """

    text: str
    kind: UnitKind
    group: int
    headings: tuple[str, ...] = ()
    lead: str = ""
    number: str = ""  # of a numbered item, as written


def clean(text: str) -> str:
    """`text` as a reader sees it: link targets, images, emphasis, HTML tags and reference marks gone; code spans kept."""
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
    return re.sub(r"[ \t\u3000]*\n[ \t]*|[ \t\u3000]{2,}", " ", text).strip()


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
        self._group = 0

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
                yield self._unit("\n".join(lines[at + 1 : end]).strip("\n"), "code")
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

    def _unit(self, text: str, kind: UnitKind, number: str = "") -> Unit:
        return Unit(text, kind, self._group, self._headings(), self._last, number)

    def _prose(self, lines: list[str]) -> Iterator[Unit]:
        for text in _unwrapped(lines):
            for sentence in sentences(clean(text.lstrip("> "))):
                yield self._unit(sentence, "sentence")
                self._last = sentence
        if lines:
            self._group += 1
        lines.clear()

    def _list(self, lines: list[str], at: int) -> Generator[Unit, None, int]:
        self._group += 1
        lead = self._last
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
            whole = clean(" ".join(_unwrapped(text, always=True)))
            self._last = lead
            if len(whole) <= LONGEST:
                yield self._unit(whole, "item", item.group(2) or "")
            else:
                for sentence in sentences(whole):
                    yield self._unit(sentence, "item", item.group(2) or "")
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


def _unwrapped(lines: list[str], *, always: bool = False) -> list[str]:
    """Lines that were wrapped at a margin joined again; lines that stand for themselves (「定休日：日曜」) left alone."""
    joined: list[str] = []
    margin = max((len(line) for line in lines), default=0)
    for number, line in enumerate(lines):
        before = lines[number - 1].rstrip() if number else ""
        broken = line.startswith("<br") or before.endswith(("\\", "<br>", "<br/>", "  "))
        wide = margin >= (30 if language_of(before) == "ja" else 60)
        wrapped = always or (wide and len(before) >= 0.6 * margin)
        if joined and wrapped and not broken:
            space = "" if language_of(before[-1:] + line.strip()[:1]) == "ja" else " "
            joined[-1] = joined[-1].rstrip() + space + line.strip()
        else:
            joined.append(line.strip())
    return joined
