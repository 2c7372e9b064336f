"""Room on the disk. It is looked at before the embedded engine writes: the engine writes through memory maps of files
that have no blocks yet, and where the disk has none left for a page the kernel ends the process (SIGBUS, mmap(2)).

Measured with qdrant-edge-py 0.9.0 on ext4 and tmpfs, in MiB of blocks taken at once: 197 are mapped when a store is
made (the log's two segments, the first pages of payloads and of each kind of vectors, 32 each), of which making and
opening it take 32 where reading a hole gives it blocks (tmpfs), else 1; a slice of points 2.2 at most, also when it
begins the next segment or page, which have no blocks yet; a slice of changes 0.5; a flush of 10,000 points gives 62
back. A replay of the log takes what a power cut has lost, and so has given back."""

import shutil
from collections.abc import Callable
from pathlib import Path

from retrieval.i18n import Text
from retrieval.loaders.limits import MIB, size
from retrieval.types import QdrantConnectionError

Free = Callable[[Path], int]
"""The bytes left on the disk of a folder."""

RESERVE = 64 * MIB  # stays free: twice what opening takes, for whoever else writes meanwhile
ROOM_TO_ADD = 2 * RESERVE  # below it nothing is added, so that it can still be opened, changed and forgotten

_FULL = Text(
    en="Only {free} are free on the disk of the search index, and {needed} are needed. Please free some space.",
    ja="検索インデックスのディスクの空きが {free} しかありません。{needed} 必要です。空き容量を増やしてください。",
)


def free(folder: Path) -> int:
    """Bytes that an ordinary user may still write on the disk where `folder` is, or will be. Raises OSError."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def require(needed: int, folder: Path, told: Free) -> None:
    """Raises QdrantConnectionError in words when fewer bytes than `needed` are free."""
    left = told(folder)
    if left < needed:
        raise QdrantConnectionError(_FULL, free=size(left), needed=size(needed))
