"""A question's life from `reply` to what is stored, its misses and its votes."""

import asyncio
import io
import json
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from agent.conversation import Ask, Exchange
from agent.events import Answered, Citation, Events, Thought, ToolReturned
from bot.logs import set_up
from bot.records import DocumentRow
from bot.store.conversations import MAX_CHARACTERS, MAX_EXCHANGES, Conversations
from bot.store.documents import Documents
from bot.store.engine import connect, read
from bot.store.feedback import Votes
from bot.store.traces import Traces
from bot.store.unanswered import UnansweredQuestions
from bot.store.vector_stores import VectorStores
from bot.turns.admission import Admission
from bot.types import Feedback, Place
from retrieval.types import TEAM, Hit, Passage, Readers
from tests.bot.acting import (
    ANSWER,
    HANDBOOK,
    PUBLIC,
    STEPS,
    UNKNOWN,
    Bot,
    Start,
    fails,
    question,
    says,
)
from tests.bot.store.closing import resolve

# -- the ordinary turn ----------------------------------------------------------------------------------------------


async def test_a_turn_gives_its_steps_and_one_answer_and_keeps_them(start: Start) -> None:
    bot = start(says(*STEPS, ANSWER))
    events = await bot.ask(question())
    assert events == [*STEPS, ANSWER]
    answered = events[-1]
    assert isinstance(answered, Answered) and answered.turn and answered.seconds > 0
    assert await bot.states() == [("done", 1)]
    kept = await Conversations(bot.engine).get(answered.turn)
    assert kept is not None
    assert kept.asked == question()
    assert kept.answered == answered
    assert (kept.answered.cost, kept.answered.searched, kept.answered.confidence) == (ANSWER.cost, ("handbook",), 0.8)
    trace = await Traces(bot.engine).of(answered.turn)
    assert [row.kind for row in trace] == ["began", "thought", "tool_call", "tool_result", "answer"]
    totals = await Conversations(bot.engine).totals()
    assert (totals.turns, totals.outcomes, totals.cost) == (1, {"answered": 1}, ANSWER.cost)
    assert (await UnansweredQuestions(bot.engine).open(PUBLIC)).total == 0
    assert await Conversations(bot.engine).get("nobody") is None


@pytest.mark.usefixtures("logging_as_it_was")
async def test_the_chat_log_has_the_dialogue_and_the_log_has_none_of_it(start: Start) -> None:
    stream = io.StringIO()
    set_up("DEBUG", stream=stream)
    bot = start(says(*STEPS, ANSWER), fails(RuntimeError("broken")))
    await bot.ask(question())
    await bot.ask(question("合言葉はひまわりですか？", "2"))
    entries = [json.loads(line) for line in bot.log.read_text(encoding="utf-8").splitlines()]
    assert [entry["type"] for entry in entries] == [
        "question", "thought", "tool_call", "tool_result", "answer", "question", "answer",
    ]  # fmt: skip
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    ended = [line for line in lines if line["message"] == "turn ended"]
    assert [(line["outcome"], line["steps"]) for line in ended] == [("answered", 3), ("failed", 0)]
    assert [line["message"] for line in lines if line["level"] == "ERROR"] == ["turn failed"]
    assert not any(text in stream.getvalue() for text in ("経費", "25日", "ひまわり", '"C1"', '"U1"'))


@pytest.mark.parametrize("change", ["forgotten", "narrowed"])
async def test_what_is_withdrawn_between_the_last_check_and_the_store_is_not_quoted(
    start: Start, sqlite_url: str, change: str
) -> None:
    engine = connect(sqlite_url)
    documents = Documents(engine, "e5")
    await VectorStores(engine).open("e5", 384, "t1")
    now, names = datetime.now(UTC), ("plan.md", "pier.md")
    plan, pier = (
        DocumentRow(name[:2] * 16, "docs", TEAM, name, name, None, "h", "m", 1, "en", "U1", at, now, now)
        for at, name in enumerate(names, start=1)
    )
    for at, row in enumerate((plan, pier), start=1):
        await documents.commit(row, generation=at)
    hits = tuple(Hit(Passage("docs", row.id, row.name, 0, "text", TEAM), {}, 0.9) for row in (plan, pier))
    about = enumerate((plan, pier), start=1)
    cited = tuple(Citation(n, row.name, "docs", 0, f"Of {row.name}.", document_id=row.id) for n, row in about)

    async def act(ask: Ask) -> Events:
        yield ToolReturned("1", "search", "2 passages", hits)
        yield Thought("The plan says May.")
        if change == "forgotten":
            await documents.forget(plan.id, generation=3)
        else:
            await documents.commit(plan.with_(scope="place:slack:T1:C9"), generation=3)
        yield Answered("In May. [1]\n\nAt seven. [2]", cited)

    bot = start(act, on=engine, readable=documents.readable)
    answered = await bot.answer(question())
    kept = await Conversations(engine).get(answered.turn)
    assert kept is not None
    for one in (answered, kept.answered):
        assert "May" not in one.text and "At seven. [2]" in one.text and one.citations == cited[1:]
    assert "May" not in str(await Traces(engine).of(answered.turn))
    await engine.dispose()


