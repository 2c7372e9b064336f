"""What the check in code lets through and what it does not: both lists matter, a lost good answer is a miss too."""

import pytest

from agent.events import Citation
from agent.grounding.check import LEFT_OUT, Checked, check
from agent.grounding.judge import Verdict
from retrieval.i18n import Language
from retrieval.text import language_of
from retrieval.types import Hit, Passage
from tests.agent.grounding.claim_cases import FALSE, OPPOSITE, STRANGER, TRUE
from tests.agent.passages import (
    DESK,
    EXPENSES,
    HENKIN,
    KEIHI,
    LEAVE,
    REFUNDS,
    VPN,
    VPN_JA,
    YUKYU,
    hit,
)


def checked(
    text: str, *hits: Hit, language: Language | None = None, question: str = "", judged: bool = True
) -> Checked:
    numbered = dict(enumerate(hits, 1))
    return check(text, numbered, language or language_of(text), question=question, judged=judged)


def without(left: str, language: Language = "en", n: int = 1) -> str:
    """`left`, and the line that says that something is left out."""
    return f"{left}\n\n{LEFT_OUT.to(language, n=n)}"


BUT = hit("Half days can be taken, but single hours cannot be taken. Laptops may leave the office and need no permit.")
BUT_JA = hit(
    "半日単位でも取得できますが、時間単位では取得できません。社外への持ち出しは禁止ですが、申請すれば自宅への持ち出しは可能です。"
)


@pytest.mark.parametrize(
    ("source", "true", "false"),
    [
        (BUT, "Half days can be taken.", "Half days cannot be taken."),
        (BUT, "Single hours cannot be taken.", "Single hours can be taken."),
        (BUT, "Laptops may leave the office.", "Laptops may not leave the office."),
        (BUT_JA, "半日単位で取得できます。", "半日単位で取得できません。"),
        (BUT_JA, "時間単位では取得できません。", "時間単位で取得できます。"),
        (BUT_JA, "自宅への持ち出しは可能です。", "自宅への持ち出しはできません。"),
    ],
)
def test_the_two_halves_of_a_but(source: Hit, true: str, false: str) -> None:
    assert checked(f"{true} [1]", source).objections == ()
    assert [each.sentence for each in checked(f"{false} [1]", source).objections] == [false]


CLAUSES = hit("**Leave**\nDays are used by 31st March.\n3 Up to 10 of them are bought. There are 12,500 of them.")


@pytest.mark.parametrize("said", ["Days are used by 31st March.", "3 Up to 10 of them are bought."])
def test_what_stands_there_sign_for_sign_is_not_left_out_however_its_numbers_are_read(said: str) -> None:
    assert checked(f"The page says:\n\n> {said} [1]", CLAUSES, language="en").removed == ()


@pytest.mark.parametrize("said", ["500 of them", "There are 12", "There are 12,50"])
def test_half_a_number_of_it_is_not_what_stands_there(said: str) -> None:
    assert checked(f"{said} [1]", CLAUSES, language="en").removed == (said,)


def test_a_number_is_read_with_what_the_next_line_goes_on_with() -> None:
    page = hit(
        "航空機は普通席とする。ただし、出発から到着までの飛行の時間が8時\n間を超えるときは、部長の許可を得て別の席に変えることができる。"
    )
    assert checked("8時間を超えるときは席を変えられます。[1]", page).objections == ()


def test_a_quoted_row_of_a_table_says_what_it_says() -> None:
    billings = [f"{period} billing {what}" for period in ("Monthly", "Annual") for what in ("price", "minimum seats")]
    names = ("Plan", *billings)
    cells = ("Enterprise", "not offered", "", "58", "50")
    table = "\n".join(f"| {' | '.join(row)} |" for row in (names, ["---"] * 5, ("Team", "19", "5", "15", "3"), cells))
    row = " / ".join(f"{name}: {cell}" for name, cell in zip(names, cells, strict=True) if cell)
    assert checked(f"> {row} [1]", hit(table)).objections == ()


@pytest.mark.parametrize(("source", "claim"), TRUE)
def test_what_the_passage_says_stays_as_it_is(source: Hit, claim: str) -> None:
    result = checked(f"{claim} [1]", source)
    assert result.text == f"{claim} [1]"
    assert (result.removed, result.marked, result.objections) == ((), (), ())
    assert [c.document for c in result.citations] == [source.passage.document]


