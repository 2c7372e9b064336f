"""The rooms: what is written stays, whoever is not in a room sees nothing of it, and pages hear of every change."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adapters.web.channel.messages import LONGEST, Board, Change
from adapters.web.channel.rooms import PLATFORM, WORKSPACE, readers_of, rooms_of
from agent.events import Citation
from bot.access import thread_scope
from bot.database import Database, database
from bot.records import BOT, BotMessage, RoomMessage
from bot.turns.event_json import citation_json
from bot.types import Place, Upload
from retrieval.types import EVERYONE, TEAM
from tests.adapters.acting import settings
from tests.adapters.web.stage import AKI, BEN, GENERAL, LEADS
from tests.bot.library import Library, opened


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    async with opened(tmp_path) as one:
        yield one


@pytest.fixture
async def data(tmp_path: Path) -> AsyncIterator[Database]:
    async with database(settings(tmp_path)) as opened_anew:
        yield opened_anew


@pytest.fixture
def board(library: Library, data: Database) -> Board:
    return Board(data, library.knowledge)


def texts(found: list[RoomMessage]) -> list[str]:
    return [each.text for each in found]


async def put(board: Board, root: RoomMessage, kind: Any, text: str, about: str = "turn", **data: Any) -> RoomMessage:
    return await board.put(BotMessage(root.room, root.root, about, kind, text, data=data))


def cites(*documents: str, collection: str = "docs") -> list[dict[str, Any]]:
    found = (Citation(n, name, collection, 0, f"Quoted from {name}.") for n, name in enumerate(documents, 1))
    return [citation_json(citation) for citation in found]


# -- writing and reading ---------------------------------------------------------------------------------------------


async def test_what_is_written_stays_in_its_room_and_thread(library: Library, data: Database, board: Board) -> None:
    roots = [await board.post(GENERAL, AKI, f"Root {n}") for n in range(5)]
    for who, text in ((BEN, "One"), (AKI, "Two"), (BEN, "Three")):
        await board.post(GENERAL, who, text, roots[1].id)
    await put(board, roots[1], "steps", "🧠")
    await put(board, roots[1], "steps", "🧠 more")  # the same, said anew
    again = Board(data, library.knowledge)  # after a restart
    assert texts(await again.messages(GENERAL, BEN)) == [f"Root {n}" for n in range(5)]
    assert texts(await again.messages(GENERAL, BEN, limit=2)) == ["Root 3", "Root 4"]
    assert texts(await again.messages(GENERAL, BEN, before=roots[3].id, limit=2)) == ["Root 1", "Root 2"]
    assert texts(await again.messages(GENERAL, BEN, roots[1].id)) == ["Root 1", "One", "Two", "Three", "🧠 more"]
    found = await again.threads(GENERAL, BEN, [root.id for root in roots])
    assert list(found) == [roots[1].id]
    assert (found[roots[1].id].count, found[roots[1].id].authors) == (4, ("ben", "aki", BOT))
    with pytest.raises(ValueError):
        await again.post(GENERAL, AKI, "x" * (LONGEST + 1))


async def test_people_change_their_own_messages_and_nobody_elses(board: Board) -> None:
    root, reply = await board.post(GENERAL, AKI, "Root"), None
    reply = await board.post(GENERAL, BEN, "Reply", root.id)
    said = await put(board, root, "answer", "Said")
    edited = await board.edit(AKI, root.id, "Changed")
    assert edited.text == "Changed" and edited.edited_at is not None and edited.created_at == root.created_at
    for message in (reply, said):
        with pytest.raises(PermissionError):
            await board.edit(AKI, message.id, "Mine now")
        with pytest.raises(PermissionError):
            await board.delete(AKI, message.id)
    await board.delete(AKI, root.id)
    shown = await board.messages(GENERAL, BEN)
    assert [(each.text, each.deleted_at is None) for each in shown] == [("", False)]  # its thread goes on
    await board.delete(BEN, reply.id)
    await board.drop([said])
    assert await board.messages(GENERAL, BEN) == [] and await board.messages(GENERAL, BEN, root.id) == []
    with pytest.raises(LookupError):
        await board.edit(AKI, root.id, "Again")


async def test_a_private_room_is_not_there_for_who_is_not_in_it(board: Board) -> None:
    root = await board.post(LEADS, AKI, "We buy the harbour.")
    answer = await put(board, root, "answer", "Secret.", citations=cites("plan.md"))
    mine = await board.post(GENERAL, BEN, "Hello")
    tries = (
        lambda: board.messages(LEADS, BEN),
        lambda: board.messages(LEADS, BEN, root.id),
        lambda: board.threads(LEADS, BEN, [root.id]),
        lambda: board.get(BEN, root.id),
        lambda: board.get(BEN, answer.id),
        lambda: board.passage(BEN, answer.id, 1),
        lambda: board.post(LEADS, BEN, "Let me in"),
        lambda: board.post(LEADS, BEN, "Let me in", root.id),
        lambda: board.post(GENERAL, BEN, "Let me in", root.id),
        lambda: board.edit(BEN, root.id, "Nothing"),
        lambda: board.delete(BEN, root.id),
        lambda: board.get(BEN, 999_999),
    )
    for attempt in tries:
        with pytest.raises(LookupError) as refused:
            await attempt()
        assert "harbour" not in str(refused.value) and "leads" not in str(refused.value)
    with pytest.raises(LookupError), board.subscribe(BEN, LEADS):
        pass
    # A thread of another room does not show through one's own.
    assert await board.messages(GENERAL, BEN, root.id) == [] and await board.threads(GENERAL, BEN, [root.id]) == {}
    assert texts(await board.messages(GENERAL, BEN)) == ["Hello"]
    assert len(await board.messages(LEADS, AKI, root.id)) == 2
    with pytest.raises(LookupError):
        await board.post(GENERAL, BEN, "A thread in a thread", (await board.post(GENERAL, AKI, "r", mine.id)).id)
    assert rooms_of(BEN) == (GENERAL,) and readers_of(BEN).scopes == {EVERYONE, TEAM}
    assert readers_of(AKI).scopes == {EVERYONE, TEAM, "place:web:local:leads"}


async def test_every_page_hears_of_what_changes_in_its_rooms_once(board: Board) -> None:
    with board.subscribe(AKI) as everything, board.subscribe(BEN) as bens, board.subscribe(AKI, LEADS) as leads:
        root = await board.post(GENERAL, AKI, "Root")
        secret = await board.post(LEADS, AKI, "Secret")
        for text in ("one", "two", "three"):
            said = await put(board, root, "steps", text)
        await board.drop([said])
        general = [Change("general", None, root.id), Change("general", root.id, said.id)]

        async def heard(changes: Any, count: int) -> list[Change]:
            return [await asyncio.wait_for(anext(changes), 30) for _ in range(count)]

        assert await heard(everything, 3) == [general[0], Change("leads", None, secret.id), general[1]]
        assert await heard(bens, 2) == general
        assert await heard(leads, 1) == [Change("leads", None, secret.id)]
        waiting = [asyncio.create_task(anext(each)) for each in (everything, bens, leads)]
        edited = await board.edit(AKI, secret.id, "Secrets")
        told = [await asyncio.wait_for(waiting[number], 30) for number in (0, 2)]
        assert told == [Change("leads", None, edited.id)] * 2 and not waiting[1].done()
        waiting[1].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_pages_of_another_process_hear_of_every_change(
    tmp_path: Path, library: Library, shared_database: str
) -> None:
    """Two processes of one database: what is said, said anew, edited, voted on, dropped and deleted at one shows at the
    other."""
    given = settings(tmp_path, DATABASE_URL=shared_database)
    async with database(given) as here, database(given) as there:
        one, other = Board(here, library.knowledge), Board(there, library.knowledge)
        hearing = asyncio.create_task(there.signals.hear())
        try:
            with other.subscribe(BEN) as changes:

                async def heard(count: int) -> list[Change]:
                    return [await asyncio.wait_for(anext(changes), 30) for _ in range(count)]

                assert await heard(1) == [Change("general")]  # anything may have changed until now
                root = await one.post(GENERAL, AKI, "Root")
                await one.post(LEADS, AKI, "Secret")
                at_root, below = Change("general", None, root.id), None
                assert await heard(1) == [at_root]
                assert texts(await other.messages(GENERAL, BEN)) == ["Root"]
                for text in ("one", "two"):
                    said = await put(one, root, "steps", text)
                    below = Change("general", root.id, said.id)
                    assert await heard(1) == [below]
                await one.edit(AKI, root.id, "Root 2")
                assert await heard(1) == [at_root]
                await one.changed(said)
                assert await heard(1) == [below]
                await one.drop([said])
                assert await heard(1) == [below]
                await one.delete(AKI, root.id)
                assert await heard(1) == [at_root] and await other.messages(GENERAL, BEN) == []
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)


# -- quotations ------------------------------------------------------------------------------------------------------


async def test_an_answer_keeps_no_quotation_of_what_may_not_be_read_any_more(library: Library, board: Board) -> None:
    verdicts = {name: await library.add(name, f"# Rules\n\nWords of {name}.") for name in ("a.md", "b.md")}
    root = await board.post(GENERAL, AKI, "Question")
    place = Place(PLATFORM, WORKSPACE, "general")
    for scope, name in ((thread_scope(place, str(root.id)), "mine.md"), (thread_scope(place, "77"), "other.md")):
        await library.knowledge.add(Upload(name, f"# F\n\nWords of {name}.".encode(), "docs", scope, "aki"), "en")
    names = ("a.md", "b.md", "mine.md", "other.md")
    answer = await put(board, root, "answer", "So it is. [1][2]", citations=cites(*names))
    leads = await board.post(LEADS, AKI, "Question")
    secret = await put(board, leads, "answer", "So. [1]", "turn-2", citations=cites("a.md", "leads.md"))
    await library.add("leads.md", "# L\n\nWords of leads.md.", scope="place:web:local:leads")

    async def quotes(message: RoomMessage) -> list[tuple[str, bool]]:
        shown = (await board.get(AKI, message.id)).data["citations"]
        assert (
            shown
            == (await board.messages(GENERAL if message is answer else LEADS, AKI, message.root))[-1].data["citations"]
        )
        return [(one["quote"], one["gone"]) for one in shown]

    there = [(f"Quoted from {name}.", False) for name in names]
    assert await quotes(answer) == [*there[:3], ("", True)]  # another thread's file is not this thread's
    assert await quotes(secret) == [there[0], ("Quoted from leads.md.", False)]
    passage = await board.passage(BEN, answer.id, 1)
    assert passage is not None and passage.text == "Words of a.md." and passage.title == "Rules"
    own, foreign = await board.passage(BEN, answer.id, 3), await board.passage(BEN, answer.id, 4)
    assert own is not None and own.text == "Words of mine.md." and foreign is None
    with pytest.raises(LookupError):
        await board.passage(BEN, answer.id, 9)

    for name in ("a.md", "b.md"):
        assert await library.knowledge.forget(verdicts[name].document_id or "")
    await library.add("b.md", "# Rules\n\nWords of b.md.", scope="place:web:local:leads")
    assert await quotes(answer) == [("", True), ("", True), there[2], ("", True)]
    assert await board.passage(BEN, answer.id, 1) is None
    assert await board.passage(AKI, answer.id, 2) is None  # she might, but the room might not
