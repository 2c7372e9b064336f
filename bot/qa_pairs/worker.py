"""The work on Q/A pairs beside answering: one job at a time, a few calls at once, every chunk stored when it is done.

Source: product.md §3 (in parallel, resumable); reliability.md R23 (patience), R24 (budget) and R57 (drain).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime, timedelta

from agent.events import Cost
from agent.models.base import ChatModel, ModelBlocked, ModelBusy, ModelError, ModelProtocolError, ModelUnavailable
from agent.models.quota import OverBudgetError, QuotaModel
from agent.qa_generation import Proposal, agree, propose
from bot.errors import LostError, SettingsError, StoreError
from bot.qa_pairs.documents import PairDocuments
from bot.records import ChunkState
from bot.store.qa_jobs import HeldJob, PairJobs, Reason, Task
from bot.store.qa_pairs import PairRows
from bot.turns.budget import Budget
from bot.unanswered.clustering import Clustering
from bot.waiting import again_and_again, beside, sleep_unless, stopped
from retrieval.qa_pairs import Outcome, generate, repeats, wanted
from retrieval.types import Passage, RAGToolError, Readers

log = logging.getLogger(__name__)

AT_ONCE = 4  # calls of the model
CALLS = 5  # for one reply, with those that are made again
CALL_SECONDS = 120.0
LEASE = timedelta(seconds=30)
EVERY = 1.0  # seconds
TROUBLE = 15.0  # seconds until it is tried again when the database fails
DRAIN = 10.0  # seconds for what is under way at a stop
WAITS = 6  # for a busy provider, one after the other, before the job pauses
FIRST_WAIT, LONGEST_WAIT = 5.0, 300.0

Passages = Callable[[str, range, Readers], Awaitable[list[Passage]]]
"""Chunks of a document, as far as these readers may read them. Raises RAGToolError."""


class NotNowError(Exception):
    """The chunk is left for later."""


class _ChangedError(Exception):
    """The chunk is not there any more."""


@dataclass
class _Run:
    """The work on one job. `tries`: waits for the provider since it last answered."""

    job: HeldJob
    model: ChatModel
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    reason: Reason = ""
    lost: bool = False
    tries: int = 0
    resume_at: float = 0.0  # loop time

    def halt(self, reason: Reason) -> None:
        self.reason = self.reason or reason
        self.stop.set()


class _Ledger:
    """The day's budget, with what one chunk has cost."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.cost = Cost()

    def check(self) -> None:
        self._budget.check()

    def add(self, model: str, cost: Cost) -> None:
        self._budget.add(model, cost)
        self.cost = self.cost + cost


