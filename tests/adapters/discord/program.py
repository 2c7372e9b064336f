"""The `kotae` command as people run it, on Discord's fake."""

import asyncio
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.bot.program import ROOT, Done, Process, environment
from tests.fakes.discord_fake import FakeDiscord


def named(fake: FakeDiscord) -> dict[str, str]:
    """The settings that point at it."""
    return {
        "DISCORD_TOKEN": fake.token,
        "DISCORD_API_URL": fake.api_url,
        "DISCORD_GATEWAY_URL": fake.gateway_url,
        "DISCORD_CDN_URL": fake.cdn_url,
    }


async def begun(*arguments: str, home: Path, given: Mapping[str, str], cwd: Path = ROOT) -> Process:
    return await asyncio.to_thread(
        lambda: Process(
            *arguments,
            env=environment(home, **given),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    )


async def kotae(*arguments: str, home: Path, given: Mapping[str, str], cwd: Path = ROOT) -> Done:
    """What it did and said, once it has ended by itself."""
    process = await begun(*arguments, home=home, given=given, cwd=cwd)
    said, complained = await asyncio.to_thread(process.communicate, timeout=60)
    return Done(process.wait(), said.decode(), complained.decode())
