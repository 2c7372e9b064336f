"""Starts lives one after another and keeps their words: what a platform and its people would have seen."""

import asyncio
import json
import sqlite3
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from tests.bot.program import Process, talking
from tests.crash.life import Life
from tests.fakes.openai import FakeOpenAI

ROOT = Path(__file__).parents[2]
KILLED = -9


def some_and_all(points: tuple[str, ...]) -> list[Any]:
    """A test's parameter: every fourth point; with --long all of them, too."""
    return [pytest.param(points[::4], id="some"), pytest.param(points, id="all", marks=pytest.mark.long)]


@dataclass
class Nursery:
    said: asyncio.StreamReader
    told: asyncio.StreamWriter
    url: str

    async def live(self, life: Life) -> tuple[int, list[dict[str, Any]]]:
        """How it ended (-9: killed) and what it said."""
        self.told.write((json.dumps(asdict(life)) + "\n").encode())
        await self.told.drain()
        said: list[dict[str, Any]] = []
        while True:
            line = json.loads(await self.said.readline())
            if "ended" in line:
                return line["ended"], said
            said.append(line)


@asynccontextmanager
async def nursery(folder: Path) -> AsyncIterator[Nursery]:
    """`folder` takes what killed processes leave behind in the temporary folder."""
    async with FakeOpenAI(embedders={"hash": 32}) as server:
        env = {"TMPDIR": str(folder), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
        process = Process(env=env, stdin=PIPE, stdout=PIPE, module="tests.crash.life")
        said, told = await talking(process)
        try:
            yield Nursery(said, told, server.url)
        finally:
            told.close()
            await asyncio.to_thread(process.wait)


@dataclass
class Ledger:
    """What was acknowledged and what was posted, by question."""

    acknowledged: set[str] = field(default_factory=set)
    posts: dict[str, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))

    def note(self, said: list[dict[str, Any]]) -> None:
        for line in said:
            if "acknowledged" in line:
                self.acknowledged.add(line["acknowledged"])
            if "posted" in line:
                self.posts[line["posted"]].add((line["turn"], line["text"]))

    def check(self, database: Path) -> None:
        """R5: each acknowledged question has one answer, whatever died; the database is whole."""
        with sqlite3.connect(database) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert db.execute("PRAGMA foreign_key_check").fetchall() == []
            turns = db.execute(
                "SELECT t.message, t.state, count(a.turn) FROM turns t LEFT JOIN answers a ON a.turn = t.id GROUP BY t.id"
            ).fetchall()
        db.close()
        assert len({message for message, _, _ in turns}) == len(turns)  # none twice
        assert self.acknowledged <= {message for message, _, _ in turns}  # none lost
        assert {(state, count) for _, state, count in turns} == {("done", 1)}
        for message, _, _ in turns:  # shown again after a crash, it is the same answer of the same turn
            assert len(self.posts[message]) == 1, message


@dataclass
class Shelf:
    """One document that is replaced again and again, as each start finds it."""

    allowed: set[str] = field(default_factory=lambda: {""})
    attempted: str = ""

    def check(self, said: list[dict[str, Any]]) -> str:
        """R42: nothing is left over, and every branch shows one edition whole: what was there, or what was being put
        there. Returns the edition; "" is none."""
        if not said:
            return ""  # it died while it started, and looked at nothing
        report, *rest = said
        assert report["orphans"] == 0, report
        assert report["kept"] == len(report["rows"]), report
        edition: str
        passages = sum(report["rows"].values())
        for texts in report["found"].values():
            assert len(texts) == passages and len(set(texts)) <= 1, report
        (edition,) = {text for texts in report["found"].values() for text in texts} or {""}
        assert edition in self.allowed, (edition, self.allowed)
        self.allowed = {edition}
        for line in rest:
            if "committed" in line:
                self.allowed = {line["committed"]}
            if "replacing" in line:
                self.allowed, self.attempted = {*self.allowed, line["replacing"]}, line["replacing"]
            if "forgetting" in line:
                self.allowed |= {""}
        return edition
