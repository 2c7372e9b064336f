"""Which lines of the found passages are shown: over the sample handbook, and one rule at a time."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

from agent.extractive.excerpts import COLUMNS, LONGEST, PASSAGES, Excerpt, candidate_lines
from retrieval.chunking import chunks
from retrieval.sparse import SparseEncoder
from retrieval.types import Document, Hit, Passage
from tests.agent.passages import hit

ENCODER = SparseEncoder()

CLOUD = """The cloud accounts are paid for by the platform team. Ask for an account in the
[cloud request
form](https://forms.corp.example/cloud), and wait for the welcome mail, which
takes about three days.

We recommend using [Terrashape](https://terrashape.example/), which is free and
runs everywhere. You can keep your state files in any bucket.

- Billing code for the accounts: **PLT-204**
- Questions: write to [cloud-desk@corp.example](mailto:cloud-desk@corp.example) or
  dial extension 4410

Start a shell on the jump host as follows:

```sh
hopper enter --region tokyo
```

If a machine behaves strangely, do not switch it off. Switching it off deletes
the traces.
"""
NAVIGATION = """# Cloud accounts

- [Cloud accounts](cloud.md)
- [Cloud request form](https://forms.corp.example/cloud)
- [Cloud billing](billing.md)

## See also

- Cloud accounts and cloud billing
"""


@cache
def handbook(language: str) -> tuple[Passage, ...]:
    """The sample's pages, cut as the product cuts them."""
    made: list[Passage] = []
    for page in sorted((Path(str(files("bot"))) / "sample" / language).glob("*.md")):
        text = page.read_text(encoding="utf-8")
        title = text.splitlines()[0].lstrip("# ")
        for cut in chunks(Document(page.name, text, title), max_chars=2048, max_tokens=512, measure=len):
            made.append(
                Passage("handbook", page.name, page.name, cut.number, cut.text, "team", title, headings=cut.headings)
            )
    return tuple(made)


def found(question: str, language: str) -> list[Hit]:
    """The five passages with most of the question's words, as relevant as they have of them."""
    wanted = set(ENCODER.terms(question))
    ranked = sorted(
        (
            (len(wanted & set(ENCODER.terms(" ".join((p.title, *p.headings, p.text))))) / len(wanted), p)
            for p in handbook(language)
        ),
        key=lambda pair: -pair[0],
    )
    return [Hit(passage, {}, 0.3 + 0.6 * share) for share, passage in ranked[:5]]


def closest(question: str, hits: Sequence[Hit], cosines: Mapping[str, float] | None = None) -> list[Excerpt]:
    return candidate_lines(question, hits, ENCODER.terms).closest(cosines or {})


def shown(question: str, hits: Sequence[Hit]) -> str:
    excerpts = closest(question, hits)
    return "\n".join(line.text for excerpt in excerpts for _, line in excerpt.lines)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("hey, which password manager are we supposed to use?", "Kagibako"),
        ("should I leave my device switched on after I report an incident?", "Leave the device switched on"),
        ("what number do I call when my laptop gets stolen", "7700"),
        ("how many weeks of security fixes… I mean how many months do packages get security fixes?", "18 months"),
        ("what's the command for a rollback?", "hatoba rollback"),
        ("who decides go or no-go?", "release captain"),
        ("what time is the release branch cut on Monday", "16:00"),
        ("how long is an account locked after wrong attempts?", "30 minutes"),
        ("do passwords expire?", "Passwords do not expire."),
        ("are USB sticks allowed?", "USB sticks are blocked"),
        ("how often are laptops replaced", "every four years"),
        ("how much can I spend on mice and keyboards", "12,000 yen"),
        ("who speaks to the press about an incident?", "Ms. Kuroda"),
        ("how many reviews does a change need before it is merged", "Two reviews"),
        ("when do system updates install themselves?", "Thursday at 12:30"),
        ("by when must I return my equipment on the last day?", "15:00"),
        ("is being on call paid?", "25,000 yen a week"),
        ("what happens to the disk after I return my laptop", "90 days"),
    ],
)
def test_english_questions_about_the_sample(question: str, said: str) -> None:
    assert said in shown(question, found(question, "en"))


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("リモートワークは週何日までできますか？", "週3日まで"),
        ("コアタイムは何時から何時まで？", "10時30分から15時"),
        ("夏季休暇は何日もらえますか？", "3日"),
        ("書籍は年間いくらまで買えますか", "3万円"),
        ("大阪市の宿泊費の上限っていくらですか？", "13,000円"),
        ("海外出張の申請はいつまで？", "4週間前"),
        ("経費の質問は誰が返信してくれますか", "相原"),
        ("試用期間はどのくらいですか", "3か月"),
        ("メンターは評価に関わりますか？", "評価には関わりません"),
        ("病気休暇ってありますか？", "病気休暇はありません"),
        ("介護休業は何日まで取れますか", "93日"),
        ("パスワード管理ツールの設定は入社から何営業日以内？", "3営業日"),
        ("打刻を忘れたらどうすればいいですか？", "修正申請"),
        ("年末年始の休みはいつからいつまでですか", "12月29日"),
        ("有給は時間単位で年に何時間まで取れますか？", "40時間"),
        ("日帰り出張の日当はいくら？", "1,500円"),
        ("領収書がいらないのはどんなときですか", "不要"),
        ("残業の上限は月何時間ですか", "30時間"),
    ],
)
def test_japanese_questions_about_the_sample(question: str, said: str) -> None:
    assert said in shown(question, found(question, "ja"))


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("which tool are we supposed to use for cloud accounts?", "We recommend using Terrashape, which is free"),
        ("what billing code do the cloud accounts use?", "PLT-204"),
        ("who do I email with questions on cloud accounts", "cloud-desk@corp.example"),
        ("what is the extension for cloud questions?", "4410"),
        ("how do I get a cloud account", "Ask for an account in the cloud request form, and wait for the welcome mail"),
        ("how long does a cloud account take?", "about three days"),
        ("command to start a shell on the jump host?", "hopper enter --region tokyo"),
        ("should i switch off a machine that behaves strangely", "do not switch it off"),
    ],
)
def test_wrapped_markdown_is_quoted_in_whole_sentences(question: str, said: str) -> None:
    text = shown(question, [hit(CLOUD, "cloud.md", title="Cloud accounts")])
    assert said in text
    assert "](" not in text


