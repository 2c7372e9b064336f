"""The synthesis strategy without a key: the extractive model plans, drafts and puts together by rules."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from agent.events import Answered, Drafted, Event, Reflected, Thought, ToolCalled, ToolReturned
from agent.loop import Ask, Exchange
from agent.models.base import ModelMessage, ModelUnavailable, SystemMessage, UserMessage
from agent.models.extractive import ExtractiveModel
from agent.models.scripted import ScriptedModel
from agent.rewriting import SCHEMA
from agent.synthesis import Synthesis
from agent.tools import SearchFunction
from retrieval.text import language_of
from tests.agent.passages import DESK, EXPENSES, HENKIN, KEIHI, LEAVE, REFUNDS, YUKYU, hit
from tests.agent.test_extractive import ENCODER, HANDBOOK, IT, Library
from tests.agent.turning import Searches, answer_of


async def synthesised(
    question: str, search: SearchFunction, *, history: Sequence[tuple[str, str]] = (), **options: Any
) -> list[Event]:
    model = options.pop("model", ExtractiveModel(tokenise=ENCODER.terms))
    exchanges = tuple(Exchange(*exchange) for exchange in history)
    agent = Synthesis(model, search, **options)
    return [event async for event in agent.run(Ask(question, language_of(question), exchanges, (HANDBOOK, IT)))]


async def test_a_japanese_question_is_searched_drafted_from_quoted_and_reviewed() -> None:
    steps = await synthesised("有給休暇は年に何日もらえますか？", Searches(YUKYU, KEIHI))
    kinds = [Thought, ToolCalled, ToolReturned, Thought, Thought, Thought, Drafted, Reflected, Answered]
    assert [type(step) for step in steps] == kinds
    answer = answer_of(steps)
    assert "「正社員には年20日の有給休暇が付与されます。」 [1]" in answer.text
    assert [citation.document for citation in answer.citations] == ["yukyu.md"]
    assert Thought("2 件の回答案のうち 1 件（[1]）が質問に答えているので、まとめます。") in steps
    assert answer.model == "extractive"


async def test_an_english_question_is_answered_with_quotations() -> None:
    answer = answer_of(await synthesised("How many days of paid leave do employees get?", Searches(DESK, LEAVE)))
    assert "accrue 20 days of paid leave per year.”" in answer.text
    assert [citation.document for citation in answer.citations] == ["leave.md"]


async def test_two_questions_are_two_searches_and_both_are_answered() -> None:
    library = Library()
    steps = await synthesised("経費精算の期限はいつまでですか？出張の宿泊費の上限はいくらですか？", library)
    assert len([step for step in steps if isinstance(step, ToolCalled)]) == 2
    text = answer_of(steps).text
    assert "30日以内" in text
    assert "12,000円" in text


async def test_a_follow_up_is_searched_with_what_it_is_about() -> None:
    library = Library()
    history = [("経費精算の期限はいつまでですか？", "支払日から30日以内です。[1]")]
    steps = await synthesised("承認は誰がしますか？", library, history=history)
    assert "経費" in library.asked[0][0]
    assert "部門長の承認" in answer_of(steps).text


async def test_other_wordings_are_tried_once_and_then_it_is_not_found() -> None:
    library = Library(())
    answer = answer_of(await synthesised("社員食堂のメニューを教えてください", library))
    assert answer.outcome == "unknown"
    assert answer.text.startswith("情報が見つかりませんでした。")
    assert 2 <= len(library.asked) <= 4
    assert len(set(library.asked)) == len(library.asked)


async def test_passages_that_do_not_answer_are_not_quoted() -> None:
    answer = answer_of(await synthesised("Is there a company gym?", Searches(EXPENSES, DESK)))
    assert answer.outcome == "unknown"


@pytest.mark.parametrize(("question", "said"), [("Hello!", "Hello!"), ("12*12は？", "144"), ("それは？", "何について")])
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
            "[1] では「45日」、[2] では「30日」です。",
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
    assert "「返金には30日かかります。」" in answer.text
    assert "言語モデルを使わずに回答しています。" in answer.text


async def planned(*messages: UserMessage | ModelMessage | SystemMessage) -> dict[str, Any]:
    parts = [part async for part in ExtractiveModel(tokenise=ENCODER.terms).converse(messages, schema=SCHEMA)]
    last = parts[-1]
    assert isinstance(last, ModelMessage)
    read: dict[str, Any] = json.loads(last.text)
    return read


async def test_the_plan_names_the_collection_that_the_person_names() -> None:
    system = SystemMessage("", "en", (HANDBOOK, IT))
    plan = await planned(system, UserMessage("How do I request a laptop? Look in the it-guides collection."))
    assert plan["search"] is True
    assert plan["queries"][0]["collection_name"] == "it-guides"


async def test_a_reply_in_an_unknown_form_takes_a_real_model() -> None:
    model = ExtractiveModel(tokenise=ENCODER.terms)
    with pytest.raises(ModelUnavailable):
        _ = [part async for part in model.converse([UserMessage("x")], schema={"properties": {"pairs": {}}})]
