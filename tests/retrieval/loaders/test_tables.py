"""Rows and records become lines that are understood on their own, and Q/A pairs."""

import datetime
import io
import json
import re
import time
import zipfile
from collections.abc import Callable, Iterable, Mapping

import openpyxl  # type: ignore[import-untyped]
import pytest
from openpyxl.styles import Font  # type: ignore[import-untyped]
from openpyxl.worksheet.filters import AutoFilter  # type: ignore[import-untyped]
from openpyxl.worksheet.hyperlink import Hyperlink  # type: ignore[import-untyped]
from openpyxl.worksheet.table import Table  # type: ignore[import-untyped]
from openpyxl.worksheet.worksheet import Worksheet  # type: ignore[import-untyped]

from retrieval.loaders.formats.workbook import read_workbook
from retrieval.loaders.json import read_json, read_json_lines
from retrieval.loaders.limits import KIB, FileRefused, ParsingLimits
from retrieval.loaders.tables import Written, read_csv, write_rows, write_sheet
from retrieval.types import QAPair

LIMITS = ParsingLimits()
SHEETS = "application/vnd.openxmlformats-officedocument.spreadsheetml"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def table(text: str, delimiter: str | None = None, limits: ParsingLimits = LIMITS) -> Written:
    return write_rows(read_csv(text, delimiter, limits))


def test_each_row_says_what_its_values_mean() -> None:
    assert table("名前,年齢,住所\n佐藤太郎,30,東京\n三木英子,,大阪\n").markdown == (
        "- 名前: 佐藤太郎, 年齢: 30, 住所: 東京\n- 名前: 三木英子, 住所: 大阪"
    )


def test_a_long_list_of_numbers_in_a_cell_is_read_at_once() -> None:
    numbers = ", ".join(map(str, range(1_000, 3_000))) + " ほか"
    begun = time.process_time()
    assert write_rows([["番号", numbers], ["備考", "なし"]]).markdown == f"- 番号, {numbers}\n- 備考, なし"
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str) -> None:
    text = f'品名{delimiter}説明\nペン{delimiter}"黒, 赤; 青"\n'
    assert table(text).markdown == table(f"sep={delimiter}\r\n{text}").markdown == "- 品名: ペン, 説明: 黒, 赤; 青"


@pytest.mark.parametrize(
    ("names", "row", "line"),
    [
        (
            "区分,令和5年度,,令和6年度,,備考\n,男,女,男,女,",
            "本庁,10,5,12,6,増員",
            "区分: 本庁, 令和5年度 男: 10, 令和5年度 女: 5, 令和6年度 男: 12, 令和6年度 女: 6, 備考: 増員",
        ),
        (
            "部署,2025,,,\n,売上,,費用,\n,計画,実績,計画,実績",
            "営業,1,2,3,4",
            "部署: 営業, 2025 売上 計画: 1, 2025 売上 実績: 2, 2025 費用 計画: 3, 2025 費用 実績: 4",
        ),
        ("氏名,連絡先,,備考", "佐藤,本社,内線あり,なし", "氏名: 佐藤, 連絡先: 本社, 内線あり, 備考: なし"),
        ("氏名,メモ,", "佐藤,出張,東京", "氏名: 佐藤, メモ: 出張, 東京"),
    ],
)
def test_several_rows_of_names_are_one(names: str, row: str, line: str) -> None:
    assert table(f"{names}\n{row}\n").markdown == f"- {line}"


@pytest.mark.parametrize("note", ["※ 10月に改定。", "■ 支店", "Prices change on the 1st of each month; last: 6.8%."])
def test_a_note_in_the_first_cell_of_a_row_is_nothing_of_its_column(note: str) -> None:
    written = table(f"型番,価格,納期\nMP-1,100,即納\n{note},,\nMP-2,200,2週\n").markdown
    assert written == f"- 型番: MP-1, 価格: 100, 納期: 即納\n\n{note}\n\n- 型番: MP-2, 価格: 200, 納期: 2週"


