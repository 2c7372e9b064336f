"""The tests' own runner: it loses no test and hides no failure."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PASSES = "def test_passes(tmp_path):\n    assert not list(tmp_path.iterdir())\n"
FAILS = "def test_fails():\n    print('these were its words')\n    assert 1 == 2\n"
DIES = "import os\ndef test_dies():\n    os.kill(os.getpid(), 9)\ndef test_after_it():\n    pass\n"
# what it has begun outlives it, with its end of all pipes, until it is over or its folder taken away
HANGS = """
import os, threading, time
from pathlib import Path
def test_hangs():
    if not os.fork():
        while Path(__file__).exists() and not Path(__file__).with_name("over").exists():
            time.sleep(0.1)
        os._exit(0)
    threading.Event().wait()
"""


@pytest.fixture
def ran(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    for name, text in {"a": PASSES, "b": FAILS, "c": DIES, "d": PASSES, "e": HANGS, "f": PASSES, "g": PASSES}.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    options = [
        "-q",
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
        "--workers",
        "2",
        "--rootdir",
        str(tmp_path),
        "-W",
        "ignore",
        "-o",
        "faulthandler_timeout=3",
        "-o",
        "faulthandler_exit_on_timeout=true",
    ]
    out, err = tmp_path / "out", tmp_path / "err"
    with out.open("w") as printed, err.open("w") as complained:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *options, "-c", "/dev/null", str(tmp_path)],
            cwd=ROOT,
            stdout=printed,
            stderr=complained,
            timeout=120,
        )
    (tmp_path / "over").touch()
    return subprocess.CompletedProcess([], run.returncode, out.read_text(), err.read_text())


def test_what_fails_is_shown_what_dies_or_hangs_is_named_and_the_rest_is_run(
    ran: subprocess.CompletedProcess[str],
) -> None:
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED, ran.stderr
    assert "5 failed, 3 passed" in ran.stdout
    assert "assert 1 == 2" in ran.stdout and "these were its words" in ran.stdout
    assert "the process of test_c.py::test_dies died: this was not run" in ran.stdout
    assert "the process of test_e.py::test_hangs died" in ran.stdout
    assert "the process of test_e.py::test_hangs died: this was not run" in ran.stdout  # the file it had taken next
    assert "in test_hangs" in ran.stderr  # where it was
