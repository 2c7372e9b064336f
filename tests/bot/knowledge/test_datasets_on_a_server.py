"""Datasets on a server that two processes share: gone on with, stopped and refused by either."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import text, update

from bot.knowledge.dataset_uploads import DatasetUploads
from bot.knowledge.datasets import DatasetJob, Datasets, Order
from bot.store.audit import Audit
from bot.store.dataset_jobs import DatasetUpload
from bot.store.engine import Engine, change, connect
from bot.store.held_files import HeldRows
from bot.store.schema import dataset_jobs
from retrieval.datasets import DatasetError, Sieve, StreamLimits
from retrieval.types import TEAM
from tests.adapters.acting import until
from tests.bot.knowledge.test_datasets import Embedder, ended, known, pieces
from tests.bot.library import Library, opened

LINES = [f"The harbour of town {n} opens at {n} in the morning." for n in range(6)]


@asynccontextmanager
async def two(url: str, folder: Path, *libraries: Library) -> AsyncIterator[list[Datasets]]:
    engines = [connect(url) for _ in libraries]
    made = [
        Datasets(
            library.knowledge,
            engine,
            DatasetUploads(folder / str(at), shared=HeldRows(engine), free=lambda _: 10**12),
            owner=str(at),
        )
        for at, (library, engine) in enumerate(zip(libraries, engines, strict=True))
    ]
    yield made
    for datasets, engine in zip(made, engines, strict=True):
        await datasets.close()
        await engine.dispose()


async def ordered(datasets: Datasets) -> Order:
    file = await datasets.keep("ports.txt", pieces("\n".join(LINES).encode()))
    lines = DatasetUpload(file.id, file.name, split="line")
    return Order(lines, "ports", TEAM, "web:aki", "en", StreamLimits(sieve=Sieve(shortest=5)))


async def passed(engine: Engine, job: DatasetJob) -> None:
    """The holder has not been heard of for so long."""
    past = update(dataset_jobs).where(dataset_jobs.c.id == job.id)
    past = past.values(lease_until=text("clock_timestamp() - interval '1 second'"))
    await change(engine, lambda db: db.execute(past))


async def test_what_a_process_that_is_gone_had_begun_another_goes_on_with(server_url: str, tmp_path: Path) -> None:
    embedder = Embedder()
    async with opened(tmp_path, embedder=embedder) as library, two(server_url, tmp_path, library, library) as both:
        one, other = both
        embedder.stop_at = "town 3"
        job = await one.start(await ordered(one))
        await asyncio.wait_for(embedder.waiting.wait(), 30)
        assert not await other.take_over()  # it is held
        engine = connect(server_url)
        await passed(engine, job)
        embedder.stop_at = ""
        assert await other.take_over()
        last = await ended(other, job)
        assert (last.state, dict(last.counts)) == ("done", {"unchanged": 3, "added": 3})
        (trace, *more) = await Audit(engine).listed()
        assert (trace.action, more) == ("dataset", []) and trace.result.startswith("done: unchanged 3")
        await until(lambda: _none(HeldRows(engine)))
        assert await one.jobs() == await other.jobs() == (last,)
        await engine.dispose()


async def test_a_job_is_seen_refused_and_stopped_from_the_other(server_url: str, tmp_path: Path) -> None:
    embedder, beats = Embedder(), asyncio.Semaphore(0)
    async with opened(tmp_path, embedder=embedder) as library, two(server_url, tmp_path, library, library) as both:
        one, other = both
        one._sleep = lambda _: _beat(beats)
        embedder.stop_at = "town 3"
        order = await ordered(one)
        job = await one.start(order)
        await asyncio.wait_for(embedder.waiting.wait(), 30)
        shown = await until(lambda: known(other, job), lambda now: now.documents == 3)
        assert (shown.state, shown.order) == ("running", order)
        with pytest.raises(DatasetError, match="already"):
            await other.start(order)
        assert await other.cancel(job.id) and not await one.cancel(job.id)
        work = one._tasks[job.id]
        beats.release()
        await asyncio.wait_for(asyncio.wait({work}), 30)
        assert dict((await known(one, job)).counts) == {"added": 3} and (await known(one, job)).state == "cancelled"
        assert len(await library.documents.listed(collection="ports")) == 3
        embedder.stop_at = ""
        again = await ended(other, await other.resume(job.id))
        assert dict(again.counts) == {"unchanged": 3, "added": 3}


async def test_files_of_datasets_leave_room_for_those_of_chats(
    server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.knowledge.dataset_uploads.SHARED", 300)
    engine = connect(server_url)
    files = DatasetUploads(tmp_path, shared=HeldRows(engine), free=lambda _: 10**12)
    lines = "\n".join(LINES).encode()
    assert 150 < len(lines) <= 300
    await files.keep("a.txt", pieces(lines))
    with pytest.raises(DatasetError, match="Too many files are waiting"):
        await files.keep("b.txt", pieces(lines))
    assert len(await asyncio.to_thread(os.listdir, tmp_path)) == 1 and await HeldRows(engine).size() == len(lines)
    await engine.dispose()


async def _none(held: HeldRows) -> bool:
    return await held.size() == 0


async def _beat(beats: asyncio.Semaphore) -> None:
    await beats.acquire()
