"""Sources that documents follow, and what is known of each of their pages. Source: sources.md §1 and §2."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Select, and_, case, delete, func, literal, select, union_all, update

from bot.records import AuditRecord
from bot.store.audit import traced
from bot.store.engine import Store, change, columns, execute, insert, rows
from bot.store.leases import take
from bot.store.schema import followed, followed_pages, pair_documents, unheard
from retrieval.i18n import Text

SourceKind = Literal["folder", "git", "website", "channel"]
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
    """A page as it was last read: in this version it became a document, or was refused. Of a channel's threads, and of
    a page whose reading was stopped, also when to read it again; of a thread, who speaks in its document."""

    version: str
    document: str | None = None
    refusal: Text | None = None
    due_at: datetime | None = None
    people: tuple[str, ...] = ()


class FollowedSources(Store):
    """All raise StoreError."""

    async def listed(self, scopes: Collection[str] | None = None) -> list[FollowedSource]:
        """By name; only those whose documents these scopes may read (None: all)."""
        wanted = select(followed).order_by(followed.c.name)
        if scopes is not None:
            wanted = wanted.where(followed.c.scope.in_(scopes))
        return [_source(row) for row in await rows(self._engine, wanted)]

    async def add(self, source: FollowedSource, trace: AuditRecord) -> bool:
        """False: there is one of this name."""
        added = insert(self._engine, followed).values(**_values(source))
        return await traced(self._engine, trace, added.on_conflict_do_nothing(index_elements=["name"]))

    async def remove(self, id: str, trace: AuditRecord) -> None:
        """With what is known of its pages. Its documents are another matter."""
        await traced(self._engine, trace, delete(followed).where(followed.c.id == id))

    async def turn(self, id: str, state: SourceState, *, due_at: datetime, trace: AuditRecord) -> None:
        """Pause it, or let it go on, with a look at all of it; its trouble is forgotten with that."""
        values: dict[str, Any] = {"state": state, "gone": 0, "failures": 0, "trouble": None, "due_at": due_at}
        if state == "on":
            values["cursor"] = None
        await traced(self._engine, trace, update(followed).where(followed.c.id == id).values(**values))

    async def hurry(self, id: str, now: datetime) -> None:
        """Let it be looked at now."""
        await self._set(id, due_at=now)

    # -- one process at a time ----------------------------------------------------------------------------------------

    async def claim(self, id: str, *, owner: str, now: datetime, until: datetime) -> bool:
        """Take it for a while. False: another process has it, or it is gone."""
        its = followed.c.id == id
        return await take(self._engine, followed, its, owner=owner, now=now, until=until, again=True) is not None

    async def leave(self, id: str, *, owner: str, seen: datetime | None = None, **values: Any) -> None:
        """Give it back, with what has become of it (`FollowedSource`'s fields). `seen`: when it was due; if somebody
        has wanted another look since, that holds; so does a pause."""
        if "trouble" in values:
            values["trouble"] = _said(values["trouble"])
        as_before = dict.fromkeys(("due_at", "cursor") if seen is not None else (), followed.c.due_at == seen)
        as_before |= dict.fromkeys(values.keys() & {"state", "gone"}, followed.c.state != "paused")
        for name, unchanged in as_before.items():
            column = followed.c[name]
            values[name] = case((unchanged, literal(values[name], column.type)), else_=column)
        given = update(followed).where(followed.c.id == id, followed.c.owner == owner)
        await execute(self._engine, given.values(**values, owner=None, lease_until=None))

    # -- its pages ----------------------------------------------------------------------------------------------------

    async def pages(self, id: str) -> dict[str, FollowedPage]:
        """By ref."""
        found = await rows(self._engine, select(followed_pages).where(followed_pages.c.source == id))
        return {row.ref: _page(row) for row in found}

    async def note(self, id: str, ref: str, page: FollowedPage, *, seen: datetime | None = None) -> None:
        """`seen`: when it was due before it was read; what has changed in it since leaves it due. Somebody who did not
        want to be found any more while it was read is silenced all the same."""
        its = followed_pages.c
        still = and_(its.version == SILENCED, its.document.is_not(None))
        unwanted = _unheard(map(_hash, page.people))

        def note(db: Connection) -> None:
            silenced = bool(page.people) and db.execute(unwanted.limit(1)).first() is not None
            values: dict[str, Any] = {"version": SILENCED if silenced else page.version, "document": page.document}
            values["refusal"] = _said(page.refusal)
            values["people"] = f" {' '.join(page.people)} " if page.people and not silenced else None
            anew = values | {
                "version": case((still, SILENCED), else_=values["version"]),
                "due_at": case((its.due_at.is_not_distinct_from(seen), page.due_at), else_=its.due_at),
            }
            added = insert(db, followed_pages).values(source=id, ref=ref, due_at=page.due_at, **values)
            db.execute(added.on_conflict_do_update(index_elements=["source", "ref"], set_=anew))

        await change(self._engine, note)

    async def drop(self, id: str, refs: Collection[str]) -> None:
        def drop(db: Connection) -> None:
            for ref in refs:
                its = and_(followed_pages.c.source == id, followed_pages.c.ref == ref)
                db.execute(delete(followed_pages).where(its))

        await change(self._engine, drop)

    async def of_documents(self, documents: Collection[str]) -> dict[str, FollowedSource]:
        """By document, the source that it follows; of Q/A pairs that of the document they were written from."""
        page, made = followed_pages.c, pair_documents.c
        own = select(page.source, page.document).where(page.document.in_(documents))
        of_pairs = select(page.source, made.document).join(pair_documents, made.source == page.document)
        theirs = union_all(own, of_pairs.where(made.document.in_(documents))).subquery()
        wanted = select(followed, theirs.c.document).join(theirs, theirs.c.source == followed.c.id)
        return {row.document: _source(row) for row in await rows(self._engine, wanted)}

    # -- threads of channels ------------------------------------------------------------------------------------------

    async def enqueue(
        self, id: str, refs: Collection[str], now: datetime, *, cursor: str | None = None, since: str | None = None
    ) -> None:
        """Have threads read, and note with that how far (`cursor`) they are listed. `since`: also those known ones in
        which something was said from then on, as their versions tell."""

        def enqueue(db: Connection) -> None:
            for ref in refs:
                _due(db, id, ref, now)
            if since is not None:
                later = and_(followed_pages.c.source == id, followed_pages.c.version >= since)
                db.execute(update(followed_pages).where(later).values(due_at=now))
            if cursor is not None:
                db.execute(update(followed).where(followed.c.id == id).values(cursor=cursor))

        await change(self._engine, enqueue)

    async def stir(self, location: str, ref: str, due_at: datetime, *, known: bool) -> bool:
        """Something in a thread has changed; `known`: it counts only if it was read before. Whether anybody follows."""
        of = select(followed.c.id).where(followed.c.kind == "channel", followed.c.location == location)
        found = [row.id for row in await rows(self._engine, of.where(followed.c.state == "on"))]
        if not found:
            return False

        def stir(db: Connection) -> None:
            if known:
                its = and_(followed_pages.c.source.in_(found), followed_pages.c.ref == ref)
                db.execute(update(followed_pages).where(its).values(due_at=due_at))
                return
            for id in db.scalars(of.where(followed.c.id.in_(found)).with_for_update(read=True)).all():
                _due(db, id, ref, due_at)

        await change(self._engine, stir)
        return True

    async def waiting(self, now: datetime) -> frozenset[str]:
        """The sources some of whose threads are to be read now."""
        due = select(followed_pages.c.source).where(followed_pages.c.due_at <= now).distinct()
        return frozenset(row.source for row in await rows(self._engine, due))

    async def rescope(self, id: str, scope: str) -> None:
        await self._set(id, scope=scope)

    async def _set(self, id: str, **values: Any) -> None:
        await execute(self._engine, update(followed).where(followed.c.id == id).values(**values))

    # -- people in them -----------------------------------------------------------------------------------------------

    async def leave_out(self, person: str, now: datetime) -> None:
        """From now on nothing that this person (`platform:id`) says is found."""
        await change(self._engine, lambda db: leave_out(db, person, now))

    async def let_in(self, person: str, now: datetime) -> None:
        """Let what they say be found again: all threads are read anew."""

        def let_in(db: Connection) -> None:
            if db.execute(delete(unheard).where(unheard.c.person == _hash(person))).rowcount:
                db.execute(update(followed).where(followed.c.kind == "channel").values(cursor=None, due_at=now))

        await change(self._engine, let_in)

    async def left_out(self, people: Collection[str]) -> frozenset[str]:
        """Of these people those who do not want to be found."""
        hashes = {_hash(person): person for person in people}
        found = await rows(self._engine, _unheard(hashes))
        return frozenset(hashes[row.person] for row in found)

    async def silenced(self) -> list[tuple[str, str, FollowedPage]]:
        """Source, ref and page of what is to be forgotten because of who speaks in it."""
        return [(row.source, row.ref, _page(row)) for row in await rows(self._engine, _SILENCED)]

    async def forgotten(self, id: str, ref: str, document: str, now: datetime) -> None:
        """A silenced page's document is gone; what others said in it may be read again."""
        its = followed_pages.c
        done = update(followed_pages).where(its.source == id, its.ref == ref, its.document == document)
        await execute(self._engine, done.values(version="", document=None, people=None, due_at=now))


SILENCED = "silenced"  # the version of a page whose document somebody does not want to be found in
_SILENCED = select(followed_pages).where(followed_pages.c.version == SILENCED, followed_pages.c.document.is_not(None))


def _due(db: Connection, source: str, ref: str, due_at: datetime) -> None:
    added = insert(db, followed_pages).values(source=source, ref=ref, version="", due_at=due_at)
    db.execute(added.on_conflict_do_update(index_elements=["source", "ref"], set_={"due_at": due_at}))


def leave_out(db: Connection, person: str, now: datetime) -> int:
    """Inside the caller's transaction: never again what this person says in channels, and the documents that have it
    are to be forgotten; how many, with those that an erasure which was cut off has left."""
    added = insert(db, unheard).values(person=_hash(person), at=now)
    db.execute(added.on_conflict_do_nothing(index_elements=["person"]))
    theirs = followed_pages.c.people.contains(f" {person} ", autoescape=True)
    db.execute(update(followed_pages).where(theirs).values(version=SILENCED, due_at=now, people=None))
    return db.scalar(select(func.count()).select_from(_SILENCED.subquery())) or 0


def _unheard(hashes: Iterable[str]) -> Select[str]:
    return select(unheard.c.person).where(unheard.c.person.in_([*hashes]))


def _hash(person: str) -> str:
    return hashlib.sha256(person.encode()).hexdigest()


def _page(row: Any) -> FollowedPage:
    people = tuple((row.people or "").split())
    return FollowedPage(row.version, row.document, _text(row.refusal), row.due_at, people)


def _values(source: FollowedSource) -> dict[str, Any]:
    return columns(source) | {"options": dict(source.options), "trouble": _said(source.trouble)}


def _source(row: Any) -> FollowedSource:
    values = {name: row._mapping[name] for name in FollowedSource.__dataclass_fields__}
    return FollowedSource(**values | {"trouble": _text(values["trouble"])})


def _said(text: Text | None) -> dict[str, str] | None:
    return {"en": text.en, "ja": text.ja} if text is not None else None


def _text(said: Mapping[str, str] | None) -> Text | None:
    return Text(en=said["en"], ja=said["ja"]) if said else None
