"""Words of drawings in office files that no library behind us reads: the points of SmartArt, and the text boxes of a
sheet.

Source: ECMA-376 part 1, §21.4 (diagrams: points, and connections of a parent to its parts) and §20.5 (drawings of a
sheet).
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from html import escape, unescape
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_SHEET_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_RELATED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_RELATIONSHIP = re.compile(rb"<(?:\w+:)?Relationship\b[^>]*>")
_ATTRIBUTE = re.compile(rb"\b(Id|Type|Target|TargetMode)\s*=\s*[\"']([^\"']*)[\"']")
_DATA = re.compile(rb"<dgm:relIds\b[^>]*\br:dm=\"([^\"]+)\"")
_FRAME = re.compile(rb"<p:graphicFrame\b(?:(?!</?p:graphicFrame\b).)*</p:graphicFrame>", re.DOTALL)
_PLACE = re.compile(rb"<p:xfrm\b[^>]*>(.*?)</p:xfrm>", re.DOTALL)
_DRAWING = re.compile(rb"<w:drawing\b(?:(?!</?w:drawing\b).)*</w:drawing>", re.DOTALL)

Point = tuple[int, str]  # how deep it stands below the whole, from 0, and its words


def with_diagrams(parts: Mapping[str, bytes]) -> dict[str, bytes]:
    """The parts of a docx or pptx in which the points of SmartArt stand in a text box at its place."""

    def in_slide(part: str, drawn: re.Match[bytes]) -> bytes:
        points = _points_of(parts, part, drawn[0])
        place = _PLACE.search(drawn[0])
        lines = (f"<a:p><a:r><a:t>{'  ' * depth}- {escape(words)}</a:t></a:r></a:p>" for depth, words in points)
        return (
            b'<p:sp><p:nvSpPr><p:cNvPr id="0" name=""/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr><a:xfrm>'
            + (place[1] if place else b"")
            + b"</a:xfrm></p:spPr><p:txBody><a:bodyPr/>%b</p:txBody></p:sp>" % "".join(lines).encode()
            if points
            else drawn[0]
        )

    def in_text(part: str, drawn: re.Match[bytes]) -> bytes:
        points = _points_of(parts, part, drawn[0])
        lines = (f"<w:p><w:r><w:t>{escape(words)}</w:t></w:r></w:p>" for _, words in points)
        box = "".join(lines).encode()
        return b"<w:pict><w:txbxContent>%b</w:txbxContent></w:pict>" % box if points else drawn[0]

    changed = dict(parts)
    for name, part in parts.items():
        if b"<dgm:relIds" in part and name.endswith(".xml"):
            frame, written = (_FRAME, in_slide) if name.startswith("ppt/") else (_DRAWING, in_text)
            changed[name] = frame.sub(lambda drawn, name=name, written=written: written(name, drawn), part)  # type: ignore[misc]
    return changed


def boxes_of(parts: Mapping[str, bytes], sheet: str) -> list[str]:
    """The words of each text box, shape and diagram on the `sheet` (its part of an xlsx), from top to bottom."""
    boxes: list[tuple[int, int, str]] = []
    for kind, drawing in related(parts, sheet).values():
        if kind == "drawing" and (root := _parsed(parts.get(drawing, b""))) is not None:
            for anchor in root:
                row, column = (
                    int(anchor.findtext(f"{_SHEET_DRAWING}from/{_SHEET_DRAWING}{name}") or 0) for name in ("row", "col")
                )
                boxes += ((row, column, box) for box in _said_in(parts, drawing, anchor))
    return [box for _, _, box in sorted(boxes, key=lambda box: box[:2])]


def _said_in(parts: Mapping[str, bytes], drawing: str, element: Element) -> Iterator[str]:
    if element.tag == f"{_SHEET_DRAWING}txBody":
        yield from filter(str.strip, ["\n".join(_lines(element))])
    elif element.tag == f"{_DIAGRAM}relIds":
        points = _points(parts.get(related(parts, drawing).get(element.get(f"{_RELATED}dm", ""), ("", ""))[1], b""))
        yield from filter(None, ["\n".join(f"{'  ' * depth}- {words}" for depth, words in points)])
    elif element.tag != _FALLBACK:
        for inner in element:
            yield from _said_in(parts, drawing, inner)


def _lines(element: Element) -> Iterator[str]:
    for paragraph in element.iter(f"{_A}p"):
        yield "".join(" " if run.tag == f"{_A}br" else run.text or "" for run in paragraph.iter() if _is_said(run))


def _is_said(run: Element) -> bool:
    return run.tag in (f"{_A}t", f"{_A}br")


def _points_of(parts: Mapping[str, bytes], name: str, drawn: bytes) -> list[Point]:
    found = _DATA.search(drawn)
    _, data = related(parts, name).get(found[1].decode("utf-8", "replace"), ("", "")) if found else ("", "")
    return _points(parts.get(data, b""))


def _points(data: bytes) -> list[Point]:
    """Points of a diagram that have words, each before its parts."""
    root = _parsed(data)
    if root is None:
        return []
    words = {
        point.get("modelId", ""): " ".join(" ".join(_lines(point)).split())
        for point in root.iter(f"{_DIAGRAM}pt")
        if point.get("type", "node") in ("node", "asst", "doc")
    }
    below: dict[str, list[tuple[int, str]]] = {}
    for link in root.iter(f"{_DIAGRAM}cxn"):
        if link.get("type", "parOf") == "parOf":
            order = link.get("srcOrd", "0")
            below.setdefault(link.get("srcId", ""), []).append(
                (int(order) if order.isdecimal() else 0, link.get("destId", ""))
            )
    heads = {head for links in below.values() for _, head in links}
    waiting = [(0, name) for name in reversed(words) if name not in heads]
    seen: set[str] = set()
    points: list[Point] = []
    while waiting:
        depth, name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if words.get(name):
            points.append((depth, words[name]))
            depth += 1
        waiting += ((depth, part) for _, part in sorted(below.get(name, ()), reverse=True))
    return points


def related(parts: Mapping[str, bytes], name: str) -> dict[str, tuple[str, str]]:
    """References of a part: by identifier the kind, and the name of the other part, or the address outside."""
    folder, file = posixpath.split(name)
    references: dict[str, tuple[str, str]] = {}
    for found in _RELATIONSHIP.findall(parts.get(f"{folder}/_rels/{file}.rels", b"")):
        said = {key.decode(): value.decode("utf-8", "replace") for key, value in _ATTRIBUTE.findall(found)}
        target = unescape(said.get("Target", ""))
        if said.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
        references[said.get("Id", "")] = said.get("Type", "").rsplit("/", 1)[-1], target
    return references


def _parsed(part: bytes) -> Element | None:
    try:
        root: Element = fromstring(part)
    except (ParseError, DefusedXmlException, ValueError):
        return None
    return root
