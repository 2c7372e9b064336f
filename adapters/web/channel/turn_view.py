"""One turn in the browser: a sign of life at once, the steps in a message that grows, then the answer as its own.

Each is one row, known by the turn: what is said again after a crash takes its own place, so there are never two.
Source: product.md §1; reliability.md R6 and R10.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from adapters.markdown.events import EMPTY, StepSummary, changes_markdown, doubt_line, shortened, step_text, thinking
from adapters.port import GoneError, PostError, TurnView
from adapters.web.channel.messages import Board
from agent.events import Answered, Step
from bot.errors import StoreError
from bot.records import BotMessage, RoomMessage
from bot.types import Claimed, StepsShown
from retrieval.i18n import Language

log = logging.getLogger(__name__)

STEP = 600  # characters of one step: nobody reads more of a thought in a thread


class NotKeptError(PostError):
    """The database did not take it: it is to be tried again."""

    code = "store"


class ThreadGoneError(GoneError):
    """There is nothing left of the thread."""

    code = "thread_not_found"


class WebThread(TurnView):
    """A turn's view: see `adapters.port.TurnView`.

    A `steps` message has `turn`, `asked` (the question's id), `lines`, whether it is still `thinking`, and the
    `summary` into which it is folded once the answer is there; an `answer` has `turn`, `asked`, `outcome`, `unsure`,
    `model`, `seconds` and `citations`, each with `gone` and `document_id` when it is read."""

    def __init__(
        self,
        board: Board,
        claimed: Claimed,
        *,
        steps: StepsShown,
        language: Language,
        answered: Callable[[], Awaitable[None]],
    ) -> None:
        """`answered` is called once the answer is there."""
        message = claimed.message
        self._board = board
        self._turn = claimed.id
        self._room, self._thread, self._asked = message.place.channel, int(message.thread), int(message.message)
        self._behind = claimed.waiting > 0
        self._shut = False  # an answer stands there: nothing new comes below it
        self._shown = steps
        self._language = language
        self._answered = answered
        self._lines: list[str] = []
        self._summary = StepSummary()
        self._parts: dict[int, RoomMessage] = {}  # of the steps, as they were written last

    async def begin(self) -> None:
        """Say that it is at work, unless an earlier attempt has said more."""
        try:
            earlier = await self._board.of(self._turn)
            self._parts = {each.part: each for each in earlier if each.kind == "steps"}
            self._shut = any(each.kind == "answer" for each in earlier)
            self._behind = not self._shut and (self._behind or bool(earlier))
            if not earlier:
                await self._put(0, [], over=False)
        except StoreError as error:
            log.warning("that turn %s has begun could not be shown: %s", self._turn, error)

    async def step(self, event: Step) -> None:
        line = step_text(event, self._language, named=self._shown == "verbose")
        self._summary.add(event)
        if line and self._shown != "off":
            self._lines.append(shortened(line, STEP))
            await self._write(over=False)

    async def answer(self, answered: Answered) -> None:
        """Raises PostError."""
        data = {
            "turn": self._turn,
            "asked": self._asked,
            "outcome": answered.outcome,
            "person": answered.person,
            "unsure": bool(doubt_line(answered, self._language)),
            "model": answered.model,
            "seconds": answered.seconds,
            "citations": [asdict(citation) for citation in answered.citations],
        }
        changed = changes_markdown(answered, self._language)
        text = answered.text if answered.text.strip() else EMPTY.to(self._language)
        text = f"{changed}\n\n{text}" if changed else text
        try:
            if not await self._board.has_thread(self._room, self._thread):
                raise ThreadGoneError(self._turn)
            await self._write(over=True, took=answered.seconds)
            await self._board.put(BotMessage(self._room, self._thread, self._turn, "answer", text, data=data))
        except StoreError as error:
            raise NotKeptError(self._turn) from error
        await self._answered()

    async def close(self) -> None:
        """Without an answer the steps stay as they are for whoever takes the turn up: nothing goes on by itself
        here."""

    async def remove(self) -> None:
        """See `TurnView.remove`. Raises StoreError."""
        await self._board.drop(await self._board.of(self._turn))

    async def _write(self, *, over: bool, took: float = 0) -> None:
        """Never raises: steps are a decoration. `over`: the answer comes, after so many seconds."""
        summary = self._summary.text(took, self._language) if over and self._shown == "live" else ""
        try:
            if self._behind and self._lines:  # others' answers may stand under the sign of life by now
                self._behind = False
                await self._drop_from(0)
            lines = [self._lines] if self._shown == "live" and self._lines else [[line] for line in self._lines]
            if self._shut:
                lines = lines[: len(self._parts)]
            for part, its in enumerate(lines):
                await self._put(part, its, over=over or part < len(lines) - 1, summary=summary)
            if over and lines:
                await self._drop_from(len(lines))
            elif over:  # nothing of this attempt's: what an earlier one has shown is all there is
                for part, each in list(self._parts.items()):
                    if each.data["lines"]:
                        folded = str(each.data.get("summary", ""))
                        await self._put(part, each.data["lines"], over=True, summary=folded)
                    else:
                        await self._drop_from(part)
        except StoreError as error:
            log.warning("the steps of turn %s cannot be shown: %s", self._turn, error)

    async def _put(self, part: int, lines: list[str], *, over: bool, summary: str = "") -> None:
        data: dict[str, Any] = {"turn": self._turn, "asked": self._asked, "lines": list(lines), "thinking": not over}
        if summary:
            data["summary"] = summary
        before = self._parts.get(part)
        if before is None or dict(before.data) != data:
            text = "\n".join(lines) or thinking(0, self._language)
            said = BotMessage(self._room, self._thread, self._turn, "steps", text, part, data)
            self._parts[part] = await self._board.put(said)

    async def _drop_from(self, part: int) -> None:
        gone = [each for number, each in self._parts.items() if number >= part]
        self._parts = {number: each for number, each in self._parts.items() if number < part}
        await self._board.drop(gone)
