"""A home made from a backup (`bot/operations/backup.py`): whole, or refused, or as empty as it was; never half of
one."""

import asyncio
import errno
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import sqlite3
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from bot.config.settings import Settings, make_home
from bot.config.types import sqlite_url
from bot.knowledge.content_store import ContentFolder
from bot.knowledge.identity import Identity
from bot.knowledge.vector_store import make_stores
from bot.operations.backup import DATABASE, FORMAT, BackupError, digest, disk_error
from bot.operations.copies import NOTES
from bot.operations.restore_marker import MANIFEST, UNFINISHED, unfinished
from bot.records import DocumentRow
from bot.store.documents import Documents
from bot.store.engine import opened
from bot.store.erasure import close_open_turns
from bot.store.homes import Homes
from bot.store.inspection import file_of, name_of, whole
from bot.store.transfer import FilledError, filled, load
from bot.store.vector_stores import IndexRow, VectorStores
from migrations import upgrade
from retrieval.durable import to_disk
from retrieval.embeddings.base import EmbeddingClient
from retrieval.folder import Made, own
from retrieval.i18n import Language, Text, TextError
from retrieval.index import Index
from retrieval.index.stores import EdgeStores
from retrieval.ingest import Ingest
from retrieval.sparse import TOKENIZER, SparseEncoder
from retrieval.types import Document, QAPair

Progress = Callable[[int, int], None]

_MARKDOWN = re.compile(r"documents/([0-9a-f]{2})/(\1[0-9a-f]{62})\.md")
_PAIRS = re.compile(r"pairs/[0-9a-f]{32}\.json")
_MANIFEST_BYTES = 256 * 2**20
_HEADER_BYTES = 2**20  # between two files: tarfile reads the headers of headers whole, however long they say they are
_BLOCK = 2**20
_MAY_BE_THERE = frozenset({"lock", "logs", "cache", NOTES, UNFINISHED, "lost+found"})

_NO_BACKUP = Text(
    en="{file} is not a backup of Kotae's, or it is damaged ({why}). Nothing was restored.",
    ja="{file} は Kotae のバックアップではないか、壊れています（{why}）。何も復元していません。",
)
_NOT_PACKED = Text(en="it is no gzip archive", ja="gzip 形式ではありません")
_CUT_OFF = Text(en="it is cut off or cannot be unpacked", ja="途中で切れているか、展開できません")
_HEADERS = Text(en="its headers have no end", ja="ヘッダーに終わりがありません")
_NO_MANIFEST = Text(en="it has no list of its files", ja="ファイルの一覧がありません")
_NO_DATABASE = Text(en="there is no database in it", ja="データベースが入っていません")
_UNEXPECTED = Text(en="unexpected in it: {name}", ja="想定外のものが入っています: {name}")
_MISSING = Text(en="{n} file{n:|s} of it {n:is|are} missing", ja="{n} 件のファイルがありません")
_CHANGED = Text(en="changed: {name}", ja="内容が変わっています: {name}")
_UNSOUND = Text(en="its database is damaged", ja="データベースが壊れています")
_TEXTLESS = Text(en="{n} document{n:|s} without {n:its|their} text", ja="本文のない文書が {n} 件あります")
_NEWER_FILE = Text(
    en="{file} was made by a newer version of Kotae. Update Kotae first. Nothing was restored.",
    ja="{file} はより新しいバージョンの Kotae で作られています。先に Kotae を更新してください。何も復元していません。",
)
_NOT_EMPTY = Text(
    en="{where} is not empty. A backup is restored only where nothing can be lost: set KOTAE_HOME to a new folder.",
    ja="{where} は空ではありません。上書きを避けるため、復元先には新しいフォルダーを KOTAE_HOME に指定してください。",
)
_NOT_EMPTY_SERVER = Text(
    en="The database {database} is not empty. A backup is restored only where nothing can be lost: set DATABASE_URL to"
    " a new database.",
    ja="データベース {database} は空ではありません。上書きを避けるため、復元先には新しいデータベースを DATABASE_URL に"
    "指定してください。",
)
_OTHERS = Text(
    en="The collection {place} is another home's, perhaps of the one that was backed up, which may be at work. Set "
    "KOTAE_QDRANT_PREFIX to a name of its own. Nothing was restored.",
    ja="コレクション {place} は別のホームのものです（バックアップ元のホームが使用中かもしれません）。"
    "KOTAE_QDRANT_PREFIX に別の名前を指定してください。何も復元していません。",
)
_RESTORED = Text(
    en="Restored into {home}: {documents} document{documents:|s}, {chunks} chunk{chunks:|s} re-indexed in {seconds} s.",
    ja="{home} に復元しました。文書 {documents} 件、チャンク {chunks} 件を {seconds} 秒で再インデックスしました。",
)


