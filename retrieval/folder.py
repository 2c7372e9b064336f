"""The folder of an embedded store: who owns it, what its vectors were made with, and how its log reaches the disk."""

import errno
import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from retrieval.durable import make_folder, replacing, to_disk
from retrieval.i18n import Text, os_reason
from retrieval.types import EmbeddingError, QdrantConnectionError

_OWNED = Text(
    en="Another Kotae is running on this home ({folder}). Stop it first, or set KOTAE_HOME to another folder.",
    ja="このホーム（{folder}）では別の Kotae が動いています。先にそれを止めるか、KOTAE_HOME "
    "に別のフォルダーを指定してください。",
)
_DAMAGED = Text(
    en="The search index in {folder} cannot be read. `kotae reindex --set-aside` moves it aside and builds it anew from"
    " the kept documents.",
    ja="{folder} の検索インデックスを読み込めません。`kotae reindex --set-aside` を実行すると、"
    "これを別のフォルダーに移し、"
    "保存してある文書から作り直します。",
)
_UNUSABLE = Text(
    en="The folder {folder} cannot be used for the search index: {why}.",
    ja="フォルダー {folder} を検索インデックスに使えません: {why}",
)
_MISMATCH = Text(
    en="The search index in {folder} was made with {was}, but now {wanted} is set, and the two cannot be mixed."
    " Set KOTAE_EMBEDDER and KOTAE_EMBEDDING_DIM back, or move that folder away and build the index anew with"
    " `kotae reindex`.",
    ja="{folder} の検索インデックスは {was} で作られていますが、現在の設定は {wanted} です。混在はできません。"
    "KOTAE_EMBEDDER と KOTAE_EMBEDDING_DIM を元に戻すか、このフォルダーを別の場所に移して `kotae reindex` "
    "で作り直してください。",
)

# An error of the system in the engine's words, which are Rust's: "… (os error 13)", "Os { code: 12, … }".
_SYSTEM = re.compile(r"(?:os error |code: |Errno )(\d+)")
_NO_DAMAGE = {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.ENOSPC,
    errno.EDQUOT,
}

_FORMAT = 1
_NAME_BYTES = 128
_NOTE = "kotae.json"
MARK = "home"


class DamagedError(QdrantConnectionError):
    """The store is there and nobody else has it, but it cannot be read."""


@dataclass(frozen=True, slots=True)
class Made:
    """The makers of a store's vectors; vectors of two kinds never meet in one store."""

    embedder: str
    dimensions: int
    tokenizer: str
    format: int = _FORMAT

    def same_embedder(self, other: "Made") -> bool:
        return (self.embedder, self.dimensions) == (other.embedder, other.dimensions)

    def __str__(self) -> str:
        return f"{self.embedder} ({self.dimensions} d, {self.tokenizer}, format {self.format})"


class OwnedError(QdrantConnectionError):
    """Somebody else owns the folder."""


def own(folder: Path) -> int:
    """Make `folder` where it is missing and become its only owner, until the returned descriptor is closed.

    Our own lock, because the engine looks at its own only after it has read everything (2 s at 20k points). Raises
    OwnedError, and QdrantConnectionError when it cannot be used.
    """
    try:
        make_folder(folder)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise QdrantConnectionError(_UNUSABLE, folder=folder, why=os_reason(error)) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:  # also of a share that has no locks
        os.close(lock)
        if isinstance(error, BlockingIOError):
            raise OwnedError(_OWNED, folder=folder) from error
        raise QdrantConnectionError(_UNUSABLE, folder=folder, why=os_reason(error)) from error
    return lock


def hand_over(lock: int, owner: str) -> str:
    """Note in the lock of a folder whose it is now; who had it before, and is gone since nobody else has the lock: ""
    where that is not known."""
    try:
        before = os.pread(lock, _NAME_BYTES, 0).decode(errors="replace").strip()
        os.pwrite(lock, owner.encode().ljust(_NAME_BYTES), 0)
    except OSError:  # a full disk
        return ""
    return before


