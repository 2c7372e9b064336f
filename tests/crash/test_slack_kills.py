"""kill -9 of a bot in a Slack workspace at each named moment of a turn; then it starts again, while Slack sends what
was not acknowledged once more.

Reliability.md R2, R5 and R6. `python -m benchmarks.slack --kills 200` kills more often, and at any moment.
"""

from pathlib import Path

import pytest

from tests.crash.slack_life import POINTS
from tests.crash.slack_nursery import (
    KILLED,
    Asked,
    acknowledged,
    ask,
    check_database,
    check_thread,
    has_steps,
    modern,
    nursery,
    open_turns,
    unfinished,
    whole,
    workspace,
)

OLDER = tuple(point for point in POINTS if point not in ("tool 1", "part placed", "shown"))


@pytest.mark.parametrize(
    ("streams", "points"),
    [
        pytest.param(True, POINTS[::4], id="streams"),
        pytest.param(True, POINTS, id="streams, at all points", marks=pytest.mark.long),
        pytest.param(False, OLDER, id="edits", marks=pytest.mark.long),
    ],
)
async def test_a_question_is_answered_once_wherever_the_process_died(
    streams: bool, points: tuple[str, ...], tmp_path: Path
) -> None:
    asked: list[Asked] = []
    async with workspace() as slack, nursery(slack, tmp_path) as lives:
        modern(slack, streams)
        for number, point in enumerate(points):
            bot = await lives.live(number, point)
            await slack.connected()
            if asked:
                await bot.says("shown")  # what the one before it has left
            asked.append(await ask(slack, number))
            if point == "acked":
                await bot.says("waits")
                await slack.wait_for(lambda: acknowledged(slack, asked[-1]))
                await lives.kill(bot)
            assert await bot.ended() == KILLED, (point, bot.said)
            assert point != "claimed" or not acknowledged(slack, asked[-1])
            assert whole(slack, asked[-1]) == (point in ("answer posted", "answer placed", "shown"))
        bot = await lives.live()
        await slack.wait_for(lambda: all(whole(slack, each) and acknowledged(slack, each) for each in asked))
        await slack.wait_for(lambda: not open_turns(tmp_path))
        await slack.wait_for_idle()
        await lives.end(bot)
        assert not slack.world.processing  # no thread says for an hour that the bot is at work
        for each, point in zip(asked, points, strict=True):
            check_thread(slack, each)
            assert not unfinished(slack, each) or point == "shown"  # by then it is nobody's any more
            # an answer that was stored is posted as it is, and steps that were not there yet do not come back
            assert has_steps(slack, each) or POINTS.index(point) >= POINTS.index("stored"), each
    check_database(tmp_path, asked)
