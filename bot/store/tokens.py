"""Programs that may ask: the hashes of their tokens, whom each reads for, and how much it has asked today.
Source: sources.md §5."""

from datetime import date
from typing import Any

from sqlalchemy import Connection, delete, select, update

from bot.records import AuditRecord, ProgramToken
from bot.store.audit import traced
from bot.store.engine import Store, change, columns, insert, rows
from bot.store.schema import tokens


class ProgramTokens(Store):
    """All raise StoreError."""

    async def listed(self) -> list[ProgramToken]:
        return [_token(row) for row in await rows(self._engine, select(tokens).order_by(tokens.c.name))]

    async def add(self, token: ProgramToken, digest: str, trace: AuditRecord) -> bool:
        """Keep it by the hash of its secret, never by the secret. False: there is one of this name."""
        added = insert(self._engine, tokens).values(**columns(token), digest=digest)
        return await traced(self._engine, trace, added.on_conflict_do_nothing(index_elements=["name"]))

    async def revoke(self, name: str, trace: AuditRecord) -> bool:
        return await traced(self._engine, trace, delete(tokens).where(tokens.c.name == name))

    async def get(self, digest: str) -> ProgramToken | None:
        found = await rows(self._engine, select(tokens).where(tokens.c.digest == digest))
        return _token(found[0]) if found else None

    async def count(self, name: str, today: date, *, miss: bool, misses: int) -> bool:
        """Count a call of today, if that is still within the token's caps (`misses`: of reported misses)."""

        def count(db: Connection) -> bool:
            its = tokens.c.name == name
            fresh = (tokens.c.used_on.is_(None)) | (tokens.c.used_on != today)
            db.execute(update(tokens).where(its, fresh).values(used_on=today, calls=0, misses=0))
            within = (tokens.c.calls < tokens.c.per_day) & ((tokens.c.misses < misses) if miss else True)
            counted = {"calls": tokens.c.calls + 1, "misses": tokens.c.misses + int(miss)}
            return bool(db.execute(update(tokens).where(its, within).values(**counted)).rowcount)

        return await change(self._engine, count)


def _token(row: Any) -> ProgramToken:
    return ProgramToken(**{name: row._mapping[name] for name in ProgramToken.__dataclass_fields__})
