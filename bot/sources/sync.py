"""One sync of a source: what is new is added, what has changed replaced, what was renamed keeps its document, and what
is gone is forgotten, after a whole listing only. Each page is noted when it is done, so that what is cut short goes on.

Source: sources.md §2.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import PurePath
from typing import Literal

from bot.access import person
from bot.knowledge.documents import KnowledgeBase
from bot.records import DocumentRow
from bot.sources.base import (
    GONE,
    UNREAD,
    Fetched,
    Listing,
    PageError,
    PageGoneError,
    PageRefusedError,
    PageSource,
    SourcePage,
    shown,
)
from bot.store.documents import Documents
from bot.store.followed import FollowedPage, FollowedSource, FollowedSources
from bot.types import Upload
from retrieval.i18n import Text
from retrieval.loaders.sanitize import clean_name
from retrieval.types import (
    EVERYONE,
    TEAM,
    EmbeddingError,
    QdrantConnectionError,
    RAGToolError,
    Readers,
    StoppedError,
)

log = logging.getLogger(__name__)

MANY_GONE, SHARE_GONE = 10, 0.2  # pages of a source that may be gone at once without a word
AGAIN = timedelta(days=1)  # until a page whose reading was stopped is read once more, as it is

_TAKEN = Text(
    en="“{name}” was added to “{collection}” by somebody else, and stays as it is.",
    ja="「{name}」はほかの人が「{collection}」に登録した文書のため、変更しません。",
)

Progress = Callable[[int, int], None]

WhatIsGone = Literal["forget", "keep", ""]
"""What is to become of pages that are gone at once, if they are many: their documents are forgotten, or stay and are
the source's no more; "": somebody has to say so."""

SOURCE = "source:"  # before the id of a source, as an author
KEPT = f"{SOURCE}kept"  # the author of documents that somebody has kept, and that are no source's any more


@dataclass
class SyncReport:
    """The work of one sync. `failed`: pages that could not be had and are tried again; `gone`: so many are not there
    any more, and nothing of them was removed, because somebody has to say whether that is meant."""

    added: int = 0
    replaced: int = 0
    renamed: int = 0
    removed: int = 0
    refused: list[tuple[str, Text]] = field(default_factory=list)
    failed: list[tuple[str, Text]] = field(default_factory=list)
    pages: int = 0
    gone: int = 0


def author_of(source: FollowedSource) -> str:
    """The author of its documents: by that they are known as its own."""
    return f"{SOURCE}{source.id}"


