"""What is too old goes, in short steps; a person who is forgotten is found in no file any more."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, String, Table, event, func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.events import Answered, Citation, Thought, ToolCalled
from bot.errors import StoreError
from bot.logs import ChatLog, Redactor
from bot.operations.retention import (
    CLAIMS,
    EVERY,
    FIRST_AFTER,
    TRACES,
    Person,
    WhoError,
    apply_erasures,
    daily,
    follow_erasures,
    forget,
    retain,
)
from bot.records import AuditRecord, DocumentRow
from bot.store import erasure
from bot.store.audit import Audit
from bot.store.dataset_jobs import DatasetJob, DatasetJobRows, DatasetUpload, Order
from bot.store.documents import Documents
from bot.store.engine import connect, on_server, rows, write
from bot.store.erased_people import ErasedPeople
from bot.store.erasure import FORGOTTEN, Erasure, close_open_turns
from bot.store.feedback import Votes
from bot.store.held_files import HeldRows
from bot.store.ingestions import IngestionStore
from bot.store.inspection import file_of
from bot.store.notifications import Notices, Telling
from bot.store.outbox import Outbox
from bot.store.retention_clock import STEP, Clock, RetentionClock
from bot.store.schema import (
    answers,
    audit,
    documents,
    feedback,
    held_files,
    intakes,
    metadata,
    notices,
    posts,
    questions,
    searches,
    turns,
)
from bot.store.searches import Measured, Searches
from bot.store.turns import TurnStore
from bot.store.unanswered import MissedQuestion, UnansweredQuestions
from bot.store.vector_stores import VectorStores
from bot.turns.trace import Recording
from bot.types import Audience, Feedback, FileRef, Incoming, IngestionRequest, Place, Post, is_wordless
from retrieval.types import TEAM, SearchMetrics
from tests.bot import databases
from tests.bot.store.closing import resolve
from tests.bot.store.everything import fill, rows_of_all

NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)
OLD = NOW - timedelta(days=91)
NEW = NOW - timedelta(days=89)
KEEP = timedelta(days=90)
PERSON = Person("slack", "U0CANARY7")
PLACE = Place("slack", "T1", "C1")
CANARIES = (b"U0CANARY7", b"quokka", "鴨嘴獣".encode())


class Kept:
    """A database with questions, asked by whom and when a test says."""

    def __init__(self, engine: AsyncEngine, chat_log: Path) -> None:
        self.engine = engine
        self.chat_log = chat_log
        self._rows = TurnStore(engine)
        self._count = 0

    async def asked(
        self,
        when: datetime,
        *,
        by: str = "U1",
        text: str = "How long do refunds take?",
        answer: str | None = "30 days. [1]",
        missed: bool = False,
        finished: bool = True,
        place: Place = PLACE,
    ) -> str:
        self._count += 1
        turn = f"{self._count:032}"
        message = Incoming(place, f"{turn}.0", f"{turn}.0", by, text, Audience("public"), link="https://x.y/z")
        held = (await self._rows.claim({turn: message}, owner="me", now=when, until=when + timedelta(seconds=15)))[turn]
        log = ChatLog(self.chat_log, Redactor())
        log.asked(turn, message)
        if answer is not None:
            misses = [MissedQuestion(turn, text, "unknown", ("handbook",), 0.1, TEAM, None, when)] if missed else []
            given = Answered(answer, (Citation(1, "refunds.md", "handbook", 0, "30 days"),), turn=turn)
            recording = Recording()
            recording.add(ToolCalled("1", "search", {"query": text}))
            await self._rows.finish(held, given, owner="me", steps=recording.steps, misses=misses, now=when)
            log.record(turn, Thought(f"They ask: {text}"))
            log.record(turn, given)
            if finished:
                await self._rows.shown(turn, owner="me", now=when)
        log.close()
        return turn

    async def searched(self, when: datetime, query: str, turn: str | None = None) -> None:
        metrics = SearchMetrics(query, "handbook", 5.0, 9, 3, 0.8, (0.8,), None, when)
        await Searches(self.engine).add(Measured(metrics, TEAM, turn))

    async def posted(self, when: datetime, about: str, text: str = "", **more: Any) -> None:
        data = {"row": {"text": text}, **more}
        await Outbox(self.engine).confirm(Post(about, "card", 0, PLACE, message="1", data=data))
        await self._date(posts.update().where(posts.c.about == about).values(at=when))

    async def taken_in(self, when: datetime, claim: str, *, by: str = "U1", done: bool = False) -> None:
        given = IngestionRequest(
            claim, PLACE, None, by, "docs", TEAM, "en", (FileRef(f"by {PERSON.id}.md", {"id": "F1"}),)
        )
        intake_rows = IngestionStore(self.engine)
        await intake_rows.take(claim, given, owner="me", now=when, until=when, admit=lambda intake, waiting: intake)
        if done:
            await intake_rows.done(claim, owner="me")

    async def traced(self, when: datetime, actor: str, subject: str = "a.md") -> None:
        await Audit(self.engine).note(actor, "forget", subject, "forgotten")
        await self._date(audit.update().where(audit.c.actor == actor).values(at=when))

    async def told(self, turn: str, answer: str, by: str) -> None:
        """The turn's misses are closed by an answer, which its asker will be told."""
        ids = [row.id for row in await rows(self.engine, select(questions.c.id).where(questions.c.turn == turn))]
        trace = AuditRecord(by, "teach", "questions", "answers")
        await Notices(self.engine).close(ids, [TEAM], now=NOW, trace=trace, telling=Telling(answer, by))

    async def _date(self, change: Any) -> None:
        async with write(self.engine) as db:
            await db.execute(change)

    async def count(self, table: Table) -> int:
        return int((await rows(self.engine, select(func.count()).select_from(table)))[0][0])

    async def ids(self) -> set[str]:
        return {row.id for row in await rows(self.engine, select(turns.c.id))}

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.chat_log.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
async def kept(engine: AsyncEngine, tmp_path: Path) -> AsyncIterator[Kept]:
    yield Kept(engine, tmp_path / "logs" / "agent_chat.log")


