"""The files that came along with a question, fetched on any platform. Source: reliability.md R38 and R41."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bot.types import Attachment
from retrieval.i18n import Language, Text
from retrieval.types import UnreadableError

FILES = 5  # of one question that are read

TOO_MANY = Text(
    en="only {n} files per message are read; add the others with /ingest",
    ja="一度に読めるのは {n} 件までです。残りは /ingest で追加してください",
)


@dataclass(frozen=True, slots=True)
class Attached:
    """A file as its platform tells of it. `fetch` raises UnreadableError."""

    name: str
    url: str | None
    fetch: Callable[[], Awaitable[bytes]]


async def fetched(found: Sequence[Attached], language: Language) -> tuple[Attachment, ...]:
    """The files, or why one is not there."""
    taken = await asyncio.gather(*(_fetched(one, language) for one in found[:FILES]))
    left = TOO_MANY.to(language, n=FILES)
    return (*taken, *(Attachment(one.name, b"", problem=left) for one in found[FILES:]))


async def _fetched(one: Attached, language: Language) -> Attachment:
    try:
        data = await one.fetch()
    except UnreadableError as error:
        return Attachment(one.name, b"", problem=error.text(language))
    return Attachment(one.name, data, url=one.url)
