"""Second tries and the breaker, in virtual time; and over the wire, with both real clients."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent.events import Answered
from agent.model_call import speak
from agent.models.base import (
    ChatModel,
    Effort,
    Message,
    ModelBlocked,
    ModelBusy,
    ModelError,
    ModelMessage,
    ModelProtocolError,
    ModelUnavailable,
    Part,
    TextPart,
    ThoughtPart,
    Tool,
    UserMessage,
    deadline,
    due,
)
from agent.models.retry import FREE_RETRIES, RETRY_SHARE, Breaker, RetryBudget, RetryingModel
from agent.sentinels import NO_ANSWER
from agent.strategies.react import Agent
from tests.agent.models import gemini_calls, openai_calls
from tests.agent.models.gemini_calls import ASKED, SYSTEM
from tests.agent.turning import Searches, answer_of, asking
from tests.fakes import gemini as google
from tests.fakes import openai
from tests.fakes.gemini import FakeGemini
from tests.fakes.openai import FakeOpenAI
from tests.fakes.scripted import Reply, ScriptedModel

YES = Reply(text="Yes.")


@dataclass
class Time:
    """A clock that only sleeping moves."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def retrying(model: ChatModel, time: Time, chance: Callable[[], float] = lambda: 0.5, **more: Any) -> RetryingModel:
    return RetryingModel(model, clock=time, sleep=time.sleep, chance=chance, **more)


async def said(model: ChatModel) -> list[Part]:
    return [part async for part in model.converse((SYSTEM, ASKED))]


