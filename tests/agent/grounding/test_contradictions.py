"""Planted contradictions in both languages, and what looks like one and is none."""

import os
import subprocess
import sys

import pytest

from agent.grounding.check import check
from agent.grounding.contradictions import contradictions
from agent.grounding.disclosure import disclosed
from retrieval.i18n import Language
from retrieval.types import Hit
from tests.agent.passages import EXPENSES, HENKIN, KEIHI, MADOGUCHI, RELEASE, hit


def pages(*texts: str | Hit) -> dict[int, Hit]:
    return {n: text if isinstance(text, Hit) else hit(text, f"{n}.md") for n, text in enumerate(texts, 1)}


def answer(text: str, hits: dict[int, Hit], language: Language) -> str:
    return disclosed(check(text, hits, language), hits, language).text


def values(text: str, hits: dict[int, Hit]) -> list[tuple[str, list[str]]]:
    return [(each.kind, [side.value for side in each.sides]) for each in contradictions(text, [1], hits)]


@pytest.mark.parametrize(
    ("text", "one", "other", "kind", "sides"),
    [
        ("30 days. [1]", "Refunds take 30 days.", "Refunds take 45 days.", "amount", ["30 days", "45 days"]),
        (
            "30 days. [1]",
            "Refunds take thirty days.",
            "We ship. Refunds take 6 weeks.",
            "amount",
            ["30 days", "6 weeks"],
        ),
        ("$75 a day. [1]", EXPENSES, "Meals are reimbursed up to $60 per day.", "amount", ["$75", "$60"]),
        ("$75 a day. [1]", EXPENSES, "- Meals are reimbursed up to $60 per day.", "amount", ["$75", "$60"]),
        (
            "The interest is 5%. [1]",
            "The interest on late payments is 5%.",
            "The interest on late payments is 8 percent.",
            "amount",
            ["5%", "8 percent"],
        ),
        (
            "April 1, 2024. [1]",
            RELEASE,
            "Version 3.2 was released on 7 May 2024.",
            "date",
            ["April 1, 2024", "7 May 2024"],
        ),
        (
            "It closes at 6 pm. [1]",
            "The front desk closes at 6 pm.",
            "The front desk closes at 17:30.",
            "date",
            ["6 pm", "17:30"],
        ),
        (
            "Maria Lopez owns it. [1]",
            "The billing service is owned by Maria Lopez.",
            "The billing service is owned by Kenji Tanaka.",
            "owner",
            ["Maria Lopez", "Kenji Tanaka"],
        ),
        (
            "Ask Maria Lopez. [1]",
            "Maria Lopez is responsible for the payroll system.",
            "Kenji Tanaka is responsible for the payroll system.",
            "owner",
            ["Maria Lopez", "Kenji Tanaka"],
        ),
        ("30日です。[1]", HENKIN, "返金には45日かかります。", "amount", ["30日", "45日"]),
        ("毎月二十五日です。[1]", KEIHI, "経費は毎月20日までに申請してください。", "amount", ["25日", "20日"]),
        (
            "年20日です。[1]",
            "正社員には年20日の有給休暇が付与されます。",
            "正社員には年２５日の有給休暇が付与されます。",
            "amount",
            ["20日", "25日"],
        ),
        (
            "5万円までです。[1]",
            "書籍の購入は年間5万円まで補助します。",
            "書籍の購入は年間30,000円まで補助します。",
            "amount",
            ["5万円", "30,000円"],
        ),
        (
            "4月1日です。[1]",
            "本規程は4月1日から施行する。",
            "本規程は5月1日から施行する。",
            "date",
            ["4月1日", "5月1日"],
        ),
        (
            "17時30分までです。[1]",
            MADOGUCHI,
            "ヘルプデスクの受付時間は平日9時から18時までです。",
            "date",
            ["17時30分", "18時"],
        ),
        (
            "担当は田中さんです。[1]",
            HENKIN,
            hit("返金の窓口です。担当は鈴木さんです。", "b.md", title="返金について"),
            "owner",
            ["田中", "鈴木"],
        ),
        (
            "佐藤部長です。[1]",
            "経費精算の承認者は佐藤部長です。",
            "経費精算の承認者は鈴木部長です。",
            "owner",
            ["佐藤", "鈴木"],
        ),
    ],
)
def test_planted(text: str, one: str | Hit, other: str | Hit, kind: str, sides: list[str]) -> None:
    assert values(text, pages(one, other)) == [(kind, sides)]


