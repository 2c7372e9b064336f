"""Documents that changed, or went from their source, after answers had cited them: which are to be checked, the answers
that rest on them, and what became of those. Source: sources.md §4.
"""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, delete, exists, null, select, update

from agent.events import Answered, Citation, PageChange, of_documents
from bot.access import default_scope
from bot.records import ChangedPage
from bot.store.conversations import Conversation, answered, changes_json, conversation, incoming
from bot.store.engine import Store, change, insert, rows, storable
from bot.store.schema import answers, changed_documents, documents, notices, sources, turns
from bot.store.withdrawal import hold_turns, posted, rewrite

_Cited = TypeVar("_Cited", Citation, PageChange)

KEPT = timedelta(days=90)  # an older answer is left as it is
AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class ChangedDocument:
    """`before`: the address of what it said when answers cited it; None: it is gone from its source. `at`: since when,
    however often it has changed in the meantime."""

    id: str
    name: str
    before: str | None
    at: datetime


class ChangedDocuments(Store):
    """Raises StoreError."""

    async def due(self) -> list[ChangedDocument]:
        """The documents whose answers are to be checked, the longest since changed first."""
        found = await rows(self._engine, select(changed_documents).order_by(changed_documents.c.at).limit(AT_ONCE))
        return [ChangedDocument(row.document, row.name, row.before, row.at) for row in found]

    async def resting(self, document: str, now: datetime) -> list[Conversation]:
        """The answers that stand in a thread, as its last, and cite the document, none older than `KEPT`."""
        cited = (sources.c.turn == turns.c.id) & (sources.c.document == document) & sources.c.cited
        wanted = (
            select(turns, answers)
            .join(answers, answers.c.turn == turns.c.id)
            .join(sources, cited)
            .where(answers.c.outcome == "answered", answers.c.answered_at >= now - KEPT, turns.c.deleted_at.is_(None))
            .where(_last(), posted(turns.c.id))
            .order_by(turns.c.sequence)
        )
        found = await rows(self._engine, wanted)
        return [conversation(row) for row in found]

    async def settle(
        self,
        changed: ChangedDocument,
        markdown: str | None,
        found: Mapping[str, Answered],
        told: Mapping[str, str],
        now: datetime,
    ) -> bool:
        """Keep answers as they are shown from now on (`found`, by turn) and what their askers will be told (`told`),
        together. False: the document is not any more what the answers were held against (`markdown`; None: gone), and
        nothing was kept."""

        def settle(db: Connection) -> bool:
            current = db.scalar(select(documents.c.markdown).where(documents.c.id == changed.id))
            mine = (changed_documents.c.document == changed.id) & (changed_documents.c.at == changed.at)
            if current != markdown or not db.execute(delete(changed_documents).where(mine)).rowcount:
                return False
            hold_turns(db, found)
            for turn, answer in found.items():
                row = db.execute(select(turns, answers).join(answers).where(turns.c.id == turn)).first()
                if row is None:
                    continue  # taken back meanwhile
                there = answered(row)
                if there.text == answer.text:  # and not withdrawn from meanwhile
                    rewrite(db, turn, answer, now)
                    if turn in told:
                        _tell(db, turn, incoming(row).text, told[turn], now)
            return True

        return await change(self._engine, settle)

    async def listed(self, scopes: Collection[str], now: datetime) -> list[ChangedPage]:
        """The pages that answers rested on and that have changed since, the one with the most answers first: of
        questions that readers of these scopes may see."""
        wanted = (
            select(turns, answers)
            .join(answers, answers.c.turn == turns.c.id)
            .where(answers.c.changes.is_not(null()), answers.c.answered_at >= now - KEPT)
            .order_by(turns.c.sequence.desc())
        )
        pages: dict[str, tuple[PageChange, list[tuple[str, str]]]] = {}
        for row in await rows(self._engine, wanted):
            asked, answer = incoming(row), answered(row)
            if default_scope(asked.place, asked.audience) in scopes:
                for one in {each.document_id or each.document: each for each in reversed(answer.changes)}.values():
                    pages.setdefault(one.document_id or one.document, (one, []))[1].append((answer.turn, asked.text))
        found = [ChangedPage(one, tuple(resting)) for one, resting in pages.values()]
        return sorted(found, key=lambda page: -len(page.answers))


# -- inside the caller's transaction ----------------------------------------------------------------------------------


def note_change(db: Connection, changed: Mapping[str, str], before: str | None, now: datetime) -> None:
    """These documents (names by id) do not say any more what they said (`before`, by its address), or are gone: the
    answers that cite them are to be checked. What has changed before and was not checked yet is one change."""
    cited = select(sources.c.document).where(sources.c.document.in_(changed), sources.c.cited).distinct()
    for document in db.scalars(cited).all():
        noted = insert(db, changed_documents).values(document=document, name=changed[document], before=before, at=now)
        db.execute(noted.on_conflict_do_nothing(index_elements=["document"]))


def rename_citations(db: Connection, document: str, name: str, to: str) -> None:
    """A document has another name: so it has in what was said of it."""
    correct_citations(db, {document: name}, document=to)
    db.execute(update(changed_documents).where(changed_documents.c.document == document).values(name=to))


def correct_citations(db: Connection, was: Mapping[str, str], *, document: str = "", document_id: str = "") -> None:
    """Let what was said of a document (its name by its id) have it by another name (`document`) or id."""

    def corrected(one: _Cited) -> _Cited:
        if not of_documents(one, was):
            return one
        return replace(one, document=document or one.document, document_id=document_id or one.document_id)

    cited = select(sources.c.turn).where(sources.c.document.in_(was), sources.c.cited)
    hold_turns(db, cited)
    for row in db.execute(select(answers).where(answers.c.turn.in_(cited))).all():
        answer = answered(row)
        citations = [asdict(corrected(one)) for one in answer.citations]
        changes = changes_json([corrected(one) for one in answer.changes])
        db.execute(update(answers).where(answers.c.turn == row.turn).values(citations=citations, changes=changes))


def _last() -> ColumnElement[bool]:
    """Whether nothing was asked in its thread after a turn."""
    later = turns.alias("later")
    same = (later.c[name] == turns.c[name] for name in ("platform", "workspace", "channel", "thread"))
    return ~exists().where(*same, later.c.sequence > turns.c.sequence, later.c.deleted_at.is_(None))


def _tell(db: Connection, turn: str, question: str, said: str, now: datetime) -> None:
    """One notice a turn; one of a page that is not said yet says the latest, and gives way to any other."""
    values = {
        "id": secrets.randbits(31),  # never one that was used before, as `bot.store.notifications` has it
        "question": question,
        "answer": storable(said),
        "made_at": now,
        "attempts": 0,
    }
    told = insert(db, notices).values(turn=turn, by=None, owner=None, corrects=False, of_page=True, **values)
    unsaid = notices.c.of_page.is_(True) & notices.c.owner.is_(None)
    db.execute(told.on_conflict_do_update(index_elements=["turn"], set_=values, where=unsaid))
