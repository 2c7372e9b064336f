"""An expert's answer is found at once by whoever asks again and may read it, and by nobody else."""

import asyncio
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agent.events import Answered
from bot.access import readers, scope_of
from bot.app import Application, running
from bot.errors import StoreError
from bot.logs import Redactor
from bot.records import AuditRecord
from bot.store.audit import Audit
from bot.store.notifications import Closed, Notices, Telling
from bot.store.outbox import Outbox
from bot.store.unanswered import UnansweredQuestions
from bot.types import Actor, AnswerGiven, AnswerTaken, Audience, Incoming, Place, Upload, Visibility
from bot.unanswered.closing import closing
from bot.unanswered.expert_answers import ANSWERS, LONGEST, NEAR, Experts, written
from retrieval.i18n import Text
from retrieval.types import TEAM, Readers
from tests.bot.library import Library, opened
from tests.bot.sample_turns import begun, settings
from tests.bot.store.test_outbox import MINUTE, NOW, Asked

GENERAL, EXPERTS, SECRET, SHARED = (Place("slack", "T1", channel) for channel in ("C1", "C2", "C3", "C4"))
EXPERT = Actor("slack", "T1", "U9")
PUBLIC, PRIVATE, OUTSIDERS = Audience("public"), Audience("private"), Audience("outsiders")


# -- asked again ----------------------------------------------------------------------------------------------------


async def asks(app: Application, text: str, place: Place, visibility: Visibility, message: str) -> Answered:
    asked = Incoming(place, message, message, "U1", text, Audience(visibility), link=f"https://team.example/{message}")
    events = [event async for event in app.bot.turns.reply(asked)]
    assert isinstance(events[-1], Answered)
    return events[-1]


async def test_the_next_asker_gets_the_experts_answer_with_its_source(tmp_path: Path) -> None:
    ja, en = "社員食堂のカレーの辛さは選べますか？", "What is the door code of the harbour office?"
    private = "秘密プロジェクト「くじら」の開始日はいつですか？"
    async with running(begun(tmp_path), Redactor()) as app:
        assert (await asks(app, ja, GENERAL, "public", "1")).outcome == "unknown"
        assert (await asks(app, en, GENERAL, "public", "2")).outcome == "unknown"
        assert (await asks(app, private, SECRET, "private", "3")).outcome == "unknown"
        there = readers(SECRET, PRIVATE).scopes
        ids = {one.question: one.id for one in (await app.data.questions.open(there)).questions}
        lesson = AnswerGiven(
            EXPERT, EXPERTS, PUBLIC, (ids[ja],), "はい、甘口・中辛・辛口から選べます。", url="https://team.example/9"
        )
        assert await app.bot.experts.answer(lesson) == AnswerTaken((ids[ja],), 1)
        better = replace(
            lesson, questions=(ids[en],), answer="It is 4711.", question="How do I open the harbour office?"
        )
        assert await app.bot.experts.answer(better) == AnswerTaken((ids[en],), 1)
        assert (await app.bot.experts.answer(replace(lesson, questions=(ids[private],)))).refusal is not None
        secret = replace(
            lesson, place=SECRET, audience=PRIVATE, questions=(ids[private],), answer="4月1日に始まります。"
        )
        assert await app.bot.experts.answer(secret) == AnswerTaken((ids[private],), 1)

        again = await asks(app, ja, EXPERTS, "public", "11")
        assert again.outcome == "answered" and "甘口・中辛・辛口" in again.text
        assert again.citations[0].document == f"Q&A: {ja}.json" and again.citations[0].url == "https://team.example/9"
        for text in (en, "How do I open the harbour office?"):
            found = await asks(app, text, GENERAL, "public", text)
            assert found.outcome == "answered" and "4711" in found.text
        assert "4月1日" in (await asks(app, private, SECRET, "private", "13")).text
        for place, visibility in ((GENERAL, "public"), (SHARED, "private"), (SHARED, "outsiders")):
            missed = await asks(app, private, place, visibility, f"14 {visibility}")  # type: ignore[arg-type]
            assert missed.outcome == "unknown" and "4月1日" not in missed.text
        outside = await asks(app, ja, SHARED, "outsiders", "15")
        assert outside.outcome != "answered" and "甘口" not in outside.text

        told = await app.bot.experts.notices("slack")
        assert [(one.thread, one.answer, one.by) for one in told] == [
            ("1", "はい、甘口・中辛・辛口から選べます。", "U9"),
            ("2", "It is 4711.", "U9"),
            ("3", "4月1日に始まります。", "U9"),
        ]
        assert ANSWERS in await app.bot.ingestion.collections(GENERAL, PUBLIC)


