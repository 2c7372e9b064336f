"""What speaks for a passage, and how the shipped weights turn it into a probability."""

from dataclasses import replace

import pytest

from retrieval.relevance import SIGNALS, Judge, QuestionSubject, RelevanceEvidence, shares, space
from retrieval.sparse import SparseEncoder, term_id
from retrieval.text import language_of, sentences
from retrieval.types import CONFIDENT, MIN_RELEVANCE, Reading, Scored

LOCAL = "multilingual-e5-small"


ENCODER = SparseEncoder()
SUBJECT = QuestionSubject(ENCODER)


def reading(text: str, *, heads: str = "", question: str | None = None) -> Reading:
    lines = [question, *sentences(text)] if question else sentences(text)
    parts = ENCODER.document(heads, *lines).parts
    return Reading(language_of(text), parts[0], parts[1:])


def weights(question: str) -> dict[int, float]:
    return dict.fromkeys(SUBJECT(ENCODER.query(question)[0].indices), 1.0)


# -- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("polite", "bare"),
    [
        ("すみません、返金の期限について教えてください", "返金 期限"),
        ("ちなみに返金の期限っていつでしたっけ？", "返金 期限"),
        ("返金の期限はそれぞれ何分前？", "返金 期限 前"),
        ("返金は何人まで？", "返金"),
        ("返金は何曜日？", "返金 日"),
        ("Hey folks, does anyone know the refund deadline?", "refund deadline"),
        ("Sorry, quick question: could you tell me the refund deadline, please? Thanks!", "refund deadline"),
    ],
)
def test_politeness_and_filler_are_not_what_a_question_is_about(polite: str, bare: str) -> None:
    assert set(weights(polite)) == set(ENCODER.query(bare)[0].indices)


def test_words_that_stand_together_count_more_than_scattered_ones() -> None:
    asked = weights("返金 期限 昼食")
    near = shares(asked, reading("返金の期限は30日です。昼食は正午です。天気の話。"))
    far = shares(asked, reading("返金します。天気の話。期限の話。天気の話。昼食の話。"))

    assert near[0] == 1.0 and near[1] == pytest.approx(2 / 3)
    assert far[0] == far[1] == pytest.approx(1 / 3)
    assert len(asked) == 3


def test_rare_words_count_more() -> None:
    asked = {term_id("refund"): 3.0, term_id("card"): 1.0}

    assert shares(asked, reading("Refunds are quick."))[1] == 0.75
    assert shares(asked, reading("The card is blue."))[1] == 0.25


def test_title_headings_and_a_pairs_question_are_read_too() -> None:
    asked = weights("Okta パスワード 期限")

    assert shares(asked, reading("90日です。", heads="Okta パスワード > 期限")) == (1.0, 0.0, 1.0)
    assert shares(asked, reading("90日です。", question="Okta のパスワードの期限は？"))[:2] == (1.0, 1.0)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("サーバの再起動", "サーバーを再起動します。"),
        ("打合せの予約", "打ち合わせを予約します。"),
        ("ＶＰＮ接続", "VPNに接続します。"),
        ("ｻｰﾊﾞｰ", "サーバー"),
        ("expenses", "Each expense is paid."),
    ],
)
def test_spellings_meet(question: str, text: str) -> None:
    assert shares(weights(question), reading(text))[1] == 1.0


# -- evidence --------------------------------------------------------------------------------------------------------


RIGHT, WRONG = reading("返金の期限は30日です。"), reading("天気の話です。")
DENSE = [Scored("a", 0.60, "ja")] + [Scored(f"x{n}", 0.25, "ja") for n in range(12)]
ABROAD = [Scored("en", 0.50, "en")] + [Scored(f"y{n}", 0.20, "en") for n in range(12)]


def test_a_passage_of_the_same_language_is_judged_by_words_and_meaning() -> None:
    judge = Judge(
        space(LOCAL),
        "ja",
        weights("返金の期限"),
        dense=DENSE,
        fused={"a": 2.0, "x0": 1.5, "words only": 0.5},
    )

    best = judge.evidence("a", RIGHT)
    assert set(best) == {"both"}
    assert best["both"] == RelevanceEvidence(1.0, 1.0, 0.0, 0.60, 0.2, 1.0, 0.25)  # a lead of 0.35 counts as 0.2
    beyond = judge.evidence("words only", reading("返金します。"))["both"]
    assert beyond.cosine == 0.25 and (beyond.place, beyond.gap) == (0.25, 0.0)  # no nearer than the list's last one
    assert judge.relevance("a", RIGHT) > CONFIDENT
    assert judge.relevance("x0", WRONG) < MIN_RELEVANCE


def test_without_a_cosine_words_decide() -> None:
    judge = Judge(space(LOCAL), "ja", weights("返金の期限"), dense=None, fused={"a": 2.0, "b": 1.9})

    assert set(judge.evidence("a", RIGHT)) == {"words"}
    assert judge.relevance("a", RIGHT) > MIN_RELEVANCE
    assert judge.relevance("b", reading("天気の話です。")) < MIN_RELEVANCE


