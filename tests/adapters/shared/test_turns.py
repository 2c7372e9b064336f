"""Edits of a question that is worked on, in whatever order its work ends."""

import asyncio
from dataclasses import replace
from pathlib import Path

from adapters.port import TurnView
from adapters.shared.tasks import Tasks
from adapters.shared.turns import RunningTurns
from agent.events import Answered, Step
from bot.bot import Bot
from bot.types import Claimed, Incoming, Post, Preferences
from tests.adapters.acting import Held, Player, answers, process, settings, until
from tests.adapters.memory_platform import CHANNEL, PUBLIC

ASKED = Incoming(CHANNEL, "1", "1", "ann", "How long do refunds take?", PUBLIC)
OTHER = replace(ASKED, text="How long do returns take?")


class _View(TurnView):
    """Has a message of steps; its end may take as long as a platform's does."""

    def __init__(self, bot: Bot, claimed: Claimed, end: asyncio.Event) -> None:
        self._bot, self._end = bot, end
        self._steps = Post(claimed.id, "steps", 0, claimed.message.place)

    async def begin(self) -> None:
        await self._bot.outbox.reserve(self._steps)

    async def step(self, event: Step) -> None: ...

    async def answer(self, answered: Answered) -> None:
        await self._bot.outbox.reserve(replace(self._steps, kind="answer"))

    async def close(self) -> None:
        await self._end.wait()

    async def remove(self) -> None: ...


async def _look_up(message: Incoming, stranger: bool) -> Incoming:
    return message


def _turns(bot: Bot, end: asyncio.Event) -> RunningTurns:
    def view(claimed: Claimed, preferences: Preferences) -> _View:
        return _View(bot, claimed, end)

    return RunningTurns("memory", bot, Tasks(), view, _look_up, language="en")


async def test_a_question_that_is_edited_and_edited_back_at_once_is_answered_as_it_stands(tmp_path: Path) -> None:
    held, end = Held(), asyncio.Event()
    player = Player(held, answers())
    async with process(settings(tmp_path), player.make) as (_, bot):
        turns = _turns(bot, end)
        await turns.ask(ASKED)
        async with asyncio.timeout(30):
            await held.begun.wait()
        edits = [await turns.edit(OTHER), await turns.edit(ASKED)]  # while the view of the first words ends
        end.set()
        await asyncio.gather(*(edit for edit in edits if edit is not None))
        await until(lambda: bot.turns.unfinished("memory"), lambda found: found == [])
        await turns.tasks.drain(30)
    assert [ask.question for ask in player.asks] == [ASKED.text, ASKED.text]


async def test_a_question_that_was_none_for_a_while_is_answered(tmp_path: Path) -> None:
    held, end = Held(), asyncio.Event()
    end.set()
    player = Player(held, answers())
    async with process(settings(tmp_path), player.make) as (_, bot):
        turns = _turns(bot, end)
        await turns.ask(ASKED)
        async with asyncio.timeout(30):
            await held.begun.wait()
        for addressed in (False, True):  # the mention is taken out, and put in again
            if (edit := await turns.edit(ASKED, addressed=addressed)) is not None:
                await edit
        await turns.tasks.drain(30)
        assert [ask.question for ask in player.asks] == [ASKED.text, ASKED.text]
        assert await turns.edit(ASKED) is None and await bot.turns.unfinished("memory") == []  # it has its answer
