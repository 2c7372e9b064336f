"""One home, one owner: `run` and `chat` own it and serve its socket, every other command goes through them, and shows
the same as when it opens the home itself. reliability.md R49 and R57."""

import asyncio
import json
import os
import re
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

import httpx
import pytest

from bot.cli.commands import cli
from bot.cli.remote import SOCKET, at_home, short
from bot.unanswered.expert_answers import written
from tests.adapters.terminal.pseudo_terminal import Terminal
from tests.adapters.terminal.test_channel import PROMPT
from tests.bot.cli.test_commands import check, loaded, open_turns
from tests.bot.program import Done, Process, Warm, environment, kotae
from tests.fakes.gemini import FakeGemini, Reply, text, thought

HARBOUR = "# Harbour\n\nShips moor at pier seven until midnight. The harbour master is Ms Kawabata.\n"
SOON = 2.0  # seconds: reliability.md R49
URL = re.compile(r"http://127\.0\.0\.1:\d+")


class Owner:
    """`kotae run` as a process of its own, once it serves."""

    def __init__(self, home: Path, **more: str) -> None:
        named: dict[str, str] = {"KOTAE_WEB_PORT": "0", **more}
        self.process = Process("run", env=environment(home, **named), stdout=PIPE, stderr=PIPE)
        assert self.process.stdout
        self.banner = ""
        while "Ctrl-C" not in self.banner:
            line = self.process.stdout.readline().decode()
            assert line, self.process.stderr and self.process.stderr.read().decode()
            self.banner += line
        found = URL.search(self.banner)
        assert found
        self.url = found[0]

    def ended(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=60)
        return self.process.wait(), out.decode(), err.decode()


@contextmanager
def owner(home: Path, **more: str) -> Iterator[Owner]:
    one = Owner(home, **more)
    try:
        yield one
    finally:
        one.process.kill()
        one.process.communicate()


@pytest.fixture(scope="module")
def far_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose path is too long for a socket's address."""
    return tmp_path_factory.mktemp("far") / ("d" * 70) / ("深い" * 12)


@pytest.fixture(scope="module")
def shared(far_home: Path) -> Iterator[Owner]:
    """One owner for the tests that leave it as it is."""
    far_home.parent.mkdir()
    with owner(far_home) as one:
        yield one


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "harbour.md").write_text(HARBOUR)
    (folder / "港.txt").write_bytes("灯台の点検は毎月10日に行います。".encode("cp932"))
    (folder / "mail.eml").write_text("Subject: no")
    long = tmp_path / "long" / ("d" * 200) / ("e" * 250)
    long.mkdir(parents=True)
    (long / "deep.md").write_text("# Diving\n\nDivers come up slowly.\n")
    (tmp_path / "Q&A: Where do ships moor?.json").write_bytes(written(["Where do ships moor?"], "At pier seven."))
    return folder


# -- the same both ways ---------------------------------------------------------------------------------------------

