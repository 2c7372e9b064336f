"""The folders of one home's stores: one for each embedder and tokenizer, so that a second one can be built beside the
first."""

import asyncio
import os
import re
import shutil
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from pydantic import SecretStr

from retrieval.folder import Made, home_in, own, there, written_in
from retrieval.i18n import Text, os_reason
from retrieval.index.base import Index
from retrieval.index.edge import EdgeIndex
from retrieval.types import QdrantConnectionError

_GONE = ".gone"
_STAYS = Text(
    en="The old search index in {folder} cannot be deleted: {why}.",
    ja="古い検索インデックス {folder} を削除できません: {why}",
)


_OTHERS = Text(
    en="The search index in {folder} belongs to another home ({home}), so it is not deleted.",
    ja="検索インデックス {folder} は別のホーム（{home}）のものなので、削除しません。",
)
_CLIENT = Text(
    en="QDRANT_URL names a Qdrant server, but its client is not installed. Install it with `make servers`, or: pip "
    "install 'kotae[qdrant]'",
    ja="QDRANT_URL は Qdrant サーバーですが、そのクライアントが入っていません。`make servers` か pip install "
    "'kotae[qdrant]' で入れてください。",
)


class Stores(Protocol):
    """The stores by what their vectors were made with. What is made belongs to the home they were given, from its first
    moment; whose one that is there is, its `home` says."""

    async def open(self, made: Made) -> Index:
        """Open the store, or make it. Raises QdrantConnectionError, EmbeddingError as the kind of store says."""

    async def there(self, made: Made) -> bool:
        """Whether there is such a store. Raises QdrantConnectionError."""

    async def remove(self, made: Made) -> None:
        """Delete the store, which nobody here has open; nothing happens when it is not there.

        Raises QdrantConnectionError, also for a store that belongs to another home.
        """


class EdgeStores:
    """A folder with a folder a store: named after its embedder, and after the rest as well where two have one name."""

    def __init__(self, folder: Path, home: str | None = None) -> None:
        self._folder = folder
        self._home = home

    async def open(self, made: Made) -> Index:
        return await EdgeIndex.open(
            await asyncio.to_thread(self.place, made),
            dimensions=made.dimensions,
            embedder=made.embedder,
            tokenizer=made.tokenizer,
            home=self._home,
        )

    async def there(self, made: Made) -> bool:
        return await asyncio.to_thread(lambda: there(self.place(made) / "shard"))

    async def remove(self, made: Made) -> None:
        await asyncio.to_thread(self._remove, made)

    def place(self, made: Made) -> Path:
        """The store's folder, whether it is there or not."""
        short = self._folder / re.sub(r"[^A-Za-z0-9._-]+", "--", made.embedder)
        rest = sha256(f"{made.embedder}\n{made.dimensions}\n{made.tokenizer}".encode()).hexdigest()[:10]
        long = short.with_name(f"{short.name}--{rest}")
        if long.exists():
            return long
        was = written_in(short / "shard")
        return short if was is None or was == made else long

    def _remove(self, made: Made) -> None:
        place = self.place(made)
        try:
            for unfinished in self._folder.glob(f"*{_GONE}"):
                shutil.rmtree(unfinished)
            if written_in(place / "shard") != made:
                return
            if (home := home_in(place / "shard")) not in (None, self._home):
                raise QdrantConnectionError(_OTHERS, folder=place, home=home)
            lock = own(place)
            try:
                gone = place.rename(place.with_name(place.name + _GONE))  # at once: nobody ever opens a part of it
                shutil.rmtree(gone)
            finally:
                os.close(lock)
        except OSError as error:
            raise QdrantConnectionError(_STAYS, folder=place, why=os_reason(error)) from error


@dataclass(frozen=True, slots=True)
class ServerStores:
    """A server with a collection a store. `prefix` tells the homes that share a server apart; the numbers are for
    collections that are made (None: the server's own). `seconds` is for one try of a call; `process` names whoever
    stages points. Raises QdrantConnectionError where the server's client is not installed."""

    url: str
    api_key: SecretStr | None = None
    prefix: str = "kotae"
    shards: int | None = None
    replicas: int | None = None
    write_consistency: int | None = None
    seconds: float = 10.0
    home: str | None = None
    process: str = ""

    def __post_init__(self) -> None:
        if find_spec("qdrant_client") is None:
            raise QdrantConnectionError(_CLIENT)

    async def open(self, made: Made) -> Index:
        from retrieval.index.server import ServerIndex, collection_of

        return await ServerIndex.open(
            self.url,
            self.api_key,
            dimensions=made.dimensions,
            embedder=made.embedder,
            tokenizer=made.tokenizer,
            collection=collection_of(made, self.prefix),
            shards=self.shards,
            replicas=self.replicas,
            write_consistency=self.write_consistency,
            seconds=self.seconds,
            home=self.home,
            process=self.process,
        )

    async def there(self, made: Made) -> bool:
        from retrieval.index.server import ServerIndex, collection_of

        return await ServerIndex.there(self.url, self.api_key, collection_of(made, self.prefix), seconds=self.seconds)

    async def remove(self, made: Made) -> None:
        from retrieval.index.server import ServerIndex, collection_of

        await ServerIndex.remove(
            self.url, self.api_key, collection_of(made, self.prefix), home=self.home, seconds=self.seconds
        )
