"""What happens in `benchmarks.leaks`, on whichever platform: to documents, by people, by programs and on pages."""

import random
import re
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from html import unescape
from typing import Any, Self

import httpx
from sqlalchemy import text

from adapters.web.visitor import AS, LANGUAGE
from benchmarks.leak_world import COLLECTION, Told, World, found
from bot.app import Application
from bot.records import DocumentRow, TokenAudience
from bot.sources.base import SourceError
from bot.sources.sources import NewSource
from bot.store.engine import read
from bot.types import Actor, Upload
from retrieval.types import EVERYONE, TEAM, Readers
from tests.adapters.staging import Skipping
from tests.hostile.servant import Servant

LEADS = "place:web:local:leads"
QUESTIONS = ("Where is the storage key?", "How many days does the spare key take?", "What about the penguin?")
PAGES = (
    "unanswered?state=all",
    "documents",
    "search?q=storage+key",
    "pairs",
    "metrics",
    "sources",
    "changed",
    "answers",
)
HOME = Actor("terminal", "", "terminal", "editor")
AUDIENCES: tuple[TokenAudience, ...] = ("team", "everyone")


@dataclass
class Asked:
    """A question; `thread`: its root, which may be itself."""

    id: str
    channel: str
    thread: str
    text: str


class Acts(World):
    """LookupError or ValueError where something cannot be done."""

    http: httpx.AsyncClient
    tokens: Mapping[str, str]
    acts: Mapping["Act", int]
    moving: Sequence[str]  # channels whose readers change

    def __init__(self, clock: Skipping) -> None:
        super().__init__(clock)
        self.asked: list[Asked] = []
        self.ahead = timedelta()  # of the clock that followed channels have

    async def begin(self, app: Application, servant: Servant, dice: random.Random) -> Self:
        app.sources.channels.clock = lambda: datetime.now(UTC) + self.ahead
        return await super().begin(app, servant, dice)

    # -- what happens to documents -------------------------------------------------------------------------------------

    def collection(self) -> str:
        names = sorted({row.collection for row in self.rows if row.collection.startswith("c-")})
        return self.dice.choice([*names, f"c-{self.oracle.word(COLLECTION)}"])

    def document(self) -> DocumentRow:
        if not self.rows:
            raise LookupError("no document")
        return self.dice.choice(self.rows)

    def scope(self) -> str:
        return self.dice.choice((EVERYONE, TEAM, TEAM, *map(self.place, self.private()), LEADS))

    async def add(self) -> None:
        name, title, heading, body, url = (
            self.oracle.word(part) for part in ("name", "title", "heading", "text", "address")
        )
        scope = self.dice.choice((self.scope(), self.place(self.direct(self.people[0]))))
        page = f"# {title} keys\n\n## {heading}\n\nThe storage key is on the shelf {body}.\n\nThe spare key takes 9 days.\n"
        pairs = f"question,answer\nWhere is the storage key {title}?,In the drawer {body}.\n"
        ending, data = self.dice.choice((("md", page), ("csv", pairs)))
        to = f"https://intra.example/{url}" if self.dice.random() < 0.5 else None
        await self.taken(Upload(f"{name}.{ending}", data.encode(), self.collection(), scope, self.people[0], to))

    async def replace(self) -> None:
        row = self.document()
        data = f"# Keys\n\nThe storage key is now on the table {self.oracle.word('new text')}.\n"
        if not row.name.endswith(".csv") and not row.said_in:
            await self.taken(Upload(row.name, data.encode(), row.collection, row.scope, self.people[0], row.url))
        await self.app.living.check()

    async def taken(self, upload: Upload) -> None:
        self.oracle.step += f" {upload.name} for {upload.scope}"
        await self.app.bot.ingestion.add(upload)

    async def rescope(self) -> None:
        row, scope = self.document(), self.scope()
        self.oracle.step += f" {row.name} from {row.scope} to {scope}"
        if row.said_in:
            raise LookupError("its readers are those of its channel")
        await self.app.knowledge.rescope(row.id, scope, self.app.readers)

    async def forget(self) -> None:
        self.oracle.step += f" {(row := self.document()).name}"
        await self.app.knowledge.forget(row.id)

    async def move(self) -> None:
        await self.app.knowledge.move(self.document().id, self.collection(), self.app.readers)

    # -- channels that are followed ------------------------------------------------------------------------------------

    async def look_again(self) -> None:
        """At the channels that are followed, once the bot has heard of what happened."""
        await self.idle()
        self.ahead += timedelta(minutes=1)
        whoever = Readers(frozenset({TEAM, *map(self.place, self.moving)}))
        for one in await self.app.sources.listed(whoever):
            with suppress(SourceError):
                await self.app.sources.sync(HOME, one.source.name, whoever)

    async def follow(self) -> None:
        """What two people say in a channel that is followed is found by those who read it; who that is may have changed
        since it was looked at."""
        channel = self.dice.choice(self.moving)
        asker, other = self.dice.sample(self.speakers(channel), 2)
        with suppress(SourceError):
            await self.app.sources.add(HOME, NewSource("channel", f"{self.platform}:{channel}"))
        said = [self.oracle.word(f"told in {channel}", channel) for _ in range(2)]
        self.oracle.step += f" {channel} {said}"
        root = (await self.says(channel, asker, f"Where is the storage key {said[0]}?")).id
        await self.settle(channel, root, asker, other, f"The storage key is in the tin {said[1]}.")
        await self.look_again()
        if self.dice.random() < 0.5:
            await self.change_readers(channel)
            await self.idle()
            self.ahead += timedelta(minutes=1)
        try:
            await self.ask()
        finally:
            await self.look_again()

    def speakers(self, channel: str) -> Sequence[str]:
        """Who can say what is found afterwards."""
        return self.there(channel)

    @abstractmethod
    async def settle(self, channel: str, root: str, asker: str, other: str, words: str) -> None:
        """Another person answers a question with these words, and whoever asked it marks it as settled."""

    @abstractmethod
    async def change_readers(self, channel: str) -> None:
        """Others read the channel, or one like it."""

    # -- what people do ------------------------------------------------------------------------------------------------

    @abstractmethod
    def there(self, channel: str) -> Sequence[str]:
        """Who can write in a channel or conversation."""

    @abstractmethod
    async def says(self, channel: str, user: str, words: str, thread: str = "") -> Asked:
        """`@kotae` mentions the bot."""

    @abstractmethod
    async def edits(self, message: str, words: str) -> None: ...

    @abstractmethod
    async def deletes(self, message: str) -> None: ...

    @abstractmethod
    async def types(self, command: str, user: str, channel: str) -> None:
        """A command by its name on Slack, with what follows it."""

    @abstractmethod
    async def presses(self, user: str, message: Told, action: str) -> None: ...

    @abstractmethod
    async def fills(self, user: str, words: str, collection: str) -> None:
        """Submit the open form, with these words in all its fields but that of a new collection; none is open then.
        Raises LookupError: none is."""

    @abstractmethod
    async def comes_or_goes(self) -> None:
        """Who reads a place changes."""

    def somebody(self) -> tuple[str, str]:
        """A channel, and who is there."""
        channel = self.dice.choice(self.channels())
        return channel, self.one_in(channel)

    def one_in(self, channel: str) -> str:
        user = self.dice.choice(self.there(channel) or [""])
        self.oracle.step += f" {user} {channel}"
        if not user:
            raise LookupError("nobody is there")
        return user

    def said(self, channel: str) -> str:
        self.oracle.step += f" {(word := self.oracle.word(f'said in {channel}', *self.heard(channel)))}"
        return word

    def question(self) -> Asked:
        if not self.asked:
            raise LookupError("no question")
        return self.dice.choice(self.asked)

    async def ask(self, channel: str = "", thread: str = "") -> None:
        channel, user = (channel, self.one_in(channel)) if channel else self.somebody()
        words = f"@kotae {self.dice.choice(QUESTIONS)} {self.said(channel)}"
        self.asked.append(await self.says(channel, user, words, thread))
        await self.answered(channel)

    async def answered(self, channel: str) -> None:
        await self.quiet()
        await self.oracle.learn(self.app)
        self.prompted(self.readers(channel))

    async def follow_up(self) -> None:
        before = self.question()
        await self.ask(before.channel, before.thread)

    async def edit(self) -> None:
        message = self.question()
        message.text = f"@kotae {self.dice.choice(QUESTIONS)} {self.said(message.channel)}"
        await self.edits(message.id, message.text)
        await self.answered(message.channel)

    async def delete(self) -> None:
        message = self.question()
        self.oracle.step += f" {message.channel} {message.text}"
        later = self.asked[self.asked.index(message) + 1 :]
        goes_on = any((one.channel, one.thread) == (message.channel, message.thread) for one in later)
        for word in found(message.text):  # the steps of a follow-up may say what it follows
            self.oracle.words[word].said.clear()
            self.oracle.words[word].said |= {message.channel} if goes_on or self.alone(message.channel) else set()
        self.asked.remove(message)
        await self.deletes(message.id)

    async def command(self) -> None:
        channel, user = self.somebody()
        plain = ("search storage key", "collections", "documents", "unanswered", "answers", "digest", "digest post")
        named = (f"documents {self.collection()}", f"owner {self.document().name}", f"forget {self.document().name}")
        self.oracle.step += f" {(typed := self.dice.choice((*plain, *named)))}"
        for word in found(typed):
            self.oracle.words[word].said.add(channel)  # by whoever typed it
        await self.types(typed, user, channel)

    async def ingest(self) -> None:
        channel, user = self.somebody()
        await self.types(f"ingest The storage key is under the mat {self.said(channel)}.", user, channel)

    async def reply_to_card(self) -> None:
        card = self.latest(6, lambda one: not one.thread and not one.to)
        user = self.one_in(card.channel)
        await self.says(card.channel, user, f"The key is in the box {self.said(card.channel)}.", card.id)

    def latest(self, count: int, wanted: Callable[[Told], object]) -> Told:
        """One of the last messages of this kind."""
        there: Iterator[Told] = (one for id in reversed(self.ids()) if not (one := self.told(id)).gone and wanted(one))
        some = [one for one, _ in zip(there, range(count), strict=False)]
        if not some:
            raise LookupError("nothing was said")
        return self.dice.choice(some)

    async def press(self) -> None:
        """Anything that can be pressed, by anybody who sees it; a form that opens is filled in."""
        message = self.latest(12, lambda one: one.actions)
        user, action = message.to or self.one_in(message.channel), self.dice.choice(message.actions)
        self.oracle.step += f" {action}"
        before = {*self.ids()}
        await self.presses(user, message, action)
        await self.quiet()
        if message.to and "ask" in action:  # its asker has seen who will read the question, and wants it
            for new in (self.told(id) for id in self.ids() if id not in before):
                for word in found(new.shown.split("\n")[0]):
                    self.oracle.words[word].said.add(new.channel)
        await self.fill(user, message.channel)

    async def fill(self, user: str, channel: str) -> None:
        """At once, or when somebody has come or gone meanwhile; their own words everybody knows."""
        await self.look()
        said = self.said(channel)
        self.oracle.words[said].said.add(self.direct(user))
        if self.dice.random() < 0.3:
            await self.comes_or_goes()
            await self.quiet()
        await self.fills(user, f"The storage key hangs on the hook {said}.", self.collection())

    # -- programs and pages --------------------------------------------------------------------------------------------

    async def api(self) -> None:
        asked = {"query": f"{self.dice.choice(QUESTIONS)} {self.oracle.word('asked of the API', TEAM)}"}
        typed, mode = self.collection(), self.dice.choice(("sparse", "hybrid", "dense"))
        shown = ("documents", "collections", "unanswered", "metrics", f"documents/{self.document().id}")
        get, chat = partial(self.fetch, {TEAM}, typed, "GET"), partial(self.fetch, {TEAM}, typed, "POST", "/chat")
        await self.dice.choice((
            partial(chat, json=asked | {"session_id": self.dice.choice("ab")}),
            partial(chat, json=asked, headers={"Accept": "text/event-stream"}),
            partial(chat, json=asked | {"collections": [typed]}),
            partial(get, f"/search?query=storage+key&limit=50&mode={mode}"),
            partial(get, f"/documents?collection={typed}"),
            partial(get, f"/{self.dice.choice(shown)}"),
        ))()  # fmt: skip

    async def mcp(self) -> None:
        name, typed = self.dice.choice(AUDIENCES), self.collection()
        readers = {"mcp", TEAM} if name == TEAM else {"mcp"}
        asked = f"Where is the storage key? {self.oracle.word('asked by a program', *readers)}"
        given: tuple[str, dict[str, str]] = self.dice.choice((
            ("search", {"query": "storage key"}), ("search", {"query": "storage key", "collection": typed}),
            ("ask", {"question": asked}), ("report_miss", {"question": asked, "why": f"Nothing on it. {asked}"}),
            ("read", {"document": self.document().id}),
        ))  # fmt: skip
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": given[0], "arguments": given[1]}}
        headers = {"Authorization": f"Bearer {self.tokens[name]}", "Accept": "application/json, text/event-stream"}
        await self.fetch(readers, typed, "POST", "/mcp", json=call, headers=headers)

    async def page(self) -> None:
        who, typed = self.dice.choice(("aki", "ben")), self.collection()
        async with read(self.app.data.engine) as db:
            turns = (await db.execute(text("SELECT id FROM turns ORDER BY sequence DESC LIMIT 9"))).scalars().all()
        one = (f"documents?document={self.document().id}&chunk=0", f"documents?collection={typed}")
        address = self.dice.choice((*PAGES, *one, *(f"trace/{turn}" for turn in turns)))
        readers = {TEAM, LEADS} if who == "aki" else {TEAM}
        await self.fetch(readers, typed, "GET", f"/app/{address}", headers={"Cookie": f"{AS}={who}; {LANGUAGE}=en"})

    async def fetch(self, readers: set[str], typed: str, *request: str, **more: Any) -> None:
        """`typed`: a name that was sent along, and may come back with a refusal, or as the way back to a page."""
        self.oracle.step += f" {request} {more.get('json', '')}"
        answer = await self.http.request(*request, **more)
        refused = answer.status_code >= 400 or '"isError":true' in answer.text
        said = answer.text.replace(typed, "") if refused else unescape(answer.text)
        await self.oracle.learn(self.app)
        self.oracle.check(str(request), frozenset(readers | {EVERYONE}), re.sub(rf"collection(=|%3D){typed}", "", said))
        self.prompted(frozenset(readers | {EVERYONE}))


Act = Callable[[Any], Awaitable[None]]
ACTS: Mapping[Act, int] = {
    Acts.add: 6, Acts.replace: 4, Acts.rescope: 6, Acts.forget: 3, Acts.move: 2, Acts.comes_or_goes: 3,
    Acts.ask: 16, Acts.follow_up: 8, Acts.edit: 3, Acts.delete: 3, Acts.command: 12, Acts.ingest: 3,
    Acts.reply_to_card: 5, Acts.press: 14, Acts.api: 8, Acts.mcp: 6, Acts.page: 10,
}  # fmt: skip
