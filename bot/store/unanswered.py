"""Misses: questions that nobody could answer yet, and who may see which of them."""

import asyncio
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Text,
    and_,
    bindparam,
    case,
    cast,
    delete,
    exists,
    func,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.events import EXTRACTIVE
from bot.access import default_scope
from bot.logs import without_secrets
from bot.records import MissState, WantedQuestions
from bot.store.conversations import MAX_EXCHANGES
from bot.store.engine import at_place, change, columns, holds, insert, read, rows, storable
from bot.store.locks import Mutex
from bot.store.schema import answers, asks, notices, questions, turns
from bot.store.threads import asked_before, follows
from bot.store.time_spans import TimeSpan, count, of, table
from bot.types import Audience, MissReason, OpenQuestions, Place, Question


@dataclass(frozen=True, slots=True)
class MissedQuestion:
    """A question on its way in. `scope` says who may see its words; elsewhere it only counts."""

    turn: str
    question: str
    reason: MissReason
    searched: tuple[str, ...]
    confidence: float | None  # best relevance 0..1; None: nothing was searched
    scope: str
    link: str | None
    asked_at: datetime
    detail: str = ""  # of a report: wrong, outdated, … and the free text
    reopened_at: datetime | None = None  # when it became a miss, where that was not at once


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A miss and who asked: to be counted, not to be shown."""

    question: Question
    asker: tuple[str, str, str]  # platform, workspace, author


@dataclass(frozen=True, slots=True)
class Doubted:
    """A question answered without a model that the bot was not sure of, as the miss it would be; `kept`: it is one."""

    miss: MissedQuestion
    asker: tuple[str, str, str]  # platform, workspace, author
    kept: bool
    follows: bool  # something was asked in its thread before


@dataclass(frozen=True, slots=True)
class Matches:
    """Misses, newest first; `shown` are all that readers may see, also beyond the limit; `hidden` those of the same
    state, reason and time in places they do not see."""

    asked: tuple[AskedQuestion, ...]
    shown: int
    hidden: int


@dataclass(frozen=True, slots=True)
class Week:
    """Questions put in a week, by its first day: how many were missed, and of those are closed by now."""

    day: date
    asked: int
    missed: int
    closed: int


class UnansweredQuestions:
    """Questions nobody could answer yet. Source: product.md §4."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self.answering = Mutex(engine, "answers")  # an answer is given, edited or taken back by one at a time

    async def add(self, *misses: MissedQuestion) -> None:
        """Keep misses; the same turn and reason once only."""
        await change(self._engine, lambda db: add_misses(db, misses))

    async def doubted(self, since: datetime, *, limit: int) -> list[Doubted]:
        """Questions since a moment that were answered without a model, unsurely, newest first; without those that
        somebody has closed."""
        about = (questions.c.turn == turns.c.id) & (questions.c.reason == "low_confidence")
        wanted = (
            select(turns, answers, questions.c.id.label("kept"), follows(turns))
            .join(answers, answers.c.turn == turns.c.id)
            .outerjoin(questions, about)
            .where(
                answers.c.answered_at >= since,
                answers.c.outcome == "answered",
                answers.c.unsure,
                answers.c.model == EXTRACTIVE,
                questions.c.resolved_at.is_(None),
            )
            .order_by(answers.c.answered_at.desc(), turns.c.sequence.desc())
            .limit(limit)
        )
        return [_doubted(row) for row in await rows(self._engine, wanted)]

    async def open(self, scopes: Collection[str], *, limit: int | None = None) -> OpenQuestions:
        """The open questions: those of `scopes` in words, the rest as a count."""
        is_open = questions.c.resolved_at.is_(None)
        theirs = questions.c.scope.in_(scopes)
        wanted = select(*_MISS).where(is_open, theirs).order_by(*_NEWEST)
        counted = select(count(theirs), count(~theirs)).where(is_open)
        async with read(self._engine) as db:
            rows = (await db.execute(wanted.limit(limit))).all()
            shown, hidden = (await db.execute(counted)).one()
        return OpenQuestions(tuple(await self._whole([_question(row) for row in rows])), shown, hidden)

    async def asked_between(
        self, scopes: Collection[str], since: datetime, until: datetime, *, limit: int
    ) -> tuple[list[AskedQuestion], int, int]:
        """The open questions of `scopes` asked, or else opened last, from `since` up to `until`, newest first; how many
        there are of these beyond the limit too, and how many turns asked in other scopes, whose words stay there."""
        opened = func.coalesce(questions.c.reopened_at, questions.c.asked_at)  # so one period has it, not the next too
        within = questions.c.resolved_at.is_(None) & (opened >= since) & (opened < until)
        theirs = questions.c.scope.in_(scopes)
        wanted = _ASKED.where(within, theirs).limit(limit)
        hidden = select(func.count(questions.c.turn.distinct())).where(within, ~theirs)
        shown = select(func.count()).where(within, theirs)
        async with read(self._engine) as db:
            rows = (await db.execute(wanted)).all()
            counts = await db.scalar(shown) or 0, await db.scalar(hidden) or 0
        return await self._all_whole([_asked(row) for row in rows]), *counts

    async def find(self, wanted: WantedQuestions, scopes: Collection[str], *, limit: int, offset: int = 0) -> Matches:
        """The misses that match, of `scopes` in words. What is hidden is not counted by its text or where it was
        searched: that would tell what somebody asked."""
        alike = _alike(wanted)
        theirs = alike & questions.c.scope.in_(scopes) & _about(wanted)
        listed = _ASKED.where(theirs).limit(limit).offset(offset)
        shown = select(func.count()).select_from(questions).where(theirs)
        hidden = select(func.count()).select_from(questions).where(alike, questions.c.scope.not_in(scopes))
        async with read(self._engine) as db:
            found = [_asked(row) for row in await db.execute(listed)]
            counts = await db.scalar(shown) or 0, await db.scalar(hidden) or 0
        return Matches(tuple(await self._all_whole(found)), *counts)

    async def weeks(self, spans: Sequence[TimeSpan]) -> tuple[Week, ...]:
        """The questions asked and missed in each week, wherever. A question missed for two reasons counts once."""
        weeks = table(spans)
        missed = (
            select(
                weeks.c.day,
                func.count(questions.c.turn.distinct()).label("missed"),
                func.count(case((questions.c.resolved_at.is_(None), questions.c.turn)).distinct()).label("open"),
            )
            .join(questions, of(weeks, questions.c.asked_at))
            .group_by(weeks.c.day)
        )
        answered = (
            select(weeks.c.day, func.count().label("asked"))
            .join(answers, of(weeks, answers.c.answered_at))
            .group_by(weeks.c.day)
        )
        async with read(self._engine) as db:
            counted = {row.day: (row.missed, row.missed - row.open) for row in await db.execute(missed)}
            asked = {row.day: row.asked for row in await db.execute(answered)}
        return tuple(Week(one.day, asked.get(one.day, 0), *counted.get(one.day, (0, 0))) for one in spans)

    async def get(self, ids: Collection[int], scopes: Collection[str], *, place: Place | None = None) -> list[Question]:
        """Of `ids` those that readers of `scopes` may see, oldest first; and those that were brought to `place` because
        their askers wanted it: of these nothing that was asked before them."""
        seen: ColumnElement[bool] = questions.c.scope.in_(scopes)
        if place is not None:
            seen = seen | questions.c.id.in_(select(asks.c.question).where(at_place(asks, place)))
        wanted = select(*_MISS).where(questions.c.id.in_(ids), seen)
        found = await rows(self._engine, wanted.order_by(questions.c.asked_at))
        theirs = await self._whole([_question(row) for row in found])
        return [one if one.scope in scopes else replace(one, before="", earlier=()) for one in theirs]

    async def of_turn(self, turn: str) -> list[Question]:
        """The misses of a turn, by their reasons."""
        wanted = select(*_MISS).where(questions.c.turn == turn).order_by(questions.c.reason)
        return await self._whole([_question(row) for row in await rows(self._engine, wanted)])

    async def answered_by(self, document: str) -> list[Question]:
        """The questions that a document answers, oldest first."""
        wanted = select(*_MISS).where(questions.c.answer == document).order_by(questions.c.asked_at, questions.c.id)
        return [_question(row) for row in await rows(self._engine, wanted)]

    async def _all_whole(self, asked: Sequence[AskedQuestion]) -> list[AskedQuestion]:
        whole = await self._whole([one.question for one in asked])
        return [replace(one, question=question) for one, question in zip(asked, whole, strict=True)]

    async def _whole(self, found: Sequence[Question]) -> list[Question]:
        """The questions with what they lean on: what was asked before in their threads and was seen by the same
        readers."""
        following = {one.turn for one in found if one.follows}
        if not following:
            return [*found]
        earlier: dict[str, list[Row[Any]]] = {}
        for row in await rows(self._engine, _BEFORE, {"turns": [*following]}):
            earlier.setdefault(row.turn, []).append(row)

        def leaning() -> list[Question]:
            from agent.routing.follow_up import leant_on  # loads numpy, which most commands do without

            whole = list[Question]()
            for one in found:
                asked = earlier.get(one.turn, ())
                before = leant_on(one.question, [without_secrets(row.text) for row in asked])
                whole.append(replace(one, before=before, earlier=tuple(row.id for row in asked if before)))
            return whole

        return await asyncio.to_thread(leaning)

    async def closed(self, ids: Collection[int], *, before: datetime) -> set[int]:
        """Which of `ids` were closed before a moment, or are not there any more."""
        still = select(questions.c.id).where(
            questions.c.id.in_(ids), or_(questions.c.resolved_at.is_(None), questions.c.resolved_at >= before)
        )
        return set(ids) - {row.id for row in await rows(self._engine, still)}

    async def missing(self, ids: Collection[int]) -> set[int]:
        """Which of `ids` are not there any more: their askers have changed or deleted them, or a 👎 was taken back."""
        there = select(questions.c.id).where(questions.c.id.in_(ids))
        return set(ids) - {row.id for row in await rows(self._engine, there)}