def test_the_first_of_its_values_alone_is_no_note() -> None:
    assert table("名前,内線,携帯\n佐藤太郎,,\n").markdown == "- 名前: 佐藤太郎"
    assert table("品名,説明\n（ペン）,\n").markdown == "- 品名: （ペン）"
    assert table("増減,内線,携帯\n-5,,\n").markdown == "- 増減: -5"


@pytest.mark.parametrize("days", ["2026-12-01,2026-12-02,2026-12-03", "12/1,12/2,12/3", "1,2,3"])
def test_days_over_what_is_no_day_name_the_columns(days: str) -> None:
    first, second, third = days.split(",")
    assert table(f"氏名,{days}\n石井,早,遅,休\n").markdown == f"- 氏名: 石井, {first}: 早, {second}: 遅, {third}: 休"


def test_days_over_days_name_nothing() -> None:
    rows = "提出,2026-12-01,2026-12-02,2026-12-03\n返却,2026-12-08,2026-12-09,2026-12-10\n"
    assert table(rows).markdown.startswith("- 提出, 2026-12-01")


def test_a_unit_beside_the_title_is_a_part_of_it() -> None:
    head = "区分,令和5年度,,令和6年度,,備考\n,男,女,男,女,\n"
    for names in (head, "区分,本庁,支所,分室,他,備考\n"):
        written = table(f"職員数,,,,（単位：人）,\n{names}計,10,5,12,6,増\n").markdown
        assert written.startswith("職員数 （単位：人）\n\n- 区分: 計, ") and "備考: 増" in written


def test_a_day_is_no_name_of_a_column() -> None:
    form = "申請日,2026年4月1日,部署,総務部\n氏名,佐藤,内線,100\n"
    assert table(form).markdown == "- 申請日, 2026年4月1日, 部署, 総務部\n- 氏名, 佐藤, 内線, 100"


def test_cells_of_several_lines_stay_in_their_row() -> None:
    assert table('件名,本文\n"a","一行目\n二行目"\n').markdown == "- 件名: a, 本文: 一行目 二行目"


@pytest.mark.parametrize(
    "names",
    [
        "question,answer",
        "Question,ANSWER",
        "質問,回答",
        "q,a",
        "Ｑ,Ａ",
        "問,答",
        "問い,答え",
        " 質 問 ,回答：",
    ],
)
def test_question_and_answer_columns_become_pairs(names: str) -> None:
    written = table(f"{names}\n有休は何日？,20日です。\n,答えだけ\n")
    assert written.pairs == (QAPair("有休は何日？", "20日です。"),)
    assert written.markdown.startswith("Q: 有休は何日？\nA: 20日です。\n")
    assert "答えだけ" in written.markdown


def test_other_columns_of_a_pair_are_kept() -> None:
    written = table("分類,質問,回答\n人事,有休は？,20日\n経理,締め日は？,5日\n")
    assert written.markdown == "Q: 有休は？\nA: 20日\n分類: 人事\n\nQ: 締め日は？\nA: 5日\n分類: 経理"
    assert [pair.answer for pair in written.pairs] == ["20日", "5日"]


def test_rows_of_numbers_name_no_columns() -> None:
    assert table("1,2\n3,4\n").markdown == "- 1, 2\n- 3, 4"
    assert table("年度,2023,2024\n売上,10,12\n").markdown == "- 年度: 売上, 2023: 10, 2024: 12"


def test_rows_are_counted_without_the_names() -> None:
    few = ParsingLimits(rows=3)
    assert table("名\n" + "あ\n" * 3, limits=few).markdown.count("あ") == 3
    with pytest.raises(FileRefused, match="rows"):
        table("名\n" + "あ\n" * 4, limits=few)


# -- json ------------------------------------------------------------------------------------------------------------


def test_json_becomes_lines_with_paths() -> None:
    value = {
        "team": "基盤",
        "on": True,
        "none": None,
        "tags": ["a", "b"],
        "db": {"host": "db1", "port": 5432, "rate": 1.10},
    }
    text = json.dumps(value, ensure_ascii=False).replace("1.1}", "1.10}")
    assert read_json(text, LIMITS).markdown == (
        "team: 基盤\non: true\nnone: \ntags: a, b\n\ndb.host: db1\ndb.port: 5432\ndb.rate: 1.10"
    )


