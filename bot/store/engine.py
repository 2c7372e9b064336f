"""The database as every store sees it: short transactions that are whole or were not, whoever is cancelled meanwhile.

Source: reliability.md R45 and R47.
"""

import asyncio
import errno
import logging
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from sqlalchemy import Boolean, ColumnElement, Connection, Executable, Row, Table, and_, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.util import await_only, greenlet_spawn

from bot.errors import StoreError
from bot.store.link import ServerLink
from bot.store.sqlite import SqliteConnection, connecting
from bot.types import Place
from bot.waiting import finished
from retrieval.durable import still
from retrieval.i18n import Text, filled, os_reason
from retrieval.text import encodable, normalise

log = logging.getLogger(__name__)

T = TypeVar("T")
Engine = AsyncEngine  # for who hands one on

_Kind = Literal["statement", "read", "write", "light write"]

CONNECTIONS = 5
POOL_SECONDS = 30.0
BUSY_TIMEOUT_MS = 5_000
BEGIN_TRIES = 4
_USUAL = ServerLink()
LISTEN_SECONDS = 5.0
_AT_LEISURE = 86_400.0  # seconds

_ADDRESS = Text(
    en="DATABASE_URL should be sqlite+aiosqlite:///path/to/file.db or postgresql+asyncpg://user:password@host/name.",
    ja="DATABASE_URL は sqlite+aiosqlite:///path/to/file.db か postgresql+asyncpg://user:password@host/name "
    "の形にしてください。",
)
_DRIVER = Text(
    en="DATABASE_URL names PostgreSQL, but its driver is not installed. Install it with: pip install 'kotae[postgres]'",
    ja="DATABASE_URL は PostgreSQL ですが、そのドライバーが入っていません。pip install 'kotae[postgres]' "
    "で入れてください。",
)
_FULL = Text(
    en="There is no space left for the database, so nothing was stored. Please free some space.",
    ja="データベースの空き容量がないため、保存できませんでした。空き容量を増やしてください。",
)
_READ_ONLY = Text(
    en="The database cannot be written to (it is read-only), so nothing was stored.",
    ja="データベースが読み取り専用のため、保存できませんでした。",
)
_LOCKED = Text(
    en="The database is busy with another program, so nothing was stored. Please try again.",
    ja="データベースがほかのプログラムに使われているため、保存できませんでした。もう一度お試しください。",
)
_GONE = Text(
    en="The file of the database is gone, or another one is in its place: it was moved, deleted or replaced while it is"
    " open. What is stored would be lost when Kotae stops, so nothing is. Put it back, or start Kotae again.",
    ja="データベースのファイルがないか、別のものに置き換わっています（使用中の移動、削除、置き換え）。保存しても Kotae"
    " の終了とともに失われるため、受け付けていません。元に戻すか、Kotae を起動し直してください。",
)
_DISK = Text(
    en="The disk did not let the database read or write, so nothing was stored.",
    ja="ディスクの読み書きに失敗したため、保存できませんでした。",
)
_UNREACHABLE = Text(
    en="The database cannot be reached or opened.",
    ja="データベースに接続できないか、開けません。",
)
_UNREACHED = Text(en="The database cannot be reached: {why}.", ja="データベースに接続できません: {why}")
_NOT_LET_IN = Text(
    en="The database does not let in the user of DATABASE_URL: the name or the password is wrong, or the server does "
    "not allow it.",
    ja="DATABASE_URL のユーザーではデータベースに接続できません。名前かパスワードが違うか、"
    "サーバーが許可していません。",
)
_NO_DATABASE = Text(
    en="The server has no database of the name in DATABASE_URL.",
    ja="DATABASE_URL の名前のデータベースがサーバーにありません。",
)
_TLS = Text(
    en="The database cannot be reached over TLS as KOTAE_DATABASE_TLS requires: the server offers no TLS, "
    "or its certificate is not from an authority in KOTAE_DATABASE_CA (without it, the system's), or "
    "not for this host.",
    ja="KOTAE_DATABASE_TLS の条件でデータベースに TLS 接続できません。サーバーが TLS に対応していないか、証明書が"
    " KOTAE_DATABASE_CA（未指定ならシステム）の認証局のものでないか、ホスト名が一致していません。",
)
_SLOW = Text(
    en="The database took longer than KOTAE_DATABASE_STATEMENT_TIMEOUT allows, so nothing was stored.",
    ja="データベースの処理が KOTAE_DATABASE_STATEMENT_TIMEOUT の秒数を超えたため、保存できませんでした。",
)
POOLED = Text(
    en="Something between Kotae and the database, such as PgBouncer, gives its connections no session of their own,"
    " which Kotae's locks and notices need. Put the address of the server itself into DATABASE_URL.",
    ja="Kotae とデータベースの間に PgBouncer などのコネクションプーラーがあり、接続ごとに専用のセッションが"
    "割り当てられません。Kotae のロックと通知には専用のセッションが必要です。DATABASE_URL"
    " にはサーバー自体のアドレスを指定してください。",
)
_LONG = Text(
    en="A text is longer than the database takes, so nothing was stored.",
    ja="データベースの上限より長い文字列があるため、保存できませんでした。",
)
_DAMAGED = Text(
    en="The file of the database is damaged, so this could not be done. `kotae doctor` says what to do.",
    ja="データベースのファイルが壊れているため、実行できませんでした。対処方法は `kotae doctor` で確認できます。",
)
_OUT_OF_CONNECTIONS = Text(
    en="The database gives Kotae no more connections. Let Kotae take fewer (KOTAE_DATABASE_CONNECTIONS), or the server"
    " give more.",
    ja="データベースの接続数が上限に達しています。KOTAE_DATABASE_CONNECTIONS "
    "を減らすか、サーバーの上限を増やしてください。",
)
_BROKEN = Text(
    en="The database could not do its work; the log has the reason.",
    ja="データベースの処理に失敗しました。理由はログにあります。",
)


