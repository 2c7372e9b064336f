"""Messages that arrive once: each carries a mark, by which it is found again when nobody knows whether it arrived.

Slack has no argument that would make chat.postMessage idempotent. Source: reliability.md R6.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from adapters.pacing import Priority, Ticket
from adapters.slack.calling import Caller
from adapters.slack.errors import CredentialsError, GoneError, NotSent, SlackError, UnknownOutcome
from bot.types import PostKind
from bot.waiting import Sleep

Json = dict[str, Any]

EVENT_TYPE = "kotae"
SETTLED_SECONDS = 2.0  # what was sent before the answer was lost may show only then
_BLOCK_ID = 255  # characters; Source: docs.slack.dev blocks
_KEEPS_NO_ID = ("markdown",)  # an id "will be ignored in markdown blocks and will not be retained"


class Mark(NamedTuple):
    """What a message is, and the only one that is it: as `bot.types.Post`."""

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
    ticket: Ticket | None = None,
) -> str:
    """The ts of the message, posted or found. `find` looks for the mark where the message belongs.

    Raises UnknownOutcome when it may have been posted and was not found, or cannot be looked for; SlackError; NotSent when
    `ticket` is dropped before the first try.
    """
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
