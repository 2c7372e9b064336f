"""Processes on one PostgreSQL and one Qdrant server: whatever one of them does, all see at once, whole, and once."""

import asyncio
import os
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from sqlalchemy import Connection, text, update

from bot.errors import SettingsError, StoreError
from bot.knowledge.content_store import content_store
from bot.knowledge.documents import KnowledgeBase
from bot.knowledge.snapshots import Snapshots
from bot.knowledge.upkeep import UNSEEN, Upkeep, attending
from bot.records import DocumentRow
from bot.store.asks import Asks
from bot.store.collections import Collections
from bot.store.documents import Documents
from bot.store.engine import Engine, change, connect, write
from bot.store.link import LEAST, ServerLink
from bot.store.locks import Mutex, free, locked
from bot.store.processes import Processes, this_process
from bot.store.qa_pairs import PairRows
from bot.store.schema import processes
from bot.store.searches import Searches
from bot.store.unanswered import UnansweredQuestions
from bot.store.vector_stores import IndexRow, VectorStores, advance
from bot.types import Upload, Verdict
from retrieval.folder import hand_over, own
from retrieval.index.payload import STAGED
from retrieval.index.server import ServerIndex
from retrieval.ingest import Ingest
from retrieval.loaders.loader import Loader
from retrieval.search import Search
from retrieval.sparse import TOKENIZER, SparseEncoder
from retrieval.types import TEAM, Document, Passage, QdrantConnectionError, Readers, View
from tests.fakes.postgresql import Network, behind
from tests.fakes.qdrant import KEY, Drop, FakeQdrant, Refuse
from tests.retrieval.test_ingest import HashEmbedder

SPARSE = SparseEncoder()
READERS = Readers(frozenset({TEAM}))
COLLECTION = "shared"

Meanwhile = Callable[[], Awaitable[None]]


@dataclass
class Process:
    """What a process has open."""

    name: str
    engine: Engine
    index: ServerIndex
    knowledge: KnowledgeBase
    snapshots: Snapshots
    ingest: Ingest
    embedder: HashEmbedder

    async def add(self, name: str, said: str, collection: str = "docs") -> Verdict:
        return await self.knowledge.add(Upload(name, said.encode(), collection, TEAM, "U1"), "en")

    async def found(self, query: str = "harbour", collections: tuple[str, ...] | None = None) -> list[str]:
        """What a search shows, in the order of the alphabet."""
        hits = (await self.knowledge.search(query, READERS, collections, limit=50, min_relevance=0.0)).hits
        return sorted(hit.passage.text for hit in hits)

    async def shown(self) -> dict[str, int]:
        """Each document's chunks as the index shows them to whoever asks now."""
        view = View(READERS, await self.knowledge.generation())
        counted: dict[str, int] = {}
        offset: str | None = None
        while True:
            passages, offset = await self.index.scroll(view, offset=offset, limit=1000)
            for passage in passages:
                counted[passage.document_id] = counted.get(passage.document_id, 0) + 1
            if offset is None:
                return counted


@dataclass
class Machines:
    """One database and one server; `process` is a start on one more machine."""

    url: str
    server: FakeQdrant
    folder: Path
    loader: Loader
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def process(self, name: str, url: str = "") -> Process:
        engine = connect(url or self.url)
        self.stack.push_async_callback(engine.dispose)
        embedder = HashEmbedder()
        stores = VectorStores(engine, name)
        row = await stores.open(embedder.name, embedder.dimensions, TOKENIZER)
        index = await ServerIndex.open(
            self.server.url,
            KEY,
            dimensions=embedder.dimensions,
            embedder=embedder.name,
            tokenizer=TOKENIZER,
            collection=COLLECTION,
            process=name,
        )
        self.stack.push_async_callback(index.close)
        snapshots, ingest = Snapshots(index, stores, row), Ingest(embedder, SPARSE, index)
        knowledge = KnowledgeBase(
            documents=Documents(engine, embedder.name, process=name),
            collections=Collections(engine),
            searches=Searches(engine),
            index=index,
            ingest=ingest,
            search=Search(index, embedder, SPARSE),
            loader=self.loader,
            kept=content_store(engine, self.folder / name),
            snapshots=snapshots,
        )
        await knowledge.stored.recover()
        self.stack.push_async_callback(knowledge.close)
        return Process(name, engine, index, knowledge, snapshots, ingest, embedder)


