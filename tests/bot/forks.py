"""Starts the `kotae` command, or a module of the tests, again and again by fork, as `tests.bot.program.Process` asks
for it: each is a process of its own, with its own environment, signals and end; only Python's start and the imports
happen once.

Its standard input is a socket: a message is a JSON object with the descriptors of the program's standard streams and of
a pipe that gets its exit status; the answer is its process id."""

import fcntl
import gc
import json
import os
import random
import selectors
import signal
import socket
import sys
import termios
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from runpy import run_module
from typing import Any

_LONGEST = 1 << 18  # bytes of a message
_STREAMS = 3
_LOADED = (
    "bot.app",
    "adapters.terminal.channel",
    "adapters.web.server.sockets",
    "adapters.web.channel.adapter",
    "adapters.web.pages",
    "adapters.slack.adapter",
    "adapters.discord.adapter",
    "agent.models.gemini",
    "fastembed",
    "rich.progress",
    "typer",
)
_READ_AT_THE_START = (
    "bot.cli.runtime",
    "bot.cli.commands",
    "bot.cli.maintenance",
)  # these look at the language of the environment once


def serve(asked: socket.socket) -> Mapping[str, Any] | None:
    """None at the end; in a new process what it was asked to be."""
    woken, wake = socket.socketpair()
    for one in (woken, wake):
        one.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    running: dict[int, int] = {}  # process id → where its exit status goes
    with selectors.DefaultSelector() as waiting:
        waiting.register(asked, selectors.EVENT_READ)
        waiting.register(woken, selectors.EVENT_READ)
        while True:
            for ready, _ in waiting.select():
                if ready.fileobj is woken:
                    woken.recv(4096)
                    _tell(running)
                    continue
                message, streams, _, _ = socket.recv_fds(asked, _LONGEST, _STREAMS + 1)
                if not message:
                    woken.close()
                    wake.close()
                    return None
                sys.stdout.flush()
                pid = os.fork()
                if not pid:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where the tests run under nohup
                    for other in (asked, woken, wake):
                        other.close()
                    for told in running.values():
                        os.close(told)
                    os.close(streams[_STREAMS])
                    return dict(json.loads(message), streams=streams[:_STREAMS])
                for stream in streams[:_STREAMS]:
                    os.close(stream)
                running[pid] = streams[_STREAMS]
                asked.send(str(pid).encode())


def _tell(running: dict[int, int]) -> None:
    for pid in list(running):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            told = running.pop(pid)
            with suppress(BrokenPipeError):  # nobody asked how it ended
                os.write(told, str(os.waitstatus_to_exitcode(status)).encode())
            os.close(told)


def become(asked: Mapping[str, Any]) -> None:
    """What is left of the start of a process."""
    os.setsid()
    for number, stream in enumerate(asked["streams"]):
        os.dup2(stream, number)
    for stream in asked["streams"]:
        if stream >= _STREAMS:
            os.close(stream)
    if os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["cwd"])
    random.seed()
    sys.argv = [str(asked["module"]), *asked["arguments"]]
    sys.stdin = TextIOWrapper(os.fdopen(0, "rb", closefd=False), "utf-8", "surrogateescape")
    sys.stdout = TextIOWrapper(os.fdopen(1, "wb", closefd=False), "utf-8", "strict", line_buffering=os.isatty(1))
    sys.stderr = TextIOWrapper(os.fdopen(2, "wb", closefd=False), "utf-8", "backslashreplace", line_buffering=True)


def load() -> None:
    """What commands import, but for what depends on the environment. Ours first: it tells onnxruntime to report
    nothing.

    No program's garbage collection goes over it again: at the end of each that costs half a second.
    """
    for name in _LOADED:
        import_module(name)
    assert not set(_READ_AT_THE_START) & set(sys.modules)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    load()
    with socket.socket(fileno=os.dup(0)) as own:
        program = serve(own)
    if program is not None:
        become(program)
        run_module(program["module"], run_name="__main__", alter_sys=True)
