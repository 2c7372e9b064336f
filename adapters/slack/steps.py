"""A turn's steps on their way into messages: one that grows, or one a step.

Source: product.md §1; reliability.md R28 and R29; field.md #3 and #4.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from adapters.coalescing import Sleep, Writer
from adapters.markdown import thinking
from adapters.slack.client import GoneError, RefusedError, SlackError, StreamOver
from adapters.slack.dialect import escaped
from adapters.slack.stepmessage import PLAIN, SealedError, StepMessage, Turn, find, stop
from adapters.slack.taskcards import TaskCard, TaskCards, after, closed, weight
from agent.events import Step
from bot.messages import Post
from bot.store.engine import StoreError
from retrieval.text import Language

log = logging.getLogger(__name__)

Shown = Literal["live", "verbose", "off"]

EVERY_SECONDS = 2.0  # between two edits of a message
ROLL_SECONDS = 240.0  # Slack ends a stream after about five minutes
CARDS = 40  # in one message; Slack takes 50 (centaur PR 469)
BYTES = 9_000  # of text in one message; Slack takes about 10,600 (openclaw PR 143882)


@dataclass(eq=False, slots=True)
class _Part:
    """The cards of one message: from `start` on, up to the next part's."""

    start: int
    message: StepMessage | None = None
    opened: float = 0.0
    settled: bool = False


