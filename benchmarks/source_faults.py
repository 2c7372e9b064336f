"""Faults of sources, one after the other: half listings, 429, 5xx, resets, redirect loops, truncated pages, steps of the
clock, full disks, force-pushes, renamed folders, emptied repositories, and kills.

    python -m benchmarks.source_faults [--faults 1000] [--kills 60] [--seed N]

Four sources (a folder, a repository, a website by its sitemap, another by its links) change honestly before each fault; a
sync meets the fault, another one comes after it. While there is trouble, no page is gone that its source still has, and
none says what its source never said; afterwards documents and passages are the source's pages, each once. A kill is
SIGKILL to a process of its own that syncs all of them. The seed is printed; the same seed makes the same plan. Status 1
when one of that does not hold.
"""

import argparse
import asyncio
import logging
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.source_worlds import PAGES, Files, Website, World, tear
from bot.errors import StoreError
from bot.records import DocumentRow
from bot.sources.sources import Sources
from bot.sources.sync import author_of
from bot.store.followed import FollowedSources
from bot.store.leases import inherit
from retrieval.loaders.loader import Loader
from retrieval.types import RAGToolError
from tests.bot.library import READERS, Library, opened
from tests.bot.sample_turns import settings
from tests.bot.sources.conftest import EDITOR
from tests.bot.sources.site import served
from tests.retrieval.test_ingest import HashEmbedder

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

FULL, ROOM = 0, 2**40
LIVES = 25  # faults between two starts


@dataclass
class Life:
    """A home that is open. `free`: of its disk; `step`: of its clock."""

    library: Library
    sources: Sources
    embedder: HashEmbedder
    home: Path
    room: dict[str, int]
    step: dict[str, timedelta]

    async def sync(self, world: World) -> None:
        await self.sources.sync(EDITOR, world.name, READERS)

    async def rows(self, world: World) -> dict[str, DocumentRow]:
        author = author_of((await self.sources.get(world.name, READERS)).source)
        return {row.name: row for row in await self.library.documents.listed(READERS) if row.author == author}


@dataclass
class Seen:
    """What was last seen whole of a world: its pages, and the ids of their documents."""

    truth: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)


@asynccontextmanager
async def alive(home: Path, owner: str, loader: Loader | None = None) -> AsyncIterator[Life]:
    room, step, embedder = {"free": ROOM}, {"by": timedelta()}, HashEmbedder()
    async with opened(home, embedder=embedder, loader=loader, free=lambda _: room["free"]) as library:
        store = FollowedSources(library.engine)
        await inherit(library.engine, datetime.now(UTC))
        sources = Sources(
            settings(home, KOTAE_PRIVATE_SOURCES="on"), store, library.knowledge, library.documents,
            owner=owner, clock=lambda: datetime.now(UTC) + step["by"],
        )  # fmt: skip
        yield Life(library, sources, embedder, home, room, step)


# -- what has to hold --------------------------------------------------------------------------------------------------


async def bearable(life: Life, world: World, seen: Seen) -> None:
    """While there is trouble."""
    rows = await life.rows(world)
    moved = {old: new for new, old in world.renamed.items()}
    for name, word in seen.truth.items():
        still = next((each for each in (name, moved.get(name)) if each in rows), None)
        if name in world.truth or name in moved:
            assert still is not None, f"{world.name}: {name} is gone, and its source has it"
            text = await life.library.knowledge.markdown(rows[still])
            now = world.truth.get(moved.get(name, name), word)
            assert word in text or now in text, f"{world.name}: {name} says what its source never said"
    known = {*seen.truth, *world.truth}
    assert rows.keys() <= known, f"{world.name}: nobody wrote {sorted(rows.keys() - known)}"


async def whole(life: Life, world: World, seen: Seen) -> None:
    """Afterwards."""
    rows = await life.rows(world)
    assert rows.keys() == world.truth.keys(), (
        f"{world.name}: missing {sorted(world.truth.keys() - rows.keys())}, left {sorted(rows.keys() - world.truth.keys())}"
    )
    for name, word in world.truth.items():
        assert word in await life.library.knowledge.markdown(rows[name]), f"{world.name}: {name} is an old one"
    for name, old in world.renamed.items():
        assert rows[name].id == seen.ids.get(old, rows[name].id), f"{world.name}: {old} lost its document by a new name"
    (status,) = [one for one in await life.sources.listed(READERS) if one.source.name == world.name]
    assert status.source.state == "on", f"{world.name} {status.source.state} for {status.source.gone}"
    seen.truth, seen.ids = dict(world.truth), {name: row.id for name, row in rows.items()}


async def no_copies(life: Life) -> None:
    rows = await life.library.documents.listed(READERS)
    assert await life.library.points() == sum(row.chunks for row in rows), "passages are left over or missing"


# -- faults ------------------------------------------------------------------------------------------------------------


@contextmanager
def trouble(life: Life, world: World, name: str, dice: random.Random) -> Iterator[None]:
    match name:
        case "clock steps":
            life.step["by"] += timedelta(days=dice.choice((-400, -1, 1, 400)))
            yield
        case "disk full":
            life.room["free"] = FULL
            yield
            life.room["free"] = ROOM
        case "embedder away":
            life.embedder._fail_at = len(life.embedder.batches) + dice.randint(1, 3)
            yield
            life.embedder._fail_at = None
        case "torn mirror":
            for mirror in (life.home / "sources").glob("*.git"):
                tear(mirror, dice)
            yield
        case _:
            yield from world.troubles()[name](dice)


