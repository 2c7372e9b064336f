"""Lines of a printed page become sentences again."""

import io
import time
from collections.abc import Callable

import pytest
from reportlab.lib.styles import ParagraphStyle  # type: ignore[import-untyped]
from reportlab.pdfbase import pdfmetrics  # type: ignore[import-untyped]
from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]
from reportlab.platypus import (  # type: ignore[import-untyped]
    BaseDocTemplate,
    Flowable,
    Frame,
    FrameBreak,
    PageBreak,
    PageTemplate,
    SimpleDocTemplate,
    Spacer,
    Table,
    TableStyle,
)
from reportlab.platypus import Paragraph as Styled

from retrieval.loaders.formats.pdf import read_pdf, reflow
from retrieval.loaders.limits import FileRefused, ParsingLimits


def test_japanese_lines_are_joined_without_a_space() -> None:
    page = (
        "経費精算の手引き\n"
        "私たちは公開企業として、各会計四半期または会計年度の終了後に財務結果を公開し\n"
        "ます。主要な貢献者は、経理、広報、法務、コーポレートコミュニケーションの各チー\n"
        "ムです。\n"
        "次の節では、具体的な日程と担当者を、四半期ごとのカレンダーに沿って説明します。"
    )
    assert reflow([page]).split("\n") == [
        "経費精算の手引き",
        "私たちは公開企業として、各会計四半期または会計年度の終了後に財務結果を公開します。"
        "主要な貢献者は、経理、広報、法務、コーポレートコミュニケーションの各チームです。",
        "次の節では、具体的な日程と担当者を、四半期ごとのカレンダーに沿って説明します。",
    ]


def test_english_lines_get_a_space_and_cut_words_are_mended() -> None:
    page = (
        "Large language models are becoming a crucial building block in developing\n"
        "powerful agents that use tools, and there are three reasons con-\n"
        "firming that a well-known and well-\n"
        "known approach remains useful in many tasks across the whole industry.\n"
        "Our insight is short."
    )
    assert reflow([page]).split("\n") == [
        "Large language models are becoming a crucial building block in developing powerful agents that use tools, and"
        " there are three reasons confirming that a well-known and well-known approach remains useful in many tasks"
        " across the whole industry.",
        "Our insight is short.",
    ]


def test_lists_tables_and_short_lines_keep_their_lines() -> None:
    page = (
        "準備するものは次のとおりですので、出発の前日までにすべてそろえておいてください\n"
        "・社員証\n・名刺\n1. 切符\n(2) 現金\n"
        "| 列 | 値 |\n| --- | --- |\n| a | b |\n"
        "東京\n大阪"
    )
    assert reflow([page]) == page


def test_a_sentence_runs_over_the_page_and_heads_and_feet_go_but_for_the_first_head_and_the_last_foot() -> None:
    def page(number: int, body: str) -> str:
        return f"社外秘 就業規則\n{body}\n総務部発行\n- {number} -"

    full = "従業員は、勤務時間中は職務に専念し、会社の名誉を傷つける行為をしてはならず、また機密"
    pages = [
        page(1, full),
        page(2, "を漏らしてはならない。\n以上。"),
        page(3, "附則\nこの規則は四月一日から施行する。"),
    ]
    assert reflow(pages) == (
        f"社外秘 就業規則\n\n{full}を漏らしてはならない。\n以上。\n\n附則\nこの規則は四月一日から施行する。\n\n総務部発行"
    )


def test_of_two_pages_the_second_loses_the_head_and_both_what_counts_them() -> None:
    pages = [
        "Manual, 3rd edition\n- 1 -\nSafety\nKeep dry.\nAcme Ltd\nPage 1",
        "Manual, 3rd edition\nCare\nClean it.\nAcme Ltd\n2 / 2",
    ]
    assert reflow(pages) == "Manual, 3rd edition\nSafety\nKeep dry.\n\nCare\nClean it.\nAcme Ltd"


