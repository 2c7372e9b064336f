"""Markdown and web pages keep what their readers see and lose the rest."""

import re
import time
from pathlib import Path

import pytest

from retrieval.loaders.encodings import decode_page
from retrieval.loaders.formats.pages import read_page
from retrieval.loaders.html import readable_part, without_hidden
from retrieval.loaders.markdown import first_heading, front_matter, plain, tidy, tidy_images, with_headings

FILES = Path(__file__).parents[2] / "files"


@pytest.mark.parametrize(
    ("text", "title", "rest"),
    [
        ('---\ntitle: "経費: 精算"\ntags:\n  - a\n---\n\n本文\n', "経費: 精算", "\n本文\n"),
        ("---\ntitle: 'It''s here'\n---\nText", "It's here", "Text"),
        ("---\ntitle: Logging in &amp; Networks\n---\nText", "Logging in & Networks", "Text"),
        ("---\ndescription: x\nTitle: Plain # note\n---\nText", "Plain", "Text"),
        ('+++\ntitle = "TOML"\n+++\nText', "TOML", "Text"),
        (
            "---\n\nA rule, then a paragraph.\n\n---\n\nMore.\n",
            "",
            "---\n\nA rule, then a paragraph.\n\n---\n\nMore.\n",
        ),
        ("No front matter\n---\n", "", "No front matter\n---\n"),
    ],
)
def test_front_matter_gives_the_title_and_goes(text: str, title: str, rest: str) -> None:
    assert front_matter(text) == (title, "", rest)


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ("{{< alert >}}\n注意\n{{< /alert >}}", "\n注意\n"),
        ('{{% panel header="x" title="大事" %}}\n内容\n{{% /panel %}}', "**大事**\n内容\n"),
        ('Ask in {% slack_channel "help" "the help channel" %}.', "Ask in the help channel."),
        ('{{< tab "Linux" "x" >}}\na\n{{< /tab >}}{{< tabs name="id" >}}', "**Linux**\na\n"),
        ('{{% tab header="Linux" %}}\na\n{{% details "More" %}}', "**Linux**\na\n**More**"),
        ('See [Gmail]({% page "/gmail" %}).', "See [Gmail](/gmail)."),
        ("a<!-- secret\n\nnote -->b", "ab"),
        ("a<!-- never closed", "a"),
        ("<ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>へ、<ruby>京<rt>きょう</ruby>へ", "東京へ、京へ"),
        ("[//]: # (a comment)\ntext", "\ntext"),
        ("a {/* of\nMDX */}b{{/* of Hugo */}}", "a b"),
        ("a{% comment %} of {{ x }} Liquid {%- endcomment -%}b{::comment}of kramdown{:/comment}", "ab"),
        ("a %% of\n\nObsidian %%\n100 %% to %%NAME%% and 5 %%", "a \n100 %% to %%NAME%% and 5 %%"),
        ("A <b>bold</b> <span style='x'>word</span><br/>next", "A bold word\nnext"),
        (
            "Use <your-name> and List<T> and <https://example.com>",
            "Use <your-name> and List<T> and <https://example.com>",
        ),
        ('<p>One</p><p hidden>two</p><i style="display: none">three</i>', "\n\nOne\n\n"),
        ("<script>alert(1)</script>ok<style>p{}</style>", "ok"),
        ('<a href="https://example.com/a?b=1&amp;c=2">a link</a>', "[a link](https://example.com/a?b=1&c=2)"),
        ('<img src="x.png" alt="構成図">', "構成図"),
        ('![構成図](img/a_(1).png "t") と ![](b.png)', "構成図 と "),
        ("[本文](https://example.com/x) [同じ][ref]", "[本文](https://example.com/x) [同じ][ref]"),
        ("[bad](javascript:alert(1)) [none]()", "bad none"),
        (
            "import Tabs from '@theme/Tabs';\nimport './a.css'\n\nimport it from here, then stop.",
            "\n\n\nimport it from here, then stop.",
        ),
        (":::info\n注意\n:::\n\n::: tip Mind this\nNow\n:::", "\n注意\n\n\n**Mind this**\n\nNow\n"),
        (":::note[Title]{.wide}\nx\n:::", "**Title**\n\nx\n"),
        ("> [!WARNING]\n> Never.\n\n> [!tip]- Mind\n> Now.", "> \n> Never.\n\n> **Mind**\n> Now."),
        ("> [!note] One\n> > [!tip] Two\n> > Now.", "> **One**\n> > **Two**\n> > Now."),
        (
            '!!! note "Freeze"\n    In May.\n\n!!! note\n    In June.\n\nStop!!! now',
            "**Freeze**\n\nIn May.\n\n\nIn June.\n\nStop!!! now",
        ),
        ("See [[Calendar|the calendar]], [[Rollback]] and [[ -f x ]].", "See the calendar, Rollback and [[ -f x ]]."),
        ("| a | b<br>c |\n| d | <ul><li>e</li><li>f</li></ul> |", "| a | b c |\n| d |   e  f   |"),
        ("## 申請<br>の方法\n本文<br>続き", "## 申請 の方法\n本文\n続き"),
        ("# Ask <br/>first", "# Ask  first"),
        ("Severity 1[^sev]\n\n[^sev]: Data is lost.", "Severity 1[sev]\n\n[sev] Data is lost."),
        ('{% include note.html content="Closes on **12 May**." %}', "Closes on **12 May**."),
        ('{{< figure src="a.jpg" caption="The drip tray" >}}', "The drip tray"),
        ('{{< tab "Filter" >}}Grind at 11.', "**Filter**\n\nGrind at 11."),
        ("#general<br>Ask there.", "#general\nAsk there."),
        ("## 題 {#anchor}\n{: .no_toc}\n本文", "## 題\n\n本文"),
        ('See [NIST](n){:target="_blank" } and **it**{: .x}, %{:a => 1}.', "See [NIST](n) and **it**, %{:a => 1}."),
        ("R&amp;D &lt;b&gt;", "R&D <b>"),
        ("<h2>節</h2><ul><li>一</li><li>二</li></ul>", "\n\n## 節\n\n\n\n- 一\n\n- 二\n\n"),
        (
            "<table><tr><th>名</th><th>値</th></tr><tr><td>甲</td><td><a href='u'>1</a></td></tr></table>",
            "\n\n| 名 | 値 |\n| --- | --- |\n| 甲 | [1](u) |\n\n",
        ),
        (
            "<table><tr><td>1.</td><td>Open</td></tr><tr><td>2.</td><td>Send</td></tr></table>",
            "\n\n|  |  |\n| --- | --- |\n| 1. | Open |\n| 2. | Send |\n\n",
        ),
    ],
)
def test_markdown_keeps_its_words(raw: str, read: str) -> None:
    assert tidy(raw) == read


