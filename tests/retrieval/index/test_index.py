"""The stores: who sees what, when, and what survives. The embedded one through its own engine, the server's through
qdrant-client's local mode, as far as the two mean the same."""

import asyncio
import errno
import json
import math
import os
import random
import shutil
import sys
import threading
import uuid
from collections.abc import AsyncIterator, Awaitable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import pytest_asyncio
import qdrant_edge as edge
from hypothesis import given, settings
from hypothesis import strategies as st
from qdrant_client.local.async_qdrant_local import AsyncQdrantLocal

from retrieval import disk
from retrieval.folder import DamagedError, Made, there
from retrieval.index import EdgeIndex, Index
from retrieval.index import edge as edge_index
from retrieval.index.payload import STAGED
from retrieval.index.server import ServerIndex
from retrieval.index.server_calls import Wire
from retrieval.index.stores import EdgeStores
from retrieval.types import (
    Branch,
    Candidates,
    EmbeddingError,
    Indexed,
    Passage,
    Point,
    Probe,
    QdrantConnectionError,
    Readers,
    Reading,
    Scored,
    SparseVector,
    View,
)

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant"),
]

EVERYTHING = SparseVector((1,), (1.0,))  # a term that every point of these tests has
NOTHING = SparseVector((), ())
READING = Reading("en", frozenset({1}), (frozenset({2, 2**32 - 1}), frozenset()))


async def opened(folder: Path, embedder: str = "test", tokenizer: str = "words 1", dimensions: int = 4) -> EdgeIndex:
    return await EdgeIndex.open(folder, dimensions=dimensions, embedder=embedder, tokenizer=tokenizer)


async def in_memory() -> ServerIndex:
    return await ServerIndex.on(Wire(AsyncQdrantLocal(":memory:")), Made("test", 4, "words 1"))


@dataclass(frozen=True)
class Kind:
    """One of the two stores, and where its answers differ in wording."""

    name: str
    wrong_size: str  # how its engine says that a query vector has another length

    async def new(self, folder: Path) -> Index:
        return await opened(folder) if self.name == "embedded" else await in_memory()


KINDS = (Kind("embedded", "expected dim: 4"), Kind("server", "not aligned"))


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    chosen: Kind = request.param
    return chosen


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def store(kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Index]:
    made = await kind.new(tmp_path_factory.mktemp("index"))
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="module")
async def index(store: Index) -> AsyncIterator[Index]:
    """An empty store. One for all tests: making one costs half a second of waiting for the disk."""
    yield store
    await store.roll_back(-1)  # as if nothing had ever been committed
    await store.unstage()
    assert await store.sweep(10**9) == 0


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def embedded_store(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EdgeIndex]:
    made = await opened(tmp_path_factory.mktemp("embedded"))
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="module")
async def embedded(embedded_store: EdgeIndex) -> AsyncIterator[EdgeIndex]:
    """An empty embedded store: for what is about threads, which the local mode has none of."""
    yield embedded_store
    await embedded_store.roll_back(-1)
    await embedded_store.unstage()


def point(
    document_id: str = "d",
    number: int = 0,
    *,
    born: int = 1,
    scope: str = "team",
    collection: str = "docs",
    dense: list[float] | None = None,
    words: SparseVector = EVERYTHING,
    ngrams: SparseVector = EVERYTHING,
    text: str = "text",
) -> Point:
    passage = Passage(collection, document_id, f"{document_id}.md", number, text, scope, "Title", ("A", "B"))
    key = f"{document_id}/{born}/{number}/{text}"
    id = str(uuid.uuid5(uuid.NAMESPACE_URL, key))
    return Point(id, passage, READING, dense or [1.0, 0.0, 0.0, 0.0], words, ngrams, born)


def see(generation: int = 1, *scopes: str, collections: tuple[str, ...] | None = None) -> View:
    return View(Readers(frozenset(scopes or ("team",))), generation, collections)


def ids(points: Iterable[Point | Scored]) -> list[str]:
    return [one.id for one in points]


def found(candidates: Candidates, branch: Branch = "dense") -> list[Scored]:
    assert not candidates.failed
    return list(candidates.branches[branch])


async def ask(index: Index, view: View, *, limit: int = 50, **probe: Any) -> Candidates:
    """What one probe finds."""
    (candidates,) = await index.query(view, Probe(**probe), limit=limit)
    return candidates


async def passages(index: Index, view: View, hits: Iterable[Scored]) -> list[Passage]:
    wanted = ids(hits)
    texts = await index.fetch(wanted, view)
    return [texts[id].passage for id in wanted]


async def seen_texts(index: Index, view: View) -> list[str]:
    hits = found(await ask(index, view, dense=[1.0, 0, 0, 0], limit=1000))
    return sorted(passage.text for passage in await passages(index, view, hits))


# -- searching ------------------------------------------------------------------------------------------------------


async def test_each_branch_answers_with_the_engines_scores_and_the_whole_passage(kind: Kind, tmp_path: Path) -> None:
    index = await kind.new(tmp_path)  # a new one: the engine goes on counting what was deleted
    near = point("near", dense=[3.0, 4.0, 0, 0], words=SparseVector((1, 7), (1.0, 2.0)))
    far = point("far", dense=[0.0, 0, 2.0, 0], ngrams=SparseVector((5,), (0.5,)))
    full = replace(near.passage, question="Q?", url="https://example.com/x", updated="2026-04-01")
    near = replace(near, passage=full, reading=replace(READING, language="ja"))
    await index.put([near, far])
    answer = await ask(
        index, see(), dense=[1.0, 0, 0, 0], words=SparseVector((7,), (3.0,)), ngrams=SparseVector((5,), (1.0,))
    )
    first, second = found(answer)
    assert (first.id, second.id) == (near.id, far.id)
    assert [first.score, second.score] == pytest.approx([0.6, 0.0], abs=1e-3)  # vectors are kept in 16 bits
    assert (first.language, second.language) == ("ja", "en")
    assert await index.fetch([near.id, far.id, "00000000-0000-4000-8000-000000000000"], see()) == {
        one.id: Indexed(one.passage, one.reading) for one in (near, far)
    }
    rare = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    (word,) = found(answer, "words")
    assert word.id == near.id
    assert word.score == pytest.approx(3 * 2 * rare)
    (ngram,) = found(answer, "ngrams")
    assert ngram.id == far.id
    assert ngram.score == pytest.approx(0.5 * rare)
    await index.close()


