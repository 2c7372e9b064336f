"""The points of SmartArt and the text boxes of a sheet are read where they stand."""

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import docx
import openpyxl  # type: ignore[import-untyped]
import pptx

from retrieval.loaders.formats.slides import read_slides
from retrieval.loaders.formats.word import read_word
from retrieval.loaders.formats.workbook import read_workbook
from retrieval.loaders.limits import ParsingLimits

OFFICE = "http://schemas.openxmlformats.org"
NAMESPACES = (
    f'xmlns:a="{OFFICE}/drawingml/2006/main" xmlns:dgm="{OFFICE}/drawingml/2006/diagram"'
    f' xmlns:r="{OFFICE}/officeDocument/2006/relationships"'
)
GRAPHIC = f'<a:graphic {NAMESPACES}><a:graphicData uri="x"><dgm:relIds r:dm="rIdD"/></a:graphicData></a:graphic>'
POINTS = (("0", "doc", ""), ("2", "node", "VP of sales"), ("1", "node", "President"), ("3", "asst", "R&amp;D"))
LINKS = (("0", "1", 0), ("1", "3", 1), ("1", "2", 0), ("9", "1", 0))


def diagram() -> str:
    points = "".join(
        f'<dgm:pt modelId="{name}" type="{kind}"><dgm:t><a:p><a:r><a:t>{words}</a:t></a:r></a:p></dgm:t></dgm:pt>'
        for name, kind, words in POINTS
    )
    links = "".join(f'<dgm:cxn srcId="{head}" destId="{part}" srcOrd="{order}"/>' for head, part, order in LINKS)
    links += '<dgm:cxn type="presOf" srcId="2" destId="3" srcOrd="0"/>'
    return (
        f"<dgm:dataModel {NAMESPACES}><dgm:ptLst>{points}</dgm:ptLst><dgm:cxnLst>{links}</dgm:cxnLst></dgm:dataModel>"
    )


def relationships(**parts: str) -> str:
    inner = "".join(
        f'<Relationship Id="{name}" Type="{OFFICE}/{target.split()[0]}" Target="{target.split()[1]}"/>'
        for name, target in parts.items()
    )
    return f'<Relationships xmlns="{OFFICE}/package/2006/relationships">{inner}</Relationships>'


def changed(document: Any, replaced: Mapping[str, tuple[str, str]], added: Mapping[str, str]) -> bytes:
    """The saved file with text replaced in some parts, and with further parts."""
    file, after = io.BytesIO(), io.BytesIO()
    document.save(file)
    with zipfile.ZipFile(file) as before, zipfile.ZipFile(after, "w") as archive:
        for name in before.namelist():
            old, new = replaced.get(name, ("", ""))
            assert old in before.read(name).decode("utf-8", "replace")
            archive.writestr(name, before.read(name).replace(old.encode(), new.encode()) if old else before.read(name))
        for name, part in added.items():
            archive.writestr(name, part)
    return after.getvalue()


def related(target: str) -> tuple[str, str]:
    return (
        "</Relationships>",
        f'<Relationship Id="rIdD" Type="{OFFICE}/diagramData" Target="{target}"/></Relationships>',
    )


def test_the_points_of_a_diagram_on_a_slide_are_a_list_at_its_place() -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Who leads"
    slide.shapes.add_textbox(0, 5_000_000, 100, 100).text_frame.text = "As of April"
    frame = (
        f'<p:graphicFrame><p:xfrm><a:off x="0" y="4000000"/><a:ext cx="1" cy="1"/></p:xfrm>{GRAPHIC}</p:graphicFrame>'
    )
    data = changed(
        deck,
        {
            "ppt/slides/slide1.xml": ("</p:spTree>", f"{frame}</p:spTree>"),
            "ppt/slides/_rels/slide1.xml.rels": related("../diagrams/data1.xml"),
        },
        {"ppt/diagrams/data1.xml": diagram()},
    )
    expected = "# Who leads\n- President\n  - VP of sales\n  - R&D\nAs of April"
    assert read_slides(data, ParsingLimits())[0].strip() == expected


def test_those_of_a_diagram_in_word_are_paragraphs_at_its_place() -> None:
    word = docx.Document()
    word.add_paragraph("Before.")
    data = changed(
        word,
        {
            "word/document.xml": (
                "Before.</w:t></w:r>",
                f"Before.</w:t></w:r><w:r><w:drawing>{GRAPHIC}</w:drawing></w:r>",
            ),
            "word/_rels/document.xml.rels": related("diagrams/data1.xml"),
        },
        {"word/diagrams/data1.xml": diagram()},
    )
    words = read_word(data, ParsingLimits())[0].split("\n\n")
    assert [line.strip() for line in words] == ["Before.", "President", "VP of sales", "R&D"]


def test_text_boxes_and_diagrams_of_a_sheet_stand_under_its_rows_from_top_to_bottom() -> None:
    book = openpyxl.Workbook()
    book.active.append(["申請日", "氏名"])
    book.active.append(["4/1", "佐藤"])
    box = "<xdr:sp><xdr:txBody><a:p><a:r><a:t>※日当は</a:t></a:r><a:r><a:t>含まない</a:t></a:r></a:p></xdr:txBody></xdr:sp>"
    older = '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
    anchors = "".join(
        f"<xdr:twoCellAnchor><xdr:from><xdr:col>0</xdr:col><xdr:row>{row}</xdr:row></xdr:from>{shape}</xdr:twoCellAnchor>"
        for row, shape in (
            (9, f"<xdr:graphicFrame>{GRAPHIC}</xdr:graphicFrame>"),
            (3, f"{older}<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"),
        )
    )
    drawing = f'<xdr:wsDr xmlns:xdr="{OFFICE}/drawingml/2006/spreadsheetDrawing" {NAMESPACES}>{anchors}</xdr:wsDr>'
    data = changed(
        book,
        {},
        {
            "xl/worksheets/_rels/sheet1.xml.rels": relationships(rId1="drawing ../drawings/drawing1.xml"),
            "xl/drawings/drawing1.xml": drawing,
            "xl/drawings/_rels/drawing1.xml.rels": relationships(rIdD="diagramData /xl/diagrams/data1.xml"),
            "xl/diagrams/data1.xml": diagram(),
        },
    )
    assert read_workbook(data, ParsingLimits())[0].markdown == (
        "## Sheet\n\n- 申請日: 4/1, 氏名: 佐藤\n\n※日当は含まない\n\n- President\n  - VP of sales\n  - R&D"
    )


def test_a_diagram_that_is_not_there_costs_no_more_than_itself() -> None:
    word = docx.Document()
    word.add_paragraph("Before.")
    frame = f"Before.</w:t></w:r><w:r><w:drawing>{GRAPHIC}</w:drawing></w:r>"
    data = changed(word, {"word/document.xml": ("Before.</w:t></w:r>", frame)}, {"word/diagrams/data1.xml": "<broken"})
    assert read_word(data, ParsingLimits())[0].strip() == "Before."
