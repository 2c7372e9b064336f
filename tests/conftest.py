"""The product itself for tests that need all of it: one home with the sample handbook, made once; and one
process in which many commands run."""

import fcntl
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.adapters.terminal.pseudo_terminal import first_start
from tests.bot.program import Warm
from tests.copies import copy_folder
from tests.workers import Workers

gc.disable()  # until all is imported: it would go over the same modules again and again

settings.register_profile("same", deadline=None, derandomize=True, max_examples=25)  # a busy machine takes its time
settings.register_profile("random", deadline=None)
settings.load_profile("same")

MEMORY = Path("/dev/shm")
_ROOM = 6 << 30  # bytes: a run holds less than half of that at a time

if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > _ROOM:
    # A home begins with a hundred calls of fsync. No test takes a machine's power away, so no disk has to be waited
    # for.
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None

# Every HTTP client reads all certificates at first, 30 ms; the servers here speak without TLS.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "files" / "certificate.pem")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # run in the background; the programs of the tests inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Files of few tests that take long: one that began last would be waited for alone.
LONG = (
    "crash",
    "test_readme.py",
    "adapters/web/api/test_schemas.py",
    "adapters/web",
    "retrieval/embeddings/test_embeddings.py",
    "adapters/test_conformance.py",
    "bot/cli",
    "hostile",
    "bot/knowledge/test_identity.py",
    "bot/operations/test_backup.py",
    "bot/knowledge/test_reindex.py",
    "bot/knowledge/test_documents.py",
    "adapters/slack",
    "bot/turns/test_queue.py",
    "bot/test_migrations.py",
    "retrieval/index",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also what is marked long: `make soak`")
    parser.addoption("--workers", type=int, default=0, help="how many processes run the tests of a file each")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: more of what another test shows in less time; run with --long")
    if workers := config.getoption("workers"):
        config.pluginmanager.register(Workers(workers))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files that take long first; else in the order of their names."""
    if not config.getoption("long"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    here = Path(__file__).parent

    def rank(item: pytest.Item) -> int:
        return next((at for at, name in enumerate(LONG) if item.path.is_relative_to(here / name)), len(LONG))

    items.sort(key=rank)


def pytest_collection_finish() -> None:
    """What has been imported by now stays: no collection of garbage needs to go over it, 0.3 s each time."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """Runs commands as `kotae` does, in one process for all of them."""
    with Warm() as one:
        yield one


@pytest.fixture(scope="session")
def sample_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home as `kotae chat` makes it at its first start, made once for all workers. To be copied, never opened."""
    shared = tmp_path_factory.getbasetemp()
    home = shared / "sample"
    with (shared / "sample.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            first_start(shared / "sample.new")
            copy_folder(shared / "sample.new", shared / "sample.copied").rename(home)
            shutil.rmtree(shared / "sample.new")
    return home


@pytest.fixture(scope="session")
def sample_home(sample_made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of it. Shared by this worker's tests: ask it, and change nothing in its documents."""
    home = tmp_path_factory.mktemp("sample") / "home"
    return copy_folder(sample_made, home)