@pytest.fixture
async def sqlite_kept(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Kept]:
    """Of a home with one process, whose clock counts."""
    engine = connect(sqlite_url)
    yield Kept(engine, tmp_path / "logs" / "agent_chat.log")
    await engine.dispose()


STAYS = {  # the team's, or words of ours: names of collections, numbers, what a store said
    "documents": {"title", "url"},
    "collections": {"description"},
    "places": {"collections"},
    "turns": {"collections"},
    "answers": {"searched"},
    "questions": {"searched"},
    "searches": {"scores", "error"},
    "followed": {"location", "options", "cursor", "trouble"},
    "followed_pages": {"refusal"},
    "erasures": {"turns"},
    "dataset_jobs": {"limits"},
}


async def test_a_person_is_gone_from_every_column_that_holds_words(engine: AsyncEngine, tmp_path: Path) -> None:
    """A new table or column: say in `bot/store/erasure.py` what becomes of it, or here why it stays."""
    await fill(engine, f"Ask <@{PERSON.id}>", {})
    before = await rows_of_all(engine)
    assert all(before.values())
    named = {(table, column) for table, found in before.items() for column in _naming(found)}
    assert named == {
        (table.name, column.name)
        for table in metadata.sorted_tables
        for column in table.columns
        if isinstance(column.type, JSON) or (isinstance(column.type, String) and column.type.length is None)
        if not column.foreign_keys
    }
    await forget(engine, tmp_path / "no.log", PERSON)
    left = {(table, column) for table, found in (await rows_of_all(engine)).items() for column in _naming(found)}
    stays = {(table, column) for table, columns in STAYS.items() for column in columns}
    assert left == stays | ({("erasures", "person")} if on_server(engine) else set())  # until each machine knows


def _naming(found: list[dict[str, Any]]) -> set[str]:
    return {column for row in found for column, value in row.items() if PERSON.id in str(value)}


# -- by age ---------------------------------------------------------------------------------------------------------


async def test_what_is_older_goes_with_all_that_belongs_to_it(kept: Kept) -> None:
    old, new = await kept.asked(OLD), await kept.asked(NEW)
    for turn in (old, new):
        await Votes(kept.engine).put(Feedback(turn, "U2", "up", None, "", at=NEW), TEAM)
    await kept.searched(OLD, "old words")
    await kept.searched(NEW, "new words")
    expired = await retain(kept.engine, kept.chat_log, keep=KEEP, now=NOW)
    assert (expired.deleted, expired.emptied, expired.searches) == (1, 0, 1)
    assert await kept.ids() == {new}
    assert [await kept.count(table) for table in (answers, feedback, searches)] == [1, 1, 1]
    assert not await retain(kept.engine, kept.chat_log, keep=KEEP, now=NOW)


async def test_an_open_miss_stays_without_the_person_and_a_closed_one_goes(kept: Kept) -> None:
    await kept.asked(OLD, missed=True, text="Where is the moon?")
    closed = await kept.asked(OLD, missed=True, text="Where is the sun?")
    open_ones = await UnansweredQuestions(kept.engine).open({TEAM})
    await resolve(kept.engine, [one.id for one in open_ones.questions if one.turn == closed], {TEAM})
    expired = await retain(kept.engine, kept.chat_log, keep=KEEP, now=NOW)
    assert (expired.deleted, expired.emptied) == (1, 1)
    (left,) = (await UnansweredQuestions(kept.engine).open({TEAM})).questions
    assert left.question == "Where is the moon?"
    (turn,) = await rows(kept.engine, select(turns))
    assert (turn.author, turn.text, turn.state) == ("", "", "done")
    assert (turn.channel, turn.thread) == ("C1", f"{turn.id}.0")  # where to tell that it has been answered
    assert await kept.count(answers) == 0
    assert not await retain(kept.engine, kept.chat_log, keep=KEEP, now=NOW)
    await resolve(kept.engine, [left.id], {TEAM})
    assert (await retain(kept.engine, kept.chat_log, keep=KEEP, now=NOW)).deleted == 1
    assert await kept.count(questions) == 0


