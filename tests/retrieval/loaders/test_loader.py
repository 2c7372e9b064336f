"""Files of every kind become documents; what cannot is refused in words; and no file harms the next."""

import io
import os
import zipfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import docx
import pptx
import pytest
import pytest_asyncio
from PIL import Image
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.enum.dml import MSO_THEME_COLOR
from reportlab.lib.styles import ParagraphStyle  # type: ignore[import-untyped]
from reportlab.lib.utils import ImageReader  # type: ignore[import-untyped]
from reportlab.pdfbase import pdfmetrics  # type: ignore[import-untyped]
from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer  # type: ignore[import-untyped]

from retrieval.loaders.limits import REASONS
from retrieval.loaders.loader import SUFFIXES, Loader, ParsingLimits
from retrieval.types import Document, QAPair, UnreadableError

pytestmark = pytest.mark.asyncio(loop_scope="module")

FILES = Path(__file__).parents[2] / "files"
PARAGRAPHS = (
    "出張の申請は、出発の三営業日前までにワークフローから提出してください。承認者は所属する部門の部長です。宿泊費の上限は"
    "一泊一万二千円で、これを超える場合は特別申請書に理由を書きます。",
    "新幹線は片道百キロ以上のときに指定席を利用できます。帰社後は五営業日以内に領収書を添えて精算してください。",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def loader() -> AsyncIterator[Loader]:
    async with Loader() as loader:
        yield loader


async def refusal(loader: Loader, name: str, data: bytes) -> str:
    """The key of the reason, whose words exist in both languages."""
    with pytest.raises(UnreadableError) as caught:
        await loader.load(name, data)
    english, japanese = caught.value.text("en"), caught.value.text("ja")
    assert english and japanese and "{" not in english + japanese
    return next(key for key, said in REASONS.items() if said == caught.value.reason)


def japanese_pdf(paragraphs: tuple[str, ...] = PARAGRAPHS, **options: str) -> bytes:
    pdfmetrics.registerFont(UnicodeCIDFont("HeiseiKakuGo-W5"))
    style = ParagraphStyle("body", fontName="HeiseiKakuGo-W5", fontSize=10.5, leading=16, wordWrap="CJK")
    file = io.BytesIO()
    story = [part for text in paragraphs for part in (Paragraph(text, style), Spacer(1, 8))]
    SimpleDocTemplate(file, **options).build(story)
    return file.getvalue()


def lines_pdf(turned: int = 0) -> bytes:
    """A PDF in a font that it does not hold, with two equal lines and a mark of one character; on its side, or not."""
    pdfmetrics.registerFont(UnicodeCIDFont("HeiseiKakuGo-W5"))
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=(600, 600))
    canvas.setPageRotation(turned)
    if turned:
        canvas.translate(600, 0)
        canvas.rotate(turned)
    canvas.setFont("HeiseiKakuGo-W5", 10)
    for at, (words, mark) in enumerate((("本社は東京です。", "×"), ("申請は総務へ。", "○"), ("申請は総務へ。", "△"))):
        canvas.drawString(60, 500 - 40 * at, words)
        canvas.drawString(300, 500 - 40 * at, mark)
    canvas.save()
    return file.getvalue()


