"""Datasets become documents of a collection: looked at first, added in the background, cancelled, gone on with."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from huggingface_hub import close_session

from bot.app import running
from bot.config.settings import Settings
from bot.knowledge.dataset_uploads import DatasetUpload, DatasetUploads
from bot.knowledge.datasets import DatasetJob, Datasets, Order, Upstream
from bot.logs import Redactor
from bot.records import DocumentRow
from bot.store.audit import Audit
from bot.store.dataset_jobs import DatasetJobRows
from retrieval.datasets import NAMED, Columns, DatasetError, Sieve, StreamLimits
from retrieval.datasets.hub import Hub
from retrieval.i18n import Text
from retrieval.types import TEAM, EmbeddingError, Readers, Vectors
from tests.adapters.acting import until
from tests.bot.library import READERS, Library, opened
from tests.fakes.hub import Cut, FakeHub, Refuse, parquet
from tests.retrieval.test_ingest import HashEmbedder

pytestmark = pytest.mark.asyncio(loop_scope="module")
WIKIPEDIA = NAMED["wikipedia_ja"]
EMPTY_ROW, SHORT_ROW = {"id": "90", "title": "空", "text": ""}, {"id": "91", "title": "短", "text": "短い。"}


def article(number: int, words: str = "") -> dict[str, str]:
    text = words or f"港町の図書館第{number}号館は、{number}年前の春に開館しました。毎週月曜日は休館です。" * 2
    return {
        "id": str(number),
        "title": f"図書館{number}",
        "text": text,
        "url": f"https://ja.wikipedia.org/wiki/{number}",
    }


def hub_of(*rows: dict[str, str]) -> FakeHub:
    data = parquet([{"url": "", **row} for row in rows], group=5)
    return FakeHub({WIKIPEDIA.repository: {"main": {"20231101.ja/train-00000-of-00001.parquet": data}}})


class Embedder(HashEmbedder):
    """Stops before the given text until it may go on, or has failed."""

    def __init__(self) -> None:
        super().__init__()
        self.stop_at = ""
        self.failed = False
        self.go_on = asyncio.Event()

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self.failed:
            raise EmbeddingError(Text(en="No model.", ja="モデルがありません。"))
        if self.stop_at and any(self.stop_at in text for text in texts):
            self.waiting.set()
            await self.go_on.wait()
        return await super().embed_documents(texts)


@dataclass
class Desk:
    """Datasets over one library for all tests: each test has collections of its own."""

    library: Library
    embedder: Embedder
    folder: Path

    @asynccontextmanager
    async def on(self, hub: FakeHub, *, free: int = 10**12) -> AsyncIterator[Datasets]:
        files = DatasetUploads(self.folder / "own", free=lambda _: free)
        client = Hub(hub.url, False, pause=lambda reading, seconds: None)
        datasets = Datasets(self.library.knowledge, self.library.engine, files, owner="me", hub=client)
        try:
            yield datasets
        finally:
            await datasets.close()
            await asyncio.to_thread(close_session)
            self.embedder.stop_at, self.embedder.failed = "", False
            self.embedder.waiting.clear()
            self.embedder.go_on.clear()

    async def rows(self, collection: str) -> list[DocumentRow]:
        return await self.library.documents.listed(collection=collection)

    async def found(self, query: str, collection: str, readers: Readers = READERS) -> list[str]:
        return await self.library.found(query, readers=readers, collections=[collection])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    folder = tmp_path_factory.mktemp("datasets")
    embedder = Embedder()
    async with opened(folder, embedder=embedder) as library:
        yield Desk(library, embedder, folder)


def order(collection: str, **changes: Any) -> Order:
    return replace(Order(Upstream("wikipedia_ja"), collection, TEAM, "web:1", "ja"), **changes)


async def known(datasets: Datasets, job: DatasetJob) -> DatasetJob:
    return next(one for one in await datasets.jobs() if one.id == job.id)


async def ended(datasets: Datasets, job: DatasetJob) -> DatasetJob:
    async with asyncio.timeout(30):
        job = await until(lambda: known(datasets, job), lambda now: now.state != "running")
    assert job.state != "running" and job.finished is not None
    return job


async def pieces(*data: bytes) -> AsyncIterator[bytes]:
    for piece in data:
        yield piece


async def test_articles_are_found_with_their_address_and_licence(desk: Desk) -> None:
    rows = (*(article(n) for n in range(6)), EMPTY_ROW, SHORT_ROW, article(5))
    async with hub_of(*rows) as hub, desk.on(hub) as datasets:
        job = await datasets.start(order("wiki"))
        assert (job.state, job.documents) == ("running", 0)
        last = await ended(datasets, job)
        assert last.state == "done"
        assert dict(last.counts) == {"added": 6, "empty": 1, "short": 1, "duplicate": 1}
        assert (last.rows, last.documents, last.ended, last.share) == (9, 6, "all", 1.0)
        assert last.fetched > 0 and last.characters > 300
        added = await desk.rows("wiki")
        assert [row.name for row in added] == [f"wikipedia_ja/{n}.md" for n in range(6)]
        third = added[3]
        assert (third.title, third.url, third.author) == ("図書館3", "https://ja.wikipedia.org/wiki/3", "web:1")
        assert any("CC BY-SA 3.0" in text for text in await desk.found("図書館第3号館", "wiki"))
        (info,) = [each for each in await desk.library.knowledge.collections(READERS) if each.name == "wiki"]
        assert "ライセンス" in info.description
        (trace, *_) = await Audit(desk.library.engine).listed()
        assert (trace.actor, trace.action, trace.subject) == ("web:1", "dataset", "wiki/wikipedia_ja (team)")
        assert trace.result.startswith("done: added 6")
        assert (await datasets.jobs())[0] == last


async def test_a_look_shows_rows_before_and_after_cleaning_and_adds_nothing(desk: Desk) -> None:
    async with hub_of(article(1), SHORT_ROW, *(article(n) for n in range(2, 90))) as hub, desk.on(hub) as datasets:
        generation = await desk.library.knowledge.generation()
        samples = await datasets.preview(Upstream("wikipedia_ja"), 3)
        assert [(each.before.id, each.reason) for each in samples] == [("1", None), ("91", "short"), ("2", None)]
        assert samples[0].after is not None and samples[0].after.title == "図書館1"
        assert len(await datasets.preview(Upstream("wikipedia_ja"), 999)) == 50
        assert await desk.library.knowledge.generation() == generation
        assert [*NAMED] == ["wikipedia_ja", "cc_news", "livedoor"]
        with pytest.raises(DatasetError, match="wikipedia_ja, cc_news, livedoor"):
            await datasets.preview(Upstream("wikipedia"))


async def test_a_job_that_was_cancelled_goes_on_and_finds_its_documents_unchanged(desk: Desk) -> None:
    async with hub_of(*(article(n) for n in range(6))) as hub, desk.on(hub) as datasets:
        desk.embedder.stop_at = "第3号館"
        job = await datasets.start(order("stopped"))
        with pytest.raises(DatasetError, match="already"):
            await datasets.start(order("stopped", choice=Upstream("livedoor")))
        await asyncio.wait_for(desk.embedder.waiting.wait(), 30)
        assert await datasets.cancel(job.id) and not await datasets.cancel(job.id)
        assert dict((await ended(datasets, job)).counts) == {"added": 3}
        assert len(await desk.found("図書館", "stopped")) == len(await desk.rows("stopped")) == 3
        desk.embedder.stop_at = ""
        again = await ended(datasets, await datasets.resume(job.id))
        assert dict(again.counts) == {"unchanged": 3, "added": 3} and again.documents == 6
        assert [each.state for each in (await datasets.jobs())[:2]] == ["done", "cancelled"]
        with pytest.raises(DatasetError, match="no longer known"):
            await datasets.resume("another")
        assert not await datasets.cancel("another")


async def test_a_job_goes_on_after_a_restart_and_finds_its_documents_unchanged(desk: Desk) -> None:
    async with hub_of(*(article(n) for n in range(6))) as hub:
        async with desk.on(hub) as datasets:
            desk.embedder.stop_at = "第3号館"
            job = await datasets.start(order("one"))
            await asyncio.wait_for(desk.embedder.waiting.wait(), 30)
            await datasets.close()
            assert (await known(datasets, job)).state == "running"
            desk.embedder.stop_at = ""
        async with desk.on(hub) as datasets:
            with pytest.raises(DatasetError, match="already"):
                await datasets.start(order("one"))
            assert await datasets.take_over() and not await datasets.take_over()
            last = await ended(datasets, job)
            assert (last.state, dict(last.counts)) == ("done", {"unchanged": 3, "added": 3})


async def test_a_job_that_ends_processes_is_given_up(desk: Desk) -> None:
    rows = DatasetJobRows(desk.library.engine)
    now = datetime.now(UTC)
    job = DatasetJob("d" * 32, order("deadly"), started=now)
    assert await rows.begin(job, owner="a", now=now, until=now)
    for owner in "bcd":  # each dies before anything is added
        taken = await rows.claim(owner=owner, now=now, until=now)
        assert taken is not None and taken.id == job.id
    async with hub_of(article(1)) as hub, desk.on(hub) as datasets:
        assert await datasets.take_over()
        last = await ended(datasets, job)
        assert last.state == "failed" and "3 回中断され" in last.problem and hub.asked == []


async def test_the_limit_on_documents_is_kept_and_a_higher_one_goes_on(desk: Desk) -> None:
    async with hub_of(*(article(n) for n in range(9))) as hub, desk.on(hub) as datasets:
        few = await ended(datasets, await datasets.start(order("few", limits=StreamLimits(documents=2))))
        assert (few.documents, few.ended) == (2, "documents")
        more = await ended(datasets, await datasets.start(order("few", limits=StreamLimits(documents=5))))
        assert dict(more.counts) == {"unchanged": 2, "added": 3}
        assert len(await desk.rows("few")) == 5


async def test_an_article_that_has_changed_replaces_the_old_one(desk: Desk) -> None:
    async with hub_of(article(1), article(2)) as hub, desk.on(hub) as datasets:
        await ended(datasets, await datasets.start(order("changing")))
    closed = article(2, "第2号館は昨年の夏に閉館しました。跡地は港の公園になり、ベンチが並びます。" * 2)
    async with hub_of(article(1), closed) as hub, desk.on(hub) as datasets:
        assert dict((await ended(datasets, await datasets.start(order("changing")))).counts) == {
            "unchanged": 1,
            "replaced": 1,
        }
        found = " ".join(await desk.found("第2号館", "changing"))
        assert "閉館しました" in found and "2年前の春" not in found


async def test_the_scope_of_a_job_hides_its_documents_from_others(desk: Desk) -> None:
    place = "place:slack:T:C"
    async with hub_of(article(1)) as hub, desk.on(hub) as datasets:
        await ended(datasets, await datasets.start(order("private", scope=place)))
        assert len(await desk.found("図書館", "private", Readers(frozenset({place})))) == 1
        assert not any(row.collection == "private" for row in await desk.library.documents.listed(READERS))
        with pytest.raises(ValueError, match="not a scope"):
            await datasets.start(order("private", scope="somebody"))


async def test_what_the_hub_takes_away_in_the_middle_leaves_what_was_added(desk: Desk) -> None:
    bulk = ["".join(chr(0x4E00 + (n * 31 + at * at) % 5000) for at in range(9_000)) for n in range(120)]
    rows = [article(n) if n % 16 == 0 else article(n, text) for n, text in enumerate(bulk)]
    limits = StreamLimits(sieve=Sieve(longest=1_000))
    async with hub_of(*rows) as hub, desk.on(hub) as datasets:
        desk.embedder.stop_at = "第16号館"
        job = await datasets.start(order("cut", limits=limits))
        await asyncio.wait_for(desk.embedder.waiting.wait(), 30)
        hub.fail("bytes", *[Cut()] * 40)
        desk.embedder.go_on.set()
        failed = await ended(datasets, job)
        assert failed.state == "failed" and "何度も切れました" in failed.problem
        assert 1 <= failed.documents == len(await desk.rows("cut")) < 8
        assert failed.counts["long"] > 10


async def test_a_job_where_nothing_goes_stops_early_and_says_why(desk: Desk) -> None:
    async with hub_of(*(article(n) for n in range(30))) as hub, desk.on(hub) as datasets:
        desk.embedder.failed = True
        job = await ended(datasets, await datasets.start(order("nothing")))
        assert job.state == "failed" and "モデルがありません" in job.problem and job.documents == 0
        assert job.refusals[0].name == "wikipedia_ja/0.md" and len(job.refusals) <= 10
        hub.fail("info", Refuse(403, {"X-Error-Code": "GatedRepo"}))
        gated = await ended(datasets, await datasets.start(order("nothing", language="en")))
        assert gated.state == "failed" and "is gated" in gated.problem
        assert await desk.rows("nothing") == []
        nameless = await ended(datasets, await datasets.start(order("a,b")))
        assert nameless.state == "failed" and "コレクション名" in nameless.problem


async def test_a_full_disk_is_said_before_anything_is_read(desk: Desk) -> None:
    async with hub_of(article(1)) as hub, desk.on(hub, free=10_000_000) as datasets:
        with pytest.raises(DatasetError, match=r"Only 9\.537 MiB are free"):
            await datasets.start(order("full"))
        with pytest.raises(DatasetError, match="free on the disk"):
            await datasets.keep("x.csv", pieces(b"text\nlong enough\n"))
        assert hub.asked == [] and not [job for job in await datasets.jobs() if job.order.collection == "full"]


async def test_a_file_of_ones_own_is_looked_at_added_with_chosen_columns_and_given_up(desk: Desk) -> None:
    table = (
        "質問文,答え,題,参照\n休みは?,月曜日です。祝日も休みます。,休館日,https://example.com/1\n"
        "駐車場は?,二階にあります。三十台まで。,駐車場,\n"
    )
    async with hub_of() as hub, desk.on(hub) as datasets:
        data = table.encode("cp932")
        file = await datasets.keep("../館内/案内.csv", pieces(data[:7], data[7:]))
        looked = await datasets.inspect(file)
        assert looked.columns == ("質問文", "答え", "題", "参照") and looked.encoding == "cp932"
        chosen = replace(file, columns=Columns(("質問文", "答え"), title="題", url="参照"))
        few = StreamLimits(sieve=Sieve(shortest=5))
        samples = await datasets.preview(chosen, limits=few)
        assert [each.after.title for each in samples if each.after] == ["休館日", "駐車場"]
        job = await ended(datasets, await datasets.start(Order(chosen, "faq", TEAM, "web:1", "ja", few)))
        assert dict(job.counts) == {"added": 2} and job.name == "案内.csv"
        assert {(row.title, row.url) for row in await desk.rows("faq")} == {
            ("休館日", "https://example.com/1"),
            ("駐車場", None),
        }
        assert any("月曜日です" in text and "休みは" in text for text in await desk.found("月曜日", "faq"))
        await until(lambda: asyncio.to_thread(lambda: not any((desk.folder / "own").iterdir())))
        with pytest.raises(DatasetError, match="Upload it again"):
            await datasets.inspect(file)


async def test_a_file_that_is_too_large_or_unreadable_is_not_kept(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.knowledge.dataset_uploads.LARGEST", 2**20)
    async with hub_of() as hub, desk.on(hub) as datasets:
        for name, data, said in (
            ("x.csv", [b"text\n", b"x" * 2**20], "larger than 1 MiB"),
            ("x.exe", [b"MZ"], "csv, tsv, txt, json or jsonl"),
            ("x.json", [b"{}"], "not a list of records"),
        ):
            with pytest.raises(DatasetError, match=said):
                await datasets.keep(name, pieces(*data))
        assert not any((desk.folder / "own").iterdir())
        with pytest.raises(ValueError, match="UUID"):
            await datasets.inspect(DatasetUpload("../../kotae.db", "x.csv"))


async def test_the_application_clears_what_an_earlier_process_left_and_goes_on_with_its_job(tmp_path: Path) -> None:
    left = tmp_path / "datasets" / "left"
    left.parent.mkdir()
    left.write_text("x")
    settings = Settings(KOTAE_HOME=tmp_path, KOTAE_MODEL="extractive")  # type: ignore[call-arg]
    async with running(settings, Redactor()) as application:
        assert not left.exists()
        file = await application.datasets.keep(
            "x.jsonl", pieces(json.dumps({"text": "The harbour opens at six."}).encode())
        )
        assert (await application.datasets.inspect(file)).guess == Columns(("text",))
        unwanted = await application.datasets.keep("y.jsonl", pieces(b'{"text": "It closes at ten."}'))
        few = StreamLimits(sieve=Sieve(shortest=5))
        job = DatasetJob("d" * 32, order("ports", choice=file, limits=few), started=datetime.now(UTC))
        begun = DatasetJobRows(application.data.engine).begin(
            job, owner="dead", now=job.started, until=job.started + timedelta(days=1)
        )
        assert await begun
    async with running(settings, Redactor()) as application, application.looked_after():
        assert not (left.parent / unwanted.id).exists()
        assert dict((await ended(application.datasets, job)).counts) == {"added": 1}
        await until(lambda: asyncio.to_thread(lambda: not any(left.parent.iterdir())))