async def test_a_claim_without_an_answer_goes_after_a_week_and_an_open_turn_stays(kept: Kept) -> None:
    week = NOW - CLAIMS
    long_open = await kept.asked(week - timedelta(days=1), answer=None)
    answered = await kept.asked(week - timedelta(days=1))
    recent = await kept.asked(week + timedelta(days=1), answer=None)
    done = await kept.asked(week - timedelta(days=1), answer=None)
    async with write(kept.engine) as db:
        await db.execute(turns.update().where(turns.c.id.in_((done, recent))).values(state="done"))
    await retain(kept.engine, kept.chat_log, keep=KEEP, now=NOW)
    assert await kept.ids() == {long_open, answered, recent}


async def test_a_question_that_nobody_took_up_again_goes_in_the_end(kept: Kept) -> None:
    await kept.asked(OLD, answer=None)
    held = await kept.asked(OLD, answer=None)
    async with write(kept.engine) as db:
        await db.execute(turns.update().where(turns.c.id == held).values(lease_until=NOW + timedelta(seconds=9)))
    await retain(kept.engine, kept.chat_log, keep=KEEP, now=NOW)
    assert await kept.ids() == {held}


async def test_what_platforms_were_served_with_goes_in_its_time(kept: Kept) -> None:
    turn = await kept.asked(OLD, missed=True)
    await kept.told(turn, "25日です。", "slack:U9")
    await kept.posted(NEW, turn)
    await kept.posted(OLD, "digest:1")
    await kept.posted(NEW, "digest:2")
    week = NOW - CLAIMS
    await kept.taken_in(OLD, "never done")
    await kept.taken_in(week - timedelta(days=1), "open")
    await kept.taken_in(week - timedelta(days=1), "done", done=True)
    await kept.taken_in(week + timedelta(days=1), "done lately", done=True)
    await kept.traced(NOW - TRACES - timedelta(days=1), "slack:U1")
    await kept.traced(OLD, "slack:U2")
    expired = await retain(kept.engine, kept.chat_log, keep=KEEP, now=NOW)
    assert (expired.deleted, expired.others) == (1, 4)
    assert await kept.count(notices) == 0  # with its turn
    assert [row.about for row in await rows(kept.engine, select(posts))] == ["digest:2"]
    assert {row.claim for row in await rows(kept.engine, select(intakes))} == {"open", "done lately"}
    assert {row.actor for row in await rows(kept.engine, select(audit))} == {"slack:U2", "slack:U9"}


async def test_a_card_stays_for_as_long_as_a_question_of_it_is_open(kept: Kept) -> None:
    """Whoever presses its button would be told that the question was answered."""
    for text in ("Where is the sun?", "Where is the moon?"):
        await kept.asked(OLD, missed=True, text=text)
    sun, moon = [row.id for row in await rows(kept.engine, select(questions.c.id).order_by(questions.c.id))]
    await kept.posted(OLD, "open", "Where is the sun?", questions=[sun, moon], closed=False)
    await kept.posted(OLD, "over", questions=[moon], closed=True)
    await kept.posted(OLD, "asked most", questions=[], closed=False)
    await resolve(kept.engine, [sun], {TEAM})
    await retain(kept.engine, kept.chat_log, keep=KEEP, now=NOW)
    (card,) = await rows(kept.engine, select(posts))
    assert card.data["questions"] == [sun, moon] and is_wordless(card.data)  # is drawn with what is left of it
    await resolve(kept.engine, [moon], {TEAM})
    await retain(kept.engine, kept.chat_log, keep=KEEP, now=NOW)
    assert not await kept.count(posts)


async def test_files_of_threads_are_handed_to_whoever_can_forget_them(kept: Kept) -> None:
    await VectorStores(kept.engine).open("e5", 384, "t1")
    store = Documents(kept.engine, "e5")
    for number, (scope, when) in enumerate((("thread:slack:T1:C1:1", OLD), ("thread:slack:T1:C1:2", NEW), (TEAM, OLD))):
        page = DocumentRow(
            f"d{number}", "docs", scope, "a.md", "A", None, "h", "m", 1, "en", "U1", 1, when, when
        )  # fmt: skip
        await store.commit(page, generation=number + 1)
    forgotten: list[str] = []

    async def forget_document(document: str) -> bool:
        forgotten.append(document)
        return await store.forget(document, generation=9) == 1

    await retain(kept.engine, kept.chat_log, keep=KEEP, now=NOW)
    assert forgotten == []
    await retain(kept.engine, kept.chat_log, keep=KEEP, now=NOW, forget_document=forget_document)
    assert forgotten == ["d0"]


async def test_what_was_open_in_a_copied_database_is_not_said_or_read_again(kept: Kept) -> None:
    turn = await kept.asked(NEW, missed=True)
    await kept.told(turn, "25日です。", "slack:U9")
    await kept.asked(NOW, answer=None)
    await kept.taken_in(NOW, "open")
    assert await close_open_turns(kept.engine) == 1
    assert await kept.count(notices) == 0
    assert await IngestionStore(kept.engine).unfinished("slack", now=NOW + KEEP) == []


