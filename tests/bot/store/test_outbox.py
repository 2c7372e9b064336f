"""What platforms are served with is in the database before it is needed: posts, notices, choices of places and
traces."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.events import Answered
from bot.access import default_scope, scope_of
from bot.records import AuditRecord
from bot.store.audit import Audit
from bot.store.channel_settings import ChannelSettings
from bot.store.engine import connect, rows
from bot.store.leases import inherit
from bot.store.notifications import PATIENCE, TRIES, Closed, Notices, Telling
from bot.store.outbox import Outbox
from bot.store.schema import notices as notice_table
from bot.store.turns import TurnStore
from bot.store.unanswered import MissedQuestion, UnansweredQuestions
from bot.types import Audience, Incoming, Place, Post, Preferences, Visibility
from bot.unanswered.notices import Due
from retrieval.types import TEAM

NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HERE = Place("slack", "T1", "C1")
STEPS = Post("turn", "steps", 0, HERE, thread="17.5")


# -- posts ----------------------------------------------------------------------------------------------------------


async def test_what_was_intended_before_is_returned_and_stays(engine: AsyncEngine) -> None:
    posts = Outbox(engine)
    assert await posts.reserve(STEPS) is None
    assert await posts.reserve(replace(STEPS, thread="other", data={"x": 1})) == STEPS
    assert await posts.reserve(replace(STEPS, part=1)) is None
    placed = replace(STEPS, message="17.6", data={"stream": True})
    await posts.confirm(placed)
    assert await posts.reserve(STEPS) == placed
    assert await posts.of("turn") == [placed, replace(STEPS, part=1)]
    assert await posts.find(HERE, "17.6") == placed
    assert await posts.find(replace(HERE, channel="C2"), "17.6") is None
    await posts.forget("turn")
    assert await posts.of("turn") == [] and await posts.reserve(STEPS) is None


async def test_what_was_posted_without_having_been_intended_is_known_too(engine: AsyncEngine) -> None:
    posts = Outbox(engine)
    await posts.confirm(replace(STEPS, message="17.6"))
    assert await posts.find(HERE, "17.6") == replace(STEPS, message="17.6")


async def test_the_channels_in_which_something_was_posted_are_known_the_latest_first(engine: AsyncEngine) -> None:
    posts, direct = Outbox(engine), Place("discord", "@me", "D1")
    places = (
        direct,
        replace(direct, channel="D2"),
        replace(direct, channel="D3"),
        replace(direct, workspace="G1"),
        direct,
    )
    for number, place in enumerate(places):
        await posts.confirm(replace(STEPS, about=f"t{number}", place=place, message=str(number)))
    await posts.reserve(replace(STEPS, about="t", place=replace(direct, channel="D4")))
    assert await posts.channels("discord", "@me", limit=9) == ["D1", "D3", "D2"]
    assert await posts.channels("discord", "@me", limit=2) == ["D1", "D3"]
    assert await posts.channels("slack", "@me", limit=9) == []


async def test_cards_are_found_by_the_questions_they_still_offer(engine: AsyncEngine) -> None:
    posts = Outbox(engine)
    card = Post("digest:1", "card", 0, HERE, message="1", data={"questions": [1, 2], "closed": False})
    other = replace(card, part=1, message="2", data={"questions": [3]})
    for post in (card, other, replace(card, part=2, message=None), replace(card, kind="digest", message="3")):
        await posts.confirm(post)
    assert await posts.cards([2, 9]) == [card]
    assert await posts.cards([1, 3]) == [card, other]
    assert await posts.cards([]) == [] == await posts.cards([9])
    await posts.confirm(replace(card, data={"questions": [1, 2], "closed": True}))
    assert await posts.cards([1, 3]) == [other]


async def test_what_is_added_to_a_post_while_it_is_being_sent_is_kept(engine: AsyncEngine) -> None:
    posts, post = Outbox(engine), Post("confirm:1", "confirm", 0, HERE, "17.5", data={"replies": ["1"]})
    assert await posts.amend(post, dict) is None  # it is not there
    await posts.reserve(post)
    assert await posts.confirms(HERE, "17.5") == [post]
    assert await posts.confirms(HERE, None) == [] == await posts.confirms(HERE, "9.9")
    more = {"replies": ["1", "2"]}
    assert await posts.amend(post, lambda data: more) == replace(post, data=more)
    assert await posts.amend(post, lambda data: None) is None
    assert await posts.posted(replace(post, message="17.6")) == replace(post, data=more, message="17.6")
    await posts.reserve(replace(post, about="confirm:2"))
    assert [one.about for one in await posts.confirms(HERE, "17.5")] == ["confirm:2", "confirm:1"]


async def test_a_question_about_a_reply_that_was_never_sent_is_not_gone_on_with(
    engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    posts = Outbox(engine)
    await posts.reserve(Post("confirm:1", "confirm", 0, HERE, "17.5"))
    monkeypatch.setattr("bot.store.outbox.POSTING", timedelta(0))
    assert await posts.confirms(HERE, "17.5") == []


async def test_a_question_of_a_machine_whose_clock_is_wrong_is_gone_on_with(server_url: str) -> None:
    engine = connect(server_url)
    late = Outbox(engine, clock=lambda: datetime.now(UTC) - timedelta(minutes=10))
    await late.reserve(Post("confirm:1", "confirm", 0, HERE, "17.5"))
    await Outbox(engine).reserve(Post("confirm:2", "confirm", 0, HERE, "17.5"))
    await late.posted(Post("confirm:3", "confirm", 0, HERE, "17.5", "17.6"))
    await late.confirm(Post("confirm:4", "confirm", 0, HERE, "17.5", "17.7"))
    for posts in (Outbox(engine), late):
        assert [one.about[-1] for one in await posts.confirms(HERE, "17.5")] == ["4", "3", "2", "1"]
    await engine.dispose()


# -- places ---------------------------------------------------------------------------------------------------------


async def test_a_place_keeps_what_was_chosen_there(engine: AsyncEngine) -> None:
    places = ChannelSettings(engine)
    assert await places.get(HERE) == Preferences()
    chosen = Preferences("extractive", "synthesis", "off", ("handbook", "社内規程"))
    await places.put(HERE, chosen)
    await places.put(replace(HERE, channel="C2"), Preferences(steps="live"))
    assert await places.get(HERE) == chosen
    await places.put(HERE, Preferences(strategy="react"))
    assert await places.get(HERE) == Preferences(strategy="react")
    await places.put(HERE, Preferences())
    assert await places.get(HERE) == Preferences()
    assert await places.get(replace(HERE, channel="C2")) == Preferences(steps="live")


# -- notices --------------------------------------------------------------------------------------------------------

TRACE = AuditRecord("slack:U9", "teach", "questions", "answers")


class Asked:
    """Questions that were missed, on any platform."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self.notices = Notices(engine)
        self._rows = TurnStore(engine)
        self._number = 0

    async def __call__(
        self,
        text: str = "経費の締切は？",
        *,
        place: Place = HERE,
        visibility: Visibility = "public",
        after: int | None = None,
    ) -> int:
        """`after`: a question whose thread it goes on, by the number of its turn."""
        self._number += 1
        turn = f"{self._number:032}"
        audience, link = Audience(visibility), f"https://t/{self._number}"
        thread = f"{after or self._number:032}.0"
        message = Incoming(place, thread, turn, "U1", text, audience, link=link)
        scope = default_scope(place, audience)
        held = (await self._rows.claim({turn: message}, owner="me", now=NOW, until=NOW + MINUTE))[turn]
        await self._rows.start(held, owner="me", now=NOW)
        miss = MissedQuestion(turn, text, "unknown", (), None, scope, message.link, NOW)
        await self._rows.finish(held, Answered("?", outcome="unknown"), owner="me", steps=[], misses=[miss], now=NOW)
        await self._rows.shown(turn, owner="me", now=NOW)
        found = await UnansweredQuestions(self.engine).open([scope])
        return max(one.id for one in found.questions)

    async def close(self, *ids: int, here: str | None = None, answer: str = "25日です。") -> Closed:
        telling = Telling(answer, "slack:U9", here=here, silent=("terminal",))
        return await self.notices.close(ids, [TEAM], now=NOW, trace=TRACE, telling=telling)