@pytest.mark.parametrize(("source", "claim"), FALSE)
def test_what_the_passage_does_not_say_is_removed(source: Hit, claim: str) -> None:
    result = checked(f"{claim} [1]", source)
    assert (result.text, result.citations, result.marked) == ("", (), ())
    assert [each.sentence for each in result.objections] == list(result.removed)
    assert len(result.removed) == 1


@pytest.mark.parametrize(("source", "claim"), OPPOSITE)
def test_a_yes_for_a_no_is_objected_to_and_stays(source: Hit, claim: str) -> None:
    result = checked(f"{claim} [1]", source)
    assert (result.text, result.removed, result.marked) == (f"{claim} [1]", (), ())
    assert [each.sentence for each in result.objections] == [claim]
    assert [each.sentence for each in result.open_claims] == [claim]
    assert checked(f"{claim} [1]", source, judged=False).marked == (claim,)


@pytest.mark.parametrize(("source", "claim"), STRANGER)
def test_a_citation_that_has_nothing_to_do_with_its_sentence_is_marked_in_any_case(source: Hit, claim: str) -> None:
    for judged in (True, False):
        result = checked(f"{claim} [1]", source, judged=judged)
        assert result.marked == (claim,) and result.text != f"{claim} [1]"
        assert [each.sentence for each in result.objections] == [claim]


@pytest.mark.parametrize(("source", "claim"), FALSE)
def test_one_false_sentence_leaves_the_true_ones(source: Hit, claim: str) -> None:
    true = REFUNDS if source is not REFUNDS else LEAVE
    said = "Refunds take 30 days." if true is REFUNDS else "You get 20 days of paid leave."
    result = checked(f"{said} [1]\n\n{claim} [2]", true, source, language="en")
    assert result.text == without(f"{said} [1]")
    assert [c.n for c in result.citations] == [1]


# -- citations in all their forms ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Refunds take 30 days [1].", "Refunds take 30 days [1]."),
        ("Refunds take 30 days.[1]", "Refunds take 30 days.[1]"),
        ("Refunds take 30 days. [Result 1]", "Refunds take 30 days. [1]"),
        ("Refunds take 30 days. [Result 1: refunds.md]", "Refunds take 30 days. [1]"),
        ("Refunds take 30 days. [Source 1 (Score: 0.90)]", "Refunds take 30 days. [1]"),
        ("Refunds take 30 days. 【1】", "Refunds take 30 days. [1]"),
        ("Refunds take 30 days. ［１］", "Refunds take 30 days. [1]"),
        ("Refunds take 30 days. [^1]", "Refunds take 30 days. [1]"),
        ("Refunds take 30 days. 【1†source】", "Refunds take 30 days. [1]"),  # OpenAI's own form
        ("Refunds take 30 days.【1†L1-L4】", "Refunds take 30 days.[1]"),
        ("Refunds take 30 days. \\[1\\]", "Refunds take 30 days. [1]"),
        ("Refunds take 30 days. [[1]]", "Refunds take 30 days. [1]"),
        ("Refunds take 30 days. [[1]](refunds.md)", "Refunds take 30 days. [1]"),
        ("Refunds take 30 days (source: 1).", "Refunds take 30 days [1]."),
        ("Refunds take 30 days. (Results 1, 2)", "Refunds take 30 days. [1][2]"),
        ("Refunds take 30 days. [1, 2]", "Refunds take 30 days. [1][2]"),
        ("Refunds take 30 days. [1][2]", "Refunds take 30 days. [1][2]"),
        ("Refunds take 30 days. [1-2]", "Refunds take 30 days. [1][2]"),
        ("Refunds take 30 days. [2]", "Refunds take 30 days. [1]"),
        ("Refunds take 30 days. [7]", "Refunds take 30 days. [1]"),
        ("Refunds take 30 days. [1][7]", "Refunds take 30 days. [1]"),
        ("Refunds take 30 days. [1](https://evil.example.net/x)", "Refunds take 30 days. [1]"),
        ("Refunds take 30 days.", "Refunds take 30 days. [1]"),
        ("返金には30日かかります（出典: 2）。", "返金には30日かかります[1]。"),
        ("返金には30日かかります。（資料2）", "返金には30日かかります。[1]"),
        ("返金には30日かかります。[結果2]", "返金には30日かかります。[1]"),
        ("返金には30日かかります。", "返金には30日かかります。[1]"),
    ],
)
def test_a_citation_in_any_form_becomes_n(written: str, shown: str) -> None:
    assert checked(written, REFUNDS, HENKIN).text == shown


