"""Questions that ask for the same thing end up together, whatever their words, order and language."""

import json
import random
import time
import zlib
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from benchmarks.fit_grouping import GOLDEN, HELD_OUT, REFERENCE, UNSEEN, read
from bot.unanswered import clustering_traits
from bot.unanswered.clustering import LARGE, SIGNALS, Clustering, Fitted, components, linked, shipped, spanned, squeezed
from bot.unanswered.clustering_lexicon import named, opposite, trouble
from bot.unanswered.clustering_traits import signals, traits_of
from retrieval.embeddings.local import LocalEmbedder
from retrieval.sparse import SparseEncoder
from retrieval.types import Vectors
from tests.retrieval.embeddings.test_embeddings import CACHE
from tests.retrieval.test_ingest import HashEmbedder


@pytest.fixture(scope="module")
def local() -> LocalEmbedder:
    return LocalEmbedder(CACHE)


# -- how good it is -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "least"),
    [
        pytest.param(GOLDEN, 0.85, id="golden"),
        pytest.param(HELD_OUT, 0.75, id="held out", marks=pytest.mark.long),
        pytest.param(UNSEEN, 0.5, id="unseen", marks=pytest.mark.long),
    ],
)
async def test_the_golden_questions(local: LocalEmbedder, file: Path, least: float) -> None:
    """Pairwise F1 of the shipped weights, which were fitted to the first file and have not seen the others' topics."""
    questions = read(file)
    groups = await Clustering(local)([one.text for one in questions])
    found = {pair for group in groups for pair in combinations(group, 2)}
    right = {(i, j) for i, j in combinations(range(len(questions)), 2) if questions[i].group == questions[j].group}
    assert 2 * len(found & right) / (len(found) + len(right)) >= least


async def test_paraphrases_meet_across_languages_and_near_misses_do_not(local: LocalEmbedder) -> None:
    texts = [
        "有給って来年に繰り越せますか",
        "E1042というエラーが出ます。対処法は？",
        "can I carry over unused vacation days to next year?",
        "Getting error E1042, how do I fix it?",
        "E1043というエラーが出ます。対処法は？",
        "使い切れなかった有休は翌年度に持ち越しできる？",
        "申請した有給を取り消したい",
        "２０２５年度の予算資料はどこにありますか",
        "2024年度の予算資料はどこにありますか",
    ]
    groups = await Clustering(local)(texts)
    assert groups == [(0, 2, 5), (1, 3), (4,), (6,), (7,), (8,)]
    order = list(range(len(texts)))
    random.Random(3).shuffle(order)
    shuffled = await Clustering(local)([texts[at] for at in order])
    assert {frozenset(order[at] for at in group) for group in shuffled} == {frozenset(group) for group in groups}


def test_the_weights_say_what_they_should() -> None:
    fitted = shipped()
    assert set(fitted.signals) == set(SIGNALS)
    for name in ("meaning", "asked_same", "done_same", "about_same"):
        assert fitted.signals[name] > 0, name
    for name in ("asked_other", "done_other", "about_other", "trouble", "names", "numbers", "opposite", "apart"):
        assert fitted.signals[name] < 0, name
    assert 0 < fitted.threshold < 1


def test_the_reference_is_that_of_the_fit_and_unlike_any_question_it_is_measured_on() -> None:
    rows = [json.loads(line) for line in REFERENCE.read_text("utf-8").splitlines()]
    assert shipped().reference == tuple((row["ja"], row["en"]) for row in rows)
    measured = {one.text for file in (GOLDEN, HELD_OUT, UNSEEN) for one in read(file)}
    assert measured.isdisjoint(text for pair in shipped().reference for text in pair)


# -- any number, any embedder ---------------------------------------------------------------------------------------


