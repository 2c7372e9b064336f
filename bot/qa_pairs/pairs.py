"""Q/A pairs from the team's documents: what they would cost, the jobs that have them written, and the review after
which they are found. Source: product.md §3 (Q/A pairs, and who may read them); seeds/0_agent_rag.md §4.5."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from agent.models.base import ChatModel
from agent.qa_generation import ANSWER, QUESTION, supported, tidy, unfit
from bot.access import THREAD, readers, role, scopes
from bot.config.settings import Settings
from bot.knowledge.documents import KnowledgeBase
from bot.qa_pairs.documents import PairDocuments
from bot.qa_pairs.estimate import Estimate, Material, estimate, left_of
from bot.qa_pairs.worker import AT_ONCE, EVERY, PairWorker
from bot.records import AuditRecord, DocumentRow
from bot.store.documents import Documents
from bot.store.engine import Engine
from bot.store.locks import Mutex
from bot.store.qa_jobs import ChunkPlace, JobState, PairJobs, QaJob, Reason
from bot.store.qa_pairs import Pair, PairRows
from bot.store.usage import Usage
from bot.turns.budget import Budget, BudgetLimits
from bot.types import Actor, Audience, Place
from bot.unanswered.clustering import Clustering
from retrieval.embeddings.base import EmbeddingClient
from retrieval.i18n import Text, filled
from retrieval.index import Index
from retrieval.qa_pairs import wanted
from retrieval.types import Passage, RAGToolError, Readers, View

__all__ = ["Decided", "Estimate", "Pair", "Pairs", "PairsError", "QaJob", "Reviewer"]

_MANY = 10_000  # chunks of one job

_NEEDS_MODEL = Text(
    en="Writing Q/A pairs needs a language model, and none is set up. Set GEMINI_API_KEY, or KOTAE_MODEL to "
    "gemini:<model> or openai:<model>, and start Kotae again.",
    ja="Q/A ペアの作成には言語モデルが必要ですが、設定されていません。GEMINI_API_KEY を設定するか、KOTAE_MODEL に "
    "gemini:<モデル名> または openai:<モデル名> を指定して、Kotae を再起動してください。",
)
_MEMBERS = Text(
    en="Only members of the team can have Q/A pairs written.", ja="Q/A ペアを作成できるのはチームのメンバーだけです。"
)
_NO_SOURCE = Text(
    en="There is no such document or collection here.", ja="その文書またはコレクションは、ここでは見つかりません。"
)
_NOTHING = Text(
    en="There is no text here that questions could be written from.", ja="Q/A ペアを作成できる本文がありません。"
)
_ALREADY = Text(
    en="Q/A pairs have already been written from all of this, or are being written.",
    ja="この内容の Q/A ペアは、すでに作成済みか作成中です。",
)
_TOO_MANY = Text(
    en="These are {n} passages; one job takes at most {most}. Choose single documents.",
    ja="対象が {n} か所あります。1 回に処理できるのは {most} か所までです。文書を個別に選択してください。",
)
_NO_JOB = Text(
    en="There is no such job here, or it has already ended.",
    ja="そのジョブは見つからないか、すでに終わっています。",
)
_NO_PAIR = Text(en="These pairs are no longer there.", ja="この Q/A ペアはもうありません。")
_NOT_YOURS = Text(
    en="Only editors can change pairs for these readers from here ({n} of them).",
    ja="この公開範囲の Q/A ペアをここから変更できるのは編集者だけです（{n} 件）。",
)
_STALE = Text(
    en="{n} of these were written from an earlier version of their document. Create them again.",
    ja="{n} 件は、文書の古い版から作成されたペアです。もう一度作成してください。",
)
UNFIT = Text(
    en="A question must have 1 to {question} characters, and an answer 1 to {answer}.",
    ja="質問は 1～{question} 文字、回答は 1～{answer} 文字で入力してください。",
)

_REASONS: Mapping[Reason, Text] = {
    "": Text(en="", ja=""),
    "asked": Text(en="Paused.", ja="一時停止中です。"),
    "budget": Text(
        en="Paused: today’s budget for the model (KOTAE_DAILY_CALLS, KOTAE_DAILY_TOKENS) is used up. Resume it "
        "tomorrow.",
        ja="一時停止中: 本日のモデル利用の上限（KOTAE_DAILY_CALLS、KOTAE_DAILY_TOKENS）に達しました。明日、"
        "再開してください。",
    ),
    "busy": Text(
        en="Paused: the model was busy or could not be reached for a long time. Resume it later.",
        ja="一時停止中: モデルが混み合っているか、接続できない状態が続きました。時間をおいて再開してください。",
    ),
    "refused": Text(
        en="Paused: the provider does not accept the key or the model. Check KOTAE_MODEL and its key, then resume.",
        ja="一時停止中: API キーまたはモデルが受け付けられませんでした。KOTAE_MODEL "
        "とキーを確認してから再開してください。",
    ),
}
_STATES: Mapping[JobState, Text] = {
    "running": Text(en="Writing…", ja="作成中です…"),
    "paused": Text(en="Paused.", ja="一時停止中です。"),
    "done": Text(en="Done.", ja="完了しました。"),
    "cancelled": Text(en="Cancelled.", ja="中止しました。"),
}
_WAITING = Text(en="Waiting for its turn…", ja="順番を待っています…")


class PairsError(RAGToolError):
    """Why something was not done."""


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Somebody at a place that `audience` sees: what they may read and change follows from all three."""

    actor: Actor
    place: Place
    audience: Audience

    @property
    def readers(self) -> Readers:
        return readers(self.place, self.audience)


