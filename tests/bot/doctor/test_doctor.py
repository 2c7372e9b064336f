"""The doctor finds each mistake that is really made here, says in both languages what to do, and never fails itself."""

import asyncio
import fcntl
import json
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from sqlalchemy.engine import make_url

from bot.app import running
from bot.config.settings import Settings
from bot.doctor import data as doctor_data
from bot.doctor import machine, processes, services
from bot.doctor.findings import Check, Finding, Remark, Subject, fault, fine
from bot.doctor.machine import old_sqlite, short_of_disk, short_of_machine
from bot.doctor.run import as_json, diagnose, examine, report, status
from bot.errors import SettingsError
from bot.logs import Redactor
from bot.store.engine import connect
from bot.store.processes import Processes
from bot.store.retention_clock import RetentionClock
from migrations import revisions, upgrade
from retrieval.i18n import Text
from tests.bot import databases
from tests.bot import postgresql as on_server
from tests.bot.library import opened
from tests.bot.program import kotae
from tests.disks import small_disk
from tests.fakes import openai
from tests.fakes.gemini import FakeGemini, Refuse, Reply, busy, text
from tests.fakes.openai import FakeOpenAI
from tests.retrieval.cross_encoder import cross_encoder
from tests.retrieval.test_ingest import HashEmbedder

CHECKS = {
    check.about.key: check for check in (*machine.CHECKS, *doctor_data.CHECKS, *processes.CHECKS, *services.CHECKS)
}
NOBODY = 65534


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for field in Settings.model_fields.values():
        monkeypatch.delenv(str(field.alias), raising=False)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that another user may be given: pytest's own are for one user alone."""
    made = Path(tempfile.mkdtemp(prefix="kotae-doctor-"))
    made.chmod(0o755)
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)


def closed(folder: Path) -> Path:
    folder.chmod(0o555)
    return folder


def at(home: Path, **values: str) -> Settings:
    return Settings.model_validate({"KOTAE_HOME": str(home), **values})


class Somebody:
    """Runs as a user without rights, since root may write where nobody may."""

    def __enter__(self) -> None:
        self._root = os.geteuid() == 0
        if self._root:
            os.seteuid(NOBODY)

    def __exit__(self, *error: object) -> None:
        if self._root:
            os.seteuid(0)


async def found(key: str, settings: Settings, *, as_root: bool = True) -> list[Finding]:
    with nullcontext() if as_root else Somebody():
        return await examine(settings, [CHECKS[key]])


def expect(findings: Sequence[Finding], level: str, *parts: str) -> None:
    """One finding of this level says all of these, English or Japanese, and both languages have a next step."""
    (one,) = [finding for finding in findings if finding.level == level]
    assert one.todo is not None
    said = "\n".join((one.what.en, one.todo.en, one.what.ja, one.todo.ja))
    for part in parts:
        assert part in said, (part, said)
    assert one.what.ja != one.what.en and one.todo.ja != one.todo.en
    assert "Traceback" not in said and "CANARY" not in said


# -- homes ----------------------------------------------------------------------------------------------------------


def database(home: Path) -> Path:
    file = home / "kotae.db"
    databases.made(file)
    return file


