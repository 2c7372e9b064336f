"""Q/A pairs are written once and paid for once, survive whatever ends their process, and are found by nobody who could
not read what they were written from."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.events import Cost
from agent.models.base import (
    Effort,
    Message,
    ModelBlocked,
    ModelBusy,
    ModelMessage,
    ModelUnavailable,
    Part,
    TextPart,
    Tool,
    UserMessage,
)
from agent.qa_generation import Proposed
from bot.access import scope_of
from bot.app import running
from bot.config.settings import Settings
from bot.errors import LostError
from bot.knowledge.curation import Curator
from bot.knowledge.documents import KnowledgeBase
from bot.logs import Redactor
from bot.qa_pairs.documents import PairDocuments
from bot.qa_pairs.pairs import Decided, Pair, Pairs, PairsError, QaJob, Reviewer
from bot.qa_pairs.worker import LEASE, WAITS
from bot.records import AuditRecord, DocumentRow
from bot.store.audit import Audit
from bot.store.documents import Documents
from bot.store.leases import inherit
from bot.store.qa_jobs import ChunkPlace, HeldJob, PairJobs
from bot.store.qa_pairs import PART, PairRows, Tracked
from bot.store.usage import Usage
from bot.store.vector_stores import VectorStores
from bot.turns.budget import Budget, BudgetLimits
from bot.types import Actor, Audience, Place, Upload
from retrieval.loaders.json import read_json
from retrieval.loaders.limits import ParsingLimits
from retrieval.loaders.loader import Loader
from retrieval.types import EVERYONE, TEAM, Document, Readers
from tests.bot.acting import Clock
from tests.bot.library import Library, opened
from tests.bot.sample_turns import settings
from tests.copies import copy_folder
from tests.fakes import gemini
from tests.retrieval.test_ingest import HashEmbedder

MEMBER = Actor("slack", "T1", "U1")
PUBLIC = Reviewer(MEMBER, Place("slack", "T1", "C1"), Audience("public"))
PRIVATE = Reviewer(MEMBER, Place("slack", "T1", "G1"), Audience("private"))
SECRET = scope_of(PRIVATE.place)
EDITOR = replace(PRIVATE, actor=replace(MEMBER, id="U9", role="editor"))
GUEST = replace(PUBLIC, actor=replace(MEMBER, id="U7", role="outsider"))
PIERS = ["one", "two", "three", "four", "five", "six", "seven", "eight"]


def page(*piers: str, until: str = "midnight") -> str:
    """A chunk a pier."""
    text = "Ships moor at pier {0} until {1}. The crane of pier {0} is operated by the harbour office. " * 4
    return "\n\n".join(f"# Pier {pier}\n\n{text.format(pier, until)}" for pier in piers)


class Writer:
    """A model that asks one question of each passage. `trouble` is raised for a passage with those words, once each."""

    name = "writer:test"
    thinks = False
    tools = None

    def __init__(self, *trouble: tuple[str, Exception], held: Collection[str] = ()) -> None:
        self.trouble = list(trouble)
        self.held = {word: asyncio.Event() for word in held}
        self.asked: list[str] = []
        self.begun = asyncio.Event()

    async def asked_for(self, count: int) -> None:
        async with asyncio.timeout(30):
            while len(self.asked) < count:
                self.begun.clear()
                await self.begun.wait()

    async def converse(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        schema: Mapping[str, Any] | None = None,
        effort: Effort | None = None,
    ) -> AsyncIterator[Part]:
        asked = messages[-1]
        assert isinstance(asked, UserMessage) and schema is not None
        (pier, until), *_ = re.findall(r"pier (\w+) until (\w+)", asked.text)
        self.asked.append(pier)
        self.begun.set()
        for event in [event for word, event in self.held.items() if word == pier]:
            await event.wait()
        for one in self.trouble:
            if one[0] == pier:
                self.trouble.remove(one)
                raise one[1]
        pairs = [
            {"question": f"Until when do ships moor at pier {pier}?", "answer": f"Ships moor there until {until}."},
            {"question": f"How many cranes does pier {pier} have?", "answer": "Pier has 17 cranes."},
        ]
        text = json.dumps({"pairs": pairs})
        yield TextPart(text)
        yield ModelMessage(text, cost=Cost(1, 100, 20, 5))


@dataclass
class Process:
    """One bot on the home, as long as `pairs.working()` lasts."""

    library: Library
    pairs: Pairs
    budget: Budget
    writer: Writer
    slept: list[float] = field(default_factory=list)

    async def until(self, done: Callable[[QaJob], bool], job: str, who: Reviewer = PUBLIC) -> QaJob:
        async with asyncio.timeout(30):
            while True:
                found = await self.pairs.job(job, who.readers)
                assert found is not None
                if done(found):
                    return found
                await asyncio.sleep(0.01)

    async def ended(self, job: str, who: Reviewer = PUBLIC) -> QaJob:
        return await self.until(lambda one: one.state != "running" and not one.working, job, who)

    async def written(self, who: Reviewer = PUBLIC, **source: Any) -> list[Pair]:
        job = await self.pairs.start(who, **source)
        async with self.pairs.working():
            await self.ended(job, who)
        return [*(await self.pairs.rows.listed(who.readers, job=job, limit=100)).pairs]


Start = Callable[..., Process]


class PlainLoader(Loader):
    """Reads our own files without a process beside."""

    async def load(self, name: str, data: bytes) -> Document:
        text = data.decode()
        if name.endswith(".json"):
            written = read_json(text, ParsingLimits())
            return Document(name, written.markdown, name, written.pairs)
        return Document(name, text, name)


@pytest.fixture(scope="module")
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home to copy: making one takes longer than most of these tests."""
    home = tmp_path_factory.mktemp("home")

    async def make() -> None:
        async with opened(home, loader=PlainLoader()):
            pass

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, make()).result()
    return home


