"""One file that holds a home's knowledge, made while the bot runs; `bot/operations/restore.py` makes a home from it.

In it: the database as of one moment (a PostgreSQL database as an SQLite file, too, so that either is restored into
either), the Markdown of every document in it, with the earlier versions that answers are still to be held against, and
the pairs of questions and answers, which the Markdown does not tell from text. Not in it: settings (secrets), the chat
log, and the vectors: copied under a running engine they would be of no certain moment, and they can be made again from
the rest. Source: reliability.md R48.
"""

import asyncio
import errno
import gzip
import hashlib
import io
import json
import logging
import os
import shutil
import sqlite3
import tarfile
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.config.settings import Settings
from bot.config.types import sqlite_url
from bot.knowledge.content_store import ContentFolder
from bot.knowledge.vector_store import make_stores
from bot.operations.copies import copying, sweep
from bot.operations.restore_marker import MANIFEST
from bot.records import DocumentRow
from bot.store.documents import Documents
from bot.store.engine import opened
from bot.store.inspection import copy, file_of, name_of, one_file, server_condition
from bot.store.transfer import dump
from bot.store.vector_stores import IndexRow, VectorStores
from migrations import is_full, revisions, upgrade
from retrieval.durable import replacing
from retrieval.folder import Made
from retrieval.i18n import Language, Text, TextError, os_reason, readable
from retrieval.index import Index
from retrieval.ingest import MAX_CHUNKS
from retrieval.types import RAGToolError, Readers, View

log = logging.getLogger(__name__)


FORMAT = 1
SUFFIX = ".tar.gz"

DATABASE = "kotae.db"
_TRIES = 10

_OTHER_VERSION = Text(
    en="The database {database} is of revision {revision}, and this version of Kotae backs up revision {wanted} only. "
    "Make the backup with the version that uses the database, or run kotae migrate first.",
    ja="データベース {database} はリビジョン {revision} ですが、このバージョンの Kotae がバックアップできるのは"
    "リビジョン {wanted} だけです。データベースを使っているバージョンでバックアップするか、先に kotae migrate を"
    "実行してください。",
)
_NOTHING = Text(
    en="There is no database at {file} yet, so there is nothing to back up.",
    ja="{file} にまだデータベースがないため、バックアップするものがありません。",
)
_MOVING = Text(
    en="Documents keep changing faster than they can be copied, or their text is missing ({count} of them). "
    "Try again when less is added; kotae doctor says whether text is missing.",
    ja="コピーより速く文書が変わり続けているか、本文が見つかりません（{count} 件）。"
    "登録が落ち着いてからもう一度お試しください。本文がないかどうかは kotae doctor で分かります。",
)
_DISK = Text(
    en="The backup {file} could not be written or read: {why}.",
    ja="バックアップ {file} を読み書きできませんでした: {why}",
)
_TAKEN = Text(
    en="There is already something at {file}, and a backup replaces nothing. Name a new file, or a folder: in it, each "
    "backup gets a name of its own.",
    ja="{file} はすでに存在します。バックアップは上書きしません。新しいファイル名か、フォルダーを指定してください"
    "（フォルダーの中では、バックアップごとに別の名前が付きます）。",
)
_BACKED_UP = Text(
    en="Backup written: {file} ({documents} document{documents:|s}, {size} KB). It holds everything people asked and "
    "taught; only its"
    " owner can read it. Settings and the chat log are not in it.",
    ja="バックアップを作成しました: {file}（文書 {documents} 件、{size} KB）。質問や登録内容がすべて含まれ、"
    "所有者だけが読めます。"
    "設定とチャットログは含まれません。",
)
_AS_TEXT = Text(
    en="The search index could not be read, so question-and-answer pairs come back as plain text.",
    ja="検索インデックスを読めなかったため、Q/A ペアは復元時に通常の文章になります。",
)


class BackupError(TextError):
    """Nothing was written or restored."""