def test_of_two_pages_that_are_the_same_no_more_than_heads_and_feet_go() -> None:
    letter = "Dear all,\nthe laptops arrive on Monday.\nThere are 200.\nWe need 3 trucks.\nThank you.\nAnn"
    assert "the laptops arrive on Monday.\nThere are 200.\nWe need 3 trucks." in reflow([letter, letter])
    assert "Keep dry." in reflow(["Keep dry.\nWash.", "Keep dry.\nWash."])


@pytest.mark.parametrize("line", ["- 3 -", "Page 3", "2 / 4", "12", "p. 7", "- 2"])
def test_a_number_that_is_not_the_pages_stays(line: str) -> None:
    assert line in reflow([f"One.\n{line}", "Two."]).split("\n")


def test_a_line_of_a_narrow_column_goes_on_beside_a_wide_row_of_a_table() -> None:
    row = "- 地域: 北米, 日当（役員）: 80ドル, 日当（社員）: 60ドル, 宿泊料上限: 250ドル, 食費: 40ドル"
    lines = "支度料は、一回の出張につき三万円とする。ただし、前\n回の出張から1年以内のときは支給しない。"
    assert lines.replace("\n", "") in reflow([f"{lines}\n{row}\n{row}"])


def test_a_number_and_its_unit_are_joined_without_a_space() -> None:
    full = "航空機は普通席とする。ただし、出発の空港から到着する空港までの飛行が8"
    assert reflow([f"{full}\n時間を超えるときは、上の席とする。"]).startswith(f"{full}時間")
    assert reflow([f"{full[:-1]}第\n2欄による。"]).startswith(f"{full[:-1]}第2欄")


def test_drawn_lines_do_not_make_headings() -> None:
    assert reflow(["レジ番号: 07\n--------\n合計 821円"]) == "レジ番号: 07\n\n合計 821円"


def test_a_numbered_heading_stands_apart_from_the_text_under_it() -> None:
    assert reflow(["1. Passwords\nThey have 14 characters.\n2. Visitors\nThey wear a badge.\n• one\n• two"]) == (
        "1. Passwords\n\nThey have 14 characters.\n2. Visitors\n\nThey wear a badge.\n• one\n• two"
    )


def test_heads_and_feet_also_go_from_a_page_with_a_table_that_has_them_elsewhere() -> None:
    others = [f"Northwind\nPage {number}\n{text}" for number, text in ((2, "Second."), (3, "Third."), (4, "Fourth."))]
    assert reflow(["First.\n\nNorthwind Page 1", *others]) == "First.\n\nSecond.\n\nThird.\n\nFourth."
    assert reflow(["First.\n\n7", *(f"{n}\n{text}." for n, text in enumerate(("Ab", "Bc", "Cd"), 2))]).count("7") == 1


def test_an_abbreviation_in_brackets_does_not_end_the_line() -> None:
    full = "Report every suspected incident within one hour to the security team or by phone (ext."
    assert reflow([f"{full}\n7777). Wait."]) == f"{full} 7777). Wait."


def test_a_table_over_two_columns_of_text_does_not_mix_them() -> None:
    left = (
        "Employees who travel internationally must register their itinerary with the responsible administration at least"
        " eleven working days before departure."
    )
    right = (
        "Reimbursement applications are submitted electronically within twenty-one days after returning, together with"
        " boarding cards and confirmations."
    )
    file = io.BytesIO()
    document = BaseDocTemplate(file)
    frames = [Frame(50, 600, 500, 120), Frame(50, 250, 240, 340), Frame(305, 250, 240, 340)]
    document.addPageTemplates(PageTemplate(frames=frames))
    style = ParagraphStyle("body", fontSize=10, leading=13, alignment=4)
    table = Table([["Country", "Day", "Night"], ["France", "52", "140"], ["Spain", "44", "120"]], colWidths=[150] * 3)
    document.build([table, FrameBreak(), Styled(left, style), FrameBreak(), Styled(right, style)])
    text = read_pdf(file.getvalue(), ParsingLimits())[0]
    assert left in text and right in text and "France 52 140" in text


