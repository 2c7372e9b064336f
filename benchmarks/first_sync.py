"""The first sync of a large repository beside the bare embedder on the same chunks, and a sync with nothing new.

    python -m benchmarks.first_sync REPOSITORY [--folder pages] [--pages 600] [--quiet-pages 4686]

REPOSITORY is a clone, bare or not, of which the first PAGES pages below the folder are followed through the git source with
the embedder that is set; the bare embedder is asked for every fourth batch of their chunks. On a machine with other work
the processor time of this process tells more than the clock. The syncs with nothing new are of a repository and a folder
of QUIET_PAGES tiny pages, noted as read. Limit: 2 s for each.
"""

import argparse
import asyncio
import logging
import tempfile
import time
from pathlib import Path

from benchmarks.living import HOME, History
from benchmarks.source_faults import alive
from bot.app import running
from bot.logs import Redactor
from bot.sources.sources import NewSource
from bot.store.followed import FollowedPage, FollowedSources
from retrieval.chunking import embedding_text
from retrieval.types import Chunk
from tests.bot.library import READERS
from tests.bot.sample_turns import settings
from tests.bot.sources.conftest import EDITOR, Tree

BATCH = 64


async def first(repository: Path, folder: str, pages: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        history = History(repository, folder, Path(scratch) / "replay.git", 0, pages=pages)
        history.go(history.commits[-1])
        async with running(settings(Path(scratch) / "home"), Redactor()) as app:
            await app.warm()
            new = NewSource("git", str(history.at), name="replay", branch="replay", folder=folder)
            await app.sources.add(HOME, new)
            begun, worked = time.monotonic(), time.process_time()
            report = await app.sources.sync(HOME, "replay", app.readers)
            whole, work = time.monotonic() - begun, time.process_time() - worked
            texts = [
                embedding_text(one.title, Chunk(one.chunk, one.text, one.headings, one.question))
                for row in await app.data.documents.listed()
                async for one, _ in app.index.vectors(row.id)
            ]
            sample = [text for start in range(0, len(texts), 4 * BATCH) for text in texts[start : start + BATCH]]
            begun, worked = time.monotonic(), time.process_time()
            for start in range(0, len(sample), BATCH):
                await app.embedder.embed_documents(sample[start : start + BATCH])
            share = len(texts) / len(sample)
            bare, alone = share * (time.monotonic() - begun), share * (time.process_time() - worked)
            begun = time.monotonic()
            await app.sources.sync(HOME, "replay", app.readers)
            again = time.monotonic() - begun
    print(f"first sync: {report.pages} pages, {len(texts)} chunks, {len(report.refused)} pages are no documents")
    print("| | clock | processor |\n|---|---|---|")
    print(f"| first sync | {whole:.0f} s | {work:.0f} s |\n| the bare embedder | {bare:.0f} s | {alone:.0f} s |")
    print(f"| ratio | {bare / whole:.2f} | {alone / work:.2f} |\n\nnothing new: {again:.2f} s", flush=True)


async def quiet(pages: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        for kind in ("git", "folder"):
            tree = Tree(Path(scratch) / kind, kind)
            for number in range(pages):
                file = tree.path / f"part{number % 97}" / f"page{number}.md"
                file.parent.mkdir(exist_ok=True)
                file.write_text(f"# Page {number}\n\nPier {number} is open.\n")
            tree.commit()
            async with alive(Path(scratch) / f"home-{kind}", "me") as life:
                source = await life.sources.add(EDITOR, NewSource(kind, str(tree.path), name=kind))
                store = FollowedSources(life.library.engine)
                async with (await life.sources._made(source)).look(None, {}) as listing:
                    assert listing is not None
                    for ref, page in listing.pages.items():
                        await store.note(source.id, ref, FollowedPage(page.version))
                seconds = []
                for _ in range(3):
                    begun = time.monotonic()
                    report = await life.sources.sync(EDITOR, kind, READERS)
                    seconds.append(time.monotonic() - begun)
            assert (report.pages, report.added, report.removed) == (pages, 0, 0)
            print(
                f"nothing new, {kind} of {pages} pages: {seconds[0]:.2f} s, then {min(seconds[1:]):.2f} s; limit 2 s",
                flush=True,
            )


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("repository", type=Path)
    given.add_argument("--folder", default="")
    given.add_argument("--pages", type=int, default=600)
    given.add_argument("--quiet-pages", type=int, default=4_686)
    options = given.parse_args()
    logging.disable(logging.CRITICAL)
    asyncio.run(quiet(options.quiet_pages))
    asyncio.run(first(options.repository, options.folder, options.pages))


if __name__ == "__main__":
    main()
