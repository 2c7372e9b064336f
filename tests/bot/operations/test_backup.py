"""A backup made beside a running bot, and a home made from it: whole, refused, or empty; never half."""

import asyncio
import gzip
import hashlib
import io
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tarfile
import tracemalloc
from contextlib import AsyncExitStack, closing
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import insert

from bot.app import running
from bot.config.models import make_embedder
from bot.config.settings import Settings
from bot.errors import SettingsError
from bot.knowledge.content_store import ContentFolder
from bot.logs import Redactor
from bot.operations.backup import BackupError, back_up
from bot.operations.copies import copying, sweep
from bot.operations.restore import Restored, restore
from bot.operations.restore_marker import UNFINISHED, refuse_unfinished, unfinished
from bot.store.engine import connect, execute
from bot.store.schema import changed_documents
from migrations import NewerDatabaseError, revisions
from retrieval.types import TEAM, Hit, Readers
from tests.bot.library import opened
from tests.bot.program import Warm
from tests.bot.store.everything import AT, fill, rows_of_all
from tests.disks import MIB, small_disk
from tests.retrieval.test_ingest import HashEmbedder

ROOT = Path(__file__).parents[3]
QUESTIONS = (
    "経費の精算はいつまでですか？",
    "有給休暇は何日もらえますか",
    "リモートワークの申請方法",
    "パスワードの変更",
    "PC が壊れたとき",
    "VPN の設定",
    "リリースの手順",
    "勤務時間は何時から？",
    "出張の宿泊費の上限",
    "セキュリティ事故の連絡先",
    "How many days of leave do I get?",
    "When are expenses due?",
    "How do I request a laptop?",
    "What are the core hours?",
    "Who approves a release?",
    "What to do when a phone is lost?",
    "parental leave",
    "hotel limit per night",
    "password manager",
    "宇宙船の燃料",
)


def at(home: Path, **values: str) -> Settings:
    return Settings.model_validate({"KOTAE_HOME": str(home), **values})


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


async def answers(settings: Settings) -> list[list[Hit]]:
    async with running(settings, Redactor()) as app:
        found = [await app.knowledge.search(question, app.readers) for question in QUESTIONS]
    return [[*one.hits, *one.rejected] for one in found]


async def test_the_same_answers_before_and_after(sample_home: Path, tmp_path: Path) -> None:
    before = await answers(at(sample_home))
    made = await back_up(at(sample_home), tmp_path / "copy.tar.gz")
    assert stat.S_IMODE(made.file.stat().st_mode) == 0o600
    assert not made.pairs_as_text and made.documents == 7
    assert names(tmp_path) == {"copy.tar.gz"}
    settings = at(tmp_path / "new")
    steps: list[tuple[int, int]] = []
    async with AsyncExitStack() as stack:
        embedder = await make_embedder(settings, stack)
        done = await restore(made.file, settings, embedder, progress=lambda *step: steps.append(step))
    assert steps[0][0] == 0 and steps[-1] == (done.chunks, done.chunks) and len(steps) == 8
    assert "7" in done.text("en") and "7 件" in done.text("ja")
    assert not (settings.home / "restoring").exists()
    assert stat.S_IMODE((settings.home / "kotae.db").stat().st_mode) == 0o600
    assert sum(map(bool, before)) >= 19
    for was, now in zip(before, await answers(settings), strict=True):
        assert [hit.passage for hit in now] == [hit.passage for hit in was]
        for one, other in zip(was, now, strict=True):  # the engine adds a sparse score's parts up in its own order
            assert other.relevance == pytest.approx(one.relevance, abs=1e-6)
            assert dict(other.scores) == pytest.approx(dict(one.scores), rel=1e-5)
            assert other.scores.get("dense") == one.scores.get("dense")


async def home(folder: Path) -> Settings:
    """A home of three documents, pairs among them, without anything the real embedder needs."""
    async with opened(folder) as library:
        await library.add("plan.md", "# Plan\n\nThe harbour plan of spring.\n")
        await library.add("faq.csv", "question,answer,team\nWhere is the harbour?,In the north,A\nWhen?,At nine\n")
        await library.add("秘密.md", "# 秘密\n\n港の秘密。\n", scope="place:slack:T:C")
    _as_settings_say(folder)
    return at(folder)


