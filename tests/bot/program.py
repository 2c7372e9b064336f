"""The `kotae` command as people run it: a real process with next to nothing in its environment."""

import json
import os
import select
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-W", "error", "-m", "bot"]
WARM = [sys.executable, "-W", "error", "-m", "tests.bot.warm"]
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
    """What `env -i HOME=… PATH=…` leaves; an empty value takes a name away."""
    named = {"HOME": str(Path.home()), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **more}
    if home is not None:
        named["KOTAE_HOME"] = str(home)
    return {name: value for name, value in named.items() if value}


def kotae(
    *arguments: str | bytes | Path, home: Path | None = None, lines: str | bytes = b"", cwd: Path = ROOT, **more: str
) -> Done:
    done = subprocess.run(
        [*PROGRAM, *arguments],
        input=lines.encode() if isinstance(lines, str) else lines,
        env=environment(home, **more),
        cwd=cwd,
        capture_output=True,
        timeout=_SECONDS,
    )
    return Done(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


class Warm:
    """`kotae(…)` for what a command does, where its start and its end are not the point: the commands run one after the
    other in one process (one a language), which Python, the imports and the weights cost once.
    """

    def __init__(self) -> None:
        self._running: dict[tuple[str, ...], subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in self._running.values():
            one.communicate(timeout=_SECONDS)

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

    def _process(self, at_start: dict[str, str]) -> "subprocess.Popen[bytes]":
        key = tuple(at_start.values())
        if key not in self._running:
            self._running[key] = subprocess.Popen(
                WARM, env=environment(None, **at_start), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        return self._running[key]
