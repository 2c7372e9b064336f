"""Files → documents. Parsing happens in child processes that can be limited, killed and replaced: an uploaded file
may be built to exhaust or crash its reader, and only that file may suffer."""

import asyncio
import contextlib
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from retrieval.loaders.dates import iso_date
from retrieval.loaders.file_types import SUFFIXES, check_name
from retrieval.loaders.limits import MIB, REASONS, FileRefused, ParsingLimits, size
from retrieval.loaders.worker import LENGTH
from retrieval.types import Document, QAPair, StoppedError, UnreadableError

__all__ = ["SUFFIXES", "Loader", "ParsingLimits"]

log = logging.getLogger(__name__)

_LIMITS = ParsingLimits()
_AT_ONCE = 2  # files parsed at the same time
_STOPPED = ("time", "crash")  # reasons that need not be the file's
_SLICE = 256 * 1024  # bytes handed over in one write: the whole file is never copied into a buffer
_START = "import sys; sys.path += {path!r}; from retrieval.loaders.worker import main; main()"


class Loader:
    """Turns the bytes of files into documents; owns the processes that do it. At most one idles, kept warm."""

    def __init__(self, limits: ParsingLimits = _LIMITS) -> None:
        self._limits = limits
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._children: set[_Child] = set()
        self._warm: _Child | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def load(self, name: str, data: bytes) -> Document:
        """The document in the file `name` with the content `data`.

        Raises `UnreadableError` with the reason in words, `StoppedError` where another try may succeed; the next file
        is read all the same.
        """
        try:
            check_name(name)
            if len(data) > self._limits.file:
                raise FileRefused("size", limit=size(self._limits.file))
            if not data:
                raise FileRefused("empty")
            async with self._slots:
                return _document(await self._ask(name, data))
        except FileRefused as refused:
            error = StoppedError if refused.reason in _STOPPED else UnreadableError
            raise error(REASONS[refused.reason], **refused.values) from refused

    async def close(self) -> None:
        """End every child; a file that is being read becomes unreadable."""
        self._closed = True
        self._warm = None
        await asyncio.gather(*(child.end() for child in list(self._children)))
        self._children.clear()

    async def _ask(self, name: str, data: bytes) -> dict[str, Any]:
        if self._closed:
            raise RuntimeError("the loader is closed")
        child, self._warm = self._warm, None
        child = child or await _Child.start()
        self._children.add(child)
        try:
            async with asyncio.timeout(self._limits.wall):
                reply = await child.ask(name, data, self._limits)
            fresh = reply.get("refused") != "memory" and child.files < self._limits.files_per_child
            if fresh and not (self._closed or self._warm):
                self._warm = child
            return reply
        except TimeoutError as error:
            raise FileRefused("time") from error
        except (EOFError, OSError, ValueError) as error:
            reason, trace = await child.cause_of_death()
            log.warning("a parser died on a %s of %d bytes (%s)", Path(name).suffix, len(data), reason)
            log.debug("its last words: %s", trace)
            raise FileRefused(reason) from error
        finally:
            if child is not self._warm:
                await asyncio.shield(child.end())
                self._children.discard(child)


class _Child:
    """One parsing process, in its own process group and its own private folder."""

    def __init__(self, process: Process, folder: Path) -> None:
        self._process = process
        self._folder = folder
        self.files = 0

    @classmethod
    async def start(cls) -> Self:
        """Isolated from the user's environment, but importing from where this process does."""
        folder = Path(tempfile.mkdtemp(prefix="kotae-"))  # mode 0700
        try:
            with (folder / "stderr").open("wb") as errors:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-I", "-B", "-X", "utf8", "-c", _START.format(path=_import_path())),
                    stdin=PIPE,
                    stdout=PIPE,
                    stderr=errors,
                    cwd=folder,
                    env={},
                    start_new_session=True,
                )
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return cls(process, folder)

    async def ask(self, name: str, data: bytes, limits: ParsingLimits) -> dict[str, Any]:
        """Its reply. Raises OSError or EOFError when it is gone, ValueError when the reply is none."""
        assert self._process.stdin and self._process.stdout
        self.files += 1
        question = json.dumps({"name": name, "limits": asdict(limits)}).encode()
        self._process.stdin.write(LENGTH.pack(len(question)) + question + LENGTH.pack(len(data)))
        for start in range(0, len(data), _SLICE):
            self._process.stdin.write(data[start : start + _SLICE])
            await self._process.stdin.drain()
        await self._process.stdin.drain()
        (length,) = LENGTH.unpack(await self._process.stdout.readexactly(LENGTH.size))
        if length > 6 * limits.text + MIB:  # the text, its pairs again, and the escapes of JSON
            raise ValueError("the reply is too long")
        reply = json.loads(await self._process.stdout.readexactly(length))
        if not isinstance(reply, dict):
            raise ValueError("the reply is no object")
        return reply

    async def cause_of_death(self) -> tuple[str, str]:
        """`time` or `crash`, and the end of what it wrote to standard error."""
        await self._kill()
        trace = await asyncio.to_thread(_tail, self._folder / "stderr")
        return ("time" if self._process.returncode == -signal.SIGXCPU else "crash"), trace

    async def end(self) -> None:
        await self._kill()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def _kill(self) -> None:
        assert self._process.stdin and self._process.stdout
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.stdin.close()
        with contextlib.suppress(OSError):
            while await self._process.stdout.read(_SLICE):
                pass
        await self._process.wait()


def _document(reply: dict[str, Any]) -> Document:
    """The document told by a process that an uploaded file may have taken over: only its shape is trusted, after a
    look."""
    try:
        if detail := reply.get("detail"):
            log.info("a parser gave up: %s", str(detail)[-2_000:])
        if reason := reply.get("refused"):
            values = {
                key: value if isinstance(value, int) else str(value)[:200] for key, value in reply["values"].items()
            }
            REASONS[reason].to("en", **values)
            raise FileRefused(reason, **values)
        return Document(
            name=str(reply["name"]),
            markdown=str(reply["markdown"]),
            title=str(reply["title"]),
            date=iso_date(str(reply["date"])),
            pairs=tuple(QAPair(str(question), str(answer)) for question, answer in reply["pairs"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileRefused("crash") from error


def _import_path() -> list[str]:
    """The path this process imports from; the child starts elsewhere, so nothing relative."""
    here = str(Path(__file__).resolve().parents[2])
    return [str(Path(entry).resolve()) for entry in sys.path if entry] + [here]


def _tail(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_bytes()[-2_000:].decode("utf-8", "replace")
    return ""
