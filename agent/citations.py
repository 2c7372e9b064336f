"""An answer's Markdown as lines and sentences with the citations they carry, and back: nothing but form."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from agent.segmentation import parser
from retrieval.text import sentences

Kind = Literal["text", "item", "quote", "row", "head", "heading", "code", "blank"]

_LABEL = (
    r"(?:results?|sources?|src|refs?|references?|citations?|cited?|passages?|検索結果|出典|参照|参考|結果|資料|根拠)"
)
_LABELS = rf"(?:{_LABEL}\s*+[:：#_]?+\s*+){{1,2}}"  # 「参照：結果 1」
_BRACKETED = rf"(?:docs?|documents?|文書)_?+\s*+|{_LABELS}"
_NUMBERS = rf"\d{{1,3}}(?:\s*(?:[,、，;；・&]|and|と|-|–|〜|~)\s*(?:(?!passage){_LABEL}\s*)?#?\d{{1,3}})*"
_MARK = re.compile(
    rf"(?<![ \t\u3000])[ \t\u3000]*(?:(?P<double>\[(?=\[[^\[\]\n]*\]\](?!\()))?"
    rf"\\?[\[［【〔]\s*+\^?+\s*+(?P<label>{_BRACKETED})?(?P<a>{_NUMBERS})\s*\^?(?:†[^\[\]【】\n]*|, passage \d+)?"
    r"(?(label)(?:[:：(（][^\[\]\n]{0,80})?)\\?[\]］】〕]"  # “Result 1: refunds.md”
    rf"(?(double)\])(?!\()"
    rf"|[(（]\s*(?:see )?{_LABELS}(?P<b>(?:[\[【]?\d{{1,3}}(?!\d)[\]】]?[,、，\s]*)++)[)）]"
    rf"|<(?P<tag>sup|cite|ref|source)>\s*\[?(?P<c>{_NUMBERS})\]?\s*</(?P=tag)>)",
    re.IGNORECASE,
)
_OPENS_MARK = re.compile(r"[\[［【〔(（<]")
_BEGUN = re.compile(r"\[cite_(?:start|end)\][ \t]?")  # Gemini's, around what it then cites as [cite: 1]
_ROUND = re.compile(
    r"[ \t]?[(（](\d{1,2}(?:[,、][ ]?\d{1,2})*)[)）]"
    r"(?=(?:[(（]\d{1,2}[)）]){0,4}(?:[.!?]?(?:[ \t]*$|(?<=[.!?])[ \t])|[。！？]))",
    re.MULTILINE,
)
_HASHED = re.compile(r"[\[(（【](#\d{1,2}(?:[,、，]\s*#\d{1,2})*)[\])）】](?!\()")  # [#1], (#1, #2)
_BETWEEN = re.compile(r"\s*[,、，;；]\s*")  # of "[1], [2]"
_SPOKEN = re.compile(  # "According to Result 1, …"
    r"(?<=according to )result (?P<a>\d{1,2})\b|(?<=based on )result (?P<b>\d{1,2})\b"
    r"|(?:検索)?結果 ?(?P<c>\d{1,2})(?=によ[るれ])",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:result|passage|source) #?(?P<a>\d{1,3})\b(?![.,]\d)"
    r"|(?:検索結果|結果|出典)\s?#?(?P<b>\d{1,3})(?![\d.,]|\s?[%％件個点つ回年月日])",
    re.IGNORECASE,
)
_RUN = re.compile(r"(\d{1,3})(?:\s*[-–〜~]\s*(\d{1,3}))?")
_SPAN = re.compile(r"`[^`\n]*`")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+\S|^\s*\*\*[^*\n]+\*\*\s*[:：]?\s*$")
_ITEM = re.compile(r"^\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?|・\s*|[①-⑳]\s*|\(\d{1,2}\)\s*)")
_QUOTE = re.compile(r"^\s*(?:>\s?)+")
_STOPPED = re.compile(r"(?:[。．.!?！？:：」』）)…]|[ ]{2}|\\)$")
_STOP = re.compile(r"(?<!\b[A-Za-z])(?<!e\.g)(?<!i\.e)[.!?。！？]$")
_ASIDE = re.compile(r"[（(][^（()）]*[)）][。.]?")
_OPENS = re.compile(r"\s*(?:によ|に記載|では|の(?:資料|文書|中)|states?\b|says?\b)")
_SOURCES = re.compile(
    r"^\W*(?:sources?|references?|citations?|出典|参考(?:資料|文献)?|参照|情報源|ソース)\W*$|^\W*(?:sources?|references?|出典|参考資料)\s*\**\s*[:：]",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|~~")


@dataclass(slots=True)
class Sentence:
    """`raw` is as written, with its marks and the space after it; `plain` what it says; `cited` the n of its marks."""

    raw: str
    plain: str
    cited: tuple[int, ...]


@dataclass(slots=True)
class Line:
    """One line, or a paragraph wrapped over several. `group` numbers the paragraph, list or table it belongs to."""

    kind: Kind
    prefix: str = ""
    sentences: list[Sentence] = field(default_factory=list)
    group: int = 0
    raw: str = ""  # of what is not made of sentences

    @property
    def plain(self) -> str:
        return " ".join(sentence.plain for sentence in self.sentences)

    @property
    def bare(self) -> bool:
        """Whether it holds nothing but citations."""
        return bool(self.sentences) and not any(re.search(r"\w", each.plain) for each in self.sentences)


def mark_numbers(mark: re.Match[str]) -> list[int]:
    """The numbers in one of `marks`."""
    return numbers(mark["a"] or mark["b"] or mark["c"])


def numbers(mark: str) -> list[int]:
    """`[1, 3-5]` → 1, 3, 4, 5."""
    found: list[int] = []
    for first, last in _RUN.findall(mark):
        end = int(last) if last and int(first) < int(last) <= int(first) + 20 else int(first)
        found += range(int(first), end + 1)
        if last and end == int(first):
            found.append(int(last))
    return list(dict.fromkeys(found))


def marks(text: str) -> list[re.Match[str]]:
    """The citations in a text, those inside code spans left out."""
    if not _OPENS_MARK.search(text):
        return []
    code = [span.span() for span in _SPAN.finditer(text)]

    def coded(bracket: int) -> bool:
        before = bisect_left(code, (bracket,))  # the code spans that begin before it
        return before > 0 and bracket < code[before - 1][1]

    return [mark for mark in _MARK.finditer(text) if not coded(mark.end() - 1)]


def with_square_marks(text: str) -> str:
    """`text` with `[#1]`, and `(1)` at the ends of its sentences, as `[1]`, where it cites in no other form, and with
    the numbers of results that it speaks of; nothing stands between citations in a row. Code is untouched."""
    other = any(marks(part) for fenced, part in fences(text) if not fenced)

    def squared(part: str) -> str:
        part = _SPOKEN.sub(lambda said: f"[{said['a'] or said['b'] or said['c']}]", _BEGUN.sub("", part))
        if not other:
            part = _ROUND.sub(r" [\1]", _HASHED.sub(lambda hashed: f"[{hashed[1].replace('#', '')}]", part))
        found = marks(part)
        gaps = [(one.end(), two.end() - len(two.group().lstrip())) for one, two in pairwise(found)]
        return _cut(part, [(a, b) for a, b in gaps if _BETWEEN.fullmatch(part, a, b)])

    return "".join(part if fenced else squared(part) for fenced, part in fences(text))


def without_marks(text: str) -> str:
    """`text` with every citation taken out, code blocks untouched."""
    return "".join(part if fenced else _unmarked(part) for fenced, part in fences(text)).strip()


def with_names(text: str, names: Mapping[int, str]) -> str:
    """`text` with each citation, and each "Result 2", as the name behind its number, in brackets; code is untouched.
    A citation that has no name, and one that says again what the one right before it says, is taken out."""
    return "".join(part if fenced else _with_names(part, names) for fenced, part in fences(text)).strip()


def _with_names(text: str, names: Mapping[int, str]) -> str:
    written: list[str] = []
    end, before, lost = 0, "", ""  # `lost`: the space before what was taken out
    for mark in marks(text):
        wanted = (names[n] for n in mark_numbers(mark) if n in names)
        shown = f"[{', '.join(dict.fromkeys(wanted))}]"
        between = text[end : mark.start()]
        space = _space(mark) or ("" if between else lost)
        again = shown == before and not between
        written += [between, "" if shown == "[]" or again else f"{space}{shown}"]
        end, before, lost = mark.end(), shown, space if shown == "[]" else ""
    written.append(text[end:])
    return _NAMED.sub(lambda found: _named(found, names), "".join(written))


def _space(mark: re.Match[str]) -> str:
    """The text before its bracket."""
    return mark.group()[: len(mark.group()) - len(mark.group().lstrip())]


def _named(found: re.Match[str], names: Mapping[int, str]) -> str:
    name = names.get(int(found["a"] or found["b"]))
    return f"[{name}]" if name else found[0]


def _unmarked(text: str) -> str:
    return _cut(text, [mark.span() for mark in marks(text)])


def _cut(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return text


def fences(text: str) -> Iterator[tuple[bool, str]]:
    """The text in pieces: whether each is a fenced code block, and the piece with its line ends."""
    for kind, rows in _blocks(text, "fence"):
        yield bool(kind), "".join(rows)


_MARKS = {"fence": ("```", "~~~"), "table_open": ("|",)}  # without which there is no block of the kind


def _blocks(text: str, *kinds: str) -> Iterator[tuple[str, list[str]]]:
    """The text's lines, with their ends: those of each block of these kinds together, and those between with ""."""
    text = re.sub(r"\r\n?", "\n", text)
    rows = re.findall(r"[^\n]*\n|[^\n]+", text)
    at = 0
    there = any(mark in text for kind in kinds for mark in _MARKS[kind])
    for token in parser.parse(text) if there else ():
        if token.type in kinds and token.map and token.map[0] >= at:
            start, end = token.map
            if start > at:
                yield "", rows[at:start]
            yield token.type, rows[start:end]
            at = end
    if at < len(rows):
        yield "", rows[at:]


