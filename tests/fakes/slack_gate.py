"""What a call passes before Slack does anything: its token, its scopes, its rate, and the faults a test has ordered."""

import asyncio
import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.fakes.slack_world import App, Channel, Clock

Json = dict[str, Any]


class Refused(Exception):
    """An `ok: false`. `more` is what comes beside the error code."""

    def __init__(self, error: str, **more: Any) -> None:
        super().__init__(error)
        self.error = error
        self.more = more

    @classmethod
    def because(cls, error: str, problems: Iterable[str]) -> "Refused":
        """As Slack explains bad blocks: each problem with the place it is in."""
        told = list(problems)
        return cls(error, errors=told, response_metadata={"messages": [f"[ERROR] {each}" for each in told]})


# -- scopes and rates -----------------------------------------------------------------------------------------------


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BY_KIND = {"public": "channels", "private": "groups", "im": "im", "mpim": "mpim"}


@dataclass(frozen=True)
class Rule:
    """One method: calls a minute, and the scopes of which one is enough.

    `{}` in a scope stands for channels, groups, im or mpim, by the conversation. `form_only`: a JSON body is not read.
    """

    a_minute: int
    scopes: tuple[str, ...] = ()
    form_only: bool = False
    token: Literal["bot", "app"] = "bot"

    def asks(self, channel: Channel | None) -> tuple[str, ...]:
        kinds = [BY_KIND[channel.kind]] if channel else list(BY_KIND.values())
        return tuple(scope.format(kind) for scope in self.scopes for kind in (kinds if "{}" in scope else [""]))


# Tiers: docs.slack.dev/apis/web-api/rate-limits; the methods' pages say which is whose. Where a page says "special",
# the number is our guess. apps.connections.open is tier 1 on paper; several connections at once are let through.
RULES: Mapping[str, Rule] = {
    "apps.connections.open": Rule(60, ("connections:write",), token="app"),
    "api.test": Rule(100),
    "auth.test": Rule(600),
    "users.info": Rule(100, ("users:read",), form_only=True),
    "users.list": Rule(20, ("users:read",), form_only=True),
    "bots.info": Rule(50, ("users:read",), form_only=True),
    "conversations.info": Rule(50, ("{}:read",), form_only=True),
    "conversations.members": Rule(100, ("{}:read",), form_only=True),
    "conversations.replies": Rule(50, ("{}:history",), form_only=True),
    "conversations.history": Rule(50, ("{}:history",), form_only=True),
    "conversations.list": Rule(20, ("{}:read",), form_only=True),
    "conversations.open": Rule(50, ("im:write", "mpim:write")),
    "chat.postMessage": Rule(300, ("chat:write",)),
    "chat.postEphemeral": Rule(100, ("chat:write",)),
    "chat.update": Rule(50, ("chat:write",)),
    "chat.delete": Rule(50, ("chat:write",)),
    "chat.getPermalink": Rule(300, form_only=True),
    "chat.startStream": Rule(20, ("chat:write",)),
    "chat.appendStream": Rule(100, ("chat:write",)),
    "chat.stopStream": Rule(20, ("chat:write",)),
    "agents.sessions.setStatus": Rule(50, ("chat:write",)),
    "agents.sessions.rename": Rule(50, ("chat:write",)),
    "assistant.threads.setStatus": Rule(100, ("chat:write", "assistant:write")),
    "assistant.threads.setTitle": Rule(100, ("assistant:write",)),
    "assistant.threads.setSuggestedPrompts": Rule(100, ("assistant:write",)),
    "views.open": Rule(100),
    "views.push": Rule(100),
    "views.update": Rule(100),
    "views.publish": Rule(100),
    "reactions.add": Rule(50, ("reactions:write",)),
    "reactions.remove": Rule(20, ("reactions:write",)),
    "files.info": Rule(100, ("files:read",), form_only=True),
    "files.getUploadURLExternal": Rule(100, ("files:write",), form_only=True),
    "files.completeUploadExternal": Rule(100, ("files:write",)),
}

SCOPES = _words(
    "app_mentions:read channels:history channels:read chat:write commands files:read files:write groups:history "
    "groups:read im:history im:read im:write mpim:history mpim:read mpim:write reactions:read reactions:write "
    "users:read assistant:write team:read"
)
POST_BURST = 4  # "about one message per second per channel, short bursts are tolerated"; how short is unsaid


