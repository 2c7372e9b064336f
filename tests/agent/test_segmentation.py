"""Lines that were wrapped at a margin, joined again; and what stays a line of its own."""

import pytest

from agent.segmentation import clean, link_spans, units, unwrapped

LONG = "The database of the password manager is stored locally on your computer, though we"
LONG_JA = "パスワード管理ツールのデータベースは、利用者のパソコンの中に保存されますが、共有ドラ"


@pytest.mark.parametrize(
    ("markdown", "joined"),
    [
        ("One line.", "One line."),
        (f"{LONG}\nsync it.", f"{LONG} sync it."),
        (f"{LONG_JA}\nイブにも同期します。", f"{LONG_JA}イブにも同期します。"),
        ("Apply for a [travel\ncard](/card/) first.", "Apply for a [travel card](/card/) first."),
        ("Read [the\npage](\n/page) first.", "Read [the page]( /page) first."),
        ("> quoted text that\n> goes on", "quoted text that goes on"),
        ("- an item\n  that goes on\n- another", "- an item that goes on\n- another"),
        (f"{LONG}    40 EUR\nSync it{' ' * 80}66 EUR", f"{LONG}    40 EUR\nSync it{' ' * 80}66 EUR"),
        (f"{LONG_JA}　　千円\n共有　　五百円", f"{LONG_JA}　　千円\n共有　　五百円"),
        (
            "１　休暇は総務部に届け出る。\n２　総務部はこれを認める。",
            "１　休暇は総務部に届け出る。\n２　総務部はこれを認める。",
        ),
        ("AUTH_FAILED\n:   Your token is old.\n\nMTU\n: 1400", "AUTH_FAILED:   Your token is old.\n\nMTU: 1400"),
        (f"{LONG} ask Dr.\nSmith for it.", f"{LONG} ask Dr. Smith for it."),
        (f"{LONG}\nsync it.\nFrance 40 EUR\nJapan 66 EUR", f"{LONG} sync it.\nFrance 40 EUR\nJapan 66 EUR"),
        (
            f"{LONG_JA}\nイブにも、利用者が設定したとおりに毎晩同期します。\n第３条 終わる。",
            f"{LONG_JA}イブにも、利用者が設定したとおりに毎晩同期します。\n第３条 終わる。",
        ),
        (
            "（１）本人の結婚　５日\n（２）子の結婚　２日\n第４条　休暇は会社に届け出る。",
            "（１）本人の結婚　５日\n（２）子の結婚　２日\n第４条　休暇は会社に届け出る。",
        ),
        ("（１）消去する。\n　なおSSDは壊す。\n（２）返却する。", "（１）消去する。なおSSDは壊す。\n（２）返却する。"),
        ("営業時間：9時から\n定休日：日曜", "営業時間：9時から\n定休日：日曜"),
        (f"{LONG}\n- item", f"{LONG}\n- item"),
        (f"{LONG}\n\nsync it.", f"{LONG}\n\nsync it."),
        (f"{LONG}\n## sync it", f"{LONG}\n## sync it"),
        (f"{LONG}\n| a | b |", f"{LONG}\n| a | b |"),
        (f"```\n{LONG}\nsync\n```\n{LONG}\nsync", f"```\n{LONG}\nsync\n```\n{LONG} sync"),
    ],
)
def test_lines_are_joined_where_only_a_margin_parts_them(markdown: str, joined: str) -> None:
    assert unwrapped(markdown) == joined
    assert unwrapped(joined) == joined


def test_where_links_are() -> None:
    text = "See [a](/a), [b (c)](/b_(c)) and [d][e], not [f]."
    assert [text[start:end] for start, end in link_spans(text)] == ["[a](/a)", "[b (c)](/b_(c))", "[d][e]"]
    assert link_spans("no [link] here") == []