@dataclass(frozen=True, slots=True)
class BackedUp:
    file: Path
    documents: int
    size: int  # bytes
    pairs_as_text: bool

    def text(self, language: Language) -> str:
        size = max(1, self.size // 1024)
        said = _BACKED_UP.to(language, file=self.file, documents=self.documents, size=size)
        return f"{said}\n{_AS_TEXT.to(language)}" if self.pairs_as_text else said

    def as_json(self, language: Language) -> dict[str, Any]:
        """The summary that a command prints or sends; `text` is for people."""
        return {
            "file": readable(str(self.file)),
            "documents": self.documents,
            "bytes": self.size,
            "pairs_as_text": self.pairs_as_text,
            "text": self.text(language),
        }


# -- out ------------------------------------------------------------------------------------------------------------


async def back_up(settings: Settings, target: Path, *, index: Index | None = None) -> BackedUp:
    """Write a backup to the new file `target`, or into it if it is a folder; whatever is there stays as it is.

    May run beside any number of processes. `index`: the home's search index where this process has it open; else it is
    opened if nobody else has it. Raises BackupError, StoreError, MigrationError.
    """
    file = file_of(settings.database_url)
    target = await asyncio.to_thread(_named, file, target)
    try:
        beside = target.absolute().parent
        await asyncio.to_thread(sweep, settings.home, beside)
        with copying(settings.home, beside) as staging:
            if file is None:
                rows, indexes = await _gather_from_server(settings, staging)
            else:
                rows, indexes = await _gather(file, settings.home / "documents", staging)
            as_text = not await _gather_pairs(settings, rows, indexes, staging, index)
            try:
                await asyncio.to_thread(_pack, staging, target, len(rows), indexes)
            except FileExistsError as error:  # made meanwhile
                raise BackupError(_TAKEN, file=target) from error
            return BackedUp(target, len(rows), target.stat().st_size, as_text)
    except (OSError, sqlite3.Error) as error:
        raise disk_error(target, error) from error


def _named(file: Path | None, target: Path) -> Path:
    if file is not None and not file.exists():
        raise BackupError(_NOTHING, file=file)
    if os.path.isdir(target):  # noqa: PTH112 (raises nothing: why it cannot be written is said when it is)
        target /= f"kotae-{datetime.now(UTC):%Y%m%dT%H%M%SZ}{SUFFIX}"
    if os.path.lexists(target):
        raise BackupError(_TAKEN, file=target)
    return target


async def _gather(file: Path, kept: Path, staging: Path) -> tuple[list[DocumentRow], list[IndexRow]]:
    """The database as of one moment, and every Markdown it names.

    A document that is replaced or forgotten after that moment may take its Markdown away before it is copied: then
    that moment is given up for a later one. An earlier version that is gone is only missed where answers are checked.
    """
    snapshot = staging / DATABASE
    missing: set[str] = set()
    for _ in range(_TRIES):
        await asyncio.to_thread(copy, file, snapshot)
        rows, indexes, addresses = await _contents(snapshot)
        missing = await asyncio.to_thread(_copy_markdown, addresses, kept, staging)
        missing &= {row.markdown for row in rows}
        if not missing:
            return rows, indexes
    raise BackupError(_MOVING, count=len(missing))


async def _gather_from_server(settings: Settings, staging: Path) -> tuple[list[DocumentRow], list[IndexRow]]:
    """The same from one moment of the server's database, which has the Markdown, too."""
    found = await server_condition(settings.database_url, settings.link)
    if not found.current:
        name, revision = name_of(settings.database_url), found.revision or "-"
        raise BackupError(_OTHER_VERSION, database=name, revision=revision, wanted=found.wanted)

    async def text_of(address: str, data: bytes) -> None:
        await asyncio.to_thread(_write, staging / "documents" / address[:2] / f"{address}.md", data)

    file = staging / DATABASE
    await asyncio.to_thread(upgrade, sqlite_url(file))
    async with opened(settings.database_url, settings.link) as server, opened(sqlite_url(file)) as to:
        await dump(server, to, text_of)
        rows, indexes = await Documents(to, "").listed(), await VectorStores(to).listed()
    await asyncio.to_thread(one_file, file)
    if lost := await ContentFolder(staging / "documents").lost({row.markdown for row in rows}):
        raise BackupError(_MOVING, count=len(lost))
    return rows, indexes


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


async def _contents(snapshot: Path) -> tuple[list[DocumentRow], list[IndexRow], set[str]]:
    """With the addresses of the Markdown that is needed. Read from a copy of the copy at this version's schema: the
    backup itself stays as the database was."""
    current = snapshot.with_name("current.db")
    await asyncio.to_thread(shutil.copyfile, snapshot, current)
    try:
        await asyncio.to_thread(upgrade, sqlite_url(current))
        async with opened(sqlite_url(current)) as engine:
            documents = Documents(engine, "")
            return await documents.listed(), await VectorStores(engine).listed(), await documents.kept()
    finally:
        for left in snapshot.parent.glob("current*"):  # with its log and the copy from before an upgrade
            left.unlink()


def _copy_markdown(addresses: Collection[str], kept: Path, staging: Path) -> set[str]:
    """The addresses of what could not be copied."""
    missing = set()
    for address in addresses:
        copied = staging / "documents" / address[:2] / f"{address}.md"
        if copied.exists():
            continue
        try:
            data = (kept / address[:2] / f"{address}.md").read_bytes()
        except FileNotFoundError:
            data = b""
        if hashlib.sha256(data).hexdigest() != address:
            missing.add(address)
            continue
        _write(copied, data)
    return missing


async def _gather_pairs(
    settings: Settings, rows: Sequence[DocumentRow], indexes: Sequence[IndexRow], staging: Path, index: Index | None
) -> bool:
    """A file for each document of pairs; False when there are documents, but no index to ask."""
    if not rows:
        return True
    opened = None
    if index is None:
        index = opened = await _open_index(settings, indexes)
    if index is None:
        return False
    try:
        for row in rows:
            view = View(Readers(frozenset({row.scope})), row.born)
            first = await index.passages(row.id, range(1), view)
            if not first or first[0].question is None:
                continue
            passages = await index.passages(row.id, range(MAX_CHUNKS), view)
            pairs = [(one.question, one.text) for one in passages if one.question is not None]
            if len(passages) == row.chunks:  # else it was replaced meanwhile
                path = staging / "pairs" / f"{row.id}.json"
                path.parent.mkdir(exist_ok=True)
                path.write_text(json.dumps(pairs, ensure_ascii=False), encoding="utf-8")
    except RAGToolError:
        log.warning("the search index could not be read for the backup", exc_info=True)
        return False
    finally:
        if opened is not None:
            await opened.close()
    return True


async def _open_index(settings: Settings, indexes: Sequence[IndexRow]) -> Index | None:
    row = max(indexes, key=lambda one: one.generation, default=None)
    if row is None:
        return None
    made = Made(row.embedder, row.dimensions, row.tokenizer)
    try:
        stores = make_stores(settings)
        return await stores.open(made) if await stores.there(made) else None
    except RAGToolError:  # a running bot has it open, it is damaged, or its server is not reached
        return None


def _pack(staging: Path, target: Path, documents: int, indexes: Sequence[IndexRow]) -> None:
    """The archive gets its name when it is whole and on the disk."""
    names = sorted(path.relative_to(staging).as_posix() for path in staging.rglob("*") if path.is_file())
    manifest = {
        "kotae": FORMAT,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "revision": revisions()[0],
        "documents": documents,
        "indexes": [asdict(row) for row in indexes],
        "files": {name: {"sha256": digest(staging / name), "size": (staging / name).stat().st_size} for name in names},
    }
    with (
        replacing(target, staging, anew=True) as raw,  # where it goes with the rest when this is killed
        gzip.GzipFile("", "wb", 6, raw) as packed,
        tarfile.open(fileobj=packed, mode="w|") as archive,
    ):
        data = json.dumps(manifest, ensure_ascii=False).encode()
        archive.addfile(_entry(MANIFEST, len(data)), io.BytesIO(data))
        for name in (DATABASE, *(name for name in names if name != DATABASE)):
            with (staging / name).open("rb") as file:
                archive.addfile(_entry(name, (staging / name).stat().st_size), file)


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    return entry


# -- small things ---------------------------------------------------------------------------------------------------


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def disk_error(file: Path, error: OSError | sqlite3.Error) -> BackupError:
    cause = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) if is_full(error) else error
    why = os_reason(cause) if isinstance(cause, OSError) else str(cause) or type(cause).__name__
    return BackupError(_DISK, file=file, why=why)
