"""Chunks: nothing lost, nothing too long, each one understandable on its own."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.chunking import chunks, embedding_text
from retrieval.types import Chunk, Document, QAPair


def measure(text: str) -> int:
    """About what a multilingual sub-word model counts: a prefix, a half token for a Japanese character, a fifth
    else."""
    wide = sum(character > "\u2fff" for character in text)
    return 4 + (wide + 1) // 2 + (len(text) - wide + 4) // 5


def cut(
    markdown: str, *, title: str = "", max_chars: int = 2048, max_tokens: int = 512, target: int = 320
) -> list[Chunk]:
    return chunks(
        Document("page.md", markdown, title), max_chars=max_chars, max_tokens=max_tokens, measure=measure, target=target
    )


def texts(made: Iterable[Chunk]) -> list[str]:
    return [chunk.text for chunk in made]


def said(count: int, word: str = "手順") -> str:
    return "".join(f"{word}{number}番目の作業では、担当者が機器の状態を確認して記録します。" for number in range(count))


# -- sections -------------------------------------------------------------------------------------------------------


def test_each_chunk_knows_its_heading_path() -> None:
    made = cut(f"# 運用\n\n{said(8)}\n\n## VPN\n\n{said(8)}\n\n### 申請\n\n{said(8)}\n\n## 電話\n\n{said(8)}\n")
    assert [chunk.headings for chunk in made] == [("運用",), ("運用", "VPN"), ("運用", "VPN", "申請"), ("運用", "電話")]
    assert [chunk.number for chunk in made] == [0, 1, 2, 3]
    assert not any("#" in chunk.text for chunk in made)


def test_a_heading_that_repeats_the_title_is_not_repeated_in_the_path() -> None:
    made = cut(f"# Handbook\n\n{said(8)}\n\n## Leave\n\n{said(8)}", title="Handbook")
    assert [chunk.headings for chunk in made] == [(), ("Leave",)]
    assert embedding_text("Handbook", made[1]).startswith("Handbook\nLeave\n手順0")


def test_headings_are_read_without_markup() -> None:
    (chunk,) = cut("## The **`api_key`** of [Example](https://example.com) ##\n\nKeep it secret.")
    assert chunk.headings == ("The api_key of Example",)


@pytest.mark.parametrize("begun", ["<!-- begins a comment", "<script> is a tag", "<your name>"])
def test_what_looks_like_markup_hides_no_heading(begun: str) -> None:
    made = cut(f"# Web\n\n{begun}\n{said(8)}\n## Dates\n\n{said(8)}", title="Web")
    assert [chunk.headings for chunk in made] == [(), ("Dates",)]


def test_tiny_neighbours_of_one_parent_share_a_chunk_and_keep_their_headings_in_its_text() -> None:
    made = cut(f"# Contacts\n\n## Sales\n\nAsk Sato.\n\n## Support\n\nAsk Ito.\n\n# Rules\n\n{said(10)}")
    assert [chunk.headings for chunk in made] == [("Contacts",), ("Rules",)]
    assert made[0].text == "## Sales\n\nAsk Sato.\n\n## Support\n\nAsk Ito."


def test_a_tiny_section_of_another_parent_stays_alone() -> None:
    made = cut("# A\n\n## X\n\nOne line.\n\n# B\n\n## Y\n\nAnother line.")
    assert [(chunk.headings, chunk.text) for chunk in made] == [
        (("A", "X"), "One line."),
        (("B", "Y"), "Another line."),
    ]


@pytest.mark.parametrize(
    ("markdown", "pairs"),
    [
        (
            "Ask us.\n\n**Q: Open?**\nA: Until six.\n\n**Q: Bikes?**\nA: Level B2.\n\nBring a lock.",
            ["Ask us.", "**Q: Open?**\nA: Until six.", "**Q: Bikes?**\nA: Level B2.\n\nBring a lock."],
        ),
        (
            "Q1. 開館は？\nA1. 9時です。\nQ2. 駐輪は？\nA2. 地下です。",
            ["Q1. 開館は？\nA1. 9時です。", "Q2. 駐輪は？\nA2. 地下です。"],
        ),
        (
            "問１：開館は？\n\n9時です。\n\n問２：駐輪は？\n\n地下です。",
            ["問１：開館は？\n\n9時です。", "問２：駐輪は？\n\n地下です。"],
        ),
        ("- Q: Open?\n  A: Yes.\n- Q: Bikes?\n  A: No.", ["- Q: Open?\n  A: Yes.", "- Q: Bikes?\n  A: No."]),
        ("## Q: Open?\n\nUntil six.\n\n## Q: Bikes?\n\nLevel B2.", ["Until six.", "Level B2."]),
        ("### Q. 開館は？\n\nA. 9時です。\n\n### 駐輪\n\n地下です。", ["A. 9時です。", "地下です。"]),
    ],
)
def test_questions_stand_with_their_answers_alone(markdown: str, pairs: list[str]) -> None:
    assert texts(cut(markdown)) == pairs


@pytest.mark.parametrize(
    "markdown",
    ["Before.\n\nQ: Open?\nA: Yes.", "QA: two\n\nQuestion\n\n問題：二つ", "| Q: a | b |\n| --- | --- |\n| Q: c | d |"],
)
def test_one_question_and_what_is_none_are_not_cut_apart(markdown: str) -> None:
    assert texts(cut(markdown)) == [markdown]


def test_no_chunk_is_a_heading_alone() -> None:
    made = cut(f"# A\n\n## Empty\n\n# B\n\n{said(10)}\n\n## Last")
    assert len(made) == 1
    assert made[0].headings == ("B",)
    assert re.sub(r"手順.*。", "…", made[0].text) == "# A\n\n## Empty\n\n…\n\n## Last"
    assert cut("# Only a heading") == []
    assert texts(cut("# One\n## Two\n")) == ["# One\n\n## Two"]


def test_an_empty_document_has_no_chunks() -> None:
    assert cut("") == cut(" \n\u3000\n") == cut("---\n\n***\n") == []


# -- blocks ---------------------------------------------------------------------------------------------------------


def test_paragraphs_are_packed_up_to_the_target_and_not_cut() -> None:
    paragraphs = [said(4, word) for word in ("準備", "実行", "確認", "報告", "終了")]
    made = cut("\n\n".join(paragraphs), target=150)
    assert len(made) > 1
    assert "\n\n".join(texts(made)) == "\n\n".join(paragraphs)


def test_a_long_paragraph_is_cut_between_sentences_and_overlaps_by_whole_ones() -> None:
    paragraph = said(60)
    made = cut(paragraph)
    assert len(made) > 2
    for before, after in pairwise(made):
        assert before.text.endswith("。")
        repeated = next(size for size in range(len(after.text), -1, -1) if before.text.endswith(after.text[:size]))
        assert 30 < repeated <= 150
        assert after.text[:repeated].endswith("。")
    assert _without_overlap(made) == paragraph


def test_english_sentences_keep_the_space_between_them() -> None:
    paragraph = " ".join(
        f"Sentence number {number} says that the server of team {number} was restarted." for number in range(90)
    )
    made = cut(paragraph)
    assert len(made) > 2
    assert _without_overlap(made) == paragraph


def _without_overlap(made: Iterable[Chunk]) -> str:
    whole = ""
    for chunk in made:
        size = next(size for size in range(len(chunk.text), -1, -1) if whole.endswith(chunk.text[:size]))
        rest = chunk.text[size:]
        whole += (" " if whole and not size and rest[0].isascii() else "") + rest
    return whole


def test_a_sentence_too_long_for_a_chunk_is_cut_behind_a_comma() -> None:
    sentence = "、".join(f"第{number}条に定める事項" for number in range(300)) + "。"
    made = cut(sentence)
    assert len(made) > 2
    assert "".join(texts(made)) == sentence
    assert all(text.endswith("、") for text in texts(made)[:-1])


def test_a_character_is_never_cut_from_its_accent() -> None:
    made = cut("か\u3099" * 3000)
    assert len(made) > 2
    assert not any(text.startswith("\u3099") for text in texts(made))


def test_accents_without_end_are_cut_as_fast_as_letters() -> None:
    measured: Counter[str] = Counter()

    def counted(text: str) -> int:
        measured[text[-1:]] += 1
        return len(text)

    for character in ("x", "\u0335"):
        chunks(Document("notes.md", f"e{character * 3000}"), max_chars=2048, max_tokens=500, measure=counted)
    assert measured["\u0335"] <= measured["x"]


def test_a_long_list_is_cut_between_items_with_nested_ones() -> None:
    items = [f"- 項目{number}の説明をここに書きます。\n  - 補足{number}もあります。" for number in range(60)]
    made = cut("次のとおりです：\n\n" + "\n".join(items))
    assert len(made) > 1
    assert made[0].text.startswith("次のとおりです：\n\n- 項目0")
    assert "\n".join(texts(made)).removeprefix("次のとおりです：\n\n") == "\n".join(items)
    assert all(text.startswith("- 項目") for text in texts(made)[1:])


def test_a_lead_in_goes_with_what_it_introduces() -> None:
    made = cut(f"{said(9)}\n\nThe steps are:\n\n" + "\n".join(f"1. {said(1)}" for _ in range(7)), target=200)
    assert "The steps are:" not in made[0].text
    assert made[1].text.startswith("The steps are:\n\n1. ")


@pytest.mark.parametrize("lead", ["**The steps are:**", "**手順**", "__Steps__"])
def test_a_line_in_bold_goes_with_what_it_stands_over(lead: str) -> None:
    made = cut(f"{said(9)}\n\n{lead}\n\n" + "\n".join(f"1. {said(1)}" for _ in range(7)), target=200)
    assert lead not in made[0].text
    assert made[1].text.startswith(f"{lead}\n\n1. ")


@pytest.mark.parametrize("lead", ["1. 本人が結婚するとき", "本人が結婚するときは次の日数とする。"])
def test_what_stands_in_front_of_a_table_goes_with_it(lead: str) -> None:
    table = "| 休暇 | 日数 |\n| --- | --- |\n" + "\n".join(f"| {said(1)} | {n}日 |" for n in range(5))
    made = cut(f"{said(8)}\n\n{lead}\n\n{table}", target=200)
    assert lead not in made[0].text
    assert made[1].text.startswith(f"{lead}\n\n| 休暇 |")


def test_a_long_table_is_cut_between_rows_and_repeats_its_header() -> None:
    header = "| 日付 | 担当 |\n| --- | --- |"
    rows = [f"| 2026-01-{number % 28 + 1:02} | 担当者{number}番が電話と窓口を受け持つ |" for number in range(120)]
    made = cut(f"{header}\n" + "\n".join(rows))
    assert len(made) > 2
    assert all(text.startswith(f"{header}\n| 2026") for text in texts(made))
    assert [row for text in texts(made) for row in text.split("\n")[2:]] == rows


def test_a_code_fence_stays_whole_where_it_fits() -> None:
    code = "```python\ndef f():\n\n    return 1\n# not a heading\n```"
    made = cut(f"{said(9)}\n\n{code}\n\n{said(9)}", target=200)
    assert any(code in text for text in texts(made))


def test_a_code_fence_that_does_not_fit_is_reopened() -> None:
    lines = [f"    print('line {number} of a long program')" for number in range(200)]
    made = cut("~~~python title=x\n" + "\n".join(lines) + "\n~~~~")
    assert len(made) > 2
    assert all(text.startswith("~~~python title=x\n") and text.endswith("\n~~~~") for text in texts(made))
    assert [line for text in texts(made) for line in text.split("\n")[1:-1]] == lines


def test_addresses_of_links_stay_in_the_text() -> None:
    (chunk,) = cut("See [the form](https://example.com/form?a=1) and [this].\n\n[this]: https://example.com/this\n")
    assert "https://example.com/form?a=1" in chunk.text
    assert "https://example.com/this" in chunk.text


# -- pairs ----------------------------------------------------------------------------------------------------------


def pairs(*made: QAPair, max_tokens: int = 512) -> list[Chunk]:
    document = Document("faq.csv", "\n\n".join(f"Q: {one.question}\nA: {one.answer}" for one in made), "FAQ", made)
    return chunks(document, max_chars=2048, max_tokens=max_tokens, measure=measure)


def test_a_pair_is_one_chunk_whose_question_is_embedded_with_the_answer() -> None:
    made = pairs(QAPair("VPN の MTU は？", "1400 です。"), QAPair("Who orders laptops?", "IT."))
    assert made == [Chunk(0, "1400 です。", (), "VPN の MTU は？"), Chunk(1, "IT.", (), "Who orders laptops?")]
    assert embedding_text("FAQ", made[0]) == "FAQ\nVPN の MTU は？\n1400 です。"


def test_a_long_answer_is_cut_and_each_part_knows_the_question() -> None:
    made = pairs(QAPair("手順は？", said(60)))
    assert len(made) > 2
    assert {chunk.question for chunk in made} == {"手順は？"}
    assert [chunk.number for chunk in made] == [*range(len(made))]


def test_a_question_too_long_to_be_one_becomes_text() -> None:
    made = pairs(QAPair(said(60), "はい。"))
    assert {chunk.question for chunk in made} == {None}
    assert made[-1].text.endswith("はい。")
    assert texts(pairs(QAPair("No answer yet?", " "))) == ["No answer yet?"]


SHEETS = """## Staff