@pytest.fixture
async def library(tmp_path: Path, empty_home: Path) -> AsyncIterator[Library]:
    copy_folder(empty_home, tmp_path)
    async with opened(tmp_path, loader=PlainLoader()) as library:
        yield library


@pytest.fixture
async def start(library: Library, clock: Clock, tmp_path: Path) -> AsyncIterator[Start]:
    async with AsyncExitStack() as stack:

        def make(
            writer: Writer | None = None, *, owner: str = "me", model: str = "openai:test", **more: Any
        ) -> Process:
            writer = writer or Writer()
            given: Settings = settings(tmp_path, KOTAE_MODEL=model, OPENAI_API_KEY="sk-loopback", **more)
            limits = BudgetLimits(daily_calls=given.daily_calls, daily_tokens=given.daily_tokens)
            budget = Budget(Usage(library.engine), limits, now=clock)
            stack.push_async_callback(budget.close)
            slept: list[float] = []

            async def sleep(seconds: float) -> None:
                slept.append(seconds)

            pairs = Pairs(
                given,
                library.engine,
                library.knowledge,
                library.index,
                HashEmbedder(),
                models=lambda name: writer,
                budget=budget,
                owner=owner,
                every=0.02,
                clock=clock,
                sleep=sleep,
            )
            return Process(library, pairs, budget, writer, slept)

        yield make


async def names(library: Library, readers: Readers) -> list[str]:
    return [row.name for row in await library.knowledge.documents(readers)]