@dataclass(frozen=True, slots=True)
class Restored:
    home: Path
    documents: int
    chunks: int
    seconds: float

    def text(self, language: Language) -> str:
        return _RESTORED.to(
            language, home=self.home, documents=self.documents, chunks=self.chunks, seconds=f"{self.seconds:.1f}"
        )


async def restore(
    source: Path,
    settings: Settings,
    embedder: EmbeddingClient,
    *,
    progress: Progress | None = None,
) -> Restored:
    """Make the home of `settings` from a backup. Its vectors are made anew by `embedder`; an older database is
    upgraded.

    Everything is prepared in a folder inside the home (which may be the root of a disk), then moved into place; until
    it is, `unfinished` says so and the next restore starts anew. It becomes a home of its own, since the one that the
    backup is of may be at work: on a Qdrant server the vectors are written at once, to a new collection or to one that
    an earlier restore of this backup into this database has begun.
    `progress(done, total)` counts passages. Raises BackupError, MigrationError, RAGToolError, SettingsError,
    StoreError."""
    began = asyncio.get_running_loop().time()
    file, home = file_of(settings.database_url), settings.home
    staging = home / UNFINISHED
    try:
        await asyncio.to_thread(_refuse_used, home, file)
        full = file is None and await _is_filled(settings)
        if full and not unfinished(home):
            raise BackupError(_NOT_EMPTY_SERVER, database=name_of(settings.database_url))
        if file is None and not full:
            await _upgrade_server(settings)
        make_home(home)
        lock = own(home)  # nobody starts here meanwhile
        try:
            try:
                await asyncio.to_thread(_unpack, source, staging)
                if full:
                    rows = await _arrived(staging, settings)
                else:
                    rows = await _prepare(staging, source, settings, embedder, progress)
            except BaseException:
                with suppress(OSError):
                    _clear(staging)
                raise
            if file is not None:
                await asyncio.to_thread(_move, staging, home, "vectors", "documents")
                await asyncio.to_thread(_move_database, staging, file)
            elif not full:
                await asyncio.to_thread(_move, staging, home, "vectors")
                await _fill_server(staging, settings)
            await asyncio.to_thread(_done, staging, home)
        finally:
            os.close(lock)
    except (OSError, sqlite3.Error) as error:
        raise disk_error(source, error) from error
    seconds = asyncio.get_running_loop().time() - began
    return Restored(home, len(rows), sum(row.chunks for row in rows), seconds)


def _refuse_used(home: Path, file: Path | None) -> None:
    half = unfinished(home)
    if file is not None and file.exists() and not half:
        raise BackupError(_NOT_EMPTY, where=file)
    there = {path.name for path in home.iterdir()} if home.is_dir() else set()
    if half:  # a restore that was cut off may have moved these already
        there -= {"documents", "vectors"} | ({file.name, _arriving(file).name} if file is not None else set())
    if there - _MAY_BE_THERE:
        raise BackupError(_NOT_EMPTY, where=home)


async def _is_filled(settings: Settings) -> bool:
    """Whether there is something in the server's database, of whatever version it is. Raises StoreError."""
    async with opened(settings.database_url, settings.link) as server:
        return await filled(server)


async def _upgrade_server(settings: Settings) -> None:
    """For a database that is ours to fill: one that is in use stays at its version. Raises MigrationError."""
    await asyncio.to_thread(upgrade, settings.database_url, link=settings.link.arguments())


