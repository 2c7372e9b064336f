"""The workspace that Slack's fake keeps in memory: people, channels, messages, files, views and what expires.

It knows nothing of HTTP. Times are seconds of its clock, which a test may scale or advance.
"""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.fakes.slack_text import links, loose_domains, pings, pressable, shown, streamed

Json = dict[str, Any]
Kind = Literal["public", "private", "im", "mpim"]
TEAM, OTHER_TEAM, ORGANISATION = "T0TEAM", "T0OTHER", "E0ORG"
_EPOCH = 1_790_000_000


class Clock:
    """Seconds that run `scale` times as fast as real ones, and jump by `advance`."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self._ahead = 0.0
        self._born = time.monotonic()

    def now(self) -> float:
        return (time.monotonic() - self._born) * self.scale + self._ahead

    def advance(self, seconds: float) -> None:
        self._ahead += seconds


@dataclass(slots=True)
class User:
    id: str
    name: str
    kind: Literal["member", "admin", "guest", "restricted", "bot", "stranger", "deleted"] = "member"
    team: str = TEAM
    locale: str = "en-US"
    tz: str = "Asia/Tokyo"
    bot_id: str = ""
    app_id: str = ""
    teams: tuple[str, ...] = ()  # of an Enterprise Grid; `team` is one of them then, or "" where Slack names none

    def as_json(self) -> Json:
        """As users.info shows it. Only people of another workspace have `is_stranger`; who has left has little else.

        Of a Grid: lookerbot issue 184 and slack-morphism-rust PR 215 (no `team_id`), bolt-js issue 1875 (the same one,
        whichever of their workspaces asks).
        """
        if self.kind == "deleted":
            left = {"real_name": self.name.title(), "display_name": "", "team": self.team}
            return {"id": self.id, "team_id": self.team, "name": self.name, "deleted": True, "profile": left} | {
                "is_bot": False,
                "is_app_user": False,
                "updated": _EPOCH,
                "locale": self.locale,
            }
        person: Json = {
            "id": self.id,
            "team_id": self.team,
            "name": self.name,
            "deleted": False,
            "real_name": self.name.title(),
            "tz": self.tz,
            "is_admin": self.kind == "admin",
            "is_owner": False,
            "is_primary_owner": False,
            "is_restricted": self.kind in ("guest", "restricted"),
            "is_ultra_restricted": self.kind == "guest",
            "is_bot": self.kind == "bot",
            "is_app_user": False,
            "locale": self.locale,
            "updated": _EPOCH,
            "profile": {"display_name": self.name, "real_name": self.name.title(), "team": self.team},
        }
        if self.kind == "stranger":
            person["is_stranger"] = True
        if self.teams:
            grid = {"id": self.id, "enterprise_id": ORGANISATION, "enterprise_name": "Organisation"}
            person["enterprise_user"] = grid | {"is_admin": False, "is_owner": False, "teams": [*self.teams]}
            if not self.team:
                del person["team_id"]
        if self.bot_id:
            person["profile"] |= {"bot_id": self.bot_id, "api_app_id": self.app_id}
        return person


@dataclass(slots=True)
class Channel:
    id: str
    name: str
    kind: Kind = "public"
    members: set[str] = field(default_factory=set)
    archived: bool = False
    ext_shared: bool = False

    @property
    def type(self) -> str:
        """As events name it in `channel_type`."""
        return {"public": "channel", "private": "group", "im": "im", "mpim": "mpim"}[self.kind]

    def as_json(self, viewer: str) -> Json:
        common: Json = {
            "id": self.id,
            "created": _EPOCH,
            "is_archived": self.archived,
            "is_im": self.kind == "im",
            "is_mpim": self.kind == "mpim",
            "is_private": self.kind != "public",
            "is_ext_shared": self.ext_shared,
            "is_shared": self.ext_shared,
            "is_org_shared": False,
            "context_team_id": TEAM,
        }
        if self.kind == "im":
            return common | {"user": next(iter(self.members - {viewer}), viewer), "is_open": True}
        return common | {
            "name": self.name,
            "is_channel": self.kind == "public",
            "is_group": self.kind == "private",
            "is_member": viewer in self.members,
            "is_general": self.name == "general",
        }


@dataclass(slots=True)
class Stream:
    """What chat.startStream opened. `mode` is fixed by the first content: text or chunks, never both."""

    opened: float
    display: str = "timeline"
    mode: str = ""
    ended: Literal["", "stopped", "expired", "user"] = ""
    parts: list[Json] = field(default_factory=list)  # text, tasks (merged by id), blocks: as they first came
    plan: str = ""


@dataclass(slots=True)
class Message:
    ts: str
    channel: str
    user: str
    text: str = ""
    blocks: list[Json] = field(default_factory=list)
    thread: str = ""  # the parent's ts; "" at the top level
    metadata: Json | None = None
    bot_id: str = ""
    app_id: str = ""
    subtype: str = ""
    files: list[str] = field(default_factory=list)
    attachments: list[Json] = field(default_factory=list)
    edited: str = ""
    deleted: bool = False
    ephemeral_to: str = ""
    parse: str = ""
    link_names: bool = False
    markdown: str = ""
    unfurl_links: bool | None = None
    unfurl_media: bool | None = None
    stream: Stream | None = None
    reactions: dict[str, list[str]] = field(default_factory=dict)
    history: list[str] = field(default_factory=list)  # what it showed before each edit
    team: str = TEAM

    @property
    def streaming(self) -> bool:
        return self.stream is not None and not self.stream.ended

    @property
    def shown(self) -> str:
        """The plain text a person sees: of the stream's parts, then of the blocks, else the text."""
        return shown(self._parts(), self.text, self.markdown)

    @property
    def mentions(self) -> list[str]:
        """What Slack would turn into a ping, such as `U1`, `channel`, `subteam^S1`."""
        return pings(self._parts(), self.text, self.markdown, by_name=self.link_names or self.parse == "full")

    @property
    def urls(self) -> list[str]:
        """What Slack would make a link of, or could unfurl."""
        return links(self._parts(), self.text, self.markdown)

    @property
    def domains(self) -> list[str]:
        """Bare names such as `notes.md` that Slack links too when it parses the text (not with `parse=none`)."""
        return loose_domains(self._parts(), self.text, self.markdown, unparsed=self.parse == "none")

    @property
    def actions(self) -> list[str]:
        """The action ids of what can be pressed."""
        return pressable(self.blocks)

    def _parts(self) -> list[Json]:
        streamed = self.stream.parts if self.stream else []
        plan = [{"type": "plan", "title": self.stream.plan}] if self.stream and self.stream.plan else []
        return [*plan, *streamed, *self.blocks]


