"""A whole search over real passages in both languages: real tokeniser, real model, real engine."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import pytest_asyncio

from retrieval.embeddings.base import EmbeddingClient
from retrieval.embeddings.local import LocalEmbedder
from retrieval.i18n import Language, Text
from retrieval.index import EdgeIndex
from retrieval.ingest import Entry, Ingest
from retrieval.reranking import RerankingError
from retrieval.search import CANDIDATES, REREAD, Search, distinct
from retrieval.sparse import TOKENIZER, SparseEncoder
from retrieval.text import language_of
from retrieval.types import (
    EVERYONE,
    MIN_RELEVANCE,
    TEAM,
    Branch,
    Candidates,
    Document,
    EmbeddingError,
    Hit,
    Indexed,
    Mode,
    Passage,
    Probe,
    QdrantConnectionError,
    Readers,
    Vector,
    View,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

DATA = Path(__file__).parent / "data"
VIEW = View(Readers(frozenset({TEAM})), generation=1)

SPELLINGS = (
    ("server", "運用", "サーバーの定期メンテナンスは毎週日曜日の午前２時から４時まで行います。"),
    ("meeting", "会議", "打ち合わせの予約は、前日の正午までにカレンダーで行ってください。"),
    ("refund", "Refunds", "Refunds are paid within 30 days of the request, to the card that was charged."),
    ("vpn", "VPN", "ＶＰＮの接続には、ワンタイムパスワードが必要です。"),
)
STEPS = "\n\n".join(f"# 手順{n}\n\n" + f"手順{n}では装置{n}番の点検を行います。" * 25 for n in range(7))


def lines(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def entry(id: str, title: str, text: str, scope: str = TEAM, collection: str = "set") -> Entry:
    return Entry(Document(id, text, title), Passage(collection, id, id, 0, "", scope, title), version="1")


QUESTIONS = lines("questions.jsonl")


def asked(kind: str) -> list[tuple[str, str]]:
    return [(row["question"], row["passage"]) for row in QUESTIONS if row["kind"] == kind]


@dataclass(frozen=True)
class Shelf:
    index: EdgeIndex
    embedder: EmbeddingClient
    sparse: SparseEncoder
    search: Search


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shelf(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shelf]:
    """Both languages' passages in one collection."""
    embedder = LocalEmbedder(Path.home() / ".cache" / "kotae")
    sparse = SparseEncoder()
    index = await EdgeIndex.open(
        tmp_path_factory.mktemp("vectors"),
        dimensions=embedder.dimensions,
        embedder=embedder.name,
        tokenizer=TOKENIZER,
    )
    rows = [*lines("passages_ja.jsonl"), *lines("passages_en.jsonl")]
    entries = [entry(row["id"], row["title"], row["text"]) for row in rows]
    entries += [entry(id, title, text, collection="team") for id, title, text in SPELLINGS]
    entries += [
        entry("steps", "点検手順", STEPS, collection="team"),
        entry("secret", "給与", "部長の給与は百万円です。", "place:slack:T:C", "team"),
    ]
    await Ingest(embedder, sparse, index).write_many(entries, born=1)
    yield Shelf(index, embedder, sparse, Search(index, embedder, sparse))
    await index.close()


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.passage.document_id for hit in hits]


# -- quality ---------------------------------------------------------------------------------------------------------


async def test_questions_find_their_passage(shelf: Shelf) -> None:
    found = {question: await shelf.search([question], VIEW) for question, _ in asked("same")}

    right = [question for question, passage in asked("same") if passage in ids(found[question].hits[:1])]
    assert len(right) >= 0.94 * len(found)


async def test_questions_find_their_passage_in_the_other_language(shelf: Shelf) -> None:
    """Both languages are in one collection; where models keep a language together, the asker's own would come first."""
    found = {question: await shelf.search([question], VIEW, min_relevance=0.0) for question, _ in asked("across")}

    assert len(found) == 20
    places = {question: ids(found[question].hits).index(passage) for question, passage in asked("across")}
    first = [question for question, place in places.items() if place == 0]
    assert len(first) >= 13 and max(places.values()) < 4
    assert {language_of(question) for question in first} == {"ja", "en"}
    kept = [question for question in first if found[question].hits[0].relevance >= MIN_RELEVANCE]
    assert len(kept) >= 12


