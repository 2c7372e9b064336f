"""Datasets into the knowledge: looked at first, then added in the background, a document at a time.

A job is a row that a process holds by a lease. What it has added stays whatever becomes of it, and the same job begun
again finds those documents unchanged: that is how it goes on, also in another process when its own has died.
Source: product.md §3, §6; machines.md §1; seeds/0_agent_rag.md §1.2, §4.2.
"""

import asyncio
import logging
import uuid
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bot.access import valid_scope
from bot.errors import LostError, StoreError
from bot.knowledge.dataset_uploads import DatasetUploads
from bot.knowledge.documents import KnowledgeBase
from bot.records import AuditRecord
from bot.store.dataset_jobs import (
    Choice,
    DatasetJob,
    DatasetJobRows,
    DatasetUpload,
    Order,
    Outcome,
    State,
    Upstream,
)
from bot.store.engine import Engine
from bot.types import Upload, Verdict
from bot.waiting import again_and_again, beside, stopped
from retrieval.datasets import (
    NAMED,
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
from retrieval.i18n import Text
from retrieval.types import TEAM, RAGToolError, Readers

if TYPE_CHECKING:
    from retrieval.datasets.hub import Hub

log = logging.getLogger(__name__)

__all__ = ["Choice", "DatasetJob", "Datasets", "Order", "Outcome", "Sample", "State", "Upstream"]

MOST = 100_000  # documents of one job
PREVIEW = 50  # rows
JOBS = 50  # that are listed
LEASE = timedelta(seconds=15)
TRIES = 3  # a job that ended so many processes, and added nothing in the last of them, is not begun again
_BEAT = 5.0  # seconds
_SHOWN_EVERY = 1.0  # seconds, while rows are only left out
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
_INTERRUPTED = Text(
    en="I was interrupted {n} time{n:|s} without getting further. What was added stays; start it again.",
    ja="処理が {n} 回中断され、先へ進めませんでした。追加済みの文書は残っています。もう一度開始してください。",
)
_DESCRIBED = Text(en="{description} {licence}", ja="{description} {licence}")


@dataclass(frozen=True, slots=True)
class Sample:
    """A row before and after cleaning; `after` None: it is left out, for `reason`."""

    before: DatasetRow
    after: Prepared | None
    reason: Dropped | None = None


class Datasets:
    """Looks into datasets and adds them; owns the tasks that do it. All that is about jobs raises StoreError."""

    def __init__(
        self,
        knowledge: KnowledgeBase,
        engine: Engine,
        files: DatasetUploads,
        *,
        owner: str,
        hub: "Hub | None" = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`owner` names this process in the leases; `sleep` is the waiting between two looks at them."""
        self._knowledge = knowledge
        self._rows = DatasetJobRows(engine)
        self._files = files
        self._owner = owner
        self._hub = hub
        self._sleep = sleep
        self._tasks: dict[str, asyncio.Task[None]] = {}

    # -- what there is ----------------------------------------------------------------------------------------------

    async def keep(self, name: str, data: AsyncIterable[bytes]) -> DatasetUpload:
        """Take a csv, tsv, txt, json or jsonl file, at most 200 MiB. It stays until a job with it is done, or it is
        dropped. Raises DatasetError, also for a file that cannot be read row by row."""
        return await self._files.keep(name, data)

    async def inspect(self, file: DatasetUpload) -> Inspected:
        """Its encoding, its columns and which of them seem to be title, text and address. Raises DatasetError."""
        source = await self._files.source(file)
        return await asyncio.to_thread(source.inspect)

    async def drop(self, file: DatasetUpload) -> None:
        """The file is not wanted any longer; a job that reads it fails."""
        await self._files.drop(file)

    async def tidy(self) -> None:
        """At the start of a home's process: give up the files that an earlier one has left and no job reads."""
        choices = (job.order.choice for job in await self._rows.running())
        await self._files.clear([choice for choice in choices if isinstance(choice, DatasetUpload)])

    async def preview(self, choice: Choice, rows: int = 10, limits: StreamLimits | None = None) -> tuple[Sample, ...]:
        """The first rows (at most 50) before and after cleaning. Raises DatasetError."""
        few = replace(limits or StreamLimits(), documents=MOST, rows=max(1, min(rows, PREVIEW)))
        samples: list[Sample] = []
        async with aclosing(steps(await self._source(choice), few)) as seen:
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

    async def start(self, order: Order) -> DatasetJob:
        """Begin to add. Who may add for which scope was asked before (`bot.access.scopes`); ValueError for none.

        Raises DatasetError: unknown dataset, file gone, disk full, or another job adds to this collection.
        """
        if not valid_scope(order.scope):
            raise ValueError(f"not a scope: {order.scope}")
        self._files.check_space()
        await self._source(order.choice)
        limits = replace(order.limits, documents=max(1, min(order.limits.documents, MOST)))
        now = datetime.now(UTC)
        job = DatasetJob(uuid.uuid4().hex, replace(order, limits=limits), started=now)
        if not await self._rows.begin(job, owner=self._owner, now=now, until=now + LEASE):
            raise DatasetError(_TAKEN, collection=order.collection)
        self._work_on(job)
        return job

    async def resume(self, job_id: str) -> DatasetJob:
        """Start a job's order again: what it has added already is found unchanged. Raises as `start`."""
        job = await self._rows.get(job_id)
        if job is None:
            raise DatasetError(_NO_JOB)
        return await self.start(job.order)

    async def cancel(self, job_id: str) -> bool:
        """Stop a job between two documents or in the middle of one, which is then not added; False: it was not
        running. Another process that works on it learns it with the next document, or after seconds."""
        was_running = await self._rows.cancel(job_id, now=datetime.now(UTC), trace=_trace)
        task = self._tasks.get(job_id)
        if was_running and task is not None:
            await stopped(task)
        return was_running

    async def jobs(self) -> tuple[DatasetJob, ...]:
        """Newest first."""
        return await self._rows.listed(JOBS)

    async def watch(self) -> None:
        """Go on with jobs that no living process holds; until cancelled."""
        trouble = "no look for datasets that are left"
        await again_and_again(self._take_over_all, _BEAT, trouble, sleep=self._sleep)

    async def _take_over_all(self) -> None:
        while await self.take_over():
            pass

    async def take_over(self) -> bool:
        """Go on with the oldest job that was left, from its first row; False: there is none."""
        now = datetime.now(UTC)
        job = await self._rows.claim(owner=self._owner, now=now, until=now + LEASE, but=tuple(self._tasks))
        if job is None:
            return False
        log.info("going on with dataset %s", job.name, extra={"job": job.id})
        if job.tries > TRIES:
            await self._end(replace(job, state="failed", problem=_INTERRUPTED.to(job.order.language, n=TRIES)))
        else:
            self._work_on(replace(job, counts={}, rows=0, characters=0, fetched=0, refusals=()))
        return True

    async def close(self) -> None:
        """Leave the jobs to whoever looks for some, or to the next start. Never raises."""
        tasks = set(self._tasks.values())
        await stopped(*tasks)
        if tasks:
            try:
                await self._rows.release(owner=self._owner)
            except StoreError:
                log.warning("datasets could not be given back", exc_info=True)

    # -- one job ----------------------------------------------------------------------------------------------------

    def _work_on(self, job: DatasetJob) -> None:
        task = asyncio.create_task(self._hold(job), name=f"dataset-{job.name}")
        self._tasks[job.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(job.id))

    async def _hold(self, job: DatasetJob) -> None:
        """Work on a job for as long as it is this process's."""
        async with beside(self._run(job)) as work, beside(self._beat(job.id)) as beat:
            await asyncio.wait({work, beat}, return_when=asyncio.FIRST_COMPLETED)

    async def _beat(self, job_id: str) -> None:
        """Until somebody has stopped it, or another process has it."""
        held = True
        while held:
            await self._sleep(_BEAT)
            now = datetime.now(UTC)
            try:
                held = await self._rows.renew(job_id, owner=self._owner, now=now, until=now + LEASE)
            except StoreError:
                log.warning("the lease on a dataset could not be renewed", exc_info=True)

    async def _run(self, job: DatasetJob) -> None:
        loop = asyncio.get_running_loop()
        taken, stored = 0, loop.time()
        try:
            try:
                await self._describe(job.order)
                source = await self._source(job.order.choice)
                async with aclosing(self._pass(job, source)) as seen:
                    async for job in seen:
                        if job.taken > taken or loop.time() >= stored + _SHOWN_EVERY:
                            await self._rows.keep(job, owner=self._owner)
                            taken, stored = job.taken, loop.time()
                job = replace(job, state="done")
            except LostError:
                raise
            except (RAGToolError, StoreError) as error:
                log.warning("a dataset could not be added: %s", type(error).__name__, exc_info=True)
                job = replace(job, state="failed", problem=error.text(job.order.language))
            except Exception:
                log.exception("a dataset could not be added")
                job = replace(job, state="failed", problem=_BROKEN.to(job.order.language))
            await self._end(job)
            if job.state == "done" and isinstance(job.order.choice, DatasetUpload):
                await self.drop(job.order.choice)
        except LostError:
            log.info("a dataset was stopped, or another process has it", extra={"job": job.id})
        except StoreError:
            log.warning("what has become of a dataset could not be stored", exc_info=True)

    async def _pass(self, job: DatasetJob, source: DatasetSource) -> AsyncGenerator[DatasetJob]:
        """The job after each row."""
        order, reading = job.order, DatasetReading()
        counts: Counter[Outcome | Dropped] = Counter()
        refusals: deque[Verdict] = deque()
        ended: Ended | None = None
        rows = characters = in_a_row = 0

        def now() -> DatasetJob:
            return replace(
                job,
                counts=dict(counts),
                rows=rows,
                characters=characters,
                fetched=reading.bytes,
                refusals=tuple(refusals),
                ended=ended,
            )

        async with aclosing(steps(source, order.limits, reading)) as seen:
            async for step in seen:
                match step:
                    case End(ended):
                        break
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
                yield now()
        yield now()

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
            await self._knowledge.stored.describe(order.collection, words)

    async def _end(self, job: DatasetJob) -> None:
        job = replace(job, finished=datetime.now(UTC))
        trace = _trace(job)
        await self._rows.keep(job, owner=self._owner, trace=trace)
        log.info("dataset %s: %s", job.name, trace.result, extra={"job": job.id})

    # -- parts ------------------------------------------------------------------------------------------------------

    async def _source(self, choice: Choice) -> DatasetSource:
        """Raises DatasetError."""
        if isinstance(choice, DatasetUpload):
            return await self._files.source(choice)
        dataset = NAMED.get(choice.name)
        if dataset is None:
            raise DatasetError(_UNKNOWN, name=choice.name, known=", ".join(NAMED))
        from retrieval.datasets.hub import Hub, HubSource  # loads the hub's client when somebody looks into it

        self._hub = self._hub or Hub()
        return HubSource(self._hub, dataset)


def _trace(job: DatasetJob) -> AuditRecord:
    counted = ", ".join(f"{what} {count}" for what, count in job.counts.items())
    subject = f"{job.order.collection}/{job.name} ({job.order.scope})"
    return AuditRecord(job.order.author, "dataset", subject, f"{job.state}: {counted}")