# -- who may read it ------------------------------------------------------------------------------------------------


@dataclass
class School:
    """Lessons on a library."""

    library: Library
    asked: Asked
    experts: Experts

    async def teach(self, *questions: int, **more: Any) -> AnswerTaken:
        return await self.experts.answer(AnswerGiven(**(LESSON | {"questions": questions} | more)))

    async def pairs(self) -> dict[str, list[str]]:
        """The documents' names by scope."""
        found: dict[str, list[str]] = {}
        for row in await self.library.documents.listed(collection=ANSWERS):
            found.setdefault(row.scope, []).append(row.name)
        return found

    async def text(self) -> str:
        """All that is kept of all documents."""
        return "\n".join(self.library.kept())

    async def open(self) -> int:
        return (await UnansweredQuestions(self.library.engine).open([])).total


LESSON: dict[str, Any] = {"actor": EXPERT, "place": EXPERTS, "audience": PUBLIC, "answer": "25日です。"}
IN_SECRET: dict[str, Any] = {"place": SECRET, "audience": PRIVATE}


def school_of(library: Library, home: Path, notices: Notices | None = None) -> School:
    engine = library.engine
    rows = UnansweredQuestions(engine), notices or Notices(engine), library.documents, Outbox(engine)
    experts = Experts(settings(home), library.knowledge, *rows, owner="me")
    return School(library, Asked(engine), experts)


@pytest.fixture
async def school(tmp_path: Path) -> AsyncIterator[School]:
    async with opened(tmp_path) as library:
        yield school_of(library, tmp_path)


async def test_an_answer_to_the_team_is_the_teams(school: School) -> None:
    first, second = await school.asked("経費の締切は？"), await school.asked("経費の締切は？　")
    assert await school.teach(first, second, url="https://t/9") == AnswerTaken((first, second), 2)
    assert await school.pairs() == {TEAM: ["Q&A: 経費の締切は？.json"]}
    (trace,) = await Audit(school.library.engine).listed()
    assert (trace.actor, trace.action) == ("slack:U9", "teach") and "sha256:" in trace.subject and TEAM in trace.result
    assert "経費" not in trace.subject + trace.result


async def test_an_answer_to_private_questions_stays_in_each_place(school: School) -> None:
    one = await school.asked("いつ？", place=SECRET, visibility="private")
    assert (await school.teach(one)).refusal is not None
    assert (await school.teach(one, place=GENERAL, audience=PRIVATE)).refusal is not None
    assert (await school.teach(one, place=SECRET, audience=OUTSIDERS)).refusal is not None
    assert await school.pairs() == {} and await school.open() == 1
    assert await school.teach(one, **IN_SECRET) == AnswerTaken((one,), 1)
    assert list(await school.pairs()) == [scope_of(SECRET)]


async def test_an_answer_to_both_is_the_teams_without_the_private_words(school: School) -> None:
    team = await school.asked("When does canary start?")
    private = await school.asked("canary: when does it start?", place=SECRET, visibility="private")
    done = await school.teach(team, private, question="canary: when does it START?", **IN_SECRET)
    assert done == AnswerTaken((team, private), 2)
    assert await school.pairs() == {TEAM: ["Q&A: When does canary start?.json"]}
    assert "canary:" not in (await school.text()).lower()
    told = await Notices(school.library.engine).due("slack", owner="me", now=NOW, until=NOW)
    assert {one.question for one in told} == {
        "When does canary start?",
        "canary: when does it start?",
    }  # each their own


