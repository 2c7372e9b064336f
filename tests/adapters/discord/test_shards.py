"""A bot in so many servers that Discord divides it: one process connects all shards, each of which comes and goes for
itself.

Source: discord-api-docs, events/gateway (sharding, max concurrency, session start limit).
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from pydantic import SecretStr

from adapters.discord.adapter import DiscordAdapter
from adapters.discord.transport import gateway
from adapters.discord.transport.gateway import IDENTIFIES
from bot.config.settings import DiscordSettings
from bot.errors import SettingsError
from tests.adapters.acting import Player, answers, process, settings
from tests.adapters.discord.service import Service, bot
from tests.adapters.discord.test_adapter import EVERYONE, TEAM, answered, scopes
from tests.fakes.discord_fake import ANN, BEN, BOT_PERMISSIONS, GENERAL, GUILD, FakeDiscord
from tests.fakes.discord_gate import error, status

PIER_GUILD, PIER = "1100000000004194305", "1100000000000000011"  # a server of the first of two shards; its channel
FIRST, SECOND = 0, 1
BOTH = (PIER_GUILD, GUILD)
READ = "GET /channels/{channel}/messages"
IDENTIFY = 2


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "IDENTIFY_SECONDS", 0.1)


@asynccontextmanager
async def divided(shards: int = 2) -> AsyncIterator[FakeDiscord]:
    """A Discord that demands so many shards, of a bot in #general of one server and in #pier of another."""
    async with FakeDiscord(limits=False) as discord:
        discord.app.shards, discord.app.sharded = shards, shards > 1
        discord.gateway.rules.identify_seconds = 0.05
        world = discord.world
        world.add_guild("Pier", id=PIER_GUILD)
        for who in (BEN, discord.bot_user):
            world.join(who, PIER_GUILD)
        world.add_role("kotae", *BOT_PERMISSIONS, guild=PIER_GUILD, members=[discord.bot_user])
        world.add_channel("pier", id=PIER, guild=PIER_GUILD)
        yield discord


@asynccontextmanager
async def beginning(
    discord: FakeDiscord, home: Path, guilds: tuple[str, ...] | None = BOTH, *, begun: int = 0
) -> AsyncIterator[tuple[Player, DiscordAdapter]]:
    """A bot that begins, and has `begun` so many sessions before."""
    where = DiscordSettings(SecretStr(discord.token), guilds, discord.api_url, discord.gateway_url, discord.cdn_url)
    player, adapter = Player(answers()), DiscordAdapter(where, language="en")
    for _ in range(begun):
        adapter._identifies.begin()
    async with process(settings(home), player.make) as (_, served):
        task = asyncio.create_task(adapter.run(served))
        try:
            yield player, adapter
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def first_alone(discord: FakeDiscord) -> None:
    """The first shard is there, and the second waits for its READY."""
    await discord.wait_for(lambda: discord.gateway.live(FIRST))
    discord.gateway.rules.ready = False
    await discord.wait_for(lambda: discord.gateway.identified == 2)


def identified(discord: FakeDiscord) -> list[list[int]]:
    return [each["d"]["shard"] for each in discord.gateway.received if each["op"] == IDENTIFY]


def servers(here: Service) -> set[str]:
    assert here.adapter._context is not None
    return {guild.name for guild in here.adapter._context.client.guilds}


async def test_every_shard_is_heard_and_answered_on(tmp_path: Path) -> None:
    async with divided() as discord, bot(discord, tmp_path, guilds=BOTH) as here:
        assert here.adapter.connected and here.adapter.who == "@kotae in 2 servers"
        assert identified(discord) == [[0, 2], [1, 2]], "one after the other, each in its time"
        assert here.adapter._identifies.wait(IDENTIFIES - 2) == 0 < here.adapter._identifies.wait(IDENTIFIES - 1)
        for number, (channel, user) in enumerate(((GENERAL, "ann"), (PIER, "ben"), (discord.dm("ann"), "ann"))):
            asked = await discord.says(channel, user, "@kotae How long do refunds take?")
            (answer,) = await discord.wait_for(answered(discord, asked))
            assert scopes(here, number) >= TEAM
            pressed = await discord.presses(user, answer.id, "Helpful")
            gesture = await discord.slash("help", user=user, channel=channel)
            assert pressed.answer and gesture.answer
        assert [each.user for each in discord.world.interactions.values()] == [ANN, ANN, BEN, BEN, ANN, ANN]
        assert here.adapter.connected and not discord.gateway.closed and discord.gateway.identified == 2
        ends = discord.gateway
    assert ends.left == [1000, 1000], "Discord is told that nobody listens any more"


