"""No file harms the bot or the next file: it is parsed by a process with limits that can be killed."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from retrieval.loaders.limits import MIB, REASONS
from retrieval.loaders.loader import Loader, ParsingLimits
from retrieval.types import UnreadableError


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]


async def a_child_besides(before: set[int]) -> psutil.Process:
    async with asyncio.timeout(30):
        while True:
            for child in children():
                if child.pid not in before:
                    return child
            await asyncio.sleep(0)


def pids() -> set[int]:
    return {child.pid for child in children()}


def mode(folder: str) -> int | None:
    return Path(folder).stat().st_mode & 0o777 if Path(folder).exists() else None


async def refusal(loader: Loader, name: str, data: bytes) -> str:
    with pytest.raises(UnreadableError) as caught:
        await loader.load(name, data)
    return next(key for key, said in REASONS.items() if said == caught.value.reason)


SLOW = b"<table>" * 200_000  # unclosed tags that a regular expression tries from each
HUNGRY = b"[" + b"[1]," * 400_000 + b"[1]]"


async def test_a_killed_parser_is_that_file_alone() -> None:
    async with Loader() as loader:
        before = pids()
        reading = asyncio.create_task(loader.load("slow.md", SLOW))
        (await a_child_besides(before)).kill()
        with pytest.raises(UnreadableError) as caught:
            await reading
        assert caught.value.reason == REASONS["crash"]
        assert (await loader.load("next.txt", b"next")).markdown == "next"


async def test_time_and_memory_are_bounded() -> None:
    async with Loader(ParsingLimits(cpu=1)) as loader:
        assert await refusal(loader, "slow.md", SLOW) == "time"
        assert (await loader.load("next.txt", b"next")).markdown == "next"
    async with Loader(ParsingLimits(wall=0.01)) as loader:
        assert await refusal(loader, "slow.md", SLOW) == "time"


@pytest.mark.skipif(sys.platform != "linux", reason="macOS does not bound address space")
async def test_memory_is_bounded() -> None:
    async with Loader(ParsingLimits(memory=24 * MIB, rows=10**9)) as loader:
        assert await refusal(loader, "hungry.json", HUNGRY) == "memory"
        assert (await loader.load("next.txt", b"next")).markdown == "next"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_the_parser_knows_no_secrets_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-canary")
    before = pids()
    async with Loader() as loader:
        await loader.load("a.txt", b"text")
        child = await a_child_besides(before)
        assert "canary" not in "".join(child.environ().values())
        folder = child.cwd()
        assert mode(folder) == 0o700
        assert os.getpgid(child.pid) == child.pid
        assert child.rlimit(psutil.RLIMIT_CORE) == (0, 0)
        assert child.rlimit(psutil.RLIMIT_NOFILE) == (128, 128)
    assert not child.is_running() and mode(folder) is None


def test_the_parser_has_no_network_and_starts_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = (
            "import socket, subprocess, sys\n"
            "from retrieval.loaders.worker import confine\n"
            "confine()\n"
            "for attempt in (lambda: socket.create_connection(('127.0.0.1', int(sys.argv[1]))),\n"
            "                lambda: socket.getaddrinfo('localhost', 80), lambda: subprocess.run(['true'])):\n"
            "    try:\n"
            "        attempt()\n"
            "    except OSError as error:\n"
            "        print(type(error).__name__)\n"
        )
        port = str(server.getsockname()[1])
        done = subprocess.run([sys.executable, "-c", script, port], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["PermissionError"] * 3


@pytest.mark.parametrize(
    ("suffix", "needed"),
    [
        (".md", set()),
        (".html", {"bs4"}),
        (".docx", {"bs4", "mammoth"}),
        (".pptx", {"bs4", "pptx"}),
        (".xlsx", {"openpyxl"}),
        (".pdf", {"pdfplumber", "pdfminer"}),
    ],
)
def test_a_parser_imports_the_libraries_of_its_files_alone(suffix: str, needed: set[str]) -> None:
    script = "import sys\nfrom retrieval.loaders.worker import reader_of\nreader_of(sys.argv[1])\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script, suffix], capture_output=True, text=True, check=True)
    heavy = {
        "bs4",
        "mammoth",
        "pptx",
        "openpyxl",
        "pdfplumber",
        "pdfminer",
        "magika",
        "onnxruntime",
        "requests",
        "pandas",
    }
    assert heavy.intersection(done.stdout.split()) == needed


async def test_parsers_are_recycled_and_two_work_at_once() -> None:
    async with Loader(ParsingLimits(files_per_child=2)) as loader:
        before = pids()
        for _ in range(2):
            await loader.load("a.txt", b"first")
            (used,) = pids() - before
            await loader.load("a.txt", b"last")
            assert used not in pids()
        texts = await asyncio.gather(*(loader.load(f"{n}.txt", f"text {n}".encode()) for n in range(6)))
        assert [document.markdown for document in texts] == [f"text {n}" for n in range(6)]


async def test_a_cancelled_file_leaves_no_parser_behind() -> None:
    async with Loader() as loader:
        before = pids()
        reading = asyncio.create_task(loader.load("slow.md", SLOW))
        await a_child_besides(before)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert not pids() - before
        assert (await loader.load("next.txt", b"next")).markdown == "next"


async def test_the_event_loop_goes_on_meanwhile() -> None:
    longest, turns = 0.0, 0

    async def watch() -> None:
        nonlocal longest, turns
        last = time.thread_time()  # the loop's own: the machine may be busy with others
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            longest, turns, last = max(longest, now - last), turns + 1, now

    async with Loader() as loader:
        watcher = asyncio.create_task(watch())
        start = time.perf_counter()
        await loader.load("a.txt", "日本語の文章。\n".encode() * 200_000)
        whole = time.perf_counter() - start
        watcher.cancel()
    assert longest < whole / 2 and turns > 100


async def test_a_closed_loader_says_so() -> None:
    loader = Loader()
    await loader.close()
    with pytest.raises(RuntimeError):
        await loader.load("a.txt", b"text")
