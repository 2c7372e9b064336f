"""Discord's gateway: sessions that outlive their connections, events numbered and kept, and every way to hang up.

An event goes to each session whose shard, intents and rights cover it, and waits there while nobody is connected.
Source: discord-api-docs, events/gateway (sharding, max concurrency, session start limit);
topics/opcodes-and-status-codes (close codes).
"""

import asyncio
import json
import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.fakes.discord_payloads import CONTENT_INTENT, MEMBERS_INTENT, PRESENCE_INTENT, Payloads
from tests.fakes.discord_world import App, Guild, World

Json = dict[str, Any]
Frame = tuple[int, str]  # its number and its text
PRIVILEGED = CONTENT_INTENT | MEMBERS_INTENT | PRESENCE_INTENT
KNOWN_INTENTS = (1 << 26) - 1
GUILDS, MEMBERS = 1 << 0, MEMBERS_INTENT
DISPATCH, HEARTBEAT, RECONNECT, CHUNK, INVALID, HELLO, ACK = 0, 1, 7, 8, 9, 10, 11
_NOT_RESUMABLE = frozenset({1000, 1001})  # a client that closes with these gives its session up
REASONS = {
    4000: "Unknown error.",
    4001: "Unknown opcode.",
    4002: "Decode error.",
    4003: "Not authenticated.",
    4004: "Authentication failed.",
    4005: "Already authenticated.",
    4007: "Invalid sequence.",
    4008: "Rate limited.",
    4009: "Session timed out.",
    4010: "Invalid shard.",
    4011: "Sharding required.",
    4012: "Invalid API version.",
    4013: "Invalid intents.",
    4014: "Disallowed intents.",
}


@dataclass
class Rules:
    """What a test may change. Times in real seconds, but `identify_seconds` and the day in those of the clock."""

    heartbeat: float = 41.25
    hello: bool = True  # False: connections open and HELLO never comes
    frames: int = 120  # a connection may send in 60 seconds
    identifies: int = 1000  # a day; one more, and the token is reset
    identify_seconds: float = 0.0  # between two IDENTIFY of a bucket; Discord: 5. Tests start bots anew at once
    overlap: int = 0  # so many events are sent again at a RESUME that the client already had
    status: int = 0  # of HTTP, with which connections are refused
    ready: bool = True  # False: IDENTIFY is never answered
    copies: int = 1  # how often each event comes


@dataclass(eq=False)
class Session:
    id: str
    app: App
    intents: int
    shard: int = 0
    shards: int = 1
    seq: int = 0
    frames: list[Frame] = field(default_factory=list)
    connection: "Connection | None" = None
    dead: bool = False
    resumed: int = 0

    def covers(self, intent: int) -> bool:
        return not intent or bool(self.intents & intent)

    @property
    def content(self) -> bool:
        return bool(self.intents & CONTENT_INTENT)

    def serves(self, guild: str | None) -> bool:
        """What is of no server is the first shard's. Source: events/gateway, sharding formula."""
        return (int(guild) >> 22 if guild else 0) % self.shards == self.shard

    def dispatch(self, name: str, data: Json) -> None:
        """Numbers an event and keeps it; it goes out at once where somebody listens."""
        self.seq += 1
        text = json.dumps({"op": DISPATCH, "t": name, "s": self.seq, "d": data}, ensure_ascii=False)
        self.frames.append((self.seq, text))
        if self.connection is not None:
            self.connection.outbox.put_nowait(text)


@dataclass(eq=False)
class Connection:
    ws: web.WebSocketResponse
    request: web.Request
    session: Session | None = None
    deaf: bool = False  # half open: nothing is answered, nothing sent arrives
    outbox: "asyncio.Queue[str | int]" = field(default_factory=asyncio.Queue)  # a number: close with it
    sent: deque[float] = field(default_factory=deque)  # when the client sent a frame
    beat: float = field(default_factory=time.monotonic)
    beats: int = 0
    read: int = 0  # the number of the last event that the client has, as its last heartbeat said
    closing: bool = False

    def tell(self, op: int, data: Any = None) -> None:
        self.outbox.put_nowait(json.dumps({"op": op, "t": None, "s": None, "d": data}))

    def close(self, code: int) -> None:
        self.outbox.put_nowait(code)


