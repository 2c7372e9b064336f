"""One of several processes on one database and one index: `python -m tests.crash.machine_life HOME SETTINGS` does what it is
told on standard input, a JSON object a line, all at the same time, and answers with its `id` on standard output.
"""

import asyncio
import io
import json
import os
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from agent.events import Answered
from bot.app import Application, running
from bot.errors import StoreError
from bot.logs import Redactor
from bot.records import Period
from bot.types import Audience, Feedback, Incoming, Place, Upload
from retrieval.types import TEAM, RAGToolError, Readers, View
from tests.bot.program import told
from tests.bot.sample_turns import settings

READERS = Readers(frozenset({TEAM}))
PLACE = Place("slack", "T", "C")
PUBLIC = Audience("public")

Said = dict[str, Any]


def say(**said: Any) -> None:
    os.write(1, (json.dumps(said, ensure_ascii=False) + "\n").encode())


class Life:
    """What it can be told."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def ask(self, *, thread: str, message: str, text: str) -> Said:
        """As a platform delivers it, perhaps to another process as well."""
        return await self._answered(Incoming(PLACE, thread, message, "U", text, PUBLIC))

    async def resume(self) -> Said:
        """What others left open, as a platform's adapter does at its start and every few seconds."""
        open_ones = await self._app.bot.turns.unfinished(PLACE.platform)
        return {"resumed": await asyncio.gather(*map(self._answered, open_ones))}

    async def _answered(self, message: Incoming) -> Said:
        claimed = await self._app.bot.turns.claim(message)
        if claimed is None:
            return {"message": message.message, "taken": True}
        say(acknowledged=message.message)
        async for event in self._app.bot.turns.run(claimed):
            if isinstance(event, Answered):
                say(posted=message.message, turn=event.turn, text=event.text)
        return {"message": message.message}

    async def add(self, *, name: str, collection: str, text: str) -> Said:
        verdict = await self._app.knowledge.add(Upload(name, text.encode(), collection, TEAM, "U"), "en")
        return {"status": verdict.status, "why": verdict.reason}

    async def forget(self, *, name: str) -> Said:
        rows = [row for row in await self._app.knowledge.documents(READERS) if row.name == name]
        return {"forgotten": [await self._app.knowledge.forget(row.id) for row in rows]}

    async def merge(self, *, source: str, into: str) -> Said:
        return {"moved": await self._app.knowledge.stored.merge(source, into, READERS)}

    async def shown(self) -> Said:
        """Document → collection and editions of its passages, as the index shows them to whoever asks now; of one
        generation, so that no change in between makes it look wrong."""
        view = View(READERS, await self._app.knowledge.generation())
        found: dict[str, list[tuple[str, str]]] = {}
        offset: str | None = None
        while True:
            passages, offset = await self._app.index.scroll(view, offset=offset, limit=500)
            for passage in passages:
                found.setdefault(passage.document, []).append((passage.collection, edition_of(passage.text)))
            if offset is None:
                return {"shown": found}

    async def search(self, *, query: str, collection: str) -> Said:
        found = await self._app.knowledge.search(query, READERS, (collection,), limit=50, min_relevance=0.0)
        return {"found": sorted({hit.passage.document for hit in found.hits})}

    async def stacks(self) -> Said:
        """Where each task stands."""
        told = io.StringIO()
        for task in asyncio.all_tasks():
            task.print_stack(file=told)
        return {"stacks": told.getvalue()}

    async def vote(self, *, turn: str, author: str) -> Said:
        return {"kept": await self._app.bot.turns.vote(Feedback(turn, author, "down", "outdated"))}

    async def digest(self) -> Said:
        async def announce(period: Period) -> None:
            say(digest=period.until.isoformat())

        return {"sent": await self._app.clock(announce).post()}


def edition_of(text: str) -> str:
    return next((word for word in text.split() if word.startswith("edition")), "")


async def main(home: str, given: Mapping[str, Any]) -> None:
    lines = await told()
    async with running(settings(Path(home), **given), Redactor()) as app:
        life, doing = Life(app), set[asyncio.Task[None]]()
        say(ready=True)
        while line := await lines.readline():
            asked = json.loads(line)
            task = asyncio.ensure_future(_done(getattr(life, asked.pop("do")), asked.pop("id"), asked))
            doing.add(task)
            task.add_done_callback(doing.discard)
        await asyncio.gather(*doing)


async def _done(work: Callable[..., Awaitable[Said]], number: int, asked: Said) -> None:
    try:
        say(id=number, **await work(**asked))
    except (StoreError, RAGToolError) as error:  # said to whoever asked; nothing was done
        say(id=number, failed=error.text("en"))
    except Exception:
        say(id=number, broke=traceback.format_exc())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