@dataclass
class PairWorker:
    """Finds jobs and works them off, one after the other; for one event loop. `models` raises SettingsError; `used_up`
    says whether nothing is left of the day's budget; `every`: seconds between two looks for work; `sleep` is the
    waiting for a provider."""

    jobs: PairJobs
    rows: PairRows
    published: PairDocuments
    _: KW_ONLY
    models: Callable[[str], ChatModel]
    budget: Budget
    used_up: Callable[[], Awaitable[bool]]
    passages: Passages
    grouping: Clustering
    owner: str
    at_once: int = AT_ONCE
    every: float = EVERY
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _woken: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _stopping: bool = field(init=False, default=False)
    _run: _Run | None = field(init=False, default=None)

    def wake(self) -> None:
        """There is something to do, or to stop doing."""
        self._woken.set()

    def stop(self, job: str | None = None) -> None:
        """Begin nothing more, in this job or at all; what is under way is stored."""
        if job is None:
            self._stopping = True
        if self._run is not None and job in (None, self._run.job.id):
            self._run.stop.set()
        self.wake()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Jobs are worked off in here. At its end calls that are under way have `DRAIN` seconds to be stored."""
        self._stopping = False
        task = asyncio.create_task(self._forever(), name="pairs")
        try:
            yield
        finally:
            self.stop()
            await asyncio.wait({task}, timeout=DRAIN)
            await stopped(task)

    async def _forever(self) -> None:
        """Work until `stop`; what fails is tried again."""
        while not self._stopping:
            patience = self.every
            try:
                await self.published.keep_up()
                if await self._one():
                    continue
            except (StoreError, RAGToolError):
                log.warning("no work on Q/A pairs for now", exc_info=True)
                patience = TROUBLE
            except Exception:
                log.exception("no work on Q/A pairs for now")
                patience = TROUBLE
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._woken.wait()
            self._woken.clear()

    async def _keep_up(self) -> None:
        """Beside a long job: what becomes of documents does not wait for its end."""
        while True:
            await asyncio.sleep(self.every)
            try:
                await self.published.keep_up()
            except Exception:
                log.warning("approved Q/A pairs could not follow their documents", exc_info=True)
                await asyncio.sleep(TROUBLE)

    # -- one job ----------------------------------------------------------------------------------------------------

    async def _one(self) -> bool:
        """Work on one job as far as that goes; False when there is none."""
        now = self.clock()
        held = await self.jobs.claim(owner=self.owner, now=now, until=now + LEASE)
        if held is None:
            return False
        try:
            run = _Run(held, self.models(held.model))
        except SettingsError:
            log.warning("the model of a Q/A job is not set up any more", extra={"job": held.id})
            await self.jobs.leave(held.id, owner=self.owner, now=self.clock(), reason="refused")
            return True
        self._run = run
        try:
            async with beside(self._beat(run), "pairs-lease"), beside(self._keep_up(), "pairs-follow"):
                await self._work(run)
        except LostError:
            log.info("a Q/A job has ended or another process has it", extra={"job": held.id})
            run.lost = True
        finally:
            self._run = None
            if not run.lost:
                await self._leave(run)
        return True

    async def _work(self, run: _Run) -> None:
        if self._stopping:
            return
        if await self.used_up():
            run.halt("budget")
            return
        tasks = await self.jobs.todo(run.job.id)
        log.info("writing Q/A pairs: %d chunks", len(tasks), extra={"job": run.job.id})
        outcomes = generate(
            tasks, lambda task: self._write(run, task), at_once=self.at_once, going=lambda: not run.stop.is_set()
        )
        try:
            async with aclosing(outcomes):
                async for outcome in outcomes:
                    await self._keep(run, outcome)
        finally:
            self.budget.settle()

    async def _leave(self, run: _Run) -> None:
        try:
            if not self._stopping:
                await self._settle(run.job.id)
            done = await self.jobs.leave(run.job.id, owner=self.owner, now=self.clock(), reason=run.reason)
        except StoreError:
            log.warning("a Q/A job could not be given back; its lease passes soon", exc_info=True)
        else:
            what = "done" if done else f"paused: {run.reason}" if run.reason else "left"
            log.info("writing Q/A pairs: %s", what, extra={"job": run.job.id})

    async def _settle(self, job: str) -> None:
        """Each question once, among all that can be found beside it: those that people decided about come first."""
        known = [one for one in await self.rows.beside(job) if one.state != "repeated"]
        repeated: dict[int, int] = {}
        for place in dict.fromkeys(one.group for one in known):
            here = [one for one in known if one.group == place]
            if not any(one.state == "pending" for one in here) or len(here) < 2:
                continue
            groups = await self.grouping([one.pair.question for one in here])
            found = await asyncio.to_thread(repeats, [one.pair for one in here], groups, agree)
            repeated |= {here[at].id: here[first].id for at, first in found.items() if here[at].state == "pending"}
        await self.rows.repeat(repeated)

    async def _beat(self, run: _Run) -> None:
        async def renew() -> None:
            now = self.clock()
            if not await self.jobs.renew(run.job.id, owner=self.owner, now=now, until=now + LEASE):
                run.stop.set()

        every = LEASE.total_seconds() / 6
        await again_and_again(renew, every, "the lease of a Q/A job could not be renewed", first=every)

    # -- one chunk --------------------------------------------------------------------------------------------------

    async def _write(self, run: _Run, task: Task) -> tuple[Proposal, Cost]:
        """Raises ModelError, NotNowError and what else keeps a chunk from its pairs."""
        passage = await self._passage(task)
        ledger = _Ledger(self.budget)
        try:
            while True:
                await self._wait(run)
                model = QuotaModel(run.model, ledger, calls=CALLS, kept=0)
                until = asyncio.get_running_loop().time() + CALL_SECONDS
                try:
                    made = await propose(model, passage, wanted(passage.text), until=until)
                except OverBudgetError as error:
                    run.halt("budget")
                    raise NotNowError from error
                except (ModelBusy, ModelUnavailable, TimeoutError) as error:
                    self._put_off(run, error)
                else:
                    run.tries = 0
                    return made, ledger.cost
        except BaseException:
            if ledger.cost.calls:
                await self.jobs.charge(run.job.id, ledger.cost, owner=self.owner)
            raise

    async def _passage(self, task: Task) -> Passage:
        """Raises _ChangedError, RAGToolError."""
        number = task.spot.chunk
        found = await self.passages(task.spot.document, range(number, number + 1), Readers(frozenset({task.scope})))
        if not task.current or not found or found[0].question is not None:
            raise _ChangedError
        return found[0]

    async def _wait(self, run: _Run) -> None:
        """Until the provider may be asked again. Raises NotNowError."""
        while not run.stop.is_set():
            left = run.resume_at - asyncio.get_running_loop().time()
            if left <= 0:
                return
            await sleep_unless(run.stop, left, self.sleep)
            if not run.stop.is_set():
                run.resume_at = min(run.resume_at, asyncio.get_running_loop().time())
        raise NotNowError

    def _put_off(self, run: _Run, error: Exception) -> None:
        """All chunks wait, longer each time, as long as the provider asks for at least; then the job pauses."""
        if isinstance(error, ModelUnavailable) and error.why in ("key", "model"):
            run.halt("refused")
        elif run.resume_at <= asyncio.get_running_loop().time():
            if run.tries >= WAITS:
                run.halt("busy")
                return
            demanded = getattr(error, "retry_after", None) or 0.0
            seconds = max(demanded, min(LONGEST_WAIT, FIRST_WAIT * 2.0**run.tries))
            run.tries += 1
            run.resume_at = asyncio.get_running_loop().time() + seconds
            log.info("the model is busy; Q/A pairs wait %.0f s", seconds, extra={"job": run.job.id})

    async def _keep(self, run: _Run, outcome: Outcome[Task, tuple[Proposal, Cost]]) -> None:
        """Store what came of a chunk. Raises LostError, StoreError."""
        proposal, cost = outcome.made or (Proposal(), Cost())
        state: ChunkState = "done"
        match outcome.error:
            case None:
                pass
            case NotNowError():
                return
            case StoreError():
                raise outcome.error
            case _ChangedError():
                state = "stale"
            case ModelBlocked():
                state = "blocked"
            case ModelProtocolError() | ModelError() | RAGToolError():
                state = "failed"
                log.warning("no Q/A pairs of a chunk: %s", type(outcome.error).__name__, extra={"job": run.job.id})
            case error:
                state = "failed"
                log.error("no Q/A pairs of a chunk", exc_info=error, extra={"job": run.job.id})
        running = await self.jobs.store(
            run.job.id,
            outcome.source,
            state,
            owner=self.owner,
            now=self.clock(),
            made=proposal.pairs,
            dropped=proposal.dropped,
            cost=cost,
        )
        self.budget.settle()
        if not running:
            run.stop.set()
