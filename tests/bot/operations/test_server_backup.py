"""A backup of a database on a server, and a restore into one: the way from one machine to several, and back."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, null, select, text
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.config.settings import Settings
from bot.knowledge.content_store import content_store
from bot.operations.backup import BackupError, back_up
from bot.operations.restore import Restored, restore
from bot.operations.restore_marker import MANIFEST, UNFINISHED, refuse_unfinished, unfinished
from bot.store.contents import Contents, address_of
from bot.store.documents import Documents
from bot.store.engine import change, connect, rows
from bot.store.held_files import HeldRows
from bot.store.homes import Homes
from bot.store.link import ServerLink
from bot.store.processes import Processes
from bot.store.schema import home as home_table
from bot.store.schema import messages, turns
from bot.store.transfer import FilledError, dump, load
from bot.store.vector_stores import VectorStores
from migrations import upgrade
from tests.bot import databases
from tests.bot import postgresql as postgres_server
from tests.bot.operations.test_backup import at, home, restore_killed, texts
from tests.bot.store.everything import fill, rows_of_all
from tests.bot.store.test_store import document
from tests.retrieval.test_ingest import HashEmbedder

OF_THE_SERVER = {"contents", "held_files", "erasures", "processes"}


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[AsyncEngine]:
    engine = connect(url)
    try:
        yield engine
    finally:
        await engine.dispose()


async def tables(url: str) -> dict[str, list[dict[str, Any]]]:
    async with opened(url) as engine:
        return {name: found for name, found in (await rows_of_all(engine)).items() if name not in OF_THE_SERVER}


def without_name(found: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Each restored home has an identity of its own."""
    return {name: rows for name, rows in found.items() if name != "home"}


async def brought(file: Path, settings: Settings) -> Restored:
    return await restore(file, settings, HashEmbedder())


def file_at(folder: Path) -> str:
    return f"sqlite+aiosqlite:///{folder}/kotae.db"


async def test_a_home_moves_to_a_server_and_back_with_every_table(server_url: str, tmp_path: Path) -> None:
    settings = await home(tmp_path / "old")
    async with opened(file_at(tmp_path / "old")) as engine:
        await fill(engine, "words", {"followed": {"trouble": None}, "answers": {"changes": None}})
        nothing = {"id": "n" * 32, "claim": "n", "collections": null()}
        (turn,) = [dict(row._mapping) for row in await rows(engine, select(turns))]
        del turn["sequence"]
        await change(engine, lambda db: db.execute(insert(turns).values(**turn | nothing)))
    made = (await back_up(settings, tmp_path)).file
    await brought(made, at(tmp_path / "twin"))
    server = at(tmp_path / "new", DATABASE_URL=server_url)
    done = await brought(made, server)
    assert (done.documents, await asyncio.to_thread((tmp_path / "new" / "documents").exists)) == (3, False)
    assert without_name(await tables(server_url)) == without_name(await tables(file_at(tmp_path / "twin")))
    untold = text("SELECT count(*) AS n FROM turns WHERE collections IS NULL")
    async with opened(server_url) as engine:
        assert [row.n for row in await rows(engine, untold)] == [1]  # NULL is not JSON's null
        kept = {row.markdown for row in await Documents(engine, "").listed()}
        assert await Contents(engine).there() == kept and not await Contents(engine).lost(kept)
    again = await back_up(server, tmp_path / "again")
    assert (again.documents, again.pairs_as_text) == (3, False)
    await brought(again.file, at(tmp_path / "back"))
    assert without_name(await tables(file_at(tmp_path / "back"))) == without_name(await tables(server_url))
    async with opened(file_at(tmp_path / "back")) as engine:
        assert [row.n for row in await rows(engine, untold)] == [1]
    assert [name for name, _, _ in await texts(tmp_path / "back")] == ["faq.csv", "faq.csv", "plan.md", "秘密.md"]