async def test_much_goes_in_small_steps_that_let_others_write(kept: Kept) -> None:
    for _ in range(7):
        await kept.asked(OLD)
        await kept.searched(OLD, "words")
    wrote: list[int] = []
    connected = asyncio.Event()

    async def write_beside() -> None:
        while True:
            async with write(kept.engine):
                wrote.append(await kept.count(turns) if kept.engine.dialect.name != "sqlite" else 0)
            connected.set()
            await asyncio.sleep(0)

    beside = asyncio.create_task(write_beside())
    await connected.wait()
    wrote.clear()
    expired = await Erasure(kept.engine, batch=2).expire(
        before=NOW - KEEP, inbox_before=NOW - CLAIMS, audit_before=NOW - TRACES
    )
    beside.cancel()
    await asyncio.gather(beside, return_exceptions=True)
    assert (expired.deleted, expired.searches) == (7, 7)
    assert len(wrote) >= 4  # at least one between two steps


async def test_less_than_a_claims_week_is_refused(kept: Kept) -> None:
    with pytest.raises(ValueError, match="7 days"):
        await retain(kept.engine, kept.chat_log, keep=timedelta(days=6), now=NOW)


async def test_old_lines_of_the_chat_log_go_and_old_files_with_them(sqlite_url: str, tmp_path: Path) -> None:
    log = tmp_path / "agent_chat.log"
    line = '{"at": "%s", "turn": "t", "type": "thought", "text": "%s"}\n'
    old, new = (moment.isoformat(timespec="milliseconds") for moment in (OLD, NEW))
    log.write_text(line % (old, "past") + line % (new, "present") + "cut off by a full di", encoding="utf-8")
    (tmp_path / "agent_chat.log.1").write_text(line % (old, "past") * 3, encoding="utf-8")
    (tmp_path / "agent_chat.log.4").write_text(line % (new, "現在"), encoding="utf-8")
    inode = log.stat().st_ino
    engine = connect(sqlite_url)
    await retain(engine, log, keep=KEEP, now=NOW)
    await engine.dispose()
    assert log.read_text(encoding="utf-8") == line % (new, "present")
    assert log.stat().st_ino == inode  # a writer that waits for the lock appends to what will be read
    assert not (tmp_path / "agent_chat.log.1").exists()
    assert (tmp_path / "agent_chat.log.4").read_text(encoding="utf-8") == line % (new, "現在")


@pytest.mark.parametrize("name", ["kotae", "kotae [1]"])
async def test_old_copies_from_before_upgrades_go(tmp_path: Path, name: str) -> None:
    """They hold all that was older still."""
    file = tmp_path / f"{name}.db"
    sqlite_url = databases.made(file)
    old, new = (file.with_name(f"{name}-000{n}-20260101T000000.backup.db") for n in (1, 2))
    other = file.with_name("kotae.sql")
    for path, moment in ((old, OLD), (new, NEW), (other, OLD)):
        path.write_bytes(b"")
        os.utime(path, (moment.timestamp(), moment.timestamp()))
    engine = connect(sqlite_url)
    await retain(engine, tmp_path / "no.log", keep=KEEP, now=NOW)
    await engine.dispose()
    assert not old.exists() and new.exists() and other.exists()