COMMANDS: list[list[str]] = [
    ["ingest", "PAGES", "--collection", "port"],
    ["ingest", "PAGES", "--collection", "port", "--json"],
    ["ingest", "PAGES/mail.eml", "PAGES/gone.md"],
    ["ingest", "LONG", "--json"],
    ["ingest", "PAGES/harbour.md", "--collection", "c" * 500],
    ["documents"],
    ["documents", "--json", "--collection", "port"],
    ["documents", "--collection", "nope"],
    ["collections"],
    ["collections", "--json"],
    ["collections", "describe", "港湾", "港のこと"],
    ["collections", "merge", "port", "港湾", "--json"],
    ["collections", "merge", "nope", "x"],
    ["search", "pier seven"],
    ["search", "灯台の点検", "--mode", "sparse", "--json", "--limit", "1"],
    ["ask", "When do ships moor at pier seven?"],
    ["ask", "When do ships moor at pier seven?", "--json", "--collection", "港湾", "--model", "extractive"],
    ["ask", "What did the zoo in Reykjavik charge in 1987?", "--json"],
    ["ask", "x", "--model", "nope:x"],
    ["ask", "x", "--model", "\udcff"],
    ["ask", "x", "--strategy", "\udcff"],
    ["ask", "x", "--collection", "nope"],
    ["unanswered"],
    ["unanswered", "--json"],
    ["answers"],
    ["ingest", "TAUGHT", "--collection", "answers"],
    ["answers"],
    ["answers", "--json"],
    ["answers", "edit", "ANSWER", "At pier nine."],
    ["answers", "edit", "ANSWER", "At pier nine.", "--json"],
    ["answers", "forget", "00000000"],
    ["answers", "forget", "ANSWER"],
    ["answers", "forget", "ANSWER", "--json"],
    ["metrics"],
    ["metrics", "--json", "--export", "EXPORT", "--clear"],
    ["forget", "nothing.md", "--json"],
    ["forget", "港.txt"],
    ["collections", "delete", "港湾"],
    ["ingest", "SHRINKING", "--collection", "port"],
    ["ingest", "SHRINKING", "--collection", "port"],
    ["ingest", "SHRINKING", "--collection", "port", "--json"],
    ["ingest", "SHRINKING", "--collection", "port", "--prune", "--json"],
    ["ingest", "SHRINKING", "--collection", "port", "--prune"],
    ["documents", "--json"],
    ["token", "add", "ci", "--per-day", "9"],
    ["token", "add", "ci"],
    ["token", "--json"],
    ["token"],
    ["token", "revoke", "ci"],
    ["sources"],
    ["source", "sync", "nope"],
    ["source", "pause", "nope"],
    ["source", "resume", "nope", "--keep"],
    ["source", "remove", "nope"],
    ["digest"],
    ["digest", "--json"],
    ["backup", "TAKEN"],
    ["backup", "NOWHERE"],
    ["backup", "TAKEN"],
    ["backup", "NO TEXT", "--json"],
]
_CHANGING = re.compile(
    r"""\b[0-9a-f]{32}\b | \b[0-9a-f]{8}$ | \d{4}-\d\d-\d\d[T ]?[\d:.+]* | [\d.]+[ ]/[ ][\d.]+[ ]m?s\b
    | (?<=kotae_)[\w-]{43} | \d+(?=[ ]KB) | (?<="bytes":[ ])\d+ | (?<="seconds":[ ])[\d.e-]+ | (?<="latency_ms":[ ])[\d.e-]+ | (?<=_ms":[ ])[\d.]+ | (?<=_seconds":[ ])[\d.]+""",
    re.MULTILINE | re.VERBOSE,
)


def _alike(text: str) -> str:
    """Without ids, dates and durations, and scores without the digits that depend on the order of a sum."""
    return re.sub(r"(\.\d{9})\d+", r"\1", _CHANGING.sub("…", text))


def _filled(argument: str, stands_for: dict[str, str]) -> str:
    for name, value in stands_for.items():
        argument = argument.replace(name, value)
    return argument


