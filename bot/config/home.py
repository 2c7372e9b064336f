"""The folder of a home: whether it takes a write now, that only its owner reads what Kotae keeps in it, and that
nothing of this is taken for a file that somebody has given.

Source: reliability.md R47, R60; chmod(2): a folder without rights for others protects all that is below it.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from bot.config.settings import Settings
from bot.store.inspection import file_of
from retrieval.i18n import Text
from retrieval.loaders.local_files import LocalFile, local_files

_BLOCK = b"\0" * 65_536  # what a file system keeps beside a file's name would hide that the disk is full
_OTHERS = 0o077

UNWRITABLE = Text(en="Nothing can be written to the home: {why}.", ja="ホームに書き込めません: {why}")

# A folder of the home is Kotae's when all in it is: KOTAE_HOME may be a folder that people keep their own things in.
_OURS: Mapping[str, re.Pattern[str]] = {
    "documents": re.compile(r"[0-9a-f]{2}|home|\.kotae-.+\.part"),  # `home`: whose they are (bot/knowledge/identity.py)
    "datasets": re.compile(r"[0-9a-f]{32}"),
    "uploads": re.compile(r"[0-9a-f]{32}|\.kotae-.+\.part"),
    "logs": re.compile(r"agent_chat\.log(\.\d+)?|erased|\.kotae-.+\.part"),
    "sources": re.compile(r"[0-9a-f]{32}\.(git|json)|\.kotae-.+\.part"),
    "vectors": re.compile(r"reindex\.jsonl|\.kotae-.+\.part"),  # and the stores: folders with a lock
}

_ASIDE = re.compile(r"aside-\d{8}T.+")  # bot/knowledge/set_aside.py


def given_files(path: Path, home: Path) -> list[LocalFile]:
    """`local_files` without what Kotae itself keeps in `home`, which may lie in that folder or around it: the texts of
    private places are there, too. Blocks."""
    real, given = Path(os.path.realpath(home)), Path(os.path.realpath(path))
    files = local_files(path)
    if not (real.is_relative_to(given) or given.is_relative_to(real)):
        return files
    return [file for file in files if file.inside is None or not _is_kept(given.joinpath(*file.inside), real)]


def _is_kept(file: Path, home: Path) -> bool:
    try:
        top, entry, *_ = file.relative_to(home).parts
    except (
        ValueError
    ):  # it is not in the home, or right in it, where Kotae has nothing that could be read as a document
        return False
    return _ASIDE.fullmatch(top) is not None or _is_our_entry(home / top / entry)


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
    yield from (settings.home / name for name in _OURS)
    yield from settings.chat_log.parent.glob(f"{settings.chat_log.name}*")
    if file := file_of(settings.database_url):
        yield from (file, *(file.with_name(file.name + ending) for ending in ("-wal", "-shm")))
        yield from file.parent.glob(f"{file.stem}-*.backup.db")


def _is_ours(folder: Path) -> bool:
    inside = [path for path in folder.iterdir() if path.name != "lost+found"]
    return bool(inside) and all(_is_our_entry(path) for path in inside)


def _is_our_entry(path: Path) -> bool:
    """Whether Kotae has put it into its folder of the home."""
    known = _OURS.get(path.parent.name)  # none: in the place of a file, as Docker makes one to mount it
    return known is not None and (known.fullmatch(path.name) is not None or (path / "lock").is_file())
