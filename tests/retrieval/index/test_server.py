"""What the index says to a Qdrant server over HTTP, and what it makes of a server that is slow, strange or not
there."""

import asyncio
import logging
import math
import socket
import time
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from retrieval.folder import Made
from retrieval.index.payload import STAGED
from retrieval.index.server import ServerIndex, collection_of
from retrieval.index.server_calls import Wire
from retrieval.types import EmbeddingError, QdrantConnectionError, Readers, SparseVector, View
from tests.fakes.qdrant import KEY, MOST, Answer, Drop, FakeQdrant, Hang, Order, Refuse
from tests.retrieval.index.test_index import EVERYTHING, READING, ask, found, ids, point, see

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")

DENSE = [1.0, 0.0, 0.0, 0.0]
PAGE = "<!doctype html><html><title>Sign in</title></html>"
NAME = collection_of(Made("test", 4, "words 1"))


@asynccontextmanager
async def opened(
    server: FakeQdrant, *, key: str | None = KEY, url: str = "", **more: Any
) -> AsyncIterator[ServerIndex]:
    settings: dict[str, Any] = {"dimensions": 4, "embedder": "test", "tokenizer": "words 1"} | more
    index = await ServerIndex.open(url or server.url, SecretStr(key) if key else None, **settings)
    try:
        yield index
    finally:
        await index.close()


@pytest.fixture
async def server() -> AsyncIterator[FakeQdrant]:
    async with FakeQdrant() as running:
        yield running
        assert running.finished


def sent(call_body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in call_body.items() if value is not None}


# -- the collection -------------------------------------------------------------------------------------------------


async def test_a_collection_is_made_once_with_all_it_needs(server: FakeQdrant) -> None:
    async with opened(server, shards=6, replicas=2, write_consistency=2):
        pass
    (made,) = server.calls("PUT")
    assert made.collection == NAME
    assert sent(made.body) == {
        "vectors": {"default": {"size": 4, "distance": "Cosine", "datatype": "float16"}},
        "sparse_vectors": {"text-sparse": {"modifier": "idf"}, "text-ngram": {"modifier": "idf"}},
        "shard_number": 6,
        "replication_factor": 2,
        "write_consistency_factor": 2,
        "metadata": {"embedder": "test", "dimensions": 4, "tokenizer": "words 1", "format": 1},
    }
    keyword, number = "keyword", "integer"
    assert server.indexes[NAME] == {
        "collection": keyword,
        "document_id": keyword,
        "scope": keyword,
        "language": keyword,
        "process": keyword,
        "born": number,
        "died": number,
        "chunk": number,
    }
    before = len(server.journal)
    async with opened(server):
        pass
    assert {call.kind for call in server.journal[before:]} == {"GET exists", "GET"}


async def test_an_index_that_a_dead_process_did_not_make_is_made(server: FakeQdrant) -> None:
    async with opened(server):
        pass
    del server.indexes[NAME]["died"]
    async with opened(server) as index:
        await index.put([point()])
        assert await index.count(see()) == 1
    assert server.indexes[NAME]["died"] == "integer"


async def test_two_processes_may_open_it_at_once(server: FakeQdrant) -> None:
    async with opened(server), opened(server):
        pass
    before = len(server.journal)
    server.order("/exists", Answer({"exists": False}))  # as it was a moment ago
    async with opened(server) as index:
        assert await index.count(see()) == 0
    assert [call.kind for call in server.journal[before:]][:4] == ["GET exists", "PUT", "GET exists", "GET"]


async def test_what_the_collection_was_made_with_is_compared(server: FakeQdrant) -> None:
    async with opened(server, collection="ours"):
        pass
    for different in ({"embedder": "other"}, {"tokenizer": "words 2"}, {"dimensions": 8}):
        with pytest.raises(EmbeddingError) as refused:
            async with opened(server, collection="ours", **different):
                pass
        for language in ("en", "ja"):
            assert "KOTAE_EMBEDDER" in refused.value.text(language) and "kotae reindex" in refused.value.text(language)
        assert str(next(iter(different.values()))) in refused.value.text("en")
    async with opened(server, collection="ours"):
        pass


async def test_a_collection_of_somebody_else_or_an_old_server_is_refused() -> None:
    async with FakeQdrant(metadata=False) as server:
        with pytest.raises(EmbeddingError) as refused:
            async with opened(server):
                pass
        assert "1.16" in refused.value.text("en") and "1.16" in refused.value.text("ja")


