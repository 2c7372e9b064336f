"""The two tools of the loop, their arguments checked strictly, their results as the model and as people read them.

Who may read what is bound into the search function by the application; no argument of the model's can widen it.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from agent.models.base import Tool, ToolError, ToolResult
from agent.sentinels import NO_RAG_RESULT, NO_RAG_RESULT_LOW_SCORE, RAG_TOOL_ERROR
from retrieval.text import Language, Said
from retrieval.types import CollectionInfo, Found, Hit, Passage, RAGToolError

SearchFunction = Callable[[str, tuple[str, ...] | None], Awaitable[Found]]
"""Query and collections (None: all) → what these readers may see of it. Raises `RAGToolError`."""
ContextFunction = Callable[[Hit], Awaitable[Sequence[Passage]]]
"""A hit → its neighbours in the document, in reading order."""

SEARCH = "search_rag_knowledge_base"
LIST = "list_rag_collections"

SEARCH_SECONDS = 10.0
QUERY_BYTES = 2048
RESULT_CHARACTERS = 16_000  # of one result, as the model reads it
CONTEXT_HITS = 2  # the best ones are shown with their neighbours
CONTEXT_CHARACTERS = 1_600  # of neighbours, for each

_FOUND = Said(en="{n} passage{n:|s} for “{query}”", ja="「{query}」で {n} 件")
_NOTHING = Said(en="nothing found for “{query}”", ja="「{query}」は見つかりませんでした")
_WEAK = Said(en="nothing relevant enough for “{query}”", ja="「{query}」に十分関連する資料はありませんでした")
_PARTLY = Said(en="; part of the search failed ({branches})", ja="（検索の一部が使えませんでした: {branches}）")
_BRANCHES = {
    "dense": Said(en="by meaning", ja="意味検索"),
    "words": Said(en="by words", ja="単語検索"),
    "ngrams": Said(en="by characters", ja="文字検索"),
}
_TOO_SLOW = Said(en="The search took too long.", ja="検索に時間がかかりすぎました。")
_COLLECTIONS = Said(en="{n} collection{n:|s}", ja="コレクション {n} 件")


class BadCallError(ToolError):
    """A call that does not fit the tool's schema; `said` is the reason for people."""

    def __init__(self, said: Said, **values: object) -> None:
        super().__init__(said.to("en", **values))
        self._said, self._values = said, values

    def text(self, language: Language) -> str:
        return self._said.to(language, **self._values)


@dataclass(slots=True)
class Notes:
    """What a turn has found so far. A passage keeps its number for the whole turn."""

    hits: dict[int, Hit] = field(default_factory=dict)
    context: dict[int, tuple[Passage, ...]] = field(default_factory=dict)
    searched: dict[str, None] = field(default_factory=dict)  # names of collections, in order
    tried: int = 0  # searches that were asked for, also those that were refused or failed
    searches: int = 0  # that came back
    failures: list[RAGToolError] = field(default_factory=list)
    best: float = 0.0  # relevance, of rejected hits too
    last: asyncio.Event | None = None  # set when the search asked for last has its numbers

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Callable[[], Awaitable[object]]]:
        """A search's place among those that run at once: await what it gives, and the ones before it have numbers."""
        before, mine = self.last, asyncio.Event()
        self.last = mine
        try:
            yield before.wait if before else _at_once
        finally:
            mine.set()

    def number(self, hit: Hit) -> int:
        for n, known in self.hits.items():
            if place(known.passage) == place(hit.passage):
                if hit.relevance > known.relevance:
                    self.hits[n] = hit
                return n
        n = len(self.hits) + 1
        self.hits[n] = hit
        return n


async def _at_once() -> None: ...


def place(passage: Passage) -> tuple[str, str, int]:
    """What makes a passage the same in two searches."""
    return passage.collection, passage.document_id, passage.chunk


# -- the tools ----------------------------------------------------------------------------------------------------------