class Steps:
    """`add` and `wait` return at once: a turn never waits for Slack. Nothing here raises what Slack or the database does."""

    def __init__(
        self,
        turn: Turn,
        *,
        steps: Shown,
        language: Language,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._turn = turn
        self._steps = steps
        self._language = language
        self._clock = clock
        self._plain = False  # blocks are not accepted here
        self._cards: TaskCards = ()
        self._parts: list[_Part] = []
        self._earlier: Sequence[Post] = ()
        self._waited: int | None = None
        self._over = False
        self._complained = False
        self._in_view = asyncio.Event()
        self._in_view.set()
        pause = 0.0 if steps == "verbose" else EVERY_SECONDS
        self._writer = Writer(self._write, seconds=pause, name="slack-steps", sleep=sleep)

    def resume(self, posts: Iterable[Post]) -> None:
        """What an earlier attempt at this turn has posted, or was about to."""
        self._earlier = [post for post in posts if post.kind == "steps"]

    def add(self, event: Step) -> None:
        if self._steps == "off" or self._over:
            return
        known = len(self._cards)
        self._cards = after(self._cards, event, self._language)
        for number in range(known, len(self._cards)):
            self._seat(number)
        self._writer.wake()

    def wait(self, seconds: int) -> None:
        """Say that the turn has been at work for so long, where Slack itself cannot."""
        if self._over or (not self._cards and any(post.message for post in self._earlier)):
            return  # the earlier attempt's message is there, and stays until this one has steps
        self._waited = seconds
        if not self._parts:
            self._add_part(0)
        self._writer.wake()

    def end(self) -> None:
        """There are no more steps: what is there is written for the last time, without waiting."""
        if self._parts or self._earlier:
            self._writer.wake()
        self._writer.end()

    async def in_view(self, seconds: float) -> None:
        """Until all messages are there (not: up to date), but no longer than this."""
        await self._writer.until(self._in_view, seconds)

    async def finish(self, seconds: float) -> None:
        """`end`, and until it is done; what takes longer is cut off."""
        self.end()
        await self._writer.stopped(seconds)

    async def abandon(self, seconds: float) -> None:
        """The turn goes on elsewhere, or later: what is shown stays, and whoever has the turn takes it up."""
        self._over = True
        await self._writer.stopped(seconds)
        for part in self._parts:
            if part.message is not None:
                await part.message.stop()

    async def remove(self) -> None:
        """The question is gone, and so are its steps. For after `abandon` or `finish`."""
        self._over = True
        known = {part.message.ts for part in self._parts if part.message is not None}
        try:
            for post in await self._turn.desk.posts(self._turn.id):
                if post.kind == "steps":
                    lost = not post.message and post.data.get("stream")
                    known.add(await find(self._turn, post.part) if lost else post.message or "")
        except (SlackError, StoreError) as error:
            self._complain(error)
        for ts in sorted(known - {""}):
            await self._discard(ts)

    # -- which message a card is in ---------------------------------------------------------------------------------

    def _seat(self, number: int) -> None:
        if not self._parts or not self._fits(self._parts[-1], number):
            self._add_part(number)

    def _add_part(self, start: int) -> None:
        self._parts.append(_Part(start))
        self._in_view.clear()

    def _fits(self, part: _Part, number: int) -> bool:
        cards = self._cards[part.start : number]
        if part.settled or not cards or self._steps == "verbose":
            return not part.settled and not cards
        streaming = part.message is not None and part.message.streaming
        if streaming and self._clock() - part.opened >= ROLL_SECONDS:
            return False
        room, size = (PLAIN, _size) if self._plain else (BYTES, weight)
        return len(cards) < CARDS and sum(map(size, cards)) + size(self._cards[number]) <= room

    def _of(self, part: _Part) -> TaskCards:
        following = self._parts.index(part) + 1
        return self._cards[part.start : self._parts[following].start if following < len(self._parts) else None]

    # -- the writer -------------------------------------------------------------------------------------------------

    async def _write(self, last: bool) -> None:
        number = 0
        while number < len(self._parts) and not self._over:
            part = self._parts[number]
            number += 1
            if part.settled:
                continue
            try:
                await self._show(part, final=last or number < len(self._parts))
            except SealedError as error:
                log.info("a message of steps is replaced: %s", error)
                await self._replace(number - 1)
            except RefusedError as error:
                if self._plain:
                    self._give_up(error)
                else:
                    self._make_plain(number - 1)
                    number -= 1
            except (GoneError, StreamOver) as error:  # a reader may stop a stream
                self._give_up(error)
            except (SlackError, StoreError) as error:  # the next change tries again
                self._complain(error)
                break
        if self._over or all(part.settled or (part.message and part.message.ts) for part in self._parts):
            self._in_view.set()
        if last and not self._over:
            await self._tidy()

    async def _show(self, part: _Part, final: bool) -> None:
        cards = self._of(part)
        grows = self._steps == "live" or not cards
        waits = self._waited is not None and grows and not final
        at_work = thinking(self._waited or 0, self._language) if waits else None
        if not cards and at_work is None:
            part.settled = final
            return  # a message without a step is `_tidy`'s
        if part.message is None:
            part.message, part.opened = StepMessage(self._turn, self._parts.index(part)), self._clock()
        await part.message.show(
            closed(cards) if final else cards,
            at_work,
            final=final,
            stream=self._steps == "live" and not self._plain,
            plain=self._plain,
        )
        part.settled = final

    async def _replace(self, number: int) -> None:
        """Another message for the cards of one that takes no edits."""
        old = self._parts[number]
        self._parts[number] = _Part(old.start, settled=True)
        self._parts.insert(number + 1, _Part(old.start))
        if old.message is not None:
            await self._discard(old.message.ts)

    def _make_plain(self, number: int) -> None:
        """No blocks any more, and messages as short as a text may be."""
        self._plain = True
        del self._parts[number + 1 :]
        for card in range(self._parts[number].start + 1, len(self._cards)):
            self._seat(card)

    async def _tidy(self) -> None:
        """Take away what waited for steps that never came, and what an earlier attempt had more."""
        for post in self._earlier:
            if post.message and (post.part >= len(self._parts) if self._cards else post.data.get("placeholder")):
                await self._discard(post.message)
            elif post.message and not self._cards and post.data.get("stream"):
                await stop(self._turn, post.message)
        for part in self._parts:
            if part.message is not None and part.message.ts and not self._of(part):
                await self._discard(part.message.ts)

    async def _discard(self, ts: str) -> None:
        await stop(self._turn, ts)  # one that is still streaming cannot be deleted
        try:
            await self._turn.slack.delete(self._turn.place.channel, ts)
        except SlackError as error:
            self._complain(error)

    def _give_up(self, error: Exception) -> None:
        self._over = True
        self._complain(error)

    def _complain(self, error: Exception) -> None:
        """Once a turn: steps are a decoration."""
        if not self._complained:
            self._complained = True
            log.warning("the steps of turn %s cannot be shown: %s", self._turn.id, error)


def _size(card: TaskCard) -> int:
    return len(escaped(card.text)) + 1
