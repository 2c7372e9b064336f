"""One call of Slack's Web API, tried again where that is safe: the only retry policy there is. Edits of one message
stay in order: a step's edit that waited or was tried again must not come after the answer's.

The SDK's retry handlers (slack_sdk/http_retry) stand inside one request: they neither know what must not be sent twice,
such as chat.postMessage after a broken connection, nor wait for another turn, nor see that an edit is stale by then.
Source: reliability.md R7 and §0 finding 2; docs.slack.dev/apis/web-api.
"""

import asyncio
import itertools
import json
import logging
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.shared.rate_limit import CallTicket, Clock, Priority
from adapters.slack.transport.errors import (
    BUSY,
    LASTING,
    PASSING,
    CredentialsError,
    NotSent,
    SlackError,
    UnknownOutcome,
    UnreachableError,
    UnsupportedError,
    refusal,
)
from adapters.slack.transport.rate_limits import Pacer, Shared
from adapters.slack.transport.sessions import RENAME, SESSION
from bot.waiting import Sleep
from retrieval.text import encodable


@dataclass(slots=True)
class _Message:
    alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    newest: int = -1
    newest_last: int = -1
    asked: int = 0  # edits that are under way


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit. Hold `alone` while it is on its way to Slack."""

    number: int
    last: bool
    _message: _Message

    @property
    def alone(self) -> asyncio.Lock:
        return self._message.alone

    @property
    def stale(self) -> bool:
        """Whether a newer edit has been asked for; for one that is `last`, a newer last one."""
        return self.number < (self._message.newest_last if self.last else self._message.newest)


class Edits:
    def __init__(self) -> None:
        self._messages: dict[tuple[str, str], _Message] = {}
        self._numbers = itertools.count()

    @contextmanager
    def asked(self, channel: str, ts: str, *, last: bool) -> Iterator[Edit]:
        """An edit, from when it is asked for until it is done or given up."""
        message = self._messages.setdefault((channel, ts), _Message())
        edit = Edit(next(self._numbers), last, message)
        message.newest = edit.number
        if last:
            message.newest_last = edit.number
        message.asked += 1
        try:
            yield edit
        finally:
            message.asked -= 1
            if not message.asked:
                del self._messages[channel, ts]


log = logging.getLogger(__name__)

Json = dict[str, Any]

TRIES = 5
LONGEST_WAIT = 60.0
CALL_SECONDS = 10.0
ASK_AGAIN_SECONDS = 600.0  # for a scope that was missing: somebody may have added it
_REMEMBERED = 1_000
_OPTIONAL = frozenset({SESSION, RENAME})  # of agents only: nothing is missed


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """`scopes` are those of the token, where Slack says."""

    body: Json
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Busy:
    seconds: float


@dataclass(frozen=True, slots=True)
class _Lost:
    """No answer. `sent`: the request may have arrived, and been acted upon."""

    code: str
    sent: bool = True


class Tries:
    """How often something was tried, and the random time until the next try (full jitter: 0..1, 0..2, 0..4 s …)."""

    def __init__(self, most: int = TRIES, *, chance: Callable[[], float] = random.random) -> None:
        """`chance` is evenly spread over 0..1."""
        self._most = most
        self._chance = chance
        self._made = 0

    def next(self) -> float | None:
        """The wait in seconds; None: enough was tried."""
        self._made += 1
        return None if self._made >= self._most else self._chance() * min(LONGEST_WAIT, 2.0 ** (self._made - 1))


class Caller:
    def __init__(
        self,
        web: AsyncWebClient,
        *,
        clock: Clock,
        sleep: Sleep,
        chance: Callable[[], float] = random.random,
        seconds: float = CALL_SECONDS,
        shared: Shared | None = None,
    ) -> None:
        """`web` has no retry handlers and the session all calls share. `seconds` is what one try may take."""
        self._web = web
        self._sleep = sleep
        self._chance = chance
        self._seconds = seconds
        self._absent = _Absent(clock)
        self.refused = asyncio.Event()  # set when Slack did not take the token
        self.pacer = Pacer(clock=clock, sleep=sleep, shared=shared)

    def lacks(self, method: str, channel: str) -> bool:
        """Whether Slack has said that it does not offer a method there."""
        return self._absent.find(method, channel) is not None

    def tries(self, most: int = TRIES) -> Tries:
        return Tries(most, chance=self._chance)

    async def call(
        self,
        method: str,
        arguments: Mapping[str, Any],
        *,
        priority: Priority | CallTicket = Priority.ORDINARY,
        repeat: bool = True,
        tries: Tries | None = None,
        edit: Edit | None = None,
    ) -> ApiAnswer:
        """Slack's answer. An `edit` that became stale while it waited is not sent, and its answer empty.

        Without `repeat` nothing is sent again that may have arrived: raises UnknownOutcome instead. Raises SlackError
        and its kinds; UnreachableError after the last try; NotSent once the ticket is dropped.
        """
        channel = str(arguments.get("channel") or arguments.get("channel_id") or "")
        if absent := self._absent.find(method, channel):
            raise UnsupportedError(absent.method, absent.code, needed=absent.needed)
        tries = tries or self.tries()
        while True:
            await self.pacer.turn(method, channel, priority)
            if isinstance(priority, CallTicket) and priority.dropped:
                raise NotSent(method, "dropped")
            async with edit.alone if edit else nullcontext():
                if edit and edit.stale:
                    return ApiAnswer({})
                outcome = await self._attempt(method, arguments)
            match outcome:
                case ApiAnswer():
                    return outcome
                case SlackError():
                    if isinstance(outcome, UnsupportedError):
                        self._absent.remember(outcome, channel)
                    if isinstance(outcome, CredentialsError):
                        self.refused.set()
                    raise outcome
                case _Lost(code, sent):
                    if sent and not repeat:
                        raise UnknownOutcome(method, code)
                    wait = tries.next()
                    if wait is None:
                        raise UnreachableError(method, code)
                    log.info("%s failed (%s); trying again in %.1f s", method, code, wait)
                    await self._sleep(wait)
                case _Busy(seconds):
                    self.pacer.pause(method, channel, seconds)
                    log.info("%s is rate limited for %.0f s", method, seconds)
                    if tries.next() is None:
                        raise UnreachableError(method, "ratelimited")

    async def _attempt(self, method: str, arguments: Mapping[str, Any]) -> ApiAnswer | SlackError | _Busy | _Lost:
        """One request. What went wrong is returned: an SDK's exception has the request in it, and so the token."""
        if self._web.session is None or self._web.session.closed:
            raise RuntimeError("the connection to Slack is not open")
        try:
            async with asyncio.timeout(self._seconds):
                # By name, as pace, log and what is absent go by it; the SDK's typed methods end in this call, too.
                response = await self._web.api_call(method, data=_form(arguments))
            return _judged(method, response.status_code, response.headers, response.data)
        except SlackApiError as error:
            response = error.response  # aiohttp's own when its body was no JSON
            status: int = getattr(response, "status_code", 0) or getattr(response, "status", 0)
            return _judged(method, status, response.headers, getattr(response, "data", None))
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            return _Lost("no connection", sent=False)
        except TimeoutError:
            return _Lost("timeout")
        except (aiohttp.ClientError, OSError) as error:
            return _Lost(type(error).__name__)
        except (AttributeError, ValueError):  # the SDK takes every body for an object
            return _Lost("no answer of Slack's")


