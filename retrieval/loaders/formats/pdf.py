"""PDF → text. pdfium reads the words fast and in order; pages that hold a table go through MarkItDown for it. The lines
as they stand on the pages become paragraphs: broken sentences and words joined, running heads dropped."""

import io
import logging
import math
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial, reduce
from itertools import islice, pairwise, permutations, takewhile

import pdfplumber
import pypdfium2  # type: ignore[import-untyped]
import pypdfium2.raw as pdfium  # type: ignore[import-untyped]
from markitdown.converters._pdf_converter import _extract_form_content_from_words
from pdfplumber.page import Page
from pdfplumber.table import Table

from retrieval.loaders.dates import stated
from retrieval.loaders.limits import FileRefused, ParsingLimits
from retrieval.loaders.sanitize import clean_line
from retrieval.loaders.tables import names_columns, write_rows

log = logging.getLogger(__name__)

_JAPANESE = r"\u3000-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff9f"
_JAPANESE_END = re.compile(rf"[{_JAPANESE}]$")
_JAPANESE_START = re.compile(rf"^[{_JAPANESE}]")
_STOP = re.compile(r"[。．！？!?｡」』】.:：;；]$|[.!?][\"'”’)]$")
_OPEN = re.compile(r"[(（][^)）]*$")  # an abbreviation in brackets ends no sentence
_ITEM = re.compile(
    r"^\s*(?:[-–—*•・●○◆◇■□▪▶►※✓☑→|#]|[(（]?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,4}|[一二三四五六七八九十]{1,3})[)）.．、](?:\s|(?=[^\d]))"
    r"|[①-⑳]|第\s*[0-9０-９一二三四五六七八九十百]+\s*[条章節項部]|Q\d*[.:：]|A\d*[.:：])"
)
_NUMBERED = re.compile(r"(?=[(（\d第①-⑳])" + _ITEM.pattern)
_RULE = re.compile(r"[-=_*~.・─━―]{3,}")
_ROW = re.compile(r"\||- .*[:,] ")  # of a table: many may be alike but for their numbers
_LETTER = re.compile(r"[^\W\d_]")
_HYPHENATED = re.compile(r"(?P<head>[^\W\d_]+)-$")
_FULL = 0.72  # of the page's usual longest line: shorter lines end on purpose
_BRIM_FULL = 0.95  # before a capital letter, which may begin a heading
_NARROWEST = 44  # columns: receipts, forms and lists of names have shorter lines that stand alone
_REPEATED = 0.6  # of the pages carry it at the same edge: a running head or foot
_FEWEST_PAGES = 3
_MOST_RUNNING = 2  # lines at an edge
_PAGE_NUMBER = re.compile(
    r"[-–—]\s?(\d{1,4})\s?[-–—]|(?:page|p\.)\s?(\d{1,4})(?:\s?(?:of|/)\s?(\d{1,4}))?"
    r"|(\d{1,4})\s?/\s?(\d{1,4})|(\d{1,4})\s?(?:ページ|頁)",
    re.IGNORECASE,
)


def reflow(pages: Sequence[str]) -> str:
    """The text of `pages` (lines as printed) as paragraphs parted by blank lines.

    A line is joined to the next when it is about full and its sentence goes on: without a space between Japanese
    characters, without the hyphen where a word was cut. List items, tables and headings keep their lines.
    """
    bodies = _without_running_lines([page.split("\n") for page in pages])
    known = set(re.findall(r"[^\W\d_]+-[^\W\d_]+", "\n".join(line for body in bodies for line in body)))
    out: list[str] = []
    last = ""  # the line as printed that `out` ends with, also across the edge of a page
    for body in bodies:
        last = "" if _ROW.match(last) else last
        usual = _usual_width(body)
        for line in map(str.strip, body):
            if not line or _RULE.fullmatch(line):  # a drawn line would make the text above it a heading
                line = last = ""
            elif last and _goes_on(last, line, usual):
                while not out[-1]:
                    out.pop()
                out[-1] = _joined(out[-1], line, known)
                last = line
                continue
            else:
                if _NUMBERED.match(last) and not (_ITEM.match(line) or line[:1].islower()):
                    out.append("")  # a numbered heading: Markdown would take the line below for more of it
                last = line
            out.append(line)
        out.append("")
    return "\n".join(out).strip("\n")


