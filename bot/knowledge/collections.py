"""Documents that are there already: forgotten, moved between collections, and put right after a crash.

`stored` of a `KnowledgeBase`. Source: architecture.md "Qdrant", "One visible step".
"""

import logging
from collections.abc import Sequence
from functools import partial

from bot.config.types import COLLECTION_NAME
from bot.errors import StoreError
from bot.knowledge.content_store import ContentStore
from bot.knowledge.snapshots import Snapshots, uncontested
from bot.records import DocumentRow
from bot.store.collections import Collections
from bot.store.documents import Documents
from bot.waiting import finished
from retrieval.i18n import Language, Text
from retrieval.index import Index
from retrieval.types import RAGToolError, Readers

log = logging.getLogger(__name__)

AT_ONCE = 10_000  # documents, and what was made from them: PostgreSQL takes 32,767 values in a statement

_BAD_NAME = Text(
    en="A collection's name must have 1 to 80 characters, without commas or line breaks.",
    ja="コレクション名は 1～80 文字です。コンマと改行は使えません。",
)
_CLASH = Text(
    en="“{source}” and “{into}” both have a document of these names with different contents: {names}. Forget one of "
    "each first.",
    ja="「{source}」と「{into}」の両方に、名前が同じで内容の違う文書があります: {names}。"
    "先にどちらかを削除してください。",
)
_PRIVATE = Text(en="(documents of private places)", ja="（非公開の場所の文書）")
_TAKEN = Text(
    en="There is already a collection of this name. To put the two together, merge them.",
    ja="同じ名前のコレクションがすでにあります。まとめるには統合してください。",
)


