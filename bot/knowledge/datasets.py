"""Datasets into the knowledge: looked at first, then added in the background, a document at a time.

A job lives in this process. What it has added stays whatever becomes of it, and the same job started again finds those
documents unchanged: that is how it goes on. Source: product.md §3, §6; seeds/0_agent_rag.md §1.2, §4.2.
"""

import asyncio
import logging
import uuid
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from bot.access import valid_scope
from bot.errors import StoreError
from bot.knowledge.dataset_uploads import DatasetUpload, DatasetUploads
from bot.knowledge.documents import KnowledgeBase
from bot.store.audit import Audit
from bot.types import Upload, Verdict
from retrieval.datasets import (
    NAMED,
    Dataset,
    DatasetError,
    DatasetReading,
    DatasetRow,
    DatasetSource,
    Dropped,
    End,
    Ended,
    Inspected,
    Left,
    Prepared,
    StreamLimits,
    steps,
)
from retrieval.i18n import Language, Text
from retrieval.types import TEAM, RAGToolError, Readers

if TYPE_CHECKING:
    from retrieval.datasets.hub import Hub

log = logging.getLogger(__name__)

State = Literal["running", "done", "cancelled", "failed"]
Outcome = Literal["added", "replaced", "unchanged", "refused"]

MOST = 100_000  # documents of one job
PREVIEW = 50  # rows
JOBS = 50  # finished ones that are remembered
_LOOK_EVERY = 50  # documents
_IN_A_ROW = 10  # refused documents after which something else must be wrong
_REFUSALS = 20  # that are shown

_TAKEN = Text(
    en="A dataset is already being added to “{collection}”. Wait until it is done, or stop it.",
    ja="「{collection}」にはすでに追加中のデータセットがあります。完了を待つか、中止してください。",
)
_UNKNOWN = Text(
    en="There is no dataset “{name}”. There are: {known}.",
    ja="「{name}」というデータセットはありません。指定できるもの: {known}",
)
_NO_JOB = Text(en="This job is no longer known.", ja="このジョブの記録はもうありません。")
_NOTHING_GOES = Text(
    en="{count} documents in a row could not be added, so this was stopped. The last reason: {last}",
    ja="{count} 件続けて追加できなかったため、中断しました。最後の理由: {last}",
)
_BROKEN = Text(
    en="Something went wrong on my side. What was added stays; start it again.",
    ja="こちらの問題で中断しました。追加済みの文書は残っています。もう一度開始してください。",
)
_DESCRIBED = Text(en="{description} {licence}", ja="{description} {licence}")


@dataclass(frozen=True, slots=True)
class Upstream:
    """A named dataset: wikipedia_ja, cc_news or livedoor."""

    name: str


Choice = Upstream | DatasetUpload


@dataclass(frozen=True, slots=True)
class Sample:
    """A row before and after cleaning; `after` None: it is left out, for `reason`."""

    before: DatasetRow
    after: Prepared | None
    reason: Dropped | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """An order: what to add, where to, for whom (`slack:U1`, `web:…`), and how much of it."""

    choice: Choice
    collection: str
    scope: str
    author: str
    language: Language
    limits: StreamLimits = field(default_factory=StreamLimits)


@dataclass(frozen=True, slots=True)
class DatasetJob:
    """How far an order is. `counts`: documents by what became of them, and rows left out by reason."""

    id: str
    order: Order
    name: str  # of the dataset or file
    state: State
    counts: Mapping[Outcome | Dropped, int]
    rows: int  # looked at
    characters: int  # of the documents that are in
    fetched: int  # bytes
    refusals: tuple[Verdict, ...]  # the first ones, in words
    started: datetime
    finished: datetime | None = None
    ended: Ended | None = None  # of a job that is done: which end it reached
    problem: str = ""  # of one that failed, in words

    @property
    def documents(self) -> int:
        """That are in the collection through this job, unchanged ones too."""
        return sum(self.counts.get(what, 0) for what in ("added", "replaced", "unchanged"))

    @property
    def share(self) -> float:
        """0..1, of the documents that were ordered."""
        taken = self.documents + self.counts.get("refused", 0)
        return 1.0 if self.state == "done" else min(1.0, taken / max(1, self.order.limits.documents))


