"""A few of the faults that `python -m benchmarks.source_faults` meets by the thousand."""

import pytest

from benchmarks.source_faults import measure


@pytest.mark.parametrize("seed", [pytest.param(3), pytest.param(11, marks=pytest.mark.long)])
async def test_no_fault_takes_a_page_that_is_there_nor_leaves_one_that_is_gone(seed: int) -> None:
    met = await measure(faults=8 if seed == 3 else 300, kills=1 if seed == 3 else 30, seed=seed)
    assert met["all", "kill -9"] + met["all", "(ended before the kill)"] == (1 if seed == 3 else 30)