def test_a_list_of_alike_objects_is_a_table() -> None:
    assert read_json('{"people": [{"名": "佐藤", "歳": 30}, {"名": "鈴木"}]}', LIMITS).markdown == (
        "## people\n\n- 名: 佐藤, 歳: 30\n- 名: 鈴木"
    )


def test_deeper_lists_keep_their_place() -> None:
    markdown = read_json('[{"a": {"b": 1}}, {"a": {"b": 2}}]', LIMITS).markdown
    assert markdown == "[1].a.b: 1\n\n[2].a.b: 2"
    assert read_json('["x", "y"]', LIMITS).markdown == "- x\n- y"
    assert read_json('"alone"', LIMITS).markdown == "alone"


@pytest.mark.parametrize(
    "text",
    [
        '[{"question": "有休は？", "answer": "20日"}]',
        '{"faq": [{"Q": "有休は？", "A": "20日", "n": 1}]}',
        '{"質問": "有休は？", "回答": "20日"}',
    ],
)
def test_pairs_are_found_in_json(text: str) -> None:
    assert read_json(text, LIMITS).pairs == (QAPair("有休は？", "20日"),)


def test_pairs_are_found_in_json_lines() -> None:
    written = read_json_lines('{"q": "A?", "a": "B"}\n\n{"q": "C?", "a": "D"}\n', LIMITS)
    assert [(pair.question, pair.answer) for pair in written.pairs] == [("A?", "B"), ("C?", "D")]


def test_broken_json_says_where() -> None:
    with pytest.raises(FileRefused) as caught:
        read_json_lines('{"a": 1}\n{"b": \n', LIMITS)
    assert (caught.value.reason, caught.value.values) == ("json", {"line": 2})
    with pytest.raises(FileRefused) as caught:
        read_json('{\n"a": 1,\n"b" 2}', LIMITS)
    assert caught.value.values == {"line": 3}


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_depth_is_capped(opening: str, closing: str) -> None:
    assert read_json(opening * 100 + "1" + closing * 100, LIMITS).markdown.endswith("1")
    assert read_json("[" * 100 + "]" * 100, LIMITS).markdown == ""
    for depth in (101, 5_000, 200_000):
        with pytest.raises(FileRefused, match="depth"):
            read_json(opening * depth + "1" + closing * depth, LIMITS)
    with pytest.raises(FileRefused, match="depth"):
        read_json("[" * 101 + "]" * 101, LIMITS)


def test_lines_and_rows_of_json_are_capped() -> None:
    limits = ParsingLimits(rows=3, json_line=KIB)
    line = json.dumps("x" * (KIB - 2))
    assert len(line) == KIB
    assert read_json_lines(f"{line}\n" * 3, limits).markdown.count("- ") == 3
    with pytest.raises(FileRefused, match="line"):
        read_json_lines(line + " ", limits)
    with pytest.raises(FileRefused, match="rows"):
        read_json_lines("1\n" * 4, limits)
    assert read_json("[1, 2, 3]", limits).markdown == "- 1\n- 2\n- 3"
    with pytest.raises(FileRefused, match="rows"):
        read_json("[1, 2, 3, 4]", limits)


@pytest.mark.parametrize(
    ("below", "lines"),
    [
        (["■Options", "Name,Plan,Price", "Phone,A,500"], ["■Options", "", "- Name: Phone, Plan: A, Price: 500"]),
        (["Plan,Fee", "B,free"], ["- Plan: B, Fee: free"]),
        (["Plan,Japan,", ",Weekday,Weekend", "B,x,y"], ["- Plan: B, Japan Weekday: x, Japan Weekend: y"]),
        (["B,2000", "C,3000"], None),
        (["B,-", "C,3000"], None),
        (["B,free", "C,on request"], None),
        (["(without tax)"], ["(without tax)"]),
        (["early: 8 to 17", "late: 11 to 20"], ["early: 8 to 17", "late: 11 to 20"]),
    ],
)
def test_a_table_below_another_has_names_of_its_own(below: list[str], lines: list[str] | None) -> None:
    rows = [line.split(",") for line in ("Plan,Fee", "A,1000", "", *below)]
    told = write_sheet(rows).markdown
    assert told == (
        "\n".join(["- Plan: A, Fee: 1000", "", *lines]) if lines else write_rows(filter(any, rows)).markdown
    )