def shown(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[tuple[int, str, str]]:
    """Every command in order: its status, and what it prints without ids, dates and durations."""
    monkeypatch.setenv("KOTAE_HOME", str(home))
    found, answer = [], ""
    taught = str(next(folder.parent.glob("Q&A*")))
    taken, no_text = folder.parent / "taken.tar.gz", os.fsdecode(os.fsencode(folder.parent) + b"/\xff.tar.gz")
    for copy in (taken, Path(no_text)):
        copy.unlink(missing_ok=True)
    shrinking = folder.parent / "shrinking"
    shrinking.mkdir(exist_ok=True)
    for name in ("stays.md", "goes.md", "goes too.md"):
        (shrinking / name).write_text(f"# {name}\n\nThe crane {name} lifts ten tons.\n")
    for command in COMMANDS:
        stands_for = {"PAGES": str(folder), "EXPORT": str(home / "export"), "TAUGHT": taught, "ANSWER": answer}
        stands_for |= {
            "SHRINKING": str(shrinking),
            "LONG": str(folder.parent / "long"),
            "TAKEN": str(taken),
            "NO TEXT": no_text,
            "NOWHERE": "/nowhere/it",
        }
        arguments = [_filled(one, stands_for) for one in command]
        status = cli(arguments, prog_name="kotae", standalone_mode=False)
        printed = capsys.readouterr()
        found.append((status, _alike(printed.out), _alike(printed.err)))
        if "SHRINKING" in command:
            for goes in shrinking.glob("goes*"):
                goes.unlink()
        if command == ["answers", "--json"]:
            answer = json.loads(printed.out)["answers"][0]["id"]
        if "EXPORT" in command:
            exported = (home / "export").read_text(encoding="utf-8").splitlines()
            assert len(exported) == json.loads(printed.out)["searches"]["total"] > 0
    return found


def test_every_command_shows_the_same_through_the_owner_as_alone(
    tmp_path: Path,
    pages: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    logging_as_it_was: None,
) -> None:
    monkeypatch.setenv("KOTAE_MODEL", "extractive")
    alone = shown(tmp_path / "alone", pages, monkeypatch, capsys)
    with owner(tmp_path / "owned") as one:
        through = shown(tmp_path / "owned", pages, monkeypatch, capsys)
        cli(["source", "add", "folder", str(pages), "--name", "pages"], prog_name="kotae", standalone_mode=False)
        assert "“pages” is being synced" in capsys.readouterr().out
        one.process.terminate()
        assert '"level": "ERROR"' not in one.ended()[2]
    for command, here, there in zip(COMMANDS, alone, through, strict=True):
        assert here == there, command
    statuses = [status for status, _, _ in alone]
    assert {0, 1, 2, 3} == set(statuses) and statuses[0] == 0
    assert Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.tar.gz")).exists() and "\ufffd.tar.gz" in alone[-1][1]


def test_reasons_are_in_the_language_of_the_command(shared: Owner, far_home: Path) -> None:
    for language, words in (("ja_JP.UTF-8", "コレクション「nope」"), ("C.UTF-8", "no collection")):
        for command in (["documents", "--collection", "nope"], ["ask", "x", "--collection", "nope"]):
            assert words in kotae(*command, home=far_home, LANG=language).complaint(2)


def test_a_command_through_the_owner_opens_nothing_itself(shared: Owner, far_home: Path) -> None:
    heavy = {"sqlalchemy", "alembic", "numpy", "fastapi", "uvicorn", "qdrant_edge", "onnxruntime"}
    for command in (["documents"], ["search", "x"], ["ask", "x", "--json"]):
        needed = loaded(*command, home=far_home)
        assert "httpx" in needed and not needed & heavy, command


def test_a_command_alone_loads_no_server(tmp_path: Path) -> None:
    assert not loaded("ask", "x", home=tmp_path / "home") & {"fastapi", "uvicorn", "starlette"}


# -- starting -------------------------------------------------------------------------------------------------------


def test_run_says_where_it_is_and_answers_there(shared: Owner, far_home: Path, tmp_path: Path) -> None:
    assert len(shared.banner.splitlines()) <= 10
    for part in ("/chat", "/search", "/openapi.json", "/readyz", "/metrics", str(far_home)):
        assert part in shared.banner
    assert httpx.get(f"{shared.url}/readyz", trust_env=False).json()["status"] == "ready"
    assert (far_home / SOCKET).stat().st_mode & 0o777 == 0o600
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        said = kotae("run", home=tmp_path / "other", KOTAE_WEB_PORT="", PORT=port).complaint(2)
        assert port in said and "KOTAE_WEB_PORT" in said and len(said.splitlines()) == 1


def test_other_machines_are_not_served_without_a_token(tmp_path: Path) -> None:
    said = kotae("run", home=tmp_path / "home", KOTAE_WEB_HOST="0.0.0.0", LANG="ja_JP.UTF-8").complaint(2)
    assert "KOTAE_WEB_TOKEN" in said and "ほかのマシン" in said


@pytest.mark.parametrize("command", [["run"], ["chat", "--json"]])
def test_a_second_owner_is_refused_at_once(shared: Owner, far_home: Path, command: list[str]) -> None:
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = kotae(*command, home=far_home, cold=True, LANG="ja_JP.UTF-8").complaint(2)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)  # its own time: the machine may be busy with others
    assert ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime < SOON and "別の Kotae" in said
    assert httpx.get(f"{shared.url}/healthz", trust_env=False).status_code == 200


def test_a_home_far_down_has_a_short_name_for_as_long_as_it_is_needed(shared: Owner, far_home: Path) -> None:
    with short(far_home / SOCKET) as address:
        assert len(os.fsencode(address)) <= 100 < len(os.fsencode(far_home))
        with closing(socket.socket(socket.AF_UNIX)) as connection:
            connection.connect(address)
    assert not Path(address).parent.exists()
    with short(Path("x") / SOCKET) as address:
        assert address == f"x/{SOCKET}"


def test_a_chat_serves_its_home_too(sample_home: Path) -> None:
    terminal = Terminal(["chat"], environment(sample_home, KOTAE_LANGUAGE="en"))
    try:
        terminal.expect(PROMPT)
        done = kotae("ask", "What is the command for a rollback?", "--json", home=sample_home)
        assert "hatoba rollback" in check(done.lines)["text"]
        assert "Another Kotae" in kotae("run", home=sample_home).complaint(2)
        terminal.type("/quit\r")
        assert terminal.ended() == 0
    finally:
        terminal.close()
    assert not (sample_home / SOCKET).exists()