@pytest.fixture
async def machines(server_url: str, tmp_path: Path) -> AsyncIterator[Machines]:
    async with FakeQdrant() as server, Loader() as loader:
        made = Machines(server_url, server, tmp_path, loader)
        async with made.stack:
            yield made


async def everything_is_whole(one: Process) -> None:
    """The index shows just the documents that there are, each with all its chunks."""
    rows = await Documents(one.engine, "").listed()
    assert await one.shown() == {row.id: row.chunks for row in rows}


# -- what one process does, another sees ----------------------------------------------------------------------------


async def test_a_search_sees_what_another_process_has_just_changed(machines: Machines) -> None:
    a, b = await machines.process("a"), await machines.process("b")
    assert (await a.add("plan.md", "# Plan\n\nThe old harbour plan.\n")).status == "added"
    assert await b.found() == ["The old harbour plan."]
    assert (await b.add("plan.md", "# Plan\n\nThe new harbour plan.\n")).status == "replaced"
    assert await a.found() == await b.found() == ["The new harbour plan."]
    (row,) = await b.knowledge.documents(READERS)
    assert await a.knowledge.forget(row.id)
    assert await b.found() == []


async def test_the_same_document_added_twice_at_once_is_there_once(machines: Machines) -> None:
    a, b = await machines.process("a"), await machines.process("b")
    said = "".join(f"## Part {n}\n\nThe harbour has a pier number {n}.\n\n" for n in range(40))
    first, second = await asyncio.gather(a.add("pier.md", said), b.add("pier.md", said))
    assert {first.status, second.status} == {"added", "unchanged"} and first.document_id == second.document_id
    other, another = await asyncio.gather(a.add("pier.md", said + "One."), b.add("pier.md", said + "Two."))
    assert {other.status, another.status} == {"replaced"}
    await everything_is_whole(a)
    assert len(await a.knowledge.documents(READERS)) == 1


async def test_two_that_stage_one_document_show_one_version(machines: Machines) -> None:
    a, b = await machines.process("a"), await machines.process("b")
    kept = await a.add("plan.md", "# Plan\n\nThe old harbour plan.\n")
    assert kept.document_id
    await staged(b, kept.document_id)  # b is about to replace it as well
    assert (await a.add("plan.md", "# Plan\n\nThe new harbour plan.\n")).status == "replaced"
    assert await b.found() == ["The new harbour plan."]
    await everything_is_whole(b)


async def test_what_was_staged_and_lost_is_not_shown_in_part(machines: Machines) -> None:
    a, b = await machines.process("a"), await machines.process("b")
    await a.add("plan.md", "# Plan\n\nThe old harbour plan.\n")

    class Late(Ingest):
        """A process that stands still so long that the others take it for dead."""

        async def stage(self, *document: Any, **about: Any) -> int:
            count = await super().stage(*document, **about)
            await b.index.unstage({"b"})
            return count

    vars(a.knowledge)["_ingest"] = Late(a.embedder, SPARSE, a.index)
    refused = await a.add("plan.md", "# Plan\n\nThe new harbour plan.\n")
    assert refused.status == "refused" and "Add it again" in (refused.reason or "")
    assert await a.found() == await b.found() == ["The old harbour plan."]
    await everything_is_whole(b)


async def test_documents_of_many_processes_at_once_are_all_there(machines: Machines) -> None:
    three = [await machines.process(name) for name in "abc"]
    pages = [
        (one, f"{one.name}{n}.md", f"# Page\n\nThe harbour of {one.name}{n}.\n") for n in range(8) for one in three
    ]
    verdicts = await asyncio.gather(*(one.add(name, said) for one, name, said in pages))
    assert {verdict.status for verdict in verdicts} == {"added"}
    for one in three:
        assert len(await one.found()) == len(pages)
    rows = await Documents(three[0].engine, "").listed()
    assert len({row.born for row in rows}) == len(rows)  # each became visible in a step of its own
    await everything_is_whole(three[0])


