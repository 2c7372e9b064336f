"""`pytest --workers N`: the tests of one file after another, in N processes that are forked when everything has been
collected, once. (pytest-xdist imports and collects in each of its processes.)"""

import atexit
import os
import signal
from collections.abc import Iterator, Sequence
from itertools import groupby
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection, Pipe
from typing import Any, NoReturn

import pytest

from tests.bot.program import forks


class Workers:
    """The plugin of the process that collects and reports."""

    def __init__(self, count: int) -> None:
        self._count = count

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Raises what pytest's own loop raises when it shall not go on."""
        if session.testsfailed or session.config.option.collectonly:
            return None
        files = [list(items) for _, items in groupby(session.items, lambda item: item.path)]
        if not files:
            return None
        session.config.get_terminal_writer().flush()
        forks()  # one for all
        taken = _Taken(files)
        workers = [_Worker(session, taken) for _ in range(min(self._count, len(files)))]
        try:
            _report(session, workers)
        finally:
            for worker in workers:
                worker.end()
        return True


def _report(session: pytest.Session, workers: Sequence["_Worker"]) -> None:
    """What each tells, until all have ended."""
    told = {worker.told: worker for worker in workers}
    while told:
        for ready in connection.wait(list(told)):
            assert isinstance(ready, Connection)
            if not told[ready].heard():
                told.pop(ready)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


class _Taken:
    """The files' tests, each file taken by one process."""

    def __init__(self, files: Sequence[list[pytest.Item]]) -> None:
        self._files = files
        self._next = get_context("fork").Value("i", 0)

    def __iter__(self) -> Iterator[pytest.Item]:
        while True:
            with self._next.get_lock():
                number = self._next.value
                self._next.value += 1
            if number >= len(self._files):
                return
            yield from self._files[number]


class _Worker:
    """One of the processes, as the collecting one knows it."""

    def __init__(self, session: pytest.Session, taken: _Taken) -> None:
        self._session = session
        self._running: pytest.Item | None = None
        self._items = {item.nodeid: item for item in session.items}
        self.told, telling = Pipe(duplex=False)
        self._pid: int | None = os.fork()
        if not self._pid:
            self.told.close()
            _work(session, taken, telling)
        telling.close()

    def heard(self) -> bool:
        """Hands on what it told; false if it has ended. One that died is a failure of its test."""
        try:
            what, said = self.told.recv()
        except EOFError:
            self._wait()
            if self._running:
                self._died(self._running)
            return False
        hook = self._session.config.hook
        if what == "logreport":
            report = hook.pytest_report_from_serializable(config=self._session.config, data=said)
            hook.pytest_runtest_logreport(report=report)
            return True
        nodeid, location = said
        self._running = self._items[nodeid] if what == "logstart" else None
        getattr(hook, f"pytest_runtest_{what}")(nodeid=nodeid, location=location)
        return True

    def _died(self, item: pytest.Item) -> None:
        message = f"the process of {item.nodeid} died; what it had not begun of {item.path.name} was not run"
        self._session.config.hook.pytest_runtest_logreport(
            report=pytest.TestReport(item.nodeid, item.location, {}, "failed", message, "call")
        )

    def end(self) -> None:
        """Also in the midst of a test, if the run was broken off."""
        self.told.close()
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            self._wait()

    def _wait(self) -> None:
        assert self._pid
        os.waitpid(self._pid, 0)
        self._pid = None


class _Telling:
    """The plugin of a worker: the terminal is another's."""

    def __init__(self, config: pytest.Config, telling: Connection) -> None:
        self._config = config
        self._telling = telling

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self._telling.send(("logstart", (nodeid, location)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._telling.send(("logreport", data))

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        self._telling.send(("logfinish", (nodeid, location)))


def _work(session: pytest.Session, taken: _Taken, telling: Connection) -> NoReturn:
    """Runs files until none is left, and leaves by the functions that its tests registered for the end."""
    atexit._clear()  # what has been registered is the collecting process's to do
    plugins = session.config.pluginmanager
    capture = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()  # its files are the collecting process's
    capture.start_global_capturing()
    capture.suspend_global_capture()
    plugins.unregister(name="terminalreporter")
    plugins.register(_Telling(session.config, telling))
    status = 1
    try:
        item = None
        for following in taken:
            if item:
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            item = following
        if item:
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        telling.close()
        atexit._run_exitfuncs()
        status = 0
    finally:
        os._exit(status)