def connect(
    url: str,
    link: ServerLink = _USUAL,
    *,
    connections: int | None = None,
    patience: float = POOL_SECONDS,
) -> AsyncEngine:
    """The engine of `url`: `sqlite+aiosqlite:///file` or `postgresql+asyncpg://…`. Opens nothing yet.

    A server is reached by `link`. It has so many `connections` (None: what suits its kind); of an SQLite file's, two at
    least, one is the writer's.
    The pool serves newcomers first and ends the `patience` (in seconds) of others: so nobody waits for it, but before
    it for a place, in the order of coming and for as long as it takes. Raises StoreError for another kind of address
    and for a driver that is not installed."""
    try:
        address = make_url(url)
    except ArgumentError as error:
        raise StoreError(_ADDRESS) from error
    size = connections or (CONNECTIONS if address.drivername == "sqlite+aiosqlite" else link.connections)
    pool: dict[str, Any] = {
        "hide_parameters": True,  # an error's text goes to the log, and parameters are what people wrote
        "pool_size": size,
        "max_overflow": 0,  # a connection beyond the size would be made and closed again for one statement
        "pool_timeout": patience,
    }
    match address.drivername:
        case "sqlite+aiosqlite" if address.database and address.database != ":memory:":
            engine = create_async_engine(
                address,
                connect_args={
                    "isolation_level": None,  # no implicit BEGIN: ours is explicit, and covers DDL
                    "async_creator_fn": connecting,
                },
                **pool,
                execution_options={
                    "writer": asyncio.Semaphore(1),
                    "places": asyncio.Semaphore(size - 1),
                    "file": (file := _File(Path(address.database))),
                },
            )
            event.listen(engine.sync_engine, "connect", _prepare)
            event.listen(engine.sync_engine, "connect", lambda connection, record: file.note())
            event.listen(engine.sync_engine, "begin", _begin)
            return engine
        case "postgresql+asyncpg":
            try:
                return create_async_engine(
                    address,
                    pool_pre_ping=True,
                    connect_args=link.bounded(),
                    **pool,
                    execution_options={"clock": "server", "places": asyncio.Semaphore(size)},
                )
            except ModuleNotFoundError as error:
                raise StoreError(_DRIVER) from error
            except OSError as error:
                raise StoreError(_TLS) from error
        case _:
            raise StoreError(_ADDRESS)


