"""Lives of a process that ends by SIGKILL at a chosen moment: `python -m tests.crash.life` reads one a line (JSON) from
standard input, forks, and says how each ended. What a life acknowledges, posts and finds it writes as JSON lines.

Everything is loaded once, before the forks, so that a life costs what it does and not its imports.
"""

import asyncio
import importlib
import itertools
import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from agent.events import Answered, Drafted, Event, Reflected, Thought, ToolCalled, ToolReturned
from bot.app import Application, running
from bot.logs import Redactor
from bot.records import DocumentRow
from bot.store.documents import Documents
from bot.types import Audience, Incoming, Place, Upload
from retrieval.index import EdgeIndex
from retrieval.index.payload import STAGED
from retrieval.loaders.loader import Loader
from retrieval.types import TEAM, Document, Point, Probe, View
from tests.bot.library import READERS, SPARSE, Library, opened
from tests.bot.sample_turns import settings
from tests.fakes.openai import KEY
from tests.retrieval.test_ingest import HashEmbedder

TURN_POINTS = ("claimed", "thought", "called", "returned", "drafted", "reflected", "stored", "posted", "shown")
INGEST_POINTS = ("writing", "written", "publishing", "published", "committing", "committed", "swept")
FORGET_POINTS = ("retiring", "retired", "forgetting", "forgotten", "swept")

PLACE = Place("slack", "T", "C")
SECTIONS = 4
_STEPS: dict[type[Event], str] = {
    Thought: "thought",
    ToolCalled: "called",
    ToolReturned: "returned",
    Drafted: "drafted",
    Reflected: "reflected",
}


@dataclass(frozen=True, slots=True)
class Life:
    """`kind`: turn, ingest, forget, or mixed, which is killed after `seconds` (None: it lives to its end)."""

    kind: str
    home: str
    number: int
    point: str = ""
    url: str = ""
    seconds: float | None = None
    seed: int = 0


def say(**said: Any) -> None:
    os.write(1, (json.dumps(said, ensure_ascii=False) + "\n").encode())


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


# -- questions ------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def application(life: Life) -> AsyncIterator[Application]:
    given = {
        "KOTAE_EMBEDDER": "openai:hash",
        "OPENAI_BASE_URL": life.url,
        "OPENAI_API_KEY": KEY,
        "KOTAE_MIN_RELEVANCE": 0,
        "KOTAE_USER_PER_MINUTE": 0,  # these people ask fast
        "KOTAE_CHANNEL_PER_MINUTE": 0,
    }
    async with running(settings(Path(life.home), **given), Redactor()) as app:
        yield app


def asked(life: Life, number: int) -> Incoming:
    name = f"{life.number}-{number}"
    return Incoming(PLACE, f"t{number % 2}", name, "U", f"倉庫{number % 3}の鍵はどこにありますか？", Audience("public"))


async def answer(app: Application, message: Incoming, point: str = "") -> None:
    """What a platform's adapter does: claim, acknowledge, run, post."""
    claimed = await app.bot.turns.claim(message)
    if claimed is None:
        return
    say(acknowledged=message.message)
    if point == "claimed":
        die()
    async for event in app.bot.turns.run(claimed):
        if isinstance(event, Answered):
            if point == "stored":
                die()
            say(posted=message.message, turn=event.turn, text=event.text, outcome=event.outcome)
            if point == "posted":
                die()
        elif _STEPS[type(event)] == point:
            die()
    if point == "shown":
        die()


async def questions(life: Life) -> None:
    async with application(life) as app:
        if not await app.data.documents.listed():
            for number in range(3):
                page = f"# 倉庫{number}\n\n倉庫{number}の鍵は{number + 1}階の棚にあります。\n".encode()
                await app.knowledge.add(Upload(f"倉庫{number}.md", page, "docs", TEAM, "U"), "ja")
        for message in await app.bot.turns.unfinished(PLACE.platform):
            await answer(app, message)
        await answer(app, asked(life, 0))
        if life.point:
            await asyncio.gather(answer(app, asked(life, 1), life.point), answer(app, asked(life, 2)))


# -- documents ------------------------------------------------------------------------------------------------------


class PlainLoader(Loader):
    """Reads in this process: what dies here is not a parser."""

    async def load(self, name: str, data: bytes) -> Document:
        return Document(name, data.decode(), name)


class Doomed:
    """The moment at which this process dies, once it is armed."""

    def __init__(self, point: str) -> None:
        self.point = point
        self.armed = False

    def __call__(self, moment: str) -> None:
        if self.armed and moment == self.point:
            die()


