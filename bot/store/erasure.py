"""Deletion from the database of what is past its time, or of what a person wants gone: in short transactions, and so
that nothing of it is left in the file. Source: reliability.md R61; sqlite.org/lang_vacuum.html.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Row,
    Table,
    Text,
    and_,
    cast,
    delete,
    exists,
    or_,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.access import THREAD
from bot.errors import StoreError
from bot.store.engine import alone, at_leisure, change, execute, on_server, rows
from bot.store.feedback import words_of
from bot.store.followed import leave_out
from bot.store.outbox import is_row_of, without_words
from bot.store.schema import (
    answers,
    asks,
    audit,
    collections,
    dataset_jobs,
    documents,
    feedback,
    followed,
    followed_pages,
    held_files,
    intakes,
    messages,
    notices,
    opt_outs,
    pair_jobs,
    pairs,
    posts,
    questions,
    refusals,
    searches,
    sources,
    tokens,
    traces,
    turns,
)
from bot.store.searches import forget_searches
from bot.store.web_messages import expire_messages, forget_author, forget_confirms, forget_turns
from bot.store.withdrawal import hold_turns, strip, unquote

BATCH = 200  # rows a transaction: some ms of the writer's place
FORGOTTEN = "[forgotten]"

_IN_TEXTS: Mapping[Table, tuple[str, ...]] = {
    turns: ("text", "link"),
    answers: ("text", "citations", "changes"),
    traces: ("event",),
    questions: ("question", "detail", "link"),
    feedback: ("text",),
    searches: ("query",),
    documents: ("author", "owner"),
    collections: ("owner",),
    posts: ("data",),
    messages: ("text", "data"),
    notices: ("question", "answer"),
    pairs: ("question", "answer"),
    intakes: ("files",),
    dataset_jobs: ("choice", "progress", "problem"),
    audit: ("subject", "result"),
    followed_pages: ("people",),
}


@dataclass(frozen=True, slots=True)
class Expired:
    """The counts of one round of retention: turns deleted or, for the sake of an open miss, emptied; searches; and of
    what platforms are served with: posts, messages of the browser's rooms, intakes and traces."""

    deleted: int
    emptied: int
    searches: int
    others: int = 0

    def __bool__(self) -> bool:
        return bool(self.deleted or self.emptied or self.searches or self.others)


@dataclass(frozen=True, slots=True)
class Erased:
    """The records kept of a person. `turns` are the ids of their questions, which the chat log knows too."""

    turns: tuple[str, ...]
    votes: int
    searches: int
    documents: int  # that stay, without their author
    mentions: int  # rows of others that named them
    threads: int  # of channels, whose documents have what they said and are to be forgotten
    compacted: bool  # nothing of it is left in the database's files either


