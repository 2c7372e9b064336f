"""A question that is edited or taken back while it is worked on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.turns.turns import Turns
from bot.types import Claimed, Incoming
from tests.adapters.acting import Held, Player, process, serving, settings
from tests.adapters.memory_platform import MemoryAdapter, MemoryPlatform


class Between:
    """Turns, of which something else is done just before a question is taken back or withdrawn."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.first: Callable[[], Awaitable[object]]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._turns, name)

    async def delete(self, message: Incoming) -> Claimed | None:
        await self.first()
        return await self._turns.delete(message)

    async def withdraw(self, message: Incoming) -> None:
        await self.first()
        await self._turns.withdraw(message)


@asynccontextmanager
async def interrupted(home: Path) -> AsyncIterator[tuple[MemoryAdapter, MemoryPlatform, str]]:
    """A question that is worked on; when it is to go it is taken up once more, as the look for what was left does."""
    first, again, platform = Held(), Held(), MemoryPlatform()
    adapter = MemoryAdapter(platform, look_every=3600)
    async with process(settings(home), Player(first, again).make) as (_, bot):
        turns = Between(bot.turns)

        async def take_up() -> None:
            await adapter.resumes()
            await asyncio.wait_for(again.begun.wait(), 30)

        turns.first = take_up
        async with serving(adapter, replace(bot, turns=turns)):  # type: ignore[arg-type]
            message = await adapter.says("ann", "@kotae What about apples?")
            await asyncio.wait_for(first.begun.wait(), 30)
            yield adapter, platform, message


@pytest.mark.parametrize("how", ["deleted", "withdrawn"])
async def test_what_is_taken_up_once_more_before_it_is_gone_leaves_nothing(tmp_path: Path, how: str) -> None:
    async with interrupted(tmp_path) as (adapter, platform, message):
        if how == "deleted":
            await adapter.deletes(message)
        else:
            await adapter.edits(message, "What about apples?")  # for the others
        assert platform.thread(message) == []
        at_work = [each for each in asyncio.all_tasks() if each.get_name() == "memory-turn"]
        await asyncio.wait_for(asyncio.gather(*at_work), 30)
        assert platform.thread(message) == []