def _unpack(source: Path, staging: Path) -> None:
    """The archive's files in `staging`, each with the size and the checksum that the manifest says, and no others."""
    _clear(staging)
    try:
        with source.open("rb") as raw, gzip.open(raw) as unzipped:
            packed = _Metered(unzipped)
            archive = tarfile.open(fileobj=packed, mode="r|")  # noqa: SIM115 (closing would read it to its end)
            entries = _entries(archive, packed)
            manifest = _manifest(source, archive, entries)
            expected: dict[str, Mapping[str, Any]] = dict(manifest["files"])
            _refuse_larger_than(shutil.disk_usage(staging.parent).free, expected)
            staging.mkdir(mode=0o700)
            (staging / MANIFEST).write_text("{}", encoding="utf-8")  # from here on the home is an unfinished one
            for entry in entries:
                about = expected.pop(entry.name, None)
                if about is None or not _is_file(entry) or entry.size != about["size"] or not _expected(entry.name):
                    raise _Damaged(_UNEXPECTED, name=entry.name[:100])
                _extract(archive, entry, staging, str(about["sha256"]))
            if expected:
                raise _Damaged(_MISSING, n=len(expected))
    except _Damaged as error:
        raise BackupError(_NO_BACKUP, file=source, why=error.said) from error
    except gzip.BadGzipFile as error:
        raise BackupError(_NO_BACKUP, file=source, why=_NOT_PACKED) from error
    except (tarfile.TarError, EOFError, zlib.error, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BackupError(_NO_BACKUP, file=source, why=_CUT_OFF) from error


class _Damaged(TextError):
    """The archive is not what was packed."""


class _Metered(io.BufferedIOBase):
    """An unpacked archive, of which so many bytes more are read."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file = file
        self.left = _HEADER_BYTES

    def read(self, size: int | None = -1, /) -> bytes:
        read = self._file.read(-1 if size is None else size)
        self.left -= len(read)
        if self.left < 0:
            raise _Damaged(_HEADERS)
        return read


def _entries(archive: tarfile.TarFile, packed: _Metered) -> Iterator[tarfile.TarInfo]:
    while True:
        packed.left = _HEADER_BYTES
        entry = archive.next()
        if entry is None:
            return
        packed.left += entry.size
        yield entry


def _is_file(entry: tarfile.TarInfo) -> bool:
    return entry.isreg() and not entry.issparse()  # which has no end but the disk's


def _refuse_larger_than(room: int, files: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises OSError."""
    if sum(about["size"] for about in files.values()) > room:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _manifest(source: Path, archive: tarfile.TarFile, entries: Iterator[tarfile.TarInfo]) -> dict[str, Any]:
    first = next(entries, None)
    if first is None or first.name != MANIFEST or not _is_file(first) or first.size > _MANIFEST_BYTES:
        raise _Damaged(_NO_MANIFEST)
    manifest = json.loads(_reader(archive, first).read())
    if manifest["kotae"] > FORMAT:
        raise BackupError(_NEWER_FILE, file=source)
    if DATABASE not in manifest["files"]:
        raise _Damaged(_NO_DATABASE)
    return dict(manifest)


def _expected(name: str) -> bool:
    return name == DATABASE or bool(_MARKDOWN.fullmatch(name) or _PAIRS.fullmatch(name))


def _extract(archive: tarfile.TarFile, entry: tarfile.TarInfo, staging: Path, digest: str) -> None:
    path = staging / entry.name
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    seen = hashlib.sha256()
    reader = _reader(archive, entry)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while block := reader.read(_BLOCK):
            seen.update(block)
            file.write(block)
    if seen.hexdigest() != digest or (entry.name.endswith(".md") and path.stem != digest):
        raise _Damaged(_CHANGED, name=entry.name)


def _reader(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    reader = archive.extractfile(entry)
    if reader is None:
        raise _Damaged(_UNEXPECTED, name=entry.name[:100])
    return reader


async def _prepare(
    staging: Path,
    source: Path,
    settings: Settings,
    embedder: EmbeddingClient,
    progress: Progress | None,
) -> list[DocumentRow]:
    """The database at this version with nothing open in it, and the vectors of its documents."""
    database = staging / DATABASE
    if not await asyncio.to_thread(whole, database):
        raise BackupError(_NO_BACKUP, file=source, why=_UNSOUND)
    home = await asyncio.to_thread(_identity, database, settings)
    await asyncio.to_thread(_brought_up, database)
    async with opened(sqlite_url(database)) as engine:
        await Homes(engine).become(home)
        await close_open_turns(engine)
        rows = await Documents(engine, "").listed()
        lost = [row for row in rows if not _kept(staging, row).exists()]
        if lost:
            raise BackupError(_NO_BACKUP, file=source, why=_Damaged(_TEXTLESS, n=len(lost)).said)
        made = Made(embedder.name, embedder.dimensions, TOKENIZER)
        stores = EdgeStores(staging / "vectors", home) if settings.qdrant_url is None else make_stores(settings, home)
        current = await VectorStores(engine).current()
        identity = Identity.of(settings, home, current.generation if current else 0, rows)
        index = await stores.open(made)
        try:
            await _take(index, identity)
            ingest = Ingest(embedder, SparseEncoder(), index, max_chars=settings.chunk_size)
            counts = await rebuild(rows, staging, index, ingest, progress)
        finally:
            await index.close()
        await VectorStores(engine).swap(
            IndexRow(made.embedder, made.dimensions, made.tokenizer, identity.generation), counts
        )
        await asyncio.to_thread(replace(identity, texts=staging / "documents").own_texts)
        return [row.with_(chunks=counts[row.id]) for row in rows]


def _identity(database: Path, settings: Settings) -> str:
    """Of the home that this backup becomes there; the same one each time, so that a restore can go on. Places of two
    machines may be called the same, as in containers: the folder's number tells them apart."""
    there = f"{name_of(settings.database_url)} {settings.home.stat().st_ino}"
    return hashlib.sha256(f"{digest(database)} {there}".encode()).hexdigest()[:32]


def _brought_up(database: Path) -> None:
    upgrade(sqlite_url(database))
    for copied in database.parent.glob("*.backup.db"):
        copied.unlink()


async def rebuild(
    rows: Sequence[DocumentRow], kept: Path, index: Index, ingest: Ingest, progress: Progress | None
) -> dict[str, int]:
    """Write the points of documents as they were written first, with the same ids; returns each one's chunks by its
    id."""
    counts: dict[str, int] = {}
    total = sum(row.chunks for row in rows)
    for row in rows:
        if progress:
            progress(min(total, sum(counts.values())), total)
        document = await asyncio.to_thread(_read, kept, row)
        await index.discard(row.id)
        counts[row.id] = await ingest.stage(document, row.about(), version=row.hash)
        await index.publish(row.id, at=row.born)
    if progress:
        progress(total, total)
    return counts


def _read(kept: Path, row: DocumentRow) -> Document:
    pairs = kept / "pairs" / f"{row.id}.json"
    read = json.loads(pairs.read_bytes()) if pairs.exists() else []
    markdown = _kept(kept, row).read_bytes().decode("utf-8")
    return Document(row.name, markdown, row.title, tuple(QAPair(question, answer) for question, answer in read))


async def _take(index: Index, identity: Identity) -> None:
    """The index shows nothing that came after the backup. Raises BackupError when it is another home's."""
    if index.home != identity.home:
        raise BackupError(_OTHERS, place=index.place)
    await index.roll_back(identity.generation)
    await index.unstage()


def _arriving(file: Path) -> Path:
    """Beside the database's place, which may be on another disk than the home."""
    return file.with_name(f"{file.name}.restoring")


def _move(staging: Path, home: Path, *folders: str) -> None:
    """Moves the prepared folders to their places; the mark that it is unfinished goes last, in `_done`."""
    os.sync()
    for name in folders:
        shutil.rmtree(home / name, ignore_errors=True)  # of a restore that was cut off here
        if (staging / name).exists():
            (staging / name).replace(home / name)


def _move_database(staging: Path, file: Path) -> None:
    left = [path for path in (staging / f"{DATABASE}-wal",) if path.exists() and path.stat().st_size]
    if left:
        raise OSError("the prepared database is still open")
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    arriving = _arriving(file)
    shutil.copyfile(staging / DATABASE, arriving)
    arriving.chmod(0o600)
    to_disk(arriving)
    for old in (Path(f"{file}-wal"), Path(f"{file}-shm")):
        old.unlink(missing_ok=True)
    arriving.replace(file)
    to_disk(file.parent)


async def _fill_server(staging: Path, settings: Settings) -> None:
    """All or nothing; a second run after a crash either finds nothing, or all of it (`_arrived`)."""
    kept = ContentFolder(staging / "documents")

    async def text_of(address: str) -> str | None:
        return None if await kept.lost({address}) else await kept.read(address)

    try:
        async with (
            opened(sqlite_url(staging / DATABASE)) as file,
            opened(settings.database_url, settings.link) as server,
        ):
            await load(file, server, text_of)
    except FilledError as error:
        raise BackupError(_NOT_EMPTY_SERVER, database=name_of(settings.database_url)) from error


async def _arrived(staging: Path, settings: Settings) -> list[DocumentRow]:
    """The documents of a server's database that a restore into this home has filled, cut off right after. Raises
    BackupError when it is another home's."""
    home = await asyncio.to_thread(_identity, staging / DATABASE, settings)
    async with opened(settings.database_url, settings.link) as server:
        if await Homes(server).known() != home:
            raise BackupError(_NOT_EMPTY_SERVER, database=name_of(settings.database_url))
        await _upgrade_server(settings)
        return await Documents(server, "").listed()


def _done(staging: Path, home: Path) -> None:
    to_disk(home)
    _clear(staging)


def _clear(staging: Path) -> None:
    """Delete what was prepared. The mark that it is unfinished goes last: there is a copy of the database, which must
    not stay unnoticed when this is cut off. Raises OSError."""
    for path in staging.iterdir() if staging.exists() else ():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != MANIFEST:
            path.unlink()
    shutil.rmtree(staging, ignore_errors=True)


def _kept(folder: Path, row: DocumentRow) -> Path:
    return folder / "documents" / row.markdown[:2] / f"{row.markdown}.md"
