"""An SQLite database at this version, made once a process and copied from then on: an upgrade from nothing takes 50 ms
and more with each revision, and hundreds of tests begin with one."""

import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from migrations import upgrade


@cache
def _empty() -> bytes:
    with TemporaryDirectory(prefix="kotae-empty-") as folder:
        file = Path(folder, "kotae.db")
        upgrade(address(file))
        return file.read_bytes()


def address(file: Path) -> str:
    return f"sqlite+aiosqlite:///{file}"


def made(file: Path) -> str:
    """The address of `file`, which is now a database at this version; one that is there already is upgraded."""
    if file.exists():
        upgrade(address(file))
    else:
        empty = _empty()
        file.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as new:
            new.write(empty)
    return address(file)