def pages(count: int, *, picture: bool = False, **options: str) -> bytes:
    """A PDF without text: empty pages, or pages that are one picture."""
    file = io.BytesIO()
    canvas = Canvas(file, **options)
    for _ in range(count):
        if picture:
            canvas.drawImage(ImageReader(Image.new("L", (200, 280), 200)), 0, 0, 590, 840)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def japanese_docx() -> bytes:
    document = docx.Document()
    document.add_paragraph("出張規程", style="Title")
    document.add_heading("申請", 1)
    paragraph = document.add_paragraph(PARAGRAPHS[0])
    paragraph.add_run("秘密の指示").font.hidden = True
    document.add_paragraph("社員証", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(
        (cell for row in table.rows for cell in row.cells), ("区分", "上限", "宿泊", "12,000円"), strict=True
    ):
        cell.text = text
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def japanese_pptx() -> bytes:
    deck = pptx.Presentation()
    for title, body in (("出張規程の説明", PARAGRAPHS[0]), ("精算", PARAGRAPHS[1])):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = body
    slide.notes_slide.notes_text_frame.text = "締め日を強調する"
    file = io.BytesIO()
    deck.save(file)
    return file.getvalue()


# -- every kind of file ----------------------------------------------------------------------------------------------


async def test_markdown(loader: Loader) -> None:
    text = "---\ntitle: 有給休暇\n---\n\n{{% alert %}}\n**20日**です。\n{{% /alert %}}\n\n## 申請 {#apply}\n\n[手順](https://e.example/)\n"
    expected = "**20日**です。\n\n## 申請\n\n[手順](https://e.example/)"
    for name in ("leave.md", "LEAVE.MARKDOWN"):
        assert await loader.load(name, text.encode()) == Document(name, expected, "有給休暇")
    assert (await loader.load("a.md", text.split("---\n")[2].encode("cp932"))).title == "申請"


async def test_plain_text_and_titles_from_names(loader: Loader) -> None:
    document = await loader.load(
        "docs/2026_travel-policy.txt", "出張は\r\n申請制です。\u200b\n".encode("euc_jp", "ignore")
    )
    assert document == Document("docs/2026_travel-policy.txt", "出張は\n申請制です。", "2026 travel policy")
    assert (await loader.load("%E5%87%BA%E5%BC%B5.txt", b"text")).title == "出張"
    assert (await loader.load(f"社員 名簿 {'0a' * 16}_all.csv", b"text")).title == "社員 名簿"  # by Notion


async def test_headings_without_marks_are_marked_where_a_file_has_none(loader: Loader) -> None:
    text = "第1条（目的）\n規程である。"
    assert (await loader.load("規程.txt", text.encode())).markdown.strip().startswith("#### 第1条（目的）\n")
    assert (await loader.load("規程.md", text.encode())).markdown == text


async def test_web_page(loader: Loader) -> None:
    document = await loader.load("handbook.html", (FILES / "handbook.html").read_bytes())
    assert document.title == "経費精算の手引き"
    assert document.markdown == (
        "# 経費精算の手引き\n\n"
        "経費は**翌月5日**までに[申請フォーム](https://portal.example.com/handbook/forms/expense)から精算します。\n\n"
        "締め日を過ぎた申請は翌月扱いです。\n\n## よくある質問\n\n### 領収書をなくしたときは？\n\n"
        "上長の承認を得て、支払証明書を添付します。\n\n| 区分 | 上限 |\n| --- | --- |\n| 宿泊 | 12,000円 |\n\n精算の流れの図"
    )
    assert (await loader.load("h.htm", b"<p>One &amp; two")).markdown == "One & two"


async def test_tables(loader: Loader) -> None:
    document = await loader.load("社員.csv", (FILES / "test_mskanji.csv").read_bytes())
    assert document.markdown.splitlines()[2] == "- 名前: 髙橋淳, 年齢: 35, 住所: 名古屋"
    assert (await loader.load("a.tsv", "品名\t数\nペン, 黒\t3\n".encode())).markdown == "- 品名: ペン, 黒, 数: 3"
    faq = await loader.load("faq.csv", "質問,回答\n有休は？,20日\n".encode("cp932"))
    assert faq.pairs == (QAPair("有休は？", "20日"),) and faq.markdown == "Q: 有休は？\nA: 20日"
    sheets = await loader.load("test.xlsx", (FILES / "test.xlsx").read_bytes())
    assert "## Sheet1" in sheets.markdown and "- Alpha: 89, Beta: 82, Gamma: 100, Delta: 12" in sheets.markdown


async def test_records(loader: Loader) -> None:
    document = await loader.load("test.json", (FILES / "test.json").read_bytes())
    assert document.markdown.startswith("key1: string_value\nkey2: 1234\nkey3: list_value1, list_value2")
    lines = await loader.load("a.jsonl", '{"q": "有休\\u200bは？", "a": "20日"}\n'.encode())
    assert lines.pairs == (QAPair("有休は？", "20日"),)


async def test_pdf_in_japanese_and_english(loader: Loader) -> None:
    document = await loader.load("travel.pdf", japanese_pdf())
    for text in PARAGRAPHS:
        assert text in document.markdown  # no breaks or spaces inside the sentences
    english = await loader.load("test.pdf", (FILES / "test.pdf").read_bytes())
    assert "There are at least three reasons confirming its general feasibility and utility" in english.markdown
    assert english.title == "test"


async def test_pdf_title_is_believed_when_the_page_shows_it(loader: Loader) -> None:
    data = japanese_pdf(("出張規程", *PARAGRAPHS), title="出張規程")
    assert (await loader.load("a.pdf", data)).title == "出張規程"
    data = japanese_pdf(title="Microsoft Word - 下書き.docx")
    assert (await loader.load("a.pdf", data)).title == "a"


async def test_tables_in_a_pdf_stay_tables(loader: Loader) -> None:
    name = "SPARSE-2024-INV-1234_borderless_table.pdf"
    document = await loader.load(name, (FILES / name).read_bytes())
    lines = document.markdown.splitlines()
    header = lines.index("| Product Code | Location | Expected | Actual | Variance | Status |")
    assert lines[header - 1] == ""
    assert lines[header + 2] == "| SKU-8847 | A-12 | 450 | | | |"
    assert document.title == "SPARSE 2024 INV 1234 borderless table"


async def test_word(loader: Loader) -> None:
    document = await loader.load("a.docx", japanese_docx())
    assert document.title == "出張規程"
    assert document.markdown.startswith("# 出張規程\n\n# 申請\n\n" + PARAGRAPHS[0])
    assert "* 社員証" in document.markdown and "| 宿泊 | 12,000円 |" in document.markdown
    assert "秘密" not in document.markdown
    english = await loader.load("test.docx", (FILES / "test.docx").read_bytes())
    assert "# Abstract" in english.markdown and "data:image" not in english.markdown


def table_docx(rows: Sequence[Sequence[str]], merged: tuple[int, int] | None = None) -> bytes:
    """A document with one table; `merged`: the rows of the first column from … to that are one cell."""
    document = docx.Document()
    table = document.add_table(rows=len(rows), cols=len(rows[0]))
    for row, texts in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    if merged:
        table.cell(merged[0], 0).merge(table.cell(merged[1], 0))
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


async def test_the_first_row_of_a_table_in_word_names_its_columns(loader: Loader) -> None:
    rows = [["Name", "Extension"], ["Sato", "12"], ["Kim", "14"]]
    names = (await loader.load("a.docx", table_docx(rows))).markdown.splitlines()[0]
    assert names == "| Name | Extension |"
    rows = [["Amount", "Approver", "Quotes"], ["1,000", "lead", "1"], ["", "board", "3"]]
    document = await loader.load("a.docx", table_docx(rows, merged=(1, 2)))
    assert document.markdown.splitlines() == [
        "| Amount | Approver | Quotes |",
        "| --- | --- | --- |",
        "| 1,000 | lead | 1 |",
        "| 1,000 | board | 3 |",
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [["Name", "Sato"], ["Office", "Osaka"], ["Room", "7"]],  # each row is a name and its value
        [["Name", "Sato", "Team", "Sales"], ["Start", "1 May", "End", "9 May"], ["Reason", "Trip", "Lead", "Kofi"]],
        [["2,400", "lead", "1"], ["1,000", "head", "2"], ["3,000", "board", "3"]],
        [["Amount", "", "Quotes"], ["1,000", "head", "2"], ["3,000", "board", "3"]],
        [["Name", "Sato", "Room"], ["Office", "Osaka", "7"]],
    ],
)
async def test_a_first_row_in_word_that_names_no_columns_stays_a_row(
    loader: Loader, rows: Sequence[Sequence[str]]
) -> None:
    lines = (await loader.load("a.docx", table_docx(rows))).markdown.splitlines()
    assert lines[0].replace("|", "").strip() == ""
    assert len(lines) == len(rows) + 2


