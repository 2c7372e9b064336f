"""People who may change the team's documents, and what they did: rules and traces around `KnowledgeBase`, for whoever
curates it.

Source: product.md §3 and §5 (widening needs an editor); reliability.md R11 and R19.
"""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bot import access
from bot.access import role, scopes
from bot.config.settings import Settings
from bot.errors import StoreError
from bot.jobs import Background, BackgroundJob
from bot.knowledge.documents import KnowledgeBase
from bot.knowledge.pair_documents import WrittenPair
from bot.records import DocumentRow
from bot.store.audit import Audit
from bot.store.searches import Searches
from bot.types import Actor, Audience, Place, Upload, Verdict
from bot.unanswered.expert_answers import ANSWERS, NAMED
from retrieval.i18n import Language, Text
from retrieval.loaders.sanitize import clean_name
from retrieval.types import EVERYONE, TEAM, CollectionInfo, QAPair, RAGToolError, Readers

FILES = 100  # of one person that wait to be read

_EDITORS = Text(en="Only an editor can do this.", ja="この操作ができるのは編集者だけです。")
_NOT_YOURS = Text(
    en="“{name}” can be changed by whoever added it, or by an editor.",
    ja="「{name}」を変更できるのは、登録した本人か編集者だけです。",
)
_WIDER = Text(
    en="Only an editor can let more people read a document.",
    ja="文書をより多くの人に公開できるのは編集者だけです。",
)
_NOT_THERE = Text(
    en="Documents cannot be added for these readers from here.", ja="この公開範囲の文書は、ここからは追加できません。"
)
_FULL = Text(
    en="You already have {n} files waiting to be read. Add the others when they are done.",
    ja="読み込み待ちのファイルがすでに {n} 件あります。終わってから残りを追加してください。",
)
_NOBODY = Text(
    en="I cannot bring questions to “{who}”. Give slack:<member id> or discord:<user id>.",
    ja="「{who}」には質問を届けられません。slack:<メンバー ID> または discord:<ユーザー ID> で指定してください。",
)
_STAYS = Text(
    en="What members have answered stays in “{name}”: elsewhere nobody could correct it or take it back.",
    ja="メンバーの回答は「{name}」から移せません。移すと、回答の修正や取り消しができなくなります。",
)
_GONE = Text(en="It is no longer there.", ja="すでに削除されています。")


class NotAllowedError(RAGToolError):
    """Somebody else may do it; nothing was done."""


@dataclass(frozen=True, slots=True)
class Curator:
    """A person who acts, with what they read and the places they are in."""

    actor: Actor
    readers: Readers
    places: tuple[tuple[Place, Audience], ...]
    language: Language


