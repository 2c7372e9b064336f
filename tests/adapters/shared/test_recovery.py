"""What is looked for again and again goes on, whatever fails."""

import asyncio
import logging
from pathlib import Path

import pytest

from adapters.shared.expert_answers import DigestCards
from adapters.shared.recovery import look_after
from adapters.shared.tasks import Tasks
from bot.types import Audience, IngestionRequest, Notice, Post
from tests.adapters.acting import Player, process, settings


async def test_a_look_that_breaks_off_is_not_the_last_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    looks, again = 0, asyncio.Event()

    async def questions() -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise KeyError("of a message in a form that nobody expects")
        again.set()

    async with process(settings(tmp_path), Player().make) as (_, bot):
        cards = DigestCards("memory", bot, Tasks(), "en", _everybody, _undrawn, _untold)
        looking = asyncio.create_task(look_after(cards, questions=questions, intake=_no_files, every=0.0))
        async with asyncio.timeout(30):
            await again.wait()
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
    assert [record.levelno for record in caplog.records if "left unfinished" in record.message] == [logging.ERROR]


async def _everybody(channel: str) -> Audience:
    return Audience("public")


async def _undrawn(card: Post, status: str) -> None:
    raise AssertionError(card)


async def _untold(notice: Notice) -> None:
    raise AssertionError(notice)


async def _no_files(request: IngestionRequest) -> None:
    raise AssertionError(request)
