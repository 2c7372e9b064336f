"""Markdown → chunks that an embedder can read whole and a person can understand on their own. Pure.

A document is parsed into sections (what stands under one heading), a section into units that are not cut any further
(a paragraph, a list item, a table's row …), and units are packed into chunks. Only markup is dropped: the # of
headings and rules (---).
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import zip_longest

from markdown_it import MarkdownIt
from markdown_it.token import Token

from retrieval.text import compiled, sentences
from retrieval.types import Chunk, Document, QAPair

TARGET = 320
"""Tokens of a chunk worth aiming at: about 700 Japanese or 1,300 English characters."""

_WHOLE = 1.5  # × target: what is no larger than this is not cut
_TINY = 1 / 6  # × target: sections no larger than this may share a chunk with their neighbours
_ONE_PAIR = 2  # stretches of a section with one marked question: what is before it, and from it on
_OVERLAP = 150  # characters: as many whole sentences as fit are repeated where a paragraph was cut
_IN_FRONT = 120  # characters of the title and of the heading path that go in front of what is embedded
_LONGEST_HEADING = 200  # characters; what is longer was no heading
_MEASURED = 64  # texts, whose tokens are remembered while a document is cut
_SLACK = 8  # tokens that joining texts may add
_MARKS = 32  # accents on one letter, which are not cut from it; of more no word is made
_SOFT_BREAK = re.compile(r"[、，,;；:：\s]")
_LEADS = re.compile(r"[:：][*_]*\Z|\A(\*\*|__)(?![\s*_])(?:(?!\1).){1,60}(?<![.。!！\s])\1\Z")  # also 「**申請方法**」

_parser = compiled(MarkdownIt("commonmark").enable("table").disable(["inline", "reference", "html_block"]))


def embedding_text(title: str, chunk: Chunk) -> str:
    """The text that is embedded and searched by words: the title and the heading path first, then question and text.

    A title or a path too long to be one is shortened, the path from its upper end. Whoever changes it makes vectors of
    another kind: the number of the store's format has to change, too.
    """
    return "\n".join(part for part in (front(title, chunk), chunk.question, chunk.text) if part)


def front(title: str, chunk: Chunk) -> str:
    """The title and the heading path as they stand in front of a chunk's text."""
    headings = chunk.headings[1:] if chunk.headings[:1] == (title,) else chunk.headings
    path = " > ".join(headings)
    return "\n".join(part for part in (title[:_IN_FRONT], path[-_IN_FRONT:]) if part)


def chunks(
    document: Document,
    *,
    max_chars: int,
    max_tokens: int,
    measure: Callable[[str], int],
    target: int = TARGET,
) -> list[Chunk]:
    """Cut a document. No chunk's text is longer than `max_chars`, and no chunk's `embedding_text` measures more than
    `max_tokens` (`measure` counts tokens of a text; give it at least 300).

    Cuts fall between sections, then blocks, list items and rows, then sentences; a sentence is cut only when it is
    too long for a chunk by itself. A document of nothing but one heading has no chunk. The pairs of a document come
    first, then what it says beside them.
    """
    measured = lru_cache(_MEASURED)(measure)  # a block is asked for as a part of its section, and again when it is cut
    cutter = _Cutter(document.title, max_chars, max_tokens, min(target, max_tokens), measured)
    made = [chunk for pair in document.pairs for chunk in cutter.pair(pair.question, pair.answer)]
    made += cutter.document(beside_pairs(document.markdown, document.pairs))
    return [replace(chunk, number=number) for number, chunk in enumerate(made)]


# -- pairs in Markdown ----------------------------------------------------------------------------------------------

NEXT_PAIR = re.compile(r"^Q: ", re.MULTILINE)
_EMPTY_SECTION = re.compile(r"^#{1,6} [^\n]*\s*(?=^#{1,6} |\Z)", re.MULTILINE)


def pair_begins(question: str, markdown: str, at: int) -> re.Match[str] | None:
    """The place from `at` of a pair's `Q: … A: `, which its answer follows; None if it is not there."""
    words = r"\s+".join(map(re.escape, question.split()))
    return re.compile(rf"^Q: {words}\s*\nA: ", re.MULTILINE).search(markdown, at)


def row_end(markdown: str, at: int) -> int:
    """The end of the row of a pair whose answer ends `at`: the other columns follow it."""
    end = markdown.find("\n\n", at)
    return len(markdown) if end < 0 else end


