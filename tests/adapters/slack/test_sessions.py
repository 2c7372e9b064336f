"""Slack's agent sessions, beside the status: whoever asked can stop the bot with Slack's own button, and conversations
have names; an app that is older works as it did."""

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from agent.events import Answered, ToolCalled
from tests.adapters.acting import Held, answers, until
from tests.adapters.slack.service import bot
from tests.adapters.slack.stage import ANSWER, RENAME, SESSION, STATUS, STREAMS, TURN, Stage, again, staged
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import CUT_AFTER, CUT_BEFORE, IGNORED, Fault, Hold, error, held, status
from tests.fakes.slack_world import Message

TITLE = "assistant.threads.setTitle"


def at_work(stage: Stage) -> bool:
    return ("C1", stage.asked) in stage.fake.world.processing


# -- one turn ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("without", [(), STREAMS], ids=["streams", "edits"])
async def test_a_turn_is_a_session_at_work_until_its_answer(without: tuple[str, ...]) -> None:
    async with staged(sessions=True, without=without) as stage:
        view = stage.view()
        await view.begin()
        await stage.fake.wait_for_idle()
        assert at_work(stage) and stage.status == "is thinking…"
        for event in TURN:
            await view.step(event)
        await view.answer(ANSWER)
        assert not at_work(stage)
        await view.close()
        assert not at_work(stage) and stage.fake.world.names == {("C1", stage.asked): "?"}
        assert [each["status"] for each in stage.calls(SESSION)] == ["processing", "active"]
        assert stage.calls(SESSION)[0]["initiator_user_id"] == "U1" and stage.status == ""


async def test_whatever_becomes_of_the_session_the_same_is_shown_and_nothing_waits_for_it() -> None:
    """Where there are none, where a call is taken and nothing done, where none is answered."""
    hold = Hold()
    for fault in (None, error("unknown_method"), IGNORED, held(hold)):
        async with staged(sessions=True) as stage:
            for method in (SESSION, RENAME):
                if fault is not None:
                    stage.fake.fail(method, fault)
            view = stage.view("off")
            await view.begin()
            await stage.fake.wait_for(lambda: stage.status == "is thinking…")
            await view.step(ToolCalled("1", "search_rag_knowledge_base", {"query": "refund"}))
            await stage.hours.advance(15)
            await stage.fake.wait_for(lambda: stage.status == "is searching the documents…")
            assert not stage.replies
            await view.answer(ANSWER)
            assert stage.shown == ["30 days."]
            hold.released.set()
            await view.close()
            told = [each["status"] for each in stage.calls(STATUS)]
            assert told == ["is thinking…", "is searching the documents…", ""] and stage.status == ""


@pytest.mark.parametrize("fault", [CUT_BEFORE, error("internal_error"), status(500)], ids=["cut", "internal", "500"])
async def test_a_status_that_does_not_arrive_is_made_up_for_whatever_session_there_is(fault: Fault) -> None:
    """One that is taken, and nothing done, shows nothing."""
    async with staged(sessions=True) as stage:
        stage.fake.fail(STATUS, fault)
        stage.fake.fail(SESSION, IGNORED)
        view = stage.view("off")
        await view.begin()
        await stage.comes_to_show("🧠 Thinking…")
        await view.answer(ANSWER)
        await view.close()


async def test_a_session_ends_before_the_answer_comes_so_none_is_left_by_a_process_that_dies_then() -> None:
    async with staged(sessions=True, without=STREAMS) as stage:
        view = stage.view("off")
        await view.begin()
        await stage.fake.wait_for_idle()
        assert at_work(stage)
        hold = Hold()
        stage.fake.fail("chat.postMessage", held(hold))
        answering = asyncio.create_task(view.answer(ANSWER))
        await asyncio.wait_for(hold.reached.wait(), 30)
        assert not at_work(stage)
        hold.released.set()
        stage.fake.heal()
        await answering
        await view.close()


async def test_an_end_that_is_not_answered_keeps_no_answer_back_and_is_said_again() -> None:
    async with staged(sessions=True) as stage:
        view = stage.view("off")
        await view.begin()
        await stage.fake.wait_for_idle()
        assert at_work(stage)
        hold = Hold()
        stage.fake.fail(SESSION, held(hold), calls=[1])
        await view.answer(ANSWER)
        assert stage.shown == ["30 days."] and at_work(stage)
        await view.close()
        assert not at_work(stage)
        hold.released.set()


