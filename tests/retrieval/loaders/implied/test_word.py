"""What a reader of a document in Word sees stands in its text: numbers that Word counts, boxes, raised figures."""

import io
import zipfile
from collections.abc import Callable, Sequence

import docx
import pytest
from docx.document import Document as Word
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml

from retrieval.loaders.formats.word import read_word
from retrieval.loaders.limits import ParsingLimits

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
OFFICE = "http://schemas.openxmlformats.org"
WP = (
    f'xmlns:wp="{OFFICE}/drawingml/2006/wordprocessingDrawing" xmlns:a="{OFFICE}/drawingml/2006/main"'
    f' xmlns:pic="{OFFICE}/drawingml/2006/picture" xmlns:r="{OFFICE}/officeDocument/2006/relationships"'
)
FORM = "[form](https://example.com/a?b=1&c=2)"
CLAUSES = (("decimal", "第%1条"), ("decimalFullWidth", "%2"), ("iroha", "（%3）"))


def numbered(word: Word, levels: Sequence[tuple[str, str]]) -> None:
    """The list 77 of the document, with a form and a text for each level."""
    inner = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for at, (form, text) in enumerate(levels)
    )
    numbering = word.part.numbering_part.element
    numbering.insert(0, parse_xml(f'<w:abstractNum {W} w:abstractNumId="77">{inner}</w:abstractNum>'))
    numbering.append(parse_xml(f'<w:num {W} w:numId="77"><w:abstractNumId w:val="77"/></w:num>'))


def item(word: Word, text: str, level: int = 0, style: str | None = None) -> None:
    properties = word.add_paragraph(text, style=style)._p.get_or_add_pPr()
    properties.append(parse_xml(f'<w:numPr {W}><w:ilvl w:val="{level}"/><w:numId w:val="77"/></w:numPr>'))


def read(word: Word, change: Callable[[str, bytes], bytes] = lambda name, part: part) -> str:
    file, changed = io.BytesIO(), io.BytesIO()
    word.save(file)
    with zipfile.ZipFile(file) as before, zipfile.ZipFile(changed, "w") as after:
        for name in before.namelist():
            after.writestr(name, change(name, before.read(name)))
    return read_word(changed.getvalue(), ParsingLimits())[0].strip()


def test_clauses_have_the_numbers_that_word_counts() -> None:
    word = docx.Document()
    numbered(word, CLAUSES)
    for text, level in (("目的", 0), ("資格", 0), ("証明", 1), ("写し", 2), ("原本", 2), ("期限", 1), ("罰則", 0)):
        item(word, text, level)
    assert read(word).split("\n\n") == [
        "第1条 目的",
        "第2条 資格",
        "１ 証明",
        "（イ） 写し",
        "（ロ） 原本",
        "２ 期限",
        "第3条 罰則",
    ]


def test_steps_go_on_counting_behind_what_stands_between_them() -> None:
    word = docx.Document()
    numbered(word, [("decimal", "%1."), ("lowerLetter", "%2)")])
    item(word, "Sign in")
    word.add_paragraph("At the top right.")
    item(word, "Enter the sum")
    word.add_paragraph("In yen", style="List Bullet")
    item(word, "Send")
    assert read(word) == "1. Sign in\n\nAt the top right.\n\n2. Enter the sum\n\n* In yen\n\n3. Send"


def test_steps_with_parts_below_them_stay_a_list() -> None:
    word = docx.Document()
    numbered(word, [("decimal", "%1."), ("decimal", "%2.")])
    for text, level in (("Sign in", 0), ("Name", 1), ("Password", 1), ("Send", 0)):
        item(word, text, level)
    assert read(word) == "1. Sign in\n   1. Name\n   2. Password\n2. Send"