def beside_pairs(markdown: str, pairs: Sequence[QAPair]) -> str:
    """The text of a document beside its pairs and the rows they are from, without headings that these leave empty.

    A long answer may come as several pairs with one question.
    """
    if not pairs:
        return markdown
    rest: list[str] = []
    start = end = 0
    last = ""
    for pair in pairs:
        answer = pair.answer.strip()
        begins = pair_begins(pair.question, markdown, end)
        fits = begins is not None and markdown.startswith(answer, begins.end())
        part = -1
        if pair.question == last and not fits:
            following = NEXT_PAIR.search(markdown, end)
            part = markdown.find(answer, start, following.start() if following else None)
        if part >= 0:
            end = max(end, row_end(markdown, part + len(answer)))
        elif begins:
            rest.append(markdown[end : begins.start()])
            start, last = begins.start(), pair.question
            end = row_end(markdown, begins.end() + (len(answer) if fits else 0))
        else:
            break  # it is not written as its pairs are: rather twice than not at all
    rest.append(markdown[end:])
    return _EMPTY_SECTION.sub("", "".join(rest)).strip()


# -- Markdown → sections --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Block:
    """A block as it is written. `parts` are what it may be cut between; `before` and `after` enclose each stretch of
    them (a table's header, a code fence)."""

    text: str
    parts: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    prose: bool = False
    heading: bool = False
    table: bool = False


@dataclass(slots=True)
class _Section:
    path: tuple[str, ...]
    heading: str  # its line, in ATX form; empty before the first heading
    above: "_Section | None" = None
    blocks: list[_Block] = field(default_factory=list)
    before: list[_Block] = field(default_factory=list)  # headings in front of it with nothing under them


def _sections(markdown: str) -> list[_Section]:
    """The sections in order, each with something in it."""
    text = markdown.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    sections = [_Section((), "")]
    open_: list[tuple[int, _Section]] = []
    for item in _blocks(text):
        if isinstance(item, _Block):
            sections[-1].blocks.append(item)
            continue
        level, heading = item
        while open_ and open_[-1][0] >= level:
            open_.pop()
        above = open_[-1][1] if open_ else None
        section = _Section((*(above.path if above else ()), _plain(heading)), f"{'#' * level} {heading}", above)
        open_.append((level, section))
        sections.append(section)
    return _without_empty(sections)


def _without_empty(sections: Sequence[_Section]) -> list[_Section]:
    """Headings with nothing under them become text of a neighbour, unless they are in the path of another section."""
    on_a_path: set[int] = set()
    for section in sections:
        above = section.above if section.blocks else None
        while above and id(above) not in on_a_path:
            on_a_path.add(id(above))
            above = above.above
    kept: list[_Section] = []
    loose: list[_Block] = []
    for section in sections:
        if section.blocks:
            section.before = loose
            loose = []
            kept.append(section)
        elif section.heading and id(section) not in on_a_path:
            loose.append(_Block(section.heading, heading=True))
    if kept:
        kept[-1].blocks += loose
    elif len(loose) > 1:
        kept = [_Section((), "", blocks=loose)]
    return kept


def _blocks(text: str) -> Iterator[_Block | tuple[int, str]]:
    """The top-level blocks, and (level, text) for a heading."""
    lines = text.split("\n")
    tokens = _parser.parse(text)
    done = 0
    for at, token in enumerate(tokens):
        if token.level or not token.map:
            continue
        start, end = token.map
        if start > done and (between := _joined(lines[done:start])):
            yield _Block(between, prose=True)
        done = max(done, end)
        raw = lines[start:end]
        if token.type == "heading_open":
            heading = tokens[at + 1].content.replace("\n", " ").strip()
            if 0 < len(heading) <= _LONGEST_HEADING:
                yield int(token.tag[1:]), heading
            elif heading:
                yield _Block(heading, prose=True)
        elif token.type != "hr" and (written := _joined(raw)):
            yield _block(tokens, at, raw, written)
    if rest := _joined(lines[done:]):
        yield _Block(rest, prose=True)


