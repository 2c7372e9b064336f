"""The Discord of `benchmarks.leaks`: a server whose roles, overwrites, categories and threads decide who reads what,
and another one, whose people are strangers."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from pydantic import SecretStr

from adapters.discord.adapter import DiscordAdapter
from benchmarks.leak_acts import ACTS, Act, Acts, Asked
from benchmarks.leak_world import Form, Told, found
from bot.config.settings import DiscordSettings
from tests.adapters.staging import Skipping
from tests.fakes import discord_rights as rights
from tests.fakes import discord_text
from tests.fakes.discord_fake import ANN, BEN, GENERAL, GUILD, FakeDiscord
from tests.fakes.discord_world import (
    ANNOUNCEMENT,
    CATEGORY,
    DM,
    FORUM,
    PLAIN,
    PRIVATE_THREAD,
    TEXT,
    Channel,
    Message,
)

OTHER = "1100000000000000002"
OLGA, KAI, SAM = (f"11000000000000002{n}" for n in (61, 62, 63))
GOLD, SILVER, OPEN, NEWS, HELP, VAULT, LOBBY, DEN = (f"11000000000000001{n}" for n in range(61, 69))
STAIRS, CELLAR = "1100000000000000171", "1100000000000000172"  # categories: for all, and for the golden
GOLDEN, SILVERN, STAFF = (f"11000000000000005{n}" for n in (61, 62, 63))  # roles
SHUT = (GOLD, SILVER, VAULT)
MOVING = (GENERAL, OPEN, NEWS, HELP, GOLD)


class OnDiscord(Acts):
    platform, digest, people, moving = "discord", GENERAL, (ANN, BEN, OLGA, KAI), MOVING

    def __init__(self, discord: FakeDiscord, clock: Skipping) -> None:
        super().__init__(clock)
        self.discord = discord

    def private(self) -> Sequence[str]:
        return (*SHUT, OPEN, *self.cells())

    def channels(self) -> Sequence[str]:
        texts = (GENERAL, GENERAL, GOLD, GOLD, SILVER, OPEN, NEWS, HELP, VAULT, LOBBY, LOBBY, DEN)
        return (*texts, *self.cells(), *self.cells(), *map(self.direct, (*self.people, SAM)))

    def cells(self) -> list[str]:
        """The private threads."""
        return [one.id for one in self.discord.world.channels.values() if one.kind == PRIVATE_THREAD]

    def own(self, channel: str) -> Channel:
        """The channel that decides who reads this one, or a thread in it."""
        one = self.discord.world.channels[channel]
        return self.discord.world.channels[one.parent] if one.thread and one.kind != PRIVATE_THREAD else one

    # -- who reads what ------------------------------------------------------------------------------------------------

    def place(self, channel: str) -> str:
        return f"place:discord:{self.discord.world.channels[channel].guild or '%40me'}:{channel}"

    def inside(self, channel: str) -> bool:
        one = self.discord.world.channels[channel]
        return one.guild == GUILD or (one.kind == DM and all(map(self.member, one.people)))

    def public(self, channel: str) -> bool:
        one = self.discord.world.channels[channel]
        if one.kind in (DM, PRIVATE_THREAD):
            return False
        base, anybody = self.discord.world.guilds[one.guild].roles[one.guild].permissions, rights.Member("")
        granted = rights.in_channel(base, anybody, one.guild, one.overwrites, thread=False)
        return bool(granted & rights.BITS["view_channel"])

    def opened(self) -> Sequence[str]:
        return [one for one in (*MOVING, *SHUT) if self.public(one)]

    def direct(self, user: str) -> str:
        return self.discord.dm(user)

    def alone(self, channel: str) -> bool:
        return self.discord.world.channels[channel].kind == DM

    def member(self, user: str) -> bool:
        return user in self.discord.world.guilds[GUILD].members

    def sees(self, user: str) -> Sequence[str]:
        world = self.discord.world
        return [
            one.id
            for one in world.channels.values()
            if self.own(one.id) is one and world.may(user, one, "view_channel")
        ]

    def there(self, channel: str) -> Sequence[str]:
        place = self.discord.world.channels[channel]
        need = "send_messages_in_threads" if place.thread else "send_messages"
        return [user for user in (*self.people, SAM) if self.discord.world.may(user, place, need)]

    # -- looking -------------------------------------------------------------------------------------------------------

    def ids(self) -> list[str]:
        world, bot = self.discord.world, self.discord.bot_user
        threads = [f"#{one.id}" for one in world.channels.values() if one.thread and one.owner == bot]
        return threads + [one.id for one in world.messages.values() if one.author == bot and one.type in PLAIN]

    def told(self, id: str) -> Told:
        """Also of the name of a thread that the bot has opened, as `#` and its id."""
        if id.startswith("#"):
            name = self.discord.world.channels[id[1:]].name
            return Told(id, self.own(id[1:]).id, "", name, name, (), (), "", False)
        one = self.discord.world.messages[id]
        thread = self.discord.world.channels[one.channel].thread
        root = one.channel if thread else str((one.reference or {}).get("message_id") or "")
        pressed = tuple(each["custom_id"] for each in discord_text.interactive(one.components))
        whole = f"{one.shown} {one.content} {json.dumps(one.components)} {json.dumps(one.embeds)}"
        history = tuple(one.history)
        return Told(
            id, self.own(one.channel).id, root, one.shown, whole, history, pressed, one.ephemeral_to, one.deleted
        )

    def forms(self) -> list[Form]:
        opened = [one for one in self.discord.world.interactions.values() if one.modal]
        proposed = [one for one in self.discord.world.interactions.values() if one.choices]
        return [Form("a form", one.id, one.user, json.dumps(one.modal)) for one in opened] + [
            Form("what is proposed", one.id, one.user, json.dumps(one.choices)) for one in proposed
        ]

    async def idle(self) -> None:
        await self.discord.wait_for_idle(0.05)

    # -- what people do ------------------------------------------------------------------------------------------------

    async def says(self, channel: str, user: str, words: str, thread: str = "") -> Asked:
        """Also in reply to a message that has no thread, or in a new one on it."""
        place = self.discord.world.channels[channel]
        if place.kind == FORUM and not thread:
            made = await self.discord.posts(channel, user, f"The key {' '.join(found(words))}", words)
            return Asked(made, channel, made, words)
        if thread in ("", channel) or place.kind == DM:
            made = await self.discord.says(channel, user, words)
            return Asked(made, channel, channel if place.thread else made, words)
        if thread not in self.discord.world.channels:
            if place.kind not in (TEXT, ANNOUNCEMENT) or self.dice.random() < 0.5:
                made = await self.discord.says(channel, user, words, reply=thread)
                return Asked(made, channel, thread, words)
            await self.discord.starts_thread(user, thread, "About the key")
        made = await self.discord.says(channel, user, words, thread=thread)
        return Asked(made, channel, thread, words)

    async def edits(self, message: str, words: str) -> None:
        await self.discord.edits(message, words)

    async def deletes(self, message: str) -> None:
        await self.discord.deletes(message)

    async def types(self, command: str, user: str, channel: str) -> None:
        name, _, rest = command.partition(" ")
        option = {"search": "words", "documents": "collection", "owner": "what", "forget": "document", "ingest": "text"}
        given = {option[name]: rest} if rest and name in option else {}
        if name in ("documents", "ingest") and self.dice.random() < 0.5:
            wanted = "collection" if name == "documents" else self.dice.choice(("collection", "scope"))
            await self.discord.suggests(name, {wanted: ""}, wanted, user, channel)
        await self.discord.slash(name, {"post": True} if rest == "post" else given, user, channel)

    def message(self, told: Told) -> Message:
        return self.discord.world.messages[told.id]

    async def presses(self, user: str, message: Told, action: str) -> None:
        there = discord_text.interactive(self.message(message).components)
        pressed = next(each for each in there if each["custom_id"] == action)
        chosen = [self.dice.choice(pressed["options"])["value"]] if pressed["type"] == 3 else None
        await self.discord.presses(user, message.id, action, chosen)

    async def fills(self, user: str, words: str, collection: str) -> None:
        opened = self.discord.modal(user)
        assert opened.modal is not None
        given: dict[str, object] = {}
        for each in discord_text.walk(opened.modal["components"]):
            if each["type"] == 4:
                given[each["custom_id"]] = collection if each["custom_id"] == "new" else words
            elif each["type"] in (3, 21) and (each.get("required", True) or self.dice.random() < 0.5):
                given[each["custom_id"]] = [self.dice.choice(each["options"])["value"]]
        try:
            await self.discord.submits(user, given)
        finally:
            opened.modal_open = False

    async def react(self) -> None:
        message = self.latest(12, lambda one: not one.to and not one.id.startswith("#"))
        await self.discord.reacts(self.one_in(message.channel), message.id, self.dice.choice("👍👎✅"))

    async def carry(self) -> None:
        """What was said is added by a link or from its menu: for whoever reads it there, if whoever adds it does."""
        message, (channel, user) = self.question(), self.somebody()
        before, at = {row.id for row in self.rows}, self.discord.world.messages[message.id].channel
        self.oracle.step += f" {message.text} of {message.channel}"
        self.asked.remove(message)  # it stays said, by whoever adds it
        if self.dice.random() < 0.3:
            await self.discord.menu("Add to knowledge", message.id, user)
            await self.fill(user, message.channel)
            return
        guild = self.discord.world.channels[at].guild or "@me"
        link = f"https://discord.com/channels/{guild}/{at}/{message.id}"
        scope = self.own_scope(message.channel)
        await self.discord.slash("ingest", {"link": link}, user, channel)
        await self.quiet()
        for row in await self.oracle.learn(self.app):
            if row.id in before or not found(message.text) & found(await self.app.knowledge.markdown(row)):
                continue
            if row.scope != scope or message.channel not in self.sees(user):
                self.oracle.told.append(f"{self.oracle.step}\n  was carried to {row.scope}")

    # -- the server changes --------------------------------------------------------------------------------------------

    async def comes_or_goes(self) -> None:
        way = self.dice.choice(
            (self.role, self.role, self.leave, self.view, self.hide, self.overwrite, self.drag, self.thread)
        )
        self.oracle.step += f" {way.__name__}"
        await way()
        self.clock.now += 700  # what is known of a member is believed for a minute
        await self.look_again()

    async def settle(self, channel: str, root: str, asker: str, other: str, words: str) -> None:
        if root not in self.discord.world.channels:
            await self.discord.starts_thread(asker, root, "About the key")
        await self.discord.says(channel, other, words, thread=root)
        await self.discord.reacts(asker, root, "✅")

    async def change_readers(self, channel: str) -> None:
        self.oracle.step += f" {(hidden := self.public(channel))}"
        await self.discord.hides(channel, hidden=hidden)

    async def role(self) -> None:
        """Somebody gets a role, or loses it."""
        user, role = self.dice.choice(self.people), self.dice.choice((GOLDEN, SILVERN))
        self.oracle.step += f" {user} {role}"
        if self.member(user):
            has = role in self.discord.world.guilds[GUILD].members[user].roles
            await self.discord.grants(user, role, granted=not has)

    async def leave(self) -> None:
        """Somebody leaves the server, or comes back without any role."""
        user = self.dice.choice((BEN, KAI))
        self.oracle.step += f" {user}"
        await (self.discord.leaves if self.member(user) else self.discord.joins)(user)

    async def view(self) -> None:
        """A role sees all channels that are not closed to it, or does not any more."""
        closed = not self.discord.world.guilds[GUILD].roles[GUILD].permissions & rights.BITS["view_channel"]
        role = GUILD if closed else self.dice.choice((GUILD, GOLDEN))
        self.oracle.step += f" {role}"
        await self.discord.changes_role(role, "view_channel")

    async def hide(self) -> None:
        """A channel becomes private, or public."""
        channel = self.dice.choice((*MOVING, SILVER))
        self.oracle.step += f" {channel} {(hidden := self.public(channel))}"
        await self.discord.hides(channel, hidden=hidden)

    async def overwrite(self) -> None:
        """A channel shows to a role or a member of its own, or does not."""
        channel, who = self.dice.choice((*SHUT, OPEN)), self.dice.choice((SILVERN, GOLDEN, *self.people))
        change = self.dice.choice((self.discord.allows, self.discord.denies))
        self.oracle.step += f" {channel} {change.__name__} {who}"
        await change(channel, "view_channel", who=who)

    async def drag(self) -> None:
        """A channel is moved under a category, and takes its rights over."""
        channel, category = self.dice.choice(MOVING), self.dice.choice((STAIRS, CELLAR))
        self.oracle.step += f" {channel} {category}"
        await self.discord.moves(channel, category)

    async def thread(self) -> None:
        """Somebody is added to a private thread or removed, or one is begun; any thread is closed."""
        cells, user = self.cells(), self.dice.choice(self.people)
        if len(cells) < 4:
            parent = self.dice.choice((GENERAL, GOLD))
            await self.discord.starts_private_thread(self.one_in(parent), parent, "cell", self.discord.bot_user)
        elif self.dice.random() < 0.4:
            threads = [one.id for one in self.discord.world.channels.values() if one.thread]
            await self.discord.archives(self.dice.choice(threads))
        else:
            cell = self.dice.choice(cells)
            self.oracle.step += f" {user} {cell}"
            in_it = user in self.discord.world.channels[cell].people
            await (self.discord.puts_out if in_it else self.discord.adds)(cell, user)

    acts: Mapping[Act, int] = {**ACTS, Acts.comes_or_goes: 8, react: 3, carry: 5, Acts.follow: 4}


@asynccontextmanager
async def on_discord(clock: Skipping) -> AsyncIterator[tuple[DiscordAdapter, OnDiscord]]:
    async with AsyncExitStack() as stack:
        discord = await stack.enter_async_context(FakeDiscord(limits=False))
        await populate(discord)
        settings = DiscordSettings(
            SecretStr(discord.token), (GUILD,), discord.api_url, discord.gateway_url, discord.cdn_url
        )
        adapter = DiscordAdapter(settings, language="en", look_every=0.2, clock=clock, sleep=clock.sleep)
        yield adapter, OnDiscord(discord, clock)


async def populate(discord: FakeDiscord) -> None:
    world, bot = discord.world, discord.bot_user
    world.add_user("olga", id=OLGA)
    world.add_user("kai", id=KAI)
    world.add_guild("Elsewhere", id=OTHER, owner=SAM)
    world.add_user("sam", id=SAM, guilds=[OTHER])
    for user in (ANN, bot):
        world.join(user, OTHER)
    world.add_role("golden", id=GOLDEN, members=[ANN, OLGA])
    world.add_role("silvern", id=SILVERN, members=[BEN])
    world.add_role("staff", "manage_messages", id=STAFF, members=[OLGA])
    world.add_channel("stairs", id=STAIRS, kind=CATEGORY)
    world.add_channel("cellar", id=CELLAR, kind=CATEGORY, only=[GOLDEN, bot])
    world.add_channel("gold", id=GOLD, only=[GOLDEN, bot])
    world.add_channel("silver", id=SILVER, only=[SILVERN, OLGA, bot])
    world.add_channel("open", id=OPEN)
    world.deny(OPEN, "view_channel", who=SILVERN)
    world.add_channel("news", id=NEWS, kind=ANNOUNCEMENT)
    world.add_channel("help", id=HELP, kind=FORUM)
    world.add_channel("vault", id=VAULT, kind=FORUM, only=[GOLDEN, bot])
    world.add_channel("lobby", id=LOBBY, guild=OTHER)
    world.add_channel("den", id=DEN, guild=OTHER, only=[SAM, bot])
    for user, parent in ((BEN, GENERAL), (ANN, GOLD)):
        await discord.starts_private_thread(user, parent, "cell", OLGA, bot)
