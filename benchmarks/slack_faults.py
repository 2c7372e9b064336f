"""Bots in Slack's fake that are killed, and workspaces where everything goes wrong, as often as one likes: what
`benchmarks/slack.py` runs with --kills and --chaos."""

import asyncio
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.adapters.slack import test_chaos
from tests.crash.slack_life import POINTS
from tests.crash.slack_nursery import (
    KILLED,
    Asked,
    Nursery,
    acknowledged,
    ask,
    check_database,
    check_thread,
    interrupted,
    modern,
    nursery,
    open_turns,
    unfinished,
    workspace,
)
from tests.fakes.slack import FakeSlack

PATIENCE = 60.0
TWICE = 2  # deaths of processes with a question, then it is let live: after some more it would be given up
ANY = "any moment"


async def kills(count: int, seed: int) -> int:
    """Half of the kills come at a named moment of a turn, half at any moment while up to three questions are asked."""
    chance = random.Random(seed)
    print(f"seed {seed}, {count} kills")
    died: Counter[tuple[str, str]] = Counter()
    deaths: Counter[str] = Counter()
    asked: list[Asked] = []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        async with workspace() as slack, nursery(slack, home) as lives:
            try:
                for _ in range(count):
                    streams = chance.random() < 0.5
                    modern(slack, streams)
                    point = chance.choice(POINTS) if chance.random() < 0.5 else ANY
                    await _die(lives, slack, chance, point, asked)
                    died[point, "streams" if streams else "edits"] += 1
                    deaths.update(open_turns(home))
                    if any(deaths[ts] >= TWICE for ts in open_turns(home)):
                        await _recover(lives, slack, home, asked)
                await _recover(lives, slack, home, asked)
                for each in asked:
                    if not interrupted(slack, each):
                        check_thread(slack, each)
                check_database(home, asked)
            except AssertionError as broken:
                print(f"seed {seed}, kill {died.total()}: {broken}", file=sys.stderr)
                return 1
    print(f"\n{'killed at':14} {'with':8} {'times':>5}")
    for (point, how), times in sorted(died.items()):
        print(f"{point:14} {how:8} {times:5}")
    gave_up = sum(interrupted(slack, each) for each in asked)
    print(f"\n{len(asked)} questions, 0 lost, 0 answered twice; {gave_up} that two kills had hit end with an apology")
    left = sum(unfinished(slack, each) for each in asked)
    print(f"{left} threads whose steps still say that the bot is at work; {time.perf_counter() - began:.0f} s")
    return 0


async def _recover(lives: Nursery, slack: FakeSlack, home: Path, asked: list[Asked]) -> None:
    """A life in which everything that was left comes to its end."""
    bot = await lives.live()
    await slack.wait_for(lambda: all(acknowledged(slack, each) for each in asked), PATIENCE)
    await slack.wait_for(lambda: not open_turns(home), PATIENCE)
    await slack.wait_for_idle(timeout=PATIENCE)
    await lives.end(bot)


async def _die(lives: Nursery, slack: FakeSlack, chance: random.Random, point: str, asked: list[Asked]) -> None:
    """One life, to its end."""
    if point == ANY:
        bot = await lives.live(seconds=chance.uniform(0.05, 0.8))
        for _ in range(chance.randint(0, 3)):
            await asyncio.sleep(chance.uniform(0, 0.1))
            asked.append(await ask(slack, len(asked)))
    else:
        bot = await lives.live(len(asked), point)
        asked.append(await ask(slack, len(asked)))
        if point == "acked":
            await bot.says("waits")
            await lives.kill(bot)
    ended = await bot.ended()
    assert ended == KILLED, (bot.life, ended)


async def chaos(count: int, seed: int) -> int:
    """So many workspaces, each by the next seed."""
    logging.disable(logging.ERROR)  # all of it is on order
    for number in range(seed, seed + count):
        began = time.perf_counter()
        print(f"seed {number}", end=" ", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                await test_chaos.chaos(number, Path(folder))
            except AssertionError as broken:
                print(f"failed: {broken}")
                return 1
        print(f"{time.perf_counter() - began:.1f} s", flush=True)
    return 0
