"""A little of what `python -m benchmarks.weeks` looks for at length."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(("platform", "seed"), [("slack", 11), ("discord", 12)])
def test_nothing_wrong_is_taught_and_nothing_taught_is_lost(platform: str, seed: int) -> None:
    """In a process of its own, as one that runs for long."""
    given = ("--platform", platform, "--seed", str(seed), "--weeks", "2", "--steps", "25")
    command = [sys.executable, "-m", "benchmarks.weeks", *given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
