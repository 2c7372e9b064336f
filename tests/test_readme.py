"""The README's commands run as they stand there, in their order, in a home that nobody has used; and what the pages of
`docs/` name is there."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bot.program import Warm

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
COMMANDS = [line.split("#")[0].strip() for block in BLOCKS for line in block.splitlines() if line.strip()]
PICTURE_BYTES = 200_000

# Put beside a process as its `sitecustomize`: writes down whom it connects to, and whose address it looks up.
WATCH = """
import sys

def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        asked = arguments[1] if event == "socket.connect" else arguments[0]
        host = asked[0] if isinstance(asked, tuple) else asked
        with open({file!r}, "a") as log:
            print(host, file=log)

sys.addaudithook(watch)
"""


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """No key, no setting; the weights that are ready already are found by HOME."""
    home = tmp_path_factory.mktemp("readme")
    kept = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    return kept | {"KOTAE_HOME": str(home / "kotae"), "LANG": "C.UTF-8"}


def ran(command: list[str], surroundings: dict[str, Any], given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, env=surroundings, input=given, capture_output=True, text=True, timeout=300, check=False
    )


def test_the_first_screen_says_who_it_is_for_shows_a_picture_and_how_to_run_it() -> None:
    screen = "\n".join(README.splitlines()[:45])
    assert "for teams" in screen and "make run" in screen and "make test" in screen
    picture = re.search(r"^!\[[^\]]{20,}\]\(([\w/]+\.png)\)$", screen, re.MULTILINE)
    assert picture
    bytes_of = (ROOT / picture[1]).read_bytes()
    assert bytes_of.startswith(b"\x89PNG") and len(bytes_of) <= PICTURE_BYTES


@pytest.mark.parametrize(
    "page", sorted(["README.md", "CONTRIBUTING.md", *(f"docs/{one.name}" for one in (ROOT / "docs").glob("*.md"))])
)
def test_links_between_the_pages_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    headings = {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in re.findall(r"^#+ (.*)", text, re.M)}
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        file, _, part = target.partition("#")
        assert (ROOT / page).parent.joinpath(file).exists() if file else part in headings, target


def test_the_page_about_many_machines_says_the_same_in_both_languages() -> None:
    def told(page: str) -> tuple[set[str], list[int]]:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        shapes = (r"^#+ ", r"^- \*\*", r"^\|", r"^\d\. ")  # headings, points, rows, steps
        return set(re.findall(r"`[^`\n]+`", text)), [len(re.findall(one, text, re.MULTILINE)) for one in shapes]

    assert told("deploy.md") == told("deploy.ja.md")


@pytest.mark.parametrize("page", ["screens", "newcomer"])
def test_what_the_pages_name_is_there(page: str) -> None:
    named = re.findall(
        r"`((?:adapters|agent|bot|retrieval|tests)/[\w/]+\.\w+)(?:::(\w+))?`",
        (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"),
    )
    assert len(named) > 30
    for file, name in named:
        text = (ROOT / file).read_text(encoding="utf-8")
        known = rf"^\s*(?:(?:async )?def|class) {name}\b|^{name}\b\s*[:=]"
        assert not name or re.search(known, text, re.MULTILINE), f"{file}::{name}"


def test_every_command_of_the_readme_works(surroundings: dict[str, Any], warm: Warm) -> None:
    first, *others = [shlex.split(command)[1:] for command in COMMANDS if command.startswith(".venv/bin/kotae ")]
    assert len(others) >= 7
    done = ran([sys.executable, "-m", "bot", *first], surroundings)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), f"{first}\n{done.stdout}\n{done.stderr}"
    for arguments in others:
        again = warm(*arguments, **surroundings)
        assert (again.returncode, "Traceback" in again.stderr) == (0, False), f"{arguments}\n{again}"


@pytest.mark.parametrize("target", sorted({c.split()[1] for c in COMMANDS if c.startswith("make ")} | {"browser-test"}))
def test_every_target_of_the_readme_is_there(target: str, surroundings: dict[str, Any]) -> None:
    assert f"make {target}" in README
    assert ran(["make", "--dry-run", target], surroundings).returncode == 0


def test_make_run_answers_from_the_sample_and_asks_nobody_else(surroundings: dict[str, Any], tmp_path: Path) -> None:
    made = ran(["make", "--dry-run", "run"], surroundings).stdout.splitlines()[-1]
    assert made == ".venv/bin/kotae run --sample"
    watched = tmp_path / "watched"
    (tmp_path / "sitecustomize.py").write_text(WATCH.format(file=str(watched)))
    done = ran(
        [sys.executable, "-m", "bot", *shlex.split(made)[1:]],
        surroundings | {"KOTAE_HOME": str(tmp_path / "new"), "KOTAE_WEB_PORT": "0", "PYTHONPATH": str(tmp_path)},
        "How many reviews does a change need before it is merged?\n",
    )
    assert done.returncode == 0, done.stderr
    assert "Two reviews are needed" in done.stdout and "en/releases.md" in done.stdout
    assert "Browser: http://127.0.0.1:" in done.stdout
    assert set(watched.read_text().split()) == {"127.0.0.1"}  # its own address
