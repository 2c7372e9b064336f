"""Whole turns with a scripted model: their events and their ends."""

import pytest

from agent.events import Answered, Citation, Cost, Drafted, Reflected, Thought, ToolCalled, ToolReturned
from agent.loop import Exchange
from agent.models.base import (
    ModelBlocked,
    ModelBusy,
    ModelError,
    ModelMessage,
    ModelUnavailable,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from agent.models.scripted import Reply, ScriptedModel
from agent.sentinels import NO_ANSWER, NO_RAG_RESULT, NO_RAG_RESULT_LOW_SCORE
from tests.agent.passages import HENKIN, LEAVE, REFUNDS, hit
from tests.agent.turning import KEEP, Searches, answer_of, asking, events, found, look

REFUND_CITED = Citation(1, "refunds.md", "handbook", 3, "Refunds take 30 days.", None)


def results(model: ScriptedModel, call: int) -> list[str]:
    """What the tools had told the model when it was called for the `call`-th time."""
    return [
        result.content
        for message in model.conversations[call]
        if isinstance(message, ToolMessage)
        for _, result in message.results
    ]


# -- a whole turn -------------------------------------------------------------------------------------------------------


async def test_a_turn_thinks_searches_reflects_and_answers() -> None:
    model = ScriptedModel(
        Reply(thought="Look it up.", calls=(ToolCall("1", "search_rag_knowledge_base", {"query": "refund"}),)),
        Reply(text="30 days. [1]"),
        Reply(text='{"verdict": "keep", "critique": "Stated in Refunds."}'),
    )
    assert await events(model, "How long do refunds take?", Searches(REFUNDS)) == [
        Thought("Look it up."),
        ToolCalled("1", "search_rag_knowledge_base", {"query": "refund"}),
        ToolReturned("1", "search_rag_knowledge_base", "1 passage for “refund”", hits=(REFUNDS,)),
        Drafted("30 days. [1]"),
        Reflected("keep", "Stated in Refunds."),
        Answered("30 days. [1]", (REFUND_CITED,)),
    ]
    assert model.finished


async def test_a_turn_in_japanese() -> None:
    model = ScriptedModel(
        look("返金 期間", text="Thought: 返金の期間を handbook で調べます。\n"),
        Reply(text="思考：答えが見つかりました。\n返金には30日かかります。[1]"),
        Reply(text='{"verdict": "keep", "critique": "資料のとおりです。"}'),
    )
    assert await events(model, "返金にはどれくらいかかりますか？", Searches(HENKIN)) == [
        Thought("返金の期間を handbook で調べます。"),
        ToolCalled("1", "search_rag_knowledge_base", {"query": "返金 期間"}),
        ToolReturned("1", "search_rag_knowledge_base", "「返金 期間」で 1 件", hits=(HENKIN,)),
        Thought("答えが見つかりました。"),
        Drafted("返金には30日かかります。[1]"),
        Reflected("keep", "資料のとおりです。"),
        Answered(
            "返金には30日かかります。[1]",
            (Citation(1, "henkin.md", "handbook", 0, "返金には30日かかります。", None),),
        ),
    ]


async def test_the_answer_says_what_the_turn_was_and_cost() -> None:
    model = ScriptedModel(
        Reply(calls=look("refund").calls, cost=Cost(1, 10, 2, 1)),
        Reply(text="30 days. [1]", cost=Cost(1, 20, 3, 0)),
        Reply(text='{"verdict": "keep"}', cost=Cost(1, 30, 4, 0)),
        name="gemini:test",
    )
    answer = answer_of(await events(model, "How long do refunds take?", Searches(REFUNDS, LEAVE)))
    assert answer.model == "gemini:test"
    assert answer.cost == Cost(3, 60, 9, 1)
    assert answer.searched == ("handbook", "faq")
    assert answer.confidence == REFUNDS.relevance
    assert answer.seconds >= 0


async def test_the_model_is_told_language_collections_and_results() -> None:
    model = ScriptedModel(look("返金"), Reply(text="30日です。[1]"), KEEP)
    await events(model, "返金はいつ？", Searches(HENKIN))
    system = model.conversations[0][0]
    assert isinstance(system, SystemMessage)
    assert "Answer in Japanese." in system.text
    assert "- handbook: Rules of the company (English, Japanese)" in system.text
    assert "- faq: よくある質問 (Japanese)" in system.text
    assert system.language == "ja"
    assert results(model, 1)[0].startswith("Result 1 (Score: 0.90):\n")
    assert model.offered == [("search_rag_knowledge_base", "list_rag_collections")] * 3
    assert model.schemas[:2] == [None, None]
    assert model.schemas[2] is not None


async def test_earlier_exchanges_are_part_of_the_conversation() -> None:
    model = ScriptedModel(look("refund duration"), Reply(text="30 days. [1]"), KEEP)
    history = (Exchange("Can I get a refund?", "Yes. [1]"),)
    await events(model, asking("How long does it take?", history=history), Searches(REFUNDS))
    assert model.conversations[0][1:] == (
        UserMessage("Can I get a refund?"),
        ModelMessage("Yes. [1]"),
        UserMessage("How long does it take?"),
    )


async def test_several_searches_at_once_are_answered_in_one_message_in_order() -> None:
    calls = (*look("refund", id="a").calls, *look("leave", id="b").calls)
    model = ScriptedModel(Reply(calls=calls), Reply(text="Refunds take 30 days. [1] Leave is 20 days. [2]"), KEEP)
    search = Searches(by_query={"refund": found([REFUNDS]), "leave": found([LEAVE, REFUNDS])})
    steps = await events(model, "Refunds and leave?", search)
    assert [type(step).__name__ for step in steps[:4]] == ["ToolCalled", "ToolCalled", "ToolReturned", "ToolReturned"]
    message = model.conversations[1][-1]
    assert isinstance(message, ToolMessage)
    assert [(call.id, result.numbers) for call, result in message.results] == [("a", (1,)), ("b", (2, 1))]
    assert [c.document for c in answer_of(steps).citations] == ["refunds.md", "leave.md"]


async def test_numbering_goes_on_over_the_turn_and_a_passage_keeps_its_number() -> None:
    model = ScriptedModel(look("a"), look("b", id="2"), Reply(text="Leave is 20 days. [2] Refunds: 30 days. [1]"), KEEP)
    search = Searches(by_query={"a": found([REFUNDS]), "b": found([LEAVE, REFUNDS])})
    answer = answer_of(await events(model, "Both?", search))
    first, second = results(model, 2)
    assert first.startswith("Result 1 ")
    assert "Result 2 (Score" in second
    assert "Result 1 (Score" in second
    assert answer.text == "Leave is 20 days. [1] Refunds: 30 days. [2]"
    assert [c.document for c in answer.citations] == ["leave.md", "refunds.md"]


# -- thoughts -----------------------------------------------------------------------------------------------------------


async def test_what_is_said_beside_a_call_is_a_thought_and_never_the_answer() -> None:
    model = ScriptedModel(look("refund", text="Let me look that up."), Reply(text="30 days. [1]"), KEEP)
    steps = await events(model, "How long do refunds take?", Searches(REFUNDS))
    assert steps[0] == Thought("Let me look that up.")
    assert answer_of(steps).text == "30 days. [1]"


@pytest.mark.parametrize(
    "draft",
    [
        "Thought: I know it now.\n30 days. [1]",
        "**Thought:** I know it now.\n\n30 days. [1]",
        "Thought：I know it now.\nAnswer: 30 days. [1]",
        "Thought: I know it now.\nIt is in the handbook.\nFinal Answer: 30 days. [1]",
        "思考: I know it now.\n回答：30 days. [1]",
        "[🧠 Thought] I know: it now.\n30 days. [1]".replace("] I know:", "]: I know"),
    ],
)
async def test_thought_lines_never_reach_the_answer(draft: str) -> None:
    steps = await events(ScriptedModel(look("refund"), Reply(text=draft), KEEP), "How long?", Searches(REFUNDS))
    assert Thought("I know it now.") in steps
    assert Drafted("30 days. [1]") in steps
    assert answer_of(steps).text == "30 days. [1]"


# -- not found ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draft", [NO_ANSWER, f" {NO_ANSWER}\n", f"Thought: nothing.\n{NO_ANSWER}"])
async def test_no_answer_says_where_it_looked(draft: str) -> None:
    steps = await events(ScriptedModel(look("pets"), Reply(text=draft)), "May I bring pets?", Searches(REFUNDS))
    answer = answer_of(steps)
    assert answer.outcome == "unknown"
    assert answer.text.startswith("I could not find any information about this. I searched: handbook, faq.")
    assert answer.searched == ("handbook", "faq")
    assert not any(isinstance(step, Drafted) for step in steps)


async def test_no_answer_in_japanese() -> None:
    model = ScriptedModel(look("ペット"), Reply(text=NO_ANSWER))
    answer = answer_of(await events(model, "ペットは連れて行けますか？", Searches()))
    assert answer.outcome == "unknown"
    assert answer.text.startswith("情報が見つかりませんでした。検索したコレクション: handbook、faq。")


async def test_an_empty_result_and_a_weak_one_are_told_apart_and_recorded() -> None:
    weak = hit("Pets need water.", relevance=0.2)
    search = Searches(by_query={"a": found(), "b": found(rejected=[weak])})
    model = ScriptedModel(look("a"), look("b", id="2"), Reply(text=NO_ANSWER))
    steps = await events(model, "May I bring pets?", search)
    first, second = results(model, 2)
    assert first.startswith(NO_RAG_RESULT + " ")
    assert second.startswith(NO_RAG_RESULT_LOW_SCORE)
    assert [step.summary for step in steps if isinstance(step, ToolReturned)] == [
        "nothing found for “a”",
        "nothing relevant enough for “b”",
    ]
    assert answer_of(steps).confidence == 0.2


async def test_an_answer_without_any_result_is_not_believed() -> None:
    model = ScriptedModel(look("pets"), Reply(text="Pets are welcome on Fridays. [1]"), KEEP)
    answer = answer_of(await events(model, "May I bring pets?", Searches()))
    assert (answer.outcome, answer.citations) == ("unknown", ())


@pytest.mark.parametrize(
    "draft", ["Refunds take 45 days. [1]", "Refunds take 45 days. [9]", "Ask our lawyers about it. [4]"]
)
async def test_a_draft_that_the_passages_do_not_bear_out_is_not_found(draft: str) -> None:
    steps = await events(
        ScriptedModel(look("refund"), Reply(text=draft), KEEP), "How long do refunds take?", Searches(REFUNDS)
    )
    assert Drafted(draft) in steps
    assert answer_of(steps).outcome == "unknown"


async def test_rejected_by_the_reflection_is_not_found() -> None:
    review = Reply(text='{"verdict": "reject", "critique": "That is about gift cards."}')
    steps = await events(ScriptedModel(look("x"), Reply(text="30 days. [1]"), review), "Pets?", Searches(REFUNDS))
    assert steps[-2] == Reflected("reject", "That is about gift cards.")
    assert answer_of(steps).outcome == "unknown"


async def test_general_knowledge_is_labelled_and_stays_unknown() -> None:
    model = ScriptedModel(look("pi"), Reply(text=NO_ANSWER), Reply(text="Probably [1] yes, see https://evil.test."))
    answer = answer_of(await events(model, "May I bring pets to offices?", Searches(), general=True))
    assert answer.outcome == "unknown"
    assert answer.text.startswith("I could not find any information")
    assert answer.text.endswith("From general knowledge, not from the team’s documents:\n\nProbably yes, see .")
    assert answer.citations == ()
    assert model.offered[-1] == ()


async def test_general_knowledge_may_have_no_answer_either_or_fail() -> None:
    for last in (Reply(text=NO_ANSWER), ModelUnavailable("down", "key")):
        model = ScriptedModel(look("pi"), Reply(text=NO_ANSWER), last)
        answer = answer_of(await events(model, "What is our plan?", Searches(), general=True))
        assert answer.outcome == "unknown"
        assert "general knowledge" not in answer.text


# -- without a search ---------------------------------------------------------------------------------------------------


async def test_small_talk_needs_no_search_no_review_and_no_citation() -> None:
    model = ScriptedModel(Reply(text="Hello! [1] How can I help?"))
    steps = await events(model, "Hello!", Searches(REFUNDS))
    assert steps == [Drafted("Hello! [1] How can I help?"), Answered("Hello! How can I help?")]
    assert answer_of(steps).searched == ()
    assert answer_of(steps).confidence is None


async def test_a_question_about_the_team_must_be_searched() -> None:
    model = ScriptedModel(Reply(text="Refunds take 14 days."), look("refund"), Reply(text="30 days. [1]"), KEEP)
    steps = await events(model, "How long do refunds take in our company?", Searches(REFUNDS))
    assert "14" not in "".join(step.text for step in steps if isinstance(step, Drafted))
    assert answer_of(steps).text == "30 days. [1]"
    assert isinstance(model.conversations[1][-1], UserMessage)


async def test_a_model_that_insists_is_asked_once() -> None:
    model = ScriptedModel(
        Reply(text="A tuple is immutable."), Reply(text="A tuple is immutable, see https://x.test/a.")
    )
    answer = answer_of(await events(model, "What did we decide about tuples?", Searches(REFUNDS)))
    assert (answer.text, answer.outcome) == ("A tuple is immutable, see .", "answered")


async def test_listing_the_collections_is_no_search() -> None:
    model = ScriptedModel(
        Reply(calls=(ToolCall("1", "list_rag_collections", {}),)), Reply(text="There are handbook and faq.")
    )
    steps = await events(model, "Which documents do we have?", Searches())
    assert steps[1] == ToolReturned("1", "list_rag_collections", "2 collections")
    assert "- faq: よくある質問 (Japanese; 1 documents, 4 passages)" in results(model, 1)[0]
    assert answer_of(steps).outcome == "answered"


# -- reflection ---------------------------------------------------------------------------------------------------------


async def test_a_revision_is_reviewed_once_more() -> None:
    model = ScriptedModel(
        look("refund"),
        Reply(text="About a month, I guess. [1]"),
        Reply(text='{"verdict": "revise", "critique": "Say 30 days.", "answer": "Refunds take 30 days. [1]"}'),
        KEEP,
    )
    steps = await events(model, "How long do refunds take?", Searches(REFUNDS))
    assert [step for step in steps if isinstance(step, Drafted | Reflected)] == [
        Drafted("About a month, I guess. [1]"),
        Reflected("revise", "Say 30 days."),
        Reflected("keep", "Fine."),
    ]
    assert answer_of(steps).text == "Refunds take 30 days. [1]"
    assert model.finished


async def test_two_revisions_are_the_end() -> None:
    revise = '{"verdict": "revise", "critique": "Again.", "answer": "Refunds take %s30 days. [1]"}'
    model = ScriptedModel(
        look("refund"), Reply(text="30 days [1]"), Reply(text=revise % ""), Reply(text=revise % "about ")
    )
    answer = answer_of(await events(model, "How long do refunds take?", Searches(REFUNDS)))
    assert answer.text == "Refunds take about 30 days. [1]"
    assert model.finished


async def test_a_revision_is_held_against_the_passages_too() -> None:
    revise = '{"verdict": "revise", "critique": "Better.", "answer": "Refunds take 3 days. [1]"}'
    model = ScriptedModel(look("refund"), Reply(text="30 days [1]"), Reply(text=revise), KEEP)
    assert answer_of(await events(model, "How long do refunds take?", Searches(REFUNDS))).outcome == "unknown"


@pytest.mark.parametrize("failure", [ModelBusy("429", 100), ModelUnavailable("x", "key"), ModelBlocked("safety")])
async def test_a_review_that_fails_leaves_the_draft(failure: ModelError) -> None:
    model = ScriptedModel(look("refund"), Reply(text="30 days. [1] It costs $20. [1]"), failure)
    steps = await events(model, "How long do refunds take?", Searches(REFUNDS))
    assert not any(isinstance(step, Reflected) for step in steps)
    assert answer_of(steps).text == "30 days. [1]"


async def test_no_reviews_when_none_are_wanted() -> None:
    model = ScriptedModel(look("refund"), Reply(text="30 days. [1]"))
    assert answer_of(await events(model, "How long?", Searches(REFUNDS), reviews=0)).text == "30 days. [1]"