class Rates:
    """Calls within the last minute of the clock, by app and method; posts also by channel, one a second."""

    def __init__(self, clock: Clock, post_burst: int = POST_BURST) -> None:
        self._clock = clock
        self.a_minute = {method: rule.a_minute for method, rule in RULES.items()}
        self._burst = post_burst
        self._calls: dict[tuple[str, str], deque[float]] = defaultdict(deque)
        self._posts: dict[tuple[str, str], tuple[float, float]] = {}
        self.on = True

    def wait(self, app: App, method: str, channel: str) -> int:
        """0, and the call is counted; or the whole seconds to stay away."""
        if not self.on:
            return 0
        now = self._clock.now()
        calls = self._calls[app.id, method]
        while calls and now - calls[0] >= 60:
            calls.popleft()
        if len(calls) >= self.a_minute[method]:
            return max(1, math.ceil(60 - (now - calls[0])))
        if method == "chat.postMessage":
            tokens, at = self._posts.get((app.id, channel), (float(self._burst), now))
            tokens = min(float(self._burst), tokens + now - at)
            if tokens < 1:
                self._posts[app.id, channel] = tokens, now
                return max(1, math.ceil(1 - tokens))
            self._posts[app.id, channel] = tokens - 1, now
        calls.append(now)
        return 0


# -- faults ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """What happens to a call in place of the ordinary. Made by the functions below."""

    kind: Literal[
        "status", "error", "cut_after", "cut_before", "hang", "hang_after", "slow", "page", "held", "held_after"
    ]
    status: int = 200
    error: str = ""
    seconds: float = 0.0
    more: Mapping[str, Any] = field(default_factory=dict)
    hold: "Hold | None" = None


class Hold:
    """Calls that wait at Slack until a test lets them go on: meanwhile whoever made one may have given up."""

    def __init__(self) -> None:
        self.reached, self.released = asyncio.Event(), asyncio.Event()
        self.arguments: Json = {}  # of the call that waits


def held(hold: Hold, *, done: bool = False) -> Fault:
    """Nothing is done before `hold` is released; or it is `done` at once, and answered then."""
    return Fault("held_after" if done else "held", hold=hold)


def ratelimited(retry_after: int = 1) -> Fault:
    return Fault("status", 429, "ratelimited", retry_after)


def status(code: int) -> Fault:
    """500, 503 and their like, with Slack's short plain body; nothing is done."""
    return Fault("status", code)


def error(code: str, **more: Any) -> Fault:
    return Fault("error", error=code, more=more)


def page(code: int = 200) -> Fault:
    """A proxy's HTML in place of JSON."""
    return Fault("page", code)


def slow(seconds: float) -> Fault:
    """Done, and answered late."""
    return Fault("slow", seconds=seconds)


CUT_AFTER = Fault("cut_after")  # done, and the connection dropped before any answer
CUT_BEFORE = Fault("cut_before")  # dropped with nothing done
IGNORED = Fault("error", more={"ok": True})  # taken, and nothing done: by a proxy that does not know the method
HANG = Fault("hang")  # nothing done, no answer, the connection stays open
HANG_AFTER = Fault("hang_after")  # done, no answer


@dataclass
class _Armed:
    fault: Fault
    calls: frozenset[int] | None
    where: Callable[[Json], bool]
    seen: int = 0


class Faults:
    """Faults by method and by the number of the call, counted from 1 when the fault is armed."""

    def __init__(self) -> None:
        self._armed: dict[str, list[_Armed]] = defaultdict(list)

    def arm(self, method: str, fault: Fault, calls: Iterable[int] | None, where: Callable[[Json], bool]) -> None:
        self._armed[method].append(_Armed(fault, None if calls is None else frozenset(calls), where))

    def heal(self, method: str | None) -> None:
        if method is None:
            self._armed.clear()
        else:
            self._armed.pop(method, None)

    def due(self, method: str, arguments: Json) -> Fault | None:
        return next((each.fault for each in self._counted(method, arguments)), None)

    def _counted(self, method: str, arguments: Json) -> Iterator[_Armed]:
        due = []
        for each in [*self._armed.get(method, ()), *self._armed.get("*", ())]:
            if each.where(arguments):
                each.seen += 1
                if each.calls is None or each.seen in each.calls:
                    due.append(each)
        yield from due
