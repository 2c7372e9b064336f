"""The tools of a turn, and their results as the model and as people read them.

Who may read what is bound into the functions by the application; no argument of the model's can widen it.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from agent.models.base import Tool, ToolResult
from agent.sentinels import NO_RAG_RESULT, NO_RAG_RESULT_LOW_SCORE
from agent.tool_calls import BadCallError, shortened
from retrieval.i18n import Language, Text
from retrieval.types import CONFIDENT, STRONG, CollectionInfo, Found, Hit, Passage, RAGToolError

SearchFunction = Callable[[Sequence[str], tuple[str, ...] | None], Awaitable[Found]]
"""1 to 4 queries for one thing, and collections (None: all) → what these readers may see of it, best first and none
withheld. Raises `RAGToolError`."""
ReadFunction = Callable[[str, int], Awaitable[tuple[Sequence[Passage], int | None]]]
"""A document's id and the number of a passage → passages from there on, and where to go on (None: it ends).
Raises LookupError when these readers have no such document, `RAGToolError`."""

SEARCH = "search_rag_knowledge_base"
READ = "read_document"
LIST = "list_rag_collections"
TOOLS = (SEARCH, READ, LIST)

SEARCH_SECONDS = 10.0
QUERIES = 4
RESULT_CHARACTERS = 20_000  # of one result, as the model reads it
LISTED_CHARACTERS = 8_000  # of all collections
READ_CHARACTERS = 6_000

_FOUND = Text(en="{n} passage{n:|s} for {queries}", ja="{queries}で {n} 件")
_NOTHING = Text(en="nothing found for {queries}", ja="{queries}は見つかりませんでした")
_QUOTED = Text(en="“{query}”", ja="「{query}」")
_PARTLY = Text(en="; part of the search failed ({branches})", ja="（検索の一部が使えませんでした: {branches}）")
BRANCHES = {
    "dense": Text(en="by meaning", ja="意味検索"),
    "words": Text(en="by words", ja="単語検索"),
    "ngrams": Text(en="by characters", ja="文字検索"),
}
_READ = Text(en="{n} passage{n:|s} of {document}", ja="{document} の続き {n} 件")
_TOO_SLOW = Text(en="The search took too long.", ja="検索に時間がかかりすぎました。")
_COLLECTIONS = Text(en="{n} collection{n:|s}", ja="コレクション {n} 件")
_UNKNOWN_COLLECTION = Text(
    en="There is no collection {name}. The collections are: {names}.",
    ja="{name} というコレクションはありません。検索できるのは {names} です。",
)
_NOT_FOUND_YET = Text(
    en="No result is from a document {name}. Search for it first, and name it as a result's source does.",
    ja="{name} という文書の検索結果はまだありません。先に検索し、結果の Source にある名前で指定してください。",
)
_ENDED = Text(en="{name} has no passage {start}.", ja="{name} に {start} 番の箇所はありません。")


class CutOffError(RAGToolError):
    """A call that nothing is wrong with: the time for searching was over."""


@dataclass(slots=True)
class Findings:
    """The findings of a turn so far. A passage keeps its number for the whole turn."""

    hits: dict[int, Hit] = field(default_factory=dict)
    shown: set[int] = field(default_factory=set)  # what stands in the conversation; the others are shown when found
    firsts: list[int] = field(default_factory=list)  # of each search the one that fits best
    searched: dict[str, None] = field(default_factory=dict)  # names of collections, in order
    searches: int = 0  # that came back
    failures: list[RAGToolError] = field(default_factory=list)
    listed: str = ""  # the collections as the model was told them
    last: asyncio.Event | None = None  # set when the call made last has its numbers
    until: float | None = None  # loop time at which calls are cut off; what was found before stays

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Callable[[], Awaitable[object]]]:
        """A call's place among those that run at once: await what it gives, and the ones before it have numbers."""
        before, mine = self.last, asyncio.Event()
        self.last = mine
        try:
            yield before.wait if before else _at_once
        finally:
            mine.set()

    @asynccontextmanager
    async def in_time(self) -> AsyncIterator[None]:
        """Raises RAGToolError for what takes too long, CutOffError where no time is left."""
        end = asyncio.get_running_loop().time() + SEARCH_SECONDS
        cut = self.until is not None and self.until < end
        try:
            async with asyncio.timeout_at(self.until if cut else end):
                yield
        except TimeoutError as error:
            raise (CutOffError if cut else RAGToolError)(_TOO_SLOW) from error

    def number(self, hit: Hit) -> int:
        for n, known in self.hits.items():
            if _place(known.passage) == _place(hit.passage):
                if hit.relevance > known.relevance:
                    self.hits[n] = hit
                return n
        n = len(self.hits) + 1
        self.hits[n] = hit
        return n

    def found_in(self, name: str) -> Hit | None:
        """The latest passage in reading order of the document of this name, or that a result's number stands for."""
        wanted = re.sub(r"^(?:result\s*)?\[?(\d+)\]?$", r"\1", " ".join(name.split()), flags=re.IGNORECASE)
        named = [hit for hit in self.hits.values() if " ".join(hit.passage.document.split()) == wanted]
        if not named and wanted.isdecimal() and int(wanted) in self.hits:
            named = [self.hits[int(wanted)]]
        same = [hit for hit in self.hits.values() if named and hit.passage.document_id == named[0].passage.document_id]
        return max(same, key=lambda hit: hit.passage.chunk, default=None)

    @property
    def best(self) -> float:
        return max((hit.relevance for hit in self.hits.values()), default=0.0)


