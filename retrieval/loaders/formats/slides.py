"""pptx → Markdown."""

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, BinaryIO

import pptx
from markitdown._base_converter import DocumentConverterResult
from markitdown._stream_info import StreamInfo
from markitdown.converters._pptx_converter import PptxConverter
from pptx.enum.shapes import MSO_SHAPE_TYPE

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
_UNSUPPORTED = "[unsupported chart]"  # says the converter in the place of one
_TITLE_LINE = re.compile(r"(?![|!#*-])[^\n\v]{2,60}(?<![。．.、,;；:：!?])")
_WHOLE = re.compile(r"(?<=\d)\.0(?= \|)")  # numbers of a chart
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
    markdown = convert(_SlidesConverter, pack(parts), ".pptx").markdown
    return finished(_BETWEEN_STRUCK.sub("", markdown)), "", stated_by(parts)


class _SlidesConverter(PptxConverter):
    """A slide begins with its title, wherever that stands, or with the short line at its top; its converter would leave
    it to the slide before. Cells of its tables that reach over others are written in each, as those of Word are."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._html_converter = SpreadingConverter()

    def convert(self, file_stream: BinaryIO, stream_info: StreamInfo, **kwargs: Any) -> DocumentConverterResult:
        slides = map(self._said_on, pptx.Presentation(file_stream).slides)
        return DocumentConverterResult("\n\n".join(filter(None, slides)))

    def _said_on(self, slide: Any) -> str:
        head = slide.shapes.title
        title = head.text if head is not None and head.has_text_frame else ""  # a picture may stand in its place
        said = [part for part in self._said_in(slide.shapes, head) if part.strip()]
        first = next((part for part in said if not part.lstrip().startswith("![")), "")
        if not title.strip() and len(said) > 1 and _TITLE_LINE.fullmatch(first.strip()):
            title = first
            said.remove(first)
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        told = (notes.text or "").strip() if notes is not None else ""
        parts = [f"# {' '.join(title.split())}"] if title.strip() else []
        return "\n".join([*parts, *said, *([f"\n### Notes:\n{told}"] if told else [])]).strip()

    def _said_in(self, shapes: Any, title: Any) -> Iterator[str]:
        """The words of shapes from top to bottom."""
        for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
            if self._is_picture(shape):  # type: ignore[no-untyped-call]
                yield self._convert_picture_to_markdown(shape)  # type: ignore[no-untyped-call]
            if self._is_table(shape):  # type: ignore[no-untyped-call]
                yield self._convert_table_to_markdown(shape.table)
            if shape.has_chart:
                chart = self._convert_chart_to_markdown(shape.chart) or ""  # type: ignore[no-untyped-call]
                yield _WHOLE.sub("", chart.replace(_UNSUPPORTED, "")) + "\n"
            elif shape.has_text_frame and shape != title:
                yield shape.text or ""
            if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
                yield from self._said_in(shape.shapes, title)

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
