"""How an answer came about: kept with it, shown to whoever sees its place, and without the words of what is gone."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.conversation import Ask
from agent.events import Answered, Citation, Cost, Drafted, Events, Reflected, Thought, ToolCalled, ToolReturned
from bot.access import readers, scope_of
from bot.store.conversations import Conversations
from bot.store.engine import rows
from bot.store.erasure import Erasure
from bot.store.schema import sources, traces
from bot.store.traces import TraceRow, Traces
from bot.turns.trace import MAX_ARGUMENT, MAX_HITS, MAX_STEPS, MAX_TEXT, Recording, Trace, trace
from bot.types import Audience
from retrieval.i18n import Text
from retrieval.types import TEAM, Hit, Passage, RAGToolError, Readers
from tests.bot.acting import ANSWER, HIT, STEPS, Act, Bot, Start, fails, question, says
from tests.bot.library import Library, opened

MEMBERS = Readers(frozenset({TEAM}))
SEARCH = "search_rag_knowledge_base"


@pytest.fixture
async def library(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Library]:
    async with opened(tmp_path) as found:
        yield found


@pytest.fixture
def bot(start: Start, library: Library) -> Callable[..., Bot]:
    return lambda *acts: start(*acts, on=library.engine)


async def shown(library: Library, turn: str, who: Readers = MEMBERS) -> Trace | None:
    return await trace(
        turn,
        who,
        conversations=Conversations(library.engine),
        traces=Traces(library.engine),
        look_up=library.knowledge.context,
    )


async def seen(library: Library, turn: str, who: Readers = MEMBERS) -> Trace:
    found = await shown(library, turn, who)
    assert found is not None
    return found


def answers_from(library: Library, query: str, *, who: Readers = MEMBERS, draft: str = "It says: {text}") -> Act:
    """An agent that searches, quotes what it finds and searches once more."""

    async def act(ask: Ask) -> Events:
        yield Thought("Look it up.")
        yield ToolCalled("1", SEARCH, {"query": query, "collection_name": "docs"})
        found = await library.knowledge.search(query, who, mode="sparse", limit=5)
        hits = tuple(replace(hit, relevance=0.8) for hit in (*found.hits, *found.rejected))
        yield ToolReturned("1", SEARCH, f"{len(hits)} passages", hits)
        first = hits[0].passage
        words = draft.format(text=first.text)
        yield ToolCalled("2", SEARCH, {"query": words})
        yield ToolReturned("2", SEARCH, f"nothing for “{words}”")
        yield Drafted(words)
        yield Reflected("revise", f"Well said: {words}")
        yield Answered(
            words,
            (Citation(1, first.document, first.collection, first.chunk, first.text, document_id=first.document_id),),
            model="gemini:x",
            seconds=2.5,
            cost=Cost(4, 900, 80, 30),
            searched=("docs",),
            confidence=0.8,
            marked=True,
        )

    return act


async def table(engine: AsyncEngine) -> str:
    """All that traces hold."""
    found = await rows(engine, select(traces.c.event).where(traces.c.event.is_not(None)))
    return "\n".join(row.event for row in found)


# -- kept -----------------------------------------------------------------------------------------------------------


async def test_a_trace_tells_how_the_answer_came_about(bot: Callable[..., Bot], library: Library) -> None:
    await library.add("harbour.md", "# Harbour\n\n## Hours\n\nThe harbour opens at nine.\n")
    asked = question("When does the harbour open?", strategy="synthesis")
    answer = await bot(answers_from(library, "harbour opens")).answer(asked)
    found = await seen(library, answer.turn)
    assert (found.question, found.answer, found.link) == (asked.text, answer.text, asked.link)
    assert (found.outcome, found.strategy, found.model, found.seconds) == ("answered", "synthesis", "gemini:x", 2.5)
    assert (found.cost, found.searched, found.confidence) == (Cost(4, 900, 80, 30), ("docs",), 0.8)
    assert found.marked
    assert [step.kind for step in found.steps] == [
        "began", "thought", "tool_call", "tool_result", "tool_call", "tool_result", "draft", "reflection", "answer",
    ]  # fmt: skip
    _, thought, call, result, _, empty, draft, review, _ = found.steps
    assert (thought.text, call.tool, call.query) == ("Look it up.", SEARCH, "harbour opens")
    assert call.arguments == {"query": "harbour opens", "collection_name": "docs"}
    (hit,) = result.hits
    assert (hit.state, hit.document, hit.collection, hit.chunk) == ("shown", "harbour.md", "docs", 0)
    assert hit.text is not None and "opens at nine" in hit.text
    assert (hit.cited, hit.relevance, hit.headings) == (True, 0.8, ("Hours",))
    assert hit.scores["words"] > 0
    assert (empty.text.startswith("nothing for"), empty.hits) == (True, ())
    assert "opens at nine" in draft.text
    assert (review.verdict, review.text) == ("revise", f"Well said: {draft.text}")
    assert not any(step.withheld for step in found.steps)
    assert [step.at for step in found.steps] == sorted(step.at for step in found.steps)


def test_times_are_told_apart() -> None:
    """A result since its own call, of two that run at once; anything else since the step before."""
    now = [100.0]
    recording = Recording(lambda: now[0])
    for seconds, event in (
        (2.0, Thought("?")),
        (0.5, ToolCalled("a", SEARCH, {})),
        (0.25, ToolCalled("b", SEARCH, {})),
        (0.75, ToolReturned("a", SEARCH, "")),
        (0.25, ToolReturned("b", SEARCH, "")),
        (3.0, Drafted("!")),
    ):
        now[0] += seconds
        recording.add(event)
    assert [step.ms for step in recording.steps] == [2000, 2500, 2750, 3500, 3750, 6750]


async def test_a_result_took_as_long_as_its_own_call(bot: Callable[..., Bot], library: Library) -> None:
    turn = (await bot(says(ANSWER)).answer(question())).turn
    await rows_of(library.engine, turn, "tool_call", 2500, {"id": "a"})
    await rows_of(library.engine, turn, "tool_call", 2750, {"id": "b"})
    await rows_of(library.engine, turn, "tool_result", 3500, {"id": "a", "hits": []})
    await rows_of(library.engine, turn, "tool_result", 3750, {"id": "b", "hits": []})
    await rows_of(library.engine, turn, "draft", 6750, {"text": "!"})
    found = await seen(library, turn)
    assert [step.seconds for step in found.steps[-5:]][1:] == [0.25, 1.0, 1.0, 3.0]


async def rows_of(engine: AsyncEngine, turn: str, kind: str, ms: int, event: dict[str, Any]) -> None:
    (last,) = await rows(engine, select(func.max(traces.c.ordinal)).where(traces.c.turn == turn))
    async with engine.begin() as db:
        await db.execute(
            traces.insert().values(turn=turn, ordinal=last[0] + 1, ms=ms, kind=kind, event=json.dumps(event))
        )


def test_what_is_kept_is_bounded() -> None:
    recording = Recording()
    hits = tuple(replace(HIT, passage=replace(HIT.passage, chunk=at)) for at in range(3 * MAX_HITS))
    recording.add(ToolReturned("1" * 999, SEARCH, "x" * 9_999, hits))
    recording.add(Thought("\ud800\0\\u0000" + "x" * 99_999))
    wild = {f"{at}" * 99: {"deep": ["x" * 9_999]} for at in range(99)}
    recording.add(
        ToolCalled(
            "1", SEARCH, {"query": "q" * 9_999, "limit": float("nan"), "queries": ["q" * 9_999, *["b"] * 99], **wild}
        )
    )
    for _ in range(2 * MAX_STEPS):
        recording.add(Drafted("x"))
    recording.add(ANSWER)
    result, thought, call, *_ = (json.loads(step.event) for step in recording.steps)
    assert (len(result["hits"]), len(result["summary"]), len(thought["text"])) == (MAX_HITS, MAX_ARGUMENT, MAX_TEXT)
    assert call["arguments"]["query"] == "q" * MAX_ARGUMENT and call["arguments"]["limit"] == "NaN"
    assert call["arguments"]["queries"] == ["q" * MAX_ARGUMENT, *["b"] * 9]
    assert len(recording.steps[2].event) < 20 * MAX_ARGUMENT
    assert (len(recording.steps), recording.steps[-1].kind) == (MAX_STEPS, "answer")
    assert "25日です" not in recording.steps[0].event  # no passage's text


async def test_nothing_is_kept_before_the_answer_and_a_resumed_turn_has_one_trace(
    bot: Callable[..., Bot], library: Library
) -> None:
    asked = question()
    first = bot(says(*STEPS, ANSWER))
    events = first.turns.reply(asked)
    assert await anext(events) == STEPS[0]
    await events.aclose()  # as when its process ends
    assert await rows(library.engine, select(traces)) == []
    answer = await bot(says(STEPS[0], ANSWER)).answer(asked)
    kept = await Traces(library.engine).of(answer.turn)
    assert [row.kind for row in kept] == ["began", "thought", "answer"]


async def test_a_turn_that_failed_keeps_what_led_there(bot: Callable[..., Bot], library: Library) -> None:
    answer = await bot(fails(RuntimeError("broken"), *STEPS[:2])).answer(question())
    found = await seen(library, answer.turn)
    assert found.outcome == "failed"
    assert [step.kind for step in found.steps] == ["began", "thought", "tool_call", "answer"]


# -- who sees it ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("visibility", ["public", "private", "outsiders", "unknown"])
async def test_only_who_sees_the_place_sees_the_trace(
    bot: Callable[..., Bot], library: Library, visibility: Any
) -> None:
    asked = question(visibility=visibility)
    turn = (await bot(says(*STEPS, ANSWER)).answer(asked)).turn
    assert (await shown(library, turn) is None) == (visibility != "public")
    elsewhere = readers(replace(asked.place, channel="C2"), Audience("private"))
    assert (await shown(library, turn, elsewhere) is None) == (visibility != "public")
    there = readers(asked.place, Audience("private" if visibility != "public" else "public"))
    assert await shown(library, turn, there) is not None
    assert await shown(library, "no such turn", there) is None


async def test_of_a_forgotten_document_nothing_is_left(bot: Callable[..., Bot], library: Library) -> None:
    verdict = await library.add("harbour.md", "# Harbour\n\nThe harbour opens at nine.\n")
    await library.add("garden.md", "# Garden\n\nThe garden opens at ten.\n")
    harbour = await bot(answers_from(library, "harbour")).answer(question())
    garden = await bot(answers_from(library, "garden")).answer(question("?", "2"))
    assert verdict.document_id is not None and "nine" in await table(library.engine)
    await library.knowledge.forget(verdict.document_id)
    kept = await table(library.engine)
    assert not any(word in kept for word in ("nine", "harbour.md")) and "ten" in kept
    found = await seen(library, harbour.turn)
    assert (found.answer, len(found.steps)) == (None, 9)
    result = found.steps[3]
    assert [(hit.state, hit.document, hit.text, hit.relevance) for hit in result.hits] == [("gone", None, None, 0.8)]
    assert [step.withheld for step in found.steps] == [False] * 4 + [True] * 4 + [False]
    assert not any(step.text or step.arguments for step in found.steps[4:])
    whole = await seen(library, garden.turn)
    assert whole.answer is not None and not any(step.withheld for step in whole.steps)


async def test_what_is_not_readable_any_more_is_not_shown(bot: Callable[..., Bot], library: Library) -> None:
    verdict = await library.add("harbour.md", "# Harbour\n\nThe harbour opens at nine.\n")
    turn = (await bot(answers_from(library, "harbour")).answer(question())).turn
    assert verdict.document_id is not None
    place = scope_of(question().place)
    await library.knowledge.rescope(verdict.document_id, place, Readers(frozenset({TEAM})))
    found = await seen(library, turn)
    assert found.answer is None and found.steps[3].hits[0].state == "gone"
    assert "nine" not in repr(found) and "harbour.md" not in repr(found)
    there = await seen(library, turn, Readers(frozenset({TEAM, place})))
    assert there.answer is None and there.steps[3].hits[0].document == "harbour.md"  # what was said is withdrawn


async def test_another_version_is_not_taken_for_what_was_found(bot: Callable[..., Bot], library: Library) -> None:
    await library.add("harbour.md", "# Harbour\n\nThe harbour opens at nine.\n")
    turn = (await bot(answers_from(library, "harbour")).answer(question())).turn
    await library.add("harbour.md", "# Harbour\n\nThe harbour opens at noon.\n")
    (hit,) = (await seen(library, turn)).steps[3].hits
    assert (hit.state, hit.document, hit.text) == ("changed", "harbour.md", None)


async def test_without_the_index_the_rest_is_shown(bot: Callable[..., Bot], library: Library) -> None:
    await library.add("harbour.md", "# Harbour\n\nThe harbour opens at nine.\n")
    turn = (await bot(answers_from(library, "harbour")).answer(question())).turn

    async def broken(hit: Hit, who: Readers, around: int) -> list[Passage]:
        raise RAGToolError(Text(en="down", ja="停止中"))

    kept = Traces(library.engine)
    found = await trace(turn, MEMBERS, conversations=Conversations(library.engine), traces=kept, look_up=broken)
    assert found is not None and found.answer is not None
    assert [hit.state for hit in found.steps[3].hits] == ["unknown"]


# -- how long -------------------------------------------------------------------------------------------------------


async def left(engine: AsyncEngine) -> tuple[int, int]:
    return len(await rows(engine, select(traces.c.turn))), len(await rows(engine, select(sources.c.turn)))


async def test_a_person_who_is_forgotten_is_in_no_trace(bot: Callable[..., Bot], library: Library) -> None:
    named = Thought("U0123ABCD wrote the rules.")
    await bot(says(*STEPS, ANSWER)).answer(replace(question(), author="U0123ABCD"))
    other = await bot(says(named, *STEPS, ANSWER)).answer(question("誰？", "2"))
    assert (await left(library.engine))[1] == 2
    await Erasure(library.engine).forget("slack", "U0123ABCD")
    assert await left(library.engine) == (6, 1)
    thought = (await Traces(library.engine).of(other.turn))[1]
    assert thought == TraceRow(thought.ms, "thought", {"text": "[forgotten] wrote the rules."})


@pytest.mark.parametrize("missed", [False, True], ids=["deleted", "emptied for an open miss"])
async def test_a_trace_is_kept_as_long_as_its_answer(bot: Callable[..., Bot], library: Library, missed: bool) -> None:
    answer = replace(ANSWER, outcome="unknown") if missed else ANSWER
    turn = (await bot(says(*STEPS, answer)).answer(question())).turn
    later = datetime.now(UTC) + timedelta(minutes=1)
    expired = await Erasure(library.engine).expire(before=later, inbox_before=later, audit_before=later)
    assert (expired.deleted, expired.emptied) == ((0, 1) if missed else (1, 0))
    assert await left(library.engine) == (0, 0)
    assert await shown(library, turn) is None
