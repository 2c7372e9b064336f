"""A database is upgraded whole or not at all, from every released version, with a copy before.

The golden file of a version is made once, when its revision is released: `python -m tests.bot.test_migrations`.
"""

import asyncio
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, create_engine
from sqlalchemy.ext.asyncio import create_async_engine

import migrations
from agent.events import Answered, Citation, Cost, Thought, ToolReturned
from agent.qa_generation import Proposed
from bot.config.settings import Settings
from bot.database import database
from bot.errors import StoreError
from bot.records import AuditRecord, BotMessage, DocumentRow, ProgramToken
from bot.store.asks import Asks, PersonAsk
from bot.store.channel_settings import ChannelSettings
from bot.store.collections import Collections
from bot.store.dataset_jobs import DatasetJob, DatasetJobRows, DatasetUpload, Order
from bot.store.digests import Digests
from bot.store.documents import Documents
from bot.store.engine import change, connect
from bot.store.erased_people import ErasedPeople
from bot.store.exclusive import Leases
from bot.store.feedback import Votes
from bot.store.followed import FollowedPage, FollowedSource, FollowedSources
from bot.store.held_files import HeldRows
from bot.store.homes import Homes
from bot.store.ingestions import IngestionStore
from bot.store.inspection import server_condition
from bot.store.notifications import Notices, Telling
from bot.store.outbox import Outbox
from bot.store.processes import Processes
from bot.store.qa_jobs import ChunkPlace, PairJobs
from bot.store.qa_pairs import PairRows, Tracked
from bot.store.rates import Rates
from bot.store.retention_clock import RetentionClock
from bot.store.schema import contents as kept
from bot.store.schema import metadata
from bot.store.searches import Measured, Searches
from bot.store.signals import Signals
from bot.store.tokens import ProgramTokens
from bot.store.turns import TurnStore
from bot.store.unanswered import MissedQuestion, UnansweredQuestions
from bot.store.usage import Usage
from bot.store.vector_stores import VectorStores
from bot.store.web_messages import Messages
from bot.turns.trace import Recording
from bot.types import Audience, Feedback, FileRef, Incoming, IngestionRequest, Place, Post, Preferences
from migrations import MigrationError, NewerDatabaseError, Upgraded, upgrade
from retrieval.datasets import Columns
from retrieval.i18n import Text
from retrieval.types import TEAM, Hit, Passage, SearchMetrics
from tests.bot.postgresql import execute
from tests.disks import small_disk

FILES = Path(__file__).parents[1] / "files"
GOLDEN = sorted(FILES.glob("database-*.sql"))
HEAD = "0023"


def url_of(file: Path) -> str:
    return f"sqlite+aiosqlite:///{file}"


def tables(file: Path) -> set[str]:
    with closing(sqlite3.connect(file)) as db:
        return {
            name
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        }


def differences(db: Connection) -> list[object]:
    context = MigrationContext.configure(db, opts={"compare_type": True, "compare_server_default": True})
    return list(compare_metadata(context, metadata))


def check(file: Path) -> None:
    engine = create_engine(f"sqlite:///{file}")
    with engine.connect() as db:
        assert differences(db) == []
        assert db.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        assert db.exec_driver_sql("PRAGMA foreign_key_check").all() == []
    engine.dispose()


def test_a_new_database_is_what_the_schema_says(tmp_path: Path) -> None:
    file = tmp_path / "new" / "home" / "kotae.db"
    assert upgrade(url_of(file)) == Upgraded(None, HEAD, None)
    check(file)
    assert upgrade(url_of(file)) == Upgraded(HEAD, HEAD, None)
    assert [other.name for other in file.parent.iterdir() if "backup" in other.name] == []
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_it_may_be_called_where_a_loop_runs(tmp_path: Path) -> None:
    assert upgrade(url_of(tmp_path / "x.db")).after == HEAD


def test_postgresql_gets_the_same_tables(postgresql_template: str, postgresql: str) -> None:
    url = postgresql.format(name=postgresql_template)
    assert upgrade(url) == Upgraded(HEAD, HEAD, None)

    async def compared() -> list[object]:
        engine = create_async_engine(url)
        async with engine.connect() as db:
            found = await db.run_sync(differences)
        await engine.dispose()
        return found

    assert asyncio.run(compared()) == []


