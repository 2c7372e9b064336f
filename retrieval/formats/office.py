"""docx, pptx and epub → Markdown through MarkItDown's converters, from archives that have been checked."""

import io
import re
from collections.abc import Callable

from markitdown import DocumentConverter, DocumentConverterResult, StreamInfo
from markitdown.converters import DocxConverter, EpubConverter, HtmlConverter, PptxConverter

from retrieval.formats.archives import open_archive, pack, stated_by
from retrieval.formats.limits import Limits
from retrieval.formats.markup import tidy_images
from retrieval.formats.webpages import decode_page, readable_part, without_hidden

_UNDERLINE = re.compile(r"</?u>")
_STYLES = "p[style-name='Title'] => h1:fresh"  # Word's own title is no heading to its converter
_VANISHED = re.compile(rb"<w:r(?:\s[^>]*)?>(?:(?!</w:r>|<w:r[\s>]).)*?<w:vanish\s*/>.*?</w:r>", re.DOTALL)


def _convert(
    converter: Callable[[], DocumentConverter], packed: bytes, suffix: str, **options: str
) -> DocumentConverterResult:
    return converter().convert(io.BytesIO(packed), StreamInfo(extension=suffix, charset="utf-8"), **options)


def read_word(data: bytes, limits: Limits) -> tuple[str, str, str]:
    """Headings, lists, tables and links of a docx without hidden text, no title of its own, and its date."""
    parts = open_archive(data, ".docx", limits)
    date = stated_by(parts)
    parts = {name: _VANISHED.sub(b"", part) if name.startswith("word/") else part for name, part in parts.items()}
    return _converted(_convert(DocxConverter, pack(parts), ".docx", style_map=_STYLES).markdown), "", date


def read_slides(data: bytes, limits: Limits) -> tuple[str, str, str]:
    """Slides of a pptx in order, each under its title, with its notes; no title of the whole; its date."""
    parts = open_archive(data, ".pptx", limits)
    return _converted(_convert(PptxConverter, pack(parts), ".pptx").markdown), "", stated_by(parts)


def read_book(data: bytes, limits: Limits) -> tuple[str, str]:
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
