"""The README's commands run as they stand there, in their order, in a home that nobody has used."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
COMMANDS = [line.split("#")[0].strip() for block in BLOCKS for line in block.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """No key, no setting; the weights that are ready already are found by HOME."""
    home = tmp_path_factory.mktemp("readme")
    kept = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    return kept | {"KOTAE_HOME": str(home / "kotae"), "LANG": "C.UTF-8"}


def ran(command: list[str], surroundings: dict[str, str], given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, env=surroundings, input=given, capture_output=True, text=True, timeout=300, check=False
    )


def test_the_first_screen_says_who_it_is_for_shows_a_thread_and_how_to_run_it() -> None:
    screen = "\n".join(README.splitlines()[:45])
    assert "for teams" in screen and "[🧠 Thought]" in screen and "make run" in screen and "make test" in screen


def test_every_command_of_the_readme_works(surroundings: dict[str, str]) -> None:
    kotae = [command for command in COMMANDS if command.startswith(".venv/bin/kotae ")]
    assert len(kotae) >= 8
    for command in kotae:
        done = ran([sys.executable, "-m", "bot", *shlex.split(command)[1:]], surroundings)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("target", sorted({c.split()[1] for c in COMMANDS if c.startswith("make ")}))
def test_every_target_of_the_readme_is_there(target: str, surroundings: dict[str, str]) -> None:
    assert ran(["make", "--dry-run", target], surroundings).returncode == 0


def test_the_sample_answers_with_its_source_in_a_new_home(surroundings: dict[str, str], tmp_path: Path) -> None:
    fresh = surroundings | {"KOTAE_HOME": str(tmp_path / "new")}
    done = ran(
        [sys.executable, "-m", "bot", "chat"], fresh, "How many reviews does a change need before it is merged?\n"
    )
    assert done.returncode == 0, done.stderr
    assert "Two reviews are needed" in done.stdout and "en/releases.md" in done.stdout