@asynccontextmanager
async def opened(url: str, link: ServerLink = _USUAL) -> AsyncIterator[AsyncEngine]:
    """The engine of `connect`, until the end of the block."""
    engine = connect(url, link)
    try:
        yield engine
    finally:
        await engine.dispose()


@dataclass(slots=True)
class _File:
    """Of SQLite. `opened`: the one that this process has open. `refused`: how often in a row another program has kept
    the writer out."""

    path: Path
    opened: os.stat_result | None = None
    lost: bool = False
    refused: int = 0

    def note(self) -> None:
        if self.opened is None:
            with suppress(OSError):
                self.opened = self.path.stat()

    def require_still(self) -> None:
        """Raises StoreError where what is stored would be lost: SQLite writes on to a file that has no name any
        more."""
        lost = self.opened is not None and not still(self.path, self.opened)
        if lost and not self.lost:
            log.error("%s", _GONE.en)
        self.lost = lost
        if lost:
            raise StoreError(_GONE)


class _UndoneError(StoreError):
    """A server has undone a transaction that was not to be committed yet: it has ended the connection, or others and
    it have waited for each other."""


class Store:
    """A class of statements on the tables of one subject."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    @property
    def shared(self) -> bool:
        """Whether other processes may have this database open too; an SQLite file has one."""
        return on_server(self._engine)


def on_server(db: AsyncEngine | Connection) -> bool:
    """Whether the database is on a server, where several machines share it."""
    return db.dialect.name != "sqlite"


def _prepare(connection: Any, record: Any) -> None:
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")  # first: switching to WAL takes a lock
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()
    connection.create_function("holds", 2, _holds, deterministic=True)


def _begin(connection: Connection) -> None:
    match connection.get_execution_options().get("as"):
        case "statement":
            return  # it is a transaction by itself
        case "write" | "light write" as kind:
            wanted = "FULL" if kind == "write" else "NORMAL"
            if connection.info.get("synchronous", "FULL") != wanted:
                connection.exec_driver_sql(f"PRAGMA synchronous = {wanted}")
                connection.info["synchronous"] = wanted
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        case _:
            connection.exec_driver_sql("BEGIN")


class _Patient(AsyncConnection):
    """A connection whose statements run to their end even when the caller is cancelled meanwhile.

    A statement cut off would leave the connection in doubt: SQLAlchemy then throws it away, and with it, when a second
    cancellation comes in between, the driver's thread.
    """

    async def execute(self, *args: Any, **kwargs: Any) -> Any:
        return await finished(super().execute(*args, **kwargs))


async def rows(
    engine: AsyncEngine, statement: Executable, values: Mapping[str, Any] | None = None
) -> Sequence[Row[Any]]:
    """The rows of one SELECT; cheaper than `read`, since a statement by itself sees one moment. Raises StoreError."""
    return await _at_once(engine, "statement", lambda db: db.execute(statement, values).all())


async def look(engine: AsyncEngine, work: Callable[[Connection], T]) -> T:
    """`read`, for a look that asks nobody else: `work` runs to its end, also when its caller is cancelled."""
    return await _at_once(engine, "read", work)


async def change(engine: AsyncEngine, work: Callable[[Connection], T], *, durable: bool = True) -> T:
    """`write`, for a change that asks nobody else: `work` runs to its commit, also when its caller is cancelled. What a
    server undoes before the commit runs once more, so that it must change nothing but the database.

    Half as dear or less: its statements follow each other without a turn of the event loop's tasks in between, with
    SQLite in the connection's thread, so that `work` must touch nothing of the event loop's.
    """
    return await _at_once(engine, "write" if durable else "light write", work)


async def execute(engine: AsyncEngine, statement: Executable, *, durable: bool = True) -> int:
    """`change` by one statement; returns how many rows it has changed."""
    return await change(engine, lambda db: db.execute(statement).rowcount, durable=durable)


async def _at_once(engine: AsyncEngine, kind: _Kind, work: Callable[[Connection], T]) -> T:
    last = _last_try(engine, BEGIN_TRIES)

    def transaction(db: Connection) -> T:
        try:
            _ready(db, kind, last)
            result = work(db)
        except DBAPIError as error:
            if _is_cut(error) or _sqlstate(error) == _DEADLOCK:
                raise _UndoneError(_why(error)) from error
            raise
        if kind != "statement":
            db.commit()
        return result

    def run() -> T:
        try:
            return once()
        except _UndoneError:
            log.info("the database's server has undone a transaction; once more")
            return once()

    def once() -> T:
        db = engine.sync_engine.connect()
        try:
            driver = db.connection.driver_connection
            if isinstance(driver, SqliteConnection):
                return await_only(driver.visit(partial(transaction, db)))
            return transaction(db)
        finally:
            with suppress(SQLAlchemyError, OSError):  # a connection that broke has nothing to roll back
                db.close()

    async with _place(engine, kind):
        with in_words():
            return await finished(greenlet_spawn(run))


@asynccontextmanager
async def read(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """One look at the database as it is now; sees nothing half done. Raises StoreError."""
    async with _transaction(engine, "read") as db:
        yield db


@asynccontextmanager
async def write(
    engine: AsyncEngine, *, durable: bool = True, tries: int = BEGIN_TRIES
) -> AsyncIterator[AsyncConnection]:
    """One change, committed at the end of the block or not at all. Raises StoreError; IntegrityError as it is.

    Inside the block await nothing but `db`. Writers of one process take turns; a cancelled one rolls back, and one
    cancelled while it commits has committed. Not `durable`: it outlives this process, but perhaps not a power cut.
    `tries`: of `BUSY_TIMEOUT_MS` each, to get past another program.
    """
    async with _transaction(engine, "write" if durable else "light write", tries) as db:
        yield db


def refuse_kept_out(engine: AsyncEngine) -> None:
    """Raises StoreError while another program keeps a writer out of an SQLite file."""
    places = engine.sync_engine.get_execution_options()
    if "file" in places and places["file"].refused and places["writer"].locked():
        raise StoreError(_LOCKED)


@asynccontextmanager
async def snapshot(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """One moment of a server's database, for as long as the block takes: others write meanwhile. Raises StoreError."""
    async with _place(engine, "read"):
        with in_words():
            async with engine.connect() as db:
                await db.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                await unhurried(db)
                yield db