async def fault(life: Life, world: World, name: str, seen: Seen, dice: random.Random) -> None:
    world.change(dice)
    with trouble(life, world, name, dice):
        with suppress(RAGToolError, StoreError):
            await life.sync(world)
        await bearable(life, world, seen) if name != "emptied" else await unemptied(life, seen, world)
    await recovered(life, world)
    await whole(life, world, seen)


async def recovered(life: Life, world: World) -> None:
    try:
        await life.sync(world)
    except RAGToolError:
        if world.kind != "git":
            raise
        await life.sync(world)  # a mirror that is found damaged, which may be long after it was, is made anew


async def unemptied(life: Life, seen: Seen, world: World) -> None:
    """An emptied source has lost nothing before somebody says so."""
    assert {*seen.truth} <= {*await life.rows(world)}, f"{world.name} was emptied, and so was the base"


def die_syncing(home: str, names: list[str], begun: "Event") -> None:
    async def syncing() -> None:
        async with alive(Path(home), f"killed-{os.getpid()}") as life:
            begun.set()
            for name in names:
                with suppress(RAGToolError, StoreError):
                    await life.sources.sync(EDITOR, name, READERS)

    asyncio.run(syncing())


async def kill(home: Path, worlds: list[World], dice: random.Random) -> bool:
    """Let a process sync all of them and kill it at any moment; whether it was still at work."""
    context = multiprocessing.get_context("forkserver")
    begun = context.Event()
    names = dice.sample([world.name for world in worlds], len(worlds))
    process = context.Process(target=die_syncing, args=(str(home), names, begun))
    await asyncio.to_thread(process.start)
    await asyncio.to_thread(begun.wait, 60)
    await asyncio.to_thread(process.join, dice.uniform(0.0, 0.8))
    working = process.is_alive()
    if working and process.pid is not None:
        os.kill(process.pid, signal.SIGKILL)
    await asyncio.to_thread(process.join)
    return working


# -- the plan ----------------------------------------------------------------------------------------------------------

EVERYWHERE = ("clock steps", "disk full", "embedder away")


async def measure(faults: int, kills: int, seed: int, pages: int = PAGES) -> Counter[tuple[str, str]]:
    """What was met, and how often; AssertionError for what does not hold."""
    dice, met = random.Random(seed), Counter[tuple[str, str]]()
    multiprocessing.get_context("forkserver").set_forkserver_preload(
        ["benchmarks.source_worlds", "tests.bot.sources.conftest"]
    )
    with ExitStack() as stack:
        at = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        async with served() as mapped, served() as linked, Loader() as loader:
            worlds: list[World] = [
                Files("folder", at / "folder", pages),
                Files("git", at / "repository", pages),
                Website(mapped, mapped=True, pages=pages),
                Website(linked, mapped=False, pages=pages),
            ]
            seen = {world.name: Seen() for world in worlds}
            async with alive(at / "home", "first", loader) as life:
                for world in worlds:
                    await life.sources.add(EDITOR, world.source())
                    await life.sync(world)
                    await whole(life, world, seen[world.name])
            left, at_once = faults - kills, max(1, -(-(faults - kills) // (kills or 1)) if kills else LIVES)
            while left > 0 or kills > 0:
                if kills > 0:
                    for world in worlds:
                        world.change(dice)
                    met["all", "kill -9" if await kill(at / "home", worlds, dice) else "(ended before the kill)"] += 1
                    kills -= 1
                async with alive(at / "home", "next", loader) as life:
                    for world in worlds:
                        await bearable(life, world, seen[world.name])
                        await recovered(life, world)
                        await whole(life, world, seen[world.name])
                    await no_copies(life)
                    for _ in range(min(left, at_once)):
                        world = dice.choice(worlds)
                        name = dice.choice([*EVERYWHERE, *world.troubles()])
                        try:
                            await fault(life, world, name, seen[world.name], dice)
                        except (AssertionError, RAGToolError) as error:
                            raise AssertionError(f"after “{name}”: {error}") from error
                        met[world.name, name] += 1
                        left -= 1
                    await no_copies(life)
    return met


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--faults", type=int, default=1_000, help="with the kills")
    given.add_argument("--kills", type=int, default=60)
    given.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = given.parse_args()
    logging.disable(logging.CRITICAL)
    print(f"seed {options.seed}, {options.faults} faults, {options.kills} of them kills", flush=True)
    started = time.monotonic()
    try:
        met = asyncio.run(measure(options.faults, options.kills, options.seed))
    except AssertionError as broken:
        print(f"seed {options.seed}: {broken}", file=sys.stderr)
        sys.exit(1)
    print(f"\n{'source':8} {'fault':24} times")
    for (source, name), times in sorted(met.items()):
        print(f"{source:8} {name:24} {times:5}")
    print("\n0 pages removed that were not gone, 0 left that were, 0 copies, 0 passages left over")
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
