"""How soon a fresh process answers, and how much memory it holds: the real command, on homes of several sizes.

    python -m benchmarks.startup [--corpus FOLDER ...] [--sizes 1000,50000] [--runs 3]

`kotae ask` is started anew for each run: its first step shows that it is ready, its last line is the answer. `kotae
chat` is left alone until it waits for a question; then its memory is read, and again after a few answers.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil  # type: ignore[import-untyped]

from benchmarks.homes import Texts, furnish

KOTAE = Path(sys.executable).with_name("kotae")
STILL = 1.5  # seconds without work of its own: it waits
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
    """Resident MB of one `kotae chat` and its children."""

    idle: float
    first: float
    later: float


def ask(home: Path, question: str) -> Asked:
    began = time.perf_counter()
    with _kotae(home, "ask", question, "--json") as process:
        times = []
        for line in _lines(process):
            times.append(time.perf_counter() - began)
            last = json.loads(line)
        process.wait()
    if last["type"] != "answer" or last["outcome"] == "failed":
        raise RuntimeError(f"kotae ask did not answer: {last}")
    return Asked(times[0], times[-1], time.perf_counter() - began)


def chat(home: Path, questions: Sequence[str]) -> Memory:
    with _kotae(home, "chat", "--json"):
        pass  # whatever a first start does to a home is done: what is measured is a later one
    with _kotae(home, "chat", "--json") as process:
        running = psutil.Process(process.pid)
        _wait_until_still(running)
        idle = _resident(running)
        after = [_answer(process, running, question) for question in questions]
    return Memory(idle, after[0], after[-1])


def _answer(process: "subprocess.Popen[str]", running: psutil.Process, question: str) -> float:
    """Resident MB once the question is answered."""
    assert process.stdin
    process.stdin.write(question + "\n")
    process.stdin.flush()
    for line in _lines(process):
        if json.loads(line)["type"] == "answer":
            return _resident(running)
    raise RuntimeError("kotae chat ended without an answer")


@contextmanager
def _kotae(home: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """The command in a home of its own, with no setting of this environment's."""
    ours = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LD_LIBRARY_PATH", "TMPDIR")}
    process = subprocess.Popen(
        [KOTAE, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        cwd=home,
        env={**ours, "KOTAE_HOME": str(home), "KOTAE_MODEL": "extractive", "LANG": "C.UTF-8"},
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
        if before and _worked(running) - before < 0.02:
            return
    raise RuntimeError("kotae chat does not come to rest")


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
            memory = chat(home, questions[: 1 + MORE])
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
        ]
    print(f"`kotae ask` started {runs} times at each size, medians; memory of `kotae chat`.\n")
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
