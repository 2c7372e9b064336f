"""The documents that are there now; a change and the generation that shows it are one transaction."""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, exists, func, or_, select, true, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.access import THREAD
from bot.records import DocumentOrder, DocumentRow
from bot.store.changed_documents import correct_citations, note_change, rename_citations
from bot.store.contents import keep
from bot.store.engine import change, columns, execute, holds, insert, on_server, read, rows
from bot.store.schema import changed_documents, collections, documents, pair_documents, sources
from bot.store.unanswered import reopen
from bot.store.vector_stores import advance
from bot.store.withdrawal import withdraw
from retrieval.types import EVERYONE, TEAM, Readers


class Documents:
    """The documents the team has taught the bot. `embedder` names the vector store whose generation its changes
    move, `process` whoever moves it; `living`: answers that cite a document are checked again when it changes
    (`bot.store.changed_documents`)."""

    def __init__(self, engine: AsyncEngine, embedder: str, *, process: str = "", living: bool = True) -> None:
        self._engine = engine
        self._embedder = embedder
        self._process = process
        self._living = living

    async def find(self, collection: str, scope: str, name: str) -> DocumentRow | None:
        return await self._one(
            (documents.c.collection == collection) & (documents.c.scope == scope) & (documents.c.name == name)
        )

    async def get(self, document_id: str) -> DocumentRow | None:
        return await self._one(documents.c.id == document_id)

    async def listed(
        self,
        readers: Readers | None = None,
        *,
        collection: str | None = None,
        name: str | None = None,
        author: str | None = None,
    ) -> list[DocumentRow]:
        """The documents these readers may read (None: all, for maintenance), by collection and name."""
        wanted = select(documents).order_by(documents.c.collection, documents.c.name, documents.c.scope)
        if readers is not None:
            wanted = wanted.where(documents.c.scope.in_(readers.scopes))
        if collection is not None:
            wanted = wanted.where(documents.c.collection == collection)
        if name is not None:
            wanted = wanted.where(documents.c.name == name)
        if author is not None:
            wanted = wanted.where(documents.c.author == author)
        return [DocumentRow(**row._mapping) for row in await rows(self._engine, wanted)]

    async def page(
        self,
        readers: Readers,
        *,
        collection: str | None = None,
        scope: str | None = None,
        containing: str = "",
        order: DocumentOrder = "name",
        start: int = 0,
        limit: int = 20,
    ) -> tuple[list[DocumentRow], int]:
        """A page of what these readers may read, and how much there is: with `containing` in the name or the title,
        whatever their width or case, or at the id's beginning."""
        chosen = and_(
            documents.c.scope.in_(readers.scopes),
            true() if collection is None else documents.c.collection == collection,
            true() if scope is None else documents.c.scope == scope,
            or_(
                holds(documents.c.name, containing),
                holds(documents.c.title, containing),
                documents.c.id.startswith(containing.lower(), autoescape=True),
            )
            if containing
            else true(),
        )
        wanted = select(documents).where(chosen).order_by(*_ORDERS[order]).offset(start).limit(limit)
        async with read(self._engine) as db:
            total = await db.scalar(select(func.count()).select_from(documents).where(chosen))
            return [DocumentRow(**row._mapping) for row in await db.execute(wanted)], total or 0

    async def hidden(self, readers: Readers) -> int:
        """How many there are that these readers may not read, files of single threads left out."""
        others = documents.c.scope.not_in(readers.scopes) & ~documents.c.scope.startswith(THREAD, autoescape=True)
        counted = await rows(self._engine, select(func.count().label("n")).select_from(documents).where(others))
        return int(counted[0].n)

    async def readable(self, ids: Collection[str], readers: Readers) -> frozenset[str]:
        """Of `ids` the documents that are there now and readable."""
        values = {"ids": [*ids], "scopes": [*readers.scopes]}
        return frozenset(row.id for row in await rows(self._engine, _READABLE, values))

    async def owners(self, ids: Collection[str]) -> dict[str, tuple[str | None, str]]:
        """By document, the person who looks after it (`platform:id`; else after its collection; None: nobody in
        particular), and the id of whoever added it."""
        owner = func.coalesce(documents.c.owner, collections.c.owner).label("who")
        wanted = (
            select(documents.c.id, owner, documents.c.author)
            .join(collections, collections.c.name == documents.c.collection)
            .where(documents.c.id.in_(ids))
        )
        return {row.id: (row.who, row.author) for row in await rows(self._engine, wanted)}

    async def own(self, document_id: str, owner: str | None) -> bool:
        """From now on `owner` (`platform:id`; None: who added it) looks after this document. False: it is not there."""
        owned = update(documents).where(documents.c.id == document_id).values(owner=owner)
        return bool(await execute(self._engine, owned))

    async def sign(self, document_id: str, author: str) -> None:
        """From now on it is by this author."""
        await execute(self._engine, update(documents).where(documents.c.id == document_id).values(author=author))

    async def keeps(self, markdown: str) -> bool:
        """Whether some document still needs the kept Markdown at this address, or an answer that is to be checked."""
        needed = (
            exists().where(documents.c.markdown == markdown),
            exists().where(changed_documents.c.before == markdown),
        )
        return bool((await rows(self._engine, select(or_(*needed))))[0][0])

    async def kept(self, ids: Collection[str] | None = None) -> set[str]:
        """The addresses of the kept Markdown that these documents (None: all) need, earlier versions that answers are
        to be held against too."""
        now, earlier = select(documents.c.markdown), select(changed_documents.c.before)
        if ids is not None:
            now, earlier = now.where(documents.c.id.in_(ids)), earlier.where(changed_documents.c.document.in_(ids))
        return {row[0] for row in await rows(self._engine, now.union(earlier)) if row[0] is not None}

    async def commit(self, row: DocumentRow, *, generation: int, markdown: str | None = None) -> None:
        """Show a document's version: the row and the generation in one transaction, on a server with its `markdown`
        where it is another one than before.

        Raises OvertakenError, IntegrityError when another document has this collection, scope and name.
        """
        values = columns(row)

        def commit(db: Connection) -> None:
            if markdown is not None and on_server(db):
                keep(db, row.markdown, markdown)
            db.execute(new_collection(db, row.collection).on_conflict_do_nothing(index_elements=["name"]))
            now = datetime.now(UTC)
            before = db.execute(select(documents).where(documents.c.id == row.id)).first()
            if before is not None and before.name != row.name:
                rename_citations(db, row.id, before.name, row.name)
            if before is not None and before.scope != row.scope:
                withdraw(db, {row.id: row.name}, now, lambda scopes: row.scope in scopes)
            if before is not None and before.markdown != row.markdown and self._living:
                note_change(db, {row.id: row.name}, before.markdown, now)
            db.execute(
                insert(db, documents)
                .values(**values)
                .on_conflict_do_update(
                    index_elements=["id"], set_={name: value for name, value in values.items() if name != "id"}
                )
            )
            if before is not None and before.collection != row.collection:
                _drop_private(db, [before])
            advance(db, self._embedder, generation, self._process)

        await change(self._engine, commit)

    async def made_from(self, document_ids: Collection[str]) -> list[str]:
        """The documents that hold approved Q/A pairs of these."""
        made = select(pair_documents.c.document).where(
            pair_documents.c.source.in_(document_ids), pair_documents.c.document.is_not(None)
        )
        return [row.document for row in await rows(self._engine, made)]

    async def forget(self, *document_ids: str, generation: int, copied: bool = False, at_source: bool = False) -> int:
        """Take documents out, and their words out of answers, traces and cards, open the questions again that they
        answered, and move the generation, in one transaction; returns how many were there. `copied`: each has a twin
        elsewhere, which takes its place in what was said. `at_source`: nobody wants them forgotten, their pages are
        gone; what was said of them stays, and says so."""
        now = datetime.now(UTC)

        def forget(db: Connection) -> int:
            there = db.execute(select(documents).where(documents.c.id.in_(document_ids))).all()
            names = {each.id: each.name for each in there}
            if copied:
                _hand_over(db, document_ids)
            else:
                db.execute(delete(changed_documents).where(changed_documents.c.document.in_(document_ids)))
                if not at_source:
                    withdraw(db, names, now)
                elif self._living:
                    note_change(db, names, None, now)
                reopen(db, document_ids, now)
            gone = db.execute(delete(documents).where(documents.c.id.in_(document_ids)))
            _drop_private(db, there)
            advance(db, self._embedder, generation, self._process)
            return gone.rowcount

        return await change(self._engine, forget)

    async def _one(self, condition: Any) -> DocumentRow | None:
        found = await rows(self._engine, select(documents).where(condition))
        return DocumentRow(**found[0]._mapping) if found else None