class Curation:
    """Changes by people. All raise NotAllowedError, StoreError, and RAGToolError for what cannot be done; LookupError
    for a document that is not there for them. What is done leaves a trace."""

    def __init__(self, knowledge: KnowledgeBase, searches: Searches, audit: Audit, settings: Settings) -> None:
        self._knowledge = knowledge
        self._searches = searches
        self._audit = audit
        self._settings = settings
        self._work = Background()

    async def close(self) -> None:
        """Stop what runs in the background: nothing of a document that is half done stays."""
        await self._work.close()

    # -- who may ----------------------------------------------------------------------------------------------------

    def edits(self, person: Curator) -> bool:
        """Whether they may change what everybody reads."""
        return role(person.actor, self._settings) == "editor"

    def may_change(self, person: Curator, row: DocumentRow) -> bool:
        """As `/kotae forget`: whoever added it, or an editor."""
        return self.edits(person) or bool(row.author and row.author == person.actor.id)

    def scopes(self, person: Curator) -> tuple[str, ...]:
        """The readers they may add documents for, the default first."""
        return tuple(
            dict.fromkeys(
                scope
                for place, audience in person.places
                for scope in scopes(person.actor, place, audience, self._settings)
            )
        )

    def scopes_for(self, person: Curator, row: DocumentRow) -> tuple[str, ...]:
        """The readers they may give this document besides."""
        if not self.may_change(person, row):
            return ()
        others = [scope for scope in self.scopes(person) if scope != row.scope]
        return tuple(scope for scope in others if self.edits(person) or not _wider(scope, row.scope))

    # -- documents --------------------------------------------------------------------------------------------------

    async def forget(self, person: Curator, document_id: str) -> DocumentRow:
        """Gone from every search at once."""
        row = await self._theirs(person, document_id)
        forgotten = await self._knowledge.forget(row.id)
        await self._note(person, "forget", subject(row), "forgotten" if forgotten else "gone")
        return row

    async def rescope(self, person: Curator, document_id: str, scope: str) -> DocumentRow:
        """Change who may read it, in one step; Q/A pairs of it are never found by more people than it is."""
        row = await self._theirs(person, document_id)
        if scope not in self.scopes(person):
            raise NotAllowedError(_NOT_THERE)
        if scope not in (row.scope, *self.scopes_for(person, row)):
            raise NotAllowedError(_WIDER)
        made = await self._knowledge.made_from(document_id)
        wider = _wider(scope, row.scope)
        for each in () if wider else made:
            await self._knowledge.rescope(each, scope, person.readers)
        changed = await self._knowledge.rescope(document_id, scope, person.readers)
        if changed is None:
            raise LookupError(document_id)
        for each in made if wider else ():
            await self._knowledge.rescope(each, scope, person.readers)
        await self._note(person, "rescope", subject(row), scope)
        return changed

    async def move(self, person: Curator, document_id: str, collection: str) -> DocumentRow:
        """Put it into another collection, in one step; Q/A pairs that were made of it follow (`PairDocuments`)."""
        row = await self._theirs(person, document_id)
        if NAMED.fullmatch(row.name):
            leaves(row.collection)
        changed = await self._knowledge.move(document_id, collection, person.readers)
        if changed is None:
            raise LookupError(document_id)
        await self._note(person, "move", subject(row), collection)
        return changed

    async def edit_pair(self, person: Curator, document_id: str, was: WrittenPair, pair: QAPair | None) -> None:
        """Put a Q/A pair of a document into other words, or take it out (None)."""
        row = await self._theirs(person, document_id)
        if await self._knowledge.edit_pair(document_id, was, pair, person.readers) is None:
            raise LookupError(document_id)
        await self._note(person, "edit pair" if pair else "remove pair", subject(row), f"pair at chunk {was.chunk}")

    async def _theirs(self, person: Curator, document_id: str) -> DocumentRow:
        row = await self._knowledge.document(document_id, person.readers)
        if row is None:
            raise LookupError(document_id)
        if not self.may_change(person, row):
            await self._note(person, "change", subject(row), "refused")
            raise NotAllowedError(_NOT_YOURS, name=row.name)
        return row

    # -- collections ------------------------------------------------------------------------------------------------

    async def create(self, person: Curator, name: str, description: str) -> None:
        """Make a collection. Raises RAGToolError for a bad or taken name."""
        self._as_editor(person)
        await self._knowledge.stored.create(name, description)
        await self._note(person, "create", name, description)

    async def describe(self, person: Curator, name: str, description: str) -> None:
        """Say anew what a collection is about."""
        self._as_editor(person)
        await self._knowledge.stored.describe(name, description)
        await self._note(person, "describe", name, description)

    async def own(self, person: Curator, thing: CollectionInfo | DocumentRow, who: str) -> None:
        """Say who looks after it (`platform:id` or an id; empty: nobody in particular), and is asked about it."""
        owner = access.person(who) if who.strip() else None
        if isinstance(thing, DocumentRow):
            await self._theirs(person, thing.id)
        else:
            self._as_editor(person)
        if who.strip() and owner is None:
            raise RAGToolError(_NOBODY, who=who.strip())
        await self._knowledge.own(thing, owner)
        await self._note(person, "owner", thing.name, owner or "nobody")

    async def rename(self, person: Curator, name: str, to: str) -> None:
        self._as_editor(person)
        leaves(name)
        await self._knowledge.stored.rename(name, to, person.readers, person.language)
        await self._note(person, "rename", name, to)

    async def merge(self, person: Curator, sources: Sequence[str], into: str) -> int:
        """Move all documents of `sources` into one collection, each source in one step; returns how many of theirs."""
        self._as_editor(person)
        moved = 0
        for source in sources:
            if source != into:
                leaves(source)
                moved += await self._knowledge.stored.merge(source, into, person.readers, person.language)
                await self._note(person, "merge", source, into)
        return moved

    async def delete(self, person: Curator, name: str) -> int:
        """Forget what they may read of a collection, and the collection once it is empty; returns how many
        documents."""
        self._as_editor(person)
        forgotten = await self._knowledge.stored.drop_collection(name, person.readers, person.language)
        await self._note(person, "delete", name, f"{forgotten} forgotten")
        return forgotten

    async def clear_measurements(self, person: Curator) -> int:
        """Forget all past searches, of everybody; returns how many."""
        self._as_editor(person)
        cleared = await self._searches.clear()
        await self._note(person, "clear", "searches", f"{cleared} cleared")
        return cleared

    def _as_editor(self, person: Curator) -> None:
        if not self.edits(person):
            raise NotAllowedError(_EDITORS)

    # -- in the background ------------------------------------------------------------------------------------------

    def add(
        self, person: Curator, name: str, read: Callable[[], Awaitable[bytes]], *, collection: str, scope: str
    ) -> BackgroundJob:
        """Read a file and show it; `read` is asked for its bytes when its turn has come. A file too many is a job that
        has failed, so that its name stands with the others'."""
        if scope not in self.scopes(person):
            raise NotAllowedError(_NOT_THERE)
        name, language = clean_name(name), person.language
        begun = BackgroundJob(person.actor.full_id, "add", name, 1, language)
        waiting = sum(job.kind == "add" and not job.over for job in self.jobs(person))
        if waiting >= FILES:
            return self._work.refuse(begun, _FULL.to(language, n=waiting))

        async def work(job: BackgroundJob) -> None:
            data = await read()
            upload = Upload(name, data, collection, scope, person.actor.id, over=self.edits(person))
            verdict = await self._knowledge.add(upload, language, job.chunks)
            job.ended(verdict)
            what = f"{collection}/{verdict.name} ({scope}) sha256:{hashlib.sha256(data).hexdigest()}"
            await self._note(person, "ingest", what, f"{verdict.status} {verdict.reason}".strip())

        return self._work.start(begun, work)

    def reindex(self, person: Curator, rows: Sequence[DocumentRow], name: str) -> BackgroundJob:
        """Cut and embed documents anew, one after the other, each shown in one step. `name`: of the whole, for people.

        Stopped early, those that are done stay so; the same again does no harm.
        """
        for row in rows:
            if not self.may_change(person, row):
                raise NotAllowedError(_NOT_YOURS, name=row.name)

        async def work(job: BackgroundJob) -> None:
            for row in rows:
                job.chunks(0, 0)
                job.ended(await self._again(person, row, job))
            await self._note(person, "reindex", name, f"{job.done} documents, {len(job.refused)} failed")

        return self._work.start(BackgroundJob(person.actor.full_id, "reindex", name, len(rows), person.language), work)

    async def _again(self, person: Curator, row: DocumentRow, job: BackgroundJob) -> Verdict:
        try:
            done = await self._knowledge.reindex(row.id, person.readers, job.chunks)
        except (RAGToolError, StoreError) as error:
            return Verdict(row.name, "refused", row.collection, row.id, reason=error.text(person.language))
        if done is None:
            return Verdict(row.name, "refused", row.collection, row.id, reason=_GONE.to(person.language))
        return Verdict(done.name, "replaced", done.collection, done.id, done.chunks)

    def jobs(self, person: Curator) -> list[BackgroundJob]:
        """Theirs, the latest first; what has ended until it is cleared."""
        return self._work.of(person.actor.full_id)

    def stop(self, person: Curator, job_id: str) -> None:
        self._work.stop(person.actor.full_id, job_id)

    def clear(self, person: Curator) -> None:
        """Forget the jobs that have ended."""
        self._work.clear(person.actor.full_id)

    async def _note(self, person: Curator, action: str, what: str, result: str) -> None:
        await self._audit.note(person.actor.full_id, action, what, result)


def leaves(collection: str) -> None:
    """Raises RAGToolError where what is in a collection may not go to another."""
    if collection == ANSWERS:
        raise RAGToolError(_STAYS, name=collection)


def subject(row: DocumentRow) -> str:
    return f"{row.collection}/{row.name} ({row.scope}) sha256:{row.hash}"


def _wider(scope: str, than: str) -> bool:
    """Whether somebody reads `scope` who does not read `than`."""
    rank = {EVERYONE: 2, TEAM: 1}
    return rank.get(scope, 0) > rank.get(than, 0) or (scope != than and scope not in rank and than not in rank)