def _block(tokens: Sequence[Token], at: int, raw: list[str], written: str) -> _Block:
    token = tokens[at]
    match token.type:
        case "table_open" if len(raw) > 2:
            rows = tuple(row for row in raw[2:] if row.strip())
            return _Block(written, rows, _joined(raw[:2]), table=True)
        case "fence":
            last = raw[-1].strip()
            closing = last if len(raw) > 1 and last.startswith(token.markup) and set(last) == set(token.markup) else ""
            code = tuple(raw[1:-1] if closing else raw[1:])
            whole = written if closing else f"{written}\n{token.markup}"
            return _Block(whole, code, raw[0].strip(), closing or token.markup)
        case "bullet_list_open" | "ordered_list_open":
            starts = list(_items(tokens, at))
            ends = [*starts[1:], len(raw)]
            return _Block(written, tuple(_joined(raw[start:end]) for start, end in zip(starts, ends, strict=True)))
        case "code_block":
            return _Block(written, tuple(raw))
        case _:
            return _Block(written, prose=True)


def _items(tokens: Sequence[Token], at: int) -> Iterator[int]:
    """The lines, from the list's first, on which its items begin."""
    first = (tokens[at].map or [0])[0]
    for token in tokens[at + 1 :]:
        if token.level == 0:
            return
        if token.level == 1 and token.type == "list_item_open" and token.map:
            yield token.map[0] - first


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip("\n").rstrip()