def execute(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


async def taught(home: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A home with two documents, indexed by an embedder that costs nothing; the doctor is given the same one."""
    async with opened(home) as library:
        await library.add("plan.md", "# Plan\n\nThe harbour plan.\n")
        await library.add("secret.md", "# Secret\n\nThe secret plan.\n", scope="place:slack:T:C")
    (home / "vectors").rename(home / "hash")
    (home / "vectors").mkdir()
    (home / "hash").rename(home / "vectors" / "hash")
    embed_with(monkeypatch, HashEmbedder())
    return at(home)


def embed_with(monkeypatch: pytest.MonkeyPatch, embedder: object) -> None:
    """In place of the model that takes seconds to load: where the application is put together, not in what is
    tested."""

    async def make(settings: Settings, stack: object) -> object:
        return embedder

    for where in ("bot.app", "bot.config.models"):  # the application's, and the one that the doctor makes
        monkeypatch.setattr(f"{where}.make_embedder", make)


# -- the frame ------------------------------------------------------------------------------------------------------

TEA = Subject("tea", Text(en="Tea", ja="お茶"))


def check(run: Callable[[Settings], Awaitable[Sequence[Remark]]], seconds: float = 10.0) -> Check:
    return Check(TEA, run, seconds)


async def test_a_check_that_crashes_is_a_finding_and_the_others_go_on(tmp_path: Path) -> None:
    async def crashing(settings: Settings) -> Sequence[Remark]:
        raise RuntimeError("CANARY in the pot")

    async def calm(settings: Settings) -> Sequence[Remark]:
        return [fine(Text(en="Hot.", ja="熱いです。"))]

    findings = await examine(at(tmp_path), [check(crashing), check(calm)])
    expect(findings, "fault", "RuntimeError", "KOTAE_LOG_LEVEL=INFO", "失敗しました")
    assert [finding.level for finding in findings] == ["fault", "ok"]


async def test_a_check_that_hangs_ends_in_its_time(tmp_path: Path) -> None:
    async def hanging(settings: Settings) -> Sequence[Remark]:
        await asyncio.Event().wait()
        return []

    expect(await examine(at(tmp_path), [check(hanging, 0.05)]), "fault", "0.05 seconds", "0.05 秒")


async def test_no_secret_passes(tmp_path: Path) -> None:
    async def talkative(settings: Settings) -> Sequence[Remark]:
        said = Text(en="key-CANARY-123 and xoxb-CANARY-1234", ja="鍵 key-CANARY-123")
        return [fault(said, Text(en="Use postgresql://u:CANARYPASS@h/n", ja="直す"))]

    (finding,) = await examine(at(tmp_path, GEMINI_API_KEY="key-CANARY-123"), [check(talkative)])
    assert "CANARY" not in f"{finding}" and "[redacted]" in finding.what.ja


def test_what_is_not_well_needs_a_next_step() -> None:
    with pytest.raises(ValueError, match="next step"):
        Remark("warning", Text(en="Cold.", ja="冷たいです。"))


def test_the_report_and_its_status() -> None:
    good = Finding(TEA, "ok", Text(en="Hot.", ja="熱いです。"))
    cool = Finding(TEA, "warning", Text(en="Lukewarm.", ja="ぬるいです。"), Text(en="Heat it.", ja="温めてください。"))
    cold = Finding(
        TEA, "fault", Text(en="Cold.", ja="冷たいです。"), Text(en="Boil water.", ja="湯を沸かしてください。")
    )
    assert report([good], "en") == ["✓ Tea: Hot.", "Everything is well."]
    assert report([good, cool], "en")[1:] == ["! Tea: Lukewarm.", "    → Heat it.", "No faults, 1 to look at."]
    assert report([cool, cold], "ja") == [
        "! お茶: ぬるいです。",
        "    → 温めてください。",
        "✗ お茶: 冷たいです。",
        "    → 湯を沸かしてください。",
        "異常 1 件、確認事項 1 件。",
    ]
    assert [status(some) for some in ([], [good, cool], [cold])] == [0, 0, 1]
    shown = as_json([good, cold], "ja")
    assert json.loads(json.dumps(shown)) == {
        "ok": False,
        "status": 1,
        "findings": [
            {"about": "tea", "level": "ok", "what": "熱いです。", "next": None},
            {"about": "tea", "level": "fault", "what": "冷たいです。", "next": "湯を沸かしてください。"},
        ],
    }


# -- settings -------------------------------------------------------------------------------------------------------

SETTINGS_MISTAKES: list[tuple[dict[str, str], list[list[str]]]] = [
    ({"SLACK_BOT_TOKEN": "xoxb-1-CANARY"}, [["SLACK_APP_TOKEN is not set", "App-Level Tokens", "ありません"]]),
    ({"SLACK_BOT_TOKEN": "xapp-1-CANARY", "SLACK_APP_TOKEN": "xapp-1-CANARY"}, [["SLACK_BOT_TOKEN holds an app-level token", "OAuth & Permissions", "アプリレベルトークン"]]),
    ({"DISCORD_TOKEN": "CANARYCANARYCANARYCANARYCANARY00"}, [["DISCORD_TOKEN holds a client secret", "Reset Token", "クライアントシークレット"]]),
    ({"KOTAE_MODEL": "openai:llama"}, [["needs OPENAI_API_KEY", "必要です"]]),
    ({"KOTAE_TIMEZONE": "Tokyo", "KOTAE_MAX_TURNS": "many"}, [["KOTAE_TIMEZONE", "Asia/Tokyo"], ["KOTAE_MAX_TURNS", "整数"]]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "wanted"), SETTINGS_MISTAKES, ids=lambda value: next(iter(value), None) and str(next(iter(value)))[:30]
)
async def test_settings_that_do_not_load_are_all_said_at_once(
    values: dict[str, str], wanted: list[list[str]], tmp_path: Path
) -> None:
    env = tmp_path / ".env"
    env.write_text("".join(f"{name}={value}\n" for name, value in values.items()), encoding="utf-8")
    findings = await diagnose(env_file=env)
    assert status(findings) == 2 and len(findings) == len(wanted)
    for parts in wanted:
        expect([one for one in findings if parts[0] in one.what.en], "fault", *parts, ".env", "kotae doctor")


async def test_a_name_that_is_no_setting_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = tmp_path / ".env"
    env.write_text(f"KOTAE_HOME={tmp_path}\nKOTAE_TIMEZOEN=Asia/Tokyo\nOTHER_TIMEZONE=Asia/Tokyo\n", encoding="utf-8")
    monkeypatch.setenv("KOTAE_COFFEE", "black")
    findings = [one for one in await diagnose(env_file=env) if one.about.key == "settings"]
    assert [one.level for one in findings] == ["warning", "warning"]
    expect(findings[:1], "warning", "KOTAE_COFFEE", ".env.example", "効果がありません")
    expect(findings[1:], "warning", "KOTAE_TIMEZOEN is set", "Write KOTAE_TIMEZONE,")


async def test_a_settings_file_in_another_encoding_is_said(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    env.write_bytes("KOTAE_DEFAULT_COLLECTION=資料".encode("cp932"))
    findings = await diagnose(env_file=env)
    expect(findings, "fault", str(env), "UTF-8", "保存")
    assert status(findings) == 2


async def test_a_platform_adds_its_own_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOTAE_HOME", str(tmp_path / "none"))
    embed_with(monkeypatch, HashEmbedder())

    async def brew(settings: Settings) -> Sequence[Remark]:
        return [fine(Text(en="Hot.", ja="熱いです。"))]

    findings = await diagnose([check(brew)], env_file=None)
    assert findings[-1].about == TEA and findings[0].about.key == "settings"
    assert {finding.about.key for finding in findings} >= {*CHECKS} - {
        "machine",
        "reranker",
        "judge",
        "processes",
        "clock",
    }  # silent where nothing is set
    assert status(findings) == 0, report(findings, "en")
    assert not (tmp_path / "none").exists()  # a check makes nothing


def test_the_command_asks_the_platforms_that_are_set_up(tmp_path: Path, unused_tcp_port: int) -> None:
    nowhere = f"http://127.0.0.1:{unused_tcp_port}"
    done = kotae(
        "doctor",
        "--json",
        home=tmp_path / "home",
        HOME=str(tmp_path),  # no weights are here, so none are loaded
        KOTAE_EMBEDDER="fastembed:BAAI/bge-small-en-v1.5",
        SLACK_BOT_TOKEN="xoxb-1-CANARYCANARY",
        SLACK_APP_TOKEN="xapp-1-CANARYCANARY",
        SLACK_API_URL=f"{nowhere}/api/",
        DISCORD_TOKEN="CANARY.CANARY.CANARY",
        DISCORD_API_URL=f"{nowhere}/api/v10",
    )
    findings = {found["about"]: found for found in json.loads(done.stdout)["findings"]}
    assert done.returncode == 1 and "CANARY" not in done.stdout + done.stderr
    for platform in ("slack", "discord"):
        assert findings[platform]["level"] == "fault" and "cannot be reached" in findings[platform]["what"]


def test_a_log_level_that_is_none_is_a_finding(tmp_path: Path) -> None:
    done = kotae("doctor", "--json", home=tmp_path / "home", KOTAE_LOG_LEVEL="loud")
    (found,) = json.loads(done.stdout)["findings"]
    assert done.returncode == 2 and "KOTAE_LOG_LEVEL" in found["what"] and not done.stderr


# -- this machine ---------------------------------------------------------------------------------------------------


async def test_a_folder_that_may_not_be_written(folder: Path) -> None:
    findings = await found("home", at(closed(folder)), as_root=False)
    expect(findings, "fault", str(folder), "Permission denied", "KOTAE_HOME", "chown -R", "作成または使用できません")


async def test_a_folder_inside_one_that_may_not_be_written(folder: Path) -> None:
    settings = at(closed(folder) / "new" / "home")
    expect(await found("home", settings, as_root=False), "fault", "KOTAE_HOME", "所有者")
    expect(
        await found("log", settings, as_root=False), "fault", "agent_chat.log", "Permission denied", "書き込めません"
    )


@pytest.mark.parametrize("below", ["", "home"])
async def test_a_file_in_the_folders_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KOTAE_HOME", str(tmp_path / "file" / below))
    findings = await diagnose(env_file=None)
    expect(findings, "fault", "KOTAE_HOME should be a folder", "KOTAE_HOME に使える値: フォルダー")
    assert status(findings) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away")
async def test_another_owner(folder: Path) -> None:
    os.chown(folder, NOBODY, -1)
    expect(await found("home", at(folder)), "warning", f"id {NOBODY}", "chown -R 0", "別のユーザー")


async def test_a_home_that_others_can_read(folder: Path) -> None:
    for path in (folder / "documents", folder):
        path.mkdir(exist_ok=True)
        path.chmod(0o755)
    expect(await found("home", at(folder)), "warning", str(folder / "documents"), "chmod -R go=", "読めます")
    (folder / "documents").chmod(0o700)
    assert [finding.level for finding in await found("home", at(folder))] == ["ok"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a disk")
async def test_a_home_on_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path, 2**20) as disk:
        disk.leave(0)
        expect(await found("home", at(disk.folder)), "fault", "No space left", "Free some space", "空きを作って")


@pytest.mark.parametrize("name", ["", "new"])
async def test_a_home_on_a_disk_that_is_read_only(tmp_path: Path, name: str) -> None:
    with small_disk(tmp_path, 2**20) as disk:
        disk.forbid_writing()
        found_there = await found("home", at(disk.folder / name))
        expect(found_there, "fault", "Read-only", "mount it writable", "マウントし直す")


async def test_a_restore_that_was_cut_short(tmp_path: Path) -> None:
    (tmp_path / "restoring").mkdir()
    (tmp_path / "restoring" / "manifest.json").write_text("{}")
    expect(await found("home", at(tmp_path)), "fault", "kotae restore", "復元が途中")


def test_a_machine_that_is_short_of_something() -> None:
    subject = Subject("machine", Text(en="", ja=""))

    def seen(remarks: Sequence[Remark]) -> list[Finding]:
        return [Finding(subject, remark.level, remark.what, remark.todo) for remark in remarks]

    expect(seen(short_of_disk(2**30 - 1, "/data")), "warning", "1023 MB", "/data", "Free some space", "空き容量")
    expect(
        seen(short_of_disk(2**27 - 1, "/data")), "fault", "127 MB", "Documents are refused", "文書の追加はできません"
    )
    expect(seen(short_of_machine(2**30, 2)), "warning", "1024 MB of memory", "KOTAE_EMBEDDER", "メモリー")
    expect(seen(short_of_machine(2**32, 1)), "warning", "1 processor", "twice", "プロセッサー")
    expect(seen(old_sqlite((3, 31, 1))), "fault", "3.31.1", "3.35.0", "Python")
    assert not [*short_of_disk(2**30, "/"), *short_of_machine(2**31, 2), *old_sqlite((3, 35, 0))]


async def test_a_log_that_may_not_be_written(folder: Path) -> None:
    logs = folder / "logs"
    logs.mkdir(mode=0o555)
    logs.chmod(0o555)
    expect(await found("log", at(folder), as_root=False), "fault", "agent_chat.log", "writable", "書き込めません")
    logs.chmod(0o755)
    (logs / "agent_chat.log").mkdir()
    expect(await found("log", at(folder)), "fault", "Is a directory", "記録されません")


async def test_versions_are_told(tmp_path: Path) -> None:
    (finding,) = await found("versions", at(tmp_path))
    assert finding.level == "ok"
    assert all(part in finding.what.en for part in ("Python 3.", "SQLite 3.", "Qdrant (embedded) 0."))
    (finding,) = await found("versions", at(tmp_path, QDRANT_URL="http://127.0.0.1:1"))
    assert "qdrant-client 1." in finding.what.en and "embedded" not in finding.what.en


# -- the database ---------------------------------------------------------------------------------------------------


async def test_a_sound_database(tmp_path: Path) -> None:
    database(tmp_path)
    (finding,) = await found("database", at(tmp_path))
    assert finding.level == "ok" and revisions()[0] in finding.what.en


async def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "kotae.db").write_text("This is a text, and a rather long one. " * 200)
    expect(await found("database", at(tmp_path)), "fault", "damaged", "kotae restore", "壊れています", "バックアップ")


async def test_a_database_with_a_damaged_page(tmp_path: Path) -> None:
    file = database(tmp_path)
    rows = ",".join(f"('{number}', 'word', '2026-01-01')" for number in range(2000))
    execute(file, f"INSERT INTO collections (name, description, created_at) VALUES {rows}")
    execute(file, "PRAGMA wal_checkpoint")
    data = bytearray(file.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 2048] = os.urandom(2048)
    file.write_bytes(data)
    expect(await found("database", at(tmp_path)), "fault", "damaged", "*.backup.db")


async def test_a_database_of_a_newer_version(tmp_path: Path) -> None:
    execute(database(tmp_path), "UPDATE alembic_version SET version_num = '9999'")
    expect(await found("database", at(tmp_path)), "fault", "9999", "newer version", "Update Kotae", "更新")
    for key in ("documents", "store"):
        expect(await found(key, at(tmp_path)), "warning", "Not checked", "database right first", "先にデータベース")


async def test_a_database_of_an_older_version(tmp_path: Path) -> None:
    upgrade(f"sqlite+aiosqlite:///{tmp_path / 'kotae.db'}", to="0001")
    findings = await found("database", at(tmp_path))
    if revisions()[0] == "0001":
        assert [finding.level for finding in findings] == ["ok"]
    else:
        expect(findings, "warning", "revision 0001", f"needs {revisions()[0]}", "kotae migrate", "コピー")
        expect(await found("store", at(tmp_path)), "warning", "database right first")


async def test_a_database_without_tables(tmp_path: Path) -> None:
    execute(tmp_path / "kotae.db", "CREATE TABLE customers (id)")
    expect(await found("database", at(tmp_path)), "warning", "none of Kotae's tables", "kotae migrate")


async def test_a_database_that_may_not_be_read_or_written(folder: Path) -> None:
    file = database(folder)
    execute(file, "PRAGMA journal_mode = DELETE")
    file.chmod(0o000)
    expect(await found("database", at(folder), as_root=False), "fault", "kotae.db", "Permission denied", "読み書き")
    file.chmod(0o444)
    expect(await found("database", at(folder), as_root=False), "fault", "cannot be written to", "書き込めません")


async def test_a_database_that_another_program_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.store.inspection._BUSY_SECONDS", 0.05)  # of waiting
    with closing(sqlite3.connect(database(tmp_path), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        expect(await found("database", at(tmp_path)), "fault", "keeps it locked", "ロックしたまま")


async def test_a_clock_that_leaps(tmp_path: Path) -> None:
    database(tmp_path)
    assert await found("clock", at(tmp_path)) == []
    engine, now = connect(at(tmp_path).database_url), datetime.now(UTC)
    clock = RetentionClock(engine)
    await clock.judge(now - timedelta(days=30))
    assert await found("clock", at(tmp_path)) == []  # as every home begins
    await clock.judge(now - timedelta(days=20))
    await clock.judge(now - timedelta(days=1))
    until = f"{now + timedelta(days=6):%Y-%m-%d}"
    expect(await found("clock", at(tmp_path)), "warning", f"{now:%Y-%m-%d}", until, "nothing is deleted", "時計")
    await clock.judge(now - timedelta(days=19))  # it was set right, and is behind by now
    assert await found("clock", at(tmp_path)) == []
    await engine.dispose()


async def test_a_database_too_large_to_be_checked_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database(tmp_path)
    monkeypatch.setattr("bot.doctor.data.INTEGRITY_SECONDS", -1.0)
    monkeypatch.setattr("bot.store.inspection._STEPS", 1)
    expect(await found("database", at(tmp_path)), "warning", "too large", "PRAGMA integrity_check", "終わりません")


async def test_a_server_that_cannot_be_reached(tmp_path: Path, unused_tcp_port: int) -> None:
    url = f"postgresql://u:CANARY@127.0.0.1:{unused_tcp_port}/kotae"
    expect(
        await found("database", at(tmp_path, DATABASE_URL=url)), "fault", "cannot be reached", "DATABASE_URL", "接続"
    )


async def test_a_server_without_tables_and_with_them(postgresql: str, postgresql_template: str, tmp_path: Path) -> None:
    empty = postgresql.format(name="postgres")
    expect(
        await found("database", at(tmp_path, DATABASE_URL=empty)),
        "warning",
        "none of Kotae's tables",
        "with pg_dump, and run kotae migrate",
    )
    (finding,) = await found("database", at(tmp_path, DATABASE_URL=postgresql.format(name=postgresql_template)))
    assert finding.level == "ok"


async def test_processes_of_one_database_are_named(server_url: str, tmp_path: Path) -> None:
    one = at(tmp_path, DATABASE_URL=server_url)
    alone, none = await found("processes", one)
    expect([alone], "warning", "no other process", "QDRANT_URL", "ほかのプロセス")
    assert (none.level, none.what.en) == ("ok", "None is running now.")
    engine = connect(server_url)
    await Processes(engine).alive("north:12:ab", embedded=False)
    await Processes(engine).alive("south:34:cd", embedded=False)
    await engine.dispose()
    (there,) = await found("processes", at(tmp_path, DATABASE_URL=server_url, QDRANT_URL="http://127.0.0.1:1"))
    assert (there.level, there.what.en) == ("ok", "2 now: north:12, south:34.")
    assert await found("processes", at(tmp_path)) == []


async def test_a_server_that_gives_fewer_connections_than_are_taken_is_told(server_url: str, tmp_path: Path) -> None:
    on_server.execute(
        server_url, "CREATE ROLE few LOGIN CONNECTION LIMIT 15", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO few"
    )
    address = make_url(server_url).set(username="few").render_as_string(hide_password=False)
    more = {"DATABASE_URL": address, "QDRANT_URL": "http://127.0.0.1:1"}
    few, _ = await found("processes", at(tmp_path, **more))
    expect([few], "warning", "15 connections at most, and 1 process may take 16", "CONNECTION LIMIT", "最大 15")
    (fine,) = await found("processes", at(tmp_path, **more, KOTAE_DATABASE_CONNECTIONS="14"))
    assert fine.level == "ok"


# -- documents and the index ----------------------------------------------------------------------------------------


async def test_a_home_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = await taught(tmp_path, monkeypatch)
    (kept,), (store,) = await found("documents", settings), await found("store", settings)
    assert (kept.level, store.level) == ("ok", "ok")
    assert kept.what.en.startswith("2,") and store.what.en.startswith("2 chunks")


async def test_collections_that_nothing_is_found_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await taught(tmp_path, monkeypatch)
    misspelt = at(tmp_path, KOTAE_COLLECTIONS="docs, dosc")
    expect(await found("documents", misspelt), "warning", "there: dosc.", "kotae collections", "何も見つかりません")
    assert [one.level for one in await found("documents", at(tmp_path, KOTAE_COLLECTIONS="docs"))] == ["ok"]


async def test_documents_whose_text_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = await taught(tmp_path, monkeypatch)
    for path in (tmp_path / "documents").rglob("*.md"):
        path.write_text("changed")
    findings = await found("documents", settings)
    expect(findings, "fault", "2 documents", "(plan.md)", "kotae ingest", "本文", "登録し直す")
    assert "secret.md" not in f"{findings}"  # a document of a private place is not named to whoever sits here


async def test_an_index_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = await taught(tmp_path, monkeypatch)
    shutil.rmtree(tmp_path / "vectors")
    expect(await found("store", settings), "fault", "2 documents should be in it", "kotae reindex", "見つかりません")
    assert not (tmp_path / "vectors").exists()


@pytest.mark.parametrize("lost", ["deleted", "nothing", "empty"])
async def test_a_database_that_does_not_know_the_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    settings = await taught(tmp_path, monkeypatch)
    (tmp_path / "kotae.db").unlink()
    if lost == "nothing":
        (tmp_path / "kotae.db").touch()
    if lost == "empty":
        database(tmp_path)
    for subject, what in (("documents", "保存してある文書"), ("store", "検索インデックス")):
        steps = ("does not know", "kotae restore", "kotae reindex --set-aside", what, "どちらもできない場合")
        expect(await found(subject, settings), "fault", *steps)
    assert len(list((tmp_path / "documents").glob("??/*.md"))) == 2
    assert (tmp_path / "kotae.db").exists() == (lost != "deleted")


async def test_an_index_that_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = await taught(tmp_path, monkeypatch)
    (tmp_path / "vectors" / "hash" / "shard" / "edge_config.json").write_text("{", encoding="utf-8")
    expect(await found("store", settings), "fault", "cannot be read", "kotae reindex --set-aside", "読み込めません")


async def test_an_index_whose_passages_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted all the same: the engine counts what stands elsewhere."""
    settings = await taught(tmp_path, monkeypatch)
    for page in (tmp_path / "vectors" / "hash" / "shard").glob("segments/*/payload_storage/page_*.dat"):
        page.write_bytes(b"\xff" * page.stat().st_size)
    expect(await found("store", settings), "fault", "does not answer", "kotae reindex --set-aside")


async def test_an_index_of_another_embedder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = await taught(tmp_path, monkeypatch)
    other = HashEmbedder()
    other.name = "another"
    embed_with(monkeypatch, other)
    expect(
        await found("store", settings),
        "fault",
        "hash (16 d",
        "another (16 d",
        "KOTAE_EMBEDDER",
        "混在",
        "kotae reindex",
    )


async def test_an_index_of_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = await taught(tmp_path, monkeypatch)
    with closing(sqlite3.connect(database(tmp_path))) as db, db:
        db.execute("UPDATE indexes SET tokenizer = 'words 1'")
    expect(await found("store", settings), "fault", "another version of Kotae", "kotae reindex", "別のバージョン")
    with pytest.raises(SettingsError, match="another version of Kotae"):
        async with running(settings, Redactor()):
            pass
    said: list[Text] = []
    async with running(settings, Redactor(), renew=said.append) as app:
        assert [row.name for row in await app.data.documents.listed()] == ["plan.md", "secret.md"]
        assert [hit.passage.title for hit in (await app.knowledge.search("harbour", app.readers)).hits] == ["Plan"]
    assert [one.en.startswith("The search index of this home was made by another") for one in said] == [True]
    async with running(settings, Redactor()):
        pass


async def test_an_index_of_another_embedder_is_not_renewed_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = await taught(tmp_path, monkeypatch)
    other = HashEmbedder()
    other.name = "another"
    embed_with(monkeypatch, other)
    said: list[Text] = []
    with pytest.raises(SettingsError, match="another cannot search them"):
        async with running(settings, Redactor(), renew=said.append):
            pass
    assert said == []


async def test_an_index_with_other_contents_than_the_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = await taught(tmp_path, monkeypatch)
    execute(tmp_path / "kotae.db", "UPDATE documents SET chunks = 7 WHERE name = 'plan.md'")
    expect(await found("store", settings), "fault", "2 chunks, but the documents have 8", "8 件", "kotae reindex")
    execute(tmp_path / "kotae.db", "UPDATE documents SET chunks = 1, born = 9 WHERE name = 'plan.md'")
    expect(await found("store", settings), "fault", "is an older copy", "古いコピー", "kotae reindex")


async def test_a_home_that_somebody_silent_has_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = await taught(tmp_path, monkeypatch)
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        expect(await found("store", settings), "warning", "does not answer", "stop that process", "応答がありません")
        (kept,) = await found("documents", settings)
        assert kept.level == "ok"  # what can be looked at is


async def test_a_home_that_a_running_bot_has_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = await taught(tmp_path, monkeypatch)
    troubles: dict[str, str] = {}

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"troubles": troubles})

    app = web.Application()
    app.router.add_post("/commands/troubles", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        await web.UnixSite(runner, str(tmp_path / "kotae.sock")).start()
        (finding,) = await found("store", settings)
        troubles["database"] = "Another file is in its place."
        expect(await found("store", settings), "fault", "database", "Another file is in its place", "動いている")
        await runner.cleanup()
    assert finding.level == "ok" and "running Kotae" in finding.what.en and "動いている" in finding.what.ja


async def test_a_qdrant_server_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    await taught(tmp_path, monkeypatch)
    settings = at(tmp_path, QDRANT_URL=f"http://127.0.0.1:{unused_tcp_port}", QDRANT_API_KEY="CANARY-key")
    expect(await found("store", settings), "fault", "cannot be reached", "QDRANT_URL", "接続できません")
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    expect(await found("store", settings), "fault", "kotae[qdrant]", "QDRANT_URL", "入っていません")


# -- the embedder ---------------------------------------------------------------------------------------------------


async def test_the_embedder_that_is_there(tmp_path: Path) -> None:
    (finding,) = await found("embedder", at(tmp_path))
    assert finding.level == "ok" and "384" in finding.what.en, finding


async def test_an_embedder_whose_weights_have_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As under a service's user, whose home is not there."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    said = ("could not be prepared", "HOME decides", str(tmp_path / "file" / ".cache"), "語句だけで検索")
    expect(await found("embedder", at(tmp_path)), "fault", *said)


async def test_an_embedder_nobody_has_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = at(tmp_path, KOTAE_EMBEDDER="fastembed:BAAI/bge-small-en-v1.5")
    expect(await found("embedder", settings), "warning", "not on this machine", "huggingface.co", "ダウンロード")


async def test_an_embedder_that_makes_another_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wide(HashEmbedder):
        async def embed_query(self, text: str) -> list[float]:
            return [*await super().embed_query(text), 0.0]

    embed_with(monkeypatch, Wide())
    expect(await found("embedder", at(tmp_path)), "fault", "17", "16", "KOTAE_EMBEDDER", "次元")


async def test_an_embedder_behind_a_wrong_key(tmp_path: Path) -> None:
    async with FakeGemini() as gemini:
        settings = at(
            tmp_path, GEMINI_API_KEY="AIzaCANARY-wrong", GEMINI_BASE_URL=gemini.url, KOTAE_EMBEDDER="gemini:gemini-embedding-2"
        )  # fmt: skip
        expect(await found("embedder", settings), "fault", "was not accepted", "KOTAE_EMBEDDER", "キー")


# -- the reranker ---------------------------------------------------------------------------------------------------


async def test_a_reranker_that_is_there_and_none(tmp_path: Path) -> None:
    assert not await found("reranker", at(tmp_path))
    folder = cross_encoder(tmp_path / "tiny", ("long",), licence="mit")
    (finding,) = await found("reranker", at(tmp_path, KOTAE_RERANKER=f"fastembed:{folder}"))
    assert finding.level == "ok" and str(folder) in finding.what.en


async def test_a_reranker_that_may_not_be_used_commercially(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "tiny", ("long",), licence="cc-by-nc-4.0")
    findings = await found("reranker", at(tmp_path, KOTAE_RERANKER=f"fastembed:{folder}"))
    assert [finding.level for finding in findings] == ["warning", "ok"]
    expect(findings, "warning", "cc-by-nc-4.0", "bge-reranker-v2-m3-int8", "商用")


async def test_a_reranker_nobody_has_downloaded_and_one_nobody_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = at(tmp_path, KOTAE_RERANKER="fastembed:BAAI/bge-reranker-base")
    expect(await found("reranker", settings), "warning", "not on this machine", "1.04 GB", "ダウンロード")
    settings = at(tmp_path, KOTAE_RERANKER="fastembed:nobody/nothing")
    expect(await found("reranker", settings), "fault", "nobody/nothing", "KOTAE_RERANKER", "ありません")


async def test_a_reranker_that_cannot_be_read(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "broken", ("long",))
    (folder / "model.onnx").write_bytes(b"no model")
    settings = at(tmp_path, KOTAE_RERANKER=f"fastembed:{folder}")
    expect(await found("reranker", settings), "fault", "failed", "search works without", "失敗")


# -- the model ------------------------------------------------------------------------------------------------------


async def test_extractive_needs_nothing_and_nudges(tmp_path: Path) -> None:
    (finding,) = await found("model", at(tmp_path))
    assert finding.level == "ok" and finding.todo is not None
    assert "GEMINI_API_KEY" in finding.todo.en and "GEMINI_API_KEY" in finding.todo.ja


async def test_a_model_that_answers(tmp_path: Path) -> None:
    async with FakeGemini(Reply((text("OK"),))) as gemini:
        settings = at(tmp_path, GEMINI_API_KEY=gemini.key, GEMINI_BASE_URL=gemini.url)
        (finding,) = await found("model", settings)
    assert finding.level == "ok" and "gemini-3.8-flash" in finding.what.en
    assert len(gemini.journal) == 1


async def test_the_models_think_as_much_as_the_settings_say(tmp_path: Path) -> None:
    async with FakeGemini(Reply((text("OK"),))) as gemini:
        values = {"GEMINI_API_KEY": gemini.key, "GEMINI_BASE_URL": gemini.url}
        await found("model", at(tmp_path, **values, KOTAE_THINKING="low"))
    assert gemini.journal[0].body["generationConfig"]["thinkingConfig"]["thinkingLevel"] == "LOW"
    async with FakeOpenAI(*[openai.Reply(openai.text("OK"))] * 2, key=None) as server:
        values = {"KOTAE_MODEL": "openai:qwen3:8b", "OPENAI_BASE_URL": server.url}
        for thinking in ("high", "default"):
            await found("model", at(tmp_path, **values, KOTAE_THINKING=thinking))
    assert [sent.body.get("reasoning_effort") for sent in server.journal] == ["high", None]


async def test_a_model_that_does_not_search_when_it_is_asked_to_is_well_and_small(tmp_path: Path) -> None:
    searched = '{"queries": ["refunds"]}'
    native = openai.Reply(openai.call("search_rag_knowledge_base", searched), "tool_calls")
    written = openai.Reply(openai.text(f"[search_rag_knowledge_base {searched}]"))
    replies = (native, written, openai.Reply(openai.text("Thought: I look it up.")))
    async with FakeOpenAI(*replies, key=None) as server:
        settings = at(tmp_path, KOTAE_MODEL="openai:qwen3:8b", OPENAI_BASE_URL=server.url)
        findings = [(await found("model", settings))[0] for _ in replies]
    assert [finding.level for finding in findings] == ["ok"] * 3
    assert [finding.todo is None for finding in findings] == [True, True, False]
    assert findings[2].todo and "KOTAE_MODEL=extractive" in findings[2].todo.ja


async def test_a_model_without_tools_is_said_to_be_that(tmp_path: Path) -> None:
    async with FakeOpenAI(openai.Reply(openai.text("OK")), key=None, without=("tools",)) as server:
        settings = at(tmp_path, KOTAE_MODEL="openai:qwen3:8b", OPENAI_BASE_URL=server.url)
        expect(await found("model", settings), "warning", "cannot call tools", "--jinja", "ツール")


async def test_a_model_that_only_thinks(tmp_path: Path) -> None:
    thinking = openai.Reply((openai.reasoning("…"),), "length")
    async with FakeOpenAI(thinking, thinking, key=None) as server:
        settings = at(tmp_path, KOTAE_MODEL="openai:qwen3:8b", OPENAI_BASE_URL=server.url)
        expect(await found("model", settings), "warning", "KOTAE_THINKING=low", "上限")


async def test_a_judge_of_another_provider_and_what_it_is_sent(tmp_path: Path) -> None:
    async with FakeOpenAI(openai.Reply(openai.text("OK")), key=None) as server:
        values = {"GEMINI_API_KEY": "AIzaCANARY", "OPENAI_BASE_URL": server.url}
        replied, sent = await found("judge", at(tmp_path, **values, KOTAE_JUDGE_MODEL="openai:qwen3:8b"))
        expect(await found("judge", at(tmp_path, **values, KOTAE_JUDGE_MODEL="openai:x")), "fault", "KOTAE_JUDGE_MODEL")
    assert replied.level == sent.level == "ok"
    assert "passages quoted" in sent.what.en and "抜粋" in sent.what.ja


async def test_a_judge_that_is_the_model_itself_or_has_nothing_to_judge(tmp_path: Path) -> None:
    name = "openai:qwen3:8b"
    values = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "KOTAE_JUDGE_MODEL": name}
    assert not await found("judge", at(tmp_path))
    assert not await found("judge", at(tmp_path, **values, KOTAE_MODEL=name))
    expect(await found("judge", at(tmp_path, **values)), "warning", "nothing to judge", "使われません")