@given(st.text(), st.text())
async def test_the_name_of_a_collection_is_safe_and_nobody_elses(embedder: str, other: str) -> None:
    name = collection_of(Made(embedder, 4, "t"))
    assert name.startswith("kotae--") and len(name) < 120
    assert all(letter.isascii() and (letter.isalnum() or letter in "._-") for letter in name)
    assert (collection_of(Made(other, 4, "t")) == name) == (other == embedder)
    assert collection_of(Made(embedder, 8, "t")) != name != collection_of(Made(embedder, 4, "t2"))
    assert collection_of(Made(embedder, 4, "t"), prefix="team") == name.replace("kotae", "team", 1)


async def test_whose_a_collection_is_is_in_its_metadata(server: FakeQdrant) -> None:
    async with opened(server) as index:
        assert index.home is None and NAME in index.place and KEY not in index.place
        await index.claim("a" * 32)
    async with opened(server, home="b" * 32) as index:
        assert index.home == "a" * 32
    async with opened(server, collection="new", home="b" * 32) as index:
        assert index.home == "b" * 32
    for home in (None, "b" * 32):
        with pytest.raises(QdrantConnectionError, match="another home") as refused:
            await ServerIndex.remove(server.url, KEY, NAME, home=home)
        assert "別のホーム" in refused.value.text("ja")
    await ServerIndex.remove(server.url, KEY, NAME, home="a" * 32)
    assert not await ServerIndex.there(server.url, KEY, NAME) and await ServerIndex.there(server.url, KEY, "new")


async def test_a_removed_collection_is_gone_and_removing_it_again_does_nothing(server: FakeQdrant) -> None:
    async with opened(server) as index:
        assert await index.trouble() is None
        await ServerIndex.remove(server.url, KEY, NAME)
        await ServerIndex.remove(server.url, KEY, NAME)
        assert await index.trouble() is not None
        with pytest.raises(QdrantConnectionError, match="404"):
            await index.count(see())


# -- requests -------------------------------------------------------------------------------------------------------


async def test_every_request_that_reads_has_the_views_filter(server: FakeQdrant) -> None:
    view = View(Readers(frozenset({"team", "place:x"})), 7, ("docs", "手順"))
    async with opened(server) as index:
        await index.put([point()])
        server.journal.clear()
        await ask(index, view, dense=DENSE, words=EVERYTHING, ngrams=EVERYTHING, weigh=[1, 2, 3], limit=9)
        await index.fetch([point().id], view)
        await index.passages("d", range(3), view)
        await index.scroll(view)
        await index.count(view)
    reading = [call for call in server.journal if call.kind.startswith("POST")]
    assert [call.kind.removeprefix("POST points/") for call in reading] == ["query/batch", *["scroll"] * 3, "count"]
    filters = [one for call in reading for one in call.filters()]
    assert len(filters) == 7 + 4
    for one in filters:
        assert {"key": "scope", "match": {"any": ["place:x", "team"]}} in one["must"]
        assert {"key": "born", "range": {"lte": 7.0}} in one["must"]
        assert {"key": "died", "range": {"gt": 7.0}} in one["must"]
        assert {"key": "collection", "match": {"any": ["docs", "手順"]}} in one["must"]
        assert one.keys() == {"must"}
    assert {"has_id": [point().id]} in filters[7]["must"]


async def test_a_view_that_shows_nothing_asks_nothing(server: FakeQdrant) -> None:
    async with opened(server) as index:
        server.journal.clear()
        for view in (View(Readers(frozenset()), 1), see(collections=())):
            assert (await ask(index, view, dense=DENSE, weigh=[1])).branches == {"dense": []}
            assert await index.count(view) == 0
            assert await index.fetch(["x"], view) == {}
            assert await index.passages("d", range(3), view) == []
            assert await index.scroll(view) == ([], None)
    assert server.journal == []


