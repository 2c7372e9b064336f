"""A turn's steps on their way into messages: one that grows, or one a step.

Source: product.md §1; reliability.md R28 and R29; field.md #3 and #4.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from adapters.markdown.events import STEPS, StepSummary, thinking
from adapters.shared.debounce import Writer
from adapters.slack.rendering.mrkdwn import escaped
from adapters.slack.rendering.step_message import (
    PLAIN,
    SealedError,
    StepMessage,
    TaskCard,
    TaskCards,
    Turn,
    after,
    all_of,
    closed,
    stop,
    take_away,
    weight,
)
from adapters.slack.transport.errors import GoneError, NotSent, RefusedError, SlackError, StreamOver, UnreachableError
from agent.events import Step
from bot.errors import StoreError
from bot.types import Post, StepsShown, has_answer
from bot.waiting import Sleep
from retrieval.i18n import Language, Text

log = logging.getLogger(__name__)


EVERY_SECONDS = 2.0  # between two edits of a message
ROLL_SECONDS = 240.0  # Slack ends a stream after about five minutes
CARDS = 40  # in one message; Slack takes 50 (centaur PR 469)
WHOLE_SECONDS = 1.0  # that an answer waits for its steps to be as they stay
IN_VIEW_SECONDS = 12.0  # that it waits for them to be there, beside their turn at Slack's pace: a try and the next one
BUSY_SECONDS = 5.0  # for that turn; with more in front of them, steps are left out and the answer comes
AGAIN = 3  # times that the last write is tried again
BYTES = 9_000  # of text in one message; Slack takes about 10,600 (openclaw PR 143882)

_DONE = Text(en="Done.", ja="完了しました。")  # where a message that waited for steps cannot be deleted


@dataclass(eq=False, slots=True)
class _Part:
    """The cards of one message: from `start` on, up to the next part's."""

    start: int
    message: StepMessage | None = None
    opened: float = 0.0
    settled: bool = False


