"""What one process says, the others of its database hear at once; and where they may have missed something, they know."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.store.engine import change, connect, rows, write
from bot.store.signals import Signals
from tests.fakes.postgresql import behind

_END_THE_OTHERS = text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


class Listener:
    """A process: what it heard, in order."""

    def __init__(self, engine: AsyncEngine, **times: float) -> None:
        self.engine = engine
        self.signals = Signals(engine, **times)
        self.heard: asyncio.Queue[str | None] = asyncio.Queue()
        self.signals.listen("rooms", self.heard.put_nowait)

    async def next(self) -> str | None:
        async with asyncio.timeout(10):
            return await self.heard.get()


async def _at_once(seconds: float) -> None:
    await asyncio.sleep(0.01)


@asynccontextmanager
async def process(url: str, *, connections: int | None = None, **times: float) -> AsyncIterator[Listener]:
    """One that hears; that all may be new it has been told."""
    engine = connect(url, connections=connections, patience=1.0)
    one = Listener(engine, **times)
    hearing = asyncio.create_task(one.signals.hear(sleep=_at_once))
    try:
        assert await one.next() is None
        yield one
    finally:
        hearing.cancel()
        with suppress(asyncio.CancelledError):
            await hearing
        await engine.dispose()


@pytest.fixture
def server(postgresql_database: str) -> str:
    return postgresql_database


@pytest.fixture
def folder() -> Iterator[Path]:
    """A path short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="kotae-") as name:
        yield Path(name)


async def test_what_is_committed_is_heard_by_the_others_and_what_is_not_by_nobody(server: str) -> None:
    async with process(server) as one, process(server) as other:
        await change(one.engine, lambda db: one.signals.say(db, "rooms", "first of two words"))
        assert await other.next() == "first of two words"

        with pytest.raises(ZeroDivisionError):
            async with write(one.engine) as db:
                await db.run_sync(one.signals.say, "rooms", "taken back")
                raise ZeroDivisionError
        async with write(one.engine) as db:
            await db.run_sync(one.signals.say, "rooms", "kept")
            await change(other.engine, lambda db: other.signals.say(db, "elsewhere", "not for this listener"))
            await other.signals.say_now("rooms", "meanwhile")
            assert await one.next() == "meanwhile" and other.heard.empty()
        assert await other.next() == "kept"
        assert one.heard.empty() and other.heard.empty()  # nobody hears what it said itself


async def test_a_connection_that_ends_is_made_anew_and_all_may_have_changed(server: str) -> None:
    async with process(server) as one, process(server, beat=60.0) as other:
        await rows(one.engine, _END_THE_OTHERS)
        assert (await one.next(), await other.next()) == (None, None)
        await one.signals.say_now("rooms", "again")
        assert await other.next() == "again"


async def test_a_server_that_says_nothing_any_more_is_left(server: str, folder: Path) -> None:
    """The connection stays open: a machine that lost its power ends none."""
    async with (
        process(server) as one,
        behind(server, folder) as (address, network),
        process(address, patience=0.3) as other,
    ):
        network.fall_silent()
        await one.signals.say_now("rooms", "lost")
        assert await other.next() is None
        await one.signals.say_now("rooms", "heard")
        assert await other.next() == "heard"


async def test_who_hears_nothing_is_told_to_look_again_and_again(
    server: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with process(server) as one, behind(server, folder) as (address, network):
        network.passes_notices = False
        async with process(address, patience=0.1) as other:
            assert [await other.next() for _ in range(3)] == [None] * 3
            assert sum("not heard" in each.message for each in caplog.records) == 1  # said once, not each time
            network.passes_notices = True
            said = None
            while said is None:
                await one.signals.say_now("rooms", "heard")
                said = None if other.heard.empty() else other.heard.get_nowait()
            assert said == "heard"


async def test_a_process_alone_with_its_file_hears_nothing_and_says_nothing(sqlite_url: str) -> None:
    engine = connect(sqlite_url)
    listener: Any = Listener(engine)
    await listener.signals.hear()  # ends
    await change(engine, lambda db: listener.signals.say(db, "rooms", "x"))
    await listener.signals.say_now("rooms", "x")
    assert listener.heard.empty()
    await engine.dispose()


async def test_listening_takes_no_connection_from_the_others(server: str) -> None:
    async with process(server, connections=1) as one:
        await rows(one.engine, select(1))
