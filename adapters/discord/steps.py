"""A turn's steps on their way into messages: one that grows, or one a step. Nothing here raises.

Source: product.md §1; field.md #3, #11 and #14.
"""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from adapters.coalescing import Sleep, Writer
from adapters.discord.dialect import escaped
from adapters.discord.errors import DiscordError, GoneError
from adapters.discord.saying import Saying
from adapters.markdown import shortened, step_text, thinking
from agent.events import Step
from bot.messages import Post
from bot.store.engine import StoreError
from retrieval.text import Language

log = logging.getLogger(__name__)

Shown = Literal["live", "verbose", "off"]

EVERY_SECONDS = 1.0  # between two edits of a message; Source: field.md #11
STEP = 600  # characters of one step: nobody reads more of a thought in a thread
ROOM = 1_900  # characters of one message, which takes 2,000
SMALL = "-# "


@dataclass(slots=True)
class _Part:
    lines: list[str]
    shown: str = ""
    settled: bool = False

    def fits(self, line: str) -> bool:
        return not self.settled and sum(map(len, self.lines)) + len(self.lines) + len(line) <= ROOM


class Steps:
    """`add` and `wait` return at once: a turn never waits for Discord."""

    def __init__(
        self, saying: Saying, *, steps: Shown, language: Language, turn: str, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._saying = saying
        self._steps = steps
        self._language = language
        self._turn = turn
        self._parts: list[_Part] = []
        self._earlier: list[Post] = []
        self._waited: int | None = None
        self._over = False
        self._complained = False
        self._in_view = asyncio.Event()
        self._in_view.set()
        pause = 0.0 if steps == "verbose" else EVERY_SECONDS
        self._writer = Writer(self._write, seconds=pause, name="discord-steps", sleep=sleep)

    def resume(self, posts: Iterable[Post]) -> None:
        """What an earlier attempt at this turn has posted, or was about to."""
        self._earlier = [post for post in posts if post.kind == "steps"]

    def add(self, event: Step) -> None:
        text = step_text(event, self._language)
        if not text or self._steps == "off" or self._over:
            return
        line = SMALL + escaped(shortened(text, STEP))
        if not self._parts or not self._grows(self._parts[-1], line):
            self._parts.append(_Part([]))
        self._parts[-1].lines.append(line)
        self._in_view.clear()
        self._writer.wake()

    def wait(self, seconds: int) -> None:
        """Say that the turn has been at work for so long, where no typing shows."""
        if self._over or (not self._parts and any(post.message for post in self._earlier)):
            return  # the earlier attempt's message is there, and stays until this one has steps
        self._waited = seconds
        if not self._parts:
            self._parts.append(_Part([]))
        self._in_view.clear()
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

    async def remove(self) -> None:
        """The question is gone, and so are its steps. For after `abandon` or `finish`."""
        self._over = True
        for post in self._saying.parts("steps"):
            await self._discard(post)

    # -- the writer -----------------------------------------------------------------------------------------------------

    def _grows(self, part: _Part, line: str) -> bool:
        return not part.lines or (self._steps == "live" and part.fits(line))

    async def _write(self, last: bool) -> None:
        for number, part in enumerate(self._parts):
            if self._over or part.settled:
                continue
            final = last or number < len(self._parts) - 1
            try:
                await self._show(number, part, final)
            except GoneError as error:
                self._over = True
                self._complain(error)
            except (DiscordError, StoreError) as error:  # the next change tries again
                self._complain(error)
                break
        if self._over or all(part.settled or part.shown for part in self._parts):
            self._in_view.set()
        if last and not self._over:
            await self._tidy()

    async def _show(self, number: int, part: _Part, final: bool) -> None:
        lines = list(part.lines)
        if self._waited is not None and not final and (self._steps == "live" or not lines):
            lines.append(SMALL + thinking(self._waited, self._language))
        text = "\n".join(lines)
        if text and text != part.shown:
            await self._saying.put("steps", number, text, data={"placeholder": not part.lines})
            part.shown = text
        part.settled = final

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
            log.warning("the steps of turn %s cannot be shown: %s", self._turn, error)
