"""Turns whose model fails, hangs or is given too much."""

import asyncio
import json
from collections.abc import Sequence

import pytest

from agent.conversation import HISTORY_CHARACTERS, RESULTS_CHARACTERS
from agent.events import Thought, ToolReturned
from agent.models.base import (
    ModelBlocked,
    ModelBusy,
    ModelError,
    ModelMessage,
    ModelOverlong,
    ModelProtocolError,
    ModelUnavailable,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from agent.sentinels import NO_ANSWER
from agent.strategies.react import Agent, Exchange
from agent.strategies.synthesis import Synthesis
from agent.tools import SEARCH
from retrieval.types import Found
from tests.agent.passages import LEAVE, REFUNDS, VPN, hit
from tests.agent.turning import KEEP, Entailing, Searches, answer_of, asking, events, found, look
from tests.fakes.scripted import Reply, ScriptedModel


def results(model: ScriptedModel, call: int) -> list[str]:
    """What the tools had told the model when it was called for the `call`-th time."""
    return [
        result.content
        for message in model.conversations[call]
        if isinstance(message, ToolMessage)
        for _, result in message.results
    ]


# -- when the model fails --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (ModelBusy("429 quota", 3600), "it is overloaded or over its quota right now"),
        (ModelUnavailable("401 API key AIzaSECRET", "key"), "its key was not accepted"),
        (ModelUnavailable("404", "model"), "the configured model is not available"),
        (ModelUnavailable("504", "timeout"), "it took too long to reply"),
    ],
)
async def test_the_fallback_goes_on_with_what_is_known_and_says_so(failure: ModelError, reason: str) -> None:
    fallback = ScriptedModel(Reply(text="“Refunds take 30 days.” [1]"), KEEP, name="extractive")
    model = ScriptedModel(look("refund"), failure, name="gemini:x")
    search = Searches(REFUNDS)
    answer = answer_of(await events(model, "How long do refunds take?", search, fallback=fallback))
    assert answer.text == f"“Refunds take 30 days.” [1]\n\n(Written without the language model: {reason}.)"
    assert (answer.outcome, answer.model) == ("answered", "extractive")
    assert fallback.conversations[0][1:] == (
        UserMessage("How long do refunds take?"),
        ModelMessage(calls=look("refund").calls),
        model.conversations[1][-1],
    )
    assert len(search.asked) == 1


LONG = [
    hit(f"Refunds take {n}0 days in shop {n}. {'All of this is so long. ' * 60}", f"shop-{n}.md") for n in range(1, 5)
]


async def test_a_model_that_cannot_read_all_that_was_found_is_given_less_of_it() -> None:
    overlong = ModelOverlong("400 the request exceeds the available context size")
    answer = Reply(text="In shop 1 refunds take 10 days. [1]")
    model = ScriptedModel(look("refund"), overlong, overlong, answer, KEEP)
    fallback = ScriptedModel(name="extractive")
    said = answer_of(await events(model, "How long do refunds take in shop 1?", Searches(*LONG), fallback=fallback))
    assert (said.text, said.model, said.unsure) == ("In shop 1 refunds take 10 days. [1]", "scripted", False)
    assert model.finished
    whole, half, quarter = (sum(map(len, results(model, at))) for at in (1, 2, 3))
    assert half <= whole / 2 and quarter <= whole / 4
    assert results(model, 3)[0].startswith("Result 1 (Score")  # the best


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("How long do refunds take?", "the question with what was found for it is longer than it can read"),
        ("返金は何日かかりますか？", "質問と検索結果が言語モデルの読める長さを超えた"),
    ],
)
async def test_a_model_that_can_read_next_to_nothing_is_not_asked_for_ever(question: str, reason: str) -> None:
    overlong = ModelOverlong("400 context_length_exceeded")
    fallback = ScriptedModel(Reply(text="“Refunds take 30 days.” [1]"), KEEP, name="extractive")
    model = ScriptedModel(look("refund"), *[overlong] * 3)
    said = answer_of(await events(model, question, Searches(*LONG), fallback=fallback))
    assert reason in said.text and said.model == "extractive"
    assert model.finished


async def test_the_notice_is_in_japanese_for_a_japanese_question() -> None:
    fallback = ScriptedModel(look("返金"), Reply(text=NO_ANSWER), name="extractive")
    model = ScriptedModel(ModelUnavailable("x", "key"))
    answer = answer_of(await events(model, "ペットは？", Searches(), fallback=fallback))
    assert answer.text.endswith(
        "（言語モデルの API キーが受け付けられなかったため、言語モデルを使わずに回答しています。）"
    )
    assert answer.outcome == "unknown"