def test_pages_of_links_say_nothing_that_is_worth_showing() -> None:
    pages = [*(hit(NAVIGATION, f"nav{n}.md") for n in range(3)), hit(CLOUD, "cloud.md")]
    excerpts = closest("how long does a cloud account take?", pages)
    assert {excerpt.hit for excerpt in excerpts} == {3}


@pytest.mark.parametrize(
    ("page", "lines"),
    [
        ("To order a badge you need:", []),
        ("To order a badge you need:\n\n- [a form](form.md)", ["To order a badge you need:", "a form"]),
        ("To order a badge you need:\n\n- a form", ["To order a badge you need:", "a form"]),
        ("入館証の申請に要るもの：", []),
        ("入館証の申請に要るもの：\n\n- 書類", ["入館証の申請に要るもの：", "書類"]),
    ],
)
def test_what_leads_to_a_line_is_shown_with_it_alone(page: str, lines: list[str]) -> None:
    other = "The badge is blue." if page.isascii() else "入館証は青い。"
    question = "how do I order a badge?" if page.isascii() else "入館証の申請は？"
    assert shown(question, [hit(page), hit(other, "other.md")]).splitlines() == [*lines, other]
    assert shown(question, [hit(page)])


def test_items_below_another_answer_what_it_leads_to() -> None:
    page = "\n".join(
        [
            "1. 入社時休暇は、行政の手続きのために取得できる入社時休暇である。",
            "2. 入社時休暇は、次のとおりの日数を与える。",
            "    * 週5日の者 ・・・ 2日",
            "    * 週4日の者 ・・・ 1日",
            *(
                f"{n}. 入社時休暇の{what}は、入社時休暇の申請書のとおりとする。"
                for n, what in enumerate("期限届出単位賃金残数", 3)
            ),
        ]
    )
    lines = shown("入社時休暇は何日もらえますか", [hit(page)]).splitlines()
    assert {"入社時休暇は、次のとおりの日数を与える。", "週5日の者 ・・・ 2日", "週4日の者 ・・・ 1日"} <= set(lines)


def test_of_a_long_item_the_sentence_that_answers_is_shown() -> None:
    item = "1. " + "Fill in the form and have your superior sign it before you go on. " * 5 + "Cards arrive in 7 days."
    assert "Cards arrive in 7 days." in shown("How long do cards take to arrive?", [hit(item)])


def test_a_line_in_bold_is_a_heading_and_no_line() -> None:
    (excerpt,) = closest("when is the reception open?", [hit("**The reception is open**\n\nFrom 9 to 5.")])
    assert [(line.text, line.headings) for _, line in excerpt.lines] == [("From 9 to 5.", ("The reception is open",))]
    assert shown("where is the reception?", [hit("**The reception is open**")]) == "The reception is open"


@pytest.mark.parametrize(("title", "text"), [("Parking fee", "It is 5 EUR."), ("駐車場の料金", "500円です。")])
def test_a_line_that_is_the_title_of_its_page_is_none(title: str, text: str) -> None:
    assert shown(title, [hit(f"{title}\n\n{text}", title=title)]) == text
    assert shown(title, [hit(title, title=title)]) == title


