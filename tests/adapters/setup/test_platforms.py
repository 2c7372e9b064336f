"""The set-up as a newcomer meets it: links first, wrong tokens named, each token checked at once, `.env` kept whole."""

import asyncio
import json
import os
import pty
import stat
import termios
import time
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from dotenv import dotenv_values
from dotenv.parser import parse_stream
from hypothesis import given
from hypothesis import strategies as st

from adapters.setup.platforms import set_up
from adapters.setup.wizard import FlagValues, Terminal, browser, hyperlinks
from adapters.slack.setup import manifest
from bot.config.dotenv import EnvFileError, current, digest_channel, machine_timezone, write
from bot.config.settings import load
from retrieval.i18n import Language
from tests.adapters.discord.setup.test_check import ID, TOKEN, TWO, discord
from tests.bot.library import opened
from tests.bot.program import Done, Process, environment, kotae
from tests.fakes import slack_gate as gate
from tests.fakes.gemini import FakeGemini, Reply, text
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_http import SIGNING_SECRET

USER_TOKEN = "xoxp-1-CANARYCANARY"
APP_TOKEN = "xapp-1-A1-CANARYCANARY"
CLIENT_SECRET = "CANARYCANARYCANARYCANARYCANARY00"


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    return tmp_path / ".env"


def put(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def lines(file: Path) -> list[str]:
    """None where there is no file."""
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def values(file: Path) -> dict[str, str | None]:
    """What a program finds in it; the file is its owner's alone."""
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    return dict(dotenv_values(file, encoding="utf-8-sig"))


class Person:
    """Somebody at the keyboard: answers in order, and what was hidden while typed."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.prompts: list[str] = []
        self.hidden: list[str] = []

    def __call__(self, prompt: str, hidden: bool) -> str:
        self.prompts.append(prompt)
        if hidden:
            self.hidden.append(self._answers[0])
        return self._answers.pop(0)

    @property
    def done(self) -> bool:
        return not self._answers


Run = Callable[..., Any]


@pytest.fixture
def run(env_file: Path) -> Run:
    async def run(
        what: str | None,
        *,
        person: Person | None = None,
        environ: Mapping[str, str] | None = None,
        language: Language = "en",
        check: bool = True,
        yes: bool = False,
        wait: bool | None = None,
        manifest: Path | None = None,
        embeddings: bool | None = None,
        http: str | None = None,
        opens: Callable[[str], bool] | None = None,
        follows: bool = False,
        **given: str,
    ) -> int:
        terminal = Terminal(language, person, opens, follows)
        flags = FlagValues(given, check, yes, wait, manifest, embeddings, http)
        return await set_up(what, flags, terminal, environ or {}, env_file)

    return run


# -- Slack ------------------------------------------------------------------------------------------------------------


async def test_slack_by_flags_is_checked_and_saved(
    run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with FakeSlack() as slack:
        tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        environ = {"SLACK_API_URL": slack.api_url}
        status = await run("slack", environ=environ, KOTAE_DIGEST_CHANNEL="C1", KOTAE_TIMEZONE="Asia/Tokyo", **tokens)
    said = capsys.readouterr()
    assert (status, said.err) == (0, "")
    assert values(env_file) == {**tokens, "KOTAE_DIGEST_CHANNEL": "C1", "KOTAE_TIMEZONE": "Asia/Tokyo"}
    assert said.out.index(manifest.link()) < said.out.index("@kotae in Loopback") < said.out.index("Saved in")
    for part in ("SLACK_BOT_TOKEN, SLACK_APP_TOKEN", "Next: kotae run", "/invite @kotae", "@kotae What do you know?"):
        assert part in said.out, part
    assert slack.bot_token not in said.out and slack.app_token not in said.out


async def test_slack_over_http_by_flags(run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It asks for the signing secret instead of an app token, and for the address that the app is made with."""
    async with FakeSlack() as slack:
        tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_SIGNING_SECRET": SIGNING_SECRET}
        environ, file = {"SLACK_API_URL": slack.api_url}, env_file.parent / "manifest.json"
        for wrong in ("http://kotae.example.com", "kotae.example.com", "https://", "https://h/?a=b"):
            assert await run("slack", environ=environ, http=wrong, **tokens) == 2
        assert await run("slack", environ=environ, SLACK_SIGNING_SECRET=SIGNING_SECRET) == 2  # without --http
        assert await run("gemini", http="https://h", GEMINI_API_KEY="k") == 2
        assert not await asyncio.to_thread(env_file.exists)
        capsys.readouterr()
        status = await run(
            "slack", environ=environ, http="https://kotae.example.com/", manifest=file, yes=True, **tokens
        )
        said = capsys.readouterr()
        assert (status, said.err) == (0, ""), said
        assert {name: values(env_file)[name] for name in tokens} == tokens
        address = "https://kotae.example.com/slack/events"
        assert "Signing Secret → Show" in said.out and address in said.out and SIGNING_SECRET not in said.out
        assert json.loads(file.read_text()) == manifest.manifest(address)
        put(env_file, f"SLACK_APP_TOKEN={slack.app_token}\n")
        assert await run("slack", environ=environ, http="https://kotae.example.com", yes=True, **tokens) == 0
        assert "Take SLACK_APP_TOKEN out" in capsys.readouterr().out
        assert not slack.journal.calls("apps.connections.open")


async def test_slack_by_questions(run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with FakeSlack() as slack:
        person = Person("n", "", APP_TOKEN, slack.bot_token, USER_TOKEN, slack.app_token, "", "Mars", "UTC", "ja", "n")
        status = await run("slack", person=person, environ={"SLACK_API_URL": slack.api_url, "TZ": "Asia/Tokyo"})
    said = capsys.readouterr()
    assert status == 0 and person.done, said
    assert person.hidden == ["", APP_TOKEN, slack.bot_token, USER_TOKEN, slack.app_token]
    assert "[Asia/Tokyo]" in person.prompts[7] and "[en]" in person.prompts[9]
    assert values(env_file) == {
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "KOTAE_TIMEZONE": "UTC",
        "KOTAE_LANGUAGE": "ja",
    }
    needed, bot, app, zone = said.err.splitlines()
    assert "OAuth & Permissions" in needed
    assert bot.startswith("SLACK_BOT_TOKEN holds an app-level token (xapp-), but it should be a bot token (xoxb-)")
    assert app.startswith("SLACK_APP_TOKEN holds a user token (xoxp-), but it should be an app-level token (xapp-)")
    assert "KOTAE_TIMEZONE should be" in zone
    assert "CANARY" not in said.out + said.err


class Enough(Exception):
    """The person leaves once they have read what to do."""


class Reader(Person):
    def __call__(self, prompt: str, hidden: bool) -> str:
        if self.done:
            raise Enough
        return super().__call__(prompt, hidden)


@pytest.mark.parametrize("language", ["en", "ja"])
async def test_the_page_is_opened_where_there_is_a_browser(
    language: Language, run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []

    def opens(url: str) -> bool:
        opened.append(url)
        return True

    with pytest.raises(Enough):
        await run("slack", person=Reader(), opens=opens, language=language)
    said = capsys.readouterr().out
    assert opened == [manifest.link()] and manifest.link() not in said and "--no-browser" in said
    assert "--manifest" in said and "connections:write" in said and max(map(len, said.splitlines())) < 120
    assert list(env_file.parent.iterdir()) == []
    # Nobody is there, or the app is made already.
    await run("slack", opens=opens)
    with pytest.raises(Enough):
        await run("slack", person=Reader(), opens=opens, environ={"SLACK_BOT_TOKEN": "xoxb-1"})
    assert len(opened) == 1


async def test_the_manifest_is_written_where_no_link_can_be_followed(
    run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = env_file.parent / "slack-manifest.json"
    with pytest.raises(Enough):
        await run("slack", person=Reader("n"), opens=lambda url: False, follows=True)
    said = capsys.readouterr().out
    assert f"\x1b]8;;{manifest.link()}\x1b\\make the Slack app\x1b]8;;\x1b\\" in said and not file.exists()
    for answers in (("",), ("y",)):  # the second time it is there already
        with pytest.raises(Enough):
            await run("slack", person=Reader(*answers))
        said = capsys.readouterr().out
        assert file.read_text("utf-8") == manifest.text() and str(file) in said and manifest.link() in said
    put(file, "mine")
    for answer, left in (("", "mine"), ("ｙ", manifest.text())):  # as a Japanese keyboard may write it
        with pytest.raises(Enough):
            await run("slack", person=Reader("y", answer))
        assert file.read_text("utf-8") == left


async def test_the_manifest_goes_where_a_flag_says_and_over_nothing(
    run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = env_file.parent / "kotae.json"
    assert await run("slack", manifest=file) == 2  # the tokens are still missing
    assert file.read_text("utf-8") == manifest.text() and str(file) in capsys.readouterr().out
    put(file, "mine")
    assert await run("slack", manifest=file, language="ja") == 1
    assert "そのままにしました" in capsys.readouterr().err and file.read_text("utf-8") == "mine"
    assert await run("slack", manifest=env_file.parent / "no" / "folder.json") == 1
    assert "cannot be written" in capsys.readouterr().err
    assert await run("discord", manifest=file, DISCORD_TOKEN=TOKEN) == 2
    assert "--manifest is not for kotae setup discord" in capsys.readouterr().err


def test_a_browser_needs_a_screen_and_a_link_a_terminal_that_has_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert browser({}) is None and browser({"DISPLAY": ":0", "SSH_CONNECTION": "x"}) is None
    monkeypatch.setenv("BROWSER", "true")
    monkeypatch.setattr("webbrowser._tryorder", None)
    assert browser({"WAYLAND_DISPLAY": "wayland-0"}) is not None
    assert (
        hyperlinks({"TERM_PROGRAM": "vscode"})
        and hyperlinks({"VTE_VERSION": "7600"})
        and hyperlinks({"WT_SESSION": "1"})
    )
    for environ in ({}, {"TERM": "xterm-256color"}, {"VTE_VERSION": "4999"}, {"TERM_PROGRAM": "Apple_Terminal"}):
        assert not hyperlinks(environ)


async def test_a_token_that_slack_refuses_is_asked_for_again(
    run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with FakeSlack() as slack:
        person = Person("n", "xoxb-1-CANARYCANARY", slack.bot_token, slack.app_token, "", "", "", "n")
        assert await run("slack", person=person, environ={"SLACK_API_URL": slack.api_url}) == 0
    assert "does not accept SLACK_BOT_TOKEN" in capsys.readouterr().out
    assert values(env_file)["SLACK_BOT_TOKEN"] == slack.bot_token


async def test_a_token_that_slack_refuses_is_not_saved(
    run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with FakeSlack() as slack:
        status = await run(
            "slack",
            environ={"SLACK_API_URL": slack.api_url},
            SLACK_BOT_TOKEN="xoxb-1-CANARYCANARY",
            SLACK_APP_TOKEN=slack.app_token,
        )
    said = capsys.readouterr()
    assert status == 1 and not lines(env_file)
    assert "does not accept SLACK_BOT_TOKEN" in said.out and said.err == "kotae: Nothing was written.\n"


async def test_what_is_not_the_tokens_fault_can_be_saved_unchecked(
    run: Run, env_file: Path, capsys: pytest.CaptureFixture[str], unused_tcp_port: int
) -> None:
    environ = {"SLACK_API_URL": f"http://127.0.0.1:{unused_tcp_port}/api/"}
    tokens = {"SLACK_BOT_TOKEN": "xoxb-1-CANARYCANARY", "SLACK_APP_TOKEN": APP_TOKEN}
    assert await run("slack", environ=environ, **tokens) == 1 and not lines(env_file)
    assert "--no-check" in capsys.readouterr().err
    assert await run("slack", environ=environ, check=False, **tokens) == 0
    assert values(env_file) == tokens
    assert "CANARY" not in "".join(capsys.readouterr())


async def test_socket_mode_that_is_off_is_said(run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with FakeSlack() as slack:
        slack.fail("apps.connections.open", gate.error("socket_mode_not_enabled"))
        tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        assert await run("slack", language="ja", environ={"SLACK_API_URL": slack.api_url}, **tokens) == 1
    assert "Socket Mode が無効" in capsys.readouterr().out and not lines(env_file)


@pytest.mark.parametrize("need", manifest.SCOPES, ids=lambda need: str(need.name))
async def test_each_missing_scope_is_named_while_setting_up(
    need: manifest.Need, run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """newcomer.md row 9: before anyone asks; the tokens are good, so they are saved."""
    async with FakeSlack(scopes=set(manifest.scopes()) - {need.name}) as slack:
        tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        status = await run("slack", environ={"SLACK_API_URL": slack.api_url}, **tokens)
    said = capsys.readouterr().out
    assert f"{'✗' if need.answers else '!'} Missing scopes: {need.name} (" in said
    assert status == (1 if need.answers else 0) and values(env_file) == tokens


async def test_it_waits_for_the_first_mention(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    async with FakeSlack() as slack:
        tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        work = asyncio.create_task(run("slack", wait=True, environ={"SLACK_API_URL": slack.api_url}, **tokens))
        await slack.sockets.connected()
        await slack.says("C1", "U1", "<@BOT> hello")
        assert await work == 0
    assert "✓ The mention has arrived." in capsys.readouterr().out


async def test_what_is_set_already_is_kept_and_checked(
    run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with FakeSlack() as slack:
        put(env_file, f"SLACK_BOT_TOKEN={slack.bot_token}\nSLACK_APP_TOKEN={slack.app_token}\n")
        before = lines(env_file)
        person = Person("", "", "", "Europe/Berlin", "en", "n")
        assert await run("slack", person=person, environ={"SLACK_API_URL": slack.api_url}) == 0
        assert "keep the one that is set" in person.prompts[0] and slack.bot_token not in person.prompts[0]
        assert lines(env_file) == [*before, "KOTAE_TIMEZONE=Europe/Berlin", "KOTAE_LANGUAGE=en"]
        assert await run("slack", environ={"SLACK_API_URL": slack.api_url}) == 0
    assert "holds all of it already" in capsys.readouterr().out


async def test_the_environment_that_counts_before_the_file_is_said(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = {"SLACK_BOT_TOKEN": "xoxb-1-OLDCANARY"}
    tokens = {"SLACK_BOT_TOKEN": "xoxb-1-CANARYCANARY", "SLACK_APP_TOKEN": APP_TOKEN}
    assert await run("slack", check=False, environ=environ, **tokens) == 0
    said = capsys.readouterr()
    assert "The environment sets SLACK_BOT_TOKEN too" in said.err and "CANARY" not in said.out + said.err


# -- Discord ----------------------------------------------------------------------------------------------------------


async def test_discord_shows_its_invitation_and_saves(
    run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with discord() as server:
        assert await run("discord", environ={"DISCORD_API_URL": server.url}, DISCORD_TOKEN=TOKEN) == 0
    said = capsys.readouterr().out
    for part in (
        "discord.com/developers/applications",
        "Connected as kotae",
        f"client_id={ID}",
        "Harbour (7)",
        "kotae run",
    ):
        assert part in said, part
    assert values(env_file) == {"DISCORD_TOKEN": TOKEN} and TOKEN not in said


async def test_discord_asks_which_servers_are_the_team(run: Run, env_file: Path) -> None:
    async with discord(guilds=TWO) as server:
        person = Person(CLIENT_SECRET, TOKEN, "Town", "8", "5", "", "")
        assert await run("discord", person=person, environ={"DISCORD_API_URL": server.url, "TZ": "UTC"}) == 0
    assert person.done
    found = values(env_file)
    assert (found["KOTAE_DISCORD_GUILDS"], found["KOTAE_DIGEST_CHANNEL"]) == ("8", "5")
    read = load(env_file)
    assert read.discord is not None and (read.discord.guilds, read.digest_channel) == (("8",), "5")


async def test_discord_unchecked_still_shows_its_invitation(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert await run("discord", check=False, DISCORD_TOKEN=TOKEN) == 0
    assert f"client_id={ID}" in capsys.readouterr().out


# -- Gemini -----------------------------------------------------------------------------------------------------------


async def test_gemini_is_asked_a_question(run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with FakeGemini(Reply((text("OK"),))) as gemini:
        environ = {"GEMINI_BASE_URL": gemini.url}
        assert await run("gemini", environ=environ, GEMINI_API_KEY="AIzaCANARYCANARYCANARYCANARY") == 1
        refused = capsys.readouterr()
        assert "does not accept the key" in refused.out and "CANARY" not in refused.out + refused.err
        assert not lines(env_file)
        assert await run("gemini", environ=environ, GEMINI_API_KEY=gemini.key) == 0
    said = capsys.readouterr().out
    assert "replied" in said and "Next: kotae chat" in said and gemini.key not in said
    assert values(env_file) == {"GEMINI_API_KEY": gemini.key}


GOOGLE = {"en": "sent to Google", "ja": "Google に送られます"}


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("by", ["flag", "question"])
async def test_geminis_embeddings_come_with_the_model_and_what_leaves_the_machine_is_said(
    by: str, language: Language, run: Run, env_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with FakeGemini(Reply((text("OK"),))) as gemini:
        environ = {"GEMINI_BASE_URL": gemini.url, "KOTAE_HOME": str(tmp_path / "home")}
        person = Person(gemini.key, "y") if by == "question" else None
        flags = {"embeddings": True, "GEMINI_API_KEY": gemini.key} if by == "flag" else {}
        assert await run("gemini", person=person, environ=environ, language=language, **flags) == 0
    said = capsys.readouterr().out
    assert values(env_file) == {"GEMINI_API_KEY": gemini.key, "KOTAE_EMBEDDER": "gemini:gemini-embedding-2"}
    assert GOOGLE[language] in said and "3072" in said and "reindex" not in said and "kotae chat" in said
    if person:
        assert person.done and GOOGLE[language] in person.prompts[-1]


@pytest.mark.parametrize(
    ("answers", "options"), [(("",), {}), (("n",), {}), ((), {"embeddings": False}), ((), {"yes": True})]
)
async def test_nothing_more_leaves_the_machine_unless_somebody_says_so(
    answers: tuple[str, ...], options: dict[str, bool], run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    person = Person(*answers) if not options.get("yes") else None
    assert await run("gemini", person=person, check=False, GEMINI_API_KEY="AIza-some-key", **options) == 0
    assert values(env_file) == {"GEMINI_API_KEY": "AIza-some-key"}
    assert "Search itself stays on this machine" in capsys.readouterr().out


async def test_documents_that_are_indexed_already_are_to_be_indexed_anew(
    run: Run, env_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with opened(tmp_path / "home") as library:
        await library.add("plan.md", "# Plan\n\nThe harbour plan.\n")
    given = {"environ": {"KOTAE_HOME": str(tmp_path / "home")}, "check": False, "GEMINI_API_KEY": "AIza-some-key"}
    assert await run("gemini", embeddings=True, **given) == 0
    said = capsys.readouterr().out
    assert "1 document is indexed with another embedder" in said and said.endswith("Next: kotae reindex\n")
    assert await run("gemini", person=Person(), **given) == 0  # it is set: nobody is asked again
    assert "gemini-embedding-2" in (said := capsys.readouterr().out) and "reindex" not in said


async def test_embeddings_that_cannot_be_had_leave_everything_as_it_was(
    run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with FakeGemini(Reply((text("OK"),)), embedders=()) as gemini:
        environ = {"GEMINI_BASE_URL": gemini.url}
        assert await run("gemini", environ=environ, embeddings=True, GEMINI_API_KEY=gemini.key) == 1
    assert "KOTAE_EMBEDDER" in capsys.readouterr().out and not lines(env_file)


async def test_another_model_that_is_chosen_is_mentioned(
    run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(env_file, "KOTAE_MODEL=extractive\nSLACK_BOT_TOKEN=xoxb-1\n")
    assert await run("gemini", check=False, GEMINI_API_KEY="AIza-some-key") == 0
    said = capsys.readouterr().out
    assert "KOTAE_MODEL=extractive stays" in said and "Next: kotae run" in said


# -- the command ------------------------------------------------------------------------------------------------------


def complaint(done: Done) -> list[str]:
    assert done.returncode == 2 and done.stderr.startswith("kotae: ") and "Traceback" not in done.stderr, done
    assert "CANARY" not in done.stdout + done.stderr
    return done.stderr.removeprefix("kotae: ").splitlines()


def test_without_a_terminal_each_missing_flag_is_a_line(tmp_path: Path) -> None:
    done = kotae("setup", "slack", cwd=tmp_path, home=tmp_path / "home")
    lines = complaint(done)
    assert [line.split()[0] for line in lines] == ["--bot-token", "--app-token"]
    assert "OAuth & Permissions" in lines[0] and "App-Level Tokens" in lines[1]
    assert manifest.link() in done.stdout
    assert list(tmp_path.iterdir()) == []  # no home, no .env


def test_without_a_terminal_what_to_set_up_has_to_be_named(tmp_path: Path) -> None:
    (line,) = complaint(kotae("setup", cwd=tmp_path, home=tmp_path / "home", LANG="ja_JP.UTF-8"))
    assert "kotae setup slack" in line and "kotae setup discord" in line and "kotae setup gemini" in line
    assert "指定してください" in line


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("slack", "--bot-token", APP_TOKEN, "--app-token", APP_TOKEN), ("app-level token (xapp-)", "bot token (xoxb-)", "OAuth & Permissions")),
        (("slack", "--bot-token", USER_TOKEN, "--app-token", APP_TOKEN), ("user token (xoxp-)", "bot token (xoxb-)", "OAuth & Permissions")),
        (("discord", "--token", CLIENT_SECRET), ("client secret", "the bot's token", "Reset Token")),
        (("gemini", "--key", "sk-CANARYCANARYCANARY"), ("another provider", "Gemini API key", "aistudio.google.com")),
        (("slack", "--token", TOKEN), ("--token", "kotae setup slack")),
        (("slack", "--bot-token", "xoxb-1", "--app-token", "xapp-1", "--no-check", "--timezone", "Mars"), ("KOTAE_TIMEZONE", "Asia/Tokyo")),
    ],
    ids=["xapp-for-xoxb", "user-token", "client-secret", "other-key", "other-platform", "timezone"],
)  # fmt: skip
async def test_a_wrong_flag_is_named_with_what_is_wanted_and_where(
    arguments: tuple[str, ...], parts: tuple[str, ...], run: Run, env_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """newcomer.md row 7."""
    names = {"--bot-token": "SLACK_BOT_TOKEN", "--app-token": "SLACK_APP_TOKEN", "--token": "DISCORD_TOKEN", "--key": "GEMINI_API_KEY", "--timezone": "KOTAE_TIMEZONE"}  # fmt: skip
    flags = [flag for flag in arguments[1:] if flag != "--no-check"]
    values = {names[flag]: value for flag, value in zip(flags[::2], flags[1::2], strict=True)}
    status = await run(arguments[0], check="--no-check" not in arguments, **values)
    said = capsys.readouterr()
    assert status == 2 and not lines(env_file) and "CANARY" not in said.out + said.err
    for part in parts:
        assert part in said.err, said.err


def test_secrets_come_by_standard_input_a_line_each(tmp_path: Path) -> None:
    flags = ("--bot-token", "-", "--app-token", "-", "--no-check")
    done = kotae("setup", "slack", *flags, lines="xoxb-1-CANARY\nxapp-1-CANARY\n", cwd=tmp_path, home=tmp_path / "home")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert values(tmp_path / ".env") == {"SLACK_BOT_TOKEN": "xoxb-1-CANARY", "SLACK_APP_TOKEN": "xapp-1-CANARY"}
    assert "CANARY" not in done.stdout


def hidden(terminal: int) -> None:
    """Returns when what is typed is not echoed; what is typed before that is thrown away. Raises TimeoutError."""
    until = time.monotonic() + 30
    while termios.tcgetattr(terminal)[3] & termios.ECHO:
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.005)


async def test_on_a_terminal_a_token_is_not_shown_while_it_is_typed(tmp_path: Path) -> None:
    """The real program on a real terminal, up to the first mention's question."""
    async with FakeSlack() as slack:
        ours, theirs = pty.openpty()
        env = environment(tmp_path / "home", SLACK_API_URL=slack.api_url, TZ="UTC", TERM="dumb")
        process = Process("setup", stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, env=env)
        os.close(theirs)
        seen = ""

        async def until(part: str) -> None:
            nonlocal seen
            async with asyncio.timeout(30):
                while part not in seen:
                    seen += (await asyncio.to_thread(os.read, ours, 65_536)).decode("utf-8", "replace")

        try:
            for prompt, typed in (
                ("What should be set up?", ""),
                ("Write the app's manifest to slack-manifest.json", ""),
                ("Bot User OAuth Token (xoxb-):", slack.bot_token),
                ("App-level token (xapp-):", slack.app_token),
                ("Channel for the weekly digest", "C1"),
                ("Time zone [UTC]:", ""),
                ("Language of the interface (ja, en) [en]:", ""),
                ("Wait for the first mention", "n"),
            ):
                await until(prompt)
                if "token" in prompt.lower():
                    await asyncio.to_thread(hidden, ours)
                os.write(ours, f"{typed}\n".encode())
            await until("Next: kotae run")
            assert await asyncio.to_thread(process.wait, 30) == 0
        finally:
            process.kill()
            await asyncio.to_thread(process.wait)
            os.close(ours)
    assert slack.bot_token not in seen and slack.app_token not in seen and "@kotae in Loopback" in seen
    assert values(tmp_path / ".env")["KOTAE_DIGEST_CHANNEL"] == "C1"


# -- .env -------------------------------------------------------------------------------------------------------------


def test_a_new_file_is_its_owners_alone(env_file: Path) -> None:
    write({"SLACK_BOT_TOKEN": "xoxb-1", "KOTAE_DEFAULT_COLLECTION": "社内 'rules' \\ #1"}, env_file)
    assert stat.S_IMODE(env_file.stat().st_mode) == 0o600
    assert values(env_file) == {"SLACK_BOT_TOKEN": "xoxb-1", "KOTAE_DEFAULT_COLLECTION": "社内 'rules' \\ #1"}
    assert load(env_file.with_name("none")).default_collection == "documents"


def test_values_are_replaced_where_they_stand_and_the_rest_is_kept(env_file: Path) -> None:
    env_file.write_bytes(
        "\ufeff# ours\r\n"
        "export SLACK_BOT_TOKEN = 'old # one'  # from Ann\r\n"
        "\r\n"
        "this is no setting\r\n"
        "KOTAE_TIMEZONE=UTC # for now\r\n"
        "OTHER_PROGRAM=\"two\r\nlines\"\r\n"
        "# App-level token\r\n"
        "# SLACK_APP_TOKEN=\r\n"
        "LAST=1".encode()
    )  # fmt: skip
    env_file.chmod(0o644)
    write(
        {
            "SLACK_BOT_TOKEN": "xoxb-2",
            "SLACK_APP_TOKEN": "xapp-2",
            "KOTAE_TIMEZONE": "Asia/Tokyo",
            "KOTAE_LANGUAGE": "ja",
        },
        env_file,
    )
    assert env_file.read_bytes().decode() == (
        "\ufeff# ours\r\n"
        "export SLACK_BOT_TOKEN=xoxb-2  # from Ann\r\n"
        "\r\n"
        "this is no setting\r\n"
        "KOTAE_TIMEZONE=Asia/Tokyo # for now\r\n"
        "OTHER_PROGRAM=\"two\r\nlines\"\r\n"
        "# App-level token\r\n"
        "# SLACK_APP_TOKEN=\r\n"
        "SLACK_APP_TOKEN=xapp-2\r\n"
        "LAST=1\r\n"
        "KOTAE_LANGUAGE=ja\r\n"
    )  # fmt: skip
    assert stat.S_IMODE(env_file.stat().st_mode) == 0o600


def test_the_one_that_counts_of_two_is_replaced(env_file: Path) -> None:
    env_file.write_text("A=1\nA=2\n", encoding="utf-8")
    write({"A": "3"}, env_file)
    assert env_file.read_text(encoding="utf-8") == "A=1\nA=3\n"


def test_the_shipped_example_is_filled_in_beside_its_explanations(env_file: Path) -> None:
    example = (Path(__file__).parents[3] / ".env.example").read_text(encoding="utf-8")
    env_file.write_text(example, encoding="utf-8")
    write({"SLACK_BOT_TOKEN": "xoxb-1", "KOTAE_TIMEZONE": "Asia/Tokyo"}, env_file)
    after = env_file.read_text(encoding="utf-8")
    assert "# SLACK_BOT_TOKEN=\nSLACK_BOT_TOKEN=xoxb-1\n" in after
    assert [line for line in after.splitlines() if line.startswith("#")] == [
        line for line in example.splitlines() if line.startswith("#")
    ]
    assert values(env_file) == {"SLACK_BOT_TOKEN": "xoxb-1", "KOTAE_TIMEZONE": "Asia/Tokyo"}


def test_a_link_is_followed(env_file: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept" / "kotae.env"
    kept.parent.mkdir()
    kept.write_text("A=1\n", encoding="utf-8")
    env_file.symlink_to(kept)
    write({"B": "2"}, env_file)
    assert env_file.is_symlink() and kept.read_text(encoding="utf-8") == "A=1\nB=2\n"


def test_a_file_that_cannot_be_understood_is_left_alone(env_file: Path) -> None:
    env_file.write_bytes("KOTAE_LANGUAGE=日本".encode("shift_jis"))
    with pytest.raises(EnvFileError) as refused:
        write({"A": "1"}, env_file)
    assert "UTF-8" in refused.value.text("en") and "変更していません" in refused.value.text("ja")
    assert env_file.read_bytes() == "KOTAE_LANGUAGE=日本".encode("shift_jis")


@pytest.mark.parametrize("value", ["two\nlines", "${HOME}", "\x07"])
def test_a_value_that_the_file_cannot_hold_is_refused(value: str, env_file: Path) -> None:
    with pytest.raises(EnvFileError, match="A has"):
        write({"A": value}, env_file)
    assert not env_file.exists()


def test_nothing_is_left_behind_when_it_cannot_be_written(env_file: Path, tmp_path: Path) -> None:
    env_file.mkdir()
    with pytest.raises(EnvFileError, match="cannot be read"):
        write({"A": "1"}, env_file)
    with pytest.raises(EnvFileError, match="cannot be written"):
        write({"A": "1"}, tmp_path / "nowhere" / ".env")
    assert [file.name for file in tmp_path.iterdir()] == [".env"]


LINES = st.lists(
    st.sampled_from(
        ["# note", "", "A=1", "B='x y'", 'C="q\\"z" # c', "export D=4", "E", "A = 2 # later", "what is this", "F=a#b", "G='", "# A="]
    ),
    max_size=8,
)  # fmt: skip
PRINTABLE = st.text(st.characters(min_codepoint=32, exclude_categories=("C", "Z")), min_size=1, max_size=12)


@given(LINES, st.sampled_from("ABCDEFGH"), PRINTABLE, st.sampled_from(["\n", "\r\n"]))
def test_no_line_is_ever_lost(
    tmp_path_factory: pytest.TempPathFactory, before: list[str], name: str, value: str, end: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.env"
    whole = "".join(line + end for line in before)
    put_bytes(file, whole)
    try:
        write({name: value}, file)
    except EnvFileError:
        assert file.read_bytes().decode() == whole
        return
    assert parsed(file.read_bytes().decode()) == {**parsed(whole), name: value}
    after = file.read_bytes().decode().split(end)[:-1]
    lost = [line for line in before if line not in after]
    old = [binding.original.string for binding in parse_stream(StringIO(whole)) if binding.key == name]
    assert all(any(line in each for each in old) for line in lost)  # an old value may stand on several lines
    assert len(after) <= len(before) + 1


def put_bytes(file: Path, text: str) -> None:
    file.write_bytes(text.encode())


def parsed(text: str) -> dict[str, str | None]:
    return dict(dotenv_values(stream=StringIO(text), interpolate=False))


# -- what is there already -------------------------------------------------------------------------------------------


def test_the_environment_counts_before_the_file(env_file: Path) -> None:
    env_file.write_text("KOTAE_TIMEZONE=UTC\nKOTAE_LANGUAGE=ja\nSECRET_OF_OTHERS=1\n", encoding="utf-8")
    found = current({"KOTAE_TIMEZONE": "Asia/Tokyo", "KOTAE_LANGUAGE": " ", "PATH": "/bin"}, env_file)
    assert found == {"KOTAE_TIMEZONE": "Asia/Tokyo", "KOTAE_LANGUAGE": "ja"}


@pytest.mark.parametrize(
    ("channel", "slack", "discord"),
    [
        ("C1", "C1", None),
        ("123", None, "123"),
        ("slack:C1", "C1", None),
        ("discord:123", None, "123"),
        ("general", "general", None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_which_platform_the_digest_goes_to(channel: str | None, slack: str | None, discord: str | None) -> None:
    assert digest_channel(channel, "slack", alone=False) == slack
    assert digest_channel(channel, "discord", alone=False) == discord
    assert digest_channel("123", "slack", alone=True) == "123"  # to be called no channel of Slack's


@pytest.mark.parametrize(
    ("environ", "target", "zone"),
    [
        ({"TZ": "Asia/Tokyo"}, "/usr/share/zoneinfo/Europe/Berlin", "Asia/Tokyo"),
        ({"TZ": ":Asia/Tokyo"}, "/etc/localtime", "Asia/Tokyo"),
        ({"TZ": "JST-9"}, "/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
        ({}, "/usr/share/zoneinfo/posix/Asia/Seoul", "Asia/Seoul"),
        ({}, "/usr/share/zoneinfo/Etc/UTC", "UTC"),
        ({}, "/somewhere/else", "UTC"),
    ],
)
def test_the_time_zone_of_this_machine(environ: dict[str, str], target: str, zone: str, tmp_path: Path) -> None:
    (tmp_path / "localtime").symlink_to(target)
    assert machine_timezone(environ, tmp_path / "localtime") == zone
