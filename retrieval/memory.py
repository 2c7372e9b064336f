"""The process's memory, as far as an allocator keeps more of it than anybody uses."""

import ctypes


def give_back() -> None:
    """Return freed memory to the system. Opening a store or a model leaves much of it behind (40 MB at 20k points, 20
    MB of a tokenizer), and glibc keeps it unless asked; other C libraries do not have the call."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
