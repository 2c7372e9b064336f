"""Files that came through the browser, until they have been read: kept, so that a restart loses none.

Nobody serves them, and no more are kept than there is room for. Source: reliability.md R5 and R41.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence

from adapters.shared import ingestion
from adapters.shared.attachments import TOO_MANY
from adapters.shared.ingestion import NotTakenError
from bot.errors import StoreError
from bot.knowledge.held_files import HeldFiles
from retrieval.i18n import Text
from retrieval.loaders.limits import MIB, REASONS, size
from retrieval.loaders.loader import ParsingLimits
from retrieval.types import UnreadableError

log = logging.getLogger(__name__)

HELD_BYTES = 256 * MIB  # of all that wait
_LARGE = {"large": "yes"}

_FULL = Text(
    en="Too many files are waiting to be read. Add these when some of them are done.",
    ja="読み込み待ちのファイルが多すぎます。ほかのファイルの読み込みが終わってから、もう一度追加してください。",
)
_GONE = Text(
    en="The file is no longer there. Add it again.", ja="ファイルはもう残っていません。もう一度追加してください。"
)


class Uploads:
    """Files by references to them."""

    def __init__(self, files: HeldFiles, *, most: int = HELD_BYTES) -> None:
        self._files = files
        self._most = most

    async def keep(self, files: Sequence[tuple[str, bytes]], most: int | None = None) -> list[dict[str, str]]:
        """Keep files, each by its name: references to them. One that is too large for anybody to read is not kept, nor
        one beyond `most`, and says so when it is read. Raises NotTakenError; then none is kept."""
        kept = await self._keep(files[:most]) if files else []
        return kept + [{"name": name, "most": str(most)} for name, _ in files[len(kept) :]]

    async def read(self, ref: Mapping[str, str]) -> bytes:
        """Raises UnreadableError with the reason in words."""
        if "most" in ref:
            raise UnreadableError(TOO_MANY, n=ref["most"])
        if "large" in ref:
            raise UnreadableError(REASONS["size"], limit=size(ParsingLimits().file))
        try:
            data = await self._files.get(ref.get("held", ""))
        except OSError:
            data = None
        if data is None:
            raise UnreadableError(_GONE)
        return data

    async def drop(self, refs: Iterable[Mapping[str, str]]) -> None:
        """They have been read. Never raises."""
        keys = [ref["held"] for ref in refs if "held" in ref]
        try:
            if keys:
                await self._files.drop(keys)
        except (OSError, StoreError):
            log.warning("files that were read could not be deleted", exc_info=True)

    async def _keep(self, files: Sequence[tuple[str, bytes]]) -> list[dict[str, str]]:
        fits = [data for _, data in files if len(data) <= ParsingLimits().file]
        try:
            if await self._files.size() + sum(map(len, fits)) > self._most:
                raise NotTakenError(_FULL)
            keys = iter(await self._files.keep(fits))
        except (OSError, StoreError) as error:
            log.warning("files could not be kept: %s", type(error).__name__, exc_info=True)
            raise NotTakenError(ingestion.FAILED) from error
        return [
            {"name": name} | ({"held": next(keys)} if len(data) <= ParsingLimits().file else _LARGE)
            for name, data in files
        ]
