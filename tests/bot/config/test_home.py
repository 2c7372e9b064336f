"""A home: whether it takes a write, and who reads what is in it."""

import logging
import os
import stat
from pathlib import Path

import pytest

from bot.app import running
from bot.config.home import probe, readable_by_others, tighten
from bot.config.own_files import given_files
from bot.config.settings import Settings
from bot.logs import Redactor
from bot.types import Upload
from retrieval.types import TEAM
from tests.bot.sample_turns import settings
from tests.disks import small_disk
from tests.retrieval.test_ingest import HashEmbedder

NOBODY = 65_534


def modes(home: Path) -> dict[str, str]:
    """The rights of everything at the top, and of the folders' own entries."""
    found = [*home.iterdir(), *home.glob("*/*")]
    return {path.relative_to(home).as_posix(): f"{stat.S_IMODE(path.stat().st_mode):o}" for path in found}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """As an earlier version has left it in a folder that everybody may look into."""
    made = tmp_path / "home"
    for folder in ("documents/ab", "vectors/hash/shard", "logs", "uploads", "datasets"):
        (made / folder).mkdir(parents=True)
    name = "0" * 32
    for file in (
        "documents/ab/x.md",
        "vectors/hash/lock",
        "logs/agent_chat.log.1",
        f"uploads/{name}",
        f"datasets/{name}",
    ):
        (made / file).write_text("private")
    for file in ("kotae.db", "kotae.db-wal", "kotae.db-shm", "kotae-0006-20260101T000000.backup.db"):
        (made / file).write_text("private")
    for path in (made, *made.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return made


def at(home: Path, **values: str) -> Settings:
    return Settings.model_validate({"KOTAE_HOME": str(home), **values})


def test_what_an_earlier_version_left_open_is_for_its_owner_only(home: Path) -> None:
    assert len(readable_by_others(at(home))) == 10
    assert tighten(at(home)) == []
    found = modes(home)
    assert {found[name] for name in ("documents", "vectors", "logs", "uploads", "datasets")} == {"700"}
    assert {mode for name, mode in found.items() if name.startswith("kotae")} == {"600"}
    assert stat.S_IMODE(home.stat().st_mode) == 0o755  # it may be somebody's own folder


def test_a_folder_with_anything_else_in_it_stays_as_it_is_and_is_named(home: Path) -> None:
    """As ~/documents, where KOTAE_HOME is the user's own folder."""
    (home / "documents" / "letters").mkdir()
    (home / "vectors" / "drawing.svg").write_text("<svg/>")
    (home / "photos").mkdir()
    (home / "photos").chmod(0o755)
    assert tighten(at(home)) == [home / "documents", home / "vectors"]
    found = modes(home)
    assert (found["documents"], found["vectors"], found["photos"], found["logs"]) == ("755", "755", "755", "700")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away")
def test_what_belongs_to_somebody_else_is_left_to_them_and_named(home: Path) -> None:
    os.chown(home / "documents", NOBODY, -1)
    os.chown(home / "kotae.db", NOBODY, -1)
    assert tighten(at(home)) == [home / "documents", home / "kotae.db"]
    assert modes(home)["documents"] == "755"


def test_a_folder_in_the_place_of_a_file_is_left_and_named(home: Path) -> None:
    """As Docker makes one where a file that is not there is mounted."""
    (home / "kotae.db").unlink()
    (home / "kotae.db").mkdir()
    (home / "kotae.db").chmod(0o755)
    assert tighten(at(home)) == [home / "kotae.db"]


def test_in_a_private_home_only_what_lies_elsewhere_can_be_read(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "data" / "team.db"
    elsewhere.parent.mkdir()
    elsewhere.parent.chmod(0o755)
    elsewhere.write_text("private")
    elsewhere.chmod(0o644)
    beside = at(home, DATABASE_URL=f"sqlite+aiosqlite:///{elsewhere}")
    home.chmod(0o700)
    assert readable_by_others(beside) == [elsewhere]
    assert tighten(beside) == [] and stat.S_IMODE(elsewhere.stat().st_mode) == 0o600
    assert stat.S_IMODE(elsewhere.parent.stat().st_mode) == 0o755


def test_a_home_that_is_not_there_yet_shows_nothing(tmp_path: Path) -> None:
    assert tighten(at(tmp_path / "new")) == [] and not (tmp_path / "new").exists()


async def test_a_start_closes_an_open_home_and_makes_nothing_that_others_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def make_embedder(settings: Settings, stack: object) -> HashEmbedder:
        return HashEmbedder()  # in place of one that takes seconds to load

    monkeypatch.setattr("bot.app.make_embedder", make_embedder)
    home = tmp_path / "home"
    (home / "documents" / "ab").mkdir(parents=True)
    (home / "logs").mkdir()
    (home / "logs" / "mine.txt").write_text("of somebody's")
    for path in (home, *home.rglob("*")):
        path.chmod(0o755)
    with caplog.at_level(logging.WARNING, "bot.app"):
        async with running(settings(home), Redactor()) as app:
            verdict = await app.knowledge.add(Upload("plan.md", b"# Plan\n\nA plan.\n", "docs", TEAM, "U1"), "en")
            assert verdict.status == "added"
            found = modes(home)
    assert found.pop("logs") == "755" and found.pop("logs/mine.txt") == "755"
    open_to_all = {name for name, mode in found.items() if not mode.endswith("00") and "/" not in name}
    assert open_to_all == set() and {"documents", "vectors", "kotae.db", "kotae.db-wal", "kotae.db-shm"} <= found.keys()
    (warned,) = [record.getMessage() for record in caplog.records]
    assert str(home / "logs") in warned


def test_a_home_that_takes_no_write_is_said(tmp_path: Path) -> None:
    probe(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        probe(tmp_path / "gone")
    with small_disk(tmp_path, 2**20) as disk:
        probe(disk.folder)
        disk.leave(0)
        with pytest.raises(OSError, match="No space left"):
            probe(disk.folder)
        disk.leave(2**19)
        probe(disk.folder)


@pytest.mark.parametrize("given", ["", "home", "home/documents"])
def test_what_kotae_keeps_is_no_file_that_somebody_has_given(home: Path, given: str) -> None:
    entry = "0" * 32
    kept = ("documents/ab/x.md", "vectors/hash/shard/kotae.json", "vectors/reindex.jsonl", f"sources/{entry}.json")
    theirs = ("documents/mine.md", "documents/trips/x.md", "notes/ab/x.md", "sample/x.md", "x.md")
    for name in (*kept, *theirs, "aside-20260101T000000.000000Z/documents/ab/x.md"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("A page.")
    (home / "link.md").symlink_to(home / "documents/ab/x.md")
    root = home.parent / given
    found = {root / file.name for file in given_files(root, home)}
    assert {path for path in found if path.suffix in (".md", ".json", ".jsonl")} == {
        home / name for name in theirs if (home / name).is_relative_to(root)
    }
    assert [file.name for file in given_files(home / "documents/ab/x.md", home)] == ["x.md"]  # they name it themselves
