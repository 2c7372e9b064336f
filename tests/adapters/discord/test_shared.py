"""Processes of one database: one is connected to Discord, and when it dies another is, and takes what was said meanwhile;
those that wait can do what REST is enough for.

Source: machines.md §1, row 15.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import text

from adapters.discord.adapter import DiscordAdapter
from adapters.discord.transport import gateway, servers
from bot.bot import Bot
from bot.config.settings import DiscordSettings
from bot.knowledge.documents import KnowledgeBase
from bot.operations.holding import LEASE, Holding
from bot.sources.base import SourceError
from bot.sources.channel import QUIET
from bot.store.engine import Engine, change, connect
from bot.store.exclusive import Leases
from bot.types import Audience, Card, Place
from retrieval.loaders.loader import Loader
from tests.adapters.acting import Player, answers, process, serving, settings, until
from tests.adapters.discord.program import begun, named
from tests.adapters.talks import EDITOR, PUBLIC, Now, noted
from tests.bot.knowledge.test_processes import Machines
from tests.fakes.discord_fake import ANN, GENERAL, GUILD, FakeDiscord
from tests.fakes.discord_gate import error
from tests.fakes.discord_world import FORUM
from tests.fakes.qdrant import FakeQdrant

ARCHIVED = "GET /channels/{channel}/threads/archived/public"


async def _at_once(seconds: float) -> None:
    await asyncio.sleep(0.01)


def impatient(engine: Engine, bot: Bot) -> Bot:
    """It looks for the lease without a pause."""
    return replace(bot, holding=Holding(Leases(engine), owner="the other", sleep=_at_once))


async def steps_on(engine: Engine, by: timedelta) -> None:
    """Time passes, as far as leases are concerned."""
    passed = text("UPDATE leases SET until = until - make_interval(secs => :seconds)")
    await change(engine, lambda db: db.execute(passed, {"seconds": by.total_seconds()}))


@pytest.mark.parametrize("shards", [1, 2])
async def test_one_process_is_connected_and_another_takes_over_when_it_dies(
    shards: int, tmp_path: Path, shared_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that dies begins its shards as Discord wants it, five seconds apart."""
    engine = connect(shared_database)
    async with FakeDiscord(limits=False) as discord:
        discord.app.shards, discord.app.sharded = shards, shards > 1
        discord.gateway.rules.identify_seconds = 5.0
        beyond = {**named(discord), "DATABASE_URL": shared_database, "KOTAE_MODEL": "extractive", "KOTAE_WEB_PORT": "0"}
        first = await begun("run", home=tmp_path / "one", given=beyond)
        try:
            await discord.wait_for(lambda: discord.gateway.identified == shards, timeout=60)
            assert len(discord.gateway.received) == shards, "none came too early"
            monkeypatch.setattr(gateway, "IDENTIFY_SECONDS", 0.0)
            discord.gateway.rules.identify_seconds = 0.0
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
                assert discord.gateway.identified == shards and not player.asks and not other.ready.is_set()

                first.kill()
                await asyncio.to_thread(first.wait)
                missed = await discord.says(GENERAL, "ann", "@kotae How long do refunds take?")
                await steps_on(engine, LEASE)
                await asyncio.wait_for(other.ready.wait(), 30)
                await discord.wait_for(lambda: any("30 days" in each.shown for each in discord.replies(missed)))
                assert discord.gateway.identified == 2 * shards and other.connected
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        finally:
            first.kill()
            await asyncio.to_thread(first.communicate)
            await engine.dispose()


@dataclass
class Part:
    """Of a process."""

    adapter: DiscordAdapter
    bot: Bot


@asynccontextmanager
async def _two(
    discord: FakeDiscord,
    engine: Engine,
    home: Path,
    address: str,
    *knowledge: KnowledgeBase,
    guilds: tuple[str, ...] | None = None,
    **more: Any,
) -> AsyncIterator[tuple[Part, Part]]:
    """Two processes of a database: the first is connected, the other waits. `knowledge`: of each."""
    where = DiscordSettings(SecretStr(discord.token), guilds, discord.api_url, discord.gateway_url, discord.cdn_url)
    one, other = (DiscordAdapter(where, language="en", look_every=0.1) for _ in range(2))

    def held(owner: str, bot: Bot) -> Bot:
        return replace(bot, holding=Holding(Leases(engine), owner=owner, sleep=_at_once))

    given, make = settings(home, DATABASE_URL=address), Player(answers("30 days.")).make
    async with (
        process(given, make, *knowledge[:1], change=partial(held, "one"), **more) as (_, first),
        process(given, make, *knowledge[1:], change=partial(held, "other"), **more) as (_, second),
        serving(one, first),
    ):
        task = asyncio.create_task(other.run(second))
        try:

            async def waits() -> bool:
                with suppress(SourceError):  # its channels cannot be looked up yet
                    return other.connected and bool(second.sources.channels.history("discord"))
                return False

            await until(waits)
            yield Part(one, first), Part(other, second)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_a_process_that_is_not_connected_posts_all_the_same(tmp_path: Path, shared_database: str) -> None:
    engine, card = connect(shared_database), Card("Unanswered questions", ("2 asked",))
    async with FakeDiscord(limits=False) as discord, _two(discord, engine, tmp_path, shared_database) as two:
        one, other = (part.adapter for part in two)
        private = discord.world.add_channel("harbour", only=[ANN, discord.bot_user]).id
        assert one.ready.is_set() and not other.ready.is_set() and discord.gateway.identified == 1
        found = [await adapter.find("#general") for adapter in (one, other)]
        assert found[0] == found[1] and found[1].audience == Audience("public")
        assert (await other.find(private)).audience == Audience("private")
        await other.announce(GENERAL, card, about="digest:1")
        await one.announce(GENERAL, card, about="digest:1")
        assert [each.content for each in discord.posted("general")] == ["**Unanswered questions**\n2 asked"]

        direct = await other.find(f"@{ANN}")
        await other.announce(direct.place.channel, card, about="ask:1")
        assert len(discord.posted(direct.place.channel)) == 1
        with pytest.raises(LookupError):
            await other.find("@123456789012345678")
        assert discord.gateway.identified == 1
    await engine.dispose()