class Erasure:
    """Deletes by age and by person. A turn goes with its answer, its trace, its votes and its misses."""

    def __init__(self, engine: AsyncEngine, *, batch: int = BATCH) -> None:
        self._engine = engine
        self._batch = batch

    # -- by age -----------------------------------------------------------------------------------------------------

    async def expire(self, *, before: datetime, inbox_before: datetime, audit_before: datetime) -> Expired:
        """Delete what was asked before `before`, and before `inbox_before` what was claimed and ended without an
        answer.

        With a turn go its posts and notices. Posts of else but cards that can still be answered, messages of the
        browser's rooms, ended dataset jobs, and intakes that were never done, go before `before`, done intakes before
        `inbox_before`, the traces of privileged acts before `audit_before`.

        A turn with an open miss is the team's to do: question, place and link of the miss stay, the person, the answer,
        its trace and the votes go. Open turns that somebody holds are left alone. Raises StoreError.
        """
        lapsed = and_(turns.c.state != "done", turns.c.lease_until < before)
        over = and_(turns.c.claimed_at < before, or_(turns.c.state == "done", lapsed))
        idle = and_(turns.c.claimed_at < inbox_before, turns.c.state == "done", ~exists().where(_answered))
        wanted = exists().where(questions.c.turn == turns.c.id, questions.c.resolved_at.is_(None))
        deleted = await self._in_batches(or_(over, idle) & ~wanted, lambda db, ids: _delete_turns(db, ids))
        emptied = await self._in_batches(over & wanted & (turns.c.author != ""), _empty_turns)
        gone = await self._delete(searches, searches.c.at < before)
        done = intakes.c.done.is_(True) & (intakes.c.made_at < inbox_before)
        others = [
            await self._delete(posts, (posts.c.at < before) & ~_offers),
            await self._slices(lambda db: expire_messages(db, before, self._batch)),
            await self._delete(intakes, or_(done, intakes.c.made_at < before)),
            await self._delete(dataset_jobs, (dataset_jobs.c.state != "running") & (dataset_jobs.c.finished < before)),
            await self._delete(audit, audit.c.at < audit_before),
        ]
        return Expired(deleted, emptied, gone, sum(others))

    async def thread_documents(self, *, before: datetime) -> list[str]:
        """The ids of documents for one thread only, the files that came with questions, that are older than this."""
        old = documents.c.scope.startswith(THREAD, autoescape=True) & (documents.c.updated_at < before)
        return [row.id for row in await rows(self._engine, select(documents.c.id).where(old))]

    async def _delete(self, table: Table, which: ColumnElement[bool]) -> int:
        return await self._slices(lambda db: _delete_some(db, table, which, self._batch))

    async def _in_batches(self, which: ColumnElement[bool], work: Callable[[Connection, Sequence[str]], None]) -> int:
        some = select(turns.c.id).where(which).order_by(turns.c.sequence).limit(self._batch).with_for_update()

        def one(db: Connection) -> int:
            ids = list(db.scalars(some))
            if ids:
                work(db, ids)
            return len(ids)

        return await self._slices(one)

    async def _slices(self, one: Callable[[Connection], int]) -> int:
        """Transaction after transaction: between two of them others write."""
        total = 0
        while done := await change(self._engine, one):
            total += done
        return total

    # -- by person --------------------------------------------------------------------------------------------------

    async def forget(self, platform: str, person: str) -> Erased:
        """Erase a person: their questions with all that came of them, their votes and words, their name on documents
        and wherever others named them. Documents they added stay: they are the team's. Raises StoreError.
        """
        theirs = (turns.c.platform == platform) & (turns.c.author == person)
        found = await rows(self._engine, select(turns).where(theirs))
        for some in _portions(found, self._batch):
            await change(self._engine, partial(_unquote_all, questions=some, now=datetime.now(UTC)))
        asked = sum(
            [await change(self._engine, partial(forget_searches, asked=some)) for some in _portions(found, self._batch)]
        )
        for some in _portions(found, self._batch):
            await change(self._engine, partial(_take_back, ids=[row.id for row in some]))
        votes = await self._forget_votes(platform, person)
        added = update(documents).where(documents.c.author == person).values(author="")
        authored = await execute(self._engine, added)
        await change(self._engine, partial(_delete_acts, platform=platform, person=person))
        who = f"{platform}:{person}"
        threads = await change(self._engine, lambda db: leave_out(db, who, datetime.now(UTC)))
        mentions = await self._forget_mentions(person)
        questions_of_theirs = tuple(row.id for row in found)
        done = await compact(self._engine)
        return Erased(questions_of_theirs, votes, asked, authored, mentions, threads, done)

    async def _forget_votes(self, platform: str, person: str) -> int:
        """Their votes, and what a miss says in their words; a miss that only they reported goes, unless it was
        resolved."""
        theirs = select(feedback.c.turn).join(turns, turns.c.id == feedback.c.turn)
        voted = await rows(self._engine, theirs.where(turns.c.platform == platform, feedback.c.author == person))
        for some in _portions(voted, self._batch):
            await change(self._engine, partial(_delete_votes, person=person, ids=[row.turn for row in some]))
        return len(voted)

    async def _forget_mentions(self, person: str) -> int:
        """Keeps what others wrote, without the id. One that may be a word is left alone."""
        if not is_distinct(person):
            return 0
        total = 0
        for table, columns in _IN_TEXTS.items():
            named = or_(*(cast(table.c[name], Text).contains(person, autoescape=True) for name in columns))
            for some in _portions(await rows(self._engine, select(*table.primary_key).where(named)), self._batch):
                which = tuple_(*table.primary_key).in_([tuple(key) for key in some])
                texts = [table.c[name] for name in columns]
                await change(self._engine, partial(_unname, table=table, which=which, texts=texts, person=person))
                total += len(some)
        return total


def is_distinct(person: str) -> bool:
    """Whether an id is surely no word. Some of Slack's have no digit, and none has a small letter."""
    return len(person) >= 6 and (person.isupper() or any(map(str.isdigit, person)))


