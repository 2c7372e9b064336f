"""Slack's rate limits, by method and channel.

Source: reliability.md R28; docs.slack.dev/apis/web-api/rate-limits and the methods' pages (tier 2: 20 a minute,
tier 3: 50, tier 4: 100; chat.postMessage about one a second and channel, and a limit of the whole workspace).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from adapters.shared.rate_limit import Bucket, CallTicket, Clock, Limit, Priority
from bot.waiting import Sleep

TIER_2, TIER_3, TIER_4 = Limit(8, 12), Limit(20, 30), Limit(40, 60)
_SIGNS = Limit(70, 30)  # as much a minute as tier 4, but most of it at once: signs of life come in bursts
_POSTS = Limit(3, 60)  # in one channel
_ALL_POSTS = Limit(40, 260)  # "several hundred messages per minute"
_LIMITS = {
    "chat.update": Limit(10, 40),
    "chat.appendStream": Limit(20, 80),
    **dict.fromkeys(("chat.startStream", "chat.stopStream", "users.list", "conversations.list"), TIER_2),
    "reactions.remove": TIER_2,
    **dict.fromkeys(("chat.postEphemeral", "conversations.members", "users.info", "files.info"), TIER_4),
    **dict.fromkeys(("views.open", "views.update", "views.push", "views.publish"), TIER_4),
    **dict.fromkeys(("agents.sessions.setStatus", "agents.sessions.rename"), TIER_3),
    "assistant.threads.setStatus": _SIGNS,
    "assistant.threads.setTitle": TIER_4,
    "assistant.threads.setSuggestedPrompts": TIER_4,
}
_Name = tuple[str, str]  # a method, and the channel where it counts by itself
_KEPT = 1_000  # buckets; more are only of channels that were quiet for long


Shared = Callable[[str, Limit], Awaitable[float]]
"""Takes a call of a limit, by its name, that other processes keep too: 0, or the seconds until there is one."""


class Pacer:
    """Lets calls through at the speed Slack allows. One for a workspace, and its part of what is `shared`."""

    def __init__(
        self, *, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep, shared: Shared | None = None
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._shared = shared
        self._buckets: dict[tuple[str, str], Bucket] = {}

    async def turn(self, method: str, channel: str = "", worth: Priority | CallTicket = Priority.ORDINARY) -> None:
        """Returns when the call may be made, or its ticket is dropped; whoever has a better priority, or came earlier,
        went before."""
        for name, limit in _limits(method, channel):
            bucket = self._bucket(name, limit)
            await bucket.take(worth)
            while self._shared and not (isinstance(worth, CallTicket) and worth.dropped):
                if (seconds := await self._shared(":".join(filter(None, name)), limit)) <= 0:
                    break
                bucket.pause(seconds)
                await bucket.take(worth)

    def pause(self, method: str, channel: str, seconds: float) -> None:
        """Slack said when to come back: until then nobody asks for the same thing, not only the one who was refused."""
        self._of(method, channel)[0].pause(seconds)

    def wait(self, method: str, channel: str = "", worth: Priority | CallTicket = Priority.STEP) -> float:
        """How many seconds a call would wait now, about; or the one that waits with this ticket still has to."""
        return max(bucket.wait(worth) for bucket in self._of(method, channel))

    def _of(self, method: str, channel: str) -> list[Bucket]:
        return [self._bucket(name, limit) for name, limit in _limits(method, channel)]

    def _bucket(self, key: _Name, limit: Limit) -> Bucket:
        if key not in self._buckets:
            if len(self._buckets) >= _KEPT:
                self._buckets = {key: bucket for key, bucket in self._buckets.items() if not bucket.idle}
            self._buckets[key] = Bucket(limit, self._clock, self._sleep)
        return self._buckets[key]


def _limits(method: str, channel: str) -> list[tuple[_Name, Limit]]:
    if method == "chat.postMessage":
        return [((method, channel), _POSTS), ((method, ""), _ALL_POSTS)]
    return [((method, ""), _LIMITS.get(method, TIER_3))]