async def test_a_collection_that_one_process_merges_is_merged_for_all(machines: Machines) -> None:
    a, b = await machines.process("a"), await machines.process("b")
    await a.add("one.md", "# One\n\nThe first harbour.\n", "old")
    await b.add("two.md", "# Two\n\nThe second harbour.\n", "new")
    assert await b.knowledge.stored.merge("old", "new", READERS) == 1
    assert await a.found(collections=("new",)) == ["The first harbour.", "The second harbour."]


# -- a process that dies --------------------------------------------------------------------------------------------


async def staged(one: Process, document: str = "d" * 32, born: int = STAGED) -> None:
    about = Passage("docs", document, "half.md", 0, "", TEAM)
    await one.ingest.write(Document("half.md", "# Half\n\nHalf a harbour.\n"), about, born=born, version="1")


async def test_a_start_leaves_alone_what_another_process_is_adding(machines: Machines) -> None:
    a = await machines.process("a")
    async with attending(a.engine, "a", embedded=False):
        await staged(a)
        b = await machines.process("b")
        await Upkeep(b.engine, b.index, b.snapshots).put_right()
        assert await a.index.publish("d" * 32, at=1) == 1


async def test_what_a_dead_process_has_staged_goes(machines: Machines) -> None:
    a, b = await machines.process("a"), await machines.process("b")
    await Processes(a.engine).alive("a", embedded=False)
    await Processes(b.engine).alive("b", embedded=False)
    await staged(a)
    await staged(b, "e" * 32)
    upkeep = Upkeep(b.engine, b.index, b.snapshots)
    await upkeep.put_right()
    assert await a.index.publish("d" * 32, at=1) == 1  # it lives
    await a.index.roll_back(0)
    await staged(a)
    async with write(a.engine) as db:  # it is not seen any more
        await db.execute(update(processes).where(processes.c.id == "a").values(until=text("now() - interval '1 s'")))
    await upkeep.put_right()
    assert await a.index.publish("d" * 32, at=1) == 0
    assert await b.index.publish("e" * 32, at=1) == 1


async def test_what_a_process_stages_in_an_index_of_its_own_is_its_own(machines: Machines) -> None:
    """Also when nobody has heard of it for a while: an embedded index does not know who has staged what."""
    a = await machines.process("a")
    await staged(a)
    await Upkeep(a.engine, a.index, a.snapshots, embedded=True).put_right()
    assert await a.index.publish("d" * 32, at=1) == 1


async def test_what_a_dead_process_published_and_did_not_commit_is_never_seen(machines: Machines) -> None:
    a, b = await machines.process("a"), await machines.process("b")
    kept = await a.add("plan.md", "# Plan\n\nThe old harbour plan.\n")
    assert kept.document_id
    born = await a.knowledge.generation() + 1
    await staged(a, kept.document_id)
    await a.index.publish(kept.document_id, at=born)  # and dies: the next commit has this generation
    assert (await b.add("next.md", "# Next\n\nThe next harbour.\n")).status == "added"
    assert await b.knowledge.generation() == born
    assert await a.found() == await b.found() == ["The next harbour.", "The old harbour plan."]


async def test_a_merge_that_a_dead_process_began_is_finished(machines: Machines) -> None:
    a, b = await machines.process("a"), await machines.process("b")
    await a.add("one.md", "# One\n\nThe first harbour.\n", "old")
    await Collections(a.engine).merge("old", "new")  # and dies
    assert await b.found(collections=("new",)) == []
    await b.add("two.md", "# Two\n\nThe second harbour.\n", "new")
    assert await b.found(collections=("new",)) == ["The first harbour.", "The second harbour."]
    assert await VectorStores(b.engine).moves() == []


