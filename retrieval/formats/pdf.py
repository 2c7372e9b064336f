"""PDF → text. pdfium reads the words fast and in order; pages that hold a table go through MarkItDown for it."""

import io
import re

import pypdfium2  # type: ignore[import-untyped]
import pypdfium2.raw as pdfium  # type: ignore[import-untyped]
from markitdown import StreamInfo
from markitdown.converters import PdfConverter

from retrieval.formats.cleaning import clean_line
from retrieval.formats.dates import stated
from retrieval.formats.limits import Limits, Refused
from retrieval.formats.reflow import reflow

_TABLE_PAGES = 100  # looked at for tables: one with a table takes 0.1 s, where the words of a page take 5 ms
_COLUMNS, _COLUMN_GAP, _ROWS = 3, 50.0, 2  # a table has this many columns, points between them, and rows
_FEW_WORDS = 16  # characters: less on a page with a picture is a stamp on a scan
_UNMAPPED = re.compile(r"[\ufffd\ue000-\uf8ff]|\(cid:\d+\)")
_DATES = {"ModDate": "modified", "CreationDate": "created"}  # as in D:20260401093000+09'00'
_MADE_TITLE = re.compile(
    r"^(?:microsoft \w+ - .*|untitled.*|無題.*|(?:document|文書)\s*\d*|.*\.(?:docx?|pptx?|xlsx?|indd|pdf|tex|rtf))$",
    re.I,
)


def read_pdf(data: bytes, limits: Limits) -> tuple[str, str, str]:
    """The text, the title the file states (`""` unless the first page shows it too), and its date.

    Raises `Refused`: encrypted, corrupt, pages, scan, empty, unmapped.
    """
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise Refused("encrypted" if "password" in str(error).lower() else "corrupt", kind="PDF") from error
    count = len(document)
    if count > limits.pages:
        raise Refused("pages", pages=count, limit=limits.pages)
    texts: list[str] = []
    tabular: list[bool] = []
    scanned = 0
    for number in range(count):
        page = document[number]
        words = page.get_textpage()
        text = words.get_text_range().replace("\r\n", "\n").replace("\ufffe", "-\n")  # pdfium's mark for a cut word
        if len("".join(text.split())) < _FEW_WORDS and _has_picture(page):
            scanned += 1
        texts.append(text)
        tabular.append(len(tabular) < _TABLE_PAGES and _has_columns(words))
        words.close()
        page.close()
    if scanned * 2 > count:
        raise Refused("scan", scanned=scanned, pages=count)
    written = "".join(texts)
    if len(_UNMAPPED.findall(written)) * 5 > len("".join(written.split())) > 0:
        raise Refused("unmapped")
    for number in range(count):
        if tabular[number] and (with_table := _page_with_table(document, number)):
            texts[number] = with_table
    title = clean_line(str(document.get_metadata_value("Title") or ""))
    shown = "".join(texts[:1]).split()
    if _MADE_TITLE.match(title) or "".join(title.split()) not in "".join(shown):
        title = ""
    fields = {name: str(document.get_metadata_value(name) or "").removeprefix("D:")[:8] for name in _DATES}
    document.close()
    return reflow(texts), title, stated((_DATES[name], value) for name, value in fields.items())


def _has_picture(page: pypdfium2.PdfPage) -> bool:
    return any(True for _ in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3))


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


def _page_with_table(document: pypdfium2.PdfDocument, number: int) -> str:
    """The page as MarkItDown writes it if that shows a table, else `""`."""
    alone = pypdfium2.PdfDocument.new()
    alone.import_pages(document, [number])
    file = io.BytesIO()
    alone.save(file)
    alone.close()
    file.seek(0)
    text = PdfConverter().convert(file, StreamInfo(extension=".pdf")).markdown
    if not re.search(r"^\|[ -]*-{3,}[ -]*\|", text, re.MULTILINE):
        return ""
    text = re.sub(r"^\|.*\|$", lambda row: re.sub(r" {2,}", " ", row.group()), text, flags=re.MULTILINE)
    return re.sub(r"^(\|.*)\n(?!\|)|^((?!\|).+)\n(?=\|)", r"\g<0>\n", text, flags=re.MULTILINE)  # a table stands alone