def doomed_index(doom: Doomed) -> type[EdgeIndex]:
    class Index(EdgeIndex):
        async def put(self, points: Sequence[Point]) -> None:
            await super().put(points[: len(points) // 2])
            doom("writing")
            await super().put(points[len(points) // 2 :])
            doom("written")

        async def publish(self, document_id: str, *, at: int) -> int:
            doom("publishing")
            published = await super().publish(document_id, at=at)
            doom("published")
            return published

        async def retire(self, document_id: str, *, died: int) -> None:
            doom("retiring")
            await super().retire(document_id, died=died)
            doom("retired")

        async def sweep(self, generation: int) -> int:
            swept = await super().sweep(generation)
            doom("swept")
            return swept

    return Index


def doomed_documents(doom: Doomed) -> type[Documents]:
    class Rows(Documents):
        async def commit(self, row: DocumentRow, *, generation: int, markdown: str | None = None) -> None:
            doom("committing")
            await super().commit(row, generation=generation, markdown=markdown)
            doom("committed")

        async def forget(
            self, *document_ids: str, generation: int, copied: bool = False, at_source: bool = False
        ) -> int:
            doom("forgetting")
            forgotten = await super().forget(*document_ids, generation=generation, copied=copied, at_source=at_source)
            doom("forgotten")
            return forgotten

    return Rows


def edition(number: int) -> str:
    """A document of several passages that all name their edition."""
    body = (
        f"# Part {part}\n\n" + " ".join(f"Harbour rule {part}.{n} of edition{number} binds ships." for n in range(30))
        for part in range(SECTIONS)
    )
    return "\n\n".join(body)


async def found(library: Library) -> dict[str, list[str]]:
    """The editions that each branch alone shows, one a passage."""
    words, ngrams = SPARSE.query("harbour rule edition")
    view = View(READERS, await library.knowledge.generation())
    branches = {
        "dense": Probe([1.0] * HashEmbedder.dimensions),
        "words": Probe(words=words),
        "ngrams": Probe(ngrams=ngrams),
    }
    answers = await library.index.query(view, *branches.values())
    seen: dict[str, list[str]] = {}
    for name, candidates in zip(branches, answers, strict=True):
        (ranked,) = candidates.branches.values()
        texts = (await library.index.fetch([one.id for one in ranked], view)).values()
        seen[name] = sorted(_edition_of(each.passage.text) for each in texts)
    return seen


def _edition_of(text: str) -> str:
    return next((word for word in text.split() if word.startswith("edition")), "")


async def documents(life: Life) -> None:
    doom = Doomed(life.point)
    made = opened(
        Path(life.home), index_class=doomed_index(doom), documents=doomed_documents(doom), loader=PlainLoader()
    )
    async with made as library:
        rows = {row.name: row for row in await library.documents.listed()}
        points = await library.points()
        say(
            found=await found(library),
            rows={name: row.chunks for name, row in rows.items()},
            orphans=points - sum(row.chunks for row in rows.values()),
            kept=len(library.kept()),
        )
        if life.kind == "forget":
            if "plan.md" not in rows:
                await library.add("plan.md", edition(life.number))
                say(committed=f"edition{life.number}")
                rows = {row.name: row for row in await library.documents.listed()}
            say(forgetting=True)
            doom.armed = True
            await library.knowledge.forget(rows["plan.md"].id)
        else:
            say(replacing=f"edition{life.number}")
            doom.armed = True
            await library.add("plan.md", edition(life.number))


# -- all of it at once, killed at any time --------------------------------------------------------------------------


async def everything(life: Life) -> None:
    """The whole application: questions, replacements and a look at what is found, until it is killed."""
    chance = random.Random(life.seed)
    if life.seconds is not None:
        threading.Thread(target=_end_after, args=(life.seconds,), daemon=True).start()
    async with application(life) as app:
        listed = await app.data.documents.listed()
        rows = {row.name: row.chunks for row in listed}
        earlier = {*await app.data.documents.kept()} - {row.markdown for row in listed}  # answers are held against it
        await app.index.sweep(await app.knowledge.generation())
        points = await app.index.count(View(READERS, STAGED))  # staged ones too
        shown, _ = await app.index.scroll(View(READERS, await app.knowledge.generation()))
        kept = [path for path in (Path(life.home) / "documents").glob("??/*") if path.stem not in earlier]
        say(
            found={"scroll": [_edition_of(passage.text) for passage in shown]},
            rows=rows,
            orphans=points - sum(rows.values()),
            kept=len(kept),
        )
        for message in await app.bot.turns.unfinished(PLACE.platform):
            await answer(app, message)
        if life.seconds is None:
            return
        await asyncio.gather(_replace_for_ever(app, life), *(_ask_for_ever(app, life, n, chance) for n in range(2)))


def _end_after(seconds: float) -> None:
    time.sleep(seconds)
    die()


async def _replace_for_ever(app: Application, life: Life) -> None:
    for number in itertools.count(life.number * 1000):
        say(replacing=f"edition{number}")
        upload = Upload("plan.md", edition(number).encode(), "docs", TEAM, "U")
        verdict = await app.knowledge.add(upload, "en")
        assert verdict.status in ("added", "replaced"), verdict
        say(committed=f"edition{number}")


async def _ask_for_ever(app: Application, life: Life, thread: int, chance: random.Random) -> None:
    for number in itertools.count(thread, 2):
        await answer(app, asked(life, number))
        await asyncio.sleep(chance.random() / 100)


KINDS: dict[str, Callable[[Life], Any]] = {
    "turn": questions,
    "ingest": documents,
    "forget": documents,
    "mixed": everything,
}


def main() -> None:
    for late in ("retrieval.embeddings.openai", "httpx2._transports.default", "anyio._backends._asyncio", "h11", "h2"):
        importlib.import_module(late)
    SPARSE.terms("辞書 dictionary")
    for line in sys.stdin:
        life = Life(**json.loads(line))
        child = os.fork()
        if not child:
            status = 1
            try:
                Path(life.home).mkdir(exist_ok=True)
                asyncio.run(KINDS[life.kind](life))
                status = 0
            finally:
                sys.stderr.flush()
                os._exit(status)
        _, ended = os.waitpid(child, 0)
        say(ended=os.waitstatus_to_exitcode(ended), life=asdict(life))


if __name__ == "__main__":
    main()
