"""The connections through which Slack sends events: two at a time, watched, and made anew when one ends or goes deaf.

Slack rotates connections every few hours; with two, one listens meanwhile. Everything that arrives is acknowledged,
except what could not be stored. Source: reliability.md R1, R4 and R31; docs.slack.dev Socket Mode.
"""

import asyncio
import json
import logging
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from slack_bolt.adapter.socket_mode.async_internals import send_async_response
from slack_bolt.adapter.socket_mode.internals import build_headers
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from adapters.shared.tasks import Tasks
from adapters.slack.transport.dispatch import dispatch
from bot.waiting import stopped

log = logging.getLogger(__name__)
_sdk = logging.getLogger(f"{__name__}.sdk")
_sdk.setLevel(logging.CRITICAL)  # it logs a traceback for what is said here in a line

CONNECTIONS = 2
SILENCE = 60.0  # seconds without a connection; what Slack tries to send in a shorter time it sends again


@dataclass(frozen=True, slots=True)
class ReconnectPace:
    """How long things may take, and what lies between them, in seconds."""

    ping: float = 5.0  # a session that is silent so long is pinged, and ends when no pong comes within half of it
    deaf: float = 25.0  # without a hello
    opening: float = 10.0
    crowded: float = 600.0  # before a connection that was one too many is tried again
    closing: float = 3.0  # for what is being acknowledged, then for Slack's farewell
    again: float = 1.0  # between two attempts: twice as long after each that failed,
    longest: float = 60.0  # up to this
    steady: float = 20.0  # a connection that lasted so long was a good one
    watch: float = 1.0  # between two looks at a connection that says nothing


PACE = ReconnectPace()
_ROTATION = frozenset({"warning", "refresh_requested"})
_FOR_GOOD = frozenset(
    {
        *("invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type"),
        *("missing_scope", "app_not_found", "socket_mode_not_enabled", "access_denied", "org_login_required"),
    }
)