async def test_what_a_private_question_goes_on_from_is_private_too(school: School) -> None:
    team = await school.asked("When does the ferry start?")
    first = "How long does the canary take?"
    await school.asked(first, place=SECRET, visibility="private")
    private = await school.asked("And for canary crews?", place=SECRET, visibility="private", after=2)
    whole = f"{first} → And for canary crews?"
    (known,) = await school.experts.questions([private], SECRET, PRIVATE)
    assert known.whole == whole
    await school.teach(team, private, closes=(private,), question=whole, **IN_SECRET)
    assert list(await school.pairs()) == [TEAM] and "canary" not in (await school.text()).lower()


async def test_a_question_that_was_closed_before_does_not_widen_an_answer(school: School) -> None:
    team = await school.asked("When does it start?")
    private = await school.asked("When does canary start?", place=SECRET, visibility="private")
    await school.teach(team)
    assert await school.teach(team, private, reference=private, answer="Tomorrow.", **IN_SECRET) == AnswerTaken(
        (private,), 1
    )
    assert set(await school.pairs()) == {TEAM, scope_of(SECRET)}


# -- what is in it --------------------------------------------------------------------------------------------------


async def test_every_wording_finds_the_answer_and_the_better_one_names_it(school: School) -> None:
    ids = [await school.asked(text) for text in ("経費の締切は？", "経費の締切はいつですか？")]
    await school.teach(*ids, question="経費精算の締切日は何日ですか？")
    assert await school.pairs() == {TEAM: ["Q&A: 経費精算の締切日は何日ですか？.json"]}
    text = await school.text()
    assert (
        all(words in text for words in ("締切は？", "いつですか？", "何日ですか？")) and text.count("25日です。") == 3
    )


GROUP = (
    "有給休暇は入社1年目で何日もらえますか？",
    "入社１年目の有給って何日もらえる？",
    "パートタイムの有給休暇は何日ですか？",
    "入社して3年経つと有給は何日？",
    "How many days of paid leave do part-time workers get?",
)


async def test_an_answer_closes_what_says_the_same_and_leaves_the_rest_of_its_group_open(school: School) -> None:
    ids = [await school.asked(text) for text in GROUP]
    assert await school.teach(*ids, reference=ids[0], answer="10日です。") == AnswerTaken((ids[0], ids[1]), 2, 3)
    text = await school.text()
    assert GROUP[0] in text and "１年目" in text and not any(other in text for other in GROUP[2:])
    still = await UnansweredQuestions(school.library.engine).open([TEAM])
    assert {one.question for one in still.questions} == set(GROUP[2:])
    told = await Notices(school.library.engine).due("slack", owner="me", now=NOW, until=NOW)
    assert {one.question for one in told} == set(GROUP[:2])
    assert await school.teach(*ids, reference=ids[0], answer="10日です。") == AnswerTaken(
        (ids[0], ids[1]), 2, 3
    )  # again
    assert (await school.teach(*ids, reference=999)).refusal is not None
    assert await school.teach(*ids[2:], reference=ids[4], answer="7 days.") == AnswerTaken((ids[2], ids[4]), 2, 1)


async def test_the_same_words_after_different_questions_do_not_ask_the_same(school: School) -> None:
    trip = await school.asked("出張申請の締切は？")
    its = await school.asked("いつまで？", after=1)
    leave = await school.asked("夏季休暇の申請方法は？")
    other = await school.asked("いつまで？", after=3)
    ids = (trip, its, leave, other)
    assert await school.teach(*ids, reference=its, answer="3日前です。") == AnswerTaken((its,), 1, 3)
    assert await school.teach(*ids, reference=its, answer="3日前です。") == AnswerTaken((its,), 1, 3)  # again
    assert await school.teach(*ids, reference=other, answer="9月末です。") == AnswerTaken((other,), 1, 2)
    text = await school.text()
    assert "3日前" in text and "9月末" in text
    (names,) = (await school.pairs()).values()
    assert len(names) == 2 and all(name.startswith("Q&A: いつまで？ ") for name in names)


async def test_what_only_goes_on_from_another_question_is_no_wording_beside_a_better_one(school: School) -> None:
    ids = [await school.asked("出張申請の締切は？"), await school.asked("いつまで？", after=1)]
    await school.teach(ids[1], question="出張申請はいつまで？")
    assert await school.pairs() == {TEAM: ["Q&A: 出張申請はいつまで？.json"]}
    assert "Q: いつまで？" not in await school.text()


