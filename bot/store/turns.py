"""The inbox's rows: every question from its claim to its shown answer, so that nothing of it rests on memory.

An open turn belongs to its owner until the lease on it passes. Times are the caller's; leases go by `bot.store.leases`,
and no clock takes from this process what it holds itself (`held`)."""

import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    and_,
    bindparam,
    case,
    func,
    not_,
    select,
    tuple_,
    update,
)
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.events import Answered
from bot.errors import LostError, StoreError
from bot.store.batching import WriteBatcher
from bot.store.conversations import answered, incoming, keep_answers
from bot.store.engine import at_place, change, execute, insert, look, on_server, rows, storable
from bot.store.erasure import forget_answer
from bot.store.leases import free, lease, present, renew
from bot.store.schema import answers, turns
from bot.store.searches import empty_queries, forget_searches
from bot.store.traces import Noted, keep_traces, withheld
from bot.store.unanswered import MissedQuestion, add_misses
from bot.store.withdrawal import empty_steps, hold_turns, posted, show_again, take_notices_back, unquote, withdraw_from
from bot.types import EDITS, Claimed, Incoming, Place, Stopped
from retrieval.text import normalise

State = Literal["waiting", "running", "answered", "done"]
Thread = tuple[str, str, str, str]  # platform, workspace, channel, thread

SOON, PATIENCE = timedelta(minutes=2), timedelta(days=1)  # a platform may be away for hours
LATER = timedelta(hours=1)  # by which Discord counts the edits of old messages
BESIDE = timedelta(minutes=1)  # for which the end of a showing may wait for the database, while the answer changes
AT_ONCE = 100  # answers that wait to be put in order
SIDE_BY_SIDE = 20  # answers that a process shows again at a time


@dataclass(frozen=True, slots=True)
class Started:
    """A turn's place has come. `answer` is there already when an earlier try stored but never showed it."""

    attempt: int
    answer: Answered | None


@dataclass(frozen=True, slots=True)
class Blocked:
    """Others come first; `owners` hold them."""

    owners: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Ended:
    turn: str
    answer: Answered
    owner: str
    steps: Sequence[Noted]
    misses: Sequence[MissedQuestion]
    now: datetime