class Gateway:
    def __init__(self, world: World, payloads: Payloads, apps: list[App], changed: Callable[[], None]) -> None:
        self.rules = Rules()
        self.sessions: list[Session] = []
        self.connections: list[Connection] = []
        self.identified = 0  # IDENTIFY ever accepted
        self.resumed = 0
        self.closed: list[int] = []  # the codes this end closed with
        self.left: list[int | None] = []  # the codes clients closed with; None: without a word
        self.received: list[Json] = []  # every frame but heartbeats
        self.address = ""
        self.last = time.monotonic()  # when something was sent
        self._world = world
        self._payloads = payloads
        self._apps = apps
        self._changed = changed

    # -- a connection -----------------------------------------------------------------------------------------------

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if self.rules.status:
            return web.Response(status=self.rules.status)
        ws = web.WebSocketResponse(timeout=1.0)
        await ws.prepare(request)
        connection = Connection(ws, request)
        self.connections.append(connection)
        writing = asyncio.create_task(self._write(connection))
        try:
            if request.query.get("v") != "10" or request.query.get("encoding", "json") != "json":
                connection.close(4012)
            elif self.rules.hello:
                connection.tell(HELLO, {"heartbeat_interval": int(self.rules.heartbeat * 1000)})
            await self._listen(connection)
        finally:
            self._gone(connection)
            if not connection.closing:
                writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            self._changed()
        return ws

    async def _write(self, connection: Connection) -> None:
        while True:
            text = await connection.outbox.get()
            if connection.deaf:
                continue
            if isinstance(text, int):
                self.closed.append(text)
                connection.closing = True
                await connection.ws.close(code=text, message=REASONS.get(text, "").encode())
                return
            try:
                await connection.ws.send_str(text)
            except ConnectionError:
                return
            self.last = time.monotonic()
            self._changed()

    async def _listen(self, connection: Connection) -> None:
        while not connection.ws.closed:
            patience = connection.beat + 2 * self.rules.heartbeat - time.monotonic()
            try:
                frame = await connection.ws.receive(timeout=max(0.01, patience))
            except TimeoutError:
                if not connection.deaf:
                    connection.close(4009)
                connection.beat = time.monotonic() + 3600
                continue
            if frame.type is not WSMsgType.TEXT:
                return
            if connection.deaf:
                continue
            code = self._take(connection, frame.data)
            if code:
                connection.close(code)
            self._changed()

    def _gone(self, connection: Connection) -> None:
        if connection not in self.connections:
            return
        self.connections.remove(connection)
        code = None if connection.closing else connection.ws.close_code
        if not connection.closing:
            self.left.append(code)
        session = connection.session
        if session is not None and session.connection is connection:
            session.connection = None
            session.dead = session.dead or code in _NOT_RESUMABLE

    def _take(self, connection: Connection, text: str) -> int:
        """A frame of the client; the code to close with, or 0."""
        now = self._world.clock.now()
        connection.sent.append(now)
        while now - connection.sent[0] >= 60:
            connection.sent.popleft()
        if len(connection.sent) > self.rules.frames:
            return 4008
        if len(text.encode()) > 4096:
            return 4002
        try:
            frame = json.loads(text)
            op, data = frame["op"], frame.get("d")
        except (ValueError, TypeError, KeyError):
            return 4002
        if op == HEARTBEAT:
            connection.beat = time.monotonic()
            connection.beats += 1
            connection.read = data or 0
            connection.tell(ACK)
            return 0
        self.received.append(frame)
        match op:
            case 2:
                return self._identify(connection, data)
            case 6:
                return self._resume(connection, data)
            case 3 | 4 | 8:
                if connection.session is None:
                    return 4003
                return self._members(connection.session, data) if op == CHUNK else 0
        return 4001

    # -- sessions ---------------------------------------------------------------------------------------------------

    def _app(self, data: Json) -> App | None:
        token = str(data.get("token") or "")
        return next((each for each in self._apps if each.token == token and not each.revoked), None)

    def _identify(self, connection: Connection, data: Json) -> int:
        if connection.session is not None:
            return 4005
        app = self._app(data)
        if app is None:
            return 4004
        intents = data.get("intents")
        if not isinstance(intents, int) or intents & ~KNOWN_INTENTS:
            return 4013
        if intents & PRIVILEGED & ~app.intents:
            return 4014
        match data.get("shard", [0, 1]):
            case [int(shard), int(shards)] if 0 <= shard < shards:
                bucket = shard % app.concurrency
            case _:
                return 4010
        now = self._world.clock.now()
        if now - app.begun.get(bucket, -self.rules.identify_seconds) < self.rules.identify_seconds:
            connection.tell(INVALID, False)
            return 0
        remaining = self.limit(app)["remaining"]
        app.identified.append(now)
        app.begun[bucket] = now
        if not remaining:
            app.revoked = True  # Source: events/gateway, identifying: the token is reset
            return 4004
        if app.sharded and shards < app.shards:
            return 4011
        self.identified += 1
        if self.rules.ready:
            self._start(connection, Session(uuid.uuid4().hex, app, intents, shard, shards))
        return 0

    def limit(self, app: App) -> Json:
        """The session start limit, which counts the IDENTIFYs of all shards together."""
        now = self._world.clock.now()
        recent = [each for each in app.identified if now - each < 86_400]
        reset = recent[0] + 86_400 - now if recent else 0
        left = max(0, self.rules.identifies - len(recent))
        told = {"total": self.rules.identifies, "remaining": left, "reset_after": int(reset * 1_000)}
        return told | {"max_concurrency": app.concurrency}

    def _start(self, connection: Connection, session: Session) -> None:
        self.sessions.append(session)
        connection.session, session.connection = session, connection
        mine = [each for each in self._world.guilds.values() if session.app.user in each.members]
        here = [each for each in mine if session.serves(each.id)]
        told = self._payloads.ready(session.app, session.id, f"{self.address}/resume", here)
        session.dispatch("READY", told | {"shard": [session.shard, session.shards]})
        for guild in here:
            self.available(session, guild)

    def available(self, session: Session, guild: Guild) -> None:
        members = bool(session.intents & MEMBERS)
        if session.intents & GUILDS and session.serves(guild.id):
            session.dispatch("GUILD_CREATE", self._payloads.guild_create(guild, session.app, members=members))

    def _resume(self, connection: Connection, data: Json) -> int:
        if connection.session is not None:
            return 4005
        if self._app(data) is None:
            return 4004
        wanted = data.get("session_id")
        session = next((each for each in self.sessions if each.id == wanted and not each.dead), None)
        if session is None:
            connection.tell(INVALID, False)
            return 0
        seq = data.get("seq")
        if not isinstance(seq, int) or seq > session.seq:
            session.dead = True
            return 4007
        if session.connection is not None:
            session.connection.session = None
            session.connection.close(4000)
        connection.session, session.connection = session, connection
        for number, text in session.frames:
            if number > seq - self.rules.overlap and not text.startswith('{"op": 0, "t": "READY"'):
                connection.outbox.put_nowait(text)
        session.dispatch("RESUMED", {})
        session.resumed += 1
        self.resumed += 1
        return 0

    def _members(self, session: Session, data: Json) -> int:
        """Request Guild Members: all of them only with the members' intent; by id always."""
        guild = self._world.guilds.get(str(data.get("guild_id")))
        wanted = data.get("user_ids")
        wanted = [wanted] if isinstance(wanted, str | int) else wanted
        if guild is None or not session.serves(guild.id):
            return 0
        if wanted is None and not data.get("query") and not session.intents & MEMBERS:
            return 4014
        if wanted is not None:
            found = [guild.members[str(each)] for each in wanted if str(each) in guild.members]
        else:
            begun = str(data.get("query") or "").lower()
            named = [(self._world.users[each].name.lower(), member) for each, member in guild.members.items()]
            found = [member for name, member in named if name.startswith(begun)][: data.get("limit") or None]
        told: Json = {"guild_id": guild.id, "members": [self._payloads.member(each) for each in found]}
        told |= {"chunk_index": 0, "chunk_count": 1}
        if wanted is not None:
            told["not_found"] = [str(each) for each in wanted if str(each) not in guild.members]
        if data.get("nonce"):
            told["nonce"] = data["nonce"]
        session.dispatch("GUILD_MEMBERS_CHUNK", told)
        return 0

    # -- events -----------------------------------------------------------------------------------------------------

    def announce(self, name: str, intent: int, make: Callable[[Session], Json | None]) -> None:
        """To every session with this intent (0: none is needed) for which `make` has something to tell."""
        for session in self.sessions:
            if session.dead or not session.covers(intent):
                continue
            for _ in range(self.rules.copies):
                told = make(session)
                if told is not None and session.serves(told["id"] if name == "GUILD_DELETE" else told.get("guild_id")):
                    session.dispatch(name, told)
        self._changed()

    @property
    def quiet(self) -> bool:
        return all(each.deaf or each.outbox.empty() for each in self.connections)

    # -- trouble ----------------------------------------------------------------------------------------------------

    def live(self, shard: int | None = None) -> list[Connection]:
        """The connections with a session, or that of one shard."""
        found = [(each, each.session) for each in self.connections if each.session is not None and not each.deaf]
        return [each for each, session in found if shard in (None, session.shard)]

    def cut(self) -> int:
        """Drops the TCP connections without a word (the client sees 1006); how many."""
        doomed = list(self.connections)
        for each in doomed:
            self._gone(each)
            if each.request.transport is not None:
                each.request.transport.abort()
        return len(doomed)

    def close_all(self, code: int, shard: int | None = None) -> None:
        """Closes every connection, or a shard's, with this code; 4007 and 4009 end the sessions too."""
        for each in self.live(shard):
            if each.session is not None and code in (4007, 4009):
                each.session.dead = True
            each.close(code)

    async def close(self) -> None:
        for each in list(self.connections):
            each.deaf = False
            if not each.ws.closed:
                await each.ws.close(code=1001)