async def test_numbers_that_were_given_are_not_given_again(
    server_url: str, empty_server: Callable[[], None], tmp_path: Path
) -> None:
    """An id on a button of an old card never becomes another question's, wherever its home has moved."""
    settings = await home(tmp_path / "old")

    async def next_message(url: str) -> int:
        async with opened(url) as engine:
            (row,) = (await rows_of_all(engine))["messages"]
            one = {**row, "about": f"another {url}"}
            del one["id"]
            added = insert(messages).values(**one).returning(messages.c.id)
            number = await change(engine, lambda db: db.execute(added).scalar_one())
            await change(engine, lambda db: db.execute(delete(messages).where(messages.c.id == number)))
            return int(number)

    async with opened(file_at(tmp_path / "old")) as engine:
        await fill(engine, "words", {})
    first = await next_message(file_at(tmp_path / "old"))
    server = at(tmp_path / "new", DATABASE_URL=server_url)
    await brought((await back_up(settings, tmp_path / "one.tar.gz")).file, server)
    assert await next_message(server_url) == first + 1
    made = (await back_up(server, tmp_path / "two.tar.gz")).file
    await brought(made, at(tmp_path / "back"))
    assert await next_message(file_at(tmp_path / "back")) == first + 2
    empty_server()
    await brought(made, at(tmp_path / "newer", DATABASE_URL=server_url))
    assert await next_message(server_url) == first + 2


async def test_a_server_that_is_used_is_left_alone(server_url: str, tmp_path: Path) -> None:
    made = (await back_up(await home(tmp_path / "old"), tmp_path / "one.tar.gz")).file
    async with opened(server_url) as engine:
        theirs = await Homes(engine).identity()
    for folder in ("new", "newer"):
        with pytest.raises(BackupError, match="not empty") as used:
            await brought(made, at(tmp_path / folder, DATABASE_URL=server_url))
        assert "空ではありません" in used.value.text("ja")
    async with opened(server_url) as engine:
        assert await Homes(engine).known() == theirs and await Documents(engine, "").listed() == []
        with pytest.raises(FilledError):  # somebody began with it after it was looked at
            async with opened(databases.made(tmp_path / "empty.db")) as file:
                await load(file, engine, lambda address: asyncio.sleep(0))


async def test_a_refused_restore_leaves_the_version_of_a_database_that_is_used(postgresql: str, tmp_path: Path) -> None:
    made = (await back_up(await home(tmp_path / "old"), tmp_path / "one.tar.gz")).file
    postgres_server.execute(postgresql.format(name="postgres"), "CREATE DATABASE older")
    older = postgresql.format(name="older")
    server = at(tmp_path / "new", DATABASE_URL=older)
    upgrade(older, to="0020")
    async with opened(older) as engine:
        await Homes(engine).identity()
        with pytest.raises(BackupError, match="not empty"):
            await brought(made, server)
        ((version,),) = await rows(engine, text("SELECT version_num FROM alembic_version"))
        assert version == "0020"
        await change(engine, lambda db: db.execute(delete(home_table)))
    assert (await brought(made, server)).documents == 3  # of an older version, but empty


async def test_a_restore_may_take_its_time_over_a_text(server_url: str, tmp_path: Path) -> None:
    settings = await home(tmp_path / "old")
    engine = connect(server_url, ServerLink(idle_seconds=1))
    still = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%' "
        "AND state_change > clock_timestamp() - interval '1.2 seconds'"
    )
    async with opened(settings.database_url) as file, opened(server_url) as other:
        kept, read = content_store(file, settings.home / "documents"), list[str]()

        async def slow(address: str) -> str:
            while not read and (await rows(other, still))[0][0]:
                pass
            read.append(address)
            return await kept.read(address)

        await load(file, engine, slow)
    assert await Documents(engine, "").listed()
    await engine.dispose()


async def test_a_restore_cut_off_behind_its_commit_is_brought_to_its_end(server_url: str, tmp_path: Path) -> None:
    made = (await back_up(await home(tmp_path / "old"), tmp_path / "one.tar.gz")).file
    server = at(tmp_path / "new", DATABASE_URL=server_url)
    await brought(made, server)
    before = await tables(server_url)
    (server.home / UNFINISHED).mkdir()
    (server.home / UNFINISHED / MANIFEST).write_text("{}")
    assert (await brought(made, server)).documents == 3
    assert not unfinished(server.home) and await tables(server_url) == before
    (server.home / UNFINISHED).mkdir()
    (server.home / UNFINISHED / MANIFEST).write_text("{}")
    other = (await back_up(await home(tmp_path / "other"), tmp_path / "two.tar.gz")).file
    with pytest.raises(BackupError, match="not empty"):
        await brought(other, server)
    assert await tables(server_url) == before


