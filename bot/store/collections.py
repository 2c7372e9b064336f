"""Collections of documents: what each is about, and how much of it somebody may read."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, func, literal, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.store.batching import WriteBatcher
from bot.store.documents import new_collection
from bot.store.engine import at_place, change, execute, insert, rows
from bot.store.schema import collections, documents, followed, moves, places
from bot.types import Place
from retrieval.i18n import Language, Text
from retrieval.types import TEAM, CollectionInfo, CollectionNotFoundError, Readers

_UNKNOWN = Text(
    en="There is no collection “{name}” that can be read here. There are: {names}.",
    ja="ここで読めるコレクション「{name}」はありません。あるのは次のとおりです: {names}",
)
_NONE = Text(en="none", ja="なし")


class Collections:
    """Names and descriptions; the counts come from the documents."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._looks = WriteBatcher(self._look, name="collections-listed")

    async def listed(self, readers: Readers) -> tuple[CollectionInfo, ...]:
        """Those with a document that these readers may read, and for the team the empty ones, by name; others are not
        named.

        Every turn asks for them and every document is counted, so those that ask together share one look.
        """
        parts: dict[tuple[str, str], list[Row[Any]]] = {}
        for row in await self._looks(None):
            parts.setdefault((row.name, row.description), []).append(row)
        found = []
        for (name, description), each in parts.items():
            theirs = [row for row in each if row.scope in readers.scopes]
            if theirs or (each[0].scope is None and TEAM in readers.scopes):
                found.append(
                    CollectionInfo(
                        name=name,
                        description=description,
                        owner=each[0].owner,
                        languages=tuple(dict.fromkeys(row.language for row in theirs)),
                        documents=sum(row.documents for row in theirs),
                        chunks=sum(row.chunks for row in theirs),
                    )
                )
        return tuple(found)

    async def _look(self, asked: Sequence[None]) -> list[Sequence[Row[Any]]]:
        return [await rows(self._engine, _LISTED)] * len(asked)

    async def close(self) -> None:
        """A look that is under way ends."""
        await self._looks.close()

    async def exists(self, name: str) -> bool:
        """Whether there is one of that name, whoever may read it."""
        return bool(await rows(self._engine, select(collections.c.name).where(collections.c.name == name)))

    async def require(self, names: Sequence[str], readers: Readers, language: Language) -> None:
        """Raises CollectionNotFoundError for a name that `listed` does not show these readers."""
        if not names:
            return
        known = {info.name for info in await self.listed(readers)}
        for name in names:
            if name not in known:
                there = ", ".join(sorted(known)) or _NONE.to(language)
                raise CollectionNotFoundError(_UNKNOWN, name=name, names=there)

    async def create(self, name: str, description: str) -> bool:
        """Make a collection. False, and nothing changes: there is one of that name, whoever may read it."""
        made = new_collection(self._engine, name, description)
        return bool(await execute(self._engine, made.on_conflict_do_nothing(index_elements=["name"])))

    async def describe(self, name: str, description: str) -> None:
        """Make a collection, or give it another description."""
        made = new_collection(self._engine, name, description)
        described = made.on_conflict_do_update(index_elements=["name"], set_={"description": description})
        await execute(self._engine, described)

    async def own(self, name: str, owner: str | None) -> bool:
        """From now on `owner` (`platform:id`; None: nobody) looks after a collection. False: it is not there."""
        owned = update(collections).where(collections.c.name == name).values(owner=owner)
        return bool(await execute(self._engine, owned))

    async def merge(self, source: str, into: str) -> int:
        """Move every document of `source` into `into` and drop `source`; returns how many moved. An `into` that is not
        there yet is `source` under another name. Whoever looks after `source` looks after them as before; what is
        followed into it, and channels that chose it, have `into` from now on. The index has yet to follow
        (`VectorStores.moves`).

        Raises IntegrityError, and changes nothing, when both hold a document of one scope and name.
        """
        if source == into:
            return 0

        def move(db: Connection) -> int:
            its = {name: collections.c[name] for name in ("description", "created_at", "owner")}
            renamed = select(literal(into), *its.values()).where(collections.c.name == source)
            given = insert(db, collections).from_select(["name", *its], renamed)
            db.execute(given.on_conflict_do_nothing(index_elements=["name"]))
            before = select(collections.c.owner).where(collections.c.name == source).scalar_subquery()
            values = {"collection": into, "owner": func.coalesce(documents.c.owner, before)}
            moved = db.execute(update(documents).where(documents.c.collection == source).values(**values))
            db.execute(delete(collections).where(collections.c.name == source))
            db.execute(update(followed).where(followed.c.collection == source).values(collection=into))
            _choose(db, source, into)
            db.execute(moves.insert().values(source=source, into=into))
            return moved.rowcount

        return await change(self._engine, move)

    async def remove(self, name: str) -> bool:
        """Drop a collection that has no documents; False when there is none of that name or it is not empty."""
        used = select(documents.c.id).where(documents.c.collection == name).exists()
        return bool(await execute(self._engine, delete(collections).where(collections.c.name == name, ~used)))


def _choose(db: Connection, source: str, into: str) -> None:
    """Channels that chose a collection have chosen another one."""
    for row in db.execute(select(places).with_for_update()).all():
        if source in (row.collections or ()):
            chosen = dict.fromkeys(into if name == source else name for name in row.collections)
            here = at_place(places, Place(row.platform, row.workspace, row.channel))
            db.execute(update(places).where(here).values(collections=[*chosen]))


# A row for each language and scope of a collection; one without them if it is empty.
_LISTED = (
    select(
        collections.c.name,
        collections.c.description,
        collections.c.owner,
        documents.c.language,
        documents.c.scope,
        func.count(documents.c.id).label("documents"),
        func.coalesce(func.sum(documents.c.chunks), 0).label("chunks"),
    )
    .select_from(collections.outerjoin(documents, documents.c.collection == collections.c.name))
    .group_by(
        collections.c.name, collections.c.description, collections.c.owner, documents.c.language, documents.c.scope
    )
    .order_by(collections.c.name, documents.c.language, documents.c.scope)
)
