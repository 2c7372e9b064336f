"""The check's findings go into the review, and what code cannot decide to a judge; what neither confirms is said."""

import asyncio
import json

import pytest

from agent.events import Reflected
from agent.grounding.check import LEFT_OUT, NOT_CONFIRMED
from agent.models.base import ModelError, ModelUnavailable, SystemMessage, UserMessage
from agent.models.quota import SpentError
from retrieval.i18n import Language
from retrieval.types import Hit
from tests.agent.passages import REFUNDS, ZAITAKU
from tests.agent.turning import KEEP, Searches, answer_of, asking, events, look
from tests.fakes.scripted import Reply, ScriptedModel

CASES: dict[Language, tuple[str, Hit, str]] = {
    "en": ("Can gift cards be refunded?", REFUNDS, "Yes, gift cards can be refunded within a month. [1]"),
    "ja": ("在宅勤務は申請が必要ですか？", ZAITAKU, "はい、在宅勤務には上長への申請が要ります。[1]"),
}


def verdict(said: str) -> Reply:
    return Reply(text=json.dumps({"verdicts": [{"claim": 1, "verdict": said}]}))


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize(("said", "doubted"), [("entailed", False), ("contradicted", True), ("not_stated", True)])
async def test_what_code_cannot_decide_a_judge_decides_in_one_call(
    language: Language, said: str, doubted: bool
) -> None:
    question, passage, draft = CASES[language]
    judge = ScriptedModel(verdict(said))
    model = ScriptedModel(look("x"), Reply(text=draft), KEEP)
    answer = answer_of(await events(model, asking(question, language=language), Searches(passage), judge=judge))
    assert judge.finished and judge.efforts == ["low"] and judge.offered == [()]
    assert answer.outcome == "answered" and answer.unsure == doubted
    assert (NOT_CONFIRMED.to(language) in answer.text) == doubted == answer.marked
    system, claims = judge.conversations[0]
    assert isinstance(system, SystemMessage) and isinstance(claims, UserMessage)
    assert draft.removesuffix(" [1]").removesuffix("[1]") in claims.text and passage.passage.text[:20] in claims.text


async def test_without_a_judge_of_its_own_the_model_judges_and_its_cost_is_the_turns() -> None:
    question, passage, draft = CASES["en"]
    model = ScriptedModel(look("x"), Reply(text=draft), KEEP, verdict("contradicted"))
    answer = answer_of(await events(model, question, Searches(passage), judge=None))
    assert model.finished and answer.unsure and answer.cost.calls == 4
    assert model.efforts == [None, None, None, "low"]


@pytest.mark.parametrize("failure", [SpentError("enough"), ModelUnavailable("down")])
async def test_a_judge_that_cannot_be_asked_is_skipped(failure: ModelError) -> None:
    question, passage, draft = CASES["en"]
    model, judge = ScriptedModel(look("x"), Reply(text=draft), KEEP), ScriptedModel(*[failure] * 3)
    answer = answer_of(await events(model, question, Searches(passage), judge=judge))
    assert answer.outcome == "answered" and "gift cards" in answer.text


@pytest.mark.parametrize("said", [SpentError("enough"), ModelUnavailable("down"), Reply(text="Looks right to me.")])
async def test_what_nobody_has_judged_is_not_sure(said: Reply | ModelError) -> None:
    draft = Reply(text="It takes thirty days to get your money refunded. [1]")  # in other words than the passage's
    judge = ScriptedModel(*[said] * 3)
    answer = answer_of(await events(ScriptedModel(look("x"), draft, KEEP), "How long?", Searches(REFUNDS), judge=judge))
    assert (answer.text, answer.unsure) == (draft.text, True)
    answer = answer_of(await events(ScriptedModel(look("x"), draft, KEEP), "How long?", Searches(REFUNDS)))
    assert (answer.text, answer.unsure) == (draft.text, False)


async def test_a_judge_that_hangs_is_not_waited_for_beyond_the_deadline() -> None:
    question, passage, draft = CASES["en"]
    judge = ScriptedModel(Reply(hold=asyncio.Event()))
    ask = asking(question, deadline=asyncio.get_running_loop().time() + 1.0)
    answer = answer_of(
        await events(ScriptedModel(look("x"), Reply(text=draft), KEEP), ask, Searches(passage), judge=judge)
    )
    assert answer.outcome == "answered"


@pytest.mark.parametrize("language", ["en", "ja"])
async def test_the_review_is_told_what_the_check_objects_to_and_all_passages(language: Language) -> None:
    draft = {"en": "Refunds take 45 days. [1]", "ja": "返金には45日かかります。[1]"}[language]
    better = {"en": "Refunds take 30 days. [2]", "ja": "返金には30日かかります。[2]"}[language]
    said = {"verdict": "revise", "critique": "45 → 30", "answer": better, "found": "yes", "sure": "yes"}
    model = ScriptedModel(look("x"), Reply(text=draft), Reply(text=json.dumps(said, ensure_ascii=False)))
    question = {"en": "How long do refunds take?", "ja": "返金は何日かかりますか？"}[language]
    steps = await events(model, asking(question, language=language), Searches(ZAITAKU, REFUNDS))
    wanted = model.conversations[2][-1]
    assert isinstance(wanted, UserMessage)
    objection = {"en": "“45 days” is not in the cited passage.", "ja": "「45日」は引用した資料にありません。"}[language]
    assert objection in wanted.text and draft[:-4].strip() in wanted.text
    assert REFUNDS.passage.text in str(model.conversations[2]) and ZAITAKU.passage.text in str(model.conversations[2])
    assert Reflected("revise", "45 → 30") in steps
    assert "30" in answer_of(steps).text and not answer_of(steps).unsure


async def test_what_still_fails_is_left_out_under_a_line_that_says_so() -> None:
    model = ScriptedModel(look("x"), Reply(text="Refunds take 30 days. [1] It costs $20. [1]"), KEEP)
    answer = answer_of(await events(model, "How long do refunds take?", Searches(REFUNDS)))
    assert answer.text == f"Refunds take 30 days. [1]\n\n{LEFT_OUT.to('en', n=1)}"
    assert answer.unsure