async def test_whoever_has_lost_the_lock_commits_nothing_and_starts_again(machines: Machines) -> None:
    a, b = await machines.process("a"), await machines.process("b")
    kept = await a.add("plan.md", "# Plan\n\nThe old harbour plan.\n")

    class Slow(Documents):
        taken = False

        async def commit(self, row: DocumentRow, *, generation: int, markdown: str | None = None) -> None:
            if not self.taken:  # its connection is cut, and another process has its turn
                self.taken = True
                async with b.engine.connect() as db:
                    await db.execute(text("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"))
                assert (await b.add("next.md", "# Next\n\nThe next harbour.\n")).status == "added"
            await super().commit(row, generation=generation, markdown=markdown)

    vars(a.knowledge)["_documents"] = Slow(a.engine, a.embedder.name, process="a")
    again = await a.add("plan.md", "# Plan\n\nThe new harbour plan.\n")
    assert (again.status, again.document_id) == ("replaced", kept.document_id)
    assert await a.found() == await b.found() == ["The new harbour plan.", "The next harbour."]
    await everything_is_whole(b)


async def test_a_write_that_took_effect_though_it_failed_is_no_second_document(machines: Machines) -> None:
    a, b = await machines.process("a"), await machines.process("b")
    machines.server.order("points/batch", *[Drop(done=True)] * 2)
    assert (await a.add("plan.md", "# Plan\n\nThe harbour plan.\n")).status == "added"
    machines.server.order("points/batch", *[Refuse(500)] * 40)  # the index cannot even take it back
    assert (await a.add("plan.md", "# Plan\n\nThe newer harbour plan.\n")).status == "refused"
    machines.server.calm()
    assert await b.found() == ["The harbour plan."]
    assert (await b.add("next.md", "# Next\n\nThe next harbour.\n")).status == "added"
    assert await a.found() == ["The harbour plan.", "The next harbour."]
    await everything_is_whole(b)


async def test_what_an_outage_left_staged_does_not_take_the_next_attempt_with_it(machines: Machines) -> None:
    a = await machines.process("a")
    assert (await a.add("plan.md", "# Plan\n\nThe harbour plan.\n")).status == "added"
    machines.server.order("points/batch", *[Refuse(500)] * 40)  # nor can it be taken back
    assert (await a.add("plan.md", "# Plan\n\nThe newer harbour plan.\n")).status == "refused"
    machines.server.calm()
    again = await a.add("plan.md", "# Plan\n\nThe newest harbour plan.\n")
    assert again.status == "replaced", again
    assert await a.found() == ["The newest harbour plan."]
    await everything_is_whole(a)


async def test_an_index_from_an_older_copy_shows_nothing_that_was_forgotten_since(machines: Machines) -> None:
    a = await machines.process("a")
    plan = await a.add("plan.md", "# Plan\n\nThe harbour plan.\n")
    await a.add("next.md", "# Next\n\nThe next harbour.\n")
    copy = pickle.dumps(machines.server.snapshot())
    await a.knowledge.forget(str(plan.document_id))
    machines.server.recover(pickle.loads(copy))
    assert await a.found() == ["The next harbour."]
    assert "The harbour plan." not in str((await a.knowledge.search("harbour", READERS)).rejected)


class Cut(Documents):
    """Of a process whose network is cut before the answer to each commit; with `meanwhile`, which happens then, before
    the commit itself."""

    def __init__(self, one: Process, network: Network, meanwhile: Meanwhile | None = None) -> None:
        super().__init__(one.engine, one.embedder.name, process=one.name)
        self._network, self._meanwhile = network, meanwhile
        for part in (one.knowledge, one.knowledge.stored):
            vars(part)["_documents"] = self

    async def commit(self, row: DocumentRow, *, generation: int, markdown: str | None = None) -> None:
        await self._cut()
        await super().commit(row, generation=generation, markdown=markdown)

    async def forget(self, *document_ids: str, generation: int, copied: bool = False, at_source: bool = False) -> int:
        await self._cut()
        return await super().forget(*document_ids, generation=generation, copied=copied, at_source=at_source)

    async def _cut(self) -> None:
        self._network.loses_commit = True
        if self._meanwhile is not None:
            self._network.is_away = True
            self._network.cut()
            await self._meanwhile()