class StoredDocuments:
    """Changes that read no document."""

    def __init__(
        self, documents: Documents, collections: Collections, index: Index, kept: ContentStore, generations: Snapshots
    ) -> None:
        self._documents = documents
        self._collections = collections
        self._index = index
        self._kept = kept
        self._generations = generations

    async def recover(self) -> None:
        """After a start: what was never committed goes, what has died is swept, a merge cut in two is finished
        (`Snapshots.recover`); kept Markdown that nobody needs goes."""
        await self._generations.recover()
        await self._kept.drop_all_but(await self._documents.kept())

    # -- documents --------------------------------------------------------------------------------------------------

    async def forget(self, *document_ids: str, at_source: bool = False) -> int:
        """Gone from every search, so many as a statement takes in one step; returns how many were there."""
        there = 0
        for at in range(0, len(document_ids), AT_ONCE):
            some = document_ids[at : at + AT_ONCE]
            rows, addresses = await finished(uncontested(partial(self._hide, some, at_source)))
            await self.tidy(*addresses)
            there += len({*some} & {row.id for row in rows})
        return there

    async def _hide(self, document_ids: Sequence[str], at_source: bool) -> tuple[list[DocumentRow], set[str]]:
        """Hides them and everything made from them; the addresses of what was kept of them, earlier versions too."""
        async with self._generations.commit():
            made = await self._documents.made_from(document_ids)
            found = [await self._documents.get(document_id) for document_id in dict.fromkeys([*document_ids, *made])]
            rows = [row for row in found if row is not None]
            addresses = await self._documents.kept([row.id for row in rows])
            if rows:
                await self._retire(*(row.id for row in rows), at_source=at_source)
            return rows, addresses

    async def _retire(self, *document_ids: str, copied: bool = False, at_source: bool = False) -> None:
        """Under `commit`: documents and their passages are gone, in one step. `copied`, `at_source`: see
        `Documents.forget`."""
        died = self._generations.current + 1
        try:
            for document_id in document_ids:
                await self._index.retire(document_id, died=died)
            await self._documents.forget(*document_ids, generation=died, copied=copied, at_source=at_source)
        except BaseException as error:
            for document_id in document_ids:
                await self.take_back(document_id, died, error)
            raise
        self._generations.current = died

    async def take_back(self, document_id: str, at: int, why: BaseException) -> None:
        """Undo a change of the index whose commit failed: also when another process, which had the lock by then, has
        committed the same generation, and perhaps of the same document. Where the database broke off it may have
        committed the change and only the answer was lost: that is left to the next commit."""
        if isinstance(why, StoreError):
            self._generations.doubt()
            return
        try:
            row = await self._documents.get(document_id)
        except StoreError:
            self._generations.doubt()
            return
        of_another = row is None or row.born == at
        await self._generations.take_back(document_id, at, revive=not of_another)

    # -- collections ------------------------------------------------------------------------------------------------

    async def create(self, name: str, description: str) -> None:
        """Raises RAGToolError for a bad or taken name."""
        check_name(name)
        if not await self._collections.create(name, description):
            raise RAGToolError(_TAKEN)

    async def describe(self, name: str, description: str) -> None:
        """Make a collection, or give it another description for the router. Raises RAGToolError for a bad name."""
        check_name(name)
        await self._collections.describe(name, description)

    async def rename(self, name: str, to: str, readers: Readers, language: Language = "en") -> None:
        """Raises CollectionNotFoundError, RAGToolError for a bad or taken name."""
        check_name(to)
        await self._collections.require((name,), readers, language)
        if name == to:
            return
        if await self._collections.exists(to):
            raise RAGToolError(_TAKEN)
        await finished(uncontested(partial(self._merge, name, to, readers, language)))

    async def merge(self, source: str, into: str, readers: Readers, language: Language = "en") -> int:
        """Move every document of `source` into `into`; equal copies become one. Returns how many of those that
        `readers` may read have moved. Raises CollectionNotFoundError, RAGToolError when two documents of one name and
        scope differ."""
        check_name(into)
        await self._collections.require((source,), readers, language)
        if source == into:
            return 0
        moved, twins = await finished(uncontested(partial(self._merge, source, into, readers, language)))
        await self.tidy(*(row.markdown for row in twins))
        return moved

    async def _merge(
        self, source: str, into: str, readers: Readers, language: Language
    ) -> tuple[int, list[DocumentRow]]:
        async with self._generations.commit():
            moving = await self._documents.listed(collection=source)
            there = {(row.scope, row.name): row for row in await self._documents.listed(collection=into)}
            twins = [row for row in moving if (row.scope, row.name) in there]
            clashes = [row for row in twins if row.hash != there[row.scope, row.name].hash]
            if clashes:
                named = [row.name for row in clashes if row.scope in readers.scopes]
                names = ", ".join(named + [_PRIVATE.to(language)] * (len(named) < len(clashes)))
                raise RAGToolError(_CLASH, source=source, into=into, names=names)
            if twins:
                await self._retire(*(row.id for row in twins), copied=True)
            # The database first: it says what the index has yet to do, whoever dies in between.
            await self._collections.merge(source, into)
            await self._generations.settle()
        return sum(row.scope in readers.scopes for row in moving), twins

    async def drop_collection(self, name: str, readers: Readers, language: Language = "en") -> int:
        """Forget what `readers` may read of a collection, and the collection once it is empty; returns how many. Raises
        CollectionNotFoundError."""
        await self._collections.require((name,), readers, language)
        forgotten = await self.forget(*(row.id for row in await self._documents.listed(readers, collection=name)))
        await self._collections.remove(name)
        return forgotten

    # -- what nobody needs any longer -------------------------------------------------------------------------------

    async def tidy(self, *addresses: str) -> None:
        """After a change is visible: delete what no running search can still see. What fails is left to the next
        start."""
        try:
            await self._generations.sweep()
            if addresses:
                async with self._generations.commit():
                    for address in addresses:
                        await self.drop_unneeded(address)
        except (RAGToolError, StoreError):
            log.warning("the index could not be swept", exc_info=True)

    async def drop_unneeded(self, address: str) -> None:
        """Under `commit`, so that nobody is about to need it again."""
        try:
            if not await self._documents.keeps(address):
                await self._kept.drop(address)
        except (StoreError, OSError):
            log.warning("kept Markdown that nobody needs stays until the next start", exc_info=True)


def check_name(collection: str) -> None:
    """Raises RAGToolError for what cannot be a collection's name."""
    if not COLLECTION_NAME.fullmatch(collection):
        raise RAGToolError(_BAD_NAME)
