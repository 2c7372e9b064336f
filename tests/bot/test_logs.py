"""What is logged where: no secret anywhere, no message text outside the chat log."""

import asyncio
import fcntl
import io
import json
import logging
import stat
import sys
import threading
import warnings
from multiprocessing import get_context
from pathlib import Path

import pytest

from agent.events import Answered, Citation, Drafted, Reflected, Thought, ToolCalled, ToolReturned
from bot.logs import ChatLog, Redactor, set_up
from bot.types import Audience, Incoming, Place

SECRETS = {
    "slack bot": "xoxb-1111111111-2222222222-CANARYabcdef",
    "slack user": "xoxp-1111111111-CANARYabcdef",
    "slack app": "xapp-1-A0123-4567-CANARYabcdef",
    "slack rotated": "xoxe.xoxb-1-CANARYabcdef",
    "slack refresh": "xoxe-1-CANARYabcdef",
    "slack webhook": "https://hooks.slack.com/services/T1/B1/CANARYabcdef",
    "slack socket": "wss://wss-primary.slack.com/link/?ticket=CANARY-abc&app_id=1",
    "slack file": "https://files.slack.com/f/a.pdf?t=xoxe-1-CANARY",
    "discord bot": "MTE4NzY1NDMyMTA5ODc2NTQzMg.GCANAR.CANARYCANARYCANARYCANARYCANARYCANARY00",
    "discord webhook": "https://discord.com/api/webhooks/118765432109876543/CANARYCANARYCANARYCANARY",
    "discord file": "https://cdn.discordapp.com/a/b/c.png?ex=65&is=64&hm=CANARY0123",
    "google": "AIzaSyCANARYCANARYCANARYCANARYCANARYCAN",
    "google new": "AQ.Ab8CANARYCANARYCANARYCANARY",
    "openai": "sk-proj-CANARYCANARYCANARY",
    "hugging_face": "hf_CANARYCANARYCANARYCANARY",
    "github": "ghp_CANARYCANARYCANARYCANARY",
    "github, fine-grained": "github_pat_11CANARYCANARYCANARY_CANARY",
    "gitlab": "glpat-CANARYCANARYCANARY",
    "aws": "AKIACANARYCANARYCANA",
    "aws, for a while": "ASIACANARYCANARYCANA",
    "jwt": "eyJhbGciCANARYCANARY.eyJzdWIiCANARY.CANARY-CANARY",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nCANARYCANARY",
    "basic": "basic auth: Basic CANARYabcdef==",
    "bearer": "Authorization: Bearer CANARY.abcdef-123456",
    "bot header": "{'Authorization': 'Bot CANARYabcdef123456'}",
    "api key header": "{'x-goog-api-key': 'CANARYabcdef'}",
    "signed url": "https://s3.amazonaws.com/b/k?X-Amz-Credential=CANARY%2F1&X-Amz-Signature=CANARY00",
    "key in url": "https://h/v1/models?key=CANARY0123456",
    "database": "postgresql+asyncpg://kotae:CANARY@db/kotae",
    "configured": "my own CANARY/pass phrase",
    "configured, quoted": "my%20own%20CANARY%2Fpass%20phrase",
}
pytestmark = pytest.mark.usefixtures("logging_as_it_was")
CONFIGURED = ("my own CANARY/pass phrase",)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(params=[io.StringIO, Terminal], ids=["json", "terminal"])
def stream(request: pytest.FixtureRequest) -> io.StringIO:
    made: io.StringIO = request.param()
    return made


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
def test_no_secret_gets_out_by_any_way(secret: str, stream: io.StringIO, tmp_path: Path) -> None:
    redactor = set_up("DEBUG", secrets=CONFIGURED, stream=stream)
    log = logging.getLogger("bot.somewhere")
    log.info("in the message %s and on", secret)
    log.info(secret)
    log.warning("in a mapping %s", {"value": secret})
    log.info("in a field", extra={"url": secret})
    logging.getLogger("third.party").error("theirs: %r", [secret])
    try:
        try:
            raise KeyError(secret)
        except KeyError as inner:
            raise RuntimeError(f"outer {secret}") from inner
    except RuntimeError:
        log.exception("failed")
    sys.excepthook(ValueError, ValueError(secret), None)
    thread = threading.Thread(target=lambda: json.loads(secret))
    thread.start()
    thread.join()
    chat = ChatLog(tmp_path / "logs" / "agent_chat.log", redactor)
    chat.record("t", ToolCalled("1", "search", {"query": secret, "deep": [{"x": secret}]}))
    chat.record("t", Answered(secret, (Citation(1, "d", "c", 0, secret, secret),)))
    chat.close()
    written = (tmp_path / "logs" / "agent_chat.log").read_text(encoding="utf-8")
    assert "CANARY" not in stream.getvalue() + written
    assert stream.getvalue().count("[redacted]") >= 7
    assert written.count("[redacted]") >= 5


