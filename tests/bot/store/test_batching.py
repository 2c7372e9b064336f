"""Writes that come together share a transaction, and nothing else: neither a failure nor a cancellation."""

import asyncio
from collections.abc import Sequence

import pytest

from bot.store.batching import WriteBatcher


class Slow:
    """A store of a test: each batch waits until it is let through."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.refused: list[int] = []
        self.begun = asyncio.Event()
        self.through = asyncio.Semaphore(0)

    async def __call__(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        self.begun.set()
        await self.through.acquire()
        if any(item in self.refused for item in items):
            raise ValueError(items)
        return [-item for item in items]

    def let_through(self, batches: int) -> None:
        for _ in range(batches):
            self.through.release()


async def begun(slow: Slow, together: WriteBatcher[int, int], count: int) -> list[asyncio.Task[int]]:
    """`count` items that are being stored."""
    tasks = [asyncio.create_task(together_one(together, item)) for item in range(1, count + 1)]
    await slow.begun.wait()
    return tasks


async def together_one(together: WriteBatcher[int, int], item: int) -> int:
    return await together(item)


async def test_what_comes_while_a_batch_is_stored_is_the_next_batch() -> None:
    slow = Slow()
    together = WriteBatcher(slow, name="test", most=3)
    tasks = [asyncio.create_task(together_one(together, 1))]
    await slow.begun.wait()
    tasks += [asyncio.create_task(together_one(together, item)) for item in range(2, 7)]
    await asyncio.sleep(0)
    slow.let_through(3)
    assert await asyncio.gather(*tasks) == [-1, -2, -3, -4, -5, -6]
    assert slow.batches == [[1], [2, 3, 4], [5, 6]]
    slow.let_through(1)
    assert await together(7) == -7  # it begins again


async def test_one_that_cannot_be_stored_fails_alone() -> None:
    slow = Slow()
    slow.refused = [2]
    slow.let_through(10)
    together = WriteBatcher(slow, name="test")
    results = await asyncio.gather(*(together(item) for item in (1, 2, 3)), return_exceptions=True)
    assert results[0] == -1 and isinstance(results[1], ValueError) and results[2] == -3
    assert slow.batches == [[1, 2, 3], [1], [2], [3]]
    with pytest.raises(ValueError, match="2"):
        await together(2)
    assert slow.batches[-1] == [2] and len(slow.batches) == 5  # alone it is not tried twice


async def test_one_that_is_cancelled_is_stored_and_its_result_handed_on() -> None:
    slow, unwanted = Slow(), list[int]()

    async def unwant(result: int) -> None:
        unwanted.append(result)

    together = WriteBatcher(slow, name="test", unwanted=unwant)
    tasks = await begun(slow, together, 3)
    tasks[1].cancel()
    slow.let_through(3)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert results[0] == -1 and isinstance(results[1], asyncio.CancelledError) and results[2] == -3
    assert unwanted == [-2]


async def test_a_cancelled_one_that_cannot_be_stored_disturbs_nobody() -> None:
    slow = Slow()
    slow.refused = [1, 2]
    together = WriteBatcher(slow, name="test")
    tasks = await begun(slow, together, 3)
    tasks[1].cancel()
    slow.let_through(10)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [ValueError, asyncio.CancelledError, int]


async def test_closing_waits_for_what_has_come() -> None:
    slow = Slow()
    together = WriteBatcher(slow, name="test")
    await together.close()  # nothing has
    tasks = await begun(slow, together, 2)
    closing = asyncio.create_task(together.close())
    await asyncio.sleep(0)
    assert not closing.done()
    slow.let_through(2)
    await closing
    assert [task.result() for task in tasks] == [-1, -2]
