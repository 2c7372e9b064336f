"""Numbers of clauses and headings that Word counts itself, and text boxes of its newer versions → text, before the
file is converted, which knows lists of 1, 2, 3 alone.

Source: ECMA-376 part 1, §17.9 (numbering), §17.18.59 (ST_NumberFormat), part 3 §10 (alternate content).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PARAGRAPH = re.compile(rb"<w:p[\s>]")
_PROPERTIES = re.compile(rb"<w:pPr(?:\s[^>]*)?(?<!/)>(.*?)</w:pPr>", re.DOTALL)
_BEFORE_CHANGE = re.compile(rb"<w:pPrChange\b.*?</w:pPrChange>", re.DOTALL)
_NUMBERED = re.compile(rb"<w:numPr\s*/>|<w:numPr(?:\s[^>]*)?>.*?</w:numPr>", re.DOTALL)
_VALUE = rb"<w:%b\s+w:val=\"([^\"]*)\""
_STYLE, _LEVEL, _NUMBER = (re.compile(_VALUE % name) for name in (b"pStyle", b"ilvl", b"numId"))
_UNNUMBERED = b'<w:numPr><w:ilvl w:val="0"/><w:numId w:val="0"/></w:numPr>'
_PLAIN = re.compile(r"[(（]?%\d[.)．）]?")
_PLACE = re.compile(r"%(\d)")
_HEADING = re.compile(r"(?:heading|見出し) ?\d", re.I)
_ALTERNATIVES = re.compile(rb"<mc:AlternateContent\b[^>]*>(.*?)</mc:AlternateContent>", re.DOTALL)
_BOX = re.compile(rb"<w:txbxContent>.*?</w:txbxContent>", re.DOTALL)
_RUBY = re.compile(rb"<w:ruby>(?:(?!</w:ruby>).)*?<w:rubyBase>(.*?)</w:rubyBase>\s*</w:ruby>", re.DOTALL)
_WRAPPER = re.compile(rb"</?w:(?:fldSimple|moveTo|customXml|dir|bdo)(?:\s[^>]*)?>")
_ADDRESS = re.compile(rb"(<w:instrText\b[^>]*>\s*HYPERLINK)\s+(\"|&quot;)([^\"<]*?)\2[^<]*")
_FIELD = re.compile(
    rb"<w:r\b[^>]*>(?:(?!</w:r>).)*?\bw:fldCharType=\"begin\"(?:(?!\"(?:begin|separate)\").)*?\"end\".*?</w:r>",
    re.DOTALL,
)
_INSTRUCTION = re.compile(rb"<w:instrText\b[^>]*>([^<]*)")
_OVER_EACH_OTHER = re.compile(rb"\s*eq\s.*\\o\b.*,([^,()]+)\)\s*", re.I)
_IMAGE = re.compile(rb"<Relationship\b[^>]*/image\"[^>]*>")
_ID = re.compile(rb"\bId=\"[^\"]*\"")
_BLIP = re.compile(rb"(<a:blip\b(?![^>]*\br:embed=)[^>]*?)\br:link(?==)")
_NO_IMAGE = "media/none.png"
_LEVELS = 9
_KANJI = "〇一二三四五六七八九"
_ROMAN = ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
_KANA = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"
_IROHA = "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセス"


@dataclass(slots=True)
class _Level:
    start: int = 1
    form: str = "decimal"
    text: str = ""
    gap: str = " "
    style: str = ""


@dataclass(slots=True)
class _Numbering:
    """Levels by list, lists and where they begin anew by number, numbers and levels by style, headings."""

    lists: dict[str, dict[int, _Level]] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    anew: dict[tuple[str, int], int] = field(default_factory=dict)
    styles: dict[str, tuple[str, str]] = field(default_factory=dict)
    headings: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """The place of its properties in the document, and the number and level that it has."""

    begin: int
    end: int
    number: str
    level: int
    heading: bool


def written_out(parts: Mapping[str, bytes]) -> dict[str, bytes]:
    """The parts of a docx with its counted numbers and its text boxes in the text; numbers that make no sense are left
    as they are."""
    document = _ALTERNATIVES.sub(_with_box, parts.get("word/document.xml", b""))
    with suppress(ParseError, DefusedXmlException, ValueError):
        if "word/numbering.xml" in parts:
            document = _numbered(_BEFORE_CHANGE.sub(b"", document), _numbering(parts))
    return {**parts, "word/document.xml": document}


def plainly_written(parts: Mapping[str, bytes]) -> dict[str, bytes]:
    """The parts of a docx in which words stand without the readings above them (ruby) and the circles around them, and
    not in elements of which its converter reads nothing (a simple field, what was moved while changes were tracked).
    Pictures refer to an empty one: those that are not in the file itself, but on the web or nowhere, would be opened.
    Fields that are links have an address alone: the converter takes what is shown over a link for more of it."""
    changed = {**parts, f"word/{_NO_IMAGE}": b""}
    for name, part in parts.items():
        if name.startswith("word/_rels/"):
            changed[name] = _IMAGE.sub(_nowhere, part)
        elif name.startswith("word/"):
            plain = _ADDRESS.sub(rb'\1 "\3"', _WRAPPER.sub(b"", _RUBY.sub(rb"\1", part)))
            changed[name] = _BLIP.sub(rb"\1r:embed", _FIELD.sub(_word_within, plain))
    return changed


def _word_within(field: re.Match[bytes]) -> bytes:
    """A run of what Word draws in a circle or under its reading, one sign over the other: a field without a text."""
    word = _OVER_EACH_OTHER.fullmatch(b"".join(_INSTRUCTION.findall(field[0])))
    return b"<w:r><w:t>%b</w:t></w:r>" % word[1] if word else field[0]


def _nowhere(image: re.Match[bytes]) -> bytes:
    number = _ID.search(image[0])
    return b'<Relationship %b Type="image" Target="%b"/>' % (number[0], _NO_IMAGE.encode()) if number else b""


def _with_box(found: re.Match[bytes]) -> bytes:
    """The words of a box that stand only in what older programs cannot read; nothing twice where both can be."""
    newer, _, older = found[1].partition(b"<mc:Fallback")
    boxes = _BOX.findall(newer)
    if b"<mc:AlternateContent" in newer:
        return found[0]
    if not boxes or b"<w:txbxContent" in older:
        return found[0].replace(newer, b"", 1) if older else found[0]
    return b"<w:pict>" + b"".join(boxes) + b"</w:pict>"


def _numbering(parts: Mapping[str, bytes]) -> _Numbering:
    read = _Numbering()
    root = fromstring(parts["word/numbering.xml"])
    for made in root.iter(f"{_W}abstractNum"):
        read.lists[made.get(f"{_W}abstractNumId", "")] = {
            int(level.get(f"{_W}ilvl", "0")): _level(level) for level in made.iter(f"{_W}lvl")
        }
    for number in root.iter(f"{_W}num"):
        name = number.get(f"{_W}numId", "")
        read.numbers[name] = _said(number, "abstractNumId")
        for override in number.iter(f"{_W}lvlOverride"):
            if start := _said(override, "startOverride"):
                read.anew[name, int(override.get(f"{_W}ilvl", "0"))] = int(start)
    if "word/styles.xml" in parts:
        _read_styles(fromstring(parts["word/styles.xml"]), read)
    return read


def _read_styles(root: Element, read: _Numbering) -> None:
    based: dict[str, str] = {}
    for style in root.iter(f"{_W}style"):
        name = style.get(f"{_W}styleId", "")
        based[name] = _said(style, "basedOn")
        if _HEADING.match(_said(style, "name")):
            read.headings.add(name)
        given = style.find(f"{_W}pPr/{_W}numPr")
        if given is not None:
            read.styles[name] = _said(given, "numId"), _said(given, "ilvl")
    for name in based:
        ancestor, seen = name, {name}
        while ancestor not in read.styles and (ancestor := based.get(ancestor, "")) and ancestor not in seen:
            seen.add(ancestor)
        if ancestor in read.styles:
            read.styles.setdefault(name, read.styles[ancestor])


def _level(level: Element) -> _Level:
    gap = "" if _said(level, "suff") == "nothing" else " "
    start = _said(level, "start") or "1"
    return _Level(int(start), _said(level, "numFmt"), _said(level, "lvlText"), gap, _said(level, "pStyle"))


def _said(element: Element, name: str) -> str:
    found = element.find(f"{_W}{name}")
    return found.get(f"{_W}val", "") if found is not None else ""


def _numbered(document: bytes, numbering: _Numbering) -> bytes:
    paragraphs = list(_paragraphs(document, numbering))
    told = {numbering.numbers[one.number] for one in paragraphs if _tells(one, numbering)}
    told |= _resumed(document, paragraphs, numbering)
    counts: dict[str, list[int]] = {}
    begun: set[tuple[str, int]] = set()
    out: list[bytes] = []
    at = 0
    for one in paragraphs:
        made = numbering.numbers[one.number]
        levels = numbering.lists[made]
        count = counts.setdefault(made, [levels[n].start - 1 if n in levels else 0 for n in range(_LEVELS)])
        start = numbering.anew.get((one.number, one.level))
        if start is not None and (one.number, one.level) not in begun:
            begun.add((one.number, one.level))
            count[one.level] = start - 1
        count[one.level] += 1
        for deeper in range(one.level + 1, _LEVELS):
            count[deeper] = levels[deeper].start - 1 if deeper in levels else 0
        label = _label(levels, one.level, count) if made in told else ""
        if label:
            properties = _NUMBERED.sub(b"", document[one.begin : one.end]).removesuffix(b"</w:pPr>")
            run = f'</w:pPr><w:r><w:t xml:space="preserve">{label}</w:t></w:r>'.encode()
            out += [document[at : one.begin], properties, _UNNUMBERED, run]
            at = one.end
    return b"".join([*out, document[at:]])


def _paragraphs(document: bytes, numbering: _Numbering) -> Iterator[_Paragraph]:
    """Those with a number, in order."""
    for found in _PROPERTIES.finditer(document):
        style = _first(_STYLE, found[1])
        number, level = numbering.styles.get(style, ("", ""))
        own = _NUMBERED.search(found[1])
        if own is not None:
            number, level = _first(_NUMBER, own[0]) or number, _first(_LEVEL, own[0]) or level
        levels = numbering.lists.get(numbering.numbers.get(number, ""), {})
        if not level:
            level = next((str(n) for n, one in levels.items() if style and one.style == style), "0")
        if level.isdecimal() and int(level) in levels and int(level) < _LEVELS:
            yield _Paragraph(*found.span(), number, int(level), style in numbering.headings)


def _first(pattern: re.Pattern[bytes], text: bytes) -> str:
    found = pattern.search(text)
    return found[1].decode("utf-8", "replace") if found else ""


def _tells(one: _Paragraph, numbering: _Numbering) -> bool:
    """Whether its number is more than that of an item of a list."""
    level = numbering.lists[numbering.numbers[one.number]][one.level]
    if level.form in ("bullet", "none", ""):
        return False
    return one.heading or level.form != "decimal" or not _PLAIN.fullmatch(level.text)


def _resumed(document: bytes, paragraphs: Sequence[_Paragraph], numbering: _Numbering) -> set[str]:
    """The lists that go on behind a paragraph that is none of theirs, where their converter would begin at 1 again."""
    resumed: set[str] = set()
    last: dict[str, int] = {}  # lists that the next paragraph may go on with: the level that they have reached
    begun: set[str] = set()
    end = 0
    for one in paragraphs:
        made = numbering.numbers[one.number]
        if len(_PARAGRAPH.findall(document, end, one.begin)) > 1:
            last.clear()
        last = {other: level for other, level in last.items() if other == made or level < one.level}
        if made in begun and made not in last:
            resumed.add(made)
        begun.add(made)
        last[made] = one.level
        end = one.end
    return resumed


def _label(levels: Mapping[int, _Level], level: int, count: list[int]) -> str:
    """As Word shows it before a paragraph; `""` where it shows none, or counts in a way that is not known here."""
    own = levels[level]
    if own.form in ("bullet", "none", "") or not own.text:
        return ""
    shown: list[str | None] = [
        _counted(count[int(place) - 1], levels[int(place) - 1].form) if int(place) - 1 in levels else ""
        for place in _PLACE.findall(own.text)
        if place != "0"
    ]
    if None in shown:
        return ""
    numbers = iter(shown)
    label = _PLACE.sub(lambda place: "" if place[1] == "0" else next(numbers) or "", own.text)
    return label.replace("&", "&amp;").replace("<", "&lt;") + own.gap


def _counted(number: int, form: str) -> str | None:
    """A number in a form of Word's; None for a form, or a number in it, that is not known here."""
    match form:
        case "decimal":
            return str(number)
        case "decimalZero":
            return f"{number:02}"
        case "decimalFullWidth" | "decimalFullWidth2":
            return str(number).translate(str.maketrans("0123456789", "０１２３４５６７８９"))
        case "japaneseCounting" | "japaneseDigitalTenThousand" | "chineseCounting" | "taiwaneseCounting":
            return _in_kanji(number)
        case "decimalEnclosedCircle" | "decimalEnclosedCircleChinese":
            return chr(0x2460 + number - 1) if 1 <= number <= 20 else None
        case "upperLetter" | "lowerLetter":
            letter = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
            return letter.upper() if form == "upperLetter" else letter
        case "upperRoman" | "lowerRoman":
            roman = _in_roman(number)
            return roman.upper() if roman and form == "upperRoman" else roman
        case "aiueo" | "aiueoFullWidth" | "iroha" | "irohaFullWidth":
            row = _IROHA if form.startswith("iroha") else _KANA
            return row[number - 1] if 1 <= number <= len(row) else None
        case _:
            return None


def _in_kanji(number: int) -> str | None:
    if not 0 <= number < 1_000:
        return None
    if number == 0:
        return _KANJI[0]
    hundreds, tens, ones = number // 100, number // 10 % 10, number % 10
    said = f"{_KANJI[hundreds] if hundreds > 1 else ''}百" if hundreds else ""
    said += f"{_KANJI[tens] if tens > 1 else ''}十" if tens else ""
    return said + (_KANJI[ones] if ones else "")


def _in_roman(number: int) -> str | None:
    if not 1 <= number < 40:
        return None
    said = ""
    for value, letters in _ROMAN:
        while number >= value:
            said, number = said + letters, number - value
    return said
