"""The folder of a home: whether it takes a write now, and that only its owner reads what Kotae keeps in it.

Source: reliability.md R47, R60; chmod(2): a folder without rights for others protects all that is below it.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bot.config.own_files import OURS, is_our_entry
from bot.config.settings import Settings
from bot.store.inspection import file_of
from migrations import copies
from retrieval.i18n import Text

_BLOCK = b"\0" * 65_536  # what a file system keeps beside a file's name would hide that the disk is full
_OTHERS = 0o077

UNWRITABLE = Text(en="Nothing can be written to the home: {why}.", ja="ホームに書き込めません: {why}")


def probe(home: Path) -> None:
    """Write some bytes and take them back. Blocks. Raises OSError when nothing can be written now."""
    with tempfile.TemporaryFile(dir=home, buffering=0) as file:
        file.write(_BLOCK)


def tighten(settings: Settings) -> list[Path]:
    """Take the rights of others from what Kotae has put into the home; returns what they may read all the same. For the
    home's owner. Blocks.

    The home itself, and folders with anything else in them, stay as they are.
    """
    for path in _open_to_others(settings):
        with suppress(OSError):
            if path.stat().st_uid == os.geteuid() and (not path.is_dir() or _is_ours(path)):
                path.chmod(0o700 if path.is_dir() else 0o600)
    return readable_by_others(settings)


def readable_by_others(settings: Settings) -> list[Path]:
    """Files Kotae keeps that other users of this machine can read, as far as its folders' rights tell. Blocks."""
    found = list(_open_to_others(settings))
    with suppress(OSError):
        if not settings.home.stat().st_mode & _OTHERS:
            return [path for path in found if settings.home.resolve() not in path.resolve().parents]
    return found


def _open_to_others(settings: Settings) -> Iterator[Path]:
    for path in _kept(settings):
        with suppress(OSError):  # it is not there
            if path.stat().st_mode & _OTHERS:
                yield path


def _kept(settings: Settings) -> Iterator[Path]:
    yield from (settings.home / name for name in OURS)
    yield from settings.chat_log.parent.glob(f"{settings.chat_log.name}*")
    if file := file_of(settings.database_url):
        yield from (file, *(file.with_name(file.name + ending) for ending in ("-wal", "-shm")))
        yield from copies(file, "*.backup.db")


def _is_ours(folder: Path) -> bool:
    inside = [path for path in folder.iterdir() if path.name != "lost+found"]
    return bool(inside) and all(is_our_entry(path) for path in inside)
