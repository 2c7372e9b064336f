"""Who does not want to be found in channels is forgotten also where their words are being read at that moment."""

from asyncio import gather
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.records import AuditRecord
from bot.store.erasure import Erasure
from bot.store.followed import SILENCED, FollowedPage, FollowedSource, FollowedSources

NOW = datetime(2026, 9, 21, 9, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
BEN, ANN = "slack:U2", "slack:U1"


@pytest.fixture
async def store(engine: AsyncEngine) -> FollowedSources:
    made = FollowedSources(engine)
    talk = FollowedSource("5" * 32, "talk", "channel", "slack:T1:C1", {}, "talk", "team", 30, ANN, NOW, NOW)
    assert await made.add(talk, AuditRecord(ANN, "source add", "talk", "on"))
    return made


async def noted(store: FollowedSources, document: str, *people: str, seen: datetime | None = None) -> None:
    await store.note("5" * 32, "1.0", FollowedPage("read", document, people=people), seen=seen)


async def test_a_thread_that_was_being_read_is_silenced_whether_it_was_noted_before_or_not(
    store: FollowedSources,
) -> None:
    await store.leave_out(BEN, NOW)
    await noted(store, "d1", ANN, BEN)
    ((source, ref, page),) = await store.silenced()
    assert (source, ref, page.document, page.version) == ("5" * 32, "1.0", "d1", SILENCED)
    await store.forgotten(source, ref, "d1", NOW)
    assert await store.silenced() == []
    assert (await store.pages(source))[ref] == FollowedPage("", due_at=NOW)


@pytest.mark.parametrize("found", [{"state": "asks", "gone": 12}, {"state": "on", "gone": 0}])
async def test_what_was_paused_meanwhile_stays_paused_whatever_a_sync_has_found(
    store: FollowedSources, found: dict[str, Any]
) -> None:
    """Another process was not heard, or was heard when the sync was over."""
    id = "5" * 32
    assert await store.claim(id, owner="one", now=NOW, until=LATER)
    await store.turn(id, "paused", due_at=LATER, trace=AuditRecord(ANN, "source pause", "talk", "paused"))
    await store.leave(id, owner="one", seen=NOW, cursor="seen", due_at=LATER, **found)
    assert [(one.state, one.gone) for one in await store.listed()] == [("paused", 0)]


async def test_an_erasure_that_was_cut_off_finds_the_threads_it_has_left(
    engine: AsyncEngine, store: FollowedSources
) -> None:
    await noted(store, "d1", BEN)
    for _ in range(2):  # killed before the document was forgotten, and asked for again
        assert (await Erasure(engine).forget("slack", "U2")).threads == 1
    await store.forgotten("5" * 32, "1.0", "d1", NOW)
    assert (await Erasure(engine).forget("slack", "U2")).threads == 0


async def test_a_thread_in_which_two_things_happen_at_once_is_to_be_read(store: FollowedSources) -> None:
    place, threads = "slack:T1:C1", [f"{at}.0" for at in range(20)]
    assert all(await gather(*(store.stir(place, ref, NOW, known=False) for ref in threads for _ in range(2))))
    assert {*await store.pages("5" * 32)} == {*threads}
    assert await store.stir(place, "new", NOW, known=True) and "new" not in await store.pages("5" * 32)
    assert await store.stir(place, "0.0", LATER, known=True)
    assert (await store.pages("5" * 32))["0.0"].due_at == LATER


async def test_what_was_read_before_somebody_wanted_out_does_not_hide_that_they_do(store: FollowedSources) -> None:
    await noted(store, "d1", BEN)
    await store.leave_out(BEN, LATER)
    await noted(store, "d1", ANN)  # a look that had begun earlier, and had seen nothing of him
    ((source, ref, page),) = await store.silenced()
    assert (page.document, page.due_at) == ("d1", LATER)
    await store.forgotten(source, ref, "another document", NOW)
    assert len(await store.silenced()) == 1
    await store.forgotten(source, ref, "d1", NOW)
    await noted(store, "d2", ANN, seen=NOW)
    assert await store.silenced() == [] and (await store.pages(source))[ref].document == "d2"
