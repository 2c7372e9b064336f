"""Socket Mode as Slack runs it: single-use URLs, three seconds for an ack, events sent again, and every way to hang up.

An event goes to any one of an app's connections. An ack counts only on the connection the envelope went out on.
"""

import asyncio
import contextlib
import json
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import WSCloseCode, WSMsgType, web

from tests.fakes.slack_gate import Refused
from tests.fakes.slack_world import App, Clock

Json = dict[str, Any]
Reason = Literal["warning", "refresh_requested", "link_disabled", "too_many_websockets"]
MOST = 10  # connections of one app. Source: docs.slack.dev, using Socket Mode
LARGEST = 20_480  # bytes of a frame to Slack, which ends the connection over it. Source: revelrylabs/slax PR 614


@dataclass(frozen=True)
class Timing:
    """Real seconds. `retries`: the pauses before an unacked event is sent again, as documented for events over HTTP.

    How long they are in Socket Mode is not documented. Tests shorten them.
    """

    ack: float = 3.0
    retries: tuple[float, ...] = (1.0, 60.0, 300.0)
    url: float = 30.0  # how long a connection's URL may be used


@dataclass(frozen=True)
class Ack:
    """One ack as it came. `late`: after the deadline; `stray`: for no envelope, or on another connection."""

    envelope_id: str
    type: str
    event_id: str
    latency: float  # real seconds since that attempt went out
    attempt: int
    payload: Json | None = None
    late: bool = False
    stray: bool = False


@dataclass
class Delivery:
    """One envelope and what became of it. `payload` is what the ack brought along."""

    type: str
    event_id: str
    body: Json
    app: str
    told: Callable[[Json], None] | None = None  # is given what the first ack brings along, when it comes
    attempts: int = 0
    acks: list[Ack] = field(default_factory=list)
    lost: bool = False
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    answered: asyncio.Event = field(default_factory=asyncio.Event)  # an ack has come

    @property
    def acked(self) -> bool:
        return bool(self.acks)

    @property
    def payload(self) -> Json | None:
        return self.acks[0].payload if self.acks else None


@dataclass(eq=False)
class Connection:
    id: int
    app: App
    ws: web.WebSocketResponse
    request: web.Request
    ready: bool = False  # hello was said
    frozen: bool = False  # half open: nothing is answered, nothing sent arrives
    leaving: bool = False  # told to go; gets no more events


