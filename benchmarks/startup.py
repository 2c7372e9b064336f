"""How soon a fresh process answers, and how much memory it holds: the real command, on homes of several sizes.

    python -m benchmarks.startup [--corpus FOLDER ...] [--sizes 1000,50000] [--runs 3]

`kotae ask` is started anew for each run: its first step shows that it is ready, its last line is the answer. `kotae
run`, with no platform but the browser, is left alone until it waits for a question; then its memory is read, again
after a few answers, which `kotae ask` has it give, and once a browser has opened a page."""

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil  # type: ignore[import-untyped]

from benchmarks.homes import Texts, furnish

KOTAE = Path(sys.executable).with_name("kotae")
STILL = 1.5  # seconds without work to speak of: it waits
WORK = 0.05  # seconds of processor time: of looking for what is due
PATIENCE = 60.0
MORE = 5  # questions after the first
ANSWER_LIMIT, ANSWER_AIM = 8.0, 3.0  # seconds
IDLE_LIMIT, EMBEDDER_LIMIT, LARGE_LIMIT, LARGE_AIM = 200, 700, 1800, 1200  # MB
LARGE = 50_000  # chunks


@dataclass(frozen=True, slots=True)
class Asked:
    """One `kotae ask`, in seconds from the start of its process."""

    ready: float
    answered: float
    ended: float


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident MB of one `kotae run` and its children."""

    idle: float
    first: float
    later: float
    page: float


def ask(home: Path, question: str) -> Asked:
    began = time.perf_counter()
    with _kotae(home, "ask", "--json", "--", question) as process:
        times = []
        for line in _lines(process):
            times.append(time.perf_counter() - began)
            last = json.loads(line)
        process.wait()
    if last["type"] != "answer" or last["outcome"] == "failed":
        raise RuntimeError(f"kotae ask did not answer: {last}")
    return Asked(times[0], times[-1], time.perf_counter() - began)


def served(home: Path, questions: Sequence[str]) -> Memory:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with _kotae(home, "run", KOTAE_WEB_PORT=str(port)) as process:
        running = psutil.Process(process.pid)
        _wait_until_still(running)
        idle = _resident(running)
        after = []
        for question in questions:
            ask(home, question)
            after.append(_resident(running))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/app/", timeout=PATIENCE) as page:
            page.read()
        opened = _resident(running)
        process.terminate()
    return Memory(idle, after[0], after[-1], opened)


@contextmanager
def _kotae(home: Path, *arguments: str, **more: str) -> Iterator["subprocess.Popen[str]"]:
    """The command in a home of its own, with no setting of this environment's; its standard input stays empty."""
    ours = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LD_LIBRARY_PATH", "TMPDIR")}
    process = subprocess.Popen(
        [KOTAE, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        cwd=home,
        env={**ours, "KOTAE_HOME": str(home), "KOTAE_MODEL": "extractive", "LANG": "C.UTF-8", **more},
    )
    try:
        yield process
    finally:
        assert process.stdin
        process.stdin.close()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _lines(process: "subprocess.Popen[str]") -> IO[str]:
    assert process.stdout
    return process.stdout


def _wait_until_still(running: psutil.Process) -> None:
    """Until the process has used no processor time to speak of for a while: it waits for its first question."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        before = _worked(running)
        time.sleep(STILL)
        if before and _worked(running) - before < WORK:
            return
    raise RuntimeError("kotae run does not come to rest")


def _worked(running: psutil.Process) -> float:
    times = running.cpu_times()
    return float(times.user + times.system)


def _resident(running: psutil.Process) -> float:
    family = [running, *running.children(recursive=True)]
    return sum(float(one.memory_info().rss) for one in family) / 2**20


# -- the table ------------------------------------------------------------------------------------------------------


def run(folders: Sequence[Path], sizes: Sequence[int], runs: int, unique: int) -> None:
    texts = Texts(folders, unique)
    rows: list[tuple[str, str, str, str]] = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            asyncio.run(furnish(home, texts, size))
            questions = [texts.questions(n, size)[0].text for n in range(max(runs, 1 + MORE))]
            asked = [ask(home, question) for question in questions[:runs]]
            memory = served(home, questions[: 1 + MORE])
        seconds = {
            name: statistics.median(getattr(one, name) for one in asked) for name in ("ready", "answered", "ended")
        }
        at = f"{size:,} chunks"
        large = size >= LARGE
        limit, aim = (f"{LARGE_LIMIT:,}", f"{LARGE_AIM:,}") if large else (f"{EMBEDDER_LIMIT}", "")
        rows += [
            (f"{at}: start to first step, s", f"{seconds['ready']:.1f}", "", ""),
            (f"{at}: start to first answer, s", f"{seconds['answered']:.1f}", f"{ANSWER_LIMIT:g}", f"{ANSWER_AIM:g}"),
            (f"{at}: start to end of process, s", f"{seconds['ended']:.1f}", "", ""),
            (
                f"{at}: memory before the first question, MB",
                f"{memory.idle:.0f}",
                limit if large else str(IDLE_LIMIT),
                aim,
            ),
            (f"{at}: memory after the first answer, MB", f"{memory.first:.0f}", limit, aim),
            (f"{at}: memory after {1 + MORE} answers, MB", f"{memory.later:.0f}", limit, aim),
            (f"{at}: memory with a page open, MB", f"{memory.page:.0f}", limit, aim),
        ]
    print(f"`kotae ask` started {runs} times at each size, medians; memory of `kotae run`.\n")
    print("| what | measured | limit | aim |\n|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--corpus", type=Path, action="append", default=[], help="a folder in BEIR's layout")
    options.add_argument("--sizes", help="chunks, by default 1000,50000 with a corpus and 1000 without")
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--unique", type=int, default=600, help="pieces of text embedded once")
    chosen = options.parse_args()
    sizes = chosen.sizes or ("1000,50000" if chosen.corpus else "1000")
    run(chosen.corpus, [int(size) for size in sizes.split(",")], chosen.runs, chosen.unique)


if __name__ == "__main__":
    main()
