"""The check's word lists: what each is for, in both languages."""

import pytest

from agent.grounding.vocabulary import pattern


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("absence", "The results do not name a person."),
        ("absence", "No price is given, so ask the office."),
        ("absence", "担当者の名前は記載されていません。"),
        ("absence", "予約方法は見当たりませんでした。"),
        ("conflict", "The two pages disagree about the deadline."),
        ("conflict", "The FAQ is the newer of the two."),
        ("conflict", "資料によって期限が異なります。"),
        ("courtesy", "I'm very sorry for your loss."),
        ("courtesy", "ご結婚おめでとうございます！"),
        ("lead", "Here is what the policy says"),
        ("lead", "手順は次のとおりです。"),
    ],
)
def test_a_list_has_its_sentences(name: str, sentence: str) -> None:
    assert pattern(name).search(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Alcohol is not covered.",
        "Taxis are not reimbursed.",
        "Gift cards cannot be refunded.",
        "You have no claim to a refund.",
        "酒代は精算できません。",
        "税は含まれていません。",
        "プランによって料金が異なります。",
    ],
)
def test_a_rule_is_no_statement_about_the_sources(sentence: str) -> None:
    assert not pattern("absence").search(sentence)
    assert not pattern("conflict").search(sentence)