def search_rag_knowledge_base(
    search: SearchFunction,
    notes: Notes,
    *,
    language: Language = "en",
    collections: Sequence[CollectionInfo] = (),
    confident: float = 0.0,
    context: ContextFunction | None = None,
    neighbours: int = CONTEXT_HITS,
) -> Tool:
    """The search. What it finds is numbered in `notes`; under `confident` the model is told that the match is weak.

    The best `neighbours` hits are shown with the passages around them.
    """
    readable = tuple(each.name for each in collections)

    async def run(query: str, collection_name: str | None = None) -> ToolResult:
        notes.tried += 1
        if collection_name is not None and readable and collection_name not in readable:
            raise BadCallError(_UNKNOWN_COLLECTION, name=_short(collection_name), names=", ".join(readable[:50]))
        wanted = (collection_name,) if collection_name is not None else readable or None
        async with notes.turn() as earlier:
            found = await look(query, wanted)
            await earlier()
            notes.searches += 1
            notes.searched |= dict.fromkeys(wanted or (hit.passage.collection for hit in found.hits))
            notes.best = max([notes.best, *(hit.relevance for hit in (*found.hits, *found.rejected))])
            numbers = tuple(notes.number(hit) for hit in found.hits)
        if context is not None:
            for n, hit in list(zip(numbers, found.hits, strict=True))[:neighbours]:
                notes.context[n] = _neighbours(hit, await _around(context, hit))
        limit = RESULT_CHARACTERS + max(0, neighbours - CONTEXT_HITS) * CONTEXT_CHARACTERS
        content, shown = format_for_model(found, numbers, context=notes.context, confident=confident, limit=limit)
        return ToolResult(
            content=content, summary=_summary(found, query, language), hits=found.hits[:shown], numbers=numbers[:shown]
        )

    async def look(query: str, wanted: tuple[str, ...] | None) -> Found:
        try:
            async with asyncio.timeout(SEARCH_SECONDS):
                return await search(query, wanted)
        except RAGToolError as error:
            notes.failures.append(error)
            raise
        except TimeoutError as error:
            notes.failures.append(RAGToolError(_TOO_SLOW))
            raise notes.failures[-1] from error

    return Tool(
        SEARCH,
        "Search the team's documents, in Japanese and English at once, and get the passages that fit best. "
        "Leave collection_name out to search all collections.",
        {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "What to look for, in words that the document may use; complete in itself.",
                },
                "collection_name": {
                    "type": "string",
                    "description": "One collection to search instead of all of them.",
                    **({"enum": list(readable)} if 0 < len(readable) <= 50 else {}),
                },
            },
            "required": ["query"],
        },
        run,
    )


def list_rag_collections(collections: Sequence[CollectionInfo], *, language: Language = "en") -> Tool:
    """The collections the asker may read, with what they hold."""

    async def run() -> ToolResult:
        return ToolResult(described(collections), _COLLECTIONS.to(language, n=len(collections)))

    return Tool(
        LIST,
        "List the collections of documents that can be searched, with what each is about and how much it holds.",
        {"type": "object", "properties": {}},
        run,
    )


def described(collections: Sequence[CollectionInfo], *, counts: bool = True, limit: int = 8_000) -> str:
    """The collections, one a line, for a model. Descriptions are people's text: one line each, and bounded."""
    rows: list[str] = []
    for each in collections:
        about = " ".join(each.description.split())[:300]
        facts = (
            [", ".join({"ja": "Japanese", "en": "English"}[one] for one in each.languages)] if each.languages else []
        )
        facts += [f"{each.documents} documents, {each.chunks} passages"] if counts else []
        rows.append(f"- {each.name}" + (f": {about}" if about else "") + (f" ({'; '.join(facts)})" if facts else ""))
    kept = list(rows)
    while len("\n".join(kept)) > limit:
        kept.pop()
    if len(kept) < len(rows):
        kept.append(f"- … and {len(rows) - len(kept)} more ({LIST} shows them)")
    return _plain("\n".join(kept)) or "(none yet)"


# -- results as text ----------------------------------------------------------------------------------------------------


def format_for_model(
    found: Found,
    numbers: Sequence[int],
    *,
    context: Mapping[int, Sequence[Passage]] | None = None,
    confident: float = 0.0,
    limit: int = RESULT_CHARACTERS,
) -> tuple[str, int]:
    """`Result n (Score: 0.85): …` for each hit, or a sentinel; and how many hits fitted into `limit` characters.

    Source of the form: seeds/3_agent_tools.md §5.6.
    """
    advice = "Search again in other words or in another collection before giving up."
    partly = (
        f"Note: part of the search failed ({', '.join(found.failed)}); there may be more.\n\n" if found.failed else ""
    )
    if not found.hits:
        if found.rejected:
            return f"{partly}{NO_RAG_RESULT_LOW_SCORE} Nothing relevant enough was found. {advice}", 0
        return f"{partly}{NO_RAG_RESULT} Nothing was found. {advice}", 0
    blocks: list[str] = []
    size = len(partly)
    for n, hit in zip(numbers, found.hits, strict=True):
        block = as_result(n, hit, (context or {}).get(n, ()))
        if blocks and size + len(block) > limit:
            break
        blocks.append(block[:limit])
        size += len(block) + 2
    weak = found.hits[0].relevance < confident
    note = (
        "\n\nNote: even the best match is weak. Make sure that it really answers the question, or search again."
        if weak
        else ""
    )
    left = len(found.hits) - len(blocks)
    note += f"\n\nNote: {left} more passages were left out to save space." if left else ""
    return partly + "\n\n".join(blocks) + note, len(blocks)


def as_result(n: int, hit: Hit, context: Sequence[Passage] = ()) -> str:
    """One result as the model reads it: number, score, where it stands, the text, its neighbours and its source."""
    passage = hit.passage
    rows = [f"Result {n} (Score: {hit.relevance:.2f}):"]
    heading = [part for part in (passage.title, *passage.headings) if part]
    if heading:
        rows.append(f"Section: {_plain(' > '.join(dict.fromkeys(heading)))}")
    if passage.question is not None:
        rows += [f"Q: {_plain(passage.question)}", f"A: {_plain(passage.text)}"]
    else:
        rows.append(_plain(passage.text))
    for label, around in (
        ("Context before", [each for each in context if each.chunk < passage.chunk]),
        ("Context after", [each for each in context if each.chunk > passage.chunk]),
    ):
        if around:
            rows.append(f"{label}: " + _plain("\n".join(each.text for each in around)))
    dated = f", updated {passage.updated}" if passage.updated else ""
    rows.append(f"Source: {_plain(passage.document)} (collection: {passage.collection}{dated})")
    if passage.url:
        rows.append(f"URL: {passage.url}")
    return "\n".join(rows)


