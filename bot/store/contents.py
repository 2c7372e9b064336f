"""The kept Markdown of documents in a database on a server, which every machine reads: by the hash of its text.

A text comes with the transaction of the row that names it, and goes only in one that has locked it and then sees no row
that needs it. So of two machines, one that is about to need a text and one that no longer does, neither takes it from
the other. The server compresses it (TOAST).
"""

import hashlib
from collections.abc import Collection, Mapping

from sqlalchemy import ColumnElement, Connection, Executable, delete, exists, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.errors import ContentLostError
from bot.store.engine import Store, change, insert, rows
from bot.store.schema import changed_documents, contents, documents

_AT_ONCE = 500  # addresses in a statement


class Contents(Store):
    """The texts of all documents: a `bot.knowledge.content_store.ContentStore`. All raise StoreError."""

    async def put(self, markdown: str) -> str:
        """Its address: the row itself brings the text."""
        return address_of(markdown)

    async def read(self, address: str) -> str:
        """Raises ContentLostError."""
        found = await rows(self._engine, select(contents.c.data).where(contents.c.address == address))
        if not found or hashlib.sha256(found[0].data).hexdigest() != address:
            raise ContentLostError(f"its kept Markdown {address} is not in the database, or has been changed")
        return bytes(found[0].data).decode()

    async def there(self) -> set[str]:
        """The addresses of all texts."""
        return {row.address for row in await rows(self._engine, select(contents.c.address))}

    async def lost(self, addresses: Collection[str]) -> set[str]:
        """Of `addresses` those whose text is not there, or not what its address says; the server looks itself."""
        lost = set(addresses)
        same = func.encode(func.sha256(contents.c.data), "hex") == contents.c.address
        wanted = sorted(addresses)
        for at in range(0, len(wanted), _AT_ONCE):
            some = select(contents.c.address).where(contents.c.address.in_(wanted[at : at + _AT_ONCE]), same)
            lost.difference_update(row.address for row in await rows(self._engine, some))
        return lost

    async def bring(self, texts: Mapping[str, bytes]) -> None:
        """Take in texts that rows name already, from a folder; what nobody needs by now is left out."""

        def bring(db: Connection) -> None:
            for address, data in texts.items():
                db.execute(_kept(db, address, data))
                db.execute(delete(contents).where(contents.c.address == address, ~_needed()))

        await change(self._engine, bring)

    async def drop(self, address: str) -> None:
        """Delete a text, unless something needs it."""

        def drop(db: Connection) -> None:
            # Whoever brings it along for a row of theirs holds it until that row can be seen.
            db.execute(select(contents.c.address).where(contents.c.address == address).with_for_update())
            db.execute(delete(contents).where(contents.c.address == address, ~_needed()))

        await change(self._engine, drop)

    async def drop_all_but(self, addresses: Collection[str]) -> None:
        for address in await self.there() - set(addresses):
            await self.drop(address)


def address_of(markdown: str) -> str:
    return hashlib.sha256(markdown.encode()).hexdigest()


def keep(db: Connection, address: str, markdown: str) -> None:
    """Inside the transaction that names the text: it is there from now on, and nobody drops it before the end."""
    assert address_of(markdown) == address
    db.execute(_kept(db, address, markdown.encode()))


def _kept(db: AsyncConnection | Connection, address: str, data: bytes) -> Executable:
    added = insert(db, contents).values(address=address, data=data)
    # Written even where it is there: that locks it. A damaged one is put right.
    kept: Executable = added.on_conflict_do_update(index_elements=["address"], set_={"data": added.excluded.data})
    return kept


def _needed() -> ColumnElement[bool]:
    """By a document, or by an answer that is to be held against an earlier version."""
    now = exists().where(documents.c.markdown == contents.c.address)
    return now | exists().where(changed_documents.c.before == contents.c.address)
