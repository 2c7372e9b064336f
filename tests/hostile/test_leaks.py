"""A little of what `python -m benchmarks.leaks` looks for at length."""

import subprocess
import sys


def test_nobody_is_told_what_is_not_theirs_to_read() -> None:
    """In a process of its own: NiceGUI is one for each."""
    command = [sys.executable, "-m", "benchmarks.leaks", "--seed", "3", "--steps", "60"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
