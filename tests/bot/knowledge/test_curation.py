"""Who may change documents, what is left of it in the audit, and work that goes on in the background."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from bot.jobs import BackgroundJob
from bot.knowledge.curation import FILES, Curation, Curator, NotAllowedError
from bot.records import DocumentRow
from bot.store.audit import Audit
from bot.store.documents import Documents
from bot.store.qa_pairs import PairRows, Tracked
from bot.store.searches import Searches
from bot.types import Actor, Audience, Place
from bot.unanswered.expert_answers import ANSWERS
from retrieval.i18n import Language
from retrieval.loaders.loader import Loader
from retrieval.types import EVERYONE, TEAM, RAGToolError, Readers
from tests.bot.library import OLD, Library, opened
from tests.bot.sample_turns import settings

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROOM = "place:web:local:leads"
GENERAL, LEADS = Place("web", "local", "general"), Place("web", "local", "leads")


def somebody(name: str, role: str = "member", *, leads: bool = True) -> Curator:
    places = ((GENERAL, Audience("public")), (LEADS, Audience("private")))[: 2 if leads else 1]
    readers = Readers(frozenset({TEAM, EVERYONE, ROOM} if leads else {TEAM, EVERYONE}))
    return Curator(Actor("web", "local", name, role), readers, places, "en")  # type: ignore[arg-type]


EDITOR, MEMBER, OTHER = somebody("aki", "editor"), somebody("ben"), somebody("eve", leads=False)
OUTSIDER = somebody("mal", "outsider")


@pytest_asyncio.fixture(loop_scope="module")
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    async with Loader() as loader, opened(tmp_path, loader=loader) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def curating(library: Library, tmp_path: Path) -> AsyncIterator[Curation]:
    made = Curation(library.knowledge, Searches(library.engine), Audit(library.engine), settings(tmp_path))
    yield made
    await made.close()


async def ended(job: BackgroundJob) -> BackgroundJob:
    async with asyncio.timeout(30):
        while True:
            if job.over:
                return job
            await asyncio.sleep(0.01)


def give(curating: Curation, who: Curator, name: str, text: str = OLD, *, scope: str = TEAM) -> BackgroundJob:
    async def read() -> bytes:
        return text.encode()

    return curating.add(who, name, read, collection="docs", scope=scope)


async def test_who_may_do_what(curating: Curation, library: Library) -> None:
    assert curating.scopes(EDITOR) == (TEAM, EVERYONE, ROOM)
    assert (curating.scopes(MEMBER), curating.scopes(OTHER), curating.scopes(OUTSIDER)) == ((TEAM, ROOM), (TEAM,), ())
    own = (await ended(give(curating, MEMBER, "own.md", scope=ROOM))).verdict
    assert own and own.document_id and own.status == "added"
    row = await library.knowledge.document(own.document_id, MEMBER.readers)
    assert row and curating.scopes_for(MEMBER, row) == () and curating.scopes_for(EDITOR, row) == (TEAM, EVERYONE)
    for refused in (
        curating.rescope(MEMBER, row.id, TEAM),  # widening
        curating.rescope(EDITOR, row.id, "place:web:local:elsewhere"),
        curating.merge(MEMBER, ["docs"], "more"),
        curating.delete(MEMBER, "docs"),
        curating.describe(MEMBER, "docs", "mine"),
        curating.rename(MEMBER, "docs", "mine"),
        curating.clear_measurements(MEMBER),
    ):
        with pytest.raises(NotAllowedError):
            await refused
    for who in (OTHER, OUTSIDER):
        with pytest.raises(NotAllowedError):
            give(curating, who, "x.md", scope=EVERYONE)
    with pytest.raises(LookupError):
        await curating.forget(OTHER, row.id)  # is not in that room
    assert (await curating.rescope(EDITOR, row.id, TEAM)).scope == TEAM
    with pytest.raises(NotAllowedError):
        await curating.forget(OTHER, row.id)  # did not add it
    with pytest.raises(NotAllowedError):
        curating.reindex(OTHER, [row], "own.md")
    assert (await curating.rescope(MEMBER, row.id, ROOM)).scope == ROOM  # narrowing one's own
    assert (await curating.forget(MEMBER, row.id)).name == "own.md"
    assert await library.points() == 0
    traces = [(trace.actor, trace.action, trace.result) for trace in await Audit(library.engine).listed()]
    for who, status in ((MEMBER, "added"), (OTHER, "refused"), (EDITOR, "replaced")):
        verdict = (await ended(give(curating, who, "same.md", f"# Keys\n\n{who.actor.id} has them."))).verdict
        assert verdict and verdict.status == status
    assert traces == [
        ("web:ben", "forget", "forgotten"),
        ("web:ben", "rescope", ROOM),
        ("web:eve", "change", "refused"),
        ("web:aki", "rescope", TEAM),
        ("web:ben", "ingest", "added"),
    ]


async def test_what_experts_have_answered_stays_where_it_can_be_corrected(curating: Curation, library: Library) -> None:
    """Moved away, the same question answered anew had two answers, and the first could not be taken back."""
    name = "Q&A: Where are the keys?.json"
    kept = await library.add(
        name, '[{"question": "Where are the keys?", "answer": "On the shelf."}]', collection=ANSWERS
    )
    assert kept.document_id
    for refused in (
        curating.rename(EDITOR, ANSWERS, "faq"),
        curating.merge(EDITOR, [ANSWERS], "docs"),
        curating.move(EDITOR, kept.document_id, "docs"),
    ):
        with pytest.raises(RAGToolError, match=ANSWERS):
            await refused
    stray = await library.add("stray.md", OLD, collection=ANSWERS)
    assert stray.document_id and (await curating.move(EDITOR, stray.document_id, "docs")).collection == "docs"
    assert await curating.merge(EDITOR, [ANSWERS], ANSWERS) == 0


async def test_no_pair_is_ever_read_by_more_than_read_its_document(tmp_path: Path) -> None:
    shown: list[tuple[str, str]] = []

    class Noting(Documents):
        async def commit(self, row: DocumentRow, *, generation: int, markdown: str | None = None) -> None:
            await super().commit(row, generation=generation, markdown=markdown)
            shown.append((row.name, row.scope))

    async with opened(tmp_path / "noted", documents=Noting) as noted:
        ids = {}
        for name in ("own.md", "pairs.md"):
            ids[name] = str((await noted.add(name, OLD)).document_id)
        await PairRows(noted.engine).track(Tracked(ids["own.md"], 0, "docs", TEAM, "pairs.md", ids["pairs.md"]))
        curating = Curation(noted.knowledge, Searches(noted.engine), Audit(noted.engine), settings(tmp_path))
        shown.clear()
        for scope in (ROOM, TEAM, EVERYONE):
            await curating.rescope(EDITOR, ids["own.md"], scope)
        await curating.close()
    assert shown == [
        *(("pairs.md", ROOM), ("own.md", ROOM)),  # fewer: the pairs first
        *(("own.md", TEAM), ("pairs.md", TEAM)),
        *(("own.md", EVERYONE), ("pairs.md", EVERYONE)),
    ]


async def test_work_goes_on_is_told_of_and_can_be_stopped(curating: Curation, library: Library) -> None:
    go = asyncio.Event()

    async def waits() -> bytes:
        await go.wait()
        return OLD.encode()

    waiting = [curating.add(MEMBER, f"{n}.md", waits, collection="docs", scope=TEAM) for n in range(FILES)]
    reasons: dict[Language, str] = {"en": f"already have {FILES} files", "ja": f"すでに {FILES} 件"}
    for language, reason in reasons.items():
        member = replace(MEMBER, language=language)
        refused = curating.add(member, "one too many.md", waits, collection="docs", scope=TEAM)
        assert (refused.state, refused.name, refused.over) == ("failed", "one too many.md", True)
        assert reason in refused.problem and curating.jobs(MEMBER)[0] is refused
    assert curating.jobs(OTHER) == []
    curating.stop(OTHER, waiting[0].id)  # is not theirs
    for job in (waiting[1], *waiting[4:]):
        curating.stop(MEMBER, job.id)
    go.set()
    done = [await ended(job) for job in waiting]
    assert [job.state for job in done] == ["done", "stopped", "done", "done", *["stopped"] * (FILES - 4)]
    rows = await library.knowledge.documents(MEMBER.readers)
    assert len(rows) == 3 and waiting[0].share == 1.0

    (library.folder / rows[0].markdown[:2] / f"{rows[0].markdown}.md").unlink()  # all share it
    again = await ended(curating.reindex(EDITOR, rows[:3], "docs"))
    assert (again.state, again.done, len(again.refused)) == ("done", 3, 3)
    assert "kept text" in again.refused[0].reason and len(await library.found("harbour")) == 1

    async def breaks() -> bytes:
        raise OSError("gone")

    broken = await ended(curating.add(MEMBER, "x.md", breaks, collection="docs", scope=TEAM))
    assert broken.state == "failed" and "log has the reason" in broken.problem and "gone" not in broken.problem
    curating.clear(MEMBER)
    assert curating.jobs(MEMBER) == [] and curating.jobs(EDITOR) == [again]


async def test_what_runs_is_stopped_at_the_end_and_leaves_nothing(curating: Curation, library: Library) -> None:
    async def never() -> bytes:
        await asyncio.Event().wait()
        raise AssertionError

    jobs = [curating.add(MEMBER, f"{n}.md", never, collection="docs", scope=TEAM) for n in range(3)]
    await curating.close()
    assert [job.state for job in jobs] == ["stopped"] * 3 and await library.points() == 0
