"""Lines from standard input without stopping the event loop: a question must not delay another turn's heartbeat."""

import asyncio
import sys
import threading
from collections.abc import Callable
from contextlib import suppress


class Lines:
    """Standard input, line by line. Each read has a thread of its own that nobody waits for at the end."""

    def __init__(self) -> None:
        self.interactive = sys.stdin.isatty() and sys.stdout.isatty()
        if self.interactive:
            with suppress(ImportError):  # line editing and history for `input`, where the platform has them
                import readline  # noqa: F401

    async def next(self, prompt: str) -> str | None:
        """The next line without its end, or None when there are no more. Bytes that are not UTF-8 become U+FFFD."""
        return await _in_thread(lambda: self._read(prompt))

    def _read(self, prompt: str) -> str | None:
        if self.interactive:
            try:
                line = input(prompt)
            except EOFError:
                return None
            return repaired(line)
        raw = sys.stdin.buffer.readline()
        return raw.decode("utf-8-sig", "replace").rstrip("\r\n") if raw else None


def repaired(text: str) -> str:
    """Text that the locale could not decode, read as UTF-8 after all; what is not even that becomes U+FFFD."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


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
