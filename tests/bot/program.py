"""The `kotae` command as people run it: a real process with next to nothing in its environment."""

import asyncio
import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from subprocess import DEVNULL, PIPE
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import IO, Any, Self

ROOT = Path(__file__).parents[2]
PYTHON = [sys.executable, "-W", "error"]
PROGRAM = [*PYTHON, "-m", "bot"]
# discord.py still imports `audioop`, which Python 3.13 has no more, and calls what 3.14 calls deprecated
_OF_DISCORD = ("'audioop' is deprecated", "'asyncio.iscoroutinefunction' is deprecated")
_IGNORED = [option for said in _OF_DISCORD for option in ("-W", f"ignore:{said}:DeprecationWarning")]
FORKS = [*PYTHON, *_IGNORED, "-m", "tests.bot.forks"]
_AT_START = ("KOTAE_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")  # what a process reads once
_SECONDS = 180


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str

    @property
    def document(self) -> Any:
        """The one JSON document on standard output."""
        assert not self.returncode, self.stderr
        return json.loads(self.stdout)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output, a JSON object a line."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    def complaint(self, status: int) -> str:
        """What it says when it refuses: readable text on standard error and nothing else."""
        assert self.returncode == status, (self.returncode, self.stdout, self.stderr)
        assert self.stderr.startswith("kotae: ") and "Traceback" not in self.stderr and not self.stdout
        return self.stderr.removeprefix("kotae: ").strip()


def environment(home: Path | None, **more: str) -> dict[str, str]:
    """What `env -i HOME=… PATH=…` leaves, and how this machine computes; an empty value takes a name away."""
    computing = {name: value for name, value in os.environ.items() if name.startswith("OPENBLAS_")}
    named = {"HOME": str(Path.home()), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **computing, **more}
    if home is not None:
        named["KOTAE_HOME"] = str(home)
    return {name: value for name, value in named.items() if value}


class Process:
    """`kotae …`, or a module of the tests, as a process of its own that is forked from one which has imported
    everything: `tests.bot.forks`. It is used like a `subprocess.Popen`; what the start of Python itself does needs
    `PROGRAM`.

    The streams are as `Popen` takes them.
    """

    def __init__(
        self,
        *arguments: str | bytes | Path,
        env: Mapping[str, str],
        cwd: Path = ROOT,
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        module: str = "bot",
    ) -> None:
        assert not any(name.startswith("PYTHON") and name != "PYTHONPATH" for name in env), "needs a start of its own"
        asked = {
            "module": module,
            "arguments": [os.fsdecode(one) for one in arguments],
            "environment": dict(env),
            "cwd": str(cwd),
        }
        told, tell = os.pipe()
        pipes: dict[int, IO[bytes]] = {}
        theirs: list[int] = [tell]  # descriptors that are not ours to keep
        streams = [self._stream(number, one, pipes, theirs) for number, one in enumerate((stdin, stdout, stderr))]
        self.stdin, self.stdout, self.stderr = (pipes.get(number) for number in range(3))
        self.pid = forks().start(json.dumps(asked).encode(), [*streams, tell])
        for one in theirs:
            os.close(one)
        self._told = told
        self.returncode: int | None = None

    @staticmethod
    def _stream(number: int, wanted: int | None, pipes: dict[int, IO[bytes]], theirs: list[int]) -> int:
        """The program's end of a standard stream; one that was made here is added to `theirs`."""
        if wanted is None:
            return number
        if wanted == DEVNULL:
            theirs.append(os.open(os.devnull, os.O_RDWR))
        elif wanted == PIPE:
            read, write = os.pipe()
            pipes[number] = os.fdopen(read, "rb") if number else os.fdopen(write, "wb")
            theirs.append(write if number else read)
        else:
            return wanted
        return theirs[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wait()
        for pipe in filter(None, (self.stdin, self.stdout, self.stderr)):
            pipe.close()

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float = _SECONDS) -> int:
        status = self._ended(timeout)
        if status is None:
            raise subprocess.TimeoutExpired("kotae", timeout)
        return status

    def _ended(self, within: float) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], within)[0]:
            self.returncode = int(os.read(self._told, 16))
            os.close(self._told)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended since
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, input: bytes = b"", timeout: float = _SECONDS) -> tuple[bytes, bytes]:
        """Give it this input and its end, and wait for all that it prints."""

        def give() -> None:
            if self.stdin is not None and not self.stdin.closed:
                try:
                    self.stdin.write(input)
                    self.stdin.close()
                except BrokenPipeError:  # it has ended without reading it
                    pass

        with ThreadPoolExecutor(3) as threads:
            pipes = [pipe and not pipe.closed and pipe for pipe in (self.stdout, self.stderr)]
            reading = [threads.submit(pipe.read) if pipe else None for pipe in pipes]
            threads.submit(give)
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            said, complained = (one.result() if one else b"" for one in reading)
        self.__exit__(None, None, None)
        return said, complained


