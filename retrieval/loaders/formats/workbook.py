"""xlsx → text, through openpyxl alone, which spares pandas (84 MB) behind MarkItDown's own reader."""

import datetime
import io
import re
import warnings
from collections.abc import Container, Mapping
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import lru_cache
from html import unescape

import openpyxl  # type: ignore[import-untyped]
from openpyxl.cell.read_only import ReadOnlyCell  # type: ignore[import-untyped]
from openpyxl.cell.rich_text import CellRichText, TextBlock  # type: ignore[import-untyped]
from openpyxl.utils import column_index_from_string  # type: ignore[import-untyped]

from retrieval.loaders.archives import open_archive, pack, stated_by
from retrieval.loaders.implied.drawings import boxes_of, related
from retrieval.loaders.limits import FileRefused, ParsingLimits
from retrieval.loaders.tables import Written, names_columns, write_sheet
from retrieval.types import QAPair

_MERGED = re.compile(rb'<mergeCell ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
_LONGEST_SPREAD = 200  # characters of a cell that is a value of several columns
_LAST_COLUMN = 16_384  # of a sheet
_ROW = re.compile(rb"<(?:\w+:)?row\b([^>]*)>")
_COLUMNS = re.compile(rb"<(?:\w+:)?col\b([^>]*)>")
_NUMBER = re.compile(rb"\b(r|min|max)=[\"'](\d{1,7})[\"']")
_HIDDEN = re.compile(rb"\bhidden=[\"'](?:1|true)[\"']")
_LINKED = re.compile(rb"<(?:\w+:)?hyperlink\b[^>]*>")
_PLACE = re.compile(rb"\bref=[\"']([A-Z]{1,3}\d{1,7})")
_LEADS = re.compile(rb"\bid=[\"']([^\"']+)[\"']")
_LEADS_BY_FORMULA = re.compile(
    rb"<(?:\w+:)?c\b[^>]*\br=[\"']([A-Z]{1,3}\d{1,7})[\"'][^>]*>\s*<(?:\w+:)?f>HYPERLINK\((?:\"|&quot;)([^\"<]*?)(?:\"|&quot;)"
)
_WEB = re.compile(r"https?://[^\s<>()]+")
_FOLDED = re.compile(rb"\boutlineLevel=[\"'][1-9]")
_FILTERED = re.compile(
    rb"<(?:\w+:)?autoFilter\b[^>]*\bref=[\"'][A-Z]{1,3}(\d{1,7}):[A-Z]{1,3}(\d{1,7})[\"'][^>]*>\s*"
    rb"<(?:\w+:)?filterColumn\b"
)
_BETWEEN_STRUCK = re.compile(r"(?<=\S)~~~~(?=\S)")
_UNSHOWN = re.compile(r"[_*].|\[(?!\$)[^\]]*\]")  # of a number format: gaps, colours
_CURRENCY = re.compile(r"\[\$([^\]-]*)[^\]]*\]")
_LITERAL = r"(?:\"[^\"]*\"|\\.|[¥￥$€£ ])*"
_WITH_UNIT = re.compile(rf"(?P<before>{_LITERAL})(?:General|(?P<digits>[#,0]*0(?:\.[0#]+)?))(?P<after>%?{_LITERAL})")
_LOOKS = re.compile(
    rb"<(?P<name>(?:\w+:)?(?:fonts|fills|borders|cellStyles|dxfs|tableStyles|colors|extLst))\b"
    rb"(?:[^>]*/>|.*?</(?P=name)\s*>)",
    re.DOTALL,
)
_FONTS = re.compile(rb"<(?P<name>(?:\w+:)?fonts)\b.*?</(?P=name)\s*>", re.DOTALL)
_FONT = re.compile(rb"<(?P<name>(?:\w+:)?font)\b(?:[^>]*/>|.*?</(?P=name)\s*>)", re.DOTALL)
_STRUCK = re.compile(rb"<(?:\w+:)?strike\b(?![^>]*\bval=[\"'](?:0|false)[\"'])")
_WEEKDAY = re.compile(r"(?<![ap])aaa(a?)(?![ap])", re.I)  # of a Japanese number format: 火, 火曜日
_WEEKDAYS = "土日月火水木金"  # by the rest of a date's number, divided by seven
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")  # a character that XML cannot hold as it is: _x000D_
_CODE = re.compile(r"(?:0|\\?-)*0")  # a number that is shown with all of its places: 0012, 150-0002


def read_workbook(data: bytes, limits: ParsingLimits) -> tuple[Written, str]:
    """Every visible sheet of an xlsx file under its own heading, without its hidden rows and columns, and its date.
    Formulas give the value last computed, and a cell that was merged over several rows is a value of each."""
    archive = open_archive(data, ".xlsx", limits)
    struck = _struck_fonts(archive.get("xl/styles.xml", b""))
    archive |= {name: _LOOKS.sub(b"", part) for name, part in archive.items() if name == "xl/styles.xml"}
    with warnings.catch_warnings(action="ignore"):  # that there is no default style
        book = openpyxl.load_workbook(
            io.BytesIO(pack(archive)),
            read_only=True,
            data_only=True,
            keep_links=False,
            rich_text=b"strike" in archive.get("xl/sharedStrings.xml", b""),
        )
    parts: list[str] = []
    pairs: list[QAPair] = []
    count = 0
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            continue
        sheet.reset_dimensions()  # the file's own claim may be wrong
        part = sheet._worksheet_path.lstrip("/")
        merged = _MergedCells(archive.get(part, b""))
        hidden_rows, hidden_columns = _hidden(archive, part)
        links = _links(archive, part)
        rows: list[list[str]] = []
        for number, row in enumerate(sheet.iter_rows(), 1):
            cells = [_shown(cell, struck) if cell.value is not None else "" for cell in row]
            for at, cell in enumerate(row) if links else ():
                if cells[at].strip() and "://" not in cells[at] and (address := links.get(cell.coordinate)):
                    cells[at] = f"[{cells[at].strip()}]({address})"
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                count += 1
                cells = merged.spread(cells, number)
                shown = [cell for column, cell in enumerate(cells, 1) if column not in hidden_columns]
                if number not in hidden_rows:
                    rows.append(shown)
            elif rows and rows[-1]:
                rows.append([])
            if count > limits.rows + len(book.worksheets):
                raise FileRefused("rows", limit=limits.rows)
        written = write_sheet(rows)
        if said := "\n\n".join(filter(None, [written.markdown, *boxes_of(archive, part)])):
            parts.append(f"## {sheet.title}\n\n{said}")
            pairs += written.pairs
    return Written("\n\n".join(parts), tuple(pairs)), stated_by(archive)


def _hidden(archive: Mapping[str, bytes], part: str) -> tuple[set[int], set[int]]:
    """The rows and the columns of a sheet that somebody has hidden, from 1; not those that are only filtered or folded,
    which whoever reads it has a button for."""
    sheet, last = archive.get(part, b""), 0
    tables = (archive.get(table, b"") for kind, table in related(archive, part).values() if kind == "table")
    filtered = [range(int(first), int(end) + 1) for one in (sheet, *tables) for first, end in _FILTERED.findall(one)]
    rows, columns = set[int](), set[int]()
    for looks in _ROW.findall(sheet) if _HIDDEN.search(sheet) else ():
        last = int(dict(_NUMBER.findall(looks)).get(b"r", last + 1))
        if _is_hidden(looks) and not any(last in some for some in filtered):
            rows.add(last)
    for looks in filter(_is_hidden, _COLUMNS.findall(sheet)):
        at = {name: int(number) for name, number in _NUMBER.findall(looks)}
        columns.update(range(at.get(b"min", 1), min(at.get(b"max", 0), _LAST_COLUMN) + 1))
    return rows, columns


def _links(archive: Mapping[str, bytes], part: str) -> dict[str, str]:
    """The addresses on the web that cells of a sheet lead to, by cell (`C2`)."""
    sheet, leads = archive.get(part, b""), related(archive, part)
    links = {
        cell.decode(): unescape(address.decode("utf-8", "replace"))
        for cell, address in _LEADS_BY_FORMULA.findall(sheet)
    }
    for link in _LINKED.findall(sheet):
        place, lead = _PLACE.search(link), _LEADS.search(link)
        if place and lead:
            links[place[1].decode()] = leads.get(lead[1].decode("utf-8", "replace"), ("", ""))[1]
    return {cell: address for cell, address in links.items() if _WEB.fullmatch(address)}


def _is_hidden(looks: bytes) -> bool:
    return bool(_HIDDEN.search(looks)) and not _FOLDED.search(looks)


class _MergedCells:
    """The cells of a sheet that were merged with those below or beside them, while its rows are read in order."""

    def __init__(self, sheet: bytes) -> None:
        """`sheet`: its part of the file."""
        self._begin: dict[int, list[tuple[range, int]]] = {}  # row, from 1 → columns, from 0, and their last rows
        self._open: dict[int, tuple[int, str]] = {}  # column → last row, value
        self._named: set[int] = set()  # columns with a name of their own in this table
        self._row = 0
        for left, first, right, last in _MERGED.findall(sheet):
            columns = range(column_index_from_string(left.decode()) - 1, column_index_from_string(right.decode()))
            self._begin.setdefault(int(first), []).append((columns, int(last)))

    def spread(self, cells: list[str], row: int) -> list[str]:
        """The cells of a row with what reaches into it from above; what reaches over columns that were named one by one
        above is a value of each. What begins on the left is the name of a row, or of the whole."""
        self._open = {column: (last, value) for column, (last, value) in self._open.items() if row <= last}
        for column, (_, value) in self._open.items():
            cells += [""] * (column + 1 - len(cells))
            cells[column] = cells[column] or value
        own = {column for column, cell in enumerate(cells) if cell}
        if row > self._row + 1:
            self._named.clear()
        for columns, last in self._begin.get(row, ()):
            value = cells[columns.start] if columns.start < len(cells) else ""
            own -= set(columns[: len(cells)] if len(columns) > 1 else ())
            over = columns.start > 0 and len(value) <= _LONGEST_SPREAD and all(map(self._named.__contains__, columns))
            for column in (columns if over else columns[:1]) if value else ():
                cells += [""] * (column + 1 - len(cells))
                cells[column] = value
                self._open[column] = last, value
        if names_columns([cells[column] for column in own]):
            self._named |= own
        self._row = row
        return cells


def _struck_fonts(styles: bytes) -> set[int]:
    """The numbers of the fonts that draw a line through what they write."""
    fonts = _FONTS.search(styles)
    return {at for at, font in enumerate(_FONT.finditer(fonts[0]) if fonts else ()) if _STRUCK.search(font[0])}


def _shown(cell: ReadOnlyCell, struck: Container[int]) -> str:
    """A cell that is not empty; what is struck out in it is marked so, as in Markdown."""
    if cell.style_array.fontId in struck:
        return _crossed(_cell(cell.value, cell.number_format))
    if isinstance(cell.value, CellRichText):
        parts = (
            _crossed(part.text) if isinstance(part, TextBlock) and part.font.strike else str(part)
            for part in cell.value
        )
        return _BETWEEN_STRUCK.sub("", "".join(parts))
    return _cell(cell.value, cell.number_format)


def _crossed(text: str) -> str:
    return re.sub(r"\S(?:.*\S)?", r"~~\g<0>~~", text)


def _cell(value: object, number_format: str) -> str:
    match value:
        case bool():
            return str(value).upper()
        case datetime.datetime() if value.time() == datetime.time():
            return value.date().isoformat()
        case datetime.datetime():
            return value.isoformat(" ", "minutes" if not value.second else "seconds")
        case datetime.date() | datetime.time():
            return value.isoformat()
        case datetime.timedelta():
            minutes, seconds = divmod(round(value.total_seconds()), 60)
            return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
        case int() | float() if weekday := _WEEKDAY.search(number_format):
            return _WEEKDAYS[int(value) % 7] + ("曜日" if weekday[1] else "")
        case int() if value >= 0 and _CODE.fullmatch(number_format) and number_format.count("0") > 1:
            return _with_all_places(value, number_format.replace("\\", ""))
        case int() | float():
            return _number(value, number_format)
        case _:
            return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), str(value))


