"""Discord on loopback: a server, its REST API and gateway, driven by the real discord.py.

People are driven from tests (`says`, `slash`, `presses`, `submits`); the bot runs against `api_url` and `gateway_url`
(`discord_client.pointed_at`). It refuses what Discord refuses and fails on order. `python -m tests.fakes.discord_demo`
serves it to try the bot by hand.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

from aiohttp import web

from tests.fakes import discord_gestures as gestures
from tests.fakes.discord_events import Announcer
from tests.fakes.discord_gate import Fault
from tests.fakes.discord_gateway import HEARTBEAT, PRIVILEGED, RECONNECT, Gateway
from tests.fakes.discord_gateway import INVALID as INVALID_SESSION
from tests.fakes.discord_interactions import Interactions
from tests.fakes.discord_messages import Messages
from tests.fakes.discord_payloads import Payloads
from tests.fakes.discord_rest import Rest
from tests.fakes.discord_rights import bits
from tests.fakes.discord_server import Journal, Server
from tests.fakes.discord_world import (
    DM,
    FORUM,
    PLAIN,
    PRIVATE_THREAD,
    App,
    Channel,
    File,
    Interaction,
    Message,
    User,
    World,
)
from tests.fakes.slack_world import Clock

Json = dict[str, Any]
T = TypeVar("T")

GUILD, GENERAL = "1100000000000000001", "1100000000000000010"
OWNER, ANN, BEN = "1100000000000000020", "1100000000000000021", "1100000000000000022"
BOT_PERMISSIONS = (  # as the bot is invited; pinging everyone comes with @everyone
    "view_channel",
    "send_messages",
    "embed_links",
    "attach_files",
    "read_message_history",
    "add_reactions",
    "create_public_threads",
    "send_messages_in_threads",
)


class FakeDiscord:
    """`async with FakeDiscord() as discord:`; then `.api_url`, `.gateway_url`, `.cdn_url`, `.token`, `.bot_user`.

    The world starts with the server GUILD: its owner, `ann` (ANN) and `ben` (BEN), the bot, the channel #general
    (GENERAL). People, channels and threads are named by id or by name, messages by id.

    `without` names what this Discord does not have: "components_v2", "modal_components" (only text inputs are left),
    "file_upload", "threads", "context_menus", "enforce_nonce". `intents`: the privileged ones granted to the app.
    `limits` False: no rate limits; `rates` changes those of single buckets, in calls and seconds. `copies`: how often
    each event comes. `scale`: how much faster its clock runs; it also jumps (`clock.advance`).
    """

    def __init__(
        self,
        *,
        without: Collection[str] = (),
        intents: int = PRIVILEGED,
        limits: bool = True,
        rates: Mapping[str, tuple[int, float]] | None = None,
        scale: float = 1.0,
        copies: int = 1,
        heartbeat: float = 41.25,
        port: int = 0,
    ) -> None:
        self.clock = Clock(scale)
        self.world = World(self.clock)
        self.world.changed = self._changed
        self.journal = Journal()
        self.apps: list[App] = []
        self.payloads = Payloads(self.world)
        self.gateway = Gateway(self.world, self.payloads, self.apps, self._changed)
        self.gateway.rules.copies, self.gateway.rules.heartbeat = copies, heartbeat
        self.tell = Announcer(self.world, self.payloads, self.gateway)
        self.server = Server(self.world, self.apps, self.journal)
        self.server.rates.on = limits
        self.server.rates.buckets.update(rates or {})
        self.messages = Messages(self.world, self.payloads, self.tell, without)
        self.rest = Rest(self.world, self.payloads, self.tell, self.messages, without, self.gateway.limit)
        answers = Interactions(self.world, self.payloads, self.tell, self.messages, without)
        for part in (self.rest, self.messages, answers):
            self.server.add(part.routes())
        self.gestures = gestures.Gestures(self.payloads, self.tell, self.apps, self._changed)
        self.url = self.api_url = self.gateway_url = self.cdn_url = ""
        self._port = port
        self._change = asyncio.Event()
        self.world.add_guild("Loopback", id=GUILD, owner=OWNER)
        for identity, name in ((OWNER, "owner"), (ANN, "ann"), (BEN, "ben")):
            self.world.add_user(name, id=identity)
        self.world.add_channel("general", id=GENERAL)
        self.app = self.install("kotae", intents=intents)
        self.bot_user, self.token = self.app.user, self.app.token

    def install(self, name: str, *, intents: int = PRIVILEGED, guilds: Iterable[str] | None = None) -> App:
        """Another app beside the first, with a token, a bot and the bot's role in these servers (None: all)."""
        number = len(self.apps)
        bot = self.world.add_user(name, id=f"11000000000000003{number:02}", bot=True, guilds=guilds)
        app = App(f"11000000000000004{number:02}", bot.id, f"loopback.{number}.token", name, intents)
        for guild in self.world.guilds.values():
            if bot.id in guild.members:
                self.world.add_role(name, *BOT_PERMISSIONS, guild=guild.id, members=[bot.id], bot_id=bot.id)
        self.apps.append(app)
        return app

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=100 * 2**20)
        self.server.serve(app.router)
        for path in ("/", "/resume", "/resume/"):
            app.router.add_get(path, self.gateway.serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self.url = self.cdn_url = self.payloads.base = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self.api_url = f"{self.url}/api/v10"
        self.gateway_url = self.gateway.address = self.rest.gateway_url = self.url.replace("http", "ws", 1)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.close()
        await self.gateway.close()
        await self._runner.cleanup()
        if self.server.bugs and error is None:
            raise AssertionError("the fake itself failed on a request") from self.server.bugs[0]

    # -- what goes wrong --------------------------------------------------------------------------------------------

    def fail(
        self,
        route: str,
        fault: Fault,
        *,
        calls: Iterable[int] | None = None,
        where: Callable[[Json], bool] = lambda body: True,
    ) -> None:
        """Arms a fault for a route, such as "POST /channels/{channel}/messages" ("*": any).

        For the calls of these numbers, counted from 1 and from now, or all. Raises LookupError: no such route.
        """
        if not self.server.knows(route):
            raise LookupError(route)
        self.server.faults.arm(route, fault, calls, where)

    def heal(self, route: str | None = None) -> None:
        self.server.faults.heal(route)

    def drop(self) -> int:
        """Cuts the gateway's TCP connections without a word; how many. Events wait for a RESUME."""
        return self.gateway.cut()

    def close(self, code: int, shard: int | None = None) -> None:
        """Closes the gateway connections, or a shard's, with this code."""
        self.gateway.close_all(code, shard)

    def reconnect(self) -> None:
        """Op 7: go and come back."""
        for each in self.gateway.live():
            each.tell(RECONNECT)

    def invalidate(self, resumable: bool = False, shard: int | None = None) -> None:
        """Op 9, to all or to a shard. What is not resumable is over, and its waiting events with it."""
        for each in self.gateway.live(shard):
            if each.session is not None and not resumable:
                each.session.dead = True
            each.tell(INVALID_SESSION, resumable)

    def deaf(self) -> None:
        """Half open: the connections stay, and nothing comes from them or is heard by them."""
        for each in self.gateway.live():
            each.deaf = True

    def replay(self, count: int = 1) -> None:
        """Sends the last events again as they were, with their old numbers."""
        for each in self.gateway.live():
            for _, text in each.session.frames[-count:] if each.session else ():
                each.outbox.put_nowait(text)

    # -- people write -----------------------------------------------------------------------------------------------

    async def says(
        self,
        channel: str,
        user: str,
        text: str,
        *,
        reply: str = "",
        thread: str = "",
        files: Sequence[File] = (),
        webhook: str = "",
        calls: bool = True,
    ) -> str:
        """A message of a person or of another bot; its id. `@kotae` and `<@BOT>` mention the bot.

        `reply`: to this message; not `calls`: its author has switched the mention off that a reply has; `thread`: in
        the thread of this message or of this id; `webhook`: the id of the webhook that writes under this name."""
        place, author = self.place(thread or channel), self.person(user)
        if place.kind == DM and not self.world.have_met(*place.people):
            raise ValueError("they are in no server together")
        if place.kind == FORUM:
            raise ValueError("in a forum people post: posts()")
        need = "send_messages_in_threads" if place.thread else "send_messages"
        if not self.world.may(author.id, place, need) or (place.locked and place.archived):
            raise ValueError(f"{user} cannot write in {channel}")
        if place.archived:
            place.archived = False
            self.tell.thread(place)
        reference: Json | None = None
        if reply:
            reference = {"type": 0, "channel_id": place.id, "message_id": self.message(reply).id}
            reference |= {"guild_id": place.guild} if place.guild else {}
        kind = 19 if reply else 0
        made = self._write(place, author, text, files, calls=calls, type=kind, reference=reference, webhook=webhook)
        self.tell.posted(made)
        return made.id

    async def forwards(self, user: str, message: str, channel: str) -> str:
        """A person forwards a message to a channel; the id of the one that has it, which has no text of its own.

        Source: resources/message (message snapshot object; message reference types)."""
        author, original = self.person(user), self.message(message)
        reference = {"type": 1, "channel_id": original.channel, "message_id": original.id}
        made = self.world.post(channel, author.id, reference=reference)
        self.tell.posted(made)
        return made.id

    def _write(
        self, place: Channel, author: User, text: str, files: Sequence[File] = (), *, calls: bool = True, **more: Any
    ) -> Message:
        written = self._typed(text)
        reference = more.get("reference")
        replied = self.message(reference["message_id"]).author if reference and calls else ""
        pings = self.world.pinged(author.id, place, written, [], allowed=None, replied=replied)
        kept = [each.id for each in files]
        return self.world.post(place.id, author.id, content=written, pings=pings, files=kept, **more)

    def _typed(self, text: str) -> str:
        return text.replace("<@BOT>", f"<@{self.bot_user}>").replace(f"@{self.app.name}", f"<@{self.bot_user}>")

    async def posts(
        self, forum: str, user: str, title: str, text: str, *, tags: Iterable[str] = (), files: Sequence[File] = ()
    ) -> str:
        """A post in a forum; the id of its thread and of its first message."""
        place, author = self.place(forum), self.person(user)
        ids = [next(key for key, name in place.tags.items() if each in (key, name)) for each in tags]
        thread = self.world.add_thread(place, title, author.id, applied_tags=ids)
        self.tell.thread(thread, "THREAD_CREATE")
        self.tell.posted(self._write(thread, author, text, files, id=thread.id))
        return thread.id

    async def starts_private_thread(self, user: str, channel: str, name: str, *people: str) -> str:
        """A private thread with somebody and these people; its id."""
        thread = self.world.add_thread(self.place(channel), name, self.person(user).id, kind=PRIVATE_THREAD)
        self.tell.thread(thread, "THREAD_CREATE")
        for each in people:
            await self.adds(thread.id, each)
        return thread.id

    async def starts_thread(self, user: str, message: str, name: str) -> str:
        return self.rest.start(self.message(message), self.person(user).id, {"name": name}).id

    async def archives(self, thread: str, *, locked: bool = False) -> None:
        """A moderator closes a thread."""
        place = self.place(thread)
        place.archived, place.locked, place.stirred = True, locked, self.world.wall()
        self.tell.thread(place)

    async def renames(self, thread: str, name: str) -> None:
        """A moderator gives a thread another name."""
        self.rest.rename(self.place(thread), self.world.guilds[self.place(thread).guild].owner, name)
        self.tell.thread(self.place(thread))

    def dm(self, user: str) -> str:
        """The id of the direct conversation of this person and the bot."""
        return self.world.dm(self.bot_user, self.person(user).id).id

    async def edits(self, message: str, text: str) -> None:
        found = self.message(message)
        found.history.append(found.shown)
        found.content, found.edited = self._typed(text), self.world.wall()
        place = self.world.channels[found.channel]
        found.pings = self.world.pinged(found.author, place, found.content, [], allowed=None)
        self._changed()
        self.tell.changed(found)

    async def unfurls(self, message: str) -> None:
        """Discord adds a preview: a MESSAGE_UPDATE in which nobody changed anything."""
        found = self.message(message)
        found.embeds = [{"type": "link", "url": "https://example.com/", "title": "a preview"}]
        self.tell.changed(found)

    async def deletes(self, *messages: str) -> None:
        self.messages.remove(*map(self.message, messages))

    async def reacts(self, user: str, message: str, emoji: str) -> None:
        found, author = self.message(message), self.person(user)
        if self.world.channels[found.channel].archived:  # Source: topics/threads
            raise ValueError("no reactions are added in an archived thread")
        found.reactions.setdefault(emoji, []).append(author.id)
        self.tell.reaction(found, author.id, emoji, added=True)

    async def unreacts(self, user: str, message: str, emoji: str) -> None:
        found, author = self.message(message), self.person(user)
        found.reactions[emoji].remove(author.id)
        self.tell.reaction(found, author.id, emoji, added=False)

    # -- the server changes -----------------------------------------------------------------------------------------

    async def denies(self, channel: str, *permissions: str, who: str = "") -> None:
        """Takes permissions from a role or a user ("": the bot), and tells so."""
        place = self.place(channel)
        self.world.deny(place.id, *permissions, who=who or self.bot_user)
        self.tell.channel(place)

    async def allows(self, channel: str, *permissions: str, who: str = "") -> None:
        place = self.place(channel)
        self.world.allow(place.id, *permissions, who=who or self.bot_user)
        self.tell.channel(place)

    async def removes(self, channel: str) -> None:
        """Somebody deletes a channel or a thread."""
        self.rest.gone(self.place(channel))

    async def hides(self, channel: str, *, hidden: bool = True) -> None:
        """Takes View Channel from @everyone and keeps it for the bot, or gives it back."""
        place = self.place(channel)
        (self.world.deny if hidden else self.world.allow)(place.id, "view_channel", who=place.guild)
        self.world.allow(place.id, "view_channel", who=self.bot_user)
        self.tell.channel(place)

    async def moves(self, channel: str, category: str) -> None:
        """Somebody drags a channel into a category, whose rights it takes over."""
        place, above = self.place(channel), self.place(category)
        place.parent = above.id
        place.overwrites = {who: replace(each) for who, each in above.overwrites.items()}
        self.tell.channel(place)

    async def grants(self, user: str, role: str, *, granted: bool = True) -> None:
        """Gives a role to a member, or takes it away."""
        home = next(each for each in self.world.guilds.values() if role in each.roles)
        roles = home.members[self.person(user).id].roles
        (roles.add if granted else roles.discard)(role)
        self.tell.member(home, self.person(user).id, "GUILD_MEMBER_UPDATE")

    async def changes_role(self, role: str, *permissions: str) -> None:
        """Switches these permissions of a role, in all of its server."""
        home = next(each for each in self.world.guilds.values() if role in each.roles)
        home.roles[role].permissions ^= bits(permissions)
        self.tell.role(home, role)

    async def adds(self, thread: str, user: str) -> None:
        """Somebody is added to a private thread."""
        place, added = self.place(thread), self.person(user).id
        place.people.add(added)
        self.tell.thread(place, "THREAD_CREATE", to=added)
        self.tell.joined_thread(place, added)

    async def puts_out(self, thread: str, user: str) -> None:
        """Somebody is removed from a private thread."""
        self.place(thread).people.discard(self.person(user).id)

    async def joins(self, user: str, guild: str = GUILD) -> None:
        self.world.join(self.person(user).id, guild)
        self.tell.member(self.world.guilds[guild], self.person(user).id, "GUILD_MEMBER_ADD")

    async def comes_as_guest(self, user: str, channel: str) -> None:
        """By an invitation to a voice channel. Source: resources/invite and resources/guild (flags)."""
        place, guest = self.place(channel), self.person(user).id
        made = self.world.join(guest, place.guild)
        made.guest, made.voice = True, place.id
        self.tell.voice(self.world.guilds[place.guild], guest)

    async def leaves(self, user: str, guild: str = GUILD) -> None:
        del self.world.guilds[guild].members[self.person(user).id]
        for each in self.world.channels.values():
            if each.thread and each.guild == guild:
                each.people.discard(self.person(user).id)
        self.tell.member(self.world.guilds[guild], self.person(user).id, "GUILD_MEMBER_REMOVE")

    async def invites_the_bot(self, guild: str) -> None:
        self.world.join(self.bot_user, guild)
        for session in self.gateway.sessions:
            if session.app is self.app and not session.dead:
                self.gateway.available(session, self.world.guilds[guild])

    async def throws_out_the_bot(self, guild: str = GUILD) -> None:
        del self.world.guilds[guild].members[self.bot_user]
        self.tell.guild_gone(self.world.guilds[guild], self.bot_user)

    # -- gestures: each returns once it was answered, or was not in time ---------------------------------------------

    async def slash(
        self, name: str, options: Mapping[str, Any] | None = None, user: str = "ann", channel: str = "general"
    ) -> Interaction:
        """A slash command, with group and subcommand as in "kotae help". Files as `File`s; people and others by id.

        Raises:
            LookupError: there is no such command or option here.
            ValueError: a required option is missing, one does not fit, or this person may not use it.
        """
        return await self.gestures.command(name, options or {}, self.person(user), self.place(channel))

    async def suggests(
        self, name: str, options: Mapping[str, Any], focused: str, user: str = "ann", channel: str = "general"
    ) -> list[Json]:
        """What is proposed while somebody types into the option `focused`."""
        made = await self.gestures.command(name, options, self.person(user), self.place(channel), focused)
        return made.choices

    async def menu(self, name: str, message: str, user: str = "ann") -> Interaction:
        """A command in the menu of a message. Raises LookupError and ValueError as `slash`."""
        return await self.gestures.menu(name, self.message(message, user), self.person(user))

    async def presses(self, user: str, message: str, what: str, chosen: Any = None, *, copies: int = 1) -> Interaction:
        """A button or menu, by custom_id, label or emoji; `copies`: so many presses at once, each its own.

        Raises:
            LookupError: the message has no such thing, or it is disabled.
        """
        found = self.message(message, user)
        data, named = gestures.pressed(found, what, chosen)
        sent = [self.gestures.press(self.person(user), found, data, named) for _ in range(copies)]
        return (await asyncio.gather(*sent))[0]

    async def forges(self, user: str, message: str, custom_id: str) -> Interaction:
        """A press of a button that is not there (any more): what an old client or a forger sends."""
        data = {"custom_id": custom_id, "component_type": 2, "id": 1}
        found = self.message(message, user)
        return await self.gestures.press(self.person(user), found, data, gestures.Named())

    def modal(self, user: str) -> Interaction:
        """The gesture whose modal this person has open; `.modal` is its body. Raises LookupError: there is none."""
        person = self.person(user).id
        for made in reversed(self.world.interactions.values()):
            if made.user == person and made.modal_open:
                return made
        raise LookupError(f"{user} has no modal open")

    async def submits(self, user: str, values: Mapping[str, Any] | None = None) -> Interaction:
        """Fills in the open modal by custom_id or label, and submits it; files as `File`s. It closes when answered.

        Raises:
            LookupError: there is no modal, or no such field.
            ValueError: something required is missing, or does not fit.
        """
        return await self.gestures.submit(self.person(user), self.modal(user), values or {})

    # -- looking and waiting ----------------------------------------------------------------------------------------

    def place(self, channel: str) -> Channel:
        """By id, or by name with or without `#`; threads too. Raises LookupError."""
        if channel in self.world.channels:
            return self.world.channels[channel]
        for each in self.world.channels.values():
            if each.kind != DM and each.name == channel.removeprefix("#"):
                return each
        raise LookupError(f"no channel {channel}")

    def person(self, user: str) -> User:
        """By id or by name. Raises LookupError."""
        for each in self.world.users.values():
            if user in (each.id, each.name):
                return each
        raise LookupError(f"nobody is called {user}")

    def message(self, message: str | int, user: str = "") -> Message:
        """By its id, deleted ones too; those only one person sees are found for that `user`. Raises LookupError."""
        found = self.world.messages.get(str(message))
        if found is None or (found.ephemeral_to and found.ephemeral_to != (user and self.person(user).id)):
            raise LookupError(f"no message {message}")
        return found

    def in_channel(self, channel: str) -> list[Message]:
        """All that stands in a channel, direct conversation or thread, oldest first."""
        return self.world.in_place(self.place(channel).id)

    def thread(self, message: str) -> list[Message]:
        """The messages in the thread of this message, or of this id, without Discord's own; [] while there is none."""
        if message not in self.world.channels:
            return []
        return [each for each in self.world.in_place(message) if each.type in PLAIN]

    def replies(self, message: str) -> list[Message]:
        """The bot's messages in the thread of this message or in reply to it, oldest first; not while "thinking"."""
        inside = [*self.thread(message), *self.world.in_place(self.message(message).channel)]
        return [
            each
            for each in {each.id: each for each in inside}.values()
            if each.author == self.bot_user
            and each.type in PLAIN
            and not each.loading
            and (each.channel == message or (each.reference or {}).get("message_id") == message)
        ]

    def posted(self, channel: str) -> list[Message]:
        """The bot's messages in a channel, direct conversation or thread, oldest first."""
        return [each for each in self.in_channel(channel) if each.author == self.bot_user and each.type in PLAIN]

    def whispers(self, user: str) -> list[Message]:
        """What only this person sees, oldest first."""
        person = self.person(user).id
        return [each for each in self.world.messages.values() if each.ephemeral_to == person and not each.deleted]

    async def connected(self, count: int = 1, timeout: float = 30.0) -> None:  # noqa: ASYNC109
        """Returns when so many connections have a session. Raises AssertionError."""
        await self.wait_for(lambda: len(self.gateway.live()) >= count, timeout)

    async def wait_for(self, look: Callable[[], T], timeout: float = 30.0) -> T:  # noqa: ASYNC109
        """Calls `look` whenever something happens, until what it returns is true, and returns that.

        Raises:
            AssertionError: it did not become true; it tells what the bot did say, and the last requests.
        """
        try:
            async with asyncio.timeout(timeout):
                while not (found := look()):
                    self._change.clear()
                    try:
                        async with asyncio.timeout(0.005):  # time alone, or the client, can make it true
                            await self._change.wait()
                    except TimeoutError:
                        continue
                return found
        except TimeoutError:
            raise AssertionError(f"not within {timeout} s\n{self.told()}") from None

    async def wait_for_replies(self, message: str, count: int = 1, timeout: float = 30.0) -> list[Message]:  # noqa: ASYNC109
        """The bot's replies to this message, once there are `count` of them."""
        await self.wait_for(lambda: len(self.replies(message)) >= count, timeout)
        return self.replies(message)

    async def wait_for_idle(self, quiet: float = 0.1, timeout: float = 30.0) -> None:  # noqa: ASYNC109
        """Returns when no request, event or gesture is under way, and none was for `quiet` seconds."""

        def idle() -> bool:
            still = time.monotonic() - max(self.server.last, self.gateway.last) >= quiet
            waiting = any(not each.finished.is_set() for each in self.world.interactions.values())
            return still and not self.server.busy and self.gateway.quiet and not waiting

        await self.wait_for(idle, timeout)

    async def heard(self, timeout: float = 30.0) -> None:  # noqa: ASYNC109
        """Returns when the clients have read all events until now, as their answer to a request for a heartbeat says."""
        wanted = {each: each.session.seq for each in self.gateway.live() if each.session is not None}
        for each in wanted:
            each.tell(HEARTBEAT)
        await self.wait_for(lambda: all(each.read >= seq or each.closing for each, seq in wanted.items()), timeout)

    def told(self) -> str:
        """All the bot said, and its last requests, for a failed test to show."""
        mine = [each for each in self.world.messages.values() if each.author == self.bot_user]
        said = [f"  {each.channel} {each.id} {each.shown!r}" for each in mine]
        asked = [f"  {each.route} {each.status} {each.code or each.fault}" for each in self.journal.entries[-20:]]
        return "\n".join(["said:", *said, "asked:", *asked])

    def _changed(self) -> None:
        self._change.set()