@pytest.fixture
def asked(engine: AsyncEngine) -> Asked:
    return Asked(engine)


async def test_closing_leaves_a_notice_for_each_asker_at_once(asked: Asked) -> None:
    one, other = await asked(), await asked("Where is it?", place=Place("discord", "G1", "C7"))
    assert await asked.close(one, other, 999) == Closed((one, other), 2)
    assert await asked.close(one, other) == Closed((), 0)  # again: nothing more
    assert await Audit(asked.engine).listed() == [replace(TRACE, at=(await Audit(asked.engine).listed())[0].at)]
    (notice,) = await asked.notices.due("slack", owner="me", now=NOW, until=NOW + MINUTE)
    assert (notice.place, notice.thread, notice.author) == (HERE, f"{1:032}.0", "U1")
    assert (notice.question, notice.answer, notice.language, notice.by) == ("経費の締切は？", "25日です。", "ja", "U9")
    (elsewhere,) = await asked.notices.due("discord", owner="me", now=NOW, until=NOW + MINUTE)
    assert (elsewhere.language, elsewhere.by) == ("en", None)  # they know nobody of Slack there


async def test_a_question_of_another_place_is_not_closed(asked: Asked) -> None:
    private = await asked(visibility="private")
    assert await asked.close(private) == Closed((), 0)
    assert (await UnansweredQuestions(asked.engine).get([private], [scope_of(HERE)]))[0].resolved_at is None


