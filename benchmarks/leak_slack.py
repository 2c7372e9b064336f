"""The Slack of `benchmarks.leaks`: channels that guests and strangers come to, forms, whispers and the App Home."""

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial

from pydantic import SecretStr

from adapters.slack.adapter import SlackAdapter
from adapters.slack.transport.api import SlackApi
from benchmarks.leak_acts import ACTS, Act, Acts, Asked
from benchmarks.leak_world import Form, Told, found
from bot.config.settings import SlackSettings
from retrieval.types import TEAM
from tests.adapters.staging import Skipping
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_world import TEAM as WORKSPACE

GUEST = "UGUEST"
PRIVATE = ("CGOLD", "CSILVER", "COPEN")
MOVING = ("C1", "COPEN", "CGOLD")


class OnSlack(Acts):
    platform, digest, people, moving = "slack", "C1", ("U1", "U2", "UOLGA"), MOVING

    def __init__(self, slack: FakeSlack, clock: Skipping) -> None:
        super().__init__(clock)
        self.slack = slack

    def opened(self) -> Sequence[str]:
        return [one for one in MOVING if self.public(one)]

    def own_scope(self, channel: str) -> str:
        """What guests read in a public channel the team reads, too."""
        return TEAM if self.public(channel) else self.place(channel)

    def private(self) -> Sequence[str]:
        return PRIVATE

    def channels(self) -> Sequence[str]:
        return ("C1", "C1", "CGOLD", "CGOLD", "CSILVER", "COPEN", "CSHARED", *map(self.direct, (*self.people, GUEST)))

    # -- who reads what ------------------------------------------------------------------------------------------------

    def place(self, channel: str) -> str:
        return f"place:slack:{WORKSPACE}:{channel}"

    def inside(self, channel: str) -> bool:
        there = self.slack.world.channels[channel]
        return not there.ext_shared and all(map(self.member, there.members))

    def public(self, channel: str) -> bool:
        return self.slack.world.channels[channel].kind == "public"

    def direct(self, user: str) -> str:
        return self.slack.dm(user)

    def alone(self, channel: str) -> bool:
        return channel.startswith("D")

    def member(self, user: str) -> bool:
        return self.slack.world.users[user].kind not in ("restricted", "stranger")

    def sees(self, user: str) -> Sequence[str]:
        everywhere = self.slack.world.channels.values()
        open_to_all = self.member(user)
        return [one.id for one in everywhere if user in one.members or (open_to_all and one.kind == "public")]

    def there(self, channel: str) -> Sequence[str]:
        return sorted(self.slack.world.channels[channel].members - {self.slack.bot_user})

    # -- looking -------------------------------------------------------------------------------------------------------

    def ids(self) -> list[str]:
        return [one.ts for one in self.slack.world.messages.values() if one.user == self.slack.bot_user]

    def told(self, id: str) -> Told:
        one = self.slack.world.by_ts[id]
        whole = f"{one.shown} {one.text} {json.dumps(one.blocks)} {json.dumps(one.metadata)}"
        pressed, history = tuple(one.actions), tuple(one.history)
        return Told(id, one.channel, one.thread, one.shown, whole, history, pressed, one.ephemeral_to, one.deleted)

    def forms(self) -> list[Form]:
        views, homes = self.slack.world.views.values(), self.slack.world.homes.items()
        forms = [Form("a form", one.id, one.user, json.dumps(one.body)) for one in views if one.body["type"] == "modal"]
        return forms + [Form("the App Home", (user, one.hash), user, json.dumps(one.body)) for (_, user), one in homes]

    async def idle(self) -> None:
        await self.slack.connected(2)
        await self.slack.wait_for_idle()

    # -- what people do ------------------------------------------------------------------------------------------------

    async def says(self, channel: str, user: str, words: str, thread: str = "") -> Asked:
        made = await self.slack.says(channel, user, words, thread or None)
        return Asked(made, channel, thread or made, words)

    async def edits(self, message: str, words: str) -> None:
        await self.slack.edits(message, words)

    async def deletes(self, message: str) -> None:
        await self.slack.deletes(message)

    async def types(self, command: str, user: str, channel: str) -> None:
        name, _, rest = command.partition(" ")
        typed = ("/ingest", rest) if name == "ingest" else ("/kotae", command)
        await self.slack.command(*typed, user, channel)

    async def presses(self, user: str, message: Told, action: str) -> None:
        pressed = self.slack.world.by_ts[message.id]
        await self.slack.presses(user, pressed, action, self.dice.choice(("positive", "negative")))

    async def fills(self, user: str, words: str, collection: str) -> None:
        view = self.slack.modal(user)
        fields = [block for block in view.body["blocks"] if block["type"] == "input"]
        texts = [one["block_id"] for one in fields if one["element"]["type"] == "plain_text_input"]
        try:
            await self.slack.submits(user, {one: collection if one == "new" else words for one in texts})
        finally:
            with suppress(LookupError):
                while True:
                    await self.slack.closes(user)

    async def comes_or_goes(self) -> None:
        way = self.dice.choice((self.person_moves, self.person_moves, self.convert, self.share))
        self.oracle.step += f" {way.__name__}"
        await way()
        self.clock.now += 700  # the client believes what it knows for ten minutes
        await self.look_again()

    async def person_moves(self) -> None:
        """Somebody joins a channel or leaves it, or becomes a guest, or a member again."""
        channel, user = self.dice.choice((*PRIVATE, "C1")), self.dice.choice((*self.people, GUEST))
        self.oracle.step += f" {user} {channel}"
        account, members = self.slack.world.users[user], self.slack.world.channels[channel].members
        if user in self.people[:2] and self.dice.random() < 0.3:
            account.kind = "restricted" if account.kind == "member" else "member"
        elif user in members:
            members.discard(user)
        else:
            await self.slack.joins(channel, user)

    async def convert(self) -> None:
        """A channel becomes private, or public."""
        channel = self.dice.choice(MOVING)
        user = sorted(self.slack.world.channels[channel].members)[0]
        self.oracle.step += f" {channel}"
        await self.slack.converts(channel, "private" if self.public(channel) else "public", user)

    async def share(self) -> None:
        """A channel is shared with another company, or is not any more."""
        channel = self.slack.world.channels[self.dice.choice(MOVING)]
        channel.ext_shared = not channel.ext_shared
        (channel.members.add if channel.ext_shared else channel.members.discard)("USTRANGER")
        self.oracle.step += f" {channel.id} {channel.ext_shared}"

    def speakers(self, channel: str) -> Sequence[str]:
        return [one for one in self.there(channel) if self.member(one)]

    async def settle(self, channel: str, root: str, asker: str, other: str, words: str) -> None:
        await self.slack.says(channel, other, words, thread=root)
        await self.slack.reacts(asker, root, "white_check_mark")

    async def change_readers(self, channel: str) -> None:
        await self.convert()

    async def react(self) -> None:
        message = self.latest(12, lambda one: not one.to)
        name = self.dice.choice(("+1", "-1", "white_check_mark"))
        await self.slack.reacts(self.one_in(message.channel), message.id, name)

    async def carry(self) -> None:
        """What was said is added by a link: for whoever reads it there, if whoever adds it does."""
        message, (channel, user) = self.question(), self.somebody()
        before = {row.id for row in self.rows}
        self.oracle.step += f" {message.text} of {message.channel}"
        self.asked.remove(message)  # it stays said, by whoever adds it
        link = f"https://team.slack.com/archives/{message.channel}/p{message.id.replace('.', '')}"
        scope = self.own_scope(message.channel)
        await self.slack.command("/ingest", link, user, channel)
        await self.quiet()
        for row in await self.oracle.learn(self.app):
            if row.id in before or not found(message.text) & found(await self.app.knowledge.markdown(row)):
                continue
            if row.scope != scope or message.channel not in self.sees(user):
                self.oracle.told.append(f"{self.oracle.step}\n  was carried to {row.scope}")

    async def settings(self) -> None:
        channel, user = self.somebody()
        typed = self.dice.choice(
            (
                f"settings collections {self.collection()}",
                "settings",
                "settings reset",
                "sources",
                "settings steps verbose",
                "asks off",
                "asks on",
            )
        )
        self.oracle.step += f" {typed}"
        for word in found(typed):
            self.oracle.words[word].said.add(channel)
        await self.slack.command("/kotae", typed, user, channel)

    async def open_home(self) -> None:
        user = self.dice.choice((*self.people, GUEST))
        self.oracle.step += f" {user}"
        await self.slack.opens_home(user)
        await self.quiet()
        await self.look()
        home = self.slack.home(user)
        actions = re.findall(r'"action_id": "([^"]+)"', json.dumps(home.body))
        await self.slack.presses(user, home, self.dice.choice(actions or [""]))
        await self.quiet()
        await self.fill(user, self.direct(user))

    acts: Mapping[Act, int] = {
        **ACTS,
        Acts.comes_or_goes: 8,
        open_home: 4,
        Acts.follow: 4,
        react: 3,
        carry: 4,
        settings: 3,
    }


@asynccontextmanager
async def on_slack(clock: Skipping) -> AsyncIterator[tuple[SlackAdapter, OnSlack]]:
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(FakeSlack(limits=False))
        populate(slack)
        tokens = SlackSettings(
            bot_token=SecretStr(slack.bot_token), app_token=SecretStr(slack.app_token), signing_secret=None,
            api_url=slack.api_url,
        )  # fmt: skip
        api = partial(SlackApi, clock=clock, sleep=clock.sleep, chance=lambda: 0.0)
        yield SlackAdapter(tokens, language="en", look_every=0.2, api=api), OnSlack(slack, clock)


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
