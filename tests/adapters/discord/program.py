"""The `kotae` command as people run it, on Discord's fake."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from tests.bot.program import PROGRAM, ROOT, Done, environment
from tests.fakes.discord_fake import FakeDiscord

# discord.py still imports `audioop`, which Python 3.13 has no more
DISCORD_PROGRAM = [*PROGRAM[:3], "-W", "ignore:'audioop' is deprecated:DeprecationWarning", *PROGRAM[3:]]


def named(fake: FakeDiscord) -> dict[str, str]:
    """The settings that point at it."""
    return {
        "DISCORD_TOKEN": fake.token,
        "DISCORD_API_URL": fake.api_url,
        "DISCORD_GATEWAY_URL": fake.gateway_url,
        "DISCORD_CDN_URL": fake.cdn_url,
    }


async def begun(*arguments: str, home: Path, given: Mapping[str, str], cwd: Path = ROOT) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *DISCORD_PROGRAM,
        *arguments,
        env=environment(home, **given),
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def kotae(*arguments: str, home: Path, given: Mapping[str, str], cwd: Path = ROOT) -> Done:
    """What it did and said, once it has ended by itself."""
    process = await begun(*arguments, home=home, given=given, cwd=cwd)
    try:
        async with asyncio.timeout(60):
            said, complained = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Done(process.returncode or 0, said.decode(), complained.decode())
