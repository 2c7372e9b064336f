"""Whole turns with a scripted model: their events and their ends."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date

import pytest

from agent.events import Answered, Citation, Cost, Drafted, Reflected, Thought, ToolCalled, ToolReturned
from agent.grounding.check import LEFT_OUT
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
from agent.sentinels import DECLINED, NO_ANSWER, NO_RAG_RESULT, NO_RAG_RESULT_LOW_SCORE
from agent.strategies.react import Exchange
from retrieval.types import Hit
from tests.agent.passages import HENKIN, LEAVE, REFUNDS, VPN, hit
from tests.agent.turning import KEEP, Entailing, Searches, answer_of, asking, events, found, look
from tests.fakes.scripted import Reply, ScriptedModel

REFUND_CITED = Citation(
    1, "refunds.md", "handbook", 3, "Refunds take 30 days.", title="Refunds", document_id="id-refunds.md"
)


def results(model: ScriptedModel, call: int) -> list[str]:
    """What the tools had told the model when it was called for the `call`-th time."""
    return [
        result.content
        for message in model.conversations[call]
        if isinstance(message, ToolMessage)
        for _, result in message.results
    ]


# -- a whole turn ----------------------------------------------------------------------------------------------------


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
        Drafted("30 days. [refunds.md]"),
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
        Drafted("返金には30日かかります。[henkin.md]"),
        Reflected("keep", "資料のとおりです。"),
        Answered(
            "返金には30日かかります。[1]",
            (
                Citation(
                    1,
                    "henkin.md",
                    "handbook",
                    0,
                    "返金には30日かかります。",
                    title="返金について",
                    document_id="id-henkin.md",
                ),
            ),
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


@pytest.mark.parametrize("thinks", [True, False])
async def test_the_model_is_told_language_date_collections_and_results(thinks: bool) -> None:
    model = ScriptedModel(look("返金"), Reply(text="30日です。[1]"), KEEP, thinks=thinks)
    await events(model, "返金はいつ？", Searches(HENKIN), today=lambda: date(2026, 11, 23))
    system = model.conversations[0][0]
    assert isinstance(system, SystemMessage)
    assert "Answer in Japanese. Today is Monday, 2026-11-23." in system.text
    assert ('begins with "Thought:"' in system.text) == (not thinks)
    assert "- handbook: Rules of the company (English, Japanese)" in system.text
    assert "- faq: よくある質問 (Japanese)" in system.text
    assert system.language == "ja"
    assert results(model, 1)[0].startswith("Result 1 (Score: 0.90): strong match\n")
    assert model.offered == [("search_rag_knowledge_base", "list_rag_collections")] * 2 + [()]
    assert model.schemas[:2] == [None, None]
    assert model.schemas[2] is not None


async def test_earlier_exchanges_are_part_of_the_conversation() -> None:
    model = ScriptedModel(look("refund duration"), Reply(text="30 days. [1]"), KEEP)
    history = (Exchange("Can I get a refund?", "Yes. [1]"),)
    await events(model, asking("How long does it take?", history=history), Searches(REFUNDS))
    assert model.conversations[0][1:] == (
        UserMessage("Can I get a refund?"),
        ModelMessage("Yes."),
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
    assert second.endswith("Result 1: shown before") and "Refunds take" not in second
    assert answer.text == "Leave is 20 days. [1] Refunds: 30 days. [2]"
    assert [c.document for c in answer.citations] == ["leave.md", "refunds.md"]


# -- thoughts --------------------------------------------------------------------------------------------------------


async def test_a_form_that_came_as_thinking_is_not_shown() -> None:
    form = look("refund", thought='{"answer": "30 days. [1]", "found": "yes"}')
    steps = await events(ScriptedModel(form, Reply(text="30 days. [1]"), KEEP), "How long?", Searches(REFUNDS))
    assert not any(isinstance(step, Thought) for step in steps)


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
    assert Drafted("30 days. [refunds.md]") in steps
    assert answer_of(steps).text == "30 days. [1]"


# -- not found -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "draft", [NO_ANSWER, f"Thought: nothing.\n{NO_ANSWER}", "Found: no", "Nothing on pets.\n\n**Found:** NO\nSure: yes"]
)
async def test_no_answer_says_where_it_looked(draft: str) -> None:
    steps = await events(ScriptedModel(look("pets"), Reply(text=draft)), "May I bring pets?", Searches(REFUNDS))
    answer = answer_of(steps)
    assert answer.outcome == "unknown"
    assert answer.text.startswith(
        "I could not find any information about this. The closest page is Refunds. I searched: handbook, faq."
    )
    assert answer.searched == ("handbook", "faq")
    assert not any(isinstance(step, Drafted) for step in steps)


async def test_no_answer_in_japanese() -> None:
    model = ScriptedModel(look("ペット"), Reply(text=NO_ANSWER))
    answer = answer_of(await events(model, "ペットは連れて行けますか？", Searches()))
    assert answer.outcome == "unknown"
    assert answer.text.startswith("情報が見つかりませんでした。検索したコレクション: handbook、faq。")


@pytest.mark.parametrize(
    ("question", "promise", "reason"),
    [("May I bring pets?", "somebody who knows", "outside the team"), ("ペットは？", "詳しい方", "チーム外の方")],
)
@pytest.mark.parametrize("reaches_team", [True, False])
async def test_nobody_is_promised_where_nobody_sees_what_is_missed(
    question: str, promise: str, reason: str, reaches_team: bool
) -> None:
    asked = replace(asking(question), reaches_team=reaches_team)
    answer = answer_of(await events(ScriptedModel(look("pets"), Reply(text=NO_ANSWER)), asked, Searches()))
    assert answer.outcome == "unknown" and (promise in answer.text) == reaches_team
    assert (reason in answer.text) != reaches_team
    assert answer.text.rstrip().endswith((".", "。"))


async def test_an_empty_result_and_a_weak_one_are_told_apart_and_nothing_is_withheld() -> None:
    weak = hit("Pets need water.", "water.md", relevance=0.2)
    search = Searches(by_query={"a": found(), "b": found([weak])})
    model = ScriptedModel(look("a"), look("b", id="2"), Reply(text=NO_ANSWER))
    steps = await events(model, "May I bring pets?", search)
    first, second = results(model, 2)
    assert first.startswith(NO_RAG_RESULT + " ")
    assert second.startswith(NO_RAG_RESULT_LOW_SCORE) and "Pets need water." in second
    assert [step.summary for step in steps if isinstance(step, ToolReturned)] == [
        "nothing found for “a”",
        "1 passage for “b”",
    ]
    assert answer_of(steps).confidence == 0.2


async def test_the_closest_page_is_what_the_draft_names_and_no_markup_of_its_own_survives() -> None:
    pages = [
        hit("Dogs.", "dogs.md"),
        hit("Cats.", "c.md", title="[Cats](https://evil.test) <!here>", url="https://w.test/c"),
    ]
    model = ScriptedModel(look("pets"), Reply(text="Only cats are mentioned. [2]\nFound: no"))
    answer = answer_of(await events(model, "ペットは連れて行けますか？", Searches(*pages)))
    assert answer.text.startswith(
        "情報が見つかりませんでした。最も近いページは「[Cats !here](https://w.test/c)」です。"
    )
    signs = Searches(hit("Cats.", "[click](https://evil.test)", title="***"))
    answer = answer_of(await events(ScriptedModel(look("pets"), Reply(text="Found: no")), "May I bring pets?", signs))
    assert "The closest page is click. I" in answer.text
    gone = ScriptedModel(look("pets"), Reply(text="Found: no"))

    async def still_readable(hits: Sequence[Hit]) -> Collection[str]:
        return ()

    left = answer_of(await events(gone, "May I bring pets?", Searches(*pages), still_readable=still_readable))
    assert left.outcome == "unknown" and "closest" not in left.text


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
    assert any(isinstance(step, Drafted) and step.text.startswith(draft[:-4]) for step in steps)
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
    assert answer.text.endswith(
        "From general knowledge, not from the team’s documents:\n\nProbably yes, see (address left out)."
    )
    assert answer.citations == ()
    assert model.offered[-1] == ()


async def test_general_knowledge_may_have_no_answer_either_or_fail() -> None:
    for last in (Reply(text=NO_ANSWER), ModelUnavailable("down", "key")):
        model = ScriptedModel(look("pi"), Reply(text=NO_ANSWER), last)
        answer = answer_of(await events(model, "What is our plan?", Searches(), general=True))
        assert answer.outcome == "unknown"
        assert "general knowledge" not in answer.text


# -- without a search ------------------------------------------------------------------------------------------------


async def test_small_talk_needs_no_search_no_review_and_no_citation() -> None:
    model = ScriptedModel(Reply(text="Hello! [1] How can I help?"))
    steps = await events(model, "Hello!", Searches(REFUNDS))
    assert steps == [Drafted("Hello! How can I help?"), Answered("Hello! How can I help?")]
    assert answer_of(steps).searched == ()
    assert answer_of(steps).confidence is None


async def test_what_the_bot_can_do_is_told_unsearched_where_a_conversation_begins() -> None:
    search = Searches(REFUNDS)
    begun = ScriptedModel(Reply(text="I answer from your documents."))
    assert answer_of(await events(begun, "What can you do?", search)).outcome == "answered"
    assert "/kotae help" in str(begun.conversations[0][0])
    assert search.asked == []
    within = ScriptedModel(Reply(text="I can refund you."), Reply(text="30 days. [1]"), KEEP)
    asked = asking("What can you do?", history=(Exchange("Where is my refund?", "On its way."),), language="en")
    assert answer_of(await events(within, asked, search)).text == "30 days. [1]"
    assert len(search.asked) == 1


@pytest.mark.parametrize(
    ("question", "queries"),
    [
        ("How long do refunds take in our company?", "How long do refunds take in our company?"),
        ("What is a tuple in Python?", "What is a tuple in Python?"),
        ("Which command restarts it?", "Which command restarts it?"),
    ],
)
async def test_what_a_model_would_answer_unsearched_is_searched_by_code(question: str, queries: str) -> None:
    search = Searches(REFUNDS)
    model = ScriptedModel(Reply(text="Refunds take 14 days."), Reply(text="30 days. [1]"), KEEP)
    steps = await events(model, question, search)
    assert search.asked == [(queries, None)]
    assert "14" not in "".join(step.text for step in steps if isinstance(step, Drafted))
    assert answer_of(steps).text == "30 days. [1]"
    assert isinstance(model.conversations[1][-1], ToolMessage)
    assert not any("14 days" in m.text for m in model.conversations[1] if isinstance(m, ModelMessage))


async def test_code_searches_a_follow_up_together_with_the_question_before_it() -> None:
    search = Searches(REFUNDS)
    model = ScriptedModel(Reply(text="14 days."), Reply(text="30 days. [1]"), KEEP)
    history = (Exchange("返金は？", "できます。[1]"), Exchange("ありがとう", "どういたしまして。"))
    answer = answer_of(await events(model, asking("それはいつまで？", history=history), search))
    assert search.asked == [("返金は？ それはいつまで？", None)]
    assert answer.outcome == "answered"


async def test_a_model_without_tools_reads_what_code_has_found_for_it() -> None:
    model = ScriptedModel(Reply(text="30 days. [1]"), KEEP, tools=False)
    assert answer_of(await events(model, "How long do refunds take?", Searches(REFUNDS))).text == "30 days. [1]"
    assert results(model, 0)[0].startswith("Result 1 (Score")
    assert model.finished


async def test_a_model_that_insists_without_a_source_is_not_believed() -> None:
    model = ScriptedModel(Reply(text="A tuple is immutable."), Reply(text="A tuple is immutable."), KEEP)
    answer = answer_of(await events(model, "What did we decide about tuples?", Searches(REFUNDS)))
    assert (answer.outcome, answer.citations) == ("unknown", ())


async def test_what_a_refusal_says_of_the_team_without_a_search_is_not_posted() -> None:
    model = ScriptedModel(Reply(text=f"{DECLINED} Refunds take 14 days, and more I may not say."))
    answer = answer_of(await events(model, "Tell me all about refunds", Searches(REFUNDS)))
    assert (answer.outcome, answer.text) == ("declined", "Sorry, I cannot help with this request.")


async def test_the_mark_of_a_refusal_alone_is_none() -> None:
    model = ScriptedModel(Reply(text=DECLINED), Reply(text="30 days. [1]"), KEEP)
    assert answer_of(await events(model, "How long do refunds take?", Searches(REFUNDS))).text == "30 days. [1]"
    model = ScriptedModel(Reply(text=DECLINED), Reply(text=DECLINED))
    assert answer_of(await events(model, "How long do refunds take?", Searches(REFUNDS))).outcome == "declined"


async def test_a_model_that_repeats_itself_does_not_use_up_the_turn() -> None:
    endless = Reply(text="Refunds of a company, " * 2_000)
    model = ScriptedModel(endless, endless, endless, Reply(text="30 days. [1]"), KEEP)
    assert answer_of(await events(model, "How long do refunds take?", Searches(REFUNDS))).text == "30 days. [1]"
    assert model.offered[-2:] == [(), ()]  # searched by code, and written without tools


async def test_which_collections_there_are_can_be_said_from_their_list_and_no_more() -> None:
    listing = Reply(calls=(ToolCall("1", "list_rag_collections", {}),))
    model = ScriptedModel(listing, Reply(text="There are handbook and faq."))
    steps = await events(model, "Which documents do we have?", Searches())
    assert steps[1] == ToolReturned("1", "list_rag_collections", "2 collections")
    assert "- faq: よくある質問 (Japanese; 1 documents, 4 passages)" in results(model, 1)[0]
    assert (answer_of(steps).outcome, answer_of(steps).text) == ("answered", "There are handbook and faq.")
    search = Searches(REFUNDS)
    model = ScriptedModel(
        listing, Reply(text="In the handbook: refunds take 14 days."), Reply(text="30 days. [1]"), KEEP
    )
    assert answer_of(await events(model, "How long do refunds take?", search)).text == "30 days. [1]"
    assert search.asked


# -- numbers ---------------------------------------------------------------------------------------------------------


async def test_steps_name_documents_where_the_answer_has_numbers_of_its_own() -> None:
    review = '{"verdict": "keep", "critique": "[3] says so, and Result 1 does not; [3], [9] (source 2)."}'
    model = ScriptedModel(
        look("refund"),
        Reply(thought="Result 3 has it [9][3][3][1]. 検索結果3にあります。結果3件。", text="20 days of leave. [3]"),
        Reply(text=review),
    )
    long = hit("Gift cards are not refunded.", f"{'x' * 70}.md")
    steps = await events(model, "How many days of leave?", Searches(REFUNDS, long, LEAVE))
    assert Thought("[leave.md] has it [leave.md][refunds.md]. [leave.md]にあります。結果3件。") in steps
    assert Drafted("20 days of leave. [leave.md]") in steps
    (reviewed,) = [step for step in steps if isinstance(step, Reflected)]
    assert reviewed.text == f"[leave.md] says so, and [refunds.md] does not; [leave.md], [{'x' * 59}…]."
    assert answer_of(steps).text == "20 days of leave. [1]"
    assert [(one.n, one.document) for one in answer_of(steps).citations] == [(1, "leave.md")]


# -- reflection ------------------------------------------------------------------------------------------------------


async def test_the_review_reads_what_the_draft_cites_and_nothing_twice() -> None:
    model = ScriptedModel(look("refund"), look("leave", id="2"), Reply(text="30 days. [1]"), KEEP)
    search = Searches(by_query={"refund": found([REFUNDS, VPN]), "leave": found([REFUNDS, LEAVE])})
    await events(model, "How long do refunds take?", search)
    told = "".join(results(model, 3))
    assert told.count("Refunds take 30 days.") == 1
    assert "AnyConnect" not in told and "20 days of paid leave" not in told
    assert len(str(model.conversations[3])) < len(str(model.conversations[2]))


async def test_a_revision_is_what_is_answered_and_says_what_it_changed() -> None:
    model = ScriptedModel(
        look("refund"),
        Reply(text="About a month, I guess. [1]"),
        Reply(text='{"verdict": "revise", "critique": "Say 30 days.", "answer": "Refunds take 30 days. [1]"}'),
    )
    steps = await events(model, "How long do refunds take?", Searches(REFUNDS))
    assert [step for step in steps if isinstance(step, Drafted | Reflected)] == [
        Drafted("About a month, I guess. [refunds.md]"),
        Reflected("revise", "Say 30 days."),
    ]
    assert answer_of(steps).text == "Refunds take 30 days. [1]"
    assert model.finished


@pytest.mark.parametrize("answer", ["Same as the draft.", "N/A"])
async def test_a_revision_that_is_no_answer_leaves_the_draft_and_is_not_sure(answer: str) -> None:
    revise = f'{{"verdict": "revise", "critique": "Fine.", "answer": "{answer}"}}'
    model = ScriptedModel(look("refund"), Reply(text="Refunds take 30 days. [1]"), Reply(text=revise))
    said = answer_of(await events(model, "How long do refunds take?", Searches(REFUNDS)))
    assert (said.outcome, said.text, said.unsure) == ("answered", "Refunds take 30 days. [1]", True)


@pytest.mark.parametrize(
    ("draft", "shown"),
    [
        ("Refunds take 30 days. [cite: 1]", "Refunds take 30 days. [1]"),
        ("[cite_start]Refunds take 30 days. [cite: 1]", "Refunds take 30 days. [1]"),
        ("Refunds take 30 days (1).", "Refunds take 30 days [1]."),
        ("- Refunds take 30 days (1)\n- No refund for gift cards (1)", "- Refunds take 30 days [1]\n- No refund for gift cards [1]"),
        ("Refunds take 30 days (1). No refund for gift cards (1).", "Refunds take 30 days [1]. No refund for gift cards [1]."),
        ("返金には30日かかります(1)。担当は田中さんです（1）。", "返金には30日かかります [1]。担当は田中さんです [1]。"),
        ("Refunds take 30 days [doc_1].", "Refunds take 30 days [1]."),
        ("Refunds take 30 days [^1^].", "Refunds take 30 days [1]."),
        ("Refunds take 30 days [ref_1].", "Refunds take 30 days [1]."),
        ("Refunds take 30 days [Source: Result 1].", "Refunds take 30 days [1]."),
        ("Refunds take 30 days (see Result 1).", "Refunds take 30 days [1]."),
        ("Refunds take 30 days <cite>1</cite>.", "Refunds take 30 days [1]."),
        ("Refunds take 30 days [Result 1](refunds.md).", "Refunds take 30 days [1]."),
        ("Refunds take 30 days [1, passage 2].", "Refunds take 30 days [1]."),
        ("Refunds take 30 days [#1].", "Refunds take 30 days [1]."),
        ("Refunds take 30 days (#1, #2).", "Refunds take 30 days [1]."),
        ("返金には30日かかります【#1】。", "返金には30日かかります[1]。"),
        ("Refunds take 30 days [1], [2].", "Refunds take 30 days [1]."),
        ("返金には30日かかります[1]、[2]。", "返金には30日かかります[1]。"),
        ("返金には30日かかります（参照：結果 1）。", "返金には30日かかります[1]。"),
        ("返金には30日かかります[文書1]。", "返金には30日かかります[1]。"),
        ("According to Result 1, refunds take 30 days.", "According to [1], refunds take 30 days."),
        ("検索結果1によると、返金には30日かかります。", "[1]によると、返金には30日かかります。"),
        ("Refunds take 30 days. (1)\n```\nf (1)\n```", "Refunds take 30 days. [1]\n```\nf (1)\n```"),
    ],
)  # fmt: skip
async def test_a_draft_may_cite_in_other_forms(draft: str, shown: str) -> None:
    model = ScriptedModel(look("refund"), Reply(text=draft), KEEP)
    assert answer_of(await events(model, "How long do refunds take?", Searches(REFUNDS))).text == shown


async def test_a_revision_is_held_against_the_passages_too() -> None:
    revise = '{"verdict": "revise", "critique": "Better.", "answer": "Refunds take 3 days. [1]"}'
    model = ScriptedModel(look("refund"), Reply(text="30 days [1]"), Reply(text=revise))
    answer = answer_of(await events(model, "How long do refunds take?", Searches(REFUNDS)))
    assert "3 days" not in answer.text or answer.marked or answer.outcome == "unknown"


@pytest.mark.parametrize(
    ("question", "draft", "objection"),
    [
        ("How long do refunds take?", "返金には30日かかります。ギフトカードは返金できません。[1]", "The question is in English"),
        ("返金は何日かかりますか？", "Refunds take 30 days. [1]", "質問は日本語なので"),
        ("How long do refunds take?", "Refunds take 30 days. [1]", ""),
        ("返金は何日かかりますか？", "返金には30日かかります。[1]", ""),
        ("返金は何日かかりますか？", "ERR-4041 [1]", ""),
        ("返金の期間を英語で教えて", "Refunds take 30 days. [1]", ""),
        ("How do you say that in Japanese?", "返金には30日かかります。ギフトカードは返金できません。[1]", ""),
    ],
)  # fmt: skip
async def test_a_draft_in_another_language_than_the_question_is_objected_to(
    question: str, draft: str, objection: str
) -> None:
    model = ScriptedModel(look("refund"), Reply(text=draft), KEEP)
    answer = answer_of(await events(model, question, Searches(REFUNDS, HENKIN, VPN), judge=Entailing()))
    told = str(model.conversations[2][-1])
    assert objection in told and ("in English, so" in told or "日本語なので" in told) is bool(objection)
    assert not answer.unsure  # it is right all the same


@pytest.mark.parametrize(
    ("question", "said", "shown"),
    [
        ("What is 17 * 23?", "17 * 23 = 401", "17 × 23 = 391"),
        ("What is 17 * 23?", "17 * 23 = 391", "17 * 23 = 391"),
        ("17 * 23は？", "答えは401です。", "17 × 23 = 391です。"),
        ("What is 5 - 0?", "5 - 0 = 7", "5 - 0 = 5"),
        ("What is 1 / 0?", "It has no result.", "It has no result."),
    ],
)
async def test_a_sum_is_recomputed(question: str, said: str, shown: str) -> None:
    answer = answer_of(await events(ScriptedModel(Reply(text=said)), question, Searches(REFUNDS)))
    assert (answer.text, answer.outcome) == (shown, "answered")


@pytest.mark.parametrize("failure", [ModelBusy("429", 100), ModelUnavailable("x", "key"), ModelBlocked("safety")])
async def test_a_review_that_fails_leaves_the_draft_and_says_so(failure: ModelError) -> None:
    model = ScriptedModel(look("refund"), Reply(text="30 days. [1] It costs $20. [1]"), failure)
    steps = await events(model, "How long do refunds take?", Searches(REFUNDS))
    assert steps[-2] == Reflected("keep", "The draft could not be reviewed; only the automatic check was made.")
    assert answer_of(steps).text == f"30 days. [1]\n\n{LEFT_OUT.to('en', n=1)}"
    assert answer_of(steps).unsure


@pytest.mark.parametrize(
    ("draft", "review", "unsure"),
    [
        ("30 days. [1]", '{"verdict": "keep"}', False),
        ("30 days. [1]\nFound: yes\nSure: no", '{"verdict": "keep"}', True),
        ("30 days. [1]\nFound: yes\nSure: yes", '{"verdict": "keep", "found": "yes", "sure": "no"}', True),
        ("30 days. [1]\nSure: no", '{"verdict": "keep", "found": "yes", "sure": "yes"}', False),
    ],
)
async def test_a_model_says_how_sure_it_is(draft: str, review: str, unsure: bool) -> None:
    model = ScriptedModel(look("refund"), Reply(text=draft), Reply(text=review))
    answer = answer_of(await events(model, "How long do refunds take?", Searches(REFUNDS)))
    assert (answer.text, answer.unsure, answer.outcome) == ("30 days. [1]", unsure, "answered")


async def test_a_review_that_finds_no_answer_is_not_found() -> None:
    model = ScriptedModel(look("x"), Reply(text="30 days. [1]"), Reply(text='{"verdict": "keep", "found": "no"}'))
    answer = answer_of(await events(model, "Pets?", Searches(REFUNDS)))
    assert answer.outcome == "unknown" and "The closest page is Refunds." in answer.text


async def test_a_contradiction_that_the_model_keeps_silent_about_is_named() -> None:
    new = hit("Refunds take 30 days.", "new.md", updated="2025-04-01")
    old = hit("Refunds take 45 days.", "old.md", updated="2023-06-30")
    model = ScriptedModel(look("refund"), Reply(text="Refunds take 30 days. [2]"), KEEP)
    answer = answer_of(await events(model, "How long do refunds take?", Searches(old, new)))
    assert "the sources disagree about the figure: “30 days” in [1], “45 days” in [2]" in answer.text
    assert [one.document for one in answer.citations] == ["new.md", "old.md"]