def test_a_role_that_may_make_no_tables_is_told_how_it_may(postgresql: str) -> None:
    execute(
        postgresql.format(name="postgres"),
        "DROP DATABASE IF EXISTS kotae_narrow",
        "CREATE DATABASE kotae_narrow",
        "DROP ROLE IF EXISTS narrow",
        "CREATE ROLE narrow LOGIN",
    )
    execute(postgresql.format(name="kotae_narrow"), "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    url = postgresql.format(name="kotae_narrow").replace("kotae@", "narrow@")
    with pytest.raises(MigrationError, match="GRANT CREATE ON SCHEMA public") as refused:
        upgrade(url)
    assert "permission denied" in str(refused.value) and "GRANT CREATE" in refused.value.text("ja")
    execute(postgresql.format(name="kotae_narrow"), "GRANT CREATE ON SCHEMA public TO narrow")
    assert upgrade(url).after == HEAD


def test_a_new_database_that_cannot_hold_every_text_is_refused(postgresql: str) -> None:
    create = "CREATE DATABASE kotae_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"
    execute(postgresql.format(name="postgres"), "DROP DATABASE IF EXISTS kotae_latin", create)
    with pytest.raises(MigrationError, match="LATIN1") as refused:
        upgrade(postgresql.format(name="kotae_latin"))
    assert "ENCODING 'UTF8'" in refused.value.text("ja")


def test_two_processes_upgrade_once(tmp_path: Path) -> None:
    url = url_of(tmp_path / "kotae.db")
    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(upgrade, [url] * 4))
    assert sorted(result.before or "" for result in done) == ["", HEAD, HEAD, HEAD]
    with closing(sqlite3.connect(tmp_path / "kotae.db")) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


# -- released versions ----------------------------------------------------------------------------------------------


def test_every_released_version_has_a_golden_file() -> None:
    assert HEAD in {file.stem.removeprefix("database-") for file in GOLDEN}


def restored(golden: Path, folder: Path) -> Path:
    file = folder / "kotae.db"
    with closing(sqlite3.connect(file)) as db:
        db.executescript(golden.read_text(encoding="utf-8"))
    return file


@pytest.fixture(params=GOLDEN, ids=lambda file: file.stem)
def released(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return restored(request.param, tmp_path)


@pytest.fixture
def newest(tmp_path: Path) -> Path:
    return restored(FILES / f"database-{HEAD}.sql", tmp_path)


def contents(file: Path) -> dict[str, int]:
    with closing(sqlite3.connect(file)) as db:
        return {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables(file)}


def test_a_released_database_is_upgraded_with_its_rows(released: Path) -> None:
    before = contents(released)
    assert all(before.values())
    assert upgrade(url_of(released)).after == HEAD
    check(released)
    after = contents(released)
    assert all(after[table] == count for table, count in before.items())


def test_doubt_of_earlier_versions_stays_with_its_answers(released: Path) -> None:
    with closing(sqlite3.connect(released)) as db:
        doubted = "SELECT turn FROM questions WHERE reason = 'low_confidence'"
        before = db.execute(f"SELECT turn FROM answers WHERE outcome = 'answered' AND turn IN ({doubted})").fetchall()
    upgrade(url_of(released))
    with closing(sqlite3.connect(released)) as db:
        assert db.execute("SELECT turn FROM answers WHERE unsure").fetchall() == before != []


def test_searches_of_earlier_versions_are_of_the_turn_that_ran_alone(tmp_path: Path) -> None:
    file = restored(FILES / "database-0022.sql", tmp_path)
    with closing(sqlite3.connect(file)) as db:
        told = [column[1] for column in db.execute("PRAGMA table_info(turns)")]

        def ran(turn: str, start: str, end: str) -> None:
            new = {"id": "?", "claim": "?", "sequence": "sequence + ?", "claimed_at": "?", "finished_at": "?"}
            values = ", ".join(new.get(name, name) for name in told)
            given = {"id": turn, "claim": turn, "sequence": int(turn), "claimed_at": start, "finished_at": end}
            insert = f"INSERT INTO turns SELECT {values} FROM turns WHERE id = ?"
            db.execute(insert, (*(given[name] for name in told if name in new), "t" * 32))

        def searched(query: str, at: str) -> None:
            names = "collection, latency_ms, total_results, filtered_results, top_score, scores, scope"
            db.execute(
                f"INSERT INTO searches (query, at, {names}) SELECT ?, ?, {names} FROM searches LIMIT 1", (query, at)
            )

        ran("1", "2026-11-22 10:00:00.000000", "2026-11-22 10:00:20.000000")
        ran("2", "2026-11-22 10:00:10.000000", "2026-11-22 10:00:30.000000")
        db.execute("DELETE FROM searches WHERE id > (SELECT min(id) FROM searches)")
        searched("of the first", "2026-11-22 10:00:05.000000")
        searched("of either", "2026-11-22 10:00:15.000000")
        searched("of the second", "2026-11-22 10:00:31.500000")
        searched("by hand", "2026-11-22 11:00:00.000000")
        db.execute("DELETE FROM searches WHERE id = (SELECT min(id) FROM searches)")
        db.commit()
    upgrade(url_of(file))
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT query, turn FROM searches ORDER BY at").fetchall() == [
            ("of the first", "1"),
            ("", None),
            ("of the second", "2"),
            ("by hand", None),
        ]


