"""Calls and imports point one way: adapters → bot → agent → retrieval."""

import ast
from collections.abc import Container, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = {"adapters", "bot", "agent", "retrieval", "migrations"}
MAY_IMPORT = {
    "adapters": {"adapters", "bot", "agent", "retrieval"},
    "bot": {"bot", "agent", "retrieval", "migrations"},
    "agent": {"agent", "retrieval"},
    "retrieval": {"retrieval"},
    "migrations": {"migrations", "bot.store.schema"},
}
COMPOSITION_ROOT = {
    "bot/app.py",
    "bot/cli/commands.py",
    "bot/cli/maintenance.py",
    "bot/cli/programs.py",
    "bot/__main__.py",
}
NEVER = {"adapters": "bot.store"}  # platforms know values and errors (`bot/types.py`, `bot/errors.py`), no tables
ONE_PLACE = {
    "slack_bolt": {"adapters/slack/"},
    "slack_sdk": {"adapters/slack/"},
    "discord": {"adapters/discord/"},
    "qdrant_edge": {"retrieval/index/edge.py"},
    "qdrant_client": {
        "retrieval/index/server.py",
        "retrieval/index/server_values.py",
        "retrieval/index/server_calls.py",
    },
    "simpleeval": {"agent/routing/calculator.py"},
    "google.genai": {"agent/models/gemini.py", "retrieval/embeddings/gemini.py"},
    "arro3": {"retrieval/datasets/parquet.py"},
    "nicegui": {"adapters/web/pages/"},
    "fastembed": {"retrieval/embeddings/", "retrieval/reranking.py"},
    "sqlalchemy": {"bot/store/", "migrations/"},
    "asyncpg": {"bot/store/engine.py", "bot/store/link.py"},
    "rich": {"adapters/", "bot/cli/output.py"},
    "mcp": {"adapters/mcp/server.py"},
    "watchfiles": {"bot/sources/folder.py"},
}


def modules() -> list[Path]:
    return sorted(path for package in OURS for path in (ROOT / package).rglob("*.py"))


@cache
def imports(path: Path) -> frozenset[str]:
    return frozenset(_imported(path))


@cache
def _statements(path: Path) -> tuple[ast.AST, ...]:
    """The imports of a module, wherever in it they stand."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def _imported(path: Path) -> Iterator[str]:
    for node in _statements(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    if name in COMPOSITION_ROOT:
        return
    allowed = MAY_IMPORT[name.split("/")[0]]
    wrong = {
        module
        for module in imports(path)
        if module.split(".")[0] in OURS
        and not any(module == one or module.startswith(one + ".") for one in allowed)
        and not any(one.startswith(module + ".") for one in allowed)
    }
    assert not wrong


@pytest.mark.parametrize(("package", "forbidden"), NEVER.items())
def test_what_a_package_never_sees(package: str, forbidden: str) -> None:
    seen = {
        path.relative_to(ROOT).as_posix()
        for path in modules()
        if path.is_relative_to(ROOT / package)
        and any(module == forbidden or module.startswith(forbidden + ".") for module in imports(path))
    }
    assert not seen


def test_no_import_circles() -> None:
    """Imports for type checking and inside functions count too."""
    known = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in modules()
    }
    graph = {name: {other for other in _needed(path, known) if other in known} for name, path in known.items()}
    TopologicalSorter(graph).prepare()  # its CycleError names one


def _needed(path: Path, known: Container[str]) -> Iterator[str]:
    """The modules that a module needs: of `from package import module` that one, not the package."""
    for node in _statements(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in known else node.module for name in inner)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_each_library_is_reached_in_its_own_place(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    if name in COMPOSITION_ROOT:
        return
    for library, places in ONE_PLACE.items():
        uses = any(module == library or module.startswith(library + ".") for module in imports(path))
        assert not uses or any(name == place or name.startswith(place) for place in places), library


def test_the_rule_is_not_vacuous() -> None:
    assert len(modules()) > 20
