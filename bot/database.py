"""The database, which can be looked at without the vector store, which has one owner; loads in a fraction of the
application's time."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.access import readers
from bot.config.settings import Settings, make_home
from bot.operations.restore_marker import refuse_unfinished
from bot.records import Summary
from bot.store.collections import Collections
from bot.store.conversations import Conversations
from bot.store.documents import Documents
from bot.store.engine import Engine, connect
from bot.store.feedback import Votes
from bot.store.inspection import probe, refuse_upgrade_under_others, require_sessions
from bot.store.searches import Searches
from bot.store.signals import Signals
from bot.store.unanswered import UnansweredQuestions
from bot.store.web_messages import Messages
from bot.types import PUBLIC, Place
from migrations import upgrade
from retrieval.types import Readers

log = logging.getLogger(__name__)

TERMINAL = Place("terminal", "local", "terminal")
_RECENT = 20


@dataclass(frozen=True, slots=True)
class Database:
    """The stores. `documents` moves no generation here: it is for looking."""

    engine: Engine
    documents: Documents
    collections: Collections
    questions: UnansweredQuestions
    conversations: Conversations
    searches: Searches
    votes: Votes
    messages: Messages  # of the browser's rooms
    signals: Signals  # between the processes of this database

    @property
    def readers(self) -> Readers:
        """Whoever sits at this terminal."""
        return readers(TERMINAL, PUBLIC)

    async def probe(self) -> None:
        """Raises StoreError when nothing can be written now."""
        await probe(self.engine)

    async def summary(self) -> Summary:
        return Summary(
            searches=await self.searches.totals(),
            turns=await self.conversations.totals(),
            votes=await self.votes.counts(),
            recent=tuple(await self.searches.listed(self.readers.scopes, limit=_RECENT)),
        )


@asynccontextmanager
async def database(settings: Settings, *, looks: bool = False) -> AsyncIterator[Database]:
    """The migrated database; whoever only `looks` does not migrate it under others. Raises StoreError,
    MigrationError, SettingsError for a home that cannot be made or whose restore did not end."""
    refuse_unfinished(settings.home)
    make_home(settings.home)
    engine = connect(settings.database_url, settings.link)
    collections, signals = Collections(engine), Signals(engine)
    try:
        await require_sessions(engine)
        if looks:
            await refuse_upgrade_under_others(engine)
        done = await asyncio.to_thread(upgrade, settings.database_url, link=settings.link.arguments())
        if done.backup:
            log.warning("the database was upgraded to %s; a copy from before: %s", done.after, done.backup)
        yield Database(
            engine=engine,
            documents=Documents(engine, embedder=""),
            collections=collections,
            questions=UnansweredQuestions(engine),
            conversations=Conversations(engine),
            searches=Searches(engine),
            votes=Votes(engine),
            messages=Messages(engine, signals),
            signals=signals,
        )
    finally:
        await collections.close()
        await engine.dispose()