@pytest.mark.parametrize(
    ("text", "plain"),
    [("two  spaces\n and a line ", "two spaces and a line"), ("a & b", "a & b"), ("a &amp; b", "a & b")],
)
def test_plain_text_and_markup_are_cleaned_alike(text: str, plain: str) -> None:
    assert clean(text) == plain
    assert clean(f"{text}<br>") == plain


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Write to <desk@corp.example> first.", "Write to desk@corp.example first."),
        ("Look at <https://wiki.example/a?b=1>.", "Look at https://wiki.example/a?b=1."),
        ("Run forget <your name> and <T>.", "Run forget <your name> and <T>."),
        ('A <b>bold</b> <span class="x">word</span><br/>here', "A bold word here"),
        ('<Tab label="mac">Open <Key>it</Key></Tab>', "Open it"),
        ("営業利益[^202309]で算出[1]", "営業利益で算出"),
        ("Paid monthly.[^pay-day] See [^this](page).", "Paid monthly. See ^this."),
    ],
)
def test_addresses_and_placeholders_are_read_and_tags_are_not(text: str, read: str) -> None:
    assert clean(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r"Rows marked \*late\* and snake\_case\_names", "Rows marked *late* and snake_case_names"),
        (r"*\*needed by all*", "*needed by all"),
        (r"C:\\drive and `a\_b`", r"C:\drive and `a\_b`"),
        (r"Write \@desk, 5 \$ and \d", r"Write @desk, 5 $ and \d"),
        ("**Note: **ask first", "Note: ask first"),
        ("****Who**** pays", "Who pays"),
        ("**注意： **先に確認する", "注意： 先に確認する"),
        ("2 ** 3 ** 4", "2 ** 3 ** 4"),
        ("ロゴの*右横*に置く（*必須*）", "ロゴの右横に置く（必須）"),
        ("2*3*4 and snake_case_name", "2*3*4 and snake_case_name"),
        ("Ask the desk.\\\nThen wait.\\", "Ask the desk. Then wait."),
        ("窓口に聞く。\\\n待つ。\\", "窓口に聞く。 待つ。"),
    ],
)
def test_signs_that_are_meant_stay_and_what_is_left_of_emphasis_goes(text: str, read: str) -> None:
    assert clean(text) == read