async def _at_once() -> None: ...


def _place(passage: Passage) -> tuple[str, str, int]:
    """The key that makes a passage the same in two searches."""
    return passage.collection, passage.document_id, passage.chunk


# -- the tools --------------------------------------------------------------------------------------------------------


def search_rag_knowledge_base(
    search: SearchFunction,
    findings: Findings,
    *,
    language: Language = "en",
    collections: Sequence[CollectionInfo] = (),
    confident: float = CONFIDENT,
) -> Tool:
    """The search. What it finds is numbered in `findings`; `confident` is the relevance from which a match is fair."""
    readable = tuple(each.name for each in collections)

    async def run(queries: list[str], collection_name: str | None = None) -> ToolResult:
        if collection_name is not None and readable and collection_name not in readable:
            raise BadCallError(_UNKNOWN_COLLECTION, name=shortened(collection_name), names=", ".join(readable[:50]))
        wanted = (collection_name,) if collection_name is not None else None
        async with findings.turn() as earlier:
            found = await look(queries, wanted)
            await earlier()
            findings.searches += 1
            findings.searched |= dict.fromkeys(wanted or readable or (hit.passage.collection for hit in found.hits))
            numbers = tuple(findings.number(hit) for hit in found.hits)
            findings.firsts += numbers[:1]
            content, shown = format_for_model(found, numbers, told=findings.shown, confident=confident)
            findings.shown |= set(numbers[:shown])
        summary, partly = _summary(found, queries, language), bool(found.failed)
        return ToolResult(content, summary, found.hits[:shown], numbers[:shown], partly=partly)

    async def look(queries: Sequence[str], wanted: tuple[str, ...] | None) -> Found:
        try:
            async with findings.in_time():
                return await search(queries, wanted)
        except CutOffError:
            raise
        except RAGToolError as error:
            findings.failures.append(error)
            raise

    named = {"enum": list(readable)} if 0 < len(readable) <= 50 else {}
    parameters: dict[str, Any] = {
        "type": "object",
        "properties": {
            "queries": {
                "type": "array",
                "items": {"type": "string"},
                "maxItems": QUERIES,
                "description": "One thing in several wordings.",
            },
            "collection_name": {"type": "string", **named},
        },
        "required": ["queries"],
    }
    return Tool(SEARCH, "Search the team's documents.", parameters, run)


def read_document(read: ReadFunction, findings: Findings, *, language: Language = "en") -> Tool:
    """Reads on in a document of which a passage was found. Its passages get numbers like those of a search."""

    async def run(document: str, **given: int) -> ToolResult:
        async with findings.turn() as earlier:
            await earlier()
            found = findings.found_in(document)
            if found is None:
                raise BadCallError(_NOT_FOUND_YET, name=shortened(document))
            start = given.get("from", found.passage.chunk + 1)
            try:
                async with findings.in_time():
                    passages, after = await read(found.passage.document_id, max(0, start))
            except LookupError as error:
                raise BadCallError(_NOT_FOUND_YET, name=shortened(document)) from error
            if not passages:
                raise BadCallError(_ENDED, name=shortened(document), start=start)
            blocks: list[str] = []
            hits: list[Hit] = []
            for passage in passages:
                hit = Hit(passage, {}, found.relevance)
                block = as_result(findings.number(hit), hit, "read on", told=findings.shown)
                if blocks and sum(map(len, blocks)) + len(block) > READ_CHARACTERS:
                    after = passage.chunk
                    break
                blocks.append(block[:RESULT_CHARACTERS])
                hits.append(hit)
            numbers = tuple(findings.number(hit) for hit in hits)
            findings.shown |= set(numbers)
        goes_on = f"The document goes on from {after}." if after is not None else "The document ends here."
        summary = _READ.to(language, n=len(hits), document=shortened(found.passage.document))
        return ToolResult("\n\n".join([*blocks, goes_on]), summary, tuple(hits), numbers)

    return Tool(
        READ,
        "Read on in a document that a result is from.",
        {
            "type": "object",
            "properties": {
                "document": {"type": "string", "description": "As in the result's Source."},
                "from": {"type": "integer", "description": "A passage; else the next one."},
            },
            "required": ["document"],
        },
        run,
    )


