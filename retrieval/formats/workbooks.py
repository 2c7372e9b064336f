"""xlsx → text through openpyxl alone, which spares pandas (84 MB) behind MarkItDown's own reader."""

import datetime
import io

import openpyxl  # type: ignore[import-untyped]

from retrieval.formats.archives import open_archive, pack, stated_by
from retrieval.formats.limits import Limits, Refused
from retrieval.formats.tables import Written, write_rows
from retrieval.types import QAPair


def read_workbook(data: bytes, limits: Limits) -> tuple[Written, str]:
    """Every visible sheet of an xlsx file under its own heading, and its date. Formulas give the value last computed."""
    archive = open_archive(data, ".xlsx", limits)
    book = openpyxl.load_workbook(io.BytesIO(pack(archive)), read_only=True, data_only=True)
    parts: list[str] = []
    pairs: list[QAPair] = []
    count = 0
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            continue
        sheet.reset_dimensions()  # the file's own claim may be wrong
        rows: list[list[str]] = []
        for row in sheet.iter_rows():
            cells = [_cell(cell.value, cell.number_format if cell.value is not None else "") for cell in row]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                rows.append(cells)
                count += 1
            if count > limits.rows + len(book.worksheets):
                raise Refused("rows", limit=limits.rows)
        written = write_rows(rows)
        if written.markdown:
            parts.append(f"## {sheet.title}\n\n{written.markdown}")
            pairs += written.pairs
    return Written("\n\n".join(parts), tuple(pairs)), stated_by(archive)


def _cell(value: object, number_format: str) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).upper()
        case datetime.datetime() if value.time() == datetime.time():
            return value.date().isoformat()
        case datetime.datetime():
            return value.isoformat(" ", "minutes" if not value.second else "seconds")
        case datetime.date() | datetime.time():
            return value.isoformat()
        case int() | float() if "%" in number_format:
            return f"{value * 100:.10g}%"
        case float():
            return f"{value:.15g}"
        case _:
            return str(value)
