"""Answers at a response_url: whoever knows one may post there, so it goes to Slack's hosts only, and into no log. Which
addresses are Slack's: where a token may be sent, and what may be followed without one.

Source: reliability.md R41; docs.slack.dev file objects (url_private needs the token);
docs.slack.dev/interactivity/handling-user-interaction (at most 5 answers, within 30 minutes).
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
from yarl import URL

from adapters.shared.rate_limit import Clock
from adapters.slack.transport.api_call import Tries, seconds_told
from adapters.slack.transport.errors import GoneError, SlackError, UnknownOutcome, UnreachableError, refusal
from bot.waiting import Sleep

API = "https://slack.com/api/"

_SLACK = ("slack.com", "slack-gov.com")
_ASSETS = ("slack-files.com", "slack-edge.com")
_HOOKS = ("hooks.slack.com", "hooks.slack-gov.com")


class Addresses:
    """`api` is the base of the Web API: Slack's own, or the server that stands in for it."""

    def __init__(self, api: str) -> None:
        self._api = URL(api).origin()

    def gets_token(self, url: URL) -> bool:
        """The API's own origin (scheme, host and port), or a host of Slack's over https."""
        return self.is_api(url) or _is_under(url, _SLACK)

    def is_slack(self, url: URL) -> bool:
        """Also where Slack keeps files that need no token."""
        return self.gets_token(url) or _is_under(url, _ASSETS)

    def takes_responses(self, url: URL) -> bool:
        """A response_url's."""
        return self.is_api(url) or (url.scheme == "https" and url.host in _HOOKS)

    def is_api(self, url: URL) -> bool:
        return url.absolute and url.scheme in ("http", "https") and url.origin() == self._api


def _is_under(url: URL, domains: tuple[str, ...]) -> bool:
    host = (url.host or "").lower()
    return url.scheme == "https" and any(host == domain or host.endswith(f".{domain}") for domain in domains)


USES = 5
LIFETIME = 1_800.0
_NAME = "response_url"


class Responses:
    def __init__(
        self, addresses: Addresses, *, clock: Clock, sleep: Sleep, chance: Callable[[], float], seconds: float
    ) -> None:
        self._addresses = addresses
        self._clock = clock
        self._sleep = sleep
        self._chance = chance
        self._seconds = seconds
        self._used: dict[str, tuple[float, int]] = {}

    async def send(
        self, session: aiohttp.ClientSession, url: str, payload: Mapping[str, Any], *, proxy: str | None
    ) -> None:
        """POST a message; not again after an unknown outcome, which might show it twice.

        Raises GoneError (`used_url`, `expired_url`, `foreign_url`), UnknownOutcome, UnreachableError, SlackError.
        """
        target = URL(url)
        if not self._addresses.takes_responses(target):
            raise GoneError(_NAME, "foreign_url")
        tries = Tries(chance=self._chance)
        told = {name: value for name, value in payload.items() if value is not None}
        while True:
            self._count(url)
            outcome = await self._attempt(session, target, told, proxy)
            match outcome:
                case None:
                    return
                case float() | int():
                    wait: float | None = outcome if tries.next() is not None else None
                case SlackError():
                    if not isinstance(outcome, UnreachableError) or isinstance(outcome, UnknownOutcome):
                        raise outcome
                    wait = tries.next()
            if wait is None:
                raise UnreachableError(_NAME, outcome.code if isinstance(outcome, SlackError) else "ratelimited")
            await self._sleep(wait)

    def _count(self, url: str) -> None:
        now = self._clock()
        self._used = {key: used for key, used in self._used.items() if used[0] > now}
        until, uses = self._used.get(url, (now + LIFETIME, 0))
        if uses >= USES:
            raise GoneError(_NAME, "used_url")
        self._used[url] = until, uses + 1

    async def _attempt(
        self, session: aiohttp.ClientSession, url: URL, payload: Mapping[str, Any], proxy: str | None
    ) -> SlackError | float | None:
        """The failure; the seconds to wait; None: it is done."""
        # Not the SDK's AsyncWebhookClient: it follows redirects, past the check of the host, and logs the address.
        try:
            async with (
                asyncio.timeout(self._seconds),
                session.post(url, json=payload, allow_redirects=False, proxy=proxy) as response,
            ):
                if response.status == 429:
                    return seconds_told(response.headers.get("Retry-After"))
                if response.status >= 500:
                    return UnknownOutcome(_NAME, f"http {response.status}")
                return _refused(response.status, await response.text())
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            return UnreachableError(_NAME, "no connection")
        except TimeoutError:
            return UnknownOutcome(_NAME, "timeout")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return UnknownOutcome(_NAME, type(error).__name__)


def _refused(status: int, text: str) -> SlackError | None:
    """`ok`, or an object with the error, or its bare code."""
    body: Any = json.loads(text) if text.lstrip().startswith("{") else None
    code = str(body.get("error") or "") if isinstance(body, dict) else ""
    if status == 200 and not code:
        return None
    return refusal(_NAME, code or f"http {status}", body if isinstance(body, dict) else {})
