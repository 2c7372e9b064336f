"""What a REST call passes before Discord does anything: its rates, the count of its bad answers, and ordered faults.

Faults are those of the Slack fake; what differs is how Discord words them.
"""

import math
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes.slack_gate import CUT_AFTER, CUT_BEFORE, HANG, HANG_AFTER, Fault, Faults, page, slow, status
from tests.fakes.slack_world import Clock

__all__ = [
    "CUT_AFTER",
    "CUT_BEFORE",
    "HANG",
    "HANG_AFTER",
    "Fault",
    "Faults",
    "Rates",
    "Refused",
    "Window",
    "error",
    "invalid",
    "page",
    "ratelimited",
    "slow",
    "status",
]

Json = dict[str, Any]
Problem = tuple[str, str, str]  # where ("components.0.custom_id"), Discord's code, its words

# code -> (HTTP status, words). Source: topics/opcodes-and-status-codes (JSON); statuses as seen in issues of clients.
ERRORS: Mapping[int, tuple[int, str]] = {
    0: (404, "404: Not Found"),
    10003: (404, "Unknown Channel"),
    10004: (404, "Unknown Guild"),
    10007: (404, "Unknown Member"),
    10008: (404, "Unknown Message"),
    10011: (404, "Unknown Role"),
    10013: (404, "Unknown User"),
    10014: (400, "Unknown Emoji"),
    10015: (404, "Unknown Webhook"),
    10062: (404, "Unknown interaction"),
    10063: (404, "Unknown application command"),
    20012: (403, "You are not authorized to perform this action on this application"),
    30010: (400, "Maximum number of reactions reached (20)"),
    30034: (400, "Maximum number of daily application command creates has been reached (200)"),
    30046: (429, "Maximum number of edits to messages older than 1 hour reached. Try again later"),
    40005: (413, "Request entity too large"),
    40060: (400, "Interaction has already been acknowledged."),
    40333: (403, "internal network error"),
    40067: (400, "A tag is required to create a forum post in this channel"),
    50001: (403, "Missing Access"),
    50003: (403, "Cannot execute action on a DM channel"),
    50005: (403, "Cannot edit a message authored by another user"),
    50006: (400, "Cannot send an empty message"),
    50007: (403, "Cannot send messages to this user"),
    50008: (400, "Cannot send messages in a non-text channel"),
    50013: (403, "Missing Permissions"),
    50021: (403, "Cannot execute action on a system message"),
    50024: (400, "Cannot execute action on this channel type"),
    50027: (401, "Invalid Webhook Token"),
    50033: (400, "Invalid Recipient(s)"),
    50035: (400, "Invalid Form Body"),
    50083: (400, "Thread is archived"),
    50109: (400, "The request body contains invalid JSON."),
    160002: (403, "Cannot reply without permission to read message history"),
    160004: (400, "A thread has already been created for this message"),
    160005: (403, "Thread is locked"),
    160006: (400, "Maximum number of active threads reached"),
    200000: (400, "Message was blocked by automatic moderation"),
}


class Refused(Exception):
    """An answer that is not 2xx, by Discord's error code."""

    def __init__(self, code: int, *, status: int = 0, message: str = "", errors: Json | None = None) -> None:
        http, words = ERRORS.get(code, (400, "Error"))
        super().__init__(code)
        self.status = status or http
        self.body: Json = {"message": message or words, "code": code}
        if errors:
            self.body["errors"] = errors


def invalid(problems: Iterable[Problem]) -> Refused:
    """A 50035 that says what is wrong where. Source: reference, error messages."""
    errors: Json = {}
    for where, code, words in problems:
        spot = errors
        for step in where.split(".") if where else ():
            spot = spot.setdefault(step, {})
        spot.setdefault("_errors", []).append({"code": code, "message": words})
    return Refused(50035, errors=errors)


# -- faults ---------------------------------------------------------------------------------------------------------


