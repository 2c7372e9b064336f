"""Edits of one message, in order: a step's edit that waited or was tried again must not come after the answer's."""

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


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
