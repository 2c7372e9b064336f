"""Several processes on one PostgreSQL and one Qdrant server do everything at once and are killed at any moment; what all
of them acknowledge, post and find is held against what was asked of them. Source: machines.md §3.
"""

import asyncio
import itertools
import json
import os
import random
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

from sqlalchemy import select, text

from bot.store.documents import Documents
from bot.store.engine import connect, opened, rows
from bot.store.schema import answers, feedback, turns
from bot.turns.withdrawal import WITHDRAWN
from migrations import upgrade
from retrieval.index.payload import STAGED
from retrieval.index.server import ServerIndex
from retrieval.sparse import TOKENIZER
from retrieval.types import TEAM, Readers, View
from tests.bot import postgresql
from tests.bot.program import PYTHON, ROOT, Process, environment, talking
from tests.fakes.openai import KEY as MODEL_KEY
from tests.fakes.openai import FakeOpenAI
from tests.fakes.qdrant import KEY, Drop, FakeQdrant, Order, Refuse

EMBEDDERS = {"hash": 32, "newer": 48}  # the documents are re-indexed with the second in the middle of a run
SECTIONS = 3
KINDS = {"add", "ask", "shown", "forget", "vote", "digest"}  # a run lasts until each has been done
PATIENCE = 60.0  # seconds after which a kind that was never done is a failure
SILENCE = 150.0  # seconds after which a process that does not answer, or does not start, is a failure
PLANS = 6  # documents that are replaced and forgotten again and again
_TRIES = 10
OFF = "+600"  # seconds that the clock of one process is wrong
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
SKEWED = FAKETIME.exists()  # Debian: apt-get install faketime
_CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'kotae'"
_READERS = Readers(frozenset({TEAM}))

Said = dict[str, Any]


class Died(Exception):
    """The process was killed before it answered: what was asked of it is done or not."""


