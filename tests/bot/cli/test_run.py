"""`kotae run` as people start it: at a terminal, with lines from a pipe, and as a service without any input."""

import asyncio
import os
import re
import signal
import sqlite3
import subprocess
import termios
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from adapters.web.server.server import until_stopped
from bot.cli.commands import _talk
from tests.adapters.terminal.pseudo_terminal import Terminal
from tests.bot.program import PYTHON, ROOT, Process, environment
from tests.copies import copy_folder

PROMPT = "kotae› "
FREE = {"KOTAE_WEB_PORT": "0", "KOTAE_LANGUAGE": "en", "KOTAE_MODEL": "extractive"}


@contextmanager
def started(home: Path, stdin: int, **more: str) -> Iterator[tuple[Process, str]]:
    """The program, and the address it has said."""
    env = environment(home, **FREE, **more)
    with Process("run", stdin=stdin, stdout=PIPE, stderr=PIPE, env=env) as one:
        assert one.stdout is not None
        try:
            found = None
            while found is None and (line := one.stdout.readline()):
                found = re.search(rb"Browser: (http://\S+)", line)
            assert found, one.stderr and one.stderr.read()
            yield one, found[1].decode()
        finally:
            one.kill()


def test_at_a_terminal_both_channels_are_open_and_leaving_one_ends_the_bot(tmp_path: Path) -> None:
    with closing(
        Terminal(["run", "--sample"], environment(tmp_path / "home", TERM="xterm-256color", **FREE))
    ) as terminal:
        said = terminal.expect(PROMPT)
        address = re.search(r"Browser: (http://\S+)", said)
        assert address
        page = httpx.get(address[1], follow_redirects=True, trust_env=False)
        assert page.status_code == 200 and "<html" in page.text
        terminal.type("How much is the daily allowance for an overnight business trip?\r")
        terminal.expect("Sources")
        terminal.expect(PROMPT)
        terminal.type("/quit\r")
        assert terminal.ended() == 0


def test_what_goes_wrong_at_a_terminal_is_said_and_ctrl_c_works_on(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with closing(Terminal(["run"], environment(home, TERM="xterm-256color", **FREE))) as terminal:
        terminal.expect(PROMPT)
        for path in ("~nosuchuser/x.md", "x" * 300):
            terminal.type(f"/ingest {path}\r")
            terminal.expect("refused. It cannot be opened")
            terminal.expect(PROMPT)
        terminal.type("Hello!\r")
        terminal.expect("Ask me")
        terminal.expect(PROMPT)
        (home / "kotae.db").rename(home / "away.db")
        terminal.type("/up\r")
        terminal.expect("That did not work: ")
        terminal.expect(PROMPT)
        (home / "away.db").rename(home / "kotae.db")
        terminal.type("\x03")
        terminal.expect("Ctrl-D or /quit ends.")
        terminal.type("/quit\r")
        assert terminal.ended() == 0


class Failing:
    """A terminal at which somebody sits, and whose talk ends by what nobody has foreseen."""

    interactive, used = True, False

    async def run(self, bot: object) -> int:
        before = signal.getsignal(signal.SIGINT)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, print)
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)
        raise ZeroDivisionError


@pytest.mark.parametrize("alone", [True, False])
async def test_a_talk_that_ends_by_an_error_is_the_end_of_the_bot_or_leaves_it_ctrl_c(alone: bool) -> None:
    app: Any = SimpleNamespace(bot=None)
    terminal: Any = Failing()
    async with until_stopped() as stopped:
        talk = _talk(terminal, app, stopped, alone=alone)
        if alone:
            with pytest.raises(ZeroDivisionError):
                await talk
        else:
            await talk
            assert not stopped.is_set()
            os.kill(os.getpid(), signal.SIGINT)
        await asyncio.wait_for(stopped.wait(), 30)