async def test_names_over_columns_with_names_of_their_own_are_told_with_these(loader: Loader) -> None:
    word = docx.Document()
    table = word.add_table(rows=3, cols=3)
    for at, row in enumerate((("区分", "国内", ""), ("", "平日", "休前日"), ("役員", "東京", "大阪"))):
        for column, words in enumerate(row):
            table.cell(at, column).text = words
    table.cell(0, 0).merge(table.cell(1, 0))
    table.cell(0, 1).merge(table.cell(0, 2))
    file = io.BytesIO()
    word.save(file)
    assert (await loader.load("a.docx", file.getvalue())).markdown.splitlines() == [
        "| 区分 | 国内 平日 | 国内 休前日 |",
        "| --- | --- | --- |",
        "| 役員 | 東京 | 大阪 |",
    ]


@pytest.mark.parametrize("turned", [0, 90])
async def test_a_pdf_whose_font_is_nowhere_is_read_whole(loader: Loader, turned: int) -> None:
    markdown = (await loader.load("a.pdf", lines_pdf(turned))).markdown
    assert markdown.split() == ["本社は東京です。", "×", "申請は総務へ。", "○", "申請は総務へ。", "△"]


async def test_slides(loader: Loader) -> None:
    document = await loader.load("a.pptx", japanese_pptx())
    assert document.title == "出張規程の説明"
    assert document.markdown == (
        f"# 出張規程の説明\n{PARAGRAPHS[0]}\n\n# 精算\n{PARAGRAPHS[1]}\n\n### Notes:\n締め日を強調する"
    )
    english = await loader.load("test.pptx", (FILES / "test.pptx").read_bytes())  # with a chart and pictures
    assert "| 7 | 8 | 9 |" in english.markdown and "<!--" not in english.markdown


