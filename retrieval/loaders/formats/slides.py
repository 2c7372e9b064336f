"""pptx → Markdown."""

import re
from collections.abc import Mapping
from html import escape
from typing import Any

from markitdown.converters._pptx_converter import PptxConverter

from retrieval.loaders.archives import open_archive, pack, stated_by
from retrieval.loaders.formats.converters import SpreadingConverter, convert, finished
from retrieval.loaders.implied.drawings import related, with_diagrams
from retrieval.loaders.limits import ParsingLimits
from retrieval.loaders.tables import names_of_several_rows

_HIDDEN_SLIDE = re.compile(rb"<p:sld\b[^>]*\bshow=[\"'](?:0|false)[\"']")
_SLIDE = re.compile(rb"<p:sldId\b[^>]*\br:id=[\"']([^\"']+)[\"'][^>]*/>")
_STRUCK_RUN = re.compile(
    rb"(<a:rPr\b[^>]*\bstrike=\"(?:sng|dbl)Strike\"[^>]*?(?:/>|>(?:(?!</a:r>).)*?</a:rPr>)\s*<a:t>)([^<]*[^<\s])",
    re.DOTALL,
)
_CHART_IN_3D = re.compile(rb"(</?c:(?:bar|line|pie|area))3D(?=Chart\b)")  # python-pptx knows flat ones alone
_NOT_SHOWN = re.compile(r"<!-- Slide number: \d+ -->|^\[unsupported chart\]$", re.MULTILINE)  # by the converter
_BETWEEN_STRUCK = re.compile(r"(?<=\S)~~~~(?=\S)")
_SHOW = re.compile(
    rb"(?:slideshow|template)(?=(?:\.macroEnabled)?\.main\+xml)"
)  # python-pptx knows presentations alone
_EDGE = re.compile(rb"<p:ph\b[^>]*\btype=\"(sldNum|ftr|dt)\"")
_RUN = re.compile(rb"<a:t>([^<]*)</a:t>")
_SHAPE = re.compile(rb"<p:sp(?:\s[^>]*)?>.*?</p:sp>", re.DOTALL)


def read_slides(data: bytes, limits: ParsingLimits) -> tuple[str, str, str]:
    """The slides of a pptx that are not hidden in order, each under its title, with its notes; no title of the whole;
    its date."""
    parts = _without_hidden_slides(with_diagrams(open_archive(data, ".pptx", limits)))
    parts["[Content_Types].xml"] = _SHOW.sub(b"presentation", parts.get("[Content_Types].xml", b""))
    said: set[bytes] = set()
    for name, part in parts.items():
        if name.startswith("ppt/slides/") and not _HIDDEN_SLIDE.search(part):
            parts[name] = _SHAPE.sub(lambda shape: _of_a_kind(b"" if _is_repeated(shape[0], said) else shape[0]), part)
            parts[name] = _STRUCK_RUN.sub(rb"\1~~\2~~", parts[name])
        elif name.startswith("ppt/charts/"):
            parts[name] = _CHART_IN_3D.sub(rb"\1", part)
    markdown = _NOT_SHOWN.sub("", convert(_SlidesConverter, pack(parts), ".pptx").markdown)
    return finished(_BETWEEN_STRUCK.sub("", markdown)), "", stated_by(parts)


class _SlidesConverter(PptxConverter):
    """Cells of a slide's tables that reach over others are written in each, as those of Word are."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._html_converter = SpreadingConverter()

    def _convert_table_to_markdown(self, table: Any, **kwargs: Any) -> str:
        rows = [list(row.cells) for row in table.rows]
        heads = names_of_several_rows([[cell.text.strip() for cell in row] for row in rows])[1] or 1
        written = [
            "".join(_slide_cell(cell, "th" if at < heads else "td") for cell in row if not cell.is_spanned)
            for at, row in enumerate(rows)
        ]
        page = f"<table>{''.join(f'<tr>{row}</tr>' for row in written)}</table>"
        return str(self._html_converter.convert_string(page, **kwargs).markdown).strip() + "\n"


def _slide_cell(cell: Any, name: str) -> str:
    """A cell of python-pptx as HTML."""
    return f'<{name} rowspan="{cell.span_height}" colspan="{cell.span_width}">{escape(cell.text)}</{name}>'


def _without_hidden_slides(parts: Mapping[str, bytes]) -> dict[str, bytes]:
    show = "ppt/presentation.xml"
    slides = related(parts, show)
    hidden = {id.encode() for id, (_, part) in slides.items() if _HIDDEN_SLIDE.search(parts.get(part, b""))}
    return {**parts, show: _SLIDE.sub(lambda one: b"" if one[1] in hidden else one[0], parts.get(show, b""))}


def _is_repeated(shape: bytes, said: set[bytes]) -> bool:
    """Whether it is the number of a slide, or a date or foot that stands on another slide (in `said`), too."""
    edge = _EDGE.search(shape)
    words = b"".join(_RUN.findall(shape)) if edge else b""
    repeated = edge is not None and (edge[1] == b"sldNum" or words in said)
    said.add(words)
    return repeated


def _of_a_kind(shape: bytes) -> bytes:
    """A shape without a form, which other programs than PowerPoint write, is a text box: one of no kind is an error."""
    known = any(mark in shape for mark in (b"<p:ph", b"<a:prstGeom", b"<a:custGeom", b"txBox="))
    return shape if known else shape.replace(b"<p:cNvSpPr", b'<p:cNvSpPr txBox="1"', 1)
