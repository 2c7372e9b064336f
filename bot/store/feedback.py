"""Votes on answers: one a person and turn, changeable; a thumbs-down is a miss as long as it stands."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, func, select, true, update

from bot.logs import without_secrets
from bot.store.engine import Store, change, insert, rows, storable
from bot.store.schema import answers, feedback, questions, turns
from bot.store.unanswered import MissedQuestion, add_misses
from bot.types import Feedback, Kept


class Votes(Store):
    """People's opinions of the answers. Source: product.md §4; reliability.md R19."""

    async def put(self, given: Feedback, scope: str) -> Kept | None:
        """Keep, change or take back a vote, and with it the turn's `reported` miss, which `scope` may see. The same
        vote again, without a word, leaves the words of the first.

        None when there is no such turn with an answer.
        """
        mine = (feedback.c.turn == given.turn) & (feedback.c.author == given.author)

        def put(db: Connection) -> Kept | None:
            found = select(turns.c.id).join(answers, answers.c.turn == turns.c.id).where(turns.c.id == given.turn)
            if db.execute(found.with_for_update()).first() is None:
                return None
            stands = db.execute(select(feedback.c.vote).where(mine)).scalar()
            if stands == given.vote and not (given.reason or given.text):
                return "unchanged"
            if given.vote is None:
                db.execute(delete(feedback).where(mine & (feedback.c.vote == given.only if given.only else true())))
            else:
                values = {
                    "vote": given.vote,
                    "reason": given.reason,
                    "text": storable(given.text),
                    "at": given.at or datetime.now(UTC),
                }
                vote = insert(db, feedback).values(turn=given.turn, author=given.author, **values)
                db.execute(vote.on_conflict_do_update(index_elements=["turn", "author"], set_=values))
            _report(db, given.turn, scope)
            return "changed"

        return await change(self._engine, put)

    async def of(self, turn: str) -> list[Feedback]:
        """The votes on a turn, oldest first."""
        wanted = select(feedback).where(feedback.c.turn == turn).order_by(feedback.c.at, feedback.c.author)
        return [Feedback(**row._mapping) for row in await rows(self._engine, wanted)]

    async def counts(self) -> dict[str, int]:
        """How many `up` and `down` there are."""
        wanted = select(feedback.c.vote, func.count().label("votes")).group_by(feedback.c.vote)
        found = {row.vote: row.votes for row in await rows(self._engine, wanted)}
        return {"up": found.get("up", 0), "down": found.get("down", 0)}


def _report(db: Connection, turn: str, scope: str) -> None:
    """Make the `reported` miss say what the standing thumbs-down say; without any it goes, unless it was resolved. One
    that was resolved before somebody complained again is open again; what was told of its answer still follows that."""
    standing = select(feedback).where(feedback.c.turn == turn, feedback.c.vote == "down").order_by(feedback.c.at)
    downs = db.execute(standing).all()
    either = (questions.c.turn == turn) & (questions.c.reason == "reported")
    reported = either & questions.c.resolved_at.is_(None)
    if not downs:
        db.execute(delete(questions).where(reported))
        return
    detail, last = words_of(downs), downs[-1].at
    opened = {"resolved_at": None, "resolution": None, "reopened_at": last}
    db.execute(update(questions).where(either, questions.c.resolved_at < last).values(**opened))
    asked = db.execute(
        select(turns.c.text, turns.c.link, answers.c.searched, answers.c.confidence)
        .join(answers, answers.c.turn == turns.c.id)
        .where(turns.c.id == turn)
    ).one()
    miss = MissedQuestion(
        turn=turn,
        question=asked.text,
        reason="reported",
        searched=tuple(asked.searched),
        confidence=asked.confidence,
        scope=scope,
        link=asked.link,
        asked_at=downs[0].at,
        detail=detail,
    )
    add_misses(db, (miss,))
    db.execute(update(questions).where(reported).values(detail=detail))


def words_of(downs: Iterable[Any]) -> str:
    """The words of thumbs-down, a line each, as those may read them who are brought the question; "" without any."""
    said = (": ".join(filter(None, (down.reason, down.text.strip()))) for down in downs)
    return without_secrets("\n".join(filter(None, said)))
