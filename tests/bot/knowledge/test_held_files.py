"""Files that wait to be read: whole, by their keys, for so long, and on a server on another machine, too."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from adapters.web.channel.uploads import Uploads
from bot.config.settings import Settings
from bot.knowledge.held_files import HeldFiles, HeldFolder, held_files
from bot.knowledge.ingestion import Ingestion
from bot.store.engine import connect, on_server
from bot.store.held_files import HeldRows
from bot.store.ingestions import IngestionStore
from bot.types import FileRef, IngestionRequest, Place
from retrieval.types import TEAM
from tests.bot.library import opened

LARGE = bytes(range(256)) * 10_000  # more than a piece


@pytest.fixture(params=["as the database is", "in rows"])
def held(request: pytest.FixtureRequest, engine: AsyncEngine, tmp_path: Path) -> HeldFiles:
    if request.param == "in rows":
        return HeldRows(engine)
    made = held_files(engine, tmp_path / "uploads")
    assert isinstance(made, HeldRows if on_server(engine) else HeldFolder)
    return made


async def test_files_come_back_as_they_were_and_go(held: HeldFiles) -> None:
    assert await held.size() == 0 and await held.keep([]) == []
    keys = await held.keep([LARGE, b"", b"small"])
    assert [await held.get(key) for key in keys] == [LARGE, b"", b"small"] and len({*keys}) == 3
    assert await held.size() == len(LARGE) + 5
    for none in ("", "0" * 32, "../../secret", "%"):
        assert await held.get(none) is None
        await held.drop([none])
    await held.drop(keys[:2])
    assert [await held.get(key) for key in keys] == [None, None, b"small"]
    await held.expire(datetime.now(UTC) - timedelta(minutes=1))
    assert await held.get(keys[2]) == b"small"
    await held.expire(datetime.now(UTC) + timedelta(minutes=1))
    assert await held.get(keys[2]) is None and await held.size() == 0


async def test_what_one_machine_took_in_another_goes_on_with(server_url: str, tmp_path: Path) -> None:
    one, other = connect(server_url), connect(server_url)
    place, now = Place("web", "local", "general"), datetime.now(UTC)
    (ref,) = await Uploads(held_files(one, tmp_path)).keep([("plan.md", b"# Plan\n\nThe whale is blue.")])
    taken = IngestionRequest("i" * 32, place, None, "aki", "docs", TEAM, "en", (FileRef("plan.md", ref),))
    rows = IngestionStore(one)
    assert await rows.take("claim", taken, owner="one", now=now, until=now, admit=lambda it, waiting: it)
    await one.dispose()  # it is gone
    held = Uploads(held_files(other, tmp_path))
    async with opened(tmp_path / "home") as library:
        settings = Settings.model_validate({"KOTAE_HOME": str(tmp_path / "home")})
        ingestion = Ingestion(IngestionStore(other), library.knowledge, settings, owner="other")
        (left,) = await ingestion.unfinished("web")
        states = [state async for state in ingestion.process(left, lambda file: held.read(file.ref))]
    assert states[-1].files[0].verdict is not None and states[-1].files[0].verdict.status == "added"
    await held.drop(file.ref for file in left.files)
    assert await held_files(other, tmp_path).size() == 0
    await other.dispose()
