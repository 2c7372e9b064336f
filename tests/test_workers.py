"""The tests' own runner: it loses no test and hides no failure."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PASSES = "def test_passes(tmp_path):\n    assert not list(tmp_path.iterdir())\n"
FAILS = "def test_fails():\n    print('these were its words')\n    assert 1 == 2\n"
DIES = "import os\ndef test_dies():\n    os.kill(os.getpid(), 9)\ndef test_after_it():\n    pass\n"


@pytest.fixture
def ran(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    for name, text in {"a": PASSES, "b": FAILS, "c": DIES, "d": PASSES, "e": PASSES}.items():
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
    ]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-c", "/dev/null", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_what_fails_is_shown_what_dies_is_named_and_the_rest_is_run(ran: subprocess.CompletedProcess[str]) -> None:
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED, ran.stderr
    assert "2 failed, 3 passed" in ran.stdout
    assert "assert 1 == 2" in ran.stdout and "these were its words" in ran.stdout
    assert "the process of test_c.py::test_dies died" in ran.stdout
