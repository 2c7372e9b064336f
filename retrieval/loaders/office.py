"""docx, pptx and epub → Markdown through MarkItDown's converters, from archives that have been checked; xlsx → text
through openpyxl alone, which spares pandas (84 MB) behind MarkItDown's own reader."""

import datetime
import io
import re
from collections.abc import Callable

import openpyxl  # type: ignore[import-untyped]
from markitdown import DocumentConverter, DocumentConverterResult, StreamInfo
from markitdown.converters import DocxConverter, EpubConverter, HtmlConverter, PptxConverter

from retrieval.loaders.archives import open_archive, pack, stated_by
from retrieval.loaders.html import decode_page, readable_part, without_hidden
from retrieval.loaders.limits import FileRefused, ParsingLimits
from retrieval.loaders.markdown import tidy_images
from retrieval.loaders.tables import Written, write_rows
from retrieval.types import QAPair

_UNDERLINE = re.compile(r"</?u>")
_STYLES = "p[style-name='Title'] => h1:fresh"  # Word's own title is no heading to its converter
_VANISHED = re.compile(rb"<w:r(?:\s[^>]*)?>(?:(?!</w:r>|<w:r[\s>]).)*?<w:vanish\s*/>.*?</w:r>", re.DOTALL)


def _convert(
    converter: Callable[[], DocumentConverter], packed: bytes, suffix: str, **options: str
) -> DocumentConverterResult:
    return converter().convert(io.BytesIO(packed), StreamInfo(extension=suffix, charset="utf-8"), **options)


def read_word(data: bytes, limits: ParsingLimits) -> tuple[str, str, str]:
    """Headings, lists, tables and links of a docx without hidden text, no title of its own, and its date."""
    parts = open_archive(data, ".docx", limits)
    date = stated_by(parts)
    parts = {name: _VANISHED.sub(b"", part) if name.startswith("word/") else part for name, part in parts.items()}
    return _converted(_convert(DocxConverter, pack(parts), ".docx", style_map=_STYLES).markdown), "", date


def read_slides(data: bytes, limits: ParsingLimits) -> tuple[str, str, str]:
    """Slides of a pptx in order, each under its title, with its notes; no title of the whole; its date."""
    parts = open_archive(data, ".pptx", limits)
    return _converted(_convert(PptxConverter, pack(parts), ".pptx").markdown), "", stated_by(parts)


def read_book(data: bytes, limits: ParsingLimits) -> tuple[str, str]:
    """Chapters of an epub in reading order, and the book's title."""
    parts = open_archive(data, ".epub", limits)
    for name, part in parts.items():
        if name.lower().endswith((".xhtml", ".html", ".htm")):
            parts[name] = without_hidden(decode_page(part)).encode("utf-8", "replace")
    result = _convert(EpubConverter, pack(parts), ".epub")
    return _converted(result.markdown), result.title or ""


def read_page(data: bytes) -> tuple[str, str, str]:
    """The main content of an HTML file, its title and its date."""
    page, title, date = readable_part(decode_page(data))
    return _converted(_convert(HtmlConverter, page.encode("utf-8", "replace"), ".html").markdown), title, date


def _converted(markdown: str) -> str:
    return _UNDERLINE.sub("", tidy_images(markdown))


def read_workbook(data: bytes, limits: ParsingLimits) -> tuple[Written, str]:
    """Every visible sheet of an xlsx file under its own heading, and its date. Formulas give the value last
    computed."""
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
                raise FileRefused("rows", limit=limits.rows)
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
