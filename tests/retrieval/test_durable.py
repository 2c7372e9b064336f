"""Files that are on the disk, whole, when their write returns. The order of what reaches the disk is seen at the system
calls, where a crash would cut it."""

import os
import stat
from pathlib import Path

import pytest

from retrieval.durable import make_folder, replacing, to_disk


class Calls:
    """What is asked of the disk, in its order: `synced` a file or folder by its inode, and what names there were
    then."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: list[tuple[int, frozenset[str]]] = []
        really = os.fsync

        def fsync(number: int) -> None:
            really(number)
            names = frozenset(path.name for path in folder.rglob("*"))
            self.synced.append((os.fstat(number).st_ino, names))

        monkeypatch.setattr(os, "fsync", fsync)

    def named(self, path: Path) -> list[bool]:
        """For each time that this was brought to the disk, whether it had its name by then."""
        return [path.name in names for inode, names in self.synced if inode == path.stat().st_ino]


def test_a_name_is_taken_when_the_contents_are_on_the_disk_and_the_folder_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(tmp_path, monkeypatch)
    file = tmp_path / "file"
    with replacing(file) as new:
        new.write(b"whole")
        assert not file.exists()
    assert calls.named(file) == [False]
    last, names = calls.synced[-1]
    assert last == tmp_path.stat().st_ino and file.name in names
    assert file.read_bytes() == b"whole" and stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_folder_is_named_on_the_disk_with_all_above_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(tmp_path, monkeypatch)
    made = tmp_path / "a" / "b"
    make_folder(made)
    make_folder(made)
    assert [inode for inode, _ in calls.synced] == [tmp_path.stat().st_ino, made.parent.stat().st_ino]
    assert {stat.S_IMODE(each.stat().st_mode) for each in (made, made.parent)} == {0o700}


def test_what_fails_leaves_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    with pytest.raises(ValueError, match="no"), replacing(file) as new:
        new.write(b"new")
        raise ValueError("no")
    assert [path.name for path in tmp_path.iterdir()] == ["file"] and file.read_bytes() == b"old"


def test_writers_at_the_same_time_do_not_write_into_each_other(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with replacing(file) as slow, replacing(file) as quick:
        slow.write(b"slow, ")
        quick.write(b"quick")
        slow.write(b"and whole")
    assert file.read_bytes() == b"slow, and whole"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("links", [True, False])
def test_a_name_that_has_to_be_new_is_the_first_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:  # a disk that has none
        monkeypatch.setattr(os, "link", lambda *_, **__: os.chdir(tmp_path / "nowhere"))
    file = tmp_path / "file"
    with replacing(file, anew=True) as first:
        first.write(b"first")
    with pytest.raises(FileExistsError), replacing(file, anew=True) as second:
        second.write(b"second")
    assert [path.name for path in tmp_path.iterdir()] == ["file"] and file.read_bytes() == b"first"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and file.stat().st_nlink == 1


def test_what_is_not_there_cannot_be_brought_to_the_disk(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        to_disk(tmp_path / "nothing")
