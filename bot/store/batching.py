"""Writes of a kind that come together share a transaction: a burst waits for a commit or two, not for one each."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

BATCH = 200

Store = Callable[[Sequence[Item]], Awaitable[Sequence[Result]]]
"""Store some in one transaction, all or none: their results in the same order."""

Unwanted = Callable[[Result], Awaitable[None]]
"""What to do about a result whose caller was cancelled while it was stored."""


async def _nothing(result: object) -> None: ...


class WriteBatcher(Generic[Item, Result]):
    """While one batch is stored the next gathers; one that comes alone does not wait.

    Cancelling a caller does not keep its item from being stored.
    """

    def __init__(
        self, store: Store[Item, Result], *, name: str, unwanted: Unwanted[Result] = _nothing, most: int = BATCH
    ) -> None:
        self._store = store
        self._name = name
        self._unwanted = unwanted
        self._most = most
        self._arriving: list[tuple[Item, asyncio.Future[Result]]] = []
        self._storing: asyncio.Task[None] | None = None

    async def __call__(self, item: Item) -> Result:
        """Raises what storing this item alone raises; others that came with it do not suffer."""
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._arriving.append((item, answer))
        if self._storing is None or self._storing.done():
            self._storing = asyncio.create_task(self._store_arriving(), name=self._name)
        return await answer

    async def close(self) -> None:
        """Stores what has come, then closes."""
        if self._storing is not None:
            await asyncio.wait({self._storing})

    async def _store_arriving(self) -> None:
        while self._arriving:
            batch, self._arriving = self._arriving[: self._most], self._arriving[self._most :]
            try:
                await self._settle(batch)
            except Exception as error:
                if len(batch) == 1:
                    _fail(batch[0][1], error)
                else:
                    for alone in batch:  # one of them may be the reason
                        try:
                            await self._settle([alone])
                        except Exception as its_own:
                            _fail(alone[1], its_own)

    async def _settle(self, batch: list[tuple[Item, asyncio.Future[Result]]]) -> None:
        results = await self._store([item for item, _ in batch])
        for (_, answer), result in zip(batch, results, strict=True):
            if answer.done():
                await self._unwanted(result)
            else:
                answer.set_result(result)


def _fail(answer: "asyncio.Future[Result]", error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
