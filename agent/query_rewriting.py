"""Queries for a question: the model's structured reply, and what the rules make of one that is of no use.

Source: seeds/4_agentic_rag_api.md, step 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.conversation import Ask
from agent.routing.follow_up import leant_on
from agent.routing.router import asked_in
from agent.tool_calls import fitting, objects
from agent.tools import QUERIES
from retrieval.text import normalise

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "search": {"type": "boolean", "description": "Whether the team's documents have to be searched."},
        "thought": {"type": "string", "description": "One sentence: why, and for what."},
        "queries": {
            "type": "array",
            "items": {"type": "string", "description": "Complete in itself, in words that documents use."},
            "maxItems": QUERIES,
        },
    },
    "required": ["search", "queries"],
}


@dataclass(frozen=True, slots=True)
class Query:
    """One search: wordings that are searched together. `collection` None: all that the asker may search."""

    texts: tuple[str, ...]
    collection: str | None = None

    @property
    def arguments(self) -> dict[str, object]:
        said: dict[str, object] = {"query": self.texts[0]} if len(self.texts) == 1 else {"queries": list(self.texts)}
        return said | ({"collection_name": self.collection} if self.collection else {})


@dataclass(frozen=True, slots=True)
class Plan:
    """Without a search there are no queries."""

    search: bool
    thought: str = ""
    queries: tuple[Query, ...] = ()


def own_query(ask: Ask) -> str:
    """The query of code where a model has named nothing: the question, after those that it leans on and what was said
    around it."""
    question, around = asked_in(ask.question)
    return fitting(f"{leant_on(question, [one.question for one in ask.history])} {around} {question}")


def parse_plan(text: str, ask: Ask) -> Plan | None:
    """The plan in a model's reply, whatever stands around it; None when there is none to use.

    Queries that are plain text are one search, one with a collection or in an object of its own is another. A
    collection that the asker may not search is left out; queries beside a "no search" are made.
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
    """The question itself, or no search where it needs none."""
    text = own_query(ask) if ask.needs_search else ""
    return Plan(True, queries=(Query((text,)),)) if text else Plan(False)


def _queries(said: Sequence[object], ask: Ask) -> tuple[Query, ...]:
    readable = {each.name for each in ask.collections}
    together: dict[str, str] = {}
    apart: dict[tuple[str, str | None], Query] = {}
    for each in said:
        query = each.get("query") if isinstance(each, dict) else each
        text = fitting(query) if isinstance(query, str) else ""
        if text and isinstance(each, dict):
            named = each.get("collection_name")
            collection = named if isinstance(named, str) and named in readable else None
            apart.setdefault((normalise(text), collection), Query((text,), collection))
        elif text:
            together.setdefault(normalise(text), text)
    first = (Query(tuple(together.values())[:QUERIES]),) if together else ()
    return (*first, *apart.values())[:QUERIES]