class Datasets:
    """Looks into datasets and adds them; owns the tasks that do it."""

    def __init__(
        self,
        knowledge: KnowledgeBase,
        audit: Audit,
        files: DatasetUploads,
        *,
        hub: "Hub | None" = None,
    ) -> None:
        self._knowledge = knowledge
        self._audit = audit
        self._files = files
        self._hub = hub
        self._jobs: dict[str, DatasetJob] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changed = asyncio.Condition()

    # -- what there is ----------------------------------------------------------------------------------------------

    def named(self) -> tuple[Dataset, ...]:
        """The datasets with a name, in the order of the design."""
        return tuple(NAMED.values())

    async def keep(self, name: str, data: AsyncIterable[bytes]) -> DatasetUpload:
        """Take a csv, tsv, txt, json or jsonl file, at most 200 MiB. It stays until a job with it is done, it is
        dropped, or the process ends. Raises DatasetError, also for a file that cannot be read row by row."""
        return await self._files.keep(name, data)

    async def inspect(self, file: DatasetUpload) -> Inspected:
        """Its encoding, its columns and which of them seem to be title, text and address. Raises DatasetError."""
        return await asyncio.to_thread(self._files.source(file).inspect)

    async def drop(self, file: DatasetUpload) -> None:
        """The file is not wanted any longer; a job that reads it fails."""
        await self._files.drop(file)

    async def preview(self, choice: Choice, rows: int = 10, limits: StreamLimits | None = None) -> tuple[Sample, ...]:
        """The first rows (at most 50) before and after cleaning. Raises DatasetError."""
        few = replace(limits or StreamLimits(), documents=MOST, rows=max(1, min(rows, PREVIEW)))
        samples: list[Sample] = []
        async with aclosing(steps(self._source(choice), few)) as seen:
            async for step in seen:
                match step:
                    case Prepared():
                        samples.append(Sample(step.row, step))
                    case Left(row, reason):
                        samples.append(Sample(row, None, reason))
                    case End():
                        pass
        return tuple(samples)

    # -- jobs -------------------------------------------------------------------------------------------------------

    def start(self, order: Order) -> DatasetJob:
        """Begin to add. Who may add for which scope was asked before (`bot.access.scopes`); ValueError for none.

        Raises DatasetError: unknown dataset, file gone, disk full, or another job adds to this collection.
        """
        if not valid_scope(order.scope):
            raise ValueError(f"not a scope: {order.scope}")
        if any(job.order.collection == order.collection for job in self._jobs.values() if job.state == "running"):
            raise DatasetError(_TAKEN, collection=order.collection)
        self._files.check_space()
        source = self._source(order.choice)
        limits = replace(order.limits, documents=max(1, min(order.limits.documents, MOST)))
        order = replace(order, limits=limits)
        job = DatasetJob(
            id=uuid.uuid4().hex,
            order=order,
            name=order.choice.name,
            state="running",
            counts={},
            rows=0,
            characters=0,
            fetched=0,
            refusals=(),
            started=datetime.now(UTC),
        )
        self._remember(job)
        task = asyncio.create_task(self._run(job.id, source), name=f"dataset-{job.name}")
        self._tasks[job.id] = task
        task.add_done_callback(lambda _: self._over(job.id))
        return job

    def resume(self, job_id: str) -> DatasetJob:
        """Start a job's order again: what it has added already is found unchanged. Raises as `start`."""
        job = self._jobs.get(job_id)
        if job is None:
            raise DatasetError(_NO_JOB)
        return self.start(job.order)

    async def cancel(self, job_id: str) -> bool:
        """Stop a job between two documents or in the middle of one, which is then not added; False: it was not
        running."""
        task = self._tasks.get(job_id)
        if task is None:
            return False
        task.cancel()
        await asyncio.wait({task})
        return True

    def job(self, job_id: str) -> DatasetJob | None:
        return self._jobs.get(job_id)

    def jobs(self) -> tuple[DatasetJob, ...]:
        """Newest first."""
        return tuple(reversed(self._jobs.values()))

    async def watch(self, job_id: str) -> AsyncIterator[DatasetJob]:
        """The job now and whenever it has moved on, until it has ended. Nothing for one that is not known."""
        shown: DatasetJob | None = None
        while (job := self._jobs.get(job_id)) is not None:
            if job is not shown:
                yield (shown := job)
            if job.state != "running":
                return
            async with self._changed:
                await self._changed.wait_for(lambda: self._jobs.get(job_id) is not shown)

    async def close(self) -> None:
        """Stop the jobs and give up the files."""
        tasks = set(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._files.clear()

    # -- one job ----------------------------------------------------------------------------------------------------

    async def _run(self, job_id: str, source: DatasetSource) -> None:
        job = self._jobs[job_id]
        reading = DatasetReading()
        try:
            await self._describe(job.order)
            async with aclosing(steps(source, job.order.limits, reading)) as seen:
                ended = await self._work(job_id, seen, reading)
            if isinstance(job.order.choice, DatasetUpload):
                await self.drop(job.order.choice)
            await self._end(job_id, "done", ended=ended)
        except asyncio.CancelledError:
            await self._end(job_id, "cancelled")
            raise
        except (RAGToolError, StoreError) as error:
            log.warning("a dataset could not be added: %s", type(error).__name__, exc_info=True)
            await self._end(job_id, "failed", problem=error.text(job.order.language))
        except Exception:
            log.exception("a dataset could not be added")
            await self._end(job_id, "failed", problem=_BROKEN.to(job.order.language))

    async def _work(
        self, job_id: str, seen: "AsyncGenerator[Prepared | Left | End, None]", reading: DatasetReading
    ) -> Ended | None:
        order = self._jobs[job_id].order
        counts: Counter[Outcome | Dropped] = Counter()
        refusals: deque[Verdict] = deque()
        rows = characters = in_a_row = 0
        async for step in seen:
            match step:
                case End(why):
                    return why
                case Left(_, reason):
                    counts[reason] += 1
                case Prepared():
                    if counts.total() % _LOOK_EVERY == 0:
                        await asyncio.to_thread(self._files.check_space)
                    verdict = await self._add(order, step)
                    counts[verdict.status] += 1
                    if verdict.status == "refused":
                        in_a_row += 1
                        if len(refusals) < _REFUSALS:
                            refusals.append(verdict)
                        if in_a_row == _IN_A_ROW:
                            raise DatasetError(_NOTHING_GOES, count=in_a_row, last=verdict.reason)
                    else:
                        in_a_row = 0
                        characters += len(step.text)
            rows += 1
            await self._show(
                job_id,
                counts=dict(counts),
                rows=rows,
                characters=characters,
                fetched=reading.bytes,
                refusals=tuple(refusals),
            )
        return None

    async def _add(self, order: Order, document: Prepared) -> Verdict:
        upload = Upload(document.name, document.data, order.collection, order.scope, order.author, document.url)
        return await self._knowledge.add(upload, order.language)

    async def _describe(self, order: Order) -> None:
        """A collection that has no description yet gets the dataset's, with its licence."""
        dataset = NAMED.get(order.choice.name) if isinstance(order.choice, Upstream) else None
        if dataset is None:
            return
        infos = await self._knowledge.collections(Readers(frozenset({order.scope, TEAM})))
        if not any(info.name == order.collection and info.description for info in infos):
            words = _DESCRIBED.to(
                order.language,
                description=dataset.description.to(order.language),
                licence=dataset.licence.to(order.language),
            )
            await self._knowledge.describe(order.collection, words)

    async def _end(self, job_id: str, state: State, *, ended: Ended | None = None, problem: str = "") -> None:
        job = self._jobs[job_id]
        counted = ", ".join(f"{what} {count}" for what, count in job.counts.items())
        log.info("dataset %s: %s (%s)", job.name, state, counted, extra={"job": job_id})
        subject = f"{job.order.collection}/{job.name} ({job.order.scope})"
        try:
            await self._audit.note(job.order.author, "dataset", subject, f"{state}: {counted}")
        except StoreError:
            log.warning("what a dataset brought could not be noted", exc_info=True)
        await self._show(job_id, state=state, ended=ended, problem=problem, finished=datetime.now(UTC))

    async def _show(self, job_id: str, **changes: object) -> None:
        self._jobs[job_id] = replace(self._jobs[job_id], **changes)  # type: ignore[arg-type]
        async with self._changed:
            self._changed.notify_all()

    def _over(self, job_id: str) -> None:
        """A task that was cancelled before its first step has not said so itself."""
        self._tasks.pop(job_id, None)
        if self._jobs[job_id].state == "running":
            self._jobs[job_id] = replace(self._jobs[job_id], state="cancelled", finished=datetime.now(UTC))

    def _remember(self, job: DatasetJob) -> None:
        self._jobs[job.id] = job
        over = [known.id for known in self._jobs.values() if known.state != "running"][: max(0, len(self._jobs) - JOBS)]
        for job_id in over:
            del self._jobs[job_id]

    # -- parts ------------------------------------------------------------------------------------------------------

    def _source(self, choice: Choice) -> DatasetSource:
        """Raises DatasetError."""
        if isinstance(choice, DatasetUpload):
            return self._files.source(choice)
        dataset = NAMED.get(choice.name)
        if dataset is None:
            raise DatasetError(_UNKNOWN, name=choice.name, known=", ".join(NAMED))
        from retrieval.datasets.hub import Hub, HubSource  # loads the hub's client when somebody looks into it

        self._hub = self._hub or Hub()
        return HubSource(self._hub, dataset)
