"""Markdown as Discord's: nothing is lost, nothing is called, nothing becomes a link, and every message has room."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.discord.rendering.markdown import LIMIT, columns, discord, escaped, messages
from agent.links import addresses
from tests.fakes import discord_text as fake

PIECES = st.sampled_from(
    [
        *(
            "<",
            ">",
            "!",
            "@",
            "&",
            "#",
            "/",
            "|",
            "*",
            "_",
            "~",
            "`",
            "\\",
            "[",
            "]",
            "(",
            ")",
            ":",
            "-",
            "+",
            ".",
            "=",
            "1",
            " ",
            "\n",
        ),
        *(
            "\n\n",
            "```",
            "~~~",
            "> ",
            "- ",
            "1. ",
            "    ",
            "|---|---|\n",
            "| a | b |\n",
            "||",
            "://",
            "https:",
            "http://",
            "//",
        ),
        *(
            "@everyone",
            "@here",
            "<@1>",
            "<@&1>",
            "<#1>",
            "</ask:1>",
            "<:e:1>",
            "<a:e:1>",
            "<t:1:R>",
            "<id:guide>",
            "-# ",
        ),
        *(
            "https://ok.example/a_b",
            "<https://ok.example>",
            "[x](https://ok.example)",
            "![x](https://pic.example/x.png)",
        ),
        *(
            "[x](discord://y)",
            "[x](javascript:y)",
            "&lt;@1&gt;",
            "&#64;everyone",
            "&#58;",
            "&#47;",
            "&amp;",
            "a",
            "経費",
            "。",
            "👍🏽",
        ),
    ]
)
TEXTS = st.lists(PIECES, max_size=60).map("".join)


@given(TEXTS)
def test_nobody_is_called_and_no_address_is_new(text: str) -> None:
    for shown in messages(text):
        assert len(shown) <= LIMIT and shown.strip()
        shown = shown.replace("\\`", "'")  # begins no code
        assert not fake.named(shown, [], [])
        found = {each.rstrip("\\") for each in fake.links(shown, [], [])}
        assert all(any(url in one for one in addresses(text)) for url in found), (found, addresses(text))
        assert not fake.previewed(shown)


@given(TEXTS)
def test_plain_text_shows_as_it_is(text: str) -> None:
    shown = escaped(text)
    assert not fake.named(shown, [], []) and not fake.links(shown, [], [])
    assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", shown).replace("\u200b", "") == text.replace("\u200b", "")


@given(st.lists(st.text("経費精算のABC 。,|", min_size=1, max_size=60), min_size=1, max_size=40), st.integers(1, 4))
def test_a_table_loses_nothing_however_long_it_is(words: list[str], width: int) -> None:
    cells = [" ".join(word.replace("|", " ").split()) or "x" for word in words]
    rows = [cells[at : at + width] for at in range(0, len(cells), width)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in [["h"] * width, ["---"] * width, *rows])
    parts = messages(table)
    assert all(len(part) <= LIMIT and part.count("```") % 2 == 0 for part in parts)
    shown = "".join("".join(parts).split())
    assert all("".join(cell.split()) in shown for cell in cells)


def test_columns_stand_under_each_other_where_japanese_is_twice_as_wide() -> None:
    table = "| 名前 | n | 備考 |\n|---|--:|---|\n| 経費 | 10 | あ |\n| x | 5 | <@1> |\n"
    _, *lines, _ = discord(table).strip().split("\n")
    assert lines == ["名前 |   n | 備考", "-----+-----+-----", "経費 |  10 | あ", "x    |   5 | <\u200b@1>"]
    assert len({columns(line.rpartition("|")[0]) for line in (lines[0], *lines[2:])}) == 1


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("__init__ and a_b_c", "**init** and a\\_b\\_c"),
        ("**「重要」**です", "**「重要」**です"),
        ("~~a~~ ~b~ ||c||", "~~a~~ ~~b~~ \\|\\|c\\|\\|"),
        ("a  \nb\\\nc", "a\nb\nc"),
        ("> a\n> > b\nc", "> a\n> b\n> c"),
        ("+ a\n  * b\n    1) c", "- a\n  - b\n    1. c"),
        ("    code\n      more", "```\ncode\n  more\n```"),
        ("- x\n\n  ~~~py\n  a\n  ~~~", "- x\n\n```py\na\n```"),
        ("a &amp; b &lt;c&gt; `x&y`", "a \\& b \\<c\\> `x&y`"),
        ("see https://ok.example/a_b.", "see <https://ok.example/a_b>."),
        ("[https://a.example](https://b.example)", "<https://b.example>"),
        ("[a](javascript:x) [1](page) ![p](https://x.example/p.png)", "a \\[1\\] p"),
        ("`` a ` b `` ```` ``` ````", "`` a ` b `` ` ˋˋˋ `"),
        ("##### small", "**small**"),
        ("text\n-# not small", "text\n\\-# not small"),
    ],
)
def test_what_discord_does_not_know_is_shown_by_other_means(markdown: str, shown: str) -> None:
    assert discord(markdown) == shown


def test_a_long_answer_is_cut_between_its_paragraphs_and_its_code_stays_code() -> None:
    code = "```python\n" + "\n".join(f"line({n})" for n in range(400)) + "\n```"
    parts = messages("\n\n".join(["経費は月末までに申請します。" * 60, code, "終わり。" * 10]))
    assert len(parts) >= 3 and all(len(part) <= LIMIT for part in parts)
    assert all(part.count("```") % 2 == 0 for part in parts)
    assert all(f"line({n})" in "".join(parts) for n in range(400))
