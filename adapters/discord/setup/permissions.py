"""Permissions of a bot in a server, and the channels in which it lacks them: computed from Discord's own payloads.
Pure.

Source: discord.com/developers/docs/topics/permissions (bitwise flags; how roles and overwrites make them).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]

VIEW, SEND, IN_THREADS = "View Channels", "Send Messages", "Send Messages in Threads"
PERMISSIONS = {  # what the invitation asks for
    VIEW: 1 << 10,
    SEND: 1 << 11,
    "Embed Links": 1 << 14,
    "Attach Files": 1 << 15,
    "Read Message History": 1 << 16,
    "Create Public Threads": 1 << 35,
    IN_THREADS: 1 << 38,
}
_TO_ANSWER = (VIEW, SEND, "Read Message History", "Create Public Threads", IN_THREADS)
_IN_FORUM = (VIEW, "Read Message History", IN_THREADS)  # whose posts are threads already
_ADMINISTRATOR = 1 << 3
_TEXT, _ANNOUNCEMENT, _FORUM = 0, 5, 15


@dataclass(frozen=True, slots=True)
class Lacking:
    """Permissions the bot lacks, by the names that Discord shows. `everywhere`: in the whole server; `channels`: by
    their names, beyond that; `blind`: it sees no channel at all."""

    everywhere: tuple[str, ...] = ()
    channels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    blind: bool = False


def lacking(guild: str, member: Json, roles: Sequence[Json], channels: Sequence[Json]) -> Lacking:
    """`member`: the bot's own. Channels that it does not see, or in which people do not write, are left as they are."""
    granted = {str(role["id"]): int(role["permissions"]) for role in roles}
    everyone, own, base = granted.get(guild, 0), _roles(member), _base(guild, member, roles)
    if base & _ADMINISTRATOR:
        return Lacking()
    user = _user(member)
    seen, found = 0, []
    for channel in channels:
        kind = channel.get("type")
        if kind not in (_TEXT, _ANNOUNCEMENT, _FORUM):
            continue
        mine = _in_channel(base, guild, own, user, channel)
        if not mine & PERMISSIONS[VIEW]:
            continue
        seen += 1
        theirs = _in_channel(everyone, guild, set(), "", channel)
        if kind != _FORUM and theirs and not theirs & (PERMISSIONS[SEND] | PERMISSIONS[IN_THREADS]):
            continue  # to be read only
        wanted = _IN_FORUM if kind == _FORUM else _TO_ANSWER
        if missing := tuple(name for name in wanted if PERMISSIONS[name] & base & ~mine):
            found.append((str(channel.get("name") or channel["id"]), missing))
    everywhere = tuple(name for name in _TO_ANSWER if not base & PERMISSIONS[name])
    return Lacking(everywhere, tuple(found), blind=seen == 0)


def may_post(guild: str, member: Json, roles: Sequence[Json], channel: Json) -> bool:
    """Whether the bot sees a channel, which is no thread, and may write in it."""
    base = _base(guild, member, roles)
    wanted = PERMISSIONS[VIEW] | PERMISSIONS[SEND]
    granted = _in_channel(base, guild, _roles(member), _user(member), channel)
    return bool(base & _ADMINISTRATOR) or granted & wanted == wanted


def _base(guild: str, member: Json, roles: Sequence[Json]) -> int:
    """Without any channel's overwrites."""
    made = 0
    for role in roles:
        if str(role["id"]) in (guild, *_roles(member)):
            made |= int(role["permissions"])
    return made


def _roles(member: Json) -> set[str]:
    return {str(role) for role in member.get("roles") or ()}


def _user(member: Json) -> str:
    return str((member.get("user") or {}).get("id") or "")


def _in_channel(base: int, guild: str, roles: set[str], user: str, channel: Json) -> int:
    """0 for those who do not see it."""
    overwrites = {str(each["id"]): each for each in channel.get("permission_overwrites") or ()}
    made = base
    for group in ([guild], sorted(roles), [user]):
        there = [overwrites[each] for each in group if each in overwrites]
        for each in there:
            made &= ~int(each["deny"])
        for each in there:
            made |= int(each["allow"])
    return made if made & PERMISSIONS[VIEW] else 0