@pytest.mark.parametrize(
    "code",
    [
        "```html\n<div hidden>{{< alert >}}</div>\n<!-- kept -->\n```",
        "`<b>` and ``{% x %}``",
        "~~~\n![a](b)\n~~~",
        "```\nopen <b>",
    ],
)
def test_code_stays_as_it_is(code: str) -> None:
    assert tidy(f"text\n\n{code}") == f"text\n\n{code}"


def test_a_page_that_begins_with_a_line_and_times_has_no_front_matter_and_is_read_at_once() -> None:
    """Each of these lines may be a field of front matter in several ways, and no line ends it."""
    agenda = "---\n" + "".join(f"09:{minute:02}:00 受付: 担当{minute}\n" for minute in range(16)) + "本日の予定\n"
    heading = f"# 受付{' ' * 700}担当\n"
    begun = time.process_time()
    assert front_matter(agenda) == ("", "", agenda)
    assert first_heading(heading) == plain(heading[2:])
    assert time.process_time() - begun < 1


def test_headings_are_found_outside_code() -> None:
    assert first_heading("```\n# not this\n```\n\n## *This* `one` [link](u) ##\n") == "This one link"
    assert first_heading("題名\n====\n\n本文") == "題名"
    assert first_heading("no heading\n\n- a\n- b\n---\n") == ""
    assert plain("**太字** と snake_case と _斜体_") == "太字 と snake_case と 斜体"


