"""Whole turns as files: a question, what the search finds, what the model says, and every event that must come of
it."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.models.base import ModelBusy, ModelProtocolError, ModelUnavailable, ToolCall
from agent.strategies.react import Agent, Exchange
from agent.strategies.synthesis import Synthesis
from bot.turns.event_json import as_json
from retrieval.types import CollectionInfo, Found, Hit
from tests.agent.passages import hit
from tests.agent.turning import Searches, asking, events, found
from tests.fakes.scripted import Reply, ScriptedModel

FOLDER = Path(__file__).parent.parent / "golden" / "turns"
STRATEGIES: dict[str, type[Agent] | type[Synthesis]] = {"react": Agent, "synthesis": Synthesis}
FAILURES = {
    "busy": ModelBusy("429", 3600),
    "key": ModelUnavailable("401", "key"),
    "protocol": ModelProtocolError("malformed"),
}


def model(script: list[dict[str, Any]], name: str) -> ScriptedModel:
    replies: list[Reply | Exception] = []
    for said in script:
        if "fails" in said:
            replies.append(FAILURES[said["fails"]])
            continue
        text = said.get("text", "")
        calls = tuple(
            ToolCall(call["id"], call.get("name", "search_rag_knowledge_base"), call["arguments"])
            for call in said.get("calls", ())
        )
        written = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
        replies.append(Reply(said.get("thought", ""), written, calls, said.get("cut", False)))
    return ScriptedModel(*replies, name=name)


def searches(turn: dict[str, Any]) -> Searches:
    passages: dict[str, Hit] = {
        name: hit(**values | {"headings": tuple(values.get("headings", ()))})
        for name, values in turn["passages"].items()
    }
    answers: dict[str, Found | Exception] = {}
    for query, result in turn["searches"].items():
        answers[query] = found(
            [passages[name] for name in result.get("hits", ())], failed=tuple(result.get("failed", ()))
        )
    return Searches(by_query=answers)


def shown(event: dict[str, Any]) -> dict[str, Any]:
    """An event without how long it took and without the scores, which the passages of a file all share; doubt and dates
    where there are any."""
    event.pop("seconds", None)
    if not event.get("unsure", True):
        del event["unsure"]
    for each in event.get("citations", ()):
        if each["date"] is None:
            del each["date"]
    for each in event.get("hits", ()):
        each.pop("scores")
    return event


TURNS = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}


@pytest.mark.parametrize("name", TURNS)
async def test_a_turn(name: str) -> None:
    turn = TURNS[name]
    main = model(turn["script"], "gemini:scripted")
    spare = model(turn["fallback"], "extractive") if "fallback" in turn else None
    ask = asking(
        turn["question"],
        history=tuple(Exchange(*pair) for pair in turn.get("history", ())),
        collections=tuple(CollectionInfo(name) for name in turn["collections"]),
    )
    strategy = STRATEGIES[turn.get("strategy", "react")]
    happened = await events(main, ask, searches(turn), strategy=strategy, fallback=spare, **turn.get("options", {}))
    assert [shown(as_json(event)) for event in happened] == turn["events"]
    assert main.finished
    assert spare is None or spare.finished


def test_there_are_turns_in_both_languages() -> None:
    assert {name.rsplit(".", 1)[1] for name in TURNS} == {"ja", "en"}
    assert len(TURNS) >= 10
