"""One turn in a thread of a platform's fake: what was posted is kept as the outbox keeps it, and nobody waits in real
time."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

from adapters.port import TurnView, relay
from agent.events import Event, Events
from bot.bot import Bot
from bot.types import Place, Post

Key = tuple[str, str, int]


class Rows:
    """What was posted, with the meaning that `Outbox` gives it; it outlives the process, as a database does."""

    def __init__(self) -> None:
        self.kept: dict[Key, Post] = {}
        self.bot = cast(Bot, SimpleNamespace(outbox=self))

    async def reserve(self, post: Post) -> Post | None:
        before = self.kept.get(_key(post))
        self.kept.setdefault(_key(post), replace(post, message=None))
        return before

    async def confirm(self, post: Post) -> None:
        self.kept[_key(post)] = post

    async def of(self, about: str) -> list[Post]:
        return [self.kept[key] for key in sorted(self.kept) if key[0] == about]

    async def find(self, place: Place, message: str) -> Post | None:
        return next((post for post in self.kept.values() if post.message == message), None)

    def of_kind(self, kind: str) -> list[Post]:
        return [post for key, post in sorted(self.kept.items()) if key[1] == kind]

    def forget_ids(self, kind: str) -> None:
        """As if the process had died between posting and writing that down."""
        self.kept = {key: replace(post, message=None) if key[1] == kind else post for key, post in self.kept.items()}


def _key(post: Post) -> Key:
    return post.about, post.kind, post.part


class Hours:
    """A clock whose sleepers wake when a test says so; `pause`, between two edits, is over at once."""

    def __init__(self, pause: float) -> None:
        self.now = 1_000.0
        self._pause = pause
        self._sleepers: list[tuple[float, asyncio.Event]] = []
        self._asleep = asyncio.Event()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        if seconds <= self._pause:
            return
        woken = asyncio.Event()
        self._sleepers.append((self.now + seconds, woken))
        self._asleep.set()
        await woken.wait()

    async def advance(self, seconds: float) -> None:
        """Once somebody sleeps."""
        async with asyncio.timeout(30):
            await self._asleep.wait()
        self.now += seconds
        for due, woken in self._sleepers:
            if due <= self.now:
                woken.set()
        self._sleepers = [(due, woken) for due, woken in self._sleepers if due > self.now]
        if not self._sleepers:
            self._asleep.clear()


class Skipping:
    """The client's clock: it waits for nothing, and yet time passes."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waits.append(seconds)
        await asyncio.sleep(0)


async def play(view: TurnView, events: Iterable[Event]) -> None:
    """A whole turn, at once."""
    await view.begin()
    try:
        await relay(_stream(events), view)
    finally:
        await view.close()


async def _stream(events: Iterable[Event]) -> Events:
    for event in events:
        yield event