async def unhurried(db: AsyncConnection) -> None:
    """Let this transaction of a server's database do nothing for as long as it likes: nobody waits for its rows."""
    await db.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))


@asynccontextmanager
async def alone(engine: AsyncEngine, **options: Any) -> AsyncIterator[AsyncConnection]:
    """A connection with these options and no transaction, for a statement that takes none; in the writer's place.

    SQLAlchemy's errors are not put into words here.
    """
    async with _place(engine, "write"), engine.connect() as db:
        yield await db.execution_options(**{"as": "statement"}, **options)


async def at_leisure(db: AsyncConnection, statement: str) -> None:
    """Run a statement on a connection to a PostgreSQL server that is `alone`, however long it takes. Raises
    StoreError."""
    import asyncpg  # type: ignore[import-untyped]

    connection = (await db.get_raw_connection()).driver_connection
    assert connection is not None
    try:
        await finished(connection.execute(statement, timeout=_AT_LEISURE))
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise StoreError(_BROKEN) from error


@asynccontextmanager
async def listening(
    engine: AsyncEngine, channel: str, heard: Callable[[str], None], ended: Callable[[], None]
) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    """A connection beside the others to a PostgreSQL server, which calls `heard` with each notice on the channel and
    `ended` when it has ended; yields what sends a notice over it. Raises StoreError."""
    import asyncpg

    db, connection = _Patient(engine), None
    with in_words():
        try:
            async with _place(engine, "read"):
                await finished(db.start())
                connection = (await db.get_raw_connection()).driver_connection
                assert connection is not None
                await db.run_sync(lambda taken: taken.detach())  # the pool makes another in its place
            connection.add_termination_listener(lambda _: ended())
            async with asyncio.timeout(LISTEN_SECONDS):
                await connection.add_listener(channel, lambda _connection, _pid, _channel, said: heard(said))

            async def notify(said: str) -> None:
                await connection.execute("SELECT pg_notify($1, $2)", channel, said)

            yield notify
        except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
            raise StoreError(_UNREACHABLE) from error
        finally:
            if connection is not None:
                connection.terminate()  # a farewell could wait for a server that says nothing any more
            await finished(_close(db))