async def talking(process: Process) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """What a process prints, and what it reads, for an event loop; it was made with pipes for both."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=2**20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), process.stdout)
    told, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, process.stdin)
    return reader, asyncio.StreamWriter(told, protocol, None, loop)


async def told() -> asyncio.StreamReader:
    """The standard input of this process, for an event loop."""
    reader = asyncio.StreamReader(limit=2**20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


class _Forks:
    """The process that the others are forked from."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._one_by_one = get_context("fork").Lock()  # the workers of a test run are forked from whoever made it
        with theirs:
            self._process = subprocess.Popen(FORKS, stdin=theirs.fileno(), env=environment(None), cwd=ROOT)
        atexit.register(self.close)

    def start(self, asked: bytes, descriptors: list[int]) -> int:
        with self._one_by_one:
            socket.send_fds(self._ours, [asked], descriptors)
            return int(self._ours.recv(16))

    def close(self) -> None:
        self._ours.close()
        self._process.terminate()
        self._process.wait()


forks = cache(_Forks)


def kotae(
    *arguments: str | bytes | Path,
    home: Path | None = None,
    lines: str | bytes = b"",
    cwd: Path = ROOT,
    cold: bool = False,
    **more: str,
) -> Done:
    """What it did and printed. `cold`: with a start of Python of its own, for what depends on that."""
    env, given = environment(home, **more), lines.encode() if isinstance(lines, str) else lines
    if cold:
        run = subprocess.run(
            [*PROGRAM, *arguments], input=given, env=env, cwd=cwd, capture_output=True, timeout=_SECONDS
        )
        return Done(run.returncode, run.stdout.decode("utf-8"), run.stderr.decode("utf-8"))
    with Process(*arguments, env=env, cwd=cwd, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        said, complained = process.communicate(given)
    return Done(process.wait(), said.decode("utf-8"), complained.decode("utf-8"))


def dies(module: str, *arguments: str | Path) -> None:
    """Runs a module of the tests that kills itself."""
    with Process(*arguments, env=environment(None), stderr=PIPE, module=module) as process:
        _, complained = process.communicate()
    assert process.wait() == -signal.SIGKILL, complained.decode()


class Warm:
    """`kotae(…)` for what a command does, where its start and its end are not the point: the commands run one after the
    other in one process (one a language), which Python, the imports and the weights cost once.
    """

    def __init__(self) -> None:
        self._running: dict[tuple[str, ...], Process] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in self._running.values():
            one.communicate()

    def __call__(
        self,
        *arguments: str | bytes | Path,
        home: Path | None = None,
        lines: str | bytes = b"",
        cwd: Path = ROOT,
        **more: str,
    ) -> Done:
        named = environment(home, **more)
        assert not any(name.startswith("PYTHON") for name in more), "needs a process of its own"
        one = self._process({name: named[name] for name in _AT_START if name in named})
        with TemporaryDirectory(prefix="kotae-warm-") as folder:
            standard = {name: Path(folder, name) for name in ("in", "out", "err")}
            standard["in"].write_bytes(lines.encode() if isinstance(lines, str) else lines)
            standard["out"].touch()
            standard["err"].touch()
            asked = {
                "arguments": [os.fsdecode(argument) for argument in arguments],
                "environment": named,
                "cwd": str(cwd),
                "files": folder,
            }
            assert one.stdin and one.stdout
            one.stdin.write(json.dumps(asked).encode() + b"\n")
            one.stdin.flush()
            assert select.select([one.stdout], [], [], _SECONDS)[0], standard["err"].read_text(encoding="utf-8")
            status = one.stdout.readline()
            printed = [standard[name].read_bytes().decode("utf-8") for name in ("out", "err")]
        assert status, f"it died: {printed}"
        return Done(int(status), *printed)

    def _process(self, at_start: dict[str, str]) -> Process:
        key = tuple(at_start.values())
        if key not in self._running:
            self._running[key] = Process(
                env=environment(None, **at_start), stdin=PIPE, stdout=PIPE, module="tests.bot.warm"
            )
        return self._running[key]