async def test_what_is_not_there_is_not_found(shelf: Shelf) -> None:
    view = replace(VIEW, collections=("set",))
    found = [await shelf.search([question], view) for question, _ in asked("none")]

    refused = [one for one in found if not one.hits]
    shown = [(one.metrics.query, one.hits[0].passage.document_id, one.metrics.top_score) for one in found if one.hits]
    assert len(shown) <= 0.1 * len(found), shown
    assert all(one.rejected for one in refused)


@pytest.mark.parametrize(
    ("one", "other", "document"),
    [
        ("サーバーのメンテナンスはいつ？", "サーバのメンテナンスはいつ？", "server"),
        ("サーバーのメンテナンスはいつ？", "ｻｰﾊﾞｰのﾒﾝﾃﾅﾝｽはいつ?", "server"),
        ("打ち合わせの予約はいつまで？", "打合せの予約はいつまで？", "meeting"),
        ("VPNの接続に必要なものは？", "ＶＰＮの接続に必要なものは？", "vpn"),
        ("When are refunds paid?", "Ｗｈｅｎ ａｒｅ ＲＥＦＵＮＤＳ ｐａｉｄ？", "refund"),
    ],
)
async def test_rank_and_relevance_hold_whatever_the_spelling(shelf: Shelf, one: str, other: str, document: str) -> None:
    first, second = await shelf.search([one], VIEW), await shelf.search([other], VIEW)

    assert ids(first.hits[:1]) == ids(second.hits[:1]) == [document]
    assert first.hits[0].relevance == pytest.approx(second.hits[0].relevance, abs=0.1)


@pytest.mark.parametrize(
    ("plain", "chatty", "document"),
    [
        (
            "打ち合わせの予約はいつまで？",
            "お疲れ様です、ちなみに打ち合わせの予約っていつまででしたっけ？教えてください",
            "meeting",
        ),
        ("When are refunds paid?", "Hey folks, sorry, does anyone know when refunds are paid? Thanks!", "refund"),
    ],
)
async def test_politeness_does_not_hurt(shelf: Shelf, plain: str, chatty: str, document: str) -> None:
    first, second = await shelf.search([plain], VIEW), await shelf.search([chatty], VIEW)

    assert ids(first.hits[:1]) == ids(second.hits[:1]) == [document]
    assert second.hits[0].relevance > 0.6 * first.hits[0].relevance


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
async def test_relevance_tells_right_from_wrong_in_every_mode(shelf: Shelf, mode: Mode) -> None:
    right = await shelf.search(["サーバーのメンテナンスはいつですか？"], VIEW, mode=mode)
    wrong = await shelf.search(["猫の飼い方を教えてください"], VIEW, mode=mode)

    assert ids(right.hits[:1]) == ["server"]
    assert not wrong.hits


# -- contract --------------------------------------------------------------------------------------------------------


async def test_a_hit_carries_its_branch_scores_and_the_search_its_measurement(shelf: Shelf) -> None:
    view = replace(VIEW, collections=("team", "set"))
    found = await shelf.search(["サーバーのメンテナンスはいつ？"], view, limit=3)

    assert set(found.hits[0].scores) == {"dense", "words", "ngrams", "fused"}
    assert all(hit.relevance >= MIN_RELEVANCE for hit in found.hits)
    assert all(hit.relevance < MIN_RELEVANCE for hit in found.rejected)
    metrics = found.metrics
    assert (metrics.query, metrics.collection_name, metrics.error) == (
        "サーバーのメンテナンスはいつ？",
        "team,set",
        None,
    )
    assert metrics.scores == tuple(hit.relevance for hit in found.hits)
    assert metrics.top_score == max(hit.relevance for hit in (*found.hits, *found.rejected))
    assert metrics.filtered_results == len(found.hits) <= 3 < metrics.total_results
    assert metrics.latency_ms > 0


