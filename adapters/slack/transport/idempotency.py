"""Messages that arrive once: each carries a mark, by which it is found again in its place or thread when nobody knows
whether it arrived.

Slack has no argument that would make chat.postMessage idempotent. Source: reliability.md R6 and R30; docs.slack.dev
conversations.replies ("the earliest messages … are returned first") and conversations.history (the newest first).
"""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from adapters.shared.rate_limit import CallTicket, Priority
from adapters.slack.transport.api_call import Caller
from adapters.slack.transport.directory import next_page
from adapters.slack.transport.errors import CredentialsError, GoneError, NotSent, SlackError, UnknownOutcome
from bot.types import PostKind
from bot.waiting import Sleep

Json = dict[str, Any]

EVENT_TYPE = "kotae"
SETTLED_SECONDS = 2.0  # what was sent before the answer was lost may show only then
_BLOCK_ID = 255  # characters; Source: docs.slack.dev blocks
_KEEPS_NO_ID = ("markdown",)  # an id "will be ignored in markdown blocks and will not be retained"


class Mark(NamedTuple):
    """The identity of a message, and the only message that has it: as `bot.types.Post`."""

    about: str
    kind: PostKind
    part: int

    @property
    def metadata(self) -> Json:
        return {"event_type": EVENT_TYPE, "event_payload": self._asdict()}

    @property
    def block_id(self) -> str:
        made = f"{EVENT_TYPE}:{self.kind}:{self.part}:{self.about}"
        return made if len(made) <= _BLOCK_ID else f"{EVENT_TYPE}:{hashlib.sha256(made.encode()).hexdigest()}"

    def on(self, blocks: Sequence[Mapping[str, Any]]) -> list[Json]:
        """The blocks with the mark as the id of the first that can have one and has none."""
        marked = [dict(block) for block in blocks]
        for block in marked:
            if not block.get("block_id") and block.get("type") not in _KEEPS_NO_ID:
                block["block_id"] = self.block_id
                break
        return marked

    def is_on(self, message: Mapping[str, Any]) -> bool:
        metadata = message.get("metadata") or {}
        told = metadata.get("event_payload") or {}
        if metadata.get("event_type") == EVENT_TYPE and all(
            str(told.get(name)) == str(value) for name, value in self._asdict().items()
        ):
            return True
        return any(block.get("block_id") == self.block_id for block in message.get("blocks") or ())


async def post_marked(
    caller: Caller,
    arguments: Json,
    mark: Mark | None,
    *,
    maybe_sent: bool,
    find: Callable[[Mark], Awaitable[str | None]],
    sleep: Sleep,
    ticket: CallTicket | None = None,
) -> str:
    """The ts of the message, posted or found. `find` looks for the mark where the message belongs.

    Raises UnknownOutcome when it may have been posted and was not found, or cannot be looked for; SlackError; NotSent
    when `ticket` is dropped before the first try."""
    if maybe_sent and mark is None:
        raise ValueError("what may have been sent cannot be found without a mark")
    if maybe_sent and mark and (ts := await _found(find, mark)):
        return ts
    priority, tries = ticket or Priority.FINAL, caller.tries()
    unknown: UnknownOutcome | None = None
    while True:
        try:
            answer = await caller.call("chat.postMessage", arguments, priority=priority, repeat=False, tries=tries)
            return str(answer.body["ts"])
        except NotSent as error:
            raise unknown or error from None
        except UnknownOutcome as error:
            unknown = UnknownOutcome(error.method, error.code)
        if mark is None:
            raise unknown
        wait = tries.next()
        await sleep(SETTLED_SECONDS + (wait or 0.0))
        if ts := await _found(find, mark):
            return ts
        if wait is None:
            raise unknown


async def _found(find: Callable[[Mark], Awaitable[str | None]], mark: Mark) -> str | None:
    """Not being allowed, or able, to look is no answer either."""
    try:
        return await find(mark)
    except (GoneError, CredentialsError):
        raise
    except SlackError as error:
        raise UnknownOutcome(error.method, error.code, needed=error.needed) from None


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
