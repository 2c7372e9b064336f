"""Messages and threads of Discord that somebody points to: found, and put into Markdown.

Source: discord.com/developers/docs/resources/message; reliability.md R19 and R33.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import discord

from adapters.discord.events import name_of, readable, reads
from adapters.discord.transport.api import DiscordApi
from adapters.discord.transport.errors import GoneError

MESSAGES = 1_000  # of a thread

_LINK = re.compile(
    r"https://(?:ptb\.|canary\.)?discord(?:app)?\.com/channels/(?:\d+|@me)/(?P<channel>\d+)(?:/(?P<message>\d+))?/?"
)
_SPOKEN = (
    discord.MessageType.default,
    discord.MessageType.reply,
    discord.MessageType.chat_input_command,
    discord.MessageType.context_menu_command,
)

Readable = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread | discord.DMChannel


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """The target of a link; without a message, the thread `channel`."""

    channel: int
    message: int | None = None


def links_in(text: str) -> list[str]:
    """The links to messages and threads in a text, as they are written there."""
    return [found[0] for found in _LINK.finditer(text)]


def target_of(link: str) -> LinkTarget | None:
    """`https://discord.com/channels/<server>/<channel>/<message>`, or of a thread; None: it is something else."""
    found = _LINK.fullmatch(link.strip())
    if found is None:
        return None
    return LinkTarget(int(found["channel"]), int(found["message"]) if found["message"] else None)


async def place_at(rest: DiscordApi, client: discord.Client, id: int) -> object:
    """A channel of any kind. Raises PostErrors."""
    return client.get_channel(id) or await rest.call("channel", str(id), lambda: client.fetch_channel(id))


async def channel_at(rest: DiscordApi, client: discord.Client, id: int) -> Readable:
    """A channel that has messages. Raises GoneError and other PostErrors."""
    found = await place_at(rest, client, id)
    if not isinstance(found, Readable):
        raise GoneError("channel", "type")
    return found


async def message_at(rest: DiscordApi, channel: Readable, id: int) -> discord.Message:
    """One message as it is now. Raises GoneError and other PostErrors."""
    return await rest.call("read", str(channel.id), lambda: channel.fetch_message(id))


async def root_of(rest: DiscordApi, thread: discord.Thread) -> discord.Message | None:
    """The message that a thread was started on; None: it is not there, or stands in the thread itself, as in a forum.
    Raises PostErrors."""
    if not isinstance(thread.parent, discord.TextChannel):
        return None
    try:
        return await message_at(rest, thread.parent, thread.id)
    except GoneError:
        return None


async def thread_at(rest: DiscordApi, channel: Readable) -> list[discord.Message]:
    """The messages of a thread, oldest first. Raises GoneError and other PostErrors."""

    async def read() -> list[discord.Message]:
        return [message async for message in channel.history(limit=MESSAGES, oldest_first=True)]

    return await rest.call("read", str(channel.id), read)


async def reader(rest: DiscordApi, channel: Readable, user: discord.User | discord.Member) -> discord.Member | None:
    """Somebody as a member who can read a channel of a server; None: they cannot. Raises PostErrors."""
    if isinstance(channel, discord.DMChannel):
        return None
    try:
        guild = channel.guild
        member = await rest.call("member", str(guild.id), lambda: guild.fetch_member(user.id))
        allowed = channel.permissions_for(member)
        if not (reads(channel, allowed) and allowed.read_message_history):
            return None
        if isinstance(channel, discord.Thread) and channel.is_private() and not allowed.manage_threads:
            thread = channel
            await rest.call("member", str(channel.id), lambda: thread.fetch_member(user.id))
    except (GoneError, discord.ClientException):  # not a member; a thread whose channel is not known
        return None
    return member


def said_by(author: str, day: str, text: str) -> str:
    """The text of somebody's message, in Markdown."""
    return f"**{author}** ({day}):\n\n{text}"


def transcript(messages: Iterable[discord.Message], me: int) -> list[tuple[str, str]]:
    """The days, and who wrote what then; without what the bot wrote itself."""
    parts = []
    for message in messages:
        text = readable(message, me)
        if text and message.author.id != me and message.type in _SPOKEN:
            parts.append((day(message), said_by(name_of(message.author), day(message), text)))
    return parts


def day(message: discord.Message) -> str:
    return f"{message.created_at:%Y-%m-%d}"