async def test_writes_are_small_waited_for_and_in_order(server: FakeQdrant) -> None:
    async with opened(server) as index:
        server.journal.clear()
        await index.put([point("d", n, born=STAGED, text=str(n)) for n in range(150)])
        await index.publish("d", at=2)
        await index.retire("d", died=3)
        await index.undo("d", at=3)
        await index.move("docs", "more")
        await index.copy("d", scope="everyone", collection="more")
        await index.publish("d", at=4)
        assert await index.count(see(4, "everyone", collections=("more",))) == 150
        await index.roll_back(0)
        await index.unstage()
        assert await index.sweep(9) == 0
    assert [len(call.body["points"]) for call in server.calls("PUT points")] == 2 * [64, 64, 22]
    writes = [call for call in server.journal if call.kind in ("PUT points", "POST points/batch")]
    assert len(writes) == 3 + 4 + 3 + 3
    assert {(call.query["wait"], call.query["ordering"]) for call in writes} == {("true", "strong")}
    published = [operation["set_payload"]["payload"] for operation in writes[3].body["operations"]]
    assert published == [{"died": 2}, {"born": 2}]


async def test_a_search_is_one_request_and_its_answers_come_back(server: FakeQdrant) -> None:
    async with opened(server) as index:
        await index.put([near := point("near", dense=[3.0, 4.0, 0, 0]), far := point("far", dense=[0.0, 0, 2.0, 0])])
        server.journal.clear()
        answer = await ask(index, see(), dense=DENSE, words=EVERYTHING, weigh=[1])
        assert ids(found(answer)) == [near.id, far.id]
        assert answer.weights == {1: pytest.approx(math.log(1 + 0.5 / 2.5))}
        assert [call.kind for call in server.journal] == ["POST points/query/batch"]
        fetched = await index.fetch([near.id, far.id], see())
        assert {id: (one.passage, one.reading) for id, one in fetched.items()} == {
            one.id: (one.passage, READING) for one in (near, far)
        }


async def test_how_rare_an_unknown_word_is_costs_one_request_a_minute(server: FakeQdrant) -> None:
    async with opened(server) as index:
        await index.put([point("d", n) for n in range(9)])
        server.journal.clear()
        for _ in range(3):
            weights = (await ask(index, see(), weigh=[1, 99])).weights
            assert weights[99] == pytest.approx(math.log(1 + 9.5 / 0.5)) and weights[1] < weights[99]
        assert len(server.calls("GET")) == 1
    async with opened(server) as index:
        server.order(f"/collections/{NAME}", Answer([{"points": []}]), Refuse(503))
        assert (await ask(index, see(), weigh=[99])).weights == {99: pytest.approx(math.log(2))}


async def test_replicas_must_agree_on_what_is_read() -> None:
    for replicas, consistency in ((1, None), (3, "majority")):
        async with FakeQdrant(replicas=replicas) as server, opened(server) as index:
            await ask(index, see(), dense=DENSE)
            await index.passages("d", range(3), see())
            await index.count(see())
            for kind in ("POST points/query/batch", "POST points/scroll", "POST points/count"):
                assert server.calls(kind)[0].query.get("consistency") == consistency


async def test_a_replica_that_lags_hides_nothing_and_brings_nothing_back() -> None:
    async with FakeQdrant(lags=True) as server, opened(server) as index:
        await index.put([point()])
        assert await index.count(see()) == 0, "so would whoever asks only one of them"
    async with FakeQdrant(replicas=3, lags=True) as server, opened(server) as index:
        await index.put([point("d", n, born=STAGED) for n in range(3)])
        assert await index.publish("d", at=1) == 3
        assert (await index.count(see(1)), len(found(await ask(index, see(1), dense=DENSE)))) == (3, 3)
        assert (await index.after(0), await index.after(1), await index.strangers(1, {"d"})) == (3, 0, 0)
        await index.retire("d", died=2)
        assert (await index.count(see(2)), await index.strangers(2, set()), await index.sweep(2)) == (0, 0, 3)
        assert await index.after(0) == 0


async def test_a_long_document_is_written_and_read_under_a_strict_mode(server: FakeQdrant) -> None:
    async with opened(server) as index:
        await index.put([point("d", n, born=STAGED) for n in range(MOST + 1)])
        assert await index.publish("d", at=1) == MOST + 1
        assert [one.chunk for one in await index.passages("d", range(5_000), see(1))] == [*range(MOST + 1)]


