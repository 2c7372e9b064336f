"""MarkItDown's converters as they are used here: their page between a document and its Markdown, and the Markdown
afterwards."""

import io
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, BinaryIO

from bs4 import BeautifulSoup
from markitdown._base_converter import DocumentConverter, DocumentConverterResult
from markitdown._stream_info import StreamInfo
from markitdown.converters._html_converter import HtmlConverter

from retrieval.loaders.html import spread_cells
from retrieval.loaders.implied.web import mark_superscripts
from retrieval.loaders.markdown import tidy_images
from retrieval.loaders.tables import names_columns, names_of_several_rows

_UNDERLINE = re.compile(r"</?u>")
_NAMELESS_TABLE = re.compile(r"^\|(?: +\|)+\n(?P<rule>\|(?: -+ \|)+)\n(?P<table>\|.*\|(?:\n\|.*\|){2,})$", re.MULTILINE)
_CELL = re.compile(r"(?<!\\)\|")
_BOLD = re.compile(r"\*\*[^*]+\*\*")
_FIGURE = re.compile(r"\d")


def convert(
    converter: Callable[[], DocumentConverter], packed: bytes, suffix: str, **options: str
) -> DocumentConverterResult:
    return converter().convert(io.BytesIO(packed), StreamInfo(extension=suffix, charset="utf-8"), **options)


class SpreadingConverter(HtmlConverter):
    def convert(self, file_stream: BinaryIO, stream_info: StreamInfo, **kwargs: Any) -> DocumentConverterResult:
        soup = BeautifulSoup(file_stream.read().decode("utf-8"), "html.parser")
        spread_cells(soup)
        mark_superscripts(soup)
        for link in soup.find_all("a", href=re.compile("^#")):  # to a heading or a note, which Markdown does not have
            if link.get_text(strip=True) == "↑":
                link.extract()
            else:
                link.unwrap()
        return super().convert(io.BytesIO(str(soup).encode("utf-8")), stream_info, **kwargs)


def finished(markdown: str) -> str:
    return _NAMELESS_TABLE.sub(_with_names, _UNDERLINE.sub("", tidy_images(markdown)))


def _with_names(table: re.Match[str]) -> str:
    """Word does not say which row names the columns, nor do many pages: the first of a table does where it looks like
    names. In a form each name stands beside its value, in two or four columns: there the first row has to differ."""
    lines = table["table"].split("\n")
    first, *rows = ([cell.strip() for cell in _CELL.split(line)[1:-1]] for line in lines)
    names, count = names_of_several_rows([first, *rows])
    if count:
        return "\n".join([f"| {' | '.join(names)} |", table["rule"], *lines[count:]]) + "\n"
    form = len(first) % 2 == 0 and not all(map(_BOLD.fullmatch, first)) and not _over_values(first, rows)
    if form or not all(first[1:]) or not names_columns(first):
        return table.group()
    return table["table"].replace("\n", f"\n{table['rule']}\n", 1)


def _over_values(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a column has figures in each of these rows and none in the first one; or, where a form would have names,
    in half of them figures or what stands elsewhere, too. No form begins with an empty cell."""
    often = {cell for cell, count in Counter(chain.from_iterable(rows)).items() if cell and count > 1}
    for at, (name, *below) in enumerate(zip(first, *rows, strict=False)):
        told = [bool(_FIGURE.search(cell)) for cell in below]
        values = [figure or (at > 0 and cell in often) for figure, cell in zip(told, below, strict=True)]
        if not _FIGURE.search(name) and (all(told) or (at % 2 == 0 and sum(values) * 2 >= len(values))):
            return True
    return not first[0]