@dataclass(frozen=True)
class Mistake:
    """What the model's server is asked with or answers, and what is said of it."""

    name: str
    values: dict[str, str]
    orders: tuple[Any, ...]
    level: str
    said: tuple[str, ...]


GEMINI_MISTAKES = (
    Mistake("key", {"GEMINI_API_KEY": "AIzaCANARY-wrong"}, (), "fault", ("does not accept the key", "aistudio.google.com/apikey", "キーを受け付けません")),
    Mistake("name", {"KOTAE_MODEL": "gemini:gemini-2.0-flash"}, (), "fault", ("no model gemini:gemini-2.0-flash", "KOTAE_MODEL", "ありません")),
    Mistake("busy", {}, (busy("2s"),), "warning", ("too many requests", "KOTAE_CONCURRENCY", "混み合って")),
    Mistake("quota", {}, (busy("90000s"),), "fault", ("used up", "quota", "利用枠")),
    Mistake("safety", {}, (Reply((), finish="SAFETY"),), "warning", ("for safety", "account", "安全")),
    Mistake("down", {}, (Refuse(503, "Overloaded.", "UNAVAILABLE"),), "fault", ("cannot be reached", "GEMINI_BASE_URL", "接続できません")),
    Mistake("stranger", {}, (Refuse(400, "What?"), Refuse(400, "What?"), Refuse(400, "What?")), "fault", ("not in the expected form", "GEMINI_API_VERSION", "正しい形式")),
)  # fmt: skip


