"""The terminal channel as a program: through pipes, and on a real (pseudo) terminal."""

import codecs
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.adapters.terminal.pseudo_terminal import Terminal
from tests.bot.program import Process

ROOT = Path(__file__).parent.parent.parent.parent
GOLDEN = ROOT / "tests" / "golden" / "terminal"
PROGRAM = "tests.adapters.fixed"
PROMPT = "kotae› "
PLAIN = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TZ": "UTC", "TERM": "xterm-256color"}


def piped(*arguments: str, lines: bytes = b"", encoding: str = "") -> subprocess.CompletedProcess[bytes]:
    """`encoding`: that of its streams, which Python looks at when it starts."""
    if encoding:
        command = [sys.executable, "-m", PROGRAM, *arguments]
        return subprocess.run(command, env=PLAIN | {"PYTHONIOENCODING": encoding}, cwd=ROOT, capture_output=True)
    with Process(*arguments, env=PLAIN, stdin=PIPE, stdout=PIPE, stderr=PIPE, module=PROGRAM) as program:
        said, complained = program.communicate(lines)
    return subprocess.CompletedProcess(arguments, program.wait(), said, complained)


def shown(done: subprocess.CompletedProcess[bytes]) -> str:
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8")


# -- from a pipe ----------------------------------------------------------------------------------------------------


def test_a_conversation_from_a_pipe_in_japanese() -> None:
    lines = "有給は何日？\n/sources\n/sources 1\n\n  \nHow long do refunds take?\n/unanswered\nこのthread?は何問目？\n有給は10日、sure?"
    output = shown(piped("chat", "--language", "ja", lines=lines.encode()))
    assert output == (GOLDEN / "chat.ja.txt").read_text(encoding="utf-8")


def test_a_conversation_from_a_pipe_in_english() -> None:
    lines = b"How long do refunds take?\n/up\n/down wrong_source It is on the other page.\nAre you sure?\n/nonsense\n/help\n/quit\nnot read"
    done = piped("chat", lines=lines)
    assert shown(done) == (GOLDEN / "chat.en.txt").read_text(encoding="utf-8")
    assert done.stderr.decode().splitlines() == [
        "voted turn-en up None ''",
        "voted turn-en down wrong_source 'It is on the other page.'",
    ]


def test_every_line_is_an_event_for_programs_and_a_slash_begins_no_command() -> None:
    output = shown(piped("chat", "--json", lines="/help のthread?は？\nこのthread?は？sure?\n".encode()))
    events = [json.loads(line) for line in output.splitlines()]
    assert [event["type"] for event in events[:8]] == [
        *("thought", "tool_call", "tool_result", "tool_call", "tool_result", "draft", "reflection", "answer")
    ]
    answers = [event for event in events if event["type"] == "answer"]
    assert [answer["text"] for answer in answers] == ["Question 1 of this thread.", "Question 2 of this thread."]
    assert answers[0]["citations"][0] == {
        "n": 1,
        "document": "休暇.md",
        "collection": "handbook",
        "chunk": 2,
        "quote": "年次有給休暇は入社日に10日付与します。",
        "url": None,
        "date": "2026-04-01",
    }
    assert [answer["unsure"] for answer in answers] == [False, True]
    assert events[2]["hits"][0]["scores"] == {"dense": 0.912, "fused": 1.0} and events[4]["failed"]


def test_one_question_without_steps_prints_the_answer_alone() -> None:
    done = piped("ask", "How long do refunds take?", "--steps", "off")
    assert shown(done).strip().startswith("Refunds take 30 days. [1]")
    assert done.stderr.decode().strip() == "answered"


def test_verbose_steps_show_the_passages() -> None:
    assert "0.87  refunds [old].md  Refunds take 30 days." in shown(piped("ask", "Refunds?", "--steps", "verbose"))


def test_a_new_thread_is_another_conversation() -> None:
    lines = b"a thread?\nb thread?\n/new\nc thread?\n/threads\n/thread 1\nd thread?\n/thread 9\n/up\n"
    output = shown(piped("chat", "--steps", "off", lines=lines))
    assert re.findall(r"Question (\d)", output) == ["1", "2", "1", "3"]
    assert "  1  a thread?\n* 2  c thread?\nThread 1: a thread?\n" in output
    assert "Which thread? /thread 1 to /thread 2." in output


def test_there_is_nothing_to_rate_or_show_before_an_answer() -> None:
    output = shown(piped("chat", lines=b"/up\n/down\n/sources\n/ingest\n"))
    assert output.splitlines() == [
        "There is no answer in this thread to rate yet.",
        "There is no answer in this thread to rate yet.",
        "The last answer has no sources.",
        "Which file or folder? /ingest PATH",
    ]


