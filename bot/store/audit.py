"""Records of changes to what everybody reads: who, what, and with what result. Source: reliability.md R19."""

from collections.abc import Collection
from datetime import UTC, datetime

from sqlalchemy import Connection, Executable, or_, select
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.records import AuditRecord
from bot.store.engine import Store, change, rows, storable
from bot.store.schema import audit

_TRACES = select(audit.c.actor, audit.c.action, audit.c.subject, audit.c.result, audit.c.at)


class Audit(Store):
    """The traces of privileged acts."""

    async def note(self, actor: str, action: str, subject: str, result: str) -> None:
        """Raises StoreError."""
        await change(self._engine, lambda db: add_trace(db, AuditRecord(actor, action, subject, result)))

    async def listed(self, *, limit: int | None = None) -> list[AuditRecord]:
        """Newest first."""
        wanted = _TRACES.order_by(audit.c.at.desc(), audit.c.id.desc()).limit(limit)
        return [AuditRecord(**row._mapping) for row in await rows(self._engine, wanted)]

    async def latest(self, action: str, subjects: Collection[str]) -> dict[str, AuditRecord]:
        """By subject, the last time that this was done to it."""
        wanted = _TRACES.where(audit.c.action == action, audit.c.subject.in_(subjects))
        found = await rows(self._engine, wanted.where(audit.c.result != "refused").order_by(audit.c.at, audit.c.id))
        return {row.subject: AuditRecord(**row._mapping) for row in found}

    async def mentions(self, text: str) -> bool:
        """Whether some trace has this in its subject or result."""
        has = or_(*(column.contains(text, autoescape=True) for column in (audit.c.subject, audit.c.result)))
        return bool(await rows(self._engine, select(audit.c.id).where(has).limit(1)))


async def traced(engine: AsyncEngine, trace: AuditRecord, act: Executable, *then: Executable) -> bool:
    """Store an act, what follows from it, and its trace together; False, and nothing of it, where it changes no row.
    Raises StoreError."""

    def work(db: Connection) -> bool:
        if not db.execute(act).rowcount:
            return False
        for each in then:
            db.execute(each)
        add_trace(db, trace)
        return True

    return await change(engine, work)


def add_trace(db: Connection, trace: AuditRecord) -> None:
    """Inside the caller's transaction: an act and its trace are stored together."""
    values = {
        "at": trace.at or datetime.now(UTC),
        "actor": trace.actor[:160],
        "action": trace.action,
        "subject": storable(trace.subject),
        "result": storable(trace.result),
    }
    db.execute(audit.insert().values(values))