async def test_unusable_replies_are_asked_for_again_then_without_tools_then_the_fallback() -> None:
    model = ScriptedModel(*[ModelProtocolError("malformed")] * 6)
    fallback = ScriptedModel(look("refund"), Reply(text="30 days. [1]"), KEEP)
    answer = answer_of(await events(model, "How long do refunds take?", Searches(REFUNDS), fallback=fallback))
    assert model.offered == [("search_rag_knowledge_base", "list_rag_collections")] * 3 + [()] * 3
    assert answer.text.startswith("30 days. [1]")


async def test_an_unusable_reply_now_and_then_does_no_harm() -> None:
    model = ScriptedModel(
        ModelProtocolError("x"), look("refund"), Reply(), ModelProtocolError("x"), Reply(text="30 days. [1]"), KEEP
    )
    assert answer_of(await events(model, "How long?", Searches(REFUNDS))).text == "30 days. [1]"


async def test_without_a_fallback_a_failure_is_an_apology() -> None:
    answer = answer_of(
        await events(ScriptedModel(ModelUnavailable("secret detail", "key")), "返金はいつ？", Searches())
    )
    assert answer.outcome == "failed"
    assert answer.text.startswith("申し訳ありません。言語モデルの API キーが受け付けられなかったため")
    assert "secret" not in answer.text


async def test_when_the_fallback_fails_too_the_first_reason_is_given() -> None:
    model, fallback = ScriptedModel(ModelUnavailable("x", "key")), ScriptedModel(ModelUnavailable("y", "model"))
    answer = answer_of(await events(model, "Refunds?", Searches(), fallback=fallback))
    assert answer.outcome == "failed"
    assert "its key was not accepted" in answer.text


async def test_a_blocked_question_is_declined_politely_without_another_try() -> None:
    fallback = ScriptedModel()
    answer = answer_of(await events(ScriptedModel(ModelBlocked("SAFETY")), "…", Searches(), fallback=fallback))
    assert answer.outcome == "declined"
    assert fallback.conversations == []


async def test_an_answer_cut_off_says_so() -> None:
    model = ScriptedModel(look("refund"), Reply(text="Refunds take 30 days. [1] Gift", cut=True), KEEP)
    answer = answer_of(await events(model, "How long?", Searches(REFUNDS)))
    assert answer.text.startswith("Refunds take 30 days. [1]")
    assert answer.text.endswith("(This answer was cut off at the length limit.)")


# -- time and space --------------------------------------------------------------------------------------------------


async def test_a_model_that_hangs_leaves_time_for_the_fallback() -> None:
    never = asyncio.Event()
    model = ScriptedModel(look("refund"), Reply(text="x", hold=never), Reply(text="x", hold=never), name="slow")
    fallback = ScriptedModel(Reply(text="30 days. [1]"), KEEP)
    now = asyncio.get_running_loop().time
    started = now()
    ask = asking("How long do refunds take?", deadline=started + 1.5)
    answer = answer_of(await events(model, ask, Searches(REFUNDS), fallback=fallback))
    assert answer.text.startswith("30 days. [1]")
    assert "it took too long to reply" in answer.text
    assert len(fallback.conversations) == 2


async def test_when_the_search_time_is_over_the_answer_is_written_from_what_is_known() -> None:
    model = ScriptedModel(look("refund"), Reply(text="x", hold=asyncio.Event()), Reply(text="30 days. [1]"), KEEP)
    ask = asking("How long do refunds take?", deadline=asyncio.get_running_loop().time() + 2.0)
    answer = answer_of(await events(model, ask, Searches(REFUNDS)))
    assert answer.text == "30 days. [1]"
    assert model.offered[2] == ()


@pytest.mark.parametrize("first", [look("How long do refunds take?"), Reply(text="30 days.")], ids=["model", "code"])
async def test_a_search_that_the_time_for_searching_cut_off_is_made_once_more(first: Reply) -> None:
    class SlowAtFirst(Searches):
        async def __call__(self, queries: Sequence[str], collections: tuple[str, ...] | None) -> Found:
            answer = await super().__call__(queries, collections)
            if len(self.asked) == 1:
                await asyncio.Event().wait()
            return answer

    search = SlowAtFirst(REFUNDS)
    model = ScriptedModel(first, Reply(text="30 days. [1]"), KEEP)
    ask = asking("How long do refunds take?", deadline=asyncio.get_running_loop().time() + 2.0)
    answer = answer_of(await events(model, ask, search))
    assert (answer.outcome, answer.text) == ("answered", "30 days. [1]")
    assert search.asked == [("How long do refunds take?", None)] * 2


