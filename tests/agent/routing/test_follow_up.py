"""What leans on the question before it is searched together with it, and nothing else is."""

import pytest

from agent.routing.follow_up import goes_on, leans, leant_on


@pytest.mark.parametrize(
    "question",
    [
        "And how many stages has the rollout?",
        "And who approves it?",
        "Thanks, but who approves it?",
        "ok great. and what about contractors?",
        "What about just one day?",
        "For a SEV-2?",
        "In v2.1.0?",
        "Who decides on it?",
        "Could I take another one straight after?",
        "How long is the invite they send good for?",
        "Does that count?",
        "Hm, and on Tuesday?",
        "Oh, and who approves it?",
        "Ah ok and how much is it?",
        "No, the analytics database",
        "Sorry, I meant the secondary on-call engineer",
        "How does this work?",
        "Until when?",
        "Since which version?",
        "How do I request something else?",
        "Why?",
        "うーん、それでカードは使える？",
        "あ、では土曜日の受付は何時までですか？",
        "いや、分析用のデータベースのほうです",
        "すみません、そうじゃなくて、分析用のデータベースの話です",
        "それはいつまで？",
        "その申請書の提出先は？",
        "承認は誰がしますか？",
        "じゃあ古いほうは自分のものにしていいの？",
        "そのときのホテル代は？",
        "ありがとうございます。では、申請先はどこですか？",
        "いつまでですか？",
    ],
)
def test_what_goes_on_or_says_too_little_of_its_own_leans(question: str) -> None:
    assert leans(question)


@pytest.mark.parametrize(
    "question",
    [
        "When does the ferry to the penguin island leave?",
        "Who approves laptop requests?",
        "Until what age may children use the gym?",
        "Hi! How do I request a laptop?",
        "Thanks! Where do I get a parking permit?",
        "Does IT support Linux laptops?",
        "Hmm, where do I get a parking permit?",
        "No. 3 of the release checklist: who signs it?",
        "Are there no deploys on Friday afternoons?",
        "Which budget was approved this quarter?",
        "My laptop was stolen; which team has to hear about it?",
        "What is the difference between the Android and the iOS client?",
        "ペンギンの平均寿命は何年ですか？",
        "経費精算の期限は？",
        "ITヘルプデスクの受付は何時から何時まで？",
        "えっと、出張の日当はいくらですか？",
        "すみません、経費精算の期限はいつですか？",
        "あの、経費精算の期限はいつですか？",
        "ありがとうございます。出張の日当はいくらですか？",
        "韓国とシンガポールの育児休暇はそれぞれ何日ですか？",
    ],
)
def test_a_question_with_a_subject_of_its_own_stands_alone(question: str) -> None:
    assert not leans(question)
    assert leant_on(question, ["夏季休暇は何日ですか？"]) == ""


def test_a_follow_up_leans_on_the_last_question_that_was_searched() -> None:
    earlier = ["Who approves laptop requests?", "夏季休暇は何日ですか？", "ありがとう", "12*12は？"]
    assert leant_on("それはいつまで？", earlier) == "夏季休暇は何日ですか？"
    assert leant_on("それはいつまで？", ["ありがとう"]) == ""


@pytest.mark.parametrize(
    "question",
    [
        "妻の父の場合は？",
        "ありがとうございます。妻の父の場合は？",
        "契約社員だとどうなりますか",
        "50万円だったら？",
        "社内の会食ならどうですか？",
        "課長以上は",
        "来客用は？",
        "契約社員って？",
        "パートタイマーの場合も教えてください",
        "Is Friday ok?",
        "Second monitor?",
        "With two cars?",
        "Thanks! In Kobe and Osaka?",
        "申請フォームはどこですか",
        "連絡先と担当者は誰？",
        "Where is the application form?",
    ],
)
def test_in_a_thread_what_is_no_sentence_goes_on(question: str) -> None:
    assert not leans(question)
    assert goes_on(question)
    assert leant_on(question, ["夏季休暇は何日ですか？"]) == "夏季休暇は何日ですか？"


@pytest.mark.parametrize(
    "question",
    [
        "経費精算の期限は？",
        "経費の申請フォームはどこですか",
        "契約社員の賞与はどうなりますか？",
        "PCを紛失した場合はどこに連絡しますか",
        "在宅勤務について教えて",
        "定年は何歳ですか",
        "Who approves laptops?",
        "In which cases do I need a visa?",
        "Do interns get paid leave?",
        "Who pays the lunch for visitors?",
    ],
)
def test_in_a_thread_a_whole_question_stands_alone(question: str) -> None:
    assert not goes_on(question)


def test_a_follow_up_of_follow_ups_leans_on_the_last_and_on_what_they_began_with() -> None:
    earlier = ["出張の日当はいくらですか？", "夏季休暇は何日ですか？", "それはいつまで？"]
    assert leant_on("じゃあ誰に頼む？", earlier) == "夏季休暇は何日ですか？ それはいつまで？"
    assert leant_on("じゃあ誰に頼む？", [*earlier, "それは誰？"]) == "夏季休暇は何日ですか？ それは誰？"


def test_of_a_long_question_the_end_is_enough() -> None:
    before = leant_on("それはいつまで？", ["経費の精算について。" * 100 + "夏季休暇は何日ですか？"])
    assert len(before) == 200
    assert before.endswith("夏季休暇は何日ですか？")


@pytest.mark.parametrize(
    ("earlier", "question", "before"),
    [
        (["What does HRN-4012 mean?"], "And HRN-5003?", "What does HRN-5003 mean?"),
        (["E5って表示されました", "いつからですか"], "E2は？", "E2って表示されました いつからですか"),
        (["How fast is SEV2?", "And SEV1?"], "Who is told then?", "How fast is SEV1? And SEV1?"),
        (["What changed in 5.3.0?"], "And in 5.4.1?", "What changed in 5.4.1?"),
        (["How do 5.3.0 and 5.3.2 differ?"], "And is 5.3.2 older?", "How do 5.3.0 and 5.3.2 differ?"),
        (["What does HRN-4012 mean?"], "And for SEV1?", "What does HRN-4012 mean?"),
    ],
)
def test_a_code_takes_the_place_of_the_one_before_it_of_its_form(
    earlier: list[str], question: str, before: str
) -> None:
    assert leant_on(question, earlier) == before


@pytest.mark.parametrize("question", ["No, I mean the demo one", "違う、デモの方"])
def test_what_is_put_right_is_not_asked_any_more(question: str) -> None:
    earlier = ["How long are backups of production kept?", "And staging?"]
    assert leant_on(question, earlier) == earlier[0]
    assert leant_on(question, earlier[:1]) == earlier[0]


def test_nothing_leans_on_a_word_about_an_answer() -> None:
    assert leant_on("Until when?", ["夏季休暇は何日ですか？", "Are you sure?"]) == "夏季休暇は何日ですか？"


def test_however_often_somebody_greets() -> None:
    assert leans("hi, " * 2_000 + "and for contractors?")
    assert not leans("hi, " * 2_000 + "how many days of paid leave do contractors get?")