class TurnStore:
    """The claims. Source: reliability.md R3, R5 and R9."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._finishing = WriteBatcher(self._finish, name="turns-finish")
        self._showing = WriteBatcher(self._shown, name="turns-shown")

    async def claim(
        self,
        messages: Mapping[str, Incoming],
        *,
        owner: str,
        now: datetime,
        until: datetime,
        held: Collection[str] = (),
    ) -> dict[str, Claimed]:
        """Take questions, each by a fresh turn id, in one transaction; the first of a thread that is free starts with
        it.

        A question is taken that is new, or open and abandoned (it keeps its id). Those in the result are now this
        owner's, under the ids they were given here; the rest are somebody's, or done.
        """

        def take(db: Connection) -> tuple[dict[Thread, list[Any]], list[dict[str, Any]], dict[str, int], Sequence[Any]]:
            at, end = lease(db, now, until)
            ahead = _open_turns(db, messages.values(), at, held)
            # On PostgreSQL the claims of others show only when they are committed: there `start` decides.
            free = {thread for thread, others in ahead.items() if not others} if not on_server(db) else set()
            new = []
            for turn, message in messages.items():
                started = _thread(message) in free
                free.discard(_thread(message))
                new.append(_new(turn, message, owner, at, end, started))
            added = {row.id: row.sequence for row in db.execute(_add(db), new)}
            left = [values["claim"] for values in new if values["id"] not in added]
            return ahead, new, added, _take(db, left, owner, at, end, held) if left else ()

        ahead, new, added, taken = await change(self._engine, take)
        known = {values["claim"]: values["id"] for values in reversed(new) if values["id"] not in added}
        found = {
            known[row.claim]: replace(_again(row), edits=row.edits, answered=row.state == "answered") for row in taken
        }
        queues = {thread: [row.sequence for row in held if row.state == "waiting"] for thread, held in ahead.items()}
        for row in taken:
            if row.state == "waiting" and (queue := queues.get(_thread(incoming(row)))) is not None:
                queue.append(row.sequence)
        for values in new:
            if (sequence := added.get(values["id"])) is not None:
                message = replace(messages[values["id"]], text=values["text"])
                queue = queues[_thread(message)]
                waiting = sum(other < sequence for other in queue)
                started = values["state"] == "running"
                found[values["id"]] = Claimed(values["id"], message, sequence, waiting, started)
                if not started:
                    queue.append(sequence)
        return found

    async def start(
        self, claimed: Claimed, *, owner: str, now: datetime, held: Collection[str] = ()
    ) -> Started | Blocked:
        """Start a turn if nothing of its thread runs and nothing that goes before it is held by a living owner: what
        came earlier, and, since it has only to be shown, what is answered already. So of two that were left by the
        dead one always waits for the other, never each for the other.

        Raises LostError. One that has started with its claim is not looked up again.
        """
        if claimed.started:
            return Started(1, None)

        def start(db: Connection) -> Started | Blocked:
            # The open turns of the thread are locked together, so that on PostgreSQL too only one starter decides.
            here = and_(at_place(turns, claimed.message.place), turns.c.thread == claimed.message.thread)
            queue = db.execute(_OPEN_ONES.where(here)).all()
            mine = next((row for row in queue if row.id == claimed.id and row.owner == owner), None)
            if mine is None:
                raise LostError(claimed.id)
            at = present(db, now)
            blocking = [
                row.owner
                for row in queue
                if row.id != mine.id
                and _alive(row, at, held)
                and (row.state == "running" or _order(row) < _order(mine))
            ]
            if blocking:
                return Blocked(frozenset(blocking))
            state: State = "answered" if mine.state == "answered" else "running"
            db.execute(update(turns).where(turns.c.id == mine.id).values(state=state, attempts=mine.attempts + 1))
            answer = None
            if state == "answered":
                answer = answered(db.execute(select(answers).where(answers.c.turn == mine.id)).one())
            return Started(mine.attempts + 1, answer)

        return await change(self._engine, start)

    async def finish(
        self,
        claimed: Claimed,
        answer: Answered,
        *,
        owner: str,
        steps: Sequence[Noted],
        misses: Sequence[MissedQuestion],
        now: datetime,
    ) -> None:
        """Store a turn's answer, what it cost and what it missed, and its trace (`keep_traces`), in one transaction,
        which turns that end together share. Raises LostError."""
        ended = _Ended(claimed.id, answer, owner, steps, misses, now)
        try:
            kept = await self._finishing(ended)
        except StoreError:
            if not await self._is_kept(ended):
                raise
        else:
            if not kept and not await self._is_kept(ended):
                raise LostError(claimed.id)

    async def _is_kept(self, ended: _Ended) -> bool:
        """Whether a turn's end was committed, though what the server said to that was lost."""
        its = and_(_mine(ended.turn, ended.owner), turns.c.state == "answered", answers.c.turn == turns.c.id)
        same = answers.c.text == storable(ended.answer.text)
        return bool(await rows(self._engine, select(turns.c.id).where(its, same)))

    async def _finish(self, ended: Sequence[_Ended]) -> list[bool]:
        def finish(db: Connection) -> list[bool]:
            kept: set[str] = set()
            for owner in {each.owner for each in ended}:
                theirs = [each for each in ended if each.owner == owner]
                values = {"now": theirs[0].now, "mine": owner, "ids": [each.turn for each in theirs]}
                kept.update(db.scalars(_FINISH, values))
            stored = [each for each in ended if each.turn in kept]
            if stored:
                keep_answers(db, [(each.turn, each.answer, each.now) for each in stored])
                keep_traces(db, [(each.turn, each.steps) for each in stored])
            add_misses(db, [miss for each in stored for miss in each.misses])
            return [each.turn in kept for each in ended]

        return await change(self._engine, finish)

    async def shown(self, turn: str, *, owner: str, now: datetime) -> None:
        """The answer has reached its thread: the turn is done, unless other words have taken the answer's place
        meanwhile."""
        await self._showing((turn, owner, now))

    async def _shown(self, shown: Sequence[tuple[str, str, datetime]]) -> list[None]:
        now = max(now for _, _, now in shown) + BESIDE
        ids = [turn for turn, _, _ in shown]

        def mark(db: Connection) -> None:
            rewritten = db.execute(_REWRITTEN, {"ids": ids, "now": now}).all()
            again = {turn for turn, stands in rewritten if stands}
            if rewritten:
                hold_turns(db, ended := [turn for turn, _ in rewritten])
                db.execute(update(answers).where(answers.c.turn.in_(ended)).values(show_at=None))
                empty_steps(db, withheld(db, again))  # which were drawn anew with this answer
            for turn, owner, _ in shown:
                if turn in again:
                    db.execute(update(turns).where(_mine(turn, owner)).values(owner=None, lease_until=now, attempts=0))
            for owner in {owner for _, owner, _ in shown}:
                db.execute(_DONE, {"mine": owner, "ids": [turn for turn, theirs, _ in shown if theirs == owner]})

        await change(self._engine, mark)
        return [None] * len(shown)

    async def withdraw(self, turn: str, documents: Mapping[str, str], now: datetime) -> None:
        """Take documents (names by id) out of an answer, its trace and its steps: they went before it was stored."""
        await change(self._engine, lambda db: withdraw_from(db, [turn], documents, now))

    async def show_later(self, turn: str, *, now: datetime) -> None:
        """Its platform does not take its answer, or what is to be changed of it: again after as long as it has waited.
        What stands nowhere yet is given up once PATIENCE is over."""

        def put_off(db: Connection) -> None:
            kept = db.execute(select(turns.c.finished_at, posted(turn)).where(turns.c.id == turn)).first()
            if kept is None:  # deleted meanwhile
                return
            finished, stands = kept
            waited = now - (finished or now)
            if stands or waited < PATIENCE:
                later = update(answers).where(answers.c.turn == turn)
                db.execute(later.values(show_at=now + min(max(waited, SOON), LATER)))

        await change(self._engine, put_off)

    async def show_due(self, now: datetime) -> None:
        """Answers that their platform would not take yet are shown again."""
        wanted = select(answers.c.turn).where(answers.c.show_at <= now).limit(AT_ONCE)
        due = [row.turn for row in await rows(self._engine, wanted)]
        if not due:
            return

        def show(db: Connection) -> None:
            hold_turns(db, due)
            db.execute(update(answers).where(answers.c.turn.in_(due)).values(show_at=None))
            for turn in due:
                show_again(db, turn, now, due=True)

        await change(self._engine, show)

    async def release(self, turn: str, *, owner: str, now: datetime) -> None:
        """Give an open turn back, so that whoever looks for abandoned ones finds it at once."""
        given = update(turns).where(_mine(turn, owner), turns.c.state != "done")
        await execute(self._engine, given.values(owner=None, lease_until=now))

    async def renew(self, held: Collection[str], *, owner: str, now: datetime, until: datetime) -> None:
        """The owner is alive and still holds these turns."""
        theirs = and_(turns.c.id.in_(held), turns.c.owner == owner, turns.c.state != "done")
        await renew(self._engine, turns, theirs, now, until)

    async def describe(self, claimed: Claimed, message: Incoming, *, owner: str) -> None:
        """Keep what was looked up of a question after its claim: who reads its place, its link, its language."""
        values = {"audience": message.audience.visibility, "link": message.link, "language": message.language}
        described = update(turns).where(_mine(claimed.id, owner)).values(values)
        await execute(self._engine, described, durable=False)

    async def knows(self, message: Incoming) -> bool:
        """Whether this question was claimed and is not done."""
        wanted = select(turns.c.id).where(turns.c.claim == claim_key(message), turns.c.state != "done")
        return bool(await rows(self._engine, wanted))

    async def cancel(self, message: Incoming) -> bool:
        """Close a question that has no answer yet, whoever works on it: its owner has lost it. Was it open?"""
        open_one = update(turns).where(turns.c.claim == claim_key(message), turns.c.state.in_(("waiting", "running")))
        return bool(await execute(self._engine, open_one.values(state="done", owner=None, lease_until=None)))

    async def stop(
        self, place: Place, thread: str, author: str, *, until: str, note: Callable[[Incoming], Answered], now: datetime
    ) -> Stopped:
        """Answer what somebody asked in a thread, in messages up to `until`, with a note that is yet to be shown,
        unless it has an answer. Whoever works on it has lost it."""

        def stop(db: Connection) -> Stopped:
            here = and_(at_place(turns, place), turns.c.thread == thread, turns.c.state.in_(("waiting", "running")))
            found = db.execute(_OPEN_ONES.where(here)).all()
            ended = [row for row in found if row.author == author and _age(row.message) <= _age(until)]
            if ended:
                given = {"state": "answered", "attempts": 0, "owner": None, "lease_until": now, "finished_at": now}
                db.execute(update(turns).where(turns.c.id.in_([row.id for row in ended])).values(given))
                keep_answers(db, [(row.id, note(incoming(row)), now) for row in ended])
            claimed = {row.id: _again(row) for row in found}
            theirs = tuple(claimed.pop(row.id) for row in ended)
            return Stopped(theirs, tuple(claimed.values()))

        return await change(self._engine, stop)

    async def amend(self, message: Incoming, *, now: datetime) -> bool:
        """Put new words to a question and take it from whoever works on it. One that is answered is open again, without
        all that came of it but what was posted, unless it was edited `EDITS` times. Is it open? Not because of an edit
        that says the same as before, but for a question of which nothing is posted: it was none for a while."""
        said = {"text": storable(message.text), "language": message.language}
        new = said | {"state": "waiting", "attempts": 0, "owner": None, "lease_until": now}

        def amend(db: Connection) -> bool:
            wanted = select(turns).where(turns.c.claim == claim_key(message), turns.c.deleted_at.is_(None))
            row = db.execute(wanted.with_for_update()).first()
            if row is None:
                return False
            values, is_open = dict(new), row.state in ("waiting", "running")
            if _wording(row.text) == _wording(message.text) and (is_open or db.scalar(select(posted(row.id)))):
                return False
            if not is_open and row.edits >= EDITS:
                return False
            empty_queries(db, row.id)
            if not is_open:
                forget_answer(db, row.id)
                take_notices_back(db, row.id, now)
                values |= {"edits": row.edits + 1, "author": message.author, "link": message.link}
            db.execute(update(turns).where(turns.c.id == row.id).values(values))
            return True

        return await change(self._engine, amend)

    async def delete(self, message: Incoming, *, now: datetime) -> Claimed | None:
        """Its asker took a question back: close it, whoever works on it, and keep nothing of it but its claim and where
        it was posted. None: there is no such question."""

        def empty(db: Connection) -> Claimed | None:
            wanted = select(turns).where(turns.c.claim == claim_key(message), turns.c.deleted_at.is_(None))
            row = db.execute(wanted.with_for_update()).first()
            if row is None:
                return None
            forget_answer(db, row.id)
            forget_searches(db, [row])
            unquote(db, row, now)
            left = {"text": "", "author": "", "link": None, "state": "done", "owner": None, "lease_until": None}
            db.execute(update(turns).where(turns.c.id == row.id).values(left | {"deleted_at": now}))
            return _again(row)

        return await change(self._engine, empty)

    async def deleted(self, platform: str) -> list[Claimed]:
        """The questions of a platform that were taken back while something is still posted of them."""
        left = (turns.c.deleted_at.is_not(None), turns.c.platform == platform, posted(turns.c.id))
        wanted = select(turns).where(*left)
        found = await rows(self._engine, wanted.order_by(turns.c.sequence))
        return [_again(row) for row in found]

    async def unfinished(self, platform: str, *, now: datetime, held: Collection[str] = ()) -> list[Incoming]:
        """The open questions of a platform that nobody living holds, oldest first. Of those that are only shown again
        (thousands, where a document is forgotten that many answers rest on) the latest, and no more than this process
        shows side by side."""

        def unfinished(db: Connection) -> list[Incoming]:
            its = (turns.c.platform == platform, free(turns, present(db, now)))
            again = and_(turns.c.state == "answered", posted(turns.c.id))
            asked = select(turns).where(*its, turns.c.state != "done", not_(again)).order_by(turns.c.sequence)
            showing = select(func.count()).where(turns.c.id.in_(held), again)
            room = max(0, SIDE_BY_SIDE - (db.scalar(showing) or 0))
            latest = select(turns).where(*its, again).order_by(turns.c.finished_at.desc()).limit(room)
            found = [*db.execute(asked), *db.execute(latest)]
            return [incoming(row) for row in found if row.id not in held]

        return await look(self._engine, unfinished)


