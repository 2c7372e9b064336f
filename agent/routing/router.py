"""Tells the few messages that need no document: only courtesy, a question about the bot itself, a sum, or nothing at
all. All else is searched."""

import re
from dataclasses import dataclass
from typing import Literal

from agent.routing.calculator import Computed, compute
from agent.routing.patterns import words
from retrieval.text import normalise

Kind = Literal["team", "greeting", "thanks", "farewell", "about", "arithmetic", "empty"]

_COURTESY: tuple[Kind, ...] = ("farewell", "thanks", "greeting")
_PING = re.compile(r"<@[^>]*>|(?<!\w)@\w+")
_NO_WORD = re.compile(r"[\W_]*")
_WAVES = re.compile(r"[👋🙏😀-🙏]")


@dataclass(frozen=True, slots=True)
class Route:
    """The kind of a message."""

    kind: Kind

    @property
    def search(self) -> bool:
        """Whether the team's documents have to be looked into."""
        return self.kind == "team"


def route(message: str) -> Route:
    """The route of `message`."""
    text = " ".join(_PING.sub(" ", normalise(message)).split())
    if _NO_WORD.fullmatch(text):
        return Route("greeting" if _WAVES.search(text) else "empty")
    for kinds in (_COURTESY, ("about", *_COURTESY)):
        if _NO_WORD.fullmatch(_without(text, (*kinds, "around"))):
            kind = next((kind for kind in kinds if words(kind).search(text)), None)
            if kind:
                return Route(kind)
    return Route("arithmetic") if computed(message) else Route("team")


def computed(message: str) -> Computed | None:
    """The sum that a message is, greetings in front left out; None when it is none."""
    text = message.strip()
    if found := compute(text):
        return found
    rest = " ".join(_PING.sub(" ", normalise(text)).split())
    while (opening := words("greeting").match(rest) or words("around").match(rest)) and opening.end():
        rest = rest[opening.end() :].lstrip(" ,.!、。！~〜…")
    return compute(rest) if rest else None


def _without(text: str, kinds: tuple[str, ...]) -> str:
    for kind in kinds:
        text = words(kind).sub(" ", text)
    return text
