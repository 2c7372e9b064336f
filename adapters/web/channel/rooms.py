"""The rooms of the browser channel and the two members who can be tried there: one room is private, so its rules show.

Source: product.md §3 and §6.
"""

from collections.abc import Collection
from dataclasses import dataclass

from bot.access import scope_of
from bot.records import BROWSER
from bot.types import Actor, Audience, Place, Role
from retrieval.i18n import Text
from retrieval.types import EVERYONE, TEAM, Readers

PLATFORM = BROWSER
WORKSPACE = "local"


@dataclass(frozen=True, slots=True)
class Member:
    id: str
    name: Text
    role: Role


@dataclass(frozen=True, slots=True)
class Room:
    id: str
    name: Text
    private: bool
    members: frozenset[str]  # their ids


MEMBERS: tuple[Member, ...] = (
    Member("aki", Text(en="Aki", ja="アキ"), "editor"),
    Member("ben", Text(en="Ben", ja="ベン"), "member"),
)
ROOMS: tuple[Room, ...] = (
    Room("general", Text(en="general", ja="全体"), False, frozenset({"aki", "ben"})),
    Room("leads", Text(en="leads", ja="リーダー"), True, frozenset({"aki"})),
)


def room(name: str) -> Room:
    """A room by its id. Raises LookupError."""
    found = next((each for each in ROOMS if each.id == name), None)
    if found is None:
        raise LookupError("there is no such room")
    return found


def member(name: str) -> Member | None:
    """A member by the id; None for the bot, and for people whose place is elsewhere."""
    return next((each for each in MEMBERS if each.id == name), None)


def enter(room: Room, member: Member) -> None:
    """Raises LookupError for a room that is not this member's: as if there were none."""
    if room not in ROOMS or member.id not in room.members:
        raise LookupError("there is no such room")


def rooms_of(member: Member) -> tuple[Room, ...]:
    return tuple(room for room in ROOMS if member.id in room.members)


def deciding(member: Member, scopes: Collection[str]) -> Room:
    """The place where a member decides about documents of these scopes: in a private room of theirs that is one of
    them, from where the team's can be seen too, else in the public one."""
    return next((one for one in rooms_of(member) if one.private and scope_of(place(one)) in scopes), ROOMS[0])


def place(room: Room) -> Place:
    return Place(PLATFORM, WORKSPACE, room.id)


def audience(room: Room) -> Audience:
    return Audience("private" if room.private else "public")


def actor(member: Member) -> Actor:
    return Actor(PLATFORM, WORKSPACE, member.id, member.role)


def readers_of(member: Member) -> Readers:
    """The readers of a page that this member alone sees: what the team may read, and their private rooms' matter."""
    private = frozenset(scope_of(place(room)) for room in rooms_of(member) if room.private)
    return Readers(private | {EVERYONE, TEAM})
