"""Misses are closed and their askers are to be told, in one transaction; what is to be told waits here until it is
said.

Source: product.md §4; reliability.md R5.
"""

import logging
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Select, case, delete, func, select, true, union, update

from bot.access import default_scope
from bot.records import AuditRecord
from bot.store.audit import add_trace
from bot.store.conversations import incoming
from bot.store.engine import Store, change, execute, insert, look, rows, storable
from bot.store.leases import free, lease, present
from bot.store.schema import documents, notices, questions, sources, turns
from bot.types import Notice, Place
from retrieval.text import language_of
from retrieval.types import TEAM, Readers

log = logging.getLogger(__name__)

TRIES, PATIENCE = 5, timedelta(days=1)  # a platform may be away for hours
AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Telling:
    """The message for the askers. `by` is `platform:id`; nobody is told in a thread with the link `here`, where it was
    said already, nor on `silent` platforms, which have no threads to say it in. `documents` have the answer, by scope:
    the team's is everybody's. Of these `changed` said something else until now, and whoever was told that hears it,
    too."""

    answer: str
    by: str
    here: str | None = None
    silent: Collection[str] = ()
    documents: Mapping[str, str] = field(default_factory=dict)
    changed: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Closed:
    """The questions that were open until now, and how many threads will be told."""

    ids: tuple[int, ...]
    told: int


class Notices(Store):
    """Leases on what is to be said (`bot.store.leases`). Times are the caller's."""

    async def close(
        self,
        ids: Collection[int],
        scopes: Collection[str],
        *,
        now: datetime,
        trace: AuditRecord,
        telling: Telling | None = None,
    ) -> Closed:
        """Close of these questions those that are open and that readers of `scopes` may see; with `telling` their
        askers will be told. All or nothing; without an open question nothing happens."""
        closing = (
            update(questions)
            .where(questions.c.id.in_(ids), questions.c.scope.in_(scopes), questions.c.resolved_at.is_(None))
            .values(resolved_at=now, resolution="dismissed" if telling is None else "answered")
            .returning(questions.c.id, questions.c.turn, questions.c.question, questions.c.scope)
        )

        def close(db: Connection) -> Closed:
            closed = sorted(db.execute(closing).all(), key=lambda row: row.id)
            if not closed:
                return Closed((), 0)
            told = 0
            if telling is not None:
                earlier = _told(db, telling.changed)
                _answered(db, closed, telling.documents)
                told = _add(db, telling, now, closed=closed, corrected=earlier)
            add_trace(db, trace)
            return Closed(tuple(row.id for row in closed), told)

        return await change(self._engine, close)

    async def correct(self, document: str, *, now: datetime, trace: AuditRecord, telling: Telling) -> int:
        """The document says something else now: whoever was told what it said will be told this, once a thread; returns
        how many will."""

        def correct(db: Connection) -> int:
            told = _add(db, telling, now, corrected=_told(db, [document]))
            add_trace(db, trace)
            return told

        return await change(self._engine, correct)

    async def waiting(self, asked: Collection[str]) -> int:
        """How many of these turns will still be told something."""
        found = await rows(self._engine, select(func.count()).where(notices.c.turn.in_(asked)))
        return int(found[0][0])

    async def due(
        self, platform: str, *, owner: str, now: datetime, until: datetime, saying: Collection[int] = ()
    ) -> list[Notice]:
        """The notices due on this platform, the oldest first; nobody else is given them before `until`. None of those
        that this owner is `saying`; others it was given it has not said.

        What could not be said TRIES times is dropped once PATIENCE is over.
        """

        def wanted(at: datetime) -> Select[Any]:
            return (
                select(notices, *_TURN)
                .join(turns, turns.c.id == notices.c.turn)
                .where(turns.c.platform == platform, free(notices, at, owner), notices.c.id.not_in(saying))
                .order_by(notices.c.made_at, notices.c.id)
                .limit(AT_ONCE)
            )

        def take(db: Connection) -> tuple[list[Notice], int]:
            at, end = lease(db, now, until)
            found = db.execute(wanted(at).with_for_update(of=notices, skip_locked=True)).all()
            tired = [row.id for row in found if row.attempts >= TRIES and now - row.made_at > PATIENCE]
            fresh = [row for row in found if row.id not in tired]
            if tired:
                db.execute(delete(notices).where(notices.c.id.in_(tired)))
            if fresh:
                mine = update(notices).where(notices.c.id.in_([row.id for row in fresh]))
                db.execute(mine.values(owner=owner, lease_until=end, attempts=notices.c.attempts + 1))
            return [_notice(row) for row in fresh], len(tired)

        # Asked every few seconds: mostly there is nothing, and then nothing is written.
        if await look(self._engine, lambda db: db.execute(wanted(present(db, now)).limit(1)).first()) is None:
            return []
        given, dropped = await change(self._engine, take)
        if dropped:
            log.warning("%d notices could not be said on %s and were dropped", dropped, platform)
        return given

    async def readable(self, notice: int, readers: Readers) -> bool:
        """Whether these readers may read what a notice is about: the documents that answer the question, or those that
        its answer cites; where none of them is there, what was asked."""
        its = notices.c.id == notice
        answering = select(documents.c.scope).join(questions, questions.c.answer == documents.c.id)
        cited = select(documents.c.scope).join(sources, sources.c.document == documents.c.id).where(sources.c.cited)
        of_answers = answering.join(notices, notices.c.turn == questions.c.turn).where(
            its, notices.c.of_page.is_not(True)
        )
        of_pages = cited.join(notices, notices.c.turn == sources.c.turn).where(its, notices.c.of_page.is_(True))
        found = {row.scope for row in await rows(self._engine, union(of_answers, of_pages))}
        if not found:
            asked = select(turns).join(notices, notices.c.turn == turns.c.id).where(its)
            messages = [incoming(row) for row in await rows(self._engine, asked)]
            found = {default_scope(message.place, message.audience) for message in messages}
        return found <= readers.scopes

    async def said(self, notice: int) -> None:
        """Notes that a notice was said, or never can be."""
        await execute(self._engine, delete(notices).where(notices.c.id == notice))