class DisabledError(Exception):
    """Slack sends no events until somebody changes the app's settings. `code` is Slack's word for the reason."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Connections:
    """Keeps connections open for an app. `connected`: events can arrive now."""

    def __init__(self, web: AsyncWebClient, app_token: str, *, pace: ReconnectPace = PACE) -> None:
        """`web` is for `apps.connections.open`."""
        self._web = web
        self._token = app_token
        self._pace = pace
        self._up: set[int] = set()
        self._fell_silent = float("-inf")
        self.heard = ""  # another one after each time in which something may have been missed
        self._farewells = Tasks()
        self.first = asyncio.Event()  # set once events can arrive

    @property
    def connected(self) -> bool:
        return bool(self._up)

    async def run(self, app: AsyncApp) -> None:
        """Until cancelled. Raises DisabledError."""
        keepers = [asyncio.create_task(self._keep(n, app), name=f"slack-connection-{n}") for n in range(CONNECTIONS)]
        try:
            await asyncio.gather(*keepers)
        finally:
            await stopped(*keepers)
            await self._farewells.drain(2 * self._pace.closing)

    async def _keep(self, number: int, app: AsyncApp) -> None:
        pace = self._pace
        wait = pace.again
        off = False
        while True:
            began = time.monotonic()
            good, reason = False, ""
            try:
                async with asyncio.timeout(pace.opening):
                    url = await self._address()
                good, reason = await self._serve(number, url, app)
            except TimeoutError:
                log.warning("Slack does not answer; trying again")
            except _BusyError as error:
                await asyncio.sleep(error.seconds)
                continue
            except OSError as error:
                log.warning("Slack cannot be reached (%s); trying again", error)
            lasted = time.monotonic() - began
            if off and reason == "link_disabled" and lasted < pace.steady:
                raise DisabledError(reason)
            off = reason == "link_disabled"  # perhaps for a moment only: whether it lasts, the next address tells
            if reason == "too_many_websockets" and number:
                await asyncio.sleep(pace.crowded)
            elif good and (reason in _ROTATION or lasted >= pace.steady):
                wait = pace.again
                await asyncio.sleep(max(0.0, pace.again - lasted))
            else:
                await asyncio.sleep(wait)
                wait = min(2 * wait, pace.longest)

    async def _address(self) -> str:
        """The address to connect to, once. Raises DisabledError, _BusyError, OSError."""
        try:
            return str((await self._web.apps_connections_open(app_token=self._token))["url"])
        except SlackApiError as error:
            body = getattr(error.response, "data", None)  # what was no JSON comes as the HTTP library's own response
            code = str(body.get("error")) if isinstance(body, dict) else "no answer of Slack's"
            if code in _FOR_GOOD:
                raise DisabledError(code) from None
            if code == "ratelimited":
                log.warning("Slack gives no connection (%s); trying again", code)
                after = str(error.response.headers.get("Retry-After", ""))
                raise _BusyError(float(after) if after.isdecimal() else self._pace.longest) from None
            raise ConnectionError(code) from None
        except Exception as error:  # what aiohttp and json raise is not the same everywhere
            raise ConnectionError(type(error).__name__) from None

    async def _serve(self, number: int, url: str, app: AsyncApp) -> tuple[bool, str]:
        """One connection from its start to its end: whether it ever was one, and the reason Slack gave for its end, or
        "". Raises TimeoutError, OSError."""
        client = _Client(self._token, self._web, partial(_handle, app), self._pace)
        try:
            client.wss_uri = url
            async with asyncio.timeout(self._pace.opening):
                await client.connect()  # type: ignore[no-untyped-call]
            deadline = time.monotonic() + self._pace.deaf
            while client.alive:
                if client.greeted:
                    if not self._up and time.monotonic() - self._fell_silent > SILENCE:
                        self.heard = uuid.uuid4().hex
                    self._up.add(number)
                    self.first.set()
                elif time.monotonic() > deadline:
                    raise TimeoutError
                await client.news(self._pace.watch)
            return client.greeted, client.reason
        finally:
            if self._up == {number}:
                self._fell_silent = time.monotonic()
            self._up.discard(number)
            self._farewells.start(client.end(), "slack-farewell")  # the next connection does not wait for it


async def _handle(app: AsyncApp, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
    began = time.time()
    made = {"mode": "socket_mode", "body": request.payload, "headers": build_headers(request)}
    response = await dispatch(app, request.type, **made)
    try:
        await send_async_response(client, request, response, began)  # nothing where it could not be stored
    except OSError:
        log.info("an envelope was not acknowledged: its connection had ended; Slack sends it again")


class _BusyError(Exception):
    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


Handle = Callable[[AsyncBaseSocketModeClient, SocketModeRequest], Any]


class _Client(SocketModeClient):
    """One connection, which ends when Slack ends it: the SDK would go on by itself, with the same single-use address
    for ever if that has expired."""

    def __init__(self, token: str, web: AsyncWebClient, handle: Handle, pace: ReconnectPace) -> None:
        super().__init__(token, web_client=web, auto_reconnect_enabled=False, ping_interval=pace.ping, logger=_sdk)
        self._pace = pace
        self.greeted = False
        self.reason = ""
        self._over = False
        self._news = asyncio.Event()
        self._handle = handle
        self._busy: set[asyncio.Task[Any]] = set()
        self.message_listeners.append(self._look)
        self.socket_mode_request_listeners.append(self._work)

    @property
    def alive(self) -> bool:
        return not self._over and self.current_session is not None and not self.current_session.closed

    async def news(self, seconds: float) -> None:
        """Until Slack has said hello or told it to go, but no longer than this; a connection that breaks says
        nothing."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()

    async def connect_to_new_endpoint(self, force: bool = False) -> None:
        self._over = True
        self._news.set()

    async def end(self) -> None:
        """Close it when what it has brought is acknowledged."""
        tasks = [task for task in (self.message_processor, self.current_session_monitor, self.message_receiver) if task]
        try:
            if self._busy:
                await asyncio.wait(self._busy, timeout=self._pace.closing)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pace.closing):  # one that is half open says nothing any more
                    await self.disconnect()  # type: ignore[no-untyped-call]
        finally:
            await self.close()  # type: ignore[no-untyped-call]
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _look(self, client: AsyncBaseSocketModeClient, message: dict[str, Any], raw: str | None = None) -> None:
        if message.get("type") == "hello":
            self.greeted = True
            self._news.set()
        elif message.get("envelope_id") and not ("type" in message and isinstance(message.get("payload"), dict | str)):
            log.warning("an envelope without a payload was acknowledged and left alone")
            await self.send_socket_mode_response(SocketModeResponse(envelope_id=str(message["envelope_id"])))

    async def enqueue_message(self, message: str) -> None:
        """Reads why Slack hangs up as it comes: a connection can be closed before the queue's turn comes to its last
        words."""
        if '"disconnect"' in message:
            with suppress(ValueError, AttributeError):
                said = json.loads(message)
                if said.get("type") == "disconnect":
                    self.reason = str(said.get("reason") or "")
        await super().enqueue_message(message)

    async def _work(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)  # also keeps it from being collected: the SDK holds no reference
        try:
            await self._handle(client, request)
        finally:
            self._busy.discard(task)