def _as_settings_say(folder: Path) -> None:
    """The library keeps its one store in `vectors` itself; a home has a folder for each."""
    store = folder / "vectors"
    if (store / "shard").exists():
        store.rename(folder / "hash")
        store.mkdir()
        (folder / "hash").rename(store / "hash")


async def texts(folder: Path) -> list[tuple[str, str, str | None]]:
    """Everything that can be found in a restored home."""
    store = folder / "vectors"
    (store / "hash").rename(folder / "store")
    store.rmdir()
    (folder / "store").rename(store)
    everyone = Readers(frozenset({TEAM, "place:slack:T:C"}))
    async with opened(folder) as library:
        found = await library.knowledge.search("harbour plan where when 港", everyone, mode="dense", limit=50)
        assert await library.points() == sum(row.chunks for row in await library.documents.listed())
    return sorted(
        (hit.passage.document, hit.passage.text, hit.passage.question) for hit in (*found.hits, *found.rejected)
    )


async def restored(file: Path, folder: Path) -> Restored:
    return await restore(file, at(folder), HashEmbedder())


async def test_every_table_comes_back(tmp_path: Path) -> None:
    """What was under way is not taken up again, nothing else differs: a new table is in it without being named here."""
    settings = await home(tmp_path / "old")
    engine = connect(f"sqlite+aiosqlite:///{tmp_path}/old/kotae.db")
    running = {"state": "running"}
    await fill(engine, "words", {"intakes": {"done": False}, "pair_jobs": running, "dataset_jobs": running})
    before = await rows_of_all(engine)
    await engine.dispose()
    assert all(before.values())
    await restored((await back_up(settings, tmp_path)).file, tmp_path / "new")
    engine = connect(f"sqlite+aiosqlite:///{tmp_path}/new/kotae.db")
    after = await rows_of_all(engine)
    await engine.dispose()
    changed = {
        (table, column)
        for table, rows in before.items()
        if table != "notices"
        for old, new in zip(rows, after[table], strict=True)
        for column in old
        if old[column] != new[column]
    }
    leased = ("turns", "intakes", "pair_jobs", "dataset_jobs")
    held = {("home", "id")} | {(table, column) for table in leased for column in ("owner", "lease_until")}
    ended = {("turns", "state"), ("intakes", "done"), ("pair_jobs", "state"), ("pair_jobs", "reason")}
    ended.add(("dataset_jobs", "state"))
    assert changed == held | ended and not after["notices"]


async def test_pairs_scopes_and_ids_come_back(tmp_path: Path) -> None:
    settings = await home(tmp_path / "old")
    made = await back_up(settings, tmp_path)
    assert made.file.name.startswith("kotae-") and made.file.name.endswith(".tar.gz")
    shown = made.as_json("ja")
    assert (shown["file"], shown["documents"], shown["pairs_as_text"]) == (str(made.file), 3, False)
    assert shown["text"] == made.text("ja") and shown["bytes"] == made.size > 1000
    await restored(made.file, tmp_path / "new")
    assert await texts(tmp_path / "new") == [
        ("faq.csv", "At nine", "When?"),
        ("faq.csv", "In the north", "Where is the harbour?"),
        ("plan.md", "The harbour plan of spring.", None),
        ("秘密.md", "港の秘密。", None),
    ]


async def test_folders_may_be_called_what_stands_for_something_in_an_address(tmp_path: Path) -> None:
    await home(tmp_path / "old")
    odd = tmp_path / "100%25 sure?"
    (tmp_path / "old").rename(odd)
    made = await back_up(at(odd), odd.with_name("to%20?.tar.gz"))
    assert made.documents == 3
    made = await back_up(at(odd), odd)
    assert made.documents == 3
    new = tmp_path / "new%20#?"
    assert (await restored(made.file, new)).documents == 3
    new.rename(tmp_path / "new")
    assert len(await texts(tmp_path / "new")) == 4
    assert names(tmp_path) == {odd.name, "to%20?.tar.gz", "new"}


async def test_what_stands_beside_pairs_comes_back(tmp_path: Path) -> None:
    async with opened(tmp_path / "old") as library:
        await library.add(
            "a.json", '{"port": "Otaru", "faq": [{"question": "Who runs the harbour?", "answer": "Sato."}]}'
        )
    _as_settings_say(tmp_path / "old")
    made = await back_up(at(tmp_path / "old"), tmp_path)
    await restored(made.file, tmp_path / "new")
    assert await texts(tmp_path / "new") == [
        ("a.json", "Sato.", "Who runs the harbour?"),
        ("a.json", "port: Otaru", None),
    ]


