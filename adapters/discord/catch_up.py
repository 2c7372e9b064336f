"""Messages that were sent while no process of ours was connected: Discord tells a new session nothing of that, so it
is looked up.

Source: product.md §1 (never silent, also after a restart); reliability.md R5 and R32.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import discord

from adapters.discord.context import DiscordContext
from adapters.discord.events import DIRECT, PLATFORM, reads
from adapters.discord.transport.errors import UnreachableError
from adapters.port import PostError
from bot.errors import StoreError
from bot.waiting import Sleep

log = logging.getLogger(__name__)

SECONDS = 900.0  # after which nobody waits for an answer any more
CHANNELS, MESSAGES = 100, 100  # that are looked through; messages of each
AGAIN = (15.0, 45.0, 120.0, 300.0)  # seconds until what could not be read is asked for again
DIRECT_ONES = 50  # of the channels: direct conversations, of which nothing says beforehand whether they have news

Spoken = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread
Read = Spoken | discord.PartialMessageable


async def missed(
    context: DiscordContext, shard: int, *, sleep: Sleep = asyncio.sleep
) -> AsyncGenerator[discord.Message, None]:
    """Recent messages of a shard's servers, and of direct conversations with the first one, oldest first: what was
    heard is among it. Where Discord gives none they are asked for again, for minutes. Never raises."""
    since = discord.Object(discord.utils.time_snowflake(datetime.now(UTC) - timedelta(seconds=SECONDS)))
    channels = sorted(_spoken_in(context.client, shard, since.id), key=lambda one: -(one.last_message_id or 0))
    threads = [one for one in channels if isinstance(one, discord.Thread)]  # our own answers make many: they come last
    others = [one for one in channels if not isinstance(one, discord.Thread)]
    read: list[Read] = [*others, *([] if shard else await _direct(context)), *threads]
    left = read[:CHANNELS]
    for wait in (*AGAIN, None):
        found, left = await _read(context, left, since)
        for message in sorted(found, key=lambda one: one.id):
            yield message
        if not left or wait is None:
            return
        await sleep(wait)


async def _read(
    context: DiscordContext, channels: Sequence[Read], since: discord.Object
) -> tuple[list[discord.Message], list[Read]]:
    """Their messages, and the channels that could not be read for now."""
    found: list[discord.Message] = []
    left: list[Read] = []
    for channel in channels:
        try:
            found += await context.rest.call("read", str(channel.id), lambda: _newest(channel, since))  # noqa: B023
        except PostError as error:
            log.info("what was said meanwhile could not be read: %s", error)
            if isinstance(error, UnreachableError):
                left.append(channel)
    return found, left


async def _direct(context: DiscordContext) -> list[discord.PartialMessageable]:
    """Those that the bot has talked in, the latest first: Discord lists none."""
    try:
        known = await context.bot.outbox.channels(PLATFORM, DIRECT, limit=DIRECT_ONES)
    except StoreError as error:
        log.warning("which direct conversations there are is not known: %s", error)
        return []
    return [context.client.get_partial_messageable(int(one), type=discord.ChannelType.private) for one in known]


def _spoken_in(client: discord.Client, shard: int, since: int) -> Iterator[Spoken]:
    for guild in client.guilds:
        if guild.shard_id != shard:
            continue
        channels: list[Spoken] = [*guild.text_channels, *guild.voice_channels, *guild.stage_channels, *guild.threads]
        for channel in channels:
            if (channel.last_message_id or 0) >= since and _readable(channel):
                yield channel


def _readable(channel: Spoken) -> bool:
    try:
        rights = channel.permissions_for(channel.guild.me)
    except discord.ClientException:  # a thread whose channel is not known
        return False
    return reads(channel, rights) and rights.read_message_history


async def _newest(channel: Read, since: discord.Object) -> list[discord.Message]:
    return [one async for one in channel.history(limit=MESSAGES, after=since, oldest_first=False)]
