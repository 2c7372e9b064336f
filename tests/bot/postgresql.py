"""A PostgreSQL server on a Unix socket, as Debian has it; its databases are thrown away."""

import asyncio
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

# Debian keeps the programs of a server where nobody looks for them; the newest first
_BINARIES = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), key=lambda path: int(path.split("/")[4]))
os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), *reversed(_BINARIES)])


def available() -> bool:
    return bool(shutil.which("initdb") and shutil.which("pg_ctl") and find_spec("asyncpg"))


@contextmanager
def server() -> Iterator[str]:
    """The address of a server, with `{name}` for a database."""
    folder = Path(tempfile.mkdtemp(prefix="kotae-pg-"))
    user = None
    if os.geteuid() == 0:  # the server refuses to run as root
        user = "nobody"
        os.chown(folder, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)

    def run(*command: str) -> None:
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, timeout=60)

    run("initdb", "-D", str(folder / "data"), "-U", "kotae", "-A", "trust", "-N")
    run("pg_ctl", "-D", str(folder / "data"), "-w", "-o", f"-k {folder} -c listen_addresses= -F", "-l", "log", "start")
    try:
        yield f"postgresql+asyncpg://kotae@/{{name}}?host={folder}"
    finally:
        run("pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(folder)


def execute(address: str, *statements: str) -> None:
    """Each statement by itself."""

    async def run() -> None:
        engine = create_async_engine(address, isolation_level="AUTOCOMMIT")
        async with engine.connect() as db:
            for statement in statements:
                await db.execute(text(statement))
        await engine.dispose()

    with ThreadPoolExecutor(1) as thread:  # a test's own event loop may be running in this one
        thread.submit(asyncio.run, run()).result()
