"""A conversation as every provider wants it: one system text, then turns that begin with the user's, calls answered."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent.models.base import Message, ModelMessage, SystemMessage, ToolCall, ToolMessage, ToolResult, UserMessage

NOT_MADE = "This call was not made."


@dataclass(frozen=True, slots=True)
class Own:
    """The provider's own form, which goes back verbatim in `ModelMessage.raw`: a provider's own message, for the model
    that wrote it alone.

    It lives as long as the turn and is stored nowhere: a turn that is resumed after a restart begins anew, and what was
    said in earlier turns goes back as plain text, which the providers take without signatures (R26).
    """

    model: str
    message: Any


@dataclass(frozen=True, slots=True)
class Plain:
    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Results:
    """Of the calls of the message before it, in their order; None where a call was not made."""

    results: tuple[tuple[ToolCall, ToolResult | None], ...]


Turn = Plain | Own | Results


def turns(messages: Sequence[Message], model: str, declared: Collection[str]) -> tuple[str, list[Turn]]:
    """The system text and the turns, no text of them empty.

    What another model said, and calls of tools that are not `declared` now, are put as plain text.
    """
    system: list[str] = []
    found: list[Turn] = []
    pending: tuple[ToolCall, ...] = ()  # calls that wait for their results

    def say(role: Literal["user", "assistant"], text: str) -> None:
        if text.strip():
            found.extend([Plain("user", "…")] if role == "assistant" and not found else [])
            found.append(Plain(role, text))

    for message in messages:
        if pending and not isinstance(message, ToolMessage):
            found.append(Results(tuple((call, None) for call in pending)))
            pending = ()
        match message:
            case SystemMessage():
                system.append(message.text)
            case UserMessage():
                say("user", message.whole)
            case ModelMessage(raw=Own() as own, calls=calls) if own.model == model and all(
                call.name in declared for call in calls
            ):
                found += [*([] if found else [Plain("user", "…")]), own]
                pending = calls
            case ModelMessage():
                called = "\n".join(f"[{call.name} {_json(call.arguments)}]" for call in message.calls)
                say("assistant", f"{message.text}\n\n{called}" if called else message.text)
            case ToolMessage() if pending:
                results = {call.id: result for call, result in message.results}
                found.append(Results(tuple((call, results.get(call.id)) for call in pending)))
                pending = ()
            case ToolMessage():
                say("user", "\n\n".join(f"[{call.name}]\n{result.content}" for call, result in message.results))
    if pending:
        found.append(Results(tuple((call, None) for call in pending)))
    return "\n\n".join(system), found


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
