"""Sources that documents follow, and what is known of each of their pages. Source: sources.md §1 and §2."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, and_, case, delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.records import AuditRecord
from bot.store.audit import add_traces
from bot.store.engine import change, insert, rows
from bot.store.leases import lease
from bot.store.schema import followed, followed_pages
from retrieval.i18n import Text

SourceKind = Literal["folder", "git", "website"]
SourceState = Literal["on", "paused", "asks"]
"""`asks`: so many pages were gone at once that somebody has to say whether that is meant."""


@dataclass(frozen=True, slots=True)
class FollowedSource:
    """A source. `options` are its kind's own, none of them secret. `cursor`: what the last whole look saw; `trouble`:
    why the last ones failed; `checked_at`: when it was last seen whole."""

    id: str
    name: str
    kind: SourceKind
    location: str
    options: Mapping[str, Any]
    collection: str
    scope: str
    every: int  # seconds
    added_by: str  # platform:id
    added_at: datetime
    due_at: datetime
    state: SourceState = "on"
    gone: int = 0
    cursor: str | None = None
    failures: int = 0
    trouble: Text | None = None
    checked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class FollowedPage:
    """A page as it was last read: in this version it became a document, or was refused."""

    version: str
    document: str | None = None
    refusal: Text | None = None


class FollowedSources:
    """All raise StoreError."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def listed(self, scopes: Collection[str] | None = None) -> list[FollowedSource]:
        """By name; only those whose documents these scopes may read (None: all)."""
        wanted = select(followed).order_by(followed.c.name)
        if scopes is not None:
            wanted = wanted.where(followed.c.scope.in_(scopes))
        return [_source(row) for row in await rows(self._engine, wanted)]

    async def add(self, source: FollowedSource, trace: AuditRecord) -> bool:
        """False: there is one of this name."""

        def add(db: Connection) -> bool:
            added = insert(db, followed).values(**_values(source))
            if not db.execute(added.on_conflict_do_nothing(index_elements=["name"])).rowcount:
                return False
            add_traces(db, (trace,))
            return True

        return await change(self._engine, add)

    async def remove(self, id: str, trace: AuditRecord) -> None:
        """With what is known of its pages. Its documents are another matter."""

        def remove(db: Connection) -> None:
            db.execute(delete(followed_pages).where(followed_pages.c.source == id))
            db.execute(delete(followed).where(followed.c.id == id))
            add_traces(db, (trace,))

        await change(self._engine, remove)

    async def turn(self, id: str, state: SourceState, *, due_at: datetime, trace: AuditRecord) -> None:
        """Pause it, or let it go on; its trouble is forgotten with that."""
        values = {"state": state, "gone": 0, "failures": 0, "trouble": None, "due_at": due_at}

        def turn(db: Connection) -> None:
            db.execute(update(followed).where(followed.c.id == id).values(**values))
            add_traces(db, (trace,))

        await change(self._engine, turn)

    async def hurry(self, id: str, now: datetime) -> None:
        """Let it be looked at now."""
        due = update(followed).where(followed.c.id == id).values(due_at=now)
        await change(self._engine, lambda db: db.execute(due))

    # -- one process at a time ----------------------------------------------------------------------------------------

    async def claim(self, id: str, *, owner: str, now: datetime, until: datetime) -> bool:
        """Take it for a while. False: another process has it, or it is gone."""

        def claim(db: Connection) -> bool:
            there, end = lease(db, now, until)
            free = or_(followed.c.owner.is_(None), followed.c.owner == owner, followed.c.lease_until < there)
            taken = update(followed).where(followed.c.id == id, free).values(owner=owner, lease_until=end)
            return bool(db.execute(taken).rowcount)

        return await change(self._engine, claim)

    async def inherit(self) -> None:
        """At the start of the only process of this database: whoever held one is dead."""
        await change(self._engine, lambda db: db.execute(update(followed).values(owner=None, lease_until=None)))

    async def leave(self, id: str, *, owner: str, seen_at: datetime | None = None, **values: Any) -> None:
        """Give it back, with what has become of it (`FollowedSource`'s fields). Where somebody has hurried it after the
        look at `seen_at`, it stays due."""
        if seen_at is not None:
            hurried = and_(followed.c.due_at > seen_at, followed.c.due_at < values["checked_at"])
            values["due_at"] = case((hurried, followed.c.due_at), else_=values["due_at"])
        if "trouble" in values:
            values["trouble"] = _said(values["trouble"])
        given = update(followed).where(followed.c.id == id, followed.c.owner == owner)
        await change(self._engine, lambda db: db.execute(given.values(**values, owner=None, lease_until=None)))

    # -- its pages ----------------------------------------------------------------------------------------------------

    async def pages(self, id: str) -> dict[str, FollowedPage]:
        """By ref."""
        found = await rows(self._engine, select(followed_pages).where(followed_pages.c.source == id))
        return {row.ref: FollowedPage(row.version, row.document, _text(row.refusal)) for row in found}

    async def note(self, id: str, ref: str, page: FollowedPage) -> None:
        values = {"version": page.version, "document": page.document, "refusal": _said(page.refusal)}

        def note(db: Connection) -> None:
            added = insert(db, followed_pages).values(source=id, ref=ref, **values)
            db.execute(added.on_conflict_do_update(index_elements=["source", "ref"], set_=values))

        await change(self._engine, note)

    async def drop(self, id: str, refs: Collection[str]) -> None:
        def drop(db: Connection) -> None:
            for ref in refs:
                its = and_(followed_pages.c.source == id, followed_pages.c.ref == ref)
                db.execute(delete(followed_pages).where(its))

        await change(self._engine, drop)

    async def of_documents(self, documents: Collection[str]) -> dict[str, FollowedSource]:
        """By document, the source that it follows."""
        wanted = select(followed, followed_pages.c.document).join(
            followed_pages, followed_pages.c.source == followed.c.id
        )
        found = await rows(self._engine, wanted.where(followed_pages.c.document.in_(documents)))
        return {row.document: _source(row) for row in found}


def _values(source: FollowedSource) -> dict[str, Any]:
    values = {name: getattr(source, name) for name in FollowedSource.__dataclass_fields__}
    return values | {"options": dict(source.options), "trouble": _said(source.trouble)}


def _source(row: Any) -> FollowedSource:
    values = {name: row._mapping[name] for name in FollowedSource.__dataclass_fields__}
    return FollowedSource(**values | {"trouble": _text(values["trouble"])})


def _said(text: Text | None) -> dict[str, str] | None:
    return {"en": text.en, "ja": text.ja} if text is not None else None


def _text(said: Mapping[str, str] | None) -> Text | None:
    return Text(en=said["en"], ja=said["ja"]) if said else None
