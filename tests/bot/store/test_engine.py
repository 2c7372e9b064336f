"""Transactions are whole or were not, under cancellation, several processes' worth of writers and a full disk."""

import asyncio
import random
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, bindparam, event, func, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.errors import StoreError
from bot.store.engine import (
    BEGIN_TRIES,
    CONNECTIONS,
    change,
    connect,
    execute,
    insert,
    opened,
    read,
    rows,
    storable,
    write,
)
from bot.store.inspection import probe
from bot.store.schema import collections, feedback, indexes
from bot.waiting import finished
from tests.bot import databases
from tests.disks import small_disk

NOW = datetime.now(UTC)


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[AsyncEngine]:
    engine = connect(sqlite_url)
    yield engine
    await engine.dispose()


def row(name: str, generation: int = 0) -> dict[str, Any]:
    return {"embedder": name, "dimensions": 1, "tokenizer": "t", "generation": generation}


async def names(engine: AsyncEngine) -> set[str]:
    async with read(engine) as db:
        return set(await db.scalars(select(indexes.c.embedder)))


async def test_every_connection_is_set_up_for_safety(store: AsyncEngine) -> None:
    for begun in (read, write):
        async with begun(store) as db:
            found = [
                await db.scalar(text(f"PRAGMA {name}"))
                for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
            ]
        assert found == ["wal", 2, 5000, 1]


async def test_a_write_is_durable_unless_it_need_not_be(store: AsyncEngine) -> None:
    """R45: FULL (2) for inbox and outbox, NORMAL (1) elsewhere; a connection serves now one, now the other."""
    found = []
    for number in range(2 * CONNECTIONS):
        for durable in (True, False) if number % 2 else (False, True):
            async with write(store, durable=durable) as db:
                found.append((durable, await db.scalar(text("PRAGMA synchronous"))))
                await db.execute(indexes.insert().values(**row(f"{number}{durable}")))
        found.append((True, await change(store, lambda db: db.scalar(text("PRAGMA synchronous")))))
    assert set(found) == {(True, 2), (False, 1)}
    assert len(await names(store)) == 4 * CONNECTIONS


def adds(name: str) -> Callable[[Connection], None]:
    def work(db: Connection) -> None:
        db.execute(indexes.insert().values(**row(name)))

    return work


async def test_a_change_is_whole_or_was_not(engine: AsyncEngine) -> None:
    def half(db: Connection) -> None:
        adds("half")(db)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await change(engine, half)
    await change(engine, adds("whole"))
    with pytest.raises(IntegrityError):
        await change(engine, adds("whole"))
    assert await change(engine, lambda db: db.scalar(select(func.count()).select_from(indexes))) == 1
    assert await names(engine) == {"whole"}


async def test_a_change_that_is_cancelled_at_work_has_committed_and_one_that_waits_has_not(store: AsyncEngine) -> None:
    at_work = asyncio.Event()

    def work(db: Connection) -> None:
        adds("at work")(db)
        at_work.set()

    changing = asyncio.create_task(change(store, work))
    waiting = asyncio.create_task(change(store, adds("waiting")))
    await at_work.wait()
    changing.cancel()
    waiting.cancel()
    for task in (changing, waiting):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await names(store) == {"at work"}
    await change(store, adds("next"), durable=False)


async def test_changes_cancelled_at_random_strand_nobody(store: AsyncEngine, sqlite_url: str) -> None:
    """R45. Two engines on one file stand for two processes."""
    chance, engines = random.Random(46), [store, connect(sqlite_url)]
    tasks = [asyncio.create_task(change(engines[number % 2], adds(str(number)))) for number in range(200)]
    while pending := [task for task in tasks if not task.done()]:
        await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        if chance.random() < 0.6:
            chance.choice(pending[:8]).cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(result) for result in results if result is not None} == {asyncio.CancelledError}
    assert {str(number) for number, result in enumerate(results) if result is None} <= await names(store)
    for engine in engines:
        await change(engine, adds(f"last {id(engine)}"))
    await engines[1].dispose()


