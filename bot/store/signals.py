"""Short words from one process to the others of its database, carried by PostgreSQL's NOTIFY: they are heard when what
they are about is committed. An SQLite file has one process, which has nobody to tell.

Source: machines.md §1, row 13, and §2.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable

from sqlalchemy import Connection, func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.errors import StoreError
from bot.store.engine import change, listening, on_server
from bot.waiting import Sleep, sleep_unless

log = logging.getLogger(__name__)

BEAT_SECONDS = 5.0
PATIENCE_SECONDS = 5.0
AGAIN_SECONDS = 1.0

Heard = Callable[[str | None], None]
"""Called with what another process said; with None when something may have been missed: then look at everything."""

_WIRE = "kotae"
_BEAT = "beat"


class Signals:
    """One for the process. What is said while the connection is gone is lost, and the listeners are told that something
    may have been; where nothing comes through at all they are told so every eleven seconds, and look by themselves."""

    def __init__(self, engine: AsyncEngine, *, beat: float = BEAT_SECONDS, patience: float = PATIENCE_SECONDS) -> None:
        self._engine = engine
        self._beat = beat
        self._patience = patience
        self._process = secrets.token_hex(8)
        self._listeners: list[tuple[str, Heard]] = []
        self._came_back = asyncio.Event()
        self._hears = True

    def listen(self, channel: str, heard: Heard) -> None:
        """From now on, call `heard` with all that the other processes say on a channel."""
        self._listeners.append((channel, heard))

    def say(self, db: Connection, channel: str, payload: str) -> None:
        """Inside the caller's transaction: heard by the other processes when it commits, not by this one. `channel` is
        one word; at most 7,900 bytes in all."""
        if on_server(db):
            db.execute(select(func.pg_notify(_WIRE, f"{self._process} {channel} {payload}")))

    async def say_now(self, channel: str, payload: str) -> None:
        """`say`, in a transaction of its own. Raises StoreError."""
        if on_server(self._engine):
            await change(self._engine, lambda db: self.say(db, channel, payload), durable=False)

    async def hear(self, *, sleep: Sleep = asyncio.sleep) -> None:
        """Until cancelled; ends at once where there is nobody to hear."""
        while on_server(self._engine):
            try:
                await self._hear(sleep)
            except StoreError as error:
                self._deaf(str(error))
            await sleep(AGAIN_SECONDS)

    async def _hear(self, sleep: Sleep) -> None:
        """Until the connection ends, or a word of one's own does not come back."""
        ended = asyncio.Event()
        async with listening(self._engine, _WIRE, self._take, ended.set) as notify:
            self._pass_on(None, None)
            while True:
                self._came_back.clear()
                try:
                    async with asyncio.timeout(self._patience):
                        await notify(f"{self._process} {_BEAT} ")
                        await self._came_back.wait()
                except TimeoutError:
                    return self._deaf("the database passes nothing on")
                self._hears = True
                await sleep_unless(ended, self._beat, sleep)

    def _deaf(self, why: str) -> None:
        if self._hears:
            log.warning("other processes are not heard: %s", why)
        self._hears = False

    def _take(self, said: str) -> None:
        process, channel, payload = said.split(" ", 2)
        if process != self._process:
            self._pass_on(channel, payload)
        elif channel == _BEAT:
            self._came_back.set()

    def _pass_on(self, channel: str | None, payload: str | None) -> None:
        for wanted, heard in self._listeners:
            if channel in (wanted, None):
                heard(payload)