_TURN = (
    *(turns.c.platform, turns.c.workspace, turns.c.channel, turns.c.thread),
    *(turns.c.author, turns.c.language),
)


def _answered(db: Connection, closed: Sequence[Any], documents: Mapping[str, str]) -> None:
    for row in closed:
        document = documents.get(row.scope, documents.get(TEAM))
        db.execute(update(questions).where(questions.c.id == row.id).values(answer=document))


def _told(db: Connection, answers: Collection[str]) -> Sequence[Any]:
    """The questions that these documents answer."""
    wanted = select(questions.c.turn, questions.c.question).where(questions.c.answer.in_(answers))
    return db.execute(wanted.order_by(questions.c.id)).all()


def _add(
    db: Connection, telling: Telling, now: datetime, *, closed: Sequence[Any] = (), corrected: Sequence[Any] = ()
) -> int:
    """One notice a turn; a newer answer takes the place of one that is not said yet. `corrected` were told one: once is
    enough for a person in a thread; who was not told yet hears the new one as the answer."""
    asked = {row.turn: row.question for row in (*reversed(corrected), *reversed(closed))}
    fresh = {row.turn for row in closed}
    spot = (turns.c.platform, turns.c.workspace, turns.c.channel, turns.c.thread, turns.c.author)
    unsaid = notices.c.id.is_not(None)
    wanted = (
        select(turns.c.id, turns.c.link, unsaid.label("unsaid"), *spot)
        .join(notices, notices.c.turn == turns.c.id, isouter=True)
        .where(turns.c.id.in_(asked), turns.c.platform.not_in(telling.silent))
        .order_by(unsaid.desc(), turns.c.sequence.desc())
    )
    told, spots = 0, set[tuple[Any, ...]]()
    for row in sorted(db.execute(wanted).all(), key=lambda row: row.id not in fresh):
        if telling.here is not None and row.link == telling.here:
            continue
        corrects = row.id not in fresh
        if corrects and not row.unsaid and tuple(row)[3:] in spots:
            continue
        spots.add(tuple(row)[3:])
        values = {
            # Never one that was used before: what was posted is known by it, longer than the notice is kept.
            "id": secrets.randbits(31),
            "question": asked[row.id],
            "answer": storable(telling.answer),
            "by": telling.by[:120],
            "owner": None,
            "lease_until": None,
            "attempts": 0,
            "made_at": now,
            "of_page": None,
        }
        added = insert(db, notices).values(turn=row.id, corrects=corrects, **values)
        being_said = case((notices.c.lease_until > now, true()), else_=notices.c.corrects)
        db.execute(added.on_conflict_do_update(index_elements=["turn"], set_=values | {"corrects": being_said}))
        told += 1
    return told


def _notice(row: Any) -> Notice:
    platform, _, who = (row.by or "").partition(":")
    return Notice(
        id=row.id,
        turn=row.turn,
        place=Place(row.platform, row.workspace, row.channel),
        thread=row.thread,
        author=row.author,
        language=row.language or language_of(row.question),
        question=row.question,
        answer=row.answer,
        by=who if who and platform == row.platform else None,
        corrects=bool(row.corrects),
        of_page=bool(row.of_page),
    )
