"""One answer whatever the agent, the consumer, the process or the database does; and never two."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from sqlalchemy import event as database_event
from sqlalchemy import func, select

from agent.conversation import Ask
from agent.events import Answered, Events, Thought
from bot.errors import SettingsError, StoreError
from bot.store.conversations import Conversations
from bot.store.engine import connect, read
from bot.store.schema import turns as turn_table
from bot.store.turns import LATER, PATIENCE, SOON, TurnStore
from bot.store.unanswered import UnansweredQuestions
from bot.turns.queue import LEASE, QUEUE, TurnQueue
from bot.turns.turns import GRACE_SECONDS, TRIES
from bot.types import Claimed
from retrieval.i18n import Text
from retrieval.types import CollectionInfo, RAGToolError, Readers
from tests.bot.acting import (
    ANSWER,
    PUBLIC,
    STEPS,
    UNKNOWN,
    Act,
    Agent,
    Clock,
    Start,
    fails,
    question,
    says,
)
from tests.fakes.postgresql import behind

# -- never silent ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["ja", "en"])
@pytest.mark.parametrize(
    ("act", "ja", "en"),
    [
        (fails(RuntimeError("secret internals")), "こちらの問題で", "something went wrong"),
        (fails(ValueError("x"), *STEPS), "こちらの問題で", "something went wrong"),
        (fails(RAGToolError(Text(en="The index is away.", ja="索引が使えません。"))), "索引が使えません。", "The index is away."),
        (fails(SettingsError(Text(en="No such model.", ja="そのモデルはありません。"))), "そのモデルはありません。", "No such model."),
        (fails(TimeoutError()), "こちらの問題で", "something went wrong"),
        (fails(asyncio.CancelledError()), "こちらの問題で", "something went wrong"),
        (says(), "こちらの問題で", "something went wrong"),
        (says(*STEPS), "こちらの問題で", "something went wrong"),
    ],
)  # fmt: skip
async def test_whatever_the_agent_does_there_is_one_answer(
    start: Start, act: Act, ja: str, en: str, language: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bot = start(act, says(ANSWER))
    given = await bot.answer(question(language=language))
    assert given.outcome == "failed"
    assert (ja if language == "ja" else en) in given.text
    assert given.turn[:8] in given.text and "internals" not in given.text
    assert given.turn in [getattr(record, "turn", None) for record in caplog.records if record.exc_info]
    assert await bot.states() == [("done", 1)]
    assert (await UnansweredQuestions(bot.engine).open(PUBLIC)).total == 0  # an outage is no miss
    assert await bot.answer(question(message="2")) == ANSWER  # the thread goes on


async def test_an_agent_that_cannot_be_made_is_an_apology(start: Start) -> None:
    bot = start()

    def broken(claimed: Claimed, readers: Readers, collections: tuple[CollectionInfo, ...]) -> Agent:
        raise SettingsError(Text(en="KOTAE_MODEL names no model.", ja="KOTAE_MODEL のモデルはありません。"))

    bot.turns._make_agent = broken
    assert "KOTAE_MODEL のモデル" in (await bot.answer(question())).text


async def test_what_the_agent_says_after_its_answer_is_not_heard(start: Start) -> None:
    bot = start(says(ANSWER, Thought("もう一つ"), UNKNOWN))
    assert await bot.ask(question()) == [ANSWER]


async def test_an_agent_that_hangs_is_ended_at_its_deadline(start: Start) -> None:
    async def hangs(ask: Ask) -> Events:
        yield STEPS[0]
        await asyncio.Event().wait()

    bot = start(hangs, deadline=-GRACE_SECONDS + 0.2)
    loop = asyncio.get_running_loop()
    began = loop.time()
    given = await bot.answer(question())
    assert loop.time() - began < 5
    assert given.outcome == "failed" and "制限時間" in given.text


async def test_the_agent_knows_its_deadline(start: Start) -> None:
    bot = start(says(ANSWER), deadline=60)
    now = asyncio.get_running_loop().time()
    await bot.ask(question())
    deadline = bot.agent.asks[0].deadline
    assert deadline is not None and 59 < deadline - now < 90


async def test_a_question_too_many_is_declined_at_once(start: Start) -> None:
    running, release = asyncio.Event(), asyncio.Event()

    async def slow(ask: Ask) -> Events:
        running.set()
        await release.wait()
        yield ANSWER

    bot = start(slow, *[says(ANSWER)] * QUEUE)
    first = asyncio.create_task(bot.ask(question(message="first")))
    await running.wait()
    waiting = [await bot.turns.claim(question(message=str(number))) for number in range(QUEUE)]
    given = await bot.answer(question(message="too many"))
    assert given.outcome == "declined" and "順番待ち" in given.text
    assert len(bot.agent.asks) == 1
    release.set()
    assert await first == [ANSWER]
    for turn in waiting:
        assert turn is not None
        assert [event async for event in bot.turns.run(turn)] == [ANSWER]


# -- consumers that end early, processes that die -------------------------------------------------------------------


async def test_a_reply_that_nobody_reads_to_its_end_is_not_lost(start: Start) -> None:
    bot = start(says(*STEPS, ANSWER), says(ANSWER))
    async with aclosing(bot.turns.reply(question())) as events:
        assert await anext(events) == STEPS[0]
    assert await bot.turns.unfinished("slack") == [question()]
    assert await bot.answer(question()) == ANSWER
    assert await bot.turns.unfinished("slack") == []
    assert await bot.states() == [("done", 2)]


async def test_a_cancelled_reply_is_not_lost(start: Start) -> None:
    reached = asyncio.Event()

    async def hangs(ask: Ask) -> Events:
        reached.set()
        await asyncio.Event().wait()
        yield ANSWER

    bot = start(hangs, says(ANSWER))
    task = asyncio.create_task(bot.ask(question()))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (message,) = await bot.turns.unfinished("slack")
    assert await bot.answer(message) == ANSWER


async def test_an_answer_that_could_not_be_posted_is_given_again_without_thinking_again(start: Start) -> None:
    bot = start(says(*STEPS, ANSWER))

    async def post_fails() -> None:
        async with aclosing(bot.turns.reply(question())) as events:
            async for event in events:
                if isinstance(event, Answered):
                    raise ConnectionError

    with pytest.raises(ConnectionError):
        await post_fails()
    (message,) = await bot.turns.unfinished("slack")
    assert await bot.ask(message) == [ANSWER]
    assert len(bot.agent.asks) == 1
    assert await bot.turns.unfinished("slack") == []


async def test_an_answer_that_its_platform_does_not_take_is_given_later_and_at_last_given_up(
    start: Start, clock: Clock
) -> None:
    bot, asked = start(says(ANSWER)), clock.now

    async def refuse() -> None:
        for _ in range(2 * TRIES):
            async with aclosing(bot.turns.reply(question())) as events:
                assert await anext(events) == ANSWER
        assert await bot.ask(question()) == []

    waits: list[timedelta] = []
    while clock.now - asked < 2 * PATIENCE:
        await refuse()
        begun = clock.now
        while not (left := await bot.turns.unfinished("slack")) and clock.now - begun < LATER:
            clock.now += SOON / 4
        if not left:
            break
        waits.append(clock.now - begun)
    assert waits[0] == SOON and waits == sorted(waits) and waits[-1] == LATER
    assert PATIENCE < clock.now - asked < PATIENCE + 3 * LATER
    assert [state for state, _ in await bot.states()] == ["done"] and len(bot.agent.asks) == 1


async def test_an_answer_that_its_platform_takes_again_is_shown(start: Start, clock: Clock) -> None:
    bot = start(says(ANSWER))
    for _ in range(2 * TRIES):
        async with aclosing(bot.turns.reply(question())) as events:
            assert await anext(events) == ANSWER
    assert await bot.ask(question()) == [] == await bot.turns.unfinished("slack")
    clock.now += SOON
    (message,) = await bot.turns.unfinished("slack")
    assert await bot.ask(message) == [ANSWER]
    clock.now += PATIENCE
    assert await bot.turns.unfinished("slack") == [] and len(bot.agent.asks) == 1


async def test_a_turn_that_ends_its_process_twice_ends_in_an_apology(start: Start, clock: Clock) -> None:
    for _ in range(TRIES):
        dying = start(says(*STEPS, ANSWER))
        events = dying.turns.reply(question())
        assert await anext(events) == STEPS[0]
        await dying.inbox.close()
        dying.turns._inbox = TurnQueue(TurnStore(dying.engine), owner="nobody")  # the dead give nothing back
        await events.aclose()
        clock.now += LEASE
    alive = start()
    (message,) = await alive.turns.unfinished("slack")
    given = await alive.answer(message)
    assert given.outcome == "failed" and "2 回中断" in given.text
    assert alive.agent.asks == []


async def test_a_turn_that_another_process_took_over_is_answered_once(start: Start, clock: Clock) -> None:
    slow = start(says(STEPS[0], ANSWER))
    events = slow.turns.reply(question())
    assert await anext(events) == STEPS[0]
    clock.now += LEASE  # it was stopped for that long, and does not know
    other = start(says(UNKNOWN))
    assert await other.answer(question()) == UNKNOWN
    assert [event async for event in events] == []


# -- a database that cannot store -----------------------------------------------------------------------------------


async def test_a_question_that_cannot_be_stored_is_answered_in_words(
    start: Start, sqlite_url: str, tmp_path: Path
) -> None:
    locked = connect(f"sqlite+aiosqlite:///file:{tmp_path / 'kotae.db'}?mode=ro&uri=true")
    bot = start(says(ANSWER), on=locked)
    with pytest.raises(StoreError):
        await bot.turns.claim(question())
    given = await bot.answer(question())
    assert given.outcome == "failed" and "読み取り専用" in given.text
    assert bot.agent.asks == []
    await locked.dispose()


async def test_an_answer_that_cannot_be_stored_is_an_apology_and_stored_later(
    start: Start, sqlite_url: str, tmp_path: Path
) -> None:
    engine = connect(sqlite_url)
    full = {"disk": False}

    @database_event.listens_for(engine.sync_engine, "begin")
    def disk(connection: Any) -> None:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages if full['disk'] else 1_000_000}")

    async def fills_up(ask: Ask) -> Events:
        full["disk"] = True
        yield replace(ANSWER, text="長い。" * 20_000)

    bot = start(fills_up, on=engine)
    given = await bot.answer(question())
    assert given.outcome == "failed" and "空き容量" in given.text and "長い" not in given.text
    assert (await bot.states())[0][0] == "running"
    assert await bot.ask(question()) == []  # still held: no second answer
    full["disk"] = False
    await bot.inbox._once()  # the heartbeat
    assert await bot.states() == [("done", 1)]
    kept = await Conversations(engine).get(given.turn)
    assert kept is not None and kept.answered == given
    await engine.dispose()


async def test_an_answer_whose_commit_is_not_heard_of_is_given_and_no_apology(start: Start, server_url: str) -> None:
    with TemporaryDirectory(prefix="kotae-") as folder:  # a short path, for a socket
        async with behind(server_url, Path(folder)) as (url, network):
            engine = connect(url)

            async def loses(ask: Ask) -> Events:
                network.loses_commit = True
                yield ANSWER

            bot = start(loses, loses, on=engine)
            for message in ("1", "2"):
                assert await bot.answer(question(message=message)) == ANSWER
                assert not network.loses_commit
            assert await bot.states() == [("done", 1)] * 2 and not await bot.inbox.unfinished("slack")
            await engine.dispose()


async def test_nothing_of_a_turn_is_stored_by_halves(start: Start, sqlite_url: str) -> None:
    """Killed between the statements of `finish`: the answer and its miss are there together or not at all."""
    engine = connect(sqlite_url)

    @database_event.listens_for(engine.sync_engine, "before_cursor_execute")
    def cut(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        if statement.startswith("INSERT INTO questions"):
            raise OSError("the connection is gone")

    bot = start(says(UNKNOWN), on=engine)
    assert (await bot.answer(question())).outcome == "failed"
    await bot.inbox._once()
    assert (await bot.states())[0][0] == "done"
    async with read(engine) as db:
        assert await db.scalar(select(func.count()).select_from(turn_table)) == 1
    await engine.dispose()
