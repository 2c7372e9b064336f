"""Renames in the history of a real repository, through the git source: does each page keep its document?

    python -m benchmarks.source_renames REPOSITORY [--since 2021-06-01] [--until 2023-02-01]

For each commit of the main line that renames Markdown files, the state before it and then its own is synced; a page that
git says was renamed has to have the document that it had, whatever is changed in it by the same commit. Objects that the
repository lacks are left out. Status 1 when a page lost its document.
"""

import argparse
import asyncio
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bot.sources.sources import NewSource, Sources
from bot.store.followed import FollowedSources
from retrieval.loaders.loader import Loader
from tests.bot.library import READERS, opened
from tests.bot.sample_turns import settings
from tests.bot.sources.conftest import EDITOR
from tests.retrieval.test_ingest import HashEmbedder

RENAMES = ("--diff-filter=R", "--name-status", "-M")
_SOMEBODY = {f"GIT_{role}_{what}": "a@example" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class Walk:
    """A copy of a repository whose branch `walk` goes from state to state, with the Markdown files alone."""

    def __init__(self, repository: Path, at: Path) -> None:
        self.path = at / "walked.git"
        self._index = at / "index"
        subprocess.run(["git", "clone", "-q", "--bare", "--shared", str(repository), str(self.path)], check=True)
        self._made: list[str] = []

    def git(self, *command: str, said: Sequence[str] = ()) -> list[str]:
        given = "".join(f"{line}\n" for line in said)
        env = {**os.environ, **_SOMEBODY, "GIT_INDEX_FILE": str(self._index)}
        done = subprocess.run(
            ["git", "-C", str(self.path), *command], env=env, input=given, capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    def commits(self, since: str, until: str) -> list[str]:
        span = (f"--since={since}", f"--until={until}", "--format=@%H")
        told = self.git("log", "--reverse", "--first-parent", "-m", *RENAMES, *span, "--", "*.md")
        return [line[1:] for line in told if line.startswith("@")]

    def go(self, commit: str) -> None:
        files = [line for line in self.git("ls-tree", "-r", commit) if line.startswith("100") and line.endswith(".md")]
        blobs = {line.split()[2] for line in files}
        lost = {line.split()[0] for line in self.git("cat-file", "--batch-check", said=[*blobs]) if "missing" in line}
        self._index.unlink(missing_ok=True)
        self.git("update-index", "--index-info", said=[line for line in files if line.split()[2] not in lost])
        (tree,) = self.git("write-tree")
        self._made += self.git("commit-tree", tree, *(f"-p{parent}" for parent in self._made[-1:]), "-m", "walked")
        self.git("update-ref", "refs/heads/walk", self._made[-1])

    def renames(self) -> list[tuple[str, str, str]]:
        """How much is the same (`R087`), the old name and the new one, of the last step."""
        told = self.git("diff", *RENAMES, *self._made[-2:])
        return [(how, old, new) for how, old, new in (line.split("\t") for line in told)]


async def measure(repository: Path, since: str, until: str) -> tuple[int, int, list[str]]:
    """How many pages were renamed, how many of them with other words, and which lost their document."""
    renamed, reworded, lost = 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        home, walk = Path(folder) / "home", Walk(repository, Path(folder))
        async with Loader() as loader, opened(home, embedder=HashEmbedder(), loader=loader) as library:
            store = FollowedSources(library.engine)
            sources = Sources(settings(home), store, library.knowledge, library.documents, owner="walk")

            async def at(commit: str) -> dict[str, str]:
                walk.go(commit)
                await sources.sync(EDITOR, "walk", READERS)
                return {row.name: row.id for row in await library.documents.listed(READERS)}

            commits = walk.commits(since, until)
            await sources.add(EDITOR, NewSource("git", str(walk.path), name="walk", branch="walk"))
            for commit in commits:
                before, after = await at(f"{commit}^1"), await at(commit)
                for how, old, new in walk.renames():
                    if old in before and new in after:  # a page, and one that can be read
                        renamed += 1
                        reworded += how != "R100"
                        lost += [f"{commit[:8]} {how} {old} → {new}"] if after[new] != before[old] else []
    return renamed, reworded, lost


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("repository", type=Path)
    given.add_argument("--since", default="2021-06-01")
    given.add_argument("--until", default="2023-02-01")
    options = given.parse_args()
    logging.disable(logging.CRITICAL)
    started = time.monotonic()
    renamed, reworded, lost = asyncio.run(measure(options.repository.resolve(), options.since, options.until))
    print(f"{renamed} pages renamed, {reworded} of them with other words; {len(lost)} lost their document")
    for line in lost:
        print(f"  {line}")
    print(f"{time.monotonic() - started:.0f} s")
    sys.exit(bool(lost) or not renamed)


if __name__ == "__main__":
    main()
