"""Who may do what where: Discord's permission bits, and how roles and overwrites make them.

Source: discord-api-docs, topics/permissions (bitwise flags, overwrites, implicit and inherited permissions).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

BITS = {
    "kick_members": 1 << 1,
    "administrator": 1 << 3,
    "manage_channels": 1 << 4,
    "manage_guild": 1 << 5,
    "add_reactions": 1 << 6,
    "view_channel": 1 << 10,
    "send_messages": 1 << 11,
    "send_tts_messages": 1 << 12,
    "manage_messages": 1 << 13,
    "embed_links": 1 << 14,
    "attach_files": 1 << 15,
    "read_message_history": 1 << 16,
    "mention_everyone": 1 << 17,
    "use_external_emojis": 1 << 18,
    "connect": 1 << 20,
    "manage_roles": 1 << 28,
    "use_application_commands": 1 << 31,
    "manage_threads": 1 << 34,
    "create_public_threads": 1 << 35,
    "create_private_threads": 1 << 36,
    "send_messages_in_threads": 1 << 38,
}
ALL = (1 << 53) - 1
_WITH_SENDING = BITS["mention_everyone"] | BITS["send_tts_messages"] | BITS["attach_files"] | BITS["embed_links"]


def bits(names: Iterable[str]) -> int:
    """Raises KeyError for a name that is not in `BITS`."""
    made = 0
    for name in names:
        made |= BITS[name]
    return made


# What @everyone has in a new server, as far as text goes; pinging everyone is among it.
_MEMBER = """
add_reactions view_channel send_messages embed_links attach_files read_message_history mention_everyone
use_external_emojis connect use_application_commands create_public_threads create_private_threads
send_messages_in_threads
"""
MEMBER = bits(_MEMBER.split())


@dataclass(slots=True)
class Overwrite:
    """What a channel allows and denies one role or one member beyond their roles."""

    id: str
    kind: int  # 0: a role, 1: a member
    allow: int = 0
    deny: int = 0


@dataclass(slots=True)
class Role:
    id: str
    name: str
    permissions: int = 0
    position: int = 0
    mentionable: bool = False
    bot_id: str = ""  # whose managed role it is


@dataclass(slots=True)
class Member:
    user: str
    roles: set[str] = field(default_factory=set)
    nick: str = ""
    pending: bool = False
    guest: bool = False  # who was invited to a voice channel, for as long as they are in it
    voice: str = ""  # the channel they are in
    joined: str = ""


def in_guild(member: Member, roles: dict[str, Role], everyone: str, *, owner: bool) -> int:
    """Without any channel's overwrites."""
    made = roles[everyone].permissions
    for role in member.roles:
        made |= roles[role].permissions
    return ALL if owner or made & BITS["administrator"] else made


def in_channel(base: int, member: Member, everyone: str, overwrites: dict[str, Overwrite], *, thread: bool) -> int:
    """`overwrites` are the parent's for a thread. Where somebody cannot look, they can do nothing."""
    if base == ALL:
        return ALL
    groups = [[everyone], sorted(member.roles), [member.user]]
    for group in groups:
        found = [overwrites[each] for each in group if each in overwrites]
        for each in found:
            base &= ~each.deny
        for each in found:
            base |= each.allow
    if not base & BITS["view_channel"]:
        return 0
    if not base & BITS["send_messages_in_threads" if thread else "send_messages"]:
        base &= ~_WITH_SENDING
    return base
