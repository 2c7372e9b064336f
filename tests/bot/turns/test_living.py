"""Answers follow their pages: what changed is said once, what still holds is left alone, and words of a document that
people forget leave, whatever became of the page before."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import select, update

from agent.events import Answered, PageChange
from bot.app import Application
from bot.knowledge.content_store import ContentFolder
from bot.sources.sources import NewSource
from bot.store.changed_documents import ChangedDocuments
from bot.store.engine import rows, write
from bot.store.schema import answers, changed_documents, notices, turns
from bot.store.turns import BESIDE
from bot.texts import changes_text
from bot.turns.living import LivingAnswers
from bot.types import Audience, Incoming, Place, Post, Upload
from retrieval.types import TEAM, Readers
from tests.bot.sources.conftest import EDITOR
from tests.bot.test_app import application

PLACE = Place("slack", "T1", "C1")
PAGE = "# Parental leave\n\nParental leave for pilots lasts 20 weeks. It is requested from the harbour office.\n"
QUESTION = "How many weeks does parental leave for pilots last?"
TEAM_READS = Readers(frozenset({TEAM}))


@dataclass
class Living:
    app: Application
    asked: int = 0

    async def page(self, markdown: str, name: str = "leave.md") -> str:
        verdict = await self.app.knowledge.add(Upload(name, markdown.encode(), "docs", TEAM, "U1"), "en")
        assert verdict.document_id is not None, verdict.reason
        return verdict.document_id

    async def ask(self, question: str = QUESTION, *, thread: str = "", language: Any = None) -> str:
        """A question with its answer, which stands in its thread: the turn."""
        self.asked += 1
        message = Incoming(
            PLACE, thread or f"{self.asked}.0", f"{self.asked}.0", "U1", question, Audience("public"), language=language
        )
        events = [event async for event in self.app.bot.turns.reply(message)]
        answer = events[-1]
        assert isinstance(answer, Answered)
        await self.app.bot.outbox.confirm(Post(answer.turn, "answer", 0, PLACE, message.thread, f"{self.asked}.5"))
        return answer.turn

    async def kept(self, turn: str) -> Answered:
        found = await self.app.data.conversations.get(turn)
        assert found is not None
        return found.answered

    async def said(self, turn: str) -> list[tuple[str, str]]:
        return [(one.was, one.now) for one in (await self.kept(turn)).changes]

    async def told(self) -> list[str]:
        return [row.answer for row in await rows(self.app.data.engine, select(notices).order_by(notices.c.turn))]

    async def waiting(self) -> list[str]:
        return [row.document for row in await rows(self.app.data.engine, select(changed_documents))]

    async def shown(self, turn: str) -> bool:
        """Whether it stands in its thread as it is kept."""
        (row,) = await rows(self.app.data.engine, select(turns.c.state).where(turns.c.id == turn))
        return bool(row.state == "done")

    async def put_off(self, turn: str) -> None:
        """Its platform does not take the answer as it is kept, until a while has passed."""
        for _ in range(5):  # whoever serves the platform gives up each time
            (message,) = await self.app.bot.turns.unfinished("slack")
            events = self.app.bot.turns.reply(message)
            async for _ in events:
                break
            await events.aclose()
        assert await self.app.bot.turns.unfinished("slack") == [] and await self.shown(turn)
        async with write(self.app.data.engine) as db:  # which it has now
            waits = answers.c.show_at > datetime.now(UTC) + BESIDE
            assert (await db.execute(update(answers).where(waits).values(show_at=datetime.now(UTC)))).rowcount == 1


@pytest_asyncio.fixture
async def living(tmp_path: Path) -> AsyncIterator[Living]:
    async with application(tmp_path) as app:
        yield Living(app)


async def test_a_figure_that_changed_is_said_on_top_and_to_the_asker_once(living: Living) -> None:
    await living.page(PAGE)
    turn = await living.ask()
    assert not (await living.kept(turn)).unsure
    await living.page(PAGE.replace("20 weeks", "25 weeks"))
    assert await living.app.living.check() == 1
    assert await living.said(turn) == [("20 weeks", "25 weeks")] and not await living.shown(turn)
    (told,) = await living.told()
    assert told == "Parental leave: what has changed stands on top of the answer."
    assert await living.app.living.check() == 0 and await living.waiting() == []
    assert len(await living.told()) == 1


async def test_of_a_page_that_is_forgotten_nobody_is_told_any_more(living: Living) -> None:
    document = await living.page(PAGE)
    turn = await living.ask()
    await living.page(PAGE.replace("20 weeks", "25 weeks"))
    assert await living.app.living.check() == 1 and await living.told()
    assert await living.app.knowledge.forget(document)
    assert not await living.told() and "weeks" not in (await living.kept(turn)).text


async def test_a_japanese_answer_says_it_in_japanese(living: Living) -> None:
    page = "# 育児休業\n\n水先人の育児休業は20週間です。\n"
    await living.page(page, "ikuji.md")
    turn = await living.ask("水先人の育児休業は何週間ですか？")
    assert not (await living.kept(turn)).unsure
    await living.page(page.replace("20週間", "25週間"), "ikuji.md")
    assert await living.app.living.check() == 1
    (told,) = await living.told()
    assert told == "育児休業（変更点は回答の先頭に表示しています）"
    (change,) = (await living.kept(turn)).changes
    assert "「20週間」から「25週間」に変わりました" in changes_text([change], "ja")


@pytest.mark.parametrize(
    "now",
    [
        PAGE.replace("20 weeks", "**20 weeks**").replace("pilots", "*pilots*"),
        PAGE + "\nAnother rule: 7 weeks of notice.\n",
        "# Parental leave\n\n- It is requested from the harbour office.\n- Parental leave for pilots lasts 20 weeks!\n",
    ],
)
async def test_what_still_holds_is_left_alone(living: Living, now: str) -> None:
    await living.page(PAGE)
    turn = await living.ask()
    await living.page(now)
    assert await living.app.living.check() == 0
    assert await living.shown(turn) and await living.told() == [] and await living.waiting() == []


async def test_changes_in_quick_succession_are_one_and_one_that_is_taken_back_is_none(living: Living) -> None:
    await living.page(PAGE)
    turn = await living.ask()
    for weeks in (21, 22, 25):
        await living.page(PAGE.replace("20 weeks", f"{weeks} weeks"))
    assert await living.app.living.check() == 1
    assert await living.said(turn) == [("20 weeks", "25 weeks")] and len(await living.told()) == 1
    other = await living.ask("How many weeks does parental leave for pilots last now?")
    for weeks in (30, 25):
        await living.page(PAGE.replace("20 weeks", f"{weeks} weeks"))
    assert await living.app.living.check() == 0
    assert await living.said(other) == []


async def test_a_page_that_changes_again_is_held_against_what_the_answer_says(living: Living) -> None:
    await living.page(PAGE)
    turn = await living.ask()
    for weeks in (25, 30):
        await living.page(PAGE.replace("20 weeks", f"{weeks} weeks"))
        assert await living.app.living.check() == 1
        assert await living.said(turn) == [("20 weeks", f"{weeks} weeks")]
    await living.page(PAGE)
    assert await living.app.living.check() == 1
    assert await living.said(turn) == []  # it says what the page says: nothing on top, and nobody is told


async def test_only_the_last_answer_of_a_thread_is_checked_and_no_old_one(living: Living) -> None:
    await living.page(PAGE)
    first = await living.ask(thread="t")
    last = await living.ask(thread="t")
    old = await living.ask()
    async with write(living.app.data.engine) as db:
        long_ago = datetime.now(UTC) - timedelta(days=91)
        await db.execute(update(answers).where(answers.c.turn == old).values(answered_at=long_ago))
    await living.page(PAGE.replace("20 weeks", "25 weeks"))
    assert await living.app.living.check() == 1
    assert [bool(await living.said(turn)) for turn in (first, last, old)] == [False, True, False]


async def test_the_closest_pages_are_no_answer_that_rests_on_them(living: Living) -> None:
    await living.page(PAGE)
    turn = await living.ask("Who decides about time off for somebody with a newborn child?")
    answer = await living.kept(turn)
    assert answer.unsure and answer.citations
    await living.page(PAGE.replace("20 weeks", "25 weeks").replace("office", "master"))
    assert await living.app.living.check() == 0 and await living.shown(turn)


async def test_a_page_gone_from_its_source_is_said_and_a_forgotten_one_is_withdrawn(living: Living) -> None:
    gone = await living.page(PAGE)
    turn = await living.ask()
    assert await living.app.knowledge.forget(gone, at_source=True)
    assert await living.app.living.check() == 1
    answer = await living.kept(turn)
    assert [change.removed for change in answer.changes] == [True] and "20 weeks" in answer.text
    assert "the page this rests on was removed: Parental leave" in changes_text(answer.changes, "en")
    assert len(await living.told()) == 1

    again = await living.page(PAGE.replace("20 weeks", "21 weeks"))
    turn = await living.ask()
    await living.page(PAGE.replace("20 weeks", "25 weeks"))
    assert await living.app.living.check() == 1
    assert await living.app.knowledge.forget(again)
    answer = await living.kept(turn)
    assert "weeks" not in answer.text and answer.changes == () and answer.citations == ()
    assert await living.waiting() == []


async def test_a_forgotten_document_takes_along_what_waits_to_be_checked(living: Living, tmp_path: Path) -> None:
    document = await living.page(PAGE)
    turn = await living.ask()
    await living.page(PAGE.replace("20 weeks", "25 weeks"))
    assert await living.waiting() == [document]
    assert await living.app.knowledge.forget(document)
    assert await living.waiting() == [] and await living.app.living.check() == 0
    assert "weeks" not in (await living.kept(turn)).text
    kept = [path.read_text() for path in (tmp_path / "documents").glob("??/*.md")]
    assert not any("weeks" in text for text in kept)


async def test_what_was_cited_is_kept_until_it_was_compared_and_over_a_restart(tmp_path: Path) -> None:
    async with application(tmp_path) as app:
        living = Living(app)
        await living.page(PAGE)
        turn = await living.ask()
        await living.page(PAGE.replace("20 weeks", "25 weeks"))
    async with application(tmp_path) as app:
        living = Living(app)
        (row,) = await rows(app.data.engine, select(changed_documents))
        assert "20 weeks" in await ContentFolder(tmp_path / "documents").read(row.before)
        assert await app.living.check() == 1
        assert await living.said(turn) == [("20 weeks", "25 weeks")]
        texts = [path.read_text() for path in (tmp_path / "documents").glob("??/*.md")]
        assert len(texts) == 1 and "25 weeks" in texts[0]


async def test_where_the_cited_version_is_lost_its_quotation_is_compared(living: Living, tmp_path: Path) -> None:
    await living.page(PAGE)
    turn = await living.ask()
    await living.page(PAGE.replace("20 weeks", "25 weeks"))
    (row,) = await rows(living.app.data.engine, select(changed_documents))
    await ContentFolder(tmp_path / "documents").drop(row.before)
    assert await living.app.living.check() == 1
    assert len((await living.kept(turn)).changes) == 1


async def test_a_renamed_document_is_still_withdrawn_and_still_compared(living: Living) -> None:
    document = await living.page(PAGE)
    turn = await living.ask()
    assert await living.app.knowledge.rename_document(document, "family/leave.md", None, TEAM_READS)
    await living.page(PAGE.replace("20 weeks", "25 weeks"), "family/leave.md")
    assert await living.app.living.check() == 1
    assert await living.said(turn) == [("20 weeks", "25 weeks")]
    assert await living.app.knowledge.forget(document)
    answer = await living.kept(turn)
    assert "weeks" not in answer.text and answer.citations == () and answer.changes == ()


async def test_answers_stay_as_they_are_where_the_team_wants_that(tmp_path: Path) -> None:
    async with application(tmp_path, KOTAE_LIVING="off") as app:
        living = Living(app)
        document = await living.page(PAGE)
        turn = await living.ask()
        await living.page(PAGE.replace("20 weeks", "25 weeks"))
        assert await app.knowledge.forget(document, at_source=True)
        assert await living.waiting() == [] and await app.living.check() == 0
        assert await living.shown(turn) and "20 weeks" in (await living.kept(turn)).text


async def test_an_edit_that_a_platform_does_not_take_waits_and_is_made_later(living: Living) -> None:
    await living.page(PAGE)
    turn = await living.ask()
    await living.page(PAGE.replace("20 weeks", "25 weeks"))
    await living.app.living.check()
    await living.put_off(turn)
    (message,) = await living.app.bot.turns.unfinished("slack")
    (shown,) = [event async for event in living.app.bot.turns.reply(message)]
    assert isinstance(shown, Answered) and shown.changes
    assert await living.shown(turn) and len(await living.told()) == 1


async def test_what_is_forgotten_leaves_an_answer_later_also_where_answers_stay_as_they_are(tmp_path: Path) -> None:
    async with application(tmp_path, KOTAE_LIVING="off") as app:
        living = Living(app)
        document = await living.page(PAGE)
        turn = await living.ask()
        assert await app.knowledge.forget(document)
        await living.put_off(turn)
        (message,) = await app.bot.turns.unfinished("slack")
        (shown,) = [event async for event in app.bot.turns.reply(message)]
        assert isinstance(shown, Answered) and "weeks" not in shown.text and await living.shown(turn)


async def test_a_page_that_changes_while_it_is_compared_is_compared_again(living: Living) -> None:
    await living.page(PAGE)
    turn = await living.ask()
    await living.page(PAGE.replace("20 weeks", "25 weeks"))
    app, meanwhile = living.app, ["30 weeks"]

    async def read(address: str) -> str | None:
        text = await app.knowledge.as_cited(address)
        if meanwhile:
            await living.page(PAGE.replace("20 weeks", meanwhile.pop()))
        return text

    changed = ChangedDocuments(app.data.engine)
    one = LivingAnswers(changed, app.data.documents.get, read, app.knowledge.stored.tidy, timezone=UTC)
    assert await one.check() == 0 and await living.said(turn) == []
    assert await one.check() == 1
    assert await living.said(turn) == [("20 weeks", "30 weeks")] and len(await living.told()) == 1


async def test_a_page_that_goes_from_a_followed_folder_is_said_to_be_removed(living: Living, tmp_path: Path) -> None:
    folder = tmp_path / "wiki"
    folder.mkdir()
    (folder / "leave.md").write_text(PAGE)
    (folder / "other.md").write_text("# Other\n\nOther things.\n")
    await living.app.sources.add(EDITOR, NewSource("folder", str(folder), name="wiki"))
    await living.app.sources.sync(EDITOR, "wiki", TEAM_READS)
    turn = await living.ask()
    (folder / "leave.md").unlink()
    await living.app.sources.sync(EDITOR, "wiki", TEAM_READS)
    assert await living.app.living.check() == 1
    answer = await living.kept(turn)
    assert [change.removed for change in answer.changes] == [True] and "20 weeks" in answer.text


async def test_pages_are_listed_by_how_many_answers_rest_on_them(living: Living) -> None:
    await living.page(PAGE)
    await living.page("# Mooring\n\nMooring at the north pier costs 40 crowns a night.\n", "mooring.md")
    mooring = await living.ask("How much does mooring at the north pier cost a night?")
    leave = [await living.ask(), await living.ask()]
    await living.page("# Mooring\n\nMooring at the north pier costs 55 crowns a night.\n", "mooring.md")
    await living.page(PAGE.replace("20 weeks", "25 weeks"))
    assert await living.app.living.check() == 3
    listed = await living.app.living.listed(TEAM_READS)
    assert [page.change.document for page in listed] == ["leave.md", "mooring.md"]
    assert [{turn for turn, _ in page.answers} for page in listed] == [set(leave), {mooring}]
    assert await living.app.living.listed(Readers(frozenset({"place:slack:T1:C9"}))) == []


def test_only_the_page_is_a_link_and_its_words_have_no_markup() -> None:
    now = "**Ask** [here](https://evil.example) or <!channel> | `rm`"
    change = PageChange("a.md", "Leave [old]", "2026-11-22", "x", now=now, url="https://h.example/a_(b)")
    (line,) = changes_text([change, replace(change, said="y")], "en").split("\n\n")
    assert line == (
        "⚠ 22 Nov 2026: [Leave \\[old\\]](https://h.example/a_%28b%29) has changed and now says: "
        "“Ask here or \\<!channel>  rm”"
    )
    assert "](" not in changes_text([replace(change, url="javascript:alert(1)", now="")], "ja")