@dataclass(frozen=True, slots=True)
class Decided:
    """The outcome of a decision: how many pairs have changed, and in words why others have not."""

    changed: int
    refused: tuple[Text, ...] = ()


class Pairs:
    """The application's services for Q/A pairs. All raise StoreError; what reads documents raises RAGToolError."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        knowledge: KnowledgeBase,
        index: Index,
        embedder: EmbeddingClient,
        *,
        models: Callable[[str], ChatModel],
        budget: Budget,
        owner: str,
        every: float = EVERY,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`models` raises SettingsError for a name it does not know; `owner` names this process in the leases; `every`:
        seconds between two looks for work; `sleep` is the waiting for a busy provider."""
        self._settings = settings
        self._jobs = PairJobs(engine)
        self.rows = PairRows(engine)  # for whoever lists and counts
        self._documents = Documents(engine, embedder="")  # to look only
        self._knowledge = knowledge
        self._index = index
        self._usage = Usage(engine)
        self._limits = BudgetLimits(daily_calls=settings.daily_calls, daily_tokens=settings.daily_tokens)
        self._clock = clock
        self._published = PairDocuments(self.rows, self._documents, knowledge, settings.language, clock=clock)
        self._work = PairWorker(
            self._jobs,
            self.rows,
            self._published,
            models=models,
            budget=budget,
            used_up=self._used_up,
            passages=self._passages,
            grouping=Clustering(embedder),
            owner=owner,
            at_once=min(AT_ONCE, settings.concurrency),
            every=every,
            clock=clock,
            sleep=sleep,
        )
        self._starting = Mutex(engine, "pair-jobs")

    def working(self) -> AbstractAsyncContextManager[None]:
        """Jobs are worked off in here. At its end calls that are under way have 10 s to be stored; the rest is left for
        the next start."""
        return self._work.working()

    # -- jobs -------------------------------------------------------------------------------------------------------

    @property
    def needs(self) -> Text | None:
        """The setting that is missing before pairs can be written; None: nothing."""
        return _NEEDS_MODEL if self._settings.model_id == "extractive" else None

    async def estimate(
        self, who: Reviewer, *, document: str | None = None, collection: str | None = None, again: bool = False
    ) -> Estimate:
        """The size of a job for a document (its id) or for what is readable here of a collection. Raises PairsError.

        `again`: also from chunks that pairs were written from before.
        """
        found, skipped, _ = await self._found(who, document, collection, again)
        model = self._settings.model_id
        return estimate(found, skipped, model, await self._jobs.spent(model), await self._left())

    async def start(
        self, who: Reviewer, *, document: str | None = None, collection: str | None = None, again: bool = False
    ) -> str:
        """Begin a job as `estimate` counted it; its id. Raises PairsError."""
        async with self._starting.held():
            found, _, name = await self._found(who, document, collection, again)
            job, spots = uuid.uuid4().hex, [one.spot for one in found]
            subject = f"{name} ({len(spots)} chunks)"
            made = await self._jobs.create(
                job,
                document=document,
                collection=name,
                model=self._settings.model_id,
                spots=spots,
                now=self._clock(),
                trace=AuditRecord(who.actor.full_id, "pairs start", subject, job),
            )
        if not made:
            raise PairsError(_NO_SOURCE)
        self._work.wake()
        return job

    async def jobs(self, readers: Readers, *, limit: int = 100) -> list[QaJob]:
        """The jobs all of whose documents these readers may read, newest first."""
        return await self._jobs.listed(readers, now=self._clock(), limit=limit)

    async def job(self, job: str, readers: Readers) -> QaJob | None:
        found = await self._jobs.listed(readers, now=self._clock(), job=job)
        return found[0] if found else None

    @staticmethod
    def status(job: QaJob) -> Text:
        """How a job is going, in a sentence."""
        if job.state == "running" and not job.working:
            return _WAITING
        return _REASONS[job.reason] if job.state == "paused" and job.reason else _STATES[job.state]

    async def pause(self, job: str, who: Reviewer) -> None:
        """Begin no more calls; those under way are stored. Raises PairsError."""
        await self._turn(job, who, "paused", {"running"}, reason="asked")
        self._work.stop(job)

    async def resume(self, job: str, who: Reviewer) -> None:
        """Go on with a job that pauses, or do the failed chunks of one that is done again, with the model that is set
        up now. Raises PairsError."""
        if self.needs is not None:
            raise PairsError(self.needs)
        shown = await self.job(job, who.readers)
        if shown is None or (shown.state == "done" and not shown.chunks.get("failed")):
            raise PairsError(_NO_JOB)
        await self._turn(job, who, "running", {"paused", "done"}, model=self._settings.model_id)
        self._work.wake()

    async def cancel(self, job: str, who: Reviewer) -> None:
        """End a job; the pairs that it has made stay for review. Raises PairsError."""
        await self._turn(job, who, "cancelled", {"running", "paused"})
        self._work.stop(job)

    async def _turn(
        self, job: str, who: Reviewer, state: JobState, since: Collection[JobState], reason: Reason = "",
        model: str | None = None,
    ) -> None:  # fmt: skip
        if role(who.actor, self._settings) == "outsider":
            raise PairsError(_MEMBERS)
        trace = AuditRecord(who.actor.full_id, f"pairs {state}", job, state)
        if not await self._jobs.turn(
            job, who.readers, state, since=since, now=self._clock(), trace=trace, reason=reason, model=model
        ):
            raise PairsError(_NO_JOB)

    async def _found(
        self, who: Reviewer, document: str | None, collection: str | None, again: bool
    ) -> tuple[list[Material], int, str]:
        """The chunks of a job, how many are left out, and the collection. Raises PairsError."""
        if self.needs is not None:
            raise PairsError(self.needs)
        if role(who.actor, self._settings) == "outsider":
            raise PairsError(_MEMBERS)
        sources = await self._sources(who.readers, document, collection)
        if not sources:
            raise PairsError(_NO_SOURCE)
        everything = [one for row in sources for one in await self._of(row)]
        if not everything:
            raise PairsError(_NOTHING)
        taken = frozenset() if again else await self._jobs.taken({row.id for row in sources})
        found = [one for one in everything if one.spot not in taken]
        if not found:
            raise PairsError(_ALREADY)
        if len(found) > _MANY:
            raise PairsError(filled(_TOO_MANY, n=str(len(found)), most=str(_MANY)))
        return found, len(everything) - len(found), sources[0].collection

    async def _sources(self, readers: Readers, document: str | None, collection: str | None) -> list[DocumentRow]:
        """Not the files of single threads, which go with them."""
        if document is not None:
            row = await self._documents.get(document)
            rows = [row] if row is not None and row.scope in readers.scopes else []
        else:
            rows = await self._documents.listed(readers, collection=collection) if collection is not None else []
        return [row for row in rows if not row.scope.startswith(THREAD)]

    async def _of(self, row: DocumentRow) -> list[Material]:
        """Of a document what is text; Q/A pairs need no others."""
        passages = await self._passages(row.id, range(row.chunks), Readers(frozenset({row.scope})))
        return [
            Material(passage, ChunkPlace(row.id, row.hash, passage.chunk), count)
            for passage in passages
            if passage.question is None and (count := wanted(passage.text))
        ]

    async def _passages(self, document: str, numbers: range, readers: Readers) -> list[Passage]:
        return await self._index.passages(document, numbers, View(readers, await self._knowledge.generation()))

    async def _left(self) -> tuple[int | None, int | None]:
        return await left_of(self._usage, self._limits, self._clock().astimezone(self._settings.timezone))

    async def _used_up(self) -> bool:
        return 0 in await self._left()

    # -- review -----------------------------------------------------------------------------------------------------

    async def source(self, pair: Pair, readers: Readers) -> Passage | None:
        """The chunk that a pair was written from; None when it is not there any more, or not readable."""
        if pair.stale:
            return None
        found = await self._passages(pair.document, range(pair.chunk, pair.chunk + 1), readers)
        return found[0] if found else None

    async def edit(self, pair: int, question: str, answer: str, who: Reviewer) -> Pair:
        """Put other words, and look again whether the chunk says them; an approved pair is found by them at once.

        Raises PairsError.
        """
        words = tidy(question, answer)
        if unfit(words):
            raise PairsError(filled(UNFIT, question=str(QUESTION), answer=str(ANSWER)))
        mine, refused = await self._theirs([pair], who)
        if not mine:
            raise PairsError(refused[0])
        passage = await self.source(mine[0], who.readers)
        marked = passage is None or supported(words, passage) != "yes"
        trace = AuditRecord(who.actor.full_id, "pairs edit", f"pair {pair}", "edited")
        await self.rows.edit(pair, words, marked=marked, trace=trace)
        if mine[0].state == "approved" and (failed := await self._published.follow(mine[0].document)):
            raise PairsError(failed[0])
        (edited, *_) = await self.rows.get([pair], who.readers) or [mine[0]]
        return edited

    async def approve(self, ids: Sequence[int], who: Reviewer) -> Decided:
        """Have pairs found, by the readers of their documents. Those of an earlier version are not approved."""
        return await self._decide(ids, "approved", who)

    async def reject(self, ids: Sequence[int], who: Reviewer) -> Decided:
        """Keep pairs out, also those that were approved; the same ones are not offered again."""
        return await self._decide(ids, "rejected", who)

    async def reopen(self, ids: Sequence[int], who: Reviewer) -> Decided:
        """Take a decision back."""
        return await self._decide(ids, "pending", who)

    async def _decide(
        self, ids: Sequence[int], state: Literal["approved", "rejected", "pending"], who: Reviewer
    ) -> Decided:
        mine, refused = await self._theirs(ids, who)
        if state == "approved" and (stale := sum(one.stale for one in mine)):
            refused.append(filled(_STALE, n=str(stale)))
            mine = [one for one in mine if not one.stale]
        if not mine:
            return Decided(0, tuple(refused))
        numbers = ", ".join(str(one.id) for one in mine)
        trace = AuditRecord(who.actor.full_id, "pairs review", f"pairs {numbers}", state)
        changed = await self.rows.decide([one.id for one in mine], state, now=self._clock(), trace=trace)
        for source in dict.fromkeys(one.document for one in mine if "approved" in (one.state, state)):
            refused += await self._published.follow(source)
        return Decided(changed, tuple(refused))

    async def _theirs(self, ids: Sequence[int], who: Reviewer) -> tuple[list[Pair], list[Text]]:
        """Of these pairs those that this person may change from here (`bot.access.scopes`), and why not the others."""
        found = await self.rows.get(ids, who.readers)
        allowed = scopes(who.actor, who.place, who.audience, self._settings)
        mine = [one for one in found if one.scope in allowed]
        refused: list[Text] = []
        if len(mine) < len(found):
            refused.append(filled(_NOT_YOURS, n=str(len(found) - len(mine))))
        elif not found:
            refused.append(_NO_PAIR)
        return mine, refused
