"""What was said while no process of ours heard it: Discord tells a new session nothing of that, so it is looked up.

Source: product.md §1 (never silent, also after a restart); reliability.md R5 and R32.
"""

import logging
import time
from collections.abc import Iterator

import discord

from adapters.discord.office import Office
from adapters.port import PostError

log = logging.getLogger(__name__)

SECONDS = 900.0  # after which nobody waits for an answer any more
CHANNELS, MESSAGES = 100, 100  # that are looked through; messages of each

Spoken = discord.TextChannel | discord.VoiceChannel | discord.Thread


async def missed(office: Office) -> list[discord.Message]:
    """What was said of late in the servers, oldest first: what was heard is among it. Discord does not list direct
    conversations. Never raises."""
    since = discord.Object(_snowflake(time.time() - SECONDS))
    found: list[discord.Message] = []
    channels = sorted(_spoken_in(office.bot, since.id), key=_importance)
    for channel in channels[:CHANNELS]:
        try:
            found += await office.rest.call("read", str(channel.id), lambda: _newest(channel, since))  # noqa: B023
        except PostError as error:
            log.info("what was said meanwhile could not be read: %s", error)
    return sorted(found, key=lambda one: one.id)


def _spoken_in(client: discord.Client, since: int) -> Iterator[Spoken]:
    for guild in client.guilds:
        channels: list[Spoken] = [*guild.text_channels, *guild.voice_channels, *guild.threads]
        for channel in channels:
            if (channel.last_message_id or 0) >= since and _readable(channel):
                yield channel


def _importance(channel: Spoken) -> tuple[bool, int]:
    """Threads last, of which our own answers make many; then what was spoken in last."""
    return isinstance(channel, discord.Thread), -(channel.last_message_id or 0)


def _readable(channel: Spoken) -> bool:
    try:
        rights = channel.permissions_for(channel.guild.me)
    except discord.ClientException:  # a thread whose channel is not known
        return False
    return rights.view_channel and rights.read_message_history


async def _newest(channel: Spoken, since: discord.Object) -> list[discord.Message]:
    return [one async for one in channel.history(limit=MESSAGES, after=since, oldest_first=False)]


def _snowflake(at: float) -> int:
    """The first id of a moment, in seconds since 1970."""
    return max(0, int(at * 1000) - discord.utils.DISCORD_EPOCH) << 22
