"""Files that came through the browser, until they have been read: in the home, so that a restart loses none.

Nobody serves them, and no more are kept than there is room for. Source: reliability.md R5 and R41.
"""

import asyncio
import logging
import re
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from adapters.shared import ingestion
from adapters.shared.attachments import TOO_MANY
from adapters.shared.ingestion import NotTakenError
from retrieval.durable import make_folder, replacing
from retrieval.i18n import Text
from retrieval.loaders.limits import MIB, REASONS, size
from retrieval.loaders.loader import ParsingLimits
from retrieval.types import UnreadableError

log = logging.getLogger(__name__)

HELD_BYTES = 256 * MIB  # of all that wait
DAYS = 7  # after which nobody comes back for a file
_KEY = re.compile(r"[0-9a-f]{32}")

_FULL = Text(
    en="Too many files are waiting to be read. Add these when some of them are done.",
    ja="読み込み待ちのファイルが多すぎます。ほかのファイルの読み込みが終わってから、もう一度追加してください。",
)
_GONE = Text(
    en="The file is no longer there. Add it again.", ja="ファイルはもう残っていません。もう一度追加してください。"
)


class Uploads:
    """Files in a folder, by keys that nobody can guess."""

    def __init__(self, folder: Path, *, most: int = HELD_BYTES) -> None:
        self._folder = folder
        self._most = most

    async def keep(self, files: Sequence[tuple[str, bytes]], most: int | None = None) -> list[dict[str, str]]:
        """Keep files, each by its name: references to them. One that is too large for anybody to read is not kept, nor
        one beyond `most`, and says so when it is read. Raises NotTakenError; then none is kept."""
        kept = await asyncio.to_thread(self._keep, files[:most]) if files else []
        return kept + [{"name": name, "most": str(most)} for name, _ in files[len(kept) :]]

    async def read(self, ref: Mapping[str, str]) -> bytes:
        """Raises UnreadableError with the reason in words."""
        if "most" in ref:
            raise UnreadableError(TOO_MANY, n=ref["most"])
        if "large" in ref:
            raise UnreadableError(REASONS["size"], limit=size(ParsingLimits().file))
        try:
            return await asyncio.to_thread(self._path(ref.get("held", "")).read_bytes)
        except (OSError, ValueError):
            raise UnreadableError(_GONE) from None

    async def drop(self, refs: Iterable[Mapping[str, str]]) -> None:
        """They have been read. Never raises."""
        keys = [ref["held"] for ref in refs if "held" in ref]
        if keys:
            await asyncio.to_thread(self._drop, keys)

    async def sweep(self) -> None:
        """Delete what nobody has come back for. Never raises."""
        await asyncio.to_thread(self._sweep, time.time() - DAYS * 24 * 3600)

    def _keep(self, files: Sequence[tuple[str, bytes]]) -> list[dict[str, str]]:
        kept: list[dict[str, str]] = []
        try:
            make_folder(self._folder)
            waiting = sum(path.stat().st_size for path in self._folder.iterdir())
            if waiting + sum(len(data) for _, data in files if len(data) <= ParsingLimits().file) > self._most:
                raise NotTakenError(_FULL)
            for name, data in files:
                if len(data) > ParsingLimits().file:
                    kept.append({"name": name, "large": "yes"})
                    continue
                ref = {"name": name, "held": uuid.uuid4().hex}
                kept.append(ref)
                with replacing(self._path(ref["held"])) as file:
                    file.write(data)
        except OSError as error:
            log.warning("a file could not be kept: %s", error.strerror)
            self._drop([ref["held"] for ref in kept if "held" in ref])
            raise NotTakenError(ingestion.FAILED) from error
        return kept

    def _drop(self, keys: Iterable[str]) -> None:
        for key in keys:
            try:
                self._path(key).unlink(missing_ok=True)
            except (OSError, ValueError):
                log.warning("a file that was read could not be deleted", exc_info=True)

    def _sweep(self, before: float) -> None:
        for path in self._folder.glob("*"):
            try:
                if path.stat().st_mtime < before:
                    path.unlink(missing_ok=True)
            except OSError:
                log.warning("a file that nobody wants could not be deleted", exc_info=True)

    def _path(self, key: str) -> Path:
        """Raises ValueError for what is no key."""
        if not _KEY.fullmatch(key):
            raise ValueError("not a key")
        return self._folder / key
