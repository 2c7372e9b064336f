"""The safeguards that `benchmarks.mutations` takes out, one at a time, are where it looks for them."""

import pytest

from benchmarks.mutations import MUTATIONS, ROOT, Misplaced, Mutation, taken_out


def test_every_safeguard_stands_once_where_it_is_taken_out() -> None:
    for mutation in MUTATIONS:
        before, after = taken_out(mutation, ROOT)
        assert before != after, mutation.safeguard


def test_every_test_that_should_notice_is_there() -> None:
    for test in {test for mutation in MUTATIONS for test in mutation.tests}:
        path, _, names = test.partition("::")
        assert (ROOT / path).exists(), test
        for name in filter(None, names.partition("[")[0].split("::")):
            assert name in (ROOT / path).read_text(encoding="utf-8"), test


@pytest.mark.parametrize("change", [("no such line", ""), ("import ", ""), ("def run(", "")])
def test_one_that_does_not_is_named(change: tuple[str, str]) -> None:
    with pytest.raises(Misplaced, match="a safeguard"):
        taken_out(Mutation("a safeguard", "benchmarks/mutations.py", change, ()), ROOT)