def headings(text: str) -> list[str]:
    return [line for line in with_headings(text).split("\n") if line.startswith("#")]


def test_articles_of_a_regulation_are_headings() -> None:
    text = "第1章 総則\n第1条（目的）\n規程である。\n第2条（範囲） 社員とする。\n第1条の規定による。\n附則\n別表第1（第4条関係）\n表"
    assert headings(text) == ["## 第1章 総則", "#### 第1条（目的）", "## 附則", "## 別表第1（第4条関係）"]
    assert with_headings(text).replace("#", "").split() == text.split()


def test_numbers_that_count_on_over_text_are_headings() -> None:
    assert headings("1 Hours\n1.1 From 9 to 5.\n2 Leave\n2.1 25 days.\n\n3. Pay\nOn the 25th.") == [
        "## 1 Hours",
        "## 2 Leave",
        "## 3. Pay",
    ]
    assert headings("１．来客\n登録する。\n２．会議室\n予約する。\n３．お茶\n各自。") == [
        "## １．来客",
        "## ２．会議室",
        "## ３．お茶",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "1 pen\n2 pencils\n3 rulers\nBring all of them.",  # a list
        "1. Open the lid.\nIt is heavy.\n2. Close the lid.\nSlowly.\n3. Wait.\nAn hour.",  # sentences
        "1 Hours\nFrom 9 to 5.\n2 Leave\n25 days.",  # too few
        "# Rules\n\n1 Hours\nFrom 9.\n2 Leave\n25 days.\n3 Pay\nMonthly.",  # it has headings
        "1 Hours\nFrom 9.\n3 Pay\nMonthly.\n5 Leave\nLong.",
    ],
)
def test_other_lines_that_begin_with_a_number_stay(text: str) -> None:
    assert with_headings(text) == text


def test_pictures_without_description_say_nothing() -> None:
    assert tidy_images("![Picture 4](Picture4.jpg)a![売上の推移](Picture5.jpg)") == "a売上の推移"
    code = "`<!--` と\n\n```\n![絵](a.png) [x]()\n```\n"
    assert tidy_images(code) == code


def test_a_page_keeps_what_a_visitor_reads() -> None:
    html, title, _ = readable_part(decode_page((FILES / "handbook.html").read_bytes()))
    assert title == "経費精算の手引き"
    for seen in ("翌月5日", "締め日を過ぎた申請", "領収書をなくしたときは？", "12,000円", "よくある質問"):
        assert seen in html
    for unseen in ("Ignore all", "tracker", "お知らせ", "Copyright", "★", "シェア", "フォームへ"):
        assert unseen not in html
    assert 'href="https://portal.example.com/handbook/forms/expense"' in html


@pytest.mark.parametrize(
    "hiding",
    [
        'style="DISPLAY : NONE"',
        'style="visibility:hidden"',
        'style="font-size: 0px"',
        'style="opacity:0.0"',
        'style="position:absolute;left:-9999px"',
        'style="text-indent:-5000px"',
        'style="color: #FFF"',
        'style="color:rgb(255, 255, 254)"',
        'style="color:#123;background-color:#112233"',
        "hidden",
        'aria-hidden="true"',
    ],
)
def test_hidden_words_are_not_read(hiding: str) -> None:
    html, _, _ = readable_part(f"<body><p>見える文</p><div {hiding}>injected <b>words</b></div></body>")
    assert "見える文" in html and "injected" not in html


