"""Conversations: the answers, and the earlier turns of a thread that the next question builds on."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, bindparam, case, exists, func, select

from agent.conversation import Exchange, cut, without_middle
from agent.events import Answered, Citation, Cost, PageChange
from bot.access import THREAD, Withheld
from bot.records import BROWSER, TurnTotals
from bot.store.engine import Store, at_place, read, rows, storable
from bot.store.schema import answers, documents, sources, turns
from bot.store.searches import percentile
from bot.store.threads import follows
from bot.turns.withdrawal import WITHDRAWN
from bot.types import Audience, Incoming, Place
from retrieval.text import language_of
from retrieval.types import EVERYONE, TEAM, Readers

MAX_EXCHANGES = 10
MAX_CHARACTERS = 8_000
_TALKED = ("slack", "discord", BROWSER)  # platforms whose public places people read


@dataclass(frozen=True, slots=True)
class Conversation:
    """One finished turn: the question and its answer. What led there is in `bot.store.traces`."""

    turn: str
    asked: Incoming
    answered: Answered
    answered_at: datetime


class Conversations(Store):
    """Questions with their answers."""

    withheld: Withheld | None = None  # what knows the channels sets it

    async def history(
        self,
        place: Place,
        thread: str,
        readers: Readers,
        *,
        before: int | None = None,
        since: datetime | None = None,
    ) -> tuple[Exchange, ...]:
        """The thread so far, oldest first: at most 10 exchanges and 8,000 characters, the latest of them; of a question
        or answer that is too long a part, so that the latest are always there.

        Others may read the place than when it was asked there: an answer from documents that are not all theirs, files
        of threads aside, is withheld. Turns that failed or were declined say nothing about the subject and are left
        out. `before` is a turn's sequence. With `since`: what was said at the whole place after that moment, in any
        thread.
        """
        values = asdict(place) | {"thread": thread, "before": _LAST if before is None else before}
        values["scopes"] = sorted(readers.scopes)
        if since is None:
            found = await rows(self._engine, _HISTORY, values)
        else:
            found = await rows(self._engine, _RECENT, {**values, "since": since})
        withheld = await self._withheld([row.turn for row in found if row.said], readers)
        kept: list[Exchange] = []
        room = MAX_CHARACTERS
        for row in found:
            answer = WITHDRAWN.to(language_of(row.question)) if row.hidden or row.turn in withheld else row.answer
            one = Exchange(without_middle(row.question, MAX_CHARACTERS // 4), cut(answer, MAX_CHARACTERS // 2))
            room -= len(one.question) + len(one.answer)
            if room < 0:
                break
            kept.append(one)
        return tuple(reversed(kept))

    async def _withheld(self, some: Collection[str], readers: Readers) -> set[str]:
        """Of these turns, which found what was said in channels, those where these readers do not read it any more."""
        if self.withheld is None or not some:
            return set()
        wanted = select(sources.c.turn, sources.c.document).join(documents, documents.c.id == sources.c.document)
        said = await rows(self._engine, wanted.where(sources.c.turn.in_(some), documents.c.said_in.is_not(None)))
        gone = await self.withheld({row.document for row in said}, readers) if said else frozenset()
        return {row.turn for row in said if row.document in gone}

    async def goes_on(self, message: Incoming, since: datetime) -> bool:
        """Whether its author began this thread with a question, nobody else has asked there, and something was asked or
        answered there since a moment."""
        here = (at_place(turns, message.place), turns.c.thread == message.thread, turns.c.deleted_at.is_(None))
        columns = (turns.c.message, turns.c.author, turns.c.claimed_at, turns.c.finished_at)
        asked = await rows(self._engine, select(*columns).where(*here))
        own = any(row.message == message.thread for row in asked)
        latest = max((row.finished_at or row.claimed_at for row in asked), default=since)
        return own and all(row.author == message.author for row in asked) and latest > since

    async def get(self, turn: str) -> Conversation | None:
        """A turn that has its answer; None when it has none or is not known."""
        wanted = select(turns, answers).join(answers, answers.c.turn == turns.c.id).where(turns.c.id == turn)
        found = await rows(self._engine, wanted)
        return conversation(found[0]) if found else None

    async def hidden(self, turn: str, readers: Readers) -> dict[str, str]:
        """Of the documents that a turn found those that are there and that these readers may not read: their names, by
        id."""
        wanted = (
            select(documents.c.id, documents.c.name)
            .join(sources, sources.c.document == documents.c.id)
            .where(sources.c.turn == turn, documents.c.scope.not_in(readers.scopes))
        )
        return {row.id: row.name for row in await rows(self._engine, wanted)}

    async def answered_publicly(self, *, limit: int) -> list[tuple[str, str]]:
        """The latest questions of public places that were answered surely from what the whole team may still read, and
        by whom they were asked; those with which a thread began, as they need nothing before them."""
        cited = select(sources.c.turn).join(documents, documents.c.id == sources.c.document)
        cited = cited.where(sources.c.turn == answers.c.turn, sources.c.cited, documents.c.scope.in_((EVERYONE, TEAM)))
        wanted = (
            select(turns.c.text, turns.c.author)
            .join(answers, answers.c.turn == turns.c.id)
            .where(turns.c.audience == "public", turns.c.platform.in_(_TALKED), turns.c.text != "")
            .where(answers.c.outcome == "answered", ~answers.c.unsure)
            .where(cited.exists(), ~follows(turns).element)
            .order_by(answers.c.answered_at.desc())
            .limit(limit)
        )
        return [(row.text, row.author) for row in await rows(self._engine, wanted)]

    async def last_asked(self, platform: str) -> datetime | None:
        """When the last question came from a platform."""
        last = select(func.max(turns.c.claimed_at).label("at")).where(turns.c.platform == platform)
        found: datetime | None = (await rows(self._engine, last))[0].at
        return found

    async def totals(self) -> TurnTotals:
        """All answers summed up."""
        sums = (func.coalesce(func.sum(column), 0) for column in _COSTS)
        async with read(self._engine) as db:
            found = (await db.execute(select(how_ended(), answers.c.seconds))).all()
            cost = (await db.execute(select(*sums))).one()
        seconds = sorted(row.seconds for row in found)
        return TurnTotals(
            turns=len(found),
            outcomes=dict(Counter(row.ended for row in found)),
            p50_seconds=percentile(seconds, 0.50),
            p95_seconds=percentile(seconds, 0.95),
            cost=Cost(*cost),
        )


def how_ended() -> ColumnElement[str]:
    """How an answer's question ended: `unsure` where the bot was not sure of what it answered, else the outcome."""
    unsure = (answers.c.outcome == "answered") & answers.c.unsure
    return case((unsure, "unsure"), else_=answers.c.outcome).label("ended")


