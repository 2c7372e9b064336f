"""Figures that an answer computes: right ones stay, wrong ones are told."""

import pytest

from agent.grounding.arithmetic import derived, equations
from agent.grounding.check import check
from agent.grounding.quantities import facts
from retrieval.text import language_of
from retrieval.types import Hit
from tests.agent.passages import EXPENSES, KEIHI, LEAVE, REFUNDS, YUKYU, hit


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("3 × $240 = $720", True),
        ("3 x 12,000 = 36,000 yen", True),
        ("3 × 12,000 = 38,000 yen", False),
        ("3,000円×3日＝9,000円", True),
        ("3,000円×3日＝8,000円", False),
        ("1万円 × 2 = 2万円", True),
        ("25 days − 20 days = 5 days", True),
        ("20% × 300 = 60", True),
        ("10 / 3 = 3.33", True),
        ("10 / 3 = 3.5", False),
    ],
)
def test_an_equation_is_recomputed(text: str, holds: bool) -> None:
    assert [each.holds for each in equations(text)] == [holds]


@pytest.mark.parametrize(
    ("passage", "right", "wrong"),
    [
        ("A month costs €18.", "A year is 12 × €18 = €216.", "A year is 13 × €18 = €234."),
        ("Waste is collected on Monday and Thursday.", "Twice a week: on Monday and Thursday.", "Three times a week: on Monday and Thursday."),
        ("It needs the manager and the director.", "You need two approvals: the manager and the director.", "You need five approvals: the manager and the director."),
        ("Overtime = base × 1.25 × hours", "Overtime is paid 25% more.", "Overtime is paid 35% more."),
        ("Overtime = base × 1.25 × hours", "Overtime is paid at 125%.", "Overtime is paid at 135%."),
        ("深夜手当 = 基本給 × 0.25 × 時間", "深夜は25%増です。", "深夜は35%増です。"),
        ("The waiting period is 90 days.", "You wait about three months.", "You wait about four months."),
        ("申請は30日以内です。", "申請は約1か月以内です。", "申請は1か月以内です。"),
        ("It costs $200 a month.", "It costs $200 a month, so $2,400 per year.", "It costs $200 a month, so $2,200 per year."),
        ("20 days of leave and 11 holidays.", "You get 20 + 11 = 31 paid days off.", "You get 20 + 11 = 32 paid days off."),
        ("月額は1,980円です。", "3か月使うと5,940円（1,980円×3）です。", "3か月使うと6,940円（1,980円×3）です。"),
        ("月額は1,980円です。", "月額は1,980円です。", "1,990円なので、3か月使うと5,970円（1,990円×3）です。"),
        ("小は1,980円、大は7,480円です。", "小と大の差額は5,500円です。", "小と大の差額は6,500円です。"),
        ("会議室は1,000円。市外の方は1.5倍です。", "市外の方は1.5倍の1,500円です。", "市外の方は1.5倍の1,600円です。"),
        ("A room is €10.", "A room is €10.", "Outside the city it costs three times the fee."),
        ("和室は700円。冷暖房は2割を加算します。", "冷房を使うと700円×1.2＝840円です。", "冷房を使うと700円×1.3＝910円です。"),
        ("Paid on 1 September and 11 March.", "Twice a year, on 1 September and 11 March.", "Four times a year, on 1 September and 11 March."),
        ("本体3,960円、保存880円、番号330円。", "保存（880円）と番号（330円）を付けると合計5,170円です。", "保存（880円）と番号（330円）を付けると合計5,270円です。"),
        ("The limit went from 30 to 45 seconds.", "The limit went up by 15 seconds.", "The limit went up by 20 seconds."),
        ("小は1,980円、大は7,480円です。", "小は1,980円です。", "追加料金は5,500円です。"),
        ("The fee is £38. VAT is 20 %.", "With VAT it is **£45.60** (£38 × 1.2 = **£45.60**).", "With VAT it is **£46.50** (£38 × 1.2 = **£46.50**)."),
        ("The plan is £149 a month. Set-up costs £50.", "It is £1,838: 12 × £149 = £1,788, plus £50.", "It is £1,938: 12 × £149 = £1,788, plus £50."),
        ("Tickets: 310 in February, 403 in March.", "They grew from 310 to 403, by 93 or 30 % (93 ÷ 310 = 0.3).", "They grew from 310 to 403, by 93 or 35 % (93 ÷ 310 = 0.3)."),
        ("57 of 134 were approved.", "57 of 134 were approved, about 43 %.", "57 of 134 were approved, about 48 %."),
        ("Availability is 99.9 %.", "99.9 % leave 0.1 %.", "99.9 % leave 0.2 %."),
        ("One waiter for every 20 guests.", "For 90 guests you need five waiters (90 ÷ 20 = 4.5).", "For 90 guests you need seven waiters (90 ÷ 20 = 4.5)."),
        ("Drills are held twice a year, in March and September.", "Twice a year, in March and September: one every six months.", "Twice a year, in March and September: one every four months."),
        ("Collected on 15 January, 15 April, 15 July and 15 October, four times a year.", "It is collected every three months.", "It is collected every five months."),
        ("The licence is 1,068,000円 a year.", "That is 89,000円 a month.", "That is 98,000円 a month."),
        ("1.74kgと1.18kgがあります。", "1.74kgは1.18kgより560g重いです。", "1.74kgは1.18kgより650g重いです。"),
        ("補助率は3分の2です。", "600万円なら、600万円×2/3＝400万円です。", "600万円なら、600万円×2/3＝450万円です。"),
        ("0歳は6人、1歳は10人、2歳は12人です。", "0歳6人、1歳10人、2歳12人で、合計28人です。", "0歳6人、1歳10人、2歳12人で、合計30人です。"),
        ("貸出は3週間。2週間延長できます。", "3週間に2週間を足した5週間（35日）です。", "3週間に2週間を足した5週間（37日）です。"),
        ("毎日2時30分に始まり、40分かかります。", "2時30分から40分かかり、3時10分に終わります。", "2時30分から40分かかり、3時30分に終わります。"),
        ("9時から17時30分まで、休憩60分。", "9時から17時30分まで、休憩1時間を除くと7時間半です。", "9時から17時30分まで、休憩1時間を除くと9時間半です。"),
        ("12月1日〜3月31日に付ける。", "12月1日から3月31日までの4か月間です。", "12月1日から3月31日までの6か月間です。"),
        ("1日7時間45分。年40時間まで。", "年40時間は、7時間45分で割ると約5日分です（40÷7.75≒5.2）。", "年40時間は、7時間45分で割ると約8日分です（40÷7.75≒8.2）。"),
        ("受講料は45,000円です。過ぎると半額がかかります。", "過ぎると半額（22,500円）がかかります。", "過ぎると半額（25,500円）がかかります。"),
    ],
)  # fmt: skip
def test_a_sentence_may_say_itself_how_it_comes_to_a_number(passage: str, right: str, wrong: str) -> None:
    source = {1: hit(passage)}
    assert check(f"{right} [1]", source, language_of(right)).removed == ()
    assert check(f"{wrong} [1]", source, language_of(wrong)).removed == (wrong,)


