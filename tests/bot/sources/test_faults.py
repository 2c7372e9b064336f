"""A few of the faults that `python -m benchmarks.source_faults` meets by the thousand."""

import pytest

from benchmarks.source_faults import measure


async def test_no_fault_takes_a_page_that_is_there_nor_leaves_one_that_is_gone() -> None:
    assert sum((await measure(faults=5, kills=0, seed=4, pages=6)).values()) == 5


@pytest.mark.long
async def test_a_kill_neither() -> None:
    met = await measure(faults=60, kills=10, seed=11)
    assert met["all", "kill -9"] > 0