def claim_key(message: Incoming) -> str:
    """The key of a person's act, once: platform, workspace, channel and message (R3)."""
    place = message.place
    return "\x1f".join((place.platform, place.workspace, place.channel, message.message))


def _wording(text: str) -> str:
    """Equal for texts that differ in width, case, spaces and punctuation only, but for what stands within numbers."""
    text = f" {normalise(text)} "
    return "".join(
        sign
        for last, sign, following in zip(text, text[1:], text[2:], strict=False)
        if unicodedata.category(sign)[0] not in "PZC" or (last.isdigit() and following.isdigit())
    )


def _again(row: Any) -> Claimed:
    return Claimed(row.id, incoming(row), row.sequence, waiting=0, retaken=True)


def _age(message: str) -> tuple[int, str]:
    """Platforms number their messages as they come."""
    return len(message), message


def _mine(turn: str, owner: str) -> ColumnElement[bool]:
    return and_(turns.c.id == turn, turns.c.owner == owner)


def _new(turn: str, message: Incoming, owner: str, now: datetime, until: datetime, started: bool) -> dict[str, Any]:
    return asdict(message.place) | {
        "id": turn,
        "claim": claim_key(message),
        "thread": message.thread,
        "message": message.message,
        "author": message.author,
        "text": storable(message.text),
        "audience": message.audience.visibility,
        "language": message.language,
        "link": message.link,
        "model": message.model,
        "strategy": message.strategy,
        "collections": list(message.collections) if message.collections is not None else None,
        "state": "running" if started else "waiting",
        "attempts": 1 if started else 0,
        "owner": owner,
        "lease_until": until,
        "claimed_at": now,
    }