async def test_ties_are_broken_by_id(index: Index) -> None:
    points = [point("d", number, text=str(number)) for number in range(30)]
    await index.put(points)
    answer = await ask(index, see(), dense=[1.0, 0, 0, 0], words=EVERYTHING)
    for branch in ("dense", "words"):
        assert [hit.id for hit in found(answer, branch)] == sorted(ids(points))


async def test_a_branch_without_a_query_is_left_out(index: Index) -> None:
    await index.put([point(), point("bare", words=NOTHING, ngrams=NOTHING)])
    assert (await ask(index, see(), words=NOTHING, ngrams=NOTHING)).branches == {}
    assert set((await ask(index, see(), dense=[1.0, 0, 0, 0], words=NOTHING, ngrams=EVERYTHING)).branches) == {
        "dense",
        "ngrams",
    }
    hits = found(await ask(index, see(), dense=[1.0, 0, 0, 0]))
    assert {passage.document_id for passage in await passages(index, see(), hits)} == {"d", "bare"}


async def test_when_one_branch_fails_the_others_answer(kind: Kind, index: Index) -> None:
    await index.put([point()])
    answer = await ask(index, see(), dense=[1.0, 0.0], words=EVERYTHING)
    assert set(answer.failed) == {"dense"}
    assert isinstance(answer.failed["dense"], QdrantConnectionError)
    assert kind.wrong_size in str(answer.failed["dense"].__cause__)
    assert len(answer.branches["words"]) == 1


async def test_meaning_is_asked_in_each_language_for_itself(index: Index) -> None:
    """However near the many of one language are, the nearest of the other are there too."""
    many = [point("en", number, text=str(number)) for number in range(9)]
    foreign = [
        replace(point("ja", number, dense=[0.0, 1.0, 0, 0], text=str(number)), reading=replace(READING, language="ja"))
        for number in range(3)
    ]
    hidden = point("hidden", dense=[0.0, 1.0, 0, 0], scope="place:x")
    await index.put([*many, *foreign, hidden])

    hits = found(await ask(index, see(), dense=[1.0, 0.1, 0, 0], limit=2))

    assert [hit.language for hit in hits] == ["en", "en", "ja", "ja"]
    assert hidden.id not in ids(hits)


async def test_several_probes_are_answered_in_one_batch_each_for_itself(index: Index) -> None:
    east, north = point("east", dense=[1.0, 0, 0, 0]), point("north", dense=[0.0, 1.0, 0, 0], ngrams=NOTHING)
    await index.put([east, north])

    first, nothing, broken, second = await index.query(
        see(),
        Probe([1.0, 0.2, 0, 0], weigh=[1, 99]),
        Probe(),
        Probe([1.0], words=EVERYTHING, weigh=[1]),
        Probe([0.2, 1.0, 0, 0], ngrams=EVERYTHING),
    )

    assert ids(found(first)) == [east.id, north.id] and ids(found(second)) == [north.id, east.id]
    assert nothing == Candidates({})
    assert set(broken.failed) == {"dense"} and set(broken.branches) == {"words"}
    assert (set(first.weights), set(broken.weights), second.weights) == ({1, 99}, {1}, {})
    assert ids(found(second, "ngrams")) == [east.id]


async def test_a_store_of_an_earlier_version_gets_the_index_it_lacks(tmp_path: Path) -> None:
    index = await opened(tmp_path)
    await index.put([point("d")])
    await index.close()
    shard = edge.EdgeShard.load(str(tmp_path / "shard"))
    shard.update(edge.UpdateOperation.delete_field_index("language"))
    shard.flush()
    shard.close()

    again = await opened(tmp_path)
    assert len(found(await ask(again, see(), dense=[1.0, 0, 0, 0]))) == 1
    await again.close()

    shard = edge.EdgeShard.load(str(tmp_path / "shard"))
    assert shard.info().payload_schema.keys() >= {"scope", "language", "born", "died"}
    shard.close()


async def test_a_sample_is_the_same_every_time_and_holds_what_lives(index: Index) -> None:
    some = [point("d", number, text=str(number), dense=[1.0, number, 0, 0]) for number in range(6)]
    ours = replace(point("ja", dense=[0.0, 0, 3.0, 4.0], scope="place:x"), reading=replace(READING, language="ja"))
    await index.put([*some, ours, point("later", born=3), point("gone")])
    await index.retire("gone", died=2)

    everything = await index.sample(2, 100)

    assert len(everything) == 7 and await index.sample(2, 100) == everything
    assert await index.sample(2, 3) == everything[:3]
    (japanese,) = [vector for language, vector in everything if language == "ja"]
    assert japanese == pytest.approx([0.0, 0.0, 0.6, 0.8], abs=1e-3)
    assert await index.sample(0, 100) == []


async def test_idf_is_what_the_engine_scores_with(kind: Kind, tmp_path: Path) -> None:
    index = await kind.new(tmp_path)  # a new one: the engine goes on counting what was deleted
    shares = {2: 1, 3: 4, 4: 9, 5: 12}
    await index.put(
        [
            point(
                "d",
                number,
                words=SparseVector(*zip(*((t, 0.5 + t) for t, n in shares.items() if number < n), strict=True)),
            )
            for number in range(12)
        ]
    )
    weights = (await ask(index, see(), weigh=[5, 2, 3, 4, 99, 2])).weights
    assert weights == {
        term: pytest.approx(math.log(1 + (12 - n + 0.5) / (n + 0.5)), rel=1e-5) for term, n in {**shares, 99: 0}.items()
    }
    assert max(weights, key=lambda term: weights[term]) == 99
    await index.close()


async def test_idf_is_that_of_the_moment(index: Index) -> None:
    async def weight(term: int) -> float:
        return (await ask(index, see(), weigh=[term])).weights[term]

    await index.put([point("d", number, words=SparseVector((1, 2), (1.0, 1.0))) for number in range(3)])
    before = await weight(2)
    assert await weight(2) == before
    await index.put([point("e", number, words=SparseVector((1,), (1.0,))) for number in range(9)])
    assert await weight(2) > before


