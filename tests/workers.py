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
            while working := [worker for worker in workers if worker.works]:
                _report(session, working)
                workers += [_Worker(session, taken) for one in working if one.died]
        finally:
            for worker in workers:
                worker.end()
        return True


def _report(session: pytest.Session, working: Sequence["_Worker"]) -> None:
    """What they have to tell just now, or that they are gone."""
    ready = connection.wait([worker.told for worker in working], timeout=1)
    for worker in working:
        worker.hear(worker.told in ready)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)


class _Taken:
    """The files' tests, each file taken by one process."""

    def __init__(self, files: Sequence[list[pytest.Item]]) -> None:
        self.files = files
        self._next = get_context("fork").Value("i", 0)

    def by(self, telling: Connection) -> Iterator[pytest.Item]:
        """Told is the number of each file that is taken."""
        while True:
            with self._next.get_lock():
                number = self._next.value
                self._next.value += 1
            if number >= len(self.files):
                return
            telling.send(("taken", number))
            yield from self.files[number]


class _Worker:
    """One of the processes, as the collecting one knows it."""

    def __init__(self, session: pytest.Session, taken: _Taken) -> None:
        self._session = session
        self._files = taken.files
        self._left: dict[str, pytest.Item] = {}  # what it has taken and not ended, in that order, by its id
        self.told, telling = Pipe(duplex=False)
        self._pid: int | None = os.fork()
        if not self._pid:
            self.told.close()
            _work(session, taken, telling)
        telling.close()

    @property
    def works(self) -> bool:
        return self._pid is not None

    @property
    def died(self) -> bool:
        return self._pid is None and bool(self._left)

    def hear(self, ready: bool) -> None:
        """Hands on what it told. What it has begun may outlive it, and with that the other end of its pipe."""
        assert self._pid
        ended = not ready and os.waitpid(self._pid, os.WNOHANG)[0] != 0
        try:
            while self.told.poll():
                self._hand_on(*self.told.recv())
        except EOFError:
            if not ended:
                os.waitpid(self._pid, 0)
                ended = True
        if ended:
            self._pid = None
            self._report_death()

    def _hand_on(self, what: str, said: Any) -> None:
        hook = self._session.config.hook
        if what == "taken":
            self._left |= {item.nodeid: item for item in self._files[said]}
        elif what == "logreport":
            report = hook.pytest_report_from_serializable(config=self._session.config, data=said)
            hook.pytest_runtest_logreport(report=report)
        else:
            nodeid, location = said
            getattr(hook, f"pytest_runtest_{what}")(nodeid=nodeid, location=location)
            if what == "logfinish":
                del self._left[nodeid]

    def _report_death(self) -> None:
        """A failure of its test, and of all that it had taken."""
        for number, item in enumerate(self._left.values()):
            message = f"the process of {next(iter(self._left))} died" + (": this was not run" if number else "")
            self._session.config.hook.pytest_runtest_logreport(
                report=pytest.TestReport(item.nodeid, item.location, {}, "failed", message, "call")
            )

    def end(self) -> None:
        """Also in the midst of a test, if the run was broken off."""
        self.told.close()
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)


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
        for following in taken.by(telling):
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