@pytest.mark.parametrize("trouble", [Refuse(500, done=True), Refuse(503, half=True)])
async def test_a_write_that_fails_after_it_or_half_way_is_written_whole_and_once(
    server: FakeQdrant, trouble: Order
) -> None:
    async with opened(server) as index:
        await index.put([point("d", n) for n in range(4)])
        server.order("/points", trouble)
        await index.put([point("d", n, born=STAGED) for n in range(4)])
        server.order("/points/batch", trouble)
        assert await index.publish("d", at=2) == 4
        assert (await index.count(see(1)), await index.count(see(2))) == (4, 4)
        server.order("/points/batch", trouble)
        assert await index.sweep(2) == 4 and await index.count(see(2)) == 4


async def test_the_key_goes_with_every_request_and_none_where_there_is_none(server: FakeQdrant) -> None:
    async with opened(server) as index:
        await ask(index, see(), dense=DENSE)
    assert {call.headers["api-key"] for call in server.journal} == {KEY}
    async with FakeQdrant(key=None) as unlocked, opened(unlocked, key=None) as index:
        assert await index.trouble() is None
        assert not any("api-key" in call.headers for call in unlocked.journal)


async def test_credentials_in_the_address_are_for_the_proxy() -> None:
    async with FakeQdrant(basic=("me", "p@ss")) as server:
        async with opened(server, url=server.url.replace("//", "//me:p%40ss@")) as index:
            assert await index.trouble() is None
        with pytest.raises(QdrantConnectionError, match="not Qdrant; perhaps it is a proxy"):
            async with opened(server):
                pass


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://q.example.com", "https://q.example.com:6333"),
        ("http://u:p@q.example.com:80/", "http://q.example.com:80"),
        ("https://q.example.com:443/vectors/", "https://q.example.com:443/vectors"),
        ("http://[::1]:7000", "http://[::1]:7000"),
    ],
)
async def test_an_address_is_read_as_qdrants_clients_do(url: str, address: str) -> None:
    wire = Wire.to(url, None)
    assert wire.address == address
    await wire.close()


# -- trouble --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [Refuse(503), Refuse(502, page=PAGE), Refuse(429, "slow down"), Drop()])
async def test_what_may_pass_is_tried_again(server: FakeQdrant, trouble: Order) -> None:
    async with opened(server) as index:
        server.journal.clear()
        server.order("/points", trouble, trouble)
        await index.put([point()])
        assert len(server.calls("PUT points")) == 3
        server.order("/points", trouble)
        assert len(found(await ask(index, see(), dense=DENSE))) == 1
        assert len(server.calls("POST points/query/batch")) == 2


async def test_a_write_whose_answer_was_lost_is_written_once(server: FakeQdrant) -> None:
    async with opened(server) as index:
        await index.put([point("d", n, text=str(n)) for n in range(5)])
        server.order("/points", Drop(done=True))
        await index.put([point("d", n, born=STAGED, text=f"new {n}") for n in range(5)])
        server.order("/points/batch", Drop(done=True))
        await index.publish("d", at=2)
        assert (await index.count(see(1)), await index.count(see(2))) == (5, 5)
        assert len(server.calls("PUT points")) == 3 and len(server.calls("POST points/batch")) == 2


async def test_a_write_that_is_only_accepted_is_not_done(server: FakeQdrant) -> None:
    async with opened(server, seconds=2.0) as index:
        server.order("/points", Answer({"operation_id": 1, "status": "wait_timeout"}))
        await index.put([point()])
        assert len(server.calls("PUT points")) == 2
        server.order("/points/batch", *[Answer([{"operation_id": 1, "status": "acknowledged"}])] * 9)
        with pytest.raises(QdrantConnectionError, match="did not answer"):
            await index.retire("d", died=3)
    server.calm()


async def test_a_busy_server_is_given_the_time_it_asks_for(server: FakeQdrant) -> None:
    async with opened(server) as index:
        server.order("/count", Refuse(429, "slow down", {"Retry-After": "1"}))
        started = time.monotonic()
        assert await index.count(see()) == 0
        assert time.monotonic() - started >= 1.0
        server.order("/count", Refuse(429, "slow down", {"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"}))
        assert await index.count(see()) == 0  # a date is not understood by the client; our own pace then
        server.order("/count", Refuse(429, "slow down", {"Retry-After": "3600"}))
        started = time.monotonic()
        with pytest.raises(QdrantConnectionError, match="is busy") as refused:
            await index.count(see())
        assert time.monotonic() - started < 60  # nobody waits for an hour
        assert "混み合って" in refused.value.text("ja")


