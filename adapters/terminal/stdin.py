"""Lines from standard input without stopping the event loop: a question must not delay another turn's heartbeat."""

import asyncio
import os
import stat
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from retrieval.i18n import readable

_PART = 65_536  # bytes


class Lines:
    """Standard input, line by line. Each read has a thread of its own that nobody waits for at the end."""

    def __init__(self) -> None:
        self.interactive = sys.stdin.isatty() and sys.stdout.isatty()
        self._read_on = bytearray()
        self._ended = False
        if self.interactive:
            with suppress(ImportError):  # line editing and history for `input`, where the platform has them
                import readline  # noqa: F401

    @property
    def there(self) -> bool:
        """Whether anything can come: from a terminal, a pipe or a file, not from nowhere (`/dev/null`, as for a
        service)."""
        if self.interactive:
            return True
        try:
            kind = os.fstat(sys.stdin.fileno()).st_mode
        except (OSError, ValueError):  # it is closed
            return False
        return stat.S_ISFIFO(kind) or stat.S_ISREG(kind) or stat.S_ISSOCK(kind)

    @contextmanager
    def tidy(self) -> Iterator[None]:
        """Gives the terminal back as it was: a read that nobody waits for would leave it without echo."""
        before = termios.tcgetattr(sys.stdin.fileno()) if self.interactive else None
        try:
            yield
        finally:
            if before is not None:
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, before)

    async def next(self, prompt: str) -> str | None:
        """The next line without its end, or None when there are no more. Bytes that are not UTF-8 become U+FFFD."""
        return await _in_thread(lambda: self._read(prompt))

    def _read(self, prompt: str) -> str | None:
        if self.interactive:
            try:
                line = input(prompt)
            except EOFError:
                return None
            return readable(line)
        raw = self._line()
        return raw.decode("utf-8-sig", "replace").rstrip("\r\n") if raw else None

    def _line(self) -> bytes:
        """By the descriptor: a thread that sits in Python's own buffer at the end of the process would abort it."""
        while (end := self._read_on.find(b"\n")) < 0 and not self._ended:
            part = os.read(sys.stdin.fileno(), _PART)
            self._read_on += part
            self._ended = not part
        line = bytes(self._read_on[: end + 1] if end >= 0 else self._read_on)
        del self._read_on[: len(line)]
        return line


async def _in_thread(read: Callable[[], str | None]) -> str | None:
    """Like `asyncio.to_thread`, whose threads are waited for at exit: this one may sit in a read for ever."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[str | None] = loop.create_future()

    def settle(line: str | None, error: BaseException | None) -> None:
        if not done.done():
            if error is None:
                done.set_result(line)
            else:
                done.set_exception(error)

    def work() -> None:
        line: str | None = None
        error: BaseException | None = None
        try:
            line = read()
        except BaseException as caught:  # whatever it was belongs to the one who waits
            error = caught
        with suppress(RuntimeError):  # the loop is gone: so is whoever asked
            loop.call_soon_threadsafe(settle, line, error)

    threading.Thread(target=work, name="stdin", daemon=True).start()
    return await done
