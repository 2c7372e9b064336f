"""Access: the readers of a place decide what a reply there may be made from, and a person's role what they may change.
Fails closed.

Source: product.md §3 and §5; reliability.md R11, R13 and R19.
"""

import re
from collections.abc import Awaitable, Callable, Collection
from typing import assert_never
from urllib.parse import quote

from bot.config.settings import Settings
from bot.types import Actor, Audience, Place, Role
from retrieval.types import EVERYONE, TEAM, Readers

_PLACE = re.compile(r"place:[^:\s]+:[^:\s]+:[^:\s]+")
_ID = {"slack": re.compile(r"[UW][A-Z0-9]{1,20}"), "discord": re.compile(r"\d{15,21}")}
_MENTION = re.compile(r"<@!?([A-Z0-9]+)(?:\|[^>]*)?>")
Withheld = Callable[[Collection[str], Readers], Awaitable[frozenset[str]]]
"""Of documents that were said in channels those that these readers may not read any more, asked of the platform."""

THREAD = "thread:"  # what the scopes of threads begin with


def scope_of(place: Place) -> str:
    """`place:<platform>:<workspace>:<channel>`; two places never share one."""
    return "place:" + _joined(place.platform, place.workspace, place.channel)


def thread_scope(place: Place, thread: str) -> str:
    """`thread:<platform>:<workspace>:<channel>:<thread>`: of files that came with a question; read in that thread
    only."""
    return THREAD + _joined(place.platform, place.workspace, place.channel, thread)


def _joined(*parts: str) -> str:
    return ":".join(quote(part, safe="") or "-" for part in parts)


def readers(place: Place, audience: Audience, thread: str | None = None) -> Readers:
    """The scopes that everyone who will see a reply at `place`, in that thread of it, may read."""
    here = frozenset(() if thread is None else (thread_scope(place, thread),))
    match audience.visibility:
        case "public":
            return Readers(here | {EVERYONE, TEAM})
        case "private":
            return Readers(here | {EVERYONE, TEAM, scope_of(place)})
        case "outsiders" | "unknown":
            return Readers(here | {EVERYONE})
        case _:
            assert_never(audience.visibility)


def default_scope(place: Place, audience: Audience) -> str:
    """The scope of what is said or added at `place` when nobody chose one: never wider than those who see it there."""
    return TEAM if audience.visibility == "public" else scope_of(place)


def reaches_team(audience: Audience) -> bool:
    """Whether anybody is shown what could not be answered there: where outsiders read along, it only counts."""
    return audience.visibility not in ("outsiders", "unknown")


def valid_scope(text: str) -> bool:
    """`everyone`, `team` or `place:<platform>:<workspace>:<channel>`."""
    return text in (EVERYONE, TEAM) or _PLACE.fullmatch(text) is not None


def role(actor: Actor, settings: Settings) -> Role:
    """The role of a person: an editor is whom the platform calls one, or a full member whom KOTAE_EDITORS names as
    `slack:U123` or by the bare id. An outsider stays one."""
    listed = actor.id in settings.editors or actor.full_id in settings.editors
    return "editor" if actor.role == "member" and listed else actor.role


def scopes(actor: Actor, place: Place, audience: Audience, settings: Settings) -> tuple[str, ...]:
    """Those who may be allowed to read what this person adds at `place`, the default first; empty: nothing is added.

    Any full member adds for the place, an editor also for more. Where outsiders read along, what is added for the place
    would be found by nobody, so only an editor adds there.
    """
    who = role(actor, settings)
    if who == "outsider":
        return ()
    wider = (TEAM, EVERYONE) if who == "editor" else ()
    if audience.visibility in ("outsiders", "unknown"):
        return wider
    return tuple(dict.fromkeys((default_scope(place, audience), *wider)))


def person(text: str) -> str | None:
    """`platform:id` of somebody who can be asked, from that, a mention, or an id whose form is only one platform's;
    None for a visitor of the terminal, the browser or the API, and for what is nobody."""
    text = text.strip()
    mention = _MENTION.fullmatch(text)
    platform, colon, id = text.partition(":")
    if colon and platform in _ID and _ID[platform].fullmatch(id):
        return text
    alone = mention[1] if mention else text
    return next((f"{name}:{alone}" for name, form in _ID.items() if form.fullmatch(alone)), None)