_own = turns.alias()
_MISS = (questions, exists().where(_own.c.id == questions.c.turn, follows(_own).element).label("follows"))
_earlier, _before = asked_before(_own)
_recent = (
    select(
        _own.c.id.label("turn"),
        _earlier.c.id,
        _earlier.c.text,
        _earlier.c.sequence,
        func.row_number().over(partition_by=_own.c.id, order_by=_earlier.c.sequence.desc()).label("back"),
    )
    .join(_earlier, _before & (_earlier.c.audience == _own.c.audience) & _earlier.c.deleted_at.is_(None))
    .where(_own.c.id.in_(bindparam("turns", expanding=True)))
    .subquery()
)
_BEFORE = (
    select(_recent.c.turn, _recent.c.id, _recent.c.text)
    .where(_recent.c.back <= MAX_EXCHANGES)
    .order_by(_recent.c.sequence)
)
_NEWEST = (questions.c.asked_at.desc(), questions.c.id.desc())
_ASKED = (
    select(*_MISS, turns.c.platform, turns.c.workspace, turns.c.author)
    .join(turns, turns.c.id == questions.c.turn)
    .order_by(*_NEWEST)
)


def add_misses(db: Connection, misses: Sequence[MissedQuestion]) -> None:
    """Inside a transaction of the caller's: a turn and its misses are stored together."""
    if misses:
        added = insert(db, questions).on_conflict_do_nothing(index_elements=["turn", "reason"])
        db.execute(added, [_values(miss) for miss in misses])