def lines(text: str) -> list[Line]:
    """The answer's lines. A list of sources at its end is left out: the citations say the same and are checked."""
    found: list[Line] = []
    for kind, block in _blocks(text, "fence", "table_open"):
        rows = [row.rstrip("\n") for row in block]
        match kind:
            case "fence":
                found.append(Line("code", raw="\n".join(rows)))
            case "table_open":
                found += [Line("head", raw=row) for row in rows[:2]]
                found += [Line("row", sentences=[_sentence(row)]) for row in rows[2:]]
            case _:
                found += _prose(rows)
    return _grouped(_without_sources(found))


def _prose(rows: Sequence[str]) -> Iterator[Line]:
    at = 0
    while at < len(rows):
        row = rows[at]
        at += 1
        if not row.strip():
            yield Line("blank")
        elif row.strip() == ">":
            yield Line("blank", raw=">")  # between two parts of a quotation
        elif _HEADING.match(row) and not marks(row):
            yield Line("heading", raw=row)
        else:
            item, quote = _ITEM.match(row), _QUOTE.match(row)
            opening = item or quote or re.match(r"^\s*", row)
            prefix = opening.group() if opening else ""
            if quote and (listed := _ITEM.match(row[quote.end() :])):
                prefix += listed.group()
            body = [row[len(prefix) :]]
            said = _unmarked(body[0])
            while at < len(rows) and not _STOPPED.search(said) and _continues(rows[at]):
                body.append(rows[at])
                said = _unmarked(rows[at]) or said  # a row of citations belongs to what was said before
                at += 1
            yield Line("item" if item else "quote" if quote else "text", prefix, list(_split("\n".join(body))))


