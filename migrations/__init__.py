"""The SQL schema's history. `upgrade` brings a database to this version, whole or not at all, with a copy before."""

import asyncio
import errno
import os
import sqlite3
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from glob import escape
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

_NO_PRIVILEGE = "42501"
_LOCK = 5_214_020_117  # PostgreSQL advisory lock: one process upgrades at a time
_PATIENCE_SECONDS = 60  # for another process that is upgrading


@dataclass(frozen=True, slots=True)
class Upgraded:
    """The outcome of an upgrade. `before` is None for a new database; `before == after`: there was nothing to do."""

    before: str | None
    after: str
    backup: Path | None  # the copy that was made first (SQLite)


class MigrationError(Exception):
    """The database was left as it was; `en` and `ja` say why, for people."""

    def __init__(self, en: str, ja: str) -> None:
        super().__init__(en)
        self.en = en
        self.ja = ja

    def text(self, language: Literal["ja", "en"]) -> str:
        return self.ja if language == "ja" else self.en


class NewerDatabaseError(MigrationError):
    """The database was made by a later version of the program."""


def revisions() -> tuple[str, frozenset[str]]:
    """The revision this program wants, and all it knows: the files of `versions/` begin with theirs."""
    known = {path.name.partition("_")[0] for path in (Path(__file__).parent / "versions").glob("[0-9]*_*.py")}
    return max(known), frozenset(known)


def way_back(file: Path | None) -> tuple[str, str]:
    """Advice about a database of a newer version, an SQLite file or one on a server; in English and in Japanese."""
    if file is None:
        return (
            "Update Kotae, or restore a backup from before the upgrade into an empty database.",
            "Kotae を更新するか、更新前のバックアップを空のデータベースに復元してください。",
        )
    # SQLite would take a log that stays behind for the copy's own, and damage it.
    name = file.name
    return (
        f"Update Kotae. Or go back: stop Kotae, move {name}, {name}-wal and {name}-shm away together, and put the copy "
        f"from before the upgrade (*.backup.db beside it) in the place of {name}.",
        f"Kotae を更新してください。元に戻すには、Kotae を止め、{name}・{name}-wal・{name}-shm をまとめて"
        f"別の場所に移してから、更新前のコピー（隣の *.backup.db）を {name} として置いてください。",
    )


def upgrade(url: str, *, to: str = "head", link: Mapping[str, Any] | None = None) -> Upgraded:
    """Bring the database at `url` (`sqlite+aiosqlite:///…` or `postgresql+asyncpg://…`) to this version.

    An SQLite file is made when there is none, and copied beside itself before a change; `link`: arguments of a server's
    driver. Blocks; may be called with or without a running event loop. Raises MigrationError.
    """
    address = make_url(url)
    file = Path(address.database) if address.get_backend_name() == "sqlite" and address.database else None
    try:
        if file is not None:
            _private(file)
        with ThreadPoolExecutor(1) as thread:
            done = thread.submit(asyncio.run, _upgrade(_engine(address, file, link or {}), file, to)).result()
        if file is not None:
            _write_ahead(file)
        return done
    except ModuleNotFoundError as error:
        raise MigrationError(
            "The driver of this database is not installed. For PostgreSQL: pip install 'kotae[postgres]'",
            "このデータベースのドライバーが入っていません。PostgreSQL の場合: pip install 'kotae[postgres]'",
        ) from error
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        if is_full(error):
            raise MigrationError(
                "There is no space left for the database, which was left as it was. Free some space and start again.",
                "データベースの空き容量がありません。データベースは元のまま残っています。空き容量を増やしてから、もう一度起動してください。",
            ) from error
        if file is None and isinstance(error, OSError):
            raise MigrationError(
                f"The database cannot be reached: {_short(error)}", f"データベースに接続できません: {_short(error)}"
            ) from error
        if _sqlstate(error) == _NO_PRIVILEGE:
            raise MigrationError(
                f"Kotae's role may not make its tables: {_short(error)}. Let the database's owner allow it, for "
                "example by GRANT CREATE ON SCHEMA public TO the role; then run kotae migrate.",
                f"Kotae のロールにはテーブルを作る権限がありません: {_short(error)}。データベースの所有者が、たとえば "
                "GRANT CREATE ON SCHEMA public TO ロール名 で許可してから、kotae migrate を実行してください。",
            ) from error
        raise MigrationError(
            f"The database could not be opened or upgraded, and was left as it was: {_short(error)}. kotae doctor says "
            "more.",
            f"データベースを開けないか、更新できませんでした。元のまま残っています: {_short(error)}。"
            "詳しくは kotae doctor で確認できます。",
        ) from error


async def _upgrade(engine: AsyncEngine, file: Path | None, to: str) -> Upgraded:
    try:
        # One transaction from reading the revision to the last change, so a second process waits and finds it done.
        async with engine.begin() as db:
            return await db.run_sync(_change, file, to)
    finally:
        await engine.dispose()


