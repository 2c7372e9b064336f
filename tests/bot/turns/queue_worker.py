"""A process for `test_queue.py` to kill: claims and answers questions until then, and prints what it acknowledged.

Run as: python -m tests.bot.turns.queue_worker DATABASE_URL NAME
"""

import asyncio
import sys

from agent.events import Answered
from bot.store.engine import connect
from bot.store.turns import TurnStore
from bot.turns.queue import TurnQueue
from bot.types import Audience, Incoming, Place


async def work_for_ever(url: str, name: str) -> None:
    inbox = TurnQueue(TurnStore(connect(url)))

    async def one(number: int) -> None:
        message = f"{name}-{number}"
        place = Place("slack", "T", "C")
        turn = await inbox.claim(Incoming(place, f"{name}{number % 7}", message, "U", "質問", Audience("public")))
        assert turn is not None
        print(message, flush=True)  # what an acknowledgement to the platform would be
        await inbox.start(turn)
        await inbox.finish(turn, Answered("はい。"), [], ())
        await inbox.shown(turn)

    number = 0
    while True:
        await asyncio.gather(*(one(number + more) for more in range(5)))
        number += 5


if __name__ == "__main__":
    asyncio.run(work_for_ever(*sys.argv[1:]))