async def test_neighbours_come_in_order_and_only_as_the_view_shows_them(index: Index) -> None:
    await index.put([point("d", number, text=f"t{number}") for number in (4, 2, 0, 3, 1)])
    await index.put([point("d", 2, born=2, text="new"), point("e", 2, text="other")])
    assert [passage.text for passage in await index.passages("d", range(1, 4), see())] == ["t1", "t2", "t3"]
    assert [passage.chunk for passage in await index.passages("d", range(3, 9), see())] == [3, 4]
    assert await index.passages("d", range(1, 4), see(1, "everyone")) == []
    assert await index.passages("d", range(0), see()) == []


async def test_scrolling_shows_everything_once(index: Index) -> None:
    await index.put([point(f"d{n % 3}", n, collection=f"c{n % 2}", text=str(n)) for n in range(23)])
    shown: list[str] = []
    offset = None
    while True:
        passages, offset = await index.scroll(see(), offset=offset, limit=5)
        shown += [passage.text for passage in passages]
        if offset is None:
            break
    assert sorted(shown, key=int) == [str(n) for n in range(23)]


# -- access ---------------------------------------------------------------------------------------------------------

SCOPES = ("everyone", "team", "place:slack:T1:C1", "place:discord:9:7")
COLLECTIONS = ("docs", "手順", "docs/old")


@dataclass
class Population:
    """Two hundred points of every scope, collection and age in a store, and the same as plain values."""

    index: Index
    points: list[tuple[Point, float]] = field(default_factory=list)

    async def grow(self) -> None:
        chance = random.Random(7)
        for number in range(40):
            scope, collection, born = chance.choice(SCOPES), chance.choice(COLLECTIONS), chance.randint(1, 5)
            words = SparseVector((1, 100 + number), (1.0, 1.0))
            made = [
                point(f"d{number}", n, born=born, scope=scope, collection=collection, text=f"{number}/{n}", words=words)
                for n in range(5)
            ]
            await self.index.put(made)
            died = chance.choice([born + 1, born + 3, math.inf])
            if died < math.inf:
                await self.index.retire(f"d{number}", died=int(died))
            self.points += [(one, died) for one in made]

    def visible(self, view: View) -> set[str]:
        return {
            one.id
            for one, died in self.points
            if one.passage.scope in view.readers.scopes
            and one.born <= view.generation < died
            and (view.collections is None or one.passage.collection in view.collections)
        }


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def population(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Population]:
    made = Population(await opened(tmp_path_factory.mktemp("access")))
    await made.grow()
    yield made
    await made.index.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def served() -> AsyncIterator[Population]:
    made = Population(await in_memory())
    await made.grow()
    yield made
    await made.index.close()


VIEWS = st.builds(
    View,
    st.builds(Readers, st.frozensets(st.sampled_from((*SCOPES, "nobody's")))),
    st.integers(0, 9),
    st.none() | st.lists(st.sampled_from((*COLLECTIONS, "none")), unique=True).map(tuple),
)


async def shows_exactly_what_it_may(population: Population, view: View, terms: range) -> None:
    index, visible = population.index, population.visible(view)
    by_id = {one.id: one for one, _ in population.points}
    answer = await ask(index, view, dense=[1.0, 0, 0, 0], words=EVERYTHING, ngrams=EVERYTHING, limit=500)
    assert set(answer.branches) == {"dense", "words", "ngrams"}
    for branch in answer.branches:
        assert {hit.id for hit in found(answer, branch)} == visible
    texts = await index.fetch([*by_id], view)
    assert {id: text.passage for id, text in texts.items()} == {id: by_id[id].passage for id in visible}
    assert await index.count(view) == len(visible)
    passages, _ = await index.scroll(view, limit=500)
    assert {passage.text for passage in passages} == {by_id[one].passage.text for one in visible}
    shown = sum(by_id[one].passage.document_id == "d3" for one in visible)
    assert len(await index.passages("d3", range(5), view)) == shown
    # Documents that cannot be read tell nothing by the weight of their words either.
    own = {100 + int(by_id[one].passage.document_id[1:]) for one in visible}.intersection(terms)
    weights = (await ask(index, view, weigh=terms)).weights
    unknown = (await ask(index, view, weigh=[9999])).weights.get(9999)
    assert {term for term, weight in weights.items() if weight != unknown} == own


@given(view=VIEWS)
async def test_a_view_shows_exactly_what_it_may(population: Population, view: View) -> None:
    await shows_exactly_what_it_may(population, view, range(100, 140))


@settings(max_examples=20)  # the local mode takes its time
@given(view=VIEWS)
async def test_a_view_of_a_server_shows_exactly_what_it_may(served: Population, view: View) -> None:
    await shows_exactly_what_it_may(served, view, range(100, 140, 5))


# -- generations ----------------------------------------------------------------------------------------------------


async def test_a_point_is_seen_from_its_birth_until_its_death(index: Index) -> None:
    await index.put([point(text="old")])
    await index.put([point(born=3, text="new")])
    await index.retire("d", died=3)
    assert [await seen_texts(index, see(generation)) for generation in range(5)] == [
        [],
        ["old"],
        ["old"],
        ["new"],
        ["new"],
    ]
    await index.retire("d", died=4)
    assert [await seen_texts(index, see(generation)) for generation in (2, 3, 4)] == [["old"], ["new"], []]