def test_titles_between_tables_part_them_where_no_row_is_empty() -> None:
    stop = ["[1] Stop", "No,Task,Minutes", "1,drain,5", "2,halt,10"]
    start = ["[2] Start", "No,Task,Minutes", "1,boot,15"]
    people = ["[3] People", "Role,Name,Phone", "Lead,Ann,080-1111-2222"]
    assert write_sheet(line.split(",") for line in (*stop, *start, *people)).markdown.split("\n\n") == [
        "[1] Stop",
        "- No: 1, Task: drain, Minutes: 5\n- No: 2, Task: halt, Minutes: 10",
        "[2] Start",
        "- No: 1, Task: boot, Minutes: 15",
        "[3] People",
        "- Role: Lead, Name: Ann, Phone: 080-1111-2222",
    ]
    plans = ["Plan,Fee,Disk", "■Shared", "Starter,5,10", "■Dedicated", "Base,on request,20", "Large,149,40"]
    assert "- Plan: Large, Fee: 149, Disk: 40" in write_sheet(line.split(",") for line in plans).markdown


def test_names_that_are_repeated_over_further_rows_are_no_row() -> None:
    assert table("Name,Phone\nAnn,4410\nName,Phone\nBob,4411\n").markdown == (
        "- Name: Ann, Phone: 4410\n- Name: Bob, Phone: 4411"
    )


def test_lines_above_a_table_name_no_columns_of_it() -> None:
    above = [["Team", "Sales", "Author", "Ann"], [], ["Price list", "2025-04-01"], []]
    told = write_sheet([*above, ["Item", "Price", "Count"], ["Pen", "100", "3"]]).markdown
    assert told.endswith("\n\n- Item: Pen, Price: 100, Count: 3")
    assert write_sheet([["Plan", "Fee"], [], ["A", "1000"]]).markdown == "- Plan: A, Fee: 1000"


def test_lines_that_are_indented_by_columns_are_all_read() -> None:
    rows = [["休暇規程"], ["", "第1条 日数"], [], ["", "", "年次有給休暇は20日とする。"]]
    assert write_sheet(rows).markdown == "- 休暇規程\n- 第1条 日数\n- 年次有給休暇は20日とする。"


def test_a_note_beside_the_names_of_columns_is_read_and_a_name_of_an_empty_column_is_no_line() -> None:
    told = table("品名,価格,備考,,※価格は税込です\nペン,100\n").markdown
    assert told == "※価格は税込です\n\n- 品名: ペン, 価格: 100"


# -- xlsx ------------------------------------------------------------------------------------------------------------


def workbook(sheets: Mapping[str, Iterable[Iterable[object]]], hidden: str = "") -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
        if name == hidden:
            sheet.sheet_state = "hidden"
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def test_sheets_are_sections_and_rows_are_lines() -> None:
    data = workbook(
        {
            "社員": [
                ["2026年度 社員一覧"],
                [],
                ["名前", "入社日", "率"],
                ["佐藤", datetime.datetime(2020, 4, 1), 30.0],
            ],
            "FAQ": [["質問", "回答"], ["締め日は？", "毎月5日"]],
            "内部": [["列"], ["秘密"]],
            "空": [],
        },
        hidden="内部",
    )
    written, _ = read_workbook(data, LIMITS)
    assert written.markdown == (
        "## 社員\n\n2026年度 社員一覧\n\n- 名前: 佐藤, 入社日: 2020-04-01, 率: 30\n\n## FAQ\n\nQ: 締め日は？\nA: 毎月5日"
    )
    assert written.pairs == (QAPair("締め日は？", "毎月5日"),)


