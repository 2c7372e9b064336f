"""Whether the clock is believed that says how old things are: one that is wrong must not make everything too old.

It is while it goes on in steps of at most `STEP` from one look to the next. A longer step, of a wrong clock or of a bot
that was off for long, is doubted until the clock has stood by it for `STEP`, or has gone back. So is the first look.
Source: reliability.md §5, point 2, and R61; of a database on a server it is the server's clock (machines.md §2).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, select

from bot.store.engine import Store, change, insert, look
from bot.store.leases import present
from bot.store.schema import retention_clock

STEP = timedelta(days=7)
_PLACE = 1


@dataclass(frozen=True, slots=True)
class Clock:
    """`at`: what it says. `believed_at`: when it was last believed, None: never yet. `doubted_at`: since when, by
    itself, it is not; None: it is believed."""

    at: datetime
    believed_at: datetime | None
    doubted_at: datetime | None

    @property
    def jumped(self) -> bool:
        """Whether it is doubted now, for a step that it made."""
        return self.believed_at is not None and self.doubted_at is not None and self.doubted_at <= self.at


class RetentionClock(Store):
    """The one row of it. All raise StoreError."""

    async def known(self, now: datetime) -> Clock:
        """As it was last judged. `now`: by the caller's clock."""
        return await look(self._engine, lambda db: _kept(db, now))

    async def judge(self, now: datetime) -> Clock:
        """Look at it, `now` by the caller's, and write down what came of it."""

        def judge(db: Connection) -> Clock:
            seen = _judged(_kept(db, now))
            new = {"believed_at": seen.believed_at, "doubted_at": seen.doubted_at}
            noted = insert(db, retention_clock).values(place=_PLACE, **new)
            db.execute(noted.on_conflict_do_update(index_elements=["place"], set_=new))
            return seen

        return await change(self._engine, judge)


def _kept(db: Connection, now: datetime) -> Clock:
    row = db.execute(select(retention_clock)).first()
    at = present(db, now)
    return Clock(at, None, None) if row is None else Clock(at, row.believed_at, row.doubted_at)


def _judged(clock: Clock) -> Clock:
    at, believed_at, doubted_at = clock.at, clock.believed_at, clock.doubted_at
    goes_on = believed_at is not None and at - believed_at <= STEP
    stands_by_it = doubted_at is not None and at - doubted_at >= STEP
    if goes_on or stands_by_it:
        return Clock(at, at, None)
    return Clock(at, believed_at, at if doubted_at is None else min(doubted_at, at))
