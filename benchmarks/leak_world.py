"""The world of `benchmarks.leaks`: who reads what there, and all that is told to anybody."""

import asyncio
import json
import logging
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlalchemy import text

from bot.app import Application
from bot.records import DocumentRow
from bot.store.engine import read
from retrieval.types import EVERYONE, TEAM
from tests.adapters.acting import until
from tests.adapters.staging import Skipping
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_world import TEAM as WORKSPACE
from tests.fakes.slack_world import Message
from tests.hostile.servant import Servant

GUEST = "UGUEST"
COLLECTION = "collection"
SECONDS = 8  # within which what was withdrawn has left what stands
_WORD = re.compile(r"zq[a-y]{5}zq")

Scopes = frozenset[str]


@dataclass
class Word:
    """A canary: where it comes from, the documents that say it or said it, and the places where people did."""

    about: str
    documents: set[str] = field(default_factory=set)
    said: set[str] = field(default_factory=set)


class Oracle:
    """Who may read a word, by the scopes that are written beside the documents; what was told to others."""

    def __init__(self) -> None:
        self.words: dict[str, Word] = {}
        self.scopes: dict[str, str] = {}  # of the documents, by id
        self.earlier: dict[str, set[str]] = {}  # before this step
        self.told: list[str] = []
        self.step = ""
        self._known: dict[str, tuple[object, ...]] = {}

    def word(self, about: str, *said: str) -> str:
        n, letters = len(self.words) + 1, ""
        for _ in range(5):
            n, rest = divmod(n, 25)
            letters += "abcdefghijklmnopqrstuvwxy"[rest]
        self.words[f"zq{letters}zq"] = Word(about, said=set(said))
        return f"zq{letters}zq"

    async def learn(self, app: Application) -> list[DocumentRow]:
        rows = await app.data.documents.listed()
        self.scopes = {row.id: row.scope for row in rows}
        for row in rows:
            if self._known.get(row.id) != (now := (row.hash, row.name, row.collection)):
                self._known[row.id] = now
                for word in found(f"{row.name} {row.collection} {row.url} {await app.knowledge.markdown(row)}"):
                    self.words[word].documents.add(row.id)
        return rows

    def homes(self, word: str) -> set[str]:
        """The scopes and places that say it. The name of a collection stays with whoever could read something there."""
        one = self.words[word]
        homes = {self.scopes[id] for id in one.documents if id in self.scopes} | one.said
        if one.about == COLLECTION:
            one.said |= homes
        return homes

    def wrong(self, readers: Scopes, said: str, *, lately: bool = False) -> Iterator[str]:
        for word in found(said):
            if not readers & (self.homes(word) | (self.earlier.get(word, set()) if lately else set())):
                yield word

    def check(self, where: str, readers: Scopes, said: str, *, lately: bool = False) -> None:
        """`lately`: it may have been said at any moment of this step."""
        for word in self.wrong(readers, said, lately=lately):
            about, homes = self.words[word].about, ", ".join(sorted(self.homes(word))) or "nobody"
            around = said[max(0, said.index(word) - 200) :][:300]
            self.told.append(f"{self.step}\n  {where} says {word} ({about}), which is for {homes}: …{around}…")


def found(said: str) -> set[str]:
    return set(_WORD.findall(said))


def place(channel: str) -> str:
    return f"place:slack:{WORKSPACE}:{channel}"


def populate(slack: FakeSlack) -> None:
    world, bot = slack.world, slack.bot_user
    world.add_user("UOLGA", "olga", kind="admin")
    world.add_user(GUEST, "gus", kind="restricted")
    world.add_user("USTRANGER", "sam", kind="stranger")
    world.channels["C1"].members.add("UOLGA")
    world.add_channel("CGOLD", "gold", kind="private", members=("U1", "UOLGA", bot))
    world.add_channel("CSILVER", "silver", kind="private", members=("U2", "UOLGA", bot))
    world.add_channel("COPEN", "open", members=("U1", "U2", GUEST, bot))
    world.add_channel("CSHARED", "shared", kind="private", members=("U1", "USTRANGER", bot), ext_shared=True)