def test_headings_have_theirs_and_those_below_count_with_them() -> None:
    word = docx.Document()
    numbered(word, [("decimal", "%1."), ("decimal", "%1.%2")])
    item(word, "Leave", 0, "Heading 1")
    item(word, "Annual", 1, "Heading 2")
    item(word, "Parental", 1, "Heading 2")
    item(word, "Pay", 0, "Heading 1")
    assert read(word) == "# 1. Leave\n\n## 1.1 Annual\n\n## 1.2 Parental\n\n# 2. Pay"


@pytest.mark.parametrize(
    ("form", "text", "first", "second"),
    [
        ("lowerLetter", "(%1)", "(a)", "(b)"),
        ("upperRoman", "Art. %1", "Art. I", "Art. II"),
        ("japaneseCounting", "第%1章", "第一章", "第二章"),
        ("decimalEnclosedCircle", "%1", "①", "②"),
        ("decimalZero", "No. %1", "No. 01", "No. 02"),
    ],
)
def test_numbers_have_the_form_that_word_gives_them(form: str, text: str, first: str, second: str) -> None:
    word = docx.Document()
    numbered(word, [(form, text)])
    item(word, "One")
    item(word, "Two")
    assert read(word) == f"{first} One\n\n{second} Two"


def test_plain_lists_stay_lists_and_so_do_numbers_of_an_unknown_form() -> None:
    word = docx.Document()
    numbered(word, [("hebrew1", "%1.")])
    for text in ("Ask", "Wait"):
        word.add_paragraph(text, style="List Number")
    item(word, "Go")
    lines = read(word).split("\n")
    assert lines[:2] == ["1. Ask", "2. Wait"] and lines[-1].endswith(". Go")


def test_numbering_that_makes_no_sense_costs_no_more_than_itself() -> None:
    word = docx.Document()
    numbered(word, CLAUSES)
    item(word, "目的")
    wrong = read(word, lambda name, part: part.replace(b'w:start w:val="1"', b'w:start w:val="x"'))
    assert wrong.endswith("目的")


BOX = "<w:txbxContent><w:p><w:r><w:t>Emergency: channel 16</w:t></w:r></w:p></w:txbxContent>"


@pytest.mark.parametrize("older", ["<w:pict/>", f"<w:pict>{BOX}</w:pict>"])
def test_the_words_of_a_text_box_are_read_once(older: str) -> None:
    word = docx.Document()
    word.add_paragraph("Before.")._p.append(
        parse_xml(
            f'<w:r {W} {MC}><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing>{BOX}</w:drawing></mc:Choice>'
            f"<mc:Fallback>{older}</mc:Fallback></mc:AlternateContent></w:r>"
        )
    )
    assert read(word).split() == ["Before.", "Emergency:", "channel", "16"]


def test_a_raised_figure_is_no_digit_of_the_number_before_it() -> None:
    word = docx.Document()
    paragraph = word.add_paragraph("10")
    paragraph.add_run("6").font.superscript = True
    assert read(word) == "10⁶"


def test_the_list_of_contents_and_links_within_the_document_are_left_out() -> None:
    word = docx.Document()
    for name in ("TOC Heading", "toc 1"):
        if name not in word.styles:
            word.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
        word.add_paragraph("Leave 3", style=name)
    word.add_heading("Leave", 1)
    link = f'<w:hyperlink {W} w:anchor="_Toc1"><w:r><w:t>Pay</w:t></w:r></w:hyperlink>'
    word.add_paragraph("See ")._p.append(parse_xml(link))
    assert read(word) == "# Leave\n\nSee Pay"


@pytest.mark.parametrize("element", ["fldSimple w:instr='REF x'", "moveTo w:id='1'", "customXml", "dir", "bdo"])
def test_words_in_fields_and_moved_words_are_read(element: str) -> None:
    word = docx.Document()
    inner = f"<w:{element}><w:r><w:t>12 days</w:t></w:r></w:{element.split()[0]}>"
    moved = "<w:moveFrom w:id='2'><w:r><w:t>gone</w:t></w:r></w:moveFrom>"
    word.element.body.insert(0, parse_xml(f"<w:p {W}><w:r><w:t>Leave: </w:t></w:r>{inner}{moved}</w:p>"))
    assert read(word) == "Leave: 12 days"


