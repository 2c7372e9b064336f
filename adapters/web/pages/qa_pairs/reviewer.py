"""The person who acts on the pairs page, and from which of their rooms."""

from adapters.web.channel.rooms import Room, actor, audience, deciding, place, rooms_of
from adapters.web.visitor import Visitor
from bot.qa_pairs.pairs import Reviewer


def standings(who: Visitor) -> tuple[Reviewer, ...]:
    """The member in each of their rooms, the public ones first."""
    return tuple(_in(room, who) for room in sorted(rooms_of(who.member), key=lambda one: one.private))


def standing(who: Visitor, scope: str) -> Reviewer:
    """The place where a member decides about pairs of this scope."""
    return _in(deciding(who.member, {scope}), who)


def is_private(one: Reviewer) -> bool:
    return one.audience.visibility == "private"


def _in(room: Room, who: Visitor) -> Reviewer:
    return Reviewer(actor(who.member), place(room), audience(room))
