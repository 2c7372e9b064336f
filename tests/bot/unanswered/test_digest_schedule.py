"""When the digest is due, and that it is sent once: across processes, crashes, downtimes and clocks that are set."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.records import Period
from bot.store.digests import TRIES, Digests
from bot.store.engine import connect
from bot.store.leases import inherit
from bot.unanswered.digest_schedule import LEASE, CronError, DigestClock, Schedule

TOKYO = ZoneInfo("Asia/Tokyo")
BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 11, 23, 9, tzinfo=TOKYO)
WEEK = timedelta(days=7)


def at(text: str, zone: ZoneInfo = TOKYO) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone)


# -- crontab lines --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "now", "latest", "following"),
    [
        ("0 9 * * mon", "2026-11-25T12:00", "2026-11-23T09:00", "2026-11-30T09:00"),
        ("0 9 * * 1", "2026-11-25T12:00", "2026-11-23T09:00", "2026-11-30T09:00"),
        ("0 9 * * 0", "2026-11-25T12:00", "2026-11-22T09:00", "2026-11-29T09:00"),
        ("0 9 * * 7", "2026-11-25T12:00", "2026-11-22T09:00", "2026-11-29T09:00"),
        ("0 9 * * SUN", "2026-11-25T12:00", "2026-11-22T09:00", "2026-11-29T09:00"),
        ("0 9 * * mon", "2026-11-23T09:00", "2026-11-23T09:00", "2026-11-30T09:00"),  # at that very minute
        ("0 9 * * 1-5", "2026-11-22T12:00", "2026-11-20T09:00", "2026-11-23T09:00"),
        ("0 9 * * 5-7", "2026-11-23T12:00", "2026-11-22T09:00", "2026-11-27T09:00"),
        ("0 9 * * sat-sun", "2026-11-23T12:00", "2026-11-22T09:00", "2026-11-28T09:00"),
        ("0 9 * * */2", "2026-11-25T12:00", "2026-11-24T09:00", "2026-11-26T09:00"),  # sun tue thu sat
        ("0 9 1,15 * *", "2026-11-25T12:00", "2026-11-15T09:00", "2026-12-01T09:00"),
        ("0 9 1 * mon", "2026-11-28T12:00", "2026-11-23T09:00", "2026-11-30T09:00"),  # crontab(5): either
        ("0 9 1 * mon", "2026-12-01T12:00", "2026-12-01T09:00", "2026-12-07T09:00"),
        ("*/15 * * * ?", "2026-11-25T12:20", "2026-11-25T12:15", "2026-11-25T12:30"),
        ("30 8 1 jan *", "2026-11-25T12:00", "2026-01-01T08:30", "2027-01-01T08:30"),
        ("0 0 29 2 *", "2026-11-25T12:00", "2024-02-29T00:00", "2028-02-29T00:00"),
    ],
)
def test_a_line_means_what_crontab_says(line: str, now: str, latest: str, following: str) -> None:
    schedule = Schedule(line, TOKYO)
    assert schedule.latest(at(now)) == at(latest)
    assert schedule.next(at(now)) == at(following)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0 9 * *", "five cron fields"),
        ("60 9 * * mon", "“60” is not a valid minute"),
        ("0 24 * * mon", "“24” is not a valid hour"),
        ("0 9 32 * *", "“32” is not a valid day"),
        ("0 9 * 13 *", "“13” is not a valid month"),
        ("0 9 * * 8", "“8” is not a valid weekday"),
        ("0 9 * * mo", "“mo” is not a valid weekday"),
        ("0 9 * * fri-mon", "“fri-mon” is not a valid weekday"),
        ("0 9 * * mon#1", "“mon#1” is not a valid weekday"),
        ("0 9 * * */0", "“*/0” is not a valid weekday"),
        ("x 9 * * mon", "“x” is not a valid minute"),
        ("0 9 30 2 *", "No date ever fits"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused_in_words(line: str, said: str) -> None:
    with pytest.raises(CronError) as refused:
        Schedule(line)
    assert said in refused.value.text("en")
    assert "スケジュール" in refused.value.text("ja")


def test_summer_time_neither_skips_nor_doubles() -> None:
    """2026-03-29: 02:00 becomes 03:00; 2026-10-25: 03:00 becomes 02:00."""
    schedule = Schedule("30 2 * * *", BERLIN)
    fires = [schedule.next(datetime(2026, 3, 27, 12, tzinfo=UTC))]
    while len(fires) < 3:
        fires.append(schedule.next(fires[-1]))
    assert [fire.astimezone(BERLIN).isoformat()[:16] for fire in fires] == [
        "2026-03-28T02:30",
        "2026-03-29T03:30",
        "2026-03-30T02:30",
    ]
    once = schedule.next(datetime(2026, 10, 24, 12, tzinfo=UTC))
    assert once == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert schedule.next(once) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)
    for minutes in range(0, 180, 10):
        assert schedule.latest(once + timedelta(minutes=minutes)) == once
    spring = fires[1]
    assert schedule.latest(spring - timedelta(seconds=1)) == fires[0]
    assert schedule.latest(spring) == spring


def test_a_period_reaches_back_to_the_last_one_sent_but_not_for_ever() -> None:
    schedule = Schedule("0 9 * * mon", TOKYO)
    assert schedule.period(MONDAY, None) == Period(MONDAY - WEEK, MONDAY)
    assert schedule.period(MONDAY, MONDAY - 3 * WEEK) == Period(MONDAY - 3 * WEEK, MONDAY)
    assert schedule.period(MONDAY, MONDAY - 30 * WEEK) == Period(MONDAY - timedelta(days=31), MONDAY)
    seldom, july, october = (
        Schedule("0 9 1 */3 *"),
        datetime(2026, 7, 1, 9, tzinfo=UTC),
        datetime(2026, 10, 1, 9, tzinfo=UTC),
    )
    assert [seldom.period(october, sent) for sent in (july, None)] == [Period(july, october)] * 2
    assert Period(MONDAY - WEEK, MONDAY).before == Period(MONDAY - 2 * WEEK, MONDAY - WEEK)


# -- the clock ------------------------------------------------------------------------------------------------------


class Over(Exception):
    """The time that a test lets pass."""


class Room:
    """A channel that digests are posted to, and the clock on its wall."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.posted: list[Period] = []
        self.posted_at: list[datetime] = []
        self.troubles: list[BaseException] = []
        self._until: datetime | None = None

    def until(self, moment: datetime) -> None:
        self._until = moment

    def clock(self) -> datetime:
        return self.now

    async def announce(self, period: Period) -> None:
        if self.troubles:
            raise self.troubles.pop(0)
        self.posted.append(period)
        self.posted_at.append(self.now)

    async def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        if self._until and self.now > self._until:
            raise Over


