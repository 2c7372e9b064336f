"""What a newcomer to Discord meets: the real program, with each mistake that is easily made.

Source: newcomer.md, rows 7, 8, 11 and 12.
"""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from adapters.discord.setup import check
from tests.adapters.discord.program import begun, kotae, named
from tests.fakes.discord_fake import FakeDiscord
from tests.fakes.openai import KEY, FakeOpenAI

CLIENT_SECRET = "CANARYCANARYCANARYCANARYCANARY00"


@pytest_asyncio.fixture
async def light() -> AsyncIterator[dict[str, str]]:
    """Settings with which the program begins soon: its embedder only counts."""
    async with FakeOpenAI(embedders={"hash": 32}) as server:
        yield {
            "KOTAE_MODEL": "extractive",
            "KOTAE_EMBEDDER": "openai:hash",
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": KEY,
            "KOTAE_LANGUAGE": "en",
            "KOTAE_WEB_PORT": "0",
        }


async def test_a_client_secret_in_the_tokens_place_is_named(tmp_path: Path) -> None:
    done = await kotae("run", home=tmp_path / "home", given={"DISCORD_TOKEN": CLIENT_SECRET})
    said = done.complaint(2)
    assert "DISCORD_TOKEN holds a client secret, but it should be the bot's token" in said
    assert "discord.com/developers/applications" in said and "Reset Token" in said and "CANARY" not in said


async def test_refused_intents_are_a_sentence_with_the_switch_and_its_address(
    light: dict[str, str], tmp_path: Path
) -> None:
    async with FakeDiscord() as discord:
        flags = discord.payloads.application_flags(discord.app)
        discord.payloads.application_flags = lambda app: flags  # type: ignore[method-assign]
        discord.app.intents = 0  # Discord says that they are granted, and refuses them
        done = await kotae("run", home=tmp_path / "home", given=named(discord) | light)
        said = done.stdout + done.stderr
        assert done.returncode == 78, said
        assert "Traceback" not in said and discord.token not in said
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("kotae: ")]
        assert "Message Content Intent" in line and f"discord.com/developers/applications/{discord.app.id}/bot" in line


async def test_without_the_intent_that_is_said_at_the_start_and_mentions_are_answered(
    light: dict[str, str], tmp_path: Path
) -> None:
    async with FakeDiscord(intents=0) as discord:
        process = await begun("run", home=tmp_path / "home", given=named(discord) | light)
        try:
            await discord.connected(timeout=30)
            asked = await discord.says("general", "ann", "@kotae What is 6 * 7?")
            await discord.wait_for(lambda: any("42" in each.shown for each in discord.replies(asked)), timeout=30)
            process.send_signal(signal.SIGTERM)
            out, err = (part.decode() for part in await asyncio.to_thread(process.communicate, timeout=30))
        finally:
            process.kill()
            await asyncio.to_thread(process.wait)
        said = out + err
        assert process.returncode == 0 and "connected as @kotae in Loopback" in said, said
        assert "The Message Content Intent is off: mentions are answered" in said
        assert f"discord.com/developers/applications/{discord.app.id}/bot" in said and "Traceback" not in said


async def test_the_doctor_names_every_mistake_at_once(light: dict[str, str], tmp_path: Path) -> None:
    async with FakeDiscord(intents=0) as discord:
        discord.world.join(discord.bot_user, discord.world.add_guild("Elsewhere").id)
        guild = next(iter(discord.world.guilds))
        discord.app.commandless.add(guild)
        discord.world.deny(discord.place("general").id, "send_messages_in_threads", who=discord.bot_user)
        done = await kotae("doctor", "--json", home=tmp_path / "home", given=named(discord) | light)
        findings = [each for each in json.loads(done.stdout)["findings"] if each["about"] == "discord"]
        said = "\n".join(f"{each['level']} {each['what']} {each['next']}" for each in findings)
        for part in (
            "ok Connected as kotae.",
            "ok The Message Content Intent is off",
            "warning kotae is in 2 servers and KOTAE_DISCORD_GUILDS is not set",
            "warning The commands (/ingest, /search, …) are not there in Loopback",
            "warning In Loopback",
            "#general (Send Messages in Threads)",
            check.invite(discord.app.id),
        ):
            assert part in said, (part, said)
        assert done.returncode == 0 and discord.token not in done.stdout + done.stderr


async def test_the_set_up_prints_the_invitation_and_says_what_discord_says(tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        given = {name: value for name, value in named(discord).items() if name != "DISCORD_TOKEN"}
        done = await kotae(
            *("setup", "discord", "--token", discord.token, "--yes"), home=tmp_path / "home", cwd=tmp_path, given=given
        )
        assert done.returncode == 0, done
        assert check.invite(discord.app.id) in done.stdout and "scope=bot%20applications.commands" in done.stdout
        assert "Connected as kotae" in done.stdout and "Its members are the team: Loopback" in done.stdout
        assert f"DISCORD_TOKEN={discord.token}" in (tmp_path / ".env").read_text() and discord.token not in done.stdout