WIKI = "https://wiki.corp.example/handbook/2024/refunds-7"
WIKI_JA = "https://wiki.corp.example/返金"
PAGES = {
    1: hit("Refunds take 30 days after the goods arrive.", "refunds.md", title="Refunds", url=WIKI),
    2: hit("Gift cards are never refunded.", "refunds.md", chunk=1, title="Refunds", url=WIKI),
    3: hit("返金は商品の到着から30日以内に行います。", "henkin.md", title="返金", url=WIKI_JA),
    4: hit("The VPN token is renewed every 90 days.", "vpn.md"),
}


@pytest.mark.parametrize(
    ("written", "shown", "cited"),
    [
        ("Refunds take 30 days after the goods arrive [1]({}).", "Refunds take 30 days after the goods arrive [1].", (1,)),
        ("Refunds take 30 days after the goods arrive [[1]]({}).", "Refunds take 30 days after the goods arrive [1].", (1,)),
        (  # as models cite that have been taught to search the web
            "Refunds take 30 days after the goods arrive ([Refunds]({})). Gift cards are never refunded ([Refunds]({})).",
            "Refunds take 30 days after the goods arrive ([Refunds]({})). [1]"
            " Gift cards are never refunded ([Refunds]({})). [2]",
            (1, 2),
        ),
        ("Refunds take 30 days after the goods arrive ({}).", "Refunds take 30 days after the goods arrive ({}). [1]", (1,)),
        ("Refunds take 45 days after the goods arrive ([Refunds]({})).", "", ()),
        ("返金は到着から30日以内です [3]({})。", "返金は到着から30日以内です [1]。", (3,)),
        ("返金は到着から30日以内です（[返金]({})）。", "返金は到着から30日以内です（[返金]({})）。[1]", (3,)),
    ],
)  # fmt: skip
def test_a_link_to_a_page_cites_the_page(written: str, shown: str, cited: tuple[int, ...]) -> None:
    language = language_of(written)
    address = WIKI_JA if language == "ja" else WIKI
    result = check(written.replace("{}", address), PAGES, language)
    assert (result.text, result.cited) == (shown.replace("{}", address), cited)
    assert result.marked == ()


def test_a_link_with_a_number_for_its_words_that_no_passage_has_stays_a_link() -> None:
    page = hit(f"Ticket [42]({WIKI}) says that refunds take 30 days.", "tickets.md")
    assert checked(f"Ticket [42]({WIKI}) says so: refunds take 30 days. [1]", page).text.startswith(
        f"Ticket [42]({WIKI})"
    )


def test_citations_are_numbered_in_order_of_appearance_and_listed_once() -> None:
    result = checked(
        "MTU は 1400 です。[3]返金は30日です。[2]有給は年20日です。[1]MTUは1400です。[3]", YUKYU, HENKIN, VPN_JA
    )
    assert result.text == "MTU は 1400 です。[1]返金は30日です。[2]有給は年20日です。[3]MTUは1400です。[1]"
    assert [(c.n, c.document) for c in result.citations] == [(1, "vpn-ja.md"), (2, "henkin.md"), (3, "yukyu.md")]
    assert result.cited == (3, 2, 1)


def test_a_citation_quotes_the_sentence_that_says_it() -> None:
    result = checked("Meals are reimbursed up to $75 a day. [1]", EXPENSES)
    assert result.citations == (
        Citation(
            1,
            "expenses.md",
            "handbook",
            0,
            "Meals are reimbursed up to $75 per day.",
            None,
            document_id="id-expenses.md",
        ),
    )


def test_a_quote_of_two_claims_covers_both_when_they_stand_together() -> None:
    result = checked("Reports are due by the 25th and meals are paid. [1] Meals: up to $75. [1]", EXPENSES)
    assert result.citations[0].quote == (
        "Expense reports are due by the 25th of each month. Meals are reimbursed up to $75 per day."
    )


def test_a_quote_is_verbatim_and_bounded() -> None:
    long = hit("The limit is 10 units " + "and so on " * 60 + "until the end.")
    quote = checked("The limit is 10 units. [1]", long).citations[0].quote
    assert len(quote) <= 300
    assert quote in long.passage.text


def test_a_citation_that_leads_its_sentence_belongs_to_it() -> None:
    result = checked("[2]によると、返金は30日かかります。[1]によると、有給は年20日です。", YUKYU, HENKIN)
    assert result.text == "[1]によると、返金は30日かかります。[2]によると、有給は年20日です。"