Bot = Callable[[Room, str], DigestClock]


@pytest.fixture
def bot(engine: AsyncEngine) -> Bot:
    def make(room: Room, owner: str = "a") -> DigestClock:
        schedule = Schedule("0 9 * * mon", TOKYO)
        return DigestClock(Digests(engine), schedule, room.announce, owner=owner, clock=room.clock, sleep=room.sleep)

    return make


async def test_it_is_sent_when_it_is_due_and_once(bot: Bot) -> None:
    room = Room(MONDAY - timedelta(minutes=3))
    for week in range(3):
        room.now = MONDAY + week * WEEK - timedelta(minutes=3)
        room.until(MONDAY + week * WEEK + timedelta(minutes=2))
        with pytest.raises(Over):
            await bot(room, "a").run()
    assert [period.until for period in room.posted] == [MONDAY, MONDAY + WEEK, MONDAY + 2 * WEEK]
    assert [period.since for period in room.posted] == [MONDAY - WEEK, MONDAY, MONDAY + WEEK]
    assert room.posted_at == [MONDAY, MONDAY + WEEK, MONDAY + 2 * WEEK]


async def test_one_that_is_asked_for_is_sent_now_and_the_next_goes_on_from_there(bot: Bot) -> None:
    room = Room(MONDAY - timedelta(days=4))
    assert await bot(room, "a").post() and not await bot(room, "b").post()  # not again within a minute
    asked = room.now
    assert [period.until for period in room.posted] == [asked]
    room.troubles = [ConnectionError("no_channel")]
    room.now += timedelta(days=1)
    with pytest.raises(ConnectionError):
        await bot(room, "a").post()
    room.now, later = MONDAY - timedelta(minutes=1), bot(room, "a")
    room.until(MONDAY + timedelta(minutes=1))
    with pytest.raises(Over):
        await later.run()
    assert [(period.since, period.until) for period in room.posted[1:]] == [(asked, MONDAY)]


async def test_a_first_start_sends_nothing_for_the_time_before_it(bot: Bot) -> None:
    room = Room(MONDAY + timedelta(hours=1))
    assert not await bot(room, "a").look()
    room.now += WEEK
    assert await bot(room, "a").look()
    assert room.posted == [Period(MONDAY, MONDAY + WEEK)]


async def test_after_a_downtime_it_is_sent_once_for_all_that_was_missed(bot: Bot) -> None:
    room = Room(MONDAY)
    await bot(room, "a").look()
    room.now = MONDAY + WEEK
    await bot(room, "a").look()
    room.now = MONDAY + 4 * WEEK + timedelta(days=2)
    back = bot(room, "b")
    assert await back.look()
    assert not await back.look()
    assert room.posted == [Period(MONDAY, MONDAY + WEEK), Period(MONDAY + WEEK, MONDAY + 4 * WEEK)]


async def test_of_many_processes_one_sends(bot: Bot) -> None:
    room = Room(MONDAY - timedelta(hours=1))
    clocks = [bot(room, f"process {number}") for number in range(5)]
    await asyncio.gather(*(clock.look() for clock in clocks))
    room.now = MONDAY
    assert sorted(await asyncio.gather(*(clock.look() for clock in clocks))) == [False] * 4 + [True]
    assert len(room.posted) == 1