async def test_what_answers_are_to_be_held_against_comes_back(tmp_path: Path) -> None:
    """A text that is gone is no reason to make no backup."""
    settings = await home(tmp_path / "old")
    before = await ContentFolder(settings.home / "documents").put("# Plan\n\nThe harbour plan of winter.\n")
    engine = connect(f"sqlite+aiosqlite:///{settings.home}/kotae.db")
    for document, address in (("d1", before), ("d2", hashlib.sha256(b"lost").hexdigest())):
        noted = insert(changed_documents).values(document=document, name="plan.md", before=address, at=AT)
        await execute(engine, noted)
    await engine.dispose()
    await restored((await back_up(settings, tmp_path / "copy")).file, tmp_path / "new")
    assert "winter" in await ContentFolder(tmp_path / "new" / "documents").read(before)


async def test_without_an_index_pairs_become_text_and_it_is_said(tmp_path: Path) -> None:
    settings = await home(tmp_path / "old")
    shutil.rmtree(settings.home / "vectors")
    made = await back_up(settings, tmp_path / "copy")
    assert made.pairs_as_text
    assert "plain text" in made.text("en") and "通常の文章" in made.text("ja")
    await restored(made.file, tmp_path / "new")
    found = await texts(tmp_path / "new")
    assert ("faq.csv", "Where is the harbour?") not in {(name, question) for name, _, question in found}
    assert any("Q: Where is the harbour?" in text for _, text, _ in found)


async def test_a_backup_needs_no_client_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = await home(tmp_path / "old")
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    made = await back_up(at(settings.home, QDRANT_URL="http://127.0.0.1:1"), tmp_path / "copy")
    assert made.pairs_as_text and made.documents == 3


