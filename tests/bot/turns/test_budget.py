"""Limits of pace and of cost: they hold across processes and restarts, and whoever meets one is told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.events import Answered, Cost, Event
from agent.models.base import ChatModel
from agent.models.quota import OverBudgetError
from agent.sentinels import NO_ANSWER
from agent.strategies.react import Agent
from bot.errors import StoreError
from bot.logs import ChatLog, Redactor
from bot.store.conversations import Conversations
from bot.store.engine import connect, read, write
from bot.store.feedback import Votes
from bot.store.turns import TurnStore
from bot.store.usage import _PACE, AskingPace, Spent, Usage
from bot.turns.budget import Budget, BudgetLimits
from bot.turns.queue import TurnQueue
from bot.turns.turns import Answerer, Turns
from bot.types import Claimed, Incoming, Place
from retrieval.types import CollectionInfo, Readers
from tests.agent.models import gemini_calls
from tests.agent.turning import Searches
from tests.bot.acting import Clock, question
from tests.fakes.gemini import FakeGemini
from tests.fakes.gemini import Reply as Said
from tests.fakes.gemini import text as written
from tests.fakes.scripted import Reply, ScriptedModel

TODAY = date(2026, 11, 22)
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
COST = Cost(2, 1_000, 100, 50)


def noon() -> datetime:
    return NOON


def asked(n: int, *, author: str = "U1", channel: str = "C1", platform: str = "slack") -> Incoming:
    return replace(
        question(message=f"{channel}-{n}", thread=f"t{n}"), author=author, place=Place(platform, "T1", channel)
    )


async def claim(inbox: TurnQueue, *messages: Incoming) -> None:
    for message in messages:
        assert await inbox.claim(message)


@pytest.fixture
async def inbox(engine: AsyncEngine, clock: Clock) -> AsyncIterator[TurnQueue]:
    opened = TurnQueue(TurnStore(engine), clock=clock)
    yield opened
    await opened.close()


# -- what is stored -------------------------------------------------------------------------------------------------


async def test_costs_are_summed_by_day_and_model(engine: AsyncEngine) -> None:
    usage = Usage(engine)
    await usage.add({})
    await usage.add({(TODAY, "gemini:a"): COST, (TODAY, "openai:b"): COST})
    await usage.add({(TODAY, "gemini:a"): COST, (TODAY - timedelta(1), "gemini:a"): COST})
    assert await usage.of(TODAY) == COST + COST + COST
    assert await usage.of(TODAY + timedelta(1)) == Cost()
    assert await usage.by_day(TODAY) == [Spent(TODAY, "gemini:a", COST + COST), Spent(TODAY, "openai:b", COST)]
    assert len(await usage.by_day(date.min)) == 3


async def test_sums_go_beyond_32_bits(engine: AsyncEngine) -> None:
    usage = Usage(engine)
    for _ in range(2):
        await usage.add({(TODAY, "m"): Cost(1, 2**31, 2**31, 2**31)})
    assert (await usage.of(TODAY)).input_tokens == 2**32


async def test_many_processes_lose_nothing(sqlite_url: str) -> None:
    engines = [connect(sqlite_url) for _ in range(3)]
    await asyncio.gather(*(Usage(each).add({(TODAY, "m"): COST}) for each in engines * 10))
    assert (await Usage(engines[0]).of(TODAY)).calls == 30 * COST.calls
    for each in engines:
        await each.dispose()


async def test_the_pace_is_that_of_the_minute_before_a_question(
    engine: AsyncEngine, inbox: TurnQueue, clock: Clock
) -> None:
    usage = Usage(engine)
    await claim(inbox, asked(1))
    clock.now += timedelta(seconds=1)
    await claim(inbox, asked(2), asked(3, author="U2"), asked(4, channel="C2"), asked(5, platform="discord"))
    clock.now += timedelta(seconds=59)
    await claim(inbox, asked(6), asked(7))
    assert await usage.pace(asked(6)) == AskingPace(by_author=2, in_channel=2)  # the first is a minute old
    assert await usage.pace(asked(7)) == AskingPace(by_author=3, in_channel=3)
    assert await usage.pace(asked(7), each=1) == AskingPace(by_author=3, in_channel=2)
    await usage.refuse(asked(6), "user")
    await usage.refuse(asked(6), "user")
    assert await usage.pace(asked(7)) == AskingPace(by_author=2, in_channel=2)
    clock.now += timedelta(hours=1)
    assert await usage.pace(asked(7)) == AskingPace(by_author=2, in_channel=2)  # however long it has waited
    assert await usage.pace(asked(99)) == AskingPace(0, 0)


async def test_questions_of_a_clock_that_ran_ahead_slow_nobody(
    engine: AsyncEngine, inbox: TurnQueue, clock: Clock
) -> None:
    clock.now += timedelta(hours=5)
    await claim(inbox, asked(1), asked(2))
    clock.now -= timedelta(hours=5)
    await claim(inbox, asked(3), asked(4))
    assert await Usage(engine).pace(asked(4)) == AskingPace(by_author=1, in_channel=1)


async def test_only_the_last_minutes_questions_are_read(sqlite_url: str) -> None:
    engine = connect(sqlite_url)
    async with read(engine) as db:
        asked_for = str(_PACE.compile(dialect=engine.dialect))
        plan = await db.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked_for}", ("",) * asked_for.count("?"))
        steps = [row._mapping["detail"] for row in plan]
    await engine.dispose()
    assert "ix_turns_pace (platform=? AND workspace=? AND claimed_at>? AND claimed_at<?)" in steps[0]


# -- the budget of the day ------------------------------------------------------------------------------------------


def over(budget: Budget) -> bool:
    try:
        budget.check()
    except OverBudgetError:
        return True
    return False


async def test_it_counts_what_others_have_spent_and_what_is_not_stored_yet(engine: AsyncEngine) -> None:
    limits = BudgetLimits(daily_calls=10)
    one, other = (Budget(Usage(engine), limits, now=noon) for _ in range(2))
    one.add("m", Cost(calls=6))
    assert not over(one)
    one.add("m", Cost(calls=3))
    await one.close()
    assert await other.refusal(asked(1), "en") is None  # at the beginning of its turn it looks
    assert not over(other)
    other.add("m2", Cost(calls=1))
    assert over(other)
    await other.close()
    restarted = Budget(Usage(engine), limits, now=noon)
    await restarted.refusal(asked(1), "en")
    assert over(restarted)
    assert (await Usage(engine).of(TODAY)).calls == 10


@pytest.mark.parametrize("cost", [Cost(1, 1_000), Cost(1, 0, 1_000), Cost(1, 0, 0, 1_000), Cost(1, 400, 300, 300)])
async def test_all_tokens_count_also_those_of_thinking(engine: AsyncEngine, cost: Cost) -> None:
    budget = Budget(Usage(engine), BudgetLimits(daily_tokens=1_000), now=noon)
    budget.add("m", replace(cost, calls=0))
    assert over(budget)
    assert not over(Budget(Usage(engine), BudgetLimits(daily_calls=0, daily_tokens=0), now=noon))
    await budget.close()


async def test_a_new_day_has_a_new_budget(engine: AsyncEngine) -> None:
    now = [NOON]
    budget = Budget(Usage(engine), BudgetLimits(daily_calls=5), now=lambda: now[0])
    budget.add("m", Cost(calls=5))
    assert over(budget)
    await budget.close()
    now[0] += timedelta(hours=12)
    assert not over(budget)
    budget.add("m", Cost(calls=5))
    await budget.close()
    assert over(budget)
    assert [(spent.day.day, spent.cost.calls) for spent in await Usage(engine).by_day(TODAY)] == [(22, 5), (23, 5)]


async def test_a_day_that_a_clock_comes_back_to_has_what_was_spent_on_it(engine: AsyncEngine) -> None:
    now = [NOON]
    budget = Budget(Usage(engine), BudgetLimits(daily_calls=5), now=lambda: now[0])
    budget.add("m", Cost(calls=5))
    await budget.close()
    now[0] += timedelta(days=1)
    await budget.refusal(asked(1, platform="terminal"), "en")
    assert not over(budget)
    now[0] = NOON
    await budget.refusal(asked(2, platform="terminal"), "en")
    assert over(budget)


async def test_what_cannot_be_stored_is_kept_and_stored_later(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    engine = connect(sqlite_url)
    budget = Budget(Usage(engine), BudgetLimits(daily_calls=5), now=noon)
    async with write(engine) as db:
        await db.execute(text("ALTER TABLE usage RENAME TO gone"))
    budget.add("m", Cost(calls=5))
    await budget.close()
    assert "could not be stored" in caplog.text and over(budget)
    async with write(engine) as db:
        await db.execute(text("ALTER TABLE gone RENAME TO usage"))
    await budget.close()
    assert (await Usage(engine).of(TODAY)).calls == 5 and over(budget)
    await budget.close()
    assert (await Usage(engine).of(TODAY)).calls == 5
    await engine.dispose()


async def test_turns_that_end_together_share_a_write(sqlite_url: str) -> None:
    class Counted(Usage):
        writes = 0

        async def add(self, spent: dict[tuple[date, str], Cost]) -> None:  # type: ignore[override]
            self.writes += 1
            await super().add(spent)

    engine = connect(sqlite_url)
    usage = Counted(engine)
    budget = Budget(usage, now=noon)

    async def turn() -> None:
        for _ in range(4):
            budget.add("m", Cost(calls=1))
        budget.settle()

    await asyncio.gather(*(turn() for _ in range(200)))
    await budget.close()
    assert (await usage.of(TODAY)).calls == 800
    assert usage.writes <= 3
    await engine.dispose()


# -- whole turns ----------------------------------------------------------------------------------------------------


class Bot:
    """`Turns` with a budget, as the application builds them."""

    def __init__(self, engine: AsyncEngine, folder: Path, model: ChatModel, limits: BudgetLimits, clock: Clock) -> None:
        self.engine = engine
        self.budget = Budget(Usage(engine), limits, now=noon)
        self.inbox = TurnQueue(TurnStore(engine), clock=clock)
        self._model = model

        def make(claimed: Claimed, readers: Readers, infos: tuple[CollectionInfo, ...]) -> Answerer:
            rules = ScriptedModel(Reply(text=NO_ANSWER, cost=Cost()), name="extractive")
            return Agent(self.budget.model(self._model, calls=12), Searches(), fallback=rules)

        async def collections(message: Incoming, readers: Readers) -> tuple[CollectionInfo, ...]:
            return ()

        self.turns = Turns(
            self.inbox,
            Conversations(engine),
            Votes(engine),
            make_agent=make,
            list_collections=collections,
            chat_log=ChatLog(folder / "chat.log", Redactor()),
            budget=self.budget,
        )

    async def ask(self, message: Incoming) -> Answered:
        events: list[Event] = [event async for event in self.turns.reply(message)]
        last = events[-1]
        assert isinstance(last, Answered)
        return last

    async def close(self) -> None:
        await self.inbox.close()
        await self.budget.close()


Boot = Callable[..., Bot]


@pytest.fixture
async def boot(sqlite_url: str, tmp_path: Path, clock: Clock) -> AsyncIterator[Boot]:
    opened: list[tuple[AsyncEngine, Bot]] = []

    def make(model: ChatModel | None = None, **limits: int) -> Bot:
        engine = connect(sqlite_url)
        bot = Bot(engine, tmp_path, model or ScriptedModel(*[Reply(text="Hello!")] * 99), BudgetLimits(**limits), clock)
        opened.append((engine, bot))
        return bot

    yield make
    for engine, bot in opened:
        await bot.close()
        await engine.dispose()


def hello(n: int, language: str = "en", **where: str) -> Incoming:
    return replace(asked(n, **where), text="Hello!" if language == "en" else "こんにちは！")


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "You have asked 3 questions within a minute"), ("ja", "1 分間に 3 件のご質問をいただきました。お一人から")],
)
async def test_a_flood_from_one_person_is_declined_in_words_and_kept(
    boot: Boot, clock: Clock, language: str, words: str
) -> None:
    bot = boot(user_per_minute=3)
    answers = [await bot.ask(hello(n, language)) for n in range(5)]
    assert [answer.outcome for answer in answers] == ["answered"] * 3 + ["declined"] * 2
    assert answers[3].text.startswith(words)
    kept = await Conversations(bot.engine).get(answers[4].turn)
    assert kept is not None and kept.answered.text == answers[4].text
    assert (await bot.ask(hello(9, author="U2"))).outcome == "answered"
    again = boot(user_per_minute=3)  # after a restart, or in another process
    assert (await again.ask(hello(10))).outcome == "declined"
    clock.now += timedelta(seconds=60)
    assert [(await again.ask(hello(n))).outcome for n in range(20, 24)] == ["answered"] * 3 + ["declined"]


async def test_a_flood_in_a_channel_is_declined_there_alone_and_costs_nothing(boot: Boot) -> None:
    model = ScriptedModel(*[Reply(text="Hello!")] * 5)
    bot = boot(model, channel_per_minute=4)
    answers = [await bot.ask(hello(n, "ja", author=f"U{n}")) for n in range(6)]
    assert [answer.outcome for answer in answers] == ["answered"] * 4 + ["declined"] * 2
    assert answers[5].text.startswith("このチャンネルで 1 分間に 4 件")
    assert answers[5].cost == Cost()
    assert (await bot.ask(hello(9, author="U9", channel="C2"))).outcome == "answered"
    assert model.finished


async def test_a_flooder_does_not_use_up_the_channel_for_others(boot: Boot) -> None:
    bot = boot(user_per_minute=10, channel_per_minute=12)
    flood = [hello(n) for n in range(40)]
    answers = await asyncio.gather(*(bot.ask(message) for message in (*flood, hello(40, author="U2"))))
    assert [answer.outcome for answer in answers] == ["answered"] * 10 + ["declined"] * 30 + ["answered"]


async def test_50_at_once_are_judged_in_the_order_they_came(boot: Boot) -> None:
    bot = boot(user_per_minute=10)
    answers = await asyncio.gather(*(bot.ask(hello(n)) for n in range(50)))
    assert [answer.outcome for answer in answers] == ["answered"] * 10 + ["declined"] * 40


@pytest.mark.parametrize("platform", ["terminal", "api", "web"])
async def test_whoever_runs_it_is_not_slowed(boot: Boot, platform: str) -> None:
    bot = boot(user_per_minute=1, channel_per_minute=1)
    assert [(await bot.ask(hello(n, platform=platform))).outcome for n in range(3)] == ["answered"] * 3


async def test_0_is_no_limit(boot: Boot) -> None:
    bot = boot(user_per_minute=0, channel_per_minute=0, daily_calls=0, daily_tokens=0)
    assert {(await bot.ask(hello(n))).outcome for n in range(31)} == {"answered"}


@pytest.mark.parametrize(
    ("language", "note"),
    [
        ("en", "(Written without the language model: today’s budget for it is used up.)"),
        ("ja", "（言語モデルの本日の利用枠を使い切ったため、言語モデルを使わずに回答しています。）"),
    ],
)
async def test_over_the_days_budget_answers_go_on_without_the_model_and_say_so(
    boot: Boot, language: str, note: str
) -> None:
    async with FakeGemini(*[Said((written("Hello!"),))] * 2) as gemini:
        using = gemini_calls.model(gemini)
        bot = boot(using, daily_calls=2)
        for n in range(2):
            answer = await bot.ask(hello(n, language))
            assert (answer.text, answer.model) == ("Hello!", using.name)
        answer = await bot.ask(hello(3, language))
        assert answer.model == "extractive" and note in answer.text
        await bot.close()
        again = boot(using, daily_calls=2)
        assert note in (await again.ask(hello(4, language))).text
        await using.close()
    assert len(gemini.journal) == 2
    assert [spent.model for spent in await Usage(bot.engine).by_day(TODAY)] == [using.name]


async def test_without_its_database_a_question_is_not_lost_in_silence(boot: Boot) -> None:
    bot = boot()
    async with write(bot.engine) as db:
        await db.execute(text("ALTER TABLE usage RENAME TO gone"))
    answer = await bot.ask(hello(1))
    assert answer.outcome == "failed" and answer.text.startswith("Sorry, I could not answer.")
    with pytest.raises(StoreError):
        await Usage(bot.engine).of(TODAY)
