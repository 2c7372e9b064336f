"""LLM06: files made to exhaust their reader are refused in words, and the bot goes on answering meanwhile.

Reliability.md R36–R38 through the whole application; what each reader refuses is in tests/retrieval.
"""

import asyncio
import resource
import time
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from bot.types import Upload
from retrieval.loaders.limits import MIB, REASONS, ParsingLimits
from retrieval.loaders.loader import Loader
from retrieval.types import TEAM, UnreadableError
from tests.hostile.stage import check_contained, stage
from tests.retrieval.loaders.test_archives import BOMBS
from tests.retrieval.loaders.test_worker import SLOW

FILES: dict[str, bytes] = {
    **{f"{bomb.__name__}.docx": bomb() for bomb, _ in BOMBS},
    "deep.json": b"[" * 100_000 + b"]" * 100_000,
    "long-line.jsonl": b'{"a": "' + b"x" * (MIB + 1) + b'"}\n{"a": "b"}',
    "many-rows.csv": b"a,b\n" + b"1,2\n" * 100_001,
    "much-text.txt": b"text " * (MIB + 1),
    "large.pdf": b"%PDF-1.7\n" + bytes(25 * MIB),
    "broken.pdf": b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 1 0 R >>\nendobj\ntrailer << /Root 1 0 R >>",
    "login.docx": b"<!doctype html><html><body>Sign in</body></html>",
    "empty.md": b"\xe2\x80\x8b" * 100,
    "noise.txt": bytes(range(256)) * 64,
}
LONGEST = 2.0
"""Seconds of its own time that the loop may spend on one thing here. Reading one of these files in it would take tens
of them; how short its stalls are is measured by `benchmarks/loop.py`."""


async def test_llm06_bombs_are_refused_while_questions_are_answered(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        page = "# 鍵\n\n倉庫の鍵は総務が保管します。\n".encode()
        await made.add("鍵.md", page)
        made.servant.wanted = "鍵"
        await made.ask("倉庫の鍵は？")
        longest, here, over = 0.0, psutil.Process(), asyncio.Event()
        before = here.memory_info().rss

        async def watch() -> None:
            """In processor time of this thread: a busy machine is not our doing."""
            nonlocal longest
            last = time.thread_time()
            while not over.is_set():
                await asyncio.sleep(0.001)
                now = time.thread_time()
                longest, last = max(longest, now - last), now

        async def keep_asking() -> int:
            asked = 0
            while not over.is_set():
                run = await made.ask(f"倉庫の鍵は？ {asked}")
                check_contained(run)
                assert run.answered.outcome == "answered"
                asked += 1
            return asked

        watcher, asking = asyncio.create_task(watch()), asyncio.create_task(keep_asking())
        uploads = [Upload(name, data, "docs", TEAM, "U1") for name, data in FILES.items()]
        verdicts = await asyncio.gather(*(made.app.bot.ingestion.add(upload) for upload in uploads))
        over.set()
        assert await asking
        await watcher
        for verdict in verdicts:
            assert verdict.status == "refused" and verdict.reason, verdict
        assert longest <= LONGEST
        assert here.memory_info().rss - before <= 64 * MIB
        assert [row.name for row in await made.app.data.documents.listed()] == ["鍵.md"]
        assert (await made.add("次.md", page.replace("鍵".encode(), "箱".encode()))).status == "added"


@pytest.mark.parametrize(
    "limits", [ParsingLimits(cpu=1, wall=30), ParsingLimits(cpu=30, wall=1)], ids=["processor", "wall"]
)
async def test_llm06_a_slow_file_costs_what_it_may_and_no_more(limits: ParsingLimits) -> None:
    """Either limit ends it; what was spent tells which one did not."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = spent()
    async with Loader(limits) as loader:
        with pytest.raises(UnreadableError) as caught:
            await loader.load("slow.md", SLOW)
    assert caught.value.reason == REASONS["time"]
    assert spent() - before < 8