async def fails(model: ChatModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await said(model)
    return caught.value


class Breaking:
    """A model whose stream breaks after `parts`, each time it is asked; then it says yes."""

    name = "breaking"
    thinks = False
    tools = None

    def __init__(self, *parts: Part, times: int = 1) -> None:
        self._parts = parts
        self._times = times
        self.asked = 0

    async def converse(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        schema: Mapping[str, Any] | None = None,
        effort: Effort | None = None,
    ) -> AsyncIterator[Part]:
        self.asked += 1
        for part in self._parts:
            yield part
        if self.asked <= self._times:
            raise ModelUnavailable("connection reset", "down")
        yield ModelMessage("Yes.")


# -- second tries ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [ModelBusy("429"), ModelUnavailable("503"), ModelUnavailable("408", "timeout")])
async def test_what_may_pass_is_tried_again_and_given_on_as_one_reply(failure: ModelError) -> None:
    time = Time()
    model = ScriptedModel(failure, failure, Reply(thought="Hm.", text="Yes."))
    assert await said(retrying(model, time)) == [
        ThoughtPart("Hm."),
        TextPart("Yes."),
        ModelMessage("Yes."),
    ]
    assert time.slept == [0.5, 1.0]  # half of 1 and of 2 s


@pytest.mark.parametrize(
    "failure",
    [
        ModelBusy("quota of the day", 3600),
        ModelUnavailable("401", "key"),
        ModelUnavailable("404", "model"),
        ModelBlocked("SAFETY"),
        ModelProtocolError("MALFORMED_FUNCTION_CALL"),
    ],
)
async def test_what_will_not_pass_is_not(failure: ModelError) -> None:
    time, model = Time(), ScriptedModel(failure, YES)
    assert await fails(retrying(model, time)) is failure
    assert (time.slept, len(model.conversations)) == ([], 1)


async def test_at_most_four_tries() -> None:
    time, model = Time(), ScriptedModel(*[ModelUnavailable(str(n)) for n in range(9)])
    assert str(await fails(retrying(model, time))) == "3"
    assert time.slept == [0.5, 1.0, 2.0]


async def test_the_longer_of_what_is_demanded_and_the_random_time() -> None:
    time, model = Time(), ScriptedModel(ModelBusy("x", 7), ModelBusy("x", 0.1), ModelBusy("x", 0.1), YES)
    await said(retrying(model, time, chance=lambda: 0.999))
    assert time.slept == [7, pytest.approx(1.998), pytest.approx(3.996)]


@pytest.mark.parametrize(("left", "tries"), [(20.0, 2), (15.0, 2), (14.9, 1), (5.0, 1)])
async def test_ten_seconds_must_be_left_for_the_reply(left: float, tries: int) -> None:
    time, model = Time(), ScriptedModel(ModelBusy("x", 5), YES)
    with due(time.now + left):
        try:
            await said(retrying(model, time))
        except ModelBusy:
            assert tries == 1
    assert len(model.conversations) == tries


async def test_without_a_deadline_two_minutes_are_the_limit() -> None:
    time, model = Time(), ScriptedModel(ModelBusy("x", 60), ModelBusy("x", 60), YES)
    assert isinstance(await fails(retrying(model, time)), ModelBusy)
    assert time.slept == [60]


async def test_the_deadline_belongs_to_the_block() -> None:
    with due(5.0):
        with due(None):
            assert deadline() is None
        assert deadline() == 5.0
    assert deadline() is None


async def test_speaking_tells_the_model_its_deadline() -> None:
    seen: list[float | None] = []

    class Curious(ScriptedModel):
        async def converse(self, *given: Any, **more: Any) -> AsyncIterator[Part]:
            seen.append(deadline())
            async for part in super().converse(*given, **more):
                yield part

    until = asyncio.get_running_loop().time() + 60
    assert await speak(Curious(YES), [ASKED], until=until) == ModelMessage("Yes.")
    assert seen == [until]
    assert deadline() is None  # whoever asked has another one


async def test_after_the_first_part_the_failure_is_the_callers() -> None:
    time, model = Time(), Breaking(TextPart("Ye"))
    with pytest.raises(ModelUnavailable):
        await said(retrying(model, time))
    assert (time.slept, model.asked) == ([], 1)


async def test_a_reply_that_broke_off_is_spoken_anew_once_and_no_thought_is_shown_twice() -> None:
    time, model = Time(), Breaking(ThoughtPart("Let me see.\n\n"), TextPart("Ye"))
    heard: list[str] = []
    assert await speak(retrying(model, time), [ASKED], heard=heard.append) == ModelMessage("Yes.")
    assert heard == ["Let me see."]
    twice = Breaking(TextPart("Ye"), times=2)
    with pytest.raises(ModelUnavailable):
        await speak(retrying(twice, time), [ASKED])
    assert (model.asked, twice.asked) == (2, 2)


async def test_what_never_began_is_not_asked_again_by_the_speaker() -> None:
    model = ScriptedModel(ModelUnavailable("503"), YES)
    with pytest.raises(ModelUnavailable):
        await speak(model, [ASKED])
    assert len(model.conversations) == 1


async def test_an_empty_stream_is_a_reply_of_no_use() -> None:
    class Silent(ScriptedModel):
        async def converse(self, *given: Any, **more: Any) -> AsyncIterator[Part]:
            nothing: tuple[Part, ...] = ()
            for part in nothing:
                yield part

    assert isinstance(await fails(retrying(Silent(), Time())), ModelProtocolError)


async def test_cancelled_while_it_waits_it_asks_no_more() -> None:
    waiting = asyncio.Event()

    async def sleep(_: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    model = ScriptedModel(ModelBusy("x"), YES)
    task = asyncio.ensure_future(said(RetryingModel(model, sleep=sleep)))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(model.conversations) == 1


async def test_given_up_early_it_closes_the_stream() -> None:
    ended: list[str] = []

    class Endless(ScriptedModel):
        async def converse(self, *given: Any, **more: Any) -> AsyncIterator[Part]:
            try:
                while True:
                    yield TextPart("…")
            finally:
                ended.append("closed")

    conversation: Any = retrying(Endless(), Time()).converse([ASKED])
    async with aclosing(conversation) as parts:
        await anext(parts)
    assert ended == ["closed"]


# -- all turns together ---------------------------------------------------------------------------------------------


async def test_second_tries_are_a_fifth_of_the_successes_and_a_few() -> None:
    time = Time()
    budget = RetryBudget(clock=time)
    assert [budget.take() for _ in range(FREE_RETRIES + 1)] == [True] * FREE_RETRIES + [False]
    for _ in range(100):
        budget.succeeded()
    taken = sum(budget.take() for _ in range(100))
    assert taken == 100 * RETRY_SHARE
    time.now += 60
    assert [budget.take() for _ in range(FREE_RETRIES + 1)] == [True] * FREE_RETRIES + [False]


def test_what_succeeded_is_not_remembered_for_ever() -> None:
    time = Time()
    budget = RetryBudget(clock=time)
    tracemalloc.start()
    try:
        for _ in range(20_000):
            time.now += 1
            budget.succeeded()
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()


async def test_turns_that_share_a_model_share_its_second_tries() -> None:
    time = Time()
    model = ScriptedModel(*[YES] * 100, *[ModelBusy("x")] * 200)
    shared = retrying(model, time, chance=lambda: 0.0)
    for _ in range(100):
        await said(shared)
    for _ in range(40):
        await fails(shared)
    assert len(model.conversations) == 140 + FREE_RETRIES + 100 * RETRY_SHARE


async def test_five_failures_in_half_a_minute_open_it_and_a_probe_each_half_minute_closes_it() -> None:
    time = Time()
    breaker = Breaker(clock=time)
    for _ in range(4):
        await fails(retrying(ScriptedModel(ModelUnavailable("503", "key")), time, breaker=breaker))
    time.now += 30  # these four are forgotten
    model = ScriptedModel(*[ModelUnavailable("401 wrong", "key")] * 6, YES, YES)
    turns = [retrying(model, time, breaker=breaker) for _ in range(3)]
    for n in range(5):
        assert not breaker.is_open
        await fails(turns[n % 3])
    time.now += 29.9
    refused = await fails(turns[0])
    assert isinstance(refused, ModelUnavailable) and refused.why == "key"  # the reason is said as before
    assert len(model.conversations) == 5
    time.now += 0.1
    await fails(turns[1])  # the probe
    assert len(model.conversations) == 6
    await fails(turns[2])
    assert len(model.conversations) == 6
    time.now += 30
    await said(turns[0])
    assert not breaker.is_open
    await said(turns[1])
    assert model.finished


async def test_a_probe_is_alone_and_one_that_is_given_up_blocks_nobody_for_ever() -> None:
    time, gate = Time(), asyncio.Event()
    breaker = Breaker(clock=time)
    down = ScriptedModel(*[ModelBusy("x", 999)] * 5)
    for _ in range(5):
        await fails(retrying(down, time, breaker=breaker))
    time.now += 30
    model = ScriptedModel(Reply(text="Yes.", thought="Hm.", hold=gate), YES)
    probe = asyncio.ensure_future(said(retrying(model, time, breaker=breaker)))
    await asyncio.sleep(0)
    assert model.conversations
    assert isinstance(await fails(retrying(model, time, breaker=breaker)), ModelBusy)
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    time.now += 30
    await said(retrying(model, time, breaker=breaker))
    assert not breaker.is_open


async def test_few_failures_among_many_successes_do_not_open_it() -> None:
    time = Time()
    breaker = Breaker(clock=time)
    for _ in range(20):
        await said(retrying(ScriptedModel(YES, YES), time, breaker=breaker))
        await fails(retrying(ScriptedModel(ModelBusy("x", 999)), time, breaker=breaker))
        await said(retrying(ScriptedModel(YES), time, breaker=breaker))
    assert not breaker.is_open


async def test_refusals_and_useless_replies_are_no_failures_of_the_provider() -> None:
    time = Time()
    breaker = Breaker(clock=time)
    for failure in [ModelBlocked("SAFETY"), ModelProtocolError("x")] * 5:
        await fails(retrying(ScriptedModel(failure), time, breaker=breaker))
    assert not breaker.is_open


async def test_a_call_begun_before_it_opened_says_nothing_about_now() -> None:
    time, gate = Time(), asyncio.Event()
    breaker = Breaker(clock=time)
    slow = ScriptedModel(Reply(text="Yes.", hold=gate))
    early = asyncio.ensure_future(said(retrying(slow, time, breaker=breaker)))
    await asyncio.sleep(0)
    assert slow.conversations
    for _ in range(5):
        await fails(retrying(ScriptedModel(ModelBusy("x", 999)), time, breaker=breaker))
    gate.set()
    await early
    assert breaker.is_open


# -- over the wire --------------------------------------------------------------------------------------------------


async def run(agent: Agent, question: str) -> Answered:
    return answer_of([event async for event in agent.run(asking(question))])


@pytest.mark.parametrize("language", ["en", "ja"])
async def test_a_storm_of_turns_against_a_busy_gemini(language: str) -> None:
    """50 turns at once, all 429: everybody is answered by the fall-back, which says so, and nobody adds to the
    storm."""
    question = "返金は何日かかりますか？" if language == "ja" else "How long do refunds take?"
    note = (
        "（言語モデルが混み合っている" if language == "ja" else "(Written without the language model: it is overloaded"
    )
    time = Time()
    async with FakeGemini(*[google.busy("1s")] * 200) as server:
        using = gemini_calls.model(server)
        model = retrying(using, time)

        def agent() -> Agent:
            rules = ScriptedModel(Reply(text=NO_ANSWER), name="extractive")
            return Agent(model, Searches(), fallback=rules, max_turns=3)

        answers = await asyncio.gather(*(run(agent(), question) for _ in range(50)))
        assert len(server.journal) <= 50
        late = [await run(agent(), question) for _ in range(10)]
        assert len(server.journal) <= 50  # they did not even ask
        await using.close()
    assert all(note in answer.text for answer in (*answers, *late))


async def test_a_provider_that_refuses_a_third_is_not_asked_much_more_for_it() -> None:
    time = Time()
    orders = [google.busy("0s") if n % 3 == 0 else google.Reply((google.text("Yes."),)) for n in range(200)]
    async with FakeGemini(*orders) as server:
        using = gemini_calls.model(server)
        model = retrying(using, time)
        outcomes = await asyncio.gather(*(said(model) for _ in range(90)), return_exceptions=True)
        await using.close()
    successes = sum(not isinstance(outcome, BaseException) for outcome in outcomes)
    assert successes >= 60
    assert len(server.journal) <= 1.2 * successes + 50


@pytest.mark.parametrize(
    "order",
    [
        google.Refuse(408, "Request timeout."),
        google.Refuse(429, "Slow down.", "RESOURCE_EXHAUSTED"),
        google.Refuse(500, "Internal error.", "INTERNAL"),
        google.Refuse(502, page="<html>Bad gateway</html>"),
        google.Refuse(503, "Overloaded.", "UNAVAILABLE"),
        google.Refuse(504, "Deadline exceeded.", "DEADLINE_EXCEEDED"),
        google.Reply(finish=None),  # ended before anything came
        google.Reply((google.text("x"),), ending="cut"),
    ],
)
async def test_geminis_passing_failures_pass(order: google.Order) -> None:
    time = Time()
    async with FakeGemini(order, google.Reply((google.text("Yes."),))) as server:
        using = gemini_calls.model(server)
        parts = await said(retrying(using, time))
        await using.close()
    assert gemini_calls.last(parts).text == "Yes."
    assert len(time.slept) == 1 and server.finished


async def test_geminis_retry_info_is_waited_for_and_its_quota_of_the_day_is_not() -> None:
    time = Time()
    day: Mapping[str, Any] = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]}
    short: Mapping[str, Any] = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"}
    over = google.Refuse(429, "Quota exceeded.", "RESOURCE_EXHAUSTED", (dict(day), dict(short)))
    async with FakeGemini(google.busy("6s"), over) as server:
        using = gemini_calls.model(server)
        assert isinstance(await fails(retrying(using, time)), ModelBusy)
        await using.close()
    assert (time.slept, len(server.journal)) == ([6.0], 2)


@pytest.mark.parametrize(
    ("order", "waits"),
    [
        (openai.busy(**{"Retry-After": "4"}), [4.0]),
        (openai.Refuse(503, "Loading model"), [0.5]),
        (openai.Reply(finish=None), [0.5]),
    ],
)
async def test_an_openai_servers_too(order: openai.Order, waits: list[float]) -> None:
    time = Time()
    async with FakeOpenAI(order, openai.Reply(openai.text("Yes."))) as server:
        using = openai_calls.model(server)
        parts = await said(retrying(using, time))
        await using.close()
    assert gemini_calls.last(parts).text == "Yes."
    assert time.slept == waits


async def test_a_message_to_nobody_is_not_asked_for_again() -> None:
    async with FakeGemini() as server:
        using = gemini_calls.model(server)
        with pytest.raises(ModelProtocolError):
            async for _ in retrying(using, Time()).converse([UserMessage(" ")]):
                pass
        await using.close()
    assert server.journal == []
