"""When something is due by a crontab line in a time zone, and a clock that has it done once, also after a downtime.

Cron fields mean what crontab(5) says. They are matched on the wall clock, which is then looked up in the zone: a time
that the change to summer time skips comes an hour later, one that it repeats comes the first time only.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import chain

from apscheduler.triggers.cron import CronTrigger  # type: ignore[import-untyped]

from bot.errors import StoreError
from bot.records import Period
from bot.store.digests import Digests
from bot.waiting import finished
from retrieval.i18n import Text, TextError

log = logging.getLogger(__name__)

LEASE = timedelta(minutes=15)
AT_MOST = timedelta(minutes=10)  # for one try to send; shorter than the lease, so that nobody else begins meanwhile
LOOK_EVERY = timedelta(minutes=1)  # a computer that slept, and a clock that was set, are noticed this soon
FIRST_RETRY, LAST_RETRY = timedelta(minutes=1), timedelta(hours=1)
LONGEST = timedelta(days=31)  # that one digest looks back on after a downtime
_MARKS = 5  # tries to write down that it was sent
_MARK_AGAIN = 5.0  # seconds

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DAY = re.compile(r"(\*|[a-z]{3}|\d)(?:-([a-z]{3}|\d))?(?:/(\d+))?")
_FIELD = re.compile(r"[\d*,/a-z-]+")
_EVER = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC))
_WINDOWS = tuple(timedelta(days=days) for days in (1 / 24, 1, 8, 32, 367, 1462, 2923))
_GAP = timedelta(hours=3)  # more than any change of a zone's offset

_FIVE = Text(
    en="A schedule has five cron fields (minute hour day month weekday), such as 0 9 * * mon; this one has {n}.",
    ja="スケジュールは 0 9 * * mon のような cron の 5 項目（分 時 日 月 曜日）です。{n} 項目あります。",
)
_WRONG = Text(
    en="“{field}” is not a valid {name} in a schedule. Use {what}.",
    ja="「{field}」はスケジュールの{name}として使えません。{what}にしてください。",
)
_NEVER = Text(en="No date ever fits this schedule: {text}.", ja="このスケジュールに当てはまる日時がありません: {text}")
_NAMES = {
    "minute": (Text(en="minute", ja="分"), Text(en="0–59, such as 0 or */15", ja="0～59（例: 0、*/15）")),
    "hour": (Text(en="hour", ja="時"), Text(en="0–23, such as 9 or 9-17", ja="0～23（例: 9、9-17）")),
    "day": (Text(en="day", ja="日"), Text(en="1–31, such as 1 or 1,15", ja="1～31（例: 1、1,15）")),
    "month": (Text(en="month", ja="月"), Text(en="1–12 or jan–dec", ja="1～12 か jan～dec")),
    "day_of_week": (
        Text(en="weekday", ja="曜日"),
        Text(
            en="0–7 (0 and 7 are Sunday) or sun–sat, such as mon or 1-5",
            ja="0～7（0 と 7 は日曜）か sun～sat（例: mon、1-5）",
        ),
    ),
}


class CronError(TextError, ValueError):
    """A schedule that makes no sense."""


class Schedule:
    """A crontab line in a time zone. Raises CronError for one that cannot be read or never comes."""

    def __init__(self, text: str, zone: tzinfo = UTC) -> None:
        fields = text.lower().replace("?", "*").split()
        if len(fields) != len(_NAMES):
            raise CronError(_FIVE, n=len(fields))
        given = dict(zip(_NAMES, fields, strict=True))
        given["day_of_week"] = _weekdays(given["day_of_week"])
        either = [given]
        if not given["day"].startswith("*") and not given["day_of_week"].startswith("*"):
            either = [given | {"day": "*"}, given | {"day_of_week": "*"}]  # crontab(5): the one day or the other
        for name, field in given.items():
            _trigger({name: field}, name, field)
        self._triggers = [_trigger(one, "day", given["day"]) for one in either]
        self._zone = zone
        if self._wall_after(_EVER[0]) is None:
            raise CronError(_NEVER, text=text)

    def latest(self, now: datetime) -> datetime | None:
        """The last time, in UTC, that is not after `now`; None when there was none in eight years."""
        wall = _wall(now, self._zone)
        for window in _WINDOWS:
            found: datetime | None = None
            at = self._wall_after(wall - window - _GAP)
            while at is not None and at <= wall + _GAP and self._moment(at) <= now:
                found = self._moment(at)
                at = self._wall_after(at + timedelta(seconds=1))
            if found is not None:
                return found
        return None

    def next(self, now: datetime) -> datetime:
        """The first time, in UTC, that is after `now`."""
        at = self._wall_after(_wall(now, self._zone) - _GAP)
        while at is not None and self._moment(at) <= now:
            at = self._wall_after(at + timedelta(seconds=1))
        return self._moment(at) if at is not None else _EVER[1]

    def period(self, due: datetime, sent: datetime | None) -> Period:
        """The period a due digest looks back on: from the one that was sent before, or else from the time before; at
        most LONGEST, but never less than since the time before."""
        before = self.latest(due - timedelta(seconds=1)) or due - LONGEST
        return Period(max(sent or before, min(before, due - LONGEST)), due)

    def _wall_after(self, wall: datetime) -> datetime | None:
        """The first fitting time of the wall clock from `wall` on. A wall clock's times are written as if in UTC."""
        found = (trigger.get_next_fire_time(None, wall) for trigger in self._triggers)
        return min((at for at in found if at is not None), default=None)

    def _moment(self, wall: datetime) -> datetime:
        return wall.replace(tzinfo=self._zone, fold=0).astimezone(UTC)