def _with_all_places(value: int, places: str) -> str:
    """`value` as `places` (zeros, with hyphens between them) shows it."""
    digits = f"{value:0{places.count('0')}}"
    more, rest = digits[: -places.count("0")], iter(digits[-places.count("0") :])
    return more + "".join(next(rest) if place == "0" else place for place in places)


def _number(value: float, number_format: str) -> str:
    """`value` with the separators, the places and the unit that its cell shows it with."""
    before, digits, after = _form(number_format)
    percent = "%" in number_format
    if not digits:
        plain = f"{value * 100:.10g}%" if percent else value if isinstance(value, int) else f"{value:.15g}"
        return f"{before}{plain}{after.removeprefix('%')}"
    whole, point, places = digits.partition(".")
    width = whole.count("0") + len(point + places) + (value < 0)
    with localcontext(rounding=ROUND_HALF_UP):
        amount = Decimal(repr(value)) * (100 if percent else 1)
        shown = f"{amount:0{width}{',' if ',' in whole else ''}.{len(places)}f}"
    needed = len(places.rstrip("#"))
    while len(shown.partition(".")[2]) > needed and shown.endswith("0"):
        shown = shown[:-1]
    return f"{before}{shown.removesuffix('.')}{after}"


@lru_cache(maxsize=1_000)
def _form(number_format: str) -> tuple[str, str, str]:
    """How a number format shows a number: the words before it, its digits (`""`: as it is), the words behind it.
    `#,##0"円"` gives the yen, `[$€-407]0.00` the euro."""
    shown = _CURRENCY.sub(r'"\1"', _UNSHOWN.sub("", number_format.split(";")[0]))
    found = _WITH_UNIT.fullmatch(shown)
    if not found:
        return "", "", ""
    before, after = (re.sub(r"[\"\\]", "", found[side]).strip() for side in ("before", "after"))
    return before, found["digits"] or "", after
