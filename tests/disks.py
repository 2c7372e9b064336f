"""A disk of a few MiB, where this user may mount one; tests that need it are skipped elsewhere."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

MIB = 2**20


@dataclass(frozen=True)
class SmallDisk:
    """`folder` is its root. What fills it is a file of nobody's."""

    folder: Path

    @property
    def free(self) -> int:
        return shutil.disk_usage(self.folder).free

    def forbid_writing(self) -> None:
        subprocess.run(["mount", "-o", "remount,ro", str(self.folder)], check=True)

    def leave(self, free: int) -> None:
        """Only so many bytes are free from now on, whatever was free before."""
        filling = self.folder / "filling"
        with filling.open("wb") as file:
            if (size := self.free - free) > 0:
                os.posix_fallocate(file.fileno(), 0, size)


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[SmallDisk]:
    """A disk of `size` bytes in memory, at `folder`."""
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("no rights to mount a disk")
    done = subprocess.run([mount, "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True)
    if done.returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