def test_a_sentence_may_lean_on_the_citation_at_the_end_of_its_paragraph() -> None:
    text = "Full-time employees get 20 days of paid leave. Up to 5 days carry over. [1]"
    assert checked(text, LEAVE).text == text


def test_a_wrong_citation_is_put_right_when_another_passage_says_it() -> None:
    result = checked("Refunds take 30 days. [1]", LEAVE, REFUNDS)
    assert result.text == "Refunds take 30 days. [1]"
    assert result.citations[0].document == "refunds.md"


def test_numbers_of_one_passage_do_not_confirm_the_subject_of_another() -> None:
    assert checked("You get 30 days of paid leave. [1]", LEAVE, REFUNDS).text == ""


def test_a_source_list_at_the_end_is_left_out() -> None:
    assert checked("Refunds take 30 days. [1]\n\nSources:\n- [1] refunds.md\n- [2] leave.md", REFUNDS, LEAVE).text == (
        "Refunds take 30 days. [1]"
    )
    assert checked("返金は30日です。[1]\n\n**出典**\n[1] henkin.md", HENKIN).text == "返金は30日です。[1]"


def test_neighbours_that_the_model_saw_count_as_the_passage() -> None:
    around = hit("Refunds over $500 take 45 days.", "refunds.md", chunk=4)
    result = check("Over $500 it takes 45 days. [1]", {1: REFUNDS}, "en", context={1: (around.passage,)})
    assert result.citations == (
        Citation(
            1,
            "refunds.md",
            "handbook",
            4,
            "Refunds over $500 take 45 days.",
            title="Refunds",
            document_id="id-refunds.md",
        ),
    )


# -- what is kept around the claims ----------------------------------------------------------------------------------


def test_introductions_and_courtesies_stay_only_beside_a_claim() -> None:
    text = "お調べしました。\n\n返金には30日かかります。[1]\n\nお役に立てれば幸いです。"
    assert checked(text, HENKIN).text == text
    assert checked("お調べしました。\n\n返金には50日かかります。[1]\n\nお役に立てれば幸いです。", HENKIN).text == ""
    assert checked("Here is what I found:\n\n- Refunds take 50 days. [1]", REFUNDS).text == ""


def test_an_introduction_goes_when_its_list_has_gone() -> None:
    text = "Refunds take 30 days. [1]\n\nThe limits are:\n\n- $900 a day [1]\n- $800 a week [1]"
    assert checked(text, REFUNDS).text == without("Refunds take 30 days. [1]", n=2)


def test_a_list_keeps_its_true_items_and_its_form() -> None:
    text = "経費のルールは次のとおりです。\n\n- 締め切りは毎月25日です [1]\n- 食事代は1日9,000円までです [1]\n- 酒代は精算できません [1]"
    assert checked(text, KEIHI).text == without(
        "経費のルールは次のとおりです。\n\n- 締め切りは毎月25日です [1]\n- 酒代は精算できません [1]", "ja"
    )


def test_a_table_keeps_its_true_rows() -> None:
    text = "| Item | Limit |\n|---|---|\n| Meals per day | $75 |\n| Hotels per day | $300 |\n\n[1]"
    assert checked(text, EXPENSES).text == without("| Item | Limit |\n|---|---|\n| Meals per day | $75 |\n\n[1]")


def test_a_row_without_a_citation_gets_one_inside_the_table() -> None:
    text = "| Item | Limit |\n|---|---|\n| Meals reimbursed per day | $75 |"
    assert checked(text, EXPENSES).text.endswith("| Meals reimbursed per day | $75 [1] |")


def test_a_heading_goes_with_its_section_and_must_not_invent_numbers() -> None:
    text = "## Refunds\nRefunds take 30 days. [1]\n\n## Fees\nIt costs $20. [1]"
    assert checked(text, REFUNDS).text == without("## Refunds\nRefunds take 30 days. [1]")
    assert checked("## 45 days\nRefunds take 30 days. [1]", REFUNDS).text == without("Refunds take 30 days. [1]")


def test_code_blocks_are_not_touched() -> None:
    text = "For ERR-4041 restart the service: [1]\n\n```sh\nsystemctl restart vpnd  # a[1]\n```"
    assert checked(text, VPN).text == text


@pytest.mark.parametrize(
    "code",
    [
        "SYSTEMCTL restart vpnd",
        "# first\nsystemctl restart <service>",
        "systemctl restart ${UNIT}  # or another one",
        "systemctl restart UNIT_NAME",
    ],
)
def test_code_of_the_passages_with_blanks_and_remarks_is_no_invention(code: str) -> None:
    assert not checked(f"Restart it: [1]\n\n```sh\n{code}\n```", VPN).objections