async def test_what_failed_is_tried_again_later_each_time(bot: Bot) -> None:
    room = Room(MONDAY - timedelta(hours=1))
    clock = bot(room, "a")
    await clock.look()
    room.now = MONDAY
    room.troubles = [RuntimeError("channel_not_found"), TimeoutError(), OSError()]
    for minutes, sent in (
        (0, False),
        (0.5, False),
        (0.5, False),
        (1, False),
        (1, False),
        (3, False),
        (0, False),
        (1, True),
    ):
        room.now += timedelta(minutes=minutes)
        assert await clock.look() is sent, room.now
    assert room.posted == [Period(MONDAY - WEEK, MONDAY)]


async def test_what_always_fails_is_left_to_the_next_week(bot: Bot) -> None:
    room = Room(MONDAY - timedelta(hours=1))
    clock = bot(room, "a")
    await clock.look()
    room.now = MONDAY
    room.troubles = [RuntimeError("no such channel")] * 1000
    for _ in range(2 * TRIES):
        await clock.look()
        room.now += timedelta(hours=1)
    assert 1000 - len(room.troubles) == TRIES
    room.troubles.clear()
    assert not await clock.look()
    room.now = MONDAY + WEEK
    assert await clock.look()
    assert room.posted == [Period(MONDAY, MONDAY + WEEK)]


async def test_a_process_that_died_while_sending_leaves_it_to_another(bot: Bot, engine: AsyncEngine) -> None:
    room = Room(MONDAY - timedelta(hours=1))
    clock = bot(room, "b")
    await clock.look()
    digests = Digests(engine)
    room.now = MONDAY
    assert await digests.claim(MONDAY, owner="dead", now=room.now, until=room.now + LEASE)
    room.now += LEASE / 2
    assert not await clock.look()
    room.now += LEASE / 2
    assert await clock.look()
    await digests.sent(MONDAY, owner="dead", now=room.now)  # it was only asleep: nothing changes
    assert not await clock.look()
    assert len(room.posted) == 1


@pytest.mark.parametrize("step", [timedelta(minutes=10), timedelta(minutes=-10)], ids=["forward", "back"])
async def test_the_next_process_of_a_home_sends_it_at_once_whatever_the_clock_says(
    bot: Bot, engine: AsyncEngine, step: timedelta
) -> None:
    room, digests = Room(MONDAY - timedelta(hours=1)), Digests(engine)
    clock = bot(room, "b")
    await clock.look()
    room.now = MONDAY + timedelta(hours=1)
    assert await digests.claim(MONDAY, owner="dead", now=room.now, until=room.now + LEASE)
    room.now += step
    await inherit(engine, room.now)
    room.now -= step / 2
    assert await clock.look() and not await clock.look()
    await inherit(engine, room.now)  # what was sent is nobody's to send again
    assert not await clock.look() and len(room.posted) == 1


async def test_a_stop_in_the_middle_gives_it_back(bot: Bot) -> None:
    room = Room(MONDAY - timedelta(hours=1))
    clock = bot(room, "a")
    await clock.look()
    room.now = MONDAY
    room.troubles = [asyncio.CancelledError()]
    with pytest.raises(asyncio.CancelledError):
        await clock.look()
    room.now += timedelta(minutes=1)
    assert await bot(room, "b").look()


async def test_clocks_that_are_set_neither_double_nor_silence_it(bot: Bot) -> None:
    room = Room(MONDAY - timedelta(hours=1))
    clock = bot(room, "a")
    await clock.look()
    room.now = MONDAY
    assert await clock.look()
    room.now -= timedelta(days=2)  # back
    assert not await clock.look()
    room.now = MONDAY
    assert not await clock.look()
    room.now += 400 * WEEK  # wrong by years
    assert await clock.look()
    room.now = MONDAY + WEEK  # and right again
    assert await clock.look()
    assert room.posted[-1] == Period(MONDAY, MONDAY + WEEK)
    room.now = datetime(1970, 1, 20, tzinfo=UTC)  # a computer that lost its battery
    assert not await clock.look()
    room.now = MONDAY + WEEK + timedelta(days=1)
    assert not await clock.look()
    room.now = MONDAY + 2 * WEEK
    assert await clock.look()


async def test_a_beginning_in_the_future_is_a_mistake(bot: Bot) -> None:
    room = Room(MONDAY + 500 * WEEK)
    clock = bot(room, "a")
    assert not await clock.look()
    room.now = MONDAY - timedelta(hours=1)
    assert not await clock.look()
    room.now = MONDAY
    assert await clock.look()


async def test_a_database_that_is_away_does_not_end_the_clock(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    room = Room(MONDAY)
    engine = connect(sqlite_url.replace("kotae.db", "no/such/folder/kotae.db"))
    schedule = Schedule("0 9 * * mon", TOKYO)
    clock = DigestClock(Digests(engine), schedule, room.announce, owner="a", clock=room.clock, sleep=room.sleep)
    room.until(MONDAY + timedelta(minutes=3))
    with pytest.raises(Over):
        await clock.run()
    await engine.dispose()
    assert "could not be looked up" in caplog.text