@pytest.mark.parametrize("strategy", [Agent, Synthesis])
@pytest.mark.parametrize("slow", ["refund", "leave"])
async def test_what_one_search_has_found_stays_when_another_is_cut_off(
    strategy: type[Agent] | type[Synthesis], slow: str
) -> None:
    class Slow(Searches):
        async def __call__(self, queries: Sequence[str], collections: tuple[str, ...] | None) -> Found:
            found = await super().__call__(queries, collections)
            if queries[0] == slow:
                await asyncio.Event().wait()
            return found

    calls = tuple(ToolCall(query, SEARCH, {"query": query}) for query in ("refund", "leave"))
    plan = json.dumps({"queries": [{"query": call.arguments["query"]} for call in calls]})
    drafted = Reply(text="30 days. [1]")
    searching = (Reply(calls=calls),) if strategy is Agent else (Reply(text=plan), drafted)
    model = ScriptedModel(*searching, drafted, KEEP)
    ask = asking("How long do refunds take?", deadline=asyncio.get_running_loop().time() + 1.5)
    steps = [event async for event in strategy(model, Slow(REFUNDS), judge=Entailing()).run(ask)]
    assert answer_of(steps).text == "30 days. [1]"
    returned = {step.id.removeprefix("search-"): step.failed for step in steps if isinstance(step, ToolReturned)}
    assert [*returned.values()] == [slow == "refund", slow == "leave"]


async def test_a_model_that_hangs_for_ever_ends_in_an_apology() -> None:
    never = asyncio.Event()
    model = ScriptedModel(Reply(text="x", hold=never), Reply(text="x", hold=never))
    ask = asking("How long do refunds take?", deadline=asyncio.get_running_loop().time() + 0.2)
    answer = answer_of(await events(model, ask, Searches(REFUNDS)))
    assert answer.outcome == "failed"
    assert "it took too long to reply" in answer.text


async def test_a_long_thread_and_long_results_stay_within_bounds() -> None:
    history = tuple(Exchange(f"question {n} " + "q" * 3000, "a" * 20_000) for n in range(500))
    pages = [hit("Refunds take 30 days. " + "x" * 3_000, f"p{n}.md") for n in range(400)]
    by_query = {f"q{n}": found(pages[n * 20 : n * 20 + 20]) for n in range(9)}
    model = ScriptedModel(*(look(f"q{n}", id=str(n)) for n in range(9)), Reply(text="30 days. [1]"), KEEP)
    ask = asking("How long do refunds take?" + "?" * 100_000, history=history)
    answer = answer_of(await events(model, ask, Searches(by_query=by_query)))
    assert answer.outcome == "answered"
    for conversation in model.conversations:
        told = sum(len(result.content) for m in conversation if isinstance(m, ToolMessage) for _, result in m.results)
        said = sum(len(m.text) for m in conversation if isinstance(m, UserMessage | ModelMessage))
        assert told <= RESULTS_CHARACTERS + 1_000
        assert said <= HISTORY_CHARACTERS + 15_000
    assert "left out to save space" in results(model, 9)[0]
    assert "Refunds take 30 days." in results(model, 9)[-1]


async def test_the_latest_exchanges_are_kept() -> None:
    model = ScriptedModel(Reply(text="Hello!"))
    history = tuple(Exchange(f"q{n}", "a" * 2_000) for n in range(30))
    await events(model, asking("Hello!", history=history), Searches())
    texts = [m.text for m in model.conversations[0] if isinstance(m, UserMessage)]
    assert texts[-2:] == ["q29", "Hello!"]
    assert "q0" not in texts


async def test_closing_a_turn_early_ends_it() -> None:
    model = ScriptedModel(look("refund", thought="Look."), Reply(text="30 days. [1]"))
    turn = Agent(model, Searches(REFUNDS)).run(asking("How long?"))
    assert await anext(turn) == Thought("Look.")
    await turn.aclose()
    assert not model.finished


async def test_one_agent_runs_many_turns_at_once() -> None:
    async def one(n: int) -> str:
        model = ScriptedModel(look("x"), Reply(text="30 days. [1]" if n % 2 else "20 days. [1]"), KEEP)
        return answer_of(await events(model, "How long?", Searches(REFUNDS if n % 2 else LEAVE, VPN))).text

    assert await asyncio.gather(*(one(n) for n in range(20))) == ["20 days. [1]", "30 days. [1]"] * 10