async def test_a_session_that_may_have_begun_is_ended() -> None:
    async with staged(sessions=True) as stage:
        stage.fake.fail(SESSION, CUT_AFTER, where=lambda arguments: arguments["status"] == "processing")
        view = stage.view("off")
        await view.begin()
        await stage.fake.wait_for(lambda: at_work(stage) and len(stage.fake.journal.calls(SESSION)) == 2)
        await view.answer(ANSWER)
        await view.close()
        assert not at_work(stage)


@pytest.mark.parametrize("answered", [False, True], ids=["unanswered", "its answer is stored"])
async def test_whoever_takes_up_what_a_killed_process_left_ends_its_session(answered: bool) -> None:
    async with staged(sessions=True) as stage:
        dead = stage.view()
        await dead.begin()
        await stage.step(dead, TURN[0])
        assert at_work(stage)
        async with again(stage) as second:
            view = second.view("off", retaken=True, answered=answered)
            begun = len(stage.calls(SESSION))
            await view.begin()
            if not answered:
                await second.fake.wait_for(lambda: len(stage.calls(SESSION)) > begun)
            await view.answer(ANSWER)
            assert not at_work(second)
            await view.close()
            said = [each["status"] for each in stage.calls(SESSION)[begun:]]
            assert said == (["active"] if answered else ["processing", "active"])
        await dead.close()


async def test_an_answer_that_is_only_put_in_order_makes_no_session_of_an_old_thread() -> None:
    async with staged(sessions=True) as stage:
        await stage.play((ANSWER,), "off")
        before = len(stage.fake.journal.calls(SESSION))
        view = stage.view("off", retaken=True, answered=True)
        await view.begin()
        await view.answer(replace(ANSWER, text="31 days."))
        await view.close()
        assert stage.shown == ["31 days."] and len(stage.fake.journal.calls(SESSION)) == before


@pytest.mark.parametrize("without", [(), STREAMS], ids=["streams", "edits"])
async def test_of_two_turns_in_a_thread_the_last_one_ends_the_session(without: tuple[str, ...]) -> None:
    async with staged(sessions=True, without=without) as stage:
        first, second = stage.view(), stage.view("off", turn="turn-2")
        for view in (first, second):
            await view.begin()
        await stage.fake.wait_for(lambda: len(stage.calls(SESSION)) == 2)
        await stage.step(first, TURN[0])
        await first.answer(ANSWER)
        await first.close()  # which ends the status, and with a stream the session
        await stage.fake.wait_for(lambda: at_work(stage) and stage.status == "is thinking…")  # at once
        await second.answer(Answered("Yes.", turn="turn-2"))
        await second.close()
        assert not at_work(stage)
        assert [each["status"] for each in stage.calls(SESSION)] == ["processing", "processing", "active"]


async def test_a_question_that_was_edited_renames_its_conversation_and_a_name_that_people_gave_stays() -> None:
    async with staged(sessions=True) as stage:
        for edits, text, name in ((0, "Refunds?", "Refunds?"), (0, "Refunds?", "Mine"), (1, "Money?", "Money?")):
            view = stage.view("off", retaken=edits > 0, edits=edits, text=text)
            await view.begin()
            await stage.fake.wait_for_idle()
            assert at_work(stage)
            await view.answer(ANSWER)
            await view.close()
            if name == "Refunds?":
                await stage.fake.renames("U1", stage.asked, "Mine")
            else:
                assert stage.fake.world.names == {("C1", stage.asked): name}
            stage.rows.kept.clear()


# -- apps and servers that are older, and those of the future -----------------------------------------------------------

REFUSALS = (
    *("missing_scope", "unknown_method", "not_authorized", "not_agent_app", "feature_disabled"),
    *("method_deprecated", "of_the_future"),
)


@pytest.mark.parametrize("code", REFUSALS)
async def test_without_sessions_it_is_as_before_after_one_call(code: str, caplog: pytest.LogCaptureFixture) -> None:
    async with staged(sessions=True) as stage:
        for method in (SESSION, RENAME):
            stage.fake.fail(method, error(code))
        for number in range(3):
            view = stage.view("off", turn=f"turn-{number}")
            await view.begin()
            await stage.fake.wait_for(lambda: stage.status == "is thinking…")
            await view.step(ToolCalled("1", "search_rag_knowledge_base", {"query": "refund"}))
            await stage.hours.advance(15)
            await stage.fake.wait_for(lambda: stage.status == "is searching the documents…")
            await view.answer(ANSWER)
            await view.close()
            assert stage.status == ""
        await stage.view("off", retaken=True).remove()
        refused = [each for each in stage.fake.journal.entries if each.method in (SESSION, RENAME)]
        assert len(refused) == 1
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("code", ["unknown_method", "method_deprecated"])
async def test_statuses_and_names_come_when_the_older_methods_are_gone(code: str) -> None:
    async with staged(sessions=True) as stage:
        for method in (STATUS, TITLE):
            stage.fake.fail(method, error(code))
        for number in range(2):
            view = stage.view("off", turn=f"turn-{number}")
            await view.begin()
            await stage.fake.wait_for_idle()
            await stage.hours.advance(30)
            await stage.fake.wait_for_idle()
            assert at_work(stage) and len(stage.replies) == number  # Slack shows it, without a message
            await view.answer(ANSWER)
            await view.close()
            assert not at_work(stage)
        assert stage.shown == ["30 days."] * 2 and stage.fake.world.names
        assert stage.fake.journal.errors() == [f"{STATUS}: {code}"]


