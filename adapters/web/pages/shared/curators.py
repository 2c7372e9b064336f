"""Parts that the pages that change documents share: who acts, and a scope in words."""

from adapters.shared import ingestion
from adapters.web.channel.rooms import actor, audience, place, rooms_of
from adapters.web.visitor import Visitor
from bot.access import scope_of
from bot.knowledge.curation import Curator
from retrieval.i18n import Text

_ROOM = Text(en="Members of “{room}” only", ja="「{room}」のメンバーのみ")


def person(who: Visitor) -> Curator:
    """The browser's member, in all their rooms."""
    rooms = rooms_of(who.member)
    return Curator(actor(who.member), who.readers, tuple((place(one), audience(one)) for one in rooms), who.language)


def readers_of(scope: str, who: Visitor) -> str:
    """A scope in words."""
    for one in rooms_of(who.member):
        if scope == scope_of(place(one)):
            return _ROOM.to(who.language, room=one.name.to(who.language))
    return ingestion.readers_of(scope, who.language)