async def test_a_backup_beside_a_bot_that_learns_is_of_one_moment(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    backups: list[Path] = []
    async with opened(folder) as library:
        learned: asyncio.Queue[int] = asyncio.Queue()

        async def learn() -> None:
            for number in count():
                await library.add(f"{number % 3}.md", f"# Page\n\nVersion {number} of the page.\n")
                learned.put_nowait(number)

        learning = asyncio.create_task(learn())
        for number in range(3):
            while await learned.get() < 4 * (number + 1):
                continue
            made = await back_up(at(folder), tmp_path / f"{number}.tar.gz", index=library.index)
            backups.append(made.file)
        learning.cancel()
        await asyncio.gather(learning, return_exceptions=True)
    for number, file in enumerate(backups):
        done = await restored(file, tmp_path / f"new{number}")
        found = await texts(tmp_path / f"new{number}")
        assert len(found) == done.documents == done.chunks == 3


async def test_no_backup_without_anything(tmp_path: Path) -> None:
    with pytest.raises(BackupError) as nothing:
        await back_up(at(tmp_path / "none"), tmp_path / "copy")
    assert "nothing to back up" in nothing.value.text("en") and "データベースがない" in nothing.value.text("ja")
    assert not (tmp_path / "copy").exists() and not (tmp_path / "none").exists()


async def test_a_full_disk_is_said_in_the_reader_s_language(tmp_path: Path) -> None:
    settings = await home(tmp_path / "made")
    (tmp_path / "disk").mkdir()
    with small_disk(tmp_path / "disk", 4 * MIB) as disk:
        disk.leave(0)
        with pytest.raises(BackupError) as refused:
            await back_up(settings, disk.folder / "copy.tar.gz")
        assert "No space left" in refused.value.text("en") and "空きがありません" in refused.value.text("ja")
        assert not [path for path in disk.folder.iterdir() if path.name.startswith(("copy", ".kotae"))]


@pytest.mark.parametrize("disk_is", ["full", "read-only"])
async def test_a_home_on_a_disk_that_takes_nothing_is_backed_up_onto_another(
    tmp_path: Path, warm: Warm, disk_is: str
) -> None:
    made = await home(tmp_path / "made")
    (tmp_path / "disk").mkdir()
    with small_disk(tmp_path / "disk", 16 * MIB) as disk:
        shutil.copytree(made.home, here := disk.folder / "home", ignore=shutil.ignore_patterns("vectors"))
        if disk_is == "full":
            disk.leave(0)
        else:
            disk.forbid_writing()
        said = warm("backup", str(tmp_path / "copy.tar.gz"), home=here)
        assert said.returncode == 0 and "Traceback" not in said.stderr
    assert (await restored(tmp_path / "copy.tar.gz", tmp_path / "new")).documents == 3


async def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    settings = await home(tmp_path / "old")
    with pytest.raises(BackupError) as nowhere:
        await back_up(settings, tmp_path / "none" / "copy")
    assert "No such file" in nowhere.value.text("en") and "読み書きできませんでした" in nowhere.value.text("ja")
    with pytest.raises(BackupError, match="No such file"):
        await restored(tmp_path / "none", tmp_path / "new")


async def test_nothing_is_replaced(tmp_path: Path) -> None:
    settings = await home(tmp_path / "old")
    (tmp_path / "notes").write_text("years of work")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for target in (tmp_path / "notes", tmp_path / "link", settings.home / "kotae.db"):
        before = target.read_bytes() if target.exists() else None
        with pytest.raises(BackupError, match="replaces nothing") as there:
            await back_up(settings, target)
        assert str(target) in there.value.text("ja") and "上書きしません" in there.value.text("ja")
        assert (target.read_bytes() if target.exists() else None) == before
    assert names(tmp_path) == {"old", "notes", "link"}


async def test_a_file_that_is_made_meanwhile_stays(tmp_path: Path) -> None:
    settings = await home(tmp_path / "old")
    made = await asyncio.gather(*(back_up(settings, tmp_path / "copy") for _ in range(3)), return_exceptions=True)
    assert sorted(type(one).__name__ for one in made) == ["BackedUp", "BackupError", "BackupError"]
    assert names(tmp_path) == {"old", "copy"}
    await restored(tmp_path / "copy", tmp_path / "new")


async def test_text_that_is_gone_is_said_and_nothing_is_written(tmp_path: Path) -> None:
    settings = await home(tmp_path / "old")
    next((settings.home / "documents").rglob("*.md")).write_text("changed")
    with pytest.raises(BackupError) as gone:
        await back_up(settings, tmp_path / "copy")
    assert "kotae doctor" in gone.value.text("en") and "kotae doctor" in gone.value.text("ja")
    assert names(tmp_path) == {"old"}


async def test_a_home_that_is_used_is_left_alone(tmp_path: Path) -> None:
    settings = await home(tmp_path / "old")
    made = await back_up(settings, tmp_path / "copy")
    before = (settings.home / "kotae.db").read_bytes()
    with pytest.raises(BackupError, match="not empty") as used:
        await restored(made.file, settings.home)
    assert "空ではありません" in used.value.text("ja")
    assert (settings.home / "kotae.db").read_bytes() == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(BackupError, match="not empty"):
        await restored(made.file, tmp_path / "mine")
    assert names(tmp_path / "mine") == {"thesis.txt"}


# -- archives that are not what was packed --------------------------------------------------------------------------


def repacked(source: Path, target: Path, **changed: bytes | None) -> Path:
    """The archive with other contents; the manifest tells the truth about them."""
    entries: dict[str, bytes] = {}
    with tarfile.open(source) as archive:
        for entry in archive:
            reader = archive.extractfile(entry)
            entries[entry.name] = reader.read() if reader else b""
    manifest = json.loads(entries.pop("manifest.json"))
    for name, data in changed.items():
        if data is None:
            del entries[name]
        else:
            entries[name] = data
    manifest["files"] = {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)} for name, data in entries.items()
    }
    return packed(target, {"manifest.json": json.dumps(manifest).encode(), **entries})


def packed(target: Path, entries: dict[str, bytes], kind: bytes = tarfile.REGTYPE) -> Path:
    with tarfile.open(target, "w:gz") as archive:
        for name, data in entries.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            if name != "manifest.json" and kind != tarfile.REGTYPE:
                entry.type, entry.size, entry.linkname = kind, 0, "/etc/passwd"
            archive.addfile(entry, io.BytesIO(data))
    return target


async def refused(file: Path, folder: Path) -> BackupError:
    """It is refused in words, and the home is as empty as it was."""
    with pytest.raises(BackupError) as error:
        await restored(file, folder)
    assert "Nothing was restored" in error.value.text("en") and "何も復元していません" in error.value.text("ja")
    assert not unfinished(folder)
    assert names(folder) <= {"lock"}
    return error.value


