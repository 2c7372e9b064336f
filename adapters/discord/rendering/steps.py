"""A turn's steps on their way into messages: one that grows, or one a step. Nothing here raises.

Source: product.md §1; field.md #3, #11 and #14.
"""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from adapters.discord.rendering.components import steps_button
from adapters.discord.rendering.markdown import escaped
from adapters.discord.transport.errors import DiscordError, GoneError, TokenError
from adapters.discord.transport.turn_messages import TurnMessages
from adapters.markdown.events import StepSummary, shortened, step_text, thinking
from adapters.shared.debounce import Writer
from agent.events import Step
from bot.errors import StoreError
from bot.types import Post, StepsShown, has_answer
from bot.waiting import Sleep
from retrieval.i18n import Language

log = logging.getLogger(__name__)


EVERY_SECONDS = 1.0  # between two edits of a message; Source: field.md #11
STEP = 600  # characters of one step: nobody reads more of a thought in a thread
ROOM = 1_900  # characters of one message, which takes 2,000
SPARE = 1  # of the messages a channel takes at once: discord.py keeps the answer to the last one until there are more
AGAIN_SECONDS = 1.0  # after which it is looked whether the channel takes more
SMALL = "-# "
CUT = f"{SMALL}…"  # in the place of steps that have no room any more


@dataclass(slots=True)
class _Part:
    lines: list[str]
    shown: str = ""

    def fits(self, line: str) -> bool:
        return sum(map(len, self.lines)) + len(self.lines) + len(line) <= ROOM


