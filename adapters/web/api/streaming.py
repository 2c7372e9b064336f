"""Turns that somebody waits for over HTTP: the answer at the end, or a stream of events; and what happens when they
leave."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, Literal

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agent.events import Answered, Event
from bot.errors import StoreError
from bot.turns.turns import Turns
from bot.types import Incoming

log = logging.getLogger(__name__)

ALIVE_SECONDS = 15.0  # a stream without news says that it lives
_ALIVE = b": working\n\n"


class ReaderGoneError(Exception):
    """Whoever asked has left."""


class Replies:
    """Each turn has a task of its own: whoever leaves cancels it once, and it still closes its question.

    Source: product.md §1 "Never silent"; `adapters/terminal/channel.py` does the same for a terminal.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._running: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def put(self, message: Incoming) -> AsyncIterator["asyncio.Queue[Event | None]"]:
        """The turn's events as they come, then None. Leaving the block by an exception withdraws the question."""
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        task = asyncio.create_task(self._turn(message, events), name="web-turn")
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            yield events
        except BaseException:
            task.cancel()
            raise

    async def answer(self, message: Incoming, receive: Receive) -> Answered | None:
        """The turn's answer; None when it ended without one. Raises ReaderGoneError."""
        async with self.put(message) as events, _watching(receive) as gone:
            while (event := await _next(events, gone)) is not None:
                if isinstance(event, Answered):
                    return event
        return None

    async def close(self) -> None:
        """Wait for turns that are being closed; there is nobody left who waits for an answer."""
        while self._running:
            for task in self._running:
                task.cancel()
            await asyncio.wait(self._running)

    async def _turn(self, message: Incoming, events: "asyncio.Queue[Event | None]") -> None:
        try:
            async with aclosing(self._turns.reply(message)) as found:
                async for event in found:
                    events.put_nowait(event)
        except asyncio.CancelledError:
            await self._withdraw(message)
            raise
        except Exception:
            log.exception("a reply failed")
        finally:
            events.put_nowait(None)

    async def _withdraw(self, message: Incoming) -> None:
        try:
            await self._turns.withdraw(message)
        except StoreError:  # `server._close_abandoned` comes by again
            log.warning("a question that nobody waits for could not be closed", exc_info=True)


class EventStream(Response):
    """Server-sent events, one JSON object each; a comment now and then shows that it lives."""

    media_type = "text/event-stream"

    def __init__(
        self,
        replies: Replies,
        message: Incoming,
        form: Callable[[Event], dict[str, Any]],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(headers={**(headers or {}), "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._replies = replies
        self._message = message
        self._form = form

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        try:
            async with self._replies.put(self._message) as events, _watching(receive) as gone:
                while (event := await _next(events, gone, ALIVE_SECONDS)) is not None:
                    await send(_chunk(_ALIVE if event == "waiting" else _event(self._form(event))))
        except ReaderGoneError:
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _event(value: dict[str, Any]) -> bytes:
    """One event. The separators that JSON leaves as they are and some clients take for line ends are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    for separator in ("\x7f", "\x85", "\u2028", "\u2029"):
        text = text.replace(separator, f"\\u{ord(separator):04x}")
    return f"data: {text}\n\n".encode("utf-8", "replace")


def _chunk(body: bytes) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": True}


@asynccontextmanager
async def _watching(receive: Receive) -> AsyncIterator["asyncio.Future[None]"]:
    """Done when whoever asked has left. The request's body has been read."""
    gone = asyncio.ensure_future(_left(receive))
    try:
        yield gone
    finally:
        gone.cancel()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _next(
    events: "asyncio.Queue[Event | None]", gone: "asyncio.Future[None]", patience: float | None = None
) -> Event | Literal["waiting"] | None:
    """The next event, or `waiting` when there is none within `patience` seconds. Raises
    ReaderGoneError."""
    coming = asyncio.ensure_future(events.get())
    either: list[asyncio.Future[Any]] = [coming, gone]
    try:
        await asyncio.wait(either, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        if coming.done():
            return coming.result()
        if gone.done():
            raise ReaderGoneError
        return "waiting"
    finally:
        coming.cancel()
