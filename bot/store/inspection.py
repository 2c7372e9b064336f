"""The condition of a database, looked at without changing it: its revision, whether it is whole and takes writes; and a
copy of an SQLite file while others write to it. Source: sqlite.org/backup.html,
sqlite.org/pragma.html#pragma_integrity_check."""

import os
import shutil
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sqlalchemy import func, select, text
from sqlalchemy.engine import make_url

from bot.errors import StoreError
from bot.store.engine import POOLED, Engine, alone, in_words, on_server, opened, refuse_kept_out, rows, write
from bot.store.link import ServerLink
from migrations import revisions
from retrieval.i18n import Text

Wholeness = Literal["whole", "damaged", "unknown"]

_STEPS = 100_000  # of SQLite's machine between two looks at the clock: some ms
_BUSY_SECONDS = 3.0
_LOOKS = 4  # at the session that each of two connections is in
_CONNECTIONS = text(
    "SELECT rolsuper, rolconnlimit, datconnlimit, current_setting('max_connections')::int AS everybody,"
    " current_setting('superuser_reserved_connections')::int"
    " + coalesce(current_setting('reserved_connections', true)::int, 0) AS reserved"
    " FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()"
)
_THERE = text("SELECT to_regclass(CAST(:table AS text)) IS NOT NULL AS there")
_OLDER = Text(
    en="The database is of revision {revision}, and processes of an older version have it open ({names}). This version "
    "would upgrade it to {wanted} under them. Stop them and run kotae migrate first, or use their version here.",
    ja="データベースはリビジョン {revision} で、古いバージョンのプロセス（{names}）が使用中です。"
    "このバージョンで開くと、使用中のままリビジョン {wanted} に更新されます。先にそれらを止めて kotae migrate を実行"
    "するか、同じバージョンの Kotae を使ってください。",
)
_ONE_FILE = "PRAGMA journal_mode = DELETE"


@dataclass(frozen=True, slots=True)
class Condition:
    """`revision` None: none of our tables are there. `known`: this program has a revision of that name."""

    revision: str | None
    known: bool
    wanted: str
    whole: Wholeness  # unknown: it took too long to find out
    trouble: Literal["", "read_only", "busy", "full"] = ""  # with writing

    @property
    def current(self) -> bool:
        return self.revision == self.wanted and self.whole != "damaged"


def file_of(url: str) -> Path | None:
    """The file of an SQLite address; None for a server's."""
    address = make_url(url)
    return Path(address.database) if address.get_backend_name() == "sqlite" and address.database else None


def unbegun(url: str) -> bool:
    """Whether it is an SQLite file to which nothing was ever written. Raises OSError."""
    file = file_of(url)
    return file is not None and not (file.exists() and file.stat().st_size > 0)


def name_of(url: str) -> str:
    """The database as people know it, without secrets: its file, or its server and name."""
    address = make_url(url)
    hosts = address.query.get("host", "localhost")
    there = address.host or (hosts if isinstance(hosts, str) else ",".join(hosts))
    return str(file_of(url) or f"{there}/{address.database}")


def condition(file: Path, *, seconds: float) -> Condition:
    """Of an SQLite file that exists. Blocks, the check for damage at most for `seconds`. Raises OSError."""
    os.close(os.open(file, os.O_RDONLY))  # says who may not read, which SQLite does not
    wanted, known = revisions()
    try:
        with closing(sqlite3.connect(_uri(file, "ro"), uri=True, timeout=_BUSY_SECONDS)) as db:
            revision = _revision(db)
            whole = _wholeness(db, seconds)
    except sqlite3.OperationalError as error:
        return Condition(None, True, wanted, "unknown", _trouble(error) or "busy")
    except sqlite3.DatabaseError:
        return Condition(None, True, wanted, "damaged")
    return Condition(revision, revision is None or revision in known, wanted, whole, _writable(file))


async def probe(engine: Engine) -> None:
    """Write a row as it is, and commit it: a transaction without a change finds no full disk. Waits little for another
    program that has it locked. Raises StoreError."""
    refuse_kept_out(engine)
    async with write(engine, durable=False, tries=1) as db:
        await db.execute(text("UPDATE alembic_version SET version_num = version_num"))


async def require_sessions(engine: Engine) -> None:
    """Raises StoreError where connections to a server share its sessions, as behind PgBouncer in transaction mode: an
    advisory lock then stays with whoever has that session next. What else is wrong with the server is not told here.

    Two that are there at the same time meet in one, since the pooler takes first what it used last; or, beside others
    who use it, are in one now and in another then."""
    if not on_server(engine):
        return
    sessions: tuple[set[object], set[object]] = set(), set()
    try:
        with in_words():
            async with (
                alone(engine, isolation_level="AUTOCOMMIT") as one,
                alone(engine, isolation_level="AUTOCOMMIT") as other,
            ):
                for _ in range(_LOOKS):
                    for found, db in zip(sessions, (one, other), strict=True):
                        found.add(await db.scalar(select(func.pg_backend_pid())))
    except StoreError as error:
        if error.said is POOLED:
            raise
        return
    if len(sessions[0] | sessions[1]) != 2 or sessions[0] & sessions[1]:
        raise StoreError(POOLED)


