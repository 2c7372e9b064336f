"""A second store from the kept Markdown: whole, resumable, swapped in one step. As a program it is a re-index that dies
at a chosen moment: `python -m tests.bot.knowledge.test_reindex FOLDER half|written|swapped`."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.knowledge.content_store import content_store
from bot.knowledge.documents import KnowledgeBase
from bot.knowledge.identity import Identity
from bot.knowledge.reindex import Progress, Rebuilt, Reindex, made_of
from bot.knowledge.snapshots import Snapshots
from bot.records import DocumentRow
from bot.store.collections import Collections
from bot.store.documents import Documents
from bot.store.engine import connect
from bot.store.searches import Searches
from bot.store.vector_stores import IndexRow, VectorStores
from bot.types import Upload
from retrieval.folder import Made
from retrieval.index import EdgeIndex, Index
from retrieval.index.stores import EdgeStores, ServerStores, Stores
from retrieval.ingest import Ingest
from retrieval.loaders.loader import Loader
from retrieval.search import Search
from retrieval.sparse import TOKENIZER, SparseEncoder
from retrieval.types import Point, QdrantConnectionError, RAGToolError, Readers, Vectors, View
from tests.bot import databases
from tests.bot.program import dies
from tests.copies import copy_folder
from tests.retrieval.test_ingest import HashEmbedder, guide

SPARSE = SparseEncoder()
EVERYONE = Readers(frozenset({"team", "place:x"}))


class OtherEmbedder(HashEmbedder):
    name = "other/hash"
    dimensions = 24


OLD = Made("hash", 16, TOKENIZER)
NEW = Made("other/hash", 24, TOKENIZER)
PAIRS = "question,answer\nWhat is the MTU?,1400 bytes.\nWho runs it?,Sato does.\n"
TEXTS = {
    "plan.md": "# Plan\n\n" + "\n\n".join(f"## Part {n}\n\n" + f"Harbour step {n} is slow. " * 30 for n in range(5)),
    "other.md": "# Other\n\nThe harbour café opens at nine.\n",
    "faq.csv": PAIRS,
}


@dataclass
class Home:
    """A folder with documents, as `KnowledgeBase` and the re-index both see it."""

    folder: Path
    engine: AsyncEngine
    stores: Stores
    indexes: VectorStores
    documents: Documents
    loader: Loader
    index: Index | None = None  # while there is a `KnowledgeBase`
    identity: str | None = None  # None: from before homes had one

    @asynccontextmanager
    async def knowledge(self) -> AsyncIterator[KnowledgeBase]:
        """On the store that the database says is the current one."""
        row = await self.indexes.current() or await self.indexes.open(OLD.embedder, OLD.dimensions, OLD.tokenizer)
        embedder = HashEmbedder() if made_of(row) == OLD else OtherEmbedder()
        self.index = index = await self.stores.open(made_of(row))
        knowledge = KnowledgeBase(
            documents=Documents(self.engine, embedder.name),
            collections=Collections(self.engine),
            searches=Searches(self.engine),
            index=index,
            ingest=Ingest(embedder, SPARSE, index),
            search=Search(index, embedder, SPARSE),
            loader=self.loader,
            kept=content_store(self.engine, self.folder / "documents"),
            snapshots=Snapshots(index, self.indexes, row),
        )
        await knowledge.stored.recover()
        yield knowledge
        await knowledge.close()
        await index.close()
        self.index = None

    def reindex(
        self, embedder: HashEmbedder, *, documents: Documents | None = None, at_last: "Change | None" = None
    ) -> Reindex:
        @asynccontextmanager
        async def quiet() -> AsyncIterator[int]:
            if at_last:
                await at_last()
            row = await self.indexes.current()
            yield row.generation if row else 0

        return Reindex(
            documents=documents or self.documents,
            indexes=self.indexes,
            stores=self.stores,
            ingest=lambda index: Ingest(embedder, SPARSE, index),
            kept=content_store(self.engine, self.folder / "documents"),
            note=self.folder / "vectors" / "reindex.jsonl",
            quiet=quiet,
            own=self.own,
        )

    async def own(self, index: Index, noted: bool) -> None:
        """As `bot.knowledge.vector_store` has it."""
        row = await self.indexes.current()
        known = Identity(
            self.identity,
            row.generation if row else 0,
            await self.documents.listed(),
            str(self.folder / "kotae.db"),
            self.folder / "documents",
            isinstance(self.stores, ServerStores),
        )
        assert noted or await known.trouble(index) is None

    async def rebuilt(
        self, embedder: HashEmbedder | None = None, made: Made = NEW, progress: Progress | None = None
    ) -> Rebuilt:
        """A whole run, its store closed again and the old one deleted."""
        reindex = self.reindex(embedder or OtherEmbedder())
        done = await reindex.run(made, progress=progress)
        await done.index.close()
        await reindex.clean_up(made)
        return done

    async def whole(self) -> bool:
        assert self.index is not None
        return await self.reindex(HashEmbedder()).whole(self.index)

    async def shown(self) -> dict[str, list[tuple[str, str | None]]]:
        """Document → its passages (text, question) in the current store, at the current generation."""
        row = await self.indexes.current()
        assert row
        index = await self.stores.open(made_of(row))
        found: dict[str, list[tuple[str, str | None]]] = {}
        for document in await self.documents.listed():
            passages = await index.passages(document.id, range(999), View(EVERYONE, row.generation))
            assert len(passages) == document.chunks
            found[document.name] = [(one.text, one.question) for one in passages]
        assert await index.count(View(EVERYONE, 2**53 - 2)) == sum(map(len, found.values()))  # and nothing else
        await index.close()
        return found

    async def take_out(self, row: DocumentRow) -> None:
        """The old store has lost a document."""
        index = await self.stores.open(OLD)
        await index.discard(row.id)
        await index.close()

    async def kept(self, name: str) -> Path:
        (row,) = [row for row in await self.documents.listed() if row.name == name]
        return self.folder / "documents" / row.markdown[:2] / f"{row.markdown}.md"

    async def add(self, knowledge: KnowledgeBase, name: str, text: str, scope: str = "team") -> None:
        verdict = await knowledge.add(Upload(name, text.encode(), "docs", scope, "U1"), "en")
        assert verdict.status in ("added", "replaced"), verdict


Change = Callable[[], Awaitable[None]]


async def nothing() -> None: ...


class Watched(Documents):
    """Lets something happen after the first round of a run."""

    def __init__(self, engine: AsyncEngine, change: Change) -> None:
        super().__init__(engine, "")
        self._change = change
        self.rounds = 0

    async def listed(self, readers: Readers | None = None, **wanted: Any) -> list[DocumentRow]:
        self.rounds += 1
        if self.rounds == 2:
            await self._change()
        return await super().listed(readers, **wanted)


@asynccontextmanager
async def opened(
    folder: Path, *, stores: Stores | None = None, indexes: Callable[[AsyncEngine], VectorStores] = VectorStores
) -> AsyncIterator[Home]:
    engine = connect(await asyncio.to_thread(databases.made, folder / "kotae.db"))
    loader = Loader()
    try:
        yield Home(
            folder, engine, stores or EdgeStores(folder / "vectors"), indexes(engine), Documents(engine, ""), loader
        )
    finally:
        await loader.close()
        await engine.dispose()


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    async with opened(tmp_path) as made:
        await filled(made)
        yield made


async def filled(home: Home) -> None:
    async with home.knowledge() as knowledge:
        for name, text in TEXTS.items():
            await home.add(knowledge, name, text)


async def found(home: Home, query: str) -> list[str]:
    async with home.knowledge() as knowledge:
        found = await knowledge.search(query, EVERYONE, mode="sparse", limit=50)
        return sorted({hit.passage.document for hit in (*found.hits, *found.rejected)})


# -- a run ----------------------------------------------------------------------------------------------------------


async def test_another_embedder_gets_a_store_of_all_documents(home: Home) -> None:
    before = await home.shown()
    assert before["faq.csv"] == [("1400 bytes.", "What is the MTU?"), ("Sato does.", "Who runs it?")]
    steps: list[tuple[int, int]] = []
    done = await home.rebuilt(progress=lambda at, total: steps.append((at, total)))
    assert (done.documents, done.written) == (3, 3)
    assert done.row == IndexRow(NEW.embedder, NEW.dimensions, NEW.tokenizer, 3)
    assert await home.indexes.listed() == [done.row]
    assert await home.shown() == before  # pairs with their questions, which the kept Markdown does not tell from text
    assert steps[:4] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert await found(home, "harbour") == ["other.md", "plan.md"]
    assert sorted(path.name for path in (home.folder / "vectors").iterdir()) == ["other--hash"]


async def test_a_new_tokenizer_of_the_same_embedder_too(home: Home) -> None:
    before = await home.shown()
    later = replace(OLD, tokenizer="words 99")
    await home.rebuilt(HashEmbedder(), later)
    assert [made_of(row) for row in await home.indexes.listed()] == [later]
    assert await home.shown() == before
    await home.rebuilt(HashEmbedder(), OLD)  # and back
    assert await home.shown() == before
    assert [path.name for path in (home.folder / "vectors").iterdir()] == ["hash"]


async def test_documents_change_on_in_the_new_store(home: Home) -> None:
    await home.rebuilt()
    async with home.knowledge() as knowledge:
        await home.add(knowledge, "other.md", "# Other\n\nThe pier opens at ten.\n")
        (plan,) = [row for row in await home.documents.listed() if row.name == "plan.md"]
        assert await knowledge.forget(plan.id)
        assert await knowledge.generation() == 5
    assert {*await home.shown()} == {"other.md", "faq.csv"}
    assert await found(home, "harbour") == []


async def test_a_lost_store_is_filled_again(home: Home) -> None:
    before = await home.shown()
    await home.stores.remove(OLD)
    index = await home.stores.open(OLD)
    reindex = home.reindex(HashEmbedder())
    assert not await reindex.whole(index)
    await index.close()
    done = await home.rebuilt(HashEmbedder(), OLD)
    assert (done.documents, done.written, done.row.generation) == (3, 3, 3)
    after = await home.shown()
    assert {**after, "faq.csv": before["faq.csv"]} == before
    assert "1400 bytes." in after["faq.csv"][0][0]  # its pairs were only in the store
    index = await home.stores.open(OLD)
    assert await reindex.whole(index)
    await index.close()
    assert (await home.rebuilt(HashEmbedder(), OLD)).written == 0


async def swapped(home: Home, knowledge: KnowledgeBase) -> None:
    """One is forgotten and another of the same size is added."""
    (plan,) = [row for row in await home.documents.listed() if row.name == "plan.md"]
    await home.add(knowledge, "newer.md", TEXTS["plan.md"].replace("harbour", "lagoon"))
    await knowledge.forget(plan.id)


async def forgotten(home: Home, knowledge: KnowledgeBase) -> None:
    (plan,) = [row for row in await home.documents.listed() if row.name == "plan.md"]
    await knowledge.forget(plan.id)


async def replaced(home: Home, knowledge: KnowledgeBase) -> None:
    await home.add(knowledge, "other.md", TEXTS["other.md"].replace("nine", "ten"))


async def replaced_and_back(home: Home, knowledge: KnowledgeBase) -> None:
    await replaced(home, knowledge)
    await home.add(knowledge, "other.md", TEXTS["other.md"])


@pytest.mark.parametrize(("since", "written"), [(swapped, 1), (forgotten, 0), (replaced, 1), (replaced_and_back, 1)])
async def test_a_store_from_an_older_copy_is_put_right(
    home: Home, tmp_path: Path, since: Callable[[Home, KnowledgeBase], Awaitable[None]], written: int
) -> None:
    vectors, home.identity = home.folder / "vectors", "the home"
    index = await home.stores.open(OLD)
    await index.claim(home.identity)
    await index.close()
    await asyncio.to_thread(copy_folder, vectors, tmp_path / "copy")
    async with home.knowledge() as knowledge:
        assert await home.whole()
        await since(home, knowledge)
        assert await home.whole()
    before = await home.shown()
    await asyncio.to_thread(shutil.rmtree, vectors)
    await asyncio.to_thread(copy_folder, tmp_path / "copy", vectors)
    async with home.knowledge():
        assert not await home.whole()
    assert (await home.rebuilt(HashEmbedder(), OLD)).written == written
    assert await home.shown() == before
    async with home.knowledge():
        assert await home.whole()


async def test_a_store_that_has_lost_a_document_keeps_the_pairs_of_another(home: Home) -> None:
    before = await home.shown()
    (other,) = [row for row in await home.documents.listed() if row.name == "other.md"]
    await home.take_out(other)
    assert (await home.rebuilt(HashEmbedder(), OLD)).written == 1
    assert await home.shown() == before


async def test_a_home_without_documents_changes_over(tmp_path: Path) -> None:
    async with opened(tmp_path) as home:
        assert (await home.rebuilt()).documents == 0
        assert await home.shown() == {}
        assert [made_of(row) for row in await home.indexes.listed()] == [NEW]


async def test_on_a_server_each_store_is_a_collection(tmp_path: Path) -> None:
    from tests.fakes.qdrant import KEY, FakeQdrant  # seconds, which the program below would spend at each start

    async with FakeQdrant() as server:
        stores = ServerStores(server.url, SecretStr(KEY), prefix="home-1")
        async with opened(tmp_path, stores=stores) as home:
            await filled(home)
            before = await home.shown()
            assert (await home.rebuilt()).written == 3
            assert await home.shown() == before
            (old,) = {call.collection for call in server.calls("DELETE")} - {
                call.collection for call in server.calls("PUT")[1:]
            }
            assert old.startswith("home-1--hash--")


# -- meanwhile ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_last", [False, True])
async def test_what_is_added_replaced_and_forgotten_meanwhile_is_caught_up(home: Home, at_last: bool) -> None:
    """After the first round, or at the last moment before the swap. The old store answers on."""
    async with home.knowledge() as knowledge:

        async def change() -> None:
            found = await knowledge.search("harbour", EVERYONE, mode="sparse", limit=50)
            assert {hit.passage.document for hit in (*found.hits, *found.rejected)} == {"plan.md", "other.md"}
            await home.add(knowledge, "new.md", "# New\n\nA new quay.\n", scope="place:x")
            await home.add(knowledge, "other.md", "# Other\n\nThe pier opens at ten.\n")
            (plan,) = [row for row in await home.documents.listed() if row.name == "plan.md"]
            await knowledge.forget(plan.id)
            await knowledge.stored.merge("docs", "more", EVERYONE)

        documents = Watched(home.engine, nothing if at_last else change)
        reindex = home.reindex(OtherEmbedder(), documents=documents, at_last=change if at_last else None)
        # Whoever has the old store open hands it over.
        done = await reindex.run(NEW, old=home.index)
        assert documents.rounds == (3 if at_last else 4)
        assert done.row.generation == await knowledge.generation() == 6
        await done.index.close()
    await reindex.clean_up(NEW)
    shown = await home.shown()
    assert {*shown} == {"new.md", "other.md", "faq.csv"}
    assert shown["other.md"] == [("The pier opens at ten.", None)]
    assert {row.collection for row in await home.documents.listed()} == {"more"}
    assert await found(home, "pier quay harbour") == ["new.md", "other.md"]


async def test_what_is_committed_once_the_lock_is_lost_is_caught_up(home: Home) -> None:
    class Late(VectorStores):
        async def swap(self, row: IndexRow, chunks: Mapping[str, int]) -> None:
            if not later:  # its connection was cut, and another process has its turn
                later.append("new.md")
                await home.add(knowledge, "new.md", "# New\n\nA new quay.\n")
            await super().swap(row, chunks)

    later: list[str] = []
    async with home.knowledge() as knowledge:
        home.indexes = Late(home.engine)
        reindex = home.reindex(OtherEmbedder())
        done = await reindex.run(NEW, old=home.index)
        assert done.row.generation == 4
        await done.index.close()
    await reindex.clean_up(NEW)
    assert {*await home.shown()} == {*TEXTS, "new.md"}


@pytest.mark.parametrize("name", ["plan.md", "faq.csv"])
@pytest.mark.parametrize("damage", [Path.unlink, lambda kept: kept.write_text("something else")])
async def test_a_document_whose_text_is_lost_comes_over_as_the_old_store_has_it(
    home: Home, name: str, damage: Callable[[Path], object]
) -> None:
    before = await home.shown()
    damage(await home.kept(name))
    later = replace(OLD, tokenizer="words 99")  # of a version that cannot open the old store, so nobody can forget it
    assert (await home.rebuilt(HashEmbedder(), later)).written == 3
    assert await home.shown() == before
    assert (await home.rebuilt(HashEmbedder(), later)).written == 0
    await home.rebuilt()
    assert await home.shown() == before


async def test_a_document_that_is_too_long_for_now_comes_over_as_the_old_store_has_it(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await home.shown()
    monkeypatch.setattr("retrieval.ingest.MAX_CHUNKS", len(before["plan.md"]) - 1)
    await home.rebuilt()
    assert await home.shown() == before


async def test_a_document_that_is_nowhere_is_named_and_the_old_store_stays(home: Home) -> None:
    before = await home.shown()
    kept = await home.kept("other.md")
    text = kept.read_bytes()
    (other,) = [row for row in await home.documents.listed() if row.name == "other.md"]
    await home.take_out(other)
    kept.unlink()
    with pytest.raises(RAGToolError) as refused:
        await home.rebuilt()
    assert "1 document" in refused.value.text("en") and "other.md" in refused.value.text("en")
    assert "もう一度実行" in refused.value.text("ja")
    assert [made_of(row) for row in await home.indexes.listed()] == [OLD]
    kept.write_bytes(text)
    assert (await home.rebuilt()).written == 1  # the others were there
    assert await home.shown() == before


async def test_of_a_document_that_is_nowhere_a_store_made_anew_has_nothing_until_it_is_added_again(home: Home) -> None:
    before = await home.shown()
    (other,) = [row for row in await home.documents.listed() if row.name == "other.md"]
    await home.take_out(other)
    kept = await home.kept("other.md")
    text = kept.read_bytes()
    kept.unlink()
    for _ in range(2):
        await home.rebuilt(HashEmbedder(), OLD)
        assert await home.shown() == before | {"other.md": []}
    async with home.knowledge() as knowledge:
        assert await home.whole()
        kept.write_bytes(text)
        assert not await home.whole()  # it comes back with the next run
        await home.add(knowledge, "other.md", TEXTS["other.md"])
        assert await home.whole()
    assert await home.shown() == before


class LeakyStores(EdgeStores):
    async def open(self, made: Made) -> Index:
        class Leaky(EdgeIndex):
            async def put(self, points: Sequence[Point]) -> None:
                await super().put(points[1:] if made == NEW else points)

        return await Leaky.open(
            self.place(made), dimensions=made.dimensions, embedder=made.embedder, tokenizer=made.tokenizer
        )


async def test_a_store_that_is_not_whole_is_not_swapped_in(home: Home) -> None:
    before = await home.shown()
    with pytest.raises(RAGToolError, match="instead of") as refused:
        await replace(home, stores=LeakyStores(home.folder / "vectors")).rebuilt()
    assert "これまでのインデックスを使い続けます" in refused.value.text("ja")
    assert [made_of(row) for row in await home.indexes.listed()] == [OLD]
    assert await home.shown() == before
    assert (await home.rebuilt()).written == 3
    assert await home.shown() == before


async def test_an_abandoned_run_is_cleaned_up(home: Home) -> None:
    embedder = OtherEmbedder(fail_at=2)
    with pytest.raises(RAGToolError, match="No more"):
        await home.rebuilt(embedder)
    vectors = home.folder / "vectors"
    assert sorted(path.name for path in vectors.iterdir()) == ["hash", "other--hash", "reindex.jsonl"]
    await home.reindex(HashEmbedder()).clean_up(OLD)  # KOTAE_EMBEDDER was set back
    assert [path.name for path in vectors.iterdir()] == ["hash"]
    with pytest.raises(RAGToolError, match="No more"):
        await home.rebuilt(OtherEmbedder(fail_at=2))
    await home.rebuilt(HashEmbedder(), replace(OLD, tokenizer="words 99"))  # or to a third one
    assert len([*vectors.iterdir()]) == 1


async def test_a_note_that_was_cut_off_is_read_as_far_as_it_goes(home: Home) -> None:
    with pytest.raises(RAGToolError, match="No more"):
        await home.rebuilt(OtherEmbedder(fail_at=2))
    note = home.folder / "vectors" / "reindex.jsonl"
    note.write_text(note.read_text() + '{"docum')
    assert (await home.rebuilt()).written == 2
    assert len(await home.shown()) == 3


async def test_an_index_that_cannot_be_deleted_is_named(home: Home) -> None:
    index = await home.stores.open(OLD)
    with pytest.raises(QdrantConnectionError, match="Another Kotae"):
        await home.stores.remove(OLD)
    await index.close()


# -- a process that dies --------------------------------------------------------------------------------------------


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DyingEmbedder(OtherEmbedder):
    """Dies when it has embedded the fourth batch, before anybody has written it."""

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        vectors = await super().embed_documents(texts)
        if len(self.batches) == 4:
            die()
        return vectors


class DyingIndexes(VectorStores):
    moment = ""

    async def swap(self, row: IndexRow, chunks: Mapping[str, int]) -> None:
        await super().swap(row, chunks)
        if self.moment == "swapped":
            die()


async def main(folder: Path, moment: str) -> None:
    DyingIndexes.moment = moment
    async with opened(folder, indexes=DyingIndexes) as home:
        await home.rebuilt(DyingEmbedder())


async def points(home: Home, made: Made) -> int:
    index = await home.stores.open(made)
    count = await index.count(View(EVERYONE, 99))
    await index.close()
    return count


async def test_killed_at_any_moment_a_search_sees_one_store_whole_and_the_next_run_goes_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as home:
        async with home.knowledge() as knowledge:
            await home.add(knowledge, "a.md", "# A\n\nThe harbour café.\n")
            await home.add(knowledge, "big.md", guide(150).markdown)  # three batches
            await home.add(knowledge, "c.md", "# C\n\nThe harbour wall.\n")
        before = await home.shown()
        for moment, there in (("half", 1 + 64), ("written", 151)):
            await asyncio.to_thread(dies, "tests.bot.knowledge.test_reindex", tmp_path, moment)
            assert await home.shown() == before
            assert [made_of(row) for row in await home.indexes.listed()] == [OLD]
            assert await found(home, "harbour") == ["a.md", "c.md"]
            assert there <= await points(home, NEW) <= 152
        (first,) = [row for row in await home.documents.listed() if row.name == "a.md"]
        async with home.knowledge() as knowledge:
            await knowledge.forget(first.id)  # the new store has it, and no process remembers
        await asyncio.to_thread(dies, "tests.bot.knowledge.test_reindex", tmp_path, "swapped")
        assert [made_of(row) for row in await home.indexes.listed()] == [NEW]
        del before["a.md"]
        assert await home.shown() == before
        vectors = home.folder / "vectors"
        assert {path.name for path in vectors.iterdir()} == {"hash", "other--hash", "reindex.jsonl"}
        await home.reindex(OtherEmbedder()).clean_up(NEW)
        assert [path.name for path in vectors.iterdir()] == ["other--hash"]
        embedder = OtherEmbedder()
        assert (await home.rebuilt(embedder)).written == 0 and embedder.batches == []
        assert await found(home, "harbour") == ["c.md"]


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