def test_sigterm_gives_the_terminal_back_as_it_was(tmp_path: Path) -> None:
    with closing(Terminal(["run"], environment(tmp_path / "home", TERM="xterm", **FREE))) as terminal:
        terminal.expect(PROMPT)
        terminal.terminate()
        terminal.expect("Stopping")
        assert terminal.ended() == 0
        assert terminal.flags() & termios.ECHO and terminal.flags() & termios.ICANON


def test_lines_of_a_pipe_are_answered_and_then_it_ends(tmp_path: Path) -> None:
    questions = "出張の日当はいくらですか？\nWhat is the command for a rollback?\n"
    env = environment(tmp_path / "home", **FREE)
    with Process("run", "--sample", env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE) as program:
        said, complained = (part.decode() for part in program.communicate(questions.encode()))
    assert program.returncode == 0, complained
    assert "2,500円" in said and "Sources" in said and "Browser: http://" in said


def test_a_service_runs_on_without_any_input_and_ends_when_told(tmp_path: Path) -> None:
    """From `/dev/null`, from a pipe that stays open and one that was closed: none of them is the end of the bot."""
    closed, other = os.pipe()
    os.close(other)
    for number, stdin in enumerate((DEVNULL, PIPE, closed)):
        with started(tmp_path / str(number), stdin) as (program, address):
            assert httpx.get(f"{address}/healthz", trust_env=False).status_code == 200
            assert httpx.get(f"{address}/documents", trust_env=False).json() == {"documents": []}
            program.terminate()
            assert program.wait(30) == 0
            assert program.stderr is not None and b"Traceback" not in program.stderr.read()
    os.close(closed)


def test_a_process_that_stops_has_an_end_whatever_holds_it_up() -> None:
    held_up = "from threading import Event; from bot.cli.runtime import end_within; end_within(0.1); Event().wait(60)"
    with subprocess.Popen([*PYTHON, "-c", held_up], env=environment(None), cwd=ROOT) as process:
        assert process.wait() == -signal.SIGTERM


def test_a_search_model_that_cannot_be_loaded_is_said_before_anybody_asks(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("where the weights would lie")
    with started(tmp_path / "home", DEVNULL, HOME=str(in_the_way)) as (program, address):
        for _ in range(200):
            found = httpx.get(f"{address}/readyz", trust_env=False)
            if found.status_code != 200:
                break
            threading.Event().wait(0.05)
        program.terminate()
        assert program.wait(30) == 0
        assert program.stderr is not None and program.stderr.read().count(b"search goes by words alone") == 1
    assert found.status_code == 503 and found.json()["status"] == "degraded"
    assert found.json()["parts"]["embedder"] == "low" and str(in_the_way) in found.json()["why"]["embedder"]


def test_an_index_of_another_version_is_made_anew_at_the_start(sample_home: Path, tmp_path: Path) -> None:
    home = copy_folder(sample_home, tmp_path / "home")
    with closing(sqlite3.connect(home / "kotae.db")) as db, db:
        db.execute("UPDATE indexes SET tokenizer = 'words 1'")
    with started(home, DEVNULL) as (one, url):
        found = httpx.get(f"{url}/search", params={"query": "How many reviews does a change need?"}, trust_env=False)
        assert "Two reviews are needed" in found.text
        one.terminate()
        assert one.wait(30) == 0
        assert one.stderr is not None
        assert one.stderr.read().decode().startswith("The search index of this home was made by another version")


def test_a_name_that_no_setting_has_is_said_at_the_start(tmp_path: Path) -> None:
    with started(tmp_path / "home", DEVNULL, KOTAE_DIGEST_CHANEL="general") as (one, _):
        one.terminate()
        assert one.wait(30) == 0
        assert one.stderr is not None
        said = one.stderr.read().decode()
        assert "KOTAE_DIGEST_CHANEL is set, but there is no setting of that name" in said
        assert "Write KOTAE_DIGEST_CHANNEL" in said