async def test_a_document_that_was_only_found_and_went_meanwhile_leaves_the_trace(
    start: Start, sqlite_url: str
) -> None:
    hit = Hit(Passage("docs", "p" * 32, "plan.md", 0, "text", TEAM), {}, 0.9)

    async def act(ask: Ask) -> Events:
        yield ToolReturned("1", "search", "1 passage", (hit,))
        yield Thought("The plan says May, which nobody asked for.")
        yield Answered("Of other things.")

    async def readable(documents: Collection[str], readers: Readers) -> Collection[str]:
        return ()

    engine = connect(sqlite_url)
    bot = start(act, on=engine, readable=readable)
    answered = await bot.answer(question())
    assert answered.text == "Of other things." and "May" not in str(await Traces(engine).of(answered.turn))
    await engine.dispose()


async def test_a_duplicate_gives_nothing(start: Start) -> None:
    bot = start(says(ANSWER))
    await bot.ask(question())
    assert await bot.ask(question()) == []
    assert await bot.turns.claim(question()) is None
    assert len(bot.agent.asks) == 1


async def test_claimed_first_and_run_after_the_acknowledgement(start: Start) -> None:
    bot = start(says(ANSWER))
    claimed = await bot.turns.claim(question())
    assert claimed is not None
    assert await bot.ask(question()) == []
    assert [event async for event in bot.turns.run(claimed)] == [ANSWER]


async def test_when_many_ask_the_asker_is_told_and_then_served_or_turned_away_at_once(start: Start) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def waits(ask: Ask) -> Events:
        begun.set()
        await go.wait()
        yield ANSWER

    bot = start(waits, says(*STEPS, ANSWER), admission=Admission(1, waiting=1))
    first = asyncio.ensure_future(bot.ask(question(message="1", thread="1")))
    await begun.wait()
    waiting = bot.turns.reply(question("When is it due?", message="2", thread="2"))
    assert await anext(waiting) == Thought(
        "Many people are asking at the moment: 1 before this one. It keeps its place."
    )
    turned_away = await bot.answer(question(message="3", thread="3"))
    assert turned_away.outcome == "declined" and "お受けできません" in turned_away.text
    go.set()
    assert [event async for event in waiting] == [*STEPS, ANSWER]
    assert (await first)[-1] == ANSWER
    assert await bot.states() == [("done", 1)] * 3


async def test_more_turns_than_connections_are_all_answered(start: Start, sqlite_url: str) -> None:
    engine = connect(sqlite_url, connections=2, patience=0.01)
    bot = start(*(says(*STEPS, ANSWER) for _ in range(80)), on=engine)
    answers = await asyncio.gather(*(bot.answer(question(message=str(n), thread=f"t{n}")) for n in range(80)))
    assert {answer.outcome for answer in answers} == {"answered"}
    assert await bot.states() == [("done", 1)] * 80
    await engine.dispose()


async def test_an_asker_is_told_when_the_database_keeps_a_turn_waiting(start: Start, sqlite_url: str) -> None:
    engine = connect(sqlite_url, connections=2)
    bot = start(says(ANSWER), sign=0.01, on=engine)
    async with read(engine), asyncio.timeout(30):  # the only place of a reader
        events = bot.turns.reply(question())
        assert await anext(events) == Thought(
            "ただいま混み合っているため、少し時間がかかっています。順番にお答えします。"
        )
    rest = [event async for event in events]
    assert isinstance(rest[-1], Answered) and rest[-1].outcome == "answered"
    await engine.dispose()


@pytest.mark.parametrize(
    ("visibility", "scopes"),
    [
        ("public", {"everyone", "team"}),
        ("private", {"everyone", "team", "place:slack:T1:C1"}),
        ("outsiders", {"everyone"}),
        ("unknown", {"everyone"}),
    ],
)
async def test_the_agent_is_bound_to_the_readers_of_the_place(start: Start, visibility: str, scopes: set[str]) -> None:
    bot = start(says(ANSWER))
    await bot.ask(question(visibility=visibility))
    assert bot.agent.readers == [Readers(frozenset({*scopes, "thread:slack:T1:C1:t"}))]
    assert bot.agent.asks[0].collections == (HANDBOOK,)
    assert bot.agent.asks[0].reaches_team == ("team" in scopes)


