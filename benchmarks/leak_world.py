"""The worlds of `benchmarks.leaks`: who reads what in one, and all that is told to anybody there."""

import asyncio
import json
import logging
import random
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

from sqlalchemy import text

from bot.app import Application
from bot.records import DocumentRow
from bot.store.engine import read
from retrieval.types import EVERYONE, TEAM
from tests.adapters.acting import until
from tests.adapters.staging import Skipping
from tests.hostile.servant import Servant

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

    def __init__(self, now: Callable[[str], str], opened: Callable[[], Collection[str]]) -> None:
        """`now`: the scope of what is said in a channel; `opened`: those whose past the whole team reads by now."""
        self.now, self.opened = now, opened
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
        opened = {*self.opened()}
        for one in self.words.values():
            one.said |= {TEAM} if one.said & opened and one.about.startswith("said in") else set()
        said = [row.id for row in rows if row.said_in]
        for id, source in (await app.sources.channels.store.of_documents(said)).items():
            self.scopes[id] = self.now(source.location.rpartition(":")[2])
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


@dataclass(frozen=True)
class Told:
    """A message of the bot: `shown` and all else in it (`whole`), what it showed before each edit, what can be pressed.
    `channel`: the place that decides who reads it; `thread`: its root; `to`: who alone sees it; `gone`: deleted."""

    id: str
    channel: str
    thread: str
    shown: str
    whole: str
    history: tuple[str, ...]
    actions: tuple[str, ...]
    to: str
    gone: bool


@dataclass(frozen=True)
class Form:
    """A form or a page of somebody's own; `version` changes with its words."""

    what: str
    version: object
    user: str
    whole: str


class World(ABC):
    """A platform's fake as its people and the bot see it; a channel is named by its id."""

    platform: str
    digest: str  # its channel
    people: tuple[str, ...]  # of the team

    app: Application
    servant: Servant
    dice: random.Random

    def __init__(self, clock: Skipping) -> None:
        self.clock = clock
        self.oracle, self.records = Oracle(self.own_scope, self.opened), list[logging.LogRecord]()
        self.rows: list[DocumentRow] = []
        self.shown: dict[str, tuple[Scopes, set[str], int]] = {}  # of messages: readers, words, earlier states
        self.seen: set[object] = set()  # whispers, forms and homes that were looked at
        self.calls = 0  # to the model, before this step
        self._standing: set[asyncio.Task[object]] = set()

    async def begin(self, app: Application, servant: Servant, dice: random.Random) -> Self:
        """Once the bot is connected; what it does by then is not waited for."""
        self.app, self.servant, self.dice = app, servant, dice
        await self.idle()
        self._standing = asyncio.all_tasks()
        return self

    # -- who reads what, as product.md §3 has it -----------------------------------------------------------------------

    @abstractmethod
    def channels(self) -> Sequence[str]:
        """Where people ask: what is named twice, twice as often."""

    @abstractmethod
    def private(self) -> Sequence[str]:
        """Channels that have documents of their own."""

    @abstractmethod
    def place(self, channel: str) -> str:
        """The scope of what is for this channel alone."""

    @abstractmethod
    def inside(self, channel: str) -> bool:
        """Whether only the team reads it."""

    @abstractmethod
    def public(self, channel: str) -> bool:
        """Whether the whole team reads it."""

    @abstractmethod
    def direct(self, user: str) -> str:
        """The conversation of somebody and the bot."""

    @abstractmethod
    def alone(self, channel: str) -> bool:
        """Whether it is such a conversation."""

    @abstractmethod
    def member(self, user: str) -> bool:
        """Whether somebody is of the team."""

    @abstractmethod
    def sees(self, user: str) -> Collection[str]:
        """The channels and conversations that somebody reads."""

    def readers(self, channel: str) -> Scopes:
        if not self.inside(channel):
            return frozenset({EVERYONE, channel})
        own = set() if self.public(channel) else {self.place(channel)}
        return frozenset({EVERYONE, TEAM, channel} | own)

    def person(self, user: str) -> Scopes:
        theirs = self.sees(user)
        if not self.member(user):
            return frozenset({EVERYONE, *theirs})
        return frozenset({EVERYONE, TEAM}.union(*(self.readers(one) for one in theirs)))

    def own_scope(self, channel: str) -> str:
        """Of what is found by those who read a channel now."""
        return TEAM if self.inside(channel) and self.public(channel) else self.place(channel)

    def opened(self) -> Collection[str]:
        """Private channels that are public by now, with all that was said there."""
        return ()

    def heard(self, channel: str) -> set[str]:
        """The places of what somebody says there now."""
        own = self.place(channel) in self.readers(channel)
        return set(self.readers(channel)) - {EVERYONE} - ({TEAM} if own else set())

    # -- looking -------------------------------------------------------------------------------------------------------

    @abstractmethod
    def ids(self) -> list[str]:
        """Of all messages of the bot, the latest last."""

    @abstractmethod
    def told(self, id: str) -> Told:
        """A message of the bot as it is now."""

    @abstractmethod
    def forms(self) -> list[Form]:
        """All that are open."""

    @abstractmethod
    async def idle(self) -> None:
        """Until what was said has arrived."""

    async def look(self) -> None:
        """At all that stands there and stood there since, at what was sent to the model, and the log."""
        self.rows = await self.oracle.learn(self.app)
        for id in self.ids():
            if not (message := self.told(id)).to:
                await self._stands(message)
            elif (id, message.whole) not in self.seen:
                self.oracle.check("a whisper", self.person(message.to), message.whole)
                self.seen.add((id, message.whole))
        for form in self.forms():
            if form.version not in self.seen:
                self.oracle.check(form.what, self.person(form.user), form.whole)
                self.seen.add(form.version)
        for record in self.records:
            self.oracle.check(f"the log of {record.name}", frozenset(), logging.Formatter().format(record))
        self.records.clear()

    async def _stands(self, message: Told) -> None:
        """New words are for whoever reads the place now; who came later finds what was there."""
        where, now = f"a message in {message.channel}", self.readers(message.channel)
        readers, words, states = self.shown.get(message.id, (now, set(), -1))
        root = self.shown.get(message.thread, (now, set(), 0))
        for state in message.history[states + 1 :]:
            self.oracle.check(f"{where}, before its edit,", now | readers, state, lately=True)
        new = found(message.whole) - words - root[1]
        self.oracle.check(where, now, " ".join(new), lately=True)
        readers |= (now if new else frozenset()) | root[0]
        for _ in range(SECONDS * 10):
            if message.gone or not any(self.oracle.wrong(readers, message.whole)):
                break
            await asyncio.sleep(0.1)
            message = self.told(message.id)
        self.oracle.check(f"{where}, still,", readers, "" if message.gone else message.whole)
        self.shown[message.id] = readers, words | new, len(message.history)

    def prompted(self, readers: Scopes) -> None:
        """What went to the model since was for an answer to these readers."""
        for call in self.servant.journal[self.calls :]:
            self.oracle.check("a prompt", readers, json.dumps(call.body.get("messages")))
        self.calls = len(self.servant.journal)

    async def quiet(self) -> None:
        """Until no turn is open and no task of the platform is at work."""
        await self.idle()
        await until(self._busy, lambda busy: not busy)
        await self.idle()

    async def _busy(self) -> bool:
        async with read(self.app.data.engine) as db:
            if (await db.execute(text("SELECT count(*) FROM turns WHERE state != 'done'"))).scalar():
                return True
        return any(task.get_name().startswith(f"{self.platform}-") for task in asyncio.all_tasks() - self._standing)
