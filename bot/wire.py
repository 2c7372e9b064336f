"""Events as JSON: what `kotae ask --json` prints, the chat log holds and the database keeps of a turn's steps."""

from typing import Any, assert_never

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
    }
