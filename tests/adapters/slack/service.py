"""The Slack adapter at work in a test: the real client against Slack's fake, a real database, and an agent that plays."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import SecretStr

from adapters.leftovers import EVERY_SECONDS
from adapters.slack.adapter import SlackAdapter
from agent.conversation import Ask
from agent.events import Answered, Event, Events, Thought
from bot.admission import Admission
from bot.app import Application, running
from bot.database import Database, database
from bot.desk import FrontDesk
from bot.inbox import Inbox
from bot.knowledge import Knowledge
from bot.logs import ChatLog, Redactor
from bot.messages import Incoming
from bot.settings import Settings, SlackSettings
from bot.store.inbox import TurnRows
from bot.turns import Turns
from retrieval.text import Language
from retrieval.types import CollectionInfo, Readers
from tests.bot.library import opened
from tests.fakes.slack import FakeSlack

Act = Callable[[Ask], Events]


def answers(text: str = "Refunds take 30 days.", *before: Event) -> Act:
    async def act(ask: Ask) -> Events:
        for event in before or (Thought("Looking it up."),):
            yield event
        yield Answered(text, confidence=0.9, searched=("handbook",), model="scripted")

    return act


def misses(text: str = "Nothing was found.") -> Act:
    """Nobody can answer it: it is an open question from then on."""

    async def act(ask: Ask) -> Events:
        yield Answered(text, outcome="unknown", searched=("handbook",), confidence=0.1)

    return act


@dataclass
class Held:
    """An act that waits in the middle of its turn until a test lets it go on."""

    text: str = "Late."

    def __post_init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()

    async def __call__(self, ask: Ask) -> Events:
        yield Thought("Waiting.")
        self.begun.set()
        await self.go_on.wait()
        yield Answered(self.text, confidence=0.9, searched=("handbook",))


class Player:
    """Plays its acts one a question, then the last one again; keeps what it was asked, and for whom."""

    def __init__(self, *acts: Act) -> None:
        self._acts = list(acts)
        self.asks: list[Ask] = []
        self.messages: list[Incoming] = []
        self.readers: list[Readers] = []

    def make(self, message: Incoming, allowed: Readers, collections: tuple[CollectionInfo, ...]) -> "Player":
        self.messages.append(message)
        self.readers.append(allowed)
        return self

    async def run(self, ask: Ask) -> Events:
        self.asks.append(ask)
        act = self._acts.pop(0) if len(self._acts) > 1 else self._acts[0]
        async for event in act(ask):
            yield event


@dataclass
class Service:
    slack: FakeSlack
    player: Player
    desk: FrontDesk
    data: Database
    adapter: SlackAdapter
    inbox: Inbox


@asynccontextmanager
async def bot(
    slack: FakeSlack,
    home: Path,
    *acts: Act,
    at_once: int = 200,
    look_every: float = EVERY_SECONDS,
    knowledge: Knowledge | None = None,
    **more: Any,
) -> AsyncIterator[Service]:
    """One process that serves the workspace, connected."""
    settings = _settings(home, more)
    player = Player(*(acts or (answers(),)))
    async with database(settings) as data:
        inbox = Inbox(TurnRows(data.engine))
        await inbox.inherit()

        async def collections(message: Incoming, allowed: Readers) -> tuple[CollectionInfo, ...]:
            return (CollectionInfo("handbook", "Rules", ("en",), 1, 3),)

        turns = Turns(
            inbox,
            data.conversations,
            data.votes,
            make_agent=player.make,
            list_collections=collections,
            chat_log=ChatLog(home / "chat.log", Redactor()),
            confident=0.5,
            admission=Admission(at_once),
        )

        async def no_digest(allowed: Readers) -> Any:
            raise NotImplementedError

        desk = FrontDesk(
            settings,
            data,
            cast(Knowledge, knowledge),
            turns,
            models=lambda name: None,
            make_digest=no_digest,
            owner=inbox.owner,
        )
        try:
            async with serving(slack, desk, settings.language, look_every) as adapter:
                yield Service(slack, player, desk, data, adapter, inbox)
        finally:
            await inbox.close()


@asynccontextmanager
async def serving(
    slack: FakeSlack, desk: FrontDesk, language: Language, look_every: float = EVERY_SECONDS
) -> AsyncIterator[SlackAdapter]:
    """The adapter, connected."""
    tokens = SlackSettings(SecretStr(slack.bot_token), SecretStr(slack.app_token), slack.api_url)
    adapter = SlackAdapter(tokens, language=language, look_every=look_every)
    task = asyncio.create_task(adapter.run(desk))
    ready = asyncio.create_task(adapter.ready.wait())
    try:
        await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
        await slack.connected(2)
        yield adapter
    finally:
        ready.cancel()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def taught(slack: FakeSlack, home: Path, *acts: Act, **more: Any) -> AsyncIterator[Service]:
    """The same with a real knowledge, whose embedder only counts: what is added is in its documents."""
    async with opened(home) as library, bot(slack, home, *acts, knowledge=library.knowledge, **more) as here:
        yield here


@asynccontextmanager
async def whole(slack: FakeSlack, home: Path, **more: Any) -> AsyncIterator[tuple[Application, SlackAdapter]]:
    """The whole application behind the adapter, with its own model and embedder; the first search takes seconds."""
    settings = _settings(home, more)
    async with running(settings, Redactor()) as app, serving(slack, app.desk, settings.language) as adapter:
        yield app, adapter


def _settings(home: Path, more: dict[str, Any]) -> Settings:
    """Of nothing but these values and the environment's."""
    given = {"KOTAE_HOME": str(home), "KOTAE_MODEL": "extractive", "KOTAE_LANGUAGE": "en", "_env_file": None}
    return Settings(**(given | more))