class Steps:
    """`add` and `wait` return at once: a turn never waits for Discord.

    A channel takes few messages in a few seconds, and the answer must not wait for its steps to have used them up:
    steps for which there is no message left go into the last one that is there, by an edit."""

    def __init__(
        self, saying: TurnMessages, *, steps: StepsShown, language: Language, turn: str, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._saying = saying
        self._steps = steps
        self._language = language
        self._turn = turn
        self._parts: list[_Part] = []
        self._summary = StepSummary()
        self._folded: tuple[str, list[str]] | None = None  # once the answer is there: one line, and what is behind it
        self._posting: int | None = None  # the part whose message is on its way
        self._earlier: list[Post] = []
        self._waited: int | None = None
        self._reserved = SPARE + 1  # for the answer, which is one message as a rule
        self._closing = False  # the answer is ready
        self._shut = False  # it stands there: nothing new comes below it
        self._over = False
        self._complained = False
        self._in_view = asyncio.Event()
        self._in_view.set()
        self._again: asyncio.TimerHandle | None = None
        pause = 0.0 if steps == "verbose" else EVERY_SECONDS
        self._writer = Writer(self._write, seconds=pause, name="discord-steps", sleep=sleep)

    def resume(self, posts: Iterable[Post]) -> None:
        """The posts that an earlier attempt at this turn has made, or was about to make."""
        found = list(posts)
        self._earlier = [post for post in found if post.kind == "steps"]
        self._shut = has_answer(found)

    def add(self, event: Step) -> None:
        text = step_text(event, self._language, named=self._steps == "verbose")
        self._summary.add(event)
        if not text or self._steps == "off" or self._over:
            return
        line = SMALL + escaped(shortened(text, STEP))
        if not self._parts or not self._grows(self._parts[-1], line):
            self._begin_part()
        self._parts[-1].lines.append(line)
        self._writer.wake()

    def wait(self, seconds: int) -> None:
        """Say that the turn has been at work for so long, where no typing shows."""
        if self._over or (not self._parts and any(post.message for post in self._earlier)):
            return  # the earlier attempt's message is there, and stays until this one has steps
        self._waited = seconds
        if not self._parts:
            self._begin_part()
        self._writer.wake()

    def end(self) -> None:
        """There are no more steps: what is there is written for the last time, without waiting."""
        if self._parts or self._earlier:
            self._writer.wake()
        self._writer.end()

    async def make_way(self, messages: int, seconds: float, *, took: float) -> None:
        """The answer, which `took` so many seconds, comes next, in so many messages: the steps fold. Returns when the
        steps that get messages of their own are there (not: up to date), but after so many seconds at the latest. Those
        that come later than that are taken away again, as they would stand below it."""
        self._reserved, self._closing = SPARE + messages, True
        self._fold()
        if self._steps == "live" and (lines := [line for part in self._parts for line in part.lines]):
            self._folded = SMALL + self._summary.text(took, self._language), lines
            del self._parts[1:]
        self._look()
        self.end()
        await self._writer.until(self._in_view, seconds)
        self._shut = True

    async def finish(self, seconds: float) -> None:
        """`end`, and until it is done; what takes longer is cut off."""
        self.end()
        await self._writer.stopped(seconds)

    async def abandon(self, seconds: float) -> None:
        """The turn goes on elsewhere, or later: what is shown stays, and whoever has the turn takes it up."""
        self._over = True
        await self._writer.stopped(seconds)

    # -- the writer --------------------------------------------------------------------------------------------------

    def _grows(self, part: _Part, line: str) -> bool:
        return not part.lines or (self._steps == "live" and part.fits(line))

    def _begin_part(self) -> None:
        self._parts.append(_Part([]))
        self._in_view.clear()

    def _fold(self) -> tuple[int, int]:
        """Put steps for which there is no room into the last message that is there or has room. The first part that has
        changed by that, and how many can be shown."""
        known = range(len(self._parts))
        there = next((n for n in known if not self._saying.has("steps", n) and n != self._posting), len(known))
        room = 0 if self._shut else self._saying.room() - self._reserved
        fitting = there if room <= 0 else len(known) if room >= len(known) else min(there + int(room), len(known))
        last = self._closing or self._shut
        if fitting == 0:
            if last:
                self._parts.clear()  # whoever wants to know finds them in the trace
            return 0, 0
        into = self._parts[fitting - 1]
        before = len(into.lines)
        while len(self._parts) > fitting:
            lines = self._parts[fitting].lines
            while lines and into.fits(lines[0]):
                into.lines.append(lines.pop(0))
            if lines and not last:
                break  # until there is room again
            del self._parts[fitting]
            if lines and into.lines[-1] != CUT:
                into.lines.append(CUT)
        return fitting - (len(into.lines) > before), fitting

    async def _write(self, last: bool) -> None:
        number = fitting = 0
        try:
            while not self._over:
                changed, fitting = self._fold()
                number = min(number, changed)
                if number >= fitting:
                    break
                await self._show(number)
                number += 1
        except (GoneError, TokenError) as error:
            self._over = True
            self._complain(error)
        except (DiscordError, StoreError) as error:  # the next change tries again
            self._complain(error)
        self._look()
        if last and not self._over:
            await self._tidy()
        elif fitting < len(self._parts) and not self._closing:
            if self._again is not None:
                self._again.cancel()
            self._again = asyncio.get_running_loop().call_later(AGAIN_SECONDS, self._writer.wake)

    async def _show(self, number: int) -> None:
        part = self._parts[number]
        text = self._text(number)
        if not text or text == part.shown:
            return
        is_new = not self._saying.has("steps", number)
        self._posting = number if is_new else None
        try:
            data: dict[str, Any] = {"placeholder": not part.lines}
            if self._folded is not None:
                data["lines"] = self._folded[1]
            buttons = [steps_button(self._language)] if self._folded is not None else ()
            await self._saying.put("steps", number, text, buttons=buttons, data=data)
        finally:
            self._posting = None
        part.shown = text
        if is_new and self._shut:  # the answer was there first
            part.shown = ""
            await self._discard(next(post for post in self._saying.parts("steps") if post.part == number))

    def _text(self, number: int) -> str:
        if self._folded is not None:
            return self._folded[0]
        lines = list(self._parts[number].lines)
        final = self._closing or number < len(self._parts) - 1
        if self._waited is not None and not final and (self._steps == "live" or not lines):
            lines.append(SMALL + thinking(self._waited, self._language))
        return "\n".join(lines)

    def _look(self) -> None:
        there = (n != self._posting and self._saying.has("steps", n) for n in range(len(self._parts)))
        if self._over or all(is_there or not self._text(number) for number, is_there in enumerate(there)):
            self._in_view.set()

    async def _tidy(self) -> None:
        """Take away what waited for steps that never came, and what an earlier attempt had more."""
        steps = any(part.lines for part in self._parts)
        for post in self._saying.parts("steps"):
            if post.data.get("placeholder") or (steps and post.part >= len(self._parts)):
                await self._discard(post)

    async def _discard(self, post: Post) -> None:
        try:
            await self._saying.delete(post)
        except (DiscordError, StoreError) as error:
            self._complain(error)

    def _complain(self, error: Exception) -> None:
        """Once a turn: steps are a decoration."""
        if not self._complained:
            self._complained = True
            level = logging.INFO if isinstance(error, GoneError) else logging.WARNING
            log.log(level, "the steps of turn %s cannot be shown: %s", self._turn, error)
