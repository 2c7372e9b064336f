"""Who acts on the pairs page, from which of their rooms, and how a refusal is said."""

from collections.abc import Iterator
from contextlib import contextmanager

from adapters.web.pages.frame import saying
from adapters.web.rooms import actor, audience, place, rooms_of
from adapters.web.site import Visitor
from bot.access import scope_of
from bot.pairs import PairsError, Reviewer
from retrieval.text import Language
from retrieval.types import RAGToolError


def standings(who: Visitor) -> tuple[Reviewer, ...]:
    """The member in each of their rooms, the public ones first."""
    rooms = sorted(rooms_of(who.member), key=lambda one: one.private)
    return tuple(Reviewer(actor(who.member), place(one), audience(one)) for one in rooms)


def standing(who: Visitor, scope: str) -> Reviewer:
    """Where a member decides about what this scope reads: in the private room it is of, else in a public one."""
    theirs = standings(who)
    return next((one for one in theirs if is_private(one) and scope_of(one.place) == scope), theirs[0])


def is_private(one: Reviewer) -> bool:
    return one.audience.visibility == "private"


@contextmanager
def refusals(language: Language, *, inline: bool = False) -> Iterator[None]:
    """`saying`, with what is refused for pairs."""
    with saying(language, inline=inline):
        try:
            yield
        except PairsError as error:
            raise RAGToolError(error.reason) from error
