"""A folder and a git repository with the same gestures, and the sources of a home over them."""

import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pytest_asyncio

from bot.sources.sources import NewSource, Sources
from bot.sources.sync import SyncReport
from bot.store.followed import FollowedSources
from bot.types import Actor
from retrieval.loaders.loader import Loader
from tests.bot.acting import Clock
from tests.bot.library import READERS, Library, opened
from tests.bot.sample_turns import settings
from tests.retrieval.test_ingest import HashEmbedder

EDITOR = Actor("terminal", "", "terminal", "editor")


@dataclass
class Tree:
    """Files that somebody changes: a folder, or a repository whose changes are commits."""

    path: Path
    kind: str
    day: date = date(2026, 3, 1)

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True)
        if self.kind == "git":
            self.git("init", "--quiet", "--initial-branch=main")
            self.git("config", "user.email", "a@example")
            self.git("config", "user.name", "A")

    def git(self, *command: str) -> str:
        when = f"{self.day.isoformat()}T12:00:00+00:00"
        env = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "PATH": "/usr/bin:/bin", "HOME": str(self.path)}
        done = subprocess.run(["git", "-C", str(self.path), *command], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, **files: str | bytes | None) -> None:
        """By name (`__` for a slash, `_` before the ending for a dot); None deletes."""
        for key, text in files.items():
            stem, _, ending = key.replace("__", "/").rpartition("_")
            file = self.path / f"{stem}.{ending}"
            if text is None:
                file.unlink()
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.commit()

    def move(self, name: str, to: str) -> None:
        (self.path / to).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).rename(self.path / to)
        self.commit()

    def commit(self) -> None:
        if self.kind == "git":
            self.git("add", "--all")
            self.git("commit", "--quiet", "--allow-empty", "-m", "more")


@dataclass
class Home:
    library: Library
    sources: Sources
    store: FollowedSources
    folder: Path
    embedder: HashEmbedder
    trees: dict[str, Tree] = field(default_factory=dict)

    def tree(self, kind: str, name: str = "wiki") -> Tree:
        self.trees[name] = Tree(self.folder / "trees" / name, kind)
        return self.trees[name]

    async def follow(self, tree: Tree, **more: Any) -> SyncReport:
        new = NewSource(tree.kind, str(tree.path), **{"name": "wiki"} | more)  # type: ignore[arg-type]
        await self.sources.add(EDITOR, new)
        return await self.sync(new.name)

    async def sync(self, name: str = "wiki") -> SyncReport:
        return await self.sources.sync(EDITOR, name, READERS)

    async def names(self) -> list[str]:
        return sorted(row.name for row in await self.library.documents.listed(READERS))


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def loader() -> AsyncIterator[Loader]:
    async with Loader() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def home(tmp_path: Path, loader: Loader, clock: Clock) -> AsyncIterator[Home]:
    embedder = HashEmbedder()
    async with opened(tmp_path / "home", loader=loader, embedder=embedder) as library:
        store = FollowedSources(library.engine)
        given = settings(tmp_path / "home")
        made = Sources(given, store, library.knowledge, library.documents, owner="me", clock=clock)
        yield Home(library, made, store, tmp_path, embedder)
