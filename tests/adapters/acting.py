"""A bot of the platforms' tests: a real database and services, an agent that plays its part, and an adapter that
serves."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from adapters.port import Adapter
from agent.conversation import Ask
from agent.events import Answered, Event, Events, Thought
from bot.bot import Bot, make_bot
from bot.config.settings import Settings
from bot.database import Database, database
from bot.knowledge.documents import KnowledgeBase
from bot.logs import ChatLog, Redactor
from bot.records import Period
from bot.sources.sources import Sources
from bot.store.asks import Asks
from bot.store.audit import Audit
from bot.store.digests import Totals
from bot.store.followed import FollowedSources
from bot.store.leases import inherit
from bot.store.notifications import Notices
from bot.store.outbox import Outbox
from bot.store.turns import TurnStore
from bot.turns.admission import AT_ONCE, Admission
from bot.turns.queue import TurnQueue
from bot.turns.turns import MakeAgent, Turns
from bot.types import Claimed, Incoming
from bot.unanswered.asking import Asking
from bot.unanswered.corrections import ExpertAnswers
from bot.unanswered.digest import Digest
from retrieval.types import CollectionInfo, Found, Readers, SearchMetrics
from tests.bot import databases

T = TypeVar("T")
Act = Callable[[Ask], Events]

UNKNOWN = Answered("Nothing was found.", outcome="unknown", searched=("handbook",), confidence=0.1)


async def until(look: Callable[[], Awaitable[T]], wanted: Callable[[T], object] = bool) -> T:
    """Ask the database or a page again and again. Raises TimeoutError."""
    async with asyncio.timeout(30):
        while True:
            if wanted(found := await look()):
                return found
            await asyncio.sleep(0.02)


# -- the agent --------------------------------------------------------------------------------------------------------


def answers(text: str = "Refunds take 30 days.", *before: Event) -> Act:
    async def act(ask: Ask) -> Events:
        for event in before or (Thought("Looking it up."),):
            yield event
        yield Answered(text, confidence=0.9, searched=("handbook",), model="scripted")

    return act


async def misses(ask: Ask) -> Events:
    """Nobody can answer it: it is an open question from then on."""
    yield UNKNOWN


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
        self._acts = list(acts) or [answers()]
        self.asks: list[Ask] = []
        self.messages: list[Incoming] = []
        self.readers: list[Readers] = []

    def make(self, claimed: Claimed, allowed: Readers, collections: tuple[CollectionInfo, ...]) -> "Player":
        self.messages.append(claimed.message)
        self.readers.append(allowed)
        return self

    async def run(self, ask: Ask) -> Events:
        self.asks.append(ask)
        act = self._acts.pop(0) if len(self._acts) > 1 else self._acts[0]
        async for event in act(ask):
            yield event


# -- the process ------------------------------------------------------------------------------------------------------


def settings(home: Path, **more: Any) -> Settings:
    """Of nothing but these values and the environment's."""
    given = {"KOTAE_HOME": str(home), "KOTAE_MODEL": "extractive", "KOTAE_LANGUAGE": "en", "_env_file": None}
    return Settings(**(given | more))


@asynccontextmanager
async def process(
    given: Settings,
    make_agent: MakeAgent,
    knowledge: KnowledgeBase | None = None,
    *,
    at_once: int = AT_ONCE,
    make_inbox: Callable[[TurnStore], TurnQueue] = TurnQueue,
    change: Callable[[Bot], Bot] = lambda bot: bot,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> AsyncIterator[tuple[Database, Bot]]:
    """One process without its platform; what needs a knowledge works only with one. `change` puts other services in."""
    if not (file := given.home / "kotae.db").exists():
        await asyncio.to_thread(databases.made, file)
    async with database(given) as data:
        await inherit(data.engine, datetime.now(UTC))
        inbox = make_inbox(TurnStore(data.engine))
        turns = Turns(
            inbox,
            data.conversations,
            data.votes,
            make_agent=make_agent,
            list_collections=_no_collections,
            chat_log=ChatLog(given.home / "chat.log", Redactor()),
            admission=Admission(at_once),
        )
        known, notices = cast(KnowledgeBase, knowledge), Notices(data.engine)
        answers = ExpertAnswers(given, known, data.questions, notices, data.documents, Audit(data.engine))
        asking = Asking(
            given,
            Asks(data.engine),
            data.questions,
            data.conversations,
            data.documents,
            search=_nothing if knowledge is None else partial(known.search, measured=False),
            cards=Outbox(data.engine).cards,
        )
        followed = FollowedSources(data.engine)
        sources = Sources(given, followed, known, data.documents, owner=inbox.owner, clock=clock)
        parts = given, data, known, turns, answers, asking, sources
        bot = make_bot(*parts, models=lambda name: None, make_digest=_empty_digest, owner=inbox.owner)
        try:
            yield data, change(bot)
        finally:
            await inbox.close()


def like(service: type[T], given: T, **more: Any) -> T:
    """A service of a class that is made of another's, with all that `given` has."""
    made = service.__new__(service)
    vars(made).update(vars(given) | more)
    return made


async def _nothing(query: str, allowed: Readers) -> Found:
    return Found((), SearchMetrics(query, "", 1.0, 0, 0, 0.0, (), None, datetime.now(UTC)))


async def _no_collections(message: Incoming, allowed: Readers) -> tuple[CollectionInfo, ...]:
    return ()


async def _empty_digest(allowed: Readers) -> Digest:
    now = datetime.now(UTC)
    none = Totals(0, 0, 0, 0, {})
    return Digest(Period(now, now), none, none, (), 0, 0, 0)


@asynccontextmanager
async def serving(adapter: Adapter, bot: Bot) -> AsyncIterator[asyncio.Task[None]]:
    """Its run, once messages can arrive. Raises what ends it before."""
    task = asyncio.create_task(adapter.run(bot))
    ready = asyncio.create_task(adapter.ready.wait())
    try:
        async with asyncio.timeout(60):
            await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
        yield task
    finally:
        ready.cancel()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
