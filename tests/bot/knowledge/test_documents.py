"""Documents become visible, change and go in one step, whatever fails, dies or happens at the same time."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bot.errors import StoreError
from bot.records import DocumentRow
from bot.store.channel_settings import ChannelSettings
from bot.store.documents import Documents
from bot.store.searches import Measured, Searches
from bot.types import Place, Preferences, Upload
from retrieval.i18n import Text
from retrieval.index import EdgeIndex
from retrieval.loaders.loader import Loader
from retrieval.types import (
    TEAM,
    CollectionNotFoundError,
    Mode,
    QdrantConnectionError,
    RAGToolError,
    Readers,
)
from tests.bot.library import NEW, OLD, READERS, Library, opened
from tests.bot.program import dies
from tests.retrieval.test_ingest import HashEmbedder

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROOT = Path(__file__).parents[3]
PRIVATE = "place:slack:T:C"
MEMBERS = Readers(frozenset({TEAM, PRIVATE}))
NO_DISK = Text(en="No space left.", ja="空きがありません。")


def pages(version: str, sections: int = 3) -> str:
    """A document of several chunks that all name their version."""
    body = (
        f"# Part {n}\n\n" + " ".join(f"Harbour rule {n}.{m} of {version} binds every ship." for m in range(30))
        for n in range(sections)
    )
    return "\n\n".join(body)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def loader() -> AsyncIterator[Loader]:
    async with Loader() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def library(tmp_path: Path, loader: Loader) -> AsyncIterator[Library]:
    async with opened(tmp_path, loader=loader) as made:
        yield made


# -- what becomes of an upload --------------------------------------------------------------------------------------


async def test_added_unchanged_replaced_refused(library: Library) -> None:
    first = await library.add("rules.md", OLD)
    assert (first.status, first.collection, first.chunks) == ("added", "docs", 1)
    again = await library.add("rules.md", OLD)
    assert (again.status, again.document_id, again.chunks) == ("unchanged", first.document_id, 1)
    changed = await library.add("rules.md", NEW)
    assert (changed.status, changed.document_id) == ("replaced", first.document_id)
    assert await library.found("harbour plan") == ["The new harbour plan."]
    refused = await library.add("mail.eml", "Subject: hello")
    assert refused.status == "refused" and refused.reason and refused.document_id is None
    assert await library.points() == 1 and library.kept() == [NEW.strip()]


async def test_a_document_whose_kept_text_is_lost_is_added_again(library: Library) -> None:
    first = await library.add("rules.md", OLD)
    (row,) = await library.documents.listed()
    kept = library.folder / row.markdown[:2] / f"{row.markdown}.md"
    text = kept.read_bytes()
    for again in (OLD, OLD + "\n"):  # the same bytes; others that say the same
        kept.unlink()
        verdict = await library.add("rules.md", again)
        assert (verdict.status, verdict.document_id) == ("replaced", first.document_id)
        assert kept.read_bytes() == text
        assert (await library.add("rules.md", again)).status == "unchanged"
    assert await library.found("harbour plan") == ["The old harbour plan."]


async def test_a_replaced_document_embeds_what_has_changed_and_a_reindexed_one_all_of_it(
    tmp_path: Path, loader: Loader
) -> None:
    embedder = HashEmbedder()
    async with opened(tmp_path, embedder=embedder, loader=loader) as library:
        text = pages("v1", 5)
        added = await library.add("rules.md", text)
        embedder.batches.clear()
        replaced = await library.add("rules.md", text.replace("Harbour rule 3.7", "Harbour rule 3.7 (new)"))
        assert (replaced.status, replaced.chunks) == ("replaced", added.chunks)
        assert len(embedder.batches) == 1 and 0 < len(embedder.batches[0]) < added.chunks / 2
        assert all("Part 3" in chunk for chunk in embedder.batches[0])
        assert len(await library.found("harbour")) == added.chunks
        embedder.batches.clear()
        assert replaced.document_id is not None
        await library.knowledge.reindex(replaced.document_id, READERS)
        assert sum(map(len, embedder.batches)) == added.chunks


async def test_a_document_has_its_own_date_or_none(library: Library) -> None:
    """Of what it says of itself, then of what is known of it; never that on which it was added."""

    async def added(name: str, text: str, changed_at: str | None = None) -> tuple[str | None, str]:
        upload = Upload(name, text.encode(), "docs", TEAM, "U1", changed_at=changed_at)
        verdict = await library.knowledge.add(upload, "en")
        row = await library.knowledge.document(verdict.document_id or "", READERS)
        passages, _ = await library.knowledge.chunks(verdict.document_id or "", READERS)
        (updated,) = {passage.updated for passage in passages}
        assert row is not None
        return row.changed_at, updated

    front = "---\ndate: 2020-01-01\nlastmod: 2026-04-01\n---\n"
    assert await added("a.md", front + OLD) == ("2026-04-01", "2026-04-01")
    assert await added("b.md", front + NEW, "2026-05-05") == ("2026-04-01", "2026-04-01")
    assert await added("c.md", OLD, "2026-05") == ("2026-05", "2026-05")
    assert await added("d.md", OLD) == (None, "")
    assert await added("a.md", NEW) == (None, "")  # its next version states none
    (dated,) = [row for row in await library.documents.listed() if row.name == "c.md"]
    assert (await library.knowledge.reindex(dated.id, READERS)) is not None
    assert await added("c.md", OLD, "2026-06-06") == ("2026-05", "2026-05")  # unchanged


async def test_a_name_is_what_people_can_read(library: Library) -> None:
    decomposed = await library.add("か\u3099\x1b[2J\udce9.md", OLD)
    assert decomposed.status == "added" and decomposed.name == "が.md"
    assert (await library.add("が.md", OLD)).status == "unchanged"


@pytest.mark.parametrize("name", ["", " ", "a,b", "a\nb", "x" * 81])
async def test_a_collection_needs_a_usable_name(library: Library, name: str) -> None:
    refused = await library.add("rules.md", OLD, collection=name)
    assert refused.status == "refused" and "80" in refused.reason
    with pytest.raises(RAGToolError):
        await library.knowledge.stored.describe(name, "")
    assert await library.knowledge.collections(READERS) == ()


async def test_equal_documents_share_their_markdown_until_the_last_is_gone(library: Library) -> None:
    one, two = await library.add("a.md", OLD), await library.add("b.md", OLD)
    assert library.kept() == [OLD.strip()]
    assert await library.knowledge.forget(one.document_id or "")
    assert library.kept() == [OLD.strip()]
    assert await library.knowledge.forget(two.document_id or "")
    assert library.kept() == [] and await library.points() == 0


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
async def test_forgotten_is_gone_from_every_search_at_once(library: Library, mode: Mode) -> None:
    gone, stays = await library.add("gone.md", OLD), await library.add("stays.md", NEW)
    assert len(await library.found("harbour plan", mode=mode)) == 2
    assert await library.knowledge.forget(gone.document_id or "")
    assert await library.found("harbour plan", mode=mode) == ["The new harbour plan."]
    assert not await library.knowledge.forget(gone.document_id or "")
    assert [row.id for row in await library.knowledge.documents(READERS)] == [stays.document_id]


# -- one visible step -----------------------------------------------------------------------------------------------


async def test_searches_see_the_old_version_or_the_new_one_never_both_and_never_none(library: Library) -> None:
    await library.add("rules.md", pages("edition0"))
    whole = len(await library.found("harbour rule"))
    assert whole >= 3
    over = asyncio.Event()
    seen: list[set[str]] = []

    async def searcher(mode: Mode) -> None:
        while not over.is_set():
            texts = await library.found("harbour rule", mode=mode)
            editions = {word for text in texts for word in text.split() if word.startswith("edition")}
            assert len(texts) == whole and len(editions) == 1
            seen.append(editions)

    searchers = [asyncio.create_task(searcher(mode)) for mode in ("sparse", "dense", "hybrid", "sparse")]
    for version in range(1, 6):
        assert (await library.add("rules.md", pages(f"edition{version}"))).status == "replaced"
    over.set()
    await asyncio.gather(*searchers)
    assert len(set().union(*seen)) > 1  # some looked while it changed
    assert await library.points() == whole


async def test_a_long_ingest_delays_neither_search_nor_forget_nor_another_document(
    tmp_path: Path, loader: Loader
) -> None:
    embedder = HashEmbedder(wait_at=3)  # the third document never ends
    async with opened(tmp_path, embedder=embedder, loader=loader) as library:
        first = await library.add("first.md", OLD)
        await library.add("long.md", OLD)
        endless = asyncio.create_task(library.add("long.md", NEW))
        await embedder.waiting.wait()
        async with asyncio.timeout(30):
            assert len(await library.found("harbour plan")) == 1  # the same text in two documents is shown once
            assert (await library.add("third.md", NEW)).status == "added"
            assert await library.knowledge.forget(first.document_id or "")
            assert await library.knowledge.stored.merge("docs", "other", READERS) == 2
        endless.cancel()
        with pytest.raises(asyncio.CancelledError):
            await endless
        assert await library.points() == 2 and len(library.kept()) == 2


async def test_a_document_replaced_twice_at_once_is_one_document(library: Library) -> None:
    verdicts = await asyncio.gather(*(library.add("rules.md", pages(f"edition{n}")) for n in range(4)))
    assert sorted(verdict.status for verdict in verdicts) == ["added", "replaced", "replaced", "replaced"]
    assert len({verdict.document_id for verdict in verdicts}) == 1
    assert len(await library.found("harbour rule")) == await library.points()


async def test_a_merge_while_a_document_is_being_added_to_its_source(tmp_path: Path, loader: Loader) -> None:
    class Slow(HashEmbedder):
        def __init__(self) -> None:
            super().__init__()
            self.go, self.begun = asyncio.Event(), asyncio.Event()

        async def embed_documents(self, texts: object) -> list[list[float]]:
            if "late" in str(texts):
                self.begun.set()
                await self.go.wait()
            return await super().embed_documents(texts)  # type: ignore[arg-type]

    embedder = Slow()
    async with opened(tmp_path, embedder=embedder, loader=loader) as library:
        await library.add("early.md", OLD)
        late = asyncio.create_task(library.add("late.md", "# late\n\nThe late harbour plan.\n"))
        await embedder.begun.wait()
        await library.knowledge.stored.merge("docs", "other", READERS)
        embedder.go.set()
        assert (await late).status == "added"
        assert await library.found("harbour", collections=["docs"]) == ["The late harbour plan."]
        assert await library.found("harbour", collections=["other"]) == ["The old harbour plan."]


# -- failures -------------------------------------------------------------------------------------------------------


class FullDisk(Documents):
    """Refuses so many changes."""

    full = 0

    async def commit(self, row: DocumentRow, *, generation: int, markdown: str | None = None) -> None:
        self._refuse()
        await super().commit(row, generation=generation, markdown=markdown)

    async def forget(self, *document_ids: str, generation: int, copied: bool = False, at_source: bool = False) -> int:
        self._refuse()
        return await super().forget(*document_ids, generation=generation, copied=copied, at_source=at_source)

    def _refuse(self) -> None:
        if self.full:
            self.full -= 1
            raise StoreError(NO_DISK)


class Stubborn(EdgeIndex):
    """Cannot undo so many times."""

    stuck = 0

    async def undo(self, document_id: str, *, at: int, revive: bool = True) -> None:
        if self.stuck:
            self.stuck -= 1
            raise QdrantConnectionError(NO_DISK)
        await super().undo(document_id, at=at, revive=revive)


async def test_a_document_is_refused_in_words_while_the_disk_has_no_room(tmp_path: Path, loader: Loader) -> None:
    room = {"free": 10**12}
    async with opened(tmp_path, loader=loader, free=lambda _: room["free"]) as library:
        await library.add("plan.md", OLD)
        old = await library.found("plan")
        for room["free"] in (100 * 2**20, 0):
            refused = await library.add("plan.md", NEW)
            assert refused.status == "refused" and "Please free some space" in refused.reason
            said = await library.knowledge.add(Upload("more.md", NEW.encode(), "docs", TEAM, "U1"), "ja")
            assert said.status == "refused" and "空き容量" in said.reason
            assert await library.found("plan") == old and library.kept() == [OLD.strip()]
        room["free"] = 10**12
        assert (await library.add("plan.md", NEW)).status == "replaced"
        assert (await library.add("more.md", NEW)).status == "added"
        assert await library.points() == 2


@pytest.mark.parametrize("stuck", [0, 2])
async def test_a_store_that_fails_at_the_commit_leaves_nothing(tmp_path: Path, loader: Loader, stuck: int) -> None:
    async with opened(tmp_path, documents=FullDisk, index_class=Stubborn, loader=loader) as library:
        assert isinstance(library.documents, FullDisk) and isinstance(library.index, Stubborn)
        kept = await library.add("rules.md", OLD)
        library.documents.full, library.index.stuck = 1, stuck
        refused = await library.add("rules.md", NEW)
        assert (refused.status, refused.reason) == ("refused", "No space left.")
        assert await library.found("harbour plan") == ["The old harbour plan."]
        library.documents.full, library.index.stuck = 1, stuck
        assert (await library.add("never.md", "# Never\n\nA harbour plan nobody may see.\n")).status == "refused"
        library.documents.full = library.index.stuck = 0
        # The next change has the number of the one that failed: what that left must not come with it.
        assert (await library.add("next.md", "# Next\n\nThe next harbour plan.\n")).status == "added"
        assert await library.found("harbour plan") == ["The next harbour plan.", "The old harbour plan."]
        assert await library.points() == 2 and len(library.kept()) == 2
        library.documents.full = 1
        with pytest.raises(StoreError):
            await library.knowledge.forget(kept.document_id or "")
        assert await library.found("harbour plan") == ["The next harbour plan.", "The old harbour plan."]


async def test_an_embedder_that_fails_or_is_stopped_leaves_nothing(tmp_path: Path, loader: Loader) -> None:
    embedder = HashEmbedder(fail_at=1, wait_at=2)
    async with opened(tmp_path, embedder=embedder, loader=loader) as library:
        assert (await library.add("rules.md", OLD)).reason == "No more."
        stopped = asyncio.create_task(library.add("rules.md", OLD))
        await embedder.waiting.wait()
        stopped.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopped
        assert await library.points() == 0 and library.kept() == []
        assert (await library.add("rules.md", OLD)).status == "added"


async def test_a_cancellation_in_the_visible_step_comes_after_it(tmp_path: Path, loader: Loader) -> None:
    class Waiting(Documents):
        def __init__(self, *given: object) -> None:
            super().__init__(*given)  # type: ignore[arg-type]
            self.begun, self.go = asyncio.Event(), asyncio.Event()

        async def commit(self, row: DocumentRow, *, generation: int, markdown: str | None = None) -> None:
            self.begun.set()
            await self.go.wait()
            await super().commit(row, generation=generation, markdown=markdown)

    async with opened(tmp_path, documents=Waiting, loader=loader) as library:
        assert isinstance(library.documents, Waiting)
        adding = asyncio.create_task(library.add("rules.md", OLD))
        await library.documents.begun.wait()
        adding.cancel()
        library.documents.go.set()
        with pytest.raises(asyncio.CancelledError):
            await adding
        assert await library.found("harbour plan") == ["The old harbour plan."] and library.kept() == [OLD.strip()]


async def test_a_measurement_that_cannot_be_kept_costs_no_answer(tmp_path: Path, loader: Loader) -> None:
    class Full(Searches):
        async def add(self, *measured: Measured) -> None:
            raise StoreError(NO_DISK)

    async with opened(tmp_path, searches=Full, loader=loader) as library:
        await library.add("rules.md", OLD)
        assert await library.found("harbour plan") == ["The old harbour plan."]


async def test_the_wordings_of_a_question_are_one_search_and_one_measurement(tmp_path: Path, loader: Loader) -> None:
    async with opened(tmp_path, loader=loader) as library:
        await library.add("rules.md", OLD)
        found = await library.knowledge.search(
            ["harbour plan", "港の計画"], READERS, written_by="model", min_relevance=0.0
        )
        await library.knowledge.close()
        (measured,) = await Searches(library.engine).listed(READERS.scopes)
    assert [hit.passage.text for hit in found.hits] == ["The old harbour plan."] and not found.rejected
    assert (measured.query, measured.filtered_results) == ("harbour plan / 港の計画", 1)


@pytest.mark.parametrize(
    ("moment", "there"),
    [pytest.param("staged", OLD, marks=pytest.mark.long), ("published", OLD), ("committed", NEW), ("merged", OLD)],
)
async def test_after_a_kill_the_version_is_the_old_or_the_new_one_and_nothing_is_left_over(
    tmp_path: Path, loader: Loader, moment: str, there: str
) -> None:
    await asyncio.to_thread(dies, "tests.bot.library", tmp_path, moment)
    async with opened(tmp_path, loader=loader) as library:
        texts = [there.split("\n\n")[1].strip(), "The harbour café."]
        assert await library.found("harbour") == sorted(texts)
        assert await library.points() == 2
        assert len(library.kept()) == 2
        counted = {info.name: info.documents for info in await library.knowledge.collections(READERS)}
        assert counted == ({"more": 2} if moment == "merged" else {"docs": 1, "more": 1})
        assert await library.found("harbour", collections=[*counted]) == sorted(texts)
        assert (await library.add("plan.md", pages("edition9"), collection="more")).status in ("added", "replaced")


# -- collections ----------------------------------------------------------------------------------------------------


async def test_a_merge_moves_documents_and_equal_copies_become_one(library: Library) -> None:
    await library.knowledge.stored.describe("into", "Kept.")
    await library.add("same.md", OLD, collection="from")
    await library.add("same.md", OLD, collection="into")
    await library.add("own.md", NEW, collection="from")
    assert await library.knowledge.stored.merge("from", "into", READERS) == 2
    (info,) = await library.knowledge.collections(READERS)
    assert (info.name, info.description, info.documents, info.chunks) == ("into", "Kept.", 2, 2)
    assert len(await library.found("harbour plan", collections=["into"])) == 2
    assert await library.points() == 2
    with pytest.raises(CollectionNotFoundError, match=r"“from”.*into"):
        await library.found("harbour plan", collections=["from"])


async def test_a_channel_that_chose_a_collection_has_chosen_the_one_it_was_merged_into(library: Library) -> None:
    await library.add("rules.md", OLD, collection="from")
    channels, here = ChannelSettings(library.engine), Place("slack", "T", "C")
    await channels.put(here, Preferences(collections=("from", "docs", "into")))
    await channels.put(there := Place("slack", "T", "C2"), Preferences(steps="off"))
    await library.knowledge.stored.rename("from", "into", READERS)
    assert await channels.get(here) == Preferences(collections=("into", "docs"))
    assert await channels.get(there) == Preferences(steps="off")


async def test_a_merge_into_itself_or_of_nothing_changes_nothing(library: Library) -> None:
    await library.add("rules.md", OLD)
    assert await library.knowledge.stored.merge("docs", "docs", READERS) == 0
    with pytest.raises(CollectionNotFoundError):
        await library.knowledge.stored.merge("nowhere", "docs", READERS)
    assert await library.found("harbour plan") == ["The old harbour plan."]


async def test_documents_of_one_name_that_differ_stop_a_merge_in_words(library: Library) -> None:
    await library.add("rules.md", OLD, collection="from")
    await library.add("rules.md", NEW, collection="into")
    await library.add("secret.md", OLD, collection="from", scope=PRIVATE)
    await library.add("secret.md", NEW, collection="into", scope=PRIVATE)
    with pytest.raises(RAGToolError) as caught:
        await library.knowledge.stored.merge("from", "into", READERS)
    for language in ("en", "ja"):
        said = caught.value.text(language)
        assert "rules.md" in said and "secret" not in said
    assert [info.documents for info in await library.knowledge.collections(MEMBERS)] == [2, 2]


async def test_a_collection_is_described_and_deleted(library: Library) -> None:
    await library.knowledge.stored.describe("docs", "About the harbour.")
    assert [(info.name, info.description) for info in await library.knowledge.collections(READERS)] == [
        ("docs", "About the harbour.")
    ]
    await library.add("rules.md", OLD)
    await library.add("secret.md", NEW, scope=PRIVATE)
    assert await library.knowledge.stored.drop_collection("docs", READERS) == 1
    assert await library.knowledge.collections(READERS) == ()
    assert await library.found("harbour plan", readers=MEMBERS) == ["The new harbour plan."]
    assert await library.knowledge.stored.drop_collection("docs", MEMBERS) == 1
    assert await library.points() == 0 and await library.knowledge.collections(MEMBERS) == ()


# -- who may read it ------------------------------------------------------------------------------------------------


async def test_a_private_document_is_neither_found_listed_counted_nor_named_elsewhere(library: Library) -> None:
    await library.add("open.md", "# Open\n\nThe open harbour plan.\n")
    await library.add("secret.md", "# Secret\n\nThe secret harbour plan.\n", scope=PRIVATE)
    await library.add("only.md", "# Only\n\nThe only harbour plan.\n", collection="hidden", scope=PRIVATE)
    for mode in ("hybrid", "dense", "sparse"):
        assert await library.found("harbour plan", mode=mode) == ["The open harbour plan."]
        assert len(await library.found("harbour plan", mode=mode, readers=MEMBERS)) == 3
    assert [row.name for row in await library.knowledge.documents(READERS)] == ["open.md"]
    assert [(info.name, info.documents) for info in await library.knowledge.collections(READERS)] == [("docs", 1)]
    for forbidden in (
        library.found("harbour", collections=["hidden"]),
        library.knowledge.stored.merge("hidden", "docs", READERS),
        library.knowledge.stored.drop_collection("hidden", READERS),
    ):
        with pytest.raises(CollectionNotFoundError) as caught:
            await forbidden
        assert caught.value.text("en").endswith("There are: docs.")
    unchecked = await library.knowledge.search("harbour", READERS, ["hidden"], mode="sparse")
    assert unchecked.hits == unchecked.rejected == ()
    assert await library.found("harbour", readers=Readers(frozenset())) == []
    assert await library.found("harbour", collections=[]) == []


async def test_the_same_name_in_two_scopes_is_two_documents(library: Library) -> None:
    public = await library.add("rules.md", OLD)
    private = await library.add("rules.md", NEW, scope=PRIVATE)
    assert private.status == "added" and private.document_id != public.document_id
    assert await library.found("harbour plan") == ["The old harbour plan."]
    assert len(await library.found("harbour plan", readers=MEMBERS)) == 2


async def test_what_was_found_is_asked_for_again_before_it_is_quoted(library: Library) -> None:
    gone, stays = await library.add("gone.md", OLD), await library.add("stays.md", NEW)
    secret = await library.add("secret.md", pages("edition1", 1), scope=PRIVATE)
    found = await library.knowledge.search("harbour", MEMBERS, mode="sparse", limit=50)
    hits = (*found.hits, *found.rejected)
    assert {hit.passage.document_id for hit in hits} == {
        gone.document_id,
        stays.document_id,
        secret.document_id,
    }
    await library.knowledge.forget(gone.document_id or "")
    assert await library.knowledge.readable(hits, READERS) == {stays.document_id}
    assert await library.knowledge.readable(hits, MEMBERS) == {stays.document_id, secret.document_id}
    whole = await library.knowledge.context(next(hit for hit in hits if hit.passage.scope == PRIVATE), READERS)
    assert whole == []
