"""The desk is what platforms are promised, and puts each thing to whoever does it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.port import Desk
from agent.events import Answered
from bot.app import Application, running
from bot.desk import FrontDesk
from bot.logs import Redactor
from bot.types import Actor, Audience, Command, FileRef, Incoming, Intake, Lesson, Place, Post, Preferences, Upload
from retrieval.types import TEAM
from tests.bot.sample_turns import begun

GENERAL, SECRET = Place("slack", "T1", "C1"), Place("slack", "T1", "C3")
PUBLIC, PRIVATE = Audience("public"), Audience("private")
MEMBER = Actor("slack", "T1", "U1")
QUESTION = Incoming(GENERAL, "17.5", "17.5", "U1", "Where do ships moor?", PUBLIC, link="https://team.example/17.5")


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Application]:
    async with running(
        begun(tmp_path, KOTAE_DEFAULT_COLLECTION="handbook", KOTAE_MIN_RELEVANCE=0.1), Redactor()
    ) as app:
        yield app


def desk_of(app: Application, owner: str = "me") -> Desk:
    desk: Desk = FrontDesk(
        app.settings, app.data, app.knowledge, app.turns, models=app.models, make_digest=app.digest, owner=owner
    )
    return desk


async def test_from_a_question_to_the_askers_being_told(app: Application) -> None:
    desk = desk_of(app)
    claimed = await desk.claim(QUESTION)
    assert claimed is not None and await desk.claim(QUESTION) is None
    claimed = await desk.known(claimed, replace(QUESTION, link="https://team.example/known"))
    events = [event async for event in desk.run(claimed)]
    assert isinstance(events[-1], Answered) and events[-1].outcome == "unknown"
    assert desk.language(QUESTION) == "en" and not await desk.amend(QUESTION) and await desk.unfinished("slack") == []

    (missed,) = (await desk.unanswered(GENERAL, PUBLIC)).questions
    assert missed.link == "https://team.example/known"
    assert await desk.questions([missed.id], SECRET, PRIVATE) == [missed]
    assert await desk.questions([missed.id], GENERAL, Audience("outsiders")) == []
    card = Post("digest:1", "card", 0, SECRET, data={"questions": [missed.id], "closed": False})
    assert await desk.intend(card) is None
    await desk.placed(replace(card, message="9"))
    assert await desk.cards([missed.id]) == [replace(card, message="9")] == await desk.posts("digest:1")
    assert await desk.post_at(SECRET, "9") == replace(card, message="9")

    lesson = Lesson(MEMBER, GENERAL, PUBLIC, (missed.id,), "At pier seven.", url="https://team.example/9")
    assert (await desk.teach(lesson)).told == 1
    assert (await desk.dismiss(MEMBER, [missed.id], GENERAL, PUBLIC)).refusal is not None
    assert (await desk.command(Command(MEMBER, GENERAL, PUBLIC, "unanswered", "", "en"))).lines == (
        "No open questions. 🎉",
    )
    (notice,) = await desk.notices("slack")
    assert (notice.thread, notice.by) == ("17.5", "U1") and await desk.notices("slack") == []
    await desk.said(notice)


async def test_files_are_found_by_whoever_they_were_added_for(app: Application) -> None:
    desk = desk_of(app)
    assert await desk.scopes(MEMBER, GENERAL, PUBLIC) == (TEAM,)
    assert await desk.scopes(MEMBER, GENERAL, Audience("outsiders")) == ()
    (here,) = await desk.scopes(MEMBER, SECRET, PRIVATE)
    await desk.ingest(Upload("own.md", b"# Own\n\nOurs.\n", "aaa", TEAM, "terminal"))
    assert await desk.collections(GENERAL, PUBLIC) == ("handbook", "aaa")
    await desk.prefer(MEMBER, GENERAL, Preferences(collections=("aaa",)))
    assert await desk.preferences(GENERAL) == Preferences(steps="live", collections=("aaa",))
    await desk.prefer(MEMBER, GENERAL, Preferences())
    assert await desk.collections(GENERAL, Audience("outsiders")) == ("handbook",)

    async def fetch(file: FileRef) -> bytes:
        return b"# Harbour\n\nShips moor at pier seven until midnight.\n"

    given = Intake("", SECRET, "17.5", "U1", "handbook", here, "en", (FileRef("harbour.md", {"file": "F1"}),))
    taken = await desk.take_in("slack T1 trigger", given)
    assert taken is not None and await desk.intakes("slack") == []
    assert await desk.take_in("slack T1 trigger", given) is None
    states = [one async for one in desk.work_off(taken, fetch)]
    assert [one.done for one in states] == [False, True]
    for place, audience, found in ((SECRET, PRIVATE, "answered"), (GENERAL, PUBLIC, "unknown")):
        asked = replace(QUESTION, place=place, audience=audience)
        last = [event async for event in desk.reply(asked)][-1]
        assert isinstance(last, Answered) and last.outcome == found