def _thread(message: Incoming) -> Thread:
    place = message.place
    return (place.platform, place.workspace, place.channel, message.thread)


def _order(row: Any) -> tuple[bool, int]:
    """Its place among the open turns of a thread."""
    return row.state != "answered", row.sequence


def _alive(row: Any, now: datetime, held: Collection[str]) -> bool:
    """Whether somebody living holds this open turn."""
    return row.owner is not None and (row.lease_until > now or row.id in held)


def _open_turns(
    db: Connection, messages: Iterable[Incoming], now: datetime, held: Collection[str]
) -> dict[Thread, list[Any]]:
    """The turns that somebody living holds in the threads of `messages`: thread, sequence and state of each turn."""
    found: dict[Thread, list[Any]] = {_thread(message): [] for message in messages}
    for row in db.execute(_OPEN, {"threads": list(found)}):
        if _alive(row, now, held):
            found[(row.platform, row.workspace, row.channel, row.thread)].append(row)
    return found


def _add(db: Connection) -> Executable:
    added: Executable = (
        insert(db, turns).on_conflict_do_nothing(index_elements=["claim"]).returning(turns.c.id, turns.c.sequence)
    )
    return added


def _take(
    db: Connection, claims: Collection[str], owner: str, now: datetime, until: datetime, held: Collection[str]
) -> Sequence[Any]:
    """The open turns among `claims` that nobody living holds: they are this owner's now."""
    abandoned = (
        update(turns)
        .where(turns.c.claim.in_(claims), turns.c.state != "done", free(turns, now), turns.c.id.not_in(held))
        .values(owner=owner, lease_until=until, state=_STOPPED)
        .returning(turns)
    )
    taken: Sequence[Any] = db.execute(abandoned).all()
    return taken