async def test_short_questions_that_go_on_from_nothing_ask_the_same(school: School) -> None:
    ids = [await school.asked("VPNは？"), await school.asked("VPNは？")]
    assert await school.teach(*ids, reference=ids[0]) == AnswerTaken((*ids,), 2)


async def test_what_an_answer_closes_can_be_chosen_by_hand(school: School) -> None:
    """One question stands for all of its wording, and the one that is answered is closed whatever is chosen."""
    ids = [await school.asked(text) for text in (*GROUP, GROUP[1])]
    chosen = AnswerTaken((ids[0], ids[3]), 2, 4)
    assert await school.teach(*ids, reference=ids[0], closes=[ids[3]], leaves=[ids[0], ids[5]]) == chosen
    assert await school.teach(*ids, reference=ids[0], closes=[ids[3]], leaves=[ids[0], ids[5]]) == chosen  # again
    text = await school.text()
    assert GROUP[0] in text and GROUP[3] in text and "１年目" not in text


async def test_no_choice_makes_a_private_answer_the_teams(school: School) -> None:
    private, public = (
        await school.asked("裏口の番号は？", place=SECRET, visibility="private"),
        await school.asked("会議室の番号は？"),
    )
    asked = await UnansweredQuestions(school.library.engine).get([private, public], [TEAM, scope_of(SECRET)])
    found = closing(asked, private)
    assert found and not found.choices and [one.id for one in found.others] == [public]
    taught = await school.teach(private, public, reference=private, closes=[public], **IN_SECRET)
    assert taught.closed == (private,)
    assert set(await school.pairs()) == {scope_of(SECRET)}


async def test_whoever_wrote_the_answer_is_its_author_and_whoever_saved_it_stands_in_the_trace(school: School) -> None:
    question = await school.asked()
    assert await school.teach(question, author="U5") == AnswerTaken((question,), 1)
    (document,) = await school.library.documents.listed(collection=ANSWERS)
    (notice,) = await Notices(school.library.engine).due("slack", owner="me", now=NOW, until=NOW)
    (trace,) = await Audit(school.library.engine).listed()
    assert (document.author, notice.by, trace.actor) == ("U5", "U5", "slack:U9") and "slack:U5" in trace.result


async def test_every_question_has_its_own_readable_document(school: School) -> None:
    await school.teach(await school.asked("TCP/IP\nとは\u202e？"))
    assert await school.pairs() == {TEAM: ["Q&A: TCP／IP とは？.json"]}
    for end in ("東京", "大阪"):
        await school.teach(await school.asked("とても" * 50 + end))
    (names,) = (await school.pairs()).values()
    assert len(names) == 3 and all(len(name) < 100 for name in names)


async def test_a_newer_answer_takes_the_place_of_the_older(school: School) -> None:
    await school.teach(await school.asked())
    await school.teach(await school.asked(), answer="31日に変わりました。")
    assert await school.pairs() == {TEAM: ["Q&A: 経費の締切は？.json"]}
    assert "31日" in await school.text() and "25日" not in await school.text()


async def test_a_newer_answer_takes_the_place_of_one_that_was_found_by_other_words(school: School) -> None:
    first = [await school.asked(text) for text in GROUP[:2]]
    await school.teach(*first, reference=first[0], answer="10日です。")
    other = await school.asked(GROUP[1])
    for _ in range(2):  # again
        taken = await school.teach(other, answer="12日に変わりました。")
        assert (taken.refusal, taken.closed) == (None, (other,))
    assert await school.pairs() == {TEAM: [f"Q&A: {GROUP[0]}.json"]}
    text = await school.text()
    assert "12日" in text and "10日" not in text and all(f"Q: {one}" in text for one in GROUP[:2])