@asynccontextmanager
async def through(machines: Machines) -> AsyncIterator[tuple[str, Network]]:
    """The address of the database through a network."""
    with TemporaryDirectory(prefix="kotae-") as folder:  # a short path, for a socket
        async with behind(machines.url, Path(folder)) as found:
            yield found


async def test_a_commit_whose_answer_is_lost_has_taken_effect(machines: Machines) -> None:
    async with through(machines) as (url, network):
        a, b = await machines.process("a", url), await machines.process("b")
        for name in ("plan.md", "gone.md"):
            assert (await a.add(name, f"# {name}\n\nThe old harbour of {name}.\n")).status == "added"
        gone = next(row.id for row in await b.knowledge.documents(READERS) if row.name == "gone.md")
        Cut(a, network)
        assert (await a.add("plan.md", "# Plan\n\nThe new harbour.\n")).status == "replaced"
        assert await b.found() == ["The new harbour.", "The old harbour of gone.md."]
        with pytest.raises(StoreError):
            await a.knowledge.forget(gone)
        assert await a.found() == await b.found() == ["The new harbour."]
        await everything_is_whole(b)
        network.loses_commit = False
        assert (await b.add("next.md", "# Next\n\nThe next harbour.\n")).status == "added"
        assert await a.found() == ["The new harbour.", "The next harbour."]


async def test_whoever_cannot_ask_the_database_undoes_nothing_of_others(machines: Machines) -> None:
    async with through(machines) as (url, network):
        a, b = await machines.process("a", url), await machines.process("b")
        kept = (await a.add("plan.md", "# Plan\n\nThe old harbour.\n")).document_id
        assert kept is not None

        async def forgotten() -> None:
            assert await b.knowledge.forget(kept)

        Cut(a, network, forgotten)
        assert (await a.add("plan.md", "# Plan\n\nThe new harbour.\n")).status == "refused"
        assert await b.found() == []
        network.is_away = False
        assert await a.found() == []
        await everything_is_whole(b)


async def test_a_commit_that_is_still_under_way_is_waited_for(machines: Machines) -> None:
    a, b = await machines.process("a"), await machines.process("b")
    kept = (await a.add("plan.md", "# Plan\n\nThe old harbour.\n")).document_id
    assert kept is not None
    born = await a.knowledge.generation() + 1
    await staged(a, kept)
    await a.index.publish(kept, at=born)
    async with write(a.engine) as db:  # its connection is gone, and with it the lock, but the server is at it still
        await db.run_sync(advance, a.embedder.name, born, "a")
        a.snapshots.doubt()
        adding = asyncio.create_task(a.add("next.md", "# Next\n\nThe next harbour.\n"))
        waits = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
        async with b.engine.connect() as other:
            while not adding.done() and (await other.execute(waits)).scalar() == 0:
                await other.rollback()
        assert not adding.done()
    assert (await adding).status == "added"
    assert await b.found() == ["Half a harbour.", "The next harbour."]


# -- together -------------------------------------------------------------------------------------------------------


async def test_points_that_died_are_deleted_once_no_search_can_look_at_them(machines: Machines) -> None:
    a, b = await machines.process("a"), await machines.process("b")
    now = [0.0]
    upkeep = Upkeep(b.engine, b.index, b.snapshots, clock=lambda: now[0])
    await a.add("plan.md", "# Plan\n\nThe old harbour plan.\n")
    before = await a.knowledge.generation()
    await a.add("plan.md", "# Plan\n\nThe new harbour plan.\n")
    await upkeep.put_right()
    now[0] = UNSEEN - 1
    await upkeep.put_right()
    assert await a.index.count(View(READERS, before)) == 1  # a search of another process may be under way
    now[0] = UNSEEN
    await upkeep.put_right()
    assert await a.index.count(View(READERS, before)) == 0
    assert await a.found() == ["The new harbour plan."]