class World:
    def __init__(
        self, app: Application, slack: FakeSlack, servant: Servant, dice: random.Random, clock: Skipping
    ) -> None:
        self.app, self.slack, self.servant, self.dice, self.clock = app, slack, servant, dice, clock
        self.oracle, self.records = Oracle(), list[logging.LogRecord]()
        self.rows: list[DocumentRow] = []
        self.asked: list[str] = []  # questions, by their ts
        self.shown: dict[str, tuple[Scopes, set[str], int]] = {}  # of messages: readers, words, earlier states
        self.seen: set[object] = set()  # whispers, forms and homes that were looked at
        self.calls = 0  # to the model, before this step
        self._standing = asyncio.all_tasks()

    # -- who reads what, as product.md §3 has it -----------------------------------------------------------------------

    def outside(self, user: str) -> bool:
        return self.slack.world.users[user].kind in ("restricted", "stranger")

    def inside(self, channel: str) -> bool:
        """Whether only the team reads it."""
        there = self.slack.world.channels[channel]
        return not there.ext_shared and not any(map(self.outside, there.members))

    def readers(self, channel: str) -> Scopes:
        if not self.inside(channel):
            return frozenset({EVERYONE, channel})
        own = set() if self.slack.world.channels[channel].kind == "public" else {place(channel)}
        return frozenset({EVERYONE, TEAM, channel} | own)

    def person(self, user: str) -> Scopes:
        theirs = [one for one in self.slack.world.channels.values() if one.kind == "public" or user in one.members]
        if self.outside(user):
            return frozenset({EVERYONE, *(one.id for one in theirs if user in one.members)})
        return frozenset({EVERYONE, TEAM}.union(*(self.readers(one.id) | {one.id} for one in theirs)))

    def heard(self, channel: str) -> set[str]:
        """The places of what somebody says there now."""
        return set(self.readers(channel)) - {EVERYONE} - ({TEAM} if place(channel) in self.readers(channel) else set())

    # -- looking -------------------------------------------------------------------------------------------------------

    async def look(self) -> None:
        """At all that stands in Slack and stood there since, at what was sent to the model, and the log."""
        self.rows = await self.oracle.learn(self.app)
        for message in [*self.slack.world.messages.values()]:
            if message.user == self.slack.bot_user and message.ephemeral_to:
                if message.ts not in self.seen:
                    self.oracle.check("a whisper", self.person(message.ephemeral_to), whole(message))
                self.seen.add(message.ts)
            elif message.user == self.slack.bot_user:
                await self._stands(message)
        for view in self.slack.world.views.values():
            if view.id not in self.seen and view.body["type"] == "modal":
                self.oracle.check("a form", self.person(view.user), json.dumps(view.body))
                self.seen.add(view.id)
        for (_, user), home in self.slack.world.homes.items():
            if (user, home.hash) not in self.seen:
                self.oracle.check("the App Home", self.person(user), json.dumps(home.body))
                self.seen.add((user, home.hash))
        for record in self.records:
            self.oracle.check(f"the log of {record.name}", frozenset(), logging.Formatter().format(record))
        self.records.clear()

    async def _stands(self, message: Message) -> None:
        """New words are for whoever reads the place now; who came later finds what was there."""
        where, now = f"a message in {message.channel}", self.readers(message.channel)
        readers, words, states = self.shown.get(message.ts, (now, set(), -1))
        root = self.shown.get(message.thread, (now, set(), 0))
        for state in message.history[states + 1 :]:
            self.oracle.check(f"{where}, before its edit,", now | readers, state, lately=True)
        new = found(whole(message)) - words - root[1]
        self.oracle.check(where, now, " ".join(new), lately=True)
        readers |= (now if new else frozenset()) | root[0]
        for _ in range(SECONDS * 10):
            if message.deleted or not any(self.oracle.wrong(readers, whole(message))):
                break
            await asyncio.sleep(0.1)
        self.oracle.check(f"{where}, still,", readers, "" if message.deleted else whole(message))
        self.shown[message.ts] = readers, words | new, len(message.history)

    def prompted(self, readers: Scopes) -> None:
        """What went to the model since was for an answer to these readers."""
        for call in self.servant.journal[self.calls :]:
            self.oracle.check("a prompt", readers, json.dumps(call.body.get("messages")))
        self.calls = len(self.servant.journal)

    async def quiet(self) -> None:
        """Until no turn is open and no task of a platform is at work."""
        await self.slack.wait_for_idle()  # what was said has arrived
        await until(self._busy, lambda busy: not busy)
        await self.slack.wait_for_idle()

    async def _busy(self) -> bool:
        async with read(self.app.data.engine) as db:
            if (await db.execute(text("SELECT count(*) FROM turns WHERE state != 'done'"))).scalar():
                return True
        return any(task.get_name().startswith("slack-") for task in asyncio.all_tasks() - self._standing)


def whole(message: Message) -> str:
    return f"{message.shown} {message.text} {json.dumps(message.blocks)} {json.dumps(message.metadata)}"
