"""HTML and epub → Markdown."""

import re

from markitdown.converters._epub_converter import EpubConverter
from markitdown.converters._html_converter import HtmlConverter

from retrieval.loaders.archives import open_archive, pack
from retrieval.loaders.encodings import decode_page
from retrieval.loaders.formats.converters import convert, finished
from retrieval.loaders.html import readable_part, without_hidden
from retrieval.loaders.implied.web import FENCE_SHOWN
from retrieval.loaders.limits import ParsingLimits

_FENCED = re.compile(r"^(?P<indent>[ \t]*)```\n(?P<text>.*?)\n[ \t]*```$", re.M | re.S)


def read_book(data: bytes, limits: ParsingLimits) -> tuple[str, str]:
    """Chapters of an epub in reading order, and the book's title."""
    parts = open_archive(data, ".epub", limits)
    for name, part in parts.items():
        if name.lower().endswith((".xhtml", ".html", ".htm")):
            parts[name] = without_hidden(decode_page(part)).encode("utf-8", "replace")
    result = convert(EpubConverter, pack(parts), ".epub")
    return finished(result.markdown), result.title or ""


def read_page(data: bytes) -> tuple[str, str, str]:
    """The main content of an HTML file, its title and its date."""
    page, title, date = readable_part(decode_page(data))
    markdown = convert(HtmlConverter, page.encode("utf-8", "replace"), ".html").markdown
    return finished(_FENCED.sub(_longer_fence, markdown)), title, date


def _longer_fence(code: re.Match[str]) -> str:
    """Code that shows fences has a longer one, which they do not end."""
    text = code["text"].replace(FENCE_SHOWN, "```")
    fence = code["indent"] + "`" * (max(map(len, re.findall("`{3,}", text)), default=2) + 1)
    return f"{fence}\n{text}\n{fence}"
