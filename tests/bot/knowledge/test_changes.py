"""What changes documents that are there: other readers, another cut, another name; each in one step, whatever fails or
dies. As a program it dies while it changes who reads a document: `python -m tests.bot.knowledge.test_changes
FOLDER`."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bot.errors import StoreError
from bot.knowledge import collections
from bot.records import DocumentRow
from bot.store.documents import Documents
from retrieval.i18n import Text
from retrieval.index import EdgeIndex
from retrieval.loaders.loader import Loader
from retrieval.types import (
    EVERYONE,
    TEAM,
    CollectionNotFoundError,
    EmbeddingError,
    QdrantConnectionError,
    RAGToolError,
    Readers,
)
from tests.bot.broken import without
from tests.bot.knowledge.test_documents import FullDisk, pages
from tests.bot.library import NEW, OLD, READERS, Library, die, opened
from tests.bot.program import dies
from tests.retrieval.test_ingest import HashEmbedder

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROOT = Path(__file__).parents[3]
PRIVATE = "place:slack:T:C"
MEMBERS = Readers(frozenset({TEAM, PRIVATE}))
GUESTS = Readers(frozenset({EVERYONE}))
PAIRS = "question,answer\nWhat is the harbour's MTU?,1400 bytes.\nWho runs the harbour?,Sato does.\n"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def loader() -> AsyncIterator[Loader]:
    async with Loader() as made:
        yield made


class Slow(HashEmbedder):
    """Waits at, or fails with, texts that have a word."""

    def __init__(self) -> None:
        super().__init__()
        self.wait_for = self.fail_with = ""
        self.held, self.go = asyncio.Event(), asyncio.Event()

    async def embed_documents(self, texts: object) -> list[list[float]]:
        if self.wait_for and self.wait_for in str(texts):
            self.held.set()
            await self.go.wait()
        if self.fail_with and self.fail_with in str(texts):
            raise EmbeddingError(Text(en="No more.", ja="終わり。"))
        return await super().embed_documents(texts)  # type: ignore[arg-type]

    async def holds(self) -> None:
        """Until it waits with one; what comes after that goes on."""
        await asyncio.wait_for(self.held.wait(), 30)
        self.wait_for = ""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory, loader: Loader) -> AsyncIterator[tuple[Library, Slow]]:
    embedder = Slow()
    async with opened(tmp_path_factory.mktemp("changes"), embedder=embedder, loader=loader) as made:
        yield made, embedder


@pytest_asyncio.fixture(loop_scope="module")
async def library(home: tuple[Library, Slow]) -> AsyncIterator[Library]:
    """Empty; one for all tests, since opening one waits for the disk."""
    library, _ = home
    yield library
    for row in await library.documents.listed():
        await library.knowledge.forget(row.id)
    for info in await library.collections.listed(READERS):
        await library.collections.remove(info.name)


@pytest.fixture
def embedder(home: tuple[Library, Slow], library: Library) -> Slow:
    home[1].held.clear()
    home[1].go.clear()
    return home[1]


async def added(library: Library, name: str, text: str, **more: str) -> str:
    verdict = await library.add(name, text, **more)
    assert verdict.document_id is not None, verdict.reason
    return verdict.document_id


async def whole(library: Library, document_id: str, readers: Readers = READERS) -> list[tuple[int, str, str | None]]:
    found, then = await library.knowledge.chunks(document_id, readers, limit=1_000)
    assert then is None
    return [(one.chunk, one.text, one.question) for one in found]


# -- who may read it ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["dense", "sparse", "hybrid"])
async def test_another_scope_is_another_reader_in_every_search(library: Library, mode: str) -> None:
    document = await added(library, "rules.md", OLD)
    narrowed = await library.knowledge.rescope(document, PRIVATE, READERS)
    assert narrowed is not None and (narrowed.id, narrowed.scope) == (document, PRIVATE)
    assert await library.found("harbour plan", mode=mode) == []  # type: ignore[arg-type]
    assert len(await library.found("harbour plan", mode=mode, readers=MEMBERS)) == 1  # type: ignore[arg-type]
    assert await library.knowledge.document(document, READERS) is None
    assert await library.knowledge.rescope(document, TEAM, READERS) is None  # not theirs any more
    widened = await library.knowledge.rescope(document, EVERYONE, MEMBERS)
    assert widened is not None
    assert len(await library.found("harbour plan", mode=mode, readers=GUESTS)) == 1  # type: ignore[arg-type]
    assert await library.points() == 1 and library.kept() == [OLD.strip()]
    assert (await library.add("rules.md", OLD, scope=EVERYONE)).status == "unchanged"


async def test_searches_see_a_document_whole_or_not_at_all_while_its_readers_change(library: Library) -> None:
    document = await added(library, "rules.md", pages("edition1", 5))
    chunks = await library.points()
    over = asyncio.Event()
    seen: list[int] = []

    async def searcher(readers: Readers) -> None:
        while not over.is_set():
            seen.append(len(await library.found("harbour rule", readers=readers)))

    searchers = [asyncio.create_task(searcher(readers)) for readers in (READERS, MEMBERS, READERS)]
    for scope in (PRIVATE, TEAM, PRIVATE, TEAM):
        assert await library.knowledge.rescope(document, scope, MEMBERS)
    over.set()
    await asyncio.gather(*searchers)
    assert set(seen) == {0, chunks}
    assert await library.points() == chunks


async def test_a_scope_that_is_none_or_has_the_name_already_is_refused(library: Library) -> None:
    document = await added(library, "rules.md", OLD)
    await added(library, "rules.md", NEW, scope=PRIVATE)
    with pytest.raises(ValueError, match="scope"):
        await library.knowledge.rescope(document, "thread:slack:T:C:1", READERS)
    with pytest.raises(RAGToolError) as refused:
        await library.knowledge.rescope(document, PRIVATE, MEMBERS)
    assert all("rules.md" in refused.value.text(language) for language in ("en", "ja"))
    assert await library.found("harbour plan") == ["The old harbour plan."] and await library.points() == 2


async def test_a_document_moves_to_another_collection_in_one_step(library: Library) -> None:
    document = await added(library, "rules.md", OLD)
    await library.documents.own(document, "slack:U5")
    moved = await library.knowledge.move(document, "more", READERS)
    assert moved is not None and (moved.id, moved.collection, moved.scope) == (document, "more", TEAM)
    assert len(await library.found("harbour plan", collections=("more",))) == 1
    assert await library.found("harbour plan", collections=("docs",)) == []
    assert await library.points() == 1 and library.kept() == [OLD.strip()]
    kept = await library.documents.get(document)
    assert kept is not None and kept.owner == "slack:U5"

    assert await library.knowledge.move(document, "more", READERS) == kept  # nothing to do
    assert await library.knowledge.move(document, "else", Readers(frozenset({EVERYONE}))) is None
    await added(library, "rules.md", NEW)
    with pytest.raises(RAGToolError) as refused:
        await library.knowledge.move(document, "docs", READERS)
    assert all("rules.md" in refused.value.text(language) for language in ("en", "ja"))
    with pytest.raises(RAGToolError):
        await library.knowledge.move(document, "", READERS)
    assert len(await library.found("harbour plan", collections=("more",))) == 1


async def test_a_change_of_readers_that_fails_leaves_all_as_it_was(tmp_path: Path, loader: Loader) -> None:
    class Halfway(EdgeIndex):
        broken = False

        async def copy(self, document_id: str, **about: str | None) -> int:
            copied = await super().copy(document_id, **about)
            if self.broken:
                raise QdrantConnectionError(Text(en="Gone.", ja="切れました。"))
            return copied

    async with opened(tmp_path, documents=FullDisk, index_class=Halfway, loader=loader) as library:
        assert isinstance(library.documents, FullDisk) and isinstance(library.index, Halfway)
        document = await added(library, "rules.md", pages("edition1"))
        before = await whole(library, document)
        library.documents.full = 1
        with pytest.raises(StoreError):
            await library.knowledge.rescope(document, PRIVATE, READERS)
        library.index.broken = True
        with pytest.raises(QdrantConnectionError):
            await library.knowledge.rescope(document, PRIVATE, READERS)
        library.index.broken = False
        await added(library, "next.md", OLD)  # has the number of the generation that failed
        assert await whole(library, document) == before
        assert await library.found("edition1", readers=Readers(frozenset({PRIVATE}))) == []
        assert await library.points() == len(before) + 1


async def test_a_process_that_dies_between_the_two_stores_has_changed_nothing(tmp_path: Path, loader: Loader) -> None:
    await asyncio.to_thread(dies, "tests.bot.knowledge.test_changes", tmp_path)
    async with opened(tmp_path, loader=loader) as library:
        assert await library.found("harbour plan") == ["The old harbour plan."]
        assert await library.found("harbour plan", readers=Readers(frozenset({PRIVATE}))) == []
        assert await library.points() == 1


# -- cut and embedded anew ------------------------------------------------------------------------------------------


async def test_a_document_is_indexed_anew_in_one_step(library: Library) -> None:
    document = await added(library, "rules.md", pages("edition1"))
    before, row = await whole(library, document), await library.knowledge.document(document, READERS)
    over = asyncio.Event()
    seen: list[int] = []

    async def searcher() -> None:
        while not over.is_set():
            seen.append(len(await library.found("harbour rule")))

    searching = asyncio.create_task(searcher())
    progress: list[tuple[int, int]] = []
    generation = await library.knowledge.generation()
    done = await library.knowledge.reindex(document, READERS, lambda *far: progress.append(far))
    over.set()
    await searching
    assert set(seen) == {len(before)} and progress[-1] == (len(before), len(before))
    assert (
        done
        and row
        and done == row.with_(born=generation + 1)
        and await library.knowledge.generation() == generation + 1
    )
    assert await whole(library, document) == before and await library.points() == len(before)
    assert (await library.add("rules.md", pages("edition1"))).status == "unchanged"


async def test_another_size_of_chunks_takes_effect(library: Library) -> None:
    document = await added(library, "rules.md", pages("edition1"))
    few = len(await whole(library, document))
    ingest = vars(library.knowledge)["_ingest"]
    before = (ingest.max_chars, ingest.target)
    ingest.max_chars, ingest.target = 300, 200  # as KOTAE_CHUNK_SIZE would set it
    done = await library.knowledge.reindex(document, READERS)
    ingest.max_chars, ingest.target = before
    assert done is not None and done == await library.knowledge.document(document, READERS)
    assert len(await whole(library, document)) == done.chunks == await library.points() > few


async def test_pairs_stay_pairs(library: Library) -> None:
    document = await added(library, "faq.csv", PAIRS)
    before = await whole(library, document)
    assert [question for _, _, question in before] == ["What is the harbour's MTU?", "Who runs the harbour?"]
    assert await library.knowledge.reindex(document, READERS)
    assert await whole(library, document) == before


async def test_what_stands_beside_pairs_stays_when_it_is_indexed_anew(library: Library) -> None:
    text = '{"port": "Otaru", "faq": [{"question": "Who runs the harbour?", "answer": "Sato does."}]}'
    document = await added(library, "harbour.json", text)
    before = await whole(library, document)
    assert [(question, words) for _, words, question in before] == [
        ("Who runs the harbour?", "Sato does."),
        (None, "port: Otaru"),
    ]
    assert await library.knowledge.reindex(document, READERS)
    assert await whole(library, document) == before


async def test_what_cannot_be_indexed_anew_stays_as_it_is(library: Library, embedder: Slow) -> None:
    document = await added(library, "rules.md", OLD)
    embedder.fail_with = "harbour"
    with pytest.raises(RAGToolError, match="No more"):
        await library.knowledge.reindex(document, READERS)
    embedder.fail_with = ""
    for path in library.folder.rglob("*.md"):
        path.write_text("something else", encoding="utf-8")
    with pytest.raises(RAGToolError, match="kept text"):
        await library.knowledge.reindex(document, READERS)
    assert await library.knowledge.reindex(document, GUESTS) is None
    assert await library.knowledge.reindex("nobody", READERS) is None
    assert await library.found("harbour plan") == ["The old harbour plan."] and await library.points() == 1


@pytest.mark.parametrize("change", ["forgotten", "merged", "rescoped", "stopped"])
async def test_what_happens_to_a_document_while_it_is_indexed_anew_stands(
    library: Library, embedder: Slow, change: str
) -> None:
    document = await added(library, "rules.md", OLD)
    embedder.wait_for = "harbour"
    working = asyncio.create_task(library.knowledge.reindex(document, READERS))
    await embedder.holds()
    waiting: asyncio.Task[DocumentRow | None] | None = None
    match change:
        case "forgotten":
            assert await library.knowledge.forget(document)
        case "merged":
            await library.knowledge.stored.merge("docs", "other", READERS)
        case "rescoped":  # waits until the other is done with it
            waiting = asyncio.create_task(library.knowledge.rescope(document, PRIVATE, READERS))
        case "stopped":
            working.cancel()
    embedder.go.set()
    (done,) = await asyncio.gather(working, return_exceptions=True)
    if waiting:
        await waiting
    gone = change == "forgotten"
    assert isinstance(done, asyncio.CancelledError) == (change == "stopped") and (done is None) == gone
    assert len(await library.found("harbour plan")) == (0 if gone or change == "rescoped" else 1)
    assert len(await library.found("harbour plan", readers=MEMBERS)) == await library.points() == (0 if gone else 1)
    names = {info.name for info in await library.knowledge.collections(MEMBERS)}
    assert names == ({"other"} if change == "merged" else {"docs"})


async def test_one_added_again_after_a_merge_is_not_taken_back_by_the_one_before(
    library: Library, embedder: Slow
) -> None:
    await added(library, "rules.md", OLD)
    embedder.wait_for = "middle"
    first = asyncio.create_task(library.add("rules.md", "# Plan\n\nThe middle harbour plan.\n"))
    await embedder.holds()
    await library.knowledge.stored.merge("docs", "other", READERS)
    second = asyncio.create_task(library.add("rules.md", NEW, collection="other"))
    embedder.go.set()
    assert [(await one).status for one in (first, second)] == ["added", "replaced"]
    assert await library.found("harbour", collections=["other"]) == ["The new harbour plan."]
    assert await library.found("harbour", collections=["docs"]) == ["The middle harbour plan."]


# -- looking through it ---------------------------------------------------------------------------------------------


async def test_chunks_come_in_pages_and_by_the_words_in_them(library: Library) -> None:
    document = await added(library, "rules.md", pages("edition1", 12))
    everything = await whole(library, document)
    start: int | None = 0
    paged: list[int] = []
    while start is not None:
        page, start = await library.knowledge.chunks(document, READERS, start=start, limit=5)
        paged += [one.chunk for one in page]
    assert paged == [number for number, _, _ in everything]
    found, then = await library.knowledge.chunks(document, READERS, limit=50, containing="ＲＵＬＥ 7.")
    assert then is None and found and all("rule 7." in one.text for one in found)
    some, then = await library.knowledge.chunks(document, READERS, limit=1, containing="binds")
    assert [one.chunk for one in some] == [0] and then == 1
    assert await library.knowledge.chunks(document, READERS, containing="nowhere") == ([], None)
    for readers, wanted in ((GUESTS, document), (READERS, "nobody")):
        with pytest.raises(LookupError):
            await library.knowledge.chunks(wanted, readers)


async def test_documents_come_in_pages_by_what_is_asked_for(library: Library) -> None:
    for number in range(7):
        await added(library, f"手順{number}_50%.md", f"# Page {number}\n\nHarbour {number}.\n")
    await added(library, "secret.md", OLD, scope=PRIVATE, collection="hidden")
    await added(library, "file.md", OLD, scope="thread:slack:T:C:1", collection="attachments")
    documents: Documents = library.documents
    page, total = await documents.page(READERS, start=5, limit=5)
    assert ([row.name for row in page], total) == (["手順5_50%.md", "手順6_50%.md"], 7)
    assert (await documents.page(READERS, containing="3_50%"))[1] == 1
    assert (await documents.page(READERS, containing="_5_"))[1] == 0
    assert [row.name for row in (await documents.page(READERS, containing="PAGE 4"))[0]] == ["手順4_50%.md"]
    assert (await documents.page(MEMBERS, scope=PRIVATE, collection="hidden"))[1] == 1
    assert (await documents.page(READERS, scope=PRIVATE))[1] == 0
    newest, _ = await documents.page(READERS, order="newest", limit=1)
    assert newest[0].name == "手順6_50%.md"
    assert (await documents.hidden(READERS), await documents.hidden(MEMBERS)) == (1, 0)
    await added(library, "Überblick ＶＰＮ.md", "# Überblick\n\nHarbour.\n")
    for words in ("Überblick", "überblick vpn", "ÜBERBLICK ＶＰＮ", "ｖｐｎ"):
        assert (await documents.page(READERS, containing=words))[1] == 1


# -- collections ----------------------------------------------------------------------------------------------------


async def test_a_collection_gets_another_name(library: Library) -> None:
    await library.knowledge.stored.describe("docs", "About the harbour.")
    await added(library, "rules.md", OLD)
    async with without(library.engine, "moves"):
        with pytest.raises(StoreError):
            await library.knowledge.stored.rename("docs", "港の資料", READERS)
    await library.knowledge.stored.rename("docs", "港の資料", READERS)
    (info,) = await library.knowledge.collections(READERS)
    assert (info.name, info.description, info.documents) == ("港の資料", "About the harbour.", 1)
    assert len(await library.found("harbour plan", collections=["港の資料"])) == 1
    await added(library, "secret.md", NEW, scope=PRIVATE, collection="hidden")
    for name, to, error in (
        ("港の資料", "hidden", RAGToolError),  # taken, though these readers do not see by what
        ("港の資料", "a,b", RAGToolError),
        ("nowhere", "x", CollectionNotFoundError),
    ):
        with pytest.raises(error):
            await library.knowledge.stored.rename(name, to, READERS)
    await library.knowledge.stored.rename("港の資料", "港の資料", READERS)
    assert len(await library.knowledge.collections(MEMBERS)) == 2


async def test_a_collection_larger_than_a_statement_goes_in_several_steps(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        await added(library, f"{number}.md", f"# Page {number}\n\nHarbour {number}.\n")
    monkeypatch.setattr(collections, "AT_ONCE", 2)
    before = await library.knowledge.generation()
    assert await library.knowledge.stored.drop_collection("docs", READERS) == 3
    assert await library.knowledge.generation() == before + 2
    assert await library.documents.listed() == [] and await library.points() == 0


async def test_a_collection_goes_in_one_step(library: Library) -> None:
    for number in range(3):
        await added(library, f"{number}.md", f"# {number}\n\nHarbour plan {number}.\n")
    generation = await library.knowledge.generation()
    assert await library.knowledge.stored.drop_collection("docs", READERS) == 3
    assert await library.knowledge.generation() == generation + 1
    assert await library.points() == 0 and library.kept() == []


# -- a process that dies --------------------------------------------------------------------------------------------


class Dying(EdgeIndex):
    doomed = False

    async def publish(self, document_id: str, *, at: int) -> int:
        published = await super().publish(document_id, at=at)
        if self.doomed:
            die()
        return published


async def main(folder: Path) -> None:
    async with opened(folder, index_class=Dying) as library:
        verdict = await library.add("rules.md", OLD)
        vars(library.index)["doomed"] = True
        await library.knowledge.rescope(verdict.document_id or "", PRIVATE, READERS)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