async def test_each_write_changes_what_the_next_search_finds(index: Index) -> None:
    async def names(generation: int, *scopes: str) -> str:
        asked = await ask(index, see(generation, *scopes), dense=[1.0, 0, 0, 0], words=EVERYTHING, ngrams=EVERYTHING)
        lists = [{texts[id] for id in ids(found(asked, branch))} for branch in asked.branches]
        assert lists == [lists[0]] * 3
        return "".join(sorted(lists[0]))

    old, staged, other = point("old"), point("new", born=STAGED), point("other", scope="place", born=3)
    texts = {old.id: "o", staged.id: "n", other.id: "p"}
    both = ("team", "place")
    await index.put([old])
    assert [await names(generation, *both) for generation in (0, 1, 9)] == ["", "o", "o"]
    await index.put([staged])
    assert [await names(generation, *both) for generation in (1, 9)] == ["o", "o"]
    await index.publish("new", at=2)
    assert [await names(generation, *both) for generation in (9, 1, 2)] == ["no", "o", "no"]
    await index.put([other])
    assert [await names(generation, *both) for generation in (2, 3, 9)] == ["no", "nop", "nop"]
    assert [await names(9), await names(9, "place"), await names(9, "nobody's")] == ["no", "p", ""]
    await index.retire("old", died=4)
    assert [await names(generation, *both) for generation in (3, 4, 9)] == ["nop", "np", "np"]
    await index.roll_back(3)
    assert [await names(generation, *both) for generation in (2, 3, 4)] == ["no", "nop", "nop"]


async def test_staged_points_are_seen_once_published(index: Index) -> None:
    await index.put([point("d", number, text=f"old {number}") for number in range(3)])
    await index.put([point("d", number, born=STAGED, text=f"new {number}") for number in range(200)])
    await index.put([point("e", born=STAGED, text="other")])
    assert await seen_texts(index, see(10**9)) == ["old 0", "old 1", "old 2"]
    await index.publish("d", at=2)
    assert len(await seen_texts(index, see(1))) == 3
    assert all(text.startswith("new") for text in await seen_texts(index, see(2)))
    assert await index.count(see(2)) == 200


async def test_undoing_takes_back_a_replacement(index: Index) -> None:
    await index.put([point(text="old")])
    for at in (2, STAGED):
        await index.put([point(born=STAGED, text="new"), point("e", born=STAGED, text="waits")])
        if at != STAGED:
            await index.publish("d", at=at)
        await index.undo("d", at=at)
        assert await seen_texts(index, see(2)) == ["old"]
        await index.undo("d", at=at)
        assert await seen_texts(index, see(1)) == ["old"]
    await index.publish("e", at=2)
    assert await seen_texts(index, see(2)) == ["old", "waits"]


async def test_sweeping_deletes_what_has_died_and_nothing_else(index: Index) -> None:
    await index.put([point("d", number, text="d") for number in range(300)])
    await index.put([point("e", text="e")])
    await index.retire("d", died=2)
    await index.retire("e", died=3)
    assert await index.sweep(1) == 0
    assert await index.count(see(1)) == 301
    assert await index.sweep(2) == 300
    assert await index.sweep(2) == 0
    assert await seen_texts(index, see(2)) == ["e"]


async def test_what_was_published_is_counted_by_generation_and_document(index: Index) -> None:
    await index.put([point("a", born=1), point("b", born=3), point("c", born=STAGED), point("d", born=1, scope="x")])
    await index.retire("a", died=5)
    assert [await index.after(generation) for generation in (0, 1, 2, 3, 4, 5)] == [4, 2, 2, 1, 1, 0]
    assert await index.strangers(3, {"a", "b"}) == 1  # whoever may read it
    assert await index.strangers(3, {"a", "b", "d"}) == await index.strangers(0, ()) == 0
    assert await index.strangers(5, ()) == 2 and await index.strangers(4, ()) == 3
    await index.drop_strangers(3, {"a", "b"})
    assert await index.strangers(3, ()) == 2 and await index.strangers(3, {"a", "b"}) == 0
    await index.put([point("d", born=1, scope="x")])
    await index.retire("b", died=4)
    await index.sweep(5)
    assert await index.after(0) == 1


async def test_a_search_during_replacements_sees_one_version_whole(embedded: EdgeIndex) -> None:
    generation = 1
    chunks = 5
    pinned: list[int] = []
    await embedded.put([point("d", n, text="1") for n in range(chunks)])

    async def replacing() -> None:
        nonlocal generation
        for version in range(2, 12):
            await embedded.put([point("d", n, born=STAGED, text=str(version)) for n in range(chunks)])
            await embedded.publish("d", at=version)
            generation = version
            await embedded.sweep(min(pinned, default=generation))

    async def searching() -> int:
        searches = 0
        while not writer.done():
            at = generation
            pinned.append(at)
            assert await seen_texts(embedded, see(at)) == [str(at)] * chunks
            assert len(await embedded.passages("d", range(chunks), see(at))) == chunks
            pinned.remove(at)
            searches += 1
        return searches

    writer = asyncio.ensure_future(replacing())
    counts = await asyncio.gather(*(searching() for _ in range(4)))
    await writer
    assert generation == 11
    assert min(counts) > 5


async def test_eight_searches_and_a_write_at_once(embedded: EdgeIndex) -> None:
    await embedded.put([point(f"d{n}", dense=[1.0, n / 100, 0, 0]) for n in range(100)])
    expected = [hit.id for hit in found(await ask(embedded, see(), dense=[1.0, 0, 0, 0]))]
    writing = asyncio.ensure_future(embedded.put([point("new", n, born=2, text=str(n)) for n in range(500)]))
    answers = await asyncio.gather(*(ask(embedded, see(), dense=[1.0, 0, 0, 0], words=EVERYTHING) for _ in range(8)))
    assert not writing.done()  # slices let the searches in
    assert [[hit.id for hit in found(answer)] for answer in answers] == [expected] * 8
    await writing
    assert await embedded.count(see(2)) == 600


async def test_searches_of_different_readers_at_once_get_each_their_own(embedded: EdgeIndex) -> None:
    await embedded.put([point(f"d{n}", scope=f"place {n % 3}") for n in range(12)])
    views = [see(1, f"place {n % 3}") for n in range(30)]
    probe = Probe([1.0, 0.0, 0.0, 0.0], EVERYTHING, EVERYTHING, weigh=(1,))
    alone = [await embedded.query(view, probe) for view in views[:3]]
    assert all(len(found(candidates, branch)) == 4 for (candidates,) in alone for branch in ("dense", "words"))
    together = await asyncio.gather(*(embedded.query(view, probe) for view in views))  # the first runs, the others wait
    assert together == [alone[n % 3] for n in range(30)]