async def test_a_silent_server_is_not_waited_for_for_long(server: FakeQdrant) -> None:
    async with opened(server, seconds=1.5) as index:
        server.order("/count", Hang(), Hang())
        started = time.monotonic()
        with pytest.raises(QdrantConnectionError, match=r"did not answer within 1\.5 seconds") as late:
            await index.count(see())
        assert time.monotonic() - started < 30
        assert "応答しませんでした" in late.value.text("ja")
    server.calm()


async def test_a_server_that_is_not_there_is_named(unused_tcp_port: int) -> None:
    started = time.monotonic()
    with pytest.raises(QdrantConnectionError) as refused:
        await ServerIndex.open(
            f"http://127.0.0.1:{unused_tcp_port}", KEY, dimensions=4, embedder="t", tokenizer="t", seconds=0.5
        )
    assert time.monotonic() - started < 30
    assert f"http://127.0.0.1:{unused_tcp_port} cannot be reached" in refused.value.text("en")
    assert "接続できません" in refused.value.text("ja")


@pytest.mark.parametrize(
    ("trouble", "en", "ja"),
    [
        (Refuse(401, "Invalid API key or JWT"), "does not accept the key (status 401)", "キーを受け付けません"),
        (Refuse(403, "Forbidden: global access required"), "QDRANT_API_KEY", "キーを受け付けません"),
        (Refuse(200, page=PAGE), "not Qdrant", "Qdrant ではありません"),
        (Refuse(403, page=PAGE), "not Qdrant", "Qdrant ではありません"),
        (Refuse(302, headers={"Location": "https://sso.example.com"}), "not Qdrant", "Qdrant ではありません"),
        (Answer({"something": "else"}), "not Qdrant", "Qdrant ではありません"),
        (Refuse(400, "Bad request: no"), "fails (status 400: Bad request: no).", "（ステータス 400: Bad request: no）"),
        (Refuse(400, 'Format error in JSON body: "A passage"'), "fails (status 400).", "（ステータス 400）"),
        (Refuse(413, page=PAGE), "fails (status 413).", "（ステータス 413）"),
        (Refuse(507, "Insufficient storage: disk usage"), "507: Insufficient storage: disk", "507: Insufficient"),
    ],
)
async def test_what_does_not_pass_is_said_at_once(server: FakeQdrant, trouble: Order, en: str, ja: str) -> None:
    async with opened(server) as index:
        server.journal.clear()
        server.order("/count", trouble)
        with pytest.raises(QdrantConnectionError) as refused:
            await index.count(see())
        assert en in refused.value.text("en") and ja in refused.value.text("ja")
        assert len(server.journal) == 1


@pytest.mark.parametrize("trouble", [Refuse(500, "Service internal error"), Refuse(503)])
async def test_a_server_that_keeps_failing_is_given_up(server: FakeQdrant, trouble: Order) -> None:
    async with opened(server) as index:
        server.journal.clear()
        server.order("/count", *[trouble] * 5)
        with pytest.raises(QdrantConnectionError, match="fails"):
            await index.count(see())
        assert len(server.journal) == 5
        server.order(f"/{NAME}", Refuse(503))
        assert await index.trouble() is not None
        assert await index.trouble() is None
        server.status = "red"
        assert await index.trouble() is not None


async def test_one_branch_that_fails_leaves_the_others(server: FakeQdrant) -> None:
    async with opened(server) as index:
        await index.put([point()])
        server.journal.clear()
        ngrams = SparseVector((1,), (2.0,))
        answer = await ask(index, see(), dense=[1.0, 0.0], words=EVERYTHING, ngrams=ngrams, weigh=[1, 2])
        assert set(answer.failed) == {"dense"} and set(answer.weights) == {1, 2}
        assert server.url not in str(answer.failed["dense"])
        assert "expected dim: 4, got 2" in str(answer.failed["dense"].__cause__)
        assert {branch: len(hits) for branch, hits in answer.branches.items()} == {"words": 1, "ngrams": 1}
        sizes = [len(call.body["searches"]) for call in server.calls("POST points/query/batch")]
        assert (sizes[0], sorted(sizes[1:])) == (6, [1, 1, 1, 1, 2])  # meaning in each language


