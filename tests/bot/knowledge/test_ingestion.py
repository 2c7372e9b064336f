"""Files from platforms: taken once, read once, each with its verdict, and gone on with by whoever comes next."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from bot.errors import StoreError
from bot.knowledge.ingestion import FILES, LEASE, TRIES, WAITING, Ingestion
from bot.store.audit import Audit
from bot.store.ingestions import IngestionStore
from bot.store.leases import inherit
from bot.types import FileRef, IngestionRequest, Place
from retrieval.i18n import Text
from retrieval.types import TEAM, UnreadableError
from tests.adapters.acting import settings
from tests.bot.acting import Clock
from tests.bot.library import Library, opened

HERE = Place("slack", "T1", "C1")
BODY = b"# Harbour\n\nShips moor at pier seven.\n"


def intake(*names: str, author: str = "U1", place: Place = HERE, scope: str = TEAM, id: str = "") -> IngestionRequest:
    files = tuple(FileRef(name, {"id": f"F{number}"}) for number, name in enumerate(names))
    return IngestionRequest(id, place, "17.5", author, "docs", scope, "ja", files)


class Files:
    """A platform's files; those that are not kept here cannot be fetched."""

    def __init__(self, **kept: bytes) -> None:
        self.kept = kept
        self.fetched: list[str] = []

    async def __call__(self, file: FileRef) -> bytes:
        self.fetched.append(file.name)
        match file.name.partition(".")[0]:
            case "secret":
                raise UnreadableError(Text(en="files:read is missing.", ja="files:read がありません。"))
            case "bug":
                raise ZeroDivisionError
        return self.kept.get(file.ref["id"], BODY)


class Process:
    """One bot on the home."""

    def __init__(self, library: Library, clock: Clock, owner: str) -> None:
        self.ingestion = Ingestion(
            IngestionStore(library.engine), library.knowledge, settings(library.folder), owner=owner, clock=clock
        )
        self._number = 0

    async def taken(self, given: IngestionRequest) -> IngestionRequest:
        self._number += 1
        found = await self.ingestion.accept(f"claim {id(self)} {self._number}", given)
        assert found is not None
        return found

    async def done(self, given: IngestionRequest, files: Files) -> list[IngestionRequest]:
        return [one async for one in self.ingestion.process(given, files)]


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    async with opened(tmp_path) as library:
        yield library


@pytest.fixture
def start(library: Library, clock: Clock) -> Callable[[str], Process]:
    return lambda owner: Process(library, clock, owner)


def statuses(given: IngestionRequest) -> list[str | None]:
    return [file.verdict.status if file.verdict else None for file in given.files]


# -- a verdict a file -----------------------------------------------------------------------------------------------


async def test_each_file_gets_its_verdict_and_a_broken_one_costs_only_itself(
    library: Library, start: Callable[[str], Process], caplog: pytest.LogCaptureFixture
) -> None:
    bot = start("me")
    files = Files(F1=b"\x89PNG\r\n\x1a\n", F4="# 港\n\n船は第七埠頭に停泊します。\n".encode("cp932"))
    given = await bot.taken(intake("a.md", "scan.md", "secret.md", "bug.md", "港.md"))
    seen = await bot.done(given, files)
    assert [statuses(one) for one in (seen[0], seen[1], seen[-1])] == [
        [None] * 5,
        ["added", None, None, None, None],
        ["added", "refused", "refused", "refused", "added"],
    ]
    assert len(seen) == 6 and seen[-1].done and files.fetched == [file.name for file in given.files]
    reasons = [file.verdict.reason for file in seen[-1].files if file.verdict]
    assert reasons[2] == "files:read がありません。" and "こちらの問題" in reasons[3] and reasons[1]
    assert "ZeroDivisionError" in caplog.text
    assert await library.found("埠頭") == ["船は第七埠頭に停泊します。"]
    assert await bot.ingestion.unfinished("slack") == []
    assert await bot.done(given, files) == []
    traces = list(reversed(await Audit(library.engine).listed()))
    assert [(one.actor, one.action) for one in traces] == [("slack:U1", "ingest")] * 5
    assert traces[0].subject == f"docs/a.md (team) sha256:{sha256(BODY).hexdigest()}"
    assert [one.result.partition(":")[0] for one in traces] == ["added", "refused", "refused", "refused", "added"]


async def test_what_a_person_did_is_taken_once(start: Callable[[str], Process]) -> None:
    one, other = start("one"), start("two")
    taken = await one.ingestion.accept("slack T1 trigger", intake("a.md"))
    assert taken is not None and taken.id
    assert await one.ingestion.accept("slack T1 trigger", intake("a.md")) is None
    assert await other.ingestion.accept("slack T1 trigger", intake("a.md")) is None


async def test_added_again_it_is_unchanged(start: Callable[[str], Process]) -> None:
    bot = start("me")
    for expected in ("added", "unchanged"):
        seen = await bot.done(await bot.taken(intake("a.md")), Files())
        assert statuses(seen[-1]) == [expected]