def _wall(now: datetime, zone: tzinfo) -> datetime:
    return now.astimezone(zone).replace(tzinfo=UTC, fold=0)


def _trigger(fields: dict[str, str], name: str, field: str) -> CronTrigger:
    try:
        if all(_FIELD.fullmatch(value) for value in fields.values()):
            start, end = _EVER
            return CronTrigger(**fields, timezone=UTC, start_date=start, end_date=end)
    except ValueError:
        pass
    raise CronError(_WRONG, field=field, name=_NAMES[name][0], what=_NAMES[name][1])


def _weekdays(field: str) -> str:
    """A crontab's weekdays by name. APScheduler counts from Monday, crontab from Sunday, which is 7 too."""
    if field == "*":
        return field
    return ",".join(dict.fromkeys(chain.from_iterable(_days(part, field) for part in field.split(","))))


def _days(part: str, field: str) -> list[str]:
    match = _DAY.fullmatch(part)
    first, last, step = match.groups() if match else (None, None, None)
    if first == "*":
        low, high = 0, 6
    else:
        low = _number(first)
        high = _number(last) if last else 6 if step else low
        if last in ("sun", "0"):
            high = 7
    if not 0 <= low <= high <= 7 or (first == "*" and last) or step == "0":
        raise CronError(_WRONG, field=field, name=_NAMES["day_of_week"][0], what=_NAMES["day_of_week"][1])
    return [_DAYS[number % 7] for number in range(low, high + 1, int(step or 1))]


def _number(day: str | None) -> int:
    if day is None:
        return -1
    return int(day) if day.isdigit() else _DAYS.index(day) if day in _DAYS else -1


# -- the clock --------------------------------------------------------------------------------------------------------

Announce = Callable[[Period], Awaitable[None]]
"""Makes the digest of a period and posts it. Any exception: it was not sent and is tried again."""


@dataclass
class DigestClock:
    """Has the digest sent when it is due. Any number of processes may run one on the same database.

    What is due is the latest time of the schedule, not each one that was missed. A bot that has never run one begins
    with the next: there is nothing to say of a time before it. A row is claimed before sending; a process that dies
    between sending and writing that down makes another send again. That side is chosen: a digest that comes twice is
    noise, one that never comes hides a week of unanswered questions. `owner` names this process among those of the
    database; `ready`: it can post now, else what is due is left to another; `sleep` takes seconds. Source:
    product.md §4.
    """

    digests: Digests
    schedule: Schedule
    announce: Announce
    _: KW_ONLY
    owner: str
    ready: Callable[[], bool] = lambda: True
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            wait = LOOK_EVERY
            try:
                await self.look()
                wait = min(wait, self.schedule.next(self.clock()) - self.clock())
            except StoreError:
                log.warning("whether a digest is due could not be looked up; trying again", exc_info=True)
            await self.sleep(max(wait.total_seconds(), 1.0))

    async def look(self) -> bool:
        """Send what is due now; whether something was sent. Raises StoreError."""
        now = self.clock()
        due = self.schedule.latest(now)
        await self.digests.begin(now)
        if (
            due is None
            or not self.ready()
            or not await self.digests.claim(due, owner=self.owner, now=now, until=now + LEASE)
        ):
            return False
        try:
            period = self.schedule.period(due, await self.digests.last_sent(before=due))
            async with asyncio.timeout(AT_MOST.total_seconds()):
                await self.announce(period)
        except BaseException as error:
            await finished(self._give_back(due))
            if not isinstance(error, Exception):
                raise
            log.exception("the digest could not be sent")
            return False
        await finished(self._mark(due))
        log.info("the digest was sent")
        return True

    async def post(self) -> bool:
        """Send one now, of the time since the last; the next one that is due goes on from here. False: one was sent
        within a minute. Raises StoreError, and whatever the announcement raises: then it is as if nobody had asked."""
        due = self.clock()
        await self.digests.begin(due - timedelta(seconds=1))  # this one comes after the beginning
        before = await self.digests.last_sent(before=due)
        if before is not None and due - before < LOOK_EVERY:
            return False
        if not await self.digests.claim(due, owner=self.owner, now=due, until=due + LEASE):
            return False
        try:
            async with asyncio.timeout(AT_MOST.total_seconds()):
                await self.announce(self.schedule.period(due, before))
        except BaseException:
            await finished(self.digests.drop(due, owner=self.owner))
            raise
        await finished(self._mark(due))
        log.info("a digest was sent because somebody asked for it")
        return True

    async def _give_back(self, due: datetime) -> None:
        """For the next try, which comes later each time. What cannot be written down waits for the lease to pass."""
        try:
            await self.digests.give_back(due, owner=self.owner, now=self.clock(), first=FIRST_RETRY, last=LAST_RETRY)
        except StoreError:
            log.warning("a digest that failed could not be given back", exc_info=True)

    async def _mark(self, due: datetime) -> None:
        for left in reversed(range(_MARKS)):
            try:
                await self.digests.sent(due, owner=self.owner, now=self.clock())
                return
            except StoreError:
                log.warning("that the digest was sent could not be stored", exc_info=True)
            if left:
                await self.sleep(_MARK_AGAIN)
