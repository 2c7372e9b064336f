"""One turn in its thread: its steps whatever becomes of the stream, its answer once, and what people see meanwhile."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any, Literal

import pytest

from adapters.port import relay
from adapters.slack.buttons import VOTE, voted
from adapters.slack.client import GoneError, SlackError
from adapters.slack.steps import BYTES, CARDS, Shown
from adapters.slack.taskcards import STEP, TITLE, TaskCard, after, chunk, closed
from agent.events import Answered, Drafted, Outcome, Reflected, Step, Thought, ToolCalled, ToolReturned
from retrieval.text import Language
from tests.adapters.desk import CARRIED
from tests.adapters.slack.stage import STATUS, STREAMS, Rows, Stage, again, lines, staged
from tests.fakes.slack_gate import CUT_AFTER, CUT_BEFORE, HANG_AFTER, Fault, error, ratelimited, slow, status

TURN: tuple[Step, ...] = (
    Thought("Look it up."),
    ToolCalled("1", "search_rag_knowledge_base", {"query": "refund"}),
    ToolReturned("1", "search_rag_knowledge_base", "Nothing relevant"),
    Thought("Other words."),
    ToolCalled("2", "search_rag_knowledge_base", {"query": "money back"}),
    ToolReturned("2", "search_rag_knowledge_base", "not reachable", failed=True),
    Drafted("30 days."),
    Reflected("keep", "Good."),
)
LINES = lines(TURN)
ANSWER = Answered("30 days.", turn="turn-1")


def steps_and_answer(stage: Stage) -> None:
    """Exactly these: all steps in their order, each once, then the answer, once."""
    assert stage.shown[:-1] == ["\n".join(LINES)] and "30 days." in stage.shown[-1]


# -- a stream that ends ---------------------------------------------------------------------------------------------


def expires(stage: Stage) -> None:
    stage.replies[0].stream.ended = "expired"  # type: ignore[union-attr]


def breaks(fault: Fault) -> Callable[[Stage], None]:
    def arm(stage: Stage) -> None:
        for method in STREAMS[1:]:
            stage.fake.fail(method, fault, calls=[1])

    return arm


ENDS = {
    "expires": expires,
    "done, not answered": breaks(CUT_AFTER),
    "neither done nor answered": breaks(CUT_BEFORE),
    "refused": breaks(error("msg_too_long")),
    "server trouble": breaks(status(500)),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
async def test_whenever_a_stream_ends_all_steps_are_there_once(end: Callable[[Stage], None]) -> None:
    for index in range(len(TURN) + 1):
        async with staged() as stage:
            view = stage.view()
            await view.begin()
            for number, event in enumerate((*TURN, None)):
                if number == index and stage.replies:
                    end(stage)
                if event is not None and not isinstance(event, Drafted):
                    await stage.step(view, event)
                elif event is not None:
                    await view.step(event)
            await view.answer(ANSWER)
            await view.close()
            steps_and_answer(stage)
            assert not stage.replies[0].streaming and len(stage.calls("chat.startStream")) == 1


async def test_a_streamed_message_that_takes_no_edits_is_gone_on_with_in_the_next() -> None:
    for index in range(1, len(TURN)):
        async with staged() as stage:
            stage.fake.server.chat.rewrites_streams = False
            view = stage.view()
            await view.begin()
            for number, event in enumerate(TURN):
                if number == index:
                    expires(stage)
                await (view.step(event) if isinstance(event, Drafted) else stage.step(view, event))
            await view.answer(ANSWER)
            await view.close()
            assert "\n".join(stage.shown[:-1]).splitlines() == LINES, stage.shown


async def test_the_cards_say_how_each_step_ended() -> None:
    async with staged() as stage:
        view = stage.view()
        await view.begin()
        await stage.step(view, TURN[0])
        assert [part["status"] for part in _stream(stage)] == ["in_progress"]
        await stage.step(view, TURN[1])
        assert [part["status"] for part in _stream(stage)] == ["complete", "in_progress"]
        for event in TURN[2:]:
            await view.step(event)
        await view.answer(ANSWER)
        await view.close()
        statuses = ["complete", "complete", "complete", "complete", "error", "error", "complete"]
        assert [part["status"] for part in _stream(stage)] == statuses
        started = stage.calls("chat.startStream")[0]
        assert started["task_display_mode"] == "timeline" and started["recipient_user_id"] == "U1"


async def test_a_reader_who_stops_the_stream_sees_no_more_steps_and_the_answer() -> None:
    async with staged() as stage:
        view = stage.view()
        await view.begin()
        await stage.step(view, TURN[0])
        await stage.fake.stops_stream(stage.replies[0].ts)
        for event in TURN[1:]:
            await view.step(event)
        await view.answer(ANSWER)
        await view.close()
        assert stage.shown[0] == LINES[0] and len(stage.shown) == 2 and "30 days." in stage.shown[1]


async def test_an_old_stream_is_ended_before_slack_does_it() -> None:
    async with staged() as stage:
        view = stage.view()
        await view.begin()
        await stage.step(view, TURN[0])
        await stage.hours.advance(239)
        await stage.step(view, TURN[1])
        await stage.hours.advance(2)
        for event in TURN[2:]:
            await view.step(event)
        await view.answer(ANSWER)
        await view.close()
        assert stage.shown[:2] == ["\n".join(LINES[:2]), "\n".join(LINES[2:])] and len(stage.shown) == 3
        assert not stage.calls("chat.update") and not any(message.streaming for message in stage.replies)


@pytest.mark.parametrize("without", [(), STREAMS], ids=["stream", "edits"])
@pytest.mark.parametrize(
    ("each", "many"),
    [("short", 2 * CARDS + 3), ("長い" * 200, 40), ("&<>" * 333, 20)],
    ids=["many", "bytes", "escapes"],
)
async def test_steps_that_do_not_fit_go_on_in_the_next_message(each: str, many: int, without: tuple[str, ...]) -> None:
    events = [Thought(f"{number}. {each}") for number in range(many)]
    async with staged(without=without) as stage:
        view = stage.view()
        await view.begin()
        for event in events[: many // 2]:
            await view.step(event)
        await stage.fake.wait_for(lambda: f"{many // 2 - 1}." in stage.text)
        for event in events[many // 2 :]:
            await view.step(event)
        await view.answer(ANSWER)
        await view.close()
        numbers = [int(found) for found in re.findall(r"Thought: (\d+)\.", stage.text)]
        assert numbers == list(range(many)) and len(stage.shown) > 2
        assert all(len(message.encode()) <= BYTES for message in stage.shown)
        assert not [each for each in stage.fake.journal.errors() if "unknown_method" not in each]


# -- without a stream -----------------------------------------------------------------------------------------------


async def test_without_streams_one_message_is_edited_and_not_for_every_step() -> None:
    async with staged(without=STREAMS) as stage:
        waiting = asyncio.Event()

        async def sleep(seconds: float) -> None:
            await waiting.wait()

        view = stage.view()
        view._steps._sleep = sleep  # the two seconds between edits
        await view.begin()
        await stage.step(view, TURN[0])
        for event in TURN[1:4]:
            await view.step(event)
        assert not stage.calls("chat.update")
        waiting.set()
        await stage.fake.wait_for(lambda: LINES[3] in stage.text)
        assert len(stage.calls("chat.update")) == 1
        for event in TURN[4:]:
            await view.step(event)
        await view.answer(ANSWER)
        await view.close()
        steps_and_answer(stage)
        assert len(stage.calls("chat.postMessage")) == 2


async def test_nobody_is_streamed_to_who_is_not_known() -> None:
    async with staged() as stage:
        await stage.play((*TURN, ANSWER), streams=False)
        steps_and_answer(stage)
        assert not stage.fake.journal.calls("chat.startStream")


async def test_where_blocks_are_refused_everything_comes_as_text() -> None:
    for without in ((), STREAMS):
        async with staged(without=without) as stage:
            for method in ("chat.postMessage", "chat.update"):
                stage.fake.fail(method, error("invalid_blocks"), where=lambda given: bool(given.get("blocks")))
            view = stage.view()
            await view.begin()
            for event in TURN[:-1]:
                await (view.step(event) if isinstance(event, Drafted) else stage.step(view, event))
            if not without:
                expires(stage)
            long = Thought("word " * 150)
            for event in (*([long] * 9), TURN[-1]):
                await view.step(event)
            await view.answer(Answered("All & <everything>. " * 400, turn="turn-1"))
            await view.close()
            steps = [
                message for message in stage.replies if "Thought" in message.shown or "Reflection" in message.shown
            ]
            answer = "".join(message.shown for message in stage.replies if message not in steps)
            assert "\n".join(message.shown for message in steps).splitlines() == lines(
                (*TURN[:-1], *[long] * 9, TURN[-1])
            )
            assert answer.count("All & <everything>.") == 400 and len(steps) > 1
            assert all(len(message.text) <= 4_000 for message in stage.replies)


# -- nothing twice, nothing lost ------------------------------------------------------------------------------------

SERVERS = {
    "all": (),
    "no stream": STREAMS,
    "no status": (STATUS,),
    "old": (*STREAMS, STATUS),
    "no metadata": ("metadata",),
}


@pytest.mark.parametrize("steps", ["live", "verbose"])
@pytest.mark.parametrize("without", SERVERS.values(), ids=SERVERS)
async def test_killed_at_any_request_and_taken_up_again(without: tuple[str, ...], steps: Shown) -> None:
    for at in range(1, 20):
        async with staged(without=without) as stage:
            stage.fake.fail("*", HANG_AFTER, calls=[at])
            fell = await _until_killed(stage, steps, stage.fake.wait_for(lambda stage=stage: _hanging(stage)))
            stage.fake.heal()
            async with again(stage) as second:
                await second.play((*TURN, ANSWER), steps)
                _all_once(second, steps)
        if not fell:
            return
    raise AssertionError("a turn of so many requests?")


@pytest.mark.parametrize("steps", ["live", "verbose"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_at_any_write_of_what_was_posted(when: Literal["before", "after"], steps: Shown) -> None:
    for at in range(1, 40):
        rows = Mortal(at, when)
        async with staged(rows=rows) as stage:
            fell = await _until_killed(stage, steps, rows.dead.wait())
            rows.at = -1
            rows.dead.clear()
            async with again(stage) as second:
                await second.play((*TURN, ANSWER), steps)
                _all_once(second, steps)
        if not fell:
            return
    raise AssertionError("a turn of so many writes?")


class Mortal(Rows):
    """Its process dies at the write of this number: before it is done, or after."""

    def __init__(self, at: int, when: Literal["before", "after"]) -> None:
        super().__init__()
        self.at, self.when, self.dead = at, when, asyncio.Event()

    async def intend(self, post: Any) -> Any:
        await self._die("before")
        made = await super().intend(post)
        await self._die("after")
        return made

    async def placed(self, post: Any) -> None:
        await self._die("before")
        await super().placed(post)
        await self._die("after")

    async def _die(self, when: str) -> None:
        self.at -= when == "before"
        if self.dead.is_set() or (self.at == 0 and when == self.when):
            self.at = -1
            self.dead.set()
            await asyncio.Event().wait()


async def _until_killed(stage: Stage, steps: Shown, death: Coroutine[Any, Any, Any]) -> bool:
    """Plays a turn until the process dies, if it does: nothing of it runs any more, and nothing was put in order."""
    view = stage.view(steps)

    async def play() -> None:
        await view.begin()
        for event in TURN:
            await view.step(event)
        await view.answer(ANSWER)
        await view.close()

    before = asyncio.all_tasks()
    task, dead = asyncio.create_task(play()), asyncio.create_task(death)
    await asyncio.wait({task, dead}, return_when=asyncio.FIRST_COMPLETED)
    killed = not task.done()
    ours = [each for each in asyncio.all_tasks() - before if each.get_name().startswith("slack-s")]
    for each in (*ours, task, dead):
        each.cancel()
    await asyncio.gather(*ours, task, dead, return_exceptions=True)
    return killed


def _hanging(stage: Stage) -> bool:
    return any(entry.fault == "hang_after" and entry.answer for entry in stage.fake.journal.entries)


def _all_once(stage: Stage, steps: Shown) -> None:
    expected = LINES if steps == "verbose" else ["\n".join(LINES)]
    assert sorted(stage.shown[:]) == sorted([*expected, *(said for said in stage.shown if said.startswith("30 days."))])
    assert sum(said.startswith("30 days.") for said in stage.shown) == 1, stage.shown
    assert not any(message.streaming for message in stage.replies)


async def test_a_message_that_arrived_without_our_knowing_is_not_sent_again() -> None:
    for without in (STREAMS, ("metadata", *STREAMS)):
        async with staged(without=without) as stage:
            stage.fake.fail("chat.postMessage", CUT_AFTER)
            await stage.play((*TURN, ANSWER))
            steps_and_answer(stage)
            assert len(stage.calls("chat.postMessage")) == 2


async def test_everything_is_rate_limited_and_everything_arrives() -> None:
    for steps in ("live", "verbose", "off"):
        async with staged() as stage:
            for method in (*STREAMS, STATUS, "chat.postMessage", "chat.update", "chat.delete"):
                stage.fake.fail(method, ratelimited(1), calls=range(1, 20, 2))
            await stage.play((*TURN, ANSWER), steps)
            shown = {"live": ["\n".join(LINES)], "verbose": LINES, "off": []}[steps]
            assert stage.shown[:-1] == shown and stage.shown[-1].startswith("30 days.")


async def test_few_streams_may_be_started_a_minute_then_there_are_edits() -> None:
    async with staged() as stage:
        for _ in range(8):
            started = await stage.fake.says("C1", "U1", "?")
            await stage.slack.start_stream("C1", started, recipient="U1", recipient_team="T0TEAM")
        before = len(stage.fake.journal.calls("chat.startStream"))
        await stage.play((*TURN, ANSWER))
        steps_and_answer(stage)
        assert len(stage.fake.journal.calls("chat.startStream")) == before


async def test_an_answer_that_was_stored_and_not_shown_leaves_the_steps_as_they_are() -> None:
    async with staged() as stage:
        first = stage.view()
        await first.begin()
        for event in TURN[:3]:
            await first.step(event)
        await stage.fake.wait_for(lambda: LINES[2] in stage.text)
        await first.close()
        await stage.play([ANSWER])
        assert (
            stage.shown[0] == "\n".join(LINES[:3]) and stage.shown[1].startswith("30 days.") and len(stage.shown) == 2
        )
        assert not any(message.streaming for message in stage.replies)


async def test_a_second_attempt_with_fewer_steps_leaves_none_of_the_first() -> None:
    async with staged() as stage:
        first = stage.view("verbose")
        await first.begin()
        for event in TURN:
            await first.step(event)
        await stage.fake.wait_for(lambda: LINES[-1] in stage.text)
        await first.close()
        await stage.play((*TURN[-1:], ANSWER), "verbose")
        assert stage.shown[:-1] == LINES[-1:] and stage.shown[-1].startswith("30 days.")


async def test_a_turn_that_goes_on_elsewhere_keeps_its_message() -> None:
    async with staged(without=(STATUS,)) as stage:
        first = stage.view()
        await first.begin()
        await stage.fake.wait_for(lambda: "🧠 Thinking…" in stage.text)
        await first.close()
        assert stage.shown == ["🧠 Thinking…"] and not stage.replies[0].streaming
        await stage.play((*TURN, ANSWER))
        steps_and_answer(stage)


async def test_a_question_that_is_taken_back_takes_its_steps_with_it() -> None:
    for without in ((), STREAMS):
        async with staged(without=without) as stage:
            view = stage.view()
            await view.begin()
            await stage.step(view, TURN[0])
            await view.close()
            await view.remove()
            assert stage.shown == []


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
        await view.close()
        assert stage.status == "" and len(stage.shown) == 1 and stage.calls(STATUS)[-1]["status"] == ""


@pytest.mark.parametrize("language", ["ja", "en"])
@pytest.mark.parametrize("steps", ["live", "verbose", "off"])
async def test_where_there_is_no_status_a_message_says_so_and_becomes_the_steps(
    steps: Shown, language: Language
) -> None:
    for without in ((STATUS,), (STATUS, *STREAMS)):
        async with staged(without=without) as stage:
            view = stage.view(steps, language)
            await view.begin()
            thinking = {"ja": "🧠 考えています…", "en": "🧠 Thinking…"}[language]
            await stage.fake.wait_for(lambda said=thinking: stage.shown == [said])
            await stage.hours.advance(15)
            waited = {"ja": "🧠 考えています…（15秒）", "en": "🧠 Thinking… (15 s)"}[language]
            await stage.fake.wait_for(lambda said=waited: stage.shown == [said])
            for event in TURN:
                await view.step(event)
            await stage.fake.wait_for(lambda: steps == "off" or LINES[0] in stage.text)
            await view.answer(ANSWER)
            await view.close()
            told = lines(TURN, language)
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
        stage.fake.fail(STATUS, slow(1.2))
        view = stage.view()
        await view.begin()
        await stage.fake.wait_for(lambda: stage.shown == ["🧠 Thinking…"], timeout=1.1)
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
    yield "tables", "| a | b |\n| --- | --- |\n| {n} | x |\n\n"


@pytest.mark.parametrize("size", [10, 3_000, 13_000, 100_000])
@pytest.mark.parametrize("body", [body for _, body in _bodies()], ids=[name for name, _ in _bodies()])
async def test_an_answer_of_any_length_arrives_whole_and_in_order(body: str, size: int) -> None:
    many = max(1, size // len(body))
    text = "".join(body.replace("{n}", f"{number:05}") for number in range(many))
    async with staged() as stage:
        await stage.play([Answered(text, turn="turn-1")])
        assert [int(found) for found in re.findall(r"\d{5}", stage.text)] == list(range(many))
        assert not stage.fake.journal.errors()
        assert [_votes(message.blocks) for message in stage.replies[:-1]] == [[]] * (len(stage.replies) - 1)
        assert _votes(stage.replies[-1].blocks) == ["turn-1:up", "turn-1:down"]
        assert [post.message for post in stage.rows.of("answer")] == [message.ts for message in stage.replies]


async def test_an_empty_answer_says_so() -> None:
    for language, said in (("ja", "（回答は空でした。）"), ("en", "(The answer is empty.)")):
        async with staged() as stage:
            await stage.play([Answered(" \n", turn="turn-1")], language=language)
            assert len(stage.shown) == 1 and said in stage.shown[0]


@pytest.mark.parametrize(("outcome", "asked"), [("answered", 2), ("unknown", 2), ("failed", 0), ("declined", 0)])
async def test_who_got_an_answer_is_asked_whether_it_helped(outcome: Outcome, asked: int) -> None:
    async with staged() as stage:
        await stage.play([Answered("So it is.", outcome=outcome, turn="turn-1")])
        assert len(_votes(stage.replies[0].blocks)) == asked


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
        assert ids == [f"{VOTE}:up", f"{VOTE}:down"] and _votes(message.blocks) == ["turn-1:up", "turn-1:down"]
        assert message.shown == "30 days."


def test_a_pressed_button_is_a_vote() -> None:
    assert voted("turn-1:up") == ("turn-1", "up") and voted("a:b:down") == ("a:b", "down")
    assert [voted(value) for value in ("", ":up", "turn-1", "turn-1:sideways", "up")] == [None] * 5


async def test_nothing_that_a_document_says_calls_people_or_becomes_a_link() -> None:
    evil = "<!channel> <@U2> @everyone <https://evil.example|here> https://evil.example/?q=1 *bold* `code` &amp;"
    events = (
        Thought(evil),
        ToolCalled("1", "t", {"query": evil}),
        ToolReturned("1", "t", evil, failed=True),
        Reflected("keep", evil),
    )
    for without in ((), STREAMS):
        for steps in ("live", "verbose"):
            async with staged(without=without) as stage:
                await stage.play((*events, ANSWER), steps)
                for message in stage.replies[:-1]:
                    assert message.mentions == [] and message.urls == []


# -- cards ----------------------------------------------------------------------------------------------------------


def test_a_tool_is_at_work_until_it_returns_whatever_happens_meanwhile() -> None:
    cards: tuple[TaskCard, ...] = ()
    events: tuple[Step, ...] = (
        ToolCalled("a", "t", {}),
        ToolCalled("b", "t", {}),
        Thought("Meanwhile."),
        ToolReturned("b", "t", "x", failed=True),
        ToolReturned("a", "t", "y", (CARRIED, CARRIED)),
    )
    for event in events:
        cards = after(cards, event, "en")
    assert [card.status for card in cards] == ["complete", "error", "complete", "error", "complete"]
    assert cards[-1].sources == ((CARRIED.passage.url, "leave.md"),)
    assert {card.status for card in closed(after((), events[0], "en"))} == {"complete"}


def test_what_is_sent_once_is_not_sent_again() -> None:
    long = TaskCard("🧠 Thought: " + "x" * 600, "in_progress", sources=(("https://wiki.example", "wiki"),))
    first = chunk("1", long, None)
    assert first and first["details"] and first["sources"] and len(first["title"]) <= TITLE
    assert first["title"].removesuffix("…") + first["details"].removeprefix("…") == long.text
    (done,) = closed([long])
    assert chunk("1", done, long) == {"type": "task_update", "id": "1", "title": first["title"], "status": "complete"}
    assert chunk("1", done, done) is None


def test_a_thought_without_end_is_cut() -> None:
    (card,) = after((), Thought("考え" * 5_000), "ja")
    assert len(card.text) == STEP and card.text.endswith("…")


def _stream(stage: Stage) -> list[dict[str, Any]]:
    stream = stage.replies[0].stream
    assert stream is not None
    return stream.parts


def _votes(blocks: list[dict[str, Any]]) -> list[str]:
    """The values of all buttons in these blocks."""
    found = [element for block in blocks for element in block.get("elements", ())]
    pairs = [
        [each["positive_button"], each["negative_button"]] if "positive_button" in each else [each] for each in found
    ]
    return [button["value"] for pair in pairs for button in pair if "value" in button]