async def test_a_database_that_went_back_is_followed(machines: Machines) -> None:
    """As by a server that takes over and had not heard of the last commits: what it does not know is not shown for
    ever, and what it knows is not gone."""
    a, b = await machines.process("a"), await machines.process("b")
    for name in ("plan", "gone"):
        await a.add(f"{name}.md", f"# {name}\n\nThe harbour of {name}.\n")
    await change(a.engine, _remember)
    gone = next(row.id for row in await a.knowledge.documents(READERS) if row.name == "gone.md")
    await a.add("lost.md", "# Lost\n\nThe harbour that is lost.\n")
    await a.add("plan.md", "# Plan\n\nThe harbour of a new plan.\n")
    assert await a.knowledge.forget(gone)
    clock = [0.0]
    upkeep = Upkeep(a.engine, a.index, a.snapshots, clock=lambda: clock[0])
    await upkeep.put_right()
    assert await a.found() == await b.found() == ["The harbour of a new plan.", "The harbour that is lost."]

    await change(a.engine, _go_back)
    kept = ["The harbour of gone.", "The harbour of plan."]
    assert await b.found() == await a.found() == kept
    for clock[0] in (1.0, UNSEEN):
        await upkeep.put_right()
    assert await a.found() == kept  # of the generations that are gone none is swept
    assert (await a.add("next.md", "# Next\n\nThe next harbour.\n")).status == "added"
    assert await b.found() == await a.found() == [*kept, "The next harbour."]
    await everything_is_whole(await machines.process("c"))


async def test_what_a_database_that_went_back_has_lost_is_not_shown_by_who_never_saw_it(machines: Machines) -> None:
    """Its next commit has the generation of the one that was lost, so that nobody sees that it ever went back."""
    a, b = await machines.process("a"), await machines.process("b")
    plan = await a.add("plan.md", "# Plan\n\nThe harbour plan.\n")
    added = partial(b.add, "lost.md", "# Lost\n\nThe harbour that is lost.\n")
    forgotten = partial(b.knowledge.forget, plan.document_id or "")
    changes: tuple[Callable[[], Awaitable[object]], ...] = added, forgotten
    for n, lost in enumerate(changes):
        await change(a.engine, _remember)
        await lost()
        await change(a.engine, _go_back)
        assert (await a.add("next.md", f"# Next\n\nThe next harbour ({n}).\n")).chunks == 1
    assert await b.found() == await a.found() == ["The harbour plan.", "The next harbour (1)."]
    await everything_is_whole(await machines.process("c"))


_GOES_BACK = ("contents", "documents", "indexes")


def _remember(db: Connection) -> None:
    for name in _GOES_BACK:
        db.execute(text(f"DROP TABLE IF EXISTS old_{name}"))
        db.execute(text(f"CREATE TABLE old_{name} AS TABLE {name}"))


def _go_back(db: Connection) -> None:
    for name in _GOES_BACK:
        db.execute(text(f"DELETE FROM {name}"))
        db.execute(text(f"INSERT INTO {name} SELECT * FROM old_{name}"))


async def test_an_index_that_was_swapped_is_not_searched_any_more(machines: Machines) -> None:
    a, b = await machines.process("a"), await machines.process("b")
    await a.add("plan.md", "# Plan\n\nThe harbour plan.\n")
    await VectorStores(b.engine, "b").swap(IndexRow("other", 8, TOKENIZER, 1), {})
    await ServerIndex.remove(machines.server.url, KEY, COLLECTION)  # whoever has swapped it cleans up
    with pytest.raises(QdrantConnectionError, match="re-indexed with other"):
        await a.found()
    refused = await a.add("next.md", "# Next\n\nThe next harbour.\n")
    assert refused.status == "refused" and "re-indexed with other" in refused.reason