async def test_one_of_the_searches_that_wait_together_fails_alone(embedded: EdgeIndex) -> None:
    await embedded.put([point()])
    good, bad = Probe([1.0, 0.0, 0.0, 0.0]), Probe([1.0, 0.0], EVERYTHING)
    answers = await asyncio.gather(*(embedded.query(see(), bad if n % 3 == 2 else good) for n in range(12)))
    for n, (candidates,) in enumerate(answers):
        assert set(candidates.failed) == ({"dense"} if n % 3 == 2 else set())
        assert ids(candidates.branches["words" if n % 3 == 2 else "dense"]) == [point().id]


async def test_searches_that_were_given_up_take_nobodys_turn(tmp_path: Path) -> None:
    writes, goes_on = threading.Event(), threading.Event()

    def free(_: Path) -> int:
        writes.set()
        goes_on.wait()
        return 2**50

    goes_on.set()
    index = await EdgeIndex.open(tmp_path, dimensions=4, embedder="test", tokenizer="words 1", free=free)
    writes.clear()
    goes_on.clear()
    writing = asyncio.create_task(index.put([point()]))  # nothing is searched until it has room
    await asyncio.to_thread(writes.wait)
    given_up = [asyncio.create_task(ask(index, see(), dense=[1.0, 0, 0, 0])) for _ in range(20)]
    await asyncio.sleep(0)
    for search in given_up:
        search.cancel()
    assert all(
        isinstance(each, asyncio.CancelledError) for each in await asyncio.gather(*given_up, return_exceptions=True)
    )
    last = asyncio.create_task(ask(index, see(), dense=[1.0, 0, 0, 0]))
    await asyncio.sleep(0)
    goes_on.set()
    await writing
    assert ids(found(await last)) == [point().id]
    await index.close()


async def test_no_search_spells_out_what_it_found(embedded: EdgeIndex) -> None:
    class Unspoken(list[float]):
        def __repr__(self) -> str:  # as for the error of a deque that is asked to remove what it does not have
            raise AssertionError("200 hits and a vector in letters cost a thirteenth of a turn")

    await embedded.put([point()])
    assert ids(found(await ask(embedded, see(), dense=Unspoken([1.0, 0, 0, 0])))) == [point().id]


async def test_the_loop_goes_on_during_a_write(embedded: EdgeIndex) -> None:
    ticks = 0

    async def ticking() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.0005)
            ticks += 1

    ticker = asyncio.ensure_future(ticking())
    await embedded.put([point("d", n, text=str(n)) for n in range(800)])
    ticker.cancel()
    assert ticks >= 25  # 800 points are 50 slices


async def test_a_document_is_discarded_whatever_its_generations(index: Index) -> None:
    await index.put([point("d", n, text=str(n)) for n in range(150)])
    await index.put([point("d", born=STAGED, text="staged"), point("e", text="e")])
    await index.retire("d", died=2)
    await index.discard("d")
    await index.publish("d", at=3)
    assert [await seen_texts(index, see(generation)) for generation in (1, 3)] == [["e"], ["e"]]
    await index.discard("d")


# -- changing -------------------------------------------------------------------------------------------------------


async def test_moving_a_collection(index: Index) -> None:
    await index.put([point("d", 0), point("d", 1), point("e", collection="old"), point("f", collection="third")])
    await index.move("old", "docs")
    assert await index.count(see(collections=("docs",))) == 3
    assert await index.count(see(collections=("old",))) == 0


async def test_a_collection_that_was_moved_is_whole_where_the_flush_after_it_was_cut_short(tmp_path: Path) -> None:
    """The engine flushes what filters go by before the payloads, and does again what its log has."""
    index = await opened(tmp_path / "index")
    await index.put([point("d", number, collection="old") for number in range(3)])
    await index.close()
    index = await opened(tmp_path / "index")
    await index.move("old", "docs")
    shutil.copytree(tmp_path / "index", tmp_path / "killed")
    await index.close()
    for flushed in (tmp_path / "index").glob("shard/segments/*/payload_index"):
        shutil.copytree(flushed, tmp_path / "killed" / flushed.relative_to(tmp_path / "index"), dirs_exist_ok=True)
    index = await opened(tmp_path / "killed")
    found = await index.passages("d", range(3), see(collections=("docs",)))
    assert [passage.collection for passage in found] == ["docs"] * 3
    await index.close()


async def test_a_copy_for_other_readers_takes_the_place_of_a_document_in_one_step(index: Index) -> None:
    private = "place:slack:T1:C1"
    await index.put([point("d", n, text=str(n), dense=[1.0, n / 100, 0, 0]) for n in range(40)] + [point("e")])
    before = await ask(index, see(collections=("docs",)), dense=[1.0, 0.2, 0, 0], words=EVERYTHING, limit=3)
    await index.copy("d", scope=private, collection="docs")
    assert (await index.count(see(1)), await index.count(see(1, private))) == (41, 0)
    await index.undo("d", at=STAGED)
    await index.copy("d", scope=private, collection="more")
    await index.publish("d", at=2)
    assert (await index.count(see(1)), await index.count(see(1, private))) == (41, 0)
    assert (await index.count(see(2)), await index.count(see(2, private))) == (1, 40)
    assert await index.count(see(2, private, collections=("more",))) == 40
    after = await ask(index, see(2, private), dense=[1.0, 0.2, 0, 0], words=EVERYTHING, limit=3)
    scores = [[one.score for one in answer.branches["dense"]] for answer in (before, after)]
    assert scores[1] == pytest.approx(scores[0], rel=1e-3)  # the vectors came along
    assert len(after.branches["words"]) == 3
    texts = await index.passages("d", range(50), see(2, private))
    assert [one.text for one in texts] == [str(n) for n in range(40)]


async def test_the_dense_vectors_of_a_document_are_those_of_its_living_passages(index: Index) -> None:
    await index.put([point("d", n, text=str(n), dense=[1.0, n / 100, 0, 0]) for n in range(300)] + [point("e")])
    await index.put([point("d", 1, born=STAGED, text="staged")])
    await index.put([point("f", 0, scope="place:slack:T1:C1"), point("f", 0, born=2, text="later")])
    found = {passage.text: vector async for passage, vector in index.vectors("d")}
    assert found.keys() == {str(n) for n in range(300)}
    for n in (0, 120, 299):
        length = math.hypot(1.0, n / 100)
        assert found[str(n)] == pytest.approx([1 / length, n / 100 / length, 0, 0], abs=1e-3)
    await index.retire("f", died=2)
    assert [passage.text async for passage, _ in index.vectors("f")] == ["later"]
    assert [passage async for passage, _ in index.vectors("g")] == []


