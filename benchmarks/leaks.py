"""Who learns what, at random, on the whole bot: `python -m benchmarks.leaks [--steps 400] [--seed 7]`.

Slack's fake with public and private channels, direct messages, a guest and a stranger; the HTTP API, `/mcp` with a
token for the team and one for everybody, and the pages as either member; the model quotes all it is shown. Documents
come, change, move and go, their readers and the people of channels change, questions are asked, edited and deleted, and
whatever can be pressed is. Each part of a document (name, title, heading, text, address, collection) and each text of a
person holds a word of its own. Such a word may leave the bot only for readers who may all read one of the documents, or
are in one of the places, that say it (product.md §3): in a message, its earlier states, its blocks, a whisper, a form,
the App Home, a page, an answer of the API, a prompt; in a log for nobody. What stands in a channel is held against the
readers of the documents as they are now. Status 1: something was told, with the step before and the seed to see it
again.
"""

import argparse
import asyncio
import json
import logging
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

import httpx
from pydantic import SecretStr
from sqlalchemy import text

from adapters.runner import PeopleReach, posting
from adapters.slack.adapter import SlackAdapter
from adapters.slack.transport.api import SlackApi
from adapters.web.channel.adapter import web_adapter
from adapters.web.server.server import serving as served
from adapters.web.server.sockets import listen
from adapters.web.visitor import AS, LANGUAGE
from benchmarks.leak_world import COLLECTION, GUEST, World, found, place, populate
from bot.app import running
from bot.config.settings import SlackSettings
from bot.logs import OURS, Redactor
from bot.records import DocumentRow, TokenAudience
from bot.store.engine import read
from bot.types import Actor, Upload
from retrieval.types import EVERYONE, TEAM
from tests.adapters.acting import serving
from tests.adapters.staging import Skipping
from tests.bot.sample_turns import begun
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_world import Message
from tests.hostile.servant import EMBEDDER, MODEL, Servant

HOME = Actor("terminal", "", "terminal", "editor")
PEOPLE = ("U1", "U2", "UOLGA")
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
AUDIENCES: tuple[TokenAudience, ...] = ("team", "everyone")
DIGEST = "slack:C1"
MODELS = (
    {"KOTAE_MODEL": f"openai:{MODEL}"},
    {"KOTAE_MODEL": f"openai:{MODEL}", "KOTAE_STRATEGY": "synthesis"},
    {"KOTAE_MODEL": "extractive"},
)


