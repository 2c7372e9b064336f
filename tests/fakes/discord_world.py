"""The server that Discord's fake keeps in memory: people, roles, channels, threads, messages, files and interactions.

It knows nothing of HTTP. Times are seconds of its clock, which a test may scale or advance; ids are snowflakes of it.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from tests.fakes import discord_rights as rights
from tests.fakes import discord_text as text
from tests.fakes.discord_rights import BITS, Member, Overwrite, Role
from tests.fakes.slack_world import Clock

Json = dict[str, Any]
TEXT, DM, VOICE, CATEGORY, ANNOUNCEMENT, PUBLIC_THREAD, PRIVATE_THREAD, STAGE, FORUM = 0, 1, 2, 4, 5, 11, 12, 13, 15
THREADS = frozenset({10, PUBLIC_THREAD, PRIVATE_THREAD})
SUPPRESS_EMBEDS, EPHEMERAL, LOADING, HAS_THREAD, V2 = 1 << 2, 1 << 6, 1 << 7, 1 << 5, 1 << 15
PLAIN = frozenset({0, 19, 20, 23})  # message types that people or apps write; the others are Discord's own
DISCORD_EPOCH = 1_420_070_400_000


@dataclass(slots=True)
class User:
    id: str
    name: str
    bot: bool = False
    system: bool = False
    locale: str = "en-US"
    display: str = ""
    takes_dms: bool = True


@dataclass(slots=True)
class Guild:
    """`id` is also that of its @everyone role."""

    id: str
    name: str
    owner: str
    roles: dict[str, Role] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)
    locale: str = "en-US"


@dataclass(slots=True)
class Channel:
    """A channel, a direct conversation (`guild` is "") or a thread (`parent` is its channel)."""

    id: str
    name: str
    kind: int = TEXT
    guild: str = ""
    topic: str = ""
    overwrites: dict[str, Overwrite] = field(default_factory=dict)
    people: set[str] = field(default_factory=set)  # of a direct conversation, or who joined a thread
    tags: dict[str, str] = field(default_factory=dict)  # of a forum: id -> name
    requires_tag: bool = False
    parent: str = ""
    owner: str = ""
    archived: bool = False
    locked: bool = False
    auto_archive: int = 1440
    stirred: float = 0.0  # when it was made, archived or unarchived
    applied_tags: list[str] = field(default_factory=list)
    slowmode: int = 0

    @property
    def thread(self) -> bool:
        return self.kind in THREADS


@dataclass(slots=True)
class Message:
    id: str
    channel: str
    author: str
    content: str = ""
    type: int = 0
    components: list[Json] = field(default_factory=list)
    embeds: list[Json] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    reference: Json | None = None
    flags: int = 0
    nonce: str = ""
    allowed_mentions: Json | None = None
    pings: list[str] = field(default_factory=list)  # user ids, "&" + role id, "everyone", "here"
    reactions: dict[str, list[str]] = field(default_factory=dict)
    edited: float | None = None
    deleted: bool = False
    ephemeral_to: str = ""
    interaction: str = ""  # the token of the interaction it answers
    webhook: str = ""  # the id of the webhook that wrote it, which is no member
    history: list[str] = field(default_factory=list)  # what it showed before each edit

    @property
    def shown(self) -> str:
        """The text people read: content, text displays and embeds; without buttons and file names."""
        return text.shown(self.content, self.components, self.embeds)

    @property
    def mentions(self) -> list[str]:
        """What pinged when it was written: `pings`."""
        return self.pings

    @property
    def named(self) -> list[str]:
        """What reads as a mention, pinging or not: `@U`, `@&R`, `@everyone`, `@here`, `#C`, `/command`."""
        return text.named(self.content, self.components, self.embeds)

    @property
    def urls(self) -> list[str]:
        """What can be clicked or would be fetched."""
        return text.links(self.content, self.components, self.embeds)

    @property
    def previews(self) -> list[str]:
        """The addresses Discord would fetch to show a preview: none with SUPPRESS_EMBEDS or in `<…>`."""
        return [] if self.flags & (SUPPRESS_EMBEDS | V2) else text.previewed(self.content)

    @property
    def buttons(self) -> dict[str, str]:
        """custom_id -> label or emoji of what can be pressed."""
        return {each["custom_id"]: text.label(each) for each in text.interactive(self.components)}

    @property
    def loading(self) -> bool:
        return bool(self.flags & LOADING)


@dataclass(slots=True)
class File:
    """An upload. `serves` says what its URL does; `claimed` is the size it is said to have (None: the true one)."""

    id: str
    name: str
    content: bytes
    user: str = ""
    mimetype: str = ""
    serves: Literal["it", "page", "redirect", "endless", "cut", "missing", "hang"] = "it"
    redirect: str = ""
    claimed: int | None = None
    channel: str = ""
    ephemeral: bool = False
    made: float = 0.0


@dataclass(slots=True)
class App:
    """An installed app and its bot. `intents`: the privileged ones granted in its portal; `commandless`: the guilds
    into which it was invited without the scope applications.commands; `shards`: connections that are proposed, and with
    `sharded` required; `concurrency`: buckets of shards in which sessions may be begun at once."""

    id: str
    user: str
    token: str
    name: str
    intents: int
    public: bool = False
    revoked: bool = False
    commands: dict[str, Json] = field(default_factory=dict)
    identified: list[float] = field(default_factory=list)
    commandless: set[str] = field(default_factory=set)
    shards: int = 1
    sharded: bool = False
    concurrency: int = 1
    begun: dict[int, float] = field(default_factory=dict)  # by bucket, when the last session was


@dataclass(slots=True, eq=False)
class Interaction:
    """One gesture, and what the app made of it. `answer` is the callback's type, 0 while there is none."""

    id: str
    token: str
    type: int
    app: App
    user: str
    channel: str
    made: float
    payload: Json = field(default_factory=dict)
    name: str = ""  # of the command
    source: str = ""  # the message a pressed component is on
    parent: "Interaction | None" = None  # that opened the modal
    answer: int = 0
    latency: float = 0.0  # real seconds to the answer
    original: str = ""  # the message that answers it
    deferred: bool = False  # the message is still "thinking"
    modal: Json | None = None
    modal_open: bool = False
    choices: list[Json] = field(default_factory=list)
    followups: list[str] = field(default_factory=list)
    sent: float = field(default_factory=time.monotonic)
    finished: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def failed(self) -> bool:
        """People were told that the application did not respond."""
        return self.finished.is_set() and not self.answer