def test_where_there_are_only_links_they_are_shown() -> None:
    assert "Cloud billing" in shown("cloud billing", [hit("- [Cloud billing](billing.md)", "nav.md")])


@pytest.mark.parametrize("line", ["経費は月末までに申請してください。", "Expenses are filed by the end of the month."])
def test_what_is_shown_is_bounded_in_passages_and_in_columns(line: str) -> None:
    pages = [hit("\n\n".join(f"{n}{at}: {line}" for at in range(30)), f"{n}.md") for n in range(8)]
    excerpts = closest("経費 expenses", pages)
    text = "".join(unit.text for excerpt in excerpts for _, unit in excerpt.lines)
    assert 1 <= len(excerpts) <= PASSAGES
    columns = sum(2 if ord(character) > 0x2FFF else 1 for character in text)
    assert COLUMNS - 100 < columns <= COLUMNS


def test_a_section_about_something_else_is_not_shown_beside_the_one_that_answers() -> None:
    page = (
        "## Passes\n\nA lost pass costs 20 euros. Tell us the same day.\n\n## Kitchen\n\nFridges are emptied on Friday."
    )
    assert shown("what does a lost pass cost?", [hit(page)]) == "A lost pass costs 20 euros.\nTell us the same day."
    other = hit("Fridges are emptied on Friday.", "kitchen.md")
    assert "Fridges" in shown("what does a lost pass cost?", [hit(page), other])


def test_one_line_that_is_longer_than_all_may_be_is_shown_all_the_same() -> None:
    row = "| 項目 | 内容 |\n|---|---|\n| 経費 | " + "とても長い説明" * 90 + " |"
    assert "経費" in shown("経費", [hit(row)])
    assert len(row) > COLUMNS > LONGEST


ROTA = """Handover is every Monday.

| Week starting | Primary | Secondary |
|---|---|---|
| 2026-11-30 | Tom | Lena |
| 2026-12-07 | Aiko | Diego |
| 2026-12-14 | Marcus | Hannah |
| 2026-12-21 | Lena | Priya |
"""
RECORDS = "\n".join(f"- SKU: A{n}, Product: Hex bolt M{n}, Price: {n * 10}" for n in (6, 8, 10, 12))


@pytest.mark.parametrize(
    ("question", "page", "row"),
    [
        ("Who is the primary for the week starting 2026-12-14?", ROTA, "Primary: Marcus"),
        ("who's on call in the week of Dec 7?", ROTA, "Primary: Aiko"),
        ("who is on call in the week of dec 7", ROTA, "Primary: Aiko"),
        ("12月21日の週の当番は？", ROTA, "Primary: Lena"),
        ("what is the price of the hex bolt M10?", RECORDS, "Price: 100"),
    ],
)
def test_the_row_that_is_asked_for_is_shown_without_the_others(question: str, page: str, row: str) -> None:
    (line,) = (line for line in shown(question, [hit(page)]).splitlines() if ": " in line)
    assert row in line


def test_rows_that_fit_alike_are_shown_together() -> None:
    page = "| Room | Item | Serial |\n|---|---|---|\n| Alps | Camera | C-1 |\n| Baltic | Camera | C-2 |\n| Baltic | TV | T-1 |\n"
    assert [serial for serial in ("C-1", "C-2", "T-1") if serial in shown("serial of the camera", [hit(page)])] == [
        "C-1",
        "C-2",
    ]


def test_of_a_table_in_several_passages_only_the_closest_rows_are_shown() -> None:
    parts = [
        hit(f"- Asset: LT-{n}1, Owner: Aiko\n- Asset: LT-{n}2, Owner: Tom", "assets.csv", chunk=n) for n in range(3)
    ]
    assert shown("who has asset LT-12?", parts) == "Asset: LT-12, Owner: Tom"


def test_rows_whose_columns_have_no_known_names_are_shown_with_those_beside_them() -> None:
    page = "|  |  |\n|---|---|\n| Plan | Price |\n| Team | 19 |\n"
    assert shown("price of the team plan", [hit(page)]) == "Plan / Price\nTeam / 19"


def test_a_row_that_is_too_long_has_its_name_and_the_cell_that_is_asked_for() -> None:
    days = ", ".join(f"2026-12-{day:02}: {'late' if day == 24 else 'early'}" for day in range(1, 32))
    row = shown("Which shift does Mori have on 24 December?", [hit(f"- Name: Mori, {days}")])
    assert row.startswith("Name: Mori / ") and row.endswith(" … 2026-12-24: late")
    assert len(row) <= LONGEST


def test_nothing_found_shows_nothing() -> None:
    assert closest("parking", [], cosines={}) == []


def test_lines_of_a_passage_are_in_reading_order() -> None:
    page = "Ask for the card.\n\nPay with the card.\n\nReturn the card to the card desk."
    (excerpt,) = closest("where do I return the card, to the desk?", [hit(page)])
    assert [place for place, _ in excerpt.lines] == [0, 1, 2]


