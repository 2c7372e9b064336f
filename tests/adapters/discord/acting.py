"""An agent that plays its part, and keeps what it was asked, and for whom."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from agent.conversation import Ask
from agent.events import Answered, Event, Events, Thought
from bot.messages import Incoming
from retrieval.types import CollectionInfo, Readers

Act = Callable[[Ask], Events]


def answers(text: str = "Refunds take 30 days.", *before: Event) -> Act:
    async def act(ask: Ask) -> Events:
        for event in before or (Thought("Looking it up."),):
            yield event
        yield Answered(text, confidence=0.9, searched=("handbook",), model="scripted")

    return act


@dataclass
class Held:
    """An act that waits in the middle of its turn until a test lets it go on."""

    text: str = "Late."

    def __post_init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()

    async def __call__(self, ask: Ask) -> Events:
        yield Thought("Waiting.")
        self.begun.set()
        await self.go_on.wait()
        yield Answered(self.text, confidence=0.9, searched=("handbook",))


class Player:
    """Plays its acts one a question, then the last one again."""

    def __init__(self, *acts: Act) -> None:
        self._acts = list(acts)
        self.asks: list[Ask] = []
        self.messages: list[Incoming] = []
        self.readers: list[Readers] = []

    def make(self, message: Incoming, allowed: Readers, collections: tuple[CollectionInfo, ...]) -> "Player":
        self.messages.append(message)
        self.readers.append(allowed)
        return self

    async def run(self, ask: Ask) -> Events:
        self.asks.append(ask)
        act = self._acts.pop(0) if len(self._acts) > 1 else self._acts[0]
        async for event in act(ask):
            yield event
