"""Files on their way into the knowledge, from when they are taken in until they have been read: in the home beside an
SQLite file, in the database on a server, so that another machine can go on with them.

Source: reliability.md R5; machines.md §2.
"""

import asyncio
import logging
import re
import uuid
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from bot.store.engine import Engine, on_server
from bot.store.held_files import HeldRows
from retrieval.durable import make_folder, replacing

log = logging.getLogger(__name__)

_KEY = re.compile(r"[0-9a-f]{32}")


class HeldFiles(Protocol):
    """Files by keys that nobody can guess. All raise OSError or StoreError."""

    async def size(self) -> int:
        """Bytes of all that wait."""

    async def keep(self, files: Sequence[bytes]) -> list[str]:
        """All of them or none, durably: their keys."""

    async def get(self, key: str) -> bytes | None:
        """None: it is not there any more, or `key` is none."""

    async def drop(self, keys: Collection[str]) -> None: ...

    async def expire(self, before: datetime) -> None:
        """Delete those that are older."""


class HeldFolder:
    """A folder with a file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def size(self) -> int:
        return await asyncio.to_thread(lambda: sum(path.stat().st_size for path in self._folder.glob("*")))

    async def keep(self, files: Sequence[bytes]) -> list[str]:
        return await asyncio.to_thread(self._keep, files)

    async def get(self, key: str) -> bytes | None:
        try:
            return await asyncio.to_thread((self._folder / key).read_bytes) if _KEY.fullmatch(key) else None
        except FileNotFoundError:
            return None

    async def drop(self, keys: Collection[str]) -> None:
        await asyncio.to_thread(self._drop, keys)

    async def expire(self, before: datetime) -> None:
        await asyncio.to_thread(self._expire, before.timestamp())

    def _keep(self, files: Sequence[bytes]) -> list[str]:
        kept: list[str] = []
        make_folder(self._folder)
        try:
            for data in files:
                kept.append(uuid.uuid4().hex)
                with replacing(self._folder / kept[-1]) as file:
                    file.write(data)
        except BaseException:
            self._drop(kept)
            raise
        return kept

    def _drop(self, keys: Collection[str]) -> None:
        for key in keys:
            if _KEY.fullmatch(key):
                (self._folder / key).unlink(missing_ok=True)

    def _expire(self, before: float) -> None:
        for path in self._folder.glob("*"):
            try:
                if path.stat().st_mtime < before:
                    path.unlink(missing_ok=True)
            except OSError:
                log.warning("a file that nobody wants could not be deleted", exc_info=True)


def held_files(engine: Engine, folder: Path) -> HeldFiles:
    """The place where files wait: the `folder` of a home, or its database."""
    return HeldRows(engine) if on_server(engine) else HeldFolder(folder)
