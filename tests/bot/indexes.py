"""An empty index of the embedded store, made once a process and copied from then on: making one writes 40 MB of
zeros."""

import asyncio
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from retrieval.index import EdgeIndex
from retrieval.sparse import TOKENIZER
from tests.copies import copy_folder


@cache
def _empty(embedder: str, dimensions: int) -> "TemporaryDirectory[str]":
    folder = TemporaryDirectory(prefix="kotae-empty-")
    with TemporaryDirectory() as made:
        asyncio.run(_make(Path(made, "vectors"), embedder, dimensions))
        copy_folder(Path(made), Path(folder.name))  # what is copied from then on holds no zeros
    return folder


async def _make(folder: Path, embedder: str, dimensions: int) -> None:
    await (await EdgeIndex.open(folder, dimensions=dimensions, embedder=embedder, tokenizer=TOKENIZER)).close()


def made(folder: Path, embedder: str, dimensions: int) -> Path:
    """`folder`, which holds an index for this embedder; one that is there already stays as it is. Not for an event
    loop."""
    if not folder.exists():
        copy_folder(Path(_empty(embedder, dimensions).name, "vectors"), folder)
    return folder
