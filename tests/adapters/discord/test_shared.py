"""Processes of one database: one is connected to Discord, and when it dies another is, and takes what was said meanwhile.

Source: machines.md §1, row 15.
"""

import asyncio
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

from pydantic import SecretStr
from sqlalchemy import text

from adapters.discord.adapter import DiscordAdapter
from bot.bot import Bot
from bot.config.settings import DiscordSettings
from bot.operations.holding import LEASE, Holding
from bot.store.engine import Engine, change, connect
from bot.store.exclusive import Leases
from tests.adapters.acting import Player, answers, process, settings, until
from tests.adapters.discord.program import begun, named
from tests.fakes.discord_fake import GENERAL, FakeDiscord


async def _at_once(seconds: float) -> None:
    await asyncio.sleep(0.01)


def impatient(engine: Engine, bot: Bot) -> Bot:
    """It looks for the lease without a pause."""
    return replace(bot, holding=Holding(Leases(engine), owner="the other", sleep=_at_once))


async def steps_on(engine: Engine, by: timedelta) -> None:
    """Time passes, as far as leases are concerned."""
    passed = text("UPDATE leases SET until = until - make_interval(secs => :seconds)")
    await change(engine, lambda db: db.execute(passed, {"seconds": by.total_seconds()}))


async def test_one_process_is_connected_and_another_takes_over_when_it_dies(
    tmp_path: Path, shared_database: str
) -> None:
    engine = connect(shared_database)
    async with FakeDiscord(limits=False) as discord:
        beyond = {**named(discord), "DATABASE_URL": shared_database, "KOTAE_MODEL": "extractive", "KOTAE_WEB_PORT": "0"}
        first = await begun("run", home=tmp_path / "one", given=beyond)
        try:
            await discord.wait_for(lambda: discord.gateway.identified == 1, timeout=60)
            where = DiscordSettings(
                SecretStr(discord.token), None, discord.api_url, discord.gateway_url, discord.cdn_url
            )
            player, other = Player(answers("30 days.")), DiscordAdapter(where, language="en", look_every=0.1)
            given = settings(tmp_path / "two", DATABASE_URL=shared_database)
            async with process(given, player.make, change=partial(impatient, engine)) as (_, bot):
                task = asyncio.create_task(other.run(bot))

                async def waits() -> bool:
                    return other.connected

                await until(waits)
                asked = await discord.says(GENERAL, "ann", "@kotae Where do ships moor?")
                await discord.wait_for(lambda: discord.replies(asked))
                assert discord.gateway.identified == 1 and not player.asks and not other.ready.is_set()

                first.kill()
                await asyncio.to_thread(first.wait)
                missed = await discord.says(GENERAL, "ann", "@kotae How long do refunds take?")
                await steps_on(engine, LEASE)
                await asyncio.wait_for(other.ready.wait(), 30)
                await discord.wait_for(lambda: any("30 days" in each.shown for each in discord.replies(missed)))
                assert discord.gateway.identified == 2 and other.connected
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        finally:
            first.kill()
            await asyncio.to_thread(first.communicate)
            await engine.dispose()