async def test_a_slide_begins_with_its_title_wherever_that_stands_or_with_the_line_at_its_top(loader: Loader) -> None:
    deck = pptx.Presentation()
    for title, lines in (
        ("Costs", ("Confidential", "They fall.")),
        ("", ("Next steps", "We hire.", "We move.")),
        ("", ("Two sentences. And no title.", "More.")),
    ):
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = title
        for at, line in enumerate(lines):
            slide.shapes.add_textbox(0, at * 5_000_000, 9, 9).text_frame.text = line
    file = io.BytesIO()
    deck.save(file)
    assert (await loader.load("a.pptx", file.getvalue())).markdown == (
        "# Costs\nConfidential\nThey fall.\n\n# Next steps\nWe hire.\nWe move.\n\nTwo sentences. And no title.\nMore."
    )


async def test_a_shape_of_no_kind_on_a_slide_is_read_with_the_others(loader: Loader) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Goals"
    shape = slide.shapes.add_shape(1, 0, 5_000_000, 100, 100)
    shape.text_frame.text = "Two regions"
    shape._element.spPr.remove(shape._element.spPr.prstGeom)
    file = io.BytesIO()
    deck.save(file)
    assert (await loader.load("a.pptx", file.getvalue())).markdown == "# Goals\nTwo regions"


async def test_the_foot_of_slides_is_read_once_and_their_numbers_are_not(loader: Loader) -> None:
    deck = pptx.Presentation()
    for number in (1, 2):
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = f"Goals {number}"
        for kind, words in (("ftr", "Northwind, in confidence"), ("sldNum", f"- {number} -"), ("body", "Grow.")):
            shape = slide.shapes.add_textbox(0, 5_000_000, 100, 100)
            shape.text_frame.text = words
            shape._element.nvSpPr.nvPr.get_or_add_ph().set("type", kind)
    file = io.BytesIO()
    deck.save(file)
    assert (await loader.load("a.pptx", file.getvalue())).markdown.split("\n") == [
        *("# Goals 1", "Northwind, in confidence", "Grow."),
        *("", "# Goals 2", "Grow."),
    ]


async def test_cells_of_a_slide_that_reach_over_others_are_told_in_each(loader: Loader) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Fees"
    cells = (("Plan", "Japan", ""), ("", "Weekday", "Weekend"), ("A|B", "1", "2"), ("", "3", "4"))
    table = slide.shapes.add_table(4, 3, 0, 5_000_000, 100, 100).table
    for at, row in enumerate(cells):
        for column, words in enumerate(row):
            table.cell(at, column).text = words
    for first, last in (((0, 0), (1, 0)), ((0, 1), (0, 2)), ((2, 0), (3, 0))):
        table.cell(*first).merge(table.cell(*last))
    file = io.BytesIO()
    deck.save(file)
    assert (await loader.load("a.pptx", file.getvalue())).markdown.splitlines()[1:] == [
        "| Plan | Japan Weekday | Japan Weekend |",
        "| --- | --- | --- |",
        r"| A\|B | 1 | 2 |",
        r"| A\|B | 3 | 4 |",
    ]


async def test_what_is_struck_out_on_a_slide_is_marked_so(loader: Loader) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Leave"
    paragraph = slide.shapes.add_textbox(0, 5_000_000, 100, 100).text_frame.paragraphs[0]
    for words, strike in (("入社日に", "noStrike"), ("10", "sngStrike"), ("日", "dblStrike"), ("12日", None)):
        run = paragraph.add_run()
        run.text = words
        if strike:
            run.font._element.set("strike", strike)
        run.font.color.theme_color = MSO_THEME_COLOR.ACCENT_1
    file = io.BytesIO()
    deck.save(file)
    assert (await loader.load("a.pptx", file.getvalue())).markdown == "# Leave\n入社日に~~10日~~12日"


