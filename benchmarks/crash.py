"""Kills a running bot with SIGKILL, by default 200 times, and looks what each start finds: `python -m benchmarks.crash
[--kills 200] [--seed N]`. Half of the kills come at any moment of the whole application under load, half at a named
moment. The seed is printed; the same seed makes the same plan. Status 1 when something was lost, doubled or left over.
"""

import argparse
import asyncio
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.life import FORGET_POINTS, INGEST_POINTS, TURN_POINTS, Life
from tests.crash.nursery import KILLED, Ledger, Nursery, Shelf, nursery

POINTS = {"turn": TURN_POINTS, "ingest": INGEST_POINTS, "forget": FORGET_POINTS}


@dataclass
class Home:
    """One home that lives of one kind share, and what has been seen of it."""

    folder: Path
    ledger: Ledger = field(default_factory=Ledger)
    shelf: Shelf = field(default_factory=Shelf)


async def main(kills: int, seed: int) -> int:
    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)  # requests of those who died
    chance = random.Random(seed)
    print(f"seed {seed}, {kills} kills")
    died: Counter[tuple[str, str]] = Counter()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        homes = {kind: Home(Path(folder) / kind) for kind in (*POINTS, "mixed")}
        async with nursery(Path(folder)) as lives:
            try:
                for number in range(kills):
                    kind = "mixed" if number % 2 else chance.choice([*POINTS])
                    point = chance.choice(POINTS[kind]) if kind in POINTS else ""
                    seconds = None if point else chance.uniform(0.05, 1.5)
                    await live(lives, homes[kind], kind, number, point, seconds)
                    died[kind, point or "any moment"] += 1
                for kind, home in homes.items():
                    await live(lives, home, kind, kills, "", None)
                    if home.ledger.acknowledged:
                        home.ledger.check(home.folder / "kotae.db")
            except AssertionError as broken:
                print(f"seed {seed}, kill {sum(died.values())}: {broken}", file=sys.stderr)
                return 1
    print(f"\n{'during':8} {'killed at':12} {'times':>5}")
    for (kind, point), times in sorted(died.items()):
        print(f"{kind:8} {point:12} {times:5}")
    asked = sum(len(home.ledger.acknowledged) for home in homes.values())
    again = sum(len(home.ledger.posts) for home in homes.values())
    print(f"\n{asked} questions acknowledged, {again} answered, 0 lost, 0 doubled; 0 passages left over or mixed")
    print(f"{time.perf_counter() - started:.0f} s")
    return 0


async def live(lives: Nursery, home: Home, kind: str, number: int, point: str, seconds: float | None) -> None:
    life = Life(kind, str(home.folder), number, point, lives.url, seconds, seed=number)
    ended, said = await lives.live(life)
    assert ended == (KILLED if point or seconds else 0), f"{life} ended with {ended}"
    home.ledger.note(said)
    if kind != "turn":
        home.shelf.check(said)


if __name__ == "__main__":
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--kills", type=int, default=200)
    given.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = given.parse_args()
    sys.exit(asyncio.run(main(options.kills, options.seed)))