def test_a_number_of_the_question_may_be_repeated_in_another_form() -> None:
    assert check(
        "At 8 you need somebody with you, as it is after 19:00. [1]",
        {1: hit("Nobody works alone after 19:00.")},
        "en",
        question="until 8pm?",
    ).text


@pytest.mark.parametrize("text", ["1 a", "1-", "1 abcdefghijkl abcdefghijkl - ", "9", "1,", "1/a/b"])
def test_any_text_is_read_in_linear_time(text: str) -> None:
    """Forty thousand of it take no minute, as they did while each part could be read in several ways."""
    assert equations(text * 40_000) == []


@pytest.mark.parametrize("text", ["MTU = 1400", "a = b", "2024-04-01 = a Monday", "See 3-4.", "x=1"])
def test_what_is_no_equation(text: str) -> None:
    assert equations(text) == []


@pytest.mark.parametrize(
    ("result", "shown", "follows"),
    [
        ("$225", "$75 a day for 3 days", True),
        ("$220", "$75 a day for 3 days", False),
        ("3 days", "$75 and $225", False),
        ("15日", "年20日、5日", True),
        ("55,000円", "40,000円と15,000円", True),
        ("7万円", "4万円、2万円、1万円", True),
        ("$30", "10% of $300", True),
        ("1,620円", "1,500円の8%", True),
        ("9 June", "30 days after 10 May", True),
        ("10 June", "30 days after 10 May", False),
        ("5月1日", "5月15日の2週間前", True),
        ("14 days", "from 1 April to 15 April", True),
        ("two weeks", "from 1 April to 15 April", True),
        ("three weeks", "from 1 April to 15 April", False),
        ("約3か月半", "2月9日から5月29日まで", True),
        ("3年間", "2024年7月1日から2027年6月30日まで", True),
        ("30 June", "one year after 1 July", True),
        ("30人", "90人の3分の1", True),
        ("in February", "six months after 31 August", True),
        ("in December 2027", "since March, for nine months", False),
        ("1 hour", "from 15:00 to 16:00", True),
        ("2 hours", "from 15:00 to 16:00", False),
        ("four months", "from May to the end of August", True),
        ("ten months", "from May to the end of August", False),
        ("8日間", "12月28日から1月4日まで", True),
        ("10日間", "12月28日から1月4日まで", False),
        ("21 days", "14 days and 35", True),
        ("25", "20 days and 5 days", True),
        ("about 3 times", "$287.65 and $96.05", True),
        ("about 4 times", "$287.65 and $96.05", False),
        ("3 times", "$287.65 and $96.05", False),
    ],
)
def test_a_value_follows_from_those_that_are_shown(result: str, shown: str, follows: bool) -> None:
    assert all(derived(fact, facts(shown)) for fact in facts(result)) is follows


