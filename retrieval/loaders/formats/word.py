"""docx → Markdown."""

import re

from markitdown.converters._docx_converter import DocxConverter

from retrieval.loaders.archives import open_archive, pack, stated_by
from retrieval.loaders.formats.converters import SpreadingConverter, convert, finished
from retrieval.loaders.implied.drawings import with_diagrams
from retrieval.loaders.implied.word import plainly_written, written_out
from retrieval.loaders.limits import ParsingLimits

# Word's own title is no heading to its converter; the headings that it lists with their pages stand in the text.
_STYLES = "\n".join(
    ["p[style-name='Title'] => h1:fresh", *(f"p[style-name='toc {n}'] => !" for n in ("heading", *range(1, 10)))]
)
_VANISHING_STYLE = re.compile(
    rb"<w:style\b(?=[^>]*\bw:styleId=\"([^\"]+)\")[^>]*>(?:(?!</w:style>).)*?<w:vanish\s*/>", re.DOTALL
)
# A run or a paragraph with a property.
_VANISHED = rb"<w:(%b)(?:\s[^>]*)?>(?:(?!</?w:\1[\s>]).)*?<w:%b\s*/>(?:(?!<w:\1[\s>]).)*?</w:\1>"


def read_word(data: bytes, limits: ParsingLimits) -> tuple[str, str, str]:
    """Headings, lists, tables and links of a docx without hidden text, no title of its own, and its date."""
    parts = open_archive(data, ".docx", limits)
    date = stated_by(parts)
    parts = written_out(plainly_written(with_diagrams(parts)))
    styles = b"|".join(map(re.escape, _VANISHING_STYLE.findall(parts.get("word/styles.xml", b""))))
    hiding = [
        (b"r", b"vanish"),
        *((kind, b'%bStyle w:val="(?:%b)"' % (kind, styles)) for kind in (b"r", b"p") if styles),
    ]
    for vanished in (re.compile(_VANISHED % kind, re.DOTALL) for kind in hiding):
        parts = {name: vanished.sub(b"", part) if name.startswith("word/") else part for name, part in parts.items()}
    return finished(convert(_WordConverter, pack(parts), ".docx", style_map=_STYLES).markdown), "", date


class _WordConverter(DocxConverter):
    """Word's cells over several rows are written in each, before Markdown is made of the page."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._html_converter = SpreadingConverter()