_ORDERS: Mapping[DocumentOrder, tuple[Any, ...]] = {
    "name": (documents.c.collection, documents.c.name, documents.c.scope),
    "newest": (documents.c.updated_at.desc(), documents.c.id),
    "largest": (documents.c.chunks.desc(), documents.c.id),
}


def _hand_over(db: Connection, copied: Collection[str]) -> None:
    """Let what cites one of these documents cite its twin: the same words, for the same readers."""
    other = documents.alias("twin")
    alike = and_(*(other.c[name] == documents.c[name] for name in ("scope", "name", "hash")))
    twins = select(documents.c.id, documents.c.name, other.c.id.label("twin")).join(
        other, alike & (other.c.id.not_in(copied))
    )
    for row in db.execute(twins.where(documents.c.id.in_(copied))).all():
        correct_citations(db, {row.id: row.name}, document_id=row.twin)
        known = select(sources.c.turn).where(sources.c.document == row.twin)
        moved = update(sources).where(sources.c.document == row.id, sources.c.turn.not_in(known))
        db.execute(moved.values(document=row.twin))


def _drop_private(db: Connection, left: Iterable[Any]) -> None:
    """Collections that are empty now that these documents have left them are the team's to see; but not those whose
    last one was a private place's: their names and descriptions are its own, and go, too."""
    private = {row.collection for row in left if row.scope not in (TEAM, EVERYONE)}
    used = exists().where(documents.c.collection == collections.c.name)
    db.execute(delete(collections).where(collections.c.name.in_(private), ~used))


def new_collection(db: AsyncEngine | Connection, name: str, description: str = "") -> Any:
    """An INSERT, which says nothing yet of one that is there: a collection exists from its first document on."""
    return insert(db, collections).values(name=name, description=description, created_at=datetime.now(UTC))


# What every turn runs is put together once.
_READABLE = select(documents.c.id).where(
    documents.c.id.in_(bindparam("ids", expanding=True)), documents.c.scope.in_(bindparam("scopes", expanding=True))
)