def test_a_killed_owner_leaves_nothing_in_the_way(tmp_path: Path, warm: Warm) -> None:
    home = tmp_path / "home"
    with owner(home) as first:
        first.process.kill()
        first.process.wait()
    assert (home / SOCKET).is_socket()
    assert warm("documents", "--json", home=home).document == {"documents": []}
    assert warm("collections", "describe", "port", "Ships.", home=home).returncode == 0
    with owner(home):
        assert warm("collections", home=home).stdout.startswith("port")


# -- stopping -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_stops_when_it_is_told_to(tmp_path: Path, by: signal.Signals) -> None:
    with owner(tmp_path / "home") as one:
        one.process.send_signal(by)
        status, out, err = one.ended()
    assert (status, err) == (0, "") and "Stopping" in out and not (tmp_path / "home" / SOCKET).exists()


async def in_thread(work: Callable[[], Any]) -> Any:
    return await asyncio.to_thread(work)


async def test_what_runs_is_answered_before_it_stops_and_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    home = tmp_path / "home"
    hang = Reply((thought("I look it up."), text("One moment.")), ending="hang")
    async with FakeGemini(hang) as gemini:
        more = {"GEMINI_BASE_URL": gemini.url, "GEMINI_API_KEY": gemini.key}
        one = await in_thread(lambda: Owner(home, **more))
        try:
            async with httpx.AsyncClient(base_url=one.url, trust_env=False) as client:
                question = {"query": "When do ships moor at pier seven?"}
                async with client.stream(
                    "POST", "/chat", json=question, headers={"Accept": "text/event-stream"}
                ) as response:
                    lines = response.aiter_lines()
                    assert "I look it up." in await anext(lines)
                    one.process.send_signal(signal.SIGTERM)
                    assert one.process.stdout and "Stopping" in (await in_thread(one.process.stdout.readline)).decode()
                    await until(lambda: not (home / SOCKET).exists())
                    assert one.process.poll() is None
                    # A command that comes now waits for it, and then opens the home itself.
                    assert await alone_at(home, lambda told: one.process.send_signal(signal.SIGTERM))
                    status, _, _ = await in_thread(one.ended)
            assert status == -signal.SIGTERM and open_turns(home) == [question["query"]]
        finally:
            one.process.kill()
            await in_thread(one.process.communicate)
    with (await in_thread(lambda: Owner(home))).process as again:  # whoever asked is gone: it is closed, not answered
        await until(lambda: open_turns(home) == [])
        again.terminate()
        await in_thread(again.communicate)


async def alone_at(home: Path, tell: Callable[[str], None]) -> bool:
    async def through(owner: object) -> bool:
        return False

    async def alone(lock: int | None) -> bool:
        assert lock is not None
        os.close(lock)
        return True

    async with asyncio.timeout(60):
        return await at_home(home, "en", through, alone, tell=tell)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not await in_thread(true):
            pass


async def test_a_question_stopped_at_the_terminal_is_closed_by_the_owner(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with FakeGemini(Reply((thought("I look it up."), text("One moment.")), ending="hang")) as gemini:
        more = {"GEMINI_BASE_URL": gemini.url, "GEMINI_API_KEY": gemini.key}
        one = await in_thread(lambda: Owner(home, **more))
        try:
            asking = Process(
                "ask", "--json", "When do ships moor at pier seven?", env=environment(home), stdout=PIPE, stderr=PIPE
            )
            assert asking.stdout is not None
            assert "I look it up." in (await in_thread(asking.stdout.readline)).decode()
            assert len(open_turns(home)) == 1
            os.kill(asking.pid, signal.SIGINT)
            _, errors = await in_thread(asking.communicate)
            assert (asking.returncode, errors.decode()) == (130, "")
            await until(lambda: open_turns(home) == [])
        finally:
            one.process.kill()
            await in_thread(one.process.communicate)


async def test_an_owner_that_dies_is_said_in_words(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with FakeGemini(Reply((thought("I look it up."), text("One moment.")), ending="hang")) as gemini:
        more = {"GEMINI_BASE_URL": gemini.url, "GEMINI_API_KEY": gemini.key}
        one = await in_thread(lambda: Owner(home, **more))
        asking = Process(
            "ask", "--json", "When do ships moor?", env=environment(home, LANG="ja_JP.UTF-8"), stdout=PIPE, stderr=PIPE
        )
        assert asking.stdout is not None
        assert b"I look it up." in await in_thread(asking.stdout.readline)
        one.process.kill()
        out, err = await in_thread(asking.communicate)
        await in_thread(one.process.communicate)
    assert asking.returncode is not None
    assert "停止" in Done(asking.returncode, "", err.decode()).complaint(1) and b'"answer"' not in out
