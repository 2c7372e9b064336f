"""The product itself for tests that need all of it: one home with the sample handbook, made once; and one
process in which many commands run."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.bot.program import Warm, kotae

settings.register_profile("same", deadline=None, derandomize=True)  # a busy machine takes its time
settings.register_profile("random", deadline=None)
settings.load_profile("same")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # run in the background; the programs of the tests inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """Runs commands as `kotae` does, in one process for all of them."""
    with Warm() as one:
        yield one


@pytest.fixture(scope="session")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home as `kotae chat` makes it at its first start. Shared: ask it, and change nothing in its documents."""
    home = tmp_path_factory.mktemp("sample") / "home"
    done = kotae("chat", home=home)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return home