def _place(engine: AsyncEngine, kind: _Kind) -> asyncio.Semaphore:
    """Among those that have a connection at the same time; the writer of an SQLite file has its own."""
    places = engine.sync_engine.get_execution_options()
    place: asyncio.Semaphore = places["places"]
    return places.get("writer", place) if kind in ("write", "light write") else place


@asynccontextmanager
async def _transaction(engine: AsyncEngine, kind: _Kind, tries: int = BEGIN_TRIES) -> AsyncIterator[AsyncConnection]:
    db, last = _Patient(engine), _last_try(engine, tries)
    async with _place(engine, kind):
        with in_words():
            try:
                await finished(_open(db, kind, last))
                yield db
                if kind != "read":
                    await finished(db.commit())
            finally:
                await finished(_close(db))  # rolls back what is not committed


@contextmanager
def in_words() -> Iterator[None]:
    """Raises StoreError for an error of the database; IntegrityError as it is."""
    try:
        yield
    except IntegrityError:
        raise
    except (SQLAlchemyError, OSError) as error:
        why = _why(error)
        if why is _BROKEN:  # by its name alone: its text can hold what people wrote
            cause: Any = error.orig if isinstance(error, DBAPIError) else error
            name = getattr(cause, "sqlstate", None) or getattr(cause, "sqlite_errorname", None)
            log.error("the database failed: %s %s", type(cause).__name__, name or "")
        raise StoreError(why) from error


async def _open(db: AsyncConnection, kind: _Kind, last: int) -> None:
    await db.start()
    await db.run_sync(_ready, kind, last)


def _last_try(engine: AsyncEngine, most: int) -> int:
    """The refusal in a row that is the last which whoever asks now waits for, also while others are before it."""
    file: _File | None = engine.sync_engine.get_execution_options().get("file")
    return most + (file.refused if file else 0)


def _ready(db: Connection, kind: _Kind, last: int) -> None:
    db.execution_options(**{"as": kind})
    file: _File | None = db.get_execution_options().get("file")
    if file is None or kind not in ("write", "light write"):
        db.begin()
        return
    file.require_still()
    last = min(last, file.refused + BEGIN_TRIES)  # somebody got in meanwhile
    while file.refused < last:
        try:
            db.begin()
        except OperationalError as error:
            # SQLite does not queue: a process that writes without a pause can keep another out for a whole timeout.
            if _why(error) is not _LOCKED:
                raise
            file.refused += 1
            if file.refused == 1:
                log.warning("another program keeps the database locked; what is to be stored waits for it")
        else:
            file.refused = 0
            return
    raise StoreError(_LOCKED)


async def _close(db: AsyncConnection) -> None:
    if db.sync_connection is not None:
        with suppress(SQLAlchemyError, OSError):  # a connection that broke has nothing to roll back
            await db.close()


def insert(db: AsyncEngine | AsyncConnection | Connection, table: Table) -> Any:
    """An INSERT that knows ON CONFLICT in the dialect of `db`."""
    return postgresql.insert(table) if db.dialect.name == "postgresql" else sqlite.insert(table)


