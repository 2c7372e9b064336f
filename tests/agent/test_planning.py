"""Queries from messages as people write them, what "it" is, and when one message is two questions."""

from collections.abc import Sequence
from time import perf_counter

import pytest

from agent.planning import SEARCHES, parts, split, wordings
from agent.queries import keywords, stripped
from agent.vocabulary import rephrased, translated, translations
from retrieval.sparse import SparseEncoder
from retrieval.types import CollectionInfo

ENCODER = SparseEncoder()
HANDBOOK = CollectionInfo("handbook", "社内規程と手続き", ("ja",), 12, 300)
IT = CollectionInfo("it-guides", "Laptops, accounts and networks", ("en",), 8, 120)


def queries(message: str, *earlier: str) -> list[str]:
    return [part.query for part in parts(message, earlier, tokenise=ENCODER.terms)]


@pytest.mark.parametrize(
    ("message", "query"),
    [
        ("お疲れ様です。有給休暇の申請期限について教えていただけますか？", "有給休暇の申請期限"),
        ("VPNの設定方法を教えてください。よろしくお願いします。", "VPNの設定方法"),
        ("hey folks, does anyone know how to reset my VPN password?", "how to reset my VPN password"),
        ("Could you please tell me about the transit benefit? Thanks in advance", "the transit benefit"),
        ("I was wondering if KOTAE_HOME can be changed", "KOTAE_HOME can be changed"),
        ("すみません、E-4031 エラーの対処法ってご存じですか？", "E-4031 エラーの対処法"),
        ("領収書は必要ですか？", "領収書は必要"),
    ],
)
def test_courtesy_is_no_part_of_a_query(message: str, query: str) -> None:
    assert queries(message) == [query]


@pytest.mark.parametrize(
    ("earlier", "message", "query"),
    [
        (["有給休暇の申請方法を教えてください"], "それはいつまで？", "有給休暇 いつまで"),
        (["出張の宿泊費はいくらまでですか？"], "その申請先は？", "出張の宿泊費 申請先"),
        (["経費精算はどうやりますか", "ありがとう"], "期限は？", "経費精算 期限"),
        (["経費精算はどうやりますか", "申請先は？"], "いつまでに？", "経費精算 いつまでに"),
        (["有給は何日もらえますか？"], "じゃあ、契約社員は？", "契約社員 有給は何日もらえますか"),
        (["Is there a transit benefit?"], "and how much is it?", "transit benefit how much is"),
        (
            ["How many vacation days do employees get?"],
            "what about contractors?",
            "contractors How many vacation days do employees get",
        ),
        (["How do I get a laptop?"], "who should I ask?", "get laptop who should I ask"),
    ],
)
def test_what_came_before_completes_a_question(earlier: Sequence[str], message: str, query: str) -> None:
    assert queries(message, *earlier) == [query]


@pytest.mark.parametrize(
    "message",
    ["パスワードの最低文字数は何文字ですか？", "Is it possible to work from abroad?", "ところで、会議室の予約方法は？"],
)
def test_a_question_of_its_own_takes_nothing_from_before(message: str) -> None:
    part = parts(message, ["Zoomの録画はどこに保存されますか？"], tokenise=ENCODER.terms)[0]
    assert part.topic == ""
    assert "Zoom" not in part.query


def test_a_pointer_to_nothing_gives_no_query() -> None:
    assert queries("それはいつまで？") == []
    assert queries("how much is it?") == []


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("経費精算の期限と、出張申請の提出先は？", ["経費精算の期限", "出張申請の提出先"]),
        ("有給休暇の日数と申請方法を教えて", ["有給休暇の日数", "有給休暇 申請方法"]),
        (
            "How do I request a laptop and who approves it?",
            ["How do I request a laptop", "request laptop who approves"],
        ),
        (
            "ノートPCはどうやって申請して、誰が承認しますか？",
            ["ノートPCはどうやって申請して", "ノートPC 誰が承認しますか"],
        ),
        (
            "What's the deadline for expenses and the contact for travel?",
            ["What's the deadline for expenses", "What's the contact for travel"],
        ),
        (
            "Zoomの録画はどこに保存されますか？また、保存期間は？",
            ["Zoomの録画はどこに保存されますか", "Zoomの録画 保存期間"],
        ),
    ],
)
def test_two_questions_are_two_queries(message: str, expected: list[str]) -> None:
    assert queries(message) == expected


