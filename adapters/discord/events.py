"""Discord's events, read as what they mean to the bot. Pure: discord.py's objects in, values out; nothing is looked
up.

Source: discord-api-docs, events/gateway-events and resources/message; reliability.md R3, R8 and R33.
"""

import re
from dataclasses import dataclass
from typing import Literal

import discord

from agent.routing.router import uncalled
from bot.types import UNKNOWN, Incoming, Place
from retrieval.loaders.sanitize import clean_line

PLATFORM = "discord"
DIRECT = "@me"  # the workspace of direct messages, as Discord writes it in addresses

SPOKEN = (discord.MessageType.default, discord.MessageType.reply)
CHECKS = frozenset({"✅", "☑️", "✔️"})
VOCAL = (discord.VoiceChannel, discord.StageChannel)
_THUMBS: dict[str, Literal["up", "down"]] = {"👍": "up", "👎": "down"}
_MARK = re.compile(
    r"<(?:@!?(?P<user>\d+)|@&(?P<role>\d+)|#(?P<channel>\d+)|a?:(?P<emoji>\w+):\d+|/(?P<command>[^:<>]+):\d+)>"
)


@dataclass(frozen=True, slots=True)
class Spot:
    """The place a channel's messages belong to: a thread to the channel it is in, which decides who reads it. A
    private thread is a place of its own. `thread`: its id, when it is one."""

    place: Place
    thread: str | None


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody addressed the bot. `to`: the message that they replied to; not `named`: that alone addresses it."""

    message: Incoming
    to: str | None = None
    named: bool = True


@dataclass(frozen=True, slots=True)
class Edited:
    """A message that addresses the bot has new words; or no longer does, then `message.text` is what was left. `to` and
    `named` as in `Asked`."""

    message: Incoming
    addressed: bool
    to: str | None = None
    named: bool = True
    known: bool = False  # it never mentioned the bot: only a question that was taken as a follow-up is meant


@dataclass(frozen=True, slots=True)
class Replied:
    """Somebody wrote in a thread, or in reply to a message, without asking: perhaps an answer to one of the bot's
    cards. `to`: the message replied to, else the thread's first one."""

    place: Place
    to: str
    thread: str | None  # where it was written; None: in the channel itself
    message: str
    author: str
    text: str
    follows: Incoming | None = None  # as a question, if it is to nobody else: perhaps it goes on from an answer


@dataclass(frozen=True, slots=True)
class Thumb:
    """A thumb on a message, or its end (`vote` None). `thumb`: which one was taken away."""

    message: str
    author: str
    vote: Literal["up", "down"] | None
    thumb: Literal["up", "down"]


def spot(channel: object) -> Spot | None:
    """None: what it is is not known, and is to be asked."""
    match channel:
        case discord.Thread(type=discord.ChannelType.private_thread):
            return Spot(Place(PLATFORM, str(channel.guild.id), str(channel.id)), str(channel.id))
        case discord.Thread():
            return Spot(Place(PLATFORM, str(channel.guild.id), str(channel.parent_id)), str(channel.id))
        case discord.abc.GuildChannel():
            return Spot(Place(PLATFORM, str(channel.guild.id), str(channel.id)), None)
        case discord.DMChannel() | discord.PartialMessageable(type=discord.ChannelType.private):
            return Spot(Place(PLATFORM, DIRECT, str(channel.id)), None)
        case _:
            return None


def reads(channel: object, rights: discord.Permissions) -> bool:
    """Whether these rights show what is written in a channel: beside a voice channel only to whoever may join it.
    Source: resources/message, Get Channel Messages."""
    return rights.view_channel and (rights.connect or not isinstance(channel, VOCAL))


def said(message: discord.Message, where: Spot, me: int) -> Asked | Replied | None:
    """A new message by a person, read as what it asks of the bot; None: nothing."""
    asked = incoming(message, where, me)
    to = replies_to(message)
    if addressed(message, where, me):
        return Asked(asked, to, _named(message, where, me))
    if to or where.thread:
        alone = where.thread is not None and _to_nobody_else(message, me)
        follows = asked if alone else None
        return Replied(
            where.place, to or where.thread or "", where.thread, asked.message, asked.author, asked.text, follows
        )
    return None


def reworded(message: discord.Message, before: discord.Message | None) -> bool:
    """Whether its author changed it; else Discord itself added a preview, or a thread."""
    return message.edited_at is not None and not (before and before.content == message.content)


def edited(message: discord.Message, before: discord.Message | None, where: Spot, me: int) -> Edited | None:
    """A message that was changed; `before` as far as it is remembered. None: nothing that concerns us was."""
    if not reworded(message, before):
        return None
    asked = incoming(message, where, me)
    if addressed(message, where, me):
        return Edited(asked, True, replies_to(message), _named(message, where, me))
    if before and addressed(before, where, me):
        return Edited(asked, False)
    return Edited(asked, True, known=True) if where.thread else None