def build(store: Path, made: Made, create: Callable[[Path], None], home: str | None = None) -> None:
    """Let `create` make a store, under another name until it is whole, so that a crash leaves no half of one. `home`:
    whose it is, from the first moment."""
    unfinished = store.with_name(store.name + ".new")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        create(unfinished)
        with replacing(unfinished / _NOTE) as note:
            note.write(json.dumps(asdict(made)).encode())
        if home is not None:
            sign(unfinished, home)
        unfinished.replace(store)
        to_disk(store.parent)
    except Exception as error:
        raise unusable(store.parent, error) from error


def other_of(store: Path) -> Path:
    """The place of a store that is to be had instead."""
    return store.with_name(store.name + ".other")


def replace_with_other(store: Path) -> None:
    """Have the other store, which is whole and on the disk, in the place of this one, which nobody has open. Raises
    OSError; whatever ends it early, `put_back` is to follow."""
    store.rename(_before(store))  # no portable call puts one folder in the place of another
    other_of(store).rename(store)
    to_disk(store.parent)


def put_back(store: Path) -> None:
    """Have a store in its place of which `replace_with_other` was cut short, and delete what is left of that. For the
    folder's owner. Raises OSError."""
    if there(store) and not store.exists():
        _before(store).rename(store)
    for left in (_before(store), other_of(store)):
        shutil.rmtree(left, ignore_errors=True)


def there(store: Path) -> bool:
    """Whether there is a store, which may be about to be replaced."""
    return store.exists() or _before(store).exists()


def _before(store: Path) -> Path:
    return store.with_name(store.name + ".before")


def occupied(folder: Path) -> int:
    """The bytes on the disk that the files of a folder take."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def check(store: Path, made: Made) -> None:
    """Raises EmbeddingError when the store was made with something else, QdrantConnectionError when it does not say."""
    try:
        was = _written_in(store)
    except OSError as error:
        raise not_opened(store.parent, error) from error
    if was is None:
        raise damaged(store.parent)
    if was != made:
        raise EmbeddingError(_MISMATCH, folder=store.parent, was=was, wanted=made)


def written_in(store: Path) -> Made | None:
    """The makers as the store itself names them; None when there is none or it does not say."""
    try:
        return _written_in(store)
    except OSError:
        return None


def _written_in(store: Path) -> Made | None:
    try:
        return Made(**json.loads((store / _NOTE).read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        return None


def home_in(folder: Path) -> str | None:
    """The home that a store, or another folder, says it belongs to; None when it does not say. Raises OSError."""
    try:
        return (folder / MARK).read_text(encoding="utf-8", errors="replace").strip() or None
    except FileNotFoundError:
        return None


def sign(folder: Path, home: str) -> None:
    """Write down, durably, whose a store or another folder is; in a file that versions before this one do not look at.
    Raises OSError."""
    with replacing(folder / MARK) as file:
        file.write(f"{home}\n".encode())


def unusable(folder: Path, error: Exception) -> QdrantConnectionError:
    return QdrantConnectionError(_UNUSABLE, folder=folder, why=error)


def damaged(folder: Path) -> DamagedError:
    return DamagedError(_DAMAGED, folder=folder)


def not_opened(folder: Path, error: BaseException) -> QdrantConnectionError:
    """Why there is no opening the store in a folder: it is damaged, unless the system refused something else."""
    found = _SYSTEM.search(str(error))
    if found is None or (number := int(found[1])) not in _NO_DAMAGE:
        return damaged(folder)
    why = os_reason(OSError(number, os.strerror(number)))
    return QdrantConnectionError(_UNUSABLE, folder=folder, why=why)


def sync(folder: Path) -> None:
    """Return when what was written to the files of `folder` is on the disk, also through memory maps."""
    for path in (*folder.iterdir(), folder):
        try:
            file = os.open(path, os.O_RDONLY)
        except FileNotFoundError:  # the engine drops the files it no longer needs
            continue
        try:
            os.fsync(file)
        finally:
            os.close(file)
