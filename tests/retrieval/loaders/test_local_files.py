"""What is read of a folder that somebody names: what is in it, wherever its links lead."""

import os
import socket
import tempfile
from datetime import datetime
from pathlib import Path

import pytest

from retrieval.loaders.local_files import LocalFile, NotReadError, _Folder, local_files

MOST = 1_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a secret beside it."""
    made = tmp_path / "docs"
    (made / "sub").mkdir(parents=True)
    (made / "a.md").write_text("a")
    (made / "sub" / "b.md").write_text("b")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "secret.md").write_text("secret")
    return made


def test_what_goes_while_it_is_looked_for_hides_nothing_else(folder: Path) -> None:
    """As the temporary files of whatever writes there."""
    for number in range(20):
        (folder / f"{number}.md").write_text("c")
        (folder / f"{number}").mkdir()
    found = _Folder(folder).files()
    seen = [next(found)]
    for number in range(20):
        (folder / f"{number}").rmdir()
        if f"{number}.md" != seen[0].name and number != 7:
            (folder / f"{number}.md").unlink()
    seen += found
    assert {"7.md", "a.md", "sub/b.md"} <= {file.name for file in seen} and not any(file.unseen for file in seen)


def test_a_folder_that_goes_while_it_is_looked_through_is_not_seen(folder: Path) -> None:
    found = _Folder(folder).files()
    assert not next(found).unseen
    folder.rename(folder.with_name("away"))
    folder.mkdir()  # the place that a disk was mounted at
    assert any(file.unseen for file in found)


def texts(path: Path) -> dict[str, str]:
    """Each file's text by its name, or why it is not read."""
    found = local_files(path)
    assert len({file.name for file in found}) == len(found)
    return {file.name: text(file) for file in found}


def text(file: LocalFile) -> str:
    try:
        return file.read(MOST).decode()
    except NotReadError as error:
        assert error.text("ja") != error.text("en")
        return error.text("en")


OUTSIDE = (
    "It is a link out of the folder that was given, so it was not followed. To add what it points to, name that itself."
)
SPECIAL = "It is not a file, but a device, a pipe or a socket."


def test_the_day_of_a_files_last_change_counts_outside_of_a_checkout(folder: Path) -> None:
    at = datetime(2026, 4, 1, 12).timestamp()
    for name in ("a.md", "sub/b.md"):
        os.utime(folder / name, (at, at))
    (folder / "link.md").symlink_to("sub/b.md")
    found = [*local_files(folder), *local_files(folder / "a.md")]
    assert [file.changed_at() for file in found] == ["2026-04-01"] * 3
    (folder / "sub" / ".git").write_text("gitdir: elsewhere")  # as in a work tree
    assert {file.name: file.changed_at() for file in local_files(folder)} == {"a.md": "2026-04-01", "sub/b.md": None}
    (folder.parent / ".git").mkdir()
    assert [file.changed_at() for file in (*local_files(folder), *local_files(folder / "a.md"))] == [None] * 3
    assert LocalFile("gone.md", folder / "gone.md").changed_at() is None


def test_no_link_leads_out_of_the_folder(folder: Path) -> None:
    (folder / "secret.md").symlink_to(folder.parent / "beside" / "secret.md")
    (folder / "relative.md").symlink_to("../beside/secret.md")
    (folder / "by-way.md").symlink_to("sub/../../beside/secret.md")
    (folder / "beside").symlink_to(folder.parent / "beside")
    (folder / "up").symlink_to("..")
    (folder / "first.md").symlink_to("secret.md")  # a link to a link
    (folder.parent / "docs-too").mkdir()
    (folder.parent / "docs-too" / "c.md").write_text("its name begins with the folder's")
    (folder / "namesake.md").symlink_to(folder.parent / "docs-too" / "c.md")
    outside = ("secret.md", "relative.md", "by-way.md", "beside", "up", "first.md", "namesake.md")
    assert texts(folder) == {"a.md": "a", "sub/b.md": "b"} | dict.fromkeys(outside, OUTSIDE)


def test_a_link_that_stays_in_the_folder_shows_what_is_shown_nowhere_else(folder: Path) -> None:
    """As a mounted ConfigMap of Kubernetes is made: the files are in a hidden folder."""
    (folder / "..2026").mkdir()
    (folder / "..2026" / "c.md").write_text("c")
    (folder / "..2026" / "more").mkdir()
    (folder / "..2026" / "more" / "d.md").write_text("d")
    (folder / "..data").symlink_to("..2026")
    (folder / "c.md").symlink_to("..data/c.md")
    (folder / "more").symlink_to("..data/more")
    assert texts(folder) == {"a.md": "a", "c.md": "c", "more/d.md": "d", "sub/b.md": "b"}


def test_nothing_is_read_twice_and_no_loop_is_followed(folder: Path) -> None:
    (folder / "again.md").symlink_to("sub/b.md")
    (folder / "sub" / "round").symlink_to("..")
    (folder / "sub-too").symlink_to("sub")
    (folder / "itself").symlink_to("itself")
    (folder / "gone").symlink_to("nowhere.md")
    assert texts(folder) == {
        "a.md": "a",
        "sub/b.md": "b",
        "itself": "It cannot be opened: Too many levels of symbolic links.",
        "gone": "It cannot be opened: No such file or directory.",
    }


def test_what_is_no_file_is_refused_and_keeps_nobody_waiting(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "link-to-pipe").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(folder / "socket"))
        assert texts(folder) == {"a.md": "a", "sub/b.md": "b"} | dict.fromkeys(("pipe", "socket"), SPECIAL)
    assert texts(folder / "pipe") == {"pipe": SPECIAL} and texts(Path("/dev/zero")) == {"zero": SPECIAL}


def test_a_link_that_is_named_itself_is_read(folder: Path) -> None:
    link = folder / "secret.md"
    link.symlink_to("../beside/secret.md")
    assert texts(link) == {"secret.md": "secret"}
    beside = folder / "beside"
    beside.symlink_to("../beside")
    assert texts(beside) == {"secret.md": "secret"}
    assert texts(folder / "none.md") == {"none.md": "It cannot be opened: No such file or directory."}


def test_what_becomes_a_link_after_it_was_found_is_not_followed(folder: Path) -> None:
    found = {file.name: file for file in local_files(folder)}
    (folder / "a.md").unlink()
    (folder / "a.md").symlink_to("../beside/secret.md")
    (folder / "sub").rename(folder / "was")
    (folder.parent / "beside" / "b.md").write_text("secret")
    (folder / "sub").symlink_to("../beside")
    assert text(found["a.md"]) == "It cannot be opened: Too many levels of symbolic links."
    assert text(found["sub/b.md"]) == "It cannot be opened: Not a directory."
    (folder / "a.md").unlink()
    os.mkfifo(folder / "a.md")
    assert text(found["a.md"]) == SPECIAL


def test_only_so_much_is_read(folder: Path) -> None:
    (folder / "a.md").write_text("x" * 2 * MOST)
    assert len(texts(folder)["a.md"]) == MOST


def test_a_folder_that_may_not_be_read_is_said() -> None:
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as given:  # where a user without rights may look
        folder = Path(given)
        folder.chmod(0o755)
        (folder / "a.md").write_text("a")
        (folder / "sub").mkdir(mode=0)
        if root:
            os.seteuid(65_534)
        try:
            assert texts(folder) == {"a.md": "a", "sub": "It cannot be opened: Permission denied."}
            assert texts(folder / "sub" / "b.md") == {"b.md": "It cannot be opened: Permission denied."}
        finally:
            if root:
                os.seteuid(0)
            (folder / "sub").chmod(0o700)
