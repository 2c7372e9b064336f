"""Time for tests of the client: it passes only while something sleeps, for Slack's fake as well."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adapters.slack.transport.api import SlackApi
from tests.fakes.slack import FakeSlack

IMPATIENT = 1.5  # s of real time after which a silent call is given up; those that are answered need far less


class Time:
    """`Time(fake)` with a `FakeSlack(scale=0)`; `waits` are all sleeps in their order."""

    def __init__(self, fake: FakeSlack | None = None) -> None:
        self.now = 1_000.0
        self.waits: list[float] = []
        self._fake = fake

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.passes(seconds)
        await asyncio.sleep(0)

    def passes(self, seconds: float) -> None:
        self.now += seconds
        if self._fake:
            self._fake.clock.advance(seconds)


@asynccontextmanager
async def connected(
    fake: FakeSlack, time: Time | None = None, *, token: str = "", seconds: float = 5.0, chance: float = 1.0
) -> AsyncIterator[SlackApi]:
    """The client against the fake; every random wait is `chance` of its longest."""
    time = time or Time(fake)
    token = token or fake.bot_token
    async with SlackApi(
        token, fake.api_url, clock=time, sleep=time.sleep, chance=lambda: chance, seconds=seconds
    ) as slack:
        await slack.identify()
        yield slack