async def test_of_many_servers_those_that_are_needed_are_looked_up(tmp_path: Path, shared_database: str) -> None:
    engine, card = connect(shared_database), Card("Unanswered questions", ("2 asked",))
    async with FakeDiscord(limits=False) as discord:
        places = []
        for name in ("Pier", "Town", "Harbour"):
            guild = discord.world.add_guild(name).id
            discord.world.join(discord.bot_user, guild)
            places.append(discord.world.add_channel(name.lower(), guild=guild))
        async with _two(discord, engine, tmp_path, shared_database, guilds=(GUILD,)) as two:
            one, other = (part.adapter for part in two)
            assert (await other.find("#general")).audience == Audience("public")
            pier = places[0]
            assert await other.find(pier.id) == await one.find(pier.id)
            await other.announce(pier.id, card, about="digest:1")
            assert len(discord.posted(pier.id)) == 1
            whole = [each.params["guild"] for each in discord.journal.calls("GET /guilds/{guild}")]
            assert whole == [GUILD, pier.guild]
            with pytest.raises(LookupError, match="#pier"):
                await other.find("#pier")
    await engine.dispose()


async def test_what_is_looked_up_without_the_gateway_is_looked_up_again(
    tmp_path: Path, shared_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "SECONDS", 0.0)
    engine = connect(shared_database)
    async with FakeDiscord(limits=False) as discord, _two(discord, engine, tmp_path, shared_database) as (_, waiting):
        other = waiting.adapter
        assert (await other.find(GENERAL)).audience == Audience("public")
        await discord.denies("general", "view_channel", who=GUILD)
        await discord.allows("general", "view_channel")
        assert (await other.find(GENERAL)).audience == Audience("private")
        await discord.denies("general", "send_messages")
        with pytest.raises(LookupError):
            await other.find(GENERAL)
        await discord.allows("general", "send_messages")
        assert (await other.find("#general")).place.channel == GENERAL
        await discord.throws_out_the_bot()
        with pytest.raises(LookupError):
            await other.find("#general")
        discord.fail("GET /users/@me/guilds", error(50001))
        with pytest.raises(ConnectionError):
            await other.find(GENERAL)
    await engine.dispose()


async def test_a_process_that_is_not_connected_adds_a_channel_and_the_connected_one_follows_it(
    tmp_path: Path, shared_database: str
) -> None:
    engine = connect(shared_database)
    async with FakeDiscord(limits=False) as discord, FakeQdrant() as server, Loader() as loader:
        machines = Machines(shared_database, server, tmp_path, loader)
        forum = discord.world.add_channel("help", kind=FORUM).id
        root = await discord.posts(forum, "ann", "Where is the key?", "I need it.")
        await discord.says(forum, "ben", "In room 4.", thread=root)
        clock = Now(discord, 2 * QUIET)
        async with machines.stack:
            known = [(await machines.process(name)).knowledge for name in ("one", "other")]
            async with _two(discord, engine, tmp_path, shared_database, *known, clock=clock) as (one, other):
                place = Place("discord", GUILD, forum)
                with pytest.raises(SourceError):
                    await other.bot.sources.follow(EDITOR, replace(place, channel="123456789012345678"))
                source = await other.bot.sources.follow(EDITOR, place, "talk")
                assert one.bot.sources.channels.serves(source.location)
                assert not other.bot.sources.channels.serves(source.location)

                async def titles() -> list[str]:
                    return sorted(row.title for row in await known[0].documents(PUBLIC))

                watching = [asyncio.create_task(part.bot.sources.watch()) for part in (one, other)]
                assert await until(titles) == ["Where is the key?"]
                for task in watching:
                    task.cancel()
                await asyncio.gather(*watching, return_exceptions=True)

                await one.bot.sources.sync(EDITOR, "talk", PUBLIC)
                listed = len(discord.journal.calls(ARCHIVED))
                await discord.renames(root, "Where is the car?")
                await noted(discord)
                clock.later(seconds=10)
                assert (await other.bot.sources.sync(EDITOR, "talk", PUBLIC)).replaced == 1  # whoever is asked
                assert await titles() == ["Where is the car?"]
                assert (await one.bot.sources.sync(EDITOR, "talk", PUBLIC)).replaced == 0
                assert len(discord.journal.calls(ARCHIVED)) == listed, "nothing was missed"
                told = [each for each in discord.world.channels.values() if each.parent == forum and each.id != root]
                assert [each.name for each in told] == ["This channel is a source of answers now"]
        assert discord.gateway.identified == 1
    await engine.dispose()
