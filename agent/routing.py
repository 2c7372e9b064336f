"""Decides by rules whether a message needs the team's documents. In doubt it does."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent.arithmetic import compute
from agent.routing_words import (
    COURTESY,
    CREATIVE,
    FAREWELL,
    FILL,
    GENERAL_KNOWLEDGE,
    GREETING,
    HELP,
    IDENTITY,
    INJECTION,
    NOW,
    OPENING,
    PROGRAMMING,
    SMALLTALK,
    TEAM,
    THANKS,
    WORLD,
)
from retrieval.text import normalise
from retrieval.types import CollectionInfo

Kind = Literal[
    "team",  # the team, its systems, settings, errors, documents, people, procedures, and all that is not clearly else
    "greeting",
    "thanks",
    "farewell",
    "smalltalk",
    "identity",
    "help",
    "arithmetic",
    "programming",
    "world",
    "creative",
    "now",  # the weather, the time, the news
    "injection",
    "empty",
]


@dataclass(frozen=True, slots=True)
class Route:
    search: bool
    kind: Kind


def opened(message: str) -> str:
    """`message` without the greetings, apologies and mentions in front of it, as written."""
    # Normalising may change lengths, so it is applied to what is kept and the pattern to a like-sized lower copy.
    kept = message.strip()
    while kept:
        match = OPENING.match(kept.lower())
        if not match or match.end() == 0:
            break
        kept = kept[match.end() :].lstrip()
    return kept


def route(message: str, collections: Sequence[CollectionInfo] = ()) -> Route:
    """Where `message` belongs. `collections` that hold general knowledge make such questions searchable."""
    text = re.sub(r"\s+", " ", normalise(message)).strip()
    if INJECTION.search(text):
        return Route(False, "injection")
    if not re.search(r"[^\W_]", text):
        return Route(False, "greeting" if re.search(r"[👋🙏😀-🙏]", text) else "empty")
    for kind, words in (("farewell", FAREWELL), ("thanks", THANKS), ("greeting", GREETING)):
        if _only(text, words):
            return Route(False, kind)  # type: ignore[arg-type]
    if _only(text, COURTESY):
        return Route(False, "thanks" if THANKS.search(text) and not GREETING.match(text) else "greeting")
    rest = re.sub(r"\s+", " ", normalise(opened(message))).strip() or text
    if compute(rest) is not None:
        return Route(False, "arithmetic")
    if IDENTITY.search(rest):
        return Route(False, "identity")
    if HELP.search(rest) and len(rest) <= 60:
        return Route(False, "help")
    if SMALLTALK.search(rest):
        return Route(False, "smalltalk")
    if TEAM.search(rest) or _mentioned(rest, collections):
        return Route(True, "team")
    for kind, words in (("creative", CREATIVE), ("now", NOW), ("programming", PROGRAMMING)):
        if words.search(rest):
            return Route(False, kind)  # type: ignore[arg-type]
    if WORLD.search(rest) and not any(
        GENERAL_KNOWLEDGE.search(normalise(f"{known.name} {known.description}")) for known in collections
    ):
        return Route(False, "world")
    return Route(True, "team")


def _only(text: str, words: re.Pattern[str]) -> bool:
    """Whether nothing but such words stands in `text`."""
    left, at = [], 0
    for match in words.finditer(text):
        if (
            match.start()
            and text[match.start() - 1].isascii()
            and text[match.start() - 1].isalnum()
            and text[match.start()].isascii()
        ):
            continue
        if (
            match.end() < len(text)
            and text[match.end() - 1].isascii()
            and text[match.end()].isascii()
            and text[match.end()].isalnum()
        ):
            continue
        left.append(text[at : match.start()])
        at = match.end()
    left.append(text[at:])
    return at > 0 and bool(FILL.match("".join(left)))


def _mentioned(text: str, collections: Sequence[CollectionInfo]) -> bool:
    """Whether the message uses a word by which a collection is named: its own topic is the team's."""
    for known in collections:
        for word in re.findall(r"[a-z][a-z0-9+#]{3,}|[ァ-ヴー]{3,}|[一-龯]{2,}", normalise(known.name)):
            if word in text and word not in ("sample", "default", "docs", "main", "test", "general"):
                return True
    return False
