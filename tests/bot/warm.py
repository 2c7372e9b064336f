"""The `kotae` command again and again in one process, as `tests.bot.program.Warm` asks for it: what a command does is
real, only the start of Python, the imports and the reading of the embedder's weights happen once."""

import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

from bot.cli.commands import main


def serve(asked: BinaryIO, told: BinaryIO) -> None:
    """A JSON object a line: a command; a line back: its exit status."""
    hooks = sys.excepthook, threading.excepthook
    for line in asked:
        status = run(**json.loads(line))
        sys.excepthook, threading.excepthook = hooks
        told.write(f"{status}\n".encode())
        told.flush()


def run(arguments: list[str], environment: Mapping[str, str], cwd: str, files: str) -> int:
    """`main()` as at the start of a process: `files` holds its standard input and gets what it prints."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv[1:] = arguments
    sys.stdin = _standard(0, Path(files, "in"), os.O_RDONLY, "r", "surrogateescape")
    sys.stdout = _standard(1, Path(files, "out"), os.O_WRONLY, "w", "strict")
    sys.stderr = _standard(2, Path(files, "err"), os.O_WRONLY, "w", "backslashreplace")
    status = _status(main)
    logging.captureWarnings(False)
    logging.getLogger().handlers.clear()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return status


def _standard(number: int, file: Path, flags: int, mode: Any, errors: str) -> TextIOWrapper:
    opened = os.open(file, flags)
    os.dup2(opened, number)
    os.close(opened)
    return TextIOWrapper(open(number, f"{mode}b", closefd=False), "utf-8", errors)


def _status(work: Callable[[], None]) -> int:
    try:
        work()
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        return 0 if ended.code is None else ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


if __name__ == "__main__":
    with os.fdopen(os.dup(0), "rb") as asked, os.fdopen(os.dup(1), "wb") as told:
        serve(asked, told)