class Steps:
    """`add` and `wait` return at once: a turn never waits for Slack. Nothing here raises what Slack or the database
    does."""

    def __init__(
        self,
        turn: Turn,
        *,
        steps: StepsShown,
        language: Language,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._turn = turn
        self._steps = steps
        self._language = language
        self._clock = clock
        self._sleep = sleep
        self._plain = False  # blocks are not accepted here
        self._streams = steps == "live"  # until a message can be edited no longer: the next stream would end like it
        self._cards: TaskCards = ()
        self._summary = StepSummary()
        self._seconds: float | None = None  # that the answer took, once it is there
        self._parts: list[_Part] = []
        self._earlier: Sequence[Post] = ()
        self._waited: int | None = None
        self._over = False
        self._left = False  # others see to what is shown
        self._complained = False
        self._in_view = asyncio.Event()
        self._in_view.set()
        pause = 0.0 if steps == "verbose" else EVERY_SECONDS
        self._writer = Writer(self._write, seconds=pause, name="slack-steps", sleep=sleep)

    def resume(self, posts: Iterable[Post]) -> None:
        """The posts that an earlier attempt at this turn has made, or was about to make. Under its answer nothing is
        begun."""
        posts = list(posts)
        self._earlier = [post for post in posts if post.kind == "steps"]
        if has_answer(posts):
            self._turn.opening.drop()

    def add(self, event: Step) -> None:
        if self._steps == "off" or self._over:
            return
        known = len(self._cards)
        self._cards = after(self._cards, event, self._language, named=self._steps == "verbose")
        self._summary.add(event)
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
        self._turn.growing.drop()  # the last write says it all
        if self._cards:
            self._turn.opening.hurry()
        else:
            self._turn.opening.drop()  # nobody needs to be told any more that the turn is at work
        if self._parts or self._earlier:
            self._writer.wake()
        self._writer.end()

    async def make_way(self, seconds: float) -> None:
        """The answer is there and took so long: `end`, the steps fold, and until the answer can be posted under the
        steps. What could not be posted by then is left out: no step ever begins below an answer."""
        self._seconds = seconds
        self.end()
        if not await self._writer.until(asyncio.Event(), WHOLE_SECONDS) and self._cards and not self._in_view.is_set():
            queued = self._turn.slack.wait("chat.postMessage", self._turn.place.channel, self._turn.opening)
            if queued <= BUSY_SECONDS:
                await self._writer.until(self._in_view, queued + IN_VIEW_SECONDS)
        self._turn.opening.drop()

    async def finish(self, seconds: float, answer: str) -> None:
        """Until the last write is done; what takes longer is cut off. `answer`: the ts of its first message, which
        nothing of the steps stays below."""
        await self._writer.stopped(seconds)
        try:
            for ts in await self._misplaced(answer):
                await self._discard(ts)
        except SlackError as error:
            self._complain(error)

    async def abandon(self, seconds: float) -> None:
        """The turn goes on elsewhere, or later: what is shown stays, and whoever has the turn takes it up."""
        self._over = self._left = True
        await self._writer.stopped(seconds)
        for part in self._parts:
            if part.message is not None:
                await part.message.stop()

    @property
    def shown(self) -> set[str]:
        """The ts of each message that this process knows of."""
        return {part.message.ts for part in self._parts if part.message is not None and part.message.ts}

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
        for _ in range(AGAIN):
            if await self._write_parts(last) or not last:
                break
            await self._sleep(EVERY_SECONDS)
        if self._over or all(part.settled or (part.message and part.message.ts) for part in self._parts):
            self._in_view.set()
        if last and not self._left:
            await self._tidy()

    async def _write_parts(self, last: bool) -> bool:
        """Whether all is shown that can be; False: another try may do it."""
        number = 0
        while number < len(self._parts) and not self._over:
            part = self._parts[number]
            number += 1
            if part.settled:
                continue
            try:
                await self._show(part, final=last or number < len(self._parts))
            except NotSent:
                if not last:
                    return False  # the last write says it all
                part.settled = True  # it is left out
            except SealedError as error:
                log.info("a message of steps is replaced: %s", error)
                self._streams = False
                await self._replace(number - 1)
            except RefusedError as error:
                if self._plain:
                    self._give_up(error)
                else:
                    self._make_plain(number - 1)
                    number -= 1
            except (GoneError, StreamOver) as error:  # a reader may stop a stream
                self._give_up(error)
            except (UnreachableError, StoreError) as error:  # the next change tries again
                self._complain(error)
                return False
            except SlackError as error:
                self._complain(error)
                return True
        return True

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
            title=self._title(part, final),
            final=final,
            stream=self._streams and not self._plain,
            plain=self._plain,
        )
        part.settled = final

    def _title(self, part: _Part, final: bool) -> str:
        """The title of a message's steps, and in the last one, once there is the answer, their sum."""
        if self._steps != "live":
            return ""
        if not final or self._seconds is None or part is not self._parts[-1]:
            return "" if self._plain else STEPS.to(self._language)
        return self._summary.text(self._seconds, self._language)

    async def _replace(self, number: int) -> None:
        """Another message for the cards of one that takes no edits, unless it would be below the answer."""
        old = self._parts[number]
        if self._turn.opening.dropped and self._of(old):
            old.settled = True
            return
        self._in_view.clear()
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

    async def _misplaced(self, answer: str) -> list[str]:
        """Messages below the answer, and those of calls whose outcome was not known. Raises SlackError."""
        opened = {number: part.message for number, part in enumerate(self._parts) if part.message is not None}
        found = [each.ts for each in opened.values() if each.ts and _moment(each.ts) > _moment(answer)]
        for number, each in opened.items():
            if each.stray:
                found += [ts for ts in await all_of(self._turn, number) if ts != each.ts]
        for post in self._earlier:
            if not post.message and post.part not in opened:
                lost = await all_of(self._turn, post.part)
                found += [ts for ts in lost if post.data.get("placeholder") or _moment(ts) > _moment(answer)]
        return found

    async def _discard(self, ts: str) -> None:
        try:
            await take_away(self._turn, ts, _DONE.to(self._language))
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


def _moment(ts: str) -> tuple[int, int]:
    """When a message was posted, as its ts says it: seconds, and a number within the second."""
    seconds, _, number = ts.partition(".")
    return int(seconds), int(number or 0)


def _size(card: TaskCard) -> int:
    return len(escaped(card.text)) + 1
