"""The embedded store on a disk without room: refused in words, never ended by the kernel. Told that there is none, and
on a disk that really has none."""

import asyncio
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from retrieval import disk
from retrieval.disk import RESERVE, ROOM_TO_ADD
from retrieval.index import EdgeIndex
from retrieval.types import QdrantConnectionError
from tests.copies import copy_folder
from tests.disks import MIB, small_disk
from tests.retrieval.index.test_index import ask, ids, point, see, seen_texts

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Told:
    """What the disk is said to have left. `short_after`: so many looks later it has nothing."""

    def __init__(self) -> None:
        self.free = 10**12
        self.short_after: int | None = None

    def __call__(self, folder: Path) -> int:
        if self.short_after is not None:
            self.short_after -= 1
            if self.short_after < 0:
                return 0
        return self.free


async def opened(folder: Path, told: Told) -> EdgeIndex:
    return await EdgeIndex.open(folder, dimensions=4, embedder="test", tokenizer="words 1", free=told)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store, to be copied: making one costs half a second of waiting for the disk."""
    made = tmp_path_factory.mktemp("stores") / "store"
    await (await opened(made, Told())).close()
    return made


@pytest.fixture
def told() -> Told:
    return Told()


@pytest_asyncio.fixture(loop_scope="module")
async def index(folder: Path, tmp_path: Path, told: Told) -> AsyncIterator[EdgeIndex]:
    made = await opened(copy_folder(folder, tmp_path / "store"), told)
    yield made
    told.free, told.short_after = 10**12, None
    await made.close()


async def test_nothing_is_added_when_the_disk_is_nearly_full_and_it_is_said(index: EdgeIndex, told: Told) -> None:
    await index.put([point(text="there")])
    told.free = ROOM_TO_ADD - 1
    with pytest.raises(QdrantConnectionError):
        await index.put([point(text="more")])
    told.free = 100 * MIB
    with pytest.raises(QdrantConnectionError) as refused:
        await index.put([point(text="more")])
    assert refused.value.text("en") == (
        "Only 100 MiB are free on the disk of the search index, and 128 MiB are needed. Please free some space."
    )
    assert "空き容量" in refused.value.text("ja")
    with pytest.raises(QdrantConnectionError, match="free some space"):
        await index.copy("d", scope="everyone", collection="docs")
    assert await seen_texts(index, see()) == ["there"]
    told.free = ROOM_TO_ADD
    await index.put([point(text="more")])
    assert await seen_texts(index, see()) == ["more", "there"]


async def test_what_is_there_can_be_taken_back_and_forgotten_when_no_more_is_added(
    index: EdgeIndex, told: Told
) -> None:
    await index.put([point("old"), point("new", born=2)])
    told.free = RESERVE
    await index.undo("new", at=2)
    await index.retire("old", died=3)
    assert await index.count(see(2)) == 1 and await index.count(see(3)) == 0
    assert await index.sweep(3) == 1


async def test_below_the_reserve_nothing_is_written_and_questions_are_answered(index: EdgeIndex, told: Told) -> None:
    await index.put([point("d", text="there")])
    told.free = RESERVE - 1
    for work in (index.retire("d", died=2), index.discard("d"), index.move("docs", "more")):
        with pytest.raises(QdrantConnectionError, match="Only 64 MiB are free"):
            await work
    assert await index.sweep(1) == 0  # nothing has died, so nothing is written
    assert await seen_texts(index, see(5)) == ["there"] and await index.trouble() is None
    told.free = RESERVE
    await index.retire("d", died=2)
    assert await index.count(see(2)) == 0


async def test_a_whole_collection_is_moved_only_with_room_for_all_of_it(index: EdgeIndex, told: Told) -> None:
    """It is one operation of the engine's, which writes every payload anew."""
    await index.put([point("d", number) for number in range(32)])
    told.free = RESERVE + 100_000
    with pytest.raises(QdrantConnectionError, match=r"64\.1 MiB are free"):
        await index.move("docs", "more")
    told.free = RESERVE + 32 * 8_192
    await index.move("docs", "more")
    assert await index.count(see(1, collections=("more",))) == 32


async def test_the_disk_is_looked_at_before_each_slice(index: EdgeIndex, told: Told) -> None:
    points = [point("d", number, text=str(number)) for number in range(48)]
    told.short_after = 2
    with pytest.raises(QdrantConnectionError, match="Only 0 B are free"):
        await index.put(points)
    told.short_after = None
    assert await index.count(see()) == 32


async def test_a_store_is_not_opened_without_room_and_nobody_is_locked_out(
    index: EdgeIndex, told: Told, tmp_path: Path
) -> None:
    await index.put([point("d", text="there")])
    told.free = RESERVE - 1
    await index.close()  # what is in the log needs no flush
    for place in (tmp_path / "store", tmp_path / "new"):
        with pytest.raises(QdrantConnectionError, match="Only 64 MiB are free"):
            await opened(place, told)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["lock"]
    told.free = RESERVE
    again = await opened(tmp_path / "store", told)
    assert ids([point("d", text="there")]) == [
        hit.id for hit in (await ask(again, see(), dense=[1.0, 0, 0, 0])).branches["dense"]
    ]
    await again.close()


async def test_free_bytes_are_told_of_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    assert disk.free(tmp_path / "not" / "there") == pytest.approx(shutil.disk_usage(tmp_path).free, rel=0.5)


ON_A_SMALL_DISK = """
import asyncio, sys
from pathlib import Path
from retrieval.index import EdgeIndex
from retrieval.types import QdrantConnectionError
from tests.disks import MIB, SmallDisk
from tests.retrieval.index.test_index import ask, point, see

async def main():
    disk = SmallDisk(Path(sys.argv[1]))

    def opened():
        return EdgeIndex.open(disk.folder / "store", dimensions=384, embedder="test", tokenizer="words 1")

    async def refused(work):
        try:
            await work
        except QdrantConnectionError as error:
            assert "free some space" in error.text("en"), error
        else:
            raise AssertionError("not refused")

    points = [point("d", n, text="x" * 2_000, dense=[0.5] * 384) for n in range(64)]
    for free in (0, 8, 16, 28):
        disk.leave(free * MIB)
        await refused(opened())
    disk.leave(200 * MIB)
    index = await opened()
    await index.put(points)
    for free in (100, 28, 4, 0):
        disk.leave(free * MIB)
        await refused(index.put([point("e", n, text="y" * 2_000, dense=[0.5] * 384) for n in range(64)]))
        found = await ask(index, see(), dense=[0.5] * 384, limit=64)
        assert len(found.branches["dense"]) == 64
    await refused(index.retire("d", died=2))
    await index.close()
    await refused(opened())
    disk.leave(200 * MIB)
    index = await opened()
    await index.put([point("e", n, dense=[0.5] * 384) for n in range(64)])
    assert await index.count(see()) == 128
    await index.close()

asyncio.run(main())
"""


async def test_no_full_disk_ends_the_process(tmp_path: Path) -> None:
    """In a process of its own, since a page without a block would end this one."""
    with small_disk(tmp_path, 256 * MIB) as disk:
        done = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", ON_A_SMALL_DISK, str(disk.folder)], capture_output=True, text=True
        )
    assert done.returncode != -signal.SIGBUS
    assert (done.returncode, done.stderr) == (0, "")