async def test_a_statement_by_itself_is_all_that_is_sent(store: AsyncEngine) -> None:
    sent: list[str] = []

    @event.listens_for(store.sync_engine, "before_cursor_execute")
    def keep(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        sent.append(statement)

    async with write(store) as db:
        await db.execute(indexes.insert().values(**row("one")))
    sent.clear()
    found = await rows(
        store, select(indexes.c.embedder).where(indexes.c.embedder == bindparam("name")), {"name": "one"}
    )
    assert [each.embedder for each in found] == ["one"]
    assert len(sent) == 1 and sent[0].startswith("SELECT")
    async with write(store) as db:  # it has left no lock
        await db.execute(indexes.insert().values(**row("two")))


async def test_statements_by_themselves_cancelled_at_random(store: AsyncEngine) -> None:
    chance = random.Random(7)
    tasks = [asyncio.create_task(rows(store, select(indexes.c.embedder))) for _ in range(100)]
    while pending := [task for task in tasks if not task.done()]:
        chance.choice(pending[:8]).cancel()
        for _ in range(chance.randrange(10)):
            await asyncio.sleep(0)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(result) for result in results if not isinstance(result, list)} == {asyncio.CancelledError}
    pool: Any = store.sync_engine.pool
    assert pool.checkedout() == 0
    assert await rows(store, select(indexes.c.embedder)) == []


async def test_a_statement_by_itself_that_fails_is_said(tmp_path: Path) -> None:
    engine = connect(f"sqlite+aiosqlite:///{tmp_path}/no/such/folder/x.db")
    with pytest.raises(StoreError, match="cannot be reached"):
        await rows(engine, select(1))
    await engine.dispose()


async def test_more_readers_than_connections_wait_for_each_other(store: AsyncEngine) -> None:
    found = await asyncio.gather(*(names(store) for _ in range(20 * CONNECTIONS)))
    assert found == [set()] * (20 * CONNECTIONS)
    pool: Any = store.sync_engine.pool
    assert pool.checkedin() <= CONNECTIONS and pool.overflow() <= 0


async def test_nobody_fails_for_want_of_a_connection_however_many_wait(url: str) -> None:
    """The pool itself would refuse whoever has waited for so long, and those that waited longest first."""
    engine = connect(url, connections=2, patience=0.01)

    async def ask(number: int) -> set[str]:
        match number % 5:
            case 0:
                await change(engine, adds(f"{number}"))
            case 1:
                async with write(engine) as db:
                    await db.execute(indexes.insert().values(**row(f"{number}")))
            case 2:
                await rows(engine, select(indexes))
        return await names(engine)

    found = await asyncio.gather(*(ask(number) for number in range(200)))
    assert len(found) == 200 and len(await names(engine)) == 80
    await engine.dispose()


async def test_places_are_given_in_the_order_of_coming(store: AsyncEngine, sqlite_url: str) -> None:
    engine = connect(sqlite_url, connections=2)
    came: list[int] = []

    async def ask(number: int) -> None:
        await names(engine)
        came.append(number)

    async with read(engine):
        waiting = [asyncio.create_task(ask(number)) for number in range(20)]
        async with write(engine):  # the writer has a place of its own
            assert came == []
    waiting.append(asyncio.create_task(ask(20)))  # it finds the connection given back, and others before it
    await asyncio.gather(*waiting)
    assert came == list(range(21))
    await engine.dispose()


async def test_a_block_that_fails_changes_nothing(engine: AsyncEngine) -> None:
    with pytest.raises(ZeroDivisionError):
        async with write(engine) as db:
            await db.execute(indexes.insert().values(**row("half")))
            raise ZeroDivisionError
    assert await names(engine) == set()


async def test_a_broken_constraint_is_told_as_it_is(engine: AsyncEngine) -> None:
    with pytest.raises(IntegrityError):
        async with write(engine) as db:
            await db.execute(feedback.insert().values(turn="nobody", author="a", vote="up", text="", at=NOW))
    async with write(engine) as db:
        await db.execute(indexes.insert().values(**row("after")))
    assert await names(engine) == {"after"}


async def test_a_reader_sees_one_moment(store: AsyncEngine) -> None:
    async with read(store) as db:
        before = await db.scalar(select(func.count()).select_from(indexes))
        async with write(store) as other:
            await other.execute(indexes.insert().values(**row("later")))
        assert await db.scalar(select(func.count()).select_from(indexes)) == before
    assert await names(store) == {"later"}


async def test_a_write_that_is_cancelled_while_it_commits_has_committed(store: AsyncEngine) -> None:
    async def writes() -> None:
        async with write(store) as db:
            await db.execute(indexes.insert().values(**row("kept")))
            asyncio.current_task().cancel()  # type: ignore[union-attr]  # arrives at the next await: the commit

    task = asyncio.create_task(writes())
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await names(store) == {"kept"}


async def test_finished_ends_the_work_and_then_the_caller() -> None:
    release, done = asyncio.Event(), []

    async def work() -> None:
        await release.wait()
        done.append(True)

    task = asyncio.create_task(finished(work()))
    await asyncio.sleep(0)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == [True]


