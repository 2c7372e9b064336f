"""The browser's channel at work in a test: real database, services and knowledge (whose embedder only counts), an agent
that plays. As a program it asks a question and dies when the answer is posted: `python -m tests.adapters.web.stage
HOME`."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.web.channel.adapter import WebAdapter
from adapters.web.channel.messages import Board
from adapters.web.channel.rooms import MEMBERS, ROOMS
from adapters.web.channel.uploads import Uploads
from bot.bot import Bot
from bot.database import Database
from bot.knowledge.held_files import HeldFolder
from bot.records import BotMessage, RoomMessage
from tests.adapters.acting import Act, Player, process, serving, settings, until
from tests.bot.library import Library, opened

AKI, BEN = MEMBERS
GENERAL, LEADS = ROOMS
ADDRESS = "http://127.0.0.1:8080"


@dataclass
class Stage:
    adapter: WebAdapter
    board: Board
    bot: Bot
    data: Database
    library: Library
    player: Player
    held: Path  # the folder of files that wait
    task: "asyncio.Task[None]"

    async def thread(self, message: RoomMessage, kind: str = "") -> list[RoomMessage]:
        """What stands under a message, as whoever is in the room sees it; of one kind."""
        room = next(room for room in ROOMS if room.id == message.room)
        found = await self.board.messages(room, AKI, message.root)
        return [each for each in found if each.id != message.root and (not kind or each.kind == kind)]

    async def answers(self, message: RoomMessage, count: int = 1) -> list[RoomMessage]:
        """The answers in a thread, once there are so many and nothing runs."""
        found = await until(lambda: self.thread(message, "answer"), lambda found: len(found) >= count)
        await self.quiet()
        return found

    async def ask(self, text: str, member: Any = AKI, room: Any = GENERAL, **more: Any) -> RoomMessage:
        """Ask, and wait for the answer: the answer."""
        asked = await self.said(text, member, room, **more)
        return (await until(lambda: self.thread(asked, "answer"), lambda found: any_after(found, asked)))[-1]

    async def said(self, text: str, member: Any = AKI, room: Any = GENERAL, **more: Any) -> RoomMessage:
        message = await self.adapter.say(member, room, text, **more)
        assert isinstance(message, RoomMessage)
        return message

    async def quiet(self) -> None:
        """Until no turn, intake or notice is at work."""

        async def busy() -> bool:
            names = ("web-turn", "web-intake", "web-notice", "web-cards")
            return not any(task.get_name() in names for task in asyncio.all_tasks())

        await until(busy)


def any_after(found: list[RoomMessage], asked: RoomMessage) -> bool:
    return any(each.data["asked"] == asked.id for each in found)


@asynccontextmanager
async def channel(
    home: Path, *acts: Act, board_class: type[Board] = Board, look_every: float = 0.2, **more: Any
) -> AsyncIterator[Stage]:
    """One process that serves the rooms."""
    player, given = Player(*acts), settings(home, **more)
    async with opened(home) as library, process(given, player.make, library.knowledge) as (data, bot):
        board = board_class(data, library.knowledge)
        held = home / "uploads"
        waits = Uploads(HeldFolder(held))
        adapter = WebAdapter(
            board, data.votes.of, waits, language=given.language, address=ADDRESS, look_every=look_every
        )
        async with serving(adapter, bot) as task:
            yield Stage(adapter, board, bot, data, library, player, held, task)


# -- a process that dies ---------------------------------------------------------------------------------------------


class DyingBoard(Board):
    async def put(self, said: BotMessage) -> RoomMessage:
        put = await super().put(said)
        if said.kind == "answer":
            os.kill(os.getpid(), signal.SIGKILL)
        return put


async def main(home: Path) -> None:
    async with channel(home, board_class=DyingBoard) as stage:
        await stage.ask("@kotae How long do refunds take?")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