def test_words_cannot_speak_against_a_passage_in_another_script() -> None:
    judge = Judge(space(LOCAL), "ja", weights("返金の期限"), dense=ABROAD, fused={"en": 1.0, "y0": 0.8, "a": 0.5})

    evidence = judge.evidence("en", reading("Refunds take 30 days."))
    assert evidence["meaning"] == RelevanceEvidence(cosine=0.5, margin=0.2)
    assert evidence["both"].window == 0.0
    assert judge.relevance("en", reading("Refunds take 30 days.")) > MIN_RELEVANCE
    assert judge.relevance("y0", reading("Weather talk.")) < MIN_RELEVANCE


def test_what_a_query_did_not_find_is_not_judged_by_it() -> None:
    judge = Judge(space(LOCAL), "ja", weights("返金の期限"), dense=DENSE, fused={"a": 2.0})

    assert judge.evidence("elsewhere", RIGHT) == {} and judge.relevance("elsewhere", RIGHT) == 0.0


def test_words_speak_for_a_passage_in_another_script_that_has_them() -> None:
    page = reading("Okta の MFA をリセットするには")
    judge = Judge(
        space(LOCAL), "en", weights("Okta MFA"), dense=[Scored("ja", 0.5, "ja"), *DENSE[1:]], fused={"ja": 2.0}
    )

    assert judge.evidence("ja", page)["both"].window == 1.0
    assert judge.relevance("ja", page) > CONFIDENT


def test_a_question_of_nothing_but_filler_is_judged_by_meaning() -> None:
    judge = Judge(space(LOCAL), "ja", {}, dense=DENSE, fused={"a": 1.0})

    assert set(judge.evidence("a", RIGHT)) == {"meaning"}


def test_the_lead_is_over_the_ten_best_others() -> None:
    ranked = [Scored(str(n), 0.5 - 0.01 * n, "ja") for n in range(20)]
    judge = Judge(space(LOCAL), "ja", {}, dense=ranked, fused={one.id: 1.0 for one in ranked})

    def margin(id: str) -> float:
        return judge.evidence(id, RIGHT)["meaning"].margin

    assert margin("0") == pytest.approx(0.5 - 0.445)
    assert margin("3") == pytest.approx(0.47 - (sum(0.5 - 0.01 * n for n in range(11)) - 0.47) / 10)
    assert margin("15") == pytest.approx(0.35 - 0.455)


def test_a_lone_passage_has_no_rivals() -> None:
    judge = Judge(space(LOCAL), "ja", weights("返金の期限"), dense=DENSE[:1], fused={"a": 0.5})

    assert judge.evidence("a", RIGHT)["both"].margin == 0.0
    assert judge.relevance("a", RIGHT) > MIN_RELEVANCE


# -- weights ---------------------------------------------------------------------------------------------------------


def test_every_fit_has_its_signals_and_points_the_right_way() -> None:
    fits = space(LOCAL).weights
    assert {kind: tuple(fit.signals) for kind, fit in fits.items()} == dict(SIGNALS)

    middling = RelevanceEvidence(window=0.5, line=0.4, heads=0.1, cosine=0.4, margin=0.05, place=0.95, gap=0.05)
    for kind, fit in fits.items():
        for signal in SIGNALS[kind]:
            if signal != "heads":  # words that the heading alone supplies say less than those in the text
                better = replace(middling, **{signal: getattr(middling, signal) * 1.2})
                assert fit.relevance(better) > fit.relevance(middling), (kind, signal)
        assert 0.0 < fit.relevance(RelevanceEvidence(place=0.0)) < fit.relevance(middling) < 1.0


def test_an_unknown_embedders_cosines_are_put_on_the_known_scale() -> None:
    known, unknown = space(LOCAL), space("somebody/else")
    wide = [Scored(str(n), 0.6 - 0.02 * n, "en") for n in range(20)]

    assert known.rescaled(wide) == {one.id: one.score for one in wide}
    rescaled = unknown.rescaled(wide)
    assert sum(rescaled.values()) / 20 == pytest.approx(known.centre)
    assert [*rescaled] == sorted(rescaled, key=lambda id: -rescaled[id])
    assert not unknown.means.questions and known.means.questions.keys() == known.means.passages.keys() == {"ja", "en"}
    assert known.rescaled(wide[:1]) == {"0": 0.6} and unknown.rescaled(wide[:1]) == {}


def test_a_lone_cosine_of_an_unknown_embedder_says_nothing_so_words_decide() -> None:
    judge = Judge(
        space("somebody/else"), "ja", weights("返金の期限"), dense=[Scored("a", 0.31, "ja")], fused={"a": 0.5}
    )

    assert set(judge.evidence("a", RIGHT)) == {"words"}
    assert judge.relevance("a", RIGHT) > MIN_RELEVANCE
