"""The Markdown of every current version of a document, by the hash of its text: what re-indexing and re-chunking start
from. In a folder of the home beside an SQLite file; in the database on a server, where every machine reads it.
Source: architecture.md "One visible step"; machines.md §2.
"""

import asyncio
import hashlib
import logging
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Protocol

from bot.errors import ContentLostError
from bot.records import DocumentRow
from bot.store.contents import Contents
from bot.store.engine import Engine, on_server
from retrieval.durable import make_folder, replacing
from retrieval.index import Index
from retrieval.ingest import MAX_CHUNKS
from retrieval.types import Document, Passage, QAPair, Readers, View

log = logging.getLogger(__name__)

_AT_ONCE = 10  # texts brought over in a transaction


class ContentStore(Protocol):
    """Texts by the hash of each: its address."""

    async def put(self, markdown: str) -> str:
        """Keep a text whole, or not at all, before a row names its address, which is returned; on a server the row
        itself brings it (`Documents.commit`). Raises OSError."""

    async def read(self, address: str) -> str:
        """Raises ContentLostError, StoreError."""

    async def lost(self, addresses: Collection[str]) -> set[str]:
        """Of `addresses` those whose text is not there as it was kept. Raises StoreError."""

    async def drop(self, address: str) -> None:
        """Delete a text that no row needs. Raises OSError, StoreError."""

    async def drop_all_but(self, addresses: Collection[str]) -> None:
        """Delete all others, as far as no row needs them. Raises OSError, StoreError."""


class ContentFolder:
    """A folder of files that are named after their content."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, address: str) -> Path:
        return self._folder / address[:2] / f"{address}.md"

    async def put(self, markdown: str) -> str:
        """On the disk when this returns."""
        return await asyncio.to_thread(self._put, markdown.encode())

    async def read(self, address: str) -> str:
        return (await asyncio.to_thread(self.data, address)).decode()

    async def lost(self, addresses: Collection[str]) -> set[str]:
        return await asyncio.to_thread(lambda: {address for address in addresses if not self._whole(address)})

    async def drop(self, address: str) -> None:
        await asyncio.to_thread(self.path(address).unlink, missing_ok=True)

    async def drop_all_but(self, addresses: Collection[str]) -> None:
        await asyncio.to_thread(self._drop_all_but, addresses)

    def data(self, address: str) -> bytes:
        """Blocks. Raises ContentLostError."""
        try:
            data = self.path(address).read_bytes()
        except OSError as error:
            raise ContentLostError(f"its kept Markdown cannot be read: {error}") from error
        if hashlib.sha256(data).hexdigest() != address:
            raise ContentLostError(f"its kept Markdown {address} has been changed")
        return data

    def _put(self, data: bytes) -> str:
        address = hashlib.sha256(data).hexdigest()
        path = self.path(address)
        if not path.exists() or path.read_bytes() != data:
            make_folder(path.parent)
            with replacing(path) as file:
                file.write(data)
        return address

    def _whole(self, address: str) -> bool:
        try:
            self.data(address)
        except ContentLostError:
            return False
        return True

    def _drop_all_but(self, addresses: Collection[str]) -> None:
        for path in self._folder.glob("??/*"):
            if path.suffix != ".md" or path.stem not in addresses:
                path.unlink(missing_ok=True)


def content_store(engine: Engine, folder: Path) -> ContentStore:
    """The place of a database's texts: the `folder` of its home, or itself."""
    return Contents(engine) if on_server(engine) else ContentFolder(folder)


async def bring_over(engine: Engine, folder: Path, addresses: Collection[str]) -> int:
    """Texts that a database on a server needs (`addresses`) and does not have are looked for in the folder that a
    version before this one kept them in; returns how many were found. Nothing is changed in the folder. Raises
    StoreError."""
    rows, kept = Contents(engine), ContentFolder(folder)
    missing = sorted(set(addresses) - await rows.there()) if await asyncio.to_thread(folder.is_dir) else []
    brought = 0
    for at in range(0, len(missing), _AT_ONCE):
        found = await asyncio.to_thread(lambda some: dict(_found(kept, some)), missing[at : at + _AT_ONCE])
        if found:
            await rows.bring(found)
            brought += len(found)
    if missing:
        log.info("brought %d texts of documents into the database, %d are not here", brought, len(missing) - brought)
    return brought


def _found(kept: ContentFolder, addresses: Collection[str]) -> Iterator[tuple[str, bytes]]:
    for address in addresses:
        try:
            yield address, kept.data(address)
        except ContentLostError:  # another machine may have it
            continue


def document_of(row: DocumentRow, markdown: str, stored: list[Passage]) -> Document:
    """The document as it was cut before. `stored` are its passages: pairs are only there, the Markdown says them as
    text."""
    pairs = [QAPair(one.question, one.text) for one in stored if one.question is not None]
    return Document(row.name, markdown, row.title, tuple(pairs) if len(stored) == row.chunks else ())


async def stored(index: Index, row: DocumentRow, generation: int | None = None) -> list[Passage]:
    """All passages that the index has of a document's version, in order. Raises QdrantConnectionError."""
    at = row.born if generation is None else generation
    return await index.passages(row.id, range(MAX_CHUNKS), View(Readers(frozenset({row.scope})), at))
