"""Slack's agent sessions: a conversation with the bot that Slack knows is at work, with Slack's own button to stop it
and a name in its list of conversations.

Only an app that is an agent has them, and the button only one that is told of it. Source:
docs.slack.dev/ai/agent-sessions, agents.sessions.setStatus, agent_session_stopped."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from adapters.slack.transport.errors import (
    CredentialsError,
    GoneError,
    NotSent,
    SlackError,
    UnreachableError,
    UnsupportedError,
)

log = logging.getLogger(__name__)

SESSION, RENAME = "agents.sessions.setStatus", "agents.sessions.rename"
NO_BUTTON = "missing_agent_session_stopped_event_subscription"

_UNKNOWN = "feature_disabled"

Call = Callable[[str, dict[str, Any]], Awaitable[Mapping[str, Any]]]


class Sessions:
    """Those of one workspace. Everything raises SlackError; UnsupportedError where there are none, for which Slack is
    asked once."""

    def __init__(self, call: Call) -> None:
        """`call`: a method with its arguments, at the pace and with the patience that a status has."""
        self._call = call
        self._offered: bool | None = None  # None: nobody has asked yet
        self._first = asyncio.Lock()  # held by whoever asks first
        self._at_work: dict[tuple[str, str], set[str]] = {}
        self.buttonless = False  # the app is not told when people press Stop, so Slack shows them no button

    async def begin(self, channel: str, thread: str, turn: str, *, title: str, asker: str) -> str:
        """A turn is at work for `asker`, until `end`, or an hour. What the conversation is called: `title`, where it
        is new, or nothing. After UnreachableError it may have begun all the same."""
        self._at_work.setdefault((channel, thread), set()).add(turn)
        arguments = {"status": "processing", "title": title or None, "initiator_user_id": asker}
        try:
            answer = await self._ask(SESSION, channel, thread, arguments)
        except UnreachableError:
            raise
        except SlackError:
            self._over(channel, thread, turn)
            raise
        if not self.buttonless and NO_BUTTON in f"{answer.get('warning')} {answer.get('response_metadata')}":
            self.buttonless = True
            log.info("Slack shows no button to stop: the app is not subscribed to agent_session_stopped")
        return str(answer.get("title") or "")

    async def end(self, channel: str, thread: str, turn: str = "") -> None:
        """A turn is no longer at work, nor is the bot, unless it has others in this thread. May be said again."""
        if not self._over(channel, thread, turn):
            await self._ask(SESSION, channel, thread, {"status": "active"})

    async def rename(self, channel: str, thread: str, title: str) -> None:
        """Raises GoneError where there is no session."""
        await self._ask(RENAME, channel, thread, {"title": title})

    async def _ask(self, method: str, channel: str, thread: str, arguments: dict[str, Any]) -> Mapping[str, Any]:
        arguments = {"channel_id": channel, "thread_ts": thread, **arguments}
        async with self._first:
            if self._offered is None:
                return await self._judged(method, arguments)
        return await self._judged(method, arguments)

    async def _judged(self, method: str, arguments: dict[str, Any]) -> Mapping[str, Any]:
        if self._offered is False:
            raise UnsupportedError(method, _UNKNOWN)
        try:
            answer = await self._call(method, arguments)
        except (UnreachableError, CredentialsError, GoneError, NotSent):
            raise
        except SlackError as error:
            if self._offered is None:  # whatever the reason is, it will be the same
                self._offered = False
                log.info("Slack's agent sessions are not used here: %s", error.code)
            raise
        self._offered = True
        return answer

    def _over(self, channel: str, thread: str, turn: str) -> bool:
        """Whether others are at work there."""
        others = self._at_work.get((channel, thread), set())
        others.discard(turn)
        if not others:
            self._at_work.pop((channel, thread), None)
        return bool(others)