@dataclass(slots=True)
class File:
    """An upload. `serves` says what its URL does; `claimed` is the size it is said to have (None: the true one)."""

    id: str
    name: str
    content: bytes
    user: str
    mimetype: str = "application/octet-stream"
    channels: list[str] = field(default_factory=list)
    serves: Literal["it", "login", "redirect", "endless", "cut", "missing", "hang"] = "it"
    redirect: str = ""
    claimed: int | None = None
    title: str = ""
    deleted: bool = False
    uploaded: bool = True
    elsewhere: bool = False  # from another workspace: messages have its id only


@dataclass(slots=True)
class View:
    id: str
    user: str
    body: Json
    hash: str
    app_id: str
    root: str
    closed: bool = False


@dataclass(slots=True)
class Status:
    text: str
    set_at: float
    loading: tuple[str, ...] = ()


@dataclass(slots=True)
class Session:
    """An agent's session in a thread: Slack shows that it works while it is "processing"."""

    status: str
    set_at: float
    title: str = ""
    initiator: str = ""


@dataclass(slots=True)
class ResponseUrl:
    """Where an answer to a gesture may go: at most 5 times within 30 minutes. Source: docs.slack.dev, interactivity."""

    made: float
    user: str
    channel: str
    app: str
    message: str = ""
    uses: int = 0


@dataclass(slots=True)
class App:
    """An installed app. The tests' own one is the first; others can be installed beside it."""

    id: str
    bot_user: str
    bot_id: str
    bot_token: str
    app_token: str
    scopes: set[str]
    revoked: bool = False

    @property
    def agent(self) -> bool:
        """Whether it is declared as one, by which it has this scope. Source: docs.slack.dev/ai/agent-sessions"""
        return "assistant:write" in self.scopes