@pytest.mark.parametrize(
    "message",
    [
        "塩と胡椒の在庫は？",
        "Where do we keep salt and pepper?",
        "メールとSlackの違いは？",
        "What is the difference between sick leave and who pays it?",
        "Who approves travel and equipment purchases?",
        "VPNとWi-Fiに接続できません",
    ],
)
def test_a_list_stays_together(message: str) -> None:
    assert split(message) == [message]


def test_what_is_told_around_a_question_stays_with_it() -> None:
    assert queries("My laptop broke yesterday. Who replaces laptops?") == [
        "My laptop broke yesterday. Who replaces laptops"
    ]


def test_a_message_of_many_questions_is_bounded() -> None:
    assert len(queries("Where is A-101? Who owns B-202? When is C-303? How big is D-404?")) == 3


def test_wordings_change_and_end_elsewhere() -> None:
    part = parts("有給休暇の申請期限はいつですか？", (), tokenise=ENCODER.terms)[0]
    tried = wordings(part, (HANDBOOK, IT))
    assert [w.why for w in tried] == ["first", "language", "keywords", "collection"]
    assert tried[0].query == "有給休暇の申請期限はいつ"
    assert tried[1].query == "paid leave request deadline"
    assert tried[-1].collection == "handbook"
    assert tried[0].collection is None
    assert len({(w.query, w.collection) for w in tried}) == len(tried) <= SEARCHES


def test_another_collection_is_one_that_gave_nothing_yet() -> None:
    part = parts("How do I return my laptop?", (), tokenise=ENCODER.terms)[0]
    assert wordings(part, (HANDBOOK, IT))[-1].collection == "it-guides"
    assert wordings(part, (HANDBOOK, IT), found_in=["it-guides"])[-1].collection == "handbook"


def test_a_collection_that_the_question_names_is_searched_first() -> None:
    part = parts("it-guides コレクションでVPNの設定を探して", (), tokenise=ENCODER.terms)[0]
    first, second, *_ = wordings(part, (HANDBOOK, IT))
    assert (first.query, first.collection) == ("VPNの設定", "it-guides")
    assert second.collection is None


def test_keywords_keep_names_and_numbers() -> None:
    assert keywords("How do I set MAX_SIZE to 20 in app.toml") == "set MAX_SIZE 20 app.toml"
    assert keywords("経費精算の締め切りはいつですか") == "経費精算"
    assert stripped("E-4031 が出ます") == "E-4031 が出ます"


def test_the_vocabulary_translates_both_ways_and_keeps_names() -> None:
    assert translated("経費の領収書 SAP-200") == "expense receipt sap-200"
    assert translated("reset the VPN password") == "再設定 VPN パスワード"
    assert translated("塩と胡椒") == ""
    assert "laptop" in translations("ラップトップの返却")
    assert rephrased("有給休暇 期限") == "有休 締め切り"


def test_planning_is_fast() -> None:
    parts("お疲れ様です。経費精算の期限と、出張申請の提出先は？", (), tokenise=ENCODER.terms)  # dictionary loaded
    fastest = 1.0
    for _ in range(5):
        start = perf_counter()
        found = parts("その申請先と、経費精算の期限は？", ["出張の宿泊費はいくらまでですか？"], tokenise=ENCODER.terms)
        for part in found:
            wordings(part, (HANDBOOK, IT))
        fastest = min(fastest, perf_counter() - start)
    assert fastest < 0.02
