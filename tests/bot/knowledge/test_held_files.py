"""Files that wait to be read: whole, by their keys, for so long."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.knowledge.held_files import HeldFiles, HeldFolder, held_files
from bot.store.engine import on_server
from bot.store.held_files import HeldRows

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