async def test_an_index_that_has_lost_all_does_not_say_that_nothing_is_known(machines: Machines) -> None:
    a = await machines.process("a")
    assert await a.found("nothing yet") == []
    await a.add("plan.md", "# Plan\n\nThe harbour plan.\n")
    kept = machines.server.snapshot()
    machines.server.recover(({}, {}, {}))  # its disk is a new one
    b = await machines.process("b")  # makes the collection
    for one in (a, b):
        assert await one.knowledge.emptied()
        with pytest.raises(QdrantConnectionError, match="kotae reindex"):
            await one.found()
        refused = await one.add("next.md", "# Next\n\nThe next harbour.\n")
        assert refused.status == "refused" and "kotae reindex" in refused.reason
    machines.server.recover(kept)
    assert await a.found() == ["The harbour plan."] and not await a.knowledge.emptied()
    (row,) = await a.knowledge.documents(READERS)
    await a.knowledge.forget(row.id)
    assert await a.found() == [] and not await a.knowledge.emptied()


async def test_processes_with_an_index_each_do_not_share_a_database(machines: Machines) -> None:
    a = await machines.process("a")
    async with attending(a.engine, "machine:1:a", embedded=False):
        with pytest.raises(SettingsError, match=r"machine:1\) has this database open"):
            async with attending(a.engine, "machine:2:b", embedded=True):
                raise AssertionError
        async with attending(a.engine, "machine:3:c", embedded=False):
            assert [one.id for one in await Processes(a.engine).listed()] == ["machine:1:a", "machine:3:c"]
    assert await Processes(a.engine).listed() == []
    await Processes(a.engine).alive(this_process(), embedded=True)  # a container of the same name, with the same number
    with pytest.raises(SettingsError, match="has this database open"):
        async with attending(a.engine, this_process(), embedded=True):
            raise AssertionError


async def test_who_had_the_home_before_keeps_nobody_out(machines: Machines, tmp_path: Path) -> None:
    a = await machines.process("a")
    lock = own(tmp_path / "home")
    ours = this_process()
    killed = f"{ours.partition(':')[0]}:7:{32 * 'a'}"
    assert hand_over(lock, killed) == ""
    await Processes(a.engine).alive(killed, embedded=True)
    os.close(lock)
    lock = own(tmp_path / "home")
    async with attending(a.engine, ours, embedded=True, before=hand_over(lock, ours)):
        assert [one.id for one in await Processes(a.engine).listed()] == [ours]
    assert hand_over(lock, "next") == ours
    os.close(lock)
    async with attending(a.engine, "west:1:a", embedded=True):
        with pytest.raises(SettingsError, match=r"west:1\) has this database open"):
            async with attending(a.engine, ours, embedded=True, before="west:1:a"):  # in a copy of a home that runs
                raise AssertionError


async def test_a_lock_has_one_holder_among_all_and_goes_with_its_connection(machines: Machines) -> None:
    a, b = await machines.process("a"), await machines.process("b")
    async with free(a.engine, "job") as mine:
        assert mine
        async with free(b.engine, "job") as theirs, free(b.engine, "other") as other:
            assert not theirs and other
    order: list[str] = []
    held, wanted = asyncio.Event(), asyncio.Event()

    async def first() -> None:
        async with locked(a.engine, "job"):
            held.set()
            await wanted.wait()
            order.append("first")

    async def second() -> None:
        await held.wait()
        wanted.set()
        async with locked(b.engine, "job"):
            order.append("second")

    await asyncio.gather(first(), second())
    assert order == ["first", "second"]


async def test_whoever_holds_every_lock_of_a_process_can_still_work(server_url: str) -> None:
    engine = connect(server_url, ServerLink(connections=LEAST))
    mutexes = UnansweredQuestions(engine).answering, Asks(engine).asking, PairRows(engine).following
    async with asyncio.timeout(20), AsyncExitStack() as held:
        for mutex in (*mutexes, Mutex(engine, "pair-jobs")):
            await held.enter_async_context(mutex.held())
        await held.enter_async_context(free(engine, "upkeep"))
        await held.enter_async_context(VectorStores(engine, "a").committing())
        assert await Processes(engine).listed() == []
    await engine.dispose()