def _goes_on(line: str, following: str, usual: float) -> bool:
    """Whether the sentence of the printed `line` continues in `following`; `usual` is the width of a full line."""
    if following.startswith("|") or line.startswith("|") or _ITEM.match(following):
        return False
    if _HYPHENATED.search(line) and following[:1].islower():
        return True
    ended = _STOP.search(line) and not _OPEN.search(line)
    if ended or max(usual, _NARROWEST) * _FULL > _width(line):
        return False
    if _JAPANESE_END.search(line) or _JAPANESE_START.match(following):
        return True
    return not following[:1].isupper() or line.endswith(",") or _width(line) >= usual * _BRIM_FULL


def _joined(line: str, following: str, known: set[str]) -> str:
    cut = _HYPHENATED.search(line)
    if cut and following[:1].islower():
        tail = re.match(r"[^\W\d_]+", following)
        whole = f"{cut['head']}-{tail.group() if tail else ''}"
        return line + following if whole in known else line[:-1] + following
    ends, begins = _JAPANESE_END.search(line), _JAPANESE_START.match(following)
    together = (ends and (begins or following[:1].isdigit())) or (begins and line[-1:].isdigit())
    return f"{line}{'' if together else ' '}{following}"


def _without_running_lines(pages: list[list[str]]) -> list[list[str]]:
    """Without the first and last lines that most pages share but for numbers (heads, feet, page numbers), which rows of
    a table may do as well. Of the first page the head stays, and of the last the foot: what only they say, such as the
    title, is there once."""
    bodies = [[line.strip() for line in page] for page in pages]
    if len(bodies) < _FEWEST_PAGES:
        bodies = _without_page_numbers(bodies)
    for body in bodies:
        while body and not body[-1]:
            body.pop()
        while body and not body[0]:
            body.pop(0)
    if len(bodies) < _FEWEST_PAGES:
        return _without_what_both_have(*bodies) if len(bodies) > 1 else bodies
    running: list[str] = []
    lost: dict[int, list[str]] = {0: [], -1: []}
    for edge in lost:
        for _ in range(_MOST_RUNNING):
            shapes = Counter(_shape(body[edge]) for body in bodies if len(body) > 1 and not _ROW.match(body[edge]))
            shape, count = shapes.most_common(1)[0] if shapes else ("", 0)
            if not shape or count < max(_FEWEST_PAGES, len(bodies) * _REPEATED):
                break
            running.append(shape)
            lost[edge] += _drop(bodies, edge, {shape})
    # A page with a table is read in another way: what is first elsewhere may be last there, and two lines one.
    worded = [shape for shape in running if _LETTER.search(shape)]
    anywhere = {*worded, *map("".join, permutations(running, _MOST_RUNNING))} if worded else set()
    for edge in (0, 0, -1, -1):
        lost[edge] += _drop(bodies, edge, anywhere)
    bodies[0][:0] = [*lost[0], ""] if lost[0] else []
    bodies[-1] += ["", *reversed(lost[-1])] if lost[-1] else []
    return _without_page_numbers(bodies)


def _without_page_numbers(bodies: list[list[str]]) -> list[list[str]]:
    """Without lines that are marked as a page's own number, wherever it is read: "- 2 -", "Page 2 of 3", "2 / 3"."""

    def is_own(line: str, number: int) -> bool:
        found = _PAGE_NUMBER.fullmatch(line)
        said = [int(digits) for digits in found.groups() if digits] if found else []
        return said in ([number], [number, len(bodies)])

    return [[line for line in body if not is_own(line, number)] for number, body in enumerate(bodies, 1)]


def _without_what_both_have(first: list[str], second: list[str]) -> list[list[str]]:
    """Two pages without the lines that both begin or end with, which stay on the first and on the last one."""

    def shared(step: int) -> int:
        both = islice(zip(first[::step], second[::step], strict=False), _MOST_RUNNING)
        same = takewhile(lambda two: two[0] == two[1] and not _ROW.match(two[0]), both)
        return min(len(list(same)), len(first) // 2, len(second) // 2)

    return [first[: len(first) - shared(-1)], second[shared(1) :]]


def _drop(bodies: list[list[str]], edge: int, shapes: set[str]) -> list[str]:
    """The lines with words that the first page (`edge` 0) or the last one (-1) loses by it."""
    lost: list[str] = []
    for body in bodies:
        if len(body) > 1 and _shape(body[edge]) in shapes and not _ROW.match(body[edge]):
            line = body.pop(edge)
            if body is bodies[edge] and _LETTER.search(line):
                lost.append(line)
            while len(body) > 1 and not body[edge]:
                body.pop(edge)
    return lost


def _shape(line: str) -> str:
    return "".join(re.sub(r"\d+", "0", line).split())


def _usual_width(lines: list[str]) -> float:
    """The length of a full line here: the ninth decile, a Japanese character counting two."""
    widths = sorted(_width(line) for line in lines if line and not _ROW.match(line))
    return widths[min(len(widths) - 1, int(len(widths) * 0.9))] if widths else 0.0


def _width(line: str) -> float:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line)