@pytest.mark.parametrize(
    ("text", "one", "other"),
    [
        # the same in other words, units, digits
        ("30 days. [1]", "Refunds take 30 days.", "Refunds take thirty days."),
        ("2 weeks. [1]", "Refunds take 2 weeks.", "Refunds take 14 days."),
        ("5万円です。[1]", "上限額は5万円です。", "上限額は５０，０００円です。"),
        ("25日です。[1]", KEIHI, "経費は毎月二十五日までに申請してください。"),
        # other things
        ("5 days. [1]", hit("Delivery takes 5 days.", "a.md", title="Laptops"), hit("Delivery takes 7 days.", "b.md", title="Phones")),
        ("5 days. [1]", hit("It takes 5 days.", "a.md", headings=("Laptops",)), hit("It takes 7 days.", "b.md", headings=("Phones",))),
        ("9時です。[1]", "東京オフィスは9時に開きます。", "大阪オフィスは10時に開きます。"),
        ("20日です。[1]", "正社員には年20日の有給休暇が付与されます。", "契約社員には年10日の有給休暇が付与されます。"),
        ("20 days. [1]", "Employees accrue 20 days of paid leave.", "Part-time employees accrue 10 days of paid leave."),
        ("30 days. [1]", "Refunds take 30 days.", "Refunds take 45 days for orders from abroad."),
        ("1泊12,000円です。[1]", "宿泊費の上限は1泊12,000円です。", "海外の宿泊費の上限は1泊20,000円です。"),
        ("30 days. [1]", hit("Refunds take 30 days.", "a.md"), hit("Refunds take 45 days.", "a.md", chunk=4)),
        # other years and versions, and what was
        ("$75. [1]", hit("The meal limit is $75.", "a.md", title="Rules 2023"), hit("The meal limit is $80.", "b.md", title="Rules 2024")),
        ("5,000円です。[1]", "2023年度の上限は5,000円です。", "2024年度の上限は6,000円です。"),
        ("3万円です。[1]", hit("上限は3万円です。", "2023年版.md"), hit("上限は5万円です。", "2024年版.md")),
        ("30 days. [1]", "Refunds take 30 days.", "Refunds previously took 45 days."),
        ("30日です。[1]", "返金には30日かかります。", "以前は、返金には45日かかりました。"),
        ("Python 3.11. [1]", "The client requires Python 3.11.", "The client requires Python 3.12."),
        # ranges, bounds, estimates
        ("10 to 20 days. [1]", "The check takes 10 to 20 days.", "The check takes 15 days."),
        ("10〜20日です。[1]", "審査には10〜20日かかります。", "審査には10〜30日かかります。"),
        ("12 characters. [1]", "Passwords have at least 12 characters.", "Passwords have at most 64 characters."),
        ("12文字以上です。[1]", "パスワードは12文字以上です。", "パスワードは64文字以下です。"),
        ("30 days. [1]", "Refunds take 30 days.", "Refunds take up to 45 days."),
        ("約30分です。[1]", "移動には約30分かかります。", "移動には35分かかります。"),
        ("5 days. [1]", "The review takes 5 days.", "The review takes 7 business days."),
        # lists and tables
        ("5人です。[1]", "- 定員: 5人\n- 面積: 20平米", "- 定員: 8人\n- 面積: 35平米"),
        ("30 days. [1]", "Refunds take 30 days.", "| what | days |\n|---|---|\n| Refunds take | 45 days |"),
        ("20 days. [1]", "Leave is 20 days, sick leave 10 days.", "Leave is 25 days, sick leave 12 days."),
        # a passage that says both, and questions
        ("30 days. [1]", "Refunds take 30 days.", "Refunds take 45 days. With the form, refunds take 30 days."),
        ("30 days. [1]", "Refunds take 30 days.", "Do refunds take 45 days?"),
        # owners of other things, and no owners at all
        ("Lopez. [1]", "The billing service is owned by Maria Lopez.", "The payroll service is owned by Kenji Tanaka."),
        ("日曜です。[1]", "東京支社は日曜に閉まります。", "大阪支社は日曜に閉まります。"),
        ("Tokyo. [1]", "The training takes place in Tokyo.", "The training takes place in Osaka."),
        ("田中です。[1]", "担当は田中です。", "担当は鈴木です。田中は異動しました。"),
        # where it stands
        ("43条です。[1]", "この規程は、就業規則第43条に基づいて定める。", "この規程は、就業規則第45条に基づいて定める。"),
        ("第3項です。[1]", "休職は18条第3項によって命ずる。", "休職は18条第4項によって命ずる。"),
        # what the answer is not about, and another language
        ("It is in the handbook. [1]", "Refunds take 30 days.", "Refunds take 45 days."),
        ("30 days. [1]", "Refunds take 30 days.", "返金には45日かかります。"),
    ],
)  # fmt: skip
def test_no_contradiction(text: str, one: str | Hit, other: str | Hit) -> None:
    assert values(text, pages(one, other)) == []