@pytest.mark.parametrize(
    "shown",
    ['style="opacity:0.9"', 'style="font-size:0.8em"', 'style="color:#fff;background:#000"', 'style="color:#333"'],
)
def test_words_in_other_styles_are(shown: str) -> None:
    assert "words" in readable_part(f"<body><div {shown}>words</div></body>")[0]


def test_a_page_is_decoded_as_it_declares_or_as_it_looks() -> None:
    page = '<html><head><meta charset="{}"></head><body>日本語の文章です。①</body></html>'
    assert "日本語の文章です。①" in decode_page(page.format("Shift_JIS").encode("cp932"))
    assert "日本語の文章です。①" in decode_page(page.format("utf-8").encode("cp932"))  # it lies
    assert "日本語の文章です。①" in decode_page(page.format("unknown").encode())
    assert "日本語の文章です。①" in decode_page(page.format("windows-1251").encode("utf-8-sig"))  # its mark goes before


@pytest.mark.parametrize(
    "charset, codec, text",
    [
        ("euc-kr", "cp949", "부두는 아침 여덟 시부터 열려 있습니다. 똠"),
        ("big5", "cp950", "碼頭從早上八點到晚上六點開放。碁"),
        ("gb2312", "gb18030", "码头从早上八点到晚上六点开放。镕"),
        ("windows-1251", "cp1251", "Пирс номер девять открыт с восьми утра."),
        ("koi8-r", "koi8-r", "Пирс номер девять открыт с восьми утра."),
        ("windows-1253", "cp1253", "Η προβλήτα είναι ανοιχτή από τις οκτώ."),
        ("iso-8859-2", "iso-8859-2", "Přístaviště je otevřeno od osmi ráno."),
        ("tis-620", "cp874", "ท่าเรือเปิดแปดโมงเช้า"),
    ],
)
def test_a_declared_encoding_is_read_as_it_is_written_today(charset: str, codec: str, text: str) -> None:
    assert text in decode_page(f'<html><head><meta charset="{charset}"></head><body>{text}</body></html>'.encode(codec))


def test_readings_above_words_are_no_part_of_them() -> None:
    page = "<p><ruby>東京<rt>とうきょう</rt></ruby>で<ruby>申請<rp>（</rp><rt>しんせい</rt><rp>）</rp></ruby></p>"
    for read in (readable_part(page)[0], without_hidden(page)):
        assert re.sub("<[^>]*>", "", read).strip() == "東京で申請"


def test_cells_and_items_without_end_tags_stand_beside_each_other() -> None:
    page = "<body><h1>T</h1><table><tr><th>a<th>b<tr><td>1<td>2</table><ul><li>one<li>two</ul>"
    assert read_page(page.encode())[0].split("\n\n") == ["# T", "| a | b |\n| --- | --- |\n| 1 | 2 |", "* one\n* two"]


def test_a_page_without_a_body_keeps_items_without_end_tags() -> None:
    page = "<title>T</title><section><p>First</p><ul><li>one<li>two</ul></section><div>x</div>"
    assert re.findall(r"\w+", read_page(page.encode())[0]) == ["T", "First", "one", "two", "x"]


def test_conditions_of_pages_saved_by_word_are_not_read() -> None:
    item = "<![if !supportLists]><span>1.</span><![endif]>申請は三日前<!--[if gte mso 9]><xml>x</xml><![endif]-->"
    assert read_page(f"<p class=MsoListParagraph>{item}<o:p></o:p></p>".encode())[0].strip() == "1.申請は三日前"


def test_links_without_a_known_page_keep_their_words_only() -> None:
    html, _, _ = readable_part('<a href="/x">あ</a><a href="#y">い</a><a href="https://e.example/">う</a>')
    assert html == '<a>あ</a><a>い</a><a href="https://e.example/">う</a>'


AROUND = (
    '<div id="globalNav"><ul><li><a>Products</a></li><li><a>Prices</a></li></ul></div>'
    '<div class="breadcrumb">Home &gt; Staff</div><div class="cookie-banner">We use cookies.</div>'
    '<div class="content"><h1>Canteen</h1><p>Open from noon to two o’clock on every working day.</p>{menu}</div>'
    '<div class="page-footer">Imprint</div>'
)