_TABLE_PAGES = 100  # looked at for tables: one with a table takes 0.1 s, where the words of a page take 5 ms
_MOST_WORDS, _FLAT = 100, 0.01  # looked at on a page, and points of a height that is none
_COLUMNS, _COLUMN_GAP, _ROWS = 3, 50.0, 2  # a table has this many columns, points between them, and rows
_FEWEST_DOWNWARDS = 40  # lines: less may be the letters of a drawing
_FEW_WORDS = 16  # characters: less on a page with a picture is a stamp on a scan
_FEWEST_POINTS, _MOST_POINTS = 12, 10_000  # of what is drawn: two rows of two cells have six lines
_MOST_CROSSINGS = 4_000  # of lines: 80 rows of 50 columns, looked for in 0.3 s; graph paper takes 10 s
_EDGE = 0.08  # of the page's height: there heads and feet may reach over its columns
_GUTTER = 8.0  # points between columns at least
_LONGEST_CELL = 400  # characters: more is a page in a frame
_WORDS = re.compile(r"\w+")
_UNMAPPED = re.compile(r"[\ufffd\ue000-\uf8ff]|\(cid:\d+\)")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")  # the numbers of glyphs, taken for characters
_DATES = {"ModDate": "modified", "CreationDate": "created"}  # as in D:20260401093000+09'00'
_MADE_TITLE = re.compile(
    r"^(?:microsoft \w+ - .*|untitled.*|無題.*|(?:document|文書)\s*\d*|.*\.(?:docx?|pptx?|xlsx?|indd|pdf|tex|rtf))$",
    re.I,
)


def read_pdf(data: bytes, limits: ParsingLimits) -> tuple[str, str, str]:
    """The text, the title the file states (`""` unless the first page shows it too), and its date.

    Raises `FileRefused`: encrypted, corrupt, pages, scan, empty, unmapped.
    """
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise FileRefused("encrypted" if "password" in str(error).lower() else "corrupt", kind="PDF") from error
    count = len(document)
    if count > limits.pages:
        raise FileRefused("pages", pages=count, limit=limits.pages)
    texts: list[str] = []
    tabular: list[bool] = []
    drawn: list[bool] = []
    unmeasured: set[int] = set()
    scanned = 0
    enough = time.process_time() + limits.cpu / 3
    for number in range(count):
        page = document[number]
        if _is_written_on(page):
            pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)
            page.close()
            page = document[number]
        words = page.get_textpage()
        read = _lines(words.get_text_range())
        text = _written_downwards(read)
        downwards = text != read
        if time.process_time() < enough and _is_unmeasured(page) and (whole := _whole_text(document, number, text)):
            unmeasured.add(number)
            text = whole
        if len("".join(text.split())) < _FEW_WORDS and _has_picture(page):
            scanned += 1
        texts.append(text)
        tabular.append(number < _TABLE_PAGES and not downwards and _has_columns(words))
        drawn.append(number < _TABLE_PAGES and not downwards and _has_lines(page))
        words.close()
        page.close()
    if scanned * 2 > count:
        raise FileRefused("scan", scanned=scanned, pages=count)
    written = "".join("".join(texts).split())
    if len(_UNMAPPED.findall(written)) * 5 > len(written) or len(_CONTROL.findall(written)) * 20 > len(written):
        raise FileRefused("unmapped")
    enough = time.process_time() + limits.cpu / 2  # beyond it the other pages are read without their tables
    before: _Ruled | None = None
    for number in range(count):
        if time.process_time() >= enough:
            break
        last, before = before, None
        if drawn[number]:
            before = _ruled(document, number, texts[number], last, measured=number not in unmeasured)
        if before:
            texts[number] = before.text
        elif tabular[number] and (with_table := _page_with_table(document, number)):
            texts[number] = with_table if _in_order(texts[number], with_table) else texts[number]
    title = clean_line(str(document.get_metadata_value("Title") or ""))
    shown = "".join(texts[:1]).split()
    if _MADE_TITLE.match(title) or "".join(title.split()) not in "".join(shown):
        title = ""
    fields = {name: str(document.get_metadata_value(name) or "").removeprefix("D:")[:8] for name in _DATES}
    document.close()
    return reflow(texts), title, stated((_DATES[name], value) for name, value in fields.items())