async def test_limit_and_threshold_can_be_chosen_for_one_search(shelf: Shelf) -> None:
    everything = await shelf.search(["サーバーのメンテナンスはいつ？"], VIEW, limit=12, min_relevance=0.0)
    nothing = await shelf.search(["サーバーのメンテナンスはいつ？"], VIEW, min_relevance=1.0)

    assert len(everything.hits) == 12 and not everything.rejected
    assert not nothing.hits and ids(nothing.rejected[:1]) == ["server"]


async def test_a_single_word_is_looked_up(shelf: Shelf) -> None:
    """However many passages have it; one that nobody wrote is found nowhere."""
    found = await shelf.search(["会議"], VIEW)
    assert ids(found.hits)[0] == "meeting" and {"jaquad-p1082", "jaquad-p1085"} <= {*ids(found.hits)}
    assert all(hit.held == 1 and hit.relevance >= MIN_RELEVANCE for hit in found.hits)
    assert not (await shelf.search(["休暇"], VIEW)).hits


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
async def test_what_the_asker_may_not_read_is_in_no_result(shelf: Shelf, mode: Mode) -> None:
    private = View(Readers(frozenset({TEAM, "place:slack:T:C"})), generation=1)
    asked_for = "部長の給与はいくらですか？"

    assert "secret" in ids((await shelf.search([asked_for], private, mode=mode)).hits)
    for view in (VIEW, View(Readers(frozenset({EVERYONE})), 1), View(Readers(frozenset()), 1)):
        found = await shelf.search([asked_for], view, mode=mode, limit=CANDIDATES, min_relevance=0.0)
        assert "secret" not in ids([*found.hits, *found.rejected])


@pytest.mark.parametrize("query", ["", "  \n", "？！", "それは？", "what is it?", "🙂", "あ" * 6000])
async def test_any_text_can_be_searched(shelf: Shelf, query: str) -> None:
    found = await shelf.search([query], VIEW)

    assert len(found.hits) <= 8 and found.failed == ()


async def test_neighbours_are_read_on_demand(shelf: Shelf) -> None:
    passages = await shelf.index.passages("steps", range(0, 100), VIEW)
    assert len(passages) >= 6
    middle = Hit(passages[3], {}, 1.0)

    around = await shelf.search.context(middle, VIEW)
    assert [passage.chunk for passage in around] == [1, 2, 3, 4, 5]
    edge = await shelf.search.context(Hit(passages[0], {}, 1.0), VIEW, around=9)
    assert [passage.chunk for passage in edge] == [0, 1, 2]
    assert await shelf.search.context(middle, View(Readers(frozenset({EVERYONE})), 1)) == []


# -- several wordings ------------------------------------------------------------------------------------------------


class Counting:
    """An embedder that notes what it is asked for at once."""

    def __init__(self, embedder: EmbeddingClient) -> None:
        self._embedder = embedder
        self.name, self.dimensions, self.max_tokens = embedder.name, embedder.dimensions, embedder.max_tokens
        self.batches: list[list[str]] = []

    def count_tokens(self, text: str) -> int:
        return self._embedder.count_tokens(text)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return await self._embedder.embed_documents(texts)

    async def embed_query(self, text: str) -> Vector:
        return (await self.embed_queries([text]))[0]

    async def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        self.batches.append([*texts])
        return await self._embedder.embed_queries(texts)