def test_it_is_said_in_the_askers_language_with_both_sources_and_the_newest() -> None:
    old = hit("Refunds take 30 days.", "old.md", updated="2023-06-30")
    new = hit("Refunds take 45 days.", "new.md", updated="2025-04-01", url="https://wiki.corp.example/new")
    hits = pages(old, new)
    assert answer("Refunds take 30 days. [1]", hits, "en") == (
        "Refunds take 30 days. [1]\n\nNote: the sources disagree about the figure: “30 days” in [1], “45 days” in [2]."
        " The most recent one is [2] (updated 2025-04-01)."
    )
    assert answer("返金には30日かかります。[1]", hits, "ja") == (
        "返金には30日かかります。[1]\n\nなお、数値について資料の内容が食い違っています：[1] では「30 days」、[2] では"
        "「45 days」です。最も新しい資料は [2]（2025-04-01 更新）です。"
    )
    result = disclosed(check("Refunds take 30 days. [1]", hits, "en"), hits, "en")
    assert [(c.n, c.document, c.url) for c in result.citations] == [
        (1, "old.md", None),
        (2, "new.md", "https://wiki.corp.example/new"),
    ]
    assert result.cited == (1, 2)


@pytest.mark.parametrize(
    ("first", "second"),
    [("", "2024-01-01"), ("", ""), ("2024-01-01", "2024-01-01"), ("2024-01", "2024-01-15")],
)
def test_the_newest_is_not_named_when_it_is_not_known(first: str, second: str) -> None:
    hits = pages(
        hit("返金には30日かかります。", "a.md", updated=first), hit("返金には45日かかります。", "b.md", updated=second)
    )
    assert answer("30日です。[1]", hits, "ja").endswith("[1] では「30日」、[2] では「45日」です。")


def test_two_documents_of_one_day_are_the_newest_together_and_a_month_is_a_date() -> None:
    hits = pages(
        hit("Refunds take 30 days.", "a.md", updated="2023-05-02"),
        hit("Refunds take 45 days.", "b.md", updated="2025-01"),
        hit("Refunds take 45 days.", "c.md", updated="2025-01"),
    )
    text = answer("Refunds take 30 days. [1]", hits, "en")
    assert text.endswith("The most recent one is [2] (updated 2025-01).")
    assert [each.date for each in disclosed(check("30 days. [1]", hits, "en"), hits, "en").citations] == [
        "2023-05-02",
        "2025-01",
        "2025-01",
    ]


def test_three_sources_are_two_sides_or_three() -> None:
    hits = pages("Refunds take 30 days.", "Refunds take 45 days.", "Refunds take 45 days.", "Refunds take 60 days.")
    assert answer("Refunds take 30 days. [1]", hits, "en").endswith(
        "“30 days” in [1], “45 days” in [2][3], “60 days” in [4]."
    )


def test_both_quoted_but_not_named_is_named_once() -> None:
    hits = pages("Refunds take 30 days.", "Refunds take 45 days.")
    text = answer("- “Refunds take 30 days.” [1]\n- “Refunds take 45 days.” [2]", hits, "en")
    assert text.count("Note: the sources disagree") == 1


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Refunds take 30 days [1], but 45 days according to [2].", "en"),
        ("The sources differ. Refunds take 30 days. [1] Refunds take 45 days. [2]", "en"),
        ("Refunds take 30 days. [1] This contradicts another page, which says that refunds take 45 days. [2]", "en"),
        ("[1]では返金に30日、[2]では45日かかるとされており、資料が矛盾しています。", "ja"),
        ("返金には30日かかります[1]が、一方で45日とする資料もあります[2]。", "ja"),
    ],
)
def test_what_the_answer_names_itself_is_left_alone(text: str, language: Language) -> None:
    first, second = (
        ("Refunds take 30 days.", "Refunds take 45 days.")
        if language == "en"
        else ("返金には30日かかります。", "返金には45日かかります。")
    )
    hits = pages(first, second)
    checked = check(text, hits, language)
    assert checked.text
    assert disclosed(checked, hits, language) == checked


def test_a_pair_is_compared_with_a_pair() -> None:
    ask = "返金には何日かかりますか？"
    hits = pages(hit("30日です。", "a.csv", question=ask), hit("45日です。", "b.csv", question=ask))
    assert values("30日です。[1]", hits) == [("amount", ["30日", "45日"])]


def test_what_was_left_of_nothing_stays_nothing() -> None:
    hits = pages("Refunds take 30 days.", "Refunds take 45 days.")
    empty = check("Ask our lawyers about it. [9]", hits, "en")
    assert disclosed(empty, hits, "en") == empty


def test_a_list_is_read_the_same_in_every_process() -> None:
    read = "from agent.grounding.contradictions import _terms; print(*map(sorted, map(_terms, ('weak', 'generic', 'cases'))))"
    said = {
        subprocess.run(
            [sys.executable, "-c", read],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for seed in ("1", "8")  # sets come in another order
    }
    assert len(said) == 1