def test_rows_and_columns_that_are_hidden_are_not_read_and_those_that_are_filtered_or_folded_are() -> None:
    def shown(change: Callable[[Worksheet], None]) -> str:
        book = openpyxl.Workbook()
        for row in (["Name", "Pay", "Team"], ["Ann", 900, "Sales"], ["Bob", 800, "IT"], ["Cy", 700, "IT"]):
            book.active.append(row)
        book.active.merge_cells("C3:C4")
        change(book.active)
        file = io.BytesIO()
        book.save(file)
        return read_workbook(file.getvalue(), LIMITS)[0].markdown.partition("\n\n")[2]

    def hides(sheet: Worksheet) -> None:
        sheet.row_dimensions[3].hidden = True
        sheet.column_dimensions["B"].hidden = True

    def filters(sheet: Worksheet) -> None:
        hides(sheet)
        sheet.auto_filter.ref = "A1:C4"
        sheet.auto_filter.add_filter_column(2, ["Sales"])

    def filters_a_table(sheet: Worksheet) -> None:
        hides(sheet)
        table = Table(displayName="Staff", ref="A1:C4")
        table.autoFilter = AutoFilter("A1:C4")
        table.autoFilter.add_filter_column(2, ["Sales"])
        sheet.add_table(table)

    def folds(sheet: Worksheet) -> None:
        sheet.row_dimensions.group(3, 3, hidden=True)
        sheet.column_dimensions.group("B", "B", hidden=True)

    lines = ["- Name: Ann, Pay: 900, Team: Sales", "- Name: Bob, Pay: 800, Team: IT", "- Name: Cy, Pay: 700, Team: IT"]
    without_pay = [re.sub(", Pay: [0-9]+", "", line) for line in lines]
    assert shown(hides).splitlines() == [without_pay[0], without_pay[2]]  # what was merged stands in what is left
    assert shown(filters).splitlines() == shown(filters_a_table).splitlines() == without_pay
    assert shown(folds).splitlines() == lines


def test_numbers_have_their_units_and_durations_are_hours() -> None:
    book = openpyxl.Workbook()
    cells = (
        (3000, '#,##0"円"', "3,000円"),
        (-1234567.891, "#,##0.0;[Red]-#,##0.0", "-1,234,567.9"),
        (1.005, "0.00", "1.01"),
        (2.5, "0.0##", "2.5"),
        (7, '"No. "000', "No.007"),
        (98000, "General", "98000"),
        (1.5, '_ "￥"* #,##0.0_ ;_ "￥"* \\-#,##0.0', "￥1.5"),
        (12, "[$€-407]0.00", "€12.00"),
        (7, '"約"0"日"', "約7日"),
        (5, '#,##0,"千円"', "5"),
        (12, "0000", "0012"),
        (123456, "0000", "123456"),
        (1500002, r"000\-0000", "150-0002"),
        (45748, "aaaa", "火曜日"),
        (45749, "[$-411]aaa", "水"),
        ("a_x000D_\nb", "General", "a b"),
        (10**14, "General", "100000000000000"),
        (datetime.timedelta(hours=30, minutes=5), "[h]:mm", "30:05"),
    )
    for number, (value, form, _) in enumerate(cells, 1):
        book.active.cell(number, 1, value).number_format = form
    file = io.BytesIO()
    book.save(file)
    lines = read_workbook(file.getvalue(), LIMITS)[0].markdown.splitlines()[2:]
    assert lines == [f"- {shown}" for _, _, shown in cells]


