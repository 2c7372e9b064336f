"""What platforms are given: each service does its part, and together they carry a question to its end."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select

from agent.events import Answered, Event, Events
from bot.app import Application, running
from bot.bot import Bot, make_bot
from bot.logs import Redactor
from bot.store.engine import change, rows
from bot.store.schema import answers, turns
from bot.store.withdrawal import show_again
from bot.turns.turns import TRIES
from bot.turns.withdrawal import WITHDRAWN
from bot.types import (
    UNKNOWN,
    Actor,
    AnswerGiven,
    Audience,
    Command,
    FileRef,
    Incoming,
    IngestionRequest,
    Place,
    Post,
    Preferences,
    Upload,
)
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


def bot_of(app: Application, owner: str = "me") -> Bot:
    given = app.settings, app.data, app.knowledge, app.bot.turns, app.answers, app.bot.asking, app.sources
    return make_bot(*given, models=app.models, make_digest=app.digest, owner=owner)


async def test_from_a_question_to_the_askers_being_told(app: Application) -> None:
    bot = bot_of(app)
    claimed = await bot.turns.claim(QUESTION)
    assert claimed is not None and await bot.turns.claim(QUESTION) is None
    claimed = await bot.turns.enrich(claimed, replace(QUESTION, link="https://team.example/known"))
    events = [event async for event in bot.turns.run(claimed)]
    assert isinstance(events[-1], Answered) and events[-1].outcome == "unknown"
    assert await bot.outbox.reserve(Post(claimed.id, "answer", 0, GENERAL)) is None
    assert not await bot.turns.amend(QUESTION) and await bot.turns.unfinished("slack") == []

    (missed,) = (await bot.experts.open(GENERAL, PUBLIC)).questions
    assert missed.link == "https://team.example/known"
    assert await bot.experts.questions([missed.id], SECRET, PRIVATE) == [missed]
    assert await bot.experts.questions([missed.id], GENERAL, Audience("outsiders")) == []
    card = Post("digest:1", "card", 0, SECRET, data={"questions": [missed.id], "closed": False})
    assert await bot.outbox.reserve(card) is None
    await bot.outbox.confirm(replace(card, message="9"))
    assert await bot.outbox.cards([missed.id]) == [replace(card, message="9")] == await bot.outbox.of("digest:1")
    assert await bot.outbox.find(SECRET, "9") == replace(card, message="9")

    lesson = AnswerGiven(MEMBER, GENERAL, PUBLIC, (missed.id,), "At pier seven.", url="https://team.example/9")
    assert (await bot.experts.answer(lesson)).told == 1
    assert (await bot.experts.dismiss(MEMBER, [missed.id], GENERAL, PUBLIC)).refusal is not None
    assert (await bot.commands(Command(MEMBER, GENERAL, PUBLIC, "unanswered", "", "en"))).lines == (
        "No open questions. 🎉",
    )
    (notice,) = await bot.experts.notices("slack")
    assert (notice.thread, notice.by) == ("17.5", "U1") and await bot.experts.notices("slack") == []
    await bot.experts.notices.said(notice)


async def test_files_are_found_by_whoever_they_were_added_for(app: Application) -> None:
    bot = bot_of(app)
    assert bot.ingestion.scopes(MEMBER, GENERAL, PUBLIC) == (TEAM,)
    assert bot.ingestion.scopes(MEMBER, GENERAL, Audience("outsiders")) == ()
    (here,) = bot.ingestion.scopes(MEMBER, SECRET, PRIVATE)
    await bot.ingestion.add(Upload("own.md", b"# Own\n\nOurs.\n", "aaa", TEAM, "terminal"))
    assert await bot.ingestion.collections(GENERAL, PUBLIC) == ("handbook", "aaa")
    await bot.channels.prefer(MEMBER, GENERAL, Preferences(collections=("aaa",)))
    assert await bot.channels.preferences(GENERAL) == Preferences(steps="live", collections=("aaa",), follow="thread")
    await bot.channels.prefer(MEMBER, GENERAL, Preferences())
    assert await bot.ingestion.collections(GENERAL, Audience("outsiders")) == ("handbook",)

    async def fetch(file: FileRef) -> bytes:
        return b"# Harbour\n\nShips moor at pier seven until midnight.\n"

    given = IngestionRequest("", SECRET, "17.5", "U1", "handbook", here, "en", (FileRef("harbour.md", {"file": "F1"}),))
    taken = await bot.ingestion.accept("slack T1 trigger", given)
    assert taken is not None and await bot.ingestion.unfinished("slack") == []
    assert await bot.ingestion.accept("slack T1 trigger", given) is None
    states = [one async for one in bot.ingestion.process(taken, fetch)]
    assert [one.done for one in states] == [False, True]
    for place, audience, found in ((SECRET, PRIVATE, "answered"), (GENERAL, PUBLIC, "unknown")):
        asked = replace(QUESTION, place=place, audience=audience)
        last = [event async for event in bot.turns.reply(asked)][-1]
        assert isinstance(last, Answered) and last.outcome == found


async def test_an_answer_that_is_shown_again_is_for_those_who_read_it_now(app: Application) -> None:
    await app.knowledge.add(Upload("piers.md", b"# Piers\n\nShips moor at pier seven.\n", "handbook", TEAM, "U1"), "en")
    bot = bot_of(app)
    claimed = await bot.turns.claim(QUESTION)
    assert claimed is not None
    async with aclosing(bot.turns.run(await bot.turns.enrich(claimed, QUESTION))) as events:
        first = [event async for event in until_answered(events)][-1]
    assert isinstance(first, Answered) and "pier seven" in first.text  # stored, and not shown

    for seen, words in (("outsiders", WITHDRAWN.en), ("public", "pier seven")):
        (left,) = await bot.turns.unfinished("slack")
        again = await bot.turns.claim(left)
        assert again is not None
        again = await bot.turns.enrich(again, replace(left, audience=Audience(seen)))  # type: ignore[arg-type]
        async with aclosing(bot.turns.run(again)) as events:
            shown = [event async for event in until_answered(events)][-1]
        assert isinstance(shown, Answered) and words in shown.text
        assert bool(shown.citations) is (seen == "public")


async def test_an_answer_waits_while_nobody_can_tell_who_reads_it_now(app: Application) -> None:
    await app.knowledge.add(Upload("piers.md", b"# Piers\n\nShips moor at pier seven.\n", "handbook", TEAM, "U1"), "en")
    bot = bot_of(app)
    assert [event async for event in bot.turns.reply(QUESTION)]
    (turn,) = await rows(app.data.engine, select(turns.c.id))
    await bot.outbox.posted(Post(turn.id, "answer", 0, QUESTION.place, QUESTION.thread, "1.2"))

    async def shown_to(seen: Audience) -> str | None:
        (left,) = await bot.turns.unfinished("slack")
        again = await bot.turns.claim(left)
        assert again is not None
        events = bot.turns.run(await bot.turns.enrich(again, replace(left, audience=seen)))
        said = [event.text async for event in events if isinstance(event, Answered)]
        return said[-1] if said else None

    for tries, seen, words in ((1, PUBLIC, "pier seven"), (2 * TRIES - 1, UNKNOWN, WITHDRAWN.en)):
        await change(app.data.engine, lambda db: show_again(db, turn.id, datetime.now(UTC)))
        for _ in range(tries):
            assert await shown_to(UNKNOWN) is None
        assert words in str(await shown_to(seen))
        assert await bot.turns.unfinished("slack") == []
    (kept,) = await rows(app.data.engine, select(answers.c.text, answers.c.show_at))
    assert "pier seven" in kept.text and kept.show_at is not None, "once it is known, they read it again"


async def until_answered(events: Events) -> AsyncIterator[Event]:
    """A consumer that ends before the answer counts as shown."""
    async for event in events:
        yield event
        if isinstance(event, Answered):
            return