@pytest.mark.parametrize("gone", [False, True], ids=["status", "no status"])
async def test_where_slack_shows_no_button_a_session_is_begun_only_for_want_of_a_status(
    gone: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with staged(sessions=True) as stage:
        stage.fake.subscribed = ()
        if gone:
            stage.fake.fail(STATUS, error("unknown_method"))
        for number in range(3):
            view = stage.view("off", turn=f"turn-{number}")
            await view.begin()
            await stage.fake.wait_for_idle()
            assert at_work(stage) and (stage.status == "is thinking…") != gone
            assert len(stage.replies) == number
            await view.answer(ANSWER)
            await view.close()
            assert not at_work(stage) and stage.status == ""
        begun = [each for each in stage.calls(SESSION) if each["status"] == "processing"]
        assert len(begun) == (3 if gone else 1)
    assert [record.levelno for record in caplog.records if "no button" in record.getMessage()] == [logging.INFO]


@pytest.mark.parametrize("known", [True, False], ids=["later", "at its start"])
async def test_where_sessions_would_have_to_wait_there_is_a_status_alone(known: bool) -> None:
    """Slack takes 50 of them a minute, and each has an end."""
    async with staged(sessions=True) as stage:
        views = [stage.view("off", turn=f"turn-{number}") for number in range(30)]
        for view in views:
            await view.begin()
            if known and view is views[0]:
                await stage.fake.wait_for_idle()
        await stage.fake.wait_for(lambda: len(stage.calls(STATUS)) == 30)
        await stage.fake.wait_for_idle()
        assert 15 <= len(stage.calls(SESSION)) < 30
        for view in views:
            await view.answer(ANSWER)
            await view.close()
        assert not at_work(stage) and not stage.status and len(stage.replies) == 30


# -- Stop -------------------------------------------------------------------------------------------------------------

NOTES = {
    "@kotae How long do refunds take?": "Stopped, as you asked",
    "@kotae 返金は何日ですか？": "ご指示のとおり中止しました",
}


def said(slack: FakeSlack, ts: str, text: str) -> list[Message]:
    return [reply for reply in slack.replies(ts) if text in reply.shown]


@pytest.mark.parametrize("without", [(), STREAMS], ids=["streams", "edits"])
@pytest.mark.parametrize("question", NOTES)
async def test_whoever_asked_stops_the_turn_and_the_thread_is_told(
    question: str, without: tuple[str, ...], tmp_path: Path
) -> None:
    waits = Held()
    async with FakeSlack(copies=2, without=without) as slack, bot(slack, tmp_path, waits, answers()) as here:
        asked = await slack.says("C1", "U1", question)
        await asyncio.wait_for(waits.begun.wait(), 30)
        await slack.wait_for(lambda: "Waiting." in "".join(each.shown for each in slack.thread("C1", asked)))
        await slack.stops("U1", asked)
        (note,) = await slack.wait_for(lambda: said(slack, asked, NOTES[question]))
        assert not any(block["type"] == "context_actions" for block in note.blocks)
        await slack.wait_for_idle()
        waits.go_on.set()
        other = await slack.says("C1", "U1", "@kotae And abroad?", thread=asked)
        await slack.wait_for(lambda: said(slack, asked, "30 days"))
        await slack.wait_for_idle()
        assert len(said(slack, asked, NOTES[question])) == 1 and not said(slack, asked, "Late.")
        assert not slack.world.processing and not await here.bot.turns.unfinished("slack")
        assert not here.player.asks[-1].history and other  # it was no exchange
        assert not any(each.streaming for each in slack.thread("C1", asked))
        assert not any("Thinking…" in each.shown for each in slack.thread("C1", asked))


async def test_only_whoever_asked_stops_it(tmp_path: Path) -> None:
    waits = Held()
    async with FakeSlack() as slack, bot(slack, tmp_path, waits):
        slack.world.users["U2"].locale = "ja-JP"
        asked = await slack.says("C1", "U1", "@kotae How long?")
        await asyncio.wait_for(waits.begun.wait(), 30)
        await slack.wait_for(lambda: slack.world.processing)
        await slack.stops("U2", asked)
        (told,) = await slack.wait_for(lambda: slack.whispers("U2"))
        assert told.shown == "この回答を中止できるのは、質問した人だけです。" and told.thread == asked
        waits.go_on.set()
        await slack.wait_for(lambda: said(slack, asked, "Late."))
        await slack.wait_for_idle()
        assert not said(slack, asked, "Stopped") and not slack.world.processing


async def test_each_stops_what_they_asked_and_nothing_that_they_asked_since(tmp_path: Path) -> None:
    waits = Held()
    async with FakeSlack(limits=False) as slack, bot(slack, tmp_path, waits, answers()) as here:
        root = await slack.says("C1", "U1", "@kotae How long?")
        await asyncio.wait_for(waits.begun.wait(), 30)
        second = await slack.says("C1", "U2", "@kotae How much?", thread=root)
        since = await slack.says("C1", "U2", "@kotae How often?", thread=root)
        place = here.player.messages[0].place

        async def taken() -> bool:
            stopped = await here.bot.turns.stop(place, root, "U9", until=since)
            return {each.message.message for each in stopped.left} == {root, second, since} and not stopped.ended

        await until(taken)
        stopped = await here.bot.turns.stop(place, root, "U2", until=second)
        assert [each.message.message for each in stopped.ended] == [second]
        assert [each.message.message for each in stopped.left] == [root, since]
        waits.go_on.set()
        await slack.wait_for(lambda: said(slack, root, "Late.") and said(slack, root, "30 days"))
        await slack.wait_for(lambda: said(slack, root, "Stopped"))
        assert [ask.question for ask in here.player.asks] == ["How long?", "How often?"]


async def test_a_stop_outlives_the_process_that_took_it(tmp_path: Path) -> None:
    waits = Held()
    async with FakeSlack(without=STREAMS) as slack:
        async with bot(slack, tmp_path, waits) as here:
            asked = await slack.says("C1", "U1", "@kotae How long?")
            await asyncio.wait_for(waits.begun.wait(), 30)
            await slack.wait_for(lambda: slack.world.processing)
            place = here.player.messages[0].place
            for method in (SESSION, STATUS):
                slack.fail(method, error("internal_error"))  # it dies with its session at work
            await here.bot.turns.stop(place, asked, "U1", until=asked)
            for task in asyncio.all_tasks():
                if task.get_name() == "slack-turn":
                    task.cancel()
        slack.heal()
        assert slack.world.processing and not said(slack, asked, "Stopped")
        async with bot(slack, tmp_path) as here:
            await slack.wait_for(lambda: said(slack, asked, "Stopped"))
            await slack.wait_for_idle()
            assert not here.player.asks and not slack.world.processing
        assert len(said(slack, asked, "Stopped")) == 1


async def test_stop_where_nothing_is_at_work_says_so_to_slack(tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path):
        asked = await slack.says("C1", "U1", "@kotae How long do refunds take?")
        await slack.wait_for(lambda: said(slack, asked, "30 days"))
        await slack.wait_for_idle()
        slack.world.session("C1", asked, "processing")  # as a process leaves it that dies at the wrong moment
        await slack.stops("U2", asked)
        await slack.wait_for(lambda: not slack.world.processing)
        await slack.wait_for_idle()
        assert not slack.whispers("U2") and not said(slack, asked, "Stopped")


@pytest.mark.parametrize("when", ["at work", "answered"])
async def test_a_deleted_question_leaves_no_session_at_work_and_no_name(when: str, tmp_path: Path) -> None:
    waits = Held()
    async with FakeSlack() as slack, bot(slack, tmp_path, waits):
        asked = await slack.says("C1", "U1", "@kotae How long?")
        await asyncio.wait_for(waits.begun.wait(), 30)
        await slack.wait_for(lambda: slack.world.processing)
        if when == "answered":
            waits.go_on.set()
            await slack.wait_for(lambda: said(slack, asked, "Late."))
        assert slack.world.names == {("C1", asked): "How long?"}
        await slack.deletes(asked)
        await slack.wait_for(lambda: slack.world.names == {("C1", asked): "Deleted question"})
        await slack.wait_for_idle()
        assert not slack.world.processing
