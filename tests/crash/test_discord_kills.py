"""kill -9 of a bot in a Discord server at each named moment of a turn; then it starts again. Discord sends nothing once
more, so what was claimed is in the database or lost.

Reliability.md R2, R5 and R6. `python -m benchmarks.discord --kills 200` kills more often, and at any moment.
"""

from pathlib import Path

import pytest

from tests.crash.chat_nursery import Asked, check_database, has_steps, open_turns
from tests.crash.discord_life import POINTS
from tests.crash.discord_nursery import HANGING, ask, check_thread, hang, hangs, nursery, server, thread, whole
from tests.crash.nursery import KILLED, some_and_all


@pytest.mark.parametrize("points", some_and_all(POINTS))
async def test_a_question_is_answered_once_wherever_the_process_died(points: tuple[str, ...], tmp_path: Path) -> None:
    asked: list[Asked] = []
    async with server() as discord, nursery(discord, tmp_path) as lives:
        for number, point in enumerate(points):
            hang(discord, point, number)
            bot = await lives.live(number, point)
            await bot.says("ready")
            if asked:
                await bot.says("shown")  # what the one before it has left
            asked.append(await ask(discord, number))
            if point == "begun":
                await bot.says("waits")
                await lives.kill(bot)
            elif point in HANGING:
                await discord.wait_for(lambda: hangs(discord, asked[-1]))
                await lives.kill(bot)
            assert await bot.ended() == KILLED, (point, bot.said)
            discord.heal()
            assert whole(discord, asked[-1]) == (point in ("answer posted", "answer placed", "shown")), point
        bot = await lives.live()
        await discord.wait_for(lambda: all(whole(discord, each) for each in asked))
        await discord.wait_for(lambda: not open_turns(tmp_path))
        await discord.wait_for_idle()
        await lives.end(bot)
        for each, point in zip(asked, points, strict=True):
            check_thread(discord, each)
            # an answer that was stored is posted as it is, and steps that were not there yet do not come back
            assert has_steps(thread(discord, each)) or POINTS.index(point) >= POINTS.index("stored"), each
    check_database(tmp_path, asked)
