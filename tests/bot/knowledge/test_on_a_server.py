"""A home whose database is on a server: the texts of its documents are there, for every machine."""

import asyncio
import shutil
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from sqlalchemy import delete, update

from bot.app import running
from bot.config.models import make_embedder
from bot.config.settings import Settings
from bot.doctor.data import documents as documents_check
from bot.errors import SettingsError
from bot.knowledge.content_store import ContentFolder
from bot.logs import Redactor
from bot.operations.backup import back_up
from bot.operations.restore import restore
from bot.store.contents import Contents
from bot.store.documents import Documents
from bot.store.engine import change, connect
from bot.store.schema import contents, indexes
from bot.types import Upload
from retrieval.i18n import Text
from retrieval.types import TEAM
from tests.bot.operations.test_backup import at
from tests.copies import copy_folder

QUESTION = "How many days of leave do I get?"


async def moved(sample: Path, server: Settings) -> None:
    """The sample's home, from one machine to a server."""
    made = await back_up(at(sample), server.home.parent / "copy.tar.gz")
    async with AsyncExitStack() as stack:
        await restore(made.file, server, await make_embedder(server, stack))


async def as_versions_before_kept_them(server: Settings) -> dict[str, str]:
    """The texts are in the folder of this machine's home, and not in the database; by their address."""
    engine = connect(server.database_url)
    rows, folder = Contents(engine), ContentFolder(server.home / "documents")
    texts = {}
    for address in await rows.there():
        texts[address] = await rows.read(address)
        assert await folder.put(texts[address]) == address
    await change(engine, lambda db: db.execute(delete(contents)))
    await engine.dispose()
    return texts


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_texts_of_a_version_before_are_brought_over_once_and_any_machine_can_use_them(
    sample_home: Path, server_url: str, tmp_path: Path
) -> None:
    one, other = (at(tmp_path / name, DATABASE_URL=server_url) for name in ("one", "other"))
    await moved(sample_home, one)
    texts = await as_versions_before_kept_them(one)
    before = files(one.home / "documents")
    assert len(texts) == len(before) == 7
    (lost,) = await documents_check(one)
    assert lost.level == "fault" and "7 documents the kept text of 7" in lost.what.en
    async with running(one, Redactor()) as app:
        rows = await app.data.documents.listed()
        assert {row.markdown: await app.knowledge.markdown(row) for row in rows} == texts
        found = [hit.passage for hit in (await app.knowledge.search(QUESTION, app.readers)).hits]
        upload = Upload("plan.md", b"# Plan\n\nThe whale is blue.", "docs", TEAM, "U1")
        added = await app.knowledge.add(upload, "en")
    assert files(one.home / "documents") == before  # it is left alone
    (good,) = await documents_check(one)
    assert good.level == "ok", good
    await asyncio.to_thread(shutil.rmtree, one.home)
    steps: list[tuple[int, int]] = []
    async with running(other, Redactor(), lambda *step: steps.append(step)) as app:  # made anew from the texts
        assert steps[-1] == (8, 8)
        assert [hit.passage for hit in (await app.knowledge.search(QUESTION, app.readers)).hits] == found
        assert await app.knowledge.reindex(str(added.document_id), app.readers)
        assert len(await Contents(app.data.engine).there()) == 8
        assert await app.knowledge.forget(str(added.document_id))
        assert await Contents(app.data.engine).there() == texts.keys()
    assert not await asyncio.to_thread((other.home / "documents").exists)


async def test_an_index_of_another_version_is_left_to_whoever_stops_the_others(
    sample_home: Path, server_url: str, tmp_path: Path
) -> None:
    """Several processes that are started at once would all build it."""
    home = at(tmp_path / "home", DATABASE_URL=server_url)
    await moved(sample_home, home)
    engine = connect(server_url)
    await change(engine, lambda db: db.execute(update(indexes).values(tokenizer="words 1")))
    await engine.dispose()
    said: list[Text] = []
    with pytest.raises(SettingsError, match="kotae reindex"):
        async with running(home, Redactor(), renew=said.append):
            pass
    assert said == []


async def test_a_home_that_is_given_an_empty_server_is_refused_with_the_way_to_it(
    sample_home: Path, server_url: str, tmp_path: Path
) -> None:
    home = at(copy_folder(sample_home, tmp_path / "home"), DATABASE_URL=server_url)
    before = files(home.home / "documents")
    with pytest.raises(SettingsError) as strange:
        async with running(home, Redactor()):
            pass
    assert "kotae backup with the old DATABASE_URL" in strange.value.text("en")
    assert "元の DATABASE_URL で kotae backup" in strange.value.text("ja")
    assert files(home.home / "documents") == before
    engine = connect(server_url)
    assert await Documents(engine, "").listed() == []
    await engine.dispose()
