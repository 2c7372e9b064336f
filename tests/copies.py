"""Copies of folders in which the embedded store keeps 200 MB of room that is all zeros: the room is not copied."""

import os
import shutil
from collections.abc import Iterator
from errno import ENXIO
from pathlib import Path

_BLOCK = 1 << 16  # bytes
_ROOM = bytes(_BLOCK)


def copy_folder(source: Path, target: Path) -> Path:
    """The folder `target`, with what is in `source`; files keep their sizes, modes and times."""
    shutil.copytree(source, target, copy_function=_copy, dirs_exist_ok=True)
    return target


def _copy(source: str, target: str) -> str:
    with Path(source).open("rb", buffering=0) as read, Path(target).open("wb", buffering=0) as write:
        write.truncate(os.fstat(read.fileno()).st_size)
        for start, end in _written(read.fileno()):
            for at in range(start, end, _BLOCK):
                block = os.pread(read.fileno(), min(_BLOCK, end - at), at)
                if block != _ROOM[: len(block)]:
                    os.pwrite(write.fileno(), block, at)
    shutil.copystat(source, target)
    return target


def _written(file: int) -> Iterator[tuple[int, int]]:
    """Start and end of each part that is on the disk."""
    end = 0
    while True:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == ENXIO:  # nothing but room from here on
                return
            raise
        end = os.lseek(file, start, os.SEEK_HOLE)
        yield start, end
