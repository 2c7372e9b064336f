"""An answer from given passages: they alone reach the model, and the check in code has the last word."""

from collections.abc import Sequence

from agent.events import Answered, Event, ToolReturned
from agent.extractive.model import ExtractiveModel
from agent.models.base import ModelUnavailable, ToolMessage
from agent.strategies.react import Ask
from agent.strategies.selected_passages import GivenPassages
from retrieval.sparse import SparseEncoder
from retrieval.types import Hit
from tests.agent.passages import LEAVE, REFUNDS
from tests.agent.turning import KEEP
from tests.fakes.scripted import Reply, ScriptedModel

QUESTION = "How long do refunds take?"


async def events(model: ScriptedModel, hits: Sequence[Hit], **more: object) -> list[Event]:
    given = GivenPassages(model, hits, **more)
    return [event async for event in given.run(Ask(QUESTION, "en"))]


def last(happened: Sequence[Event]) -> Answered:
    answered = happened[-1]
    assert isinstance(answered, Answered)
    return answered


async def test_the_model_reads_the_chosen_passages_and_nothing_else() -> None:
    model = ScriptedModel(Reply(text="Refunds take 30 days. [1]"), KEEP)
    happened = await events(model, [REFUNDS])
    answered = last(happened)
    assert (answered.outcome, [one.document for one in answered.citations]) == ("answered", [REFUNDS.passage.document])
    assert [event.hits for event in happened if isinstance(event, ToolReturned)] == [(REFUNDS,)]
    told = [message for message in model.conversations[0] if isinstance(message, ToolMessage)]
    assert len(told) == 1 and LEAVE.passage.text not in str(model.conversations)
    assert model.offered[0] == () and model.finished


async def test_what_the_passages_do_not_say_does_not_pass() -> None:
    model = ScriptedModel(Reply(text="Refunds take 45 days. [1]"), KEEP)
    assert last(await events(model, [REFUNDS])).outcome == "unknown"
    model = ScriptedModel(Reply(text="Refunds take 30 days. [1]"), KEEP)

    async def nothing(hits: Sequence[Hit]) -> frozenset[str]:
        return frozenset()

    assert last(await events(model, [REFUNDS], still_readable=nothing)).outcome == "unknown"


async def test_another_model_takes_over_with_the_same_passages() -> None:
    extractive = ExtractiveModel(tokenise=SparseEncoder().terms)
    happened = await events(ScriptedModel(ModelUnavailable("down")), [LEAVE, REFUNDS], fallback=extractive)
    answered = last(happened)
    assert answered.outcome == "answered" and "30 days" in answered.text and answered.model == "extractive"
    assert "Written without the language model" in answered.text
    failed = last(await events(ScriptedModel(ModelUnavailable("down")), [REFUNDS]))
    assert failed.outcome == "failed"
