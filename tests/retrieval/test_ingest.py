"""From a document to searchable passages: whole or not at all, in bounded batches, with progress."""

import asyncio
import hashlib
import math
import random
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
import sudachidict_small  # type: ignore[import-untyped]

from retrieval.chunking import chunks, embedding_text
from retrieval.embeddings.base import EmbeddingClient
from retrieval.embeddings.local import LocalEmbedder
from retrieval.i18n import Text
from retrieval.index import EdgeIndex
from retrieval.ingest import MAX_CHUNKS, Entry, Ingest
from retrieval.sparse import TOKENIZER, SparseEncoder
from retrieval.types import (
    Document,
    EmbeddingError,
    Passage,
    QAPair,
    QdrantConnectionError,
    Readers,
    UnreadableError,
    Vector,
    Vectors,
    View,
)
from tests.retrieval.index.test_index import ask
from tests.retrieval.test_memory import resident

pytestmark = pytest.mark.asyncio(loop_scope="module")


class HashEmbedder:
    """The same text, the same direction; fails or waits at a given batch."""

    name = "hash"
    dimensions = 16
    max_tokens = 512

    def __init__(self, fail_at: int | None = None, wait_at: int | None = None) -> None:
        self.batches: list[list[str]] = []
        self.waiting = asyncio.Event()
        self._fail_at = fail_at
        self._wait_at = wait_at

    def count_tokens(self, text: str) -> int:
        return 4 + len(text) // 2

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.batches.append([*texts])
        if len(self.batches) == self._fail_at:
            raise EmbeddingError(Text(en="No more.", ja="もうありません。"))
        if len(self.batches) == self._wait_at:
            self.waiting.set()
            await asyncio.Event().wait()
        return [self._vector(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        return self._vector(text)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        chance = random.Random(hashlib.sha256(text.encode()).digest())
        values = [chance.gauss(0, 1) for _ in range(self.dimensions)]
        length = math.hypot(*values)
        return [value / length for value in values]


SPARSE = SparseEncoder()
CACHE = Path.home() / ".cache" / "kotae"  # where the product keeps weights; made ready once per machine


async def opened(folder: Path, embedder: EmbeddingClient) -> EdgeIndex:
    return await EdgeIndex.open(folder, dimensions=embedder.dimensions, embedder=embedder.name, tokenizer=TOKENIZER)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def store(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EdgeIndex]:
    made = await opened(tmp_path_factory.mktemp("index"), HashEmbedder())
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="module")
async def index(store: EdgeIndex) -> AsyncIterator[EdgeIndex]:
    """An empty store. One for all tests: making one costs half a second of waiting for the disk."""
    yield store
    await store.roll_back(-1)  # as if nothing had ever been committed
    await store.unstage()


def see(generation: int) -> View:
    return View(Readers(frozenset({"team"})), generation)


def about(document_id: str = "d1", name: str = "guide.md") -> Passage:
    return Passage(
        "docs", document_id, name, 0, "", "team", "Guide", url="https://example.com/guide", updated="2026-04-01"
    )


def guide(sections: int, word: str = "停止") -> Document:
    body = "".join(
        f"# 章{n}\n\n" + f"{word}手順{n}では、担当者が機器の状態を確認してから記録を残します。" * 6 + "\n\n"
        for n in range(sections)
    )
    return Document("guide.md", body, "Guide")


async def test_a_document_is_found_by_meaning_words_and_ngrams_with_all_that_is_known_of_it(index: EdgeIndex) -> None:
    embedder = HashEmbedder()
    document = guide(3)
    count = await Ingest(embedder, SPARSE, index).write(document, about(), born=1, version="v1")
    assert count == 3
    expected = chunks(document, max_chars=2048, max_tokens=512, measure=embedder.count_tokens)
    passages = await index.passages("d1", range(10), see(1))
    assert [(p.chunk, p.text, p.headings) for p in passages] == [(c.number, c.text, c.headings) for c in expected]
    assert {(p.document, p.title, p.url, p.updated, p.scope) for p in passages} == {
        ("guide.md", "Guide", "https://example.com/guide", "2026-04-01", "team")
    }
    sought = embedding_text("Guide", expected[1])
    words, ngrams = SPARSE.query("章1")
    answer = await ask(index, see(1), dense=await embedder.embed_query(sought), words=words, ngrams=ngrams)
    dense, by_words = answer.branches["dense"][0], answer.branches["words"][0]
    assert dense.id == by_words.id  # by its heading, which is not in its text
    assert dense.score == pytest.approx(1.0, abs=1e-3)
    text = (await index.fetch([dense.id], see(1)))[dense.id]
    assert (text.passage.chunk, text.reading.language, dense.language) == (1, "ja", "ja")
    assert text.reading.heads == frozenset(SPARSE.query("Guide 章1")[0].indices)
    assert text.reading.heads.union(*text.reading.lines) == frozenset(SPARSE.document(sought).words.indices)
    assert len(text.reading.lines) == 6


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which pages are whose")
async def test_the_dictionary_is_put_down_behind_a_batch(index: EdgeIndex) -> None:
    def here() -> int:
        return resident(next(Path(sudachidict_small.__path__[0]).rglob("system.dic")).resolve(), "s")

    asked = SPARSE.query("東京特許許可局")
    assert await asyncio.to_thread(here) > 0
    await Ingest(HashEmbedder(), SPARSE, index).write(guide(2), about(), born=1, version="v1")
    assert await asyncio.to_thread(here) == 0
    assert SPARSE.query("東京特許許可局") == asked


async def test_a_row_of_a_table_is_read_with_the_names_of_its_columns(index: EdgeIndex) -> None:
    table = "| Team | Phone |\n| :--- | --: |\n| Payroll | 2205 |\n| Legal | 2402 |\n\nThe desk is open on Monday."
    await Ingest(HashEmbedder(), SPARSE, index).write(Document("who.md", table, "Who"), about(), born=1, version="v1")
    words, _ = SPARSE.query("payroll")
    (hit,) = (await ask(index, see(1), words=words)).branches["words"]
    lines = (await index.fetch([hit.id], see(1)))[hit.id].reading.lines
    asked = frozenset(SPARSE.query("payroll phone")[0].indices)
    assert [asked <= line for line in lines] == [False, False, True, False, False]
    assert frozenset(SPARSE.query("phone")[0].indices).isdisjoint(lines[-1])


async def test_pairs_keep_their_question(index: EdgeIndex) -> None:
    written = "Q: VPN の MTU は？\nA: 1400 です。\n\nQ: Who?\nA: Sato."
    faq = Document("faq.csv", written, "FAQ", (QAPair("VPN の MTU は？", "1400 です。"), QAPair("Who?", "Sato.")))
    assert await Ingest(HashEmbedder(), SPARSE, index).write(faq, about(), born=1, version="v1") == 2
    first, _ = await index.passages("d1", range(2), see(1))
    assert (first.question, first.text) == ("VPN の MTU は？", "1400 です。")
    words, _ = SPARSE.query("MTU")
    (hit,) = (await ask(index, see(1), words=words)).branches["words"]
    found = (await index.fetch([hit.id], see(1)))[hit.id]
    assert found.passage.chunk == 0
    assert found.reading.lines[0] >= frozenset(words.indices)  # a pair's question is its first line


async def test_batches_are_bounded_and_progress_reaches_the_end(index: EdgeIndex) -> None:
    embedder = HashEmbedder()
    steps: list[tuple[int, int]] = []
    await Ingest(embedder, SPARSE, index).write(
        guide(150), about(), born=1, version="v1", progress=lambda done, total: steps.append((done, total))
    )
    assert [len(batch) for batch in embedder.batches] == [64, 64, 22]
    assert steps == [(0, 150), (0, 150), (64, 150), (150, 150)]  # what is written; two batches are under way
    assert await index.count(see(1)) == 150


async def test_nobody_sees_a_document_before_its_generation(index: EdgeIndex) -> None:
    ingest = Ingest(HashEmbedder(), SPARSE, index)
    await ingest.write(guide(2), about(), born=1, version="v1")
    await ingest.write(guide(3, "再開"), about(), born=2, version="v2")
    assert (await index.count(see(0)), await index.count(see(1))) == (0, 2)
    await ingest.stage(guide(4), about("d2"), version="v1")
    assert await index.count(see(10**6)) == 5
    await index.publish("d2", at=3)
    assert await index.count(see(3)) == 9


async def test_a_new_version_embeds_only_what_has_changed(index: EdgeIndex) -> None:
    page, embedder = guide(150), HashEmbedder()
    ingest = Ingest(embedder, SPARSE, index)
    await ingest.write(page, about(), born=1, version="v1")
    first = {one.text: vector async for one, vector in index.vectors("d1")}
    for generation in range(2, 6):  # however often it is replaced
        embedder.batches.clear()
        edited = replace(page, markdown=page.markdown.replace("停止手順77では", f"停止手順77では{generation}回、", 1))
        assert await ingest.stage(edited, about(), version=f"v{generation}", replaces=True) == 150
        await index.publish("d1", at=generation)
        assert [len(batch) for batch in embedder.batches] == [1]
    now = {one.text: vector async for one, vector in index.vectors("d1")}
    assert len(now) == 150
    same = now.keys() & first.keys()
    assert len(same) == 149
    assert all(now[text] == first[text] for text in same)


async def test_the_same_text_under_another_heading_is_embedded_anew(index: EdgeIndex) -> None:
    page, embedder = (
        Document("guide.md", "# Fire\n\nCall 119.\n\n# Flood\n\nGo up." + "\n\n" + "x" * 60, "Guide"),
        HashEmbedder(),
    )
    ingest = Ingest(embedder, SPARSE, index, target=8)
    await ingest.write(page, about(), born=1, version="v1")
    embedder.batches.clear()
    moved = replace(page, markdown=page.markdown.replace("# Fire", "# Ambulance"))
    await ingest.stage(moved, about(), version="v2", replaces=True)
    assert [text for batch in embedder.batches for text in batch] == ["Guide\nAmbulance\nCall 119."]


async def test_writing_again_for_the_same_generation_changes_nothing(index: EdgeIndex) -> None:
    ingest = Ingest(HashEmbedder(), SPARSE, index)
    for _ in range(2):
        await ingest.write(guide(3), about(), born=1, version="v1")
        assert await index.count(see(1)) == 3
    # The same content for a later generation leaves the points that are seen now alone.
    await ingest.write(guide(3), about(), born=2, version="v1")
    await index.undo("d1", at=2)
    assert await index.count(see(2)) == 3


async def test_a_failure_in_the_middle_leaves_nothing(index: EdgeIndex) -> None:
    await Ingest(HashEmbedder(), SPARSE, index).write(guide(2), about(), born=1, version="v1")
    broken = Ingest(HashEmbedder(fail_at=3), SPARSE, index)
    with pytest.raises(EmbeddingError, match="No more"):
        await broken.write(guide(150), about(), born=2, version="v2")
    assert await index.count(see(2)) == 2
    with pytest.raises(EmbeddingError, match="No more"):
        await Ingest(HashEmbedder(fail_at=3), SPARSE, index).stage(guide(150), about(), version="v2")
    await index.publish("d1", at=2)  # finds nothing staged
    assert await index.count(see(2)) == 0


async def test_a_cancellation_in_the_middle_leaves_nothing(index: EdgeIndex) -> None:
    embedder = HashEmbedder(wait_at=3)
    writing = asyncio.ensure_future(Ingest(embedder, SPARSE, index).write(guide(150), about(), born=1, version="v1"))
    await embedder.waiting.wait()
    assert await index.count(see(1)) >= 64
    writing.cancel()
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert await index.count(see(1)) == 0


async def test_a_store_that_fails_is_reported_as_such(tmp_path: Path) -> None:
    index = await opened(tmp_path, HashEmbedder())
    await index.close()
    with pytest.raises(QdrantConnectionError, match="closed"):
        await Ingest(HashEmbedder(), SPARSE, index).write(guide(150), about(), born=1, version="v1")


async def test_what_cannot_become_chunks_is_refused_in_words(index: EdgeIndex) -> None:
    ingest = Ingest(HashEmbedder(), SPARSE, index)
    with pytest.raises(UnreadableError) as empty:
        await ingest.write(Document("empty.md", " \n"), about(), born=1, version="v1")
    assert empty.value.text("en") == "There is nothing to read in “empty.md”."
    assert "読み取れる内容" in empty.value.text("ja")
    rows = tuple(QAPair(f"Question {n}?", "Yes.") for n in range(MAX_CHUNKS + 1))
    with pytest.raises(UnreadableError) as long:
        await ingest.prepare(Document("long.csv", "", "", rows))
    assert "5001" in long.value.text("en")
    assert "分けて登録" in long.value.text("ja")
    assert len(await ingest.prepare(Document("long.csv", "", "", rows[:-1]))) == MAX_CHUNKS


async def test_many_documents_share_batches_and_a_generation(index: EdgeIndex) -> None:
    embedder = HashEmbedder()
    entries = [
        Entry(Document(f"{n}.md", f"社員{n}の担当は機器{n}です。" if n % 10 else ""), about(f"d{n}", f"{n}.md"), "v1")
        for n in range(150)
    ]
    steps: list[tuple[int, int]] = []
    counts = await Ingest(embedder, SPARSE, index).write_many(
        entries, born=1, progress=lambda done, total: steps.append((done, total))
    )
    assert counts == [0 if n % 10 == 0 else 1 for n in range(150)]
    assert [len(batch) for batch in embedder.batches] == [8, 64, 63]
    assert steps[0] == (0, 150) and steps[-1] == (150, 150)
    assert await index.count(see(1)) == 135
    (passage,) = await index.passages("d77", range(5), see(1))
    assert (passage.text, passage.document) == ("社員77の担当は機器77です。", "77.md")


async def test_many_documents_are_all_or_nothing(index: EdgeIndex) -> None:
    entries = [Entry(guide(5), about(f"d{n}"), "v1") for n in range(30)]
    with pytest.raises(EmbeddingError):
        await Ingest(HashEmbedder(fail_at=2), SPARSE, index).write_many(entries, born=1)
    assert await index.count(see(1)) == 0


async def test_searches_go_on_during_an_ingest(index: EdgeIndex) -> None:
    ingest = Ingest(HashEmbedder(), SPARSE, index)
    await ingest.write(guide(2), about(), born=1, version="v1")
    writing = asyncio.ensure_future(ingest.write(guide(200), about("d2"), born=2, version="v1"))
    searches = 0
    while not writing.done():
        answer = await ask(index, see(1), dense=[1.0] * 16, limit=10)
        texts = await index.fetch([hit.id for hit in answer.branches["dense"]], see(1))
        assert {text.passage.document_id for text in texts.values()} == {"d1"}
        searches += 1
    assert await writing == 200
    assert searches >= 10


async def test_with_the_real_embedder_a_japanese_page_is_found_by_an_english_question(tmp_path: Path) -> None:
    embedder = LocalEmbedder(CACHE)
    index = await opened(tmp_path, embedder)
    page = Document(
        "handbook.md",
        "# 有給休暇\n\n年次有給休暇は入社から半年で10日付与されます。取得は前日までに上長へ申請してください。\n\n"
        "# 経費精算\n\n交通費と備品の購入費は、領収書を添えて翌月5日までに経費システムで申請します。\n\n"
        "# VPN\n\n社外から社内システムに接続するときは、必ず VPN クライアントを起動してください。\n",
        "就業案内",
    )
    made = await Ingest(embedder, SPARSE, index, target=48).write(page, about(), born=1, version="v1")
    assert made == 3
    vector = await embedder.embed_query("How do I get my travel expenses back?")
    answer = await ask(index, see(1), dense=vector)
    best = answer.branches["dense"][0]
    assert (await index.fetch([best.id], see(1)))[best.id].passage.headings == ("経費精算",)
    assert 0.7 < best.score < 1
    await index.close()
