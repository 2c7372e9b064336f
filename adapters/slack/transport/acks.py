"""People's gestures in Slack are acknowledged in time: an acknowledgement waits for what has to be durable, but not
for long.

Source: reliability.md R3 and R44; docs.slack.dev interactivity (3 s for an acknowledgement, and for a trigger_id).
"""

import asyncio
import json
import logging
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.response import BoltResponse

from adapters.slack.context import SlackContext
from adapters.slack.rendering.block_kit import Json, notice_modal
from adapters.slack.transport.errors import SlackError
from bot.waiting import beside
from retrieval.i18n import Text

log = logging.getLogger(__name__)

ACK_SECONDS = 2.0  # of the 3 that Slack gives; the rest is the network's
VIEW_SECONDS = 1.5
GESTURES = 1_000  # that are remembered
ACK_BYTES = 16_000  # of a text in an acknowledgement. Over 20,480 in all Slack ends the connection (slax PR 614)

_MOMENT = Text(en="One moment …", ja="少々お待ちください…")
_NOT_OPENED = Text(
    en="Slack did not open the form. Please try again.",
    ja="Slack でフォームを開けませんでした。もう一度お試しください。",
)

Ack = Callable[..., Awaitable[Any]]
Press = Callable[[Json, str], Coroutine[Any, Any, None]]
Tell = Callable[[str], Awaitable[None]]
T = TypeVar("T")


async def in_time(
    context: SlackContext, work: Coroutine[Any, Any, T], late: Callable[[T], Awaitable[None]], failed: T, name: str
) -> T | None:
    """The result of `work`, for the acknowledgement; `failed` when it breaks off, which is logged.

    None: it takes longer, and `late` gets what comes of it.
    """
    found: list[T] = []
    waiting = True

    async def run() -> None:
        outcome = await work
        if waiting:
            found.append(outcome)
        else:
            await late(outcome)

    task = context.tasks.start(run(), name)
    await asyncio.wait({task}, timeout=ACK_SECONDS)
    waiting = False
    return found[0] if found else failed if task.done() else None


def fits(text: str) -> bool:
    """Whether an acknowledgement can hold it, in which all beyond ASCII takes six bytes a character."""
    return len(json.dumps(text)) <= ACK_BYTES


def on_press(app: AsyncApp, context: SlackContext, button: str | re.Pattern[str], work: Press, name: str) -> None:
    """Acknowledge a button at once; then do `work` with the payload and the button's value, in a task of that name."""

    @app.action(button)
    async def pressed(ack: Ack, body: Json, action: Json) -> None:
        await ack()
        context.tasks.start(work(body, str(action.get("value") or "")), name)


def thread_of(body: Json) -> str | None:
    """The thread of the message whose button was pressed."""
    found: str | None = body.get("message", {}).get("thread_ts") or body["container"].get("thread_ts")
    return found


async def open_in_time(
    context: SlackContext, trigger: str, view: Coroutine[Any, Any, Json], user: str, tell: Tell
) -> None:
    """Open a modal for `user` within the three seconds of its trigger, also when more than that goes into `view`;
    `tell` says that it did not open."""
    try:
        async with beside(view, "slack-view") as made:
            await asyncio.wait({made}, timeout=VIEW_SECONDS)
            if made.done():
                await context.slack.open_view(trigger, made.result())
            else:
                moment = notice_modal(_MOMENT.to(context.language), context.language)
                opened = await context.slack.open_view(trigger, moment)
                await context.slack.update_view(str(opened["id"]), await made)
    except SlackError as error:
        log.warning("a modal could not be opened: %s %s", error.code, " ".join(error.detail))
        if error.code != "not_found":  # else it was closed meanwhile
            await tell(_NOT_OPENED.to(await context.language_of(user)))


def once() -> Callable[..., Awaitable[BoltResponse]]:
    """Bolt's middleware: a gesture that comes again is acknowledged and left alone. Each has a trigger_id of its own.

    What is answered in its acknowledgement goes on: the answer may have been lost, and it is claimed by what it is.
    """
    seen: OrderedDict[str, None] = OrderedDict()

    async def middleware(body: Mapping[str, Any], next: Callable[[], Awaitable[BoltResponse]]) -> BoltResponse:
        trigger = str(body.get("trigger_id") or "")
        answered = body.get("type") == "view_submission" or body.get("command") == "/ingest"
        if trigger and not answered:
            if trigger in seen:
                return BoltResponse(status=200)
            if len(seen) >= GESTURES:
                seen.popitem(last=False)
            seen[trigger] = None
        return await next()

    return middleware