@pytest.mark.parametrize("mistake", GEMINI_MISTAKES, ids=lambda mistake: mistake.name)
async def test_what_is_wrong_with_gemini(mistake: Mistake, tmp_path: Path) -> None:
    async with FakeGemini(*mistake.orders) as gemini:
        values = {"GEMINI_API_KEY": gemini.key, "GEMINI_BASE_URL": gemini.url, **mistake.values}
        findings = await found("model", at(tmp_path, **values))
    expect(findings, mistake.level, *mistake.said)
    assert gemini.key not in f"{findings}"


async def test_a_model_nobody_answers_for(tmp_path: Path, unused_tcp_port: int) -> None:
    settings = at(tmp_path, KOTAE_MODEL="openai:llama", OPENAI_BASE_URL=f"http://127.0.0.1:{unused_tcp_port}/v1")
    expect(await found("model", settings), "fault", "cannot be reached", "OPENAI_BASE_URL", "接続できません")


async def test_a_model_that_is_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.doctor.services.PATIENCE_SECONDS", 0.3)
    async with FakeGemini(Reply((text("O"),), ending="hang")) as gemini:
        settings = at(tmp_path, GEMINI_API_KEY=gemini.key, GEMINI_BASE_URL=gemini.url)
        expect(await found("model", settings), "fault", "0.3 seconds", "network", "応答しません")