async def test_an_older_answer_is_found_among_many(school: School) -> None:
    first = [await school.asked(text) for text in GROUP[:2]]
    await school.teach(*first, reference=first[0], answer="10日です。")
    for number in range(NEAR + 5):
        other = written([f"{number}階の会議室はいつ開きますか？"], f"{number}時です。")
        await school.library.knowledge.add(Upload(f"Q&A: {number}.json", other, ANSWERS, TEAM, "U9"), "ja")
    await school.teach(await school.asked(GROUP[1]), answer="12日です。")
    assert "10日" not in await school.text() and len((await school.pairs())[TEAM]) == NEAR + 6


async def test_what_an_older_answer_says_to_other_questions_stays(school: School) -> None:
    first = [await school.asked("Wi-Fi の名前は？"), await school.asked("Wi-Fi のパスワードは？")]
    await school.teach(*first, reference=first[0], closes=[first[1]], answer="kotae と 4711 です。")
    await school.teach(await school.asked("Wi-Fi のパスワードは"), answer="0815 です。")
    there = await school.library.documents.listed(collection=ANSWERS)
    texts = {row.name: await school.library.knowledge.markdown(row) for row in there}
    assert texts == {
        "Q&A: Wi-Fi の名前は？.json": "Q: Wi-Fi の名前は？\nA: kotae と 4711 です。",
        "Q&A: Wi-Fi のパスワードは.json": "Q: Wi-Fi のパスワードは\nA: 0815 です。",
    }
    assert {row.author for row in there} == {"U9"}


async def test_an_answer_takes_the_place_of_none_that_others_read(school: School) -> None:
    private = [await school.asked(text, place=SECRET, visibility="private") for text in GROUP[:2]]
    await school.teach(*private, reference=private[0], answer="10日です。", **IN_SECRET)
    await school.teach(await school.asked(GROUP[1]), answer="12日です。")
    there = await school.library.documents.listed(collection=ANSWERS)
    texts = {row.scope: await school.library.knowledge.markdown(row) for row in there}
    assert texts[TEAM] == f"Q: {GROUP[1]}\nA: 12日です。"
    assert texts[scope_of(SECRET)].count("A: 10日です。") == 2 and len(texts) == 2
    again = await school.asked(GROUP[0], place=SECRET, visibility="private")
    await school.teach(again, answer="14日です。", **IN_SECRET)
    there = await school.library.documents.listed(collection=ANSWERS)
    now = {row.scope: await school.library.knowledge.markdown(row) for row in there}
    assert len(there) == 2 and now[TEAM] == texts[TEAM] and "14日" in now[scope_of(SECRET)]


async def test_an_older_answer_whose_text_is_lost_keeps_nobody_from_answering(school: School) -> None:
    await school.teach(await school.asked())
    for path in school.library.folder.rglob("*"):
        if path.is_file():
            path.unlink()
    assert (await school.teach(await school.asked("駐車場はどこですか？"), answer="地下です。")).refusal is None


async def test_the_collection_is_described_once(school: School) -> None:
    await school.teach(await school.asked("one?"))
    (info,) = await school.library.knowledge.collections(Readers(frozenset({TEAM})))
    assert info.name == ANSWERS and info.description
    await school.library.knowledge.stored.describe(ANSWERS, "ours")
    await school.teach(await school.asked("two?"))
    (info,) = await school.library.knowledge.collections(Readers(frozenset({TEAM})))
    assert info.description == "ours" and info.documents == 2


# -- refusals -------------------------------------------------------------------------------------------------------


REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"actor": replace(EXPERT, role="outsider")}, "members"),
    ({"answer": " \n\u200b…"}, "empty"),
    ({"answer": "わかりません。"}, "no answer yet"),
    ({"answer": "x" * (LONGEST + 1)}, str(LONGEST + 1)),
    ({"answer": "Use sk-live-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c."}, "a key"),
    ({"answer": "postgresql://kotae:hunter2@db.example/kotae"}, "a key"),
    ({"questions": (999,)}, "not there"),
    ({"questions": ()}, "not there"),
    ({"audience": OUTSIDERS}, "not there"),
    ({"audience": Audience("unknown")}, "not there"),
)


