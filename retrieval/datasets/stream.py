"""Rows → documents, a few at a time and no further than the limits: the work is done in a thread, the pace is the
taker's."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from retrieval.datasets.cleaning import Cleaner, Dropped, Prepared, Sieve
from retrieval.datasets.rows import Abandoned, DatasetReading, DatasetRow, DatasetSource
from retrieval.loaders.limits import MIB

_AT_ONCE = 16  # rows fetched and cleaned before they are handed over

Ended = Literal["all", "documents", "characters", "bytes", "rows"]


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """The end of a pass over a dataset. `characters` of cleaned text, `bytes` fetched; `rows` looked at."""

    documents: int = 1_000
    characters: int = 50_000_000
    bytes: int = 2_048 * MIB
    rows: int = 1_000_000
    sieve: Sieve = field(default_factory=Sieve)


@dataclass(frozen=True, slots=True)
class Left:
    """A row that becomes no document, and why."""

    row: DatasetRow
    reason: Dropped


@dataclass(frozen=True, slots=True)
class End:
    """There are no more rows, or a limit is reached: which."""

    why: Ended


Step = Prepared | Left | End


async def steps(
    source: DatasetSource, limits: StreamLimits, reading: DatasetReading | None = None
) -> AsyncGenerator[Step, None]:
    """Each row as a document or as left out, then one `End`. `reading` tells what it has cost so far.

    Closing it stops the work in the thread at its next row, request or wait. Raises DatasetError.
    """
    reading = reading or DatasetReading()
    work = _steps(source, limits, reading)
    try:
        failure: Exception | None = None
        while failure is None:
            some, failure = await asyncio.to_thread(_take, work)
            for step in some:
                yield step
            if not some and failure is None:
                return
        if not isinstance(failure, Abandoned):
            raise failure
    finally:
        reading.stop.set()


def _take(work: Iterator[Step]) -> tuple[list[Step], Exception | None]:
    """The next steps, and what went wrong after them."""
    some: list[Step] = []
    try:
        some.extend(islice(work, _AT_ONCE))
    except Exception as error:
        return some, error
    return some, None


def _steps(source: DatasetSource, limits: StreamLimits, reading: DatasetReading) -> Iterator[Step]:
    cleaner = Cleaner(source, limits.sieve)
    documents = characters = 0
    for looked_at, row in enumerate(source.rows(reading), start=1):
        reading.check()
        step = cleaner.prepare(row)
        if isinstance(step, Prepared):
            documents += 1
            characters += len(step.text)
            if characters > limits.characters:
                yield End("characters")
                return
            yield step
        else:
            yield Left(row, step)
        if documents >= limits.documents:
            yield End("documents")
            return
        if looked_at >= limits.rows:
            yield End("rows")
            return
        if reading.bytes >= limits.bytes:
            yield End("bytes")
            return
    yield End("all")