async def test_every_day_until_cancelled_whatever_fails(sqlite_kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    old = await sqlite_kept.asked(OLD)
    slept: list[float] = []
    days = iter((NOW - timedelta(days=2), NOW, NOW + timedelta(days=1)))
    await believed(sqlite_kept.engine, NOW - timedelta(days=3))

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            assert await sqlite_kept.ids() == {old}  # not old enough on the first day
        if len(slept) == 3:
            assert await sqlite_kept.ids() == set()
            sqlite_kept.chat_log.unlink(missing_ok=True)
            sqlite_kept.chat_log.mkdir(parents=True)  # from now on it cannot be read
        if len(slept) == 4:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await daily(sqlite_kept.engine, sqlite_kept.chat_log, keep=KEEP, clock=lambda: next(days), sleep=sleep)
    assert slept == [FIRST_AFTER.total_seconds(), *[EVERY.total_seconds()] * 3]
    assert "could not be deleted; trying again" in caplog.text


async def believed(engine: AsyncEngine, at: datetime) -> None:
    """The clock went on day by day until then."""
    await RetentionClock(engine).judge(at - STEP)
    assert (await RetentionClock(engine).judge(at)).doubted_at is None


async def retained(kept: Kept, *clock: datetime) -> None:
    """A round of `daily` for each time that the clock says then."""
    says, rounds = iter(clock), 0

    async def sleep(seconds: float) -> None:
        nonlocal rounds
        rounds += 1
        if rounds == len(clock) + 1:
            raise asyncio.CancelledError

    async def expire_files(before: datetime) -> None:
        await HeldRows(kept.engine).expire(before)

    with pytest.raises(asyncio.CancelledError):
        await daily(
            kept.engine, kept.chat_log, keep=KEEP, clock=lambda: next(says), sleep=sleep, expire_files=expire_files
        )


YEARS = timedelta(days=3650)


async def test_a_clock_that_leaps_deletes_nothing_until_it_has_stood_by_it(
    sqlite_kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    asked = await sqlite_kept.asked(NOW)
    await HeldRows(sqlite_kept.engine).keep([b"waits"])
    await believed(sqlite_kept.engine, NOW)
    await retained(sqlite_kept, NOW + YEARS, NOW + YEARS + STEP - EVERY)
    assert await sqlite_kept.ids() == {asked} and await sqlite_kept.count(held_files) == 1
    assert "nothing is deleted until it has stood by that for 7 days" in caplog.text
    assert (NOW + YEARS).strftime("%Y-%m-%d") in caplog.text and NOW.strftime("%Y-%m-%d") in caplog.text
    await retained(sqlite_kept, NOW + YEARS + STEP)
    assert await sqlite_kept.ids() == set() and await sqlite_kept.count(held_files) == 0


async def test_a_clock_that_is_set_right_again_is_believed_at_once(sqlite_kept: Kept) -> None:
    old, new = await sqlite_kept.asked(OLD), await sqlite_kept.asked(NEW)
    await believed(sqlite_kept.engine, OLD + KEEP)
    await retained(sqlite_kept, NOW + YEARS, NOW + YEARS + EVERY)
    assert await sqlite_kept.ids() == {old, new}
    await retained(sqlite_kept, NOW)
    assert await sqlite_kept.ids() == {new}
    assert await RetentionClock(sqlite_kept.engine).known(NOW) == Clock(NOW, NOW, None)
    await retained(sqlite_kept, NOW + YEARS + STEP + EVERY)  # what it said once counts no more
    assert await sqlite_kept.ids() == {new}


async def test_a_home_that_never_looked_at_its_clock_begins_with_a_doubt(
    sqlite_kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    asked = await sqlite_kept.asked(NOW)
    await retained(sqlite_kept, NOW + YEARS)
    assert await sqlite_kept.ids() == {asked} and "retention" not in caplog.text


async def test_a_wrong_clock_of_a_machine_is_not_asked_where_the_server_has_one(
    server_url: str, tmp_path: Path
) -> None:
    engine = connect(server_url)
    clock, wrong = RetentionClock(engine), datetime.now(UTC) + YEARS
    assert (await clock.judge(wrong)).at < wrong - STEP
    kept = await clock.known(wrong)
    assert kept.doubted_at is not None and kept.doubted_at < kept.at < wrong - STEP
    await engine.dispose()


def contents(folder: Path) -> list[tuple[Path, bytes]]:
    """Every file there is, the database's own logs too."""
    return [(path, path.read_bytes()) for path in folder.rglob("*") if path.is_file()]


# -- a person -------------------------------------------------------------------------------------------------------


async def seeded(kept: Kept) -> dict[str, str]:
    """What the person left everywhere, and what others wrote beside it."""
    theirs = await kept.asked(NEW, by=PERSON.id, text="Where do the quokka sleep?", missed=True)
    running = await kept.asked(NOW, by=PERSON.id, text="鴨嘴獣は？", answer=None)
    named = await kept.asked(
        NEW + timedelta(hours=1), text=f"Ask <@{PERSON.id}> about refunds", answer=f"By {PERSON.id}."
    )
    elsewhere = await kept.asked(
        NEW + timedelta(hours=2), by=PERSON.id, text="A namesake.", place=Place("discord", "G1", "C1")
    )
    votes = Votes(kept.engine)
    await votes.put(Feedback(named, PERSON.id, "down", "wrong", "quokka say otherwise", at=NEW), TEAM)
    await votes.put(Feedback(named, "U2", "down", "outdated", "It is 14 days", at=NEW), TEAM)
    resolved = await kept.asked(NEW + timedelta(hours=3))
    await votes.put(Feedback(resolved, PERSON.id, "down", "wrong", "鴨嘴獣", at=NEW), TEAM)
    await resolve(kept.engine, [(await UnansweredQuestions(kept.engine).open({TEAM})).questions[0].id], {TEAM})
    reported = await kept.asked(NEW + timedelta(hours=4))
    await votes.put(Feedback(reported, PERSON.id, "down", "wrong", "quokka", at=NEW), TEAM)
    await kept.searched(NEW, "quokka sleep", theirs)
    await kept.searched(NEW, "refunds", named)
    await VectorStores(kept.engine).open("e5", 384, "t1")
    page = DocumentRow(
        "d" * 32, "handbook", TEAM, "refunds.md", "Refunds", None, "h", "m", 1, "en", PERSON.id, 1, NEW, NEW
    )  # fmt: skip
    await Documents(kept.engine, "e5").commit(page, generation=1)
    await kept.posted(NEW, theirs, "Where do the quokka sleep?")
    await kept.posted(NEW, "digest:1", f"Ask <@{PERSON.id}>")
    await kept.taken_in(NOW, "theirs", by=PERSON.id)
    await kept.taken_in(NOW, "of another")
    await kept.traced(NEW, str(PERSON), f"by {PERSON.id}.md")
    unsure = await kept.asked(NEW + timedelta(hours=6), missed=True)
    await kept.told(unsure, f"Ask {PERSON.id}.", str(PERSON))
    return {"theirs": theirs, "unsure": unsure, "running": running, "named": named, "namesake": elsewhere, "resolved": resolved, "reported": reported}  # fmt: skip


async def test_a_person_is_gone_from_every_table(kept: Kept) -> None:
    ids = await seeded(kept)
    done = await forget(kept.engine, kept.chat_log, PERSON)
    assert set(done.erased.turns) == {ids["theirs"], ids["running"]}
    assert (done.erased.votes, done.erased.searches, done.erased.documents) == (3, 1, 1)
    assert done.erased.compacted
    assert await kept.ids() == {ids["named"], ids["namesake"], ids["resolved"], ids["reported"], ids["unsure"]}
    (named,) = await rows(kept.engine, select(turns.c.text, answers.c.text.label("answer")).join(answers).where(turns.c.id == ids["named"]))  # fmt: skip
    assert (named.text, named.answer) == ("Ask <@[forgotten]> about refunds", "By [forgotten].")
    misses = {row.turn: row for row in await rows(kept.engine, select(questions))}
    assert misses.keys() == {ids["named"], ids["resolved"], ids["unsure"]}  # one that only they reported goes
    assert misses[ids["named"]].detail == "outdated: It is 14 days"
    assert misses[ids["resolved"]].detail == ""
    assert [row.author for row in await rows(kept.engine, select(feedback))] == ["U2"]
    assert [row.query for row in await rows(kept.engine, select(searches))] == ["refunds"]
    assert [row.author for row in await rows(kept.engine, select(documents))] == [""]
    (card,) = await rows(kept.engine, select(posts))
    assert card.data == {"row": {"text": f"Ask <@{FORGOTTEN}>"}}
    (intake,) = await rows(kept.engine, select(intakes))
    assert (intake.claim, intake.files[0]["name"]) == ("of another", f"by {FORGOTTEN}.md")
    traces = [one for one in await Audit(kept.engine).listed() if one.action != "dismiss"]
    assert {one.actor for one in traces} == {f"slack:{FORGOTTEN}"} and traces[-1].subject == f"by {FORGOTTEN}.md"
    (notice,) = await rows(kept.engine, select(notices))
    assert (notice.by, notice.answer) == (None, f"Ask {FORGOTTEN}.")
    (namesake,) = await rows(kept.engine, select(turns).where(turns.c.id == ids["namesake"]))
    assert namesake.author == PERSON.id  # the same id on another platform is another person
    again = await forget(kept.engine, kept.chat_log, PERSON)
    assert not again.erased.turns and not again.lines


@pytest.mark.parametrize(("person", "named"), [("UGKFVMSMD", True), ("81234567890123456", True), ("terminal", False)])
async def test_an_id_is_taken_from_what_others_wrote_a_word_is_not(kept: Kept, person: str, named: bool) -> None:
    turn = await kept.asked(NEW, text=f"Does {person} know the terminal?")
    assert (await Erasure(kept.engine).forget("slack", person)).mentions == (2 if named else 0)
    (asked,) = await rows(kept.engine, select(turns.c.text).where(turns.c.id == turn))
    assert asked.text == f"Does {FORGOTTEN if named else person} know the terminal?"


async def test_what_others_write_meanwhile_stays_without_the_name(engine: AsyncEngine) -> None:
    outbox = Outbox(engine)
    said = [Post(f"intake{at:03}", "intake", 0, PLACE, data={"text": f"for {PERSON.id}"}) for at in range(300)]
    for post in said:
        await outbox.confirm(post)
    erasing = asyncio.create_task(Erasure(engine, batch=10).forget(PERSON.platform, PERSON.id))
    while PERSON.id in str(await outbox.of("intake000")):
        pass  # until the first is read, and before the last
    await outbox.amend(said[-1], lambda data: {**data, "done": True})
    assert (await erasing).mentions == len(said)
    (last,) = await outbox.of(said[-1].about)
    assert last.data == {"text": f"for {FORGOTTEN}", "done": True}


async def test_a_card_that_holds_their_question_goes_and_others_stay(kept: Kept) -> None:
    theirs = await kept.asked(NOW, text="Where is my CANARY badge?", by=PERSON.id, missed=True)
    await kept.asked(NOW, text="How long?", by="U9", missed=True)
    ids = [row.id for row in await rows(kept.engine, select(questions.c.id).order_by(questions.c.id))]
    for part, number in enumerate(ids):
        post = Post("digest:1", "card", part, PLACE, message=str(part), data={"questions": [number], "row": {}})
        await Outbox(kept.engine).confirm(post)
    assert (await Erasure(kept.engine).forget(PERSON.platform, PERSON.id)).turns == (theirs,)
    assert [post.data["questions"] for post in await Outbox(kept.engine).of("digest:1")] == [ids[1:]]


async def test_the_words_of_their_question_leave_what_was_asked_most(kept: Kept) -> None:
    theirs = await kept.asked(NOW, text="Where is my CANARY badge?", by=PERSON.id)
    row = {"details": ["CANARY", "How long?"], "sources": [f"{theirs} {'f' * 32}", ""]}
    data = {"questions": [], "row": row, "closed": False}
    await Outbox(kept.engine).confirm(Post("digest:1", "card", 0, PLACE, message="0", data=data))
    await Erasure(kept.engine).forget(PERSON.platform, PERSON.id)
    (card,) = await Outbox(kept.engine).open_cards("slack")
    assert card.data["row"]["details"] == ["How long?"] and card.data["stale"]


async def test_a_card_that_holds_their_complaint_loses_it_and_others_stay(kept: Kept) -> None:
    of_others = await kept.asked(NOW, text="How long?", by="U9")
    await Votes(kept.engine).put(Feedback(of_others, PERSON.id, "down", "wrong", "CANARY", at=NOW), TEAM)
    await Votes(kept.engine).put(Feedback(of_others, "U2", "down", "outdated", "It is 14 days", at=NOW), TEAM)
    await kept.asked(NOW, text="How much?", by="U9", missed=True)
    ids = [row.id for row in await rows(kept.engine, select(questions.c.id).order_by(questions.c.id))]
    for part, number in enumerate(ids):
        data = {"questions": [number], "row": {"text": "How long?", "details": ["CANARY"] if part == 0 else []}}
        await Outbox(kept.engine).confirm(Post("digest:1", "card", part, PLACE, message=str(part), data=data))
    assert (await Erasure(kept.engine).forget(PERSON.platform, PERSON.id)).votes == 1
    cleared, other = await Outbox(kept.engine).of("digest:1")
    assert is_wordless(cleared.data) and "CANARY" not in str(cleared.data) and cleared.data["questions"] == ids[:1]
    assert other.data == data


async def test_what_was_asked_about_their_replies_goes_and_others_stay(kept: Kept) -> None:
    for number, by in enumerate((PERSON.id, "U2")):
        data = {"replies": [str(number)], "by": by}
        await Outbox(kept.engine).confirm(Post(f"confirm:{number}", "confirm", 0, PLACE, data=data))
    await Erasure(kept.engine).forget(PERSON.platform, PERSON.id)
    assert [await Outbox(kept.engine).of(f"confirm:{number}") == [] for number in range(2)] == [True, False]


async def test_no_file_holds_a_word_of_the_person(sqlite_url: str, tmp_path: Path) -> None:
    """Neither the database nor its log beside it, nor the chat log; while another process has the database open. Not
    every SQLite overwrites what is deleted, as Debian's does."""
    engine, beside = connect(sqlite_url), connect(sqlite_url)
    for each in (engine, beside):
        event.listen(each.sync_engine, "connect", lambda db, record: db.execute("PRAGMA secure_delete = OFF"))
    kept = Kept(engine, tmp_path / "logs" / "agent_chat.log")
    ids = await seeded(kept)
    async with write(engine) as db:
        await db.execute(turns.delete().where(turns.c.id == ids["namesake"]))
    await rows(beside, select(turns))
    older = kept.chat_log.with_name("agent_chat.log.2")
    older.write_bytes(kept.chat_log.read_bytes())
    for canary in CANARIES:
        assert {path.name for path, data in contents(tmp_path) if canary in data} >= {"agent_chat.log.2"}
        assert any(canary in data for path, data in contents(tmp_path) if path.name.startswith("kotae.db"))
    before = len(kept.lines())
    done = await forget(engine, kept.chat_log, PERSON)
    assert not [(path, canary) for path, data in contents(tmp_path) for canary in CANARIES if canary in data]
    assert done.lines == 2 * (before - len(kept.lines())) > 0
    assert {line["turn"] for line in kept.lines()} >= {ids["named"], ids["reported"]}
    await kept.asked(NOW)  # the log and the database go on
    assert kept.lines()[-1]["type"] == "answer"
    await engine.dispose()
    await beside.dispose()


async def test_a_line_of_the_log_that_was_cut_off_goes_with_a_person_since_it_may_be_theirs(
    sqlite_url: str, tmp_path: Path
) -> None:
    engine = connect(sqlite_url)
    kept = Kept(engine, tmp_path / "agent_chat.log")
    await kept.asked(NEW, by=PERSON.id, text="quokka")
    cut_off = kept.chat_log.read_bytes().split(b"quokka")[0] + b"quokka"
    kept.chat_log.write_bytes(cut_off + b"\n")
    await kept.asked(NEW, by="U2", text="wombat")
    others = kept.chat_log.read_bytes().removeprefix(cut_off + b"\n")
    await forget(engine, kept.chat_log, PERSON)
    assert kept.chat_log.read_bytes() == others and b"wombat" in others
    await engine.dispose()


async def test_what_the_log_alone_still_knows_goes_too(sqlite_url: str, tmp_path: Path) -> None:
    engine = connect(sqlite_url)
    kept = Kept(engine, tmp_path / "agent_chat.log")
    await kept.asked(NEW, by=PERSON.id, text="quokka")
    async with write(engine) as db:
        await db.execute(turns.delete())
    done = await forget(engine, kept.chat_log, PERSON)
    assert done.lines == 3 and kept.chat_log.read_bytes() == b""
    await engine.dispose()


async def test_a_person_goes_from_the_chat_log_of_each_machine_once(server_url: str, tmp_path: Path) -> None:
    """Of one that runs, of one that is started later, and not again when the person comes back."""
    engine = connect(server_url)
    here, there, later = (Kept(engine, tmp_path / name / "agent_chat.log") for name in ("here", "there", "later"))
    for number, machine in enumerate((here, there, later)):
        machine._count = 100 * number
        await machine.asked(NEW, by=PERSON.id, text="quokka")
        await machine.asked(NEW, by="U2", text=f"Ask {PERSON.id}")
    done = await forget(engine, here.chat_log, PERSON)
    assert done.machines and len(done.erased.turns) == 3 and done.lines == 3
    assert "other machines" in done.text("en") and "ほかのマシン" in done.text("ja")
    looked = 0

    async def sleep(seconds: float) -> None:
        nonlocal looked
        looked += 1
        if looked == 1:
            assert not _has(there, b"quokka") and not _has(there, PERSON.id.encode())
            await there.asked(NEW, by=PERSON.id, text="wombat")  # they are back
        else:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await follow_erasures(engine, there.chat_log, sleep=sleep)
    assert await apply_erasures(engine, there.chat_log) == 0 and _has(there, b"wombat")
    assert await apply_erasures(engine, later.chat_log) == 3
    assert not _has(later, b"quokka") and _has(later, b"Ask [forgotten]")
    assert await ErasedPeople(engine).listed()
    await retain(engine, here.chat_log, keep=KEEP, now=datetime.now(UTC) + KEEP + timedelta(minutes=1))
    assert await ErasedPeople(engine).listed() == []
    await engine.dispose()


async def test_files_that_wait_go_with_the_person_who_gave_them(engine: AsyncEngine) -> None:
    theirs, others = await HeldRows(engine).keep([b"theirs", b"others"])
    for author, key in ((PERSON.id, theirs), ("U2", others)):
        file = FileRef("a.md", {"name": "a.md", "held": key})
        given = IngestionRequest(author, PLACE, None, author, "docs", TEAM, "en", (file,))
        taken = IngestionStore(engine).take(author, given, owner="me", now=NOW, until=NOW, admit=lambda it, n: it)
        assert await taken is not None
    await Erasure(engine).forget(PERSON.platform, PERSON.id)
    assert [await HeldRows(engine).get(key) for key in (theirs, others)] == [None, b"others"]


async def test_datasets_go_with_the_person_who_gave_them_and_ended_ones_with_time(engine: AsyncEngine) -> None:
    jobs, files = DatasetJobRows(engine), HeldRows(engine)
    keys = await files.keep([b"theirs", b"others", b"running"])
    for author, key in zip((f"{PERSON.platform}:{PERSON.id}", "slack:U2", "slack:U3"), keys, strict=True):
        order = Order(DatasetUpload(key, "a.csv"), author, TEAM, author, "en")
        assert await jobs.begin(DatasetJob(key, order, OLD), owner="me", now=NOW, until=NOW)
    await Erasure(engine).forget(PERSON.platform, PERSON.id)
    assert [await files.get(key) for key in keys] == [None, b"others", b"running"]
    ended = await jobs.cancel(
        keys[1], now=OLD, trace=lambda job: AuditRecord("slack:U2", "dataset", job.name, job.state)
    )
    assert ended and {job.id for job in await jobs.listed(9)} == {*keys[1:]}
    await Erasure(engine).expire(before=NOW - KEEP, inbox_before=NOW - KEEP, audit_before=NOW - KEEP)
    assert [job.id for job in await jobs.listed(9)] == keys[2:]


def _has(machine: Kept, words: bytes) -> bool:
    return words in machine.chat_log.read_bytes()


async def test_a_database_too_busy_to_be_rewritten_is_said(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.store.engine.BUSY_TIMEOUT_MS", 50)  # a setting of ours, not a behaviour
    engine, reader = connect(sqlite_url), connect(sqlite_url)
    kept = Kept(engine, tmp_path / "agent_chat.log")
    await kept.asked(NEW, by=PERSON.id, text="quokka")
    async with reader.connect() as looking:
        await looking.execute(select(turns))  # a read that does not end
        done = await forget(engine, kept.chat_log, PERSON)
    assert not done.erased.compacted
    assert "same command again" in done.text("en") and "もう一度" in done.text("ja")
    assert await erasure.compact(engine)
    await engine.dispose()
    await reader.dispose()


async def test_the_message_names_what_still_has_it(sqlite_url: str, tmp_path: Path) -> None:
    engine = connect(sqlite_url)
    file = file_of(sqlite_url)
    assert file is not None
    copy = file.with_name("kotae-0001-20260101T000000.backup.db")
    copy.write_bytes(b"")
    done = await forget(engine, tmp_path / "no.log", replace(PERSON, id="U2"))
    assert done.copies == (copy,) and os.fspath(copy) in done.text("en") and os.fspath(copy) in done.text("ja")
    assert "kotae backup" in done.text("en") and "slack:U2" in done.text("ja")
    await engine.dispose()


@pytest.mark.parametrize("name", ["", "U1", ":U1", "slack:", "slack: "])
def test_a_person_needs_a_platform_and_an_id(name: str) -> None:
    with pytest.raises(WhoError) as wrong:
        Person.named(name)
    assert "slack:" in wrong.value.text("en") and "slack:" in wrong.value.text("ja")


def test_a_person_is_named() -> None:
    assert Person.named(" Slack:U012 ") == Person("slack", "U012")
    assert str(Person("discord", "80351110224678912")) == "discord:80351110224678912"


async def test_a_database_that_cannot_be_reached_is_said(tmp_path: Path) -> None:
    engine = connect(f"sqlite+aiosqlite:///{tmp_path / 'missing' / 'kotae.db'}")
    with pytest.raises(StoreError):
        await forget(engine, tmp_path / "no.log", PERSON)
    await engine.dispose()
