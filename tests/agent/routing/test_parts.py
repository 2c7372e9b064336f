"""Messages that ask more than one thing, and those that only seem to."""

import pytest

from agent.routing.parts import parts

SEVERAL = [
    ("How long is the parental leave at full pay? Which form does the travel desk want?", 2),
    ("How many reviews does a change need before it is merged, and who speaks to the press about an incident?", 2),
    ("which regions is the sandbox locked down to? and how many weeks does a security clearance take", 2),
    (
        "- How many days of paid leave are there?\n- Where do I apply for a parking space?\n- Who repairs broken laptops?",
        3,
    ),
    ("1. What is the guest wifi called?\n2. Where is the colour printer of the third floor?", 2),
    ("リモートワークは週何日までですか？あと、試用期間は何か月ですか？", 2),
    ("試用期間は何か月ですか、それから海外出張の申請期限はいつですか", 2),
    ("JetBrainsで申請のいらない製品ってどれですか。領収書はいつまでに登録すればいいか教えてください", 2),
]
ONE = [
    "How many days of paid leave do I get? And how do I apply?",
    "My laptop, which I got last year, is broken. How do I get a replacement laptop?",
    "What should I do if the build fails and the release captain is away?",
    "Where can I find the travel policy and what does it say about hotels?",
    "How do I reset my password? I tried the portal but it says my account is locked.",
    "Is the office open on Saturday? The heating was off last week.",
    "When is payday?",
    "社内Wi-FiのSSIDは何ですか？パスワードはどこで確認できますか？",
    "来月引っ越します。住所変更の手続きを教えてください。",
    "有給は何日もらえますか？申請方法も教えてください。",
    "VPNにつながりません。どこに連絡すればいいですか？急いでいます。",
    "有給か特別休暇か、来週の通院の時間はどちらで申請しますか",
    "間に合うかどうか、もう一度確認していただけますか",
    "",
]


@pytest.mark.parametrize(("message", "count"), SEVERAL)
def test_questions_that_each_stand_alone_are_apart(message: str, count: int) -> None:
    assert len(parts(message)) == count, parts(message)


@pytest.mark.parametrize("message", ONE)
def test_what_goes_on_from_a_question_or_surrounds_it_stays_with_it(message: str) -> None:
    assert parts(message) == (message,)


def test_a_number_in_front_is_no_mark_of_a_list() -> None:
    asked = "1.5倍の手当が出る深夜勤務の時間帯は何時からですか？"
    assert parts(f"How many reviews does a change need before merging?\n{asked}")[1] == asked


def test_a_part_is_without_what_joins_it_and_with_what_is_said_of_it() -> None:
    message = (
        "I fly on Monday. Which hotel rate is covered in Berlin? Also, who signs my expense report? It is for May."
    )
    assert parts(message) == (
        "I fly on Monday. Which hotel rate is covered in Berlin?",
        "who signs my expense report? It is for May.",
    )