def _continues(row: str) -> bool:
    return bool(row.strip()) and not any(p.match(row) for p in (_HEADING, _ITEM, _QUOTE, _SOURCES))


def _split(body: str) -> Iterator[Sentence]:
    places = [(m.start(), m.end()) for m in marks(body)]
    gaps = [0, *(at for place in places for at in place), len(body)]  # between each two the text that is kept
    kept = [i for start, end in zip(gaps[::2], gaps[1::2], strict=True) for i in range(start, end)]
    plain = _cut(body, places).replace("\n", " ")
    begun = {end: begin for begin, end in places}
    starts: list[int] = []
    position = 0
    for piece in sentences(plain):
        position = plain.index(piece, position)
        start = kept[position]
        if starts and start in begun and _OPENS.match(body, start):
            start = begun[start]  # 「[1]によると」 opens the next sentence
        if not starts or not _ASIDE.fullmatch(piece):
            starts.append(start)
        position += len(piece)
    if not starts:
        if body.strip():
            yield _sentence(body)
        return
    starts[0] = 0
    for _, end in places:  # a stop and a citation end a sentence, however the next one begins
        after = len(body) - len(body[end:].lstrip())
        if _OPENS.match(body, end):
            continue
        said = plain[: bisect_left(kept, end)].rstrip()
        kept_there = bisect_right(gaps, after) % 2 == 1  # begins and ends of what is kept alternate
        if _STOP.search(said, len(said) - 1) and after < len(body) and kept_there:
            starts.append(after)
    starts = sorted({*starts})
    for start, end in zip(starts, [*starts[1:], len(body)], strict=True):
        yield _sentence(body[start:end])


