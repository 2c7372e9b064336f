"""A little of what `python -m benchmarks.leaks` looks for at length."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(("platform", "seed", "steps"), [("slack", 7, 60), ("discord", 3, 70)])
def test_nobody_is_told_what_is_not_theirs_to_read(platform: str, seed: int, steps: int) -> None:
    """In a process of its own: NiceGUI is one for each."""
    given = ("--platform", platform, "--seed", str(seed), "--steps", str(steps))
    command = [sys.executable, "-m", "benchmarks.leaks", *given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