def list_rag_collections(
    collections: Sequence[CollectionInfo], findings: Findings | None = None, *, language: Language = "en"
) -> Tool:
    """The collections the asker may read, with what they hold."""

    async def run() -> ToolResult:
        content = described(collections)
        if findings is not None:
            findings.listed = content
        return ToolResult(content, _COLLECTIONS.to(language, n=len(collections)))

    return Tool(
        LIST,
        "List the collections, with what each is about and holds.",
        {"type": "object", "properties": {}},
        run,
    )


def described(collections: Sequence[CollectionInfo], *, counts: bool = True) -> str:
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
    while len("\n".join(kept)) > LISTED_CHARACTERS:
        kept.pop()
    if len(kept) < len(rows):
        kept.append(f"- … and {len(rows) - len(kept)} more, which can be searched, too")
    return _plain("\n".join(kept)) or "(none yet)"


# -- results as text --------------------------------------------------------------------------------------------------


def format_for_model(
    found: Found,
    numbers: Sequence[int],
    *,
    told: set[int] | frozenset[int] = frozenset(),
    confident: float = CONFIDENT,
) -> tuple[str, int]:
    """`Result n (Score: 0.85): …` for each hit in their order, or a sentinel; and how many hits had
    room. Those in `told` are only named.

    Source of the form: seeds/3_agent_tools.md §5.6. It differs in one thing: where all scores are low, the passages
    follow the sentinel instead of being withheld. Scores measure words and meaning in common; whether a passage answers
    is for its reader to say.
    """
    partly = (
        f"Note: part of the search failed ({', '.join(found.failed)}); there may be more.\n\n" if found.failed else ""
    )
    if not found.hits:
        return f"{partly}{NO_RAG_RESULT} Nothing was found. Search again in other words before giving up.", 0
    if all(hit.relevance < confident for hit in found.hits):
        partly += f"{NO_RAG_RESULT_LOW_SCORE} All matches are weak. See whether one answers all the same.\n\n"
    blocks: list[str] = []
    size = len(partly)
    for n, hit in zip(numbers, found.hits, strict=True):
        block = as_result(n, hit, match_word(hit.relevance, confident), told=told)
        if blocks and size + len(block) > RESULT_CHARACTERS:
            break
        blocks.append(block[:RESULT_CHARACTERS])
        size += len(block) + 2
    left = len(found.hits) - len(blocks)
    note = f"\n\nNote: {left} more passages were left out to save space." if left else ""
    return partly + "\n\n".join(blocks) + note, len(blocks)


def match_word(relevance: float, confident: float = CONFIDENT) -> str:
    return "strong match" if relevance >= STRONG else "fair match" if relevance >= confident else "weak match"


def as_result(n: int, hit: Hit, match: str = "", *, told: set[int] | frozenset[int] = frozenset()) -> str:
    """One result as the model reads it: number, score and match, where it stands, the text, its source and date."""
    passage = hit.passage
    if n in told:
        return f"Result {n}: shown before"
    rows = [f"Result {n} (Score: {hit.relevance:.2f}): {match}".rstrip()]
    heading = [part for part in (passage.title, *passage.headings) if part]
    if heading:
        rows.append(f"Section: {_plain(' > '.join(dict.fromkeys(heading)))}")
    if passage.question is not None:
        rows += [f"Q: {_plain(passage.question)}", f"A: {_plain(passage.text)}"]
    else:
        rows.append(_plain(passage.text))
    dated = f", dated {passage.updated[:10]}" if passage.updated else ""
    said = f", said in {_plain(passage.said_in)}" if passage.said_in else ""
    rows.append(
        f"Source: {_plain(passage.document)} (collection: {passage.collection}, passage {passage.chunk}{said}{dated})"
    )
    if passage.url:
        rows.append(f"URL: {passage.url}")
    return "\n".join(rows)


def _plain(text: str) -> str:
    """A document's text without what only we may write: our sentinels and the head of a result."""
    text = re.sub(r"\[\[(?=[A-Z_]+\]\])", "[ [", text)
    return re.sub(r"^(\W*)Result(?= \d+(?: \(Score|: shown))", r"\1result", text, flags=re.MULTILINE | re.IGNORECASE)


def _summary(found: Found, queries: Sequence[str], language: Language) -> str:
    between = "" if language == "ja" else ", "
    quoted = between.join(_QUOTED.to(language, query=shortened(query)) for query in queries)
    text = (_FOUND if found.hits else _NOTHING).to(language, n=len(found.hits), queries=quoted)
    if found.failed:
        text += _PARTLY.to(language, branches=", ".join(BRANCHES[each].to(language) for each in found.failed))
    return text