async def test_what_cannot_be_learnt_is_refused_in_words(school: School) -> None:
    question = await school.asked()
    for more, said in REFUSED:
        given = {"questions": (question,)} | more
        refused = await school.teach(*given.pop("questions"), **given)
        assert refused.refusal is not None and refused.closed == () and said in refused.refusal.en, more
        assert refused.refusal.ja != refused.refusal.en
    assert await school.pairs() == {} and await school.open() == 1
    assert (await school.teach(question, answer="あ。" * (LONGEST // 2))).refusal is None


async def test_a_key_in_a_question_is_kept_with_none_of_its_wordings(school: School) -> None:
    key = "sk-" + "a1b2c3d4e5f6g7h8"
    asked = await school.asked(f"{key} で 401 が返るのはなぜ？")
    await school.teach(asked, question=f"API キー（{key}）で 401 が返る", answer="失効しています。再発行してください。")
    assert "で 401 が返るのはなぜ？" in await school.text() and key not in "\n".join(school.library.kept())
    assert key not in str(await school.pairs())


async def test_the_name_of_a_package_is_no_secret(school: School) -> None:
    answer = "pip install sk-learn-contrib, see https://docs.example/?key=value."
    assert (await school.teach(await school.asked(), answer=answer)).refusal is None


async def test_of_two_answers_at_once_the_second_is_told(school: School) -> None:
    question = await school.asked()
    done = await asyncio.gather(*(school.teach(question, answer=f"{day}日です。") for day in (24, 25)))
    assert [one.closed for one in done] == [(question,), ()] and done[1].refusal is not None
    assert "24日" in await school.text() and "25日" not in await school.text()


async def test_a_question_is_not_dismissed_while_its_answer_is_being_kept(school: School) -> None:
    question = await school.asked()
    dismissing = school.experts.dismiss(EXPERT, [question], EXPERTS, PUBLIC)
    taken, dismissed = await asyncio.gather(school.teach(question), dismissing)
    assert (taken.closed, dismissed.closed) == ((question,), ()) and dismissed.refusal is not None


# -- cut short ------------------------------------------------------------------------------------------------------


class Broken(Notices):
    """A database that goes away when the questions are to be closed."""

    away = True

    async def close(
        self,
        ids: Collection[int],
        scopes: Collection[str],
        *,
        now: datetime,
        trace: AuditRecord,
        telling: Telling | None = None,
    ) -> Closed:
        if self.away:
            raise StoreError(Text(en="away", ja="停止中"))
        return await super().close(ids, scopes, now=now, trace=trace, telling=telling)


async def test_a_lesson_that_was_cut_short_and_given_again_ends_as_it_would_have(tmp_path: Path) -> None:
    async with opened(tmp_path) as library:
        notices = Broken(library.engine)
        school = school_of(library, tmp_path, notices)
        question = await school.asked()
        with pytest.raises(StoreError):
            await school.teach(question)
        assert await school.open() == 1
        notices.away = False
        assert await school.teach(question) == AnswerTaken((question,), 1)
        assert await school.teach(question) == AnswerTaken((question,), 1)  # the first reply got lost
        assert (await school.teach(question, answer="31日です。")).refusal is not None
        assert len((await school.pairs())[TEAM]) == 1 and len(await Audit(library.engine).listed()) == 1
        assert len(await notices.due("slack", owner="me", now=NOW, until=NOW + MINUTE)) == 1


# -- dismissed ------------------------------------------------------------------------------------------------------


async def test_dismissed_questions_are_closed_and_nobody_is_told(school: School) -> None:
    one, private = await school.asked(), await school.asked(place=SECRET, visibility="private")
    dismiss = school.experts.dismiss
    assert (await dismiss(replace(EXPERT, role="outsider"), [one], EXPERTS, PUBLIC)).refusal is not None
    assert (await dismiss(EXPERT, [private], EXPERTS, PUBLIC)).refusal is not None
    assert await dismiss(EXPERT, [one, private], EXPERTS, PUBLIC) == AnswerTaken((one,))
    assert (await dismiss(EXPERT, [one], EXPERTS, PUBLIC)).refusal is not None
    assert (await school.teach(one)).refusal is not None
    assert await Notices(school.library.engine).due("slack", owner="me", now=NOW, until=NOW) == []
    assert [one.action for one in await Audit(school.library.engine).listed()] == ["dismiss"]
    assert await school.open() == 1