async def test_a_server_that_is_gone_fails_every_branch_at_once(server: FakeQdrant) -> None:
    async with opened(server, seconds=1.5) as index:
        server.journal.clear()
        server.order("/query", *[Hang()] * 4)
        started = time.monotonic()
        answer = await ask(index, see(), dense=DENSE, words=EVERYTHING, weigh=[1])
        assert set(answer.failed) == {"dense", "words"} and not answer.branches
        assert time.monotonic() - started < 6.0  # one after the other
    server.calm()


async def test_closing_waits_for_what_is_under_way(server: FakeQdrant) -> None:
    async with opened(server) as index:
        writing = asyncio.ensure_future(index.put([point("d", n, text=str(n)) for n in range(200)]))
        counting = asyncio.ensure_future(index.count(see()))
        await asyncio.sleep(0)
        await asyncio.gather(index.close(), index.close())
        assert writing.done() and counting.done()
        await asyncio.gather(writing, counting)
        with pytest.raises(QdrantConnectionError, match="closed"):
            await index.count(see())
        assert await index.trouble() is not None
    async with opened(server) as again:
        assert await again.count(see()) == 200


# -- secrets --------------------------------------------------------------------------------------------------------

SECRET, PASSWORD = "qdrant-secret-9876543210", "proxy-passw0rd!"


def everything_said(error: BaseException | None) -> Iterator[str]:
    """All that a log or a person could be shown of an error and of what is chained to it."""
    while error is not None:
        yield from (str(error), repr(error), str(vars(error)), "".join(traceback.format_exception(error)))
        if isinstance(error, QdrantConnectionError | EmbeddingError):
            yield from (error.text("en"), error.text("ja"))
        assert error.__context__ is None or error.__context__ is error.__cause__
        error = error.__cause__


@pytest.mark.parametrize(
    "trouble",
    [
        Refuse(401, f"Invalid API key {SECRET}"),
        Refuse(500, f"upstream http://me:{PASSWORD}@10.0.0.1 failed for {SECRET}"),
        Refuse(429, f"{SECRET} is too fast", {"Retry-After": "60"}),
        Refuse(200, page=f"<html>{SECRET} {PASSWORD}</html>"),
        Answer({"count": SECRET}),
        Drop(),
        Hang(),
    ],
)
async def test_no_secret_is_in_an_error_or_a_log(trouble: Order, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with FakeQdrant(key=SECRET) as server:
        url = server.url.replace("//", f"//me:{PASSWORD}@")
        seconds = 2.0 if isinstance(trouble, Hang) else 10.0  # enough to open it on a machine that is busy
        async with opened(server, key=SECRET, url=url, seconds=seconds) as index:
            server.order("/points", *[trouble] * 20)
            with pytest.raises(QdrantConnectionError) as refused:
                await index.count(see())
            answer = await ask(index, see(), dense=DENSE, weigh=[1])
            said = [*everything_said(refused.value), *everything_said(answer.failed["dense"]), repr(index), caplog.text]
            assert len(said) > 5
            for text in said:
                assert SECRET not in text and PASSWORD not in text and f"me:{PASSWORD}" not in text


@pytest.mark.parametrize(
    ("url", "key", "names"),
    [
        (f"http://me:{PASSWORD}@host:port", KEY, "QDRANT_URL"),
        (f"ftp://me:{PASSWORD}@host", KEY, "QDRANT_URL"),
        (f"//me:{PASSWORD}@", KEY, "QDRANT_URL"),
        (f"http://me:{PASSWORD}@ho st", KEY, "QDRANT_URL"),
        (f"http://me:{PASSWORD}@[::1", KEY, "QDRANT_URL"),
        ("http://localhost", f"{SECRET}\nX: 1", "QDRANT_API_KEY"),
        ("http://localhost", f"{SECRET}鍵", "QDRANT_API_KEY"),
    ],
)
async def test_what_cannot_be_an_address_or_a_key_is_said_without_it(url: str, key: str, names: str) -> None:
    with pytest.raises(QdrantConnectionError, match=names) as refused:
        await ServerIndex.open(url, key, dimensions=4, embedder="t", tokenizer="t")
    for text in everything_said(refused.value):
        assert SECRET not in text and PASSWORD not in text


@pytest.fixture
def unused_tcp_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