class Themes:
    """An embedder whose vectors lie close when the first words of two texts are the same."""

    name = "themes"
    dimensions = 64
    max_tokens = 512

    def count_tokens(self, text: str) -> int:
        return len(text)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return [self._vector(text) for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        return self._vector(text)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        theme = np.random.default_rng(zlib.crc32(text[:5].encode())).normal(size=self.dimensions)
        own = np.random.default_rng(zlib.crc32(text.encode())).normal(size=self.dimensions)
        vector = theme + 0.2 * own
        return [float(value) for value in vector / np.linalg.norm(vector)]


@pytest.mark.long
async def test_a_busy_week_is_grouped_in_seconds_with_any_embedder() -> None:
    letters = "abcdefghijklmnopqrst"
    texts = [f"{a}{b}the {'x' * n} thing" for a in letters for b in letters for n in range(1, 6)]
    began = time.perf_counter()
    groups = await Clustering(Themes())(texts)
    assert time.perf_counter() - began < 20
    assert sorted(len(group) for group in groups) == [5] * 400
    assert sorted(at for group in groups for at in group) == list(range(2000))


@pytest.mark.long
async def test_a_crowd_of_one_theme_does_not_take_forever() -> None:
    texts = [f"theme {'x' * n} thing" for n in range(1, LARGE + 100)]
    groups = await Clustering(Themes())(texts)
    assert sorted(at for group in groups for at in group) == list(range(len(texts)))
    assert len(groups[0]) > LARGE / 2


async def test_without_an_embedder_equal_questions_are_still_counted(caplog: pytest.LogCaptureFixture) -> None:
    texts = ["経費の締切は？", "when?", "経費の締切は", "ＷＨＥＮ", "?!", "…"]
    assert await Clustering(HashEmbedder(fail_at=1))(texts) == [(0, 2), (1, 3), (4,), (5,)]
    assert "only equal questions are grouped" in caplog.text


async def test_nothing_and_one_thing() -> None:
    assert await Clustering(Themes())([]) == []
    assert await Clustering(Themes())(["one thing"]) == [(0,)]
    assert await Clustering(Themes())(["", "", " "]) in ([(0, 1), (2,)], [(0, 1, 2)])


# -- parts ----------------------------------------------------------------------------------------------------------


def test_average_linkage_joins_by_the_mean() -> None:
    table = np.array([[0, 0.9, 0.5, 0], [0.9, 0, 0.1, 0], [0.5, 0.1, 0, 0.8], [0, 0, 0.8, 0]])
    assert linked(table, 0.4) == [[0, 1], [2, 3]]  # 0–2 alone would be near enough, their groups are not
    assert linked(table, 0.95) == [[0], [1], [2], [3]]
    assert linked(table, 0.1) == [[0, 1, 2, 3]]
    assert linked(np.zeros((1, 1)), 0.5) == [[0]]


def test_components_are_what_pairs_hold_together() -> None:
    known = {(0, 3): 0.6, (3, 5): 0.6, (1, 2): 0.4}
    assert components(range(6), known, 0.5) == [[0, 3, 5], [1], [2], [4]]
    assert components([1, 2], known, 0.3) == [[1, 2]]


@pytest.mark.parametrize(
    ("text", "names", "numbers"),
    [
        ("FY2025の予算ってどこ？", set(), {"2025"}),
        ("FY25 budget please", set(), {"2025"}),
        ("令和7年度の予算は？", set(), {"2025"}),
        ("E1042というエラー", set(), {"e1042"}),
        ("Please help with GitHub Actions", {"github", "actions"}, set()),
        ("Slackの通知を止めたい", {"slack"}, set()),
        ("3Fのプリンタ", set(), {"3"}),
        ("the printer on the third floor", set(), {"3"}),
        ("2割の値引き", set(), {"20"}),
        ("三ヶ月前から", set(), {"3"}),
    ],
)
def test_names_and_numbers_are_seen(text: str, names: set[str], numbers: set[str]) -> None:
    traits = traits_of(text, SparseEncoder())
    assert (set(traits.names), set(traits.numbers)) == (names, numbers)


@pytest.mark.parametrize(
    ("one", "other", "seen"),
    [
        ("Slackの通知を止めたい", "Teamsの通知を止めたい", {"names": 1.0}),
        ("DockerがMacで動かない", "DockerがLinuxで動かない", {"names": 0.5}),
        ("Slackの通知を止めたい", "通知を止めたい", {"names": 0.0}),
        ("3階が寒い", "5階が寒い", {"numbers": 1.0}),
        ("3階が寒い", "It's cold on the 3rd floor", {"numbers": 0.0, "across": 1.0, "trouble": 0.0}),
        ("会議室を予約したい", "会議室の予約を取り消したい", {"opposite": 1.0, "asked_other": 0.0}),
        ("いつ届きますか", "誰が届けますか", {"asked_other": 1.0}),
        ("How do I change my photo?", "Can I change my photo?", {"asked_other": 0.0, "done_same": 1.0}),
        ("アプリが落ちます", "アプリを入れたい", {"trouble": 1.0, "done_one": 1.0}),
        ("本番のログ", "ステージングのログ", {"apart": 1.0, "swapped": 0.5}),
    ],
)
def test_what_is_seen_of_two_questions(one: str, other: str, seen: dict[str, float]) -> None:
    encoder = SparseEncoder()
    a, b = traits_of(one, encoder), traits_of(other, encoder)
    found = dict(zip(clustering_traits.SIGNALS, signals(a, b), strict=True))
    assert {name: found[name] for name in seen} == seen
    assert signals(a, b) == signals(b, a)


def test_a_space_hides_neither_language() -> None:
    rng = np.random.default_rng(5)
    meanings, ja, en = rng.normal(size=(40, 16)), 9 * rng.normal(size=16), 9 * rng.normal(size=16)
    space = spanned(meanings + ja, meanings + en)
    moved = space.centred(["あ", "a"], np.array([meanings[0] + ja, meanings[0] + en]))
    assert moved[0] @ moved[1] == pytest.approx(1)
    assert all(abs(mean) < 0.1 and 0.1 < spread < 0.5 for mean, spread in space.cosines.values())


def test_trouble_is_told_from_a_wish() -> None:
    said = ["印刷できません", "画面が真っ黒です", "The app crashes", "I can't log in", "動かなくなった"]
    asked = ["通知が来ないようにしたい", "申請しないといけませんか", "教えてもらえませんか", "How do I log in?"]
    assert all(map(trouble, said)) and not any(map(trouble, asked))


def test_words_of_office_life() -> None:
    assert named("How can I cancel my booking?") == {"asked": {"way"}, "done": {"cancel", "book"}}
    assert named("予約をキャンセルしたい") == {"done": {"cancel", "book"}}
    assert named("いくらまで出ますか")["asked"] == {"money"}
    assert named("who should I tell?")["asked"] == {"way"} and named("who wrote it?")["asked"] == {"person"}
    assert named("アンインストールしたい")["done"] == {"uninstall"}
    assert named("hello") == {}
    cancel, book = named("予約を取り消したい")["done"], named("予約したい")["done"]
    assert opposite(cancel, book) and opposite(book, cancel) and not opposite(book, book)


def test_width_case_and_punctuation_make_no_difference() -> None:
    assert squeezed("ＶＰＮ　に繋がらない！！") == squeezed("vpnに繋がらない") != squeezed("vpnに繋がる")
    assert squeezed("?!") == "?!"


def test_a_probability_is_one() -> None:
    fitted = Fitted(100.0, dict.fromkeys(SIGNALS, 1e6), 0.5, ())
    values = fitted.probabilities(np.array([[1e6] * len(SIGNALS), [-1e6] * len(SIGNALS)]))
    assert values[0] == pytest.approx(1) and values[1] == pytest.approx(0)