_MARKUP = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[*`]+|(?<!\w)_+|_+(?!\w)")


def _plain(heading: str) -> str:
    """A heading as it is read, without emphasis, code marks and the addresses of links."""
    return " ".join(_MARKUP.sub(lambda found: found[1] or "", heading).split()) or heading


# -- questions with their answers -----------------------------------------------------------------------------------

_ASKED = re.compile(r"^(?:[-*+]\s+)?[*_]{0,2}(?:Q|Ｑ|問|質問|\U0001F180)\s?\d{0,3}\s?[*_]{0,2}[.:：．、)）]\s*\S")


def _pairs(blocks: Sequence[_Block]) -> list[list[_Block]]:
    """The blocks of a section, cut where a marked question (`Q:`, 「問1．」) begins: each stands with its answer alone.
    One list where there are not two of them."""
    cut: list[list[_Block]] = [[]]
    for block in blocks:
        for text in _from_questions(block):
            if _ASKED.match(text):
                cut.append([])
            cut[-1].append(block if text == block.text else _Block(text, prose=True))
    return [group for group in cut if group] if len(cut) > _ONE_PAIR else [list(blocks)]


def _from_questions(block: _Block) -> Iterator[str]:
    """The text of a paragraph or a list in pieces that begin where a question does; any other block whole."""
    if block.before or block.heading:
        yield block.text
        return
    piece: list[str] = []
    for line in block.text.split("\n"):
        if piece and _ASKED.match(line):
            yield "\n".join(piece)
            piece = []
        piece.append(line)
    yield "\n".join(piece)


# -- sections → chunks ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Unit:
    """A unit that is not cut further. `joint` stands between it and the unit before where both are in one chunk and of
    one `block`; `overlap` in front of it where it begins a chunk."""

    text: str
    tokens: int
    block: int
    joint: str = "\n"
    before: str = ""
    after: str = ""
    overlap: str = ""
    leads: bool = False  # belongs to what follows: a heading's line, 「次のとおり：」


@dataclass(frozen=True, slots=True)
class _Front:
    """The lines in front of every chunk of a group, and how many tokens they take."""

    path: tuple[str, ...]
    question: str | None
    tokens: int


@dataclass(slots=True)
class _Cutter:
    title: str
    max_chars: int
    max_tokens: int
    target: int
    measure: Callable[[str], int]
    _empty: int = 0
    _block: int = 0

    def __post_init__(self) -> None:
        self._empty = self.measure("")  # prefix and special tokens, which every text has once

    def pair(self, question: str, answer: str) -> list[Chunk]:
        """One chunk; several with the same question for a long answer; plain text where the question is the long
        one."""
        asked = " ".join(question.split())
        long = len(asked) > self.max_chars // 2 or self._tokens(asked) > self.max_tokens // 2
        if not asked or not answer.strip() or long:
            return self.pack(self._front(()), [_Block(f"{question}\n\n{answer}".strip(), prose=True)])
        return self.pack(self._front((), asked), [_Block(answer.strip(), prose=True)])

    def document(self, markdown: str) -> Iterator[Chunk]:
        self.measure(markdown)  # all words at once, which a tokenizer then knows
        for path, blocks in self._groups(_sections(markdown)):
            for group in _pairs(blocks):
                yield from self.pack(self._front(path), group)

    def _groups(self, sections: Sequence[_Section]) -> Iterator[tuple[tuple[str, ...], list[_Block]]]:
        """Heading path and blocks of each section, of tiny neighbours with the same parent together."""
        group: list[_Section] = []
        size = 0
        for section in sections:
            tokens = sum(self._tokens(block.text) for block in section.blocks)
            asked = bool(section.path and _ASKED.match(section.path[-1]))  # it stands with its answer alone
            tiny = tokens <= self.target * _TINY and not asked
            if group and not (tiny and size + tokens <= self.target and _neighbours(group, section)):
                yield self._together(group)
                group, size = [], 0
            group.append(section)
            size += tokens
            if not tiny:
                yield self._together(group)
                group, size = [], 0
        if group:
            yield self._together(group)

    def _together(self, group: Sequence[_Section]) -> tuple[tuple[str, ...], list[_Block]]:
        if len(group) == 1:
            return self._path(group[0]), group[0].before + group[0].blocks
        path = self._path(group[1])[:-1]
        blocks: list[_Block] = []
        for section in group:
            blocks += section.before
            if section.heading and self._path(section) != path:
                blocks.append(_Block(section.heading, heading=True))
            blocks += section.blocks
        return path, blocks

    def _path(self, section: _Section) -> tuple[str, ...]:
        """Without a first heading that only repeats the title."""
        return section.path[1:] if section.path[:1] == (self.title,) else section.path

    def _front(self, path: tuple[str, ...], question: str | None = None) -> _Front:
        return _Front(path, question, self.measure(embedding_text(self.title, Chunk(0, "", path, question))))

    # -- blocks → units

    def _all_units(self, blocks: Sequence[_Block], room: int) -> Iterator[_Unit]:
        """Those of each block; what is short and stands in front of a table belongs to it."""
        for block, following in zip_longest(blocks, blocks[1:]):
            units = list(self._units(block, room))
            if units and following is not None and following.table and units[-1].tokens <= self.target // 4:
                units[-1] = replace(units[-1], leads=True)
            yield from units

    def _units(self, block: _Block, room: int) -> Iterator[_Unit]:
        """The block as one unit where it has no more than `room` tokens, else its parts."""
        self._block += 1
        tokens = self._tokens(block.text)
        if tokens <= room and len(block.text) <= self.max_chars:
            leads = block.heading or (tokens <= self.target // 4 and bool(_LEADS.search(block.text)))
            yield _Unit(block.text, tokens, self._block, leads=leads)
            return
        frame = f"{block.before}\n{block.after}"
        framed = bool(block.before) and self._tokens(frame) <= room // 3 and len(frame) <= self.max_chars // 3
        if framed:
            room, width = room - self._tokens(frame) - 4, self.max_chars - len(frame) - 2
            for part in block.parts:
                for unit in self._pieces(part, room, width):
                    yield replace(unit, before=block.before, after=block.after)
            return
        parts = (block.before, *block.parts, block.after) if block.before else block.parts or (block.text,)
        for part in parts:
            yield from self._pieces(part, room, self.max_chars, overlapping=block.prose)

    def _pieces(self, text: str, room: int, width: int, overlapping: bool = False) -> Iterator[_Unit]:
        """A text as one unit, or as its sentences where it is too long for one."""
        tokens = self._tokens(text)
        if tokens <= room and len(text) <= width:
            yield _Unit(text, tokens, self._block)
            return
        said: list[str] = []
        for space, sentence in _spans(text):
            repeated = _tail(said) if overlapping else ""
            joint, overlap = (space, repeated and repeated + space) if said else ("\n", "")
            for piece in self._hard(sentence, room, width):
                yield _Unit(piece, self._tokens(piece), self._block, joint, overlap=overlap)
                joint, overlap = "", ""
            said.append(space + sentence)

    def _hard(self, text: str, room: int, width: int) -> Iterator[str]:
        """Pieces of a sentence that is too long, cut behind a comma or a space where there is one."""
        while len(text) > width or self._tokens(text) > room:
            low, high = 1, min(len(text) - 1, width)
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if self._tokens(text[:middle]) <= room else (low, middle - 1)
            breaks = [found.end() for found in _SOFT_BREAK.finditer(text, low * 2 // 3, low)]
            end = breaks[-1] if breaks else low
            end = next((at for at in range(end, max(end - _MARKS, 0), -1) if not _combines(text[at])), end)
            yield text[:end]
            text = text[end:]
        yield text

    # -- units → chunks

    def pack(self, front: _Front, blocks: Sequence[_Block]) -> list[Chunk]:
        """Fill chunks up to the target, in order; the last one joins the one before when it would be tiny."""
        room = max(min(int(self.target * _WHOLE), self.max_tokens - front.tokens - _SLACK), 1)
        packed: list[list[_Unit]] = []
        current: list[_Unit] = []
        for unit in self._all_units(blocks, room):
            if current and not (_size(current) + unit.tokens <= self.target and self._fits(front, [*current, unit])):
                carried = _leading(current)
                carried = carried if self._fits(front, [*carried, unit]) else []
                packed.append(current[: len(current) - len(carried)])
                current = carried
            current.append(unit)
        if packed and _size(current) <= self.target // 4 and self._fits(front, [*packed[-1], *current]):
            current = packed.pop() + current
        texts = (self._text(front, units) for units in (*packed, current))
        return [Chunk(0, text, front.path, front.question) for text in texts if text.strip()]

    def _fits(self, front: _Front, units: Sequence[_Unit]) -> bool:
        frame = sum(len(unit.before) + len(unit.after) + 4 for unit in units if unit.before)
        if (
            front.tokens + frame + sum(unit.tokens + 2 for unit in units) <= self.max_tokens
            and frame + sum(len(unit.text) + len(unit.joint) + 2 for unit in units) <= self.max_chars
        ):
            return True  # without measuring: no text has more tokens than characters
        return self._small(front, _written(units, overlap=False))

    def _small(self, front: _Front, text: str) -> bool:
        whole = embedding_text(self.title, Chunk(0, text, front.path, front.question))
        return len(text) <= self.max_chars and self.measure(whole) <= self.max_tokens

    def _text(self, front: _Front, units: Sequence[_Unit]) -> str:
        text, alone = _written(units, overlap=True), _written(units, overlap=False)
        return text if text == alone or self._small(front, text) else alone

    def _tokens(self, text: str) -> int:
        return self.measure(text) - self._empty


def _neighbours(group: Sequence[_Section], section: _Section) -> bool:
    """Children of one parent; the parent's own text may come first."""
    if not section.path:
        return False
    parent = section.path[:-1]
    first, *others = group
    return (first.path == parent or first.path[:-1] == parent != first.path) and all(
        other.path[:-1] == parent for other in others
    )


def _size(units: Sequence[_Unit]) -> int:
    return sum(unit.tokens for unit in units)


def _leading(units: Sequence[_Unit]) -> list[_Unit]:
    """The units at the end that belong to what follows, unless there is nothing else."""
    count = next((number for number, unit in enumerate(reversed(units)) if not unit.leads), 0)
    return [*units[len(units) - count :]]


def _written(units: Sequence[_Unit], *, overlap: bool) -> str:
    written = ""
    open_block, closing = 0, ""
    for unit in units:
        if unit.block == open_block:
            written += unit.joint
        else:
            written += f"\n{closing}" if closing else ""
            written += "\n\n" if written else unit.overlap if overlap else ""
            written += f"{unit.before}\n" if unit.before else ""
        written += unit.text
        open_block, closing = unit.block, unit.after
    return (f"{written}\n{closing}" if closing else written).strip("\n").rstrip()


def _spans(text: str) -> Iterator[tuple[str, str]]:
    """The sentences of a text, each with the white space in front of it."""
    end = 0
    for sentence in sentences(text):
        start = text.index(sentence, end)
        yield text[end:start], sentence
        end = start + len(sentence)


def _tail(said: Sequence[str]) -> str:
    """The last whole sentences of what was said, as far as they may be repeated."""
    tail = ""
    for sentence in reversed(said):
        if len(sentence) + len(tail) > _OVERLAP:
            break
        tail = sentence + tail
    return tail.lstrip()


def _combines(character: str) -> bool:
    """Whether the character changes the one before it: an accent, 濁点, a variation selector, a joiner."""
    return unicodedata.category(character) in ("Mn", "Me", "Mc") or character in "\u200d\uff9e\uff9f"
