"""Lines that were wrapped at a margin, joined again; and what stays a line of its own."""

import pytest

from agent.quoting import clean, link_spans, unwrapped

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