def drawn(write: Callable[[Canvas], None]) -> bytes:
    file = io.BytesIO()
    canvas = Canvas(file)
    write(canvas)
    canvas.showPage()
    canvas.save()
    return file.getvalue()


def paragraph(text: str) -> Flowable:
    return Styled(text, ParagraphStyle("body"))


def laid_out(*parts: Flowable) -> str:
    file = io.BytesIO()
    SimpleDocTemplate(file).build(list(parts))
    return read_pdf(file.getvalue(), ParsingLimits())[0]


def ruled(rows: list[list[str]], *more: tuple[object, ...], widths: int = 100) -> Table:
    return Table(rows, colWidths=widths, style=TableStyle([("GRID", (0, 0), (-1, -1), 1, "black"), *more]))


def test_each_row_of_a_ruled_table_says_what_its_cells_mean() -> None:
    remark = paragraph("Ask the person who is named in the next row")
    rows = [["Week", "Primary", "Remark"], ["49", "Aiko", remark], ["50", "Tom", ""]]
    text = laid_out(paragraph("All weeks."), ruled(rows), paragraph("That is all."))
    assert text.split("\n") == [
        "All weeks.",
        "",
        "- Week: 49, Primary: Aiko, Remark: Ask the person who is named in the next row",
        "- Week: 50, Primary: Tom",
        "",
        "That is all.",
    ]


def test_cells_over_several_rows_or_columns_of_a_ruled_table_are_of_each() -> None:
    rows = [["Plan", "Monthly", "", "Remark"], ["", "Price", "Seats", ""], ["Team", "19", "5", "new"]]
    rows += [["", "29", "9", ""]]
    spans = [("SPAN", (0, 0), (0, 1)), ("SPAN", (1, 0), (2, 0)), ("SPAN", (3, 0), (3, 1)), ("SPAN", (0, 2), (0, 3))]
    text = laid_out(ruled(rows, *spans))
    assert [line for line in text.split("\n") if line] == [
        "- Plan: Team, Monthly Price: 19, Monthly Seats: 5, Remark: new",
        "- Plan: Team, Monthly Price: 29, Monthly Seats: 9",
    ]


def test_a_ruled_table_keeps_its_names_on_the_next_page() -> None:
    rows = [["Asset", "Model", "Office"], *([f"LT-{n}", "Framework", "Porto"] for n in range(90))]
    lines = laid_out(ruled(rows)).split("\n")
    assert [line for line in lines if line] == [f"- Asset: LT-{n}, Model: Framework, Office: Porto" for n in range(90)]


def test_another_table_on_the_next_page_has_its_own_names() -> None:
    one = ruled([["Asset", "Model", "Office"], ["LT-1", "Framework", "Porto"]])
    other = ruled([["7", "4", "1"], ["8", "5", "2"]])
    text = laid_out(one, paragraph("Two lines."), paragraph("Below it."), PageBreak(), other)
    assert "- 7, 4, 1" in text.split("\n")


@pytest.mark.parametrize("beside", [1, 30])
def test_a_ruled_table_in_one_of_two_columns_stays_where_it_is_read(beside: int) -> None:
    file = io.BytesIO()
    document = BaseDocTemplate(file)
    frames = [Frame(50, 250, 240, 540), Frame(305, 250, 240, 540)]
    document.addPageTemplates(PageTemplate(frames=frames))
    rows = [["Service", "Full pay", "Half pay"], ["1 year", "4 weeks", "4 weeks"], ["5 years", "8 weeks", "9 weeks"]]
    right = [paragraph(f"Right {number}: nothing of it.") for number in range(beside)]
    document.build(
        [
            paragraph("Sick pay:"),
            Spacer(1, 40),
            ruled(rows, widths=75),
            paragraph("Family leave."),
            FrameBreak(),
            *right,
        ]
    )
    lines = [line for line in read_pdf(file.getvalue(), ParsingLimits())[0].split("\n") if line]
    assert lines[:5] == [
        "Sick pay:",
        "- Service: 1 year, Full pay: 4 weeks, Half pay: 4 weeks",
        "- Service: 5 years, Full pay: 8 weeks, Half pay: 9 weeks",
        "Family leave.",
        "Right 0: nothing of it.",
    ]