class Sockets:
    def __init__(self, clock: Clock, timing: Timing, changed: Callable[[], None]) -> None:
        self.timing = timing
        self.hello: bool = True  # False: connections open and hello never comes
        self.disabled = False
        self.acks_anywhere = False  # True: an ack counts on any connection
        self.known: set[str] = set()  # the apps that ever connected
        self.address = ""
        self.acks: list[Ack] = []
        self.deliveries: list[Delivery] = []
        self.opened = 0
        self.refused = 0
        self._clock = clock
        self._changed = changed
        self._tickets: dict[str, tuple[App, float]] = {}
        self._connections: list[Connection] = []
        self._turn = 0
        self._waiting: dict[str, tuple[Delivery, Connection, float, int]] = {}  # by envelope
        self._tasks: set[asyncio.Task[None]] = set()
        self._joined = asyncio.Event()

    # -- connections ------------------------------------------------------------------------------------------------

    def new_url(self, app: App) -> str:
        if self.disabled:
            raise Refused("access_denied")  # the real code is not documented
        ticket = uuid.uuid4().hex
        self._tickets[ticket] = (app, time.monotonic())
        return f"{self.address}/link/?ticket={ticket}&app_id={app.id}"

    def of(self, app: App) -> list[Connection]:
        return [each for each in self._connections if each.app is app and each.ready and not each.ws.closed]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """A connection's whole life. A used or old URL is refused before the upgrade."""
        app, made = self._tickets.pop(request.query.get("ticket", ""), (None, 0.0))
        if app is None or time.monotonic() - made > self.timing.url:
            self.refused += 1
            return web.Response(status=403, text="invalid or used ticket")
        ws = web.WebSocketResponse(autoping=False, timeout=1.0)
        await ws.prepare(request)
        self.opened += 1
        self.known.add(app.id)
        connection = Connection(self.opened, app, ws, request)
        if len(self.of(app)) >= MOST:
            await self._say_goodbye(connection, "too_many_websockets")
            await ws.close()
            return ws
        self._connections.append(connection)
        if self.hello:
            await ws.send_json(self._hello(app))
            connection.ready = True
            self._joined.set()
            self._changed()
        try:
            await self._listen(connection)
        finally:
            if connection in self._connections:
                self._connections.remove(connection)
            self._changed()
        return ws

    def _hello(self, app: App) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self.of(app)) + 1,
            "connection_info": {"app_id": app.id},
            "debug_info": {"host": "applink-loopback", "build_number": 1, "approximate_connection_time": 18060},
        }

    async def _listen(self, connection: Connection) -> None:
        async for frame in connection.ws:
            if connection.frozen:
                continue
            if frame.type is WSMsgType.PING:
                await connection.ws.pong(frame.data)
            elif frame.type is WSMsgType.TEXT and len(frame.data.encode()) > LARGEST:
                reason = f"Max frame length of {LARGEST} has been exceeded."
                await connection.ws.close(code=WSCloseCode.MESSAGE_TOO_BIG, message=reason.encode())
            elif frame.type is WSMsgType.TEXT:
                self._acked(connection, json.loads(frame.data))

    async def disconnect(self, reason: Reason, *, app: App | None = None, close: bool | None = None) -> None:
        """Tells every connection to go. `warning` leaves it open a while; the others close it, unless told not to."""
        if reason == "link_disabled":
            self.disabled = True
        for each in self._chosen(app):
            await self._say_goodbye(each, reason)
            if close if close is not None else reason != "warning":
                await each.ws.close()

    async def _say_goodbye(self, connection: Connection, reason: Reason) -> None:
        connection.leaving = reason != "warning"
        goodbye = {"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-loopback"}}
        if not connection.ws.closed:
            await connection.ws.send_json(goodbye)

    def cut(self, app: App | None = None) -> int:
        """Drops the TCP connections without a word; how many."""
        doomed = self._chosen(app)
        for each in doomed:
            self._connections.remove(each)
            if each.request.transport is not None:
                each.request.transport.abort()
        return len(doomed)

    def freeze(self, app: App | None = None) -> None:
        """Half open: the connections stay, and nothing comes from them or is heard by them."""
        for each in self._chosen(app):
            each.frozen = True
            if isinstance(each.request.transport, asyncio.ReadTransport):
                each.request.transport.pause_reading()

    def _chosen(self, app: App | None) -> list[Connection]:
        return [each for each in self._connections if app in (None, each.app)]

    async def connected(self, count: int = 1, timeout: float = 30.0) -> None:  # noqa: ASYNC109
        """Returns when this many connections are open.

        Raises:
            TimeoutError: they are not, after `timeout` seconds.
        """
        async with asyncio.timeout(timeout):
            while len([each for each in self._connections if each.ready and not each.leaving]) < count:
                self._joined.clear()
                await self._joined.wait()

    # -- envelopes --------------------------------------------------------------------------------------------------

    def send(
        self,
        app: App,
        kind: str,
        payload: Json,
        *,
        answerable: bool = False,
        told: Callable[[Json], None] | None = None,
    ) -> Delivery:
        """Sends an envelope, again and again while nobody acks it; gestures (`answerable`) are sent only once."""
        delivery = Delivery(kind, str(payload.get("event_id", "")), payload, app.id, told)
        self.deliveries.append(delivery)
        self._start(self._deliver(app, delivery, answerable))
        return delivery

    def send_raw(self, app: App, frame: Json | str) -> None:
        """A frame as it is, to one connection; nothing is expected of it."""
        target = self._next(app)
        if target is not None:
            text = frame if isinstance(frame, str) else json.dumps(frame)
            self._start(_quietly(target.ws.send_str, text))

    async def _deliver(self, app: App, delivery: Delivery, answerable: bool) -> None:
        pauses = () if answerable else self.timing.retries
        try:
            for attempt in range(1 + len(pauses)):
                if attempt:
                    await asyncio.sleep(pauses[attempt - 1])
                    if delivery.acked:  # late, and an ack all the same
                        return
                if await self._attempt(app, delivery, attempt, answerable):
                    return
            delivery.lost = True
        finally:
            delivery.finished.set()
            self._changed()

    async def _attempt(self, app: App, delivery: Delivery, attempt: int, answerable: bool) -> bool:
        deadline = time.monotonic() + self.timing.ack
        while (target := self._next(app)) is None:
            self._joined.clear()
            try:
                async with asyncio.timeout_at(asyncio.get_running_loop().time() + deadline - time.monotonic()):
                    await self._joined.wait()
            except TimeoutError:
                delivery.attempts += 1
                return False
        number = str(uuid.uuid4())
        envelope: Json = {
            "envelope_id": number,
            "type": delivery.type,
            "accepts_response_payload": answerable,
            "payload": delivery.body,
        }
        if delivery.type == "events_api":
            envelope |= {"retry_attempt": attempt, "retry_reason": "timeout" if attempt else ""}
        delivery.attempts += 1
        sent = time.monotonic()
        self._waiting[number] = (delivery, target, sent, attempt)
        if not target.frozen:
            await _quietly(target.ws.send_str, json.dumps(envelope, ensure_ascii=False))
        try:
            async with asyncio.timeout(self.timing.ack):
                await delivery.answered.wait()
        except TimeoutError:
            return False
        return True

    def _next(self, app: App) -> Connection | None:
        """Any connection may get an event: they take turns."""
        open_ones = [each for each in self.of(app) if not each.leaving]
        if not open_ones:
            return None
        self._turn += 1
        return open_ones[self._turn % len(open_ones)]

    def _acked(self, connection: Connection, frame: Json) -> None:
        envelope = str(frame.get("envelope_id", ""))
        delivery, target, sent, attempt = self._waiting.get(envelope, (None, None, time.monotonic(), 0))
        latency = time.monotonic() - sent
        stray = delivery is None or (target is not connection and not self.acks_anywhere)
        ack = Ack(
            envelope,
            delivery.type if delivery else "",
            delivery.event_id if delivery else "",
            latency,
            attempt,
            frame.get("payload"),
            late=latency > self.timing.ack,
            stray=stray,
        )
        self.acks.append(ack)
        if delivery is not None and not stray:
            delivery.acks.append(ack)
            delivery.answered.set()
            if delivery.told and ack.payload and len(delivery.acks) == 1:
                delivery.told(ack.payload)
        self._changed()

    # -- the end ----------------------------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        return not self._tasks

    def _start(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for each in list(self._connections):
            if each.frozen and each.request.transport is not None:
                each.request.transport.abort()
            await _quietly(each.ws.close)


async def _quietly(send: Callable[..., Awaitable[Any]], *arguments: Any) -> None:
    """The other side may be gone already; the ack that does not come says so."""
    with contextlib.suppress(ConnectionError, RuntimeError):
        await send(*arguments)