def scramble(folder: Path) -> None:
    for page in folder.rglob("segments/*/payload_storage/page_*.dat"):
        page.write_bytes(b"\xff" * page.stat().st_size)


async def test_a_store_whose_passages_cannot_be_read_is_not_healthy(tmp_path: Path) -> None:
    index = await opened(tmp_path)
    assert await index.trouble() is None  # an empty one is
    await index.put([point("d", n, text=str(n)) for n in range(40)])
    await index.close()
    scramble(tmp_path)
    again = await opened(tmp_path)
    assert await again.trouble() is not None
    await again.close()


async def test_a_store_that_was_deleted_while_it_is_open_is_not_healthy(tmp_path: Path) -> None:
    index = await opened(tmp_path / "store")
    await index.put([point("d", 1)])
    assert await index.trouble() is None
    shutil.rmtree(tmp_path / "store")
    assert await index.trouble() is not None
    await index.close()


async def test_nothing_is_added_to_a_store_that_another_was_put_in_the_place_of(tmp_path: Path) -> None:
    index, shard = await opened(tmp_path / "store"), tmp_path / "store" / "shard"
    await index.put([point("d", 1)])
    shard.rename(tmp_path / "aside")
    shutil.copytree(tmp_path / "aside", shard)
    trouble = await index.trouble()
    assert trouble is not None and "replaced" in trouble.en
    with pytest.raises(QdrantConnectionError, match="replaced"):
        await index.put([point("d", 2)])
    shutil.rmtree(shard)
    (tmp_path / "aside").rename(shard)
    await index.put([point("d", 3)])
    assert await index.trouble() is None
    await index.close()


# -- the folder -----------------------------------------------------------------------------------------------------


async def test_what_was_written_is_there_after_reopening(tmp_path: Path) -> None:
    index = await opened(tmp_path)
    await index.put([point("d", n, text=str(n)) for n in range(40)])
    await index.close()
    await index.close()
    with pytest.raises(QdrantConnectionError, match="closed"):
        await index.count(see())
    assert await index.trouble() is not None
    again = await opened(tmp_path)
    assert await again.trouble() is None
    assert await again.count(see()) == 40
    assert (await ask(again, see(), words=EVERYTHING)).branches["words"][0].score > 0
    await again.close()


async def test_closing_waits_for_what_is_under_way(tmp_path: Path) -> None:
    index = await opened(tmp_path)
    writing = asyncio.ensure_future(index.put([point("d", n, text=str(n)) for n in range(200)]))
    counting = asyncio.ensure_future(index.count(see()))
    await asyncio.sleep(0)
    await asyncio.gather(index.close(), index.close())
    assert writing.done()
    await asyncio.gather(writing, counting)
    again = await opened(tmp_path)
    assert await again.count(see()) == 200
    await again.close()


async def test_another_embedder_or_tokenizer_is_refused(tmp_path: Path) -> None:
    await (await opened(tmp_path)).close()
    for different in ({"embedder": "other"}, {"tokenizer": "words 2"}, {"dimensions": 8}):
        with pytest.raises(EmbeddingError) as refused:
            await opened(tmp_path, **different)
        for language in ("en", "ja"):
            assert "KOTAE_EMBEDDER" in refused.value.text(language) and "kotae reindex" in refused.value.text(language)
        assert str(next(iter(different.values()))) in refused.value.text("en")
    await (await opened(tmp_path)).close()


def damage(folder: Path, victim: str) -> None:
    (path,) = folder.rglob(victim)
    path.write_text("{")


@pytest.mark.parametrize("victim", ["kotae.json", "edge_config.json", "segment.json"])
async def test_a_damaged_store_is_refused_in_words(tmp_path: Path, victim: str) -> None:
    index = await opened(tmp_path)
    await index.put([point()])
    await index.close()
    damage(tmp_path, victim)
    for _ in range(2):  # and the folder is not left locked
        with pytest.raises(QdrantConnectionError) as refused:
            await opened(tmp_path)
        assert str(tmp_path) in refused.value.text("en")
        assert "cannot be read" in refused.value.text("en")
        assert "読み込めません" in refused.value.text("ja")
        assert isinstance(refused.value, DamagedError)