@pytest.mark.parametrize(
    "text",
    [
        "How do refunds work?",
        "経費精算の締切はいつですか？",
        "https://example.com/docs/page?section=3&lang=ja#top",
        "The task-based sk-learn notes, version 1.2.3.4 of kubernetes.io/docs",
        "2026-11-21T22:26:00+00:00 a1b2c3d4e5f60718293a4b5c6d7e8f90",
        "mailto:someone@example.com and ssh git@github.com:a/b",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert Redactor()(text) == text


def test_a_json_line_has_its_fields() -> None:
    stream = io.StringIO()
    set_up("INFO", stream=stream)
    logging.getLogger("bot.turns.turns").info("turn ended", extra={"turn": "t1", "outcome": "answered", "seconds": 1.5})
    logging.getLogger("bot.turns.turns").debug("not shown")
    (line,) = stream.getvalue().splitlines()
    entry = json.loads(line)
    assert entry.pop("at").endswith("+00:00")
    assert entry == {
        "level": "INFO",
        "logger": "bot.turns.turns",
        "message": "turn ended",
        "turn": "t1",
        "outcome": "answered",
        "seconds": 1.5,
    }


def test_a_terminal_gets_a_readable_line() -> None:
    stream = Terminal()
    set_up("INFO", stream=stream)
    logging.getLogger("bot.turns.turns").info("turn %s", "ended", extra={"outcome": "answered"})
    assert stream.getvalue().endswith(" INFO bot.turns.turns turn ended outcome=answered\n")


def test_other_peoples_libraries_are_heard_from_warning_up() -> None:
    stream = io.StringIO()
    set_up("DEBUG", stream=stream)
    for name in ("httpx", "alembic.runtime", "google_genai.models", "sqlalchemy.engine", "aiosqlite"):
        logging.getLogger(name).debug("payload")
        logging.getLogger(name).info("payload")
        logging.getLogger(name).warning("heard")
    chatty = logging.getLogger("chatty.library")
    chatty.setLevel(logging.DEBUG)
    chatty.debug("payload")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("deprecated thing", stacklevel=1)
    assert "payload" not in stream.getvalue()
    assert stream.getvalue().count('"heard"') == 5
    assert "deprecated thing" in stream.getvalue()


def test_set_up_twice_logs_once() -> None:
    first, second = io.StringIO(), io.StringIO()
    set_up("INFO", stream=first)
    set_up("INFO", stream=second)
    logging.getLogger("bot").info("once")
    assert not first.getvalue()
    assert second.getvalue().count("once") == 1


async def test_an_exception_that_the_loop_found_passes_through() -> None:
    stream = io.StringIO()
    set_up("INFO", stream=stream)
    asyncio.get_running_loop().call_exception_handler(
        {"message": "lost", "exception": ValueError("sk-CANARYCANARYCANARY")}
    )
    assert "lost" in stream.getvalue() and "CANARY" not in stream.getvalue()


# -- the chat log ---------------------------------------------------------------------------------------------------


def question(text: str) -> Incoming:
    return Incoming(Place("slack", "T", "C"), "1.0", "1.0", "U1", text, Audience("public"))


def test_the_chat_log_holds_the_whole_dialogue_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "logs" / "agent_chat.log"
    chat = ChatLog(path, Redactor())
    chat.asked("t1", question("経費の締切は？"))
    for event in (
        Thought("探します。"),
        ToolCalled("1", "search_rag_knowledge_base", {"query": "経費 締切"}),
        ToolReturned("1", "search_rag_knowledge_base", "2件"),
        Drafted("25日です。[1]"),
        Reflected("keep", "資料どおり。"),
        Answered("25日です。[1]", model="extractive"),
    ):
        chat.record("t1", event)
    chat.close()
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [entry["type"] for entry in entries] == [
        "question", "thought", "tool_call", "tool_result", "draft", "reflection", "answer",
    ]  # fmt: skip
    assert {entry["turn"] for entry in entries} == {"t1"}
    assert entries[0]["text"] == "経費の締切は？" and entries[2]["arguments"] == {"query": "経費 締切"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_chat_log_is_rotated(tmp_path: Path) -> None:
    path = tmp_path / "agent_chat.log"
    chat = ChatLog(path, Redactor(), max_bytes=1000, files=3)
    for number in range(100):
        chat.record(str(number), Thought("x" * 100))
    chat.close()
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["agent_chat.log", "agent_chat.log.1", "agent_chat.log.2"]
    assert all(file.stat().st_size <= 1000 and stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
    kept = [int(json.loads(line)["turn"]) for file in reversed(files) for line in file.read_text().splitlines()]
    assert kept == list(range(kept[0], 100))


def _write(path: Path, writer: int) -> None:
    chat = ChatLog(path, Redactor(), max_bytes=20_000, files=50)
    for number in range(200):
        chat.record(f"{writer}-{number}", Thought("y" * 50))


def test_several_processes_write_whole_lines_and_lose_none(tmp_path: Path) -> None:
    path = tmp_path / "agent_chat.log"
    spawn = get_context("spawn")
    writers = [spawn.Process(target=_write, args=(path, writer)) for writer in range(3)]
    for process in writers:
        process.start()
    for process in writers:
        process.join()
    found = [json.loads(line)["turn"] for file in tmp_path.iterdir() for line in file.read_text().splitlines()]
    assert sorted(found) == sorted(f"{writer}-{number}" for writer in range(3) for number in range(200))


def test_a_chat_log_that_cannot_be_written_costs_a_log_line_only(tmp_path: Path) -> None:
    stream = io.StringIO()
    set_up("INFO", stream=stream)
    (tmp_path / "logs").write_text("a file where the folder should be")
    chat = ChatLog(tmp_path / "logs" / "agent_chat.log", Redactor())
    chat.record("t", Thought("the text stays out"))
    chat.close()
    assert "cannot be written" in stream.getvalue() and "the text stays out" not in stream.getvalue()


async def test_the_chat_log_does_not_keep_the_event_loop_waiting(tmp_path: Path) -> None:
    """Another process holds the file; recording goes on, and `flush` waits for the lines."""
    path = tmp_path / "agent_chat.log"
    chat = ChatLog(path, Redactor())
    with path.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for number in range(100):
            chat.record(str(number), Thought("x"))
        flushing = asyncio.create_task(chat.flush())
        done, _ = await asyncio.wait({flushing}, timeout=0.1)
        assert not done and path.stat().st_size == 0
    await flushing
    assert [json.loads(line)["turn"] for line in path.read_text().splitlines()] == [str(n) for n in range(100)]
    await chat.flush()  # nothing is left
    chat.close()


async def test_the_chat_log_goes_on_when_it_can_be_written_again(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.write_text("a file where the folder should be")
    chat = ChatLog(folder / "agent_chat.log", Redactor())
    chat.record("lost", Thought("x"))
    await chat.flush()
    folder.unlink()
    chat.record("kept", Thought("x"))
    await chat.flush()
    assert [json.loads(line)["turn"] for line in (folder / "agent_chat.log").read_text().splitlines()] == ["kept"]
    chat.close()
