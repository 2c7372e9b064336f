"""Who can read a place decides what a reply there may be made from. Fails closed.

Source: product.md §3; reliability.md R11 and R13.
"""

import re
from typing import assert_never
from urllib.parse import quote

from bot.messages import Audience, Place
from retrieval.types import EVERYONE, TEAM, Readers

_PLACE = re.compile(r"place:[^:\s]+:[^:\s]+:[^:\s]+")


def scope_of(place: Place) -> str:
    """`place:<platform>:<workspace>:<channel>`; two places never share one."""
    parts = (quote(part, safe="") or "-" for part in (place.platform, place.workspace, place.channel))
    return "place:" + ":".join(parts)


def readers(place: Place, audience: Audience) -> Readers:
    """The scopes that everyone who will see a reply at `place` may read."""
    match audience.visibility:
        case "public":
            return Readers(frozenset({EVERYONE, TEAM}))
        case "private":
            return Readers(frozenset({EVERYONE, TEAM, scope_of(place)}))
        case "outsiders" | "unknown":
            return Readers(frozenset({EVERYONE}))
        case _:
            assert_never(audience.visibility)


def default_scope(place: Place, audience: Audience) -> str:
    """The scope of what is said or added at `place` when nobody chose one: never wider than those who see it there."""
    return TEAM if audience.visibility == "public" else scope_of(place)


def valid_scope(text: str) -> bool:
    """`everyone`, `team` or `place:<platform>:<workspace>:<channel>`."""
    return text in (EVERYONE, TEAM) or _PLACE.fullmatch(text) is not None