@pytest.mark.parametrize(
    ("markdown", "read"),
    [
        (
            "**Opening hours**\n\nFrom 9 to 5.\n\n__Parking:__\n\nNone.",
            [("Opening hours", ()), ("From 9 to 5.", ("Opening hours",)), ("Parking:", ()), ("None.", ("Parking",))],
        ),
        ("**誰が払う？**\n会社です。", [("誰が払う？", ()), ("会社です。", ("誰が払う？",))]),
        (
            "**受付**\n\n9時から。\n\n## 帰り\n\n鍵を返す。",
            [("受付", ()), ("9時から。", ("受付",)), ("鍵を返す。", ("帰り",))],
        ),
        (
            "第2章 勤務\n第5条（休日）\n休日は土日とする。\n第６条\n　夏は休む。",
            [
                ("第2章 勤務", ()),
                ("第5条（休日）", ("第2章 勤務",)),
                ("休日は土日とする。", ("第2章 勤務", "第5条（休日）")),
                ("第６条", ("第2章 勤務",)),
                ("夏は休む。", ("第2章 勤務", "第６条")),
            ],
        ),
        (
            "■返品\n返品は承る。\n【契約プラン】\n月額です。",
            [("■返品", ()), ("返品は承る。", ("返品",)), ("【契約プラン】", ()), ("月額です。", ("契約プラン",))],
        ),
        (
            "第4条　休暇は届け出る。\n【重要】本日は休む。\n■営業：9時",
            [
                ("第4条　休暇は届け出る。", ()),
                ("【重要】本日は休む。", ()),
                ("■営業：9時", ()),
            ],
        ),
        ("- ■返品\n- 交換", [("■返品", ()), ("交換", ())]),
        ("**Kestrel**\nis a tool.", [("Kestrel is a tool.", ())]),
        ("**Do not share it.**\n\nNever.", [("Do not share it.", ()), ("Never.", ())]),
        ("- **Late**\n- Early", [("Late", ()), ("Early", ())]),
        ("## 納期\n\n**5月**\n\n---\n\n## 税率", [("5月", ("納期",))]),
        ("## Due\n\n**In May**\n\n## Rates", [("In May", ("Due",))]),
    ],
)
def test_a_line_in_bold_or_with_a_sign_of_its_own_heads_what_follows(
    markdown: str, read: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert [(unit.text, unit.headings) for unit in units(markdown)] == read


def test_lines_that_stand_for_themselves_are_told_from_sentences_of_one_line() -> None:
    lines = units("France: 40 EUR\nJapan: 66 EUR. Less for half a day.")
    assert [(unit.text, unit.group) for unit in lines] == [
        ("France: 40 EUR", lines[0].group),
        ("Japan: 66 EUR.", lines[0].group + 1),
        ("Less for half a day.", lines[0].group + 1),
    ]


@pytest.mark.parametrize(
    "lines",
    [
        (
            "[2026-10-06 10:12] Tom: the form says that my hotel is against the rules, and what is that",
            "[2026-10-06 10:20] Lena: it is over the limit for a night, so write why into the box below",
        ),
        (
            "10:12 冨田: 会議室のモニターに何も映らないのですが、ケーブルはつないであります",
            "10:20 藤井: 入力を二番に切り替える",
        ),
        ("10:12 冨田: 何も映らない。助けて", "10:20 藤井: 入力を替えました。10:19 に確認済み"),
    ],
)
def test_what_was_said_at_another_time_is_a_line_of_its_own(lines: tuple[str, str]) -> None:
    assert [unit.text for unit in units("\n".join(lines))] == [*lines]


def test_links_that_a_sentence_leads_to_say_something() -> None:
    page = "## Forms\n\n- [old](a)\n\n## Gifts\n\nGive on this site.\n\n- [Choice](b)\n\n[Back](c)"
    assert [(unit.text, unit.leads_away) for unit in units(page)] == [
        ("old", True),
        ("Give on this site.", False),
        ("Choice", False),
        ("Back", True),
    ]


def test_lines_of_a_paragraph_are_joined_and_links_over_lines_are_understood() -> None:
    wrapped = "You will also need to apply for a [travel\ncard](/card/), and then\n[update your\nprofile](/profile/). This takes two weeks."
    assert [unit.text for unit in units(wrapped)] == [
        "You will also need to apply for a travel card, and then update your profile.",
        "This takes two weeks.",
    ]
    japanese = (
        "経費の精算は、支払日から三十日以内に経費システムで申請して\nください。領収書は原本をスキャンして添付します。"
    )
    assert units(japanese)[0].text.endswith("申請してください。")


def test_an_item_keeps_its_own_lines_its_nested_items_and_its_command() -> None:
    steps = "1. Open the disk:\n\n   ```sh\n   disk open\n   ```\n\n2. Choose a name that\n   nobody else has:\n   - short\n   - lower case\n"
    found_units = units(steps)
    assert [(unit.kind, unit.text) for unit in found_units] == [
        ("item", "Open the disk:"),
        ("code", "disk open"),
        ("item", "Choose a name that nobody else has:"),
        ("item", "short"),
        ("item", "lower case"),
    ]
    assert found_units[3].lead == "Choose a name that nobody else has:"


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("- [ ] Return the key", "☐ Return the key"),
        ("- [x] 鍵を返す", "☑ 鍵を返す"),
        ("２　総務部はこれを速やかに認める。", "総務部はこれを速やかに認める。"),
        ("５　人", "５　人"),
        ("Over {{ COUNT }} offices{% include 'x' %} and {{< figure >}}more.", "Over … offices and more."),
        ("拠点は{{拠点数}}か所です。", "拠点は…か所です。"),
        ("- {{ site.count }} offices", "… offices"),
    ],
)
def test_boxes_numbers_and_what_is_not_known_are_written_as_readers_see_them(markdown: str, text: str) -> None:
    assert [unit.text for unit in units(markdown)] == [text]


@pytest.mark.parametrize(
    ("markdown", "columns"),
    [
        ("| Week | Primary |\n|---|---|\n| 49 | Aiko |", ("Week", "Primary")),
        ("|  |  |\n|---|---|\n| Week | 49 |", ()),
        ("- Time: 10:30, Room: Alps", ("Time",)),
        ("- Time: 10:30", ()),
        ("- Ask first, then book.", ()),
    ],
)
def test_a_row_has_the_names_of_its_columns(markdown: str, columns: tuple[str, ...]) -> None:
    assert [unit.columns for unit in units(markdown)] == [columns]


def test_addresses_in_a_row_cost_no_time() -> None:
    (unit,) = units("[Archive](a.md) " + "https://" * 60 + " is gone")
    assert not unit.leads_away
