"""kill -9 of a real process at each named moment of a turn and of a change to the documents; then it starts again.

Reliability.md R5, R14, R42 and R45. `make soak` kills at any moment, and more often.
"""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.crash.life import FORGET_POINTS, INGEST_POINTS, SECTIONS, TURN_POINTS, Life
from tests.crash.nursery import KILLED, Ledger, Nursery, Shelf, nursery, some_and_all


@pytest_asyncio.fixture
async def lives(tmp_path: Path) -> AsyncIterator[Nursery]:
    async with nursery(tmp_path) as made:
        yield made


@pytest.mark.parametrize("points", some_and_all(TURN_POINTS))
async def test_a_question_is_answered_once_wherever_the_process_died(
    points: tuple[str, ...], lives: Nursery, tmp_path: Path
) -> None:
    home, ledger, deaths = tmp_path / "home", Ledger(), Counter[str]()
    for number, point in enumerate([*points, ""]):
        ended, said = await lives.live(Life("turn", str(home), number, point, lives.url))
        assert ended == (KILLED if point else 0), (point, said)
        deaths[point] += 1
        ledger.note(said)
    assert set(deaths) == {*points, ""}
    ledger.check(home / "kotae.db")
    assert len(ledger.acknowledged) >= 2 * len(points)


async def test_a_search_finds_the_old_or_the_new_version_wherever_the_process_died(
    lives: Nursery, tmp_path: Path
) -> None:
    home, shelf = tmp_path / "home", Shelf()
    outcomes: dict[str, str] = {}
    for number, point in enumerate([*INGEST_POINTS, ""]):
        ended, said = await lives.live(Life("ingest", str(home), number, point))
        assert ended == (KILLED if point else 0), (point, said)
        attempted = shelf.attempted
        edition = shelf.check(said)
        if number:
            outcomes[INGEST_POINTS[number - 1]] = "new" if edition == attempted else "old"
        if edition:
            assert all(len(texts) >= SECTIONS for texts in said[0]["found"].values())
    early = INGEST_POINTS[: INGEST_POINTS.index("committed")]
    assert outcomes == {point: "old" if point in early else "new" for point in INGEST_POINTS}


async def test_forgetting_is_done_or_not_wherever_the_process_died(lives: Nursery, tmp_path: Path) -> None:
    home, shelf = tmp_path / "home", Shelf()
    for number, point in enumerate([*FORGET_POINTS, ""]):
        ended, said = await lives.live(Life("forget", str(home), number, point))
        assert ended == (KILLED if point else 0), (point, said)
        gone = number == 0 or FORGET_POINTS[number - 1] in ("forgotten", "swept")
        assert (shelf.check(said) == "") == gone


@pytest.mark.long
async def test_the_whole_application_survives_kills_at_any_moment(lives: Nursery, tmp_path: Path) -> None:
    home, ledger, shelf = tmp_path / "home", Ledger(), Shelf()
    for number in range(4):
        life = Life("mixed", str(home), number, "", lives.url, seconds=0.1 + 0.6 * number, seed=number)
        ended, said = await lives.live(life)
        assert ended == KILLED
        ledger.note(said)
        shelf.check(said)
    ended, said = await lives.live(Life("mixed", str(home), 4, "", lives.url))
    assert ended == 0
    ledger.note(said)
    shelf.check(said)
    ledger.check(home / "kotae.db")
    assert ledger.acknowledged
