"""What two processes do at once on one server: neither undoes what the other has committed meanwhile, and neither fails
because they were in each other's way."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import Connection, select, text, update
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.events import PageChange
from bot.access import scope_of
from bot.store.changed_documents import ChangedDocument, ChangedDocuments
from bot.store.collections import Collections
from bot.store.conversations import Conversations
from bot.store.documents import new_collection
from bot.store.engine import change, opened, rows, write
from bot.store.erasure import Erasure
from bot.store.feedback import Votes
from bot.store.schema import answers, changed_documents, documents, questions, turns
from bot.store.withdrawal import withdraw
from bot.types import Feedback
from retrieval.types import TEAM, Readers
from tests.bot.postgresql import execute
from tests.bot.store.test_withdrawal import GENERAL, LEADS, NOW, PIER, PLAN, Home

WAITS = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")


async def somebody_waits(engine: AsyncEngine) -> None:
    """For a row that somebody else has changed and not committed."""
    async with asyncio.timeout(10):
        while not (await rows(engine, WAITS))[0][0]:
            pass


async def holds(engine: AsyncEngine, turn: str) -> None:
    """Until somebody has changed it and not committed."""
    free = select(turns.c.id).where(turns.c.id == turn).with_for_update(skip_locked=True)
    async with asyncio.timeout(10):
        while await rows(engine, free):
            pass


@pytest.fixture
async def home(server_url: str) -> AsyncIterator[Home]:
    async with opened(server_url) as engine:
        made = Home(engine)
        await made.begin()
        await made.answered("t1", GENERAL, "public")
        await made.answered("t2", GENERAL, "public")
        yield made


async def test_what_is_withdrawn_does_not_come_back_with_a_changed_page(home: Home) -> None:
    at = datetime.now(UTC)
    async with write(home.engine) as db:
        await db.execute(changed_documents.insert().values(document=PIER, name="pier.md", before="b" * 64, at=at))
    kept = await Conversations(home.engine).get("t1")
    assert kept is not None
    said = PageChange("pier.md", "pier", "2026-11-23", "At seven.", "seven", "eight", None)
    changed = ChangedDocument(PIER, "pier.md", "b" * 64, at)
    told = {"t1": replace(kept.answered, changes=(said,))}
    async with write(home.engine) as db:
        await db.run_sync(withdraw, {PLAN: "plan.md"}, NOW)
        other = asyncio.create_task(ChangedDocuments(home.engine).settle(changed, "m", told, {}, NOW))
        await somebody_waits(home.engine)
    assert await other
    assert "May" not in await home.text("t1")


async def test_what_a_changed_page_says_is_kept_where_another_is_withdrawn(home: Home) -> None:
    at = datetime.now(UTC)
    async with write(home.engine) as db:
        await db.execute(select(turns.c.id).where(turns.c.id == "t1").with_for_update())
        said = update(answers).where(answers.c.turn == "t1")
        await db.execute(said.values(text="In May. [1]\n\nAt eight. [2]"))
        other = asyncio.create_task(change(home.engine, lambda db: withdraw(db, {PLAN: "plan.md"}, at)))
        await somebody_waits(home.engine)
    await other
    assert "May" not in await home.text("t1") and "At eight" in await home.text("t1")


async def test_a_person_who_is_forgotten_takes_nothing_back_that_was_said_meanwhile(home: Home) -> None:
    person = "U0123456789"
    async with write(home.engine) as db:
        await db.execute(update(answers).values(text=f"In May, says {person}. [1]"))
    async with write(home.engine) as db:
        await db.execute(update(answers).where(answers.c.turn == "t2").values(text=f"In June, says {person}. [1]"))
        other = asyncio.create_task(Erasure(home.engine).forget("slack", person))
        await somebody_waits(home.engine)
    assert (await other).mentions == 2
    assert "In June, says [forgotten]" in await home.text("t2") and "In May" in await home.text("t1")


async def test_what_waits_for_another_that_waits_for_it_is_done_once_more(home: Home) -> None:
    tries: list[int] = []

    def second_first(db: Connection) -> None:
        tries.append(len(tries))
        db.execute(text("SET LOCAL deadlock_timeout = '10ms'"))  # so that this one is undone
        db.execute(update(turns).where(turns.c.id == "t2").values(text="both"))
        while len(tries) == 1 and not db.scalar(WAITS):
            pass
        db.execute(update(turns).where(turns.c.id == "t1").values(text="both"))

    async with write(home.engine) as db:
        await db.execute(text("SET LOCAL deadlock_timeout = '1h'"))
        await db.execute(update(turns).where(turns.c.id == "t1").values(text="one"))
        other = asyncio.create_task(change(home.engine, second_first))
        await holds(home.engine, "t2")
        await db.execute(update(turns).where(turns.c.id == "t2").values(text="one"))
    await other
    assert [row.text for row in await rows(home.engine, select(turns.c.text))] == ["both", "both"] and len(tries) == 2


@pytest.mark.parametrize("change", ["forgotten", "narrowed"])
async def test_a_document_that_waits_for_another_process_which_waits_for_it_is_changed(home: Home, change: str) -> None:
    async with write(home.engine) as db:
        await db.execute(text("SET LOCAL deadlock_timeout = '1h'"))  # so that the other is undone
        await db.execute(update(turns).where(turns.c.id == "t2").values(text="one"))
        work = home.forget(PLAN) if change == "forgotten" else home.added(PLAN, "plan.md", scope_of(LEADS))
        other = asyncio.create_task(work)
        await somebody_waits(home.engine)
        await db.execute(update(turns).where(turns.c.id == "t1").values(text="one"))
    await other
    assert "May" not in await home.text("t1") and "May" not in await home.text("t2")


async def test_a_vote_that_waits_for_another_process_which_waits_for_it_is_kept(home: Home) -> None:
    votes = Votes(home.engine)
    await votes.put(Feedback("t1", "slack:U1", "down"), TEAM)
    async with write(home.engine) as db:
        await db.execute(text("SET LOCAL deadlock_timeout = '1h'"))
        await db.execute(update(questions).where(questions.c.turn == "t1").values(detail="Closed?"))
        other = asyncio.create_task(votes.put(Feedback("t1", "slack:U2", "down", text="In June."), TEAM))
        await holds(home.engine, "t1")
        await somebody_waits(home.engine)
        await db.execute(update(turns).where(turns.c.id == "t1").values(text="one"))
    assert await other == "changed"
    assert [(each.author, each.text) for each in await votes.of("t1")] == [("slack:U1", ""), ("slack:U2", "In June.")]


async def test_a_merge_that_waits_for_another_process_which_waits_for_it_is_whole(home: Home) -> None:
    collections = Collections(home.engine)
    async with write(home.engine) as db:
        await db.execute(text("SET LOCAL deadlock_timeout = '1h'"))
        await db.execute(update(documents).where(documents.c.id == PLAN).values(title="Plan"))
        other = asyncio.create_task(collections.merge("docs", "port"))
        await somebody_waits(home.engine)
        await db.execute(new_collection(home.engine, "port", "About the port."))
    assert await other == 2
    (port,) = await collections.listed(Readers(frozenset({TEAM})))
    assert (port.name, port.description, port.documents) == ("port", "About the port.", 2)


async def test_a_database_that_isolates_more_is_asked_for_what_the_statements_need(postgresql: str) -> None:
    address = postgresql.format(name="postgres")
    execute(address, "CREATE ROLE strict LOGIN", "ALTER ROLE strict SET default_transaction_isolation = 'serializable'")
    async with opened(make_url(address).set(username="strict").render_as_string(hide_password=False)) as engine:
        (found,) = await rows(engine, text("SELECT current_setting('transaction_isolation') AS level"))
    assert found.level == "read committed"