async def test_a_model_that_is_loaded_first_or_thinks_aloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.doctor.services.PATIENCE_SECONDS", 1.0)
    thinking = openai.Reply((*[openai.reasoning("Hm.")] * 5, *openai.text("OK")), pace=0.25)
    async with FakeOpenAI(thinking, openai.Reply((), None, ending="hang"), key=None) as server:
        settings = at(tmp_path, KOTAE_MODEL="openai:qwen3:8b", OPENAI_BASE_URL=server.url)
        expect(await found("model", settings), "ok", "replied", "応答がありました")
        expect(await found("model", settings), "fault", "1 seconds", "loading the model", "読み込んで")


async def test_an_openai_server_with_another_key(tmp_path: Path) -> None:
    async with FakeOpenAI() as server:
        settings = at(tmp_path, KOTAE_MODEL="openai:m", OPENAI_API_KEY="sk-CANARY-wrong", OPENAI_BASE_URL=server.url)
        expect(await found("model", settings), "fault", "does not accept the key", "OPENAI_API_KEY", "キー")


# -- platforms and the digest ---------------------------------------------------------------------------------------

SLACK = {"SLACK_BOT_TOKEN": "xoxb-1-CANARYCANARY", "SLACK_APP_TOKEN": "xapp-1-CANARYCANARY"}


async def test_platforms(tmp_path: Path) -> None:
    (none,) = await found("platforms", at(tmp_path))
    assert none.level == "ok" and "ターミナル" in none.what.ja
    assert none.todo is not None and "kotae setup slack" in none.todo.en and "kotae setup discord" in none.todo.ja
    (slack,) = await found("platforms", at(tmp_path, **SLACK))
    assert slack.level == "ok" and slack.what.en.startswith("Slack:")


@pytest.mark.parametrize("cron", ["0 9 * * mon", "0 9 * * 7", "*/5 0-6 1,15 * sun", "0 9 * * 1-5"])
async def test_a_calendar_that_can(cron: str, tmp_path: Path) -> None:
    (finding,) = await found("digest", at(tmp_path, KOTAE_DIGEST_CRON=cron, KOTAE_TIMEZONE="Asia/Tokyo"))
    assert finding.level == "ok" and "Asia/Tokyo" in finding.what.en


async def test_a_digest_without_a_channel(tmp_path: Path) -> None:
    expect(
        await found("digest", at(tmp_path, **SLACK)),
        "warning",
        "KOTAE_DIGEST_CHANNEL",
        "kotae digest",
        "投稿されません",
    )