class Acts(World):
    """What happens; LookupError where it cannot."""

    http: httpx.AsyncClient
    tokens: Mapping[str, str]

    # -- what happens to documents -------------------------------------------------------------------------------------

    def collection(self) -> str:
        names = sorted({row.collection for row in self.rows if row.collection.startswith("c-")})
        return self.dice.choice([*names, f"c-{self.oracle.word(COLLECTION)}"])

    def document(self) -> DocumentRow:
        if not self.rows:
            raise LookupError("no document")
        return self.dice.choice(self.rows)

    def scope(self) -> str:
        return self.dice.choice((EVERYONE, TEAM, TEAM, place("CGOLD"), place("CSILVER"), LEADS, place("COPEN")))

    async def add(self) -> None:
        name, title, heading, body, url = (
            self.oracle.word(part) for part in ("name", "title", "heading", "text", "address")
        )
        scope = self.dice.choice((self.scope(), place(self.slack.dm("U1"))))
        page = f"# {title} keys\n\n## {heading}\n\nThe storage key is on the shelf {body}.\n\nThe spare key takes 9 days.\n"
        pairs = f"question,answer\nWhere is the storage key {title}?,In the drawer {body}.\n"
        ending, data = self.dice.choice((("md", page), ("csv", pairs)))
        to = f"https://intra.example/{url}" if self.dice.random() < 0.5 else None
        await self.taken(Upload(f"{name}.{ending}", data.encode(), self.collection(), scope, "U1", to))

    async def replace(self) -> None:
        row = self.document()
        data = f"# Keys\n\nThe storage key is now on the table {self.oracle.word('new text')}.\n"
        if not row.name.endswith(".csv"):
            await self.taken(Upload(row.name, data.encode(), row.collection, row.scope, "U1", row.url))
        await self.app.living.check()

    async def taken(self, upload: Upload) -> None:
        self.oracle.step += f" {upload.name} for {upload.scope}"
        await self.app.bot.ingestion.add(upload)

    async def rescope(self) -> None:
        row, scope = self.document(), self.scope()
        self.oracle.step += f" {row.name} from {row.scope} to {scope}"
        await self.app.knowledge.rescope(row.id, scope, self.app.readers)

    async def forget(self) -> None:
        self.oracle.step += f" {(row := self.document()).name}"
        await self.app.knowledge.forget(row.id)

    async def move(self) -> None:
        await self.app.knowledge.move(self.document().id, self.collection(), self.app.readers)

    # -- what people do ------------------------------------------------------------------------------------------------

    def somebody(self) -> tuple[str, str]:
        """A channel, and who is there."""
        direct = [self.slack.dm(user) for user in (*PEOPLE, GUEST)]
        channel = self.dice.choice(["C1", "C1", "CGOLD", "CGOLD", "CSILVER", "COPEN", "CSHARED", *direct])
        return channel, self.member(channel)

    def member(self, channel: str) -> str:
        there = sorted(self.slack.world.channels[channel].members - {self.slack.bot_user})
        user = self.dice.choice(there or [""])
        self.oracle.step += f" {user} {channel}"
        if not user:
            raise LookupError("nobody is there")
        return user

    def said(self, channel: str) -> str:
        self.oracle.step += f" {(word := self.oracle.word(f'said in {channel}', *self.heard(channel)))}"
        return word

    def question(self) -> Message:
        if not self.asked or (message := self.slack.message(self.dice.choice(self.asked))).deleted:
            raise LookupError("no question")
        return message

    async def comes_or_goes(self) -> None:
        channel, user = self.dice.choice(("CGOLD", "CSILVER", "C1", "COPEN")), self.dice.choice((*PEOPLE, GUEST))
        self.oracle.step += f" {user} {channel}"
        account, members = self.slack.world.users[user], self.slack.world.channels[channel].members
        if user in PEOPLE[:2] and self.dice.random() < 0.3:
            account.kind = "restricted" if account.kind == "member" else "member"
        elif user in members:
            members.discard(user)
        else:
            await self.slack.joins(channel, user)
        self.clock.now += 700  # the client believes what it knows for ten minutes

    async def ask(self, channel: str = "", thread: str | None = None) -> None:
        channel, user = (channel, self.member(channel)) if channel else self.somebody()
        words = f"@kotae {self.dice.choice(QUESTIONS)} {self.said(channel)}"
        self.asked.append(await self.slack.says(channel, user, words, thread))
        await self.answered(channel)

    async def answered(self, channel: str) -> None:
        await self.quiet()
        await self.oracle.learn(self.app)
        self.prompted(self.readers(channel))

    async def follow_up(self) -> None:
        before = self.question()
        await self.ask(before.channel, before.thread or before.ts)

    async def edit(self) -> None:
        message = self.question()
        await self.slack.edits(message.ts, f"@kotae {self.dice.choice(QUESTIONS)} {self.said(message.channel)}")
        await self.answered(message.channel)

    async def delete(self) -> None:
        message = self.question()
        self.oracle.step += f" {message.channel} {message.text}"
        thread = [self.slack.message(one) for one in self.asked if one > message.ts]
        goes_on = any(one.channel == message.channel and one.thread == (message.thread or message.ts) for one in thread)
        for word in found(message.text):  # the steps of a follow-up may say what it follows
            self.oracle.words[word].said.clear()
            self.oracle.words[word].said |= {message.channel} if goes_on or message.channel.startswith("D") else set()
        await self.slack.deletes(message.ts)

    async def command(self) -> None:
        channel, user = self.somebody()
        plain = ("search storage key", "collections", "documents", "unanswered", "answers", "digest", "digest post")
        named = (f"documents {self.collection()}", f"owner {self.document().name}", f"forget {self.document().name}")
        self.oracle.step += f" {(typed := self.dice.choice((*plain, *named)))}"
        for word in found(typed):
            self.oracle.words[word].said.add(channel)  # by whoever typed it
        await self.slack.command("/kotae", typed, user, channel)

    async def ingest(self) -> None:
        channel, user = self.somebody()
        await self.slack.command("/ingest", f"The storage key is under the mat {self.said(channel)}.", user, channel)

    async def reply_to_card(self) -> None:
        tops = [one for one in self.theirs() if not one.thread and not one.ephemeral_to]
        card = self.dice.choice(tops[-6:])
        user = self.member(card.channel)
        await self.slack.says(card.channel, user, f"The key is in the box {self.said(card.channel)}.", card.ts)

    def theirs(self) -> list[Message]:
        found = [
            one for one in self.slack.world.messages.values() if one.user == self.slack.bot_user and not one.deleted
        ]
        if not found:
            raise LookupError("nothing was said")
        return found

    async def press(self) -> None:
        """Anything that can be pressed, by anybody who sees it; a form that opens is filled in."""
        offered = [one for one in self.theirs() if one.actions][-12:]
        message = self.dice.choice(offered)
        user, action = message.ephemeral_to or self.member(message.channel), self.dice.choice(message.actions)
        self.oracle.step += f" {action}"
        before = {*self.slack.world.messages}
        await self.slack.presses(user, message, action, self.dice.choice(("positive", "negative")))
        await self.quiet()
        if action == "kotae_ask_choice":  # its asker has seen who will read the question, and wants it
            for at in self.slack.world.messages.keys() - before:
                for word in found(self.slack.world.messages[at].shown.split("\n")[0]):
                    self.oracle.words[word].said.add(at[0])
        await self.fill(user, message.channel)

    async def open_home(self) -> None:
        user = self.dice.choice((*PEOPLE, GUEST))
        self.oracle.step += f" {user}"
        await self.slack.opens_home(user)
        await self.quiet()
        await self.look()
        home = self.slack.home(user)
        actions = re.findall(r'"action_id": "([^"]+)"', json.dumps(home.body))
        await self.slack.presses(user, home, self.dice.choice(actions or [""]))
        await self.quiet()
        await self.fill(user, self.slack.dm(user))

    async def fill(self, user: str, channel: str) -> None:
        await self.look()
        view = self.slack.modal(user)
        answer = f"The storage key hangs on the hook {self.said(channel)}."
        fields = [block for block in view.body["blocks"] if block["type"] == "input"]
        texts = [one["block_id"] for one in fields if one["element"]["type"] == "plain_text_input"]
        try:
            await self.slack.submits(user, dict.fromkeys(texts, answer))
        finally:
            with suppress(LookupError):
                while True:
                    await self.slack.closes(user)

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


