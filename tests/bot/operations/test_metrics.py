"""Figures are sums of what happened, day by day in the team's time zone; private places count and have no name."""

import random
import sqlite3
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.events import Answered, Cost, Outcome
from bot.access import default_scope, readers
from bot.operations.metrics import Metrics, days, metrics
from bot.records import DocumentRow, Latency
from bot.store.collections import Collections
from bot.store.documents import Documents
from bot.store.engine import connect
from bot.store.feedback import Votes
from bot.store.metrics import MetricsStore
from bot.store.searches import Measured, Searches, percentile
from bot.store.traces import Noted
from bot.store.turns import TurnStore
from bot.store.unanswered import MissedQuestion
from bot.store.usage import Usage
from bot.store.vector_stores import VectorStores
from bot.types import Audience, Feedback, Incoming, MissReason, Place, Visibility
from retrieval.types import TEAM, SearchMetrics

TOKYO = ZoneInfo("Asia/Tokyo")
NOW = datetime(2026, 11, 20, 3, tzinfo=UTC)  # noon in Tokyo
GENERAL = Place("slack", "T1", "C-general")
SECRET = Place("slack", "T1", "C-secret")
MEMBERS = readers(GENERAL, Audience("public"))


class Team:
    """What people did, at moments."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self._rows = TurnStore(engine)
        self._number = 0

    async def asks(
        self,
        at: datetime = NOW,
        outcome: Outcome = "answered",
        *,
        place: Place = GENERAL,
        visibility: Visibility = "public",
        seconds: float = 1.0,
        confidence: float | None = 0.8,
        searched: tuple[str, ...] = ("handbook",),
        document: str | None = None,
        cited: bool = False,
        unsure: bool = False,
    ) -> str:
        self._number += 1
        turn = f"{self._number:032}"
        message = Incoming(place, turn, turn, "U1", "?", Audience(visibility))
        claimed = (await self._rows.claim({turn: message}, owner="me", now=at, until=at))[turn]
        found = {document: 0.5} if document else {}
        cites = (document,) if document and cited else ()
        steps = [Noted(5, "tool_result", '{"hits": []}', found), Noted(9, "answer", "{}", cited=cites)]
        answer = Answered(
            "!", (), outcome, unsure, seconds=seconds, confidence=confidence, searched=searched, turn=turn
        )
        scope = default_scope(place, Audience(visibility))
        reason: MissReason = "low_confidence" if unsure else "unknown"
        missed = unsure or outcome == "unknown"
        misses = [MissedQuestion(turn, "?", reason, searched, confidence, scope, None, at)] if missed else []
        await self._rows.finish(claimed, answer, owner="me", steps=steps, misses=misses, now=at)
        return turn

    async def searches(self, *taken: float, at: datetime = NOW, error: str | None = None, found: int = 1) -> None:
        measured = [(SearchMetrics("?", "handbook", ms, 9, found, 0.65, (), error, at), TEAM) for ms in taken]
        await Searches(self.engine).add(*(Measured(metrics, scope) for metrics, scope in measured))

    async def votes(self, turn: str, who: str, vote: Any, reason: Any = None, at: datetime = NOW) -> None:
        await Votes(self.engine).put(Feedback(turn, who, vote, reason, "", at), TEAM)

    async def adds(self, document: str, collection: str, scope: str = TEAM) -> None:
        documents = Documents(self.engine, "e")
        generation = (await VectorStores(self.engine).open("e", 1, "t")).generation + 1
        row = DocumentRow(
            document, collection, scope, document, "", None, "h", "m", 1, "ja", "U1", generation, NOW, NOW
        )
        await documents.commit(row, generation=generation)

    async def figures(self, period: int = 7, who: Any = MEMBERS) -> Metrics:
        return await metrics(
            period,
            who,
            figures=MetricsStore(self.engine),
            usage=Usage(self.engine),
            collections=Collections(self.engine),
            timezone=TOKYO,
            now=NOW,
        )


@pytest.fixture
def team(engine: AsyncEngine) -> Team:
    return Team(engine)


def by_day(found: Metrics, what: str = "turns") -> Mapping[int, Any]:
    return {one.day.day: one for one in getattr(found.sums, what)}


# -- days -----------------------------------------------------------------------------------------------------------


def test_days_are_those_of_the_time_zone() -> None:
    found = days(3, NOW, TOKYO)
    assert [one.day for one in found] == [date(2026, 11, 18), date(2026, 11, 19), date(2026, 11, 20)]
    assert found[0].since == datetime(2026, 11, 17, 15, tzinfo=UTC)
    assert all(one.until == next_.since for one, next_ in pairwise(found))
    clocks_go_back = days(3, datetime(2026, 11, 2, 12, tzinfo=UTC), ZoneInfo("America/New_York"))
    assert [(one.until - one.since) / timedelta(hours=1) for one in clocks_go_back] == [24, 25, 24]


async def test_what_was_asked_is_counted_on_its_day(team: Team) -> None:
    found = await team.figures(90)  # of nothing
    assert (found.outcomes, found.sums.seconds, found.sums.ms) == ({}, Latency(), Latency())
    assert (found.channels, found.collections, found.spent) == ((), (), ())
    assert len(found.sums.turns) == len(found.sums.searches) == len(found.sums.misses) == 90
    with pytest.raises(ValueError, match="366"):
        await team.figures(367)
    midnight = datetime(2026, 11, 19, 15, tzinfo=UTC)  # in Tokyo
    await team.asks(midnight - timedelta(microseconds=1))
    await team.asks(midnight, "unknown")
    await team.asks(midnight + timedelta(hours=11), "failed")
    await team.asks(midnight - timedelta(days=6, microseconds=1))  # a moment before the seven days
    await team.asks(midnight - timedelta(days=6), "declined")
    found = await team.figures()
    assert [one.day for one in found.sums.turns] == [date(2026, 11, day) for day in range(14, 21)]
    turns = by_day(found)
    assert turns[19].outcomes == {"answered": 1} and turns[20].outcomes == {"unknown": 1, "failed": 1}
    assert turns[14].outcomes == {"declined": 1} and not turns[15].outcomes
    assert found.outcomes == {"answered": 1, "unknown": 1, "failed": 1, "declined": 1}
    assert by_day(found, "misses")[20].reasons == {"unknown": 1} and found.reasons == {"unknown": 1}
    assert (await team.figures(30)).outcomes["answered"] == 2


# -- how long and how good ------------------------------------------------------------------------------------------


async def test_percentiles_are_those_of_the_nearest_rank(team: Team) -> None:
    chance = random.Random(3)
    taken: dict[int, list[float]] = {}
    for back, number in enumerate((1, 2, 19, 20, 21, 37)):
        at = NOW - timedelta(days=back)
        taken[(at.astimezone(TOKYO)).day] = ms = [round(chance.uniform(1, 99), 3) for _ in range(number)]
        await team.searches(*ms, at=at)
    for seconds in (4.0, 2.0, 3.0):
        await team.asks(seconds=seconds)
    await team.searches(9_999.0, error="QdrantConnectionError")
    found = await team.figures()
    for day, ms in taken.items():
        ascending = sorted(ms)
        assert by_day(found, "searches")[day].ms == Latency(percentile(ascending, 0.5), percentile(ascending, 0.95))
    together = sorted(value for ms in taken.values() for value in ms)
    assert found.sums.ms == Latency(percentile(together, 0.5), percentile(together, 0.95))
    assert found.sums.seconds == by_day(found)[20].seconds == Latency(3.0, 4.0)
    assert by_day(found)[19].seconds == Latency(None, None)


async def test_what_searches_found_and_how_relevant_it_was(team: Team) -> None:
    await team.searches(1.0, 2.0)
    await team.searches(3.0, found=0)
    await team.searches(0.0, error="EmbeddingError", found=0)
    today = by_day(await team.figures(), "searches")[20]
    assert (today.searches, today.failed) == (4, 1)
    for confidence in (0.0, 0.0999, 0.1, 0.55, 0.9, 1.0, None):
        await team.asks(confidence=confidence)
    sums = (await team.figures()).sums
    assert (sums.relevance, sums.unmeasured) == ((2, 1, 0, 0, 0, 1, 0, 0, 0, 2), 1)


async def test_votes_and_what_it_cost(team: Team) -> None:
    turn = await team.asks()
    await team.votes(turn, "U1", "up")
    await team.votes(turn, "U2", "down", "wrong")
    await team.votes(turn, "U3", "down", "wrong")
    await team.votes(turn, "U4", "down")
    await team.votes(turn, "U5", "up", at=NOW - timedelta(days=8))
    today = NOW.astimezone(TOKYO).date()
    spent = {(today, "a"): Cost(2, 10, 5, 1), (today, "b"): Cost(1, 7, 3, 0), (today - timedelta(days=7), "a"): Cost(9)}
    await Usage(team.engine).add(spent)
    found = await team.figures()
    assert (found.sums.feedback.up, found.sums.feedback.down) == (1, 3)
    assert found.sums.feedback.reasons == {"wrong": 2, "": 1}
    assert [(one.day, one.model, one.cost.calls) for one in found.spent] == [(today, "a", 2), (today, "b", 1)]
    assert found.cost == Cost(3, 17, 8, 1)


# -- by place and collection ----------------------------------------------------------------------------------------


async def test_private_places_are_counted_and_named_to_their_members_only(team: Team) -> None:
    await team.asks(seconds=2.0)
    await team.asks(outcome="unknown", seconds=4.0)
    for place in (SECRET, Place("discord", "G", "D1")):
        await team.asks(place=place, visibility="private", seconds=6.0)
    found = await team.figures()
    general, rest = found.channels
    assert (general.place, general.turns, general.mean_seconds, general.last) == (GENERAL, 2, 3.0, NOW)
    assert (rest.place, rest.outcomes, rest.mean_seconds) == (None, {"answered": 2}, 6.0)
    assert found.outcomes == {"answered": 3, "unknown": 1}
    assert "secret" not in repr(found)
    inside = await team.figures(who=readers(SECRET, Audience("private")))
    assert [row.place for row in inside.channels] == [GENERAL, SECRET, None]


@pytest.mark.parametrize("seed", range(3))
async def test_the_ways_questions_ended_add_up_to_the_questions(team: Team, seed: int) -> None:
    """Whatever was asked, doubted and reported: each question is counted once, in every table."""
    chance = random.Random(seed)
    ended: Counter[str] = Counter()
    days_of: dict[date, Counter[str]] = {}
    missed: Counter[str] = Counter()
    searches: Counter[str] = Counter()
    places: Counter[Place] = Counter()
    for _ in range(40):
        outcome: Outcome = chance.choice(("answered", "answered", "answered", "unknown", "declined", "failed"))
        unsure = outcome == "answered" and chance.random() < 0.4
        at = NOW - timedelta(hours=chance.randrange(6 * 24))
        place = chance.choice((GENERAL, SECRET))
        searched = tuple(name for name in ("handbook", "expenses") if chance.random() < 0.6)
        confidence = chance.random() if searched else None
        visibility: Visibility = "public" if place is GENERAL else "private"
        turn = await team.asks(
            at, outcome, place=place, visibility=visibility, confidence=confidence, searched=searched, unsure=unsure
        )
        reported = chance.random() < 0.3
        for person in ("U1", "U2") if reported else ():
            await team.votes(turn, person, "down", "wrong", at=NOW)
        how = "unsure" if unsure else outcome
        ended[how] += 1
        days_of.setdefault(at.astimezone(TOKYO).date(), Counter())[how] += 1
        if how in ("unknown", "unsure") or reported:
            missed[{"unknown": "unknown", "unsure": "low_confidence"}.get(how, "reported")] += 1
        searches.update(searched)
        places[place] += 1
    found = await team.figures(who=readers(SECRET, Audience("private")))
    assert found.outcomes == ended and ended.total() == 40
    assert {one.day: one.outcomes for one in found.sums.turns if one.outcomes} == days_of
    assert found.reasons == missed and missed.total() <= 40
    assert sum(found.sums.relevance) + found.sums.unmeasured == 40
    assert {row.place: row.turns for row in found.channels} == places
    assert sum((Counter(row.outcomes) for row in found.channels), start=Counter()) == ended
    whole = await MetricsStore(team.engine).collections(days(7, NOW, TOKYO), MEMBERS.scopes)
    assert {one.collection: one.searched for one in whole} == searches
    for one in whole:
        assert one.answered + one.unsure + one.unknown + one.otherwise == one.searched and one.otherwise >= 0


async def test_a_collection_has_what_was_searched_found_and_cited(team: Team) -> None:
    await team.adds("d1", "handbook")
    await team.adds("d2", "経費, “規程”")
    await team.adds("d3", "board", default_scope(SECRET, Audience("private")))
    await team.asks(searched=("handbook", "経費, “規程”"), document="d1", cited=True)
    await team.asks(searched=("handbook",), document="d1")
    await team.asks(outcome="unknown", searched=("handbook",), document=None)
    await team.asks(place=SECRET, visibility="private", searched=("board",), document="d3", cited=True)
    await team.asks(NOW - timedelta(days=20), searched=("handbook",), document="d1")
    found = {one.collection: one for one in (await team.figures()).collections}
    assert set(found) == {"handbook", "経費, “規程”"}
    handbook = found["handbook"]
    assert (handbook.searched, handbook.answered, handbook.unknown) == (3, 2, 1)
    assert (handbook.found, handbook.cited, found["経費, “規程”"].found) == (2, 1, 0)
    inside = await team.figures(who=readers(SECRET, Audience("private")))
    board = next(one for one in inside.collections if one.collection == "board")
    assert (board.searched, board.found, board.cited) == (1, 1, 1)


# -- speed ----------------------------------------------------------------------------------------------------------


async def test_sums_read_indexes_and_no_texts(sqlite_url: str) -> None:
    engine = connect(sqlite_url)
    sent: list[tuple[str, Any]] = []

    @event.listens_for(engine.sync_engine, "before_cursor_execute")
    def note(db: Any, cursor: Any, statement: str, values: Any, context: Any, many: bool) -> None:
        if statement.lstrip().startswith(("SELECT", "WITH")):
            sent.append((statement, values))

    await MetricsStore(engine).sums(days(30, NOW, TOKYO))
    await engine.dispose()
    plans = []
    with closing(sqlite3.connect(sqlite_url.split("///")[1])) as db:
        for statement, values in sent:
            plans += [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    big = [line for line in plans if " answers " in f"{line} " or " searches " in f"{line} "]
    assert len(big) >= 6
    assert [line for line in big if "COVERING INDEX ix_" not in line or not line.startswith("SEARCH")] == []
