"""Events as JSON: what `kotae ask --json` prints, the chat log holds and the database keeps of a turn's steps."""

from functools import cache
from typing import Any, assert_never

from pydantic import TypeAdapter

from agent.events import Answered, Citation, Drafted, Event, Reflected, Thought, ToolCalled, ToolReturned


def as_json(event: Event) -> dict[str, Any]:
    """One event in the form of product.md §7; passages are named, their text is not in it."""
    match event:
        case Thought(text):
            return {"type": "thought", "text": text}
        case ToolCalled():
            return {"type": "tool_call", "name": event.name, "arguments": dict(event.arguments)}
        case ToolReturned():
            hits = [
                {
                    "collection": hit.passage.collection,
                    "document": hit.passage.document,
                    "chunk": hit.passage.chunk,
                    "relevance": hit.relevance,
                    "scores": dict(hit.scores),
                }
                for hit in event.hits
            ]
            return {
                "type": "tool_result",
                "name": event.name,
                "summary": event.summary,
                "hits": hits,
                "failed": event.failed,
            }
        case Drafted(text):
            return {"type": "draft", "text": text}
        case Reflected(verdict, text):
            return {"type": "reflection", "verdict": verdict, "text": text}
        case Answered():
            return {
                "type": "answer",
                "text": event.text,
                "outcome": event.outcome,
                "unsure": event.unsure,
                "citations": [citation_json(citation) for citation in event.citations],
                "model": event.model,
                "seconds": event.seconds,
            }
        case _:
            assert_never(event)


def citation_json(citation: Citation) -> dict[str, Any]:
    return {
        "n": citation.n,
        "document": citation.document,
        "collection": citation.collection,
        "chunk": citation.chunk,
        "quote": citation.quote,
        "url": citation.url,
        "date": citation.date,
        **({"said_in": citation.said_in} if citation.said_in else {}),
    }


# -- the whole event ------------------------------------------------------------------------------------------------

_KINDS: dict[str, type[Event]] = {
    "thought": Thought,
    "tool_call": ToolCalled,
    "tool_result": ToolReturned,
    "draft": Drafted,
    "reflection": Reflected,
    "answer": Answered,
}


@cache
def _adapter(kind: str) -> TypeAdapter[Event]:
    return TypeAdapter(_KINDS[kind])


def packed(event: Event) -> dict[str, Any]:
    """An event with all it holds, passages too: for the process that shows what the owner of the home thinks."""
    kind = next(name for name, made in _KINDS.items() if isinstance(event, made))
    return {"type": kind, "event": _adapter(kind).dump_python(event, mode="json")}


def unpacked(packet: dict[str, Any]) -> Event:
    """The event again. Raises KeyError, pydantic.ValidationError for what another version may send."""
    return _adapter(packet["type"]).validate_python(packet["event"])