class World:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.users: dict[str, User] = {}
        self.channels: dict[str, Channel] = {}
        self.messages: dict[tuple[str, str], Message] = {}
        self.by_ts: dict[str, Message] = {}
        self._threads: dict[tuple[str, str], list[Message]] = {}
        self.files: dict[str, File] = {}
        self.views: dict[str, View] = {}
        self.homes: dict[tuple[str, str], View] = {}  # by app and user
        self.statuses: dict[tuple[str, str], Status] = {}
        self.sessions: dict[tuple[str, str], Session] = {}
        self.prompts: dict[tuple[str, str], Json] = {}
        self.titles: dict[tuple[str, str], str] = {}
        self.triggers: dict[str, tuple[float, str]] = {}  # when made, and for whom
        self.redeemed: set[str] = set()
        self.response_urls: dict[str, ResponseUrl] = {}
        self.stream_seconds = 300.0  # Source: node-slack-sdk #2702: about 5 minutes, whatever is appended
        self.trigger_seconds = 3.0  # Source: docs.slack.dev, interactivity; and one use
        self.processing_seconds = 3_600.0  # Source: docs.slack.dev/ai/agent-sessions
        self.status_seconds = 120.0  # Source: docs.slack.dev, assistant.threads.setStatus
        self.changed: Callable[[], None] = lambda: None
        self._count = itertools.count(1)
        self._last = 0.0

    # -- making things ----------------------------------------------------------------------------------------------

    def add_user(self, id: str, name: str = "", **more: Any) -> User:
        """`kind`: member, admin, restricted (multi-channel guest), guest (single-channel), bot, stranger, deleted."""
        if more.get("kind") == "stranger":
            more.setdefault("team", OTHER_TEAM)
        if more.get("kind") == "bot":
            more.setdefault("bot_id", f"B{id[1:]}")
        self.users[id] = User(id, name or id.lower(), **more)
        return self.users[id]

    def add_channel(self, id: str, name: str = "", *, members: Iterable[str] = (), **more: Any) -> Channel:
        """`kind`: public, private, im, mpim; also `archived` and `ext_shared`."""
        self.channels[id] = Channel(id, name or id.lower(), members=set(members), **more)
        return self.channels[id]

    def add_file(self, name: str, content: bytes, user: str, **more: Any) -> File:
        """`serves`, `redirect` and `claimed` as in `File`."""
        made = File(self.new_id("F"), name, content, user, **more)
        self.files[made.id] = made
        return made

    def im(self, *people: str) -> Channel:
        """The direct conversation of these people, made when it is new."""
        wanted: Kind = "im" if len(people) == 2 else "mpim"
        for channel in self.channels.values():
            if channel.kind == wanted and channel.members == set(people):
                return channel
        return self.add_channel(self.new_id("D" if wanted == "im" else "G"), "", kind=wanted, members=people)

    def new_id(self, letter: str) -> str:
        return f"{letter}0{next(self._count):07d}"

    def new_ts(self) -> str:
        """Strictly rising, microseconds apart at least, as Slack's are unique within a channel."""
        now = max(round(_EPOCH + self.clock.now(), 6), self._last + 0.000_001)
        self._last = round(now, 6)
        return f"{self._last:.6f}"

    def new_trigger(self, user: str) -> str:
        made = f"{next(self._count)}.{next(self._count)}.trigger"
        self.triggers[made] = self.clock.now(), user
        return made

    def post(self, channel: str, user: str, **more: Any) -> Message:
        made = Message(self.new_ts(), channel, user, **more)
        self.messages[channel, made.ts] = self.by_ts[made.ts] = made
        if made.thread:
            self._threads.setdefault((channel, made.thread), []).append(made)
        for file in made.files:
            self.files[file].channels.append(channel)
        if made.thread and not made.ephemeral_to:
            self.statuses.pop((channel, made.thread), None)  # a message ends the status
        self.changed()
        return made

    def session(self, channel: str, thread: str, status: str, title: str = "", initiator: str = "") -> "Session":
        """Sets a session's status. Title and initiator are those with which it is made."""
        found = self.sessions.setdefault((channel, thread), Session("active", 0.0, title, initiator))
        found.status, found.set_at = status, self.clock.now()
        self.changed()
        return found

    # -- looking at them --------------------------------------------------------------------------------------------

    def message(self, channel: str, ts: str) -> Message | None:
        found = self.messages.get((channel, ts))
        if found is None or found.deleted or found.ephemeral_to:
            return None
        self.age(found)
        return found

    def age(self, message: Message) -> None:
        """Slack ends a stream some minutes after its start, whatever is appended."""
        stream = message.stream
        if stream and not stream.ended and self.clock.now() - stream.opened > self.stream_seconds:
            stream.ended = "expired"
            if (message.channel, message.thread) in self.sessions:
                self.session(message.channel, message.thread, "active")

    def thread(self, channel: str, ts: str) -> list[Message]:
        """The replies everybody sees, oldest first; without the parent."""
        found = [each for each in self._threads.get((channel, ts), ()) if not each.deleted and not each.ephemeral_to]
        for each in found:
            self.age(each)
        return found

    def roots(self, channel: str) -> list[Message]:
        """What stands in a channel itself, also what is left of a deleted message whose replies are there."""
        found = [each for each in self.messages.values() if each.channel == channel and not each.thread]
        shown = (
            each for each in found if not each.ephemeral_to and (not each.deleted or self.thread(channel, each.ts))
        )
        return sorted(shown, key=lambda each: each.ts)

    def visible(self, channel: str) -> Iterator[Message]:
        for each in list(self.messages.values()):
            if each.channel == channel and not each.deleted and not each.ephemeral_to:
                self.age(each)
                yield each

    def status(self, channel: str, thread: str) -> str:
        found = self.statuses.get((channel, thread))
        if found is None or self.clock.now() - found.set_at > self.status_seconds:
            return ""
        return found.text

    @property
    def processing(self) -> set[tuple[str, str]]:
        """Threads that show for an hour that the app is at work, until it ends its stream or its status: neither a post
        nor a reader who stops it does. Source: docs.slack.dev/ai/agent-sessions, agent_session_stopped"""
        since = self.clock.now() - self.processing_seconds
        return {place for place, each in self.sessions.items() if each.status == "processing" and each.set_at >= since}

    @property
    def names(self) -> dict[tuple[str, str], str]:
        """What conversations with the app are called, by channel and thread."""
        return self.titles | {place: each.title for place, each in self.sessions.items() if each.title}

    # -- as the API shows them --------------------------------------------------------------------------------------

    def as_json(self, message: Message, *, metadata: bool = False, base: str = "") -> Json:
        """As conversations.replies and events show a message."""
        told: Json = {"type": "message", "user": message.user, "text": message.text, "ts": message.ts}
        told["team"] = message.team
        if message.subtype:
            told["subtype"] = message.subtype
        if message.subtype == "bot_message":
            del told["user"]
        if message.bot_id:
            told |= {"bot_id": message.bot_id, "app_id": message.app_id, "bot_profile": self._profile(message)}
        if message.stream:
            told["streaming_state"] = "in_progress" if message.streaming else "completed"
            told["text"] = message.text or message.shown
        if message.blocks or message.stream:
            stream = message.stream
            told["blocks"] = [*(streamed(stream.parts, stream.plan, stream.display) if stream else ()), *message.blocks]
        if message.files:
            told["files"] = [self._attached(self.files[each], base) for each in message.files]
        if message.attachments:
            told["attachments"] = message.attachments
        if message.edited:
            told["edited"] = {"user": message.user, "ts": message.edited}
        if message.reactions:
            told["reactions"] = [
                {"name": name, "users": users, "count": len(users)} for name, users in message.reactions.items()
            ]
        if metadata and message.metadata:
            told["metadata"] = message.metadata
        replies = self.thread(message.channel, message.ts) if not message.thread else []
        if message.thread:
            parent = self.messages.get((message.channel, message.thread))
            told |= {"thread_ts": message.thread, "parent_user_id": parent.user if parent else ""}
        elif replies:
            told |= {
                "thread_ts": message.ts,
                "reply_count": len(replies),
                "reply_users": sorted({each.user for each in replies}),
                "latest_reply": replies[-1].ts,
            }
        return told

    def _profile(self, message: Message) -> Json:
        name = self.users[message.user].name if message.user in self.users else "bot"
        return {"id": message.bot_id, "app_id": message.app_id, "name": name, "team_id": message.team}

    def _attached(self, file: File, base: str) -> Json:
        if file.elsewhere:
            return {"id": file.id, "mode": "file_access", "file_access": "check_file_info"}
        return self.file_json(file, base)

    def file_json(self, file: File, base: str = "") -> Json:
        told: Json = {
            "id": file.id,
            "created": _EPOCH,
            "name": file.name,
            "title": file.title or file.name,
            "mimetype": file.mimetype,
            "filetype": file.name.rpartition(".")[2],
            "user": file.user,
            "size": len(file.content) if file.claimed is None else file.claimed,
            "mode": "hosted",
            "is_external": False,
            "channels": [each for each in file.channels if each.startswith("C")],
            "groups": [each for each in file.channels if each.startswith("G")],
            "ims": [each for each in file.channels if each.startswith("D")],
            "file_access": "visible",
        }
        for name in ("url_private", "url_private_download"):
            told[name] = f"{base}/files-pri/{TEAM}-{file.id}/{'download/' if 'download' in name else ''}{file.name}"
        return told
