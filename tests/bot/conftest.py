"""Databases for the stores' tests: SQLite files, and a PostgreSQL server of our own where one is installed;
and logging put back after a test that sets it up."""

import logging
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.logs import OURS, ChatLog, Redactor
from bot.store.conversations import Conversations
from bot.store.engine import connect
from bot.store.feedback import Votes
from bot.store.schema import metadata
from bot.store.turns import TurnStore
from bot.turns.admission import Admission
from bot.turns.queue import TurnQueue
from bot.turns.turns import SIGN_SECONDS, Turns
from bot.types import Incoming
from migrations import upgrade
from retrieval.types import CollectionInfo, Readers
from tests.bot import databases
from tests.bot import postgresql as postgres_server
from tests.bot.acting import (
    HANDBOOK,
    Act,
    Agent,
    Bot,
    Clock,
    Start,
)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return databases.made(tmp_path / "kotae.db")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The address of a server on a Unix socket, without a database name; the tests skip where there is none."""
    if not postgres_server.available():
        pytest.skip("no PostgreSQL server and driver here")
    with postgres_server.server() as address:
        yield address


@pytest.fixture(scope="session")
def postgresql_template(postgresql: str) -> str:
    """A database at this version, to copy from."""
    postgres_server.execute(postgresql.format(name="postgres"), "CREATE DATABASE template_kotae")
    upgrade(postgresql.format(name="template_kotae"))
    return "template_kotae"


@pytest.fixture(scope="session")
def postgresql_database(postgresql: str, postgresql_template: str) -> str:
    """The address of a database at this version that the tests share; to be emptied before each."""
    postgres_server.execute(
        postgresql.format(name="postgres"), f"CREATE DATABASE kotae_tests TEMPLATE {postgresql_template}"
    )
    return postgresql.format(name="kotae_tests")


_EMPTY = (  # 10 ms, where a database for each test takes 250
    *(f"DELETE FROM {table.name}" for table in reversed(metadata.sorted_tables)),
    "SELECT setval(oid, 1, false) FROM pg_class WHERE relkind = 'S'",
)


def empty(address: str) -> None:
    postgres_server.execute(address, *_EMPTY)


@pytest.fixture
def server_url(postgresql_database: str) -> str:
    """An empty database at this version, on a server."""
    empty(postgresql_database)
    return postgresql_database


@pytest.fixture
def empty_server(server_url: str) -> Callable[[], None]:
    """Empties that database again."""
    return lambda: postgres_server.execute(server_url, *_EMPTY)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """An empty database at this version, of each kind."""
    return str(request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "server_url"))


@pytest.fixture
async def engine(url: str) -> AsyncIterator[AsyncEngine]:
    opened = connect(url)
    opened.update_execution_options(clock="caller")  # the clocks of tests stand still, a server's does not
    yield opened
    await opened.dispose()


@pytest.fixture
def logging_as_it_was() -> Iterator[None]:
    """For tests that call `set_up`, which is for a whole process."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level, sys.excepthook, threading.excepthook)
    levels = {name: logging.getLogger(name).level for name in OURS}
    yield
    logging.captureWarnings(False)
    root.handlers[:], root.level, sys.excepthook, threading.excepthook = before
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def start(sqlite_url: str, tmp_path: Path, clock: Clock) -> AsyncIterator[Start]:
    engine = connect(sqlite_url)
    bots: list[Bot] = []

    def make(
        *acts: Act,
        deadline: float = 120.0,
        sign: float = SIGN_SECONDS,
        on: AsyncEngine = engine,
        admission: Admission | None = None,
        **more: Any,
    ) -> Bot:
        agent = Agent(list(acts))
        inbox = TurnQueue(TurnStore(on), clock=clock)
        log = tmp_path / "logs" / "agent_chat.log"

        async def collections(message: Incoming, readers: Readers) -> tuple[CollectionInfo, ...]:
            return (HANDBOOK,)

        turns = Turns(
            inbox,
            Conversations(on),
            Votes(on),
            make_agent=agent.make,
            list_collections=collections,
            chat_log=ChatLog(log, Redactor()),
            deadline=deadline,
            sign=sign,
            admission=admission,
            **more,
        )
        bots.append(Bot(on, log, agent, inbox, turns))
        return bots[-1]

    yield make
    for bot in bots:
        await bot.inbox.close()
    await engine.dispose()