def _lines(text: str) -> str:
    """Text as pdfium hands it out, with its mark for a word that is cut at the end of a line as a hyphen."""
    return text.replace("\r\n", "\n").replace("\ufffe", "-\n")


def _written_downwards(text: str) -> str:
    """A Japanese page that is written downwards: pdfium hands out each of its characters as a line."""
    lines = list(filter(None, map(str.strip, text.split("\n"))))
    if len(lines) < _FEWEST_DOWNWARDS or sum(len(line) == 1 for line in lines) * 2 < len(lines):
        return text
    return re.sub(rf"(?<=[{_JAPANESE}])\s+(?=[{_JAPANESE}])", "", text)


def _is_unmeasured(page: pypdfium2.PdfPage) -> bool:
    """Whether most of what is written in fonts that the file does not hold has no height, since they are not here,
    either. pdfium leaves out single characters without one, whole lines of a turned page, and the second of two equal
    lines."""
    words = islice(page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_TEXT], max_depth=3), _MOST_WORDS)
    flat = [
        _height(word) < _FLAT for word in words if not pdfium.FPDFFont_GetIsEmbedded(pdfium.FPDFTextObj_GetFont(word))
    ]
    return sum(flat) * 2 > len(flat)


def _height(word: pypdfium2.PdfObject) -> float:
    """Across the direction in which it is written, in points."""
    left, bottom, right, top = word.get_bounds()
    turned = word.get_matrix()
    return float(right - left if abs(turned.a) < abs(turned.b) else top - bottom)


def _whole_text(document: pypdfium2.PdfDocument, number: int, read: str) -> str:
    """The page as pdfplumber reads it, which does not ask how large a character is drawn; `""` where most lines are
    not as pdfium has `read` them: it writes Arabic backwards, and reads across columns of upright lines."""
    try:
        with pdfplumber.open(_alone(document, number)) as alone:
            text = alone.pages[0].extract_text()
    except Exception as error:  # of pdfminer, on pages that other readers show
        log.info("a page without what is not measured: %s", type(error).__name__)
        return ""
    written, lines = "".join(text.split()), list(filter(None, ("".join(line.split()) for line in read.split("\n"))))
    return "" if _UNMAPPED.search(text) or sum(line in written for line in lines) * 2 < len(lines) else text


def _is_written_on(page: pypdfium2.PdfPage) -> bool:
    """Whether fields of a form or text boxes lie over the page, whose words are not among its own before they are made
    part of it."""
    for at in range(pdfium.FPDFPage_GetAnnotCount(page)):
        over = pdfium.FPDFPage_GetAnnot(page, at)
        kind = pdfium.FPDFAnnot_GetSubtype(over)
        pdfium.FPDFPage_CloseAnnot(over)
        if kind in (pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT):
            return True
    return False


def _has_picture(page: pypdfium2.PdfPage) -> bool:
    return any(True for _ in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3))


def _has_lines(page: pypdfium2.PdfPage) -> bool:
    """Whether the page stands upright and as much is drawn on it as a table is ruled with, and no plan or chart."""
    if page.get_rotation() or tuple(page.get_mediabox()[:2]) != (0, 0):
        return False
    paths = page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_PATH], max_depth=3)
    points: int = sum(pdfium.FPDFPath_CountSegments(path) for path in islice(paths, _MOST_POINTS))
    return _FEWEST_POINTS <= points < _MOST_POINTS


def _has_columns(words: pypdfium2.PdfTextPage) -> bool:
    """Whether enough lines of the page consist of pieces set apart, as in a table."""
    starts: dict[int, list[float]] = {}
    for piece in range(words.count_rects()):
        left, bottom, _, _ = words.get_rect(piece)
        starts.setdefault(round(bottom / 5), []).append(left)
    rows = 0
    for line in starts.values():
        columns, last = 0, -_COLUMN_GAP
        for left in sorted(line):
            if left - last >= _COLUMN_GAP:
                columns, last = columns + 1, left
        rows += columns >= _COLUMNS
    return rows >= _ROWS