async def test_what_any_of_the_wordings_finds_is_shown_once(shelf: Shelf) -> None:
    wordings = ["サーバーのメンテナンスはいつ？", "When are refunds paid?", "打ち合わせの予約はいつまで？"]

    found = await shelf.search(wordings, VIEW, written_by="model", min_relevance=0.0)

    assert {"server", "refund", "meeting"} <= set(ids(found.hits[:4]))
    assert len(found.hits) == 8 and not found.rejected
    places = [(hit.passage.document_id, hit.passage.chunk) for hit in found.hits]
    assert len(set(places)) == len(places)
    assert found.metrics.query == " / ".join(wordings)
    by_id = {hit.passage.document_id: hit for hit in found.hits}
    documents: list[tuple[str, Mode]] = [("server", "hybrid"), ("refund", "hybrid"), ("meeting", "sparse")]
    for wording, (document, mode) in zip(wordings, documents, strict=True):
        (alone, *_) = (await shelf.search([wording], VIEW, mode=mode, min_relevance=0.0)).hits
        assert by_id[document].relevance == pytest.approx(alone.relevance)  # to the wording that it answers best


async def test_wordings_are_embedded_and_asked_for_in_one_batch_each(shelf: Shelf) -> None:
    embedder = Counting(shelf.embedder)
    wordings = ["返金の期限", "", "返金はいつ", "返金の期限", "refund deadline", "when paid", "fifth"]

    await Search(shelf.index, embedder, shelf.sparse)(wordings, VIEW)

    assert embedder.batches == [["返金の期限", "返金はいつ", "refund deadline", "when paid"]]


async def test_of_a_models_wordings_the_first_of_each_language_are_asked_by_meaning(shelf: Shelf) -> None:
    embedder = Counting(shelf.embedder)
    wordings = ["返金の期限", "返金はいつ", "refund deadline", "when paid"]

    found = await Search(shelf.index, embedder, shelf.sparse)(wordings, VIEW, written_by="model", min_relevance=0.0)

    ((one, other),) = embedder.batches
    assert {one, other} == {"返金の期限", "refund deadline"}
    assert "refund" in ids(found.hits[:2])


async def test_the_order_is_that_of_the_branches_and_never_that_of_relevance(shelf: Shelf) -> None:
    orders = []
    for question, _ in asked("same"):
        found = await shelf.search([question], VIEW, min_relevance=0.0)
        assert [hit.scores["fused"] for hit in found.hits] == sorted(
            (hit.scores["fused"] for hit in found.hits), reverse=True
        )
        orders.append([hit.relevance for hit in found.hits])
    assert any(order != sorted(order, reverse=True) for order in orders)


async def test_an_askers_words_weigh_less_than_a_models(shelf: Shelf) -> None:
    query = ["サーバーの保証期間と購入先と値段は？"]  # no passage holds half of it

    theirs = (await shelf.search(query, VIEW, min_relevance=0.0)).hits
    ours = (await shelf.search(query, VIEW, written_by="model", min_relevance=0.0)).hits

    by_id = {hit.passage: hit for hit in ours}
    both = [(hit.scores, by_id[hit.passage].scores) for hit in theirs if hit.passage in by_id and "words" in hit.scores]
    assert both and all(one["fused"] < other["fused"] for one, other in both)
    for mode in ("sparse", "dense"):  # there is nothing to weigh them against
        one, other = [
            await shelf.search(query, VIEW, written_by=who, mode=mode, min_relevance=0.0) for who in ("asker", "model")
        ]
        assert one.hits[0].scores == other.hits[0].scores


async def test_an_asker_who_uses_the_documents_words_is_taken_at_them(shelf: Shelf) -> None:
    query = ["サーバーの定期メンテナンスは毎週日曜日の午前２時から４時まで行いますか？"]

    (theirs, *_) = (await shelf.search(query, VIEW)).hits
    (ours, *_) = (await shelf.search(query, VIEW, written_by="model")).hits

    assert theirs.passage == ours.passage and theirs.passage.document_id == "server"
    assert theirs.relevance == ours.relevance
    assert theirs.scores["fused"] == pytest.approx(ours.scores["fused"])


@dataclass
class Backwards:
    """A reranker that likes best what the search put last."""

    name = "backwards"
    fails: bool = False
    read: list[tuple[str, list[str]]] = field(default_factory=list)

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        if self.fails:
            raise RerankingError(Text(en="no", ja="いいえ"))
        self.read.append((query, [*texts]))
        return [float(place) for place in range(len(texts))]


