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
    away, disk, bug = StoreError(AWAY), OSError("the disk"), KeyError("a bug")
    outcomes = [away, away, None, away, RAGToolError(AWAY), disk, disk, LostError(), bug, bug, None]
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
    assert waits == [1.0, *[5.0] * 11]
    told = [one.exc_info and one.exc_info[0] for one in caplog.records]
    assert told == [StoreError, StoreError, RAGToolError, OSError, LostError, KeyError]  # once, while it goes on
    assert [one.levelno for one in caplog.records] == [*[logging.WARNING] * 5, logging.ERROR]
    assert {one.getMessage() for one in caplog.records} == {"nothing was swept; trying again"}
