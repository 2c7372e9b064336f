"""Files that wait to be read, in a database on a server: taken in on one machine, they can be read on another."""

import uuid
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, func, select

from bot.store.engine import Store, change, execute, rows
from bot.store.schema import held_files

_PIECE = 2**20  # bytes of a row: no statement has to carry a whole file


class HeldRows(Store):
    """The files, by keys that nobody can guess. All raise StoreError."""

    async def size(self) -> int:
        """Bytes of all that wait."""
        found = await rows(self._engine, select(func.sum(func.length(held_files.c.data)).label("n")))
        return int(found[0].n or 0)

    async def keep(self, files: Sequence[bytes]) -> list[str]:
        """All of them or none: their keys."""
        now, keys = datetime.now(UTC), [uuid.uuid4().hex for _ in files]

        def keep(db: Connection) -> None:
            for key, data in zip(keys, files, strict=True):
                for row in _pieces(key, data, now):
                    db.execute(held_files.insert().values(row))

        await change(self._engine, keep)
        return keys

    async def get(self, key: str) -> bytes | None:
        pieces = select(held_files.c.data).where(held_files.c.key == key).order_by(held_files.c.part)
        found = await rows(self._engine, pieces)
        return b"".join(row.data for row in found) if found else None

    async def drop(self, keys: Collection[str]) -> None:
        await execute(self._engine, delete(held_files).where(held_files.c.key.in_(keys)))

    async def expire(self, before: datetime) -> None:
        """Delete those that are older."""
        await execute(self._engine, delete(held_files).where(held_files.c.at < before))


def _pieces(key: str, data: bytes, now: datetime) -> Iterator[dict[str, Any]]:
    for part, at in enumerate(range(0, len(data) or 1, _PIECE)):
        yield {"key": key, "part": part, "data": data[at : at + _PIECE], "at": now}
