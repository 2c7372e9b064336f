"""The main job, whole: documents, a question, steps, an answer with its sources; with every model; and after a
crash."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from tests.adapters.terminal.pseudo_terminal import Terminal
from tests.adapters.terminal.test_channel import PROMPT
from tests.bot.cli.test_commands import check, open_turns
from tests.bot.program import Done, Process, Warm, environment, kotae
from tests.fakes.gemini import Block, FakeGemini, Reply, busy, text, thought

QUESTION = "What is the command for a rollback?"
WRONG_KEY = "AIzaWrong-canary-0123456789012345"


# -- Gemini ---------------------------------------------------------------------------------------------------------


async def asks(program: Callable[..., Done], home: Path, gemini: FakeGemini, *arguments: str, **more: Any) -> Done:
    named = {"GEMINI_BASE_URL": gemini.url, "GEMINI_API_KEY": gemini.key, "KOTAE_LOG_LEVEL": "DEBUG", **more}
    return await asyncio.to_thread(program, "ask", "--json", *arguments, home=home, **named)


def logged(home: Path, done: Done) -> str:
    """All that was written for whoever runs it, but the log of the dialogues."""
    files = [path for path in (home / "logs").rglob("*") if path.is_file() and not path.name.startswith("agent_chat")]
    return done.stderr + "".join(path.read_text(encoding="utf-8") for path in files)


@pytest.mark.parametrize("version", ["", "v1beta"])
async def test_gemini_answers_with_a_citation(sample_home: Path, warm: Warm, version: str) -> None:
    program = warm if version else kotae  # the program as it is installed, once
    more = {"GEMINI_API_VERSION": version, "GOOGLE_API_KEY": "AIzaAnother-0123456789012345678"}
    async with FakeGemini(obedient=True) as gemini:
        done = await asks(program, sample_home, gemini, QUESTION, **more)
        assert {call.version for call in gemini.journal} == {version or "v1"} and not gemini.refused
    answer = check(done.lines)
    assert (done.returncode, answer["outcome"], answer["model"]) == (0, "answered", "gemini:gemini-3.8-flash")
    assert "hatoba rollback" in answer["text"] and answer["citations"][0]["document"] == "en/releases.md"
    log = logged(sample_home, done)
    assert "HTTP Request" not in log and "GOOGLE_API_KEY" not in log
    assert not any(canary in log for canary in (gemini.key, QUESTION, "hatoba rollback", more["GOOGLE_API_KEY"]))


async def test_gemini_finds_nothing_and_that_is_a_miss(sample_home: Path, warm: Warm) -> None:
    question = "What did the opera in Oslo charge for a ticket in 1931?"
    async with FakeGemini(obedient=True) as gemini:
        done = await asks(warm, sample_home, gemini, question)
    assert (done.returncode, check(done.lines)["outcome"]) == (3, "unknown")
    misses = await asyncio.to_thread(warm, "unanswered", "--json", home=sample_home)
    assert question in [one["question"] for one in misses.document["questions"]]


async def test_a_question_that_gemini_blocks_is_declined_without_a_word_in_the_log(sample_home: Path) -> None:
    async with FakeGemini(Block()) as gemini:
        done = await asks(kotae, sample_home, gemini, QUESTION, KOTAE_LOG_LEVEL="WARNING")
    assert (done.returncode, check(done.lines)["outcome"]) == (3, "declined") and logged(sample_home, done) == ""


@pytest.mark.parametrize("trouble", ["key", "down", "busy"])
async def test_when_gemini_fails_the_built_in_model_answers_and_says_so(
    sample_home: Path, warm: Warm, trouble: str
) -> None:
    async with FakeGemini(*[busy("3600s")] * 9) as gemini:
        more = {"GEMINI_API_KEY": WRONG_KEY} if trouble == "key" else {}
        if trouble == "down":
            more["GEMINI_BASE_URL"] = "http://127.0.0.1:9"
        done = await asks(warm, sample_home, gemini, QUESTION, **more)
    answer = check(done.lines)
    assert (done.returncode, answer["outcome"]) == (0, "answered") and "hatoba rollback" in answer["text"]
    said = " ".join(str(event.get("text", event.get("summary"))) for event in done.lines)
    assert "extractive" in answer["model"] and "Traceback" not in said
    assert not any(internal in said for internal in ("400", "429", "INVALID", "ConnectError", "127.0.0.1", "API key"))
    log = logged(sample_home, done)
    assert {"key": "key", "down": "onnect", "busy": "429"}[trouble] in log
    assert not any(canary in log + said for canary in (WRONG_KEY, gemini.key)) and QUESTION not in log


# -- secrets and texts ----------------------------------------------------------------------------------------------


async def test_texts_stay_out_of_every_log_but_that_of_the_dialogues(tmp_path: Path, warm: Warm) -> None:
    home, page = tmp_path / "home", tmp_path / "page-canary-name.md"
    secret = "AIzaSecret-canary-01234567890123456"
    page.write_text("# Vault\n\nThe vault-canary-text opens at noon on every working day.\n")
    more: dict[str, Any] = {"KOTAE_LOG_LEVEL": "DEBUG", "OPENAI_API_KEY": secret}
    added = await asyncio.to_thread(warm, "ingest", page, tmp_path / "none-canary.md", home=home, **more)
    questions = f"When does the vault open?\nWhat of the question-canary? My key is {secret}\n"
    asked = await asyncio.to_thread(kotae, "chat", "--json", home=home, lines=questions, **more)
    assert added.returncode == 0 and "vault-canary-text" in asked.stdout
    for done in (added, asked):
        assert done.stderr and "canary" not in logged(home, done)
    dialogue = (home / "logs" / "agent_chat.log").read_text(encoding="utf-8")
    assert "question-canary" in dialogue and "vault-canary-text" in dialogue and secret not in dialogue
    assert (home / "logs" / "agent_chat.log").stat().st_mode & 0o077 == 0


# -- stopped and killed ---------------------------------------------------------------------------------------------


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for one in opened:
        one.close()


def chat(home: Path, **more: str) -> Terminal:
    return Terminal(["chat"], environment(home, KOTAE_LANGUAGE="en", **more))


async def test_a_question_interrupted_by_a_kill_is_answered_at_the_next_start_and_only_then(
    tmp_path: Path, terminals: list[Terminal], warm: Warm
) -> None:
    home = tmp_path / "home"
    (tmp_path / "page.md").write_text("# Harbour\n\nShips moor at pier seven until midnight.\n")
    await asyncio.to_thread(warm, "ingest", tmp_path / "page.md", home=home)
    async with FakeGemini(Reply((thought("I look it up."), text("One moment.")), ending="hang")) as gemini:
        more = {"GEMINI_BASE_URL": gemini.url, "GEMINI_API_KEY": gemini.key}
        terminals.append(first := await asyncio.to_thread(lambda: chat(home, **more)))
        await asyncio.to_thread(first.expect, PROMPT)
        first.type("When do ships moor at pier seven?\r")
        await asyncio.to_thread(first.expect, "I look it up.")
        first.kill()
        env = environment(home, **more)
        asking = Process("ask", "--json", "Who owns the pier?", env=env, stdout=PIPE)  # its shell dies too
        gemini.order(Reply((thought("I wonder."), text("One moment.")), ending="hang"))
        assert asking.stdout is not None
        assert await asyncio.to_thread(asking.stdout.readline)
        asking.kill()
        await asyncio.to_thread(asking.communicate)
    assert sorted(open_turns(home)) == ["When do ships moor at pier seven?", "Who owns the pier?"]

    terminals.append(second := await asyncio.to_thread(lambda: chat(home)))
    shown = await asyncio.to_thread(second.expect, PROMPT)
    assert "interrupted last time: “When do ships moor" in shown and "until midnight" in shown
    assert "Who owns" not in shown and len(shown.split("interrupted")[0].splitlines()) <= 10
    second.type("/threads\r")
    assert "When do ships" in await asyncio.to_thread(second.expect, PROMPT)
    second.type("/quit\r")
    assert await asyncio.to_thread(second.ended) == 0
    assert open_turns(home) == []
    again = await asyncio.to_thread(warm, "chat", home=home)
    assert (again.stdout, again.stderr) == ("", "")


async def test_a_question_stopped_with_ctrl_c_does_not_come_back(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with FakeGemini(Reply((thought("I look it up."), text("One moment.")), ending="hang")) as gemini:
        env = environment(home, GEMINI_BASE_URL=gemini.url, GEMINI_API_KEY=gemini.key)
        asking = Process("ask", "--json", "When do ships moor at pier seven?", env=env, stdout=PIPE, stderr=PIPE)
        assert asking.stdout is not None
        assert await asyncio.to_thread(asking.stdout.readline)
        os.kill(asking.pid, signal.SIGINT)
        _, errors = await asyncio.to_thread(asking.communicate)
    assert (asking.returncode, errors.decode()) == (130, "")
    assert open_turns(home) == []
