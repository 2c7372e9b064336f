"""One turn in its thread: what people see meanwhile, what fails, and the answer with its buttons."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from adapters.port import relay
from adapters.slack.rendering.block_kit import VOTE, voted
from adapters.slack.transport.errors import GoneError, SlackError
from agent.events import Answered, Citation, Drafted, Outcome, ToolCalled
from bot.types import StepsShown
from retrieval.i18n import Language
from tests.adapters.slack.stage import (
    ANSWER,
    FOLDED,
    LINES,
    STATUS,
    STREAMS,
    TURN,
    lines,
    staged,
    steps_and_answer,
    votes,
)
from tests.fakes.slack_gate import CUT_BEFORE, error, slow

# -- signs of life --------------------------------------------------------------------------------------------------


async def test_the_status_says_what_happens_and_ends_with_the_answer() -> None:
    async with staged() as stage:
        view = stage.view("off", "ja")
        await view.begin()
        await stage.fake.wait_for(lambda: stage.status == "考えています…")
        await view.step(ToolCalled("1", "search_rag_knowledge_base", {"query": "返金"}))
        assert len(stage.calls(STATUS)) == 1
        await stage.hours.advance(15)
        await stage.fake.wait_for(lambda: stage.status == "資料を調べています…")
        await view.step(Drafted("30日"))
        await stage.hours.advance(15)
        await stage.fake.wait_for(lambda: stage.status == "回答を見直しています…")
        await view.answer(Answered("30日です。", turn="turn-1"))
        assert "slack-status" not in {task.get_name() for task in asyncio.all_tasks()}
        await view.close()
        assert stage.status == "" and len(stage.shown) == 1 and stage.calls(STATUS)[-1]["status"] == ""


@pytest.mark.parametrize("language", ["ja", "en"])
@pytest.mark.parametrize("steps", ["live", "verbose", "off"])
async def test_where_there_is_no_status_a_message_says_so_and_becomes_the_steps(
    steps: StepsShown, language: Language
) -> None:
    told = lines(TURN, language, named=steps == "verbose")
    for without in ((STATUS,), (STATUS, *STREAMS)):
        async with staged(without=without) as stage:
            view = stage.view(steps, language)
            await view.begin()
            thinking = {"ja": "🧠 考えています…", "en": "🧠 Thinking…"}[language]
            await stage.comes_to_show(thinking)
            await stage.hours.advance(15)
            waited = {"ja": "🧠 考えています…（15 秒）", "en": "🧠 Thinking… (15 s)"}[language]
            await stage.comes_to_show(waited)
            for event in TURN:
                await view.step(event)
            await stage.fake.wait_for(lambda: steps == "off" or told[0] in stage.text)
            await view.answer(ANSWER)
            await view.close()
            shown = {"live": ["\n".join(told)], "verbose": told, "off": []}[steps]
            assert stage.shown[:-1] == shown and stage.shown[-1].startswith("30 days.")


async def test_small_talk_leaves_the_answer_alone() -> None:
    for without in ((), (STATUS,), (STATUS, *STREAMS)):
        async with staged(without=without) as stage:
            view = stage.view()
            await view.begin()
            await stage.fake.wait_for(lambda: stage.status or stage.shown)
            await view.answer(ANSWER)
            await view.close()
            assert len(stage.shown) == 1 and stage.shown[0].startswith("30 days.")


async def test_a_status_that_takes_too_long_is_not_waited_for() -> None:
    async with staged() as stage:
        stage.fake.fail(STATUS, slow(3.0), calls=[1])
        view = stage.view()
        await view.begin()
        await stage.fake.wait_for(lambda: stage.shown == ["🧠 Thinking…"], timeout=2.9)
        await view.answer(ANSWER)
        await view.close()
        assert len(stage.shown) == 1 and stage.status == ""


# -- what fails -----------------------------------------------------------------------------------------------------


async def test_steps_that_cannot_be_shown_do_not_cost_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    for fault in (error("restricted_action"), error("fatal_error"), error("surprise")):
        async with staged(without=(STATUS,)) as stage:
            stage.fake.fail("chat.startStream", fault)
            stage.fake.fail(
                "chat.postMessage", fault, where=lambda given: '"steps"' in str(given.get("metadata")).replace("'", '"')
            )
            caplog.clear()
            await stage.play((*TURN, ANSWER))
            assert len(stage.shown) == 1 and stage.shown[0].startswith("30 days.")
            assert sum("cannot be shown" in record.message for record in caplog.records) == 1


async def test_where_there_is_nowhere_to_answer_it_is_said_so() -> None:
    async with staged() as stage:
        view = stage.view()
        await view.begin()
        await stage.step(view, TURN[0])
        stage.fake.world.channels["C1"].archived = True
        with pytest.raises(GoneError):
            await view.answer(ANSWER)
        await view.close()


async def test_an_answer_that_could_not_be_posted_is_posted_by_the_next_attempt() -> None:
    async with staged() as stage:
        stage.fake.fail("chat.postMessage", CUT_BEFORE)
        with pytest.raises(SlackError):
            await stage.play((*TURN, ANSWER))
        stage.fake.heal()
        await stage.play([ANSWER])
        steps_and_answer(stage)


async def test_cancelling_a_turn_leaves_nothing_running() -> None:
    async with staged() as stage:
        view = stage.view()

        async def events() -> Any:
            for event in TURN[:3]:
                yield event
            await asyncio.Event().wait()

        async def serve() -> None:
            try:
                await view.begin()
                await relay(events(), view)
            finally:
                await view.close()

        task = asyncio.create_task(serve())
        await stage.fake.wait_for(lambda: LINES[2] in stage.text)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert not [each for each in asyncio.all_tasks() if each.get_name().startswith("slack-s")]
        assert not stage.replies[0].streaming and stage.status == ""


# -- the answer -----------------------------------------------------------------------------------------------------


def _bodies() -> Iterator[tuple[str, str]]:
    yield "words", "word{n} "
    yield "japanese", "これは{n}番目の文です。"
    yield "emoji", "👩‍👩‍👧‍👦🎉{n} "
    yield "fences", "```python\nprint({n})\n```\n\n"
    yield "rows", "| {n} | x |\n"


@pytest.mark.parametrize("size", [10, 3_000, 13_000, pytest.param(100_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("body", [body for _, body in _bodies()], ids=[name for name, _ in _bodies()])
async def test_an_answer_of_any_length_arrives_whole_and_in_order(body: str, size: int) -> None:
    many = max(1, size // len(body))
    text = "| a | b |\n| --- | --- |\n" if body.startswith("|") else ""
    text += "".join(body.replace("{n}", f"{number:05}") for number in range(many))
    async with staged(sessions=True) as stage:
        await stage.play([Answered(text, turn="turn-1")])
        assert [int(found) for found in re.findall(r"\d{5}", stage.text)] == list(range(many))
        assert not stage.fake.journal.errors()
        assert [votes(message.blocks) for message in stage.replies[:-1]] == [[]] * (len(stage.replies) - 1)
        assert votes(stage.replies[-1].blocks) == ["turn-1:up", "turn-1:down"]
        assert [post.message for post in stage.rows.of_kind("answer")] == [message.ts for message in stage.replies]


@pytest.mark.parametrize(("language", "said"), [("ja", "（回答は空でした。）"), ("en", "(The answer is empty.)")])
async def test_an_empty_answer_says_so(language: Language, said: str) -> None:
    async with staged() as stage:
        await stage.play([Answered(" \n", turn="turn-1")], language=language)
        assert len(stage.shown) == 1 and said in stage.shown[0]


@pytest.mark.parametrize(("outcome", "asked"), [("answered", 2), ("unknown", 2), ("failed", 0), ("declined", 0)])
async def test_who_got_an_answer_is_asked_whether_it_helped(outcome: Outcome, asked: int) -> None:
    async with staged() as stage:
        await stage.play([Answered("So it is.", outcome=outcome, turn="turn-1")])
        assert len(votes(stage.replies[0].blocks)) == asked


async def test_where_the_thumbs_are_refused_there_are_buttons() -> None:
    async with staged() as stage:
        stage.fake.fail(
            "chat.postMessage",
            error("invalid_blocks"),
            where=lambda given: "feedback_buttons" in str(given.get("blocks")),
        )
        await stage.play([ANSWER])
        (message,) = stage.replies
        ids = [
            element["action_id"]
            for block in message.blocks
            for element in block.get("elements", ())
            if "action_id" in element
        ]
        assert ids == [f"{VOTE}:up", f"{VOTE}:down"] and votes(message.blocks) == ["turn-1:up", "turn-1:down"]
        assert message.shown == "30 days."


@pytest.mark.parametrize("code", ["invalid_blocks", "no_such_code_yet"])
async def test_where_blocks_are_refused_the_answer_goes_as_text(code: str) -> None:
    async with staged() as stage:
        stage.fake.fail("chat.postMessage", error(code), where=lambda given: bool(given.get("blocks")))
        await stage.play([ANSWER])
        (message,) = stage.replies
        assert message.shown == "30 days." and not message.blocks


@pytest.mark.parametrize("language", ["en", "ja"])
async def test_where_the_words_are_refused_that_is_said(language: Language) -> None:
    code = "slack_connect_file_link_sharing_blocked"
    link = "https://acme.slack.com/files/U1/F1/handbook.pdf"
    cited = Citation(1, "handbook.pdf", "handbook", 3, "Refunds take 30 days.", link)
    async with staged() as stage:
        stage.fake.fail("chat.postMessage", error(code), where=lambda given: "/files/" in str(given))
        await stage.play([*TURN, Answered("30 days. [1]", (cited,), turn="turn-1")], language=language)
        message = stage.replies[-1]
        assert len(stage.replies) == 2
        assert code in message.shown and "30 days" not in message.shown and not message.blocks
        assert {"en": "direct message", "ja": "ダイレクトメッセージ"}[language] in message.shown


def test_a_pressed_button_is_a_vote() -> None:
    assert voted("turn-1:up") == ("turn-1", "up") and voted("a:b:down") == ("a:b", "down")
    assert [voted(value) for value in ("", ":up", "turn-1", "turn-1:sideways", "up")] == [None] * 5


@pytest.mark.parametrize("code", ["no_such_code_yet", "msg_too_long", "missing_scope", "internal_error"])
async def test_after_a_stream_that_cannot_be_ended_no_other_one_is_begun(code: str) -> None:
    """Nobody can edit or delete it; Slack ends it some minutes later."""
    async with staged() as stage:
        stage.fake.fail("chat.stopStream", error(code))
        view = stage.view()
        await view.begin()
        await stage.step(view, TURN[0])
        for event in TURN[1:]:
            await view.step(event)
        await view.answer(ANSWER)
        await view.close()
        left, *others = stage.replies
        assert left.streaming and not any(each.streaming for each in others)
        assert stage.shown[1:] == ["\n".join(LINES), "30 days."] and stage.titles[1:] == [FOLDED]
        assert len(stage.calls("chat.startStream")) == 1