async def test_what_somebody_has_added_only_they_or_an_editor_replace(
    library: Library, start: Callable[[str], Process]
) -> None:
    """Two people paste texts with one first line, or into `answers` a file that is called like an expert's answer."""
    bot = start("me")

    async def added(author: str, body: bytes, *, link: str = "", over: bool = False) -> str:
        given = intake("a.md", author=author)
        (file,) = given.files
        given = replace(given, files=(replace(file, ref=dict(file.ref) | ({"link": link} if link else {}), over=over),))
        verdict = (await bot.done(await bot.taken(given), Files(F0=body)))[-1].files[0].verdict
        assert verdict is not None
        return verdict.reason or verdict.status

    assert await added("U1", BODY) == "added"
    assert await added("U2", BODY) == "unchanged"
    assert "ほかの人が登録した、同じ公開範囲の文書「a.md」" in await added("U2", b"Ships moor elsewhere.")
    assert await library.found("ships moor") == ["Ships moor at pier seven."]
    assert await added("U1", b"Ships moor at pier eight.") == "replaced"
    assert await added("U2", b"Ships moor at pier nine.", over=True) == "replaced"
    assert await library.found("ships moor") == ["Ships moor at pier nine."]
    link = "https://team.example/archives/C1/p1"
    assert await added("U2", b"Ships moor at pier ten.", link=link) == "replaced"
    assert "a.md" in await added("U1", b"Ships moor nowhere.", link=f"{link}2")
    assert await added("U1", b"Ships moor at pier ten, says Ken.", link=link) == "replaced"  # the thread, read anew


async def test_names_are_one_clean_line_and_no_two_are_equal(start: Callable[[str], Process]) -> None:
    names = (
        "a\u202egpj\n.md",
        "規程.md",
        "規程.md",
        "規程 (2).md",
        "規程.md",
        "",
        "長" * 300 + ".md",
        "長" * 300 + ".md",
    )
    taken = await start("me").taken(intake(*names))
    shown = [file.name for file in taken.files]
    assert shown[:6] == ["agpj.md", "規程.md", "規程 (2).md", "規程 (2) (2).md", "規程 (3).md", "?"]
    assert len(set(shown)) == len(shown) and max(map(len, shown)) < 210 and shown[-1].endswith(" (2).md")


async def test_a_scope_of_elsewhere_is_never_taken(start: Callable[[str], Process]) -> None:
    for scope in ("place:slack:T1:C2", "thread:slack:T1:C1:1", "", "all"):
        with pytest.raises(ValueError, match="not a scope"):
            await start("me").taken(intake("a.md", scope=scope))


# -- limits ---------------------------------------------------------------------------------------------------------


async def test_more_than_one_may_give_at_once_is_refused_in_words(start: Callable[[str], Process]) -> None:
    bot = start("me")
    taken = await bot.taken(intake(*(f"{number}.md" for number in range(FILES + 1))))
    assert statuses(taken) == [None] * FILES + ["refused"]
    last = taken.files[-1].verdict
    assert last is not None and f"{FILES} 件まで" in last.reason


async def test_a_person_with_files_waiting_waits(start: Callable[[str], Process]) -> None:
    bot = start("me")
    queued = [await bot.taken(intake(f"{number}.md")) for number in range(WAITING)]
    refused = await bot.taken(intake("one too many.md", "another.md"))
    assert statuses(refused) == ["refused", "refused"]
    verdict = refused.files[0].verdict
    assert verdict is not None and f"{WAITING} 件" in verdict.reason
    assert statuses(await bot.taken(intake("a.md", author="U2"))) == [None]
    assert statuses(await bot.taken(intake("a.md", place=Place("discord", "T1", "C1")))) == [None]
    files = Files()
    assert [statuses(one) for one in await bot.done(refused, files)] == [["refused", "refused"]]
    assert files.fetched == []
    await bot.done(queued[0], files)
    assert statuses(await bot.taken(intake("now.md"))) == [None]


# -- whoever comes next ---------------------------------------------------------------------------------------------


async def test_one_that_was_left_in_the_middle_is_gone_on_with(start: Callable[[str], Process]) -> None:
    one, other = start("one"), start("two")
    given = await one.taken(intake("a.md", "b.md", "c.md"))
    files = Files()
    async with aclosing(one.ingestion.process(given, files)) as work:
        await anext(work)
        await anext(work)
    (found,) = await other.ingestion.unfinished("slack")
    assert statuses(found) == ["added", None, None] and await other.ingestion.unfinished("discord") == []
    seen = await other.done(found, files)
    assert [statuses(each) for each in seen] == [
        ["added", None, None],
        ["added", "added", None],
        ["added", "added", "added"],
    ]
    assert files.fetched == ["a.md", "b.md", "c.md"]