def error(code: int, status: int = 0, message: str = "") -> Fault:
    """One of Discord's errors by its code; nothing is done."""
    http, words = ERRORS.get(code, (400, "Error"))
    return Fault("error", status or http, message or words, more={"code": code})


def ratelimited(seconds: float = 1.0, *, everywhere: bool = False, shared: bool = False, banned: bool = False) -> Fault:
    """A 429. `everywhere`: the global limit; `shared`: of the resource, not of the bot; `banned`: Cloudflare's page."""
    return Fault("status", 429, "ratelimited", seconds, {"global": everywhere, "shared": shared, "banned": banned})


def old_edits(seconds: float = 1.0) -> Fault:
    """A 429 for edits of messages older than an hour. Source: reference, error messages (30046)."""
    return Fault(
        "status", 429, "ratelimited", seconds, {"global": False, "shared": False, "banned": False, "code": 30046}
    )


# -- rates ----------------------------------------------------------------------------------------------------------

# (calls, seconds) by bucket. What Discord tells today; they are to be read from the headers, never known before.
BUCKETS: Mapping[str, tuple[int, float]] = {
    "messages:create": (5, 5.0),
    "messages:edit": (5, 5.0),
    "messages:delete": (5, 1.0),
    "messages:read": (5, 5.0),
    "reactions": (1, 0.25),
    "threads": (50, 300.0),
    "webhooks": (5, 2.0),
    "typing": (5, 5.0),
    "commands": (5, 20.0),
}
_OTHER = (50, 1.0)
GLOBAL = 50  # a second. Source: topics/rate-limits


@dataclass
class Window:
    limit: int
    seconds: float
    opened: float = -math.inf
    used: int = 0


class Rates:
    """Windows of the clock, by app, bucket and top-level resource; and the bad answers of the last ten minutes."""

    def __init__(self, clock: Clock) -> None:
        self.on = True
        self.buckets = dict(BUCKETS)
        self.each_second = GLOBAL
        self.bad_answers = 10_000  # 401, 403 or 429 within ten minutes; more, and the address is banned
        self.bad: deque[float] = deque()
        self._clock = clock
        self._windows: dict[tuple[str, str, str], Window] = {}
        self._all: dict[str, Window] = {}

    def take(self, app: str, bucket: str, resource: str) -> tuple[Window, float]:
        """The window a call falls into, and 0 if it is counted there or the seconds of the clock to wait."""
        limit, seconds = self.buckets.get(bucket, _OTHER) if self.on else (1000, 1.0)
        window = self._windows.setdefault((app, bucket, resource), Window(limit, seconds))
        window.limit, window.seconds = limit, seconds
        return window, self._count(window)

    def take_global(self, app: str) -> float:
        if not self.on:
            return 0.0
        return self._count(self._all.setdefault(app, Window(self.each_second, 1.0)))

    def left(self, window: Window) -> float:
        """Seconds of the clock until it opens again."""
        return max(0.0, window.opened + window.seconds - self._clock.now())

    def _count(self, window: Window) -> float:
        now = self._clock.now()
        if now - window.opened >= window.seconds:
            window.opened, window.used = now, 0
        if window.used >= window.limit:
            return self.left(window)
        window.used += 1
        return 0.0

    def headers(self, window: Window, bucket: str) -> dict[str, str]:
        left = self.left(window) / self._clock.scale
        return {
            "X-RateLimit-Limit": str(window.limit),
            "X-RateLimit-Remaining": str(window.limit - window.used),
            "X-RateLimit-Reset": f"{time.time() + left:.3f}",
            "X-RateLimit-Reset-After": f"{left:.3f}",
            "X-RateLimit-Bucket": bucket,
        }

    def answered(self, status: int, *, shared: bool = False) -> None:
        if status in (401, 403) or (status == 429 and not shared):
            self.bad.append(self._clock.now())

    @property
    def banned(self) -> bool:
        while self.bad and self._clock.now() - self.bad[0] >= 600:
            self.bad.popleft()
        return len(self.bad) > self.bad_answers