def test_years_and_months_are_counted_on() -> None:
    bought = {1: hit("Laptops are replaced every four years. The course begins in March and lasts nine months.")}
    for right, wrong in (
        ("A laptop of 2021 was due in 2025.", "A laptop of 2021 was due in 2027."),
        (
            "It begins in March, lasts nine months and ends in December.",
            "It begins in March, lasts nine months and ends in August.",
        ),
    ):
        said = right.replace("was due", "is replaced after four years, so it was due")
        missed = wrong.replace("was due", "is replaced after four years, so it was due")
        assert check(f"{said} [1]", bought, "en", question="mine is from 2021").removed == ()
        assert check(f"{missed} [1]", bought, "en", question="mine is from 2021").removed == (missed,)


@pytest.mark.parametrize(
    ("source", "question", "answer"),
    [
        (EXPENSES, "Meals for 3 days?", "Meals are $75 a day, so 3 days make $225. [1]"),
        (EXPENSES, "Meals for 3 days?", "Meals are $75 a day, so 3 × $75 = $225. [1]"),
        (EXPENSES, "Meals for 3 days?", "Meals for 3 days: 3 × 75 = 225 dollars. [1]"),
        (LEAVE, "I took 12 days, how many are left?", "Of your 20 days of leave 8 days are left. [1]"),
        (REFUNDS, "I asked on 10 May, when is it paid?", "Refunds take 30 days, so by 9 June. [1]"),
        (KEIHI, "3日分の食事代は？", "食事代は1日5,000円までなので、3日で15,000円です。[1]"),
        (YUKYU, "8日使いました", "年20日のうち8日を使ったので、残りは12日です。[1]"),
    ],
)
def test_a_right_result_stays_and_a_wrong_one_does_not(source: Hit, question: str, answer: str) -> None:
    hits = {1: source}
    assert check(answer, hits, language_of(answer), question=question, judged=False).text == answer
    for right, wrong in (
        ("225", "235"),
        ("8 days", "9 days"),
        ("9 June", "11 June"),
        ("15,000", "16,000"),
        ("12日", "11日"),
    ):
        if right in answer:
            result = check(answer.replace(right, wrong), hits, language_of(answer), question=question)
            assert (result.text, len(result.objections)) == ("", 1)


def test_the_reason_names_the_right_result() -> None:
    (objection,) = check("Meals: 3 × $75 = $235. [1]", {1: EXPENSES}, "en", question="3 days?").objections
    assert objection.reason == "3 × $75 = $235 is wrong: the result is 225."


def test_operands_have_to_stand_in_the_passage_or_in_the_question() -> None:
    said = "Meals are $80 a day, so 3 days make $240. [1]"
    assert check(said, {1: EXPENSES}, "en", question="Meals for 3 days?").text == ""


