"""The other way in: Slack posts events, gestures and commands to an address of ours, each signed with the app's secret.
Any number of processes may stand behind that address.

What could not be stored, or came while the bot is not at work, is answered so that Slack sends it again.
Source: reliability.md R1, R2, R4 and R20; docs.slack.dev/authentication/verifying-requests-from-slack.
"""

import asyncio
import hashlib
import hmac
import re
import time
import uuid
from collections.abc import Mapping

from pydantic import SecretStr
from slack_bolt.app.async_app import AsyncApp

from adapters.port import WebhookReply
from adapters.slack.transport.dispatch import NOT_STORED, dispatch

AGE_SECONDS = 300

_PASSED_ON = ("content-type", "x-slack-retry-num", "x-slack-retry-reason")  # headers: the signature covers none
_KINDS = {"application/json": "event", "application/x-www-form-urlencoded": "gesture"}
_SSL_CHECK = re.compile(rb"(?:^|&)ssl_check=1(?:&|$)")


class HttpEvents:
    """The address, for as long as the process lives; `run` serves an app at it. `connected`: events can arrive now."""

    def __init__(self, secret: SecretStr) -> None:
        self._secret = secret
        self._app: AsyncApp | None = None
        self.first = asyncio.Event()  # set once events can arrive
        self.heard = ""  # another one after each time in which something may have been missed

    @property
    def connected(self) -> bool:
        return self._app is not None

    async def run(self, app: AsyncApp) -> None:
        """Until cancelled."""
        self._app = app
        self.heard = uuid.uuid4().hex
        self.first.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._app = None

    async def take(self, headers: Mapping[str, str], body: bytes) -> WebhookReply:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if _KINDS.get(kind) == "gesture" and _SSL_CHECK.search(body):
            return WebhookReply(200)  # Slack looks at the certificate of a command's address, as anybody may
        if not self._is_slacks(headers, body):
            return WebhookReply(401)
        if self._app is None:
            return WebhookReply(NOT_STORED)
        if kind not in _KINDS:
            return WebhookReply(415)
        told = {name: headers[name] for name in _PASSED_ON if name in headers}
        response = await dispatch(self._app, _KINDS[kind], body=body.decode(errors="replace"), headers=told)
        return WebhookReply(response.status, response.body, response.first_headers()["content-type"])

    def _is_slacks(self, headers: Mapping[str, str], body: bytes) -> bool:
        """The SDK's verifier raises for half of what strangers can send."""
        made = headers.get("x-slack-request-timestamp", "")
        if not (made.isascii() and made.isdigit() and len(made) < 16 and abs(time.time() - int(made)) <= AGE_SECONDS):
            return False
        signed = hmac.new(self._secret.get_secret_value().encode(), b"v0:%s:%s" % (made.encode(), body), hashlib.sha256)
        return hmac.compare_digest(headers.get("x-slack-signature", "").encode(), f"v0={signed.hexdigest()}".encode())