@dataclass
class Sync:
    """For one source. `gone`: what somebody has said is to become of pages that are gone. Raises SourceError,
    StoreError, and RAGToolError where the index cannot be reached."""

    source: FollowedSource
    store: FollowedSources
    knowledge: KnowledgeBase
    documents: Documents
    _: KW_ONLY
    gone: WhatIsGone = ""
    progress: Progress | None = None
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    report: SyncReport = field(default_factory=SyncReport)
    added: set[str] = field(default_factory=set)  # documents
    holders: dict[str, str] = field(default_factory=dict)  # by document, the page whose it is

    async def run(self, followed: PageSource) -> str | None:
        """Returns the cursor of the next look. What it did is in `report`."""
        known, tell = _apart(await self.store.pages(self.source.id)), self.progress or (lambda done, total: None)
        whole = self.gone or any(map(self._stopped, known.values()))
        cursor = None if whole else self.source.cursor
        async with followed.look(cursor, known) as listing:
            if listing is None:
                self.report.pages = len(known)
                return cursor
            self.report.pages = len(listing.pages)
            if self._by_page:
                known = await self.store.pages(self.source.id)  # its look has found more of them
            self.holders = {page.document: ref for ref, page in known.items() if page.document is not None}
            await self._renamed(listing, known)
            if not self._by_page:
                await self._readdressed(listing, known)
            wanted = [page for page in listing.pages.values() if not self._done(page, known.get(page.ref, UNREAD))]
            for number, page in enumerate(wanted):
                tell(number, len(wanted))
                await self._page(listing, page, known.get(page.ref, UNREAD))
            if wanted:
                tell(len(wanted), len(wanted))
            if not self._by_page:
                await self._moved(listing, [page for ref, page in known.items() if ref not in listing.pages])
            await self._gone([ref for ref in known if ref not in listing.pages], known)
            if self._by_page:
                pages = (await self.store.pages(self.source.id)).values()
                self.report.pages = sum(page.document is not None for page in pages)
            elif self.report.failed or self.report.gone:
                return None  # the next look has them again
            return listing.cursor

    @property
    def _by_page(self) -> bool:
        """Whether each page is known to have to be read or not, whatever becomes of the others."""
        return self.source.kind == "channel"

    async def _renamed(self, listing: Listing, known: dict[str, FollowedPage]) -> None:
        """A document keeps its id, its history and its Q/A pairs."""
        for page in listing.pages.values():
            before = known.get(page.was) if page.was is not None else None
            if page.was is None or before is None or page.ref in known:
                continue
            if (own := await self._own(before.document)) is not None:
                try:
                    name, _ = await self._named(page, before, self._place(own), listing.pages)
                    await self._rename(own, name, page.url)
                except RAGToolError as error:  # somebody was faster: the new page is refused, the old one goes
                    log.info("a page could not be renamed: %s", error)
                    continue
                self.holders[own.id] = page.ref
                self.report.renamed += 1
            await self.store.note(self.source.id, page.ref, before)
            await self.store.drop(self.source.id, [page.was])
            known[page.ref] = known.pop(page.was)

    async def _readdressed(self, listing: Listing, known: dict[str, FollowedPage]) -> None:
        """A page at another address, as after a branch was renamed, says what it said."""
        urls = {page.document: listing.pages[ref].url for ref, page in known.items() if ref in listing.pages}
        for row in await self._rows() if any(urls.values()) else ():
            if row.url != urls.get(row.id, row.url):
                await self._rename(row, row.name, urls[row.id])

    async def _rows(self) -> list[DocumentRow]:
        """The documents that are the source's own, wherever somebody has put them."""
        return await self.documents.listed(author=author_of(self.source))

    async def _page(self, listing: Listing, page: SourcePage, before: FollowedPage) -> None:
        fetched, document, refusal = Fetched(None), before.document, None
        try:
            fetched = await listing.fetch(page)
            document = await self._taken(page, before, fetched, listing.pages)
            if document is not None:
                self.holders[document] = page.ref
        except PageRefusedError as error:  # what it said last stays, as long as the page is there
            refusal, fetched = error.said, replace(fetched, again=fetched.again or error.again)
            self.report.refused.append((shown(page.ref), refusal))
        except PageGoneError:  # waits until all others were looked at: they may be many
            await self._note(page, before, replace(before, version=GONE, due_at=None))
            return
        except PageError as error:
            self.report.failed.append((shown(page.ref), error.said))
            if error.again is not None:
                await self._note(page, before, replace(before, due_at=error.again))
            return
        version = page.version if fetched.version is None else fetched.version
        await self._note(page, before, FollowedPage(version, document, refusal, fetched.again, fetched.people))

    async def _note(self, page: SourcePage, before: FollowedPage, noted: FollowedPage) -> None:
        await self.store.note(self.source.id, page.ref, noted, seen=before.due_at)

    async def _taken(
        self, page: SourcePage, before: FollowedPage, fetched: Fetched, listed: Collection[str]
    ) -> str | None:
        """The document of a page, if it is one now. Raises PageRefusedError where it can be none."""
        if fetched.data is None:
            await self._forget(before.document)
            return None
        source, own = self.source, await self._own(before.document)
        collection, scope = place = self._place(own)
        name, there = await self._named(page, before, place, listed)
        if there is not None and there.author != author_of(source):
            raise PageRefusedError(_TAKEN, name=name, collection=collection)
        date = fetched.changed_at or (there.changed_at if there is not None else None)
        author = author_of(source)
        upload = Upload(name, fetched.data, collection, scope, author, page.url, date, fetched.said_in)
        try:
            if own is not None and own.scope != scope:
                own = await self.knowledge.rescope(own.id, scope, Readers(frozenset({own.scope})))
            if there is None and own is not None:  # under another name, such as that of another kind of file
                await self._rename(own, name, page.url)
            verdict = await self.knowledge.take(upload)
        except (QdrantConnectionError, EmbeddingError):  # would be another page's, too
            raise
        except StoppedError as error:
            raise PageRefusedError(error.said, again=self.now + AGAIN) from error
        except RAGToolError as error:
            raise PageRefusedError(error.said) from error
        self.report.replaced += verdict.status == "replaced"
        if verdict.status == "added" and verdict.document_id is not None:
            self.report.added += 1
            self.added.add(verdict.document_id)
            who = None if self._by_page else person(source.added_by)  # nobody looks after what others say
            if who is not None:
                await self.documents.own(verdict.document_id, who)
        return verdict.document_id

    async def _named(
        self, page: SourcePage, before: FollowedPage, place: tuple[str, str], listed: Collection[str]
    ) -> tuple[str, DocumentRow | None]:
        """The name of a page's document at its place, and what has it now. Two pages may have names that read alike:
        another page's that is there stays that one's, and one that has a document keeps it, under the next number."""
        plain = clean_name(page.name)
        short, suffix = clean_name(page.name, 380), PurePath(plain).suffix  # there is room for a number
        for number in count(1):
            name = plain if number == 1 else clean_name(f"{short.removesuffix(suffix)} ({number}){suffix}")
            there = await self.documents.find(*place, name)
            if there is None or there.id == before.document:
                break
            if before.document is None and self.holders.get(there.id) not in listed:
                break
        return name, there

    async def _moved(self, listing: Listing, gone: Sequence[FollowedPage]) -> None:
        """A newer page that says what one says that is gone is that one, at another place: a website does not tell.
        Until all is done it counts as not read."""
        if not gone:
            return
        pages = await self.store.pages(self.source.id)
        there = {page.document: ref for ref, page in pages.items() if ref in listing.pages}
        rows = await self._rows()
        copies = {(row.markdown, row.title): row for row in rows if row.id in there}
        left = {page.document for page in gone} - there.keys()
        for row in (row for row in rows if row.id in left):
            copy = copies.get((row.markdown, row.title))
            if copy is None or copy.added_at <= row.added_at:
                continue
            del copies[row.markdown, row.title]
            page = listing.pages[there[copy.id]]
            await self.store.note(self.source.id, page.ref, FollowedPage("", copy.id))
            await self.knowledge.forget(copy.id, at_source=True)
            await self._rename(row, copy.name, page.url)
            await self.store.note(self.source.id, page.ref, FollowedPage(page.version, row.id))
            self.report.added -= copy.id in self.added
            self.report.renamed += 1

    async def _gone(self, refs: Sequence[str], known: dict[str, FollowedPage]) -> None:
        """A sync that was killed in the middle of a rename has left the document with both pages: it is the one's that
        is there."""
        pages = await self.store.pages(self.source.id) if refs else {}
        kept = {pages[ref].document for ref in pages.keys() - refs}
        had = {ref: document for ref in refs if (document := known[ref].document) is not None and document not in kept}
        all_of_them = sum(page.document is not None for page in known.values())  # what is refused is in none
        many = len(had) > max(MANY_GONE, SHARE_GONE * all_of_them) or (len(had) == all_of_them > 1)
        if self.gone == "keep":
            for document in had.values():
                if await self._own(document) is not None:
                    await self.documents.sign(document, KEPT)
            await self.store.drop(self.source.id, refs)
            return
        if many and self.gone != "forget":
            self.report.gone = len(had)
            return
        for ref in refs:
            await self._forget(had.get(ref))
            await self.store.drop(self.source.id, [ref])

    async def _forget(self, document: str | None) -> None:
        if document is not None and await self._own(document) is not None:
            await self.knowledge.forget(document, at_source=True)
            self.report.removed += 1

    async def _own(self, document: str | None) -> DocumentRow | None:
        """A document that is still the source's: nobody has put another in its place."""
        row = await self.documents.get(document) if document is not None else None
        return row if row is not None and row.author == author_of(self.source) else None

    async def _rename(self, own: DocumentRow, name: str, url: str | None) -> None:
        await self.knowledge.rename_document(own.id, name, url, Readers(frozenset({own.scope})))

    def _place(self, own: DocumentRow | None) -> tuple[str, str]:
        """The collection and scope of a page's document: where somebody has put it, if it is there. A thread has the
        readers of its channel, or the fewer that somebody gave it."""
        if own is None:
            return self.source.collection, self.source.scope
        fewer = self.source.scope == TEAM and own.scope != EVERYONE
        return own.collection, own.scope if fewer or not self._by_page else self.source.scope

    def _done(self, page: SourcePage, before: FollowedPage) -> bool:
        return before.version == page.version and not self._stopped(before)

    def _stopped(self, page: FollowedPage) -> bool:
        """Whether its reading was stopped, and may be tried again by now; a thread is due by itself."""
        due = page.due_at is not None and page.due_at <= self.now
        return due and page.refusal is not None and not self._by_page


def _apart(pages: Mapping[str, FollowedPage]) -> dict[str, FollowedPage]:
    """Pages with one document, as those of one name once had, are read anew: each gets its own."""
    having = Counter(page.document for page in pages.values() if page.document is not None)
    return {ref: page if page.document is None or having[page.document] == 1 else UNREAD for ref, page in pages.items()}
