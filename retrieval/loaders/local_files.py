"""Files that somebody names on this machine, and those in a folder they name. What is read is below that folder: a link
in it may have been put there by somebody else, and would show the team any file that its reader may open.

Source: symlink(7); open(2), O_NOFOLLOW and O_NONBLOCK; reliability.md R41.
"""

import errno
import hashlib
import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from retrieval.i18n import Text, TextError, os_reason
from retrieval.loaders.limits import ParsingLimits

_OUTSIDE = Text(
    en="It is a link out of the folder that was given, so it was not followed. To add what it points to, name that "
    "itself.",
    ja="指定されたフォルダーの外を指すリンクのため、たどりませんでした。追加する場合は、リンク先を直接指定してください。",
)
_NOT_OPENED = Text(en="It cannot be opened: {why}.", ja="開けません: {why}")
_SPECIAL = Text(
    en="It is not a file, but a device, a pipe or a socket.",
    ja="ファイルではなく、デバイス、パイプ、ソケットのいずれかです。",
)


class NotReadError(TextError):
    """A file that was not read."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file by the name people will know it by: its path below the folder that was given. `inside`: where it really is
    below that folder; None: it was named itself. `refusal`: it is not to be read. `unseen`: it is a folder that could
    not be looked into, whatever is in it."""

    name: str
    path: Path
    inside: tuple[str, ...] | None = None
    refusal: NotReadError | None = None
    unseen: bool = False

    def read(self, most: int = ParsingLimits().file + 1) -> bytes:
        """Its first `most` bytes; the loader refuses longer ones. Blocks, but not for a pipe. Raises NotReadError."""
        if self.refusal is not None:
            raise self.refusal
        try:
            with os.fdopen(self._opened(), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise NotReadError(_SPECIAL)
                return file.read(most)
        except OSError as error:
            raise _not_opened(error) from error
        except ValueError as error:  # no file can have such a name
            raise _not_opened(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))) from error

    def changed_at(self) -> str | None:
        """The day of its last change here, ISO; None in a checkout, where files are as old as the checkout. Blocks."""
        try:
            path = Path(os.path.realpath(self.path.joinpath(*self.inside or ())))
            if any(folder.joinpath(".git").exists() for folder in path.parents):
                return None
            return datetime.fromtimestamp(path.stat().st_mtime).date().isoformat()
        except (OSError, ValueError, OverflowError):
            return None

    def _opened(self) -> int:
        flags = os.O_RDONLY | os.O_NONBLOCK
        if self.inside is None:  # a link is then their own choice
            if self.path.exists() and not self.path.is_file():  # opening a device may do something to it
                raise NotReadError(_SPECIAL)
            return os.open(self.path, flags)
        # Folder by folder, since what was no link when it was found may be one now.
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            *folders, last = self.inside
            for name in folders:
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            return os.open(last, flags | os.O_NOFOLLOW, dir_fd=folder)
        finally:
            os.close(folder)


def local_files(path: Path) -> list[LocalFile]:
    """The file itself, or a folder's files by their names, without hidden ones, each once. A link is followed as far as
    it stays in the folder; what is not to be read says so. Blocks."""
    if not os.path.isdir(path):  # noqa: PTH112 (raises nothing: why it cannot be opened is said when it is read)
        return [LocalFile(path.name or str(path), path)]
    return sorted(_Folder(path).files(), key=lambda file: file.name)


def folder_id(path: Path) -> str:
    """A folder's identity, by where it really is, without telling where."""
    return hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]


class _Folder:
    """The way through a folder: first what is really in it, then where its links lead."""

    def __init__(self, given: Path) -> None:
        self._root = Path(os.path.realpath(given))
        self._seen: set[tuple[int, int]] = set()  # device and inode
        self._links: deque[tuple[str, tuple[str, ...]]] = deque()

    def files(self) -> Iterator[LocalFile]:
        yield from self._below("", ())
        while self._links:
            yield from self._linked(*self._links.popleft())

    def _below(self, name: str, inside: tuple[str, ...]) -> Iterator[LocalFile]:
        """The files in the folder `inside` of the root and below it, its links put off. `name`: as people know it."""
        folders = deque([(name, inside)])
        while folders:
            name, inside = folders.popleft()
            try:
                if self._again(self._root.joinpath(*inside).stat()):
                    continue
                with os.scandir(self._root.joinpath(*inside)) as entries:
                    for entry in entries:
                        if entry.name.startswith("."):
                            continue
                        its = f"{name}/{entry.name}" if name else entry.name, (*inside, entry.name)
                        if entry.is_symlink():
                            self._links.append(its)
                        elif entry.is_dir(follow_symlinks=False):
                            folders.append(its)
                        else:
                            try:
                                self._again(entry.stat(follow_symlinks=False))
                            except FileNotFoundError as error:
                                if not self._went(error):
                                    raise
                                continue
                            special = not entry.is_file(follow_symlinks=False)
                            yield LocalFile(its[0], self._root, its[1], NotReadError(_SPECIAL) if special else None)
            except OSError as error:
                if not self._went(error):
                    yield replace(self._refused(name or self._root.name, _not_opened(error)), unseen=True)

    def _went(self, error: OSError) -> bool:
        """Whether what was met went meanwhile, and not the whole folder, as a disk that is taken away."""
        with suppress(OSError):
            root = self._root.stat()
            return isinstance(error, FileNotFoundError) and (root.st_dev, root.st_ino) in self._seen
        return False

    def _linked(self, name: str, inside: tuple[str, ...]) -> Iterator[LocalFile]:
        try:
            real = Path(os.path.realpath(self._root.joinpath(*inside), strict=True))
            if not real.is_relative_to(self._root):
                yield self._refused(name, NotReadError(_OUTSIDE))
            elif real.is_dir():
                yield from self._below(name, real.relative_to(self._root).parts)
            elif not self._again(real.stat()):
                yield LocalFile(name, self._root, real.relative_to(self._root).parts)
        except OSError as error:
            yield self._refused(name, _not_opened(error))

    def _refused(self, name: str, why: NotReadError) -> LocalFile:
        return LocalFile(name, self._root, (), why)

    def _again(self, about: os.stat_result) -> bool:
        """Whether it was met before, under whatever name; it is from now on."""
        its = about.st_dev, about.st_ino
        there = its in self._seen
        self._seen.add(its)
        return there


def _not_opened(error: OSError) -> NotReadError:
    return NotReadError(_NOT_OPENED, why=os_reason(error))