@pytest.mark.parametrize(
    ("language", "told"), [("en", "(not confirmed in the sources)"), ("ja", "（※ 資料では確認できませんでした）")]
)
def test_a_command_that_nobody_has_read_anywhere_is_objected_to_and_marked(language: Language, told: str) -> None:
    block = "```sh\nsystemctl purge vpnd\n```"
    result = checked(f"AnyConnect 4.10: [1]\n\n{block}", VPN, language=language)
    assert result.text == f"AnyConnect 4.10: [1]\n\n{block}\n{told}"
    assert result.marked == (block,) and "purge" in result.objections[0].reason
    asked = checked(f"AnyConnect 4.10: [1]\n\n{block}", VPN, question="Is `systemctl purge vpnd` right?")
    assert not asked.marked


def test_saying_what_the_documents_do_not_say_stays_beside_a_claim_only() -> None:
    text = "Refunds take 30 days. [1] The documents do not mention exchanges."
    assert checked(text, REFUNDS).text == text
    assert checked("The documents do not mention exchanges.", REFUNDS).text == ""
    assert checked("この件に関する記載は見つかりませんでした。", HENKIN).text == ""


def test_a_claim_without_a_citation_that_no_passage_says_stays_for_the_judge() -> None:
    advice = "You can also ask a lawyer to speed the process up."
    text = f"Refunds take 30 days. [1] {advice}"
    result = checked(text, REFUNDS)
    assert (result.text, [each.sentence for each in result.open_claims]) == (text, [advice])
    assert checked(text, REFUNDS, judged=False).marked == (advice,)


def test_nothing_retrieved_leaves_nothing() -> None:
    assert checked("Refunds take 30 days. [1]").text == ""


def test_empty_and_odd_texts_leave_nothing() -> None:
    for text in ("", "   ", "[1]", "[1][2]", "---", "。", "```\n```", "\u200b", "| |\n|--|"):
        assert checked(text, REFUNDS).text == ""


# -- what only a reader can tell -------------------------------------------------------------------------------------


def test_a_number_that_only_the_question_has_may_be_repeated_and_proves_nothing() -> None:
    compared = "No, with 45 days you are over the 30 days that refunds take. [1]"
    assert checked(compared, REFUNDS, question="Is 45 days ok?", judged=False).text == compared
    agreed = "Yes, reporting up to 45 days is perfectly acceptable. [1]"
    result = checked(agreed, REFUNDS, question="Is 45 days ok?", judged=False)
    assert len(result.marked) == 1


@pytest.mark.parametrize(
    ("source", "question", "agreed", "refused"),
    [
        (REFUNDS, "Are you sure? I think it is 45 days.", "Refunds take 45 days.", "Refunds do not take 45 days."),
        (HENKIN, "45日ではないですか？", "返金には45日かかります。", "返金に45日はかかりません。"),
    ],
)
def test_who_gives_in_to_the_asker_is_doubted_where_the_passage_has_another_figure(
    source: Hit, question: str, agreed: str, refused: str
) -> None:
    doubted = checked(f"{agreed} [1]", source, question=question, judged=False)
    assert doubted.marked == (agreed,) and [each.sentence for each in doubted.objections] == [agreed]
    objections = checked(f"{refused} [1]", source, question=question, judged=False).objections
    assert not any(figure in each.reason for each in objections for figure in ("“45 days”", "「45日」"))


@pytest.mark.parametrize(
    ("said", "sources", "shown"),
    [
        ("Refunds take 30 days. [1][2]", (REFUNDS, VPN), "Refunds take 30 days. [1]"),
        ("Refunds take 30 days. [1][2]", (VPN, REFUNDS), "Refunds take 30 days. [1]"),
        ("Refunds take 30 days. [1][2]", (REFUNDS, HENKIN), "Refunds take 30 days. [1][2]"),
        ("返金には30日かかります。[1][2]", (HENKIN, VPN), "返金には30日かかります。[1]"),
        ("Both pages agree. [1][2]", (REFUNDS, HENKIN), "Both pages agree. [1][2]"),
    ],
)
def test_a_passage_that_has_nothing_of_a_sentence_is_no_source_of_it(
    said: str, sources: tuple[Hit, ...], shown: str
) -> None:
    assert checked(said, *sources).text == shown


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (HENKIN, "返金には30日かかります。ご不便をおかけして申し訳ありません。[1]"),
        (REFUNDS, "Refunds take 30 days. I hope that helps. [1]"),
    ],
)
def test_courtesy_at_the_end_that_bears_the_citation_is_no_claim(source: Hit, text: str) -> None:
    result = checked(text, source)
    assert result.cited == (1,) and not result.objections and not result.removed


