"""The kept Markdown: what an address names is there whole, or not at all."""

import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.errors import ContentLostError
from bot.knowledge.content_store import ContentFolder
from bot.store.contents import address_of

TEXT = "# 計画\n\nThe harbour plan.\r\n" * 5_000


@contextmanager
def disk_for(size: int) -> Iterator[None]:
    """No file of this process can be longer than `size` bytes: its write ends half-way, with an error."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_what_cannot_be_written_whole_is_not_there(tmp_path: Path) -> None:
    kept = ContentFolder(tmp_path / "documents")
    with disk_for(50_000), pytest.raises(OSError, match="File too large"):
        await kept.put(TEXT)
    assert files(tmp_path) == []
    with pytest.raises(ContentLostError):
        await kept.read(address_of(TEXT))
    assert await kept.put(TEXT) == address_of(TEXT)
    assert await kept.read(address_of(TEXT)) == TEXT


async def test_a_file_that_was_cut_off_is_written_anew(tmp_path: Path) -> None:
    """As a power cut left it, before a write was brought to the disk."""
    kept = ContentFolder(tmp_path)
    address = await kept.put(TEXT)
    kept.path(address).write_bytes(b"")
    with pytest.raises(ContentLostError):
        await kept.read(address)
    await kept.put(TEXT)
    assert await kept.read(address) == TEXT


async def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    kept = ContentFolder(tmp_path / "documents")
    file = kept.path(await kept.put(TEXT))
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent, file.parent.parent)] == [
        0o600,
        0o700,
        0o700,
    ]