def at_place(table: Table, place: Place) -> ColumnElement[bool]:
    """Rows of the table that are of this place."""
    return and_(*(table.c[name] == value for name, value in asdict(place).items()))


class holds(FunctionElement[bool]):
    """Whether a text (a column) has these words in it, whatever the width or case of either."""

    type = Boolean()
    inherit_cache = True


@compiles(holds, "sqlite")  # whose own LIKE and lower() know the case of ASCII alone
def _holds_here(element: holds, compiler: Any, **kw: Any) -> str:
    return f"holds({compiler.process(element.clauses, **kw)})"


@compiles(holds, "postgresql")
def _holds_on_server(element: holds, compiler: Any, **kw: Any) -> str:
    text, words = (f"lower(normalize({compiler.process(each, **kw)}, NFKC))" for each in element.clauses)
    return f"strpos({text}, {words}) > 0"


def _holds(text: str | None, words: str) -> bool:
    return text is not None and normalise(words) in normalise(text)


def columns(value: Any) -> dict[str, Any]:
    """The fields of a dataclass by the names of their columns; its place has three."""
    values = {name: getattr(value, name) for name in value.__dataclass_fields__}
    place = values.pop("place", None)
    return values if place is None else values | asdict(place)


def storable(text: str) -> str:
    """People's text as every database takes it: without NUL and lone surrogates (a terminal can send both)."""
    return encodable(text.replace("\0", ""))


_SQLITE = {
    "SQLITE_FULL": _FULL,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_LOCKED": _LOCKED,
    "SQLITE_CANTOPEN": _UNREACHABLE,
    "SQLITE_NOTADB": _DAMAGED,
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_IOERR_SHMSIZE": _FULL,  # it gives each page of its map a block, so that no full disk ends the process
    "SQLITE_IOERR": _DISK,
}
_DEADLOCK = "40P01"
_POSTGRESQL = {
    _DEADLOCK: _LOCKED,
    "53100": _FULL,
    "25006": _READ_ONLY,
    "53300": _OUT_OF_CONNECTIONS,
    "55P03": _LOCKED,
    "22001": _LONG,
    "57014": _SLOW,
    "42P05": POOLED,  # another connection has given a statement this name
    "26000": POOLED,
    "28000": _NOT_LET_IN,
    "28P01": _NOT_LET_IN,
    "3D000": _NO_DATABASE,
}


def _why(error: Exception) -> Text:
    if isinstance(error, OSError):
        tls = isinstance(error, ssl.SSLError) or "rejected SSL upgrade" in str(error)
        return _TLS if tls else filled(_UNREACHED, why=os_reason(_plain(error)))
    cause: Any = error.orig if isinstance(error, DBAPIError) else error
    name = str(getattr(cause, "sqlite_errorname", ""))  # SQLITE_IOERR_WRITE is a kind of SQLITE_IOERR
    for kind, reason in _SQLITE.items():
        if name.startswith(kind):
            return reason
    state = _sqlstate(error)
    if "unsupported startup parameter" in str(cause):  # PgBouncer's, of the time limits
        return POOLED
    if state.startswith("08") or (isinstance(error, DBAPIError) and _is_cut(error)):
        return _UNREACHABLE
    return _POSTGRESQL.get(state, _BROKEN)


def _plain(error: OSError) -> OSError:
    """Without the address, which asyncio puts into its words."""
    number = errno.ETIMEDOUT if isinstance(error, TimeoutError) else error.errno or 0
    return OSError(number, os.strerror(number)) if number > 0 else error


def _is_cut(error: DBAPIError) -> bool:
    """Whether a server has ended the connection, or ends them all just now."""
    return error.connection_invalidated or _sqlstate(error).startswith("57P")


def _sqlstate(error: Exception) -> str:
    """PostgreSQL's code of an error, "" for another's."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return str(getattr(cause, "sqlstate", None) or "")
