"""The process's memory, as far as an allocator keeps more of it than anybody uses."""

import ctypes
import sys
from pathlib import Path

_DONTNEED = 4  # MADV_DONTNEED of Linux


def give_back() -> None:
    """Return freed memory to the system. Opening a store or a model leaves much of it behind (40 MB at 20k points, 20
    MB of a tokenizer), and glibc keeps it unless asked; other C libraries do not have the call."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def let_go(folder: Path, *, unwritten: bool = False) -> None:
    """Take the pages of the files in `folder` out of this process: what was read once to open a store need not stay.

    They remain in the system's cache, with what was written to them, and come back when they are looked at. Only of
    shared mappings, where that is so, and only on Linux; of private ones too where nobody has written to them
    (`unwritten`): that would be lost.
    """
    if sys.platform != "linux":
        return
    advise = ctypes.CDLL(None).madvise
    below = f"{folder.resolve()}/"
    maps = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    for line in (one for one in maps if below in one):
        span, flags, *_, path = line.split(maxsplit=5)
        if (unwritten or flags.endswith("s")) and path.startswith(below):
            start, end = (int(edge, 16) for edge in span.split("-"))
            advise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _DONTNEED)