async def wait_for(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while True:
            if await condition():
                return
            await asyncio.sleep(0.01)


# -- writing --------------------------------------------------------------------------------------------------------


async def test_a_document_becomes_pairs_that_are_tied_to_their_chunks(library: Library, start: Start) -> None:
    bot = start()
    verdict = await library.add("piers.md", page(*PIERS[:3]))
    assert verdict.chunks == 3
    cost = await bot.pairs.estimate(PUBLIC, document=verdict.document_id)
    assert (cost.documents, cost.chunks, cost.calls, cost.skipped) == (1, 3, 3, 0) and cost.pairs >= 3
    assert cost.calls_left == 20_000 and cost.tokens > 3 * 300
    assert "3 calls to openai:test" in cost.said.en and "トークン" in cost.said.ja
    job = await bot.pairs.start(PUBLIC, document=verdict.document_id)
    shown = await bot.pairs.job(job, PUBLIC.readers)
    assert shown is not None and (shown.total, shown.finished, shown.working) == (3, 0, False)
    assert "turn" in Pairs.status(shown).en
    async with bot.pairs.working():
        done = await bot.ended(job)
    assert (done.state, done.name, done.chunks, done.pairs) == ("done", "piers.md", {"done": 3}, {"pending": 3})
    assert done.cost == Cost(3, 300, 60, 15) and done.dropped == 3  # the cranes that no passage knows
    listed = await bot.pairs.rows.listed(PUBLIC.readers, job=job)
    assert [(one.chunk, one.question) for one in listed.pairs] == [
        (at, f"Until when do ships moor at pier {pier}?") for at, pier in enumerate(PIERS[:3])
    ]
    assert {(one.document, one.scope, one.state, one.stale) for one in listed.pairs} == {
        (verdict.document_id, TEAM, "pending", False)
    }
    source = await bot.pairs.source(listed.pairs[1], PUBLIC.readers)
    assert source is not None and "pier two" in source.text
    assert await bot.pairs.rows.counts(PUBLIC.readers) == {"pending": 3}
    (trace,) = await Audit(library.engine).listed()
    assert (trace.actor, trace.action, trace.subject) == ("slack:U1", "pairs start", "docs (3 chunks)")
    await bot.budget.close()
    assert (await Usage(library.engine).of(datetime.now(UTC).date())).calls == 3


async def test_what_has_its_pairs_is_not_written_again(library: Library, start: Start) -> None:
    bot = start()
    await library.add("a.md", page("one"))
    assert len(await bot.written(collection="docs")) == 1
    with pytest.raises(PairsError, match="already"):
        await bot.pairs.start(PUBLIC, collection="docs")
    await library.add("b.md", page("two"))
    cost = await bot.pairs.estimate(PUBLIC, collection="docs")
    assert (cost.chunks, cost.skipped) == (1, 1) and "(1)" in cost.said.en
    waiting = await bot.pairs.start(PUBLIC, collection="docs")
    with pytest.raises(PairsError, match="already"):
        await bot.pairs.estimate(PUBLIC, collection="docs")
    await bot.pairs.cancel(waiting, PUBLIC)
    assert (await bot.pairs.estimate(PUBLIC, collection="docs", again=True)).chunks == 2


async def test_a_passage_that_fails_costs_only_itself(library: Library, start: Start) -> None:
    bot = start(Writer(("two", ModelBlocked("no")), ("three", ZeroDivisionError())))
    verdict = await library.add("piers.md", page(*PIERS[:4]))
    pairs = await bot.written(document=verdict.document_id)
    assert [one.chunk for one in pairs] == [0, 3]
    (job,) = await bot.pairs.jobs(PUBLIC.readers)
    assert (job.state, job.chunks) == ("done", {"done": 2, "blocked": 1, "failed": 1})
    async with bot.pairs.working():
        await bot.pairs.resume(job.id, PUBLIC)  # does the failed one again
        await bot.until(lambda one: one.chunks == {"done": 3, "blocked": 1}, job.id)
    with pytest.raises(PairsError):
        await bot.pairs.resume(job.id, PUBLIC)


async def test_without_a_model_it_says_which_setting_it_needs(library: Library, start: Start) -> None:
    bot = start(model="extractive")
    await library.add("a.md", page("one"))
    with pytest.raises(PairsError) as refused:
        await bot.pairs.start(PUBLIC, collection="docs")
    for language in ("en", "ja"):
        assert {"GEMINI_API_KEY", "KOTAE_MODEL"} <= set(re.findall(r"[A-Z_]{5,}", refused.value.text(language)))
    assert bot.pairs.needs == refused.value.reason and start().pairs.needs is None


async def test_there_has_to_be_something_to_write_from(library: Library, start: Start) -> None:
    bot = start()
    await library.add("pairs.json", json.dumps([{"question": "Where is it?", "answer": "At pier seven, as always."}]))
    for document, collection in ((None, "docs"), (None, "elsewhere"), ("nobody", None), (None, None)):
        with pytest.raises(PairsError):
            await bot.pairs.estimate(PUBLIC, document=document, collection=collection)
    await library.add("a.md", page("one"))
    with pytest.raises(PairsError, match="members"):
        await bot.pairs.estimate(GUEST, collection="docs")


# -- each question once ---------------------------------------------------------------------------------------------


async def test_the_same_question_is_offered_once_and_not_after_a_rejection(library: Library, start: Start) -> None:
    bot = start()
    await library.add("a.md", page("one", "two"))
    await library.add("b.md", page("one", until="Friday"))
    await library.add("c.md", page("one"))
    pairs = await bot.written(collection="docs")
    assert [(one.name, one.state) for one in pairs] == [
        ("a.md", "pending"), ("a.md", "pending"), ("b.md", "pending"), ("c.md", "repeated"),
    ]  # fmt: skip
    assert pairs[3].repeats == pairs[0].id  # b.md says otherwise: that is for a person to see
    assert await bot.pairs.reject([pairs[0].id], PUBLIC) == Decided(1)
    again = await bot.written(collection="docs", again=True)
    assert [one.state for one in again] == ["repeated"] * 4
    edited = await bot.pairs.edit(again[0].id, "Who operates the crane of pier one?", "The harbour office.", PUBLIC)
    assert (edited.state, edited.edited, edited.repeats) == ("pending", True, None)


# -- stopping and going on ------------------------------------------------------------------------------------------


async def test_a_paused_job_keeps_what_is_under_way_and_goes_on_where_it_was(library: Library, start: Start) -> None:
    bot = start(Writer(held=PIERS))
    verdict = await library.add("piers.md", page(*PIERS))
    job = await bot.pairs.start(PUBLIC, document=verdict.document_id)
    async with bot.pairs.working():
        await bot.writer.asked_for(4)  # at once
        await bot.pairs.pause(job, PUBLIC)
        for event in bot.writer.held.values():
            event.set()
        paused = await bot.ended(job)
        assert (paused.state, paused.reason, paused.chunks) == ("paused", "asked", {"done": 4, "todo": 4})
        assert len(bot.writer.asked) == 4 and paused.finished == 4
        with pytest.raises(PairsError):
            await bot.pairs.pause(job, PUBLIC)
        await bot.pairs.resume(job, PUBLIC)
        done = await bot.ended(job)
    assert (done.state, done.chunks, done.pairs) == ("done", {"done": 8}, {"pending": 8})
    assert sorted(bot.writer.asked) == sorted(PIERS)
    actions = [trace.action for trace in reversed(await Audit(library.engine).listed())]
    assert actions == ["pairs start", "pairs paused", "pairs running"]


async def test_a_cancelled_job_ends_and_its_pairs_stay(library: Library, start: Start) -> None:
    bot = start(Writer(held=PIERS[4:]))
    verdict = await library.add("piers.md", page(*PIERS))
    job = await bot.pairs.start(PUBLIC, document=verdict.document_id)
    async with bot.pairs.working():
        await bot.until(lambda one: one.chunks.get("done") == 4, job)
        await bot.pairs.cancel(job, PUBLIC)
        for event in bot.writer.held.values():
            event.set()
        done = await bot.until(lambda one: not one.working, job)
    assert (done.state, done.pairs) == ("cancelled", {"pending": 4})
    with pytest.raises(PairsError):
        await bot.pairs.resume(job, PUBLIC)


async def test_a_stop_gives_the_job_back_with_what_was_under_way(library: Library, start: Start) -> None:
    first = start(Writer(held=PIERS), owner="first")
    verdict = await library.add("piers.md", page(*PIERS))
    job = await first.pairs.start(PUBLIC, document=verdict.document_id)
    async with first.pairs.working():
        await first.writer.asked_for(4)
        for event in first.writer.held.values():
            event.set()
    left = await first.pairs.job(job, PUBLIC.readers)
    assert left is not None and (left.state, left.working) == ("running", False)
    assert left.chunks["done"] == len(first.writer.asked) < 8
    second = start(owner="second")
    async with second.pairs.working():
        done = await second.ended(job)
    assert done.chunks == {"done": 8} and done.pairs == {"pending": 8}
    assert sorted(first.writer.asked + second.writer.asked) == sorted(PIERS)


async def test_a_process_that_died_is_followed_by_another_when_its_lease_has_passed(
    library: Library, start: Start, clock: Clock
) -> None:
    """The first one is abandoned in the middle: it never gives anything back, and stores nothing any more."""
    first, second = start(Writer(held=PIERS[2:]), owner="first"), start(owner="second")
    verdict = await library.add("piers.md", page(*PIERS))
    job = await first.pairs.start(PUBLIC, document=verdict.document_id)
    async with first.pairs.working():
        await first.until(lambda one: one.chunks.get("done") == 2, job)
        async with second.pairs.working():
            held = await second.pairs.job(job, PUBLIC.readers)
            assert held is not None and held.working
            clock.now += 2 * LEASE
            done = await second.ended(job)
        for event in first.writer.held.values():
            event.set()
        await first.writer.asked_for(6)
    assert done.chunks == {"done": 8} and done.pairs == {"pending": 8}
    assert sorted(second.writer.asked) == sorted(PIERS[2:])  # nothing stored is asked for again
    assert await second.pairs.rows.counts(PUBLIC.readers) == {"pending": 8}


async def test_the_only_process_of_a_home_goes_on_at_once(library: Library, start: Start) -> None:
    first, second = start(Writer(held=PIERS), owner="first"), start(owner="second")
    verdict = await library.add("piers.md", page(*PIERS[:2]))
    job = await first.pairs.start(PUBLIC, document=verdict.document_id)
    async with first.pairs.working():
        await first.writer.begun.wait()
        await inherit(library.engine, datetime.now(UTC))
        async with second.pairs.working():
            assert (await second.ended(job)).chunks == {"done": 2}
        for event in first.writer.held.values():
            event.set()
    assert await second.pairs.rows.counts(PUBLIC.readers) == {"pending": 2}


# -- limits ---------------------------------------------------------------------------------------------------------


async def test_the_budget_of_the_day_pauses_it(library: Library, start: Start) -> None:
    bot = start(KOTAE_DAILY_CALLS="5")
    verdict = await library.add("piers.md", page(*PIERS))
    cost = await bot.pairs.estimate(PUBLIC, document=verdict.document_id)
    assert cost.calls_left == 5 and "resumed tomorrow" in cost.said.en
    job = await bot.pairs.start(PUBLIC, document=verdict.document_id)
    async with bot.pairs.working():
        paused = await bot.ended(job)
        assert (paused.state, paused.reason) == ("paused", "budget")
        assert 5 <= paused.cost.calls < 8 and paused.chunks["done"] == paused.cost.calls
        assert "KOTAE_DAILY_CALLS" in Pairs.status(paused).ja
        asked = len(bot.writer.asked)
        await bot.budget.close()
        await bot.pairs.resume(job, PUBLIC)
        assert (await bot.ended(job)).reason == "budget"
        assert len(bot.writer.asked) == asked
    more = start(KOTAE_DAILY_CALLS="100")
    await more.pairs.resume(job, PUBLIC)
    async with more.pairs.working():
        assert (await more.ended(job)).chunks == {"done": 8}


async def test_a_busy_model_is_waited_for_as_long_as_it_asks(library: Library, start: Start) -> None:
    bot = start(Writer(("one", ModelBusy("later", 40.0)), ("one", ModelUnavailable("down"))))
    await library.add("a.md", page("one"))
    assert len(await bot.written(collection="docs")) == 1
    assert bot.writer.asked == ["one"] * 3
    assert [round(seconds) for seconds in bot.slept] == [40, 10]


@pytest.mark.parametrize(
    ("error", "reason", "calls"),
    [
        (ModelBusy("later"), "busy", WAITS + 1),
        (ModelUnavailable("401", "key"), "refused", 1),
    ],
)
async def test_a_model_that_stays_away_pauses_it(
    library: Library, start: Start, error: Exception, reason: str, calls: int
) -> None:
    bot = start(Writer(*[("one", error)] * 20))
    await library.add("a.md", page("one"))
    assert await bot.written(collection="docs") == []
    (job,) = await bot.pairs.jobs(PUBLIC.readers)
    assert (job.state, job.reason, job.chunks) == ("paused", reason, {"todo": 1})
    assert len(bot.writer.asked) == calls and job.cost == Cost()
    bot.writer.trouble.clear()
    await bot.pairs.resume(job.id, PUBLIC)
    async with bot.pairs.working():
        assert (await bot.ended(job.id)).state == "done"


# -- review ---------------------------------------------------------------------------------------------------------


async def test_an_approved_pair_is_found_where_its_document_is(library: Library, start: Start) -> None:
    bot = start()
    upload = Upload("piers.md", page("one", "two").encode(), "docs", TEAM, "U1", "https://files.example/piers")
    document = (await library.knowledge.add(upload, "en")).document_id
    one, two = await bot.written(collection="docs")
    assert await bot.pairs.approve([one.id, two.id], PUBLIC) == Decided(2)
    found = await library.knowledge.search("Until when do ships moor at pier two?", PUBLIC.readers)
    pairs = [hit.passage for hit in (*found.hits, *found.rejected) if hit.passage.question]
    assert {(p.document, p.collection, p.scope, p.url) for p in pairs} == {
        ("Q&A: piers.md.json", "docs", TEAM, "https://files.example/piers")
    }
    assert {(p.question, p.text) for p in pairs} == {(one.question, one.answer), (two.question, two.answer)}
    edited = await bot.pairs.edit(two.id, two.question, "Until midnight, at pier two.", PUBLIC)
    assert (edited.state, edited.marked) == ("approved", False)
    assert "Until midnight, at pier two." in await library.found("moor pier two")
    assert (await bot.pairs.edit(two.id, two.question, "Until 4:17.", PUBLIC)).marked
    assert await bot.pairs.reject([one.id], PUBLIC) == Decided(1)
    assert one.answer not in await library.found("moor pier one")
    assert await bot.pairs.reopen([two.id], PUBLIC) == Decided(1)
    assert await names(library, PUBLIC.readers) == ["piers.md"]
    for words in (("", "x"), ("x", "!"), ("x" * 600, "y")):
        with pytest.raises(PairsError):
            await bot.pairs.edit(two.id, *words, PUBLIC)
    assert document is not None
    with pytest.raises(PairsError):  # what was written from is text, not the pairs made of it
        await bot.pairs.estimate(PUBLIC, collection="docs")


async def test_a_private_places_pairs_are_its_members_alone(library: Library, start: Start) -> None:
    bot = start()
    await library.add("secret.md", page("one"), scope=SECRET)
    await library.add("open.md", page("two"))
    with pytest.raises(PairsError):
        await bot.pairs.estimate(PUBLIC, document=(await library.knowledge.documents(PRIVATE.readers))[1].id)
    pairs = await bot.written(PRIVATE, collection="docs")
    assert sorted(one.scope for one in pairs) == sorted([TEAM, SECRET])
    (secret,) = [one for one in pairs if one.scope == SECRET]
    (team,) = [one for one in pairs if one.scope == TEAM]
    assert await bot.pairs.jobs(PUBLIC.readers) == []  # its documents are not all readable there
    assert [one.id for one in (await bot.pairs.rows.listed(PUBLIC.readers)).pairs] == [team.id]
    assert await bot.pairs.rows.counts(PUBLIC.readers) == {"pending": 1}
    assert await bot.pairs.source(secret, PUBLIC.readers) is None
    (job,) = await bot.pairs.jobs(PRIVATE.readers)
    with pytest.raises(PairsError):
        await bot.pairs.cancel(job.id, PUBLIC)
    # who may approve what from where
    assert (await bot.pairs.approve([secret.id], PUBLIC)).changed == 0
    assert (await bot.pairs.approve([secret.id], GUEST)).changed == 0
    refused = await bot.pairs.approve([team.id], PRIVATE)  # a member adds for the place itself only
    assert refused.changed == 0 and "editors" in refused.refused[0].en
    assert await bot.pairs.approve([secret.id], PRIVATE) == Decided(1)
    assert secret.answer in await library.found("moor pier one", readers=PRIVATE.readers)
    assert secret.answer not in await library.found("moor pier one", readers=PUBLIC.readers)
    assert await names(library, PUBLIC.readers) == ["open.md"]
    assert (await bot.pairs.approve([team.id], EDITOR)).changed == 1
    assert await names(library, PUBLIC.readers) == ["Q&A: open.md.json", "open.md"]
    # what outsiders read needs an editor
    await library.add("for-all.md", page("three"), scope=EVERYONE)
    (public,) = await bot.written(collection="docs")
    assert (await bot.pairs.approve([public.id], PUBLIC)).changed == 0
    assert (await bot.pairs.approve([public.id], EDITOR)).changed == 1
    assert await names(library, Readers(frozenset({EVERYONE}))) == ["Q&A: for-all.md.json", "for-all.md"]


async def test_a_pair_that_one_may_not_read_is_as_if_there_were_none(library: Library, start: Start) -> None:
    bot = start()
    await library.add("secret.md", page("one"), scope=SECRET)
    (secret,) = await bot.written(PRIVATE, collection="docs")
    none = await bot.pairs.approve([secret.id + 1], PUBLIC)
    assert none.refused and await bot.pairs.approve([secret.id], PUBLIC) == none
    with pytest.raises(PairsError) as refused:
        await bot.pairs.edit(secret.id, "Mine?", "Yes, mine.", PUBLIC)
    assert (refused.value.reason,) == none.refused


# -- what becomes of their documents --------------------------------------------------------------------------------


async def test_pairs_of_a_replaced_document_are_stale(library: Library, start: Start) -> None:
    bot = start(Writer(held=["two"]))
    document = (await library.add("piers.md", page("one", "two"))).document_id
    job = await bot.pairs.start(PUBLIC, document=document)
    async with bot.pairs.working():
        await bot.until(lambda one: one.chunks.get("done") == 1, job)
        await bot.pairs.pause(job, PUBLIC)
        bot.writer.held.pop("two").set()
        await bot.ended(job)
    one, two = (await bot.pairs.rows.listed(PUBLIC.readers)).pairs
    await bot.pairs.approve([one.id], PUBLIC)
    await library.add("piers.md", page("one", "two", until="Friday"))
    refused = await bot.pairs.approve([two.id], PUBLIC)
    assert refused.changed == 0 and "earlier version" in refused.refused[0].en
    listed = (await bot.pairs.rows.listed(PUBLIC.readers)).pairs
    assert [pair.stale for pair in listed] == [True, True] and await bot.pairs.source(listed[0], PUBLIC.readers) is None
    assert "Q&A: piers.md.json" in await names(library, PUBLIC.readers)  # it was approved by a person
    assert (await bot.pairs.estimate(PUBLIC, document=document)).chunks == 2


async def test_pairs_of_a_thread_go_with_what_was_taken_back_in_it(library: Library, start: Start) -> None:
    bot = start()

    async def say(text: str) -> None:
        talk = Upload("talk 1.md", text.encode(), "talk", TEAM, "source:1", said_in="#general")
        await library.knowledge.add(talk, "en")

    await say(page("one"))
    (pair,) = await bot.written(collection="talk")
    await bot.pairs.approve([pair.id], PUBLIC)
    assert await names(library, PUBLIC.readers) == ["Q&A: talk 1.md.json", "talk 1.md"]
    async with bot.pairs.working():
        await say(page("one", until="Friday"))
        await wait_for(lambda: _is(names(library, PUBLIC.readers), ["talk 1.md"]))
        await say(page("one"))
        await wait_for(lambda: _is(names(library, PUBLIC.readers), ["Q&A: talk 1.md.json", "talk 1.md"]))


async def test_a_chunk_of_a_version_that_is_gone_is_not_paid_for(library: Library, start: Start) -> None:
    bot = start()
    document = (await library.add("piers.md", page("one", "two"))).document_id
    job = await bot.pairs.start(PUBLIC, document=document)
    await library.add("piers.md", page("one"))
    async with bot.pairs.working():
        assert (await bot.ended(job)).chunks == {"stale": 2}
    assert bot.writer.asked == []


async def test_a_forgotten_document_takes_its_pairs_with_it(library: Library, start: Start) -> None:
    bot = start()
    gone = (await library.add("gone.md", page("one"))).document_id
    await library.add("kept.md", page("two"))
    pairs = await bot.written(collection="docs")
    await bot.pairs.approve([pair.id for pair in pairs], PUBLIC)
    assert len(await names(library, PUBLIC.readers)) == 4 and gone is not None
    async with bot.pairs.working():
        await library.knowledge.forget(gone)
        assert [one.name for one in (await bot.pairs.rows.listed(PUBLIC.readers)).pairs] == ["kept.md"]
        await wait_for(lambda: _is(names(library, PUBLIC.readers), ["Q&A: kept.md.json", "kept.md"]))
    assert not any("pier one" in text for text in await library.found("moor pier one"))


async def test_pairs_that_somebody_took_out_stay_out(library: Library, start: Start) -> None:
    bot = start()
    await library.add("piers.md", page("one"))
    (pair,) = await bot.written(collection="docs")
    await bot.pairs.approve([pair.id], PUBLIC)
    (found, _) = await library.knowledge.documents(PUBLIC.readers)
    await library.knowledge.forget(found.id)
    async with bot.pairs.working():
        await wait_for(lambda: _is(bot.pairs.rows.counts(PUBLIC.readers), {"rejected": 1}))
    assert await names(library, PUBLIC.readers) == ["piers.md"]


async def test_pairs_follow_their_document_into_another_collection(library: Library, start: Start) -> None:
    bot = start()
    await library.add("piers.md", page("one"))
    await library.add("other.md", page("two"), collection="more")
    (pair,) = await bot.written(collection="docs")
    await bot.pairs.approve([pair.id], PUBLIC)
    await library.knowledge.stored.merge("docs", "more", PUBLIC.readers)
    async with bot.pairs.working():
        await asyncio.sleep(0)
    await bot.pairs.reject([pair.id], PUBLIC)
    assert await names(library, PUBLIC.readers) == ["other.md", "piers.md"]


async def test_pairs_have_the_readers_of_their_document_whatever_becomes_of_it(library: Library, start: Start) -> None:
    bot = start()
    document = (await library.add("piers.md", page("one"))).document_id
    (pair,) = await bot.written(collection="docs")
    await bot.pairs.approve([pair.id], PUBLIC)
    assert document is not None
    async with bot.pairs.working():
        await library.knowledge.rescope(document, SECRET, PRIVATE.readers)
        await wait_for(lambda: _is(names(library, PUBLIC.readers), []))
        assert (await bot.pairs.rows.listed(PUBLIC.readers)).total == 0
        both = ["Q&A: piers.md.json", "piers.md"]
        await wait_for(lambda: _is(names(library, PRIVATE.readers), both))
        (made, _) = await library.knowledge.documents(PRIVATE.readers)
        await library.knowledge.rescope(made.id, TEAM, PRIVATE.readers)
        await wait_for(lambda: _is(names(library, PUBLIC.readers), []))
        await wait_for(lambda: _is(names(library, PRIVATE.readers), both))


class Killed(Exception):
    """The end of a process."""


class Dying:
    """The knowledge of a process that is killed right after it has forgotten a document."""

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self._knowledge = knowledge

    def __getattr__(self, name: str) -> Any:
        return getattr(self._knowledge, name)

    async def forget(self, document: str) -> None:
        await self._knowledge.forget(document)
        raise Killed


async def test_pairs_whose_move_was_cut_short_stay_approved(library: Library, start: Start) -> None:
    bot = start()
    document = (await library.add("piers.md", page("one"))).document_id
    (pair,) = await bot.written(collection="docs")
    await bot.pairs.approve([pair.id], PUBLIC)
    assert document is not None
    await library.knowledge.rescope(document, SECRET, PRIVATE.readers)
    dying: Any = Dying(library.knowledge)

    async def follow(knowledge: KnowledgeBase) -> None:
        await PairDocuments(bot.pairs.rows, Documents(library.engine, "hash"), knowledge, "en").follow()

    with pytest.raises(Killed):
        await follow(dying)
    await follow(library.knowledge)
    assert await bot.pairs.rows.counts(PRIVATE.readers) == {"approved": 1}
    assert await names(library, PRIVATE.readers) == ["Q&A: piers.md.json", "piers.md"]
    assert await names(library, PUBLIC.readers) == []


async def test_nobodys_document_is_replaced_by_pairs_of_its_name(library: Library, start: Start) -> None:
    bot = start()
    await library.add("piers.md", page("one"))
    await library.add("Q&A: piers.md.json", json.dumps([{"question": "Ours?", "answer": "Yes, by hand."}]))
    (pair,) = await bot.written(collection="docs")
    await bot.pairs.approve([pair.id], PUBLIC)
    assert await names(library, PUBLIC.readers) == ["Q&A: piers.md (2).json", "Q&A: piers.md.json", "piers.md"]
    assert "Yes, by hand." in await library.found("ours hand")


async def test_pairs_of_a_long_document_are_several_documents(library: Library, start: Start) -> None:
    bot = start()
    piers = [f"p{number}" for number in range(PART + 2)]
    await library.add("long.md", page(*piers))
    pairs = await bot.written(collection="docs")
    assert len(pairs) == PART + 2
    assert (await bot.pairs.approve([pairs[0].id, pairs[-1].id], PUBLIC)).changed == 2
    assert await names(library, PUBLIC.readers) == ["Q&A: long.md (2).json", "Q&A: long.md.json", "long.md"]


# -- the tables -----------------------------------------------------------------------------------------------------


async def test_both_databases_keep_the_same(engine: AsyncEngine, clock: Clock) -> None:
    await VectorStores(engine).open("hash", 16, "t")
    row = DocumentRow("d" * 32, "docs", TEAM, "a.md", "a", None, "v1", "m", 2, "en", "U1", 1, clock.now, clock.now)
    await Documents(engine, "hash").commit(row, generation=1)
    jobs, rows, spots = PairJobs(engine), PairRows(engine), [ChunkPlace(row.id, "v1", at) for at in (0, 1)]
    trace = AuditRecord("slack:U1", "pairs start", "docs", "j")
    job: dict[str, Any] = {"collection": "docs", "model": "m", "now": clock.now, "trace": trace}
    assert await jobs.create("j", document=row.id, spots=spots, **job)
    assert not await jobs.create("k", document="nobody", spots=spots, **job)
    assert await jobs.taken([row.id]) == frozenset(spots)
    until, readers = clock.now + LEASE, PUBLIC.readers
    assert await jobs.claim(owner="me", now=clock.now, until=until) == HeldJob("j", "m")
    assert await jobs.claim(owner="you", now=clock.now, until=until) is None
    lease: dict[str, Any] = {"now": clock.now, "until": until}
    assert await jobs.renew("j", owner="me", **lease) and not await jobs.renew("j", owner="you", **lease)
    first, second = await jobs.todo("j")
    made = [Proposed("A\0 question?", "An answer."), Proposed("Another?", "Yes.", marked=True)]
    for _ in range(2):  # stored once
        assert await jobs.store("j", first, "done", owner="me", now=clock.now, made=made, cost=Cost(1, 2, 3, 4))
    with pytest.raises(LostError):
        await jobs.store("j", second, "done", owner="you", now=clock.now)
    assert not await jobs.leave("j", owner="me", now=clock.now, reason="budget")
    change: dict[str, Any] = {"now": clock.now, "trace": trace}
    assert not await jobs.turn("j", Readers(frozenset({SECRET})), "running", since={"paused"}, **change)
    assert await jobs.turn("j", readers, "running", since={"paused"}, model="n", **change)
    assert await jobs.claim(owner="you", now=clock.now, until=until) == HeldJob("j", "n")
    assert await jobs.store("j", second, "failed", owner="you", now=clock.now)
    assert await jobs.leave("j", owner="you", now=clock.now)
    (shown,) = await jobs.listed(readers, now=clock.now)
    assert (shown.state, shown.chunks, shown.pairs) == ("done", {"done": 1, "failed": 1}, {"pending": 2})
    assert shown.cost == Cost(2, 4, 6, 8) == await jobs.spent("n")
    pairs = (await rows.listed(readers, job="j", states=["pending"])).pairs
    assert [one.question for one in pairs] == ["A question?", "Another?"] and pairs[1].marked
    assert await rows.decide([one.id for one in pairs[:1]], "approved", now=clock.now, trace=trace) == 1
    assert [(one.state, one.group) for one in await rows.beside("j")] == [
        ("approved", ("docs", TEAM)),
        ("pending", ("docs", TEAM)),
    ]
    await rows.repeat({pairs[1].id: pairs[0].id})
    assert await rows.counts(readers) == {"approved": 1, "repeated": 1}
    assert [*(await rows.wanted(row.id))] == [(row.id, 0)]
    tracked = Tracked(row.id, 0, "docs", TEAM, "Q&A: a.md.json")
    await rows.track(tracked)
    await rows.track(replace(tracked, document="x"))
    assert await rows.tracked() == [replace(tracked, document="x")]
    await rows.untrack(tracked, now=clock.now)
    assert await rows.counts(readers) == {"rejected": 1, "repeated": 1} and await rows.tracked() == []
    await Documents(engine, "hash").forget(row.id, generation=2)
    assert (await rows.listed(readers)).total == 0 and await jobs.listed(readers, now=clock.now) == []


# -- all of it ------------------------------------------------------------------------------------------------------


async def test_with_the_application_and_the_real_client(tmp_path: Path) -> None:
    text = "# 港\n\n船は第七埠頭に午前0時まで停泊します。荷役は平日のみ行われます。\n"
    said = {"pairs": [{"question": "船はいつまで停泊しますか？", "answer": "午前0時まで停泊します。"}]}
    reply = gemini.Reply((gemini.text(json.dumps(said, ensure_ascii=False)),))
    async with gemini.FakeGemini(gemini.busy("0s"), reply) as server:
        given = settings(
            tmp_path,
            KOTAE_MODEL="gemini:gemini-3.8-flash",
            KOTAE_EMBEDDER="gemini:gemini-embedding-001",
            GEMINI_API_KEY=server.key,
            GEMINI_BASE_URL=server.url,
        )
        async with running(given, Redactor()) as app, app.looked_after():
            await app.knowledge.add(Upload("港.md", text.encode(), "docs", TEAM, "U1"), "ja")
            job = await app.pairs.start(PUBLIC, collection="docs")

            async def done() -> bool:
                found = await app.pairs.job(job, app.readers)
                return found is not None and found.state == "done"

            await wait_for(done)
            assert server.finished
            (pair,) = (await app.pairs.rows.listed(app.readers)).pairs
            assert await app.pairs.approve([pair.id], PUBLIC) == Decided(1)
            found = await app.knowledge.search("船はいつまで停泊しますか？", app.readers)
            assert found.hits[0].passage.question == pair.question
            (page,) = [row for row in await app.knowledge.documents(app.readers) if row.name == "港.md"]
            aki = Curator(PUBLIC.actor, app.readers, ((PUBLIC.place, PUBLIC.audience),), "ja")
            await app.curating.rescope(replace(aki, actor=replace(aki.actor, role="editor")), page.id, EVERYONE)
            assert {row.scope for row in await app.knowledge.documents(app.readers)} == {EVERYONE}
            assert await app.knowledge.forget(page.id)
            found = await app.knowledge.search("船はいつまで停泊しますか？", app.readers)
            assert not found.hits  # at once, not when somebody has looked


async def _is(work: Awaitable[Any], value: Any) -> bool:
    return bool(await work == value)
