"""Numbers in all their clothes: each pair states the same, or does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.grounding.entities import denies, mentions, names
from agent.grounding.quantities import facts, figures, squeeze

SAME = (
    ("上限は百二十円です", "上限は120円"),
    ("三千五百円", "3,500円"),
    ("１２０円", "120円"),
    ("1000 users", "1,000 users"),
    ("1,500 yen for day trips", "日帰りは1,500円"),
    ("up to three times", "You can postpone one three times, by a day each."),
    ("5万円", "50,000円"),
    ("1億2,000万円", "120 million yen"),
    ("50k yen", "5万円"),
    ("$1.5M", "1.5 million dollars"),
    ("3千円", "3000円"),
    ("80%", "8割"),
    ("三割", "30 percent"),
    ("８０パーセント", "80%"),
    ("two weeks", "14日間"),
    ("半年", "6 months"),
    ("18か月", "1年6か月"),
    ("90分", "1時間30分"),
    ("1.5時間", "90 minutes"),
    ("1 hour 30 minutes", "90分"),
    ("1時間半", "90分"),
    ("half an hour", "30分"),
    ("within 1 week", "within a week"),
    ("1営業日以内", "the next business day"),
    ("three business days", "3営業日"),
    ("a 30-day limit", "30日間"),
    ("twenty-five days", "25日"),
    ("one hundred and twenty days", "120日"),
    ("twelve months", "1年"),
    ("令和6年4月1日から", "2024年4月1日"),
    ("2024年4月1日", "令和六年四月一日"),
    ("平成31年", "2019年"),
    ("令和元年5月1日", "2019-05-01"),
    ("from April 1, 2024", "2024/4/1 施行"),
    ("on 1 April 2024", "April 1st, 2024"),
    ("Apr. 1", "4月1日"),
    ("毎年4月1日", "毎年 4 月 1 日の発生日"),
    ("create two PRs", "create _two_ PRs"),
    ("the 25th", "毎月25日"),
    ("毎月25日", "on the 25th of each month"),
    ("4月から6月", "April to June"),
    ("4月5日", "4月1日〜5日"),
    ("FY2024", "2024年度"),
    ("in May 2025", "2025年5月"),
    ("Open until 5pm", "17時まで"),
    ("17:00まで", "午後5時"),
    ("5:30 p.m.", "17時半"),
    ("between 2 and 4 a.m.", "02:00–04:00 UTC"),
    ("9-5:30 pm", "9:00–17:30"),
    ("9:00", "9時"),
    ("正午", "12:00"),
    ("every Monday", "毎週月曜日"),
    ("水曜日", "Mon–Fri"),
    ("土曜", "週末は休業"),
    ("火曜", "平日のみ"),
    ("twice a month", "月2回"),
    ("ERR-4041", "err 4041"),
    ("AES-256", "AES256"),
    ("IPv6", "IPV6"),
    ("Python 3.11", "python version 3.11 or later"),
    ("v1.2.3", "version 1.2.3"),
    ("10.0.0.1", "10.0.0.1/24"),
    ("第三条", "第3条"),
    ("10〜20日", "between 10 and 20 days"),
    ("5GB", "5 GB"),
    ("３名", "3 people"),
    ("03-1234-5678", "電話番号：03-1234-5678"),
    ("a dozen", "12個"),
    ("3日", "申請期限三日"),
    ("有効期限三十日", "valid for 30 days"),
    ("three quarters of it", "75%"),
    ("25%", "no more than one-fourth of the members"),
    ("two-thirds", "3分の2以上"),
    ("4分の1", "a quarter of the members"),
    ("seven working days", "7 consecutive work days"),
    ("1.3.5が最新です", "| 2024.12.18 | 1.3.5 |"),
    ("最新は12.6.3です", "最新バージョンは12.6.3である"),
    ("about $96", "$96.05"),
    ("約2千円", "1,980円"),
    ("4千円ほど", "3,960円"),
    ("about three months", "90 days"),
    ("保険料の4分の1", "25% of the premium"),
    ("two thirds of the members", "三分の二以上の賛成"),
    ("a 50% discount", "団体は半額です"),
    ("18 months", "一歳六か月に達する日"),
    ("小学3年生", "第三学年"),
    ("1時間単位", "時間単位で取得できる"),
    ("the 401(k) plan", "the 401K plan"),
    ("65,536 MB", "64 GB"),
    ("2TB", "2,000GBまで無料"),
    ("1.8 m", "180センチメートル"),
    ("1.2 m", "120 × 60 × 60 cm"),
    ("libxml2を2.13.8に更新", "upgraded libxml2 to 2.13.8"),
    ("Python 3.10", "the oldest supported version is 3.10"),
    ("in June 2024", "since June 2024; last changed in 2025"),
    (
        "5回で30分ロックされる",
        "（https://id.example/reset）から再設定できます。5回続けて間違えると30分間ロックされます。",
    ),
    ("30 days", "返品はcare@shop.exampleへ30日以内に"),
    ("朝8時半", "朝八時三十分までに出す"),
    ("the 3rd Monday", "毎月第1・第3月曜日"),
    ("by 31 March", "used by 31 March.\n2.3 Employees may buy 5 days."),
    ("by 31 March", "used by 31 March. 2 weeks later they lapse."),
    ("14時から18時", "2–6 pm"),
    ("from 9:30 a.m.", "9:30–4 pm"),
    ("anyone under 18", "free for under-18s"),
    ("around the clock", "24時間365日"),
    ("37.8℃", "37度8分"),
    ("2/3", "3分の2"),
    ("3月31日まで", "3月末まで"),
    ("by 30 June", "until the end of June"),
    ("0.5 l", "500 ml"),
    ("1,500 kg", "1.5トン"),
    ("85dB", "85デシベル"),
    ("290スイスフラン", "CHF 290"),
    ("three months' salary", "three monthly salaries"),
    ("since 2.8.0", "## 2.8.0 (2024-11-20)\n\n- Added: dual SIM"),
    ("in version 2.9", "## 2.9 - 2025-04-15\n\n- Added: a buffer"),
    ("in version 2.9", "## 2.9\n\n- Added: a buffer"),
    ("3か月半", "3.5か月"),
)

OTHER = (
    ("30 days", "30 minutes"),
    ("130 ml", "130 µl"),
    ("8 °F", "8 °C"),
    ("500 lb", "500 kg"),
    ("€380", "CHF 380"),
    ("8 pm", "2–6 pm"),
    ("30日", "30人"),
    ("5円", "5ドル"),
    ("5万円", "5円"),
    ("15 days", "5 days"),
    ("5日", "15日"),
    ("8割", "8%"),
    ("4月10日", "4月1日から5月10日"),
    ("2025年4月1日", "2024年4月1日"),
    ("平成6年", "2024年"),
    ("9 p.m.", "open from 9:00 to 17:30"),
    ("18時", "17時半"),
    ("between 3 and 4 a.m.", "02:00–04:00 UTC"),
    ("日曜日", "Mon–Fri"),
    ("ERR-4041", "ERR-4042"),
    ("Python 3.1", "Python 3.10"),
    ("v1.2.3", "v1.2.4"),
    ("1.2.3が最新", "1.2.4が最新"),
    ("a third of them", "one-fourth of them"),
    ("4分の3", "4分の1"),
    ("7 consecutive work days", "7 consecutive work weeks"),
    ("25%", "once a quarter"),
    ("1,000", "100 and 10,000"),
    ("1.5 hours", "15 hours"),
    ("三人", "二人"),
    ("2.9 GB", "## 2.9 Storage\n\nAs much as you need."),
    ("3 days", "## 3 Refunds\n\nThey take a while."),
    ("13 days", "thirty days"),
    ("2週間", "2か月"),
    ("有効期限三十日", "有効期限は14日"),
    ("03-1234-5678", "03-1234-5679"),
    ("about $150", "$96.05"),
    ("約3千円", "1,980円"),
    ("about 10 days", "14 days"),
    ("$96", "$96.05"),
    ("保険料の3分の1", "25% of the premium"),
    ("two thirds of the members", "two members and three guests"),
    ("3TB", "2,000GBまで無料"),
    ("2.8 m", "180センチメートル"),
    ("libxml2を2.13.9に更新", "upgraded libxml2 to 2.13.8"),
    ("in June 2025", "since June 2024; last changed in 2025"),
    ("2023年7月1日", "令和六年七月一日から施行する。令和五年に制定"),
)

NONE = (
    "十分に確認してください",
    "一部の社員が一時的に利用します",
    "第三者の一人に十分な説明をする",
    "There are two ways to do this",
    "次の3つです",
    "one of them is enough",
    "a quarter of a year",
    "You may march on",
    "See https://corp.example/2024/05",
    "1. First of all",
    "手順2 を行う",
    "① 申請する",
)


@pytest.mark.parametrize("claim", ["S1, S2 and S3.", "The levels are S1/S2/S3.", "レベルはS2とS3、R5。"])
def test_a_letter_and_a_figure_at_the_end_of_a_sentence_are_no_year_of_an_era(claim: str) -> None:
    assert [atom for fact in facts(claim) for atom in fact.any_of if not atom.startswith("id:")] == []


def held(claim: str, passage: str) -> list[bool]:
    return [figures(passage).hold(fact) for fact in facts(claim)]


@pytest.mark.parametrize(("claim", "passage"), SAME)
def test_the_same_in_other_clothes(claim: str, passage: str) -> None:
    assert held(claim, passage)
    assert all(held(claim, passage))


@pytest.mark.parametrize(("claim", "passage"), OTHER)
def test_not_the_same(claim: str, passage: str) -> None:
    assert not all(held(claim, passage))


@pytest.mark.parametrize("text", NONE)
def test_words_that_only_look_like_numbers(text: str) -> None:
    assert facts(text) == []


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    figures(text)
    facts(text)
    names(text)


@given(st.integers(0, 10**9), st.sampled_from(["円", " days", "人", "%", ""]))
def test_a_number_confirms_itself_with_and_without_commas(number: int, unit: str) -> None:
    assert all(held(f"It is {number:,}{unit} now", f"= {number}{unit} ="))
    assert not all(held(f"It is {number + 1}{unit} now", f"= {number}{unit} ="))


def test_squeeze_folds_width_case_signs_and_long_vowels() -> None:
    assert squeeze("サーバー・Ａ-1 ") == squeeze("サーバa1")


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("担当は佐藤さんです。", {"佐藤"}),
        ("株式会社コタエに連絡します。", {"コタエ"}),
        ("Contact Alice Johnson via Slack.", {"Alice", "Johnson", "Slack"}),
        ("Refunds take time. Please wait.", set()),
        ("It is open on Saturdays and Sundays.", set()),
        ("**Refund Window:** see below", set()),
        ("Run `make test` first", {"make test"}),
        ("Announce it in #db-alerts and pass --force to it", {"#db-alerts", "--force"}),
        ("Issue #4812 is fixed, see page#top", set()),
        ("It has 65,536 MB", set()),
        ("申出書は総務課と情報管理委員会に出します。", {"総務課", "情報管理委員会"}),
        ("「予約の窓口（様式第1号）」に『届けの控え』を出します。", {"予約の窓口", "届けの控え"}),
        ("「出してください。必ずです」と言われます。", set()),
        ("一部の内容を全部の会員が課題にします。", set()),
        ("アメックスが使えます。", {"アメックス"}),
    ],
)
def test_names(sentence: str, expected: set[str]) -> None:
    assert {name.text for name in names(sentence)} == expected


@pytest.mark.parametrize(
    ("name", "evidence", "there"),
    [
        ("Contact HR now", "Human Resources", True),
        ("See GitHub", "github", True),
        ("See GitHub", "gitlab", False),
        ("the Refunds page by Slack", "slack refund", True),
        ("the APIs", "an API", True),
        ("run `larch sync --parallel N`", "`--parallel N` for `larch sync`", True),
        ("run `larch sync --jobs N`", "`--parallel N` for `larch sync`", False),
        ("run `larch push --parallel N`", "`--parallel N` for `larch sync`", False),
    ],
)
def test_a_name_is_found_in_other_forms(name: str, evidence: str, there: bool) -> None:
    assert all(mentions(evidence, squeeze(evidence), each) for each in names(name)) is there


@pytest.mark.parametrize(
    "sentence",
    [
        "返金できません。",
        "申請は不要です。",
        "使用しないでください。",
        "持ち出しは禁止されています。",
        "提出せずに帰れます。",
        "You cannot do it.",
        "Neither laptops nor phones may be sold.",
        "There is no release on Monday, nor on Friday.",
        "It isn't supported.",
        "Refunds are prohibited.",
        "No — opened goods cannot be returned.",
        "Telemetry is off by default.",
        "申請なしで使えます。",
    ],
)
def test_a_no(sentence: str) -> None:
    assert denies(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "返金できます。",
        "申請しなければなりません。",
        "必ず提出してください。",
        "本人だけでなく家族も使えます。",
        "問題ありません。",
        "つながらない場合は連絡します。",
        "30日未満です。",
        "No, you can do it.",
        "No — you can do it.",
        "Not only staff may come.",
        "Hand it in no later than 5 pm.",
    ],
)
def test_a_yes(sentence: str) -> None:
    assert not denies(sentence)


@pytest.mark.parametrize("number", ["9" * 40, "999," * 9 + "999", "1" * 20 + "億"])
def test_a_number_that_nobody_counts_with_is_one_of_something(number: str) -> None:
    text = f"経過は{number}日です。"
    (fact,) = facts(text)
    assert figures(text).hold(fact) and not figures(text.replace("9", "8").replace("1", "2")).hold(fact)