def give_away(folder: Path, *, but: str) -> None:
    """To a user without rights, all but one file."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 65534, 65534)
    (kept,) = folder.rglob(but)
    os.chown(kept, 0, 0)
    kept.chmod(0o600)


@pytest.mark.parametrize("victim", ["kotae.json", "segment.json", "open-1"])
async def test_a_store_that_the_system_does_not_let_it_open_is_no_damaged_one(victim: str) -> None:
    """Whoever believed so would move a sound one aside."""
    if os.geteuid() != 0:
        pytest.skip("no rights to become somebody else")
    with TemporaryDirectory(prefix="kotae-") as name:  # those of pytest let nobody else pass
        folder = Path(name)
        index = await opened(folder)
        await index.put([point()])
        await index.close()
        give_away(folder, but=victim)
        os.seteuid(65534)
        try:
            with pytest.raises(QdrantConnectionError) as refused:
                await opened(folder)
        finally:
            os.seteuid(0)
        assert not isinstance(refused.value, DamagedError)
        assert "Permission denied" in refused.value.text("en") and "アクセス権がありません" in refused.value.text("ja")
        index = await opened(folder)
        assert await index.count(see()) == 1
        await index.close()


async def test_a_store_whose_making_was_cut_short_is_made_again(tmp_path: Path) -> None:
    unfinished = tmp_path / "shard.new"
    (unfinished / "segments").mkdir(parents=True)
    (unfinished / "edge_config.json").write_text("{")
    index = await opened(tmp_path)
    await index.put([point()])
    assert await index.count(see()) == 1
    await index.close()
    assert not unfinished.exists()


def places(folder: Path) -> int:
    """How many points the engine has a place for."""
    return sum(file.stat().st_size for file in folder.glob("shard/segments/*/mutable_id_tracker.versions")) // 8


@pytest.fixture
def soon_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_index, "_GONE_AT_LEAST", 50)
    monkeypatch.setattr(edge_index, "_LOGGED_AT_MOST", 0)  # how many are gone is known by what is flushed


async def replaced(index: EdgeIndex, times: int) -> int:
    """A page of 40 passages beside another one, replaced so many times; returns the last generation."""
    await index.put([point("other", n, dense=[0, 1, n, 1], text=f"other {n}") for n in range(30)])
    for generation in range(1, times + 1):
        await index.put([point("d", n, born=STAGED, text=f"{generation} {n}") for n in range(40)])
        await index.publish("d", at=generation)
        await index.sweep(generation)
    return times


async def test_what_has_changed_is_brought_to_the_disk_and_what_has_not_waits_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, really, synced = await opened(tmp_path), os.fsync, list[int]()

    def fsync(number: int) -> None:
        really(number)
        synced.append(number)

    async def waits(work: Awaitable[object]) -> bool:
        synced.clear()
        await work
        return bool(synced)

    monkeypatch.setattr(os, "fsync", fsync)
    assert await waits(index.put([point("d", born=STAGED)]))
    assert await waits(index.publish("d", at=1))
    assert not await waits(index.sweep(1))
    assert not await waits(index.retire("e", died=2))
    assert await waits(index.retire("d", died=2))
    assert await waits(index.sweep(2))
    assert not await waits(index.sweep(2))
    await index.close()


@pytest.mark.usefixtures("soon_copied")
async def test_what_is_there_is_copied_once_more_is_gone(tmp_path: Path) -> None:
    index = await EdgeIndex.open(tmp_path, dimensions=4, embedder="test", tokenizer="words 1", home="a" * 32)
    last = await replaced(index, 6)
    assert places(tmp_path) <= 70 + 2 * 50 + 40  # without the copies it would be 270
    view = see(last)
    for _ in range(2):
        assert await seen_texts(index, view) == sorted(
            [f"{last} {n}" for n in range(40)] + [f"other {n}" for n in range(30)]
        )
        assert len(found(await ask(index, view, words=EVERYTHING, limit=100), "words")) == 70
        (nearest, *_) = found(await ask(index, view, dense=[0, 1, 29, 1]))
        assert [one.text for one in await passages(index, view, [nearest])] == ["other 29"]
        await index.put([point("new", text="new", born=last + 1)])
        await index.undo("new", at=last + 1)
        assert await index.trouble() is None and index.home == "a" * 32
        await index.close()
        index = await opened(tmp_path)
    await index.close()
    assert names(tmp_path) == {"lock", "shard"}


@pytest.mark.usefixtures("soon_copied")
async def test_searches_go_on_while_a_store_is_copied(tmp_path: Path) -> None:
    index = await opened(tmp_path)
    copied = asyncio.create_task(replaced(index, 6))
    while not copied.done():
        found(await ask(index, see(0), dense=[1.0, 0, 0, 0]))
    await copied
    assert places(tmp_path) < 270
    await index.close()


@pytest.mark.usefixtures("soon_copied")
async def test_without_room_on_the_disk_a_store_is_not_copied(tmp_path: Path) -> None:
    left = 1 << 40
    index = await EdgeIndex.open(tmp_path, dimensions=4, embedder="test", tokenizer="words 1", free=lambda _: left)
    for generation in range(1, 4):
        await index.put([point("d", n, born=STAGED, text=f"{generation} {n}") for n in range(40)])
        await index.publish("d", at=generation)
    left = disk.RESERVE
    assert await index.sweep(3) == 80
    assert places(tmp_path) == 120
    left = 1 << 40
    assert await index.sweep(3) == 0
    assert places(tmp_path) == 40
    assert await index.count(see(3)) == 40
    await index.close()


@pytest.mark.usefixtures("soon_copied")
async def test_a_copy_that_was_cut_short_is_made_anew(tmp_path: Path) -> None:
    full = True

    def free(_: Path) -> int:
        return 0 if full and (tmp_path / "shard.other").exists() else 1 << 40

    index = await EdgeIndex.open(tmp_path, dimensions=4, embedder="test", tokenizer="words 1", free=free)
    for generation in range(1, 4):
        await index.put([point("d", n, born=STAGED, text=f"{generation} {n}") for n in range(40)])
        await index.publish("d", at=generation)
    assert await index.sweep(3) == 80
    assert places(tmp_path) == 120 and names(tmp_path) == {"lock", "shard"}
    full = False
    shutil.copytree(tmp_path / "shard", tmp_path / "shard.other")  # of a sweep that was cancelled
    await index.sweep(3)
    assert places(tmp_path) == 40
    await index.close()


@pytest.mark.parametrize("moment", ["it is copied", "the old one is set aside", "the new one is there"])
async def test_a_store_of_which_the_replacing_was_cut_short_is_there(tmp_path: Path, moment: str) -> None:
    index = await opened(tmp_path)
    await index.put([point()])
    await index.close()
    shard, before, other = (tmp_path / name for name in ("shard", "shard.before", "shard.other"))
    shutil.copytree(shard, other)
    if moment != "it is copied":
        shard.rename(before)
    if moment == "the new one is there":
        other.rename(shard)
    assert there(shard)
    index = await opened(tmp_path)
    assert await index.count(see()) == 1
    await index.close()
    assert names(tmp_path) == {"lock", "shard"}


async def test_a_folder_that_cannot_be_used_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(QdrantConnectionError, match="cannot be used"):
        await opened(tmp_path / "file" / "index")


# -- the folders of a home ------------------------------------------------------------------------------------------


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def test_each_kind_of_vectors_has_its_own_folder(tmp_path: Path) -> None:
    stores = EdgeStores(tmp_path)
    one = Made("a/b", 4, "words 1")
    others = (replace(one, embedder="a--b"), replace(one, tokenizer="words 2"), replace(one, dimensions=8))
    index = await stores.open(one)
    await index.put([point()])
    for other in others:
        empty = await stores.open(other)
        assert await empty.count(see()) == 0
        await empty.close()
    await index.close()
    assert len(names(tmp_path)) == 4 and "a--b" in names(tmp_path)
    for other in others:
        await stores.remove(other)
        await stores.remove(other)
    index = await stores.open(one)
    assert await index.count(see()) == 1
    await index.close()
    (tmp_path / "a--b.gone" / "shard").mkdir(parents=True)  # a removal that was cut short
    await stores.remove(others[0])
    assert names(tmp_path) == {"a--b"}
    (tmp_path / "a--b.gone").touch()
    with pytest.raises(QdrantConnectionError, match="cannot be deleted"):
        await stores.remove(one)
    damage(tmp_path, "kotae.json")
    with pytest.raises(QdrantConnectionError, match="cannot be read"):
        await stores.open(one)


async def child(program: str, *arguments: Path) -> asyncio.subprocess.Process:
    """A process that has opened the store."""
    pipe = asyncio.subprocess.PIPE
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, *map(str, arguments), stdin=pipe, stdout=pipe
    )
    assert started.stdout
    assert await started.stdout.readline() == b"open\n"
    return started


OWNER = """
import asyncio, sys
from pathlib import Path
from typing import Any
from retrieval.index import EdgeIndex

