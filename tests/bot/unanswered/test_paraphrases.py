"""One answer is given to questions that say the same, and to no others."""

from pathlib import Path

import pytest

from benchmarks.paraphrases import HELD_OUT, PAIRS, TURNED, read
from bot.unanswered.paraphrases.paraphrases import LONGEST, alike, same, wording


def test_most_that_say_the_same_are_known() -> None:
    pairs = [pair for pair in read(PAIRS) if pair.same]
    assert len(pairs) == 100
    assert sum(same(pair.first, pair.second) for pair in pairs) >= 75
    held_out = [pair for pair in read(HELD_OUT) if pair.same]
    assert len(held_out) == 40 and sum(same(pair.first, pair.second) for pair in held_out) >= 25


@pytest.mark.parametrize(
    ("file", "count"), [(PAIRS, 200), (HELD_OUT, 60), (TURNED, 107)], ids=["pairs", "held out", "turned"]
)
def test_none_that_differ_is_taken_for_the_same(file: Path, count: int) -> None:
    pairs = [pair for pair in read(file) if not pair.same]
    assert len(pairs) == count
    wrong = [pair for pair in pairs if same(pair.first, pair.second) or same(pair.second, pair.first)]
    assert wrong == []


def test_what_is_said_the_same_is_so_both_ways() -> None:
    for pair in read(PAIRS):
        assert same(pair.first, pair.second) == same(pair.second, pair.first)
        assert same(pair.first, pair.first)


def test_spelling_and_politeness_make_no_difference() -> None:
    asked = "有給休暇は入社1年目で何日もらえますか？"
    assert alike(
        asked,
        [
            "有給休暇は入社１年目で何日もらえますか",
            "すみません、有給は入社一年目で何日もらえるか教えてください。",
            "How many days of paid leave do I get in my first year of joining the company?",
            "有給休暇は入社2年目で何日もらえますか？",
            "",
        ],
    ) == [True, True, True, False, False]
    assert same("How do I reset my PASSWORD?", "hi all, how can I reset my password please")
    assert same("How do I reset my password?", "Please tell me: how do I reset my password? Many thanks in advance!")
    for opening in ("教えてください。", "いつもお世話になっております。"):
        assert same(asked, opening + asked)


def test_a_word_nobody_listed_keeps_questions_apart() -> None:
    assert not same("What is an ordinal", "What is a cardinal") and not same("ordinal", "the 3rd")
    assert same("グルメカードはどこで使えますか", "グルメカードってどこで使えるの？")
    assert not same("グルメカードはどこで使えますか", "フードカードはどこで使えますか")
    assert not same("Where is the blorb?", "Where is the big blorb?")
    assert not same("？？？", "！！") and not same("it is", "are we")


@pytest.mark.parametrize(
    ("asked", "again", "is_same"),
    [
        ("May I spend 3.5 hours on it?", "may I  spend 3.5 hours, on it", True),
        ("経費は、いくらまで？", "経費はいくらまで", True),
        ("May I spend 3.5 hours on it?", "May I spend 35 hours on it?", False),
        ("Can I spend <500 dollars?", "Can I spend >500 dollars?", False),
        ("What is -5 for?", "What is 5 for?", False),
        ("C++ は使えますか", "C は使えますか", False),
    ],
)
def test_the_marks_of_sentences_make_no_difference_and_the_signs_of_numbers_and_names_do(
    asked: str, again: str, is_same: bool
) -> None:
    assert same(asked, again) is (wording(asked) == wording(again)) is is_same


def test_a_pasted_text_says_the_same_as_itself_only() -> None:
    log = "エラー " * LONGEST
    assert same(log, log) and not same(log, log + "です")