async def test_a_reranker_reads_the_best_twenty_before_eight_are_shown(shelf: Shelf) -> None:
    wordings = ["サーバーのメンテナンスはいつ？", "server maintenance"]
    plain = await shelf.search(wordings, VIEW, written_by="model", min_relevance=0.0, limit=REREAD)
    reranker = Backwards()
    search = Search(shelf.index, shelf.embedder, shelf.sparse, reranker=reranker)

    found = await search(wordings, VIEW, written_by="model", min_relevance=0.0)

    ((query, texts),) = reranker.read
    assert query == wordings[0] and len(texts) == REREAD
    assert texts[0] == "運用\nサーバーの定期メンテナンスは毎週日曜日の午前２時から４時まで行います。"
    assert len(found.hits) == 8 and "server" not in ids(found.hits)
    assert set(ids(found.hits)) <= set(ids(plain.hits))
    await search(wordings, VIEW, mode="dense")
    assert len(reranker.read) == 1


async def test_a_reranker_that_fails_leaves_the_order(shelf: Shelf) -> None:
    query = ["サーバーのメンテナンスはいつ？"]
    search = Search(shelf.index, shelf.embedder, shelf.sparse, reranker=Backwards(fails=True))

    assert ids((await search(query, VIEW)).hits) == ids((await shelf.search(query, VIEW)).hits)


async def test_rrf_is_the_other_choice(shelf: Shelf) -> None:
    search = Search(shelf.index, shelf.embedder, shelf.sparse, fusion="rrf")

    found = await search(["サーバーのメンテナンスはいつ？"], VIEW)

    assert ids(found.hits[:1]) == ["server"]
    assert found.hits[0].scores["fused"] == pytest.approx(1.5)  # first in all three branches: 3 × 1 / 2


# -- failures --------------------------------------------------------------------------------------------------------


class Unable:
    """An embedder whose model is gone."""

    name = "multilingual-e5-small"
    dimensions = 384
    max_tokens = 512

    def count_tokens(self, text: str) -> int:
        return len(text)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        raise EmbeddingError(Text(en="gone", ja="ありません"))

    async def embed_query(self, text: str) -> Vector:
        raise EmbeddingError(Text(en="gone", ja="ありません"))

    async def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        raise EmbeddingError(Text(en="gone", ja="ありません"))


class Lame(EdgeIndex):
    """A store some of whose branches fail, as `Index.query` reports it."""

    def __init__(self, index: EdgeIndex, *broken: Branch) -> None:
        self._index = index
        self._broken = broken

    async def query(self, view: View, *probes: Probe, limit: int = 50) -> list[Candidates]:
        return [
            replace(
                found,
                branches={branch: ranked for branch, ranked in found.branches.items() if branch not in self._broken},
                failed={branch: ValueError("broken") for branch in found.branches if branch in self._broken},
            )
            for found in await self._index.query(view, *probes, limit=limit)
        ]

    async def sample(self, generation: int, limit: int) -> list[tuple[Language, Vector]]:
        return await self._index.sample(generation, limit)

    async def fetch(self, ids: Sequence[str], view: View) -> Mapping[str, Indexed]:
        return await self._index.fetch(ids, view)

    async def passages(self, document_id: str, numbers: range, view: View) -> list[Passage]:
        return await self._index.passages(document_id, numbers, view)


async def test_without_the_embedder_words_still_answer(shelf: Shelf) -> None:
    search = Search(shelf.index, Unable(), shelf.sparse)

    found = await search(["サーバーのメンテナンスはいつ？"], VIEW)

    assert ids(found.hits[:1]) == ["server"]
    assert found.failed == ("dense",)
    assert found.metrics.error == "dense: EmbeddingError"
    assert not (await search(["猫の飼い方を教えてください"], VIEW)).hits