def test_of_an_answer_that_cites_nothing_each_statement_is_objected_to() -> None:
    result = checked("Certainly: wait 30 days more.", REFUNDS)
    assert result.text == "" and [each.sentence for each in result.objections] == ["Certainly: wait 30 days more."]


def test_an_identifier_missing_across_languages_is_in_doubt() -> None:
    said = "返金は CorpPay で30日かかります。"
    assert checked(f"{said}[1]", REFUNDS, judged=False).text == f"{said}[1]（※ 資料では確認できませんでした）"
    assert [each.sentence for each in checked(f"{said}[1]", REFUNDS).objections] == [said]


def test_a_name_in_its_own_letters_is_in_doubt_where_a_passage_in_them_does_not_have_it() -> None:
    assert checked("担当は Maria Lopez です。[1]", DESK).objections == ()
    assert [each.sentence for each in checked("担当は Cigna です。[1]", DESK).objections] == ["担当は Cigna です。"]


def test_a_figure_that_does_not_show_what_it_is_computed_from_is_in_doubt() -> None:
    source = hit("小プランは月1,980円、大プランは月7,480円です。")
    shown = "大プランは7,480円、小プランは1,980円なので、差額は5,500円です。"
    assert checked(f"{shown}[1]", source).objections == ()
    said = "大プランと小プランの差額は5,500円です。"
    result = checked(f"{said}[1]", source, judged=False)
    assert (result.marked, result.removed) == ((said,), ())
    assert [each.sentence for each in result.open_claims] == [said]


def test_another_name_in_quotation_marks_is_in_doubt() -> None:
    source = hit("申請は「ヤマブキ申請ナビ」から行います。")
    assert checked("「ヤマブキ申請ナビ」で申請します。[1]", source).objections == ()
    said = "申請は「ヤマブキワークフロー」から行います。"
    assert [each.sentence for each in checked(f"{said}[1]", source).objections] == [said]


def test_a_condition_is_no_denial() -> None:
    source = hit("つながらない場合は、表示された番号をヘルプデスクに伝えます。")
    assert checked("直らなければ、表示された番号をヘルプデスクに伝えます。[1]", source).objections == ()


def test_another_department_is_in_doubt() -> None:
    source = hit("育児休業申出書は人事部労務課に提出する。")
    assert checked("申出書は人事部の労務課に提出します。[1]", source).objections == ()
    said = "申出書は経理部に提出します。"
    result = checked(f"{said}[1]", source, judged=False)
    assert result.marked == (said,) and result.removed == ()
    asked = "期限は資料に記載がありません。経理部にご確認ください。"
    assert checked(f"申出書は人事部労務課に提出します。[1] {asked}", source).objections == ()


@pytest.mark.parametrize(
    ("passage", "stated", "said"),
    [
        ("Base backups are kept for 35 days, archives for 14 days.", False, "Archives are kept for 35 days."),
        ("The node may only be attached after a rewind.", False, "The node may be attached."),
        ("Archives are kept for 35 days.", True, "35 days are archives kept."),
        ("市外の方の使用料は高くなります。", False, "市内の方の使用料は高くなります。"),
    ],
)
def test_the_same_words_under_another_condition_or_beside_another_number_are_judged(
    passage: str, stated: bool, said: str
) -> None:
    assert (checked(f"{said} [1]", hit(passage)).open_claims == ()) is stated


def test_what_a_judge_found_decides() -> None:
    said = "You can get a refund for gift cards."
    text = f"Refunds take 30 days. [1] {said} [1]"

    def judged(verdict: Verdict) -> Checked:
        return check(text, {1: REFUNDS}, "en", judged=False, verdicts={said: verdict})

    assert judged("entailed").text == text
    assert judged("contradicted").text == without("Refunds take 30 days. [1]")
    assert judged("not_stated").marked == (said,)
    assert all(each.sentence != said for each in judged("entailed").open_claims)


# -- addresses -------------------------------------------------------------------------------------------------------