async def test_nobody_is_told_where_it_was_said_nor_where_there_is_no_thread(asked: Asked) -> None:
    said, terminal, told = await asked(), await asked(place=Place("terminal", "local", "t")), await asked()
    assert await asked.close(said, terminal, told, here="https://t/1") == Closed((said, terminal, told), 1)
    assert [one.thread for one in await asked.notices.due("slack", owner="me", now=NOW, until=NOW)] == [f"{3:032}.0"]


async def test_a_notice_is_given_to_one_for_a_while_and_then_to_the_next(asked: Asked) -> None:
    await asked.close(await asked())
    (notice,) = await asked.notices.due("slack", owner="one", now=NOW, until=NOW + MINUTE)
    assert await asked.notices.due("slack", owner="two", now=NOW + MINUTE / 2, until=NOW + 2 * MINUTE) == []
    assert await asked.notices.due("slack", owner="two", now=NOW + MINUTE, until=NOW + 2 * MINUTE) == [notice]
    await asked.notices.said(notice.id)
    assert await asked.notices.due("slack", owner="two", now=NOW + 9 * MINUTE, until=NOW + 10 * MINUTE) == []


@pytest.mark.parametrize("step", [MINUTE * 10, MINUTE * -10], ids=["forward", "back"])
async def test_a_process_is_given_a_notice_again_when_a_minute_of_its_own_has_passed(
    asked: Asked, step: timedelta
) -> None:
    now, seconds = NOW, 0.0
    due = Due(asked.notices, owner="one", clock=lambda: now, timer=lambda: seconds)
    await asked.close(await asked())
    first, second = await asyncio.gather(due("slack"), due("slack"))
    (notice,) = [*first, *second]
    now += step
    seconds += 59
    assert await due("slack") == []
    seconds += 2
    assert await due("slack") == [notice]  # it could not be said
    await due.said(notice)
    seconds += 61
    assert await due("slack") == []


async def test_what_another_process_was_saying_when_it_died_is_said_at_once(asked: Asked) -> None:
    await asked.close(await asked())
    (notice,) = await asked.notices.due("slack", owner="dead", now=NOW, until=NOW + MINUTE)
    await inherit(asked.engine, NOW)
    assert await asked.notices.due("slack", owner="one", now=NOW - 10 * MINUTE, until=NOW) == [notice]


async def test_what_can_never_be_said_is_dropped(asked: Asked, caplog: pytest.LogCaptureFixture) -> None:
    await asked.close(await asked())
    for minutes in range(2 * TRIES):  # a platform may be away for hours
        now = NOW + minutes * MINUTE
        assert len(await asked.notices.due("slack", owner="me", now=now, until=now)) == 1
    later = NOW + PATIENCE + MINUTE
    assert await asked.notices.due("slack", owner="me", now=later, until=later) == []
    assert await rows(asked.engine, select(notice_table)) == []
    assert "1 notices could not be said" in caplog.text


async def test_what_nobody_could_try_to_say_for_long_is_tried(asked: Asked) -> None:
    await asked.close(await asked())
    for later in range(TRIES):
        now = NOW + 2 * PATIENCE + later * MINUTE
        assert len(await asked.notices.due("slack", owner="me", now=now, until=now)) == 1


async def test_the_id_of_a_notice_is_not_given_again(asked: Asked) -> None:
    """A platform knows by it what it has posted, longer than the notice is kept."""
    ids = set()
    for _ in range(3):
        await asked.close(await asked())
        (notice,) = await asked.notices.due("slack", owner="me", now=NOW, until=NOW)
        await asked.notices.said(notice.id)
        ids.add(notice.id)
    assert len(ids) == 3


# -- traces ---------------------------------------------------------------------------------------------------------


async def test_traces_are_listed_newest_first(engine: AsyncEngine) -> None:
    audit = Audit(engine)
    await audit.note("slack:U1", "forget", "handbook/経費.md (team) sha256:ab", "forgotten")
    await audit.note("slack:U2", "forget", "b\0ad", "refused")
    assert [(one.actor, one.subject, one.result) for one in await audit.listed()] == [
        ("slack:U2", "bad", "refused"),
        ("slack:U1", "handbook/経費.md (team) sha256:ab", "forgotten"),
    ]
    assert len(await audit.listed(limit=1)) == 1
