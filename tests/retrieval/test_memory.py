"""What is let go of is still there."""

import mmap
import os
import sys
from pathlib import Path

import pytest

from retrieval.memory import let_go


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which pages are whose")
def test_pages_are_let_go_of_with_nothing_lost_and_no_others(tmp_path: Path) -> None:
    size = 64 * mmap.PAGESIZE
    maps = {}
    for name in ("store", "beside"):
        file = tmp_path / name / "data"
        file.parent.mkdir()
        file.write_bytes(bytes(size))
        descriptor = os.open(file, os.O_RDWR)
        shared = mmap.mmap(descriptor, size)
        private = mmap.mmap(descriptor, size, flags=mmap.MAP_PRIVATE)
        os.close(descriptor)
        private[:5] = b"draft"
        shared[:] = b"x" * size
        maps[name] = shared, private
    let_go(tmp_path / "store")
    assert resident(tmp_path / "store" / "data", "s") == 0
    assert resident(tmp_path / "beside" / "data", "s") == size
    for shared, private in maps.values():
        assert private[:5] == b"draft"
        assert shared[:] == b"x" * size


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which pages are whose")
def test_private_pages_are_let_go_of_where_nobody_has_written(tmp_path: Path) -> None:
    size = 64 * mmap.PAGESIZE
    file = tmp_path / "data"
    file.write_bytes(b"x" * size)
    with file.open("rb") as data:
        private = mmap.mmap(data.fileno(), size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
    assert private[:] == b"x" * size
    let_go(tmp_path)
    assert resident(file, "p") == size
    let_go(tmp_path, unwritten=True)
    assert resident(file, "p") == 0
    assert private[:] == b"x" * size


def resident(file: Path, kind: str) -> int:
    """Bytes of a file's mappings, shared or private, that are in this process now."""
    found, ours = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, *rest = line.split()
        if not first.endswith(":"):
            ours = line.endswith(str(file)) and rest[0].endswith(kind)
        elif ours and first == "Rss:":
            found += int(rest[0]) * 1024
    return found
