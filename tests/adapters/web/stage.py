"""The browser's channel at work in a test: real database, desk and knowledge (whose embedder only counts), an agent that
plays. As a program it asks a question and dies when the answer is posted: `python -m tests.adapters.web.stage HOME`."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from adapters.web.adapter import WebAdapter
from adapters.web.board import Board
from adapters.web.held import Held
from adapters.web.rooms import MEMBERS, ROOMS
from agent.events import Answered
from bot.database import Database, database
from bot.desk import FrontDesk
from bot.digest import Digest
from bot.inbox import Inbox
from bot.logs import ChatLog, Redactor
from bot.messages import Incoming
from bot.settings import Settings
from bot.store.digests import Period, Totals
from bot.store.inbox import TurnRows
from bot.store.messages import BotMessage, Message, Messages
from bot.turns import Turns
from retrieval.types import CollectionInfo, Readers
from tests.adapters.discord.acting import Act, Player, answers
from tests.bot.library import Library, opened

T = TypeVar("T")

AKI, BEN = MEMBERS
GENERAL, LEADS = ROOMS
ADDRESS = "http://127.0.0.1:8080"


async def until(look: Callable[[], Awaitable[T]], wanted: Callable[[T], object] = bool) -> T:
    """Ask again and again, for at most ten seconds."""
    async with asyncio.timeout(30):
        while True:
            if wanted(found := await look()):
                return found
            await asyncio.sleep(0.01)


@dataclass
class Stage:
    adapter: WebAdapter
    board: Board
    desk: FrontDesk
    data: Database
    library: Library
    player: Player
    held: Path  # the folder of files that wait
    task: "asyncio.Task[None]"

    async def thread(self, message: Message, kind: str = "") -> list[Message]:
        """What stands under a message, as whoever is in the room sees it; of one kind."""
        room = next(room for room in ROOMS if room.id == message.room)
        found = await self.board.messages(room, AKI, message.root)
        return [each for each in found if each.id != message.root and (not kind or each.kind == kind)]

    async def answers(self, message: Message, count: int = 1) -> list[Message]:
        """The answers in a thread, once there are so many and nothing runs."""
        found = await until(lambda: self.thread(message, "answer"), lambda found: len(found) >= count)
        await self.quiet()
        return found

    async def ask(self, text: str, member: Any = AKI, room: Any = GENERAL, **more: Any) -> Message:
        """Ask, and wait for the answer: the answer."""
        asked = await self.said(text, member, room, **more)
        return (await until(lambda: self.thread(asked, "answer"), lambda found: any_after(found, asked)))[-1]

    async def said(self, text: str, member: Any = AKI, room: Any = GENERAL, **more: Any) -> Message:
        message = await self.adapter.say(member, room, text, **more)
        assert isinstance(message, Message)
        return message

    async def quiet(self) -> None:
        """Until no turn, intake or notice is at work."""

        async def busy() -> bool:
            names = ("web-turn", "web-intake", "web-notice", "web-cards")
            return not any(task.get_name() in names for task in asyncio.all_tasks())

        await until(busy)


def any_after(found: list[Message], asked: Message) -> bool:
    return any(each.data["asked"] == asked.id for each in found)


@asynccontextmanager
async def channel(
    home: Path, *acts: Act, board_class: type[Board] = Board, look_every: float = 0.2, **more: Any
) -> AsyncIterator[Stage]:
    """One process that serves the rooms."""
    given: dict[str, Any] = {"KOTAE_HOME": str(home), "KOTAE_MODEL": "extractive", "KOTAE_LANGUAGE": "en"}
    settings = Settings(**(given | more | {"_env_file": None}))
    player = Player(*(acts or (answers(),)))

    async def collections(message: Incoming, allowed: Readers) -> tuple[CollectionInfo, ...]:
        return ()

    async def no_digest(allowed: Readers) -> Digest:
        now = datetime.now(UTC)
        none = Totals(0, 0, 0, 0, {})
        return Digest(Period(now, now), none, none, (), 0, 0, 0)

    async with opened(home) as library, database(settings) as data:
        inbox = Inbox(TurnRows(data.engine))
        await inbox.inherit()
        turns = Turns(
            inbox,
            data.conversations,
            data.votes,
            make_agent=player.make,
            list_collections=collections,
            chat_log=ChatLog(home / "chat.log", Redactor()),
            confident=0.5,
        )
        desk = FrontDesk(
            settings,
            data,
            library.knowledge,
            turns,
            models=lambda name: None,
            make_digest=no_digest,
            owner=inbox.owner,
        )
        board = board_class(Messages(data.engine), library.knowledge)
        held = home / "uploads"
        waits = Held(held)
        adapter = WebAdapter(
            board, data.votes, waits, language=settings.language, address=ADDRESS, look_every=look_every
        )
        task = asyncio.create_task(adapter.run(desk))
        try:
            await asyncio.wait_for(adapter.ready.wait(), 30)
            yield Stage(adapter, board, desk, data, library, player, held, task)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await inbox.close()


def unknown(text: str = "Nothing was found.") -> Answered:
    return Answered(text, outcome="unknown", searched=("handbook",), confidence=0.1)


# -- a process that dies ------------------------------------------------------------------------------------------------


class DyingBoard(Board):
    async def put(self, said: BotMessage) -> Message:
        put = await super().put(said)
        if said.kind == "answer":
            os.kill(os.getpid(), signal.SIGKILL)
        return put


async def main(home: Path) -> None:
    async with channel(home, board_class=DyingBoard) as stage:
        await stage.ask("@kotae How long do refunds take?")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
