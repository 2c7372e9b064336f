"""Events over HTTP as Slack posts them: signed, three seconds for an answer, and again at once, a minute and five minutes
later while there is none. Source: docs.slack.dev/apis/events-api and /authentication/verifying-requests-from-slack."""

import asyncio
import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

import aiohttp

from tests.fakes.slack_socket import Ack, Delivery, Timing
from tests.fakes.slack_world import App

Json = dict[str, Any]

SIGNING_SECRET = "8f742231b10e8888abcd99eeefff85a5"
AGAIN: tuple[float, ...] = (0.0, 60.0, 300.0)


def encoded(kind: str, payload: Json) -> tuple[str, bytes]:
    """The content type and the body of a request."""
    if kind == "events_api":
        return "application/json", json.dumps(payload, ensure_ascii=False).encode()
    form = payload if kind == "slash_commands" else {"payload": json.dumps(payload, ensure_ascii=False)}
    return "application/x-www-form-urlencoded", urlencode(form).encode()


def signed(body: bytes, *, secret: str = SIGNING_SECRET, at: float | None = None) -> dict[str, str]:
    """The headers that say it is Slack's."""
    stamp = str(int(time.time() if at is None else at))
    proof = hmac.new(secret.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={proof}"}


class Posts:
    """Nothing is posted until there is a `url`. `sleep`: between two attempts."""

    def __init__(
        self, timing: Timing, acks: list[Ack], deliveries: list[Delivery], changed: Callable[[], None]
    ) -> None:
        self.url = ""
        self.sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
        self.pauses = AGAIN
        self.statuses: list[int] = []
        self._timing = timing
        self._acks = acks
        self._deliveries = deliveries
        self._changed = changed
        self._tasks: set[asyncio.Task[None]] = set()
        self._session: aiohttp.ClientSession | None = None

    def send(
        self,
        app: App,
        kind: str,
        payload: Json,
        *,
        answerable: bool = False,
        told: Callable[[Json], None] | None = None,
    ) -> Delivery:
        """Posts it, again and again while nobody says 200; gestures (`answerable`) are posted only once."""
        delivery = Delivery(kind, str(payload.get("event_id", "")), payload, app.id, told)
        self._deliveries.append(delivery)
        task = asyncio.create_task(self._deliver(delivery, () if answerable else self.pauses))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return delivery

    async def _deliver(self, delivery: Delivery, pauses: tuple[float, ...]) -> None:
        reason = ""
        try:
            for attempt in range(1 + len(pauses)):
                if attempt:
                    await self.sleep(pauses[attempt - 1])
                reason = await self._attempt(delivery, attempt, reason)
                if not reason:
                    return
            delivery.lost = True
        finally:
            delivery.finished.set()
            self._changed()

    async def _attempt(self, delivery: Delivery, attempt: int, reason: str) -> str:
        """Empty when it was taken, else why not."""
        kind, body = encoded(delivery.type, delivery.body)
        headers = {"Content-Type": kind, "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)", **signed(body)}
        if attempt:
            headers |= {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": reason}
        delivery.attempts += 1
        began = time.monotonic()
        self._session = self._session or aiohttp.ClientSession()
        try:
            async with (
                asyncio.timeout(self._timing.ack),
                self._session.post(self.url, data=body, headers=headers, allow_redirects=False) as answer,
            ):
                self.statuses.append(answer.status)
                if answer.status != 200:
                    return "http_error"
                said = await answer.text()
                payload = _payload(said, answer.content_type)
        except TimeoutError:
            return "http_timeout"
        except aiohttp.ClientError:
            return "connection_failed"
        ack = Ack(uuid.uuid4().hex, delivery.type, delivery.event_id, time.monotonic() - began, attempt, payload)
        self._acks.append(ack)
        delivery.acks.append(ack)
        delivery.answered.set()
        if delivery.told and payload and len(delivery.acks) == 1:
            delivery.told(payload)
        return ""

    @property
    def idle(self) -> bool:
        return not self._tasks

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()


def _payload(said: str, kind: str) -> Json | None:
    if not said:
        return None
    return dict(json.loads(said)) if kind == "application/json" else {"text": said}
