"""The files that came along with a question, fetched on any platform. Source: reliability.md R38 and R41."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.types import Attachment
from retrieval.i18n import Language, Text
from retrieval.loaders.limits import REASONS, size
from retrieval.types import UnreadableError

if TYPE_CHECKING:
    import aiohttp  # 8 MB, which the browser's channel does without

FILES = 5  # of one question that are read

TOO_MANY = Text(
    en="only {n} files per message are read; add the others with /ingest",
    ja="一度に読めるのは {n} 件までです。残りは /ingest で追加してください",
)
FOREIGN = Text(
    en="The file's address leads away from {platform}, so it was not fetched.",
    ja="ファイルのアドレスが {platform} の外を指しているため、取得しませんでした。",
)
SLOW = Text(
    en="{platform} did not deliver the file within {seconds} s. Try again later.",
    ja="{platform} から {seconds} 秒以内にファイルを取得できませんでした。時間をおいてもう一度お試しください。",
)
FAILED = Text(
    en="The file could not be fetched from {platform} ({code}). Try again later.",
    ja="{platform} からファイルを取得できませんでした（{code}）。時間をおいてもう一度お試しください。",
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


async def limited_body(response: "aiohttp.ClientResponse", limit: int) -> bytes:
    """Counted as it comes: what headers and file objects say of the size may be wrong. Raises UnreadableError."""
    data = bytearray()
    async for piece in response.content.iter_any():
        data += piece
        if len(data) > limit:
            raise UnreadableError(REASONS["size"], limit=size(limit))
    return bytes(data)
