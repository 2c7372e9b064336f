"""Approved pairs as documents that searches find: brought in line with what is approved, and with what became of the
documents they were made from. Source: product.md §3 (who may read it).
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

from bot.knowledge.documents import KnowledgeBase
from bot.records import DocumentRow
from bot.store.documents import Documents
from bot.store.qa_pairs import PairRows, Tracked, Wanted
from bot.types import Upload
from retrieval.i18n import Language, Text, filled

AUTHOR = "kotae"
_NAME = 300  # characters of the source's name in that of its pairs

_NOT_KEPT = Text(
    en="The pairs of “{name}” could not be added to the knowledge: {reason}",
    ja="「{name}」の Q/A ペアを追加できませんでした: {reason}",
)


class PairDocuments:
    """One document for the approved pairs of a source (of a long one, several): in its collection, for its readers
    only, with its address. What it should be follows from the database alone, so that `follow` mends whatever was cut
    short."""

    def __init__(
        self,
        rows: PairRows,
        documents: Documents,
        knowledge: KnowledgeBase,
        language: Language,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._rows = rows
        self._documents = documents
        self._knowledge = knowledge
        self._language = language
        self._clock = clock
        self._generation = -1  # of the knowledge, when all was in line with it

    async def follow(self, source: str | None = None) -> list[Text]:
        """Add, replace and forget what it takes, for one source or for all; why some could not be added, in words.

        The pairs of a forgotten source are forgotten, those of one that moved or has other readers follow it, and a
        document that somebody took out by itself stays out: its pairs are rejected. Raises StoreError, RAGToolError.
        """
        async with self._rows.following.held():
            wanted = await self._rows.wanted(source)
            tracked = await self._rows.tracked(source)
            if not wanted and not tracked:
                return []
            there = {row.id: row for row in await self._documents.listed()}
            kept: dict[tuple[str, int], Tracked] = {}
            for one in tracked:
                key = (one.source, one.part)
                if (still := _still(one, wanted.get(key), there)) is not None:
                    kept[key] = still
                elif one.document is not None and one.document not in there and key in wanted:
                    await self._rows.untrack(one, now=self._clock())
                    del wanted[key]
                else:
                    await self._take_out(one, there.get(one.document or ""))
            return [
                said for key, one in wanted.items() if (said := await self._put(one, kept.get(key), there)) is not None
            ]

    async def keep_up(self) -> None:
        """`follow` for all, where the knowledge has changed since. Raises StoreError, RAGToolError."""
        generation = await self._knowledge.generation()
        if generation != self._generation:
            await self.follow()
            self._generation = generation

    async def _take_out(self, one: Tracked, row: DocumentRow | None) -> None:
        if row is not None:  # cut off behind the next step, it would look as if somebody had taken it out
            await self._rows.track(replace(one, collection=row.collection, scope=row.scope, document=None))
        elif one.document is None:
            known = await self._documents.find(one.collection, one.scope, one.name)
            row = known if known and known.author == AUTHOR else None
        if row is not None:
            await self._knowledge.forget(row.id)
        await self._rows.untrack(one)

    async def _put(self, wanted: Wanted, one: Tracked | None, there: Mapping[str, DocumentRow]) -> Text | None:
        rows = [{"question": pair.question, "answer": pair.answer} for pair in wanted.pairs]
        data = json.dumps(rows, ensure_ascii=False, indent=1).encode()
        if one is None:
            name = await self._free_name(wanted)
            one = Tracked(wanted.source, wanted.part, wanted.collection, wanted.scope, name)
            await self._rows.track(one)
        elif one.document is not None and there[one.document].hash == hashlib.sha256(data).hexdigest():
            return None
        about = (wanted.url, wanted.changed_at, wanted.said_in)
        upload = Upload(one.name, data, wanted.collection, wanted.scope, AUTHOR, *about)
        verdict = await self._knowledge.add(upload, self._language)
        if verdict.status == "refused":
            return filled(_NOT_KEPT, name=wanted.name, reason=verdict.reason)
        added = Tracked(one.source, one.part, wanted.collection, wanted.scope, one.name, verdict.document_id)
        await self._rows.track(added)
        return None

    async def _free_name(self, wanted: Wanted) -> str:
        """Never that of a document that somebody else has added."""
        for number in count(wanted.part + 1):
            numbered = f" ({number})" if number > 1 else ""
            name = f"Q&A: {wanted.name[:_NAME]}{numbered}.json"
            if await self._documents.find(wanted.collection, wanted.scope, name) is None:
                return name
        raise AssertionError("numbers do not end")


def _still(one: Tracked, wanted: Wanted | None, there: Mapping[str, DocumentRow]) -> Tracked | None:
    """The document where it is now, if it is (or may be) one that is wanted there."""
    row = there.get(one.document) if one.document is not None else None
    if wanted is None or (one.document is not None and row is None):
        return None
    # A merge moves it along with its source; one that somebody gave other readers goes back to those of its source.
    collection, scope = (row.collection, row.scope) if row else (one.collection, one.scope)
    if (collection, scope) != (wanted.collection, wanted.scope):
        return None
    return replace(one, collection=collection, scope=scope)