@pytest.mark.parametrize("quoted", ["{}", "'{}'", '"{}"'])
def test_files_and_folders_are_added(tmp_path: Path, quoted: str) -> None:
    folder = tmp_path / "two words"
    (folder / "sub").mkdir(parents=True)
    (folder / ".hidden").write_text("no")
    (folder / "規程.md").write_text("abc")
    (folder / "sub" / "mail.msg").write_text("x")
    output = shown(piped("chat", lines=f"/ingest {quoted.format(folder)}\n/ingest {tmp_path / 'none.md'}\n".encode()))
    assert output.splitlines() == [
        "sub/mail.msg: refused. It is a mail file.",
        "規程.md: added to documents (3 chunks)",
        "none.md: refused. It cannot be opened: No such file or directory.",
    ]


@pytest.mark.parametrize("typed", ["~nosuchuser/x.md", "a\0b.md", "many words " * 30])
def test_what_can_be_no_file_is_refused_and_the_talk_goes_on(typed: str) -> None:
    output = shown(piped("chat", "--steps", "off", lines=f"/ingest {typed}\nrefunds?\n".encode()))
    assert ": refused. It cannot be opened: " in output.splitlines()[0] and "30 days" in output


def test_bytes_that_are_no_text_are_put_all_the_same() -> None:
    output = shown(piped("chat", "--steps", "off", lines=codecs.BOM_UTF8 + b"refunds \xff\x93\xfa?\r\n"))
    assert output.startswith("kotae› refunds \ufffd\ufffd\ufffd?\n") and "30 days" in output


@pytest.mark.parametrize("encoding", ["cp932", pytest.param("ascii", marks=pytest.mark.long)])
def test_a_terminal_without_emoji_or_japanese_gets_question_marks(encoding: str) -> None:
    done = piped("ask", "有給は何日？", encoding=encoding)
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode(encoding)
    assert "ツール呼び出し] 「" in text and ("10" in text)
    done = piped("ask", "有給は何日？", "--json", encoding=encoding)
    assert json.loads(done.stdout.decode(encoding).splitlines()[-1])["text"].startswith("年次有給休暇")


def test_nothing_in_an_answer_steers_the_terminal() -> None:
    output = shown(piped("ask", "evil"))
    assert output == "[🧠 Thought] gone\n\nred\nline\n\n"


# -- on a terminal --------------------------------------------------------------------------------------------------


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for one in opened:
        one.close()


def terminal_of(*arguments: str, **environment: str) -> Terminal:
    return Terminal(arguments, PLAIN | environment, PROGRAM)


def test_a_person_is_asked_what_was_not_answered_surely(terminals: list[Terminal]) -> None:
    terminals.append(terminal := terminal_of("chat"))
    terminal.expect(PROMPT)
    terminal.type("/ask\r")
    terminal.expect("no question in this thread")
    terminal.type("Refunds, sure?\r")
    terminal.expect("/ask brings it to a person")
    terminal.type("/ask yes\r")  # nothing has been offered: this asks first
    terminal.expect("It is night for Mika.")
    terminal.expect("/ask yes: Send it now")
    terminal.type("/ask yes\r")
    terminal.expect("I have asked Mika.")
    terminal.type("How long do refunds take?\r")
    terminal.expect("Refunds take 30 days")
    terminal.expect(PROMPT)
    terminal.type("/quit\r")
    assert terminal.ended() == 0


def test_a_terminal_gets_a_prompt_colours_and_the_answer(terminals: list[Terminal]) -> None:
    terminals.append(terminal := terminal_of("chat", "--language", "ja"))
    assert "文書について質問してください" in terminal.expect(PROMPT)
    terminal.type("有給は何日？\r")
    steps = terminal.expect("思考")
    assert "\x1b[" in steps
    terminal.expect("出典")
    terminal.expect(PROMPT)
    terminal.type("/quit\r")
    assert terminal.ended() == 0


def test_no_color_is_honoured(terminals: list[Terminal]) -> None:
    terminals.append(terminal := terminal_of("chat", NO_COLOR="1"))
    terminal.expect(PROMPT)
    terminal.type("Refunds?\r")
    assert not re.search(r"\x1b\[[0-9;]*3[1-7]m", terminal.expect("Sources"))


def test_ctrl_c_stops_the_turn_and_ctrl_d_ends(terminals: list[Terminal]) -> None:
    terminals.append(terminal := terminal_of("chat"))
    terminal.expect(PROMPT)
    terminal.type("wait\r")
    terminal.expect("Waiting.")
    terminal.type("\x03")
    terminal.expect("Stopped.")
    terminal.expect(PROMPT)
    terminal.type("\x03")
    terminal.expect("Ctrl-D or /quit ends.")
    terminal.expect(PROMPT)
    terminal.type("Refunds?\r")
    terminal.expect("30 days")
    terminal.expect(PROMPT)
    terminal.type("\x04")
    assert terminal.ended() == 0


def test_ctrl_c_from_a_pipe_ends_the_program() -> None:
    with Process("chat", env=PLAIN, stdin=PIPE, stdout=PIPE, stderr=PIPE, module=PROGRAM) as program:
        assert program.stdin and program.stdout
        program.stdin.write(b"wait\n")
        program.stdin.flush()
        assert any(b"Waiting." in line for line in program.stdout)
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=30) != 0
