"""A turn's own cap: when it is reached the answer is written from what is known, and nothing more is asked."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from agent.events import Cost
from agent.models.base import (
    ModelBlocked,
    ModelBusy,
    ModelError,
    ModelExhausted,
    ModelProtocolError,
    ModelUnavailable,
    Part,
)
from agent.models.quota import OverBudgetError, QuotaModel, SpentError
from agent.models.retry import RetryingModel
from agent.strategies.react import Agent
from tests.agent.models import openai_calls
from tests.agent.models.gemini_calls import ASKED, SYSTEM, VERDICT, model, tool
from tests.agent.passages import REFUNDS
from tests.agent.turning import KEEP, Searches, answer_of, asking, look
from tests.fakes import openai
from tests.fakes.gemini import FakeGemini, call, text
from tests.fakes.gemini import Reply as Said
from tests.fakes.openai import FakeOpenAI
from tests.fakes.scripted import Reply, ScriptedModel


class Sums:
    """A ledger that has enough until it is told otherwise."""

    def __init__(self) -> None:
        self.cost = Cost()
        self.empty = False

    def check(self) -> None:
        if self.empty:
            raise OverBudgetError("used up")

    def add(self, model: str, cost: Cost) -> None:
        self.cost += cost


async def said(capped: QuotaModel, *, tools: bool = False, schema: Any = None) -> list[Part]:
    return [part async for part in capped.converse((SYSTEM, ASKED), (tool(),) if tools else (), schema=schema)]


async def test_the_last_calls_are_kept_for_the_answer() -> None:
    scripted = ScriptedModel(*[Reply(text="Yes.")] * 3)
    capped = QuotaModel(scripted, Sums(), calls=3)
    await said(capped, tools=True)
    with pytest.raises(SpentError):
        await said(capped, tools=True)
    await said(capped)
    await said(capped, tools=True, schema=VERDICT)
    with pytest.raises(SpentError):
        await said(capped)
    assert scripted.finished


async def test_beyond_the_tokens_there_is_one_last_word() -> None:
    dear = Reply(text="Yes.", cost=Cost(1, 600, 100, 300))
    scripted, sums = ScriptedModel(dear, dear), Sums()
    capped = QuotaModel(scripted, sums, calls=9, tokens=1_000)
    await said(capped, tools=True)
    for schema in (None, VERDICT):
        with pytest.raises(SpentError):
            await said(capped, tools=True, schema=schema)
    await said(capped)
    with pytest.raises(SpentError):
        await said(capped)
    assert sums.cost == Cost(2, 1_200, 200, 600)


@pytest.mark.parametrize(
    ("failure", "calls"),
    [(ModelBusy("429"), 0), (ModelUnavailable("503"), 0), (ModelBlocked("SAFETY"), 1), (ModelProtocolError("x"), 1)],
)
async def test_what_failed_costs_what_the_provider_has_done(failure: ModelError, calls: int) -> None:
    sums = Sums()
    with pytest.raises(type(failure)):
        await said(QuotaModel(ScriptedModel(failure), sums, calls=9))
    assert sums.cost == Cost(calls=calls)


async def test_thinking_that_led_nowhere_costs_both_tries() -> None:
    thinking = openai.Reply((openai.reasoning("…"),), "length", thoughts=40)
    sums = Sums()
    async with FakeOpenAI(thinking, thinking) as server:
        using = openai_calls.model(server)
        with pytest.raises(ModelExhausted):
            await said(QuotaModel(using, sums, calls=9))
        await using.close()
    assert (sums.cost.calls, sums.cost.thought_tokens) == (2, 80)


async def test_a_reply_that_nobody_reads_to_its_end_counts() -> None:
    closed: list[bool] = []

    class Endless(ScriptedModel):
        async def converse(self, *given: Any, **more: Any) -> AsyncIterator[Part]:
            try:
                async for part in super().converse(*given, **more):
                    yield part
            finally:
                closed.append(True)

    sums = Sums()
    conversation: Any = QuotaModel(Endless(Reply(text="long " * 50)), sums, calls=9).converse([ASKED])
    async with aclosing(conversation) as parts:
        await anext(parts)
    assert sums.cost == Cost(calls=1) and closed


async def test_a_model_without_cost_uses_nothing_up() -> None:
    sums = Sums()
    capped = QuotaModel(ScriptedModel(Reply(text="Yes.", cost=Cost())), sums, calls=9)
    await said(capped)
    assert (capped.name, sums.cost) == ("scripted", Cost())


async def test_over_the_larger_budget_nothing_is_asked() -> None:
    scripted, sums = ScriptedModel(), Sums()
    sums.empty = True
    with pytest.raises(OverBudgetError):
        await said(QuotaModel(scripted, sums, calls=9))
    assert scripted.conversations == []


async def test_a_model_that_would_search_for_ever_makes_two_calls_more_than_its_turns() -> None:
    """Over the wire, with what each reply says that it cost."""
    replies = [Said((call("search_rag_knowledge_base", {"query": f"q{n}"}),)) for n in range(4)]
    answer = Said((text("Refunds take 30 days. [1]"),))
    revise = Said((text('{"verdict": "revise", "critique": "Shorter.", "answer": "30 days. [1]"}'),))
    async with FakeGemini(*replies, answer, revise, revise) as gemini:
        using, sums = model(gemini), Sums()
        agent = Agent(QuotaModel(using, sums, calls=6), Searches(REFUNDS), max_turns=4)
        answered = answer_of([event async for event in agent.run(asking("How long do refunds take?"))])
        await using.close()
    assert answered.text == "30 days. [1]"
    assert len(gemini.journal) == 6 == sums.cost.calls == answered.cost.calls
    assert sums.cost.thought_tokens == 6 * 7 and sums.cost.input_tokens > 0


async def test_useless_replies_count_and_are_not_asked_for_beyond_the_cap() -> None:
    malformed = [Said(finish="MALFORMED_FUNCTION_CALL")] * 12
    async with FakeGemini(*malformed) as gemini:
        using = model(gemini)
        rules = ScriptedModel(look("refund"), Reply(text="30 days. [1]", cost=Cost()), KEEP, name="extractive")
        agent = Agent(QuotaModel(using, Sums(), calls=4), Searches(REFUNDS), fallback=rules)
        answered = answer_of([event async for event in agent.run(asking("How long do refunds take?"))])
        await using.close()
    assert len(gemini.journal) == 4
    assert (answered.model, answered.outcome) == ("extractive", "answered")
    assert answered.text.endswith("this question has used as much of it as one question may.)")


async def test_with_its_tokens_used_up_a_turn_writes_its_answer() -> None:
    dear = Cost(1, 900, 50, 100)
    search = Reply(calls=look("refund").calls, cost=dear)
    scripted = ScriptedModel(search, Reply(text="Refunds take 30 days. [1]", cost=dear))
    agent = Agent(QuotaModel(scripted, Sums(), calls=12, tokens=1_000), Searches(REFUNDS))
    answered = answer_of([event async for event in agent.run(asking("How long do refunds take?"))])
    assert (answered.text, answered.outcome) == ("Refunds take 30 days. [1]", "answered")
    assert scripted.offered[1] == ()
    assert scripted.finished


async def test_what_a_call_asks_for_and_what_the_model_can_passes_through() -> None:
    scripted = ScriptedModel(Reply(text="Yes."), thinks=True, tools=False)
    model = RetryingModel(QuotaModel(scripted, Sums(), calls=3))
    assert [part async for part in model.converse([ASKED], effort="low")]
    assert (scripted.efforts, model.thinks, model.tools) == (["low"], True, False)
