"""Databases for the stores' tests: SQLite files, and a PostgreSQL server of our own where one is installed;
and logging put back after a test that sets it up."""

import asyncio
import logging
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

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
    if not (shutil.which("initdb") and shutil.which("pg_ctl") and find_spec("asyncpg")):
        pytest.skip("no PostgreSQL server and driver here")
    folder = Path(tempfile.mkdtemp(prefix="kotae-pg-"))
    user = None
    if os.geteuid() == 0:  # the server refuses to run as root
        user = "nobody"
        os.chown(folder, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)

    def run(*command: str) -> None:
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, timeout=60)

    run("initdb", "-D", str(folder / "data"), "-U", "kotae", "-A", "trust", "-N")
    run("pg_ctl", "-D", str(folder / "data"), "-w", "-o", f"-k {folder} -c listen_addresses= -F", "-l", "log", "start")
    try:
        yield f"postgresql+asyncpg://kotae@/{{name}}?host={folder}"
    finally:
        run("pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgresql_template(postgresql: str) -> str:
    """A database at this version, to copy from."""
    _run(postgresql.format(name="postgres"), "CREATE DATABASE template_kotae")
    upgrade(postgresql.format(name="template_kotae"))
    return "template_kotae"


@pytest.fixture(scope="session")
def postgresql_database(postgresql: str, postgresql_template: str) -> str:
    """The address of a database at this version that the tests share; to be emptied before each."""
    _run(postgresql.format(name="postgres"), f"CREATE DATABASE kotae_tests TEMPLATE {postgresql_template}")
    return postgresql.format(name="kotae_tests")


_EMPTY = (  # 10 ms, where a database for each test takes 250
    *(f"DELETE FROM {table.name}" for table in reversed(metadata.sorted_tables)),
    "SELECT setval(oid, 1, false) FROM pg_class WHERE relkind = 'S'",
)


def empty(address: str) -> None:
    _run(address, *_EMPTY)


def _run(address: str, *statements: str) -> None:
    async def run() -> None:
        server = create_async_engine(address, isolation_level="AUTOCOMMIT")
        async with server.connect() as db:
            for statement in statements:
                await db.execute(text(statement))
        await server.dispose()

    with ThreadPoolExecutor(1) as thread:  # a test's own event loop may be running in this one
        thread.submit(asyncio.run, run()).result()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """An empty database at this version, of each kind."""
    if request.param == "sqlite":
        return str(request.getfixturevalue("sqlite_url"))
    address = str(request.getfixturevalue("postgresql_database"))
    empty(address)
    return address


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
        )
        bots.append(Bot(on, log, agent, inbox, turns))
        return bots[-1]

    yield make
    for bot in bots:
        await bot.inbox.close()
    await engine.dispose()