def test_a_reading_above_a_word_is_no_part_of_it() -> None:
    word = docx.Document()
    ruby = "<w:ruby><w:rubyPr/><w:rt><w:r><w:t>とうきょう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東京</w:t></w:r></w:rubyBase></w:ruby>"
    word.add_paragraph("本社は")._p.append(parse_xml(f"<w:r {W}>{ruby}<w:t>都</w:t></w:r>"))
    assert read(word) == "本社は東京都"


def field(*instructions: str, shown: str = "") -> str:
    parts = "".join(f"<w:r><w:instrText>{part}</w:instrText></w:r>" for part in instructions)
    shown = shown and f'<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>{shown}</w:t></w:r>'
    return f'<w:r><w:fldChar w:fldCharType="begin"/></w:r>{parts}{shown}<w:r><w:fldChar w:fldCharType="end"/></w:r>'


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (field(' HYPERLINK "https://example.com/a?b=1&amp;c=2" \\o "The form" ', shown="form"), FORM),
        (field("HYPERLINK  &quot;https://example.com/a?b=1&amp;c=2&quot;", shown="form"), FORM),
        (field("eq \\o\\ac(", "○", ",21)"), "21"),
        (field('EQ \\* jc2 \\* "Font:ＭＳ 明朝" \\o\\ad(\\s\\up 9(', "たかさき", "),髙﨑)"), "髙﨑"),
        (field(" PAGE ", shown="3") + field("EQ \\f(1,2)") + field("REF a", shown="第2条"), "3第2条"),
    ],
)
def test_a_field_shows_what_its_reader_sees(fields: str, told: str) -> None:
    word = docx.Document()
    word.element.body.insert(0, parse_xml(f"<w:p {W}><w:r><w:t>See: </w:t></w:r>{fields}</w:p>"))
    assert read(word) == f"See: {told}"


def test_what_a_style_hides_is_not_read() -> None:
    word = docx.Document()
    for name, kind in (("Remark", WD_STYLE_TYPE.CHARACTER), ("Guidance", WD_STYLE_TYPE.PARAGRAPH)):
        word.styles.add_style(name, kind).font.hidden = True
    word.add_paragraph("Fill this in.", style="Guidance")
    word.add_paragraph("23 days").add_run(", not agreed", style="Remark")
    box = "<w:pict><w:txbxContent><w:p><w:r><w:t>Box</w:t></w:r></w:p></w:txbxContent></w:pict>"
    word.add_paragraph(style="Guidance")._p.append(parse_xml(f"<w:r {W}><w:rPr><w:vanish/></w:rPr>{box}</w:r>"))
    assert read(word) == "23 days\n\nBox"  # a box is no part of the line that it hangs on


@pytest.mark.parametrize("refers", ["r:embed", "r:link"])
@pytest.mark.parametrize("place", ['TargetMode="External" Target="https://example.com/a.png"', 'Target="NULL"'])
def test_a_picture_that_is_not_in_the_file_leaves_its_description(refers: str, place: str) -> None:
    word = docx.Document()
    word.add_paragraph("Before. ")._p.append(
        parse_xml(
            f"<w:r {W} {WP}><w:drawing><wp:inline><wp:docPr id='1' name='p' descr='The plan of the floor'/><a:graphic>"
            f"<a:graphicData><pic:pic><pic:blipFill><a:blip {refers}='rId99'/></pic:blipFill></pic:pic></a:graphicData>"
            "</a:graphic></wp:inline></w:drawing></w:r>"
        )
    )
    picture = (
        f'<Relationship Id="rId99" Type="{OFFICE}/officeDocument/2006/relationships/image" {place}/></Relationships>'
    )
    assert read(word, lambda name, part: part.replace(b"</Relationships>", picture.encode())) == (
        "Before. The plan of the floor"
    )