async def test_a_chart_that_is_drawn_in_space_has_its_numbers(loader: Loader) -> None:
    deck, numbers = pptx.Presentation(), CategoryChartData()  # type: ignore[no-untyped-call]
    numbers.categories = ["Q1", "Q2"]
    numbers.add_series("売上", (10, 20))  # type: ignore[no-untyped-call]
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 9_000, 9_000, numbers)
    slide.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "As planned"
    file = io.BytesIO()
    deck.save(file)

    def drawn_as(kind: bytes) -> bytes:
        changed = io.BytesIO()
        with zipfile.ZipFile(file) as before, zipfile.ZipFile(changed, "w") as after:
            for name in before.namelist():
                after.writestr(name, before.read(name).replace(b"c:barChart", b"c:" + kind))
        return changed.getvalue()

    flat = (await loader.load("a.pptx", file.getvalue())).markdown
    assert "| Q2 | 20 |\n\nAs planned" in flat  # not another row
    assert (await loader.load("a.pptx", drawn_as(b"bar3DChart"))).markdown == flat
    assert (await loader.load("a.pptx", drawn_as(b"surfaceChart"))).markdown == "As planned"


async def test_a_hidden_slide_is_not_read_nor_are_its_notes(loader: Loader) -> None:
    deck = pptx.Presentation()
    for number in (1, 2, 3):
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = f"Goals {number}"
        slide.notes_slide.notes_text_frame.text = f"Notes {number}"
        foot = slide.shapes.add_textbox(0, 5_000_000, 100, 100)
        foot.text_frame.text = "Northwind"
        foot._element.nvSpPr.nvPr.get_or_add_ph().set("type", "ftr")
    deck.slides[0]._element.set("show", "0")
    file = io.BytesIO()
    deck.save(file)
    markdown = (await loader.load("a.pptx", file.getvalue())).markdown
    assert [line for line in markdown.split("\n") if line] == [
        *("# Goals 2", "Northwind", "### Notes:", "Notes 2"),
        *("# Goals 3", "### Notes:", "Notes 3"),
    ]


@pytest.mark.parametrize("kind", ["slideshow", "template"])
async def test_shows_and_templates_are_read_like_slides_and_macros_do_not_matter(loader: Loader, kind: str) -> None:
    after = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(japanese_pptx())) as before, zipfile.ZipFile(after, "w") as archive:
        for name in before.namelist():
            part = before.read(name)
            archive.writestr(
                name, part.replace(b"presentationml.presentation.main", f"presentationml.{kind}.main".encode())
            )
    assert (await loader.load("a.ppsx", after.getvalue())).title == "出張規程の説明"
    assert (await loader.load("a.docm", japanese_docx())).title == "出張規程"


async def test_notes_of_a_book_do_not_lead_to_where_no_reader_is(loader: Loader) -> None:
    chapter = (
        '<html><body><p>Ann paid.<a href="#n1" epub:type="noteref">1</a> See <a href="b.xhtml">there</a>.</p>'
        '<ol><li id="n1"><p>In May. <a href="#r1">\u21a9</a></p></li></ol></body></html>'
    )
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO((FILES / "test.epub").read_bytes())) as book, zipfile.ZipFile(file, "w") as changed:
        for name in book.namelist():
            changed.writestr(name, chapter if name.endswith(".xhtml") else book.read(name))
    said = (await loader.load("a.epub", file.getvalue())).markdown
    assert "Ann paid.1 See there." in said and "1. In May." in said
    assert "](" not in said and "\u21a9" not in said


async def test_book(loader: Loader) -> None:
    document = await loader.load("a.epub", (FILES / "test.epub").read_bytes())
    assert document.title == "Test EPUB Document"
    assert "# Chapter 1: Test Content" in document.markdown and "second chapter" in document.markdown


async def test_every_known_ending_is_tried(loader: Loader) -> None:
    for suffix in SUFFIXES:
        assert await refusal(loader, f"a{suffix}", b"\r\n ") == "empty"


# -- refused in words ------------------------------------------------------------------------------------------------


