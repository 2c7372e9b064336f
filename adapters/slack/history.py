"""What was said in a place: a thread's newest messages, and our own message with a certain mark.

Source: reliability.md R6 and R30; docs.slack.dev conversations.replies ("the earliest messages … are returned first")
and conversations.history (the newest first).
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from adapters.slack.marks import Mark
from adapters.slack.people import next_page

Json = dict[str, Any]
Call = Callable[[str, Json], Awaitable[Json]]

_PAGE = 200  # "We recommend no more than 200 results at a time"
_PAGES = 10


async def replies(call: Call, channel: str, thread: str, limit: int) -> list[Json]:
    """The thread's root, then its newest messages, oldest first; at most `limit` in all."""
    found: dict[str, Json] = {}
    async for page in _pages(call, "conversations.replies", {"channel": channel, "ts": thread}):
        found |= {str(message.get("ts")): message for message in page}
    root = [found.pop(thread)] if thread in found else []
    newest = [found[ts] for ts in sorted(found)]
    room = max(0, limit - len(root))
    return [*root, *newest[max(0, len(newest) - room) :]][:limit]


async def find(call: Call, channel: str, thread: str | None, mark: Mark, bot_id: str) -> str | None:
    """The ts of our message with this mark: in the thread, or among the newest of the channel."""
    method = "conversations.replies" if thread else "conversations.history"
    async for page in _pages(call, method, {"channel": channel, "ts": thread}):
        for message in page:
            ours = not bot_id or message.get("bot_id") == bot_id
            if ours and mark.is_on(message):
                return str(message["ts"])
    return None


async def _pages(call: Call, method: str, arguments: Json) -> AsyncIterator[list[Json]]:
    arguments = {**arguments, "limit": _PAGE, "include_all_metadata": True}
    for _ in range(_PAGES):
        body = await call(method, arguments)
        yield body.get("messages") or []
        cursor = next_page(body)
        if not cursor:
            return
        arguments["cursor"] = cursor