async def test_500_writers_and_readers_cancelled_at_random(store: AsyncEngine, sqlite_url: str) -> None:
    """R45. Two engines on one file stand for two processes; each row of a pair is there with the other or not at
    all."""
    chance = random.Random(45)
    engines = [store, connect(sqlite_url)]
    sure: set[int] = set()

    async def work(number: int, engine: AsyncEngine) -> None:
        if number % 5 == 0:
            await names(engine)
            return
        async with write(engine) as db:
            await db.execute(indexes.insert().values(**row(f"{number}a")))
            await db.execute(indexes.insert().values(**row(f"{number}b")))
        sure.add(number)

    tasks = [asyncio.create_task(work(number, engines[number % 2])) for number in range(500)]
    while pending := [task for task in tasks if not task.done()]:
        await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for _ in range(chance.randrange(30)):
            await asyncio.sleep(0)  # a cancellation meets any moment of a transaction
        if chance.random() < 0.6:
            task = chance.choice(pending[:8])  # these are at work, the others wait for them
            task.cancel()
            if chance.random() < 0.3:
                await asyncio.sleep(0)
                task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(result) for result in results if result is not None} == {asyncio.CancelledError}
    assert len(sure) > 20
    assert sum(result is not None for result in results) > 20

    found = await names(engines[0])
    assert {int(name[:-1]) for name in found if name.endswith("a")} == {
        int(name[:-1]) for name in found if name.endswith("b")
    }
    assert {f"{number}a" for number in sure} <= found
    async with read(engines[0]) as db:
        assert await db.scalar(text("PRAGMA integrity_check")) == "ok"
        assert (await db.execute(text("PRAGMA foreign_key_check"))).all() == []
    async with write(engines[1]) as db:  # nothing holds the writer's place
        await db.execute(indexes.insert().values(**row("last")))
    await engines[1].dispose()


@pytest.mark.parametrize("moment", ["begin", "before_cursor_execute", "commit", "rollback"])
async def test_a_writer_cancelled_at_a_moment_ends_what_it_is_in_and_leaves_its_connection(
    store: AsyncEngine, moment: str
) -> None:
    """R45: neither a statement nor the rollback is cut in two, or the connection would be thrown away, and could hold
    the database. One that is cancelled while it commits has committed."""
    connections: list[Any] = []
    event.listen(store.sync_engine, "connect", lambda connection, record: connections.append(connection))
    await names(store)
    block = asyncio.Event()

    async def work() -> None:
        async with write(store) as db:
            await db.execute(indexes.insert().values(**row("half")))
            if moment == "rollback":
                block.set()
                await asyncio.Event().wait()

    task = asyncio.create_task(work())

    def cancel(connection: Any, *statement: Any) -> None:
        if not statement or statement[1].startswith("INSERT"):
            task.cancel()

    event.listen(store.sync_engine, moment, cancel)
    if moment == "rollback":
        await block.wait()
        task.cancel()  # and once more while it rolls back
    with pytest.raises(asyncio.CancelledError):
        await task
    event.remove(store.sync_engine, moment, cancel)
    assert await names(store) == ({"half"} if moment == "commit" else set())
    async with write(store) as db:
        await db.execute(indexes.insert().values(**row("next")))
    assert len(connections) == 1


@pytest.mark.parametrize(("held", "gets_in"), [(0.4, True), (9.0, False)])
async def test_a_writer_that_is_kept_out_tries_again_before_it_gives_up(
    store: AsyncEngine, tmp_path: Path, held: float, gets_in: bool
) -> None:
    """`held`: the seconds that another process writes for; a busy timeout is 0.3 s here."""

    @event.listens_for(store.sync_engine, "connect")
    def impatient(connection: Any, record: Any) -> None:
        connection.cursor().execute("PRAGMA busy_timeout = 300")

    other = await asyncio.to_thread(
        sqlite3.connect, tmp_path / "kotae.db", isolation_level=None, check_same_thread=False
    )
    other.execute("BEGIN IMMEDIATE")

    async def writes() -> None:
        async with write(store) as db:
            await db.execute(indexes.insert().values(**row("patient")))

    task = asyncio.create_task(writes())
    await asyncio.wait({task}, timeout=held)
    other.execute("ROLLBACK")
    other.close()
    if gets_in:
        await task
        assert await names(store) == {"patient"}
    else:
        with pytest.raises(StoreError, match="busy with another program"):
            await task
    async with write(store) as db:
        await db.execute(indexes.insert().values(**row("next")))