@pytest.mark.parametrize("broken", [("dense",), ("words",), ("ngrams",), ("words", "ngrams"), ("dense", "ngrams")])
async def test_a_failing_branch_leaves_the_others(shelf: Shelf, broken: tuple[Branch, ...]) -> None:
    search = Search(Lame(shelf.index, *broken), shelf.embedder, shelf.sparse)

    found = await search(["サーバーのメンテナンスはいつ？"], VIEW)

    assert ids(found.hits[:1]) == ["server"]
    assert set(found.failed) == set(broken)


async def test_when_nothing_answers_that_is_an_error(shelf: Shelf) -> None:
    with pytest.raises(EmbeddingError):
        await Search(shelf.index, Unable(), shelf.sparse)(["サーバー"], VIEW, mode="dense")
    with pytest.raises(QdrantConnectionError):
        await Search(Lame(shelf.index, "dense", "words", "ngrams"), shelf.embedder, shelf.sparse)(["サーバー"], VIEW)
    with pytest.raises(EmbeddingError):
        await Search(Lame(shelf.index, "words", "ngrams"), Unable(), shelf.sparse)(["サーバー"], VIEW)


# -- repetitions -----------------------------------------------------------------------------------------------------


def hit(text: str, relevance: float = 0.5, document: str = "d", question: str | None = None) -> Hit:
    return Hit(Passage("c", document, document, 0, text, TEAM, question=question), {}, relevance)


SENTENCES = [f"{n}番目の規則では、申請書{n}号を{n + 1}日以内に総務部へ提出すると定めています。" for n in range(12)]


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("返金は30日以内です。", "返金は３０日以内です。", ["返金は30日以内です。"]),
        ("Refunds take 30 days.", "Refunds  take\n30 days. ", ["Refunds take 30 days."]),
        ("返金は30日以内です。交換は不可です。", "交換は不可です。", ["返金は30日以内です。交換は不可です。"]),
        ("交換は不可です。", "返金は30日以内です。交換は不可です。", ["返金は30日以内です。交換は不可です。"]),
        ("".join(SENTENCES[:10]), "".join(SENTENCES[1:11]), ["".join(SENTENCES[:10])]),
        ("".join(SENTENCES[:6]), "".join(SENTENCES[5:]), ["".join(SENTENCES[:6]), "".join(SENTENCES[5:])]),
        ("返金は30日以内です。", "返金は60日以内です。", ["返金は30日以内です。", "返金は60日以内です。"]),
    ],
)
async def test_a_text_appears_once(first: str, second: str, kept: list[str]) -> None:
    assert [one.passage.text for one in distinct([hit(first), hit(second, document="e")])] == kept


async def test_the_whole_takes_the_place_of_its_part() -> None:
    part, other, whole = (
        hit("交換は不可です。", 0.9),
        hit("天気の話。", 0.7),
        hit("規則: 交換は不可です。例外なし。", 0.4),
    )

    assert distinct([part, other, whole]) == [replace(whole, relevance=0.9), other]


async def test_answers_that_read_alike_to_different_questions_both_appear() -> None:
    assert len(distinct([hit("はい。", question="持ち込めますか？"), hit("はい。", question="飲めますか？")])) == 2


async def test_repeated_documents_appear_once_in_a_search(shelf: Shelf, tmp_path: Path) -> None:
    index = await EdgeIndex.open(tmp_path / "v", dimensions=384, embedder=shelf.embedder.name, tokenizer=TOKENIZER)
    try:
        text = "社内の駐車場は、総務部に申請すると翌日から使えます。"
        wide = "社内の駐車場は、総務部に申請すると翌日から使えます 。"
        entries = [entry("a", "駐車場", text), entry("b", "駐車場", wide), entry("c", "食堂", "食堂は11時に開きます。")]
        await Ingest(shelf.embedder, shelf.sparse, index).write_many(entries, born=1)

        found = await Search(index, shelf.embedder, shelf.sparse)(["駐車場はいつから使えますか？"], VIEW)

        assert len({"a", "b"} & set(ids(found.hits))) == 1
    finally:
        await index.close()