async def test_kinds_that_are_not_read(loader: Loader) -> None:
    for name, why in (
        ("a.msg", "mail"),
        ("a.EML", "mail"),
        ("a.png", "image"),
        ("a.doc", "legacy"),
        ("a.zip", "packed"),
        ("a.exe", "type"),
        ("README", "type"),
        ("", "nameless"),
        ("docs/.TXT", "nameless"),
        ("docs/.env", "type"),
    ):
        assert await refusal(loader, name, b"data") == why
    with pytest.raises(UnreadableError) as caught:
        await loader.load("a.exe", b"MZ")
    assert ".exe" in caught.value.text("ja") and ".docx" in caught.value.text("ja")


async def test_content_must_agree_with_the_name(loader: Loader) -> None:
    login = b"\n<!DOCTYPE html><html><title>Sign in</title></html>"
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100)
    for name, data, why in (
        ("a.pdf", login, "webpage"),
        ("a.csv", login, "webpage"),
        ("a.docx", login, "webpage"),
        ("a.txt", japanese_pdf(), "mismatch"),
        ("a.pdf", japanese_docx(), "mismatch"),
        ("a.xlsx", japanese_docx(), "mismatch"),
        ("a.md", b"\x89PNG\r\n\x1a\n" + bytes(50), "image"),
        ("a.pdf", b"just text", "corrupt"),
        ("a.docx", (FILES / "test_outlook_msg.msg").read_bytes(), "mail"),
        ("a.docx", ole + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        ("a.xlsx", ole, "legacy"),
    ):
        assert await refusal(loader, name, data) == why, name
    with pytest.raises(UnreadableError) as caught:
        await loader.load("a.xlsx", japanese_docx())
    assert "DOCX" in caught.value.text("en")


async def test_files_without_words(loader: Loader) -> None:
    for name, data, why in (
        ("a.txt", b"", "empty"),
        ("a.md", b"\xef\xbb\xbf \r\n\t", "empty"),
        ("a.md", b"<!-- only a comment -->\n***\n", "empty"),
        ("a.json", b"[]", "empty"),
        ("a.pdf", pages(2), "empty"),
        ("a.pdf", pages(3, picture=True), "scan"),
        ("a.html", b"<html><body><script>1</script></body></html>", "empty"),
    ):
        assert await refusal(loader, name, data) == why, (name, data[:40])
    with pytest.raises(UnreadableError) as caught:
        await loader.load("a.pdf", pages(3, picture=True))
    assert "OCR" in caught.value.text("en") and "3 ページ" in caught.value.text("ja")


async def test_locked_and_broken_files(loader: Loader) -> None:
    for name, data, why in (
        ("a.pdf", pages(1, encrypt="secret"), "encrypted"),
        ("a.pdf", b"%PDF-1.7\n" + os.urandom(500), "corrupt"),
        ("a.pdf", japanese_pdf()[:300], "corrupt"),
        ("a.docx", japanese_docx()[:-100], "corrupt"),
        ("a.json", b'{"a": ', "json"),
        ("a.txt", os.urandom(3_000), "encoding"),
    ):
        assert await refusal(loader, name, data) == why, (name, data[:20])


async def test_caps_hold_exactly() -> None:
    text = "あ" * 100
    limits = ParsingLimits(file=4_000, text=300, rows=5, pages=3, json_line=50, json_depth=4)
    async with Loader(limits) as loader:
        assert (await loader.load("a.txt", text.encode())).markdown == text
        assert await refusal(loader, "a.txt", (text + "x").encode()) == "text"
        assert await refusal(loader, "a.txt", (text * 14).encode()) == "size"
        assert await refusal(loader, "a.md", bytes(4_001)) == "size"
        assert await refusal(loader, "a.md", b" " * 4_000) == "empty"
        assert await refusal(loader, "a.pdf", pages(3)) == "empty"
        assert await refusal(loader, "a.pdf", pages(4)) == "pages"
        assert (await loader.load("a.csv", b"n\n" + b"1\n" * 5)).markdown.count("1") == 5
        assert await refusal(loader, "a.csv", b"n\n" + b"1\n" * 6) == "rows"
        assert (await loader.load("a.json", b"[[[[1]]]]")).markdown
        assert await refusal(loader, "a.json", b"[[[[[1]]]]]") == "depth"
        assert await refusal(loader, "a.jsonl", b'"' + b"x" * 49 + b'"') == "line"