- name: Sato, extension: 12

## FAQ

Q: When is
lunch?
A: At noon.

In the canteen.
team: office

Q: Who cooks?
A: Ann.

## More

Q: When is supper?
A: At six."""


def test_what_stands_beside_the_pairs_of_a_document_is_found_too() -> None:
    asked = (
        QAPair("When is\nlunch?", "At noon.\n\nIn the canteen."),
        QAPair("Who cooks?", "Ann."),
        QAPair("When is supper?", "At six."),
    )
    made = chunks(Document("a.xlsx", SHEETS, "a", asked), max_chars=2048, max_tokens=512, measure=measure)
    assert [(chunk.question, chunk.headings, chunk.text) for chunk in made] == [
        ("When is lunch?", (), "At noon.\n\nIn the canteen."),
        ("Who cooks?", (), "Ann."),
        ("When is supper?", (), "At six."),
        (None, ("Staff",), "- name: Sato, extension: 12"),
    ]
    parts = (QAPair("When is lunch?", "At noon."), QAPair("When is lunch?", "In the canteen."), *asked[1:])
    again = chunks(Document("a.xlsx", SHEETS, "a", parts), max_chars=2048, max_tokens=512, measure=measure)
    assert [chunk.text for chunk in again if chunk.question is None] == ["- name: Sato, extension: 12"]


def test_a_pair_that_stands_there_twice_is_no_text() -> None:
    twice = pairs(QAPair("Open?", "Yes."), QAPair("Open?", "Yes."), QAPair("Open?", "Not on Sundays."))
    assert [chunk.question for chunk in twice] == ["Open?"] * 3


# -- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2047, 2048, 2049])
def test_the_limit_of_characters_holds_to_the_character(size: int) -> None:
    made = cut("x" * size, max_tokens=10_000, target=10_000)
    assert [len(text) for text in texts(made)] == ([size] if size <= 2048 else [2048, 1])


def test_long_titles_and_paths_leave_room_for_the_text() -> None:
    title = "題" * 5000
    path = "".join(f"{'#' * level} {'章' * 190}\n\n" for level in range(1, 7))
    made = cut(path + said(60), title=title, max_tokens=300)
    assert all(measure(embedding_text(title, chunk)) <= 300 for chunk in made)
    assert made[0].headings == ("章" * 190,) * 6


WORDS = st.text(st.sampled_from("あ漢カ。、！？ab Z9.,-|`*\t「」🗻é"), min_size=1, max_size=60)
PARAGRAPHS = st.lists(WORDS, min_size=1, max_size=6).map("\n".join)
LONG = st.builds(lambda text, times: text * times, WORDS, st.integers(20, 120))
HEADINGS = st.builds(
    lambda level, text: f"{'#' * level} 見出し{text}",
    st.integers(1, 6),
    st.from_regex(r"[a-z漢あ]{0,12}", fullmatch=True),
)
LISTS = st.lists(WORDS.map(lambda text: f"- 項{text}".replace("\n", " ")), min_size=1, max_size=30).map("\n".join)
FENCES = st.builds(lambda body: f"```py\n{body}\n```", LONG)
TABLES = st.lists(st.from_regex(r"\| [a-z漢あ]{1,20} \| [0-9]{1,9} \|", fullmatch=True), min_size=1, max_size=60).map(
    lambda rows: "\n".join(["| a | b |", "|---|---|", *rows])
)
BODIES = st.lists(PARAGRAPHS | LONG | HEADINGS | LISTS | FENCES | TABLES, max_size=12).map("\n\n".join)
LIMITS = st.fixed_dictionaries(
    {"max_chars": st.integers(150, 2048), "max_tokens": st.integers(300, 600), "target": st.integers(40, 600)}
)


@given(BODIES | st.text(max_size=3000), st.sampled_from(["", "題", "A title"]), LIMITS)
def test_nothing_is_lost_and_nothing_is_too_long(body: str, title: str, limits: dict[str, int]) -> None:
    made = chunks(Document("x.md", body, title), measure=measure, **limits)
    assert [chunk.number for chunk in made] == [*range(len(made))]
    for chunk in made:
        assert chunk.text.strip()
        assert len(chunk.text) <= limits["max_chars"]
        assert measure(embedding_text(title, chunk)) <= limits["max_tokens"]
    if not made:  # nothing but a heading, rules and white space
        assert len([line for line in re.split(r"[\n\r]", body) if _letters(line)]) <= 1
        return
    # In order: each letter of the body is found behind the one before it. Headings may stand in a path instead.
    shown = iter(_letters("".join(texts(made))))
    paths = [_letters(heading) for heading in (title, *(heading for chunk in made for heading in chunk.headings))]
    for line in re.split(r"[\n\r]", body):
        letters = _letters(line)
        assert any(letters in heading for heading in paths) or all(letter in shown for letter in letters)


def _letters(text: str) -> str:
    return "".join(character for character in text if character.isalnum())


PROSE = st.lists(WORDS.map(lambda text: f"段{text}"), min_size=1, max_size=6).map("\n".join)  # no line is markup


@given(st.lists(PROSE | LISTS | TABLES, min_size=1, max_size=8).map("\n\n".join), LIMITS)
def test_outside_of_headings_not_even_a_sign_is_lost(body: str, limits: dict[str, int]) -> None:
    made = chunks(Document("x.md", body), measure=measure, **limits)
    shown = iter("".join(texts(made)))
    assert all(sign in shown for sign in body if not sign.isspace())
