"""A program on a pseudo terminal."""

import codecs
import os
import pty
import select
import termios
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from tests.bot.program import Process, environment


class Terminal:
    """`kotae …`, or a module of the tests, on a pseudo terminal; `expect` waits for what it prints."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], module: str = "bot") -> None:
        self._ours, theirs = pty.openpty()
        self._program = Process(*arguments, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, module=module)
        os.close(theirs)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.seen = ""

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def expect(self, text: str) -> str:
        """What was printed up to and with `text`, and forget it."""
        while text not in self.seen:
            read = self._read()
            assert read, f"{text!r} not in {self.seen!r}"
            self.seen += read
        at = self.seen.index(text) + len(text)
        before, self.seen = self.seen[:at], self.seen[at:]
        return before

    def ended(self) -> int:
        while read := self._read():
            self.seen += read
        return self._program.wait(timeout=30)

    def terminate(self) -> None:
        self._program.terminate()

    def flags(self) -> int:
        """How the terminal treats lines (`termios` local modes)."""
        return int(termios.tcgetattr(self._ours)[3])

    def kill(self) -> None:
        self._program.kill()
        self._program.wait()

    def close(self) -> None:
        if self._program.poll() is None:
            self._program.kill()
            self._program.wait()
        os.close(self._ours)

    def _read(self) -> str:
        assert select.select([self._ours], [], [], 30)[0], f"silent after {self.seen!r}"
        try:
            return self._decoder.decode(os.read(self._ours, 65536))
        except OSError:  # Linux reports the other end's close so
            return ""


def first_start(home: Path) -> None:
    """`kotae chat` at a terminal in a home that it makes, with the sample handbook, and left at once."""
    with closing(Terminal(["chat"], environment(home))) as terminal:
        terminal.expect("kotae› ")
        terminal.type("/quit\r")
        assert terminal.ended() == 0, terminal.seen