def test_only_addresses_of_cited_passages_stay() -> None:
    text = "Set the MTU to 1400, see https://vpn.corp.example/get and [the wiki](https://wiki.corp.example/vpn). [1]"
    assert checked(text, VPN).text == text
    evil = "Set the MTU to 1400, see [the wiki](https://evil.test/?q=MTU). ![x](https://evil.test/a.png) [1]"
    assert checked(evil, VPN).text == "Set the MTU to 1400, see the wiki. x [1]"


@pytest.mark.parametrize(
    ("source", "said", "shown"),
    [
        (VPN, "Download AnyConnect 4.10 from https://evil.test/get.", "Download AnyConnect 4.10 from (address left out)."),
        (VPN, "The client is AnyConnect 4.10 (https://evil.test/get).", "The client is AnyConnect 4.10 (address left out)."),
        (VPN_JA, "AnyConnect 4.10 です（https://evil.test/get）。", "AnyConnect 4.10 です（アドレスは省きました）。"),
    ],
)  # fmt: skip
def test_where_an_invented_address_stood_a_reader_and_the_review_are_told(source: Hit, said: str, shown: str) -> None:
    result = checked(f"{said} [1]", source)
    assert result.text.replace(" [1]", "") == shown and len(result.objections) == 1


@pytest.mark.parametrize("leads", ["Download: https://evil.test/get", "See https://evil.test/get. [1]", "- https://evil.test/get [1]"])  # fmt: skip
def test_what_only_leads_to_an_invented_address_is_left_out_and_counted(leads: str) -> None:
    result = checked(f"The client is AnyConnect 4.10. [1]\n{leads}", VPN)
    assert result.text == without("The client is AnyConnect 4.10. [1]") and len(result.objections) == 1


def test_a_page_that_is_called_like_an_address_keeps_its_name() -> None:
    page = hit("Dumps are kept for 120 days.", title="Data backups in PORTAL.UK", headings=("On booking.com",))
    text = "**Data backups in PORTAL.UK › On booking.com**\n> Dumps are kept for 120 days. [1]"
    assert checked(text, page).text == text


def test_an_address_of_a_passage_that_is_not_cited_goes() -> None:
    text = "Refunds take 30 days, see https://wiki.corp.example/vpn. [1]"
    assert "wiki" not in checked(text, REFUNDS, VPN).text


def test_a_sentence_wrapped_at_a_margin_is_quoted_whole() -> None:
    wrapped = hit(
        "The database of the password manager is stored locally on your computer, though we\n"
        "recommend that you sync it to the shared drive.\n"
        "- Passwords are kept for 90 days."
    )
    claim = "We recommend that you sync the password manager's database to the shared drive."
    (citation,) = checked(f"{claim} [1]", wrapped).citations
    assert citation.quote.endswith("though we recommend that you sync it to the shared drive.")


@pytest.mark.parametrize(
    ("wrapped", "claim", "quote"),
    [
        (
            "申請は社内ポータルの申請画面から行います。承認されるまでに三営業日ほどかか\n"
            "りますので、出張の日程が決まり次第、早めに申請してください。",
            "承認までに三営業日ほどかかるので、早めに申請してください。[1]",
            "承認されるまでに三営業日ほどかかりますので、出張の日程が決まり次第、早めに申請してください。",
        ),
        (
            "You also apply for a [travel\ncard](/card/) at the desk. It takes two weeks.",
            "You apply for a travel card at the desk. [1]",
            "You also apply for a [travel\ncard](/card/) at the desk.".replace("\n", " "),
        ),
        (
            "Read [Who pays? Travel costs](/pay/) before you book a hotel. Then book it.",
            "Read about travel costs before booking a hotel. [1]",
            "Read [Who pays? Travel costs](/pay/) before you book a hotel.",
        ),
        (
            f"Hotels are booked {'early and ' * 27}then [paid by the card of the company](https://wiki.corp.example/pay).",
            "Hotels are booked early and then paid by the card of the company. [1]",
            f"Hotels are booked {'early and ' * 27}then",
        ),
    ],
)
def test_a_quotation_is_one_piece(wrapped: str, claim: str, quote: str) -> None:
    (citation,) = checked(claim, hit(wrapped)).citations
    assert citation.quote == quote


# -- what is not read at first ---------------------------------------------------------------------------------------


def test_hours_that_count_to_24_in_one_sentence_do_so_in_the_next() -> None:
    clock = hit("受付は9時から18時です。朝の会議は3時からです。")
    assert checked("朝の会議は15時からです。[1]", clock).text == ""
    assert checked("朝の会議は3時からです。[1]", clock).text