async def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    settings = await home(tmp_path / "old")
    good = (await back_up(settings, tmp_path / "good")).file
    data = good.read_bytes()
    bad, new = tmp_path / "bad", tmp_path / "new"
    for wrong in (b"", b"not an archive at all", data[: len(data) // 2], data[:200], gzip.compress(b"x" * 5000)):
        bad.write_bytes(wrong)
        said = (await refused(bad, new)).text("ja")
        assert any(
            why in said
            for why in ("（gzip 形式ではありません）", "（途中で切れているか、展開できません）", "一覧がありません")
        )
    unpacked = bytearray(gzip.decompress(data))
    place = unpacked.rindex(b"The harbour plan")
    unpacked[place : place + 3] = b"Her"
    bad.write_bytes(gzip.compress(bytes(unpacked)))
    await refused(bad, new)


async def test_whatever_would_land_outside_is_refused(tmp_path: Path) -> None:
    settings = await home(tmp_path / "old")
    good = (await back_up(settings, tmp_path / "good")).file
    bad, new = tmp_path / "bad", tmp_path / "new"
    for name in ("../outside.md", "/tmp/kotae-outside.md", "documents/../../outside.md", "documents/aa/x.md", ".env"):
        await refused(repacked(good, bad, **{name: b"x"}), new)
        assert names(tmp_path) == {"old", "good", "bad", "new"}
    assert "kotae-outside.md" not in names(Path("/tmp"))
    address = hashlib.sha256(b"other").hexdigest()
    await refused(repacked(good, bad, **{f"documents/{address[:2]}/{address}.md": b"not other"}), new)
    about = {"sha256": hashlib.sha256(b"").hexdigest(), "size": 0}
    manifest = {"kotae": 1, "files": {"kotae.db": about}}
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE):
        await refused(packed(bad, {"manifest.json": json.dumps(manifest).encode(), "kotae.db": b""}, kind), new)
    manifest["kotae"] = 2
    error = await refused(packed(bad, {"manifest.json": json.dumps(manifest).encode()}), new)
    assert "newer version" in error.text("en") and "新しいバージョン" in error.text("ja")


async def test_an_archive_that_would_take_all_there_is_takes_nothing(tmp_path: Path) -> None:
    bad, new = tmp_path / "bad", tmp_path / "new"
    manifest = b'{"kotae": 1, "files": {"kotae.db": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
    await refused(packed(bad, {"manifest.json": manifest}), new)
    size = 64 * 2**20
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, size  # a header of the next header, which is read whole
    with gzip.open(bad, "wb", 1) as file:
        file.write(header.tobuf(tarfile.USTAR_FORMAT))
        for _ in range(size >> 20):
            file.write(bytes(2**20))
    tracemalloc.start()
    try:
        await refused(bad, new)
        assert tracemalloc.get_traced_memory()[1] < size / 4
    finally:
        tracemalloc.stop()
    about = {"sha256": hashlib.sha256(bytes(2**20)).hexdigest(), "size": 2**20}
    hole = tarfile.TarInfo("kotae.db")
    hole.pax_headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(2**20)}
    with tarfile.open(bad, "w:gz") as archive:
        told = json.dumps({"kotae": 1, "files": {"kotae.db": about}}).encode()
        first = tarfile.TarInfo("manifest.json")
        first.size = len(told)
        archive.addfile(first, io.BytesIO(told))
        archive.addfile(hole)
    assert "unexpected" in (await refused(bad, new)).text("en")
    vast = {"kotae": 1, "files": {"kotae.db": about | {"size": 10**18}}}
    with pytest.raises(BackupError, match="No space left"):
        await restored(packed(bad, {"manifest.json": json.dumps(vast).encode(), "kotae.db": b""}), new)
    assert names(new) <= {"lock"}


async def test_a_database_that_is_damaged_newer_or_without_its_texts_is_refused(tmp_path: Path) -> None:
    settings = await home(tmp_path / "old")
    good = (await back_up(settings, tmp_path / "good")).file
    bad, new = tmp_path / "bad", tmp_path / "new"
    await refused(repacked(good, bad, **{"kotae.db": b"This is no database. " * 500}), new)
    snapshot = tmp_path / "snapshot.db"
    with closing(sqlite3.connect(settings.home / "kotae.db")) as db, closing(sqlite3.connect(snapshot)) as copied:
        db.backup(copied)
        copied.execute("UPDATE documents SET markdown = ? WHERE name = 'plan.md'", ("0" * 64,))
        copied.commit()
    error = await refused(repacked(good, bad, **{"kotae.db": snapshot.read_bytes()}), new)
    assert "1 document without its text" in error.text("en")
    with closing(sqlite3.connect(snapshot)) as copied:
        copied.execute("UPDATE alembic_version SET version_num = '9999'")
        copied.commit()
    repacked(good, bad, **{"kotae.db": snapshot.read_bytes()})
    with pytest.raises(NewerDatabaseError, match="9999"):
        await restored(bad, new)
    assert not unfinished(new) and not (new / "kotae.db").exists()


