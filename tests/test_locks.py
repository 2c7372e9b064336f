"""The lock files name all that Kotae installs, with hashes, as `pyproject.toml` asks for it. Source: reliability.md
R62."""

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, version
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
BUILD = PROJECT["build-system"]["requires"]
EXTRAS = PROJECT["project"]["optional-dependencies"]
LEFT_OUT = {canonicalize_name(Requirement(text).name) for text in PROJECT["tool"]["uv"]["override-dependencies"]}
WANTED = {
    "requirements-pip.lock": PROJECT["dependency-groups"]["pip"],
    "requirements.lock": [*PROJECT["project"]["dependencies"], *BUILD],
    "requirements-servers.lock": [
        *PROJECT["project"]["dependencies"],
        *BUILD,
        *EXTRAS["postgres"],
        *EXTRAS["qdrant"],
    ],
    "requirements-dev.lock": [*PROJECT["project"]["dependencies"], *BUILD, *chain(*EXTRAS.values())],
}
_ENTRY = re.compile(r"^(\S[^\\\n]*?) ?((?:\\\n +--hash=sha256:[0-9a-f]{64} ?)*)\n(?: +# .*\n)*", re.M)


@dataclass(frozen=True)
class Locked:
    requirement: Requirement
    hashes: int

    @property
    def name(self) -> str:
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str:
        (pin,) = self.requirement.specifier
        assert pin.operator == "==", f"{self.requirement} is not pinned"
        return pin.version

    @property
    def here(self) -> bool:
        """Whether it is for this Python on this system."""
        return self.requirement.marker is None or self.requirement.marker.evaluate()


def locked(file: str) -> list[Locked]:
    text = re.sub(r"\A(?:#.*\n)*", "", (ROOT / file).read_text())
    found = list(_ENTRY.finditer(text))
    assert "".join(one[0] for one in found) == text, (
        "nothing in it but requirements, their hashes and where they come from"
    )
    return [Locked(Requirement(one[1]), one[2].count("--hash")) for one in found]


def here(file: str) -> Mapping[str, str]:
    pins = [(one.name, one.version) for one in locked(file) if one.here]
    assert len({name for name, _ in pins}) == len(pins)
    return dict(pins)


@pytest.mark.parametrize("file", WANTED)
def test_each_requirement_is_pinned_with_its_hashes_and_comes_from_any_index(file: str) -> None:
    for one in locked(file):
        assert one.hashes, one.requirement
        assert one.version
        assert one.requirement.url is None
    assert "://" not in (ROOT / file).read_text()


@pytest.mark.parametrize("file", WANTED)
def test_the_lock_holds_what_the_project_asks_for(file: str) -> None:
    pins = here(file)
    for text in WANTED[file]:
        wanted = Requirement(text)
        if wanted.marker is None or wanted.marker.evaluate():
            assert wanted.specifier.contains(pins[canonicalize_name(wanted.name)]), f"`make lock`: {wanted}"


def test_the_locks_agree_and_what_builds_the_package_is_in_them() -> None:
    users, servers, developers = (here(file) for file in list(WANTED)[1:])
    assert users.items() < servers.items() < developers.items()
    assert "qdrant-client" not in users and "grpcio" not in users  # 22 MB that one process alone has no use for
    assert PROJECT["dependency-groups"]["build"] == BUILD


def test_what_is_installed_is_what_the_lock_names() -> None:
    pins = here("requirements-dev.lock")
    assert {name: installed(name) for name in pins} == pins
    needed = set(reached("kotae", frozenset(EXTRAS))) - {"kotae"}
    assert needed - set(pins) == set(), "installed, and in no lock"
    assert set(pins) - needed <= {canonicalize_name(Requirement(text).name) for text in BUILD}, "locked, and not needed"


def test_a_python_that_is_not_supported_is_said_to_be_none(tmp_path: Path) -> None:
    bounds = re.search(r"\((3, \d+)\) <= sys\.version_info < \((3, \d+)\)", (ROOT / "Makefile").read_text())
    assert bounds and PROJECT["project"]["requires-python"] == f">={bounds[1]},<{bounds[2]}".replace(", ", ".")
    for name in ("Makefile", "pyproject.toml", *WANTED):
        shutil.copy(ROOT / name, tmp_path)
    old = tmp_path / "old"
    old.write_text('#!/bin/sh\ntest "$1" = --version && echo Python 3.10.12\n')
    old.chmod(0o700)
    done = subprocess.run(["make", "setup", f"PYTHON={old}"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode and "Kotae needs Python 3.11 to 3.14" in done.stdout and "3.10.12" in done.stdout
    assert not (tmp_path / ".venv").exists()


def test_magika_comes_without_its_command_line() -> None:
    """31 MB of Rust that only the wheels of one system have; the wheel of any system is 3 MB."""
    for file in list(WANTED)[1:]:
        assert [one.hashes for one in locked(file) if one.name == "magika"] == [1], "`make lock` names one wheel"
    assert "Tag: py3-none-any" in (distribution("magika").read_text("WHEEL") or ""), "install anew: `make clean`"


def installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def reached(name: str, extras: frozenset[str]) -> set[str]:
    """All that a distribution with these extras needs here, by what the installed packages themselves say."""
    seen: set[tuple[str, frozenset[str]]] = set()
    todo: list[tuple[str, frozenset[str]]] = [(name, extras)]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += needs(*one)
    return {name for name, _ in seen}


def needs(name: str, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    for text in distribution(name).requires or ():
        wanted = Requirement(text)
        if canonicalize_name(wanted.name) in LEFT_OUT:
            continue
        if wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in extras or {""}):
            yield canonicalize_name(wanted.name), frozenset(wanted.extras)