# -- a later revision, made for these tests -------------------------------------------------------------------------

NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{head}"


def upgrade() -> None:
    op.create_table("first", sa.Column("x", sa.Integer()))
    op.add_column("collections", sa.Column("colour", sa.Text()))
    op.execute("UPDATE collections SET colour = 'blue'")
    {trouble}
    op.create_table("last", sa.Column("x", sa.Integer()))
"""


@pytest.fixture
def later(tmp_path: Path) -> Iterator[Path]:
    """A copy of the package, so that a revision can be added to it."""
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    shutil.copytree(
        Path(migrations.__file__).parent, folder / "migrations", ignore=shutil.ignore_patterns("__pycache__")
    )
    yield folder


def upgrade_later(folder: Path, file: Path, trouble: str) -> subprocess.CompletedProcess[str]:
    text = NEXT.format(head=HEAD, trouble=trouble)
    (folder / "migrations" / "versions" / "9999_for_a_test.py").write_text(text)
    program = (
        f"import sys; sys.path[:0] = [{str(folder)!r}, {str(Path(migrations.__file__).parents[1])!r}]\n"
        f"from migrations import upgrade, MigrationError\n"
        f"try: done = upgrade({url_of(file)!r}); print(done.before, done.after, done.backup)\n"
        f"except MigrationError as error: print(error.text('ja')); sys.exit(3)\n"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=folder, timeout=60)


def backups(file: Path) -> list[Path]:
    return sorted(file.parent.glob("*.backup.db"))


def colours(file: Path) -> bool:
    with closing(sqlite3.connect(file)) as db:
        return any(column[1] == "colour" for column in db.execute("PRAGMA table_info(collections)"))


def test_a_copy_is_made_before_a_change(newest: Path, later: Path) -> None:
    before = contents(newest)
    done = upgrade_later(later, newest, "")
    assert done.returncode == 0, done.stderr
    (backup,) = backups(newest)
    assert done.stdout.split() == [HEAD, "9999", str(backup)]
    assert colours(newest) and not colours(backup)
    assert contents(backup) == before
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    check(backup)


def test_an_upgrade_that_fails_leaves_the_database_as_it_was(newest: Path, later: Path) -> None:
    done = upgrade_later(later, newest, 'op.execute("SELECT * FROM nowhere")')
    assert done.returncode == 3 and "元のまま" in done.stdout and "nowhere" in done.stdout
    assert not colours(newest) and not tables(newest) & {"first", "last"}
    check(newest)


def test_an_upgrade_that_fails_at_each_start_leaves_one_copy(newest: Path, later: Path) -> None:
    """As where a service is started again and again, its upgrade failing, or killed while it makes the copy."""
    died = newest.with_name(f"{newest.stem}-{HEAD}-20260101T000000.backup.part")
    died.write_bytes(b"half of everything that people asked")
    fails = 'op.execute("SELECT * FROM nowhere")'
    first = newest.with_name(f"{newest.stem}-{HEAD}-20260102T000000.backup.db")
    assert upgrade_later(later, newest, fails).returncode == 3
    (made,) = backups(newest)
    made.replace(first)  # as if that had been a while ago
    earlier = newest.with_name(f"{newest.stem}-0001-20250101T000000.backup.db")
    earlier.write_bytes(b"of another upgrade")
    assert upgrade_later(later, newest, fails).returncode == 3
    assert len(backups(newest)) == 2 and earlier in backups(newest) and first not in backups(newest)
    assert not list(newest.parent.glob("*.part"))


def test_a_copy_that_finds_no_room_leaves_nothing_in_the_way(newest: Path, later: Path, tmp_path: Path) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    with small_disk(place, 8 * 2**20) as disk:
        file = disk.folder / "kotae.db"
        shutil.copyfile(newest, file)
        with closing(sqlite3.connect(file)) as db:
            db.execute("CREATE TABLE filling AS SELECT randomblob(2000000) AS bytes")
        disk.leave(2**20)
        before = disk.free
        done = upgrade_later(later, file, "")
        assert done.returncode == 3 and "空き容量" in done.stdout
        assert not backups(file) and not list(file.parent.glob("*.part")) and disk.free >= before - 2**16


@pytest.mark.parametrize("mode", ["wal", pytest.param("delete", marks=pytest.mark.long)])
def test_a_killed_upgrade_leaves_the_old_or_the_new(newest: Path, later: Path, mode: str) -> None:
    with closing(sqlite3.connect(newest)) as db:
        db.execute(f"PRAGMA journal_mode = {mode}")
    killed = upgrade_later(later, newest, "import os; os.kill(os.getpid(), 9)")
    assert killed.returncode == -9
    assert not colours(newest) and not tables(newest) & {"first", "last"}
    check(newest)
    assert upgrade_later(later, newest, "").returncode == 0
    assert colours(newest) and tables(newest) >= {"first", "last"}


def test_a_first_upgrade_killed_anywhere_leaves_nothing_or_all(tmp_path: Path) -> None:
    """Killed before the n-th statement."""
    program = (
        "import os, sys\n"
        "from sqlalchemy import event\n"
        "from sqlalchemy.engine import Engine\n"
        "from migrations import upgrade\n"
        "left = [int(sys.argv[1])]\n"
        "@event.listens_for(Engine, 'before_cursor_execute')\n"
        "def count(*args):\n"
        "    left[0] -= 1\n"
        "    if left[0] == 0: os.kill(os.getpid(), 9)\n"
        "upgrade(sys.argv[2])\n"
    )
    root = Path(migrations.__file__).parents[1]
    statuses = []
    for number in (2, 9, 16, 1000):
        file = tmp_path / f"{number}.db"
        status = subprocess.run(
            [sys.executable, "-c", program, str(number), url_of(file)], cwd=root, timeout=60
        ).returncode
        statuses.append(status)
        found = tables(file)
        assert found == set() or found == {*metadata.tables, "alembic_version"}
        assert upgrade(url_of(file)).after == HEAD
        check(file)
    assert statuses == [-9, -9, -9, 0]


def test_a_newer_database_is_refused(newest: Path, later: Path) -> None:
    upgrade_later(later, newest, "")
    with pytest.raises(NewerDatabaseError) as refused:
        upgrade(url_of(newest))
    assert "9999" in refused.value.text("en") and "newer version" in refused.value.text("en")
    assert "新しいバージョン" in refused.value.text("ja")
    for said in (refused.value.text("en"), refused.value.text("ja")):
        assert "kotae.db-wal" in said and "kotae.db-shm" in said and "*.backup.db" in said


def test_who_goes_back_as_the_refusal_says_has_the_copy_whole(newest: Path, later: Path) -> None:
    """Also where the later version was killed and left a log beside its database."""
    writer = (
        "import os, sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1])\n"
        "db.execute('CREATE TABLE late AS SELECT randomblob(500000) AS bytes')\n"
        "db.commit()\n"
        "os.kill(os.getpid(), 9)\n"
    )
    upgrade_later(later, newest, "")
    subprocess.run([sys.executable, "-c", writer, str(newest)], timeout=60)
    log = newest.with_name("kotae.db-wal")
    assert log.stat().st_size
    (copy,) = backups(newest)
    away = newest.with_name("away")
    away.mkdir()
    for name in ("kotae.db", "kotae.db-wal", "kotae.db-shm"):
        newest.with_name(name).rename(away / name)
    shutil.copyfile(copy, newest)
    assert upgrade(url_of(newest)) == Upgraded(HEAD, HEAD, None)
    check(newest)


def test_somebody_elses_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE customers (id)")
    with pytest.raises(MigrationError, match="customers"):
        upgrade(url_of(file))
    assert tables(file) == {"customers"}


def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    file = tmp_path / "notes.db"
    file.write_text("This is a text, and a rather long one. " * 200)
    with pytest.raises(MigrationError, match="not a database"):
        upgrade(url_of(file))


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    """As a new home meets it, and a database that is there: its map beside it finds no room either."""
    with small_disk(tmp_path, 4 * 2**20) as disk:
        file = disk.folder / "kotae.db"
        for _ in range(2):
            disk.leave(0)
            with pytest.raises(MigrationError, match="no space left") as refused:
                upgrade(url_of(file))
            assert "空き容量" in refused.value.text("ja")
            disk.leave(2 * 2**20)
            upgrade(url_of(file))
        check(file)


# -- making a golden file -------------------------------------------------------------------------------------------


async def fill(url: str) -> None:
    """At least a row in every table."""
    moment = datetime(2026, 11, 21, 12, tzinfo=UTC)
    engine = connect(url)
    rows = TurnStore(engine)
    message = Incoming(
        Place("slack", "T1", "C1"), "1.0", "1.0", "U1", "経費の締切は？", Audience("private"), link="https://x.y/z"
    )
    until = moment + timedelta(seconds=15)
    held = (await rows.claim({"t" * 32: message}, owner="me", now=moment, until=until))["t" * 32]
    await rows.start(held, owner="me", now=moment)
    answer = Answered(
        "25日です。[1]",
        (Citation(1, "経費.md", "handbook", 0, "毎月25日", document_id="d" * 32),),
        unsure=True,
        confidence=0.3,
    )
    miss = MissedQuestion(held.id, message.text, "low_confidence", ("handbook",), 0.3, "team", None, moment)
    found = Hit(Passage("handbook", "d" * 32, "経費.md", 0, "毎月25日", "team"), {"dense": 0.8}, 0.3)
    recording = Recording()
    for event in (Thought("探します。"), ToolReturned("1", "search_rag_knowledge_base", "1 件", (found,)), answer):
        recording.add(event)
    await rows.finish(held, answer, owner="me", steps=recording.steps, misses=(miss,), now=moment)
    await rows.shown(held.id, owner="me", now=moment)
    await Votes(engine).put(Feedback(held.id, "U2", "down", "outdated", "古いです", moment), "place:slack:T1:C1")
    await VectorStores(engine).open("e5", 384, "t1")
    await Processes(engine).alive("machine:1:a", embedded=False)
    page = DocumentRow(
        *("d" * 32, "handbook", "team", "経費.md", "経費", None, "h", "m", 3, "ja", "U1", 1, moment, moment),
        owner="slack:U4",
    )
    await Documents(engine, "e5").commit(page, generation=1)
    await Documents(engine, "e5").commit(page.with_(markdown="m2"), generation=2)  # answers are to be checked
    search = SearchMetrics("経費", "handbook", 5.0, 9, 3, 0.8, (0.8,), None, moment)
    await Searches(engine).add(Measured(search, "team", held.id))
    asks, (question, *_) = Asks(engine), await UnansweredQuestions(engine).of_turn(held.id)
    person = PersonAsk(held.id, question.id, "slack:U1", "slack:U4", "owner", message.place, moment, moment)
    assert await asks.add(person)
    await asks.opt_out("slack:U5", moment)
    await Collections(engine).merge("old", "handbook")
    followed = FollowedSources(engine)
    hall = FollowedSource(
        "5" * 32, "hall", "git", "https://git.example/hall", {"branch": "main"}, "handbook", "team", 30, "slack:U1",
        moment, moment, cursor="6" * 40, trouble=Text(en="Gone.", ja="ありません。"),
    )  # fmt: skip
    assert await followed.add(hall, AuditRecord("slack:U1", "source add", "hall", "on"))
    await followed.note(hall.id, "docs/keihi.md", FollowedPage("7" * 40, page.id))
    await followed.note(
        hall.id, "1790000001.000100", FollowedPage("2026", page.id, due_at=moment, people=("slack:U1",))
    )
    await followed.leave_out("slack:U9", moment)
    token = ProgramToken("editor", "team", 30, 2_000, "slack:U1", moment)
    assert await ProgramTokens(engine).add(token, "8" * 64, AuditRecord("slack:U1", "token add", "editor", "team"))
    digests = Digests(engine)
    await digests.claim(moment, owner="me", now=moment, until=moment + timedelta(minutes=15))
    await digests.sent(moment, owner="me", now=moment)
    await Usage(engine).add({(moment.date(), "gemini:gemini-3.8-flash"): Cost(3, 1200, 90, 40)})
    await Usage(engine).refuse(message, "user")
    await ChannelSettings(engine).put(message.place, Preferences(steps="off", collections=("handbook",)))
    await Outbox(engine).reserve(Post(held.id, "answer", 0, message.place, "1.0"))
    await Outbox(engine).confirm(Post(held.id, "answer", 0, message.place, "1.0", "2.0"))
    file = FileRef("経費.pdf", {"file": "F1"})
    intake = IngestionRequest("i" * 32, message.place, None, "U1", "handbook", "team", "ja", (file,))
    admitted = IngestionStore(engine).take(
        "slack:1", intake, owner="me", now=moment, until=until, admit=lambda it, n: it
    )
    assert await admitted is not None
    trace = AuditRecord("slack:U1", "teach", "経費の締切は？", "answered", moment)
    telling = Telling("毎月25日です。", "slack:U3")
    await Notices(engine).close((1,), ("team",), now=moment, trace=trace, telling=telling)
    jobs, spot = PairJobs(engine), ChunkPlace(page.id, page.hash, 0)
    job: dict[str, Any] = {"document": page.id, "collection": page.collection, "model": "gemini:gemini-3.8-flash"}
    assert await jobs.create("j" * 32, **job, spots=(spot,), now=moment, trace=trace)
    assert await jobs.claim(owner="me", now=moment, until=until) is not None
    made = (Proposed("経費の締切はいつですか？", "毎月25日です。"),)
    (task,) = await jobs.todo("j" * 32)
    assert await jobs.store("j" * 32, task, "done", owner="me", now=moment, made=made, cost=Cost(1, 400, 60, 20))
    await PairRows(engine).track(Tracked(page.id, 0, page.collection, page.scope, "Q&A: 経費.md.json"))
    await Homes(engine).identity("f" * 32)
    await Homes(engine).team("discord:1")
    await change(engine, lambda db: db.execute(kept.insert().values(address="m" * 64, data=b"# Leave")))
    await HeldRows(engine).keep([b"# Plan"])
    await ErasedPeople(engine).add("slack", "U9", ["t1"])
    assert await Leases(engine).take("discord", "me", now=moment, until=until)
    assert await Rates(engine).take("slack:chat.update", 10, 40) == 0
    await RetentionClock(engine).judge(moment)
    ports = Order(DatasetUpload("f" * 32, "港.csv", Columns(("本文",))), "港", TEAM, "web:aki", "ja")
    await DatasetJobRows(engine).begin(DatasetJob("d" * 32, ports, moment), owner="me", now=moment, until=moment)
    room = Messages(engine, Signals(engine))
    asked = await room.post("general", "aki", "@kotae 経費の締切は？", None, {"strategy": "react"})
    assert asked is not None
    await room.put(BotMessage("general", asked.id, held.id, "answer", "25日です。[1]", data={"outcome": "answered"}))
    await engine.dispose()


def make_golden() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kotae.db"
        upgrade(url_of(file))
        asyncio.run(fill(url_of(file)))
        with closing(sqlite3.connect(file)) as db:
            (FILES / f"database-{HEAD}.sql").write_text("\n".join(db.iterdump()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    make_golden()


async def test_who_only_looks_upgrades_no_database_that_older_processes_have_open(
    postgresql: str, tmp_path: Path
) -> None:
    execute(postgresql.format(name="postgres"), "CREATE DATABASE older")
    url = postgresql.format(name="older")
    migrations.upgrade(url, to="0022")
    execute(url, "INSERT INTO processes VALUES ('west:7:ab', false, now(), now() + interval '1 hour')")
    settings = Settings.model_validate({"KOTAE_HOME": str(tmp_path), "DATABASE_URL": url})
    with pytest.raises(StoreError, match=r"revision 0022.* \(west:7\)"):
        async with database(settings, looks=True):
            raise AssertionError
    assert (await server_condition(url, settings.link)).revision == "0022"
    execute(url, "UPDATE processes SET until = now()")  # it has died
    async with database(settings, looks=True):
        assert (await server_condition(url, settings.link)).revision == HEAD


async def test_whoever_opens_an_older_database_is_told_of_the_copy(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings.model_validate({"KOTAE_HOME": str(tmp_path)})
    migrations.upgrade(settings.database_url, to="0011")
    for _ in range(2):
        async with database(settings):
            (copy,) = backups(tmp_path / "kotae.db")
    (told,) = [record.getMessage() for record in caplog.records if "upgraded" in record.message]
    assert str(copy) in told and HEAD in told