async def test_a_shard_begins_when_the_one_before_it_is_there(tmp_path: Path) -> None:
    async with divided() as discord, beginning(discord, tmp_path):
        discord.gateway.rules.ready = False
        await discord.wait_for(lambda: discord.gateway.identified == 1)
        await discord.wait_for_idle(quiet=0.5)
        assert len(discord.gateway.connections) == 1


async def test_a_shard_that_cannot_be_reached_at_first_is_waited_for_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with divided() as discord, beginning(discord, tmp_path) as (player, adapter):
        await discord.wait_for(lambda: discord.gateway.live(FIRST))
        discord.gateway.rules.status = 502
        await discord.wait_for(lambda: "cannot be reached (HTTP 502)" in caplog.text)
        asked = await discord.says(PIER, "ben", "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, asked))
        assert not adapter.connected and not adapter.ready.is_set()
        discord.gateway.rules.status = 0
        await asyncio.wait_for(adapter.ready.wait(), 30)
        assert adapter.connected and identified(discord) == [[0, 2], [1, 2]] and len(player.asks) == 1


async def test_one_is_enough_where_discord_proposes_one(tmp_path: Path) -> None:
    async with divided(1) as discord, bot(discord, tmp_path, guilds=BOTH):
        for channel, user in ((GENERAL, "ann"), (PIER, "ben")):
            asked = await discord.says(channel, user, "@kotae How long do refunds take?")
            await discord.wait_for(answered(discord, asked))
        assert identified(discord) == [[0, 1]]


async def test_a_shard_that_is_lost_resumes_while_the_others_are_heard(tmp_path: Path) -> None:
    async with divided() as discord, bot(discord, tmp_path, guilds=BOTH) as here:
        discord.gateway.rules.status = 502
        discord.close(4000, SECOND)
        await discord.wait_for(lambda: not here.adapter.connected)
        lost = await discord.says(GENERAL, "ann", "@kotae How long do refunds take?")
        heard = await discord.says(PIER, "ben", "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, heard))
        assert not discord.replies(lost) and not here.adapter.connected
        discord.gateway.rules.status = 0
        await discord.wait_for(answered(discord, lost))
        await discord.wait_for(lambda: here.adapter.connected)
        await discord.wait_for_idle()
        assert discord.gateway.resumed == 1 and discord.gateway.identified == 2 and len(here.player.asks) == 2
        assert not discord.journal.calls(READ, channel=PIER), "nothing is caught up with"


async def test_what_a_shard_did_not_hear_before_its_new_session_is_answered(tmp_path: Path) -> None:
    async with divided() as discord, bot(discord, tmp_path, guilds=BOTH) as here:
        for channel, user in ((GENERAL, "ann"), (PIER, "ben"), (discord.dm("ann"), "ann")):
            asked = await discord.says(channel, user, "@kotae How long do refunds take?")
            await discord.wait_for(answered(discord, asked))
        await discord.wait_for_idle()
        assert here.adapter._client is not None
        heard, others = here.adapter._client.heard, discord.gateway.live(FIRST)
        since = len(discord.journal.entries)
        discord.gateway.rules.status = 502
        discord.invalidate(shard=SECOND)
        await discord.wait_for(lambda: not discord.gateway.live(SECOND) and not here.adapter.connected)
        missed = await discord.says(GENERAL, "ann", "@kotae How long do refunds take?")
        discord.gateway.rules.status = 0
        await discord.wait_for(answered(discord, missed))
        await discord.wait_for(lambda: here.adapter.connected)
        await discord.wait_for_idle()
        assert discord.gateway.identified == 3 and discord.gateway.live(FIRST) == others
        assert here.adapter._client.heard != heard and len(here.player.asks) == 4
        read = {each.params["channel"] for each in discord.journal.entries[since:] if each.route == READ}
        assert GENERAL in read and not read & {PIER, discord.dm("ann")}, "the others missed nothing"


@pytest.mark.parametrize("shards", [1, 2])
async def test_a_server_that_was_left_unheard_does_not_count_any_more(shards: int, tmp_path: Path) -> None:
    async with divided(shards) as discord, bot(discord, tmp_path, guilds=BOTH) as here:
        assert servers(here) == {"Loopback", "Pier"}
        discord.gateway.rules.status = 502
        discord.invalidate(shard=FIRST)
        await discord.wait_for(lambda: not discord.gateway.live(FIRST))
        await discord.throws_out_the_bot(PIER_GUILD)
        discord.gateway.rules.status = 0
        await discord.wait_for(lambda: servers(here) == {"Loopback"})


async def test_all_shards_identify_again_in_their_turn(tmp_path: Path) -> None:
    async with divided(4) as discord, bot(discord, tmp_path, guilds=BOTH) as here:
        before = len(identified(discord))
        discord.invalidate()
        await discord.wait_for(lambda: discord.gateway.identified == 8 and here.adapter.connected)
        assert before == 4 and len(identified(discord)) == 8, "none came too early"


async def test_a_shard_that_discord_finds_too_early_tries_again(tmp_path: Path) -> None:
    async with divided() as discord:
        discord.gateway.rules.identify_seconds = 0.5
        async with bot(discord, tmp_path, guilds=BOTH) as here:
            assert here.adapter.connected and discord.gateway.identified == 2
            assert identified(discord)[0] == [0, 2] and identified(discord).count([1, 2]) > 1
        assert discord.gateway.live() == []


async def test_a_bot_that_has_grown_is_connected_anew_with_the_shards_it_needs(tmp_path: Path) -> None:
    async with divided(1) as discord:
        with pytest.raises(ConnectionError, match="more shards: 4011"):
            async with bot(discord, tmp_path, guilds=BOTH) as here:
                discord.app.shards, discord.app.sharded = 3, True
                discord.invalidate()
                await discord.wait_for(here.task.done)
        async with bot(discord, tmp_path, guilds=BOTH):
            assert identified(discord)[-3:] == [[0, 3], [1, 3], [2, 3]]
            for channel, user in ((GENERAL, "ann"), (PIER, "ben")):
                asked = await discord.says(channel, user, "@kotae How long do refunds take?")
                await discord.wait_for(answered(discord, asked))


async def test_a_direct_message_waits_until_all_servers_are_known(tmp_path: Path) -> None:
    async with divided() as discord, beginning(discord, tmp_path) as (player, _):
        await first_alone(discord)
        await discord.says(discord.dm("ann"), "ann", "How long do refunds take?")
        await discord.wait_for_idle()
        assert not player.asks
        discord.gateway.rules.ready = True
        discord.gateway.connections[-1].close(4000)
        await discord.wait_for(lambda: player.asks)
        assert player.readers[0].scopes >= TEAM


async def test_the_one_server_that_is_known_of_several_is_not_the_team(tmp_path: Path) -> None:
    async with divided() as discord, beginning(discord, tmp_path, None) as (player, adapter):
        await first_alone(discord)
        asked = await discord.says(PIER, "ben", "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, asked))
        assert (await adapter.find(PIER)).name == "#pier"
        with pytest.raises(ConnectionError, match="unavailable"):
            await adapter.find(GENERAL)
        assert not discord.journal.calls("GET /users/@me/guilds"), "what the shards tell is not mixed with REST's"
        assert {scope for scope in player.readers[0].scopes if not scope.startswith("thread:")} == EVERYONE


@pytest.mark.parametrize(("today", "this_hour", "seconds"), [(999, 0, "86"), (0, IDENTIFIES - 1, "3600")])
async def test_where_not_enough_sessions_are_left_for_all_shards_none_is_begun(
    today: int, this_hour: int, seconds: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with divided() as discord:
        discord.app.identified = [discord.clock.now()] * today
        async with beginning(discord, tmp_path, begun=this_hour):
            said = await discord.wait_for(lambda: [one for one in caplog.records if one.levelno == logging.ERROR])
            assert f"begun in {seconds}" in said[0].getMessage() and not discord.gateway.connections


@pytest.mark.parametrize(("code", "said"), [(401, "SettingsError.*DISCORD_TOKEN"), (403, "ConnectionError.*HTTP 403")])
async def test_why_discord_does_not_say_how_many_shards_there_are_is_said(code: int, said: str, tmp_path: Path) -> None:
    async with divided() as discord:
        discord.fail("GET /gateway/bot", status(code))
        with pytest.raises((SettingsError, ConnectionError)) as caught:
            async with bot(discord, tmp_path):
                pass
        assert re.fullmatch(f"{said}.*", repr(caught.value)) and not discord.gateway.connections


async def test_a_server_that_knows_single_connections_only_gets_one(tmp_path: Path) -> None:
    """A client of one connection asks for no number of shards (topics/gateway, connecting), so a stand-in may have no
    such path."""
    async with FakeDiscord() as discord:
        discord.fail("GET /gateway/bot", error(0))
        async with bot(discord, tmp_path) as here:
            asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
            await discord.wait_for(answered(discord, asked))
            assert len(discord.gateway.connections) == 1 and scopes(here) == TEAM