async def test_earlier_turns_of_the_thread_are_the_conversation(start: Start) -> None:
    failed = replace(ANSWER, outcome="failed")
    bot = start(says(ANSWER), says(failed), says(UNKNOWN), says(ANSWER), says(ANSWER), says(ANSWER))
    for number, text in enumerate(("一つ目？", "失敗？", "三つ目？"), start=1):
        await bot.ask(question(text, str(number)))
    await bot.ask(question("別のスレッド", "4", thread="other"))
    await bot.ask(question("続き", "5"))
    await bot.ask(replace(question("別の場所", "6"), place=Place("slack", "T1", "C2")))
    assert bot.agent.asks[4].history == (Exchange("一つ目？", ANSWER.text), Exchange("三つ目？", UNKNOWN.text))
    assert [bot.agent.asks[number].history for number in (0, 3, 5)] == [(), (), ()]
    assert len(await conversation(bot)) == 3


async def conversation(bot: Bot) -> tuple[Exchange, ...]:
    asked = question()
    return await Conversations(bot.engine).history(asked.place, asked.thread, Readers(frozenset(PUBLIC)))


async def test_a_long_conversation_is_bounded(start: Start) -> None:
    bot = start(*[says(Answered("短い。"))] * 14, *[says(Answered("x" * 3000))] * 3)
    for number in range(17):
        await bot.ask(question(f"質問{number}", str(number)))
    assert [exchange.question for exchange in bot.agent.asks[13].history] == [
        f"質問{number}" for number in range(13 - MAX_EXCHANGES, 13)
    ]
    assert [exchange.question for exchange in await conversation(bot)] == ["質問15", "質問16"]


async def test_after_a_long_log_its_question_and_answer_are_still_the_conversation(start: Start) -> None:
    bot = start(says(replace(ANSWER, text="a" * 20_000)), says(ANSWER))
    await bot.ask(question("INFO step ok\n" * 1_000 + "どう直しますか？", "1"))
    await bot.ask(question("そのあとは？", "2"))
    ((asked, answered),) = ((one.question, one.answer) for one in bot.agent.asks[1].history)
    assert asked.startswith("INFO step ok") and asked.endswith("どう直しますか？") and len(asked) == MAX_CHARACTERS // 4
    assert answered.startswith("aaa") and len(answered) == MAX_CHARACTERS // 2


@pytest.mark.parametrize(
    ("texts", "hint", "language"),
    [
        (["When?"], None, "en"),
        (["いつ？"], None, "ja"),
        (["When?"], "ja", "ja"),
        (["???"], None, "en"),
        (["経費の締切は？", "???"], None, "ja"),
        (["経費の締切は？", "When exactly?", "👍 123"], None, "en"),
        (["経費の締切は？", "Wi-Fi?"], None, "ja"),
        (["経費の締切は？", "E-4071"], None, "ja"),
        (["経費の締切は？", "Thanks!"], None, "en"),
        (["経費の締切は？", "Why?"], None, "en"),
        (["When is it due?", "Wi-Fi?"], None, "en"),
        (["Wi-Fi?"], None, "en"),
        (["> 締切は月末までです。\nDoes this hold in Osaka?"], None, "en"),
        (["「承認ルートが設定されていません」: what does this mean?"], None, "en"),
        (["「承認ルートが設定されていません」"], None, "ja"),
        (["```\nERROR: the lease is held by another ship\n```\n何？"], None, "ja"),
    ],
)
async def test_the_language_of_a_turn(start: Start, texts: list[str], hint: Any, language: str) -> None:
    bot = start(*[says(ANSWER)] * 3)
    for number, text in enumerate(texts):
        await bot.ask(question(text, str(number), language=hint))
    assert bot.agent.asks[-1].language == language


# -- misses and votes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "reasons"),
    [
        (ANSWER, []),
        (UNKNOWN, ["unknown"]),
        (replace(ANSWER, unsure=True, model="gemini:gemini-3.8-flash"), ["low_confidence"]),
        (replace(ANSWER, unsure=True), []),  # without a model
        (replace(UNKNOWN, model="extractive"), ["unknown"]),
        (replace(ANSWER, confidence=0.01), []),
        (replace(ANSWER, outcome="declined", unsure=True), []),
        (replace(ANSWER, outcome="failed", unsure=True), []),
    ],
)
async def test_what_is_a_miss(start: Start, answer: Answered, reasons: list[str]) -> None:
    bot = start(says(answer))
    given = await bot.answer(question())
    found = (await UnansweredQuestions(bot.engine).open(PUBLIC)).questions
    assert [miss.reason for miss in found] == reasons
    for miss in found:
        assert (miss.turn, miss.question, miss.link) == (given.turn, "経費の締切は？", "https://l")
        assert (miss.searched, miss.confidence) == (answer.searched, answer.confidence)