ACTS: Mapping[Callable[[Acts], Awaitable[None]], int] = {
    Acts.add: 6, Acts.replace: 4, Acts.rescope: 6, Acts.forget: 3, Acts.move: 2, Acts.comes_or_goes: 3,
    Acts.ask: 16, Acts.follow_up: 8, Acts.edit: 3, Acts.delete: 3, Acts.command: 12, Acts.ingest: 3,
    Acts.reply_to_card: 5, Acts.press: 14, Acts.open_home: 4, Acts.api: 8, Acts.mcp: 6, Acts.page: 10,
}  # fmt: skip


# -- the plan ----------------------------------------------------------------------------------------------------------


class Listening(logging.Handler):
    """All that our loggers say from INFO on."""

    def __init__(self, records: list[logging.LogRecord]) -> None:
        super().__init__(logging.INFO)
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.split(".")[0] in OURS:
            self._records.append(record)


@asynccontextmanager
async def living(seed: int, home: Path) -> AsyncIterator[Acts]:
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(FakeSlack(limits=False))
        populate(slack)
        servant = await stack.enter_async_context(Servant())
        given = {
            **{"OPENAI_BASE_URL": servant.url, "OPENAI_API_KEY": servant.key, "KOTAE_EMBEDDER": f"openai:{EMBEDDER}"},
            **{"KOTAE_MIN_RELEVANCE": 0, "KOTAE_SEARCH_LIMIT": 30, "KOTAE_LANGUAGE": "en", "KOTAE_MAX_TURNS": 4},
            **{"KOTAE_USER_PER_MINUTE": 0, "KOTAE_CHANNEL_PER_MINUTE": 0, "KOTAE_DIGEST_CHANNEL": DIGEST},
            **MODELS[seed % len(MODELS)],
        }
        app, clock = await stack.enter_async_context(running(begun(home, **given), Redactor())), Skipping()
        tokens = SlackSettings(
            bot_token=SecretStr(slack.bot_token), app_token=SecretStr(slack.app_token), signing_secret=None,
            api_url=slack.api_url,
        )  # fmt: skip
        api = partial(SlackApi, clock=clock, sleep=clock.sleep, chance=lambda: 0.0)
        adapter, address = (
            SlackAdapter(tokens, language="en", look_every=0.2, api=api),
            listen("127.0.0.1", 0, token=None),
        )
        web = web_adapter(app, address.url)
        for each in (web, adapter):
            await stack.enter_async_context(serving(each, app.bot))
        await slack.connected(2)
        await stack.enter_async_context(served(app, address, web=web))
        app.bot.commands.post_digest = posting([adapter, web], DIGEST, app.digest_card, app.clock)
        app.bot.asking.reach = PeopleReach([adapter, web], DIGEST)
        acts = Acts(app, slack, servant, random.Random(seed), clock)
        client = httpx.AsyncClient(base_url=address.url, timeout=60, trust_env=False, verify=False)
        acts.http = await stack.enter_async_context(client)
        acts.tokens = {name: await app.programs.add(HOME, name, name, 10**6, 10**6) for name in AUDIENCES}
        logging.basicConfig(handlers=[Listening(acts.records)], level=logging.INFO, force=True)
        yield acts