def _plain(text: str) -> str:
    """A document's text without what only we may write: our sentinels and the head of a result."""
    text = re.sub(r"\[\[(?=[A-Z_]+\]\])", "[ [", text)
    return re.sub(r"^(\W*)Result(?= \d+ \(Score)", r"\1result", text, flags=re.MULTILINE | re.IGNORECASE)


async def _around(context: ContextFunction, hit: Hit) -> Sequence[Passage]:
    try:
        return await context(hit)
    except RAGToolError:
        return ()  # the passage itself is there; its neighbours were an extra


def _neighbours(hit: Hit, around: Sequence[Passage]) -> tuple[Passage, ...]:
    """The nearest ones first, as many as fit, in reading order."""
    here = hit.passage.chunk
    left = CONTEXT_CHARACTERS
    kept: list[Passage] = []
    for passage in sorted(around, key=lambda each: abs(each.chunk - here)):
        if passage.document_id != hit.passage.document_id or passage.chunk == here:
            continue
        if len(passage.text) > left:
            break
        kept.append(passage)
        left -= len(passage.text)
    return tuple(sorted(kept, key=lambda each: each.chunk))


def _summary(found: Found, query: str, language: Language) -> str:
    said = _FOUND if found.hits else _WEAK if found.rejected else _NOTHING
    text = said.to(language, n=len(found.hits), query=_short(query))
    if found.failed:
        text += _PARTLY.to(language, branches=", ".join(_BRANCHES[each].to(language) for each in found.failed))
    return text


def _short(text: str, limit: int = 120) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


# -- calls --------------------------------------------------------------------------------------------------------------

_UNKNOWN_TOOL = Said(
    en="There is no tool {name}. The tools are: {names}.",
    ja="{name} というツールはありません。使えるのは {names} です。",
)
_UNKNOWN_ARGUMENT = Said(
    en="{tool} takes no argument {name}. It takes: {names}.",
    ja="{tool} に引数 {name} はありません。使えるのは {names} です。",
)
_MISSING = Said(en="{tool} needs the argument {name}.", ja="{tool} には引数 {name} が必要です。")
_WRONG_TYPE = Said(en="The argument {name} must be a {type}.", ja="引数 {name} の型は {type} でなければなりません。")
_EMPTY = Said(en="The argument {name} is empty.", ja="引数 {name} が空です。")
_TOO_LONG = Said(
    en="The argument {name} is longer than {limit} bytes; a few words find more.",
    ja="引数 {name} が {limit} バイトを超えています。数語に絞ってください。",
)
_UNKNOWN_COLLECTION = Said(
    en="There is no collection {name}. The collections are: {names}.",
    ja="{name} というコレクションはありません。検索できるのは {names} です。",
)
_TYPES: Mapping[str, type] = {"string": str, "object": dict, "array": list, "boolean": bool}


def checked(tools: Sequence[Tool], name: str, arguments: Mapping[str, Any]) -> tuple[Tool, dict[str, Any]]:
    """The tool and its arguments as its schema has them. An optional argument that is null counts as left out.

    Raises `BadCallError`, whose text tells the model how to mend the call.
    """
    tool = next((each for each in tools if each.name == name), None)
    if tool is None:
        raise BadCallError(_UNKNOWN_TOOL, name=_short(name, 60), names=", ".join(each.name for each in tools))
    properties: Mapping[str, Any] = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", ())
    given = {key: value for key, value in arguments.items() if value is not None or key not in properties}
    for key in given:
        if key not in properties:
            raise BadCallError(
                _UNKNOWN_ARGUMENT, tool=name, name=_short(str(key), 60), names=", ".join(properties) or "-"
            )
    for key in required:
        if key not in given:
            raise BadCallError(_MISSING, tool=name, name=key)
    for key, value in given.items():
        kind = properties[key].get("type", "string")
        if not isinstance(value, _TYPES.get(kind, object)):
            raise BadCallError(_WRONG_TYPE, name=key, type=kind)
        if isinstance(value, str):
            given[key] = value = value.strip()
            if not value:
                raise BadCallError(_EMPTY, name=key)
            if len(value.encode("utf-8", "replace")) > QUERY_BYTES:
                raise BadCallError(_TOO_LONG, name=key, limit=QUERY_BYTES)
    return tool, given


def refusal(reason: str) -> str:
    """What the model reads when a call failed: the sentinel and a reason it can use."""
    return f"{RAG_TOOL_ERROR} {reason}"


def same_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Equal for two calls that would return the same."""
    folded = {k: " ".join(v.casefold().split()) if isinstance(v, str) else v for k, v in arguments.items()}
    return json.dumps([name, folded], sort_keys=True, ensure_ascii=False, default=str)