_OPEN_ONES = select(turns).where(turns.c.state != "done").order_by(turns.c.sequence).with_for_update()
_STOPPED = case((turns.c.state == "running", "waiting"), else_=turns.c.state)  # what its owner left runs no more

# What every turn runs is put together once: that takes SQLAlchemy longer than the statement takes the database.

_THREAD = (turns.c.platform, turns.c.workspace, turns.c.channel, turns.c.thread)
_OPEN = select(*_THREAD, *(turns.c.id, turns.c.sequence, turns.c.state, turns.c.owner, turns.c.lease_until)).where(
    tuple_(*_THREAD).in_(bindparam("threads", expanding=True)),
    turns.c.state.in_(("waiting", "running", "answered")),  # few: found by the index of the states
)
_THEIRS = and_(turns.c.id.in_(bindparam("ids", expanding=True)), turns.c.owner == bindparam("mine"))
_FINISH = (
    update(turns)
    .where(_THEIRS, turns.c.state.in_(("waiting", "running")))
    .values(state="answered", finished_at=bindparam("now"))
    .returning(turns.c.id)
)
_DONE = update(turns).where(_THEIRS, turns.c.state == "answered").values(state="done", owner=None, lease_until=None)
_REWRITTEN = select(answers.c.turn, posted(answers.c.turn)).where(
    answers.c.turn.in_(bindparam("ids", expanding=True)), answers.c.show_at <= bindparam("now")
)