def incoming(message: discord.Message, where: Spot, me: int) -> Incoming:
    """A message as a question; a direct one that forwards another has no words of its own, and asks those of the other.
    Who reads its place is looked up later."""
    direct = where.place.workspace == DIRECT
    return Incoming(
        place=where.place,
        thread=where.thread or str(message.id),
        message=str(message.id),
        author=str(message.author.id),
        text=uncalled(words(message, me, direct=direct), [role.name for role in message.role_mentions]),
        audience=UNKNOWN,
        link=link(where.place.workspace, str(message.channel.id), str(message.id)),
        direct=direct,
    )


def withdrawn(message: int, where: Spot) -> Incoming:
    """A message of which no more is known than that it is gone."""
    return Incoming(where.place, where.thread or str(message), str(message), "", "", UNKNOWN)


def thumb(event: discord.RawReactionActionEvent, me: int) -> Thumb | None:
    """A thumb of any colour, by a person."""
    vote = _THUMBS.get((event.emoji.name or "")[:1]) if event.emoji.id is None else None
    if vote is None or event.user_id == me or (event.member is not None and event.member.bot):
        return None
    added = event.event_type == "REACTION_ADD"
    return Thumb(str(event.message_id), str(event.user_id), vote if added else None, vote)


def readable(message: discord.Message, me: int) -> str:
    """Discord's text as people read it: without the mention of `me`, other mentions by name."""
    return _read(message.content, message, me)


def words(message: discord.Message, me: int, *, direct: bool) -> str:
    """The text of a message as people read it; of a direct one that only forwards another, that of the other."""
    forwarded = message.message_snapshots if direct else ()
    return readable(message, me) or "\n\n".join(filter(None, (_read(one.content, message, me) for one in forwarded)))


def _read(text: str, message: discord.Message, me: int) -> str:
    """`text`, which came with a message that names who is mentioned."""
    people = {user.id: name_of(user) for user in message.mentions}
    roles = {role.id: role.name for role in message.role_mentions}
    own = message.guild.self_role if message.guild else None

    def shown(found: re.Match[str]) -> str:
        match found.lastgroup:
            case "user":
                user = int(found["user"])
                return "" if user == me else f"@{people.get(user, user)}"
            case "role":
                role = int(found["role"])
                return "" if own and role == own.id else f"@{roles.get(role, role)}"
            case "channel":
                channel = message.guild.get_channel_or_thread(int(found["channel"])) if message.guild else None
                return f"#{channel.name if channel else found['channel']}"
            case "emoji":
                return f":{found['emoji']}:"
            case _:
                return f"/{found['command']}"

    return _MARK.sub(shown, text).strip()


def name_of(user: discord.abc.User) -> str:
    """A name for people, on one line and with nothing in it that nobody sees."""
    return clean_line(user.display_name) or str(user.id)


def link(workspace: str, channel: str, message: str) -> str:
    """The address under which people find a message."""
    return f"https://discord.com/channels/{workspace}/{channel}/{message}"


def written_in(message: Incoming) -> str:
    """The channel or thread that a question stands in: its link says so."""
    parts = (message.link or "").split("/")
    if len(parts) > 2 and parts[-1] == message.message:
        return parts[-2]
    return message.place.channel if message.thread == message.message else message.thread


def by_a_person(message: discord.Message) -> bool:
    """No bot's words, our own included, start anything: two bots would talk forever (R8)."""
    automatic = message.author.bot or message.author.system or message.webhook_id is not None
    return not automatic and message.type in SPOKEN


def withheld(message: discord.Message) -> bool:
    """Whether Discord keeps to itself what a message says that mentions the bot by its role alone: without the Message
    Content Intent."""
    own = message.guild.self_role if message.guild else None
    return own in message.role_mentions and not message.content


def _to_nobody_else(message: discord.Message, me: int) -> bool:
    """Whether a message mentions nobody, and replies to nobody but the bot."""
    if message.mentions or message.role_mentions or message.mention_everyone:
        return False
    to = message.reference.resolved if message.reference else None
    return replies_to(message) is None or (isinstance(to, discord.Message) and to.author.id == me)


def addressed(message: discord.Message, where: Spot, me: int) -> bool:
    return _named(message, where, me) or _called(message, me)  # a reply calls its author


def replies_to(message: discord.Message) -> str | None:
    """The message that this one replies to."""
    reference = message.reference
    if reference is None or message.type is not discord.MessageType.reply or reference.message_id is None:
        return None
    return str(reference.message_id)


def _called(message: discord.Message, me: int) -> bool:
    return any(user.id == me for user in message.mentions)


def _named(message: discord.Message, where: Spot, me: int) -> bool:
    """By its own name, or by the role that Discord made for it: people pick one for the other. A mention in code is
    none."""
    if where.place.workspace == DIRECT:
        return True
    own = message.guild.self_role if message.guild else None
    called = me in message.raw_mentions and _called(message, me)
    return called or (own is not None and own.id in message.raw_role_mentions)