def keep_answers(db: Connection, given: Sequence[tuple[str, Answered, datetime]]) -> None:
    """Inside the caller's transaction: turns, their answers and the moments they were given."""
    db.execute(_KEEP, [_answer(*each) for each in given])


def _answer(turn: str, given: Answered, at: datetime) -> dict[str, Any]:
    return {
        "turn": turn,
        "text": storable(given.text),
        "outcome": given.outcome,
        "citations": [asdict(citation) for citation in given.citations],
        "model": given.model,
        "seconds": given.seconds,
        **asdict(given.cost),
        "searched": list(given.searched),
        "confidence": given.confidence,
        "marked": given.marked,
        "unsure": given.unsure,
        "answered_at": at,
        "changes": changes_json(given.changes),
    }


def changes_json(changes: Sequence[PageChange]) -> list[dict[str, Any]] | None:
    return [asdict(change) for change in changes] or None


def answered(row: Any) -> Answered:
    """The answer as it was given, from a row of `answers`."""
    values: RowMapping = row._mapping
    return Answered(
        text=values[answers.c.text],
        citations=tuple(Citation(**citation) for citation in values[answers.c.citations]),
        outcome=values[answers.c.outcome],
        unsure=values[answers.c.unsure],
        model=values[answers.c.model],
        seconds=values[answers.c.seconds],
        cost=Cost(*(values[column] for column in _COSTS)),
        searched=tuple(values[answers.c.searched]),
        confidence=values[answers.c.confidence],
        marked=values[answers.c.marked],
        turn=values[answers.c.turn],
        changes=tuple(PageChange(**change) for change in values[answers.c.changes] or ()),
    )


def conversation(row: Any) -> Conversation:
    """From a row of both tables."""
    values: RowMapping = row._mapping
    return Conversation(values[turns.c.id], incoming(row), answered(row), values[answers.c.answered_at])


def incoming(row: Any) -> Incoming:
    """The question as it came in, from a row of `turns`."""
    values: RowMapping = row._mapping
    chosen = values[turns.c.collections]
    return Incoming(
        place=Place(values[turns.c.platform], values[turns.c.workspace], values[turns.c.channel]),
        thread=values[turns.c.thread],
        message=values[turns.c.message],
        author=values[turns.c.author],
        text=values[turns.c.text],
        audience=Audience(values[turns.c.audience]),
        language=values[turns.c.language],
        link=values[turns.c.link],
        model=values[turns.c.model],
        strategy=values[turns.c.strategy],
        collections=tuple(chosen) if chosen is not None else None,
    )


# What every turn runs is put together once.

_COSTS = tuple(answers.c[name] for name in Cost.__dataclass_fields__)
_LAST = 2**31 - 1  # the largest sequence that PostgreSQL's INTEGER holds
_KEEP = answers.insert()
_HIDDEN = (
    exists()
    .where(sources.c.turn == turns.c.id, sources.c.document == documents.c.id)
    .where(documents.c.scope.not_in(bindparam("scopes", expanding=True)), documents.c.scope.not_like(f"{THREAD}%"))
)
_SAID = (
    exists()
    .where(sources.c.turn == turns.c.id, sources.c.document == documents.c.id)
    .where(documents.c.said_in.is_not(None))
)
_AT_PLACE = (
    select(
        turns.c.id.label("turn"),
        turns.c.text.label("question"),
        answers.c.text.label("answer"),
        _HIDDEN.label("hidden"),
        _SAID.label("said"),
    )
    .join(answers, answers.c.turn == turns.c.id)
    .where(
        turns.c.platform == bindparam("platform"),
        turns.c.workspace == bindparam("workspace"),
        turns.c.channel == bindparam("channel"),
        turns.c.sequence < bindparam("before"),
        answers.c.outcome.in_(("answered", "unknown")),
    )
    .order_by(turns.c.sequence.desc())
    .limit(MAX_EXCHANGES)
)
_HISTORY = _AT_PLACE.where(turns.c.thread == bindparam("thread"))
_RECENT = _AT_PLACE.where(turns.c.claimed_at >= bindparam("since"))