async def test_a_released_database_is_upgraded_on_the_way(tmp_path: Path) -> None:
    golden = sorted((ROOT / "tests" / "files").glob("database-*.sql"))[0]
    old = tmp_path / "old.db"
    with closing(sqlite3.connect(old)) as db:
        db.executescript(golden.read_text(encoding="utf-8"))
        markdown = "# 経費\n\n経費は毎月25日までに精算します。\n".encode()
        address = hashlib.sha256(markdown).hexdigest()
        db.execute("UPDATE documents SET markdown = ?", (address,))
        db.execute("UPDATE turns SET state = 'running', owner = 'dead', lease_until = '2020-01-01 00:00:00'")
        db.commit()
    manifest = {"kotae": 1, "files": {}}
    entries = {"kotae.db": old.read_bytes(), f"documents/{address[:2]}/{address}.md": markdown}
    manifest["files"] = {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)} for name, data in entries.items()
    }
    await restored(
        packed(tmp_path / "file", {"manifest.json": json.dumps(manifest).encode(), **entries}), tmp_path / "new"
    )
    with closing(sqlite3.connect(tmp_path / "new" / "kotae.db")) as db:
        assert db.execute("SELECT version_num FROM alembic_version").fetchone() == (revisions()[0],)
        assert db.execute("SELECT embedder, generation FROM indexes").fetchall() == [("hash", 1)]
        assert db.execute("SELECT state, owner FROM turns").fetchall() == [("done", None)]
    assert not list((tmp_path / "new").glob("*.backup.db"))
    found = await texts(tmp_path / "new")
    assert [text for _, text, _ in found] == ["経費は毎月25日までに精算します。"]


# -- killed ---------------------------------------------------------------------------------------------------------