async def test_one_whose_process_died_is_found_when_its_lease_has_passed(
    start: Callable[[str], Process], clock: Clock
) -> None:
    given = await start("dead").taken(intake("a.md"))
    alive = start("alive")
    assert await alive.ingestion.unfinished("slack") == [] == await alive.done(given, Files())
    clock.now += LEASE
    (found,) = await alive.ingestion.unfinished("slack")
    assert statuses((await alive.done(found, Files()))[-1]) == ["added"]


@pytest.mark.parametrize("step", [timedelta(minutes=10), timedelta(minutes=-10)], ids=["forward", "back"])
async def test_no_step_of_the_clock_gives_one_to_two(
    library: Library, start: Callable[[str], Process], clock: Clock, step: timedelta
) -> None:
    bot, files = start("me"), Files()
    given = await bot.taken(intake("a.md", "b.md"))
    async with aclosing(bot.ingestion.process(given, files)) as working:
        await anext(working)
        clock.now += step
        assert await bot.ingestion.unfinished("slack") == [] and await bot.done(given, files) == []
        assert statuses(await anext(working)) == ["added", None]
    assert [one.id for one in await bot.ingestion.unfinished("slack")] == [given.id]  # given back
    dead, held = start("dead"), await bot.taken(intake("c.md"))
    async with aclosing(dead.ingestion.process(given, files)) as left:
        await anext(left)
        clock.now -= 2 * step
        await inherit(library.engine, clock.now)  # as the next process of the home does
        assert {one.id for one in await start("next").ingestion.unfinished("slack")} == {given.id, held.id}


async def test_verdicts_that_were_not_shown_are_shown_by_the_next(start: Callable[[str], Process]) -> None:
    one, other = start("one"), start("two")
    given = await one.taken(intake("a.md"))
    async with aclosing(one.ingestion.process(given, Files())) as work:
        await anext(work)
        assert (await anext(work)).done
    (found,) = await other.ingestion.unfinished("slack")
    files = Files()
    assert [statuses(each) for each in await other.done(found, files)] == [["added"]]
    assert files.fetched == [] and await other.ingestion.unfinished("slack") == []


async def test_two_do_not_work_on_one(start: Callable[[str], Process]) -> None:
    bot = start("me")
    given = await bot.taken(intake("a.md"))
    async with aclosing(bot.ingestion.process(given, Files())) as work:
        await anext(work)
        assert await bot.done(given, Files()) == [] == await start("other").done(given, Files())


async def test_whoever_has_lost_it_stops(start: Callable[[str], Process], clock: Clock) -> None:
    """A process that stood still for longer than its lease."""
    slow, other = start("slow"), start("other")
    given = await slow.taken(intake("a.md", "b.md"))
    async with aclosing(slow.ingestion.process(given, Files())) as work:
        await anext(work)
        clock.now += LEASE
        assert statuses((await other.done(given, Files()))[-1]) == ["added", "added"]
        assert [one async for one in work] == []


async def test_a_file_that_could_not_be_stored_for_a_moment_is_not_refused(
    library: Library, start: Callable[[str], Process]
) -> None:
    bot = start("me")
    given = await bot.taken(intake("a.md", "b.md"))
    away = library.folder
    away.write_text("in its place", encoding="utf-8")
    with pytest.raises(StoreError):
        await bot.done(given, Files())
    away.unlink()
    (found,) = await bot.ingestion.unfinished("slack")
    assert statuses((await bot.done(found, Files()))[-1]) == ["added", "added"]


async def test_what_cannot_be_stored_at_all_is_said(library: Library, start: Callable[[str], Process]) -> None:
    bot = start("me")
    given = await bot.taken(intake("a.md"))
    library.folder.write_text("in its place", encoding="utf-8")
    for _ in range(TRIES - 1):
        with pytest.raises(StoreError):
            await bot.done(given, Files())
    (verdict,) = [file.verdict for file in (await bot.done(given, Files()))[-1].files]
    assert verdict is not None and verdict.status == "refused" and "中断" not in verdict.reason


async def test_a_file_that_ends_processes_is_given_up(start: Callable[[str], Process]) -> None:
    given = await start("first").taken(intake("bomb.md", "b.md"))

    async def never(file: FileRef) -> bytes:
        await asyncio.Event().wait()
        raise AssertionError

    bot = start("first")
    for _ in range(TRIES):
        async with aclosing(bot.ingestion.process(given, never)) as work:
            await anext(work)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await anext(work)
    files = Files()
    last = (await start("second").done(given, files))[-1]
    assert statuses(last) == ["refused", "added"] and files.fetched == ["b.md"]
    assert last.files[0].verdict is not None and f"{TRIES} 回中断" in last.files[0].verdict.reason


async def test_a_link_to_the_file_is_kept_for_people(library: Library, start: Callable[[str], Process]) -> None:
    given = intake("a.md")
    linked = replace(given, files=(replace(given.files[0], ref={"id": "F1", "link": "https://x.y/F1"}),))
    await start("me").done(await start("me").taken(linked), Files())
    assert [row.url for row in await library.documents.listed()] == ["https://x.y/F1"]
