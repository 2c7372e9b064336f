"""Experts' answers: listed, edited and taken back. An edited answer is replaced in one visible step and whoever
was told the old one hears of it; with one that is taken back its questions are open again.

Source: product.md §4 ("a taught answer can be edited"); reliability.md R11 and R19.
"""

import hashlib
import logging
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.access import role
from bot.config.settings import Settings
from bot.knowledge.documents import KnowledgeBase
from bot.records import SHORT_ID, AuditRecord, Changed, DocumentRow, ExpertAnswer
from bot.store.audit import Audit
from bot.store.documents import Documents
from bot.store.notifications import Notices, Telling
from bot.store.unanswered import UnansweredQuestions
from bot.types import Actor, Upload
from bot.unanswered.expert_answers import ANSWERS, NAMED, NOT_KEPT, UNTOLD, cleaned, parse, today, unfit, written
from retrieval.i18n import Text, filled
from retrieval.text import language_of
from retrieval.types import Readers

log = logging.getLogger(__name__)

EDIT, TAKE_BACK = "edit answer", "take back answer"  # in the traces

_GONE = Text(en="There is no such answer here.", ja="その回答はここにはありません。")
_SEVERAL = Text(en="Several answers begin with this id.", ja="この ID で始まる回答が複数あります。")
_NOT_YOURS = Text(
    en="An answer can be changed by whoever wrote it, or by an editor.",
    ja="回答を変更できるのは、書いた本人か編集者だけです。",
)
_CHANGED = Text(
    en="The answer has been changed meanwhile; please edit it instead.",
    ja="回答はその後に変更されています。回答を直接編集してください。",
)
_SAME = Text(en="The answer says this already.", ja="回答はすでにこの内容です。")


@dataclass
class ExpertAnswers:
    """All raise StoreError, RAGToolError. `readers` are those of the place where somebody looks or acts."""

    settings: Settings
    knowledge: KnowledgeBase
    questions: UnansweredQuestions
    notices: Notices
    documents: Documents
    audit: Audit

    async def listed(self, readers: Readers, *, start: int = 0, limit: int = 20) -> tuple[list[ExpertAnswer], int]:
        """A page of what these readers may read, the latest first, and how many there are."""
        rows = await self._rows(readers)
        rows.sort(key=lambda row: row.updated_at, reverse=True)
        some = rows[start : start + limit]
        edited = await self.audit.latest(EDIT, [_subject(row) for row in some])
        return [await self._read(row, edited.get(_subject(row))) for row in some], len(rows)

    async def get(self, id: str, readers: Readers) -> ExpertAnswer | Text:
        """One by its id, or by the first characters of it."""
        row = await self._row(id, readers)
        if isinstance(row, Text):
            return row
        edited = await self.audit.latest(EDIT, [_subject(row)])
        return await self._read(row, edited.get(_subject(row)))

    def may_change(self, actor: Actor, row: DocumentRow) -> bool:
        """Whoever wrote it, or an editor."""
        who = role(actor, self.settings)
        return who == "editor" or (who == "member" and bool(row.author) and row.author == actor.id)

    async def edit(
        self,
        actor: Actor,
        readers: Readers,
        id: str,
        answer: str,
        *,
        version: str = "",
        author: str = "",
        url: str | None = None,
    ) -> Changed:
        """Say something else to the same questions. Who edited it stands in the trace and is named to those who are
        told; its author and where it stands stay, unless its words are an `author`'s now, at a `url`. An edit that was
        cut short and is made again ends as it would have. `version`: of the document that is meant, if not any."""
        text = cleaned(answer)
        refusal = unfit(text)
        if refusal is not None:
            return Changed(refusal=refusal)
        async with self.questions.answering.held():
            row = await self._theirs(actor, readers, id, EDIT)
            if isinstance(row, Text):
                return Changed(refusal=row)
            data = written((await self._read(row)).wordings, text)
            now = hashlib.sha256(data).hexdigest()
            if version and row.hash not in (version, now):
                return Changed(refusal=_CHANGED)
            by, at = (author, url) if author else (row.author, row.url)
            upload = Upload(row.name, data, row.collection, row.scope, by, at, today(self.settings))
            verdict = await self.knowledge.add(upload, language_of(text))
            if verdict.document_id is None:
                return Changed(refusal=filled(NOT_KEPT, reason=verdict.reason))
            if verdict.document_id != row.id:  # somebody forgot it meanwhile
                await self.knowledge.forget(verdict.document_id)
                return Changed(refusal=_GONE)
            if verdict.status == "unchanged" and await self.audit.mentions(f"sha256:{now}"):
                return Changed(refusal=_SAME)
            who = actor.full_id
            told = await self.notices.correct(
                row.id,
                now=datetime.now(UTC),
                trace=AuditRecord(who, EDIT, _subject(row), f"{row.collection} ({row.scope}) sha256:{now}"),
                telling=Telling(text, who, silent=UNTOLD),
            )
            log.info("edited an answer: %d threads to be told", told)
            return Changed(told=told, version=now)

    async def take_back(self, actor: Actor, readers: Readers, id: str, *, version: str = "") -> Changed:
        """Nobody finds it any more, in one step, and the questions it closed are open again: the next digest has
        them. `version`: as for `edit`."""
        async with self.questions.answering.held():
            row = await self._theirs(actor, readers, id, TAKE_BACK)
            if isinstance(row, Text):
                return Changed(refusal=row)
            if version and row.hash != version:
                return Changed(refusal=_CHANGED)
            asked = [one.id for one in await self.questions.answered_by(row.id)]
            if not await self.knowledge.forget(row.id):
                return Changed(refusal=_GONE)
            opened = f"forgotten, open again: {', '.join(map(str, asked)) or '–'} sha256:{row.hash}"
            await self.audit.note(actor.full_id, TAKE_BACK, _subject(row), opened)
            return Changed(reopened=len(asked))

    # -- parts --------------------------------------------------------------------------------------------------------

    async def _rows(self, readers: Readers) -> list[DocumentRow]:
        rows = await self.documents.listed(readers, collection=ANSWERS)
        return [row for row in rows if NAMED.fullmatch(row.name) and row.author != "kotae"]

    async def _row(self, id: str, readers: Readers) -> DocumentRow | Text:
        rows = await self._rows(readers) if len(id) >= SHORT_ID else []
        found = [row for row in rows if row.id.startswith(id.lower())]
        return found[0] if len(found) == 1 else _SEVERAL if found else _GONE

    async def _theirs(self, actor: Actor, readers: Readers, id: str, action: str) -> DocumentRow | Text:
        row = await self._row(id, readers)
        if isinstance(row, DocumentRow) and not self.may_change(actor, row):
            await self.audit.note(actor.full_id, action, _subject(row), "refused")
            return _NOT_YOURS
        return row

    async def _read(self, row: DocumentRow, edited: AuditRecord | None = None) -> ExpertAnswer:
        wordings, answer = parse(await self.knowledge.markdown(row))
        return ExpertAnswer(row, tuple(wordings), answer, edited)


def _subject(row: DocumentRow) -> str:
    return f"answer {row.id}"