async def main():
    index = await EdgeIndex.open(Path(sys.argv[1]), dimensions=4, embedder="test", tokenizer="words 1")
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await index.close()

asyncio.run(main())
"""


async def test_a_second_owner_is_refused_in_words_until_the_first_is_gone(tmp_path: Path) -> None:
    owner = await child(OWNER, tmp_path)
    with pytest.raises(QdrantConnectionError) as refused:
        await opened(tmp_path)
    assert "Another Kotae is running" in refused.value.text("en")
    assert "別の Kotae" in refused.value.text("ja")
    await owner.communicate(b"\n")
    assert owner.returncode == 0
    index = await opened(tmp_path)
    with pytest.raises(QdrantConnectionError, match="Another Kotae"):
        await opened(tmp_path)
    await index.close()


async def test_a_folder_on_a_disk_without_locks_is_not_said_to_have_another_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuses)
    with pytest.raises(QdrantConnectionError, match="cannot be used for the search index: No locks available"):
        await opened(tmp_path)


# Replaces one document for ever; "commits" by appending the generation to a file; stops for good at a given step.
REPLACER = """
import asyncio, sys, uuid
from pathlib import Path
from typing import Any
from retrieval.index import EdgeIndex
from retrieval.index.payload import STAGED
from retrieval.types import Passage, Point, Reading, SparseVector

TERM = SparseVector((1,), (1.0,))

def step(name):
    if name == sys.argv[3]:
        print(name, flush=True)
        sys.stdin.readline()

def passage(generation, number):
    made = Passage("docs", "d", "d.md", number, str(generation), "team")
    reading = Reading("en", frozenset(), ())
    return Point(str(uuid.uuid4()), made, reading, [1.0, 0.0, 0.0, 0.0], TERM, TERM, STAGED)

async def main():
    folder, committed = Path(sys.argv[1]), Path(sys.argv[2])
    index = await EdgeIndex.open(folder, dimensions=4, embedder="test", tokenizer="words 1")
    generation = int(committed.read_text().split()[-1])
    await index.roll_back(generation)
    await index.unstage()
    print("open", flush=True)
    with committed.open("a") as ledger:
        while True:
            generation += 1
            points = [passage(generation, number) for number in range(40)]
            await index.put(points[:20])
            step("half")
            await index.put(points[20:])
            step("staged")
            await index.publish("d", at=generation)
            step("published")
            print(generation, file=ledger, flush=True)
            step("committed")
            await index.sweep(generation)
            if generation % 5 == 0:
                print("going on", flush=True)

asyncio.run(main())
"""


async def test_killed_at_any_step_the_last_committed_version_is_there_whole(tmp_path: Path) -> None:
    committed = tmp_path / "committed"
    committed.write_text("1\n")
    index = await opened(tmp_path / "index")
    await index.put([point("d", n, text="1") for n in range(40)])
    await index.close()
    for step in ("half", "staged", "published", "committed", "going on"):
        replacer = await child(REPLACER, tmp_path / "index", committed, Path(step))
        assert replacer.stdout
        assert await replacer.stdout.readline() == f"{step}\n".encode()
        replacer.kill()
        await replacer.communicate()
        index = await opened(tmp_path / "index")
        generation = int(committed.read_text().split()[-1])
        await index.roll_back(generation)
        await index.unstage()
        await index.sweep(generation)
        for later in (generation, 10**9):
            assert await seen_texts(index, see(later)) == [str(generation)] * 40
        assert await seen_texts(index, see(generation - 1)) == []
        await index.close()
    assert generation >= 5


async def test_whose_it_is_outlives_the_process(tmp_path: Path) -> None:
    index = await opened(tmp_path)
    assert index.home is None and index.place == str(tmp_path)
    await index.put([point()])
    await index.claim("a" * 32)
    assert index.home == "a" * 32
    await index.close()
    again = await EdgeIndex.open(tmp_path, dimensions=4, embedder="test", tokenizer="words 1", home="b" * 32)
    assert again.home == "a" * 32 and await again.count(see()) == 1
    await again.close()
    closed = await opened(tmp_path)
    (tmp_path / "shard" / "home").unlink()
    (tmp_path / "shard" / "home").mkdir()
    with pytest.raises(QdrantConnectionError, match="cannot be used"):
        await closed.claim("c" * 32)
    assert closed.home == "a" * 32
    await closed.close()
    new = await EdgeIndex.open(tmp_path / "new", dimensions=4, embedder="test", tokenizer="words 1", home="b" * 32)
    assert new.home == "b" * 32
    await new.close()


async def test_the_note_beside_the_store_says_what_made_it(tmp_path: Path) -> None:
    await (await opened(tmp_path)).close()
    assert json.loads((tmp_path / "shard" / "kotae.json").read_text()) == {
        "embedder": "test",
        "dimensions": 4,
        "tokenizer": "words 1",
        "format": 1,
    }