def _in_order(printed: str, written: str) -> bool:
    """Whether sentences that go on in the next line as `printed` mostly do so in another reading of the page: one that
    takes text in two columns for a table reads across them."""
    lines = [line.strip() for line in printed.split("\n") if line.strip()]
    usual = _usual_width(lines)
    together = set(pairwise(_WORDS.findall(written)))
    joints = [
        (_WORDS.findall(line)[-1:], _WORDS.findall(following)[:1])
        for line, following in pairwise(lines)
        if _goes_on(line, following, usual)
    ]
    return sum((*last, *first) in together for last, first in joints) * 2 >= len(joints)


Within = Callable[[float, float, float, float], str]


@dataclass(frozen=True, slots=True)
class _Ruled:
    """A page with its ruled tables written row by row. `edges` are those of the columns of the last table if nothing
    stands below it, so that the next page may go on with it; `names` its first row."""

    text: str
    edges: tuple[int, ...] = ()
    names: tuple[str, ...] = ()


def _ruled(
    document: pypdfium2.PdfDocument, number: int, read: str, before: _Ruled | None, *, measured: bool
) -> _Ruled | None:
    """An upright page with its ruled tables, or None where there are none, or text stands between their cells.
    `measured`: whether pdfium reads all of its words."""
    try:
        with pdfplumber.open(_alone(document, number)) as alone:
            lines = alone.pages[0].edges
            crossings = math.prod(len({round(line[at]) for line in lines}) for at in ("x0", "top"))
            found = alone.pages[0].find_tables() if crossings <= _MOST_CROSSINGS else []
            tables = sorted(found, key=lambda table: table.bbox[1])
            written = [(table, _cells(table)) for table in tables if len(table.rows) > 1 and len(table.columns) > 1]
            if written and not measured:
                return _with_ruled(partial(_printed, alone.pages[0]), alone.pages[0].bbox[2:], read, written, before)
    except Exception as error:  # of pdfminer, on pages that other readers show
        log.info("a page without its ruled tables: %s", type(error).__name__)
        return None
    with closing(document[number]) as page, closing(page.get_textpage()) as words:
        within = partial(_said_within, words, page.get_height())
        return _with_ruled(within, page.get_size(), read, written, before) if written else None


def _said_within(
    words: pypdfium2.PdfTextPage, height: float, left: float, top: float, right: float, bottom: float
) -> str:
    return _lines(words.get_text_bounded(left, height - bottom, right, height - top)).strip()


def _printed(page: Page, left: float, top: float, right: float, bottom: float) -> str:
    """The same, as pdfplumber reads it."""
    there = right - left >= 1 and bottom - top >= 1
    return page.crop((left, top, right, bottom), strict=False).extract_text().strip() if there else ""


def _with_ruled(
    within: Within,
    size: tuple[float, float],
    read: str,
    tables: Sequence[tuple[Table, list[list[str]]]],
    before: _Ruled | None,
) -> _Ruled | None:
    """The words `within` (left, top, right, bottom) a page of this `size` in points, which is `read` so, with its
    `tables`, each with its rows, in place of theirs. In columns they are read one after the other."""
    width, height = size
    if any(_in_column(within, size, table.bbox) for table, _ in tables):
        return _in_text(within, read, tables)
    parts: list[str] = []
    end = 0.0
    edges: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    for table, rows in tables:
        left, top, right, bottom = table.bbox
        if top < end or not _all_of(rows, within(left, top, right, bottom)):
            return None
        above = within(0, end, width, top)
        edges = tuple(round(column.bbox[0]) for column in table.columns)
        goes_on = before and edges == before.edges and not parts and "\n" not in above
        names = before.names if before and goes_on else tuple(rows[0]) if names_columns(rows[0]) else ()
        repeated = [names] if names and tuple(rows[0]) != names else []
        parts += [above, write_rows([*repeated, *rows]).markdown]
        end = bottom
    below = within(0, end, width, height)
    return _Ruled("\n\n".join(filter(None, [*parts, below])), edges if "\n" not in below else (), names)


