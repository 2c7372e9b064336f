"""The copies of a home that a backup makes on its way, and what becomes of them when it is killed: they hold everything
people asked, beside a backup that may lie anywhere, where no erasure would reach them. So the home notes where each one
is, and whoever sweeps deletes those whose maker is gone. Source: reliability.md R61.
"""

import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from retrieval.durable import make_folder, replacing
from retrieval.i18n import os_reason

log = logging.getLogger(__name__)

NOTES = "backups"  # the folder in a home with a note for each copy
_PREFIX = ".kotae-backup-"
_LOCK = "lock"  # in a copy's folder: held for as long as its maker lives


@contextmanager
def copying(home: Path, beside: Path) -> Iterator[Path]:
    """An empty folder (mode 0700) on the disk of `beside`, for a copy of what is in `home`; it is gone after the block,
    or after the next `sweep`. Raises OSError."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=beside.absolute()))
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    note = home / NOTES / folder.name.removeprefix(_PREFIX)
    try:
        with suppress(OSError):  # a disk that knows no locks
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            _write(note, folder)
        except OSError as error:  # a full disk is no reason to refuse a backup onto another one
            log.warning("where the copy for the backup lies could not be noted: %s", os_reason(error).en)
        files = folder / "files"
        files.mkdir(mode=0o700)
        yield files
    finally:
        shutil.rmtree(folder)
        os.close(lock)
        with suppress(OSError):  # a note of nothing is dropped by the next sweep
            note.unlink()


def sweep(home: Path, *others: Path) -> tuple[Path, ...]:
    """Delete the copies of backups that were killed: those that the home has noted, and those in the folders `others`.
    Returns those that are still there, or perhaps, as on a disk that is not mounted. Blocks."""
    notes = sorted((home / NOTES).glob("[!.]*"))
    left = []
    for note in notes:
        folder = Path(os.fsdecode(note.read_bytes()))
        if folder.name != f"{_PREFIX}{note.name}" or _gone(folder):
            note.unlink(missing_ok=True)
        else:
            left.append(folder)
    for folder in (found for other in others for found in other.glob(f"{_PREFIX}*")):
        if not _gone(folder):
            left.append(folder)
    return tuple(dict.fromkeys(left))


def _write(note: Path, folder: Path) -> None:
    make_folder(note.parent)
    with replacing(note) as file:
        file.write(os.fsencode(folder))


def _gone(folder: Path) -> bool:
    """Delete a copy whose maker is gone; whether it is not there any more."""
    if not folder.exists():
        return folder.parent.exists()
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
        finally:
            os.close(lock)
    except BlockingIOError:  # it is being made
        return False
    except OSError:
        log.warning("the copy of a backup that was cut off could not be deleted", exc_info=True)
        return False
    return True