async def test_those_who_wait_behind_a_writer_that_is_kept_out_give_up_with_it(
    store: AsyncEngine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each after what it would have waited alone, and who looks whether it takes writes is told at once."""
    begun, loop, refused = 0, asyncio.get_running_loop(), asyncio.Event()

    @event.listens_for(store.sync_engine, "connect")
    def impatient(connection: Any, record: Any) -> None:
        connection.cursor().execute("PRAGMA busy_timeout = 300")

    @event.listens_for(store.sync_engine, "before_cursor_execute")
    def count(connection: Any, cursor: Any, statement: str, *more: Any) -> None:
        nonlocal begun
        begun += statement == "BEGIN IMMEDIATE"
        if begun == 2:
            loop.call_soon_threadsafe(refused.set)

    async def writes(name: str) -> None:
        await execute(store, indexes.insert().values(**row(name)))

    await writes("first")
    begun = 0
    refused.clear()
    with closing(sqlite3.connect(tmp_path / "kotae.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        tasks = [asyncio.create_task(writes(str(number))) for number in range(10)]
        await refused.wait()
        with pytest.raises(StoreError, match="busy with another program"):
            await probe(store)
        assert begun < BEGIN_TRIES
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(error, StoreError) for error in ended) and begun == BEGIN_TRIES
        with pytest.raises(StoreError, match="busy with another program"):
            await probe(store)  # nobody waits any more, so it tries itself, once
        assert begun == BEGIN_TRIES + 1
    await writes("last")
    await probe(store)
    assert await names(store) == {"first", "last"} and caplog.text.count("keeps the database locked") == 1


async def test_a_full_disk_is_said_and_passes(store: AsyncEngine) -> None:
    """R47."""
    limit = {"pages": 200}  # the empty tables take 75

    @event.listens_for(store.sync_engine, "begin")
    def small_disk(connection: Any) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {limit['pages']}")

    stored = 0
    with pytest.raises(StoreError) as full:
        for number in range(100):
            async with write(store) as db:
                await db.execute(
                    collections.insert().values(name=str(number), description="x" * 20_000, created_at=NOW)
                )
            stored += 1
    assert "space" in full.value.text("en") and "空き容量" in full.value.text("ja")
    assert "x" * 100 not in str(full.value.__cause__)
    async with read(store) as db:
        assert await db.scalar(select(func.count()).select_from(collections)) == stored > 0
    limit["pages"] = 1_000_000
    async with write(store) as db:
        await db.execute(collections.insert().values(name="again", description="x" * 20_000, created_at=NOW))


async def test_a_disk_that_is_really_full_is_said_and_passes(tmp_path: Path) -> None:
    """Also the map that SQLite makes beside the database finds no room, and ends nothing."""
    with small_disk(tmp_path, 4 * 2**20) as disk:
        store = connect(databases.made(disk.folder / "kotae.db"))
        disk.leave(0)
        for _ in range(2):
            with pytest.raises(StoreError, match="no space left"):
                await probe(store)
        disk.leave(1024 * 1024)
        await probe(store)
        stored = 0
        with pytest.raises(StoreError, match="no space left"):
            for number in range(100):
                async with write(store) as db:
                    await db.execute(
                        collections.insert().values(name=str(number), description="x" * 50_000, created_at=NOW)
                    )
                stored += 1
        disk.leave(1024 * 1024)
        async with read(store) as db:
            assert await db.scalar(select(func.count()).select_from(collections)) == stored > 0
        await probe(store)
        await store.dispose()


async def test_a_look_at_whether_it_takes_writes_really_writes(sqlite_url: str, tmp_path: Path) -> None:
    """R60: a transaction that changes nothing succeeds on a full disk."""
    store = connect(sqlite_url)
    await names(store)
    log = tmp_path / "kotae.db-wal"
    before = log.stat().st_size
    await probe(store)
    assert log.stat().st_size > before
    await store.dispose()


async def test_a_file_that_was_moved_away_while_it_is_open_is_said(sqlite_url: str, tmp_path: Path) -> None:
    """SQLite writes on, to what nobody finds again."""
    store = connect(sqlite_url)
    await names(store)
    (tmp_path / "kotae.db").rename(tmp_path / "elsewhere.db")
    await names(store)
    with pytest.raises(StoreError) as gone:
        await probe(store)
    assert "moved, deleted" in gone.value.text("en") and "起動し直して" in gone.value.text("ja")
    await store.dispose()


async def test_nothing_is_stored_in_a_file_that_another_was_put_in_the_place_of(
    sqlite_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, aside = tmp_path / "kotae.db", tmp_path / "aside.db"
    store = connect(sqlite_url)
    await execute(store, indexes.insert().values(**row("before")))
    file.rename(aside)
    databases.made(file)
    for _ in range(2):
        with pytest.raises(StoreError, match="replaced"):
            await execute(store, indexes.insert().values(**row("lost")))
    with pytest.raises(StoreError, match="replaced"):
        async with write(store) as db:
            await db.execute(indexes.insert().values(**row("lost")))
    with pytest.raises(StoreError, match="replaced"):
        await probe(store)
    assert caplog.text.count("another one is in its place") == 1
    aside.rename(file)
    await execute(store, indexes.insert().values(**row("after")))
    assert await names(store) == {"before", "after"}
    await store.dispose()


async def test_a_read_only_database_is_said(sqlite_url: str, tmp_path: Path) -> None:
    engine = connect(f"sqlite+aiosqlite:///file:{tmp_path / 'kotae.db'}?mode=ro&uri=true")
    with pytest.raises(StoreError) as refused:
        async with write(engine) as db:
            await db.execute(indexes.insert().values(**row("no")))
    assert "read-only" in refused.value.text("en") and "読み取り専用" in refused.value.text("ja")
    await engine.dispose()


async def test_a_damaged_page_is_said(tmp_path: Path) -> None:
    file = tmp_path / "kotae.db"
    engine = connect(databases.made(file))
    async with write(engine) as db:
        await db.execute(indexes.insert().values(**row("one")))
        root = await db.scalar(text("SELECT rootpage FROM sqlite_master WHERE name = 'indexes'"))
    await engine.dispose()
    with closing(sqlite3.connect(file)) as whole:
        size = whole.execute("PRAGMA page_size").fetchone()[0]
    with file.open("r+b") as pages:
        pages.seek((root - 1) * size)
        pages.write(bytes(size))
    engine = connect(f"sqlite+aiosqlite:///{file}")
    with pytest.raises(StoreError) as refused:
        await rows(engine, select(indexes))
    assert "is damaged" in refused.value.text("en") and "壊れて" in refused.value.text("ja")
    assert all("kotae doctor" in refused.value.text(language) for language in ("en", "ja"))
    await engine.dispose()


async def test_what_has_no_words_has_its_name_in_the_log(store: AsyncEngine, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(StoreError, match="the log has the reason"):
        await rows(store, text("SELECT secret FROM nowhere"))
    assert "OperationalError SQLITE_ERROR" in caplog.text and "secret" not in caplog.text


async def test_a_database_that_is_not_there_is_said(tmp_path: Path) -> None:
    for url, said in (
        (f"sqlite+aiosqlite:///{tmp_path}/no/such/folder/x.db", "cannot be reached or opened"),
        ("postgresql+asyncpg://u:secret@127.0.0.1:1/none", "cannot be reached: Connection refused."),
    ):
        if "asyncpg" in url:
            pytest.importorskip("asyncpg")
        engine = connect(url)
        with pytest.raises(StoreError) as away:
            async with read(engine) as db:
                await db.execute(select(1))
        assert said in away.value.text("en")
        assert "secret" not in str(away.value.__cause__)
        await engine.dispose()


@pytest.mark.parametrize(
    ("user", "name", "said"), [("nobody", None, "does not let in the user"), (None, "none", "has no database")]
)
async def test_a_server_that_refuses_says_why(server_url: str, user: str | None, name: str | None, said: str) -> None:
    address = make_url(server_url).set(username=user, database=name)
    async with opened(address.render_as_string(hide_password=False)) as engine:
        with pytest.raises(StoreError, match=said):
            await rows(engine, select(1))


@pytest.mark.parametrize(
    "url", ["mysql://x/y", "nonsense", "sqlite+aiosqlite://", "sqlite+aiosqlite:///:memory:", "sqlite:///x.db"]
)
def test_an_address_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(StoreError, match="DATABASE_URL"):
        connect(url)


def test_a_missing_driver_is_named() -> None:
    program = (
        "import sys; sys.modules['asyncpg'] = None\n"
        "from bot.store.engine import connect, StoreError\n"
        "try: connect('postgresql+asyncpg://h/n')\n"
        "except StoreError as error: print(error.text('en'))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "driver is not installed" in said and "kotae[postgres]" in said


async def test_insert_knows_conflicts_in_both_dialects(engine: AsyncEngine) -> None:
    for generation in (1, 2):
        async with write(engine) as db:
            await db.execute(
                insert(db, indexes)
                .values(**row("one", generation))
                .on_conflict_do_update(index_elements=["embedder"], set_={"generation": generation})
            )
    async with read(engine) as db:
        assert (await db.scalars(select(indexes.c.generation))).all() == [2]


def test_text_is_stored_without_what_no_database_takes() -> None:
    assert storable("\ud83d\ude00 and half: \ud83d, and nothing: \0.") == "\U0001f600 and half: \ufffd, and nothing: ."