async def test_a_restore_into_a_server_killed_anywhere_is_begun_anew_or_brought_to_its_end(
    server_url: str, empty_server: Callable[[], None], tmp_path: Path
) -> None:
    settings = await home(tmp_path / "old")
    async with opened(file_at(tmp_path / "old")) as engine:
        await Homes(engine).identity()
    file = (await back_up(settings, tmp_path / "one.tar.gz")).file

    def killed_at(folder: Path, change: int) -> list[int]:
        (ended,) = restore_killed(file, {folder: change}, DATABASE_URL=server_url)
        return ended

    left, status = await asyncio.to_thread(killed_at, tmp_path / "whole", 1_000_000)
    wanted, changes = without_name(await tables(server_url)), 1_000_000 - left
    assert status == 0 and wanted["documents"]
    states = set()
    for number, step in enumerate((changes // 2, changes - 4, changes - 3, changes - 2)):
        empty_server()
        server = at(tmp_path / f"killed-{number}", DATABASE_URL=server_url)
        assert await asyncio.to_thread(killed_at, server.home, step) == [-signal.SIGKILL]
        there = await tables(server_url)
        states.add((unfinished(server.home), bool(there["documents"])))
        assert without_name(there) == wanted or not any(there.values())
        if unfinished(server.home) or not there["documents"]:
            assert (await brought(file, server)).documents == 3
        refuse_unfinished(server.home)
        assert without_name(await tables(server_url)) == wanted
    assert {(True, False), (True, True)} <= states, states


async def test_a_backup_of_a_server_is_of_one_moment(server_url: str, tmp_path: Path) -> None:
    """Documents, their texts and numbers, while others write."""
    async with opened(server_url) as engine, opened(databases.made(tmp_path / "copy.db")) as file:
        await VectorStores(engine).open("hash", 16, "t")
        known = Documents(engine, "hash")
        texts = [f"# Page {number}" for number in range(30)]
        for number, markdown in enumerate(texts):
            row = document(f"{number}.md").with_(markdown=address_of(markdown))
            await known.commit(row, generation=number + 1, markdown=markdown)
        seen: dict[str, bytes] = {}

        async def text_of(address: str, data: bytes) -> None:
            if not seen:  # now everything changes
                for number in range(30):
                    row = document(f"{number}.md").with_(markdown=address_of("# New"))
                    await known.commit(row, generation=31 + number, markdown="# New")
                for markdown in texts:
                    await Contents(engine).drop(address_of(markdown))
            seen[address] = data

        await dump(engine, file, text_of)
        assert seen == {address_of(markdown): markdown.encode() for markdown in texts}
        assert {row.markdown for row in await Documents(file, "").listed()} == seen.keys()
        assert [row.generation for row in await VectorStores(file).listed()] == [30]
        assert await Contents(engine).there() == {address_of("# New")}


async def test_a_database_of_another_version_is_not_backed_up(server_url: str, tmp_path: Path) -> None:
    async with opened(server_url) as engine:
        now = (await rows(engine, text("SELECT version_num FROM alembic_version")))[0].version_num
        set_to = text("UPDATE alembic_version SET version_num = :revision")
        await change(engine, lambda db: db.execute(set_to, {"revision": "0008"}))
        try:
            with pytest.raises(BackupError, match="0008") as older:
                await back_up(at(tmp_path / "new", DATABASE_URL=server_url), tmp_path / "copy")
        finally:
            await change(engine, lambda db: db.execute(set_to, {"revision": now}))
    assert "kotae migrate" in older.value.text("ja") and not (tmp_path / "copy").exists()


async def test_what_is_the_servers_alone_stays_where_it_is(server_url: str, tmp_path: Path) -> None:
    async with opened(server_url) as engine:
        await HeldRows(engine).keep([b"secret"])
        await Processes(engine).alive("one", embedded=True)
    made = await back_up(at(tmp_path / "new", DATABASE_URL=server_url), tmp_path / "copy")
    assert made.documents == 0
    await brought(made.file, at(tmp_path / "back"))
    async with opened(file_at(tmp_path / "back")) as engine:
        back = await rows_of_all(engine)
    assert not any(back[table] for table in OF_THE_SERVER)