def test_a_cell_that_leads_to_the_web_has_its_address_and_one_that_leads_into_the_book_has_none() -> None:
    book = openpyxl.Workbook()
    for row in (["名称", "メモ"], ["経費精算", "社内"], ["手引き", "別表"], ["https://example.com/a", "B&C"]):
        book.active.append(row)
    book.active["A2"].hyperlink = "https://example.com/expense?a=1&b=2"
    book.active["A4"].hyperlink = "https://example.com/a"
    book.active["B2"].hyperlink = "mailto:a@example.com"
    book.active["B3"].hyperlink = Hyperlink(ref="B3", location="Sheet!A1")
    file = io.BytesIO()
    book.save(file)
    cell = re.compile(rb'(<c r="A3" t=)"inlineStr"><is><t>(.*?)</t></is>')
    formula = rb'\1"str"><f>HYPERLINK("https://example.com/guide?a&amp;b","x")</f><v>\2</v>'
    data = rewritten(file.getvalue(), lambda name, part: cell.sub(formula, part))
    assert read_workbook(data, LIMITS)[0].markdown.splitlines()[2:] == [
        "- 名称: [経費精算](https://example.com/expense?a=1&b=2), メモ: 社内",
        "- 名称: [手引き](https://example.com/guide?a&b), メモ: 別表",
        "- 名称: https://example.com/a, メモ: B&C",
    ]


def test_what_is_struck_out_in_a_sheet_is_marked_so() -> None:
    book = openpyxl.Workbook()
    for row in (["品名", "料金"], ["旧モデル", 5000], ["新モデル", "CHANGED"]):
        book.active.append(row)
    for cell in book.active[2]:
        cell.font = Font(strike=True)
    book.active["B1"].font = Font(strike=False, bold=True)
    file = io.BytesIO()
    book.save(file)
    some = "<si><r><t>月</t></r><r><rPr><strike/></rPr><t>900</t></r><r><rPr><strike/></rPr><t>円</t></r><r><t xml:space='preserve'> 950円</t></r></si>"

    def change(name: str, part: bytes) -> bytes:
        if name == "[Content_Types].xml":
            kind = f"{SHEETS}.sharedStrings+xml"
            override = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
            return part.replace(b"</Types>", override.encode())
        inline = b'<c r="B3" t="inlineStr"><is><t>CHANGED</t></is></c>'
        return part.replace(inline, b'<c r="B3" t="s"><v>0</v></c>')

    whole = rewritten(file.getvalue(), change)
    after = io.BytesIO(whole)
    with zipfile.ZipFile(after, "a") as archive:
        archive.writestr("xl/sharedStrings.xml", f'<sst xmlns="{MAIN}" count="1" uniqueCount="1">{some}</sst>')
    assert read_workbook(after.getvalue(), LIMITS)[0].markdown.splitlines()[2:] == [
        "- 品名: ~~旧モデル~~, 料金: ~~5000~~",
        "- 品名: 新モデル, 料金: 月~~900円~~ 950円",
    ]


def test_a_value_of_several_columns_is_one_of_each_but_a_label_is_not() -> None:
    book = openpyxl.Workbook()
    rows = (
        ["勤務表", "", "", "", ""],
        ["担当", "月", "火", "水", "備考"],
        ["早番", "佐藤", "", "鈴木", ""],
        ["", "田中", "", "", "交代"],
        ["共通", "", "毎日", "", ""],
        ["", "", "", "", "日報"],
        ["合計", "", "", 3, ""],
    )
    for row in rows:
        book.active.append(row)
    for area in ("A1:E1", "A3:A4", "B3:C3", "B4:D4", "A5:B6", "C5:D6", "A7:C7"):
        book.active.merge_cells(area)
    file = io.BytesIO()
    book.save(file)
    assert read_workbook(file.getvalue(), LIMITS)[0].markdown.splitlines()[2:] == [
        "勤務表",
        "",
        "- 担当: 早番, 月: 佐藤, 火: 佐藤, 水: 鈴木",
        "- 担当: 早番, 月: 田中, 火: 田中, 水: 田中, 備考: 交代",
        "- 担当: 共通, 火: 毎日, 水: 毎日",
        "- 担当: 共通, 火: 毎日, 水: 毎日, 備考: 日報",
        "- 担当: 合計, 水: 3",
    ]


