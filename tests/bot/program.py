"""The `kotae` command as people run it: a real process with next to nothing in its environment."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-W", "error", "-m", "bot"]


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
        timeout=180,
    )
    return Done(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))
