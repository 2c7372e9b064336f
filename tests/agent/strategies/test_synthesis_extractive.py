"""The synthesis strategy without a key: the extractive model plans, drafts and puts together by rules."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from agent.events import Answered, Drafted, Event, Reflected, Thought, ToolCalled, ToolReturned
from agent.extractive.model import ExtractiveModel
from agent.models.base import ModelMessage, ModelUnavailable, SystemMessage, UserMessage
from agent.query_rewriting import SCHEMA
from agent.strategies.react import Agent, Ask, Exchange
from agent.strategies.synthesis import Synthesis
from agent.tools import SearchFunction
from retrieval.text import language_of
from tests.agent.extractive.test_model import ENCODER, HANDBOOK, IT, Library
from tests.agent.passages import DESK, HENKIN, KEIHI, LEAVE, REFUNDS, YUKYU, hit
from tests.agent.turning import Searches, answer_of
from tests.fakes.scripted import ScriptedModel


async def synthesised(
    question: str, search: SearchFunction, *, history: Sequence[tuple[str, str]] = (), **options: Any
) -> list[Event]:
    model = options.pop("model", ExtractiveModel(tokenise=ENCODER.terms))
    exchanges = tuple(Exchange(*exchange) for exchange in history)
    agent = Synthesis(model, search, **options)
    return [event async for event in agent.run(Ask(question, language_of(question), exchanges, (HANDBOOK, IT)))]


@pytest.mark.parametrize(
    "question", ["有給休暇は年に何日もらえますか？", "How many days of paid leave do employees get?"]
)
async def test_it_is_the_same_index_as_without_the_strategy(question: str) -> None:
    pages = (YUKYU, LEAVE, KEIHI, DESK)
    steps = await synthesised(question, Searches(*pages))
    assert [type(step) for step in steps][:3] == [Thought, ToolCalled, ToolReturned]
    assert [type(step) for step in steps][-3:] == [Drafted, Reflected, Answered]
    agent = Agent(ExtractiveModel(tokenise=ENCODER.terms), Searches(*pages))
    alone = [step async for step in agent.run(Ask(question, language_of(question), (), (HANDBOOK, IT)))]
    one, other = answer_of(steps), answer_of(alone)
    assert (one.text, one.citations, one.unsure) == (other.text, other.citations, other.unsure)
    assert "20" in one.text


async def test_a_follow_up_is_searched_with_what_it_is_about() -> None:
    library = Library()
    history = [("経費精算の期限はいつまでですか？", "支払日から30日以内です。[1]")]
    steps = await synthesised("承認は誰がしますか？", library, history=history)
    assert [query for query, _ in library.asked] == ["経費精算の期限はいつまでですか？ 承認は誰がしますか？"]
    assert "部門長の承認" in answer_of(steps).text


async def test_nothing_found_is_not_searched_twice() -> None:
    library = Library(())
    answer = answer_of(await synthesised("社員食堂のメニューを教えてください", library))
    assert answer.outcome == "unknown"
    assert answer.text.startswith("情報が見つかりませんでした。")
    assert len(library.asked) == 1


@pytest.mark.parametrize(("question", "said"), [("Hello!", "Hello!"), ("12*12は？", "144")])
async def test_what_needs_no_search_is_answered_without_one(question: str, said: str) -> None:
    search = Searches(REFUNDS)
    answer = answer_of(await synthesised(question, search))
    assert said in answer.text
    assert search.asked == []


@pytest.mark.parametrize(
    ("question", "pages", "said"),
    [
        (
            "How long do refunds take?",
            (REFUNDS, hit("Refunds take 45 days.", "faq.md", title="Refunds")),
            "“30 days” in [1], “45 days” in [2]",
        ),
        (
            "返金には何日かかりますか？",
            (hit("返金には45日かかります。", "faq.md", title="返金について"), HENKIN),
            "[2] では「45日」、[1] では「30日」です。",
        ),
    ],
)
async def test_sources_that_contradict_each_other_are_named(question: str, pages: tuple[Any, ...], said: str) -> None:
    answer = answer_of(await synthesised(question, Searches(*pages)))
    assert said in answer.text
    assert {citation.document for citation in answer.citations} == {page.passage.document for page in pages}


async def test_it_takes_over_when_the_model_is_down() -> None:
    down = ScriptedModel(ModelUnavailable("401", "key"), name="gemini:x")
    spare = ExtractiveModel(tokenise=ENCODER.terms)
    answer = answer_of(await synthesised("返金には何日かかりますか？", Searches(HENKIN), model=down, fallback=spare))
    assert "返金には30日かかります。" in answer.text
    assert "言語モデルを使わずに回答しています。" in answer.text


async def planned(*messages: UserMessage | ModelMessage | SystemMessage) -> dict[str, Any]:
    parts = [part async for part in ExtractiveModel(tokenise=ENCODER.terms).converse(messages, schema=SCHEMA)]
    last = parts[-1]
    assert isinstance(last, ModelMessage)
    read: dict[str, Any] = json.loads(last.text)
    return read


async def test_the_plan_is_the_question_and_what_it_may_refer_to() -> None:
    system = SystemMessage("", "en")
    before = (UserMessage("How do I request a laptop?"), ModelMessage("…"))
    plan = await planned(system, *before, UserMessage("And who approves it?"))
    assert plan["search"] is True
    assert plan["queries"] == [{"query": "How do I request a laptop? And who approves it?"}]
    plan = await planned(system, *before, UserMessage("And which printer does it work with?"))
    asked = "And which printer does it work with?"
    assert plan["queries"] == [{"query": f"How do I request a laptop? {asked}"}, {"query": asked}]
    assert (await planned(system, *before, UserMessage("Thanks!")))["search"] is False


async def test_a_reply_in_an_unknown_form_takes_a_real_model() -> None:
    model = ExtractiveModel(tokenise=ENCODER.terms)
    with pytest.raises(ModelUnavailable):
        _ = [part async for part in model.converse([UserMessage("x")], schema={"properties": {"pairs": {}}})]
