"""The stores, on SQLite and on PostgreSQL where there is one."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.records import DocumentRow
from bot.store.collections import Collections
from bot.store.documents import Documents
from bot.store.homes import Homes
from bot.store.searches import Measured, Searches, failure, percentile
from bot.store.vector_stores import IndexRow, OvertakenError, VectorStores
from retrieval.types import CollectionInfo, Readers, SearchMetrics

NOW = datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=UTC)
TEAM = Readers(frozenset({"everyone", "team"}))
PRIVATE = "place:slack:T:C"
MEMBERS = Readers(TEAM.scopes | {PRIVATE})
EVERYONE = Readers(frozenset({"everyone"}))
NOBODY = Readers(frozenset())


def document(name: str, collection: str = "handbook", scope: str = "team", chunks: int = 3) -> DocumentRow:
    return DocumentRow(
        id=f"{collection}-{scope}-{name}"[:32],
        collection=collection,
        scope=scope,
        name=name,
        title="題名",
        url=None,
        hash="h",
        markdown="m",
        chunks=chunks,
        language="ja",
        author="U1",
        born=1,
        added_at=NOW,
        updated_at=NOW,
    )


@pytest.fixture
async def documents(engine: AsyncEngine) -> Documents:
    await VectorStores(engine).open("e5", 384, "t1")
    return Documents(engine, "e5")


async def test_a_database_has_one_identity_whoever_asks_first(engine: AsyncEngine) -> None:
    homes = Homes(engine)
    assert await homes.known() is None
    given = await asyncio.gather(homes.identity(), homes.identity("a" * 32), homes.identity("b" * 32))
    assert len({*given, await homes.known(), await homes.identity("c" * 32)}) == 1 and len(given[0]) == 32


async def test_the_first_that_is_alone_is_the_team_for_good(engine: AsyncEngine) -> None:
    homes = Homes(engine)
    assert await homes.team() is None
    assert await homes.team("discord:1") == await homes.team("discord:2") == await homes.team() == "discord:1"


# -- documents, collections, generations ----------------------------------------------------------------------------


async def test_a_document_comes_back_as_it_was(documents: Documents) -> None:
    row = document("経費.md")
    await documents.commit(row, generation=1)
    assert await documents.find("handbook", "team", "経費.md") == row
    assert await documents.get(row.id) == row
    assert await documents.find("handbook", "everyone", "経費.md") is None
    assert await documents.get("nobody") is None


async def test_a_new_version_takes_the_place_of_the_old(documents: Documents, engine: AsyncEngine) -> None:
    row = document("a.md")
    await documents.commit(row, generation=1)
    await documents.commit(row.with_(hash="h2", born=2, chunks=9), generation=2)
    assert [(found.hash, found.chunks) for found in await documents.listed()] == [("h2", 9)]
    assert await VectorStores(engine).listed() == [IndexRow("e5", 384, "t1", 2)]


async def test_a_document_and_its_generation_are_one_step(documents: Documents, engine: AsyncEngine) -> None:
    await documents.commit(document("a.md"), generation=5)
    with pytest.raises(OvertakenError):
        await documents.commit(document("b.md"), generation=4)
    with pytest.raises(OvertakenError):
        await documents.forget(document("a.md").id, generation=4)
    with pytest.raises(IntegrityError):  # another document of this name is there
        await documents.commit(document("a.md").with_(id="other"), generation=6)
    with pytest.raises(LookupError):
        await Documents(engine, "unknown").commit(document("c.md"), generation=1)
    assert [row.name for row in await documents.listed()] == ["a.md"]
    assert await VectorStores(engine).open("e5", 0, "") == IndexRow("e5", 384, "t1", 5)


async def test_forgotten_documents_are_gone(documents: Documents) -> None:
    rows = [document(name) for name in ("a.md", "b.md", "c.md")]
    for number, row in enumerate(rows, start=1):
        await documents.commit(row, generation=number)
    assert await documents.forget(rows[0].id, rows[1].id, "nobody", generation=4) == 2
    assert [row.name for row in await documents.listed()] == ["c.md"]


async def test_readers_see_their_documents_only(documents: Documents) -> None:
    for number, scope in enumerate(("everyone", "team", PRIVATE), start=1):
        await documents.commit(document(f"{number}.md", scope=scope), generation=number)
    names = {
        readers: [row.name for row in await documents.listed(readers)] for readers in (EVERYONE, TEAM, MEMBERS, NOBODY)
    }
    assert names == {
        EVERYONE: ["1.md"],
        TEAM: ["1.md", "2.md"],
        MEMBERS: ["1.md", "2.md", "3.md"],
        NOBODY: [],
    }
    ids = [row.id for row in await documents.listed()]
    assert await documents.readable([*ids, "gone"], TEAM) == frozenset(ids[:2])
    assert await documents.readable(ids, EVERYONE) == {ids[0]}


async def test_listing_by_collection_and_name(documents: Documents) -> None:
    await documents.commit(document("a.md"), generation=1)
    await documents.commit(document("a.md", collection="other"), generation=2)
    assert [row.collection for row in await documents.listed(TEAM, name="a.md")] == ["handbook", "other"]
    assert [row.collection for row in await documents.listed(collection="other")] == ["other"]


async def test_kept_markdown_is_known(documents: Documents) -> None:
    await documents.commit(document("a.md"), generation=1)
    assert await documents.keeps("m")
    assert not await documents.keeps("n")


async def test_collections_count_what_may_be_read(documents: Documents, engine: AsyncEngine) -> None:
    collections = Collections(engine)
    await collections.describe("empty", "何もない")
    await documents.commit(document("a.md", chunks=3), generation=1)
    await documents.commit(document("b.md", chunks=4).with_(language="en"), generation=2)
    await documents.commit(document("c.md", scope=PRIVATE, chunks=5), generation=3)
    await documents.commit(document("d.md", "secret", scope=PRIVATE), generation=4)
    await collections.describe("handbook", "社内規程")
    empty = CollectionInfo("empty", "何もない")
    assert await collections.listed(TEAM) == (empty, CollectionInfo("handbook", "社内規程", ("en", "ja"), 2, 7))
    assert await collections.listed(MEMBERS) == (
        empty,
        CollectionInfo("handbook", "社内規程", ("en", "ja"), 3, 12),
        CollectionInfo("secret", "", ("ja",), 1, 3),
    )
    assert await collections.listed(EVERYONE) == await collections.listed(NOBODY) == ()


@pytest.mark.parametrize("leaves", ["forgotten", "moved"])
async def test_the_name_of_a_private_places_collection_goes_with_its_last_document(
    documents: Documents, engine: AsyncEngine, leaves: str
) -> None:
    collections = Collections(engine)
    left = [document("a.md", "merger", scope=PRIVATE), document("b.md", "merger", scope=PRIVATE), document("c.md")]
    for generation, row in enumerate(left, start=1):
        await documents.commit(row, generation=generation)
    await collections.describe("merger", "Who is bought")

    async def names(readers: Readers) -> list[str]:
        return [info.name for info in await collections.listed(readers)]

    for generation, row in enumerate(left[:2], start=4):
        assert await names(TEAM) == ["handbook"] and await names(MEMBERS) == ["handbook", "merger"]
        if leaves == "moved":
            await documents.commit(row.with_(collection="handbook"), generation=generation)
        else:
            await documents.forget(row.id, generation=generation)
    assert await names(MEMBERS) == await names(TEAM) == ["handbook"]
    for generation, row in enumerate(await documents.listed(), start=7):
        await documents.forget(row.id, generation=generation)
    assert await names(TEAM) == ["handbook"] and not await names(EVERYONE)  # the team's stays, empty


async def test_those_who_ask_for_collections_together_share_a_look_begun_after_they_asked(
    documents: Documents, engine: AsyncEngine
) -> None:
    looks = 0

    def count(*statement: Any) -> None:
        nonlocal looks
        looks += "FROM collections" in statement[2]

    event.listen(engine.sync_engine, "before_cursor_execute", count)
    collections = Collections(engine)
    await documents.commit(document("a.md"), generation=1)
    first = asyncio.create_task(collections.listed(TEAM))
    await asyncio.sleep(0)  # it looks now
    await documents.commit(document("b.md", "later", scope=PRIVATE), generation=2)
    others = await asyncio.gather(*(collections.listed(who) for who in (TEAM, MEMBERS, NOBODY) * 50))
    assert [info.name for info in await first][:1] == ["handbook"]
    names = [[info.name for info in found] for found in others]
    assert names == [["handbook"], ["handbook", "later"], []] * 50
    assert looks <= 3
    await collections.close()


async def test_merging_and_removing_collections(documents: Documents, engine: AsyncEngine) -> None:
    collections = Collections(engine)
    await documents.commit(document("a.md"), generation=1)
    await documents.commit(document("b.md", "old"), generation=2)
    assert not await collections.remove("old")  # not empty
    assert await collections.merge("old", "handbook") == 1
    assert [info.name for info in await collections.listed(TEAM)] == ["handbook"]
    await documents.commit(document("a.md", "new"), generation=3)
    with pytest.raises(IntegrityError):
        await collections.merge("new", "handbook")
    assert [info.name for info in await collections.listed(TEAM)] == ["handbook", "new"]
    await documents.forget(document("a.md", "new").id, generation=4)
    assert await collections.remove("new")
    assert not await collections.remove("new")
    assert await collections.merge("handbook", "handbook") == 0
    assert [info.name for info in await collections.listed(TEAM)] == ["handbook"]


async def test_vector_stores_are_remembered(engine: AsyncEngine) -> None:
    indexes = VectorStores(engine)
    assert await indexes.open("e5", 384, "t1") == IndexRow("e5", 384, "t1", 0)
    assert await indexes.open("e5", 768, "t2") == IndexRow("e5", 384, "t1", 0)  # what it was made with
    await indexes.open("gemini", 768, "t2")
    assert await indexes.listed() == [IndexRow("e5", 384, "t1", 0), IndexRow("gemini", 768, "t2", 0)]
    await indexes.swap(IndexRow("e5", 384, "t2", 7), {})
    assert await indexes.listed() == [IndexRow("e5", 384, "t2", 7)] and await indexes.current() == IndexRow(
        "e5", 384, "t2", 7
    )


# -- measurements ---------------------------------------------------------------------------------------------------


def metrics(query: str, latency: float = 5.0, minutes: int = 0, **changes: object) -> SearchMetrics:
    made = SearchMetrics(query, "handbook", latency, 10, 3, 0.8, (0.8, 0.7), None, NOW + timedelta(minutes=minutes))
    return replace(made, **changes)  # type: ignore[arg-type]  # the names are the test's


async def test_searches_are_listed_for_those_who_may_see_them(engine: AsyncEngine) -> None:
    searches = Searches(engine)
    await searches.add(Measured(metrics("経費"), "team"))
    await searches.add(Measured(metrics("秘密", minutes=1), PRIVATE))
    await searches.add(Measured(metrics("休暇", minutes=2), "team"))
    assert await searches.listed(TEAM.scopes) == [metrics("休暇", minutes=2), metrics("経費")]
    assert [found.query for found in await searches.listed(MEMBERS.scopes, limit=2)] == ["休暇", "秘密"]
    assert [found.query for found in await searches.listed(TEAM.scopes, since=NOW + timedelta(seconds=1))] == ["休暇"]


async def test_searches_are_summed_up(engine: AsyncEngine) -> None:
    searches = Searches(engine)
    assert (await searches.totals()).p50_ms is None
    assert (await searches.totals()).failed == 0
    for latency in range(1, 101):
        await searches.add(Measured(metrics("q", float(latency), minutes=latency), PRIVATE))
    await searches.add(Measured(metrics("nothing", 50.0, filtered_results=0), "team"))
    await searches.add(Measured(failure("broken", ("handbook", "faq"), "EmbeddingError"), "team"))
    found = await searches.totals()
    assert (found.searches, found.failed, found.empty) == (102, 1, 1)
    assert (found.p50_ms, found.p95_ms) == (50.0, 95.0)
    assert (found.failed, found.searches) == (1, 102)
    listed = await searches.listed(TEAM.scopes)
    assert {(row.query, row.error, row.collection_name) for row in listed} == {
        ("nothing", None, "handbook"),
        ("broken", "EmbeddingError", "handbook, faq"),
    }
    assert await searches.clear() == 102
    assert await searches.listed(MEMBERS.scopes) == []


def test_percentiles_are_values_that_occurred() -> None:
    assert percentile([], 0.5) is None
    assert percentile([7.0], 0.95) == 7.0
    assert percentile([1.0, 2.0], 0.5) == 1.0
    assert percentile([1.0, 2.0, 3.0], 0.95) == 3.0
