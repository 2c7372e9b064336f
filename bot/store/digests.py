"""Which digests were sent, who is sending one now, and the numbers of a time that they report."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, Text, cast, delete, exists, func, or_, select, update

from bot.records import Period
from bot.store.engine import Store, change, execute, insert, read, rows
from bot.store.leases import lease, present
from bot.store.schema import answers, digests, feedback, questions, turns
from bot.store.threads import follows
from bot.types import MissReason

AHEAD = timedelta(days=8)  # of the clock: rows up to there are believed
TRIES = 12  # with the waits between them most of a working day; then it is left to the next one

_SEARCHED = cast(answers.c.searched, Text) != "[]"  # a greeting, thanks or a sum is not


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers of a period, whoever asked and wherever. A question missed for two reasons is one in `missed`."""

    asked: int
    answered: int
    missed: int
    resolved: int  # of those missed: closed by now
    reasons: Mapping[MissReason, int]
    sure: int = 0  # answered after a search, without a doubt of the bot's own or a thumbs-down


@dataclass(frozen=True, slots=True)
class PublicQuestion:
    """A question that was put where the whole team reads, answered or not."""

    turn: str
    text: str
    link: str | None
    follows: bool  # something was asked in its thread before


class Digests(Store):
    """Claims on digests, by the time they were due. Times are the caller's, in UTC.

    A row is held by its owner until the lease passes (`bot.store.leases`); then whoever asks first sends it again.
    """

    async def begin(self, now: datetime) -> None:
        """Write down that digests begin now, if no digest is known yet: what was due before is never sent.

        A beginning that lies in the future was written down by a clock that had gone wrong, and is moved to now.
        """
        wrong = (digests.c.state == "began") & (digests.c.due > now + AHEAD)
        async with read(self._engine) as db:
            known = (await db.execute(select(digests.c.due).where(~wrong).limit(1))).first()
            mistaken = (await db.execute(select(digests.c.due).where(wrong).limit(1))).first()
        if known is not None and mistaken is None:
            return

        def begin(db: Connection) -> None:
            db.execute(delete(digests).where(wrong))
            began = insert(db, digests).values(due=now, state="began", attempts=0)
            db.execute(began.on_conflict_do_nothing(index_elements=["due"]))

        await change(self._engine, begin)

    async def claim(self, due: datetime, *, owner: str, now: datetime, until: datetime) -> bool:
        """Take the digest that was due then, for sending it before `until`.

        False: it or a later one was sent or is being sent, it was due before digests began, or it failed too often.
        Rows of a far future, where a clock had gone wrong, do not count; those of a near one do, since there it is
        more likely that the clock was set back a little.
        """
        later = select(digests.c.due).where(digests.c.due > due, digests.c.due <= now + AHEAD).limit(1)

        def take(db: Connection) -> bool:
            if db.execute(later).first() is not None:
                return False
            at, end = lease(db, now, until)
            new = {"due": due, "state": "claimed", "attempts": 1, "owner": owner, "lease_until": end}
            added = insert(db, digests).values(new).on_conflict_do_nothing(index_elements=["due"])
            if db.execute(added.returning(digests.c.due)).first() is not None:
                return True
            free = or_(digests.c.lease_until.is_(None), digests.c.lease_until <= at)
            abandoned = update(digests).where(
                digests.c.due == due, digests.c.state == "claimed", free, digests.c.attempts < TRIES
            )
            again = {"owner": owner, "lease_until": end, "attempts": digests.c.attempts + 1}
            return bool(db.execute(abandoned.values(again)).rowcount == 1)

        return await change(self._engine, take)

    async def sent(self, due: datetime, *, owner: str, now: datetime) -> None:
        """Notes that a digest has reached its channel. Nothing happens to one that another owner holds by now."""
        mine = (digests.c.due == due) & (digests.c.owner == owner)
        await execute(self._engine, update(digests).where(mine).values(state="sent", sent_at=now))

    async def drop(self, due: datetime, *, owner: str) -> None:
        """Sending failed, and nobody shall try again: as if it had never been due."""
        mine = (digests.c.due == due) & (digests.c.owner == owner) & (digests.c.state == "claimed")
        await execute(self._engine, delete(digests).where(mine))

    async def give_back(self, due: datetime, *, owner: str, now: datetime, first: timedelta, last: timedelta) -> None:
        """Sending failed: anybody may try again after `first`, which doubles with each try up to `last`."""
        mine = (digests.c.due == due) & (digests.c.owner == owner) & (digests.c.state == "claimed")

        def give(db: Connection) -> None:
            attempts = db.scalar(select(digests.c.attempts).where(mine))
            if attempts is not None:
                wait = min(first * 2 ** (attempts - 1), last)
                db.execute(update(digests).where(mine).values(owner=None, lease_until=present(db, now) + wait))

        await change(self._engine, give)

    async def last_sent(self, *, before: datetime) -> datetime | None:
        """When the last digest before this one was due that was sent."""
        wanted = select(func.max(digests.c.due).label("due")).where(digests.c.state == "sent", digests.c.due < before)
        found: datetime | None = (await rows(self._engine, wanted))[0].due
        return found

    async def totals(self, period: Period) -> Totals:
        """Of the questions that were put in this time, all places together."""
        asked_in = (answers.c.answered_at >= period.since) & (answers.c.answered_at < period.until)
        missed_in = (questions.c.asked_at >= period.since) & (questions.c.asked_at < period.until)
        outcomes = select(answers.c.outcome, func.count().label("n")).where(asked_in).group_by(answers.c.outcome)
        reasons = select(questions.c.reason, func.count().label("n")).where(missed_in).group_by(questions.c.reason)
        missing = select(func.count(questions.c.turn.distinct())).where(missed_in)
        still_open = missing.where(questions.c.resolved_at.is_(None))
        down = exists().where(feedback.c.turn == answers.c.turn, feedback.c.vote == "down")
        sure = select(func.count()).where(
            asked_in, answers.c.outcome == "answered", ~answers.c.unsure, ~down, _SEARCHED
        )
        async with read(self._engine) as db:
            ended: dict[str, int] = {row.outcome: row.n for row in await db.execute(outcomes)}
            missed = await db.scalar(missing) or 0
            return Totals(
                asked=sum(ended.values()),
                answered=ended.get("answered", 0),
                missed=missed,
                resolved=missed - (await db.scalar(still_open) or 0),
                reasons={row.reason: row.n for row in await db.execute(reasons)},
                sure=await db.scalar(sure) or 0,
            )

    async def asked(self, period: Period, *, limit: int) -> list[PublicQuestion]:
        """The questions that were searched for, whether in vain or not, in this time in places that the whole team
        reads, newest first."""
        wanted = (
            select(turns.c.id, turns.c.text, turns.c.link, follows(turns))
            .join(answers, answers.c.turn == turns.c.id)
            .where(answers.c.answered_at >= period.since, answers.c.answered_at < period.until)
            .where(turns.c.audience == "public", answers.c.outcome.in_(("answered", "unknown")), turns.c.text != "")
            .where(_SEARCHED)
            .order_by(answers.c.answered_at.desc())
            .limit(limit)
        )
        return [PublicQuestion(row.id, row.text, row.link, row.follows) for row in await rows(self._engine, wanted)]