async def refuse_upgrade_under_others(engine: Engine) -> None:
    """Raises StoreError where an upgrade would change a server's database under processes of an older version."""
    if not on_server(engine) or not (await rows(engine, _THERE.bindparams(table="processes")))[0].there:
        return
    wanted, known = revisions()
    (found,) = await rows(engine, text("SELECT version_num FROM alembic_version"))
    if found.version_num == wanted or found.version_num not in known:
        return
    living = await rows(engine, text("SELECT id FROM processes WHERE until >= now() ORDER BY started_at"))
    if living:
        names = ", ".join(row.id.rpartition(":")[0] for row in living)
        raise StoreError(_OLDER, revision=found.version_num, wanted=wanted, names=names)


async def server_condition(url: str, link: ServerLink) -> Condition:
    """Of a PostgreSQL database. Raises StoreError when it cannot be reached, or not as Kotae needs it."""
    wanted, known = revisions()
    async with opened(url, link) as engine:
        await require_sessions(engine)
        there = await rows(engine, _THERE.bindparams(table="alembic_version"))
        found = await rows(engine, text("SELECT version_num FROM alembic_version")) if there[0].there else ()
        read_only = (await rows(engine, text("SELECT current_setting('transaction_read_only')")))[0][0] == "on"
        revision = str(found[0].version_num) if found else None
        trouble: Literal["", "read_only"] = "read_only" if read_only else ""
        if not trouble:
            async with write(engine, durable=False):
                pass
        return Condition(revision, revision is None or revision in known, wanted, "whole", trouble)


async def connections_given(engine: Engine) -> int:
    """How many connections a PostgreSQL server gives at most to this role and database, all processes together. Raises
    StoreError."""
    (found,) = await rows(engine, _CONNECTIONS)
    if found.rolsuper:  # is not limited, but for what the server has
        return int(found.everybody)
    limits = (each for each in (found.rolconnlimit, found.datconnlimit) if each >= 0)
    return int(min(found.everybody - found.reserved, *limits))


def copy(file: Path, to: Path) -> None:
    """A whole copy as of one moment, also while others write. `to` must be in a folder that only we read.

    In one step: then no writer makes it begin again. Raises sqlite3.Error, OSError.
    """
    os.close(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    source = sqlite3.connect(_uri(file, "ro"), uri=True, timeout=_BUSY_SECONDS)
    try:
        with closing(source), closing(sqlite3.connect(to)) as target:
            source.backup(target)
    except sqlite3.OperationalError as error:
        if _trouble(error) not in ("read_only", "full"):
            raise
        # SQLite cannot make its map of the log on a disk that takes nothing: then nobody has the database open either.
        for end in ("", "-wal"):
            if (part := Path(f"{file}{end}")).exists():
                shutil.copyfile(part, f"{to}{end}")
        if not whole(to):
            raise
    one_file(to)


def one_file(file: Path) -> None:
    """Put an SQLite database that nobody has open into its file, without a log beside it. Raises sqlite3.Error."""
    with closing(sqlite3.connect(file)) as db:
        db.execute(_ONE_FILE).fetchone()


def whole(file: Path) -> bool:
    """Whether an SQLite file is undamaged, however long that takes to find out."""
    try:
        with closing(sqlite3.connect(_uri(file, "ro"), uri=True)) as db:
            return _wholeness(db, None) == "whole"
    except sqlite3.DatabaseError:
        return False


def _uri(file: Path, mode: str) -> str:
    return f"{file.absolute().as_uri()}?mode={mode}"


def _revision(db: sqlite3.Connection) -> str | None:
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "alembic_version" not in tables:
        return None
    found = db.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(found[0]) if found else None


def _wholeness(db: sqlite3.Connection, seconds: float | None) -> Wholeness:
    if seconds is not None:
        until = time.monotonic() + seconds
        db.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        return "whole" if db.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",) else "damaged"
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
            return "unknown"
        raise
    finally:
        db.set_progress_handler(None, 0)


def _writable(file: Path) -> Literal["", "read_only", "busy", "full"]:
    if not (os.access(file, os.W_OK, effective_ids=True) and os.access(file.parent, os.W_OK, effective_ids=True)):
        return "read_only"
    try:
        with closing(sqlite3.connect(_uri(file, "rw"), uri=True, timeout=_BUSY_SECONDS, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            with suppress(sqlite3.Error):
                db.execute("ROLLBACK")
    except sqlite3.Error as error:
        return _trouble(error) or "read_only"
    return ""


def _trouble(error: sqlite3.Error) -> Literal["", "read_only", "busy", "full"]:
    name = str(getattr(error, "sqlite_errorname", ""))
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "busy"
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")):
        return "full"
    return "read_only" if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR")) else ""
