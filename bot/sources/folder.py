"""A folder of this machine: walked whole, and watched in between. Source: sources.md §1 (folder)."""

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from watchfiles import awatch

from bot.config.own_files import given_files
from bot.sources.base import (
    MOST_PAGES,
    TOO_MANY,
    UNREAD,
    Fetched,
    Listing,
    PageError,
    PageFilter,
    SourceError,
    SourcePage,
    follow_renames,
    ref_of,
    shown,
)
from bot.store.followed import FollowedPage
from retrieval.i18n import Text, os_reason
from retrieval.loaders.local_files import LocalFile, NotReadError

NO_FOLDER = Text(en="The folder {path} is not there.", ja="フォルダー {path} がありません。")
_UNREADABLE = Text(
    en="The folder {path} cannot be read whole: {why}", ja="フォルダー {path} の一部を読み込めません: {why}"
)


@dataclass
class FolderSource:
    """Links are not followed out of it. Pages are read again where their time or size has changed. What Kotae keeps in
    its `home` is no page. `dated`: a file's time is its page's date."""

    path: Path
    wanted: PageFilter
    home: Path
    dated: bool = True
    _events: AsyncGenerator[object] | None = None

    @asynccontextmanager
    async def look(self, cursor: str | None, known: Mapping[str, FollowedPage]) -> AsyncIterator[Listing | None]:
        yield await asyncio.to_thread(self._listed, known)

    def _listed(self, known: Mapping[str, FollowedPage]) -> Listing:
        try:
            there = self.path.is_dir()
        except OSError as error:  # of a folder above it
            raise SourceError(_UNREADABLE, path=str(self.path), why=os_reason(error)) from error
        if not there:
            raise SourceError(NO_FOLDER, path=str(self.path))
        found: dict[str, LocalFile] = {}
        pages: dict[str, SourcePage] = {}
        for file in given_files(self.path, self.home):
            if file.unseen:  # what is in it would seem to be gone
                raise SourceError(_UNREADABLE, path=shown(str(self.path / file.name)), why=str(file.refusal))
            path = os.fsencode(file.name)
            ref, name = ref_of(path), self.wanted.name(path.decode(errors="backslashreplace"))
            if name is None or file.refusal is not None:
                continue
            version = _version(file, known.get(ref, UNREAD).version)
            found[ref], pages[ref] = file, SourcePage(ref, version, name)
            if len(pages) > MOST_PAGES:
                raise SourceError(TOO_MANY, most=MOST_PAGES)
        follow_renames(pages, known)
        return Listing(pages, partial(self._fetch, found))

    async def _fetch(self, files: Mapping[str, LocalFile], page: SourcePage) -> Fetched:
        file = files[page.ref]
        try:
            data = await asyncio.to_thread(file.read)
        except NotReadError as error:
            raise PageError(error.said) from error
        return Fetched(data, await asyncio.to_thread(file.changed_at) if self.dated else None)

    async def changed(self) -> None:
        """Return when something may have changed. One watch from the first call on: it also tells of what has changed
        between two calls."""
        self._events = self._events or awatch(self.path, recursive=True, step=200)
        try:
            await anext(self._events)
        except OSError:  # it is not there, or has too many folders to watch: the walk sees what changes
            await asyncio.Event().wait()


def _version(file: LocalFile, before: str) -> str:
    """Time, size and hash of what it says; the hash is made anew only where the others have changed."""
    try:
        about = file.path.joinpath(*file.inside or ()).stat()
        outside = f"{about.st_mtime_ns} {about.st_size}"
        if before.rpartition(" ")[0] == outside:
            return before
        said = hashlib.sha256(file.read()).hexdigest()
        return before if before.endswith(f" {said}") else f"{outside} {said}"
    except (OSError, NotReadError):
        return "unreadable"  # is said when it is fetched
