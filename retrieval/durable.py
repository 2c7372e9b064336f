"""Files whose loss would matter: when a write returns, the file is on the disk, whole and under its name; a crash
before that leaves what was there. Folders and files are for their owner only.

Source: fsync(2): a name is on the disk when its folder is; rename(2); reliability.md R5.
"""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: Path, folder: Path | None = None, *, anew: bool = False) -> Iterator[IO[bytes]]:
    """A new file, mode 0600, that takes the place of `path` when the block ends, and is gone when it fails.

    `folder`, on the same disk, has it until then; None: the folder of `path`. Any number of writers may do this at
    once: the last one to end stays. `anew`: it takes nobody's place; the first one stays, and the others raise
    FileExistsError. Blocks. Raises OSError."""
    number, name = tempfile.mkstemp(prefix=".kotae-", suffix=".part", dir=folder or path.parent)  # 0600
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if anew:
            _named_anew(Path(name), path)
        else:
            Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    to_disk(path.parent)


def _named_anew(file: Path, path: Path) -> None:
    try:
        path.hardlink_to(file)
    except FileExistsError:
        raise
    except OSError:  # a disk without links (FAT, some shares): the name is taken first
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        file.replace(path)
    else:
        file.unlink()


def still(path: Path, opened: os.stat_result) -> bool:
    """Whether what was opened there is what is there now: neither gone nor replaced by another."""
    try:
        return os.path.samestat(path.stat(), opened)
    except OSError:
        return False


def make_folder(folder: Path) -> None:
    """Make a folder and those above it where they are missing, mode 0700. Blocks. Raises OSError."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    to_disk(folder.parent)


def to_disk(path: Path) -> None:
    """Return when a file's contents, or a folder's names, are on the disk. Blocks. Raises OSError."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that keeps its folders in its own way (CIFS, some FUSE)
            raise
    finally:
        os.close(opened)
