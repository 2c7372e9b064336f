"""Small things for tests against Slack's fake: a real client, a Bolt app that listens, pieces of Block Kit."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import FakeSlack

Json = dict[str, Any]


def client_of(slack: FakeSlack, token: str | None = None) -> AsyncWebClient:
    return AsyncWebClient(token=token or slack.bot_token, base_url=slack.api_url, retry_handlers=[])


class Heard:
    """A Bolt app that writes down what it hears, and acks it."""

    def __init__(self, slack: FakeSlack) -> None:
        self.events: list[Json] = []
        self.bodies: list[Json] = []
        self.retries: list[str] = []
        self.refuse = 0  # so many events to leave unacked
        self.app = AsyncApp(
            name="test", client=client_of(slack), signing_secret="unused", ignoring_self_events_enabled=False
        )
        self.app.use(self._hear)

    async def _hear(
        self, req: AsyncBoltRequest, body: Json, next: Callable[[], Awaitable[BoltResponse]]
    ) -> BoltResponse | None:
        if self.refuse:
            self.refuse -= 1
            return BoltResponse(status=503)
        self.bodies.append(body)
        if "event" in body:
            self.events.append(body["event"])
            self.retries += req.headers.get("x-slack-retry-num", [])
            return BoltResponse(status=200)
        return await next()

    def kinds(self) -> list[str]:
        return [each.get("subtype") or each["type"] for each in self.events]


@asynccontextmanager
async def running(slack: FakeSlack, app: AsyncApp, ping: float = 10) -> AsyncIterator[None]:
    web_client = client_of(slack, slack.app_token)
    handler = AsyncSocketModeHandler(app, slack.app_token, web_client=web_client, ping_interval=ping)
    await handler.connect_async()  # type: ignore[no-untyped-call]
    await slack.connected()
    try:
        yield
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call]


async def refused(call: Awaitable[Any]) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def section(text: str) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def button(action_id: str = "go", text: str = "Go", **more: Any) -> Json:
    return {"type": "button", "action_id": action_id, "text": plain(text)} | more


FEEDBACK: Json = {
    "type": "context_actions",
    "elements": [
        {
            "type": "feedback_buttons",
            "action_id": "vote",
            "positive_button": {"text": plain("Good"), "value": "up"},
            "negative_button": {"text": plain("Bad"), "value": "down"},
        }
    ],
}
