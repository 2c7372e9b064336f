"""Slack's rate limits, by method and channel.

Source: reliability.md R28; docs.slack.dev/apis/web-api/rate-limits and the methods' pages (tier 2: 20 a minute,
tier 3: 50, tier 4: 100; chat.postMessage about one a second and channel, and a limit of the whole workspace).
"""

import asyncio
import time

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
    "assistant.threads.setStatus": _SIGNS,
    "assistant.threads.setTitle": TIER_4,
    "assistant.threads.setSuggestedPrompts": TIER_4,
}
_KEPT = 1_000  # buckets; more are only of channels that were quiet for long


class Pacer:
    """Lets calls through at the speed Slack allows. One for a workspace."""

    def __init__(self, *, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._buckets: dict[tuple[str, str], Bucket] = {}

    async def turn(self, method: str, channel: str = "", worth: Priority | CallTicket = Priority.ORDINARY) -> None:
        """Returns when the call may be made, or its ticket is dropped; whoever has a better priority, or came earlier,
        went before."""
        for bucket in self._of(method, channel):
            await bucket.take(worth)

    def pause(self, method: str, channel: str, seconds: float) -> None:
        """Slack said when to come back: until then nobody asks for the same thing, not only the one who was refused."""
        self._of(method, channel)[0].pause(seconds)

    def wait(self, method: str, channel: str = "", worth: Priority | CallTicket = Priority.STEP) -> float:
        """How many seconds a call would wait now, about; or the one that waits with this ticket still has to."""
        return max(bucket.wait(worth) for bucket in self._of(method, channel))

    def _of(self, method: str, channel: str) -> list[Bucket]:
        if method == "chat.postMessage":
            return [self._bucket(method, channel, _POSTS), self._bucket(method, "", _ALL_POSTS)]
        return [self._bucket(method, "", _LIMITS.get(method, TIER_3))]

    def _bucket(self, method: str, channel: str, limit: Limit) -> Bucket:
        key = method, channel
        if key not in self._buckets:
            if len(self._buckets) >= _KEPT:
                self._buckets = {key: bucket for key, bucket in self._buckets.items() if not bucket.idle}
            self._buckets[key] = Bucket(limit, self._clock, self._sleep)
        return self._buckets[key]