class World:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.users: dict[str, User] = {}
        self.guilds: dict[str, Guild] = {}
        self.channels: dict[str, Channel] = {}
        self.messages: dict[str, Message] = {}
        self.files: dict[str, File] = {}
        self.interactions: dict[str, Interaction] = {}  # by token
        self.typing: dict[tuple[str, str], float] = {}  # channel and user -> when
        self.answer_seconds = 3.0  # Source: interactions/receiving-and-responding
        self.token_seconds = 900.0  # Source: the same
        self.nonce_seconds = 180.0  # "the past few minutes"; how many is not documented
        self.upload_limit = 10 * 2**20  # Source: reference, uploading files
        self.changed: Callable[[], None] = lambda: None
        self._born = time.time()
        self._last = 0

    # -- making things ----------------------------------------------------------------------------------------------

    def wall(self) -> float:
        """Seconds since 1970, by this world's clock."""
        return self._born + self.clock.now()

    def new_id(self) -> str:
        """A snowflake, strictly rising."""
        self._last = max((int(self.wall() * 1000) - DISCORD_EPOCH) << 22, self._last + 1)
        return str(self._last)

    def add_user(self, name: str, *, id: str = "", guilds: Iterable[str] | None = None, **more: Any) -> User:
        """A member of `guilds` (None: of all). `bot`, `locale`, `display`, `takes_dms` as in `User`."""
        user = User(id or self.new_id(), name, **more)
        self.users[user.id] = user
        for guild in self.guilds if guilds is None else guilds:
            self.join(user.id, guild)
        self.changed()
        return user

    def add_guild(self, name: str, *, id: str = "", owner: str = "") -> Guild:
        guild = Guild(id or self.new_id(), name, owner)
        guild.roles[guild.id] = Role(guild.id, "@everyone", rights.MEMBER)
        self.guilds[guild.id] = guild
        return guild

    def join(self, user: str, guild: str, *, roles: Iterable[str] = ()) -> Member:
        joined = datetime.fromtimestamp(self.wall(), UTC).isoformat()
        made = Member(user, set(roles), joined=joined)
        self.guilds[guild].members[user] = made
        return made

    def add_role(self, name: str, *permissions: str, guild: str = "", members: Iterable[str] = (), **more: Any) -> Role:
        """In `guild` (""; the first). `mentionable`, `bot_id`, `id` as in `Role`."""
        home = self.guilds[guild] if guild else next(iter(self.guilds.values()))
        identity = more.pop("id", "") or self.new_id()
        role = Role(identity, name, rights.bits(permissions), position=len(home.roles), **more)
        home.roles[role.id] = role
        for user in members:
            home.members[user].roles.add(role.id)
        return role

    def add_channel(
        self, name: str, *, id: str = "", guild: str = "", only: Iterable[str] | None = None, **more: Any
    ) -> Channel:
        """In `guild` ("": the first). `only`: private to these users and roles. `kind`, `tags`, … as in `Channel`."""
        home = guild or next(iter(self.guilds))
        channel = Channel(id or self.new_id(), name, guild=home, **more)
        self.channels[channel.id] = channel
        if only is not None:
            self.deny(channel.id, "view_channel", who=home)
            for each in only:
                self.allow(channel.id, "view_channel", who=each)
        return channel

    def allow(self, channel: str, *permissions: str, who: str) -> None:
        """An overwrite for a role or a user; takes back what was denied."""
        found = self._overwrite(channel, who)
        found.allow |= rights.bits(permissions)
        found.deny &= ~found.allow

    def deny(self, channel: str, *permissions: str, who: str) -> None:
        found = self._overwrite(channel, who)
        found.deny |= rights.bits(permissions)
        found.allow &= ~found.deny

    def _overwrite(self, channel: str, who: str) -> Overwrite:
        place = self.channels[channel]
        kind = 0 if who in self.guilds[place.guild].roles else 1
        return place.overwrites.setdefault(who, Overwrite(who, kind))

    def add_file(self, name: str, content: bytes, user: str = "", **more: Any) -> File:
        """`serves`, `redirect`, `claimed` and `mimetype` as in `File`."""
        made = File(self.new_id(), name, content, user, made=self.wall(), **more)
        self.files[made.id] = made
        return made

    def dm(self, *people: str) -> Channel:
        """The direct conversation of these two, made when it is new."""
        for channel in self.channels.values():
            if channel.kind == DM and channel.people == set(people):
                return channel
        made = Channel(self.new_id(), "", DM, people=set(people))
        self.channels[made.id] = made
        return made

    def post(self, channel: str, author: str, *, id: str = "", **more: Any) -> Message:
        made = Message(id or self.new_id(), channel, author, **more)
        self.messages[made.id] = made
        for file in made.files:
            self.files[file].channel = channel
        if self.channels[channel].thread:
            self.channels[channel].people.add(author)
        self.typing.pop((channel, author), None)  # a message ends it
        self.changed()
        return made

    def add_thread(self, parent: Channel, name: str, owner: str, *, id: str = "", **more: Any) -> Channel:
        kind = more.pop("kind", 10 if parent.kind == ANNOUNCEMENT else PUBLIC_THREAD)
        made = Channel(
            id or self.new_id(), name, kind, parent.guild, parent=parent.id, owner=owner, people={owner}, **more
        )
        made.stirred = self.wall()
        self.channels[made.id] = made
        return made

    # -- looking at them --------------------------------------------------------------------------------------------

    def in_place(self, channel: str) -> list[Message]:
        """What stands in a channel or thread, oldest first; without what only one person sees."""
        return [
            each
            for each in self.messages.values()
            if each.channel == channel and not each.deleted and not each.ephemeral_to
        ]

    def have_met(self, *people: str) -> bool:
        """Whether there is a server that they all are in: else Discord lets nobody write to the other."""
        return any(each.members.keys() >= set(people) for each in self.guilds.values())

    def permissions(self, user: str, channel: Channel | None, guild: str = "") -> int:
        """Of somebody in a channel, or in the whole guild; 0 for those who are not there. Who was added to a private
        thread makes no difference here: `may` knows."""
        if channel is not None and channel.kind == DM:
            return rights.ALL & ~BITS["manage_messages"] if user in channel.people else 0
        home = self.guilds.get(channel.guild if channel else guild)
        member = home.members.get(user) if home else None
        if home is None or member is None:
            return 0
        base = rights.in_guild(member, home.roles, home.id, owner=home.owner == user)
        if channel is None:
            return base
        holder = self.channels.get(channel.parent, channel) if channel.thread else channel
        return rights.in_channel(base, member, home.id, holder.overwrites, thread=channel.thread)

    def may(self, user: str, channel: Channel, permission: str) -> bool:
        """Nothing in a private thread for whom it does not show, nor beside a voice channel for whom may not join it.
        Source: topics/threads, permissions; resources/message (CONNECT)."""
        granted = self.permissions(user, channel)
        if channel.kind in (VOICE, STAGE) and not granted & BITS["connect"]:
            return False
        hidden = channel.kind == PRIVATE_THREAD and user not in channel.people
        return bool(granted & BITS[permission]) and not (hidden and not granted & BITS["manage_threads"])

    def is_typing(self, channel: str, user: str) -> bool:
        """A typing indicator shows for ten seconds. Source: resources/channel, trigger typing indicator."""
        begun = self.typing.get((channel, user))
        return begun is not None and self.clock.now() - begun < 10

    def pinged(self, author: str, channel: Channel, content: str, components: list[Json], **more: Any) -> list[str]:
        """Whom a message of this author pings here. `allowed` and `replied` as in `discord_text.pings`."""
        home = self.guilds.get(channel.guild)
        everyone = home is not None and self.may(author, channel, "mention_everyone")
        roles = {each.id for each in home.roles.values() if everyone or each.mentionable} if home else set()
        return text.pings(content, components, everyone=everyone, roles=roles, users=set(self.users), **more)
