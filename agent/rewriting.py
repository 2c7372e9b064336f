"""What a question is searched with: the model's structured reply, and what the rules make of one that is of no use.

Source: seeds/4_agentic_rag_api.md, step 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.conversation import Ask
from agent.reflection import objects
from agent.routing import route
from agent.tools import QUERY_BYTES
from retrieval.text import normalise

QUERIES = 3  # a round

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "search": {"type": "boolean", "description": "Whether the team's documents have to be searched."},
        "thought": {"type": "string", "description": "One sentence: why, and for what."},
        "queries": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "Complete in itself, in words that documents use."},
                    "collection_name": {"type": "string", "description": "One collection to search, if one is meant."},
                },
                "required": ["query"],
            },
        },
    },
    "required": ["search", "queries"],
}


@dataclass(frozen=True, slots=True)
class Query:
    """`collection` None: all that the asker may search."""

    text: str
    collection: str | None = None

    @property
    def arguments(self) -> dict[str, object]:
        named = {"collection_name": self.collection} if self.collection else {}
        return {"query": self.text, **named}


@dataclass(frozen=True, slots=True)
class Plan:
    """Without a search there are no queries."""

    search: bool
    thought: str = ""
    queries: tuple[Query, ...] = ()


def parse_plan(text: str, ask: Ask) -> Plan | None:
    """The plan in a model's reply, whatever stands around it; None when there is none to use.

    A collection that the asker may not search is left out; queries beside a "no search" are made.
    """
    for found in objects(text):
        if "search" not in found and "queries" not in found:
            continue
        said = found.get("queries")
        queries = _queries(said if isinstance(said, list) else [], ask)
        thought = " ".join(str(found.get("thought") or "").split())[:500]
        if queries:
            return Plan(True, thought, queries)
        if str(found.get("search", "")).strip().lower() in ("false", "no"):
            return Plan(False, thought)
    return None


def by_rules(ask: Ask) -> Plan:
    """The question itself, or no search where the rules see that it needs none."""
    text = fitting(ask.question)
    if not text or not route(ask.question, ask.collections).search:
        return Plan(False)
    return Plan(True, queries=(Query(text),))


def fitting(text: str) -> str:
    """As much of it as a query may be long."""
    return " ".join(text.split()).encode("utf-8", "ignore")[:QUERY_BYTES].decode("utf-8", "ignore").strip()


def _queries(said: Sequence[object], ask: Ask) -> tuple[Query, ...]:
    readable = {each.name for each in ask.collections}
    found: dict[tuple[str, str | None], Query] = {}
    for each in said:
        values: Mapping[str, object] = each if isinstance(each, dict) else {"query": each}
        query = values.get("query")
        text = fitting(query) if isinstance(query, str) else ""
        named = values.get("collection_name")
        collection = named if isinstance(named, str) and named in readable else None
        if text:
            found.setdefault((normalise(text), collection), Query(text, collection))
    return tuple(found.values())[:QUERIES]
