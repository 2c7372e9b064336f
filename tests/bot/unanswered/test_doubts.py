"""An unsure answer that was made without a model is nobody's work until several people ask alike, or somebody
complains."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.events import Answered
from bot.access import readers
from bot.app import running
from bot.logs import Redactor
from bot.records import Period, WantedQuestions
from bot.store.conversations import Conversations
from bot.store.feedback import Votes
from bot.store.turns import TurnStore
from bot.store.unanswered import UnansweredQuestions
from bot.types import Audience, Feedback, Incoming, Place, Visibility
from bot.unanswered.clustering import Clustering
from bot.unanswered.doubts import ALIKE, WITHIN, Doubts
from retrieval.types import Readers
from tests.bot.sample_turns import begun
from tests.bot.store.closing import resolve
from tests.retrieval.test_ingest import HashEmbedder

NOW = datetime(2026, 11, 23, tzinfo=UTC)
GENERAL, SECRET = Place("slack", "T1", "C-general"), Place("slack", "T1", "C-secret")
TEAM = readers(GENERAL, Audience("public")).scopes
UNSURE = Answered("近いページです。[1]", unsure=True, model="extractive", searched=("handbook",), confidence=0.3)


class Team:
    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self.questions = UnansweredQuestions(engine)
        self.embedder = HashEmbedder(fail_at=1)  # equal questions only
        self.doubts = Doubts(self.questions, Clustering(self.embedder))
        self._rows = TurnStore(engine)
        self._number = 0

    async def asks(
        self,
        text: str,
        by: str,
        answer: Answered = UNSURE,
        *,
        at: datetime = NOW,
        place: Place = GENERAL,
        visibility: Visibility = "public",
        thread: str = "",
    ) -> str:
        self._number += 1
        turn = f"{self._number:032}"
        message = Incoming(
            place, thread or turn, turn, by, text, Audience(visibility), link=f"https://t.example/{turn}"
        )
        held = (await self._rows.claim({turn: message}, owner="me", now=at, until=at))[turn]
        await self._rows.finish(held, answer, owner="me", steps=[], misses=(), now=at)
        return turn

    async def listed(self) -> list[str]:
        return [one.question for one in (await self.questions.open(TEAM)).questions]


@pytest.fixture
def team(engine: AsyncEngine) -> Team:
    return Team(engine)


async def test_three_people_who_ask_alike_make_it_a_miss(team: Team) -> None:
    for by in ("U1", "U2", "U2"):
        await team.asks("経費の締切は？", by)
    await team.asks("駐車場は？", "U3")
    assert await team.doubts.gather(NOW) == 0 and await team.listed() == []
    last = await team.asks("経費の締切は", "U3")
    assert await team.doubts.gather(NOW) == 4
    assert sorted(await team.listed()) == ["経費の締切は", *["経費の締切は？"] * 3]
    found = next(one for one in (await team.questions.open(TEAM)).questions if one.turn == last)
    assert (found.reason, found.searched, found.confidence) == ("low_confidence", ("handbook",), 0.3)
    assert (found.link, found.asked_at, found.scope) == (f"https://t.example/{last}", NOW, "team")
    await team.asks("経費の締切は？", "U1")
    assert await team.doubts.gather(NOW) == 1 and len(await team.listed()) == 5


async def test_what_people_ask_after_other_questions_is_not_alike(team: Team) -> None:
    for by, first in (("U1", "有給休暇は何日？"), ("U2", "出張の日当は？"), ("U3", "賞与は何月？")):
        thread = await team.asks(first, by)
        await team.asks("契約社員だとどうなりますか", by, thread=thread)
    assert await team.doubts.gather(NOW) == 0


async def test_the_digest_after_it_became_a_miss_has_all_who_asked_before(team: Team) -> None:
    week = timedelta(days=7)
    for by, weeks in (("U1", 2), ("U2", 1), ("U3", 0)):
        await team.asks("経費の締切は？", by, at=NOW - weeks * week)
    assert await team.doubts.gather(NOW) == 3
    found, shown, _ = await team.questions.asked_between(TEAM, NOW, NOW + week, limit=9)
    assert ([one.asker[2] for one in found], shown) == (["U3", "U2", "U1"], 3)
    assert [one.question.asked_at for one in found] == [NOW, NOW - week, NOW - 2 * week]
    assert (await team.questions.asked_between(TEAM, NOW + week, NOW + 2 * week, limit=9))[1] == 0


async def test_a_digest_that_makes_them_misses_has_them_and_the_next_has_not(tmp_path: Path) -> None:
    """A digest is made after it was due, by hours if the bot was down: both had what it found then."""
    due, week = datetime.now(UTC) - timedelta(hours=1), timedelta(days=7)
    async with running(begun(tmp_path), Redactor()) as app:
        team = Team(app.data.engine)
        for by in ("U1", "U2", "U3"):
            await team.asks("経費の締切は？", by, at=due - timedelta(hours=1))
        await team.asks("経費の締切は？", "U4", at=due + timedelta(minutes=1))
        found = [
            await app.digest(Readers(TEAM), Period(since, since + week)) for since in (due - week, due, due + week)
        ]
    assert [[group.count for group in one.groups] for one in found] == [[3], [1], []]


async def test_only_unsure_answers_without_a_model_of_the_last_weeks_count(team: Team) -> None:
    await team.asks("経費の締切は？", "U1")
    await team.asks("経費の締切は？", "U2")
    sure = Answered("25日です。[1]", model="extractive")
    by_model = Answered("25日かもしれません。[1]", unsure=True, model="gemini:gemini-3.8-flash")
    unknown = Answered("ありません。", outcome="unknown", unsure=True, model="extractive")
    for number, answer in enumerate((sure, by_model, unknown), 3):
        await team.asks("経費の締切は？", f"U{number}", answer)
    await team.asks("経費の締切は？", "U6", at=NOW - WITHIN - timedelta(seconds=1))
    assert await team.doubts.gather(NOW) == 0 and await team.listed() == []


async def test_what_is_asked_in_a_private_place_counts_there_alone(team: Team) -> None:
    for number in range(ALIKE):
        await team.asks("経費の締切は？", f"U{number}")
        await team.asks("賞与は？", f"U{number}", place=SECRET if number else GENERAL, visibility="private")
    assert await team.doubts.gather(NOW) == ALIKE
    assert (await team.questions.open(TEAM)).hidden == 0 and set(await team.listed()) == {"経費の締切は？"}


async def test_what_somebody_has_closed_does_not_count_again(team: Team) -> None:
    for number in range(ALIKE):
        await team.asks("経費の締切は？", f"U{number}")
    await team.doubts.gather(NOW)
    ids = [one.id for one in (await team.questions.open(TEAM)).questions]
    await resolve(team.engine, ids, TEAM)
    await team.asks("経費の締切は？", "U9")
    assert await team.doubts.gather(NOW) == 0 and await team.listed() == []


async def test_nothing_is_compared_while_nothing_was_asked(team: Team) -> None:
    for number in range(ALIKE):
        await team.asks("経費の締切は？" if number else "駐車場は？", f"U{number}")
    assert await team.doubts.gather(NOW) == 0
    compared = len(team.embedder.batches)
    assert await team.doubts.gather(NOW) == 0 and len(team.embedder.batches) == compared > 0


async def test_a_complaint_makes_it_a_report_at_once(team: Team) -> None:
    turn = await team.asks("経費の締切は？", "U1")
    await Votes(team.engine).put(Feedback(turn, "U1", "down", "wrong"), "team")
    (found,) = (await team.questions.find(WantedQuestions(), TEAM, limit=9)).asked
    assert (found.question.reason, found.question.turn) == ("reported", turn)


async def test_doubt_is_stored_with_the_answer_and_counted_once(team: Team) -> None:
    turn = await team.asks("経費の締切は？", "U1")
    await team.asks("駐車場は？", "U1", Answered("A棟です。[1]"))
    conversations = Conversations(team.engine)
    kept = await conversations.get(turn)
    assert kept is not None and kept.answered.unsure
    assert (await conversations.totals()).outcomes == {"unsure": 1, "answered": 1}
