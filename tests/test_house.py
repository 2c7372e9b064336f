"""A folder is a subject that can be looked through: few modules, a sentence on it, and the same names on each
platform."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.port import Adapter, ThreadView, TurnView
from tests.adapters.memory_platform import MemoryAdapter, MemoryThread

ROOT = Path(__file__).parent.parent
ROOMS = ("adapters", "agent", "bot", "retrieval")
MODULES = 15
PRONOUN = re.compile(r"(What|Who|Whom|Where|It)\b")
MORE = {"bot/store"}  # a module a table
COMMON = {  # what each chat platform has, wherever in its folder it stands
    "adapter",
    "api",
    "audience",
    "check",
    "commands",
    "context",
    "digest",
    "errors",
    "events",
    "expert_answers",
    "feedback",
    "files",
    "ingestion",
    "markdown",
    "steps",
    "thread_context",
    "turn_view",
}

PLATFORMS = ("adapters/slack/", "adapters/discord/", "adapters/web/channel/")
PARALLEL = {  # what each platform has of its own under one name; `BarredError` and `GoneError` are of the port's, too
    "Asked",
    "BarredError",
    "Edited",
    "GoneError",
    "Mark",
    "ModalInput",
    "Places",
    "RefusedError",
    "Replied",
    "Steps",
    "ThreadContext",
    "UnreachableError",
}


def folders() -> list[str]:
    inits = (path for room in ROOMS for path in (ROOT / room).rglob("__init__.py"))
    return sorted(path.parent.relative_to(ROOT).as_posix() for path in inits)


def modules(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.py")} - {"__init__"}


@pytest.mark.parametrize("folder", folders())
def test_a_folder_is_one_subject(folder: str) -> None:
    described = ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text(encoding="utf-8")))
    assert described, "a sentence on what is in it"
    assert folder in MORE or len(modules(ROOT / folder)) <= MODULES


def test_all_modules_are_in_a_folder_that_is_looked_at() -> None:
    held = {path.parent.relative_to(ROOT).as_posix() for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert held == set(folders())


@pytest.mark.parametrize("platform", ["slack", "discord"])
def test_what_each_platform_has_is_called_the_same(platform: str) -> None:
    there = {path.stem for path in (ROOT / "adapters" / platform).rglob("*.py")}
    assert there >= COMMON


def test_a_public_class_name_means_one_thing() -> None:
    found: dict[str, list[str]] = {}
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(path.relative_to(ROOT).as_posix())
    twice = {name: places for name, places in found.items() if len(places) > 1}
    assert set(twice) == PARALLEL
    assert all(place.startswith((*PLATFORMS, "adapters/port.py")) for places in twice.values() for place in places)


def docstrings() -> Iterator[tuple[str, str]]:
    for path in (path for room in (*ROOMS, "migrations") for path in (ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if text := ast.get_docstring(node):
                yield f"{path.relative_to(ROOT)}:{getattr(node, 'name', '')}", text


def test_a_docstring_begins_with_its_subject() -> None:
    """A noun or a verb; a pronoun would have nothing before it to stand for."""
    assert [where for where, text in docstrings() if PRONOUN.match(text)] == []


def test_a_new_platform_brings_few_members() -> None:
    """What `adapters/port.py` wants of it; `tests/adapters/memory_platform.py` has them all."""
    wanted = {
        name
        for port in (Adapter, ThreadView, TurnView)
        for name in {*vars(port), *port.__annotations__}
        if not name.startswith("_")
    }
    assert len(wanted) <= 12, sorted(wanted)
    assert wanted <= {*dir(MemoryAdapter), *dir(MemoryThread), "ready", "who"}