@pytest.mark.parametrize(
    ("passage", "before", "right", "wrong"),
    [
        ("The launch is on 28 April. It was planned for 7 April.", "It is on 28 April. [1]", "It was planned three weeks earlier, for 7 April.", "It was planned two months earlier, for 7 April."),
        ("正門発21:15、駅着21:35。", "21時15分に出て、21時35分に着きます。[1]", "所要時間は20分です。", "所要時間は30分です。"),
        ("Revenue was €4.62 million, costs €3.95 million.", "Revenue was €4.62 million. [1]", "Costs were €3.95 million, leaving €0.67 million.", "Costs were €3.95 million, leaving €0.76 million."),
        ("変更前は8文字、変更後は12文字です。", "12文字以上です。[1]", "8文字から4文字引き上げられました。", "8文字から6文字引き上げられました。"),
        ("Flights up to €1,200, €35 a day.", "- Flight: €1,100 of at most €1,200 [1]\n- Ten days: 10 × €35 = €350 [1]\n", "In total: €1,450.", "In total: €1,540."),
    ],
)  # fmt: skip
def test_a_sentence_may_compute_with_what_was_said_before_it(passage: str, before: str, right: str, wrong: str) -> None:
    asked = "10 days, the flight is 1100"
    source, language = {1: hit(passage)}, language_of(right)
    assert check(f"{before}\n{right} [1]", source, language, question=asked).removed == ()
    assert check(f"{before}\n{wrong} [1]", source, language, question=asked).removed == (wrong,)


@pytest.mark.parametrize(
    ("passage", "question", "right", "wrong"),
    [
        ("Salaries are paid on the 27th of each month.", "june 2026?", "In June the salary is paid on 27 June 2026.", "In June the salary is paid on 28 June 2026."),
        ("The lift is serviced on the second Tuesday.", "september 2026?", "On the second Tuesday, so on 8 September 2026.", "On the second Tuesday, so on 9 September 2026."),
        ("びんは第1木曜に集めます。", "次はいつ", "次の回収は3月5日（木）です。", "次の回収は3月6日（金）です。"),
        ("The drill is on Monday at 10:00 UTC.", "in Japan?", "At 10:00 UTC, which is 19:00 JST.", "At 10:00 UTC, which is 20:00 JST."),
        ("ポイントは3%です。", "何点つく?", "3%なので、たとえば2万円なら600ポイントです。", "3%なので、たとえば2万円なら700ポイントです。"),
        ("Announce it 1 week before.", "I leave on 30 June", "As 30 June is your last day, announce it by 23 June.", "As 30 June is your last day, announce it by 20 June."),
    ],
)  # fmt: skip
def test_what_only_the_passages_show_is_doubtful(passage: str, question: str, right: str, wrong: str) -> None:
    """It stays, is objected to, and is marked as long as nobody has judged it."""
    source, language = {1: hit(passage)}, language_of(right)
    doubtful = check(f"{right} [1]", source, language, question=question, judged=False)
    assert (doubtful.removed, doubtful.marked, len(doubtful.objections)) == ((), (right,), 1)
    assert check(f"{right} [1]", source, language, question=question).marked == ()
    assert check(f"{wrong} [1]", source, language, question=question).removed == (wrong,)


@pytest.mark.parametrize(
    ("passage", "right", "wrong"),
    [
        ("締切：令和7年10月31日（金）。平日に受け付けます。", "締切は10月31日（金）です。", "締切は10月31日（木）です。"),
        ("締切は2025年10月31日です。", "締切は2025年10月31日（金）です。", "締切は2025年10月31日（木）です。"),
        ("It ends on 12 June 2026. Talks are on Thursdays.", "It ends on Friday, June 12.", "It ends on Thursday, June 12."),
        ("The meeting of 2 December 2025 begins at 10.", "It is on December 2, 2025 (Tuesday).", "It is on December 2, 2025 (Wednesday)."),
    ],
)  # fmt: skip
def test_a_date_falls_on_its_weekday(passage: str, right: str, wrong: str) -> None:
    source, language = {1: hit(passage)}, language_of(right)
    assert check(f"{right} [1]", source, language).objections == ()
    assert check(f"{wrong} [1]", source, language).removed == (wrong,)


def test_many_numbers_from_nowhere_are_refused_in_no_time() -> None:
    said = "For example, if you add " + ", ".join(f"{n} kg" for n in range(1000, 1400)) + ", that is 9 t. [1]"
    assert check(said, {1: hit("One truck takes 7 kg.")}, "en").text == ""
