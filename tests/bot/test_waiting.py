"""What is done again and again beside answering outlives whatever goes wrong."""

import asyncio
import logging

import pytest

from bot.errors import LostError, StoreError
from bot.waiting import again_and_again
from retrieval.i18n import Text
from retrieval.types import RAGToolError

AWAY = Text(en="The database is away.", ja="データベースに接続できません。")


async def test_what_fails_is_tried_again_and_only_a_cancellation_ends_it(caplog: pytest.LogCaptureFixture) -> None:
    outcomes = [StoreError(AWAY), None, RAGToolError(AWAY), OSError("the disk"), LostError(), KeyError("a bug"), None]
    waits: list[float] = []

    async def work() -> None:
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if not outcomes:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await again_and_again(work, 5.0, "nothing was swept", first=1.0, sleep=sleep)
    assert waits == [1.0, *[5.0] * 7]
    assert [one.levelno for one in caplog.records] == [*[logging.WARNING] * 4, logging.ERROR]
    assert {one.getMessage() for one in caplog.records} == {"nothing was swept; trying again"}
    assert all(one.exc_info for one in caplog.records)
