"""The Markdown of every current version of a document, by the hash of its text: what re-indexing and re-chunking start
from. Source: architecture.md "One visible step".
"""

import hashlib
from collections.abc import Collection
from pathlib import Path

from bot.records import DocumentRow
from retrieval.durable import make_folder, replacing
from retrieval.index import Index
from retrieval.ingest import MAX_CHUNKS
from retrieval.types import Document, Passage, QAPair, Readers, View


class ContentLostError(Exception):
    """The kept Markdown of a document is not there as it was kept."""


class ContentStore:
    """A folder of files that are named after their content. Blocks: call it in a thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, address: str) -> Path:
        return self._folder / address[:2] / f"{address}.md"

    def put(self, markdown: str) -> str:
        """Keep it whole, or not at all: on the disk when this returns. Returns its address. Raises OSError."""
        data = markdown.encode()
        address = hashlib.sha256(data).hexdigest()
        path = self.path(address)
        if not path.exists() or path.read_bytes() != data:
            make_folder(path.parent)
            with replacing(path) as file:
                file.write(data)
        return address

    def read(self, address: str) -> str:
        """Raises ContentLostError."""
        try:
            data = self.path(address).read_bytes()
        except OSError as error:
            raise ContentLostError(f"its kept Markdown cannot be read: {error}") from error
        if hashlib.sha256(data).hexdigest() != address:
            raise ContentLostError(f"its kept Markdown {address} has been changed")
        return data.decode()

    def drop(self, address: str) -> None:
        self.path(address).unlink(missing_ok=True)

    def drop_all_but(self, addresses: Collection[str]) -> None:
        for path in self._folder.glob("??/*"):
            if path.suffix != ".md" or path.stem not in addresses:
                path.unlink(missing_ok=True)


def address_of(markdown: str) -> str:
    return hashlib.sha256(markdown.encode()).hexdigest()


def document_of(row: DocumentRow, markdown: str, stored: list[Passage]) -> Document:
    """The document as it was cut before. `stored` are its passages: pairs are only there, the Markdown says them as
    text."""
    pairs = [QAPair(one.question, one.text) for one in stored if one.question is not None]
    whole = len(pairs) == len(stored) == row.chunks
    return Document(row.name, markdown, row.title, tuple(pairs) if whole else ())


async def stored(index: Index, row: DocumentRow, generation: int | None = None) -> list[Passage]:
    """All passages that the index has of a document's version, in order. Raises QdrantConnectionError."""
    at = row.born if generation is None else generation
    return await index.passages(row.id, range(MAX_CHUNKS), View(Readers(frozenset({row.scope})), at))