def test_rows_in_a_column_that_no_line_parts_stay_lines() -> None:
    def write(canvas: Canvas) -> None:
        canvas.grid([50, 150, 250], [600, 680, 700])
        for at, cell in enumerate(("Storm", "Town", "Kat", "Orl", "Lon", "Tai", "Gam", "Flo")):
            canvas.drawString(60 + 100 * (at % 2), 685 - 25 * (at // 2), cell)
        canvas.drawString(300, 640, "Storms by their towns.")

    text = read_pdf(drawn(write), ParsingLimits())[0]
    assert "Kat Lon" not in text and "Storms by their towns." in text


def test_text_in_a_frame_is_no_table() -> None:
    framed = laid_out(ruled([[paragraph("First. Second. " * 40), "x"], ["y", "z"]], widths=200))
    assert "First. Second" in framed and "- " not in framed


def test_what_is_printed_beside_a_ruled_table_is_not_lost() -> None:
    def write(canvas: Canvas) -> None:
        for at in range(3):
            canvas.line(50, 700 - 30 * at, 250, 700 - 30 * at)
            canvas.line(50 + 100 * at, 700, 50 + 100 * at, 640)
        for at, cell in enumerate(("Room", "Phone", "Alps", "4410")):
            canvas.drawString(60 + 100 * (at % 2), 680 - 30 * (at // 2), cell)
        canvas.drawString(300, 680, "Valid until May.")

    assert "Valid until May." in read_pdf(drawn(write), ParsingLimits())[0]


def test_what_stands_in_no_cell_of_a_ruled_table_is_not_lost() -> None:
    def write(canvas: Canvas) -> None:
        canvas.grid([50, 150, 250], [640, 670, 700])
        canvas.grid([50, 150], [610, 640])
        for at, cell in enumerate(("Room", "Phone", "Alps", "4410", "Baltic", "none yet")):
            canvas.drawString(60 + 100 * (at % 2), 680 - 30 * (at // 2), cell)

    assert "none yet" in read_pdf(drawn(write), ParsingLimits())[0]


def test_graph_paper_is_not_searched_for_tables() -> None:
    def write(canvas: Canvas) -> None:
        canvas.drawString(50, 800, "Notes on graph paper.")
        for at in range(130):
            canvas.line(20, 20 + 6 * at, 566, 20 + 6 * at)
            canvas.line(20 + 4.2 * at, 20, 20 + 4.2 * at, 794)

    begun = time.process_time()
    assert read_pdf(drawn(write), ParsingLimits())[0] == "Notes on graph paper."
    assert time.process_time() - begun < 1


def test_figures_on_a_turned_page_are_read_at_once() -> None:
    def write(canvas: Canvas) -> None:
        canvas.setPageRotation(90)
        canvas.setFont("Helvetica", 5)
        for at in range(200):
            x, y = 20 + at % 9 * 60 + at * 7 % 13, 820 - at // 9 * 9 - at * 3 % 5
            canvas.drawString(x, y, f"{at * 104_729 % 999_983:,}")

    begun = time.process_time()
    assert len(read_pdf(drawn(write), ParsingLimits())[0].split()) == 200
    assert time.process_time() - begun < 3


def test_sentences_that_are_written_downwards_above_others_stay_sentences() -> None:
    columns = ("第一条この規程は、旅費の支給について定める。", "第二条宿泊費は、一泊につき一万二千円とする。")
    across = "別記 様式の記入例 ア 氏名 イ 所属 ウ 用務 エ 期間"

    def write(canvas: Canvas) -> None:
        pdfmetrics.registerFont(UnicodeCIDFont("HeiseiMin-W3"))
        canvas.setFont("HeiseiMin-W3", 12)
        for column, sentence in enumerate(columns):
            for row, character in enumerate(sentence):
                canvas.drawString(500 - 120 * column, 780 - 14 * row, character)
        for row in range(10):
            canvas.drawString(50, 300 - 20 * row, across)

    assert "".join(columns) in read_pdf(drawn(write), ParsingLimits())[0]


def test_lines_whose_figures_stand_apart_stay_lines() -> None:
    lines = [
        "令 和 7 年 4 月 1 日 に 改 定",
        "第 2 条 試 用 期 間 は 3 か 月 と す る。",
        "( 1 ) 本 人 の 結 婚 5 日",
    ] * 3

    def write(canvas: Canvas) -> None:
        pdfmetrics.registerFont(UnicodeCIDFont("HeiseiMin-W3"))
        canvas.setFont("HeiseiMin-W3", 12)
        for row, line in enumerate(lines):
            canvas.drawString(50, 700 - 20 * row, line)

    assert len(read_pdf(drawn(write), ParsingLimits())[0].splitlines()) >= len(lines)


def test_the_last_row_of_a_page_s_table_does_not_go_on_on_the_next_page() -> None:
    row = "- Site: Leeds, Plant: paint line, Amount: 3.2 million pounds"
    assert reflow([f"Plan\n{row}", "what comes next"]) == f"Plan\n{row}\n\nwhat comes next"


def test_numbers_of_glyphs_are_not_taken_for_text() -> None:
    def write(canvas: Canvas) -> None:
        canvas.drawString(50, 750, "A heading that can be read")
        codes = "".join(f"\\{number:03o}" for number in (*range(1, 8), *range(14, 32), *range(65, 91)))
        canvas._code.append(f"BT /F1 12 Tf 50 700 Td ({codes * 3}) Tj ET")

    with pytest.raises(FileRefused) as caught:
        read_pdf(drawn(write), ParsingLimits())
    assert caught.value.reason == "unmapped"


def table(canvas: Canvas) -> None:
    for row in range(4):
        for column in range(4):
            canvas.drawString(50 + 130 * column, 700 - 20 * row, f"cell{row}{column}")


def test_a_page_whose_table_cannot_be_read_is_read_without_it() -> None:
    whole = drawn(table)
    broken = whole.replace(b"/Font 1 0 R", b"/ColorSpace << /C [ /ICCBased 1 0 R ] >> /Font 1 0 R")
    assert read_pdf(whole, ParsingLimits())[0].startswith("| cell00 | cell01 |")
    assert read_pdf(broken, ParsingLimits())[0].split()[:2] == ["cell00", "cell01"]

    def lined(canvas: Canvas) -> None:
        table(canvas)
        canvas.grid([40, 560], [600, 680, 720])

    broken = drawn(lined).replace(b"/Font 1 0 R", b"/ColorSpace << /C [ /ICCBased 1 0 R ] >> /Font 1 0 R")
    assert read_pdf(broken, ParsingLimits())[0].split()[:2] == ["cell00", "cell01"]


def test_tables_do_not_use_up_the_time_for_a_file() -> None:
    assert "|" not in read_pdf(drawn(table), ParsingLimits(cpu=0))[0]


def test_what_is_filled_in_on_a_form_is_read() -> None:
    def write(canvas: Canvas) -> None:
        canvas.drawString(50, 700, "Name:")
        canvas.acroForm.textfield(name="name", value="Sato Taro", x=120, y=690, width=200, height=24)

    assert read_pdf(drawn(write), ParsingLimits())[0].split() == ["Name:", "Sato", "Taro"]