BACKUP_KILLED = """
import asyncio, json, os, signal, sys
from pathlib import Path
from bot.operations.backup import back_up
from bot.config.settings import Settings
home, wanted = sys.argv[1], json.loads(sys.argv[2])
for target, last in wanted.items():  # each in a process of its own
    def watch(event, arguments):
        if event in ("open", "os.rename") and Path(str(arguments[0])).match(last):
            os.kill(os.getpid(), signal.SIGKILL)
    if (child := os.fork()) == 0:
        sys.addaudithook(watch)
        asyncio.run(back_up(Settings(_env_file=None, KOTAE_HOME=home), Path(target)))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def backups_killed(home: Path, wanted: dict[Path, str]) -> None:
    """A backup into each folder is killed when it opens or moves a file of this name."""
    done = subprocess.run(
        [sys.executable, "-c", BACKUP_KILLED, str(home), json.dumps({str(to): last for to, last in wanted.items()})],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/tmp")},
    )
    assert done.stdout.split() == [str(-signal.SIGKILL)] * len(wanted), done.stderr


def copies(folder: Path) -> list[Path]:
    """Whatever a backup that was cut off has left there."""
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_what_killed_backups_leave_is_deleted_by_whatever_comes_next(tmp_path: Path, warm: Warm) -> None:
    settings = at(tmp_path / "home")
    async with running(settings, Redactor()):
        pass
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    for folder in (one, two, three):
        folder.mkdir()
    backups_killed(settings.home, {one: "current.db", two: "files/.kotae-*.part"})
    assert copies(one) == []  # the next backup, also one that is killed itself
    assert "kotae.db" in {path.name for path in copies(two)}
    assert all(path.stat().st_mode & 0o077 == 0 for path in two.iterdir())
    async with running(settings, Redactor()):
        assert copies(two) == []
    backups_killed(settings.home, {three: "files/.kotae-*.part"})
    away = three.rename(tmp_path / "away")  # a disk that is not mounted
    said = warm("forget", "--user", "slack:U1", home=settings.home)
    assert said.returncode == 0 and str(three) in said.stderr and copies(away)
    away.rename(three)
    assert warm("forget", "--user", "slack:U1", home=settings.home).stderr == ""
    assert copies(three) == [] and names(settings.home / "backups") == set()
    (aside := settings.home / "aside-20260101T000000.000000Z").mkdir()
    assert str(aside) in warm("forget", "--user", "slack:U1", home=settings.home).stderr


async def test_a_backup_into_a_folder_deletes_what_is_left_there(tmp_path: Path) -> None:
    """Also where the home could not note it, as on a full disk."""
    settings = await home(tmp_path / "old")
    (tmp_path / ".kotae-backup-left" / "files").mkdir(parents=True)
    (tmp_path / ".kotae-backup-left" / "files" / "kotae.db").write_text("copy")
    made = await back_up(settings, tmp_path)
    assert names(tmp_path) == {"old", made.file.name}


async def test_a_backup_under_way_is_left_alone(tmp_path: Path) -> None:
    home, beside = tmp_path / "home", tmp_path / "there"
    beside.mkdir()
    with copying(home, beside) as files:
        (files / "kotae.db").write_text("copy")
        assert sweep(home, beside) == (files.parent,) and sweep(home) == (files.parent,)
        assert (files / "kotae.db").exists()
    assert names(beside) == set() and sweep(home, beside) == ()


async def test_a_backup_of_a_home_that_takes_no_notes_is_made_all_the_same(tmp_path: Path) -> None:
    settings = await home(tmp_path / "old")
    (settings.home / "backups").write_text("in the way of the folder")
    made = await back_up(settings, tmp_path / "copy")
    assert made.documents == 3 and names(tmp_path) == {"old", "copy"}


KILLED = """
import asyncio, json, os, signal, sys
from pathlib import Path
from bot.operations.restore import restore
from bot.config.settings import Settings
from tests.retrieval.test_ingest import HashEmbedder
file, wanted = Path(sys.argv[1]), json.loads(sys.argv[2])
for home, left in wanted.items():  # each in a process of its own, which the imports cost nothing
    def count(event, arguments):
        global left
        inside = home in str(arguments) or event in ("os.remove", "os.rmdir") and arguments[1] != -1  # of rmtree
        if event in ("os.rename", "os.remove", "os.mkdir", "open", "os.rmdir", "sqlite3.connect") and inside:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
    if (child := os.fork()) == 0:
        sys.addaudithook(count)
        asyncio.run(restore(file, Settings(_env_file=None, KOTAE_HOME=home), HashEmbedder()))
        print(left, end=" ", flush=True)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def restore_killed(file: Path, wanted: dict[Path, int], **environ: str) -> list[list[int]]:
    """Each folder's restore is killed before its n-th change of the home's files. Returns what each ended in: how many
    were left, if it lived to say so, and its status. `environ`: more settings."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(file), json.dumps({str(folder): after for folder, after in wanted.items()})],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/tmp"), **environ},
    )
    assert done.returncode == 0, done.stderr
    return [[int(number) for number in line.split()] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("part", [2, pytest.param(9, marks=pytest.mark.long)])
async def test_a_restore_killed_anywhere_is_refused_or_complete(tmp_path: Path, part: int) -> None:
    settings = await home(tmp_path / "old")
    file = (await back_up(settings, tmp_path / "copy")).file
    ((left, status),) = restore_killed(file, {tmp_path / "whole": 1_000_000})
    assert status == 0
    changes = 1_000_000 - left
    assert changes > 20
    wanted = await texts(tmp_path / "whole")
    refused_once = False
    steps = (6, *(changes * place // part for place in range(1, part)), *range(changes - 3, changes + 1))
    killed = {tmp_path / f"killed-{step}": step for step in steps}
    assert restore_killed(file, killed) == [[-signal.SIGKILL]] * len(steps)
    for folder in killed:
        if unfinished(folder) or not (folder / "kotae.db").exists():
            if unfinished(folder):
                refused_once = True
                with pytest.raises(SettingsError, match="cut short") as half:
                    refuse_unfinished(folder)
                assert "復元が途中" in half.value.text("ja")
            await restored(file, folder)
        else:
            assert not [*folder.glob(f"{UNFINISHED}/*")]  # where no erasure would find it
        refuse_unfinished(folder)
        assert await texts(folder) == wanted
    assert refused_once
