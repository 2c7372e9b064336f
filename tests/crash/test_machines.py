"""kill -9 of processes that share one PostgreSQL and one index, at any moment of all they do at once; they also stand
still for a while, and lose their connections.

`python -m benchmarks.machines` does the same for as long as one likes. Source: machines.md §3.
"""

import pytest

from tests.bot import postgresql
from tests.crash.machines import run


@pytest.mark.parametrize(
    ("seconds", "every"), [pytest.param(12, 0.8, id="some"), pytest.param(40, 0.5, id="many", marks=pytest.mark.long)]
)
async def test_processes_that_are_killed_at_any_moment_lose_and_double_nothing(seconds: float, every: float) -> None:
    if not postgresql.available():
        pytest.skip("no PostgreSQL server and driver here")
    report = await run(seconds, seed=7, every=every)
    assert report.problems == []
    assert report.kills + report.done["cut"] + report.done["stop"] > seconds / every / 4