def test_what_is_called_a_menu_or_a_foot_is_left_out_of_a_page() -> None:
    html, _, _ = readable_part(AROUND.format(menu=""))
    assert "Open from noon" in html
    for unseen in ("Products", "Home", "cookies", "Imprint"):
        assert unseen not in html


def test_a_menu_without_links_is_something_to_eat_and_the_main_part_may_have_any_name() -> None:
    assert "Lentil soup" in readable_part(AROUND.format(menu='<div class="menu"><p>Lentil soup</p></div>'))[0]
    assert "Salmon" in readable_part('<div class="sidebar"><p>Salmon swim upstream.</p></div><p>Fish</p>')[0]


def test_cells_over_several_rows_are_written_in_each() -> None:
    html, _, _ = readable_part(
        "<table><tr><th>Item</th><th colspan=2>Price</th></tr>"
        "<tr><td rowspan=2>AX</td><td>10</td><td>20</td></tr><tr><td>11</td><td rowspan=9>21</td></tr>"
        "<tr><td>BX</td><td>12</td></tr></table>"
    )
    rows = [re.findall(r"<t[dh][^>]*>([^<]*)", row) for row in html.split("</tr>")[:-1]]
    assert rows == [["Item", "Price", "Price"], ["AX", "10", "20"], ["AX", "11", "21"], ["BX", "12", "21"]]


def test_a_long_cell_keeps_its_rows_and_is_said_once() -> None:
    html, _, _ = readable_part(
        f"<table><tr><td rowspan=3>{'long ' * 60}</td><td>1</td></tr><tr><td>2</td></tr><tr><td>3</td></tr></table>"
    )
    assert html.count("long") == 60
    assert html.count("<td") == 6


def test_cells_over_very_many_rows_do_not_fill_the_memory() -> None:
    rows = "".join(f"<tr><td rowspan=9999>{number}</td><td>x</td></tr>" for number in range(400))
    html, _, _ = readable_part(f"<table>{rows}</table>")
    assert html.count("<td") < 400 * 60


def test_what_stands_in_a_box_or_a_tab_of_mkdocs_is_no_code() -> None:
    text = (
        '=== "macOS"\n\n    ``` sh\n    if x\n        up\n    ```\n\n=== "Windows"\n\n    !!! warning "First"\n'
        "        Restart.\n\n    Then go on.\n\nAfter.\n\n    indented = code\n"
    )
    assert re.sub(r"\n{2,}", "\n\n", tidy(text)).strip() == (
        "**macOS**\n\n``` sh\nif x\n    up\n```\n\n**Windows**\n\n**First**\n\nRestart.\n\nThen go on.\n\nAfter.\n\n"
        "    indented = code"
    )


def test_code_behind_a_box_keeps_its_indent() -> None:
    assert "```\n    deep\n```" in tidy("!!! note\n    Words.\n\n```\n    deep\n```\n")


def test_components_of_mdx_are_their_label_and_what_they_hold() -> None:
    text = '<Tabs>\n<TabItem value="w" label="Windows">\n\nUse winget.\n\n</TabItem>\n</Tabs>\n<Spacer size={2} />\n'
    assert re.sub(r"\n{2,}", "\n\n", tidy(text)).strip() == "**Windows**\n\nUse winget."
    picture = '<Shot src="/a.png" title=\'画面\' alt={"保存を押す"} data-alt="x" description="Wait, then save." />'
    assert re.sub(r"\n{2,}", "\n\n", tidy(picture)).strip() == "**画面**\n\nWait, then save.\n\n保存を押す"
    assert tidy("A Vec<T> for <Name>.") == "A Vec<T> for <Name>."


