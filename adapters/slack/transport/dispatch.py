"""The one place where what Slack sends is handed to the app, whichever way it came.

Source: reliability.md R1 and R4.
"""

import logging
from typing import Any

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

log = logging.getLogger(__name__)

NOT_STORED = 503  # a middleware's answer to an event that is not stored, nor acknowledged: Slack sends it again


async def dispatch(app: AsyncApp, kind: str, **request: Any) -> BoltResponse:
    """The app's answer to what a Bolt request is made of: an acknowledgement also of what nobody works on, or
    NOT_STORED."""
    try:
        response = await app.async_dispatch(AsyncBoltRequest(**request))
    except Exception:
        log.exception("an envelope of type %s could not be worked on", kind)
        return BoltResponse(status=200)
    if response.status not in (200, NOT_STORED):
        log.info("nobody works on an envelope of type %s", kind)
        return BoltResponse(status=200)
    return response