async def measure(steps: int, seed: int) -> Counter[str]:
    """What happened, and how often; AssertionError for what somebody was told who may not know it."""
    met = Counter[str]()
    with tempfile.TemporaryDirectory() as home:
        async with living(seed, Path(home)) as acts:
            for number, act in enumerate([Acts.add] * 6 + acts.dice.choices([*ACTS], [*ACTS.values()], k=steps)):
                oracle = acts.oracle
                oracle.step = f"step {number}: {act.__name__}"
                oracle.earlier = {word: oracle.homes(word) for word in oracle.words}
                acts.calls, met[act.__name__] = len(acts.servant.journal), met[act.__name__] + 1
                with suppress(LookupError):
                    await act(acts)
                await acts.quiet()
                await acts.look()
                assert not oracle.told, f"seed {seed}, " + "\n".join(oracle.told)
    return met


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--steps", type=int, default=400)
    given.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = given.parse_args()
    print(f"seed {options.seed}, {options.steps} steps", flush=True)
    started = time.monotonic()
    try:
        met = asyncio.run(measure(options.steps, options.seed))
    except AssertionError as told:
        print(told, file=sys.stderr)
        sys.exit(1)
    print("\n".join(f"{name:14} {times:5}" for name, times in met.most_common()))
    print(f"\nnobody was told what is not theirs to read\n{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
