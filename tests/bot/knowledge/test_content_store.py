"""The kept Markdown: what an address names is there whole, or not at all."""

import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.knowledge.content_store import ContentLostError, ContentStore, address_of

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


def test_what_cannot_be_written_whole_is_not_there(tmp_path: Path) -> None:
    kept = ContentStore(tmp_path / "documents")
    with disk_for(50_000), pytest.raises(OSError, match="File too large"):
        kept.put(TEXT)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    with pytest.raises(ContentLostError):
        kept.read(address_of(TEXT))
    assert kept.put(TEXT) == address_of(TEXT)
    assert kept.read(address_of(TEXT)) == TEXT


def test_a_file_that_was_cut_off_is_written_anew(tmp_path: Path) -> None:
    """As a power cut left it, before a write was brought to the disk."""
    kept = ContentStore(tmp_path)
    address = kept.put(TEXT)
    kept.path(address).write_bytes(b"")
    with pytest.raises(ContentLostError):
        kept.read(address)
    kept.put(TEXT)
    assert kept.read(address) == TEXT


def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    kept = ContentStore(tmp_path / "documents")
    file = kept.path(kept.put(TEXT))
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent, file.parent.parent)] == [
        0o600,
        0o700,
        0o700,
    ]
