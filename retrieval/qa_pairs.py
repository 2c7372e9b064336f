"""Chunks → question/answer pairs, by a function that is given: how many a chunk is good for, many chunks at once within
a bound, and each question once. Knows no model. Source: seeds/0_agent_rag.md §4.5."""

import asyncio
import re
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from retrieval.text import language_of, normalise
from retrieval.types import QAPair

Source = TypeVar("Source")
Made = TypeVar("Made")

MOST = 5  # pairs of one chunk
AHEAD = 4  # × `at_once`: how many may be done before the first of them is
_PER_PAIR = {"ja": 140, "en": 320}  # letters and digits of a chunk
_LEAST = {"ja": 15, "en": 30}  # under this there is nothing to ask for
_SIGNS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Source, Made]):
    """The outcome of one chunk: something, or the error that kept it from it."""

    source: Source
    made: Made | None = None
    error: Exception | None = None


def wanted(text: str) -> int:
    """How many pairs to ask for of a chunk of this text; 0 for one that says too little."""
    language = language_of(text)
    size = len(wording(text))
    return 0 if size < _LEAST[language] else min(MOST, 1 + size // _PER_PAIR[language])


async def generate(
    sources: Iterable[Source],
    write: Callable[[Source], Awaitable[Made]],
    *,
    at_once: int,
    going: Callable[[], bool] = lambda: True,
) -> AsyncGenerator[Outcome[Source, Made], None]:
    """Write from each source, `at_once` of them at the same time; the outcomes come in the order of the sources,
    whichever is done first, so that what is made of them does not depend on the network.

    An error costs its own source only. Once `going` says no, nothing more is begun and what has begun is waited for.
    Closing the generator cancels it.
    """
    waiting = iter(sources)
    begun: deque[tuple[Source, asyncio.Task[Made]]] = deque()

    async def writing(source: Source) -> Made:
        return await write(source)

    try:
        while True:
            while (
                sum(not task.done() for _, task in begun) < at_once and len(begun) < at_once * AHEAD and going()
            ) and (source := next(waiting, None)) is not None:
                begun.append((source, asyncio.create_task(writing(source), name="pairs")))
            if not begun:
                return
            await asyncio.wait(
                [task for _, task in begun if not task.done()] or [begun[0][1]], return_when="FIRST_COMPLETED"
            )
            while begun and begun[0][1].done():
                source, task = begun.popleft()
                yield _outcome(source, task)
    finally:
        left = [task for _, task in begun]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def _outcome(source: Source, task: "asyncio.Task[Made]") -> Outcome[Source, Made]:
    error = task.exception()
    if error is None:
        return Outcome(source, task.result())
    if isinstance(error, Exception):
        return Outcome(source, error=error)
    raise error


# -- each question once ---------------------------------------------------------------------------------------------


def wording(text: str) -> str:
    """Its letters and digits alone: equal for texts that differ in width, case, spacing and punctuation."""
    return _SIGNS.sub("", normalise(text))


def by_wording(questions: Sequence[str]) -> list[tuple[int, ...]]:
    """The places of questions, in groups of the same wording."""
    groups: dict[str, list[int]] = {}
    for at, question in enumerate(questions):
        groups.setdefault(wording(question) or question, []).append(at)
    return [tuple(group) for group in groups.values()]


def repeats(
    pairs: Sequence[QAPair], groups: Iterable[Sequence[int]], agree: Callable[[str, str], bool]
) -> dict[int, int]:
    """The places of pairs that only say again what an earlier one says, each with the earlier one's place.

    `groups` are places of questions that ask for the same thing; a pair repeats the first one of its group whose answer
    `agree`s with its own. Two answers to one question that do not agree both stay: that is for a person to see.
    """
    found: dict[int, int] = {}
    for group in groups:
        kept: list[int] = []
        for at in sorted(group):
            first = next((known for known in kept if agree(pairs[known].answer, pairs[at].answer)), None)
            if first is None:
                kept.append(at)
            else:
                found[at] = first
    return found