async def close_open_turns(engine: AsyncEngine) -> int:
    """Questions, files and notices that were open when this database was copied: whoever held them has long answered,
    read and said them, and asked whoever was to be asked. Q/A pairs that were being written wait until somebody asks
    for them again: they cost money. Datasets that were being added are stopped."""
    closed = update(turns).where(turns.c.state != "done").values(state="done", owner=None, lease_until=None)
    read = update(intakes).where(intakes.c.done.is_(False)).values(done=True, owner=None, lease_until=None)

    paused = update(pair_jobs).where(pair_jobs.c.state == "running")
    stopped = update(dataset_jobs).where(dataset_jobs.c.state == "running")

    def close(db: Connection) -> int:
        db.execute(read)
        db.execute(paused.values(state="paused", reason="asked", owner=None, lease_until=None))
        db.execute(stopped.values(state="cancelled", finished=dataset_jobs.c.started, owner=None, lease_until=None))
        db.execute(delete(notices))
        db.execute(delete(asks).where(asks.c.sent_at.is_(None)))
        return db.execute(closed).rowcount

    return await change(engine, close)


async def compact(engine: AsyncEngine) -> bool:
    """Rewrite the database, so that what was deleted is nowhere in its files; False when others keep it too busy.

    On PostgreSQL the space is given free; the server overwrites it in its own time.
    """
    sqlite = not on_server(engine)
    try:
        if sqlite:
            async with alone(engine) as db:
                await db.execute(text("VACUUM"))
                done = (await db.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))).one()
            return not done[0]  # 1: a reader or writer was in the way
        async with alone(engine, isolation_level="AUTOCOMMIT") as db:
            await db.execute(text("SET statement_timeout = 0"))
            try:
                for table in _IN_TEXTS:
                    await at_leisure(db, f"VACUUM {table.name}")
            finally:
                await db.execute(text("RESET statement_timeout"))
        return True
    except (SQLAlchemyError, StoreError, OSError):
        return False


# -- of one question, inside the caller's transaction ----------------------------------------------------------------


def forget_answer(db: Connection, turn: str) -> None:
    """All that came of a question: its answer and how that came about, votes, misses and what was still to be said.
    What was posted of it is there as before; cards with its words are open again, until they are drawn without."""
    asked = {*db.scalars(select(questions.c.id).where(questions.c.turn == turn))}
    if asked:
        forget_confirms(db, asked)
    for card in _cards_of(db, asked):
        db.execute(update(posts).where(is_row_of(card)).values(data={**card.data, "closed": False}))
    strip(db, {turn})
    for table in (answers, traces, sources, feedback, questions, notices, refusals):
        db.execute(delete(table).where(table.c.turn == turn))


_answered = answers.c.turn == turns.c.id
# A card whose question is open, as it may be for longer than anything else is kept.
_offers = and_(
    posts.c.kind == "card",
    posts.c.data["closed"].as_boolean().is_(False),
    posts.c.data["questions"].as_string() != "[]",
)


def _unquote_all(db: Connection, questions: Sequence[Row[Any]], now: datetime) -> None:
    for question in questions:
        unquote(db, question, now)


def _take_back(db: Connection, ids: Sequence[str]) -> None:
    hold_turns(db, ids)
    strip(db, {*ids})
    _delete_turns(db, ids, drawn=True)


def _delete_turns(db: Connection, ids: Sequence[str], *, drawn: bool = False) -> None:
    """Of turns that the caller holds. `drawn`: as for `_clear_cards`."""
    db.execute(delete(posts).where(posts.c.about.in_(ids)))
    asked = set(db.scalars(select(questions.c.id).where(questions.c.turn.in_(ids))))
    db.execute(delete(turns).where(turns.c.id.in_(ids)))  # the rest goes with them, by their foreign keys
    _clear_cards(db, ids, asked, drawn=drawn)


def _clear_cards(db: Connection, ids: Collection[str], asked: Collection[int], *, drawn: bool) -> None:
    """A digest's card holds the words of the questions it offers, and what was complained of; with it go what the bot
    said in these turns in the browser's rooms. One with questions that are still open is drawn anew without them, and
    so is one that is not closed, if cards are to be `drawn`."""
    cards = _cards_of(db, asked)
    offered = {question for card in cards for question in card.data["questions"]}
    still = {*db.scalars(select(questions.c.id).where(questions.c.id.in_(offered), questions.c.resolved_at.is_(None)))}

    def stays(card: Mapping[str, Any]) -> bool:
        return not still.isdisjoint(card["questions"]) or (drawn and not card.get("closed", True))

    for card in cards:
        row = is_row_of(card)
        if stays(card.data):
            db.execute(update(posts).where(row).values(data=without_words(card.data)))
        else:
            db.execute(delete(posts).where(row))
    forget_turns(db, ids, asked, stays)