def reopen(db: Connection, forgotten: Collection[str], now: datetime) -> None:
    """Inside the transaction that forgets these documents: the questions they answered are open again, and nobody is
    told an answer that is not there any more."""
    theirs = questions.c.answer.in_(forgotten)
    db.execute(delete(notices).where(notices.c.turn.in_(select(questions.c.turn).where(theirs))))
    opened = {"resolved_at": None, "resolution": None, "answer": None, "reopened_at": now}
    db.execute(update(questions).where(theirs).values(**opened))


def _values(miss: MissedQuestion) -> dict[str, Any]:
    """Whoever is brought a question need not see the key that its asker pasted into it."""
    texts = {name: storable(without_secrets(getattr(miss, name))) for name in ("question", "detail")}
    return columns(miss) | texts | {"searched": list(miss.searched)}


def _alike(wanted: WantedQuestions) -> ColumnElement[bool]:
    dismissed = questions.c.resolution == "dismissed"
    states: dict[MissState, ColumnElement[bool]] = {
        "open": questions.c.resolved_at.is_(None),
        "closed": questions.c.resolved_at.is_not(None) & func.coalesce(~dismissed, true()),
        "dismissed": questions.c.resolved_at.is_not(None) & dismissed,
        "all": true(),
    }
    return and_(
        states[wanted.state],
        questions.c.reason == wanted.reason if wanted.reason else true(),
        questions.c.asked_at >= wanted.since if wanted.since else true(),
        questions.c.asked_at < wanted.until if wanted.until else true(),
    )


def _about(wanted: WantedQuestions) -> ColumnElement[bool]:
    text, name = wanted.text.strip(), json.dumps(wanted.collection)
    return and_(
        or_(holds(questions.c.question, text), holds(questions.c.detail, text)) if text else true(),
        cast(questions.c.searched, Text).contains(name, autoescape=True) if wanted.collection else true(),
    )


def _question(row: Any) -> Question:
    return Question(**{**row._mapping, "searched": tuple(row.searched)})


def _doubted(row: Any) -> Doubted:
    values = row._mapping
    place = Place(values[turns.c.platform], values[turns.c.workspace], values[turns.c.channel])
    miss = MissedQuestion(
        turn=values[turns.c.id],
        question=values[turns.c.text],
        reason="low_confidence",
        searched=tuple(values[answers.c.searched]),
        confidence=values[answers.c.confidence],
        scope=default_scope(place, Audience(values[turns.c.audience])),
        link=values[turns.c.link],
        asked_at=values[answers.c.answered_at],
    )
    return Doubted(
        miss, (place.platform, place.workspace, values[turns.c.author]), values["kept"] is not None, values["follows"]
    )


def _asked(row: Any) -> AskedQuestion:
    values = dict(row._mapping)
    asker = (values.pop("platform"), values.pop("workspace"), values.pop("author"))
    return AskedQuestion(Question(**(values | {"searched": tuple(values["searched"])})), asker)
