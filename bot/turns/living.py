"""Answers that follow the knowledge: when a page changes, or goes from its source, the answers that cite it are held
against what it says now, and say on top what does not hold any more; their askers are told once. Source: sources.md §4.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime, tzinfo

from agent.events import Answered, Citation, PageChange, of_documents
from agent.grounding.outdated import PageRechecked, recheck
from bot.records import ChangedPage, DocumentRow
from bot.store.changed_documents import ChangedDocument, ChangedDocuments
from bot.store.conversations import Conversation
from bot.texts import changed_pages_text
from bot.waiting import again_and_again
from retrieval.text import language_of
from retrieval.types import Readers

log = logging.getLogger(__name__)

EVERY_SECONDS = 1.0
MOST = 5  # statements of an answer that one page outdates; the first is shown

FindDocument = Callable[[str], Awaitable[DocumentRow | None]]
"""`Documents.get`."""

ReadKept = Callable[[str], Awaitable[str | None]]
"""`KnowledgeBase.as_cited`."""


@dataclass(frozen=True, slots=True)
class _Page:
    """A page that answers cite: its name by its id. `row` None: it is gone from its source; `before`: what it said
    then."""

    about: Mapping[str, str]
    before: str
    row: DocumentRow | None
    now: str


@dataclass
class LivingAnswers:
    """`tidy`: `KnowledgeBase.tidy`; `timezone`: of the days that people are shown. Raises StoreError."""

    changes: ChangedDocuments
    find: FindDocument
    read: ReadKept
    tidy: Callable[[str], Awaitable[None]]
    _: KW_ONLY
    timezone: tzinfo

    async def watch(self) -> None:
        """Until cancelled: check what has changed, a second later."""
        await again_and_again(self.check, EVERY_SECONDS, "answers could not be checked against changed documents")

    async def check(self) -> int:
        """Check the answers that rest on documents which changed; how many say something else now."""
        checked = [await self._check(changed) for changed in await self.changes.due()]
        return sum(checked)

    async def listed(self, readers: Readers) -> list[ChangedPage]:
        """The pages that changed under answers which these readers may see, the one with the most answers first."""
        return await self.changes.listed(readers.scopes, datetime.now(UTC))

    async def _check(self, changed: ChangedDocument) -> int:
        found: dict[str, Answered] = {}
        told: dict[str, str] = {}
        row = await self.find(changed.id)
        if row is None or row.markdown != changed.before:
            page = await self._page(changed, row)
            for one in await self.changes.resting(changed.id, datetime.now(UTC)) if page is not None else ():
                assert page is not None
                answer = await asyncio.to_thread(self._rechecked, one, page)
                if answer != one.answered:
                    found[one.turn] = answer
                new = [each for each in answer.changes if each not in one.answered.changes]
                if new:
                    told[one.turn] = changed_pages_text(new, one.asked.language or language_of(one.asked.text))
        markdown = row.markdown if row is not None else None
        if not await self.changes.settle(changed, markdown, found, told, datetime.now(UTC)):
            return 0
        if changed.before is not None:
            await self.tidy(changed.before)
        if found:
            log.info(
                "a document changed: %d answers that rest on it were put in order, %d say so", len(found), len(told)
            )
        return len(found)

    async def _page(self, changed: ChangedDocument, row: DocumentRow | None) -> _Page | None:
        """None: what it says now cannot be read."""
        before = await self.read(changed.before) if changed.before is not None else None
        if row is None:
            return _Page({changed.id: changed.name}, before or "", None, "")
        now = await self.read(row.markdown)
        if now is None:
            log.warning("answers that rest on a document are left as they are: its kept text is lost")
            return None
        return _Page({row.id: row.name}, before or "", row, now)

    def _rechecked(self, one: Conversation, page: _Page) -> Answered:
        """The answer as it is shown from now on; the very same where nothing of it is concerned."""
        answer = one.answered
        cited = [each for each in answer.citations if of_documents(each, page.about)]
        if not cited or (answer.unsure and answer.verbatim):  # which only shows the closest pages
            return answer
        earlier = [each for each in answer.changes if of_documents(each, page.about)]
        others = tuple(each for each in answer.changes if not of_documents(each, page.about))
        if page.row is None:
            return replace(answer, changes=(*others, self._change(cited[0], removed=True)))
        # What an earlier version said of a statement that does not hold since is what the statement rested on; where
        # the version is lost, it is what the statement itself says.
        before = "\n".join((*(each.rested for each in earlier), page.before or answer.text))
        found = recheck(answer.text, {each.n for each in cited}, before, page.now)
        changes = tuple(
            _same(earlier, self._change(cited[0], said=each.said, was=each.was, now=each.now, rested=each.rested))
            for each in found.outdated[:MOST]
        )
        return replace(answer, changes=(*others, *changes), citations=_renewed(answer, page.row, cited, found))

    def _change(
        self, cited: Citation, *, said: str = "", was: str = "", now: str = "", rested: str = "", removed: bool = False
    ) -> PageChange:
        today = datetime.now(self.timezone).date().isoformat()
        url = None if removed else cited.url
        return PageChange(cited.document, cited.name, today, said, was, now, url, removed, rested, cited.document_id)


def _same(earlier: Sequence[PageChange], change: PageChange) -> PageChange:
    """The change as it was noticed before, of its day."""
    return next((each for each in earlier if replace(each, on=change.on) == change), change)


def _renewed(
    answer: Answered, row: DocumentRow, cited: Sequence[Citation], found: PageRechecked
) -> tuple[Citation, ...]:
    """With what says the same now quoted in place of what is not there any more, where it is plain which that is."""
    if found.outdated or len(found.quotes) != 1 or len(cited) != 1 or answer.verbatim:
        return answer.citations
    renewed = replace(cited[0], quote=found.quotes[0], date=row.changed_at or cited[0].date, url=row.url)
    return tuple(renewed if each is cited[0] else each for each in answer.citations)