def _cards_of(db: Connection, asked: Collection[int]) -> list[Any]:
    """The cards (rows) that offer, or have offered, one of these questions."""
    if not asked:
        return []
    found = db.execute(select(posts).where(posts.c.kind == "card")).all()
    return [card for card in found if not {*asked}.isdisjoint(card.data.get("questions", ()))]


def _empty_turns(db: Connection, ids: Sequence[str]) -> None:
    for table in (answers, traces, sources, feedback, asks):
        db.execute(delete(table).where(table.c.turn.in_(ids)))
    db.execute(update(turns).where(turns.c.id.in_(ids)).values(author="", text="", state="done", owner=None))


def _delete_some(db: Connection, table: Table, which: ColumnElement[bool], most: int) -> int:
    key = [*table.primary_key.columns]
    return db.execute(delete(table).where(tuple_(*key).in_(select(*key).where(which).limit(most)))).rowcount


def _delete_acts(db: Connection, platform: str, person: str) -> None:
    """Deletes what they wrote in the browser's rooms; files and datasets they were adding; their name on what they did
    to the team's knowledge and look after, on questions they were asked, and on answers still to be told."""
    forget_author(db, platform, person)
    theirs = and_(intakes.c.platform == platform, intakes.c.author == person)
    held = [file["ref"].get("held") for files in db.scalars(select(intakes.c.files).where(theirs)) for file in files]
    who = f"{platform}:{person}"
    given = dataset_jobs.c.author == who
    held += [choice.get("id") for choice in db.scalars(select(dataset_jobs.c.choice).where(given))]
    db.execute(delete(held_files).where(held_files.c.key.in_(held)))
    db.execute(delete(intakes).where(theirs))
    db.execute(delete(dataset_jobs).where(given))
    db.execute(update(audit).where(audit.c.actor == who).values(actor=f"{platform}:{FORGOTTEN}"))
    db.execute(update(notices).where(notices.c.by == who).values(by=None))
    asked = and_(posts.c.kind == "confirm", posts.c.platform == platform)
    for row in db.execute(select(posts.c.about, posts.c.data).where(asked)).all():
        if row.data.get("by") == person:
            db.execute(delete(posts).where(asked, posts.c.about == row.about))
    db.execute(delete(asks).where(or_(asks.c.by == who, asks.c.recipient == who)))
    db.execute(delete(opt_outs).where(opt_outs.c.person == who))
    db.execute(update(followed).where(followed.c.added_by == who).values(added_by=f"{platform}:{FORGOTTEN}"))
    db.execute(update(tokens).where(tokens.c.added_by == who).values(added_by=f"{platform}:{FORGOTTEN}"))
    for table in (documents, collections):
        db.execute(update(table).where(table.c.owner == who).values(owner=None))


def _delete_votes(db: Connection, person: str, ids: Collection[str]) -> None:
    db.execute(delete(feedback).where(feedback.c.turn.in_(ids), feedback.c.author == person))
    reported = and_(questions.c.turn.in_(ids), questions.c.reason == "reported")
    said_of = set(db.scalars(select(questions.c.id).where(reported)))
    downs = select(feedback.c.turn, feedback.c.reason, feedback.c.text)
    left = db.execute(downs.where(feedback.c.turn.in_(ids), feedback.c.vote == "down").order_by(feedback.c.at)).all()
    still = {row.turn for row in left}
    db.execute(delete(questions).where(reported, questions.c.turn.not_in(still), questions.c.resolved_at.is_(None)))
    db.execute(update(questions).where(reported).values(detail=""))
    for turn in still:
        detail = words_of(row for row in left if row.turn == turn)
        db.execute(update(questions).where(reported, questions.c.turn == turn).values(detail=detail))
    _clear_cards(db, (), said_of, drawn=True)


def _unname(
    db: Connection, table: Table, which: ColumnElement[bool], texts: Sequence[Column[Any]], person: str
) -> None:
    """Inside the transaction that has read them, so that what others write in these texts meanwhile stays."""
    keys = [*table.primary_key]
    for row in db.execute(select(*keys, *texts).where(which).with_for_update()).all():
        values = {column.name: _without(row._mapping[column], person) for column in texts}
        db.execute(update(table).where(*(key == row._mapping[key] for key in keys)).values(**values))


def _without(value: Any, person: str) -> Any:
    match value:
        case str():
            return value.replace(person, FORGOTTEN)
        case list():
            return [_without(inner, person) for inner in value]
        case dict():
            return {name: _without(inner, person) for name, inner in value.items()}
        case _:
            return value


def _portions(found: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (found[at : at + size] for at in range(0, len(found), size))