def test_meaning_decides_where_no_words_are_shared() -> None:
    others = [f"{n} coffee tea milk sugar" for n in range(40)]  # more than is shown, and shorter
    page = hit("\n\n".join([*others, "Laptops are replaced by the office."]))
    question = "ノートパソコンは誰が交換しますか？"
    cosines = {
        text: 0.9 if "Laptops" in text else 0.7 for text in candidate_lines(question, [page], ENCODER.terms).undecided()
    }
    excerpts = closest(question, [page], cosines)
    assert "by the office" in excerpts[0].lines[-1][1].text
    assert "by the office" not in shown(question, [page])


def test_meaning_of_a_few_lines_does_not_outweigh_what_their_words_say() -> None:
    table = "| Shown | Cause |\n|---|---|\n| E2 is shown | the sensor is broken |\n| E5 is shown | too little water |\n"
    others = hit("\n\n".join(f"{n} coffee tea milk sugar" for n in range(40)), "others.md")
    question = "And what if E2 is shown?"
    rows = candidate_lines(question, [hit(table), others], ENCODER.terms).undecided()
    first, *_ = closest(question, [hit(table), others], {text: 0.9 if "E5" in text else 0.8 for text in rows})
    assert [line.text for _, line in first.lines] == ["Shown: E2 is shown / Cause: the sensor is broken"]


def test_rows_of_a_table_that_is_asked_for_whole_are_all_shown_however_near_their_meaning() -> None:
    table = "# Action items\n\n| What | Who |\n|---|---|\n| Cancel the lease | Ann |\n| Offer for rooms | Tom |\n"
    question = "What are the action items?"
    rows = candidate_lines(question, [hit(table)], ENCODER.terms).undecided()
    (excerpt,) = closest(question, [hit(table)], {text: 0.9 if "Tom" in text else 0.5 for text in rows})
    assert [line.text for _, line in excerpt.lines] == [
        "What: Cancel the lease / Who: Ann",
        "What: Offer for rooms / Who: Tom",
    ]


def test_a_place_further_down_costs_less_than_what_words_say() -> None:
    pages = [hit("The office opens at nine.", f"{n}.md") for n in range(3)] + [
        hit("Parking costs 500 yen.", "parking.md")
    ]
    assert closest("what does parking cost", pages)[0].hit == 3
    assert closest("opens", pages)[0].hit == 0


@pytest.mark.parametrize(
    ("question", "first"),
    [("How much do refunds cost?", "Each costs a fee of 3 EUR."), ("Who pays for refunds?", "Refunds are paid back.")],
)
def test_the_figure_that_is_asked_for_comes_before_words(question: str, first: str) -> None:
    fees = hit("Each costs a fee of 3 EUR.", document="fees.md")
    paid = hit("Refunds are paid back.", document="paid.md")
    best = closest(question, [paid, fees])[0]
    assert [unit.text for _, unit in best.lines] == [first]


def test_what_is_far_behind_by_its_words_is_not_compared() -> None:
    pages = [
        hit("Parking costs 500 yen.\n\nParking costs nothing at night.\n\nThe office opens at nine.", "parking.md"),
        hit("Bring a badge.", "badge.md"),
    ]
    undecided = candidate_lines("what does parking cost", pages, ENCODER.terms).undecided()
    assert undecided == ["Parking costs 500 yen.", "Parking costs nothing at night."]
    assert len(candidate_lines("駐車料金はいくら", pages, ENCODER.terms).undecided()) == 4


def test_what_is_alone_in_its_language_is_not_compared() -> None:
    """A line is as near as it lies above the mean of its language."""
    pages = [hit("Parking costs 500 yen."), hit("駐車は有料です。")]
    lines = candidate_lines("parking", pages, ENCODER.terms)
    assert lines.undecided() == []
    assert lines.closest({"Parking costs 500 yen.": 0.1, "駐車は有料です。": 0.9}) == lines.closest({})


@pytest.mark.parametrize(
    ("asked", "question", "text", "other"),
    [
        ("and the lift?", "Where is the lift?", "Behind the stairs.", "Printing is on the second floor."),
        ("エレベーターは？", "エレベーターはどこですか", "階段の裏です。", "印刷は二階で行います。"),
    ],
)
def test_a_pair_is_compared_with_its_question_too(asked: str, question: str, text: str, other: str) -> None:
    hits = [hit(other), hit(text, "faq.csv", question=question)]
    assert closest(asked, hits)[0].hit == 1
    again = hit("2", "more.csv", question=question)
    undecided = candidate_lines(asked, [*hits, again], ENCODER.terms).undecided()
    assert f"{question} {text}" in undecided
