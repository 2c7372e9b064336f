"""Slack's rate limits, kept before Slack has to refuse: calls wait here for their turn, the important ones first.

Source: reliability.md R28; docs.slack.dev/apis/web-api/rate-limits and the methods' pages (tier 2: 20 a minute,
tier 3: 50, tier 4: 100; chat.postMessage about one a second and channel, and a limit of the whole workspace).
"""

import asyncio
import heapq
import itertools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import IntEnum

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


class Priority(IntEnum):
    """The smaller goes first."""

    FINAL = 0  # what somebody waits for
    ORDINARY = 1
    STEP = 2  # what the next one makes obsolete


@dataclass(frozen=True, slots=True)
class Limit:
    """`burst` calls at once, then `a_minute` evenly. No minute has more than the sum of both."""

    burst: int
    a_minute: int


TIER_2, TIER_3, TIER_4 = Limit(8, 12), Limit(20, 30), Limit(40, 60)
_POSTS = Limit(3, 60)  # in one channel
_ALL_POSTS = Limit(40, 260)  # "several hundred messages per minute"
_LIMITS = {
    "chat.update": Limit(10, 40),
    "chat.appendStream": Limit(20, 80),
    **dict.fromkeys(("chat.startStream", "chat.stopStream", "users.list", "conversations.list"), TIER_2),
    "reactions.remove": TIER_2,
    **dict.fromkeys(("chat.postEphemeral", "conversations.members", "users.info", "files.info"), TIER_4),
    **dict.fromkeys(("views.open", "views.update", "views.push", "views.publish"), TIER_4),
    "assistant.threads.setStatus": TIER_4,
    "assistant.threads.setTitle": TIER_4,
    "assistant.threads.setSuggestedPrompts": TIER_4,
}
_KEPT = 1_000  # buckets; more are only of channels that were quiet for long


class Pacer:
    """Lets calls through at the speed Slack allows. One for a workspace."""

    def __init__(self, *, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._buckets: dict[tuple[str, str], _Bucket] = {}

    async def turn(self, method: str, channel: str = "", priority: Priority = Priority.ORDINARY) -> None:
        """Returns when the call may be made; whoever has a better priority, or came earlier, went before."""
        for bucket in self._of(method, channel):
            await bucket.take(priority)

    def pause(self, method: str, channel: str, seconds: float) -> None:
        """Slack said when to come back: until then nobody asks for the same thing, not only the one who was refused."""
        self._of(method, channel)[0].pause(seconds)

    def wait(self, method: str, channel: str = "") -> float:
        """How many seconds an ordinary call would wait now, about."""
        return max(bucket.wait() for bucket in self._of(method, channel))

    def _of(self, method: str, channel: str) -> "list[_Bucket]":
        if method == "chat.postMessage":
            return [self._bucket(method, channel, _POSTS), self._bucket(method, "", _ALL_POSTS)]
        return [self._bucket(method, "", _LIMITS.get(method, TIER_3))]

    def _bucket(self, method: str, channel: str, limit: Limit) -> "_Bucket":
        key = method, channel
        if key not in self._buckets:
            if len(self._buckets) >= _KEPT:
                self._buckets = {key: bucket for key, bucket in self._buckets.items() if not bucket.idle}
            self._buckets[key] = _Bucket(limit, self._clock, self._sleep)
        return self._buckets[key]


class _Bucket:
    """Tokens that come back with time. Only the first in the queue watches the clock; the others wait for it."""

    def __init__(self, limit: Limit, clock: Clock, sleep: Sleep) -> None:
        self._limit = limit
        self._clock = clock
        self._sleep = sleep
        self._level = float(limit.burst)
        self._at = clock()  # when the level was so; in the future during a pause
        self._queue: list[tuple[int, int, asyncio.Event]] = []
        self._numbers = itertools.count()

    async def take(self, priority: Priority) -> None:
        me = (int(priority), next(self._numbers), asyncio.Event())
        heapq.heappush(self._queue, me)
        try:
            while True:
                if self._queue[0] is not me:
                    me[2].clear()
                    await me[2].wait()
                elif (seconds := self._missing(1)) > 0:
                    await self._sleep(seconds)
                else:
                    self._level -= 1
                    return
        finally:
            self._queue.remove(me)
            heapq.heapify(self._queue)
            if self._queue:
                self._queue[0][2].set()

    def pause(self, seconds: float) -> None:
        until = self._clock() + seconds
        if until > self._at:
            self._level, self._at = 1.0, until  # one call, then at the ordinary speed

    def wait(self) -> float:
        return max(0.0, self._missing(1 + len(self._queue)))

    @property
    def idle(self) -> bool:
        """Whether a new bucket would be just like this one."""
        return not self._queue and self._missing(self._limit.burst) <= 0

    def _missing(self, tokens: int) -> float:
        """Seconds until there are so many; what rounding leaves over counts as nothing."""
        now = self._clock()
        speed = self._limit.a_minute / 60
        if now >= self._at:
            self._level = min(self._level + (now - self._at) * speed, float(self._limit.burst))
            self._at = now
        seconds = self._at - now + max(0.0, tokens - self._level) / speed
        return seconds if seconds > 1e-6 else 0.0