def _engine(address: URL, file: Path | None, link: Mapping[str, Any]) -> AsyncEngine:
    if file is None:
        return create_async_engine(address, hide_parameters=True, connect_args=dict(link))
    engine = create_async_engine(
        address, hide_parameters=True, connect_args={"isolation_level": None, "timeout": _PATIENCE_SECONDS}
    )
    # The driver's own transactions would leave tables of a failed upgrade behind; an explicit BEGIN covers them.
    event.listen(engine.sync_engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def _change(db: Connection, file: Path | None, to: str) -> Upgraded:
    if file is None:
        db.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    newest, known = revisions()
    wanted, before = newest if to == "head" else to, _revision(db)
    if before == wanted:
        return Upgraded(before, before, None)
    if before is not None and before not in known:
        en, ja = way_back(file)
        raise NewerDatabaseError(
            f"The database is of a newer version (revision {before}) than this program. {en}",
            f"データベースはこのプログラムより新しいバージョン（リビジョン {before}）のものです。{ja}",
        )
    if before is None and (strangers := set(inspect(db).get_table_names()) - {"alembic_version"}):
        raise MigrationError(
            f"The database holds tables that are not Kotae's ({', '.join(sorted(strangers)[:3])}). "
            "Please give Kotae a database of its own.",
            f"データベースに Kotae のものではないテーブル（{', '.join(sorted(strangers)[:3])}）があります。"
            "Kotae 専用のデータベースを指定してください。",
        )
    if file is None and before is None:
        _require_unicode(db)
    backup = _copy(file, before) if file is not None and before is not None else None
    # 11 MB that almost no start needs
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = db
    command.upgrade(config, to)
    return Upgraded(before, str(_revision(db)), backup)


def _require_unicode(db: Connection) -> None:
    """Raises MigrationError where a database could not hold every text: each document would be refused only later."""
    encoding = db.execute(text("SELECT current_setting('server_encoding')")).scalar()
    if encoding != "UTF8":
        raise MigrationError(
            f"The database's encoding is {encoding}, which not every text can be kept in. Please give Kotae one "
            "that was made with ENCODING 'UTF8' TEMPLATE template0.",
            f"データベースの文字コードが {encoding} のため、保存できない文字があります。"
            "ENCODING 'UTF8' TEMPLATE template0 で作ったデータベースを指定してください。",
        )


def _revision(db: Connection) -> str | None:
    """Of the database as it is; None: it has none."""
    if not inspect(db).has_table("alembic_version"):
        return None
    found = db.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def _write_ahead(file: Path) -> None:
    """Switch to WAL, here and for good: SQLite does not wait for the lock this needs, so two starting at once
    collide."""
    patience = time.monotonic() + _PATIENCE_SECONDS
    with closing(sqlite3.connect(file, timeout=_PATIENCE_SECONDS)) as db:
        while True:
            try:
                db.execute("PRAGMA journal_mode = WAL").fetchone()
                return
            except sqlite3.OperationalError:
                if time.monotonic() > patience:
                    raise
                time.sleep(0.02)


def copies(file: Path, which: str = "*.backup.*") -> list[Path]:
    """Copies that upgrades have left beside an SQLite file, some of them cut off. `which`: a glob pattern of what is
    behind the database's name."""
    return list(file.parent.glob(f"{escape(file.stem)}-{which}"))


def _copy(file: Path, revision: str) -> Path:
    """A whole copy by SQLite's backup API; it gets its name only when it is complete. The database's lock is held.

    In the place of earlier copies of that revision: an upgrade that fails at every start of a service would fill the
    disk with them.
    """
    earlier = copies(file, f"{revision}-*.backup.db")
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    backup = file.with_name(f"{file.stem}-{revision}-{moment}.backup.db")
    for killed in copies(file, "*.backup.part*"):
        killed.unlink()
    partial = backup.with_suffix(".part")
    _private(partial)
    try:
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(partial)) as target:
            source.backup(target)
        partial.replace(backup)
    finally:
        partial.unlink(missing_ok=True)
    for copied in earlier:
        if copied != backup:
            copied.unlink(missing_ok=True)
    return backup


def _private(file: Path) -> None:
    """Questions of private places live in it: readable by its owner only."""
    file.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))


def is_full(error: Exception) -> bool:
    """Whether the disk was full, as SQLite or the system says it."""
    cause: Any = getattr(error, "orig", None) or error
    name = str(getattr(cause, "sqlite_errorname", ""))
    return name in ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE") or getattr(cause, "errno", None) == errno.ENOSPC


def _sqlstate(error: Exception) -> str | None:
    """PostgreSQL's code of an error, Appendix A of its manual."""
    return getattr(getattr(error, "orig", None), "sqlstate", None)


def _short(error: Exception) -> str:
    cause: Any = getattr(error, "orig", None) or error
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return str(cause).strip().splitlines()[0] if str(cause).strip() else type(cause).__name__