def _judged(
    method: str, status: int, headers: Mapping[str, str], body: object
) -> ApiAnswer | SlackError | _Busy | _Lost:
    told: Json = body if isinstance(body, dict) else {}
    code = str(told.get("error") or "")
    if status == 429 or code in BUSY:
        return _Busy(seconds_told(headers.get("Retry-After")))
    if status >= 500 or code in PASSING:
        return _Lost(code or f"http {status}")
    if told.get("ok") and status == 200:
        scopes = headers.get("X-OAuth-Scopes") or ""
        return ApiAnswer(told, frozenset(scope.strip() for scope in scopes.split(",") if scope.strip()))
    if code:
        return refusal(method, code, told)
    return _Lost("no answer of Slack's") if status < 400 else SlackError(method, f"http {status}")


def seconds_told(told: str | None) -> float:
    """The wait that a Retry-After header demands; a second where it says nothing that can be read."""
    try:
        return max(0.0, float(told or 1))
    except ValueError:
        return 1.0


def _form(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Every method takes a form, and some take nothing else; what has structure goes as JSON inside."""
    return {name: _field(value) for name, value in arguments.items() if value is not None}


def _field(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return encodable(text)


class _Absent:
    """A method that this server, or this token, does not offer: said once in the log, and not asked for again.

    A missing scope or feature may hold for some channels only, and may be added while we run.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lasting: dict[str, UnsupportedError] = {}
        self._passing: dict[tuple[str, str], tuple[float, UnsupportedError]] = {}
        self._said: set[tuple[str, str]] = set()

    def find(self, method: str, channel: str) -> UnsupportedError | None:
        until, passing = self._passing.get((method, channel), (0.0, None))
        return passing if passing and self._clock() < until else self._lasting.get(method)

    def remember(self, error: UnsupportedError, channel: str) -> None:
        if error.code in LASTING:
            self._lasting[error.method] = error
        else:
            now = self._clock()
            if len(self._passing) >= _REMEMBERED:
                self._passing = {key: kept for key, kept in self._passing.items() if kept[0] > now}
            self._passing[error.method, channel] = (now + ASK_AGAIN_SECONDS, error)
        if (error.method, error.code) not in self._said:
            self._said.add((error.method, error.code))
            if error.method not in _OPTIONAL:
                log.warning("Slack does not let us use %s; doing without", error)