@pytest.mark.parametrize("said", ["こどもの入場は無料です。", "子供の入場は無料です。"])
def test_a_contradiction_is_found_in_another_spelling(said: str) -> None:
    assert checked("子供の入場は無料ではありません。[1]", hit(said)).objections
    assert not checked("子供の入場は無料です。[1]", hit(said)).objections


def test_a_name_is_found_in_the_other_script() -> None:
    assert checked("アカウントはGoogleで管理します。[1]", hit("アカウントはグーグルで管理しています。")).text
    assert not checked("アカウントはAmazonで管理します。[1]", hit("アカウントはグーグルで管理しています。")).text


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        (
            "Lost cards are blocked by the desk on the fourth floor. [1]",
            "The desk on the fourth floor blocks lost cards.",
        ),
        ("Visitors sign in at the gate. [1]", "Visitors sign in at the gate."),
        ("The fee for a new card is 900 yen. [1]", "A new one costs 900 yen."),
        ("カードの再発行は900円です。[1]", "A new one costs 900 yen."),
    ],
)
def test_a_neighbour_is_quoted_for_what_it_says(claim: str, quote: str) -> None:
    own = hit("Cards open the doors of the building. Every card carries a photo.", "cards.md", chunk=1)
    around = [
        Passage("handbook", "id-cards.md", "cards.md", chunk, text, "team")
        for chunk, text in enumerate(
            [
                "Guests are welcome. Visitors sign in at the gate.",
                "",
                "The desk on the fourth floor blocks lost cards. A new one costs 900 yen.",
            ]
        )
        if text
    ]
    result = check(claim, {1: own}, language_of(claim), context={1: around})
    assert [(each.quote, each.chunk) for each in result.citations] == [(quote, 0 if "gate" in quote else 2)]


def test_a_quotation_is_cited_once_and_what_is_left_out_of_it_leaves_no_gap() -> None:
    source = hit("Refunds take 30 days. Bob approves refunds. Ask the office.")
    quoted = "> Refunds take 30 days.\n> - Bob approves refunds. [1]\n>\n> Ask the office. [1]"
    assert checked(quoted, source).text == quoted
    assert checked(quoted.replace("30", "99"), source).text == without(quoted.split("\n", 1)[1])
    assert checked(quoted.replace("Ask the office", "Ask all 99 offices"), source).text == without(
        quoted.split("\n>\n")[0]
    )


LINKED = hit("Book with [Sky](https://book.example/7)Rail first.")
LINKED_JA = hit("ログは[クラウド](https://log.example/7)コンソールで確認します。")
CODED = hit("清算は、コンカー `expense` アプリで申請します。質問はワーク #keiri フローで申請します。")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (LINKED, "Book with SkyRail first."),
        (LINKED_JA, "ログはクラウドコンソールで確認します。"),
        (CODED, "清算は、コンカー `expense` アプリで申請します。"),
        (CODED, "質問はワーク #keiri フローで申請します。"),
    ],
)
def test_a_name_with_a_link_or_code_in_it_is_that_of_the_page(source: Hit, said: str) -> None:
    assert (checked(f"{said} [1]", source).text, checked(f"{said} [1]", source).objections) == (f"{said} [1]", ())


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (LINKED, "Book with SkyBus first."),
        (LINKED_JA, "ログはクラウドモニターで確認します。"),
        (CODED, "清算は、オービック `expense` アプリで申請します。"),
        (CODED, "清算は、コンカー `refund` アプリで申請します。"),
        (CODED, "質問はワーク #keiri ボードで申請します。"),
    ],
)
def test_another_name_with_a_link_or_code_in_it_is_not(source: Hit, said: str) -> None:
    assert checked(f"{said} [1]", source).removed == (said,)


def test_an_abbreviation_may_be_written_out() -> None:
    source = {1: hit("The drill is at 11am BST.")}
    assert check("It is at 11:00 in British Summer Time. [1]", source, "en").removed == ()
    assert check("It is at 11:00 in Central European Time. [1]", source, "en").text == ""


def test_what_a_judge_finds_entailed_needs_no_citation_of_its_own() -> None:
    source = {1: hit("Accidents: 4 in February, 2 in March."), 2: hit("Tea is free.")}
    said = "The number of accidents is clearly going down.\n\n- February: 4 [1]\n- March: 2 [1]"
    lead = "The number of accidents is clearly going down."
    assert [each.sentence for each in check(said, source, "en").objections] == [lead]
    assert check(said, source, "en", verdicts={lead: "entailed"}).objections == ()
