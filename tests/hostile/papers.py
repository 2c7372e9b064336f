"""Documents of every format with sentences at a chosen place of each of their sections."""

import csv
import html
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import docx
import openpyxl  # type: ignore[import-untyped]

Position = Literal["start", "middle", "end"]
POSITIONS: tuple[Position, ...] = ("start", "middle", "end")


@dataclass(frozen=True, slots=True)
class Section:
    """What a document says about one thing: ordinary sentences, with `planted` among them."""

    heading: str
    sentences: tuple[str, ...]
    planted: str
    position: Position

    @property
    def rows(self) -> list[str]:
        at = {"start": 0, "middle": len(self.sentences) // 2, "end": len(self.sentences)}[self.position]
        return [*self.sentences[:at], self.planted, *self.sentences[at:]]


def _md(sections: Sequence[Section]) -> bytes:
    return "\n\n".join(line for each in sections for line in (f"# {each.heading}", *each.rows)).encode()


def _html(sections: Sequence[Section]) -> bytes:
    body = "".join(
        f"<h2>{html.escape(each.heading)}</h2>" + "".join(f"<p>{html.escape(row)}</p>" for row in each.rows)
        for each in sections
    )
    return f'<!doctype html><html><head><meta charset="utf-8"></head><body>{body}</body></html>'.encode()


def _csv(sections: Sequence[Section]) -> bytes:
    file = io.StringIO()
    csv.writer(file).writerows(
        [["name", "first", "second", "third", "fourth"], *([s.heading, *s.rows] for s in sections)]
    )
    return file.getvalue().encode("cp932")


def _json(sections: Sequence[Section]) -> bytes:
    return json.dumps([{"name": s.heading, "notes": s.rows} for s in sections], ensure_ascii=False).encode()


def _docx(sections: Sequence[Section]) -> bytes:
    document, file = docx.Document(), io.BytesIO()
    for each in sections:
        document.add_heading(each.heading, 1)
        for row in each.rows:
            document.add_paragraph(row)
    document.save(file)
    return file.getvalue()


def _xlsx(sections: Sequence[Section]) -> bytes:
    book, file = openpyxl.Workbook(), io.BytesIO()
    sheet = book.active
    assert sheet is not None
    sheet.append(["name", "first", "second", "third", "fourth"])
    for each in sections:
        sheet.append([each.heading, *each.rows])
    book.save(file)
    return file.getvalue()


FORMATS: dict[str, Callable[[Sequence[Section]], bytes]] = {
    ".md": _md,
    ".html": _html,
    ".csv": _csv,
    ".json": _json,
    ".docx": _docx,
    ".xlsx": _xlsx,
}
