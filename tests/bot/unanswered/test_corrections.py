"""What an expert answered can be corrected, which those who were told hear once, and taken back, which asks again."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from bot.access import readers, scope_of
from bot.errors import StoreError
from bot.records import AuditRecord, Changed, ExpertAnswer
from bot.store.audit import Audit
from bot.store.engine import change
from bot.store.notifications import Notices, Telling
from bot.store.outbox import Outbox
from bot.store.schema import turns
from bot.store.unanswered import UnansweredQuestions
from bot.types import Actor, AnswerGiven, Audience, Notice, Place, Question
from bot.unanswered.corrections import EDIT, TAKE_BACK, ExpertAnswers
from bot.unanswered.expert_answers import ANSWERS, LONGEST, Experts, parse, written
from retrieval.i18n import Text
from retrieval.types import Readers
from tests.bot.library import Library, opened
from tests.bot.sample_turns import settings
from tests.bot.store.test_outbox import MINUTE, NOW, Asked
from tests.bot.unanswered.test_expert_answers import EXPERT, EXPERTS, PRIVATE, PUBLIC, SECRET

HERE = readers(EXPERTS, PUBLIC)
THERE = readers(SECRET, PRIVATE)
OTHER = Actor("slack", "T1", "U3")
EDITOR = Actor("slack", "T1", "U4", "editor")


@dataclass
class Desk:
    library: Library
    asked: Asked
    experts: Experts
    answers: ExpertAnswers
    notices: Notices
    questions: UnansweredQuestions
    audit: Audit

    async def taught(
        self, *questions: int, answer: str = "25日です。", place: Place = EXPERTS, author: str = ""
    ) -> str:
        """The document of a lesson, whose askers have been told."""
        audience = PRIVATE if place == SECRET else PUBLIC
        lesson = AnswerGiven(EXPERT, place, audience, questions, answer, reference=questions[0], author=author)
        assert (await self.experts.answer(lesson)).refusal is None
        for notice in await self.due():
            await self.notices.said(notice.id)
        (row,) = [
            one for one in await self.library.documents.listed(collection=ANSWERS) if answer in await self.text(one.id)
        ]
        return row.id

    async def text(self, id: str) -> str:
        row = await self.library.documents.get(id)
        assert row is not None
        return await self.library.knowledge.markdown(row)

    async def due(self) -> list[Notice]:
        return await self.notices.due("slack", owner="me", now=NOW, until=NOW)

    async def traces(self, action: str) -> list[AuditRecord]:
        return [one for one in await self.audit.listed() if one.action == action]

    async def open(self, scopes: Readers = HERE) -> tuple[Question, ...]:
        return (await self.questions.open(scopes.scopes)).questions


class Broken(Notices):
    """A database that goes away when those who were told are to hear it."""

    away = False

    async def correct(self, document: str, *, now: datetime, trace: AuditRecord, telling: Telling) -> int:
        if self.away:
            raise StoreError(Text(en="away", ja="停止中"))
        return await super().correct(document, now=now, trace=trace, telling=telling)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with opened(tmp_path) as library:
        chosen, engine = settings(tmp_path), library.engine
        notices, questions, audit = Broken(engine), UnansweredQuestions(engine), Audit(engine)
        experts = Experts(chosen, library.knowledge, questions, notices, library.documents, Outbox(engine), owner="me")
        answers = ExpertAnswers(chosen, library.knowledge, questions, notices, library.documents, audit)
        yield Desk(library, Asked(engine), experts, answers, notices, questions, audit)


# -- corrected --------------------------------------------------------------------------------------------------------


async def test_an_edited_answer_is_replaced_and_those_who_were_told_hear_it_once(desk: Desk) -> None:
    one, other = await desk.asked("経費の締切は？"), await desk.asked("経費の締切はいつですか")
    id = await desk.taught(one, other)
    assert await desk.answers.edit(EDITOR, HERE, id, " 31日に変わりました。\n") == Changed(told=2)
    assert "31日に" in await desk.text(id) and "25日" not in "\n".join(desk.library.kept())
    assert await desk.library.found("締切") == ["31日に変わりました。", "31日に変わりました。"]  # each wording finds it
    told = await desk.due()
    assert {(notice.question, notice.answer, notice.by, notice.corrects) for notice in told} == {
        (question, "31日に変わりました。", "U4", True) for question in ("経費の締切は？", "経費の締切はいつですか")
    }
    (trace,) = await desk.traces(EDIT)
    assert (trace.actor, trace.subject) == ("slack:U4", f"answer {id}") and "sha256:" in trace.result
    found = await desk.answers.get(id[:8], HERE)
    assert isinstance(found, ExpertAnswer) and found.row.author == "U9"
    assert found.edited == trace and (found.wordings, found.answer) == (
        ("経費の締切は？", "経費の締切はいつですか"),
        "31日に変わりました。",
    )
    assert (await desk.answers.edit(EDITOR, HERE, id, "31日に変わりました。")).refusal is not None  # it says so already
    assert len(await desk.due()) == 2 and len(await desk.traces(EDIT)) == 1


async def test_whoever_was_told_an_older_answer_hears_the_one_that_takes_its_place(desk: Desk) -> None:
    one = await desk.asked("経費の締切は？")
    id = await desk.taught(one)
    same = await desk.asked("経費の締切は？")
    assert await desk.taught(same) == id  # which says what they were told
    newer = await desk.asked("経費の締切は？")
    lesson = AnswerGiven(EXPERT, EXPERTS, PUBLIC, (newer,), "31日に変わりました。")
    assert (await desk.experts.answer(lesson)).told == 3
    told = [(notice.turn, notice.answer, notice.corrects) for notice in await desk.due()]
    turns_asked = [(await desk.questions.get([each], HERE.scopes))[0].turn for each in (one, same, newer)]
    assert sorted(told) == sorted(zip(turns_asked, ["31日に変わりました。"] * 3, [True, True, False], strict=True))


async def test_whoever_asked_again_in_their_thread_hears_a_newer_answer_once(desk: Desk) -> None:
    one = await desk.asked("経費の締切は？")
    await desk.taught(one)
    again = await desk.asked("経費の締切は？", after=1)
    lesson = AnswerGiven(EXPERT, EXPERTS, PUBLIC, (again,), "31日に変わりました。")
    assert (await desk.experts.answer(lesson)).told == 1
    (notice,) = await desk.due()
    assert not notice.corrects


async def test_who_was_not_told_yet_hears_the_corrected_answer_as_the_answer(desk: Desk) -> None:
    question = await desk.asked()
    lesson = AnswerGiven(EXPERT, EXPERTS, PUBLIC, (question,), "25日です。")
    await desk.experts.answer(lesson)
    (row,) = await desk.library.documents.listed(collection=ANSWERS)
    assert await desk.answers.edit(EXPERT, HERE, row.id, "31日です。") == Changed(told=1)
    (notice,) = await desk.notices.due("slack", owner="me", now=NOW, until=NOW + MINUTE)
    assert (notice.answer, notice.corrects) == ("31日です。", False)
    # While that one is being said, the next one is a correction.
    assert await desk.answers.edit(EXPERT, HERE, row.id, "30日です。") == Changed(told=1)
    await desk.notices.said(notice.id)
    late = NOW + timedelta(days=9999)
    (again,) = await desk.notices.due("slack", owner="me", now=late, until=late)
    assert again.answer == "30日です。"


async def test_somebody_who_asked_twice_in_a_thread_is_told_once(desk: Desk) -> None:
    one, other = await desk.asked(), await desk.asked()
    id = await desk.taught(one, other)
    moved = {question.turn for question in await desk.questions.answered_by(id)}
    statement = update(turns).where(turns.c.id.in_(moved)).values(thread="T")
    await change(desk.library.engine, lambda db: db.execute(statement))
    assert await desk.answers.edit(EXPERT, HERE, id, "31日です。") == Changed(told=1)
    assert len(await desk.due()) == 1


async def test_an_edit_that_was_cut_short_and_is_made_again_ends_as_it_would_have(desk: Desk) -> None:
    id = await desk.taught(await desk.asked())
    assert isinstance(desk.notices, Broken)
    desk.notices.away = True
    with pytest.raises(StoreError):
        await desk.answers.edit(EXPERT, HERE, id, "31日です。")
    desk.notices.away = False
    assert await desk.answers.edit(EXPERT, HERE, id, "31日です。") == Changed(told=1)
    assert len(await desk.due()) == 1 and len(await desk.traces(EDIT)) == 1


# -- taken back -------------------------------------------------------------------------------------------------------


async def test_an_answer_that_is_taken_back_asks_its_questions_again(desk: Desk) -> None:
    one, other = await desk.asked("経費の締切は？"), await desk.asked("経費の締切はいつですか")
    id = await desk.taught(one, other)
    await desk.answers.edit(EXPERT, HERE, id, "31日です。")
    assert await desk.open() == ()
    assert await desk.answers.take_back(EXPERT, HERE, id[:8]) == Changed(reopened=2)
    assert await desk.library.documents.get(id) is None and await desk.library.found("締切") == []
    still = await desk.open()
    assert {one.id for one in still} == {one, other}
    assert all(one.answer is None and one.resolution is None and one.reopened_at for one in still)
    assert await desk.due() == []  # nobody is told what is not there any more
    (trace,) = await desk.traces(TAKE_BACK)
    assert trace.subject == f"answer {id}" and f"open again: {one}, {other}" in trace.result
    assert (await desk.answers.take_back(EXPERT, HERE, id)).refusal is not None
    await desk.taught(one, other, answer="30日です。")  # and they can be answered anew


async def test_the_next_digest_has_what_is_open_again_however_old(desk: Desk) -> None:
    id = await desk.taught(await desk.asked())
    later = NOW + timedelta(days=3650)
    assert (await desk.questions.asked_between(HERE.scopes, NOW + MINUTE, later, limit=9))[1:] == (0, 0)
    await desk.answers.take_back(EXPERT, HERE, id)
    found, shown, hidden = await desk.questions.asked_between(HERE.scopes, NOW + MINUTE, later, limit=9)
    assert ([one.question.question for one in found], shown, hidden) == (["経費の締切は？"], 1, 0)
    assert (await desk.questions.asked_between(Readers(frozenset()).scopes, NOW + MINUTE, later, limit=9))[2] == 1


async def test_whichever_way_an_answer_is_forgotten_its_questions_are_open_again(desk: Desk) -> None:
    question = await desk.asked()
    id = await desk.taught(question)
    await desk.library.knowledge.forget(id)
    assert [one.id for one in await desk.open()] == [question]


async def test_an_answer_that_two_collections_have_is_still_there_when_they_are_merged(desk: Desk) -> None:
    id = await desk.taught(await desk.asked())
    row = await desk.library.documents.get(id)
    assert row is not None
    same = written(["経費の締切は？"], "25日です。").decode()
    await desk.library.add(row.name, same, collection="copies")
    await desk.library.knowledge.stored.merge(ANSWERS, "copies", HERE)
    assert await desk.library.documents.get(id) is None and await desk.open() == ()


async def test_each_private_place_has_its_own_answer_to_take_back(desk: Desk) -> None:
    shared = Place("slack", "T1", "C9")
    here = await desk.asked("いつ始まりますか", place=SECRET, visibility="private")
    there = await desk.asked("いつ始まりますか", place=shared, visibility="private")
    id = await desk.taught(here, place=SECRET)
    lesson = AnswerGiven(EXPERT, shared, PRIVATE, (there,), "来週です。")
    assert (await desk.experts.answer(lesson)).closed == (there,)
    assert (await desk.answers.listed(HERE))[1] == 0
    refused = await desk.answers.edit(EDITOR, HERE, id, "明日です。")
    assert refused.refusal is not None and (await desk.answers.take_back(EDITOR, HERE, id)).refusal is not None
    assert await desk.answers.take_back(EDITOR, THERE, id) == Changed(reopened=1)
    assert [one.id for one in await desk.open(THERE)] == [here]
    assert await desk.open(readers(shared, PRIVATE)) == ()
    assert scope_of(SECRET) not in (await desk.traces(TAKE_BACK))[0].subject


# -- who may ----------------------------------------------------------------------------------------------------------


async def test_whoever_wrote_it_and_editors_may_change_it(desk: Desk) -> None:
    id = await desk.taught(await desk.asked(), author="U5")
    author = Actor("slack", "T1", "U5")
    for who in (OTHER, EXPERT, replace(author, role="outsider"), replace(EDITOR, role="outsider")):
        for changed in (await desk.answers.edit(who, HERE, id, "?!1"), await desk.answers.take_back(who, HERE, id)):
            assert changed.refusal is not None and "whoever wrote it" in changed.refusal.en, who
    assert {one.result for one in await desk.audit.listed() if one.actor == "slack:U3"} == {"refused"}
    assert await desk.text(id) == "Q: 経費の締切は？\nA: 25日です。" and await desk.due() == []
    assert await desk.answers.edit(author, HERE, id, "31日です。") == Changed(told=1)
    found, total = await desk.answers.listed(HERE)
    assert total == 1 and found[0].edited is not None and found[0].edited.actor == "slack:U5"
    assert await desk.answers.take_back(EDITOR, HERE, id) == Changed(reopened=1)


async def test_what_cannot_be_said_is_refused_in_words(desk: Desk) -> None:
    id = await desk.taught(await desk.asked())
    for text, said in ((" \u200b…", "empty"), ("x" * (LONGEST + 1), "8001"), (f"ghp_{'4f9a8b7c' * 4}", "a key")):
        refused = (await desk.answers.edit(EXPERT, HERE, id, text)).refusal
        assert refused is not None and said in refused.en
    for wrong in ("", id[:4], "0" * 32, "Q&A"):
        refused = (await desk.answers.edit(EXPERT, HERE, wrong, "31日です。")).refusal
        assert refused is not None and refused.ja == "その回答はここにはありません。"


async def test_only_answers_of_people_are_listed_the_latest_first(desk: Desk) -> None:
    await desk.taught(await desk.asked("経費の締切は？"), answer="25日です。")
    await desk.taught(await desk.asked("鍵はどこ？"), answer="受付です。")
    await desk.library.add("notes.md", "# 手順\n\n受付で。", collection=ANSWERS)
    found, total = await desk.answers.listed(HERE, limit=1)
    assert total == 2 and [one.answer for one in found] == ["受付です。"]
    rest, _ = await desk.answers.listed(HERE, start=1)
    assert [one.wordings for one in rest] == [("経費の締切は？",)] and rest[0].edited is None
    assert (await desk.answers.listed(readers(EXPERTS, Audience("outsiders"))))[1] == 0


async def test_two_changes_at_once_leave_one_outcome(desk: Desk) -> None:
    id = await desk.taught(await desk.asked())
    done = await asyncio.gather(
        desk.answers.take_back(EXPERT, HERE, id), desk.answers.edit(EXPERT, HERE, id, "31日です。")
    )
    assert done[0] == Changed(reopened=1) and done[1].refusal is not None
    assert await desk.library.documents.listed(collection=ANSWERS) == [] and len(await desk.open()) == 1


# -- what is kept -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wordings", "answer"),
    [
        (["one?"], "Yes."),
        (["one?", "二つ？"], "Line\n\nQ: not a question\nA: nor an answer\n\nend"),
        (["one?", "two?"], "x\n\nQ: one?\nA: x"),
        (["A: b"], "- a\n- b\n\n```\ncode\n```"),
        (["a", "b", "c", "d", "e"], "長い回答。\n" * 900),
    ],
)
async def test_an_answer_is_read_as_it_was_written(desk: Desk, wordings: list[str], answer: str) -> None:
    await desk.library.knowledge.stored.describe(ANSWERS, "x")
    verdict = await desk.library.add("Q&A: x.json", written(wordings, answer.strip()).decode(), collection=ANSWERS)
    assert verdict.document_id
    assert parse(await desk.text(verdict.document_id)) == (wordings, answer.strip())
