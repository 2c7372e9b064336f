"""Many chunks at once come out as if one by one; each question is kept once."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from retrieval.qa_pairs import AHEAD, MOST, Outcome, by_wording, generate, repeats, wanted, wording
from retrieval.types import QAPair


def test_a_long_chunk_is_asked_for_more_pairs_and_a_heading_for_none() -> None:
    assert [wanted(text) for text in ("", "目次", "Contents\n\n- 1\n- 2", "……")] == [0, 0, 0, 0]
    assert wanted("経費の締切は毎月25日です。承認は部長が行います。") == 1
    assert wanted("The deadline for expenses is the 25th of each month.") == 1
    counts = [wanted("The deadline for expenses is the 25th of each month. " * n) for n in range(1, 60)]
    assert counts == sorted(counts) and counts[-1] == MOST == wanted("締切は毎月25日です。" * 300)


# -- at once --------------------------------------------------------------------------------------------------------


async def outcomes(delays: Sequence[int], at_once: int) -> tuple[list[Outcome[int, str]], int]:
    """Of as many sources as there are delays; those with a multiple of 7 fail. And how many ran at the same time."""
    running = most = 0

    async def write(source: int) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(delays[source]):
            await asyncio.sleep(0)
        running -= 1
        if delays[source] % 7 == 0:
            raise ValueError(source)
        return f"made of {source}"

    return [one async for one in generate(range(len(delays)), write, at_once=at_once)], most


@given(st.lists(st.integers(0, 30), max_size=30), st.integers(1, 6))
def test_whatever_is_done_first_the_outcomes_come_in_order(delays: list[int], at_once: int) -> None:
    found, most = asyncio.run(outcomes(delays, at_once))
    assert [one.source for one in found] == [*range(len(delays))]
    assert most <= at_once
    for one, delay in zip(found, delays, strict=True):
        assert (one.made, isinstance(one.error, ValueError)) == (
            (None, True) if delay % 7 == 0 else (f"made of {one.source}", False)
        )


async def test_a_slow_first_one_holds_back_only_so_many() -> None:
    release = asyncio.Event()
    begun: list[int] = []

    async def write(source: int) -> int:
        begun.append(source)
        if source == 0:
            await release.wait()
        return source

    async with aclosing(generate(range(100), write, at_once=2)) as found:
        first = asyncio.ensure_future(anext(found))
        for _ in range(100):
            await asyncio.sleep(0)
        assert begun == [*range(2 * AHEAD)] and not first.done()
        release.set()
        assert (await first).source == 0


async def test_once_it_is_to_stop_nothing_more_begins_and_what_has_begun_is_kept() -> None:
    begun: list[int] = []

    async def write(source: int) -> int:
        begun.append(source)
        for _ in range(source):
            await asyncio.sleep(0)
        return source

    found: list[int | None] = []
    async for one in generate(range(100), write, at_once=3, going=lambda: len(found) < 4):
        found.append(one.made)
    assert found == begun == [*range(len(found))] and 4 < len(found) <= 4 + 3


async def test_closed_early_it_leaves_nothing_running() -> None:
    cancelled: list[int] = []

    async def write(source: int) -> int:
        if source == 0:
            return source
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(source)
            raise
        return source

    async with aclosing(generate(range(10), write, at_once=3)) as found:
        async for one in found:
            assert one.made == 0
            await asyncio.sleep(0)
            break
    assert cancelled == [1, 2]


# -- each question once ---------------------------------------------------------------------------------------------

WORDS = ("経費の締切は？", "Where is the VPN?", "ＶＰＮの設定方法は", "How long do refunds take?", "??")
VARIED = st.tuples(st.sampled_from(WORDS), st.integers(0, 10**6)).map(lambda pair: varied(*pair))


def varied(text: str, seed: int) -> str:
    """The same question as somebody else writes it: other widths, cases, spaces, punctuation."""
    chance = Random(seed)
    wide = {chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)}
    return "".join(
        (wide.get(each, each) if chance.random() < 0.3 else each.upper() if chance.random() < 0.3 else each)
        + (" " if chance.random() < 0.2 else "")
        for each in text
    ) + chance.choice(["", "?", "？", "。"])


@given(st.lists(st.tuples(VARIED, st.sampled_from(("yes", "no"))), max_size=20), st.integers())
def test_each_question_is_kept_once_for_each_answer(drawn: list[tuple[str, str]], seed: int) -> None:
    pairs = [QAPair(question, answer) for question, answer in drawn]
    groups = by_wording([pair.question for pair in pairs])
    assert sorted(at for group in groups for at in group) == [*range(len(pairs))]
    found = repeats(pairs, groups, str.__eq__)
    kept = [pair for at, pair in enumerate(pairs) if at not in found]
    assert len({(wording(pair.question) or pair.question, pair.answer) for pair in kept}) == len(kept)
    for at, first in found.items():
        assert first < at and first not in found and pairs[first].answer == pairs[at].answer
        assert wording(pairs[first].question) == wording(pairs[at].question)
    Random(seed).shuffle(groups)
    assert repeats(pairs, groups, str.__eq__) == found  # whatever order the groups come in
    assert repeats(kept, by_wording([pair.question for pair in kept]), str.__eq__) == {}