def _in_column(within: Within, size: tuple[float, float], box: tuple[float, float, float, float]) -> bool:
    """Whether text stands beside the table, or above or below what would be beside it, with nothing between them all
    down the page."""
    left, top, right, bottom = box
    width, height = size
    high, low = _EDGE * height, (1 - _EDGE) * height
    before, behind = within(0, high, left - _GUTTER, low), within(right + _GUTTER, high, width, low)
    between = (within(left - _GUTTER, high, left - 1, low), within(right + 1, high, right + _GUTTER, low))
    beside = within(0, top, left, bottom) + within(right, top, width, bottom)
    return bool(beside) or any(text and not gap for text, gap in zip((before, behind), between, strict=True))


def _in_text(within: Within, read: str, tables: Sequence[tuple[Table, list[list[str]]]]) -> _Ruled | None:
    """The page as it is `read`, each table in place of its words; None where they do not follow one another there, or
    no lines part the rows."""
    for table, rows in tables:
        printed = within(*table.bbox)
        there = re.compile(r"\s*".join(map(re.escape, "".join(printed.split()))))
        found = list(islice(there.finditer(read), 2))
        if len(found) != 1 or not _all_of(rows, printed) or _has_rows_in_rows(table):
            return None
        start, end = found[0].span()
        read = "\n\n".join(filter(None, [read[:start].strip(), write_rows(rows).markdown, read[end:].strip()]))
    return _Ruled(read, (), ())


def _has_rows_in_rows(table: Table) -> bool:
    """Whether all cells of a row, below the names, have several lines: rows that no line parts."""
    filled = ([cell for cell in row if cell] for row in table.extract()[1:])
    return any(len(row) > 1 and all("\n" in cell for cell in row) for row in filled)


def _cells(table: Table) -> list[list[str]]:
    """The rows of a table; what reaches over several rows stands in each, what reaches over columns in the first."""
    rows: list[list[str]] = []
    for row, texts in zip(table.rows, table.extract(), strict=True):
        middle = (row.bbox[1] + row.bbox[3]) / 2
        above = {round(left) for left, top, _, bottom in table.cells if top + 1 < row.bbox[1] < middle < bottom}
        starts = [round(column.bbox[0]) for column in table.columns]
        cells = [_unbroken(text or "") for text in texts]
        if rows:
            cells = [
                old if not new and at in above else new for new, old, at in zip(cells, rows[-1], starts, strict=True)
            ]
        rows.append(cells)
    return rows


def _unbroken(text: str) -> str:
    """A cell's lines as one."""
    return reduce(lambda line, following: _joined(line, following, set()), text.split("\n"))


def _all_of(rows: Sequence[Sequence[str]], printed: str) -> bool:
    """Whether a table's cells hold what is printed within its lines, and at least half of them something: no picture,
    and no page in a frame."""
    cells = [cell for row in rows for cell in row]
    said, there = Counter("".join("".join(cells).split())), Counter("".join(printed.split()))
    lost = (there - said).total()
    return (
        sum(map(bool, cells)) * 2 >= len(cells)
        and lost * 50 <= there.total()
        and max(map(len, cells)) <= _LONGEST_CELL
        and not _UNMAPPED.search("".join(cells))
    )


def _alone(document: pypdfium2.PdfDocument, number: int) -> io.BytesIO:
    """A file of this page."""
    alone = pypdfium2.PdfDocument.new()
    alone.import_pages(document, [number])
    file = io.BytesIO()
    alone.save(file)
    alone.close()
    file.seek(0)
    return file


def _page_with_table(document: pypdfium2.PdfDocument, number: int) -> str:
    """The page as MarkItDown writes it if that shows a table, else `""`. Its converter would read a page without one
    twice again, and look half a minute for the blocks of text on a map or in a long list of figures."""
    try:
        with pdfplumber.open(_alone(document, number)) as alone:
            text = _extract_form_content_from_words(alone.pages[0]) or ""
    except Exception as error:  # of pdfminer, on pages that other readers show
        log.info("a page without its table: %s", type(error).__name__)
        return ""
    if not re.search(r"^\|[ -]*-{3,}[ -]*\|", text, re.MULTILINE):
        return ""
    text = re.sub(r"^\|.*\|$", lambda row: re.sub(r" {2,}", " ", row.group()), text, flags=re.MULTILINE)
    return re.sub(r"^(\|.*)\n(?!\|)|^((?!\|).+)\n(?=\|)", r"\g<0>\n", text, flags=re.MULTILINE)  # a table stands alone