def test_cells_over_several_rows_of_a_table_in_html_are_written_in_each() -> None:
    rows = "<tr><th>City</th><th>Meals</th></tr><tr><td>London</td><td rowspan=2>£48</td></tr><tr><td>Leeds</td></tr>"
    assert "| Leeds | £48 |" in tidy(f"<table>{rows}</table>")


def test_names_in_several_rows_over_a_table_are_one() -> None:
    html, _, _ = readable_part(
        "<table><tr><th rowspan=2>City</th><th colspan=2>Per night</th></tr><tr><th>Hotel</th><th>Meals</th></tr>"
        "<tr><td>Leeds</td><td>£120</td><td>£48</td></tr></table>"
    )
    rows = [re.findall(r"<t[dh][^>]*>([^<]*)", row) for row in html.split("</tr>")[:-1]]
    assert rows == [["City", "Per night Hotel", "Per night Meals"], ["Leeds", "£120", "£48"]]


@pytest.mark.parametrize(
    ("before", "lines"), [("<col width=9>", []), ("<tr><td colspan=3>Paid leave</td></tr>", ["Paid leave"])]
)
def test_columns_and_a_title_over_the_names_do_not_part_a_table_from_them(before: str, lines: list[str]) -> None:
    cells = (("Country", "Days", "Notice"), ("France", "27", "3"), ("Japan", "20", "1"))
    rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells)
    assert read_page(f"<table>{before}{rows}</table>".encode())[0].split("\n\n") == [
        *lines,
        "| Country | Days | Notice |\n| --- | --- | --- |\n| France | 27 | 3 |\n| Japan | 20 | 1 |",
    ]


def test_a_table_in_a_cell_is_said_in_it_and_one_that_arranges_a_page_is_none() -> None:
    inner = "<table><tr><td>Item</td><td>Price</td></tr><tr><td>Pen</td><td>3</td></tr><tr><td>Ink</td><td>9</td></tr></table>"
    form = f"<table><tr><th>No</th><th>Offer</th></tr><tr><td>1</td><td>Two of {inner}</td></tr></table>"
    assert read_page(form.encode())[0].splitlines()[2:] == ["| 1 | Two of Item: Pen, Price: 3; Item: Ink, Price: 9 |"]
    page = f"<table><tr><td>Offers</td><td><table><tr><td><b>Pens</b></td></tr><tr><td>{inner}</td></tr></table></td></tr></table>"
    assert read_page(page.encode())[0].split("\n\n") == [
        "Offers",
        "**Pens**",
        "| Item | Price |\n| --- | --- |\n| Pen | 3 |\n| Ink | 9 |",
    ]


def test_a_caption_stands_above_its_table() -> None:
    rows = "<tr><th>Country</th><th>Days</th></tr><tr><td>France</td><td>27</td></tr>"
    page = f"<p>Leave.</p><table><caption>Paid leave</caption>{rows}</table>".encode()
    assert read_page(page)[0].split("\n\n") == [
        "Leave.",
        "Paid leave",
        "| Country | Days |\n| --- | --- |\n| France | 27 |",
    ]


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        (["Role|Planned|Other|Months", "Lead|5,000|1,000|3", "Board|no limit|no limit|none"], True),
        (["項目|課長|部長|社長", "購入|可|可|可", "採用|不可|不可|可"], True),
        (["|Viewer|Agent|Admin", "Export|no|yes|yes", "Delete|no|no|yes"], True),
        (["Name|Kato|Phone|4410", "Team|Sales|Mail|kato@corp.example", "Desk|4F|Since|2024"], False),
        (["氏名|加藤|電話|4410", "部署|営業|入社|2024年", "住所|東京|備考|なし"], False),
    ],
)
def test_the_first_row_of_a_page_s_table_names_its_columns_unless_it_is_a_form(rows: list[str], named: bool) -> None:
    cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row.split('|'))}</tr>" for row in rows)
    markdown = read_page(f"<table>{cells}</table>".encode())[0]
    assert ("|  |  |  |  |" not in markdown) == named