async def test_a_miss_of_a_private_place_is_a_count_elsewhere(start: Start) -> None:
    bot = start(*[says(UNKNOWN)] * 3)
    await bot.ask(question("公開", "1"))
    await bot.ask(question("内緒", "2", visibility="private"))
    await bot.ask(question("社外", "3", visibility="outsiders"))
    misses = UnansweredQuestions(bot.engine)
    seen = await misses.open(PUBLIC)
    assert [miss.question for miss in seen.questions] == ["公開"]
    assert (seen.shown, seen.hidden, seen.total) == (1, 2, 3)
    there = await misses.open((*PUBLIC, "place:slack:T1:C1"), limit=2)
    assert [miss.question for miss in there.questions] == ["社外", "内緒"]
    assert (there.shown, there.hidden) == (3, 0)
    hidden = [miss.id for miss in there.questions]
    assert await misses.get(hidden, PUBLIC) == []
    assert await resolve(bot.engine, hidden, PUBLIC) == 0
    assert await resolve(bot.engine, [seen.questions[0].id], PUBLIC) == 1
    assert await resolve(bot.engine, [seen.questions[0].id], PUBLIC) == 0
    assert (await misses.open(PUBLIC)).total == 2


async def test_a_thumbs_down_is_a_miss_while_it_stands(start: Start) -> None:
    bot = start(says(ANSWER))
    turn = (await bot.answer(question(visibility="private"))).turn
    misses, votes = UnansweredQuestions(bot.engine), Votes(bot.engine)
    place = "place:slack:T1:C1"

    async def reported() -> list[tuple[str, str, str]]:
        found = (await misses.open((place,))).questions
        return [(miss.reason, miss.detail, miss.question) for miss in found]

    assert await bot.turns.vote(Feedback(turn, "U2", "up"))
    assert await reported() == []
    assert await bot.turns.vote(Feedback(turn, "U2", "down", "outdated", "去年の値です"))
    assert await reported() == [("reported", "outdated: 去年の値です", "経費の締切は？")]
    assert await bot.turns.vote(Feedback(turn, "U2", "down")) == "unchanged"  # a reaction after the form, say
    assert await reported() == [("reported", "outdated: 去年の値です", "経費の締切は？")]
    assert await bot.turns.vote(Feedback(turn, "U2", "down", "wrong")) == "changed"  # once a person
    assert await bot.turns.vote(Feedback(turn, "U3", "down", None, "足りない", datetime(2999, 1, 1, tzinfo=UTC)))
    assert await reported() == [("reported", "wrong\n足りない", "経費の締切は？")]
    assert await votes.counts() == {"up": 0, "down": 2}
    assert [(vote.author, vote.vote, vote.reason) for vote in await votes.of(turn)] == [
        ("U2", "down", "wrong"), ("U3", "down", None),
    ]  # fmt: skip
    assert await bot.turns.vote(Feedback(turn, "U2", "up"))
    assert await reported() == [("reported", "足りない", "経費の締切は？")]
    assert await bot.turns.vote(Feedback(turn, "U3", None))
    assert await reported() == []
    assert await votes.counts() == {"up": 1, "down": 0}
    assert await bot.turns.vote(Feedback("no such turn", "U2", "down")) is None


async def test_a_report_that_was_resolved_stays_resolved(start: Start) -> None:
    bot = start(says(ANSWER))
    turn = (await bot.answer(question())).turn
    misses = UnansweredQuestions(bot.engine)
    await bot.turns.vote(Feedback(turn, "U2", "down", "wrong"))
    (miss,) = (await misses.open(PUBLIC)).questions
    await resolve(bot.engine, [miss.id], PUBLIC)
    await bot.turns.vote(Feedback(turn, "U2", None))
    (kept,) = await misses.get([miss.id], PUBLIC)
    assert kept.resolved_at is not None and kept.detail == "wrong"


@pytest.mark.parametrize("author", ["U2", "U3"])
async def test_a_complaint_about_a_report_that_was_resolved_opens_it_again(start: Start, author: str) -> None:
    """Whoever votes so is told that it goes to people who can answer it."""
    bot = start(says(ANSWER))
    turn = (await bot.answer(question())).turn
    misses, before = UnansweredQuestions(bot.engine), datetime.now(UTC)
    await bot.turns.vote(Feedback(turn, "U2", "down", "wrong"))
    (miss,) = (await misses.open(PUBLIC)).questions
    await resolve(bot.engine, [miss.id], PUBLIC)
    await bot.turns.vote(Feedback(turn, "U4", "up"))
    assert not (await misses.open(PUBLIC)).questions
    await bot.turns.vote(Feedback(turn, author, "down", "outdated"))
    ((again,), _, _) = await misses.asked_between(PUBLIC, before, datetime.now(UTC), limit=9)
    assert again.question.id == miss.id and again.question.detail.endswith("outdated")