def test_what_stands_above_a_table_does_not_part_the_names_over_its_columns() -> None:
    book = openpyxl.Workbook()
    for row in (
        ["部署", "営業", "作成", "山田"],
        [],
        ["区分", "国内", "", "海外"],
        ["", "平日", "休日", ""],
        ["役員", "A", "B", "C"],
    ):
        book.active.append(row)
    book.active.merge_cells("B3:C3")
    file = io.BytesIO()
    book.save(file)
    assert "- 区分: 役員, 国内 平日: A, 国内 休日: B, 海外: C" in read_workbook(file.getvalue(), LIMITS)[0].markdown


def rewritten(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """The workbook with other parts."""
    after = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(after, "w") as archive:
        for name in before.namelist():
            archive.writestr(name, change(name, before.read(name)))
    return after.getvalue()


DATED = workbook({"A": [["入社日", "率"], [datetime.datetime(2020, 4, 1), 1]]})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'<cellStyle name="Normal"', b"<cellStyle"),
        (b"</fills>", b"<fill/></fills>"),
        (b"</sheets>", b'</sheets><externalReferences><externalReference r:id="rIdX"/></externalReferences>'),
    ],
)
def test_looks_and_links_of_a_workbook_that_make_no_sense_do_not_matter(before: bytes, after: bytes) -> None:
    def change(name: str, part: bytes) -> bytes:
        linked = f'<Relationship Id="rIdX" Type="{RELATED}/externalLink" Target="gone.xml"/></Relationships>'
        part = part.replace(b"<workbook ", f'<workbook xmlns:r="{RELATED}" '.encode())
        return part.replace(before, after).replace(b"</Relationships>", linked.encode())

    assert read_workbook(rewritten(DATED, change), LIMITS)[0].markdown == "## A\n\n- 入社日: 2020-04-01, 率: 1"


def test_the_strict_form_of_a_workbook_is_read_like_the_usual_one() -> None:
    usual = re.compile(rb"http://schemas\.openxmlformats\.org/(spreadsheetml|officeDocument)/2006/")
    strict = rewritten(DATED, lambda name, part: usual.sub(rb"http://purl.oclc.org/ooxml/\1/", part))
    assert read_workbook(strict, LIMITS) == read_workbook(DATED, LIMITS)


def test_a_cell_merged_over_rows_is_a_value_of_each() -> None:
    book = openpyxl.Workbook()
    for row in (["Staff", None], ["Team", "Name"], ["Sales", "Ann"], [None, "Bob"], [], ["IT", "Cy"], [None, "Di"]):
        book.active.append(row)
    for cells in ("A1:B1", "A3:A5", "A6:A7"):
        book.active.merge_cells(cells)
    file = io.BytesIO()
    book.save(file)
    assert read_workbook(file.getvalue(), LIMITS)[0].markdown.splitlines()[2:] == [
        "Staff",
        "",
        "- Team: Sales, Name: Ann",
        "- Team: Sales, Name: Bob",
        "- Team: IT, Name: Cy",
        "- Team: IT, Name: Di",
    ]


def test_percentages_and_truth_read_as_shown() -> None:
    book = openpyxl.Workbook()
    book.active.append(["税率", "有効"])
    for row, (rate, form) in enumerate([(0.08, "0%"), (97200 / 98000, "0.0%"), (0.125, "0.00E+00%")], 2):
        book.active.append([rate, True])
        book.active.cell(row, 1).number_format = form
    file = io.BytesIO()
    book.save(file)
    rows = read_workbook(file.getvalue(), LIMITS)[0].markdown.splitlines()[2:]
    assert rows == [f"- 税率: {rate}, 有効: TRUE" for rate in ("8%", "99.2%", "12.5%")]


def test_rows_of_a_workbook_are_capped() -> None:
    limits = ParsingLimits(rows=4)
    assert "4" in read_workbook(workbook({"s": [["n"], *([number] for number in range(1, 5))]}), limits)[0].markdown
    with pytest.raises(FileRefused, match="rows"):
        read_workbook(workbook({"s": [["n"], *([number] for number in range(6))]}), limits)