class Machine:
    """One process, started again whenever it was killed."""

    def __init__(self, home: Path, given: Said, note: Callable[[Said], None], *, clock: str = "") -> None:
        self._home = home
        self.given = given
        self._note = note
        self._clock = clock  # seconds that it is off
        self._numbers = itertools.count()
        self._asked: dict[int, asyncio.Future[Said]] = {}
        self.ready = asyncio.Event()
        self._process: Process | subprocess.Popen[bytes] | None = None

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            process = self._process = await asyncio.to_thread(self._start)
            said, self._told = await talking(process)  # type: ignore[arg-type]
            try:
                while (line := await said.readline()).endswith(b"\n"):  # else it was killed in the midst of it
                    self._hear(json.loads(line))
            finally:
                self.ready.clear()
                process.kill()
                self._told.close()
                await asyncio.to_thread(process.wait)
                for waiting in self._asked.values():
                    if not waiting.done():
                        waiting.set_exception(Died())
                self._asked.clear()

    def _start(self) -> Process | subprocess.Popen[bytes]:
        module, arguments = "tests.crash.machine_life", [str(self._home), json.dumps(self.given)]
        env = environment(None, TMPDIR=str(self._home))
        if not self._clock:
            return Process(*arguments, env=env, stdin=PIPE, stdout=PIPE, module=module)
        wrong = {"LD_PRELOAD": str(FAKETIME), "FAKETIME": f"{self._clock}s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        return subprocess.Popen([*PYTHON, "-m", module, *arguments], env=env | wrong, cwd=ROOT, stdin=PIPE, stdout=PIPE)

    def _hear(self, said: Said) -> None:
        if said.get("ready"):
            self.ready.set()
        elif "id" in said:
            waiting = self._asked.pop(said["id"], None)
            if waiting is not None and not waiting.done():
                waiting.set_result(said)
        else:
            self._note(said)

    async def __call__(self, do: str, **asked: Any) -> Said:
        """Raises Died, and TimeoutError when it lives and says nothing."""
        try:
            return await asyncio.wait_for(self._answer(do, asked), SILENCE)
        except TimeoutError as error:
            stands = await asyncio.wait_for(self._answer("stacks", {}), SILENCE)
            raise TimeoutError(f"no answer to {do} {asked}\n{stands['stacks']}") from error

    async def _answer(self, do: str, asked: Said) -> Said:
        await self.ready.wait()
        number = next(self._numbers)
        answer: asyncio.Future[Said] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        with suppress(ConnectionError):
            self._told.write((json.dumps({"id": number, "do": do, **asked}) + "\n").encode())
            await self._told.drain()
        return await answer

    def kill(self) -> None:
        if self._process is not None:
            self.ready.clear()
            _send(self._process.pid, signal.SIGKILL)

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        assert self._process is not None
        pid = self._process.pid
        _send(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            _send(pid, signal.SIGCONT)


def _send(pid: int, number: signal.Signals) -> None:
    """Without asking whether it has ended, which its thread waits for."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


@dataclass
class Report:
    """What was done and seen. `problems` is empty when all held."""

    seed: int
    kills: int = 0
    wrong_clock: bool = False
    done: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class Plan:
    """A document that one change at a time is made to: editions that it may show, "" for none."""

    name: str
    allowed: set[str] = field(default_factory=lambda: {""})


class Run:
    """A run of so many processes."""

    def __init__(self, machines: list[Machine], report: Report, chance: random.Random) -> None:
        self._machines = machines
        self.report = report
        self._chance = chance
        self._editions = itertools.count(1)
        self.acknowledged: set[str] = set()
        self.posts: dict[str, set[tuple[str, str]]] = {}
        self.turns: list[str] = []
        self.digests: Counter[str] = Counter()

    def note(self, said: Said) -> None:
        if "acknowledged" in said:
            self.acknowledged.add(said["acknowledged"])
        elif "posted" in said:
            self.posts.setdefault(said["posted"], set()).add((said["turn"], said["text"]))
            self.turns.append(said["turn"])
        elif "digest" in said:
            self.digests[said["digest"]] += 1

    def some(self) -> Machine:
        return self._chance.choice([one for one in self._machines if one.ready.is_set()] or self._machines)

    async def asked(self, what: str, machine: Machine | None = None, **more: Any) -> Said | None:
        """None: nobody knows whether it was done."""
        try:
            said = await (machine or self.some())(what, **more)
        except Died:
            return None
        if "broke" in said:
            self.problem(f"{what} broke: {said['broke']}")
            return None
        if "failed" in said:
            self.report.refused[said["failed"]] += 1
            return None
        self.report.done[what] += 1
        return said

    def problem(self, what: str) -> None:
        self.report.problems.append(what)

    # -- what goes on at once -----------------------------------------------------------------------------------------

    async def documents(self, plan: Plan) -> None:
        while True:
            if self._chance.random() < 0.15:
                said = await self.asked("forget", name=plan.name)
                plan.allowed = {""} if said else {"", *plan.allowed}
            else:
                edition = f"edition{next(self._editions)}"
                collection = f"plans{self._chance.randrange(2)}" if plan.allowed == {""} else None
                if collection is not None:
                    self._where = {**getattr(self, "_where", {}), plan.name: collection}
                page = text_of(plan.name, edition)
                said = await self.asked("add", name=plan.name, collection=self._where[plan.name], text=page)
                kept = said is not None and said["status"] in ("added", "replaced", "unchanged")
                if said is not None and not kept:
                    self.report.refused[said["why"]] += 1
                plan.allowed = {edition} if kept else {edition, *plan.allowed} if said is None else plan.allowed
            await self.look(plan)

    async def look(self, plan: Plan) -> None:
        """Whatever process is asked shows one edition whole, and one that may be there."""
        allowed = set(plan.allowed)
        said = await self.asked("shown")
        if said is None:
            return
        editions = [edition for _, edition in said["shown"].get(plan.name, [])]
        if len(set(editions)) > 1 or len(editions) not in (0, SECTIONS):
            self.problem(f"{plan.name} is shown as {editions}")
        elif (editions[0] if editions else "") not in allowed:
            self.problem(f"{plan.name} is shown as {editions}, not as one of {sorted(allowed)}")
        elif len(allowed) > 1:
            plan.allowed = {editions[0] if editions else ""}

    async def fresh(self) -> None:
        """What one process has committed, another finds at once."""
        for number in itertools.count():
            name = f"fresh{number}.md"
            said = await self.asked("add", name=name, collection="fresh", text=f"# {name}\n\nword{number}x harbour.\n")
            if said is None or said["status"] != "added":
                continue
            found = await self.asked("search", query=f"word{number}x", collection="fresh")
            if found is not None and name not in found["found"]:
                self.problem(f"{name} is not found right after it was added: {found['found']}")
            if number > 20:  # the others stay few
                await self.asked("forget", name=f"fresh{number - 20}.md")

    async def merges(self) -> None:
        for number in itertools.count():
            name, into = f"moving{number}.md", f"merged{number % 3}"
            said = await self.asked("add", name=name, collection=f"from{number}", text=f"# {name}\n\nA ship.\n")
            if (
                said is None
                or said["status"] != "added"
                or await self.asked("merge", source=f"from{number}", into=into) is None
            ):
                continue
            shown = await self.asked("shown")
            if shown is not None and {where for where, _ in shown["shown"].get(name, [])} != {into}:
                self.problem(f"{name} was merged into {into} and is shown in {shown['shown'].get(name)}")
            await self.asked("forget", name=name)

    async def questions(self, thread: int) -> None:
        for number in itertools.count():
            asked = {"thread": f"t{thread}", "message": f"{thread}-{number}", "text": f"Where is plan {number % 9}?"}
            first = self.some()
            copies = [first] + ([self.some()] if self._chance.random() < 0.3 else [])
            await asyncio.gather(*(self.asked("ask", one, **asked) for one in copies))

    async def resuming(self) -> None:
        while True:
            await asyncio.sleep(0.3)
            await self.asked("resume")

    async def votes_and_digests(self) -> None:
        while True:
            await asyncio.sleep(0.05)
            if self.turns:
                turn, author = self._chance.choice(self.turns), f"U{self._chance.randrange(3)}"
                await asyncio.gather(*(self.asked("vote", turn=turn, author=author) for _ in range(2)))
            if self._chance.random() < 0.1:
                await asyncio.gather(*(self.asked("digest", one) for one in self._machines if one.ready.is_set()))

    async def reindex(self, after: float, home: Path) -> None:
        """For another embedder, while all goes on; then each process is started again with it."""
        await asyncio.sleep(after)
        given = self._machines[0].given | _with("newer")
        env = environment(home, **{name: str(value) for name, value in given.items()})
        for _ in range(_TRIES):  # its connections are cut, too
            process = Process("reindex", env=env, stdout=DEVNULL, stderr=PIPE)
            said = (await asyncio.to_thread(process.communicate))[1].decode()
            if not process.returncode:
                break
        else:
            self.problem(f"the documents could not be re-indexed: {said[-500:]}")
            return
        self.report.done["reindex"] += 1
        for one in self._machines:
            one.given = given
            one.kill()

    async def deaths(self, every: float, server: FakeQdrant, database: str) -> None:
        done = 0
        while True:
            await asyncio.sleep(self._chance.expovariate(1 / every))
            if self.report.done.total() == done:
                continue  # where a start takes longer than a life, nothing would ever be done
            done = self.report.done.total()
            one, fate = self.some(), self._chance.random()
            if fate < 0.15:  # as when the database is started again: locks go, and answers to commits with them
                await asyncio.to_thread(postgresql.execute, database, _CUT)
                self.report.done["cut"] += 1
            elif fate < 0.3 and one.ready.is_set():
                with one.standing_still():
                    await asyncio.sleep(self._chance.expovariate(1))
                self.report.done["stop"] += 1
            elif one.ready.is_set():
                one.kill()
                self.report.kills += 1
            if self._chance.random() < 0.3:  # a replica goes down in the middle of a write, or after it
                failures: list[Order] = [
                    *(Drop(done=True), Drop(), Refuse(503), Refuse(500)),
                    *(Refuse(500, done=True), Refuse(500, half=True)),
                ]
                server.order("points", self._chance.choice(failures))


def _with(embedder: str) -> Said:
    return {"KOTAE_EMBEDDER": f"openai:{embedder}", "KOTAE_EMBEDDING_DIM": EMBEDDERS[embedder]}


def text_of(name: str, edition: str) -> str:
    """A document of several passages that all name their edition."""
    rules = " ".join(f"Harbour rule {n} of {edition} binds ships." for n in range(30))
    return "\n\n".join(f"# {name} part {part}\n\n{rules}" for part in range(SECTIONS))


@contextmanager
def _database() -> Iterator[str]:
    with postgresql.server() as address:
        postgresql.execute(address.format(name="postgres"), "CREATE DATABASE kotae")
        upgrade(address.format(name="kotae"))
        yield address.format(name="kotae")


async def run(seconds: float, *, seed: int, processes: int = 3, every: float = 0.4) -> Report:
    """`every`: seconds between two kills, on average."""
    report, chance = Report(seed, wrong_clock=SKEWED and processes > 1), random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, _database() as database:
        async with FakeQdrant(replicas=3, lags=True) as server, FakeOpenAI(embedders=EMBEDDERS) as embedder:
            given = {
                "DATABASE_URL": database,
                "QDRANT_URL": server.url,
                "QDRANT_API_KEY": KEY,
                **_with("hash"),
                "OPENAI_BASE_URL": embedder.url,
                "OPENAI_API_KEY": MODEL_KEY,
                "KOTAE_MIN_RELEVANCE": 0,
                "KOTAE_USER_PER_MINUTE": 0,
                "KOTAE_CHANNEL_PER_MINUTE": 0,
            }
            machines: list[Machine] = []
            whole = Run(machines, report, chance)
            for number in range(processes):
                home = Path(folder) / str(number)
                home.mkdir()
                wrong = OFF if report.wrong_clock and number == processes - 1 else ""
                machines.append(Machine(home, given, whole.note, clock=wrong))
            plans = [Plan(f"plan{number}.md") for number in range(PLANS)]
            async with _going(*(one.run() for one in machines)):
                await _all_ready(machines)
                began = asyncio.get_running_loop().time()
                work = [
                    *map(whole.documents, plans),
                    *map(whole.questions, range(4)),
                    whole.fresh(),
                    whole.merges(),
                    whole.resuming(),
                    whole.votes_and_digests(),
                    whole.deaths(every, server, database),
                    whole.reindex(seconds / 3, Path(folder) / "reindex"),
                ]
                async with _going(*work) as going:
                    await asyncio.sleep(seconds)
                    await going[-1]
                    async with asyncio.timeout(PATIENCE):
                        while not report.done.keys() >= KINDS:  # noqa: ASYNC110
                            await asyncio.sleep(0.05)
                report.seconds = asyncio.get_running_loop().time() - began
                server.calm()
                await _all_ready(machines)
                await _settled(whole, machines, database)
                for plan in plans:
                    await whole.asked("add", name=plan.name, collection="plans0", text=text_of(plan.name, "edition0"))
            await _checked(whole, report, database, server.url)
    return report


async def _all_ready(machines: Sequence[Machine]) -> None:
    """Raises TimeoutError."""
    async with asyncio.timeout(SILENCE):
        await asyncio.gather(*(one.ready.wait() for one in machines))


@asynccontextmanager
async def _going(*work: Coroutine[Any, Any, None]) -> AsyncIterator[Sequence[asyncio.Task[None]]]:
    """All of it, until the block ends; what fails ends the block. Raises ExceptionGroup."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one) for one in work]
        try:
            yield tasks
        finally:
            for task in tasks:
                task.cancel()


async def _settled(whole: Run, machines: list[Machine], database: str) -> None:
    """Every question that was taken is answered, by whoever lives, also where who took it died before it said so."""
    waiting = select(turns.c.id).where(turns.c.state != "done").limit(1)
    async with opened(database) as engine:
        for _ in range(200):
            await asyncio.gather(*(whole.asked("resume", one) for one in machines))
            if whole.acknowledged <= set(whole.posts) and not await rows(engine, waiting):
                return
            await asyncio.sleep(0.1)  # the leases of the dead run out


async def _checked(whole: Run, report: Report, database: str, qdrant: str) -> None:
    engine = connect(database)
    async with engine.connect() as db:
        found = (
            await db.execute(
                select(turns.c.message, turns.c.state, answers.c.turn).join_from(
                    turns, answers, answers.c.turn == turns.c.id, isouter=True
                )
            )
        ).all()
        voted = (await db.execute(select(feedback.c.turn, feedback.c.author))).all()
        await db.execute(text("DELETE FROM processes"))
        await db.commit()
    messages = [row.message for row in found]
    if lost := whole.acknowledged - set(messages):
        whole.problem(f"questions that were acknowledged and lost: {sorted(lost)[:5]}")
    if len(set(messages)) != len(messages):
        whole.problem("questions that are there twice")
    for row in found:
        if row.state != "done" or row.turn is None:
            whole.problem(f"the question {row.message} ended as {row.state}, with answer {row.turn}")
    for message, posts in whole.posts.items():
        # Shown again after a crash, it is the same answer of the same turn, but for what was forgotten meanwhile.
        if len({turn for turn, _ in posts}) > 1 or len([text for _, text in posts if WITHDRAWN.en not in text]) > 1:
            whole.problem(f"{message} was answered with {posts}")
    if len(set(voted)) != len(voted):
        whole.problem("somebody has voted twice on an answer")
    if twice := [end for end, count in whole.digests.items() if count > 1]:
        whole.problem(f"digests that came twice: {twice}")
    index = await ServerIndex.open(
        qdrant,
        KEY,
        dimensions=EMBEDDERS["newer"],
        embedder=f"openai:newer@{EMBEDDERS['newer']}",
        tokenizer=TOKENIZER,
        process="check",
    )
    rows = await Documents(engine, "").listed()
    generation = max((row.born for row in rows), default=0)
    shown: Counter[str] = Counter()
    offset: str | None = None
    while True:
        passages, offset = await index.scroll(View(_READERS, 2**40), offset=offset, limit=500)
        shown.update(passage.document_id for passage in passages)
        if offset is None:
            break
    if shown != Counter({row.id: row.chunks for row in rows}):
        whole.problem(f"the index shows other passages than the {len(rows)} documents have (generation {generation})")
    await index.unstage()  # of the dead, whose leases are not waited for
    everything = await index.count(View(_READERS, STAGED))
    if everything != sum(row.chunks for row in rows):
        whole.problem(f"{everything - sum(row.chunks for row in rows)} passages are left over")
    await index.close()
    await engine.dispose()
