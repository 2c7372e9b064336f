"""Processes on one PostgreSQL and one index under load, killed at any moment: `python -m benchmarks.machines
[--seconds 60] [--processes 3] [--every 0.4] [--seed N]`.

It needs PostgreSQL's server on this machine; one process has a clock that is 10 minutes off where libfaketime is
installed. The index is the loopback Qdrant of the tests: the wire alone, no cluster. Status 1 when something was lost,
doubled, half visible or answered twice. Source: machines.md §3.
"""

import argparse
import asyncio
import logging
import random
import sys

from tests.crash.machines import run


async def main(seconds: float, processes: int, every: float, seed: int) -> int:
    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)  # requests of those who died
    print(f"seed {seed}, {processes} processes, {seconds:g} s, a kill every {every:g} s")
    report = await run(seconds, seed=seed, processes=processes, every=every)
    print(f"{report.kills} kills in {report.seconds:.0f} s; one clock 10 minutes off: {report.wrong_clock}")
    for what, count in sorted(report.done.items()):
        print(f"{what:8} {count:6}  {count / report.seconds:7.1f} a second")
    for why, count in report.refused.most_common():
        print(f"refused {count} times: {why}")
    for problem in report.problems:
        print(f"PROBLEM: {problem}")
    print("nothing lost, doubled or half visible" if not report.problems else f"{len(report.problems)} problems")
    return 1 if report.problems else 0


if __name__ == "__main__":
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--seconds", type=float, default=60)
    given.add_argument("--processes", type=int, default=3)
    given.add_argument("--every", type=float, default=0.4, help="seconds between two kills")
    given.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = given.parse_args()
    sys.exit(asyncio.run(main(options.seconds, options.processes, options.every, options.seed)))
