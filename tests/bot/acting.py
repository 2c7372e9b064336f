"""A bot of a test: `Turns` on a real database with an agent that plays its part."""

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.conversation import Ask
from agent.events import Answered, Citation, Cost, Event, Events, Thought, ToolCalled, ToolReturned
from bot.store.engine import read
from bot.store.schema import turns as turn_table
from bot.turns.queue import TurnQueue
from bot.turns.turns import Turns
from bot.types import Audience, Claimed, Incoming, Place
from retrieval.types import CollectionInfo, Hit, Passage, Readers

HANDBOOK = CollectionInfo("handbook", "社内規程", ("ja",), 1, 3)
HIT = Hit(Passage("handbook", "d1", "経費.md", 0, "締切は毎月25日です。", "team"), {"dense": 0.9}, 0.8)
STEPS: tuple[Event, ...] = (
    Thought("規程を探します。"),
    ToolCalled("1", "search_rag_knowledge_base", {"query": "経費 締切"}),
    ToolReturned("1", "search_rag_knowledge_base", "1件", (HIT,)),
)
ANSWER = Answered(
    "25日です。[1]",
    (Citation(1, "経費.md", "handbook", 0, "締切は毎月25日です。", document_id="d1"),),
    model="extractive",
    cost=Cost(2, 100, 20, 5),
    searched=("handbook",),
    confidence=0.8,
)
UNKNOWN = Answered("情報が見つかりませんでした。", outcome="unknown", searched=("handbook", "faq"), confidence=0.1)

Act = Callable[[Ask], Events]


def says(*events: Event) -> Act:
    async def act(ask: Ask) -> Events:
        for event in events:
            yield event

    return act


def fails(error: BaseException, *before: Event) -> Act:
    async def act(ask: Ask) -> Events:
        for event in before:
            yield event
        raise error

    return act


@dataclass
class Agent:
    """Plays its acts one a question, and keeps what it was asked."""

    acts: list[Act]
    asks: list[Ask] = field(default_factory=list)
    readers: list[Readers] = field(default_factory=list)

    def make(self, claimed: Claimed, readers: Readers, collections: tuple[CollectionInfo, ...]) -> "Agent":
        self.readers.append(readers)
        return self

    async def run(self, ask: Ask) -> Events:
        self.asks.append(ask)
        async with aclosing(self.acts.pop(0)(ask)) as events:
            async for event in events:
                yield event


@dataclass
class Bot:
    """One process on a database."""

    engine: AsyncEngine
    log: Path
    agent: Agent
    inbox: TurnQueue
    turns: Turns

    async def ask(self, message: Incoming) -> list[Event]:
        return [event async for event in self.turns.reply(message)]

    async def answer(self, message: Incoming) -> Answered:
        events = await self.ask(message)
        assert [isinstance(event, Answered) for event in events] == [False] * (len(events) - 1) + [True]
        last = events[-1]
        assert isinstance(last, Answered)
        return last

    async def states(self) -> list[tuple[str, int]]:
        async with read(self.engine) as db:
            found = await db.execute(select(turn_table.c.state, turn_table.c.attempts).order_by(turn_table.c.sequence))
            return [(row.state, row.attempts) for row in found]


Start = Callable[..., Bot]


class Clock:
    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now


def question(
    text: str = "経費の締切は？", message: str = "1", thread: str = "t", visibility: Any = "public", **more: Any
) -> Incoming:
    return Incoming(
        Place("slack", "T1", "C1"), thread, message, "U1", text, Audience(visibility), link="https://l", **more
    )


PUBLIC = ("everyone", "team")
