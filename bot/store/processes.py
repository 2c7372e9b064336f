"""The processes that have a shared database open: what one that died has left behind is put right by the others.

Source: machines.md §2. Times are the database server's (`bot.store.leases`).
"""

import os
import socket
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, delete, select

from bot.store.engine import Store, change, execute, insert
from bot.store.leases import lease
from bot.store.schema import processes

LEASE = timedelta(seconds=30)
_MACHINE = socket.gethostname()[:30]


def this_process() -> str:
    """A name for this process among those of its database: machine, number, and what no other has."""
    return f"{_MACHINE}:{os.getpid()}:{uuid.uuid4().hex}"


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """A process. `embedded`: its search index is its own machine's."""

    id: str
    embedded: bool


class Processes(Store):
    """All raise StoreError."""

    async def alive(self, process: str, *, embedded: bool) -> None:
        """Note that a process is there, for `LEASE` from now."""

        def note(db: Connection) -> None:
            now, until = _lease(db)
            row = insert(db, processes).values(id=process, embedded=embedded, started_at=now, until=until)
            db.execute(row.on_conflict_do_update(index_elements=["id"], set_={"until": until}))

        await change(self._engine, note, durable=False)

    async def leave(self, process: str) -> None:
        await execute(self._engine, delete(processes).where(processes.c.id == process))

    async def bury(self) -> Sequence[str]:
        """Forget those that have died; the ids of those that live."""

        def look(db: Connection) -> list[str]:
            db.execute(delete(processes).where(processes.c.until < _lease(db)[0]))
            return [row.id for row in db.execute(select(processes.c.id))]

        return await change(self._engine, look)

    async def listed(self) -> list[ProcessRow]:
        """Those that live, the oldest first."""

        def look(db: Connection) -> list[ProcessRow]:
            there = select(processes.c.id, processes.c.embedded).where(processes.c.until >= _lease(db)[0])
            return [ProcessRow(**row._mapping) for row in db.execute(there.order_by(processes.c.started_at))]

        return await change(self._engine, look, durable=False)


def _lease(db: Connection) -> tuple[datetime, datetime]:
    now = datetime.now(UTC)
    return lease(db, now, now + LEASE)