def _sentence(raw: str) -> Sentence:
    found = marks(raw)
    plain = " ".join(_cut(raw, [m.span() for m in found]).split())
    cited = dict.fromkeys(n for m in found for n in mark_numbers(m))
    return Sentence(raw, _EMPHASIS.sub("", plain) if "**" not in plain else plain, tuple(cited))


def _without_sources(found: list[Line]) -> list[Line]:
    """Cut from the last "Sources" line, when only names with numbers follow it."""
    for at in reversed(range(len(found))):
        line = found[at]
        if line.kind in ("heading", "text", "item") and _SOURCES.match(line.raw or line.plain):
            rest = [each for each in found[at + 1 :] if each.kind != "blank"]
            named = (each.kind == "item" or (each.kind == "text" and _cites(each)) for each in rest)
            if all(named) and all(len(each.plain) < 160 for each in rest) and (rest or _cites(line)):
                return found[:at]
    return found


def _cites(line: Line) -> bool:
    return any(sentence.cited for sentence in line.sentences)


def _grouped(found: list[Line]) -> list[Line]:
    group = 0
    previous: Line | None = None
    gap = False
    for line in found:
        if line.kind == "blank":
            gap = True
            continue
        goes_on = previous is not None and (
            (previous.kind == line.kind and line.kind in ("item", "row", "head"))
            or previous.plain.rstrip().endswith((":", "："))
            or line.bare
        )
        if previous is None or line.kind == "heading" or (gap and not goes_on):
            group += 1
        line.group = group
        previous, gap = line, False
    return found


def rewritten(raw: str, numbering: Mapping[int, int], cites: Sequence[int], *, row: bool = False) -> str:
    """`raw` with its marks as `[n]` in the new numbering: those of `cites` only; what no mark has yet is put in."""
    found = marks(raw)
    missing = [n for n in cites if not any(n in mark_numbers(mark) for mark in found)]
    written: list[str] = []
    seen: set[int] = set()
    end, lost = 0, ""  # `lost`: the space before what was taken out
    for at, mark in enumerate(found):
        wanted = [n for n in mark_numbers(mark) if n in cites]
        if missing and (at == len(found) - 1 or not wanted):
            wanted, missing = wanted + missing, []
        wanted = [n for n in wanted if n not in seen]
        seen |= set(wanted)
        between = raw[end : mark.start()]
        space = _space(mark) or ("" if between else lost)
        written += [between, space if wanted else "", *(f"[{numbering[n]}]" for n in wanted)]
        end, lost = mark.end(), "" if wanted else space
    text = "".join([*written, raw[end:]])
    return put_behind(text, "".join(f"[{numbering[n]}]" for n in missing), row=row, apart=True) if missing else text


def put_behind(text: str, words: str, *, row: bool, apart: bool = False) -> str:
    """`text` with these words at its end, in the last cell of a table's row. `apart`: after a space, where the language
    has one."""
    body = text.rstrip()
    tail = text[len(body) :]
    if row:
        body, tail = body.rstrip("|").rstrip(), f" |{tail}"
    return f"{body}{' ' if apart and (row or not body.endswith(('。', '」', '！', '？'))) else ''}{words}{tail}"
