"""Work that goes on when nobody looks, with how far it is for whoever looks again. It lives in this process only."""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from bot.errors import StoreError
from bot.types import Verdict
from bot.waiting import stopped
from retrieval.i18n import Language, Text
from retrieval.types import RAGToolError

log = logging.getLogger(__name__)

AT_ONCE = 2  # jobs: reading is limited to as many processes, embedding to the processor
KEPT = 100  # jobs of one owner that are remembered

_BROKEN = Text(
    en="Something went wrong on my side; the log has the reason. Please try again.",
    ja="こちらの問題で失敗しました。理由はログにあります。もう一度お試しください。",
)

Kind = Literal["add", "reindex"]
State = Literal["waiting", "running", "done", "stopped", "failed"]


@dataclass(slots=True)
class BackgroundJob:
    """How far a piece of work is: so many of `total` documents are done, and of the current one so many passages."""

    owner: str
    kind: Kind
    name: str  # of the file, or of what is worked on
    total: int
    language: Language  # of what goes wrong
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    state: State = "waiting"
    done: int = 0
    passages: tuple[int, int] = (0, 0)
    verdict: Verdict | None = None  # of the last document
    refused: list[Verdict] = field(default_factory=list)
    problem: str = ""  # why the whole of it failed, in words

    @property
    def over(self) -> bool:
        return self.state not in ("waiting", "running")

    @property
    def share(self) -> float:
        """0..1"""
        part = self.passages[0] / self.passages[1] if self.passages[1] else 0.0
        return 1.0 if self.state == "done" else min(1.0, (self.done + part) / max(1, self.total))

    def chunks(self, done: int, total: int) -> None:
        """A `Progress` of the current document."""
        self.passages = (done, total)

    def ended(self, verdict: Verdict) -> None:
        """The current document has its verdict."""
        self.done += 1
        self.passages = (0, 0)
        self.verdict = verdict
        if verdict.status == "refused":
            self.refused.append(verdict)


class Background:
    """Runs jobs, `AT_ONCE` at a time, in the order in which they came."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._jobs: dict[str, BackgroundJob] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, job: BackgroundJob, work: Callable[[BackgroundJob], Awaitable[None]]) -> BackgroundJob:
        self._remember(job)
        task = asyncio.create_task(self._run(job, work), name=f"{job.kind}-{job.id}")
        self._tasks[job.id] = task
        task.add_done_callback(lambda _: self._ended(job))
        return job

    def refuse(self, job: BackgroundJob, why: str) -> BackgroundJob:
        """A job that is not begun and stands among the others with the reason."""
        job.state, job.problem = "failed", why
        self._remember(job)
        return job

    def _remember(self, job: BackgroundJob) -> None:
        self._jobs[job.id] = job
        for old in [one for one in self.of(job.owner) if one.over][KEPT - 1 :]:
            del self._jobs[old.id]

    def of(self, owner: str) -> list[BackgroundJob]:
        """The latest first."""
        return [job for job in reversed(self._jobs.values()) if job.owner == owner]

    def stop(self, owner: str, job_id: str) -> None:
        """Nothing happens when it is over, or not theirs."""
        job, task = self._jobs.get(job_id), self._tasks.get(job_id)
        if job is not None and task is not None and job.owner == owner:
            task.cancel()

    def clear(self, owner: str) -> None:
        for job in self.of(owner):
            if job.over:
                del self._jobs[job.id]

    async def close(self) -> None:
        await stopped(*self._tasks.values())

    async def _run(self, job: BackgroundJob, work: Callable[[BackgroundJob], Awaitable[None]]) -> None:
        async with self._slots:
            job.state = "running"
            try:
                await work(job)
                job.state = "done"
            except (RAGToolError, StoreError) as error:
                log.warning("a job failed (%s)", job.kind, exc_info=True)
                job.state, job.problem = "failed", error.text(job.language)
            except Exception:
                log.exception("a job failed (%s)", job.kind)
                job.state, job.problem = "failed", _BROKEN.to(job.language)

    def _ended(self, job: BackgroundJob) -> None:
        self._tasks.pop(job.id, None)
        if not job.over:
            job.state = "stopped"
